//! Random tables, and segments that they allow or nearly.

use fastrand::Rng;
use warpline_hdl::records::PIECE_OCTETS;
use warpline_hdl::tx::ddp::local_access::PIECES;
use warpline_regmap::register::stag_slot;
use warpline_regmap::transmit::status;
use warpline_testbenches::stimulus::chance;

use crate::support::{Part, Region, SLOTS, Segment, Table};

/// Regions: anywhere, around 2^32, up to 2^64, and without octets.
pub fn table(rng: &mut Rng) -> Table {
    let mut table = Table::new();
    for slot in (0..SLOTS).filter(|slot| slot % 8 != 7) {
        let length = match rng.u8(0..8) {
            0 => 0,
            1 => rng.u64(1..20),
            2 => rng.u64(1 << 31..1 << 34),
            _ => rng.u64(1..100_000),
        };
        let base = match rng.u8(0..6) {
            0 => 0,
            1 => (rng.u64(1..1 << 31) << 32).wrapping_sub(length / 2),
            2 => 0_u64.wrapping_sub(length),
            _ => rng.u64(..1 << 60),
        };
        let region = Region {
            stag: slot << 8 | rng.u32(..) & !((SLOTS - 1) << 8),
            domain: rng.u16(0..3),
            stream: chance(rng, 40).then(|| rng.u8(0..4)),
            base: if length == 0 { base >> 1 } else { base },
            length,
            address: rng.u64(..),
            remote_read: Some(chance(rng, 90)),
        };
        table.insert(stag_slot(region.stag, SLOTS), region);
    }
    table
}

/// A piece that is allowed, or off by a little.
pub fn random_part(rng: &mut Rng, table: &Table, stream: u8, domain: u16) -> Part {
    let fits = |r: &&Region| {
        r.domain == domain && r.stream.is_none_or(|only| only == stream) && r.length > 0
    };
    let any = chance(rng, 4);
    let regions: Vec<&Region> = table.values().filter(|r| any || fits(r)).collect();
    let Some(region) = (!regions.is_empty()).then(|| regions[rng.usize(..regions.len())]) else {
        return Part::Content(vec![7; 3]);
    };
    let length = rng.u64(1..=region.length.clamp(1, 65_535));
    let most = region.length.saturating_sub(length);
    let into = match rng.u8(0..4) {
        0 => 0,
        1 => most,
        _ => rng.u64(0..=most),
    };
    let mut offset = region.base.wrapping_add(into);
    let mut stag = region.stag;
    match rng.u8(0..60) {
        // in the same slot, but another one
        0 => stag ^= 1 << rng.u8(0..8),
        1 => stag ^= 1 << rng.u8(16..32),
        2 => stag = rng.u32(..),
        // in front of the region, behind it, over its end
        3 => offset = region.base.wrapping_sub(1),
        4 => offset = region.base.wrapping_add(most).wrapping_add(1),
        5 => offset = region.base.wrapping_add(region.length),
        6 => offset ^= 1 << rng.u8(0..64),
        7 => offset = rng.u64(..),
        8 => offset = u64::MAX - rng.u64(0..length),
        _ => {}
    }
    let length = length as u16;
    Part::Memory {
        stag,
        offset,
        length,
    }
}

pub fn random_segments(rng: &mut Rng, table: &Table, count: usize) -> Vec<Segment> {
    let segments = (0..count).map(|_| {
        let (stream, domain) = (rng.u8(0..4), rng.u16(0..3));
        let count = match rng.u8(0..20) {
            0 => PIECES,
            1..8 => 1,
            _ => rng.usize(1..=12),
        };
        let parts = (0..count).map(|_| match rng.u8(0..3) {
            0 => {
                let length = rng.usize(1..=PIECE_OCTETS);
                Part::Content((0..length).map(|_| rng.u8(..)).collect())
            }
            _ => random_part(rng, table, stream, domain),
        });
        let parts = parts.collect();
        Segment {
            stream,
            domain,
            parts,
            remote: rng.bool(),
            refused: match rng.u8(0..12) {
                0 => status::FLUSHED,
                1 => status::MALFORMED,
                _ => status::OK,
            },
        }
    });
    segments.collect()
}
