//! Waveforms, read back with an independent reader.

mod common;

use std::path::Path;

use common::cycle;
use warpline_verilate::{Build, Error, Model, Trace};

fn counter(trace: Trace) -> Model {
    let text = "module counter(input wire clk, input wire reset, output reg [39:0] count);
                  always @(posedge clk) count <= reset ? 40'd0 : count + 40'h1_0000_0001;
                endmodule";
    Build::new("counter")
        .source("counter.sv", text)
        .trace(trace)
        .open()
        .unwrap()
}

/// Resets, then counts `cycles` times.
fn run(model: &mut Model, cycles: u64) {
    let (clk, reset) = (model.port("clk").unwrap(), model.port("reset").unwrap());
    model.set(reset, 1);
    cycle(model, clk).unwrap();
    model.set(reset, 0);
    for _ in 0..cycles {
        cycle(model, clk).unwrap();
    }
}

/// Times and values of `count`, from the first reset on.
fn counts(path: &Path) -> Vec<(u64, u64)> {
    let mut wave = wellen::simple::read(path).unwrap();
    let hierarchy = wave.hierarchy();
    let variable = hierarchy
        .all_vars()
        .map(|v| &hierarchy[v])
        .find(|v| v.full_name(hierarchy) == "TOP.counter.count");
    let signal = variable
        .expect("TOP.counter.count is recorded")
        .signal_ref();
    wave.load_signals(&[signal]);
    let values = wave
        .get_signal(signal)
        .unwrap()
        .iter_changes()
        .map(|(index, value)| {
            let bits = value.to_bit_string().unwrap();
            (
                wave.time_table()[index as usize],
                u64::from_str_radix(&bits, 2).unwrap(),
            )
        });
    values.skip_while(|(_, value)| *value != 0).collect()
}

#[test]
fn waveforms_hold_the_values_at_their_times() {
    let folder = tempfile::tempdir().unwrap();
    for (trace, name) in [(Trace::Fst, "count.fst"), (Trace::Vcd, "count.vcd")] {
        let path = folder.path().join(name);
        let mut model = counter(trace);
        model.trace_open(&path).unwrap();
        run(&mut model, 4);
        assert_eq!(model.time(), 50);
        model.trace_close().unwrap();
        run(&mut model, 3); // no longer recorded
        // Rising edges at 5, 15, 25, …
        let expected: Vec<_> = (0..=4).map(|n| (5 + 10 * n, n * 0x1_0000_0001)).collect();
        assert_eq!(counts(&path), expected, "{trace:?}");
    }
}

#[test]
fn a_model_records_again_after_closing() {
    let folder = tempfile::tempdir().unwrap();
    for (trace, name) in [(Trace::Fst, "fst"), (Trace::Vcd, "vcd")] {
        let mut model = counter(trace);
        for part in ["first", "second"] {
            let path = folder.path().join(part).with_extension(name);
            let start = model.time();
            model.trace_open(&path).unwrap();
            run(&mut model, 1);
            model.trace_close().unwrap();
            assert_eq!(
                counts(&path),
                [(start + 5, 0), (start + 15, 0x1_0000_0001)],
                "{part} {trace:?}"
            );
        }
        model.trace_close().unwrap(); // nothing open: nothing to do
    }
}

#[test]
fn dropping_a_model_completes_its_trace() {
    let folder = tempfile::tempdir().unwrap();
    for (trace, name) in [(Trace::Fst, "drop.fst"), (Trace::Vcd, "drop.vcd")] {
        let path = folder.path().join(name);
        let mut model = counter(trace);
        model.trace_open(&path).unwrap();
        let join = std::thread::spawn(move || {
            run(&mut model, 2);
            drop(model); // on another thread than the one that opened it
        });
        join.join().unwrap();
        assert_eq!(counts(&path).len(), 3, "{trace:?}");
    }
}

#[test]
fn misuse_of_traces_is_a_typed_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wave");
    assert!(matches!(
        counter(Trace::Off).trace_open(&path),
        Err(Error::NotTraced)
    ));
    for trace in [Trace::Fst, Trace::Vcd] {
        let mut model = counter(trace);
        for bad in [
            folder.path().join("missing/wave"),
            folder.path().to_owned(),
            "wa\0ve".into(),
        ] {
            assert!(matches!(model.trace_open(&bad), Err(Error::Io { path, .. }) if path == bad));
        }
        model.trace_open(&path).unwrap();
        assert!(matches!(model.trace_open(&path), Err(Error::TraceOpen)));
        model.advance(0);
        run(&mut model, 1);
        model.trace_close().unwrap();
    }
}

#[test]
fn a_full_disk_is_reported_at_closing() {
    let mut model = counter(Trace::Vcd);
    model.trace_open("/dev/full").unwrap();
    run(&mut model, 3);
    assert!(
        matches!(model.trace_close(), Err(Error::Write(reason)) if reason.contains("No space"))
    );
    run(&mut model, 1); // the model still works

    let mut model = counter(Trace::Fst);
    model.trace_open("/dev/full").unwrap();
    run(&mut model, 3);
    assert!(
        matches!(model.trace_close(), Err(Error::Write(reason)) if reason.contains("/dev/full"))
    );
    run(&mut model, 1);
    let folder = tempfile::tempdir().unwrap();
    model.trace_open(folder.path().join("again.fst")).unwrap();
    run(&mut model, 1);
    model.trace_close().unwrap();
}
