//! `warpline replay`: sends a capture through the simulated card.

use warpline_capture::{Capture, Segmentation};
use warpline_sim::Card;

use super::exit_code::{DIFFERENT, OK};
use super::output::{apart, writable};
use super::terminal::{BAD, Bar, DIM, GOOD, STRONG, complain, counted, grouped, open_card, show};
use crate::Error;
use crate::options::Replay as Options;
use crate::replay::{Replay, Replayed, Report, replay};

pub(super) fn run(options: &Options, segmentation: Segmentation) -> Result<u8, Error> {
    // Check the capture before building the model, which may take minutes.
    let capture = Capture::open(&options.capture)?;
    let stream = Replay::of(&capture, options.choice())?;
    if let Some(path) = &options.trace {
        apart(path, &Capture::files(&options.capture))?;
        writable(path)?;
    }
    let card = open_card(options.width, options.trace.is_some(), false)?;
    for skipped in &stream.skipped {
        complain(skipped);
    }
    for warning in &stream.warnings {
        complain(warning);
    }
    if let Some(path) = &options.trace {
        card.trace_open(path)?;
    }
    let replayed = watched(&card, &stream, segmentation, options.width)?;
    let traced = match options.trace {
        Some(_) => card.trace_close(),
        None => Ok(()),
    };
    show(&if options.json {
        serde_json::to_string(&replayed.report)? + "\n"
    } else {
        summary(&replayed)
    })?;
    let code = outcome(&replayed);
    traced?; // after the result, which is valid without a waveform
    Ok(code)
}

/// Prints each difference from what is expected, and returns the exit code.
pub(super) fn outcome(replayed: &Replayed) -> u8 {
    for difference in &replayed.differences {
        complain(difference);
    }
    match replayed.differences.is_empty() {
        true => OK,
        false => DIFFERENT,
    }
}

/// A replay with a progress bar.
pub(super) fn watched(
    card: &Card,
    stream: &Replay,
    segmentation: Segmentation,
    width: usize,
) -> Result<Replayed, Error> {
    let bar = Bar::new(format!("{width:>3} bits"));
    replay(card, stream, segmentation, &mut |done, total| {
        bar.show(done, total);
    })
}

fn summary(replayed: &Replayed) -> String {
    let report = &replayed.report;
    let mut text = format!(
        "{}\n  {}\n  {} delivered; memory {}, receive buffers {}\n",
        stream(report, replayed.segments),
        speed(report),
        counted(report.completions.len() as u64, "message"),
        verdict(report.memory_match),
        verdict(report.receive_match),
    );
    for error in &report.errors {
        text += &format!(
            "  stream {} frozen by error type {:#x} code {:#04x}, checks {:#06x}\n",
            error.stream, error.kind, error.code, error.checks
        );
    }
    text
}

/// The stream in one line.
pub(super) fn stream(report: &Report, segments: usize) -> String {
    let option = |on| if on { "on" } else { "off" };
    format!(
        "{STRONG}{}{STRONG:#} in {}: {}, CRC {}, markers {}",
        counted(report.octets, "octet"),
        counted(segments as u64, "TCP segment"),
        counted(report.fpdus, "FPDU"),
        option(report.crc),
        option(report.markers),
    )
}

/// The speed in one line.
pub(super) fn speed(report: &Report) -> String {
    format!(
        "{} cycles, {STRONG}{:.2} octets per cycle{STRONG:#} {DIM}({:.1} % of the {}-bit bus){DIM:#}",
        grouped(report.cycles),
        report.octets_per_cycle,
        100.0 * report.of_bus(),
        report.width,
    )
}

fn verdict(equal: bool) -> String {
    if equal {
        format!("{GOOD}as expected{GOOD:#}")
    } else {
        format!("{BAD}different{BAD:#}")
    }
}
