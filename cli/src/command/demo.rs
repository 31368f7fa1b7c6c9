//! `warpline demo`: one capture of Linux soft-iWARP, at the narrowest and at the widest data path.

use std::ops::Range;

use include_dir::{Dir, include_dir};
use warpline_capture::{Capture, Segmentation};

use super::exit_code::{DIFFERENT, OK};
use super::replay::{speed, stream, watched};
use super::terminal::{BAD, DIM, GOOD, STRONG, grouped, open_card, show};
use crate::Error;
use crate::options::Demo as Options;
use crate::replay::{CompletionReport, Region, Replay, Replayed, Work};

/// The capture, embedded in the program: the demo needs no files.
static CAPTURE: Dir<'_> =
    include_dir!("$CARGO_MANIFEST_DIR/../testbenches/captures/crc1-rev2-mixed");
const WIDTHS: [usize; 2] = [64, 512];

pub(super) fn run(options: &Options) -> Result<u8, Error> {
    let folder = tempfile::tempdir().map_err(Error::write(std::env::temp_dir()))?;
    let extracted = CAPTURE.extract(folder.path());
    extracted.map_err(Error::write(folder.path()))?;
    let captured = Replay::new(&Capture::open(folder.path())?)?;

    let mut equal = true;
    let mut reports = Vec::new();
    for (i, width) in WIDTHS.into_iter().enumerate() {
        let card = open_card(width, false, false)?;
        let replayed = watched(&card, &captured, Segmentation::AsCaptured, width)?;
        equal &= replayed.differences.is_empty();
        if options.json {
            reports.push(replayed.report);
            continue;
        }
        if i == 0 {
            show(&format!(
                "RDMA traffic that Linux received, into the memory of a simulated warpline card\n{}\n",
                stream(&replayed.report, replayed.segments)
            ))?;
        }
        show(&result(&replayed))?;
    }
    if options.json {
        show(&(serde_json::to_string(&reports)? + "\n"))?;
    }
    Ok(if equal { OK } else { DIFFERENT })
}

fn result(replayed: &Replayed) -> String {
    let report = &replayed.report;
    let mut text = format!(
        "\n{STRONG}{:>3} bits{STRONG:#}  {}\n",
        report.width,
        speed(report)
    );
    for region in &replayed.plan.regions {
        if let Some(ranges) = replayed.survey.tagged.get(&region.stag) {
            text += &writes(region, ranges);
        }
    }
    let lengths = replayed.landed.work.iter().filter_map(|work| match work {
        Work::Received { length, .. } => Some(u64::from(*length)),
        _ => None,
    });
    let (count, octets) = lengths.fold((0, 0), |(count, octets), n| (count + 1, octets + n));
    text += &line(
        octets,
        "Sends",
        &format!(
            "{count} of {} receive buffers",
            replayed.plan.queues[0].count
        ),
    );
    let requests = report
        .completions
        .iter()
        .filter_map(|message| match message {
            CompletionReport::Untagged {
                queue: 1, length, ..
            } => Some(u64::from(*length)),
            _ => None,
        });
    text += &line(requests.sum(), "Read Requests", "queue 1");
    if replayed.differences.is_empty() {
        text += &format!(
            "          {GOOD}memory, receive buffers and completions equal Linux's, octet for octet{GOOD:#}\n"
        );
    }
    for difference in &replayed.differences {
        text += &format!("          {BAD}{difference}{BAD:#}\n");
    }
    text
}

/// A line: octets received, and where they were placed.
fn line(octets: u64, what: &str, place: &str) -> String {
    format!(
        "          {:>7} octets of {what:<13} {DIM}→{DIM:#} {place}\n",
        grouped(octets)
    )
}

fn writes(region: &Region, ranges: &[Range<u128>]) -> String {
    let start = ranges.iter().map(|range| range.start).min().unwrap_or(0);
    let end = ranges.iter().map(|range| range.end).max().unwrap_or(0);
    let octets: u128 = ranges.iter().map(|range| range.end - range.start).sum();
    let place = format!(
        "STag {:#010x}, Tagged Offsets {start:#x} to {:#x}",
        region.stag,
        end.saturating_sub(1)
    );
    line(octets as u64, "RDMA Writes", &place) // fewer than the stream has
}
