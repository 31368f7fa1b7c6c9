//! Interrupts: records interrupts, and sends the messages that the host has enabled.
//!
//! ```text
//!  arm, count ─► armed ─┐
//!  producer ────────────┴(≠)─► COMPLETION ─┐   ┌─► state ──► INTERRUPT_STATE
//!  fault ───────────(rises)──► FAULT ──────┼──►┤
//!  test ───────────────────────────────────┘   └─► pending ─(enable, holdoff)─► m_axis_msix
//!  clear ──────────────────────────────────────► both reset to 0
//! ```
//!
//! A host that is about to sleep arms with the number of entries that it has consumed. If an entry came before that,
//! or between its last poll and the arming, `producer` differs from that number, and the message leaves at once: the
//! difference counts, not the change. An arming makes one interrupt; a new one replaces it, and `restart` cancels it.
//!
//! Each bit of `state` has a `pending` message. An interrupt sets both, clearing resets both, and an interrupt in the
//! cycle of the clearing stays. A message leaves while its bit of `enable` is set, and COMPLETION not before
//! `holdoff` cycles have passed since the last one was accepted; a shorter `holdoff` applies to a message that is
//! already delayed. An offered message cannot be withdrawn (AXI4-Stream): clearing at that moment leaves a message
//! without a bit. An interrupt during the offer of an earlier message has a message of its own.
//!
//! Latency: 2 cycles from `producer` to `state`, 3 from `arm`, 2 from an event to `tvalid`. Throughput: a FAULT
//! message every 2 cycles, a COMPLETION message every `holdoff` + 3.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use rust_hdl_core::prelude::*;
use warpline_regmap::register::interrupt;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, comment};

/// AXI4-Stream of interrupt messages, one beat each.
#[derive(LogicInterface, Clone, Debug, Default)]
#[join = "MessageStreamIn"]
pub struct MessageStreamOut {
    /// Vector, see `warpline_regmap::register::interrupt`.
    pub tdata: Signal<Out, Bits<8>>,
    /// The message is valid.
    pub tvalid: Signal<Out, Bit>,
    /// It is accepted.
    pub tready: Signal<In, Bit>,
}

/// The other end of [`MessageStreamOut`].
#[derive(LogicInterface, Clone, Debug, Default)]
#[join = "MessageStreamOut"]
pub struct MessageStreamIn {
    /// Vector.
    pub tdata: Signal<In, Bits<8>>,
    /// The message is valid.
    pub tvalid: Signal<In, Bit>,
    /// It is accepted.
    pub tready: Signal<Out, Bit>,
}

/// State and messages of both vectors.
#[derive(Block)]
#[block(default)]
pub struct Interrupts {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// Entries of the completion queue that are in memory, modulo 2^32.
    pub producer: Signal<In, Bits<32>>,
    /// Pulse: a new completion queue begins; cancels an arming.
    pub restart: Signal<In, Bit>,
    /// A completion entry could not be written; the rise counts.
    pub fault: Signal<In, Bit>,
    /// Pulse: a COMPLETION interrupt as soon as `producer` is not `armed_count`.
    pub arm: Signal<In, Bit>,
    /// Entries that the host has consumed, with `arm`.
    pub armed_count: Signal<In, Bits<32>>,
    /// Pulses: bits of `state` to clear.
    pub clear: Signal<In, Bits<2>>,
    /// Interrupts whose messages are sent.
    pub enable: Signal<In, Bits<2>>,
    /// Pulses: interrupts to raise.
    pub test: Signal<In, Bits<2>>,
    /// Cycles between two COMPLETION messages.
    pub holdoff: Signal<In, Bits<24>>,
    /// Interrupts that have happened, one bit a vector.
    pub state: Signal<Out, Bits<2>>,
    /// The messages.
    pub m_axis_msix: MessageStreamOut,

    armed: Dff<Bit>,
    count: Dff<Bits<32>>,
    different: Dff<Bit>,
    fault_before: Dff<Bit>,
    happened: Dff<Bits<2>>,
    pending: Dff<Bits<2>>,
    offered: Dff<Bit>,
    vector: Dff<Bits<8>>,
    since: Dff<Bits<24>>,
    rested: Dff<Bit>,

    fire: Signal<Local, Bit>,
    rise: Signal<Local, Bit>,
    events: Signal<Local, Bits<2>>,
    wanted: Signal<Local, Bits<2>>,
    leaves: Signal<Local, Bits<2>>,
    #[constant(0xff_ffff)]
    longest: Constant<Bits<24>>,
    #[constant(1_u64 << interrupt::COMPLETION)]
    completion_bit: Constant<Bits<2>>,
    #[constant(1_u64 << interrupt::FAULT)]
    fault_bit: Constant<Bits<2>>,
    #[constant(interrupt::COMPLETION)]
    completion_vector: Constant<Bits<8>>,
    #[constant(interrupt::FAULT)]
    fault_vector: Constant<Bits<8>>,
}

impl Logic for Interrupts {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("one shot: a difference from an older count has no meaning for a new arming");
        self.fire.next = self.different.q.val();
        self.different.d.next = self.armed.q.val()
            & !self.different.q.val()
            & (self.producer.val() != self.count.q.val());
        if self.different.q.val() {
            self.armed.d.next = false;
        }
        if self.arm.val() {
            self.armed.d.next = true;
            self.count.d.next = self.armed_count.val();
            self.different.d.next = false;
        }
        if self.restart.val() {
            self.armed.d.next = false;
            self.different.d.next = false;
        }
        self.fault_before.d.next = self.fault.val();
        self.rise.next = self.fault.val() & !self.fault_before.q.val();

        comment!("an interrupt in this cycle stays, whatever this cycle clears");
        self.events.next = self.test.val();
        if self.fire.val() & self.rise.val() {
            self.events.next = self.test.val() | self.completion_bit.val() | self.fault_bit.val();
        } else if self.fire.val() {
            self.events.next = self.test.val() | self.completion_bit.val();
        } else if self.rise.val() {
            self.events.next = self.test.val() | self.fault_bit.val();
        }

        comment!("messages: one is offered until it is accepted, FAULT first");
        self.wanted.next = self.pending.q.val() & self.enable.val();
        self.leaves.next = 0.into();
        if !self.offered.q.val() {
            if (self.wanted.val() & self.fault_bit.val()).any() {
                self.leaves.next = self.fault_bit.val();
                self.vector.d.next = self.fault_vector.val();
            } else if (self.wanted.val() & self.completion_bit.val()).any() & self.rested.q.val() {
                self.leaves.next = self.completion_bit.val();
                self.vector.d.next = self.completion_vector.val();
            }
        }
        self.offered.d.next =
            self.leaves.val().any() | (self.offered.q.val() & !self.m_axis_msix.tready.val());
        self.happened.d.next = (self.happened.q.val() & !self.clear.val()) | self.events.val();
        self.pending.d.next =
            (self.pending.q.val() & !self.clear.val() & !self.leaves.val()) | self.events.val();
        self.state.next = self.happened.q.val();
        self.m_axis_msix.tdata.next = self.vector.q.val();
        self.m_axis_msix.tvalid.next = self.offered.q.val();

        comment!("moderation: cycles since a COMPLETION message was accepted, saturated");
        if self.since.q.val() != self.longest.val() {
            self.since.d.next = self.since.q.val() + 1;
        }
        self.rested.d.next = self.since.q.val() >= self.holdoff.val();
        if self.offered.q.val()
            & self.m_axis_msix.tready.val()
            & (self.vector.q.val() == self.completion_vector.val())
        {
            self.since.d.next = 0.into();
            self.rested.d.next = false;
        }

        if self.reset.val() {
            self.armed.d.next = false;
            self.different.d.next = false;
            self.fault_before.d.next = false;
            self.happened.d.next = 0.into();
            self.pending.d.next = 0.into();
            self.offered.d.next = false;
            self.since.d.next = self.longest.val();
            self.rested.d.next = true;
        }
    }
}
