//! Landing: beats from the bus become octets of slots, and slots complete.
//!
//! ```text
//!  R ─►[beat]─►[burst, number of the beat]─────────────► write to the slot RAM
//!                │ first word: COUNT, INLINE ─►[more?]─► rest_valid, rest
//!                └ refused, too short ────────────────► finished, failed
//! ```
//!
//! A beat is registered in front of everything, and always accepted. The beats are counted from the beginning of the slot.
//! The last one of the first 64 octets either ends the slot, or asks for the rest of it: when `COUNT` says that there are
//! more elements, or more inline octets, than the first 64 octets have room for. A `COUNT` that no request may have asks
//! for nothing. A slot has failed when the bus refuses a beat, or ends a burst too early; then nothing more of it is read.
//!
//! Latency: 2 cycles from a beat to `write`, 3 to `finished` and `rest_valid`. Throughput: one beat a cycle.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use crate::host::send_queues::bursts::{FIRST, SlotBurst};
use rust_hdl_core::prelude::*;
use warpline_regmap::transmit::{ELEMENTS_MAX, INLINE_MAX, PAYLOAD_WORD, send_element, send_slot};
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, comment};

/// Octets of an element.
pub const ELEMENT: usize = 4 * send_element::WORDS;
/// Inline octets in the first burst.
pub const FIRST_INLINE: usize = FIRST - 4 * PAYLOAD_WORD;
/// Elements in the first burst.
pub const FIRST_ELEMENTS: usize = FIRST_INLINE / ELEMENT;

const _: () = assert!(
    ELEMENT == 16 && INLINE_MAX - FIRST_INLINE == 32,
    "the kernel counts octets by bits of COUNT"
);

/// Beats of W bits, K octets.
#[derive(Block)]
#[block(default)]
pub struct Landing<const W: usize, const K: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// RVALID.
    pub rvalid: Signal<In, Bit>,
    /// RDATA.
    pub rdata: Signal<In, Bits<W>>,
    /// RRESP.
    pub rresp: Signal<In, Bits<2>>,
    /// RLAST.
    pub rlast: Signal<In, Bit>,
    /// The oldest burst that is not answered.
    pub burst: Signal<In, SlotBurst>,
    /// Its last beat is there.
    pub burst_taken: Signal<Out, Bit>,

    /// Writes `data`.
    pub write: Signal<Out, Bit>,
    /// Slot to write, or to complete or to continue a cycle later.
    pub slot: Signal<Out, SlotBurst>,
    /// Beat of it.
    pub beat: Signal<Out, Bits<5>>,
    /// Octets of the beat.
    pub data: Signal<Out, Bits<W>>,

    /// Pulse: a slot is complete.
    pub finished: Signal<Out, Bit>,
    /// Its stream.
    pub finished_stream: Signal<Out, Bits<4>>,
    /// Its place.
    pub finished_index: Signal<Out, Bits<4>>,
    /// It could not be read.
    pub failed: Signal<Out, Bit>,
    /// Pulse: a slot has more octets.
    pub rest_valid: Signal<Out, Bit>,
    /// The burst that reads them.
    pub rest: Signal<Out, SlotBurst>,

    valid_0: Dff<Bit>,
    data_0: Dff<Bits<W>>,
    error_0: Dff<Bit>,
    last_0: Dff<Bit>,
    begins: Dff<Bit>,
    count: Dff<Bits<5>>,
    bad: Dff<Bit>,
    in_slot: Dff<Bit>,
    counted: Dff<Bits<8>>,

    valid_1: Dff<Bit>,
    data_1: Dff<Bits<W>>,
    last_1: Dff<Bit>,
    number_1: Dff<Bits<5>>,
    burst_1: Dff<SlotBurst>,

    ends_2: Dff<Bit>,
    burst_2: Dff<SlotBurst>,
    failed_2: Dff<Bit>,
    more_2: Dff<Bit>,
    octets_2: Dff<Bits<8>>,

    first_number: Signal<Local, Bits<5>>,
    more_elements: Signal<Local, Bits<8>>,
    more_octets: Signal<Local, Bits<8>>,
    continues: Signal<Local, Bit>,

    #[constant(FIRST / K)]
    first_beats: Constant<Bits<5>>,
    #[constant(FIRST_ELEMENTS + 1)]
    elements_more: Constant<Bits<8>>,
    #[constant(ELEMENTS_MAX - FIRST_ELEMENTS)]
    elements_span: Constant<Bits<8>>,
    #[constant(FIRST_INLINE + 1)]
    inline_more: Constant<Bits<8>>,
    #[constant(INLINE_MAX - FIRST_INLINE)]
    inline_span: Constant<Bits<8>>,
    #[constant(ELEMENT.ilog2())]
    element_bits: Constant<Bits<8>>,
    #[constant(ELEMENT - 1)]
    element_last: Constant<Bits<8>>,
    #[constant(K.ilog2())]
    beat_bits: Constant<Bits<8>>,
    #[constant(send_slot::INLINE.in_word(0))]
    inline_at: Constant<Bits<8>>,
    #[constant(send_slot::COUNT.in_word(0))]
    count_at: Constant<Bits<8>>,
}

impl<const W: usize, const K: usize> Logic for Landing<W, K> {
    #[hdl_gen]
    fn update(&mut self) {
        self.valid_0.d.next = self.rvalid.val();
        self.data_0.d.next = self.rdata.val();
        self.error_0.d.next = self.rresp.val().get_bit(1);
        self.last_0.d.next = self.rlast.val();

        comment!("which beat of which slot; what its first word says");
        self.first_number.next = 0.into();
        if self.burst.val().rest {
            self.first_number.next = self.first_beats.val();
        }
        self.burst_taken.next = self.valid_0.q.val() & self.last_0.q.val();
        if self.valid_0.q.val() {
            self.count.d.next = self.count.q.val() + 1;
            self.begins.d.next = false;
            self.bad.d.next = self.error_0.q.val() | (self.bad.q.val() & !self.begins.q.val());
            if self.begins.q.val() {
                self.in_slot.d.next = self.data_0.q.val().get_bit(self.inline_at.val().index());
                self.counted.d.next = self
                    .data_0
                    .q
                    .val()
                    .get_bits::<8>(self.count_at.val().index());
            }
            if self.last_0.q.val() {
                self.count.d.next = 0.into();
                self.begins.d.next = true;
            }
        }
        self.valid_1.d.next = self.valid_0.q.val();
        self.data_1.d.next = self.data_0.q.val();
        self.last_1.d.next = self.last_0.q.val();
        self.number_1.d.next = self.first_number.val() + self.count.q.val();
        self.burst_1.d.next = self.burst.val();

        comment!("into the RAM");
        self.write.next = self.valid_1.q.val();
        self.slot.next = self.burst_1.q.val();
        self.beat.next = self.number_1.q.val();
        self.data.next = self.data_1.q.val();

        comment!("what is behind the first 64 octets: octets less one");
        self.more_elements.next = self.counted.q.val() - self.elements_more.val();
        self.more_octets.next = self.counted.q.val() - self.inline_more.val();
        self.ends_2.d.next = self.valid_1.q.val() & self.last_1.q.val();
        self.burst_2.d.next = self.burst_1.q.val();
        self.failed_2.d.next =
            self.bad.q.val() | (self.number_1.q.val() != self.burst_1.q.val().final_beat);
        self.more_2.d.next =
            !self.burst_1.q.val().rest & (self.more_elements.val() < self.elements_span.val());
        self.octets_2.d.next =
            (self.more_elements.val() << self.element_bits.val()) | self.element_last.val();
        if self.in_slot.q.val() {
            self.more_2.d.next =
                !self.burst_1.q.val().rest & (self.more_octets.val() < self.inline_span.val());
            self.octets_2.d.next = self.more_octets.val();
        }

        self.continues.next = self.more_2.q.val() & !self.failed_2.q.val();
        self.finished.next = self.ends_2.q.val() & !self.continues.val();
        self.finished_stream.next = self.burst_2.q.val().stream;
        self.finished_index.next = self.burst_2.q.val().index;
        self.failed.next = self.failed_2.q.val();
        self.rest_valid.next = self.ends_2.q.val() & self.continues.val();
        self.rest.next.stream = self.burst_2.q.val().stream;
        self.rest.next.index = self.burst_2.q.val().index;
        self.rest.next.block = self.burst_2.q.val().block;
        self.rest.next.rest = true;
        self.rest.next.final_beat = self.first_beats.val()
            + (self.octets_2.q.val() >> self.beat_bits.val()).get_bits::<5>(0);
        if self.reset.val() {
            self.valid_0.d.next = false;
            self.valid_1.d.next = false;
            self.ends_2.d.next = false;
            self.begins.d.next = true;
            self.count.d.next = 0.into();
        }
    }
}
