//! What records hold that other crates write: their fields, as far as the page shows them.

use std::collections::BTreeMap;

use serde::Deserialize;
use warpline_synth::{Estimate, Report, Tool};

/// `docs/bench/transmit-cycles.json`.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Transmit {
    pub rates: Vec<Rate>,
    pub delays: Vec<Delay>,
    pub reads: Vec<Delay>,
}

/// What streams send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Requests {
    Memory { fpdus: usize },
    Inline,
    Reads { fpdus: usize },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct Workload {
    pub streams: usize,
    pub requests: Requests,
    pub ulpdu: usize,
    pub markers: bool,
    pub receiving: usize,
    pub silent: bool,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Rate {
    pub width: usize,
    #[serde(flatten)]
    pub workload: Workload,
    pub octets: u64,
    pub cycles: u64,
    pub of_bus: f64,
}

/// Latency of one message.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Delay {
    pub width: usize,
    #[serde(flatten)]
    pub workload: Workload,
    pub beats: u64,
    pub cycles: u64,
}

/// A record of `constraints/reports`.
#[derive(Clone, Debug)]
pub(super) enum Synthesis {
    Placed(Box<Report>),
    Estimated(Box<Estimate>),
    Crc(Crc),
}

/// `constraints/reports/crc32c.json`.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Crc {
    pub part: String,
    pub built: Vec<CrcBuilt>,
    pub tools: Vec<Tool>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct CrcBuilt {
    pub what: String,
    pub width: usize,
    pub lut4: u64,
    pub ff: u64,
    pub fmax_mhz_min: Option<f64>,
}

/// `docs/coverage.json`.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Coverage {
    /// Key of the devices; records from before there was one have none.
    #[serde(default)]
    pub text: String,
    pub streams: u64,
    pub widths: Vec<usize>,
    /// Group, bin, count.
    pub bins: Vec<(String, String, u64)>,
    pub blocks: BTreeMap<usize, BTreeMap<String, Block>>,
    pub problems: Vec<String>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Block {
    pub lines: Share,
    pub waived: u64,
    pub toggles: Share,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(super) struct Share {
    pub hit: u64,
    pub total: u64,
}

/// What became of a planted fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Fate {
    Killed,
    Stillborn,
    Equivalent,
    Survived,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Mutant {
    pub fate: Fate,
}

/// `docs/mutants.json`, by bench.
pub(super) type Mutants = BTreeMap<String, Vec<Mutant>>;

/// A crate of `docs/mutants-software.json`.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Sample {
    pub shard: String,
    pub candidates: u64,
    pub tool: String,
    pub mutants: Vec<Mutant>,
}

/// A row of `docs/conformance.json`.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Requirement {
    pub id: String,
    pub level: String,
    pub area: String,
    pub status: Status,
    pub reason: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Status {
    Tested,
    Reason,
    Open,
}

/// What was run of one text, in `docs/bench/streams.json`.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Streams {
    pub text: String,
    pub commit: String,
    pub streams: u64,
    pub milliseconds: u64,
    pub failures: Vec<String>,
    pub devices: Vec<DeviceRun>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct DeviceRun {
    pub width: usize,
    pub small: bool,
    pub streams: u64,
    pub octets: u64,
    pub fpdus: u64,
}

/// What was run of one text, in `docs/bench/transmit-streams.json`.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct TransmitStreams {
    pub text: String,
    pub commit: String,
    pub widths: Vec<WidthRun>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct WidthRun {
    pub width: usize,
    pub sequences: u64,
    pub requests: u64,
    pub octets: u64,
    pub failures: Vec<String>,
}

/// `docs/bench/connections.json`.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Connections {
    pub connections: u64,
    pub at_a_time: u64,
    pub milliseconds_each: f64,
    pub growth: u64,
}

/// `docs/bench/transfer.json`: there, and back.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Transfer {
    pub equal: bool,
    pub octets: u64,
    pub seconds: f64,
}

/// A kind of input of `docs/bench/fuzz.json`.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Fuzz {
    pub inputs: u64,
    pub messages: u64,
    pub seed: u64,
    pub outcomes: u64,
    pub longest_input_us: u64,
    pub resident_first: u64,
    pub resident_last: u64,
}

/// `docs/bench/host-cost.json`.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct HostCost {
    pub instructions: BTreeMap<String, f64>,
    pub per_kib: BTreeMap<String, f64>,
    pub ratio: f64,
    pub valgrind: String,
    pub rustc: String,
}
