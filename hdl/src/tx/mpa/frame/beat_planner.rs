//! Beat planner: says for each beat of an FPDU what it takes from where.
//!
//! ```text
//!  NextFpdu ─► now: what is left of content and ULPDU, and to the marker ─┬─► BeatPlan
//!              ▲ room, octets there? ─────────────────────────────────────┴─► take a beat of octets
//! ```
//!
//! The *content* of an FPDU is ULPDU_Length, ULPDU, PAD and CRC field. A beat takes D dwords of it, or D - 1 and a marker.
//! So no division by the 508 octets between markers is needed: what is left of the content is counted, and a beat is the
//! last one if the rest fits into it. A marker that is due behind the CRC field belongs to the next FPDU (MPA-MRK-08), one
//! in front of it to this one (MPA-CRC-14).
//!
//! Each marker moves the content behind it up by one lane. When D of them have gone by, a beat needs no new beat of
//! content: `load` is low.
//!
//! Throughput: one beat a cycle, also from FPDU to FPDU. Latency: [`START`] cycle from an FPDU to the decision about its
//! first beat, and [`LATENCY`] from a decision to its plan. That a beat is the last one is known a beat ahead.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use crate::tx::mpa::frame::measure::NextFpdu;
use rust_hdl_core::prelude::*;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, Record, comment};
use warpline_wire::{marker, mpa};

/// Cycles from taking a beat of octets to its plan.
pub const LATENCY: usize = 1;

/// Cycles from a measured FPDU to the decision about its first beat.
pub const START: usize = 1;

/// Bits of an octet's position in its dword.
const IN_DWORD: usize = mpa::ALIGN.ilog2() as usize;

/// What a beat of an FPDU consists of.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct BeatPlan {
    /// There is a beat.
    pub valid: Bit,
    /// First beat of its FPDU.
    pub first: Bit,
    /// Last beat of its FPDU.
    pub last: Bit,
    /// Dwords in it, marker and CRC field included.
    pub dwords: Bits<5>,
    /// ULPDU_Length.
    pub length: Bits<16>,
    /// Another beat of content is needed.
    pub load: Bit,
    /// Octets of the ULPDU in it, from lane 0 up.
    pub octets: Bits<8>,
    /// Lanes by which markers in earlier beats move the content.
    pub shift: Bits<4>,
    /// Lane of the marker; D without one.
    pub marker_lane: Bits<8>,
    /// FPDUPTR of the marker.
    pub marker_pointer: Bits<16>,
}

/// A beat that lacks its octets and its CRC.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct OpenBeat {
    /// As in [`FramedBeat`](crate::records::FramedBeat), and so are the others.
    pub stream: Bits<8>,
    /// Stream position of its first octet.
    pub position: Bits<32>,
    /// Dwords in it, marker and CRC field included.
    pub dwords: Bits<5>,
    /// First beat of its FPDU.
    pub first: Bit,
    /// Last beat of its FPDU.
    pub last: Bit,
    /// The CRC is computed.
    pub crc: Bit,
}

/// Plans for beats of 2^LOGK octets, 2^LOGD dwords.
#[derive(Block)]
#[block(octets: usize, dwords: usize)]
pub struct BeatPlanner<const LOGK: usize, const LOGD: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// FPDUs in the order in which they are sent.
    pub measured: Signal<In, NextFpdu>,
    /// There is one.
    pub measured_valid: Signal<In, Bit>,
    /// It is taken.
    pub measured_taken: Signal<Out, Bit>,
    /// A beat of octets is there.
    pub data_valid: Signal<In, Bit>,
    /// It is taken, if it is there.
    pub data_ready: Signal<Out, Bit>,
    /// There is room for a beat behind this block.
    pub room: Signal<In, Bit>,
    /// A beat is planned.
    pub planned: Signal<Out, Bit>,
    /// The beat that was planned in the cycle before.
    pub plan: Signal<Out, BeatPlan>,
    /// What of it needs no octets, with `plan`.
    pub open: Signal<Out, OpenBeat>,

    // now: the FPDU whose beats are planned, and the state in front of its next beat
    active: Dff<Bit>,
    now: Dff<NextFpdu>,
    first: Dff<Bit>,
    leading: Dff<Bit>,
    pointer: Dff<Bits<16>>,
    shift: Dff<Bits<LOGD>>,
    load: Dff<Bit>,
    /// The ULPDU has octets that are not taken yet; a beat of them.
    more: Dff<Bit>,
    final_octets: Dff<Bit>,
    plan_1: Dff<BeatPlan>,
    open_1: Dff<OpenBeat>,

    go: Signal<Local, Bit>,
    able: Signal<Local, Bit>,
    takes_octets: Signal<Local, Bit>,
    emit: Signal<Local, Bit>,
    lane: Signal<Local, Bits<8>>,
    has_marker: Signal<Local, Bit>,
    dwords: Signal<Local, Bits<5>>,
    due_next: Signal<Local, Bit>,
    taken: Signal<Local, Bits<14>>,
    #[constant(1)]
    one_7: Constant<Bits<7>>,
    #[constant(IN_DWORD)]
    in_dword: Constant<Bits<16>>,
    #[constant(octets)]
    octets_of_beat: Constant<Bits<32>>,
    #[constant(octets)]
    all_octets: Constant<Bits<8>>,
    #[constant(LOGD)]
    dword_bits: Constant<Bits<8>>,
    #[constant(dwords)]
    no_lane: Constant<Bits<8>>,
    #[constant(dwords)]
    all_dwords: Constant<Bits<5>>,
    #[constant(dwords)]
    dwords_of_beat: Constant<Bits<7>>,
    #[constant(dwords)]
    without_marker: Constant<Bits<14>>,
    #[constant(dwords - 1)]
    with_marker: Constant<Bits<14>>,
    #[constant(marker::SPACING)]
    spacing: Constant<Bits<16>>,
    #[constant(marker::CONTENT_SPACING)]
    content_spacing: Constant<Bits<16>>,
}

impl<const LOGK: usize, const LOGD: usize> Default for BeatPlanner<LOGK, LOGD> {
    fn default() -> Self {
        assert!(
            LOGK == LOGD + IN_DWORD && (1..=4).contains(&LOGD),
            "2 to 16 dwords, not 2^{LOGD} in 2^{LOGK} octets"
        );
        Self::assemble(1 << LOGK, 1 << LOGD)
    }
}

impl<const LOGK: usize, const LOGD: usize> Logic for BeatPlanner<LOGK, LOGD> {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("a beat needs room behind this block, and octets if the ULPDU has any left");
        self.able.next = self.active.q.val() & self.room.val();
        self.takes_octets.next = self.load.q.val() & self.more.q.val();
        self.data_ready.next = self.able.val() & self.takes_octets.val();
        self.emit.next = self.able.val() & (!self.takes_octets.val() | self.data_valid.val());
        self.planned.next = self.emit.val();
        self.go.next = self.measured_valid.val()
            & (!self.active.q.val() | (self.emit.val() & self.now.q.val().last));
        self.measured_taken.next = self.go.val();

        comment!("plan: a marker stands in the last beat only if content follows it");
        self.lane.next = bit_cast::<8, LOGD>(self.now.q.val().to_marker.get_bits::<LOGD>(0));
        self.has_marker.next = self.now.q.val().due
            & (!self.now.q.val().last
                | (self.lane.val() < bit_cast::<8, 5>(self.now.q.val().left)));
        self.dwords.next = self.all_dwords.val();
        if self.now.q.val().last {
            self.dwords.next = self.now.q.val().left + self.has_marker.val();
        }
        self.plan_1.d.next.valid = self.emit.val();
        self.plan_1.d.next.first = self.first.q.val();
        self.plan_1.d.next.last = self.now.q.val().last;
        self.plan_1.d.next.dwords = self.dwords.val();
        self.plan_1.d.next.length = self.now.q.val().length;
        self.plan_1.d.next.load = self.load.q.val();
        self.plan_1.d.next.octets = 0.into();
        if self.more.q.val() {
            self.plan_1.d.next.octets = self.all_octets.val();
            if self.final_octets.q.val() {
                self.plan_1.d.next.octets = self.now.q.val().tail;
            }
        }
        self.plan_1.d.next.shift = bit_cast::<4, LOGD>(self.shift.q.val());
        self.plan_1.d.next.marker_lane = self.no_lane.val();
        if self.has_marker.val() {
            self.plan_1.d.next.marker_lane = self.lane.val();
        }
        self.plan_1.d.next.marker_pointer = self.pointer.q.val();
        self.plan.next = self.plan_1.q.val();
        self.open_1.d.next.stream = self.now.q.val().stream;
        self.open_1.d.next.position = self.now.q.val().position;
        self.open_1.d.next.dwords = self.dwords.val();
        self.open_1.d.next.first = self.first.q.val();
        self.open_1.d.next.last = self.now.q.val().last;
        self.open_1.d.next.crc = self.now.q.val().crc;
        self.open.next = self.open_1.q.val();

        comment!("the state in front of the next beat");
        self.due_next.next = self.now.q.val().markers
            & ((self.now.q.val().to_marker >> self.dword_bits.val()) == self.one_7.val());
        self.taken.next = self.without_marker.val();
        if self.due_next.val() {
            self.taken.next = self.with_marker.val();
        }
        if self.emit.val() {
            self.first.d.next = false;
            self.now.d.next.position = self.now.q.val().position + self.octets_of_beat.val();
            self.now.d.next.to_marker = self.now.q.val().to_marker - self.dwords_of_beat.val();
            self.now.d.next.due = self.due_next.val();
            self.now.d.next.left = self.now.q.val().rest.get_bits::<5>(0) + 1;
            self.now.d.next.rest = self.now.q.val().rest - self.taken.val();
            self.now.d.next.last = !(self.now.q.val().rest >> self.dword_bits.val()).any()
                & !(self.due_next.val() & self.now.q.val().rest.get_bits::<LOGD>(0).all());
            self.load.d.next = true;
            if self.now.q.val().due {
                self.shift.d.next = self.shift.q.val() + 1;
                self.load.d.next = !self.shift.q.val().all();
                comment!(
                    "FPDUPTR counts from ULPDU_Length, which is behind a leading marker (MPA-MRK-19)"
                );
                self.leading.d.next = false;
                self.pointer.d.next = self.pointer.q.val() + self.spacing.val();
                if self.leading.q.val() {
                    self.pointer.d.next = self.content_spacing.val();
                }
            }
            if self.takes_octets.val() {
                self.more.d.next = !self.final_octets.q.val();
                self.final_octets.d.next = self.now.q.val().inputs == 1;
                self.now.d.next.inputs = self.now.q.val().inputs - 1;
            }
            if self.now.q.val().last {
                self.active.d.next = false;
            }
        }
        if self.go.val() {
            self.active.d.next = true;
            self.now.d.next = self.measured.val();
            self.first.d.next = true;
            self.leading.d.next = !self.measured.val().to_marker.any();
            self.pointer.d.next =
                bit_cast::<16, 7>(self.measured.val().to_marker) << self.in_dword.val();
            self.shift.d.next = 0.into();
            self.load.d.next = true;
            self.more.d.next = true;
            self.final_octets.d.next = !self.measured.val().inputs.any();
        }
        if self.reset.val() {
            self.active.d.next = false;
            self.plan_1.d.next.valid = false;
        }
    }
}
