//! `warpline wave`: what is drawn is what the run did, by the card's counters and by a reader of its own.
#![cfg(feature = "wave")]

#[path = "../../wave/tests/drawing/mod.rs"]
mod drawing;

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use drawing::Drawing;
use warpline::replay::{Replay, Report, replay};
use warpline::wave::{Fpdu, Life, fpdus};
use warpline_capture::{Capture, Segmentation};
use warpline_hdl::Config;
use warpline_sim::{Card, CardOptions};
use warpline_wave::Trace;
use wellen::simple::Waveform;

const WIDTH: usize = 64;
const LANES: u64 = 8;

fn recorded(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../testbenches/captures")
        .join(name)
}

fn warpline(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpline"));
    command.args(arguments).output().unwrap()
}

/// A replay that `warpline wave --fpdu` repeats.
struct Run {
    _folder: tempfile::TempDir,
    file: PathBuf,
    stream: Replay,
    report: Report,
}

impl Run {
    fn of(name: &str) -> Self {
        let capture = Capture::open(recorded(name)).unwrap();
        let stream = Replay::new(&capture).unwrap();
        let options = CardOptions {
            trace: true,
            ..CardOptions::default()
        };
        let card = Card::open(&Config::simulated(WIDTH), options).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("run.fst");
        card.trace_open(&file).unwrap();
        let replayed = replay(&card, &stream, Segmentation::AsCaptured, &mut |_, _| ());
        card.trace_close().unwrap();
        Self {
            report: replayed.unwrap().report,
            _folder: folder,
            file,
            stream,
        }
    }

    fn fpdus(&self) -> Vec<Fpdu> {
        fpdus(&self.stream)
    }
}

/// A reader of its own: bits of signals by cycle, straight from the file.
struct Reader {
    wave: Waveform,
    edges: Vec<u32>,
}

impl Reader {
    fn open(file: &Path) -> Self {
        let mut reader = Self {
            wave: wellen::simple::read(file).unwrap(),
            edges: Vec::new(),
        };
        let clock = reader.changes("TOP.warpline.aclk");
        let rises = clock.iter().filter(|(at, bits)| *at > 0 && bits == "1");
        reader.edges = rises.map(|(at, _)| *at).collect();
        reader
    }

    fn changes(&mut self, name: &str) -> Vec<(u32, String)> {
        let hierarchy = self.wave.hierarchy();
        let variable = hierarchy
            .all_vars()
            .find(|v| hierarchy[*v].full_name(hierarchy) == name);
        let signal = hierarchy[variable.unwrap_or_else(|| panic!("{name}"))].signal_ref();
        self.wave.load_signals(&[signal]);
        let changes = self.wave.get_signal(signal).unwrap().iter_changes();
        changes
            .map(|(at, value)| (at, value.to_bit_string().unwrap()))
            .collect()
    }

    /// The value in each cycle: that of the last change in front of the edge that ends it.
    fn values(&mut self, name: &str) -> Vec<u64> {
        let changes = self.changes(name);
        let mut next = 0;
        let mut value = 0;
        let mut values = Vec::new();
        for edge in &self.edges {
            while let Some((at, bits)) = changes.get(next)
                && at < edge
            {
                value = u64::from_str_radix(bits, 2).unwrap_or(0);
                next += 1;
            }
            values.push(value);
        }
        values
    }

    fn high(&mut self, names: &[&str]) -> Vec<u64> {
        let all: Vec<_> = names.iter().map(|name| self.values(name)).collect();
        let cycles = 0..self.edges.len();
        let high = cycles.filter(|cycle| all.iter().all(|values| values[*cycle] == 1));
        high.map(|cycle| cycle as u64).collect()
    }
}

const TOP: &str = "TOP.warpline.";

/// Transfers that a whole waveform has, beside what the registers of the card say.
#[test]
fn lives_add_up_to_the_counters_of_the_card() {
    let run = Run::of("crc1-rev2-badstag");
    let all = run.fpdus();
    let mut reader = Reader::open(&run.file);
    let port = |name: &str| format!("{TOP}{name}");
    let beats = reader.high(&[
        &port("s_axis_segment_tvalid"),
        &port("s_axis_segment_tready"),
    ]);
    let keep = reader.values(&port("s_axis_segment_tkeep"));
    let octets: u32 = beats.iter().map(|at| keep[*at as usize].count_ones()).sum();
    assert_eq!(octets, run.report.octets);
    let verdicts = reader.high(&[&port("core.check.verdict_valid")]);
    // The FIN passes as an FPDU that is refused.
    let fin = usize::from(run.stream.flow.fin);
    assert_eq!(verdicts.len(), run.report.fpdus as usize + fin);
    assert_eq!(all.len(), run.report.fpdus as usize);

    let mut trace = Trace::open(&run.file, None).unwrap();
    let mut transfers: HashMap<&str, u64> = HashMap::new();
    for fpdu in &all {
        let life = Life::of(&mut trace, &all, fpdu, run.stream.flow.seq_start);
        let life = life.unwrap().expect("all of them arrive");
        for stage in life.stages() {
            *transfers.entry(stage.port).or_default() += stage.transfers;
        }
    }
    let of = |port| transfers.get(port).copied().unwrap_or(0);
    // No FPDU shares a beat here; the FIN's has no octets.
    let filled = beats.iter().filter(|at| keep[**at as usize] != 0);
    assert_eq!(of("segment in"), filled.count() as u64);
    let read = all
        .iter()
        .map(|fpdu| u64::from(fpdu.length).div_ceil(LANES));
    assert_eq!(of("fetch to strip and crc32c"), read.sum::<u64>());
    for port in [
        "scan to fetch",
        "crc32c to check: verdict",
        "check to place: decision",
    ] {
        assert_eq!(of(port), all.len() as u64, "{port}");
    }
    // One is placed and completes, the other one is refused: an error event.
    let payload = u64::from(run.report.payload_octets);
    let entries = (run.report.completions.len() + run.report.errors.len()) as u64;
    assert_eq!((payload, entries), (64, 2));
    assert_eq!(of("deliver to completion"), entries);
    assert_eq!(of("write data"), payload / LANES + entries * 32 / LANES);
    assert_eq!(of("write address"), 1 + entries);
    assert_eq!(of("write response"), 1 + entries);
}

/// Every drawn level of every line, and every coloured transfer, against the file.
#[test]
fn a_drawn_fpdu_is_the_run() {
    let run = Run::of("crc1-rev2-badstag");
    let mut reader = Reader::open(&run.file);
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("new/fpdu.svg");
    let capture = recorded("crc1-rev2-badstag");
    let arguments = ["wave", capture.to_str().unwrap(), "--fpdu", "1", "-o"];
    let output = warpline(&[&arguments[..], &[out.to_str().unwrap()]].concat());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let svg = fs::read_to_string(&out).unwrap();
    let drawing = Drawing::read(&svg);
    assert_eq!(
        drawing.title,
        "FPDU 1 of crc1-rev2-badstag in the 64-bit device"
    );
    assert_eq!(drawing.untidy(), [""; 0]);
    let cycles = drawing.drawn(0, reader.edges.len() as u64 - 1);
    let left_out: u64 = drawing.cuts.iter().map(|(_, count)| count).sum();
    let all = cycles[cycles.len() - 1] - cycles[0] + 1;
    assert_eq!(cycles.len() as u64 + left_out, all);

    let lines = [
        ("s_axis_segment_tvalid", "s_axis_segment_tvalid"),
        ("s_axis_segment_tready", "s_axis_segment_tready"),
        ("fetch.fpdu_valid", "core.ingress.fetch.fpdu_valid"),
        ("fetch.fpdu_ready", "core.ingress.scan.fpdu_ready"),
        ("strip.beat.valid", "core.ingress.fetch.beat.valid"),
        ("commit.plain.valid", "core.ingress.strip.plain.valid"),
        ("check.segment_valid", "core.ingress.commit.segment_valid"),
        ("check.verdict_valid", "core.ingress.crc32c.verdict_valid"),
        ("place.s_valid", "core.check.m_valid"),
        ("place.s_ready", "core.check.m_ready"),
        ("m_axi_awvalid", "m_axi_awvalid"),
        ("m_axi_awready", "m_axi_awready"),
        ("m_axi_wvalid", "m_axi_wvalid"),
        ("m_axi_wready", "m_axi_wready"),
        ("m_axi_bvalid", "m_axi_bvalid"),
        ("m_axi_bready", "m_axi_bready"),
        ("deliver.m_valid", "core_m_event_valid"),
        ("deliver.m_ready", "core_m_event_ready"),
        ("m_axis_window_tvalid", "m_axis_window_tvalid"),
    ];
    let mut files = HashMap::new();
    for (line, signal) in lines {
        let signal = match signal {
            "core_m_event_ready" => "core.m_event_ready",
            other => other,
        };
        files.insert(line, reader.values(&format!("{TOP}{signal}")));
    }
    let differences = |drawing: &Drawing| {
        let differ = |line: &&str| {
            cycles.iter().any(|cycle| {
                let expected = files[*line][*cycle as usize] == 1;
                drawing.high(line, *cycle) != Some(expected)
            })
        };
        files.keys().copied().filter(differ).collect::<Vec<_>>()
    };
    assert_eq!(differences(&drawing), [""; 0]);
    // LAST counts with VALID.
    let last = reader.values(&format!("{TOP}m_axi_wlast"));
    for &cycle in &cycles {
        let at = cycle as usize;
        let expected = (files["m_axi_wvalid"][at] == 1).then_some(last[at] == 1);
        assert_eq!(drawing.high("m_axi_wlast", cycle), expected, "{cycle}");
    }

    // Coloured as the FPDU's: its 64 octets, and the 32 of its completion.
    let mine = |lane: &str| {
        let is = |cycle: &&u64| {
            drawing
                .value(lane, **cycle)
                .is_some_and(|value| value.ink == "subject")
        };
        cycles.iter().filter(is).copied().collect::<Vec<_>>()
    };
    let passed = |lane: &str, valid: &str, ready: &str| {
        let passes = |cycle: &u64| {
            [valid, ready]
                .iter()
                .all(|line| files[*line][*cycle as usize] == 1)
        };
        mine(lane).into_iter().filter(passes).count()
    };
    assert_eq!(passed("write data", "m_axi_wvalid", "m_axi_wready"), 8 + 4);
    assert_eq!(passed("write address", "m_axi_awvalid", "m_axi_awready"), 2);
    assert_eq!(passed("write response", "m_axi_bvalid", "m_axi_bready"), 2);
    let octets = passed(
        "segment in",
        "s_axis_segment_tvalid",
        "s_axis_segment_tready",
    );
    assert_eq!(
        octets as u64,
        u64::from(run.fpdus()[0].length).div_ceil(LANES)
    );

    // A wave that is elsewhere is noticed, and one that is another one's.
    let swapped = svg
        .replace("data-line=\"place.s_valid\"", "data-line=\"?\"")
        .replace(
            "data-line=\"check.verdict_valid\"",
            "data-line=\"place.s_valid\"",
        )
        .replace("data-line=\"?\"", "data-line=\"check.verdict_valid\"");
    let mut found = differences(&Drawing::read(&swapped));
    found.sort_unstable();
    assert_eq!(found, ["check.verdict_valid", "place.s_valid"]);
}

/// A buffer that is posted late makes a long life, most of which is left out.
#[test]
fn long_waits_are_cut() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("fpdu.svg");
    let capture = recorded("crc1-rev2-mixed");
    let arguments = ["wave", capture.to_str().unwrap(), "--fpdu", "3", "-o"];
    let output = warpline(&[&arguments[..], &[out.to_str().unwrap()]].concat());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let drawing = Drawing::read(&fs::read_to_string(&out).unwrap());
    let left_out: u64 = drawing.cuts.iter().map(|(_, count)| count).sum();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let (first, last) = (drawing.numbers[0].1, drawing.numbers.last().unwrap().1);
    let drawn = drawing.drawn(first, last + 10).len() as u64;
    assert!(
        left_out > drawn,
        "{left_out} left out, {drawn} drawn: {said}"
    );
    assert_eq!(drawing.untidy(), [""; 0]);
}

#[test]
fn what_cannot_be_drawn_is_said_in_one_line() {
    let run = Run::of("crc1-rev2-badstag");
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("wave.svg");
    let (out, fst) = (out.to_str().unwrap(), run.file.to_str().unwrap());
    let capture = recorded("crc1-rev2-badstag");
    let capture = capture.to_str().unwrap();
    let refused = |arguments: &[&str], reason: &str| {
        let output = warpline(&[&["wave"], arguments].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert_eq!(said.lines().count(), 1, "{arguments:?}: {said}");
        assert!(said.contains(reason), "{arguments:?}: {said}");
        assert!(!Path::new(out).exists(), "{arguments:?}");
    };
    refused(
        &[capture, "--fpdu", "3", "-o", out],
        "there is no FPDU 3: the last one is 2",
    );
    refused(&[capture, "--fpdu", "0", "-o", out], "--fpdu");
    refused(&[capture, "--signals", "aclk", "-o", out], "cannot read");
    refused(&[fst, "--fpdu", "1", "-o", out], "not a pcap");
    let none = folder.path().join("none.fst");
    let none = none.to_str().unwrap();
    refused(
        &[none, "--signals", "aclk", "-o", out],
        "none.fst: cannot read: No such file",
    );
    let unknown = "the nearest are m_axi_wvalid, ";
    refused(
        &[fst, "--signals", "m_axi_wvalit", "--cycles", "5", "-o", out],
        unknown,
    );
    refused(
        &[fst, "--signals", "aclk", "--when", "place.valit", "-o", out],
        "place.valit: no such signal",
    );
    refused(
        &[fst, "--signals", "aclk", "--clock", "clk", "-o", out],
        "clk: no such signal",
    );
    refused(
        &[fst, "--signals", "aclk", "-o", out],
        "are too many for a diagram",
    );
    refused(
        &[fst, "--signals", "alck", "-o", out],
        "alck: no such signal",
    );
    let beyond = ["--from", "10", "--to", "9999999"];
    refused(
        &[&[fst, "--signals", "aclk", "-o", out], &beyond[..]].concat(),
        "the waveform has cycles 0 to ",
    );
    refused(
        &[fst, "--signals", "aclk", "--when", "m_axi_bresp", "-o", out],
        "m_axi_bresp is zero from cycle 0 on",
    );
    refused(&[fst, "-o", out], "--fpdu");
    refused(&[fst, "--signals", "aclk", "--cycles", "5"], "--out");
    refused(
        &[fst, "--signals", "aclk", "--width", "64", "-o", out],
        "--width",
    );
    refused(
        &[fst, "--signals", "aclk", "--cycles", "5", "-o", fst],
        "choose another file",
    );
    let half = folder.path().join("half.fst");
    let octets = fs::read(&run.file).unwrap();
    fs::write(&half, &octets[..octets.len() / 2]).unwrap();
    refused(
        &[half.to_str().unwrap(), "--signals", "aclk", "-o", out],
        "no whole FST",
    );
}

#[test]
fn help_has_examples_that_run() {
    let help = warpline(&["wave", "--help"]);
    let told = String::from_utf8(help.stdout).unwrap();
    let examples = told.split("Examples:\n").nth(1).unwrap().lines();
    let examples: Vec<_> = examples.take_while(|line| !line.is_empty()).collect();
    assert_eq!(examples.len(), 4, "{examples:?}");
    let run = Run::of("crc1-rev2-badstag");
    let folder = tempfile::tempdir().unwrap();
    fs::copy(&run.file, folder.path().join("run.fst")).unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let root = fs::canonicalize(root).unwrap();
    symlink(root.join("testbenches"), folder.path().join("testbenches")).unwrap();
    for example in examples {
        let words: Vec<_> = example.split_whitespace().skip(1).collect();
        let mut command = Command::new(env!("CARGO_BIN_EXE_warpline"));
        let output = command
            .args(&words)
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{example}: {output:?}");
        let svg = folder.path().join(words.last().unwrap());
        let drawing = Drawing::read(&fs::read_to_string(&svg).unwrap());
        assert_eq!(drawing.untidy(), [""; 0], "{example}");
        fs::remove_file(svg).unwrap();
    }
}
