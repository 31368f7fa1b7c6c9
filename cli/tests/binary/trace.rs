//! `warpline replay --trace`.

use super::*;

#[test]
fn a_trace_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("run.fst");
    let capture = recorded("crc1-rev2-badstag");
    let output = warpline(&[
        "replay",
        capture.to_str().unwrap(),
        "--width",
        "64",
        "--json",
        "--trace",
        trace.to_str().unwrap(),
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    // The header of an FST file: block type 0, its length, first and last time; a cycle takes 10 units of time.
    let octets = fs::read(trace).unwrap();
    let word = |at: usize| u64::from_be_bytes(octets[at..at + 8].try_into().unwrap());
    assert_eq!((octets[0], word(1)), (0, 329));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let cycles = report["cycles"].as_u64().unwrap();
    assert!(
        word(17) - word(9) > 10 * cycles,
        "{} to {}",
        word(9),
        word(17)
    );
    assert!(octets.len() > 10_000, "{} octets", octets.len());
}

/// A waveform replaces no file that the command reads, and no file at all if there is no model to record.
#[test]
fn a_trace_spares_what_was_there() {
    let copy = Copy::of("crc1-rev2-badstag");
    let old = copy.file("old.fst");
    fs::write(&old, "precious").unwrap();
    let replay = |trace: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_warpline"));
        command.args(["replay", "--width", "64", "--trace"]);
        let command = command.args([trace, copy.path()]);
        command.env("VERILATOR_ROOT", "/none").output().unwrap()
    };
    let no_model = replay(&old);
    assert_eq!(no_model.status.code(), Some(3), "{no_model:?}");
    assert_eq!(fs::read(&old).unwrap(), b"precious");
    for name in ["wire.pcap", "./regions.json"] {
        let (file, before) = (copy.file(name), fs::read(copy.file(name)).unwrap());
        let taken = replay(&file);
        assert_eq!(taken.status.code(), Some(2), "{taken:?}");
        let complaint = text(&taken.stderr);
        assert!(
            complaint.contains("is a file of the capture"),
            "{complaint}"
        );
        assert_eq!(fs::read(&file).unwrap(), before);
    }
    let socket = copy.file("socket");
    let both = socket.to_str().unwrap();
    unusable(&["card", "--socket", both, "--trace", both], "the socket");
    assert!(!socket.exists());
}

#[test]
fn a_trace_on_a_full_disk_is_reported() {
    let capture = recorded("crc1-rev2-badstag");
    let arguments = ["replay", capture.to_str().unwrap(), "--width", "64"];
    let output = warpline(&[&arguments[..], &["--trace", "/dev/full"]].concat());
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let complaint = text(&output.stderr);
    assert!(
        complaint.ends_with("/dev/full: is the disk full?\n"),
        "{complaint}"
    );
    let lines: Vec<_> = complaint.lines().collect();
    assert!(matches!(lines[..], [RESPONDER, _]), "{complaint}");
    let shown = text(&output.stdout);
    assert!(shown.contains("memory as expected"), "{shown}");
}
