//! Writes `docs/conformance.md` and `docs/conformance.json`.
//!
//! An ID that was tested stays so: the pages are not written over the loss of its last test, unless `--drop ID` says that it is
//! meant.
//!
//! ```sh
//! cargo run -p warpline-testbenches --example conformance [-- --drop MPA-CRC-15]
//! ```

use std::error::Error;
use std::path::Path;
use std::{env, fs, process};

use warpline_testbenches::conformance::{self, Problem, Status};

fn main() -> process::ExitCode {
    match run() {
        Ok(()) => process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            process::ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut dropped = vec![];
    let mut arguments = env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match (argument.as_str(), arguments.next()) {
            ("--drop", Some(id)) => dropped.push(id),
            _ => return Err(format!("{argument:?}: only --drop ID is known").into()),
        }
    }
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let table = conformance::read(root)?.unwrap_or_else(|problems| give_up(&problems));
    let json = root.join("docs/conformance.json");
    // without the page of before nobody knows what was tested
    let mut lost = fs::read_to_string(&json)
        .map_err(|error| error.to_string())
        .and_then(|recorded| table.lost(&recorded).map_err(|error| error.to_string()))
        .map_err(|error| format!("docs/conformance.json: {error}; git checkout brings it back"))?;
    for id in &dropped {
        if !lost
            .iter()
            .any(|problem| matches!(problem, Problem::Lost { id: lost, .. } if lost == id))
        {
            return Err(format!("--drop {id}: it has not lost its tests").into());
        }
    }
    lost.retain(|problem| !matches!(problem, Problem::Lost { id, .. } if dropped.contains(id)));
    if !lost.is_empty() {
        give_up(&lost);
    }
    fs::write(json, table.json())?;
    fs::write(root.join("docs/conformance.md"), table.markdown())?;
    let [tested, reason, open] =
        [Status::Tested, Status::Reason, Status::Open].map(|status| table.count("RX", status));
    println!("receive rows: {tested} tested, {reason} with a reason, {open} open");
    Ok(())
}

fn give_up(problems: &[Problem]) -> ! {
    for problem in problems {
        eprintln!("{problem}");
    }
    process::exit(1)
}
