//! Plants faults in the written text of each block and runs the block's bench on it; `make mutants` runs it.
//!
//! ```text
//! cargo run -p warpline-testbenches --example mutants -- MUTANTS SEED [BENCH]...
//! ```
//!
//! For each bench, that many mutants are drawn by the seed from all that `warpline_testbenches::mutants` can make of the texts
//! that the bench builds at 64 bits. Tests of other widths are left out. Results are added to `docs/mutants.json`, from which
//! `docs/mutants.md` is written. Without benches, those of the sample that CI runs are meant.
//! Ends with an error when a mutant survives that `testbenches/mutants-equivalent.json` does not explain.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc;
use std::time::Duration;
use std::{env, fs};

use fastrand::Rng;
use serde::Deserialize;
use warpline_testbenches::mutant_records::{self, Fate, Planted, TEXTS, Texts};
use warpline_testbenches::mutants::{LIST, Mutant, PLANT, file, mutants};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
/// Benches of one block each.
const BENCHES: &[&str] = &[
    "lane_ram",
    "queue",
    "rotate",
    "admit",
    "assembly",
    "commit",
    "stream_end",
    "fetch",
    "scan",
    "strip",
    "window",
    "check",
    "deliver",
    "place",
    "frame",
    "command_arbiter",
    "completion",
    "interrupts",
    "receive_rings",
    "registers",
    "write_mux",
];
/// Those of a sample that takes little time.
const SAMPLE: &[&str] = &["queue", "window", "place", "interrupts"];
/// Longest silence of a bench with a fault: a device that hangs is noticed, too.
const SILENCE: Duration = Duration::from_secs(300);

type Failure = Box<dyn std::error::Error>;

/// Why a survivor cannot be noticed.
#[derive(Debug, Deserialize)]
struct Equivalent {
    bench: String,
    module: String,
    right: String,
    wrong: String,
    #[expect(dead_code, reason = "for readers of the list")]
    reason: String,
}

fn binary(bench: &str) -> Result<PathBuf, Failure> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let arguments = [
        "test",
        "--package",
        "warpline-testbenches",
        "--no-run",
        "--message-format=json",
        "--test",
        bench,
    ];
    let output = Command::new(cargo)
        .args(arguments)
        .current_dir(ROOT)
        .stderr(Stdio::inherit())
        .output()?;
    let text = String::from_utf8(output.stdout)?;
    let lines = text
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let mut found = lines.filter_map(|line| {
        Some(
            (line["target"]["name"] == bench)
                .then_some(line["executable"].as_str()?)?
                .to_owned(),
        )
    });
    Ok(found
        .next_back()
        .ok_or_else(|| format!("there is no bench {bench}"))?
        .into())
}

/// The bench's tests at 64 bits, with `variable` set.
fn tests(binary: &Path, cache: &Path, variable: &str, value: &str) -> Command {
    let mut command = Command::new("timeout");
    command
        .args(["--kill-after=5", "1800"])
        .arg(binary)
        .args(["--test-threads=2", "--skip=128", "--skip=256", "--skip=512"])
        .current_dir(Path::new(ROOT).join("testbenches"))
        .env("WARPLINE_CACHE", cache)
        .env(variable, value)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command
}

/// Runs the tests up to the first that fails.
fn fate(mut command: Command) -> Result<Fate, Failure> {
    let mut child = command.spawn()?;
    let output = child.stdout.take().ok_or("no output")?;
    let (sender, lines) = mpsc::channel();
    let reader = std::thread::spawn(move || {
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

fn entries(folder: &Path) -> Result<BTreeSet<PathBuf>, Failure> {
    let entries = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path()));
    Ok(entries.collect::<Result<_, _>>()?)
}

/// Whether Verilator takes the text with the fault.
fn is_legal(listed: &Path, mutant: &Mutant) -> Result<bool, Failure> {
    let folder = tempfile::tempdir()?;
    for entry in fs::read_dir(listed)? {
        let entry = entry?;
        let name = entry
            .file_name()
            .into_string()
            .map_err(|name| format!("{name:?}"))?;
        let mut text = fs::read_to_string(entry.path())?;
        if name == file(&mutant.module) {
            text = warpline_testbenches::mutants::planted(&text, mutant)
                .ok_or("the statement is gone")?;
        }
        fs::write(folder.path().join(name + ".sv"), text)?;
    }
    let top = listed
        .file_name()
        .ok_or("no name")?
        .to_string_lossy()
        .into_owned();
    let sources = entries(folder.path())?.into_iter();
    let build = sources.fold(warpline_verilate::Build::new(top), |build, path| {
        let text = fs::read_to_string(&path).unwrap_or_default();
        build.source(path.file_name().unwrap_or_default().to_string_lossy(), text)
    });
    Ok(build.lint().is_ok())
}

fn run(
    bench: &str,
    count: usize,
    seed: u64,
    explained: &[Equivalent],
) -> Result<Vec<Planted>, Failure> {
    let binary = binary(bench)?;
    let work = tempfile::tempdir()?;
    let (cache, list) = (work.path().join("cache"), work.path().join("list"));
    fs::create_dir(&cache)?;
    fs::create_dir(&list)?;
    let list_name = list.to_str().ok_or("a folder's name is not UTF-8")?;
    if fate(tests(&binary, &cache, LIST, list_name))? != Fate::Survived {
        return Err(format!("{bench} fails without a fault").into());
    }
    let before = entries(&cache)?;
    // Designs of other parameters have the same statements: each statement counts once.
    let mut candidates: BTreeMap<(String, String, String), (PathBuf, Mutant)> = BTreeMap::new();
    for top in entries(&list)? {
        for module in entries(&top)? {
            let name = module
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            let name = if name == "top" { String::new() } else { name };
            for mutant in mutants(&name, &fs::read_to_string(&module)?) {
                let key = (
                    name.clone(),
                    format!("{} {}", mutant.occurrence, mutant.right),
                    mutant.wrong.clone(),
                );
                candidates.entry(key).or_insert((top.clone(), mutant));
            }
        }
    }
    let mut candidates: Vec<_> = candidates.into_values().collect();
    let all = candidates.len();
    Rng::with_seed(seed).shuffle(&mut candidates);
    let mut results = Vec::new();
    for (top, mutant) in candidates {
        if results
            .iter()
            .filter(|planted: &&Planted| planted.fate != Fate::Stillborn)
            .count()
            == count
        {
            break;
        }
        let mut fate = match is_legal(&top, &mutant)? {
            false => Fate::Stillborn,
            true => {
                let planted = serde_json::to_string(&mutant)?;
                self::fate(tests(&binary, &cache, PLANT, &planted))?
            }
        };
        let known = explained.iter().any(|e| {
            (&*e.bench, &*e.module, &*e.right, &*e.wrong)
                == (bench, &*mutant.module, &*mutant.right, &*mutant.wrong)
        });
        if fate == Fate::Survived && known {
            fate = Fate::Equivalent;
        }
        for model in entries(&cache)?.difference(&before) {
            let _ = fs::remove_dir_all(model);
        }
        println!(
            "{bench} {fate:?}: {} | {} -> {}",
            file(&mutant.module),
            mutant.right,
            mutant.wrong
        );
        results.push(Planted { mutant, fate });
    }
    eprintln!("{bench}: {all} candidates");
    Ok(results)
}

fn all(words: &[String]) -> Result<bool, Failure> {
    let usage = "usage: mutants MUTANTS SEED [BENCH]...";
    let count = words
        .first()
        .and_then(|word| word.parse().ok())
        .ok_or(usage)?;
    let seed = words
        .get(1)
        .and_then(|word| word.parse().ok())
        .ok_or(usage)?;
    let named: Vec<&str> = words[2..].iter().map(String::as_str).collect();
    let benches = match &*named {
        [] => SAMPLE,
        ["all"] => BENCHES,
        named => named,
    };
    let root = Path::new(ROOT);
    let explained: Vec<Equivalent> =
        mutant_records::read(root, "testbenches/mutants-equivalent.json")?;
    let mut results: Texts = mutant_records::read(root, TEXTS)?;
    let mut passed = true;
    for bench in benches {
        let planted = run(bench, count, seed, &explained)?;
        passed &= planted.iter().all(|planted| planted.fate != Fate::Survived);
        if named.is_empty() {
            continue; // a sample is no record
        }
        results.insert((*bench).to_owned(), planted);
        mutant_records::write(root, TEXTS, &results)?;
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
