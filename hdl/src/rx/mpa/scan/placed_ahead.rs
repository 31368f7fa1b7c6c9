//! PlacedAhead: which FPDUs of each stream were placed while octets in front of them were missing.
//!
//! ```text
//!          at         from      good_from            good_to   to
//!  ────────┴── gap ───┴───────────┴──────────────────┴─────────┴──►
//!                     └ under way ┘└─ placed ────────┘└ u. way ┘
//!
//!  verdict, ask, record ──► read a stream's row ─► compare ─► write it ─┐  an op at a time, 3 cycles each
//!                            ▲ Store ◄──────────────────────────────────┘
//!  a visit of the chain ───► read ─► snapshot ─► position of the chain      an FPDU a cycle
//! ```
//!
//! Each stream has N intervals. The FPDUs in an interval follow each other without a gap: those from `from` to `to`
//! have been issued, those from `good_from` to `good_to` have also been accepted. An FPDU is recorded before it is
//! issued, so none is issued twice; it counts as placed with the verdict of `check`. Verdicts arrive in the order of
//! issue. An FPDU that was not accepted stays recorded and never counts as placed, nor does one that would join it
//! (MPA-RCV-07).
//!
//! The chain of lengths in order enters an interval when it arrives exactly at `good_from`: all FPDUs from there to
//! `good_to` are placed. It follows the lengths itself; that both agree is needed for efficiency only. A chain that
//! passes `good_from` in another way shows that a marker was wrong, and the interval is dropped: its FPDUs are placed
//! once more, in order, and `strip` finds the wrong marker (MPA-ERR-07).
//!
//! A visit of the chain uses the row as it was when the visit began. Octets placed by then stay placed, whatever
//! happens to the interval meanwhile; octets placed later are placed again in order.
//!
//! Intervals are brought up to date with their stream's position when they are read, at the latest when the next
//! visit begins. A visit moves the position by at most one ring, so positions of 20 bits do not wrap in between.
//!
//! Latency: `answered` follows `ask` by two cycles if no other op is under way, and by three more for each verdict in
//! front of it. A verdict stays in a register for at least a cycle, so that the queue's memory is not in the path
//! that selects its row.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use crate::parts::queue::{Queue, Store};
use rust_hdl_core::prelude::*;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, Record, comment};

/// Verdict of `check` about an FPDU.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct AheadVerdict {
    /// Its stream.
    pub stream: Bits<4>,
    /// Position at which it begins.
    pub at: Bits<20>,
    /// It is placed.
    pub accepted: Bit,
}

/// An operation on a row.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct RowOperation {
    /// A verdict. With neither this bit nor `record` it is a lookup.
    pub answer: Bit,
    /// An FPDU is recorded.
    pub record: Bit,
    /// The FPDU was accepted.
    pub accepted: Bit,
    /// Its stream has been closed meanwhile.
    pub closed: Bit,
    /// Its stream.
    pub stream: Bits<4>,
    /// Position at which the FPDU begins.
    pub at: Bits<20>,
    /// Position behind the FPDU.
    pub behind: Bits<20>,
    /// Position of the chain in order.
    pub reached: Bits<20>,
    /// Intervals, a bit each, in which the chain arrived there.
    pub chain: Bits<4>,
}

/// N intervals of each of S streams.
#[derive(Block)]
#[block()]
pub struct PlacedAhead<const S: usize, const N: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// Pulse: `owner_stream` is closed or armed again.
    pub owner_changes: Signal<In, Bit>,
    /// That stream.
    pub owner_stream: Signal<In, Bits<8>>,
    /// Position of each stream's chain of lengths in order,
    pub at: [Signal<In, Bits<20>>; S],
    /// and the intervals in which it arrived there.
    pub chain: [Signal<In, Bits<4>>; S],

    /// Lookup of `asked_at`, until `answered`.
    pub ask: Signal<In, Bit>,
    /// Records the FPDU from there to `asked_behind`, until `answered`.
    pub record: Signal<In, Bit>,
    /// It is whole; a cycle behind `record`.
    pub record_whole: Signal<In, Bit>,
    /// Stream of both; stable from the cycle before them on.
    pub asked: Signal<In, Bits<8>>,
    /// A position.
    pub asked_at: Signal<In, Bits<20>>,
    /// End of the FPDU that begins there.
    pub asked_behind: Signal<In, Bits<20>>,
    /// Pulse: the following is the result.
    pub answered: Signal<Out, Bit>,
    /// The position lies in an interval.
    pub in_interval: Signal<Out, Bit>,
    /// End of that interval.
    pub interval_end: Signal<Out, Bits<20>>,
    /// All octets up to there are placed.
    pub interval_placed: Signal<Out, Bit>,
    /// There is room to record the FPDU.
    pub room: Signal<Out, Bit>,
    /// Pulse: the FPDU recorded last is issued. Not while `may_issue` is low.
    pub given: Signal<In, Bit>,
    /// One more FPDU can be under way.
    pub may_issue: Signal<Out, Bit>,

    /// Pulse: the verdict about the oldest FPDU under way.
    pub done: Signal<In, Bit>,
    /// Its stream.
    pub done_stream: Signal<In, Bits<8>>,
    /// Where it begins.
    pub done_at: Signal<In, Bits<20>>,
    /// It is placed.
    pub accepted: Signal<In, Bit>,
    /// Pulse: an acceptance is recorded.
    pub placed_pulse: Signal<Out, Bit>,
    /// Its stream.
    pub placed_stream: Signal<Out, Bits<8>>,

    /// Pulse: a visit of `visited` begins; its first item comes two cycles later at the earliest, and the last one of the
    /// visit before in the next cycle at the latest.
    pub visit: Signal<In, Bit>,
    /// Stream of the visit.
    pub visited: Signal<In, Bits<8>>,
    /// Its position.
    pub visited_at: Signal<In, Bits<20>>,
    /// Pulse: the next FPDU of the visit begins.
    pub item: Signal<In, Bit>,
    /// The visit begins with it.
    pub item_start: Signal<In, Bit>,
    /// Intervals in which that FPDU is placed.
    pub chain_now: Signal<Out, Bits<4>>,
    /// Where the last one ends.
    pub chain_at: Signal<In, Bits<20>>,
    /// Intervals in which an FPDU that begins there is placed.
    pub chain_behind: Signal<Out, Bits<4>>,

    // the intervals: issued, placed, and a second copy of the latter for the chain
    valid: [[Dff<Bit>; N]; S],
    froms: [Store<Bits<20>, 4>; N],
    tos: [Store<Bits<20>, 4>; N],
    good_froms: [Store<Bits<20>, 4>; N],
    good_tos: [Store<Bits<20>, 4>; N],
    chain_froms: [Store<Bits<20>, 4>; N],
    chain_tos: [Store<Bits<20>, 4>; N],
    in_flight: Queue<Bits<20>, 4>,
    given_now: Dff<Bit>,
    given_behind: Dff<Bits<20>>,
    answers: Queue<AheadVerdict, 4>,

    // the next verdict, and the end of its FPDU
    head_valid: Dff<Bit>,
    head: Dff<AheadVerdict>,
    /// Its stream.
    head_is: [Dff<Bit>; S],
    /// The stream of a lookup, registered.
    asked_is: [Dff<Bit>; S],
    here: [Signal<Local, Bit>; S],
    head_behind: Dff<Bits<20>>,

    // an op: the row read,
    rests: Dff<Bit>,
    compares: Dff<Bit>,
    op: Dff<RowOperation>,
    valid_here: [Dff<Bit>; N],
    from: [Dff<Bits<20>>; N],
    to: [Dff<Bits<20>>; N],
    good_from: [Dff<Bits<20>>; N],
    good_to: [Dff<Bits<20>>; N],
    // compared: its intervals,
    applies: Dff<Bit>,
    free: [Dff<Bit>; N],
    takes: [Dff<Bit>; N],
    live: [Dff<Bit>; N],
    inside: [Dff<Bit>; N],
    // and for a live one its relation to the FPDU, which may begin in it, begin at its end, or end at its begin; the same for
    // the placed part
    holds: [Dff<Bit>; N],
    below: [Dff<Bit>; N],
    above: [Dff<Bit>; N],
    good_below: [Dff<Bit>; N],
    good_above: [Dff<Bit>; N],
    whole: [Dff<Bit>; N],
    late: Dff<Bit>,

    // the visit
    loads: Dff<Bit>,
    loaded: Dff<Bits<8>>,
    loaded_at: Dff<Bits<20>>,
    seen_valid: [Dff<Bit>; N],
    seen_from: [Dff<Bits<20>>; N],
    seen_to: [Dff<Bits<20>>; N],
    staged_valid: [Dff<Bit>; N],
    staged_from: [Dff<Bits<20>>; N],
    staged_to: [Dff<Bits<20>>; N],
    snapshot_valid: [Dff<Bit>; N],
    snapshot_from: [Dff<Bits<20>>; N],
    snapshot_to: [Dff<Bits<20>>; N],
    enters: Dff<Bits<4>>,
    drops: Dff<Bits<4>>,
    dropped: Dff<Bits<8>>,
    chained: Dff<Bits<4>>,

    accepts: Signal<Local, Bit>,
    stream: Signal<Local, Bits<4>>,
    next_answer: Signal<Local, Bit>,
    from_edge: [Signal<Local, Bits<20>>; N],
    to_end: [Signal<Local, Bits<20>>; N],
    over: [Signal<Local, Bits<20>>; N],
    under: [Signal<Local, Bits<20>>; N],
    entered: [Signal<Local, Bit>; N],
    lives: [Signal<Local, Bit>; N],
    from_at: Signal<Local, Bits<20>>,
    some_below: Signal<Local, Bit>,
    some_above: Signal<Local, Bit>,
    free_before: Signal<Local, Bit>,
    some_free: Signal<Local, Bit>,
    recorded: Signal<Local, Bit>,
    begun: [Signal<Local, Bit>; N],
    mine: [Signal<Local, Bit>; S],
    passes: [Signal<Local, Bit>; S],
    leaves: [Signal<Local, Bit>; S],
    accepted_now: Signal<Local, Bit>,
    joined_below: Signal<Local, Bit>,
    joined_above: Signal<Local, Bit>,
    other_to: Signal<Local, Bits<20>>,
    other_good_to: Signal<Local, Bits<20>>,
    keeps: [Signal<Local, Bit>; N],
    new_from: [Signal<Local, Bits<20>>; N],
    new_to: [Signal<Local, Bits<20>>; N],
    new_good_from: [Signal<Local, Bits<20>>; N],
    new_good_to: [Signal<Local, Bits<20>>; N],

    visit_chain: Signal<Local, Bits<4>>,
    visit_past: [Signal<Local, Bits<20>>; N],
    visit_short: [Signal<Local, Bits<20>>; N],
    visit_in: [Signal<Local, Bit>; N],
    entering: Signal<Local, Bits<4>>,
    dropping: Signal<Local, Bits<4>>,
    chain_under: [Signal<Local, Bits<20>>; N],
    chain_here: [Signal<Local, Bit>; N],
    #[constant(|i| i)]
    index: [Constant<Bits<4>>; S],
    #[constant(0)]
    nothing: Constant<Bits<4>>,
}

impl<const S: usize, const N: usize> Default for PlacedAhead<S, N> {
    fn default() -> Self {
        assert!(N <= 4, "a record holds four");
        Self::assemble()
    }
}

impl<const S: usize, const N: usize> Logic for PlacedAhead<S, N> {
    #[hdl_gen]
    fn update(&mut self) {
        self.in_flight.reset.next = self.reset.val();
        self.answers.reset.next = self.reset.val();
        for k in 0..N {
            self.snapshot_valid[k].d.next = self.staged_valid[k].q.val();
            self.snapshot_from[k].d.next = self.staged_from[k].q.val();
            self.snapshot_to[k].d.next = self.staged_to[k].q.val();
        }

        comment!("read: a verdict, or a lookup");
        self.accepts.next =
            self.rests.q.val() & (self.head_valid.q.val() | self.ask.val() | self.record.val());
        self.rests.d.next = !self.accepts.val() & !self.compares.q.val();
        self.stream.next = self.asked.val().get_bits::<4>(0);
        if self.head_valid.q.val() {
            self.stream.next = self.head.q.val().stream;
        }
        self.compares.d.next = self.accepts.val();
        self.applies.d.next = self.compares.q.val();
        self.given_now.d.next = self.given.val();
        self.given_behind.d.next = self.asked_behind.val();
        self.in_flight.s_data.next = self.given_behind.q.val();
        self.in_flight.s_valid.next = self.given_now.q.val();
        self.may_issue.next = self.in_flight.s_ready.val() & !self.given_now.q.val();
        self.answers.s_data.next.stream = self.done_stream.val().get_bits::<4>(0);
        self.answers.s_data.next.at = self.done_at.val();
        self.answers.s_data.next.accepted = self.accepted.val();
        self.answers.s_valid.next = self.done.val();
        self.next_answer.next = self.rests.q.val() | !self.head_valid.q.val();
        self.answers.m_ready.next = self.next_answer.val();
        self.in_flight.m_ready.next = self.next_answer.val() & self.answers.m_valid.val();
        if self.next_answer.val() {
            self.head_valid.d.next = self.answers.m_valid.val();
            self.head.d.next = self.answers.m_data.val();
            self.head_behind.d.next = self.in_flight.m_data.val();
        }
        for i in 0..S {
            if self.next_answer.val() {
                self.head_is[i].d.next = self.answers.m_data.val().stream == self.index[i].val();
            }
            self.asked_is[i].d.next = self.asked.val().get_bits::<4>(0) == self.index[i].val();
            self.here[i].next = self.asked_is[i].q.val();
            if self.head_valid.q.val() {
                self.here[i].next = self.head_is[i].q.val();
            }
        }
        comment!("without a lookup the value has no effect");
        if self.rests.q.val() {
            self.op.d.next.answer = self.head_valid.q.val();
            self.op.d.next.record = self.record.val() & !self.head_valid.q.val();
            self.op.d.next.accepted = self.head.q.val().accepted;
            self.op.d.next.closed = false;
            self.op.d.next.stream = self.stream.val();
            self.op.d.next.at = self.asked_at.val();
            self.op.d.next.behind = self.asked_behind.val();
            if self.head_valid.q.val() {
                self.op.d.next.at = self.head.q.val().at;
                self.op.d.next.behind = self.head_behind.q.val();
            }
        }
        for k in 0..N {
            self.froms[k].read_row.next = self.stream.val();
            self.tos[k].read_row.next = self.stream.val();
            self.good_froms[k].read_row.next = self.stream.val();
            self.good_tos[k].read_row.next = self.stream.val();
            if self.rests.q.val() {
                self.from[k].d.next = self.froms[k].out.val();
                self.to[k].d.next = self.tos[k].out.val();
                self.good_from[k].d.next = self.good_froms[k].out.val();
                self.good_to[k].d.next = self.good_tos[k].out.val();
            }
        }
        for i in 0..S {
            if self.rests.q.val() & self.here[i].val() {
                self.op.d.next.reached = self.at[i].val();
                self.op.d.next.chain = self.chain[i].val();
                for k in 0..N {
                    self.valid_here[k].d.next = self.valid[i][k].q.val();
                }
            }
        }
        if self.owner_changes.val()
            & ((self.rests.q.val()
                & (self.owner_stream.val().get_bits::<4>(0) == self.stream.val()))
                | (!self.rests.q.val()
                    & (self.owner_stream.val().get_bits::<4>(0) == self.op.q.val().stream)))
        {
            self.op.d.next.closed = true;
        }

        comment!("compare: has the chain passed the interval, and how does it relate to the FPDU?");
        self.from_at.next = self.op.q.val().at - self.op.q.val().reached;
        self.late.d.next = self.from_at.val().get_bit(19);
        self.free_before.next = false;
        for k in 0..N {
            self.from_edge[k].next = self.good_from[k].q.val() - self.op.q.val().reached;
            self.to_end[k].next = self.op.q.val().reached - self.good_to[k].q.val();
            self.over[k].next = self.op.q.val().at - self.from[k].q.val();
            self.under[k].next = self.op.q.val().at - self.to[k].q.val();
            self.entered[k].next = self.from_edge[k].val().get_bit(19)
                & self.to_end[k].val().get_bit(19)
                & self.op.q.val().chain.get_bit(k);
            self.free[k].d.next = !self.valid_here[k].q.val();
            self.takes[k].d.next = !self.valid_here[k].q.val() & !self.free_before.val();
            if !self.valid_here[k].q.val() {
                self.free_before.next = true;
            }
            self.lives[k].next = self.valid_here[k].q.val()
                & (!self.from_edge[k].val().get_bit(19) | self.entered[k].val());
            self.live[k].d.next = self.lives[k].val();
            self.inside[k].d.next = self.entered[k].val();
            self.holds[k].d.next = self.lives[k].val()
                & !self.over[k].val().get_bit(19)
                & self.under[k].val().get_bit(19);
            self.below[k].d.next = self.lives[k].val() & (self.to[k].q.val() == self.op.q.val().at);
            self.above[k].d.next =
                self.lives[k].val() & (self.from[k].q.val() == self.op.q.val().behind);
            self.good_below[k].d.next =
                self.lives[k].val() & (self.good_to[k].q.val() == self.op.q.val().at);
            self.good_above[k].d.next = self.lives[k].val()
                & (self.good_from[k].q.val() == self.op.q.val().behind)
                & (self.good_from[k].q.val() != self.good_to[k].q.val());
            self.whole[k].d.next = self.to[k].q.val() == self.good_to[k].q.val();
        }

        comment!(
            "report: does the position lie in an interval, and where can an FPDU at it be recorded?"
        );
        self.answered.next = self.applies.q.val() & !self.op.q.val().answer;
        self.in_interval.next = false;
        self.interval_end.next = 0.into();
        self.interval_placed.next = false;
        self.some_below.next = false;
        self.some_above.next = false;
        self.some_free.next = false;
        self.joined_below.next = false;
        self.joined_above.next = false;
        self.other_to.next = 0.into();
        self.other_good_to.next = 0.into();
        for k in 0..N {
            if self.holds[k].q.val() {
                self.in_interval.next = true;
                self.interval_end.next = self.interval_end.val() | self.to[k].q.val();
                self.interval_placed.next = self.whole[k].q.val();
            }
            if self.below[k].q.val() {
                self.some_below.next = true;
            }
            if self.above[k].q.val() {
                self.some_above.next = true;
            }
            if self.free[k].q.val() {
                self.some_free.next = true;
            }
            if self.good_below[k].q.val() {
                self.joined_below.next = true;
            }
            if self.good_above[k].q.val() {
                self.joined_above.next = true;
                self.other_to.next = self.other_to.val() | self.to[k].q.val();
                self.other_good_to.next = self.other_good_to.val() | self.good_to[k].q.val();
            }
        }
        self.room.next = self.some_below.val() | self.some_above.val() | self.some_free.val();
        self.recorded.next = self.op.q.val().record & self.record_whole.val();
        self.accepted_now.next =
            self.op.q.val().answer & self.op.q.val().accepted & !self.late.q.val();
        self.placed_pulse.next =
            self.applies.q.val() & self.op.q.val().answer & self.op.q.val().accepted;
        self.placed_stream.next = bit_cast::<8, 4>(self.op.q.val().stream);

        comment!(
            "record it: above an interval, below one, or in a new one, of which nothing is placed yet. A verdict"
        );
        comment!(
            "extends the placed part of an interval, or joins two; an interval that the chain has passed is useless"
        );
        for k in 0..N {
            self.new_from[k].next = self.from[k].q.val();
            self.new_to[k].next = self.to[k].q.val();
            self.new_good_from[k].next = self.good_from[k].q.val();
            self.new_good_to[k].next = self.good_to[k].q.val();
            self.keeps[k].next = self.free[k].q.val() | self.live[k].q.val();
            if self.inside[k].q.val() {
                self.new_from[k].next = self.op.q.val().reached;
                self.new_good_from[k].next = self.op.q.val().reached;
            }
            if self.recorded.val() {
                if self.below[k].q.val() {
                    self.new_to[k].next = self.op.q.val().behind;
                }
                if !self.some_below.val() & self.above[k].q.val() {
                    self.new_from[k].next = self.op.q.val().at;
                }
            }
            comment!("the content of a free interval has no effect");
            if self.takes[k].q.val() {
                self.new_from[k].next = self.op.q.val().at;
                self.new_to[k].next = self.op.q.val().behind;
                self.new_good_from[k].next = self.op.q.val().at;
                self.new_good_to[k].next = self.op.q.val().at;
            }
            if self.accepted_now.val() {
                if self.good_below[k].q.val() {
                    self.new_good_to[k].next = self.op.q.val().behind;
                    if self.joined_above.val() {
                        self.new_good_to[k].next = self.other_good_to.val();
                        self.new_to[k].next = self.other_to.val();
                    }
                }
                if self.good_above[k].q.val() {
                    if self.joined_below.val() {
                        self.keeps[k].next = false;
                    } else {
                        self.new_good_from[k].next = self.op.q.val().at;
                    }
                }
            }
            self.froms[k].write.next = self.applies.q.val();
            self.froms[k].write_row.next = self.op.q.val().stream;
            self.froms[k].data.next = self.new_from[k].val();
            self.tos[k].write.next = self.applies.q.val();
            self.tos[k].write_row.next = self.op.q.val().stream;
            self.tos[k].data.next = self.new_to[k].val();
            self.good_froms[k].write.next = self.applies.q.val();
            self.good_froms[k].write_row.next = self.op.q.val().stream;
            self.good_froms[k].data.next = self.new_good_from[k].val();
            self.good_tos[k].write.next = self.applies.q.val();
            self.good_tos[k].write_row.next = self.op.q.val().stream;
            self.good_tos[k].data.next = self.new_good_to[k].val();
            self.chain_froms[k].write.next = self.applies.q.val();
            self.chain_froms[k].write_row.next = self.op.q.val().stream;
            self.chain_froms[k].data.next = self.new_good_from[k].val();
            self.chain_tos[k].write.next = self.applies.q.val();
            self.chain_tos[k].write_row.next = self.op.q.val().stream;
            self.chain_tos[k].data.next = self.new_good_to[k].val();
        }

        comment!(
            "a visit: the intervals of its stream when it begins, without those that the chain has passed"
        );
        self.loads.d.next = self.visit.val();
        self.loaded.d.next = self.visited.val();
        self.loaded_at.d.next = self.visited_at.val();
        self.visit_chain.next = 0.into();
        for k in 0..N {
            self.seen_valid[k].d.next = false;
            self.chain_froms[k].read_row.next = self.visited.val().get_bits::<4>(0);
            self.chain_tos[k].read_row.next = self.visited.val().get_bits::<4>(0);
            self.seen_from[k].d.next = self.chain_froms[k].out.val();
            self.seen_to[k].d.next = self.chain_tos[k].out.val();
        }
        for i in 0..S {
            if self.loaded.q.val().get_bits::<4>(0) == self.index[i].val() {
                self.visit_chain.next = self.chain[i].val();
            }
            if self.visited.val().get_bits::<4>(0) == self.index[i].val() {
                for k in 0..N {
                    self.seen_valid[k].d.next = self.valid[i][k].q.val();
                }
            }
        }
        self.entering.next = self.nothing.val();
        self.dropping.next = self.nothing.val();
        for k in 0..N {
            self.visit_past[k].next = self.seen_from[k].q.val() - self.loaded_at.q.val();
            self.visit_short[k].next = self.loaded_at.q.val() - self.seen_to[k].q.val();
            self.visit_in[k].next = self.visit_short[k].val().get_bit(19)
                & ((self.seen_from[k].q.val() == self.loaded_at.q.val())
                    | (self.visit_past[k].val().get_bit(19) & self.visit_chain.val().get_bit(k)));
            self.entering.next = self
                .entering
                .val()
                .replace_bit(k, self.seen_valid[k].q.val() & self.visit_in[k].val());
            self.dropping.next = self.dropping.val().replace_bit(
                k,
                self.seen_valid[k].q.val()
                    & self.visit_past[k].val().get_bit(19)
                    & !self.visit_in[k].val(),
            );
            if self.loads.q.val() {
                self.staged_from[k].d.next = self.seen_from[k].q.val();
                self.staged_to[k].d.next = self.seen_to[k].q.val();
                self.staged_valid[k].d.next = self.seen_valid[k].q.val();
            }
        }
        self.drops.d.next = self.nothing.val();
        self.dropped.d.next = self.loaded.q.val();
        if self.loads.q.val() {
            self.enters.d.next = self.entering.val();
            self.drops.d.next = self.dropping.val();
        }

        comment!(
            "the chain in order is in an interval if it arrives at its begin, or was in it and has not reached its end"
        );
        self.chain_behind.next = self.nothing.val();
        for k in 0..N {
            self.chain_under[k].next = self.chain_at.val() - self.snapshot_to[k].q.val();
            self.chain_here[k].next = self.snapshot_valid[k].q.val()
                & self.chain_under[k].val().get_bit(19)
                & (self.chained.q.val().get_bit(k)
                    | (self.chain_at.val() == self.snapshot_from[k].q.val()));
            self.chain_behind.next = self
                .chain_behind
                .val()
                .replace_bit(k, self.chain_here[k].val());
        }
        self.chain_now.next = self.chain_behind.val();
        if self.item_start.val() {
            self.chain_now.next = self.enters.q.val();
        }
        if self.item.val() {
            self.chained.d.next = self.chain_now.val();
        }

        comment!(
            "valid bits of intervals, as logic and not as a choice: yosys would make a clock enable of that, and it arrives late"
        );
        for k in 0..N {
            self.begun[k].next = self.recorded.val()
                & !self.op.q.val().closed
                & !self.some_below.val()
                & !self.some_above.val()
                & self.takes[k].q.val();
        }
        for i in 0..S {
            self.mine[i].next =
                self.applies.q.val() & (self.op.q.val().stream == self.index[i].val());
            self.passes[i].next = self.dropped.q.val().get_bits::<4>(0) == self.index[i].val();
            self.leaves[i].next = self.reset.val()
                | (self.owner_changes.val()
                    & (self.owner_stream.val().get_bits::<4>(0) == self.index[i].val()));
            for k in 0..N {
                self.valid[i][k].d.next = ((self.valid[i][k].q.val()
                    & !(self.mine[i].val() & !self.keeps[k].val()))
                    | (self.mine[i].val() & self.begun[k].val()))
                    & !(self.passes[i].val() & self.drops.q.val().get_bit(k))
                    & !self.leaves[i].val();
            }
        }
        if self.reset.val() {
            self.given_now.d.next = false;
            self.head_valid.d.next = false;
            self.rests.d.next = true;
            self.compares.d.next = false;
            self.applies.d.next = false;
            self.loads.d.next = false;
            self.drops.d.next = self.nothing.val();
        }
    }
}
