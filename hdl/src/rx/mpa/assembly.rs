//! The assembly rings: octets are stored at their stream position, whichever segment brought them.
//!
//! ```text
//!  beat ──► rotate by position mod K ──►┬──► lane RAM ──► fetch (any K octets from any dword on)
//!                                       ├──► first two octets of each dword ─► scan, as they land
//!       └─► lanes skip..count, rotated ─┤
//!       └─► rows: position / K, and + 1 ┼──► header RAM ──► scan (ULPDU_Length of any dword)
//!                                       └──► pointer RAM ─► scan (FPDUPTR at any multiple of 512)
//!       └─► edge of the stream, delayed ───► landed
//! ```
//!
//! Stream position p is stored in octet lane p mod K of row p / K of its stream's ring. A beat that does not begin at
//! lane 0 writes its last lanes into the next row in the same cycle, since each lane has its own address. So no
//! segment takes more cycles than it has beats, wherever it starts.
//!
//! Latency: [`latency`] cycles from a beat to `landed`. A read issued in the cycle after `landed` returns the new
//! octets. The header RAM lies beside `scan` and is written a cycle later, so a read of it returns them if issued two
//! cycles after `landed`. A read takes [`lane_ram::LATENCY`](crate::parts::lane_ram::LATENCY) cycles. Throughput: one
//! beat a cycle.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use crate::Config;
use crate::parts::delay::Delay;
use crate::parts::lane_mask::LaneMask;
use crate::parts::lane_ram::{HeaderRam, LaneRam};
use crate::parts::rotate::{self, Rotate};
use crate::records::RingBeat;
use crate::rx::mpa::dword_heads::DwordHeads;
use rust_hdl_core::prelude::*;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, Record, comment};
use warpline_wire::marker;

/// Cycles until the octets of a beat are in the ring, for beats of `octets`.
#[must_use]
pub const fn latency(octets: usize) -> usize {
    rotate::latency(octets)
}

/// Side information of a beat while its octets are rotated.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct Landing {
    /// The beat is valid.
    pub valid: Bit,
    /// Its stream.
    pub stream: Bits<8>,
    /// Row of the first octet's lane and of those above.
    pub row_0: Bits<20>,
    /// Row of the lanes below.
    pub row_1: Bits<20>,
    /// Lane of the beat's first octet.
    pub lane: Bits<8>,
    /// Edge of the stream behind the beat.
    pub landed: Bits<32>,
}

/// Rings of all streams, beats of W bits: K octets (K = 2^LOGK), D dwords, H = 16·D.
#[derive(Block)]
#[block(config: &Config, rows: usize, apart: usize)]
pub struct Assembly<
    const W: usize,
    const K: usize,
    const D: usize,
    const H: usize,
    const LOGK: usize,
> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// A beat with new octets, from `admit`.
    pub beat_valid: Signal<In, Bit>,
    /// Its octets, not yet rotated.
    pub beat_data: Signal<In, Bits<W>>,
    /// Their place.
    pub beat: Signal<In, RingBeat>,
    /// Pulse: octets of a stream are in its ring up to `landed_edge`.
    pub landed: Signal<Out, Bit>,
    /// That stream.
    pub landed_stream: Signal<Out, Bits<8>>,
    /// The position behind its last octet.
    pub landed_edge: Signal<Out, Bits<32>>,
    /// With it: first two octets of each dword that lands, 16 bits a dword, first octet low, in the lanes of the ring.
    pub landed_heads: Signal<Out, Bits<H>>,
    /// Row of the lanes whose select bit is zero.
    pub read_row_0: Signal<In, Bits<20>>,
    /// Row of the lanes whose select bit is one.
    pub read_row_1: Signal<In, Bits<20>>,
    /// Which row each lane reads.
    pub read_select: Signal<In, Bits<K>>,
    /// Octets of those rows, two cycles later.
    pub read_data: Signal<Out, Bits<W>>,
    /// Row whose dwords' first two octets are read.
    pub header_row: Signal<In, Bits<20>>,
    /// Those octets, 16 bits a dword, first octet low, two cycles later.
    pub header_data: Signal<Out, Bits<H>>,
    /// Row of the marker whose FPDUPTR is read.
    pub marker_row: Signal<In, Bits<20>>,
    /// FPDUPTR, two cycles later.
    pub marker_data: Signal<Out, Bits<16>>,

    #[value(LaneRam::new(config.streams.next_power_of_two() * rows))]
    lanes: LaneRam<W, K, 20>,
    #[value(HeaderRam::new(config.streams.next_power_of_two() * rows))]
    headers: HeaderRam<W, K, D, 20, H>,
    #[value(LaneRam::new(config.streams.next_power_of_two() * rows / apart))]
    pointers: LaneRam<16, 2, 20>,
    rotate_data: Rotate<W, K, LOGK>,
    rotate_mask: Rotate<K, K, LOGK>,
    heads: DwordHeads<W, H>,
    fresh: LaneMask<K, K>,
    wrapped: LaneMask<K, K>,
    #[value(Delay::new(latency(K)))]
    side: Delay<Landing>,
    header_enable: Dff<Bits<K>>,
    header_select: Dff<Bits<K>>,
    header_row_0: Dff<Bits<20>>,
    header_row_1: Dff<Bits<20>>,
    header_octets: Dff<Bits<W>>,
    back: Signal<Local, Bits<32>>,
    row: Signal<Local, Bits<32>>,
    row_base: Signal<Local, Bits<20>>,
    landing: Signal<Local, Landing>,
    marks_0: Signal<Local, Bits<2>>,
    marks_1: Signal<Local, Bits<2>>,
    in_row_1: Signal<Local, Bits<2>>,
    #[constant(0)]
    zero: Constant<Bits<32>>,
    #[constant(0)]
    none: Constant<Bits<8>>,
    #[constant(LOGK)]
    lane_bits: Constant<Bits<8>>,
    #[constant(rows - 1)]
    row_mask: Constant<Bits<32>>,
    #[constant(rows.trailing_zeros())]
    stream_shift: Constant<Bits<8>>,
    #[constant(Bits::default())]
    no_lanes: Constant<Bits<K>>,
    #[constant(0)]
    neither: Constant<Bits<2>>,
    #[constant(3)]
    both: Constant<Bits<2>>,
    #[constant(apart - 1)]
    in_apart: Constant<Bits<20>>,
    #[constant(apart.ilog2())]
    apart_bits: Constant<Bits<8>>,
}

impl<const W: usize, const K: usize, const D: usize, const H: usize, const LOGK: usize>
    Assembly<W, K, D, H, LOGK>
{
    /// Rings as `config` says.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        assert!(W == 8 * K && K == 4 * D && H == 16 * D && K == 1 << LOGK);
        let rows = config.ring_octets / K;
        let apart = marker::SPACING as usize / K;
        Self::assemble(config, rows, apart)
    }
}

impl<const W: usize, const K: usize, const D: usize, const H: usize, const LOGK: usize> Logic
    for Assembly<W, K, D, H, LOGK>
{
    #[hdl_gen]
    fn update(&mut self) {
        comment!(
            "octet i of the beat goes to lane (position + i) mod K: a rotation by minus the position"
        );
        self.back.next = self.zero.val() - self.beat.val().position;
        self.rotate_data.data.next = self.beat_data.val();
        self.rotate_data.amount.next = self.back.val().get_bits::<LOGK>(0);
        self.fresh.from.next = self.beat.val().skip;
        self.fresh.to.next = self.beat.val().count;
        self.rotate_mask.data.next = self.fresh.mask.val();
        self.rotate_mask.amount.next = self.back.val().get_bits::<LOGK>(0);

        comment!("rows and side information");
        self.row.next = self.beat.val().position >> self.lane_bits.val();
        self.row_base.next = bit_cast::<20, 8>(self.beat.val().stream) << self.stream_shift.val();
        self.landing.next.valid = self.beat_valid.val();
        self.landing.next.stream = self.beat.val().stream;
        self.landing.next.row_0 =
            bit_cast::<20, 32>(self.row.val() & self.row_mask.val()) | self.row_base.val();
        self.landing.next.row_1 =
            bit_cast::<20, 32>((self.row.val() + 1) & self.row_mask.val()) | self.row_base.val();
        self.landing.next.lane = bit_cast::<8, LOGK>(self.beat.val().position.get_bits::<LOGK>(0));
        self.landing.next.landed = self.beat.val().new_edge;
        self.side.d.next = self.landing.val();

        comment!("write: lanes below that of the first octet belong to the next row");
        self.wrapped.from.next = self.none.val();
        self.wrapped.to.next = self.side.q.val().lane;
        self.lanes.write_enable.next = self.no_lanes.val();
        if self.side.q.val().valid {
            self.lanes.write_enable.next = self.rotate_mask.out.val();
        }
        self.lanes.write_select.next = self.wrapped.mask.val();
        self.lanes.write_row_0.next = self.side.q.val().row_0;
        self.lanes.write_row_1.next = self.side.q.val().row_1;
        self.lanes.write_data.next = self.rotate_data.out.val();
        comment!("one more register: the header RAM is placed beside `scan`");
        self.header_enable.d.next = self.lanes.write_enable.val();
        self.header_select.d.next = self.wrapped.mask.val();
        self.header_row_0.d.next = self.side.q.val().row_0;
        self.header_row_1.d.next = self.side.q.val().row_1;
        self.header_octets.d.next = self.rotate_data.out.val();
        self.headers.write_enable.next = self.header_enable.q.val();
        self.headers.write_select.next = self.header_select.q.val();
        self.headers.write_row_0.next = self.header_row_0.q.val();
        self.headers.write_row_1.next = self.header_row_1.q.val();
        self.headers.write_data.next = self.header_octets.q.val();
        self.landed.next = self.side.q.val().valid;
        self.landed_stream.next = self.side.q.val().stream;
        self.landed_edge.next = self.side.q.val().landed;
        self.heads.data.next = self.rotate_data.out.val();
        self.landed_heads.next = self.heads.octets.val();

        comment!(
            "FPDUPTR is the second half of the first dword in each row that begins at a multiple of 512"
        );
        self.marks_0.next = self.neither.val();
        if !(self.side.q.val().row_0 & self.in_apart.val()).any() {
            self.marks_0.next = self.both.val();
        }
        self.marks_1.next = self.neither.val();
        if !(self.side.q.val().row_1 & self.in_apart.val()).any() {
            self.marks_1.next = self.both.val();
        }
        self.in_row_1.next = self.wrapped.mask.val().get_bits::<2>(2);
        self.pointers.write_enable.next = self.neither.val();
        if self.side.q.val().valid {
            self.pointers.write_enable.next = self.rotate_mask.out.val().get_bits::<2>(2)
                & ((self.in_row_1.val() & self.marks_1.val())
                    | (!self.in_row_1.val() & self.marks_0.val()));
        }
        self.pointers.write_select.next = self.in_row_1.val();
        self.pointers.write_row_0.next = self.side.q.val().row_0 >> self.apart_bits.val();
        self.pointers.write_row_1.next = self.side.q.val().row_1 >> self.apart_bits.val();
        self.pointers.write_data.next = self.rotate_data.out.val().get_bits::<16>(16);

        comment!("read ports");
        self.lanes.read_row_0.next = self.read_row_0.val();
        self.lanes.read_row_1.next = self.read_row_1.val();
        self.lanes.read_select.next = self.read_select.val();
        self.read_data.next = self.lanes.read_data.val();
        self.headers.read_row.next = self.header_row.val();
        self.header_data.next = self.headers.read_data.val();
        self.pointers.read_row_0.next = self.marker_row.val() >> self.apart_bits.val();
        self.pointers.read_row_1.next = self.marker_row.val() >> self.apart_bits.val();
        self.pointers.read_select.next = self.neither.val();
        self.marker_data.next =
            (self.pointers.read_data.val() << 8) | (self.pointers.read_data.val() >> 8);
    }
}
