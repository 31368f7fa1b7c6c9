//! Message mux: the mailbox's interrupt messages between those of `interrupts`.
//!
//! ```text
//!  raise, clear ─► pending ─(enable)─► due ─┬─► vector ─► m_axis_msix
//!  s_axis_msix ─────────────────────────────┘
//! ```
//!
//! `raise` sets `pending`, `clear` resets it, and both in one cycle leave it set. A message of the mailbox leaves while
//! `enable` is high, in front of one that `s_axis_msix` offers. It takes nothing away from that port: the control
//! program raises at most one interrupt for each access. An offered message cannot be withdrawn (AXI4-Stream): `clear`
//! at that moment leaves a message without a bit, and `raise` makes another message.
//!
//! Latency: 3 cycles from `raise` to `tvalid`, 1 from a beat of `s_axis_msix`. Throughput: a message every 2 cycles.
//!
//! Assumptions: `reset` begins with the reset of the ports.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use crate::host::interrupts::{MessageStreamIn, MessageStreamOut};
use rust_hdl_core::prelude::*;
use warpline_regmap::mailbox::INTERRUPT;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, comment};

/// Messages of `interrupts` and of the mailbox, on one stream.
#[derive(Block)]
#[block(default)]
pub struct MessageMux {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// Pulse: the mailbox's interrupt occurs.
    pub raise: Signal<In, Bit>,
    /// Pulse: the host clears it.
    pub clear: Signal<In, Bit>,
    /// Its messages are sent.
    pub enable: Signal<In, Bit>,
    /// Messages of `interrupts`.
    pub s_axis_msix: MessageStreamIn,
    /// All messages.
    pub m_axis_msix: MessageStreamOut,

    pending: Dff<Bit>,
    due: Dff<Bit>,
    offered: Dff<Bit>,
    vector: Dff<Bits<8>>,

    leaves: Signal<Local, Bit>,
    #[constant(INTERRUPT)]
    mailbox_vector: Constant<Bits<8>>,
}

impl Logic for MessageMux {
    #[hdl_gen]
    fn update(&mut self) {
        comment!(
            "the mailbox's message: an interrupt in this cycle stays, whatever this cycle clears"
        );
        self.leaves.next = self.due.q.val() & !self.offered.q.val();
        self.pending.d.next =
            self.raise.val() | (self.pending.q.val() & !self.clear.val() & !self.leaves.val());
        self.due.d.next =
            self.pending.q.val() & self.enable.val() & !self.clear.val() & !self.leaves.val();

        comment!("one message is offered until it is accepted");
        self.s_axis_msix.tready.next = !self.offered.q.val() & !self.due.q.val();
        self.offered.d.next = self.offered.q.val() & !self.m_axis_msix.tready.val();
        if self.leaves.val() {
            self.offered.d.next = true;
            self.vector.d.next = self.mailbox_vector.val();
        } else if !self.offered.q.val() & self.s_axis_msix.tvalid.val() {
            self.offered.d.next = true;
            self.vector.d.next = self.s_axis_msix.tdata.val();
        }
        self.m_axis_msix.tdata.next = self.vector.q.val();
        self.m_axis_msix.tvalid.next = self.offered.q.val();

        if self.reset.val() {
            self.pending.d.next = false;
            self.due.d.next = false;
            self.offered.d.next = false;
        }
    }
}
