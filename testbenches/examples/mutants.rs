//! Plants faults in the written text of each block and runs the block's bench on it; `make mutants` runs it.
//!
//! ```text
//! cargo run -p warpline-testbenches --example mutants -- MUTANTS SEED [BENCH]...
//! ```
//!
//! For each bench, that many mutants are drawn by the seed from all that `warpline_testbenches::mutants` can make of the texts
//! that the bench builds at 64 bits; parts of the block with a bench of their own are left to that. Tests of other widths are
//! left out, as far as they are tests of their own. Results are added to `docs/mutants.json`, from which `docs/mutants.md` is
//! written. Without benches, a sample that takes little time is meant, and nothing is recorded. What `make test` plants each
//! time is in the benches themselves: `mutant_runs::unnoticed`.
//! Ends with an error when a mutant survives that `testbenches/mutants-equivalent.json` does not explain.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::{env, fs};

use fastrand::Rng;
use serde::Deserialize;
use warpline_testbenches::mutant_records::{self, BLOCKS, Fate, Planted, TEXTS, Texts};
use warpline_testbenches::mutant_runs::{candidates, entries, fate, is_legal, tests};
use warpline_testbenches::mutants::{LIST, PLANT, file};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
/// Blocks without a bench of their own: the bench of the block that they are in, and the module.
const PARTS: &[(&str, &str, &str)] = &[("stag_table", "check", "lookup_stag_table")];
/// Modules that a bench leaves to others: their blocks have benches of their own, which are nearer.
const ELSEWHERE: &[(&str, &[&str])] = &[(
    "ingress",
    &[
        "admit",
        "assembly",
        "commit",
        "crc32c",
        "fetch",
        "pace",
        "scan",
        "stream_end",
        "strip",
    ],
)];
/// Those of a sample that takes little time.
const SAMPLE: &[&str] = &["queue", "window", "place", "interrupts"];
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

fn run(
    block: &str,
    count: usize,
    seed: u64,
    explained: &[Equivalent],
) -> Result<Vec<Planted>, Failure> {
    let part = PARTS.iter().find(|(part, ..)| *part == block);
    let (bench, module) = part.map_or((block, None), |(_, bench, module)| (*bench, Some(*module)));
    let binary = binary(bench)?;
    let work = tempfile::tempdir()?;
    let (cache, list) = (work.path().join("cache"), work.path().join("list"));
    fs::create_dir(&cache)?;
    fs::create_dir(&list)?;
    let list_name = list.to_str().ok_or("a folder's name is not UTF-8")?;
    let tests = |variable, value: &str| {
        let mut command = tests(&binary, 2, variable, value);
        command
            .current_dir(Path::new(ROOT).join("testbenches"))
            .env("WARPLINE_CACHE", &cache);
        fate(command)
    };
    if tests(LIST, list_name)? != Fate::Survived {
        return Err(format!("{bench} fails without a fault").into());
    }
    let before = entries(&cache)?;
    let mut candidates = candidates(&list, module)?;
    let elsewhere = ELSEWHERE.iter().find(|(of, _)| *of == block);
    let elsewhere = elsewhere.map_or(&[][..], |(_, modules)| modules);
    candidates.retain(|candidate| {
        let of = |block: &&str| {
            let rest = candidate.mutant.module.strip_prefix(block);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
        };
        !elsewhere.iter().any(of)
    });
    let all = candidates.len();
    Rng::with_seed(seed).shuffle(&mut candidates);
    let mut results = Vec::new();
    for candidate in candidates {
        if results
            .iter()
            .filter(|planted: &&Planted| planted.fate != Fate::Stillborn)
            .count()
            == count
        {
            break;
        }
        let mut fate = Fate::Stillborn;
        if is_legal(&candidate)? {
            fate = tests(PLANT, &serde_json::to_string(&candidate.mutant)?)?;
        }
        let mutant = candidate.mutant;
        let known = explained.iter().any(|e| {
            (&*e.bench, &*e.module, &*e.right, &*e.wrong)
                == (block, &*mutant.module, &*mutant.right, &*mutant.wrong)
        });
        if fate == Fate::Survived && known {
            fate = Fate::Equivalent;
        }
        for model in entries(&cache)?.difference(&before) {
            let _ = fs::remove_dir_all(model);
        }
        println!(
            "{block} {fate:?}: {} | {} -> {}",
            file(&mutant.module),
            mutant.right,
            mutant.wrong
        );
        results.push(Planted { mutant, fate });
    }
    eprintln!("{block}: {all} candidates");
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
        ["all"] => BLOCKS,
        named => named,
    };
    let root = Path::new(ROOT);
    let explained: Vec<Equivalent> =
        mutant_records::read(root, "testbenches/mutants-equivalent.json")?;
    let mut passed = true;
    for bench in benches {
        let planted = run(bench, count, seed, &explained)?;
        passed &= planted.iter().all(|planted| planted.fate != Fate::Survived);
        if named.is_empty() {
            continue; // a sample is no record
        }
        // Read late: another run may have added to it.
        let mut results: Texts = mutant_records::read(root, TEXTS)?;
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
