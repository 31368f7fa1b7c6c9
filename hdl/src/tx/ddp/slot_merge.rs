//! Slot merge: offers slots of a send queue and slots of Read Responses as one queue for each stream.
//!
//! ```text
//!  send_queues ─── head ─┬─►[choice, stays until pop]─► head ─► segment
//!  read_responder ─ head ┘          │
//!  row_stream, row ─► both          └─►[row latency]─► row_data, head_failed, consumed, is_response
//!  pop ─► the one that is chosen
//! ```
//!
//! Whichever slot is there first is offered; when both are, they alternate: the stream's slot is of the other kind than the
//! last one popped. So neither waits for more than one slot of the other. Each kind keeps its own order, which is all that RFC 5040
//! §5.5 asks for. A slot that is offered stays the stream's oldest one until `pop`, whatever the other side offers meanwhile.
//!
//! To the consumer as [`send_queues`] alone: `row_data` and what comes with it follow `row_stream` and `row` by
//! [`ROW_LATENCY`] cycles; behind a pop `head` is low for [`POP_LATENCY`] - 1 cycles, and high in the next one if a
//! slot of either kind is there. `consumed` counts slots of the send queue alone, and the head only if it is one of them.
//!
//! Assumptions: both sides answer rows in [`ROW_LATENCY`] cycles, and a head falls in the cycle behind its pop. `pop` is for a stream whose
//! `head` is high, and was in the cycle before: so the choice lies in a register.
//!
//! Latency: none. `head`, rows, pops and their answers pass in the same cycle, through a gate or a multiplexer: all of them
//! come from registers, and go to registers, so that no stream has a cycle less than with a send queue alone. Throughput: a pop
//! of each stream every [`POP_LATENCY`] cycles.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use crate::host::read_responder::slots;
use crate::host::send_queues;
use rust_hdl_core::prelude::*;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, comment};

/// Cycles from a row to its octets.
pub const ROW_LATENCY: usize = send_queues::ROW_LATENCY;
/// Cycles from a pop to the next head, at the least.
pub const POP_LATENCY: usize = send_queues::POP_LATENCY;

const _: () = assert!(
    ROW_LATENCY == 3
        && ROW_LATENCY == slots::ROW_LATENCY
        && POP_LATENCY == 3
        && POP_LATENCY == slots::POP_LATENCY,
    "registers of the kernel"
);

/// Slots of S streams.
#[derive(Block)]
#[block(default)]
pub struct SlotMerge<const S: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,

    /// The oldest slot of the stream's send queue is there.
    pub send_head: [Signal<In, Bit>; S],
    /// Octets of its row.
    pub send_data: Signal<In, Bits<128>>,
    /// It could not be read.
    pub send_failed: Signal<In, Bit>,
    /// Slots of the send queue popped, its head included, modulo 2^16.
    pub send_consumed: Signal<In, Bits<16>>,
    /// Pulse: the head of the send queue of `pop_stream` is done with.
    pub send_pop: Signal<Out, Bit>,

    /// The oldest Read Response of the stream is there.
    pub response_head: [Signal<In, Bit>; S],
    /// Octets of its row.
    pub response_data: Signal<In, Bits<128>>,
    /// Pulse: the oldest Read Response of `pop_stream` is done with.
    pub response_pop: Signal<Out, Bit>,

    /// The oldest slot of the stream is there.
    pub head: [Signal<Out, Bit>; S],
    /// Stream whose head is read; both sides read it, too.
    pub row_stream: Signal<In, Bits<8>>,
    /// Octets of the row, [`ROW_LATENCY`] cycles behind `row_stream`, as those below.
    pub row_data: Signal<Out, Bits<128>>,
    /// The head could not be read.
    pub head_failed: Signal<Out, Bit>,
    /// Slots of the send queue popped, the head included if it is one of them: `send_event::CONSUMED`.
    pub consumed: Signal<Out, Bits<16>>,
    /// The head is a Read Response: its element is memory that the peer reads.
    pub is_response: Signal<Out, Bit>,
    /// Pulse: the head of `pop_stream` is done with.
    pub pop: Signal<In, Bit>,
    /// Stream of `pop`; both sides read it, too.
    pub pop_stream: Signal<In, Bits<8>>,

    /// The choice is made; it falls while the head rests.
    locked: [Dff<Bit>; S],
    /// A Read Response is chosen.
    chosen: [Dff<Bit>; S],
    /// When both are there, the Read Response goes first.
    favours_response: [Dff<Bit>; S],
    popped_1: Dff<Bit>,
    popped_of_1: Dff<Bits<8>>,
    popped_2: Dff<Bit>,
    popped_of_2: Dff<Bits<8>>,
    row_1: Dff<Bit>,
    row_2: Dff<Bit>,
    row_3: Dff<Bit>,

    choice: [Signal<Local, Bit>; S],
    resting: [Signal<Local, Bit>; S],
    of_row: Signal<Local, Bit>,
    of_pop: Signal<Local, Bit>,
    #[constant(|i| i)]
    index: [Constant<Bits<8>>; S],
}

impl<const S: usize> Logic for SlotMerge<S> {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("the choice of each stream, and when its head rests");
        self.popped_1.d.next = self.pop.val();
        self.popped_of_1.d.next = self.pop_stream.val();
        self.popped_2.d.next = self.popped_1.q.val();
        self.popped_of_2.d.next = self.popped_of_1.q.val();
        self.of_row.next = false;
        self.of_pop.next = false;
        for i in 0..S {
            self.resting[i].next = (self.popped_1.q.val()
                & (self.popped_of_1.q.val() == self.index[i].val()))
                | (self.popped_2.q.val() & (self.popped_of_2.q.val() == self.index[i].val()));
            self.choice[i].next = self.response_head[i].val()
                & (!self.send_head[i].val() | self.favours_response[i].q.val());
            if self.locked[i].q.val() {
                self.choice[i].next = self.chosen[i].q.val();
            }
            self.head[i].next =
                (self.send_head[i].val() | self.response_head[i].val()) & !self.resting[i].val();
            self.locked[i].d.next = self.head[i].val();
            self.chosen[i].d.next = self.choice[i].val();
            if self.row_stream.val() == self.index[i].val() {
                self.of_row.next = self.choice[i].val();
            }
            if self.pop_stream.val() == self.index[i].val() {
                self.of_pop.next = self.chosen[i].q.val();
                if self.pop.val() {
                    self.favours_response[i].d.next = !self.chosen[i].q.val();
                }
            }
            if self.reset.val() {
                self.locked[i].d.next = false;
                self.favours_response[i].d.next = false;
            }
        }
        self.send_pop.next = self.pop.val() & !self.of_pop.val();
        self.response_pop.next = self.pop.val() & self.of_pop.val();

        comment!("the row is of the kind that was chosen when it was asked for");
        self.row_1.d.next = self.of_row.val();
        self.row_2.d.next = self.row_1.q.val();
        self.row_3.d.next = self.row_2.q.val();
        self.is_response.next = self.row_3.q.val();
        self.row_data.next = self.send_data.val();
        self.head_failed.next = self.send_failed.val();
        self.consumed.next = self.send_consumed.val();
        if self.row_3.q.val() {
            self.row_data.next = self.response_data.val();
            self.head_failed.next = false;
            self.consumed.next = self.send_consumed.val() - 1;
        }
        if self.reset.val() {
            self.popped_1.d.next = false;
            self.popped_2.d.next = false;
        }
    }
}
