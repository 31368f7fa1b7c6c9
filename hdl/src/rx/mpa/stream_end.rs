//! StreamEnd: when a stream has reached its end, and whether that is where its peer has put it.
//!
//! ```text
//!  admit ─┬─ accepted beats: end, edge ─►┌ furthest ┐
//!         └─ marks: FIN at …, abort ────►│ FIN at   │─► reached? beyond? ─► delay ─► Mark, a cycle behind the landing ─► scan
//!                                        └ a stream ┘
//! ```
//!
//! The TCP engine marks the segment whose last octet precedes the peer's FIN. Segments arrive in any order, so the
//! mark may arrive long before the octets in front of it. The stream is finished, once, when its edge reaches the
//! FIN. An octet accepted beyond the FIN, before or after the FIN is known, or a FIN at another position, is data
//! behind a graceful close (DDP-TEAR-08). An abort means that the connection is lost for any cause (AMB-31). Of these
//! two the first one counts; either may still follow the finish.
//!
//! Nothing is undone: octets that were in order before the mark stay in order in front of it, because the mark takes
//! [`latency`] cycles, one more than the octets take to land. `scan` accepts no edge behind it.
//!
//! Throughput: one beat and one mark a cycle. The assumptions are those of `admit`.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use crate::parts::delay::Delay;
use crate::parts::queue::Store;
use crate::records::RingBeat;
use crate::rx::mpa::assembly;
use rust_hdl_core::prelude::*;
use warpline_regmap::layout::refused;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, Record, comment};

/// Cycles from a beat of `admit` to its mark, for beats of `octets`.
#[must_use]
pub const fn latency(octets: usize) -> usize {
    assembly::latency(octets) + 1
}

/// The end of a stream, for `scan`.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct Mark {
    /// All octets in front of the FIN are in the ring, and none follow.
    pub finished: Bit,
    /// `regmap::layout::refused` of a stream that ends in an error at any position; 0 = no error.
    pub cause: Bits<3>,
    /// That stream.
    pub stream: Bits<8>,
}

/// Ends of S streams.
#[derive(Block)]
#[block(octets: usize)]
pub struct StreamEnd<const S: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// A beat was accepted.
    pub beat_valid: Signal<In, Bit>,
    /// Its place; `stream` and `new_edge` are also those of the marks.
    pub beat: Signal<In, RingBeat>,
    /// Pulse: the peer's FIN is at `mark_end`.
    pub mark_fin: Signal<In, Bit>,
    /// That position.
    pub mark_end: Signal<In, Bits<32>>,
    /// Pulse: the connection is lost.
    pub mark_abort: Signal<In, Bit>,
    /// Pulse: `stream` starts.
    pub arm: Signal<In, Bit>,
    /// Stream of `arm`.
    pub stream: Signal<In, Bits<8>>,
    /// The resulting mark.
    pub mark: Signal<Out, Mark>,

    // the beat with its end
    accepted: Dff<Bit>,
    owner: Dff<Bits<8>>,
    end_now: Dff<Bits<32>>,
    edge_now: Dff<Bits<32>>,
    fin: Dff<Bit>,
    fin_end: Dff<Bits<32>>,
    abort: Dff<Bit>,

    // its meaning, a cycle later
    // beat and mark: the FIN was known before; a beat or a FIN is valid; a FIN is valid
    knew: Dff<Bit>,
    came: Dff<Bit>,
    ended: Dff<Bit>,
    // the edge is at the known FIN, at the new one; octets behind the FIN, a second FIN, a FIN in front of octets
    at_known: Dff<Bit>,
    at_given: Dff<Bit>,
    passed: Dff<Bit>,
    differs: Dff<Bit>,
    leaves: Dff<Bit>,
    gone: Dff<Bit>,
    judged: Dff<Bits<8>>,
    armed: Dff<Bit>,
    armed_stream: Dff<Bits<8>>,

    // streams
    started: [Dff<Bit>; S],
    fin_known: [Dff<Bit>; S],
    reported: [Dff<Bit>; S],
    over: [Dff<Bit>; S],
    furthest: Store<Bits<32>, 4>,
    fin_at: Store<Bits<32>, 4>,

    #[value(Delay::new(latency(octets) - 2))]
    line: Delay<Mark>,

    found: Signal<Local, Mark>,
    has_octets: Signal<Local, Bit>,
    known: Signal<Local, Bit>,
    was_reported: Signal<Local, Bit>,
    is_over: Signal<Local, Bit>,
    growth: Signal<Local, Bits<32>>,
    grows: Signal<Local, Bit>,
    room: Signal<Local, Bits<32>>,
    room_before: Signal<Local, Bits<32>>,
    reached: Signal<Local, Bit>,
    beyond: Signal<Local, Bit>,
    cause: Signal<Local, Bits<3>>,
    #[constant(|i| i)]
    index: [Constant<Bits<4>>; S],
    #[constant(Mark::default())]
    no_mark: Constant<Mark>,
    #[constant(refused::LOST)]
    lost: Constant<Bits<3>>,
    #[constant(refused::BEHIND_FIN)]
    behind_fin: Constant<Bits<3>>,
}

impl<const S: usize> StreamEnd<S> {
    /// For the rings of beats of `octets`.
    #[must_use]
    pub fn new(octets: usize) -> Self {
        assert!((1..=16).contains(&S));
        Self::assemble(octets)
    }
}

impl<const S: usize> Logic for StreamEnd<S> {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("end of the beat");
        self.accepted.d.next = self.beat_valid.val();
        self.owner.d.next = self.beat.val().stream;
        self.end_now.d.next = self.beat.val().position + bit_cast::<32, 8>(self.beat.val().count);
        self.edge_now.d.next = self.beat.val().new_edge;
        self.fin.d.next = self.mark_fin.val();
        self.fin_end.d.next = self.mark_end.val();
        self.abort.d.next = self.mark_abort.val();

        comment!(
            "its stream: the furthest accepted octet, in order or not, and the position of the FIN"
        );
        self.has_octets.next = false;
        self.known.next = false;
        for i in 0..S {
            if self.owner.q.val().get_bits::<4>(0) == self.index[i].val() {
                self.has_octets.next = self.started[i].q.val();
                self.known.next = self.fin_known[i].q.val();
            }
        }
        self.furthest.read_row.next = self.owner.q.val().get_bits::<4>(0);
        self.growth.next = self.furthest.out.val() - self.end_now.q.val();
        self.grows.next =
            self.accepted.q.val() & (!self.has_octets.val() | self.growth.val().get_bit(31));
        self.furthest.write.next = self.grows.val();
        self.furthest.write_row.next = self.owner.q.val().get_bits::<4>(0);
        self.furthest.data.next = self.end_now.q.val();
        self.fin_at.read_row.next = self.owner.q.val().get_bits::<4>(0);
        self.fin_at.write.next = self.fin.q.val() & !self.known.val();
        self.fin_at.write_row.next = self.owner.q.val().get_bits::<4>(0);
        self.fin_at.data.next = self.fin_end.q.val();

        comment!(
            "octets behind the known FIN, a second FIN, a FIN in front of octets; the edge at the FIN"
        );
        self.room.next = self.fin_at.out.val() - self.end_now.q.val();
        self.room_before.next = self.fin_end.q.val() - self.furthest.out.val();
        self.knew.d.next = self.known.val();
        self.came.d.next = self.accepted.q.val() | self.fin.q.val();
        self.ended.d.next = self.fin.q.val();
        self.at_known.d.next = self.edge_now.q.val() == self.fin_at.out.val();
        self.at_given.d.next = self.edge_now.q.val() == self.fin_end.q.val();
        self.passed.d.next = self.accepted.q.val() & self.room.val().get_bit(31);
        self.differs.d.next = self.fin_end.q.val() != self.fin_at.out.val();
        self.leaves.d.next = self.has_octets.val() & self.room_before.val().get_bit(31);
        self.gone.d.next = self.abort.q.val();
        self.judged.d.next = self.owner.q.val();
        self.armed.d.next = self.arm.val();
        self.armed_stream.d.next = self.stream.val();
        for i in 0..S {
            if self.owner.q.val().get_bits::<4>(0) == self.index[i].val() {
                if self.accepted.q.val() {
                    self.started[i].d.next = true;
                }
                if self.fin.q.val() {
                    self.fin_known[i].d.next = true;
                }
            }
            if self.arm.val() & (self.stream.val().get_bits::<4>(0) == self.index[i].val()) {
                self.started[i].d.next = false;
                self.fin_known[i].d.next = false;
            }
        }

        comment!("decide on the registered comparisons");
        self.beyond.next = self.ended.q.val() & self.leaves.q.val();
        self.reached.next = self.ended.q.val() & self.at_given.q.val();
        if self.knew.q.val() {
            self.beyond.next = self.passed.q.val() | (self.ended.q.val() & self.differs.q.val());
            self.reached.next = self.came.q.val() & self.at_known.q.val();
        }

        comment!("marks, each once; the arm is delayed by a cycle here, too");
        self.cause.next = 0.into();
        if self.beyond.val() {
            self.cause.next = self.behind_fin.val();
        }
        if self.gone.q.val() {
            self.cause.next = self.lost.val();
        }
        self.was_reported.next = false;
        self.is_over.next = false;
        for i in 0..S {
            if self.judged.q.val().get_bits::<4>(0) == self.index[i].val() {
                self.was_reported.next = self.reported[i].q.val();
                self.is_over.next = self.over[i].q.val();
            }
        }
        self.found.next = self.no_mark.val();
        self.found.next.stream = self.judged.q.val();
        if !self.is_over.val() {
            self.found.next.finished = self.reached.val() & !self.was_reported.val();
            self.found.next.cause = self.cause.val();
        }
        for i in 0..S {
            if self.judged.q.val().get_bits::<4>(0) == self.index[i].val() {
                if self.reached.val() {
                    self.reported[i].d.next = true;
                }
                if self.cause.val().any() {
                    self.over[i].d.next = true;
                }
            }
            if self.armed.q.val()
                & (self.armed_stream.q.val().get_bits::<4>(0) == self.index[i].val())
            {
                self.reported[i].d.next = false;
                self.over[i].d.next = false;
            }
        }
        self.line.d.next = self.found.val();
        self.mark.next = self.line.q.val();
        if self.reset.val() {
            self.accepted.d.next = false;
            self.fin.d.next = false;
            self.abort.d.next = false;
            self.came.d.next = false;
            self.ended.d.next = false;
            self.passed.d.next = false;
            self.gone.d.next = false;
            self.armed.d.next = false;
        }
    }
}
