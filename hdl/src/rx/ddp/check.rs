//! Check: decides, and is the only block to decide, whether an FPDU is discarded, placed and delivered, or freezes its stream.
//!
//! ```text
//!  DdpSegment ─►[queue]─►─┬─► stag_table ─────► tagged ───┐           ┌─►[outcomes]─┐
//!                    key  │                               ├─► judge ──┤             ├─► settle ─┬─► pair ─► place
//!  command_arbiter ─►─────┴─► receive_queues ─► untagged ─┘           └─── held ────┤           └─► error_records
//!                                         ▲              DdpSegment ─►[waiting]─────┤
//!                 receive_rings ─ coming ─┘                 Verdict ─►[queue]───────┘
//! ```
//!
//! **Tagged FPDUs** enter back to back, one a cycle. Tables and arithmetic respond [`PATIENCE`] cycles later and
//! never stall; the outcome enters a queue with room for all FPDUs in between. `settle` accepts one a cycle, in
//! order, and only there is a stream found frozen or becomes frozen: the outcome of an FPDU behind a failing one is
//! ignored. The DDP checks run while the rest of the FPDU arrives and its CRC is computed; `settle` needs both
//! results. A pair leaves 11 cycles after its `DdpSegment` or 3 after its `Verdict`, whichever is later.
//!
//! **Untagged FPDUs** change their queue. One of them holds the key, so that no FPDU enters behind it. When all FPDUs
//! in front are settled, its outcome goes straight to `settle`, which changes the whole state in one cycle: 9 cycles
//! from one to the next. Behind tagged FPDUs it takes a few cycles more, since it enters with them but is answered
//! behind them.
//!
//! A stream's first error takes 15 cycles more, because the error record is written first.
//!
//! **Commands and bus faults** begin when the block is idle; while one is pending, no FPDU enters. A command takes 9
//! cycles, `Arm` 28. It is delayed by at most the FPDUs that have entered (14), the last of which may still be read
//! out of its ring, provided that `place` accepts their pairs. After a command one FPDU goes first, if one is
//! pending, so that neither starves the other. After a reset the tables are cleared, one row a cycle, and
//! `command_ready` stays low until then.
//!
//! An untagged segment for which no buffer is posted, while `receive_rings` reports buffers `coming`, is kept and
//! checked again and again. Faults and commands go in between, so that the buffer can be posted, or the stream be
//! frozen, which discards the segment. FPDUs behind it, those of other streams included, are held: they leave in
//! order.
//!
//! A stream with an MSN window accepts segments of messages behind the first one, too. They are placed at once and
//! their messages closed, but delivered only when all messages in front are: the last segment of the first message
//! delivers it and the closed messages behind it, 6 cycles each, before the next FPDU. So one FPDU holds the block
//! for at most 6·(`RECEIVE_SLOTS` − 1) cycles more, and a message takes at most 6 cycles more.
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
mod event;
mod judge;
pub mod receive_queues;
pub mod untagged;

use crate::Config;
use crate::parts::delay::Delay;
use crate::parts::queue::{Queue, Store};
use crate::records::{self, DdpSegment, Delivery, Placement, Verdict};
use crate::tables::stag_table::{self, StagEntry, StagTable};
use crate::tables::tagged_checks::TaggedChecks;
use error_records::ErrorRecords;
use event::{Completion, ErrorEvent};
use judge::Judge;
use receive_queues::ReceiveQueues;
use rust_hdl_core::prelude::*;
use untagged::UntaggedChecks;
use warpline_regmap::layout::{
    close, kind, receive_buffer, refused, revoke, stag_entry, stream_context,
};
use warpline_regmap::register::STAG_KEY_BITS;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, Record, comment};
use warpline_wire::ddp::{self, fpdu_field};
use warpline_wire::error::ErrorNumber;

/// Commands of `control`. The arguments are those of the host's command of the same name.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum CheckCommand {
    /// Write an entry of the STag table: `stag_entry`. Refused when the region runs beyond 2^64.
    WriteStag,
    /// Clear the entry that holds the STag, if one does: `revoke`. Never refused; a `Fence` must follow.
    RevokeStag,
    /// Start a stream: `stream_context`. Clears frozen bit, error record and queues. Refused when there is no such
    /// stream; bits of queues that the device does not have are ignored.
    Arm,
    /// Freeze a stream silently: `close`. Refused when there is no such stream.
    Freeze,
    /// Append a buffer to a queue: `receive_buffer`, or the descriptor from `receive_rings`. Refused when the stream does not
    /// exist or was not armed with that queue, or when the queue is full.
    PostReceive,
    /// Send a `Delivery` of action 2 to `deliver`, behind all earlier decisions; the low 8 argument bits become its stream.
    Fence,
}

/// Subject of the work.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
enum Subject {
    Fpdu,
    Command,
    Fault,
    /// The message that has become the first one of its queue.
    Next,
}

/// State of the work.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
enum State {
    /// Rows are cleared after a reset.
    Clear,
    /// No work.
    Idle,
    /// The key is held; tables and arithmetic respond.
    Look,
    /// A pair for `place` is held until the output register is free and the error record written.
    Give,
    /// The error record is written.
    Finish,
}

/// Properties of a stream, fixed when it is armed.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
struct Context {
    /// Protection domain.
    protection_domain: Bits<16>,
    /// Tagged messages with L are reported, too.
    tagged_completions: Bit,
    /// MO has to equal the octets placed so far (AMB-07).
    strict_offset: Bit,
    /// An untagged segment may target any posted buffer (AMB-04).
    window: Bit,
    /// Untagged queues.
    queues: Bits<4>,
}

/// The part of a tagged FPDU that the stages behind the tables use.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
struct TaggedKey {
    /// Stream number.
    stream: Bits<8>,
    /// STag.
    stag: Bits<32>,
    /// Tagged Offset, high half.
    offset_high: Bits<32>,
    /// Tagged Offset, low half.
    offset_low: Bits<32>,
}

/// Side information of the checks.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
struct SideInformation {
    /// Payload octets.
    length: Bits<16>,
    /// The stream reports completions of tagged messages.
    tagged_completions: Bit,
}

/// DDP's verdict about an FPDU; ignored if its stream is frozen by then.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
struct Outcome {
    /// The FPDU is in error.
    failed: Bit,
    /// The error depends on the FPDUs in front.
    postponed: Bit,
    /// Error type and code.
    number: Bits<12>,
    /// Failed checks.
    checks: Bits<16>,
    /// Bus address of the first payload octet.
    address: Bits<64>,
    /// Payload octets.
    length: Bits<16>,
    /// The stream reports completions of tagged messages.
    tagged_completions: Bit,
}

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

    /// Stream of the key.
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

    // inputs
    segments: Queue<DdpSegment, 5>,
    verdicts: Queue<Verdict, 5>,
    fault: [Dff<Bit>; S],
    read_failed: [Dff<Bit>; S],
    fault_found: Dff<Bit>,
    fault_of_read: Dff<Bit>,
    fault_stream: Dff<Bits<4>>,

    // the work
    state: Dff<State>,
    /// `state` is `Idle`, as a register of its own, because many signals depend on it.
    resting: Dff<Bit>,
    next_state: Signal<Local, State>,
    subject: Dff<Subject>,
    timer: Dff<Bits<4>>,
    due: Dff<Bit>,
    sweep: Dff<Bits<12>>,
    order: Dff<CheckCommand>,
    argument: [Dff<Bits<32>>; 8],
    fpdu: Dff<DdpSegment>,
    stream: Dff<Bits<8>>,
    stag: Dff<Bits<32>>,
    queue: Dff<Bits<2>>,
    kept: Dff<Bit>,
    reports: Dff<Bit>,
    fpdu_next: Dff<Bit>,

    // tagged FPDUs between the input queues and the output register
    #[value(Delay::new(PATIENCE as usize + 1))]
    entered: Delay<Bit>,
    flight: Dff<Bits<8>>,
    room: Dff<Bit>,
    drained: Dff<Bit>,
    vacant: Dff<Bit>,
    waiting: Queue<DdpSegment, 4>,
    outcomes: Queue<Outcome, 4>,
    settling: Dff<Bit>,
    settled: Dff<DdpSegment>,
    settled_verdict: Dff<Verdict>,
    outcome: Dff<Outcome>,
    frozen: Dff<Bit>,
    accepted: Dff<Bit>,
    first_error: Dff<Bit>,
    recorded: Dff<Bit>,

    // results of the checks
    open: [Dff<Bit>; S],
    closed: Dff<Bit>,
    contexts: Store<Context, 4>,
    known: Dff<Context>,
    exists: Dff<Bit>,
    length: Dff<Bits<16>>,
    last: Dff<Bits<16>>,
    queue_missing: Dff<Bit>,
    post_missing: Dff<Bit>,
    near: Dff<Bit>,
    command_accepted: Dff<Bit>,
    mpa_failed: Dff<Bit>,
    first: Dff<Bit>,
    #[value(StagTable::new(config.stag_slots))]
    stag_table: StagTable,
    #[value(Delay::new(stag_table::LATENCY as usize))]
    tagged_key: Delay<TaggedKey>,
    tagged_domain: Dff<Bits<16>>,
    tagged_last: Dff<Bits<16>>,
    tagged_address: Dff<Bits<64>>,
    #[value(Delay::new(PATIENCE as usize - 1))]
    side: Delay<SideInformation>,
    tagged_checks: TaggedChecks,
    #[value(ReceiveQueues::new(config))]
    receive_queues: ReceiveQueues<S>,
    untagged_checks: UntaggedChecks,
    judge: Judge,
    error_records: ErrorRecords,

    // outputs
    freeze: Dff<Bit>,
    thaw: Dff<Bit>,
    refused: Dff<Bit>,
    done: Dff<Bit>,
    out_valid: Dff<Bit>,
    out_placement: Dff<Placement>,
    out_delivery: Dff<Delivery>,
    context_now: Dff<Bit>,
    start_now: Dff<Bit>,
    post_now: Dff<Bit>,
    take_now: Dff<Bit>,
    waited_now: Dff<Bit>,
    note_now: Dff<Bit>,
    closes_now: Dff<Bit>,
    took_now: Dff<Bit>,
    consumed_now: Dff<Bit>,
    judged_now: Dff<Bit>,
    discarded_now: Dff<Bit>,
    payload_now: Dff<Bits<16>>,
    error_now: Dff<Bit>,
    error_stream: Dff<Bits<8>>,
    settled_mpa_failed: Dff<Bit>,
    mpa_accepted_now: Dff<Bit>,
    ahead_now: Dff<Bit>,
    ahead_good: Dff<Bit>,
    ahead_at: Dff<Bits<32>>,

    // wires
    idle: Signal<Local, Bit>,
    quiet: Signal<Local, Bit>,
    fault_starts: Signal<Local, Bit>,
    command_waits: Signal<Local, Bit>,
    pop: Signal<Local, Bit>,
    enters: Signal<Local, Bit>,
    output_free: Signal<Local, Bit>,
    answer: Signal<Local, Outcome>,
    makes_room: Signal<Local, Bit>,
    load_held: Signal<Local, Bit>,
    load_queued: Signal<Local, Bit>,
    load: Signal<Local, Bit>,
    loaded: Signal<Local, Outcome>,
    is_refused: Signal<Local, Bit>,
    bad_crc: Signal<Local, Bit>,
    mpa_fails: Signal<Local, Bit>,
    shut: Signal<Local, Bit>,
    wrong: Signal<Local, Bit>,
    settle: Signal<Local, Bit>,
    has_tag: Signal<Local, Bit>,
    counts: Signal<Local, Bit>,
    is_judged: Signal<Local, Bit>,
    changes: Signal<Local, Bit>,
    leaves: Signal<Local, Bit>,
    settle_freezes: Signal<Local, Bit>,
    again: Signal<Local, Bit>,
    candidate: Signal<Local, DdpSegment>,
    direct: Signal<Local, Bit>,
    follows: Signal<Local, Bit>,
    lacks: Signal<Local, Bit>,
    waits: Signal<Local, Bit>,
    answered: Signal<Local, Bit>,
    is_tagged: Signal<Local, Bit>,
    is_last: Signal<Local, Bit>,
    ends: Signal<Local, Bit>,
    is_end: Signal<Local, Bit>,
    is_clean: Signal<Local, Bit>,
    its_turn: Signal<Local, Bit>,
    /// A report without an FPDU: `state` is `Give`, and `subject` is not `Fpdu`.
    tells: Dff<Bit>,
    takes: Signal<Local, Bit>,
    notes: Signal<Local, Bit>,
    closes: Signal<Local, Bit>,
    closes_clean: Signal<Local, Bit>,
    give: Signal<Local, Bit>,
    next_placement: Signal<Local, Placement>,
    next_delivery: Signal<Local, Delivery>,
    completion: Signal<Local, Completion>,
    error_event: Signal<Local, ErrorEvent>,
    message: Signal<Local, Completion>,
    fault_event: Signal<Local, ErrorEvent>,
    #[constant(|i| i)]
    index: [Constant<Bits<4>>; S],
    #[constant(S)]
    streams: Constant<Bits<8>>,
    #[constant((1 << config.queues) - 1)]
    queue_mask: Constant<Bits<4>>,
    #[constant(config.stag_slots.max(256) - 1)]
    last_row: Constant<Bits<12>>,
    #[constant(PATIENCE)]
    patience: Constant<Bits<4>>,
    #[constant(1 + receive_queues::NEXT)]
    next_patience: Constant<Bits<4>>,
    #[constant(0xffff_ffff & !(config.receive_slots - 1))]
    beyond: Constant<Bits<32>>,
    #[constant(CROWD)]
    crowd: Constant<Bits<8>>,
    #[constant(refused::CLOSED)]
    ends_closed: Constant<Bits<3>>,
    #[constant(Context::default())]
    no_context: Constant<Context>,
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
    #[constant(ddp::TAGGED_HEADER_LEN)]
    tagged_header: Constant<Bits<16>>,
    #[constant(ddp::TAGGED_HEADER_LEN + 1)]
    tagged_header_and_one: Constant<Bits<16>>,
    #[constant(ddp::UNTAGGED_HEADER_LEN)]
    untagged_header: Constant<Bits<16>>,
    #[constant(fpdu_field::tagged::PAYLOAD)]
    tagged_payload: Constant<Bits<8>>,
    #[constant(fpdu_field::untagged::PAYLOAD)]
    untagged_payload: Constant<Bits<8>>,
    #[constant(STAG_KEY_BITS)]
    slot_at: Constant<Bits<8>>,
    #[constant(close::STREAM.lsb)]
    stream_at: Constant<Bits<8>>,
    #[constant(revoke::STAG.lsb)]
    stag_at: Constant<Bits<8>>,
    #[constant(receive_buffer::QUEUE.lsb)]
    queue_at: Constant<Bits<8>>,
    #[constant(receive_buffer::QUEUE.lsb + 2)]
    queue_rest_at: Constant<Bits<8>>,
    #[constant(stream_context::TAGGED_COMPLETIONS.in_word(0))]
    completions_at: Constant<Bits<8>>,
    #[constant(stream_context::STRICT_MO.in_word(0))]
    strict_at: Constant<Bits<8>>,
    #[constant(stream_context::MSN_WINDOW.in_word(0))]
    window_at: Constant<Bits<8>>,
    #[constant(stream_context::QUEUES.in_word(0))]
    queues_at: Constant<Bits<8>>,
    #[constant(stream_context::PROTECTION_DOMAIN.in_word(1))]
    domain_at: Constant<Bits<8>>,
    #[constant(ErrorNumber::MpaMarker as u16)]
    mpa_marker: Constant<Bits<12>>,
    #[constant(ErrorNumber::MpaCrc as u16)]
    mpa_crc: Constant<Bits<12>>,
    #[constant(ErrorNumber::MpaConnection as u16)]
    mpa_connection: Constant<Bits<12>>,
    #[constant(kind::TAGGED)]
    kind_tagged: Constant<Bits<4>>,
    #[constant(kind::UNTAGGED)]
    kind_untagged: Constant<Bits<4>>,
    #[constant(kind::ERROR)]
    kind_error: Constant<Bits<4>>,
    #[constant(kind::CLOSED)]
    kind_closed: Constant<Bits<4>>,
}

/// Cycles from a `Verdict` to its pair if the checks are done.
pub const FROM_VERDICT: usize = 3;
/// Cycles from a key to the results of the checks.
const PATIENCE: u64 = judge::TABLES + judge::LATENCY;
/// With fewer tagged FPDUs between the input queues and the output register another one enters. Two more enter before the count is
/// visible, and the queues behind have 16 rows.
const CROWD: u64 = 13;
const _: () = assert!(receive_queues::LATENCY + untagged::LATENCY + judge::LATENCY <= PATIENCE);
const _: () = assert!(stag_table::PREPARATION <= PATIENCE);

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
            "words of commands as the kernel reads them"
        );
        Self::assemble(config)
    }
}

impl<const S: usize> Logic for Check<S> {
    #[hdl_gen]
    fn update(&mut self) {
        // Written out, these defaults follow those of the derive in the text, where recorded runs have them.
        self.stream.d.next = self.stream.q.val();
        self.stag.d.next = self.stag.q.val();
        self.queue.d.next = self.queue.q.val();
        self.kept.d.next = self.kept.q.val();
        self.reports.d.next = self.reports.q.val();
        self.refused.d.next = self.refused.q.val();
        self.out_valid.d.next = self.out_valid.q.val();
        self.tells.d.next = self.tells.q.val();

        self.waiting.reset.next = self.reset.val();
        self.outcomes.reset.next = self.reset.val();
        self.segments.reset.next = self.reset.val();
        self.verdicts.reset.next = self.reset.val();
        self.error_records.reset.next = self.reset.val();

        self.next_state.next = self.state.q.val();

        comment!(
            "pending faults: two bits a stream; `deliver` has reported those of writes to the host"
        );
        self.fault_found.d.next = false;
        for i in 0..S {
            self.fault[i].d.next = self.fault[i].q.val();
            self.read_failed[i].d.next = self.read_failed[i].q.val();
            if self.fault[i].q.val() | self.read_failed[i].q.val() {
                self.fault_found.d.next = true;
                self.fault_of_read.d.next = !self.fault[i].q.val();
                self.fault_stream.d.next = self.index[i].val();
            }
        }

        for i in 0..8 {
            self.argument[i].d.next = self.argument[i].q.val();
        }

        comment!("idle: a fault goes first, then a command, then an FPDU, a kept one first");
        self.segments.s_data.next = self.segment.val();
        self.segments.s_valid.next = self.segment_valid.val();
        self.verdicts.s_data.next = self.verdict.val();
        self.verdicts.s_valid.next = self.verdict_valid.val();
        self.idle.next = self.resting.q.val() & !self.fault_found.q.val();
        self.quiet.next = self.drained.q.val() & self.vacant.q.val();
        self.fault_starts.next = self.resting.q.val() & self.fault_found.q.val() & self.quiet.val();
        self.command_waits.next =
            self.fpdu_next.q.val() & (self.kept.q.val() | self.segments.m_valid.val());
        self.command_ready.next = self.idle.val() & self.quiet.val() & !self.command_waits.val();
        comment!("from early signals only: a command lets a pending FPDU go first");
        self.its_turn.next = self.idle.val() & (!self.command_valid.val() | self.fpdu_next.q.val());
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
        self.segments.m_ready.next = self.pop.val();
        self.entered.d.next = self.enters.val();
        self.candidate.next = self.segments.m_data.val();
        if self.kept.q.val() {
            self.candidate.next = self.fpdu.q.val();
        }
        if self.state.q.val() == State::Idle {
            self.timer.d.next = self.patience.val();
            self.due.d.next = false;
            self.refused.d.next = false;
            self.reports.d.next = false;
            self.subject.d.next = Subject::Fpdu;
            self.fpdu.d.next = self.candidate.val();
            self.stream.d.next = self.candidate.val().stream;
            self.stag.d.next = self.candidate.val().header_1;
            self.queue.d.next = self.candidate.val().header_2.get_bits::<2>(0);
            self.order.d.next = self.command.val();
            for i in 0..8 {
                self.argument[i].d.next = self.arguments.val().get_bits::<32>(32 * i);
            }
            if self.command_valid.val() & !self.command_waits.val() {
                self.subject.d.next = Subject::Command;
                self.stream.d.next = self
                    .arguments
                    .val()
                    .get_bits::<8>(self.stream_at.val().index());
                self.stag.d.next = self
                    .arguments
                    .val()
                    .get_bits::<32>(self.stag_at.val().index());
                self.queue.d.next = 0.into();
                if self.command.val() == CheckCommand::PostReceive {
                    self.queue.d.next = self
                        .arguments
                        .val()
                        .get_bits::<2>(self.queue_at.val().index());
                }
            }
            if self.fault_found.q.val() {
                self.subject.d.next = Subject::Fault;
                self.stream.d.next = bit_cast::<8, 4>(self.fault_stream.q.val());
                self.reports.d.next = self.fault_of_read.q.val();
            }
            if self.pop.val() | self.again.val() {
                self.fpdu_next.d.next = false;
            }
            if self.fault_starts.val()
                | (self.command_valid.val() & self.command_ready.val())
                | (self.pop.val() & !self.enters.val())
                | self.again.val()
            {
                self.next_state.next = State::Look;
            }
        }

        comment!("every FPDU that has entered is held until its outcome");
        self.waiting.s_data.next = self.segments.m_data.val();
        self.waiting.s_valid.next = self.pop.val();

        comment!("look: the key is held until the checks respond");
        self.contexts.read_row.next = self.stream.q.val().get_bits::<4>(0);
        self.known.d.next = self.contexts.out.val();
        self.exists.d.next = self.stream.q.val() < self.streams.val();
        self.is_tagged.next = self
            .fpdu
            .q
            .val()
            .header_0
            .get_bit(self.tagged_bit.val().index());
        self.is_last.next = self
            .fpdu
            .q
            .val()
            .header_0
            .get_bit(self.last_bit.val().index());
        self.closed.d.next = true;
        for i in 0..S {
            if self.stream.q.val().get_bits::<4>(0) == self.index[i].val() {
                self.closed.d.next = !self.open[i].q.val();
            }
        }
        self.length.d.next = self.fpdu.q.val().ulpdu - self.untagged_header.val();
        if self.is_tagged.val() {
            self.length.d.next = self.fpdu.q.val().ulpdu - self.tagged_header.val();
        }
        self.last.d.next = self.fpdu.q.val().ulpdu - self.tagged_header_and_one.val();
        self.queue_missing.d.next = self.fpdu.q.val().header_2.get_bits::<30>(2).any()
            | !self
                .known
                .q
                .val()
                .queues
                .get_bit(self.queue.q.val().index());
        self.post_missing.d.next = !self.exists.q.val()
            | self.argument[0]
                .q
                .val()
                .get_bits::<6>(self.queue_rest_at.val().index())
                .any()
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
        self.tagged_key.d.next.stream = self.stream.q.val();
        self.tagged_key.d.next.stag = self.stag.q.val();
        self.tagged_key.d.next.offset_high = self.fpdu.q.val().header_2;
        self.tagged_key.d.next.offset_low = self.fpdu.q.val().header_3;
        self.tagged_domain.d.next = self.known.q.val().protection_domain;
        self.tagged_last.d.next = self.last.q.val();
        self.tagged_checks.stream.next = self.tagged_key.q.val().stream;
        self.tagged_checks.protection_domain.next = self.tagged_domain.q.val();
        self.tagged_checks.stag.next = self.tagged_key.q.val().stag;
        self.tagged_checks.offset_high.next = self.tagged_key.q.val().offset_high;
        self.tagged_checks.offset_low.next = self.tagged_key.q.val().offset_low;
        self.tagged_checks.last.next = bit_cast::<32, 16>(self.tagged_last.q.val());
        self.tagged_address.d.next = self.tagged_checks.address.val();
        self.side.d.next.length = self.length.q.val();
        self.side.d.next.tagged_completions = self.known.q.val().tagged_completions;
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
        self.untagged_checks.rsvd_ulp_first.next = self
            .fpdu
            .q
            .val()
            .header_0
            .get_bits::<8>(self.rsvd_ulp_lsb.val().index());
        self.untagged_checks.rsvd_ulp_low.next = self.fpdu.q.val().header_1;
        self.judge.segment.next = self.fpdu.q.val();
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
        comment!(
            "MPA comes first: end, length refused, CRC, marker (RFC 5044 §8); the CRC of a `placed` FPDU was checked ahead"
        );
        self.is_refused.next = self.waiting.m_data.val().refused.any();
        self.bad_crc.next = (self.waiting.m_data.val().crc | self.waiting.m_data.val().ahead)
            & !self.waiting.m_data.val().placed
            & !self.verdicts.m_data.val().good;
        self.mpa_fails.next =
            self.is_refused.val() | self.bad_crc.val() | self.verdicts.m_data.val().marker_wrong;
        comment!(
            "answered: the checks have responded, all FPDUs in front are settled, and the FPDU is complete; one without a buffer uses"
        );
        comment!("MPA's verdict registered a cycle before");
        self.lacks.next = !self.closed.q.val()
            & !self.fpdu.q.val().ahead
            & self.judge.checks.val().buffer
            & self.near.q.val()
            & self.coming.val();
        self.mpa_failed.d.next = self.mpa_fails.val();
        self.answered.next = (self.state.q.val() == State::Look)
            & self.due.q.val()
            & self.quiet.val()
            & ((self.verdicts.m_valid.val() & (self.command_accepted.q.val() | !self.lacks.val()))
                | (self.subject.q.val() != Subject::Fpdu));
        if (self.state.q.val() == State::Look) & !self.due.q.val() {
            self.timer.d.next = self.timer.q.val() - 1;
            self.due.d.next = self.timer.q.val() == 1;
        }
        self.key_stream.next = self.stream.q.val();
        self.key_queue.next = self.queue.q.val();
        self.key_distance.next = self.untagged_checks.distance.val().get_bits::<8>(0);
        self.near.d.next = !(self.untagged_checks.distance.val() & self.beyond.val()).any();
        self.first.d.next = !self.untagged_checks.distance.val().any();
        self.waits.next = self.lacks.val() & !self.mpa_failed.q.val();
        self.direct.next = self.is_last.val() & self.first.q.val();

        comment!("answered: starts the error record, and commands change their tables");
        self.freeze.d.next = false;
        self.thaw.d.next = false;
        self.error_now.d.next = false;
        self.error_records.write.next = false;
        self.error_records.clear.next = false;
        self.error_records.clear_row.next = self.sweep.q.val().get_bits::<8>(0);
        self.stag_table.write.next = false;
        self.stag_table.clear.next = false;
        self.stag_table.clear_slot.next =
            self.stag.q.val().get_bits::<12>(self.slot_at.val().index());
        self.contexts.write.next = self.context_now.q.val();
        self.context_now.d.next = false;
        self.contexts.write_row.next = self.stream.q.val().get_bits::<4>(0);
        self.contexts.data.next.protection_domain = self.argument[1]
            .q
            .val()
            .get_bits::<16>(self.domain_at.val().index());
        self.contexts.data.next.tagged_completions = self.argument[0]
            .q
            .val()
            .get_bit(self.completions_at.val().index());
        self.contexts.data.next.strict_offset = self.argument[0]
            .q
            .val()
            .get_bit(self.strict_at.val().index());
        self.contexts.data.next.window = self.argument[0]
            .q
            .val()
            .get_bit(self.window_at.val().index());
        self.contexts.data.next.queues = self.argument[0]
            .q
            .val()
            .get_bits::<4>(self.queues_at.val().index())
            & self.queue_mask.val();
        self.start_now.d.next = false;
        self.receive_queues.start.next = self.start_now.q.val();
        comment!("the next queue of the stream being armed");
        if self.start_now.q.val() {
            self.queue.d.next = self.queue.q.val() + 1;
        }
        self.receive_queues.first_msn.next = self.argument[3].q.val();
        self.post_now.d.next = false;
        self.receive_queues.post.next = self.post_now.q.val();
        self.receive_queues.posted.next.length = self.argument[1].q.val();
        self.receive_queues.posted.next.address = bit_cast::<64, 32>(self.argument[2].q.val())
            | (bit_cast::<64, 32>(self.argument[3].q.val()) << 32);
        if self.answered.val() {
            match self.subject.q.val() {
                Subject::Fpdu => {
                    self.kept.d.next = self.waits.val();
                    self.next_state.next = State::Give;
                    if self.waits.val() {
                        self.next_state.next = State::Idle;
                    }
                }
                Subject::Next => {
                    self.next_state.next = State::Idle;
                    if self.receive_queues.message.val().closed {
                        self.next_state.next = State::Give;
                        self.tells.d.next = true;
                    }
                }
                Subject::Fault => {
                    self.next_state.next = State::Finish;
                    if !self.closed.q.val() {
                        if self.reports.q.val() {
                            self.next_state.next = State::Give;
                            self.tells.d.next = true;
                        }
                        self.error_records.write.next = true;
                        self.error_now.d.next = true;
                        self.freeze.d.next = true;
                    }
                    for i in 0..S {
                        if self.stream.q.val().get_bits::<4>(0) == self.index[i].val() {
                            self.fault[i].d.next = false;
                            self.read_failed[i].d.next = false;
                        }
                    }
                }
                Subject::Command => {
                    self.next_state.next = State::Finish;
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
                                self.start_now.d.next = true;
                                if self.queue.q.val() != 3 {
                                    self.next_state.next = State::Look;
                                    self.timer.d.next = 1.into();
                                    self.due.d.next = false;
                                } else {
                                    self.context_now.d.next = true;
                                    self.error_records.write.next = true;
                                    self.thaw.d.next = true;
                                }
                            }
                        }
                        CheckCommand::Freeze => {
                            self.refused.d.next = !self.exists.q.val();
                            self.freeze.d.next = true;
                        }
                        CheckCommand::PostReceive => {
                            self.post_now.d.next =
                                !(self.post_missing.q.val() | self.receive_queues.full.val());
                            self.refused.d.next =
                                self.post_missing.q.val() | self.receive_queues.full.val();
                        }
                        CheckCommand::Fence => {
                            self.next_state.next = State::Give;
                            self.tells.d.next = true;
                        }
                    }
                }
            }
        }

        comment!(
            "settle: one outcome a cycle, with the frozen bits as the previous outcomes have left them"
        );
        self.answer.next.failed = self.judge.failed.val();
        self.answer.next.postponed = self.judge.postponed.val();
        self.answer.next.number = self.judge.number.val();
        self.answer.next.checks = self.judge.checks.val().into();
        self.answer.next.address = self.tagged_address.q.val();
        self.answer.next.length = self.side.q.val().length;
        self.answer.next.tagged_completions = self.side.q.val().tagged_completions;
        self.outcomes.s_data.next = self.answer.val();
        self.outcomes.s_valid.next = self.entered.q.val() & (self.state.q.val() != State::Clear);
        self.output_free.next = !self.out_valid.q.val() | self.m_ready.val();
        self.settle.next = self.settling.q.val()
            & (!self.first_error.q.val()
                | (self.recorded.q.val() & !self.error_records.busy.val()))
            & self.output_free.val();
        self.makes_room.next =
            !self.settling.q.val() | (self.output_free.val() & !self.first_error.q.val());
        self.load_held.next =
            self.answered.val() & (self.subject.q.val() == Subject::Fpdu) & !self.waits.val();
        self.load_queued.next =
            self.outcomes.m_valid.val() & self.verdicts.m_valid.val() & self.makes_room.val();
        self.outcomes.m_ready.next = self.load_queued.val();
        self.load.next = self.load_held.val() | self.load_queued.val();
        self.command_accepted.d.next = self.verdicts.m_valid.val() & !self.load.val();
        self.waiting.m_ready.next = self.load.val();
        self.verdicts.m_ready.next = self.load.val();
        self.loaded.next = self.outcomes.m_data.val();
        if !self.outcomes.m_valid.val() {
            self.loaded.next = self.answer.val();
            self.loaded.next.address = self.untagged_checks.address.val();
        }
        self.shut.next = true;
        for i in 0..S {
            if self.waiting.m_data.val().stream.get_bits::<4>(0) == self.index[i].val() {
                self.shut.next = !self.open[i].q.val();
            }
        }
        self.closes_clean.next = self.waiting.m_data.val().refused == self.ends_closed.val();
        self.wrong.next = self.loaded.val().failed
            & !self.closes_clean.val()
            & !((self.loaded.val().postponed | !self.waiting.m_data.val().crc)
                & self.waiting.m_data.val().ahead);
        if self.mpa_fails.val() {
            self.wrong.next = !self.closes_clean.val() & !self.waiting.m_data.val().ahead;
        }
        if self.settle.val() {
            self.settling.d.next = false;
            self.recorded.d.next = false;
        }
        if self.load.val() {
            self.settling.d.next = true;
        }
        comment!(
            "the content has no effect while nothing settles, so the enable does not depend on `load`, which arrives late"
        );
        if self.makes_room.val() {
            self.settled.d.next = self.waiting.m_data.val();
            self.settled_verdict.d.next = self.verdicts.m_data.val();
            if self.waiting.m_data.val().placed {
                self.settled_verdict.d.next.good = false;
                self.settled_verdict.d.next.state = 0.into();
                self.settled_verdict.d.next.zeros = 0.into();
                self.settled_verdict.d.next.received = 0.into();
            }
            self.outcome.d.next = self.loaded.val();
            if self.mpa_fails.val() {
                self.outcome.d.next.checks = 0.into();
                self.outcome.d.next.number = self.mpa_marker.val();
                if self.bad_crc.val() & !self.is_refused.val() {
                    self.outcome.d.next.number = self.mpa_crc.val();
                }
                if self.waiting.m_data.val().refused >= self.ends_closed.val() {
                    self.outcome.d.next.number = self.mpa_connection.val();
                }
            }
            self.settled_mpa_failed.d.next = self.mpa_fails.val();
            self.frozen.d.next = self.shut.val();
            self.accepted.d.next =
                !self.shut.val() & !self.loaded.val().failed & !self.mpa_fails.val();
            self.first_error.d.next = !self.shut.val() & self.wrong.val();
        }
        self.leaves.next = self.settle.val() & (self.state.q.val() != State::Give);
        if self.enters.val() & !self.leaves.val() {
            self.flight.d.next = self.flight.q.val() + 1;
            self.vacant.d.next = false;
        }
        if self.leaves.val() & !self.enters.val() {
            self.flight.d.next = self.flight.q.val() - 1;
            self.vacant.d.next = self.flight.q.val() == 1;
        }
        self.drained.d.next = self.vacant.q.val();
        self.room.d.next = self.flight.q.val() < self.crowd.val();

        comment!("the error record: zeros when a stream is armed, only VALID for a fault");
        if self.settling.q.val() & self.first_error.q.val() & !self.recorded.q.val() {
            self.error_records.write.next = true;
            self.recorded.d.next = true;
        }
        self.error_records.stream.next = self.stream.q.val();
        if self.settling.q.val() {
            self.error_records.stream.next = self.settled.q.val().stream;
        }
        self.error_stream.d.next = self.error_records.stream.val();
        self.error_records.valid.next =
            self.settling.q.val() | (self.subject.q.val() != Subject::Command);
        self.error_records.from_fpdu.next = self.settling.q.val();
        self.error_records.number.next = self.outcome.q.val().number;
        self.error_records.checks.next = self.outcome.q.val().checks;
        self.error_records.fpdu.next = self.settled.q.val();
        self.error_records.verdict.next = self.settled_verdict.q.val();
        self.error_records.record_row.next = self.record_row.val();
        self.record_data.next = self.error_records.record_data.val();

        comment!("the pair of the FPDU that settles, whether or not the output register is free");
        self.has_tag.next = self
            .settled
            .q
            .val()
            .header_0
            .get_bit(self.tagged_bit.val().index());
        self.ends.next = self
            .settled
            .q
            .val()
            .header_0
            .get_bit(self.last_bit.val().index());
        self.is_end.next = self.settled.q.val().refused >= self.ends_closed.val();
        self.is_clean.next = self.settled.q.val().refused == self.ends_closed.val();
        self.counts.next = self.accepted.q.val() & !self.settled.q.val().ahead;
        self.next_placement.next.row = self.settled.q.val().row;
        self.next_placement.next.rows = self.settled.q.val().rows;
        self.next_placement.next.address = self.outcome.q.val().address;
        self.next_placement.next.length = 0.into();
        if self.accepted.q.val() & !self.settled.q.val().placed {
            self.next_placement.next.length = self.outcome.q.val().length;
        }
        self.completion.next = self.no_completion.val();
        self.completion.next.stream = self.settled.q.val().stream;
        self.completion.next.rsvd_ulp_first = self
            .settled
            .q
            .val()
            .header_0
            .get_bits::<8>(self.rsvd_ulp_lsb.val().index());
        if self.has_tag.val() {
            self.next_placement.next.skip = self.tagged_payload.val();
            self.completion.next.kind = self.kind_tagged.val();
            self.completion.next.unverified = !self.outcome.q.val().length.any();
            self.completion.next.target = self.settled.q.val().header_1;
            self.completion.next.length = bit_cast::<32, 16>(self.outcome.q.val().length);
            self.completion.next.offset = bit_cast::<64, 32>(self.settled.q.val().header_3)
                | (bit_cast::<64, 32>(self.settled.q.val().header_2) << 32);
        } else {
            self.next_placement.next.skip = self.untagged_payload.val();
            self.completion.next.kind = self.kind_untagged.val();
            self.completion.next.target = self.settled.q.val().header_2;
            self.completion.next.msn = self.settled.q.val().header_3;
            self.completion.next.length = self.untagged_checks.message_length.val();
            self.completion.next.hole = self.untagged_checks.hole.val();
            self.completion.next.rsvd_ulp_low = self.settled.q.val().header_1;
        }
        self.next_delivery.next = self.no_delivery.val();
        self.next_delivery.next.stream = self.settled.q.val().stream;
        if self.counts.val()
            & ((!self.has_tag.val() & self.direct.val())
                | (self.has_tag.val() & self.ends.val() & self.outcome.q.val().tagged_completions))
        {
            self.next_delivery.next.action = 1.into();
            self.next_delivery.next.entry = self.completion.val().into();
        }
        comment!("closed by the peer behind an FPDU: reported, no error");
        self.error_event.next = self.no_error_event.val();
        self.error_event.next.stream = self.settled.q.val().stream;
        self.error_event.next.position = self.settled.q.val().position;
        self.error_event.next.kind = self.kind_closed.val();
        if self.first_error.q.val() {
            self.error_event.next.kind = self.kind_error.val();
            self.error_event.next.number = self.outcome.q.val().number;
            self.error_event.next.checks = self.outcome.q.val().checks;
            self.error_event.next.length = bit_cast::<32, 16>(self.settled.q.val().ulpdu);
        }
        if self.first_error.q.val() | (self.is_clean.val() & !self.frozen.q.val()) {
            self.next_delivery.next.action = 1.into();
            self.next_delivery.next.entry = self.error_event.val().into();
        }

        comment!("reports without an FPDU");
        self.message.next = self.no_completion.val();
        self.message.next.kind = self.kind_untagged.val();
        self.message.next.stream = self.stream.q.val();
        self.message.next.target = bit_cast::<32, 2>(self.queue.q.val());
        self.message.next.msn = self.receive_queues.state.val().msn;
        self.message.next.length = self.receive_queues.message.val().length;
        self.message.next.hole = self.untagged_checks.closed_hole.val();
        self.message.next.anomaly = self.receive_queues.message.val().anomaly;
        self.message.next.rsvd_ulp_first = self.receive_queues.message.val().rsvd_ulp_first;
        self.message.next.rsvd_ulp_low = self.receive_queues.message.val().rsvd_ulp_low;
        self.fault_event.next = self.no_error_event.val();
        self.fault_event.next.kind = self.kind_error.val();
        self.fault_event.next.stream = self.stream.q.val();
        if self.tells.q.val() {
            self.next_placement.next = self.no_placement.val();
            self.next_delivery.next = self.no_delivery.val();
            self.next_delivery.next.stream = self.stream.q.val();
            match self.subject.q.val() {
                Subject::Fpdu => {}
                Subject::Next => {
                    self.next_delivery.next.action = 1.into();
                    self.next_delivery.next.entry = self.message.val().into();
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

        comment!(
            "give: when the record is complete and the output register free, all other state changes in one cycle"
        );
        self.give.next =
            self.tells.q.val() & !self.error_records.busy.val() & self.output_free.val();
        self.took_now.d.next = false;
        self.consumed_now.d.next = false;
        self.judged_now.d.next = false;
        self.mpa_accepted_now.d.next = false;
        self.ahead_now.d.next = false;
        self.ahead_good.d.next = self.accepted.q.val();
        self.ahead_at.d.next = self.settled.q.val().position;
        self.settle_freezes.next = false;
        self.discarded_now.d.next = false;
        self.payload_now.d.next = 0.into();
        self.takes.next = false;
        self.notes.next = false;
        self.closes.next = false;
        self.follows.next = false;
        self.receive_queues.noted.next = self.untagged_checks.progress.val();
        self.done.d.next = false;
        if self.m_ready.val() {
            self.out_valid.d.next = false;
        }
        if self.give.val() | self.settle.val() {
            self.out_valid.d.next = true;
        }
        comment!("the content has no effect while nothing is given");
        if self.output_free.val() {
            self.out_placement.d.next = self.next_placement.val();
            self.out_delivery.d.next = self.next_delivery.val();
        }
        if self.give.val() {
            self.tells.d.next = false;
            self.next_state.next = State::Idle;
            self.done.d.next = self.subject.q.val() == Subject::Command;
            if self.subject.q.val() == Subject::Next {
                self.takes.next = true;
                self.took_now.d.next = true;
                self.follows.next = self.receive_queues.state.val().ahead != 1;
            }
        }

        comment!("an FPDU; an untagged one still holds the key of its queue");
        self.is_judged.next = !self.settled.q.val().ahead & !self.is_end.val();
        comment!("an accepted FPDU has no error record");
        self.changes.next = self.settling.q.val()
            & self.output_free.val()
            & self.counts.val()
            & !self.has_tag.val();
        if self.settle.val() {
            if self.state.q.val() == State::Give {
                self.next_state.next = State::Idle;
            }
            self.consumed_now.d.next = true;
            self.judged_now.d.next = self.is_judged.val();
            self.mpa_accepted_now.d.next = !self.settled_mpa_failed.q.val()
                & !self.frozen.q.val()
                & (self.is_judged.val() | self.first_error.q.val());
            self.discarded_now.d.next = self.is_judged.val() & self.frozen.q.val();
            self.ahead_now.d.next = self.settled.q.val().ahead;
            if self.counts.val() {
                self.payload_now.d.next = self.outcome.q.val().length;
            }
            if self.first_error.q.val() {
                self.settle_freezes.next = true;
                self.error_now.d.next = true;
            }
        }
        if self.changes.val() {
            self.notes.next = !self.direct.val();
            self.closes.next =
                self.ends.val() & !self.direct.val() & !self.receive_queues.message.val().closed;
            self.takes.next = self.direct.val();
            self.took_now.d.next = self.direct.val();
            self.follows.next = self.direct.val() & self.receive_queues.state.val().ahead.any();
            comment!("behind a held message, which `give` handles, the subject is `Next` already");
            if self.follows.val() {
                self.subject.d.next = Subject::Next;
            }
        }

        comment!(
            "queues change a cycle later: key and results are still stable, and the next lookup comes later"
        );
        self.take_now.d.next = self.takes.val();
        self.waited_now.d.next = self.give.val();
        self.note_now.d.next = self.notes.val();
        self.closes_now.d.next = self.closes.val();
        self.receive_queues.take.next = self.take_now.q.val();
        self.receive_queues.waited.next = self.waited_now.q.val();
        self.receive_queues.note.next = self.note_now.q.val();
        self.receive_queues.closes.next = self.closes_now.q.val();

        comment!("a message has been delivered and later ones are closed: is the next one?");
        if self.follows.val() {
            self.next_state.next = State::Look;
            self.timer.d.next = self.next_patience.val();
            self.due.d.next = false;
        }

        comment!("finish: commands and faults end when the record is complete");
        if (self.state.q.val() == State::Finish) & !self.error_records.busy.val() {
            self.next_state.next = State::Idle;
            self.done.d.next = self.subject.q.val() == Subject::Command;
            self.fpdu_next.d.next = self.subject.q.val() == Subject::Command;
        }

        for i in 0..S {
            self.open[i].d.next = self.open[i].q.val();
            if self.stream.q.val().get_bits::<4>(0) == self.index[i].val() {
                if self.freeze.q.val() {
                    self.open[i].d.next = false;
                }
                if self.thaw.q.val() {
                    self.open[i].d.next = true;
                }
            }
            if self.settle_freezes.val()
                & (self.settled.q.val().stream.get_bits::<4>(0) == self.index[i].val())
            {
                self.open[i].d.next = false;
            }
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
        if self.state.q.val() == State::Clear {
            self.stag_table.clear.next = true;
            self.stag_table.clear_slot.next = self.sweep.q.val();
            self.error_records.clear.next = true;
            self.contexts.write.next = true;
            self.contexts.write_row.next = self.sweep.q.val().get_bits::<4>(0);
            self.contexts.data.next = self.no_context.val();
            self.sweep.d.next = self.sweep.q.val() + 1;
            if self.sweep.q.val() == self.last_row.val() {
                self.next_state.next = State::Idle;
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
        self.ahead_done.next = self.ahead_now.q.val();
        self.ahead_stream.next = self.out_delivery.q.val().stream;
        self.ahead_position.next = self.ahead_at.q.val();
        self.ahead_accepted.next = self.ahead_good.q.val();
        self.consumed_stream.next = self.out_delivery.q.val().stream;
        self.discarded.next = self.discarded_now.q.val();
        self.payload.next = self.payload_now.q.val();
        self.errors.next = self.error_now.q.val();
        self.errors_stream.next = self.error_stream.q.val();
        self.mpa_accepted.next = self.mpa_accepted_now.q.val();
        self.stag_change.next = self.stag_table.change.val();
        self.stag_change_slot.next = self.stag_table.change_slot.val();
        self.stag_change_entry.next = self.stag_table.change_entry.val();
        if self.reset.val() {
            self.next_state.next = State::Clear;
            self.sweep.d.next = 0.into();
            self.freeze.d.next = false;
            self.thaw.d.next = false;
            self.fault_found.d.next = false;
            self.kept.d.next = false;
            self.done.d.next = false;
            self.out_valid.d.next = false;
            self.context_now.d.next = false;
            self.start_now.d.next = false;
            self.post_now.d.next = false;
            self.take_now.d.next = false;
            self.note_now.d.next = false;
            self.closes_now.d.next = false;
            self.took_now.d.next = false;
            self.consumed_now.d.next = false;
            self.ahead_now.d.next = false;
            self.error_now.d.next = false;
            self.flight.d.next = 0.into();
            self.drained.d.next = true;
            self.vacant.d.next = true;
            self.settling.d.next = false;
            self.recorded.d.next = false;
            self.fpdu_next.d.next = false;
            self.tells.d.next = false;
            for i in 0..S {
                self.fault[i].d.next = false;
                self.read_failed[i].d.next = false;
                self.open[i].d.next = false;
            }
        }
        self.state.d.next = self.next_state.val();
        self.resting.d.next = self.next_state.val() == State::Idle;
    }
}
