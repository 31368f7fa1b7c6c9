//! Lane join: rotates source beats to where they belong, and joins them to beats of the ULPDU.
//!
//! ```text
//!                                header
//!                                 ▼ lanes 0 to header_lanes - 1
//!  source beat ─►[rotate]─┬─►[lanes of either]─┬─►[lanes of either]─► a beat of the ULPDU
//!                         │                    │     ▲
//!                         └────────────────────┴─► held: lanes 0 to keep - 1 of the next beat
//! ```
//!
//! A source beat that runs over lane K less one goes on in lane 0: rotated by the same number of lanes, its first octets end
//! one beat and its last ones begin the next. What is held is the part of a beat, or a complete one that is *closed*: it
//! leaves as it is, with a source beat that goes into its place, or alone. A header is not rotated, since a ULPDU begins in
//! lane 0: it is joined with the source beat behind it, of which nothing is held.
//!
//! Throughput: one beat a cycle, free running. Latency: [`latency`] cycles. No reset: the valid bits are those of the plan.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use crate::parts::delay::Delay;
use crate::parts::lane_mask::LaneMask;
use crate::parts::rotate::{self, Rotate};
use crate::tx::ddp::gather::source_planner::SourcePlan;
use rust_hdl_core::prelude::*;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, comment};

/// Cycles from a plan to its beat, for beats of `octets`.
#[must_use]
pub const fn latency(octets: usize) -> usize {
    rotate::latency(octets)
}

/// Beats of W bits, K octets (2^LOGK).
#[derive(Block)]
#[block()]
pub struct LaneJoin<const W: usize, const K: usize, const LOGK: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// What happens.
    pub plan: Signal<In, SourcePlan>,
    /// The source beat.
    pub data: Signal<In, Bits<W>>,
    /// Lanes by which it is rotated.
    pub amount: Signal<In, Bits<LOGK>>,
    /// Octets of the next header.
    pub header: Signal<In, Bits<144>>,
    /// They are taken.
    pub header_taken: Signal<Out, Bit>,
    /// A beat of a ULPDU.
    pub beat: Signal<Out, Bits<W>>,
    /// It is valid.
    pub beat_valid: Signal<Out, Bit>,

    rotate: Rotate<W, K, LOGK>,
    #[value(Delay::new(rotate::latency(K)))]
    side: Delay<SourcePlan>,
    kept: LaneMask<W, K>,
    headed: LaneMask<W, K>,
    held: Dff<Bits<W>>,
    header_mask: Signal<Local, Bits<144>>,
    own: Signal<Local, Bits<W>>,
    joined: Signal<Local, Bits<W>>,
    #[constant(0)]
    none: Constant<Bits<8>>,
}

impl<const W: usize, const K: usize, const LOGK: usize> Default for LaneJoin<W, K, LOGK> {
    fn default() -> Self {
        assert!(W == 8 * K && K == 1 << LOGK);
        Self::assemble()
    }
}

impl<const W: usize, const K: usize, const LOGK: usize> Logic for LaneJoin<W, K, LOGK> {
    #[hdl_gen]
    fn update(&mut self) {
        self.rotate.data.next = self.data.val();
        self.rotate.amount.next = self.amount.val();
        self.side.d.next = self.plan.val();

        self.kept.from.next = self.none.val();
        self.kept.to.next = self.side.q.val().keep;

        comment!("a header in front of the source beat; it does not reach all lanes");
        self.headed.from.next = self.none.val();
        self.headed.to.next = self.side.q.val().header_lanes;
        self.header_mask.next = bit_cast::<144, W>(self.headed.mask.val());
        self.own.next = self.rotate.out.val();
        if self.side.q.val().header {
            self.own.next = bit_cast::<W, 144>(self.header.val() & self.header_mask.val())
                | (self.rotate.out.val() & !bit_cast::<W, 144>(self.header_mask.val()));
        }
        self.header_taken.next = self.side.q.val().header;

        comment!("behind a complete beat, what is left of the source beat, or all of it");
        self.joined.next =
            (self.held.q.val() & self.kept.mask.val()) | (self.own.val() & !self.kept.mask.val());
        if self.side.q.val().take {
            self.held.d.next = self.joined.val();
            if self.side.q.val().emit {
                self.held.d.next = self.rotate.out.val();
                if self.side.q.val().closed {
                    self.held.d.next = self.own.val();
                }
            }
        }
        self.beat.next = self.joined.val();
        self.beat_valid.next = self.side.q.val().emit;
    }
}
