//! Request: what the first two rows of a slot say, and how much of the message one segment takes.
//!
//! ```text
//!  row 0: head, STag or QN, offset ──┬─► fields
//!  row 1: RsvdULP, LENGTH, REQUEST ──┤
//!                                    ├─► malformed
//!  sent ─► LENGTH - sent, offset + sent ─► more than MULPDU less header? ─► octets, final, Tagged Offset
//! ```
//!
//! A request is malformed here if its kind, its reserved bits or its `COUNT` are not allowed, if `LENGTH` contradicts
//! `COUNT`, if a tagged message runs past 2^64, or if an untagged queue is none whose messages are counted. What the elements say
//! is judged when they are used.
//!
//! All results follow the later of the last `take` and `sent`, `mulpdu` by [`LATENCY`] cycles. No reset.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use rust_hdl_core::prelude::*;
use warpline_regmap::transmit::{ELEMENTS_MAX, HEAD_BITS, INLINE_MAX, QUEUES, send_slot, target};
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, Record, comment};
use warpline_wire::ddp;

/// Cycles from the last input to the results.
pub const LATENCY: usize = 4;

/// What the head of a slot says.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct SlotHead {
    /// The first word.
    pub head: Bits<32>,
    /// `STAG`, or `QUEUE`.
    pub stag: Bits<32>,
    /// `OFFSET`.
    pub offset: Bits<64>,
    /// `RSVD_ULP_LOW`.
    pub rsvd_ulp_low: Bits<32>,
    /// `LENGTH`.
    pub length: Bits<32>,
    /// `REQUEST`.
    pub request: Bits<64>,
}

/// The request in work.
#[derive(Block)]
#[block()]
pub struct Request {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// A row of the slot, its first word in bits 31:0.
    pub row: Signal<In, Bits<128>>,
    /// It is the first one.
    pub take_0: Signal<In, Bit>,
    /// It is the second one.
    pub take_1: Signal<In, Bit>,
    /// Octets of the message that are sent already.
    pub sent: Signal<In, Bits<32>>,
    /// Most octets of a ULPDU.
    pub mulpdu: Signal<In, Bits<16>>,

    /// The head of the slot.
    pub slot: Signal<Out, SlotHead>,
    /// It is no valid request.
    pub malformed: Signal<Out, Bit>,
    /// A tagged message.
    pub is_tagged: Signal<Out, Bit>,
    /// The payload lies in the slot.
    pub inline: Signal<Out, Bit>,
    /// Elements of the payload, or its octets if it lies in the slot.
    pub count: Signal<Out, Bits<8>>,
    /// Payload octets of the segment.
    pub octets: Signal<Out, Bits<16>>,
    /// It is the last one of its message.
    pub last: Signal<Out, Bit>,
    /// It is the first one.
    pub first: Signal<Out, Bit>,
    /// Tagged Offset of its first octet.
    pub tagged_offset: Signal<Out, Bits<64>>,
    /// `SIGNALLED`.
    pub signalled: Signal<Out, Bit>,
    /// `FENCE`.
    pub fence: Signal<Out, Bit>,
    /// `TERMINATE`.
    pub terminate: Signal<Out, Bit>,

    slot_now: Dff<SlotHead>,
    tagged_1: Dff<Bit>,
    left_1: Dff<Bits<32>>,
    room_tagged_1: Dff<Bits<16>>,
    room_untagged_1: Dff<Bits<16>>,
    room_2: Dff<Bits<16>>,
    left_2: Dff<Bits<32>>,
    more_3: Dff<Bit>,
    to_low_1: Dff<Bits<33>>,
    to_high_2: Dff<Bits<32>>,
    end_low_1: Dff<Bits<33>>,
    end_high_2: Dff<Bits<33>>,
    kind_1: Dff<Bit>,
    reserved_1: Dff<Bit>,
    count_1: Dff<Bit>,
    queue_1: Dff<Bit>,
    sum_1: Dff<Bit>,
    malformed_2: Dff<Bit>,
    malformed_3: Dff<Bit>,
    first_1: Dff<Bit>,
    wraps: Signal<Local, Bit>,
    word: Signal<Local, Bits<32>>,
    kind: Signal<Local, Bits<4>>,
    counted: Signal<Local, Bits<8>>,
    is_inline: Signal<Local, Bit>,
    #[constant(!HEAD_BITS)]
    reserved: Constant<Bits<32>>,
    #[constant(target::TAGGED)]
    kind_tagged: Constant<Bits<4>>,
    #[constant(target::UNTAGGED)]
    kind_untagged: Constant<Bits<4>>,
    #[constant(ELEMENTS_MAX)]
    most_elements: Constant<Bits<8>>,
    #[constant(INLINE_MAX)]
    most_inline: Constant<Bits<8>>,
    #[constant(ddp::TAGGED_HEADER_LEN)]
    tagged_header: Constant<Bits<16>>,
    #[constant(ddp::UNTAGGED_HEADER_LEN)]
    untagged_header: Constant<Bits<16>>,
    #[constant(QUEUES.ilog2())]
    queue_bits: Constant<Bits<8>>,
    #[constant(send_slot::KIND.in_word(0))]
    kind_at: Constant<Bits<8>>,
    #[constant(send_slot::SIGNALLED.in_word(0))]
    signalled_at: Constant<Bits<8>>,
    #[constant(send_slot::FENCE.in_word(0))]
    fence_at: Constant<Bits<8>>,
    #[constant(send_slot::TERMINATE.in_word(0))]
    terminate_at: Constant<Bits<8>>,
    #[constant(send_slot::INLINE.in_word(0))]
    inline_at: Constant<Bits<8>>,
    #[constant(send_slot::COUNT.in_word(0))]
    count_at: Constant<Bits<8>>,
}

impl Default for Request {
    fn default() -> Self {
        let words = [
            send_slot::STAG,
            send_slot::QUEUE,
            send_slot::OFFSET,
            send_slot::RSVD_ULP_LOW,
            send_slot::LENGTH,
            send_slot::REQUEST,
        ]
        .map(|field| field.lsb);
        assert_eq!(
            words,
            [32, 32, 64, 128, 160, 192],
            "words as the kernel reads them"
        );
        Self::assemble()
    }
}

impl Logic for Request {
    #[hdl_gen]
    fn update(&mut self) {
        if self.take_0.val() {
            self.slot_now.d.next.head = self.row.val().get_bits::<32>(0);
            self.slot_now.d.next.stag = self.row.val().get_bits::<32>(32);
            self.slot_now.d.next.offset = self.row.val().get_bits::<64>(64);
        }
        if self.take_1.val() {
            self.slot_now.d.next.rsvd_ulp_low = self.row.val().get_bits::<32>(0);
            self.slot_now.d.next.length = self.row.val().get_bits::<32>(32);
            self.slot_now.d.next.request = self.row.val().get_bits::<64>(64);
        }
        self.slot.next = self.slot_now.q.val();
        self.word.next = self.slot_now.q.val().head;
        self.kind.next = self.word.val().get_bits::<4>(self.kind_at.val().index());
        self.counted.next = self.word.val().get_bits::<8>(self.count_at.val().index());
        self.is_inline.next = self.word.val().get_bit(self.inline_at.val().index());
        self.is_tagged.next = self.tagged_1.q.val();
        self.inline.next = self.is_inline.val();
        self.count.next = self.counted.val();
        self.signalled.next = self.word.val().get_bit(self.signalled_at.val().index());
        self.fence.next = self.word.val().get_bit(self.fence_at.val().index());
        self.terminate.next = self.word.val().get_bit(self.terminate_at.val().index());

        comment!(
            "octets of the segment: what is left of the message, or what the ULPDU has room for"
        );
        self.tagged_1.d.next = self.kind.val() == self.kind_tagged.val();
        self.left_1.d.next = self.slot_now.q.val().length - self.sent.val();
        self.room_tagged_1.d.next = self.mulpdu.val() - self.tagged_header.val();
        self.room_untagged_1.d.next = self.mulpdu.val() - self.untagged_header.val();
        self.room_2.d.next = self.room_untagged_1.q.val();
        if self.tagged_1.q.val() {
            self.room_2.d.next = self.room_tagged_1.q.val();
        }
        self.left_2.d.next = self.left_1.q.val();
        self.more_3.d.next = self.left_2.q.val().get_bits::<16>(16).any()
            | (self.left_2.q.val().get_bits::<16>(0) > self.room_2.q.val());
        self.octets.next = self.left_2.q.val().get_bits::<16>(0);
        if self.more_3.q.val() {
            self.octets.next = self.room_2.q.val();
        }
        self.last.next = !self.more_3.q.val();
        self.first_1.d.next = !self.sent.val().any();
        self.first.next = self.first_1.q.val();

        comment!("Tagged Offset of the segment and of the message's end, in halves");
        self.to_low_1.d.next = bit_cast::<33, 32>(self.slot_now.q.val().offset.get_bits::<32>(0))
            + bit_cast::<33, 32>(self.sent.val());
        self.to_high_2.d.next =
            self.slot_now.q.val().offset.get_bits::<32>(32) + self.to_low_1.q.val().get_bit(32);
        self.tagged_offset.next = (bit_cast::<64, 32>(self.to_high_2.q.val()) << 32)
            | bit_cast::<64, 32>(self.to_low_1.q.val().get_bits::<32>(0));
        self.end_low_1.d.next = bit_cast::<33, 32>(self.slot_now.q.val().offset.get_bits::<32>(0))
            + bit_cast::<33, 32>(self.slot_now.q.val().length);
        self.end_high_2.d.next =
            bit_cast::<33, 32>(self.slot_now.q.val().offset.get_bits::<32>(32))
                + self.end_low_1.q.val().get_bit(32);
        comment!("the end may be 2^64");
        self.wraps.next = self.end_high_2.q.val().get_bit(32)
            & (self.end_high_2.q.val().get_bits::<32>(0).any()
                | self.end_low_1.q.val().get_bits::<32>(0).any());

        self.kind_1.d.next = (self.kind.val() != self.kind_tagged.val())
            & (self.kind.val() != self.kind_untagged.val());
        self.reserved_1.d.next = (self.word.val() & self.reserved.val()).any();
        self.count_1.d.next = self.counted.val() > self.most_elements.val();
        if self.is_inline.val() {
            self.count_1.d.next = self.counted.val() > self.most_inline.val();
        }
        self.queue_1.d.next = (self.slot_now.q.val().stag >> self.queue_bits.val()).any();
        self.sum_1.d.next = self.counted.val().any() != self.slot_now.q.val().length.any();
        if self.is_inline.val() {
            self.sum_1.d.next =
                bit_cast::<32, 8>(self.counted.val()) != self.slot_now.q.val().length;
        }
        self.malformed_2.d.next = self.kind_1.q.val()
            | self.reserved_1.q.val()
            | self.count_1.q.val()
            | self.sum_1.q.val()
            | (self.queue_1.q.val() & !self.tagged_1.q.val());
        self.malformed_3.d.next =
            self.malformed_2.q.val() | (self.wraps.val() & self.tagged_1.q.val());
        self.malformed.next = self.malformed_3.q.val();
    }
}
