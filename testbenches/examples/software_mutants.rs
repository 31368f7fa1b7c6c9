//! Plants faults in Rust crates with cargo-mutants and runs each crate's own tests on them; `make mutants-software` runs it.
//!
//! ```text
//! cargo run -p warpline-testbenches --example software_mutants -- [SHARD] [CRATE]...
//! ```
//!
//! `SHARD` is `k/n`, every n-th fault of a crate from the k-th on; or `recorded`, the sample of each crate that is recorded;
//! or `open`, the recorded survivors again, after a test was written. Results are added to `docs/mutants-software.json`, from
//! which `docs/mutants.md` is written. Without arguments four faults of one crate are planted, and nothing is recorded.
//! Ends with an error when a fault survives that `testbenches/mutants-software-equivalent.json` does not explain.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::{env, fs};

use serde::Deserialize;
use warpline_testbenches::mutant_records::{
    self, EQUIVALENT, Explained, Fate, Fault, SOFTWARE, Sample, Software, Tried,
};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
/// Crates, with the sample of each that is recorded.
const CRATES: &[(&str, &str)] = &[
    ("capture", "0/16"),
    ("driver", "0/28"),
    ("vfio-user", "0/20"),
    ("wire", "0/28"),
];
/// A sample that takes little time.
const SMALL: (&str, &str) = ("wire", "8/272");
/// Longest time of a build, in seconds.
const BUILD: &str = "600";
/// What cargo-mutants ends with when all was killed, when some survived, and when some took too long.
const ENDS: [i32; 3] = [0, 2, 3];

type Failure = Box<dyn std::error::Error>;

/// What cargo-mutants reports.
#[derive(Deserialize)]
struct Report {
    cargo_mutants_version: String,
    outcomes: Vec<Outcome>,
}

#[derive(Deserialize)]
struct Outcome {
    scenario: Scenario,
    summary: Summary,
}

#[derive(Deserialize)]
enum Scenario {
    Baseline,
    Mutant(Mutant),
}

#[derive(Deserialize)]
enum Summary {
    Success,
    CaughtMutant,
    MissedMutant,
    Unviable,
    Timeout,
    Failure,
}

#[derive(Deserialize)]
struct Mutant {
    name: String,
    file: String,
    span: Span,
}

#[derive(Deserialize)]
struct Span {
    start: Position,
}

#[derive(Deserialize)]
struct Position {
    line: usize,
    column: usize,
}

impl Mutant {
    fn fault(&self) -> Result<Fault, Failure> {
        let Position { line, column } = self.span.start;
        let place = format!("{}:{line}:{column}: ", self.file);
        let fault = self.name.strip_prefix(&place).ok_or("an unknown name")?;
        let source = fs::read_to_string(Path::new(ROOT).join(&self.file))?;
        let text = source.lines().nth(line - 1).ok_or("a line is gone")?;
        let indentation = text.len() - text.trim_start().len();
        Ok(Fault {
            file: self.file.clone(),
            line: text.trim().into(),
            column: column - indentation,
            fault: fault.into(),
        })
    }
}

/// cargo-mutants for the faults of a crate that `arguments` leave.
fn tool(name: &str, arguments: &[String]) -> Command {
    let mut command = Command::new(Path::new(ROOT).join(".venv/bin/cargo-mutants"));
    command
        .args(["mutants", "--package", &format!("warpline-{name}")])
        .args(arguments)
        .current_dir(ROOT);
    command
}

/// All faults of a crate that `arguments` leave.
fn list(name: &str, arguments: &[String]) -> Result<Vec<Fault>, Failure> {
    let output = tool(name, arguments)
        .args(["--list", "--json"])
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err("cargo-mutants cannot list the faults".into());
    }
    let mutants: Vec<Mutant> = serde_json::from_slice(&output.stdout)?;
    mutants.iter().map(Mutant::fault).collect()
}

/// Build products of sources with faults have a folder of their own. Optimisation costs more than it saves here.
fn run(
    name: &str,
    arguments: &[String],
    explained: &[Explained],
) -> Result<(String, Vec<Tried>), Failure> {
    let work = tempfile::tempdir()?;
    let target =
        env::var_os("CARGO_TARGET_DIR").map_or(Path::new(ROOT).join("target"), PathBuf::from);
    let status = tool(name, arguments)
        .args([
            "--jobs",
            "1",
            "--build-timeout",
            BUILD,
            "--no-times",
            "--output",
        ])
        .arg(work.path())
        .env("CARGO_TARGET_DIR", target.join("mutants"))
        .env("CARGO_PROFILE_DEV_OPT_LEVEL", "0")
        .env("CARGO_PROFILE_DEV_DEBUG", "false")
        .stdin(Stdio::null())
        .status()?;
    if !status.code().is_some_and(|code| ENDS.contains(&code)) {
        return Err(format!("cargo-mutants on {name}: {status}").into());
    }
    let report = fs::read(work.path().join("mutants.out/outcomes.json"))?;
    let report: Report = serde_json::from_slice(&report)?;
    let mut tried = Vec::new();
    for outcome in report.outcomes {
        let Scenario::Mutant(mutant) = outcome.scenario else {
            continue;
        };
        let fault = mutant.fault()?;
        let known = explained.iter().any(|explained| explained.fault == fault);
        let fate = match outcome.summary {
            Summary::CaughtMutant | Summary::Timeout => Fate::Killed,
            Summary::Unviable => Fate::Stillborn,
            Summary::MissedMutant if known => Fate::Equivalent,
            Summary::MissedMutant => Fate::Survived,
            Summary::Success | Summary::Failure => return Err("a fault was not tried".into()),
        };
        println!(
            "{name} {fate:?}: {} | {} | {}",
            fault.file, fault.line, fault.fault
        );
        tried.push(Tried { fault, fate });
    }
    Ok((report.cargo_mutants_version, tried))
}

fn shard(shard: &str) -> Vec<String> {
    ["--sharding", "round-robin", "--shard", shard]
        .map(String::from)
        .into()
}

/// Tries a sample's survivors again.
fn again(name: &str, sample: &mut Sample, explained: &[Explained]) -> Result<(), Failure> {
    let open = sample
        .mutants
        .iter()
        .filter(|tried| matches!(tried.fate, Fate::Survived | Fate::Equivalent));
    let open: BTreeSet<Fault> = open.map(|tried| tried.fault.clone()).collect();
    if open.is_empty() {
        return Ok(());
    }
    // Another fault of the same words and the same file is tried as well, and is no part of the sample.
    let mut arguments = Vec::new();
    for fault in &open {
        arguments.extend(["--file".into(), fault.file.clone()]);
        arguments.extend(["--re".into(), format!(": {}$", escaped(&fault.fault))]);
    }
    let listed: BTreeSet<Fault> = list(name, &arguments)?.into_iter().collect();
    if let Some(gone) = open.difference(&listed).next() {
        return Err(format!("there is no such fault now: {gone:?}").into());
    }
    let (tool, tried) = run(name, &arguments, explained)?;
    for tried in tried {
        let mut known = sample.mutants.iter_mut();
        if let Some(known) = known.find(|known| known.fault == tried.fault) {
            *known = tried;
        }
    }
    sample.tool = tool;
    Ok(())
}

/// `text` as a regular expression.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for character in text.chars() {
        // others must not be: \< and \> are the ends of a word
        if r"\.+*?()|[]{}^$".contains(character) {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

fn all(words: &[String]) -> Result<bool, Failure> {
    let root = Path::new(ROOT);
    let explained: Vec<Explained> = mutant_records::read(root, EQUIVALENT)?;
    let Some((chosen, named)) = words.split_first() else {
        let (name, small) = SMALL;
        let (_, tried) = run(name, &shard(small), &explained)?;
        return Ok(tried.iter().all(|tried| tried.fate != Fate::Survived));
    };
    let mut results: Software = mutant_records::read(root, SOFTWARE)?;
    let unknown = |named: &&String| CRATES.iter().all(|(name, _)| name != named);
    if let Some(unknown) = named.iter().find(unknown) {
        return Err(format!("nothing is planted in a crate {unknown}").into());
    }
    let mut passed = true;
    let names = CRATES
        .iter()
        .filter(|(name, _)| named.is_empty() || named.iter().any(|named| named == name));
    for &(name, recorded) in names {
        if chosen == "open" {
            let sample = results.get_mut(name).ok_or("there is no record yet")?;
            again(name, sample, &explained)?;
        } else {
            let chosen = if chosen == "recorded" {
                recorded
            } else {
                chosen
            };
            let candidates = list(name, &[])?.len();
            let (tool, mutants) = run(name, &shard(chosen), &explained)?;
            let sample = Sample {
                shard: chosen.into(),
                candidates,
                tool,
                mutants,
            };
            results.insert(name.into(), sample);
        }
        mutant_records::write(root, SOFTWARE, &results)?;
        passed &= results[name]
            .mutants
            .iter()
            .all(|tried| tried.fate != Fate::Survived);
    }
    Ok(passed)
}

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    match all(&words) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}
