//! Settle: gives segments that may be sent to `frame`, and reports each request when its last octet can be sent.
//!
//! ```text
//!  SendSegment ─┐
//!  status ──────┴─► issue ─┬─► Ulpdu ─► frame
//!                          ├─► discards ─┐
//!                          │   verdict ──┴─► m_failed ─► transmit_ring
//!                          └─► accounts ─► look ─► judge ─► decide ─┬─► send_event
//!                 complete ─► visible ─────┘                        └─► fail, settled
//! ```
//!
//! Segments, statuses of `local_access`, verdicts of `gather` and completions of `transmit_ring` come in one order, that of
//! the segments. A segment that passes is issued; a segment or a request that does not has its account only.
//!
//! **Failures.** The first failure of a stream is reported with its status, at once, and ends the stream's queue: `fail` tells
//! `segment` so. What was cut before that pulse is discarded: segments that pass are given to the ring as failed ones. Their
//! requests are reported as flushed, in their turn, and nothing more is reported of the one that has failed.
//!
//! A segment without an FPDU in the ring has failed by the bus if `gather` says so; otherwise its stream was closed, or
//! has failed before, and its request is flushed.
//!
//! Assumptions: between `clear` of a stream and its next segment nothing of it is under way. `complete` pulses once for each
//! ULPDU, in order. At most [`UNDER_WAY`] segments are under way; more stall.
//!
//! Latency: [`ISSUED`] cycles from a segment and its status to its ULPDU; [`REPORTED`] from `complete` to the entry.
//! Throughput: a segment each [`PERIOD`] cycles, one more with an entry. No output depends on an input in the same cycle.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use crate::parts::queue::Queue;
use crate::records::{SendSegment, Ulpdu};
use crate::tx::ddp::segment::scheduler::StreamEvent;
use rust_hdl_core::prelude::*;
use warpline_regmap::transmit::{kind, send_event, status};
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, Record, comment};

/// log2 of [`UNDER_WAY`].
const LOG: usize = 5;
/// Segments under way, at most.
pub const UNDER_WAY: usize = 1 << LOG;
/// Cycles from a segment and its status to its ULPDU.
pub const ISSUED: usize = 2;
/// Cycles from `complete` to the entry.
pub const REPORTED: usize = 4;
/// Cycles of a segment without an entry.
pub const PERIOD: usize = 3;

/// What is reported of a segment, once it is settled.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct Account {
    /// Stream number.
    pub stream: Bits<8>,
    /// First segment of its message.
    pub first: Bit,
    /// Last segment of its message, or the end of a request without one.
    pub last: Bit,
    /// `SIGNALLED`.
    pub signalled: Bit,
    /// `send_event::LENGTH`.
    pub octets: Bits<32>,
    /// `send_event::REQUEST`.
    pub request: Bits<64>,
    /// `send_event::CONSUMED`.
    pub consumed: Bits<16>,
    /// `send_event::RESPONSE`.
    pub response: Bit,
    /// Status of `local_access`; the segment was issued if it is `OK`.
    pub status: Bits<4>,
}

/// State of the oldest segment.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum Step {
    /// Its FPDU is not in the ring.
    Look,
    /// The bits of its stream are read.
    Judge,
    /// Decides what is reported.
    Decide,
    /// The entry is offered.
    Report,
}

/// Settles segments of S streams.
#[derive(Block)]
#[block()]
pub struct Settle<const S: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// The stream is as before it was armed.
    pub clear: Signal<In, StreamEvent>,
    /// A segment, or the end of a request.
    pub s_segment: Signal<In, SendSegment>,
    /// It is valid.
    pub s_segment_valid: Signal<In, Bit>,
    /// It is accepted.
    pub s_segment_ready: Signal<Out, Bit>,
    /// Its `regmap::transmit::status`.
    pub s_status: Signal<In, Bits<4>>,
    /// It is valid.
    pub s_status_valid: Signal<In, Bit>,
    /// It is accepted.
    pub s_status_ready: Signal<Out, Bit>,
    /// A ULPDU whose pieces pass.
    pub m_ulpdu: Signal<Out, Ulpdu>,
    /// It is valid.
    pub m_ulpdu_valid: Signal<Out, Bit>,
    /// It is accepted.
    pub m_ulpdu_ready: Signal<In, Bit>,

    /// The bus has refused to read a ULPDU.
    pub s_refused: Signal<In, Bit>,
    /// That is valid.
    pub s_refused_valid: Signal<In, Bit>,
    /// It is accepted.
    pub s_refused_ready: Signal<Out, Bit>,
    /// The FPDU must not be sent.
    pub m_failed: Signal<Out, Bit>,
    /// That is valid.
    pub m_failed_valid: Signal<Out, Bit>,
    /// It is accepted.
    pub m_failed_ready: Signal<In, Bit>,
    /// Pulse: an FPDU is in the ring, or discarded.
    pub complete: Signal<In, Bit>,
    /// With it: it is in the ring.
    pub complete_visible: Signal<In, Bit>,

    /// `send_event`, PHASE zero.
    pub m_event: Signal<Out, Bits<256>>,
    /// It is valid.
    pub m_event_valid: Signal<Out, Bit>,
    /// It is accepted.
    pub m_event_ready: Signal<In, Bit>,
    /// The queue of a stream ends.
    pub fail: Signal<Out, StreamEvent>,
    /// A segment is settled.
    pub settled: Signal<Out, StreamEvent>,
    /// Streams with segments under way.
    pub under_way: [Signal<Out, Bit>; S],

    segments: Queue<SendSegment, 1>,
    statuses: Queue<Bits<4>, 1>,
    ulpdus: Queue<Ulpdu, 1>,
    accounts: Queue<Account, LOG>,
    discards: Queue<Bits<1>, LOG>,
    /// For the ring, and for the account.
    failures: Queue<Bits<1>, 1>,
    refusals: Queue<Bits<1>, LOG>,
    visible: Queue<Bits<1>, LOG>,
    /// A segment of the stream has failed before it was issued: later ones are discarded.
    broken: [Dff<Bit>; S],
    /// The stream's first failure is reported.
    ended: [Dff<Bit>; S],
    /// The rest of the message is not reported.
    silent: [Dff<Bit>; S],
    counts: [Dff<Bits<7>>; S],
    step: Dff<Step>,
    account: Dff<Account>,
    is_visible: Dff<Bit>,
    is_refused: Dff<Bit>,
    has_ended: Dff<Bit>,
    is_silent: Dff<Bit>,
    entry_status: Dff<Bits<4>>,
    fail_pulse: Dff<StreamEvent>,
    settled_pulse: Dff<StreamEvent>,

    head: Signal<Local, SendSegment>,
    passes: Signal<Local, Bit>,
    issue: Signal<Local, Bit>,
    discard: Signal<Local, Bit>,
    fails_here: Signal<Local, Bit>,
    joined: Signal<Local, Bit>,
    oldest: Signal<Local, Account>,
    was_issued: Signal<Local, Bit>,
    look: Signal<Local, Bit>,
    accepted: Signal<Local, Bit>,
    outcome: Signal<Local, Bits<4>>,
    first_failure: Signal<Local, Bit>,
    reports: Signal<Local, Bit>,
    leaves: Signal<Local, Bit>,
    response_bit: Signal<Local, Bits<1>>,
    up: [Signal<Local, Bit>; S],
    down: [Signal<Local, Bit>; S],
    #[constant(|i| i)]
    index: [Constant<Bits<4>>; S],
    #[constant(status::OK)]
    ok: Constant<Bits<4>>,
    #[constant(status::FLUSHED)]
    flushed: Constant<Bits<4>>,
    #[constant(status::BUS)]
    bus: Constant<Bits<4>>,
    #[constant(kind::SEND)]
    send: Constant<Bits<256>>,
    #[constant(send_event::STREAM.lsb)]
    stream_at: Constant<Bits<8>>,
    #[constant(send_event::STATUS.lsb)]
    status_at: Constant<Bits<8>>,
    #[constant(send_event::RESPONSE.lsb)]
    response_at: Constant<Bits<8>>,
    #[constant(send_event::CONSUMED.lsb)]
    consumed_at: Constant<Bits<8>>,
    #[constant(send_event::LENGTH.lsb)]
    length_at: Constant<Bits<8>>,
    #[constant(send_event::REQUEST.lsb)]
    request_at: Constant<Bits<8>>,
}

impl<const S: usize> Default for Settle<S> {
    fn default() -> Self {
        assert!(S <= 16 && send_event::KIND.lsb == 0, "as the kernel has it");
        Self::assemble()
    }
}

impl<const S: usize> Logic for Settle<S> {
    #[hdl_gen]
    fn update(&mut self) {
        self.segments.reset.next = self.reset.val();
        self.statuses.reset.next = self.reset.val();
        self.ulpdus.reset.next = self.reset.val();
        self.accounts.reset.next = self.reset.val();
        self.discards.reset.next = self.reset.val();
        self.failures.reset.next = self.reset.val();
        self.refusals.reset.next = self.reset.val();
        self.visible.reset.next = self.reset.val();
        self.segments.s_data.next = self.s_segment.val();
        self.segments.s_valid.next = self.s_segment_valid.val();
        self.s_segment_ready.next = self.segments.s_ready.val();
        self.statuses.s_data.next = self.s_status.val();
        self.statuses.s_valid.next = self.s_status_valid.val();
        self.s_status_ready.next = self.statuses.s_ready.val();
        self.m_ulpdu.next = self.ulpdus.m_data.val();
        self.m_ulpdu_valid.next = self.ulpdus.m_valid.val();
        self.ulpdus.m_ready.next = self.m_ulpdu_ready.val();
        self.m_failed.next = self.failures.m_data.val().any();
        self.m_failed_valid.next = self.failures.m_valid.val();
        self.failures.m_ready.next = self.m_failed_ready.val();

        comment!("issue: a segment and its status become a ULPDU and an account");
        self.head.next = self.segments.m_data.val();
        self.passes.next = self.statuses.m_data.val() == self.ok.val();
        self.issue.next = self.segments.m_valid.val()
            & self.statuses.m_valid.val()
            & self.accounts.s_ready.val()
            & self.discards.s_ready.val()
            & self.ulpdus.s_ready.val();
        self.segments.m_ready.next = self.issue.val();
        self.statuses.m_ready.next = self.issue.val();
        self.ulpdus.s_data.next.stream = self.head.val().stream;
        self.ulpdus.s_data.next.position = self.head.val().position;
        self.ulpdus.s_data.next.length = self.head.val().length;
        self.ulpdus.s_data.next.markers = self.head.val().markers;
        self.ulpdus.s_data.next.crc = self.head.val().crc;
        self.ulpdus.s_valid.next = self.issue.val() & self.passes.val();
        self.accounts.s_data.next.stream = self.head.val().stream;
        self.accounts.s_data.next.first = self.head.val().first;
        self.accounts.s_data.next.last = self.head.val().last;
        self.accounts.s_data.next.signalled = self.head.val().signalled;
        self.accounts.s_data.next.octets = self.head.val().octets;
        self.accounts.s_data.next.request = self.head.val().request;
        self.accounts.s_data.next.consumed = self.head.val().consumed;
        self.accounts.s_data.next.response = self.head.val().response;
        self.accounts.s_data.next.status = self.statuses.m_data.val();
        self.accounts.s_valid.next = self.issue.val();
        self.fails_here.next =
            !self.passes.val() & (self.statuses.m_data.val() != self.flushed.val());
        self.discard.next = false;
        for i in 0..S {
            if self.head.val().stream.get_bits::<4>(0) == self.index[i].val() {
                self.discard.next = self.broken[i].q.val();
                if self.issue.val() & self.fails_here.val() {
                    self.broken[i].d.next = true;
                }
            }
        }
        self.discards.s_data.next = self.discard.val().into();
        self.discards.s_valid.next = self.issue.val() & self.passes.val();

        comment!("what the ring needs for each FPDU, and what its account needs");
        self.joined.next = self.s_refused_valid.val()
            & self.discards.m_valid.val()
            & self.failures.s_ready.val()
            & self.refusals.s_ready.val();
        self.s_refused_ready.next =
            self.discards.m_valid.val() & self.failures.s_ready.val() & self.refusals.s_ready.val();
        self.discards.m_ready.next = self.joined.val();
        self.failures.s_data.next =
            (self.s_refused.val() | self.discards.m_data.val().any()).into();
        self.failures.s_valid.next = self.joined.val();
        self.refusals.s_data.next = self.s_refused.val().into();
        self.refusals.s_valid.next = self.joined.val();
        self.visible.s_data.next = self.complete_visible.val().into();
        self.visible.s_valid.next = self.complete.val();

        comment!("the oldest segment");
        self.oldest.next = self.accounts.m_data.val();
        self.was_issued.next = self.oldest.val().status == self.ok.val();
        self.look.next = (self.step.q.val() == Step::Look)
            & self.accounts.m_valid.val()
            & (!self.was_issued.val() | (self.visible.m_valid.val() & self.refusals.m_valid.val()));
        self.accounts.m_ready.next = self.look.val();
        self.visible.m_ready.next = self.look.val() & self.was_issued.val();
        self.refusals.m_ready.next = self.look.val() & self.was_issued.val();
        if self.look.val() {
            self.account.d.next = self.oldest.val();
            self.is_visible.d.next = self.visible.m_data.val().any();
            self.is_refused.d.next = self.refusals.m_data.val().any();
        }
        self.has_ended.d.next = false;
        self.is_silent.d.next = false;
        for i in 0..S {
            if self.account.q.val().stream.get_bits::<4>(0) == self.index[i].val() {
                self.has_ended.d.next = self.ended[i].q.val();
                self.is_silent.d.next = self.silent[i].q.val() & !self.account.q.val().first;
            }
        }

        comment!("behind the first failure everything is flushed");
        self.outcome.next = self.account.q.val().status;
        if (self.account.q.val().status == self.ok.val()) & !self.is_visible.q.val() {
            self.outcome.next = self.flushed.val();
            if self.is_refused.q.val() {
                self.outcome.next = self.bus.val();
            }
        }
        self.first_failure.next = !self.has_ended.q.val()
            & (self.outcome.val() != self.ok.val())
            & (self.outcome.val() != self.flushed.val());
        if self.has_ended.q.val() {
            self.outcome.next = self.flushed.val();
        }
        self.reports.next = self.first_failure.val()
            | (self.account.q.val().last
                & !self.is_silent.q.val()
                & (self.account.q.val().signalled | (self.outcome.val() != self.ok.val())));
        self.leaves.next = false;
        self.fail_pulse.d.next.valid = false;
        self.fail_pulse.d.next.stream = self.account.q.val().stream;
        match self.step.q.val() {
            Step::Look => {
                if self.look.val() {
                    self.step.d.next = Step::Judge;
                }
            }
            Step::Judge => {
                self.step.d.next = Step::Decide;
            }
            Step::Decide => {
                self.entry_status.d.next = self.outcome.val();
                self.fail_pulse.d.next.valid = self.first_failure.val();
                for i in 0..S {
                    if self.account.q.val().stream.get_bits::<4>(0) == self.index[i].val() {
                        self.silent[i].d.next = self.is_silent.q.val()
                            | (self.first_failure.val() & !self.account.q.val().last);
                        if self.first_failure.val() {
                            self.ended[i].d.next = true;
                        }
                    }
                }
                self.step.d.next = Step::Look;
                self.leaves.next = !self.reports.val();
                if self.reports.val() {
                    self.step.d.next = Step::Report;
                }
            }
            Step::Report => {
                self.leaves.next = self.m_event_ready.val();
                if self.m_event_ready.val() {
                    self.step.d.next = Step::Look;
                }
            }
        }
        self.settled_pulse.d.next.valid = self.leaves.val();
        self.settled_pulse.d.next.stream = self.account.q.val().stream;
        self.fail.next = self.fail_pulse.q.val();
        self.settled.next = self.settled_pulse.q.val();
        self.m_event_valid.next = self.step.q.val() == Step::Report;
        self.response_bit.next = self.account.q.val().response.into();
        self.m_event.next = self.send.val()
            | (bit_cast::<256, 8>(self.account.q.val().stream) << self.stream_at.val())
            | (bit_cast::<256, 4>(self.entry_status.q.val()) << self.status_at.val())
            | (bit_cast::<256, 1>(self.response_bit.val()) << self.response_at.val())
            | (bit_cast::<256, 16>(self.account.q.val().consumed) << self.consumed_at.val())
            | (bit_cast::<256, 32>(self.account.q.val().octets) << self.length_at.val())
            | (bit_cast::<256, 64>(self.account.q.val().request) << self.request_at.val());

        self.accepted.next = self.s_segment_valid.val() & self.segments.s_ready.val();
        for i in 0..S {
            self.under_way[i].next = self.counts[i].q.val().any();
            self.up[i].next = self.accepted.val()
                & (self.s_segment.val().stream.get_bits::<4>(0) == self.index[i].val());
            self.down[i].next = self.settled_pulse.q.val().valid
                & (self.settled_pulse.q.val().stream.get_bits::<4>(0) == self.index[i].val());
            if self.up[i].val() & !self.down[i].val() {
                self.counts[i].d.next = self.counts[i].q.val() + 1;
            }
            if self.down[i].val() & !self.up[i].val() {
                self.counts[i].d.next = self.counts[i].q.val() - 1;
            }
            if self.clear.val().valid
                & (self.clear.val().stream.get_bits::<4>(0) == self.index[i].val())
            {
                self.broken[i].d.next = false;
                self.ended[i].d.next = false;
                self.silent[i].d.next = false;
            }
        }
        if self.reset.val() {
            self.step.d.next = Step::Look;
            self.fail_pulse.d.next.valid = false;
            self.settled_pulse.d.next.valid = false;
            for i in 0..S {
                self.broken[i].d.next = false;
                self.ended[i].d.next = false;
                self.silent[i].d.next = false;
                self.counts[i].d.next = 0.into();
            }
        }
    }
}
