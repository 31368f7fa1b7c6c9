//! The one place that decides about an FPDU: discard it, place and deliver it, or freeze its stream.
//!
//! ```text
//!  Segment ────►[queue]─┐   ┌─► stag_table ─────► tagged ───┐
//!                       ├─►─┤                               ├─► judge ─┬─► Placement + Delivery ─► place
//!  CrcVerdict ─►[queue]─┘   └─► receive_queues ─► untagged ─┘          └─► error_records ─► registers
//!  arbiter ─► command ──┘                ▲
//!                       refill ─ coming ─┘
//! ```
//!
//! One thing at a time: an FPDU, a command of `control`, or a bus fault; commands therefore fall between two FPDUs. Its
//! key (stream, STag, queue) is held while tables and arithmetic answer, then everything that it changes is changed in
//! one cycle. An FPDU takes 9 cycles, 13 more when it is its stream's first error and the record is written first; its
//! pair is out 10 cycles after the later one of `Segment` and `CrcVerdict`. A command takes 9 cycles, `Arm` 25. After a
//! reset the tables are cleared first, a row a cycle, and `command_ready` stays low.
//!
//! An untagged segment that finds nothing posted, while `refill` says that buffers are `coming`, is kept and looked at
//! again and again. Faults and commands go in between, so that the buffer can be posted and the stream be frozen, which
//! discards the segment. FPDUs behind it wait, those of other streams too: they come out in order.
//!
//! A stream with an MSN window takes segments of messages behind the first one, too. They are placed at once and their
//! messages closed, but delivered only when all in front of them are: the last segment of the first message delivers it
//! and those behind it that are closed, 5 cycles each, before anything else is looked at. So one FPDU holds the block up
//! for at most 5·(`RECEIVE_SLOTS` − 1) cycles more, and a message costs 5 cycles more at most.
//!
//! Assumptions: at most 16 FPDUs are under way, so that the queues never overflow; a `CrcVerdict` comes for every
//! `Segment`, in the same order; streams come as numbers below S.
mod error_records;
mod event;
mod judge;
pub mod receive_queues;
mod stag_table;
mod table;
mod tagged;
pub mod untagged;

use crate::dff::Dff;
use crate::queue::{Queue, Store};
use crate::records::{CrcVerdict, Delivery, Placement, Segment};
use crate::util::{array, d};
use crate::Config;
use error_records::ErrorRecords;
use event::{Completion, ErrorEvent};
use judge::Judge;
use receive_queues::ReceiveQueues;
use rust_hdl_core::prelude::*;
use rust_hdl_widgets::dff_setup;
use stag_table::StagTable;
use tagged::TaggedChecks;
use untagged::UntaggedChecks;

/// What `control` asks for. The arguments are those of the host's command of the same name.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum CheckCommand {
    /// Write an entry of the STag table: `stag_entry`. Refused when the region runs beyond 2^64.
    WriteStag,
    /// Clear the entry that holds the STag, if one does: `revoke`. Never refused; a `Fence` has to follow.
    RevokeStag,
    /// Start a stream: `stream_context`. Clears frozen bit, error record and queues. Refused when there is no such
    /// stream; bits of queues that the device does not have are ignored.
    Arm,
    /// Freeze a stream silently: `close`. Refused when there is no such stream.
    Freeze,
    /// Append a buffer to a queue: `receive_buffer`, or what `refill` gives in its place. Refused when the stream does not exist or was not armed with that
    /// queue, or when the queue is full.
    PostReceive,
    /// Send a `Delivery` of action 2 to `deliver`, behind all that was decided before; the low 8 argument bits become
    /// its stream.
    Fence,
}

/// What is being worked on.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
enum Subject {
    Fpdu,
    Command,
    Fault,
    /// The message that is the first one of its queue now.
    Next,
}

/// How far it is.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
enum State {
    /// Rows are cleared after a reset.
    Clear,
    /// Nothing is in work.
    Idle,
    /// The key is held; tables and arithmetic answer.
    Look,
    /// A pair for `place` waits for the output register, and for the error record.
    Give,
    /// The error record is written.
    Finish,
}

/// What is fixed when a stream is armed.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
struct Context {
    protection_domain: Bits<16>,
    tagged_completions: Bit,
    strict_offset: Bit,
    window: Bit,
    queues: Bits<4>,
}

/// Check for S streams.
#[derive(LogicBlock)]
pub struct Check<const S: usize> {
    pub clock: Signal<In, Clock>,
    pub reset: Signal<In, Bit>,

    /// An FPDU whose payload is in the commit buffer.
    pub segment: Signal<In, Segment>,
    /// It is there in this cycle.
    pub segment_valid: Signal<In, Bit>,
    /// What the CRC unit says of it.
    pub verdict: Signal<In, CrcVerdict>,
    /// It says so in this cycle.
    pub verdict_valid: Signal<In, Bit>,

    /// What to do between two FPDUs.
    pub command: Signal<In, CheckCommand>,
    /// Its arguments, word 0 in bits 31:0.
    pub arguments: Signal<In, Bits<256>>,
    /// A command is there.
    pub command_valid: Signal<In, Bit>,
    /// It is taken in this cycle, and may change with its arguments.
    pub command_ready: Signal<Out, Bit>,
    /// Pulse: the command taken last is done, whether refused or not.
    pub command_done: Signal<Out, Bit>,
    /// With `command_done`: it was refused and changed nothing.
    pub command_failed: Signal<Out, Bit>,

    /// Pulse: a write for `bus_fault_stream` was answered with an error.
    pub bus_fault: Signal<In, Bit>,
    /// Stream of the fault.
    pub bus_fault_stream: Signal<In, Bits<8>>,
    /// Pulse: descriptors of `read_fault_stream` could not be read. No other block reports it: an error event goes out.
    pub read_fault: Signal<In, Bit>,
    /// Stream of that fault.
    pub read_fault_stream: Signal<In, Bits<8>>,

    /// Stream of what is being looked at.
    pub key_stream: Signal<Out, Bits<8>>,
    /// Its untagged queue.
    pub key_queue: Signal<Out, Bits<2>>,
    /// How many buffers of that queue lie in front of the one that is wanted; 2 cycles behind the key.
    pub key_distance: Signal<Out, Bits<8>>,
    /// More buffers than that are on their way to that queue, or posted; at most 2 cycles behind the distance.
    pub coming: Signal<In, Bit>,
    /// Pulse: the first buffer of that queue has been used.
    pub took: Signal<Out, Bit>,

    /// What to write to memory; with length 0 only `row` and `rows` count.
    pub placement: Signal<Out, Placement>,
    /// What to do behind it; with action 0 only `stream` counts.
    pub delivery: Signal<Out, Delivery>,
    /// A pair is there.
    pub m_valid: Signal<Out, Bit>,
    /// It is taken.
    pub m_ready: Signal<In, Bit>,

    /// Word of an error record to read: stream in bits 7:4, word in bits 3:0.
    pub record_row: Signal<In, Bits<8>>,
    /// That word, 2 cycles later.
    pub record_data: Signal<Out, Bits<32>>,

    /// Pulse: an FPDU, or the end of a stream, has become a pair in the output register.
    pub consumed: Signal<Out, Bit>,
    /// With `consumed`: it was an FPDU.
    pub judged: Signal<Out, Bit>,
    /// Its stream.
    pub consumed_stream: Signal<Out, Bits<8>>,
    /// With `judged`: the stream was frozen.
    pub discarded: Signal<Out, Bit>,
    /// With `consumed`: payload octets to be placed.
    pub payload: Signal<Out, Bits<16>>,
    /// Pulse: a stream was frozen for its first error, an FPDU's or a bus fault.
    pub errors: Signal<Out, Bit>,

    // in front
    segments: Queue<Segment, 4>,
    verdicts: Queue<CrcVerdict, 4>,
    fault: [Dff<Bit>; S],
    read_failed: [Dff<Bit>; S],
    fault_found: Dff<Bit>,
    fault_of_read: Dff<Bit>,
    fault_stream: Dff<Bits<8>>,

    // in work
    state: Dff<State>,
    subject: Dff<Subject>,
    timer: Dff<Bits<4>>,
    sweep: Dff<Bits<12>>,
    order: Dff<CheckCommand>,
    argument: [Dff<Bits<32>>; 8],
    fpdu: Dff<Segment>,
    crc: Dff<CrcVerdict>,
    stream: Dff<Bits<8>>,
    stag: Dff<Bits<32>>,
    queue: Dff<Bits<2>>,
    kept: Dff<Bit>,
    reports: Dff<Bit>,

    // answers
    open: [Dff<Bit>; S],
    closed: Dff<Bit>,
    contexts: Store<Context, 4>,
    known: Dff<Context>,
    exists: Dff<Bit>,
    length: Dff<Bits<16>>,
    last: Dff<Bits<16>>,
    queue_missing: Dff<Bit>,
    post_missing: Dff<Bit>,
    stag_table: StagTable,
    tagged_checks: TaggedChecks,
    receive_queues: ReceiveQueues<S>,
    untagged_checks: UntaggedChecks,
    judge: Judge,
    error_records: ErrorRecords,

    // results
    refused: Dff<Bit>,
    done: Dff<Bit>,
    out_valid: Dff<Bit>,
    out_placement: Dff<Placement>,
    out_delivery: Dff<Delivery>,
    took_now: Dff<Bit>,
    consumed_now: Dff<Bit>,
    judged_now: Dff<Bit>,
    discarded_now: Dff<Bit>,
    payload_now: Dff<Bits<16>>,
    error_now: Dff<Bit>,

    // wires
    idle: Signal<Local, Bit>,
    pop: Signal<Local, Bit>,
    again: Signal<Local, Bit>,
    candidate: Signal<Local, Segment>,
    near: Signal<Local, Bit>,
    direct: Signal<Local, Bit>,
    follows: Signal<Local, Bit>,
    waits: Signal<Local, Bit>,
    answered: Signal<Local, Bit>,
    is_tagged: Signal<Local, Bit>,
    is_last: Signal<Local, Bit>,
    freeze: Signal<Local, Bit>,
    thaw: Signal<Local, Bit>,
    is_end: Signal<Local, Bit>,
    is_clean: Signal<Local, Bit>,
    accepted: Signal<Local, Bit>,
    first_error: Signal<Local, Bit>,
    give: Signal<Local, Bit>,
    completion: Signal<Local, Completion>,
    error_event: Signal<Local, ErrorEvent>,
    index: [Constant<Bits<8>>; S],
    streams: Constant<Bits<8>>,
    queue_mask: Constant<Bits<4>>,
    last_row: Constant<Bits<12>>,
    patience: Constant<Bits<4>>,
    next_patience: Constant<Bits<4>>,
    beyond: Constant<Bits<32>>,
    no_context: Constant<Context>,
    no_completion: Constant<Completion>,
    no_error_event: Constant<ErrorEvent>,
    no_placement: Constant<Placement>,
    no_delivery: Constant<Delivery>,
}

/// Cycles that a key is held before the answers are looked at.
const PATIENCE: u64 = stag_table::LATENCY + tagged::LATENCY + judge::LATENCY;
const _: () = assert!(receive_queues::LATENCY + untagged::LATENCY + judge::LATENCY <= PATIENCE);
const _: () = assert!(stag_table::PREPARATION <= PATIENCE);

impl<const S: usize> Check<S> {
    /// The tables that `config` asks for.
    ///
    /// # Panics
    /// When S or one of the tables' sizes is outside its range.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        assert!((1..=16).contains(&S) && (1..=4).contains(&config.queues));
        Self {
            clock: d(),
            reset: d(),
            segment: d(),
            segment_valid: d(),
            verdict: d(),
            verdict_valid: d(),
            command: d(),
            arguments: d(),
            command_valid: d(),
            command_ready: d(),
            command_done: d(),
            command_failed: d(),
            bus_fault: d(),
            bus_fault_stream: d(),
            read_fault: d(),
            read_fault_stream: d(),
            key_stream: d(),
            key_queue: d(),
            key_distance: d(),
            coming: d(),
            took: d(),
            placement: d(),
            delivery: d(),
            m_valid: d(),
            m_ready: d(),
            record_row: d(),
            record_data: d(),
            consumed: d(),
            judged: d(),
            consumed_stream: d(),
            discarded: d(),
            payload: d(),
            errors: d(),
            segments: d(),
            verdicts: d(),
            fault: array(),
            read_failed: array(),
            fault_found: d(),
            fault_of_read: d(),
            fault_stream: d(),
            state: d(),
            subject: d(),
            timer: d(),
            sweep: d(),
            order: d(),
            argument: array(),
            fpdu: d(),
            crc: d(),
            stream: d(),
            stag: d(),
            queue: d(),
            kept: d(),
            reports: d(),
            open: array(),
            closed: d(),
            contexts: d(),
            known: d(),
            exists: d(),
            length: d(),
            last: d(),
            queue_missing: d(),
            post_missing: d(),
            stag_table: StagTable::new(config.stag_slots),
            tagged_checks: d(),
            receive_queues: ReceiveQueues::new(config),
            untagged_checks: d(),
            judge: d(),
            error_records: d(),
            refused: d(),
            done: d(),
            out_valid: d(),
            out_placement: d(),
            out_delivery: d(),
            took_now: d(),
            consumed_now: d(),
            judged_now: d(),
            discarded_now: d(),
            payload_now: d(),
            error_now: d(),
            idle: d(),
            pop: d(),
            again: d(),
            candidate: d(),
            near: d(),
            direct: d(),
            follows: d(),
            waits: d(),
            answered: d(),
            is_tagged: d(),
            is_last: d(),
            freeze: d(),
            thaw: d(),
            is_end: d(),
            is_clean: d(),
            accepted: d(),
            first_error: d(),
            give: d(),
            completion: d(),
            error_event: d(),
            index: std::array::from_fn(|i| Constant::new((i as u64).into())),
            streams: Constant::new((S as u64).into()),
            queue_mask: Constant::new(((1_u64 << config.queues) - 1).into()),
            last_row: Constant::new((config.stag_slots.max(256) as u64 - 1).into()),
            patience: Constant::new(PATIENCE.into()),
            next_patience: Constant::new(receive_queues::NEXT.into()),
            beyond: Constant::new((0xffff_ffff & !(config.receive_slots as u64 - 1)).into()),
            no_context: Constant::new(Context::default()),
            no_completion: Constant::new(Completion::default()),
            no_error_event: Constant::new(ErrorEvent::default()),
            no_placement: Constant::new(Placement::default()),
            no_delivery: Constant::new(Delivery::default()),
        }
    }
}

impl<const S: usize> Logic for Check<S> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            fault_found,
            fault_of_read,
            fault_stream,
            state,
            subject,
            timer,
            sweep,
            order,
            fpdu,
            crc
        );
        dff_setup!(
            self,
            clock,
            stream,
            stag,
            queue,
            kept,
            reports,
            closed,
            known,
            exists,
            length,
            last,
            queue_missing,
            post_missing
        );
        dff_setup!(
            self,
            clock,
            refused,
            done,
            out_valid,
            out_placement,
            out_delivery
        );
        dff_setup!(
            self,
            clock,
            took_now,
            consumed_now,
            judged_now,
            discarded_now,
            payload_now,
            error_now
        );
        clock!(
            self,
            clock,
            segments,
            verdicts,
            contexts,
            stag_table,
            tagged_checks,
            receive_queues,
            untagged_checks
        );
        clock!(self, clock, judge, error_records);
        self.segments.reset.next = self.reset.val();
        self.verdicts.reset.next = self.reset.val();
        self.error_records.reset.next = self.reset.val();

        comment!(
            "faults wait in two bits a stream; `deliver` has told the host of those of writes"
        );
        self.fault_found.d.next = false;
        for i in 0..S {
            self.fault[i].clock.next = self.clock.val();
            self.fault[i].d.next = self.fault[i].q.val();
            self.read_failed[i].clock.next = self.clock.val();
            self.read_failed[i].d.next = self.read_failed[i].q.val();
            if self.fault[i].q.val() | self.read_failed[i].q.val() {
                self.fault_found.d.next = true;
                self.fault_of_read.d.next = !self.fault[i].q.val();
                self.fault_stream.d.next = self.index[i].val();
            }
        }

        for i in 0..8 {
            self.argument[i].clock.next = self.clock.val();
            self.argument[i].d.next = self.argument[i].q.val();
        }

        comment!(
            "idle: a fault goes first, then a command, then an FPDU, the one that is kept first"
        );
        self.segments.s_data.next = self.segment.val();
        self.segments.s_valid.next = self.segment_valid.val();
        self.verdicts.s_data.next = self.verdict.val();
        self.verdicts.s_valid.next = self.verdict_valid.val();
        self.idle.next = (self.state.q.val() == State::Idle) & !self.fault_found.q.val();
        self.command_ready.next = self.idle.val();
        self.again.next = self.idle.val() & !self.command_valid.val() & self.kept.q.val();
        self.pop.next = self.idle.val()
            & !self.command_valid.val()
            & !self.kept.q.val()
            & self.segments.m_valid.val()
            & self.verdicts.m_valid.val();
        self.segments.m_ready.next = self.pop.val();
        self.verdicts.m_ready.next = self.pop.val();
        self.candidate.next = self.segments.m_data.val();
        if self.kept.q.val() {
            self.candidate.next = self.fpdu.q.val();
        }
        if self.state.q.val() == State::Idle {
            self.timer.d.next = self.patience.val();
            self.refused.d.next = false;
            self.reports.d.next = false;
            self.subject.d.next = Subject::Fpdu;
            self.fpdu.d.next = self.candidate.val();
            if !self.kept.q.val() {
                self.crc.d.next = self.verdicts.m_data.val();
            }
            self.stream.d.next = self.candidate.val().stream;
            self.stag.d.next = self.candidate.val().header_1;
            self.queue.d.next = self.candidate.val().header_2.get_bits::<2>(0);
            self.order.d.next = self.command.val();
            if self.command_valid.val() {
                for i in 0..8 {
                    self.argument[i].d.next = self.arguments.val().get_bits::<32>(32 * i);
                }
                self.subject.d.next = Subject::Command;
                self.stream.d.next = self.arguments.val().get_bits::<8>(0);
                self.stag.d.next = self.arguments.val().get_bits::<32>(0);
                self.queue.d.next = 0.into();
                if self.command.val() == CheckCommand::PostReceive {
                    self.queue.d.next = self.arguments.val().get_bits::<2>(8);
                }
            }
            if self.fault_found.q.val() {
                self.subject.d.next = Subject::Fault;
                self.stream.d.next = self.fault_stream.q.val();
                self.reports.d.next = self.fault_of_read.q.val();
            }
            if self.fault_found.q.val()
                | self.command_valid.val()
                | self.pop.val()
                | self.again.val()
            {
                self.state.d.next = State::Look;
            }
        }

        comment!("look: the key is held, the answers form");
        self.contexts.read_row.next = self.stream.q.val().get_bits::<4>(0);
        self.known.d.next = self.contexts.out.val();
        self.exists.d.next = self.stream.q.val() < self.streams.val();
        self.is_tagged.next = self.fpdu.q.val().header_0.get_bit(15);
        self.is_last.next = self.fpdu.q.val().header_0.get_bit(14);
        self.closed.d.next = true;
        for i in 0..S {
            if self.stream.q.val() == self.index[i].val() {
                self.closed.d.next = !self.open[i].q.val();
            }
        }
        self.length.d.next = self.fpdu.q.val().ulpdu - 18;
        if self.is_tagged.val() {
            self.length.d.next = self.fpdu.q.val().ulpdu - 14;
        }
        self.last.d.next = self.fpdu.q.val().ulpdu - 15;
        self.queue_missing.d.next = self.fpdu.q.val().header_2.get_bits::<30>(2).any()
            | !self
                .known
                .q
                .val()
                .queues
                .get_bit(self.queue.q.val().index());
        self.post_missing.d.next = !self.exists.q.val()
            | self.argument[0].q.val().get_bits::<6>(10).any()
            | !self
                .known
                .q
                .val()
                .queues
                .get_bit(self.queue.q.val().index());
        self.stag_table.stag.next = self.stag.q.val();
        for i in 0..8 {
            self.stag_table.argument[i].next = self.argument[i].q.val();
        }
        self.tagged_checks.stream.next = self.stream.q.val();
        self.tagged_checks.protection_domain.next = self.known.q.val().protection_domain;
        self.tagged_checks.stag.next = self.stag.q.val();
        self.tagged_checks.offset_high.next = self.fpdu.q.val().header_2;
        self.tagged_checks.offset_low.next = self.fpdu.q.val().header_3;
        self.tagged_checks.last.next = self.last.q.val();
        self.tagged_checks.entry.next = self.stag_table.entry.val();
        self.receive_queues.stream.next = self.stream.q.val();
        self.receive_queues.queue.next = self.queue.q.val();
        self.receive_queues.slot.next = self.fpdu.q.val().header_3.get_bits::<8>(0);
        if self.subject.q.val() == Subject::Next {
            self.receive_queues.slot.next = self.receive_queues.state.val().msn.get_bits::<8>(0);
        }
        self.untagged_checks.msn.next = self.fpdu.q.val().header_3;
        self.untagged_checks.offset.next = self.fpdu.q.val().header_4;
        self.untagged_checks.length.next = self.length.q.val();
        self.untagged_checks.state.next = self.receive_queues.state.val();
        self.untagged_checks.buffer.next = self.receive_queues.buffer.val();
        self.untagged_checks.message.next = self.receive_queues.message.val();
        self.untagged_checks.strict_offset.next = self.known.q.val().strict_offset;
        self.untagged_checks.window.next = self.known.q.val().window;
        self.untagged_checks.last.next = self.is_last.val();
        self.untagged_checks.rsvd_ulp_first.next = self.fpdu.q.val().header_0.get_bits::<8>(0);
        self.untagged_checks.rsvd_ulp_low.next = self.fpdu.q.val().header_1;
        self.judge.segment.next = self.fpdu.q.val();
        self.judge.crc_good.next = self.crc.q.val().good;
        self.judge.empty.next = !self.length.q.val().any();
        self.judge.fails_stag.next = self.tagged_checks.fails_stag.val();
        self.judge.fails_association.next = self.tagged_checks.fails_association.val();
        self.judge.fails_access.next = self.tagged_checks.fails_access.val();
        self.judge.fails_offset.next = self.tagged_checks.fails_offset.val();
        self.judge.fails_wrap.next = self.tagged_checks.fails_wrap.val();
        self.judge.fails_end.next = self.tagged_checks.fails_end.val();
        self.judge.fails_queue.next = self.queue_missing.q.val();
        self.judge.fails_msn.next = self.untagged_checks.fails_msn.val();
        self.judge.fails_buffer.next = self.untagged_checks.fails_buffer.val();
        self.judge.fails_message_offset.next = self.untagged_checks.fails_offset.val();
        self.judge.fails_length.next = self.untagged_checks.fails_length.val();
        self.answered.next = (self.state.q.val() == State::Look) & (self.timer.q.val() == 0);
        if self.state.q.val() == State::Look {
            self.timer.d.next = self.timer.q.val() - 1;
        }
        self.accepted.next = (self.subject.q.val() == Subject::Fpdu)
            & !self.closed.q.val()
            & !self.judge.failed.val();
        self.is_end.next = self.fpdu.q.val().refused >= 3;
        self.is_clean.next = self.fpdu.q.val().refused == 3;
        self.first_error.next = (self.subject.q.val() == Subject::Fpdu)
            & !self.closed.q.val()
            & !self.is_clean.val()
            & self.judge.failed.val();
        self.key_stream.next = self.stream.q.val();
        self.key_queue.next = self.queue.q.val();
        self.key_distance.next = self.untagged_checks.distance.val().get_bits::<8>(0);
        self.near.next = !(self.untagged_checks.distance.val() & self.beyond.val()).any();
        self.waits.next = !self.closed.q.val()
            & self.judge.checks.val().buffer
            & self.near.val()
            & self.coming.val();
        self.direct.next = self.is_last.val() & !self.untagged_checks.distance.val().any();

        comment!("answered: records begin to be written, commands change their tables");
        self.freeze.next = false;
        self.thaw.next = false;
        self.error_now.d.next = false;
        self.error_records.write.next = false;
        self.error_records.clear.next = false;
        self.error_records.clear_row.next = self.sweep.q.val().get_bits::<8>(0);
        self.stag_table.write.next = false;
        self.stag_table.clear.next = false;
        self.stag_table.clear_slot.next = self.stag.q.val().get_bits::<12>(8);
        self.contexts.write.next = false;
        self.contexts.write_row.next = self.stream.q.val().get_bits::<4>(0);
        self.contexts.data.next.protection_domain = self.argument[1].q.val().get_bits::<16>(0);
        self.contexts.data.next.tagged_completions = self.argument[0].q.val().get_bit(10);
        self.contexts.data.next.strict_offset = self.argument[0].q.val().get_bit(11);
        self.contexts.data.next.window = self.argument[0].q.val().get_bit(12);
        self.contexts.data.next.queues =
            self.argument[0].q.val().get_bits::<4>(16) & self.queue_mask.val();
        self.receive_queues.start.next = false;
        self.receive_queues.first_msn.next = self.argument[3].q.val();
        self.receive_queues.post.next = false;
        self.receive_queues.posted.next.length = self.argument[1].q.val();
        self.receive_queues.posted.next.address = bit_cast::<64, 32>(self.argument[2].q.val())
            | (bit_cast::<64, 32>(self.argument[3].q.val()) << 32);
        if self.answered.val() {
            match self.subject.q.val() {
                Subject::Fpdu => {
                    self.kept.d.next = self.waits.val();
                    if self.waits.val() {
                        self.state.d.next = State::Idle;
                    } else {
                        self.error_records.write.next = self.first_error.val();
                        self.state.d.next = State::Give;
                    }
                }
                Subject::Next => {
                    self.state.d.next = State::Idle;
                    if self.receive_queues.message.val().closed {
                        self.state.d.next = State::Give;
                    }
                }
                Subject::Fault => {
                    self.state.d.next = State::Finish;
                    if !self.closed.q.val() {
                        if self.reports.q.val() {
                            self.state.d.next = State::Give;
                        }
                        self.error_records.write.next = true;
                        self.error_now.d.next = true;
                        self.freeze.next = true;
                    }
                    for i in 0..S {
                        if self.stream.q.val() == self.index[i].val() {
                            self.fault[i].d.next = false;
                            self.read_failed[i].d.next = false;
                        }
                    }
                }
                Subject::Command => {
                    self.state.d.next = State::Finish;
                    match self.order.q.val() {
                        CheckCommand::WriteStag => {
                            self.stag_table.write.next = self.stag_table.legal.val();
                            self.refused.d.next = !self.stag_table.legal.val();
                        }
                        CheckCommand::RevokeStag => {
                            self.stag_table.clear.next = !self.tagged_checks.fails_stag.val();
                        }
                        CheckCommand::Arm => {
                            self.refused.d.next = !self.exists.q.val();
                            if self.exists.q.val() {
                                self.receive_queues.start.next = true;
                                self.queue.d.next = self.queue.q.val() + 1;
                                if self.queue.q.val() != 3 {
                                    self.timer.d.next = 0.into();
                                    self.state.d.next = State::Look;
                                } else {
                                    self.contexts.write.next = true;
                                    self.error_records.write.next = true;
                                    self.thaw.next = true;
                                }
                            }
                        }
                        CheckCommand::Freeze => {
                            self.refused.d.next = !self.exists.q.val();
                            self.freeze.next = true;
                        }
                        CheckCommand::PostReceive => {
                            self.receive_queues.post.next =
                                !(self.post_missing.q.val() | self.receive_queues.full.val());
                            self.refused.d.next =
                                self.post_missing.q.val() | self.receive_queues.full.val();
                        }
                        CheckCommand::Fence => {
                            self.state.d.next = State::Give;
                        }
                    }
                }
            }
        }

        comment!("the error record: zeros when a stream is armed, a bare VALID for a fault");
        self.error_records.stream.next = self.stream.q.val();
        self.error_records.valid.next = self.subject.q.val() != Subject::Command;
        self.error_records.from_fpdu.next = self.subject.q.val() == Subject::Fpdu;
        self.error_records.number.next = self.judge.number.val();
        self.error_records.checks.next = self.judge.checks.val();
        self.error_records.fpdu.next = self.fpdu.q.val();
        self.error_records.crc.next = self.crc.q.val();
        self.error_records.record_row.next = self.record_row.val();
        self.record_data.next = self.error_records.record_data.val();

        comment!("give: once the record is whole and the output register free, all else changes in one cycle");
        self.give.next = (self.state.q.val() == State::Give)
            & !self.error_records.busy.val()
            & (!self.out_valid.q.val() | self.m_ready.val());
        self.took_now.d.next = false;
        self.consumed_now.d.next = false;
        self.judged_now.d.next = false;
        self.discarded_now.d.next = false;
        self.payload_now.d.next = 0.into();
        self.receive_queues.take.next = false;
        self.receive_queues.waited.next = false;
        self.receive_queues.note.next = false;
        self.receive_queues.closes.next = false;
        self.follows.next = false;
        self.receive_queues.noted.next = self.untagged_checks.progress.val();
        self.done.d.next = false;
        self.completion.next = self.no_completion.val();
        self.error_event.next = self.no_error_event.val();
        if self.m_ready.val() {
            self.out_valid.d.next = false;
        }
        if self.give.val() {
            self.state.d.next = State::Idle;
            self.out_valid.d.next = true;
            self.out_placement.d.next = self.no_placement.val();
            self.out_delivery.d.next = self.no_delivery.val();
            self.out_delivery.d.next.stream = self.stream.q.val();
            match self.subject.q.val() {
                Subject::Fpdu => {
                    self.out_placement.d.next.row = self.fpdu.q.val().row;
                    self.out_placement.d.next.rows = self.fpdu.q.val().rows;
                    self.consumed_now.d.next = true;
                    self.judged_now.d.next = !self.is_end.val();
                    self.discarded_now.d.next = self.closed.q.val() & !self.is_end.val();
                    comment!("closed by its peer, behind an FPDU: told, and no error");
                    if self.is_clean.val() & !self.closed.q.val() {
                        self.error_event.next.kind = 4.into();
                        self.error_event.next.stream = self.stream.q.val();
                        self.error_event.next.position = self.fpdu.q.val().position;
                        self.out_delivery.d.next.action = 1.into();
                        self.out_delivery.d.next.event = self.error_event.val().into();
                    }
                }
                Subject::Next => {
                    self.completion.next.kind = 2.into();
                    self.completion.next.stream = self.stream.q.val();
                    self.completion.next.target = bit_cast::<32, 2>(self.queue.q.val());
                    self.completion.next.msn = self.receive_queues.state.val().msn;
                    self.completion.next.length = self.receive_queues.message.val().length;
                    self.completion.next.hole = self.untagged_checks.closed_hole.val();
                    self.completion.next.anomaly = self.receive_queues.message.val().anomaly;
                    self.completion.next.rsvd_ulp_first =
                        self.receive_queues.message.val().rsvd_ulp_first;
                    self.completion.next.rsvd_ulp_low =
                        self.receive_queues.message.val().rsvd_ulp_low;
                    self.out_delivery.d.next.action = 1.into();
                    self.out_delivery.d.next.event = self.completion.val().into();
                    self.receive_queues.take.next = true;
                    self.receive_queues.waited.next = true;
                    self.took_now.d.next = true;
                    self.follows.next = self.receive_queues.state.val().ahead != 1;
                }
                Subject::Command => {
                    self.out_delivery.d.next.action = 2.into();
                    self.done.d.next = true;
                }
                Subject::Fault => {
                    self.error_event.next.kind = 3.into();
                    self.error_event.next.stream = self.stream.q.val();
                    self.out_delivery.d.next.action = 1.into();
                    self.out_delivery.d.next.event = self.error_event.val().into();
                }
            }
            if self.first_error.val() {
                self.error_event.next.kind = 3.into();
                self.error_event.next.stream = self.stream.q.val();
                self.error_event.next.number = self.judge.number.val();
                self.error_event.next.checks = self.judge.checks.val().into();
                self.error_event.next.length = bit_cast::<32, 16>(self.fpdu.q.val().ulpdu);
                self.error_event.next.position = self.fpdu.q.val().position;
                self.out_delivery.d.next.action = 1.into();
                self.out_delivery.d.next.event = self.error_event.val().into();
                self.freeze.next = true;
                self.error_now.d.next = true;
            }
            if self.accepted.val() {
                self.out_placement.d.next.length = self.length.q.val();
                self.payload_now.d.next = self.length.q.val();
                self.completion.next.stream = self.stream.q.val();
                self.completion.next.rsvd_ulp_first = self.fpdu.q.val().header_0.get_bits::<8>(0);
                if self.is_tagged.val() {
                    self.out_placement.d.next.skip = 16.into();
                    self.out_placement.d.next.address = self.tagged_checks.address.val();
                    self.completion.next.kind = 1.into();
                    self.completion.next.unverified = !self.length.q.val().any();
                    self.completion.next.target = self.fpdu.q.val().header_1;
                    self.completion.next.length = bit_cast::<32, 16>(self.length.q.val());
                    self.completion.next.offset = bit_cast::<64, 32>(self.fpdu.q.val().header_3)
                        | (bit_cast::<64, 32>(self.fpdu.q.val().header_2) << 32);
                } else {
                    self.out_placement.d.next.skip = 20.into();
                    self.out_placement.d.next.address = self.untagged_checks.address.val();
                    self.completion.next.kind = 2.into();
                    self.completion.next.target = self.fpdu.q.val().header_2;
                    self.completion.next.msn = self.fpdu.q.val().header_3;
                    self.completion.next.length = self.untagged_checks.message_length.val();
                    self.completion.next.hole = self.untagged_checks.hole.val();
                    self.completion.next.rsvd_ulp_low = self.fpdu.q.val().header_1;
                    self.receive_queues.note.next = !self.direct.val();
                    self.receive_queues.closes.next = self.is_last.val()
                        & !self.direct.val()
                        & !self.receive_queues.message.val().closed;
                    self.receive_queues.take.next = self.direct.val();
                    self.took_now.d.next = self.direct.val();
                    self.follows.next =
                        self.direct.val() & self.receive_queues.state.val().ahead.any();
                }
                if (self.is_tagged.val()
                    & self.is_last.val()
                    & self.known.q.val().tagged_completions)
                    | (!self.is_tagged.val() & self.direct.val())
                {
                    self.out_delivery.d.next.action = 1.into();
                    self.out_delivery.d.next.event = self.completion.val().into();
                }
            }
        }

        comment!("a message has left and others behind it are closed: is the next one?");
        if self.follows.val() {
            self.state.d.next = State::Look;
            self.subject.d.next = Subject::Next;
            self.timer.d.next = self.next_patience.val();
        }

        comment!("finish: commands and faults end when the record is whole");
        if (self.state.q.val() == State::Finish) & !self.error_records.busy.val() {
            self.state.d.next = State::Idle;
            self.done.d.next = self.subject.q.val() == Subject::Command;
        }

        for i in 0..S {
            self.open[i].clock.next = self.clock.val();
            self.open[i].d.next = self.open[i].q.val();
            if self.stream.q.val() == self.index[i].val() {
                if self.freeze.val() {
                    self.open[i].d.next = false;
                }
                if self.thaw.val() {
                    self.open[i].d.next = true;
                }
            }
            if self.bus_fault.val() & (self.bus_fault_stream.val() == self.index[i].val()) {
                self.fault[i].d.next = true;
            }
            if self.read_fault.val() & (self.read_fault_stream.val() == self.index[i].val()) {
                self.read_failed[i].d.next = true;
            }
        }

        comment!("clear: every row of every table");
        if self.state.q.val() == State::Clear {
            self.stag_table.clear.next = true;
            self.stag_table.clear_slot.next = self.sweep.q.val();
            self.error_records.clear.next = true;
            self.contexts.write.next = true;
            self.contexts.write_row.next = self.sweep.q.val().get_bits::<4>(0);
            self.contexts.data.next = self.no_context.val();
            self.sweep.d.next = self.sweep.q.val() + 1;
            if self.sweep.q.val() == self.last_row.val() {
                self.state.d.next = State::Idle;
            }
        }

        self.command_done.next = self.done.q.val();
        self.command_failed.next = self.refused.q.val();
        self.placement.next = self.out_placement.q.val();
        self.delivery.next = self.out_delivery.q.val();
        self.m_valid.next = self.out_valid.q.val();
        self.took.next = self.took_now.q.val();
        self.consumed.next = self.consumed_now.q.val();
        self.judged.next = self.judged_now.q.val();
        self.consumed_stream.next = self.out_delivery.q.val().stream;
        self.discarded.next = self.discarded_now.q.val();
        self.payload.next = self.payload_now.q.val();
        self.errors.next = self.error_now.q.val();
        if self.reset.val() {
            self.state.d.next = State::Clear;
            self.sweep.d.next = 0.into();
            self.fault_found.d.next = false;
            self.kept.d.next = false;
            self.done.d.next = false;
            self.out_valid.d.next = false;
            self.took_now.d.next = false;
            self.consumed_now.d.next = false;
            self.judged_now.d.next = false;
            self.error_now.d.next = false;
            for i in 0..S {
                self.fault[i].d.next = false;
                self.read_failed[i].d.next = false;
                self.open[i].d.next = false;
            }
        }
    }
}
