//! More of what `tests/host.rs` shows: completions by interrupt, and regions revoked under traffic.
//!
//! ```text
//! cargo run --release -p warpline-testbenches --example host -- --completions 100000 --revocations 5000 --seed 1
//! ```

use std::process::ExitCode;
use std::time::{Duration, Instant};

use warpline_testbenches::host::{Fault, completions, revocations};

const USAGE: &str = "[--completions COUNT] [--revocations COUNT] [--seed SEED]";
/// Nothing on the machine takes so long, unless it is lost.
const PATIENCE: Duration = Duration::from_secs(60);

fn parse(mut arguments: impl Iterator<Item = String>) -> Option<(u32, u32, u64)> {
    let mut parsed = (100_000, 5_000, 1);
    while let Some(name) = arguments.next() {
        let value = arguments.next()?;
        match name.as_str() {
            "--completions" => parsed.0 = value.parse().ok()?,
            "--revocations" => parsed.1 = value.parse().ok()?,
            "--seed" => parsed.2 = value.parse().ok()?,
            _ => return None,
        }
    }
    Some(parsed)
}

fn run(count: u32, regions: u32, seed: u64) -> Result<(), Fault> {
    let start = Instant::now();
    let slept = completions(count, seed, PATIENCE, |device| Box::new(device))?;
    println!("{slept:?} in {:.1?}", start.elapsed());
    let start = Instant::now();
    let revoked = revocations(regions, seed, |device| Box::new(device))?;
    println!("{revoked:?} in {:.1?}", start.elapsed());
    Ok(())
}

fn main() -> ExitCode {
    let Some((count, regions, seed)) = parse(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match run(count, regions, seed) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("seed {seed}: {fault}");
            ExitCode::FAILURE
        }
    }
}
