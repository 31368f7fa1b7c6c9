//! Marker insert: puts the marker of a beat between its dwords; the inverse of `strip`.
//!
//! ```text
//!            marker in lane 2:   lane 7 6 5 4 3 2 1 0        lane 7 6 5 4 3 2 1 0
//!  content                            h g f e d c b a   ──►       g f e d c M b a   (h comes again in the next beat)
//! ```
//!
//! A beat holds at most one marker, since markers are 512 octets apart (MPA-MRK-03). Its reserved half is zero.
//!
//! Throughput: one beat a cycle, free running. Latency: [`LATENCY`] cycle. No reset: the valid bit is that of the plan.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use crate::parts::lane_mask::LaneMask;
use crate::tx::mpa::frame::beat_planner::BeatPlan;
use rust_hdl_core::prelude::*;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, comment};
use warpline_wire::marker;

/// Cycles from content to the beat with its marker.
pub const LATENCY: usize = 1;

/// Bits of a dword.
const DWORD: usize = 8 * marker::LEN;

/// Beats of W bits, D dwords.
#[derive(Block)]
#[block()]
pub struct MarkerInsert<const W: usize, const D: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Plan of the beat.
    pub content: Signal<In, BeatPlan>,
    /// Its dwords without the marker.
    pub content_data: Signal<In, Bits<W>>,
    /// The same plan, with the beat.
    pub beat: Signal<Out, BeatPlan>,
    /// The beat, its marker included.
    pub beat_data: Signal<Out, Bits<W>>,

    below: LaneMask<W, D>,
    through: LaneMask<W, D>,
    marker: Signal<Local, Bits<32>>,
    everywhere: Signal<Local, Bits<W>>,
    content_1: Dff<BeatPlan>,
    data_1: Dff<Bits<W>>,
    #[constant(0)]
    none: Constant<Bits<8>>,
    #[constant(Bits::default())]
    no_bits: Constant<Bits<W>>,
    #[constant(DWORD)]
    dword: Constant<Bits<16>>,
    #[constant(|lane| DWORD * lane)]
    lane_at: [Constant<Bits<16>>; D],
    #[constant(8 * marker::field::FPDUPTR.start)]
    pointer_high_at: Constant<Bits<8>>,
    #[constant(8 * (marker::field::FPDUPTR.end - 1))]
    pointer_low_at: Constant<Bits<8>>,
}

impl<const W: usize, const D: usize> Default for MarkerInsert<W, D> {
    fn default() -> Self {
        assert!(W == DWORD * D);
        Self::assemble()
    }
}

impl<const W: usize, const D: usize> Logic for MarkerInsert<W, D> {
    #[hdl_gen]
    fn update(&mut self) {
        self.marker.next = (bit_cast::<32, 8>(self.content.val().marker_pointer.get_bits::<8>(8))
            << self.pointer_high_at.val())
            | (bit_cast::<32, 8>(self.content.val().marker_pointer.get_bits::<8>(0))
                << self.pointer_low_at.val());
        self.everywhere.next = self.no_bits.val();
        for i in 0..D {
            self.everywhere.next = self.everywhere.val()
                | (bit_cast::<W, 32>(self.marker.val()) << self.lane_at[i].val());
        }

        comment!("lanes below the marker stay, those above it get the dword of the lane below");
        self.below.from.next = self.none.val();
        self.below.to.next = self.content.val().marker_lane;
        self.through.from.next = self.none.val();
        self.through.to.next = self.content.val().marker_lane + 1;
        self.data_1.d.next = (self.content_data.val() & self.below.mask.val())
            | (self.everywhere.val() & self.through.mask.val() & !self.below.mask.val())
            | ((self.content_data.val() << self.dword.val()) & !self.through.mask.val());
        self.content_1.d.next = self.content.val();
        self.beat.next = self.content_1.q.val();
        self.beat_data.next = self.data_1.q.val();
    }
}
