//! Ring write: puts the beats of FPDUs into their stream's ring.
//!
//! ```text
//!  FramedBeat ─┬─► rows, end ──────────────────────────┬─► LandedBeat
//!              └─► lanes 0..dwords ┐                   ▼
//!  octets ─────────────────────────┴─►[rotate dwords]─► write port of the lane RAM
//! ```
//!
//! Stream position p lies in octet lane p mod K of row p / K of its stream's ring. A beat begins at a dword, so dwords are
//! rotated, and those that wrap belong to the next row. FPDUs of streams that do not exist are not written.
//!
//! Throughput: one beat a cycle, free running. Latency: [`latency`] cycles from a beat to its write, and to its
//! `LandedBeat` with it. Hold `reset` as long as the latency, with no beat valid.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use crate::parts::delay::Delay;
use crate::parts::lane_mask::LaneMask;
use crate::parts::rotate::{self, Rotate};
use crate::records::FramedBeat;
use rust_hdl_core::prelude::*;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, Record, comment};
use warpline_wire::mpa;

/// Cycles from a beat to its write, for beats of `dwords`.
#[must_use]
pub const fn latency(dwords: usize) -> usize {
    1 + rotate::latency(dwords)
}

/// Bits of an octet's position in its dword.
const IN_DWORD: usize = mpa::ALIGN.ilog2() as usize;

/// A beat as it goes into the lane RAM.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct LandedBeat {
    /// There is a beat.
    pub valid: Bit,
    /// Its stream exists.
    pub known: Bit,
    /// Stream number.
    pub stream: Bits<8>,
    /// Row of the first dword's lane and of those above.
    pub row_0: Bits<20>,
    /// Row of the lanes below.
    pub row_1: Bits<20>,
    /// Lane of the first dword.
    pub lane: Bits<8>,
    /// First beat of its FPDU.
    pub first: Bit,
    /// Last beat of its FPDU.
    pub last: Bit,
    /// With `last`: octets of the FPDU could not be read.
    pub failed: Bit,
    /// Stream position of the beat's first octet.
    pub position: Bits<32>,
    /// Stream position behind it.
    pub behind: Bits<32>,
}

/// Writes beats of W bits: K octets (2^LOGK), D dwords (2^LOGD), of S streams.
#[derive(Block)]
#[block(rows: usize)]
pub struct RingWrite<
    const W: usize,
    const K: usize,
    const D: usize,
    const LOGK: usize,
    const LOGD: usize,
    const S: usize,
> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset: no FPDU is incomplete.
    pub reset: Signal<In, Bit>,
    /// A beat.
    pub beat: Signal<In, FramedBeat>,
    /// Its octets, the first one in lane 0.
    pub beat_data: Signal<In, Bits<W>>,
    /// In an FPDU's last beat: not all of its octets could be read.
    pub beat_failed: Signal<In, Bit>,
    /// The beat is valid.
    pub beat_valid: Signal<In, Bit>,
    /// A beat of `open_stream` has come in the cycle before, or its FPDU is not complete.
    pub open: Signal<Out, Bit>,
    /// Stream of the last beat.
    pub open_stream: Signal<Out, Bits<8>>,
    /// Lanes to write.
    pub write_enable: Signal<Out, Bits<K>>,
    /// Row of each lane: `write_row_0` where zero, `write_row_1` where one.
    pub write_select: Signal<Out, Bits<K>>,
    /// Row of the lanes whose select bit is zero.
    pub write_row_0: Signal<Out, Bits<20>>,
    /// Row of the lanes whose select bit is one.
    pub write_row_1: Signal<Out, Bits<20>>,
    /// Octets to write.
    pub write_data: Signal<Out, Bits<W>>,
    /// The beat that is written.
    pub landed: Signal<Out, LandedBeat>,

    beat_1: Dff<FramedBeat>,
    data_1: Dff<Bits<W>>,
    failed_1: Dff<Bit>,
    valid_1: Dff<Bit>,
    unfinished: Dff<Bit>,
    rotate_data: Rotate<W, D, LOGD>,
    rotate_mask: Rotate<K, D, LOGD>,
    filled: LaneMask<K, D>,
    wrapped: LaneMask<K, D>,
    #[value(Delay::new(rotate::latency(D)))]
    side: Delay<LandedBeat>,

    dword: Signal<Local, Bits<32>>,
    back: Signal<Local, Bits<LOGD>>,
    row: Signal<Local, Bits<32>>,
    base: Signal<Local, Bits<20>>,
    landing: Signal<Local, LandedBeat>,
    #[constant(0)]
    none: Constant<Bits<8>>,
    #[constant(0)]
    no_shift: Constant<Bits<LOGD>>,
    #[constant(Bits::default())]
    no_lanes: Constant<Bits<K>>,
    #[constant(IN_DWORD)]
    in_dword: Constant<Bits<8>>,
    #[constant(LOGK)]
    lane_bits: Constant<Bits<8>>,
    #[constant(rows - 1)]
    row_mask: Constant<Bits<32>>,
    #[constant(rows.ilog2())]
    stream_shift: Constant<Bits<8>>,
    #[constant(S.ilog2())]
    stream_bits: Constant<Bits<8>>,
}

impl<
    const W: usize,
    const K: usize,
    const D: usize,
    const LOGK: usize,
    const LOGD: usize,
    const S: usize,
> RingWrite<W, K, D, LOGK, LOGD, S>
{
    /// For rings of `rows` rows.
    #[must_use]
    pub fn new(rows: usize) -> Self {
        assert!(W == 8 * K && K == 4 * D && K == 1 << LOGK && D == 1 << LOGD);
        assert!(rows.is_power_of_two() && S.is_power_of_two());
        Self::assemble(rows)
    }
}

impl<
    const W: usize,
    const K: usize,
    const D: usize,
    const LOGK: usize,
    const LOGD: usize,
    const S: usize,
> Logic for RingWrite<W, K, D, LOGK, LOGD, S>
{
    #[hdl_gen]
    fn update(&mut self) {
        self.beat_1.d.next = self.beat.val();
        self.data_1.d.next = self.beat_data.val();
        self.failed_1.d.next = self.beat_failed.val();
        self.valid_1.d.next = self.beat_valid.val();
        self.open.next = self.valid_1.q.val() | self.unfinished.q.val();
        self.open_stream.next = self.beat_1.q.val().stream;
        if self.valid_1.q.val() {
            self.unfinished.d.next = !self.beat_1.q.val().last;
        }
        if self.reset.val() {
            self.unfinished.d.next = false;
        }

        comment!(
            "dword i of the beat goes to lane (position / 4 + i) mod D: a rotation by minus the position"
        );
        self.dword.next = self.beat_1.q.val().position >> self.in_dword.val();
        self.back.next = self.no_shift.val() - self.dword.val().get_bits::<LOGD>(0);
        self.rotate_data.data.next = self.data_1.q.val();
        self.rotate_data.amount.next = self.back.val();
        self.filled.from.next = self.none.val();
        self.filled.to.next = bit_cast::<8, 5>(self.beat_1.q.val().dwords);
        self.rotate_mask.data.next = self.filled.mask.val();
        self.rotate_mask.amount.next = self.back.val();

        self.row.next = self.beat_1.q.val().position >> self.lane_bits.val();
        self.base.next = bit_cast::<20, 8>(self.beat_1.q.val().stream) << self.stream_shift.val();
        self.landing.next.valid = self.valid_1.q.val();
        self.landing.next.known = !(self.beat_1.q.val().stream >> self.stream_bits.val()).any();
        self.landing.next.stream = self.beat_1.q.val().stream;
        self.landing.next.row_0 =
            bit_cast::<20, 32>(self.row.val() & self.row_mask.val()) | self.base.val();
        self.landing.next.row_1 =
            bit_cast::<20, 32>((self.row.val() + 1) & self.row_mask.val()) | self.base.val();
        self.landing.next.lane = bit_cast::<8, LOGD>(self.dword.val().get_bits::<LOGD>(0));
        self.landing.next.first = self.beat_1.q.val().first;
        self.landing.next.last = self.beat_1.q.val().last;
        self.landing.next.failed = self.failed_1.q.val();
        self.landing.next.position = self.beat_1.q.val().position;
        self.landing.next.behind = self.beat_1.q.val().position
            + (bit_cast::<32, 5>(self.beat_1.q.val().dwords) << self.in_dword.val());
        self.side.d.next = self.landing.val();

        comment!("write: lanes below that of the first dword belong to the next row");
        self.wrapped.from.next = self.none.val();
        self.wrapped.to.next = self.side.q.val().lane;
        self.write_enable.next = self.no_lanes.val();
        if self.side.q.val().valid & self.side.q.val().known {
            self.write_enable.next = self.rotate_mask.out.val();
        }
        self.write_select.next = self.wrapped.mask.val();
        self.write_row_0.next = self.side.q.val().row_0;
        self.write_row_1.next = self.side.q.val().row_1;
        self.write_data.next = self.rotate_data.out.val();
        self.landed.next = self.side.q.val();
    }
}
