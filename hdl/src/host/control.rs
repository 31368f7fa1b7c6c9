//! Executes the host's commands, one at a time.
//!
//! ```text
//!  registers ─ start, number ─► decide ─┬─► set ring ─────────────────────────────────────► done, or refused
//!                                       ├─► transmit ─────────────────────────────────────► done, or refused
//!                                       └─► check ─► result ─┬────────────────────────────► done, or refused
//!                                             ▲              ├─ arm ─► transmit ──────────► done
//!                                             │              ├─ freeze ─► settle ─► drain ─┐
//!                                             │              ├─ revoke ────────────────────┤
//!                                             └── fence ◄────┼────────────────── transmit ◄┘
//!                                                            └─ fence ─► fence_done ──────► done
//! ```
//!
//! * `WRITE_STAG`, `POST_RECEIVE`: carried out by `check` alone.
//! * `REVOKE_STAG`: `check` clears the entry, then a fence follows all FPDUs accepted before. When the fence returns, no
//!   write through the STag can happen any more (AMB-42, DDP-SEC-22).
//! * `ARM_STREAM`: refused when there is no such stream or it is armed. `check` comes first, because its state must be
//!   valid before the first octet arrives; then `arm` goes to the blocks in front of it.
//! * `SET_RECEIVE_RING`: refused unless the stream is armed with that queue and has no ring for it, and the ring is
//!   aligned and of a legal size; the rest is done by `receive_rings`.
//! * `CLOSE_STREAM`: refused when there is no such stream. `close` stops admission and scan, `check` discards the FPDUs
//!   that still arrive, then `forget` removes the stream's rings (not earlier: a segment held for a buffer would be judged
//!   to have none), and after [`SETTLE`] cycles no new FPDU starts. When the last FPDU under way has reached `check` and
//!   `receive_rings` has no read of the stream under way, a fence follows. Then nothing of the old owner is left: the
//!   stream can be armed again, and the host may unmap the rings.
//!
//! * `SET_SEND_RING`, `ARM_TRANSMIT`, `SET_EMSS`, `SET_READ_RESPONDER`: refused unless the stream is armed; the rest is done by `transmit_control`,
//!   which follows `ARM_STREAM`, and is part of `REVOKE_STAG` and `CLOSE_STREAM` in front of their fence. A device that
//!   receives only has none of this.
//!
//! Assumptions: `arguments` is stable while `busy`. [`SETTLE`] cycles after `close` the blocks in front of `check`
//! move no octet and issue no FPDU of the stream. `consumed` pulses once for each `issued`, before `check` accepts
//! another command. At most 255 FPDUs of a stream are under way. `quiet` is low from the fourth cycle after `forget`
//! until `receive_rings` is done with the stream. `fence_done` pulses once for each fence, at any time after it.
//!
//! Latency: a refusal takes two cycles from `start`; a command of `check` takes two cycles more than `check` does; a
//! close takes [`SETTLE`] cycles more.
use crate::Config;
use crate::rx::ddp::check::CheckCommand;
use rust_hdl_core::prelude::*;
use warpline_regmap::layout::{close, receive_ring, stream_context};
use warpline_regmap::register::command;
use warpline_regmap::transmit::{self, emss, read_responder, send_ring, transmit_context};
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, comment};

/// Cycles after `close` until `admit`, `assembly` and `scan` have drained.
pub const SETTLE: u64 = 64;

/// What `transmit_control` has to do. The arguments are those of the host's command.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum TransmitRequest {
    /// `ARM_STREAM` was carried out.
    ArmStream,
    /// `SET_SEND_RING`.
    SetSendRing,
    /// `ARM_TRANSMIT`.
    ArmTransmit,
    /// `SET_EMSS`.
    SetEmss,
    /// `SET_READ_RESPONDER`.
    SetReadResponder,
    /// `REVOKE_STAG`: the entry is cleared; what was allowed before has been read when this is done.
    Revoke,
    /// `CLOSE_STREAM`.
    Close,
}

/// State of the command.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum Step {
    /// No command.
    Idle,
    /// Selects the command for `check`.
    Decide,
    /// The command is offered to `check`.
    Ask,
    /// `check` carries it out.
    Answer,
    /// A ring is offered to `receive_rings`.
    Set,
    /// `transmit_control` works.
    Transmit,
    /// The front of the receive path drains.
    Settle,
    /// FPDUs or reads of the stream are under way.
    Drain,
    /// The fence is under way.
    Fence,
}

/// Commands for a device with S streams.
#[derive(Block)]
#[block(config: &Config)]
pub struct Control<const S: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,

    /// Pulse: starts the command `number`; ignored while `busy`.
    pub start: Signal<In, Bit>,
    /// Number of the command, `regmap::register::command`; stable while `busy`.
    pub number: Signal<In, Bits<8>>,
    /// Words of `ARGUMENT`, word 0 in the lowest bits; stable while `busy`. `check` reads them, too.
    pub arguments: Signal<In, Bits<256>>,
    /// The command is not done; high from the cycle after `start`.
    pub busy: Signal<Out, Bit>,
    /// The last command was refused; valid when not `busy`.
    pub failed: Signal<Out, Bit>,

    /// Command for `check`.
    pub command: Signal<Out, CheckCommand>,
    /// It is valid.
    pub command_valid: Signal<Out, Bit>,
    /// It is accepted.
    pub command_ready: Signal<In, Bit>,
    /// Pulse: it is done.
    pub command_done: Signal<In, Bit>,
    /// With `command_done`: it was refused.
    pub command_failed: Signal<In, Bit>,

    /// Pulse: `stream` enters full operation.
    pub arm: Signal<Out, Bit>,
    /// Pulse: `stream` no longer accepts octets.
    pub close: Signal<Out, Bit>,
    /// Stream of `arm`, `close` and `forget`.
    pub stream: Signal<Out, Bits<8>>,
    /// With `arm`: the peer inserts markers.
    pub markers: Signal<Out, Bit>,
    /// With `arm`: CRCs are checked.
    pub crc: Signal<Out, Bit>,
    /// With `arm`: any ULPDU_Length is accepted. Low with `markers`.
    pub long_ulpdus: Signal<Out, Bit>,
    /// With `arm`: sequence number of position 0.
    pub sequence_start: Signal<Out, Bits<32>>,

    /// `arguments` describe a receive ring for `receive_rings`.
    pub set: Signal<Out, Bit>,
    /// Pulse: they are accepted.
    pub set_ready: Signal<In, Bit>,
    /// With `set_ready`: the queue has a ring already.
    pub set_failed: Signal<In, Bit>,
    /// Pulse: the receive rings of `stream` are removed.
    pub forget: Signal<Out, Bit>,
    /// Nothing of `stream` is under way in `receive_rings`.
    pub quiet: Signal<In, Bit>,

    /// What `transmit_control` has to do.
    pub transmit: Signal<Out, TransmitRequest>,
    /// It is valid, until `transmit_done`.
    pub transmit_valid: Signal<Out, Bit>,
    /// Pulse: it is done.
    pub transmit_done: Signal<In, Bit>,
    /// With `transmit_done`: it was refused.
    pub transmit_failed: Signal<In, Bit>,

    /// Pulse: an FPDU of `issued_stream` was issued.
    pub issued: Signal<In, Bit>,
    /// Its stream.
    pub issued_stream: Signal<In, Bits<8>>,
    /// Pulse: an FPDU of `consumed_stream` has left `check`.
    pub consumed: Signal<In, Bit>,
    /// Its stream.
    pub consumed_stream: Signal<In, Bits<8>>,

    /// Pulse: all writes in front of the fence are answered.
    pub fence_done: Signal<In, Bit>,

    step: Dff<Step>,
    refused: Dff<Bit>,
    asked: Dff<CheckCommand>,
    pause: Dff<Bits<8>>,
    fenced: Dff<Bit>,
    arm_pulse: Dff<Bit>,
    close_pulse: Dff<Bit>,
    forget_pulse: Dff<Bit>,
    stream_given: Dff<Bits<8>>,
    markers_given: Dff<Bit>,
    crc_given: Dff<Bit>,
    long_given: Dff<Bit>,
    sequence_given: Dff<Bits<32>>,
    queues_given: Dff<Bits<4>>,
    ring_legal: Dff<Bit>,
    exists: Dff<Bit>,
    is_armed: Dff<Bit>,
    stream_queues: Dff<Bits<4>>,
    queue_given: Dff<Bits<8>>,
    is_other: Dff<Bit>,
    is_arm: Dff<Bit>,
    is_set: Dff<Bit>,
    is_close: Dff<Bit>,
    is_send_ring: Dff<Bit>,
    is_arm_transmit: Dff<Bit>,
    is_emss: Dff<Bit>,
    is_responder: Dff<Bit>,
    transmit_asked: Dff<TransmitRequest>,
    is_empty: Dff<Bit>,
    came: Dff<Bit>,
    came_stream: Dff<Bits<8>>,
    left: Dff<Bit>,
    left_stream: Dff<Bits<8>>,

    armed: [Dff<Bit>; S],
    queues: [Dff<Bits<4>>; S],
    under_way: [Dff<Bits<8>>; S],
    up: [Signal<Local, Bit>; S],
    down: [Signal<Local, Bit>; S],
    named_stream: Signal<Local, Bits<8>>,
    named_queue: Signal<Local, Bits<8>>,
    ring_queue: Signal<Local, Bits<2>>,
    has_queue: Signal<Local, Bit>,
    entries: Signal<Local, Bits<16>>,

    #[constant(|i| i)]
    index: [Constant<Bits<4>>; S],
    #[constant(config.transmit)]
    transmits: Constant<Bit>,
    #[constant(SETTLE)]
    settle: Constant<Bits<8>>,
    #[constant(stream_context::STREAM.lsb)]
    stream_at: Constant<Bits<8>>,
    #[constant(stream_context::MARKERS.lsb)]
    markers_at: Constant<Bits<8>>,
    #[constant(stream_context::CRC.lsb)]
    crc_at: Constant<Bits<8>>,
    #[constant(stream_context::LONG_ULPDUS.lsb)]
    long_at: Constant<Bits<8>>,
    #[constant(stream_context::SEQUENCE_START.lsb)]
    sequence_at: Constant<Bits<8>>,
    #[constant(stream_context::QUEUES.lsb)]
    queues_at: Constant<Bits<8>>,
    #[constant((1 << config.queues) - 1)]
    queue_mask: Constant<Bits<4>>,
    #[constant(receive_ring::QUEUE.lsb)]
    queue_at: Constant<Bits<8>>,
    #[constant(receive_ring::ENTRIES.lsb)]
    entries_at: Constant<Bits<8>>,
    #[constant(receive_ring::BASE.lsb)]
    base_at: Constant<Bits<8>>,
    #[constant(command::WRITE_STAG)]
    write_stag: Constant<Bits<8>>,
    #[constant(command::REVOKE_STAG)]
    revoke_stag: Constant<Bits<8>>,
    #[constant(command::ARM_STREAM)]
    arm_stream: Constant<Bits<8>>,
    #[constant(command::CLOSE_STREAM)]
    close_stream: Constant<Bits<8>>,
    #[constant(command::POST_RECEIVE)]
    post_receive: Constant<Bits<8>>,
    #[constant(command::SET_RECEIVE_RING)]
    set_receive_ring: Constant<Bits<8>>,
    #[constant(transmit::SET_SEND_RING)]
    set_send_ring: Constant<Bits<8>>,
    #[constant(transmit::ARM_TRANSMIT)]
    arm_transmit: Constant<Bits<8>>,
    #[constant(transmit::SET_EMSS)]
    set_emss: Constant<Bits<8>>,
    #[constant(transmit::SET_READ_RESPONDER)]
    set_read_responder: Constant<Bits<8>>,
}

impl<const S: usize> Control<S> {
    /// Commands for the device that `config` describes.
    ///
    /// # Panics
    /// When `config.queues` is not 1 to 4.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        assert!((1..=4).contains(&config.queues), "{} queues", config.queues);
        assert!(
            [
                close::STREAM,
                receive_ring::STREAM,
                send_ring::STREAM,
                transmit_context::STREAM,
                emss::STREAM,
                read_responder::STREAM
            ]
            .iter()
            .all(|field| field.lsb == stream_context::STREAM.lsb),
            "the stream lies at the same place in all commands"
        );
        Self::assemble(config)
    }
}

impl<const S: usize> Logic for Control<S> {
    #[hdl_gen]
    fn update(&mut self) {
        self.busy.next = self.step.q.val() != Step::Idle;
        self.failed.next = self.refused.q.val();
        self.command.next = self.asked.q.val();
        self.command_valid.next = self.step.q.val() == Step::Ask;
        self.arm.next = self.arm_pulse.q.val();
        self.close.next = self.close_pulse.q.val();
        self.forget.next = self.forget_pulse.q.val();
        self.stream.next = self.stream_given.q.val();
        self.markers.next = self.markers_given.q.val();
        self.crc.next = self.crc_given.q.val();
        self.long_ulpdus.next = self.long_given.q.val() & !self.markers_given.q.val();
        self.sequence_start.next = self.sequence_given.q.val();
        self.set.next = self.step.q.val() == Step::Set;
        self.transmit.next = self.transmit_asked.q.val();
        self.transmit_valid.next = self.step.q.val() == Step::Transmit;

        comment!(
            "FPDUs under way, and the state of the stream that the command names; arguments are valid with `start`"
        );
        self.came.d.next = self.issued.val();
        self.came_stream.d.next = self.issued_stream.val();
        self.left.d.next = self.consumed.val();
        self.left_stream.d.next = self.consumed_stream.val();
        self.exists.d.next = false;
        self.is_armed.d.next = false;
        self.is_empty.d.next = false;
        self.stream_queues.d.next = 0.into();
        self.named_stream.next = self
            .arguments
            .val()
            .get_bits::<8>(self.stream_at.val().index());
        self.named_queue.next = self
            .arguments
            .val()
            .get_bits::<8>(self.queue_at.val().index());
        self.is_other.d.next = (self.number.val() == self.write_stag.val())
            | (self.number.val() == self.post_receive.val())
            | (self.number.val() == self.revoke_stag.val());
        self.is_arm.d.next = self.number.val() == self.arm_stream.val();
        self.is_set.d.next = self.number.val() == self.set_receive_ring.val();
        self.is_close.d.next = self.number.val() == self.close_stream.val();
        self.is_send_ring.d.next =
            self.transmits.val() & (self.number.val() == self.set_send_ring.val());
        self.is_arm_transmit.d.next =
            self.transmits.val() & (self.number.val() == self.arm_transmit.val());
        self.is_emss.d.next = self.transmits.val() & (self.number.val() == self.set_emss.val());
        self.is_responder.d.next =
            self.transmits.val() & (self.number.val() == self.set_read_responder.val());
        self.queue_given.d.next = self.named_queue.val();
        self.ring_queue.next = self.queue_given.q.val().get_bits::<2>(0);
        self.has_queue.next = self.is_armed.q.val()
            & !self.queue_given.q.val().get_bits::<6>(2).any()
            & self
                .stream_queues
                .q
                .val()
                .get_bit(self.ring_queue.val().index());
        for i in 0..S {
            self.armed[i].d.next = self.armed[i].q.val();
            self.queues[i].d.next = self.queues[i].q.val();
            self.under_way[i].d.next = self.under_way[i].q.val();
            self.up[i].next = self.came.q.val()
                & (self.came_stream.q.val().get_bits::<4>(0) == self.index[i].val());
            self.down[i].next = self.left.q.val()
                & (self.left_stream.q.val().get_bits::<4>(0) == self.index[i].val());
            if self.up[i].val() & !self.down[i].val() {
                self.under_way[i].d.next = self.under_way[i].q.val() + 1;
            }
            if self.down[i].val() & !self.up[i].val() {
                self.under_way[i].d.next = self.under_way[i].q.val() - 1;
            }
            if (self.named_stream.val().get_bits::<4>(0) == self.index[i].val())
                & !self.named_stream.val().get_bits::<4>(4).any()
            {
                self.exists.d.next = true;
                self.is_armed.d.next = self.armed[i].q.val();
                self.stream_queues.d.next = self.queues[i].q.val();
            }
            if self.stream_given.q.val().get_bits::<4>(0) == self.index[i].val() {
                self.is_empty.d.next = !self.under_way[i].q.val().any();
            }
        }

        if self.fence_done.val() {
            self.fenced.d.next = true;
        }
        self.entries.next = self
            .arguments
            .val()
            .get_bits::<16>(self.entries_at.val().index());
        self.arm_pulse.d.next = false;
        self.close_pulse.d.next = false;
        self.forget_pulse.d.next = false;
        match self.step.q.val() {
            Step::Idle => {
                self.fenced.d.next = false;
                if self.start.val() {
                    self.refused.d.next = false;
                    self.stream_given.d.next = self.named_stream.val();
                    self.markers_given.d.next =
                        self.arguments.val().get_bit(self.markers_at.val().index());
                    self.crc_given.d.next = self.arguments.val().get_bit(self.crc_at.val().index());
                    self.long_given.d.next =
                        self.arguments.val().get_bit(self.long_at.val().index());
                    self.sequence_given.d.next = self
                        .arguments
                        .val()
                        .get_bits::<32>(self.sequence_at.val().index());
                    self.queues_given.d.next = self
                        .arguments
                        .val()
                        .get_bits::<4>(self.queues_at.val().index())
                        & self.queue_mask.val();
                    comment!(
                        "a power of two of 16 or more; the eight low bits of the base are zero"
                    );
                    self.ring_legal.d.next = self.entries.val().get_bits::<12>(4).any()
                        & !(self.entries.val() & (self.entries.val() - 1)).any()
                        & !self
                            .arguments
                            .val()
                            .get_bits::<8>(self.base_at.val().index())
                            .any();
                    comment!("the command for `check`, if there is one");
                    self.asked.d.next = CheckCommand::WriteStag;
                    if self.number.val() == self.post_receive.val() {
                        self.asked.d.next = CheckCommand::PostReceive;
                    }
                    if self.number.val() == self.revoke_stag.val() {
                        self.asked.d.next = CheckCommand::RevokeStag;
                    }
                    if self.number.val() == self.arm_stream.val() {
                        self.asked.d.next = CheckCommand::Arm;
                    }
                    if self.number.val() == self.close_stream.val() {
                        self.asked.d.next = CheckCommand::Freeze;
                    }
                    self.step.d.next = Step::Decide;
                }
            }
            Step::Decide => {
                comment!("refused unless it is one of the commands");
                self.refused.d.next = true;
                self.step.d.next = Step::Idle;
                if self.is_other.q.val() {
                    self.refused.d.next = false;
                    self.step.d.next = Step::Ask;
                }
                if self.is_arm.q.val() & self.exists.q.val() & !self.is_armed.q.val() {
                    self.refused.d.next = false;
                    self.step.d.next = Step::Ask;
                }
                if self.is_set.q.val() & self.has_queue.val() & self.ring_legal.q.val() {
                    self.refused.d.next = false;
                    self.step.d.next = Step::Set;
                }
                self.transmit_asked.d.next = TransmitRequest::SetSendRing;
                if self.is_arm_transmit.q.val() {
                    self.transmit_asked.d.next = TransmitRequest::ArmTransmit;
                }
                if self.is_emss.q.val() {
                    self.transmit_asked.d.next = TransmitRequest::SetEmss;
                }
                if self.is_responder.q.val() {
                    self.transmit_asked.d.next = TransmitRequest::SetReadResponder;
                }
                if (self.is_send_ring.q.val()
                    | self.is_arm_transmit.q.val()
                    | self.is_emss.q.val()
                    | self.is_responder.q.val())
                    & self.is_armed.q.val()
                {
                    self.refused.d.next = false;
                    self.step.d.next = Step::Transmit;
                }
                if self.is_close.q.val() & self.exists.q.val() {
                    self.refused.d.next = false;
                    self.close_pulse.d.next = true;
                    self.step.d.next = Step::Ask;
                }
            }
            Step::Ask => {
                if self.command_ready.val() {
                    self.step.d.next = Step::Answer;
                }
            }
            Step::Answer => {
                if self.command_done.val() {
                    self.pause.d.next = self.settle.val();
                    self.step.d.next = Step::Idle;
                    match self.asked.q.val() {
                        CheckCommand::RevokeStag => {
                            self.asked.d.next = CheckCommand::Fence;
                            self.transmit_asked.d.next = TransmitRequest::Revoke;
                            self.step.d.next = Step::Ask;
                            if self.transmits.val() {
                                self.step.d.next = Step::Transmit;
                            }
                        }
                        CheckCommand::Arm => {
                            self.transmit_asked.d.next = TransmitRequest::ArmStream;
                            if self.transmits.val() {
                                self.step.d.next = Step::Transmit;
                            }
                            self.arm_pulse.d.next = !self.command_failed.val();
                            for i in 0..S {
                                if self.stream_given.q.val().get_bits::<4>(0) == self.index[i].val()
                                {
                                    self.armed[i].d.next = !self.command_failed.val();
                                    self.queues[i].d.next = self.queues_given.q.val();
                                }
                            }
                        }
                        CheckCommand::Freeze => {
                            self.forget_pulse.d.next = true;
                            self.step.d.next = Step::Settle;
                        }
                        CheckCommand::Fence => {
                            self.step.d.next = Step::Fence;
                        }
                        _ => {}
                    }
                    if self.command_failed.val() {
                        self.refused.d.next = true;
                        self.step.d.next = Step::Idle;
                    }
                }
            }
            Step::Set => {
                if self.set_ready.val() {
                    self.refused.d.next = self.set_failed.val();
                    self.step.d.next = Step::Idle;
                }
            }
            Step::Transmit => {
                if self.transmit_done.val() {
                    self.refused.d.next = self.transmit_failed.val();
                    self.step.d.next = Step::Idle;
                    if (self.transmit_asked.q.val() == TransmitRequest::Revoke)
                        | (self.transmit_asked.q.val() == TransmitRequest::Close)
                    {
                        self.step.d.next = Step::Ask;
                    }
                }
            }
            Step::Settle => {
                self.pause.d.next = self.pause.q.val() - 1;
                if self.pause.q.val() == 1 {
                    self.step.d.next = Step::Drain;
                }
            }
            Step::Drain => {
                if self.is_empty.q.val() & self.quiet.val() {
                    self.asked.d.next = CheckCommand::Fence;
                    self.transmit_asked.d.next = TransmitRequest::Close;
                    self.step.d.next = Step::Ask;
                    if self.transmits.val() {
                        self.step.d.next = Step::Transmit;
                    }
                }
            }
            Step::Fence => {
                if self.fenced.q.val() {
                    self.step.d.next = Step::Idle;
                    if self.is_close.q.val() {
                        for i in 0..S {
                            if self.stream_given.q.val().get_bits::<4>(0) == self.index[i].val() {
                                self.armed[i].d.next = false;
                            }
                        }
                    }
                }
            }
            _ => {
                self.step.d.next = Step::Idle;
            }
        }

        if self.reset.val() {
            self.step.d.next = Step::Idle;
            self.refused.d.next = false;
            self.fenced.d.next = false;
            self.came.d.next = false;
            self.left.d.next = false;
            self.arm_pulse.d.next = false;
            self.close_pulse.d.next = false;
            self.forget_pulse.d.next = false;
            for i in 0..S {
                self.armed[i].d.next = false;
                self.under_way[i].d.next = 0.into();
            }
        }
    }
}
