//! Island lookup: which island of a stream a position lies in.
//!
//! ```text
//!  write, begins, finishes ──► begin and finish of each stream's islands, in memories
//!                                   │
//!  asked_stream, asked_position ──► compare with each ──► hit ──► island, island_begin, island_end
//!                                cycle 0               1       2
//! ```
//!
//! Latency: two cycles, with the islands as they were in the cycle of the question. Throughput: one question a cycle.
//!
//! Assumption: islands of a stream do not overlap, so one is hit at most.
use crate::parts::queue::Store;
use rust_hdl_core::prelude::*;
use warpline_sv_writer::Block;
use warpline_sv_writer::dff::Dff;

/// A copy of the N islands of each of S streams, for questions.
#[derive(Block)]
#[block(default)]
pub struct IslandLookup<const S: usize, const N: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// The islands of `write_stream` change:
    pub write: Signal<In, Bit>,
    /// that stream,
    pub write_stream: Signal<In, Bits<4>>,
    /// first position of each of its islands,
    pub write_begin: [Signal<In, Bits<32>>; N],
    /// and the position behind the last octet of each.
    pub write_finish: [Signal<In, Bits<32>>; N],
    /// Which islands are present, in step with the memories.
    pub present: [[Signal<In, Bit>; N]; S],
    /// Stream whose island is looked up.
    pub asked_stream: Signal<In, Bits<4>>,
    /// A position in it.
    pub asked_position: Signal<In, Bits<32>>,
    /// Two cycles later: it lies in an island.
    pub island: Signal<Out, Bit>,
    /// Begin of that island.
    pub island_begin: Signal<Out, Bits<32>>,
    /// The position behind its last octet.
    pub island_end: Signal<Out, Bits<32>>,

    begins: [Store<Bits<32>, 4>; N],
    finishes: [Store<Bits<32>, 4>; N],
    asked_present: [Signal<Local, Bit>; N],
    over_begin: [Signal<Local, Bits<32>>; N],
    over_finish: [Signal<Local, Bits<32>>; N],
    hit: [Dff<Bit>; N],
    begin: [Dff<Bits<32>>; N],
    finish: [Dff<Bits<32>>; N],
    found: Dff<Bit>,
    found_begin: Dff<Bits<32>>,
    found_end: Dff<Bits<32>>,
    #[constant(|i| i)]
    index: [Constant<Bits<4>>; S],
}

impl<const S: usize, const N: usize> Logic for IslandLookup<S, N> {
    #[hdl_gen]
    fn update(&mut self) {
        for k in 0..N {
            self.begins[k].write.next = self.write.val();
            self.finishes[k].write.next = self.write.val();
            self.begins[k].write_row.next = self.write_stream.val();
            self.finishes[k].write_row.next = self.write_stream.val();
            self.begins[k].data.next = self.write_begin[k].val();
            self.finishes[k].data.next = self.write_finish[k].val();
            self.begins[k].read_row.next = self.asked_stream.val();
            self.finishes[k].read_row.next = self.asked_stream.val();
            self.begin[k].d.next = self.begins[k].out.val();
            self.finish[k].d.next = self.finishes[k].out.val();
            self.over_begin[k].next = self.asked_position.val() - self.begins[k].out.val();
            self.over_finish[k].next = self.asked_position.val() - self.finishes[k].out.val();
            self.asked_present[k].next = false;
        }
        for i in 0..S {
            if self.asked_stream.val() == self.index[i].val() {
                for k in 0..N {
                    self.asked_present[k].next = self.present[i][k].val();
                }
            }
        }
        self.found.d.next = false;
        for k in 0..N {
            self.hit[k].d.next = self.asked_present[k].val()
                & !self.over_begin[k].val().get_bit(31)
                & self.over_finish[k].val().get_bit(31);
            if self.hit[k].q.val() {
                self.found.d.next = true;
                self.found_begin.d.next = self.begin[k].q.val();
                self.found_end.d.next = self.finish[k].q.val();
            }
        }
        self.island.next = self.found.q.val();
        self.island_begin.next = self.found_begin.q.val();
        self.island_end.next = self.found_end.q.val();
    }
}
