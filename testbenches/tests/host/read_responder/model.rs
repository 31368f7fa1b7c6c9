//! The model: what the peer asked for, and what is due for it.

use std::collections::{BTreeMap, VecDeque};

use num_bigint::BigUint;
use rust_hdl_core::prelude::Bits;
use warpline_hdl::tables::stag_table::StagEntry;
use warpline_regmap::layout::{completion, kind};
use warpline_regmap::transmit::{
    Element, Flags, Gather, Payload, SendRequest, Target, read_responder,
};
use warpline_wire::rdmap::ReadRequest;

pub type Wrong = String;

/// What the bench does wrong on purpose, so that its checks are seen to fail.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Plant {
    /// A bit of the bus is stuck.
    StuckBit,
    /// The bus does not say that it refuses.
    ErrorLost,
    /// The host's doorbells do not reach the block.
    DoorbellLost,
    /// The third fence is not seen.
    FenceKept,
    /// `m_event` has a bit that differs.
    EventChanged,
    /// The fifth pop does not reach the block.
    PopLost,
    /// The table's answers come a cycle too late.
    EntryLate,
    /// The table says that everything may be read.
    RightGiven,
}

/// Memory that an STag of the table names.
#[derive(Clone, Debug)]
pub struct Region {
    pub valid: bool,
    pub stag: u32,
    pub domain: u16,
    /// The one stream that may use it.
    pub only: Option<u8>,
    pub readable: bool,
    pub base: u64,
    pub octets: u64,
}

impl Region {
    /// The entry that says so.
    pub fn entry(&self, writable: bool) -> StagEntry {
        StagEntry {
            valid: self.valid,
            stag: u64::from(self.stag).into(),
            protection_domain: u64::from(self.domain).into(),
            stream: u64::from(self.only.unwrap_or(0x5A)).into(),
            stream_scope: self.only.is_some(),
            remote_write: writable,
            empty: self.octets == 0,
            base: self.base.into(),
            limit: (BigUint::from(self.base) + self.octets).into(),
            shift: 0_u64.into(),
            remote_read: self.readable,
        }
    }

    /// RFC 5040 §5.2.1 and §7.2: may `stream` of `domain` read what `request` names?
    pub fn allows(&self, request: &ReadRequest, stream: u8, domain: u16) -> bool {
        let first = u128::from(request.source_to);
        let behind = first + u128::from(request.size);
        let base = u128::from(self.base);
        self.valid
            && self.stag == request.source_stag
            && self.domain == domain
            && self.only.is_none_or(|only| only == stream)
            && self.readable
            && first >= base
            && behind <= base + u128::from(self.octets)
    }
}

/// An event that the bench gives.
#[derive(Clone, Debug, PartialEq)]
pub struct Given {
    pub words: [u32; completion::WORDS],
    pub seq: u64,
}

impl Given {
    pub fn bits(&self) -> Bits<256> {
        BigUint::new(self.words.to_vec()).into()
    }

    pub fn stream(&self) -> usize {
        completion::STREAM.get(&self.words) as usize
    }

    pub fn ends_stream(&self) -> bool {
        let kind = completion::KIND.get(&self.words) as u32;
        kind == kind::ERROR || kind == kind::CLOSED
    }

    /// A completion of queue 1.
    pub fn is_request(&self) -> bool {
        completion::KIND.get(&self.words) == u64::from(kind::UNTAGGED)
            && completion::QUEUE.get(&self.words) == 1
    }
}

/// A request that the block may read.
#[derive(Clone, Debug)]
pub struct Flying {
    pub given: Given,
    pub address: u64,
    /// The slot that is due if the read succeeds.
    pub due: Option<SendRequest>,
    /// The stream's responder was off: the event may pass instead.
    pub optional: bool,
}

/// A stream.
#[derive(Clone, Debug, Default)]
pub struct Stream {
    pub on: bool,
    pub broken: bool,
    pub gives: bool,
    /// It was on since its last close: requests may be under way.
    pub lives: bool,
    pub base: u64,
    pub entries: u64,
    pub first: u32,
    pub domain: u16,
    /// Messages of the peer, and how many it may send.
    pub sent: u32,
    pub credit: u32,
    /// Requests that go to the host, by the order of their events.
    pub to_host: BTreeMap<u64, Given>,
    /// Slots that are due, and the cycle of each last beat.
    pub slots: VecDeque<(SendRequest, u64)>,
    pub popped_at: Option<u64>,
    /// The host's doorbell, responses popped since, and those given back.
    pub rung: u16,
    pub popped: u16,
    pub given_back: Option<u16>,
    /// All responses popped, and all doorbells of the device.
    pub pops: u32,
    pub bells: u32,
}

impl Stream {
    /// Where the message with this MSN lies.
    pub fn address(&self, msn: u32) -> u64 {
        let number = u64::from(msn.wrapping_sub(self.first)) % self.entries;
        self.base.wrapping_add(64 * number)
    }

    pub fn arguments(&self, stream: u8) -> [u32; 4] {
        let mut words = [0; read_responder::WORDS];
        read_responder::STREAM.put(&mut words, stream.into());
        read_responder::ON.put(&mut words, 1);
        read_responder::ENTRIES_LOG.put(&mut words, self.entries.ilog2().into());
        read_responder::FIRST_MSN.put(&mut words, self.first.into());
        read_responder::BASE.put(&mut words, self.base);
        words
    }
}

/// The Read Response's request, as RFC 5040 §4.4 and §5.2.1 say it: from the peer's request and its MSN. None if it would run
/// past 2^64.
pub fn response(request: &ReadRequest, msn: u32) -> Option<SendRequest> {
    let end = u128::from(request.sink_to) + u128::from(request.size);
    if end > 1 << 64 {
        return None;
    }
    let element = Element {
        stag: request.source_stag,
        length: request.size,
        offset: request.source_to,
    };
    let elements = if request.size == 0 {
        &[][..]
    } else {
        &[element]
    };
    let gather = Gather::new(elements).expect("the bench asks for what exists");
    let target = Target::Tagged {
        stag: request.sink_stag,
        offset: request.sink_to,
        rsvd_ulp: 0x42, // RDMAP version 1, opcode 2 (RFC 5040 §4.1, Figure 4)
    };
    let made = SendRequest::new(
        target,
        Flags::default(),
        msn.into(),
        Payload::Gather(gather),
    );
    Some(made.expect("it does not wrap"))
}

/// A command that the host issues.
#[derive(Clone, Debug)]
pub enum Op {
    Set {
        stream: u8,
        words: [u32; 4],
        domain: u16,
        legal: bool,
    },
    Close {
        stream: u8,
        begun: Option<u64>,
    },
}
