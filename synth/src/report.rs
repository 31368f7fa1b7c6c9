//! Reports: area, clock, and the worst path by block of the device.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::board::BOARDS;
use crate::device::Extent;
use crate::regression::{TOLERANCE, growth, summary};

/// A placed and routed device, as `constraints/reports` keeps it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Part.
    pub part: String,
    /// Board, in reports since there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub board: Option<String>,
    /// Speed grade.
    pub speed: u8,
    /// Bits of the data path.
    pub width: usize,
    /// The device sends, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub transmit: bool,
    /// Streams.
    pub streams: usize,
    /// Octets of each ring.
    pub ring_octets: usize,
    /// Names the code of the device: [`warpline_design::key_of`]. Empty in records from before there was one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Seeds of placement.
    pub seeds: Vec<u32>,
    /// Starts of each seed; the fastest one counts.
    #[serde(default = "one")]
    pub starts: u32,
    /// Fastest clock of all seeds.
    pub fmax_mhz: f64,
    /// Slowest clock of all seeds, each with its fastest start.
    pub fmax_mhz_min: f64,
    /// LUT4s after packing, with carry chains and LUT RAM.
    pub lut4: u64,
    /// Flip-flops.
    pub ff: u64,
    /// Block RAMs.
    pub ebr: u64,
    /// Octets that the receive path accepts per cycle, for FPDUs of 1442-octet ULPDUs without markers (`docs/bench`).
    pub octets_per_cycle: f64,
    /// Throughput at the slowest clock: octets per cycle × 8 × clock.
    pub gbit_per_second: f64,
    /// The path that limits the clock of the slowest seed.
    pub worst_path: WorstPath,
    /// Inputs that are later than [`PERIOD_NS`] in that seed, by block, the latest first.
    #[serde(default)]
    pub late: Vec<Late>,
    /// All seeds and starts.
    pub placed: Vec<Placed>,
    /// Options of nextpnr, besides netlist, pins and seed.
    pub settings: Vec<String>,
    /// Tools and their versions.
    pub tools: Vec<Tool>,
}

impl Report {
    /// What the device does besides receiving from TCP.
    #[must_use]
    pub fn extent(&self) -> Extent {
        Extent {
            transmit: self.transmit,
            sctp: false,
        }
    }

    /// Figures that are more than 5 % slower or larger than in `before`, a report of the same device.
    #[must_use]
    pub fn regression(&self, before: &Self) -> Option<String> {
        let (now, then) = (self.fmax_mhz_min, before.fmax_mhz_min);
        let slower =
            (now < then * (1.0 - TOLERANCE)).then(|| format!("{now} MHz instead of {then}"));
        let growth = growth(&[
            ("LUT4", self.lut4, before.lut4),
            ("flip-flops", self.ff, before.ff),
            ("block RAMs", self.ebr, before.ebr),
        ]);
        summary(slower.into_iter().chain(growth).collect())
    }
}

/// A tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// Its version, as it prints it.
    pub version: String,
}

fn one() -> u32 {
    1
}

/// Result of a start of a seed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Placed {
    /// The seed.
    pub seed: u32,
    /// Which start of it, from 0 on.
    #[serde(default)]
    pub start: u32,
    /// Clock.
    pub fmax_mhz: f64,
}

/// A path between two registers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorstPath {
    /// Register it starts at.
    pub from: String,
    /// Register it ends at.
    pub to: String,
    /// Its delay.
    pub ns: f64,
    /// Part of it that is wires.
    pub wires_ns: f64,
    /// The blocks on the path and the delay in each; a wire counts where it ends.
    pub blocks: Vec<Hop>,
}

/// A block on a path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hop {
    /// Block, as in the header of its file.
    pub block: String,
    /// Delay in it.
    pub ns: f64,
    /// LUTs, carries and memories on the path.
    pub cells: usize,
}

/// Period of 156.25 MHz, the target.
pub const PERIOD_NS: f64 = 6.4;

/// Late inputs of registers and memories of a block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Late {
    /// Block, as in the header of its file.
    pub block: String,
    /// Number of inputs.
    pub inputs: usize,
    /// Arrival of the latest one.
    pub ns: f64,
}

/// Two decimals: nextpnr gives picoseconds, which placement varies by far more.
pub(crate) fn rounded(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

/// Reads clock and worst path from a report of nextpnr; the error names what is missing.
pub(crate) fn worst_path(report: &Value, blocks: &[String]) -> Result<(f64, WorstPath), String> {
    let clocks = report["fmax"].as_object().ok_or("no clocks")?;
    let achieved = |clock: &Value| clock["achieved"].as_f64();
    // the PLL's input has its own name
    let inputs = BOARDS.map(|board| board.clock_port());
    let of_input = |name: &str| inputs.iter().any(|input| name.contains(input));
    let slowest = clocks.iter().filter(|(name, _)| !of_input(name));
    let slowest = slowest.filter_map(|(name, clock)| Some((name, achieved(clock)?)));
    let (name, fmax) = slowest
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .ok_or("no clock")?;
    if !(fmax > 0.0 && fmax < 1e5) {
        return Err(format!("a clock of {fmax} MHz"));
    }

    let edge = format!("posedge {name}");
    let paths = report["critical_paths"]
        .as_array()
        .ok_or("no critical paths")?;
    let path = paths
        .iter()
        .find(|path| path["from"] == *edge && path["to"] == *edge);
    let hops = path.and_then(|path| path["path"].as_array());
    let hops = hops.ok_or_else(|| format!("no critical path of {name}"))?;

    let mut worst = WorstPath {
        from: String::new(),
        to: String::new(),
        ns: 0.0,
        wires_ns: 0.0,
        blocks: Vec::new(),
    };
    for hop in hops {
        let ns = hop["delay"].as_f64().ok_or("a hop without delay")?;
        let cell = hop["to"]["cell"].as_str().ok_or("a hop without end")?;
        if worst.from.is_empty() {
            worst.from = register(hop["from"]["cell"].as_str().unwrap_or(cell));
        }
        worst.to = register(cell);
        worst.ns += ns;
        let block = block_of(cell, blocks);
        if worst.blocks.last().is_none_or(|last| last.block != block) {
            worst.blocks.push(Hop {
                block,
                ns: 0.0,
                cells: 0,
            });
        }
        let Some(last) = worst.blocks.last_mut() else {
            continue;
        };
        last.ns += ns;
        match hop["type"].as_str() {
            Some("routing") => worst.wires_ns += ns,
            Some("logic" | "clk-to-q") => last.cells += 1,
            _ => {}
        }
    }
    worst.ns = rounded(worst.ns);
    worst.wires_ns = rounded(worst.wires_ns);
    for hop in &mut worst.blocks {
        hop.ns = rounded(hop.ns);
    }
    Ok((rounded(fmax), worst))
}

/// Reads the inputs that are later than [`PERIOD_NS`] from a report of nextpnr with timing of all nets.
pub(crate) fn late(report: &Value, blocks: &[String]) -> Result<Vec<Late>, String> {
    let nets = report["detailed_net_timings"].as_array();
    let ends = nets.ok_or("no timing of nets")?.iter();
    let ends = ends.filter_map(|net| net["endpoints"].as_array()).flatten();
    let mut late: BTreeMap<String, (usize, f64)> = BTreeMap::new();
    for end in ends {
        let ns = end["delay"][1].as_f64().ok_or("an input without delay")?;
        if ns > PERIOD_NS {
            let cell = end["cell"].as_str().ok_or("an input without cell")?;
            let (inputs, latest) = late.entry(block_of(cell, blocks)).or_default();
            *inputs += 1;
            *latest = latest.max(ns);
        }
    }
    let of_block = |(block, (inputs, ns))| Late {
        block,
        inputs,
        ns: rounded(ns),
    };
    let mut late: Vec<_> = late.into_iter().map(of_block).collect();
    late.sort_by(|a, b| b.ns.total_cmp(&a.ns)); // stable: equal ones stay in the order of names
    Ok(late)
}

const DEVICE: &str = "selftest.device.";

/// Name of the register in the sources: the tools append the kind of the cell.
fn register(cell: &str) -> String {
    let cell = cell.strip_prefix(DEVICE).unwrap_or(cell);
    let ends = ["_TRELLIS", "_LUT4", "_PFUMX", "_L6MUX", "_CCU2C", "_DP16KD"];
    let end = ends.iter().filter_map(|end| cell.find(end)).min();
    cell[..end.unwrap_or(cell.len())].to_owned()
}

/// The innermost of `blocks` (`check.judge`, …) that contains `cell`; `top` if none does.
fn block_of(cell: &str, blocks: &[String]) -> String {
    let Some(cell) = cell.strip_prefix(DEVICE) else {
        return "selftest".into();
    };
    let inside = |block: &&String| {
        let rest = cell.strip_prefix(block.as_str());
        rest.is_some_and(|rest| rest.starts_with('.'))
    };
    let innermost = blocks.iter().filter(inside).max_by_key(|block| block.len());
    innermost.map_or("top".into(), Clone::clone)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn hop(kind: &str, ns: f64, from: &str, to: &str) -> Value {
        json!({"type": kind, "delay": ns, "from": {"cell": from}, "to": {"cell": to}})
    }

    /// A report of nextpnr 0.11.1, reduced to what is read.
    fn sample() -> Value {
        let start = "selftest.device.check.judge.sum_q_TRELLIS_FF_Q_3";
        let lut = "selftest.device.check.wide_LUT4_Z";
        let end = "selftest.device.place.row_q_TRELLIS_FF_Q";
        let path = [
            hop("clk-to-q", 0.309, start, start),
            hop("routing", 0.7, start, lut),
            hop("logic", 0.141, lut, lut),
            hop("routing", 1.25, lut, end),
            hop("setup", 0.0, end, end),
        ];
        let clock = "posedge $glbnet$clk";
        json!({
            "fmax": {"$glbnet$clk": {"achieved": 416.666, "constraint": 172.0}},
            "critical_paths": [
                {"from": "<async>", "to": clock, "path": []},
                {"from": clock, "to": clock, "path": path},
            ],
        })
    }

    #[test]
    fn a_path_is_told_in_blocks() {
        let blocks = ["check", "check.judge", "place"].map(String::from);
        let (fmax, path) = worst_path(&sample(), &blocks).unwrap();
        assert_eq!(fmax, 416.67);
        assert_eq!(
            (&*path.from, &*path.to),
            ("check.judge.sum_q", "place.row_q")
        );
        assert_eq!((path.ns, path.wires_ns), (2.4, 1.95));
        let blocks: Vec<_> = path
            .blocks
            .iter()
            .map(|hop| (&*hop.block, hop.ns, hop.cells))
            .collect();
        let expected = [
            ("check.judge", 0.31, 1),
            ("check", 0.84, 1),
            ("place", 1.25, 0),
        ];
        assert_eq!(blocks, expected);
    }

    #[test]
    fn what_is_late_is_told_by_block() {
        let end = |cell: &str, ns: f64| json!({"cell": cell, "delay": [0.1, ns]});
        let judge = "selftest.device.check.judge.sum_q_TRELLIS_FF_Q_3";
        let place = "selftest.device.place.row_q_TRELLIS_FF_Q";
        let report = json!({"detailed_net_timings": [
            {"endpoints": [end(judge, 6.401), end(place, 9.5), end(place, 6.4)]},
            {"endpoints": [end(judge, 8.25)]},
        ]});
        let blocks = ["check.judge", "place"].map(String::from);
        let found = late(&report, &blocks).unwrap();
        let found: Vec<_> = found
            .iter()
            .map(|of| (&*of.block, of.inputs, of.ns))
            .collect();
        assert_eq!(found, [("place", 1, 9.5), ("check.judge", 2, 8.25)]);
        assert_eq!(late(&json!({}), &blocks).unwrap_err(), "no timing of nets");
    }

    #[test]
    fn a_report_of_another_form_is_refused() {
        assert_eq!(worst_path(&json!({}), &[]).unwrap_err(), "no clocks");
        let mut report = sample();
        report["critical_paths"][1]["path"][0]["delay"] = json!("none");
        assert_eq!(worst_path(&report, &[]).unwrap_err(), "a hop without delay");
        report["critical_paths"] = json!([]);
        let said = worst_path(&report, &[]).unwrap_err();
        assert_eq!(said, "no critical path of $glbnet$clk");
    }
}
