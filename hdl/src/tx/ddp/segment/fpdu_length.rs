//! FPDU length: how many dwords the FPDU of a ULPDU has, markers included.
//!
//! ```text
//!  ULPDU_Length ─► content ────────────┬────────────────────────────────────────┬─► + ─► dwords
//!  position ────► dwords to a marker ──┴─► x = content - those - 1 ─► x / 127 ──┘
//! ```
//!
//! The *content* is ULPDU_Length, ULPDU, PAD and CRC field. One marker stands in front of it or inside if it reaches that
//! far, and one more behind each 127 dwords of what is left (MPA-MRK-08). With x = 128·a + b = 127·a + (a + b), the quotient
//! is a, or a + 1 if a + b is 127 or more. It is below 254, since a ULPDU has at most 64768 octets (MPA-SEG-06).
//!
//! Throughput: one a cycle. Latency: [`LATENCY`] cycles. No reset.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use rust_hdl_core::prelude::*;
use warpline_sv_writer::Block;
use warpline_sv_writer::dff::Dff;
use warpline_wire::{crc, marker, mpa};

/// Cycles from the inputs to `dwords`.
pub const LATENCY: usize = 5;

/// Octets of an FPDU beside its ULPDU, and what rounds them up to dwords.
const AROUND: usize = mpa::LENGTH_LEN + (mpa::ALIGN - 1) + crc::LEN;
/// Dwords between two markers.
const BETWEEN: usize = marker::CONTENT_SPACING / mpa::ALIGN;

const _: () = assert!(
    BETWEEN == 127
        && marker::SPACING == 512
        && (mpa::MAX_ULPDU as usize + AROUND) / mpa::ALIGN < 127 * 128,
    "the quotient is made for periods of 128 dwords, fewer than 127 of them"
);

/// The length.
#[derive(Block)]
#[block(default)]
pub struct FpduLength {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Stream position where the FPDU begins; a multiple of four.
    pub position: Signal<In, Bits<32>>,
    /// ULPDU_Length, at most 64768.
    pub length: Signal<In, Bits<16>>,
    /// The stream carries markers.
    pub markers: Signal<In, Bit>,
    /// Dwords of the FPDU.
    pub dwords: Signal<Out, Bits<15>>,

    content_1: Dff<Bits<15>>,
    to_marker_1: Dff<Bits<7>>,
    markers_1: Dff<Bit>,
    content_2: Dff<Bits<15>>,
    behind_2: Dff<Bits<16>>,
    markers_2: Dff<Bit>,
    content_3: Dff<Bits<15>>,
    periods_3: Dff<Bits<8>>,
    rest_3: Dff<Bits<9>>,
    some_3: Dff<Bit>,
    content_4: Dff<Bits<15>>,
    periods_4: Dff<Bits<8>>,
    extra_4: Dff<Bits<2>>,
    some_4: Dff<Bit>,
    dwords_5: Dff<Bits<15>>,
    sum: Signal<Local, Bits<17>>,
    count: Signal<Local, Bits<8>>,
    #[constant(AROUND)]
    around: Constant<Bits<17>>,
    #[constant(0)]
    none: Constant<Bits<7>>,
    #[constant(BETWEEN)]
    once: Constant<Bits<9>>,
}

impl Logic for FpduLength {
    #[hdl_gen]
    fn update(&mut self) {
        self.sum.next = bit_cast::<17, 16>(self.length.val()) + self.around.val();
        self.content_1.d.next = self.sum.val().get_bits::<15>(2);
        self.to_marker_1.d.next = self.none.val() - self.position.val().get_bits::<7>(2);
        self.markers_1.d.next = self.markers.val();

        self.content_2.d.next = self.content_1.q.val();
        self.behind_2.d.next = bit_cast::<16, 15>(self.content_1.q.val())
            - bit_cast::<16, 7>(self.to_marker_1.q.val())
            - 1;
        self.markers_2.d.next = self.markers_1.q.val();

        self.content_3.d.next = self.content_2.q.val();
        self.periods_3.d.next = self.behind_2.q.val().get_bits::<8>(7);
        self.rest_3.d.next = bit_cast::<9, 8>(self.behind_2.q.val().get_bits::<8>(7))
            + bit_cast::<9, 7>(self.behind_2.q.val().get_bits::<7>(0));
        self.some_3.d.next = self.markers_2.q.val() & !self.behind_2.q.val().get_bit(15);

        self.content_4.d.next = self.content_3.q.val();
        self.periods_4.d.next = self.periods_3.q.val();
        self.extra_4.d.next = 1.into();
        if self.rest_3.q.val() >= self.once.val() {
            self.extra_4.d.next = 2.into();
        }
        self.some_4.d.next = self.some_3.q.val();

        self.count.next = 0.into();
        if self.some_4.q.val() {
            self.count.next = self.periods_4.q.val() + bit_cast::<8, 2>(self.extra_4.q.val());
        }
        self.dwords_5.d.next = self.content_4.q.val() + bit_cast::<15, 8>(self.count.val());
        self.dwords.next = self.dwords_5.q.val();
    }
}
