//! Reader: reads the header rows of one stream after another, each from its next FPDU on, a row a cycle.
//!
//! ```text
//!  Visit ─► row ──► header RAM (2 cycles) ─────────► Lengths ─► lengths ┐
//!            │                                                          ├─► queue ─► walker
//!            └────► edge ─► lanes that count, last row? ─────────► Row ─┘
//!                          └─► end of the visit                  ▲ abort
//! ```
//!
//! A visit ends with the row that has not landed completely, after [`VISIT`] rows if another stream is pending, when its stream
//! is held (it would go on reading rows as octets land), or when the walker aborts it because it does not need the rows. Rows
//! already read are then dropped. The edge is
//! looked up before the row is read, so the lanes that count were in the RAM by then.
//!
//! Latency from a visit to its first row in the queue: 4 cycles. Throughput: one row a cycle; one cycle is lost
//! between two visits if the first one has reached its edge. At most [`ROWS`] rows are read and not yet accepted.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use super::lengths::Lengths;
use crate::Config;
use crate::parts::lane_mask::LaneMask;
use crate::parts::queue::Queue;
use rust_hdl_core::prelude::*;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, Record, comment};

/// Rows of a visit while another stream is pending.
pub const VISIT: u64 = 32;
/// Rows between the header RAM and the walker.
pub const ROWS: u64 = 8;

/// A stream to visit.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct Visit {
    /// Stream number.
    pub stream: Bits<8>,
    /// Begin of its next FPDU.
    pub position: Bits<32>,
    /// The stream carries markers.
    pub markers: Bit,
    /// The stream's CRCs are checked.
    pub crc: Bit,
    /// Any ULPDU_Length is accepted.
    pub long_ulpdus: Bit,
    /// Reads the first row only: the stream has been closed meanwhile.
    pub cut: Bit,
}

/// Side information of a header row.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct Row {
    /// First row of a visit.
    pub first: Bit,
    /// Last row of a visit.
    pub last: Bit,
    /// Number of the visit, modulo 16.
    pub number: Bits<4>,
    /// As in [`Visit`].
    pub stream: Bits<8>,
    /// As in [`Visit`].
    pub markers: Bit,
    /// As in [`Visit`].
    pub crc: Bit,
    /// As in [`Visit`].
    pub long_ulpdus: Bit,
    /// As in [`Visit`]; it lies in the first row.
    pub position: Bits<32>,
    /// Dwords from a marker position to lane 0.
    pub phase: Bits<7>,
    /// Lanes whose ULPDU_Length has landed.
    pub known: Bits<16>,
    /// Lanes in which an FPDU with a marker inside would begin.
    pub marker: Bits<16>,
}

/// Reader of rows of H bits = 16·D, D = 2^LOGD dwords.
#[derive(Block)]
#[block(rows: usize)]
pub struct Reader<const H: usize, const D: usize, const LOGD: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// The next visit.
    pub visit: Signal<In, Visit>,
    /// It is valid.
    pub visit_valid: Signal<In, Bit>,
    /// It is accepted.
    pub visit_ready: Signal<Out, Bit>,
    /// Pulse: `owner_stream` is closed or armed again.
    pub owner_changes: Signal<In, Bit>,
    /// That stream.
    pub owner_stream: Signal<In, Bits<8>>,
    /// Pulse: nothing more of `held_stream` is issued now; its visit ends with the next row.
    pub held: Signal<In, Bit>,
    /// That stream.
    pub held_stream: Signal<In, Bits<8>>,
    /// Lookup of an edge: its stream,
    pub looked: Signal<Out, Bits<8>>,
    /// and the low bits of the edge, in the same cycle.
    pub looked_edge: Signal<In, Bits<20>>,
    /// Pulse: aborts the visit that was `abort_number` a cycle before.
    pub abort: Signal<In, Bit>,
    /// Number of the visit of the row in work.
    pub abort_number: Signal<In, Bits<4>>,
    /// The look-ahead requests a row: it is read when no visit reads one.
    pub peek_row: Signal<In, Bits<20>>,
    /// No visit reads rows in this cycle.
    pub idle: Signal<Out, Bit>,
    /// Row to read.
    pub header_row: Signal<Out, Bits<20>>,
    /// First two octets of each dword of that row, two cycles later.
    pub header_data: Signal<In, Bits<H>>,
    /// The rows.
    pub row: Signal<Out, Row>,
    /// Their lengths, one a lane.
    pub lengths: Signal<Out, Bits<H>>,
    /// The row is valid.
    pub row_valid: Signal<Out, Bit>,
    /// It is accepted.
    pub row_ready: Signal<In, Bit>,

    // the row requested
    reading: Dff<Bit>,
    asked: Dff<Row>,
    asked_at: Dff<Bits<20>>,
    edge_now: Dff<Bits<20>>,
    cut: Dff<Bit>,
    rows: Dff<Bits<8>>,
    lots: Dff<Bit>,
    room: Dff<Bits<4>>,
    /// The row in work, at `abort_number`, is of the visit that reads rows.
    same: Dff<Bit>,
    gave: Dff<Bit>,

    // a cycle later: its landed lanes
    on_way: Dff<Bit>,
    on_way_row: Dff<Row>,
    landed: Dff<Bits<20>>,
    full: Dff<Bit>,

    // with its data
    arrived: Dff<Bit>,
    arrived_row: Dff<Row>,
    leading: Dff<Bit>,
    phase_behind: Dff<Bits<8>>,
    mask: Dff<Bits<D>>,
    lane_mask: LaneMask<D, D>,
    lengths_of_row: Lengths<H, D>,
    side: Queue<Row, 3>,
    heads: Queue<Bits<H>, 3>,

    quota: Signal<Local, Bit>,
    stops: Signal<Local, Bit>,
    short: Signal<Local, Bit>,
    ask: Signal<Local, Bit>,
    finish: Signal<Local, Bit>,
    take: Signal<Local, Bit>,
    came: Signal<Local, Row>,
    row_base: Signal<Local, Bits<20>>,
    to_edge: Signal<Local, Bits<20>>,
    #[constant(VISIT - 2)]
    most: Constant<Bits<8>>,
    #[constant(ROWS)]
    queue_rows: Constant<Bits<4>>,
    #[constant(D)]
    lanes: Constant<Bits<8>>,
    #[constant(0)]
    none: Constant<Bits<8>>,
    #[constant(LOGD + 2)]
    lane_bits: Constant<Bits<8>>,
    #[constant(4 * D)]
    octets_of_row: Constant<Bits<20>>,
    #[constant(!(4 * D - 1) & 0xf_ffff)]
    begin_of_row: Constant<Bits<20>>,
    #[constant(rows - 1)]
    row_mask: Constant<Bits<20>>,
    #[constant(rows.trailing_zeros())]
    stream_shift: Constant<Bits<8>>,
}

impl<const H: usize, const D: usize, const LOGD: usize> Reader<H, D, LOGD> {
    /// For the rings of `config`.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        assert!(H == 16 * D && D == 1 << LOGD && D <= 16);
        let rows = config.ring_octets / config.octets();
        Self::assemble(rows)
    }
}

impl<const H: usize, const D: usize, const LOGD: usize> Logic for Reader<H, D, LOGD> {
    #[hdl_gen]
    fn update(&mut self) {
        self.side.reset.next = self.reset.val();
        self.heads.reset.next = self.reset.val();

        comment!("a row that has not landed completely is the last one; the next one is not read");
        self.short.next = self.on_way.q.val() & !self.full.q.val() & !self.on_way_row.q.val().last;
        self.stops.next = self.abort.val() & self.same.q.val();
        self.quota.next = self.cut.q.val() | (self.visit_valid.val() & self.lots.q.val());
        self.ask.next =
            self.reading.q.val() & self.room.q.val().any() & !self.short.val() & !self.stops.val();
        self.finish.next = !self.reading.q.val()
            | self.short.val()
            | self.stops.val()
            | (self.ask.val() & self.quota.val());
        self.take.next = self.finish.val() & self.visit_valid.val();
        self.same.d.next =
            (self.abort_number.val() == self.asked.q.val().number) & !self.take.val();
        self.visit_ready.next = self.finish.val();

        comment!("request a row");
        self.row_base.next =
            bit_cast::<20, 8>(self.asked.q.val().stream) << self.stream_shift.val();
        self.header_row.next = ((self.asked_at.q.val() >> self.lane_bits.val())
            & self.row_mask.val())
            | self.row_base.val();
        self.idle.next = !self.reading.q.val();
        if !self.reading.q.val() {
            self.header_row.next = self.peek_row.val();
        }
        self.on_way.d.next = self.ask.val();
        self.on_way_row.d.next = self.asked.q.val();
        self.on_way_row.d.next.last = self.quota.val();
        self.on_way_row.d.next.phase = self.asked_at.q.val().get_bits::<7>(2);
        self.to_edge.next = self.edge_now.q.val() - self.asked_at.q.val();
        self.landed.d.next = self.to_edge.val();
        self.full.d.next =
            !self.to_edge.val().get_bit(19) & (self.to_edge.val() >> self.lane_bits.val()).any();
        if self.ask.val() {
            self.asked_at.d.next = self.asked_at.q.val() + self.octets_of_row.val();
            self.asked.d.next.first = false;
            self.rows.d.next = self.rows.q.val() + 1;
            if self.rows.q.val() == self.most.val() {
                self.lots.d.next = true;
            }
        }
        if (self.owner_changes.val() & (self.owner_stream.val() == self.asked.q.val().stream))
            | (self.held.val() & (self.held_stream.val() == self.asked.q.val().stream))
        {
            self.cut.d.next = true;
        }

        comment!("the next visit");
        self.looked.next = self.asked.q.val().stream;
        if self.finish.val() {
            self.reading.d.next = false;
            self.looked.next = self.visit.val().stream;
        }
        self.edge_now.d.next = self.looked_edge.val();
        if self.take.val() {
            self.reading.d.next = true;
            self.asked.d.next.first = true;
            self.asked.d.next.number = self.asked.q.val().number + 1;
            self.asked.d.next.stream = self.visit.val().stream;
            self.asked.d.next.markers = self.visit.val().markers;
            self.asked.d.next.crc = self.visit.val().crc;
            self.asked.d.next.long_ulpdus = self.visit.val().long_ulpdus;
            self.asked.d.next.position = self.visit.val().position;
            self.asked_at.d.next =
                bit_cast::<20, 32>(self.visit.val().position) & self.begin_of_row.val();
            self.cut.d.next = self.visit.val().cut
                | (self.owner_changes.val() & (self.owner_stream.val() == self.visit.val().stream));
            self.rows.d.next = 0.into();
            self.lots.d.next = false;
        }

        comment!("a cycle later: which lanes have landed");
        self.lane_mask.from.next = self.none.val();
        self.lane_mask.to.next = self.lanes.val();
        if !self.full.q.val() {
            self.lane_mask.to.next = bit_cast::<8, LOGD>(self.landed.q.val().get_bits::<LOGD>(2));
        }
        if self.landed.q.val().get_bit(19) {
            self.lane_mask.to.next = self.none.val();
        }
        self.arrived.d.next = self.on_way.q.val();
        self.arrived_row.d.next = self.on_way_row.q.val();
        self.arrived_row.d.next.last = self.on_way_row.q.val().last | !self.full.q.val();
        self.leading.d.next =
            self.on_way_row.q.val().markers & !self.on_way_row.q.val().phase.any();
        self.phase_behind.d.next =
            bit_cast::<8, 7>(self.on_way_row.q.val().phase) + self.lanes.val();
        self.mask.d.next = self.lane_mask.mask.val();

        comment!("with its data into the queue, which has room");
        self.lengths_of_row.octets.next = self.header_data.val();
        self.lengths_of_row.phase.next = self.arrived_row.q.val().phase;
        self.lengths_of_row.phase_behind.next = self.phase_behind.q.val();
        self.lengths_of_row.markers.next = self.arrived_row.q.val().markers;
        self.lengths_of_row.leading.next = self.leading.q.val();
        self.lengths_of_row.landed.next = self.mask.q.val();
        self.came.next = self.arrived_row.q.val();
        self.came.next.known = bit_cast::<16, D>(self.lengths_of_row.known.val());
        self.came.next.marker = bit_cast::<16, D>(self.lengths_of_row.marker.val());
        self.side.s_data.next = self.came.val();
        self.side.s_valid.next = self.arrived.q.val();
        self.heads.s_data.next = self.lengths_of_row.lengths.val();
        self.heads.s_valid.next = self.arrived.q.val();
        self.row.next = self.side.m_data.val();
        self.lengths.next = self.heads.m_data.val();
        self.row_valid.next = self.side.m_valid.val();
        self.side.m_ready.next = self.row_ready.val();
        self.heads.m_ready.next = self.row_ready.val();
        self.gave.d.next = self.row_ready.val() & self.side.m_valid.val();
        if self.ask.val() & !self.gave.q.val() {
            self.room.d.next = self.room.q.val() - 1;
        }
        if !self.ask.val() & self.gave.q.val() {
            self.room.d.next = self.room.q.val() + 1;
        }

        if self.reset.val() {
            self.reading.d.next = false;
            self.on_way.d.next = false;
            self.arrived.d.next = false;
            self.room.d.next = self.queue_rows.val();
            self.gave.d.next = false;
        }
    }
}
