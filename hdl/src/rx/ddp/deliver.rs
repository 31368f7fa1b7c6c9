//! Deliver: holds the Delivery of an FPDU until its payload is in memory.
//!
//! ```text
//!  Delivery, issued ─► store ─────────────────────────► release ──► event of a completion
//!                        │                                 │ ├────► fence goes on to the completion writer
//!  B ─► await: which lack a response? ──────── failed ─────┘ └────► bus fault ─► check
//! ```
//!
//! Responses arrive in the order of bursts, so their count tells up to which burst memory is written: a Delivery is
//! released when the count has reached the number of its last burst (AMB-41, DDP-DEL-07), and behind all earlier
//! Deliveries of any stream (DDP-DEL-01). Three pointers move through one store: the write pointer of `place`, the
//! end of the completely answered Deliveries, and the next one to release.
//!
//! A response is accepted only for the oldest FPDU that lacks one, so an error belongs to exactly that FPDU, and one
//! bit for each Delivery records any number of them. `place` hands over a Delivery before it sends the bursts, so
//! every response finds its FPDU, even while `release` is stalled: responses to completion entries, which share the
//! bus, are never blocked by those to payload.
//!
//! A failed write is a local catastrophic error of its stream (DDP-ERR-23): an error event replaces the FPDU's event,
//! `check` is notified, and the stream delivers nothing more until it is armed again, which happens only behind a
//! fence. Fences pass, each behind the event in front of it.
//!
//! Latency from the last response to `m_valid`: 3 cycles. Throughput: one Delivery a cycle, two cycles behind a
//! failed one; one response a cycle, across FPDUs, too. An FPDU without bursts takes a cycle in which no response is
//! accepted.
use crate::parts::queue::Store;
use crate::records::Delivery;
use rust_hdl_core::prelude::*;
use warpline_regmap::layout::{error_event, kind};
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, comment};

/// log2 of the Deliveries held: 64 FPDUs of one beat cover the latency of their bursts and of the responses.
pub const LOG: usize = 6;

/// `Delivery::action`: write the event to the completion queue.
pub const COMPLETE: u64 = 1;
/// `Delivery::action`: acknowledge a fence.
pub const FENCE: u64 = 2;

/// Delivery for S streams.
#[derive(Block)]
#[block()]
pub struct Deliver<const S: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// Deliveries, in the order of FPDUs.
    pub s_delivery: Signal<In, Delivery>,
    /// Number of bursts up to and including its last one, modulo 2^16.
    pub s_issued: Signal<In, Bits<16>>,
    /// Both are valid.
    pub s_valid: Signal<In, Bit>,
    /// They are accepted.
    pub s_ready: Signal<Out, Bit>,
    /// Response to a burst of payload.
    pub b_valid: Signal<In, Bit>,
    /// It was not written.
    pub b_error: Signal<In, Bit>,
    /// It is accepted.
    pub b_ready: Signal<Out, Bit>,
    /// Pulse: `stream` is armed and delivers again.
    pub arm: Signal<In, Bit>,
    /// Stream of `arm`.
    pub stream: Signal<In, Bits<8>>,
    /// Completion entry, PHASE zero.
    pub m_event: Signal<Out, Bits<256>>,
    /// It is valid.
    pub m_valid: Signal<Out, Bit>,
    /// It is accepted.
    pub m_ready: Signal<In, Bit>,
    /// Pulse: all payload in front of a fence is in memory, and the events in front of it have been accepted.
    pub m_fence: Signal<Out, Bit>,
    /// Pulse: payload of `bus_fault_stream` could not be written.
    pub bus_fault: Signal<Out, Bit>,
    /// Stream of `bus_fault`.
    pub bus_fault_stream: Signal<Out, Bits<8>>,

    deliveries: Store<Delivery, LOG>,
    goals: Store<Bits<16>, LOG>,
    failures: Store<Bit, LOG>,
    write: Dff<Bits<8>>,
    look: Dff<Bits<8>>,
    settled: Dff<Bits<8>>,
    /// A Delivery with all its responses has not been read yet.
    some: Dff<Bit>,
    single: Signal<Local, Bit>,
    behind: Signal<Local, Bits<8>>,
    read: Dff<Bits<8>>,
    full: Dff<Bit>,

    // count: bursts of the FPDU behind that one
    count_valid: Dff<Bit>,
    count: Dff<Bits<16>>,
    counted: Dff<Bits<16>>,

    // await: the oldest FPDU that may lack responses
    goal_valid: Dff<Bit>,
    left: Dff<Bits<16>>,
    none_left: Dff<Bit>,
    one_left: Dff<Bit>,
    failed: Dff<Bit>,

    // release: the oldest FPDU that is not delivered
    now_valid: Dff<Bit>,
    now: Dff<Delivery>,
    now_failed: Dff<Bit>,
    now_dead: Dff<Bit>,
    dead: [Dff<Bit>; S],
    out_valid: Dff<Bit>,
    out: Dff<Bits<256>>,
    fence: Dff<Bit>,
    fault: Dff<Bit>,
    fault_stream: Dff<Bits<8>>,

    filled: Signal<Local, Bits<8>>,
    push: Signal<Local, Bit>,
    answer: Signal<Local, Bit>,
    settle: Signal<Local, Bit>,
    look_on: Signal<Local, Bit>,
    count_on: Signal<Local, Bit>,
    head: Signal<Local, Delivery>,
    is_fault: Signal<Local, Bit>,
    gives: Signal<Local, Bit>,
    waits: Signal<Local, Bit>,
    step: Signal<Local, Bit>,
    fetch: Signal<Local, Bit>,
    #[constant((1 << LOG) - 1)]
    depth_less_one: Constant<Bits<8>>,
    #[constant(COMPLETE)]
    complete: Constant<Bits<2>>,
    #[constant(FENCE)]
    is_fence: Constant<Bits<2>>,
    #[constant(u64::from(kind::ERROR) << error_event::KIND.lsb)]
    error_kind: Constant<Bits<256>>,
    #[constant(error_event::STREAM.lsb)]
    stream_lsb: Constant<Bits<16>>,
    #[constant(|i| i)]
    index: [Constant<Bits<4>>; S],
}

impl<const S: usize> Default for Deliver<S> {
    /// # Panics
    /// When S is not 1 to 16.
    fn default() -> Self {
        assert!((1..=16).contains(&S), "{S} streams: give 1 to 16");
        Self::assemble()
    }
}

impl<const S: usize> Logic for Deliver<S> {
    #[hdl_gen]
    fn update(&mut self) {
        for i in 0..S {
            self.dead[i].d.next = self.dead[i].q.val();
        }

        comment!("store");
        self.filled.next = self.write.q.val() - self.read.q.val();
        self.s_ready.next = !self.full.q.val();
        self.push.next = self.s_valid.val() & !self.full.q.val();
        self.deliveries.write.next = self.push.val();
        self.deliveries.write_row.next = self.write.q.val().get_bits::<LOG>(0);
        self.deliveries.data.next = self.s_delivery.val();
        self.goals.write.next = self.push.val();
        self.goals.write_row.next = self.write.q.val().get_bits::<LOG>(0);
        self.goals.data.next = self.s_issued.val();
        if self.push.val() {
            self.write.d.next = self.write.q.val() + 1;
        }

        comment!(
            "await: counts the responses of this FPDU; with the last one it moves to the next FPDU"
        );
        self.answer.next = self.b_valid.val() & self.goal_valid.q.val() & !self.none_left.q.val();
        self.settle.next = self.goal_valid.q.val()
            & (self.none_left.q.val() | (self.b_valid.val() & self.one_left.q.val()));
        self.look_on.next =
            self.count_valid.q.val() & (!self.goal_valid.q.val() | self.settle.val());
        self.count_on.next = (self.look.q.val() != self.write.q.val())
            & (!self.count_valid.q.val() | self.look_on.val());
        self.b_ready.next = self.goal_valid.q.val() & !self.none_left.q.val();
        self.goals.read_row.next = self.look.q.val().get_bits::<LOG>(0);
        self.failures.write.next = self.settle.val();
        self.failures.write_row.next = self.settled.q.val().get_bits::<LOG>(0);
        self.failures.data.next = self.failed.q.val() | (self.answer.val() & self.b_error.val());
        if self.answer.val() {
            self.left.d.next = self.left.q.val() - 1;
            self.one_left.d.next = self.left.q.val() == 2;
            self.failed.d.next = self.failed.q.val() | self.b_error.val();
        }
        if self.settle.val() {
            self.goal_valid.d.next = false;
            self.failed.d.next = false;
            self.settled.d.next = self.settled.q.val() + 1;
        }
        if self.look_on.val() {
            self.count_valid.d.next = false;
            self.goal_valid.d.next = true;
            self.left.d.next = self.count.q.val();
            self.none_left.d.next = !self.count.q.val().any();
            self.one_left.d.next = self.count.q.val() == 1;
        }
        if self.count_on.val() {
            self.count_valid.d.next = true;
            self.count.d.next = self.goals.out.val() - self.counted.q.val();
            self.counted.d.next = self.goals.out.val();
            self.look.d.next = self.look.q.val() + 1;
        }

        self.behind.next = self.read.q.val() + 1;
        comment!(
            "release: the FPDU's event, or the error that replaces it; the one behind an error reads the dead bits again"
        );
        self.is_fault.next = self.now_failed.q.val() & !self.now_dead.q.val();
        self.gives.next = !self.now_dead.q.val()
            & (self.now_failed.q.val() | (self.now.q.val().action == self.complete.val()));
        self.waits.next = self.gives.val() | (self.now.q.val().action == self.is_fence.val());
        self.step.next = self.now_valid.q.val()
            & (!self.waits.val() | !self.out_valid.q.val() | self.m_ready.val());
        self.fetch.next = self.some.q.val()
            & !self.fault.q.val()
            & (!self.now_valid.q.val() | (self.step.val() & !self.is_fault.val()));
        self.single.next = self.settled.q.val() == self.behind.val();
        self.some.d.next =
            self.settle.val() | (self.some.q.val() & !(self.fetch.val() & self.single.val()));
        self.head.next = self.deliveries.out.val();
        self.deliveries.read_row.next = self.read.q.val().get_bits::<LOG>(0);
        self.failures.read_row.next = self.read.q.val().get_bits::<LOG>(0);
        if self.m_ready.val() {
            self.out_valid.d.next = false;
        }
        comment!("not read before it is valid");
        if !self.out_valid.q.val() | self.m_ready.val() {
            self.out.d.next = self.now.q.val().entry;
            if self.is_fault.val() {
                self.out.d.next = self.error_kind.val()
                    | (bit_cast::<256, 8>(self.now.q.val().stream) << self.stream_lsb.val());
            }
        }
        self.fence.d.next = self.step.val() & (self.now.q.val().action == self.is_fence.val());
        self.fault.d.next = self.step.val() & self.is_fault.val();
        self.fault_stream.d.next = self.now.q.val().stream;
        if self.step.val() {
            self.now_valid.d.next = false;
            if self.gives.val() {
                self.out_valid.d.next = true;
            }
        }
        comment!("the dead bit is set a cycle later; no Delivery is accepted in between");
        for i in 0..S {
            if self.fault.q.val()
                & (self.fault_stream.q.val().get_bits::<4>(0) == self.index[i].val())
            {
                self.dead[i].d.next = true;
            }
        }
        if self.fetch.val() {
            self.now_valid.d.next = true;
            self.now.d.next = self.head.val();
            self.now_failed.d.next = self.failures.out.val();
            self.now_dead.d.next = false;
            for i in 0..S {
                if self.head.val().stream.get_bits::<4>(0) == self.index[i].val() {
                    self.now_dead.d.next = self.dead[i].q.val();
                }
            }
            self.read.d.next = self.behind.val();
        }
        if self.push.val() & !self.fetch.val() {
            self.full.d.next = self.filled.val() == self.depth_less_one.val();
        }
        if self.fetch.val() & !self.push.val() {
            self.full.d.next = false;
        }
        self.m_event.next = self.out.q.val();
        self.m_valid.next = self.out_valid.q.val();
        self.m_fence.next = self.fence.q.val();
        self.bus_fault.next = self.fault.q.val();
        self.bus_fault_stream.next = self.fault_stream.q.val();

        for i in 0..S {
            if self.arm.val() & (self.stream.val().get_bits::<4>(0) == self.index[i].val()) {
                self.dead[i].d.next = false;
            }
        }
        if self.reset.val() {
            self.write.d.next = 0.into();
            self.look.d.next = 0.into();
            self.settled.d.next = 0.into();
            self.some.d.next = false;
            self.read.d.next = 0.into();
            self.full.d.next = false;
            self.count_valid.d.next = false;
            self.counted.d.next = 0.into();
            self.goal_valid.d.next = false;
            self.failed.d.next = false;
            self.now_valid.d.next = false;
            self.out_valid.d.next = false;
            self.fence.d.next = false;
            self.fault.d.next = false;
            for i in 0..S {
                self.dead[i].d.next = false;
            }
        }
    }
}
