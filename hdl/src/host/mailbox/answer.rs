//! Answer: carries out the accesses of one side, here or in `registers`.
//!
//! ```text
//!  access ─┬─ here ────► effect, at once; words ─► data, 2 cycles behind
//!          └─ passed ──► request ─► master ─► request_done, bits of the mailbox ─► effect, data
//! ```
//!
//! Passed are accesses of `registers`, of the control side reads alone: its writes to them do nothing. `effect` is high
//! in the cycle of a write's `done`. A word that is held here is that of the cycle of `done`; a word of `MAILBOX` that
//! of the access's first cycle.
//!
//! Latency: a write here is done in the first cycle of `access_valid`, a read 2 cycles later; what is passed is done
//! with `request_done`.
use crate::host::mailbox::master::Request;
use crate::host::mailbox::port::{Access, Target};
use rust_hdl_core::prelude::*;
use warpline_regmap::mailbox::INTERRUPT_MAILBOX;
use warpline_regmap::transmit::CAPABILITY_MAILBOX;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, comment};

/// Accesses of one side.
#[derive(Block)]
#[block(control: bool)]
pub struct Answer {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// The access.
    pub access: Signal<In, Access>,
    /// It is valid.
    pub access_valid: Signal<In, Bit>,
    /// Pulse: it is done.
    pub done: Signal<Out, Bit>,
    /// With `done`: the word read.
    pub data: Signal<Out, Bits<32>>,
    /// With `done`: the response.
    pub response: Signal<Out, Bits<2>>,
    /// Pulse: the write takes effect.
    pub effect: Signal<Out, Bit>,

    /// The access to `registers`.
    pub request: Signal<Out, Request>,
    /// It is valid, until `request_done`.
    pub request_valid: Signal<Out, Bit>,
    /// Pulse: it is done.
    pub request_done: Signal<In, Bit>,
    /// With `request_done`: the word read.
    pub request_data: Signal<In, Bits<32>>,
    /// With `request_done`: the response.
    pub request_response: Signal<In, Bits<2>>,

    /// The other side's message, two cycles behind the row.
    pub window_word: Signal<In, Bits<32>>,
    /// `ARGUMENT` of this side, of the row.
    pub argument_word: Signal<In, Bits<32>>,
    /// `COMMAND` of this side.
    pub command_word: Signal<In, Bits<32>>,
    /// `HOST_MESSAGE` of this side.
    pub host_message_word: Signal<In, Bits<32>>,
    /// `CARD_MESSAGE`.
    pub card_message_word: Signal<In, Bits<32>>,
    /// `INTERRUPT_STATE.MAILBOX`.
    pub interrupt_state: Signal<In, Bit>,
    /// `INTERRUPT_ENABLE.MAILBOX`.
    pub interrupt_enable: Signal<In, Bit>,

    step: Dff<Bits<2>>,
    here: Signal<Local, Bit>,
    passes: Signal<Local, Bit>,
    ends: Signal<Local, Bit>,
    word: Signal<Local, Bits<32>>,
    #[constant(u64::from(control))]
    control: Constant<Bits<1>>,
    #[constant(1_u64 << INTERRUPT_MAILBOX.lsb)]
    interrupt_bit: Constant<Bits<32>>,
    #[constant(1_u64 << CAPABILITY_MAILBOX.lsb)]
    capability_bit: Constant<Bits<32>>,
}

impl Answer {
    /// Accesses of the control side, or of the host.
    #[must_use]
    pub fn new(control: bool) -> Self {
        Self::assemble(control)
    }
}

impl Logic for Answer {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("here, or in `registers`");
        self.here.next = (self.access.val().target == Target::Window)
            | (self.access.val().target == Target::Argument)
            | (self.access.val().target == Target::Command)
            | (self.access.val().target == Target::HostMessage)
            | (self.access.val().target == Target::CardMessage)
            | (self.access.val().write & self.control.val().any());
        self.passes.next = self.access_valid.val() & !self.here.val();
        self.request.next.write = self.access.val().write;
        self.request.next.row = self.access.val().row;
        self.request.next.data = self.access.val().data;
        self.request.next.strobe = self.access.val().strobe;
        self.request_valid.next = self.passes.val();

        comment!("the end of the access");
        self.step.d.next = 0.into();
        if self.access_valid.val() & self.here.val() {
            self.step.d.next = self.step.q.val() + 1;
        }
        self.ends.next = self.request_done.val();
        if self.access_valid.val() & self.here.val() {
            self.ends.next = self.access.val().write | (self.step.q.val() == 2);
        }
        if self.ends.val() | self.reset.val() {
            self.step.d.next = 0.into();
        }
        self.done.next = self.ends.val();
        self.effect.next = self.ends.val() & self.access.val().write;
        self.response.next = 0.into();
        if !self.here.val() {
            self.response.next = self.request_response.val();
        }

        comment!("the word read");
        self.word.next = self.request_data.val();
        if self.access.val().target == Target::Window {
            self.word.next = self.window_word.val();
        }
        if self.access.val().target == Target::Argument {
            self.word.next = self.argument_word.val();
        }
        if self.access.val().target == Target::Command {
            self.word.next = self.command_word.val();
        }
        if self.access.val().target == Target::HostMessage {
            self.word.next = self.host_message_word.val();
        }
        if self.access.val().target == Target::CardMessage {
            self.word.next = self.card_message_word.val();
        }
        if (self.access.val().target == Target::InterruptState) & self.interrupt_state.val() {
            self.word.next = self.request_data.val() | self.interrupt_bit.val();
        }
        if (self.access.val().target == Target::InterruptEnable) & self.interrupt_enable.val() {
            self.word.next = self.request_data.val() | self.interrupt_bit.val();
        }
        if self.access.val().target == Target::Capabilities {
            self.word.next = self.request_data.val() | self.capability_bit.val();
        }
        self.data.next = self.word.val();
    }
}
