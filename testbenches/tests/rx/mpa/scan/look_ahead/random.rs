//! Random gaps at two widths, streams in reverse, and planted faults.

use super::support::*;
use warpline_hdl::Config;
use warpline_hdl::rx::mpa::scan::Scan;
use warpline_sv_writer::{self as writer};
use warpline_testbenches::lockstep::{LockstepError, on_large_stack};

// req: MPA-RCV-06, MPA-RCV-07, MPA-RCV-18, MPA-RCV-19, MPA-RCV-22, MPA-RCV-30, MPA-MRK-09, MPA-MRK-12, MPA-MRK-13
// req: AMB-18, AMB-54
#[test]
fn what_is_whole_behind_a_gap_goes_out_once_at_64_bits() {
    out_once(8);
}

#[test]
#[ignore = "make long-scan: a third of it is in the test above"]
fn what_is_whole_behind_a_gap_goes_out_once_for_long_at_64_bits() {
    out_once(24);
}

fn out_once(rounds: usize) {
    let bench = traffic::<32, 2, 1>(64, rounds, 100);
    let seen = &bench.seen;
    assert_eq!((bench.wrong, seen.strangers), (0, 0), "{seen:?}");
    assert!(
        seen.ahead > 12 * rounds && seen.placed > 9 * rounds,
        "{seen:?}"
    );
    assert!(seen.leading > 1 && seen.chained > rounds, "{seen:?}");
    assert!(seen.in_order > 25 * rounds, "{seen:?}");
    // an answer that comes when the chain in order is there already is of no use
    assert!(seen.twice * 4 < seen.placed, "{seen:?}");
}

// req: MPA-RCV-06, MPA-RCV-07, MPA-RCV-18, MPA-RCV-19, MPA-RCV-22, MPA-RCV-30, AMB-54
#[test]
fn what_is_whole_behind_a_gap_goes_out_once_at_512_bits() {
    on_large_stack(|| {
        let bench = traffic::<256, 16, 4>(512, 4, 100);
        let seen = &bench.seen;
        assert_eq!((bench.wrong, seen.strangers), (0, 0), "{seen:?}");
        assert!(seen.ahead > 50 && seen.placed > 40, "{seen:?}");
    });
}

/// With streams that are held back at random: what went ahead is placed once, and counts as placed when it goes out in order.
// req: MPA-RCV-07, MPA-RCV-18
#[test]
fn what_is_whole_behind_a_gap_goes_out_once_of_streams_that_are_held() {
    let bench = gated_traffic::<32, 2, 1>(64, 6, 100, 4);
    let seen = &bench.seen;
    assert_eq!((bench.wrong, seen.strangers), (0, 0), "{seen:?}");
    assert!(seen.ahead > 60 && seen.placed > 40, "{seen:?}");
}

/// FPDUs of 1442 octets, one a segment, that arrive from the last one to the first one, one window of 64 KiB after the
/// other: cycles from the last FPDU in order of the first window to that of the last one, and beats of those in between.
fn reversed<const H: usize, const D: usize, const LOGD: usize>(width: usize) -> (usize, usize) {
    let mut bench = Bench::<H, D, LOGD>::new(Config::simulated(width), 3);
    bench.arm(1, true, true);
    let fpdus = 44;
    let windows = 4;
    (0..windows * fpdus).for_each(|_| bench.plan(1, 1442));
    let mut beats = 0;
    for window in 0..windows {
        for number in (window * fpdus..(window + 1) * fpdus).rev() {
            let planned = bench.sources[1].plan[number];
            // as far as the ring has room
            let end = planned.position + planned.octets;
            while end > bench.sources[1].tail() + bench.config.ring_octets as u64 {
                bench.idle(1);
            }
            if window > 0 {
                beats += planned.octets.div_ceil(bench.config.octets() as u64) as usize;
            }
            bench.fpdus(1, number..number + 1);
        }
    }
    bench.finish();
    assert_eq!((bench.wrong, bench.seen.in_order), (0, windows * fpdus));
    let cycles = bench.outs[windows * fpdus - 1] - bench.outs[fpdus - 1];
    (cycles, beats)
}

/// Windows that arrive backwards keep at least 0.9 of the bus: all but the first FPDU of a window is read once and a header
/// more, while the next window arrives. Behind the last one headers come out alone, one in 16 cycles.
#[test]
fn a_window_that_arrives_backwards_keeps_nine_tenths_of_the_bus() {
    let (cycles, beats) = reversed::<32, 2, 1>(64);
    assert!(90 * cycles <= 100 * beats, "64 bits: {cycles} for {beats}");
}

#[test]
#[ignore = "make long-scan: the same at wider buses"]
fn a_window_that_arrives_backwards_keeps_nine_tenths_of_a_wider_bus() {
    on_large_stack(|| {
        #[cfg(feature = "every-width")]
        {
            let (cycles, beats) = reversed::<128, 8, 3>(256);
            assert!(90 * cycles <= 100 * beats, "256 bits: {cycles} for {beats}");
        }
        let (cycles, beats) = reversed::<256, 16, 4>(512);
        assert!(90 * cycles <= 100 * beats, "512 bits: {cycles} for {beats}");
    });
}

/// A window of FPDUs behind a gap, which is closed, against a text in which `right` is `wrong`.
fn fault(name: &str, right: &str, wrong: &str) -> Option<LockstepError> {
    let block = Box::new(Scan::<32, 2, 1, STREAMS>::new(&small(64)));
    let mut design = writer::write(&*block, name).unwrap();
    let module = design
        .modules
        .iter_mut()
        .find(|module| module.text.contains(right));
    let text = &mut module.unwrap_or_else(|| panic!("no {right}")).text;
    *text = text.replace(right, wrong);
    let mut bench = Bench64::of(small(64), 5, name, &design);
    bench.planted = true;
    bench.arm(2, true, true);
    (0..9).for_each(|_| bench.plan(2, 300));
    bench.good = 60;
    let end = bench.sources[2].octets.len() as u64;
    bench.segment(2, 100, end - 20);
    bench.idle(900);
    bench.segment(2, 0, 100);
    bench.segment(2, end - 20, end);
    bench.idle(600);
    bench.failed
}

#[test]
fn planted_faults_are_seen() {
    for (name, right, wrong) in [
        // an FPDU that lacks its last octets, a marker that leads, what was not accepted
        (
            "ahead_whole",
            "finish_q[19:0] - ends_q[19:0]",
            "finish_q[19:0] + 20'd64 - ends_q[19:0]",
        ),
        ("ahead_mask", "32'hfffc", "32'hffff"),
        ("ahead_good", "(op_q.answer & op_q.accepted)", "op_q.answer"),
    ] {
        let seen = fault(name, right, wrong);
        assert!(
            matches!(seen, Some(LockstepError::Differ { .. })),
            "{name}: {seen:?}"
        );
    }
}
