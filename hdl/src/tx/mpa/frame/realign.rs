//! Realign: makes the content of an FPDU from the octets of its ULPDU.
//!
//! ```text
//!  octets ─►[clear behind the ULPDU]─►[two octets up, ULPDU_Length below]─► current ─┬─►[lanes of either]─►[rotate]─► content
//!                                                                          previous ─┘
//! ```
//!
//! Octets behind the ULPDU are cleared, which makes PAD and the CRC field zero (MPA-FMT-06). The content lies two octets
//! above the ULPDU, and one dword more for each marker in an earlier beat, so a beat has lanes of two beats of content.
//!
//! Throughput: one beat a cycle, free running. Latency: [`latency`] cycles from a plan to its content. Octets come in the
//! cycle in front of their plan. No reset: the valid bit is that of the plan.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use crate::parts::delay::Delay;
use crate::parts::lane_mask::LaneMask;
use crate::parts::rotate::{self, Rotate};
use crate::tx::mpa::frame::beat_planner::BeatPlan;
use rust_hdl_core::prelude::*;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, comment};
use warpline_wire::mpa;

/// Cycles from a plan to its content, for beats of `dwords`.
#[must_use]
pub const fn latency(dwords: usize) -> usize {
    // current, joined
    2 + rotate::latency(dwords)
}

/// Bits of ULPDU_Length.
const LENGTH: usize = 8 * mpa::LENGTH_LEN;

/// Beats of W bits: K octets, D dwords (2^LOGD).
#[derive(Block)]
#[block()]
pub struct Realign<const W: usize, const K: usize, const D: usize, const LOGD: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Octets of the ULPDU, the first one in lane 0, a cycle in front of their plan.
    pub data: Signal<In, Bits<W>>,
    /// What to make.
    pub plan: Signal<In, BeatPlan>,
    /// The same plan, with its content.
    pub content: Signal<Out, BeatPlan>,
    /// Dwords of the FPDU without markers in this beat.
    pub content_data: Signal<Out, Bits<W>>,

    // current: octets cleared and moved
    data_1: Dff<Bits<W>>,
    filled: LaneMask<W, K>,
    current: Dff<Bits<W>>,
    previous: Dff<Bits<W>>,
    above: Dff<Bits<16>>,
    plan_2: Dff<BeatPlan>,
    cleared: Signal<Local, Bits<W>>,
    below: Signal<Local, Bits<16>>,

    // joined: lanes of either, in the wrong order
    wrapped: LaneMask<W, D>,
    joined: Dff<Bits<W>>,
    amount: Dff<Bits<LOGD>>,
    plan_3: Dff<BeatPlan>,
    rotate: Rotate<W, D, LOGD>,
    #[value(Delay::new(rotate::latency(D)))]
    side: Delay<BeatPlan>,
    #[constant(0)]
    none: Constant<Bits<8>>,
    #[constant(0)]
    no_lanes: Constant<Bits<LOGD>>,
    #[constant(D)]
    lanes: Constant<Bits<8>>,
    #[constant(LENGTH)]
    length_bits: Constant<Bits<16>>,
    #[constant(W - LENGTH)]
    top: Constant<Bits<16>>,
}

impl<const W: usize, const K: usize, const D: usize, const LOGD: usize> Default
    for Realign<W, K, D, LOGD>
{
    fn default() -> Self {
        assert!(W == 8 * K && K == 4 * D && D == 1 << LOGD);
        Self::assemble()
    }
}

impl<const W: usize, const K: usize, const D: usize, const LOGD: usize> Logic
    for Realign<W, K, D, LOGD>
{
    #[hdl_gen]
    fn update(&mut self) {
        comment!(
            "octets behind the ULPDU are cleared; ULPDU_Length goes in front, most significant octet first"
        );
        self.data_1.d.next = self.data.val();
        self.filled.from.next = self.none.val();
        self.filled.to.next = self.plan.val().octets;
        self.cleared.next = self.data_1.q.val() & self.filled.mask.val();
        self.below.next = self.above.q.val();
        if self.plan.val().first {
            self.below.next = (self.plan.val().length >> 8) | (self.plan.val().length << 8);
        }
        if self.plan.val().valid & self.plan.val().load {
            self.previous.d.next = self.current.q.val();
            self.current.d.next = (self.cleared.val() << self.length_bits.val())
                | bit_cast::<W, 16>(self.below.val());
            self.above.d.next = bit_cast::<16, W>(self.cleared.val() >> self.top.val());
        }
        self.plan_2.d.next = self.plan.val();

        comment!(
            "the last dwords of the previous beat come in front of the first ones of the current one"
        );
        self.wrapped.from.next = self.lanes.val() - bit_cast::<8, 4>(self.plan_2.q.val().shift);
        self.wrapped.to.next = self.lanes.val();
        self.joined.d.next = (self.current.q.val() & !self.wrapped.mask.val())
            | (self.previous.q.val() & self.wrapped.mask.val());
        self.amount.d.next = self.no_lanes.val() - self.plan_2.q.val().shift.get_bits::<LOGD>(0);
        self.plan_3.d.next = self.plan_2.q.val();

        self.rotate.data.next = self.joined.q.val();
        self.rotate.amount.next = self.amount.q.val();
        self.side.d.next = self.plan_3.q.val();
        self.content.next = self.side.q.val();
        self.content_data.next = self.rotate.out.val();
    }
}
