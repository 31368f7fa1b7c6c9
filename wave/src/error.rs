//! Errors. Each is one line, with what is wrong and what there is instead.

use std::io;
use std::ops::RangeInclusive;
use std::path::PathBuf;

/// A waveform cannot be drawn.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be read.
    #[error("{}: cannot read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The file is no waveform, or not a whole one.
    #[error("{}: no whole FST or VCD waveform: {reason}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// No signal has a usual name of a clock.
    #[error("{}: no signal is called {}: name the clock", path.display(), names.join(", "))]
    NoClock {
        /// The file.
        path: PathBuf,
        /// The names that were looked for.
        names: Vec<&'static str>,
    },
    /// The clock does not rise.
    #[error("{}: {clock} never rises: there is no cycle", path.display())]
    NoCycle {
        /// The file.
        path: PathBuf,
        /// The clock.
        clock: String,
    },
    /// No signal has this name.
    #[error("{name}: no such signal{}", nearest(near))]
    Unknown {
        /// The name.
        name: String,
        /// The most similar names, the best one first.
        near: Vec<String>,
    },
    /// Several signals have this name.
    #[error("{name}: {count} signals have this name, {} among them", some.join(", "))]
    Ambiguous {
        /// The name.
        name: String,
        /// How many.
        count: usize,
        /// The first of them.
        some: Vec<String>,
    },
    /// The signal is text or a floating-point number.
    #[error("{name}: is neither a bit nor a vector of bits")]
    NotBits {
        /// The signal.
        name: String,
    },
    /// The signal has too many bits to be drawn.
    #[error("{name}: has {width} bits; signals of up to {most} bits can be drawn")]
    Width {
        /// The signal.
        name: String,
        /// How many it has.
        width: u32,
        /// How many it may have.
        most: u32,
    },
    /// The signal has no such bits.
    #[error("{name}[{bits}]: {name} has bits {} to 0", width.saturating_sub(1))]
    Bits {
        /// The signal.
        name: String,
        /// The bits that were asked for.
        bits: String,
        /// How many it has.
        width: u32,
    },
    /// The cycles are not in the waveform.
    #[error("cycles {} to {} are not there: the waveform has cycles 0 to {}", asked.start(), asked.end(), cycles - 1)]
    Cycles {
        /// The cycles that were asked for.
        asked: RangeInclusive<u64>,
        /// How many there are, at least one.
        cycles: u64,
    },
}

fn nearest(names: &[String]) -> String {
    match names {
        [] => String::new(),
        names => format!("; the nearest are {}", names.join(", ")),
    }
}
