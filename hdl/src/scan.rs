//! Scan: follows the chain of lengths and says where whole FPDUs lie.
//!
//! ```text
//!  landed ─► edge ─┐                                            ┌─ whole? ─► Fpdu ─► fetch
//!                  ├─► pick a stream ─► header RAM ─► length ───┤
//!  at, need ───────┘   (round robin)     (2 cycles)    count    └─ no: wait until `need` octets are there
//! ```
//!
//! A stream is worth a look when the octets that it needs have landed: 4 for ULPDU_Length (8 with a leading marker), later
//! the whole FPDU. ULPDU_Length is taken from the ring, so it does not matter how segments cut it. The length on the wire
//! counts markers (MPA-FMT-10): with c dwords of content whose first stands h dwords behind a marker position,
//! (h + c - 2) / 127 markers follow inside the FPDU, because 127 dwords lie between two of them.
//!
//! One FPDU takes [`CYCLES`] cycles, waiting streams cost none; alone, it goes out 16 cycles after its last octet has
//! landed, or 7 when its length was known before. A length above `max_ulpdu`, or an FPDU above the
//! buffers, goes out as a refused FPDU, and its stream is not looked at again (AMB-21, AMB-22).
use crate::dff::Dff;
use crate::queue::Queue;
use crate::records::Fpdu;
use crate::util::{array, d};
use crate::Config;
use rust_hdl_core::prelude::*;
use rust_hdl_widgets::dff_setup;
use warpline_regmap::layout::refused;

/// Cycles from one look at a stream to the next look at any.
pub const CYCLES: usize = 17;

/// What the scanner is doing.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum Step {
    /// Choosing a stream.
    Pick,
    /// Taking over what is known of it.
    Address,
    /// Finding the row of its ULPDU_Length.
    Access,
    /// Waiting for the header RAM.
    Arrive,
    /// ULPDU_Length is there.
    Length,
    /// Counting its dwords without markers.
    Content,
    /// Adding those since the last marker position.
    Span,
    /// Dividing by 127.
    Rest,
    /// Counting markers.
    Markers,
    /// Adding them up.
    Total,
    /// Judging and keeping the length.
    Decide,
    /// Is the FPDU whole?
    Weigh,
    /// Giving it to `fetch`.
    Issue,
    /// Waiting until the registers of the streams have followed.
    Settle,
}

/// Scanner of S streams over header rows of H bits = 16·D, D = 2^LOGD dwords.
#[derive(LogicBlock)]
pub struct Scan<const H: usize, const LOGD: usize, const S: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// Pulse: octets of `landed_stream` are in the ring up to `landed_edge`.
    pub landed: Signal<In, Bit>,
    /// That stream.
    pub landed_stream: Signal<In, Bits<8>>,
    /// The position behind its last octet.
    pub landed_edge: Signal<In, Bits<32>>,
    /// Pulse: `stream` starts at position 0, with the two flags below.
    pub arm: Signal<In, Bit>,
    /// Pulse: `stream` is not looked at any more.
    pub close: Signal<In, Bit>,
    /// Stream of `arm` and `close`.
    pub stream: Signal<In, Bits<8>>,
    /// The stream carries markers.
    pub markers: Signal<In, Bit>,
    /// The stream's CRCs are checked.
    pub crc: Signal<In, Bit>,
    /// Row of the header RAM to read; its data come two cycles later.
    pub header_row: Signal<Out, Bits<20>>,
    /// First two octets of each dword of that row.
    pub header_data: Signal<In, Bits<H>>,
    /// Whole FPDUs, or refused ones.
    pub fpdu: Signal<Out, Fpdu>,
    /// An FPDU is there.
    pub fpdu_valid: Signal<Out, Bit>,
    /// It is taken.
    pub fpdu_ready: Signal<In, Bit>,
    /// Position up to which the octets of each stream have landed.
    pub edge_landed: [Signal<Out, Bits<32>>; S],
    /// Pulse: an FPDU of `issued_stream` is on its way from here on.
    pub issued: Signal<Out, Bit>,
    /// That stream.
    pub issued_stream: Signal<Out, Bits<8>>,

    // streams
    live: [Dff<Bit>; S],
    with_markers: [Dff<Bit>; S],
    with_crc: [Dff<Bit>; S],
    edge_at: [Dff<Bits<32>>; S],
    at: [Dff<Bits<32>>; S],
    need: [Dff<Bits<32>>; S],
    known: [Dff<Bit>; S],
    dwords: [Dff<Bits<16>>; S],
    ulpdu: [Dff<Bits<16>>; S],
    have: [Dff<Bits<32>>; S],
    eligible: [Dff<Bit>; S],

    // the one looked at
    step: Dff<Step>,
    settle: Dff<Bits<2>>,
    now: Dff<Bits<8>>,
    abandoned: Dff<Bit>,
    position: Dff<Bits<32>>,
    has_markers: Dff<Bit>,
    has_crc: Dff<Bit>,
    landed_to: Dff<Bits<32>>,
    remaining: Dff<Bits<32>>,
    leading: Dff<Bit>,
    row: Dff<Bits<20>>,
    header_bit: Dff<Bits<16>>,
    length: Dff<Bits<16>>,
    content: Dff<Bits<16>>,
    span: Dff<Bits<16>>,
    quotient: Dff<Bits<16>>,
    rest: Dff<Bits<16>>,
    embedded: Dff<Bits<16>>,
    total: Dff<Bits<16>>,
    enough: Dff<Bit>,
    refused: Dff<Bits<2>>,
    out: Queue<Fpdu, 2>,

    choice: Signal<Local, Bits<8>>,
    choice_low: Signal<Local, Bits<8>>,
    some: Signal<Local, Bit>,
    some_low: Signal<Local, Bit>,
    phase: Signal<Local, Bits<16>>,
    header_at: Signal<Local, Bits<32>>,
    lane: Signal<Local, Bits<16>>,
    first_octets: Signal<Local, Bits<16>>,
    octets: Signal<Local, Bits<32>>,
    found: Signal<Local, Fpdu>,
    index: [Constant<Bits<8>>; S],
    lane_bits: Constant<Bits<8>>,
    row_mask: Constant<Bits<32>>,
    stream_shift: Constant<Bits<8>>,
    max_ulpdu: Constant<Bits<16>>,
    max_fpdu: Constant<Bits<32>>,
    refused_length: Constant<Bits<2>>,
    refused_too_large: Constant<Bits<2>>,
}

impl<const H: usize, const LOGD: usize, const S: usize> Scan<H, LOGD, S> {
    /// A scanner of the rings of `config`.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        assert!(H == 16 << LOGD && (1..=16).contains(&S));
        let rows = config.ring_octets / config.octets();
        Self {
            clock: d(),
            reset: d(),
            landed: d(),
            landed_stream: d(),
            landed_edge: d(),
            arm: d(),
            close: d(),
            stream: d(),
            markers: d(),
            crc: d(),
            header_row: d(),
            header_data: d(),
            fpdu: d(),
            fpdu_valid: d(),
            fpdu_ready: d(),
            edge_landed: array(),
            issued: d(),
            issued_stream: d(),
            live: array(),
            with_markers: array(),
            with_crc: array(),
            edge_at: array(),
            at: array(),
            need: array(),
            known: array(),
            dwords: array(),
            ulpdu: array(),
            have: array(),
            eligible: array(),
            step: d(),
            settle: d(),
            now: d(),
            abandoned: d(),
            position: d(),
            has_markers: d(),
            has_crc: d(),
            landed_to: d(),
            remaining: d(),
            leading: d(),
            row: d(),
            header_bit: d(),
            length: d(),
            content: d(),
            span: d(),
            quotient: d(),
            rest: d(),
            embedded: d(),
            total: d(),
            octets: d(),
            enough: d(),
            refused: d(),
            out: d(),
            choice: d(),
            choice_low: d(),
            some: d(),
            some_low: d(),
            phase: d(),
            header_at: d(),
            lane: d(),
            first_octets: d(),
            found: d(),
            index: std::array::from_fn(|i| Constant::new((i as u64).into())),
            lane_bits: Constant::new((LOGD as u64 + 2).into()),
            row_mask: Constant::new((rows as u64 - 1).into()),
            stream_shift: Constant::new(u64::from(rows.trailing_zeros()).into()),
            max_ulpdu: Constant::new((config.max_ulpdu() as u64).into()),
            max_fpdu: Constant::new((config.max_fpdu() as u64).into()),
            refused_length: Constant::new(u64::from(refused::LENGTH).into()),
            refused_too_large: Constant::new(u64::from(refused::TOO_LARGE).into()),
        }
    }
}

impl<const H: usize, const LOGD: usize, const S: usize> Logic for Scan<H, LOGD, S> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            step,
            settle,
            now,
            abandoned,
            position,
            has_markers,
            has_crc,
            landed_to,
            leading
        );
        dff_setup!(
            self, clock, row, header_bit, length, content, span, quotient, rest, embedded, total
        );
        dff_setup!(self, clock, remaining, enough, refused);
        clock!(self, clock, out);
        self.out.reset.next = self.reset.val();

        comment!("each stream: what has landed behind its next FPDU, and whether that is enough");
        for i in 0..S {
            self.live[i].clock.next = self.clock.val();
            self.live[i].d.next = self.live[i].q.val();
            self.with_markers[i].clock.next = self.clock.val();
            self.with_markers[i].d.next = self.with_markers[i].q.val();
            self.with_crc[i].clock.next = self.clock.val();
            self.with_crc[i].d.next = self.with_crc[i].q.val();
            self.edge_at[i].clock.next = self.clock.val();
            self.edge_at[i].d.next = self.edge_at[i].q.val();
            self.edge_landed[i].next = self.edge_at[i].q.val();
            self.at[i].clock.next = self.clock.val();
            self.at[i].d.next = self.at[i].q.val();
            self.need[i].clock.next = self.clock.val();
            self.need[i].d.next = self.need[i].q.val();
            if !self.known[i].q.val() {
                self.need[i].d.next = 4.into();
                if self.with_markers[i].q.val() & !self.at[i].q.val().get_bits::<9>(0).any() {
                    self.need[i].d.next = 8.into();
                }
            }
            self.known[i].clock.next = self.clock.val();
            self.known[i].d.next = self.known[i].q.val();
            self.dwords[i].clock.next = self.clock.val();
            self.dwords[i].d.next = self.dwords[i].q.val();
            self.ulpdu[i].clock.next = self.clock.val();
            self.ulpdu[i].d.next = self.ulpdu[i].q.val();
            self.have[i].clock.next = self.clock.val();
            self.have[i].d.next = self.edge_at[i].q.val() - self.at[i].q.val();
            self.eligible[i].clock.next = self.clock.val();
            self.eligible[i].d.next =
                self.live[i].q.val() & (self.have[i].q.val() >= self.need[i].q.val());
            if self.landed.val() & (self.landed_stream.val() == self.index[i].val()) {
                self.edge_at[i].d.next = self.landed_edge.val();
            }
        }

        comment!(
            "the next stream in turn: the highest one below the last one, else the highest one"
        );
        self.choice.next = 0.into();
        self.choice_low.next = 0.into();
        self.some.next = false;
        self.some_low.next = false;
        for i in 0..S {
            if self.eligible[i].q.val() {
                self.choice.next = self.index[i].val();
                self.some.next = true;
                if self.index[i].val() < self.now.q.val() {
                    self.choice_low.next = self.index[i].val();
                    self.some_low.next = true;
                }
            }
        }

        comment!("dwords behind a marker position, and where ULPDU_Length lies");
        self.phase.next = bit_cast::<16, 7>(self.position.q.val().get_bits::<7>(2));
        self.header_at.next = self.position.q.val();
        if self.leading.q.val() {
            self.phase.next = 1.into();
            self.header_at.next = self.position.q.val() + 4;
        }
        self.lane.next = bit_cast::<16, LOGD>(self.header_at.val().get_bits::<LOGD>(2));
        self.first_octets.next = self
            .header_data
            .val()
            .get_bits::<16>(self.header_bit.q.val().index());
        self.remaining.d.next = self.landed_to.q.val() - self.position.q.val();
        self.octets.next = bit_cast::<32, 16>(self.total.q.val()) << 2;
        self.header_row.next = self.row.q.val();
        self.issued.next = false;
        self.issued_stream.next = self.now.q.val();
        self.found.next.stream = self.now.q.val();
        self.found.next.position = self.position.q.val();
        self.found.next.dwords = self.total.q.val();
        if self.refused.q.val().any() {
            self.found.next.dwords = 2.into();
        }
        self.found.next.markers = self.has_markers.q.val();
        self.found.next.crc = self.has_crc.q.val();
        self.found.next.refused = self.refused.q.val();
        self.found.next.ulpdu = self.length.q.val();
        self.out.s_data.next = self.found.val();
        self.out.s_valid.next = false;

        match self.step.q.val() {
            Step::Pick => {
                self.refused.d.next = 0.into();
                self.abandoned.d.next = false;
                if self.some.val() {
                    self.now.d.next = self.choice.val();
                    if self.some_low.val() {
                        self.now.d.next = self.choice_low.val();
                    }
                    self.step.d.next = Step::Address;
                }
            }
            Step::Address => {
                for i in 0..S {
                    if self.now.q.val() == self.index[i].val() {
                        self.position.d.next = self.at[i].q.val();
                        self.landed_to.d.next = self.edge_at[i].q.val();
                        self.has_markers.d.next = self.with_markers[i].q.val();
                        self.has_crc.d.next = self.with_crc[i].q.val();
                        self.length.d.next = self.ulpdu[i].q.val();
                        self.total.d.next = self.dwords[i].q.val();
                        self.leading.d.next = self.with_markers[i].q.val()
                            & !self.at[i].q.val().get_bits::<9>(0).any();
                        self.abandoned.d.next = !self.live[i].q.val();
                        self.step.d.next = Step::Access;
                        if self.known[i].q.val() {
                            self.step.d.next = Step::Decide;
                        }
                    }
                }
            }
            Step::Access => {
                self.row.d.next = bit_cast::<20, 32>(
                    (self.header_at.val() >> self.lane_bits.val()) & self.row_mask.val(),
                ) | (bit_cast::<20, 8>(self.now.q.val())
                    << self.stream_shift.val());
                self.header_bit.d.next = self.lane.val() << 4;
                self.settle.d.next = 1.into();
                self.step.d.next = Step::Arrive;
            }
            Step::Arrive => {
                self.settle.d.next = self.settle.q.val() - 1;
                if self.settle.q.val() == 0 {
                    self.step.d.next = Step::Length;
                }
            }
            Step::Length => {
                comment!("the first octet is the more significant one");
                self.length.d.next =
                    (self.first_octets.val() << 8) | (self.first_octets.val() >> 8);
                self.step.d.next = Step::Content;
            }
            Step::Content => {
                comment!("length field, ULPDU and PAD in dwords, and the CRC: (2 + L + 3) / 4 + 1");
                self.content.d.next =
                    bit_cast::<16, 17>((bit_cast::<17, 16>(self.length.q.val()) + 9) >> 2);
                if self.length.q.val() > self.max_ulpdu.val() {
                    self.refused.d.next = self.refused_length.val();
                }
                self.step.d.next = Step::Span;
            }
            Step::Span => {
                self.span.d.next = self.content.q.val() + self.phase.val() - 2;
                self.step.d.next = Step::Rest;
            }
            Step::Rest => {
                comment!("x / 127 = x / 128 + (x / 128 + x mod 128) / 127, and the last one is 0, 1 or 2");
                self.quotient.d.next = self.span.q.val() >> 7;
                self.rest.d.next = (self.span.q.val() >> 7)
                    + bit_cast::<16, 7>(self.span.q.val().get_bits::<7>(0));
                self.step.d.next = Step::Markers;
            }
            Step::Markers => {
                self.embedded.d.next = self.quotient.q.val();
                if self.rest.q.val() >= 127 {
                    self.embedded.d.next = self.quotient.q.val() + 1;
                }
                if self.rest.q.val() >= 254 {
                    self.embedded.d.next = self.quotient.q.val() + 2;
                }
                if !self.has_markers.q.val() {
                    self.embedded.d.next = 0.into();
                }
                if self.leading.q.val() {
                    self.content.d.next = self.content.q.val() + 1;
                }
                self.step.d.next = Step::Total;
            }
            Step::Total => {
                self.total.d.next = self.content.q.val() + self.embedded.q.val();
                self.step.d.next = Step::Decide;
            }
            Step::Decide => {
                comment!("remember the length: a later look need not find it again");
                if (self.octets.val() > self.max_fpdu.val()) & !self.refused.q.val().any() {
                    self.refused.d.next = self.refused_too_large.val();
                }
                for i in 0..S {
                    if self.now.q.val() == self.index[i].val() {
                        self.known[i].d.next = true;
                        self.need[i].d.next = self.octets.val();
                        self.dwords[i].d.next = self.total.q.val();
                        self.ulpdu[i].d.next = self.length.q.val();
                    }
                }
                self.step.d.next = Step::Weigh;
            }
            Step::Weigh => {
                self.enough.d.next =
                    (self.remaining.q.val() >= self.octets.val()) | self.refused.q.val().any();
                self.step.d.next = Step::Issue;
            }
            Step::Issue => {
                self.settle.d.next = 2.into();
                if self.abandoned.q.val() | !self.enough.q.val() {
                    self.step.d.next = Step::Settle;
                }
                if self.enough.q.val() & !self.abandoned.q.val() & self.out.s_ready.val() {
                    self.out.s_valid.next = true;
                    self.issued.next = true;
                    self.step.d.next = Step::Settle;
                    for i in 0..S {
                        if self.now.q.val() == self.index[i].val() {
                            self.at[i].d.next = self.position.q.val() + self.octets.val();
                            self.known[i].d.next = false;
                            if self.refused.q.val().any() {
                                self.live[i].d.next = false;
                            }
                        }
                    }
                }
            }
            Step::Settle => {
                self.settle.d.next = self.settle.q.val() - 1;
                if self.settle.q.val() == 0 {
                    self.step.d.next = Step::Pick;
                }
            }
            _ => {
                self.step.d.next = Step::Pick;
            }
        }
        self.fpdu.next = self.out.m_data.val();
        self.fpdu_valid.next = self.out.m_valid.val();
        self.out.m_ready.next = self.fpdu_ready.val();

        comment!(
            "a stream comes and goes; what its former life left unread must not make it eligible"
        );
        for i in 0..S {
            if self.stream.val() == self.index[i].val() {
                if self.arm.val() {
                    self.live[i].d.next = true;
                    self.with_markers[i].d.next = self.markers.val();
                    self.with_crc[i].d.next = self.crc.val();
                    self.edge_at[i].d.next = 0.into();
                    self.at[i].d.next = 0.into();
                    self.known[i].d.next = false;
                    comment!("what the stream's former owner left behind does not count");
                    self.have[i].d.next = 0.into();
                }
                if self.close.val() {
                    self.live[i].d.next = false;
                }
            }
            if self.reset.val() {
                self.live[i].d.next = false;
            }
        }
        if self.close.val() & (self.stream.val() == self.now.q.val()) {
            self.abandoned.d.next = true;
        }
        if self.reset.val() {
            self.step.d.next = Step::Pick;
        }
    }
}
