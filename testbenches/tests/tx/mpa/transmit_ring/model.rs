//! What the rings hold, without time: octets, edges and boundaries of each connection.

use std::collections::BTreeSet;

use warpline_hdl::tx::mpa::transmit_ring::ports::{ACKNOWLEDGE, MEASURE, SEND};

/// A command as TCP gives it.
#[derive(Clone, Copy, Debug)]
pub struct Command {
    pub stream: u8,
    pub kind: u64,
    pub sequence: u32,
    pub length: u16,
}

/// What a command leads to.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// These octets are emitted.
    Octets(Vec<u8>),
    /// Octets in front of this position are freed.
    Freed(u64),
    /// A boundary is searched from this position on, in so many octets.
    Search(u64, u16),
    Refused,
    Nothing,
}

/// A stream from `arm` on. Positions do not wrap here.
#[derive(Clone, Debug)]
pub struct Connection {
    pub live: bool,
    /// Cycle of `close`.
    pub closed: usize,
    /// Sequence number of position 0.
    pub start: u32,
    /// Position of the first of `octets`.
    first: u64,
    octets: Vec<u8>,
    /// Each edge so far, and each position acknowledged.
    pub edges: Vec<u64>,
    pub acknowledged: Vec<u64>,
    /// Where visible FPDUs end.
    pub boundaries: BTreeSet<u64>,
    pub broken: bool,
    /// Where the next FPDU begins.
    pub next: u64,
    pub freed: u64,
}

impl Connection {
    /// One that is empty at `position`.
    pub fn at(position: u64, start: u32) -> Self {
        Self {
            live: true,
            closed: 0,
            start,
            first: position,
            octets: vec![],
            edges: vec![position],
            acknowledged: vec![position],
            boundaries: BTreeSet::new(),
            broken: false,
            next: position,
            freed: position,
        }
    }

    /// A stream that has never been armed.
    pub fn dead() -> Self {
        Self {
            live: false,
            ..Self::at(0, 0)
        }
    }

    pub fn edge(&self) -> u64 {
        *self.edges.last().unwrap()
    }

    pub fn acked(&self) -> u64 {
        *self.acknowledged.last().unwrap()
    }

    pub fn sequence(&self, position: u64) -> u32 {
        self.start.wrapping_add(position as u32)
    }

    /// Distance of a sequence number from the acknowledged position, modulo 2^32.
    fn offset(&self, sequence: u32) -> u64 {
        u64::from(sequence.wrapping_sub(self.sequence(self.acked())))
    }

    /// An FPDU is written, whole.
    pub fn append(&mut self, octets: &[u8]) {
        self.octets.extend(octets);
        self.next += octets.len() as u64;
    }

    /// Another octet at `position`, for a test of the bench.
    pub fn spoil(&mut self, position: u64) {
        self.octets[(position - self.first) as usize] ^= 0x10;
    }

    pub fn effect(&self, command: Command) -> Effect {
        let refused = match command.kind {
            ACKNOWLEDGE => Effect::Nothing,
            _ => Effect::Refused,
        };
        if !self.live {
            return refused;
        }
        let offset = self.offset(command.sequence);
        let (from, span) = (self.acked() + offset, self.edge() - self.acked());
        let length = u64::from(command.length);
        match command.kind {
            SEND if offset < span && length > 0 && offset + length <= span => {
                let at = (from - self.first) as usize;
                Effect::Octets(self.octets[at..at + length as usize].to_vec())
            }
            ACKNOWLEDGE if offset <= span => Effect::Freed(from),
            MEASURE if offset < span => Effect::Search(from, command.length),
            _ => refused,
        }
    }

    /// The answer to a search while `edge` was the edge.
    pub fn measured(&self, from: u64, length: u16, edge: u64) -> u16 {
        let limit = edge.min(from + u64::from(length));
        let last = self.boundaries.range(from + 1..=limit.max(from + 1));
        last.last()
            .filter(|at| **at <= limit)
            .map_or(0, |at| (at - from) as u16)
    }
}
