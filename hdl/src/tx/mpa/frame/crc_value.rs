//! CRC value: the CRC of an FPDU from the register that the CRC unit has behind it.
//!
//! ```text
//!  register ─►[/ x^32 or x^64]─►[as it is, or / x^64]─►[as it is, or / x^128]─► … ─►[not]─► CRC
//!  zeros ────────── bit 0 ─────────── bit 1 ─────────────── bit 2 ─ …
//! ```
//!
//! The register covers, behind the octets that the CRC is for, the CRC field, which is zero so far, and the dwords of
//! zeros that fill the last beat. A dword of zeros multiplies the register by x^32; multiplication by a power of x is
//! one to one and linear, so that it is undone by a network, in powers of two of the number of dwords.
//!
//! Throughput: one a cycle, free running. Latency: [`latency`] cycles. No reset: the neighbour keeps the valid bit.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use crate::parts::crc_register::retreat;
use crate::parts::delay::Delay;
use crate::parts::xor_network::{self, XorNetwork};
use rust_hdl_core::prelude::*;
use warpline_sv_writer::{Block, comment};
use warpline_wire::crc;

/// Bits of a CRC.
const BITS: usize = 8 * crc::LEN;

/// Cycles from a register to the CRC, for beats of `dwords`.
#[must_use]
pub const fn latency(dwords: usize) -> usize {
    dwords.ilog2() as usize * xor_network::latency(BITS)
}

/// For beats of 2^LOGD dwords.
#[derive(Block)]
#[block(networks: [XorNetwork<32, 64>; LOGD], bits: [Delay<Bits<4>>; LOGD])]
pub struct CrcValue<const LOGD: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Register behind the CRC field and the zeros.
    pub register: Signal<In, Bits<32>>,
    /// Dwords of zeros behind the CRC field.
    pub zeros: Signal<In, Bits<4>>,
    /// The CRC, first octet on the wire in the lowest bits.
    pub value: Signal<Out, Bits<32>>,
    /// Each makes both results of its stage.
    #[value(networks)]
    networks: [XorNetwork<32, 64>; LOGD],
    #[value(bits)]
    bits: [Delay<Bits<4>>; LOGD],
    chosen: [Signal<Local, Bits<32>>; LOGD],
}

impl<const LOGD: usize> Default for CrcValue<LOGD> {
    fn default() -> Self {
        assert!((1..=4).contains(&LOGD), "2 to 16 dwords, not 2^{LOGD}");
        let networks = std::array::from_fn(|stage| XorNetwork::new(columns(stage)));
        let bits = std::array::from_fn(|_| Delay::new(xor_network::latency(BITS)));
        Self::assemble(networks, bits)
    }
}

/// What each bit contributes to the result for a zero bit of the number of zeros, and above it to that for a one.
fn columns(stage: usize) -> Vec<Bits<64>> {
    let field = if stage == 0 { BITS } else { 0 };
    let column = |bit| {
        let without = retreat(1_u32 << bit, field);
        let with = retreat(without, BITS << stage);
        (u64::from(with) << BITS | u64::from(without)).into()
    };
    (0..BITS).map(column).collect()
}

impl<const LOGD: usize> Logic for CrcValue<LOGD> {
    #[hdl_gen]
    fn update(&mut self) {
        for i in 0..LOGD {
            if i == 0 {
                self.networks[i].data.next = self.register.val();
                self.bits[i].d.next = self.zeros.val();
            } else {
                self.networks[i].data.next = self.chosen[i - 1].val();
                self.bits[i].d.next = self.bits[i - 1].q.val();
            }
            self.chosen[i].next = self.networks[i].out.val().get_bits::<32>(0);
            if self.bits[i].q.val().get_bit(i) {
                self.chosen[i].next = self.networks[i].out.val().get_bits::<32>(32);
            }
        }
        comment!("the register's complement is the CRC (MPA-CRC-12)");
        for last in (LOGD - 1)..LOGD {
            self.value.next = !self.chosen[last].val();
        }
    }
}
