//! Payload: walks the elements, or the inline octets, of a segment's payload, and gives them as pieces behind the header.
//!
//! ```text
//!  start ─► header ─► row ─► element - into ─► n = the smaller one of that and what is left ─► piece ─► next element
//!             │                                                                                 │
//!             └── no payload ───────────────────────────────────────────────────────────────────┴─► done
//! ```
//!
//! An element that has no octets, elements whose sum is less than `LENGTH`, or more at the message's end, refuse the segment with
//! [`status::MALFORMED`]: by a piece of its own without octets, or in the last piece.
//!
//! Latency: the header is offered in the cycle behind `start`; each piece of the payload [`PIECE`] cycles behind the one
//! before it was accepted; `done` is a pulse in the cycle behind the last one.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use crate::host::send_queues;
use crate::records::LocalPiece;
use rust_hdl_core::prelude::*;
use warpline_regmap::transmit::{PAYLOAD_WORD, send_element, status};
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, comment};

/// Octets of a row.
const ROW: usize = 16;
/// Row of the first element or inline octet.
const FIRST_ROW: usize = 4 * PAYLOAD_WORD / ROW;
/// Cycles from a row to its data.
pub const ROW_LATENCY: usize = send_queues::ROW_LATENCY;
/// Cycles from one piece of the payload to the next.
pub const PIECE: usize = ROW_LATENCY + 5;

/// State of the walk.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum Step {
    /// No segment.
    Idle,
    /// The header is offered.
    Header,
    /// A row is read, and the piece is computed.
    Row,
    /// The piece is offered.
    Piece,
}

/// The walk.
#[derive(Block)]
#[block()]
pub struct Payload {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// Pulse: a segment begins. All other inputs are stable from here to `done`.
    pub start: Signal<In, Bit>,
    /// With `start`: not zero if the segment is not sent, `status`; the only piece says so.
    pub refusal: Signal<In, Bits<4>>,
    /// Stream number.
    pub stream: Signal<In, Bits<8>>,
    /// Its protection domain.
    pub protection_domain: Signal<In, Bits<16>>,
    /// The header.
    pub header: Signal<In, Bits<144>>,
    /// Its octets.
    pub header_length: Signal<In, Bits<16>>,
    /// Payload octets of the segment.
    pub octets: Signal<In, Bits<16>>,
    /// Last segment of its message.
    pub last: Signal<In, Bit>,
    /// The payload lies in the slot.
    pub inline: Signal<In, Bit>,
    /// Elements of the message.
    pub count: Signal<In, Bits<8>>,
    /// Element in which the payload begins.
    pub element: Signal<In, Bits<4>>,
    /// Octets of it that were sent.
    pub into: Signal<In, Bits<32>>,

    /// Row of the slot to read.
    pub row: Signal<Out, Bits<4>>,
    /// Its content, [`ROW_LATENCY`] cycles later.
    pub row_data: Signal<In, Bits<128>>,
    /// A piece.
    pub m_piece: Signal<Out, LocalPiece>,
    /// It is valid.
    pub m_valid: Signal<Out, Bit>,
    /// It is accepted.
    pub m_ready: Signal<In, Bit>,
    /// Pulse: the last piece was accepted.
    pub done: Signal<Out, Bit>,
    /// From `done` to `start`: the segment is refused here.
    pub refused: Signal<Out, Bit>,
    /// From `done` to `start`: element in which the next segment begins.
    pub next_element: Signal<Out, Bits<4>>,
    /// From `done` to `start`: octets of it that were sent.
    pub next_into: Signal<Out, Bits<32>>,

    step: Dff<Step>,
    pause: Dff<Bits<3>>,
    finished: Dff<Bit>,
    was_refused: Dff<Bit>,
    left: Dff<Bits<16>>,
    index: Dff<Bits<4>>,
    gone: Dff<Bits<32>>,
    data: Dff<Bits<128>>,
    available: Dff<Bits<32>>,
    empty: Dff<Bit>,
    beyond: Dff<Bit>,
    is_last_element: Dff<Bit>,
    offset_low: Dff<Bits<33>>,
    offset_high: Dff<Bits<32>>,
    reaches: Dff<Bit>,
    exceeds: Dff<Bit>,
    whole: Dff<Bit>,
    bad: Dff<Bit>,
    amount: Dff<Bits<16>>,
    final_piece: Dff<Bit>,
    refusal_now: Signal<Local, Bits<4>>,
    piece_length: Signal<Local, Bits<16>>,
    #[constant(status::MALFORMED)]
    malformed: Constant<Bits<4>>,
    #[constant(FIRST_ROW)]
    first_row: Constant<Bits<4>>,
    #[constant(ROW)]
    row_octets: Constant<Bits<32>>,
    #[constant(PIECE - 2)]
    pause_between: Constant<Bits<3>>,
}

impl Default for Payload {
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

impl Logic for Payload {
    #[hdl_gen]
    fn update(&mut self) {
        self.row.next = self.index.q.val() + self.first_row.val();
        self.done.next = self.finished.q.val();
        self.refused.next = self.was_refused.q.val();
        self.next_element.next = self.index.q.val();
        self.next_into.next = self.gone.q.val();

        comment!("the element, from its row on in the pace of the registers");
        self.data.d.next = self.row_data.val();
        self.beyond.d.next =
            !self.inline.val() & (bit_cast::<8, 4>(self.index.q.val()) >= self.count.val());
        self.is_last_element.d.next =
            self.inline.val() | (bit_cast::<8, 4>(self.index.q.val()) + 1 == self.count.val());
        self.available.d.next = self.data.q.val().get_bits::<32>(32) - self.gone.q.val();
        self.empty.d.next = !self.data.q.val().get_bits::<32>(32).any();
        if self.inline.val() {
            self.available.d.next = self.row_octets.val();
            self.empty.d.next = false;
        }
        self.offset_low.d.next = bit_cast::<33, 32>(self.data.q.val().get_bits::<32>(64))
            + bit_cast::<33, 32>(self.gone.q.val());
        self.offset_high.d.next =
            self.data.q.val().get_bits::<32>(96) + self.offset_low.q.val().get_bit(32);
        self.reaches.d.next = self.available.q.val().get_bits::<16>(16).any()
            | (self.available.q.val().get_bits::<16>(0) >= self.left.q.val());
        self.exceeds.d.next = self.available.q.val().get_bits::<16>(16).any()
            | (self.available.q.val().get_bits::<16>(0) > self.left.q.val());
        self.amount.d.next = self.available.q.val().get_bits::<16>(0);
        if self.reaches.q.val() {
            self.amount.d.next = self.left.q.val();
        }
        self.final_piece.d.next = self.reaches.q.val() | self.empty.q.val() | self.beyond.q.val();
        self.whole.d.next = !self.exceeds.q.val();
        self.bad.d.next = self.empty.q.val()
            | self.beyond.q.val()
            | (self.last.val()
                & !self.inline.val()
                & self.reaches.q.val()
                & (self.exceeds.q.val() | !self.is_last_element.q.val()));

        self.piece_length.next = self.amount.q.val();
        if self.bad.q.val() {
            self.piece_length.next = 0.into();
        }
        self.m_valid.next = false;
        self.refusal_now.next = 0.into();
        self.m_piece.next.stream = self.stream.val();
        self.m_piece.next.protection_domain = self.protection_domain.val();
        self.m_piece.next.memory = !self.inline.val() & !self.bad.q.val();
        self.m_piece.next.length = self.piece_length.val();
        self.m_piece.next.content = bit_cast::<144, 128>(self.data.q.val());
        if !self.inline.val() {
            self.m_piece.next.content = (bit_cast::<144, 32>(self.offset_high.q.val()) << 64)
                | (bit_cast::<144, 32>(self.offset_low.q.val().get_bits::<32>(0)) << 32)
                | bit_cast::<144, 32>(self.data.q.val().get_bits::<32>(0));
        }
        self.m_piece.next.last = self.final_piece.q.val();

        self.finished.d.next = false;
        match self.step.q.val() {
            Step::Idle => {
                if self.start.val() {
                    self.left.d.next = self.octets.val();
                    self.index.d.next = self.element.val();
                    self.gone.d.next = self.into.val();
                    self.was_refused.d.next = false;
                    self.step.d.next = Step::Header;
                }
            }
            Step::Header => {
                self.m_valid.next = true;
                self.refusal_now.next = self.refusal.val();
                self.m_piece.next.memory = false;
                self.m_piece.next.length = self.header_length.val();
                self.m_piece.next.content = self.header.val();
                self.m_piece.next.last = !self.left.q.val().any();
                if self.refusal.val().any() {
                    self.m_piece.next.length = 0.into();
                    self.m_piece.next.last = true;
                }
                if self.m_ready.val() {
                    self.pause.d.next = self.pause_between.val();
                    self.step.d.next = Step::Row;
                    if self.refusal.val().any() | !self.left.q.val().any() {
                        self.finished.d.next = true;
                        self.step.d.next = Step::Idle;
                    }
                }
            }
            Step::Row => {
                self.pause.d.next = self.pause.q.val() - 1;
                if !self.pause.q.val().any() {
                    self.step.d.next = Step::Piece;
                }
            }
            Step::Piece => {
                self.m_valid.next = true;
                if self.bad.q.val() {
                    self.refusal_now.next = self.malformed.val();
                }
                if self.m_ready.val() {
                    self.pause.d.next = self.pause_between.val();
                    self.step.d.next = Step::Row;
                    self.left.d.next = self.left.q.val() - self.amount.q.val();
                    self.gone.d.next = self.gone.q.val() + bit_cast::<32, 16>(self.amount.q.val());
                    if self.whole.q.val() {
                        self.index.d.next = self.index.q.val() + 1;
                        self.gone.d.next = 0.into();
                    }
                    if self.final_piece.q.val() {
                        self.was_refused.d.next = self.bad.q.val();
                        self.finished.d.next = true;
                        self.step.d.next = Step::Idle;
                    }
                }
            }
        }
        self.m_piece.next.refused = self.refusal_now.val();
        if self.reset.val() {
            self.step.d.next = Step::Idle;
            self.finished.d.next = false;
        }
    }
}
