//! How a card is simulated.

use std::ops::RangeInclusive;

use fastrand::Rng;

/// How a card is simulated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardOptions {
    /// The model can write waveforms (FST); costs some of the speed.
    pub trace: bool,
    /// The model counts how often each line ran and, at 64 bits, each bit rose and fell.
    pub coverage: bool,
    /// Seed of all that is drawn: initial values of the model, idle cycles, back-pressure.
    pub seed: u64,
    /// How the host holds the card back.
    pub back_pressure: BackPressure,
    /// Cycles of a hundred without a beat on `s_axis_segment` though there would be one. At most 99 count.
    pub idle: u8,
}

impl Default for CardOptions {
    /// No trace, no coverage, seed 1, no back-pressure, no idle cycles.
    fn default() -> Self {
        Self {
            trace: false,
            coverage: false,
            seed: 1,
            back_pressure: BackPressure::NONE,
            idle: 0,
        }
    }
}

/// How the host holds the card back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackPressure {
    /// Cycles of a hundred in which a channel is not ready; each channel draws on its own. At most 99 count.
    pub stall: u8,
    /// Cycles from the last beat of a write burst to its response, and from the address of a read burst to its first beat,
    /// drawn for each burst.
    pub latency: RangeInclusive<u32>,
}

impl BackPressure {
    /// Always ready, responses in the next cycle.
    pub const NONE: Self = Self {
        stall: 0,
        latency: 1..=1,
    };

    /// Not ready in a third of all cycles, responses after up to 40 cycles.
    pub const RANDOM: Self = Self {
        stall: 33,
        latency: 1..=40,
    };

    /// Whether a channel is ready in this cycle.
    pub(crate) fn ready(&self, rng: &mut Rng) -> bool {
        self.stall == 0 || rng.u8(..100) >= self.stall.min(99)
    }
}
