//! Measure: counts what the first beat of an FPDU needs to be planned.
//!
//! ```text
//!  position ─► dwords to the marker ─► due in the first beat? ─┬─► NextFpdu
//!  ULPDU_Length ─► content behind the first beat, either way ──┤
//!               └► beats of octets, octets in the last one ────┘
//! ```
//!
//! The *content* of an FPDU is ULPDU_Length, ULPDU, PAD and CRC field: (ULPDU_Length + 9) / 4 dwords. The first beat takes
//! D of them, or D - 1 and a marker. Both differences are made, with a sign, while the marker is looked for.
//!
//! Throughput: one a cycle. Latency: [`LATENCY`] cycle.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use crate::records::Ulpdu;
use rust_hdl_core::prelude::*;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, Record};
use warpline_wire::{crc, marker, mpa};

/// Cycles from a ULPDU to what is known of it.
pub const LATENCY: usize = 1;

/// Octets of an FPDU beside its ULPDU, and what rounds them up to dwords.
const AROUND: usize = mpa::LENGTH_LEN + (mpa::ALIGN - 1) + crc::LEN;

/// Modulus of sums with a sign.
const SIGNED: usize = 1 << 17;

/// An FPDU to send, and what is left of it in front of its next beat, which is the first one.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct NextFpdu {
    /// As in [`Ulpdu`].
    pub stream: Bits<8>,
    /// As in [`Ulpdu`].
    pub position: Bits<32>,
    /// As in [`Ulpdu`].
    pub length: Bits<16>,
    /// As in [`Ulpdu`].
    pub markers: Bit,
    /// As in [`Ulpdu`].
    pub crc: Bit,
    /// The remaining content fits into the next beat.
    pub last: Bit,
    /// Dwords of content, if so.
    pub left: Bits<5>,
    /// Dwords of content behind the next beat, less one, if not.
    pub rest: Bits<14>,
    /// Dwords to the next marker.
    pub to_marker: Bits<7>,
    /// That is in the next beat, if the FPDU does not end in front of it.
    pub due: Bit,
    /// Beats of octets behind the next one.
    pub inputs: Bits<16>,
    /// Octets in the last one.
    pub tail: Bits<8>,
}

/// For beats of 2^LOGK octets, 2^LOGD dwords.
#[derive(Block)]
#[block(octets: usize, dwords: usize)]
pub struct Measure<const LOGK: usize, const LOGD: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// A ULPDU.
    pub ulpdu: Signal<In, Ulpdu>,
    /// It is valid.
    pub ulpdu_valid: Signal<In, Bit>,
    /// It is accepted.
    pub ulpdu_ready: Signal<Out, Bit>,
    /// What is known of it.
    pub measured: Signal<Out, NextFpdu>,
    /// That is valid.
    pub measured_valid: Signal<Out, Bit>,
    /// It is taken; only while it is valid.
    pub measured_taken: Signal<In, Bit>,

    known: Dff<NextFpdu>,
    known_valid: Dff<Bit>,
    takes: Signal<Local, Bit>,
    in_period: Signal<Local, Bits<7>>,
    due: Signal<Local, Bit>,
    behind_with: Signal<Local, Bits<17>>,
    behind_first: Signal<Local, Bits<17>>,
    near: Signal<Local, Bits<7>>,
    less_one: Signal<Local, Bits<16>>,
    #[constant(0)]
    none: Constant<Bits<7>>,
    #[constant(octets)]
    all_octets: Constant<Bits<8>>,
    #[constant(LOGK)]
    octet_bits: Constant<Bits<16>>,
    #[constant(LOGD)]
    dword_bits: Constant<Bits<8>>,
    /// Beats of a period of markers, less one, of an FPDU that begins with a marker.
    #[constant(marker::SPACING as usize / octets - 1)]
    last_beat: Constant<Bits<7>>,
    #[constant((SIGNED + AROUND - mpa::ALIGN * (dwords + 1)) % SIGNED)]
    first_without: Constant<Bits<17>>,
    #[constant((SIGNED + AROUND - mpa::ALIGN * dwords) % SIGNED)]
    first_with: Constant<Bits<17>>,
    #[constant(AROUND)]
    around: Constant<Bits<7>>,
}

impl<const LOGK: usize, const LOGD: usize> Default for Measure<LOGK, LOGD> {
    fn default() -> Self {
        assert!(
            1 << LOGK == mpa::ALIGN << LOGD && (1..=4).contains(&LOGD),
            "2 to 16 dwords, not 2^{LOGD} in 2^{LOGK} octets"
        );
        Self::assemble(1 << LOGK, 1 << LOGD)
    }
}

impl<const LOGK: usize, const LOGD: usize> Logic for Measure<LOGK, LOGD> {
    #[hdl_gen]
    fn update(&mut self) {
        self.in_period.next = self.ulpdu.val().position.get_bits::<7>(2);
        self.due.next = self.ulpdu.val().markers
            & (!self.in_period.val().any()
                | (((self.in_period.val() >> self.dword_bits.val()) == self.last_beat.val())
                    & self.in_period.val().get_bits::<LOGD>(0).any()));
        self.behind_with.next = bit_cast::<17, 16>(self.ulpdu.val().length) + self.first_with.val();
        self.behind_first.next =
            bit_cast::<17, 16>(self.ulpdu.val().length) + self.first_without.val();
        if self.due.val() {
            self.behind_first.next = self.behind_with.val();
        }
        self.near.next = self.ulpdu.val().length.get_bits::<7>(0) + self.around.val();
        self.less_one.next = self.ulpdu.val().length - 1;

        self.takes.next = !self.known_valid.q.val() | self.measured_taken.val();
        self.ulpdu_ready.next = self.takes.val();
        if self.takes.val() {
            self.known_valid.d.next = self.ulpdu_valid.val();
            self.known.d.next.stream = self.ulpdu.val().stream;
            self.known.d.next.position = self.ulpdu.val().position;
            self.known.d.next.length = self.ulpdu.val().length;
            self.known.d.next.markers = self.ulpdu.val().markers;
            self.known.d.next.crc = self.ulpdu.val().crc;
            self.known.d.next.last = self.behind_first.val().get_bit(16);
            self.known.d.next.left = self.near.val().get_bits::<5>(2);
            self.known.d.next.rest = self.behind_first.val().get_bits::<14>(2);
            self.known.d.next.to_marker = self.none.val() - self.in_period.val();
            self.known.d.next.due = self.due.val();
            self.known.d.next.inputs = self.less_one.val() >> self.octet_bits.val();
            self.known.d.next.tail =
                bit_cast::<8, LOGK>(self.ulpdu.val().length.get_bits::<LOGK>(0));
            if !self.ulpdu.val().length.get_bits::<LOGK>(0).any() {
                self.known.d.next.tail = self.all_octets.val();
            }
        }
        self.measured.next = self.known.q.val();
        self.measured_valid.next = self.known_valid.q.val();
        if self.reset.val() {
            self.known_valid.d.next = false;
        }
    }
}
