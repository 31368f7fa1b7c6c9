//! Admission: which octets of a TCP segment are new and inside the window.
//!
//! ```text
//!                 ┌ count ┐   ┌ position ┐   ┌──────── decide ────────┐
//!  s_axis_segment │ octets│──►│ seq-start│──►│ first new octet        │──► beat (position, skip, count, data)
//!                 └───────┘   └──────────┘   │ up to the next island  │──► edge, one register a stream
//!                                            │ end ≤ limit            │
//!                                            └──▲─────────────────┬───┘
//!                                               └ edge, islands ◄─┘  of the stream, forwarded
//!
//!  ring   ████████████░░░░░░░████████░░░░██████░░░░░░░░░░░░░░│
//!                     ▲      └island0┘   └isl.1┘              ▲
//!                     edge                                    limit
//! ```
//!
//! A segment is a packet of beats with its stream in `tdest` and its sequence number in `tuser`. A FIN or an abort in
//! its last beat is handed on to `ending` beside the beat, whatever becomes of its octets; a FIN beyond `limit` is not.
//! Segments may come in any order, twice, and overlap: what lies behind a gap goes into the ring at its place and is
//! remembered as an island, at most N of them a stream. When the gap is closed, the edge jumps to the end of the island
//! behind it. An octet that was accepted once is never accepted again, whatever a second copy says (AMB-40,
//! MPA-RCV-24). Dropped and counted, before anything is accepted, is a beat that does not fit the ring (`limit`) or
//! would need an island more than there are, and of a beat that covers a whole island what lies behind it: the TCP
//! engine, which is told the edge, sends it again. The beat at the edge needs no island, so that a stream always goes
//! on. The device never holds the sender: `tready` is always high.
//!
//! Who looks behind gaps is told where segments end there (`beyond`), and may ask for the island that a position lies in:
//! two cycles later it is told begin and end, as the beats up to the one at the output in the cycle of the question have
//! left it.
//!
//! Latency from a beat to what becomes of it: [`LATENCY`] cycles; what is counted follows a cycle later. A beat a cycle,
//! segments of any streams back to back.
//! The decision's loop is one 32-bit comparison, of position and end with everything at once, and the choice of what
//! happens to each island.
//!
//! Assumes that beats of different segments do not alternate, that all beats of a segment but the last are full, and
//! that a stream is armed again only when the beats of its former connection have come through.
use crate::axi::{USER_ABORT, USER_FIN};
use crate::delay::Delay;
use crate::dff::Dff;
use crate::keep_count::KeepCount;
use crate::records::Beat;
use crate::util::{array, d};
use crate::Config;
use rust_hdl_core::prelude::*;
use rust_hdl_widgets::dff_setup;

/// Cycles from a beat at the input to the same beat, or its pulses, at the output.
pub const LATENCY: usize = 5;

/// Admission for S streams of beats of W bits, K octets, with N islands each.
#[derive(LogicBlock)]
pub struct Admit<const W: usize, const K: usize, const S: usize, const N: usize> {
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
    /// Sequence number of the segment's first octet, in every beat of it; FIN and abort, in the last one.
    pub tuser: Signal<In, Bits<34>>,
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
    /// Where they belong; with a mark, its `stream` and `new_edge` are right, too.
    pub beat: Signal<Out, Beat>,
    /// Pulse: the FIN of the stream of `beat` stands at `mark_end`.
    pub mark_fin: Signal<Out, Bit>,
    /// That position.
    pub mark_end: Signal<Out, Bits<32>>,
    /// Pulse: the connection of the stream of `beat` is gone.
    pub mark_abort: Signal<Out, Bit>,
    /// Pulse: the last beat of a segment of `beyond_stream` lies behind a gap; it is at `beat` if anything of it is new.
    pub beyond: Signal<Out, Bit>,
    /// That stream.
    pub beyond_stream: Signal<Out, Bits<8>>,
    /// Position of the beat.
    pub beyond_position: Signal<Out, Bits<32>>,
    /// Stream of which an island is wanted.
    pub asked_stream: Signal<In, Bits<8>>,
    /// A position in it.
    pub asked_position: Signal<In, Bits<32>>,
    /// Two cycles later: it lies in an island.
    pub island: Signal<Out, Bit>,
    /// Begin of that island.
    pub island_begin: Signal<Out, Bits<32>>,
    /// The position behind its last octet.
    pub island_end: Signal<Out, Bits<32>>,
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
    // islands: those that are there come first, in the order of their positions; the octet at `end` is not accepted
    present_of: [[Dff<Bit>; N]; S],
    begin_of: [[Dff<Bits<32>>; N]; S],
    finish_of: [[Dff<Bits<32>>; N]; S],
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

    // stage 3: end, edge, islands and limit known: decide
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
    limit_3: Dff<Bits<32>>,
    armed_3: Dff<Bit>,
    lost: Dff<Bit>,

    // what goes beside the octets up to stage 3
    fin: Delay<Bit>,
    abort: Delay<Bit>,

    // stage 4: out
    valid_4: Dff<Bit>,
    data_4: Dff<Bits<W>>,
    stream_4: Dff<Bits<8>>,
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
    segment_5: Dff<Bit>,
    dropped_5: Dff<Bit>,
    octets_5: Dff<Bits<8>>,
    beyond_4: Dff<Bit>,

    // which island a position lies in
    asked_at: Dff<Bits<32>>,
    asked_present: [Dff<Bit>; N],
    asked_begin: [Dff<Bits<32>>; N],
    asked_finish: [Dff<Bits<32>>; N],
    found: Dff<Bit>,
    found_begin: Dff<Bits<32>>,
    found_end: Dff<Bits<32>>,
    over_begin: [Signal<Local, Bits<32>>; N],
    over_end: [Signal<Local, Bits<32>>; N],

    // the beat against the edge, and against each island
    ahead: Signal<Local, Bits<32>>,
    edge_touched: Signal<Local, Bit>,
    in_order: Signal<Local, Bits<32>>,
    room: Signal<Local, Bits<32>>,
    fits: Signal<Local, Bit>,
    from_start: [Signal<Local, Bits<32>>; N],
    past_start: [Signal<Local, Bits<32>>; N],
    to_end: [Signal<Local, Bits<32>>; N],
    past_end: [Signal<Local, Bits<32>>; N],
    above: [Signal<Local, Bit>; N],
    touched: [Signal<Local, Bit>; N],
    joined: [Signal<Local, Bit>; N],
    opens: [Signal<Local, Bit>; N],
    full: Signal<Local, Bit>,
    some_touched: Signal<Local, Bit>,
    some_joined: Signal<Local, Bit>,
    duplicate: Signal<Local, Bit>,
    rest: Signal<Local, Bit>,
    merged: Signal<Local, Bit>,
    offered: Signal<Local, Bit>,
    apart: Signal<Local, Bit>,
    refused: Signal<Local, Bit>,
    accept: Signal<Local, Bit>,
    drops: Signal<Local, Bit>,
    skip: Signal<Local, Bits<8>>,
    upto: Signal<Local, Bits<8>>,
    // what it leaves behind
    edge_after: Signal<Local, Bits<32>>,
    closed_up: [Signal<Local, Bit>; N],
    present_after: [Signal<Local, Bit>; N],
    begin_after: [Signal<Local, Bits<32>>; N],
    finish_after: [Signal<Local, Bits<32>>; N],
    none: Constant<Bits<32>>,
    index: [Constant<Bits<8>>; S],
    octets_of_beat: Constant<Bits<32>>,
    user_fin: Constant<Bits<8>>,
    user_abort: Constant<Bits<8>>,
    ring_octets: Constant<Bits<32>>,
}

impl<const W: usize, const K: usize, const S: usize, const N: usize> Admit<W, K, S, N> {
    /// Admission for the rings of `config`.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        assert!(W == 8 * K && K.is_power_of_two() && (1..=16).contains(&S) && N > 0);
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
            beat: d(),
            mark_fin: d(),
            mark_end: d(),
            mark_abort: d(),
            beyond: d(),
            beyond_stream: d(),
            beyond_position: d(),
            asked_stream: d(),
            asked_position: d(),
            island: d(),
            island_begin: d(),
            island_end: d(),
            segments: d(),
            segments_dropped: d(),
            octets: d(),
            armed_of: array(),
            start_of: array(),
            edge_of: array(),
            present_of: std::array::from_fn(|_| array()),
            begin_of: std::array::from_fn(|_| array()),
            finish_of: std::array::from_fn(|_| array()),
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
            present_3: array(),
            begin_3: array(),
            finish_3: array(),
            limit_3: d(),
            armed_3: d(),
            lost: d(),
            fin: Delay::new(LATENCY - 1),
            abort: Delay::new(LATENCY - 1),
            valid_4: d(),
            data_4: d(),
            stream_4: d(),
            position_4: d(),
            skip_4: d(),
            count_4: d(),
            edge_4: d(),
            fin_4: d(),
            end_4: d(),
            abort_4: d(),
            came_4: d(),
            first_4: d(),
            drops_4: d(),
            segment_4: d(),
            segment_5: d(),
            dropped_5: d(),
            octets_5: d(),
            beyond_4: d(),
            asked_at: d(),
            asked_present: array(),
            asked_begin: array(),
            asked_finish: array(),
            found: d(),
            found_begin: d(),
            found_end: d(),
            over_begin: array(),
            over_end: array(),
            ahead: d(),
            edge_touched: d(),
            in_order: d(),
            room: d(),
            fits: d(),
            from_start: array(),
            past_start: array(),
            to_end: array(),
            past_end: array(),
            above: array(),
            touched: array(),
            joined: array(),
            opens: array(),
            full: d(),
            some_touched: d(),
            some_joined: d(),
            duplicate: d(),
            rest: d(),
            merged: d(),
            offered: d(),
            apart: d(),
            refused: d(),
            accept: d(),
            drops: d(),
            skip: d(),
            upto: d(),
            edge_after: d(),
            closed_up: array(),
            present_after: array(),
            begin_after: array(),
            finish_after: array(),
            none: Constant::new(0_u64.into()),
            index: std::array::from_fn(|i| Constant::new((i as u64).into())),
            octets_of_beat: Constant::new((K as u64).into()),
            user_fin: Constant::new((USER_FIN as u64).into()),
            user_abort: Constant::new((USER_ABORT as u64).into()),
            ring_octets: Constant::new((config.ring_octets as u64).into()),
        }
    }
}

impl<const W: usize, const K: usize, const S: usize, const N: usize> Logic for Admit<W, K, S, N> {
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
        dff_setup!(self, clock, came_4, first_4, drops_4, segment_4, beyond_4);
        dff_setup!(self, clock, segment_5, dropped_5, octets_5);
        dff_setup!(self, clock, asked_at, found, found_begin, found_end);
        dff_setup!(self, clock, fin_4, end_4, abort_4);
        clock!(self, clock, fin, abort);
        for i in 0..S {
            self.armed_of[i].clock.next = self.clock.val();
            self.armed_of[i].d.next = self.armed_of[i].q.val();
            self.start_of[i].clock.next = self.clock.val();
            self.start_of[i].d.next = self.start_of[i].q.val();
            self.edge_of[i].clock.next = self.clock.val();
            self.edge_of[i].d.next = self.edge_of[i].q.val();
            for k in 0..N {
                self.present_of[i][k].clock.next = self.clock.val();
                self.begin_of[i][k].clock.next = self.clock.val();
                self.finish_of[i][k].clock.next = self.clock.val();
                self.present_of[i][k].d.next = self.present_of[i][k].q.val();
                self.begin_of[i][k].d.next = self.begin_of[i][k].q.val();
                self.finish_of[i][k].d.next = self.finish_of[i][k].q.val();
            }
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

        comment!("decide: where the beat lies to the edge, and to each island");
        self.ahead.next = self.edge_3.q.val() - self.position_3.q.val();
        self.edge_touched.next = !self.ahead.val().get_bit(31);
        self.in_order.next = self.edge_3.q.val() - self.end_3.q.val();
        self.room.next = self.limit_3.q.val() - self.end_3.q.val();
        self.fits.next = !self.room.val().get_bit(31);
        for k in 0..N {
            self.from_start[k].next = self.position_3.q.val() - self.begin_3[k].q.val();
            self.past_start[k].next = self.end_3.q.val() - self.begin_3[k].q.val();
            self.to_end[k].next = self.finish_3[k].q.val() - self.position_3.q.val();
            self.past_end[k].next = self.finish_3[k].q.val() - self.end_3.q.val();
            self.above[k].next = self.present_3[k].q.val() & self.from_start[k].val().get_bit(31);
        }

        comment!("the island that the beat begins in or at, the one that it runs into, the place of a new one between");
        for k in 0..N {
            self.touched[k].next = self.present_3[k].q.val()
                & !self.above[k].val()
                & !self.to_end[k].val().get_bit(31);
            self.joined[k].next = self.above[k].val() & !self.past_start[k].val().get_bit(31);
            self.opens[k].next = self.above[k].val() | !self.present_3[k].q.val();
        }
        for k in 1..N {
            if self.above[k - 1].val() {
                self.joined[k].next = false;
            }
            if self.above[k - 1].val() | !self.present_3[k - 1].q.val() {
                self.opens[k].next = false;
            }
        }
        self.full.next = false;
        self.some_touched.next = false;
        self.some_joined.next = false;
        self.duplicate.next = !self.in_order.val().get_bit(31);
        self.rest.next = false;
        self.skip.next = 0.into();
        self.upto.next = self.count_3.q.val();
        if self.edge_touched.val() {
            self.skip.next = self.ahead.val().get_bits::<8>(0);
        }
        for k in 0..N {
            self.full.next = self.present_3[k].q.val();
            if self.touched[k].val() {
                self.some_touched.next = true;
                self.skip.next = self.to_end[k].val().get_bits::<8>(0);
                if !self.past_end[k].val().get_bit(31) {
                    self.duplicate.next = true;
                }
            }
            if self.joined[k].val() {
                self.some_joined.next = true;
                self.upto.next = (self.none.val() - self.from_start[k].val()).get_bits::<8>(0);
                self.rest.next = self.past_end[k].val().get_bit(31);
            }
        }
        self.merged.next = self.edge_touched.val() | self.some_touched.val();
        self.apart.next = !self.merged.val() & !self.some_joined.val();
        self.offered.next = self.valid_3.q.val() & self.count_3.q.val().any();
        self.refused.next = !self.fits.val() | (self.apart.val() & self.full.val());
        self.accept.next =
            self.offered.val() & self.armed_3.q.val() & !self.duplicate.val() & !self.refused.val();
        self.drops.next = self.offered.val()
            & (!self.armed_3.q.val()
                | (!self.duplicate.val() & (self.refused.val() | self.rest.val())));

        comment!("what an accepted beat leaves behind: it grows the edge or an island, closes a gap, or is a new island");
        self.edge_after.next = self.edge_3.q.val();
        if self.edge_touched.val() {
            self.edge_after.next = self.end_3.q.val();
        }
        for k in 0..N {
            if self.edge_touched.val() & self.joined[k].val() {
                self.edge_after.next = self.finish_3[k].q.val();
            }
        }
        for k in 0..N {
            self.closed_up[k].next = self.joined[k].val() & self.merged.val();
        }
        for k in 1..N {
            if self.closed_up[k - 1].val() {
                self.closed_up[k].next = true;
            }
        }
        for k in 0..N {
            self.present_after[k].next = self.present_3[k].q.val();
            self.begin_after[k].next = self.begin_3[k].q.val();
            self.finish_after[k].next = self.finish_3[k].q.val();
            if self.touched[k].val() & !self.some_joined.val() {
                self.finish_after[k].next = self.end_3.q.val();
            }
            if self.joined[k].val() {
                self.begin_after[k].next = self.position_3.q.val();
            }
        }
        for k in 1..N {
            if self.apart.val() & self.above[k - 1].val() {
                self.present_after[k].next = self.present_3[k - 1].q.val();
                self.begin_after[k].next = self.begin_3[k - 1].q.val();
                self.finish_after[k].next = self.finish_3[k - 1].q.val();
            }
        }
        for k in 0..N {
            if self.apart.val() & self.opens[k].val() {
                self.present_after[k].next = true;
                self.begin_after[k].next = self.position_3.q.val();
                self.finish_after[k].next = self.end_3.q.val();
            }
            if self.closed_up[k].val() {
                self.present_after[k].next = false;
            }
        }
        for k in 0..(N - 1) {
            if self.touched[k].val() & self.joined[k + 1].val() {
                self.finish_after[k].next = self.finish_3[k + 1].q.val();
            }
            if self.closed_up[k].val() {
                self.present_after[k].next = self.present_3[k + 1].q.val();
                self.begin_after[k].next = self.begin_3[k + 1].q.val();
                self.finish_after[k].next = self.finish_3[k + 1].q.val();
            }
        }

        comment!(
            "stage 3: end of the beat; edge and islands from their registers, or from the beat in front"
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
        for k in 0..N {
            self.present_3[k].clock.next = self.clock.val();
            self.begin_3[k].clock.next = self.clock.val();
            self.finish_3[k].clock.next = self.clock.val();
            self.present_3[k].d.next = self.present_3[k].q.val();
            self.begin_3[k].d.next = self.begin_3[k].q.val();
            self.finish_3[k].d.next = self.finish_3[k].q.val();
        }
        for i in 0..S {
            if self.stream_2.q.val() == self.index[i].val() {
                self.edge_3.d.next = self.edge_of[i].q.val();
                self.limit_3.d.next = self.limit_of[i].q.val();
                for k in 0..N {
                    self.present_3[k].d.next = self.present_of[i][k].q.val();
                    self.begin_3[k].d.next = self.begin_of[i][k].q.val();
                    self.finish_3[k].d.next = self.finish_of[i][k].q.val();
                }
            }
        }
        if self.accept.val() & (self.stream_3.q.val() == self.stream_2.q.val()) {
            self.edge_3.d.next = self.edge_after.val();
            for k in 0..N {
                self.present_3[k].d.next = self.present_after[k].val();
                self.begin_3[k].d.next = self.begin_after[k].val();
                self.finish_3[k].d.next = self.finish_after[k].val();
            }
        }
        for i in 0..S {
            if self.accept.val() & (self.stream_3.q.val() == self.index[i].val()) {
                self.edge_of[i].d.next = self.edge_after.val();
                for k in 0..N {
                    self.present_of[i][k].d.next = self.present_after[k].val();
                    self.begin_of[i][k].d.next = self.begin_after[k].val();
                    self.finish_of[i][k].d.next = self.finish_after[k].val();
                }
            }
        }

        comment!("stage 4: out");
        self.valid_4.d.next = self.accept.val();
        self.data_4.d.next = self.data_3.q.val();
        self.stream_4.d.next = self.stream_3.q.val();
        self.position_4.d.next = self.position_3.q.val();
        self.skip_4.d.next = self.skip.val();
        self.count_4.d.next = self.upto.val();
        self.edge_4.d.next = self.edge_3.q.val();
        if self.accept.val() {
            self.edge_4.d.next = self.edge_after.val();
        }
        self.fin_4.d.next = self.valid_3.q.val()
            & self.last_3.q.val()
            & self.fin.q.val()
            & self.armed_3.q.val()
            & self.fits.val();
        self.end_4.d.next = self.end_3.q.val();
        self.abort_4.d.next =
            self.valid_3.q.val() & self.last_3.q.val() & self.abort.q.val() & self.armed_3.q.val();
        self.segment_4.d.next = self.valid_3.q.val() & self.last_3.q.val();
        self.came_4.d.next = self.valid_3.q.val();
        self.first_4.d.next = self.first_3.q.val();
        self.drops_4.d.next = self.drops.val();
        self.beyond_4.d.next = self.valid_3.q.val()
            & self.last_3.q.val()
            & self.armed_3.q.val()
            & !self.edge_touched.val();
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

        comment!("stage 5: what is counted");
        if self.came_4.q.val() {
            self.lost.d.next = self.drops_4.q.val() | (self.lost.q.val() & !self.first_4.q.val());
        }
        self.segment_5.d.next = self.segment_4.q.val();
        self.dropped_5.d.next = self.segment_4.q.val()
            & (self.drops_4.q.val() | (self.lost.q.val() & !self.first_4.q.val()));
        self.octets_5.d.next = 0.into();
        if self.valid_4.q.val() {
            self.octets_5.d.next = self.count_4.q.val() - self.skip_4.q.val();
        }
        self.segments.next = self.segment_5.q.val();
        self.segments_dropped.next = self.dropped_5.q.val();
        self.octets.next = self.octets_5.q.val();

        comment!("the island that a position lies in");
        self.asked_at.d.next = self.asked_position.val();
        for k in 0..N {
            self.asked_present[k].clock.next = self.clock.val();
            self.asked_begin[k].clock.next = self.clock.val();
            self.asked_finish[k].clock.next = self.clock.val();
            self.asked_present[k].d.next = false;
            self.asked_begin[k].d.next = self.asked_begin[k].q.val();
            self.asked_finish[k].d.next = self.asked_finish[k].q.val();
        }
        for i in 0..S {
            if self.asked_stream.val() == self.index[i].val() {
                for k in 0..N {
                    self.asked_present[k].d.next = self.present_of[i][k].q.val();
                    self.asked_begin[k].d.next = self.begin_of[i][k].q.val();
                    self.asked_finish[k].d.next = self.finish_of[i][k].q.val();
                }
            }
        }
        self.found.d.next = false;
        for k in 0..N {
            self.over_begin[k].next = self.asked_at.q.val() - self.asked_begin[k].q.val();
            self.over_end[k].next = self.asked_at.q.val() - self.asked_finish[k].q.val();
            if self.asked_present[k].q.val()
                & !self.over_begin[k].val().get_bit(31)
                & self.over_end[k].val().get_bit(31)
            {
                self.found.d.next = true;
                self.found_begin.d.next = self.asked_begin[k].q.val();
                self.found_end.d.next = self.asked_finish[k].q.val();
            }
        }
        self.island.next = self.found.q.val();
        self.island_begin.next = self.found_begin.q.val();
        self.island_end.next = self.found_end.q.val();

        comment!("a stream comes and goes");
        for i in 0..S {
            if self.stream.val() == self.index[i].val() {
                if self.arm.val() {
                    self.armed_of[i].d.next = true;
                    self.start_of[i].d.next = self.sequence_start.val();
                    self.edge_of[i].d.next = 0.into();
                    for k in 0..N {
                        self.present_of[i][k].d.next = false;
                    }
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
            self.came_4.d.next = false;
            self.segment_4.d.next = false;
            self.segment_5.d.next = false;
            self.fin_4.d.next = false;
            self.abort_4.d.next = false;
            self.dropped_5.d.next = false;
            self.octets_5.d.next = 0.into();
            self.beyond_4.d.next = false;
        }
    }
}
