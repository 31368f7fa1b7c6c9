//! Random inputs: values with the corners hardware fails at, and the rhythm of idles and back-pressure.
//!
//! All of it comes from one seeded generator, so that a failing run repeats.

use fastrand::Rng;
use num_bigint::BigUint;
use rust_hdl_core::prelude::Bits;

/// `true` in `percent` of all calls.
pub fn chance(rng: &mut Rng, percent: u32) -> bool {
    rng.u32(0..100) < percent
}

/// A random value: mostly uniform; one time in four all zeros, all ones, a single one or mostly ones.
pub fn bits<const N: usize>(rng: &mut Rng) -> Bits<N> {
    wide(rng, N).into()
}

/// As [`bits`], for a width known at run time only.
pub fn wide(rng: &mut Rng, width: usize) -> BigUint {
    let words = |rng: &mut Rng| (0..width.div_ceil(32)).map(|_| rng.u32(..)).collect();
    let uniform = BigUint::new(words(rng)) >> (width.div_ceil(32) * 32 - width);
    let ones = (BigUint::from(1u8) << width) - 1u8;
    match rng.u8(0..16) {
        0 => BigUint::ZERO,
        1 => ones,
        2 => BigUint::from(1u8) << rng.usize(0..width),
        3 => uniform | (&ones ^ (ones.clone() >> (width / 4))),
        _ => uniform,
    }
}

/// When a source offers data, or a sink takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Every cycle.
    Always,
    /// Each cycle by itself, with this chance in percent.
    Percent(u32),
    /// Runs of random length, up to this many cycles, on and off in turn.
    Bursts(u32),
}

/// The rhythm a [`Pace`] makes, cycle by cycle.
#[derive(Clone, Debug)]
pub struct Rhythm {
    pace: Pace,
    on: bool,
    left: u32,
}

impl Rhythm {
    /// Starts with an "on" run.
    pub fn new(pace: Pace) -> Self {
        Self {
            pace,
            on: false,
            left: 0,
        }
    }

    /// Whether to go in this cycle.
    pub fn go(&mut self, rng: &mut Rng) -> bool {
        match self.pace {
            Pace::Always => true,
            Pace::Percent(percent) => chance(rng, percent),
            Pace::Bursts(longest) => {
                if self.left == 0 {
                    self.on = !self.on;
                    self.left = rng.u32(1..=longest.max(1));
                }
                self.left -= 1;
                self.on
            }
        }
    }
}
