//! Bursts: offers addresses to the bus, and keeps what its answers belong to.
//!
//! ```text
//!  asked, slot ─────────────────┐ second
//!  rest_valid, rest ─►[rests]───┴ first ─►[address]─► AR
//!                                    └───►[under way]─► burst ◄─ burst_taken
//! ```
//!
//! The bus answers in the order of addresses. At most [`UNDER_WAY`] slots are under way, from the request of their first
//! octets until they are complete, and a slot has never more than one burst: so both queues have room for all of them,
//! nothing on R ever waits, and a second burst cannot wait for a first one that waits for it.
//!
//! Latency: a cycle from `asked` to ARVALID, 2 from `rest_valid`. Throughput: an address every 2 cycles.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use crate::parts::queue::Queue;
use rust_hdl_core::prelude::*;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, Record, comment};

/// log2 of the slots that may be under way.
const LOG: usize = 4;
/// Slots that may be under way, of all streams together.
pub const UNDER_WAY: usize = 1 << LOG;
/// Octets that are read of every slot.
pub const FIRST: usize = 64;

/// A burst of a slot.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct SlotBurst {
    /// Stream number.
    pub stream: Bits<4>,
    /// Place of the slot in the store: its number modulo the slots held.
    pub index: Bits<4>,
    /// Address of the slot, less its eight low bits.
    pub block: Bits<56>,
    /// It reads what lies behind the slot's first 64 octets.
    pub rest: Bit,
    /// Its last beat, counted from the beginning of the slot.
    pub final_beat: Bits<5>,
}

/// Bursts on a bus of K octets.
#[derive(Block)]
#[block(default)]
pub struct Bursts<const K: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// The first burst of a slot can be requested; at most every fourth cycle.
    pub ready: Signal<Out, Bit>,
    /// Requests `slot`; only if `ready`.
    pub asked: Signal<In, Bit>,
    /// The first burst of a slot.
    pub slot: Signal<In, SlotBurst>,
    /// Pulse: requests `rest`.
    pub rest_valid: Signal<In, Bit>,
    /// The second burst of a slot.
    pub rest: Signal<In, SlotBurst>,
    /// Pulse: a slot is complete.
    pub finished: Signal<In, Bit>,
    /// The oldest burst that is not answered.
    pub burst: Signal<Out, SlotBurst>,
    /// Its last beat is there.
    pub burst_taken: Signal<In, Bit>,
    /// ARADDR.
    pub address: Signal<Out, Bits<64>>,
    /// ARLEN.
    pub length: Signal<Out, Bits<8>>,
    /// ARVALID.
    pub valid: Signal<Out, Bit>,
    /// ARREADY.
    pub accepted: Signal<In, Bit>,

    rests: Queue<SlotBurst, LOG>,
    flight: Queue<SlotBurst, LOG>,
    offered: Dff<Bit>,
    block: Dff<Bits<56>>,
    second: Dff<Bit>,
    beats: Dff<Bits<5>>,
    under_way: Dff<Bits<5>>,
    room: Dff<Bit>,

    loads_rest: Signal<Local, Bit>,
    loads: Signal<Local, Bit>,
    chosen: Signal<Local, SlotBurst>,
    #[constant(UNDER_WAY)]
    most: Constant<Bits<5>>,
    #[constant(FIRST / K)]
    first_beats: Constant<Bits<5>>,
    #[constant(FIRST)]
    first: Constant<Bits<64>>,
}

impl<const K: usize> Logic for Bursts<K> {
    #[hdl_gen]
    fn update(&mut self) {
        self.rests.reset.next = self.reset.val();
        self.flight.reset.next = self.reset.val();
        self.rests.s_data.next = self.rest.val();
        self.rests.s_valid.next = self.rest_valid.val();
        self.ready.next = !self.offered.q.val() & !self.rests.m_valid.val() & self.room.q.val();

        comment!("one burst is offered; second ones first, which end a slot");
        self.loads_rest.next = !self.offered.q.val() & self.rests.m_valid.val();
        self.rests.m_ready.next = self.loads_rest.val();
        self.loads.next = self.loads_rest.val() | self.asked.val();
        self.chosen.next = self.slot.val();
        if self.loads_rest.val() {
            self.chosen.next = self.rests.m_data.val();
        }
        if self.accepted.val() {
            self.offered.d.next = false;
        }
        if self.loads.val() {
            self.offered.d.next = true;
            self.block.d.next = self.chosen.val().block;
            self.second.d.next = self.chosen.val().rest;
            self.beats.d.next = self.chosen.val().final_beat;
            if self.loads_rest.val() {
                self.beats.d.next = self.chosen.val().final_beat - self.first_beats.val();
            }
        }
        self.address.next = bit_cast::<64, 56>(self.block.q.val()) << 8;
        if self.second.q.val() {
            self.address.next = (bit_cast::<64, 56>(self.block.q.val()) << 8) | self.first.val();
        }
        self.length.next = bit_cast::<8, 5>(self.beats.q.val());
        self.valid.next = self.offered.q.val();
        self.flight.s_data.next = self.chosen.val();
        self.flight.s_valid.next = self.loads.val();
        self.burst.next = self.flight.m_data.val();
        self.flight.m_ready.next = self.burst_taken.val();

        comment!("the next request is 4 cycles away, and `room` is 2 cycles behind this one");
        if self.asked.val() & !self.finished.val() {
            self.under_way.d.next = self.under_way.q.val() + 1;
        }
        if self.finished.val() & !self.asked.val() {
            self.under_way.d.next = self.under_way.q.val() - 1;
        }
        self.room.d.next = self.under_way.q.val() != self.most.val();
        if self.reset.val() {
            self.offered.d.next = false;
            self.under_way.d.next = 0.into();
            self.room.d.next = false;
        }
    }
}
