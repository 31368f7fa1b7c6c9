//! Payload: walks the elements, or the inline octets, of a segment's payload, and gives them as pieces behind the header.
//!
//! ```text
//!  row ─► rows (2 banks) ─► data ─► element - into ─► n = the smaller one of that and what is left ─► piece
//!                             ▲                                          ▲                              │
//!                             └─ next row, while the piece is weighed ───┴──────── left - n ◄───────────┘
//!  cut ─► header ─► inline pieces, or elements, or nothing ─► finished
//! ```
//!
//! The rows of the next segment are written into one bank while those of this one are read from the other.
//!
//! An element that has no octets, elements whose sum is less than `LENGTH`, or more at the message's end, refuse the segment with
//! [`status::MALFORMED`]: by a piece of its own without octets, or in the last piece. A segment of the same stream that was
//! decided before that was known is flushed here.
//!
//! Latency: the header is offered in the cycle in which `start` rises, `finished` follows as [`walk`] says. Throughput:
//! an inline piece a cycle, an element every two.
//!
//! Assumptions: a row of the segment is written at the latest one cycle before it is read: rows come in their order, one a cycle, and the
//! first one two cycles before `start`.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use crate::host::send_queues;
use crate::parts::queue::Store;
use crate::records::LocalPiece;
use crate::tx::ddp::segment::cut::Cut;
use crate::tx::ddp::segment::scheduler::StreamEvent;
use rust_hdl_core::prelude::*;
use warpline_regmap::transmit::{PAYLOAD_WORD, send_element, status};
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, comment};

/// Octets of a row.
const ROW: usize = 16;
/// Row of the first element or inline octet.
pub const FIRST_ROW: usize = 4 * PAYLOAD_WORD / ROW;
/// Cycles from a row to its data.
pub const ROW_LATENCY: usize = send_queues::ROW_LATENCY;

/// Cycles from the header of a segment to `finished`, with payload of `elements` elements.
#[must_use]
pub const fn walk(elements: usize) -> usize {
    match elements {
        0 => 1,
        _ => 2 + 2 * elements,
    }
}

/// State of the walk.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum Step {
    /// The header is offered if there is a segment.
    Header,
    /// Inline octets are offered.
    Inline,
    /// What is left of the first element is computed.
    Size,
    /// An element is compared with what is left of the segment.
    Weigh,
    /// It is offered.
    Piece,
    /// All pieces were accepted.
    Finished,
}

/// The walk.
#[derive(Block)]
#[block()]
pub struct Payload<const S: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// A segment, stable from `start` to `accept`.
    pub cut: Signal<In, Cut>,
    /// It is valid.
    pub start: Signal<In, Bit>,
    /// Pulse, with `finished`: the next segment can follow.
    pub accept: Signal<In, Bit>,
    /// `clear` of a stream: nothing of it was refused.
    pub clear: Signal<In, StreamEvent>,

    /// A row of a slot arrives.
    pub fill: Signal<In, Bit>,
    /// Bank, and number modulo 8.
    pub fill_row: Signal<In, Bits<4>>,
    /// Its content.
    pub fill_data: Signal<In, Bits<128>>,
    /// A piece.
    pub m_piece: Signal<Out, LocalPiece>,
    /// It is valid.
    pub m_valid: Signal<Out, Bit>,
    /// It is accepted.
    pub m_ready: Signal<In, Bit>,
    /// The last piece was accepted.
    pub finished: Signal<Out, Bit>,
    /// With `finished`: the segment is refused or flushed here.
    pub refused: Signal<Out, Bit>,
    /// With `finished`: element in which the next segment begins.
    pub next_element: Signal<Out, Bits<4>>,
    /// With `finished`: octets of it that were sent.
    pub next_into: Signal<Out, Bits<32>>,
    /// The queue of a stream ends with a segment that is refused here.
    pub refuses: Signal<Out, StreamEvent>,

    row_store: Store<Bits<128>, 4>,
    step: Dff<Step>,
    left: Dff<Bits<16>>,
    index: Dff<Bits<4>>,
    gone: Dff<Bits<32>>,
    data: Dff<Bits<128>>,
    was_refused: Dff<Bit>,
    refuses_now: Dff<StreamEvent>,
    /// A segment of the stream was refused.
    dead: [Dff<Bit>; S],

    stag: Dff<Bits<32>>,
    available: Dff<Bits<32>>,
    offset_low: Dff<Bits<33>>,
    offset_top: Dff<Bits<32>>,
    empty: Dff<Bit>,
    beyond: Dff<Bit>,
    is_last_element: Dff<Bit>,
    offset_high: Dff<Bits<32>>,
    reaches: Dff<Bit>,
    exceeds: Dff<Bit>,
    left_behind: Dff<Bits<16>>,

    fetch: Signal<Local, Bits<4>>,
    sized: Signal<Local, Bits<4>>,
    sizes: Signal<Local, Bit>,
    already: Signal<Local, Bits<32>>,
    is_dead: Signal<Local, Bit>,
    refusal: Signal<Local, Bits<4>>,
    refusal_now: Signal<Local, Bits<4>>,
    inline_last: Signal<Local, Bit>,
    final_piece: Signal<Local, Bit>,
    bad: Signal<Local, Bit>,
    #[constant(status::MALFORMED)]
    malformed: Constant<Bits<4>>,
    #[constant(status::FLUSHED)]
    flushed: Constant<Bits<4>>,
    #[constant(FIRST_ROW)]
    first_row: Constant<Bits<4>>,
    #[constant(8)]
    second_bank: Constant<Bits<4>>,
    #[constant(ROW)]
    row_octets: Constant<Bits<16>>,
    #[constant(|i| i)]
    stream_index: [Constant<Bits<4>>; S],
}

impl<const S: usize> Default for Payload<S> {
    fn default() -> Self {
        let words = [
            send_element::STAG,
            send_element::LENGTH,
            send_element::OFFSET,
        ]
        .map(|field| field.lsb);
        assert_eq!(words, [0, 32, 64], "words as the kernel reads them");
        Self::assemble()
    }
}

impl<const S: usize> Logic for Payload<S> {
    #[hdl_gen]
    fn update(&mut self) {
        self.finished.next = self.step.q.val() == Step::Finished;
        self.refused.next = self.was_refused.q.val();
        self.next_element.next = self.index.q.val();
        self.next_into.next = self.gone.q.val();
        self.refuses.next = self.refuses_now.q.val();

        comment!("rows of the slots");
        self.row_store.write.next = self.fill.val();
        self.row_store.write_row.next = self.fill_row.val();
        self.row_store.data.next = self.fill_data.val();
        self.fetch.next = self.index.q.val() + self.first_row.val() + 1;
        if self.step.q.val() == Step::Header {
            self.fetch.next = self.cut.val().element + self.first_row.val();
        }
        if self.step.q.val() == Step::Piece {
            self.fetch.next = self.index.q.val() + self.first_row.val() + 2;
        }
        self.row_store.read_row.next = bit_cast::<4, 3>(self.fetch.val().get_bits::<3>(0));
        if self.cut.val().bank {
            self.row_store.read_row.next =
                bit_cast::<4, 3>(self.fetch.val().get_bits::<3>(0)) | self.second_bank.val();
        }

        comment!("what an element has, a step ahead of its piece; `into` is for the first one");
        self.sizes.next = (self.step.q.val() == Step::Size)
            | ((self.step.q.val() == Step::Piece) & self.m_ready.val());
        self.already.next = 0.into();
        self.sized.next = self.index.q.val() + 1;
        if self.step.q.val() == Step::Size {
            self.already.next = self.gone.q.val();
            self.sized.next = self.index.q.val();
        }
        if self.sizes.val() {
            self.stag.d.next = self.data.q.val().get_bits::<32>(0);
            self.available.d.next = self.data.q.val().get_bits::<32>(32) - self.already.val();
            self.empty.d.next = !self.data.q.val().get_bits::<32>(32).any();
            self.offset_low.d.next = bit_cast::<33, 32>(self.data.q.val().get_bits::<32>(64))
                + bit_cast::<33, 32>(self.already.val());
            self.offset_top.d.next = self.data.q.val().get_bits::<32>(96);
            self.beyond.d.next = bit_cast::<8, 4>(self.sized.val()) >= self.cut.val().count;
            self.is_last_element.d.next =
                bit_cast::<8, 4>(self.sized.val()) + 1 == self.cut.val().count;
        }
        self.offset_high.d.next = self.offset_top.q.val() + self.offset_low.q.val().get_bit(32);
        self.reaches.d.next = self.available.q.val().get_bits::<16>(16).any()
            | (self.available.q.val().get_bits::<16>(0) >= self.left.q.val());
        self.exceeds.d.next = self.available.q.val().get_bits::<16>(16).any()
            | (self.available.q.val().get_bits::<16>(0) > self.left.q.val());
        self.left_behind.d.next = self.left.q.val() - self.available.q.val().get_bits::<16>(0);
        if self.step.q.val() == Step::Piece {
            self.offset_high.d.next = self.offset_high.q.val();
            self.reaches.d.next = self.reaches.q.val();
            self.exceeds.d.next = self.exceeds.q.val();
            self.left_behind.d.next = self.left_behind.q.val();
        }
        self.final_piece.next = self.reaches.q.val() | self.empty.q.val() | self.beyond.q.val();
        self.bad.next = self.empty.q.val()
            | self.beyond.q.val()
            | (self.cut.val().last
                & self.reaches.q.val()
                & (self.exceeds.q.val() | !self.is_last_element.q.val()));
        self.inline_last.next = self.left.q.val() <= self.row_octets.val();

        comment!("a segment behind a refused one");
        self.is_dead.next = false;
        for i in 0..S {
            if self.cut.val().stream.get_bits::<4>(0) == self.stream_index[i].val() {
                self.is_dead.next = self.dead[i].q.val();
            }
        }
        self.refusal.next = self.cut.val().refusal;
        if self.is_dead.val() {
            self.refusal.next = self.flushed.val();
        }

        self.m_valid.next = false;
        self.refusal_now.next = 0.into();
        self.m_piece.next.stream = self.cut.val().stream;
        self.m_piece.next.protection_domain = self.cut.val().protection_domain;
        self.m_piece.next.memory = false;
        self.m_piece.next.length = self.available.q.val().get_bits::<16>(0);
        self.m_piece.next.content = (bit_cast::<144, 32>(self.offset_high.q.val()) << 64)
            | (bit_cast::<144, 32>(self.offset_low.q.val().get_bits::<32>(0)) << 32)
            | bit_cast::<144, 32>(self.stag.q.val());
        self.m_piece.next.last = self.final_piece.val();

        self.refuses_now.d.next.valid = false;
        self.refuses_now.d.next.stream = self.cut.val().stream;
        match self.step.q.val() {
            Step::Header => {
                self.data.d.next = self.row_store.out.val();
                self.left.d.next = self.cut.val().octets;
                self.index.d.next = self.cut.val().element;
                self.gone.d.next = self.cut.val().into;
                self.was_refused.d.next = self.is_dead.val();
                self.m_valid.next = self.start.val();
                self.refusal_now.next = self.refusal.val();
                self.m_piece.next.length = self.cut.val().header_length;
                self.m_piece.next.content = self.cut.val().header;
                self.m_piece.next.last = !self.cut.val().octets.any();
                if self.refusal.val().any() {
                    self.m_piece.next.length = 0.into();
                    self.m_piece.next.last = true;
                }
                if self.start.val() & self.m_ready.val() {
                    self.step.d.next = Step::Size;
                    if self.cut.val().in_slot {
                        self.step.d.next = Step::Inline;
                    }
                    if self.refusal.val().any() | !self.cut.val().octets.any() {
                        self.step.d.next = Step::Finished;
                    }
                }
            }
            Step::Inline => {
                self.m_valid.next = true;
                self.m_piece.next.length = self.row_octets.val();
                if self.inline_last.val() {
                    self.m_piece.next.length = self.left.q.val();
                }
                self.m_piece.next.content = bit_cast::<144, 128>(self.data.q.val());
                self.m_piece.next.last = self.inline_last.val();
                if self.m_ready.val() {
                    self.data.d.next = self.row_store.out.val();
                    self.index.d.next = self.index.q.val() + 1;
                    self.left.d.next = self.left.q.val() - self.row_octets.val();
                    if self.inline_last.val() {
                        self.step.d.next = Step::Finished;
                    }
                }
            }
            Step::Size => {
                self.data.d.next = self.row_store.out.val();
                self.step.d.next = Step::Weigh;
            }
            Step::Weigh => {
                self.step.d.next = Step::Piece;
            }
            Step::Piece => {
                self.m_valid.next = true;
                self.m_piece.next.memory = !self.bad.val();
                if self.reaches.q.val() {
                    self.m_piece.next.length = self.left.q.val();
                }
                if self.bad.val() {
                    self.refusal_now.next = self.malformed.val();
                    self.m_piece.next.length = 0.into();
                }
                if self.m_ready.val() {
                    self.data.d.next = self.row_store.out.val();
                    self.left.d.next = self.left_behind.q.val();
                    self.gone.d.next = self.gone.q.val() + bit_cast::<32, 16>(self.left.q.val());
                    if !self.exceeds.q.val() {
                        self.index.d.next = self.index.q.val() + 1;
                        self.gone.d.next = 0.into();
                    }
                    self.step.d.next = Step::Weigh;
                    if self.final_piece.val() {
                        self.was_refused.d.next = self.bad.val();
                        self.refuses_now.d.next.valid = self.bad.val();
                        self.step.d.next = Step::Finished;
                    }
                }
            }
            Step::Finished => {
                if self.accept.val() {
                    self.step.d.next = Step::Header;
                }
            }
        }
        self.m_piece.next.refused = self.refusal_now.val();
        self.m_piece.next.remote = self.cut.val().response;
        for i in 0..S {
            if self.refuses_now.q.val().valid
                & (self.refuses_now.q.val().stream.get_bits::<4>(0) == self.stream_index[i].val())
            {
                self.dead[i].d.next = true;
            }
            if self.clear.val().valid
                & (self.clear.val().stream.get_bits::<4>(0) == self.stream_index[i].val())
            {
                self.dead[i].d.next = false;
            }
        }
        if self.reset.val() {
            self.step.d.next = Step::Header;
            self.refuses_now.d.next.valid = false;
            for i in 0..S {
                self.dead[i].d.next = false;
            }
        }
    }
}
