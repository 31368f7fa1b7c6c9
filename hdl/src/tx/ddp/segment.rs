//! Segment: cuts the requests of send queues into DDP segments, one stream after the other.
//!
//! ```text
//!  events ─► turns ─ stream ─► slot: request ─► decide ─┬─► payload ─► LocalPiece ─► local_access
//!              ▲                 ▲     mulpdu, header   │      ▲ rows of the slot
//!              │                 └ rows of the stream   ├─► SendSegment ─► settle
//!              └───────── spent, blocked, ended ◄───────┴─► position, progress, MSN; pop
//! ```
//!
//! A turn reads the first two rows of the stream's oldest slot, and the rows of the stream: its context, where its next FPDU
//! begins, and how much of the message is sent. It cuts one DDP segment: as many octets as MULPDU allows (MPA-SEG-05), or the rest of the
//! message. The slot is popped when the request is done.
//!
//! **Room.** A segment is cut only if the ring has room for the largest FPDU of the stream. So nothing that a stream
//! has started stalls for its ring.
//!
//! **Refusals.** A request that is not valid, or flushed, gets one piece without octets that says so, and its
//! [`SendSegment`] is the report. Behind the first one that fails, the requests of the stream are flushed. A stream that its receive side has frozen
//! still sends a request with `TERMINATE` (RFC 5041 §7.1).
//!
//! **Commands** are carried out between turns; `ArmTransmit` writes the first MSN of all queues.
//!
//! Assumptions: `s_command` is stable until `command_done`. Events name streams below S. `head` of a stream falls at the latest two cycles
//! behind its `pop`. The row port answers after [`payload::ROW_LATENCY`] cycles.
//!
//! Latency: [`FIRST_PIECE`] cycles from `head` to the header, if no other stream has a turn. Throughput: [`cycles`] for a
//! segment, which are 23 without payload, 28 with one element, and [`payload::PIECE`] more for each further one; a new visit
//! adds [`turns::START`] - 1.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use crate::Config;
use crate::parts::queue::{Queue, Store};
use crate::parts::record_ram::RecordRam;
use crate::records::{LocalPiece, SendSegment};
use crate::tx::ddp::segment::fpdu_length::FpduLength;
use crate::tx::ddp::segment::header::Header;
use crate::tx::ddp::segment::mulpdu::Mulpdu;
use crate::tx::ddp::segment::payload::Payload;
use crate::tx::ddp::segment::request::Request;
use crate::tx::ddp::segment::turns::{StreamEvent, Turns};
use rust_hdl_core::prelude::*;
use warpline_regmap::transmit::{QUEUES, status};
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, Record, comment};
use warpline_wire::mpa;

pub mod fpdu_length;
pub mod header;
pub mod mulpdu;
pub mod payload;
pub mod request;
pub mod turns;

/// Cycles from a turn to the decision about it.
const LOAD: usize = payload::ROW_LATENCY + 1 + request::LATENCY;
/// Cycles from the decision to the position behind the FPDU.
const MEASURE: usize = 1 + fpdu_length::LATENCY + 1;
/// Cycles from a new EMSS to what depends on it.
const SIZES: usize = 2 + mulpdu::LATENCY + fpdu_length::LATENCY;
/// Cycles from `head` to the first piece.
pub const FIRST_PIECE: usize = 1 + turns::START + 1 + LOAD + 2;
/// Cycles from one segment to the next in the same visit, for a segment with payload of `elements` elements.
#[must_use]
pub const fn cycles(elements: usize) -> usize {
    let walk = 4 + payload::PIECE * elements;
    let longer = if walk > MEASURE { walk } else { MEASURE };
    1 + LOAD + 1 + longer + turns::AGAIN
}
/// Octets that a request without an FPDU takes off a stream's budget.
const REFUSAL: usize = 64;

/// What is done between turns.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum TransmitCommand {
    /// The stream is as before it was armed.
    Clear,
    /// `ARM_TRANSMIT`.
    Arm,
    /// `SET_EMSS`.
    SetEmss,
    /// `CLOSE_STREAM`: its requests are flushed.
    Close,
}

/// A command, and the arguments of all of them.
#[derive(Copy, Clone, PartialEq, Debug, LogicStruct, Record, Default)]
pub struct TransmitArguments {
    /// Stream number.
    pub stream: Bits<8>,
    /// Protection domain of the stream.
    pub protection_domain: Bits<16>,
    /// The stream carries markers.
    pub markers: Bit,
    /// CRCs are computed.
    pub crc: Bit,
    /// The gate is closed.
    pub gate: Bit,
    /// EMSS in octets, at least 128.
    pub emss: Bits<16>,
    /// MSN of the first message of every queue.
    pub first_msn: Bits<32>,
}

/// What `ARM_TRANSMIT` and `SET_EMSS` settle.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
struct StreamContext {
    /// Protection domain of the stream.
    protection_domain: Bits<16>,
    /// The stream carries markers.
    markers: Bit,
    /// CRCs are computed.
    crc: Bit,
    /// Most octets of a ULPDU.
    mulpdu: Bits<16>,
    /// Dwords of the longest FPDU.
    longest: Bits<15>,
}

/// Where a stream is in its octets, and in its request.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
struct Progress {
    /// Stream position of the next FPDU, in dwords.
    position: Bits<30>,
    /// Octets of the message that are sent.
    sent: Bits<32>,
    /// Element that is next.
    element: Bits<4>,
    /// Octets of it that are sent.
    into: Bits<32>,
}

/// State of the turn, or of the command.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum Step {
    /// No turn.
    Wait,
    /// The rows are read.
    Load,
    /// Decides what becomes of the request.
    Decide,
    /// The pieces are given.
    Walk,
    /// The segment is given.
    Give,
    /// The FPDU is measured; the rows are written.
    Finish,
    /// A command computes sizes.
    Sizes,
    /// A command writes MSNs.
    Msns,
    /// The gate opens.
    Gate,
    /// The command is done.
    Done,
}

/// Segments of S streams.
#[derive(Block)]
#[block(config: &Config)]
pub struct Segment<const S: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// A command.
    pub command: Signal<In, TransmitCommand>,
    /// Its arguments.
    pub s_command: Signal<In, TransmitArguments>,
    /// It is valid.
    pub command_valid: Signal<In, Bit>,
    /// Pulse: it is carried out.
    pub command_done: Signal<Out, Bit>,
    /// `Clear` takes effect.
    pub cleared: Signal<Out, StreamEvent>,
    /// The gate of a stream opens.
    pub open: Signal<In, StreamEvent>,
    /// The receive side has frozen a stream.
    pub freeze: Signal<In, StreamEvent>,
    /// A segment has failed in the blocks behind this one.
    pub fail: Signal<In, StreamEvent>,
    /// A segment has left the blocks behind this one.
    pub settled: Signal<In, StreamEvent>,
    /// Streams with segments in those blocks.
    pub under_way: [Signal<In, Bit>; S],
    /// Octets in front of `freed_position` are acknowledged.
    pub freed: Signal<In, StreamEvent>,
    /// A stream position.
    pub freed_position: Signal<In, Bits<32>>,

    /// The oldest slot of the stream is fetched.
    pub head: [Signal<In, Bit>; S],
    /// Stream whose oldest slot is read.
    pub row_stream: Signal<Out, Bits<8>>,
    /// Row of it.
    pub row: Signal<Out, Bits<4>>,
    /// Its content, [`payload::ROW_LATENCY`] cycles later.
    pub row_data: Signal<In, Bits<128>>,
    /// With it: the bus has refused a read of the slot.
    pub head_failed: Signal<In, Bit>,
    /// With it: slots popped, modulo 2^16, this one included.
    pub consumed: Signal<In, Bits<16>>,
    /// The oldest slot of a stream is done with.
    pub pop: Signal<Out, StreamEvent>,

    /// A piece.
    pub m_piece: Signal<Out, LocalPiece>,
    /// It is valid.
    pub m_piece_valid: Signal<Out, Bit>,
    /// It is accepted.
    pub m_piece_ready: Signal<In, Bit>,
    /// A segment, behind its last piece.
    pub m_segment: Signal<Out, SendSegment>,
    /// It is valid.
    pub m_segment_valid: Signal<Out, Bit>,
    /// It is accepted.
    pub m_segment_ready: Signal<In, Bit>,
    /// Streams with segments that are given here, and not accepted yet: their slots may be popped already.
    pub holds: [Signal<Out, Bit>; S],
    /// Streams that `ARM_TRANSMIT` has armed.
    pub is_armed: [Signal<Out, Bit>; S],
    /// Streams whose gate is open.
    pub is_open: [Signal<Out, Bit>; S],
    /// Streams whose queue has ended.
    pub is_ended: [Signal<Out, Bit>; S],

    turns: Turns<S>,
    request: Request,
    #[value(Mulpdu::new(config.ring_octets))]
    emss_to_mulpdu: Mulpdu,
    fpdu_length: FpduLength,
    ddp_header: Header,
    payload: Payload,
    pieces: Queue<LocalPiece, 2>,
    segments: Queue<SendSegment, 1>,
    /// Segments of each stream in that queue.
    held: [Dff<Bits<2>>; S],
    #[value(RecordRam::new(S * QUEUES as usize))]
    msns: RecordRam<Bits<32>, 12>,
    contexts: Store<StreamContext, 4>,
    progress: Store<Progress, 4>,
    acknowledged: Store<Bits<30>, 4>,

    /// Rows of the stream in work.
    row_context: Dff<StreamContext>,
    row_progress: Dff<Progress>,
    step: Dff<Step>,
    age: Dff<Bits<4>>,
    sizes_age: Dff<Bits<4>>,
    queue: Dff<Bits<8>>,
    failed: Dff<Bit>,
    consumed_now: Dff<Bits<16>>,
    used_1: Dff<Bits<16>>,
    sum_2: Dff<Bits<17>>,
    fits_3: Dff<Bit>,
    refusal: Dff<Bits<4>>,
    sends_it: Dff<Bit>,
    is_first: Dff<Bit>,
    is_last: Dff<Bit>,
    ends_queue: Dff<Bit>,
    ulpdu: Dff<Bits<16>>,
    behind: Dff<Bits<30>>,
    new_context: Dff<StreamContext>,
    waiting: Signal<Local, Bit>,
    stream: Signal<Local, Bits<4>>,
    enters: Signal<Local, Bit>,
    leaves: Signal<Local, Bit>,
    up: [Signal<Local, Bit>; S],
    down: [Signal<Local, Bit>; S],
    flushed: Signal<Local, Bit>,
    fence_holds: Signal<Local, Bit>,
    measured: Signal<Local, Bit>,
    clear: Dff<StreamEvent>,
    arm: Dff<StreamEvent>,
    close: Dff<StreamEvent>,
    gate: Dff<StreamEvent>,
    msn_queue: Signal<Local, Bits<8>>,
    #[constant(|i| i)]
    index: [Constant<Bits<4>>; S],
    #[constant(config.ring_octets / mpa::ALIGN)]
    ring_dwords: Constant<Bits<17>>,
    #[constant(0)]
    row_0: Constant<Bits<4>>,
    #[constant(1)]
    row_1: Constant<Bits<4>>,
    #[constant(payload::ROW_LATENCY)]
    arrives_0: Constant<Bits<4>>,
    #[constant(payload::ROW_LATENCY + 1)]
    arrives_1: Constant<Bits<4>>,
    #[constant(LOAD - 1)]
    loaded: Constant<Bits<4>>,
    #[constant(MEASURE)]
    measures: Constant<Bits<4>>,
    #[constant(1)]
    row_is_read: Constant<Bits<4>>,
    #[constant(SIZES)]
    sizes: Constant<Bits<4>>,
    #[constant(REFUSAL)]
    refusal_cost: Constant<Bits<17>>,
    #[constant(status::FLUSHED)]
    flushed_status: Constant<Bits<4>>,
    #[constant(status::BUS)]
    bus_status: Constant<Bits<4>>,
    #[constant(status::MALFORMED)]
    malformed_status: Constant<Bits<4>>,
}

impl<const S: usize> Segment<S> {
    /// Segments for the device that `config` describes.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        assert!(QUEUES == 256 && S <= 16, "rows of `msns`");
        Self::assemble(config)
    }
}

impl<const S: usize> Logic for Segment<S> {
    #[hdl_gen]
    fn update(&mut self) {
        self.turns.reset.next = self.reset.val();
        self.payload.reset.next = self.reset.val();
        self.pieces.reset.next = self.reset.val();
        self.segments.reset.next = self.reset.val();
        self.m_piece.next = self.pieces.m_data.val();
        self.m_piece_valid.next = self.pieces.m_valid.val();
        self.pieces.m_ready.next = self.m_piece_ready.val();
        self.m_segment.next = self.segments.m_data.val();
        self.m_segment_valid.next = self.segments.m_valid.val();
        self.segments.m_ready.next = self.m_segment_ready.val();

        comment!("rows of the stream whose turn it is, or which the command names");
        self.waiting.next = (self.step.q.val() == Step::Sizes)
            | (self.step.q.val() == Step::Msns)
            | (self.step.q.val() == Step::Gate)
            | (self.step.q.val() == Step::Done);
        self.stream.next = self.turns.stream.val().get_bits::<4>(0);
        if self.waiting.val() {
            self.stream.next = self.s_command.val().stream.get_bits::<4>(0);
        }
        self.contexts.read_row.next = self.stream.val();
        self.contexts.write_row.next = self.stream.val();
        self.progress.read_row.next = self.stream.val();
        self.progress.write_row.next = self.stream.val();
        self.acknowledged.read_row.next = self.stream.val();
        self.row_context.d.next = self.contexts.out.val();
        self.row_progress.d.next = self.progress.out.val();

        comment!("the slot, row by row");
        self.row_stream.next = self.turns.stream.val();
        self.row.next = self.payload.row.val();
        if self.step.q.val() == Step::Load {
            self.row.next = self.row_1.val();
            if !self.age.q.val().any() {
                self.row.next = self.row_0.val();
            }
        }
        self.request.row.next = self.row_data.val();
        self.request.take_0.next =
            (self.step.q.val() == Step::Load) & (self.age.q.val() == self.arrives_0.val());
        self.request.take_1.next =
            (self.step.q.val() == Step::Load) & (self.age.q.val() == self.arrives_1.val());
        if self.request.take_0.val() {
            self.failed.d.next = self.head_failed.val();
            self.consumed_now.d.next = self.consumed.val();
        }
        self.request.sent.next = self.row_progress.q.val().sent;
        self.request.mulpdu.next = self.row_context.q.val().mulpdu;

        comment!("room in the ring, for the longest FPDU");
        self.used_1.d.next =
            (self.row_progress.q.val().position - self.acknowledged.out.val()).get_bits::<16>(0);
        self.sum_2.d.next = bit_cast::<17, 16>(self.used_1.q.val())
            + bit_cast::<17, 15>(self.row_context.q.val().longest);
        self.fits_3.d.next = self.sum_2.q.val() <= self.ring_dwords.val();

        comment!("the header, and the FPDU's length");
        self.msn_queue.next = self.request.slot.val().stag.get_bits::<8>(0);
        if self.step.q.val() == Step::Msns {
            self.msn_queue.next = self.queue.q.val();
        }
        self.msns.read_row.next =
            (bit_cast::<12, 4>(self.stream.val()) << 8) | bit_cast::<12, 8>(self.msn_queue.val());
        self.msns.write_row.next =
            (bit_cast::<12, 4>(self.stream.val()) << 8) | bit_cast::<12, 8>(self.msn_queue.val());
        self.msns.write.next = false;
        self.msns.write_data.next = self.msns.read_data.val() + 1;
        self.ddp_header.is_tagged.next = self.request.is_tagged.val();
        self.ddp_header.last.next = self.request.last.val();
        self.ddp_header.rsvd_ulp_first.next = self.request.slot.val().head.get_bits::<8>(24);
        self.ddp_header.rsvd_ulp_low.next = self.request.slot.val().rsvd_ulp_low;
        self.ddp_header.stag.next = self.request.slot.val().stag;
        self.ddp_header.tagged_offset.next = self.request.tagged_offset.val();
        self.ddp_header.msn.next = self.msns.read_data.val();
        self.ddp_header.message_offset.next = self.row_progress.q.val().sent;
        self.ulpdu.d.next = self.ddp_header.length.val() + self.request.octets.val();
        self.emss_to_mulpdu.emss.next = self.s_command.val().emss;
        self.emss_to_mulpdu.markers.next = self.new_context.q.val().markers;
        self.fpdu_length.markers.next = self.row_context.q.val().markers;
        self.fpdu_length.length.next = self.ulpdu.q.val();
        self.fpdu_length.position.next =
            bit_cast::<32, 30>(self.row_progress.q.val().position) << 2;
        self.behind.d.next =
            self.row_progress.q.val().position + bit_cast::<30, 15>(self.fpdu_length.dwords.val());
        if self.waiting.val() {
            self.fpdu_length.markers.next = self.new_context.q.val().markers;
            self.fpdu_length.length.next = self.emss_to_mulpdu.mulpdu.val();
            self.fpdu_length.position.next = 0.into();
        }

        self.payload.start.next = false;
        self.payload.refusal.next = self.refusal.q.val();
        self.payload.stream.next = self.turns.stream.val();
        self.payload.protection_domain.next = self.row_context.q.val().protection_domain;
        self.payload.header.next = self.ddp_header.octets.val();
        self.payload.header_length.next = self.ddp_header.length.val();
        self.payload.octets.next = self.request.octets.val();
        self.payload.last.next = self.request.last.val();
        self.payload.inline.next = self.request.inline.val();
        self.payload.count.next = self.request.count.val();
        self.payload.element.next = self.row_progress.q.val().element;
        self.payload.into.next = self.row_progress.q.val().into;
        self.payload.row_data.next = self.row_data.val();
        self.pieces.s_data.next = self.payload.m_piece.val();
        self.pieces.s_valid.next = self.payload.m_valid.val();
        self.payload.m_ready.next = self.pieces.s_ready.val();

        self.segments.s_valid.next = self.step.q.val() == Step::Give;
        self.segments.s_data.next.stream = self.turns.stream.val();
        self.segments.s_data.next.position =
            bit_cast::<32, 30>(self.row_progress.q.val().position) << 2;
        self.segments.s_data.next.length = self.ulpdu.q.val();
        self.segments.s_data.next.markers = self.row_context.q.val().markers;
        self.segments.s_data.next.crc = self.row_context.q.val().crc;
        self.segments.s_data.next.first = self.is_first.q.val();
        self.segments.s_data.next.last = self.is_last.q.val();
        self.segments.s_data.next.signalled = self.request.signalled.val();
        self.segments.s_data.next.octets = self.request.slot.val().length;
        self.segments.s_data.next.request = self.request.slot.val().request;
        self.segments.s_data.next.consumed = self.consumed_now.q.val();

        comment!("segments that the blocks behind do not count yet");
        self.enters.next = self.segments.s_valid.val() & self.segments.s_ready.val();
        self.leaves.next = self.segments.m_valid.val() & self.m_segment_ready.val();
        for i in 0..S {
            self.holds[i].next = self.held[i].q.val().any();
            self.up[i].next = self.enters.val()
                & (self.turns.stream.val().get_bits::<4>(0) == self.index[i].val());
            self.down[i].next = self.leaves.val()
                & (self.segments.m_data.val().stream.get_bits::<4>(0) == self.index[i].val());
            if self.up[i].val() & !self.down[i].val() {
                self.held[i].d.next = self.held[i].q.val() + 1;
            }
            if self.down[i].val() & !self.up[i].val() {
                self.held[i].d.next = self.held[i].q.val() - 1;
            }
        }

        comment!("the turn, or the command");
        self.flushed.next = self.turns.flushes.val()
            | (self.turns.frozen.val()
                & !(self.request.terminate.val() & self.turns.sends.val() & !self.failed.q.val()));
        self.fence_holds.next = false;
        for i in 0..S {
            if (self.stream.val() == self.index[i].val())
                & (self.under_way[i].val() | self.holds[i].val())
            {
                self.fence_holds.next = self.request.fence.val() & self.request.first.val();
            }
        }
        self.measured.next = self.age.q.val() >= self.measures.val();
        self.turns.done.next = false;
        self.turns.block.next = false;
        self.turns.ends.next = false;
        self.turns.spent.next = self.refusal_cost.val();
        if self.sends_it.q.val() {
            self.turns.spent.next = bit_cast::<17, 15>(self.fpdu_length.dwords.val()) << 2;
        }
        self.contexts.write.next = false;
        self.contexts.data.next = self.new_context.q.val();
        self.progress.write.next = false;
        self.progress.data.next = self.row_progress.q.val();
        self.clear.d.next.valid = false;
        self.clear.d.next.stream = self.s_command.val().stream;
        self.arm.d.next.valid = false;
        self.arm.d.next.stream = self.s_command.val().stream;
        self.close.d.next.valid = false;
        self.close.d.next.stream = self.s_command.val().stream;
        self.gate.d.next.valid = false;
        self.gate.d.next.stream = self.s_command.val().stream;
        self.pop.next.valid = false;
        self.pop.next.stream = self.turns.stream.val();
        if !self.age.q.val().all() {
            self.age.d.next = self.age.q.val() + 1;
        }
        match self.step.q.val() {
            Step::Wait => {
                self.age.d.next = 0.into();
                self.sizes_age.d.next = 0.into();
                self.queue.d.next = 0.into();
                self.new_context.d.next.protection_domain = self.s_command.val().protection_domain;
                self.new_context.d.next.markers = self.s_command.val().markers;
                self.new_context.d.next.crc = self.s_command.val().crc;
                self.new_context.d.next.mulpdu = 0.into();
                self.new_context.d.next.longest = 0.into();
                if self.command_valid.val() {
                    match self.command.val() {
                        TransmitCommand::Clear => {
                            self.clear.d.next.valid = true;
                            self.step.d.next = Step::Done;
                        }
                        TransmitCommand::Close => {
                            self.close.d.next.valid = true;
                            self.step.d.next = Step::Done;
                        }
                        _ => {
                            self.step.d.next = Step::Sizes;
                        }
                    }
                } else if self.turns.turn.val() {
                    self.step.d.next = Step::Load;
                }
            }
            Step::Load => {
                if self.age.q.val() == self.loaded.val() {
                    self.age.d.next = 0.into();
                    self.step.d.next = Step::Decide;
                }
            }
            Step::Decide => {
                self.age.d.next = 0.into();
                self.is_first.d.next = self.request.first.val();
                self.is_last.d.next = true;
                self.sends_it.d.next = false;
                self.ends_queue.d.next = false;
                self.refusal.d.next = self.flushed_status.val();
                self.step.d.next = Step::Walk;
                if !self.flushed.val() {
                    self.ends_queue.d.next = true;
                    self.refusal.d.next = self.malformed_status.val();
                    if self.failed.q.val() {
                        self.refusal.d.next = self.bus_status.val();
                    }
                    if !self.failed.q.val() & !self.request.malformed.val() {
                        self.refusal.d.next = 0.into();
                        self.ends_queue.d.next =
                            self.request.terminate.val() & self.request.last.val();
                        self.is_last.d.next = self.request.last.val();
                        self.sends_it.d.next = true;
                        if !self.fits_3.q.val() | self.fence_holds.val() | !self.turns.sends.val() {
                            self.turns.done.next = true;
                            self.turns.block.next = true;
                            self.turns.spent.next = 0.into();
                            self.step.d.next = Step::Wait;
                        }
                    }
                }
            }
            Step::Walk => {
                self.payload.start.next = !self.age.q.val().any();
                if self.payload.done.val() {
                    self.step.d.next = Step::Give;
                    if self.payload.refused.val() {
                        self.is_last.d.next = true;
                        self.ends_queue.d.next = true;
                        self.sends_it.d.next = false;
                    }
                }
            }
            Step::Give => {
                if self.segments.s_ready.val() {
                    self.pop.next.valid = self.is_last.q.val();
                    self.step.d.next = Step::Finish;
                }
            }
            Step::Finish => {
                self.progress.data.next.sent =
                    self.row_progress.q.val().sent + bit_cast::<32, 16>(self.request.octets.val());
                self.progress.data.next.element = self.payload.next_element.val();
                self.progress.data.next.into = self.payload.next_into.val();
                if self.is_last.q.val() {
                    self.progress.data.next.sent = 0.into();
                    self.progress.data.next.element = 0.into();
                    self.progress.data.next.into = 0.into();
                }
                if self.sends_it.q.val() {
                    self.progress.data.next.position = self.behind.q.val();
                }
                if self.measured.val() {
                    self.progress.write.next = true;
                    self.msns.write.next = self.sends_it.q.val()
                        & self.is_last.q.val()
                        & !self.request.is_tagged.val();
                    self.turns.done.next = true;
                    self.turns.ends.next = self.ends_queue.q.val();
                    self.step.d.next = Step::Wait;
                }
            }
            Step::Sizes => {
                comment!("the stream keeps all but its sizes, unless it is armed");
                self.sizes_age.d.next = self.sizes_age.q.val() + 1;
                if (self.sizes_age.q.val() == self.row_is_read.val())
                    & (self.command.val() == TransmitCommand::SetEmss)
                {
                    self.new_context.d.next = self.row_context.q.val();
                }
                self.contexts.data.next.mulpdu = self.emss_to_mulpdu.mulpdu.val();
                self.contexts.data.next.longest = self.fpdu_length.dwords.val();
                if self.sizes_age.q.val() == self.sizes.val() {
                    self.contexts.write.next = true;
                    self.step.d.next = Step::Done;
                    if self.command.val() == TransmitCommand::Arm {
                        self.arm.d.next.valid = true;
                        self.step.d.next = Step::Msns;
                    }
                }
            }
            Step::Msns => {
                self.msns.write.next = true;
                self.msns.write_data.next = self.s_command.val().first_msn;
                self.queue.d.next = self.queue.q.val() + 1;
                self.progress.write.next = true;
                self.progress.data.next.position = 0.into();
                self.progress.data.next.sent = 0.into();
                self.progress.data.next.element = 0.into();
                self.progress.data.next.into = 0.into();
                if self.queue.q.val().all() {
                    self.step.d.next = Step::Gate;
                }
            }
            Step::Gate => {
                self.gate.d.next.valid = !self.s_command.val().gate;
                self.step.d.next = Step::Done;
            }
            Step::Done => {
                self.step.d.next = Step::Wait;
            }
        }
        self.command_done.next = self.step.q.val() == Step::Done;

        self.turns.clear.next = self.clear.q.val();
        self.cleared.next = self.clear.q.val();
        self.turns.arm.next = self.arm.q.val();
        self.turns.close.next = self.close.q.val();
        self.turns.freeze.next = self.freeze.val();
        self.turns.fail.next = self.fail.val();
        self.turns.freed.next = self.freed.val();
        self.turns.settled.next = self.settled.val();
        self.turns.open.next = self.open.val();
        if self.gate.q.val().valid {
            self.turns.open.next = self.gate.q.val();
        }
        comment!("an acknowledgement, or none at all for a stream that is armed");
        self.acknowledged.write.next = self.freed.val().valid;
        self.acknowledged.write_row.next = self.freed.val().stream.get_bits::<4>(0);
        self.acknowledged.data.next = self.freed_position.val().get_bits::<30>(2);
        if self.arm.q.val().valid {
            self.acknowledged.write.next = true;
            self.acknowledged.write_row.next = self.stream.val();
            self.acknowledged.data.next = 0.into();
        }
        for i in 0..S {
            self.turns.head[i].next = self.head[i].val();
            self.is_armed[i].next = self.turns.is_armed[i].val();
            self.is_open[i].next = self.turns.is_open[i].val();
            self.is_ended[i].next = self.turns.is_ended[i].val();
        }
        if self.reset.val() {
            self.step.d.next = Step::Wait;
            self.clear.d.next.valid = false;
            self.arm.d.next.valid = false;
            self.close.d.next.valid = false;
            self.gate.d.next.valid = false;
            for i in 0..S {
                self.held[i].d.next = 0.into();
            }
        }
    }
}
