//! Source planner: takes the source beats of the pieces, and says what becomes of each of them.
//!
//! ```text
//!  Source ──────────► now: how the next beat fills ─┬─► SourcePlan
//!  octets with it ──► shift register ─┐             ├─► take a beat of the bus
//!  beats of the bus ──────────────────┴► data       └─► verdict of the ULPDU
//! ```
//!
//! A source beat completes a beat of the ULPDU or it does not; if it runs over, what remains begins the next one. If the
//! ULPDU ends with it, the rest is a beat that is *closed* and leaves with the next source beat, of the next ULPDU, or
//! without one. A source beat that comes then and is complete by itself is closed in its place. One that stands behind a
//! header may complete a beat and run over: there is no place for what is left of it, so the closed beat leaves alone, and
//! the source beat is taken in the next cycle. Any other source beat takes one cycle, and no beat takes one for itself
//! while there are source beats.
//!
//! Throughput: one source beat a cycle, also from piece to piece, but for that. Latency: [`START`] cycles from a piece to the plan of its
//! first beat, which comes with the octets in the cycle in which they are there. A beat is taken only while there is room
//! behind this block for a beat of the ULPDU and for a verdict.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use crate::parts::queue::Queue;
use crate::records::PIECE_OCTETS;
use crate::tx::ddp::gather::measure::Source;
use rust_hdl_core::prelude::*;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, Record, comment};

/// Cycles from a piece to the plan of its first beat.
pub const START: usize = 2;

/// Pieces that are known ahead.
pub const PIECES: usize = 1 << 5;

/// Those of them that bring their octets, at most.
pub const CONTENTS: usize = 1 << 4;

/// What becomes of a source beat, and of what is held of those before it.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct SourcePlan {
    /// There is one.
    pub take: Bit,
    /// A beat of a ULPDU is complete.
    pub emit: Bit,
    /// It is what is held, and the source beat is part of the next one.
    pub closed: Bit,
    /// Lanes of it that are held.
    pub keep: Bits<8>,
    /// The source beat stands behind a header.
    pub header: Bit,
    /// Lanes of that.
    pub header_lanes: Bits<8>,
}

/// Beats of W bits, 2^LOGK octets.
#[derive(Block)]
#[block(octets: usize)]
pub struct SourcePlanner<const W: usize, const LOGK: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// A piece.
    pub source: Signal<In, Source>,
    /// It is valid.
    pub source_valid: Signal<In, Bit>,
    /// It is accepted.
    pub source_ready: Signal<Out, Bit>,
    /// Octets that come with a piece, not later than it.
    pub content: Signal<In, Bits<144>>,
    /// They are valid.
    pub content_valid: Signal<In, Bit>,
    /// They are accepted.
    pub content_ready: Signal<Out, Bit>,
    /// A beat of the bus.
    pub data: Signal<In, Bits<W>>,
    /// It is refused.
    pub refused: Signal<In, Bit>,
    /// There is one.
    pub data_valid: Signal<In, Bit>,
    /// It is taken, if it is there.
    pub data_ready: Signal<Out, Bit>,
    /// There is room for a beat behind this block.
    pub room: Signal<In, Bit>,
    /// What happens in this cycle.
    pub plan: Signal<Out, SourcePlan>,
    /// The source beat.
    pub plan_data: Signal<Out, Bits<W>>,
    /// Lanes by which it is rotated.
    pub plan_amount: Signal<Out, Bits<LOGK>>,
    /// Beats of the ULPDU were refused.
    pub failed: Signal<Out, Bit>,
    /// All of them are taken.
    pub failed_valid: Signal<Out, Bit>,
    /// There is room for a verdict.
    pub failed_ready: Signal<In, Bit>,

    sources: Queue<Source, 5>,
    contents: Queue<Bits<144>, 4>,
    // now: the piece whose beats are taken, and how the next one of them fills
    active: Dff<Bit>,
    now: Dff<Source>,
    octets: Dff<Bits<144>>,
    left: Dff<Bits<14>>,
    at_last: Dff<Bit>,
    over: Dff<Bit>,
    exact: Dff<Bit>,
    fill: Dff<Bits<8>>,
    /// The next beat stands behind a header.
    headed: Dff<Bit>,
    /// And runs over.
    crowded: Dff<Bit>,
    /// A beat is complete and has not left.
    closed: Dff<Bit>,
    /// A beat of the ULPDU was refused.
    bad: Dff<Bit>,

    head: Signal<Local, Source>,
    able: Signal<Local, Bit>,
    take: Signal<Local, Bit>,
    done: Signal<Local, Bit>,
    load: Signal<Local, Bit>,
    ends: Signal<Local, Bit>,
    next_last: Signal<Local, Bit>,
    bad_now: Signal<Local, Bit>,
    #[constant(octets)]
    lanes: Constant<Bits<8>>,
    /// Octets that come with a piece lie in one beat if it is wide enough.
    #[constant(if octets < PIECE_OCTETS { 8 * octets } else { 0 })]
    beat_bits: Constant<Bits<16>>,
}

impl<const W: usize, const LOGK: usize> Default for SourcePlanner<W, LOGK> {
    fn default() -> Self {
        assert!(W == 8 << LOGK);
        Self::assemble(1 << LOGK)
    }
}

impl<const W: usize, const LOGK: usize> Logic for SourcePlanner<W, LOGK> {
    #[hdl_gen]
    fn update(&mut self) {
        self.sources.reset.next = self.reset.val();
        self.contents.reset.next = self.reset.val();
        self.sources.s_data.next = self.source.val();
        self.sources.s_valid.next = self.source_valid.val();
        self.source_ready.next = self.sources.s_ready.val();
        self.contents.s_data.next = self.content.val();
        self.contents.s_valid.next = self.content_valid.val();
        self.content_ready.next = self.contents.s_ready.val();

        comment!(
            "a beat needs room behind this block, and octets; one that runs over does not follow a closed one at once"
        );
        self.able.next = self.active.q.val()
            & self.room.val()
            & self.failed_ready.val()
            & !(self.closed.q.val() & self.crowded.q.val());
        self.data_ready.next = self.able.val() & self.now.q.val().memory;
        self.take.next = self.able.val() & (!self.now.q.val().memory | self.data_valid.val());
        self.done.next = self.take.val() & self.at_last.q.val();
        self.ends.next = self.at_last.q.val() & self.now.q.val().last;

        comment!("plan");
        self.plan.next.take = self.take.val();
        self.plan.next.emit = (self.closed.q.val() & self.room.val())
            | (self.take.val() & (self.over.q.val() | self.exact.q.val()));
        self.plan.next.closed = self.closed.q.val();
        self.plan.next.header = self.take.val() & self.headed.q.val();
        self.plan.next.header_lanes = self.fill.q.val();
        self.plan.next.keep = self.fill.q.val();
        if self.headed.q.val() {
            self.plan.next.keep = 0.into();
        }
        if self.closed.q.val() {
            self.plan.next.keep = self.lanes.val();
        }
        self.plan_amount.next = self.now.q.val().amount.get_bits::<LOGK>(0);
        self.plan_data.next = bit_cast::<W, 144>(self.octets.q.val());
        if self.now.q.val().memory {
            self.plan_data.next = self.data.val();
        }
        if self.room.val() {
            self.closed.d.next = false;
        }
        if self.take.val() {
            self.closed.d.next =
                (self.closed.q.val() & self.exact.q.val()) | (self.over.q.val() & self.ends.val());
        }

        comment!("the verdict comes with the ULPDU's last beat");
        self.bad_now.next = self.bad.q.val() | (self.now.q.val().memory & self.refused.val());
        self.failed.next = self.bad_now.val();
        self.failed_valid.next = self.take.val() & self.ends.val();
        if self.take.val() {
            self.bad.d.next = self.bad_now.val() & !self.ends.val();
        }

        comment!("the next beat");
        self.next_last.next = self.left.q.val() == 1;
        if self.take.val() {
            self.headed.d.next = false;
            self.crowded.d.next = false;
            self.left.d.next = self.left.q.val() - 1;
            self.at_last.d.next = self.next_last.val();
            self.fill.d.next = self.now.q.val().fill;
            self.over.d.next = self.now.q.val().fill.any();
            self.exact.d.next = !self.now.q.val().fill.any();
            if self.next_last.val() {
                self.over.d.next = self.now.q.val().last_over;
                self.exact.d.next = self.now.q.val().last_exact;
            }
            self.octets.d.next = self.octets.q.val() >> self.beat_bits.val();
        }
        self.load.next = self.sources.m_valid.val() & (!self.active.q.val() | self.done.val());
        self.head.next = self.sources.m_data.val();
        self.sources.m_ready.next = !self.active.q.val() | self.done.val();
        self.contents.m_ready.next = self.load.val() & !self.head.val().memory;
        if self.done.val() {
            self.active.d.next = false;
        }
        if self.load.val() {
            self.active.d.next = true;
            self.now.d.next = self.head.val();
            self.headed.d.next = self.head.val().header;
            self.crowded.d.next = self.head.val().header & self.head.val().first_over;
            self.octets.d.next = self.contents.m_data.val();
            self.left.d.next = self.head.val().rest;
            self.at_last.d.next = self.head.val().single;
            self.fill.d.next = self.head.val().fill_first;
            self.over.d.next = self.head.val().first_over;
            self.exact.d.next = self.head.val().first_exact;
        }
        if self.reset.val() {
            self.active.d.next = false;
            self.closed.d.next = false;
            self.bad.d.next = false;
        }
    }
}
