//! SendQueues: fetches the slots of send rings from host memory ahead of their use, and gives them in order, stream by stream.
//!
//! ```text
//!  set, freeze, detach, doorbell ─► rings ─ rung ─► fetch_queue ─► slot_fetch ─► bursts ─► AR
//!                                     └─ ring, clear ───┼──────────▲            ▲ rest  └─ burst
//!                                                popped │          │ finished   │          ▼
//!                         head, pop ◄─►  heads ◄────────┴──────────┴────────── landing ◄── R
//!                         row_stream ──► heads ─ slot ─► slot_ram ◄── beats ─────┘
//!                         row ─────────────────────────►    └─► row_data
//! ```
//!
//! A stream's slots are numbered modulo 2^16 from `set` on. `produced` were announced by doorbells, `fetched` requested,
//! `consumed` popped. As long as the first two differ, and the last two by less than `slots`, a slot of it is fetched in
//! its time, then one of another stream. Its counts lie in memories with a row for each stream, and streams with work in a queue; only
//! `head`, `idle` and membership are bits in registers.
//!
//! **What is read.** The first 64 octets of a slot, then the whole beats of it that hold the other elements or inline octets
//! that its first word announces, if any: up to octet 160. A `COUNT` beyond what a request may have reads nothing more, since
//! the slot is malformed whatever it holds. Rows behind those have no meaning. Bursts are aligned, stay in their slot, and
//! up to [`UNDER_WAY`](bursts::UNDER_WAY) slots are under way at a time, of all streams together.
//!
//! **To the consumer.** While `head` of a stream is high, `row_stream` and `row` read a row of its oldest slot, every cycle
//! another one; `row_data`, `head_failed` and `consumed` follow by [`ROW_LATENCY`]. `head_failed` says that the bus refused
//! a beat of the slot, or ended a burst of it too early; its octets then have no meaning. Slots behind it are read all the same and have results of their own. `pop`
//! ends the slot, in the cycle of its last row or later.
//!
//! **Close.** `freeze` ends the effect of doorbells; one in its cycle still counts. What was announced before is fetched,
//! and the consumer pops it. `idle` is low while a slot is announced that was not popped, and while one is read or held, so no
//! other sign of reads under way is needed: it falls 2 cycles behind a doorbell, and rises when `slot_fetch` finds all counts of the stream
//! equal. From 2 cycles behind `freeze` on, an idle stream can be detached: `detach` removes its ring, and `set` can give it another
//! one from the next cycle on, whose counts begin at 0.
//!
//! Assumptions: `set` is for an armed stream, `detach` for one that is frozen and idle, `pop` for one whose `head` is high. The host
//! announces no more slots than the ring has beyond those that were popped. If it does, it harms itself: announced slots are
//! fetched, up to 2^16 of them when a count goes back, with whatever they hold, and its stream is idle behind the last one; other streams go on as before. A doorbell without
//! a ring has no effect.
//!
//! Latency, when nothing else is to do: [`DOORBELL_LATENCY`] cycles from a doorbell to ARVALID, [`HEAD_LATENCY`] from the last beat to
//! `head`, [`REST_LATENCY`] from the last beat of the first 64 octets to ARVALID of the second burst. After a pop `head` is low for
//! [`POP_LATENCY`] - 1 cycles, and high in the next one if the next slot is complete.
//! Throughput, of one stream or of many: a slot every [`SLOT_CYCLES`] cycles, one more when a pop enters the fetch queue in the
//! cycle in which a stream returns to it, and not less than the 64/K beats of a slot: every 8 cycles at 64 bits, where R is then
//! always busy. A second burst costs its beats. R is always accepted. To have a slot every 8 cycles, a stream must hold
//! enough of them for the time from a pop to the head that takes the place: 16 are enough for a bus whose first beat comes up
//! to 110 cycles behind its address. The slots under way do the same for all streams together.
//! Fairness: a stream with work is passed by at most 2·S slots of others.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use crate::host::send_queues::bursts::{Bursts, FIRST};
use crate::host::send_queues::fetch_queue::FetchQueue;
use crate::host::send_queues::heads::Heads;
use crate::host::send_queues::landing::Landing;
use crate::host::send_queues::rings::Rings;
use crate::host::send_queues::slot_fetch::SlotFetch;
use crate::host::send_queues::slot_ram::SlotRam;
use crate::parts::axi::{AxiReadMaster, BURST_INCR, CACHE_NOT_BUFFERABLE, PROT_DATA, size_code};
use rust_hdl_core::prelude::*;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, comment};

pub mod bursts;
pub mod fetch_queue;
pub mod heads;
pub mod landing;
pub mod rings;
pub mod slot_fetch;
pub mod slot_ram;

/// Cycles from a doorbell to ARVALID.
pub const DOORBELL_LATENCY: usize = 7;
/// Cycles from the last beat of a slot to `head`.
pub const HEAD_LATENCY: usize = 5;
/// Cycles from the last beat of the first 64 octets to ARVALID for the octets behind them.
pub const REST_LATENCY: usize = 5;
/// Cycles from a pop to the next head, at the least.
pub const POP_LATENCY: usize = 3;
/// Cycles from a row to its octets.
pub const ROW_LATENCY: usize = 1 + slot_ram::LATENCY;
/// Cycles that a slot takes, at the least.
pub const SLOT_CYCLES: usize = 4;
/// Slots held for each stream, unless said otherwise.
pub const SLOTS: usize = 16;

/// Send queues on a bus of W bits, K = W/8 octets, for S streams.
#[derive(Block)]
#[block(slots: usize)]
pub struct SendQueues<const W: usize, const K: usize, const S: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset, while no read is under way.
    pub reset: Signal<In, Bit>,

    /// Pulse: the host has written slots.
    pub doorbell: Signal<In, Bit>,
    /// Stream of `doorbell`.
    pub doorbell_stream: Signal<In, Bits<8>>,
    /// Slots written since the ring was set, modulo 2^16.
    pub doorbell_value: Signal<In, Bits<16>>,

    /// `arguments` describe a new ring; both are stable until `set_ready`.
    pub set: Signal<In, Bit>,
    /// `regmap::transmit::send_ring`.
    pub arguments: Signal<In, Bits<128>>,
    /// Pulse: the stream has this ring, empty.
    pub set_ready: Signal<Out, Bit>,
    /// With `set_ready`: it has another one, or the ring is not allowed.
    pub set_failed: Signal<Out, Bit>,
    /// Pulse: later doorbells of `stream` have no effect.
    pub freeze: Signal<In, Bit>,
    /// Pulse: the ring of `stream`, which is frozen and idle, is removed.
    pub detach: Signal<In, Bit>,
    /// Stream of `freeze` and `detach`.
    pub stream: Signal<In, Bits<8>>,
    /// No slot of the stream is announced that was not popped, and none is under way or held.
    pub idle: [Signal<Out, Bit>; S],

    /// Reads.
    pub m_axi: AxiReadMaster<W>,

    /// The oldest slot of the stream is there.
    pub head: [Signal<Out, Bit>; S],
    /// Stream whose head is read.
    pub row_stream: Signal<In, Bits<8>>,
    /// Row of the head: 16 octets, from 0 on.
    pub row: Signal<In, Bits<4>>,
    /// Octets of the row, the first one in bits 7:0; [`ROW_LATENCY`] cycles behind `row_stream` and `row`, as the two below.
    pub row_data: Signal<Out, Bits<128>>,
    /// The head could not be read.
    pub head_failed: Signal<Out, Bit>,
    /// Slots of the stream popped, the head included, modulo 2^16: `send_event::CONSUMED`.
    pub consumed: Signal<Out, Bits<16>>,
    /// Pulse: the head of `pop_stream` is done with.
    pub pop: Signal<In, Bit>,
    /// Stream of `pop`.
    pub pop_stream: Signal<In, Bits<8>>,

    rings: Rings<S>,
    fetch_queue: FetchQueue<S>,
    #[value(SlotFetch::new(slots, FIRST / K - 1))]
    slot_fetch: SlotFetch<S>,
    bursts: Bursts<K>,
    landing: Landing<W, K>,
    #[value(Heads::new(slots))]
    heads: Heads<S>,
    #[value(SlotRam::new(slots * S.next_power_of_two()))]
    slot_ram: SlotRam<W>,
    row_1: Dff<Bits<4>>,
    #[constant(slots.ilog2())]
    index_bits: Constant<Bits<3>>,
    #[constant(size_code(K))]
    size: Constant<Bits<3>>,
    #[constant(BURST_INCR)]
    burst: Constant<Bits<2>>,
    #[constant(CACHE_NOT_BUFFERABLE)]
    cache: Constant<Bits<4>>,
    #[constant(PROT_DATA)]
    prot: Constant<Bits<3>>,
}

impl<const W: usize, const K: usize, const S: usize> SendQueues<W, K, S> {
    /// Send queues that hold `slots` slots of each stream.
    ///
    /// # Panics
    /// When W is not 64, 128, 256 or 512, K not W/8, S not 1 to 16, or `slots` not a power of two from 4 to 16.
    #[must_use]
    pub fn new(slots: usize) -> Self {
        assert!(
            matches!(W, 64 | 128 | 256 | 512) && W == 8 * K,
            "{W} bits in {K} lanes"
        );
        assert!((1..=16).contains(&S), "{S} streams: give 1 to 16");
        assert!(
            slots.is_power_of_two() && (4..=16).contains(&slots),
            "{slots} slots: give a power of two from 4 to 16"
        );
        Self::assemble(slots)
    }
}

impl<const W: usize, const K: usize, const S: usize> Default for SendQueues<W, K, S> {
    fn default() -> Self {
        Self::new(SLOTS)
    }
}

impl<const W: usize, const K: usize, const S: usize> Logic for SendQueues<W, K, S> {
    #[hdl_gen]
    fn update(&mut self) {
        self.rings.reset.next = self.reset.val();
        self.fetch_queue.reset.next = self.reset.val();
        self.slot_fetch.reset.next = self.reset.val();
        self.bursts.reset.next = self.reset.val();
        self.landing.reset.next = self.reset.val();
        self.heads.reset.next = self.reset.val();

        comment!("rings and doorbells");
        self.rings.doorbell.next = self.doorbell.val();
        self.rings.doorbell_stream.next = self.doorbell_stream.val();
        self.rings.doorbell_value.next = self.doorbell_value.val();
        self.rings.set.next = self.set.val();
        self.rings.arguments.next = self.arguments.val();
        self.set_ready.next = self.rings.set_ready.val();
        self.set_failed.next = self.rings.set_failed.val();
        self.rings.freeze.next = self.freeze.val();
        self.rings.detach.next = self.detach.val();
        self.rings.stream.next = self.stream.val();
        self.rings.counts_busy.next = self.heads.busy.val();

        comment!("whose slot is fetched");
        self.fetch_queue.rung.next = self.rings.rung.val();
        self.fetch_queue.rung_stream.next = self.rings.rung_stream.val();
        self.fetch_queue.popped.next = self.heads.popped.val();
        self.fetch_queue.popped_stream.next = self.heads.popped_stream.val();
        self.fetch_queue.returns.next = self.slot_fetch.returns.val();
        self.fetch_queue.fetch_stream.next = self.slot_fetch.stream.val();
        self.fetch_queue.take.next = self.slot_fetch.take.val();
        self.slot_fetch.next_stream.next = self.fetch_queue.stream.val();
        self.slot_fetch.next_valid.next = self.fetch_queue.valid.val();
        self.slot_fetch.returns_ready.next = self.fetch_queue.returns_ready.val();
        self.slot_fetch.again.next = self.fetch_queue.again.val();
        self.slot_fetch.rung.next = self.rings.rung.val();
        self.slot_fetch.rung_stream.next = self.rings.rung_stream.val();
        self.slot_fetch.rung_value.next = self.rings.rung_value.val();
        self.slot_fetch.popped.next = self.heads.popped.val();
        self.slot_fetch.popped_stream.next = self.heads.popped_stream.val();
        self.slot_fetch.popped_count.next = self.heads.popped_count.val();
        self.slot_fetch.hold.next = self.rings.hold.val();
        self.slot_fetch.clear.next = self.rings.clear.val();
        self.slot_fetch.clear_stream.next = self.rings.clear_stream.val();
        self.slot_fetch.ring.next = self.rings.ring.val();

        comment!("to the bus and back");
        self.slot_fetch.ready.next = self.bursts.ready.val();
        self.bursts.asked.next = self.slot_fetch.asked.val();
        self.bursts.slot.next = self.slot_fetch.slot.val();
        self.bursts.rest_valid.next = self.landing.rest_valid.val();
        self.bursts.rest.next = self.landing.rest.val();
        self.bursts.finished.next = self.landing.finished.val();
        self.bursts.burst_taken.next = self.landing.burst_taken.val();
        self.bursts.accepted.next = self.m_axi.arready.val();
        self.landing.burst.next = self.bursts.burst.val();
        self.landing.rvalid.next = self.m_axi.rvalid.val();
        self.landing.rdata.next = self.m_axi.rdata.val();
        self.landing.rresp.next = self.m_axi.rresp.val();
        self.landing.rlast.next = self.m_axi.rlast.val();
        self.m_axi.rready.next = true;
        self.m_axi.araddr.next = self.bursts.address.val();
        self.m_axi.arlen.next = self.bursts.length.val();
        self.m_axi.arvalid.next = self.bursts.valid.val();
        self.m_axi.arsize.next = self.size.val();
        self.m_axi.arburst.next = self.burst.val();
        self.m_axi.arcache.next = self.cache.val();
        self.m_axi.arprot.next = self.prot.val();

        comment!("the slots");
        self.slot_ram.write.next = self.landing.write.val();
        self.slot_ram.write_slot.next = bit_cast::<8, 4>(self.landing.slot.val().index)
            | (bit_cast::<8, 4>(self.landing.slot.val().stream) << self.index_bits.val());
        self.slot_ram.write_beat.next = self.landing.beat.val();
        self.slot_ram.write_data.next = self.landing.data.val();
        self.row_1.d.next = self.row.val();
        self.slot_ram.read_slot.next = self.heads.slot.val();
        self.slot_ram.read_row.next = self.row_1.q.val();
        self.row_data.next = self.slot_ram.read_data.val();

        comment!("the heads");
        self.heads.finished.next = self.landing.finished.val();
        self.heads.finished_stream.next = self.landing.finished_stream.val();
        self.heads.finished_index.next = self.landing.finished_index.val();
        self.heads.failed.next = self.landing.failed.val();
        self.heads.clear.next = self.rings.clear.val();
        self.heads.clear_stream.next = self.rings.clear_stream.val();
        self.heads.pop.next = self.pop.val();
        self.heads.pop_stream.next = self.pop_stream.val();
        self.heads.row_stream.next = self.row_stream.val();
        self.head_failed.next = self.heads.head_failed.val();
        self.consumed.next = self.heads.consumed.val();
        for i in 0..S {
            self.idle[i].next = self.slot_fetch.idle[i].val();
            self.head[i].next = self.heads.head[i].val();
        }
    }
}
