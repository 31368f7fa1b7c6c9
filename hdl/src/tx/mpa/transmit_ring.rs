//! Transmit ring: holds the FPDUs of all streams until they are acknowledged, and streams any range of them to TCP.
//!
//! ```text
//!  FPDUs ─► ring_write ─► lane RAM ─► range_read ─► m_axis_transmit
//!             │ landed                 ▲  │ finished
//!             ▼                        │  ▼
//!  arm ─► visibility ─► complete       │ room_release ─► freed, quiet
//!             │ edge    └ words        │  ▲
//!             ▼           ▼            │  │ acknowledged
//!  s_axis_send ─► commands ◄─► boundary_map
//!                   └ answers ─► status ─► m_axis_status
//! ```
//!
//! Each stream has a ring of its own; stream position p lies at p modulo its octets. An FPDU is written beat by beat and
//! becomes visible as a whole: with its last beat the *edge* of its stream moves behind it. Octets from the acknowledged
//! position to the edge can be sent in any range, in any order, and as often as TCP needs them. An FPDU whose octets could
//! not all be read is never visible, nor is one of its stream behind it, until the stream is armed again.
//!
//! **Commands** ([`ports`]) are executed in order. SEND is checked, and queued for `range_read`, so those behind it are
//! executed while it streams. ACKNOWLEDGE counts at once for the commands behind it; one that is not between the
//! acknowledged position and the edge, both included, has no effect. MEASURE searches the last FPDU boundary behind its
//! sequence number that is not behind its octets, nor behind the edge; its answer is 0 without one. A SEND is refused unless
//! it has octets, and they all lie in front of the edge and not in front of the acknowledged position; a MEASURE is
//! refused unless its first octet does. Commands of a kind without a name are refused, too, and so are SEND and MEASURE of a
//! stream that is dead or does not exist: edge and free octets in the report have no meaning then. Commands stall when
//! eight SENDs wait behind the one that is read, when 16 acknowledgements wait for SENDs to be read, and when
//! four answers wait behind the report that is offered.
//!
//! **Never overwritten.** `freed` follows an acknowledgement when all SENDs executed before it have been read from the
//! ring. The sender writes only within the ring's octets behind the last `freed`, and the edge is in front of what it
//! writes. So no octet of the lane RAM is read and written in the same cycle, and a SEND that is under way keeps its
//! octets, though they have been acknowledged meanwhile.
//!
//! **Close.** From the second cycle behind `close` on no command of the stream is executed, and its FPDUs are discarded.
//! SENDs that were executed before run to their end: their octets are still there. `quiet` rises when they have been read,
//! their room has been released, and no FPDU of the stream is incomplete. Behind `quiet` beats of the stream can still
//! leave `m_axis_transmit`, 16 at most, and answers to commands of it, or the report that was offered before,
//! `m_axis_status`, 5 at most: all carry its number, and an answer has the edge and the room of the time at which it is made.
//! `stream` stays the same from `close` to `quiet`.
//!
//! Assumptions: FPDUs are not interleaved. The first one of a stream begins at position 0, each one where the one before
//! ended, and none ends more than the ring's octets behind the last `freed` position. `arm` is for a stream that is quiet
//! all over the transmit path, and comes [`ARM`] cycles or more behind another one; its commands come as many behind
//! it, its FPDUs from the next cycle on. Hold `reset` for [`RESET`] cycles. FPDUs of streams that do not exist are
//! discarded, and completed as not visible; `arm` and `close` of them have no effect.
//!
//! Throughput: one beat a cycle in, whatever its FPDUs; `s_ready` is low only for an `arm`. One beat a cycle out, from SEND to
//! SEND, too: a command takes [`PERIOD`] cycles, so SENDs of as many beats leave no gap. Latency: [`written`] cycles from
//! an FPDU's last beat to `complete`, and [`moved`] to the report of the edge; [`sent`] from a SEND to its first beat, 13 or
//! 14; [`MEASURED`] from a MEASURE to its report if the boundary is in the word of 128 octets in which the range ends, and
//! one more for each word further down; 8 from an acknowledgement to `freed`. No output depends on an input in the same
//! cycle.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use crate::parts::lane_ram::LaneRam;
use crate::records::FramedBeat;
use crate::tx::mpa::transmit_ring::boundary_map::BoundaryMap;
use crate::tx::mpa::transmit_ring::commands::Commands;
use crate::tx::mpa::transmit_ring::ports::{SendStreamIn, StatusStreamOut, TransmitStreamOut};
use crate::tx::mpa::transmit_ring::range_read::RangeRead;
use crate::tx::mpa::transmit_ring::ring_write::RingWrite;
use crate::tx::mpa::transmit_ring::room_release::RoomRelease;
use crate::tx::mpa::transmit_ring::status::Status;
use crate::tx::mpa::transmit_ring::visibility::{Visibility, WORD};
use crate::tx::sctp::chunks::Chunks;
use rust_hdl_core::prelude::*;
use warpline_sv_writer::{Block, Optional, comment};

pub mod boundary_map;
pub mod commands;
pub mod ports;
pub mod range_read;
pub mod ring_write;
pub mod room_release;
pub mod status;
pub mod visibility;

pub use visibility::ARM;

/// Cycles for which `reset` is held, at any width.
pub const RESET: usize = 8;

/// Cycles that a SEND or an ACKNOWLEDGE takes before the next command is accepted.
pub const PERIOD: usize = commands::LATENCY + 1;

/// Cycles from a MEASURE to its report, for a boundary in the first word.
pub const MEASURED: usize = commands::LATENCY + boundary_map::LATENCY + status::LATENCY;

/// Cycles from the last beat of an FPDU to `complete`, for beats of `dwords`.
#[must_use]
pub const fn written(dwords: usize) -> usize {
    ring_write::latency(dwords) + visibility::LATENCY + 1
}

/// Cycles from the last beat of an FPDU to the report of the edge, if no other one is in work.
#[must_use]
pub const fn moved(dwords: usize) -> usize {
    ring_write::latency(dwords) + visibility::LATENCY + status::LATENCY
}

/// Cycles from a SEND to its first beat, for beats of `octets`, if no other one is in front of it.
#[must_use]
pub const fn sent(octets: usize) -> usize {
    commands::LATENCY + range_read::latency(octets)
}

/// Rings of S streams, 4 or 16, for beats of W bits: K octets (2^LOGK), D dwords (2^LOGD).
#[derive(Block)]
#[block(ring_octets: usize)]
pub struct TransmitRing<
    const W: usize,
    const K: usize,
    const D: usize,
    const LOGK: usize,
    const LOGD: usize,
    const S: usize,
    const SCTP: usize = 0,
> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset, held for [`RESET`] cycles.
    pub reset: Signal<In, Bit>,
    /// A beat of an FPDU.
    pub s_beat: Signal<In, FramedBeat>,
    /// Its octets, the first one in lane 0.
    pub s_data: Signal<In, Bits<W>>,
    /// In an FPDU's last beat: not all of its octets could be read, so it must not be sent.
    pub s_failed: Signal<In, Bit>,
    /// The beat is valid.
    pub s_valid: Signal<In, Bit>,
    /// It is accepted.
    pub s_ready: Signal<Out, Bit>,
    /// Pulse: an FPDU has been written, or discarded; one for each FPDU, in order.
    pub complete: Signal<Out, Bit>,
    /// Stream of `complete`.
    pub complete_stream: Signal<Out, Bits<8>>,
    /// With `complete`: the FPDU can be sent.
    pub complete_visible: Signal<Out, Bit>,
    /// Pulse: octets are free.
    pub freed: Signal<Out, Bit>,
    /// Their stream.
    pub freed_stream: Signal<Out, Bits<8>>,
    /// Octets in front of this stream position.
    pub freed_position: Signal<Out, Bits<32>>,

    /// Pulse: the ring of `stream` is empty, its position 0 is next, and it lives.
    pub arm: Signal<In, Bit>,
    /// TCP sequence number of stream position 0.
    pub sequence_start: Signal<In, Bits<32>>,
    /// With `arm`: the stream is one of SCTP, and `sequence_start` ends with the number of its first chunk.
    pub of_sctp: Optional<Signal<In, Bit>, SCTP>,
    /// Pulse: `stream` is dead.
    pub close: Signal<In, Bit>,
    /// Stream of `arm`, `close` and `quiet`.
    pub stream: Signal<In, Bits<8>>,
    /// Nothing of `stream` is under way; from 4 cycles after `close` on.
    pub quiet: Signal<Out, Bit>,

    /// Commands of TCP.
    pub s_axis_send: SendStreamIn,
    /// Octets for TCP.
    pub m_axis_transmit: TransmitStreamOut<W, K>,
    /// Reports to TCP.
    pub m_axis_status: StatusStreamOut,

    #[value(RingWrite::new(ring_octets / K))]
    ring_write: RingWrite<W, K, D, LOGK, LOGD, S>,
    #[value(LaneRam::new(S * ring_octets / K))]
    lanes: LaneRam<W, K, 20>,
    #[value(Visibility::new(ring_octets >> WORD))]
    visibility: Visibility<S>,
    #[value(BoundaryMap::new(S, ring_octets >> WORD))]
    boundary_map: BoundaryMap,
    #[value(Commands::new(ring_octets / K))]
    commands: Commands<LOGK, S>,
    #[value(RangeRead::new(ring_octets / K))]
    range_read: RangeRead<W, K, LOGK>,
    room_release: RoomRelease,
    #[value(Status::new(ring_octets))]
    status: Status<S>,
    chunks: Optional<Chunks<W, K, LOGK, S>, SCTP>,
}

impl<
    const W: usize,
    const K: usize,
    const D: usize,
    const LOGK: usize,
    const LOGD: usize,
    const S: usize,
    const SCTP: usize,
> TransmitRing<W, K, D, LOGK, LOGD, S, SCTP>
{
    /// Rings of `ring_octets` octets for each stream.
    ///
    /// # Panics
    /// When the parameters do not fit together, S is not 4 or 16, or `ring_octets` not a power of two from 4 KiB to 128 KiB.
    #[must_use]
    pub fn new(ring_octets: usize) -> Self {
        assert!(W == 8 * K && K == 4 * D && K == 1 << LOGK && D == 1 << LOGD);
        assert!(matches!(S, 4 | 16), "{S} streams: give 4 or 16");
        assert!(
            ring_octets.is_power_of_two() && (4 << 10..=128 << 10).contains(&ring_octets),
            "{ring_octets} octets: give a power of two from 4 KiB to 128 KiB"
        );
        Self::assemble(ring_octets)
    }
}

impl<
    const W: usize,
    const K: usize,
    const D: usize,
    const LOGK: usize,
    const LOGD: usize,
    const S: usize,
    const SCTP: usize,
> Logic for TransmitRing<W, K, D, LOGK, LOGD, S, SCTP>
{
    #[hdl_gen]
    fn update(&mut self) {
        SendStreamIn::link(&mut self.s_axis_send, &mut self.commands.s_axis_send);
        for _tcp in SCTP..1 {
            TransmitStreamOut::<W, K>::link(
                &mut self.m_axis_transmit,
                &mut self.range_read.m_axis_transmit,
            );
        }
        StatusStreamOut::link(&mut self.m_axis_status, &mut self.status.m_axis_status);
        self.ring_write.reset.next = self.reset.val();
        self.visibility.reset.next = self.reset.val();
        self.boundary_map.reset.next = self.reset.val();
        self.commands.reset.next = self.reset.val();
        self.range_read.reset.next = self.reset.val();
        self.room_release.reset.next = self.reset.val();
        self.status.reset.next = self.reset.val();

        comment!("octets");
        self.ring_write.beat.next = self.s_beat.val();
        self.ring_write.beat_data.next = self.s_data.val();
        self.ring_write.beat_failed.next = self.s_failed.val();
        self.ring_write.beat_valid.next =
            self.s_valid.val() & self.visibility.ready.val() & !self.reset.val();
        self.s_ready.next = self.visibility.ready.val();
        self.lanes.write_enable.next = self.ring_write.write_enable.val();
        self.lanes.write_select.next = self.ring_write.write_select.val();
        self.lanes.write_row_0.next = self.ring_write.write_row_0.val();
        self.lanes.write_row_1.next = self.ring_write.write_row_1.val();
        self.lanes.write_data.next = self.ring_write.write_data.val();
        self.lanes.read_select.next = self.range_read.read_select.val();
        self.lanes.read_row_0.next = self.range_read.read_row_0.val();
        self.lanes.read_row_1.next = self.range_read.read_row_1.val();
        self.range_read.read_data.next = self.lanes.read_data.val();

        comment!("edges and boundaries");
        self.visibility.landed.next = self.ring_write.landed.val();
        self.visibility.arm.next = self.arm.val();
        self.visibility.arm_stream.next = self.stream.val();
        self.visibility.arm_start.next = self.sequence_start.val();
        self.visibility.close.next = self.close.val();
        self.visibility.close_stream.next = self.stream.val();
        self.complete.next = self.visibility.complete.val();
        self.complete_stream.next = self.visibility.complete_stream.val();
        self.complete_visible.next = self.visibility.complete_visible.val();
        self.boundary_map.map_write.next = self.visibility.map_write.val();
        self.boundary_map.map_row.next = self.visibility.map_row.val();
        self.boundary_map.map_data.next = self.visibility.map_data.val();
        self.boundary_map.start.next = self.commands.search.val();
        self.boundary_map.stream.next = self.commands.busy_stream.val();
        self.boundary_map.position.next = self.commands.search_position.val();
        self.boundary_map.reach.next = self.commands.search_reach.val();
        self.boundary_map.edge_position.next = self.commands.search_edge.val();
        self.boundary_map.tail.next = self.commands.search_tail.val();

        comment!("commands");
        for i in 0..S {
            self.commands.live[i].next = self.visibility.live[i].val();
            self.status.live[i].next = self.visibility.live[i].val();
        }
        self.commands.edge_write.next = self.visibility.edge_write.val();
        self.commands.edge_stream.next = self.visibility.edge_stream.val();
        self.commands.edge_position.next = self.visibility.edge_position.val();
        self.commands.tail.next = self.visibility.tail.val();
        self.commands.armed.next = self.visibility.armed.val();
        self.commands.armed_start.next = self.visibility.armed_start.val();
        self.commands.range_ready.next = self.range_read.range_ready.val();
        self.commands.freed_ready.next = self.room_release.acknowledged_ready.val();
        self.commands.search_done.next = self.boundary_map.done.val();
        self.commands.search_octets.next = self.boundary_map.octets.val();
        self.commands.answer_ready.next = self.status.answer_ready.val();
        self.range_read.range.next = self.commands.range.val();
        self.range_read.range_valid.next = self.commands.range_valid.val();

        comment!("reports, room");
        self.status.answer.next = self.commands.answer.val();
        self.status.answer_valid.next = self.commands.answer_valid.val();
        self.status.edge_write.next = self.visibility.edge_write.val();
        self.status.edge_stream.next = self.visibility.edge_stream.val();
        self.status.edge_position.next = self.visibility.edge_position.val();
        self.status.moved.next = self.visibility.moved.val();
        self.status.armed.next = self.visibility.armed.val();
        self.status.armed_start.next = self.visibility.armed_start.val();
        self.status.acknowledged_write.next = self.commands.acknowledged_write.val();
        self.status.acknowledged_stream.next = self.commands.acknowledged_stream.val();
        self.status.acknowledged.next = self.commands.acknowledged.val();
        self.room_release.acknowledged.next = self.commands.freed.val();
        self.room_release.acknowledged_valid.next = self.commands.freed_valid.val();
        self.room_release.accepted.next =
            self.commands.range_valid.val() & self.range_read.range_ready.val();
        self.room_release.finished.next = self.range_read.finished.val();
        self.freed.next = self.room_release.freed.val();
        self.freed_stream.next = self.room_release.freed_stream.val();
        self.freed_position.next = self.room_release.freed_position.val();
        self.room_release.close.next = self.close.val();
        self.room_release.stream.next = self.stream.val();
        self.room_release.writing.next = self.ring_write.open.val();
        self.room_release.writing_stream.next = self.ring_write.open_stream.val();
        self.room_release.command.next = self.commands.busy.val();
        self.room_release.command_stream.next = self.commands.busy_stream.val();
        self.quiet.next = self.room_release.quiet.val();

        for i in 0..SCTP {
            comment!("SCTP: chunks of its FPDUs");
            self.chunks[i].reset.next = self.reset.val();
            self.chunks[i].arm.next = self.arm.val();
            self.chunks[i].arm_stream.next = self.stream.val();
            self.chunks[i].arm_of_sctp.next = self.of_sctp[i].val();
            self.chunks[i].arm_ssn.next = self.sequence_start.val().get_bits::<16>(0);
            self.chunks[i].accepted.next =
                self.commands.range_valid.val() & self.range_read.range_ready.val();
            self.chunks[i].accepted_stream.next = self.commands.range.val().stream;
            TransmitStreamOut::<W, K>::join(
                &mut self.range_read.m_axis_transmit,
                &mut self.chunks[i].s_axis_transmit,
            );
            TransmitStreamOut::<W, K>::link(
                &mut self.m_axis_transmit,
                &mut self.chunks[i].m_axis_transmit,
            );
        }
    }
}
