//! Icarus Verilog takes the device's text, and runs it as Verilator does: the same outputs in every cycle of a capture.
//!
//! ```text
//!  capture ─► card ─► RTL in Verilator ─► card ─► compared with what Linux did
//!                      │
//!                      └─► all ports in each cycle ─► RTL in Icarus ─► the same outputs?
//! ```

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use warpline::replay::{Replay, replay};
use warpline_capture::{Capture, Segmentation};
use warpline_design::{TOP, design};
use warpline_hdl::Config;
use warpline_sim::{Card, CardOptions};
use warpline_sv_writer::{Design, Direction, Port};
use warpline_synth::ecp5_cells::recorder;

/// Forty messages on one queue of untagged buffers.
const CAPTURE: &str = "crc1-rev2-sends";
const CLOCK: &str = "aclk";
/// A simulation that has not ended by then never leaves a point of time; the cycles themselves are bounded.
const PATIENCE: Duration = Duration::from_secs(300);

/// Traffic of a card, and the sources of the device that had it.
struct Recorded {
    design: Design,
    /// The device and the wrapper around it, which Icarus does not need.
    sources: Vec<(String, String)>,
    folder: TempDir,
    cycles: u64,
}

impl Recorded {
    /// Plays the capture through the card, which does what Linux did.
    fn new() -> Self {
        let config = Config {
            ring_octets: 16 << 10,
            commit_octets: 16 << 10,
            ..Config::simulated(64)
        };
        let design = design(&config).unwrap_or_else(|e| panic!("{e}"));
        let folder = tempfile::tempdir().unwrap();
        let recording = folder.path().join("recording");
        let sources = recorder(&design, CLOCK, &recording);
        let options = CardOptions::default();
        let card = Card::open_sources(&config, options, sources.clone()).unwrap();
        let captures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testbenches/captures");
        let capture = Capture::open(captures.join(CAPTURE)).unwrap();
        let stream = Replay::new(&capture).unwrap();
        let played = replay(&card, &stream, Segmentation::AsCaptured, &mut |_, _| {});
        let played = played.unwrap_or_else(|e| panic!("{e}"));
        assert!(played.differences.is_empty());
        assert_eq!(played.report.completions.len(), 40);
        drop(card);
        let lines = BufReader::new(File::open(recording).unwrap()).lines();
        Self {
            design,
            sources,
            folder,
            cycles: lines.count() as u64,
        }
    }

    fn recording(&self) -> PathBuf {
        self.folder.path().join("recording")
    }

    /// What the bench says of the device after `change`, against `cycles` cycles of `recording`.
    fn in_icarus(&self, recording: &Path, cycles: u64, change: impl Fn(&str) -> String) -> String {
        let folder = tempfile::tempdir().unwrap();
        let mut files = Vec::new();
        for (name, text) in &self.sources {
            let text = change(text);
            fs::write(folder.path().join(name), text).unwrap();
            // the wrapper has the name of the top module, and writes the recording
            if name.ends_with(".sv") && *name != format!("{TOP}.sv") {
                files.push(name.clone());
            }
        }
        fs::write(folder.path().join("ports.svh"), ports(&self.design)).unwrap();
        let bench = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testbenches/icarus/lockstep.sv");
        files.push(fs::canonicalize(bench).unwrap().display().to_string());
        let compiled = compile(folder.path(), "lockstep", &files);
        let arguments = [
            format!("+recording={}", recording.display()),
            format!("+cycles={cycles}"),
        ];
        run(&compiled, &arguments, PATIENCE)
            .unwrap_or_else(|| panic!("Icarus has not ended in {PATIENCE:?}"))
    }
}

/// Compiles files of `folder`.
fn compile(folder: &Path, top: &str, files: &[String]) -> PathBuf {
    let compiled = folder.join("compiled.vvp");
    let output = Command::new("iverilog")
        .current_dir(folder)
        .args(["-g2012", "-s", top, "-o"])
        .arg(&compiled)
        .args(files)
        .output()
        .unwrap_or_else(|e| panic!("iverilog: {e}; run make setup"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(!said.contains("error"), "{said}");
    compiled
}

/// Runs what iverilog compiled, and gives what it prints; `None` when it has not ended within `patience`.
fn run(compiled: &Path, arguments: &[String], patience: Duration) -> Option<String> {
    let printed = compiled.with_extension("log");
    let mut vvp = Command::new("vvp")
        .arg("-n")
        .arg(compiled)
        .args(arguments)
        .stdout(File::create(&printed).unwrap())
        .stdin(Stdio::null())
        .spawn()
        .unwrap_or_else(|e| panic!("vvp: {e}; run make setup"));
    let start = Instant::now();
    while vvp.try_wait().unwrap().is_none() {
        if start.elapsed() > patience {
            vvp.kill().unwrap();
            vvp.wait().unwrap();
            return None;
        }
        thread::sleep(Duration::from_millis(50));
    }
    Some(fs::read_to_string(printed).unwrap().trim_end().to_owned())
}

/// What the bench includes: the device with its ports, and how a cycle is read and compared.
fn ports(design: &Design) -> String {
    let of = |direction| {
        let ports = design.ports.iter();
        ports.filter(move |port: &&Port| port.direction == direction && port.name != CLOCK)
    };
    let (mut text, mut joined) = (String::new(), vec![format!(".{CLOCK}(clock)")]);
    let mut fields = Vec::new();
    for Port { name, width, .. } in of(Direction::Input) {
        let _ = writeln!(text, "    reg [{}:0] {name};", width - 1);
        joined.push(format!(".{name}({name})"));
        fields.push(name.clone());
    }
    let mut compared = String::new();
    for Port { name, width, .. } in of(Direction::Output) {
        let high = width - 1;
        let _ = writeln!(
            text,
            "    wire [{high}:0] {name};\n    reg [{high}:0] recorded_{name};"
        );
        joined.push(format!(".{name}({name})"));
        fields.push(format!("recorded_{name}"));
        let _ = writeln!(
            compared,
            "            if ({name} !== recorded_{name} && !different) begin
                different = 1'b1;
                $display(\"cycle %0d: {name} is %h, recorded is %h\", cycle, {name}, recorded_{name});
            end"
        );
    }
    let _ = write!(
        text,
        "    {TOP}_recorded device ({});
    localparam FIELDS = {};
    task read_cycle;
        fields = $fscanf(file, \"{}\\n\", {});
    endtask
    task compare;
        begin
{compared}        end
    endtask
",
        joined.join(", "),
        fields.len(),
        vec!["%h"; fields.len()].join(" "),
        fields.join(", "),
    );
    text
}

/// The text of one of the sources, with `from`, which stands in it once and in no other one, in place of `to`.
fn once(recorded: &Recorded, from: &str, to: &str) -> impl Fn(&str) -> String {
    let found = recorded.sources.iter();
    let found: usize = found.map(|(_, text)| text.matches(from).count()).sum();
    assert_eq!(found, 1, "{from}");
    let (from, to) = (from.to_owned(), to.to_owned());
    move |text| text.replace(&from, &to)
}

#[test]
fn icarus_runs_a_capture_as_verilator_does_and_faults_are_seen() {
    let recorded = Recorded::new();
    let (recording, cycles) = (recorded.recording(), recorded.cycles);
    let start = Instant::now();
    let said = recorded.in_icarus(&recording, cycles, str::to_owned);
    assert_eq!(said, format!("equal: {cycles} cycles"));
    println!("{said} in {:.0?}", start.elapsed());

    // one bit of the residue that a good FPDU leaves: the first message ends in an error
    let fault = once(&recorded, "32'hb798b438", "32'hb798b439");
    let said = recorded.in_icarus(&recording, cycles, fault);
    println!("{said}");
    assert!(said.contains("recorded is"), "{said}");

    let lines = fs::read_to_string(&recording).unwrap();
    let short = recorded.folder.path().join("short");
    let start: String = lines.split_inclusive('\n').take(20).collect();
    fs::write(&short, start).unwrap();
    let said = recorded.in_icarus(&short, 21, str::to_owned);
    assert_eq!(said, "cycle 20: the recording ends");
}

#[test]
fn a_simulation_that_never_leaves_a_point_of_time_is_ended() {
    let folder = tempfile::tempdir().unwrap();
    let endless = "module endless; reg a = 1'b0; initial forever a = ~a; endmodule\n";
    fs::write(folder.path().join("endless.sv"), endless).unwrap();
    let compiled = compile(folder.path(), "endless", &["endless.sv".into()]);
    assert_eq!(run(&compiled, &[], Duration::from_secs(1)), None);
}
