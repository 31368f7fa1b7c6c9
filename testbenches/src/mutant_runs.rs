//! Runs of a bench with planted faults: what `make mutants` does with each, and a few that `make test` plants each time.
//!
//! ```text
//!   binary of a bench, LIST ──► texts ──► Candidate, Candidate, … ── seed ─► one after the other
//!   the same binary, PLANT ──► Fate
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::error::Error;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use fastrand::Rng;

use warpline_verilate::Build;

use crate::mutant_records::Fate;
use crate::mutants::{self, LIST, Mutant, PACKAGE, PLANT, file};

/// Longest silence of a bench with a fault: a device that hangs is noticed, too.
const SILENCE: Duration = Duration::from_secs(300);
/// Widths whose designs are left out, as their names end: they have the statements of 64 bits, and more of each.
const WIDER: [&str; 3] = ["128", "256", "512"];

/// A fault that a bench's designs allow, and the folder with the texts of one of them.
#[derive(Debug)]
pub struct Candidate {
    /// The fault.
    pub mutant: Mutant,
    texts: PathBuf,
}

/// The bench's tests at 64 bits, `side_by_side` of them at a time, with `variable` set.
#[must_use]
pub fn tests(binary: &Path, side_by_side: u8, variable: &str, value: &str) -> Command {
    let mut command = Command::new("timeout");
    command
        .args(["--kill-after=5", "1800"])
        .arg(binary)
        .arg(format!("--test-threads={side_by_side}"))
        .args(WIDER.map(|width| format!("--skip={width}")))
        .env(variable, value)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command
}

/// Runs the tests up to the first that fails.
///
/// # Errors
/// When they cannot be started.
pub fn fate(mut command: Command) -> Result<Fate, Box<dyn Error>> {
    let mut child = command.spawn()?;
    let output = child.stdout.take().ok_or("no output")?;
    let (sender, lines) = mpsc::channel();
    let reader = thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    let mut fate = Fate::Survived;
    loop {
        match lines.recv_timeout(SILENCE) {
            Ok(line) if line.contains("... FAILED") => {
                fate = Fate::Killed;
                break;
            }
            Ok(_) => {}
            Err(mpsc::RecvTimeoutError::Timeout) => {
                fate = Fate::Killed;
                break;
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                if !child.wait()?.success() {
                    fate = Fate::Killed; // it crashed, or took too long
                }
                break;
            }
        }
    }
    let _ = Command::new("pkill")
        .args(["-KILL", "-P", &child.id().to_string()])
        .status();
    let _ = child.kill();
    child.wait()?;
    drop(lines);
    reader.join().map_err(|_| "the reader has panicked")?;
    Ok(fate)
}

/// What is in a folder.
///
/// # Errors
/// When it cannot be read.
pub fn entries(folder: &Path) -> Result<BTreeSet<PathBuf>, Box<dyn Error>> {
    let entries = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path()));
    Ok(entries.collect::<Result<_, _>>()?)
}

/// All faults that the texts in `list` allow; `module` is the only one that counts, or nothing.
///
/// Designs of other parameters have the same statements: each statement counts once.
///
/// # Errors
/// When the texts cannot be read.
pub fn candidates(list: &Path, module: Option<&str>) -> Result<Vec<Candidate>, Box<dyn Error>> {
    let mut found = BTreeMap::new();
    for texts in entries(list)? {
        if WIDER.iter().any(|width| name(&texts).ends_with(width)) {
            continue;
        }
        for path in entries(&texts)? {
            let name = name(&path);
            if name == PACKAGE || module.is_some_and(|module| module != name) {
                continue;
            }
            let name = if name == "top" { String::new() } else { name };
            for mutant in mutants::mutants(&name, &fs::read_to_string(&path)?) {
                let statement = format!("{} {}", mutant.occurrence, mutant.right);
                let key = (name.clone(), statement, mutant.wrong.clone());
                let texts = texts.clone();
                found.entry(key).or_insert(Candidate { mutant, texts });
            }
        }
    }
    Ok(found.into_values().collect())
}

fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Whether Verilator takes the text with the fault.
///
/// # Errors
/// When the texts cannot be read, or Verilator does not take them without the fault either.
pub fn is_legal(candidate: &Candidate) -> Result<bool, Box<dyn Error>> {
    let Candidate { mutant, texts } = candidate;
    let mut right = BTreeMap::new();
    for path in entries(texts)? {
        right.insert(name(&path), fs::read_to_string(path)?);
    }
    let mut wrong = right.clone();
    let text = wrong
        .get_mut(file(&mutant.module))
        .ok_or("no such module")?;
    *text = mutants::planted(text, mutant).ok_or("the statement is gone")?;
    let top = name(texts);
    let lint = |mut texts: BTreeMap<String, String>| {
        let package = texts.remove_entry(PACKAGE);
        let sources = package.into_iter().chain(texts);
        let build = Build::new(top.as_str());
        let add = |build: Build, (name, text)| build.source(format!("{name}.sv"), text);
        sources.fold(build, add).lint()
    };
    lint(right)?;
    match lint(wrong) {
        Ok(_) => Ok(true),
        Err(warpline_verilate::Error::Verilator { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Plants a fixed sample of `count` faults in what the bench builds that this runs in, and runs its tests on each that have one of
/// `names` in theirs. Returns the faults that none of them notices. The test that calls this is none of them.
///
/// # Errors
/// When one of them fails without a fault, or cannot be run.
pub fn unnoticed(count: usize, seed: u64, names: &[&str]) -> Result<Vec<Mutant>, Box<dyn Error>> {
    let binary = env::current_exe()?;
    // One at a time: what runs beside a test that fails is stopped, and so would never be in the cache of models.
    let run = |variable, value: &str| {
        let mut command = tests(&binary, 1, variable, value);
        command.args(names);
        fate(command)
    };
    let list = tempfile::tempdir()?;
    let path = list.path().to_str().ok_or("a folder's name is not UTF-8")?;
    if run(LIST, path)? != Fate::Survived {
        return Err("it fails without a fault".into());
    }
    let mut candidates = candidates(list.path(), None)?;
    Rng::with_seed(seed).shuffle(&mut candidates);
    let mut unnoticed = Vec::new();
    let mut planted = 0;
    for candidate in candidates {
        if planted == count {
            break;
        }
        if is_legal(&candidate)? {
            planted += 1;
            let fault = serde_json::to_string(&candidate.mutant)?;
            if run(PLANT, &fault)? == Fate::Survived {
                unnoticed.push(candidate.mutant);
            }
        }
    }
    match planted == count {
        true => Ok(unnoticed),
        false => Err(format!("only {planted} faults can be planted").into()),
    }
}
