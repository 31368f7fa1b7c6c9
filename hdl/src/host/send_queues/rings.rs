//! Rings: which streams have a send ring, and which of their doorbells count.
//!
//! ```text
//!  set, arguments ─►[fields]─►[allowed?]─►(no count is being written)─► clear, ring ─► set_ready, set_failed
//!                                ▲ ring                                    │
//!  detach ──────────────────────►│◄────────────────────────────────────────┘
//!  freeze ─► open ─► doorbell counts? ─► rung
//! ```
//!
//! A stream is *open* from `set` to `freeze`: its doorbells count. It has a ring until `detach`.
//!
//! A ring is refused if the stream has one or does not exist, if `entries` is not a power of two from 4 to 4096, or if the
//! base is not aligned to slots. All counts of a stream lie in memories with one write port, so a new ring waits for a
//! cycle without another write: `hold` keeps new reads back until then, which ends all other writes in time.
//!
//! Latency: a cycle from a doorbell to `rung`; 3 cycles from `set` to `set_ready` without other writes, always if the
//! ring is refused. Throughput: a doorbell a cycle.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use rust_hdl_core::prelude::*;
use warpline_regmap::transmit::{ENTRIES_MAX, ENTRIES_MIN, SLOT_OCTETS, send_ring};
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, Record, comment};

/// Bits of an octet's position in its slot.
pub const IN_SLOT: usize = SLOT_OCTETS.ilog2() as usize;
/// Bits of a slot's position in the longest ring.
pub const IN_RING: usize = ENTRIES_MAX.ilog2() as usize;

/// Place of a send ring.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct SendRing {
    /// Address, less the eight low bits.
    pub base: Bits<56>,
    /// Slots less one.
    pub mask: Bits<12>,
}

const _: () = assert!(
    IN_SLOT == 8 && IN_RING == 12,
    "the kernels cut addresses and numbers there"
);

/// Rings of S streams.
#[derive(Block)]
#[block(default)]
pub struct Rings<const S: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,

    /// Pulse: the host has written slots.
    pub doorbell: Signal<In, Bit>,
    /// Stream of `doorbell`.
    pub doorbell_stream: Signal<In, Bits<8>>,
    /// Slots written since the ring was set, modulo 2^16.
    pub doorbell_value: Signal<In, Bits<16>>,
    /// `arguments` describe a new ring; both are stable until `set_ready`.
    pub set: Signal<In, Bit>,
    /// `send_ring`.
    pub arguments: Signal<In, Bits<128>>,
    /// Pulse: the stream has this ring, empty.
    pub set_ready: Signal<Out, Bit>,
    /// With `set_ready`: the ring is refused.
    pub set_failed: Signal<Out, Bit>,
    /// Pulse: later doorbells of `stream` have no effect.
    pub freeze: Signal<In, Bit>,
    /// Pulse: `stream` has no ring any more.
    pub detach: Signal<In, Bit>,
    /// Stream of `freeze` and `detach`.
    pub stream: Signal<In, Bits<8>>,

    /// Pulse: a doorbell that counts.
    pub rung: Signal<Out, Bit>,
    /// Its stream.
    pub rung_stream: Signal<Out, Bits<4>>,
    /// Its value.
    pub rung_value: Signal<Out, Bits<16>>,
    /// A count is written by a pop or by the end of a read.
    pub counts_busy: Signal<In, Bit>,
    /// A ring waits for its `clear`: nothing is requested.
    pub hold: Signal<Out, Bit>,
    /// All counts of `clear_stream` begin at 0.
    pub clear: Signal<Out, Bit>,
    /// Stream of the new ring.
    pub clear_stream: Signal<Out, Bits<4>>,
    /// With `clear`: the new ring.
    pub ring: Signal<Out, SendRing>,

    attached: [Dff<Bit>; S],
    open: [Dff<Bit>; S],
    rung_now: Dff<Bit>,
    rung_of: Dff<Bits<4>>,
    rung_to: Dff<Bits<16>>,

    set_new: Dff<Bit>,
    set_stream: Dff<Bits<8>>,
    entries: Dff<Bits<16>>,
    mask: Dff<Bits<16>>,
    base: Dff<Bits<64>>,
    vacant: Dff<Bit>,
    set_writes: Dff<Bit>,
    set_refuses: Dff<Bit>,
    set_done: Dff<Bit>,
    set_refused: Dff<Bit>,

    given_stream: Signal<Local, Bits<8>>,
    given_entries: Signal<Local, Bits<16>>,
    doorbell_open: Signal<Local, Bit>,
    free: Signal<Local, Bit>,
    set_now: Signal<Local, Bit>,
    set_good: Signal<Local, Bit>,

    #[constant(|i| i)]
    index: [Constant<Bits<8>>; S],
    #[constant(u64::from(0xFFFF & !(2 * ENTRIES_MAX - 1) | (ENTRIES_MIN - 1)))]
    not_entries: Constant<Bits<16>>,
    #[constant(send_ring::STREAM.lsb)]
    stream_at: Constant<Bits<8>>,
    #[constant(send_ring::ENTRIES.lsb)]
    entries_at: Constant<Bits<8>>,
    #[constant(send_ring::BASE.lsb)]
    base_at: Constant<Bits<8>>,
}

impl<const S: usize> Logic for Rings<S> {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("doorbells; a stream that does not exist is none of these");
        self.doorbell_open.next = false;
        for i in 0..S {
            if self.doorbell_stream.val() == self.index[i].val() {
                self.doorbell_open.next = self.open[i].q.val();
            }
        }
        self.rung_now.d.next = self.doorbell.val() & self.doorbell_open.val();
        self.rung_of.d.next = self.doorbell_stream.val().get_bits::<4>(0);
        self.rung_to.d.next = self.doorbell_value.val();
        self.rung.next = self.rung_now.q.val();
        self.rung_stream.next = self.rung_of.q.val();
        self.rung_value.next = self.rung_to.q.val();

        comment!("a new ring: its fields, then the decision, then a cycle without another write");
        self.given_stream.next = self
            .arguments
            .val()
            .get_bits::<8>(self.stream_at.val().index());
        self.given_entries.next = self
            .arguments
            .val()
            .get_bits::<16>(self.entries_at.val().index());
        self.set_stream.d.next = self.given_stream.val();
        self.entries.d.next = self.given_entries.val();
        self.mask.d.next = self.given_entries.val() - 1;
        self.base.d.next = self
            .arguments
            .val()
            .get_bits::<64>(self.base_at.val().index());
        self.vacant.d.next = false;
        for i in 0..S {
            if self.given_stream.val() == self.index[i].val() {
                self.vacant.d.next = !self.attached[i].q.val();
            }
        }
        self.set_good.next = self.vacant.q.val()
            & self.entries.q.val().any()
            & !(self.entries.q.val() & self.mask.q.val()).any()
            & !(self.entries.q.val() & self.not_entries.val()).any()
            & !self.base.q.val().get_bits::<8>(0).any();
        self.free.next = !self.rung_now.q.val() & !self.counts_busy.val();
        self.set_now.next = self.set_refuses.q.val() | (self.set_writes.q.val() & self.free.val());
        self.set_new.d.next = self.set.val() & !self.set_now.val() & !self.set_done.q.val();
        self.set_writes.d.next = self.set_new.q.val() & !self.set_now.val() & self.set_good.val();
        self.set_refuses.d.next = self.set_new.q.val() & !self.set_now.val() & !self.set_good.val();
        self.set_done.d.next = self.set_now.val();
        self.set_refused.d.next = self.set_refuses.q.val();
        self.set_ready.next = self.set_done.q.val();
        self.set_failed.next = self.set_refused.q.val();
        self.hold.next = self.set_writes.q.val();
        self.clear.next = self.set_writes.q.val() & self.free.val();
        self.clear_stream.next = self.set_stream.q.val().get_bits::<4>(0);
        self.ring.next.base = self.base.q.val().get_bits::<56>(8);
        self.ring.next.mask = self.mask.q.val().get_bits::<12>(0);

        for i in 0..S {
            if self.clear.val() & (self.set_stream.q.val() == self.index[i].val()) {
                self.attached[i].d.next = true;
                self.open[i].d.next = true;
            }
            if self.stream.val() == self.index[i].val() {
                if self.freeze.val() {
                    self.open[i].d.next = false;
                }
                if self.detach.val() {
                    self.attached[i].d.next = false;
                    self.open[i].d.next = false;
                }
            }
            if self.reset.val() {
                self.attached[i].d.next = false;
                self.open[i].d.next = false;
            }
        }
        if self.reset.val() {
            self.rung_now.d.next = false;
            self.set_new.d.next = false;
            self.set_writes.d.next = false;
            self.set_refuses.d.next = false;
            self.set_done.d.next = false;
        }
    }
}
