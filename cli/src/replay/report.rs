//! A replay in numbers, as `--json` prints it.

use serde::Serialize;
use warpline_capture::Flow;
use warpline_capture::replay::Difference;

use super::event::{CompletionReport, ErrorReport};
use super::run::Run;

/// A replay in numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Bits of the data path.
    pub width: u32,
    /// The stream carries markers.
    pub markers: bool,
    /// CRCs are in use.
    pub crc: bool,
    /// FPDUs read from the assembly ring.
    pub fpdus: u32,
    /// Stream octets accepted.
    pub octets: u32,
    /// Payload octets placed.
    pub payload_octets: u32,
    /// Cycles from the first beat in to the last write response, both included; to the last beat if the stream failed and
    /// drops octets after that response.
    pub cycles: u64,
    /// `octets / cycles`.
    pub octets_per_cycle: f64,
    /// All regions hold the expected octets.
    pub memory_match: bool,
    /// All receive buffers hold the expected octets.
    pub receive_match: bool,
    /// Delivered messages, in order.
    pub completions: Vec<CompletionReport>,
    /// Errors, at most one for each stream.
    pub errors: Vec<ErrorReport>,
}

impl Report {
    pub(super) fn new(flow: &Flow, run: &Run, differences: &[Difference]) -> Self {
        let none = |part: fn(&Difference) -> bool| !differences.iter().any(part);
        Self {
            width: u32::from(run.shape.width) * 8,
            markers: flow.markers,
            crc: flow.crc,
            fpdus: run.counters.fpdus,
            octets: run.counters.octets,
            payload_octets: run.counters.payload_octets,
            cycles: run.cycles,
            octets_per_cycle: f64::from(run.counters.octets) / run.cycles.max(1) as f64,
            memory_match: none(|difference| matches!(difference, Difference::Memory(_))),
            receive_match: none(|difference| matches!(difference, Difference::Receive(_))),
            completions: run.completions.clone(),
            errors: run.errors.clone(),
        }
    }

    /// The octets, as a fraction of what the bus can carry in these cycles.
    #[must_use]
    pub fn of_bus(&self) -> f64 {
        self.octets_per_cycle * 8.0 / f64::from(self.width)
    }
}
