//! Random scenarios as long as one likes, or one of them with a waveform.
//!
//! ```text
//! cargo run --release -p warpline-testbenches --example scenarios -- --width 512 --first 0 --count 100000
//! cargo run --release -p warpline-testbenches --example scenarios -- --width 512 --seed 7 --trace seed.fst
//! ```
//!
//! With `--small` the device has the smallest buffers.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

use warpline_hdl::Config;
use warpline_testbenches::scenario::{Tally, run_chain, run_streams, small};

const USAGE: &str = "--width 64|128|256|512 [--small] (--first SEED --count SCENARIOS | --seed SEED) [--trace FILE.fst]";

struct Arguments {
    width: usize,
    small: bool,
    first: u64,
    count: u64,
    trace: Option<PathBuf>,
}

fn parse(mut arguments: impl Iterator<Item = String>) -> Option<Arguments> {
    let mut parsed = Arguments {
        width: 512,
        small: false,
        first: 0,
        count: 1000,
        trace: None,
    };
    while let Some(name) = arguments.next() {
        if name == "--small" {
            parsed.small = true;
            continue;
        }
        let value = arguments.next()?;
        match name.as_str() {
            "--width" => parsed.width = value.parse().ok()?,
            "--first" => parsed.first = value.parse().ok()?,
            "--count" => parsed.count = value.parse().ok()?,
            "--seed" => (parsed.first, parsed.count) = (value.parse().ok()?, 1),
            "--trace" => parsed.trace = Some(value.into()),
            _ => return None,
        }
    }
    // the last seed is named by the one behind it
    parsed.first.checked_add(parsed.count)?;
    Some(parsed)
}

fn main() -> ExitCode {
    let Some(arguments) = parse(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let Arguments {
        width,
        small: is_small,
        first,
        count,
        trace,
    } = arguments;
    let config = match is_small {
        true => small(width),
        false => Config::simulated(width),
    };
    let seeds = first..first + count;
    // One card for all when there is a waveform of it, or a single scenario.
    let result = if trace.is_some() || count == 1 {
        let mut tally = Tally::default();
        run_chain(&config, seeds, trace.as_deref(), &mut tally).map(|()| tally)
    } else {
        let terminal = std::io::stderr().is_terminal();
        run_streams(&config, seeds, usize::MAX, |tally| {
            if terminal {
                eprint!("\r{} scenarios, {} streams", tally.scenarios, tally.streams);
            }
        })
    };
    match result {
        Ok(tally) => {
            println!("\rwidth {width}: {tally}");
            ExitCode::SUCCESS
        }
        Err(failed) => {
            println!("\n{failed}");
            ExitCode::FAILURE
        }
    }
}
