//! Scheduler: whose DDP segment is cut next.
//!
//! ```text
//!  events ─► bits of each stream ─► eligible ─► round robin ─► deficit + QUANTUM ─┬─ > 0 ─► next visit ─┐
//!                                                    ▲                            └─ ≤ 0 ─► deficits    │ begin
//!                                                    └── deficits ◄── budget, at its end ◄── visit ◄────┘
//!                                                                       ▲  └─► more: another turn
//!                                                                       └── spent
//! ```
//!
//! Deficit round robin, in octets of FPDUs without their markers: a stream is visited, its budget grows by [`QUANTUM`], and it has turns until the
//! budget is used up or it has nothing to send. What it has used beyond that is deducted from its next visit; what it has left
//! when it has nothing more to send is lost. The next visit is chosen while this one lasts. If no other stream is eligible, a used budget
//! grows in place, as another visit would do it.
//!
//! A stream is *eligible* when its oldest slot is fetched, it is not blocked, and the slot can be sent (armed, gate open)
//! or is flushed (closed, ended, frozen). A turn that finds no room in the ring, or a fence that is not reached, blocks its
//! stream; each event of the stream ends that, also one that comes during the turn.
//!
//! A turn begins before it is known whether its stream is still eligible: `holds` says so in the second cycle of the
//! turn, for the head of the first one.
//!
//! Latency: [`START`] cycles from a stream's getting eligible to its turn, if no other stream has one. Throughput: a turn can
//! follow each other one; a choice takes [`CHOICE`] cycles in the shadow of the visit. A ready stream has its turn after at most S - 1 visits of others for each QUANTUM
//! of its deficit, and a visit takes at most QUANTUM octets and one segment.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use crate::parts::queue::Store;
use crate::parts::round_robin::RoundRobin;
use rust_hdl_core::prelude::*;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, comment};

/// Octets that a visit adds to the budget of a stream.
pub const QUANTUM: u64 = 4096;
/// Cycles from an eligible stream to its turn.
pub const START: usize = 1 + CHOICE;
/// Cycles of a choice.
pub const CHOICE: usize = 3;

/// State of the choice.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum Step {
    /// A stream is chosen.
    Seek,
    /// Its deficit is read.
    Visit,
    /// Its budget is compared.
    Weigh,
    /// It can be visited.
    Ready,
}

/// An event of a stream.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, warpline_sv_writer::Record)]
pub struct StreamEvent {
    /// It happens in this cycle.
    pub valid: Bit,
    /// Stream number.
    pub stream: Bits<8>,
}

/// Scheduler of S streams.
#[derive(Block)]
#[block(default)]
pub struct Scheduler<const S: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// The oldest slot of the stream is fetched.
    pub head: [Signal<In, Bit>; S],
    /// The stream is as before it was armed.
    pub clear: Signal<In, StreamEvent>,
    /// `ARM_TRANSMIT`.
    pub arm: Signal<In, StreamEvent>,
    /// `CLOSE_STREAM`: requests are flushed.
    pub close: Signal<In, StreamEvent>,
    /// The gate opens (MPA-START-10, AMB-56).
    pub open: Signal<In, StreamEvent>,
    /// The receive side has frozen the stream.
    pub freeze: Signal<In, StreamEvent>,
    /// A request has failed behind this block.
    pub fail: Signal<In, StreamEvent>,
    /// The ring has more room.
    pub freed: Signal<In, StreamEvent>,
    /// A segment has left the blocks behind this one.
    pub settled: Signal<In, StreamEvent>,

    /// The queue of a stream ends with a request that was decided.
    pub ends: Signal<In, StreamEvent>,
    /// The queue of a stream ends with a request whose elements are refused.
    pub refused: Signal<In, StreamEvent>,

    /// The stream that is visited can have another turn.
    pub more: Signal<Out, Bit>,
    /// Another stream can be visited.
    pub other: Signal<Out, Bit>,
    /// Pulse, if one of them can, or only `other` with `leave`: a turn begins in the next cycle.
    pub start: Signal<In, Bit>,
    /// Stream of the turn.
    pub stream: Signal<Out, Bits<8>>,
    /// In the second cycle of a turn: its stream was eligible in the first one.
    pub holds: Signal<Out, Bit>,
    /// It is armed, and its gate is open.
    pub sends: Signal<Out, Bit>,
    /// It is closed, or its queue has ended.
    pub flushes: Signal<Out, Bit>,
    /// It is frozen.
    pub frozen: Signal<Out, Bit>,
    /// Pulse: `spent` is taken off the budget.
    pub pays: Signal<In, Bit>,
    /// Octets that are sent.
    pub spent: Signal<In, Bits<17>>,
    /// Pulse: the visit ends, since the stream has nothing more to send, or is blocked.
    pub leave: Signal<In, Bit>,
    /// With `leave`: the stream cannot go on before an event.
    pub block: Signal<In, Bit>,
    /// Streams that `ARM_TRANSMIT` has armed.
    pub is_armed: [Signal<Out, Bit>; S],
    /// Streams whose gate is open.
    pub is_open: [Signal<Out, Bit>; S],
    /// Streams whose queue has ended.
    pub is_ended: [Signal<Out, Bit>; S],

    armed: [Dff<Bit>; S],
    opened: [Dff<Bit>; S],
    closing: [Dff<Bit>; S],
    iced: [Dff<Bit>; S],
    ended: [Dff<Bit>; S],
    blocked: [Dff<Bit>; S],
    eligible: [Dff<Bit>; S],
    round_robin: RoundRobin<S>,
    deficits: Store<Bits<18>, 4>,
    step: Dff<Step>,
    /// The next visit.
    coming: Dff<Bits<4>>,
    coming_budget: Dff<Bits<18>>,
    /// This one.
    visiting: Dff<Bit>,
    current: Dff<Bits<8>>,
    budget: Dff<Bits<18>>,
    /// No other stream is eligible.
    alone: Dff<Bit>,
    sends_now: Dff<Bit>,
    flushes_now: Dff<Bit>,
    frozen_now: Dff<Bit>,
    /// An event of the stream came during its turn.
    woken: Dff<Bit>,
    follows: Signal<Local, Bit>,
    closes: Signal<Local, Bit>,
    next_positive: Signal<Local, Bit>,
    wakes: [Signal<Local, Bit>; S],
    is_current: [Signal<Local, Bit>; S],
    positive: Signal<Local, Bit>,
    #[constant(|i| i)]
    index: [Constant<Bits<4>>; S],
    #[constant(QUANTUM)]
    quantum: Constant<Bits<18>>,
}

impl<const S: usize> Logic for Scheduler<S> {
    #[hdl_gen]
    fn update(&mut self) {
        self.stream.next = self.current.q.val();
        self.sends.next = self.sends_now.q.val();
        self.flushes.next = self.flushes_now.q.val();
        self.frozen.next = self.frozen_now.q.val();

        comment!("bits of the streams");
        self.sends_now.d.next = false;
        self.flushes_now.d.next = false;
        self.frozen_now.d.next = false;
        self.holds.next = false;
        if self.start.val() {
            self.woken.d.next = false;
        }
        for i in 0..S {
            self.is_armed[i].next = self.armed[i].q.val();
            self.is_open[i].next = self.opened[i].q.val();
            self.is_ended[i].next = self.ended[i].q.val();
            self.is_current[i].next = self.current.q.val().get_bits::<4>(0) == self.index[i].val();
            self.wakes[i].next = false;
            if self.freed.val().valid
                & (self.freed.val().stream.get_bits::<4>(0) == self.index[i].val())
            {
                self.wakes[i].next = true;
            }
            if self.settled.val().valid
                & (self.settled.val().stream.get_bits::<4>(0) == self.index[i].val())
            {
                self.wakes[i].next = true;
            }
            if self.open.val().valid
                & (self.open.val().stream.get_bits::<4>(0) == self.index[i].val())
            {
                self.wakes[i].next = true;
                self.opened[i].d.next = self.armed[i].q.val();
            }
            if self.freeze.val().valid
                & (self.freeze.val().stream.get_bits::<4>(0) == self.index[i].val())
            {
                self.wakes[i].next = true;
                self.iced[i].d.next = true;
            }
            if self.fail.val().valid
                & (self.fail.val().stream.get_bits::<4>(0) == self.index[i].val())
            {
                self.wakes[i].next = true;
                self.ended[i].d.next = true;
            }
            if self.close.val().valid
                & (self.close.val().stream.get_bits::<4>(0) == self.index[i].val())
            {
                self.wakes[i].next = true;
                self.closing[i].d.next = true;
            }
            if self.ends.val().valid
                & (self.ends.val().stream.get_bits::<4>(0) == self.index[i].val())
            {
                self.wakes[i].next = true;
                self.ended[i].d.next = true;
            }
            if self.refused.val().valid
                & (self.refused.val().stream.get_bits::<4>(0) == self.index[i].val())
            {
                self.wakes[i].next = true;
                self.ended[i].d.next = true;
            }
            if self.arm.val().valid
                & (self.arm.val().stream.get_bits::<4>(0) == self.index[i].val())
            {
                self.wakes[i].next = true;
                self.armed[i].d.next = true;
            }
            if self.is_current[i].val() {
                self.sends_now.d.next = self.armed[i].q.val() & self.opened[i].q.val();
                self.flushes_now.d.next = self.closing[i].q.val() | self.ended[i].q.val();
                self.frozen_now.d.next = self.iced[i].q.val();
                self.holds.next = self.eligible[i].q.val();
                if self.wakes[i].val() {
                    self.woken.d.next = true;
                }
            }
            if self.leave.val() & self.block.val() & self.is_current[i].val() & !self.woken.q.val()
            {
                self.blocked[i].d.next = true;
            }
            if self.wakes[i].val() {
                self.blocked[i].d.next = false;
            }
            if self.clear.val().valid
                & (self.clear.val().stream.get_bits::<4>(0) == self.index[i].val())
            {
                self.armed[i].d.next = false;
                self.opened[i].d.next = false;
                self.closing[i].d.next = false;
                self.iced[i].d.next = false;
                self.ended[i].d.next = false;
                self.blocked[i].d.next = false;
            }
            self.eligible[i].d.next = self.head[i].val()
                & !self.blocked[i].q.val()
                & (self.closing[i].q.val()
                    | self.ended[i].q.val()
                    | self.iced[i].q.val()
                    | (self.armed[i].q.val() & self.opened[i].q.val()));
            self.round_robin.asks[i].next =
                self.eligible[i].q.val() & !(self.visiting.q.val() & self.is_current[i].val());
        }

        comment!("the visit");
        self.positive.next = !self.budget.q.val().get_bit(17) & self.budget.q.val().any();
        self.more.next = self.visiting.q.val() & self.positive.val();
        self.other.next = self.step.q.val() == Step::Ready;
        self.follows.next =
            self.start.val() & (!self.visiting.q.val() | !self.positive.val() | self.leave.val());
        self.closes.next = self.visiting.q.val() & (self.follows.val() | self.leave.val());
        if self.pays.val() {
            self.budget.d.next = self.budget.q.val() - bit_cast::<18, 17>(self.spent.val());
        } else if self.alone.q.val() & !self.positive.val() {
            self.budget.d.next = self.budget.q.val() + self.quantum.val();
        }
        if self.leave.val() {
            self.visiting.d.next = false;
        }
        if self.follows.val() {
            self.visiting.d.next = true;
            self.current.d.next = bit_cast::<8, 4>(self.coming.q.val());
            self.budget.d.next = self.coming_budget.q.val();
        }
        self.deficits.read_row.next = self.coming.q.val();
        self.deficits.write.next = self.closes.val();
        self.deficits.write_row.next = self.current.q.val().get_bits::<4>(0);
        self.deficits.data.next = self.budget.q.val();
        if self.positive.val() {
            self.deficits.data.next = 0.into();
        }

        comment!("the choice of the next one");
        self.round_robin.last.next = self.coming.q.val();
        self.alone.d.next = false;
        self.next_positive.next =
            !self.coming_budget.q.val().get_bit(17) & self.coming_budget.q.val().any();
        match self.step.q.val() {
            Step::Seek => {
                self.alone.d.next = !self.round_robin.any.val();
                if self.round_robin.any.val() {
                    self.coming.d.next = self.round_robin.choice.val().get_bits::<4>(0);
                    self.step.d.next = Step::Visit;
                }
            }
            Step::Visit => {
                self.coming_budget.d.next = self.deficits.out.val() + self.quantum.val();
                self.step.d.next = Step::Weigh;
            }
            Step::Weigh => {
                if self.next_positive.val() {
                    self.step.d.next = Step::Ready;
                } else if !self.closes.val() {
                    self.deficits.write.next = true;
                    self.deficits.write_row.next = self.coming.q.val();
                    self.deficits.data.next = self.coming_budget.q.val();
                    self.step.d.next = Step::Seek;
                }
            }
            Step::Ready => {
                if self.follows.val() {
                    self.step.d.next = Step::Seek;
                }
            }
        }
        if self.reset.val() {
            self.step.d.next = Step::Seek;
            self.visiting.d.next = false;
            for i in 0..S {
                self.armed[i].d.next = false;
                self.opened[i].d.next = false;
                self.closing[i].d.next = false;
                self.iced[i].d.next = false;
                self.ended[i].d.next = false;
                self.blocked[i].d.next = false;
                self.eligible[i].d.next = false;
            }
        }
    }
}
