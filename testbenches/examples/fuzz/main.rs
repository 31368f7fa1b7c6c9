//! The bodies of the fuzz targets over millions of pseudo-random inputs; `make fuzz` runs it.
//!
//! ```text
//! cargo run --release -p warpline-testbenches --example fuzz -- INPUTS SEED [KIND]...
//!
//!   seed, kind, number of the chunk ──► 10,000 inputs ──► body, which checks what the parser promises
//!                                                    └──► longest input, memory of the process
//! ```
//!
//! An input that makes a body panic is named by kind, seed, chunk and number; then nothing is recorded. So is a process whose
//! memory grows after the first chunk. What has passed is added to `docs/bench/fuzz.json`.

use std::collections::BTreeMap;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use std::{env, fs};

use arbitrary::{Arbitrary, Unstructured};
use fastrand::Rng;
use serde::{Deserialize, Serialize};
use warpline_capture::{Side, read_traffic};

#[path = "../../../vfio-user/fuzz/client_body.rs"]
mod client_body;
mod control;
#[allow(dead_code, reason = "tests of vfio-user use the rest")]
#[path = "../../../vfio-user/tests/conversations/model.rs"]
mod model;
#[allow(dead_code, reason = "tests of vfio-user use the rest")]
#[path = "../../../vfio-user/tests/conversations/raw.rs"]
mod raw;
#[path = "../../../wire/fuzz/rdmap.rs"]
mod rdmap_body;
#[path = "../../../wire/fuzz/receiver.rs"]
mod receiver_body;
#[path = "../../../vfio-user/fuzz/server_body.rs"]
mod server_body;
#[path = "../../../wire/fuzz/start.rs"]
mod start_body;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
/// Inputs that share a random number generator.
const CHUNK: u64 = 10_000;
/// Octets by which the process may grow after the first chunk: what an allocator keeps.
const GROWTH: u64 = 32 << 20;
/// Events of one run of the control program; each is an input.
const EVENTS: u64 = 400;
/// Kinds of inputs, in the order in which they run.
const KINDS: &[&str] = &[
    "captures",
    "start-frames",
    "rdmap",
    "control-program",
    "receiver",
    "vfio-user-server",
    "vfio-user-client",
];

type Failure = Box<dyn std::error::Error>;
/// Makes an input and runs it; the outcomes.
type Body = Box<dyn Fn(&mut Rng) -> Vec<String>>;

/// What has passed.
#[derive(Debug, Serialize, Deserialize)]
struct Passed {
    inputs: u64,
    /// Messages within the inputs, of which those of vfio-user have several.
    messages: u64,
    seed: u64,
    /// Different outcomes: events, errors, commands.
    outcomes: usize,
    longest_input_us: u64,
    /// Resident memory of the process, after the first chunk and at the end.
    resident_first: u64,
    resident_last: u64,
    seconds: u64,
}

fn resident() -> Result<u64, Failure> {
    let text = fs::read_to_string("/proc/self/statm")?;
    let pages: u64 = text.split(' ').nth(1).ok_or("no resident size")?.parse()?;
    Ok(pages * 4096)
}

/// Mutated captures: recorded ones, the first packets alone more often than the whole.
struct Captures(Vec<Vec<u8>>);

impl Captures {
    fn read() -> Result<Self, Failure> {
        let mut files = Vec::new();
        for entry in fs::read_dir(Path::new(ROOT).join("testbenches/captures"))? {
            let file = fs::read(entry?.path().join("wire.pcap"))?;
            // Start frames, a few FPDUs: most of what there is to parse, in little time.
            files.push(file[..file.len().min(3000)].to_vec());
            files.push(file[..file.len().min(900)].to_vec());
        }
        Ok(Self(files))
    }

    fn mutated(&self, rng: &mut Rng) -> Vec<u8> {
        let mut octets = self.0[rng.usize(..self.0.len())].clone();
        for _ in 0..=rng.u8(..6) {
            let at = rng.usize(..octets.len().max(1));
            match rng.u8(..8) {
                0..=3 => octets
                    .iter_mut()
                    .skip(at)
                    .take(1)
                    .for_each(|octet| *octet ^= 1 << rng.u8(..8)),
                4 => octets
                    .iter_mut()
                    .skip(at)
                    .take(rng.usize(1..=8))
                    .for_each(|octet| *octet = rng.u8(..)),
                5 => octets.truncate(at),
                6 => {
                    let end = (at + rng.usize(..200)).min(octets.len());
                    octets.drain(at.min(end)..end);
                }
                _ => {
                    let end = (at + rng.usize(..200)).min(octets.len());
                    let copy = octets[at.min(end)..end].to_vec();
                    let to = rng.usize(..=octets.len());
                    octets.splice(to..to, copy);
                }
            }
        }
        octets
    }
}

fn capture(octets: &[u8]) -> Vec<String> {
    let one_line =
        |text: String| assert!(!text.is_empty() && !text.contains(['\n', '\r']), "{text:?}");
    match read_traffic(octets) {
        Err(error) => {
            one_line(error.to_string());
            let name = format!("{error:?}");
            vec![
                name.split(|c: char| !c.is_alphanumeric())
                    .next()
                    .unwrap_or_default()
                    .to_owned(),
            ]
        }
        Ok(connections) => {
            for connection in &connections {
                for side in [Side::Client, Side::Server] {
                    let stream = connection.sent_by(side).stream();
                    if let Ok(flow) = connection.flow(side) {
                        let octets = flow.stream().octets;
                        assert!(stream.octets.ends_with(&octets) || stream.gap.is_some());
                    }
                }
                if let Err(error) = &connection.mpa {
                    one_line(error.to_string());
                }
            }
            vec![format!("{} connections", connections.len().min(3))]
        }
    }
}

/// An input of `length` octets for a body.
fn arbitrary<I: for<'a> Arbitrary<'a>>(rng: &mut Rng, length: usize) -> I {
    let octets: Vec<u8> = (0..length).map(|_| rng.u8(..)).collect();
    I::arbitrary(&mut Unstructured::new(&octets)).expect("octets enough for an input")
}

/// A run of the control program, whose messages are the outcomes.
fn control_program(rng: &mut Rng) -> Vec<String> {
    let messages = control::fuzz::run(rng.u64(..), EVENTS as usize);
    vec!["message".to_owned(); messages]
}

fn run(kind: &str, inputs: u64, seed: u64) -> Result<Passed, Failure> {
    let captures = Captures::read()?;
    let body: Body = match kind {
        "captures" => Box::new(move |rng| capture(&captures.mutated(rng))),
        "start-frames" => Box::new(|rng| start_body::run(&arbitrary(rng, 300))),
        "rdmap" => Box::new(|rng| rdmap_body::run(&arbitrary(rng, 1500))),
        "control-program" => Box::new(control_program),
        "receiver" => Box::new(|rng| receiver_body::run(&arbitrary(rng, 2048))),
        "vfio-user-server" => Box::new(|rng| server_body::run(&arbitrary(rng, 1024))),
        "vfio-user-client" => Box::new(|rng| client_body::run(&arbitrary(rng, 1024))),
        _ => return Err(format!("no kind {kind}: there are {}", KINDS.join(", ")).into()),
    };
    let step = match kind {
        "control-program" => EVENTS as usize,
        _ => 1,
    };
    let start = Instant::now();
    let mut outcomes = BTreeMap::<String, u64>::new();
    let (mut longest, mut resident_first, mut messages) = (Duration::ZERO, 0, 0);
    for chunk in 0..inputs.div_ceil(CHUNK) {
        let mut rng = Rng::with_seed(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ chunk);
        let size = CHUNK.min(inputs - chunk * CHUNK);
        for number in (0..size).step_by(step) {
            let before = Instant::now();
            let result = panic::catch_unwind(AssertUnwindSafe(|| body(&mut rng)));
            let Ok(found) = result else {
                return Err(
                    format!("{kind}: seed {seed}, chunk {chunk}, input {number} panics").into(),
                );
            };
            longest = longest.max(before.elapsed());
            messages += found.len().max(1) as u64;
            for outcome in found {
                // Values that come from the input would make each outcome another one.
                let name: String = outcome
                    .chars()
                    .filter(|c| !c.is_ascii_digit())
                    .take(48)
                    .collect();
                *outcomes.entry(name).or_default() += 1;
            }
        }
        if chunk == 0 {
            resident_first = resident()?;
        }
        if chunk % 100 == 99 {
            eprintln!(
                "{kind}: {} inputs in {} s",
                (chunk + 1) * CHUNK,
                start.elapsed().as_secs()
            );
        }
    }
    let resident_last = resident()?;
    if resident_last > resident_first + GROWTH {
        return Err(format!(
            "{kind}: memory has grown from {resident_first} to {resident_last} octets"
        )
        .into());
    }
    Ok(Passed {
        inputs,
        messages,
        seed,
        outcomes: outcomes.len(),
        longest_input_us: longest.as_micros() as u64,
        resident_first,
        resident_last,
        seconds: start.elapsed().as_secs(),
    })
}

fn all(words: &[String]) -> Result<(), Failure> {
    let usage = "usage: fuzz INPUTS SEED [KIND]...";
    let inputs = words
        .first()
        .and_then(|word| word.parse().ok())
        .ok_or(usage)?;
    let seed = words
        .get(1)
        .and_then(|word| word.parse().ok())
        .ok_or(usage)?;
    let named: Vec<&str> = words[2..].iter().map(String::as_str).collect();
    let kinds = if named.is_empty() { KINDS } else { &named };
    let record = Path::new(ROOT).join("docs/bench/fuzz.json");
    let mut passed: BTreeMap<String, Passed> = match fs::read_to_string(&record) {
        Ok(text) => serde_json::from_str(&text)?,
        Err(_) => BTreeMap::new(),
    };
    for kind in kinds {
        let result = run(kind, inputs, seed)?;
        println!("{kind}: {result:?}");
        passed.insert((*kind).to_owned(), result);
        fs::write(&record, serde_json::to_string_pretty(&passed)? + "\n")?;
    }
    Ok(())
}

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    match all(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
