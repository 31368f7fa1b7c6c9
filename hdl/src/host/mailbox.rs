//! Mailbox: messages between the host and the card's control program, and a register port of its own for the latter, in
//! front of `registers`.
//!
//! ```text
//!  s_axil ─────────► port ─► answer ─┬──────────────────────────────────► master ─► m_axil ─► registers
//!                                    ├─► pair ──────► runner ──────────────►
//!                                    ├─► window ──┐   ▲
//!                                    ├─► messages ┼───┼──► interrupt_enable, raise, clear
//!                                    ├─► window ──┘   │
//!                                    ├─► pair ────────┘                    ▲
//!  s_axil_control ─► port ─► answer ─┴─────────────────────────────────────┘
//! ```
//!
//! `warpline_regmap::mailbox` describes what each side sees. Answered here: `MAILBOX`, `HOST_MESSAGE`, `CARD_MESSAGE`,
//! and a pair of `ARGUMENT` and `COMMAND` for each side, whose commands are carried out in the pair of `registers` in
//! the order of their start. Answered by `registers` with a bit of the mailbox: `CAPABILITIES`, `INTERRUPT_STATE`,
//! `INTERRUPT_ENABLE` and `INTERRUPT_TEST`. All else passes: of the host reads and writes, of the control side reads
//! alone. A message that is pending stays as it is, whatever its side writes to `MAILBOX`.
//!
//! **Order.** A side has one access under way. A write takes effect in the cycle before its BVALID, and a read finds
//! what is there in the cycle before its RVALID; a word of `MAILBOX`, in the third cycle before it. So a read whose
//! address is given behind a write's response finds what was written. An address is taken in front of the response to
//! the last one. AW and W arrive in any order, half a write stops nothing, and no channel depends on whether a response
//! on another one is accepted.
//!
//! **The interrupt.** `raise` and `clear` are pulses, `interrupt_enable` is a level: [`message_mux`](super::message_mux)
//! makes the message with vector `regmap::mailbox::INTERRUPT` of them.
//!
//! Assumptions: `reset` lasts at least 8 cycles and begins with the reset of the ports (`port_reset` of
//! [`reset`](crate::reset)). `registers` answers each access OKAY after 3 cycles (a write) or 4 (a read), as it states;
//! other times add to those below. Responses other than OKAY are passed on, but a poll of COMMAND counts in any case.
//!
//! Latency, from an address or the second half of a write to the response: here [`WRITE_LATENCY`] and [`READ_LATENCY`]
//! cycles, passed [`PASSED_WRITE_LATENCY`] and [`PASSED_READ_LATENCY`]. An access that passes is held up by the other
//! side and by a command for at most [`LONGEST_WAIT`] cycles together, and one that is answered here not at all; behind
//! an access of its own side in the other direction, each begins when that one is done. Throughput of a side that
//! accepts responses at once, alone and in one direction: a write here every 3 cycles, a read 5; a passed write every
//! 7, a passed read 8. A command takes [`COMMAND_LATENCY`] cycles, from the BVALID of its write to the first one in
//! which COMMAND reads not BUSY, if `registers` is done with it at the first poll; each further poll adds
//! [`runner::POLL_PERIOD`], each access of a side in between up to 6.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use crate::host::mailbox::answer::Answer;
use crate::host::mailbox::master::Master;
use crate::host::mailbox::messages::Messages;
use crate::host::mailbox::pair::Pair;
use crate::host::mailbox::port::{Port, Target};
use crate::host::mailbox::runner::Runner;
use crate::host::mailbox::window::{ROW, Window};
use crate::parts::axi::{AxiLiteMaster, AxiLiteSlave};
use rust_hdl_core::prelude::*;
use warpline_regmap::register::COMMAND_FAILED;
use warpline_sv_writer::{Block, comment};

pub mod answer;
pub mod master;
pub mod messages;
pub mod pair;
pub mod port;
pub mod runner;
pub mod window;

/// Cycles from the second half of a write that is answered here to its response.
pub const WRITE_LATENCY: u64 = 3;
/// Cycles from the address of a read that is answered here to its response.
pub const READ_LATENCY: u64 = 3 + window::LATENCY;
/// Cycles from the second half of a write to a register of `registers` to its response.
pub const PASSED_WRITE_LATENCY: u64 = 7;
/// Cycles from the address of a read of a register of `registers` to its response.
pub const PASSED_READ_LATENCY: u64 = 8;
/// Cycles for which others hold up an access that passes, at most: a read of each.
pub const LONGEST_WAIT: u64 = 12;
/// Cycles from the response to a write that starts a command to the end of the command, at the least.
pub const COMMAND_LATENCY: u64 = 52;

/// The mailbox.
#[derive(Block)]
#[block(default)]
pub struct Mailbox {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// The host.
    pub s_axil: AxiLiteSlave,
    /// The control program.
    pub s_axil_control: AxiLiteSlave,
    /// `registers`.
    pub m_axil: AxiLiteMaster,
    /// Messages of the interrupt are sent.
    pub interrupt_enable: Signal<Out, Bit>,
    /// Pulse: the interrupt occurs.
    pub raise: Signal<Out, Bit>,
    /// Pulse: the host clears it. If `raise` is high, too, it stays.
    pub clear: Signal<Out, Bit>,

    port: [Port; 2],
    #[value([Answer::new(false), Answer::new(true)])]
    answer: [Answer; 2],
    pair: [Pair; 2],
    window: [Window; 2],
    messages: Messages,
    runner: Runner,
    master: Master,
    effect: [Signal<Local, Bit>; 2],
    writes_window: [Signal<Local, Bit>; 2],
    /// COMMAND of the control side.
    control_command: Signal<Local, Bits<32>>,
    #[constant(1_u64 << COMMAND_FAILED.lsb)]
    failed_mask: Constant<Bits<32>>,
}

impl Logic for Mailbox {
    #[hdl_gen]
    fn update(&mut self) {
        AxiLiteSlave::link(&mut self.s_axil, &mut self.port[0].s_axil);
        AxiLiteSlave::link(&mut self.s_axil_control, &mut self.port[1].s_axil);
        AxiLiteMaster::link(&mut self.m_axil, &mut self.master.m_axil);
        self.messages.reset.next = self.reset.val();
        self.runner.reset.next = self.reset.val();
        self.master.reset.next = self.reset.val();

        comment!("both sides: 0 is the host, 1 the control program");
        for i in 0..2 {
            self.port[i].reset.next = self.reset.val();
            self.answer[i].reset.next = self.reset.val();
            self.pair[i].reset.next = self.reset.val();
            self.answer[i].access.next = self.port[i].access.val();
            self.answer[i].access_valid.next = self.port[i].access_valid.val();
            self.port[i].done.next = self.answer[i].done.val();
            self.port[i].data.next = self.answer[i].data.val();
            self.port[i].response.next = self.answer[i].response.val();

            self.master.request[i].next = self.answer[i].request.val();
            self.master.request_valid[i].next = self.answer[i].request_valid.val();
            self.answer[i].request_done.next = self.master.done[i].val();
            self.answer[i].request_data.next = self.master.data.val();
            self.answer[i].request_response.next = self.master.response.val();

            self.messages.access[i].next = self.port[i].access.val();
            self.messages.effect[i].next = self.answer[i].effect.val();
            self.answer[i].host_message_word.next = self.messages.host_message_word[i].val();
            self.answer[i].card_message_word.next = self.messages.card_message_word.val();
            self.answer[i].interrupt_state.next = self.messages.interrupt_state.val();
            self.answer[i].interrupt_enable.next = self.messages.interrupt_enable.val();
        }
        comment!("before the control program has noticed the reset, its writes do nothing");
        self.effect[0].next = self.answer[0].effect.val();
        self.effect[1].next = self.answer[1].effect.val() & !self.messages.barred.val();

        comment!("windows: each side writes its own, and reads the other one's");
        self.writes_window[0].next = self.effect[0].val()
            & (self.port[0].access.val().target == Target::Window)
            & !self.messages.pending[0].val();
        self.window[0].write.next = 0.into();
        if self.writes_window[0].val() {
            self.window[0].write.next = self.port[0].access.val().strobe;
        }
        self.window[0].write_row.next = self.port[0].access.val().row.get_bits::<ROW>(0);
        self.window[0].write_data.next = self.port[0].access.val().data;
        self.window[0].read_row.next = self.port[1].access.val().row.get_bits::<ROW>(0);
        self.answer[0].window_word.next = self.window[1].read_data.val();
        self.writes_window[1].next = self.effect[1].val()
            & (self.port[1].access.val().target == Target::Window)
            & !self.messages.pending[1].val();
        self.window[1].write.next = 0.into();
        if self.writes_window[1].val() {
            self.window[1].write.next = self.port[1].access.val().strobe;
        }
        self.window[1].write_row.next = self.port[1].access.val().row.get_bits::<ROW>(0);
        self.window[1].write_data.next = self.port[1].access.val().data;
        self.window[1].read_row.next = self.port[0].access.val().row.get_bits::<ROW>(0);
        self.answer[1].window_word.next = self.window[0].read_data.val();

        comment!("commands");
        for i in 0..2 {
            self.pair[i].access.next = self.port[i].access.val();
            self.pair[i].effect.next = self.effect[i].val();
            self.pair[i].copied_row.next = self.runner.copied_row.val();
            self.pair[i].finish.next = self.runner.finish[i].val();
            self.pair[i].failed.next = self.runner.failed.val();
            self.answer[i].argument_word.next = self.pair[i].argument_word.val();
            self.runner.busy[i].next = self.pair[i].busy.val();
            self.runner.number[i].next = self.pair[i].number.val();
            self.runner.copied_word[i].next = self.pair[i].copied_word.val();
        }
        self.control_command.next = self.pair[1].command_word.val();
        if self.messages.barred.val() {
            self.control_command.next = self.pair[1].command_word.val() | self.failed_mask.val();
        }
        self.answer[0].command_word.next = self.pair[0].command_word.val();
        self.answer[1].command_word.next = self.control_command.val();
        self.master.request[2].next = self.runner.request.val();
        self.master.request_valid[2].next = self.runner.request_valid.val();
        self.runner.request_done.next = self.master.done[2].val();
        self.runner.request_data.next = self.master.data.val();

        self.interrupt_enable.next = self.messages.interrupt_enable.val();
        self.raise.next = self.messages.raise.val();
        self.clear.next = self.messages.clear.val();
    }
}
