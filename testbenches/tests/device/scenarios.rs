//! The whole device against the reference receiver, over random streams: memory, completions, errors and error records.
//!
//! `make long` runs more of them; a failing seed is printed with the command that replays it with a waveform. The
//! comparison itself is shown to fail: on expectations that were changed, and on devices that were.

use warpline_design::design;
use warpline_driver::ErrorDetail;
use warpline_hdl::Config;
use warpline_testbenches::scenario::{
    Bench, CHAIN, ERRORS, Expected, Report, Scenario, Tally, run_streams, small,
};

/// Streams of each width.
const STREAMS: usize = 2000;

fn run(config: &Config, streams: usize) -> Tally {
    let tally = run_streams(config, 0..u64::MAX, streams, |_| {}).unwrap_or_else(|e| panic!("{e}"));
    println!("width {}: {tally}", config.width);
    assert!(tally.streams >= streams);
    tally
}

fn agrees(width: usize) {
    let tally = run(&Config::simulated(width), STREAMS);
    let met: Vec<u16> = tally.errors.keys().copied().collect();
    assert_eq!(met, ERRORS, "each error number is met");
}

// req: MPA-RCV-17, MPA-RCV-21, MPA-RCV-25, MPA-CRC-18, MPA-CRC-19, MPA-MRK-21, MPA-ERR-05, MPA-ERR-12, DDP-DEL-01,
// req: DDP-ORD-05, DDP-ORD-06, DDP-ERR-17, DDP-ERR-20, DDP-ERR-36, DDP-SEC-17, DDP-SEC-18, DDP-SEC-19, DDP-HDR-09
// req: DDP-SEC-16, DDP-UNT-18
#[test]
fn random_streams_of_64_bits() {
    agrees(64);
}

// req: MPA-RCV-17, MPA-CRC-19, MPA-ERR-12, DDP-ERR-36
#[test]
fn random_streams_of_128_bits() {
    agrees(128);
}

// req: MPA-RCV-17, MPA-CRC-19, MPA-ERR-12, DDP-ERR-36
#[test]
fn random_streams_of_256_bits() {
    agrees(256);
}

// req: MPA-RCV-17, MPA-CRC-19, MPA-ERR-12, DDP-ERR-36
#[test]
fn random_streams_of_512_bits() {
    agrees(512);
}

// req: AMB-22, MPA-RCV-31, MPA-RCV-36, AMB-40
#[test]
fn random_streams_through_small_rings_of_64_bits() {
    run(&small(64), STREAMS / 2);
}

// req: AMB-22, MPA-RCV-31, MPA-RCV-36, AMB-40
#[test]
fn random_streams_through_small_rings_of_512_bits() {
    run(&small(512), STREAMS / 2);
}

/// A changed expectation is told; `wanted` picks a scenario that has what `change` changes.
#[track_caller]
fn is_told(wanted: impl Fn(&Expected) -> bool, change: impl FnOnce(&mut Expected), told: &str) {
    let config = Config::simulated(64);
    let mut scenarios = (0..200).map(|seed| Scenario::new(seed, &config));
    let scenario = scenarios.find(|scenario| wanted(&Expected::new(scenario, &[0, 1], &config)));
    let scenario = scenario.expect("200 scenarios have everything");
    let mut bench = Bench::open(&config, 0, None).unwrap();
    let failure = bench.run_against(&scenario, change).unwrap_err();
    assert!(failure.lines[0].contains(told), "{failure}");
    let mut bench = Bench::open(&config, 0, None).unwrap();
    bench.run(&scenario).unwrap();
}

#[test]
fn a_changed_expectation_is_told() {
    let has_region = |expected: &Expected| !expected.regions.is_empty();
    let has_buffer = |expected: &Expected| !expected.buffers.is_empty();
    let is_busy = |expected: &Expected| {
        let mut events = expected.reports[0].iter();
        events.all(|report| matches!(report, Report::Tagged(_) | Report::Untagged { .. }))
            && expected.reports[0].len() >= 2
            && expected.reports[0][0] != expected.reports[0][1]
    };
    let fails = |expected: &Expected| expected.records[0].is_some();
    let crc_fails = |expected: &Expected| {
        let record = expected.records[0].as_ref();
        record.is_some_and(|record| matches!(record.detail, ErrorDetail::Crc { .. }))
    };

    let octet = |e: &mut Expected| {
        let start = e.regions[0].start;
        e.regions[0].octets[start] ^= 1;
    };
    is_told(has_region, octet, "octets differ, from 0 to 0");
    let guard = |e: &mut Expected| *e.regions[0].octets.last_mut().unwrap() ^= 0x80;
    is_told(has_region, guard, "1 octets differ");
    let buffer = |e: &mut Expected| e.buffers[0].octets[0] ^= 1;
    is_told(has_buffer, buffer, "buffer 0: 1 octets differ");
    let lost = |e: &mut Expected| e.reports[0].truncate(1);
    is_told(is_busy, lost, "number of completions");
    let swapped = |e: &mut Expected| e.reports[0].swap(0, 1);
    is_told(is_busy, swapped, "completion 0 of stream");
    let renamed = |e: &mut Expected| match &mut e.reports[0][0] {
        Report::Tagged(completion) => completion.rsvd_ulp ^= 1,
        Report::Untagged { rsvd_ulp, .. } => rsvd_ulp[4] ^= 1,
        other => panic!("{other:?}"),
    };
    is_told(is_busy, renamed, "completion 0 of stream");
    let forgotten = |e: &mut Expected| e.records[0] = None;
    is_told(fails, forgotten, "error record of stream");
    let moved = |e: &mut Expected| e.records[0].as_mut().unwrap().position += 4;
    is_told(fails, moved, "error record of stream");
    let other_crc = |e: &mut Expected| {
        if let ErrorDetail::Crc { expected, .. } = &mut e.records[0].as_mut().unwrap().detail {
            *expected ^= 1;
        }
    };
    is_told(crc_fails, other_crc, "error record of stream");
    let edge = |e: &mut Expected| e.edges[0] = e.edges[0].wrapping_add(1);
    is_told(has_region, edge, "edge should be");
    let is_ahead = |expected: &Expected| expected.ahead.iter().any(Option::is_some);
    for (change, counter) in [
        (
            (|e| e.certain_octets += 1 << 20) as fn(&mut Expected),
            "counter of payload octets",
        ),
        (|e| e.certain_fpdus += 1 << 20, "counter of FPDUs"),
    ] {
        is_told(is_ahead, change, counter);
    }
    for (change, counter) in [
        (
            (|e| e.octets += 1) as fn(&mut Expected),
            "counter of octets",
        ),
        (
            |e| (e.payload_octets, e.certain_octets) = (e.payload_octets + 1, e.certain_octets + 1),
            "counter of payload octets",
        ),
        (
            |e| (e.fpdus, e.certain_fpdus) = (e.fpdus + 1, e.certain_fpdus + 1),
            "counter of FPDUs",
        ),
    ] {
        is_told(has_region, change, counter);
    }
}

/// What is said of a device of 64 bits whose text was changed in one place.
fn told_of(module: &str, from: &str, to: &str) -> String {
    let mut changed = 0;
    let config = Config::simulated(64);
    let sources = design(&config).unwrap().files().into_iter();
    let sources = sources.map(|(name, text)| {
        if name != format!("{module}.sv") {
            return (name, text);
        }
        changed += text.matches(from).count();
        (name, text.replace(from, to))
    });
    let sources: Vec<_> = sources.collect();
    assert_eq!(changed, 1, "{module} has {from} once");
    for start in (0..2000).step_by(CHAIN as usize) {
        let mut bench = Bench::open_sources(&config, start, sources.clone()).unwrap();
        for seed in start..start + CHAIN {
            if let Err(failure) = bench.run(&Scenario::new(seed, &config)) {
                return failure.lines[0].clone();
            }
        }
    }
    panic!("{module}: nothing was noticed of {to} in place of {from}");
}

#[test]
fn a_device_with_another_residue_is_caught() {
    let told = told_of(
        "warpline_core_ingress_crc32c",
        "32'hb798b438",
        "32'hb798b439",
    );
    assert!(told.contains("error record of stream"), "{told}");
}

#[test]
fn a_device_that_writes_one_octet_too_far_is_caught() {
    let module = "warpline_core_check_lookup_tagged_checks";
    let told = told_of(
        module,
        "last_low_2_q < end_2_q[31:0]",
        "last_low_2_q <= end_2_q[31:0]",
    );
    assert!(told.contains("error record of stream"), "{told}");
}

#[test]
fn a_device_that_forgets_the_write_right_is_caught() {
    let module = "warpline_core_check_lookup_tagged_checks";
    let told = told_of(module, "(~entry.remote_write) | entry.empty", "entry.empty");
    assert!(told.contains("error record of stream"), "{told}");
}
