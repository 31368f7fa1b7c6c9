//! Transmitter: the transmit path, from doorbells of send rings to the octets that TCP sends.
//!
//! ```text
//!                responses ──┐
//!  doorbell ─► send_queues ◄─ slot_merge ─► segment ─ LocalPiece ─► local_access ─ Piece ─► gather ─ octets ─► frame
//!                slots │                     │  ▲       stag, entry       │                  │ memory            │
//!                                 SendSegment│  │ fail, settled           │ status           │ refused           ▼
//!                                            ▼  │                         ▼                  ▼                 [last]
//!                                           settle ◄──────────────────────┴──────────────────┘                  │
//!                                            │  ▲ └── Ulpdu ─► frame    failed ─► with the last beat            ▼
//!                                   m_event ◄┘  └───────────────────── complete ──────────────────── transmit_ring
//!                                                                                                      │  ▲
//!                                                                                  m_axis_transmit ◄───┘  └ s_axis_send
//! ```
//!
//! The last beat of an FPDU goes to the ring together with the word of `settle` on whether all of its octets could be read,
//! which is there before: `gather` has given its verdict with the last octets.
//!
//! **To arm a stream**: `ring_arm` with its first sequence number, then the command `Arm`, then its send ring. **To close it**:
//! `freeze_doorbells`, `ring_close` and the command `Close`; when the stream is `idle` and `ring_quiet`,
//! nothing of it is left; `detach`, and the command `Clear`, which also clears `settle`.
//!
//! Assumptions: those of the blocks. Hold `reset` for [`RESET`] cycles. Throughput and latency are those of the blocks; how
//! they add up is asserted by the bench.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use crate::Config;
use crate::host::send_queues::{self, SendQueues};
use crate::parts::axi::AxiReadMaster;
use crate::tables::stag_table::StagEntry;
use crate::tx::ddp::access_fence::AccessFence;
use crate::tx::ddp::gather::{self, Gather};
use crate::tx::ddp::local_access::{self, LocalAccess};
use crate::tx::ddp::segment::Segment;
use crate::tx::ddp::segment::command::{TransmitArguments, TransmitCommand};
use crate::tx::ddp::segment::scheduler::StreamEvent;
use crate::tx::ddp::settle::Settle;
use crate::tx::ddp::slot_merge::SlotMerge;
use crate::tx::mpa::frame::{self, Frame};
use crate::tx::mpa::transmit_ring::TransmitRing;
use crate::tx::mpa::transmit_ring::ports::{SendStreamIn, StatusStreamOut, TransmitStreamOut};
use rust_hdl_core::prelude::*;
use warpline_sv_writer::{Block, Optional, comment};

/// Cycles for which `reset` is held, at any width.
pub const RESET: usize = frame::RESET;

const _: () = assert!(gather::RESET <= RESET && local_access::RESET <= RESET);

/// The transmit path for beats of W bits: K octets (2^LOGK), D dwords (2^LOGD); S streams.
#[derive(Block)]
#[block(config: &Config)]
pub struct Transmitter<
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

    /// Pulse: the host has written slots.
    pub doorbell: Signal<In, Bit>,
    /// Stream of `doorbell`.
    pub doorbell_stream: Signal<In, Bits<8>>,
    /// Slots written since the ring was set, modulo 2^16.
    pub doorbell_value: Signal<In, Bits<16>>,
    /// `arguments` describe a new send ring; both are stable until `set_ready`.
    pub set: Signal<In, Bit>,
    /// `regmap::transmit::send_ring`.
    pub arguments: Signal<In, Bits<128>>,
    /// Pulse: the stream has this ring, empty.
    pub set_ready: Signal<Out, Bit>,
    /// With `set_ready`: it has another one, or the ring is not allowed.
    pub set_failed: Signal<Out, Bit>,
    /// Pulse: later doorbells of `stream` have no effect.
    pub freeze_doorbells: Signal<In, Bit>,
    /// Pulse: the send ring of `stream` is removed.
    pub detach: Signal<In, Bit>,
    /// Pulse: the transmit ring of `stream` is empty, and lives.
    pub ring_arm: Signal<In, Bit>,
    /// TCP sequence number of stream position 0.
    pub sequence_start: Signal<In, Bits<32>>,
    /// With `ring_arm`: the stream is one of SCTP, and `sequence_start` ends with the number of its first chunk.
    pub of_sctp: Optional<Signal<In, Bit>, SCTP>,
    /// Pulse: nothing of `stream` is sent any more.
    pub ring_close: Signal<In, Bit>,
    /// Nothing of `stream` is under way in the transmit ring.
    pub ring_quiet: Signal<Out, Bit>,
    /// Stream of these.
    pub stream: Signal<In, Bits<8>>,
    /// No request of the stream is announced that is not done with, and none of its segments is under way.
    pub idle: [Signal<Out, Bit>; S],

    /// A command.
    pub command: Signal<In, TransmitCommand>,
    /// Its arguments, stable until `command_done`.
    pub s_command: Signal<In, TransmitArguments>,
    /// It is valid.
    pub command_valid: Signal<In, Bit>,
    /// Pulse: it is carried out.
    pub command_done: Signal<Out, Bit>,
    /// Pulse: [`AccessFence`] begins.
    pub fence: Signal<In, Bit>,
    /// Every segment that entered before `fence` has left.
    pub fence_passed: Signal<Out, Bit>,
    /// The gate of a stream opens.
    pub open: Signal<In, StreamEvent>,
    /// The receive side has frozen a stream.
    pub freeze: Signal<In, StreamEvent>,
    /// Streams that `Arm` has armed.
    pub is_armed: [Signal<Out, Bit>; S],
    /// Streams whose gate is open.
    pub is_open: [Signal<Out, Bit>; S],
    /// Streams whose queue has ended.
    pub is_ended: [Signal<Out, Bit>; S],

    /// The oldest Read Response of the stream is there.
    pub response_head: [Signal<In, Bit>; S],
    /// Stream whose oldest slot is read.
    pub row_stream: Signal<Out, Bits<8>>,
    /// Row of it.
    pub row: Signal<Out, Bits<4>>,
    /// Octets of the row, if that slot is a Read Response, [`ROW_LATENCY`](crate::tx::ddp::slot_merge::ROW_LATENCY) cycles later.
    pub response_data: Signal<In, Bits<128>>,
    /// Pulse: the oldest Read Response of `pop_stream` is done with.
    pub response_pop: Signal<Out, Bit>,
    /// Stream of `response_pop`.
    pub pop_stream: Signal<Out, Bits<8>>,

    /// STag to look up.
    pub stag: Signal<Out, Bits<32>>,
    /// The entry in its slot.
    pub entry: Signal<In, StagEntry>,
    /// Reads of send rings.
    pub m_axi_slots: AxiReadMaster<W>,
    /// Reads of local memory.
    pub m_axi_memory: AxiReadMaster<W>,
    /// `send_event`, PHASE zero.
    pub m_event: Signal<Out, Bits<256>>,
    /// It is valid.
    pub m_event_valid: Signal<Out, Bit>,
    /// It is accepted.
    pub m_event_ready: Signal<In, Bit>,

    /// Commands of TCP.
    pub s_axis_send: SendStreamIn,
    /// Octets for TCP.
    pub m_axis_transmit: TransmitStreamOut<W, K>,
    /// Reports to TCP.
    pub m_axis_status: StatusStreamOut,

    #[value(SendQueues::new(send_queues::SLOTS))]
    send_queues: SendQueues<W, K, S>,
    slot_merge: SlotMerge<S>,
    #[value(Segment::new(config))]
    segment: Segment<S>,
    local_access: LocalAccess,
    gather: Gather<W, K, LOGK>,
    settle: Settle<S>,
    access_fence: AccessFence,
    frame: Frame<W, K, D, LOGK, LOGD>,
    #[value(TransmitRing::new(config.ring_octets))]
    transmit_ring: TransmitRing<W, K, D, LOGK, LOGD, S, SCTP>,
    is_last: Signal<Local, Bit>,
    passes: Signal<Local, Bit>,
}

impl<
    const W: usize,
    const K: usize,
    const D: usize,
    const LOGK: usize,
    const LOGD: usize,
    const S: usize,
    const SCTP: usize,
> Transmitter<W, K, D, LOGK, LOGD, S, SCTP>
{
    /// The transmit path of the device that `config` describes.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        Self::assemble(config)
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
> Logic for Transmitter<W, K, D, LOGK, LOGD, S, SCTP>
{
    #[hdl_gen]
    fn update(&mut self) {
        self.send_queues.reset.next = self.reset.val();
        self.slot_merge.reset.next = self.reset.val();
        self.segment.reset.next = self.reset.val();
        self.local_access.reset.next = self.reset.val();
        self.gather.reset.next = self.reset.val();
        self.settle.reset.next = self.reset.val();
        self.access_fence.reset.next = self.reset.val();
        self.frame.reset.next = self.reset.val();
        self.transmit_ring.reset.next = self.reset.val();

        comment!("slots");
        self.send_queues.doorbell.next = self.doorbell.val();
        self.send_queues.doorbell_stream.next = self.doorbell_stream.val();
        self.send_queues.doorbell_value.next = self.doorbell_value.val();
        self.send_queues.set.next = self.set.val();
        self.send_queues.arguments.next = self.arguments.val();
        self.set_ready.next = self.send_queues.set_ready.val();
        self.set_failed.next = self.send_queues.set_failed.val();
        self.send_queues.freeze.next = self.freeze_doorbells.val();
        self.send_queues.detach.next = self.detach.val();
        self.send_queues.stream.next = self.stream.val();
        AxiReadMaster::<W>::link(&mut self.m_axi_slots, &mut self.send_queues.m_axi);
        self.send_queues.row_stream.next = self.segment.row_stream.val();
        self.send_queues.row.next = self.segment.row.val();
        self.row_stream.next = self.segment.row_stream.val();
        self.row.next = self.segment.row.val();
        self.slot_merge.row_stream.next = self.segment.row_stream.val();
        self.slot_merge.send_data.next = self.send_queues.row_data.val();
        self.slot_merge.send_failed.next = self.send_queues.head_failed.val();
        self.slot_merge.send_consumed.next = self.send_queues.consumed.val();
        self.slot_merge.response_data.next = self.response_data.val();
        self.segment.row_data.next = self.slot_merge.row_data.val();
        self.segment.head_failed.next = self.slot_merge.head_failed.val();
        self.segment.consumed.next = self.slot_merge.consumed.val();
        self.segment.is_response.next = self.slot_merge.is_response.val();
        self.slot_merge.pop.next = self.segment.pop.val().valid;
        self.slot_merge.pop_stream.next = self.segment.pop.val().stream;
        self.send_queues.pop.next = self.slot_merge.send_pop.val();
        self.send_queues.pop_stream.next = self.segment.pop.val().stream;
        self.response_pop.next = self.slot_merge.response_pop.val();
        self.pop_stream.next = self.segment.pop.val().stream;

        comment!("segments");
        self.segment.command.next = self.command.val();
        self.segment.s_command.next = self.s_command.val();
        self.segment.command_valid.next = self.command_valid.val();
        self.command_done.next = self.segment.command_done.val();
        self.segment.open.next = self.open.val();
        self.segment.freeze.next = self.freeze.val();
        self.segment.fail.next = self.settle.fail.val();
        self.segment.settled.next = self.settle.settled.val();
        self.segment.freed.next.valid = self.transmit_ring.freed.val();
        self.segment.freed.next.stream = self.transmit_ring.freed_stream.val();
        self.segment.freed_position.next = self.transmit_ring.freed_position.val();
        for i in 0..S {
            self.slot_merge.send_head[i].next = self.send_queues.head[i].val();
            self.slot_merge.response_head[i].next = self.response_head[i].val();
            self.segment.head[i].next = self.slot_merge.head[i].val();
            self.segment.under_way[i].next = self.settle.under_way[i].val();
            self.idle[i].next = self.send_queues.idle[i].val()
                & !self.settle.under_way[i].val()
                & !self.segment.holds[i].val();
            self.is_armed[i].next = self.segment.is_armed[i].val();
            self.is_open[i].next = self.segment.is_open[i].val();
            self.is_ended[i].next = self.segment.is_ended[i].val();
        }
        self.local_access.s_piece.next = self.segment.m_piece.val();
        self.local_access.s_piece_valid.next = self.segment.m_piece_valid.val();
        self.segment.m_piece_ready.next = self.local_access.s_piece_ready.val();
        self.access_fence.piece.next =
            self.segment.m_piece_valid.val() & self.local_access.s_piece_ready.val();
        self.access_fence.piece_last.next = self.segment.m_piece.val().last;
        self.access_fence.settled.next = self.settle.settled.val().valid;
        self.access_fence.fence.next = self.fence.val();
        self.fence_passed.next = self.access_fence.passed.val();
        self.settle.s_segment.next = self.segment.m_segment.val();
        self.settle.s_segment_valid.next = self.segment.m_segment_valid.val();
        self.segment.m_segment_ready.next = self.settle.s_segment_ready.val();

        comment!("local memory");
        self.stag.next = self.local_access.stag.val();
        self.local_access.entry.next = self.entry.val();
        self.settle.s_status.next = self.local_access.m_status.val();
        self.settle.s_status_valid.next = self.local_access.m_verdict_valid.val();
        self.local_access.m_verdict_ready.next = self.settle.s_status_ready.val();
        self.gather.s_piece.next = self.local_access.m_piece.val();
        self.gather.s_piece_valid.next = self.local_access.m_piece_valid.val();
        self.local_access.m_piece_ready.next = self.gather.s_piece_ready.val();
        AxiReadMaster::<W>::link(&mut self.m_axi_memory, &mut self.gather.m_axi);
        self.settle.s_refused.next = self.gather.m_failed.val();
        self.settle.s_refused_valid.next = self.gather.m_verdict_valid.val();
        self.gather.m_verdict_ready.next = self.settle.s_refused_ready.val();
        self.settle.clear.next = self.segment.cleared.val();
        self.m_event.next = self.settle.m_event.val();
        self.m_event_valid.next = self.settle.m_event_valid.val();
        self.settle.m_event_ready.next = self.m_event_ready.val();

        comment!("FPDUs; the last beat of each comes with what `settle` says of it");
        self.frame.s_ulpdu.next = self.settle.m_ulpdu.val();
        self.frame.s_ulpdu_valid.next = self.settle.m_ulpdu_valid.val();
        self.settle.m_ulpdu_ready.next = self.frame.s_ulpdu_ready.val();
        self.frame.s_data.next = self.gather.m_data.val();
        self.frame.s_data_valid.next = self.gather.m_valid.val();
        self.gather.m_ready.next = self.frame.s_data_ready.val();
        self.is_last.next = self.frame.m_beat.val().last;
        self.passes.next = !self.is_last.val() | self.settle.m_failed_valid.val();
        self.transmit_ring.s_beat.next = self.frame.m_beat.val();
        self.transmit_ring.s_data.next = self.frame.m_data.val();
        self.transmit_ring.s_failed.next = self.settle.m_failed.val();
        self.transmit_ring.s_valid.next = self.frame.m_valid.val() & self.passes.val();
        self.frame.m_ready.next = self.transmit_ring.s_ready.val() & self.passes.val();
        self.settle.m_failed_ready.next =
            self.transmit_ring.s_ready.val() & self.frame.m_valid.val() & self.is_last.val();
        self.settle.complete.next = self.transmit_ring.complete.val();
        self.settle.complete_visible.next = self.transmit_ring.complete_visible.val();

        comment!("TCP");
        self.transmit_ring.arm.next = self.ring_arm.val();
        self.transmit_ring.sequence_start.next = self.sequence_start.val();
        self.transmit_ring.close.next = self.ring_close.val();
        self.transmit_ring.stream.next = self.stream.val();
        self.ring_quiet.next = self.transmit_ring.quiet.val();
        SendStreamIn::link(&mut self.s_axis_send, &mut self.transmit_ring.s_axis_send);
        TransmitStreamOut::<W, K>::link(
            &mut self.m_axis_transmit,
            &mut self.transmit_ring.m_axis_transmit,
        );
        StatusStreamOut::link(
            &mut self.m_axis_status,
            &mut self.transmit_ring.m_axis_status,
        );
        for i in 0..SCTP {
            self.transmit_ring.of_sctp[i].next = self.of_sctp[i].val();
        }
    }
}
