//! FPDUs of a captured stream, as `warpline explain` numbers them.

use warpline_capture::explain::{Settings, Units};
use warpline_capture::replay::Replay;

/// An FPDU of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fpdu {
    /// Its number, from 1.
    pub number: u64,
    /// Stream position of its first octet, a leading marker included, modulo 2^32.
    pub position: u32,
    /// Its octets on the wire.
    pub length: u32,
    /// What it is, in one line.
    pub summary: String,
}

/// All FPDUs of a stream, ascending.
#[must_use]
pub fn fpdus(stream: &Replay) -> Vec<Fpdu> {
    let settings = Settings {
        markers: stream.flow.markers,
        crc: stream.flow.crc,
        position: 0,
        payload: false,
    };
    let units = Units::of_full_operation(&stream.octets, settings);
    let fpdus = units.filter_map(|unit| {
        Some(Fpdu {
            number: unit.number?,
            position: unit.position? as u32,
            length: unit.length as u32, // at most 64 KiB and markers
            summary: unit.summary,
        })
    });
    fpdus.collect()
}
