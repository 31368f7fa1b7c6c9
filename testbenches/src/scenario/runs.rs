//! Many scenarios one after the other, and how to see a failing one again.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::path::Path;

use warpline_hdl::Config;

use super::coverage::error_name;
use super::{Bench, Bins, Expected, Failure, Outcome, Scenario, small};

/// Scenarios that share a card, from seeds that are a multiple of this number on.
pub const CHAIN: u64 = 16;

/// What all scenarios of a run came to.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Scenarios.
    pub scenarios: u64,
    /// Streams.
    pub streams: usize,
    /// Octets of the streams.
    pub octets: u64,
    /// FPDUs that were judged valid.
    pub fpdus: u64,
    /// Messages that were delivered.
    pub messages: u64,
    /// Cycles that all of them took.
    pub cycles: u64,
    /// Streams that ended with an error, by its number.
    pub errors: BTreeMap<u16, usize>,
    /// What the scenarios have reached.
    pub bins: Bins,
}

impl Tally {
    /// Adds a scenario.
    pub fn add(&mut self, outcome: &Outcome) {
        self.scenarios += 1;
        self.streams += outcome.streams;
        self.octets += outcome.octets;
        self.fpdus += outcome.fpdus;
        self.messages += outcome.messages;
        self.cycles += outcome.cycles;
        for &error in &outcome.errors {
            *self.errors.entry(error as u16).or_default() += 1;
        }
        self.bins.merge(&outcome.bins);
    }

    /// Adds another tally.
    pub fn merge(&mut self, other: &Self) {
        self.scenarios += other.scenarios;
        self.streams += other.streams;
        self.octets += other.octets;
        self.fpdus += other.fpdus;
        self.messages += other.messages;
        self.cycles += other.cycles;
        for (error, count) in &other.errors {
            *self.errors.entry(*error).or_default() += count;
        }
        self.bins.merge(&other.bins);
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            scenarios,
            streams,
            octets,
            fpdus,
            messages,
            cycles,
            errors,
            ..
        } = self;
        write!(
            f,
            "{scenarios} scenarios, {streams} streams, {octets} octets, {fpdus} FPDUs, {messages} messages, {cycles} cycles; errors"
        )?;
        for (error, count) in errors {
            write!(f, " {}: {count}", error_name(*error))?;
        }
        Ok(())
    }
}

/// A scenario that failed, and how to see that again.
#[derive(Debug)]
pub struct Failed {
    /// The device.
    pub config: Box<Config>,
    /// Seeds whose scenarios show it, on a card of their own.
    pub seeds: Range<u64>,
    /// What is wrong.
    pub failure: Failure,
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            config,
            seeds,
            failure,
        } = self;
        let seed = seeds.end.saturating_sub(1);
        let width = config.width;
        let small = if **config == small(width) {
            " --small"
        } else {
            ""
        };
        writeln!(f, "width {width}{small}, seed {seed}:\n{failure}")?;
        write!(
            f,
            "replay with a waveform: cargo run --release -p warpline-testbenches --example scenarios -- --width {width}{small} "
        )?;
        match seeds.end - seeds.start {
            1 => write!(f, "--seed {seed} --trace seed.fst"),
            count => write!(
                f,
                "--first {} --count {count} --trace seed.fst",
                seeds.start
            ),
        }
    }
}

impl std::error::Error for Failed {}

/// Runs the scenarios of `seeds` on one card.
///
/// # Errors
/// The first that fails.
pub fn run_chain(
    config: &Config,
    seeds: Range<u64>,
    trace: Option<&Path>,
    tally: &mut Tally,
) -> Result<(), Failed> {
    let start = seeds.start;
    let failed = |end: u64| {
        move |failure| Failed {
            config: Box::new(*config),
            seeds: start..end,
            failure,
        }
    };
    let mut bench = Bench::open(config, start, trace).map_err(failed(start + 1))?;
    for seed in seeds {
        let outcome = bench.run(&Scenario::new(seed, config));
        let outcome = outcome.inspect_err(|_| {
            let _ = bench.close_trace(); // the failure is what counts
        });
        tally.add(&outcome.map_err(failed(seed + 1))?);
    }
    match trace {
        Some(_) => bench.close_trace().map_err(failed(start + 1)),
        None => Ok(()),
    }
}

/// Runs those scenarios of `seeds` that reach a bin which has to be reached and was not, until none is left, on one card.
/// The reference receiver tells what a scenario reaches, much sooner than a card does.
///
/// # Errors
/// The first that fails.
pub fn run_missing(config: &Config, seeds: Range<u64>, tally: &mut Tally) -> Result<(), Failed> {
    let widths = [config.width];
    let mut opened = None;
    for seed in seeds {
        if tally.bins.empty(&widths).is_empty() {
            break;
        }
        let scenario = Scenario::new(seed, config);
        let domains: Vec<u16> = (0..).take(scenario.domains).collect();
        let expected = Expected::new(&scenario, &domains, config);
        if !Bins::of(&scenario, &expected, config).adds_to(&tally.bins, &widths) {
            continue;
        }
        let failed = |failure| Failed {
            config: Box::new(*config),
            seeds: seed..seed + 1,
            failure,
        };
        let bench = match &mut opened {
            Some(bench) => bench,
            None => opened.insert(Bench::open(config, seed, None).map_err(failed)?),
        };
        tally.add(&bench.run(&scenario).map_err(failed)?);
    }
    Ok(())
}

/// Runs the scenarios of `seeds`, a card for every [`CHAIN`] of them, until all are done or `streams` streams were seen.
/// `progress` is told after each card.
///
/// # Errors
/// The first that fails, alone if it fails alone.
pub fn run_streams(
    config: &Config,
    seeds: Range<u64>,
    streams: usize,
    mut progress: impl FnMut(&Tally),
) -> Result<Tally, Failed> {
    let mut tally = Tally::default();
    let mut start = seeds.start;
    while start < seeds.end && tally.streams < streams {
        let end = seeds.end.min((start / CHAIN + 1) * CHAIN);
        run_chain(config, start..end, None, &mut tally).map_err(|failed| {
            let seed = failed.seeds.end - 1;
            run_chain(config, seed..seed + 1, None, &mut Tally::default())
                .err()
                .unwrap_or(failed)
        })?;
        progress(&tally);
        start = end;
    }
    Ok(tally)
}
