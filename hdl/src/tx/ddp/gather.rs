//! Gather: joins the pieces of ULPDUs without gaps, from host memory and from what comes with them.
//!
//! ```text
//!  Piece ─► queue ─► measure ─┬─► split ─────────────────────────────────────────────► AR
//!                             │     └ beats of each burst ─► answers ◄──────────────── R
//!                             │                                 │ beats
//!                             ├─► queue of pieces ─► source_planner ─ plan ─► lane_join ─► queue ─► octets
//!                             ├─► octets with them ─┘    ▲ room  └─► queue ─► verdict ▲ │
//!                             │                          └────── beats that have left ──┘
//!                             └─► queue of headers ───────────────────────────────────┘
//! ```
//!
//! Each ULPDU begins in lane 0 of a beat, and all lanes of its beats are full but those behind its last octet, which have
//! no meaning. Addresses go ahead of the octets: [`PIECES`] pieces are known ahead, of which [`CONTENTS`] bring their
//! octets, and from 256 bits on [`HEADERS`] headers besides; [`BURSTS`] bursts are asked for. `source_planner` is the only block that stalls for octets; behind it
//! nothing does.
//!
//! **Failed reads.** When the bus refuses a beat (RRESP bit 1), or RLAST does not come with the last beat of a burst, the
//! ULPDU's verdict is 1. It has as many beats as any other, with some octets in them, so that its frame ends where it
//! should. There is one verdict for each ULPDU, in their order, not before all of its reads are answered and not behind
//! its last beat. Up to [`VERDICTS`] verdicts wait; then this block stalls, so that one must be accepted at the latest when
//! the last beat of its ULPDU is.
//!
//! Reads: INCR bursts of whole beats, aligned to the bus, at most 256 beats, none crosses 4 KiB. They cover the beats that
//! hold octets of a piece, and no others. Addresses are those of the pieces, modulo 2^64. Assumes that a piece has at least
//! one octet, at most [`PIECE_OCTETS`](crate::records::PIECE_OCTETS) that come with it, and that the bus ends each burst
//! with an RLAST. Hold `reset` for [`RESET`] cycles, with no read under way.
//!
//! Throughput: one piece a cycle is accepted, and a piece takes one cycle for each of its *source* beats, ceil((a + n) / K)
//! for n octets from lane a of the bus on, or ceil(n / K) for octets that come with it, whatever lane they go to. ULPDUs
//! follow each other without a gap. From 256 bits on, where [`PIECE_OCTETS`](crate::records::PIECE_OCTETS) are less than a
//! beat, a *header* takes no cycle: the first piece of a ULPDU, if its octets come with it and another piece follows. It is
//! joined with the first source beat behind it. One cycle is lost when that source beat completes a beat and has octets
//! left while the rest of the ULPDU before it has still to leave: there is no place for both. So ULPDUs that are like each
//! other, of h octets of header and n from lane a on, take max(2, ceil((a + n) / K), ceil((h + n) / K)) cycles, the beats
//! that are read or those that leave: at 1442 octets 46 at 256 bits, and at 512 bits 23, or 24 where the payload lies in 24
//! beats of memory (a > 44 with h = 14, a > 48 with h = 18). Behind one with a >= h, one with a < h may take a cycle more:
//! with payload that follows itself in memory, 1442 octets take 46 cycles at 256 bits and 23.3 at 512. At 64 and 128 bits
//! ULPDUs take ceil(h / K) + ceil((a + n) / K).
//!
//! Latency: a piece's address is valid in cycle [`ADDRESS`] behind its acceptance. A
//! beat on R comes out [`from_bus`] cycles later, 4, 4, 5 and 5 from 64 to 512 bits, and octets that come with the first
//! piece [`from_piece`] cycles later, 7, 7, 8 and 8. A ULPDU's beat that is closed by the rest of a source beat comes one
//! cycle later, and so do complete beats behind it until a source beat completes none. No output depends on an input in
//! the same cycle.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use crate::parts::axi::{AxiReadMaster, BURST_INCR, CACHE_NOT_BUFFERABLE, PROT_DATA, size_code};
use crate::parts::queue::Queue;
use crate::parts::room_count::RoomCount;
use crate::records::Piece;
use crate::tx::ddp::gather::answers::Answers;
use crate::tx::ddp::gather::lane_join::LaneJoin;
use crate::tx::ddp::gather::measure::Measure;
use crate::tx::ddp::gather::source_planner::SourcePlanner;
use crate::tx::ddp::gather::split::Split;
use rust_hdl_core::prelude::*;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, comment};

pub use crate::tx::ddp::gather::answers::BURSTS;
pub use crate::tx::ddp::gather::source_planner::{CONTENTS, PIECES};

pub mod answers;
pub mod lane_join;
pub mod measure;
pub mod source_planner;
pub mod split;

/// Beats in the queue behind `lane_join`.
const DEPTH: usize = 1 << 4;

/// Headers that wait, at widths at which they take no cycle.
pub const HEADERS: usize = 1 << 4;

/// Verdicts that wait.
pub const VERDICTS: usize = 1 << 6;

/// Cycles from a piece to its first address.
pub const ADDRESS: usize = 1 + measure::LATENCY + split::LATENCY;

/// Cycles from a beat on R, of `octets`, to the beat that it completes.
#[must_use]
pub const fn from_bus(octets: usize) -> usize {
    answers::LATENCY + lane_join::latency(octets) + 1
}

/// Cycles from a piece to the beat that its own first octets complete, for beats of `octets`.
#[must_use]
pub const fn from_piece(octets: usize) -> usize {
    1 + measure::LATENCY + source_planner::START + lane_join::latency(octets) + 1
}

/// Cycles for which `reset` is held, at any width.
pub const RESET: usize = from_piece(64);

/// Cycles from the plan of a beat to the cycle in which its room can be planned for again.
const fn round_trip(octets: usize) -> usize {
    // queue; `taken`, and the two of the room
    lane_join::latency(octets) + 1 + 3
}

const _: () = assert!(
    round_trip(64) <= DEPTH,
    "the queue holds the beats that are under way at one a cycle"
);

/// ULPDUs in beats of W bits: K octets (2^LOGK).
#[derive(Block)]
#[block()]
pub struct Gather<const W: usize, const K: usize, const LOGK: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset, held for [`RESET`] cycles.
    pub reset: Signal<In, Bit>,
    /// Pieces of ULPDUs, in their order.
    pub s_piece: Signal<In, Piece>,
    /// It is valid.
    pub s_piece_valid: Signal<In, Bit>,
    /// It is accepted.
    pub s_piece_ready: Signal<Out, Bit>,
    /// Host memory.
    pub m_axi: AxiReadMaster<W>,
    /// Octets of the ULPDUs, each beginning in lane 0 of a beat.
    pub m_data: Signal<Out, Bits<W>>,
    /// They are valid.
    pub m_valid: Signal<Out, Bit>,
    /// They are accepted.
    pub m_ready: Signal<In, Bit>,
    /// Not all octets of a ULPDU could be read.
    pub m_failed: Signal<Out, Bit>,
    /// That is valid.
    pub m_verdict_valid: Signal<Out, Bit>,
    /// It is accepted.
    pub m_verdict_ready: Signal<In, Bit>,

    pieces: Queue<Piece, 1>,
    measure: Measure<LOGK>,
    split: Split<LOGK>,
    answers: Answers<W>,
    source_planner: SourcePlanner<W, LOGK>,
    /// Of [`HEADERS`].
    headers: Queue<Bits<144>, 4>,
    lane_join: LaneJoin<W, K, LOGK>,
    beats: Queue<Bits<W>, 4>,
    verdicts: Queue<Bit, 6>,
    /// For the next beat, and for the one that is being planned, which is not counted yet.
    #[value(RoomCount::new(DEPTH - 1))]
    room: RoomCount,
    taken: Dff<Bit>,
    go: Signal<Local, Bit>,
    #[constant(size_code(K))]
    size: Constant<Bits<3>>,
    #[constant(BURST_INCR)]
    burst: Constant<Bits<2>>,
    #[constant(CACHE_NOT_BUFFERABLE)]
    cache: Constant<Bits<4>>,
    #[constant(PROT_DATA)]
    prot: Constant<Bits<3>>,
}

impl<const W: usize, const K: usize, const LOGK: usize> Default for Gather<W, K, LOGK> {
    fn default() -> Self {
        assert!(W == 8 * K && K == 1 << LOGK);
        Self::assemble()
    }
}

impl<const W: usize, const K: usize, const LOGK: usize> Logic for Gather<W, K, LOGK> {
    #[hdl_gen]
    fn update(&mut self) {
        self.pieces.reset.next = self.reset.val();
        self.measure.reset.next = self.reset.val();
        self.split.reset.next = self.reset.val();
        self.answers.reset.next = self.reset.val();
        self.source_planner.reset.next = self.reset.val();
        self.headers.reset.next = self.reset.val();
        self.beats.reset.next = self.reset.val();
        self.verdicts.reset.next = self.reset.val();
        self.pieces.s_data.next = self.s_piece.val();
        self.pieces.s_valid.next = self.s_piece_valid.val();
        self.s_piece_ready.next = self.pieces.s_ready.val();

        comment!(
            "pieces go on when there is room for one of either kind; the planner knows a piece when its first address is made"
        );
        self.go.next = self.split.free.val()
            & self.source_planner.source_ready.val()
            & self.source_planner.content_ready.val()
            & self.headers.s_ready.val();
        self.pieces.m_ready.next = self.go.val();
        self.measure.piece.next = self.pieces.m_data.val();
        self.measure.piece_valid.next = self.pieces.m_valid.val();
        self.measure.go.next = self.go.val();
        self.headers.s_data.next = self.pieces.m_data.val().content;
        self.headers.s_valid.next = self.go.val() & self.measure.header_valid.val();
        self.source_planner.content.next = self.pieces.m_data.val().content;
        self.source_planner.content_valid.next = self.go.val() & self.measure.content_valid.val();
        self.source_planner.source.next = self.measure.source.val();
        self.source_planner.source_valid.next = self.go.val() & self.measure.source_valid.val();
        self.split.range.next = self.measure.range.val();
        self.split.take.next = self.go.val() & self.measure.range_valid.val();

        comment!("AR");
        self.m_axi.araddr.next = self.split.address.val().address;
        self.m_axi.arlen.next = self.split.address.val().length;
        self.m_axi.arvalid.next = self.split.address_valid.val();
        self.split.address_ready.next = self.m_axi.arready.val();
        self.m_axi.arsize.next = self.size.val();
        self.m_axi.arburst.next = self.burst.val();
        self.m_axi.arcache.next = self.cache.val();
        self.m_axi.arprot.next = self.prot.val();

        comment!("R");
        self.answers.burst.next = self.split.burst.val();
        self.answers.burst_valid.next = self.split.burst_valid.val();
        self.split.burst_ready.next = self.answers.burst_ready.val();
        self.answers.data.next = self.m_axi.rdata.val();
        self.answers.response.next = self.m_axi.rresp.val();
        self.answers.last.next = self.m_axi.rlast.val();
        self.answers.valid.next = self.m_axi.rvalid.val();
        self.m_axi.rready.next = self.answers.ready.val();
        self.source_planner.data.next = self.answers.m_data.val();
        self.source_planner.refused.next = self.answers.m_refused.val();
        self.source_planner.data_valid.next = self.answers.m_valid.val();
        self.answers.m_ready.next = self.source_planner.data_ready.val();

        self.lane_join.plan.next = self.source_planner.plan.val();
        self.lane_join.data.next = self.source_planner.plan_data.val();
        self.lane_join.amount.next = self.source_planner.plan_amount.val();
        self.lane_join.header.next = self.headers.m_data.val();
        self.headers.m_ready.next = self.lane_join.header_taken.val();
        self.beats.s_data.next = self.lane_join.beat.val();
        self.beats.s_valid.next = self.lane_join.beat_valid.val();
        self.m_data.next = self.beats.m_data.val();
        self.m_valid.next = self.beats.m_valid.val();
        self.beats.m_ready.next = self.m_ready.val();
        self.verdicts.s_data.next = self.source_planner.failed.val();
        self.verdicts.s_valid.next = self.source_planner.failed_valid.val();
        self.source_planner.failed_ready.next = self.verdicts.s_ready.val();
        self.m_failed.next = self.verdicts.m_data.val();
        self.m_verdict_valid.next = self.verdicts.m_valid.val();
        self.verdicts.m_ready.next = self.m_verdict_ready.val();

        comment!("beats under way");
        self.taken.d.next = self.beats.m_valid.val() & self.m_ready.val();
        self.room.reset.next = self.reset.val();
        self.room.enters.next = self.source_planner.plan.val().emit;
        self.room.left.next = self.taken.q.val();
        self.source_planner.room.next = self.room.has_room.val();
        if self.reset.val() {
            self.taken.d.next = false;
        }
    }
}
