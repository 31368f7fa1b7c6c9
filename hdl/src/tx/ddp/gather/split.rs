//! Split: reads a range of host memory in bursts.
//!
//! ```text
//!  ReadRange ─► blocks of the range, one a cycle ─┬─► queue ─► AR
//!                                                 └─► beats of the burst ─► answers
//! ```
//!
//! A burst ends where the address is a multiple of [`burst_block`], so it neither crosses 4 KiB nor has more than 256 beats
//! (IHI 0022E §A3.4.1). It begins and ends with the beats that hold the range's first and last octet. Addresses go on by a
//! number of blocks below 2^32 and a carry into the high half, which a range crosses at most once.
//!
//! Throughput: one burst a cycle, also from range to range. Latency: [`LATENCY`] cycles from a range to its first address.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use crate::parts::axi::{ReadAddress, burst_block};
use crate::parts::queue::Queue;
use crate::tx::ddp::gather::measure::ReadRange;
use rust_hdl_core::prelude::*;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, comment};

/// Cycles from a range to its first address.
pub const LATENCY: usize = 2;

/// For beats of 2^LOGK octets.
#[derive(Block)]
#[block(octets: usize)]
pub struct Split<const LOGK: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, Bit>,
    /// A range to read.
    pub range: Signal<In, ReadRange>,
    /// It is taken; only while `free` is high.
    pub take: Signal<In, Bit>,
    /// A range can be taken.
    pub free: Signal<Out, Bit>,
    /// Beats of a burst less one.
    pub burst: Signal<Out, Bits<8>>,
    /// They are valid.
    pub burst_valid: Signal<Out, Bit>,
    /// They are accepted.
    pub burst_ready: Signal<In, Bit>,
    /// Address of a burst.
    pub address: Signal<Out, ReadAddress>,
    /// It is valid.
    pub address_valid: Signal<Out, Bit>,
    /// It is accepted.
    pub address_ready: Signal<In, Bit>,

    active: Dff<Bit>,
    high: Dff<Bits<32>>,
    high_next: Dff<Bits<32>>,
    block_number: Dff<Bits<32>>,
    blocks_left: Dff<Bits<8>>,
    last_block: Dff<Bit>,
    /// First beat of the next burst in its block.
    from: Dff<Bits<8>>,
    last_beat: Dff<Bits<8>>,
    addresses: Queue<ReadAddress, 1>,

    emit: Signal<Local, Bit>,
    to: Signal<Local, Bits<8>>,
    low: Signal<Local, Bits<32>>,
    upper: Signal<Local, Bits<32>>,
    end_block: Signal<Local, Bits<8>>,
    #[constant(LOGK)]
    lane_bits: Constant<Bits<8>>,
    #[constant(burst_block(octets).ilog2())]
    block_bits: Constant<Bits<8>>,
    #[constant(burst_block(octets) - 1)]
    block_mask: Constant<Bits<32>>,
    #[constant(burst_block(octets) - 1)]
    block_mask_17: Constant<Bits<17>>,
    #[constant(1_u64 << (32 - burst_block(octets).ilog2()))]
    carry: Constant<Bits<32>>,
    #[constant(burst_block(octets) / octets - 1)]
    last_of_block: Constant<Bits<8>>,
}

impl<const LOGK: usize> Default for Split<LOGK> {
    fn default() -> Self {
        assert!((3..=6).contains(&LOGK), "8 to 64 octets, not 2^{LOGK}");
        Self::assemble(1 << LOGK)
    }
}

impl<const LOGK: usize> Logic for Split<LOGK> {
    #[hdl_gen]
    fn update(&mut self) {
        self.addresses.reset.next = self.reset.val();
        self.emit.next =
            self.active.q.val() & self.addresses.s_ready.val() & self.burst_ready.val();
        self.free.next = !self.active.q.val() | (self.emit.val() & self.last_block.q.val());

        comment!("a block: from the range's first beat, to its last one");
        self.to.next = self.last_of_block.val();
        if self.last_block.q.val() {
            self.to.next = self.last_beat.q.val();
        }
        self.low.next = (self.block_number.q.val() << self.block_bits.val())
            | (bit_cast::<32, 8>(self.from.q.val()) << self.lane_bits.val());
        self.upper.next = self.high.q.val();
        if (self.block_number.q.val() & self.carry.val()).any() {
            self.upper.next = self.high_next.q.val();
        }
        self.addresses.s_data.next.address =
            bit_cast::<64, 32>(self.low.val()) | (bit_cast::<64, 32>(self.upper.val()) << 32);
        self.addresses.s_data.next.length = self.to.val() - self.from.q.val();
        self.addresses.s_valid.next = self.active.q.val() & self.burst_ready.val();
        self.burst.next = self.to.val() - self.from.q.val();
        self.burst_valid.next = self.active.q.val() & self.addresses.s_ready.val();
        self.address.next = self.addresses.m_data.val();
        self.address_valid.next = self.addresses.m_valid.val();
        self.addresses.m_ready.next = self.address_ready.val();

        comment!("the next block");
        self.end_block.next = bit_cast::<8, 17>(self.range.val().last >> self.block_bits.val());
        if self.emit.val() {
            self.active.d.next = !self.last_block.q.val();
            self.from.d.next = 0.into();
            self.block_number.d.next = self.block_number.q.val() + 1;
            self.blocks_left.d.next = self.blocks_left.q.val() - 1;
            self.last_block.d.next = self.blocks_left.q.val() == 1;
        }
        if self.take.val() {
            self.active.d.next = true;
            self.high.d.next = self.range.val().high;
            self.high_next.d.next = self.range.val().high_next;
            self.block_number.d.next = self.range.val().low >> self.block_bits.val();
            self.blocks_left.d.next = self.end_block.val();
            self.last_block.d.next = !self.end_block.val().any();
            self.from.d.next = bit_cast::<8, 32>(
                (self.range.val().low & self.block_mask.val()) >> self.lane_bits.val(),
            );
            self.last_beat.d.next = bit_cast::<8, 17>(
                (self.range.val().last & self.block_mask_17.val()) >> self.lane_bits.val(),
            );
        }
        if self.reset.val() {
            self.active.d.next = false;
        }
    }
}
