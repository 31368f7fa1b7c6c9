//! Random request sequences through the device that sends, against `warpline_wire`: octets, FPDU boundaries, completions, memory that
//! is read, and an end of everything.
//!
//! `make long-transmit` runs more of them; a failing seed is printed with the command that replays it with a waveform. The judge is
//! shown to fail: on expectations that were changed, and on devices that were.

use warpline_design::{TOP, design};
use warpline_testbenches::lockstep::sources;
use warpline_testbenches::transmit_scenario::{
    EVENTS, Outcome, ScenarioError, Spoil, config, run, run_spoiled,
};
use warpline_verilate::{Build, Model};

/// Sequences of each width.
const SEQUENCES: u64 = 2000;
/// Seeds in which a planted fault must show.
const SEEDS: u64 = 400;
/// What one width in [`SEQUENCES`] may miss; all of them together have it.
const RARE: [&str; 1] = ["1 MiB"];

fn model(width: usize) -> Model {
    sources(TOP, &design(&config(width)).unwrap())
        .open()
        .unwrap()
}

fn must(width: usize, result: Result<Outcome, ScenarioError>) -> Outcome {
    result.unwrap_or_else(|error| panic!("{error}\nwith a waveform: {}", error.replay(width)))
}

fn agrees(width: usize) {
    let (mut model, mut all) = (model(width), Outcome::default());
    let mut seeds = 0..;
    while all.sequences < SEQUENCES {
        let seed = seeds.next().unwrap();
        all.add(&must(width, run(&mut model, width, seed)));
    }
    println!("width {width}: {all:?}");
    let missing = all.missing().into_iter();
    let missing: Vec<_> = missing.filter(|what| !RARE.contains(what)).collect();
    assert_eq!(missing, Vec::<&str>::new(), "each event has occurred");
    let unknown = all.coverage.0.keys().find(|what| !EVENTS.contains(what));
    assert_eq!(unknown, None, "an event that is not in the list");
}

// req: MPA-MRK-15, MPA-START-10, DDP-SEG-02, DDP-UNT-10, DDP-UNT-12, DDP-SEC-22
#[test]
fn random_sequences_of_64_bits() {
    agrees(64);
}

#[test]
fn random_sequences_of_128_bits() {
    agrees(128);
}

#[test]
fn random_sequences_of_256_bits() {
    agrees(256);
}

#[test]
fn random_sequences_of_512_bits() {
    agrees(512);
}

/// What is said first of a run with a wrong expectation.
fn spoiled(model: &mut Model, spoil: Spoil) -> String {
    let mut runs = (0..SEEDS).map(|seed| run_spoiled(model, 64, seed, spoil));
    let told = runs.find_map(Result::err);
    told.unwrap_or_else(|| panic!("{spoil:?} was not noticed"))
        .to_string()
}

#[test]
fn a_changed_expectation_is_told() {
    let mut model = model(64);
    for (spoil, told) in [
        (Spoil::Octet, "FPDU at"),
        (Spoil::Msn, "FPDU at"),
        (Spoil::Status, "completion"),
        (Spoil::Missing, "no end"),
    ] {
        let found = spoiled(&mut model, spoil);
        assert!(found.contains(told), "{spoil:?}: {found}");
    }
}

/// Places in the text of the 64-bit device: module, what it has once, what it gets instead, and what is said of it.
const PLANTED: [(&str, &str, &str, &str); 8] = [
    (
        "transmitter_frame_beat_planner",
        "pointer_d = pointer_q + spacing;",
        "pointer_d = pointer_q + spacing + 16'h4;",
        "FPDU at",
    ),
    (
        "transmitter_frame_crc_append",
        "if (head.last & head.crc) begin",
        "if (head.last) begin",
        "FPDU at",
    ),
    (
        "transmitter_segment",
        "msns_write_data = msns_read_data + 32'h1;",
        "msns_write_data = msns_read_data + 32'h2;",
        "FPDU at",
    ),
    (
        "core_check_tagged_checks",
        "last_low_2_q < end_2_q[31:0]",
        "last_low_2_q <= end_2_q[31:0]",
        "none is due",
    ),
    (
        "transmitter_transmit_ring_visibility",
        "edge_position = beat_1_q.behind;",
        "edge_position = beat_1_q.position;",
        "no end",
    ),
    (
        "transmitter_transmit_ring_boundary_map",
        "octets_1_d = boundary - position[15:0];",
        "octets_1_d = boundary - position[15:0] - 16'h4;",
        "Measured",
    ),
    (
        "transmitter_settle",
        "account_q.signalled | (outcome != ok)",
        "outcome != ok",
        "which is signalled",
    ),
    (
        "transmitter_access_fence",
        "assign passed = reached_q;",
        "assign passed = 1'b1;",
        "Revoke",
    ),
];

/// The device of 64 bits, changed in one place.
fn planted(module: &str, from: &str, to: &str) -> Build {
    let mut changed = 0;
    let sources = design(&config(64)).unwrap().sources().into_iter();
    let build = sources.fold(Build::new(TOP), |build, (name, text)| {
        if name != format!("{TOP}_{module}.sv") {
            return build.source(name, text);
        }
        changed += text.matches(from).count();
        build.source(name, text.replace(from, to))
    });
    assert_eq!(changed, 1, "{module} has {from} once");
    build
}

#[test]
fn a_changed_device_is_caught() {
    for (module, from, to, told) in PLANTED {
        let mut model = planted(module, from, to).open().unwrap();
        let mut runs = (0..SEEDS).map(|seed| run(&mut model, 64, seed));
        let found = runs.find_map(Result::err);
        let found = found.unwrap_or_else(|| panic!("{module}: {to} was not noticed"));
        println!("{module}: {found}");
        assert!(found.to_string().contains(told), "{module}: {found}");
    }
}
