//! Exit codes: those that the help of a command lists are those that it returns, and the book has the same table.
//!
//! Each pair of command and code has a case here: a command line that is run, or the test elsewhere that shows it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::help::{below, commands, part};

/// How a code is shown.
enum Shown {
    /// By this command line. `@` is a folder that is empty, `#` a file that is there.
    By(&'static [&'static str]),
    /// The same, on a machine without Verilator.
    WithoutVerilator(&'static [&'static str]),
    /// By that test of that file.
    Test(&'static str, &'static str),
    /// It takes a defect of the project.
    Defect(&'static str),
}

use Shown::{By, Defect, Test, WithoutVerilator};

const CAPTURE: &str = "../testbenches/captures/crc1-rev2-badstag";
const TRANSFERS: &str = "tests/transfer.rs";
const CARDS: &str = "tests/card.rs";

const CASES: &[(&str, u8, Shown)] = &[
    (
        "rtl",
        0,
        By(&[
            "rtl",
            "--width",
            "64",
            "--ring-octets",
            "4096",
            "--out",
            "@/rtl",
        ]),
    ),
    (
        "rtl",
        2,
        By(&[
            "rtl",
            "--width",
            "64",
            "--sctp",
            "--sctp-window",
            "0",
            "--out",
            "@/rtl",
        ]),
    ),
    ("rtl", 3, Defect("a device that rust-hdl cannot elaborate")),
    (
        "report",
        0,
        By(&["report", "--records", "..", "-o", "@/report.html"]),
    ),
    (
        "report",
        1,
        Test(
            "tests/report/main.rs",
            "a_missing_record_is_a_line_on_the_page_and_on_standard_error",
        ),
    ),
    ("report", 2, By(&["report", "--records", "@", "-o", "-"])),
    (
        "report",
        3,
        Defect("a device that rust-hdl cannot elaborate, or a chart without room"),
    ),
    (
        "replay",
        0,
        Test("tests/manners/output.rs", "what_a_program_reads_is_json"),
    ),
    (
        "replay",
        1,
        Test("tests/manners/output.rs", "a_difference_is_exit_code_1"),
    ),
    ("replay", 2, By(&["replay", "@/none", "--width", "64"])),
    (
        "replay",
        3,
        WithoutVerilator(&["replay", CAPTURE, "--width", "64"]),
    ),
    (
        "explain",
        0,
        By(&["explain", "00000001686921", "--sctp", "control"]),
    ),
    ("explain", 1, By(&["explain", "0012414300000000"])),
    ("explain", 2, By(&["explain", "@/none"])),
    (
        "demo",
        0,
        Test("tests/manners/output.rs", "the_demo_is_json_too"),
    ),
    (
        "demo",
        1,
        Defect("the capture is part of the program: a card that works places it"),
    ),
    ("demo", 2, By(&["demo", "--width", "64"])),
    ("demo", 3, WithoutVerilator(&["demo"])),
    ("wave", 0, Test("tests/wave.rs", "a_drawn_fpdu_is_the_run")),
    (
        "wave",
        1,
        Defect("the captures in the project are placed as Linux placed them"),
    ),
    (
        "wave",
        2,
        By(&["wave", "@/none", "--fpdu", "1", "-o", "@/a.svg"]),
    ),
    (
        "wave",
        3,
        WithoutVerilator(&["wave", CAPTURE, "--fpdu", "1", "-o", "@/a.svg"]),
    ),
    ("bench", 0, Test("../Makefile", "warpline -- bench")),
    ("bench", 2, By(&["bench", "--json", "@"])),
    ("bench", 3, WithoutVerilator(&["bench"])),
    (
        "synth",
        0,
        Test(
            "tests/broken_tools.rs",
            "what_cannot_be_read_is_made_again_by_the_next_call",
        ),
    ),
    ("synth", 1, Test("src/command/synth.rs", "DIFFERENT")),
    ("synth", 2, By(&["synth", "--width", "65"])),
    (
        "synth",
        3,
        Test(
            "tests/broken_tools.rs",
            "what_cannot_be_read_is_made_again_by_the_next_call",
        ),
    ),
    ("card", 0, Test(CARDS, "a_card_with_a_host_is_interrupted")),
    ("card", 2, By(&["card", "--socket", "#"])),
    ("card", 3, WithoutVerilator(&["card", "--socket", "@/card"])),
    (
        "serve",
        0,
        Test(
            TRANSFERS,
            "a_file_is_written_and_read_back_with_markers_over_a_rough_path",
        ),
    ),
    (
        "serve",
        2,
        By(&["serve", "--listen", "127.0.0.1:0", "--size", "0"]),
    ),
    (
        "serve",
        3,
        WithoutVerilator(&["serve", "--listen", "127.0.0.1:0", "--size", "9"]),
    ),
    (
        "put",
        0,
        Test(
            TRANSFERS,
            "a_file_is_written_and_read_back_with_markers_over_a_rough_path",
        ),
    ),
    (
        "put",
        1,
        Defect("reliable transport: what was written is what is read"),
    ),
    ("put", 2, By(&["put", "@/none", "127.0.0.1:1"])),
    ("put", 3, WithoutVerilator(&["put", "#", "127.0.0.1:1"])),
    (
        "get",
        0,
        Test(
            TRANSFERS,
            "a_file_is_written_and_read_back_with_markers_over_a_rough_path",
        ),
    ),
    ("get", 2, By(&["get", "127.0.0.1:1", "@"])),
    (
        "get",
        3,
        WithoutVerilator(&["get", "127.0.0.1:1", "@/back"]),
    ),
    (
        "doctor",
        0,
        Test(
            CARDS,
            "hosts_that_arm_a_stream_get_the_traffic_again_and_again",
        ),
    ),
    ("doctor", 1, By(&["doctor", "ffff:ff:1f.7"])),
    ("doctor", 2, By(&["doctor", "@/none"])),
    (
        "doctor",
        3,
        Test("tests/manners/output.rs", "what_a_program_reads_is_json"),
    ),
    (
        "stat",
        0,
        Test(
            CARDS,
            "hosts_that_arm_a_stream_get_the_traffic_again_and_again",
        ),
    ),
    ("stat", 2, By(&["stat", "@/none"])),
    (
        "stat",
        3,
        Test(
            CARDS,
            "hosts_that_arm_a_stream_get_the_traffic_again_and_again",
        ),
    ),
    ("completions", 0, By(&["completions", "zsh"])),
    ("completions", 2, By(&["completions", "none"])),
    ("man", 0, By(&["man"])),
    ("man", 2, By(&["man", "--out", "#/man1"])),
];

/// Codes that a help lists.
fn listed(help: &str) -> BTreeSet<u8> {
    let lines = part(help, "Exit codes:");
    let codes = lines.iter().map(|line| line.split_whitespace().next());
    codes.map(|code| code.unwrap().parse().unwrap()).collect()
}

fn in_help() -> BTreeMap<String, BTreeSet<u8>> {
    let listed = |command: &clap::Command| (command.get_name().to_owned(), listed(&below(command)));
    commands().iter().map(listed).collect()
}

/// Runs a command line; the exit code, and what it complained.
fn run(arguments: &[&str], without_verilator: bool) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty");
    fs::create_dir(&empty).unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "octets").unwrap();
    let word = |word: &&str| {
        let word = word.replace('@', empty.to_str().unwrap());
        word.replace('#', file.to_str().unwrap())
    };
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpline"));
    command.args(arguments.iter().map(word));
    command.current_dir(env!("CARGO_MANIFEST_DIR"));
    if without_verilator {
        command.env("VERILATOR_ROOT", folder.path().join("none"));
        command.env("WARPLINE_CACHE", folder.path().join("cache"));
    }
    let output = command.stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), said)
}

#[test]
fn each_code_that_a_help_lists_has_a_case() {
    let mut shown: BTreeMap<String, BTreeSet<u8>> = BTreeMap::new();
    for (command, code, _) in CASES {
        let new = shown
            .entry((*command).to_owned())
            .or_default()
            .insert(*code);
        assert!(new, "{command} {code} twice");
    }
    assert_eq!(shown, in_help());
    // The program's own help has them all.
    let all = listed(&below(&warpline::command_line()));
    assert_eq!(all, shown.into_values().flatten().collect());
}

#[test]
fn codes_are_what_happens() {
    for (command, code, shown) in CASES {
        let (arguments, without) = match shown {
            By(arguments) => (arguments, false),
            WithoutVerilator(arguments) => (arguments, true),
            Test(file, name) => {
                let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
                let text = fs::read_to_string(&path).unwrap();
                assert!(text.contains(name), "{file}: no {name}");
                continue;
            }
            Defect(reason) => {
                assert!(!reason.is_empty());
                continue;
            }
        };
        let (found, said) = run(arguments, without);
        assert_eq!(
            found,
            Some(i32::from(*code)),
            "{command}: {arguments:?}: {said}"
        );
        // An error is one line with the value or the remedy, unless a tool's own lines follow.
        if *code >= 2 {
            assert!(said.starts_with("warpline: "), "{command}: {said}");
            assert_eq!(said.lines().count(), 1, "{command}: {said}");
        }
    }
}

/// The table of a page: commands and codes.
fn table(page: &str) -> BTreeMap<String, BTreeSet<u8>> {
    let rows = page.lines().skip_while(|line| *line != "## Exit codes");
    let rows = rows.filter_map(|row| row.strip_prefix("| `")?.split_once("` |"));
    let codes = |cells: &str| -> BTreeSet<u8> {
        let cells = cells.split('|').enumerate();
        let there = cells.filter(|(_, cell)| !cell.trim().is_empty());
        there.map(|(code, _)| code as u8).collect()
    };
    rows.map(|(command, cells)| (command.to_owned(), codes(cells)))
        .collect()
}

#[test]
fn the_book_has_the_same_codes() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let page = fs::read_to_string(page).unwrap();
    assert_eq!(table(&page), in_help());
    let planted = page.replacen(
        "| `get` | transferred | |",
        "| `get` | transferred | x |",
        1,
    );
    assert_ne!(planted, page);
    assert_ne!(table(&planted), in_help(), "a planted code is noticed");
}
