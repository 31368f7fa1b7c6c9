//! Strip: checks the markers of FPDUs and removes them.
//!
//! ```text
//!            marker in lane 2:   lane 7 6 5 4 3 2 1 0        lane 7 6 5 4 3 2 1 0
//!  beat                               h g f e d M b a   ──►       - h g f e d b a   (one dword less)
//!  marker ──► FPDUPTR, low two bits masked ──► as expected?
//! ```
//!
//! A beat holds at most one marker, since markers are 512 octets apart (MPA-MRK-03). The reserved half of a marker
//! and the two low bits of FPDUPTR are ignored (MPA-FMT-14, MPA-MRK-12). The first wrong marker of an FPDU is kept
//! for the error record. The CRC covers markers, so the CRC unit gets the beats with them (MPA-CRC-13 to 15).
//!
//! Throughput: one beat a cycle. Latency: [`LATENCY`] cycle, so that the header is known early; the result for the
//! markers follows [`VERDICT`] cycles behind the last beat, which is early enough, since the CRC takes longer.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use crate::parts::lane_mask::LaneMask;
use crate::rx::mpa::fetch::FpduBeat;
use rust_hdl_core::prelude::*;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, Record, comment};
use warpline_wire::marker;

/// Cycles from a beat with markers to the beat without them.
pub const LATENCY: usize = 1;

/// Cycles from the last beat of an FPDU to the result for its markers.
pub const VERDICT: usize = LATENCY + 1;

/// Low bits of FPDUPTR that are ignored (MPA-MRK-12).
const MASKED: usize = marker::FPDUPTR_MASK.trailing_zeros() as usize;

/// Side information of a beat without markers.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct Plain {
    /// The beat is valid.
    pub valid: Bit,
    /// First beat of its FPDU.
    pub first: Bit,
    /// Last beat of its FPDU.
    pub last: Bit,
    /// Dwords in it.
    pub count: Bits<5>,
}

/// Result for the markers of an FPDU.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct MarkerVerdict {
    /// One is wrong.
    pub wrong: Bit,
    /// FPDUPTR expected in the first wrong one.
    pub expected: Bits<16>,
    /// FPDUPTR found in it.
    pub received: Bits<16>,
}

/// Strips beats of W bits, D dwords.
#[derive(Block)]
#[block()]
pub struct Strip<const W: usize, const D: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// Beats of FPDUs, from `fetch`.
    pub beat: Signal<In, FpduBeat>,
    /// Their octets, the first one in lane 0.
    pub beat_data: Signal<In, Bits<W>>,
    /// The same without markers.
    pub plain: Signal<Out, Plain>,
    /// Their octets.
    pub plain_data: Signal<Out, Bits<W>>,
    /// The result for the FPDU's markers, a cycle behind the last beat.
    pub marker_verdict: Signal<Out, MarkerVerdict>,

    // stage 1: the marker extracted, the dwords above it moved down
    below: LaneMask<W, D>,
    beat_1: Dff<FpduBeat>,
    data_1: Dff<Bits<W>>,
    pointer_1: Dff<Bits<16>>,

    // stage 2: compared
    marker_verdict_2: Dff<MarkerVerdict>,
    marker: Signal<Local, Bits<32>>,
    differs: Signal<Local, Bit>,
    shift: Signal<Local, Bits<16>>,
    #[constant(0)]
    zero: Constant<Bits<8>>,
    #[constant(8 * marker::field::FPDUPTR.start)]
    pointer_high_at: Constant<Bits<8>>,
    #[constant(8 * (marker::field::FPDUPTR.end - 1) + MASKED)]
    pointer_low_at: Constant<Bits<8>>,
    #[constant(MASKED)]
    masked: Constant<Bits<16>>,
}

impl<const W: usize, const D: usize> Default for Strip<W, D> {
    fn default() -> Self {
        assert!(W == 32 * D);
        Self::assemble()
    }
}

impl<const W: usize, const D: usize> Logic for Strip<W, D> {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("stage 1: dwords above the marker move down one lane");
        self.below.from.next = self.zero.val();
        self.below.to.next = self.beat.val().marker_lane;
        self.beat_1.d.next = self.beat.val();
        self.data_1.d.next = self.beat_data.val();
        if self.beat.val().marker {
            self.beat_1.d.next.count = self.beat.val().count - 1;
            self.data_1.d.next = (self.beat_data.val() & self.below.mask.val())
                | ((self.beat_data.val() >> 32) & !self.below.mask.val());
        }
        self.shift.next = bit_cast::<16, 8>(self.beat.val().marker_lane) << 5;
        self.marker.next = self
            .beat_data
            .val()
            .get_bits::<32>(self.shift.val().index());
        self.pointer_1.d.next = bit_cast::<16, 6>(
            self.marker
                .val()
                .get_bits::<6>(self.pointer_low_at.val().index()),
        ) << self.masked.val()
            | bit_cast::<16, 8>(
                self.marker
                    .val()
                    .get_bits::<8>(self.pointer_high_at.val().index()),
            ) << 8;
        self.plain.next.valid = self.beat_1.q.val().valid;
        self.plain.next.first = self.beat_1.q.val().first;
        self.plain.next.last = self.beat_1.q.val().last;
        self.plain.next.count = self.beat_1.q.val().count;
        self.plain_data.next = self.data_1.q.val();

        comment!("stage 2: the first wrong marker of the FPDU");
        self.differs.next = self.beat_1.q.val().marker
            & (self.pointer_1.q.val() != self.beat_1.q.val().marker_pointer);
        if self.beat_1.q.val().valid
            & (self.beat_1.q.val().first | !self.marker_verdict_2.q.val().wrong)
        {
            self.marker_verdict_2.d.next.wrong = self.differs.val();
            self.marker_verdict_2.d.next.expected = self.beat_1.q.val().marker_pointer;
            self.marker_verdict_2.d.next.received = self.pointer_1.q.val();
        }
        self.marker_verdict.next = self.marker_verdict_2.q.val();
        if self.reset.val() {
            self.beat_1.d.next.valid = false;
        }
    }
}
