//! A replay in numbers, as `--json` prints it.

use serde::Serialize;
use warpline_capture::Skipped;
use warpline_capture::replay::{Candidate, Difference, Replay, Role};

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
    /// Packets that could not be read.
    pub skipped: Vec<SkippedReport>,
    /// Connections on which MPA start-up succeeded.
    pub connections: Vec<ConnectionReport>,
    /// What was left out or guessed, in one line each.
    pub warnings: Vec<String>,
}

/// Packets that could not be read for the same kind of reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SkippedReport {
    /// How many.
    pub packets: u64,
    /// What is wrong with the first one.
    pub first: String,
}

/// A connection on which MPA start-up succeeded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ConnectionReport {
    /// Its number, from 1: that of `--connection`.
    pub number: usize,
    /// Address and port of the Initiator.
    pub initiator: String,
    /// Address and port of the Responder.
    pub responder: String,
    /// FPDUs of the Initiator that MPA accepts.
    pub initiator_fpdus: u64,
    /// FPDUs of the Responder that MPA accepts.
    pub responder_fpdus: u64,
    /// Whose stream was replayed: `initiator` or `responder`.
    pub replayed: Option<&'static str>,
}

impl From<&Skipped> for SkippedReport {
    fn from(skipped: &Skipped) -> Self {
        Self {
            packets: skipped.packets,
            first: skipped.first.to_string(),
        }
    }
}

impl From<&Candidate> for ConnectionReport {
    fn from(candidate: &Candidate) -> Self {
        Self {
            number: candidate.number,
            initiator: candidate.initiator.to_string(),
            responder: candidate.responder.to_string(),
            initiator_fpdus: candidate.initiator_sent.fpdus,
            responder_fpdus: candidate.responder_sent.fpdus,
            replayed: candidate.replayed.map(|role| match role {
                Role::Initiator => "initiator",
                Role::Responder => "responder",
            }),
        }
    }
}

impl Report {
    pub(super) fn new(stream: &Replay, run: &Run, differences: &[Difference]) -> Self {
        let none = |part: fn(&Difference) -> bool| !differences.iter().any(part);
        Self {
            width: u32::from(run.shape.width) * 8,
            markers: stream.flow.markers,
            crc: stream.flow.crc,
            fpdus: run.counters.fpdus,
            octets: run.counters.octets,
            payload_octets: run.counters.payload_octets,
            cycles: run.cycles,
            octets_per_cycle: f64::from(run.counters.octets) / run.cycles.max(1) as f64,
            memory_match: none(|difference| matches!(difference, Difference::Memory(_))),
            receive_match: none(|difference| matches!(difference, Difference::Receive(_))),
            completions: run.completions.clone(),
            errors: run.errors.clone(),
            skipped: stream.skipped.iter().map(Into::into).collect(),
            connections: stream.connections.iter().map(Into::into).collect(),
            warnings: stream.warnings.iter().map(ToString::to_string).collect(),
        }
    }

    /// The octets, as a fraction of what the bus can carry in these cycles.
    #[must_use]
    pub fn of_bus(&self) -> f64 {
        self.octets_per_cycle * 8.0 / f64::from(self.width)
    }
}
