//! The whole device through driver and simulated card, at the narrowest and the widest bus: golden vectors, validation
//! cases, and what happens around a stream's life.

use std::ops::Range;
use std::time::Duration;

use fastrand::Rng;
use serde_json::Value;
use warpline_driver::{
    Checks, Completion, Context, DmaMemory, Ending, Error, ErrorDetail, ErrorNumber, MemoryRegion,
    Options, ProtectionDomain, Registration, Scope, Stream, StreamOptions, VfioUser,
};
use warpline_hdl::Config;
use warpline_sim::{BackPressure, Card, CardOptions};
use warpline_testbenches::coverage::{self, Counted};
use warpline_wire::send::{CrcField, FpduWriter, Message};
use warpline_wire::{crc, marker, mpa};

/// Time for an answer of the card, on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);
/// STag and Tagged Offset of the region that all benches have.
const STAG: u32 = 0x1234_5678;
const BASE: u64 = 0x1_0000_0000;
/// Its octets.
const LENGTH: usize = 70_000;
/// What memory holds before anything is written.
const UNTOUCHED: u8 = 0xEE;

fn vectors() -> Value {
    serde_json::from_str(include_str!("../../../wire/tests/vectors.json")).unwrap()
}

/// Octets of a hexadecimal string.
fn hex(value: &Value) -> Vec<u8> {
    let digits = value.as_str().unwrap().as_bytes();
    let octet = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(octet).collect()
}

/// Payload pattern `seed` of the golden vectors.
fn pattern(seed: usize, length: usize) -> Vec<u8> {
    (0..length).map(|i| (7 * i + seed) as u8).collect()
}

/// A completion in short.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Seen {
    /// Octets of the last segment, and whether it was empty.
    Write(u8, u32, bool),
    /// Stream, queue, MSN, message.
    Send(u8, u8, u32, Vec<u8>),
    /// Stream and position: closed by its peer.
    Closed(u8, u32),
    /// Stream, number, checks, position.
    Error(u8, ErrorNumber, Checks, u32),
    /// Stream, queue, MSN, all octets of the buffer.
    Flushed(u8, u8, u32, Vec<u8>),
}

struct Bench {
    card: Card,
    context: Context,
    domain: ProtectionDomain,
    _counted: Option<Counted>,
}

impl Bench {
    fn open(width: usize, back_pressure: BackPressure, completion_entries: u32) -> Self {
        let options = CardOptions {
            back_pressure,
            idle: 10,
            ..CardOptions::default()
        };
        let (card, _counted) = coverage::open(&Config::simulated(width), options).unwrap();
        let context = open(&card, completion_entries);
        let domain = context.protection_domain().unwrap();
        Self {
            _counted,
            card,
            context,
            domain,
        }
    }

    /// A bench of each width.
    fn each() -> impl Iterator<Item = Self> {
        coverage::tested()
            .unwrap()
            .into_iter()
            .map(|width| Self::open(width, BackPressure::RANDOM, 256))
    }

    fn register(&self, stag: u32, base: u64, length: usize) -> MemoryRegion {
        let registration = Registration {
            base: Some(base),
            ..Registration::default()
        };
        self.register_as(stag, length, registration)
    }

    fn register_as(&self, stag: u32, length: usize, registration: Registration) -> MemoryRegion {
        register(&self.domain, stag, length, registration)
    }

    fn region(&self) -> MemoryRegion {
        self.register(STAG, BASE, LENGTH)
    }

    fn arm(&self, number: u8, options: StreamOptions) -> Stream {
        self.domain.arm(number, options).unwrap()
    }

    /// Posts untouched buffers of these lengths.
    fn post(&self, stream: &Stream, queue: u8, lengths: &[u32]) {
        for &length in lengths {
            let mut buffer = self.context.buffers(1, length).unwrap().remove(0);
            buffer
                .write_at(0, &vec![UNTOUCHED; length as usize])
                .unwrap();
            stream.receive_queue(queue).unwrap().post(buffer).unwrap();
        }
    }

    /// Octets arrive in segments of up to `most` octets.
    fn feed(&self, stream: u8, start: u32, octets: &[u8], most: usize) {
        for (i, segment) in octets.chunks(most).enumerate() {
            let sequence = start.wrapping_add((i * most) as u32);
            self.card.feed(stream, sequence, segment).unwrap();
        }
    }

    /// Feeds these octets of a stream that begins at sequence number `start` as one segment, which has gone by then.
    fn feed_part(&self, stream: u8, start: u32, octets: &[u8], part: Range<usize>) {
        let sequence = start.wrapping_add(part.start as u32);
        self.feed(stream, sequence, &octets[part], octets.len());
        self.card.step(400).unwrap();
    }

    /// Runs until nothing moves, and says what was reported.
    fn settle(&self) -> Vec<Seen> {
        self.card.run_until_idle().unwrap();
        self.poll()
    }

    fn poll(&self) -> Vec<Seen> {
        let queue = self.context.completion_queue();
        std::iter::from_fn(|| queue.poll().unwrap())
            .map(seen)
            .collect()
    }
}

fn open(card: &Card, completion_entries: u32) -> Context {
    let options = Options {
        completion_entries,
        ..Options::default()
    };
    let device = VfioUser::over(card.connect().unwrap(), TIMEOUT).unwrap();
    Context::open(Box::new(device), options).unwrap()
}

fn register(
    domain: &ProtectionDomain,
    stag: u32,
    length: usize,
    registration: Registration,
) -> MemoryRegion {
    let mut memory = DmaMemory::new(length).unwrap();
    memory.fill(UNTOUCHED);
    domain.register_as(stag, memory, registration).unwrap()
}

fn seen(completion: Completion) -> Seen {
    match completion {
        Completion::Tagged(c) => Seen::Write(c.stream, c.length, c.unverified),
        Completion::Untagged(c) => {
            let mut message = c.buffer.to_vec();
            message.truncate(c.length as usize);
            Seen::Send(c.stream, c.queue, c.msn, message)
        }
        Completion::Closed(e) => Seen::Closed(e.stream, e.position),
        Completion::Error(e) => Seen::Error(e.stream, e.number, e.checks, e.position),
        Completion::Flushed(f) => Seen::Flushed(f.stream, f.queue, f.msn, f.buffer.to_vec()),
        other => panic!("{other:?}"),
    }
}

fn markers(markers: bool) -> StreamOptions {
    StreamOptions {
        markers,
        ..StreamOptions::default()
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
        rsvd_ulp: [0x43, 0, 0, 0, 0],
    }
}

/// The octets of messages on one stream.
fn stream_of(markers: bool, mulpdu: u16, messages: &[(Message, Vec<u8>)]) -> Vec<u8> {
    let mut writer = FpduWriter::new(markers, CrcField::Computed);
    let mut octets = Vec::new();
    for (message, payload) in messages {
        writer
            .append_message(*message, payload, mulpdu, &mut octets)
            .unwrap();
    }
    octets
}

/// An FPDU with markers that begins at position 0 and ends at `end`: a write at the region's start.
fn up_to(end: usize) -> Vec<u8> {
    let octets = stream_of(true, 600, &[(write(BASE), vec![0; end - 4 - 6 - 14])]);
    assert_eq!(octets.len(), end);
    octets
}

/// FPDUs too short for a header, each alone in a segment: they end with their first beat or the next one, and are found as
/// they land, on any stream, with markers and without.
// req: DDP-HDR-15, MPA-RCV-20
#[test]
fn the_shortest_fpdus_come_alone() {
    for bench in Bench::each() {
        for number in 0..4 {
            for ulpdu in [0, 1, 2, 6, 10] {
                let options = markers(ulpdu == 1);
                let mut writer = FpduWriter::new(options.markers, CrcField::Computed);
                let mut octets = vec![];
                writer.append(&vec![0; ulpdu], &[], &mut octets).unwrap();
                let stream = bench.arm(number, options);
                bench.card.step(20).unwrap();
                bench.feed(number, options.sequence_start, &octets, octets.len());
                let short = Seen::Error(number, ErrorNumber::LocalCatastrophic, Checks::SHORT, 0);
                assert_eq!(bench.settle(), [short], "{ulpdu} octets");
                stream.close().unwrap();
            }
        }
    }
}

/// From the last beat of a Send that comes alone to its first write: at most 40 cycles beside its own beats, as for the RDMA
/// Writes of `warpline bench`.
#[test]
fn a_send_is_written_as_soon_as_a_write() {
    for width in coverage::tested().unwrap() {
        let bench = Bench::open(width, BackPressure::NONE, 256);
        for length in [1, 44, 100, 238, 500, 900, 1400] {
            let options = markers(length % 8 == 4);
            let stream = bench.arm(0, options);
            bench.post(&stream, 0, &[1500]);
            bench.settle();
            let octets = stream_of(options.markers, 1500, &[(send(0, 1), vec![1; length])]);
            bench.card.clear_timing();
            bench.feed(0, options.sequence_start, &octets, octets.len());
            assert_eq!(bench.settle(), [Seen::Send(0, 0, 1, vec![1; length])]);
            let timing = bench.card.timing();
            let took = timing.first_write.unwrap() - timing.last_beat.unwrap();
            let beats = octets.len().div_ceil(width / 8) as u64;
            let what = format!("{width} bits, {length} octets: {took} cycles, {beats} beats");
            assert!(took > beats + 30 && took <= beats + 40, "{what}");
            stream.close().unwrap();
        }
    }
}

/// What one stream reports that gets these octets and has a buffer for two messages.
fn outcome(bench: &Bench, options: StreamOptions, octets: &[u8]) -> (Vec<Seen>, Stream) {
    let stream = bench.arm(3, options);
    bench.post(&stream, 0, &[1500, 1500]);
    bench.feed(3, options.sequence_start, octets, 500);
    let mut seen = bench.settle();
    assert_eq!(bench.card.untaken(3).unwrap(), 0);
    seen.retain(|seen| !matches!(seen, Seen::Flushed(..)));
    (seen, stream)
}

// req: MPA-CRC-20, MPA-CRC-21, MPA-CRC-22, MPA-CRC-23, MPA-CRC-14, MPA-CRC-15, MPA-CRC-17, MPA-MRK-05, MPA-MRK-08,
// req: MPA-MRK-21, MPA-FMT-02, MPA-FMT-05, MPA-FMT-08, MPA-FMT-09, MPA-FMT-10, MPA-RCV-10, DDP-HDR-02, DDP-HDR-03,
// req: DDP-HDR-08, DDP-HDR-12, DDP-HDR-14, DDP-HDR-15, DDP-SEG-09, DDP-SEG-10, DDP-SEG-11, AMB-02, AMB-20, MPA-MRK-02
// req: MPA-MRK-09, MPA-MRK-18, MPA-MRK-19, MPA-FMT-03, MPA-FMT-04, MPA-FMT-17, MPA-START-12, DDP-HDR-01, DDP-HDR-16
// req: DDP-HDR-17, DDP-TAG-01, DDP-UNT-01, AMB-15
#[test]
fn fpdus_of_the_golden_vectors() {
    let vectors = vectors();
    let part = |name: &str, part: &str| hex(&vectors[name][part]);
    let fpdu = |name: &str| part(name, "fpdu");
    let filled = |name: &str, end| [up_to(end), fpdu(name)].concat();
    let both = |name: &str| [part(name, "fpdu1"), part(name, "fpdu2")].concat();
    let sent = |msn, payload| Seen::Send(3, 0, msn, payload);
    let error = |number, checks, position| Seen::Error(3, number, checks, position);
    let version = |position| error(ErrorNumber::UntaggedVersion, Checks::VERSION, position);
    let short = |position| error(ErrorNumber::LocalCatastrophic, Checks::SHORT, position);
    let filler = |length| Seen::Write(3, length, false);
    for bench in Bench::each() {
        let region = bench.region();
        let marked = markers(true);
        let plain = markers(false);
        let no_crc = StreamOptions {
            crc: false,
            ..plain
        };
        for (name, options, octets, expected) in [
            ("V-MPA-1", marked, fpdu("V-MPA-1"), vec![version(0)]),
            (
                "V-MPA-2",
                marked,
                filled("V-MPA-2", 492),
                vec![filler(468), version(492)],
            ),
            (
                "V-MPA-3",
                marked,
                fpdu("V-MPA-3"),
                vec![sent(1, vec![0; 24])],
            ),
            (
                "V-MPA-5",
                marked,
                filled("V-MPA-5", 500),
                vec![filler(476), short(500)],
            ),
            (
                "V-MPA-6",
                marked,
                both("V-MPA-6"),
                vec![sent(1, pattern(2, 484)), sent(2, b"ABCD".to_vec())],
            ),
            (
                "V-MPA-7",
                marked,
                fpdu("V-MPA-7"),
                vec![sent(1, pattern(3, 487))],
            ),
            ("V-MPA-8", marked, fpdu("V-MPA-8"), vec![]), // L = 0
            (
                "V-MPA-9",
                plain,
                fpdu("V-MPA-9"),
                vec![Seen::Write(3, 7, false)],
            ),
            (
                "V-MPA-10",
                plain,
                fpdu("V-MPA-10"),
                vec![Seen::Write(3, 0, true)],
            ),
            ("V-MPA-11", plain, fpdu("V-MPA-11"), vec![sent(1, vec![])]),
            ("V-MPA-12", plain, fpdu("V-MPA-12"), vec![short(0)]),
            ("V-MPA-13", plain, fpdu("V-MPA-13"), vec![short(0)]),
            (
                "V-MPA-14",
                no_crc,
                fpdu("V-MPA-14"),
                vec![sent(1, b"nocrc".to_vec())],
            ),
            (
                "V-MPA-14 with CRC",
                plain,
                fpdu("V-MPA-14"),
                vec![error(ErrorNumber::MpaCrc, Checks::empty(), 0)],
            ),
            (
                "V-MPA-18-draft",
                marked,
                both("V-MPA-18-draft"),
                vec![version(0)],
            ),
            (
                "V-MPA-18-RFC and V-MPA-4",
                marked,
                both("V-MPA-18-RFC"),
                vec![sent(1, pattern(1, 464)), sent(2, vec![0; 24])],
            ),
        ] {
            let (seen, stream) = outcome(&bench, options, &octets);
            assert_eq!(seen, expected, "{name}");
            stream.close().unwrap();
            let flushed = bench.poll();
            if name == "V-MPA-8" {
                let [Seen::Flushed(3, 0, 1, buffer), _] = &flushed[..] else {
                    panic!("{flushed:?}");
                };
                assert_eq!(buffer[..1424], pattern(4, 1424), "placed, not delivered");
                assert!(buffer[1424..].iter().all(|&octet| octet == UNTOUCHED));
            }
        }
        let mut direct = [0; 8];
        region.read_at(16, &mut direct).unwrap();
        // Written by V-MPA-9 over what V-MPA-2 and V-MPA-5 brought.
        assert_eq!(direct, *b"DIRECT!\0");
    }
}

// req: MPA-FMT-07, MPA-FMT-14, MPA-MRK-12, MPA-MRK-13, MPA-MRK-22, MPA-ERR-04, MPA-ERR-05, MPA-ERR-06, MPA-CRC-19,
// req: AMB-09, AMB-18, AMB-19, MPA-ERR-02, AMB-45
#[test]
fn variants_of_one_fpdu() {
    let vectors = vectors();
    let fpdu = |name: &str| [up_to(500), hex(&vectors[name]["fpdu"])].concat();
    for bench in Bench::each() {
        let _region = bench.region();
        for (name, number) in [
            // Accepted by MPA: its 16 octets are no untagged header.
            ("V-OK-1", ErrorNumber::LocalCatastrophic),
            ("V-OK-2", ErrorNumber::LocalCatastrophic),
            ("V-ERR-1", ErrorNumber::MpaMarker),
            ("V-ERR-2", ErrorNumber::MpaCrc),
        ] {
            let (seen, stream) = outcome(&bench, markers(true), &fpdu(name));
            let checks = match number {
                ErrorNumber::LocalCatastrophic => Checks::SHORT,
                _ => Checks::empty(),
            };
            assert_eq!(seen[1..], [Seen::Error(3, number, checks, 500)], "{name}");
            let record = stream.error_record().unwrap().unwrap();
            assert_eq!((record.number, record.position), (number, 500), "{name}");
            assert_eq!(record.segment_length, 16, "{name}");
            let expected = match name {
                "V-ERR-1" => ErrorDetail::Marker {
                    expected: 0x0C,
                    received: 0x10,
                },
                "V-ERR-2" => {
                    let octets = hex(&vectors[name]["fpdu"]);
                    let (covered, field) = octets.split_last_chunk::<4>().unwrap();
                    ErrorDetail::Crc {
                        expected: warpline_wire::crc::crc32c(covered),
                        received: u32::from_le_bytes(*field),
                    }
                }
                _ => ErrorDetail::None,
            };
            assert_eq!(record.detail, expected, "{name}");
            let ulpdu: Vec<u8> = (0..16).collect();
            if name != "V-ERR-2" {
                assert_eq!(record.header.as_slice(), ulpdu, "{name}");
            }
        }
        // V-MPA-17: the marker lies behind the wrap of sequence numbers, DV is 2.
        let octets = [up_to(240), hex(&vectors["V-MPA-17"]["fpdu"])].concat();
        let options = StreamOptions {
            sequence_start: 0xFFFF_FF00,
            ..markers(true)
        };
        let (seen, stream) = outcome(&bench, options, &octets);
        let error = Seen::Error(3, ErrorNumber::UntaggedVersion, Checks::VERSION, 240);
        assert_eq!(seen[1..], [error]);
        assert_eq!(stream.error_record().unwrap().unwrap().segment_length, 600);
    }
}

// req: MPA-FMT-18, MPA-MRK-10, MPA-MRK-17, AMB-21
#[test]
fn the_largest_fpdus() {
    let vectors = vectors();
    for bench in Bench::each() {
        let region = bench.region();
        for (name, with_markers) in [("V-MPA-15", true), ("V-MPA-16", false)] {
            // The vector itself names a queue that no stream has.
            let mut octets = Vec::new();
            let mut writer = FpduWriter::new(with_markers, CrcField::Computed);
            writer.append(&[], &pattern(5, 64768), &mut octets).unwrap();
            assert_eq!(
                octets.len() as u64,
                vectors[name]["length"].as_u64().unwrap()
            );
            assert_eq!(octets[octets.len() - 4..], hex(&vectors[name]["crc_wire"]));
            let (seen, stream) = outcome(&bench, markers(with_markers), &octets);
            let error = Seen::Error(3, ErrorNumber::UntaggedQn, Checks::QN, 0);
            assert_eq!(seen, [error], "{name}");
            assert_eq!(
                stream.error_record().unwrap().unwrap().segment_length,
                64768
            );
            stream.close().unwrap();

            // The same size as a write, and one octet more.
            let payload = pattern(5, 64768 - 14);
            let octets = stream_of(with_markers, 64768, &[(write(BASE), payload.clone())]);
            let (seen, stream) = outcome(&bench, markers(with_markers), &octets);
            assert_eq!(seen, [Seen::Write(3, 64754, false)], "{name}");
            assert!(region.to_vec().unwrap()[..64754] == payload[..], "{name}");
            stream.close().unwrap();
            let mut longer = octets;
            let at = if with_markers { 4 } else { 0 };
            longer[at..at + 2].copy_from_slice(&64769_u16.to_be_bytes());
            let (seen, stream) = outcome(&bench, markers(with_markers), &longer[..at + 4]);
            let error = Seen::Error(3, ErrorNumber::MpaMarker, Checks::empty(), 0);
            assert_eq!(seen, [error], "as soon as the length is seen");
            let detail = stream.error_record().unwrap().unwrap().detail;
            assert_eq!(detail, ErrorDetail::Length);
            stream.close().unwrap();
            bench.poll();
        }
    }
}

// req: DDP-SEG-04, DDP-SEG-06, DDP-SEG-08, DDP-DEL-01, DDP-UNT-18
// req: DDP-DEL-03
#[test]
fn messages_of_the_golden_vectors() {
    let vectors = vectors();
    for bench in Bench::each() {
        let region = bench.register(0x00AB_CD01, 0, 20_000);
        for with_markers in [false, true] {
            for (name, length) in [("V-SEG-U", 2048), ("V-SEG-T", 2048), ("V-SEG-EXACT", 2964)] {
                let message = pattern(0, length);
                let mut writer = FpduWriter::new(with_markers, CrcField::Computed);
                let mut octets = Vec::new();
                let mut at = 0;
                for segment in vectors[name].as_array().unwrap() {
                    let end = at + segment["payload"].as_u64().unwrap() as usize;
                    let header = hex(&segment["header"]);
                    writer
                        .append(&header, &message[at..end], &mut octets)
                        .unwrap();
                    let crc = match with_markers {
                        true => "crc_wire_markers",
                        false => "crc_wire",
                    };
                    assert_eq!(octets[octets.len() - 4..], hex(&segment[crc]), "{name}");
                    at = end;
                }
                assert_eq!(at, length);
                let first_msn = if name == "V-SEG-EXACT" { 7 } else { 1 };
                let options = StreamOptions {
                    first_msn,
                    ..markers(with_markers)
                };
                let stream = bench.arm(1, options);
                bench.post(&stream, 0, &[3000]);
                bench.feed(1, 0, &octets, 1460);
                let seen = bench.settle();
                match name {
                    "V-SEG-T" => {
                        assert_eq!(seen, [Seen::Write(1, 562, false)]);
                        let memory = region.to_vec().unwrap();
                        let (front, rest) = memory.split_at(16384);
                        assert!(front.iter().all(|&octet| octet == UNTOUCHED));
                        assert_eq!(rest[..2048], message);
                        assert!(rest[2048..].iter().all(|&octet| octet == UNTOUCHED));
                    }
                    _ => assert_eq!(seen, [Seen::Send(1, 0, first_msn, message)], "{name}"),
                }
                stream.close().unwrap();
                bench.poll();
            }
        }
    }
}

/// Number and checks of a row's result; `None` for "place" and "accept".
fn expected_error(result: &str) -> Option<ErrorNumber> {
    let (kind, code) = result.split_once('/')?;
    ErrorNumber::from_parts(kind.parse().unwrap(), u8::from_str_radix(code, 16).unwrap())
}

// req: DDP-ERR-12, DDP-ERR-13, DDP-ERR-14, DDP-ERR-15, DDP-ERR-16, DDP-ERR-17, DDP-ERR-18, DDP-ERR-19, DDP-ERR-24,
// req: DDP-ERR-25, DDP-ERR-26, DDP-ERR-27, DDP-ERR-28, DDP-ERR-36, DDP-HDR-12, DDP-SEC-01, DDP-SEC-02, AMB-01, AMB-03
// req: DDP-TEAR-14, DDP-ERR-22, AMB-25
#[test]
fn tagged_validation_cases() {
    let vectors = vectors();
    let cases = vectors["V-CHK-T"].as_array().unwrap();
    assert_eq!(cases.len(), 20);
    for bench in Bench::each() {
        let other = bench.context.protection_domain().unwrap();
        let at = |base| Registration {
            base: Some(base),
            ..Registration::default()
        };
        let of_stream = Registration {
            scope: Scope::Stream(2),
            ..at(0)
        };
        let no_write = Registration {
            remote_write: false,
            ..at(0)
        };
        let revoked = bench.register_as(0x300, 64, at(0));
        revoked.revoke().unwrap();
        let regions = [
            bench.register_as(0x100, 0x1000, at(0x1000)),
            bench.register_as(0x200, 64, of_stream),
            bench.register_as(0x400, 0x1000, at(0_u64.wrapping_sub(0x1000))),
            bench.register_as(0x500, 64, no_write),
            register(&other, 0x600, 64, at(0)),
        ];
        let memories = || regions.iter().map(|region| region.to_vec().unwrap());
        for row in cases {
            let (case, result) = (
                row["case"].as_str().unwrap(),
                row["result"].as_str().unwrap(),
            );
            let failed = row["failed"].as_array().unwrap().iter();
            let checks = failed.map(|name| name.as_str().unwrap().to_uppercase());
            let checks: Checks = checks
                .map(|name| Checks::from_name(&name).unwrap())
                .collect();
            let (header, length) = (hex(&row["header"]), row["length"].as_u64().unwrap());
            let mut octets = Vec::new();
            let mut writer = FpduWriter::new(false, CrcField::Computed);
            let payload = pattern(9, length as usize);
            writer.append(&header, &payload, &mut octets).unwrap();

            let mut expected: Vec<_> = memories().collect();
            let (seen, stream) = outcome(&bench, markers(false), &octets);
            if let Some(number) = expected_error(result) {
                assert_eq!(seen, [Seen::Error(3, number, checks, 0)], "{case}");
                let record = stream.error_record().unwrap().unwrap();
                assert_eq!((record.number, record.checks), (number, checks), "{case}");
                assert_eq!(record.header.as_slice(), header, "{case}");
                assert_eq!(u64::from(record.segment_length), 14 + length, "{case}");
            } else {
                assert_eq!(seen, [Seen::Write(3, length as u32, length == 0)], "{case}");
                let to = u64::from_be_bytes(header[6..14].try_into().unwrap());
                let named = |region: &MemoryRegion| region.stag().to_be_bytes() == header[2..6];
                if let Some(region) = regions.iter().position(named) {
                    let start = to.wrapping_sub(regions[region].base()) as usize;
                    expected[region][start..][..payload.len()].copy_from_slice(&payload);
                }
            }
            assert!(memories().eq(expected), "{case}");
            stream.close().unwrap();
            bench.poll();
        }
    }
}

// req: DDP-ERR-02, DDP-ERR-03, DDP-ERR-04, DDP-ERR-05, DDP-ERR-06, DDP-ERR-29, DDP-ERR-30, DDP-ERR-31, DDP-ERR-32,
// req: DDP-ERR-33, DDP-ERR-34, DDP-UNT-08, DDP-UNT-12, DDP-UNT-19, AMB-04, AMB-05, AMB-24, DDP-TEAR-14, DDP-ERR-22
// req: AMB-25
#[test]
fn untagged_validation_cases() {
    let vectors = vectors();
    let cases = vectors["V-CHK-U"].as_array().unwrap();
    assert_eq!(cases.len(), 25);
    for bench in Bench::each() {
        for row in cases {
            let (case, result) = (
                row["case"].as_str().unwrap(),
                row["strict"].as_str().unwrap(),
            );
            let (header, length) = (hex(&row["header"]), row["length"].as_u64().unwrap());
            let field =
                |from: usize| u32::from_be_bytes(header[from..from + 4].try_into().unwrap());
            let (queue, msn, offset) = (field(6), field(10), field(14));
            let (first_msn, lengths) = match queue {
                1 => (1, &[][..]),
                2 => (0xFFFF_FFFF, &[64, 64, 64][..]),
                _ => (5, &[100, 50][..]),
            };
            let options = StreamOptions {
                queues: 0b111,
                first_msn,
                ..StreamOptions::default()
            };
            let stream = bench.arm(3, options);
            bench.post(&stream, if queue == 2 { 2 } else { 0 }, lengths);
            let mut octets = Vec::new();
            let mut writer = FpduWriter::new(false, CrcField::Computed);
            let payload = pattern(9, length as usize);
            writer.append(&header, &payload, &mut octets).unwrap();
            bench.feed(3, 0, &octets, 77);
            let mut seen = bench.settle();
            let first = seen.remove(0);
            let checks = match result {
                "2/01" => Checks::QN,
                "2/02" => Checks::NOBUF,
                "2/03" => Checks::MSN,
                "2/04" => Checks::MO | Checks::LEN,
                "2/05" => Checks::LEN,
                "2/06" => Checks::VERSION,
                _ => Checks::empty(),
            };
            match expected_error(result) {
                Some(number) => assert_eq!(first, Seen::Error(3, number, checks, 0), "{case}"),
                None => {
                    let mut message = vec![UNTOUCHED; offset as usize];
                    message.extend(payload);
                    let queue = queue as u8;
                    assert_eq!(first, Seen::Send(3, queue, msn, message), "{case}");
                }
            }
            stream.close().unwrap();
            seen.extend(bench.poll());
            let left = lengths.len() - usize::from(expected_error(result).is_none());
            assert_eq!(seen.len(), left, "{case}");
            let untouched = |seen: &Seen| match seen {
                Seen::Flushed(.., buffer) => buffer.iter().all(|&octet| octet == UNTOUCHED),
                _ => false,
            };
            assert!(seen.iter().all(untouched), "{case}: {seen:?}");
        }
    }
}

// req: MPA-RCV-05, MPA-RCV-08, MPA-RCV-17, MPA-RCV-18, MPA-RCV-19, MPA-RCV-20, MPA-RCV-21, MPA-RCV-22, MPA-RCV-31
// req: MPA-RCV-38, MPA-FMT-01, DDP-ORD-07
#[test]
fn streams_interleaved_segment_by_segment() {
    for bench in Bench::each() {
        let region = bench.region();
        // One FPDU over thousands of segments; a hundred FPDUs in one; segments of an FPDU and a bit; cuts anywhere.
        let plans = [
            (8800, 1, 3),
            (40, 100, 65535),
            (1000, 8, 1028),
            (777, 10, 613),
        ];
        let mut rng = Rng::with_seed(1);
        let mut expected = vec![UNTOUCHED; LENGTH];
        let mut queues = Vec::new();
        let mut streams = Vec::new();
        for (number, (length, count, segment)) in (0_u8..).zip(plans) {
            let start = rng.u32(..);
            let mut messages = Vec::new();
            for i in 0..count {
                let mut payload = vec![0; length];
                rng.fill(&mut payload);
                let at = 17_000 * usize::from(number) + i * length;
                expected[at..at + length].copy_from_slice(&payload);
                messages.push((write(BASE + at as u64), payload));
            }
            let octets = stream_of(number % 2 == 0, 8882, &messages);
            let options = StreamOptions {
                sequence_start: start,
                ..markers(number % 2 == 0)
            };
            streams.push(bench.arm(number, options));
            let chunks: Vec<_> = octets.chunks(segment).map(<[u8]>::to_vec).collect();
            queues.push((start, segment, chunks.into_iter().enumerate()));
        }
        while !queues.is_empty() {
            for (number, (start, segment, chunks)) in (0..).zip(&mut queues) {
                for (i, chunk) in chunks.by_ref().take(1) {
                    let sequence = start.wrapping_add((i * *segment) as u32);
                    bench.card.feed(number, sequence, chunk).unwrap();
                }
            }
            if queues.iter().all(|(.., chunks)| chunks.len() == 0) {
                break;
            }
        }
        let seen = bench.settle();
        for (number, (length, count, _)) in (0_u8..).zip(plans) {
            let of_stream: Vec<_> = seen
                .iter()
                .filter(|seen| matches!(seen, Seen::Write(stream, ..) if *stream == number))
                .collect();
            let delivered = Seen::Write(number, length as u32, false);
            assert_eq!(of_stream, vec![&delivered; count], "stream {number}");
        }
        assert!(region.to_vec().unwrap() == expected);
        let counters = bench.context.counters().unwrap();
        assert_eq!(
            (counters.fpdus, counters.errors, counters.segments_dropped),
            (119, 0, 0)
        );
    }
}

// req: MPA-RCV-17, MPA-RCV-24, MPA-RCV-25, DDP-DEL-07, AMB-40
#[test]
fn segments_behind_a_gap_are_kept() {
    for bench in Bench::each() {
        let region = bench.region();
        let start = 0xFFFF_FC00; // sequence numbers wrap in the middle
        let options = StreamOptions {
            sequence_start: start,
            ..markers(true)
        };
        let stream = bench.arm(0, options);
        let messages: Vec<_> = (0..8)
            .map(|i| (write(BASE + 500 * i as u64), pattern(i, 500)))
            .collect();
        let octets = stream_of(true, 600, &messages);
        let feed = |from, end| bench.feed_part(0, start, &octets, from..end);
        // Backwards, but for the first octets: one island that grows towards the edge.
        let cuts: Vec<usize> = (0..octets.len()).step_by(357).skip(1).collect();
        for pair in cuts.windows(2).rev() {
            feed(pair[0], pair[1]);
        }
        feed(cuts[cuts.len() - 1], octets.len());
        assert_eq!(stream.edge().unwrap(), start);
        assert_eq!(bench.settle(), []);
        // What is whole is in memory; the first octets are missing, which are of the first FPDU.
        let mut expected = vec![UNTOUCHED; LENGTH];
        for (i, (_, payload)) in messages.iter().enumerate().skip(1) {
            expected[500 * i..500 * (i + 1)].copy_from_slice(payload);
        }
        assert!(region.to_vec().unwrap() == expected);
        // A second copy with other octets says nothing.
        let lies: Vec<u8> = octets[400..1000].iter().map(|octet| !octet).collect();
        let sequence = start.wrapping_add(400);
        bench.card.feed(0, sequence, lies).unwrap();
        feed(0, cuts[0]);
        let seen = bench.settle();
        assert_eq!(seen, vec![Seen::Write(0, 500, false); 8]);
        expected[..500].copy_from_slice(&messages[0].1);
        assert!(region.to_vec().unwrap() == expected);
        let end = start.wrapping_add(octets.len() as u32);
        assert_eq!(stream.edge().unwrap(), end);
        let counters = bench.context.counters().unwrap();
        assert_eq!((counters.segments_dropped, counters.errors), (0, 0));
        assert_eq!(
            counters.octets,
            octets.len() as u32,
            "each octet counts once"
        );
    }
}

// req: MPA-ERR-12, MPA-ERR-13, MPA-CRC-18, DDP-ERR-20, AMB-10, MPA-RCV-01, DDP-TEAR-03, DDP-TEAR-17, AMB-32
#[test]
fn an_error_freezes_its_stream_alone() {
    for bench in Bench::each() {
        let region = bench.region();
        let streams: Vec<_> = (0..4).map(|i| bench.arm(i, markers(true))).collect();
        let mut expected = vec![UNTOUCHED; LENGTH];
        for number in 0..4_u8 {
            let at = |i: usize| 16_000 * usize::from(number) + 500 * i;
            let message = |i| (write(BASE + at(i) as u64), pattern(i, 500));
            let messages: Vec<_> = (0..20).map(message).collect();
            let mut octets = stream_of(true, 600, &messages);
            let mut placed = 20;
            if number == 1 {
                // Near the end of the payload of the eighth FPDU.
                octets[stream_of(true, 600, &messages[..8]).len() - 10] ^= 1;
                placed = 7;
            }
            for i in 0..placed {
                expected[at(i)..at(i) + 500].copy_from_slice(&pattern(i, 500));
            }
            bench.feed(number, 0, &octets, 333);
            if number == 1 {
                // Good FPDUs behind the bad one, more than a ring holds.
                let more = stream_of(true, 600, &vec![(write(BASE), pattern(99, 500)); 300]);
                bench.feed(number, octets.len() as u32, &more, 1460);
            }
        }
        let seen = bench.settle();
        assert!(region.to_vec().unwrap() == expected);
        for number in 0..4 {
            let count =
                |seen: &&Seen| matches!(seen, Seen::Write(stream, 500, false) if *stream == number);
            let delivered = seen.iter().filter(count).count();
            assert_eq!(delivered, if number == 1 { 7 } else { 20 });
            assert_eq!(
                bench.card.untaken(number).unwrap(),
                0,
                "frozen streams are consumed"
            );
        }
        let errors: Vec<_> = seen
            .iter()
            .filter(|seen| matches!(seen, Seen::Error(..)))
            .collect();
        assert!(
            matches!(errors[..], [Seen::Error(1, ErrorNumber::MpaCrc, _, _)]),
            "{errors:?}"
        );
        assert_eq!(bench.context.counters().unwrap().errors, 1);
        let records = streams
            .iter()
            .map(|stream| stream.error_record().unwrap().is_some());
        assert!(records.eq([false, true, false, false]));
        // TCP sends the segments again, right this time: they are not looked at. The stream is there until the program ends it.
        let message = |i: usize| (write(BASE + 16_000 + 500 * i as u64), pattern(i, 500));
        let right = stream_of(true, 600, &(0..20).map(message).collect::<Vec<_>>());
        for (i, segment) in right.chunks(333).enumerate() {
            bench.card.inject(1, 333 * i as u32, segment).unwrap();
        }
        bench.card.step(20_000).unwrap();
        assert_eq!(bench.settle(), []);
        assert!(region.to_vec().unwrap() == expected);
        assert_eq!(bench.context.counters().unwrap().errors, 1);
        let armed = bench.domain.arm(1, markers(true)).map(|_| ());
        assert!(matches!(armed, Err(Error::StreamArmed { stream: 1 })));
    }
}

// req: AMB-42, DDP-SEC-22
#[test]
fn nothing_is_written_once_revoke_has_returned() {
    let slow = BackPressure {
        stall: 60,
        latency: 1..=300,
    };
    for width in coverage::tested().unwrap() {
        let bench = Bench::open(width, slow.clone(), 256);
        let mut rng = Rng::with_seed(width as u64);
        let (mut early, mut late) = (0, 0);
        for _ in 0..15 {
            let regions = [bench.region(), bench.register(0x100, BASE, LENGTH)];
            let streams = [bench.arm(0, markers(false)), bench.arm(1, markers(false))];
            let messages = |stag| {
                let message = |i: usize| {
                    let message = Message::Tagged {
                        stag,
                        to: BASE + 300 * i as u64,
                        rsvd_ulp: 0,
                    };
                    (message, pattern(i, 300))
                };
                stream_of(false, 600, &(0..60).map(message).collect::<Vec<_>>())
            };
            bench.feed(0, 0, &messages(STAG), 1000);
            bench.feed(1, 0, &messages(0x100), 1000);
            bench.card.step(rng.u64(100..4000)).unwrap();
            let [revoked, kept] = regions;
            let mut memory = revoked.revoke().unwrap();
            let written = memory.iter().filter(|&&octet| octet != UNTOUCHED).count();
            memory.fill(0x5A); // poison
            let seen = bench.settle();
            assert!(memory.iter().all(|&octet| octet == 0x5A));
            assert_eq!(bench.card.bus_errors(), 0);
            // What was delivered had been placed; the rest met an unknown STag.
            let delivered = seen
                .iter()
                .filter(|seen| matches!(seen, Seen::Write(0, ..)))
                .count();
            let failed = seen.iter().any(|seen| {
                matches!(seen, Seen::Error(0, ErrorNumber::TaggedInvalidStag, checks, _) if *checks == Checks::STAG)
            });
            assert!(
                written >= delivered * 290,
                "{written} octets, {delivered} messages"
            );
            assert_eq!(failed, delivered < 60);
            early += usize::from(failed);
            late += delivered;
            let others = seen
                .iter()
                .filter(|seen| matches!(seen, Seen::Write(1, ..)))
                .count();
            assert_eq!(others, 60, "the other region's stream goes on");
            let whole = kept.to_vec().unwrap();
            assert!((0..60).all(|i| whole[300 * i..300 * (i + 1)] == pattern(i, 300)));
            for stream in streams {
                stream.close().unwrap();
            }
        }
        assert!(
            early > 5 && late > 60,
            "revoked in the middle: {early}, {late}"
        );
    }
}

// req: DDP-UNT-17, DDP-UNT-18, DDP-ERR-04, DDP-ERR-30, DDP-TEAR-15, DDP-ERR-08, DDP-ERR-10, DDP-ERR-11
#[test]
fn a_receive_queue_runs_dry() {
    for bench in Bench::each() {
        let options = StreamOptions {
            queues: 0b11,
            ..StreamOptions::default()
        };
        let stream = bench.arm(2, options);
        bench.post(&stream, 0, &[100, 100, 100]);
        bench.post(&stream, 1, &[50]);
        let message = |qn, msn| (send(qn, msn), pattern(msn as usize, 60 + msn as usize));
        let messages = [1, 2, 3].map(|msn| message(0, msn));
        let mut octets = stream_of(false, 600, &messages);
        bench.feed(2, 0, &octets, 40);
        let sent = |msn: u32| Seen::Send(2, 0, msn, pattern(msn as usize, 60 + msn as usize));
        assert_eq!(bench.settle(), [1, 2, 3].map(sent));

        // One more buffer, one more message; the one behind it has none.
        bench.post(&stream, 0, &[64]);
        let start = octets.len() as u32;
        octets = stream_of(false, 600, &[message(0, 4), message(0, 5)]);
        bench.feed(2, start, &octets, 1000);
        let position = start + 2 + (18 + 64) + 4; // behind the FPDU of message 4
        let error = Seen::Error(2, ErrorNumber::UntaggedNoBuffer, Checks::NOBUF, position);
        let flushed = Seen::Flushed(2, 1, 1, vec![UNTOUCHED; 50]);
        let seen = bench.settle();
        assert_eq!(seen[0], sent(4));
        assert_eq!(seen[1..], [error, flushed]);
        let late = bench.context.buffers(1, 10).unwrap().remove(0);
        let refused = stream.receive_queue(0).unwrap().post(late).unwrap_err();
        assert!(matches!(refused.error, Error::StreamFailed { stream: 2 }));
        // It happens once: what comes then is not looked at.
        let start = start + octets.len() as u32;
        let octets = stream_of(false, 600, &[message(0, 5), message(1, 1), message(0, 9)]);
        bench.feed(2, start, &octets, 1000);
        assert_eq!(bench.settle(), []);
        assert_eq!(bench.context.counters().unwrap().errors, 1);
    }
}

// req: DDP-DEL-01, DDP-DEL-02, AMB-41
#[test]
fn a_full_completion_queue_is_neither_overrun_nor_forgotten() {
    for width in coverage::tested().unwrap() {
        for entries in [1, 4] {
            let bench = Bench::open(width, BackPressure::RANDOM, entries);
            let region = bench.region();
            let streams = [bench.arm(0, markers(false)), bench.arm(1, markers(false))];
            bench.post(&streams[1], 0, &[8; 40]);
            let writes = |i: usize| (write(BASE + 100 * i as u64), pattern(i, 1 + i));
            let sends = |i: usize| (send(0, i as u32 + 1), pattern(i, i % 9));
            let writes: Vec<_> = (0..40).map(writes).collect();
            let sends: Vec<_> = (0..40).map(sends).collect();
            bench.feed(0, 0, &stream_of(false, 600, &writes), 500);
            bench.feed(1, 0, &stream_of(false, 600, &sends), 50);
            let producer = || {
                bench
                    .card
                    .read_register(warpline_regmap::register::COMPLETION_PRODUCER.offset)
            };
            let mut seen = Vec::new();
            loop {
                bench.card.run_until_idle().unwrap();
                assert!(producer().unwrap() <= seen.len() as u32 + entries);
                let now = bench.poll();
                if now.is_empty() {
                    break;
                }
                seen.extend(now);
                bench.card.step(300).unwrap(); // the device takes up what waited
            }
            // The message whose buffer is too short ends the second stream.
            let (first, second): (Vec<_>, Vec<_>) = seen
                .into_iter()
                .partition(|seen| matches!(seen, Seen::Write(..)));
            assert!(
                first.iter().eq((1..=40)
                    .map(|length| Seen::Write(0, length, false))
                    .collect::<Vec<_>>()
                    .iter())
            );
            assert_eq!(second.len(), 40);
            for (i, seen) in second.iter().enumerate() {
                assert_eq!(*seen, Seen::Send(1, 0, i as u32 + 1, pattern(i, i % 9)));
            }
            let memory = region.to_vec().unwrap();
            assert!((0..40).all(|i| memory[100 * i..100 * i + 1 + i] == pattern(i, 1 + i)));
        }
    }
}

// req: AMB-10, AMB-58, DDP-ERR-18
#[test]
fn an_error_waits_its_turn_in_a_full_completion_queue_and_is_not_lost() {
    const BEFORE: usize = 12;
    for width in coverage::tested().unwrap() {
        let bench = Bench::open(width, BackPressure::RANDOM, 4);
        let _region = bench.region();
        let numbers = 0..4_u8;
        let streams: Vec<_> = numbers
            .clone()
            .map(|number| bench.arm(number, markers(false)))
            .collect();
        for number in numbers.clone() {
            let message = |i: usize| (write(BASE), pattern(i, 10 + i));
            let messages: Vec<_> = (0..BEFORE + 3).map(message).collect();
            let wrong = |i, crc: [u8; 4]| match i {
                BEFORE => crc.map(|octet| !octet),
                _ => crc,
            };
            bench.feed(number, 0, &with_crc_fields(false, &messages, wrong), 100);
        }
        let mut seen = Vec::new();
        loop {
            bench.card.run_until_idle().unwrap();
            let now = bench.poll();
            if now.is_empty() {
                break;
            }
            assert!(now.len() <= 4);
            seen.extend(now);
            bench.card.step(300).unwrap();
        }
        for (number, stream) in numbers.zip(&streams) {
            let of_stream = seen.iter().filter(|seen| match seen {
                Seen::Write(stream, ..) | Seen::Error(stream, ..) => *stream == number,
                _ => false,
            });
            let position = stream.error_record().unwrap().unwrap().position;
            let mut expected: Vec<_> = (0..BEFORE)
                .map(|i| Seen::Write(number, 10 + i as u32, false))
                .collect();
            let error = Seen::Error(number, ErrorNumber::MpaCrc, Checks::empty(), position);
            expected.push(error);
            assert!(of_stream.eq(&expected), "stream {number}: {seen:?}");
        }
        assert_eq!(seen.len(), 4 * (BEFORE + 1));
    }
}

// req: DDP-ERR-23, AMB-10, AMB-41
#[test]
fn a_bus_error_fails_its_stream_alone() {
    for bench in Bench::each() {
        let good = bench.region();
        let bad = bench.register_as(0x100, 8192, Registration::default());
        let streams = [bench.arm(0, markers(false)), bench.arm(1, markers(false))];
        bench.card.fail_writes(bad.base() + 5000..bad.base() + 5001);
        let messages = |stag, base| {
            let message = |i: usize| {
                let to = base + 100 * i as u64;
                let rsvd_ulp = 0;
                (Message::Tagged { stag, to, rsvd_ulp }, pattern(i, 100))
            };
            stream_of(false, 600, &(0..80).map(message).collect::<Vec<_>>())
        };
        bench.feed(0, 0, &messages(STAG, BASE), 700);
        bench.feed(1, 0, &messages(0x100, bad.base()), 700);
        let seen = bench.settle();
        let delivered = |number| {
            let of_stream =
                |seen: &&Seen| matches!(seen, Seen::Write(stream, ..) if *stream == number);
            seen.iter().filter(of_stream).count()
        };
        assert_eq!(delivered(0), 80);
        assert_eq!(
            bench.card.bus_errors(),
            1,
            "nothing follows the failed write"
        );
        assert_eq!(delivered(1), 50, "what was placed before is delivered");
        let error = Seen::Error(1, ErrorNumber::LocalCatastrophic, Checks::empty(), 0);
        assert!(seen.contains(&error), "{seen:?}");
        let record = streams[1].error_record().unwrap().unwrap();
        assert_eq!(record.number, ErrorNumber::LocalCatastrophic);
        let memory = good.to_vec().unwrap();
        assert!((0..80).all(|i| memory[100 * i..][..100] == pattern(i, 100)));
        assert_eq!(
            bad.to_vec().unwrap()[..5000],
            (0..50).flat_map(|i| pattern(i, 100)).collect::<Vec<_>>()
        );
    }
}

/// Each stream in its turn.
// req: DDP-ERR-23
#[test]
fn a_bus_error_fails_whichever_stream_it_is_of() {
    for bench in Bench::each() {
        let region = bench.register_as(STAG, 8192, Registration::default());
        let write = |to| Message::Tagged {
            stag: STAG,
            to: region.base() + to,
            rsvd_ulp: 0,
        };
        for number in 0..4 {
            let stream = bench.arm(number, markers(false));
            let messages: Vec<_> = (0..4)
                .map(|i| (write(100 * i), pattern(i as usize, 100)))
                .collect();
            bench
                .card
                .fail_writes(region.base() + 250..region.base() + 251);
            bench.feed(number, 0, &stream_of(false, 600, &messages), 700);
            let error = Seen::Error(number, ErrorNumber::LocalCatastrophic, Checks::empty(), 0);
            let written = Seen::Write(number, 100, false);
            assert_eq!(bench.settle(), [written.clone(), written, error]);
            bench.card.fail_writes(0..0);
            stream.close().unwrap();
        }
        assert_eq!(bench.card.bus_errors(), 4);
    }
}

// req: DDP-TEAR-15, AMB-16, MPA-MRK-16, DDP-UNT-11
#[test]
fn a_stream_closed_anywhere_starts_afresh() {
    for bench in Bench::each() {
        let region = bench.region();
        let message = pattern(3, 1000);
        let mut rng = Rng::with_seed(3);
        for round in 0..12_u32 {
            let with_markers = round % 3 == 0;
            let options = StreamOptions {
                sequence_start: rng.u32(..),
                ..markers(with_markers)
            };
            let octets = stream_of(
                with_markers,
                700,
                &[
                    (send(0, 1), message.clone()),
                    (write(BASE), pattern(round as usize, 500)),
                ],
            );
            // A part of it, perhaps within an FPDU, perhaps on its way.
            let stream = bench.arm(1, options);
            bench.post(&stream, 0, &[1200, 7]);
            let part = &octets[..rng.usize(1..octets.len())];
            bench.feed(1, options.sequence_start, part, 300);
            bench.card.step(rng.u64(..800)).unwrap();
            stream.close().unwrap();
            let before = region.to_vec().unwrap();
            let flushed = |seen: &Seen| matches!(seen, Seen::Flushed(1, 0, ..));
            assert!(matches!(
                bench.poll().iter().filter(|seen| flushed(seen)).count(),
                1 | 2
            ));
            bench.card.step(2000).unwrap();
            assert!(
                region.to_vec().unwrap() == before,
                "nothing is written behind close"
            );
            // All of it, from another sequence number on.
            let options = StreamOptions {
                sequence_start: rng.u32(..),
                ..options
            };
            let stream = bench.arm(1, options);
            bench.post(&stream, 0, &[1200]);
            bench.feed(1, options.sequence_start, &octets, 300);
            let sent = Seen::Send(1, 0, 1, message.clone());
            assert_eq!(
                bench.settle(),
                [sent, Seen::Write(1, 500, false)],
                "round {round}"
            );
            assert_eq!(
                region.to_vec().unwrap()[..500],
                pattern(round as usize, 500)
            );
            stream.close().unwrap();
            bench.poll();
        }
    }
}

// req: AMB-16, DDP-SEC-22
#[test]
fn a_reset_ends_everything_and_hurts_nothing() {
    for width in coverage::tested().unwrap() {
        let Bench {
            card,
            context,
            domain,
            _counted,
        } = Bench::open(width, BackPressure::RANDOM, 16);
        let mut handles = Some((context, domain));
        let mut rng = Rng::with_seed(5);
        for round in 0..6 {
            let (context, domain) = handles.take().unwrap();
            let bench = Bench {
                _counted: _counted.clone(),
                card: card.clone(),
                context,
                domain,
            };
            let region = bench.region();
            let stream = bench.arm(0, markers(true));
            let message = |i: usize| (write(BASE + 600 * i as u64), pattern(i, 600));
            let octets = stream_of(true, 700, &(0..40).map(message).collect::<Vec<_>>());
            bench.feed(0, 0, &octets, 1460);
            card.step(rng.u64(100..6000)).unwrap();
            card.reset().unwrap();
            let before = region.to_vec().unwrap();
            card.step(3000).unwrap();
            assert!(region.to_vec().unwrap() == before, "round {round}");
            for i in 0..40 {
                let found = &before[600 * i..600 * (i + 1)];
                let whole = found.iter().zip(pattern(i, 600));
                assert!(
                    whole
                        .clone()
                        .all(|(&found, sent)| found == sent || found == UNTOUCHED)
                );
            }
            assert_eq!(card.bus_errors(), 0);
            drop((stream, region, bench));

            // Opened again, the device is as new.
            let context = open(&card, 16);
            let domain = context.protection_domain().unwrap();
            let bench = Bench {
                _counted: _counted.clone(),
                card: card.clone(),
                context,
                domain,
            };
            let region = bench.region();
            let stream = bench.arm(0, markers(true));
            bench.feed(0, 0, &octets[..5 * 632], 1000);
            let seen = bench.settle();
            assert!(
                seen.iter().all(|seen| *seen == Seen::Write(0, 600, false)),
                "{seen:?}"
            );
            let memory = region.to_vec().unwrap();
            assert!((0..seen.len()).all(|i| memory[600 * i..600 * (i + 1)] == pattern(i, 600)));
            assert!((4..=5).contains(&seen.len()), "round {round}: {seen:?}");
            drop((stream, region));
            handles = Some((bench.context.clone(), bench.domain));
        }
    }
}

/// FPDUs of these messages, one a message, with their CRC fields as `field` makes them of their number and right value.
fn with_crc_fields(
    markers: bool,
    messages: &[(Message, Vec<u8>)],
    field: impl Fn(usize, [u8; 4]) -> [u8; 4],
) -> Vec<u8> {
    let mut writer = FpduWriter::new(markers, CrcField::Computed);
    let mut octets = Vec::new();
    for (number, (message, payload)) in messages.iter().enumerate() {
        writer
            .append_message(*message, payload, 9000, &mut octets)
            .unwrap();
        let crc = octets.last_chunk_mut::<4>().unwrap();
        *crc = field(number, *crc);
    }
    octets
}

// req: MPA-CRC-06, MPA-CRC-08, MPA-CRC-11, MPA-FMT-09, AMB-12, MPA-CRC-10
#[test]
fn without_crcs_the_same_arrives_whatever_their_fields_hold() {
    for bench in Bench::each() {
        let region = bench.region();
        let message = |i: usize| match i % 2 {
            0 => (write(BASE + 400 * i as u64), pattern(i, 390 + i)),
            _ => (send(0, i as u32 / 2 + 1), pattern(i, 100 * i)),
        };
        let messages: Vec<_> = (0..12).map(message).collect();
        for with_markers in [false, true] {
            let arrived = |crc, octets: &[u8]| {
                region.write_at(0, &[UNTOUCHED; LENGTH]).unwrap();
                let options = StreamOptions {
                    crc,
                    ..markers(with_markers)
                };
                let stream = bench.arm(3, options);
                bench.post(&stream, 0, &[1500; 6]);
                bench.feed(3, 0, octets, 700);
                let seen = bench.settle();
                stream.close().unwrap();
                bench.poll();
                (seen, region.to_vec().unwrap())
            };
            let right = with_crc_fields(with_markers, &messages, |_, crc| crc);
            let mut rng = Rng::with_seed(7);
            let wrong: [[u8; 4]; 12] = std::array::from_fn(|_| rng.u32(..).to_le_bytes());
            let other = with_crc_fields(with_markers, &messages, |i, _| wrong[i]);
            let expected = arrived(true, &right);
            assert_eq!(expected.0.len(), 12);
            assert!(arrived(false, &right) == expected);
            assert!(arrived(false, &other) == expected);
            let checked = arrived(true, &other).0;
            let error = Seen::Error(3, ErrorNumber::MpaCrc, Checks::empty(), 0);
            assert_eq!(checked[0], error);
        }
    }
}

// req: MPA-CRC-07, MPA-CRC-19, AMB-44
#[test]
fn crcs_are_checked_as_long_as_a_stream_lives() {
    const FPDUS: usize = 3000;
    for bench in Bench::each() {
        let region = bench.region();
        let message = |i: usize| (write(BASE + 20 * i as u64), pattern(i, 1 + i % 20));
        let messages: Vec<_> = (0..FPDUS).map(message).collect();
        let last = |i, crc: [u8; 4]| match i {
            i if i + 1 == FPDUS => crc.map(|octet| octet ^ 0x10),
            _ => crc,
        };
        let octets = with_crc_fields(false, &messages, last);
        let stream = bench.arm(
            3,
            StreamOptions {
                tagged_completions: false,
                ..markers(false)
            },
        );
        bench.feed(3, 0, &octets, 1460);
        let position =
            octets.len() - with_crc_fields(false, &messages[FPDUS - 1..], |_, c| c).len();
        let error = Seen::Error(3, ErrorNumber::MpaCrc, Checks::empty(), position as u32);
        assert_eq!(bench.settle(), [error]);
        assert!(stream.error_record().unwrap().is_some());
        let mut expected = vec![UNTOUCHED; LENGTH];
        for i in 0..FPDUS - 1 {
            expected[20 * i..][..1 + i % 20].copy_from_slice(&pattern(i, 1 + i % 20));
        }
        assert!(region.to_vec().unwrap() == expected);
    }
}

// req: MPA-MRK-04, MPA-MRK-05, MPA-MRK-06, MPA-MRK-08, MPA-MRK-19, MPA-ERR-05, AMB-17
#[test]
fn markers_stand_where_sequence_numbers_say_and_count_from_the_length() {
    let with_crc = |mut octets: Vec<u8>| {
        let (covered, field) = octets.split_last_chunk_mut::<4>().unwrap();
        *field = warpline_wire::crc::to_wire(warpline_wire::crc::crc32c(covered));
        octets
    };
    for bench in Bench::each() {
        let _region = bench.region();
        // One FPDU from position 0 on: markers at 11, 523 and 1035, or around the wrap.
        let octets = stream_of(true, 1200, &[(write(BASE), pattern(1, 1100))]);
        for (start, at) in [
            (11, [11, 523, 1035]),
            (0xFFFF_FF00, [0xFFFF_FF00, 0x100, 0x300]),
        ] {
            let options = StreamOptions {
                sequence_start: start,
                ..markers(true)
            };
            for (sequence, pointer) in at.into_iter().zip([0_u16, 0x1FC, 0x3FC]) {
                let position = u32::wrapping_sub(sequence, start) as usize;
                let marker = [[0; 2], pointer.to_be_bytes()].concat();
                assert_eq!(octets[position..position + 4], marker);
                // The distance to the leading marker would be 4 more.
                let mut other = octets.clone();
                let wrong = pointer + 4;
                other[position + 2..position + 4].copy_from_slice(&wrong.to_be_bytes());
                let (seen, stream) = outcome(&bench, options, &with_crc(other));
                let error = Seen::Error(3, ErrorNumber::MpaMarker, Checks::empty(), 0);
                assert_eq!(seen, [error], "{start} {position}");
                let expected = ErrorDetail::Marker {
                    expected: pointer,
                    received: wrong,
                };
                assert_eq!(stream.error_record().unwrap().unwrap().detail, expected);
            }
            let (seen, _stream) = outcome(&bench, options, &octets);
            assert_eq!(seen, [Seen::Write(3, 1100, false)]);
        }
    }
}

/// An FPDU that begins with a marker and ends around the next one, between two others: up to ULPDU_Length 502 it ends in
/// front of that marker, from 503 on the marker is inside, and its end moves on by a dword.
// req: MPA-MRK-02, MPA-MRK-04, MPA-FMT-10
#[test]
fn an_fpdu_from_marker_to_marker_has_one_or_two() {
    for bench in Bench::each() {
        let region = bench.region();
        for ulpdu in 496..=512 {
            let payload = pattern(ulpdu, ulpdu - 14);
            let messages = [
                (write(BASE), vec![0; 512 - 4 - 6 - 14]),
                (write(BASE + 1000), payload.clone()),
                (write(BASE + 2000), vec![7; 9]),
            ];
            let octets = stream_of(true, 600, &messages);
            assert_eq!(begins(&octets, true)[..2], [0, 512]);
            let second = mpa::fpdu_len(512, ulpdu, true);
            assert_eq!(
                second,
                4 + (2 + ulpdu).next_multiple_of(4) + 4 + 4 * usize::from(ulpdu > 502)
            );
            let (seen, stream) = outcome(&bench, markers(true), &octets);
            let lengths = messages.map(|(_, payload)| payload.len() as u32);
            assert_eq!(seen, lengths.map(|length| Seen::Write(3, length, false)));
            let memory = region.to_vec().unwrap();
            assert!(memory[1000..][..payload.len()] == payload, "{ulpdu}");
            assert_eq!(
                memory[1000 + payload.len()..2000 + 10],
                [
                    &vec![UNTOUCHED; 1000 - payload.len()][..],
                    &[7; 9],
                    &[UNTOUCHED]
                ]
                .concat()
            );
            stream.close().unwrap();
        }
    }
}

/// A segment behind a gap may end with a marker that an FPDU begins with, or in the octets behind it: what tells the length
/// of that FPDU is not there yet, and nothing is made of it.
// req: MPA-RCV-17, MPA-RCV-25
#[test]
fn a_segment_behind_a_gap_ends_behind_the_marker_of_the_next_fpdu() {
    for bench in Bench::each() {
        let region = bench.region();
        for end in 514..=524 {
            let payloads = [vec![1; 512 - 4 - 6 - 14], pattern(end, 300)];
            let messages = [
                (write(BASE), payloads[0].clone()),
                (write(BASE + 1000), payloads[1].clone()),
            ];
            let octets = stream_of(true, 600, &messages);
            assert_eq!(begins(&octets, true)[..2], [0, 512]);
            region.write_at(0, &[UNTOUCHED; LENGTH]).unwrap();
            let options = markers(true);
            let stream = bench.arm(2, options);
            let feed = |from, to| bench.feed_part(2, options.sequence_start, &octets, from..to);
            feed(8, end);
            assert_eq!(bench.settle(), [], "{end}");
            assert!(region.to_vec().unwrap() == [UNTOUCHED; LENGTH], "{end}");
            feed(end, octets.len());
            feed(0, 8);
            let lengths = payloads.each_ref().map(|payload| payload.len() as u32);
            let whole = lengths.map(|length| Seen::Write(2, length, false));
            assert_eq!(bench.settle(), whole, "{end}");
            let mut expected = vec![UNTOUCHED; LENGTH];
            expected[..payloads[0].len()].copy_from_slice(&payloads[0]);
            expected[1000..1300].copy_from_slice(&payloads[1]);
            assert!(region.to_vec().unwrap() == expected, "{end}");
            stream.close().unwrap();
        }
    }
}

// req: MPA-RCV-04, MPA-RCV-15, MPA-RCV-27, MPA-RCV-28, DDP-HDR-09, DDP-ORD-06, DDP-ORD-07, AMB-54
#[test]
fn nothing_is_guessed_behind_a_gap() {
    for bench in Bench::each() {
        let region = bench.region();
        for (with_markers, crc) in [(false, true), (false, false), (true, false), (true, true)] {
            region.write_at(0, &[UNTOUCHED; LENGTH]).unwrap();
            // The payload of the first message begins with an FPDU, as whole and right as any.
            let decoy = stream_of(false, 600, &[(write(BASE + 60_000), pattern(9, 40))]);
            let message = |i: usize| (write(BASE + 500 * i as u64), pattern(i, 500));
            let mut messages: Vec<_> = (0..6).map(message).collect();
            messages[0].1[..decoy.len()].copy_from_slice(&decoy);
            let octets = stream_of(with_markers, 600, &messages);
            let gap = octets
                .windows(decoy.len())
                .position(|octets| octets == decoy)
                .unwrap();
            assert_eq!(gap, if with_markers { 20 } else { 16 });
            let start = 0xFFFF_FFF5_u32;
            let options = StreamOptions {
                sequence_start: start,
                crc,
                ..markers(with_markers)
            };
            let stream = bench.arm(3, options);
            let behind = start.wrapping_add(gap as u32);
            for (i, segment) in octets[gap..].chunks(500).enumerate() {
                let sequence = behind.wrapping_add(500 * i as u32);
                bench.card.inject(3, sequence, segment).unwrap();
            }
            assert_eq!(bench.settle(), [], "nothing is delivered");
            assert_eq!(stream.edge().unwrap(), start);
            // Another stream does not wait for it.
            let other = bench.arm(0, markers(true));
            bench.feed(0, 0, &stream_of(true, 600, &[message(9)]), 500);
            assert_eq!(bench.settle(), [Seen::Write(0, 500, false)]);
            region.write_at(4500, &[UNTOUCHED; 500]).unwrap();
            other.close().unwrap();
            let memory = region.to_vec().unwrap();
            assert!(memory[60_000..].iter().all(|&octet| octet == UNTOUCHED));
            if !(with_markers && crc) {
                assert!(memory.iter().all(|&octet| octet == UNTOUCHED));
            }
            // The gap is filled, and all comes again.
            bench.card.inject(3, start, &octets[..gap]).unwrap();
            let mut seen = bench.settle();
            assert!(stream.edge().unwrap().wrapping_sub(start) >= gap as u32);
            bench.feed(3, start, &octets, 500);
            seen.extend(bench.settle());
            assert_eq!(seen, vec![Seen::Write(3, 500, false); 6]);
            assert_eq!(
                stream.edge().unwrap().wrapping_sub(start),
                octets.len() as u32
            );
            let memory = region.to_vec().unwrap();
            let placed = messages.iter().flat_map(|(_, payload)| payload);
            assert!(memory[..3000].iter().eq(placed));
            assert!(memory[3000..].iter().all(|&octet| octet == UNTOUCHED));
            stream.close().unwrap();
        }
    }
}

/// Where each FPDU of a stream begins, and the end of the last one.
fn begins(octets: &[u8], markers: bool) -> Vec<usize> {
    let mut begins = vec![0];
    while begins[begins.len() - 1] < octets.len() {
        let at = begins[begins.len() - 1];
        let header = at + 4 * usize::from(markers && at.is_multiple_of(512));
        let ulpdu = u16::from_be_bytes([octets[header], octets[header + 1]]);
        begins.push(at + mpa::fpdu_len(at as u32, ulpdu.into(), markers));
    }
    begins
}

/// Message i: 500 octets, one FPDU.
fn message(i: usize) -> (Message, Vec<u8>) {
    (write(BASE + 500 * i as u64), pattern(i, 500))
}

/// Memory in which these messages are, and nothing else.
fn memory_with(messages: impl IntoIterator<Item = usize>) -> Vec<u8> {
    let mut memory = vec![UNTOUCHED; LENGTH];
    for i in messages {
        memory[500 * i..500 * (i + 1)].copy_from_slice(&pattern(i, 500));
    }
    memory
}

/// Whole FPDUs behind a gap are in memory at once, and delivered when the gap is closed.
// req: MPA-RCV-06, MPA-RCV-07, MPA-RCV-12, MPA-RCV-18, MPA-RCV-19, MPA-RCV-22, MPA-RCV-23, MPA-RCV-30, DDP-ORD-03
// req: LLP-05, MPA-MRK-09, MPA-MRK-13, DDP-ORD-06
#[test]
fn whole_fpdus_behind_a_gap_are_placed_at_once_and_delivered_in_order() {
    for bench in Bench::each() {
        let region = bench.region();
        let octets = stream_of(true, 600, &(0..12).map(message).collect::<Vec<_>>());
        let at = begins(&octets, true);
        let start = 0xFFFF_FD00;
        let feed = |from: usize, end: usize| {
            let sequence = start_plus(start, from);
            if from < end {
                bench.card.feed(2, sequence, &octets[from..end]).unwrap();
            }
        };
        let options = StreamOptions {
            sequence_start: start,
            ..markers(true)
        };
        // the second FPDU before the first one; the tail of one, a whole one and the head of another one; ten at once
        for (from, end, placed) in [
            (at[1], at[2], 1..2),
            (at[3] - 100, at[4] + 100, 3..4),
            (at[2], at[12], 2..12),
        ] {
            region.write_at(0, &[UNTOUCHED; LENGTH]).unwrap();
            let stream = bench.arm(2, options);
            feed(from, end);
            assert_eq!(bench.settle(), []);
            assert!(
                region.to_vec().unwrap() == memory_with(placed.clone()),
                "{placed:?}"
            );
            assert_eq!(stream.edge().unwrap(), start);
            let before = bench.context.counters().unwrap();
            feed(0, from);
            let seen = bench.settle();
            assert_eq!(seen, vec![Seen::Write(2, 500, false); placed.end]);
            assert!(region.to_vec().unwrap() == memory_with(0..placed.end));
            let after = bench.context.counters().unwrap();
            // each counts once, when it comes in order
            assert_eq!(after.fpdus.wrapping_sub(before.fpdus), placed.end as u32);
            feed(end, octets.len());
            assert_eq!(bench.settle().len(), 12 - placed.end);
            assert!(region.to_vec().unwrap() == memory_with(0..12));
            assert_eq!(stream.edge().unwrap(), start_plus(start, octets.len()));
            stream.close().unwrap();
        }
        assert_eq!(bench.context.counters().unwrap().errors, 0);
    }
}

fn start_plus(start: u32, octets: usize) -> u32 {
    start.wrapping_add(octets as u32)
}

/// Ten small FPDUs behind a gap, most of them without a marker of their own: each is found behind the one before.
// req: MPA-RCV-07, MPA-RCV-19, MPA-RCV-12
#[test]
fn small_fpdus_behind_a_gap_are_found_by_the_lengths_of_valid_ones() {
    for bench in Bench::each() {
        let region = bench.region();
        let small = |i: usize| (write(BASE + 40 * i as u64), pattern(i, 40));
        let octets = stream_of(true, 600, &(0..21).map(small).collect::<Vec<_>>());
        let at = begins(&octets, true);
        let stream = bench.arm(1, markers(true));
        // the first marker behind the gap tells where one of them begins
        let (from, end) = (at[4] + 8, at[20]);
        let first = (0..20).find(|&i| at[i + 1] > 512).unwrap();
        assert!(first > 5 && first < 11, "{first}");
        bench.card.feed(1, from as u32, &octets[from..end]).unwrap();
        assert_eq!(bench.settle(), []);
        let mut expected = vec![UNTOUCHED; LENGTH];
        for i in first..20 {
            expected[40 * i..40 * (i + 1)].copy_from_slice(&pattern(i, 40));
        }
        assert!(region.to_vec().unwrap() == expected);
        bench.card.feed(1, 0, &octets[..from]).unwrap();
        bench.card.feed(1, end as u32, &octets[end..]).unwrap();
        assert_eq!(bench.settle(), vec![Seen::Write(1, 40, false); 21]);
        stream.close().unwrap();
    }
}

/// FPDUs of all streams arrive in any order, whole, several at once or cut: what is known of those behind gaps begins, grows,
/// is joined and is passed again and again. In the end all is as if it had come in order.
// req: MPA-RCV-07, MPA-RCV-19, MPA-RCV-27, DDP-ORD-06
#[test]
fn fpdus_of_all_streams_arrive_in_any_order() {
    /// Messages of a stream, and octets of memory for each.
    const MESSAGES: usize = 140;
    const ROOM: usize = 120;
    for bench in Bench::each() {
        let region = bench.region();
        let mut rng = Rng::with_seed(8);
        for round in 0..12 {
            region.write_at(0, &[UNTOUCHED; LENGTH]).unwrap();
            let mut expected = vec![UNTOUCHED; LENGTH];
            let (mut streams, mut lengths, mut waiting) = (vec![], vec![], vec![]);
            for number in 0..4 {
                let mut messages = vec![];
                for at in (0..MESSAGES).map(|i| ROOM * (MESSAGES * number + i)) {
                    let length = rng.usize(..ROOM);
                    let payload = pattern(rng.usize(..256), length);
                    expected[at..at + length].copy_from_slice(&payload);
                    messages.push((write(BASE + at as u64), payload));
                }
                let of_each = messages.iter().map(|(_, payload)| payload.len() as u32);
                lengths.push(of_each.collect::<Vec<_>>());
                let octets = stream_of(true, 600, &messages);
                let start = rng.u32(..);
                let options = StreamOptions {
                    sequence_start: start,
                    ..markers(true)
                };
                streams.push(bench.arm(number as u8, options));
                let mut cuts = begins(&octets, true);
                match round % 3 {
                    0 => cuts.retain(|_| rng.u8(..4) > 0),
                    1 => cuts = (0..octets.len()).step_by(rng.usize(500..3000)).collect(),
                    _ => cuts
                        .iter_mut()
                        .for_each(|cut| *cut = cut.saturating_sub(rng.usize(..60))),
                }
                cuts.extend([0, octets.len()]);
                cuts.sort_unstable();
                cuts.dedup();
                let segments = cuts.windows(2);
                let segments =
                    segments.map(|cut| (start_plus(start, cut[0]), &octets[cut[0]..cut[1]]));
                let mut segments: Vec<_> =
                    segments.map(|(at, octets)| (at, octets.to_vec())).collect();
                let reach = rng.usize(2..16);
                segments
                    .chunks_mut(reach)
                    .for_each(|some| rng.shuffle(some));
                segments.reverse(); // the next one is the last one
                waiting.push(segments);
            }
            while waiting.iter().any(|segments| !segments.is_empty()) {
                let number = rng.usize(..4);
                if let Some((sequence, octets)) = waiting[number].pop() {
                    bench.card.feed(number as u8, sequence, octets).unwrap();
                    bench.card.step(rng.u64(..60)).unwrap();
                }
            }
            let mut delivered = vec![vec![]; 4];
            loop {
                let some = bench.settle();
                if some.is_empty() {
                    break;
                }
                for seen in some {
                    match seen {
                        Seen::Write(stream, length, _) => {
                            delivered[usize::from(stream)].push(length)
                        }
                        other => panic!("{other:?}"),
                    }
                }
            }
            assert_eq!(delivered, lengths, "round {round}");
            assert!(region.to_vec().unwrap() == expected, "round {round}");
            streams
                .into_iter()
                .for_each(|stream| stream.close().unwrap());
        }
    }
}

/// Large FPDUs, each of which ends a visit of the chain of lengths, arrive one by one: what is placed behind gaps is begun, made
/// longer at both ends, joined and passed, in each of the places that a stream has for it.
// req: MPA-RCV-07, MPA-RCV-19, MPA-RCV-27, DDP-ORD-06
#[test]
fn what_is_placed_behind_gaps_grows_joins_and_is_passed_in_each_place() {
    const ROOM: usize = 1100;
    let passed = |intervals: [Range<usize>; 4]| -> Vec<usize> {
        let rest = [0, 26, 6, 27, 12, 28, 18, 31, 30, 29, 25, 24];
        intervals.into_iter().flatten().chain(rest).collect()
    };
    let mut rng = Rng::with_seed(9);
    for bench in Bench::each() {
        let region = bench.region();
        let message = |i: usize| (write(BASE + (ROOM * i) as u64), pattern(i, ROOM));
        let octets = stream_of(true, 1200, &(0..32).map(message).collect::<Vec<_>>());
        let at = begins(&octets, true);
        for number in 0..4 {
            for (order, at_rest) in [
                (vec![1, 3, 5, 7, 2, 6, 4, 8, 0], true),
                (vec![7, 5, 3, 1, 6, 4, 2, 8, 0], true),
                // in front of each, when there is an island less
                (vec![2, 5, 8, 11, 3, 4, 1, 7, 10, 6, 9, 12, 0], true),
                (vec![5, 2, 8, 11, 3, 4, 1, 7, 10, 6, 9, 12, 0], true),
                // passed one after the other while more arrives, from the first place on and from the last one
                (passed([1..6, 7..12, 13..18, 19..24]), false),
                (passed([19..24, 13..18, 7..12, 1..6]), false),
            ] {
                region.write_at(0, &[UNTOUCHED; LENGTH]).unwrap();
                let stream = bench.arm(number, markers(true));
                let mut delivered = vec![];
                for (i, &fpdu) in order.iter().enumerate() {
                    let octets = &octets[at[fpdu]..at[fpdu + 1]];
                    if at_rest || i < 20 {
                        bench.card.feed(number, at[fpdu] as u32, octets).unwrap();
                        delivered.extend(bench.settle());
                    } else {
                        // each piece is looked at
                        bench.feed(number, at[fpdu] as u32, octets, rng.usize(70..300));
                    }
                }
                delivered.extend(bench.settle());
                let all = vec![Seen::Write(number, ROOM as u32, false); order.len()];
                assert_eq!(delivered, all, "{order:?}");
                let memory = region.to_vec().unwrap();
                for &i in &order {
                    assert_eq!(
                        memory[ROOM * i..][..ROOM],
                        pattern(i, ROOM),
                        "{i} of {order:?}"
                    );
                }
                stream.close().unwrap();
            }
        }
    }
}

/// Behind an FPDU that was found behind a gap stands a length that is cut off, and then a length that no FPDU has. Neither is
/// followed; the error is found when the gap is closed.
// req: MPA-RCV-07, AMB-11, AMB-21
#[test]
fn a_length_behind_a_gap_is_waited_for_and_not_believed() {
    for bench in Bench::each() {
        let region = bench.region();
        let mut octets = stream_of(true, 600, &(0..4).map(message).collect::<Vec<_>>());
        let at = begins(&octets, true);
        assert!(
            !at[2].is_multiple_of(512),
            "no marker in front of the length"
        );
        octets[at[2]..][..2].copy_from_slice(&(mpa::MAX_ULPDU + 1).to_be_bytes());
        for number in 0..4 {
            region.write_at(0, &[UNTOUCHED; LENGTH]).unwrap();
            let stream = bench.arm(number, markers(true));
            for (from, end) in [(at[1], at[2]), (at[2], at[2] + 4), (at[2] + 4, at[3])] {
                bench
                    .card
                    .feed(number, from as u32, &octets[from..end])
                    .unwrap();
                assert_eq!(bench.settle(), []);
                assert!(region.to_vec().unwrap() == memory_with(1..2));
            }
            bench.card.feed(number, 0, &octets[..at[1]]).unwrap();
            let written = Seen::Write(number, 500, false);
            let position = at[2] as u32;
            let error = Seen::Error(number, ErrorNumber::MpaMarker, Checks::empty(), position);
            assert_eq!(bench.settle(), [written.clone(), written, error]);
            stream.close().unwrap();
        }
    }
}

/// With a window of MSNs the third message is whole before the second one has begun: the first one is delivered alone.
// req: AMB-04, DDP-DEL-01
#[test]
fn a_whole_message_waits_for_one_in_front_that_has_not_begun() {
    for bench in Bench::each() {
        let options = StreamOptions {
            msn_window: true,
            ..markers(false)
        };
        let stream = bench.arm(2, options);
        bench.post(&stream, 0, &[16; 3]);
        let message = |msn: u32| (send(0, msn), pattern(msn as usize, 9));
        let octets = stream_of(false, 600, &[3, 1, 2].map(message));
        let sent = |msn: u32| Seen::Send(2, 0, msn, pattern(msn as usize, 9));
        let (early, late) = octets.split_at(octets.len() / 3 * 2);
        bench.card.feed(2, 0, early).unwrap();
        assert_eq!(bench.settle(), [sent(1)]);
        bench.card.feed(2, early.len() as u32, late).unwrap();
        assert_eq!(bench.settle(), [sent(2), sent(3)]);
        stream.close().unwrap();
    }
}

/// Without CRC or without markers nothing is placed before the gap is closed.
// req: AMB-54
#[test]
fn without_crc_or_markers_nothing_behind_a_gap_is_placed() {
    for bench in Bench::each() {
        let region = bench.region();
        for (with_markers, crc) in [(true, false), (false, true), (false, false)] {
            region.write_at(0, &[UNTOUCHED; LENGTH]).unwrap();
            let octets = stream_of(with_markers, 600, &(0..4).map(message).collect::<Vec<_>>());
            let at = begins(&octets, with_markers);
            let options = StreamOptions {
                crc,
                ..markers(with_markers)
            };
            let stream = bench.arm(0, options);
            bench.card.feed(0, at[1] as u32, &octets[at[1]..]).unwrap();
            assert_eq!(bench.settle(), []);
            assert!(region.to_vec().unwrap() == memory_with(0..0));
            bench.card.feed(0, 0, &octets[..at[1]]).unwrap();
            assert_eq!(bench.settle().len(), 4);
            assert!(region.to_vec().unwrap() == memory_with(0..4));
            stream.close().unwrap();
        }
    }
}

/// A marker locates an FPDU that is right; the FPDU in front of it turns out to end elsewhere when the gap is closed. The
/// CRC is judged first (AMB-19): the marker is what is wrong only if that is valid.
// req: MPA-ERR-07
#[test]
fn a_marker_that_the_chain_of_lengths_contradicts_is_found_when_the_gap_is_closed() {
    /// Octets of the longer first FPDU: it reaches into the third one's payload.
    const LONGER: usize = 1100;
    for bench in Bench::each() {
        let region = bench.region();
        // Another first FPDU in the octets of the first one; its rest is what stands there.
        let payload = LONGER - 3 * marker::LEN - 2 - 14 - crc::LEN;
        let longer = stream_of(true, 2000, &[(write(BASE), pattern(9, payload))]);
        assert_eq!(longer.len(), LONGER);
        let mut messages: Vec<_> = (0..4).map(message).collect();
        for valid in [false, true] {
            let mut octets = stream_of(true, 600, &messages);
            let at = begins(&octets, true);
            assert!(at[2] + 16 < LONGER - crc::LEN && 1024 < at[2]);
            octets[..at[1]].copy_from_slice(&longer[..at[1]]);
            let sum = crc::crc32c(&octets[..LONGER - crc::LEN]);
            if valid {
                // its CRC in the third one's payload
                let within = LONGER - crc::LEN - at[2] - 2 - 14;
                messages[2].1[within..within + crc::LEN].copy_from_slice(&crc::to_wire(sum));
                octets.splice(at[1].., stream_of(true, 600, &messages)[at[1]..].to_vec());
                assert_eq!(octets[LONGER - crc::LEN..LONGER], crc::to_wire(sum));
            }
            let mut memory = vec![UNTOUCHED; LENGTH];
            for (i, (_, payload)) in messages.iter().enumerate().skip(1) {
                memory[500 * i..][..500].copy_from_slice(payload);
            }
            region.write_at(0, &[UNTOUCHED; LENGTH]).unwrap();
            let stream = bench.arm(3, markers(true));
            bench.card.feed(3, at[1] as u32, &octets[at[1]..]).unwrap();
            assert_eq!(bench.settle(), []);
            assert!(region.to_vec().unwrap() == memory);
            bench.card.feed(3, 0, &octets[..at[1]]).unwrap();
            let number = match valid {
                false => ErrorNumber::MpaCrc,
                true => ErrorNumber::MpaMarker,
            };
            let seen = bench.settle();
            assert!(
                matches!(seen[..], [Seen::Error(3, found, _, 0)] if found == number),
                "{number:?} expected: {seen:?}"
            );
            if valid {
                let detail = stream.error_record().unwrap().unwrap().detail;
                let (expected, received) = (1024 - 4, 1024 - at[1] as u16);
                assert_eq!(detail, ErrorDetail::Marker { expected, received });
            }
            assert!(region.to_vec().unwrap() == memory);
            stream.close().unwrap();
        }
    }
}

/// What is wrong with an FPDU behind a gap whatever is missing freezes its stream at once; the rest is judged in order.
// req: AMB-11
#[test]
fn an_error_behind_a_gap_freezes_its_stream_when_it_does_not_depend_on_order() {
    for bench in Bench::each() {
        let region = bench.region();
        let stranger = Message::Tagged {
            stag: 0x999,
            to: BASE,
            rsvd_ulp: 0,
        };
        let messages = [
            message(0),
            message(1),
            (stranger, pattern(2, 500)),
            message(3),
        ];
        let octets = stream_of(true, 600, &messages);
        let at = begins(&octets, true);
        let stream = bench.arm(3, markers(true));
        bench.card.feed(3, at[1] as u32, &octets[at[1]..]).unwrap();
        let seen = bench.settle();
        assert!(
            matches!(seen[..], [Seen::Error(3, ErrorNumber::TaggedInvalidStag, _, position)] if position == at[2] as u32),
            "{seen:?}"
        );
        bench.card.feed(3, 0, &octets[..at[1]]).unwrap();
        assert_eq!(bench.settle(), [], "frozen");
        let memory = region.to_vec().unwrap();
        assert!(memory[500..1000] == pattern(1, 500) && memory[..500] == [UNTOUCHED; 500]);
        stream.close().unwrap();
        // A CRC error is met in its turn: what is in front of it is delivered.
        let mut octets = stream_of(true, 600, &(0..4).map(message).collect::<Vec<_>>());
        octets[at[2] + 60] ^= 1;
        let stream = bench.arm(3, markers(true));
        bench.card.feed(3, at[1] as u32, &octets[at[1]..]).unwrap();
        assert_eq!(bench.settle(), []);
        bench.card.feed(3, 0, &octets[..at[1]]).unwrap();
        let seen = bench.settle();
        assert!(
            matches!(
                seen[..],
                [
                    Seen::Write(3, ..),
                    Seen::Write(3, ..),
                    Seen::Error(3, ErrorNumber::MpaCrc, ..)
                ]
            ),
            "{seen:?}"
        );
        stream.close().unwrap();
    }
}

/// Between placement and delivery the region is revoked: what comes in order meets an unknown STag, and nothing is written.
// req: AMB-42, DDP-SEC-22
#[test]
fn a_region_revoked_between_placement_and_delivery_is_not_written_again() {
    for bench in Bench::each() {
        let region = bench.region();
        let octets = stream_of(true, 600, &(0..6).map(message).collect::<Vec<_>>());
        let at = begins(&octets, true);
        let stream = bench.arm(3, markers(true));
        bench.card.feed(3, at[1] as u32, &octets[at[1]..]).unwrap();
        assert_eq!(bench.settle(), []);
        let mut memory = region.revoke().unwrap();
        assert!(memory.to_vec() == memory_with(1..6));
        memory.fill(0x5A);
        bench.card.feed(3, 0, &octets[..at[1]]).unwrap();
        let seen = bench.settle();
        assert!(
            matches!(
                seen[..],
                [Seen::Error(3, ErrorNumber::TaggedInvalidStag, _, 0)]
            ),
            "{seen:?}"
        );
        assert!(memory.iter().all(|&octet| octet == 0x5A));
        stream.close().unwrap();
    }
}

/// Closed at any moment while FPDUs behind a gap are under way; the next owner of the stream has nothing to do with them.
#[test]
fn a_stream_closed_while_fpdus_behind_a_gap_are_under_way_starts_afresh() {
    for bench in Bench::each() {
        let mut rng = Rng::with_seed(8);
        let region = bench.region();
        let octets = stream_of(true, 600, &(0..30).map(message).collect::<Vec<_>>());
        let at = begins(&octets, true);
        for round in 0..20 {
            region.write_at(0, &[UNTOUCHED; LENGTH]).unwrap();
            let options = StreamOptions {
                sequence_start: rng.u32(..),
                ..markers(true)
            };
            let stream = bench.arm(3, options);
            let behind = start_plus(options.sequence_start, at[1]);
            bench.feed(3, behind, &octets[at[1]..], 300);
            bench.card.step(rng.u64(0..3000)).unwrap();
            stream.close().unwrap();
            // what is still on its way from the peer goes by
            let before = region.to_vec().unwrap();
            bench.card.step(5000).unwrap();
            assert!(region.to_vec().unwrap() == before);
            // the next owner's stream is another one, at the same positions
            let other = |i: usize| (write(BASE + 30_000 + 400 * i as u64), pattern(50 + i, 400));
            let next = stream_of(true, 600, &(0..20).map(other).collect::<Vec<_>>());
            let stream = bench.arm(3, markers(true));
            let cut = begins(&next, true)[1 + round % 5];
            bench.card.feed(3, cut as u32, &next[cut..]).unwrap();
            assert_eq!(bench.settle(), []);
            bench.card.feed(3, 0, &next[..cut]).unwrap();
            assert_eq!(bench.settle(), vec![Seen::Write(3, 400, false); 20]);
            let memory = region.to_vec().unwrap();
            assert!(memory[..30_000] == before[..30_000]);
            for i in 0..20 {
                assert!(memory[30_000 + 400 * i..][..400] == pattern(50 + i, 400));
            }
            stream.close().unwrap();
        }
        assert_eq!(bench.context.counters().unwrap().errors, 0);
    }
}

/// Three segments in each order, each of them once: delivered is what is whole without a gap in front, in the sender's order.
// req: MPA-RCV-13, MPA-RCV-15, MPA-RCV-18, MPA-RCV-19, MPA-RCV-20, MPA-RCV-21, MPA-RCV-22, MPA-RCV-27, MPA-RCV-34
// req: DDP-ORD-06
#[test]
fn three_segments_arrive_in_any_order() {
    const ORDERS: [[usize; 3]; 6] = [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ];
    let message = |i: usize| (write(BASE + 500 * i as u64), pattern(i, 400 + i));
    let messages: Vec<_> = (0..6).map(message).collect();
    for bench in Bench::each() {
        let region = bench.region();
        for with_markers in [false, true] {
            let octets = stream_of(with_markers, 600, &messages);
            let end = |fpdus| stream_of(with_markers, 600, &messages[..fpdus]).len();
            for (order, cuts) in ORDERS.into_iter().flat_map(|order| {
                [
                    [0, end(1), end(2), end(3)],         // an FPDU each
                    [0, end(2), end(4), end(6)],         // two FPDUs each
                    [0, 130, 331, end(1)],               // one FPDU in three
                    [0, 130, end(2) + 63, end(3)],       // tail, whole FPDU, head
                    [0, end(2) + 1, end(5) - 1, end(6)], // and some more of it
                ]
                .map(|cuts| (order, cuts))
            }) {
                region.write_at(0, &[UNTOUCHED; LENGTH]).unwrap();
                let start = 0u32.wrapping_sub(cuts[1] as u32);
                let options = StreamOptions {
                    sequence_start: start,
                    ..markers(with_markers)
                };
                let stream = bench.arm(3, options);
                let mut here = [false; 3];
                let mut delivered = 0;
                for segment in order {
                    let (from, to) = (cuts[segment], cuts[segment + 1]);
                    let sequence = start.wrapping_add(from as u32);
                    bench.card.inject(3, sequence, &octets[from..to]).unwrap();
                    here[segment] = true;
                    let edge = cuts[here.iter().take_while(|here| **here).count()];
                    let whole = (1..=6).take_while(|fpdus| end(*fpdus) <= edge).count();
                    let write = |i: usize| Seen::Write(3, 400 + i as u32, false);
                    let expected: Vec<_> = (delivered..whole).map(write).collect();
                    assert_eq!(bench.settle(), expected, "{order:?} of {cuts:?}");
                    assert_eq!(stream.edge().unwrap(), start.wrapping_add(edge as u32));
                    delivered = whole;
                }
                let memory = region.to_vec().unwrap();
                let placed = |(i, (_, payload)): (usize, &(Message, Vec<u8>))| {
                    memory[500 * i..].starts_with(payload)
                };
                assert!(messages[..delivered].iter().enumerate().all(placed));
                stream.close().unwrap();
            }
        }
    }
}

// req: LLP-11, MPA-RCV-24, MPA-RCV-25, DDP-ORD-05, AMB-40
#[test]
fn what_was_delivered_is_not_touched_again() {
    for bench in Bench::each() {
        let region = bench.region();
        let stream = bench.arm(3, markers(true));
        bench.post(&stream, 0, &[600; 4]);
        let messages = [
            (write(BASE), pattern(1, 500)),
            (send(0, 1), pattern(2, 500)),
            (write(BASE + 1000), pattern(3, 500)),
            (send(0, 2), pattern(4, 500)),
        ];
        let octets = stream_of(true, 600, &messages);
        let taken = stream_of(true, 600, &messages[..3]).len();
        bench.feed(3, 0, &octets[..taken], 300);
        let sent = |msn, seed| Seen::Send(3, 0, msn, pattern(seed, 500));
        let write = Seen::Write(3, 500, false);
        assert_eq!(bench.settle(), [write.clone(), sent(1, 2), write]);
        // The program uses the memory for something else, and TCP sends again, with other octets.
        region.write_at(0, &[0x5A; LENGTH]).unwrap();
        let again: Vec<u8> = octets.iter().map(|octet| octet ^ 0x55).collect();
        for most in [1, 64, 300, 1460] {
            for (i, segment) in again[..taken].chunks(most).enumerate() {
                bench.card.inject(3, (i * most) as u32, segment).unwrap();
            }
        }
        // One that is beyond the window, and one that is half old.
        let limit = stream.limit().unwrap();
        bench.card.inject(3, limit, &again[..300]).unwrap();
        assert_eq!(bench.settle(), []);
        let mut half = again[taken - 100..taken].to_vec();
        half.extend(&octets[taken..taken + 60]);
        bench.card.inject(3, taken as u32 - 100, half).unwrap();
        assert_eq!(bench.settle(), []);
        assert_eq!(stream.edge().unwrap(), taken as u32 + 60);
        assert!(region.to_vec().unwrap().iter().all(|&octet| octet == 0x5A));
        // The stream goes on where it was.
        bench.feed(3, taken as u32 + 60, &octets[taken + 60..], 200);
        assert_eq!(bench.settle(), [sent(2, 4)]);
        assert_eq!(stream.error_record().unwrap(), None);
    }
}

// req: AMB-14, AMB-23, MPA-RCV-08, MPA-CRC-19
#[test]
fn a_length_is_waited_for_and_not_more() {
    let vectors = vectors();
    let [first, second] = ["fpdu1", "fpdu2"].map(|part| hex(&vectors["V-MPA-6"][part]));
    assert_eq!(first.len(), 512);
    for bench in Bench::each() {
        // A marker is due where the first FPDU ends; it is the second one's, and not waited for.
        let stream = bench.arm(3, markers(true));
        bench.post(&stream, 0, &[500, 500]);
        bench.feed(3, 0, &first, 500);
        assert_eq!(bench.settle(), [Seen::Send(3, 0, 1, pattern(2, 484))]);
        bench.feed(3, 512, &second[..second.len() - 1], 500);
        assert_eq!(bench.settle(), [], "all but its last octet");
        bench.feed(
            3,
            512 + second.len() as u32 - 1,
            &second[second.len() - 1..],
            1,
        );
        assert_eq!(bench.settle(), [Seen::Send(3, 0, 2, b"ABCD".to_vec())]);
        stream.close().unwrap();

        // A length that grew waits for octets of the next FPDU, and its CRC is wrong then.
        let message = |i: usize| (write(BASE), pattern(i, 100));
        let mut octets = stream_of(false, 600, &[message(1), message(2)]);
        octets[1] += 4;
        let _region = bench.region();
        let stream = bench.arm(3, markers(false));
        let (one, other) = octets.split_at(octets.len() / 2);
        bench.feed(3, 0, one, 500);
        assert_eq!(bench.settle(), []);
        assert_eq!(stream.error_record().unwrap(), None);
        bench.feed(3, one.len() as u32, &other[..3], 500);
        assert_eq!(bench.settle(), []);
        bench.feed(3, one.len() as u32 + 3, &other[3..], 500);
        let error = Seen::Error(3, ErrorNumber::MpaCrc, Checks::empty(), 0);
        assert_eq!(bench.settle(), [error]);
    }
}

/// A DDP segment is placed where its header says, whatever came before: offsets may go back, come twice, leave octets out;
/// messages of two queues and writes may take turns.
// req: DDP-UNT-14, DDP-UNT-16, DDP-SEG-12, DDP-ORD-04, DDP-DEL-03, DDP-ERR-32, AMB-07, AMB-08
#[test]
fn each_segment_goes_where_its_header_says() {
    let segment = |queue: u8, offset: u32, last: bool| {
        let control = if last { 0x41 } else { 0x01 };
        let mut header = vec![control, 0x43, 0, 0, 0, 0];
        for field in [queue.into(), 1, offset] {
            header.extend(u32::to_be_bytes(field));
        }
        header
    };
    let tagged = |offset: u64| {
        let to = (BASE + offset).to_be_bytes();
        [&[0x81, 0x40][..], &STAG.to_be_bytes(), &to].concat()
    };
    for bench in Bench::each() {
        let region = bench.region();
        let options = StreamOptions {
            queues: 0b11,
            ..markers(true)
        };
        let stream = bench.arm(3, options);
        bench.post(&stream, 0, &[1000]);
        bench.post(&stream, 1, &[1000]);
        let mut octets = Vec::new();
        let mut writer = FpduWriter::new(true, CrcField::Computed);
        // Header and payload; the last one of each message is the longest way from its start.
        for (header, seed, length) in [
            (segment(0, 300, false), 1, 100),
            (segment(1, 0, false), 2, 200),
            (tagged(5000), 3, 77),
            (segment(0, 0, false), 4, 250),
            (segment(0, 300, false), 5, 100),
            (tagged(4000), 6, 500),
            (segment(1, 500, true), 7, 60),
            (segment(0, 450, true), 8, 50),
        ] {
            writer
                .append(&header, &pattern(seed, length), &mut octets)
                .unwrap();
        }
        bench.feed(3, 0, &octets, 400);
        let holes = |length| vec![UNTOUCHED; length];
        let one = [pattern(2, 200), holes(300), pattern(7, 60)].concat();
        let zero = [
            pattern(4, 250),
            holes(50),
            pattern(5, 100),
            holes(50),
            pattern(8, 50),
        ];
        bench.card.run_until_idle().unwrap();
        // Octets are counted, not looked for: the first message lacks 300; the second lacks 100, and 100 came twice.
        for (queue, message, hole) in [(1, one, true), (0, zero.concat(), false)] {
            match bench.context.completion_queue().poll().unwrap() {
                Some(Completion::Untagged(completion)) => {
                    assert_eq!((completion.queue, completion.hole), (queue, hole));
                    let sent = Seen::Send(3, queue, 1, message);
                    assert_eq!(seen(Completion::Untagged(completion)), sent);
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(bench.poll(), []);
        let mut expected = vec![UNTOUCHED; LENGTH];
        expected[5000..5077].copy_from_slice(&pattern(3, 77));
        expected[4000..4500].copy_from_slice(&pattern(6, 500));
        assert!(region.to_vec().unwrap() == expected);
        stream.close().unwrap();

        // A stream that asks for strict offsets meets an error where they do not go on.
        let options = StreamOptions {
            strict_mo: true,
            ..markers(true)
        };
        let mut octets = stream_of(true, 128, &[(send(0, 1), pattern(1, 250))]);
        let mut writer = FpduWriter::at(octets.len() as u32, true, CrcField::Computed);
        let mut header = segment(0, 300, false);
        header[13] = 2;
        let position = writer.position();
        writer
            .append(&header, &pattern(1, 100), &mut octets)
            .unwrap();
        let (seen, _stream) = outcome(&bench, options, &octets);
        let sent = Seen::Send(3, 0, 1, pattern(1, 250));
        let error = Seen::Error(3, ErrorNumber::UntaggedMo, Checks::MO, position);
        assert_eq!(seen, [sent, error]);
    }
}

/// An FPDU that never ends, a flood of what was received before and of what does not fit, and a stream that failed and goes on
/// sending: the fourth stream receives all, and the first goes on.
// req: DDP-ORD-07, AMB-10, AMB-40, MPA-RCV-25
#[test]
fn streams_that_are_stuck_hostile_or_in_error_stop_nobody() {
    const MESSAGES: usize = 40;
    for bench in Bench::each() {
        let region = bench.region();
        let _streams: Vec<_> = (0..4)
            .map(|number| bench.arm(number, markers(true)))
            .collect();
        let message = |i: usize| (write(BASE + 1000 * i as u64), pattern(i, 1000));
        let good: Vec<_> = (0..MESSAGES).map(message).collect();
        let good = stream_of(true, 1200, &good);
        // All but the last octet.
        let endless = stream_of(true, 9000, &[(write(BASE + 50_000), pattern(1, 8000))]);
        bench.feed(0, 0, &endless[..endless.len() - 1], 1460);
        let received = stream_of(true, 1200, &[(write(BASE + 60_000), pattern(2, 1000))]);
        bench.feed(1, 0, &received, 1460);
        let mut failing = stream_of(
            true,
            1200,
            &vec![(write(BASE + 60_000), pattern(2, 1000)); 60],
        );
        failing[100] ^= 1;
        let first = bench.settle();
        assert_eq!(first, [Seen::Write(1, 1000, false)]);
        for (i, segment) in good.chunks(1000).enumerate() {
            bench.card.feed(3, 1000 * i as u32, segment).unwrap();
            bench.card.inject(1, 0, &received[..]).unwrap();
            bench.card.inject(1, 200_000, &received[..]).unwrap();
            bench.card.inject(0, 0, &endless[..1460]).unwrap();
            let at = failing.len().min(1000 * i)..failing.len().min(1000 * (i + 1));
            if !at.is_empty() {
                bench.card.feed(2, at.start as u32, &failing[at]).unwrap();
            }
        }
        let seen = bench.settle();
        let count = |number: u8| {
            let of_stream =
                |seen: &&Seen| matches!(seen, Seen::Write(stream, ..) if *stream == number);
            seen.iter().filter(of_stream).count()
        };
        assert_eq!([0, 1, 2, 3].map(count), [0, 0, 0, MESSAGES]);
        let error = Seen::Error(2, ErrorNumber::MpaCrc, Checks::empty(), 0);
        assert!(seen.contains(&error), "{seen:?}");
        assert_eq!(seen.len(), MESSAGES + 1);
        let memory = region.to_vec().unwrap();
        let whole = |i: usize| memory[1000 * i..1000 * (i + 1)] == pattern(i, 1000);
        assert!((0..MESSAGES).all(whole));
        assert!(
            memory[50_000..60_000]
                .iter()
                .all(|&octet| octet == UNTOUCHED)
        );
        // And the one that was stuck goes on.
        let last = endless.len() - 1;
        bench.feed(0, last as u32, &endless[last..], 1);
        assert_eq!(bench.settle(), [Seen::Write(0, 8000, false)]);
    }
}

// req: AMB-50, DDP-ERR-12
#[test]
fn every_bit_of_an_stag_counts() {
    for bench in Bench::each() {
        for stag in [0, 0xFFFF_FFFF] {
            let region = bench.register(stag, BASE, 64);
            let attempt = |stag| {
                let to = BASE;
                let rsvd_ulp = 0;
                let message = Message::Tagged { stag, to, rsvd_ulp };
                let octets = stream_of(false, 600, &[(message, vec![7; 8])]);
                outcome(&bench, markers(false), &octets).0
            };
            for bit in 0..32 {
                let error = Seen::Error(3, ErrorNumber::TaggedInvalidStag, Checks::STAG, 0);
                assert_eq!(attempt(stag ^ 1 << bit), [error], "{stag:#x}, bit {bit}");
            }
            assert_eq!(region.to_vec().unwrap(), [UNTOUCHED; 64]);
            assert_eq!(attempt(stag), [Seen::Write(3, 8, false)]);
        }
    }
}

/// The error of a connection that ended on stream 3.
fn ended(position: u32) -> Seen {
    Seen::Error(3, ErrorNumber::MpaConnection, Checks::empty(), position)
}

/// How the connection of a stream ended, from its record.
fn ending(stream: &Stream) -> Ending {
    let record = stream.error_record().unwrap().expect("it has failed");
    match record.detail {
        ErrorDetail::Connection(ending) => ending,
        other => panic!("{other:?}"),
    }
}

/// Two writes of 100 octets on a stream: 120 octets each on the wire, without markers.
fn two_writes() -> Vec<u8> {
    let octets = stream_of(
        false,
        1000,
        &[
            (write(BASE), pattern(1, 100)),
            (write(BASE + 100), pattern(2, 100)),
        ],
    );
    assert_eq!(octets.len(), 240);
    octets
}

// req: MPA-RCV-16, MPA-ERR-15, MPA-ERR-17, DDP-TEAR-09, LLP-09, AMB-31
#[test]
fn a_fin_behind_an_fpdu_is_told_behind_its_completion() {
    let octets = two_writes();
    let start = 0_u32.wrapping_sub(100);
    let options = StreamOptions {
        sequence_start: start,
        ..StreamOptions::default()
    };
    let sequence = |position: usize| start.wrapping_add(position as u32);
    let both = [Seen::Write(3, 100, false), Seen::Write(3, 100, false)];
    for bench in Bench::each() {
        let region = bench.region();
        // With the last octets, alone, before all octets, and behind a gap with the last ones.
        for way in 0..4 {
            let stream = bench.arm(3, options);
            let card = &bench.card;
            match way {
                0 => {
                    card.feed(3, sequence(0), &octets[..130]).unwrap();
                    card.feed_fin(3, sequence(130), &octets[130..]).unwrap();
                }
                1 => {
                    card.feed(3, sequence(0), &octets[..]).unwrap();
                    card.feed_fin(3, sequence(240), []).unwrap();
                }
                2 => {
                    card.feed_fin(3, sequence(240), []).unwrap();
                    card.feed(3, sequence(0), &octets[..]).unwrap();
                }
                _ => {
                    card.feed_fin(3, sequence(130), &octets[130..]).unwrap();
                    assert_eq!(bench.settle(), []);
                    card.feed_fin(3, sequence(130), &octets[130..]).unwrap();
                    card.feed(3, sequence(0), &octets[..131]).unwrap();
                }
            }
            let seen = bench.settle();
            assert_eq!(seen[..2], both, "{way}");
            assert_eq!(seen[2..], [Seen::Closed(3, 240)], "{way}");
            // Once, however often it is sent.
            card.feed_fin(3, sequence(240), []).unwrap();
            assert_eq!(bench.settle(), []);
            assert_eq!(stream.error_record().unwrap(), None);
            stream.close().unwrap();
        }
        // Without any octet.
        let stream = bench.arm(3, options);
        bench.card.feed_fin(3, start, []).unwrap();
        assert_eq!(bench.settle(), [Seen::Closed(3, 0)]);
        stream.close().unwrap();
        let counters = bench.context.counters().unwrap();
        assert_eq!(
            (counters.fpdus, counters.errors),
            (8, 0),
            "an end is no FPDU"
        );
        region.revoke().unwrap();
    }
}

// req: MPA-ERR-01, MPA-ERR-03, DDP-TEAR-12, DDP-ERR-01, AMB-31, AMB-09, AMB-10
#[test]
fn a_fin_within_an_fpdu_is_an_error_behind_what_was_complete() {
    let octets = two_writes();
    for bench in Bench::each() {
        let region = bench.region();
        // Within ULPDU_Length, header, payload and CRC of the second FPDU, and within the first one.
        for end in [121, 123, 124, 130, 140, 235, 236, 239, 3, 119] {
            let stream = bench.arm(3, StreamOptions::default());
            bench.post(&stream, 0, &[10]);
            bench.card.feed_fin(3, 0, &octets[..end]).unwrap();
            let begin = if end < 120 { 0 } else { 120 };
            let seen = bench.settle();
            let (done, rest) = seen.split_at(begin / 120);
            assert!(done.iter().all(|seen| *seen == Seen::Write(3, 100, false)));
            assert_eq!(rest[0], ended(begin as u32), "{end}");
            assert!(matches!(rest[1..], [Seen::Flushed(3, 0, 1, _)]), "{rest:?}");
            let record = stream.error_record().unwrap().unwrap();
            assert_eq!(record.detail, ErrorDetail::Connection(Ending::Truncated));
            let known = end >= begin + 4;
            assert_eq!(record.segment_length, if known { 114 } else { 0 }, "{end}");
            assert!(record.header.as_slice().is_empty());
            // Nothing more, not even the rest.
            bench.card.feed(3, end as u32, &octets[end..]).unwrap();
            bench.card.abort(3).unwrap();
            assert_eq!(bench.settle(), []);
            stream.close().unwrap();
        }
        region.revoke().unwrap();
    }
}

// req: MPA-ERR-01, MPA-ERR-03, DDP-TEAR-12, DDP-TEAR-15, DDP-ERR-01, AMB-31
#[test]
fn a_lost_connection_is_an_error_behind_what_was_complete_and_of_its_stream_alone() {
    let octets = two_writes();
    for bench in Bench::each() {
        let region = bench.region();
        let other = bench.arm(2, StreamOptions::default());
        for (end, position, fin) in [(0, 0, false), (130, 120, false), (120, 120, true)] {
            let stream = bench.arm(3, StreamOptions::default());
            if end > 0 {
                bench.card.feed(3, 0, &octets[..end]).unwrap();
            }
            let mut expected = vec![Seen::Write(3, 100, false); end / 120];
            if fin {
                bench.card.feed_fin(3, end as u32, []).unwrap();
                expected.push(Seen::Closed(3, end as u32));
            }
            assert_eq!(bench.settle(), expected);
            bench.card.abort(3).unwrap();
            assert_eq!(bench.settle(), [ended(position)]);
            assert_eq!(ending(&stream), Ending::Lost);
            stream.close().unwrap();
        }
        // Armed again, there is nothing left of it; nor does it stop anybody else.
        let stream = bench.arm(3, StreamOptions::default());
        bench.card.feed(3, 0, &octets[..]).unwrap();
        bench.card.feed_fin(2, 0, &octets[..]).unwrap();
        let mut seen = bench.settle();
        seen.sort_by_key(|seen| format!("{seen:?}"));
        let done = |stream| Seen::Write(stream, 100, false);
        let expected = [Seen::Closed(2, 240), done(2), done(2), done(3), done(3)];
        assert_eq!(seen, expected);
        assert_eq!(stream.error_record().unwrap(), None);
        stream.close().unwrap();
        other.close().unwrap();
        region.revoke().unwrap();
    }
}

// req: DDP-TEAR-08, AMB-57, MPA-ERR-03
#[test]
fn octets_behind_a_fin_are_an_error_and_are_not_placed() {
    let octets = two_writes();
    for bench in Bench::each() {
        let region = bench.region();
        let begin = Seen::Write(3, 100, false);
        for way in 0..4 {
            let stream = bench.arm(3, StreamOptions::default());
            let card = &bench.card;
            let mut expected = vec![begin.clone(), Seen::Closed(3, 120), ended(120)];
            match way {
                // A good FPDU, or another FIN, behind a FIN that was told.
                0 | 1 => {
                    card.feed_fin(3, 0, &octets[..120]).unwrap();
                    assert_eq!(bench.settle(), expected[..2]);
                    expected.drain(..2);
                    match way {
                        0 => card.feed(3, 120, &octets[120..]).unwrap(),
                        _ => card.feed_fin(3, 124, []).unwrap(),
                    }
                }
                // Octets beyond a gap, then a FIN in front of them; and the same with a FIN that is not reached yet.
                2 => {
                    card.feed(3, 180, &octets[180..]).unwrap();
                    card.feed_fin(3, 0, &octets[..120]).unwrap();
                }
                _ => {
                    card.feed_fin(3, 120, []).unwrap();
                    card.feed(3, 180, &octets[180..]).unwrap();
                    assert_eq!(bench.settle(), [ended(0)], "at the edge");
                    card.feed(3, 0, &octets[..120]).unwrap();
                    expected.clear();
                }
            }
            assert_eq!(bench.settle(), expected, "{way}");
            assert_eq!(ending(&stream), Ending::BehindFin);
            let mut memory = vec![0; 100];
            region.read_at(100, &mut memory).unwrap();
            assert!(memory.iter().all(|&octet| octet == UNTOUCHED), "{way}");
            stream.close().unwrap();
        }
        region.revoke().unwrap();
    }
}

// req: AMB-10, MPA-ERR-12
#[test]
fn a_stream_that_has_failed_says_nothing_of_its_end() {
    let mut octets = two_writes();
    octets[50] ^= 1;
    for bench in Bench::each() {
        let region = bench.region();
        let stream = bench.arm(3, StreamOptions::default());
        bench.card.feed_fin(3, 0, &octets[..]).unwrap();
        let crc = Seen::Error(3, ErrorNumber::MpaCrc, Checks::empty(), 0);
        assert_eq!(bench.settle(), [crc]);
        bench.card.feed(3, 240, [0; 8]).unwrap();
        bench.card.abort(3).unwrap();
        assert_eq!(bench.settle(), []);
        let record = stream.error_record().unwrap().unwrap();
        assert_eq!(record.number, ErrorNumber::MpaCrc);
        let counters = bench.context.counters().unwrap();
        let fpdus = (counters.fpdus, counters.fpdus_discarded, counters.errors);
        assert_eq!(fpdus, (2, 1, 1), "an end is no FPDU");
        stream.close().unwrap();
        region.revoke().unwrap();
    }
}
