//! MULPDU: the largest ULPDU for a stream's EMSS and its transmit ring.
//!
//! ```text
//!  EMSS ─┬─► markers in a TCP segment ─┐
//!        └─► - 6 - EMSS mod 4 ─────────┴─► difference ─► at least 128 ─► at most what the ring holds ─► mulpdu
//! ```
//!
//! Both formulas of RFC 5044 §4.5, with the floor of MPA-SEG-04. A ring that is smaller than the largest FPDU bounds
//! MULPDU, too: otherwise such an FPDU would never have room.
//!
//! Throughput: one a cycle. Latency: [`LATENCY`] cycles. No reset.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use rust_hdl_core::prelude::*;
use warpline_sv_writer::Block;
use warpline_sv_writer::dff::Dff;
use warpline_wire::{marker, mpa};

/// Cycles from the inputs to `mulpdu`.
pub const LATENCY: usize = 4;

const _: () = assert!(
    marker::SPACING == 1 << 9 && marker::LEN == 1 << 2,
    "the kernel's shifts"
);

/// Largest ULPDU whose FPDU a ring of `ring_octets` holds at every stream position.
///
/// # Panics
/// When the ring does not hold a ULPDU of 128 octets (MPA-SEG-04).
#[must_use]
pub fn largest_ulpdu(ring_octets: usize, markers: bool) -> u16 {
    // A leading marker makes an FPDU longest: the first marker comes as early as can be.
    let fits = |length: &u16| mpa::fpdu_len(0, usize::from(*length), markers) <= ring_octets;
    let lengths = mpa::MIN_MULPDU..=mpa::MAX_ULPDU;
    let found = lengths.rev().find(fits);
    found.unwrap_or_else(|| panic!("a ring of {ring_octets} octets: choose 4 KiB or more"))
}

/// MULPDU for streams with rings of one size.
#[derive(Block)]
#[block(ring_octets: usize)]
pub struct Mulpdu {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Octets of a TCP segment's payload; at least 128.
    pub emss: Signal<In, Bits<16>>,
    /// The stream carries markers.
    pub markers: Signal<In, Bit>,
    /// Most octets of a ULPDU.
    pub mulpdu: Signal<Out, Bits<16>>,

    marked_1: Dff<Bits<10>>,
    without_1: Dff<Bits<17>>,
    markers_1: Dff<Bit>,
    room_2: Dff<Bits<17>>,
    markers_2: Dff<Bit>,
    least_3: Dff<Bits<16>>,
    markers_3: Dff<Bit>,
    mulpdu_4: Dff<Bits<16>>,
    segments: Signal<Local, Bits<17>>,
    #[constant(marker::SPACING - 1)]
    round_up: Constant<Bits<17>>,
    #[constant(mpa::MIN_OVERHEAD)]
    overhead: Constant<Bits<17>>,
    #[constant(mpa::MIN_MULPDU)]
    floor: Constant<Bits<16>>,
    #[constant(largest_ulpdu(ring_octets, true))]
    most_marked: Constant<Bits<16>>,
    #[constant(largest_ulpdu(ring_octets, false))]
    most_unmarked: Constant<Bits<16>>,
}

impl Mulpdu {
    /// For rings of `ring_octets`.
    #[must_use]
    pub fn new(ring_octets: usize) -> Self {
        Self::assemble(ring_octets)
    }
}

impl Logic for Mulpdu {
    #[hdl_gen]
    fn update(&mut self) {
        self.segments.next = bit_cast::<17, 16>(self.emss.val()) + self.round_up.val();
        self.marked_1.d.next = bit_cast::<10, 8>(self.segments.val().get_bits::<8>(9)) << 2;
        if !self.markers.val() {
            self.marked_1.d.next = 0.into();
        }
        self.without_1.d.next =
            (bit_cast::<17, 14>(self.emss.val().get_bits::<14>(2)) << 2) - self.overhead.val();
        self.markers_1.d.next = self.markers.val();

        self.room_2.d.next = self.without_1.q.val() - bit_cast::<17, 10>(self.marked_1.q.val());
        self.markers_2.d.next = self.markers_1.q.val();

        self.least_3.d.next = self.room_2.q.val().get_bits::<16>(0);
        if self.room_2.q.val().get_bit(16)
            | (self.room_2.q.val().get_bits::<16>(0) < self.floor.val())
        {
            self.least_3.d.next = self.floor.val();
        }
        self.markers_3.d.next = self.markers_2.q.val();

        self.mulpdu_4.d.next = self.least_3.q.val();
        if self.markers_3.q.val() & (self.least_3.q.val() > self.most_marked.val()) {
            self.mulpdu_4.d.next = self.most_marked.val();
        }
        if !self.markers_3.q.val() & (self.least_3.q.val() > self.most_unmarked.val()) {
            self.mulpdu_4.d.next = self.most_unmarked.val();
        }
        self.mulpdu.next = self.mulpdu_4.q.val();
    }
}
