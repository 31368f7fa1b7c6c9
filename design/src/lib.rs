//! From a configuration to the SystemVerilog of a whole device.
//!
//! ```text
//!  Config ─► Warpline<width, …> of warpline-hdl ─► writer ─► Design: one module a file
//! ```
//!
//! This is a crate of its own because it holds the device at every width that is built, a lot of code that runs once: it is
//! compiled without optimisation, while the blocks in `warpline-hdl`, which tests simulate for hours, are optimised.

use thiserror::Error;
use warpline_hdl::top::Warpline;
use warpline_hdl::{Config, ConfigError};
use warpline_sv_writer::{self as writer, Design, WriteError};

/// Name of the top module.
pub const TOP: &str = "warpline";

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
            64 => write::<64, 8, 2, 32, 3, 1>(&config),
            128 => write::<128, 16, 4, 64, 4, 2>(&config),
            256 => write::<256, 32, 8, 128, 5, 3>(&config),
            _ => write::<512, 64, 16, 256, 6, 4>(&config),
        });
    match text.expect("a thread can be started").join() {
        Ok(design) => design,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

fn write<
    const W: usize,
    const K: usize,
    const D: usize,
    const H: usize,
    const LOGK: usize,
    const LOGD: usize,
>(
    config: &Config,
) -> Result<Design, DesignError> {
    Ok(match config.streams {
        4 => writer::write(&Warpline::<W, K, D, H, LOGK, LOGD, 4>::new(config), TOP),
        _ => writer::write(&Warpline::<W, K, D, H, LOGK, LOGD, 16>::new(config), TOP),
    }?)
}
