//! Visibility: decides which FPDUs may be read, and keeps the boundaries between them.
//!
//! ```text
//!  LandedBeat ─►[live? broken? failed?]─► commit ─┬─► edge of the stream
//!               ▲ arm, close                      ├─► complete, for each FPDU
//!                                                 └─► tail: the word of the bit map in which the edge lies
//!                                                      └─ left ─► bit map
//! ```
//!
//! An FPDU is visible when its last beat is in the ring, all of its octets could be read, and so could those of all FPDUs
//! of its stream since `arm`. Octets behind the edge are never read, so what else lies there does not matter.
//!
//! **Bit map.** One bit for each dword of a ring says that an FPDU ends in front of it. The word in which the edge lies is
//! the *tail*, one for each stream. It goes into the map when an FPDU leaves it behind, and words in which no FPDU ends go
//! as zeros: each beat leaves one word at most, so this costs no cycle. Until the FPDU is visible the tail stays as it
//! is: an FPDU that fails leaves no boundary. A word in the map is written after all positions of its last time around
//! the ring have been acknowledged, since the FPDU ends behind it and has room.
//!
//! **Arm.** `arm` takes effect in the first cycle without a visible FPDU, [`ARM`] cycles later at most; `ready` is low
//! until then.
//!
//! Throughput: one beat a cycle. Latency: [`LATENCY`] cycles from a landed beat to `edge_write`, and one more to `complete`.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use super::ring_write::LandedBeat;
use crate::parts::queue::Store;
use rust_hdl_core::prelude::*;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, comment};
use warpline_wire::mpa;

/// Cycles from a landed beat to the edge behind it.
pub const LATENCY: usize = 1;

/// Cycles within which `arm` takes effect, at any width.
pub const ARM: usize = 8;

/// log2 of the octets that a word of the bit map covers.
pub const WORD: usize = 7;

/// Edges of S streams.
#[derive(Block)]
#[block(words: usize)]
pub struct Visibility<const S: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// A beat that is in the ring in the next cycle.
    pub landed: Signal<In, LandedBeat>,
    /// Pulse: a stream lives from its position 0 on.
    pub arm: Signal<In, Bit>,
    /// That stream.
    pub arm_stream: Signal<In, Bits<8>>,
    /// TCP sequence number of that position.
    pub arm_start: Signal<In, Bits<32>>,
    /// Pulse: a stream is dead.
    pub close: Signal<In, Bit>,
    /// That stream.
    pub close_stream: Signal<In, Bits<8>>,
    /// Beats may come.
    pub ready: Signal<Out, Bit>,

    /// The streams that live.
    pub live: [Signal<Out, Bit>; S],
    /// Write the edge of a stream, and its tail.
    pub edge_write: Signal<Out, Bit>,
    /// That stream.
    pub edge_stream: Signal<Out, Bits<8>>,
    /// Its edge.
    pub edge_position: Signal<Out, Bits<32>>,
    /// Its tail.
    pub tail: Signal<Out, Bits<32>>,
    /// With `edge_write`: an FPDU moves the edge.
    pub moved: Signal<Out, Bit>,
    /// With `edge_write`: the stream is armed, nothing is acknowledged.
    pub armed: Signal<Out, Bit>,
    /// With `armed`: sequence number of its position 0.
    pub armed_start: Signal<Out, Bits<32>>,
    /// Write a word of the bit map.
    pub map_write: Signal<Out, Bit>,
    /// Its row.
    pub map_row: Signal<Out, Bits<20>>,
    /// Bit i: an FPDU ends in front of dword i.
    pub map_data: Signal<Out, Bits<32>>,
    /// Pulse: an FPDU is decided.
    pub complete: Signal<Out, Bit>,
    /// Its stream.
    pub complete_stream: Signal<Out, Bits<8>>,
    /// It can be read.
    pub complete_visible: Signal<Out, Bit>,

    lives: [Dff<Bit>; S],
    broken: [Dff<Bit>; S],
    arming: Dff<Bit>,
    arming_stream: Dff<Bits<8>>,
    arming_start: Dff<Bits<32>>,
    beat_1: Dff<LandedBeat>,
    visible: Dff<Bit>,
    crosses: Dff<Bit>,
    bit_at: Dff<Bits<32>>,
    /// The FPDU has left the tail behind.
    crossed: Dff<Bit>,
    tails: Store<Bits<32>, 4>,
    complete_1: Dff<Bit>,
    complete_stream_1: Dff<Bits<8>>,
    complete_visible_1: Dff<Bit>,

    ends: Signal<Local, Bit>,
    whole: Signal<Local, Bit>,
    was_crossed: Signal<Local, Bit>,
    tail_now: Signal<Local, Bits<32>>,
    arm_now: Signal<Local, Bit>,
    moves: Signal<Local, Bit>,
    word: Signal<Local, Bits<32>>,
    base: Signal<Local, Bits<20>>,
    #[constant(|i| i)]
    index: [Constant<Bits<4>>; S],
    #[constant(S.ilog2())]
    stream_bits: Constant<Bits<8>>,
    #[constant(1)]
    one: Constant<Bits<32>>,
    #[constant(mpa::ALIGN.ilog2())]
    in_dword: Constant<Bits<8>>,
    #[constant(WORD)]
    word_bits: Constant<Bits<8>>,
    #[constant(words - 1)]
    word_mask: Constant<Bits<32>>,
    #[constant(words.ilog2())]
    stream_shift: Constant<Bits<8>>,
}

impl<const S: usize> Visibility<S> {
    /// For rings of `words` words of the bit map.
    #[must_use]
    pub fn new(words: usize) -> Self {
        assert!(words.is_power_of_two() && S.is_power_of_two() && S <= 16);
        Self::assemble(words)
    }
}

impl<const S: usize> Logic for Visibility<S> {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("decide: the broken bit set by an FPDU counts for the next one");
        self.ends.next = self.landed.val().valid & self.landed.val().known & self.landed.val().last;
        self.whole.next = false;
        for i in 0..S {
            self.live[i].next = self.lives[i].q.val();
            if self.landed.val().stream.get_bits::<4>(0) == self.index[i].val() {
                self.whole.next = self.lives[i].q.val() & !self.broken[i].q.val();
                if self.ends.val() & self.landed.val().failed {
                    self.broken[i].d.next = true;
                }
            }
        }
        self.visible.d.next = self.ends.val() & self.whole.val() & !self.landed.val().failed;
        self.beat_1.d.next = self.landed.val();
        comment!("a beat is shorter than a word, so it leaves one if this bit differs");
        self.crosses.d.next = self
            .landed
            .val()
            .position
            .get_bit(self.word_bits.val().index())
            ^ self
                .landed
                .val()
                .behind
                .get_bit(self.word_bits.val().index());
        self.bit_at.d.next = self.one.val()
            << self
                .landed
                .val()
                .behind
                .get_bits::<5>(self.in_dword.val().index());

        comment!("commit");
        self.moves.next = self.visible.q.val();
        self.was_crossed.next = self.crossed.q.val() & !self.beat_1.q.val().first;
        if self.beat_1.q.val().valid {
            self.crossed.d.next = self.was_crossed.val() | self.crosses.q.val();
        }
        self.tails.read_row.next = self.beat_1.q.val().stream.get_bits::<4>(0);
        self.tail_now.next = self.tails.out.val();
        if self.was_crossed.val() {
            self.tail_now.next = 0.into();
        }
        self.word.next =
            (self.beat_1.q.val().position >> self.word_bits.val()) & self.word_mask.val();
        self.base.next = bit_cast::<20, 8>(self.beat_1.q.val().stream) << self.stream_shift.val();
        self.map_write.next =
            self.beat_1.q.val().valid & self.beat_1.q.val().known & self.crosses.q.val();
        self.map_row.next = bit_cast::<20, 32>(self.word.val()) | self.base.val();
        self.map_data.next = self.tail_now.val();

        comment!("arm, in the first cycle without a visible FPDU");
        self.arm_now.next = self.arming.q.val() & !self.moves.val();
        self.ready.next = !self.arming.q.val();
        if self.arm_now.val() {
            self.arming.d.next = false;
        }
        if self.arm.val() & !(self.arm_stream.val() >> self.stream_bits.val()).any() {
            self.arming.d.next = true;
            self.arming_stream.d.next = self.arm_stream.val();
            self.arming_start.d.next = self.arm_start.val();
        }
        self.edge_write.next = self.moves.val() | self.arm_now.val();
        self.moved.next = self.moves.val();
        self.armed.next = self.arm_now.val();
        self.armed_start.next = self.arming_start.q.val();
        self.edge_stream.next = self.arming_stream.q.val();
        self.edge_position.next = 0.into();
        self.tail.next = 0.into();
        if self.moves.val() {
            self.edge_stream.next = self.beat_1.q.val().stream;
            self.edge_position.next = self.beat_1.q.val().behind;
            self.tail.next = self.tail_now.val() | self.bit_at.q.val();
            if self.crosses.q.val() {
                self.tail.next = self.bit_at.q.val();
            }
        }
        self.tails.write.next = self.edge_write.val();
        self.tails.write_row.next = self.edge_stream.val().get_bits::<4>(0);
        self.tails.data.next = self.tail.val();
        self.complete_1.d.next = self.beat_1.q.val().valid & self.beat_1.q.val().last;
        self.complete_stream_1.d.next = self.beat_1.q.val().stream;
        self.complete_visible_1.d.next = self.moves.val();
        self.complete.next = self.complete_1.q.val();
        self.complete_stream.next = self.complete_stream_1.q.val();
        self.complete_visible.next = self.complete_visible_1.q.val();

        for i in 0..S {
            if self.arm_now.val()
                & (self.arming_stream.q.val().get_bits::<4>(0) == self.index[i].val())
            {
                self.lives[i].d.next = true;
                self.broken[i].d.next = false;
            }
            if self.close.val()
                & !(self.close_stream.val() >> self.stream_bits.val()).any()
                & (self.close_stream.val().get_bits::<4>(0) == self.index[i].val())
            {
                self.lives[i].d.next = false;
            }
            if self.reset.val() {
                self.lives[i].d.next = false;
                self.broken[i].d.next = false;
            }
        }
        if self.reset.val() {
            self.arming.d.next = false;
            self.visible.d.next = false;
            self.complete_1.d.next = false;
        }
    }
}
