//! Check: decides, and is the only block to decide, whether an FPDU is discarded, placed and delivered, or freezes its stream.
//!
//! ```text
//!  DdpSegment ──────►┌────────┐ key ┌────────┐ outcome ┌────────┐ settled ┌───────┐
//!  command_arbiter ─►│ intake │────►│ lookup │────────►│ settle │────────►│ event │─► pair ─► place
//!  bus faults ──────►│        │     └────────┘         │        │         │       │
//!                    │        │ Verdict ──────────────►│        │         │       │
//!                    │        │◄── open, leaves ───────┤        │         │       │
//!                    └───┬────┘                        └────────┘         │       │
//!                        └── reports: messages in turn, faults, fences ──►└───────┘
//! ```
//!
//! | block | state |
//! |---|---|
//! | [`intake`] | what is worked on: FPDUs, and between them commands and faults |
//! | [`lookup`] | the tables: STags, contexts, receive queues; DDP's checks. One FPDU a cycle, never stalled |
//! | [`settle`] | the frozen bits, error records; where verdicts of MPA and DDP meet |
//! | [`event`] | the output register |
//!
//! **Tagged FPDUs** enter back to back, one a cycle. Tables and arithmetic respond [`PATIENCE`](lookup::PATIENCE) cycles later and
//! never stall; the outcome enters a queue with room for all FPDUs in between. `settle` accepts one a cycle, in
//! order, and only there is a stream found frozen or becomes frozen: the outcome of an FPDU behind a failing one is
//! ignored. The DDP checks run while the rest of the FPDU arrives and its CRC is computed; `settle` needs both
//! results. A pair leaves 11 cycles after its `DdpSegment` or 3 after its `Verdict`, whichever is later.
//!
//! **Untagged FPDUs** enter one in 4 cycles: each changes its queue in its fourth cycle, before it is judged, so that the next one
//! finds the queue as it is behind it. If it fails, its stream is frozen, and the queue of no use. Until the stream is armed anew,
//! its queues may then take more buffers than they have slots.
//!
//! A stream's first error takes 15 cycles more, because the error record is written first.
//!
//! **Commands and bus faults** begin when the block is idle; while one is pending, no FPDU enters. A command takes 9
//! cycles, `PostReceive` 5, `Arm` 28. It is delayed by at most the FPDUs that have entered (14), the last of which may still be read
//! out of its ring, provided that `place` accepts their pairs. After a command one FPDU goes first, if one is
//! pending, so that neither starves the other. After a reset the tables are cleared, one row a cycle, and
//! `command_ready` stays low until then.
//!
//! An untagged segment for which no buffer is posted, while `receive_rings` reports buffers `coming`, is kept and
//! checked again and again. Faults and commands go in between, so that the buffer can be posted, or the stream be
//! frozen, which discards the segment. FPDUs behind it, those of other streams included, are held: they leave in
//! order. This is the last resort: [`pace`](crate::rx::mpa::pace) holds a stream of TCP in its ring while its buffers are
//! under way. What comes here nevertheless was sent before its doorbell, or is of a message far ahead in an MSN window, or of SCTP.
//!
//! A stream with an MSN window accepts segments of messages behind the first one, too. They are placed at once and
//! their messages closed, but delivered only when all messages in front are: the last segment of the first message
//! delivers it and the closed messages behind it, 6 cycles each, before the next FPDU. So one FPDU holds the block
//! for at most 6·(`RECEIVE_SLOTS` − 1) cycles and the time in which it drains more.
//!
//! **An FPDU `ahead`** of a gap is placed if it passes all checks, and changes nothing else. If it fails one, a DDP
//! error that does not depend on the missing octets freezes its stream at once (AMB-11), provided that `crc` says
//! that every FPDU whole in order has been issued before it. Otherwise only its rows are released now; it is judged
//! when it is in order, and so are errors that depend on order and all errors of MPA. In order it comes as `placed`:
//! judged, counted and delivered like any other, but not written again. `ahead_done` reports the result.
//!
//! Assumptions: at most [`UNDER_WAY`](crate::rx::mpa::fetch::UNDER_WAY) FPDUs are under way, so the queues in front
//! never overflow; every `DdpSegment` has a `Verdict`, in the same order, earlier or later; stream numbers are below S.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
mod error_records;
pub mod event;
pub mod intake;
pub mod judge;
pub mod lookup;
pub mod receive_queues;
pub mod settle;
mod subject;
pub mod untagged;

pub use subject::{CheckCommand, Subject};

use crate::Config;
use crate::records::{DdpSegment, Delivery, Placement, Verdict};
use crate::tables::stag_table::StagEntry;
use event::Event;
use intake::Intake;
use lookup::Lookup;
use rust_hdl_core::prelude::*;
use settle::Settle;
use warpline_regmap::layout::{close, receive_buffer, revoke, stag_entry, stream_context};
use warpline_sv_writer::{Block, comment};

/// Check for S streams.
#[derive(Block)]
#[block(config: &Config)]
pub struct Check<const S: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,

    /// An FPDU whose header is complete.
    pub segment: Signal<In, DdpSegment>,
    /// It is valid in this cycle.
    pub segment_valid: Signal<In, Bit>,
    /// MPA's verdict about it. Its last octet is in the commit buffer when its pair leaves.
    pub verdict: Signal<In, Verdict>,
    /// It is valid in this cycle.
    pub verdict_valid: Signal<In, Bit>,

    /// Command to carry out between two FPDUs.
    pub command: Signal<In, CheckCommand>,
    /// Its arguments, word 0 in bits 31:0.
    pub arguments: Signal<In, Bits<256>>,
    /// The command is valid.
    pub command_valid: Signal<In, Bit>,
    /// It is accepted in this cycle; it and its arguments may change afterwards.
    pub command_ready: Signal<Out, Bit>,
    /// Pulse: the command accepted last is done, refused or not.
    pub command_done: Signal<Out, Bit>,
    /// With `command_done`: it was refused and changed nothing.
    pub command_failed: Signal<Out, Bit>,

    /// Pulse: a write for `bus_fault_stream` was answered with an error.
    pub bus_fault: Signal<In, Bit>,
    /// Stream of the fault.
    pub bus_fault_stream: Signal<In, Bits<8>>,
    /// Pulse: descriptors of `read_fault_stream` could not be read. No other block reports that, so an error event is sent.
    pub read_fault: Signal<In, Bit>,
    /// Stream of that fault.
    pub read_fault_stream: Signal<In, Bits<8>>,

    /// Stream of the key that is looked up, or of the buffer that is used.
    pub key_stream: Signal<Out, Bits<8>>,
    /// Its untagged queue.
    pub key_queue: Signal<Out, Bits<2>>,
    /// How many buffers of that queue lie in front of the one looked up; 2 cycles behind the key.
    pub key_distance: Signal<Out, Bits<8>>,
    /// More buffers than that are posted to the queue or under way to it; at most 2 cycles behind the distance.
    pub coming: Signal<In, Bit>,
    /// Pulse: the first buffer of that queue has been used.
    pub took: Signal<Out, Bit>,

    /// Payload to write to memory; with length 0 only `row` and `rows` count.
    pub placement: Signal<Out, Placement>,
    /// Delivery behind it; with action 0 only `stream` counts.
    pub delivery: Signal<Out, Delivery>,
    /// The pair is valid.
    pub m_valid: Signal<Out, Bit>,
    /// It is accepted.
    pub m_ready: Signal<In, Bit>,

    /// Word of an error record to read: stream in bits 7:4, word in bits 3:0.
    pub record_row: Signal<In, Bits<8>>,
    /// That word, 2 cycles later.
    pub record_data: Signal<Out, Bits<32>>,

    /// Pulse: an FPDU, or the end of a stream, has become a pair in the output register.
    pub consumed: Signal<Out, Bit>,
    /// Its stream.
    pub consumed_stream: Signal<Out, Bits<8>>,
    /// With `consumed`: it was an FPDU in order.
    pub judged: Signal<Out, Bit>,
    /// With `judged`: the stream was frozen.
    pub discarded: Signal<Out, Bit>,
    /// With `consumed`: payload octets to be placed.
    pub payload: Signal<Out, Bits<16>>,
    /// Pulse: a stream was frozen for its first error, an FPDU's or a bus fault.
    pub errors: Signal<Out, Bit>,
    /// Its stream.
    pub errors_stream: Signal<Out, Bits<8>>,
    /// With `consumed`: MPA has found the FPDU valid, whatever DDP says of it (MPA-START-10, AMB-56).
    pub mpa_accepted: Signal<Out, Bit>,

    /// A slot of the STag table changes in this cycle.
    pub stag_change: Signal<Out, Bit>,
    /// That slot.
    pub stag_change_slot: Signal<Out, Bits<12>>,
    /// Its new content.
    pub stag_change_entry: Signal<Out, StagEntry>,

    /// Pulse: an FPDU that is `ahead` has been judged.
    pub ahead_done: Signal<Out, Bit>,
    /// Its stream.
    pub ahead_stream: Signal<Out, Bits<8>>,
    /// Its stream position.
    pub ahead_position: Signal<Out, Bits<32>>,
    /// With `ahead_done`: its payload is under way to memory; in order the FPDU comes as `placed`.
    pub ahead_accepted: Signal<Out, Bit>,

    #[value(Intake::new(config))]
    intake: Intake<S>,
    #[value(Lookup::new(config))]
    lookup: Lookup<S>,
    settle: Settle<S>,
    pair: Event,
    output_free: Signal<Local, Bit>,
}

/// Cycles from a `Verdict` to its pair if the checks are done.
pub const FROM_VERDICT: usize = 3;

impl<const S: usize> Check<S> {
    /// The tables that `config` describes.
    ///
    /// # Panics
    /// When S or one of the tables' sizes is outside its range.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        assert!((1..=16).contains(&S) && (1..=4).contains(&config.queues));
        assert!(
            [stream_context::STREAM, receive_buffer::STREAM].map(|field| field.lsb)
                == [close::STREAM.lsb; 2]
                && stag_entry::STAG.lsb == revoke::STAG.lsb
                && receive_buffer::LENGTH.lsb == 32
                && receive_buffer::ADDRESS.lsb == 32 * 2
                && stream_context::FIRST_MSN.lsb == 32 * 3,
            "words of commands as the kernels read them"
        );
        Self::assemble(config)
    }
}

impl<const S: usize> Logic for Check<S> {
    #[hdl_gen]
    fn update(&mut self) {
        self.intake.reset.next = self.reset.val();
        self.settle.reset.next = self.reset.val();
        self.pair.reset.next = self.reset.val();

        comment!("what is worked on");
        self.intake.segment.next = self.segment.val();
        self.intake.segment_valid.next = self.segment_valid.val();
        self.intake.command.next = self.command.val();
        self.intake.arguments.next = self.arguments.val();
        self.intake.command_valid.next = self.command_valid.val();
        self.command_ready.next = self.intake.command_ready.val();
        self.command_done.next = self.intake.command_done.val();
        self.command_failed.next = self.intake.command_failed.val();
        self.intake.bus_fault.next = self.bus_fault.val();
        self.intake.bus_fault_stream.next = self.bus_fault_stream.val();
        self.intake.read_fault.next = self.read_fault.val();
        self.intake.read_fault_stream.next = self.read_fault_stream.val();
        self.intake.coming.next = self.coming.val();

        comment!("the key, and what tables and checks say of it");
        self.lookup.fpdu.next = self.intake.fpdu.val();
        self.lookup.stream.next = self.intake.stream.val();
        self.lookup.stag.next = self.intake.stag.val();
        self.lookup.queue.next = self.intake.queue.val();
        self.lookup.subject.next = self.intake.subject.val();
        for i in 0..8 {
            self.lookup.argument[i].next = self.intake.argument[i].val();
        }
        self.lookup.exists.next = self.intake.exists.val();
        self.intake.missing.next = self.lookup.missing.val();
        self.intake.first.next = self.lookup.first.val();
        self.intake.message_closed.next = self.lookup.message.val().closed;
        self.intake.ahead_some.next = self.lookup.ahead_some.val();
        self.intake.ahead_several.next = self.lookup.ahead_several.val();
        self.intake.lacks_buffer.next = self.lookup.lacks_buffer.val();
        self.intake.stag_missing.next = self.lookup.stag_missing.val();
        self.intake.legal.next = self.lookup.legal.val();
        self.intake.post_refused.next = self.lookup.post_refused.val();

        comment!("changes of the tables");
        self.lookup.stag_write.next = self.intake.stag_write.val();
        self.lookup.stag_clear.next = self.intake.stag_clear.val();
        self.lookup.stag_slot.next = self.intake.stag_slot.val();
        self.lookup.context_write.next = self.intake.context_write.val();
        self.lookup.clear.next = self.intake.clear.val();
        self.lookup.row.next = self.intake.row.val();
        self.lookup.start.next = self.intake.start.val();
        self.lookup.post.next = self.intake.post.val();
        self.lookup.note.next = self.intake.note.val();
        self.lookup.closes.next = self.intake.closes.val();
        self.lookup.take.next = self.intake.take.val();
        self.lookup.waited.next = self.intake.waited.val();
        self.stag_change.next = self.lookup.stag_change.val();
        self.stag_change_slot.next = self.lookup.stag_change_slot.val();
        self.stag_change_entry.next = self.lookup.stag_change_entry.val();

        comment!("FPDU, outcome and verdict meet");
        self.settle.fpdu.next = self.intake.fpdu.val();
        self.settle.fpdu_valid.next = self.intake.entered.val();
        self.settle.answer.next = self.lookup.answer.val();
        self.settle.answer_valid.next = self.intake.outcome_valid.val();
        self.settle.verdict.next = self.verdict.val();
        self.settle.verdict_valid.next = self.verdict_valid.val();
        self.intake.verdict_valid.next = self.settle.front_valid.val();
        self.intake.verdict_known.next = self.settle.front_known.val();
        self.intake.mpa_failed.next = self.settle.front_failed.val();
        self.intake.leaves.next = self.settle.leaves.val();
        for i in 0..S {
            self.intake.open[i].next = self.settle.open[i].val();
        }
        self.settle.stream.next = self.intake.stream.val();
        self.settle.freeze.next = self.intake.freeze.val();
        self.settle.thaw.next = self.intake.thaw.val();
        self.settle.record.next = self.intake.record.val();
        self.settle.record_valid.next = self.intake.subject.val() != Subject::Command;
        self.settle.clear.next = self.intake.clear.val();
        self.settle.row.next = self.intake.row.val();
        self.settle.record_row.next = self.record_row.val();
        self.record_data.next = self.settle.record_data.val();
        self.intake.record_busy.next = self.settle.record_busy.val();

        comment!("the pair");
        self.output_free.next = !self.pair.m_valid.val() | self.m_ready.val();
        self.settle.output_free.next = self.output_free.val();
        self.pair.output_free.next = self.output_free.val();
        self.pair.settled.next = self.settle.settled.val();
        self.pair.outcome.next = self.settle.outcome.val();
        self.pair.accepted.next = self.settle.accepted.val();
        self.pair.frozen.next = self.settle.frozen.val();
        self.pair.first_error.next = self.settle.first_error.val();
        self.pair.counts.next = self.settle.counts.val();
        self.pair.completes.next = self.settle.completes.val();
        self.pair.leaves.next = self.settle.leaves.val();
        self.pair.tells.next = self.intake.tells.val();
        self.pair.subject.next = self.intake.subject.val();
        self.pair.stream.next = self.intake.stream.val();
        self.pair.queue.next = self.intake.queue.val();
        self.pair.msn.next = self.lookup.msn.val();
        self.pair.message.next = self.lookup.message.val();
        self.pair.closed_hole.next = self.lookup.closed_hole.val();
        self.pair.record_busy.next = self.settle.record_busy.val();
        self.intake.told.next = self.pair.told.val();
        self.placement.next = self.pair.placement.val();
        self.delivery.next = self.pair.delivery.val();
        self.m_valid.next = self.pair.m_valid.val();

        comment!("pulses");
        self.consumed.next = self.settle.consumed.val();
        self.consumed_stream.next = self.pair.delivery.val().stream;
        self.judged.next = self.settle.judged.val();
        self.discarded.next = self.settle.discarded.val();
        self.payload.next = self.settle.payload.val();
        self.mpa_accepted.next = self.settle.mpa_accepted.val();
        self.ahead_done.next = self.settle.ahead_done.val();
        self.ahead_stream.next = self.pair.delivery.val().stream;
        self.ahead_position.next = self.settle.ahead_position.val();
        self.ahead_accepted.next = self.settle.ahead_accepted.val();
        self.errors.next = self.settle.errors.val() | self.intake.faulted.val();
        self.errors_stream.next = self.settle.errors_stream.val();
        self.took.next = self.settle.took.val() | self.intake.took.val();
        self.key_distance.next = self.lookup.distance.val();
        self.key_stream.next = self.settle.took_stream.val();
        self.key_queue.next = self.settle.took_queue.val();
        if self.intake.looks.val() {
            self.key_stream.next = self.intake.stream.val();
            self.key_queue.next = self.intake.queue.val();
        }
    }
}
