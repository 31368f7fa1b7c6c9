//! What a program reads: JSON where a command has something to read, progress on terminals only.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use warpline_driver::{Context, Options, VfioUser};

use super::process::Killed;

const TIMEOUT: Duration = Duration::from_secs(60);
/// Longest time to build a model on a busy machine.
const BUILT: Duration = Duration::from_secs(1200);
const CAPTURE: &str = "../testbenches/captures/crc1-rev2-sends";

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpline"));
    command.args(arguments).stdin(Stdio::null());
    command.current_dir(env!("CARGO_MANIFEST_DIR"));
    command
}

/// Runs a command whose standard error is no terminal: nothing of a progress bar may be there.
#[track_caller]
fn json(arguments: &[&str], code: i32) -> Value {
    let Output {
        status,
        stdout,
        stderr,
    } = command(arguments).output().unwrap();
    let said = String::from_utf8(stderr).unwrap();
    assert_eq!(status.code(), Some(code), "{arguments:?}: {said}");
    for part in ['\r', '\x1b', '━'] {
        assert!(!said.contains(part), "{arguments:?}: {said:?}");
    }
    let text = String::from_utf8(stdout).unwrap();
    assert_eq!(text.lines().count(), 1, "{arguments:?}: {text}");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{arguments:?}: {error}: {text}"))
}

#[test]
fn what_a_program_reads_is_json() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("card");
    let path = socket.to_str().unwrap();
    let mut card = command(&["card", "--socket", path, "--network"]);
    let _card = Killed(card.stderr(Stdio::null()).spawn().unwrap());
    let end = Instant::now() + BUILT;
    while !socket.exists() {
        assert!(Instant::now() < end, "no card");
        thread::sleep(Duration::from_millis(20));
    }
    let stat = json(&["stat", path, "--json"], 0);
    assert_eq!(stat["register_map"], "2.0");
    assert_eq!(
        (&stat["width_octets"], &stat["streams"]),
        (&8.into(), &4.into())
    );
    assert_eq!(stat["shape"]["ring_octets"], 131_072);
    assert_eq!(stat["counters"]["fpdus"], 0);
    assert_eq!(stat["interrupts"]["interrupt_state"], 0);
    let doctor = json(&["doctor", path, "--json"], 0);
    assert_eq!(
        (&doctor["usable"], &doctor["card"]["streams"]),
        (&true.into(), &4.into())
    );

    // While a program uses the card, other programs get no answer.
    let device = VfioUser::connect(&socket, TIMEOUT).unwrap();
    let _context = Context::open(Box::new(device), Options::default()).unwrap();
    for name in ["stat", "doctor"] {
        let output = command(&[name, path, "--json"]).output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        assert!(output.stdout.is_empty());
    }

    // No such card: each finding has its remedy.
    let doctor = json(&["doctor", "ffff:ff:1f.7", "--json"], 1);
    assert_eq!(doctor["usable"], false);
    let findings = doctor["findings"].as_array().unwrap();
    assert!(!findings.is_empty());
    for finding in findings {
        let text = |name: &str| finding[name].as_str().unwrap();
        assert!(!text("finding").is_empty() && !text("remedy").is_empty());
    }
    let replay = json(&["replay", CAPTURE, "--width", "64", "--json"], 0);
    assert_eq!(replay["width"], 64);
}

#[test]
fn a_difference_is_exit_code_1() {
    let folder = tempfile::tempdir().unwrap();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join(CAPTURE);
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
    }
    // One message fewer was recorded than is in the traffic.
    let record = folder.path().join("completions.jsonl");
    let text = fs::read_to_string(&record).unwrap();
    let (first, rest) = text.split_once('\n').unwrap();
    assert!(!first.is_empty());
    fs::write(&record, rest).unwrap();
    let capture = folder.path().to_str().unwrap();
    let output = command(&["replay", capture, "--width", "64"])
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
}

#[test]
fn the_demo_is_json_too() {
    let demo = json(&["demo", "--json"], 0);
    let widths: Vec<_> = demo
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["width"])
        .collect();
    assert_eq!(widths, [64, 512]);
}

#[test]
fn a_server_says_in_json_where_it_is_and_who_has_left() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, [7; 100]).unwrap();
    let serve = [
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--size",
        "100",
        "--count",
        "1",
        "--json",
    ];
    let mut serve = Killed(command(&serve).stdout(Stdio::piped()).spawn().unwrap());
    let stdout = std::io::BufReader::new(serve.0.stdout.take().unwrap());
    let mut lines = std::io::BufRead::lines(stdout);
    let mut next = || -> Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    let serving = next();
    assert_eq!(serving["octets"], 100);
    let address = serving["address"].as_str().unwrap();
    let put = json(&["put", file.to_str().unwrap(), address, "--json"], 0);
    assert_eq!((&put["octets"], &put["offset"]), (&100.into(), &0.into()));
    let ended = next();
    assert_eq!(ended["closed"], true, "{ended}");
    assert!(ended["peer"].as_str().unwrap().starts_with("127.0.0.1:"));
    assert!(lines.next().is_none());
    assert_eq!(serve.0.wait().unwrap().code(), Some(0));
}
