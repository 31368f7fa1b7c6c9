//! CommandArbiter: the host's commands and the buffers of receive rings share the command port of `check`.
//!
//! ```text
//!  control ─ command, arguments ─┐
//!                                ├─► the owner's ─► check
//!  refill ── PostReceive ────────┘        │
//!  control ◄─ ready, done ────────────────┤
//!  refill  ◄─ ready, done ────────────────┘
//! ```
//!
//! Who asks becomes the owner until `check` is done; of two that ask at the same time the host wins, which gives one
//! command at a time and then waits. Behind each command lies at least a cycle in which `check` sees no command, so that
//! an FPDU that is there goes before the next buffer: commands go before FPDUs, and buffers without a gap would hold up
//! all of them.
//!
//! What an asker gives has to hold still until `ready`. Everything passes a register, apart from command and arguments,
//! which are selected by one. A question costs 3 cycles more than `check` takes: one to choose the owner, one for `done`,
//! and the asker's own for the next question.
use crate::rx::ddp::check::CheckCommand;
use rust_hdl_core::prelude::*;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, comment};

/// What the owner is at.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum Phase {
    /// There is no owner.
    Free,
    /// The owner's command is shown to `check`.
    Ask,
    /// `check` is working on it.
    Work,
}

/// The arbiter.
#[derive(Block)]
#[block(default)]
pub struct CommandArbiter {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,

    /// What `control` asks for.
    pub control_command: Signal<In, CheckCommand>,
    /// Its arguments.
    pub control_arguments: Signal<In, Bits<256>>,
    /// It is asked.
    pub control_valid: Signal<In, Bit>,
    /// Pulse: `check` has heard.
    pub control_ready: Signal<Out, Bit>,
    /// Pulse: `check` has done so.
    pub control_done: Signal<Out, Bit>,
    /// With `control_done`: it refuses.
    pub control_failed: Signal<Out, Bit>,

    /// Arguments of a [`CheckCommand::PostReceive`], those above zero.
    pub refill_arguments: Signal<In, Bits<128>>,
    /// It is asked.
    pub refill_valid: Signal<In, Bit>,
    /// Pulse: `check` has heard.
    pub refill_ready: Signal<Out, Bit>,
    /// Pulse: `check` has done so.
    pub refill_done: Signal<Out, Bit>,
    /// With `refill_done`: it refuses.
    pub refill_failed: Signal<Out, Bit>,

    /// The owner's command.
    pub command: Signal<Out, CheckCommand>,
    /// Its arguments.
    pub arguments: Signal<Out, Bits<256>>,
    /// It is there.
    pub command_valid: Signal<Out, Bit>,
    /// It is taken.
    pub command_ready: Signal<In, Bit>,
    /// Pulse: it is done.
    pub command_done: Signal<In, Bit>,
    /// With `command_done`: it is refused.
    pub command_failed: Signal<In, Bit>,

    turn: Dff<Phase>,
    refill_owns: Dff<Bit>,
    control_heard: Dff<Bit>,
    refill_heard: Dff<Bit>,
    control_finished: Dff<Bit>,
    refill_finished: Dff<Bit>,
    refused: Dff<Bit>,
}

impl Logic for CommandArbiter {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("the owner's question");
        self.command.next = self.control_command.val();
        self.arguments.next = self.control_arguments.val();
        if self.refill_owns.q.val() {
            self.command.next = CheckCommand::PostReceive;
            self.arguments.next = bit_cast::<256, 128>(self.refill_arguments.val());
        }
        self.command_valid.next = self.turn.q.val() == Phase::Ask;

        self.control_heard.d.next = false;
        self.refill_heard.d.next = false;
        self.control_finished.d.next = false;
        self.refill_finished.d.next = false;
        match self.turn.q.val() {
            Phase::Free => {
                comment!("who has just been answered does not ask yet");
                self.refill_owns.d.next = !self.control_valid.val();
                if self.control_valid.val() | self.refill_valid.val() {
                    self.turn.d.next = Phase::Ask;
                }
            }
            Phase::Ask => {
                if self.command_ready.val() {
                    self.control_heard.d.next = !self.refill_owns.q.val();
                    self.refill_heard.d.next = self.refill_owns.q.val();
                    self.turn.d.next = Phase::Work;
                }
            }
            Phase::Work => {
                if self.command_done.val() {
                    self.control_finished.d.next = !self.refill_owns.q.val();
                    self.refill_finished.d.next = self.refill_owns.q.val();
                    self.refused.d.next = self.command_failed.val();
                    self.turn.d.next = Phase::Free;
                }
            }
        }
        self.control_ready.next = self.control_heard.q.val();
        self.control_done.next = self.control_finished.q.val();
        self.control_failed.next = self.refused.q.val();
        self.refill_ready.next = self.refill_heard.q.val();
        self.refill_done.next = self.refill_finished.q.val();
        self.refill_failed.next = self.refused.q.val();
        if self.reset.val() {
            self.turn.d.next = Phase::Free;
            self.control_heard.d.next = false;
            self.refill_heard.d.next = false;
            self.control_finished.d.next = false;
            self.refill_finished.d.next = false;
        }
    }
}
