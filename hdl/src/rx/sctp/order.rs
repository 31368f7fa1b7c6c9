//! Order: says which chunks are new, and hands them to `fetch`: in DDP-SSN order, or ahead of a gap.
//!
//! ```text
//!  ChunkKey ─►┐          ┌ next, aged, a stream┐      ┌ empty, claimed, whole, placed │ a slot ┐
//!  ChunkEnd ─►┤ one at a │                     ├─────►│ control, length               │        ├─► decide ─┬─► ChunkAnswer
//!  ahead ────►┘ time     └─────────────────────┘      └───────────────────────────────┴────────┘           ├─► ChunkReport
//!                                                                                                          └─► Fpdu ─► fetch
//!       behind            │ window (AMB-34)           │  ahead
//!  ─ old, if it existed ──┼─ new, or old if not empty ┼─ invalid ─►  DDP-SSN
//!                         └ next    └► no room beyond the slots
//! ```
//!
//! A number is a DDP-SSN counted in 32 bits; chunk n is written into slot n modulo their number, and its stream position is n
//! times the slot. A slot is *claimed* when its chunk is taken, *whole* when the chunk has ended, *placed* when `check` has
//! accepted it ahead of a gap, and *empty* when the chunk has been issued in order. Then its octets are still to be read: a
//! chunk is taken only if its number lies less than the number of slots beyond what `fetch` has read (`tail`).
//!
//! A chunk that ends at `next` is issued in order, and so are the chunks behind it that are whole. Any other one is issued
//! `ahead`, once. Control messages count, and are not issued; but for the one that ends the peer's half of the session, an FPDU
//! refused with `CLOSED` is issued when it is its turn, as for TCP's FIN, and nothing behind it. A chunk whose DDP-SSN cannot be
//! (RFC 5043 §10, AMB-34), or that is longer than its slot, is issued as a refused FPDU when it ends, so behind all chunks that
//! came before, which may still be written when it is judged; later chunks of the stream are dropped. A stream is told apart from
//! its previous session by its slots, which are swept when it is armed.
//!
//! When an FPDU is issued `ahead`, everything of its stream that is whole in order has been issued before, so its errors count at
//! once (`crc` of an [`Fpdu`] that is `ahead`).
//!
//! Latency: [`JUDGE`] cycles from a key to its answer, [`ISSUE`] from an end to its FPDU; [`CHAIN`] from an FPDU to the next one
//! in order, if `fetch` accepts it at once. Throughput: a key in each [`JUDGE`] cycles, an end in [`ISSUE`] + 1 cycles if its chunk
//! lies behind a gap, or in [`IN_ORDER`], a verdict in [`VERDICT`]. A sweep takes a cycle a slot.
//!
//! Assumptions: `first` is less than the number of slots (0 or 1, AMB-33); of a stream fewer control messages follow each other
//! than it has slots; at most 64 FPDUs that are `ahead` are under way; a stream is armed again only when all of its FPDUs have
//! left `check`, and when 64 cycles have passed.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use crate::parts::queue::{Queue, Store};
use crate::parts::record_ram::{self, RecordRam};
use crate::records::{ChunkAnswer, ChunkEnd, ChunkKey, ChunkReport, Fpdu, HEADER, chunk_status};
use crate::{Config, Sctp};
use rust_hdl_core::prelude::*;
use warpline_regmap::layout::refused;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, Record, comment};
use warpline_wire::sctp::{MAX_IN_FLIGHT, SSN_LEN};

/// Cycles from a key to its answer.
pub const JUDGE: usize = 7;
/// Cycles from an end to its FPDU.
pub const ISSUE: usize = 4;
/// Cycles from an FPDU in order to the next one, if the slots behind it are whole.
pub const CHAIN: usize = 3;
/// Cycles that an end at `next` takes if nothing behind it is whole and `fetch` accepts its FPDU at once.
pub const IN_ORDER: usize = 7;
/// Cycles that a verdict of `check` takes.
pub const VERDICT: usize = 4;

/// States of a slot.
mod slot {
    /// Its chunk is missing.
    pub const EMPTY: u64 = 0;
    /// Its chunk is being written.
    pub const CLAIMED: u64 = 1;
    /// Its chunk is whole.
    pub const WHOLE: u64 = 2;
    /// Its chunk's payload is in memory, or under way to it.
    pub const PLACED: u64 = 3;
    /// Of both states of a chunk that may be issued.
    pub const WHOLE_BIT: usize = 1;
}

/// Progress of a session.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct SessionProgress {
    /// Number of the next chunk in order.
    pub due: Bits<32>,
    /// At least 2^15 chunks have arrived in order, so that every DDP-SSN behind has existed.
    pub aged: Bit,
}

/// What is known of a chunk behind a gap.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct SlotContent {
    /// A session control message.
    pub control: Bit,
    /// It ends the peer's half of the session.
    pub terminate: Bit,
    /// Octets of its DDP segment.
    pub length: Bits<16>,
}

/// A verdict of `check` about a chunk that was issued ahead.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct ChunkVerdict {
    /// Its stream.
    pub stream: Bits<8>,
    /// Its position.
    pub position: Bits<32>,
}

/// Step of the work.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
enum Step {
    /// No work.
    Rest,
    /// The stream's progress is read.
    Load,
    /// The number is computed.
    Locate,
    /// The number is compared with the window.
    Look,
    /// The slot is read, and the number compared with the ring.
    Read,
    /// The slot's content arrives.
    Wait,
    /// All is known.
    Decide,
    /// An FPDU is handed over.
    Give,
    /// The slots of a stream are swept.
    Sweep,
}

/// Subject of the work.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
enum Subject {
    /// A chunk that has begun.
    Key,
    /// A chunk that has ended.
    End,
    /// A verdict.
    Verdict,
    /// The next chunk in order.
    Chain,
}

/// Order of S streams.
#[derive(Block)]
#[block(config: &Config, sctp: &Sctp, slots: usize)]
pub struct Order<const S: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// A chunk that has begun.
    pub s_key: Signal<In, ChunkKey>,
    /// It is valid.
    pub s_key_valid: Signal<In, Bit>,
    /// It is accepted.
    pub s_key_ready: Signal<Out, Bit>,
    /// The answer to the last one.
    pub answer: Signal<Out, ChunkAnswer>,
    /// Pulse: `answer` is valid.
    pub answer_valid: Signal<Out, Bit>,
    /// A chunk that has ended.
    pub s_end: Signal<In, ChunkEnd>,
    /// It is valid; not until it is accepted, if its stream is closed.
    pub s_end_valid: Signal<In, Bit>,
    /// It is accepted.
    pub s_end_ready: Signal<Out, Bit>,
    /// Pulse: the session of `stream` begins.
    pub arm: Signal<In, Bit>,
    /// Pulse: the session of `stream` is over.
    pub close: Signal<In, Bit>,
    /// Stream of `arm` and `close`.
    pub stream: Signal<In, Bits<8>>,
    /// With `arm`: number of the first chunk.
    pub first: Signal<In, Bits<16>>,
    /// Position up to which the ring of each stream is free again.
    pub tail: [Signal<In, Bits<32>>; S],
    /// Pulse: `check` has finished an FPDU that was `ahead`, of a stream of SCTP.
    pub ahead_done: Signal<In, Bit>,
    /// Its stream.
    pub ahead_stream: Signal<In, Bits<8>>,
    /// Its stream position.
    pub ahead_position: Signal<In, Bits<32>>,
    /// It is placed.
    pub ahead_accepted: Signal<In, Bit>,
    /// FPDUs in the order in which they are to be fetched.
    pub m_fpdu: Signal<Out, Fpdu>,
    /// The FPDU is valid; not until it is accepted, if its stream is closed.
    pub m_valid: Signal<Out, Bit>,
    /// It is accepted.
    pub m_ready: Signal<In, Bit>,
    /// What became of each chunk.
    pub m_report: Signal<Out, ChunkReport>,
    /// It is valid.
    pub m_report_valid: Signal<Out, Bit>,
    /// It is accepted.
    pub m_report_ready: Signal<In, Bit>,

    // streams
    armed: [Dff<Bit>; S],
    /// No chunk is taken any more,
    ended: [Dff<Bit>; S],
    /// and none is issued any more.
    over: [Dff<Bit>; S],
    sweeps: [Dff<Bit>; S],
    firsts: Store<Bits<16>, 4>,
    progress: Store<SessionProgress, 4>,

    // slots
    #[value(RecordRam::new(config.streams.next_power_of_two() * slots))]
    states: RecordRam<Bits<2>, 20>,
    #[value(RecordRam::new(config.streams.next_power_of_two() * slots))]
    contents: RecordRam<SlotContent, 20>,

    verdicts: Queue<ChunkVerdict, 6>,
    reports: Queue<ChunkReport, 4>,

    // the work
    step: Dff<Step>,
    /// `step` is `Rest`.
    rests: Dff<Bit>,
    subject: Dff<Subject>,
    key: Dff<ChunkKey>,
    finished: Dff<ChunkEnd>,
    owner: Dff<Bits<8>>,
    number: Dff<Bits<32>>,
    known: Dff<SessionProgress>,
    tail_slot: Dff<Bits<32>>,
    is_ended: Dff<Bit>,
    is_over: Dff<Bit>,
    ahead_of: Dff<Bits<16>>,
    below: Dff<Bit>,
    in_window: Dff<Bit>,
    behind: Dff<Bit>,
    has_slot: Dff<Bit>,
    is_next: Dff<Bit>,
    passed: Dff<Bit>,
    sweep: Dff<Bits<20>>,

    out_valid: Dff<Bit>,
    out_fpdu: Dff<Fpdu>,
    answer_now: Dff<ChunkAnswer>,
    answer_pulse: Dff<Bit>,

    next_step: Signal<Local, Step>,
    sweep_any: Signal<Local, Bit>,
    sweep_stream: Signal<Local, Bits<4>>,
    end_turn: Signal<Local, Bit>,
    key_turn: Signal<Local, Bit>,
    takes_key: Signal<Local, Bit>,
    takes_end: Signal<Local, Bit>,
    takes_verdict: Signal<Local, Bit>,
    takes_sweep: Signal<Local, Bit>,
    open: Signal<Local, Bit>,
    distance: Signal<Local, Bits<32>>,
    from_next: Signal<Local, Bits<32>>,
    slot_of: Signal<Local, Bits<20>>,
    base: Signal<Local, Bits<20>>,
    row: Signal<Local, Bits<20>>,
    status: Signal<Local, Bits<8>>,
    judges: Signal<Local, Bit>,
    counts: Signal<Local, Bit>,
    issues: Signal<Local, Bit>,
    fails: Signal<Local, Bit>,
    closes: Signal<Local, Bit>,
    writes: Signal<Local, Bit>,
    becomes: Signal<Local, Bits<2>>,
    advanced: Signal<Local, Bits<32>>,
    /// Progress behind the chunk that counts.
    progressed: Signal<Local, SessionProgress>,
    content: Signal<Local, SlotContent>,
    cause: Signal<Local, Bits<3>>,
    behind_gap: Signal<Local, Bit>,
    was_placed: Signal<Local, Bit>,
    dwords: Signal<Local, Bits<17>>,
    decides: Signal<Local, Bit>,
    runs: Signal<Local, Bit>,
    takes: Signal<Local, Bit>,
    is_invalid: Signal<Local, Bit>,
    swept: Signal<Local, Bit>,
    #[constant(|i| i)]
    index: [Constant<Bits<4>>; S],
    #[constant(slots - 1)]
    slot_mask: Constant<Bits<32>>,
    #[constant(slots - 1)]
    last_slot: Constant<Bits<20>>,
    #[constant(slots.ilog2())]
    slots_bits: Constant<Bits<8>>,
    #[constant(sctp.slot_octets.ilog2())]
    slot_bits: Constant<Bits<8>>,
    // numbers in the space of positions
    #[constant(31 - sctp.slot_octets.ilog2())]
    sign_at: Constant<Bits<8>>,
    #[constant(u64::from(u32::MAX) >> sctp.slot_octets.ilog2())]
    number_mask: Constant<Bits<32>>,
    #[constant(sctp.window)]
    window: Constant<Bits<16>>,
    // up to whole dwords
    #[constant(SSN_LEN + 3)]
    with_ssn: Constant<Bits<17>>,
    #[constant(HEADER)]
    header: Constant<Bits<16>>,
    #[constant(2)]
    refused_dwords: Constant<Bits<16>>,
    #[constant(refused::TOO_LARGE)]
    too_large: Constant<Bits<3>>,
    #[constant(refused::CLOSED)]
    ends_closed: Constant<Bits<3>>,
    #[constant(refused::SSN)]
    invalid_ssn: Constant<Bits<3>>,
    #[constant(chunk_status::TAKEN)]
    taken: Constant<Bits<8>>,
    #[constant(chunk_status::OLD)]
    old: Constant<Bits<8>>,
    #[constant(chunk_status::NO_ROOM)]
    no_room: Constant<Bits<8>>,
    #[constant(chunk_status::INVALID)]
    invalid: Constant<Bits<8>>,
    #[constant(chunk_status::NO_STREAM)]
    no_stream: Constant<Bits<8>>,
    #[constant(slot::EMPTY)]
    slot_empty: Constant<Bits<2>>,
    #[constant(slot::CLAIMED)]
    slot_claimed: Constant<Bits<2>>,
    #[constant(slot::WHOLE)]
    slot_whole: Constant<Bits<2>>,
    #[constant(slot::PLACED)]
    slot_placed: Constant<Bits<2>>,
    #[constant(slot::WHOLE_BIT)]
    whole_bit: Constant<Bits<8>>,
    #[constant(MAX_IN_FLIGHT.count_ones())]
    aged_at: Constant<Bits<8>>,
}

const _: () = assert!(
    record_ram::LATENCY == 2,
    "Look and Wait last as long as a read"
);

impl<const S: usize> Order<S> {
    /// For the rings of `config`, cut into slots.
    ///
    /// # Panics
    /// When there is no such device.
    #[must_use]
    pub fn new(config: &Config, sctp: &Sctp) -> Self {
        assert!(config.streams == S && (1..=16).contains(&S));
        assert_eq!(sctp.validate(config.ring_octets), Ok(()));
        Self::assemble(config, sctp, config.ring_octets / sctp.slot_octets)
    }
}

impl<const S: usize> Logic for Order<S> {
    #[hdl_gen]
    fn update(&mut self) {
        self.verdicts.reset.next = self.reset.val();
        self.reports.reset.next = self.reset.val();
        self.next_step.next = self.step.q.val();

        comment!("verdicts that change something");
        self.verdicts.s_data.next.stream = self.ahead_stream.val();
        self.verdicts.s_data.next.position = self.ahead_position.val();
        self.verdicts.s_valid.next = self.ahead_done.val() & self.ahead_accepted.val();

        comment!("streams to be swept");
        self.sweep_any.next = false;
        self.sweep_stream.next = 0.into();
        for i in 0..S {
            self.sweeps[i].d.next = self.sweeps[i].q.val();
            if self.sweeps[i].q.val() {
                self.sweep_any.next = true;
                self.sweep_stream.next = self.index[i].val();
            }
        }

        comment!(
            "rest: verdicts of a stream come before its next session, ends before further questions"
        );
        self.takes_verdict.next = self.rests.q.val() & self.verdicts.m_valid.val();
        self.end_turn.next = self.rests.q.val() & !self.verdicts.m_valid.val();
        self.takes_end.next = self.end_turn.val() & self.s_end_valid.val();
        self.takes_sweep.next =
            self.end_turn.val() & !self.s_end_valid.val() & self.sweep_any.val();
        self.key_turn.next = self.end_turn.val()
            & !self.s_end_valid.val()
            & !self.sweep_any.val()
            & self.reports.s_ready.val();
        self.takes_key.next = self.key_turn.val() & self.s_key_valid.val();
        self.verdicts.m_ready.next = self.takes_verdict.val();
        self.s_end_ready.next = self.end_turn.val();
        self.s_key_ready.next = self.key_turn.val();
        if self.rests.q.val() {
            self.key.d.next = self.s_key.val();
            self.finished.d.next = self.s_end.val();
            self.owner.d.next = self.s_key.val().stream;
            self.subject.d.next = Subject::Key;
            self.sweep.d.next = 0.into();
        }
        if self.takes_key.val() {
            self.next_step.next = Step::Load;
        }
        if self.takes_sweep.val() {
            self.owner.d.next = bit_cast::<8, 4>(self.sweep_stream.val());
            self.next_step.next = Step::Sweep;
        }
        if self.takes_end.val() {
            self.owner.d.next = self.s_end.val().stream;
            self.number.d.next = self.s_end.val().number;
            self.subject.d.next = Subject::End;
            self.next_step.next = Step::Load;
        }
        if self.takes_verdict.val() {
            self.owner.d.next = self.verdicts.m_data.val().stream;
            self.number.d.next = self.verdicts.m_data.val().position >> self.slot_bits.val();
            self.subject.d.next = Subject::Verdict;
            self.next_step.next = Step::Load;
        }

        comment!("load: the stream");
        self.firsts.read_row.next = self.owner.q.val().get_bits::<4>(0);
        self.progress.read_row.next = self.owner.q.val().get_bits::<4>(0);
        self.open.next = false;
        for i in 0..S {
            if self.owner.q.val().get_bits::<4>(0) == self.index[i].val() {
                self.open.next = self.armed[i].q.val() & !self.owner.q.val().get_bits::<4>(4).any();
                self.is_ended.d.next = self.ended[i].q.val();
                self.is_over.d.next = self.over[i].q.val();
                self.tail_slot.d.next = self.tail[i].val() >> self.slot_bits.val();
            }
        }
        if self.step.q.val() == Step::Load {
            self.known.d.next = self.progress.out.val();
            self.next_step.next = Step::Locate;
        }

        comment!("locate: the number, and whether it is the next one or in front of it");
        self.from_next.next = self.number.q.val() - self.known.q.val().due;
        if self.step.q.val() == Step::Locate {
            self.ahead_of.d.next = self.key.q.val().ssn - self.known.q.val().due.get_bits::<16>(0);
            self.below.d.next = self.key.q.val().ssn < self.known.q.val().due.get_bits::<16>(0);
            self.is_next.d.next = !self.from_next.val().any();
            self.passed.d.next = self.from_next.val().get_bit(self.sign_at.val().index());
            self.next_step.next = Step::Decide;
            if self.subject.q.val() == Subject::Key {
                self.next_step.next = Step::Look;
            }
        }

        comment!(
            "look, read: a key's place, compared with the window and with the ring; its slot is read"
        );
        if self.step.q.val() == Step::Look {
            self.number.d.next = self.known.q.val().due + bit_cast::<32, 16>(self.ahead_of.q.val());
            self.in_window.d.next = self.ahead_of.q.val() < self.window.val();
            self.behind.d.next =
                self.ahead_of.q.val().get_bit(15) & (self.known.q.val().aged | self.below.q.val());
            self.next_step.next = Step::Read;
        }
        self.distance.next =
            (self.number.q.val() - self.tail_slot.q.val()) & self.number_mask.val();
        self.has_slot.d.next = !(self.distance.val() >> self.slots_bits.val()).any();
        if self.step.q.val() == Step::Read {
            self.next_step.next = Step::Wait;
        }
        if self.step.q.val() == Step::Wait {
            self.next_step.next = Step::Decide;
        }

        comment!("slots: the stream above the slot");
        self.slot_of.next = (self.number.q.val() & self.slot_mask.val()).get_bits::<20>(0);
        self.base.next = bit_cast::<20, 8>(self.owner.q.val()) << self.slots_bits.val();
        self.row.next = self.slot_of.val() | self.base.val();
        self.states.read_row.next = self.row.val();
        self.contents.read_row.next = self.row.val();

        comment!("decide: a chunk that has begun");
        self.decides.next = self.step.q.val() == Step::Decide;
        self.runs.next = self.open.val() & !self.is_over.q.val();
        self.status.next = self.invalid.val();
        if self.behind.q.val() {
            self.status.next = self.old.val();
        }
        if self.in_window.q.val() {
            self.status.next = self.no_room.val();
            if self.has_slot.q.val() {
                self.status.next = self.old.val();
                if self.states.read_data.val() == self.slot_empty.val() {
                    self.status.next = self.taken.val();
                }
            }
        }
        if self.key.q.val().missing {
            self.status.next = self.invalid.val();
        }
        if !self.open.val() | self.is_ended.q.val() {
            self.status.next = self.no_stream.val();
        }
        self.judges.next = self.decides.val() & (self.subject.q.val() == Subject::Key);
        self.takes.next = self.status.val() == self.taken.val();
        self.is_invalid.next = self.status.val() == self.invalid.val();
        self.reports.s_data.next.ssn = self.key.q.val().ssn;
        self.reports.s_data.next.status = self.status.val();
        self.reports.s_data.next.stream = self.key.q.val().stream;
        self.reports.s_valid.next = self.judges.val();
        self.answer_pulse.d.next = self.judges.val();
        self.answer_now.d.next.taken = self.takes.val() | self.is_invalid.val();
        self.answer_now.d.next.invalid = self.is_invalid.val();
        self.answer_now.d.next.number = self.number.q.val();

        comment!("the other subjects: what the slot becomes, and what is issued");
        self.content.next = self.contents.read_data.val();
        if self.subject.q.val() == Subject::End {
            self.content.next.control = self.finished.q.val().control;
            self.content.next.terminate = self.finished.q.val().terminate;
            self.content.next.length = self.finished.q.val().length;
        }
        self.fails.next = false;
        self.counts.next = false;
        self.issues.next = false;
        self.writes.next = false;
        self.becomes.next = self.slot_empty.val();
        self.cause.next = 0.into();
        self.behind_gap.next = false;
        self.was_placed.next = false;
        if self.decides.val() {
            self.next_step.next = Step::Rest;
            match self.subject.q.val() {
                Subject::Key => {
                    self.writes.next = self.takes.val();
                    self.becomes.next = self.slot_claimed.val();
                }
                Subject::End => {
                    self.writes.next = self.runs.val() & !self.finished.q.val().invalid;
                    self.behind_gap.next = !self.is_next.q.val();
                    self.becomes.next = self.slot_whole.val();
                    if self.finished.q.val().too_long | self.finished.q.val().invalid {
                        self.fails.next = self.runs.val();
                        self.cause.next = self.too_large.val();
                        if self.finished.q.val().invalid {
                            self.cause.next = self.invalid_ssn.val();
                        }
                        self.behind_gap.next = false;
                    } else {
                        self.issues.next = self.runs.val() & !self.content.val().control;
                        if self.is_next.q.val() {
                            self.becomes.next = self.slot_empty.val();
                            self.counts.next = self.runs.val();
                        }
                    }
                }
                Subject::Verdict => {
                    self.writes.next = self.runs.val() & !self.passed.q.val();
                    self.becomes.next = self.slot_placed.val();
                }
                Subject::Chain => {
                    self.counts.next = self.runs.val()
                        & self
                            .states
                            .read_data
                            .val()
                            .get_bit(self.whole_bit.val().index());
                    self.writes.next = self.counts.val();
                    self.issues.next = self.counts.val() & !self.content.val().control;
                    self.was_placed.next = self.states.read_data.val() == self.slot_placed.val();
                }
            }
        }
        self.advanced.next = self.known.q.val().due + 1;
        self.progressed.next.due = self.advanced.val();
        self.progressed.next.aged =
            self.known.q.val().aged | self.advanced.val().get_bit(self.aged_at.val().index());
        if self.counts.val() {
            self.known.d.next = self.progressed.val();
            self.number.d.next = self.advanced.val();
            self.subject.d.next = Subject::Chain;
            self.next_step.next = Step::Read;
        }
        self.closes.next =
            self.counts.val() & self.content.val().control & self.content.val().terminate;
        if self.closes.val() {
            self.cause.next = self.ends_closed.val();
        }
        if self.issues.val() | self.fails.val() | self.closes.val() {
            self.next_step.next = Step::Give;
        }

        comment!("the FPDU");
        self.dwords.next =
            (bit_cast::<17, 16>(self.content.val().length) + self.with_ssn.val()) >> 2;
        if self.decides.val() {
            self.out_valid.d.next = self.issues.val() | self.fails.val() | self.closes.val();
            self.out_fpdu.d.next.stream = self.owner.q.val();
            self.out_fpdu.d.next.position = self.number.q.val() << self.slot_bits.val();
            self.out_fpdu.d.next.dwords = self.dwords.val().get_bits::<16>(0);
            self.out_fpdu.d.next.markers = false;
            self.out_fpdu.d.next.crc = self.behind_gap.val();
            self.out_fpdu.d.next.refused = self.cause.val();
            self.out_fpdu.d.next.ulpdu = self.content.val().length;
            self.out_fpdu.d.next.ahead = self.behind_gap.val();
            self.out_fpdu.d.next.placed = self.was_placed.val();
            self.out_fpdu.d.next.header_only =
                self.was_placed.val() & (self.dwords.val().get_bits::<16>(0) > self.header.val());
            if self.fails.val() | self.closes.val() {
                self.out_fpdu.d.next.dwords = self.refused_dwords.val();
                self.out_fpdu.d.next.ulpdu = 0.into();
            }
        }
        comment!(
            "give: the next slot is read meanwhile; an FPDU of a stream that is closed is withdrawn"
        );
        if self.step.q.val() == Step::Give {
            if self.m_ready.val() {
                self.out_valid.d.next = false;
                self.next_step.next = Step::Rest;
                if self.subject.q.val() == Subject::Chain {
                    self.next_step.next = Step::Wait;
                }
            }
            if !self.open.val() {
                self.out_valid.d.next = false;
                self.next_step.next = Step::Rest;
            }
        }

        comment!("memories");
        self.states.write.next = self.writes.val();
        self.states.write_row.next = self.row.val();
        self.states.write_data.next = self.becomes.val();
        self.contents.write.next = self.writes.val() & (self.subject.q.val() == Subject::End);
        self.contents.write_row.next = self.row.val();
        self.contents.write_data.next = self.content.val();
        self.progress.write.next = self.counts.val();
        self.progress.write_row.next = self.owner.q.val().get_bits::<4>(0);
        self.progress.data.next = self.progressed.val();
        self.firsts.write.next = self.arm.val();
        self.firsts.write_row.next = self.stream.val().get_bits::<4>(0);
        self.firsts.data.next = self.first.val();

        comment!("sweep: a slot a cycle; then the session begins, unless it is over already");
        self.swept.next = false;
        if self.step.q.val() == Step::Sweep {
            self.states.write.next = true;
            self.states.write_row.next = self.sweep.q.val() | self.base.val();
            self.states.write_data.next = self.slot_empty.val();
            self.sweep.d.next = self.sweep.q.val() + 1;
            if self.sweep.q.val() == self.last_slot.val() {
                self.swept.next = true;
                self.progress.write.next = true;
                self.progress.data.next.due = bit_cast::<32, 16>(self.firsts.out.val());
                comment!("numbers in front of a first one that high count as old");
                self.progress.data.next.aged =
                    self.firsts.out.val().get_bit(self.aged_at.val().index());
                self.next_step.next = Step::Rest;
            }
        }
        for i in 0..S {
            self.armed[i].d.next = self.armed[i].q.val();
            self.ended[i].d.next = self.ended[i].q.val();
            self.over[i].d.next = self.over[i].q.val();
            if self.owner.q.val().get_bits::<4>(0) == self.index[i].val() {
                if self.swept.val() {
                    self.armed[i].d.next = self.sweeps[i].q.val();
                    self.ended[i].d.next = false;
                    self.over[i].d.next = false;
                    self.sweeps[i].d.next = false;
                }
                if self.judges.val() & self.is_invalid.val() {
                    self.ended[i].d.next = true;
                }
                if self.fails.val() {
                    self.ended[i].d.next = true;
                    self.over[i].d.next = true;
                }
                if self.closes.val() {
                    self.over[i].d.next = true;
                }
            }
            if self.stream.val().get_bits::<4>(0) == self.index[i].val() {
                if self.arm.val() {
                    self.sweeps[i].d.next = true;
                }
                if self.close.val() {
                    self.armed[i].d.next = false;
                    self.sweeps[i].d.next = false;
                }
            }
            if self.reset.val() {
                self.armed[i].d.next = false;
                self.sweeps[i].d.next = false;
            }
        }

        self.answer.next = self.answer_now.q.val();
        self.answer_valid.next = self.answer_pulse.q.val();
        self.m_fpdu.next = self.out_fpdu.q.val();
        self.m_valid.next = self.out_valid.q.val();
        self.m_report.next = self.reports.m_data.val();
        self.m_report_valid.next = self.reports.m_valid.val();
        self.reports.m_ready.next = self.m_report_ready.val();
        if self.reset.val() {
            self.next_step.next = Step::Rest;
            self.out_valid.d.next = false;
            self.answer_pulse.d.next = false;
        }
        self.step.d.next = self.next_step.val();
        self.rests.d.next = self.next_step.val() == Step::Rest;
    }
}
