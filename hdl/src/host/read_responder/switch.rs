//! Switch: whose Read Requests the device answers, and where they lie.
//!
//! ```text
//!  set, arguments ─►[fields]─►[allowed?]─►(no slot is being written)─► on, place, align ─► set_ready, set_failed
//!  fails, close ──────────────────────────────────────────────────────► off
//! ```
//!
//! A responder is *on* from `set` until it is switched off, until a request of its stream goes to the host (`broken`: so
//! do all behind it), or until `close`. Buffers are given back from `set` to `close`.
//!
//! Switching on is refused if the stream does not exist, if its responder is on or something of it is left, if
//! `ENTRIES_LOG` is not from 4 to 15, or if the base is not aligned to buffers. Switching off is refused only for a stream that
//! does not exist.
//!
//! Latency: 3 cycles from `set` to `set_ready`; as many more as slots are written.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use crate::parts::queue::Store;
use rust_hdl_core::prelude::*;
use warpline_regmap::transmit::{READ_BUFFER_OCTETS, read_responder};
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, Record, comment};

/// log2 of the streams.
const LOG: usize = 4;
const _: () = assert!(
    READ_BUFFER_OCTETS.ilog2() == 6 && READ_BUFFER_OCTETS.is_power_of_two(),
    "the kernels cut addresses there"
);

/// Where the requests of a stream lie.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct RequestPlace {
    /// Address of the array, less the six low bits.
    pub base: Bits<58>,
    /// Buffers less one.
    pub mask: Bits<15>,
    /// MSN of the message in the first buffer, modulo 2^15.
    pub first: Bits<15>,
    /// Protection domain of the stream.
    pub protection_domain: Bits<16>,
}

/// Switches of S streams.
#[derive(Block)]
#[block(default)]
pub struct Switch<const S: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// `arguments` say what is switched; both are stable until `set_ready`.
    pub set: Signal<In, Bit>,
    /// `regmap::transmit::read_responder`.
    pub arguments: Signal<In, Bits<128>>,
    /// Protection domain of the stream, stable as they are.
    pub protection_domain: Signal<In, Bits<16>>,
    /// Pulse: it is switched.
    pub set_ready: Signal<Out, Bit>,
    /// With `set_ready`: it is refused.
    pub set_failed: Signal<Out, Bit>,
    /// Pulse: the responder of `stream` is off, and its buffers are not given back any more.
    pub close: Signal<In, Bit>,
    /// Stream of `close`.
    pub stream: Signal<In, Bits<8>>,
    /// Pulse: a request of `fails_stream` goes to the host.
    pub fails: Signal<In, Bit>,
    /// Stream of `fails`.
    pub fails_stream: Signal<In, Bits<4>>,
    /// No request, no slot and no doorbell of the stream is left.
    pub idle: [Signal<In, Bit>; S],
    /// A pointer to slots is written in this cycle.
    pub slots_busy: Signal<In, Bit>,

    /// Requests are answered.
    pub on: [Signal<Out, Bit>; S],
    /// Requests under way go to the host.
    pub broken: [Signal<Out, Bit>; S],
    /// Buffers are given back.
    pub gives: [Signal<Out, Bit>; S],
    /// Pulse: the slots of `align_stream` begin where its pops are.
    pub align: Signal<Out, Bit>,
    /// Stream of the command in work.
    pub align_stream: Signal<Out, Bits<4>>,
    /// Stream whose requests are looked for.
    pub place_stream: Signal<In, Bits<4>>,
    /// Where they lie, in the same cycle.
    pub place: Signal<Out, RequestPlace>,

    places: Store<RequestPlace, LOG>,
    is_on: [Dff<Bit>; S],
    is_broken: [Dff<Bit>; S],
    is_giving: [Dff<Bit>; S],
    set_new: Dff<Bit>,
    set_stream: Dff<Bits<8>>,
    turns_on: Dff<Bit>,
    entries_log: Dff<Bits<8>>,
    first: Dff<Bits<15>>,
    base: Dff<Bits<64>>,
    exists: Dff<Bit>,
    vacant: Dff<Bit>,
    mask: Dff<Bits<16>>,
    set_writes: Dff<Bit>,
    set_refuses: Dff<Bit>,
    set_done: Dff<Bit>,
    set_refused: Dff<Bit>,

    given_stream: Signal<Local, Bits<8>>,
    set_good: Signal<Local, Bit>,
    set_now: Signal<Local, Bit>,
    writes: Signal<Local, Bit>,

    #[constant(|i| i)]
    index: [Constant<Bits<8>>; S],
    #[constant(1)]
    one: Constant<Bits<16>>,
    #[constant(read_responder::STREAM.lsb)]
    stream_at: Constant<Bits<8>>,
    #[constant(read_responder::ON.lsb)]
    on_at: Constant<Bits<8>>,
    #[constant(read_responder::ENTRIES_LOG.lsb)]
    entries_at: Constant<Bits<8>>,
    #[constant(read_responder::FIRST_MSN.lsb)]
    first_at: Constant<Bits<8>>,
    #[constant(read_responder::BASE.lsb)]
    base_at: Constant<Bits<8>>,
}

impl<const S: usize> Logic for Switch<S> {
    #[hdl_gen]
    fn update(&mut self) {
        comment!(
            "a command: its fields, then the decision, then a cycle in which no slot is written"
        );
        self.given_stream.next = self
            .arguments
            .val()
            .get_bits::<8>(self.stream_at.val().index());
        self.set_stream.d.next = self.given_stream.val();
        self.turns_on.d.next = self.arguments.val().get_bit(self.on_at.val().index());
        self.entries_log.d.next = self
            .arguments
            .val()
            .get_bits::<8>(self.entries_at.val().index());
        self.first.d.next = self
            .arguments
            .val()
            .get_bits::<15>(self.first_at.val().index());
        self.base.d.next = self
            .arguments
            .val()
            .get_bits::<64>(self.base_at.val().index());
        self.exists.d.next = false;
        self.vacant.d.next = false;
        for i in 0..S {
            if self.given_stream.val() == self.index[i].val() {
                self.exists.d.next = true;
                self.vacant.d.next = self.idle[i].val() & !self.is_on[i].q.val();
            }
        }
        self.mask.d.next = (self.one.val() << self.entries_log.q.val().get_bits::<4>(0)) - 1;
        self.set_good.next = self.exists.q.val();
        if self.turns_on.q.val() {
            self.set_good.next = self.vacant.q.val()
                & !self.entries_log.q.val().get_bits::<4>(4).any()
                & self.entries_log.q.val().get_bits::<2>(2).any()
                & !self.base.q.val().get_bits::<6>(0).any();
        }
        self.set_now.next =
            self.set_refuses.q.val() | (self.set_writes.q.val() & !self.slots_busy.val());
        self.set_new.d.next = self.set.val() & !self.set_now.val() & !self.set_done.q.val();
        self.set_writes.d.next = self.set_new.q.val() & !self.set_now.val() & self.set_good.val();
        self.set_refuses.d.next = self.set_new.q.val() & !self.set_now.val() & !self.set_good.val();
        self.set_done.d.next = self.set_now.val();
        self.set_refused.d.next = self.set_refuses.q.val();
        self.set_ready.next = self.set_done.q.val();
        self.set_failed.next = self.set_refused.q.val();
        self.writes.next = self.set_writes.q.val() & !self.slots_busy.val();
        self.align.next = self.writes.val() & self.turns_on.q.val();
        self.align_stream.next = self.set_stream.q.val().get_bits::<4>(0);
        self.places.write.next = self.align.val();
        self.places.write_row.next = self.align_stream.val();
        self.places.data.next.base = self.base.q.val().get_bits::<58>(6);
        self.places.data.next.mask = self.mask.q.val().get_bits::<15>(0);
        self.places.data.next.first = self.first.q.val();
        self.places.data.next.protection_domain = self.protection_domain.val();
        self.places.read_row.next = self.place_stream.val();
        self.place.next = self.places.out.val();

        for i in 0..S {
            if self.writes.val() & (self.set_stream.q.val() == self.index[i].val()) {
                self.is_on[i].d.next = self.turns_on.q.val();
                if self.turns_on.q.val() {
                    self.is_broken[i].d.next = false;
                    self.is_giving[i].d.next = true;
                }
            }
            if self.fails.val() & (bit_cast::<8, 4>(self.fails_stream.val()) == self.index[i].val())
            {
                self.is_on[i].d.next = false;
                self.is_broken[i].d.next = true;
            }
            if self.close.val() & (self.stream.val() == self.index[i].val()) {
                self.is_on[i].d.next = false;
                self.is_giving[i].d.next = false;
            }
            if self.reset.val() {
                self.is_on[i].d.next = false;
                self.is_broken[i].d.next = false;
                self.is_giving[i].d.next = false;
            }
            self.on[i].next = self.is_on[i].q.val();
            self.broken[i].next = self.is_broken[i].q.val();
            self.gives[i].next = self.is_giving[i].q.val();
        }
        if self.reset.val() {
            self.set_new.d.next = false;
            self.set_writes.d.next = false;
            self.set_refuses.d.next = false;
            self.set_done.d.next = false;
        }
    }
}
