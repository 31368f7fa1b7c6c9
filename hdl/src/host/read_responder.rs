//! ReadResponder: makes Read Requests (RFC 5040 §4.4) that the receive side has completed into slots of their Read Responses.
//!
//! ```text
//!  s_event ─►[held]─►[ours?]─┬─ no ──────────────────────────────────────────────┬─►[out]─► m_event
//!                            └─ yes ─►[flight]──────────────────────┐            │
//!                 MSN ─► base + 64·n ─► AR                          ▼            │
//!                                       R ─►[beats]─►[results]─► well-formed, allowed? ─ no ─► switch: off
//!                            stag, entry ─► tagged_checks ───────────┘  └─ yes ─► slots ─► head, row_data
//!  set, close ─► switch                    doorbell ─► give_back ─► bell            └─ pop ─► give_back
//! ```
//!
//! **What is taken.** Completions of untagged queue 1 of a stream whose responder is on; all others pass. The message with
//! MSN m lies in buffer (m - `FIRST_MSN`) modulo the number of buffers, as `read_responder` says. Its 28 octets are read by
//! one burst of 32 octets, or one beat, up to [`UNDER_WAY`] at a time of all streams together.
//!
//! **What is answered.** A message of exactly 28 octets without `HOLE` and `ANOMALY`, whose control octet has RDMAP version 1 and
//! the opcode of a Read Request (RFC 5040 §4.1; Rsv is not checked), while fewer than [`SLOTS`] others of the stream are here, whose read the bus has
//! not refused, whose Data Sink ends at or before 2^64, and whose Data Source may be read: its STag is valid, of the stream's
//! protection domain and for this stream, with the remote read right, and all of its octets lie in the region (RFC 5040 §5.2.1, §7.2;
//! a size of zero names no memory, and is not checked). It becomes a slot: a tagged message to Data Sink STag and Tagged Offset,
//! one element with Data Source STag and Tagged Offset, none for a size of zero, `REQUEST` its MSN, not signalled. `local_access` checks
//! each segment again when it is read: an STag that is revoked in between fails there.
//!
//! **What is not** goes to the host as its completion, unchanged; the stream's responder is off from then on, and all
//! requests behind it go to the host, in their order. So do those behind a command that switches off; those in front of it
//! are answered. An event `ERROR` or `CLOSED`, and a fence, pass when all reads are done, so no request follows them.
//! Other events of the stream may pass requests that are being read.
//!
//! **Buffers** are given back by a doorbell for `receive_rings` when the slot is popped. The host announces at most
//! [`SLOTS`] buffers, so a peer never has more requests under way; one that has finds the check above.
//!
//! **Close.** `close` switches off; `idle` of a stream is low while anything of it is here: a read, a slot, a doorbell. What is
//! read becomes a slot, which the consumer pops.
//!
//! Assumptions: streams of events are below S. An event is given when the payload that it reports is in memory: its write
//! has been answered, and a read that is issued later returns it. `set` is for an armed stream. `s_fence` pulses again only
//! behind `m_fence`. `doorbell` is that of `receive_rings`; `bell_ready` is low in its cycle. The bus answers in order.
//!
//! To the consumer as [`send_queues`](crate::host::send_queues): `row_data` follows `row_stream` and `row` by
//! [`ROW_LATENCY`](slots::ROW_LATENCY) cycles, `head` is low for [`POP_LATENCY`](slots::POP_LATENCY) - 1 cycles behind a pop.
//!
//! Latency: [`PASS_LATENCY`] cycles for an event that passes, [`READ_LATENCY`] from a request's event to ARVALID, [`HEAD_LATENCY`] from its
//! last beat to `head`, [`BELL_LATENCY`] from a pop to its doorbell. Throughput: an event every 3 cycles; an address every
//! [`READ_TURN`] cycles, as far as [`UNDER_WAY`] goes, and a slot every [`TURN`]. R is always accepted. No output depends on an input in the same cycle.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use crate::host::read_responder::give_back::GiveBack;
use crate::host::read_responder::slots::{ResponseSlots, SLOTS};
use crate::host::read_responder::switch::{RequestPlace, Switch};
use crate::parts::axi::{AxiReadMaster, BURST_INCR, CACHE_NOT_BUFFERABLE, PROT_DATA, size_code};
use crate::parts::queue::Queue;
use crate::tables::stag_table::{self, StagEntry};
use crate::tables::tagged_checks::{self, TaggedChecks};
use rust_hdl_core::prelude::*;
use warpline_regmap::layout::{completion, kind};
use warpline_regmap::transmit::{
    PAYLOAD_WORD, READ_BUFFER_OCTETS, READ_REQUESTS_MAX, send_element, send_slot, target,
};
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, Record, comment};
use warpline_wire::rdmap::{Control, Opcode, READ_REQUEST_LEN, Version, control, queue};

pub mod give_back;
pub mod slots;
pub mod switch;

/// Cycles from an event to `m_valid`, if it passes.
pub const PASS_LATENCY: usize = 3;
/// Cycles from the event of a request to ARVALID.
pub const READ_LATENCY: usize = 5;
/// Cycles from the last beat of a request to its `head`.
pub const HEAD_LATENCY: usize = 3 + ALLOWED;
/// Cycles from a pop to the doorbell that gives its buffer back.
pub const BELL_LATENCY: usize = 4;
/// Cycles from one address to the next, at the least.
pub const READ_TURN: usize = 4;
/// Cycles that a request takes, at the least.
pub const TURN: usize = 1 + ALLOWED;
/// Cycles from a result to what the STag table says of its Data Source.
const ALLOWED: usize = 1 + stag_table::LATENCY as usize + tagged_checks::LATENCY as usize;
/// log2 of [`UNDER_WAY`].
const FLIGHT: usize = 4;
/// Requests that are being read, of all streams together.
pub const UNDER_WAY: usize = 1 << FLIGHT;
/// Octets that are read of a request.
const BURST: usize = 32;
/// Octet of RsvdULP that has RDMAP's control field, where it is checked.
const CHECKED: u8 = control::VERSION | control::OPCODE;
/// The word of a slot that every response begins with, but for `COUNT`.
const HEAD: u32 = target::TAGGED << send_slot::KIND.lsb
    | (Control::new(Version::Ietf, Opcode::ReadResponse).0 as u32) << send_slot::RSVD_ULP_FIRST.lsb;

const _: () = assert!(
    READ_REQUEST_LEN == 4 * 7 && BURST <= READ_BUFFER_OCTETS && SLOTS == READ_REQUESTS_MAX,
    "words of a request"
);
const _: () = assert!(
    PAYLOAD_WORD == 8
        && send_slot::STAG.lsb == 32
        && send_slot::OFFSET.lsb == 64
        && send_slot::RSVD_ULP_LOW.lsb == 128
        && send_slot::LENGTH.lsb == 160
        && send_slot::REQUEST.lsb == 192
        && send_element::STAG.lsb == 0
        && send_element::LENGTH.lsb == 32
        && send_element::OFFSET.lsb == 64,
    "words of a row"
);

/// A request that is being read.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct ReadUnderWay {
    /// Its completion.
    pub entry: Bits<256>,
    /// Protection domain of its stream.
    pub protection_domain: Bits<16>,
    /// It is well-formed, and its stream's responder is on.
    pub answer: Bit,
}

/// Memory that a request names.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct DataSource {
    /// Stream number.
    pub stream: Bits<8>,
    /// Protection domain of the stream.
    pub protection_domain: Bits<16>,
    /// STag.
    pub stag: Bits<32>,
    /// High half of the Tagged Offset of the first octet.
    pub offset_high: Bits<32>,
    /// Low half of it.
    pub offset_low: Bits<32>,
    /// Octets less one.
    pub last: Bits<32>,
}

/// A request that was read.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct ReadResult {
    /// Its octets, the first one in bits 7:0.
    pub octets: Bits<224>,
    /// The bus has refused a beat, or ended the burst too early.
    pub failed: Bit,
}

/// State of the event that is held.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum EventStep {
    /// None is.
    Open,
    /// Its fields are compared.
    Decode,
    /// It passes, or is taken.
    Judge,
}

/// State of the address.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum AskStep {
    /// None is in work.
    Rest,
    /// Its low half.
    Low,
    /// Its high half.
    High,
    /// It is offered.
    Offer,
}

/// State of the oldest result.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum ResultStep {
    /// Looks for one.
    Look,
    /// Writes the slot's first row.
    Row0,
    /// Its second row.
    Row1,
    /// The checks of its Data Source are not done.
    Check,
    /// Its third row: the slot is there.
    Row2,
    /// The request goes to the host.
    Host,
}

/// Read responder on a bus of W bits, K = W/8 octets, for S streams.
#[derive(Block)]
#[block()]
pub struct ReadResponder<const W: usize, const K: usize, const S: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset, while no read is under way.
    pub reset: Signal<In, Bit>,

    /// Entry of the receive side, PHASE zero.
    pub s_event: Signal<In, Bits<256>>,
    /// It is valid.
    pub s_valid: Signal<In, Bit>,
    /// It is accepted.
    pub s_ready: Signal<Out, Bit>,
    /// Pulse: a fence behind the events accepted so far. One at a time.
    pub s_fence: Signal<In, Bit>,
    /// Entry for the completion queue.
    pub m_event: Signal<Out, Bits<256>>,
    /// It is valid.
    pub m_valid: Signal<Out, Bit>,
    /// It is accepted.
    pub m_ready: Signal<In, Bit>,
    /// Pulse: the fence, behind the events that were accepted in front of it.
    pub m_fence: Signal<Out, Bit>,

    /// Reads.
    pub m_axi: AxiReadMaster<W>,
    /// STag to look up.
    pub stag: Signal<Out, Bits<32>>,
    /// The entry in its slot, [`stag_table::LATENCY`] cycles later.
    pub entry: Signal<In, StagEntry>,

    /// `arguments` say what is switched; both are stable until `set_ready`.
    pub set: Signal<In, Bit>,
    /// `regmap::transmit::read_responder`.
    pub arguments: Signal<In, Bits<128>>,
    /// Protection domain of the stream, stable as they are.
    pub protection_domain: Signal<In, Bits<16>>,
    /// Pulse: it is switched.
    pub set_ready: Signal<Out, Bit>,
    /// With `set_ready`: it is refused.
    pub set_failed: Signal<Out, Bit>,
    /// Pulse: the responder of `stream` is off.
    pub close: Signal<In, Bit>,
    /// Stream of `close`.
    pub stream: Signal<In, Bits<8>>,
    /// Nothing of the stream is here.
    pub idle: [Signal<Out, Bit>; S],

    /// The oldest slot of the stream is there.
    pub head: [Signal<Out, Bit>; S],
    /// Stream whose head is read.
    pub row_stream: Signal<In, Bits<8>>,
    /// Row of the head: 16 octets, from 0 on; 0 to 2 have a meaning.
    pub row: Signal<In, Bits<4>>,
    /// Octets of the row, [`slots::ROW_LATENCY`] cycles later.
    pub row_data: Signal<Out, Bits<128>>,
    /// Pulse: the head of `pop_stream` is done with.
    pub pop: Signal<In, Bit>,
    /// Stream of `pop`.
    pub pop_stream: Signal<In, Bits<8>>,

    /// Pulse: the host's doorbell of a receive ring.
    pub doorbell: Signal<In, Bit>,
    /// Stream of it.
    pub doorbell_stream: Signal<In, Bits<8>>,
    /// Queue of it.
    pub doorbell_queue: Signal<In, Bits<8>>,
    /// Its value.
    pub doorbell_value: Signal<In, Bits<16>>,
    /// A doorbell of the device; withdrawn if the host rings for the same queue.
    pub bell: Signal<Out, Bit>,
    /// It is accepted: not in a cycle with a doorbell of the host.
    pub bell_ready: Signal<In, Bit>,
    /// Its stream.
    pub bell_stream: Signal<Out, Bits<8>>,
    /// Its queue.
    pub bell_queue: Signal<Out, Bits<8>>,
    /// Its value.
    pub bell_value: Signal<Out, Bits<16>>,

    switch: Switch<S>,
    slots: ResponseSlots<S>,
    give_back: GiveBack<S>,
    flight: Queue<ReadUnderWay, FLIGHT>,
    results: Queue<ReadResult, FLIGHT>,
    /// Requests of each stream in `flight`.
    flights: [Dff<Bits<5>>; S],

    event_step: Dff<EventStep>,
    held: Dff<Bits<256>>,
    takes: Dff<Bit>,
    ends_stream: Dff<Bit>,
    answer: Dff<Bit>,
    place: Dff<RequestPlace>,
    fencing: Dff<Bit>,
    out: Dff<Bits<256>>,
    out_valid: Dff<Bit>,

    ask_step: Dff<AskStep>,
    number: Dff<Bits<15>>,
    base: Dff<Bits<58>>,
    low: Dff<Bits<27>>,
    high: Dff<Bits<32>>,

    valid_0: Dff<Bit>,
    data_0: Dff<Bits<W>>,
    error_0: Dff<Bit>,
    last_0: Dff<Bit>,
    count: Dff<Bits<3>>,
    bad: Dff<Bit>,
    collected: Dff<Bits<256>>,

    result_step: Dff<ResultStep>,
    end_low: Dff<Bits<33>>,
    end_high: Dff<Bits<33>>,
    wraps: Dff<Bit>,
    source: Dff<DataSource>,
    tagged_checks: TaggedChecks,
    has_octets: Dff<Bit>,
    checking: Dff<Bits<3>>,

    held_stream: Signal<Local, Bits<4>>,
    held_kind: Signal<Local, Bits<4>>,
    held_control: Signal<Local, Bits<8>>,
    stream_on: Signal<Local, Bit>,
    stream_flies: Signal<Local, Bit>,
    stream_reads: Signal<Local, Bits<5>>,
    stream_slots: Signal<Local, Bits<5>>,
    stream_number: Signal<Local, Bits<6>>,
    is_request: Signal<Local, Bit>,
    well_formed: Signal<Local, Bit>,
    asks: Signal<Local, Bit>,
    passes: Signal<Local, Bit>,
    to_host: Signal<Local, Bit>,
    together: Signal<Local, Bits<256>>,
    ends: Signal<Local, Bit>,
    oldest: Signal<Local, ReadUnderWay>,
    oldest_stream: Signal<Local, Bits<4>>,
    found: Signal<Local, ReadResult>,
    word: [Signal<Local, Bits<32>>; 7],
    swapped: [Signal<Local, Bits<32>>; 7],
    stream_broken: Signal<Local, Bit>,
    head_word: Signal<Local, Bits<32>>,
    fails: Signal<Local, Bit>,
    done: Signal<Local, Bit>,
    up: [Signal<Local, Bit>; S],
    down: [Signal<Local, Bit>; S],

    #[constant(|i| i)]
    index: [Constant<Bits<4>>; S],
    #[constant(completion::KIND.lsb)]
    kind_at: Constant<Bits<8>>,
    #[constant(completion::STREAM.lsb)]
    stream_at: Constant<Bits<8>>,
    #[constant(completion::HOLE.lsb)]
    hole_at: Constant<Bits<8>>,
    #[constant(completion::ANOMALY.lsb)]
    anomaly_at: Constant<Bits<8>>,
    #[constant(completion::QUEUE.lsb)]
    queue_at: Constant<Bits<8>>,
    #[constant(completion::MSN.lsb)]
    msn_at: Constant<Bits<8>>,
    #[constant(completion::LENGTH.lsb)]
    length_at: Constant<Bits<8>>,
    #[constant(completion::RSVD_ULP_FIRST.lsb)]
    control_at: Constant<Bits<8>>,
    #[constant(kind::UNTAGGED)]
    untagged: Constant<Bits<4>>,
    #[constant(kind::ERROR)]
    error: Constant<Bits<4>>,
    #[constant(kind::CLOSED)]
    closed: Constant<Bits<4>>,
    #[constant(queue::READ_REQUEST)]
    requests: Constant<Bits<32>>,
    #[constant(READ_REQUEST_LEN)]
    request_octets: Constant<Bits<32>>,
    #[constant(CHECKED)]
    checked: Constant<Bits<8>>,
    #[constant(Control::new(Version::Ietf, Opcode::ReadRequest).0)]
    read_request: Constant<Bits<8>>,
    #[constant(HEAD)]
    response: Constant<Bits<32>>,
    #[constant(send_slot::COUNT.in_word(0))]
    count_at: Constant<Bits<8>>,
    #[constant(READ_BUFFER_OCTETS.ilog2())]
    buffer_bits: Constant<Bits<8>>,
    #[constant(if K < BURST { BURST / K - 1 } else { 0 })]
    length: Constant<Bits<8>>,
    #[constant(if K < BURST { BURST / K - 1 } else { 0 })]
    final_beat: Constant<Bits<3>>,
    #[constant(if K < BURST { W } else { 0 })]
    beat_shift: Constant<Bits<16>>,
    #[constant(if K < BURST { 8 * BURST - W } else { 0 })]
    beat_at: Constant<Bits<16>>,
    #[constant(ALLOWED - 2)]
    checks: Constant<Bits<3>>,
    #[constant(0xFF00)]
    second_octet: Constant<Bits<32>>,
    #[constant(0x00FF_0000)]
    third_octet: Constant<Bits<32>>,
    #[constant(size_code(K))]
    size: Constant<Bits<3>>,
    #[constant(BURST_INCR)]
    burst: Constant<Bits<2>>,
    #[constant(CACHE_NOT_BUFFERABLE)]
    cache: Constant<Bits<4>>,
    #[constant(PROT_DATA)]
    prot: Constant<Bits<3>>,
}

impl<const W: usize, const K: usize, const S: usize> Default for ReadResponder<W, K, S> {
    /// # Panics
    /// When W is not 64, 128, 256 or 512, K not W/8, or S not 1 to 16.
    fn default() -> Self {
        assert!(
            matches!(W, 64 | 128 | 256 | 512) && W == 8 * K,
            "{W} bits in {K} lanes"
        );
        assert!((1..=16).contains(&S), "{S} streams: give 1 to 16");
        Self::assemble()
    }
}

impl<const W: usize, const K: usize, const S: usize> Logic for ReadResponder<W, K, S> {
    #[hdl_gen]
    fn update(&mut self) {
        self.switch.reset.next = self.reset.val();
        self.slots.reset.next = self.reset.val();
        self.give_back.reset.next = self.reset.val();
        self.flight.reset.next = self.reset.val();
        self.results.reset.next = self.reset.val();

        self.oldest.next = self.flight.m_data.val();
        self.oldest_stream.next = self
            .oldest
            .val()
            .entry
            .get_bits::<4>(self.stream_at.val().index());

        comment!("the event that is held: its fields, and the state of its stream");
        self.held_stream.next = self
            .held
            .q
            .val()
            .get_bits::<4>(self.stream_at.val().index());
        self.held_kind.next = self.held.q.val().get_bits::<4>(self.kind_at.val().index());
        self.held_control.next = self
            .held
            .q
            .val()
            .get_bits::<8>(self.control_at.val().index());
        self.stream_on.next = false;
        self.stream_flies.next = false;
        self.stream_reads.next = 0.into();
        self.stream_slots.next = 0.into();
        for i in 0..S {
            if self.held_stream.val() == self.index[i].val() {
                self.stream_on.next = self.switch.on[i].val();
                self.stream_flies.next = self.flights[i].q.val().any();
                self.stream_reads.next = self.flights[i].q.val();
                self.stream_slots.next = self.slots.filled[i].val();
            }
        }
        self.stream_number.next =
            bit_cast::<6, 5>(self.stream_reads.val()) + bit_cast::<6, 5>(self.stream_slots.val());
        self.is_request.next = (self.held_kind.val() == self.untagged.val())
            & (self
                .held
                .q
                .val()
                .get_bits::<32>(self.queue_at.val().index())
                == self.requests.val());
        self.well_formed.next = (self
            .held
            .q
            .val()
            .get_bits::<32>(self.length_at.val().index())
            == self.request_octets.val())
            & ((self.held_control.val() & self.checked.val()) == self.read_request.val())
            & !self.held.q.val().get_bit(self.hole_at.val().index())
            & !self.held.q.val().get_bit(self.anomaly_at.val().index());
        comment!("a request behind one that is being read follows it, so that they stay in order");
        self.takes.d.next =
            self.is_request.val() & (self.stream_on.val() | self.stream_flies.val());
        self.answer.d.next = self.stream_on.val()
            & self.well_formed.val()
            & !self.stream_number.val().get_bits::<2>(4).any();
        self.ends_stream.d.next = (self.held_kind.val() == self.error.val())
            | (self.held_kind.val() == self.closed.val());
        self.switch.place_stream.next = self.held_stream.val();
        self.place.d.next = self.switch.place.val();

        comment!("it passes, or is taken");
        self.to_host.next =
            (self.result_step.q.val() == ResultStep::Host) & !self.out_valid.q.val();
        self.asks.next = (self.event_step.q.val() == EventStep::Judge)
            & self.takes.q.val()
            & self.flight.s_ready.val()
            & (self.ask_step.q.val() == AskStep::Rest);
        self.passes.next = (self.event_step.q.val() == EventStep::Judge)
            & !self.takes.q.val()
            & !self.out_valid.q.val()
            & (self.result_step.q.val() != ResultStep::Host)
            & !(self.ends_stream.q.val() & self.flight.m_valid.val());
        self.s_ready.next = (self.event_step.q.val() == EventStep::Open) & !self.fencing.q.val();
        match self.event_step.q.val() {
            EventStep::Open => {
                self.held.d.next = self.s_event.val();
                if self.s_valid.val() & !self.fencing.q.val() {
                    self.event_step.d.next = EventStep::Decode;
                }
            }
            EventStep::Decode => {
                self.event_step.d.next = EventStep::Judge;
            }
            EventStep::Judge => {
                comment!("what was found in the cycle before stays");
                self.takes.d.next = self.takes.q.val();
                self.answer.d.next = self.answer.q.val();
                self.ends_stream.d.next = self.ends_stream.q.val();
                self.place.d.next = self.place.q.val();
                if self.asks.val() | self.passes.val() {
                    self.event_step.d.next = EventStep::Open;
                }
            }
        }
        self.flight.s_valid.next = self.asks.val();
        self.flight.s_data.next.entry = self.held.q.val();
        self.flight.s_data.next.answer = self.answer.q.val();
        self.flight.s_data.next.protection_domain = self.place.q.val().protection_domain;

        comment!("out: an event, or a request that is not answered");
        if self.m_ready.val() {
            self.out_valid.d.next = false;
        }
        if self.passes.val() {
            self.out_valid.d.next = true;
            self.out.d.next = self.held.q.val();
        }
        if self.to_host.val() {
            self.out_valid.d.next = true;
            self.out.d.next = self.oldest.val().entry;
        }
        self.m_event.next = self.out.q.val();
        self.m_valid.next = self.out_valid.q.val();

        comment!("a fence: nothing more is accepted until all in front of it has left");
        self.m_fence.next = self.fencing.q.val()
            & (self.event_step.q.val() == EventStep::Open)
            & !self.flight.m_valid.val()
            & !self.out_valid.q.val();
        if self.m_fence.val() {
            self.fencing.d.next = false;
        }
        if self.s_fence.val() {
            self.fencing.d.next = true;
        }

        comment!("the address, half by half");
        match self.ask_step.q.val() {
            AskStep::Rest => {
                self.number.d.next = (self.held.q.val().get_bits::<15>(self.msn_at.val().index())
                    - self.place.q.val().first)
                    & self.place.q.val().mask;
                self.base.d.next = self.place.q.val().base;
                if self.asks.val() {
                    self.ask_step.d.next = AskStep::Low;
                }
            }
            AskStep::Low => {
                self.low.d.next = bit_cast::<27, 26>(self.base.q.val().get_bits::<26>(0))
                    + bit_cast::<27, 15>(self.number.q.val());
                self.ask_step.d.next = AskStep::High;
            }
            AskStep::High => {
                self.high.d.next = self.base.q.val().get_bits::<32>(26)
                    + bit_cast::<32, 1>(self.low.q.val().get_bits::<1>(26));
                self.ask_step.d.next = AskStep::Offer;
            }
            AskStep::Offer => {
                if self.m_axi.arready.val() {
                    self.ask_step.d.next = AskStep::Rest;
                }
            }
        }
        self.m_axi.araddr.next = (bit_cast::<64, 26>(self.low.q.val().get_bits::<26>(0))
            << self.buffer_bits.val())
            | (bit_cast::<64, 32>(self.high.q.val()) << 32);
        self.m_axi.arvalid.next = self.ask_step.q.val() == AskStep::Offer;
        self.m_axi.arlen.next = self.length.val();
        self.m_axi.arsize.next = self.size.val();
        self.m_axi.arburst.next = self.burst.val();
        self.m_axi.arcache.next = self.cache.val();
        self.m_axi.arprot.next = self.prot.val();
        self.m_axi.rready.next = true;

        comment!("beats become results, for which there is room: not more than requests under way");
        self.valid_0.d.next = self.m_axi.rvalid.val();
        self.data_0.d.next = self.m_axi.rdata.val();
        self.error_0.d.next = self.m_axi.rresp.val().get_bit(1);
        self.last_0.d.next = self.m_axi.rlast.val();
        self.together.next = (self.collected.q.val() >> self.beat_shift.val())
            | (bit_cast::<256, W>(self.data_0.q.val()) << self.beat_at.val());
        self.ends.next = self.valid_0.q.val() & self.last_0.q.val();
        if self.valid_0.q.val() {
            self.collected.d.next = self.together.val();
            self.count.d.next = self.count.q.val() + 1;
            self.bad.d.next = self.bad.q.val() | self.error_0.q.val();
            if self.last_0.q.val() {
                self.collected.d.next = 0.into();
                self.count.d.next = 0.into();
                self.bad.d.next = false;
            }
        }
        self.results.s_valid.next = self.ends.val();
        self.results.s_data.next.octets = self.together.val().get_bits::<224>(0);
        self.results.s_data.next.failed =
            self.bad.q.val() | self.error_0.q.val() | (self.count.q.val() != self.final_beat.val());

        comment!("the oldest result: its words, the first octet the highest one (RFC 5040 §4.4)");
        self.found.next = self.results.m_data.val();
        for i in 0..7 {
            self.word[i].next = self.found.val().octets.get_bits::<32>(32 * i);
            self.swapped[i].next = (self.word[i].val() << 24)
                | ((self.word[i].val() << 8) & self.third_octet.val())
                | ((self.word[i].val() >> 8) & self.second_octet.val())
                | (self.word[i].val() >> 24);
        }
        self.stream_broken.next = false;
        for i in 0..S {
            if self.oldest_stream.val() == self.index[i].val() {
                self.stream_broken.next = self.switch.broken[i].val();
            }
        }
        comment!("the end of Data Sink, in halves, while two rows are written; it may be 2^64");
        self.end_low.d.next =
            bit_cast::<33, 32>(self.swapped[2].val()) + bit_cast::<33, 32>(self.swapped[3].val());
        self.end_high.d.next = bit_cast::<33, 32>(self.swapped[1].val())
            + bit_cast::<33, 1>(self.end_low.q.val().get_bits::<1>(32));
        self.wraps.d.next = self.end_high.q.val().get_bit(32)
            & (self.end_high.q.val().get_bits::<32>(0).any()
                | self.end_low.q.val().get_bits::<32>(0).any());

        comment!("may its Data Source be read? What is asked is stable until the answer is there");
        self.source.d.next.stream = bit_cast::<8, 4>(self.oldest_stream.val());
        self.source.d.next.protection_domain = self.oldest.val().protection_domain;
        self.source.d.next.stag = self.swapped[4].val();
        self.source.d.next.offset_high = self.swapped[5].val();
        self.source.d.next.offset_low = self.swapped[6].val();
        self.source.d.next.last = self.swapped[3].val() - 1;
        self.has_octets.d.next = self.swapped[3].val().any();
        self.stag.next = self.source.q.val().stag;
        self.tagged_checks.stream.next = self.source.q.val().stream;
        self.tagged_checks.protection_domain.next = self.source.q.val().protection_domain;
        self.tagged_checks.stag.next = self.source.q.val().stag;
        self.tagged_checks.offset_high.next = self.source.q.val().offset_high;
        self.tagged_checks.offset_low.next = self.source.q.val().offset_low;
        self.tagged_checks.last.next = self.source.q.val().last;
        self.tagged_checks.entry.next = self.entry.val();
        self.fails.next = self.wraps.q.val()
            | (self.has_octets.q.val()
                & (self.tagged_checks.fails_stag.val()
                    | self.tagged_checks.fails_association.val()
                    | self.tagged_checks.fails_read.val()
                    | self.tagged_checks.fails_offset.val()
                    | self.tagged_checks.fails_end.val()));

        self.head_word.next = self.response.val();
        if self.swapped[3].val().any() {
            self.head_word.next = self.response.val() | (bits::<32>(1) << self.count_at.val());
        }
        self.slots.put.next = false;
        self.slots.put_row.next = 0.into();
        self.slots.put_ends.next = false;
        self.slots.put_stream.next = self.oldest_stream.val();
        comment!("row 0: Data Sink");
        self.slots.put_data.next = bit_cast::<128, 32>(self.head_word.val())
            | (bit_cast::<128, 32>(self.swapped[0].val()) << 32)
            | (bit_cast::<128, 32>(self.swapped[2].val()) << 64)
            | (bit_cast::<128, 32>(self.swapped[1].val()) << 96);
        self.checking.d.next = self.checking.q.val() + 1;
        match self.result_step.q.val() {
            ResultStep::Look => {
                self.checking.d.next = 0.into();
                if self.results.m_valid.val() {
                    self.result_step.d.next = ResultStep::Row0;
                    if self.found.val().failed
                        | !self.oldest.val().answer
                        | self.stream_broken.val()
                    {
                        self.result_step.d.next = ResultStep::Host;
                    }
                }
            }
            ResultStep::Row0 => {
                self.slots.put.next = true;
                self.result_step.d.next = ResultStep::Row1;
            }
            ResultStep::Row1 => {
                comment!("row 1: size, MSN");
                self.slots.put.next = true;
                self.slots.put_row.next = 1.into();
                self.slots.put_data.next = (bit_cast::<128, 32>(self.swapped[3].val()) << 32)
                    | (bit_cast::<128, 32>(
                        self.oldest
                            .val()
                            .entry
                            .get_bits::<32>(self.msn_at.val().index()),
                    ) << 64);
                self.result_step.d.next = ResultStep::Check;
            }
            ResultStep::Check => {
                if self.checking.q.val() == self.checks.val() {
                    self.result_step.d.next = ResultStep::Row2;
                }
            }
            ResultStep::Row2 => {
                comment!("row 2: Data Source; without it there is no slot");
                self.slots.put.next = !self.fails.val();
                self.slots.put_row.next = 2.into();
                self.slots.put_ends.next = true;
                self.slots.put_data.next = bit_cast::<128, 32>(self.swapped[4].val())
                    | (bit_cast::<128, 32>(self.swapped[3].val()) << 32)
                    | (bit_cast::<128, 32>(self.swapped[6].val()) << 64)
                    | (bit_cast::<128, 32>(self.swapped[5].val()) << 96);
                self.result_step.d.next = ResultStep::Look;
                if self.fails.val() {
                    self.result_step.d.next = ResultStep::Host;
                }
            }
            ResultStep::Host => {
                if self.to_host.val() {
                    self.result_step.d.next = ResultStep::Look;
                }
            }
        }
        self.done.next = ((self.result_step.q.val() == ResultStep::Row2) & !self.fails.val())
            | self.to_host.val();
        self.flight.m_ready.next = self.done.val();
        self.results.m_ready.next = self.done.val();

        comment!("switch, slots, doorbells");
        self.switch.set.next = self.set.val();
        self.switch.arguments.next = self.arguments.val();
        self.switch.protection_domain.next = self.protection_domain.val();
        self.set_ready.next = self.switch.set_ready.val();
        self.set_failed.next = self.switch.set_failed.val();
        self.switch.close.next = self.close.val();
        self.switch.stream.next = self.stream.val();
        self.switch.fails.next = self.to_host.val();
        self.switch.fails_stream.next = self.oldest_stream.val();
        self.switch.slots_busy.next = self.slots.busy.val();
        self.slots.align.next = self.switch.align.val();
        self.slots.align_stream.next = self.switch.align_stream.val();
        self.slots.row_stream.next = self.row_stream.val();
        self.slots.row.next = self.row.val();
        self.row_data.next = self.slots.row_data.val();
        self.slots.pop.next = self.pop.val();
        self.slots.pop_stream.next = self.pop_stream.val();
        self.give_back.doorbell.next = self.doorbell.val();
        self.give_back.doorbell_stream.next = self.doorbell_stream.val();
        self.give_back.doorbell_queue.next = self.doorbell_queue.val();
        self.give_back.doorbell_value.next = self.doorbell_value.val();
        self.give_back.popped.next = self.slots.popped.val();
        self.give_back.popped_stream.next = self.slots.popped_stream.val();
        self.give_back.popped_count.next = self.slots.popped_count.val();
        self.give_back.bell_ready.next = self.bell_ready.val();
        self.bell.next = self.give_back.bell.val();
        self.bell_stream.next = self.give_back.bell_stream.val();
        self.bell_queue.next = self.give_back.bell_queue.val();
        self.bell_value.next = self.give_back.bell_value.val();

        for i in 0..S {
            self.up[i].next = self.asks.val() & (self.held_stream.val() == self.index[i].val());
            self.down[i].next = self.done.val() & (self.oldest_stream.val() == self.index[i].val());
            if self.up[i].val() & !self.down[i].val() {
                self.flights[i].d.next = self.flights[i].q.val() + 1;
            }
            if self.down[i].val() & !self.up[i].val() {
                self.flights[i].d.next = self.flights[i].q.val() - 1;
            }
            if self.reset.val() {
                self.flights[i].d.next = 0.into();
            }
            self.give_back.gives[i].next = self.switch.gives[i].val();
            self.idle[i].next = !self.flights[i].q.val().any()
                & !self.slots.holds[i].val()
                & !self.give_back.owes[i].val()
                & !((self.event_step.q.val() == EventStep::Judge)
                    & self.takes.q.val()
                    & (self.held_stream.val() == self.index[i].val()));
            self.switch.idle[i].next = self.idle[i].val();
            self.head[i].next = self.slots.head[i].val();
        }
        if self.reset.val() {
            self.event_step.d.next = EventStep::Open;
            self.ask_step.d.next = AskStep::Rest;
            self.result_step.d.next = ResultStep::Look;
            self.fencing.d.next = false;
            self.out_valid.d.next = false;
            self.valid_0.d.next = false;
            self.count.d.next = 0.into();
            self.bad.d.next = false;
            self.collected.d.next = 0.into();
        }
    }
}
