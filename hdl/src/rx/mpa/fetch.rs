//! Fetch: reads whole FPDUs out of the assembly rings, a beat a cycle, the first octet in lane 0.
//!
//! ```text
//!  Fpdu ─► count ─► reserve ─► go? ─► rows, lanes ─► ring (2 cycles) ─► rotate ─► data
//!          beats    room in the commit buffer  │                                  │
//!                   < 32 under way             └─► side: first, last, count, marker ─► (same delay)
//!                                              └─► tail: the ring is free up to here
//! ```
//!
//! A read may begin at any dword, so every FPDU begins at lane 0, and all of its beats but the last are full. Nothing
//! behind `fetch` can stall: an FPDU starts only when the commit buffer has rows for all of its beats and fewer than
//! 32 FPDUs are under way to `check`. Both are reserved one FPDU ahead, while the previous one is still being read,
//! so that the next can start in any cycle. If none is being read, an FPDU starts with its reservation. The room of a
//! beat returns to the stream as soon as its read is issued.
//!
//! An FPDU with `ahead` returns no room: it is read again when it is in order. Neither does a refused one: fewer
//! octets than are read of it may have landed, and the ring becomes free up to the edge right behind it. One with
//! `placed` was read whole before: only its first [`HEADER`] dwords are read, which the checks need, and the room of
//! the whole FPDU returns with the last of them. Its CRC verdict has no meaning.
//!
//! Latency: 2 cycles from an FPDU to its first read if nothing stalls it, and [`latency`] cycles from a read to its
//! beat. Throughput: one beat a cycle, without a gap between FPDUs, even those of one beat, while the commit buffer
//! has room for the longest FPDU, or for two brief ones behind one of those. With less room the check takes one cycle
//! more.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use crate::Config;
use crate::parts::delay::Delay;
use crate::parts::lane_mask::LaneMask;
use crate::parts::lane_ram;
use crate::parts::rotate::{self, Rotate};
use crate::records::{Fpdu, HEADER};
use rust_hdl_core::prelude::*;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, Record, comment};

/// Cycles from a read to its beat, for beats of `dwords`.
#[must_use]
pub const fn latency(dwords: usize) -> usize {
    lane_ram::LATENCY + rotate::latency(dwords)
}

/// FPDUs that may be under way between `fetch` and `check`: more than the cycles of that path at any width, since one may start in
/// each cycle.
pub const UNDER_WAY: u64 = 32;

/// Upper bound of an FPDU's length on the wire: ULPDU_Length can be 0xFFFF without markers.
const MOST_OCTETS: usize = (1 << 16) + 64;

/// A brief FPDU has fewer than two to this many beats; whether another one fits is known in the next cycle.
const BRIEF: u64 = 4;

/// Side information of a beat.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct FpduBeat {
    /// The beat is valid.
    pub valid: Bit,
    /// First beat of its FPDU.
    pub first: Bit,
    /// Last beat of its FPDU.
    pub last: Bit,
    /// Dwords in it.
    pub count: Bits<5>,
    /// One of its dwords is a marker.
    pub marker: Bit,
    /// Dword lane of the marker; 0 without one.
    pub marker_lane: Bits<8>,
    /// FPDUPTR that the marker must hold.
    pub marker_pointer: Bits<16>,
}

/// An FPDU that starts, as `commit` needs it.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct Start {
    /// As in [`Fpdu`].
    pub stream: Bits<8>,
    /// As in [`Fpdu`].
    pub position: Bits<32>,
    /// As in [`Fpdu`].
    pub crc: Bit,
    /// As in [`Fpdu`].
    pub refused: Bits<3>,
    /// As in [`Fpdu`].
    pub ulpdu: Bits<16>,
    /// As in [`Fpdu`].
    pub ahead: Bit,
    /// As in [`Fpdu`].
    pub placed: Bit,
    /// First row in the commit buffer.
    pub row: Bits<16>,
    /// Rows reserved there.
    pub rows: Bits<16>,
}

/// Fetches beats of W bits: K octets (2^LOGK), D dwords (2^LOGD), for S streams.
#[derive(Block)]
#[block(config: &Config, rows: usize, commit_rows: usize)]
pub struct Fetch<
    const W: usize,
    const K: usize,
    const D: usize,
    const LOGK: usize,
    const LOGD: usize,
    const S: usize,
> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// Whole FPDUs in the order in which they are to be fetched.
    pub fpdu: Signal<In, Fpdu>,
    /// The FPDU is valid.
    pub fpdu_valid: Signal<In, Bit>,
    /// It is accepted.
    pub fpdu_ready: Signal<Out, Bit>,
    /// Pulse: the ring of `stream` is empty, its position 0.
    pub arm: Signal<In, Bit>,
    /// Stream of `arm`.
    pub stream: Signal<In, Bits<8>>,
    /// Position up to which the octets of each stream have landed.
    pub edge_landed: [Signal<In, Bits<32>>; S],
    /// Position up to which the ring of each stream is free again.
    pub tail: [Signal<Out, Bits<32>>; S],
    /// Read port of the rings: row of the lanes whose select bit is zero.
    pub read_row_0: Signal<Out, Bits<20>>,
    /// Row of the lanes whose select bit is one.
    pub read_row_1: Signal<Out, Bits<20>>,
    /// Which row each lane reads.
    pub read_select: Signal<Out, Bits<K>>,
    /// Octets of those rows, two cycles later.
    pub read_data: Signal<In, Bits<W>>,
    /// An FPDU starts; its beats follow behind those of the previous ones.
    pub start: Signal<Out, Start>,
    /// Pulse: `start` is valid.
    pub start_valid: Signal<Out, Bit>,
    /// Beats.
    pub beat: Signal<Out, FpduBeat>,
    /// Their octets, the first one in lane 0.
    pub beat_data: Signal<Out, Bits<W>>,
    /// Pulse: `freed_rows` rows of the commit buffer are free again.
    pub freed: Signal<In, Bit>,
    /// How many, with `freed`.
    pub freed_rows: Signal<In, Bits<16>>,
    /// Pulse: `check` has accepted an FPDU.
    pub consumed: Signal<In, Bit>,

    tail_at: [Dff<Bits<32>>; S],
    given_up: [Dff<Bit>; S],

    // counted: the FPDU behind the next one, not reserved yet
    counted: Dff<Fpdu>,
    counted_valid: Dff<Bit>,
    counted_beats: Dff<Bits<16>>,
    counted_behind: Dff<Bits<32>>,

    // prepared: the next FPDU, its room reserved
    prepared: Dff<Fpdu>,
    prepared_valid: Dff<Bit>,
    prepared_beats: Dff<Bits<16>>,
    prepared_behind: Dff<Bits<32>>,
    free: Dff<Bits<16>>,
    has_room: Dff<Bit>,
    brief: Dff<Bit>,
    under_way: Dff<Bits<8>>,
    vacant: Dff<Bit>,
    next_row: Dff<Bits<16>>,

    // active: the FPDU that is being read
    active: Dff<Bit>,
    now: Dff<Fpdu>,
    behind: Dff<Bits<32>>,
    left: Dff<Bits<16>>,
    last: Dff<Bit>,
    first: Dff<Bit>,
    position: Dff<Bits<32>>,
    row_0: Dff<Bits<20>>,
    row_1: Dff<Bits<20>>,
    dwords_left: Dff<Bits<16>>,
    into: Dff<Bits<16>>,
    leading: Dff<Bit>,
    to_marker: Dff<Bits<7>>,
    start_now: Dff<Start>,
    start_pulse: Dff<Bit>,

    wrapped: LaneMask<K, K>,
    rotate: Rotate<W, D, LOGD>,
    #[value(Delay::new(latency(D)))]
    side: Delay<FpduBeat>,
    #[value(Delay::new(lane_ram::LATENCY))]
    amount: Delay<Bits<LOGD>>,

    takes: Signal<Local, Bit>,
    roomy: Signal<Local, Bit>,
    some_room: Signal<Local, Bit>,
    fits: Signal<Local, Bit>,
    brief_next: Signal<Local, Bit>,
    may_go: Signal<Local, Bit>,
    reserve: Signal<Local, Bit>,
    go: Signal<Local, Bit>,
    due: Signal<Local, Fpdu>,
    due_beats: Signal<Local, Bits<16>>,
    due_behind: Signal<Local, Bits<32>>,
    reads: Signal<Local, Bits<16>>,
    beats: Signal<Local, Bits<16>>,
    ring_row: Signal<Local, Bits<32>>,
    row_base: Signal<Local, Bits<20>>,
    base_now: Signal<Local, Bits<20>>,
    read: Signal<Local, FpduBeat>,
    has_marker: Signal<Local, Bit>,
    count: Signal<Local, Bits<16>>,
    back: Signal<Local, Bits<16>>,
    #[constant(0)]
    none: Constant<Bits<8>>,
    #[constant(0)]
    none_7: Constant<Bits<7>>,
    #[constant(0xFFFC)]
    less_four: Constant<Bits<16>>,
    #[constant(|i| i)]
    index: [Constant<Bits<4>>; S],
    #[constant(K)]
    octets_of_beat: Constant<Bits<32>>,
    #[constant(D)]
    dwords_of_beat: Constant<Bits<16>>,
    #[constant(D - 1)]
    round_up: Constant<Bits<16>>,
    #[constant(LOGD)]
    dword_bits: Constant<Bits<8>>,
    #[constant(LOGK)]
    lane_bits: Constant<Bits<8>>,
    #[constant(rows - 1)]
    row_mask: Constant<Bits<32>>,
    #[constant(rows - 1)]
    row_mask_20: Constant<Bits<20>>,
    #[constant(!(rows - 1) & 0xf_ffff)]
    row_keep_20: Constant<Bits<20>>,
    #[constant(rows.trailing_zeros())]
    stream_shift: Constant<Bits<8>>,
    #[constant(commit_rows - 1)]
    commit_mask: Constant<Bits<16>>,
    #[constant(commit_rows)]
    commit_rows: Constant<Bits<16>>,
    #[constant(UNDER_WAY - 1)]
    most_less_one: Constant<Bits<8>>,
    #[constant(config.max_fpdu().min(MOST_OCTETS) / K)]
    most_rows: Constant<Bits<16>>,
    #[constant(2 << BRIEF)]
    two_brief: Constant<Bits<16>>,
    #[constant(LOGD as u64 + BRIEF)]
    brief_bits: Constant<Bits<16>>,
    #[constant(HEADER)]
    header: Constant<Bits<16>>,
    #[constant(HEADER.div_ceil(D as u64))]
    header_beats: Constant<Bits<16>>,
}

impl<
    const W: usize,
    const K: usize,
    const D: usize,
    const LOGK: usize,
    const LOGD: usize,
    const S: usize,
> Fetch<W, K, D, LOGK, LOGD, S>
{
    /// For the rings and the commit buffer of `config`.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        assert!(
            W == 8 * K && K == 4 * D && K == 1 << LOGK && D == 1 << LOGD && (1..=16).contains(&S)
        );
        assert!(
            config.max_ulpdu() + config.max_ulpdu() / 127 + 32 <= MOST_OCTETS
                && 0xFFFF + 32 <= MOST_OCTETS,
            "with header, PAD, CRC, and 4 octets of marker in 508; any length without markers"
        );
        let rows = config.ring_octets / K;
        let commit_rows = config.commit_octets / K;
        Self::assemble(config, rows, commit_rows)
    }
}

impl<
    const W: usize,
    const K: usize,
    const D: usize,
    const LOGK: usize,
    const LOGD: usize,
    const S: usize,
> Logic for Fetch<W, K, D, LOGK, LOGD, S>
{
    #[hdl_gen]
    fn update(&mut self) {
        for i in 0..S {
            self.tail_at[i].d.next = self.tail_at[i].q.val();
            self.tail[i].next = self.tail_at[i].q.val();
            self.given_up[i].d.next = self.given_up[i].q.val();
        }

        comment!("reserve: rows for all beats, and one of the places under way");
        self.may_go.next = !self.active.q.val() | self.last.q.val();
        self.reserve.next = self.counted_valid.q.val()
            & (!self.prepared_valid.q.val() | self.may_go.val())
            & self.has_room.q.val()
            & self.vacant.q.val();

        comment!(
            "start: at the end of the previous FPDU, or with the reservation if none is being read"
        );
        self.go.next = self.may_go.val() & (self.prepared_valid.q.val() | self.reserve.val());
        self.due.next = self.counted.q.val();
        self.due_beats.next = self.counted_beats.q.val();
        self.due_behind.next = self.counted_behind.q.val();
        if self.prepared_valid.q.val() {
            self.due.next = self.prepared.q.val();
            self.due_beats.next = self.prepared_beats.q.val();
            self.due_behind.next = self.prepared_behind.q.val();
        }
        if self.go.val() {
            self.prepared_valid.d.next = self.prepared_valid.q.val() & self.reserve.val();
        } else if self.reserve.val() {
            self.prepared_valid.d.next = true;
        }
        if self.reserve.val() {
            self.prepared.d.next = self.counted.q.val();
            self.prepared_beats.d.next = self.counted_beats.q.val();
            self.prepared_behind.d.next = self.counted_behind.q.val();
        }

        comment!("count the beats; of an FPDU that is placed already only the header is read");
        self.reads.next = self.fpdu.val().dwords;
        self.beats.next = (self.fpdu.val().dwords + self.round_up.val()) >> self.dword_bits.val();
        if self.fpdu.val().header_only {
            self.reads.next = self.header.val();
            self.beats.next = self.header_beats.val();
        }
        comment!("without an FPDU the count has no effect");
        self.takes.next = !self.counted_valid.q.val() | self.reserve.val();
        self.fpdu_ready.next = self.takes.val();
        self.brief_next.next = self.brief.q.val();
        if self.takes.val() {
            self.counted_valid.d.next = self.fpdu_valid.val();
            self.counted.d.next = self.fpdu.val();
            self.brief_next.next = !(self.fpdu.val().dwords >> self.brief_bits.val()).any();
            self.counted.d.next.dwords = self.reads.val();
            self.counted_beats.d.next = self.beats.val();
            self.counted_behind.d.next =
                self.fpdu.val().position + (bit_cast::<32, 16>(self.fpdu.val().dwords) << 2);
        }

        comment!(
            "room in the next cycle: for one of any size, for two brief ones, or for the counted one if none starts now"
        );
        self.brief.d.next = self.brief_next.val();
        self.roomy.next = (self.free.q.val() >= self.most_rows.val()) & !self.reserve.val();
        self.some_room.next = (self.free.q.val() >= self.two_brief.val())
            & (!self.reserve.val() | self.brief.q.val());
        self.fits.next = self.counted_valid.q.val()
            & !self.reserve.val()
            & (self.free.q.val() >= self.counted_beats.q.val());
        self.has_room.d.next =
            self.roomy.val() | (self.some_room.val() & self.brief_next.val()) | self.fits.val();

        comment!("rows of the commit buffer, and FPDUs under way");
        if self.reserve.val() & self.freed.val() {
            self.free.d.next =
                self.free.q.val() + self.freed_rows.val() - self.counted_beats.q.val();
        }
        if self.reserve.val() & !self.freed.val() {
            self.free.d.next = self.free.q.val() - self.counted_beats.q.val();
        }
        if !self.reserve.val() & self.freed.val() {
            self.free.d.next = self.free.q.val() + self.freed_rows.val();
        }
        if self.reserve.val() & !self.consumed.val() {
            self.under_way.d.next = self.under_way.q.val() + 1;
            self.vacant.d.next = self.under_way.q.val() != self.most_less_one.val();
        }
        if !self.reserve.val() & self.consumed.val() {
            self.under_way.d.next = self.under_way.q.val() - 1;
            self.vacant.d.next = true;
        }

        comment!("read: a beat a cycle");
        self.count.next = self.dwords_of_beat.val();
        if self.last.q.val() {
            self.count.next = self.dwords_left.q.val();
        }
        self.base_now.next = self.row_1.q.val() & self.row_keep_20.val();
        if self.active.q.val() {
            self.first.d.next = false;
            self.left.d.next = self.left.q.val() - 1;
            self.last.d.next = self.left.q.val() == 2;
            self.position.d.next = self.position.q.val() + self.octets_of_beat.val();
            self.into.d.next = self.into.q.val() + bit_cast::<16, 32>(self.octets_of_beat.val());
            self.to_marker.d.next =
                self.to_marker.q.val() - bit_cast::<7, 16>(self.dwords_of_beat.val());
            self.dwords_left.d.next = self.dwords_left.q.val() - self.dwords_of_beat.val();
            self.row_0.d.next = self.row_1.q.val();
            self.row_1.d.next =
                ((self.row_1.q.val() + 1) & self.row_mask_20.val()) | self.base_now.val();
            for i in 0..S {
                if (self.now.q.val().stream.get_bits::<4>(0) == self.index[i].val())
                    & !self.now.q.val().ahead
                    & !self.now.q.val().refused.any()
                {
                    if !self.now.q.val().placed {
                        self.tail_at[i].d.next =
                            self.position.q.val() + (bit_cast::<32, 16>(self.count.val()) << 2);
                    }
                    if self.last.q.val() {
                        self.tail_at[i].d.next = self.behind.q.val();
                    }
                }
            }
            if self.last.q.val() {
                self.active.d.next = false;
            }
        }
        self.ring_row.next = self.due.val().position >> self.lane_bits.val();
        self.row_base.next = bit_cast::<20, 8>(self.due.val().stream) << self.stream_shift.val();
        self.start_pulse.d.next = self.go.val();
        if self.go.val() {
            self.active.d.next = true;
            self.now.d.next = self.due.val();
            self.behind.d.next = self.due_behind.val();
            self.first.d.next = true;
            self.left.d.next = self.due_beats.val();
            self.last.d.next = self.due_beats.val() == 1;
            self.position.d.next = self.due.val().position;
            self.dwords_left.d.next = self.due.val().dwords;
            self.into.d.next = 0.into();
            self.to_marker.d.next = self.none_7.val() - self.due.val().position.get_bits::<7>(2);
            self.leading.d.next = false;
            comment!("octets from ULPDU_Length on, so a marker in front of it does not count");
            if self.due.val().markers & !self.due.val().position.get_bits::<9>(0).any() {
                self.leading.d.next = true;
                self.into.d.next = self.less_four.val();
            }
            self.row_0.d.next =
                bit_cast::<20, 32>(self.ring_row.val() & self.row_mask.val()) | self.row_base.val();
            self.row_1.d.next = bit_cast::<20, 32>((self.ring_row.val() + 1) & self.row_mask.val())
                | self.row_base.val();
            self.next_row.d.next =
                (self.next_row.q.val() + self.due_beats.val()) & self.commit_mask.val();
            self.start_now.d.next.stream = self.due.val().stream;
            self.start_now.d.next.position = self.due.val().position;
            self.start_now.d.next.crc = self.due.val().crc;
            self.start_now.d.next.refused = self.due.val().refused;
            self.start_now.d.next.ulpdu = self.due.val().ulpdu;
            self.start_now.d.next.ahead = self.due.val().ahead;
            self.start_now.d.next.placed = self.due.val().placed;
            self.start_now.d.next.row = self.next_row.q.val();
            self.start_now.d.next.rows = self.due_beats.val();
        }
        comment!(
            "a stream whose chain of lengths is lost continues to accept octets, so that its sender does not stall (AMB-10)"
        );
        for i in 0..S {
            if self.start_pulse.q.val()
                & self.start_now.q.val().refused.any()
                & (self.start_now.q.val().stream.get_bits::<4>(0) == self.index[i].val())
            {
                self.given_up[i].d.next = true;
            }
            if self.given_up[i].q.val() {
                self.tail_at[i].d.next = self.edge_landed[i].val();
            }
        }
        self.start.next = self.start_now.q.val();
        self.start_valid.next = self.start_pulse.q.val();
        self.wrapped.from.next = self.none.val();
        self.wrapped.to.next = bit_cast::<8, LOGK>(self.position.q.val().get_bits::<LOGK>(0));
        self.read_row_0.next = self.row_0.q.val();
        self.read_row_1.next = self.row_1.q.val();
        self.read_select.next = self.wrapped.mask.val();

        comment!(
            "a marker lies at every multiple of 512; it points back to ULPDU_Length, or is 0 in front of it"
        );
        self.back.next = self.into.q.val() + (bit_cast::<16, 7>(self.to_marker.q.val()) << 2);
        self.read.next.valid = self.active.q.val();
        self.read.next.first = self.first.q.val();
        self.read.next.last = self.last.q.val();
        self.read.next.count = bit_cast::<5, 16>(self.count.val());
        self.has_marker.next = self.now.q.val().markers
            & (bit_cast::<16, 7>(self.to_marker.q.val()) < self.count.val());
        self.read.next.marker = self.has_marker.val();
        self.read.next.marker_lane = 0.into();
        if self.has_marker.val() {
            self.read.next.marker_lane = bit_cast::<8, 7>(self.to_marker.q.val());
        }
        self.read.next.marker_pointer = self.back.val();
        if self.leading.q.val() & self.first.q.val() & !self.to_marker.q.val().any() {
            self.read.next.marker_pointer = 0.into();
        }
        self.side.d.next = self.read.val();
        self.beat.next = self.side.q.val();

        comment!("the ring's octets, rotated so that the FPDU begins at lane 0");
        self.amount.d.next = self.position.q.val().get_bits::<LOGD>(2);
        self.rotate.data.next = self.read_data.val();
        self.rotate.amount.next = self.amount.q.val();
        self.beat_data.next = self.rotate.out.val();

        for i in 0..S {
            if self.arm.val() & (self.stream.val().get_bits::<4>(0) == self.index[i].val()) {
                self.tail_at[i].d.next = 0.into();
                self.given_up[i].d.next = false;
            }
        }
        for i in 0..S {
            if self.reset.val() {
                self.given_up[i].d.next = false;
            }
        }
        if self.reset.val() {
            self.counted_valid.d.next = false;
            self.prepared_valid.d.next = false;
            self.free.d.next = self.commit_rows.val();
            self.has_room.d.next = false;
            self.vacant.d.next = true;
            self.under_way.d.next = 0.into();
            self.next_row.d.next = 0.into();
            self.active.d.next = false;
            self.start_pulse.d.next = false;
        }
    }
}
