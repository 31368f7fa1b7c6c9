//! The body of the fuzz target and of the stable smoke test: arbitrary streams into the reference
//! receiver, whose guarantees are checked on every event.
//!
//! Arbitrary octets alone would rarely pass a CRC, so an input is a list of pieces, most of them
//! valid FPDUs.

use arbitrary::{Arbitrary, Result, Unstructured};
use warpline_wire::ddp::{TaggedHeader, UntaggedHeader};
use warpline_wire::receive::{
    Event, MsnMode, Receiver, ReceiverConfig, Scope, StagEntry, StreamConfig, Target,
};
use warpline_wire::send::{CrcField, FpduWriter};

/// One input.
#[derive(Arbitrary, Debug)]
pub struct Input {
    markers: bool,
    crc: bool,
    window: bool,
    strict_mo: bool,
    small_fpdus: bool,
    cut: u8,
    #[arbitrary(with = pieces)]
    pieces: Vec<Piece>,
}

/// Enough pieces to pass several markers; few of them end the stream.
fn pieces(source: &mut Unstructured<'_>) -> Result<Vec<Piece>> {
    let count = source.int_in_range(0..=16)?;
    (0..count).map(|_| piece(source)).collect()
}

fn piece(source: &mut Unstructured<'_>) -> Result<Piece> {
    Ok(match source.int_in_range(0..=23)? {
        0 => Piece::Raw(payload(source)?),
        1 => Piece::Ulpdu(payload(source)?),
        2 => Piece::Flipped {
            bit: source.arbitrary()?,
            payload: payload(source)?,
        },
        3..=9 => Piece::Write {
            last: source.arbitrary()?,
            to: source.int_in_range(0..=220)?,
            payload: payload(source)?,
        },
        _ => Piece::Send {
            last: source.arbitrary()?,
            queue: source.int_in_range(0..=30)?,
            skew: source.int_in_range(0..=30)?,
            mo: source.int_in_range(0..=70)?,
            payload: payload(source)?,
        },
    })
}

/// Payloads that mostly fit the buffers.
fn payload(source: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let len = source.int_in_range(0..=40)?;
    (0..len).map(|_| source.arbitrary()).collect()
}

/// A piece of the stream.
#[derive(Debug)]
enum Piece {
    /// Octets as they are.
    Raw(Vec<u8>),
    /// A valid FPDU around arbitrary octets.
    Ulpdu(Vec<u8>),
    /// A valid FPDU with one bit flipped.
    Flipped { bit: u16, payload: Vec<u8> },
    /// A tagged segment near the registered range.
    Write {
        last: bool,
        to: u8,
        payload: Vec<u8>,
    },
    /// An untagged segment, mostly of the next message in order.
    Send {
        last: bool,
        queue: u8,
        skew: u8,
        mo: u8,
        payload: Vec<u8>,
    },
}

const STREAM: u32 = 3;
const STAG: u32 = 0x0102;
const BASE: u64 = 16;
const LENGTH: u64 = 200;
const BUFFER: u32 = 64;
const BUFFERS: u32 = 4;

/// Runs one input, panics if a guarantee is broken, and returns the events as text.
pub fn run(input: &Input) -> Vec<String> {
    let wire = wire(input);
    let whole = events(input, &wire, wire.len().max(1));
    let cut = events(input, &wire, usize::from(input.cut).max(1));
    assert_eq!(whole, cut, "events depend on segmentation");
    whole
}

/// The stream's octets.
fn wire(input: &Input) -> Vec<u8> {
    let mut wire = Vec::new();
    let mut next_msn = [1; 3];
    for piece in &input.pieces {
        // Raw octets shift the stream, so each FPDU gets a writer at its own position.
        let mut writer = FpduWriter::at(wire.len() as u32, input.markers, CrcField::Computed);
        let (header, payload) = match piece {
            Piece::Raw(octets) => {
                wire.extend_from_slice(octets);
                continue;
            }
            Piece::Ulpdu(octets) => (Vec::new(), octets),
            Piece::Write { last, to, payload } => {
                let header = TaggedHeader {
                    last: *last,
                    rsvd_ulp: 0x40,
                    stag: STAG,
                    to: u64::from(*to),
                };
                (header.emit().to_vec(), payload)
            }
            Piece::Send {
                last,
                queue,
                skew,
                mo,
                payload,
            } => {
                // Queues 0 and 1 exist.
                let qn = usize::from(if *queue == 30 { 2 } else { queue % 2 });
                let header = UntaggedHeader {
                    last: *last,
                    rsvd_ulp: [0x43; 5],
                    qn: qn as u32,
                    msn: next_msn[qn] + u32::from(skew.saturating_sub(28)),
                    mo: u32::from(*mo),
                };
                next_msn[qn] += u32::from(*last);
                (header.emit().to_vec(), payload)
            }
            Piece::Flipped { payload, .. } => (vec![0x41; 18], payload),
        };
        let start = wire.len();
        if writer.append(&header, payload, &mut wire).is_err() {
            continue;
        }
        if let Piece::Flipped { bit, .. } = piece {
            let bit = usize::from(*bit) % (8 * (wire.len() - start));
            wire[start + bit / 8] ^= 1 << (bit % 8);
        }
    }
    wire
}

/// Feeds the stream in TCP segments of `size` octets and checks each event.
fn events(input: &Input, wire: &[u8], size: usize) -> Vec<String> {
    let mut receiver = Receiver::new(ReceiverConfig {
        max_fpdu: if input.small_fpdus { 140 } else { 65536 },
        ..ReceiverConfig::default()
    });
    let config = StreamConfig {
        protection_domain: 1,
        markers: input.markers,
        crc: input.crc,
        msn_mode: if input.window {
            MsnMode::Window
        } else {
            MsnMode::Strict
        },
        strict_mo: input.strict_mo,
        ..StreamConfig::default()
    };
    receiver.open(STREAM, config).expect("a new stream");
    for queue in 0..2 {
        receiver
            .enable_queue(STREAM, queue, 1)
            .expect("a new queue");
        for _ in 0..BUFFERS {
            receiver
                .post(STREAM, queue, BUFFER)
                .expect("a queue with room");
        }
    }
    let entry = StagEntry {
        valid: true,
        scope: Scope::ProtectionDomain(1),
        remote_write: true,
        base: BASE,
        length: LENGTH,
    };
    receiver.set_stag(STAG, entry);

    let mut seen = Vec::new();
    let mut failed = false;
    let mut sink = |event: Event<'_>| {
        assert!(!failed, "an event after the failure: {event:?}");
        match &event {
            Event::Place { target, octets, .. } => {
                assert!(!octets.is_empty());
                let len = octets.len() as u64;
                match *target {
                    Target::Tagged { stag, to } => {
                        assert_eq!(stag, STAG);
                        assert!(to >= BASE && to + len <= BASE + LENGTH);
                    }
                    Target::Untagged { queue, msn, offset } => {
                        assert!(queue < 2 && (1..=BUFFERS).contains(&msn));
                        assert!(u64::from(offset) + len <= u64::from(BUFFER));
                    }
                }
            }
            Event::Delivered { .. } => {}
            Event::Closed { .. } => panic!("a close without a FIN"),
            Event::Failed(record) => {
                failed = true;
                assert_eq!(record.stream, STREAM);
                assert_eq!(record.position % 4, 0);
            }
        }
        seen.push(format!("{event:?}"));
    };
    for segment in wire.chunks(size) {
        receiver
            .receive(STREAM, segment, &mut sink)
            .expect("an open stream");
    }
    assert_eq!(receiver.is_frozen(STREAM), Ok(failed));
    seen
}
