//! Admission: which octets of a TCP segment are new and inside the window.
//!
//! ```text
//!                 ┌ count ┐   ┌ position ┐   ┌ compare ┐   ┌────── decide ───────┐
//!  s_axis_segment │ octets│──►│ seq-start│──►│ 32 bits │──►│ first new octet     │──► beat (position, skip, count, data)
//!                 └───────┘   └──────────┘   └──▲──▲───┘   │ up to the next      │──► edge, one register a stream
//!                                               │  │       │ island, end ≤ limit │
//!                              edge, islands ───┘  │       └──┬──────────────────┘
//!                              of the stream ◄─────┴──────────┘ their next values, forwarded
//!
//!  ring   ████████████░░░░░░░████████░░░░██████░░░░░░░░░░░░░░│
//!                     ▲      └island0┘   └isl.1┘              ▲
//!                     edge                                    limit
//! ```
//!
//! A segment is a packet of beats. `tdest` holds its stream, `tuser` its sequence number and, in the last beat, FIN
//! and abort. Both go on to `stream_end` beside the beat, whether or not its octets are accepted; a FIN beyond
//! `limit` does not.
//!
//! Segments may arrive in any order, repeatedly, and overlapping. Octets behind a gap are written into the ring at
//! their place and recorded as an island, at most N a stream. When a gap closes, the edge jumps to the end of the
//! island behind it. An octet that was accepted once is never overwritten, whatever a later copy holds (AMB-40,
//! MPA-RCV-24).
//!
//! A beat is dropped, and counted, before any of it is accepted, if it does not fit the ring (`limit`) or would need
//! one island too many. If a beat covers a whole island, its octets behind that island are dropped. The TCP engine
//! sees the edge and retransmits. The beat at the edge needs no island, so a stream always makes progress. A segment
//! that ends 2^30 octets or more in front of `limit` is old, and a FIN in it is ignored. `tready` is always high: the
//! device never stalls the sender.
//!
//! The search behind gaps gets the position of each segment's end there (`beyond`). It may look up the island that
//! contains a position: begin and end follow two cycles later, as they were after all beats that had left the output
//! before the cycle of the request.
//!
//! Latency: [`LATENCY`] cycles from a beat to the output; counters follow a cycle later. Throughput: one beat a
//! cycle, segments of any streams back to back.
//!
//! A beat is compared with the edge and the islands as they were before the beat ahead of it, and with that beat
//! itself. The outcome of that beat then selects among the results, so the loop contains one decision of some twenty
//! bits and one multiplexer, but no comparison.
//!
//! Assumptions: beats of different segments do not alternate; every beat of a segment but the last is full; a stream
//! is armed again only when all beats of its previous connection have left the pipeline.
pub mod counts;
pub mod decide;
pub mod island_lookup;
pub mod shift;

use self::counts::Counts;
use self::decide::Decide;
use self::island_lookup::IslandLookup;
use self::shift::Shift;
use crate::Config;
use crate::parts::axi::{USER_ABORT, USER_FIN};
use crate::parts::delay::Delay;
use crate::parts::keep_count::KeepCount;
use crate::parts::queue::Store;
use crate::records::RingBeat;
use rust_hdl_core::prelude::*;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, comment};

/// Cycles from a beat at the input to the same beat, or its pulses, at the output.
pub const LATENCY: usize = 5;

/// Admission for S streams of beats of W bits, K octets, with N islands each.
#[derive(Block)]
#[block(config: &Config)]
pub struct Admit<const W: usize, const K: usize, const S: usize, const N: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// Payload octets, the first one in lane 0.
    pub tdata: Signal<In, Bits<W>>,
    /// Valid lanes, contiguous from lane 0; all of them except in the last beat.
    pub tkeep: Signal<In, Bits<K>>,
    /// Last beat of the segment.
    pub tlast: Signal<In, Bit>,
    /// Stream number.
    pub tdest: Signal<In, Bits<8>>,
    /// Sequence number of the segment's first octet, in every beat; FIN and abort in the last beat.
    pub tuser: Signal<In, Bits<34>>,
    /// The beat is valid.
    pub tvalid: Signal<In, Bit>,
    /// Pulse: `stream` enters full operation at sequence number `sequence_start`.
    pub arm: Signal<In, Bit>,
    /// Pulse: `stream` no longer accepts octets.
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
    /// Its octets, not yet rotated.
    pub beat_data: Signal<Out, Bits<W>>,
    /// Their place. `stream` and `new_edge` are also valid with a mark.
    pub beat: Signal<Out, RingBeat>,
    /// Pulse: the FIN of the stream of `beat` is at `mark_end`.
    pub mark_fin: Signal<Out, Bit>,
    /// That position.
    pub mark_end: Signal<Out, Bits<32>>,
    /// Pulse: the connection of the stream of `beat` is lost.
    pub mark_abort: Signal<Out, Bit>,
    /// Pulse: the last beat of a segment of `beyond_stream` lies behind a gap; it is also at `beat` if it has new octets.
    pub beyond: Signal<Out, Bit>,
    /// That stream.
    pub beyond_stream: Signal<Out, Bits<8>>,
    /// Position of the beat.
    pub beyond_position: Signal<Out, Bits<32>>,
    /// Stream whose island is looked up.
    pub asked_stream: Signal<In, Bits<8>>,
    /// A position in it.
    pub asked_position: Signal<In, Bits<32>>,
    /// Two cycles later: it lies in an island.
    pub island: Signal<Out, Bit>,
    /// Begin of that island.
    pub island_begin: Signal<Out, Bits<32>>,
    /// The position behind its last octet.
    pub island_end: Signal<Out, Bits<32>>,
    /// Pulse: a segment has ended.
    pub segments: Signal<Out, Bit>,
    /// Pulse: octets of that segment that are no duplicates were dropped.
    pub segments_dropped: Signal<Out, Bit>,
    /// Octets accepted in this cycle.
    pub octets: Signal<Out, Bits<8>>,

    // state of each stream
    armed_of: [Dff<Bit>; S],
    start_of: [Dff<Bits<32>>; S],
    edge_of: [Dff<Bits<32>>; S],
    // islands: the present ones first, ordered by position; `finish` is the position behind the last octet
    present_of: [[Dff<Bit>; N]; S],
    // the same a cycle later, in step with the memories of begin and finish
    present_then: [[Dff<Bit>; N]; S],
    begins: [Store<Bits<32>, 4>; N],
    finishes: [Store<Bits<32>, 4>; N],
    limit_of: [Dff<Bits<32>>; S],
    edge_out: [Dff<Bits<32>>; S],
    limit_out: [Dff<Bits<32>>; S],

    // stage 0: the input beat
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
    /// The beat in stage 3 is of the same stream.
    far_1: Dff<Bit>,
    /// So is the beat in stage 4, whose islands are not written yet.
    third_1: Dff<Bit>,

    // stage 2: compares position and end with edge, limit and islands as they were before the beat in stage 3
    valid_2: Dff<Bit>,
    first_2: Dff<Bit>,
    last_2: Dff<Bit>,
    data_2: Dff<Bits<W>>,
    count_2: Dff<Bits<8>>,
    stream_2: Dff<Bits<8>>,
    position_2: Dff<Bits<32>>,
    end_2: Dff<Bits<32>>,
    edge_2: Dff<Bits<32>>,
    present_2: [Dff<Bit>; N],
    begin_2: [Dff<Bits<32>>; N],
    finish_2: [Dff<Bits<32>>; N],
    limit_2: Dff<Bits<32>>,
    armed_2: Dff<Bit>,
    /// The beat in stage 3 is of the same stream.
    near_2: Dff<Bit>,

    // stage 3: decide
    valid_3: Dff<Bit>,
    first_3: Dff<Bit>,
    last_3: Dff<Bit>,
    data_3: Dff<Bits<W>>,
    count_3: Dff<Bits<8>>,
    stream_3: Dff<Bits<8>>,
    position_3: Dff<Bits<32>>,
    end_3: Dff<Bits<32>>,
    edge_3: Dff<Bits<32>>,
    present_3: [Dff<Bit>; N],
    begin_3: [Dff<Bits<32>>; N],
    finish_3: [Dff<Bits<32>>; N],
    armed_3: Dff<Bit>,
    /// It begins behind the edge.
    gap_3: Dff<Bit>,
    /// It ends behind the edge.
    new_3: Dff<Bit>,
    fits_3: Dff<Bit>,
    /// It has octets, it fits, and its stream is armed.
    may_3: Dff<Bit>,
    /// `may_3`, and the beat in stage 2 (`near`) or in stage 1 (`far`) is of the same stream.
    may_near_3: Dff<Bit>,
    may_far_3: Dff<Bit>,
    /// It begins before the island, ends before it, begins behind it, ends behind it. An absent island counts as behind every
    /// position.
    before_3: [Dff<Bit>; N],
    short_3: [Dff<Bit>; N],
    behind_3: [Dff<Bit>; N],
    over_3: [Dff<Bit>; N],
    decide: Decide<N>,

    // side information up to stage 3
    #[value(Delay::new(LATENCY - 1))]
    fin: Delay<Bit>,
    #[value(Delay::new(LATENCY - 1))]
    abort: Delay<Bit>,

    // stage 4: output
    valid_4: Dff<Bit>,
    data_4: Dff<Bits<W>>,
    stream_4: Dff<Bits<8>>,
    settles_4: Dff<Bit>,
    begin_4: [Dff<Bits<32>>; N],
    finish_4: [Dff<Bits<32>>; N],
    /// Their next values: the selection of stage 3, repeated.
    begin_high_4: [Dff<Bit>; N],
    begin_low_4: [Dff<Bit>; N],
    finish_high_4: [Dff<Bit>; N],
    finish_low_4: [Dff<Bit>; N],
    position_4: Dff<Bits<32>>,
    skip_4: Dff<Bits<8>>,
    count_4: Dff<Bits<8>>,
    edge_4: Dff<Bits<32>>,
    fin_4: Dff<Bit>,
    end_4: Dff<Bits<32>>,
    abort_4: Dff<Bit>,
    came_4: Dff<Bit>,
    first_4: Dff<Bit>,
    drops_4: Dff<Bit>,
    segment_4: Dff<Bit>,
    beyond_4: Dff<Bit>,

    // stage 5
    counts: Counts,

    // which island a position lies in
    lookup: IslandLookup<S, N>,

    // end of the beat, in stage 1
    sum: Signal<Local, Bits<32>>,
    carries: Signal<Local, Bits<32>>,
    count_wide: Signal<Local, Bits<32>>,
    start_less: Signal<Local, Bits<32>>,
    // the beat in stage 2 compared with the edge, each island, and the beat in stage 3
    from_edge: Signal<Local, Bits<32>>,
    end_from_edge: Signal<Local, Bits<32>>,
    room: Signal<Local, Bits<32>>,
    fits: Signal<Local, Bit>,
    from_begin: [Signal<Local, Bits<32>>; N],
    end_from_begin: [Signal<Local, Bits<32>>; N],
    to_finish: [Signal<Local, Bits<32>>; N],
    end_to_finish: [Signal<Local, Bits<32>>; N],
    from_front: Signal<Local, Bits<32>>,
    end_from_front: Signal<Local, Bits<32>>,
    to_front_end: Signal<Local, Bits<32>>,
    end_to_front_end: Signal<Local, Bits<32>>,
    before: [Signal<Local, Bit>; N],
    short: [Signal<Local, Bit>; N],
    behind: [Signal<Local, Bit>; N],
    over: [Signal<Local, Bit>; N],
    // the same for the beat in stage 3, taken as an island
    before_front: Signal<Local, Bit>,
    short_front: Signal<Local, Bit>,
    behind_front: Signal<Local, Bit>,
    over_front: Signal<Local, Bit>,
    // for the beat in stage 2: begin and finish of each island, and the comparisons with them
    begins_near: Shift<Bits<32>, N>,
    finishes_near: Shift<Bits<32>, N>,
    befores: Shift<Bit, N>,
    shorts: Shift<Bit, N>,
    behinds: Shift<Bit, N>,
    overs: Shift<Bit, N>,
    // for the beat in stage 1
    begins_far: Shift<Bits<32>, N>,
    finishes_far: Shift<Bits<32>, N>,
    // a cycle later, for the memories
    begins_then: Shift<Bits<32>, N>,
    finishes_then: Shift<Bits<32>, N>,
    settles: Signal<Local, Bit>,
    #[constant(1)]
    one: Constant<Bits<32>>,
    #[constant(|i| i)]
    index: [Constant<Bits<4>>; S],
    #[constant(K)]
    octets_of_beat: Constant<Bits<32>>,
    #[constant(K)]
    octets_of_beat_8: Constant<Bits<8>>,
    #[constant(USER_FIN)]
    user_fin: Constant<Bits<8>>,
    #[constant(USER_ABORT)]
    user_abort: Constant<Bits<8>>,
    #[constant(config.ring_octets)]
    ring_octets: Constant<Bits<32>>,
}

impl<const W: usize, const K: usize, const S: usize, const N: usize> Admit<W, K, S, N> {
    /// Admission for the rings of `config`.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        assert!(W == 8 * K && K.is_power_of_two() && (1..=16).contains(&S) && N > 0);
        Self::assemble(config)
    }
}

impl<const W: usize, const K: usize, const S: usize, const N: usize> Logic for Admit<W, K, S, N> {
    #[hdl_gen]
    fn update(&mut self) {
        for i in 0..S {
            for k in 0..N {
                self.present_then[i][k].d.next = self.present_of[i][k].q.val();
            }
            self.limit_of[i].d.next = self.tail[i].val() + self.ring_octets.val();
            self.edge_out[i].d.next = self.edge_of[i].q.val() + self.start_of[i].q.val();
            self.limit_out[i].d.next = self.limit_of[i].q.val() + self.start_of[i].q.val();
            self.edge_sequence[i].next = self.edge_out[i].q.val();
            self.limit_sequence[i].next = self.limit_out[i].q.val();
        }

        comment!("stage 0: the input beat; the beat behind a last one is a first one");
        self.valid_0.d.next = self.tvalid.val();
        self.data_0.d.next = self.tdata.val();
        self.keep_0.d.next = self.tkeep.val();
        self.last_0.d.next = self.tlast.val();
        self.stream_0.d.next = self.tdest.val();
        self.sequence_0.d.next = self.tuser.val().get_bits::<32>(0);
        self.fin.d.next = self.tuser.val().get_bit(self.user_fin.val().index());
        self.abort.d.next = self.tuser.val().get_bit(self.user_abort.val().index());
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
        self.third_1.d.next = self.valid_3.q.val()
            & self.armed_3.q.val()
            & (self.stream_0.q.val() == self.stream_3.q.val());
        self.far_1.d.next = self.valid_2.q.val()
            & self.armed_2.q.val()
            & (self.stream_0.q.val() == self.stream_2.q.val());
        self.sequence_1.d.next = self.sequence_0.q.val();
        self.armed_1.d.next = false;
        for i in 0..S {
            if (self.stream_0.q.val().get_bits::<4>(0) == self.index[i].val())
                & !self.stream_0.q.val().get_bits::<4>(4).any()
            {
                self.start_1.d.next = self.start_of[i].q.val();
                self.armed_1.d.next = self.armed_of[i].q.val();
            }
        }

        comment!("stage 3: decide");
        self.decide.valid.next = self.valid_3.q.val();
        self.decide.armed.next = self.armed_3.q.val();
        self.decide.may.next = self.may_3.q.val();
        self.decide.gap.next = self.gap_3.q.val();
        self.decide.past_edge.next = self.new_3.q.val();
        self.decide.position.next = self.position_3.q.val();
        self.decide.end_position.next = self.end_3.q.val();
        self.decide.count.next = self.count_3.q.val();
        self.decide.edge_before.next = self.edge_3.q.val();
        for k in 0..N {
            self.decide.present[k].next = self.present_3[k].q.val();
            self.decide.begin[k].next = self.begin_3[k].q.val();
            self.decide.finish[k].next = self.finish_3[k].q.val();
            self.decide.before[k].next = self.before_3[k].q.val();
            self.decide.short[k].next = self.short_3[k].q.val();
            self.decide.behind[k].next = self.behind_3[k].q.val();
            self.decide.over[k].next = self.over_3[k].q.val();
        }

        comment!(
            "begin and finish once more, a cycle later: the memories are not on the critical loop"
        );
        self.begins_then.own.next = self.position_4.q.val();
        self.finishes_then.own.next = self.end_4.q.val();
        self.begins_then.beyond.next = self.position_4.q.val();
        self.finishes_then.beyond.next = self.end_4.q.val();
        for k in 0..N {
            self.begins_then.high[k].next = self.begin_high_4[k].q.val();
            self.begins_then.low[k].next = self.begin_low_4[k].q.val();
            self.begins_then.stay[k].next = self.begin_4[k].q.val();
            self.begins_then.items[k].next = self.begin_4[k].q.val();
            self.finishes_then.high[k].next = self.finish_high_4[k].q.val();
            self.finishes_then.low[k].next = self.finish_low_4[k].q.val();
            self.finishes_then.stay[k].next = self.finish_4[k].q.val();
            self.finishes_then.items[k].next = self.finish_4[k].q.val();
        }

        comment!(
            "stage 2: stream position of lane 0, and the end: sequence - start + count in one carry chain; state of the stream"
        );
        self.valid_2.d.next = self.valid_1.q.val();
        self.first_2.d.next = self.first_1.q.val();
        self.last_2.d.next = self.last_1.q.val();
        self.data_2.d.next = self.data_1.q.val();
        self.count_2.d.next = self.count_1.q.val();
        self.stream_2.d.next = self.stream_1.q.val();
        self.armed_2.d.next = self.armed_1.q.val();
        self.near_2.d.next = self.valid_2.q.val()
            & self.armed_2.q.val()
            & (self.stream_1.q.val() == self.stream_2.q.val());
        self.count_wide.next = bit_cast::<32, 8>(self.count_1.q.val());
        self.start_less.next = !self.start_1.q.val();
        self.sum.next = self.position_2.q.val();
        self.carries.next = bit_cast::<32, 8>(self.count_1.q.val() + self.octets_of_beat_8.val());
        if self.first_1.q.val() {
            self.sum.next = self.sequence_1.q.val() ^ self.start_less.val() ^ self.count_wide.val();
            self.carries.next = (((self.sequence_1.q.val() & self.start_less.val())
                | (self.sequence_1.q.val() & self.count_wide.val())
                | (self.start_less.val() & self.count_wide.val()))
                << 1)
                | self.one.val();
        }
        if self.valid_1.q.val() {
            self.position_2.d.next = self.position_2.q.val() + self.octets_of_beat.val();
            self.end_2.d.next = self.sum.val() + self.carries.val();
            if self.first_1.q.val() {
                self.position_2.d.next = self.sequence_1.q.val() - self.start_1.q.val();
            }
        }
        self.settles.next = self.valid_3.q.val() & self.armed_3.q.val();
        for k in 0..N {
            self.begins[k].write.next = self.settles_4.q.val();
            self.finishes[k].write.next = self.settles_4.q.val();
            self.begins[k].write_row.next = self.stream_4.q.val().get_bits::<4>(0);
            self.finishes[k].write_row.next = self.stream_4.q.val().get_bits::<4>(0);
            self.begins[k].data.next = self.begins_then.out[k].val();
            self.finishes[k].data.next = self.finishes_then.out[k].val();
            self.begins[k].read_row.next = self.stream_1.q.val().get_bits::<4>(0);
            self.finishes[k].read_row.next = self.stream_1.q.val().get_bits::<4>(0);
            self.present_2[k].d.next = false;
        }
        for i in 0..S {
            if self.stream_1.q.val().get_bits::<4>(0) == self.index[i].val() {
                self.edge_2.d.next = self.edge_of[i].q.val();
                self.limit_2.d.next = self.limit_of[i].q.val();
                for k in 0..N {
                    self.present_2[k].d.next = self.present_of[i][k].q.val();
                }
            }
        }
        comment!(
            "results not written to the memories yet: of the beat two ahead, or of the one before that"
        );
        self.begins_far.own.next = self.position_3.q.val();
        self.finishes_far.own.next = self.end_3.q.val();
        self.begins_far.beyond.next = self.position_3.q.val();
        self.finishes_far.beyond.next = self.end_3.q.val();
        for k in 0..N {
            self.begins_far.high[k].next = self.may_far_3.q.val() & self.decide.begin_high[k].val();
            self.begins_far.low[k].next = self.may_far_3.q.val() & self.decide.begin_low[k].val();
            self.begins_far.items[k].next = self.begin_3[k].q.val();
            self.finishes_far.high[k].next =
                self.may_far_3.q.val() & self.decide.finish_high[k].val();
            self.finishes_far.low[k].next =
                self.may_far_3.q.val() & self.decide.finish_low[k].val();
            self.finishes_far.items[k].next = self.finish_3[k].q.val();
            self.begins_far.stay[k].next = self.begins[k].out.val();
            self.finishes_far.stay[k].next = self.finishes[k].out.val();
            if self.third_1.q.val() {
                self.begins_far.stay[k].next = self.begins_then.out[k].val();
                self.finishes_far.stay[k].next = self.finishes_then.out[k].val();
            }
            if self.far_1.q.val() {
                self.begins_far.stay[k].next = self.begin_3[k].q.val();
                self.finishes_far.stay[k].next = self.finish_3[k].q.val();
            }
            self.begin_2[k].d.next = self.begins_far.out[k].val();
            self.finish_2[k].d.next = self.finishes_far.out[k].val();
        }
        if self.far_1.q.val() {
            self.edge_2.d.next = self.decide.edge_after.val();
            for k in 0..N {
                self.present_2[k].d.next = self.decide.present_after[k].val();
            }
        }

        comment!(
            "compare with edge, limit and islands as they were before the beat ahead, and with that beat"
        );
        self.from_edge.next = self.edge_2.q.val() - self.position_2.q.val();
        self.end_from_edge.next = self.edge_2.q.val() - self.end_2.q.val();
        self.room.next = self.limit_2.q.val() - self.end_2.q.val();
        comment!(
            "octets 2^30 or more behind are never accepted, so no comparison below has to hold for them"
        );
        self.fits.next = !self.room.val().get_bit(31) & !self.room.val().get_bit(30);
        for k in 0..N {
            self.from_begin[k].next = self.position_2.q.val() - self.begin_2[k].q.val();
            self.end_from_begin[k].next = self.end_2.q.val() - self.begin_2[k].q.val();
            self.to_finish[k].next = self.finish_2[k].q.val() - self.position_2.q.val();
            self.end_to_finish[k].next = self.finish_2[k].q.val() - self.end_2.q.val();
            self.before[k].next = self.from_begin[k].val().get_bit(31) | !self.present_2[k].q.val();
            self.short[k].next =
                self.end_from_begin[k].val().get_bit(31) | !self.present_2[k].q.val();
            self.behind[k].next = self.to_finish[k].val().get_bit(31) & self.present_2[k].q.val();
            self.over[k].next = self.end_to_finish[k].val().get_bit(31);
        }
        self.from_front.next = self.position_2.q.val() - self.position_3.q.val();
        self.end_from_front.next = self.end_2.q.val() - self.position_3.q.val();
        self.to_front_end.next = self.end_3.q.val() - self.position_2.q.val();
        self.end_to_front_end.next = self.end_3.q.val() - self.end_2.q.val();
        self.before_front.next = self.from_front.val().get_bit(31);
        self.short_front.next = self.end_from_front.val().get_bit(31);
        self.behind_front.next = self.to_front_end.val().get_bit(31);
        self.over_front.next = self.end_to_front_end.val().get_bit(31);

        comment!("into stage 3: the stored state, or the result of the beat ahead");
        self.valid_3.d.next = self.valid_2.q.val();
        self.first_3.d.next = self.first_2.q.val();
        self.last_3.d.next = self.last_2.q.val();
        self.data_3.d.next = self.data_2.q.val();
        self.count_3.d.next = self.count_2.q.val();
        self.stream_3.d.next = self.stream_2.q.val();
        self.armed_3.d.next = self.armed_2.q.val();
        self.position_3.d.next = self.position_2.q.val();
        self.end_3.d.next = self.end_2.q.val();
        self.fits_3.d.next = self.fits.val();
        self.may_3.d.next = self.valid_2.q.val()
            & self.armed_2.q.val()
            & self.count_2.q.val().any()
            & self.fits.val();
        self.may_near_3.d.next = self.valid_2.q.val()
            & self.armed_2.q.val()
            & self.count_2.q.val().any()
            & self.fits.val()
            & (self.stream_1.q.val() == self.stream_2.q.val());
        self.may_far_3.d.next = self.valid_2.q.val()
            & self.armed_2.q.val()
            & self.count_2.q.val().any()
            & self.fits.val()
            & (self.stream_0.q.val() == self.stream_2.q.val());
        self.gap_3.d.next = self.from_edge.val().get_bit(31);
        self.new_3.d.next = self.end_from_edge.val().get_bit(31);
        self.edge_3.d.next = self.edge_2.q.val();
        for k in 0..N {
            self.present_3[k].d.next = self.present_2[k].q.val();
        }
        if self.near_2.q.val() {
            self.edge_3.d.next = self.decide.edge_after.val();
            if self.decide.edge_grows.val() {
                self.gap_3.d.next = self.behind_front.val();
                self.new_3.d.next = self.over_front.val();
                if self.decide.edge_joins.val() {
                    self.gap_3.d.next = self.behind[0].val();
                    self.new_3.d.next = self.over[0].val();
                }
            }
            for k in 0..N {
                self.present_3[k].d.next = self.decide.present_after[k].val();
            }
        }
        self.begins_near.own.next = self.position_3.q.val();
        self.finishes_near.own.next = self.end_3.q.val();
        self.begins_near.beyond.next = self.position_3.q.val();
        self.finishes_near.beyond.next = self.end_3.q.val();
        self.befores.own.next = self.before_front.val();
        self.shorts.own.next = self.short_front.val();
        self.behinds.own.next = self.behind_front.val();
        self.overs.own.next = self.over_front.val();
        comment!("the last place becomes vacant when the others move down");
        self.befores.beyond.next = true;
        self.shorts.beyond.next = true;
        self.behinds.beyond.next = false;
        self.overs.beyond.next = false;
        for k in 0..N {
            self.begins_near.high[k].next =
                self.may_near_3.q.val() & self.decide.begin_high[k].val();
            self.begins_near.low[k].next = self.may_near_3.q.val() & self.decide.begin_low[k].val();
            self.begins_near.items[k].next = self.begin_3[k].q.val();
            self.begins_near.stay[k].next = self.begin_2[k].q.val();
            self.finishes_near.high[k].next =
                self.may_near_3.q.val() & self.decide.finish_high[k].val();
            self.finishes_near.low[k].next =
                self.may_near_3.q.val() & self.decide.finish_low[k].val();
            self.finishes_near.items[k].next = self.finish_3[k].q.val();
            self.finishes_near.stay[k].next = self.finish_2[k].q.val();
            if self.near_2.q.val() {
                self.begins_near.stay[k].next = self.begin_3[k].q.val();
                self.finishes_near.stay[k].next = self.finish_3[k].q.val();
            }
            self.befores.high[k].next = self.may_near_3.q.val() & self.decide.begin_high[k].val();
            self.befores.low[k].next = self.may_near_3.q.val() & self.decide.begin_low[k].val();
            self.befores.items[k].next = self.before[k].val();
            self.befores.stay[k].next = self.before[k].val();
            self.shorts.high[k].next = self.may_near_3.q.val() & self.decide.begin_high[k].val();
            self.shorts.low[k].next = self.may_near_3.q.val() & self.decide.begin_low[k].val();
            self.shorts.items[k].next = self.short[k].val();
            self.shorts.stay[k].next = self.short[k].val();
            self.behinds.high[k].next = self.may_near_3.q.val() & self.decide.finish_high[k].val();
            self.behinds.low[k].next = self.may_near_3.q.val() & self.decide.finish_low[k].val();
            self.behinds.items[k].next = self.behind[k].val();
            self.behinds.stay[k].next = self.behind[k].val();
            self.overs.high[k].next = self.may_near_3.q.val() & self.decide.finish_high[k].val();
            self.overs.low[k].next = self.may_near_3.q.val() & self.decide.finish_low[k].val();
            self.overs.items[k].next = self.over[k].val();
            self.overs.stay[k].next = self.over[k].val();
            self.begin_3[k].d.next = self.begins_near.out[k].val();
            self.finish_3[k].d.next = self.finishes_near.out[k].val();
            self.before_3[k].d.next = self.befores.out[k].val();
            self.short_3[k].d.next = self.shorts.out[k].val();
            self.behind_3[k].d.next = self.behinds.out[k].val();
            self.over_3[k].d.next = self.overs.out[k].val();
        }
        for i in 0..S {
            if self.settles.val() & (self.stream_3.q.val().get_bits::<4>(0) == self.index[i].val())
            {
                self.edge_of[i].d.next = self.decide.edge_after.val();
                for k in 0..N {
                    self.present_of[i][k].d.next = self.decide.present_after[k].val();
                }
            }
        }

        comment!("stage 4: output");
        self.valid_4.d.next = self.decide.accept.val();
        self.data_4.d.next = self.data_3.q.val();
        self.stream_4.d.next = self.stream_3.q.val();
        self.settles_4.d.next = self.settles.val();
        for k in 0..N {
            self.begin_4[k].d.next = self.begin_3[k].q.val();
            self.finish_4[k].d.next = self.finish_3[k].q.val();
            self.begin_high_4[k].d.next = self.may_3.q.val() & self.decide.begin_high[k].val();
            self.begin_low_4[k].d.next = self.may_3.q.val() & self.decide.begin_low[k].val();
            self.finish_high_4[k].d.next = self.may_3.q.val() & self.decide.finish_high[k].val();
            self.finish_low_4[k].d.next = self.may_3.q.val() & self.decide.finish_low[k].val();
        }
        self.position_4.d.next = self.position_3.q.val();
        self.skip_4.d.next = self.decide.skip.val();
        self.count_4.d.next = self.decide.upto.val();
        self.edge_4.d.next = self.decide.edge_after.val();
        self.fin_4.d.next = self.valid_3.q.val()
            & self.last_3.q.val()
            & self.fin.q.val()
            & self.armed_3.q.val()
            & self.fits_3.q.val();
        self.end_4.d.next = self.end_3.q.val();
        self.abort_4.d.next =
            self.valid_3.q.val() & self.last_3.q.val() & self.abort.q.val() & self.armed_3.q.val();
        self.segment_4.d.next = self.valid_3.q.val() & self.last_3.q.val();
        self.came_4.d.next = self.valid_3.q.val();
        self.first_4.d.next = self.first_3.q.val();
        self.drops_4.d.next = self.decide.drops.val();
        self.beyond_4.d.next = self.valid_3.q.val()
            & self.last_3.q.val()
            & self.armed_3.q.val()
            & !self.decide.edge_touched.val();
        self.beyond.next = self.beyond_4.q.val();
        self.beyond_stream.next = self.stream_4.q.val();
        self.beyond_position.next = self.position_4.q.val();
        self.beat_valid.next = self.valid_4.q.val();
        self.beat_data.next = self.data_4.q.val();
        self.beat.next.stream = self.stream_4.q.val();
        self.beat.next.position = self.position_4.q.val();
        self.beat.next.skip = self.skip_4.q.val();
        self.beat.next.count = self.count_4.q.val();
        self.beat.next.new_edge = self.edge_4.q.val();
        self.mark_fin.next = self.fin_4.q.val();
        self.mark_end.next = self.end_4.q.val();
        self.mark_abort.next = self.abort_4.q.val();

        comment!("stage 5: counters");
        self.counts.reset.next = self.reset.val();
        self.counts.came.next = self.came_4.q.val();
        self.counts.first.next = self.first_4.q.val();
        self.counts.ends.next = self.segment_4.q.val();
        self.counts.drops.next = self.drops_4.q.val();
        self.counts.accept.next = self.valid_4.q.val();
        self.counts.skip.next = self.skip_4.q.val();
        self.counts.upto.next = self.count_4.q.val();
        self.segments.next = self.counts.segments.val();
        self.segments_dropped.next = self.counts.segments_dropped.val();
        self.octets.next = self.counts.octets.val();

        comment!("the island that contains a position");
        self.lookup.write.next = self.settles_4.q.val();
        self.lookup.write_stream.next = self.stream_4.q.val().get_bits::<4>(0);
        for k in 0..N {
            self.lookup.write_begin[k].next = self.begins_then.out[k].val();
            self.lookup.write_finish[k].next = self.finishes_then.out[k].val();
        }
        for i in 0..S {
            for k in 0..N {
                self.lookup.present[i][k].next = self.present_then[i][k].q.val();
            }
        }
        self.lookup.asked_stream.next = self.asked_stream.val().get_bits::<4>(0);
        self.lookup.asked_position.next = self.asked_position.val();
        self.island.next = self.lookup.island.val();
        self.island_begin.next = self.lookup.island_begin.val();
        self.island_end.next = self.lookup.island_end.val();

        comment!("arm and close");
        for i in 0..S {
            if self.stream.val().get_bits::<4>(0) == self.index[i].val() {
                if self.arm.val() {
                    self.armed_of[i].d.next = true;
                    self.start_of[i].d.next = self.sequence_start.val();
                    self.edge_of[i].d.next = 0.into();
                    for k in 0..N {
                        self.present_of[i][k].d.next = false;
                    }
                    comment!("the tail is reset in this cycle, too, and visible in the next one");
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
            self.came_4.d.next = false;
            self.segment_4.d.next = false;
            self.fin_4.d.next = false;
            self.abort_4.d.next = false;
            self.beyond_4.d.next = false;
        }
    }
}
