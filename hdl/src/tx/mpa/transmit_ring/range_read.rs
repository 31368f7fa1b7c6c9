//! Range read: streams a range of a ring, from any octet on.
//!
//! ```text
//!  SendRange ─► queue ─► now: rows, beats left ─► read port of the lane RAM ─►[rotate octets]─► queue ─► m_axis_transmit
//!                         ▲ room                                                               │
//!                         └──────────────────────────────── beats that have left ──────────────┘
//! ```
//!
//! A beat takes K octets from the range's lane on; those in the lanes below come from the next row. The block reads when its
//! queue has room for what comes of it, so nothing behind the read port stalls.
//!
//! Throughput: one beat a cycle, from range to range, too. Latency: [`latency`] cycles from a range to its first beat.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use super::ports::TransmitStreamOut;
use crate::parts::delay::Delay;
use crate::parts::lane_mask::LaneMask;
use crate::parts::lane_ram;
use crate::parts::queue::Queue;
use crate::parts::room_count::RoomCount;
use crate::parts::rotate::{self, Rotate};
use rust_hdl_core::prelude::*;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, Record, comment};

/// Cycles from a range to its first beat, for beats of `octets`.
#[must_use]
pub const fn latency(octets: usize) -> usize {
    // queue of ranges, now, …, queue of beats
    2 + lane_ram::LATENCY + rotate::latency(octets) + 1
}

/// Beats between a read and their departure.
const DEPTH: usize = 1 << LOG;

/// The same as a power of two.
const LOG: usize = 4;

/// Cycles from the read of a beat to the cycle in which its room can be used again.
const fn round_trip(octets: usize) -> usize {
    // queue, `taken`, and the two of the room
    lane_ram::LATENCY + rotate::latency(octets) + 4
}

const _: () = assert!(
    round_trip(64) <= DEPTH,
    "the queue holds the beats that are under way at one a cycle"
);

/// A range to stream.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct SendRange {
    /// Stream number.
    pub stream: Bits<8>,
    /// Sequence number of its first octet.
    pub sequence_number: Bits<32>,
    /// Row of the first octet's lane and of those above.
    pub row_0: Bits<20>,
    /// Row of the lanes below.
    pub row_1: Bits<20>,
    /// Lane of the first octet.
    pub lane: Bits<8>,
    /// Beats less one.
    pub beats: Bits<16>,
    /// Octets of the last beat.
    pub octets: Bits<8>,
}

/// What is known of a beat while it is read.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct ReadBeat {
    /// There is a beat.
    pub valid: Bit,
    /// Last beat of its range.
    pub last: Bit,
    /// Stream number.
    pub stream: Bits<8>,
    /// Sequence number of the range.
    pub sequence_number: Bits<32>,
    /// Lane of the beat's first octet.
    pub lane: Bits<8>,
    /// Octets in it.
    pub octets: Bits<8>,
}

/// What a beat has beside its octets.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct TransmitSide {
    /// Last beat of its range.
    pub last: Bit,
    /// Stream number.
    pub stream: Bits<8>,
    /// Sequence number of the range.
    pub sequence_number: Bits<32>,
}

/// Reads beats of W bits: K octets (2^LOGK).
#[derive(Block)]
#[block(rows: usize)]
pub struct RangeRead<const W: usize, const K: usize, const LOGK: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset, held until nothing is under way.
    pub reset: Signal<In, Bit>,
    /// A range that can be read.
    pub range: Signal<In, SendRange>,
    /// It is valid.
    pub range_valid: Signal<In, Bit>,
    /// It is accepted.
    pub range_ready: Signal<Out, Bit>,
    /// Pulse: a range has been read from the ring.
    pub finished: Signal<Out, Bit>,
    /// Row of each lane: `read_row_0` where zero, `read_row_1` where one.
    pub read_select: Signal<Out, Bits<K>>,
    /// Row of the lanes whose select bit is zero.
    pub read_row_0: Signal<Out, Bits<20>>,
    /// Row of the lanes whose select bit is one.
    pub read_row_1: Signal<Out, Bits<20>>,
    /// Octets of those rows, [`lane_ram::LATENCY`] cycles later.
    pub read_data: Signal<In, Bits<W>>,
    /// The octets.
    pub m_axis_transmit: TransmitStreamOut<W, K>,

    ranges: Queue<SendRange, 3>,
    active: Dff<Bit>,
    now: Dff<SendRange>,
    last: Dff<Bit>,
    wrapped: LaneMask<K, K>,
    #[value(Delay::new(lane_ram::LATENCY))]
    reading: Delay<ReadBeat>,
    rotate: Rotate<W, K, LOGK>,
    #[value(Delay::new(rotate::latency(K)))]
    rotating: Delay<ReadBeat>,
    kept: LaneMask<K, K>,
    octets: Queue<Bits<W>, LOG>,
    keeps: Queue<Bits<K>, LOG>,
    sides: Queue<TransmitSide, LOG>,
    taken: Dff<Bit>,
    /// For the next beat, and for the one that is being read, which is not counted yet.
    #[value(RoomCount::new(DEPTH - 1))]
    room: RoomCount,

    emit: Signal<Local, Bit>,
    ends: Signal<Local, Bit>,
    go: Signal<Local, Bit>,
    head: Signal<Local, SendRange>,
    beat: Signal<Local, ReadBeat>,
    #[constant(0)]
    none: Constant<Bits<8>>,
    #[constant(K)]
    all: Constant<Bits<8>>,
    #[constant(rows - 1)]
    row_mask: Constant<Bits<20>>,
}

impl<const W: usize, const K: usize, const LOGK: usize> RangeRead<W, K, LOGK> {
    /// For rings of `rows` rows.
    #[must_use]
    pub fn new(rows: usize) -> Self {
        assert!(W == 8 * K && K == 1 << LOGK && rows.is_power_of_two());
        Self::assemble(rows)
    }
}

impl<const W: usize, const K: usize, const LOGK: usize> Logic for RangeRead<W, K, LOGK> {
    #[hdl_gen]
    fn update(&mut self) {
        self.ranges.reset.next = self.reset.val();
        self.octets.reset.next = self.reset.val();
        self.keeps.reset.next = self.reset.val();
        self.sides.reset.next = self.reset.val();
        self.ranges.s_data.next = self.range.val();
        self.ranges.s_valid.next = self.range_valid.val();
        self.range_ready.next = self.ranges.s_ready.val();

        comment!("the next range begins in the cycle behind the last beat of the one in front");
        self.head.next = self.ranges.m_data.val();
        self.emit.next = self.active.q.val() & self.room.has_room.val();
        self.ends.next = self.emit.val() & self.last.q.val();
        self.finished.next = self.ends.val();
        self.go.next = self.ranges.m_valid.val() & (!self.active.q.val() | self.ends.val());
        self.ranges.m_ready.next = !self.active.q.val() | self.ends.val();
        if self.emit.val() {
            self.now.d.next.row_0 = self.now.q.val().row_1;
            self.now.d.next.row_1 = (self.now.q.val().row_1 & !self.row_mask.val())
                | ((self.now.q.val().row_1 + 1) & self.row_mask.val());
            self.now.d.next.beats = self.now.q.val().beats - 1;
            self.last.d.next = self.now.q.val().beats == 1;
            if self.last.q.val() {
                self.active.d.next = false;
            }
        }
        if self.go.val() {
            self.active.d.next = true;
            self.now.d.next = self.head.val();
            self.last.d.next = !self.head.val().beats.any();
        }

        comment!("read: lanes below that of the first octet belong to the next row");
        self.wrapped.from.next = self.none.val();
        self.wrapped.to.next = self.now.q.val().lane;
        self.read_select.next = self.wrapped.mask.val();
        self.read_row_0.next = self.now.q.val().row_0;
        self.read_row_1.next = self.now.q.val().row_1;
        self.beat.next.valid = self.emit.val() & !self.reset.val();
        self.beat.next.last = self.last.q.val();
        self.beat.next.stream = self.now.q.val().stream;
        self.beat.next.sequence_number = self.now.q.val().sequence_number;
        self.beat.next.lane = self.now.q.val().lane;
        self.beat.next.octets = self.all.val();
        if self.last.q.val() {
            self.beat.next.octets = self.now.q.val().octets;
        }
        self.reading.d.next = self.beat.val();
        self.rotate.data.next = self.read_data.val();
        self.rotate.amount.next = self.reading.q.val().lane.get_bits::<LOGK>(0);
        self.rotating.d.next = self.reading.q.val();

        self.kept.from.next = self.none.val();
        self.kept.to.next = self.rotating.q.val().octets;
        self.octets.s_data.next = self.rotate.out.val();
        self.octets.s_valid.next = self.rotating.q.val().valid;
        self.keeps.s_data.next = self.kept.mask.val();
        self.keeps.s_valid.next = self.rotating.q.val().valid;
        self.sides.s_data.next.last = self.rotating.q.val().last;
        self.sides.s_data.next.stream = self.rotating.q.val().stream;
        self.sides.s_data.next.sequence_number = self.rotating.q.val().sequence_number;
        self.sides.s_valid.next = self.rotating.q.val().valid;
        self.octets.m_ready.next = self.m_axis_transmit.tready.val();
        self.keeps.m_ready.next = self.m_axis_transmit.tready.val();
        self.sides.m_ready.next = self.m_axis_transmit.tready.val();
        self.m_axis_transmit.tdata.next = self.octets.m_data.val();
        self.m_axis_transmit.tkeep.next = self.keeps.m_data.val();
        self.m_axis_transmit.tlast.next = self.sides.m_data.val().last;
        self.m_axis_transmit.tdest.next = self.sides.m_data.val().stream;
        self.m_axis_transmit.tuser.next = self.sides.m_data.val().sequence_number;
        self.m_axis_transmit.tvalid.next = self.sides.m_valid.val();

        comment!("beats under way");
        self.taken.d.next = self.sides.m_valid.val() & self.m_axis_transmit.tready.val();
        self.room.reset.next = self.reset.val();
        self.room.enters.next = self.emit.val();
        self.room.left.next = self.taken.q.val();
        if self.reset.val() {
            self.active.d.next = false;
            self.taken.d.next = false;
        }
    }
}
