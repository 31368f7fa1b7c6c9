//! One thing at a time.

use warpline_hdl::records::chunk_status::{INVALID, NO_ROOM, NO_STREAM, OLD, TAKEN};
use warpline_regmap::layout::refused;
use warpline_regmap::sctp::sctp_capabilities;
use warpline_wire::error_number::ErrorNumber;
use warpline_wire::mpa::MAX_ULPDU;
use warpline_wire::sctp::{Control, Function, Sender, Ssn};
use warpline_wire::send::{CrcField, FpduWriter, Message};

use crate::reference::Reference;
use crate::support::{Chunk, Device, Entry, Kind, Paces, Record, Segment, Status, config};

pub const STAG: u32 = 0x0100_0001;
pub const REGION: u64 = 0x1000_0000;
const BUFFERS: u64 = 0x2000_0000;
const LENGTH: u64 = 1 << 20;
const QUEUES: u8 = 0b11;

/// A device with a region, and what is due of it.
struct Bench {
    device: Device,
    due: Reference,
}

impl Bench {
    fn new(width: usize) -> Self {
        let mut bench = Self {
            device: Device::new(width, 1),
            due: Reference::default(),
        };
        bench.device.write_stag(STAG, REGION, LENGTH);
        bench.due.write_stag(STAG, REGION, LENGTH);
        bench
    }

    fn arm(&mut self, stream: u8, first: u16) {
        self.device.arm(stream, Kind::Sctp(first), QUEUES);
        self.due.arm(stream, first, QUEUES);
    }

    fn post(&mut self, stream: u8, queue: u8, number: u64, length: u32) {
        let address = BUFFERS + 0x1_0000 * (16 * u64::from(stream) + number);
        self.device.post(stream, queue, address, length);
        self.due.post(stream, queue, address, length);
    }

    fn close(&mut self, stream: u8) {
        self.device.close(stream);
        self.due.close(stream);
    }

    /// The chunk arrives at both.
    fn arrives(&mut self, chunk: &Chunk) {
        self.due.chunk(chunk);
        self.device.chunk(chunk.clone());
    }

    /// All of `chunks` in this order.
    fn arrive(&mut self, chunks: &[Chunk], order: impl IntoIterator<Item = usize>) {
        for i in order {
            self.arrives(&chunks[i]);
        }
    }

    /// Memory, completions, records and reports are what the reference has; returns the entries since the last time.
    fn agree(&mut self) -> Vec<(u8, Entry)> {
        self.device.settle();
        let compared = self.due.compare(&mut self.device);
        compared.unwrap_or_else(|wrong| panic!("{wrong}")).entries
    }
}

pub fn pattern(seed: usize, length: usize) -> Vec<u8> {
    (0..length).map(|i| (7 * i + 3 * seed + 1) as u8).collect()
}

pub fn chunks(stream: u8, first: u16, messages: &[(Message, Vec<u8>)], most: u16) -> Vec<Chunk> {
    let mut sender = Sender::new(Ssn(first));
    let mut all = vec![];
    for (message, payload) in messages {
        sender
            .append_message(*message, payload, most, &mut all)
            .unwrap();
    }
    let chunk = |octets| Chunk {
        stream,
        control: false,
        terminate: false,
        octets,
    };
    all.into_iter().map(chunk).collect()
}

/// The Terminate with this number.
pub fn terminate(stream: u8, ssn: Ssn) -> Chunk {
    let control = Control {
        ssn,
        function: Function::Terminate,
        private_data: &[],
    };
    let mut octets = vec![0; control.total_len()];
    control.emit(&mut octets).unwrap();
    Chunk {
        stream,
        control: true,
        terminate: true,
        octets,
    }
}

fn write(to: u64) -> Message {
    Message::Tagged {
        stag: STAG,
        to,
        rsvd_ulp: 0x40,
    }
}

fn send(qn: u32, msn: u32) -> Message {
    Message::Untagged {
        qn,
        msn,
        rsvd_ulp: [0x43, 1, 2, 3, 4],
    }
}

fn statuses(device: &Device) -> Vec<u64> {
    device.statuses.iter().map(|s| s.status).collect()
}

/// Tagged and untagged messages of one chunk and of several, in order; a control message among them counts.
fn in_order(width: usize) {
    let mut bench = Bench::new(width);
    let capabilities = bench.device.capabilities();
    assert_eq!(sctp_capabilities::SCTP.get(&capabilities), 1);
    bench.arm(1, 0);
    bench.post(1, 0, 0, 5000);
    bench.post(1, 1, 1, 900);
    let control = Chunk {
        stream: 1,
        control: true,
        terminate: false,
        octets: vec![0, 0, 0, 1, 9, 9],
    };
    bench.arrives(&control);
    let messages = [
        (write(100), pattern(1, 1)),
        (write(1001), pattern(2, 3000)),
        (send(0, 1), pattern(3, 4000)),
        (send(1, 1), pattern(4, 900)),
        (write(9000), vec![]),
    ];
    let chunks = chunks(1, 1, &messages, 1440);
    assert_eq!(chunks.len(), 9);
    bench.arrive(&chunks, 0..9);
    let entries = bench.agree();
    assert_eq!(entries.len(), messages.len());
    // the payload of all messages is in memory
    assert!(bench.device.payload().count() > 7900);
}

// req: SCTP-FMT-05, SCTP-FMT-06, SCTP-SSN-02, SCTP-SSN-05
#[test]
pub fn chunks_in_order_are_placed_and_delivered_at_64_bits() {
    in_order(64);
}

#[test]
pub fn chunks_in_order_are_placed_and_delivered_at_128_bits() {
    in_order(128);
}

#[test]
pub fn chunks_in_order_are_placed_and_delivered_at_256_bits() {
    in_order(256);
}

#[test]
pub fn chunks_in_order_are_placed_and_delivered_at_512_bits() {
    in_order(512);
}

// req: SCTP-SSN-03, SCTP-SSN-06, LLP-05, LLP-11, AMB-40
/// Behind a gap: placed at once, delivered when the gap is closed. A copy with other octets changes nothing.
#[test]
fn a_chunk_behind_a_gap_is_placed_at_once_and_delivered_in_its_turn() {
    let mut bench = Bench::new(64);
    bench.arm(2, 1);
    bench.post(2, 0, 0, 3000);
    let messages = [
        (write(0), pattern(1, 700)),
        (send(0, 1), pattern(2, 2500)),
        (write(4096), pattern(3, 1200)),
    ];
    let chunks = chunks(2, 1, &messages, 1440);
    assert_eq!(chunks.len(), 4);
    bench.arrive(&chunks, [3, 1, 2]);
    assert_eq!(bench.agree(), vec![]);
    assert_eq!(bench.device.payload().count(), 1200 + 2500);
    let mut copy = chunks[3].clone();
    copy.octets
        .iter_mut()
        .skip(2)
        .for_each(|octet| *octet ^= 0x55);
    bench.arrives(&copy);
    assert_eq!(bench.agree(), vec![]);
    bench.arrive(&chunks, [0]);
    assert_eq!(bench.agree().len(), 3);
    bench.arrives(&copy);
    bench.arrive(&chunks, 0..4);
    assert_eq!(bench.agree(), vec![]);
    assert_eq!(bench.due.memory.len(), 700 + 2500 + 1200);
}

// req: SCTP-SSN-07, SCTP-SSN-11, AMB-34
/// A DDP-SSN that cannot be freezes its stream, behind all that came before, however close.
#[test]
fn an_invalid_ssn_freezes_its_stream_alone() {
    let mut bench = Bench::new(64);
    bench.arm(0, 1);
    bench.arm(3, 1);
    let messages = |at| {
        [
            (write(at), pattern(1, 1400)),
            (write(at + 2000), pattern(2, 64)),
        ]
    };
    let chunks_0 = chunks(0, 1, &messages(0), 1440);
    let chunks_3 = chunks(3, 1, &messages(8000), 1440);
    bench.arrive(&chunks_3, [0]);
    bench.arrive(&chunks_0, [0]);
    let mut far = chunks_0[1].clone();
    far.octets[..2].copy_from_slice(&(2 + 32_767_u16).to_be_bytes());
    bench.arrives(&far);
    bench.arrive(&chunks_0, [1]);
    bench.arrive(&chunks_3, [1]);
    let entries = bench.agree();
    assert_eq!(entries.iter().filter(|(of, _)| *of == 0).count(), 2);
    assert_eq!(entries.iter().filter(|(of, _)| *of == 3).count(), 2);
    let record = bench.device.record(0).unwrap();
    assert_eq!(record.refused, refused::SSN);
    assert_eq!(record.number, ErrorNumber::MpaConnection as u16);
    // a new session
    bench.close(0);
    bench.arm(0, 0);
    let chunks_0 = chunks(0, 0, &messages(16_000), 1440);
    bench.arrive(&chunks_0, [1, 0]);
    assert_eq!(bench.agree().len(), 2);
}

// req: SCTP-SSN-12, AMB-35
/// Chunks too short for a DDP-SSN, or too long for a slot, freeze their stream; streams without a session take none.
#[test]
pub fn chunks_that_are_too_short_or_too_long_are_refused() {
    let mut bench = Bench::new(64);
    for octets in [vec![], vec![0]] {
        bench.device.arm(0, Kind::Sctp(0), QUEUES);
        bench.device.chunk(Chunk {
            stream: 0,
            control: false,
            terminate: false,
            octets,
        });
        bench.device.settle();
        assert_eq!(statuses(&bench.device), [INVALID]);
        bench.device.statuses.clear();
        let entries = bench.device.entries();
        assert!(matches!(
            entries[..],
            [(0, Entry::Error { number: 0x301, .. })]
        ));
        assert_eq!(bench.device.record(0).unwrap().refused, refused::SSN);
        bench.device.close(0);
    }
    let slot = config(64).sctp.unwrap().slot_octets;
    bench.device.arm(0, Kind::Sctp(0), QUEUES);
    let whole = |ssn, length| {
        let mut octets = chunks(0, ssn, &[(write(64), pattern(5, length))], MAX_ULPDU);
        octets.remove(0)
    };
    // 16 octets of DDP-SSN and header
    bench.device.chunk(whole(0, slot - 16));
    bench.device.chunk(whole(1, slot - 15));
    // it ends before the next one is judged
    bench.device.settle();
    bench.device.chunk(whole(2, 10));
    bench.device.settle();
    assert_eq!(statuses(&bench.device), [TAKEN, TAKEN, NO_STREAM]);
    let entries = bench.device.entries();
    let [
        (0, Entry::Tagged { length, .. }),
        (0, Entry::Error { number, .. }),
    ] = entries[..]
    else {
        panic!("{entries:?}");
    };
    assert_eq!(length as usize, slot - 16);
    assert_eq!(number, ErrorNumber::MpaMarker as u16);
    assert_eq!(bench.device.record(0).unwrap().refused, refused::TOO_LARGE);
    assert_eq!(bench.device.payload().count(), slot - 16);
    bench.device.statuses.clear();
    // never armed, and no such stream, also one with the low bits of an armed one
    bench.device.close(0);
    bench.device.arm(0, Kind::Sctp(0), QUEUES);
    for stream in [1, 4, 16, 200] {
        bench.device.chunk(Chunk {
            stream,
            ..whole(0, 10)
        });
    }
    bench.device.settle();
    assert_eq!(statuses(&bench.device), [NO_STREAM; 4]);
    assert!(bench.device.entries().is_empty());
}

// req: AMB-34
/// In the window and beyond the slots: dropped, and taken when it comes again. The slot that was read last is in use until
/// something of the next one is read.
#[test]
fn a_chunk_beyond_the_slots_has_no_room() {
    let mut bench = Bench::new(64);
    let slots = (config(64).ring_octets / config(64).sctp.unwrap().slot_octets) as u16;
    bench.device.arm(0, Kind::Sctp(0), QUEUES);
    let messages: Vec<_> = (0..=slots)
        .map(|i| (write(64 * u64::from(i)), pattern(i.into(), 60)))
        .collect();
    let chunks = chunks(0, 0, &messages, 1440);
    for i in [slots, slots - 1, 0, 1] {
        bench.device.chunk(chunks[usize::from(i)].clone());
        bench.device.settle();
    }
    assert_eq!(statuses(&bench.device), [NO_ROOM, TAKEN, TAKEN, TAKEN]);
    bench.device.chunk(chunks[usize::from(slots)].clone());
    for chunk in &chunks[..usize::from(slots)] {
        bench.device.chunk(chunk.clone());
    }
    bench.device.settle();
    let mut due = vec![NO_ROOM, TAKEN, TAKEN, TAKEN, TAKEN, OLD, OLD];
    due.extend(vec![TAKEN; usize::from(slots) - 3]);
    due.push(OLD);
    assert_eq!(statuses(&bench.device), due);
    let written: Vec<_> = bench.device.payload().map(|(_, octet)| octet).collect();
    let due: Vec<_> = messages
        .iter()
        .flat_map(|(_, octets)| octets.clone())
        .collect();
    assert!(written == due);
    assert_eq!(bench.device.entries().len(), messages.len());
}

// req: LLP-05, AMB-10
/// TCP streams with gaps, with markers and without, beside SCTP; a stream changes its kind, and segments of TCP for a session of
/// SCTP, and chunks for TCP, change nothing.
#[test]
fn tcp_and_sctp_share_the_device() {
    let mut bench = Bench::new(64);
    bench.device.set_paces(Paces::FULL);
    for round in 0..4_u64 {
        let markers = round % 2 == 0;
        let (sctp, tcp) = (round as u8 % 4, (round as u8 + 1) % 4);
        bench.arm(sctp, 1);
        bench.device.arm(tcp, Kind::Tcp(markers), QUEUES);
        let base = 0x2_0000 * round;
        let messages: Vec<_> = (0..24)
            .map(|i| {
                (
                    write(base + 2048 * i),
                    pattern(i as usize, 1000 + i as usize),
                )
            })
            .collect();
        let mut writer = FpduWriter::new(markers, CrcField::Computed);
        let mut octets = vec![];
        for (message, payload) in &messages {
            writer
                .append_message(*message, payload, 1400, &mut octets)
                .unwrap();
        }
        let base = base + 0x1_0000;
        let of_sctp: Vec<_> = (0..24)
            .map(|i| {
                (
                    write(base + 2048 * i),
                    pattern(40 + i as usize, 1100 - i as usize),
                )
            })
            .collect();
        let chunks = chunks(sctp, 1, &of_sctp, 1440);
        // not of their kind
        bench.device.chunk(Chunk {
            stream: tcp,
            ..chunks[0].clone()
        });
        bench.device.segment(Segment {
            stream: sctp,
            sequence: 1,
            octets: octets[..200].to_vec(),
        });
        let segments: Vec<_> = octets.chunks(1000).enumerate().collect();
        let order = (0..segments.len()).map(|i| (i ^ 1).min(segments.len() - 1));
        let mut order: Vec<_> = order.collect();
        order.extend(0..segments.len());
        for i in order {
            let (number, octets) = segments[i];
            bench.device.segment(Segment {
                stream: tcp,
                sequence: 1000 * number as u32,
                octets: octets.to_vec(),
            });
        }
        bench.due.statuses.push(Status {
            stream: tcp,
            ssn: 1,
            status: NO_STREAM,
        });
        bench.arrive(&chunks, (0..24).map(|i| i ^ 3));
        for (message, payload) in &messages {
            let Message::Tagged { to, .. } = message else {
                unreachable!()
            };
            let octets = payload.iter().copied();
            bench.due.memory.extend((REGION + to..).zip(octets));
            bench
                .due
                .entries
                .entry(tcp)
                .or_default()
                .push(Entry::Tagged {
                    stag: STAG,
                    offset: *to,
                    length: payload.len() as u32,
                    rsvd_ulp: 0x40,
                    unverified: false,
                });
        }
        assert_eq!(bench.agree().len(), 48);
        bench.close(sctp);
        bench.device.close(tcp);
    }
}

/// The end of a session is told behind all that its peer has sent, whatever arrives first; what arrives again is old. Behind it the stream is
/// armed anew.
// req: SCTP-SES-07, SCTP-SES-22, SCTP-SSN-03
#[test]
fn a_terminate_is_the_end_of_its_session_in_ddp_ssn_order() {
    let mut bench = Bench::new(64);
    for (stream, first) in [(3, 1), (3, 0), (0, 1)] {
        bench.arm(stream, first);
        bench.post(stream, 0, 0x3000, 3000);
        let messages = [
            (write(0), pattern(1, 700)),
            (send(0, 1), pattern(2, 2500)),
            (write(4096), pattern(3, 1200)),
        ];
        let mut chunks = chunks(stream, first, &messages, 1440);
        let last = chunks.len() as u16;
        chunks.push(terminate(stream, Ssn(first + last)));
        assert_eq!(chunks.len(), 5);
        // it comes first, and again; and behind others of which one is missing
        bench.arrive(&chunks, [4, 4, 3, 1]);
        assert_eq!(bench.agree(), []);
        bench.arrive(&chunks, [0]);
        assert_eq!(bench.agree().len(), 1);
        bench.arrive(&chunks, [2]);
        let entries = bench.agree();
        assert_eq!(entries.len(), 3);
        let position = (u32::from(first) + u32::from(last)) * 2048;
        assert_eq!(entries[2], (stream, Entry::Closed { position }));
        bench.arrive(&chunks, [2, 4, 0]);
        assert_eq!(bench.agree(), []);
        assert_eq!(bench.device.record(stream), None);
        bench.close(stream);
    }
}

/// Errors of DDP behind a gap: of a tagged segment at once; of an untagged one, if it depends on what is in front, when it is its
/// turn.
// req: AMB-10, AMB-11, SCTP-SSN-10
#[test]
fn errors_behind_a_gap_come_when_they_count() {
    let mut bench = Bench::new(64);
    let good = |at| (write(at), pattern(7, 300));
    for (stream, bad, at_once) in [
        (0, write(LENGTH), true),
        (1, send(0, 5), false),
        (2, send(1, 1), false),
    ] {
        bench.arm(stream, 1);
        let base = 0x1000 * u64::from(stream);
        let messages = [
            good(base),
            good(base + 0x400),
            (bad, vec![1; 90]),
            good(base + 0x800),
        ];
        let chunks = chunks(stream, 1, &messages, 1440);
        bench.arrive(&chunks, [0, 2, 3]);
        let entries = bench.agree();
        assert_eq!(entries.len(), 1 + usize::from(at_once), "stream {stream}");
        bench.arrive(&chunks, [1]);
        let entries = bench.agree();
        assert_eq!(entries.len(), 2 * usize::from(!at_once), "stream {stream}");
    }
    let record: Vec<Record> = (0..3).map(|i| bench.device.record(i).unwrap()).collect();
    let numbers: Vec<_> = record.iter().map(|record| record.number).collect();
    assert_eq!(
        numbers,
        [
            ErrorNumber::TaggedBounds as u16,
            ErrorNumber::UntaggedNoBuffer as u16,
            ErrorNumber::UntaggedNoBuffer as u16,
        ]
    );
    assert_eq!(bench.due.kept, 2);
}
