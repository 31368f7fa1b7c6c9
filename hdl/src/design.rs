//! From a configuration to SystemVerilog.
use crate::top::Warpline;
use crate::writer::{self, Design, WriteError};
use crate::Config;
use thiserror::Error;

/// Name of the top module.
pub const TOP: &str = "warpline";

/// A configuration that no device can have.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ConfigError {
    /// The data path has no such width.
    #[error("width {0}: choose 64, 128, 256 or 512 bits")]
    Width(usize),
    /// The number of streams is not one that is built.
    #[error("{0} streams: choose 4")]
    Streams(usize),
    /// A size that has to be a power of two in a range.
    #[error("{what} {value}: choose a power of two from {least} to {most}")]
    Size {
        /// Which one.
        what: &'static str,
        /// The value given.
        value: usize,
        /// Smallest legal value.
        least: usize,
        /// Largest legal value.
        most: usize,
    },
    /// The number of untagged queues.
    #[error("{0} untagged queues: choose 1 to 4")]
    Queues(usize),
}

/// Why there is no text.
#[derive(Debug, Error)]
pub enum DesignError {
    /// The configuration is not possible.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The writer refuses a block: a defect of this crate.
    #[error(transparent)]
    Write(#[from] WriteError),
}

impl Config {
    /// Checks all parameters.
    ///
    /// # Errors
    /// The first one that no device can have.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let size = |what, value: usize, least, most| {
            if value.is_power_of_two() && (least..=most).contains(&value) {
                Ok(())
            } else {
                Err(ConfigError::Size {
                    what,
                    value,
                    least,
                    most,
                })
            }
        };
        if !matches!(self.width, 64 | 128 | 256 | 512) {
            return Err(ConfigError::Width(self.width));
        }
        if self.streams != 4 {
            return Err(ConfigError::Streams(self.streams));
        }
        if !(1..=4).contains(&self.queues) {
            return Err(ConfigError::Queues(self.queues));
        }
        size("ring octets", self.ring_octets, 4 << 10, 128 << 10)?;
        size(
            "commit buffer octets",
            self.commit_octets,
            self.ring_octets,
            256 << 10,
        )?;
        size("STag slots", self.stag_slots, 16, 4096)?;
        size("receive slots", self.receive_slots, 2, 256)
    }
}

/// The SystemVerilog of the device that `config` describes; the top module is [`TOP`].
///
/// # Errors
/// [`DesignError::Config`] for an impossible configuration.
pub fn design(config: &Config) -> Result<Design, DesignError> {
    config.validate()?;
    let config = *config;
    // rust-hdl keeps many copies of a 512-bit block on the stack while it builds it.
    let text = std::thread::Builder::new()
        .stack_size(512 << 20)
        .spawn(move || match config.width {
            64 => write(Warpline::<64, 8, 2, 32, 3, 1, 4>::new(&config)),
            128 => write(Warpline::<128, 16, 4, 64, 4, 2, 4>::new(&config)),
            256 => write(Warpline::<256, 32, 8, 128, 5, 3, 4>::new(&config)),
            _ => write(Warpline::<512, 64, 16, 256, 6, 4, 4>::new(&config)),
        });
    match text.expect("a thread can be started").join() {
        Ok(design) => design,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

fn write<B: rust_hdl_core::prelude::Block>(block: B) -> Result<Design, DesignError> {
    Ok(writer::write(&block, TOP)?)
}
