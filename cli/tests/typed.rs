//! Each command that the README and the chapters of the book tell to type has been run: here, by another test, in continuous
//! integration, or by hand, and then a page lists it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use warpline_book::command::{commands, of_warpline};
use warpline_book::text::Text;
use warpline_book::tree::Tree;

/// How a command is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Run {
    /// By this test, in the order of the table, in a folder with what a checkout has; it ends with that exit code.
    Here(i32),
    /// By that test of that file, with an address, a socket or a file of its own.
    Test(&'static str, &'static str),
    /// By that line of `.ci/run`.
    Ci(&'static str),
    /// By a person; the page on verification lists it.
    Hand,
}

use Run::{Ci, Hand, Here, Test};

const CARDS: &str = "cli/tests/card.rs";
const LIVE: &str = "cli/tests/watch/live.rs";
const TRANSFERS: &str = "cli/tests/transfer.rs";
const EXPLAIN: &str = "cli/tests/binary/explain.rs";
const PROGRAMS: &str = "sim/tests/book/main.rs";

const HOSTS: Run = Test(
    CARDS,
    "hosts_that_arm_a_stream_get_the_traffic_again_and_again",
);
const NETWORK: Run = Test(TRANSFERS, "a_program_connects_through_a_card_at_a_socket");
const FILES: Run = Test(
    TRANSFERS,
    "a_file_is_written_and_read_back_with_markers_over_a_rough_path",
);
const PROGRAM: Run = Test(
    PROGRAMS,
    "the_whole_program_writes_into_the_memory_of_the_other_one",
);
const CONNECTIONS: Run = Test(
    "cli/tests/plans.rs",
    "connections_and_directions_can_be_chosen",
);

/// Commands as they are typed, with `warpline` for `cargo run -p warpline --`.
const COMMANDS: &[(&str, Run)] = &[
    ("make demo", Hand),
    (
        "warpline demo",
        Test(
            "cli/tests/binary/main.rs",
            "the_demo_says_that_memory_equals_linuxs",
        ),
    ),
    ("make test", Ci("make test")),
    // the first hour
    (
        "warpline replay testbenches/captures/crc1-rev2-sends --width 64 --trace wave.fst",
        Here(0),
    ),
    (
        "warpline wave wave.fst -o wave.svg --when scan.fpdu_valid --before 16 --cycles 60 --signals s_axis_segment_tvalid,scan.fpdu_valid,strip.beat.valid --signals check.m_valid,m_axi_awvalid",
        Here(0),
    ),
    (
        "warpline explain testbenches/captures/crc1-rev2-badstag --direction responder",
        Here(0),
    ),
    (
        "warpline explain 0015c140 12345678 00000001 00000010 44495245 43542100 4d9719b7",
        Here(1),
    ),
    (
        "warpline serve --listen 127.0.0.1:7471 --size 1M --output after.bin",
        FILES,
    ),
    ("warpline put README.md 127.0.0.1:7471 --verify", FILES),
    ("warpline get 127.0.0.1:7471 back.bin --length 1000", FILES),
    ("warpline card --socket /tmp/card --network", NETWORK),
    ("warpline stat /tmp/card", HOSTS),
    (
        "cargo test -p warpline-testbenches --test window",
        Ci("make test"),
    ),
    (
        "cargo test -p warpline-testbenches --test scenarios",
        Ci("make test"),
    ),
    (
        "warpline rtl --width 128 --ring-octets 16384 --out rtl",
        Here(0),
    ),
    // the README
    (
        "warpline replay testbenches/captures/crc1-rev2-mixed --width 128",
        Here(0),
    ),
    (
        "warpline replay testbenches/captures/crc1-rev2-sends --width 64 --segment random --seed 7 --trace wave.fst",
        Here(0),
    ),
    (
        "warpline replay any.pcapng --width 64 --connection 2 --direction responder",
        CONNECTIONS,
    ),
    (
        "warpline explain any.pcapng --direction responder",
        Test(EXPLAIN, "captures_of_every_form"),
    ),
    (
        "warpline card --socket /tmp/card --serve-traffic testbenches/captures/crc1-rev2-sends",
        HOSTS,
    ),
    (
        "cargo run -p warpline-driver --example blocking -- /tmp/card",
        Test("driver/tests/examples.rs", "blocking_receives"),
    ),
    (
        "warpline doctor",
        Test(
            "cli/tests/manners/output.rs",
            "what_a_program_reads_is_json",
        ),
    ),
    ("warpline report -o report.html", Here(0)),
    (
        "warpline card --socket /tmp/card --network --watch",
        Test(
            LIVE,
            "octets_of_a_stream_appear_and_rise_and_q_ends_the_card",
        ),
    ),
    ("make bitstream", Hand),
    ("make hello BOARD=ulx3s-85f", Hand),
    ("make bench", Hand),
    ("make test-interop", Ci("make test-interop")),
    ("make test-kernel", Ci("make test-kernel")),
    ("make formal", Ci("make formal")),
    ("make long WIDTH=256 COUNT=100000", Hand),
    // the command line
    (
        "warpline replay testbenches/captures/crc1-rev2-mixed --width 256 --segment random --json",
        Here(0),
    ),
    (
        "warpline replay trace.pcapng.gz --width 64 --connection 2 --direction responder",
        CONNECTIONS,
    ),
    (
        "warpline explain - --markers --offset 492 --json",
        Test(EXPLAIN, "the_same_octets_in_any_form_are_explained_alike"),
    ),
    ("warpline explain 00000001686921 --sctp control", Here(0)),
    ("warpline rtl --width 128 --out rtl", Here(0)),
    (
        "warpline wave testbenches/captures/crc1-rev2-badstag --fpdu 1 -o fpdu.svg",
        Here(0),
    ),
    ("warpline card --socket /tmp/card", HOSTS),
    (
        "warpline serve --listen 127.0.0.1:7471 --size 1048576",
        FILES,
    ),
    ("warpline put FILE 127.0.0.1:7471 --verify", FILES),
    (
        "warpline get sctp://127.0.0.1:9899 FILE",
        Test(
            "cli/tests/sctp.rs",
            "four_mebibytes_are_written_and_read_back",
        ),
    ),
    // programming with the driver
    ("warpline card --socket /tmp/card-a --network", NETWORK),
    ("warpline card --socket /tmp/card-b --network", NETWORK),
    (
        "cargo run -p warpline-driver --example two_programs -- /tmp/card-a serve 127.0.0.1:7000",
        PROGRAM,
    ),
    (
        "cargo run -p warpline-driver --example two_programs -- /tmp/card-b put 127.0.0.1:7000 hello there",
        PROGRAM,
    ),
    // tools, boards
    (
        "warpline replay testbenches/captures/crc1-rev2-badstag --width 64 --trace run.fst",
        Here(0),
    ),
    (
        "warpline wave run.fst --signals m_axi_awvalid,m_axi_awlen,m_axi_wvalid,m_axi_wlast --when m_axi_awvalid --cycles 24 -o write.svg",
        Here(0),
    ),
    ("make cocotb", Ci("make cocotb")),
    (
        "warpline rtl --width 64 --ring-octets 16384 --out rtl",
        Here(0),
    ),
    (
        "warpline rtl --width 512 --ring-octets 16384 --out rtl",
        Here(0),
    ),
    // contributing
    (
        "cargo test -p warpline-testbenches --test deliver",
        Ci("make test"),
    ),
    (
        "cargo run -p warpline-testbenches --example scenarios -- --width 256 --seed 7 --trace 7.fst",
        Hand,
    ),
];

fn root() -> PathBuf {
    fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("..")).unwrap()
}

/// Whole commands of the README and of each chapter, as the table writes them, and where they stand.
fn typed(tree: &Tree) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let text = Text::of(tree);
    let chapters = text.chapters.keys().map(PathBuf::as_path);
    for file in chapters.chain([Path::new("docs/README.md")]) {
        let Some(text) = tree.document(file) else {
            continue; // made of the head of a block
        };
        for command in commands(text)
            .into_iter()
            .filter(|command| command.is_whole)
        {
            let words = match of_warpline(&command.words) {
                Some(words) => format!("warpline {}", words.join(" ")),
                None => command.words.join(" "),
            };
            found.insert(words, format!("{}:{}", file.display(), command.line));
        }
    }
    found
}

/// Commands of pages that the table lacks, and commands of the table that no page has.
fn unknown(typed: &BTreeMap<String, String>) -> (Vec<String>, Vec<&'static str>) {
    let known: BTreeSet<_> = COMMANDS.iter().map(|(command, _)| *command).collect();
    assert_eq!(known.len(), COMMANDS.len(), "a command stands twice");
    let lacks = typed
        .iter()
        .filter(|(command, _)| !known.contains(command.as_str()));
    let lacks = lacks.map(|(command, place)| format!("{place}: {command}"));
    let gone = known
        .iter()
        .filter(|command| !typed.contains_key(**command));
    (lacks.collect(), gone.copied().collect())
}

#[test]
fn each_command_that_is_to_be_typed_is_run() {
    let (tree, root) = (Tree::read(&root()), root());
    let mut typed = typed(&tree);
    let none: (Vec<String>, Vec<&str>) = Default::default();
    assert_eq!(unknown(&typed), none);
    typed.insert("warpline demo --json".into(), "a.md:1".into());
    assert_eq!(unknown(&typed).0, ["a.md:1: warpline demo --json"]);

    let read = |file: &str| fs::read_to_string(root.join(file)).unwrap();
    let (ci, mut by_hand) = (read(".ci/run"), BTreeSet::new());
    for (command, run) in COMMANDS {
        match run {
            Here(_) => {}
            Test(file, name) => {
                let test = format!("fn {name}(");
                assert!(
                    read(file).contains(&test),
                    "{command}: {file} has no {name}"
                );
            }
            Ci(line) => assert!(
                ci.lines()
                    .any(|of| of.strip_prefix("step ").unwrap_or(of) == *line),
                "{command}: {line}"
            ),
            Hand => _ = by_hand.insert((*command).to_owned()),
        }
    }
    let page = read("docs/verification.md");
    let section = page
        .split("## Commands that are run by hand\n")
        .nth(1)
        .unwrap();
    let section = section.split("\n## ").next().unwrap();
    let rows = section.lines().filter_map(|row| row.strip_prefix("| `"));
    let listed: BTreeSet<_> = rows
        .map(|row| row.split('`').next().unwrap().to_owned())
        .map(|command| command.replace("cargo run -p warpline --", "warpline"))
        .collect();
    assert_eq!(listed, by_hand);
}

/// The files and folders that a command writes, by its options.
fn written(command: &str) -> impl Iterator<Item = &str> {
    ["-o", "--out", "--trace"].into_iter().filter_map(|option| {
        let mut words = command.split(' ').skip_while(|word| *word != option);
        words.nth(1)
    })
}

/// A folder with a link to each file and folder in the root of the project. What a command writes there is deleted with it; what
/// has the name of that, such as somebody's own folder `rtl`, is not linked and so not written to.
fn checkout() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let outputs: BTreeSet<_> = COMMANDS
        .iter()
        .flat_map(|(command, _)| written(command))
        .collect();
    for entry in fs::read_dir(root()).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name();
        if !outputs.contains(name.to_str().unwrap()) {
            symlink(entry.path(), folder.path().join(name)).unwrap();
        }
    }
    folder
}

#[test]
fn those_that_can_be_run_in_a_test_end_as_they_are_to_end() {
    let folder = checkout();
    for (command, run) in COMMANDS {
        let Here(code) = run else {
            continue;
        };
        let mut program = Command::new(env!("CARGO_BIN_EXE_warpline"));
        program
            .args(command.split(' ').skip(1))
            .current_dir(&folder);
        let output = program.stdin(Stdio::null()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(*code), "{command}: {said}");
        for file in written(command) {
            assert!(folder.path().join(file).exists(), "{command}: no {file}");
        }
    }
}
