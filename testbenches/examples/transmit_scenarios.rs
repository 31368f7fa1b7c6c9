//! Random request sequences through the device that sends, or one of them with a waveform.
//!
//! ```text
//! cargo run -p warpline-testbenches --example transmit_scenarios -- --width 512 --seed 0 --count 10000
//! cargo run -p warpline-testbenches --example transmit_scenarios -- --width 512 --seed 7 --trace seed.fst
//! ```
//!
//! `--minutes M` stops after that time. `--record FILE.json --commit C --widths '64 128'` runs seeds of several widths in turn
//! until `--count` sequences of them together are recorded; it takes up a record of the same text where it was stopped.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use warpline_design::{TOP, design, key_of};
use warpline_testbenches::lockstep::sources;
use warpline_testbenches::transmit_scenario::{Outcome, ScenarioError, config, run};
use warpline_verilate::{Model, Trace};

const USAGE: &str = "--width 64|128|256|512 --seed SEED [--count SEEDS] [--minutes M] [--trace FILE.fst], or --record FILE.json --count SEQUENCES [--widths '64 128'] [--minutes M] [--commit C]";
/// Seeds between two records.
const STEP: u64 = 100;

#[derive(Default)]
struct Arguments {
    widths: Vec<usize>,
    seed: u64,
    count: Option<u64>,
    minutes: Option<u64>,
    trace: Option<PathBuf>,
    record: Option<PathBuf>,
    commit: String,
}

fn parse(mut arguments: impl Iterator<Item = String>) -> Option<Arguments> {
    let mut parsed = Arguments::default();
    while let Some(name) = arguments.next() {
        let value = arguments.next()?;
        match name.as_str() {
            "--width" | "--widths" => {
                let widths = value.split_whitespace().map(|width| width.parse().ok());
                parsed.widths = widths.collect::<Option<_>>()?;
            }
            "--seed" => parsed.seed = value.parse().ok()?,
            "--count" => parsed.count = Some(value.parse().ok()?),
            "--minutes" => parsed.minutes = Some(value.parse().ok()?),
            "--trace" => parsed.trace = Some(value.into()),
            "--record" => parsed.record = Some(value.into()),
            "--commit" => parsed.commit = value,
            _ => return None,
        }
    }
    if parsed.widths.is_empty() {
        parsed.widths = vec![64, 128, 256, 512];
    }
    Some(parsed)
}

fn model(width: usize, trace: bool) -> Result<Model, Box<dyn Error>> {
    let build = sources(TOP, &design(&config(width))?);
    Ok(match trace {
        true => build.trace(Trace::Fst).open()?,
        false => build.open()?,
    })
}

/// What a width has gone through.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Width {
    width: usize,
    /// Seeds from 0 up to this one were run.
    seeds: u64,
    sequences: u64,
    requests: u64,
    octets: u64,
    cycles: u64,
    seconds: f64,
    failures: Vec<String>,
}

/// What was run of one text of the devices.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Record {
    text: String,
    commit: String,
    widths: Vec<Width>,
}

fn write(path: &Path, records: &[Record]) -> Result<(), Box<dyn Error>> {
    let new = path.with_extension("new");
    std::fs::write(&new, serde_json::to_string_pretty(records)? + "\n")?;
    Ok(std::fs::rename(new, path)?)
}

/// Runs widths in turn, whichever has the fewest sequences, until all together have enough.
fn record(arguments: &Arguments, path: &Path) -> Result<bool, Box<dyn Error>> {
    let began = Instant::now();
    let designs = arguments.widths.iter().map(|width| design(&config(*width)));
    let text = key_of(&designs.collect::<Result<Vec<_>, _>>()?);
    let mut records: Vec<Record> = match path.exists() {
        true => serde_json::from_str(&std::fs::read_to_string(path)?)?,
        false => vec![],
    };
    let former = records.iter().position(|record| record.text == text);
    let mut record = match former.map(|at| records.remove(at)) {
        Some(record) => record,
        None => Record {
            text,
            commit: String::new(),
            widths: vec![],
        },
    };
    record.commit.clone_from(&arguments.commit);
    let models = arguments.widths.iter().map(|width| model(*width, false));
    let mut models = models.collect::<Result<Vec<_>, _>>()?;
    for &width in &arguments.widths {
        if !record.widths.iter().any(|found| found.width == width) {
            record.widths.push(Width {
                width,
                seeds: 0,
                sequences: 0,
                requests: 0,
                octets: 0,
                cycles: 0,
                seconds: 0.0,
                failures: vec![],
            });
        }
    }
    records.push(record);
    let count = arguments.count.unwrap_or(300_000);
    loop {
        write(path, &records)?;
        let late = arguments
            .minutes
            .is_some_and(|m| began.elapsed().as_secs() / 60 >= m);
        let Some(record) = records.last_mut() else {
            return Ok(false);
        };
        let widths = record.widths.iter_mut();
        let mut widths: Vec<_> = widths
            .filter(|found| arguments.widths.contains(&found.width))
            .collect();
        let enough = widths.iter().map(|found| found.sequences).sum::<u64>() >= count;
        widths.sort_by_key(|found| found.sequences);
        let Some(lags) = widths.into_iter().next().filter(|_| !enough && !late) else {
            break;
        };
        let at = arguments
            .widths
            .iter()
            .position(|width| *width == lags.width);
        let model = &mut models[at.ok_or("a width without a model")?];
        let step = Instant::now();
        for seed in lags.seeds..lags.seeds + STEP {
            match run(model, lags.width, seed) {
                Ok(outcome) => {
                    lags.sequences += outcome.sequences;
                    lags.requests += outcome.requests;
                    lags.octets += outcome.octets;
                    lags.cycles += outcome.cycles;
                }
                Err(error @ ScenarioError::Wrong { .. }) => {
                    let replay = error.replay(lags.width);
                    lags.failures.push(format!("{error}: {replay}"));
                }
                Err(error) => return Err(error.into()),
            }
            lags.seeds = seed + 1;
        }
        lags.seconds += step.elapsed().as_secs_f64();
    }
    let failures = records.iter().flat_map(|record| &record.widths);
    let failures: Vec<&String> = failures.flat_map(|width| &width.failures).collect();
    failures.iter().for_each(|failure| println!("{failure}"));
    Ok(failures.is_empty())
}

fn seeds(arguments: &Arguments) -> Result<bool, Box<dyn Error>> {
    for &width in &arguments.widths {
        let mut model = model(width, arguments.trace.is_some())?;
        if let Some(trace) = &arguments.trace {
            model.trace_open(trace)?;
        }
        let (began, mut all) = (Instant::now(), Outcome::default());
        let mut failures = 0;
        for seed in (arguments.seed..).take(arguments.count.unwrap_or(1) as usize) {
            if arguments
                .minutes
                .is_some_and(|m| began.elapsed().as_secs() / 60 >= m)
            {
                break;
            }
            match run(&mut model, width, seed) {
                Ok(outcome) => all.add(&outcome),
                Err(error) => {
                    println!("{error}\n{}", error.replay(width));
                    failures += 1;
                }
            }
        }
        let Outcome {
            sequences,
            requests,
            octets,
            cycles,
            ..
        } = all;
        println!(
            "width {width}: {sequences} sequences, {requests} requests, {octets} octets, {cycles} cycles in {:?}, {failures} failures",
            began.elapsed()
        );
        println!("{:?}; missing {:?}", all.coverage.0, all.missing());
        if failures > 0 {
            return Ok(false);
        }
    }
    Ok(true)
}

fn main() -> ExitCode {
    let Some(arguments) = parse(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let done = match &arguments.record {
        Some(path) => record(&arguments, path),
        None => seeds(&arguments),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
