//! Lengths of random streams, whole FPDUs octet by octet, refused lengths, and planted faults.

use super::support::*;
use warpline_hdl::Config;
use warpline_hdl::rx::mpa::scan::Scan;
use warpline_regmap::layout::refused;
use warpline_sv_writer as writer;
use warpline_testbenches::lockstep::{Lockstep, LockstepError, on_large_stack};
use warpline_wire::mpa;

/// The longest ULPDU that is measured as it lands.
const FAST: u16 = 1014;

// req: MPA-FMT-05, MPA-FMT-10, MPA-FMT-11, MPA-FMT-18, MPA-MRK-04, MPA-MRK-17, MPA-RCV-05, MPA-RCV-08, MPA-RCV-17
// req: MPA-RCV-20, MPA-RCV-31, AMB-21
#[test]
fn lengths_of_four_streams_at_64_bits() {
    let bench = traffic::<32, 2, 1>(Config::simulated(64), 1400);
    let seen = &bench.seen;
    assert_eq!(bench.wrong, 0, "{seen:?}");
    assert!(
        seen.with_markers > 500 && seen.leading > 10 && seen.held_back > 100,
        "{seen:?}"
    );
    assert!(
        seen.refused_length > 0 && seen.closed_with_backlog > 3,
        "{seen:?}"
    );
    assert!(seen.pads.iter().all(|pads| *pads > 100), "{seen:?}");
    assert!(seen.prompt > 20, "{seen:?}");
    let ends = seen.ends[refused::CLOSED as usize..].iter();
    assert!(
        ends.min() > Some(&0) && seen.ends_with_backlog > 1,
        "{seen:?}"
    );
}

// req: MPA-FMT-05, MPA-FMT-10, MPA-FMT-11, MPA-MRK-04, MPA-MRK-17, MPA-RCV-05, MPA-RCV-08, MPA-RCV-17, AMB-21, AMB-22
#[test]
fn lengths_of_four_streams_with_small_rings_at_512_bits() {
    let config = Config {
        ring_octets: 8 << 10,
        commit_octets: 8 << 10,
        ..Config::simulated(512)
    };
    let bench = on_large_stack(move || {
        let bench = traffic::<256, 16, 4>(config, 800);
        (bench.wrong, bench.seen)
    });
    let (wrong, seen) = bench;
    assert_eq!(wrong, 0, "{seen:?}");
    assert!(
        seen.refused_too_large > 0 && seen.refused_length > 0,
        "{seen:?}"
    );
    assert!(
        seen.with_markers > 100 && seen.leading > 2 && seen.held_back > 100,
        "{seen:?}"
    );
}

// req: MPA-RCV-08
#[test]
fn the_last_octet_makes_the_fpdu_whole() {
    let mut bench = armed(false);
    bench.plan(2, 500);
    bench.land(2, 508);
    bench.idle(UNKNOWN - 1);
    assert_eq!(bench.issued.len(), 0);
    bench.idle(1);
    assert_eq!((bench.issued.len(), bench.longest), (1, UNKNOWN));
    bench.plan(2, 500);
    bench.land(2, 507);
    bench.idle(200);
    assert_eq!(bench.issued.len(), 1);
    bench.longest = 0;
    bench.land(2, 1);
    bench.idle(KNOWN);
    assert_eq!((bench.issued.len(), bench.longest), (2, KNOWN));
    assert_eq!(bench.wrong, 0);
}

// req: MPA-RCV-17, MPA-RCV-20
#[test]
fn fpdus_that_land_octet_by_octet() {
    for markers in [false, true] {
        let mut bench = armed(markers);
        for ulpdu in [0, 1, 2, 505, 14] {
            bench.plan(2, ulpdu);
        }
        while bench.room(2) > 0 {
            bench.land(2, 1);
            let idle = bench.rng.usize(0..3);
            bench.idle(idle);
        }
        bench.idle(SETTLED);
        assert_eq!((bench.issued.len(), bench.wrong), (5, 0));
    }
}

// req: AMB-21, AMB-22
#[test]
fn a_refused_length_ends_its_stream_as_soon_as_it_is_seen() {
    for (ulpdu, markers) in [(64769, false), (65535, true), (65535, false)] {
        let mut bench = armed(markers);
        bench.arm(1, markers, false);
        bench.plan(2, ulpdu);
        bench.land(2, if markers { 7 } else { 3 });
        bench.idle(SETTLED);
        assert_eq!(bench.issued.len(), 0);
        bench.land(2, 1);
        bench.idle(UNKNOWN);
        assert_eq!((bench.issued.len(), bench.seen.refused_length), (1, 1));
        // nothing more comes out of this stream, and others go on
        bench.land(2, 1 << 16);
        bench.plan(1, 20);
        bench.land(1, 100);
        bench.idle(SETTLED);
        assert_eq!((bench.issued.len(), bench.wrong), (2, 0));
    }
    // the longest legal one
    let mut bench = armed(true);
    bench.plan(2, 64768);
    bench.land(2, 1 << 17);
    bench.idle(UNKNOWN + COUNTING);
    assert_eq!(
        (bench.issued.len(), bench.seen.refused_length, bench.wrong),
        (1, 0, 0)
    );
}

// req: AMB-21, AMB-22
#[test]
fn a_stream_that_accepts_any_length_is_refused_for_its_ring_only() {
    for ulpdu in [64769, 65535] {
        let mut bench = armed(false);
        bench.arm_for(1, false, true, true);
        bench.plan(1, ulpdu);
        bench.plan(1, 20);
        bench.land(1, 1 << 17);
        bench.idle(SETTLED);
        let seen = (bench.issued.len(), bench.seen.refused_length, bench.wrong);
        assert_eq!(seen, (2, 0, 0));
        // the next owner does not accept them
        bench.close(1);
        bench.idle(64);
        bench.arm(1, false, true);
        bench.plan(1, ulpdu);
        bench.land(1, 4);
        bench.idle(SETTLED);
        let seen = (bench.issued.len(), bench.seen.refused_length, bench.wrong);
        assert_eq!(seen, (3, 1, 0));
    }
    let small = Config {
        ring_octets: 1 << 16,
        ..Config::simulated(64)
    };
    let mut bench = Bench64::new(small, 7);
    bench.arm_for(1, false, true, true);
    bench.plan(1, 65535); // 65,544 octets on the wire
    bench.land(1, 4);
    bench.idle(SETTLED);
    let seen = (bench.issued.len(), bench.seen.refused_length, bench.wrong);
    assert_eq!(seen, (1, 0, 0));
}

/// FPDUs of every length that the fast path measures, each alone and with the first beat of its stream's next octets: what
/// it says of them is what goes out. They begin with a marker, or `behind` octets after one.
fn measured_alone(bench: &mut Bench64, behind: u64) {
    bench.arm(2, true, true);
    bench.idle(64);
    for ulpdu in 0..=FAST {
        // up to where the next one begins, as one FPDU or two
        let planned = bench.sources[2].planned;
        let mut to = planned.next_multiple_of(512) + behind;
        while to != planned && to < planned + 16 {
            to += 512;
        }
        if to > planned {
            let length = (0..1024)
                .find(|ulpdu| planned + mpa::fpdu_len(planned as u32, *ulpdu, true) as u64 == to);
            bench.plan(2, length.expect("an FPDU that ends there") as u16);
            bench.land_at_once(2, bench.room(2));
            bench.idle(2 * KNOWN + UNKNOWN + COUNTING);
        }
        assert_eq!(bench.sources[2].planned % 512, behind);
        bench.plan(2, ulpdu);
        let octets = bench.room(2);
        bench.land_beats(2, &[octets.min(8)]);
        bench.land_at_once(2, octets.saturating_sub(8));
        for _ in 0..UNKNOWN + COUNTING {
            if bench.sources[2].plan.is_empty() {
                break;
            }
            bench.idle(1);
        }
        bench.idle(KNOWN);
        if bench.failed.is_some() {
            return;
        }
        assert!(bench.sources[2].plan.is_empty(), "ULPDU of {ulpdu} octets");
    }
}

// req: MPA-FMT-10, MPA-MRK-04, MPA-MRK-17
#[test]
fn every_length_that_is_measured_as_it_lands() {
    every_length(0);
}

#[test]
#[ignore = "make long-scan: other distances from a marker"]
fn every_length_behind_a_marker_and_in_front_of_one() {
    every_length(12);
    every_length(252);
    every_length(508);
}

fn every_length(behind: u64) {
    let mut bench = Bench64::new(Config::simulated(64), 7);
    measured_alone(&mut bench, behind);
    assert_eq!(bench.wrong, 0, "{behind} octets behind a marker");
    assert!(bench.seen.issued > usize::from(FAST), "{:?}", bench.seen);
}

/// One length is miscounted: 1011 octets behind a leading marker, where the second marker inside begins to count, or 503.
#[test]
fn a_length_that_the_fast_path_miscounts_is_seen() {
    for (name, right, wrong) in [
        ("two", "highest_2 = 12'h3fb", "highest_2 = 12'h3fc"),
        ("one", "highest = 12'h1ff", "highest = 12'h200"),
    ] {
        let mut bench = Bench64::with_fault(Config::simulated(64), 7, name, right, wrong);
        measured_alone(&mut bench, 0);
        let seen = bench.failed.expect(name);
        println!("{name}: {seen}");
    }
}

/// Runs stream 0 with markers, whose only FPDU so far has `length`, against a text in which `right` is `wrong`.
fn fault(name: &str, right: &str, wrong: &str, length: u16) -> Option<LockstepError> {
    let block = Box::new(Scan::<32, 2, 1, STREAMS>::new(&Config::simulated(64)));
    let mut design = writer::write(&*block, name).unwrap();
    let module = design
        .modules
        .iter_mut()
        .find(|module| module.text.contains(right));
    let text = &mut module.unwrap_or_else(|| panic!("no {right}")).text;
    *text = text.replace(right, wrong);
    let clock: fn(&mut Scan<32, 2, 1, STREAMS>, bool) = |b, level| b.clock.next = level.into();
    let mut bench = Lockstep::with_fault(name, block, &design, clock).unwrap();
    (0..400_u64).find_map(|cycle| {
        let b = &mut bench.block;
        b.reset.next = cycle < 2;
        b.arm.next = cycle == 2;
        b.markers.next = true;
        b.landed.next = cycle == 4;
        b.landed_edge.next = 2000.into();
        b.fpdu_ready.next = true;
        for i in 0..STREAMS {
            b.may_run[i].next = true;
            b.may_issue[i].next = true;
        }
        b.header_data.next = (u64::from(length.swap_bytes()) * 0x1_0001).into();
        bench.settle().and_then(|()| bench.edge()).err()
    })
}

#[test]
fn a_marker_too_few_is_seen() {
    // length 502, and CRC: 127 dwords and the marker in front of them fill 512 octets; a dword more needs another one
    let seen = fault("scan_fault_one", ">= 10'd512", "> 10'd512", 503);
    assert!(
        matches!(seen, Some(LockstepError::Differ { .. })),
        "{seen:?}"
    );
    // twice 127 dwords
    let seen = fault(
        "scan_fault_two",
        "rest_q >= 16'h7f",
        "rest_q > 16'h7f",
        1011,
    );
    assert!(
        matches!(seen, Some(LockstepError::Differ { .. })),
        "{seen:?}"
    );
}

#[test]
fn an_fpdu_that_lacks_its_last_octets_is_seen() {
    // 2000 octets have landed: four markers, and 70 FPDUs of 28 octets; the next one lacks four
    let (right, wrong) = ("measured_edge_q - ", "measured_edge_q + 20'd16 - ");
    let seen = fault("scan_fault_whole", right, wrong, 20);
    assert!(
        matches!(seen, Some(LockstepError::Differ { .. })),
        "{seen:?}"
    );
}
