//! FetchQueue: the streams whose counts are to be looked at, each of them at most once.
//!
//! ```text
//!  rung ──►(not in it)─►[doorbells]─┐ last
//!  popped ─────────────────── first ├─►(not in it)─►[fetches]─► stream
//!  returns ───────────────── second ┘
//! ```
//!
//! A stream enters when something has changed: by a doorbell, by a pop, and behind a slot that was requested, as there
//! may be another one. It leaves when `slot_fetch` takes it, and what changes from then on lets it enter again. So no change is
//! lost, nothing is scanned, and neither queue ever holds more than S streams: both have room for all of them.
//!
//! The count that an event changes is written in the cycle of the event; `slot_fetch` reads the counts in the cycle behind
//! `take` or later. An event that finds its stream in a queue is therefore covered by that fetch.
//!
//! Latency: 2 cycles from `rung` to `valid`, 1 from `popped` or `returns`. Throughput: one stream a cycle.
use crate::parts::queue::Queue;
use rust_hdl_core::prelude::*;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, comment};

/// log2 of the streams.
const LOG: usize = 4;

/// Fetch queue of S streams.
#[derive(Block)]
#[block(default)]
pub struct FetchQueue<const S: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// Pulse: the host has announced slots of `rung_stream`.
    pub rung: Signal<In, Bit>,
    /// Stream of `rung`.
    pub rung_stream: Signal<In, Bits<4>>,
    /// Pulse: a slot of `popped_stream` is done with.
    pub popped: Signal<In, Bit>,
    /// Stream of `popped`.
    pub popped_stream: Signal<In, Bits<4>>,
    /// A slot of `fetch_stream` is requested.
    pub returns: Signal<In, Bit>,
    /// The stream that `slot_fetch` looks at.
    pub fetch_stream: Signal<In, Bits<4>>,
    /// `returns` is accepted.
    pub returns_ready: Signal<Out, Bit>,
    /// `fetch_stream` is in a queue again.
    pub again: Signal<Out, Bit>,
    /// The next stream.
    pub stream: Signal<Out, Bits<4>>,
    /// There is one.
    pub valid: Signal<Out, Bit>,
    /// It is taken.
    pub take: Signal<In, Bit>,

    doorbells: Queue<Bits<4>, LOG>,
    fetches: Queue<Bits<4>, LOG>,
    /// Streams in `doorbells`, and in `fetches`.
    ringing: [Dff<Bit>; S],
    queued: [Dff<Bit>; S],
    rung_in: Signal<Local, Bit>,
    popped_in: Signal<Local, Bit>,
    fetch_in: Signal<Local, Bit>,
    fetch_rings: Signal<Local, Bit>,
    moved_in: Signal<Local, Bit>,
    pushes_popped: Signal<Local, Bit>,
    moves: Signal<Local, Bit>,
    enters: Signal<Local, Bit>,
    entering: Signal<Local, Bits<4>>,
    #[constant(|i| i)]
    index: [Constant<Bits<4>>; S],
}

impl<const S: usize> Logic for FetchQueue<S> {
    #[hdl_gen]
    fn update(&mut self) {
        self.doorbells.reset.next = self.reset.val();
        self.fetches.reset.next = self.reset.val();

        comment!("which of them are in a queue");
        self.rung_in.next = false;
        self.popped_in.next = false;
        self.fetch_in.next = false;
        self.fetch_rings.next = false;
        self.moved_in.next = false;
        for i in 0..S {
            if self.rung_stream.val() == self.index[i].val() {
                self.rung_in.next = self.ringing[i].q.val();
            }
            if self.popped_stream.val() == self.index[i].val() {
                self.popped_in.next = self.queued[i].q.val();
            }
            if self.fetch_stream.val() == self.index[i].val() {
                self.fetch_in.next = self.queued[i].q.val();
                self.fetch_rings.next = self.ringing[i].q.val();
            }
            if self.doorbells.m_data.val() == self.index[i].val() {
                self.moved_in.next = self.queued[i].q.val();
            }
        }
        self.again.next = self.fetch_in.val() | self.fetch_rings.val();

        comment!(
            "one enters in a cycle: a pop first, which cannot wait, a doorbell last, which can"
        );
        self.doorbells.s_data.next = self.rung_stream.val();
        self.doorbells.s_valid.next = self.rung.val() & !self.rung_in.val();
        self.pushes_popped.next = self.popped.val() & !self.popped_in.val();
        self.returns_ready.next = !self.pushes_popped.val();
        self.moves.next =
            self.doorbells.m_valid.val() & !self.pushes_popped.val() & !self.returns.val();
        self.doorbells.m_ready.next = self.moves.val();
        self.enters.next = self.pushes_popped.val()
            | (self.returns.val() & !self.fetch_in.val())
            | (self.moves.val() & !self.moved_in.val());
        self.entering.next = self.doorbells.m_data.val();
        if self.returns.val() {
            self.entering.next = self.fetch_stream.val();
        }
        if self.pushes_popped.val() {
            self.entering.next = self.popped_stream.val();
        }
        self.fetches.s_data.next = self.entering.val();
        self.fetches.s_valid.next = self.enters.val();
        self.stream.next = self.fetches.m_data.val();
        self.valid.next = self.fetches.m_valid.val();
        self.fetches.m_ready.next = self.take.val();

        for i in 0..S {
            if self.rung.val()
                & !self.rung_in.val()
                & (self.rung_stream.val() == self.index[i].val())
            {
                self.ringing[i].d.next = true;
            }
            if self.moves.val() & (self.doorbells.m_data.val() == self.index[i].val()) {
                self.ringing[i].d.next = false;
            }
            if self.take.val() & (self.fetches.m_data.val() == self.index[i].val()) {
                self.queued[i].d.next = false;
            }
            if self.enters.val() & (self.entering.val() == self.index[i].val()) {
                self.queued[i].d.next = true;
            }
            if self.reset.val() {
                self.ringing[i].d.next = false;
                self.queued[i].d.next = false;
            }
        }
    }
}
