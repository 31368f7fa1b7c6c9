//! Segment: cuts the requests of send queues into DDP segments, one stream after the other.
//!
//! ```text
//!  events ─► scheduler ─ stream ─► load ─ quick? ─► decide ─► Cut ─► payload ──► LocalPiece ─► local_access
//!              ▲                    │ ▲     request   │         ▲       │
//!              │       rows of the ─┘ │      MSN, DDP header    │       └ hand ─► SendSegment ─► settle
//!              │       slot, pop      └ progress, room   rows ──┘            └──► measure ─► positions
//!              └── start, pays, leave, ends
//! ```
//!
//! A turn cuts one DDP segment: as many octets as MULPDU allows (MPA-SEG-05), or the rest of the message. The slot is
//! popped when the request is done. Up to three segments are in work: one is loaded, one is walked, one is measured.
//!
//! ```text
//!  cycle     0      1      2 ... 5          4        5      7                8           9 ...
//!  quick     row 1  row 0  payload's rows   quick?   pop    begin the next   decide,     header, inline pieces or elements,
//!                                                                            next row 1  hand over, measure
//! ```
//!
//! **Quick turns.** The slot's first two rows and what is sure anyway tell of most turns that they end their request: the
//! first segment of a message that fits in one, no fence, at most 3 elements or inline octets, an open stream, and plenty
//! of room. The slot of such a turn is popped in cycle [`POP`], and the next turn begins in cycle [`QUICK`]. Any other turn
//! has the load for itself until its outcome is known.
//!
//! **Room.** A segment is cut only if the ring has room for the longest FPDU of the stream, so nothing that a stream has
//! started stalls for its ring. The lengths of up to three FPDUs in front of a turn may not be known yet: a turn is
//! decided at once if the ring has room for four of the longest ones, and else it stalls until all of them are measured.
//!
//! **Fence.** A request with a fence blocks its stream while segments of it are held here or under way behind.
//!
//! **Refusals.** A request that is not valid, or flushed, gets one piece without octets that says so, and its
//! [`SendSegment`] is the report. Behind the first one that fails, the requests of the stream are flushed, also one that
//! was decided before the walk found the failure. A stream that its receive side has frozen still sends a request with
//! `TERMINATE` (RFC 5041 §7.1).
//!
//! **Commands** are carried out between turns, when no segment is in work; `Arm` writes the first MSN of all queues, which takes
//! 256 cycles. Events of other streams go on meanwhile: where they share a port with `Arm`, the acknowledged position and the
//! opening of the gate, it writes in a cycle without one. `freed` leaves such a cycle, as its queue holds 16.
//!
//! Assumptions: `s_command` is stable until `command_done`. Events name streams below S. `head` of a stream falls at the
//! latest two cycles behind its `pop`, and says in the third one whether the next slot is there. `under_way` of a stream is
//! high from the cycle behind the one in which a segment was accepted. The row port answers after
//! [`payload::ROW_LATENCY`] cycles.
//!
//! Latency: [`FIRST_PIECE`] cycles from `head` to the header, if no other stream has a turn. Throughput: [`cycles`] for a
//! message of one segment: 8 without payload, with inline octets, or with up to two elements, from one stream. A change to
//! another stream can cost up to six more; two, if the stream before has nothing more to send. [`part_cycles`] for a segment
//! that is not the last one of its message: 15 with one element.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use crate::Config;
use crate::host::send_queues;
use crate::parts::queue::{Queue, Store};
use crate::parts::record_ram::RecordRam;
use crate::records::{LocalPiece, SendSegment};
use crate::tx::ddp::segment::command::{TransmitArguments, TransmitCommand};
use crate::tx::ddp::segment::cut::Cut;
use crate::tx::ddp::segment::header::Header;
use crate::tx::ddp::segment::measure::Measure;
use crate::tx::ddp::segment::mulpdu::Mulpdu;
use crate::tx::ddp::segment::payload::Payload;
use crate::tx::ddp::segment::request::Request;
use crate::tx::ddp::segment::scheduler::{Scheduler, StreamEvent};
use rust_hdl_core::prelude::*;
use warpline_regmap::transmit::{ELEMENTS_MAX, QUEUES, send_slot, status};
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, Record};
use warpline_wire::{crc, ddp, mpa};

pub mod command;
pub mod cut;
pub mod fpdu_length;
pub mod header;
mod kernel;
pub mod measure;
pub mod mulpdu;
pub mod payload;
pub mod request;
pub mod scheduler;

/// Cycles from the first one of a turn to the decision about it.
const LOAD: usize = payload::ROW_LATENCY + 1 + request::LATENCY;
/// Cycle of a quick turn in which its slot is popped.
pub const POP: usize = payload::ROW_LATENCY + 2;
/// Cycles from a quick turn to the next one.
pub const QUICK: usize = POP + send_queues::POP_LATENCY;
/// Cycles without a segment in work until the room is exact: a cycle each for `used_1`, `sum_2` and `fits_3`.
pub const STILL: usize = 3;
/// Cycles from a new EMSS to what depends on it.
const SIZES: usize = 2 + mulpdu::LATENCY + fpdu_length::LATENCY;
/// Cycles from `head` to the first piece.
pub const FIRST_PIECE: usize = 1 + scheduler::START + LOAD + 2;
const _: () = assert!(
    QUICK == LOAD,
    "the next turn begins when this one is decided: registers of the turn serve both"
);

/// Cycles from one message of a single segment to the next one of the same stream, with payload of `elements` elements, if
/// the ring has room for four of the longest FPDUs.
#[must_use]
pub const fn cycles(elements: usize) -> usize {
    let turn = if elements <= QUICK_ELEMENTS {
        QUICK
    } else {
        LOAD + 2 + send_queues::POP_LATENCY
    };
    // the record is handed over in the cycle of `finished`, and the next segment decided behind it
    let walk = payload::walk(elements) + 2;
    if walk > turn { walk } else { turn }
}

/// Cycles from one segment to the next in the same message, with payload of `elements` elements.
#[must_use]
pub const fn part_cycles(elements: usize) -> usize {
    LOAD + 1 + payload::walk(elements) + 2
}
/// Most elements of a quick turn.
const QUICK_ELEMENTS: usize = 3;
/// Octets of an FPDU beside its ULPDU, and what rounds them up to dwords.
const AROUND: usize = mpa::LENGTH_LEN + (mpa::ALIGN - 1) + crc::LEN;
/// Octets that a request without an FPDU takes off a stream's budget.
const REFUSAL: usize = 64;

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

/// Where a stream is in its request; zero between requests.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
struct Progress {
    /// Octets of the message that are sent.
    sent: Bits<32>,
    /// Element that is next.
    element: Bits<4>,
    /// Octets of it that are sent.
    into: Bits<32>,
}

/// Where a row of a slot goes.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
struct Fill {
    /// The row is part of the payload.
    valid: Bit,
    /// Bank, and number modulo 8.
    row: Bits<4>,
}

/// State of the turn, or of the command.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum Step {
    /// No turn.
    Wait,
    /// The rows are read; the turn may be quick.
    Load,
    /// A turn that is not quick is decided.
    Decide,
    /// What was decided takes effect.
    After,
    /// The pieces are given; the request goes on behind them.
    Walk,
    /// The stream can have its next turn soon.
    Again,
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
    /// With row 0: the slot is a Read Response.
    pub is_response: Signal<In, Bit>,
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
    /// Streams with segments that `m_segment` has not given away: their slots may be popped already.
    pub holds: [Signal<Out, Bit>; S],
    /// Streams that `ARM_TRANSMIT` has armed.
    pub is_armed: [Signal<Out, Bit>; S],
    /// Streams whose gate is open.
    pub is_open: [Signal<Out, Bit>; S],
    /// Streams whose queue has ended.
    pub is_ended: [Signal<Out, Bit>; S],

    scheduler: Scheduler<S>,
    request: Request,
    #[value(Mulpdu::new(config.ring_octets))]
    emss_to_mulpdu: Mulpdu,
    measure: Measure,
    ddp_header: Header,
    payload: Payload<S>,
    pieces: Queue<LocalPiece, 2>,
    segments: Queue<SendSegment, 1>,
    /// Segments of each stream from its pop or its decision, whichever is first, until they are accepted: one is loaded, one walked, two are in that queue.
    held: [Dff<Bits<3>>; S],
    #[value(RecordRam::new(S * QUEUES as usize))]
    msns: RecordRam<Bits<32>, 12>,
    contexts: Store<StreamContext, 4>,
    progress: Store<Progress, 4>,
    acknowledged: Store<Bits<30>, 4>,

    step: Dff<Step>,
    /// Cycle of the turn.
    age: Dff<Bits<4>>,
    pause: Dff<Bits<2>>,
    sizes_age: Dff<Bits<4>>,
    queue: Dff<Bits<8>>,
    /// Rows of the stream in work.
    row_context: Dff<StreamContext>,
    row_progress: Dff<Progress>,
    stream_1: Dff<Bits<4>>,
    /// Where a row of the slot goes.
    fill_1: Dff<Fill>,
    fill_2: Dff<Fill>,
    fill_3: Dff<Fill>,
    bank: Dff<Bit>,
    /// The bank is given away; the last row of its turn is under way.
    swaps: Dff<Bit>,
    failed: Dff<Bit>,
    consumed_now: Dff<Bits<16>>,
    response: Dff<Bit>,
    /// The message fits in a segment, also in an untagged one.
    room_1: Dff<Bits<16>>,
    fits_one: Dff<Bit>,
    used_1: Dff<Bits<16>>,
    sum_2: Dff<Bits<18>>,
    fits_3: Dff<Bit>,
    /// `fits_3` when the turn was about to be decided: a position that is written then does not count.
    has_room: Dff<Bit>,
    quick: Dff<Bit>,
    charge: Dff<Bits<17>>,
    /// Cycles without a segment in work.
    still: Dff<Bits<2>>,
    /// The turn is decided in this cycle.
    verdict: Dff<Bit>,
    cut: Dff<Cut>,
    cut_valid: Dff<Bit>,
    was_blocked: Dff<Bit>,
    was_last: Dff<Bit>,
    was_sent: Dff<Bit>,
    pop_now: Dff<StreamEvent>,
    ends: Dff<StreamEvent>,
    word: Signal<Local, Bits<32>>,
    many: Signal<Local, Bit>,
    fence_word: Signal<Local, Bit>,
    quick_now: Signal<Local, Bit>,
    longest: Signal<Local, Bits<18>>,
    exact: Signal<Local, Bit>,
    idle: Signal<Local, Bit>,
    free: Signal<Local, Bit>,
    hand: Signal<Local, Bit>,
    can_begin: Signal<Local, Bit>,
    begins: Signal<Local, Bit>,
    sent_now: Signal<Local, Bit>,
    refuses: Signal<Local, Bit>,
    blocked: Signal<Local, Bit>,
    done_with: Signal<Local, Bit>,
    refusal: Signal<Local, Bits<4>>,
    ulpdu: Signal<Local, Bits<16>>,
    new_context: Dff<StreamContext>,
    waiting: Signal<Local, Bit>,
    stream: Signal<Local, Bits<4>>,
    /// A segment counts: its slot is popped, or it is decided.
    enters: Signal<Local, Bit>,
    leaves: Signal<Local, Bit>,
    up: [Signal<Local, Bit>; S],
    down: [Signal<Local, Bit>; S],
    flushed: Signal<Local, Bit>,
    fence_holds: Signal<Local, Bit>,
    clear: Dff<StreamEvent>,
    arm: Dff<StreamEvent>,
    close: Dff<StreamEvent>,
    msn_queue: Signal<Local, Bits<8>>,
    #[constant(|i| i)]
    index: [Constant<Bits<4>>; S],
    #[constant(config.ring_octets / mpa::ALIGN)]
    ring_dwords: Constant<Bits<18>>,
    #[constant(0)]
    row_0: Constant<Bits<4>>,
    #[constant(1)]
    row_1: Constant<Bits<4>>,
    #[constant(payload::ROW_LATENCY)]
    arrives_1: Constant<Bits<4>>,
    #[constant(payload::ROW_LATENCY + 1)]
    arrives_0: Constant<Bits<4>>,
    #[constant(POP)]
    popped: Constant<Bits<4>>,
    #[constant(1)]
    second: Constant<Bits<4>>,
    #[constant(payload::FIRST_ROW)]
    first_row: Constant<Bits<4>>,
    #[constant(payload::FIRST_ROW + ELEMENTS_MAX)]
    behind_rows: Constant<Bits<4>>,
    #[constant(8)]
    second_bank: Constant<Bits<4>>,
    #[constant(usize::from(u8::MAX) - QUICK_ELEMENTS)]
    beyond_quick: Constant<Bits<8>>,
    #[constant(send_slot::FENCE.in_word(0))]
    fence_at: Constant<Bits<8>>,
    #[constant(send_slot::INLINE.in_word(0))]
    inline_at: Constant<Bits<8>>,
    #[constant(send_slot::COUNT.in_word(0))]
    count_at: Constant<Bits<8>>,
    #[constant(ddp::UNTAGGED_HEADER_LEN)]
    untagged_header: Constant<Bits<16>>,
    #[constant(ddp::UNTAGGED_HEADER_LEN + AROUND)]
    around_message: Constant<Bits<17>>,
    #[constant(STILL)]
    still_enough: Constant<Bits<2>>,
    #[constant(2)]
    pause_of_pop: Constant<Bits<2>>,
    #[constant(LOAD - 1)]
    loaded: Constant<Bits<4>>,
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
