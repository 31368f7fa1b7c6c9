//! Receive: chunks of SCTP beside TCP's octets: into the same rings, and out of them as FPDUs among TCP's.
//!
//! ```text
//!  s_axis_sctp ─► intake ─── beat ───┬─► ring_beat ─► assembly       order ─── FPDU ───┬─► fpdu ─► fetch
//!                 ▲ │      admit ────┘   (TCP first)                   ▲      scan ────┘   (in turns)
//!      key, end   │ ▼                                                  │
//!                order ─► m_axis_chunk              a bit a stream ────┼─► landed, ahead_started: TCP's for `scan`
//!                                                   of SCTP            └── ahead_done: to order, or to `scan`
//!                                                        └─► a bit an FPDU that starts ─► good: a chunk has no CRC
//! ```
//!
//! A stream is of SCTP or of TCP from its arm on. What `assembly`, `fetch` and `check` report of it goes to `order`, or passes
//! through to `scan`. A beat of `admit` is never stalled. While an FPDU of `order` has its turn, `scan` is not served, and it is
//! handed over in a cycle without `scan_issued`, since one FPDU a cycle is counted for a close. Meanwhile the queue of `scan` fills,
//! and its walker pauses, so there is such a cycle.
//!
//! Throughput: a beat a cycle less those of TCP; FPDUs as `order` gives them. Latency: none beside those of [`Intake`] and
//! [`Order`], and one cycle from a report of `order` to `m_axis_chunk`.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use crate::parts::axi::ChunkStreamIn;
use crate::parts::queue::Queue;
use crate::records::{ChunkReport, Fpdu, RingBeat};
use crate::rx::mpa::fetch::{Start, UNDER_WAY};
use crate::rx::sctp::intake::Intake;
use crate::rx::sctp::order::Order;
use crate::{Config, Sctp};
use rust_hdl_core::prelude::*;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, comment};

/// Lowest bit of the status in [`ChunkStatusOut`]'s `tdata`.
pub const STATUS_LSB: usize = 16;

/// Bits of the queue of FPDUs under way.
const LOG_UNDER_WAY: usize = 5;
const _: () = assert!(UNDER_WAY == 1 << LOG_UNDER_WAY);

/// AXI4-Stream of reports about chunks, one beat each.
#[derive(LogicInterface, Clone, Debug, Default)]
#[join = "ChunkStatusIn"]
pub struct ChunkStatusOut {
    /// Bits 15:0 DDP-SSN, from [`STATUS_LSB`] on [`chunk_status`](crate::records::chunk_status).
    pub tdata: Signal<Out, Bits<24>>,
    /// Stream number.
    pub tdest: Signal<Out, Bits<8>>,
    /// The report is valid.
    pub tvalid: Signal<Out, Bit>,
    /// It is accepted.
    pub tready: Signal<In, Bit>,
}

/// The other end of [`ChunkStatusOut`].
#[derive(LogicInterface, Clone, Debug, Default)]
#[join = "ChunkStatusOut"]
pub struct ChunkStatusIn {
    /// Bits 15:0 DDP-SSN, then the status.
    pub tdata: Signal<In, Bits<24>>,
    /// Stream number.
    pub tdest: Signal<In, Bits<8>>,
    /// The report is valid.
    pub tvalid: Signal<In, Bit>,
    /// It is accepted.
    pub tready: Signal<Out, Bit>,
}

/// Reception of chunks in beats of W bits, K = 2^LOGK octets, for S streams.
#[derive(Block)]
#[block(config: &Config, sctp: &Sctp)]
pub struct Receive<const W: usize, const K: usize, const LOGK: usize, const S: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// Rises a cycle before `reset`, and falls with it.
    pub port_reset: Signal<In, Bit>,
    /// Chunks.
    pub s_axis_sctp: ChunkStreamIn<W, K>,
    /// What became of each.
    pub m_axis_chunk: ChunkStatusOut,
    /// Pulse: `stream` enters full operation.
    pub arm: Signal<In, Bit>,
    /// With `arm`: as a session of SCTP.
    pub sctp: Signal<In, Bit>,
    /// With `arm`: number of the session's first chunk.
    pub first: Signal<In, Bits<16>>,
    /// Pulse: `stream` no longer accepts octets.
    pub close: Signal<In, Bit>,
    /// Stream of `arm` and `close`.
    pub stream: Signal<In, Bits<8>>,
    /// Position up to which the ring of each stream is free again.
    pub tail: [Signal<In, Bits<32>>; S],

    /// A beat of `admit`,
    pub beat_valid: Signal<In, Bit>,
    /// its octets,
    pub beat_data: Signal<In, Bits<W>>,
    /// and their place.
    pub beat: Signal<In, RingBeat>,
    /// A beat for the rings,
    pub ring_valid: Signal<Out, Bit>,
    /// its octets,
    pub ring_data: Signal<Out, Bits<W>>,
    /// and their place.
    pub ring_beat: Signal<Out, RingBeat>,
    /// Pulse: octets have landed,
    pub landed: Signal<In, Bit>,
    /// of this stream.
    pub landed_stream: Signal<In, Bits<8>>,
    /// The same, if they are TCP's.
    pub scan_landed: Signal<Out, Bit>,

    /// FPDUs of TCP.
    pub scan_fpdu: Signal<In, Fpdu>,
    /// There is one.
    pub scan_valid: Signal<In, Bit>,
    /// It is accepted.
    pub scan_ready: Signal<Out, Bit>,
    /// Pulse: `scan` has issued an FPDU,
    pub scan_issued: Signal<In, Bit>,
    /// of this stream.
    pub scan_issued_stream: Signal<In, Bits<8>>,
    /// FPDUs of both.
    pub fpdu: Signal<Out, Fpdu>,
    /// There is one.
    pub fpdu_valid: Signal<Out, Bit>,
    /// It is accepted.
    pub fpdu_ready: Signal<In, Bit>,
    /// Pulse: an FPDU was issued,
    pub issued: Signal<Out, Bit>,
    /// of this stream.
    pub issued_stream: Signal<Out, Bits<8>>,

    /// Pulse: `fetch` has begun to read an FPDU.
    pub start_valid: Signal<In, Bit>,
    /// That FPDU.
    pub start: Signal<In, Start>,
    /// The same, if it is TCP's and `ahead`.
    pub scan_started: Signal<Out, Bit>,
    /// Pulse: the verdict about the oldest FPDU that `fetch` has begun to read.
    pub verdict_valid: Signal<In, Bit>,
    /// It is of SCTP, and has no CRC.
    pub waived: Signal<Out, Bit>,
    /// Pulse: `check` has finished an FPDU behind a gap,
    pub ahead_done: Signal<In, Bit>,
    /// of this stream,
    pub ahead_stream: Signal<In, Bits<8>>,
    /// at this position.
    pub ahead_position: Signal<In, Bits<32>>,
    /// It is placed.
    pub ahead_accepted: Signal<In, Bit>,
    /// `ahead_done`, if it is TCP's.
    pub scan_done: Signal<Out, Bit>,

    #[value(Intake::new(sctp))]
    intake: Intake<W, K, LOGK>,
    #[value(Order::new(config, sctp))]
    order: Order<S>,
    /// Of SCTP, a bit each FPDU under way.
    waives: Queue<Bit, LOG_UNDER_WAY>,
    /// The stream is of SCTP.
    kinds: [Dff<Bit>; S],
    /// The FPDU handed over last was `order`'s.
    served: Dff<Bit>,
    report: Dff<ChunkReport>,
    report_valid: Dff<Bit>,

    of_landed: Signal<Local, Bit>,
    of_started: Signal<Local, Bit>,
    of_done: Signal<Local, Bit>,
    order_served: Signal<Local, Bit>,
    hands: Signal<Local, Bit>,
    free: Signal<Local, Bit>,
    #[constant(|i| i)]
    index: [Constant<Bits<4>>; S],
    #[constant(STATUS_LSB)]
    status_at: Constant<Bits<24>>,
}

impl<const W: usize, const K: usize, const LOGK: usize, const S: usize> Receive<W, K, LOGK, S> {
    /// Reception of chunks in the device that `config` describes.
    ///
    /// # Panics
    /// When it has none.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        let sctp = config.sctp.expect("a device that takes chunks of SCTP");
        Self::assemble(config, &sctp)
    }
}

impl<const W: usize, const K: usize, const LOGK: usize, const S: usize> Logic
    for Receive<W, K, LOGK, S>
{
    #[hdl_gen]
    fn update(&mut self) {
        self.intake.reset.next = self.reset.val();
        self.order.reset.next = self.reset.val();
        self.waives.reset.next = self.reset.val();

        comment!("each stream is of SCTP or of TCP");
        self.of_landed.next = false;
        self.of_started.next = false;
        self.of_done.next = false;
        for i in 0..S {
            if self.arm.val() & (self.stream.val().get_bits::<4>(0) == self.index[i].val()) {
                self.kinds[i].d.next = self.sctp.val();
            }
            if self.landed_stream.val().get_bits::<4>(0) == self.index[i].val() {
                self.of_landed.next = self.kinds[i].q.val();
            }
            if self.start.val().stream.get_bits::<4>(0) == self.index[i].val() {
                self.of_started.next = self.kinds[i].q.val();
            }
            if self.ahead_stream.val().get_bits::<4>(0) == self.index[i].val() {
                self.of_done.next = self.kinds[i].q.val();
            }
            if self.reset.val() {
                self.kinds[i].d.next = false;
            }
        }
        self.order.arm.next = self.arm.val() & self.sctp.val();
        self.order.first.next = self.first.val();
        self.order.close.next = self.close.val();
        self.order.stream.next = self.stream.val();
        self.intake.close.next = self.close.val();
        self.intake.stream.next = self.stream.val();

        comment!("chunks: questions, answers, ends");
        ChunkStreamIn::<W, K>::link(&mut self.s_axis_sctp, &mut self.intake.s_axis_sctp);
        self.order.s_key.next = self.intake.m_key.val();
        self.order.s_key_valid.next = self.intake.m_key_valid.val();
        self.intake.m_key_ready.next = self.order.s_key_ready.val();
        self.intake.answer.next = self.order.answer.val();
        self.intake.answer_valid.next = self.order.answer_valid.val();
        self.order.s_end.next = self.intake.m_end.val();
        self.order.s_end_valid.next = self.intake.m_end_valid.val();
        self.intake.m_end_ready.next = self.order.s_end_ready.val();
        for i in 0..S {
            self.order.tail[i].next = self.tail[i].val();
        }

        comment!("into the rings: TCP's beats cannot be stalled");
        self.ring_valid.next = self.beat_valid.val() | self.intake.m_valid.val();
        self.ring_data.next = self.intake.m_data.val();
        self.ring_beat.next = self.intake.m_beat.val();
        if self.beat_valid.val() {
            self.ring_data.next = self.beat_data.val();
            self.ring_beat.next = self.beat.val();
        }
        self.intake.m_ready.next = !self.beat_valid.val();
        self.scan_landed.next = self.landed.val() & !self.of_landed.val();

        comment!("out of the rings: in turns; not in a cycle in which another FPDU is counted");
        self.order_served.next =
            self.order.m_valid.val() & !(self.scan_valid.val() & self.served.q.val());
        self.hands.next = self.order_served.val() & !self.scan_issued.val() & self.fpdu_ready.val();
        self.order.m_ready.next = self.hands.val();
        self.scan_ready.next = self.fpdu_ready.val() & !self.order_served.val();
        self.fpdu.next = self.scan_fpdu.val();
        self.fpdu_valid.next = self.scan_valid.val();
        if self.order_served.val() {
            self.fpdu.next = self.order.m_fpdu.val();
            self.fpdu_valid.next = !self.scan_issued.val();
        }
        if self.hands.val() {
            self.served.d.next = true;
        }
        if self.scan_valid.val() & self.scan_ready.val() {
            self.served.d.next = false;
        }
        self.issued.next = self.scan_issued.val() | self.hands.val();
        self.issued_stream.next = self.order.m_fpdu.val().stream;
        if self.scan_issued.val() {
            self.issued_stream.next = self.scan_issued_stream.val();
        }

        comment!("FPDUs under way: a chunk has no CRC; a verdict comes after the start");
        self.waives.s_data.next = self.of_started.val();
        self.waives.s_valid.next = self.start_valid.val();
        self.waives.m_ready.next = self.verdict_valid.val();
        self.waived.next = self.waives.m_data.val();
        self.scan_started.next =
            self.start_valid.val() & self.start.val().ahead & !self.of_started.val();
        self.order.ahead_done.next = self.ahead_done.val() & self.of_done.val();
        self.order.ahead_stream.next = self.ahead_stream.val();
        self.order.ahead_position.next = self.ahead_position.val();
        self.order.ahead_accepted.next = self.ahead_accepted.val();
        self.scan_done.next = self.ahead_done.val() & !self.of_done.val();

        comment!("reports");
        self.free.next = !self.report_valid.q.val() | self.m_axis_chunk.tready.val();
        self.order.m_report_ready.next = self.free.val();
        if self.free.val() {
            self.report_valid.d.next = self.order.m_report_valid.val();
            self.report.d.next = self.order.m_report.val();
        }
        self.m_axis_chunk.tdata.next = bit_cast::<24, 16>(self.report.q.val().ssn)
            | (bit_cast::<24, 8>(self.report.q.val().status) << self.status_at.val());
        self.m_axis_chunk.tdest.next = self.report.q.val().stream;
        self.m_axis_chunk.tvalid.next = self.report_valid.q.val();
        if self.reset.val() {
            self.served.d.next = false;
        }
        if self.port_reset.val() {
            self.report_valid.d.next = false;
        }
    }
}
