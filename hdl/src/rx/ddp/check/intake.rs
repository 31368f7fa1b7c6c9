//! Intake: what `check` works on. FPDUs enter one behind the other; commands, faults, and messages whose turn has come find the
//! pipeline empty.
//!
//! ```text
//!                                  ┌─ tagged ─────────────────────────────────────────────┐
//!  DdpSegment ─►[queue]─┬─► Idle ──┼─ untagged ─► Hold: its queue changes ────────────────┼─► outcome
//!  kept FPDU ───────────┘          └─ untagged, no buffer ─► Hold ─► Drain ─► Look ─┬─────┘
//!                                                                                   └─► kept
//!  command, fault ────────► Idle ─► Look ─► Tell or Finish ─► Idle
//!  closed messages ───────────────► Drain ─► Look ─► Tell, one by one ─► Idle
//! ```
//!
//! The key is the subject of all look-ups. A tagged FPDU has it for one cycle, an untagged one for four: its queue is looked up in the
//! first two, judged in the third, and changed in the fourth, before the verdict on the FPDU. That is safe: an FPDU in order that
//! fails freezes its stream, whose queues are unused until it is armed anew. An FPDU `ahead` of a gap changes no queue, and neither
//! does a refused one.
//!
//! An untagged FPDU without a buffer does not enter. When all in front are settled, it fails, or is kept while a buffer is
//! coming: then faults and commands go in between, and it is looked up again. FPDUs behind it wait.
//!
//! Where the first message of a queue is complete and later ones are closed, intake drains the pipeline and looks them up one by
//! one. Nothing enters until an open one is found.
//!
//! With `outcome_valid` the outcome of an FPDU is ready, in the order in which FPDUs have entered: in cycle
//! [`PATIENCE`](super::lookup::PATIENCE) + 1 of its key.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use super::lookup::{self, PATIENCE};
use super::receive_queues;
use super::subject::{CheckCommand, Subject};
use crate::Config;
use crate::parts::delay::Delay;
use crate::parts::queue::Queue;
use crate::records::{self, DdpSegment};
use rust_hdl_core::prelude::*;
use warpline_regmap::layout::{close, receive_buffer, revoke};
use warpline_regmap::register::STAG_KEY_BITS;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, comment};

/// State of the work.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
enum State {
    /// Rows are cleared after a reset.
    Clear,
    /// The next thing may begin.
    Idle,
    /// An untagged FPDU holds the key.
    Hold,
    /// What has entered is settled first.
    Drain,
    /// The key is held; tables and arithmetic respond.
    Look,
    /// A report is held until it is passed on.
    Tell,
    /// The error record is written.
    Finish,
}

/// With fewer FPDUs between intake and the output register another one enters. Two more enter before the count is visible, and the
/// queues behind have 16 rows.
const CROWD: u64 = 13;

/// Intake for S streams.
#[derive(Block)]
#[block(config: &Config)]
pub struct Intake<const S: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,

    /// An FPDU whose header is complete.
    pub segment: Signal<In, DdpSegment>,
    /// It is valid in this cycle.
    pub segment_valid: Signal<In, Bit>,
    /// Command to carry out between two FPDUs.
    pub command: Signal<In, CheckCommand>,
    /// Its arguments, word 0 in bits 31:0.
    pub arguments: Signal<In, Bits<256>>,
    /// The command is valid.
    pub command_valid: Signal<In, Bit>,
    /// It is accepted in this cycle.
    pub command_ready: Signal<Out, Bit>,
    /// Pulse: the command accepted last is done, refused or not.
    pub command_done: Signal<Out, Bit>,
    /// With `command_done`: it was refused and changed nothing.
    pub command_failed: Signal<Out, Bit>,
    /// Pulse: a write for `bus_fault_stream` was answered with an error.
    pub bus_fault: Signal<In, Bit>,
    /// Stream of the fault.
    pub bus_fault_stream: Signal<In, Bits<8>>,
    /// Pulse: descriptors of `read_fault_stream` could not be read.
    pub read_fault: Signal<In, Bit>,
    /// Stream of that fault.
    pub read_fault_stream: Signal<In, Bits<8>>,

    /// The key: its FPDU.
    pub fpdu: Signal<Out, DdpSegment>,
    /// Its stream.
    pub stream: Signal<Out, Bits<8>>,
    /// Its STag.
    pub stag: Signal<Out, Bits<32>>,
    /// Its untagged queue.
    pub queue: Signal<Out, Bits<2>>,
    /// It is about this.
    pub subject: Signal<Out, Subject>,
    /// Words of the command.
    pub argument: [Signal<Out, Bits<32>>; 8],
    /// There is such a stream.
    pub exists: Signal<Out, Bit>,
    /// The key is looked up with nothing in front of it, or `took` is of its queue: then `coming` and `took` are about the key.
    pub looks: Signal<Out, Bit>,

    /// Nothing is posted for the untagged FPDU of the key; from its fourth cycle on.
    pub missing: Signal<In, Bit>,
    /// It belongs to the first message; from its fourth cycle on.
    pub first: Signal<In, Bit>,
    /// The message of the key is closed already.
    pub message_closed: Signal<In, Bit>,
    /// Messages behind the first one are closed; from its fourth cycle on.
    pub ahead_some: Signal<In, Bit>,
    /// More than one of them.
    pub ahead_several: Signal<In, Bit>,
    /// A buffer is what the FPDU of the key lacks, and one as far from the first as the queue can hold.
    pub lacks_buffer: Signal<In, Bit>,
    /// More buffers than lie in front of it are posted, or under way.
    pub coming: Signal<In, Bit>,
    /// No entry has the STag of the key.
    pub stag_missing: Signal<In, Bit>,
    /// The region of the command ends at 2^64 or before.
    pub legal: Signal<In, Bit>,
    /// The queue takes no buffer.
    pub post_refused: Signal<In, Bit>,

    /// Writes the command's entry of the STag table.
    pub stag_write: Signal<Out, Bit>,
    /// Clears slot `stag_slot`.
    pub stag_clear: Signal<Out, Bit>,
    /// That slot.
    pub stag_slot: Signal<Out, Bits<12>>,
    /// Writes the command's context of the stream.
    pub context_write: Signal<Out, Bit>,
    /// Clears a row of contexts and of error records: `row`.
    pub clear: Signal<Out, Bit>,
    /// That row.
    pub row: Signal<Out, Bits<8>>,
    /// Empties the queue of the key.
    pub start: Signal<Out, Bit>,
    /// Appends the command's buffer to it.
    pub post: Signal<Out, Bit>,
    /// Notes the segment of the key in its message.
    pub note: Signal<Out, Bit>,
    /// With `note`: this closes the message, and it is not the first one.
    pub closes: Signal<Out, Bit>,
    /// The first message is complete: its buffer leaves the queue.
    pub take: Signal<Out, Bit>,
    /// With `take`: the message was closed before it became the first one.
    pub waited: Signal<Out, Bit>,

    /// The FPDU of the key is a new one.
    pub entered: Signal<Out, Bit>,
    /// The outcome of the oldest FPDU that has entered is valid in this cycle.
    pub outcome_valid: Signal<Out, Bit>,
    /// The verdict of the oldest FPDU has come.
    pub verdict_valid: Signal<In, Bit>,
    /// It had come a cycle before, and `mpa_failed` is of it.
    pub verdict_known: Signal<In, Bit>,
    /// MPA has found it wrong.
    pub mpa_failed: Signal<In, Bit>,
    /// An FPDU leaves in this cycle.
    pub leaves: Signal<In, Bit>,
    /// Streams that are not frozen.
    pub open: [Signal<In, Bit>; S],
    /// Freezes the stream of the key.
    pub freeze: Signal<Out, Bit>,
    /// Opens it.
    pub thaw: Signal<Out, Bit>,
    /// Writes its error record: zeros for a command, only VALID for a fault.
    pub record: Signal<Out, Bit>,
    /// An error record is being written.
    pub record_busy: Signal<In, Bit>,
    /// A report about the subject is to be passed on.
    pub tells: Signal<Out, Bit>,
    /// It is passed on in this cycle.
    pub told: Signal<In, Bit>,
    /// Pulse: a stream was frozen for a fault of the bus.
    pub faulted: Signal<Out, Bit>,
    /// Pulse: the first buffer of the key's queue has been used.
    pub took: Signal<Out, Bit>,

    segments: Queue<DdpSegment, 5>,
    fault: [Dff<Bit>; S],
    read_failed: [Dff<Bit>; S],
    fault_found: Dff<Bit>,
    fault_of_read: Dff<Bit>,
    fault_stream: Dff<Bits<4>>,

    state: Dff<State>,
    /// `state` is `Idle`, as a register of its own, because many signals depend on it.
    resting: Dff<Bit>,
    /// `state` is `Look` or `Tell`, or a report has been passed on.
    looking: Dff<Bit>,
    next_state: Signal<Local, State>,
    about: Dff<Subject>,
    timer: Dff<Bits<4>>,
    due: Dff<Bit>,
    sweep: Dff<Bits<12>>,
    order: Dff<CheckCommand>,
    words: [Dff<Bits<32>>; 8],
    key: Dff<DdpSegment>,
    key_stream: Dff<Bits<8>>,
    key_stag: Dff<Bits<32>>,
    key_queue: Dff<Bits<2>>,
    stream_exists: Dff<Bit>,
    closed: Dff<Bit>,
    kept: Dff<Bit>,
    reports: Dff<Bit>,
    fpdu_next: Dff<Bit>,

    // FPDUs between here and the output register
    flight: Dff<Bits<8>>,
    vacant: Dff<Bit>,
    room: Dff<Bit>,
    // cycles of an untagged key
    holds: Signal<Local, Bit>,
    hold_1: Dff<Bit>,
    hold_2: Dff<Bit>,
    hold_3: Dff<Bit>,
    hold_4: Dff<Bit>,
    fresh: Dff<Bit>,
    #[value(Delay::new(PATIENCE as usize + 1))]
    in_tagged: Delay<Bit>,
    #[value(Delay::new((PATIENCE + 1 - lookup::CHANGE) as usize))]
    in_untagged: Delay<Bit>,
    late: Dff<Bit>,

    idle: Signal<Local, Bit>,
    fault_starts: Signal<Local, Bit>,
    command_waits: Signal<Local, Bit>,
    its_turn: Signal<Local, Bit>,
    again: Signal<Local, Bit>,
    pop: Signal<Local, Bit>,
    enters: Signal<Local, Bit>,
    candidate: Signal<Local, DdpSegment>,
    changes: Signal<Local, Bit>,
    is_last: Signal<Local, Bit>,
    absent: Signal<Local, Bit>,
    direct: Signal<Local, Bit>,
    acts: Signal<Local, Bit>,
    follows: Signal<Local, Bit>,
    stays: Signal<Local, Bit>,
    lacks: Signal<Local, Bit>,
    waits: Signal<Local, Bit>,
    answered: Signal<Local, Bit>,
    fails: Signal<Local, Bit>,
    counts: Signal<Local, Bit>,

    // what is asked for, a cycle behind the decision
    freeze_now: Dff<Bit>,
    thaw_now: Dff<Bit>,
    context_now: Dff<Bit>,
    start_now: Dff<Bit>,
    post_now: Dff<Bit>,
    take_now: Dff<Bit>,
    refused: Dff<Bit>,
    done: Dff<Bit>,
    fault_now: Dff<Bit>,
    telling: Dff<Bit>,

    #[constant(|i| i)]
    index: [Constant<Bits<4>>; S],
    #[constant(S)]
    streams: Constant<Bits<8>>,
    #[constant(config.stag_slots.max(256) - 1)]
    last_row: Constant<Bits<12>>,
    #[constant(PATIENCE)]
    patience: Constant<Bits<4>>,
    #[constant(1 + receive_queues::NEXT)]
    next_patience: Constant<Bits<4>>,
    #[constant(lookup::POST)]
    post_patience: Constant<Bits<4>>,
    #[constant(CROWD)]
    crowd: Constant<Bits<8>>,
    #[constant(records::TAGGED_BIT)]
    tagged_bit: Constant<Bits<8>>,
    #[constant(records::LAST_BIT)]
    last_bit: Constant<Bits<8>>,
    #[constant(STAG_KEY_BITS)]
    slot_at: Constant<Bits<8>>,
    #[constant(close::STREAM.lsb)]
    stream_at: Constant<Bits<8>>,
    #[constant(revoke::STAG.lsb)]
    stag_at: Constant<Bits<8>>,
    #[constant(receive_buffer::QUEUE.lsb)]
    queue_at: Constant<Bits<8>>,
}

const _: () = assert!(
    lookup::CHANGE == 4 && PATIENCE >= lookup::CHANGE,
    "cycles of `hold`"
);

impl<const S: usize> Intake<S> {
    /// For the tables that `config` describes.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        Self::assemble(config)
    }
}

impl<const S: usize> Logic for Intake<S> {
    #[hdl_gen]
    fn update(&mut self) {
        self.segments.reset.next = self.reset.val();
        self.next_state.next = self.state.q.val();

        comment!(
            "pending faults: two bits a stream; `deliver` has reported those of writes to the host"
        );
        self.fault_found.d.next = false;
        for i in 0..S {
            if self.fault[i].q.val() | self.read_failed[i].q.val() {
                self.fault_found.d.next = true;
                self.fault_of_read.d.next = !self.fault[i].q.val();
                self.fault_stream.d.next = self.index[i].val();
            }
        }

        comment!("fourth cycle of an untagged key: its queue changes, unless it has no buffer");
        self.changes.next = self.hold_4.q.val()
            & !self.key.q.val().ahead
            & !self.key.q.val().refused.any()
            & !self.closed.q.val();
        self.absent.next = self.changes.val() & self.missing.val();
        self.acts.next = self.changes.val() & !self.missing.val();
        self.is_last.next = self
            .key
            .q
            .val()
            .header_0
            .get_bit(self.last_bit.val().index());
        self.direct.next = self.is_last.val() & self.first.val();
        self.follows.next = self.acts.val() & self.direct.val() & self.ahead_some.val();
        self.stays.next = self.absent.val() | self.follows.val();
        self.note.next = self.acts.val() & !self.direct.val();
        self.closes.next =
            self.acts.val() & self.is_last.val() & !self.direct.val() & !self.message_closed.val();
        self.take.next = (self.acts.val() & self.direct.val()) | self.take_now.q.val();
        self.waited.next = self.take_now.q.val();

        comment!("idle: a fault goes first, then a command, then an FPDU, a kept one first");
        self.segments.s_data.next = self.segment.val();
        self.segments.s_valid.next = self.segment_valid.val();
        self.idle.next = self.resting.q.val() & !self.fault_found.q.val();
        self.fault_starts.next =
            self.resting.q.val() & self.fault_found.q.val() & self.vacant.q.val();
        self.command_waits.next =
            self.fpdu_next.q.val() & (self.kept.q.val() | self.segments.m_valid.val());
        self.command_ready.next = self.idle.val() & self.vacant.q.val() & !self.command_waits.val();
        comment!("from early signals only: a command lets a pending FPDU go first");
        self.its_turn.next = self.idle.val()
            & !self.stays.val()
            & (!self.command_valid.val() | self.fpdu_next.q.val());
        self.again.next = self.its_turn.val() & self.kept.q.val();
        self.pop.next = self.its_turn.val()
            & (!self.kept.q.val() & self.segments.m_valid.val() & self.room.q.val());
        self.enters.next = self.pop.val()
            & self
                .segments
                .m_data
                .val()
                .header_0
                .get_bit(self.tagged_bit.val().index());
        self.holds.next = (self.pop.val() & !self.enters.val()) | self.again.val();
        self.segments.m_ready.next = self.pop.val();
        self.in_tagged.d.next = self.enters.val();
        self.fresh.d.next = self.pop.val();
        self.hold_1.d.next = self.holds.val();
        self.hold_2.d.next = self.hold_1.q.val();
        self.hold_3.d.next = self.hold_2.q.val();
        self.hold_4.d.next = self.hold_3.q.val();
        self.in_untagged.d.next = self.hold_4.q.val() & !self.absent.val();
        self.candidate.next = self.segments.m_data.val();
        if self.kept.q.val() {
            self.candidate.next = self.key.q.val();
        }
        if (self.state.q.val() == State::Idle) & !self.stays.val() {
            self.timer.d.next = self.patience.val();
            self.due.d.next = false;
            self.refused.d.next = false;
            self.reports.d.next = false;
            self.about.d.next = Subject::Fpdu;
            self.key.d.next = self.candidate.val();
            self.key_stream.d.next = self.candidate.val().stream;
            self.key_stag.d.next = self.candidate.val().header_1;
            self.key_queue.d.next = self.candidate.val().header_2.get_bits::<2>(0);
            self.order.d.next = self.command.val();
            for i in 0..8 {
                self.words[i].d.next = self.arguments.val().get_bits::<32>(32 * i);
            }
            if self.command_valid.val() & !self.command_waits.val() {
                self.about.d.next = Subject::Command;
                self.key_stream.d.next = self
                    .arguments
                    .val()
                    .get_bits::<8>(self.stream_at.val().index());
                self.key_stag.d.next = self
                    .arguments
                    .val()
                    .get_bits::<32>(self.stag_at.val().index());
                self.key_queue.d.next = 0.into();
                if self.command.val() == CheckCommand::PostReceive {
                    self.timer.d.next = self.post_patience.val();
                    self.key_queue.d.next = self
                        .arguments
                        .val()
                        .get_bits::<2>(self.queue_at.val().index());
                }
            }
            if self.fault_found.q.val() {
                self.about.d.next = Subject::Fault;
                self.timer.d.next = self.patience.val();
                self.key_stream.d.next = bit_cast::<8, 4>(self.fault_stream.q.val());
                self.reports.d.next = self.fault_of_read.q.val();
            }
            if self.pop.val() | self.again.val() {
                self.fpdu_next.d.next = false;
            }
            if self.again.val() {
                self.kept.d.next = false;
            }
            if self.fault_starts.val() | (self.command_valid.val() & self.command_ready.val()) {
                self.next_state.next = State::Look;
            }
            if self.holds.val() {
                self.next_state.next = State::Hold;
            }
        }
        if (self.state.q.val() == State::Hold) & self.hold_3.q.val() {
            self.next_state.next = State::Idle;
        }
        if self.stays.val() {
            self.next_state.next = State::Drain;
        }
        if self.follows.val() {
            self.about.d.next = Subject::Next;
        }

        comment!("drain: all in front of the key are settled, then it is looked up again");
        if (self.state.q.val() == State::Drain) & self.vacant.q.val() {
            self.next_state.next = State::Look;
            self.timer.d.next = self.patience.val();
            self.due.d.next = false;
        }

        comment!("look: the key is held until the checks respond");
        self.stream_exists.d.next = self.key_stream.q.val() < self.streams.val();
        self.closed.d.next = true;
        for i in 0..S {
            if self.key_stream.q.val().get_bits::<4>(0) == self.index[i].val() {
                self.closed.d.next = !self.open[i].val();
            }
        }
        if (self.state.q.val() == State::Look) & !self.due.q.val() {
            self.timer.d.next = self.timer.q.val() - 1;
            self.due.d.next = self.timer.q.val() == 1;
        }
        comment!(
            "answered: the checks have responded, and an FPDU is complete; one without a buffer uses MPA's verdict registered a cycle before"
        );
        self.lacks.next = !self.closed.q.val()
            & !self.key.q.val().ahead
            & self.lacks_buffer.val()
            & self.coming.val();
        self.waits.next = self.lacks.val() & !self.mpa_failed.val();
        self.answered.next = (self.state.q.val() == State::Look)
            & self.due.q.val()
            & self.vacant.q.val()
            & ((self.verdict_valid.val() & (self.verdict_known.val() | !self.lacks.val()))
                | (self.about.q.val() != Subject::Fpdu));
        self.fails.next =
            self.answered.val() & (self.about.q.val() == Subject::Fpdu) & !self.waits.val();
        self.late.d.next = self.fails.val();

        comment!("answered: starts the error record, and commands change their tables");
        self.freeze_now.d.next = false;
        self.thaw_now.d.next = false;
        self.fault_now.d.next = false;
        self.record.next = false;
        self.stag_write.next = false;
        self.stag_clear.next = false;
        self.stag_slot.next = self
            .key_stag
            .q
            .val()
            .get_bits::<12>(self.slot_at.val().index());
        self.context_now.d.next = false;
        self.start_now.d.next = false;
        self.post_now.d.next = false;
        self.take_now.d.next = false;
        self.done.d.next = false;
        comment!("the next queue of the stream being armed");
        if self.start_now.q.val() {
            self.key_queue.d.next = self.key_queue.q.val() + 1;
        }
        if self.answered.val() {
            match self.about.q.val() {
                Subject::Fpdu => {
                    self.kept.d.next = self.waits.val();
                    self.next_state.next = State::Idle;
                }
                Subject::Next => {
                    self.next_state.next = State::Idle;
                    if self.message_closed.val() & !self.closed.q.val() {
                        self.next_state.next = State::Tell;
                        self.telling.d.next = true;
                    }
                }
                Subject::Fault => {
                    self.next_state.next = State::Finish;
                    if !self.closed.q.val() {
                        if self.reports.q.val() {
                            self.next_state.next = State::Tell;
                            self.telling.d.next = true;
                        }
                        self.record.next = true;
                        self.fault_now.d.next = true;
                        self.freeze_now.d.next = true;
                    }
                    for i in 0..S {
                        if self.key_stream.q.val().get_bits::<4>(0) == self.index[i].val() {
                            self.fault[i].d.next = false;
                            self.read_failed[i].d.next = false;
                        }
                    }
                }
                Subject::Command => {
                    self.next_state.next = State::Finish;
                    match self.order.q.val() {
                        CheckCommand::WriteStag => {
                            self.stag_write.next = self.legal.val();
                            self.refused.d.next = !self.legal.val();
                        }
                        CheckCommand::RevokeStag => {
                            self.stag_clear.next = !self.stag_missing.val();
                        }
                        CheckCommand::Arm => {
                            self.refused.d.next = !self.stream_exists.q.val();
                            if self.stream_exists.q.val() {
                                self.start_now.d.next = true;
                                if self.key_queue.q.val() != 3 {
                                    self.next_state.next = State::Look;
                                    self.timer.d.next = 1.into();
                                    self.due.d.next = false;
                                } else {
                                    self.context_now.d.next = true;
                                    self.record.next = true;
                                    self.thaw_now.d.next = true;
                                }
                            }
                        }
                        CheckCommand::Freeze => {
                            self.refused.d.next = !self.stream_exists.q.val();
                            self.freeze_now.d.next = true;
                        }
                        CheckCommand::PostReceive => {
                            self.post_now.d.next = !self.post_refused.val();
                            self.refused.d.next = self.post_refused.val();
                        }
                        CheckCommand::Fence => {
                            self.next_state.next = State::Tell;
                            self.telling.d.next = true;
                        }
                    }
                }
            }
        }

        comment!("tell: passed on; behind a message, the next one may be closed, too");
        if self.told.val() {
            self.telling.d.next = false;
            self.next_state.next = State::Idle;
            self.done.d.next = self.about.q.val() == Subject::Command;
            if self.about.q.val() == Subject::Next {
                self.take_now.d.next = true;
                if self.ahead_several.val() {
                    self.next_state.next = State::Look;
                    self.timer.d.next = self.next_patience.val();
                    self.due.d.next = false;
                }
            }
        }

        comment!("finish: commands and faults end when the record is complete");
        if (self.state.q.val() == State::Finish) & !self.record_busy.val() {
            self.next_state.next = State::Idle;
            self.done.d.next = self.about.q.val() == Subject::Command;
            self.fpdu_next.d.next = self.about.q.val() == Subject::Command;
        }

        comment!("each FPDU that has entered counts until it leaves");
        self.counts.next = self.enters.val() | self.hold_3.q.val() | self.fails.val();
        if self.counts.val() & !self.leaves.val() {
            self.flight.d.next = self.flight.q.val() + 1;
            self.vacant.d.next = false;
        }
        if !self.counts.val()
            & (self.leaves.val() | self.absent.val())
            & !(self.leaves.val() & self.absent.val())
        {
            self.flight.d.next = self.flight.q.val() - 1;
            self.vacant.d.next = self.flight.q.val() == 1;
        }
        if self.leaves.val() & self.absent.val() {
            self.flight.d.next = self.flight.q.val() - 2;
            self.vacant.d.next = self.flight.q.val() == 2;
        }
        self.room.d.next = self.flight.q.val() < self.crowd.val();

        for i in 0..S {
            if self.bus_fault.val()
                & (self.bus_fault_stream.val().get_bits::<4>(0) == self.index[i].val())
            {
                self.fault[i].d.next = true;
            }
            if self.read_fault.val()
                & (self.read_fault_stream.val().get_bits::<4>(0) == self.index[i].val())
            {
                self.read_failed[i].d.next = true;
            }
        }

        comment!("clear: every row of every table");
        self.clear.next = false;
        self.row.next = self.sweep.q.val().get_bits::<8>(0);
        if self.state.q.val() == State::Clear {
            self.clear.next = true;
            self.stag_clear.next = true;
            self.stag_slot.next = self.sweep.q.val();
            self.sweep.d.next = self.sweep.q.val() + 1;
            if self.sweep.q.val() == self.last_row.val() {
                self.next_state.next = State::Idle;
            }
        }

        self.command_done.next = self.done.q.val();
        self.command_failed.next = self.refused.q.val();
        self.fpdu.next = self.key.q.val();
        self.stream.next = self.key_stream.q.val();
        self.stag.next = self.key_stag.q.val();
        self.queue.next = self.key_queue.q.val();
        self.subject.next = self.about.q.val();
        for i in 0..8 {
            self.argument[i].next = self.words[i].q.val();
        }
        self.exists.next = self.stream_exists.q.val();
        self.looks.next = self.looking.q.val();
        self.context_write.next = self.context_now.q.val();
        self.start.next = self.start_now.q.val();
        self.post.next = self.post_now.q.val();
        self.entered.next = self.fresh.q.val();
        self.outcome_valid.next =
            (self.in_tagged.q.val() | self.in_untagged.q.val() | self.late.q.val())
                & (self.state.q.val() != State::Clear);
        self.freeze.next = self.freeze_now.q.val();
        self.thaw.next = self.thaw_now.q.val();
        self.tells.next = self.telling.q.val();
        self.faulted.next = self.fault_now.q.val();
        self.took.next = self.take_now.q.val();
        if self.reset.val() {
            self.next_state.next = State::Clear;
            self.sweep.d.next = 0.into();
            self.freeze_now.d.next = false;
            self.thaw_now.d.next = false;
            self.fault_found.d.next = false;
            self.kept.d.next = false;
            self.done.d.next = false;
            self.context_now.d.next = false;
            self.start_now.d.next = false;
            self.post_now.d.next = false;
            self.take_now.d.next = false;
            self.fault_now.d.next = false;
            self.fresh.d.next = false;
            self.hold_1.d.next = false;
            self.hold_2.d.next = false;
            self.hold_3.d.next = false;
            self.hold_4.d.next = false;
            self.late.d.next = false;
            self.flight.d.next = 0.into();
            self.vacant.d.next = true;
            self.fpdu_next.d.next = false;
            self.telling.d.next = false;
            for i in 0..S {
                self.fault[i].d.next = false;
                self.read_failed[i].d.next = false;
            }
        }
        self.state.d.next = self.next_state.val();
        self.looking.d.next = (self.next_state.val() == State::Look)
            | (self.next_state.val() == State::Tell)
            | self.told.val();
        self.resting.d.next = self.next_state.val() == State::Idle;
    }
}
