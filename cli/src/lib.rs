//! The command `warpline`: the project's functions from a shell.
//!
//! ```text
//!  options ─► command ─┬─ rtl ─────────────────────────► SystemVerilog files
//!                      ├─ explain ─────────────────────► octets, field by field
//!                      ├─ replay, demo ─► [`replay`] ──┐
//!                      ├─ synth ───────────────────────► bitstream, report
//!                      ├─ bench ────────► [`measure`] ─┴─► simulated card, through the driver
//!                      ├─ card ─► simulated card at a socket, captured traffic on its network side
//!                      │          └─ --watch ─► [`watch`]: a live view of it
//!                      ├─ serve, put, get ─► [`transfer`]: memory over iWARP
//!                      ├─ stat ─► a card's identity and counters
//!                      ├─ wave ────► [`wave`]: waveforms and FPDUs as timing diagrams
//!                      ├─ report ──► recorded figures as one page of HTML
//!                      └─ doctor ─► what the machine lacks for a card
//! ```
//!
//! [`replay`], [`measure`] and [`transfer`] are public, so that tests run the same code as the commands.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod chart;
mod command;
mod endpoint;
mod error;
mod help;
pub mod host_path;
pub mod measure;
mod numbers;
mod options;
mod play;
pub mod replay;
#[cfg(feature = "report")]
mod report;
mod size;
pub mod transfer;
#[cfg(feature = "watch")]
pub mod watch;
#[cfg(feature = "wave")]
pub mod wave;

pub use command::{command_line, main};
pub use error::Error;
