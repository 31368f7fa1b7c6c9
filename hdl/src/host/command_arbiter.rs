//! CommandArbiter: the host's commands and the buffers of receive rings share the command port of `check`.
//!
//! ```text
//!  control ─ command, arguments ─┐
//!                                ├─► the owner's ─► check
//!  rings ─── PostReceive ────────┘        │
//!  control ◄─ ready, done ────────────────┤
//!  rings   ◄─ ready, done ────────────────┘
//! ```
//!
//! A requester becomes the owner until `check` is done. If both request at the same time, the host wins: it has one
//! command at a time and then waits for its result. Behind each command `check` sees no command for at least one
//! cycle, so a pending FPDU goes before the next buffer: commands precede FPDUs, and buffers back to back would stall
//! all of them.
//!
//! The inputs of a requester must be stable until `ready`. Every signal passes a register, apart from command and
//! arguments, which a register selects. A request takes 3 cycles more than `check` does: one to choose the owner, one
//! for `done`, and the requester's own until its next request.
use crate::rx::ddp::check::CheckCommand;
use rust_hdl_core::prelude::*;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, comment};

/// State of the owner.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum Phase {
    /// No owner.
    Free,
    /// The owner's command is offered to `check`.
    Ask,
    /// `check` carries it out.
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

    /// Command of `control`.
    pub control_command: Signal<In, CheckCommand>,
    /// Its arguments.
    pub control_arguments: Signal<In, Bits<256>>,
    /// The request is valid.
    pub control_valid: Signal<In, Bit>,
    /// Pulse: `check` has accepted it.
    pub control_ready: Signal<Out, Bit>,
    /// Pulse: `check` is done.
    pub control_done: Signal<Out, Bit>,
    /// With `control_done`: it was refused.
    pub control_failed: Signal<Out, Bit>,

    /// Arguments of a [`CheckCommand::PostReceive`], those above zero.
    pub rings_arguments: Signal<In, Bits<128>>,
    /// The request is valid.
    pub rings_valid: Signal<In, Bit>,
    /// Pulse: `check` has accepted it.
    pub rings_ready: Signal<Out, Bit>,
    /// Pulse: `check` is done.
    pub rings_done: Signal<Out, Bit>,
    /// With `rings_done`: it was refused.
    pub rings_failed: Signal<Out, Bit>,

    /// The owner's command.
    pub command: Signal<Out, CheckCommand>,
    /// Its arguments.
    pub arguments: Signal<Out, Bits<256>>,
    /// It is valid.
    pub command_valid: Signal<Out, Bit>,
    /// It is accepted.
    pub command_ready: Signal<In, Bit>,
    /// Pulse: it is done.
    pub command_done: Signal<In, Bit>,
    /// With `command_done`: it is refused.
    pub command_failed: Signal<In, Bit>,

    phase: Dff<Phase>,
    rings_own: Dff<Bit>,
    control_accepted: Dff<Bit>,
    rings_accepted: Dff<Bit>,
    control_finished: Dff<Bit>,
    rings_finished: Dff<Bit>,
    refused: Dff<Bit>,
}

impl Logic for CommandArbiter {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("the owner's command");
        self.command.next = self.control_command.val();
        self.arguments.next = self.control_arguments.val();
        if self.rings_own.q.val() {
            self.command.next = CheckCommand::PostReceive;
            self.arguments.next = bit_cast::<256, 128>(self.rings_arguments.val());
        }
        self.command_valid.next = self.phase.q.val() == Phase::Ask;

        self.control_accepted.d.next = false;
        self.rings_accepted.d.next = false;
        self.control_finished.d.next = false;
        self.rings_finished.d.next = false;
        match self.phase.q.val() {
            Phase::Free => {
                comment!("a requester that was just answered has no new request yet");
                self.rings_own.d.next = !self.control_valid.val();
                if self.control_valid.val() | self.rings_valid.val() {
                    self.phase.d.next = Phase::Ask;
                }
            }
            Phase::Ask => {
                if self.command_ready.val() {
                    self.control_accepted.d.next = !self.rings_own.q.val();
                    self.rings_accepted.d.next = self.rings_own.q.val();
                    self.phase.d.next = Phase::Work;
                }
            }
            Phase::Work => {
                if self.command_done.val() {
                    self.control_finished.d.next = !self.rings_own.q.val();
                    self.rings_finished.d.next = self.rings_own.q.val();
                    self.refused.d.next = self.command_failed.val();
                    self.phase.d.next = Phase::Free;
                }
            }
        }
        self.control_ready.next = self.control_accepted.q.val();
        self.control_done.next = self.control_finished.q.val();
        self.control_failed.next = self.refused.q.val();
        self.rings_ready.next = self.rings_accepted.q.val();
        self.rings_done.next = self.rings_finished.q.val();
        self.rings_failed.next = self.refused.q.val();
        if self.reset.val() {
            self.phase.d.next = Phase::Free;
            self.control_accepted.d.next = false;
            self.rings_accepted.d.next = false;
            self.control_finished.d.next = false;
            self.rings_finished.d.next = false;
        }
    }
}
