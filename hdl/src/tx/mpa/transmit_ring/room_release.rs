//! Room release: gives acknowledged octets back to the sender, behind the SENDs in front of them, and says when a stream is quiet.
//!
//! ```text
//!  Freed ─► queue, with the SENDs so far ─►[have these been read?]─► freed
//!  SENDs accepted, finished ───────────────┘
//!  close ─► SENDs and Freed at that time ─► all gone, and nothing else of the stream for some cycles ─► quiet
//! ```
//!
//! An acknowledgement takes effect for later commands at once. The sender may overwrite its octets only when each SEND that
//! was executed before has been read from the ring: so what is sent is never overwritten, even if its consumer stalls.
//!
//! Latency: 2 cycles from an acknowledgement to `freed` if no SEND is in front of it; `quiet` rises [`SETTLED`] cycles behind
//! the last activity of the stream. Throughput: one acknowledgement a cycle; the queue holds 16.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use crate::parts::queue::Queue;
use rust_hdl_core::prelude::*;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, Record, comment};

/// Cycles without activity of a stream until it is quiet: more than a beat takes to its decision, and a command to its end.
pub const SETTLED: usize = 12;

/// Octets of a stream that were acknowledged.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct Freed {
    /// Stream number.
    pub stream: Bits<8>,
    /// Octets in front of this stream position.
    pub position: Bits<32>,
}

/// Releases octets.
#[derive(Block)]
#[block(default)]
pub struct RoomRelease {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// Octets that were acknowledged.
    pub acknowledged: Signal<In, Freed>,
    /// They are valid.
    pub acknowledged_valid: Signal<In, Bit>,
    /// They are accepted.
    pub acknowledged_ready: Signal<Out, Bit>,
    /// Pulse: a SEND is accepted.
    pub accepted: Signal<In, Bit>,
    /// Pulse: the oldest SEND has been read from its ring.
    pub finished: Signal<In, Bit>,
    /// Pulse: octets are free.
    pub freed: Signal<Out, Bit>,
    /// Their stream.
    pub freed_stream: Signal<Out, Bits<8>>,
    /// Octets in front of this stream position.
    pub freed_position: Signal<Out, Bits<32>>,

    /// Pulse: `stream` is dead.
    pub close: Signal<In, Bit>,
    /// Stream of `close` and `quiet`.
    pub stream: Signal<In, Bits<8>>,
    /// A beat of `writing_stream` has come, or its FPDU is not complete.
    pub writing: Signal<In, Bit>,
    /// That stream.
    pub writing_stream: Signal<In, Bits<8>>,
    /// A command of `command_stream` is in work.
    pub command: Signal<In, Bit>,
    /// That stream.
    pub command_stream: Signal<In, Bits<8>>,
    /// Nothing of `stream` is under way.
    pub quiet: Signal<Out, Bit>,

    waiting: Queue<Freed, 4>,
    /// SENDs accepted in front of each of them, modulo 2^6.
    tags: Queue<Bits<6>, 4>,
    accepted_count: Dff<Bits<6>>,
    finished_count: Dff<Bits<6>>,
    freed_1: Dff<Bit>,
    freed_record: Dff<Freed>,
    closed: Dff<Bit>,
    closed_2: Dff<Bit>,
    /// Entries of the queue.
    queued: Dff<Bits<6>>,
    /// SENDs accepted before the close, modulo 2^6; some are not read yet.
    close_tag: Dff<Bits<6>>,
    sends_ahead: Dff<Bit>,
    /// Entries of the queue at the close that are still there.
    frees_ahead: Dff<Bits<6>>,
    active: Dff<Bit>,
    settling: Dff<Bits<4>>,
    quiet_1: Dff<Bit>,

    since: Signal<Local, Bits<6>>,
    put: Signal<Local, Bit>,
    take: Signal<Local, Bit>,
    since_close: Signal<Local, Bits<6>>,
    queued_less_one: Signal<Local, Bits<6>>,
    #[constant(SETTLED - 2)]
    settled: Constant<Bits<4>>,
    #[constant(5)]
    sign: Constant<Bits<8>>,
}

impl Logic for RoomRelease {
    #[hdl_gen]
    fn update(&mut self) {
        self.waiting.reset.next = self.reset.val();
        self.tags.reset.next = self.reset.val();
        self.accepted_count.d.next = self.accepted_count.q.val() + self.accepted.val();
        self.finished_count.d.next = self.finished_count.q.val() + self.finished.val();

        comment!(
            "the head is released when the SENDs that were accepted in front of it have been read"
        );
        self.put.next = self.acknowledged_valid.val() & self.waiting.s_ready.val();
        self.waiting.s_data.next = self.acknowledged.val();
        self.waiting.s_valid.next = self.put.val();
        self.tags.s_data.next = self.accepted_count.q.val();
        self.tags.s_valid.next = self.put.val();
        self.acknowledged_ready.next = self.waiting.s_ready.val();
        self.since.next = self.finished_count.q.val() - self.tags.m_data.val();
        self.take.next =
            self.tags.m_valid.val() & !self.since.val().get_bit(self.sign.val().index());
        self.waiting.m_ready.next = self.take.val();
        self.tags.m_ready.next = self.take.val();
        self.freed_1.d.next = self.take.val();
        self.freed_record.d.next = self.waiting.m_data.val();
        self.freed.next = self.freed_1.q.val();
        self.freed_stream.next = self.freed_record.q.val().stream;
        self.freed_position.next = self.freed_record.q.val().position;

        comment!(
            "what was there at a close: a command can still be executed in the cycle behind it"
        );
        self.queued_less_one.next = self.queued.q.val() - 1;
        if self.put.val() & !self.take.val() {
            self.queued.d.next = self.queued.q.val() + 1;
        }
        if self.take.val() & !self.put.val() {
            self.queued.d.next = self.queued_less_one.val();
        }
        self.closed.d.next = self.close.val();
        self.closed_2.d.next = self.closed.q.val();
        self.since_close.next = self.finished_count.q.val() - self.close_tag.q.val();
        if !self.since_close.val().get_bit(self.sign.val().index()) {
            self.sends_ahead.d.next = false;
        }
        if self.take.val() & self.frees_ahead.q.val().any() {
            self.frees_ahead.d.next = self.frees_ahead.q.val() - 1;
        }
        if self.closed_2.q.val() {
            self.close_tag.d.next = self.accepted_count.q.val();
            self.sends_ahead.d.next = true;
            self.frees_ahead.d.next = self.queued.q.val();
            if self.take.val() {
                self.frees_ahead.d.next = self.queued_less_one.val();
            }
        }

        self.active.d.next = self.close.val()
            | self.closed.q.val()
            | self.closed_2.q.val()
            | self.sends_ahead.q.val()
            | self.frees_ahead.q.val().any()
            | (self.writing.val() & (self.writing_stream.val() == self.stream.val()))
            | (self.command.val() & (self.command_stream.val() == self.stream.val()));
        if self.settling.q.val().any() {
            self.settling.d.next = self.settling.q.val() - 1;
        }
        if self.active.q.val() {
            self.settling.d.next = self.settled.val();
        }
        self.quiet_1.d.next = !self.active.q.val() & !self.settling.q.val().any();
        self.quiet.next = self.quiet_1.q.val();
        if self.reset.val() {
            self.accepted_count.d.next = 0.into();
            self.finished_count.d.next = 0.into();
            self.freed_1.d.next = false;
            self.closed.d.next = false;
            self.closed_2.d.next = false;
            self.queued.d.next = 0.into();
            self.sends_ahead.d.next = false;
            self.frees_ahead.d.next = 0.into();
            self.settling.d.next = 0.into();
        }
    }
}
