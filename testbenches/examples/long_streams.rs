//! Random streams against the reference receiver, as many as one likes, on all devices, one to a processor; recorded, and
//! taken up where it was stopped.
//!
//! ```text
//! cargo run --release -p warpline-testbenches --example long_streams -- --streams 1000000 --record docs/bench/streams.json
//! ```
//!
//! `--minutes M` stops after that time, `--threads N` takes another number of processors than all, `--commit C` says whose
//! sources these are. A new record is begun when the text of a device has changed; it stands behind those of former texts.

use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use warpline_design::{design, key_of};
use warpline_testbenches::scenario::long::Record;

const USAGE: &str =
    "--streams COUNT [--minutes MINUTES] [--threads THREADS] [--commit COMMIT] --record FILE.json";
const WIDTHS: [usize; 4] = [64, 128, 256, 512];

struct Arguments {
    streams: usize,
    limit: Option<Duration>,
    threads: NonZero<usize>,
    commit: String,
    record: PathBuf,
}

fn minutes(count: u64) -> Option<Duration> {
    count.checked_mul(60).map(Duration::from_secs)
}

fn parse(mut arguments: impl Iterator<Item = String>) -> Option<Arguments> {
    let (mut streams, mut limit, mut threads, mut record) = (None, None, None, None);
    let mut commit = String::new();
    while let Some(name) = arguments.next() {
        let value = arguments.next()?;
        match name.as_str() {
            "--streams" => streams = Some(value.parse().ok()?),
            "--minutes" => limit = Some(minutes(value.parse().ok()?)?),
            "--threads" => threads = Some(value.parse().ok()?),
            "--commit" => commit = value,
            "--record" => record = Some(value.into()),
            _ => return None,
        }
    }
    Some(Arguments {
        streams: streams?,
        limit,
        threads: threads
            .or_else(|| std::thread::available_parallelism().ok())
            .unwrap_or(NonZero::<usize>::MIN),
        commit,
        record: record?,
    })
}

/// Names the code of all devices.
fn text(record: &Record) -> Result<String, Box<dyn std::error::Error + Send + Sync>> {
    let designs = record.devices.iter().map(|run| design(&run.config()));
    Ok(key_of(&designs.collect::<Result<Vec<_>, _>>()?))
}

/// The file is never half written.
fn write(path: &Path, work: &Work) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let records: Vec<_> = work.former.iter().chain([&work.record]).collect();
    let new = path.with_extension("new");
    std::fs::write(&new, serde_json::to_string_pretty(&records)? + "\n")?;
    Ok(std::fs::rename(new, path)?)
}

/// The record, those of former texts, and who works on it.
struct Work {
    record: Record,
    former: Vec<Record>,
    busy: BTreeSet<usize>,
    stopped: bool,
}

fn lock(work: &Mutex<Work>) -> MutexGuard<'_, Work> {
    work.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs device after device, whichever is idle and lags, until there is enough.
fn work_on(
    work: &Mutex<Work>,
    arguments: &Arguments,
    began: Instant,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let late = || {
        arguments
            .limit
            .is_some_and(|limit| began.elapsed() >= limit)
    };
    loop {
        let (device, step) = {
            let mut work = lock(work);
            if work.stopped || work.record.streams >= arguments.streams || late() {
                return Ok(());
            }
            let Some(device) = work.record.next(&work.busy) else {
                return Ok(()); // more threads than devices
            };
            work.busy.insert(device);
            (device, work.record.step(device))
        };
        let done = step.run();
        let mut work = lock(work);
        work.busy.remove(&device);
        work.stopped |= done.tally.streams == 0; // all of it failed: nothing more would come
        work.record.add(device, done);
        let written = write(&arguments.record, &work);
        work.stopped |= written.is_err();
        written?;
        if std::io::stderr().is_terminal() {
            eprint!("\r{} of {} streams", work.record.streams, arguments.streams);
        }
    }
}

fn run(arguments: &Arguments) -> Result<Record, Box<dyn std::error::Error + Send + Sync>> {
    let began = Instant::now();
    let mut record = Record::new("", &WIDTHS);
    record.text = text(&record)?;
    let mut former: Vec<Record> = match std::fs::read(&arguments.record) {
        Ok(octets) => serde_json::from_slice(&octets)
            .map_err(|error| format!("{}: {error}", arguments.record.display()))?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(format!("{}: {error}", arguments.record.display()).into()),
    };
    let mut record = record.resume(&mut former);
    record.commit.clone_from(&arguments.commit);
    let work = Work {
        record,
        former,
        busy: BTreeSet::new(),
        stopped: false,
    };
    write(&arguments.record, &work)
        .map_err(|error| format!("{}: cannot write: {error}", arguments.record.display()))?;
    let work = Mutex::new(work);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..arguments.threads.get())
            .map(|_| scope.spawn(|| work_on(&work, arguments, began)))
            .collect();
        threads.into_iter().try_for_each(|thread| {
            let panicked = |_| Err("a thread panicked, see above".into());
            thread.join().unwrap_or_else(panicked)
        })
    })?;
    Ok(work
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner)
        .record)
}

fn main() -> ExitCode {
    let Some(arguments) = parse(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match run(&arguments) {
        Ok(record) => {
            let (streams, seconds) = (record.streams, record.milliseconds / 1000);
            println!(
                "{streams} streams in {seconds} s, {} failures",
                record.failures.len()
            );
            record
                .failures
                .iter()
                .for_each(|failure| println!("{failure}"));
            match record.failures.is_empty() {
                true => ExitCode::SUCCESS,
                false => ExitCode::FAILURE,
            }
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
