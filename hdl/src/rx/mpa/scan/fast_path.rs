//! FastPath: measures an FPDU that begins with a beat while that beat is on its way into the ring.
//!
//! ```text
//!  beat ─► first new octet ─► where its chain continues? ─► lane ─┐
//!            └─► octets up to the edge ───────────────────────────┼─► dwords; whole, or how far from it?
//!  landing octets (first two of each dword) ─► ULPDU_Length ──────┘
//! ```
//!
//! A visit takes 12 cycles and those in which its rows land; an FPDU that arrives alone would spend them idle. If all
//! FPDUs in front of it have been found already, its ULPDU_Length need not be read back from the ring, since it
//! passes by on its way in. FastPath reports only what a visit would report, earlier; if the result cannot be used,
//! it is dropped, and the visit takes place.
//!
//! It reports no FPDU whose ULPDU_Length (or dword of it) is cut by the beat, none of [`MOST`] octets or more, and
//! none behind which more octets have landed: a visit finds those, one a cycle. The octets of the next beat count,
//! too: they have landed when the FPDU is issued.
//!
//! Latency from landing to `fpdu`: 2 cycles. Throughput: one beat a cycle.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use crate::parts::delay::Delay;
use crate::records::RingBeat;
use rust_hdl_core::prelude::*;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, Record, comment};

/// From this ULPDU_Length on, an FPDU reaches [`FAR`](super::lengths::FAR) rows at all widths. That ends its visit, and its
/// length is known long before it is whole. Below, two markers may lie inside at most.
pub const MOST: u64 = 1015;
/// Octets of ULPDU_Length from where one marker lies inside to where two do.
const APART: u64 = 508;

/// An FPDU that begins with a beat.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct FastFpdu {
    /// Its stream. It begins where the stream's chain continues.
    pub stream: Bits<8>,
    /// Dwords on the wire, markers included.
    pub dwords: Bits<16>,
    /// ULPDU_Length.
    pub ulpdu: Bits<16>,
    /// Its last octet is the last one received.
    pub whole: Bit,
}

/// A beat in which an FPDU begins.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
struct BegunFpdu {
    /// There is one.
    valid: Bit,
    /// Its stream.
    stream: Bits<8>,
    /// The stream carries markers.
    markers: Bit,
    /// The first dword is a marker.
    leading: Bit,
    /// Dword lane of the ring that holds ULPDU_Length.
    lane: Bits<8>,
    /// Dwords from a marker to the one behind ULPDU_Length's.
    behind: Bits<8>,
    /// Octets from its begin to the edge of its stream.
    have: Bits<20>,
}

/// The same when it has landed, as bounds of ULPDU_Length.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
struct LandedFpdu {
    /// Valid, and no more octets have come than a length below [`MOST`] can have.
    valid: Bit,
    /// Its stream.
    stream: Bits<8>,
    /// The stream carries markers.
    markers: Bit,
    /// The first dword is a marker.
    leading: Bit,
    /// From this length on there is a marker inside; it may be negative.
    marker_from: Bits<12>,
    /// From this one on there are two.
    markers_from: Bits<12>,
    /// The four lengths from this one on have ended with the edge; it may be negative.
    whole_from: Bits<12>,
    /// `whole_from` with a marker inside.
    whole_from_1: Bits<12>,
    /// `whole_from` with two markers inside.
    whole_from_2: Bits<12>,
}

/// For S streams and rows of H bits = 16·D, D = 2^LOGD dwords.
#[derive(Block)]
#[block(landing: usize)]
pub struct FastPath<const H: usize, const D: usize, const LOGD: usize, const S: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// From `admit`: a beat with new octets,
    pub beat_valid: Signal<In, Bit>,
    /// and their place.
    pub beat: Signal<In, RingBeat>,
    /// When that beat lands: first two octets of each dword, in the lanes of the ring.
    pub heads: Signal<In, Bits<H>>,
    /// Where the chain of each stream continues,
    pub at: [Signal<In, Bits<20>>; S],
    /// and whether it carries markers.
    pub with_markers: [Signal<In, Bit>; S],
    /// The FPDU.
    pub fpdu: Signal<Out, FastFpdu>,
    /// Pulse: it is valid.
    pub fpdu_valid: Signal<Out, Bit>,
    /// Its stream, a bit each.
    pub fpdu_of: [Signal<Out, Bit>; S],

    // a cycle behind the beat
    came: Dff<Bit>,
    stream: Dff<Bits<8>>,
    first: Dff<Bits<20>>,
    fresh: Dff<Bits<8>>,
    upto: Dff<Bits<20>>,
    goes_on: Dff<Bits<20>>,
    markers: Dff<Bit>,

    // until it lands
    #[value(Delay::new(landing - 1))]
    landing: Delay<BegunFpdu>,

    // a cycle behind that: its length, and the bounds to compare it with
    landed: Dff<LandedFpdu>,
    length: Dff<Bits<16>>,

    out_valid: Dff<Bit>,
    out: Dff<FastFpdu>,
    out_of: [Dff<Bit>; S],

    begun: Signal<Local, BegunFpdu>,
    leading: Signal<Local, Bit>,
    enough: Signal<Local, Bit>,
    edge_now: Signal<Local, Bits<20>>,
    lane_bit: Signal<Local, Bits<16>>,
    head: Signal<Local, Bits<16>>,
    have: Signal<Local, Bits<12>>,
    short: Signal<Local, Bits<12>>,
    over_marker: Signal<Local, Bits<12>>,
    over_markers: Signal<Local, Bits<12>>,
    over: Signal<Local, Bits<12>>,
    over_1: Signal<Local, Bits<12>>,
    over_2: Signal<Local, Bits<12>>,
    past: Signal<Local, Bits<12>>,
    total: Signal<Local, Bits<12>>,
    total_1: Signal<Local, Bits<12>>,
    total_2: Signal<Local, Bits<12>>,
    #[constant(|i| i)]
    index: [Constant<Bits<4>>; S],
    #[constant(MOST)]
    most: Constant<Bits<16>>,
    #[constant(511)]
    highest: Constant<Bits<12>>,
    #[constant(511 + APART)]
    highest_2: Constant<Bits<12>>,
}

impl<const H: usize, const D: usize, const LOGD: usize, const S: usize> FastPath<H, D, LOGD, S> {
    /// With `landing` cycles from a beat to its landing, at least 2.
    #[must_use]
    pub fn new(landing: usize) -> Self {
        assert!(H == 16 * D && D == 1 << LOGD && (2..=16).contains(&D));
        Self::assemble(landing)
    }
}

impl<const H: usize, const D: usize, const LOGD: usize, const S: usize> Logic
    for FastPath<H, D, LOGD, S>
{
    #[hdl_gen]
    fn update(&mut self) {
        comment!("the first new octet of the beat, and where the chain of its stream continues");
        self.came.d.next = self.beat_valid.val();
        self.stream.d.next = self.beat.val().stream;
        self.first.d.next =
            self.beat.val().position.get_bits::<20>(0) + bit_cast::<20, 8>(self.beat.val().skip);
        self.fresh.d.next = self.beat.val().count - self.beat.val().skip;
        self.upto.d.next = self.beat.val().new_edge.get_bits::<20>(0);
        for i in 0..S {
            if self.beat.val().stream.get_bits::<4>(0) == self.index[i].val() {
                self.goes_on.d.next = self.at[i].val();
                self.markers.d.next = self.with_markers[i].val();
            }
        }

        comment!("they are equal: an FPDU begins here, and all in front of it have been found");
        self.leading.next = self.markers.q.val() & !self.first.q.val().get_bits::<9>(0).any();
        self.enough.next = self.fresh.q.val() >= 4;
        self.begun.next.lane = bit_cast::<8, LOGD>(self.first.q.val().get_bits::<LOGD>(2));
        self.begun.next.behind = bit_cast::<8, 7>(self.first.q.val().get_bits::<7>(2)) + 1;
        if self.leading.val() {
            self.enough.next = self.fresh.q.val() >= 8;
            self.begun.next.lane = 1.into();
            self.begun.next.behind = 2.into();
        }
        self.edge_now.next = self.upto.q.val();
        if self.beat_valid.val() & (self.beat.val().stream == self.stream.q.val()) {
            self.edge_now.next = self.beat.val().new_edge.get_bits::<20>(0);
        }
        self.begun.next.valid =
            self.came.q.val() & self.enough.val() & (self.first.q.val() == self.goes_on.q.val());
        self.begun.next.stream = self.stream.q.val();
        self.begun.next.markers = self.markers.q.val();
        self.begun.next.leading = self.leading.val();
        self.begun.next.have = self.edge_now.val() - self.first.q.val();
        self.landing.d.next = self.begun.val();

        comment!("ULPDU_Length, as it lands");
        self.lane_bit.next = bit_cast::<16, 8>(self.landing.q.val().lane) << 4;
        self.head.next = self.heads.val().get_bits::<16>(self.lane_bit.val().index());
        self.length.d.next = (self.head.val() << 8) | (self.head.val() >> 8);
        self.landed.d.next.valid =
            self.landing.q.val().valid & !self.landing.q.val().have.get_bits::<9>(11).any();
        self.landed.d.next.stream = self.landing.q.val().stream;
        self.landed.d.next.markers = self.landing.q.val().markers;
        self.landed.d.next.leading = self.landing.q.val().leading;
        self.landed.d.next.marker_from =
            self.highest.val() - (bit_cast::<12, 8>(self.landing.q.val().behind) << 2);
        self.landed.d.next.markers_from =
            self.highest_2.val() - (bit_cast::<12, 8>(self.landing.q.val().behind) << 2);
        self.have.next = bit_cast::<12, 9>(self.landing.q.val().have.get_bits::<9>(2)) << 2;
        self.landed.d.next.whole_from = self.have.val() - 9;
        self.landed.d.next.whole_from_1 = self.have.val() - 13;
        self.landed.d.next.whole_from_2 = self.have.val() - 17;
        if self.landing.q.val().leading {
            self.landed.d.next.whole_from = self.have.val() - 13;
            self.landed.d.next.whole_from_1 = self.have.val() - 17;
            self.landed.d.next.whole_from_2 = self.have.val() - 21;
        }

        comment!(
            "dwords are (ULPDU_Length + 9) / 4 and one for each marker, as in `lengths`; all sums in parallel"
        );
        self.short.next = self.length.q.val().get_bits::<12>(0);
        self.over_marker.next = self.short.val() - self.landed.q.val().marker_from;
        self.over_markers.next = self.short.val() - self.landed.q.val().markers_from;
        self.over.next = self.short.val() - self.landed.q.val().whole_from;
        self.over_1.next = self.short.val() - self.landed.q.val().whole_from_1;
        self.over_2.next = self.short.val() - self.landed.q.val().whole_from_2;
        self.total.next = self.short.val() + 9;
        self.total_1.next = self.short.val() + 13;
        self.total_2.next = self.short.val() + 17;
        if self.landed.q.val().leading {
            self.total.next = self.short.val() + 13;
            self.total_1.next = self.short.val() + 17;
            self.total_2.next = self.short.val() + 21;
        }
        self.past.next = self.over.val();
        self.out.d.next.dwords = bit_cast::<16, 12>(self.total.val()) >> 2;
        if self.landed.q.val().markers & !self.over_marker.val().get_bit(11) {
            self.past.next = self.over_1.val();
            self.out.d.next.dwords = bit_cast::<16, 12>(self.total_1.val()) >> 2;
        }
        if self.landed.q.val().markers & !self.over_markers.val().get_bit(11) {
            self.past.next = self.over_2.val();
            self.out.d.next.dwords = bit_cast::<16, 12>(self.total_2.val()) >> 2;
        }
        self.out.d.next.stream = self.landed.q.val().stream;
        self.out.d.next.ulpdu = self.length.q.val();
        self.out.d.next.whole = !(self.past.val() >> 2).any();
        self.out_valid.d.next = self.landed.q.val().valid
            & (self.length.q.val() < self.most.val())
            & !self.past.val().get_bit(11);
        self.fpdu.next = self.out.q.val();
        self.fpdu_valid.next = self.out_valid.q.val();
        for i in 0..S {
            self.out_of[i].d.next =
                self.landed.q.val().stream.get_bits::<4>(0) == self.index[i].val();
            self.fpdu_of[i].next = self.out_of[i].q.val();
        }
        if self.reset.val() {
            self.came.d.next = false;
        }
    }
}
