//! Walker: goes from FPDU to FPDU through the header rows of a visit.
//!
//! ```text
//!  rows ─► Totals ─► row in work ──► dwords of the lane ─┐
//!                     ▲ next row          ▲              ├─► ahead: rows and lane of the next FPDU ─┐
//!                     └───────────────────┴──────────────┴──────────────────────────────────────────┘
//!                                         └─► Item ─► wholeness and issue in `scan`
//! ```
//!
//! The loop is one multiplexer over the lanes and one addition of lane and dwords; for each lane it is known in
//! advance whether the next FPDU begins in a later row. The row in work is left as soon as the next FPDU begins
//! behind it, and rows in which none begins are dropped, one a cycle. So an FPDU takes one cycle, or one for each row
//! from its begin to that of the next one, whichever is more; that is never more than the beats in which `fetch`
//! reads it.
//!
//! With markers and from [`LONG`] octets on, the markers inside are counted first, in 4 cycles,
//! during which rows are already dropped. An FPDU that reaches [`FAR`](super::lengths::FAR) rows ends the visit:
//! other streams are visited meanwhile, and the beats of the FPDU hide the time to visit its stream again.
//!
//! A visit ends with one Item with `end`, whatever ends it; its remaining rows are dropped. Latency from a row to its
//! first Item: 2 cycles.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use super::lengths::{LONG, Totals};
use super::reader::Row;
use crate::Config;
use rust_hdl_core::prelude::*;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, Record, comment};

/// A result of the walker; those of a stream are in the order of positions.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct Item {
    /// An FPDU begins where the previous one has ended.
    pub fpdu: Bit,
    /// Last Item of the visit.
    pub last: Bit,
    /// First Item of the visit: the chain begins at `position`.
    pub start: Bit,
    /// Stream number.
    pub stream: Bits<8>,
    /// Begin of the visit.
    pub position: Bits<32>,
    /// The stream carries markers.
    pub markers: Bit,
    /// The stream's CRCs are checked.
    pub crc: Bit,
    /// Dwords of the FPDU, markers included.
    pub dwords: Bits<16>,
    /// ULPDU_Length.
    pub ulpdu: Bits<16>,
    /// The length is refused.
    pub refused: Bit,
}

/// Walker through rows of H bits = 16·D, D = 2^LOGD dwords.
#[derive(Block)]
#[block(config: &Config, less: usize)]
pub struct Walker<const H: usize, const D: usize, const LOGD: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// Rows, from the reader.
    pub row: Signal<In, Row>,
    /// Their lengths.
    pub lengths: Signal<In, Bits<H>>,
    /// The row is valid.
    pub row_valid: Signal<In, Bit>,
    /// It is accepted.
    pub row_ready: Signal<Out, Bit>,
    /// Stalls the FPDUs; one whose markers are being counted still follows.
    pub hold: Signal<In, Bit>,
    /// The result.
    pub item: Signal<Out, Item>,
    /// Pulse: `item` is valid.
    pub item_valid: Signal<Out, Bit>,
    /// Pulse: aborts a visit.
    pub abort: Signal<Out, Bit>,
    /// Number of the visit of the row in work; `abort` refers to its value a cycle before.
    pub abort_number: Signal<Out, Bits<4>>,

    // the row in work
    #[value(Totals::new(config.max_ulpdu()))]
    totals: Totals<H, D>,
    here_valid: Dff<Bit>,
    here: Dff<Row>,
    here_lengths: Dff<Bits<H>>,
    here_dwords: Dff<Bits<H>>,
    /// An FPDU in this lane is the last one of the row; its markers are counted.
    here_leaves: Dff<Bits<D>>,
    here_counts: Dff<Bits<D>>,
    here_far: Dff<Bits<D>>,
    here_crosses: Dff<Bits<D>>,
    here_beyond: Dff<Bits<D>>,
    here_refused: Dff<Bits<D>>,

    // begin of the next FPDU: lane in the low bits, rows above; the first of these rows has been accepted already
    ahead: Dff<Bits<16>>,
    in_row: Dff<Bit>,
    alive: Dff<Bit>,
    start: Dff<Bit>,

    // a long FPDU with markers
    counting: Dff<Bits<3>>,
    is_counting: Dff<Bit>,
    content: Dff<Bits<16>>,
    phase: Dff<Bits<16>>,
    length: Dff<Bits<16>>,
    ends: Dff<Bit>,
    span: Dff<Bits<16>>,
    quotient: Dff<Bits<16>>,
    rest: Dff<Bits<16>>,
    embedded: Dff<Bits<16>>,
    embedded_less: Dff<Bits<16>>,

    out: Dff<Item>,
    out_valid: Dff<Bit>,
    aborts: Dff<Bit>,

    lane: Signal<Local, Bits<16>>,
    lane_bit: Signal<Local, Bits<16>>,
    dwords: Signal<Local, Bits<16>>,
    ulpdu: Signal<Local, Bits<16>>,
    known_lanes: Signal<Local, Bits<16>>,
    far: Signal<Local, Bit>,
    refused: Signal<Local, Bit>,
    looks: Signal<Local, Bit>,
    found: Signal<Local, Bit>,
    miss: Signal<Local, Bit>,
    sum: Signal<Local, Bits<16>>,
    crossing: Signal<Local, Bit>,
    visit_over: Signal<Local, Bit>,
    skip: Signal<Local, Bit>,
    counts: Signal<Local, Bit>,
    counted: Signal<Local, Bit>,
    emits: Signal<Local, Bit>,
    ready: Signal<Local, Bit>,
    pop: Signal<Local, Bit>,
    take: Signal<Local, Bit>,
    step: Signal<Local, Bits<16>>,
    #[constant(D - 1)]
    lane_mask: Constant<Bits<16>>,
    #[constant(LOGD)]
    lane_bits: Constant<Bits<8>>,
    #[constant(less)]
    less_a_row: Constant<Bits<16>>,
    #[constant((less + 1) & 0xFFFF)]
    one_less: Constant<Bits<16>>,
    #[constant((less + 2) & 0xFFFF)]
    two_less: Constant<Bits<16>>,
    #[constant(0)]
    nothing: Constant<Bits<16>>,
}

impl<const H: usize, const D: usize, const LOGD: usize> Walker<H, D, LOGD> {
    /// For the device of `config`.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        assert!(H == 16 * D && D == 1 << LOGD && D <= 16);
        // While a long FPDU is counted, at most 5 of its rows go by.
        assert!(LONG as usize / 4 >= 7 * D);
        let less = (1 << 16) - D;
        Self::assemble(config, less)
    }
}

impl<const H: usize, const D: usize, const LOGD: usize> Logic for Walker<H, D, LOGD> {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("the lane in which the next FPDU begins");
        self.lane.next = self.ahead.q.val() & self.lane_mask.val();
        self.lane_bit.next = self.lane.val() << 4;
        self.dwords.next = self
            .here_dwords
            .q
            .val()
            .get_bits::<16>(self.lane_bit.val().index());
        self.ulpdu.next = self
            .here_lengths
            .q
            .val()
            .get_bits::<16>(self.lane_bit.val().index());
        self.known_lanes.next = self.here.q.val().known;
        self.far.next = self.here_far.q.val().get_bit(self.lane.val().index());
        self.refused.next = self.here_refused.q.val().get_bit(self.lane.val().index());
        self.sum.next = self.lane.val() + self.dwords.val();
        self.crossing.next = self.here_crosses.q.val().get_bit(self.lane.val().index());

        comment!("decide");
        self.counted.next = self.counting.q.val() == 4;
        self.looks.next = self.here_valid.q.val()
            & self.alive.q.val()
            & self.in_row.q.val()
            & !self.is_counting.q.val()
            & !self.hold.val();
        self.found.next =
            self.looks.val() & self.known_lanes.val().get_bit(self.lane.val().index());
        self.miss.next =
            self.looks.val() & !self.known_lanes.val().get_bit(self.lane.val().index());
        self.visit_over.next =
            self.refused.val() | self.far.val() | (self.crossing.val() & self.here.q.val().last);
        self.skip.next = self.here_valid.q.val()
            & self.alive.q.val()
            & !self.in_row.q.val()
            & !(self.is_counting.q.val() & self.here.q.val().last);
        self.pop.next = self.skip.val()
            | (self.looks.val() & self.here_leaves.q.val().get_bit(self.lane.val().index()))
            | (self.here_valid.q.val() & !self.alive.q.val());

        self.counts.next =
            self.looks.val() & self.here_counts.q.val().get_bit(self.lane.val().index());
        self.emits.next = (self.found.val() & !self.counts.val())
            | self.miss.val()
            | (self.skip.val() & self.here.q.val().last)
            | self.counted.val();

        comment!("advance to the next FPDU; rows in between are dropped");
        self.step.next = self.nothing.val();
        if self.skip.val() {
            self.step.next = self.less_a_row.val();
        }
        if self.counted.val() {
            self.step.next = self.embedded.q.val();
            if self.skip.val() {
                self.step.next = self.embedded_less.q.val();
            }
        }
        self.ahead.d.next = self.ahead.q.val() + self.step.val();
        comment!(
            "in the row in work, or in the next one; a long FPDU ends behind all rows that pass while its markers are counted"
        );
        if self.skip.val() {
            self.in_row.d.next = (self.ahead.q.val() >> self.lane_bits.val()) == 2;
        }
        if self.counted.val() {
            self.in_row.d.next = false;
        }
        self.aborts.d.next = false;
        self.out_valid.d.next = self.emits.val();
        self.out.d.next.fpdu = self.found.val();
        self.out.d.next.last = true;
        self.out.d.next.start = self.start.q.val();
        self.out.d.next.stream = self.here.q.val().stream;
        self.out.d.next.position = self.here.q.val().position;
        self.out.d.next.markers = self.here.q.val().markers;
        self.out.d.next.crc = self.here.q.val().crc;
        self.out.d.next.dwords = self.dwords.val();
        self.out.d.next.ulpdu = self.ulpdu.val();
        self.out.d.next.refused = self.refused.val();
        if self.skip.val() & self.here.q.val().last {
            self.alive.d.next = false;
        }
        if self.miss.val() {
            self.alive.d.next = false;
            self.aborts.d.next = true;
        }
        if self.found.val() {
            self.ahead.d.next = self.sum.val();
            self.in_row.d.next = !self.here_beyond.q.val().get_bit(self.lane.val().index());
            self.out.d.next.last = self.visit_over.val();
            if self.visit_over.val() {
                self.alive.d.next = false;
                self.aborts.d.next = true;
            }
        }

        comment!("markers inside a long FPDU: (h + c - 2) / 127");
        self.span.d.next = self.content.q.val() + self.phase.q.val() - 2;
        comment!("x / 127 = x / 128 + (x / 128 + x mod 128) / 127, and the last one is 0, 1 or 2");
        self.quotient.d.next = self.span.q.val() >> 7;
        self.rest.d.next =
            (self.span.q.val() >> 7) + bit_cast::<16, 7>(self.span.q.val().get_bits::<7>(0));
        self.embedded.d.next = self.quotient.q.val();
        self.embedded_less.d.next = self.quotient.q.val() + self.less_a_row.val();
        if self.rest.q.val() >= 127 {
            self.embedded.d.next = self.quotient.q.val() + 1;
            self.embedded_less.d.next = self.quotient.q.val() + self.one_less.val();
        }
        if self.rest.q.val() >= 254 {
            self.embedded.d.next = self.quotient.q.val() + 2;
            self.embedded_less.d.next = self.quotient.q.val() + self.two_less.val();
        }
        if self.is_counting.q.val() {
            self.counting.d.next = self.counting.q.val() + 1;
        }
        if self.found.val() {
            self.content.d.next = self.dwords.val();
            self.phase.d.next = bit_cast::<16, 7>(self.here.q.val().phase) | self.lane.val();
            self.length.d.next = self.ulpdu.val();
            self.ends.d.next = self.visit_over.val();
            if self.counts.val() {
                self.counting.d.next = 1.into();
                self.is_counting.d.next = true;
            }
        }
        if self.counted.val() {
            self.counting.d.next = 0.into();
            self.is_counting.d.next = false;
            self.out.d.next.fpdu = true;
            self.out.d.next.last = self.ends.q.val();
            self.out.d.next.dwords = self.content.q.val() + self.embedded.q.val();
            self.out.d.next.ulpdu = self.length.q.val();
            self.out.d.next.refused = false;
        }
        if self.emits.val() {
            self.start.d.next = false;
        }

        comment!("the next row; one of another visit only when the previous visit has ended");
        self.totals.lengths.next = self.lengths.val();
        self.totals.marker.next = bit_cast::<D, 16>(self.row.val().marker);
        self.totals.phase.next = self.row.val().phase;
        self.totals.markers.next = self.row.val().markers;
        self.totals.long_ulpdus.next = self.row.val().long_ulpdus;
        self.ready.next = (!self.here_valid.q.val() | self.pop.val())
            & !((self.is_counting.q.val() | self.counts.val()) & self.row.val().first);
        self.row_ready.next = self.ready.val();
        self.take.next = self.row_valid.val() & self.ready.val();
        if self.pop.val() {
            self.here_valid.d.next = false;
        }
        if self.take.val() {
            self.here_valid.d.next = true;
            self.here.d.next = self.row.val();
            self.here_lengths.d.next = self.lengths.val();
            self.here_dwords.d.next = self.totals.dwords.val();
            self.here_leaves.d.next = !bit_cast::<D, 16>(self.row.val().known)
                | self.totals.crosses.val()
                | self.totals.refused.val();
            self.here_counts.d.next = bit_cast::<D, 16>(self.row.val().known)
                & self.totals.long.val()
                & !self.totals.refused.val();
            self.here_far.d.next = self.totals.far.val();
            self.here_crosses.d.next = self.totals.crosses.val();
            self.here_beyond.d.next = self.totals.beyond.val();
            self.here_refused.d.next = self.totals.refused.val();
            if self.row.val().first {
                self.alive.d.next = true;
                self.in_row.d.next = true;
                self.start.d.next = true;
                self.ahead.d.next =
                    bit_cast::<16, LOGD>(self.row.val().position.get_bits::<LOGD>(2));
            }
        }
        self.item.next = self.out.q.val();
        self.item_valid.next = self.out_valid.q.val();
        self.abort.next = self.aborts.q.val();
        self.abort_number.next = self.here.q.val().number;

        if self.reset.val() {
            self.here_valid.d.next = false;
            self.alive.d.next = false;
            self.counting.d.next = 0.into();
            self.is_counting.d.next = false;
            self.out_valid.d.next = false;
            self.aborts.d.next = false;
        }
    }
}
