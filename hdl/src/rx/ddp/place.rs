//! Place: writes the payload of verified FPDUs to host memory.
//!
//! ```text
//!  Placement ─► measure ─► queue ─► split ──► addresses ────────────────► AW
//!                                        │
//!                                        └─┬─► spans ─┬─► read ─► commit buffer ─► rotate ─► beats ─► W
//!                                          └──────────┘ when it is empty
//!  Delivery ──► queue ────────► number ─► deliver  └─► rows to release
//! ```
//!
//! The octets of bus beat b lie in the commit buffer from octet `row·K + skip − (address mod K) + b·K` on: in two
//! rows, rotated by the same number of lanes in all beats of the FPDU. Octets in front of the payload and behind it
//! are read, too, and masked by the strobes of the first and the last beat, so that no other octet of memory changes
//! (AMB-41 and every check of a region's end depend on that).
//!
//! A burst ends where the address is a multiple of [`block()`], so it neither crosses 4 KiB nor has more than 256 beats
//! (IHI 0022E §A3.4.1). `split` then needs only the offset of the first octet in its block and that of the last one
//! in the following blocks: one addition for each FPDU, and a counter of blocks.
//!
//! A Delivery goes to `deliver` before the first burst of its FPDU, together with the running number of the FPDU's
//! last burst. So `deliver` knows the FPDU of every response, and it stalls this block when it holds too many FPDUs.
//!
//! Latency from `s_valid` to the first beat: 6 cycles and the latency of the rotator. Throughput: one beat a cycle,
//! without gaps between bursts and between FPDUs, even those of one beat; an FPDU without payload takes a cycle.
//! `measure` never stalls: an FPDU is accepted when the queue behind it has room, according to a register. AW runs up
//! to 8 bursts ahead of W, and W does not depend on AW. The queue of beats holds the commit buffer's data while W is
//! stalled: a read starts only when the queue has room for it.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use crate::Config;
pub use crate::parts::axi::burst_block as block;
use crate::parts::axi::{WriteAddress, WriteRequestOut};
use crate::parts::delay::Delay;
use crate::parts::lane_mask::LaneMask;
use crate::parts::lane_ram;
use crate::parts::queue::Queue;
use crate::parts::rotate::{self, Rotate};
use crate::records::{Delivery, Placement};
use rust_hdl_core::prelude::*;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, Record, comment};

/// The beats of one burst, or an FPDU without payload.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct Span {
    /// Beats less one.
    pub length: Bits<8>,
    /// First burst of its FPDU.
    pub first: Bit,
    /// Last burst of its FPDU.
    pub last: Bit,
    /// No beats: rows to release only.
    pub empty: Bit,
    /// Row of the commit buffer that holds the octet for lane 0 of the FPDU's first beat.
    pub row: Bits<16>,
    /// Its lane there.
    pub lane: Bits<8>,
    /// First lane to write in the FPDU's first beat.
    pub from: Bits<8>,
    /// Lane behind the last one to write in the FPDU's last beat.
    pub to: Bits<8>,
    /// Rows to release behind the FPDU.
    pub rows: Bits<16>,
}

/// An FPDU in the form that `split` uses.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct Extent {
    /// No payload.
    pub empty: Bit,
    /// First row of the FPDU in the commit buffer.
    pub row: Bits<16>,
    /// From there to the octet for lane 0 of the first beat, which may lie in front of it.
    pub shift: Bits<24>,
    /// Rows to release behind the FPDU.
    pub rows: Bits<16>,
    /// Address of the first payload octet, high half.
    pub high: Bits<32>,
    /// The same plus one.
    pub high_next: Bits<32>,
    /// Low half.
    pub low: Bits<32>,
    /// Offset of the last payload octet, counted from the start of the first block.
    pub last: Bits<17>,
}

/// Side information of a beat.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct PayloadBeat {
    /// The beat is valid.
    pub valid: Bit,
    /// First lane to write.
    pub from: Bits<8>,
    /// Lane behind the last one to write.
    pub to: Bits<8>,
    /// Last beat of its burst.
    pub last: Bit,
}

/// Placement in beats of W bits, K = 2^LOGK octets.
#[derive(Block)]
#[block(rows: usize)]
pub struct Place<const W: usize, const K: usize, const LOGK: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset, held for at least 16 cycles.
    pub reset: Signal<In, Bit>,
    /// Where the payload of an FPDU lies, and where it goes.
    pub s_placement: Signal<In, Placement>,
    /// The Delivery of that FPDU.
    pub s_delivery: Signal<In, Delivery>,
    /// Both are valid.
    pub s_valid: Signal<In, Bit>,
    /// They are accepted.
    pub s_ready: Signal<Out, Bit>,
    /// Commit buffer: row of the lanes whose select bit is zero.
    pub read_row_0: Signal<Out, Bits<16>>,
    /// Commit buffer: row of the lanes whose select bit is one.
    pub read_row_1: Signal<Out, Bits<16>>,
    /// Commit buffer: which row, one bit a lane.
    pub read_select: Signal<Out, Bits<K>>,
    /// Commit buffer: the octets, two cycles after the rows.
    pub read_data: Signal<In, Bits<W>>,
    /// Pulse: the rows of the next FPDU have been read.
    pub release_valid: Signal<Out, Bit>,
    /// How many they are.
    pub release_rows: Signal<Out, Bits<16>>,
    /// Write bursts; their responses go to `deliver`.
    pub m_axi: WriteRequestOut<W, K>,
    /// Delivery of the FPDU whose bursts come next.
    pub m_delivery: Signal<Out, Delivery>,
    /// Number of bursts up to and including its last one, modulo 2^16.
    pub m_issued: Signal<Out, Bits<16>>,
    /// Both are valid.
    pub m_valid: Signal<Out, Bit>,
    /// They are accepted.
    pub m_ready: Signal<In, Bit>,

    deliveries: Queue<Delivery, 3>,

    extents: Queue<Extent, 3>,
    loaded: Dff<Bit>,
    before_split: Dff<Bits<4>>,
    room: Dff<Bit>,

    // split: a burst a cycle
    split_valid: Dff<Bit>,
    split: Dff<Span>,
    high: Dff<Bits<32>>,
    high_next: Dff<Bits<32>>,
    block_number: Dff<Bits<32>>,
    blocks_left: Dff<Bits<8>>,
    last_block: Dff<Bit>,
    first_beat: Dff<Bits<8>>,
    last_beat: Dff<Bits<8>>,
    issued: Dff<Bits<16>>,
    handing: Dff<Bit>,

    addresses: Queue<WriteAddress, 3>,
    spans: Queue<Span, 3>,

    // reading: a beat a cycle, whose rows are at the commit buffer
    reading: Dff<Bit>,
    now: Dff<Span>,
    left: Dff<Bits<8>>,
    at_last: Dff<Bit>,
    at_first: Dff<Bit>,
    row: Dff<Bits<16>>,
    next_row: Dff<Bits<16>>,
    select: Dff<Bits<K>>,
    under_way: Dff<Bits<8>>,
    wrapped: LaneMask<K, K>,
    freed: Dff<Bit>,
    freed_rows: Dff<Bits<16>>,

    #[value(Delay::new(lane_ram::LATENCY + rotate::latency(K)))]
    side: Delay<PayloadBeat>,
    #[value(Delay::new(lane_ram::LATENCY))]
    amount: Delay<Bits<LOGK>>,
    rotate: Rotate<W, K, LOGK>,
    strobes: LaneMask<K, K>,
    beat_data: Queue<Bits<W>, 4>,
    beat_strobes: Queue<Bits<K>, 4>,
    beat_last: Queue<Bit, 4>,

    take: Signal<Local, Bit>,
    extent: Signal<Local, Extent>,
    load: Signal<Local, Bit>,
    emit: Signal<Local, Bit>,
    done: Signal<Local, Bit>,
    low_address: Signal<Local, Bits<32>>,
    in_block: Signal<Local, Bits<32>>,
    end_in_block: Signal<Local, Bits<17>>,
    end_block: Signal<Local, Bits<17>>,
    beat_from: Signal<Local, Bits<8>>,
    beat_to: Signal<Local, Bits<8>>,
    low: Signal<Local, Bits<32>>,
    address: Signal<Local, WriteAddress>,
    span: Signal<Local, Span>,
    head: Signal<Local, Span>,
    asked: Signal<Local, PayloadBeat>,
    go: Signal<Local, Bit>,
    ask: Signal<Local, Bit>,
    over: Signal<Local, Bit>,
    free: Signal<Local, Bit>,
    passes: Signal<Local, Bit>,
    fetch: Signal<Local, Bit>,
    pop: Signal<Local, Bit>,
    #[constant(LOGK)]
    lane_bits: Constant<Bits<8>>,
    #[constant(block(K).ilog2())]
    block_bits: Constant<Bits<8>>,
    #[constant(K - 1)]
    lane_mask: Constant<Bits<32>>,
    #[constant(block(K) - 1)]
    block_mask: Constant<Bits<32>>,
    #[constant(block(K) - 1)]
    block_mask_17: Constant<Bits<17>>,
    #[constant(K - 1)]
    lane_mask_17: Constant<Bits<17>>,
    #[constant(1_u64 << (32 - block(K).ilog2()))]
    carry: Constant<Bits<32>>,
    #[constant(block(K) / K - 1)]
    last_of_block: Constant<Bits<8>>,
    #[constant(K)]
    lanes: Constant<Bits<8>>,
    #[constant(rows - 1)]
    row_mask: Constant<Bits<16>>,
    #[constant(0)]
    none: Constant<Bits<8>>,
}

impl<const W: usize, const K: usize, const LOGK: usize> Place<W, K, LOGK> {
    /// Placement from the commit buffer of `config`.
    ///
    /// # Panics
    /// When W, K and LOGK do not fit together, or the commit buffer is no power of two up to 2^16 rows.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        assert!(
            W == 8 * K && K == 1 << LOGK && (8..=64).contains(&K),
            "8 to 64 octet lanes"
        );
        let rows = config.commit_octets / K;
        assert!(
            rows.is_power_of_two() && rows <= 1 << 16,
            "{rows} rows: give a power of two up to 2^16"
        );
        Self::assemble(rows)
    }
}

impl<const W: usize, const K: usize, const LOGK: usize> Logic for Place<W, K, LOGK> {
    #[hdl_gen]
    fn update(&mut self) {
        self.extents.reset.next = self.reset.val();
        self.deliveries.reset.next = self.reset.val();
        self.addresses.reset.next = self.reset.val();
        self.spans.reset.next = self.reset.val();
        self.beat_data.reset.next = self.reset.val();
        self.beat_strobes.reset.next = self.reset.val();
        self.beat_last.reset.next = self.reset.val();

        comment!(
            "input: a Placement goes ahead, its Delivery follows when the bursts are counted; room for one is room for the other"
        );
        self.s_ready.next = self.room.q.val();
        self.take.next = self.s_valid.val() & self.room.q.val();
        self.deliveries.s_data.next = self.s_delivery.val();
        self.deliveries.s_valid.next = self.s_valid.val() & self.room.q.val();

        comment!("split accepts the next FPDU with the last burst of the previous one");
        self.emit.next = self.split_valid.q.val()
            & (!self.handing.q.val() | self.m_ready.val())
            & self.addresses.s_ready.val()
            & self.spans.s_ready.val();
        self.done.next = self.emit.val() & self.last_block.q.val();
        self.load.next = self.extents.m_valid.val() & (!self.split_valid.q.val() | self.done.val());
        comment!(
            "room is counted a cycle later, because `load` arrives late; the queue has room for that"
        );
        self.loaded.d.next = self.load.val();
        if self.take.val() & !self.loaded.q.val() {
            self.before_split.d.next = self.before_split.q.val() + 1;
        }
        if !self.take.val() & self.loaded.q.val() {
            self.before_split.d.next = self.before_split.q.val() - 1;
        }
        self.room.d.next = self.before_split.q.val() < 5;

        comment!(
            "measure: from lane 0 of the first beat to the FPDU's octet that belongs there, negative or not; offset of the last octet, counted from the first block's start"
        );
        self.low_address.next = self.s_placement.val().address.get_bits::<32>(0);
        self.in_block.next = self.low_address.val() & self.block_mask.val();
        self.extents.s_data.next.empty = !self.s_placement.val().length.any();
        self.extents.s_data.next.row = self.s_placement.val().row;
        self.extents.s_data.next.shift = bit_cast::<24, 8>(self.s_placement.val().skip)
            - (self.low_address.val() & self.lane_mask.val()).get_bits::<24>(0);
        self.extents.s_data.next.rows = self.s_placement.val().rows;
        self.extents.s_data.next.high = self.s_placement.val().address.get_bits::<32>(32);
        self.extents.s_data.next.high_next = self.s_placement.val().address.get_bits::<32>(32) + 1;
        self.extents.s_data.next.low = self.low_address.val();
        self.extents.s_data.next.last = self.in_block.val().get_bits::<17>(0)
            + bit_cast::<17, 16>(self.s_placement.val().length)
            - 1;
        self.extents.s_valid.next = self.take.val();
        self.extents.m_ready.next = self.load.val();
        self.extent.next = self.extents.m_data.val();

        comment!(
            "number: the FPDU's last burst, handed over with its Delivery before the first burst leaves"
        );
        self.m_delivery.next = self.deliveries.m_data.val();
        self.m_issued.next = self.issued.q.val();
        self.m_valid.next = self.handing.q.val();
        self.deliveries.m_ready.next = self.handing.q.val() & self.m_ready.val();
        if self.m_ready.val() {
            self.handing.d.next = false;
        }
        self.end_block.next = self.extent.val().last >> self.block_bits.val();

        comment!("split: a block a cycle");
        self.beat_from.next = 0.into();
        if self.split.q.val().first {
            self.beat_from.next = self.first_beat.q.val();
        }
        self.beat_to.next = self.last_of_block.val();
        if self.last_block.q.val() {
            self.beat_to.next = self.last_beat.q.val();
        }
        self.low.next = (self.block_number.q.val() << self.block_bits.val())
            | (bit_cast::<32, 8>(self.beat_from.val()) << self.lane_bits.val());
        self.address.next.address =
            bit_cast::<64, 32>(self.low.val()) | (bit_cast::<64, 32>(self.high.q.val()) << 32);
        if (self.block_number.q.val() & self.carry.val()).any() {
            self.address.next.address = bit_cast::<64, 32>(self.low.val())
                | (bit_cast::<64, 32>(self.high_next.q.val()) << 32);
        }
        self.address.next.length = self.beat_to.val() - self.beat_from.val();
        self.span.next = self.split.q.val();
        self.span.next.length = self.beat_to.val() - self.beat_from.val();
        self.span.next.last = self.last_block.q.val();
        self.addresses.s_data.next = self.address.val();
        self.addresses.s_valid.next = self.emit.val() & !self.split.q.val().empty;
        self.spans.s_data.next = self.span.val();
        if self.emit.val() {
            self.split.d.next.first = false;
            self.block_number.d.next = self.block_number.q.val() + 1;
            self.blocks_left.d.next = self.blocks_left.q.val() - 1;
            self.last_block.d.next = self.blocks_left.q.val() == 1;
        }
        if self.done.val() {
            self.split_valid.d.next = false;
        }
        self.end_in_block.next = self.extent.val().last & self.block_mask_17.val();
        if self.load.val() {
            self.split_valid.d.next = true;
            self.handing.d.next = true;
            self.split.d.next.first = true;
            self.split.d.next.empty = self.extent.val().empty;
            self.split.d.next.row = self.extent.val().row
                + (self.extent.val().shift >> self.lane_bits.val()).get_bits::<16>(0);
            self.split.d.next.lane =
                bit_cast::<8, LOGK>(self.extent.val().shift.get_bits::<LOGK>(0));
            self.split.d.next.rows = self.extent.val().rows;
            self.split.d.next.from =
                bit_cast::<8, 32>(self.extent.val().low & self.lane_mask.val());
            self.split.d.next.to =
                bit_cast::<8, 17>(self.extent.val().last & self.lane_mask_17.val()) + 1;
            self.high.d.next = self.extent.val().high;
            self.high_next.d.next = self.extent.val().high_next;
            self.block_number.d.next = self.extent.val().low >> self.block_bits.val();
            self.first_beat.d.next = bit_cast::<8, 32>(
                (self.extent.val().low & self.block_mask.val()) >> self.lane_bits.val(),
            );
            self.last_beat.d.next =
                bit_cast::<8, 17>(self.end_in_block.val() >> self.lane_bits.val());
            self.blocks_left.d.next = bit_cast::<8, 17>(self.end_block.val());
            self.last_block.d.next = self.extent.val().empty | !self.end_block.val().any();
            self.issued.d.next = self.issued.q.val() + bit_cast::<16, 17>(self.end_block.val()) + 1;
            if self.extent.val().empty {
                self.blocks_left.d.next = 0.into();
                self.issued.d.next = self.issued.q.val();
            }
        }

        comment!("AW");
        self.m_axi.awaddr.next = self.addresses.m_data.val().address;
        self.m_axi.awlen.next = self.addresses.m_data.val().length;
        self.m_axi.awvalid.next = self.addresses.m_valid.val();
        self.addresses.m_ready.next = self.m_axi.awready.val();

        comment!("read: a beat a cycle while the queue of beats has room for what is under way");
        self.go.next =
            self.reading.q.val() & (self.now.q.val().empty | !self.under_way.q.val().get_bit(4));
        self.ask.next = self.go.val() & !self.now.q.val().empty;
        self.over.next = self.go.val() & (self.now.q.val().empty | self.at_last.q.val());
        self.free.next = !self.reading.q.val() | self.over.val();
        self.passes.next = self.free.val() & !self.spans.m_valid.val();
        self.fetch.next = self.free.val() & (self.spans.m_valid.val() | self.emit.val());
        self.spans.s_valid.next = self.emit.val() & !self.passes.val();
        self.spans.m_ready.next = self.free.val();
        self.head.next = self.span.val();
        if self.spans.m_valid.val() {
            self.head.next = self.spans.m_data.val();
        }
        self.wrapped.from.next = self.none.val();
        self.wrapped.to.next = self.head.val().lane;
        if self.ask.val() {
            self.left.d.next = self.left.q.val() - 1;
            self.at_last.d.next = self.left.q.val() == 1;
            self.at_first.d.next = false;
            self.row.d.next = self.next_row.q.val();
            self.next_row.d.next = self.next_row.q.val() + 1;
        }
        if self.over.val() {
            self.reading.d.next = false;
        }
        if self.fetch.val() {
            self.reading.d.next = true;
            self.now.d.next = self.head.val();
            self.left.d.next = self.head.val().length;
            self.at_last.d.next = !self.head.val().length.any();
            if self.head.val().first {
                self.at_first.d.next = true;
                self.row.d.next = self.head.val().row;
                self.next_row.d.next = self.head.val().row + 1;
                self.select.d.next = self.wrapped.mask.val();
            }
        }
        self.freed.d.next = self.over.val() & self.now.q.val().last;
        self.freed_rows.d.next = self.now.q.val().rows;
        self.release_valid.next = self.freed.q.val();
        self.release_rows.next = self.freed_rows.q.val();

        comment!("read addresses: lanes below the rotation belong to the next row");
        self.read_row_0.next = self.row.q.val() & self.row_mask.val();
        self.read_row_1.next = self.next_row.q.val() & self.row_mask.val();
        self.read_select.next = self.select.q.val();
        self.asked.next.valid = self.ask.val();
        self.asked.next.last = self.at_last.q.val();
        self.asked.next.from = 0.into();
        if self.at_first.q.val() {
            self.asked.next.from = self.now.q.val().from;
        }
        self.asked.next.to = self.lanes.val();
        if self.now.q.val().last & self.at_last.q.val() {
            self.asked.next.to = self.now.q.val().to;
        }

        comment!("rotate and mask");
        self.amount.d.next = self.now.q.val().lane.get_bits::<LOGK>(0);
        self.side.d.next = self.asked.val();
        self.rotate.data.next = self.read_data.val();
        self.rotate.amount.next = self.amount.q.val();
        self.strobes.from.next = self.side.q.val().from;
        self.strobes.to.next = self.side.q.val().to;
        self.beat_data.s_data.next = self.rotate.out.val();
        self.beat_strobes.s_data.next = self.strobes.mask.val();
        self.beat_last.s_data.next = self.side.q.val().last;
        self.beat_data.s_valid.next = self.side.q.val().valid;
        self.beat_strobes.s_valid.next = self.side.q.val().valid;
        self.beat_last.s_valid.next = self.side.q.val().valid;

        comment!("W");
        self.m_axi.wdata.next = self.beat_data.m_data.val();
        self.m_axi.wstrb.next = self.beat_strobes.m_data.val();
        self.m_axi.wlast.next = self.beat_last.m_data.val();
        self.m_axi.wvalid.next = self.beat_data.m_valid.val();
        self.beat_data.m_ready.next = self.m_axi.wready.val();
        self.beat_strobes.m_ready.next = self.m_axi.wready.val();
        self.beat_last.m_ready.next = self.m_axi.wready.val();
        self.pop.next = self.beat_data.m_valid.val() & self.m_axi.wready.val();
        if self.ask.val() & !self.pop.val() {
            self.under_way.d.next = self.under_way.q.val() + 1;
        }
        if !self.ask.val() & self.pop.val() {
            self.under_way.d.next = self.under_way.q.val() - 1;
        }

        if self.reset.val() {
            self.loaded.d.next = false;
            self.before_split.d.next = 0.into();
            self.room.d.next = false;
            self.split_valid.d.next = false;
            self.handing.d.next = false;
            self.issued.d.next = 0.into();
            self.reading.d.next = false;
            self.freed.d.next = false;
            self.under_way.d.next = 0.into();
        }
    }
}
