//! Heads: which streams have a complete slot to give, and what belongs to it.
//!
//! ```text
//!  finished ─► done, failed (a bit for each place) ─►[is it the oldest?]─┐
//!  pop ──────► consumed ───────────────────────────►[is the next done?]──┴─► head
//!  row_stream ─► consumed, failed ─►[place]─► slot ─►[+1]─► consumed, head_failed
//! ```
//!
//! A place is in the store's lap `consumed / slots` when its slot becomes the head. Each slot that completes inverts
//! the bit of its place in `done`, so the head is complete when that bit differs from the lowest bit of the lap, and no
//! bit has to be cleared for the next lap.
//!
//! A head is found from both sides: a slot that completes is the head when its place is that of `consumed`; a pop
//! uncovers a head when the next place is done. Both compare in the cycle behind their write, so of a pop and a
//! completion at least one sees what the other one has written; when both do, they set `head` in the same cycle.
//!
//! Latency: 2 cycles from `finished` to `head`; from `pop`, `head` is low in the next 2 cycles and can be high in the third.
//! `consumed` and `head_failed` follow `row_stream` by 3 cycles, `slot` by 1. Throughput: a pop of each stream every 3 cycles.
use crate::parts::queue::Store;
use rust_hdl_core::prelude::*;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, comment};

/// log2 of the streams.
const LOG: usize = 4;

/// Heads of S streams.
#[derive(Block)]
#[block(slots: usize)]
pub struct Heads<const S: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// Pulse: a slot is complete.
    pub finished: Signal<In, Bit>,
    /// Its stream.
    pub finished_stream: Signal<In, Bits<4>>,
    /// Its place.
    pub finished_index: Signal<In, Bits<4>>,
    /// With `finished`: it could not be read.
    pub failed: Signal<In, Bit>,
    /// All counts of `clear_stream` begin at 0; never while `busy`.
    pub clear: Signal<In, Bit>,
    /// Stream of `clear`.
    pub clear_stream: Signal<In, Bits<4>>,
    /// A count or a bit is written.
    pub busy: Signal<Out, Bit>,

    /// The oldest slot of the stream is complete.
    pub head: [Signal<Out, Bit>; S],
    /// Pulse: the head of `pop_stream` is done with.
    pub pop: Signal<In, Bit>,
    /// Stream of `pop`.
    pub pop_stream: Signal<In, Bits<8>>,
    /// `pop`, a cycle later.
    pub popped: Signal<Out, Bit>,
    /// Its stream.
    pub popped_stream: Signal<Out, Bits<4>>,
    /// Slots of that stream that were popped, this one included, modulo 32.
    pub popped_count: Signal<Out, Bits<5>>,

    /// Stream whose head is read.
    pub row_stream: Signal<In, Bits<8>>,
    /// Slot of the head in the store.
    pub slot: Signal<Out, Bits<8>>,
    /// Slots popped, the head included.
    pub consumed: Signal<Out, Bits<16>>,
    /// The head could not be read.
    pub head_failed: Signal<Out, Bit>,

    // copies: each is read for another stream
    count: Store<Bits<16>, LOG>,
    count_row: Store<Bits<16>, LOG>,
    place: Store<Bits<4>, LOG>,
    done: Store<Bits<16>, LOG>,
    done_pop: Store<Bits<16>, LOG>,
    broken: Store<Bits<16>, LOG>,
    broken_row: Store<Bits<16>, LOG>,
    shows: [Dff<Bit>; S],

    popped_now: Dff<Bit>,
    popped_of: Dff<Bits<4>>,
    uncovers: Dff<Bit>,
    uncovers_of: Dff<Bits<4>>,
    uncovers_count: Dff<Bits<5>>,
    completes: Dff<Bit>,
    completes_of: Dff<Bits<4>>,
    completes_index: Dff<Bits<4>>,

    row_of: Dff<Bits<4>>,
    row_count: Dff<Bits<16>>,
    row_broken: Dff<Bits<16>>,
    count_2: Dff<Bits<16>>,
    failed_2: Dff<Bit>,
    count_3: Dff<Bits<16>>,
    failed_3: Dff<Bit>,

    one_more: Signal<Local, Bits<16>>,
    finished_bit: Signal<Local, Bits<16>>,
    uncovers_index: Signal<Local, Bits<4>>,
    uncovered: Signal<Local, Bit>,
    completed: Signal<Local, Bit>,
    row_index: Signal<Local, Bits<4>>,

    #[constant(|i| i)]
    index: [Constant<Bits<8>>; S],
    #[constant(1)]
    one: Constant<Bits<16>>,
    #[constant(slots - 1)]
    index_mask: Constant<Bits<4>>,
    #[constant(slots.ilog2())]
    index_bits: Constant<Bits<3>>,
}

impl<const S: usize> Heads<S> {
    /// Heads of streams with `slots` held slots.
    #[must_use]
    pub fn new(slots: usize) -> Self {
        Self::assemble(slots)
    }
}

impl<const S: usize> Logic for Heads<S> {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("a pop counts");
        self.popped_now.d.next = self.pop.val();
        self.popped_of.d.next = self.pop_stream.val().get_bits::<4>(0);
        self.count.read_row.next = self.popped_of.q.val();
        self.one_more.next = self.count.out.val() + 1;
        self.count.write.next = self.popped_now.q.val() | self.clear.val();
        self.count.write_row.next = self.clear_stream.val();
        self.count.data.next = 0.into();
        if self.popped_now.q.val() {
            self.count.write_row.next = self.popped_of.q.val();
            self.count.data.next = self.one_more.val();
        }
        self.count_row.write.next = self.count.write.val();
        self.count_row.write_row.next = self.count.write_row.val();
        self.count_row.data.next = self.count.data.val();
        self.place.write.next = self.count.write.val();
        self.place.write_row.next = self.count.write_row.val();
        self.place.data.next = self.count.data.val().get_bits::<4>(0) & self.index_mask.val();
        self.popped.next = self.popped_now.q.val();
        self.popped_stream.next = self.popped_of.q.val();
        self.popped_count.next = self.one_more.val().get_bits::<5>(0);
        self.busy.next = self.popped_now.q.val() | self.finished.val();

        comment!("a slot completes");
        self.finished_bit.next = self.one.val() << self.finished_index.val();
        self.done.read_row.next = self.finished_stream.val();
        self.done.write.next = self.finished.val() | self.clear.val();
        self.done.write_row.next = self.clear_stream.val();
        self.done.data.next = 0.into();
        self.broken.read_row.next = self.finished_stream.val();
        self.broken.write.next = self.finished.val();
        self.broken.write_row.next = self.finished_stream.val();
        self.broken.data.next = self.broken.out.val() & !self.finished_bit.val();
        if self.failed.val() {
            self.broken.data.next = self.broken.out.val() | self.finished_bit.val();
        }
        if self.finished.val() {
            self.done.write_row.next = self.finished_stream.val();
            self.done.data.next = self.done.out.val() ^ self.finished_bit.val();
        }
        self.done_pop.write.next = self.done.write.val();
        self.done_pop.write_row.next = self.done.write_row.val();
        self.done_pop.data.next = self.done.data.val();
        self.broken_row.write.next = self.broken.write.val();
        self.broken_row.write_row.next = self.broken.write_row.val();
        self.broken_row.data.next = self.broken.data.val();

        comment!("a head: uncovered by a pop, or completed");
        self.uncovers.d.next = self.popped_now.q.val();
        self.uncovers_of.d.next = self.popped_of.q.val();
        self.uncovers_count.d.next = self.one_more.val().get_bits::<5>(0);
        self.uncovers_index.next =
            self.uncovers_count.q.val().get_bits::<4>(0) & self.index_mask.val();
        self.done_pop.read_row.next = self.uncovers_of.q.val();
        self.uncovered.next = self.uncovers.q.val()
            & (self
                .done_pop
                .out
                .val()
                .get_bit(self.uncovers_index.val().index())
                ^ self
                    .uncovers_count
                    .q
                    .val()
                    .get_bit(self.index_bits.val().index()));
        self.completes.d.next = self.finished.val();
        self.completes_of.d.next = self.finished_stream.val();
        self.completes_index.d.next = self.finished_index.val();
        self.place.read_row.next = self.completes_of.q.val();
        self.completed.next =
            self.completes.q.val() & (self.place.out.val() == self.completes_index.q.val());
        for i in 0..S {
            if self.uncovered.val()
                & (bit_cast::<8, 4>(self.uncovers_of.q.val()) == self.index[i].val())
            {
                self.shows[i].d.next = true;
            }
            if self.completed.val()
                & (bit_cast::<8, 4>(self.completes_of.q.val()) == self.index[i].val())
            {
                self.shows[i].d.next = true;
            }
            if self.pop.val() & (self.pop_stream.val() == self.index[i].val()) {
                self.shows[i].d.next = false;
            }
            if self.reset.val() {
                self.shows[i].d.next = false;
            }
            self.head[i].next = self.shows[i].q.val();
        }

        comment!("what belongs to the head whose rows are read");
        self.count_row.read_row.next = self.row_stream.val().get_bits::<4>(0);
        self.broken_row.read_row.next = self.row_stream.val().get_bits::<4>(0);
        self.row_of.d.next = self.row_stream.val().get_bits::<4>(0);
        self.row_count.d.next = self.count_row.out.val();
        self.row_broken.d.next = self.broken_row.out.val();
        self.row_index.next = self.row_count.q.val().get_bits::<4>(0) & self.index_mask.val();
        self.slot.next = bit_cast::<8, 4>(self.row_index.val())
            | (bit_cast::<8, 4>(self.row_of.q.val()) << self.index_bits.val());
        self.count_2.d.next = self.row_count.q.val() + 1;
        self.failed_2.d.next = self
            .row_broken
            .q
            .val()
            .get_bit(self.row_index.val().index());
        self.count_3.d.next = self.count_2.q.val();
        self.failed_3.d.next = self.failed_2.q.val();
        self.consumed.next = self.count_3.q.val();
        self.head_failed.next = self.failed_3.q.val();

        if self.reset.val() {
            self.popped_now.d.next = false;
            self.uncovers.d.next = false;
            self.completes.d.next = false;
        }
    }
}
