//! The network side of the receive path: TCP segments in, whole FPDUs in the commit buffer out.
//!
//! ```text
//!  segments ─► admit ─► assembly ─┬─► scan ─► fetch ─► beats ─┬─► crc32c ─────────┬──► Verdict
//!                 ▲     (rings) ◄─┴── header  │ ▲   read      └─► strip ─ markers ┘
//!                 │                           │ │                   └──► commit ──────► DdpSegment
//!                 └────────────── tail ───────┘ └── freed rows        (buffer) ◄────── read by `place`
//!           └─► stream_end ─► scan: FIN, lost connection     supply of receive buffers ─► pace ─► scan
//! ```
//!
//! Connections only; the timing of each part is in its own file.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use crate::parts::axi::{ChunkStreamIn, SegmentStreamIn};
use crate::parts::crc32c::{self, Crc32c};
use crate::parts::delay::Delay;
use crate::records::{DdpSegment, Verdict};
use crate::rx::ddp::check;
use crate::rx::mpa::admit::Admit;
use crate::rx::mpa::assembly::Assembly;
use crate::rx::mpa::commit::{self, Commit};
use crate::rx::mpa::fetch::Fetch;
use crate::rx::mpa::pace::Pace;
use crate::rx::mpa::scan::Scan;
use crate::rx::mpa::stream_end::StreamEnd;
use crate::rx::mpa::strip::{self, MarkerVerdict, Strip};
use crate::rx::sctp::receive::{ChunkStatusOut, Receive};
use crate::{Config, ISLANDS};
use rust_hdl_core::prelude::*;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, Optional, Record, comment};

/// A stream is armed or closed.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct OwnerChange {
    /// The stream enters full operation.
    pub arm: Bit,
    /// The stream no longer accepts octets.
    pub close: Bit,
    /// Its number.
    pub stream: Bits<8>,
    /// Sequence number of its position 0.
    pub sequence_start: Bits<32>,
}

/// Network side for beats of W bits: K octets (2^LOGK), D dwords (2^LOGD), H = 16·D; S streams.
#[derive(Block)]
#[block(config: &Config)]
pub struct Ingress<
    const W: usize,
    const K: usize,
    const D: usize,
    const H: usize,
    const LOGK: usize,
    const LOGD: usize,
    const S: usize,
    const SCTP: usize = 0,
> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// TCP payload.
    pub s_axis_segment: SegmentStreamIn<W, K>,
    /// Rises a cycle before `reset`, and falls with it.
    pub port_reset: Optional<Signal<In, Bit>, SCTP>,
    /// Chunks of SCTP.
    pub s_axis_sctp: Optional<ChunkStreamIn<W, K>, SCTP>,
    /// What became of each.
    pub m_axis_chunk: Optional<ChunkStatusOut, SCTP>,
    /// With `arm`: the stream is a session of SCTP, and `sequence_start` the number of its first chunk.
    pub of_sctp: Optional<Signal<In, Bit>, SCTP>,
    /// Pulse: `stream` enters full operation with the next three fields.
    pub arm: Signal<In, Bit>,
    /// Pulse: `stream` no longer accepts octets.
    pub close: Signal<In, Bit>,
    /// Stream of `arm` and `close`.
    pub stream: Signal<In, Bits<8>>,
    /// The stream carries markers.
    pub markers: Signal<In, Bit>,
    /// The stream's CRCs are checked.
    pub crc: Signal<In, Bit>,
    /// Any ULPDU_Length is accepted in the stream; not with `markers`.
    pub long_ulpdus: Signal<In, Bit>,
    /// Sequence number of position 0.
    pub sequence_start: Signal<In, Bits<32>>,
    /// Sequence number behind the last accepted octet, of each stream.
    pub edge_sequence: [Signal<Out, Bits<32>>; S],
    /// Sequence number behind the last octet that there is room for, of each stream.
    pub limit_sequence: [Signal<Out, Bits<32>>; S],
    /// Pulse: `check` has finished an FPDU behind a gap.
    pub ahead_done: Signal<In, Bit>,
    /// Its stream.
    pub ahead_stream: Signal<In, Bits<8>>,
    /// Its stream position.
    pub ahead_position: Signal<In, Bits<32>>,
    /// It is placed.
    pub ahead_accepted: Signal<In, Bit>,
    /// Pulse: an FPDU of `issued_stream` was issued to `fetch`.
    pub issued: Signal<Out, Bit>,
    /// That stream.
    pub issued_stream: Signal<Out, Bits<8>>,
    /// FPDUs in the commit buffer.
    pub segment: Signal<Out, DdpSegment>,
    /// Pulse: `segment` is valid.
    pub segment_valid: Signal<Out, Bit>,
    /// Their MPA verdicts, in the same order.
    pub verdict: Signal<Out, Verdict>,
    /// Pulse: `verdict` is valid.
    pub verdict_valid: Signal<Out, Bit>,
    /// Pulse: `check` has accepted an FPDU.
    pub consumed: Signal<In, Bit>,
    /// Its stream.
    pub consumed_stream: Signal<In, Bits<8>>,
    /// From `receive_rings`: how short each stream is of receive buffers.
    pub scarce: [Signal<In, Bit>; S],
    /// Shorter.
    pub few: [Signal<In, Bit>; S],
    /// It has none.
    pub empty: [Signal<In, Bit>; S],
    /// Pulse: `freed_rows` rows of the commit buffer are free again.
    pub freed: Signal<In, Bit>,
    /// How many, with `freed`.
    pub freed_rows: Signal<In, Bits<16>>,
    /// Read port of the commit buffer: row of the lanes whose select bit is zero.
    pub read_row_0: Signal<In, Bits<16>>,
    /// Row of the lanes whose select bit is one.
    pub read_row_1: Signal<In, Bits<16>>,
    /// Which row each lane reads.
    pub read_select: Signal<In, Bits<K>>,
    /// Octets of those rows, two cycles later.
    pub read_data: Signal<Out, Bits<W>>,
    /// Pulse: a segment has ended.
    pub segments: Signal<Out, Bit>,
    /// Pulse: octets of that segment that are no duplicates were dropped.
    pub segments_dropped: Signal<Out, Bit>,
    /// Octets accepted in this cycle.
    pub octets: Signal<Out, Bits<8>>,

    #[value(Admit::new(config))]
    admit: Admit<W, K, S, { ISLANDS }>,
    #[value(Assembly::new(config))]
    assembly: Assembly<W, K, D, H, LOGK>,
    #[value(StreamEnd::new(K))]
    stream_end: StreamEnd<S>,
    #[value(Scan::new(config))]
    scan: Scan<H, D, LOGD, S>,
    pace: Pace<S>,
    #[value(Fetch::new(config))]
    fetch: Fetch<W, K, D, LOGK, LOGD, S>,
    strip: Strip<W, D>,
    #[value(Commit::new(config))]
    commit: Commit<W, K, D, LOGD>,
    crc32c: Crc32c<W, D>,
    #[value(Delay::new(crc32c::latency(W) - strip::VERDICT))]
    marker_verdict: Delay<MarkerVerdict>,
    #[value(Optional::with(|| Receive::new(config)))]
    receive: Optional<Receive<W, K, LOGK, S>, SCTP>,
    /// With `owner`: it is of SCTP.
    owner_of_sctp: Optional<Dff<Bit>, SCTP>,
    /// The input, a cycle later,
    owner: Dff<OwnerChange>,
    /// and two cycles later.
    owner_before: Dff<OwnerChange>,
}

impl<
    const W: usize,
    const K: usize,
    const D: usize,
    const H: usize,
    const LOGK: usize,
    const LOGD: usize,
    const S: usize,
    const SCTP: usize,
> Ingress<W, K, D, H, LOGK, LOGD, S, SCTP>
{
    /// Network side of the device that `config` describes.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        assert!(config.width == W && config.streams == S);
        assert_eq!(SCTP, usize::from(config.sctp.is_some()));
        // by the time of its verdict the FPDU is whole in the commit buffer
        assert!(
            strip::LATENCY + commit::written(D) <= crc32c::latency(W) + check::FROM_VERDICT,
            "the last beat of an FPDU is read before it is written"
        );
        Self::assemble(config)
    }
}

impl<
    const W: usize,
    const K: usize,
    const D: usize,
    const H: usize,
    const LOGK: usize,
    const LOGD: usize,
    const S: usize,
    const SCTP: usize,
> Logic for Ingress<W, K, D, H, LOGK, LOGD, S, SCTP>
{
    #[hdl_gen]
    fn update(&mut self) {
        self.admit.reset.next = self.reset.val();
        self.stream_end.reset.next = self.reset.val();
        self.scan.reset.next = self.reset.val();
        self.pace.reset.next = self.reset.val();
        self.fetch.reset.next = self.reset.val();
        self.strip.reset.next = self.reset.val();
        self.commit.reset.next = self.reset.val();
        self.crc32c.reset.next = self.reset.val();

        comment!("segments: always accepted, dropped where they do not fit");
        self.s_axis_segment.tready.next = true;
        self.admit.tdata.next = self.s_axis_segment.tdata.val();
        self.admit.tkeep.next = self.s_axis_segment.tkeep.val();
        self.admit.tlast.next = self.s_axis_segment.tlast.val();
        self.admit.tdest.next = self.s_axis_segment.tdest.val();
        self.admit.tuser.next = self.s_axis_segment.tuser.val();
        self.admit.tvalid.next = self.s_axis_segment.tvalid.val();
        self.segments.next = self.admit.segments.val();
        self.segments_dropped.next = self.admit.segments_dropped.val();
        self.octets.next = self.admit.octets.val();

        comment!(
            "arm and close: registered once for the distance, and twice for `admit`, which is placed far from the others"
        );
        self.owner.d.next.arm = self.arm.val();
        self.owner.d.next.close = self.close.val();
        self.owner.d.next.stream = self.stream.val();
        self.owner.d.next.sequence_start = self.sequence_start.val();
        self.owner_before.d.next = self.owner.q.val();
        if self.reset.val() {
            self.owner.d.next.arm = false;
            self.owner.d.next.close = false;
            self.owner_before.d.next.arm = false;
            self.owner_before.d.next.close = false;
        }
        self.admit.arm.next = self.owner_before.q.val().arm;
        self.admit.close.next = self.owner_before.q.val().close;
        self.admit.stream.next = self.owner_before.q.val().stream;
        self.admit.sequence_start.next = self.owner_before.q.val().sequence_start;
        self.scan.arm.next = self.arm.val();
        self.scan.close.next = self.close.val();
        self.scan.stream.next = self.stream.val();
        self.scan.markers.next = self.markers.val();
        self.scan.crc.next = self.crc.val();
        self.scan.long_ulpdus.next = self.long_ulpdus.val();
        self.fetch.arm.next = self.owner.q.val().arm;
        self.fetch.stream.next = self.owner.q.val().stream;
        for i in 0..S {
            self.admit.tail[i].next = self.fetch.tail[i].val();
            self.fetch.edge_landed[i].next = self.scan.edge_landed[i].val();
            self.edge_sequence[i].next = self.admit.edge_sequence[i].val();
            self.limit_sequence[i].next = self.admit.limit_sequence[i].val();
        }

        comment!("into the rings");
        self.assembly.beat_valid.next = self.admit.beat_valid.val();
        self.assembly.beat_data.next = self.admit.beat_data.val();
        self.assembly.beat.next = self.admit.beat.val();

        comment!("ends of streams");
        self.stream_end.beat_valid.next = self.admit.beat_valid.val();
        self.stream_end.beat.next = self.admit.beat.val();
        self.stream_end.mark_fin.next = self.admit.mark_fin.val();
        self.stream_end.mark_end.next = self.admit.mark_end.val();
        self.stream_end.mark_abort.next = self.admit.mark_abort.val();
        self.stream_end.arm.next = self.owner.q.val().arm;
        self.stream_end.stream.next = self.owner.q.val().stream;
        self.scan.mark.next = self.stream_end.mark.val();

        comment!("boundaries of FPDUs");
        self.scan.landed.next = self.assembly.landed.val();
        self.scan.landed_stream.next = self.assembly.landed_stream.val();
        self.scan.landed_edge.next = self.assembly.landed_edge.val();
        self.scan.landed_heads.next = self.assembly.landed_heads.val();
        self.scan.beat_valid.next = self.admit.beat_valid.val();
        self.scan.beat.next = self.admit.beat.val();
        self.assembly.header_row.next = self.scan.header_row.val();
        self.scan.header_data.next = self.assembly.header_data.val();
        self.scan.beyond.next = self.admit.beyond.val();
        self.scan.beyond_stream.next = self.admit.beyond_stream.val();
        self.scan.beyond_position.next = self.admit.beyond_position.val();
        self.admit.asked_stream.next = self.scan.asked_stream.val();
        self.admit.asked_position.next = self.scan.asked_position.val();
        self.scan.island.next = self.admit.island.val();
        self.scan.island_begin.next = self.admit.island_begin.val();
        self.scan.island_end.next = self.admit.island_end.val();
        self.assembly.marker_row.next = self.scan.marker_row.val();
        self.scan.marker_data.next = self.assembly.marker_data.val();
        self.scan.ahead_started.next = self.fetch.start_valid.val() & self.fetch.start.val().ahead;
        self.scan.ahead_done.next = self.ahead_done.val();
        self.scan.ahead_stream.next = self.ahead_stream.val();
        self.scan.ahead_position.next = self.ahead_position.val();
        self.scan.ahead_accepted.next = self.ahead_accepted.val();
        self.issued.next = self.scan.issued.val();
        self.issued_stream.next = self.scan.issued_stream.val();

        comment!("not faster than receive buffers come");
        self.pace.issued.next = self.issued.val();
        self.pace.issued_stream.next = self.issued_stream.val();
        self.pace.consumed.next = self.consumed.val();
        self.pace.consumed_stream.next = self.consumed_stream.val();
        for i in 0..S {
            self.pace.scarce[i].next = self.scarce[i].val();
            self.pace.few[i].next = self.few[i].val();
            self.pace.empty[i].next = self.empty[i].val();
            self.scan.may_run[i].next = self.pace.may_run[i].val();
            self.scan.may_issue[i].next = self.pace.may_issue[i].val();
        }

        comment!("out of the rings");
        self.fetch.fpdu.next = self.scan.fpdu.val();
        self.fetch.fpdu_valid.next = self.scan.fpdu_valid.val();
        self.scan.fpdu_ready.next = self.fetch.fpdu_ready.val();
        self.assembly.read_row_0.next = self.fetch.read_row_0.val();
        self.assembly.read_row_1.next = self.fetch.read_row_1.val();
        self.assembly.read_select.next = self.fetch.read_select.val();
        self.fetch.read_data.next = self.assembly.read_data.val();
        self.fetch.freed.next = self.freed.val();
        self.fetch.freed_rows.next = self.freed_rows.val();
        self.fetch.consumed.next = self.consumed.val();

        comment!(
            "CRC over the beats with their markers; the beats without markers into the commit buffer"
        );
        self.crc32c.data.next = self.fetch.beat_data.val();
        self.crc32c.valid.next = self.fetch.beat.val().valid;
        self.crc32c.first.next = self.fetch.beat.val().first;
        self.crc32c.last.next = self.fetch.beat.val().last;
        self.crc32c.count.next = self.fetch.beat.val().count;
        self.marker_verdict.d.next = self.strip.marker_verdict.val();
        self.verdict.next.good = self.crc32c.verdict.val().good;
        self.verdict.next.state = self.crc32c.verdict.val().state;
        self.verdict.next.zeros = self.crc32c.verdict.val().zeros;
        self.verdict.next.received = self.crc32c.verdict.val().received;
        self.verdict.next.marker_wrong = self.marker_verdict.q.val().wrong;
        self.verdict.next.marker_expected = self.marker_verdict.q.val().expected;
        self.verdict.next.marker_received = self.marker_verdict.q.val().received;
        self.verdict_valid.next = self.crc32c.verdict_valid.val();
        self.strip.beat.next = self.fetch.beat.val();
        self.strip.beat_data.next = self.fetch.beat_data.val();
        self.commit.start.next = self.fetch.start.val();
        self.commit.start_valid.next = self.fetch.start_valid.val();
        self.commit.plain.next = self.strip.plain.val();
        self.commit.plain_data.next = self.strip.plain_data.val();
        self.segment.next = self.commit.segment.val();
        self.segment_valid.next = self.commit.segment_valid.val();
        self.commit.read_row_0.next = self.read_row_0.val();
        self.commit.read_row_1.next = self.read_row_1.val();
        self.commit.read_select.next = self.read_select.val();
        self.read_data.next = self.commit.read_data.val();

        for i in 0..SCTP {
            comment!("SCTP: its streams are not armed in `admit` and `scan`");
            self.receive[i].reset.next = self.reset.val();
            self.receive[i].port_reset.next = self.port_reset[i].val();
            ChunkStreamIn::<W, K>::link(&mut self.s_axis_sctp[i], &mut self.receive[i].s_axis_sctp);
            ChunkStatusOut::link(&mut self.m_axis_chunk[i], &mut self.receive[i].m_axis_chunk);
            self.owner_of_sctp[i].d.next = self.of_sctp[i].val();
            self.owner_before.d.next.arm =
                self.owner.q.val().arm & !self.owner_of_sctp[i].q.val() & !self.reset.val();
            self.scan.arm.next = self.arm.val() & !self.of_sctp[i].val();
            self.receive[i].arm.next = self.arm.val();
            self.receive[i].sctp.next = self.of_sctp[i].val();
            self.receive[i].first.next = self.sequence_start.val().get_bits::<16>(0);
            self.receive[i].close.next = self.close.val();
            self.receive[i].stream.next = self.stream.val();
            for j in 0..S {
                self.receive[i].tail[j].next = self.fetch.tail[j].val();
            }

            comment!("SCTP, into the rings");
            self.receive[i].beat_valid.next = self.admit.beat_valid.val();
            self.receive[i].beat_data.next = self.admit.beat_data.val();
            self.receive[i].beat.next = self.admit.beat.val();
            self.assembly.beat_valid.next = self.receive[i].ring_valid.val();
            self.assembly.beat_data.next = self.receive[i].ring_data.val();
            self.assembly.beat.next = self.receive[i].ring_beat.val();
            self.receive[i].landed.next = self.assembly.landed.val();
            self.receive[i].landed_stream.next = self.assembly.landed_stream.val();
            self.scan.landed.next = self.receive[i].scan_landed.val();

            comment!("SCTP, out of the rings");
            self.receive[i].scan_fpdu.next = self.scan.fpdu.val();
            self.receive[i].scan_valid.next = self.scan.fpdu_valid.val();
            self.scan.fpdu_ready.next = self.receive[i].scan_ready.val();
            self.receive[i].scan_issued.next = self.scan.issued.val();
            self.receive[i].scan_issued_stream.next = self.scan.issued_stream.val();
            self.issued.next = self.receive[i].issued.val();
            self.issued_stream.next = self.receive[i].issued_stream.val();
            self.pace.issued.next = self.receive[i].issued.val();
            self.pace.issued_stream.next = self.receive[i].issued_stream.val();
            self.fetch.fpdu.next = self.receive[i].fpdu.val();
            self.fetch.fpdu_valid.next = self.receive[i].fpdu_valid.val();
            self.receive[i].fpdu_ready.next = self.fetch.fpdu_ready.val();
            self.receive[i].start.next = self.fetch.start.val();
            self.receive[i].start_valid.next = self.fetch.start_valid.val();
            self.scan.ahead_started.next = self.receive[i].scan_started.val();
            self.receive[i].ahead_done.next = self.ahead_done.val();
            self.receive[i].ahead_stream.next = self.ahead_stream.val();
            self.receive[i].ahead_position.next = self.ahead_position.val();
            self.receive[i].ahead_accepted.next = self.ahead_accepted.val();
            self.scan.ahead_done.next = self.receive[i].scan_done.val();
            self.receive[i].verdict_valid.next = self.crc32c.verdict_valid.val();
            self.verdict.next.good = self.crc32c.verdict.val().good | self.receive[i].waived.val();
        }
    }
}
