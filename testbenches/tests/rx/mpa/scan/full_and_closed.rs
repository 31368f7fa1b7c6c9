//! A full queue behind the scanner, and streams closed at any moment.

use super::support::*;
use warpline_hdl::Config;
use warpline_testbenches::stimulus::{Pace, Rhythm};

#[test]
fn a_full_queue_holds_the_scanner_until_there_is_room() {
    let mut bench = armed(true);
    bench.ready = Rhythm::new(Pace::Percent(0));
    (0..40).for_each(|_| bench.plan(2, 0));
    bench.land(2, 1 << 20);
    bench.idle(SETTLED);
    let held = bench.issued.len();
    assert!((8..=16).contains(&held), "{held} in a queue of 16");
    bench.ready = Rhythm::new(Pace::Always);
    bench.idle(SETTLED);
    assert_eq!(
        (bench.issued.len(), bench.wrong, bench.expected.len()),
        (40, 0, 0)
    );
}

/// The queue is full, and more of the stream is on its way to it; the next owner has nothing to do with that.
#[test]
fn what_a_full_queue_held_back_of_a_closed_stream_does_not_come_out_for_its_next_owner() {
    for moment in 0..40 {
        let mut bench = armed(true);
        bench.arm(1, false, false);
        bench.ready = Rhythm::new(Pace::Percent(0));
        (0..40).for_each(|_| bench.plan(2, 14));
        bench.plan(1, 900);
        bench.land(1, 100);
        bench.land(2, 1 << 20);
        bench.idle(moment);
        bench.land(1, 1 << 20);
        bench.idle(100);
        let before = bench.issued.len();
        bench.close(2);
        bench.close(1);
        bench.idle(64);
        assert_eq!(bench.issued.len(), before);
        bench.arm(2, false, true);
        bench.arm(1, true, true);
        for stream in [1, 2] {
            (0..5).for_each(|_| bench.plan(stream, 30));
            bench.land(stream, 1 << 20);
        }
        bench.ready = Rhythm::new(Pace::Always);
        bench.idle(2 * SETTLED);
        assert_eq!(
            (bench.issued.len(), bench.wrong, bench.expected.len()),
            (before + 10, 0, 0),
            "moment {moment}"
        );
    }
}

#[test]
fn a_stream_closed_at_any_moment_gives_no_more_fpdus() {
    let mut bench = Bench64::new(Config::simulated(64), 7);
    let mut after_issue = 0;
    for moment in 0..40 {
        bench.issued.clear();
        for stream in [2, 0] {
            bench.arm(stream, true, true);
            (0..3).for_each(|_| bench.plan(stream, 200));
        }
        bench.land(2, 1 << 20);
        bench.land(0, 1 << 20);
        bench.idle(moment);
        bench.close(2);
        let issued = 3 - bench.sources[2].plan.len();
        bench.idle(64);
        // the next owner's octets are not there yet, what its former owner left behind is
        bench.arm(2, moment % 2 == 0, false);
        bench.idle(SETTLED);
        bench.plan(2, 300);
        bench.land(2, 1 << 20);
        bench.idle(SETTLED);
        let found = (bench.issued.len(), bench.wrong);
        assert_eq!(found, (issued + 3 + 1, 0), "moment {moment}");
        after_issue += issued;
        bench.close(0);
        bench.close(2);
        bench.idle(64);
    }
    assert!(after_issue > 10);
}
