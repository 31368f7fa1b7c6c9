//! Random request sequences through the device that sends, against `warpline_wire`: octets, FPDU boundaries, completions, memory
//! that is read, Read Requests of the peer, and an end of everything.
//!
//! A failing seed is printed with the command that replays it with a waveform. The judge is shown to fail: on expectations that
//! were changed, and on devices that were. A model of a whole device is much to build, so `make test` has the device of 64 bits,
//! and one changed device each for octets, completions and edges. `make long-transmit` runs the rest.

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
const RARE: [&str; 2] = ["1 MiB", "read at the end of the responder"];

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

// req: AMB-08, MPA-FMT-16, MPA-MRK-15, MPA-START-10, DDP-SEG-02, DDP-UNT-01, DDP-UNT-10, DDP-UNT-12, DDP-SEC-19, DDP-SEC-22
#[test]
fn random_sequences_of_64_bits() {
    agrees(64);
}

/// An EMSS that is set, changed, and set again while the ring is full: its FPDUs may be of the first time or of the last one.
#[test]
fn an_emss_that_is_set_again() {
    must(64, run(&mut model(64), 64, 14_519));
}

#[test]
#[ignore = "builds a model of its own: make long-transmit"]
fn random_sequences_of_128_bits() {
    agrees(128);
}

#[test]
#[ignore = "builds a model of its own: make long-transmit"]
fn random_sequences_of_256_bits() {
    agrees(256);
}

#[test]
#[ignore = "builds a model of its own: make long-transmit"]
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
        (Spoil::Response, "FPDU at"),
        (Spoil::Right, "for no reason"),
        (Spoil::Handed, "for no reason"),
    ] {
        let found = spoiled(&mut model, spoil);
        assert!(found.contains(told), "{spoil:?}: {found}");
    }
}

/// A place in the text of the 64-bit device, and what a change there must be found by.
struct Planted {
    module: &'static str,
    /// What the module has once.
    from: &'static str,
    /// What it gets instead.
    to: &'static str,
    /// Words of the judge, those of any symptom that comes first in some sequence, with bars between.
    told: &'static str,
}

/// An untagged message skips an MSN.
const OCTETS: Planted = Planted {
    module: "transmitter_segment",
    from: "msns_write_data = msns_read_data + 32'h1;",
    to: "msns_write_data = msns_read_data + 32'h2;",
    told: "FPDU at",
};

/// A request that asks for a completion gets one only if it fails.
const COMPLETIONS: Planted = Planted {
    module: "transmitter_settle",
    from: "account_q.signalled | (outcome != ok)",
    to: "outcome != ok",
    told: "which is signalled|no end",
};

/// TCP may read the first beat of an FPDU before the last is in the ring. All octets are right, and come in order.
const EDGES: Planted = Planted {
    module: "transmitter_transmit_ring_visibility",
    from: "visible_d = (ends & whole)",
    to: "visible_d = ((ends | ((landed.valid & landed.known) & landed.first)) & whole)",
    told: "where no FPDU ends|at an FPDU's end",
};

/// Those that `make test` leaves out.
const OTHERS: [Planted; 7] = [
    // SET_EMSS has no effect
    Planted {
        module: "transmitter_segment",
        from: "if (sizes_age_q == sizes) begin\n                    contexts_write = 1'b1;",
        to: "if (sizes_age_q == sizes) begin\n                    contexts_write = command == TransmitCommand_Arm;",
        told: "former EMSS|FPDU at",
    },
    Planted {
        module: "transmitter_frame_beat_planner",
        from: "pointer_d = pointer_q + spacing;",
        to: "pointer_d = pointer_q + spacing + 16'h4;",
        told: "FPDU at",
    },
    Planted {
        module: "transmitter_frame_crc_append",
        from: "if (head.last & head.crc) begin",
        to: "if (head.last) begin",
        told: "FPDU at",
    },
    Planted {
        module: "core_check_lookup_tagged_checks",
        from: "last_low_2_q < end_2_q[31:0]",
        to: "last_low_2_q <= end_2_q[31:0]",
        told: "none is due|read refused: bounds",
    },
    Planted {
        module: "transmitter_transmit_ring_visibility",
        from: "edge_position = beat_1_q.behind;",
        to: "edge_position = beat_1_q.position;",
        told: "no end",
    },
    Planted {
        module: "transmitter_transmit_ring_boundary_map",
        from: "octets_1_d = boundary - position[15:0];",
        to: "octets_1_d = boundary - position[15:0] - 16'h4;",
        told: "Measured",
    },
    Planted {
        module: "transmitter_access_fence",
        from: "assign passed = reached_q;",
        to: "assign passed = 1'b1;",
        told: "Revoke",
    },
];

/// Those of Read Requests, which `make test` leaves out, too.
const READS: [Planted; 2] = [
    // requests behind one that has gone to the host are answered
    Planted {
        module: "read_responder",
        from: "(~oldest.answer)) | stream_broken) begin",
        to: "(~oldest.answer)) | (stream_broken & reset)) begin",
        told: "request",
    },
    // a response may come between the segments of a message of stream 0, and the other way round
    Planted {
        module: "transmitter_slot_merge",
        from: "if (locked_0_q) begin",
        to: "if (locked_0_q & reset) begin",
        told: "FPDU at",
    },
];

/// The device of 64 bits.
fn sources_64() -> Vec<(String, String)> {
    design(&config(64)).unwrap().sources()
}

impl Planted {
    /// These sources with the change.
    fn build(&self, sources: &[(String, String)]) -> Build {
        let mut changed = 0;
        let build = sources.iter().fold(Build::new(TOP), |build, (name, text)| {
            if *name != format!("{TOP}_{}.sv", self.module) {
                return build.source(name, text);
            }
            changed += text.matches(self.from).count();
            build.source(name, text.replace(self.from, self.to))
        });
        assert_eq!(changed, 1, "{} has {} once", self.module, self.from);
        build
    }

    /// Some seed shows the change.
    fn is_caught(&self) {
        let Self {
            module, to, told, ..
        } = self;
        let mut model = self.build(&sources_64()).open().unwrap();
        let mut runs = (0..SEEDS).map(|seed| run(&mut model, 64, seed));
        let found = runs.find_map(Result::err);
        let found = found.unwrap_or_else(|| panic!("{module}: {to} was not noticed"));
        println!("{module}: {found}");
        let found = found.to_string();
        let known = told.split('|').any(|words| found.contains(words));
        assert!(known, "{module}: {found}");
    }
}

#[test]
fn wrong_octets_are_caught() {
    OCTETS.is_caught();
}

#[test]
fn a_missing_completion_is_caught() {
    COMPLETIONS.is_caught();
}

#[test]
fn an_edge_within_an_fpdu_is_caught() {
    EDGES.is_caught();
}

// a change of the device that moves one of these places is noticed here, before the next long run
#[test]
fn the_text_has_the_places_of_the_other_changes() {
    let sources = sources_64();
    for planted in OTHERS.into_iter().chain(READS) {
        planted.build(&sources);
    }
}

#[test]
#[ignore = "builds a model for each change: make long-transmit"]
fn other_changes_are_caught() {
    for planted in OTHERS {
        planted.is_caught();
    }
}

#[test]
#[ignore = "builds a model for each change: make long-transmit"]
fn changes_of_read_responses_are_caught() {
    for planted in READS {
        planted.is_caught();
    }
}
