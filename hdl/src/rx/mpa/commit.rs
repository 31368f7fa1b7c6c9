//! Commit buffer: holds whole FPDUs without their markers until the verdict of `check`.
//!
//! ```text
//!  Start ──► queue ────────────────────────────────────────┐
//!  plain beat ─► dword index in the FPDU ─► dwords 0 to 4 ─┴─► DdpSegment ─► check
//!                             └─► rotate ─► lane RAM ──► place
//! ```
//!
//! An FPDU begins at lane 0 of a row. Removing a marker moves the dwords behind it down by one lane, so each beat is
//! rotated by the number of dwords written before it. The lane RAM writes a beat that straddles two rows in one
//! cycle.
//!
//! The `DdpSegment` leaves as soon as the header is complete: [`LATENCY`] cycle behind the plain beat with the fifth
//! dword, or with the last one. So `check` looks up its tables while the rest arrives and its CRC is computed. A beat
//! can be read [`written`] cycles after its arrival. Throughput: one beat a cycle. No unverified octet leaves the
//! buffer: `place` reads only what `check` has accepted (MPA-RCV-01).
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use crate::Config;
use crate::parts::delay::Delay;
use crate::parts::lane_mask::LaneMask;
use crate::parts::lane_ram::LaneRam;
use crate::parts::queue::Queue;
use crate::parts::rotate::{self, Rotate};
use crate::records::DdpSegment;
use crate::rx::mpa::fetch::Start;
use crate::rx::mpa::strip::Plain;
use rust_hdl_core::prelude::*;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, Record, comment};

/// Dwords of a `DdpSegment`'s header.
const HEADER: usize = 5;

/// Cycles from the beat that ends a header to the `DdpSegment`.
pub const LATENCY: usize = 1;

/// Cycles from a beat to the first read that returns it, for beats of `dwords`.
#[must_use]
pub const fn written(dwords: usize) -> usize {
    rotate::latency(dwords) + 2
}

/// Side information of a beat while it is rotated.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct RotatedBeat {
    /// The beat is valid.
    pub valid: Bit,
    /// Row in the buffer of the first dword's lane and of those above.
    pub row_0: Bits<16>,
    /// Row in the buffer of the lanes below.
    pub row_1: Bits<16>,
    /// Lane of the beat's first dword.
    pub lane: Bits<8>,
}

/// Buffer for beats of W bits: K octets, D dwords (2^LOGD).
#[derive(Block)]
#[block(rows: usize)]
pub struct Commit<const W: usize, const K: usize, const D: usize, const LOGD: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// An FPDU starts; its beats follow.
    pub start: Signal<In, Start>,
    /// Pulse: `start` is valid.
    pub start_valid: Signal<In, Bit>,
    /// Its beats, without markers.
    pub plain: Signal<In, Plain>,
    /// Their octets, from lane 0 up.
    pub plain_data: Signal<In, Bits<W>>,
    /// One an FPDU, once its header is known.
    pub segment: Signal<Out, DdpSegment>,
    /// Pulse: `segment` is valid.
    pub segment_valid: Signal<Out, Bit>,
    /// Read port for `place`: row of the lanes whose select bit is zero.
    pub read_row_0: Signal<In, Bits<16>>,
    /// Row of the lanes whose select bit is one.
    pub read_row_1: Signal<In, Bits<16>>,
    /// Which row each lane reads.
    pub read_select: Signal<In, Bits<K>>,
    /// Octets of those rows, two cycles later.
    pub read_data: Signal<Out, Bits<W>>,

    starts: Queue<Start, 5>,
    bases: Queue<Bits<16>, 5>,
    index: Dff<Bits<16>>,
    /// The same, saturated at the end of the header.
    reached: Dff<Bits<3>>,
    plain_1: Dff<Plain>,
    data_1: Dff<Bits<W>>,
    index_1: Dff<Bits<16>>,
    base_1: Dff<Bits<16>>,
    above_1: Dff<Bits<16>>,
    rotate_data: Rotate<W, D, LOGD>,
    rotate_mask: Rotate<K, D, LOGD>,
    filled: LaneMask<K, D>,
    wrapped: LaneMask<K, D>,
    #[value(Delay::new(rotate::latency(D)))]
    side: Delay<RotatedBeat>,
    #[value(LaneRam::new(rows))]
    lanes: LaneRam<W, K, 16>,
    header: [Dff<Bits<32>>; 5],
    whole: Dff<Bit>,

    rotated: Signal<Local, RotatedBeat>,
    back: Signal<Local, Bits<16>>,
    behind: Signal<Local, Bits<16>>,
    /// Dwords of a beat, and the same in units of four.
    count: Signal<Local, Bits<5>>,
    more: Signal<Local, Bits<5>>,
    /// The header's first dwords come with this beat; the header's dwords that do.
    comes: Signal<Local, Bits<5>>,
    fills: Signal<Local, Bits<5>>,
    /// The whole header came before.
    through: Signal<Local, Bit>,
    near: Signal<Local, Bits<256>>,
    dword: [Signal<Local, Bits<32>>; 5],
    lane_bit: [Signal<Local, Bits<8>>; 5],
    complete: Signal<Local, Bit>,
    relative: Signal<Local, Bits<16>>,
    #[constant(0)]
    zero: Constant<Bits<16>>,
    #[constant(0)]
    none: Constant<Bits<8>>,
    #[constant(Bits::default())]
    no_lanes: Constant<Bits<K>>,
    #[constant(LOGD)]
    lane_bits: Constant<Bits<8>>,
    #[constant(rows - 1)]
    row_mask: Constant<Bits<16>>,
    #[constant(0xff00)]
    octet_1: Constant<Bits<32>>,
    #[constant(|dword| dword)]
    number: [Constant<Bits<8>>; 5],
    // a header that fits one beat even behind a marker has fixed lanes
    #[constant(if D > HEADER { 0 } else { 7 })]
    shifted: Constant<Bits<8>>,
    // a dword that this beat fills is one of its D at most
    #[constant(if D > HEADER { 7 } else { D - 1 })]
    lane_mask: Constant<Bits<8>>,
    #[constant(2 * D - 1)]
    count_mask: Constant<Bits<5>>,
    #[constant(HEADER)]
    header_dwords: Constant<Bits<3>>,
    #[constant(0)]
    no_dwords: Constant<Bits<5>>,
}

impl<const W: usize, const K: usize, const D: usize, const LOGD: usize> Commit<W, K, D, LOGD> {
    /// A buffer of `config.commit_octets`.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        assert!(W == 8 * K && K == 4 * D && D == 1 << LOGD);
        let rows = config.commit_octets / K;
        Self::assemble(rows)
    }
}

impl<const W: usize, const K: usize, const D: usize, const LOGD: usize> Logic
    for Commit<W, K, D, LOGD>
{
    #[hdl_gen]
    fn update(&mut self) {
        self.starts.reset.next = self.reset.val();
        self.starts.s_data.next = self.start.val();
        self.starts.s_valid.next = self.start_valid.val();
        self.bases.reset.next = self.reset.val();
        self.bases.s_data.next = self.start.val().row;
        self.bases.s_valid.next = self.start_valid.val();

        comment!("dwords of the FPDU in front of this beat, and its first row");
        self.bases.m_ready.next = false;
        if self.plain.val().valid & self.plain.val().first {
            self.bases.m_ready.next = true;
            self.base_1.d.next = self.bases.m_data.val();
            self.above_1.d.next = self.bases.m_data.val() + 1;
        }
        self.behind.next = self.index.q.val() + bit_cast::<16, 5>(self.plain.val().count);
        comment!(
            "for the header a few bits suffice: one for each dword that arrives, shifted to its place"
        );
        self.count.next = self.plain.val().count & self.count_mask.val();
        self.more.next = self.count.val() >> 2;
        self.comes.next = self.no_dwords.val();
        self.comes.next = self.comes.val().replace_bit(0, self.count.val().any());
        self.comes.next = self
            .comes
            .val()
            .replace_bit(1, (self.count.val() >> 1).any());
        self.comes.next = self.comes.val().replace_bit(
            2,
            self.more.val().any() | (self.count.val().get_bits::<2>(0) == 3),
        );
        self.comes.next = self.comes.val().replace_bit(3, self.more.val().any());
        self.comes.next = self.comes.val().replace_bit(
            4,
            (self.more.val() >> 1).any()
                | (self.more.val().any() & self.count.val().get_bits::<2>(0).any()),
        );
        self.fills.next = self.comes.val() << self.reached.q.val();
        self.through.next = self.reached.q.val() == self.header_dwords.val();
        self.complete.next =
            self.fills.val().get_bit(4) | self.through.val() | self.plain.val().last;
        if self.plain.val().valid {
            self.index.d.next = self.behind.val();
            self.reached.d.next = self.reached.q.val() + self.count.val().get_bits::<3>(0);
            if self.complete.val() {
                self.reached.d.next = self.header_dwords.val();
            }
            if self.plain.val().last {
                self.index.d.next = self.zero.val();
                self.reached.d.next = 0.into();
            }
        }
        self.plain_1.d.next = self.plain.val();
        self.data_1.d.next = self.plain_data.val();
        self.index_1.d.next = self.index.q.val();

        comment!("dword i of the beat goes to lane (index + i) mod D");
        self.back.next = self.zero.val() - self.index_1.q.val();
        self.rotate_data.data.next = self.data_1.q.val();
        self.rotate_data.amount.next = self.back.val().get_bits::<LOGD>(0);
        self.filled.from.next = self.none.val();
        self.filled.to.next = bit_cast::<8, 5>(self.plain_1.q.val().count);
        self.rotate_mask.data.next = self.filled.mask.val();
        self.rotate_mask.amount.next = self.back.val().get_bits::<LOGD>(0);
        self.relative.next = self.index_1.q.val() >> self.lane_bits.val();
        self.rotated.next.valid = self.plain_1.q.val().valid;
        self.rotated.next.row_0 = (self.relative.val() + self.base_1.q.val()) & self.row_mask.val();
        self.rotated.next.row_1 =
            (self.relative.val() + self.above_1.q.val()) & self.row_mask.val();
        self.rotated.next.lane = bit_cast::<8, LOGD>(self.index_1.q.val().get_bits::<LOGD>(0));
        self.side.d.next = self.rotated.val();

        comment!("write: lanes below that of the first dword belong to the next row");
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
        self.lanes.read_row_0.next = self.read_row_0.val();
        self.lanes.read_row_1.next = self.read_row_1.val();
        self.lanes.read_select.next = self.read_select.val();
        self.read_data.next = self.lanes.read_data.val();

        comment!("header: the first five dwords, in one beat or several; missing ones read 0");
        self.near.next = bit_cast::<256, W>(self.plain_data.val());
        for i in 0..5 {
            self.lane_bit[i].next = ((self.number[i].val()
                - (bit_cast::<8, 3>(self.reached.q.val()) & self.shifted.val()))
                & self.lane_mask.val())
                << 5;
            self.dword[i].next = self
                .near
                .val()
                .get_bits::<32>(self.lane_bit[i].val().index());
            if self.plain.val().valid & self.plain.val().first {
                self.header[i].d.next = 0.into();
            }
            if self.plain.val().valid & self.fills.val().get_bit(i) {
                self.header[i].d.next = (self.dword[i].val() << 24)
                    | ((self.dword[i].val() & self.octet_1.val()) << 8)
                    | ((self.dword[i].val() >> 8) & self.octet_1.val())
                    | (self.dword[i].val() >> 24);
            }
        }

        comment!("the `DdpSegment`, with the beat that ends the header");
        self.whole.d.next = self.plain.val().valid & self.complete.val() & !self.through.val();
        self.starts.m_ready.next = self.whole.q.val();
        self.segment.next.stream = self.starts.m_data.val().stream;
        self.segment.next.position = self.starts.m_data.val().position;
        self.segment.next.row = self.starts.m_data.val().row;
        self.segment.next.rows = self.starts.m_data.val().rows;
        self.segment.next.crc = self.starts.m_data.val().crc;
        self.segment.next.refused = self.starts.m_data.val().refused;
        self.segment.next.ulpdu = self.starts.m_data.val().ulpdu;
        self.segment.next.ahead = self.starts.m_data.val().ahead;
        self.segment.next.placed = self.starts.m_data.val().placed;
        self.segment.next.header_0 = self.header[0].q.val();
        self.segment.next.header_1 = self.header[1].q.val();
        self.segment.next.header_2 = self.header[2].q.val();
        self.segment.next.header_3 = self.header[3].q.val();
        self.segment.next.header_4 = self.header[4].q.val();
        self.segment_valid.next = self.whole.q.val();
        if self.reset.val() {
            self.plain_1.d.next.valid = false;
            self.whole.d.next = false;
            self.index.d.next = self.zero.val();
            self.reached.d.next = 0.into();
        }
    }
}
