//! Frame: makes complete FPDUs of ULPDUs: ULPDU_Length, PAD, markers and CRC.
//!
//! ```text
//!  Ulpdu ──► queue ─► measure ─► beat_planner ─ plan ─┬────────────────┬───────────────┐
//!                                 │ take             ▼                ▼               ▼
//!  octets ─► queue ───────────────┴────────────► realign ─► marker_insert ─► crc_append ─► FramedBeat, octets
//!                                 ▲ room           length, PAD   markers        CRC    │
//!                                 └──────────────── beats that have left ──────────────┘
//! ```
//!
//! `beat_planner` is the only block that stalls. It plans a beat when the queue of `crc_append` has room for it; behind it
//! nothing does. **The CRC dword** is zero up to there: realigning clears what is behind the ULPDU. `crc_append` gives the
//! beats, with markers and zero field, to the receive path's CRC unit, undoes in its register what the field and the rest
//! of the beat did, and adds the dword to its lane when the beat leaves the queue. Without CRC the field stays zero
//! (AMB-12). Lanes behind the last dword of an FPDU are zero.
//!
//! A marker in front of an FPDU is its first dword, and covered by its CRC; one between PAD and CRC belongs to the FPDU,
//! one behind the CRC to the next (MPA-CRC-13 to 17, MPA-MRK-08).
//!
//! Assumes that positions are multiples of four and ULPDU_Length is 1 to 64768. The octets of a ULPDU may come in front
//! of it, with it or later; those behind the last one of its last beat have no effect. Hold `reset` for [`RESET`] cycles.
//!
//! Throughput: an FPDU of n beats takes n cycles, from one beat on, with markers and without; the next one begins in the
//! cycle behind its last beat. The octets arrive at one beat a cycle. What remains empty of an FPDU's last beat is the
//! only loss. Latency: [`latency`] cycles from a ULPDU and its first beat of octets to the first beat of its FPDU, which
//! are 19, 21, 24 and 27 from 64 to 512 bits; without stalls all of its beats come in successive cycles. No output depends
//! on an input in the same cycle.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use crate::parts::queue::Queue;
use crate::parts::room_count::RoomCount;
use crate::records::{FramedBeat, Ulpdu};
use crate::tx::mpa::frame::beat_planner::BeatPlanner;
use crate::tx::mpa::frame::crc_append::{CrcAppend, DEPTH};
use crate::tx::mpa::frame::marker_insert::MarkerInsert;
use crate::tx::mpa::frame::measure::Measure;
use crate::tx::mpa::frame::realign::Realign;
use rust_hdl_core::prelude::*;
use warpline_sv_writer::{Block, comment};

pub mod beat_planner;
pub mod crc_append;
pub mod crc_value;
pub mod marker_insert;
pub mod measure;
pub mod realign;

/// Cycles from a ULPDU and its first octets to the first beat of its FPDU, for beats of `dwords`.
#[must_use]
pub const fn latency(dwords: usize) -> usize {
    1 + measure::LATENCY
        + beat_planner::START
        + beat_planner::LATENCY
        + realign::latency(dwords)
        + marker_insert::LATENCY
        + crc_append::latency(dwords)
}

/// Cycles for which `reset` is held, at any width.
pub const RESET: usize = latency(16);

/// Cycles from the plan of a beat to the cycle in which its room can be planned for again.
const fn round_trip(dwords: usize) -> usize {
    // `taken`, and the two of the room
    latency(dwords) - (1 + measure::LATENCY + beat_planner::START) - 1 + 3
}

const _: () = assert!(
    round_trip(16) <= DEPTH,
    "the queue holds the beats that are under way at one a cycle"
);

/// FPDUs in beats of W bits: K octets (2^LOGK), D dwords (2^LOGD).
#[derive(Block)]
#[block()]
pub struct Frame<
    const W: usize,
    const K: usize,
    const D: usize,
    const LOGK: usize,
    const LOGD: usize,
> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset, held for [`RESET`] cycles.
    pub reset: Signal<In, Bit>,
    /// A ULPDU to frame.
    pub s_ulpdu: Signal<In, Ulpdu>,
    /// It is valid.
    pub s_ulpdu_valid: Signal<In, Bit>,
    /// It is accepted.
    pub s_ulpdu_ready: Signal<Out, Bit>,
    /// Octets of the ULPDUs, each beginning in lane 0 of a beat.
    pub s_data: Signal<In, Bits<W>>,
    /// They are valid.
    pub s_data_valid: Signal<In, Bit>,
    /// They are accepted.
    pub s_data_ready: Signal<Out, Bit>,
    /// A beat of an FPDU.
    pub m_beat: Signal<Out, FramedBeat>,
    /// Its octets, the first one in lane 0.
    pub m_data: Signal<Out, Bits<W>>,
    /// It is valid.
    pub m_valid: Signal<Out, Bit>,
    /// It is accepted.
    pub m_ready: Signal<In, Bit>,

    ulpdus: Queue<Ulpdu, 1>,
    octets: Queue<Bits<W>, 1>,
    measure: Measure<LOGK, LOGD>,
    beat_planner: BeatPlanner<LOGK, LOGD>,
    realign: Realign<W, K, D, LOGD>,
    marker_insert: MarkerInsert<W, D>,
    crc_append: CrcAppend<W, D, LOGD>,
    /// For the next beat, and for the one that is being planned, which is not counted yet.
    #[value(RoomCount::new(DEPTH - 1))]
    room: RoomCount,
}

impl<const W: usize, const K: usize, const D: usize, const LOGK: usize, const LOGD: usize> Default
    for Frame<W, K, D, LOGK, LOGD>
{
    fn default() -> Self {
        assert!(W == 8 * K && K == 4 * D && K == 1 << LOGK && D == 1 << LOGD);
        Self::assemble()
    }
}

impl<const W: usize, const K: usize, const D: usize, const LOGK: usize, const LOGD: usize> Logic
    for Frame<W, K, D, LOGK, LOGD>
{
    #[hdl_gen]
    fn update(&mut self) {
        self.ulpdus.reset.next = self.reset.val();
        self.octets.reset.next = self.reset.val();
        self.beat_planner.reset.next = self.reset.val();
        self.crc_append.reset.next = self.reset.val();
        self.ulpdus.s_data.next = self.s_ulpdu.val();
        self.ulpdus.s_valid.next = self.s_ulpdu_valid.val();
        self.s_ulpdu_ready.next = self.ulpdus.s_ready.val();
        self.octets.s_data.next = self.s_data.val();
        self.octets.s_valid.next = self.s_data_valid.val();
        self.s_data_ready.next = self.octets.s_ready.val();

        self.measure.reset.next = self.reset.val();
        self.measure.ulpdu.next = self.ulpdus.m_data.val();
        self.measure.ulpdu_valid.next = self.ulpdus.m_valid.val();
        self.ulpdus.m_ready.next = self.measure.ulpdu_ready.val();
        self.beat_planner.measured.next = self.measure.measured.val();
        self.beat_planner.measured_valid.next = self.measure.measured_valid.val();
        self.measure.measured_taken.next = self.beat_planner.measured_taken.val();
        self.beat_planner.data_valid.next = self.octets.m_valid.val();
        self.octets.m_ready.next = self.beat_planner.data_ready.val();
        self.realign.data.next = self.octets.m_data.val();
        self.realign.plan.next = self.beat_planner.plan.val();
        self.marker_insert.content.next = self.realign.content.val();
        self.marker_insert.content_data.next = self.realign.content_data.val();
        self.crc_append.open.next = self.beat_planner.open.val();
        self.crc_append.open_valid.next = self.beat_planner.plan.val().valid;
        self.crc_append.beat.next = self.marker_insert.beat.val();
        self.crc_append.beat_data.next = self.marker_insert.beat_data.val();
        self.crc_append.m_ready.next = self.m_ready.val();
        self.m_beat.next = self.crc_append.m_beat.val();
        self.m_data.next = self.crc_append.m_data.val();
        self.m_valid.next = self.crc_append.m_valid.val();

        comment!("beats under way");
        self.room.reset.next = self.reset.val();
        self.room.enters.next = self.beat_planner.planned.val();
        self.room.left.next = self.crc_append.taken.val();
        self.beat_planner.room.next = self.room.has_room.val();
    }
}
