//! Runner: carries out the commands of both sides in `registers`, in the order of their start.
//!
//! ```text
//!  busy of a side ─► ARGUMENT 0 … 7 ─► COMMAND ─► poll ─┬─ BUSY ─► pause ─► poll
//!                                                       └─ else ─► finish, failed
//! ```
//!
//! A side has one command, so the one that has not been carried out last has the older one, if both have one. If both
//! start in the same cycle behind a command of the control side, or behind reset, the host's is first.
//!
//! Latency, with `registers` and without other requests: COMMAND is written [`START_LATENCY`] cycles behind the start,
//! and a poll ends every [`POLL_PERIOD`] cycles, in which other requests have the bus for the [`PAUSE`] between two
//! polls.
use crate::host::mailbox::master::Request;
use crate::host::mailbox::pair::INDEX;
use crate::host::mailbox::port::row;
use rust_hdl_core::prelude::*;
use warpline_regmap::register::{self, COMMAND_BUSY, COMMAND_FAILED};
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, comment};

/// Cycles without a request between two polls.
pub const PAUSE: u64 = 16;
/// Cycles from `busy` of a pair to the cycle in which its COMMAND is valid on the bus of `registers`.
pub const START_LATENCY: u64 = 42;
/// Cycles from one poll to the next one.
pub const POLL_PERIOD: u64 = 22;

/// What the runner does.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum Step {
    /// Nothing.
    Idle,
    /// Writes an argument.
    Copy,
    /// Writes COMMAND.
    Start,
    /// Reads COMMAND.
    Poll,
    /// Leaves the bus to others.
    Pause,
}

/// The runner.
#[derive(Block)]
#[block(default)]
pub struct Runner {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// The host and the control side have a command.
    pub busy: [Signal<In, Bit>; 2],
    /// Its number.
    pub number: [Signal<In, Bits<8>>; 2],
    /// Index of the argument.
    pub copied_row: Signal<Out, Bits<INDEX>>,
    /// That argument of each side.
    pub copied_word: [Signal<In, Bits<32>>; 2],
    /// Pulse: the side's command is done.
    pub finish: [Signal<Out, Bit>; 2],
    /// With `finish`: it was refused.
    pub failed: Signal<Out, Bit>,

    /// The access to `registers`.
    pub request: Signal<Out, Request>,
    /// It is valid, until `request_done`.
    pub request_valid: Signal<Out, Bit>,
    /// Pulse: it is done.
    pub request_done: Signal<In, Bit>,
    /// With `request_done`: the word read.
    pub request_data: Signal<In, Bits<32>>,

    step: Dff<Step>,
    control: Dff<Bit>,
    index: Dff<Bits<INDEX>>,
    paused: Dff<Bits<4>>,
    chosen_number: Signal<Local, Bits<8>>,
    chosen_word: Signal<Local, Bits<32>>,
    over: Signal<Local, Bit>,
    #[constant(row(register::ARGUMENT))]
    argument_row: Constant<Bits<10>>,
    #[constant(row(register::COMMAND))]
    command_row: Constant<Bits<10>>,
    #[constant(0xf)]
    all_lanes: Constant<Bits<4>>,
    #[constant(register::ARGUMENT.count - 1)]
    last_index: Constant<Bits<INDEX>>,
    #[constant(PAUSE - 1)]
    last_pause: Constant<Bits<4>>,
    #[constant(register::COMMAND_NUMBER.lsb)]
    number_at: Constant<Bits<8>>,
    #[constant(COMMAND_BUSY.lsb)]
    busy_at: Constant<Bits<8>>,
    #[constant(COMMAND_FAILED.lsb)]
    failed_at: Constant<Bits<8>>,
}

impl Logic for Runner {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("what is written");
        self.chosen_number.next = self.number[0].val();
        self.chosen_word.next = self.copied_word[0].val();
        if self.control.q.val() {
            self.chosen_number.next = self.number[1].val();
            self.chosen_word.next = self.copied_word[1].val();
        }
        self.copied_row.next = self.index.q.val();
        self.request.next.strobe = self.all_lanes.val();
        self.request.next.write = self.step.q.val() != Step::Poll;
        self.request.next.row = self.command_row.val();
        self.request.next.data =
            bit_cast::<32, 8>(self.chosen_number.val()) << self.number_at.val();
        if self.step.q.val() == Step::Copy {
            self.request.next.row =
                self.argument_row.val() | bit_cast::<10, INDEX>(self.index.q.val());
            self.request.next.data = self.chosen_word.val();
        }
        self.request_valid.next = (self.step.q.val() == Step::Copy)
            | (self.step.q.val() == Step::Start)
            | (self.step.q.val() == Step::Poll);

        comment!("step by step");
        self.over.next = false;
        match self.step.q.val() {
            Step::Idle => {
                self.index.d.next = 0.into();
                if self.busy[0].val() | self.busy[1].val() {
                    self.step.d.next = Step::Copy;
                    self.control.d.next =
                        self.busy[1].val() & (!self.busy[0].val() | !self.control.q.val());
                }
            }
            Step::Copy => {
                if self.request_done.val() {
                    self.index.d.next = self.index.q.val() + 1;
                    if self.index.q.val() == self.last_index.val() {
                        self.step.d.next = Step::Start;
                    }
                }
            }
            Step::Start => {
                if self.request_done.val() {
                    self.step.d.next = Step::Poll;
                }
            }
            Step::Poll => {
                self.paused.d.next = 0.into();
                if self.request_done.val() {
                    if self.request_data.val().get_bit(self.busy_at.val().index()) {
                        self.step.d.next = Step::Pause;
                    } else {
                        self.step.d.next = Step::Idle;
                        self.over.next = true;
                    }
                }
            }
            Step::Pause => {
                self.paused.d.next = self.paused.q.val() + 1;
                if self.paused.q.val() == self.last_pause.val() {
                    self.step.d.next = Step::Poll;
                }
            }
        }
        self.finish[0].next = self.over.val() & !self.control.q.val();
        self.finish[1].next = self.over.val() & self.control.q.val();
        self.failed.next = self
            .request_data
            .val()
            .get_bit(self.failed_at.val().index());

        if self.reset.val() {
            self.step.d.next = Step::Idle;
            self.control.d.next = true;
        }
    }
}
