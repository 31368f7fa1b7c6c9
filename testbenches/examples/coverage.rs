//! Coverage of random streams at all widths, with what tests have left in `WARPLINE_COVERAGE`; `make coverage` runs it.
//!
//! ```text
//! WARPLINE_COVERAGE=DIR cargo run -p warpline-testbenches --example coverage -- STREAMS
//! ```
//!
//! `WARPLINE_COVERAGE_WIDTHS="64 512"` leaves the other widths out.
//!
//! Without the directory the RTL's lines and toggles are not counted, which takes minutes less for each width.
//! Ends with an error when something was not reached that has to be.

use std::path::Path;
use std::process::ExitCode;

use warpline_design::{design, key_of};
use warpline_hdl::Config;
use warpline_testbenches::coverage::{self, Report, Run};
use warpline_testbenches::scenario::{Tally, run_chain, run_missing};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
/// Scenarios that share a card: what a card has counted is a large file.
const CARD: u64 = 256;
/// Seeds behind those of the streams, among whose scenarios what was not reached is looked for.
const SEARCHED: u64 = 10_000;

fn run(streams: usize, widths: &[usize]) -> Result<Report, Box<dyn std::error::Error>> {
    let mut all = Tally::default();
    let (mut designs, mut runs, mut waivers) = (Vec::new(), Vec::new(), Vec::new());
    let directory = coverage::directory();
    if directory.is_some() {
        waivers = coverage::waivers(&Path::new(ROOT).join("testbenches/coverage-waivers.json"))?;
    }
    for &width in widths {
        let config = Config::simulated(width);
        let design = design(&config)?;
        let (mut tally, mut seed) = (Tally::default(), 0);
        while tally.streams < streams {
            run_chain(&config, seed..seed + CARD, None, &mut tally)?;
            seed += CARD;
        }
        run_missing(&config, seed..seed + SEARCHED, &mut tally)?;
        eprintln!("width {width}: {tally}");
        all.merge(&tally);
        if let Some(directory) = &directory {
            runs.push(Run {
                width,
                coverage: coverage::kept(directory, width)?,
                texts: design.files().into_iter().collect(),
            });
        }
        designs.push(design);
    }
    let text = key_of(&designs);
    Ok(Report::new(
        text, streams, widths, &all.bins, &runs, &waivers,
    ))
}

fn write(report: &Report) -> Result<(), Box<dyn std::error::Error>> {
    let docs = Path::new(ROOT).join("docs");
    std::fs::write(docs.join("coverage.md"), report.markdown())?;
    let json = serde_json::to_string_pretty(report)? + "\n";
    Ok(std::fs::write(docs.join("coverage.json"), json)?)
}

fn main() -> ExitCode {
    let Some(Ok(streams)) = std::env::args().nth(1).map(|streams| streams.parse()) else {
        eprintln!("STREAMS");
        return ExitCode::from(2);
    };
    let report = coverage::widths().and_then(|widths| run(streams, &widths));
    match report.and_then(|report| write(&report).map(|()| report)) {
        Ok(report) if report.problems.is_empty() => ExitCode::SUCCESS,
        Ok(report) => {
            eprintln!("{}", report.problems.join("\n"));
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
