//! Slots: those of Read Responses, in the form of a send ring's, a queue of [`SLOTS`] for each stream.
//!
//! ```text
//!  put, rows ─►┌──────────────┐
//!              │ rows of slots│─►[RAM register]─►[output register]─► row_data
//!  row_stream ─►[place]──────►└──────────────┘
//!  pop ─► popped, count ─► place of the oldest slot
//! ```
//!
//! Rows 0 to 2 of a slot are written, one a cycle, the last one with `put_ends`; that slot is there in the next cycle.
//! The writer puts no slot that has no room. Rows behind 2 have the content of those in front of them.
//!
//! To the consumer as [`send_queues`](crate::host::send_queues): `row_data` follows `row_stream` and `row` by
//! [`ROW_LATENCY`] cycles, and `head` is low for [`POP_LATENCY`] - 1 cycles behind a pop.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use crate::parts::queue::Store;
use crate::parts::record_ram::{self, RecordRam};
use rust_hdl_core::prelude::*;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, comment};

/// log2 of the streams.
const LOG: usize = 4;
/// log2 of the rows that a slot has room for.
const ROWS_LOG: usize = 2;
/// log2 of [`SLOTS`].
const SLOTS_LOG: usize = 4;
/// Slots of a stream.
pub const SLOTS: usize = 1 << SLOTS_LOG;
/// Cycles from a row to its octets.
pub const ROW_LATENCY: usize = 1 + record_ram::LATENCY as usize;
/// Cycles from a pop to the next head, at the least.
pub const POP_LATENCY: usize = 3;

/// Slots of S streams.
#[derive(Block)]
#[block(rows: usize)]
pub struct ResponseSlots<const S: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// Writes `put_data`.
    pub put: Signal<In, Bit>,
    /// Stream of the slot.
    pub put_stream: Signal<In, Bits<4>>,
    /// Row of it.
    pub put_row: Signal<In, Bits<2>>,
    /// Octets of the row, the first one in bits 7:0.
    pub put_data: Signal<In, Bits<128>>,
    /// With `put`: the slot is whole.
    pub put_ends: Signal<In, Bit>,
    /// The next slot of `align_stream`, which has none, lies where the next pop is; not with `put`, nor while `busy`.
    pub align: Signal<In, Bit>,
    /// Stream of `align`.
    pub align_stream: Signal<In, Bits<4>>,
    /// The count of pops is written in this cycle.
    pub busy: Signal<Out, Bit>,
    /// Slots of the stream.
    pub filled: [Signal<Out, Bits<5>>; S],
    /// It has one, or the pop of one is being counted.
    pub holds: [Signal<Out, Bit>; S],

    /// The oldest slot of the stream is there.
    pub head: [Signal<Out, Bit>; S],
    /// Stream whose head is read.
    pub row_stream: Signal<In, Bits<8>>,
    /// Row of the head.
    pub row: Signal<In, Bits<4>>,
    /// Octets of the row, [`ROW_LATENCY`] cycles later.
    pub row_data: Signal<Out, Bits<128>>,
    /// Pulse: the head of `pop_stream` is done with.
    pub pop: Signal<In, Bit>,
    /// Stream of `pop`.
    pub pop_stream: Signal<In, Bits<8>>,
    /// `pop`, a cycle later.
    pub popped: Signal<Out, Bit>,
    /// Its stream.
    pub popped_stream: Signal<Out, Bits<4>>,
    /// Slots of that stream that were popped, this one included, modulo 2^16.
    pub popped_count: Signal<Out, Bits<16>>,

    #[value(RecordRam::new(rows))]
    row_ram: RecordRam<Bits<128>, 10>,
    written: Store<Bits<SLOTS_LOG>, LOG>,
    done: Store<Bits<16>, LOG>,
    done_row: Store<Bits<16>, LOG>,
    counts: [Dff<Bits<5>>; S],
    popped_1: Dff<Bit>,
    popped_of_1: Dff<Bits<8>>,
    popped_2: Dff<Bit>,
    popped_of_2: Dff<Bits<8>>,
    row_place: Dff<Bits<8>>,
    row_1: Dff<Bits<2>>,

    whole: Signal<Local, Bit>,
    one_more: Signal<Local, Bits<16>>,
    up: [Signal<Local, Bit>; S],
    down: [Signal<Local, Bit>; S],
    resting: [Signal<Local, Bit>; S],
    #[constant(|i| i)]
    index: [Constant<Bits<8>>; S],
    #[constant(SLOTS_LOG + ROWS_LOG)]
    stream_at: Constant<Bits<8>>,
    #[constant(ROWS_LOG)]
    slot_at: Constant<Bits<8>>,
    #[constant(SLOTS_LOG)]
    place_at: Constant<Bits<8>>,
}

impl<const S: usize> Default for ResponseSlots<S> {
    fn default() -> Self {
        assert!((1..=16).contains(&S), "{S} streams: give 1 to 16");
        Self::assemble(S.next_power_of_two() << (SLOTS_LOG + ROWS_LOG))
    }
}

impl<const S: usize> Logic for ResponseSlots<S> {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("a slot is written");
        self.whole.next = self.put.val() & self.put_ends.val();
        self.written.read_row.next = self.put_stream.val();
        self.written.write.next = self.whole.val() | self.align.val();
        self.written.write_row.next = self.align_stream.val();
        self.written.data.next = self.done.out.val().get_bits::<4>(0);
        if self.whole.val() {
            self.written.write_row.next = self.put_stream.val();
            self.written.data.next = self.written.out.val() + 1;
        }
        self.row_ram.write.next = self.put.val();
        self.row_ram.write_row.next = (bit_cast::<10, 4>(self.put_stream.val())
            << self.stream_at.val())
            | (bit_cast::<10, 4>(self.written.out.val()) << self.slot_at.val())
            | bit_cast::<10, 2>(self.put_row.val());
        self.row_ram.write_data.next = self.put_data.val();

        comment!("a pop counts");
        self.popped_1.d.next = self.pop.val();
        self.popped_of_1.d.next = self.pop_stream.val();
        self.popped_2.d.next = self.popped_1.q.val();
        self.popped_of_2.d.next = self.popped_of_1.q.val();
        self.done.read_row.next = self.align_stream.val();
        if self.popped_1.q.val() {
            self.done.read_row.next = self.popped_of_1.q.val().get_bits::<4>(0);
        }
        self.one_more.next = self.done.out.val() + 1;
        self.done.write.next = self.popped_1.q.val();
        self.done.write_row.next = self.popped_of_1.q.val().get_bits::<4>(0);
        self.done.data.next = self.one_more.val();
        self.done_row.write.next = self.popped_1.q.val();
        self.done_row.write_row.next = self.popped_of_1.q.val().get_bits::<4>(0);
        self.done_row.data.next = self.one_more.val();
        self.popped.next = self.popped_1.q.val();
        self.popped_stream.next = self.popped_of_1.q.val().get_bits::<4>(0);
        self.popped_count.next = self.one_more.val();
        self.busy.next = self.popped_1.q.val() | self.put.val();

        comment!("slots of each stream; a head rests until the place of the next one is known");
        for i in 0..S {
            self.up[i].next =
                self.whole.val() & (bit_cast::<8, 4>(self.put_stream.val()) == self.index[i].val());
            self.down[i].next = self.pop.val() & (self.pop_stream.val() == self.index[i].val());
            if self.up[i].val() & !self.down[i].val() {
                self.counts[i].d.next = self.counts[i].q.val() + 1;
            }
            if self.down[i].val() & !self.up[i].val() {
                self.counts[i].d.next = self.counts[i].q.val() - 1;
            }
            if self.reset.val() {
                self.counts[i].d.next = 0.into();
            }
            self.resting[i].next = (self.popped_1.q.val()
                & (self.popped_of_1.q.val() == self.index[i].val()))
                | (self.popped_2.q.val() & (self.popped_of_2.q.val() == self.index[i].val()));
            self.head[i].next = self.counts[i].q.val().any() & !self.resting[i].val();
            self.filled[i].next = self.counts[i].q.val();
            self.holds[i].next = self.counts[i].q.val().any() | self.resting[i].val();
        }

        comment!("rows of the head");
        self.done_row.read_row.next = self.row_stream.val().get_bits::<4>(0);
        self.row_place.d.next = bit_cast::<8, 4>(self.done_row.out.val().get_bits::<4>(0))
            | (bit_cast::<8, 4>(self.row_stream.val().get_bits::<4>(0)) << self.place_at.val());
        self.row_1.d.next = self.row.val().get_bits::<2>(0);
        self.row_ram.read_row.next = (bit_cast::<10, 8>(self.row_place.q.val())
            << self.slot_at.val())
            | bit_cast::<10, 2>(self.row_1.q.val());
        self.row_data.next = self.row_ram.read_data.val();
        if self.reset.val() {
            self.popped_1.d.next = false;
            self.popped_2.d.next = false;
        }
    }
}
