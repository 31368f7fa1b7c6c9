//! Event: the pair of an FPDU that settles, or of a report: what is placed, and what is written to the completion queue, field by
//! field as in `regmap::layout`.
//!
//! ```text
//!  settled, outcome ─► Placement, Completion or ErrorEvent ─┐
//!                                                           ├─►[output register]─► pair
//!  message, fault, fence ─► Delivery ───────────────────────┘
//! ```
//!
//! Registered values alone select what enters the output register; only its enable is late. One pair a cycle.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use super::lookup::Outcome;
use super::receive_queues::MessageState;
use super::subject::Subject;
use crate::records::{self, DdpSegment, Delivery, Placement};
use rust_hdl_core::prelude::*;
use warpline_regmap::layout::{kind, refused};
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, Record, comment};
use warpline_wire::ddp::fpdu_field;

/// `completion`: a delivered message.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct Completion {
    /// `kind::TAGGED` or `kind::UNTAGGED`.
    pub kind: Bits<4>,
    /// Zero.
    pub rest_0: Bits<4>,
    /// Stream number.
    pub stream: Bits<8>,
    /// Zero-length tagged message: STag and TO were not looked up (AMB-02).
    pub unverified: Bit,
    /// More or fewer octets were placed than the untagged message has (AMB-07).
    pub hole: Bit,
    /// More segments of the untagged message came behind its last one (AMB-06).
    pub anomaly: Bit,
    /// Zero.
    pub rest_1: Bits<13>,
    /// STag or queue number.
    pub target: Bits<32>,
    /// MSN of an untagged message.
    pub msn: Bits<32>,
    /// Length of an untagged message, or payload octets of the tagged segment.
    pub length: Bits<32>,
    /// Tagged Offset of a tagged segment.
    pub offset: Bits<64>,
    /// RsvdULP bits 8 to 39 of an untagged segment; bit 8 is the most significant one.
    pub rsvd_ulp_low: Bits<32>,
    /// The octet behind the control field.
    pub rsvd_ulp_first: Bits<8>,
    /// Zero.
    pub rest_2: Bits<24>,
}

/// `error_event`: the stream met its first error.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct ErrorEvent {
    /// `kind::ERROR`.
    pub kind: Bits<4>,
    /// Zero.
    pub rest_0: Bits<4>,
    /// Stream number.
    pub stream: Bits<8>,
    /// Zero.
    pub rest_1: Bits<16>,
    /// Error type in bits 11:8, code in bits 7:0.
    pub number: Bits<12>,
    /// Zero.
    pub rest_2: Bits<20>,
    /// Failed checks.
    pub checks: Bits<16>,
    /// Zero.
    pub rest_3: Bits<16>,
    /// ULPDU_Length.
    pub length: Bits<32>,
    /// Stream position of the FPDU.
    pub position: Bits<32>,
    /// Zero.
    pub rest_4: Bits<96>,
}

/// The pair and its register.
#[derive(Block)]
#[block(default)]
pub struct Event {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,

    /// The FPDU that settles.
    pub settled: Signal<In, DdpSegment>,
    /// What was found.
    pub outcome: Signal<In, Outcome>,
    /// It is right, and its stream is open.
    pub accepted: Signal<In, Bit>,
    /// Its stream is frozen.
    pub frozen: Signal<In, Bit>,
    /// It freezes its stream.
    pub first_error: Signal<In, Bit>,
    /// It counts.
    pub counts: Signal<In, Bit>,
    /// It completes an untagged message.
    pub completes: Signal<In, Bit>,
    /// It leaves in this cycle.
    pub leaves: Signal<In, Bit>,

    /// A report is to be passed on. Then nothing settles.
    pub tells: Signal<In, Bit>,
    /// What it is about.
    pub subject: Signal<In, Subject>,
    /// Its stream.
    pub stream: Signal<In, Bits<8>>,
    /// Queue of a message.
    pub queue: Signal<In, Bits<2>>,
    /// Its MSN.
    pub msn: Signal<In, Bits<32>>,
    /// The message.
    pub message: Signal<In, MessageState>,
    /// More or fewer octets were placed than it has.
    pub closed_hole: Signal<In, Bit>,
    /// An error record is being written.
    pub record_busy: Signal<In, Bit>,
    /// The report is passed on in this cycle.
    pub told: Signal<Out, Bit>,

    /// The output register is free.
    pub output_free: Signal<In, Bit>,
    /// Payload to write to memory.
    pub placement: Signal<Out, Placement>,
    /// Delivery behind it.
    pub delivery: Signal<Out, Delivery>,
    /// The pair is valid.
    pub m_valid: Signal<Out, Bit>,

    valid: Dff<Bit>,
    placement_now: Dff<Placement>,
    delivery_now: Dff<Delivery>,
    give: Signal<Local, Bit>,
    has_tag: Signal<Local, Bit>,
    is_last: Signal<Local, Bit>,
    is_clean: Signal<Local, Bit>,
    completion: Signal<Local, Completion>,
    error_event: Signal<Local, ErrorEvent>,
    follower: Signal<Local, Completion>,
    fault_event: Signal<Local, ErrorEvent>,
    next_placement: Signal<Local, Placement>,
    next_delivery: Signal<Local, Delivery>,
    #[constant(Completion::default())]
    no_completion: Constant<Completion>,
    #[constant(ErrorEvent::default())]
    no_error_event: Constant<ErrorEvent>,
    #[constant(Placement::default())]
    no_placement: Constant<Placement>,
    #[constant(Delivery::default())]
    no_delivery: Constant<Delivery>,
    #[constant(records::TAGGED_BIT)]
    tagged_bit: Constant<Bits<8>>,
    #[constant(records::LAST_BIT)]
    last_bit: Constant<Bits<8>>,
    #[constant(records::RSVD_ULP_FIRST_LSB)]
    rsvd_ulp_lsb: Constant<Bits<8>>,
    #[constant(fpdu_field::tagged::PAYLOAD)]
    tagged_payload: Constant<Bits<8>>,
    #[constant(fpdu_field::untagged::PAYLOAD)]
    untagged_payload: Constant<Bits<8>>,
    #[constant(refused::CLOSED)]
    ends_closed: Constant<Bits<3>>,
    #[constant(kind::TAGGED)]
    kind_tagged: Constant<Bits<4>>,
    #[constant(kind::UNTAGGED)]
    kind_untagged: Constant<Bits<4>>,
    #[constant(kind::ERROR)]
    kind_error: Constant<Bits<4>>,
    #[constant(kind::CLOSED)]
    kind_closed: Constant<Bits<4>>,
}

impl Logic for Event {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("the pair of the FPDU that settles, whether or not the output register is free");
        self.has_tag.next = self
            .settled
            .val()
            .header_0
            .get_bit(self.tagged_bit.val().index());
        self.is_last.next = self
            .settled
            .val()
            .header_0
            .get_bit(self.last_bit.val().index());
        self.is_clean.next = self.settled.val().refused == self.ends_closed.val();
        self.next_placement.next.row = self.settled.val().row;
        self.next_placement.next.rows = self.settled.val().rows;
        self.next_placement.next.address = self.outcome.val().address;
        self.next_placement.next.length = 0.into();
        if self.accepted.val() & !self.settled.val().placed {
            self.next_placement.next.length = self.outcome.val().length;
        }
        self.completion.next = self.no_completion.val();
        self.completion.next.stream = self.settled.val().stream;
        self.completion.next.rsvd_ulp_first = self
            .settled
            .val()
            .header_0
            .get_bits::<8>(self.rsvd_ulp_lsb.val().index());
        if self.has_tag.val() {
            self.next_placement.next.skip = self.tagged_payload.val();
            self.completion.next.kind = self.kind_tagged.val();
            self.completion.next.unverified = !self.outcome.val().length.any();
            self.completion.next.target = self.settled.val().header_1;
            self.completion.next.length = bit_cast::<32, 16>(self.outcome.val().length);
            self.completion.next.offset = bit_cast::<64, 32>(self.settled.val().header_3)
                | (bit_cast::<64, 32>(self.settled.val().header_2) << 32);
        } else {
            self.next_placement.next.skip = self.untagged_payload.val();
            self.completion.next.kind = self.kind_untagged.val();
            self.completion.next.target = self.settled.val().header_2;
            self.completion.next.msn = self.settled.val().header_3;
            self.completion.next.length = self.outcome.val().message_length;
            self.completion.next.hole = self.outcome.val().hole;
            self.completion.next.rsvd_ulp_low = self.settled.val().header_1;
        }
        self.next_delivery.next = self.no_delivery.val();
        self.next_delivery.next.stream = self.settled.val().stream;
        if self.completes.val()
            | (self.counts.val()
                & self.has_tag.val()
                & self.is_last.val()
                & self.outcome.val().tagged_completions)
        {
            self.next_delivery.next.action = 1.into();
            self.next_delivery.next.entry = self.completion.val().into();
        }
        comment!("closed by the peer behind an FPDU: reported, no error");
        self.error_event.next = self.no_error_event.val();
        self.error_event.next.stream = self.settled.val().stream;
        self.error_event.next.position = self.settled.val().position;
        self.error_event.next.kind = self.kind_closed.val();
        if self.first_error.val() {
            self.error_event.next.kind = self.kind_error.val();
            self.error_event.next.number = self.outcome.val().number;
            self.error_event.next.checks = self.outcome.val().checks;
            self.error_event.next.length = bit_cast::<32, 16>(self.settled.val().ulpdu);
        }
        if self.first_error.val() | (self.is_clean.val() & !self.frozen.val()) {
            self.next_delivery.next.action = 1.into();
            self.next_delivery.next.entry = self.error_event.val().into();
        }

        comment!("reports without an FPDU");
        self.follower.next = self.no_completion.val();
        self.follower.next.kind = self.kind_untagged.val();
        self.follower.next.stream = self.stream.val();
        self.follower.next.target = bit_cast::<32, 2>(self.queue.val());
        self.follower.next.msn = self.msn.val();
        self.follower.next.length = self.message.val().length;
        self.follower.next.hole = self.closed_hole.val();
        self.follower.next.anomaly = self.message.val().anomaly;
        self.follower.next.rsvd_ulp_first = self.message.val().rsvd_ulp_first;
        self.follower.next.rsvd_ulp_low = self.message.val().rsvd_ulp_low;
        self.fault_event.next = self.no_error_event.val();
        self.fault_event.next.kind = self.kind_error.val();
        self.fault_event.next.stream = self.stream.val();
        if self.tells.val() {
            self.next_placement.next = self.no_placement.val();
            self.next_delivery.next = self.no_delivery.val();
            self.next_delivery.next.stream = self.stream.val();
            match self.subject.val() {
                Subject::Fpdu => {}
                Subject::Next => {
                    self.next_delivery.next.action = 1.into();
                    self.next_delivery.next.entry = self.follower.val().into();
                }
                Subject::Command => {
                    self.next_delivery.next.action = 2.into();
                }
                Subject::Fault => {
                    self.next_delivery.next.action = 1.into();
                    self.next_delivery.next.entry = self.fault_event.val().into();
                }
            }
        }

        comment!("the register; its content has no effect while nothing leaves");
        self.give.next = self.tells.val() & !self.record_busy.val() & self.output_free.val();
        self.told.next = self.give.val();
        if self.output_free.val() {
            self.valid.d.next = self.give.val() | self.leaves.val();
            self.placement_now.d.next = self.next_placement.val();
            self.delivery_now.d.next = self.next_delivery.val();
        }
        self.placement.next = self.placement_now.q.val();
        self.delivery.next = self.delivery_now.q.val();
        self.m_valid.next = self.valid.q.val();
        if self.reset.val() {
            self.valid.d.next = false;
        }
    }
}
