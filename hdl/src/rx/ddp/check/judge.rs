//! DDP's verdict about an FPDU: the first failing check gives the error number, all failing ones the report (AMB-01 to AMB-05).
//!
//! ```text
//!  short ─► version ──────────────────────────────────────────────  0/00  1/04 or 2/06     (RFC 5041 §7.1)
//!    T=1, n>0:  stag ─► assoc · access · to · wrap · end          1/00 02 00 01 03 01
//!    T=0:       qn ─► msn ─► nobuf ─► mo · len                    2/01 03 02 04 05
//! ```
//!
//! MPA's errors take precedence, but are known later: `check` puts them in front when it settles the FPDU.
//!
//! The checks of the FPDU alone come first; their result is delayed until the tables respond. For an FPDU that came
//! ahead of others only errors that do not depend on those count yet (AMB-11): `postponed` marks the others.
//!
//! Throughput: one FPDU a cycle. Its `fails_` inputs follow `segment` by [`TABLES`] cycles, the verdict by [`LATENCY`] more.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use crate::parts::delay::Delay;
use crate::records::{self, DdpSegment};
use crate::tables::{stag_table, tagged_checks};
use rust_hdl_core::prelude::*;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, Record, comment};
use warpline_wire::ddp;
use warpline_wire::error_number::ErrorNumber;

/// Cycles from an FPDU to its `fails_` inputs.
pub const TABLES: u64 = stag_table::LATENCY + tagged_checks::LATENCY;
/// Cycles from the `fails_` inputs to the verdict.
pub const LATENCY: u64 = 1;

/// Failed checks, in the order of their bit numbers (AMB-09).
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct Checks {
    /// ULPDU shorter than its header.
    pub too_short: Bit,
    /// DV is not 1.
    pub version: Bit,
    /// No valid entry with that STag.
    pub stag: Bit,
    /// The STag belongs to another protection domain or stream.
    pub association: Bit,
    /// No remote write right, or an empty region.
    pub access: Bit,
    /// TO outside the region.
    pub offset: Bit,
    /// TO + n above 2^64.
    pub wrap: Bit,
    /// TO + n beyond the region.
    pub beyond_end: Bit,
    /// No such queue.
    pub queue_number: Bit,
    /// Nothing posted for the MSN.
    pub buffer: Bit,
    /// MO outside the buffer.
    pub message_offset: Bit,
    /// MO + n beyond the buffer.
    pub length: Bit,
    /// The MSN is not allowed here.
    pub msn: Bit,
    /// Zero.
    pub rest: Bits<3>,
}

/// The part that depends on the FPDU alone.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
struct FpduChecks {
    /// It is a tagged one.
    is_tagged: Bit,
    /// It has no payload.
    empty: Bit,
    /// ULPDU shorter than its header.
    too_short: Bit,
    /// DV is not 1.
    version: Bit,
}

/// The order of the checks.
#[derive(Block)]
#[block(default)]
pub struct Judge {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// The FPDU.
    pub segment: Signal<In, DdpSegment>,
    /// It has no payload; a cycle behind `segment`.
    pub empty: Signal<In, Bit>,
    /// See [`TaggedChecks`](crate::tables::tagged_checks::TaggedChecks).
    pub fails_stag: Signal<In, Bit>,
    /// The same.
    pub fails_association: Signal<In, Bit>,
    /// The same.
    pub fails_access: Signal<In, Bit>,
    /// The same.
    pub fails_offset: Signal<In, Bit>,
    /// The same.
    pub fails_wrap: Signal<In, Bit>,
    /// The same.
    pub fails_end: Signal<In, Bit>,
    /// The stream has no such queue.
    pub fails_queue: Signal<In, Bit>,
    /// See [`UntaggedChecks`](super::untagged::UntaggedChecks).
    pub fails_msn: Signal<In, Bit>,
    /// The same.
    pub fails_buffer: Signal<In, Bit>,
    /// The same.
    pub fails_message_offset: Signal<In, Bit>,
    /// The same.
    pub fails_length: Signal<In, Bit>,
    /// The FPDU is in error.
    pub failed: Signal<Out, Bit>,
    /// The error depends on the FPDUs in front of this one.
    pub postponed: Signal<Out, Bit>,
    /// Error type in bits 11:8, code in bits 7:0 (RFC 5041 §7.2).
    pub number: Signal<Out, Bits<12>>,
    /// All failed checks.
    pub checks: Signal<Out, Checks>,

    is_tagged: Signal<Local, Bit>,
    short: Signal<Local, Bit>,
    version: Signal<Local, Bit>,
    first: Dff<FpduChecks>,
    #[value(Delay::new(TABLES as usize - 1))]
    early: Delay<FpduChecks>,
    final_failed: Dff<Bit>,
    final_postponed: Dff<Bit>,
    final_number: Dff<Bits<12>>,
    final_checks: Dff<Checks>,
    #[constant(Checks::default())]
    none: Constant<Checks>,
    #[constant(records::TAGGED_BIT)]
    tagged_bit: Constant<Bits<8>>,
    #[constant(records::VERSION_LSB)]
    version_lsb: Constant<Bits<8>>,
    #[constant(ddp::VERSION)]
    ddp_version: Constant<Bits<2>>,
    #[constant(ddp::TAGGED_HEADER_LEN)]
    tagged_header: Constant<Bits<16>>,
    #[constant(ddp::UNTAGGED_HEADER_LEN)]
    untagged_header: Constant<Bits<16>>,
    #[constant(ErrorNumber::TaggedBounds as u16)]
    tagged_bounds: Constant<Bits<12>>,
    #[constant(ErrorNumber::TaggedWrap as u16)]
    tagged_wrap: Constant<Bits<12>>,
    #[constant(ErrorNumber::TaggedInvalidStag as u16)]
    tagged_invalid_stag: Constant<Bits<12>>,
    #[constant(ErrorNumber::TaggedNotAssociated as u16)]
    tagged_not_associated: Constant<Bits<12>>,
    #[constant(ErrorNumber::UntaggedTooLong as u16)]
    untagged_too_long: Constant<Bits<12>>,
    #[constant(ErrorNumber::UntaggedMo as u16)]
    untagged_mo: Constant<Bits<12>>,
    #[constant(ErrorNumber::UntaggedNoBuffer as u16)]
    untagged_no_buffer: Constant<Bits<12>>,
    #[constant(ErrorNumber::UntaggedMsnRange as u16)]
    untagged_msn_range: Constant<Bits<12>>,
    #[constant(ErrorNumber::UntaggedQn as u16)]
    untagged_qn: Constant<Bits<12>>,
    #[constant(ErrorNumber::LocalCatastrophic as u16)]
    local_catastrophic: Constant<Bits<12>>,
    #[constant(ErrorNumber::UntaggedVersion as u16)]
    untagged_version: Constant<Bits<12>>,
    #[constant(ErrorNumber::TaggedVersion as u16)]
    tagged_version: Constant<Bits<12>>,
}

impl Logic for Judge {
    #[hdl_gen]
    fn update(&mut self) {
        self.is_tagged.next = self
            .segment
            .val()
            .header_0
            .get_bit(self.tagged_bit.val().index());
        self.short.next = (self.segment.val().ulpdu < self.tagged_header.val())
            | (!self.is_tagged.val() & (self.segment.val().ulpdu < self.untagged_header.val()));
        self.version.next = self
            .segment
            .val()
            .header_0
            .get_bits::<2>(self.version_lsb.val().index())
            != self.ddp_version.val();

        comment!("the FPDU alone");
        self.first.d.next.is_tagged = self.is_tagged.val();
        self.first.d.next.empty = false;
        self.first.d.next.too_short = self.short.val();
        self.first.d.next.version = self.version.val() & !self.short.val();
        self.early.d.next = self.first.q.val();
        self.early.d.next.empty = self.empty.val();

        comment!("results of the tables: the check with precedence is assigned last");
        self.final_failed.d.next = false;
        self.final_postponed.d.next = !self.early.q.val().is_tagged;
        self.final_number.d.next = 0.into();
        self.final_checks.d.next = self.none.val();
        if self.early.q.val().is_tagged & !self.early.q.val().empty {
            self.final_failed.d.next = self.fails_stag.val()
                | self.fails_association.val()
                | self.fails_access.val()
                | self.fails_offset.val()
                | self.fails_wrap.val()
                | self.fails_end.val();
            self.final_number.d.next = self.tagged_bounds.val();
            if self.fails_wrap.val() {
                self.final_number.d.next = self.tagged_wrap.val();
            }
            if self.fails_offset.val() {
                self.final_number.d.next = self.tagged_bounds.val();
            }
            if self.fails_access.val() {
                self.final_number.d.next = self.tagged_invalid_stag.val();
            }
            if self.fails_association.val() {
                self.final_number.d.next = self.tagged_not_associated.val();
            }
            self.final_checks.d.next.association = self.fails_association.val();
            self.final_checks.d.next.access = self.fails_access.val();
            self.final_checks.d.next.offset = self.fails_offset.val();
            self.final_checks.d.next.wrap = self.fails_wrap.val();
            self.final_checks.d.next.beyond_end = self.fails_end.val();
            if self.fails_stag.val() {
                self.final_number.d.next = self.tagged_invalid_stag.val();
                self.final_checks.d.next = self.none.val();
                self.final_checks.d.next.stag = true;
            }
        }
        if !self.early.q.val().is_tagged {
            self.final_failed.d.next = self.fails_queue.val()
                | self.fails_msn.val()
                | self.fails_buffer.val()
                | self.fails_message_offset.val()
                | self.fails_length.val();
            self.final_number.d.next = self.untagged_too_long.val();
            if self.fails_message_offset.val() {
                self.final_number.d.next = self.untagged_mo.val();
            }
            self.final_checks.d.next.message_offset = self.fails_message_offset.val();
            self.final_checks.d.next.length = self.fails_length.val();
            if self.fails_buffer.val() {
                self.final_number.d.next = self.untagged_no_buffer.val();
                self.final_checks.d.next = self.none.val();
                self.final_checks.d.next.buffer = true;
            }
            if self.fails_msn.val() {
                self.final_number.d.next = self.untagged_msn_range.val();
                self.final_checks.d.next = self.none.val();
                self.final_checks.d.next.msn = true;
            }
            if self.fails_queue.val() {
                self.final_number.d.next = self.untagged_qn.val();
                self.final_checks.d.next = self.none.val();
                self.final_checks.d.next.queue_number = true;
            }
        }
        if self.early.q.val().version | self.early.q.val().too_short {
            self.final_failed.d.next = true;
            self.final_postponed.d.next = false;
            self.final_number.d.next = self.local_catastrophic.val();
            self.final_checks.d.next = self.none.val();
            self.final_checks.d.next.too_short = self.early.q.val().too_short;
            self.final_checks.d.next.version = self.early.q.val().version;
            if self.early.q.val().version {
                self.final_number.d.next = self.untagged_version.val();
            }
            if self.early.q.val().version & self.early.q.val().is_tagged {
                self.final_number.d.next = self.tagged_version.val();
            }
        }
        self.failed.next = self.final_failed.q.val();
        self.postponed.next = self.final_postponed.q.val();
        self.number.next = self.final_number.q.val();
        self.checks.next = self.final_checks.q.val();
    }
}
