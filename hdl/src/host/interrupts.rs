//! Interrupts: remembers what has happened, and sends the messages that the host wants.
//!
//! ```text
//!  arm, count ─► armed ─┐
//!  producer ────────────┴(≠)─► COMPLETION ─┐   ┌─► state ──► INTERRUPT_STATE
//!  fault ───────────(rises)──► FAULT ──────┼──►┤
//!  test ───────────────────────────────────┘   └─► pending ─(enable, holdoff)─► m_axis_msix
//!  clear ──────────────────────────────────────► both back to 0
//! ```
//!
//! A host that is about to sleep arms with the number of entries that it has consumed. An entry that came before that, or
//! between its last look and the arming, makes `producer` another number, and the message goes at once: what counts is the
//! difference, not the change. An arming makes one interrupt; a new one takes its place, `restart` takes it back.
//!
//! Each bit of `state` has a `pending` message beside it. An interrupt sets both, clearing takes both back, and what
//! happens in the cycle of the clearing stays. A message leaves while its bit of `enable` is set, COMPLETION not before
//! `holdoff` cycles have passed since the last one was taken; a shorter `holdoff` counts for the one that waits already.
//! Once it is offered it cannot be taken back (AXI4-Stream): clearing in that moment leaves a message without a bit.
//! An interrupt that happens while the message of an earlier one waits to be taken has a message of its own.
//!
//! Latency: `producer` to `state` 2 cycles, `arm` 3 cycles, an event to `tvalid` 2 cycles. A FAULT message every 2 cycles,
//! a COMPLETION message every `holdoff` + 3.
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
    /// A message is to be sent.
    pub tvalid: Signal<Out, Bit>,
    /// It is taken.
    pub tready: Signal<In, Bit>,
}

/// The other end of [`MessageStreamOut`].
#[derive(LogicInterface, Clone, Debug, Default)]
#[join = "MessageStreamOut"]
pub struct MessageStreamIn {
    /// Vector.
    pub tdata: Signal<In, Bits<8>>,
    /// A message is to be sent.
    pub tvalid: Signal<In, Bit>,
    /// It is taken.
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
    /// Pulse: a new completion queue begins; nothing is armed any more.
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
    /// Pulses: interrupts to be made happen.
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
        comment!(
            "one shot: a difference found with an older count is worth nothing to a new arming"
        );
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

        comment!("what happens now stays, whatever is cleared now");
        self.events.next = self.test.val();
        if self.fire.val() & self.rise.val() {
            self.events.next = self.test.val() | self.completion_bit.val() | self.fault_bit.val();
        } else if self.fire.val() {
            self.events.next = self.test.val() | self.completion_bit.val();
        } else if self.rise.val() {
            self.events.next = self.test.val() | self.fault_bit.val();
        }

        comment!("messages: one is offered until it is taken, FAULT goes first");
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

        comment!(
            "moderation: cycles since a COMPLETION message was taken, as many as can be counted"
        );
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
