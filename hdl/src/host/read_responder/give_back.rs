//! Give back: announces a buffer of queue 1 again when its response is done.
//!
//! ```text
//!  the host's doorbell ─► value - done ─► base ─┐
//!  popped ─► done ──────────────────────────────┴─(+)─► bell_value
//!      └───► owes ─► one stream at a time ────────────► bell
//! ```
//!
//! A doorbell has the count of all buffers, so several responses may share one, and one that comes too late is replaced:
//! when the host rings for the same queue, the offered value is withdrawn and computed anew. The value is what the host
//! wrote last, and one for each response popped in that cycle or later, modulo 2^16. No doorbell is lost, as each pop
//! leaves its stream owing one; a pop while a value is computed may be in it, and the doorbell that follows then says the same.
//!
//! Latency: 3 cycles from `popped` to `bell`, if nothing else is to do. Throughput: a doorbell every 3 cycles.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use crate::parts::queue::Store;
use crate::parts::round_robin::RoundRobin;
use rust_hdl_core::prelude::*;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, comment};
use warpline_wire::rdmap::queue;

/// log2 of the streams.
const LOG: usize = 4;

/// State of the doorbell.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum BellStep {
    /// No stream has one.
    Look,
    /// Its value is computed.
    Count,
    /// It is offered.
    Offer,
}

/// Doorbells of S streams.
#[derive(Block)]
#[block(default)]
pub struct GiveBack<const S: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// Pulse: the host's doorbell of a receive ring.
    pub doorbell: Signal<In, Bit>,
    /// Stream of it.
    pub doorbell_stream: Signal<In, Bits<8>>,
    /// Queue of it.
    pub doorbell_queue: Signal<In, Bits<8>>,
    /// Its value.
    pub doorbell_value: Signal<In, Bits<16>>,
    /// Pulse: a response of `popped_stream` is done.
    pub popped: Signal<In, Bit>,
    /// Stream of `popped`.
    pub popped_stream: Signal<In, Bits<4>>,
    /// Responses of that stream that are done, modulo 2^16.
    pub popped_count: Signal<In, Bits<16>>,
    /// Buffers of the stream are given back.
    pub gives: [Signal<In, Bit>; S],
    /// A doorbell of the stream is to come, or offered.
    pub owes: [Signal<Out, Bit>; S],
    /// A doorbell is offered.
    pub bell: Signal<Out, Bit>,
    /// It is accepted: not in a cycle with a doorbell of the host.
    pub bell_ready: Signal<In, Bit>,
    /// Its stream.
    pub bell_stream: Signal<Out, Bits<8>>,
    /// Its queue.
    pub bell_queue: Signal<Out, Bits<8>>,
    /// Its value.
    pub bell_value: Signal<Out, Bits<16>>,

    // `done` is read for two streams at once
    base: Store<Bits<16>, LOG>,
    done_rung: Store<Bits<16>, LOG>,
    done_bell: Store<Bits<16>, LOG>,
    rung: Dff<Bit>,
    rung_stream: Dff<Bits<4>>,
    rung_value: Dff<Bits<16>>,
    due: [Dff<Bit>; S],
    round_robin: RoundRobin<S>,
    step: Dff<BellStep>,
    current: Dff<Bits<4>>,
    value: Dff<Bits<16>>,
    rings: Signal<Local, Bit>,
    replaced: Signal<Local, Bit>,
    takes: Signal<Local, Bit>,
    #[constant(|i| i)]
    index: [Constant<Bits<4>>; S],
    #[constant(queue::READ_REQUEST)]
    requests: Constant<Bits<8>>,
}

impl<const S: usize> Logic for GiveBack<S> {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("what the host has written, less what is done");
        self.rings.next = self.doorbell.val() & (self.doorbell_queue.val() == self.requests.val());
        self.rung.d.next = self.rings.val();
        self.rung_stream.d.next = self.doorbell_stream.val().get_bits::<4>(0);
        self.rung_value.d.next = self.doorbell_value.val();
        self.done_rung.write.next = self.popped.val();
        self.done_rung.write_row.next = self.popped_stream.val();
        self.done_rung.data.next = self.popped_count.val();
        self.done_rung.read_row.next = self.rung_stream.q.val();
        self.base.write.next = self.rung.q.val();
        self.base.write_row.next = self.rung_stream.q.val();
        self.base.data.next = self.rung_value.q.val() - self.done_rung.out.val();
        self.base.read_row.next = self.current.q.val();
        self.done_bell.write.next = self.popped.val();
        self.done_bell.write_row.next = self.popped_stream.val();
        self.done_bell.data.next = self.popped_count.val();
        self.done_bell.read_row.next = self.current.q.val();

        comment!("one doorbell at a time; the host's replaces one of the same stream");
        self.replaced.next = (self.rings.val()
            & (self.doorbell_stream.val().get_bits::<4>(0) == self.current.q.val()))
            | (self.rung.q.val() & (self.rung_stream.q.val() == self.current.q.val()));
        self.round_robin.last.next = self.current.q.val();
        for i in 0..S {
            self.round_robin.asks[i].next = self.due[i].q.val();
        }
        self.takes.next = (self.step.q.val() == BellStep::Look) & self.round_robin.any.val();
        match self.step.q.val() {
            BellStep::Look => {
                if self.round_robin.any.val() {
                    self.current.d.next = self.round_robin.choice.val().get_bits::<4>(0);
                    self.step.d.next = BellStep::Count;
                }
            }
            BellStep::Count => {
                self.value.d.next = self.base.out.val() + self.done_bell.out.val();
                if !self.replaced.val() {
                    self.step.d.next = BellStep::Offer;
                }
            }
            BellStep::Offer => {
                if self.replaced.val() {
                    self.step.d.next = BellStep::Count;
                } else if self.bell_ready.val() {
                    self.step.d.next = BellStep::Look;
                }
            }
        }
        self.bell.next = self.step.q.val() == BellStep::Offer;
        self.bell_stream.next = bit_cast::<8, 4>(self.current.q.val());
        self.bell_queue.next = self.requests.val();
        self.bell_value.next = self.value.q.val();

        for i in 0..S {
            if self.takes.val()
                & (self.round_robin.choice.val().get_bits::<4>(0) == self.index[i].val())
            {
                self.due[i].d.next = false;
            }
            if self.popped.val() & (self.popped_stream.val() == self.index[i].val()) {
                self.due[i].d.next = true;
            }
            if !self.gives[i].val() | self.reset.val() {
                self.due[i].d.next = false;
            }
            self.owes[i].next = self.due[i].q.val();
            if (self.step.q.val() != BellStep::Look) & (self.current.q.val() == self.index[i].val())
            {
                self.owes[i].next = true;
            }
        }
        if self.reset.val() {
            self.rung.d.next = false;
            self.step.d.next = BellStep::Look;
        }
    }
}
