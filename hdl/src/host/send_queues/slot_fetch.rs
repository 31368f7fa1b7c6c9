//! SlotFetch: looks at the counts of a stream, and requests its next slot.
//!
//! ```text
//!  stream ─► rings, produced, fetched, consumed ─►[unread? full? address]─► asked, slot
//!            (memories, a row for each stream)                          └─► idle
//! ```
//!
//! A slot is *unread* while `fetched` differs from `produced`. A stream is *full* when as many slots as the store has
//! for it are requested and not popped. Both differences need no subtraction: `fetched` is ahead of `consumed` by 0 to
//! `slots`, a power of two, so they differ in nothing, or in just the bit above an index, when it is empty or full.
//!
//! A stream becomes idle at the end of a look that finds nothing unread and nothing that is not popped, unless something
//! has changed since the counts were read: then another look follows. A doorbell ends that.
//!
//! Latency: 3 cycles from `valid` to `asked`. Throughput: a look takes 4 cycles.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use crate::host::send_queues::bursts::SlotBurst;
use crate::host::send_queues::rings::SendRing;
use crate::parts::queue::Store;
use rust_hdl_core::prelude::*;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, comment};

/// log2 of the streams.
const LOG: usize = 4;

/// State of a look.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum FetchStep {
    /// No stream has one.
    Seek,
    /// Its ring and its counts are read.
    Load,
    /// Compares them; low half of the address.
    Count,
    /// Requests a slot, or ends; high half of the address.
    Judge,
}

/// Slots of S streams.
#[derive(Block)]
#[block(slots: usize, first_end: usize)]
pub struct SlotFetch<const S: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,

    /// Pulse: the host has announced slots.
    pub rung: Signal<In, Bit>,
    /// Their stream.
    pub rung_stream: Signal<In, Bits<4>>,
    /// Slots announced.
    pub rung_value: Signal<In, Bits<16>>,
    /// Pulse: a slot is done with.
    pub popped: Signal<In, Bit>,
    /// Its stream.
    pub popped_stream: Signal<In, Bits<4>>,
    /// Slots of the stream that were popped, this one included.
    pub popped_count: Signal<In, Bits<5>>,
    /// Nothing is requested; in particular while `clear` is high.
    pub hold: Signal<In, Bit>,
    /// All counts of `clear_stream` begin at 0.
    pub clear: Signal<In, Bit>,
    /// Stream of `clear`.
    pub clear_stream: Signal<In, Bits<4>>,
    /// Its ring.
    pub ring: Signal<In, SendRing>,

    /// The stream that is next.
    pub next_stream: Signal<In, Bits<4>>,
    /// There is one.
    pub next_valid: Signal<In, Bit>,
    /// It is taken.
    pub take: Signal<Out, Bit>,
    /// The stream whose counts are looked at.
    pub stream: Signal<Out, Bits<4>>,
    /// It goes back into the queue.
    pub returns: Signal<Out, Bit>,
    /// `returns` is accepted; otherwise the look goes on.
    pub returns_ready: Signal<In, Bit>,
    /// It is in the queue already.
    pub again: Signal<In, Bit>,

    /// A slot can be requested.
    pub ready: Signal<In, Bit>,
    /// Requests `slot`.
    pub asked: Signal<Out, Bit>,
    /// The first burst of a slot.
    pub slot: Signal<Out, SlotBurst>,
    /// All announced slots are popped.
    pub idle: [Signal<Out, Bit>; S],

    rings: Store<SendRing, LOG>,
    produced: Store<Bits<16>, LOG>,
    fetched: Store<Bits<16>, LOG>,
    consumed: Store<Bits<5>, LOG>,
    step: Dff<FetchStep>,
    fetch_stream: Dff<Bits<4>>,
    place: Dff<SendRing>,
    announced: Dff<Bits<16>>,
    number: Dff<Bits<16>>,
    gone: Dff<Bits<5>>,
    unread: Dff<Bit>,
    full: Dff<Bit>,
    empty: Dff<Bit>,
    low: Dff<Bits<25>>,
    rests: [Dff<Bit>; S],

    ahead: Signal<Local, Bits<5>>,
    wants: Signal<Local, Bit>,
    goes: Signal<Local, Bit>,
    settles: Signal<Local, Bit>,
    high: Signal<Local, Bits<32>>,

    #[constant(|i| i)]
    index: [Constant<Bits<4>>; S],
    #[constant(slots)]
    all: Constant<Bits<5>>,
    #[constant(2 * slots - 1)]
    counted: Constant<Bits<5>>,
    #[constant(slots - 1)]
    index_mask: Constant<Bits<4>>,
    #[constant(first_end)]
    first_end: Constant<Bits<5>>,
}

impl<const S: usize> SlotFetch<S> {
    /// Fetches for streams of `slots` held slots, whose first 64 octets end with beat `first_end`.
    #[must_use]
    pub fn new(slots: usize, first_end: usize) -> Self {
        Self::assemble(slots, first_end)
    }
}

impl<const S: usize> Logic for SlotFetch<S> {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("the counts: nothing is requested while a ring is set");
        self.rings.write.next = self.clear.val();
        self.rings.write_row.next = self.clear_stream.val();
        self.rings.data.next = self.ring.val();
        self.rings.read_row.next = self.fetch_stream.q.val();
        self.produced.write.next = self.rung.val() | self.clear.val();
        self.produced.write_row.next = self.clear_stream.val();
        self.produced.data.next = 0.into();
        if self.rung.val() {
            self.produced.write_row.next = self.rung_stream.val();
            self.produced.data.next = self.rung_value.val();
        }
        self.produced.read_row.next = self.fetch_stream.q.val();
        self.consumed.write.next = self.popped.val() | self.clear.val();
        self.consumed.write_row.next = self.clear_stream.val();
        self.consumed.data.next = 0.into();
        if self.popped.val() {
            self.consumed.write_row.next = self.popped_stream.val();
            self.consumed.data.next = self.popped_count.val();
        }
        self.consumed.read_row.next = self.fetch_stream.q.val();

        comment!("the look");
        self.wants.next = self.unread.q.val() & !self.full.q.val();
        self.returns.next = (self.step.q.val() == FetchStep::Judge)
            & self.wants.val()
            & self.ready.val()
            & !self.hold.val();
        self.goes.next = self.returns.val() & self.returns_ready.val();
        self.settles.next = (self.step.q.val() == FetchStep::Judge)
            & !self.unread.q.val()
            & self.empty.q.val()
            & !self.again.val();
        self.ahead.next =
            (self.number.q.val().get_bits::<5>(0) ^ self.gone.q.val()) & self.counted.val();
        match self.step.q.val() {
            FetchStep::Seek => {
                self.fetch_stream.d.next = self.next_stream.val();
                if self.next_valid.val() {
                    self.step.d.next = FetchStep::Load;
                }
            }
            FetchStep::Load => {
                self.step.d.next = FetchStep::Count;
            }
            FetchStep::Count => {
                self.step.d.next = FetchStep::Judge;
            }
            FetchStep::Judge => {
                if self.goes.val() | !self.wants.val() {
                    self.step.d.next = FetchStep::Seek;
                }
            }
        }
        self.take.next = (self.step.q.val() == FetchStep::Seek) & self.next_valid.val();
        self.stream.next = self.fetch_stream.q.val();
        if self.step.q.val() == FetchStep::Load {
            self.place.d.next = self.rings.out.val();
            self.announced.d.next = self.produced.out.val();
            self.number.d.next = self.fetched.out.val();
            self.gone.d.next = self.consumed.out.val();
        }
        if self.step.q.val() == FetchStep::Count {
            self.unread.d.next = self.announced.q.val() != self.number.q.val();
            self.full.d.next = self.ahead.val() == self.all.val();
            self.empty.d.next = !self.ahead.val().any();
            self.low.d.next = bit_cast::<25, 24>(self.place.q.val().base.get_bits::<24>(0))
                + bit_cast::<25, 12>(
                    self.number.q.val().get_bits::<12>(0) & self.place.q.val().mask,
                );
        }
        self.high.next = self.place.q.val().base.get_bits::<32>(24)
            + bit_cast::<32, 1>(self.low.q.val().get_bits::<1>(24));
        self.asked.next = self.goes.val();
        self.slot.next.stream = self.fetch_stream.q.val();
        self.slot.next.index = self.number.q.val().get_bits::<4>(0) & self.index_mask.val();
        self.slot.next.block = bit_cast::<56, 24>(self.low.q.val().get_bits::<24>(0))
            | (bit_cast::<56, 32>(self.high.val()) << 24);
        self.slot.next.rest = false;
        self.slot.next.final_beat = self.first_end.val();
        self.fetched.write.next = self.goes.val() | self.clear.val();
        self.fetched.write_row.next = self.clear_stream.val();
        self.fetched.data.next = 0.into();
        if self.goes.val() {
            self.fetched.write_row.next = self.fetch_stream.q.val();
            self.fetched.data.next = self.number.q.val() + 1;
        }
        self.fetched.read_row.next = self.fetch_stream.q.val();

        for i in 0..S {
            if self.settles.val() & (self.fetch_stream.q.val() == self.index[i].val()) {
                self.rests[i].d.next = true;
            }
            if self.rung.val() & (self.rung_stream.val() == self.index[i].val()) {
                self.rests[i].d.next = false;
            }
            if self.reset.val() {
                self.rests[i].d.next = true;
            }
            self.idle[i].next = self.rests[i].q.val();
        }
        if self.reset.val() {
            self.step.d.next = FetchStep::Seek;
        }
    }
}
