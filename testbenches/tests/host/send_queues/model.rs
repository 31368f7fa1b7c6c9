//! The model: what host memory has, and what of it was requested, read and popped.

use std::collections::VecDeque;
use std::fmt;

use warpline_hdl::host::send_queues::{HEAD_LATENCY, POP_LATENCY};
use warpline_testbenches::stimulus::Pace;

use crate::memory::Part;
use crate::slots::Octets;

pub type Wrong = String;

/// What the bench does wrong on purpose, so that its checks are seen to fail.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Plant {
    /// Doorbells of stream 1 do not reach the block.
    DoorbellLost,
    /// A bit of the bus is stuck.
    StuckBit,
    /// The bus does not say that it refuses.
    ErrorLost,
    /// `freeze` does not reach the block.
    FreezeLost,
    /// The tenth pop of a stream does not reach the block.
    PopLost,
}

/// A slot that was requested and not popped.
#[derive(Clone)]
pub struct Held {
    pub octets: Octets,
    /// Octets that are to be read, in whole beats.
    pub read: usize,
    /// The first burst is answered, and a second one is to be requested.
    pub wants_rest: bool,
    /// Cycle of the last beat.
    pub landed: Option<u64>,
    pub failed: bool,
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (read, landed, failed) = (self.read, self.landed, self.failed);
        write!(f, "({read} octets, at {landed:?}, failed: {failed})")
    }
}

/// A ring in host memory.
#[derive(Clone)]
pub struct Ring {
    pub base: u64,
    pub entries: u32,
    pub memory: Vec<Octets>,
}

impl fmt::Debug for Ring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} slots at {:#x}", self.entries, self.base)
    }
}

/// What the model knows of a stream.
#[derive(Clone, Debug, Default)]
pub struct Stream {
    pub ring: Option<Ring>,
    pub open: bool,
    /// Slots announced, modulo 2^16, and written.
    pub announced: u16,
    pub written: u64,
    pub fetched: u64,
    pub consumed: u64,
    pub held: VecDeque<Held>,
    pub popped_at: Option<u64>,
    /// The last doorbell was in this cycle.
    pub rung_at: u64,
    /// Others that were served since it had work that can be done.
    pub passed: usize,
}

impl Stream {
    pub fn unread(&self) -> bool {
        self.announced != self.fetched as u16
    }

    pub fn is_done(&self) -> bool {
        !self.unread() && self.held.is_empty()
    }

    pub fn head_is_due(&self, now: u64) -> bool {
        let landed = self.held.front().and_then(|held| held.landed);
        landed.is_some_and(|at| now >= at + HEAD_LATENCY as u64)
            && self
                .popped_at
                .is_none_or(|at| now >= at + POP_LATENCY as u64)
    }
}

/// How the consumer behaves.
#[derive(Clone, Copy, Debug)]
pub struct Consumer {
    /// In which cycles it reads a row.
    pub pace: Pace,
    /// Rows that it reads of a slot, at most, in order; or all of them, in any order, and of several streams in turn.
    pub rows: Option<usize>,
    /// Cycles between two pops of a stream, at least.
    pub gap: u64,
}

impl Consumer {
    pub const ALL: Self = Self {
        pace: Pace::Always,
        rows: None,
        gap: 0,
    };
    pub const NONE: Self = Self {
        pace: Pace::Percent(0),
        rows: None,
        gap: 0,
    };
    /// A slot of each stream every `gap` cycles.
    pub const fn every(gap: u64) -> Self {
        Self {
            pace: Pace::Always,
            rows: Some(1),
            gap,
        }
    }
}

/// Rows of a head that are to be read.
pub struct Reading {
    pub stream: usize,
    pub rows: Vec<u8>,
}

/// What the row port shows.
#[derive(Clone, Debug)]
pub struct Shown {
    pub consumed: u16,
    pub failed: bool,
    pub octets: Vec<u8>,
}

/// A request on AR.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// First cycle in which it was valid, and the one in which it was accepted.
    pub valid: u64,
    pub part: Part,
}

/// Where rings lie: none in another's way, one across 4 GiB, and across 2^32 slots.
pub fn base(stream: u64) -> u64 {
    match stream {
        0 => 0xFFFF_FF00,
        1 => 0xFFFF_FFFF_FFE0_0000,
        2 => 0xFF_FFFF_F800,
        _ => 0x7000_0000_0000 + 0x20_0000 * stream,
    }
}
