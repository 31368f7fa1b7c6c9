//! What a judge knows of a stream: what the host and TCP have done, and what has come of it.

use std::collections::HashMap;

use warpline_wire::mpa;
use warpline_wire::send::{CrcField, FpduWriter};

use super::super::common::{RING, Spoil};
use super::super::plan::{Life, Posting};
use super::announced::Announced;
use super::asked::Reads;
use crate::local_memory::Region;

/// A region as the host has left it.
#[derive(Clone, Debug)]
pub struct Known {
    pub region: Region,
    pub registered: bool,
    pub faulty: std::ops::Range<u64>,
    /// Cycles in which `REVOKE_STAG` was written, and was done.
    pub revoked: Option<u64>,
    pub gone: Option<u64>,
}

/// An EMSS, as MULPDU.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    pub(super) mulpdu: u16,
    /// Position of the edge when the command was done.
    pub(super) done: Option<u32>,
}

/// A message of the stream: of a slot, or the response to a Read Request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    Slot(usize),
    Read(usize),
}

/// The answer to a MEASURE.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured {
    pub(super) from: u32,
    pub(super) length: u32,
    /// Edge when the command was given, and when it was answered.
    pub(super) edges: (u32, u32),
    pub(super) answer: u32,
}

/// The judge of a stream's life.
#[derive(Debug)]
pub struct Judge {
    pub number: u8,
    pub(super) domain: u16,
    pub(super) markers: bool,
    pub known: Vec<Known>,
    pub(super) sizes: Vec<Size>,
    /// Size of the last FPDU seen, and FPDUs of it behind the end of its command.
    pub(super) size: usize,
    pub(super) late: usize,
    pub(super) requests: Vec<Announced>,
    /// Read Requests of the peer, and what they are answered by.
    pub reads: Reads,
    /// The next request to be seen, and the message that was seen in part, with its octets.
    pub(super) slot_at: usize,
    pub(super) under_way: Option<(Which, u32)>,
    pub(super) msns: HashMap<u32, u32>,
    pub(super) first_msn: u32,
    pub(super) writer: FpduWriter,
    /// Octets that TCP has read, once each, and those of them that are judged.
    pub octets: Vec<u8>,
    pub judged: usize,
    /// Positions behind FPDUs.
    pub(super) ends: Vec<u32>,
    pub(super) edges: Vec<u32>,
    pub(super) measured: Vec<Measured>,
    pub(super) reported: usize,
    /// A request has failed; the last message was seen or reported.
    pub(super) failed: Option<Which>,
    pub(super) last: Option<usize>,
    pub open: bool,
    pub frozen: Option<u64>,
    /// The completion of the peer's error was read.
    pub error_read: Option<u64>,
    pub closing: bool,
    /// The close came before all was done: TCP may not have read all octets.
    pub aborted: bool,
    pub(super) spoil: Option<Spoil>,
}

impl Judge {
    pub fn new(number: u8, life: &Life, spoil: Option<Spoil>) -> Self {
        let field = match life.crc {
            true => CrcField::Computed,
            false => CrcField::Zero,
        };
        let known = life.regions.iter().map(|memory| Known {
            region: memory.region,
            registered: memory.registered,
            faulty: memory.faulty.clone(),
            revoked: None,
            gone: None,
        });
        let mut judge = Self {
            number,
            domain: life.domain,
            markers: life.markers,
            known: known.collect(),
            sizes: vec![],
            size: 0,
            late: 0,
            requests: vec![],
            reads: Reads::new(life.reads),
            slot_at: 0,
            under_way: None,
            msns: HashMap::new(),
            first_msn: life.first_msn,
            writer: FpduWriter::new(life.markers, field),
            octets: vec![],
            judged: 0,
            ends: vec![],
            edges: vec![],
            measured: vec![],
            reported: 0,
            failed: None,
            last: None,
            open: !life.gate,
            frozen: None,
            error_read: None,
            closing: false,
            aborted: false,
            spoil,
        };
        judge.size_given(life.emss);
        judge.size_done(0);
        judge
    }

    /// `SET_EMSS` is written.
    pub fn size_given(&mut self, emss: u16) {
        let lengths = mpa::MIN_MULPDU..=mpa::MAX_ULPDU;
        // a leading marker makes an FPDU longest
        let fits = |length: &u16| mpa::fpdu_len(0, usize::from(*length), self.markers) <= RING;
        let largest = lengths.rev().find(fits).unwrap_or(mpa::MIN_MULPDU);
        let mulpdu = mpa::mulpdu(emss.into(), self.markers).min(largest);
        self.sizes.push(Size { mulpdu, done: None });
    }

    /// It is done.
    pub fn size_done(&mut self, edge: u32) {
        if let Some(size) = self.sizes.last_mut() {
            size.done = Some(edge);
        }
    }

    /// The doorbell of these slots is written.
    pub fn announce(&mut self, postings: &[Posting], cycle: u64) {
        let size = self.first_size();
        self.requests.extend(postings.iter().map(|posting| {
            let flags = posting.request.map(|request| request.flags());
            Announced {
                posting: posting.clone(),
                cycle,
                size,
                seen: false,
                report: None,
                signalled: flags.is_some_and(|flags| flags.signalled),
                terminates: flags.is_some_and(|flags| flags.terminate),
            }
        }));
    }

    /// The first size that messages may have that are asked for now.
    pub(super) fn first_size(&self) -> usize {
        let size = self.sizes.iter().rposition(|size| size.done.is_some());
        size.unwrap_or(0)
    }

    pub(super) fn message(&self, which: Which) -> &Announced {
        match which {
            Which::Slot(index) => &self.requests[index],
            Which::Read(index) => &self.reads.all[index].announced,
        }
    }

    pub fn announced(&self) -> usize {
        self.requests.len()
    }

    /// Slots that are free again, as far as completions say.
    pub fn consumed(&self) -> usize {
        self.reported
    }

    /// A report says that the edge is here.
    pub fn edge(&mut self, edge: u32) {
        if self.edges.last() != Some(&edge) {
            self.edges.push(edge);
        }
    }

    pub fn measured(&mut self, from: u32, length: u32, edges: (u32, u32), answer: u32) {
        self.measured.push(Measured {
            from,
            length,
            edges,
            answer,
        });
    }
}
