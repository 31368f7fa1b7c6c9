//! Transmit control: carries out the transmit side's part of the host's commands.
//!
//! ```text
//!  control ─ request ─► decide ─┬─► refused
//!                               ├─► domain of the stream ─────────────────────────────────────────────► done
//!                               ├─► set ─► send_queues ───────────────────────────────────────────────► done, or refused
//!                               ├─► set ─► read_responder ────────────────────────────────────────────► done, or refused
//!                               ├─► ring_arm ─► Arm, or SetEmss alone ─► segment ─────────────────────► done
//!                               ├─► fence ─► access_fence ────────────────────────────────────────────► done
//!                               └─► freeze, Close ─► flushed ─► ring_close ─► quiet ─► detach, Clear ─► done
//! ```
//!
//! * `ArmStream` keeps the protection domain that `ARM_STREAM` has given to the stream.
//! * `SetSendRing`: `send_queues` refuses a second ring, and one that `send_ring` does not allow.
//! * `SetReadResponder`: `read_responder` gets the stream's protection domain, too, and refuses what it does not allow.
//! * `ArmTransmit`: refused if the transmit side is armed, or if EMSS is below 128 octets. The ring comes first, since `segment`
//!   may fill it from then on.
//! * `SetEmss`: refused if the transmit side is not armed, or for an EMSS as above.
//! * `Revoke`: the entry is cleared already; every segment that may have seen it has been read when `access_fence` is done.
//! * `Close`: doorbells have no effect any more, `read_responder` takes no more requests, and `segment` flushes what was announced before. When nothing of the stream
//!   is under way, all of its `send_event`s have been accepted by the completion queue. Then the ring drops its octets, and
//!   the stream is as before it was armed.
//!
//! Assumptions: `request`, `stream` and `arguments` are stable while `request_valid`, which falls behind `done`. Streams are below
//! S, and those of `SetSendRing`, `SetReadResponder`, `ArmTransmit` and `SetEmss` are armed. TCP accepts the octets that it has asked for, and the host
//! consumes completions: a close stalls until then.
//!
//! Latency: 3 cycles to a refusal and for `ArmStream`; some [`SETTLE`] cycles and 256 of `segment` for `ArmTransmit`.
use crate::host::control::TransmitRequest;
use crate::parts::queue::Store;
use crate::tx::ddp::segment::command::{TransmitArguments, TransmitCommand};
use crate::tx::mpa::transmit_ring;
use rust_hdl_core::prelude::*;
use warpline_regmap::layout::stream_context;
use warpline_regmap::transmit::{emss, transmit_context};
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, comment};
use warpline_wire::mpa;

/// Cycles until what depends on a pulse has followed it: the ring is armed, `idle` and `quiet` are those behind the pulse.
pub const SETTLE: u64 = 16;
const _: () = assert!(SETTLE > transmit_ring::ARM as u64);

/// State of the request.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum Step {
    /// No request.
    Idle,
    /// The state of its stream is read.
    Look,
    /// Decides.
    Decide,
    /// A ring is offered to `send_queues`.
    Set,
    /// An array of requests is offered to `read_responder`.
    SetResponder,
    /// The transmit ring is armed.
    Ring,
    /// `segment` works.
    Command,
    /// Segments that were allowed before are read.
    Fence,
    /// Requests are flushed.
    Flush,
    /// The transmit ring drops its octets.
    Drop,
    /// The request is done.
    Done,
}

/// Transmit control of S streams.
#[derive(Block)]
#[block(default)]
pub struct TransmitControl<const S: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,

    /// What is to be done.
    pub request: Signal<In, TransmitRequest>,
    /// It is valid, until `done`.
    pub request_valid: Signal<In, Bit>,
    /// Stream of it.
    pub request_stream: Signal<In, Bits<8>>,
    /// Words of `ARGUMENT`, word 0 in the lowest bits.
    pub arguments: Signal<In, Bits<256>>,
    /// Pulse: it is done.
    pub done: Signal<Out, Bit>,
    /// With `done`: it was refused.
    pub failed: Signal<Out, Bit>,

    /// `arguments` describe a send ring.
    pub set: Signal<Out, Bit>,
    /// Pulse: it is accepted.
    pub set_ready: Signal<In, Bit>,
    /// With `set_ready`: it is refused.
    pub set_failed: Signal<In, Bit>,
    /// `arguments` describe an array of Read Requests.
    pub set_responder: Signal<Out, Bit>,
    /// Pulse: it is accepted.
    pub set_responder_ready: Signal<In, Bit>,
    /// With `set_responder_ready`: it is refused.
    pub set_responder_failed: Signal<In, Bit>,
    /// Pulse: later doorbells and Read Requests of `stream` have no effect.
    pub freeze_doorbells: Signal<Out, Bit>,
    /// Pulse: the send ring of `stream` is removed.
    pub detach: Signal<Out, Bit>,
    /// Pulse: the transmit ring of `stream` is empty, and lives.
    pub ring_arm: Signal<Out, Bit>,
    /// Pulse: nothing of `stream` is sent any more.
    pub ring_close: Signal<Out, Bit>,
    /// Nothing of `stream` is under way in the transmit ring.
    pub ring_quiet: Signal<In, Bit>,
    /// Stream of these.
    pub stream: Signal<Out, Bits<8>>,
    /// TCP sequence number of stream position 0.
    pub sequence_start: Signal<Out, Bits<32>>,
    /// No request of the stream is announced that is not done with, no Read Request is under way, and none of its segments.
    pub idle: [Signal<In, Bit>; S],
    /// Streams that `ARM_TRANSMIT` has armed.
    pub is_armed: [Signal<In, Bit>; S],

    /// A command for `segment`.
    pub command: Signal<Out, TransmitCommand>,
    /// Its arguments.
    pub m_command: Signal<Out, TransmitArguments>,
    /// It is valid.
    pub command_valid: Signal<Out, Bit>,
    /// Pulse: it is carried out.
    pub command_done: Signal<In, Bit>,

    /// Pulse: `access_fence` begins.
    pub fence: Signal<Out, Bit>,
    /// Every segment that entered before `fence` has left.
    pub fence_passed: Signal<In, Bit>,

    domains: Store<Bits<16>, 4>,
    step: Dff<Step>,
    age: Dff<Bits<5>>,
    asked: Dff<TransmitCommand>,
    refused: Dff<Bit>,
    armed_now: Dff<Bit>,
    resting: Dff<Bit>,
    emss_legal: Dff<Bit>,
    freeze_pulse: Dff<Bit>,
    detach_pulse: Dff<Bit>,
    ring_arm_pulse: Dff<Bit>,
    ring_close_pulse: Dff<Bit>,
    fence_pulse: Dff<Bit>,
    arms: Signal<Local, Bit>,
    emss: Signal<Local, Bits<16>>,
    has_settled: Signal<Local, Bit>,
    #[constant(|i| i)]
    index: [Constant<Bits<4>>; S],
    #[constant(SETTLE)]
    settle: Constant<Bits<5>>,
    #[constant(stream_context::PROTECTION_DOMAIN.lsb)]
    domain_at: Constant<Bits<8>>,
    #[constant(transmit_context::MARKERS.lsb)]
    markers_at: Constant<Bits<8>>,
    #[constant(transmit_context::CRC.lsb)]
    crc_at: Constant<Bits<8>>,
    #[constant(transmit_context::GATE.lsb)]
    gate_at: Constant<Bits<8>>,
    #[constant(transmit_context::EMSS.lsb)]
    emss_at: Constant<Bits<8>>,
    #[constant(transmit_context::SEQUENCE_START.lsb)]
    sequence_at: Constant<Bits<8>>,
    #[constant(transmit_context::FIRST_MSN.lsb)]
    msn_at: Constant<Bits<8>>,
    #[constant(mpa::MIN_MULPDU)]
    least_emss: Constant<Bits<16>>,
}

const _: () = assert!(
    transmit_context::EMSS.lsb == emss::EMSS.lsb,
    "both commands have it at the same place"
);

impl<const S: usize> Logic for TransmitControl<S> {
    #[hdl_gen]
    fn update(&mut self) {
        self.stream.next = self.request_stream.val();
        self.set.next = self.step.q.val() == Step::Set;
        self.set_responder.next = self.step.q.val() == Step::SetResponder;
        self.command_valid.next = self.step.q.val() == Step::Command;
        self.command.next = self.asked.q.val();
        self.done.next = self.step.q.val() == Step::Done;
        self.failed.next = self.refused.q.val();
        self.freeze_doorbells.next = self.freeze_pulse.q.val();
        self.detach.next = self.detach_pulse.q.val();
        self.ring_arm.next = self.ring_arm_pulse.q.val();
        self.ring_close.next = self.ring_close_pulse.q.val();
        self.fence.next = self.fence_pulse.q.val();

        comment!("arguments");
        self.emss.next = self
            .arguments
            .val()
            .get_bits::<16>(self.emss_at.val().index());
        self.emss_legal.d.next = self.emss.val() >= self.least_emss.val();
        self.sequence_start.next = self
            .arguments
            .val()
            .get_bits::<32>(self.sequence_at.val().index());
        self.m_command.next.stream = self.request_stream.val();
        self.m_command.next.protection_domain = self.domains.out.val();
        self.m_command.next.markers = self.arguments.val().get_bit(self.markers_at.val().index());
        self.m_command.next.crc = self.arguments.val().get_bit(self.crc_at.val().index());
        self.m_command.next.gate = self.arguments.val().get_bit(self.gate_at.val().index());
        self.m_command.next.emss = self.emss.val();
        self.m_command.next.first_msn = self
            .arguments
            .val()
            .get_bits::<32>(self.msn_at.val().index());
        self.domains.read_row.next = self.request_stream.val().get_bits::<4>(0);
        self.domains.write_row.next = self.request_stream.val().get_bits::<4>(0);
        self.domains.data.next = self
            .arguments
            .val()
            .get_bits::<16>(self.domain_at.val().index());
        self.domains.write.next = false;

        comment!("the stream");
        self.armed_now.d.next = false;
        self.resting.d.next = false;
        for i in 0..S {
            if self.request_stream.val().get_bits::<4>(0) == self.index[i].val() {
                self.armed_now.d.next = self.is_armed[i].val();
                self.resting.d.next = self.idle[i].val();
            }
        }

        self.arms.next = self.request.val() == TransmitRequest::ArmTransmit;
        self.has_settled.next = self.age.q.val() == self.settle.val();
        self.freeze_pulse.d.next = false;
        self.detach_pulse.d.next = false;
        self.ring_arm_pulse.d.next = false;
        self.ring_close_pulse.d.next = false;
        self.fence_pulse.d.next = false;
        self.age.d.next = 0.into();
        match self.step.q.val() {
            Step::Idle => {
                self.refused.d.next = false;
                if self.request_valid.val() {
                    self.step.d.next = Step::Look;
                }
            }
            Step::Look => {
                self.step.d.next = Step::Decide;
            }
            Step::Decide => match self.request.val() {
                TransmitRequest::ArmStream => {
                    self.domains.write.next = true;
                    self.step.d.next = Step::Done;
                }
                TransmitRequest::SetSendRing => {
                    self.step.d.next = Step::Set;
                }
                TransmitRequest::SetReadResponder => {
                    self.step.d.next = Step::SetResponder;
                }
                TransmitRequest::Revoke => {
                    self.fence_pulse.d.next = true;
                    self.step.d.next = Step::Fence;
                }
                TransmitRequest::Close => {
                    self.freeze_pulse.d.next = true;
                    self.asked.d.next = TransmitCommand::Close;
                    self.step.d.next = Step::Command;
                }
                _ => {
                    self.refused.d.next = true;
                    self.step.d.next = Step::Done;
                    self.asked.d.next = TransmitCommand::SetEmss;
                    if self.arms.val() {
                        self.asked.d.next = TransmitCommand::Arm;
                    }
                    if self.emss_legal.q.val() & (self.armed_now.q.val() != self.arms.val()) {
                        self.refused.d.next = false;
                        self.step.d.next = Step::Command;
                        if self.arms.val() {
                            self.ring_arm_pulse.d.next = true;
                            self.step.d.next = Step::Ring;
                        }
                    }
                }
            },
            Step::Set => {
                if self.set_ready.val() {
                    self.refused.d.next = self.set_failed.val();
                    self.step.d.next = Step::Done;
                }
            }
            Step::SetResponder => {
                if self.set_responder_ready.val() {
                    self.refused.d.next = self.set_responder_failed.val();
                    self.step.d.next = Step::Done;
                }
            }
            Step::Ring => {
                self.age.d.next = self.age.q.val() + 1;
                if self.has_settled.val() {
                    self.step.d.next = Step::Command;
                }
            }
            Step::Command => {
                if self.command_done.val() {
                    self.step.d.next = Step::Done;
                    if self.asked.q.val() == TransmitCommand::Close {
                        self.step.d.next = Step::Flush;
                    }
                }
            }
            Step::Fence => {
                self.age.d.next = self.age.q.val() + 1;
                if self.has_settled.val() {
                    self.age.d.next = self.age.q.val();
                    if self.fence_passed.val() {
                        self.step.d.next = Step::Done;
                    }
                }
            }
            Step::Flush => {
                self.age.d.next = self.age.q.val() + 1;
                if self.has_settled.val() {
                    self.age.d.next = self.age.q.val();
                    if self.resting.q.val() {
                        self.age.d.next = 0.into();
                        self.ring_close_pulse.d.next = true;
                        self.step.d.next = Step::Drop;
                    }
                }
            }
            Step::Drop => {
                self.age.d.next = self.age.q.val() + 1;
                if self.has_settled.val() {
                    self.age.d.next = self.age.q.val();
                    if self.ring_quiet.val() {
                        self.detach_pulse.d.next = true;
                        self.asked.d.next = TransmitCommand::Clear;
                        self.step.d.next = Step::Command;
                    }
                }
            }
            Step::Done => {
                self.step.d.next = Step::Idle;
            }
        }
        if self.reset.val() {
            self.step.d.next = Step::Idle;
            self.freeze_pulse.d.next = false;
            self.detach_pulse.d.next = false;
            self.ring_arm_pulse.d.next = false;
            self.ring_close_pulse.d.next = false;
            self.fence_pulse.d.next = false;
        }
    }
}
