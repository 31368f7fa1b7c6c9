//! What the test files share: the golden vectors, payload patterns and a sink that keeps events.
#![allow(
    dead_code,
    reason = "each test file is a crate of its own and uses a part"
)]

use serde_json::Value;
use warpline_wire::error_number::ErrorRecord;
use warpline_wire::receive::{
    Delivery, Event, Flags, Framing, FramingError, Receiver, Scope, Sink, StagEntry, Target,
};
use warpline_wire::send::{CrcField, FpduWriter};

/// The golden vectors.
pub fn vectors() -> Value {
    serde_json::from_str(include_str!("../vectors.json")).unwrap()
}

/// Octets of a hexadecimal string value.
pub fn octets(value: &Value) -> Vec<u8> {
    hex::decode(value.as_str().unwrap()).unwrap()
}

/// Number of a hexadecimal string value.
pub fn number(value: &Value) -> u64 {
    u64::from_str_radix(value.as_str().unwrap(), 16).unwrap()
}

/// Payload pattern `seed`: octet i is `(7 i + seed) mod 256`.
pub fn pattern(seed: usize, len: usize) -> Vec<u8> {
    (0..len).map(|i| (7 * i + seed) as u8).collect()
}

/// An event that owns its octets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    Place(u32, Target, Vec<u8>),
    Delivered(u32, Delivery, Flags),
    Closed(u32, u32),
    Failed(ErrorRecord),
}

/// Keeps events in order.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Log(pub Vec<Seen>);

impl Sink for Log {
    fn event(&mut self, event: Event<'_>) {
        self.0.push(match event {
            Event::Place {
                stream,
                target,
                octets,
            } => Seen::Place(stream, target, octets.to_vec()),
            Event::Delivered {
                stream,
                delivery,
                flags,
            } => Seen::Delivered(stream, delivery, flags),
            Event::Closed { stream, position } => Seen::Closed(stream, position),
            Event::Failed(record) => Seen::Failed(record),
        });
    }
}

impl Log {
    /// The failure, which must be the only event.
    pub fn only_failure(&self) -> ErrorRecord {
        match self.0[..] {
            [Seen::Failed(record)] => record,
            _ => panic!("expected one failure and nothing else: {:?}", self.0),
        }
    }

    /// Messages delivered, in order.
    pub fn deliveries(&self) -> Vec<(Delivery, Flags)> {
        self.0
            .iter()
            .filter_map(|seen| match seen {
                Seen::Delivered(_, delivery, flags) => Some((*delivery, *flags)),
                _ => None,
            })
            .collect()
    }

    /// Placements, in order.
    pub fn placements(&self) -> Vec<(Target, &[u8])> {
        self.0
            .iter()
            .filter_map(|seen| match seen {
                Seen::Place(_, target, octets) => Some((*target, &octets[..])),
                _ => None,
            })
            .collect()
    }

    /// The failure, if there is one.
    pub fn failure(&self) -> Option<ErrorRecord> {
        self.0.iter().find_map(|seen| match seen {
            Seen::Failed(record) => Some(*record),
            _ => None,
        })
    }
}

/// All ULPDUs in `octets`, and the error that ended them.
pub fn ulpdus(framing: &mut Framing, mut octets: &[u8]) -> (Vec<Vec<u8>>, Option<FramingError>) {
    let mut found = Vec::new();
    loop {
        match framing.push(&mut octets) {
            Ok(Some(ulpdu)) => found.push(ulpdu.octets.to_vec()),
            Ok(None) => return (found, None),
            Err(error) => return (found, Some(error)),
        }
    }
}

/// One FPDU at a stream position.
pub fn fpdu(position: u32, markers: bool, crc: CrcField, ulpdu: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    FpduWriter::at(position, markers, crc)
        .append(ulpdu, &[], &mut out)
        .unwrap();
    out
}

/// A stream of FPDUs from position 0.
pub fn stream_of<U: AsRef<[u8]>>(markers: bool, ulpdus: impl IntoIterator<Item = U>) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = FpduWriter::new(markers, CrcField::Computed);
    for ulpdu in ulpdus {
        writer.append(ulpdu.as_ref(), &[], &mut out).unwrap();
    }
    out
}

/// An entry a protection domain may write to.
pub fn writable(protection_domain: u32, base: u64, length: u64) -> StagEntry {
    StagEntry {
        valid: true,
        scope: Scope::ProtectionDomain(protection_domain),
        remote_write: true,
        base,
        length,
    }
}

/// Feeds a stream's octets and returns the events.
pub fn feed(receiver: &mut Receiver, stream: u32, octets: &[u8]) -> Log {
    let mut log = Log::default();
    receiver.receive(stream, octets, &mut log).unwrap();
    log
}
