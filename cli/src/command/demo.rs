//! `warpline demo`: one capture of Linux soft-iWARP, at the narrowest and at the widest data path.

use std::ops::Range;

use anstream::println;
use include_dir::{Dir, include_dir};
use warpline_capture::{Capture, Segmentation};

use super::replay::{speed, stream, watched};
use super::terminal::{BAD, DIM, GOOD, STRONG, counted, grouped, open_card};
use super::{DIFFERENT, OK};
use crate::Error;
use crate::replay::{Replayed, Work};

/// The capture, inside the program: the demo runs anywhere.
static CAPTURE: Dir<'_> =
    include_dir!("$CARGO_MANIFEST_DIR/../testbenches/captures/crc1-rev2-mixed");
const WIDTHS: [usize; 2] = [64, 512];

pub(super) fn run() -> Result<u8, Error> {
    let folder = tempfile::tempdir().map_err(Error::write(std::env::temp_dir()))?;
    CAPTURE
        .extract(folder.path())
        .map_err(Error::write(folder.path()))?;
    let capture = Capture::open(folder.path())?;

    let mut differences = 0;
    for (i, width) in WIDTHS.into_iter().enumerate() {
        let card = open_card(width, false)?;
        let replayed = watched(&card, &capture, Segmentation::AsCaptured, width)?;
        if i == 0 {
            introduce(&replayed);
        }
        differences += replayed.differences.len();
        println!();
        print(&replayed);
    }
    Ok(if differences == 0 { OK } else { DIFFERENT })
}

fn introduce(replayed: &Replayed) {
    println!("An RDMA conversation of two Linux machines, into the receive path of warpline:");
    println!("{}", stream(&replayed.report, replayed.segments));
}

fn print(replayed: &Replayed) {
    let report = &replayed.report;
    println!("{STRONG}{} bits{STRONG:#}", report.width);
    println!("  {}", speed(report));
    for region in &replayed.plan.regions {
        let ranges = replayed.survey.tagged.get(&region.stag);
        if let Some(extent) = ranges.and_then(|ranges| extent(ranges)) {
            println!(
                "  RDMA Writes  {} into region {:#010x}, octets {:#x} to {:#x} {DIM}of {:#x}{DIM:#}",
                counted(octets(ranges.into_iter().flatten()), "octet"),
                region.stag,
                extent.start - region.base,
                extent.end - region.base - 1,
                region.length,
            );
        }
    }
    let messages = replayed.landed.work.iter().filter_map(|work| match work {
        Work::Received { length, .. } => Some(u64::from(*length)),
        _ => None,
    });
    let (count, sum) = messages.fold((0_u64, 0), |(count, sum), length| (count + 1, sum + length));
    println!(
        "  Sends        {} into the first {} of {} receive buffers",
        counted(sum, "octet"),
        grouped(count),
        replayed.plan.queues[0].count,
    );
    if replayed.differences.is_empty() {
        println!(
            "  {GOOD}Memory, receive buffers and completions equal Linux's, octet for octet.{GOOD:#}"
        );
    }
    for difference in &replayed.differences {
        println!("  {BAD}{difference}{BAD:#}");
    }
}

/// From the lowest to the highest.
fn extent(ranges: &[Range<u64>]) -> Option<Range<u64>> {
    let start = ranges.iter().map(|range| range.start).min()?;
    let end = ranges.iter().map(|range| range.end).max()?;
    Some(start..end)
}

fn octets<'r>(ranges: impl Iterator<Item = &'r Range<u64>>) -> u64 {
    ranges.map(|range| range.end - range.start).sum()
}
