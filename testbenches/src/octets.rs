//! Beats as octets, the first one in lane 0.

use num_bigint::BigUint;
use rust_hdl_core::prelude::Bits;

/// The octets of a beat of W bits.
pub fn octets<const W: usize>(beat: Bits<W>) -> Vec<u8> {
    let mut octets = BigUint::from(beat).to_bytes_le();
    octets.resize(W / 8, 0);
    octets
}

/// A beat of W bits that begins with `octets`; the lanes behind them are zero.
///
/// # Panics
/// When there are more octets than lanes.
pub fn beat<const W: usize>(octets: &[u8]) -> Bits<W> {
    assert!(octets.len() <= W / 8, "{} octets in {W} bits", octets.len());
    BigUint::from_bytes_le(octets).into()
}

/// As [`beat`], with noise in the lanes behind the octets.
///
/// # Panics
/// As [`beat`].
pub fn noisy_beat<const W: usize>(rng: &mut fastrand::Rng, octets: &[u8]) -> Bits<W> {
    let noise = std::iter::repeat_with(|| rng.u8(..)).take(W / 8 - octets.len());
    beat(&octets.iter().copied().chain(noise).collect::<Vec<u8>>())
}

/// The mask whose lanes 0 to `count` - 1 are set, of N lanes.
pub fn lowest<const N: usize>(count: usize) -> Bits<N> {
    ((BigUint::from(1_u8) << count) - 1_u8).into()
}
