//! Random request sequences through the whole device that sends, judged octet by octet against `warpline_wire`.
//!
//! ```text
//!           ┌─► Judge: segments, MPA, CRC of warpline_wire ─► FPDUs, completions, boundaries ─┐
//!  seed ─► Plan                                                                               ├─ legal?
//!           └─► Run: registers, send rings, memory, TCP, peer ─► device in Verilator ─────────┘
//! ```
//!
//! A *sequence* is what a stream is asked to send from its arming to its close. A seed gives one to eight of them: up to four
//! streams at a time, one after the other in each, over memory of several regions, with events at any time: a change of EMSS,
//! a revocation, an error or the first FPDU of the peer, a close. In some the peer sends RDMA Read Requests, which the device's read
//! responder answers, or leaves to the host (`docs/decisions/28-read-responses.md`). All ports stall at random. Each run begins with
//! a reset, so a seed is replayed alone.

mod common;
mod judge;
mod plan;
mod run;

use warpline_verilate::Model;

pub use common::{Coverage, EVENTS, Outcome, ScenarioError, Spoil, config};

/// Runs a seed's plan on a device with the [`config`] of `width`, which is reset first.
///
/// # Errors
/// The first thing that the device does wrong.
pub fn run(model: &mut Model, width: usize, seed: u64) -> Result<Outcome, ScenarioError> {
    run::Run::new(model, width, seed, None)?.all()
}

/// As [`run`], with wrong expectations.
///
/// # Errors
/// The difference, if the seed has what is spoiled.
pub fn run_spoiled(
    model: &mut Model,
    width: usize,
    seed: u64,
    spoil: Spoil,
) -> Result<Outcome, ScenarioError> {
    run::Run::new(model, width, seed, Some(spoil))?.all()
}
