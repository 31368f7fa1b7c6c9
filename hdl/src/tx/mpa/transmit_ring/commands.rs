//! Commands: checks what TCP asks for against the rows of its stream, and has it done.
//!
//! ```text
//!  s_axis_send ─► command ─► rows ─► position ─► from acknowledged ─► octets left ─► decide ┬─► SendRange ─► range_read
//!                            ▲ edge, acknowledged, start, tail                              ├─► Freed ─► room_release
//!                            └ written by visibility, and by ACKNOWLEDGE                    ├─► start, done of boundary_map
//!                                                                                           └─► Answer ─► status
//! ```
//!
//! A row of a stream is its edge, what is acknowledged, its sequence number at position 0, and the tail of its bit map. One
//! command is executed at a time, in order. A SEND is handed to a queue, so those behind it are executed while it streams,
//! until the queue is full. A MEASURE is searched before the next command begins.
//!
//! Latency: [`LATENCY`] cycles from a command to what becomes of it. Throughput: a SEND or an ACKNOWLEDGE takes
//! [`LATENCY`] + 1 cycles, a MEASURE as many, and those of its search.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use super::ports::{
    ACKNOWLEDGE, ANSWER, COMMAND_KIND, COMMAND_LENGTH, COMMAND_SEQUENCE, MEASURE, REFUSED, SEND,
    SendStreamIn,
};
use super::range_read::SendRange;
use super::room_release::Freed;
use super::status::Answer;
use crate::parts::queue::Store;
use rust_hdl_core::prelude::*;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, comment};

/// Cycles from a command to what becomes of it.
pub const LATENCY: usize = 6;

/// State of the command in work.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum Step {
    /// There is none.
    Accept,
    /// Reads the rows of its stream.
    Load,
    /// Stream position.
    Subtract,
    /// Octets from the acknowledged ones to it; rows of the ring.
    Offset,
    /// Octets from it to the edge.
    Left,
    /// Compares them with its own.
    Fit,
    /// Executes it.
    Act,
    /// Boundaries are searched.
    Search,
}

/// Commands for S streams, beats of 2^LOGK octets.
#[derive(Block)]
#[block(rows: usize)]
pub struct Commands<const LOGK: usize, const S: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// The commands.
    pub s_axis_send: SendStreamIn,
    /// A command is in work.
    pub busy: Signal<Out, Bit>,
    /// Its stream.
    pub busy_stream: Signal<Out, Bits<8>>,

    /// The streams that live.
    pub live: [Signal<In, Bit>; S],
    /// Write the edge of a stream, and its tail.
    pub edge_write: Signal<In, Bit>,
    /// That stream.
    pub edge_stream: Signal<In, Bits<8>>,
    /// Its edge.
    pub edge_position: Signal<In, Bits<32>>,
    /// Its tail.
    pub tail: Signal<In, Bits<32>>,
    /// With `edge_write`: the stream is armed, nothing is acknowledged.
    pub armed: Signal<In, Bit>,
    /// With `armed`: sequence number of its position 0.
    pub armed_start: Signal<In, Bits<32>>,
    /// Write what is acknowledged of a stream.
    pub acknowledged_write: Signal<Out, Bit>,
    /// That stream.
    pub acknowledged_stream: Signal<Out, Bits<8>>,
    /// The stream position in front of which octets are acknowledged.
    pub acknowledged: Signal<Out, Bits<32>>,

    /// A range that can be read.
    pub range: Signal<Out, SendRange>,
    /// It is valid.
    pub range_valid: Signal<Out, Bit>,
    /// It is accepted.
    pub range_ready: Signal<In, Bit>,
    /// Octets that were acknowledged.
    pub freed: Signal<Out, Freed>,
    /// They are valid.
    pub freed_valid: Signal<Out, Bit>,
    /// They are accepted.
    pub freed_ready: Signal<In, Bit>,
    /// Pulse: search the last boundary of a range.
    pub search: Signal<Out, Bit>,
    /// Stream position of its first octet; this and the following are stable until `search_done`.
    pub search_position: Signal<Out, Bits<32>>,
    /// Its octets.
    pub search_reach: Signal<Out, Bits<16>>,
    /// Edge of its stream.
    pub search_edge: Signal<Out, Bits<32>>,
    /// Tail of its stream.
    pub search_tail: Signal<Out, Bits<32>>,
    /// The search has ended.
    pub search_done: Signal<In, Bit>,
    /// Octets to the boundary.
    pub search_octets: Signal<In, Bits<16>>,
    /// A report in answer to a command.
    pub answer: Signal<Out, Answer>,
    /// It is valid.
    pub answer_valid: Signal<Out, Bit>,
    /// It is accepted.
    pub answer_ready: Signal<In, Bit>,

    // rows
    edges: Store<Bits<32>, 4>,
    tails: Store<Bits<32>, 4>,
    acknowledgements: Store<Bits<32>, 4>,
    starts: Store<Bits<32>, 4>,

    step: Dff<Step>,
    stream: Dff<Bits<8>>,
    kind: Dff<Bits<2>>,
    sequence_number: Dff<Bits<32>>,
    length: Dff<Bits<16>>,
    length_less_one: Dff<Bits<16>>,
    edge_1: Dff<Bits<32>>,
    tail_1: Dff<Bits<32>>,
    acknowledged_1: Dff<Bits<32>>,
    start_1: Dff<Bits<32>>,
    position: Dff<Bits<32>>,
    /// Octets that can be read: at most those of a ring.
    span: Dff<Bits<18>>,
    offset: Dff<Bits<32>>,
    row_0: Dff<Bits<20>>,
    row_1: Dff<Bits<20>>,
    left: Dff<Bits<18>>,
    contained: Dff<Bit>,
    at_edge: Dff<Bit>,
    fits: Dff<Bit>,
    sends: Dff<Bit>,
    acknowledges: Dff<Bit>,
    measures: Dff<Bit>,
    alive: Dff<Bit>,

    row_address: Signal<Local, Bits<4>>,
    row: Signal<Local, Bits<32>>,
    base: Signal<Local, Bits<20>>,
    near: Signal<Local, Bit>,
    fitting: Signal<Local, Bit>,
    sets_acknowledged: Signal<Local, Bit>,
    #[constant(|i| i)]
    index: [Constant<Bits<4>>; S],
    #[constant(S.ilog2())]
    stream_bits: Constant<Bits<8>>,
    #[constant(COMMAND_SEQUENCE)]
    sequence_at: Constant<Bits<8>>,
    #[constant(COMMAND_LENGTH)]
    length_at: Constant<Bits<8>>,
    #[constant(COMMAND_KIND)]
    kind_at: Constant<Bits<8>>,
    #[constant(SEND)]
    send_kind: Constant<Bits<2>>,
    #[constant(ACKNOWLEDGE)]
    acknowledge_kind: Constant<Bits<2>>,
    #[constant(MEASURE)]
    measure_kind: Constant<Bits<2>>,
    #[constant(ANSWER)]
    answer_kind: Constant<Bits<2>>,
    #[constant(REFUSED)]
    refused_kind: Constant<Bits<2>>,
    #[constant(LOGK)]
    lane_bits: Constant<Bits<8>>,
    #[constant(rows - 1)]
    row_mask: Constant<Bits<32>>,
    #[constant(rows.ilog2())]
    stream_shift: Constant<Bits<8>>,
}

impl<const LOGK: usize, const S: usize> Commands<LOGK, S> {
    /// For rings of `rows` rows.
    #[must_use]
    pub fn new(rows: usize) -> Self {
        assert!(rows.is_power_of_two() && S.is_power_of_two() && S <= 16);
        Self::assemble(rows)
    }
}

impl<const LOGK: usize, const S: usize> Logic for Commands<LOGK, S> {
    #[hdl_gen]
    fn update(&mut self) {
        self.busy.next = self.step.q.val() != Step::Accept;
        self.busy_stream.next = self.stream.q.val();
        self.s_axis_send.tready.next = self.step.q.val() == Step::Accept;

        comment!("a stream that is closed between two cycles has no effect from the second on");
        self.row_address.next = self.stream.q.val().get_bits::<4>(0);
        self.alive.d.next = false;
        for i in 0..S {
            if self.row_address.val() == self.index[i].val() {
                self.alive.d.next =
                    self.live[i].val() & !(self.stream.q.val() >> self.stream_bits.val()).any();
            }
        }

        self.edges.write.next = self.edge_write.val();
        self.edges.write_row.next = self.edge_stream.val().get_bits::<4>(0);
        self.edges.data.next = self.edge_position.val();
        self.edges.read_row.next = self.row_address.val();
        self.tails.write.next = self.edge_write.val();
        self.tails.write_row.next = self.edge_stream.val().get_bits::<4>(0);
        self.tails.data.next = self.tail.val();
        self.tails.read_row.next = self.row_address.val();
        self.starts.write.next = self.armed.val();
        self.starts.write_row.next = self.edge_stream.val().get_bits::<4>(0);
        self.starts.data.next = self.armed_start.val();
        self.starts.read_row.next = self.row_address.val();

        comment!("the arithmetic of each step; its result counts in the next one");
        self.length_less_one.d.next = self.length.q.val() - 1;
        self.position.d.next = self.sequence_number.q.val() - self.start_1.q.val();
        self.span.d.next = bit_cast::<18, 32>(self.edge_1.q.val())
            - bit_cast::<18, 32>(self.acknowledged_1.q.val());
        self.offset.d.next = self.position.q.val() - self.acknowledged_1.q.val();
        self.row.next = self.position.q.val() >> self.lane_bits.val();
        self.base.next = bit_cast::<20, 8>(self.stream.q.val()) << self.stream_shift.val();
        self.row_0.d.next =
            bit_cast::<20, 32>(self.row.val() & self.row_mask.val()) | self.base.val();
        self.row_1.d.next =
            bit_cast::<20, 32>((self.row.val() + 1) & self.row_mask.val()) | self.base.val();
        self.near.next = !self.offset.q.val().get_bits::<14>(18).any();
        self.left.d.next = self.span.q.val() - bit_cast::<18, 32>(self.offset.q.val());
        self.contained.d.next =
            self.near.val() & (bit_cast::<18, 32>(self.offset.q.val()) < self.span.q.val());
        self.at_edge.d.next =
            self.near.val() & (bit_cast::<18, 32>(self.offset.q.val()) == self.span.q.val());
        self.fitting.next = bit_cast::<18, 16>(self.length.q.val()) <= self.left.q.val();
        self.fits.d.next = self.fitting.val();
        self.sends.d.next = (self.kind.q.val() == self.send_kind.val())
            & self.contained.q.val()
            & self.fitting.val()
            & self.length.q.val().any();
        self.acknowledges.d.next = self.contained.q.val() | self.at_edge.q.val();
        self.measures.d.next =
            (self.kind.q.val() == self.measure_kind.val()) & self.contained.q.val();

        self.range.next.stream = self.stream.q.val();
        self.range.next.sequence_number = self.sequence_number.q.val();
        self.range.next.row_0 = self.row_0.q.val();
        self.range.next.row_1 = self.row_1.q.val();
        self.range.next.lane = bit_cast::<8, LOGK>(self.position.q.val().get_bits::<LOGK>(0));
        self.range.next.beats = self.length_less_one.q.val() >> self.lane_bits.val();
        self.range.next.octets =
            bit_cast::<8, LOGK>(self.length_less_one.q.val().get_bits::<LOGK>(0)) + 1;
        self.range_valid.next = false;
        self.freed.next.stream = self.stream.q.val();
        self.freed.next.position = self.position.q.val();
        self.freed_valid.next = false;
        self.search.next = false;
        self.search_position.next = self.position.q.val();
        self.search_reach.next = bit_cast::<16, 18>(self.left.q.val());
        if self.fits.q.val() {
            self.search_reach.next = self.length.q.val();
        }
        self.search_edge.next = self.edge_1.q.val();
        self.search_tail.next = self.tail_1.q.val();
        self.answer.next.stream = self.stream.q.val();
        self.answer.next.kind = self.refused_kind.val();
        self.answer.next.octets = 0.into();
        self.answer_valid.next = false;
        self.sets_acknowledged.next = false;

        match self.step.q.val() {
            Step::Accept => {
                self.stream.d.next = self.s_axis_send.tdest.val();
                self.kind.d.next = self
                    .s_axis_send
                    .tdata
                    .val()
                    .get_bits::<2>(self.kind_at.val().index());
                self.sequence_number.d.next = self
                    .s_axis_send
                    .tdata
                    .val()
                    .get_bits::<32>(self.sequence_at.val().index());
                self.length.d.next = self
                    .s_axis_send
                    .tdata
                    .val()
                    .get_bits::<16>(self.length_at.val().index());
                if self.s_axis_send.tvalid.val() {
                    self.step.d.next = Step::Load;
                }
            }
            Step::Load => {
                self.edge_1.d.next = self.edges.out.val();
                self.tail_1.d.next = self.tails.out.val();
                self.acknowledged_1.d.next = self.acknowledgements.out.val();
                self.start_1.d.next = self.starts.out.val();
                self.step.d.next = Step::Subtract;
            }
            Step::Subtract => {
                self.step.d.next = Step::Offset;
            }
            Step::Offset => {
                self.step.d.next = Step::Left;
            }
            Step::Left => {
                self.step.d.next = Step::Fit;
            }
            Step::Fit => {
                self.step.d.next = Step::Act;
            }
            Step::Act => {
                if self.kind.q.val() == self.acknowledge_kind.val() {
                    comment!("arming has the write port first");
                    self.freed_valid.next =
                        self.acknowledges.q.val() & self.alive.q.val() & !self.armed.val();
                    self.sets_acknowledged.next = self.freed_valid.val() & self.freed_ready.val();
                    if self.sets_acknowledged.val()
                        | !self.acknowledges.q.val()
                        | !self.alive.q.val()
                    {
                        self.step.d.next = Step::Accept;
                    }
                } else {
                    if self.sends.q.val() & self.alive.q.val() {
                        self.range_valid.next = true;
                        if self.range_ready.val() {
                            self.step.d.next = Step::Accept;
                        }
                    } else {
                        if self.measures.q.val() & self.alive.q.val() {
                            self.search.next = true;
                            self.step.d.next = Step::Search;
                        } else {
                            self.answer_valid.next = true;
                            if self.answer_ready.val() {
                                self.step.d.next = Step::Accept;
                            }
                        }
                    }
                }
            }
            Step::Search => {
                self.answer.next.kind = self.answer_kind.val();
                self.answer.next.octets = self.search_octets.val();
                self.answer_valid.next = self.search_done.val();
                if self.search_done.val() & self.answer_ready.val() {
                    self.step.d.next = Step::Accept;
                }
            }
        }

        self.acknowledged_write.next = self.sets_acknowledged.val() | self.armed.val();
        self.acknowledged_stream.next = self.stream.q.val();
        self.acknowledged.next = self.position.q.val();
        if self.armed.val() {
            self.acknowledged_stream.next = self.edge_stream.val();
            self.acknowledged.next = 0.into();
        }
        self.acknowledgements.write.next = self.acknowledged_write.val();
        self.acknowledgements.write_row.next = self.acknowledged_stream.val().get_bits::<4>(0);
        self.acknowledgements.data.next = self.acknowledged.val();
        self.acknowledgements.read_row.next = self.row_address.val();
        if self.reset.val() {
            self.step.d.next = Step::Accept;
        }
    }
}
