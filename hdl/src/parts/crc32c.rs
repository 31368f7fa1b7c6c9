//! CRC32C of FPDUs, one beat a cycle (RFC 5044 §4.4).
//!
//! ```text
//!  data ─►[lanes below count]─►[M·D: XOR network]─►[X' = x·X + M·D]─►[S = X^W: XOR network]─►[S = residue?]─► verdict
//!                  └──►[last dword]──────────────────── delayed ────────────────────────────►
//! ```
//!
//! Throughput: one beat a cycle; an FPDU may begin in the cycle behind the last beat of another, and may have idle
//! cycles in it. Latency: [`latency`]`(W)` cycles from an FPDU's last beat to its verdict, exactly one for each FPDU.
//! Assumes that all beats but the last are full. Hold `reset` for as many cycles.
//!
//! **The loop.** In words of [`crc_register`](crate::parts::crc_register), a beat takes the register S to
//! S' = x^W·S + Σ x^(W-32j)·dword_j. The sum has no memory and is pipelined at will; x^W·S would be 32 sums of about 16
//! bits in a single cycle. But W is a power of two, and raising to the power W is linear and one to one. So the block
//! keeps X, the W-th root of S: X^W = S. Then (x·X)^W = x^W·S, and the loop only multiplies by x, one two-input XOR. The
//! roots of the dwords' columns are taken when the table of the first network is made; the second network raises X to
//! the power W again, outside the loop.
//!
//! **The last beat.** If it lacks m dwords, the network sees zeros there, and S is the register behind the FPDU and m
//! dwords of zeros. These are not undone: a CRC is correct exactly when the register behind the CRC field is the
//! residue R (MPA-CRC-24), that is, when S = x^(32m)·R modulo the generator. That is one of D constants. The driver
//! undoes the zeros when it reports a wrong CRC ([`expected`](warpline_wire::crc::expected)).
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use crate::parts::crc_register::{POLYNOMIAL, PRESET, RESIDUE, SQUARINGS, advance, squared};
use crate::parts::delay::Delay;
use crate::parts::lane_mask::LaneMask;
use crate::parts::xor_network::{self, XorNetwork};
use crate::records::CrcVerdict;
use rust_hdl_core::prelude::*;
use warpline_sv_writer::dff::Dff;
use warpline_sv_writer::{Block, Record, comment};

/// Cycles from the last beat of an FPDU to its verdict, for beats of `width` bits.
#[must_use]
pub const fn latency(width: usize) -> usize {
    // beat, network, loop, power, verdict
    1 + xor_network::latency(width) + 1 + xor_network::latency(32) + 1
}

/// Side information of a beat.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
struct CrcBeat {
    /// The beat is valid.
    valid: Bit,
    /// First beat of its FPDU.
    first: Bit,
    /// Last beat of its FPDU.
    last: Bit,
    /// Dwords of zeros behind the FPDU's last dword in this beat.
    zeros: Bits<4>,
}

/// Side information of a finished register.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
struct CrcFinished {
    /// There is one.
    valid: Bit,
    /// Dwords of zeros that it covers behind the FPDU.
    zeros: Bits<4>,
    /// CRC field of the FPDU.
    received: Bits<32>,
}

/// The CRC unit for beats of W bits, D dwords.
#[derive(Block)]
#[block()]
pub struct Crc32c<const W: usize, const D: usize> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Drops everything under way.
    pub reset: Signal<In, Bit>,
    /// Octets of a beat, the first one in lane 0.
    pub data: Signal<In, Bits<W>>,
    /// The beat is valid.
    pub valid: Signal<In, Bit>,
    /// It is the first of an FPDU.
    pub first: Signal<In, Bit>,
    /// It is the last of an FPDU, and ends with the CRC field.
    pub last: Signal<In, Bit>,
    /// Dwords in the beat, 1 to D; D unless it is the last. Lanes above are ignored.
    pub count: Signal<In, Bits<5>>,
    /// Verdict about the FPDU.
    pub verdict: Signal<Out, CrcVerdict>,
    /// The verdict is valid.
    pub verdict_valid: Signal<Out, Bit>,

    // beat: lanes behind the last dword cleared
    filled: LaneMask<W, D>,
    beat_data: Dff<Bits<W>>,
    beat: Dff<CrcBeat>,
    missing: Signal<Local, Bits<5>>,
    #[constant(D)]
    dwords: Constant<Bits<5>>,
    // its last dword
    count_less_one: Signal<Local, Bits<5>>,
    last_dword: Dff<Bits<4>>,
    last_bit: Signal<Local, Bits<9>>,
    field: Dff<Bits<32>>,
    #[value(Delay::new(xor_network::latency(W) - 1))]
    field_delayed: Delay<Bits<32>>,
    // loop
    #[value(XorNetwork::new(columns(W, |bit| root(advance(1 << (bit % 32), W - bit / 32 * 32), W))))]
    network: XorNetwork<W, 32>,
    #[value(Delay::new(xor_network::latency(W)))]
    summed: Delay<CrcBeat>,
    root: Dff<Bits<32>>,
    entering: Signal<Local, Bits<32>>,
    stepped: Signal<Local, Bits<32>>,
    #[constant(bits_of(root(PRESET, W)))]
    preset: Constant<Bits<32>>,
    #[constant(bits_of(POLYNOMIAL))]
    polynomial: Constant<Bits<32>>,
    // register
    #[value(XorNetwork::new(columns(32, |bit| squared(1 << bit, squarings(W)))))]
    power: XorNetwork<32, 32>,
    #[value(Delay::new(1 + xor_network::latency(32)))]
    finished: Delay<CrcFinished>,
    residue: Signal<Local, Bits<32>>,
    #[constant(|zeros| zeros)]
    zeros: [Constant<Bits<4>>; D],
    #[constant(|zeros| bits_of(advance(RESIDUE, 32 * zeros)))]
    residues: [Constant<Bits<32>>; D],
    // verdict
    reported: Dff<CrcVerdict>,
    reported_valid: Dff<Bit>,
}

impl<const W: usize, const D: usize> Default for Crc32c<W, D> {
    /// # Panics
    /// When W is not 32·D, or no power of two from 64 to 512.
    fn default() -> Self {
        assert!(
            W == 32 * D && W.is_power_of_two() && (64..=512).contains(&W),
            "{W} bits of {D} dwords"
        );
        Self::assemble()
    }
}

/// Squarings that raise to the power `width`.
fn squarings(width: usize) -> usize {
    width.ilog2() as usize
}

/// The `width`-th root of `register`.
fn root(register: u32, width: usize) -> u32 {
    squared(register, SQUARINGS - squarings(width))
}

fn columns(bits: usize, column: impl Fn(usize) -> u32) -> Vec<Bits<32>> {
    (0..bits).map(|bit| bits_of(column(bit))).collect()
}

fn bits_of(register: u32) -> Bits<32> {
    u64::from(register).into()
}

impl<const W: usize, const D: usize> Logic for Crc32c<W, D> {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("beat: lanes behind the last dword cleared");
        self.filled.from.next = 0.into();
        self.filled.to.next = bit_cast::<8, 5>(self.count.val());
        self.beat_data.d.next = self.data.val() & self.filled.mask.val();
        self.missing.next = self.dwords.val() - self.count.val();
        self.beat.d.next.valid = self.valid.val();
        self.beat.d.next.first = self.first.val();
        self.beat.d.next.last = self.last.val();
        self.beat.d.next.zeros = self.missing.val().get_bits::<4>(0);

        comment!("its last dword, which is the CRC field in a last beat");
        self.count_less_one.next = self.count.val() - 1;
        self.last_dword.d.next = self.count_less_one.val().get_bits::<4>(0);
        self.last_bit.next = bit_cast::<9, 4>(self.last_dword.q.val()) << 5;
        self.field.d.next = bit_cast::<32, W>(self.beat_data.q.val() >> self.last_bit.val());
        self.field_delayed.d.next = self.field.q.val();

        comment!("loop: the root of the register, times x, plus the root of the beat's sum");
        self.network.data.next = self.beat_data.q.val();
        self.summed.d.next = self.beat.q.val();
        self.entering.next = self.root.q.val();
        if self.summed.q.val().first {
            self.entering.next = self.preset.val();
        }
        self.stepped.next = self.entering.val() >> 1;
        if self.entering.val().get_bit(0) {
            self.stepped.next = (self.entering.val() >> 1) ^ self.polynomial.val();
        }
        if self.summed.q.val().valid {
            self.root.d.next = self.stepped.val() ^ self.network.out.val();
        }

        comment!("register: the root to the power W");
        self.power.data.next = self.root.q.val();
        self.finished.d.next.valid = self.summed.q.val().valid & self.summed.q.val().last;
        self.finished.d.next.zeros = self.summed.q.val().zeros;
        self.finished.d.next.received = self.field_delayed.q.val();

        comment!("verdict: the register equals the residue, advanced by the missing zeros");
        self.residue.next = 0.into();
        for i in 0..D {
            if self.finished.q.val().zeros == self.zeros[i].val() {
                self.residue.next = self.residues[i].val();
            }
        }
        self.reported.d.next.good = self.power.out.val() == self.residue.val();
        self.reported.d.next.state = self.power.out.val();
        self.reported.d.next.zeros = self.finished.q.val().zeros;
        self.reported.d.next.received = self.finished.q.val().received;
        self.reported_valid.d.next = self.finished.q.val().valid;
        self.verdict.next = self.reported.q.val();
        self.verdict_valid.next = self.reported_valid.q.val();

        if self.reset.val() {
            self.beat.d.next.valid = false;
            self.reported_valid.d.next = false;
        }
    }
}
