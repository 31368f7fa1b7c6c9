//! Read Requests of the peer: good ones, and one with one thing wrong.

use std::ops::Range;

use fastrand::Rng;
use warpline_regmap::transmit::{READ_BUFFER_OCTETS, READ_REQUESTS_MAX};
use warpline_wire::rdmap::{Control, Opcode, READ_REQUEST_LEN, ReadRequest, Version, control};

use super::slots::Memory;
use crate::local_memory::Region;
use crate::stimulus::chance;

/// Region without the remote read right.
pub(super) const NO_RIGHT: usize = 6;
/// Buffers that a host announces too many, at most: the requests that find 16 others go to it (decision 28).
const MORE: usize = 4;

/// Where Read Requests of a stream go, and how many there may be.
#[derive(Clone, Copy, Debug)]
pub struct Reads {
    /// The device answers them; otherwise all of them are the host's.
    pub on: bool,
    /// Buffers that the host announces: the requests that the peer may have under way (IRD), or some more.
    pub announced: usize,
    /// log2 of the buffers, and of the descriptors of their ring.
    pub entries_log: u32,
    pub first_msn: u32,
    /// Bus addresses of the descriptors and of the buffers.
    pub ring: u64,
    pub buffers: u64,
}

impl Reads {
    pub fn entries(&self) -> usize {
        1 << self.entries_log
    }

    /// Those of a life, whose windows of addresses have this number.
    pub(super) fn new(rng: &mut Rng, window: u64) -> Self {
        let ird = match rng.u8(0..4) {
            0 => rng.usize(1..=2),
            1 => READ_REQUESTS_MAX,
            _ => rng.usize(1..=READ_REQUESTS_MAX),
        };
        let more = ird == READ_REQUESTS_MAX && chance(rng, 25);
        let entries_log = if more || chance(rng, 15) { 5 } else { 4 };
        let octets = (READ_BUFFER_OCTETS as u64) << entries_log;
        Self {
            on: chance(rng, 92),
            announced: ird + if more { rng.usize(1..=MORE) } else { 0 },
            entries_log,
            first_msn: *rng
                .choice(&[1, u32::MAX - 2, 0x7FFE, 0x1234_5678])
                .expect("some"),
            ring: ((0x400 + window) << 32) - [0, 256][rng.usize(0..2)],
            // anywhere around 2^32 times a number
            buffers: match rng.u8(0..3) {
                0 => (0x500 + window) << 32,
                1 => ((0x500 + window) << 32) - octets / 2,
                _ => ((0x500 + window) << 32) + READ_BUFFER_OCTETS as u64 * rng.u64(0..200),
            },
        }
    }
}

/// How the octets of a request come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// In one DDP segment.
    Whole,
    /// In two, the first one with so many octets.
    Two(usize),
    /// So many octets at the front do not come.
    Hole(usize),
}

/// A message of the peer for queue 1.
#[derive(Clone, Debug)]
pub struct Ask {
    pub rsvd_ulp: [u8; 5],
    pub octets: Vec<u8>,
    pub cut: Cut,
    /// The bus refuses to read it from its buffer.
    pub unread: bool,
    /// It may be one more than the buffers that the host has announced.
    pub beyond: bool,
}

/// What is wrong about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// Its Data Source is a region of this index, which is wrong for it.
    Region(usize),
    /// Data Source leaves its region.
    Bounds,
    /// Data Sink runs past 2^64.
    Sink,
    Length,
    Opcode,
    Version,
    Hole,
    Unread,
    /// The bus refuses to read Data Source.
    Faulty,
}

impl Fault {
    pub(super) fn new(rng: &mut Rng) -> Self {
        match rng.u8(0..16) {
            index @ 0..3 => Self::Region(2 + usize::from(index)),
            3 | 4 => Self::Region(NO_RIGHT),
            5 | 6 => Self::Bounds,
            7 => Self::Sink,
            8 => Self::Length,
            9 => Self::Opcode,
            10 => Self::Version,
            11 => Self::Hole,
            12 => Self::Unread,
            _ => Self::Faulty,
        }
    }
}

/// Octets that a Read asks for.
fn size(rng: &mut Rng) -> u32 {
    match rng.u8(0..40) {
        0..6 => 0,
        6..26 => rng.u32(1..=100),
        26..34 => rng.u32(1..=1000),
        34..39 => rng.u32(1..=5000),
        _ => rng.u32(1..=20_000),
    }
}

/// A range of `size` octets of a region, often its last ones or its first ones.
fn source(rng: &mut Rng, region: &Region, size: u32) -> u64 {
    let room = region.length - u64::from(size);
    let at = match rng.u8(0..10) {
        0 => room,
        1 => 0,
        _ => rng.u64(0..=room),
    };
    // a Read of no octets may name the end of a region, which may be 2^64
    region.base.wrapping_add(at)
}

/// A Read Request out of one of two regions, at least `least` octets.
pub(super) fn ask(rng: &mut Rng, regions: &[Memory], fault: Option<Fault>, least: u32) -> Ask {
    let at = match fault {
        Some(Fault::Region(index)) => index,
        Some(Fault::Faulty) => 5,
        _ => rng.usize(0..2),
    };
    let Memory { region, faulty, .. } = &regions[at];
    let octets = size(rng).max(least).min(region.length as u32);
    let mut size = match fault {
        Some(Fault::Region(_) | Fault::Bounds | Fault::Faulty) => octets.max(1),
        Some(Fault::Sink) => octets.max(2),
        _ => octets,
    };
    let mut source_to = source(rng, region, size);
    match fault {
        Some(Fault::Bounds) => {
            let end = region.base.wrapping_add(region.length);
            match rng.u8(0..3) {
                0 if region.base > 0 => source_to = region.base - 1,
                1 => size = u32::MAX - rng.u32(0..100),
                _ => source_to = end.wrapping_sub(u64::from(size)).wrapping_add(1),
            }
        }
        Some(Fault::Faulty) => (source_to, size) = across(rng, region, faulty, size),
        _ => {}
    }
    let sink_to = match (fault, rng.u8(0..4)) {
        (Some(Fault::Sink), _) => 0_u64.wrapping_sub(rng.u64(1..size.into())),
        (_, 0) => 0_u64.wrapping_sub(size.into()),
        (_, 1) => 0xFFFF_FF00,
        _ => rng.u64(..1 << 50),
    };
    let request = ReadRequest {
        sink_stag: rng.u32(..),
        sink_to,
        size,
        // a Read of no octets names no memory
        source_stag: match size {
            0 if rng.bool() => rng.u32(..),
            _ => region.stag,
        },
        source_to,
    };
    let mut octets = request.emit().to_vec();
    let mut first = Control::new(Version::Ietf, Opcode::ReadRequest).0;
    if chance(rng, 20) {
        first |= rng.u8(..) & control::RSVD;
    }
    let mut cut = match rng.u8(0..6) {
        0 => Cut::Two(4 * rng.usize(1..READ_REQUEST_LEN / 4)),
        _ => Cut::Whole,
    };
    match fault {
        Some(Fault::Length) => {
            let lengths = [0, 1, 27, 29, 32, READ_BUFFER_OCTETS];
            octets.resize(*rng.choice(&lengths).expect("some"), 0x5A);
            cut = Cut::Whole;
        }
        Some(Fault::Opcode) => first ^= 1 << rng.u32(0..control::OPCODE.count_ones()),
        Some(Fault::Version) => first ^= 1 << rng.u32(6..8),
        Some(Fault::Hole) => cut = Cut::Hole(rng.usize(1..=READ_REQUEST_LEN)),
        _ => {}
    }
    Ask {
        rsvd_ulp: [first, rng.u8(..), rng.u8(..), rng.u8(..), rng.u8(..)],
        octets,
        cut,
        unread: fault == Some(Fault::Unread),
        beyond: false,
    }
}

/// A range of a region that touches what the bus refuses.
fn across(rng: &mut Rng, region: &Region, faulty: &Range<u64>, size: u32) -> (u64, u32) {
    let at = faulty.start - region.address;
    let before = rng.u64(0..u64::from(size)).min(at);
    let from = at - before;
    let size = u64::from(size).min(region.length - from);
    (region.base + from, size as u32)
}
