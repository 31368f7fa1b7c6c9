//! What plan, judge and run of sequences share: the device, what is counted, and errors.

use std::collections::BTreeMap;

use thiserror::Error;
use warpline_hdl::Config;

/// Streams of the device.
pub(super) const STREAMS: usize = 4;
/// Octets of a stream's transmit ring.
pub(super) const RING: usize = 16 << 10;
/// Slots of the STag table.
pub(super) const SLOTS: u32 = 64;

/// The device that sequences are for.
#[must_use]
pub const fn config(width: usize) -> Config {
    Config {
        streams: STREAMS,
        ring_octets: RING,
        commit_octets: RING,
        stag_slots: SLOTS as usize,
        receive_slots: 16,
        transmit: true,
        ..Config::simulated(width)
    }
}

/// What a run is counted by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage(pub BTreeMap<&'static str, u64>);

impl Coverage {
    pub(super) fn count(&mut self, what: &'static str) {
        *self.0.entry(what).or_default() += 1;
    }
}

/// Everything that must occur among enough runs.
pub const EVENTS: [&str; 62] = [
    "1 MiB",
    "EMSS changed between FPDUs",
    "EMSS changed in a message",
    "FPDU",
    "FPDU with markers",
    "MSN wraps",
    "TERMINATE",
    "TERMINATE behind an error of the peer",
    "acknowledged in part",
    "close under way",
    "close with reads under way",
    "command refused",
    "command refused behind a close",
    "completion queue wraps",
    "error of the peer",
    "failure in a message",
    "flushed by a close",
    "flushed by an error of the peer",
    "gate opens",
    "octets again",
    "read answered",
    "read answered under a revocation",
    "read at the end of the responder",
    "read behind an error of the peer",
    "read behind one of the host",
    "read behind the end of the responder",
    "read finds no buffer",
    "read flushed behind TERMINATE",
    "read flushed behind a failure",
    "read flushed by a close",
    "read flushed by an error of the peer",
    "read handed to the host",
    "read of 0 octets",
    "read of several segments",
    "read refused: Data Sink",
    "read refused: STag",
    "read refused: association",
    "read refused: bounds",
    "read refused: its buffer is not read",
    "read refused: malformed",
    "read refused: one too many",
    "read refused: revoked",
    "read refused: right",
    "read request of two segments",
    "read without a responder",
    "reads outstanding",
    "response fails with BUS",
    "response fails with STAG",
    "revocation in a message",
    "revocation under way",
    "send ring full",
    "send ring wraps",
    "sequence numbers wrap",
    "status ASSOC",
    "status BOUNDS",
    "status BUS",
    "status FLUSHED",
    "status MALFORMED",
    "status OK",
    "status STAG",
    "transmit ring wraps",
    "whole FPDUs by MEASURE",
];

/// What runs have gone through.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Sequences: streams from their arming to their close.
    pub sequences: u64,
    /// Requests that were announced.
    pub requests: u64,
    /// Octets of streams that were judged.
    pub octets: u64,
    /// Cycles behind the reset.
    pub cycles: u64,
    /// What occurred how often.
    pub coverage: Coverage,
}

impl Outcome {
    /// Adds another run.
    pub fn add(&mut self, other: &Self) {
        self.sequences += other.sequences;
        self.requests += other.requests;
        self.octets += other.octets;
        self.cycles += other.cycles;
        for (what, count) in &other.coverage.0 {
            *self.coverage.0.entry(what).or_default() += count;
        }
    }

    /// Events of [`EVENTS`] that have not occurred.
    #[must_use]
    pub fn missing(&self) -> Vec<&'static str> {
        let occurred = |what: &&str| self.coverage.0.contains_key(what);
        EVENTS.into_iter().filter(|what| !occurred(what)).collect()
    }
}

/// Why a run has no good end.
#[derive(Debug, Error)]
pub enum ScenarioError {
    /// The model failed, or has other ports.
    #[error(transparent)]
    Model(#[from] warpline_verilate::Error),
    /// The plan is not possible.
    #[error("the plan is not possible: {0}")]
    Plan(String),
    /// The device did something wrong.
    #[error("seed {seed}, cycle {cycle}: {what}")]
    Wrong {
        /// The seed.
        seed: u64,
        /// Cycle behind the reset.
        cycle: u64,
        /// What.
        what: String,
    },
}

impl ScenarioError {
    /// The command that runs the seed again, at this width, with a waveform.
    #[must_use]
    pub fn replay(&self, width: usize) -> String {
        let seed = match self {
            Self::Wrong { seed, .. } => *seed,
            _ => 0,
        };
        format!(
            "cargo run -p warpline-testbenches --example transmit_scenarios -- --width {width} --seed {seed} --trace {seed}.fst"
        )
    }
}

/// What a judge expects wrongly, so that it is seen to find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spoil {
    /// Another octet in each FPDU behind the first request.
    Octet,
    /// Other MSNs from the third request on.
    Msn,
    /// Another status of each request behind the first.
    Status,
    /// More requests than there are.
    Missing,
    /// Another octet in each FPDU of a Read Response.
    Response,
    /// The peer may read every region.
    Right,
    /// Read Requests behind one that the host has got are answered.
    Handed,
}

/// The octet of host memory at a bus address.
pub(super) fn memory_octet(address: u64) -> u8 {
    (address.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8
}
