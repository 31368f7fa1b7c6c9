//! The golden vectors of `vectors.json`: CRC, FPDUs, limits, MULPDU, start frames, segmentation and
//! the validation cases.

#[path = "../common/mod.rs"]
mod common;

mod fpdus;
mod sizes;
mod start_frames;
mod validation;

use common::*;
use sha2::{Digest, Sha256};
use warpline_wire::ddp::{Header, TaggedHeader, UntaggedHeader};
use warpline_wire::error_number::{Checks, Detail, ErrorNumber};
use warpline_wire::receive::{
    Delivery, Flags, Framing, FramingConfig, MsnMode, Receiver, ReceiverConfig, Scope, StagEntry,
    StreamConfig, Target,
};
use warpline_wire::send::{CrcField, FpduWriter, Message, ddp_segments};
use warpline_wire::start::{DraftKey, Frame, Kind, Negotiation, Progress};
use warpline_wire::{crc, marker, mpa};

/// The page that makes a conformance kit of the vectors has a row for each entry, and no row without one.
#[test]
fn the_page_about_the_vectors_has_each_entry() {
    let page = include_str!("../README.md");
    let rows = page
        .lines()
        .skip_while(|line| !line.starts_with("| names |"));
    let rows = rows.skip(2).map_while(|row| row.strip_prefix("| "));
    let cells: Vec<_> = rows.map(|row| row.split(" |").next().unwrap()).collect();
    let names: Vec<_> = cells
        .iter()
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .collect();
    let is = |key: &str, name: &str| match name.strip_suffix('…') {
        Some(start) => key.starts_with(start),
        None => key == name,
    };
    let vectors = vectors();
    let keys: Vec<_> = vectors.as_object().unwrap().keys().collect();
    let lacks = |names: &[&str]| -> Vec<_> {
        let has = |key: &&&String| names.iter().any(|name| is(key, name));
        keys.iter()
            .filter(|key| !has(key))
            .copied()
            .cloned()
            .collect()
    };
    assert_eq!(lacks(&names), [""; 0]);
    assert_eq!(lacks(&names[1..]).len(), 6, "without the CRCs");
    for name in &names {
        assert!(keys.iter().any(|key| is(key, name)), "no entry {name}");
    }
    let said = format!(", {} entries", keys.len());
    assert!(include_str!("../../README.md").contains(&said), "{said}");
}
