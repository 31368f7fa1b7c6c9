//! What `explain` says of octets, against the golden vectors, tshark, the reference receiver, and planted faults.
//!
//! ```text
//!  wire/tests/vectors.json ─► values ──────┐
//!  tshark/*.txt: tshark's dissection ──────┤
//!  wire: framing, headers, messages ───────┼─ the same? ─ explain
//!  faults planted in good octets ──────────┘
//! ```

#[path = "../common/mod.rs"]
mod common;

mod captures;
mod planted;
mod random;
mod sctp;
mod texts;
mod vectors;

use serde_json::Value;
use warpline_capture::explain::{Check, Settings, Unit, Units};

/// The golden vectors.
fn vectors() -> Value {
    serde_json::from_str(include_str!("../../../wire/tests/vectors.json")).unwrap()
}

/// Octets of hexadecimal digits.
fn octets(text: &str) -> Vec<u8> {
    warpline_capture::explain::parse_hex(text).unwrap()
}

/// Octets without markers, with CRCs, from position 0.
fn explained(octets: &[u8]) -> Vec<Unit> {
    Units::new(octets, Settings::default()).collect()
}

/// Octets with markers from a stream position on.
fn marked(octets: &[u8], position: u32) -> Vec<Unit> {
    let settings = Settings {
        markers: true,
        position,
        ..Settings::default()
    };
    Units::new(octets, settings).collect()
}

#[track_caller]
fn value(unit: &Unit, name: &str) -> u64 {
    let field = unit.field(name);
    let field = field.unwrap_or_else(|| panic!("no {name} in {unit:?}"));
    field.value.unwrap_or_else(|| panic!("no value of {name}"))
}

/// The check that decides.
fn verdict(unit: &Unit) -> Option<Check> {
    unit.verdict().map(|finding| finding.check)
}
