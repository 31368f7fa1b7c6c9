//! Boundary map: finds the last FPDU boundary in a range of a stream.
//!
//! ```text
//!  write ─► map ─┐
//!  tail ─────────┴─►[bits in the range]─►[highest]─► octets
//!            ▲ words from the range's last one down ◄─ start
//! ```
//!
//! A word holds one bit for each dword of 128 octets. The range is behind `position`, and up to `position + reach`, which
//! is not behind the edge; the word in which the edge lies is `tail`, and those behind it are not read. The map is a
//! [`RecordRam`]. No word is read in the cycle in which it is written: a word with positions
//! of the range is written only after these have been acknowledged, and no acknowledgement is executed during a search.
//!
//! Latency: [`LATENCY`] cycles from `start` to `done` if the boundary is in the first word, and one more for each word
//! further down. `done` is high until the next `start`, which comes [`LATENCY`] cycles later or more.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use super::visibility::WORD;
use crate::parts::delay::Delay;
use crate::parts::lane_mask::LaneMask;
use crate::parts::record_ram::{self, RecordRam};
use rust_hdl_core::prelude::*;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, Record, comment};
use warpline_wire::mpa;

/// Cycles from `start` to `done` if the first word has the boundary.
pub const LATENCY: usize = 5 + record_ram::LATENCY as usize;

/// Bits of a word.
const BITS: usize = 1 << (WORD - IN_DWORD);

/// Bits of an octet's position in its dword.
const IN_DWORD: usize = mpa::ALIGN.ilog2() as usize;

/// A word while the map is read.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct SearchedWord {
    /// There is one.
    pub valid: Bit,
    /// The word in which the range ends.
    pub top: Bit,
    /// The word in which the range begins.
    pub bottom: Bit,
    /// Number of the word, modulo 2^9: position / 128.
    pub number: Bits<9>,
}

/// Map of S streams' rings.
#[derive(Block)]
#[block(streams: usize, words: usize)]
pub struct BoundaryMap {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// Write a word.
    pub map_write: Signal<In, Bit>,
    /// Its row.
    pub map_row: Signal<In, Bits<20>>,
    /// Its bits.
    pub map_data: Signal<In, Bits<32>>,
    /// Pulse: search.
    pub start: Signal<In, Bit>,
    /// Stream of the range.
    pub stream: Signal<In, Bits<8>>,
    /// Stream position of its first octet.
    pub position: Signal<In, Bits<32>>,
    /// Its octets.
    pub reach: Signal<In, Bits<16>>,
    /// Edge of the stream.
    pub edge_position: Signal<In, Bits<32>>,
    /// The word in which the edge lies.
    pub tail: Signal<In, Bits<32>>,
    /// The search has ended.
    pub done: Signal<Out, Bit>,
    /// Octets from `position` to the boundary, 0 without one.
    pub octets: Signal<Out, Bits<16>>,

    #[value(RecordRam::new(streams * words))]
    bits: RecordRam<Bits<32>, 20>,
    started: Dff<Bit>,
    limit: Dff<Bits<32>>,
    walking: Dff<Bit>,
    word_at: Dff<Bits<20>>,
    left: Dff<Bits<10>>,
    top: Dff<Bit>,
    in_tail: Dff<Bit>,
    #[value(Delay::new(record_ram::LATENCY as usize - 1))]
    side: Delay<SearchedWord>,
    bit_from: Dff<Bits<8>>,
    bit_to: Dff<Bits<8>>,
    wanted: LaneMask<32, 32>,
    word_0: Dff<SearchedWord>,
    wanted_0: Dff<Bits<32>>,
    bits_1: Dff<Bits<32>>,
    word_1: Dff<SearchedWord>,
    found: Dff<Bit>,
    bit_2: Dff<Bits<5>>,
    word_2: Dff<SearchedWord>,
    done_1: Dff<Bit>,
    octets_1: Dff<Bits<16>>,

    first_word: Signal<Local, Bits<25>>,
    last_word: Signal<Local, Bits<25>>,
    edge_word: Signal<Local, Bits<25>>,
    span: Signal<Local, Bits<25>>,
    bottom: Signal<Local, Bit>,
    searched: Signal<Local, SearchedWord>,
    word: Signal<Local, Bits<32>>,
    highest: Signal<Local, Bits<5>>,
    boundary: Signal<Local, Bits<16>>,
    ends: Signal<Local, Bit>,
    #[constant(0)]
    none: Constant<Bits<8>>,
    #[constant(BITS)]
    all: Constant<Bits<8>>,
    #[constant(|i| i)]
    index: [Constant<Bits<5>>; BITS],
    #[constant(IN_DWORD)]
    in_dword: Constant<Bits<8>>,
    #[constant(WORD)]
    word_bits: Constant<Bits<8>>,
    #[constant(words - 1)]
    word_mask: Constant<Bits<20>>,
    #[constant(words.ilog2())]
    stream_shift: Constant<Bits<8>>,
}

impl BoundaryMap {
    /// For rings of `words` words of `streams` streams.
    #[must_use]
    pub fn new(streams: usize, words: usize) -> Self {
        assert!(words.is_power_of_two() && streams.is_power_of_two());
        Self::assemble(streams, words)
    }
}

impl Logic for BoundaryMap {
    #[hdl_gen]
    fn update(&mut self) {
        self.bits.write.next = self.map_write.val();
        self.bits.write_row.next = self.map_row.val();
        self.bits.write_data.next = self.map_data.val();

        comment!("start: where the range ends, then how many words it touches");
        self.started.d.next = self.start.val();
        if self.start.val() {
            self.limit.d.next = self.position.val() + bit_cast::<32, 16>(self.reach.val());
        }
        self.first_word.next = self
            .position
            .val()
            .get_bits::<25>(self.word_bits.val().index());
        self.last_word.next = self
            .limit
            .q
            .val()
            .get_bits::<25>(self.word_bits.val().index());
        self.edge_word.next = self
            .edge_position
            .val()
            .get_bits::<25>(self.word_bits.val().index());
        self.span.next = self.last_word.val() - self.first_word.val();

        comment!("walk: a word a cycle");
        self.bottom.next = !self.left.q.val().any();
        if self.walking.q.val() {
            self.word_at.d.next = self.word_at.q.val() - 1;
            self.left.d.next = self.left.q.val() - 1;
            self.top.d.next = false;
            if self.bottom.val() {
                self.walking.d.next = false;
            }
        }
        if self.started.q.val() {
            self.walking.d.next = true;
            self.word_at.d.next = bit_cast::<20, 25>(self.last_word.val());
            self.left.d.next = bit_cast::<10, 25>(self.span.val());
            self.top.d.next = true;
            self.in_tail.d.next = self.last_word.val() == self.edge_word.val();
        }
        self.bits.read_row.next = (self.word_at.q.val() & self.word_mask.val())
            | (bit_cast::<20, 8>(self.stream.val()) << self.stream_shift.val());
        self.searched.next.valid = self.walking.q.val();
        self.searched.next.top = self.top.q.val();
        self.searched.next.bottom = self.bottom.val();
        self.searched.next.number = bit_cast::<9, 20>(self.word_at.q.val());
        self.side.d.next = self.searched.val();

        comment!("boundaries behind the first octet, and up to the last one");
        self.bit_from.d.next = bit_cast::<8, 5>(
            self.position
                .val()
                .get_bits::<5>(self.in_dword.val().index()),
        ) + 1;
        self.bit_to.d.next = bit_cast::<8, 5>(
            self.limit
                .q
                .val()
                .get_bits::<5>(self.in_dword.val().index()),
        ) + 1;
        self.wanted.from.next = self.none.val();
        if self.side.q.val().bottom {
            self.wanted.from.next = self.bit_from.q.val();
        }
        self.wanted.to.next = self.all.val();
        if self.side.q.val().top {
            self.wanted.to.next = self.bit_to.q.val();
        }
        self.word_0.d.next = self.side.q.val();
        self.wanted_0.d.next = self.wanted.mask.val();
        self.word.next = self.bits.read_data.val();
        if self.word_0.q.val().top & self.in_tail.q.val() {
            self.word.next = self.tail.val();
        }
        self.bits_1.d.next = self.word.val() & self.wanted_0.q.val();
        self.word_1.d.next = self.word_0.q.val();

        self.highest.next = 0.into();
        for i in 0..32 {
            if self.bits_1.q.val().get_bit(i) {
                self.highest.next = self.index[i].val();
            }
        }
        self.bit_2.d.next = self.highest.val();
        self.found.d.next = self.bits_1.q.val().any();
        self.word_2.d.next = self.word_1.q.val();

        comment!("the first word with a boundary ends the search, or that of the first octet");
        self.boundary.next = (bit_cast::<16, 9>(self.word_2.q.val().number)
            << self.word_bits.val())
            | (bit_cast::<16, 5>(self.bit_2.q.val()) << self.in_dword.val());
        self.ends.next = self.word_2.q.val().valid
            & !self.done_1.q.val()
            & (self.found.q.val() | self.word_2.q.val().bottom);
        if self.ends.val() {
            self.done_1.d.next = true;
            self.walking.d.next = false;
            self.octets_1.d.next = 0.into();
            if self.found.q.val() {
                self.octets_1.d.next =
                    self.boundary.val() - bit_cast::<16, 32>(self.position.val());
            }
        }
        if self.start.val() {
            self.done_1.d.next = false;
        }
        self.done.next = self.done_1.q.val();
        self.octets.next = self.octets_1.q.val();
        if self.reset.val() {
            self.started.d.next = false;
            self.walking.d.next = false;
            self.done_1.d.next = true;
        }
    }
}
