//! Status: reports moved edges and the answers to commands.
//!
//! ```text
//!  Answer ─► queue ───────────┬─► pick ─► rows ─► edge, room ─► m_axis_status
//!  moved ─► a bit a stream ───┘           ▲ edge, acknowledged, start
//! ```
//!
//! Answers go first, in the order of their commands. An edge that moves sets the bit of its stream; the bits are served in
//! turn, and one report tells of all moves up to it. The numbers in a report are those of the time at which it is made. A
//! closed stream reports no moves, apart from a report that is offered already.
//!
//! Latency: [`LATENCY`] cycles from an answer, or from `edge_write`, to its report. Throughput: a report takes
//! [`LATENCY`] cycles. A report that is not accepted stalls those behind it, and commands once the queue of answers is
//! full; it stalls no FPDU.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use super::ports::{MOVED, STATUS_EDGE, STATUS_FREE, STATUS_KIND, STATUS_OCTETS, StatusStreamOut};
use crate::parts::queue::{Queue, Store};
use crate::parts::round_robin::RoundRobin;
use rust_hdl_core::prelude::*;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, Record, comment};

/// Cycles from what is reported to the report.
pub const LATENCY: usize = 5;

/// The answer to a command.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct Answer {
    /// Stream number.
    pub stream: Bits<8>,
    /// Kind of the report.
    pub kind: Bits<2>,
    /// Octets to the boundary.
    pub octets: Bits<16>,
}

/// State of the report in work.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum Report {
    /// Searches one.
    Pick,
    /// Reads the rows of its stream.
    Load,
    /// Sequence number of the edge; end of the room.
    Sum,
    /// Free octets.
    Room,
    /// It is offered.
    Offer,
}

/// Reports of S streams.
#[derive(Block)]
#[block(ring_octets: usize)]
pub struct Status<const S: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// A report in answer to a command.
    pub answer: Signal<In, Answer>,
    /// It is valid.
    pub answer_valid: Signal<In, Bit>,
    /// It is accepted.
    pub answer_ready: Signal<Out, Bit>,
    /// The streams that live.
    pub live: [Signal<In, Bit>; S],
    /// Write the edge of a stream.
    pub edge_write: Signal<In, Bit>,
    /// That stream.
    pub edge_stream: Signal<In, Bits<8>>,
    /// Its edge.
    pub edge_position: Signal<In, Bits<32>>,
    /// With `edge_write`: an FPDU moves the edge.
    pub moved: Signal<In, Bit>,
    /// With `edge_write`: the stream is armed.
    pub armed: Signal<In, Bit>,
    /// With `armed`: sequence number of its position 0.
    pub armed_start: Signal<In, Bits<32>>,
    /// Write what is acknowledged of a stream.
    pub acknowledged_write: Signal<In, Bit>,
    /// That stream.
    pub acknowledged_stream: Signal<In, Bits<8>>,
    /// The stream position in front of which octets are acknowledged.
    pub acknowledged: Signal<In, Bits<32>>,
    /// The reports.
    pub m_axis_status: StatusStreamOut,

    edges: Store<Bits<32>, 4>,
    acknowledgements: Store<Bits<32>, 4>,
    starts: Store<Bits<32>, 4>,
    answers: Queue<Answer, 2>,
    some_moved: [Dff<Bit>; S],
    round_robin: RoundRobin<S>,
    last: Dff<Bits<4>>,
    step: Dff<Report>,
    stream: Dff<Bits<8>>,
    kind: Dff<Bits<2>>,
    octets: Dff<Bits<16>>,
    edge_1: Dff<Bits<32>>,
    acknowledged_1: Dff<Bits<32>>,
    start_1: Dff<Bits<32>>,
    sequence_number: Dff<Bits<32>>,
    room_end: Dff<Bits<18>>,
    free: Dff<Bits<18>>,

    pick: Signal<Local, Bit>,
    picked: Signal<Local, Bits<4>>,
    row: Signal<Local, Bits<4>>,
    #[constant(|i| i)]
    index: [Constant<Bits<4>>; S],
    #[constant(MOVED)]
    moved_kind: Constant<Bits<2>>,
    #[constant(ring_octets)]
    ring: Constant<Bits<18>>,
    #[constant(STATUS_EDGE)]
    edge_at: Constant<Bits<8>>,
    #[constant(STATUS_FREE)]
    free_at: Constant<Bits<8>>,
    #[constant(STATUS_OCTETS)]
    octets_at: Constant<Bits<8>>,
    #[constant(STATUS_KIND)]
    kind_at: Constant<Bits<8>>,
}

impl<const S: usize> Status<S> {
    /// For rings of `ring_octets` octets.
    #[must_use]
    pub fn new(ring_octets: usize) -> Self {
        assert!(S <= 16 && ring_octets < 1 << 18);
        Self::assemble(ring_octets)
    }
}

impl<const S: usize> Logic for Status<S> {
    #[hdl_gen]
    fn update(&mut self) {
        self.answers.reset.next = self.reset.val();
        self.answers.s_data.next = self.answer.val();
        self.answers.s_valid.next = self.answer_valid.val();
        self.answer_ready.next = self.answers.s_ready.val();

        self.row.next = self.stream.q.val().get_bits::<4>(0);
        self.edges.write.next = self.edge_write.val();
        self.edges.write_row.next = self.edge_stream.val().get_bits::<4>(0);
        self.edges.data.next = self.edge_position.val();
        self.edges.read_row.next = self.row.val();
        self.starts.write.next = self.armed.val();
        self.starts.write_row.next = self.edge_stream.val().get_bits::<4>(0);
        self.starts.data.next = self.armed_start.val();
        self.starts.read_row.next = self.row.val();
        self.acknowledgements.write.next = self.acknowledged_write.val();
        self.acknowledgements.write_row.next = self.acknowledged_stream.val().get_bits::<4>(0);
        self.acknowledgements.data.next = self.acknowledged.val();
        self.acknowledgements.read_row.next = self.row.val();

        for i in 0..S {
            self.round_robin.asks[i].next = self.some_moved[i].q.val() & self.live[i].val();
        }
        self.round_robin.last.next = self.last.q.val();
        self.picked.next = self.round_robin.choice.val().get_bits::<4>(0);
        self.pick.next = false;
        self.answers.m_ready.next = false;
        match self.step.q.val() {
            Report::Pick => {
                self.answers.m_ready.next = true;
                self.octets.d.next = 0.into();
                self.kind.d.next = self.moved_kind.val();
                self.stream.d.next = bit_cast::<8, 4>(self.picked.val());
                if self.answers.m_valid.val() {
                    self.stream.d.next = self.answers.m_data.val().stream;
                    self.kind.d.next = self.answers.m_data.val().kind;
                    self.octets.d.next = self.answers.m_data.val().octets;
                    self.step.d.next = Report::Load;
                } else {
                    if self.round_robin.any.val() {
                        self.pick.next = true;
                        self.last.d.next = self.picked.val();
                        self.step.d.next = Report::Load;
                    }
                }
            }
            Report::Load => {
                self.edge_1.d.next = self.edges.out.val();
                self.acknowledged_1.d.next = self.acknowledgements.out.val();
                self.start_1.d.next = self.starts.out.val();
                self.step.d.next = Report::Sum;
            }
            Report::Sum => {
                self.sequence_number.d.next = self.start_1.q.val() + self.edge_1.q.val();
                self.room_end.d.next =
                    bit_cast::<18, 32>(self.acknowledged_1.q.val()) + self.ring.val();
                self.step.d.next = Report::Room;
            }
            Report::Room => {
                self.free.d.next = self.room_end.q.val() - bit_cast::<18, 32>(self.edge_1.q.val());
                self.step.d.next = Report::Offer;
            }
            Report::Offer => {
                if self.m_axis_status.tready.val() {
                    self.step.d.next = Report::Pick;
                }
            }
        }
        self.m_axis_status.tvalid.next = self.step.q.val() == Report::Offer;
        self.m_axis_status.tdest.next = self.stream.q.val();
        self.m_axis_status.tdata.next = (bit_cast::<96, 32>(self.sequence_number.q.val())
            << self.edge_at.val())
            | (bit_cast::<96, 18>(self.free.q.val()) << self.free_at.val())
            | (bit_cast::<96, 16>(self.octets.q.val()) << self.octets_at.val())
            | (bit_cast::<96, 2>(self.kind.q.val()) << self.kind_at.val());

        comment!("a bit that is set while it is served stays set");
        for i in 0..S {
            if self.pick.val() & (self.picked.val() == self.index[i].val()) {
                self.some_moved[i].d.next = false;
            }
            if self.edge_write.val()
                & (self.edge_stream.val().get_bits::<4>(0) == self.index[i].val())
            {
                self.some_moved[i].d.next = self.moved.val();
            }
            if self.reset.val() {
                self.some_moved[i].d.next = false;
            }
        }
        if self.reset.val() {
            self.step.d.next = Report::Pick;
            self.last.d.next = 0.into();
        }
    }
}
