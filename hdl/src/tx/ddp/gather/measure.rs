//! Measure: says of a piece which octets to read, and how its beats fill those of the ULPDU.
//!
//! ```text
//!  Piece ─► lane, last octet, fill in front of it ─[known]─┬─► ReadRange ─► split
//!           ▲ fill behind it ─┘                            └─► Source ────► source_planner
//!           └──► octets that come with it ──────────────────► source_planner; of a header, lane_join
//! ```
//!
//! A *header* is the first piece of a ULPDU, if its octets come with it and it is not the last one. Where [`has_headers`], it
//! has no source beat: it is a part of the first one of the piece behind it, in front of which the fill is its length.
//!
//! A piece lies in *source* beats: beats of the bus, or K of the octets that come with it. `fill` counts the octets of the
//! ULPDU modulo K. All beats of a piece but the first one find the same fill, and all but the last one end at lane K. So
//! whether a source beat reaches lane K of the ULPDU's beat (`exact`) or runs over it (`over`) is known of all of them
//! here, and the planner has nothing to add.
//!
//! Throughput: one piece a cycle. Latency: [`LATENCY`] cycle. `go` says that everything behind this block has room for a
//! piece of either kind.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use crate::parts::axi::burst_block;
use crate::records::{PIECE_OCTETS, Piece};
use rust_hdl_core::prelude::*;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, Record, comment};

/// Cycles from a piece to what is known of it.
pub const LATENCY: usize = 1;

/// Whether a header takes no cycle: it has to be shorter than a beat, whatever its length.
#[must_use]
pub const fn has_headers(octets: usize) -> bool {
    PIECE_OCTETS < octets
}

/// Octets of host memory to read, at least one.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct ReadRange {
    /// Address of the first octet, high half.
    pub high: Bits<32>,
    /// The same plus one.
    pub high_next: Bits<32>,
    /// Low half.
    pub low: Bits<32>,
    /// Offset of the last octet, counted from the start of the first octet's block.
    pub last: Bits<17>,
}

/// How the source beats of a piece fill beats of the ULPDU.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct Source {
    /// Its octets lie in host memory.
    pub memory: Bit,
    /// Last part of its ULPDU.
    pub last: Bit,
    /// A header that takes no cycle stands in front of its first beat.
    pub header: Bit,
    /// It has one beat.
    pub single: Bit,
    /// Beats less one.
    pub rest: Bits<14>,
    /// Lanes by which each of its beats is rotated.
    pub amount: Bits<8>,
    /// Octets of the ULPDU's beat in front of the piece.
    pub fill_first: Bits<8>,
    /// The same in front of all of its beats but the first one.
    pub fill: Bits<8>,
    /// The first beat has octets for another beat of the ULPDU.
    pub first_over: Bit,
    /// If not: the ULPDU's beat is complete with it.
    pub first_exact: Bit,
    /// As `first_over`, of the last beat if that is not the first one.
    pub last_over: Bit,
    /// As `first_exact`, of the last beat if that is not the first one.
    pub last_exact: Bit,
}

/// For beats of K = 2^LOGK octets.
#[derive(Block)]
#[block(octets: usize)]
pub struct Measure<const LOGK: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// A piece.
    pub piece: Signal<In, Piece>,
    /// It is valid.
    pub piece_valid: Signal<In, Bit>,
    /// There is room for what is known of a piece, and for the octets of another of either kind.
    pub go: Signal<In, Bit>,
    /// The octets that come with it are taken as a header, with `go`.
    pub header_valid: Signal<Out, Bit>,
    /// They are taken as source beats, with `go`.
    pub content_valid: Signal<Out, Bit>,
    /// What to read of the piece of the cycle before.
    pub range: Signal<Out, ReadRange>,
    /// That is valid: taken with `go`.
    pub range_valid: Signal<Out, Bit>,
    /// How the piece of the cycle before fills beats.
    pub source: Signal<Out, Source>,
    /// That is valid: taken with `go`.
    pub source_valid: Signal<Out, Bit>,

    /// Octets of the present ULPDU, modulo K.
    fill: Dff<Bits<LOGK>>,
    /// The next piece is not the first one of its ULPDU.
    begun: Dff<Bit>,
    /// A header that takes no cycle stands in front of the next piece.
    behind_header: Dff<Bit>,
    known: Dff<Bit>,
    headed: Dff<Bit>,
    memory: Dff<Bit>,
    last: Dff<Bit>,
    lane: Dff<Bits<LOGK>>,
    first_beat: Dff<Bits<14>>,
    /// Fill in front of the piece, and of its last octet if it has a single beat.
    in_front: Dff<Bits<LOGK>>,
    through: Dff<Bits<8>>,
    bounds: Dff<ReadRange>,

    is_header: Signal<Local, Bit>,
    in_block: Signal<Local, Bits<17>>,
    less_one: Signal<Local, Bits<16>>,
    last_beat: Signal<Local, Bits<14>>,
    middle: Signal<Local, Bits<LOGK>>,
    behind: Signal<Local, Bits<8>>,
    over: Signal<Local, Bit>,
    single: Signal<Local, Bit>,
    single_over: Signal<Local, Bit>,
    #[constant(has_headers(octets))]
    has_headers: Constant<Bit>,
    #[constant(LOGK)]
    lane_bits: Constant<Bits<8>>,
    #[constant(octets - 1)]
    top_lane: Constant<Bits<8>>,
    #[constant(burst_block(octets) - 1)]
    block_mask: Constant<Bits<17>>,
}

impl<const LOGK: usize> Default for Measure<LOGK> {
    fn default() -> Self {
        assert!((3..=6).contains(&LOGK), "8 to 64 octets, not 2^{LOGK}");
        Self::assemble(1 << LOGK)
    }
}

impl<const LOGK: usize> Logic for Measure<LOGK> {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("octets that come with a piece begin in lane 0");
        self.in_block.next = 0.into();
        if self.piece.val().memory {
            self.in_block.next = self.piece.val().content.get_bits::<17>(0) & self.block_mask.val();
        }
        self.less_one.next = self.piece.val().length - 1;

        comment!("a header is part of the first source beat of the piece behind it");
        self.is_header.next = self.has_headers.val()
            & !self.begun.q.val()
            & !self.piece.val().memory
            & !self.piece.val().last;
        self.header_valid.next = self.piece_valid.val() & self.is_header.val();
        self.content_valid.next =
            self.piece_valid.val() & !self.piece.val().memory & !self.is_header.val();
        if self.go.val() {
            self.known.d.next = self.piece_valid.val() & !self.is_header.val();
            self.headed.d.next = self.behind_header.q.val();
            self.memory.d.next = self.piece.val().memory;
            self.last.d.next = self.piece.val().last;
            self.lane.d.next = self.in_block.val().get_bits::<LOGK>(0);
            self.first_beat.d.next =
                bit_cast::<14, 17>(self.in_block.val() >> self.lane_bits.val());
            self.in_front.d.next = self.fill.q.val();
            self.through.d.next = bit_cast::<8, LOGK>(self.fill.q.val())
                + bit_cast::<8, LOGK>(self.less_one.val().get_bits::<LOGK>(0));
            self.bounds.d.next.high = self.piece.val().content.get_bits::<32>(32);
            self.bounds.d.next.high_next = self.piece.val().content.get_bits::<32>(32) + 1;
            self.bounds.d.next.low = self.piece.val().content.get_bits::<32>(0);
            self.bounds.d.next.last = self.in_block.val() + bit_cast::<17, 16>(self.less_one.val());
            if self.piece_valid.val() {
                self.begun.d.next = !self.piece.val().last;
                self.behind_header.d.next = self.is_header.val();
                self.fill.d.next = self.fill.q.val() + self.piece.val().length.get_bits::<LOGK>(0);
                if self.piece.val().last {
                    self.fill.d.next = 0.into();
                }
            }
        }
        self.range.next = self.bounds.q.val();
        self.range_valid.next = self.known.q.val() & self.memory.q.val();
        self.source_valid.next = self.known.q.val();

        comment!(
            "a single beat: from its first octet to its last one, lane K less one of the ULPDU's beat may lie between them"
        );
        self.last_beat.next = bit_cast::<14, 17>(self.bounds.q.val().last >> self.lane_bits.val());
        self.single.next = self.last_beat.val() == self.first_beat.q.val();
        self.single_over.next = self.through.q.val().get_bit(self.lane_bits.val().index());

        comment!(
            "two or more: the first one fills from its lane on to lane K less one, the last one from lane 0 on"
        );
        self.middle.next = self.in_front.q.val() - self.lane.q.val();
        self.behind.next = bit_cast::<8, LOGK>(self.middle.val())
            + bit_cast::<8, LOGK>(self.bounds.q.val().last.get_bits::<LOGK>(0));
        self.over.next = self.behind.val().get_bit(self.lane_bits.val().index());
        self.source.next.memory = self.memory.q.val();
        self.source.next.last = self.last.q.val();
        self.source.next.header = self.headed.q.val();
        self.source.next.single = self.single.val();
        self.source.next.rest = self.last_beat.val() - self.first_beat.q.val();
        self.source.next.amount = bit_cast::<8, LOGK>(self.lane.q.val() - self.in_front.q.val());
        self.source.next.fill_first = bit_cast::<8, LOGK>(self.in_front.q.val());
        self.source.next.fill = bit_cast::<8, LOGK>(self.middle.val());
        self.source.next.first_over = self.in_front.q.val() > self.lane.q.val();
        self.source.next.first_exact = self.in_front.q.val() == self.lane.q.val();
        if self.single.val() {
            self.source.next.first_over = self.single_over.val();
            self.source.next.first_exact = !self.single_over.val()
                & (self.last.q.val() | (self.through.q.val() == self.top_lane.val()));
        }
        self.source.next.last_over = self.over.val();
        self.source.next.last_exact =
            !self.over.val() & (self.last.q.val() | (self.behind.val() == self.top_lane.val()));

        if self.reset.val() {
            self.known.d.next = false;
            self.begun.d.next = false;
            self.behind_header.d.next = false;
            self.fill.d.next = 0.into();
        }
    }
}
