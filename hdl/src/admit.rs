//! Admission: which octets of a TCP segment are new, in order and inside the window.
//!
//! ```text
//!                 ┌ count ┐   ┌ position ┐   ┌───── decide ─────┐
//!  s_axis_segment │ octets│──►│ seq-start│──►│ edge ≤ last octet │──► beat (position, skip, count, data)
//!                 └───────┘   └──────────┘   │ end  ≤ limit      │──► edge, one register a stream
//!                                            └───────▲──────────┘
//!                                                    └ edge of the stream, forwarded
//! ```
//!
//! A segment is a packet of beats with its stream in `tdest` and its sequence number in `tuser`. Octets in front of the
//! edge were accepted before and are left out (AMB-40); a segment that starts behind the edge leaves a gap and is
//! dropped, as is what does not fit the ring (`limit`): the TCP engine, which is told the edge, sends it again. The
//! device never holds the sender: `tready` is always high.
//!
//! Latency from a beat to what becomes of it: [`LATENCY`] cycles. A beat a cycle, segments of any streams back to back.
//! The decision's loop is one 32-bit subtraction: what an accepted beat leaves behind as edge is its end, known a stage
//! before.
//!
//! Assumes that beats of different segments do not alternate, that all beats of a segment but the last are full, and
//! that a stream is armed again only when the beats of its former connection have come through.
use crate::dff::Dff;
use crate::keep_count::KeepCount;
use crate::util::{array, d};
use crate::Config;
use rust_hdl_core::prelude::*;
use rust_hdl_widgets::dff_setup;

/// Cycles from a beat at the input to the same beat, or its pulses, at the output.
pub const LATENCY: usize = 5;

/// Admission for S streams of beats of W bits, K octets.
#[derive(LogicBlock)]
pub struct Admit<const W: usize, const K: usize, const S: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// Payload octets, the first one in lane 0.
    pub tdata: Signal<In, Bits<W>>,
    /// Valid lanes: all but in the last beat, without holes.
    pub tkeep: Signal<In, Bits<K>>,
    /// Last beat of the segment.
    pub tlast: Signal<In, Bit>,
    /// Stream number.
    pub tdest: Signal<In, Bits<8>>,
    /// Sequence number of the segment's first octet, in every beat of it.
    pub tuser: Signal<In, Bits<32>>,
    /// A beat is there.
    pub tvalid: Signal<In, Bit>,
    /// Pulse: `stream` enters full operation at sequence number `sequence_start`.
    pub arm: Signal<In, Bit>,
    /// Pulse: `stream` takes nothing any more.
    pub close: Signal<In, Bit>,
    /// Stream of `arm` and `close`.
    pub stream: Signal<In, Bits<8>>,
    /// Sequence number of position 0, with `arm`.
    pub sequence_start: Signal<In, Bits<32>>,
    /// Position up to which the ring is free again, of each stream.
    pub tail: [Signal<In, Bits<32>>; S],
    /// Sequence number behind the last accepted octet, of each stream.
    pub edge_sequence: [Signal<Out, Bits<32>>; S],
    /// Sequence number behind the last octet that the ring has room for, of each stream.
    pub limit_sequence: [Signal<Out, Bits<32>>; S],
    /// A beat with new octets.
    pub beat_valid: Signal<Out, Bit>,
    /// Its octets as they came.
    pub beat_data: Signal<Out, Bits<W>>,
    /// Its stream.
    pub beat_stream: Signal<Out, Bits<8>>,
    /// Stream position of lane 0.
    pub beat_position: Signal<Out, Bits<32>>,
    /// First lane that is new.
    pub beat_skip: Signal<Out, Bits<8>>,
    /// Lanes in the beat, 1 to K.
    pub beat_count: Signal<Out, Bits<8>>,
    /// Stream position behind the beat: the stream's edge once it is in the ring.
    pub beat_edge: Signal<Out, Bits<32>>,
    /// Pulse: a segment has gone by.
    pub segments: Signal<Out, Bit>,
    /// Pulse: of that segment something was dropped that is not a duplicate.
    pub segments_dropped: Signal<Out, Bit>,
    /// Octets accepted in this cycle.
    pub octets: Signal<Out, Bits<8>>,

    // what a stream is
    armed_of: [Dff<Bit>; S],
    start_of: [Dff<Bits<32>>; S],
    edge_of: [Dff<Bits<32>>; S],
    limit_of: [Dff<Bits<32>>; S],
    edge_out: [Dff<Bits<32>>; S],
    limit_out: [Dff<Bits<32>>; S],

    // stage 0: as it came
    valid_0: Dff<Bit>,
    first_0: Dff<Bit>,
    last_0: Dff<Bit>,
    data_0: Dff<Bits<W>>,
    keep_0: Dff<Bits<K>>,
    stream_0: Dff<Bits<8>>,
    sequence_0: Dff<Bits<32>>,
    keep_count: KeepCount<K>,

    // stage 1: octets counted, context fetched
    valid_1: Dff<Bit>,
    first_1: Dff<Bit>,
    last_1: Dff<Bit>,
    data_1: Dff<Bits<W>>,
    count_1: Dff<Bits<8>>,
    stream_1: Dff<Bits<8>>,
    sequence_1: Dff<Bits<32>>,
    start_1: Dff<Bits<32>>,
    armed_1: Dff<Bit>,

    // stage 2: position known
    valid_2: Dff<Bit>,
    first_2: Dff<Bit>,
    last_2: Dff<Bit>,
    data_2: Dff<Bits<W>>,
    count_2: Dff<Bits<8>>,
    stream_2: Dff<Bits<8>>,
    position_2: Dff<Bits<32>>,
    armed_2: Dff<Bit>,

    // stage 3: end, edge and limit known: decide
    valid_3: Dff<Bit>,
    first_3: Dff<Bit>,
    last_3: Dff<Bit>,
    data_3: Dff<Bits<W>>,
    count_3: Dff<Bits<8>>,
    stream_3: Dff<Bits<8>>,
    position_3: Dff<Bits<32>>,
    end_3: Dff<Bits<32>>,
    edge_3: Dff<Bits<32>>,
    limit_3: Dff<Bits<32>>,
    armed_3: Dff<Bit>,
    lost: Dff<Bit>,

    // stage 4: out
    valid_4: Dff<Bit>,
    data_4: Dff<Bits<W>>,
    stream_4: Dff<Bits<8>>,
    position_4: Dff<Bits<32>>,
    skip_4: Dff<Bits<8>>,
    count_4: Dff<Bits<8>>,
    edge_4: Dff<Bits<32>>,
    segment_4: Dff<Bit>,
    dropped_4: Dff<Bit>,
    octets_4: Dff<Bits<8>>,

    ahead: Signal<Local, Bits<32>>,
    room: Signal<Local, Bits<32>>,
    old: Signal<Local, Bit>,
    fresh: Signal<Local, Bit>,
    fits: Signal<Local, Bit>,
    accept: Signal<Local, Bit>,
    drops: Signal<Local, Bit>,
    index: [Constant<Bits<8>>; S],
    octets_of_beat: Constant<Bits<32>>,
    ring_octets: Constant<Bits<32>>,
}

impl<const W: usize, const K: usize, const S: usize> Admit<W, K, S> {
    /// Admission for the rings of `config`.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        assert!(W == 8 * K && K.is_power_of_two() && (1..=16).contains(&S));
        Self {
            clock: d(),
            reset: d(),
            tdata: d(),
            tkeep: d(),
            tlast: d(),
            tdest: d(),
            tuser: d(),
            tvalid: d(),
            arm: d(),
            close: d(),
            stream: d(),
            sequence_start: d(),
            tail: array(),
            edge_sequence: array(),
            limit_sequence: array(),
            beat_valid: d(),
            beat_data: d(),
            beat_stream: d(),
            beat_position: d(),
            beat_skip: d(),
            beat_count: d(),
            beat_edge: d(),
            segments: d(),
            segments_dropped: d(),
            octets: d(),
            armed_of: array(),
            start_of: array(),
            edge_of: array(),
            limit_of: array(),
            edge_out: array(),
            limit_out: array(),
            valid_0: d(),
            first_0: d(),
            last_0: d(),
            data_0: d(),
            keep_0: d(),
            stream_0: d(),
            sequence_0: d(),
            keep_count: d(),
            valid_1: d(),
            first_1: d(),
            last_1: d(),
            data_1: d(),
            count_1: d(),
            stream_1: d(),
            sequence_1: d(),
            start_1: d(),
            armed_1: d(),
            valid_2: d(),
            first_2: d(),
            last_2: d(),
            data_2: d(),
            count_2: d(),
            stream_2: d(),
            position_2: d(),
            armed_2: d(),
            valid_3: d(),
            first_3: d(),
            last_3: d(),
            data_3: d(),
            count_3: d(),
            stream_3: d(),
            position_3: d(),
            end_3: d(),
            edge_3: d(),
            limit_3: d(),
            armed_3: d(),
            lost: d(),
            valid_4: d(),
            data_4: d(),
            stream_4: d(),
            position_4: d(),
            skip_4: d(),
            count_4: d(),
            edge_4: d(),
            segment_4: d(),
            dropped_4: d(),
            octets_4: d(),
            ahead: d(),
            room: d(),
            old: d(),
            fresh: d(),
            fits: d(),
            accept: d(),
            drops: d(),
            index: std::array::from_fn(|i| Constant::new((i as u64).into())),
            octets_of_beat: Constant::new((K as u64).into()),
            ring_octets: Constant::new((config.ring_octets as u64).into()),
        }
    }
}

impl<const W: usize, const K: usize, const S: usize> Logic for Admit<W, K, S> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, valid_0, first_0, last_0, data_0, keep_0, stream_0, sequence_0);
        dff_setup!(
            self, clock, valid_1, first_1, last_1, data_1, count_1, stream_1, sequence_1, start_1,
            armed_1
        );
        dff_setup!(
            self, clock, valid_2, first_2, last_2, data_2, count_2, stream_2, position_2, armed_2
        );
        dff_setup!(
            self, clock, valid_3, first_3, last_3, data_3, count_3, stream_3, position_3, end_3
        );
        dff_setup!(self, clock, edge_3, limit_3, armed_3, lost);
        dff_setup!(self, clock, valid_4, data_4, stream_4, position_4, skip_4, count_4, edge_4);
        dff_setup!(self, clock, segment_4, dropped_4, octets_4);
        for i in 0..S {
            self.armed_of[i].clock.next = self.clock.val();
            self.armed_of[i].d.next = self.armed_of[i].q.val();
            self.start_of[i].clock.next = self.clock.val();
            self.start_of[i].d.next = self.start_of[i].q.val();
            self.edge_of[i].clock.next = self.clock.val();
            self.edge_of[i].d.next = self.edge_of[i].q.val();
            self.limit_of[i].clock.next = self.clock.val();
            self.limit_of[i].d.next = self.tail[i].val() + self.ring_octets.val();
            self.edge_out[i].clock.next = self.clock.val();
            self.edge_out[i].d.next = self.edge_of[i].q.val() + self.start_of[i].q.val();
            self.limit_out[i].clock.next = self.clock.val();
            self.limit_out[i].d.next = self.limit_of[i].q.val() + self.start_of[i].q.val();
            self.edge_sequence[i].next = self.edge_out[i].q.val();
            self.limit_sequence[i].next = self.limit_out[i].q.val();
        }

        comment!(
            "stage 0: the beat as it came; the next one is a first one when this is a last one"
        );
        self.valid_0.d.next = self.tvalid.val();
        self.data_0.d.next = self.tdata.val();
        self.keep_0.d.next = self.tkeep.val();
        self.last_0.d.next = self.tlast.val();
        self.stream_0.d.next = self.tdest.val();
        self.sequence_0.d.next = self.tuser.val();
        if self.valid_0.q.val() {
            self.first_0.d.next = self.last_0.q.val();
        }

        comment!("stage 1: octets counted, context of the stream fetched");
        self.keep_count.keep.next = self.keep_0.q.val();
        self.valid_1.d.next = self.valid_0.q.val();
        self.first_1.d.next = self.first_0.q.val();
        self.last_1.d.next = self.last_0.q.val();
        self.data_1.d.next = self.data_0.q.val();
        self.count_1.d.next = self.keep_count.count.val();
        self.stream_1.d.next = self.stream_0.q.val();
        self.sequence_1.d.next = self.sequence_0.q.val();
        self.armed_1.d.next = false;
        for i in 0..S {
            if self.stream_0.q.val() == self.index[i].val() {
                self.start_1.d.next = self.start_of[i].q.val();
                self.armed_1.d.next = self.armed_of[i].q.val();
            }
        }

        comment!("stage 2: stream position of lane 0");
        self.valid_2.d.next = self.valid_1.q.val();
        self.first_2.d.next = self.first_1.q.val();
        self.last_2.d.next = self.last_1.q.val();
        self.data_2.d.next = self.data_1.q.val();
        self.count_2.d.next = self.count_1.q.val();
        self.stream_2.d.next = self.stream_1.q.val();
        self.armed_2.d.next = self.armed_1.q.val();
        if self.valid_1.q.val() {
            self.position_2.d.next = self.position_2.q.val() + self.octets_of_beat.val();
            if self.first_1.q.val() {
                self.position_2.d.next = self.sequence_1.q.val() - self.start_1.q.val();
            }
        }

        comment!("decide: old octets lie in front of the edge, the new ones behind them");
        self.ahead.next = self.edge_3.q.val() - self.position_3.q.val();
        self.room.next = self.limit_3.q.val() - self.end_3.q.val();
        self.old.next = !self.ahead.val().get_bit(31);
        self.fresh.next = !self.ahead.val().get_bits::<24>(8).any()
            & (self.ahead.val().get_bits::<8>(0) < self.count_3.q.val());
        self.fits.next = !self.room.val().get_bit(31);
        self.accept.next =
            self.valid_3.q.val() & self.armed_3.q.val() & self.fresh.val() & self.fits.val();
        self.drops.next = self.valid_3.q.val()
            & self.count_3.q.val().any()
            & !(self.armed_3.q.val() & self.old.val() & (self.fits.val() | !self.fresh.val()));

        comment!(
            "stage 3: end of the beat; the edge comes from its register, or from the beat in front"
        );
        self.valid_3.d.next = self.valid_2.q.val();
        self.first_3.d.next = self.first_2.q.val();
        self.last_3.d.next = self.last_2.q.val();
        self.data_3.d.next = self.data_2.q.val();
        self.count_3.d.next = self.count_2.q.val();
        self.stream_3.d.next = self.stream_2.q.val();
        self.armed_3.d.next = self.armed_2.q.val();
        self.position_3.d.next = self.position_2.q.val();
        self.end_3.d.next = self.position_2.q.val() + bit_cast::<32, 8>(self.count_2.q.val());
        for i in 0..S {
            if self.stream_2.q.val() == self.index[i].val() {
                self.edge_3.d.next = self.edge_of[i].q.val();
                self.limit_3.d.next = self.limit_of[i].q.val();
            }
        }
        if self.accept.val() & (self.stream_3.q.val() == self.stream_2.q.val()) {
            self.edge_3.d.next = self.end_3.q.val();
        }
        for i in 0..S {
            if self.accept.val() & (self.stream_3.q.val() == self.index[i].val()) {
                self.edge_of[i].d.next = self.end_3.q.val();
            }
        }

        comment!("stage 4: out, and what is counted");
        self.valid_4.d.next = self.accept.val();
        self.data_4.d.next = self.data_3.q.val();
        self.stream_4.d.next = self.stream_3.q.val();
        self.position_4.d.next = self.position_3.q.val();
        self.skip_4.d.next = self.ahead.val().get_bits::<8>(0);
        self.count_4.d.next = self.count_3.q.val();
        self.edge_4.d.next = self.end_3.q.val();
        self.segment_4.d.next = self.valid_3.q.val() & self.last_3.q.val();
        self.dropped_4.d.next = self.valid_3.q.val()
            & self.last_3.q.val()
            & (self.drops.val() | (self.lost.q.val() & !self.first_3.q.val()));
        if self.valid_3.q.val() {
            self.lost.d.next = self.drops.val() | (self.lost.q.val() & !self.first_3.q.val());
        }
        self.octets_4.d.next = 0.into();
        if self.accept.val() {
            self.octets_4.d.next = self.count_3.q.val() - self.ahead.val().get_bits::<8>(0);
        }
        self.beat_valid.next = self.valid_4.q.val();
        self.beat_data.next = self.data_4.q.val();
        self.beat_stream.next = self.stream_4.q.val();
        self.beat_position.next = self.position_4.q.val();
        self.beat_skip.next = self.skip_4.q.val();
        self.beat_count.next = self.count_4.q.val();
        self.beat_edge.next = self.edge_4.q.val();
        self.segments.next = self.segment_4.q.val();
        self.segments_dropped.next = self.dropped_4.q.val();
        self.octets.next = self.octets_4.q.val();

        comment!("a stream comes and goes");
        for i in 0..S {
            if self.stream.val() == self.index[i].val() {
                if self.arm.val() {
                    self.armed_of[i].d.next = true;
                    self.start_of[i].d.next = self.sequence_start.val();
                    self.edge_of[i].d.next = 0.into();
                    comment!("the tail is put back in this cycle, too, and seen in the next one");
                    self.limit_of[i].d.next = self.ring_octets.val();
                }
                if self.close.val() {
                    self.armed_of[i].d.next = false;
                }
            }
            if self.reset.val() {
                self.armed_of[i].d.next = false;
            }
        }
        if self.reset.val() {
            self.valid_0.d.next = false;
            self.first_0.d.next = true;
            self.valid_1.d.next = false;
            self.valid_2.d.next = false;
            self.valid_3.d.next = false;
            self.valid_4.d.next = false;
            self.segment_4.d.next = false;
            self.dropped_4.d.next = false;
            self.octets_4.d.next = 0.into();
        }
    }
}
