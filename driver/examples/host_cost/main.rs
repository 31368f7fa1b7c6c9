//! Instructions that the host spends on a message, counted by callgrind; `make host-cost` runs it.
//!
//! ```text
//!   host_cost ─► valgrind ─► host_cost CASE ROUNDS      in `measured` callgrind counts, elsewhere not
//!                               card writes completions ─► measured: the driver polls, posts ─► doorbells reach the card
//! ```
//!
//! Each case runs with two numbers of rounds, and their difference is divided by the items in between: what is not
//! per item falls out. All is done twice, and two results that differ are an error, for instructions do not depend on
//! the machine's load. `--record FILE` writes the result, `--against FILE` compares with one: 5 % more is exit code 1.

mod callgrind;
mod cases;
#[path = "../../tests/peer/mod.rs"]
mod peer;
mod posted_writes;
#[path = "../../tests/software_card/mod.rs"]
mod software_card;

use std::collections::BTreeMap;
use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::{env, fs};

use cases::CASES;
use serde::{Deserialize, Serialize};

/// Rounds of a case's two runs.
const ROUNDS: [u64; 2] = [20, 60];
/// Growth that is an error, in percent.
const GROWTH: f64 = 5.0;
/// Octets of a long message.
const LONG: f64 = cases::LONG as f64 / 1024.0;

/// What was counted.
#[derive(Debug, Serialize, Deserialize)]
struct Report {
    /// Instructions for each item of a case.
    instructions: BTreeMap<String, f64>,
    /// Instructions for each KiB that is received in messages of 8 KiB.
    per_kib: BTreeMap<String, f64>,
    /// How many times the driver's instructions a receiver in software needs for the same KiB.
    ratio: f64,
    valgrind: String,
    rustc: String,
}

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

fn count() -> Result<Report> {
    let valgrind = callgrind::version()?;
    let mut instructions = BTreeMap::new();
    for case in CASES {
        let run = || -> Result<u64> {
            let [few, many] = ROUNDS.map(|rounds| callgrind::count(case.name, rounds));
            Ok(many?.saturating_sub(few?))
        };
        let (first, second) = (run()?, run()?);
        if first != second {
            let name = case.name;
            return Err(format!("{name}: {first} instructions, then {second}: not exact").into());
        }
        let items = (ROUNDS[1] - ROUNDS[0]) * case.items;
        let each = (first as f64 / items as f64 * 10.0).round() / 10.0;
        println!("{:24} {each:10.1} instructions", case.name);
        instructions.insert(case.name.to_owned(), each);
    }
    let round = |value: f64| (value * 10.0).round() / 10.0;
    let per_kib: BTreeMap<String, f64> = [
        ("driver", instructions["received-message"] / LONG),
        ("software-receiver", instructions["software-receiver-kib"]),
        ("copy-and-crc-instruction", instructions["copy-and-crc-kib"]),
    ]
    .map(|(name, value)| (name.to_owned(), round(value)))
    .into();
    Ok(Report {
        ratio: round(per_kib["software-receiver"] / per_kib["driver"]),
        instructions,
        per_kib,
        valgrind,
        rustc: callgrind::first_line("rustc", "--version")?,
    })
}

/// Figures of `now` that are more than [`GROWTH`] above those of `before`, one of them each.
fn grown(now: &Report, before: &Report) -> Vec<String> {
    let more = |(name, value): (&String, &f64)| {
        let old = before.instructions.get(name)?;
        let limit = old * (1.0 + GROWTH / 100.0);
        (*value > limit).then(|| format!("{name}: {value} instructions instead of {old}"))
    };
    now.instructions.iter().filter_map(more).collect()
}

fn run(words: &[String]) -> Result<()> {
    let usage = "usage: host_cost [--record FILE] [--against FILE], or host_cost CASE ROUNDS";
    if let [name, rounds] = words
        && let Some(case) = CASES.iter().find(|case| case.name == name)
    {
        return (case.run)(rounds.parse()?);
    }
    let (mut record, mut against) = (None, None);
    for pair in words.chunks(2) {
        match pair {
            [word, file] if word == "--record" => record = Some(PathBuf::from(file)),
            [word, file] if word == "--against" => against = Some(PathBuf::from(file)),
            _ => return Err(usage.into()),
        }
    }
    let before: Option<Report> = match against {
        Some(file) => Some(serde_json::from_str(&fs::read_to_string(file)?)?),
        None => None,
    };
    let report = count()?;
    println!(
        "a received KiB: {} instructions of the driver, {} of a receiver in software, {} of a copy and the CRC instruction",
        report.per_kib["driver"],
        report.per_kib["software-receiver"],
        report.per_kib["copy-and-crc-instruction"]
    );
    if let Some(file) = record {
        fs::write(file, serde_json::to_string_pretty(&report)? + "\n")?;
    }
    let worse = before.map_or_else(Vec::new, |before| grown(&report, &before));
    match worse.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "more than {GROWTH} % above the record: {}",
            worse.join("; ")
        )
        .into()),
    }
}

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    match run(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("host_cost: {error}");
            ExitCode::FAILURE
        }
    }
}
