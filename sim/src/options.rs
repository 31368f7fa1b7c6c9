//! How a card is simulated.

use std::ops::RangeInclusive;

use fastrand::Rng;

/// How a card is simulated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardOptions {
    /// The model can write waveforms (FST); it runs slower.
    pub trace: bool,
    /// The model counts how often each line ran and, at 64 bits, how often each bit changed.
    pub coverage: bool,
    /// Seed of all random choices: initial values of the model, idle cycles, back-pressure.
    pub seed: u64,
    /// The host's back-pressure.
    pub back_pressure: BackPressure,
    /// Percentage of idle cycles on `s_axis_segment`, at most 99.
    pub idle: u8,
    /// The card has send queues, a mailbox and a register port for a control program, in software. Without effect on a device
    /// with the transmit path (`Config::transmit`), whose RTL has them.
    pub transmit: bool,
    /// Percentage of segments behind which TCP asks a transmit ring for octets a second time, and compares them; at most 100.
    pub resend: u8,
}

impl Default for CardOptions {
    /// No trace, no coverage, seed 1, no back-pressure, no idle cycles, no send queues, nothing sent twice.
    fn default() -> Self {
        Self {
            trace: false,
            coverage: false,
            seed: 1,
            back_pressure: BackPressure::NONE,
            idle: 0,
            transmit: false,
            resend: 0,
        }
    }
}

/// The host's back-pressure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackPressure {
    /// Percentage of cycles in which a channel is not ready, at most 99; each channel draws separately.
    pub stall: u8,
    /// Cycles from the last beat of a write burst to its response, and from the address of a read burst to its first beat,
    /// drawn per burst.
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
