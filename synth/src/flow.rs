//! The flow from sources to a bitstream: yosys, nextpnr, ecppack.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use warpline_design::{design, key_of};

use crate::board::{BOARDS, Board};
use crate::device::Extent;
use crate::error::Error;
use crate::folder_lock::{self, acquire};
use crate::module::NETLIST_JSON;
use crate::netlist::{Family, MADE_BY, Netlist, RTL, Source, netlist};
use crate::part::Part;
use crate::place::{PINS_LPF, Placer, TIMING_WEIGHT, default_placer, settings};
use crate::process::call;
use crate::report::{Late, Placed, Report, WorstPath, late, rounded, worst_path};
use crate::selftest::sources;
use crate::side_by_side::side_by_side;
use crate::tools::Tools;

/// Options for placing and routing. The router rips up and reroutes nets that miss the target, up to fifty times; that took one
/// placement from 154.2 to 168.0 MHz.
///
/// The device of 512 bits needs nearly all block RAMs of the largest part. Neither router finished the placement of the default
/// placer in 20 min; the static placer needs an eighth less wire, and its placement routes. So it is with the device that sends, too, at
/// 64 bits, with three quarters of the block RAMs: 15,000 of 265,000 arcs were open after an hour of the default placer's.
///
/// At 256 bits the timing weight is higher: the slowest of three seeds reaches 161.5 MHz with 1000, and 147.0 with the 300 of the
/// other widths.
fn placement(width: usize, transmit: bool) -> Vec<String> {
    let weight = match width {
        _ if transmit || width == 512 => return vec!["--placer".into(), "static".into()],
        256 => 1000,
        _ => TIMING_WEIGHT,
    };
    let mut options = default_placer(weight);
    options.push("--tmg-ripup".into());
    options
}

/// Target clock of nextpnr: 156.25 MHz and a margin, 10 % at 64 bits and 2 % at the widths above. The device of 512 bits has no
/// required clock, and is not rerouted.
///
/// A board of a slower part has a slower PLL: its clock, and 2 %.
fn target_mhz(board: &Board, width: usize) -> u32 {
    match width {
        _ if board.clock_mhz(64) < TARGET_MHZ => (board.clock_mhz(width) * 1.02).ceil() as u32,
        64 => 172,
        512 => 100,
        _ => 160,
    }
}

/// The clocks of boards that are to reach 156.25 MHz are not below this one.
const TARGET_MHZ: f64 = 156.0;

/// A bitstream to make.
#[derive(Clone, Debug)]
pub struct Job {
    /// The part.
    pub part: &'static Part,
    /// The board whose pins, clock and top module it has; without one, pins are chosen by nextpnr, for a look at size and clock.
    pub board: Option<&'static Board>,
    /// Bits of the data path.
    pub width: usize,
    /// The device sends, too.
    pub transmit: bool,
    /// Seeds of placement, at least one.
    pub seeds: Vec<u32>,
    /// Starts of each seed, at least one; a seed counts by its fastest start.
    pub starts: u32,
    /// Placements at a time; each needs a processor and 1.5 GB of memory.
    pub jobs: usize,
    /// Octets per cycle that were measured at this width.
    pub octets_per_cycle: f64,
    /// Folder for all files.
    pub out: PathBuf,
}

/// A step of the flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// SystemVerilog is written.
    Generate,
    /// yosys makes a netlist.
    Synthesise,
    /// nextpnr places and routes with this seed.
    Place(u32),
    /// ecppack writes the bitstream.
    Pack,
}

impl Job {
    /// The board of the top module: a part without a board borrows one.
    fn top(&self) -> &'static Board {
        self.board.unwrap_or(&BOARDS[0])
    }
}

/// Makes [`BITSTREAM`] in `out` from the seed with the fastest clock, and reports all seeds.
///
/// # Errors
/// [`Error`] when the device is too large for the part, or a tool fails.
pub fn run(job: &Job, tools: &Tools, progress: &mut dyn FnMut(Stage)) -> Result<Report, Error> {
    let versions = tools.versions()?; // before hours of work
    progress(Stage::Generate);
    let extent = Extent {
        transmit: job.transmit,
        ..Extent::default()
    };
    let device = extent.config(job.width);
    fs::create_dir_all(&job.out).map_err(Error::at(&job.out))?;
    let design = design(&device)?;
    let board = job.top();
    let files = sources(&design, &device, board, None)?;
    let _lock = acquire(&job.out)?;
    let target = target_mhz(board, job.width);
    write_pins(&job.out, job.board, target)?;

    progress(Stage::Synthesise);
    let source = Source {
        top: &board.top(),
        files: &files,
        parameters: &[("W", job.width)],
        named: true,
    };
    fits(
        job,
        &netlist(&tools.yosys, Family::Ecp5, &source, &job.out)?,
    )?;

    let blocks: Vec<_> = files.iter().filter_map(|(_, text)| block(text)).collect();
    let mut settings = settings(job.part, job.board.is_some());
    settings.extend(placement(job.width, job.transmit));
    let placer = Placer::new(&job.out, &tools.nextpnr, &settings)?;
    // each seed of nextpnr once: 1001 is also the second start of seed 1
    let of_seed = |&seed| (0..job.starts).map(move |start| (seed, start));
    let starts: Vec<(u32, u32)> = job.seeds.iter().flat_map(of_seed).collect();
    let seeds: BTreeSet<_> = starts
        .iter()
        .map(|&(seed, start)| tools_seed(seed, start))
        .collect();
    let seeds: Vec<u32> = seeds.into_iter().collect();
    let begun = &mut |seed| progress(Stage::Place(seed));
    let made = side_by_side(&seeds, job.jobs, begun, |seed| {
        placer.place(seed, |report| run_of(report, &blocks))
    })?;
    let made: BTreeMap<u32, Run> = seeds.into_iter().zip(made).collect();
    let run = |&(seed, start): &(u32, u32)| {
        let run = made.get(&tools_seed(seed, start))?;
        let placed = Placed {
            seed,
            start,
            ..run.placed
        };
        Some(Run {
            placed,
            ..run.clone()
        })
    };
    let runs: Vec<Run> = starts.iter().filter_map(run).collect();
    let Some((slowest, fastest)) = slowest_and_fastest(&runs) else {
        return Err(Error::Output {
            path: job.out.clone(),
            what: "no seed was placed".into(),
        });
    };

    progress(Stage::Pack);
    let placed = fastest.placed;
    pack(&job.out, tools, tools_seed(placed.seed, placed.start))?;

    let megahertz = slowest.placed.fmax_mhz;
    Ok(Report {
        part: job.part.name.into(),
        board: job.board.map(|board| board.name.into()),
        speed: job.part.speed,
        width: job.width,
        transmit: job.transmit,
        streams: device.streams,
        ring_octets: device.ring_octets,
        text: key_of([&design]),
        seeds: job.seeds.clone(),
        starts: job.starts,
        fmax_mhz: fastest.placed.fmax_mhz,
        fmax_mhz_min: megahertz,
        lut4: slowest.lut4,
        ff: slowest.ff,
        ebr: slowest.ebr,
        octets_per_cycle: rounded(job.octets_per_cycle),
        gbit_per_second: rounded(job.octets_per_cycle * 8.0 * megahertz / 1000.0),
        worst_path: slowest.worst.clone(),
        late: slowest.late.clone(),
        placed: runs.iter().map(|run| run.placed).collect(),
        settings,
        tools: versions,
    })
}

/// Writes the pins of `board` and the clock of its PLL for the placer.
pub(crate) fn write_pins(out: &Path, board: Option<&Board>, target: u32) -> Result<(), Error> {
    let pins = out.join(PINS_LPF);
    let text = board.map_or(String::new(), Board::lpf);
    let text = format!("{text}\nFREQUENCY NET \"clk\" {target} MHZ;\n");
    fs::write(&pins, text).map_err(Error::at(&pins))
}

/// Whether `path`, relative to the folder of a [`Job`] or an estimate, is a file of the flow.
#[must_use]
pub fn is_of_flow(path: &Path) -> bool {
    let mut names = path.iter().map(|name| name.to_string_lossy());
    let (first, more) = (names.next(), names.next());
    let Some(name) = first.as_deref() else {
        return true; // the folder itself
    };
    if name == RTL {
        return true;
    }
    if more.is_some() {
        return false;
    }
    let of_a_seed = ["placed-", "report-", "progress-", "nextpnr-", BITSTREAM];
    let once = [
        NETLIST_JSON,
        "netlist.v",
        "statistics.json",
        "synth.ys",
        "synth.log",
        MADE_BY,
        folder_lock::FILE,
        "ecppack.log",
        PINS_LPF,
    ];
    once.contains(&name) || of_a_seed.iter().any(|start| name.starts_with(start))
}

/// Distance between the seeds of nextpnr for two starts of a seed.
const NEXT_START: u32 = 1000;

/// Seed of nextpnr for a start of a seed.
fn tools_seed(seed: u32, start: u32) -> u32 {
    seed.wrapping_add(start.wrapping_mul(NEXT_START))
}

/// The slowest seed, each counted by its fastest start, and the fastest start of all.
fn slowest_and_fastest(runs: &[Run]) -> Option<(&Run, &Run)> {
    let by_clock = |a: &&Run, b: &&Run| a.placed.fmax_mhz.total_cmp(&b.placed.fmax_mhz);
    let seeds = runs.chunk_by(|a, b| a.placed.seed == b.placed.seed);
    let seeds: Vec<_> = seeds
        .filter_map(|starts| starts.iter().max_by(by_clock))
        .collect();
    let slowest = seeds.iter().copied().min_by(by_clock)?;
    Some((slowest, seeds.iter().copied().max_by(by_clock)?))
}

/// Result of a start of a seed.
#[derive(Clone)]
struct Run {
    placed: Placed,
    worst: WorstPath,
    late: Vec<Late>,
    lut4: u64,
    ff: u64,
    ebr: u64,
}

/// Reads the `report` of nextpnr; the caller fills in seed and start.
fn run_of(report: &Value, blocks: &[String]) -> Result<Run, String> {
    let (fmax_mhz, worst) = worst_path(report, blocks)?;
    Ok(Run {
        placed: Placed {
            seed: 0,
            start: 0,
            fmax_mhz,
        },
        worst,
        late: late(report, blocks)?,
        lut4: used(report, "TRELLIS_COMB")?,
        ff: used(report, "TRELLIS_FF")?,
        ebr: used(report, "DP16KD")?,
    })
}

/// Number of `kind` that a placement uses, from the report of nextpnr.
pub(crate) fn used(report: &Value, kind: &str) -> Result<u64, String> {
    let used = report["utilization"][kind]["used"].as_u64();
    used.ok_or_else(|| format!("no utilization of {kind}"))
}

/// File name of the bitstream. It appears only when it is complete.
pub const BITSTREAM: &str = "warpline.bit";

pub(crate) fn pack(out: &Path, tools: &Tools, seed: u32) -> Result<(), Error> {
    let unfinished = format!("{BITSTREAM}.unfinished");
    let mut ecppack = Command::new(&tools.ecppack);
    ecppack.args(["--compress", &format!("placed-{seed}.config"), &unfinished]);
    call("ecppack", &mut ecppack, out, "ecppack.log")?;
    let (made, path) = (out.join(unfinished), out.join(BITSTREAM));
    if !fs::metadata(&made).is_ok_and(|made| made.len() > 0) {
        return Err(Error::output(&made)("ecppack wrote no bitstream".into()));
    }
    fs::rename(&made, &path).map_err(Error::at(&path))
}

/// Path of a module in the device, from the header of its text; none for other files.
fn block(text: &str) -> Option<String> {
    let header = text
        .lines()
        .find_map(|line| line.strip_prefix("// Instance: "))?;
    let name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    (header != warpline_design::TOP && header.chars().all(name)).then(|| header.to_owned())
}

/// Checks that the netlist fits into the part.
fn fits(job: &Job, netlist: &Netlist) -> Result<(), Error> {
    let count = |kind: &str| netlist.count(|other| other == kind);
    // A carry takes two LUTs; a LUT RAM takes four, and two slots for its write port.
    let lut4 = count("LUT4") + 2 * count("CCU2C") + 6 * count("TRELLIS_DPR16X4");
    let needs: Vec<_> = [
        ("LUT4", lut4, job.part.lut4),
        ("flip-flops", count("TRELLIS_FF"), job.part.lut4),
        ("block RAMs", count("DP16KD"), job.part.ebr),
    ]
    .into_iter()
    .filter(|(_, needed, there)| needed > there)
    .map(|(what, needed, there)| format!("{needed} {what} of {there}, {} too many", needed - there))
    .collect();
    if needs.is_empty() {
        return Ok(());
    }
    Err(Error::TooLarge {
        width: job.width,
        part: job.part.name,
        needs,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::module::Module;
    use serde_json::json;

    fn job(part: &str) -> Job {
        Job {
            part: crate::part::part(part).unwrap(),
            board: None,
            width: 512,
            transmit: false,
            seeds: vec![1],
            starts: 1,
            jobs: 1,
            octets_per_cycle: 1.0,
            out: PathBuf::from("out"),
        }
    }

    #[test]
    fn what_does_not_fit_is_said_with_numbers() {
        let cells = json!({"LUT4": 30_000, "CCU2C": 1000, "TRELLIS_FF": 20_000, "DP16KD": 60});
        let netlist = Netlist {
            folder: PathBuf::new(),
            text: String::new(),
            cells: serde_json::from_value(cells).unwrap(),
            module: Module::default(),
        };
        let fit = |part| fits(&job(part), &netlist);
        assert!(fit("lfe5um5g-85f").is_ok());
        assert_eq!(
            fit("lfe5um5g-25f").unwrap_err().to_string(),
            "the 512-bit device is too large for lfe5um5g-25f: 32000 LUT4 of 24288, 7712 too many, \
             60 block RAMs of 56, 4 too many"
        );
    }

    #[test]
    fn a_seed_counts_by_its_fastest_start() {
        let run = |seed, start, fmax_mhz| Run {
            placed: Placed {
                seed,
                start,
                fmax_mhz,
            },
            worst: WorstPath {
                from: String::new(),
                to: String::new(),
                ns: 0.0,
                wires_ns: 0.0,
                blocks: Vec::new(),
            },
            late: Vec::new(),
            lut4: 0,
            ff: 0,
            ebr: 0,
        };
        let clocks = [
            (1, 0, 160.0),
            (1, 1, 140.0),
            (2, 0, 130.0),
            (2, 1, 150.0),
            (3, 0, 155.0),
            (3, 1, 154.0),
        ];
        let runs = clocks.map(|(seed, start, fmax_mhz)| run(seed, start, fmax_mhz));
        let (slowest, fastest) = slowest_and_fastest(&runs).unwrap();
        assert_eq!((slowest.placed.seed, slowest.placed.start), (2, 1));
        assert_eq!((fastest.placed.seed, fastest.placed.start), (1, 0));
        assert!(slowest_and_fastest(&[]).is_none());
        assert_eq!(tools_seed(3, 0), 3);
        assert_eq!(tools_seed(3, 2), 2003);
    }

    #[test]
    fn a_report_without_utilization_is_refused_and_not_read_as_nothing_used() {
        let report = json!({"utilization": {"TRELLIS_FF": {"available": 83_640, "used": 14_161}}});
        assert_eq!(used(&report, "TRELLIS_FF"), Ok(14_161));
        let said = used(&report, "TRELLIS_COMB").unwrap_err();
        assert_eq!(said, "no utilization of TRELLIS_COMB");
    }

    #[test]
    fn blocks_are_named_in_the_headers_of_the_device_only() {
        assert_eq!(
            block("// licence\n// Instance: check.judge\nmodule"),
            Some("check.judge".into())
        );
        assert_eq!(block("// Instance: warpline\nmodule"), None);
        assert_eq!(block("// Made by warpline-synth: see\n"), None);
    }
}
