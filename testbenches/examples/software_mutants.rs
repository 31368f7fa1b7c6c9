//! Plants faults in Rust crates with cargo-mutants and runs each crate's own tests on them; `make mutants-software` runs it.
//!
//! ```text
//! cargo run -p warpline-testbenches --example software_mutants -- [SHARD] [CRATE]...
//! ```
//!
//! `SHARD` is `k/n`, every n-th fault of a crate from the k-th on; or `recorded`, the sample of each crate that is recorded;
//! or `open`, the recorded survivors again, after a test was written. Beside the crates there is `driver-rings`: those files of
//! `driver` that the card's memory and rings are in. Results are added to `docs/mutants-software.json`, from
//! which `docs/mutants.md` is written. Without arguments four faults of one crate are planted, and nothing is recorded.
//! Ends with an error when a fault survives that `testbenches/mutants-software-equivalent.json` does not explain.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::{env, fs};

use serde::Deserialize;
use warpline_testbenches::mutant_records::{
    self, EQUIVALENT, Explained, Fate, Fault, SOFTWARE, Sample, Software, Tried,
};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
/// What faults are planted in.
struct Subject {
    name: &'static str,
    /// The crate, without `warpline-`.
    package: &'static str,
    /// Those of its files that count, or none for all.
    files: &'static [&'static str],
    /// The library's own tests, which are quickly built and run, notice many: what survives them meets the others as well.
    library_first: bool,
    /// The sample that is recorded.
    recorded: &'static str,
}

impl Subject {
    const fn of_crate(name: &'static str, recorded: &'static str) -> Self {
        Self {
            name,
            package: name,
            files: &[],
            library_first: false,
            recorded,
        }
    }
}

const SUBJECTS: &[Subject] = &[
    Subject::of_crate("capture", "0/36"),
    Subject {
        library_first: true,
        ..Subject::of_crate("driver", "0/30")
    },
    Subject {
        name: "driver-rings",
        package: "driver",
        files: &[
            "driver/src/memory.rs",
            "driver/src/dma.rs",
            "driver/src/iova.rs",
            "driver/src/receive_ring.rs",
            "driver/src/send_ring.rs",
            "driver/src/completion.rs",
        ],
        library_first: true,
        recorded: "0/1",
    },
    Subject::of_crate("vfio-user", "0/20"),
    Subject::of_crate("wire", "0/28"),
];
/// A sample that takes little time.
const SMALL: (&str, &str) = ("wire", "8/272");
/// Which tests are built and run.
const LIBRARY: &[&str] = &["--cargo-arg=--lib"];
const ALL: &[&str] = &["--cargo-arg=--lib", "--cargo-arg=--tests"];
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

#[derive(PartialEq, Eq, Deserialize)]
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

/// cargo-mutants for the faults of a subject that `arguments` leave.
fn tool(subject: &Subject, arguments: &[String]) -> Command {
    let mut command = Command::new(Path::new(ROOT).join(".venv/bin/cargo-mutants"));
    command
        .args(["mutants", "--package"])
        .arg(format!("warpline-{}", subject.package))
        .args(subject.files.iter().map(|file| format!("--file={file}")))
        .args(arguments)
        .current_dir(ROOT);
    command
}

/// All faults of a subject, with the names that cargo-mutants knows them by.
fn list(subject: &Subject) -> Result<Vec<(Fault, String)>, Failure> {
    let output = tool(subject, &[])
        .args(["--list", "--json"])
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err("cargo-mutants cannot list the faults".into());
    }
    let mutants: Vec<Mutant> = serde_json::from_slice(&output.stdout)?;
    let named = mutants
        .into_iter()
        .map(|mutant| Ok((mutant.fault()?, mutant.name)));
    named.collect()
}

/// Runs cargo-mutants with those tests on the faults that `arguments` leave.
///
/// Build products of sources with faults have a folder of their own. Optimisation costs more than it saves here.
fn outcomes(
    subject: &Subject,
    arguments: &[String],
    tests: &[&str],
) -> Result<(String, Vec<(Mutant, Summary)>), Failure> {
    let work = tempfile::tempdir()?;
    let target =
        env::var_os("CARGO_TARGET_DIR").map_or(Path::new(ROOT).join("target"), PathBuf::from);
    let status = tool(subject, arguments)
        .args(tests)
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
        return Err(format!("cargo-mutants on {}: {status}", subject.name).into());
    }
    let report = fs::read(work.path().join("mutants.out/outcomes.json"))?;
    let report: Report = serde_json::from_slice(&report)?;
    let tried = report.outcomes.into_iter();
    let tried = tried.filter_map(|outcome| match outcome.scenario {
        Scenario::Baseline => None,
        Scenario::Mutant(mutant) => Some((mutant, outcome.summary)),
    });
    Ok((report.cargo_mutants_version, tried.collect()))
}

/// What became of the faults that `arguments` leave, and the version of cargo-mutants.
fn run(
    subject: &Subject,
    arguments: &[String],
    explained: &[Explained],
) -> Result<(String, Vec<Tried>), Failure> {
    let first = if subject.library_first { LIBRARY } else { ALL };
    let (tool, mut tried) = outcomes(subject, arguments, first)?;
    let missed = tried
        .iter()
        .filter(|(_, end)| *end == Summary::MissedMutant);
    let missed = only(missed.map(|(mutant, _)| &*mutant.name));
    if subject.library_first && !missed.is_empty() {
        for (mutant, end) in outcomes(subject, &missed, ALL)?.1 {
            let before = tried
                .iter_mut()
                .find(|(before, _)| before.name == mutant.name);
            // Others were not asked for.
            if let Some((_, before)) = before {
                *before = end;
            }
        }
    }
    let mut results = Vec::new();
    for (mutant, end) in tried {
        let fault = mutant.fault()?;
        let known = explained.iter().any(|explained| explained.fault == fault);
        let fate = match end {
            Summary::CaughtMutant | Summary::Timeout => Fate::Killed,
            Summary::Unviable => Fate::Stillborn,
            Summary::MissedMutant if known => Fate::Equivalent,
            Summary::MissedMutant => Fate::Survived,
            Summary::Success | Summary::Failure => return Err("a fault was not tried".into()),
        };
        println!(
            "{} {fate:?}: {} | {} | {}",
            subject.name, fault.file, fault.line, fault.fault
        );
        results.push(Tried { fault, fate });
    }
    Ok((tool, results))
}

/// Arguments that leave the faults of these names. cargo-mutants 27.1.0 keeps fields that are deleted, too, whatever it is asked for.
fn only<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    names
        .flat_map(|name| ["--re".into(), format!("^{}$", escaped(name))])
        .collect()
}

fn shard(shard: &str) -> Vec<String> {
    ["--sharding", "round-robin", "--shard", shard]
        .map(String::from)
        .into()
}

/// Tries a sample's survivors again.
fn again(subject: &Subject, sample: &mut Sample, explained: &[Explained]) -> Result<(), Failure> {
    let listed = list(subject)?;
    let open = sample
        .mutants
        .iter()
        .filter(|tried| matches!(tried.fate, Fate::Survived | Fate::Equivalent));
    let mut names = Vec::new();
    for Tried { fault, .. } in open {
        let same = listed.iter().find(|(listed, _)| listed == fault);
        let (_, name) = same.ok_or_else(|| format!("there is no such fault now: {fault:?}"))?;
        names.push(name.as_str());
    }
    if names.is_empty() {
        return Ok(());
    }
    let (tool, tried) = run(subject, &only(names.into_iter()), explained)?;
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
        let mut subjects = SUBJECTS.iter();
        let subject = subjects.find(|subject| subject.name == name);
        let (_, tried) = run(subject.ok_or("no sample")?, &shard(small), &explained)?;
        return Ok(tried.iter().all(|tried| tried.fate != Fate::Survived));
    };
    let unknown = |named: &&String| SUBJECTS.iter().all(|subject| subject.name != **named);
    if let Some(unknown) = named.iter().find(unknown) {
        return Err(format!("nothing is planted in a crate {unknown}").into());
    }
    let mut passed = true;
    let subjects = SUBJECTS
        .iter()
        .filter(|subject| named.is_empty() || named.iter().any(|named| named == subject.name));
    for subject in subjects {
        let name = subject.name;
        let sample = if chosen == "open" {
            let mut before: Software = mutant_records::read(root, SOFTWARE)?;
            let mut sample = before.remove(name).ok_or("there is no record yet")?;
            again(subject, &mut sample, &explained)?;
            sample
        } else {
            let chosen = if chosen == "recorded" {
                subject.recorded
            } else {
                chosen
            };
            let candidates = list(subject)?.len();
            let (tool, mutants) = run(subject, &shard(chosen), &explained)?;
            Sample {
                shard: chosen.into(),
                candidates,
                tool,
                mutants,
            }
        };
        // Read late: another run may have added to it.
        let mut results: Software = mutant_records::read(root, SOFTWARE)?;
        results.insert(name.into(), sample);
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
