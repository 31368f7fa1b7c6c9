//! Rate and latency, and a stream that cannot go on.

use super::support::*;
use warpline_testbenches::lockstep::on_large_stack;

// req: MPA-RCV-17
#[test]
fn a_beat_a_cycle_without_loss() {
    on_large_stack(|| {
        let mut bench = Bench64::new(5);
        bench.faults = false;
        bench.arm(2, 99, true, true);
        (0..40).for_each(|_| bench.append(2, 1442));
        for from in (0..bench.streams[2].wire.len()).step_by(1460) {
            let length = (bench.streams[2].wire.len() - from).min(1460);
            bench.segment(2, from, length);
        }
        let beats = bench.beats.len();
        let before = bench.cycle;
        while bench.seen.fpdus < 40 && bench.cycle < before + 2 * beats {
            bench.cycle(true);
        }
        // every segment at once, and the last FPDU checked shortly after its last beat
        assert_eq!(
            (bench.seen.dropped, bench.seen.fpdus, bench.wrong),
            (0, 40, 0)
        );
        let late = bench.cycle - before - beats;
        assert!(late < 1442 / 8 + 60, "{late} cycles behind the last beat");
    });
}

/// FPDUs that land as fast as the bus brings them are in the commit buffer at a rate of one for as many cycles as it
/// has beats, or as it takes to land, whichever is more; from one stream and from four in turn.
fn assert_rate<
    const W: usize,
    const K: usize,
    const D: usize,
    const H: usize,
    const LOGK: usize,
    const LOGD: usize,
>(
    streams: &[usize],
    markers: bool,
    ulpdu: usize,
    fpdus: usize,
) {
    let mut bench = Bench::<W, K, D, H, LOGK, LOGD>::new(11);
    bench.faults = false;
    for stream in streams {
        bench.arm(*stream, 5, markers, true);
        (0..fpdus).for_each(|_| bench.append(*stream, ulpdu));
    }
    let length = bench.streams[streams[0]].wire.len();
    for from in (0..length).step_by(1460) {
        for stream in streams {
            bench.segment(*stream, from, (length - from).min(1460));
        }
    }
    let octets = bench.streams[streams[0]].fpdus[1].wire.len();
    let all = fpdus * streams.len();
    let due = (bench.beats.len()).max(all * octets.div_ceil(K));
    let before = bench.cycle;
    while bench.seen.fpdus < all && bench.cycle < before + 2 * due + 200 {
        bench.cycle(true);
    }
    assert_eq!(
        (bench.seen.dropped, bench.seen.fpdus, bench.wrong),
        (0, all, 0)
    );
    let first = bench.segment_cycles[0];
    let taken = bench.segment_cycles[all - 1] - first;
    assert!(
        taken <= due + 20,
        "{W} bits, {ulpdu} octets: {taken} cycles for {due}"
    );
}

#[test]
fn small_fpdus_take_no_more_cycles_than_their_beats() {
    on_large_stack(|| {
        for markers in [false, true] {
            assert_rate::<64, 8, 2, 32, 3, 1>(&[2], markers, 20, 200);
            assert_rate::<512, 64, 16, 256, 6, 4>(&[2], markers, 20, 200);
            assert_rate::<512, 64, 16, 256, 6, 4>(&[0, 1, 2, 3], markers, 20, 50);
            assert_rate::<512, 64, 16, 256, 6, 4>(&[1], markers, 100, 60);
        }
    });
}

#[test]
fn the_header_of_an_fpdu_of_three_beats_is_known_22_cycles_after_its_last_beat() {
    on_large_stack(|| {
        let mut bench = Bench64::new(6);
        bench.faults = false;
        bench.arm(1, 1, false, true);
        bench.append(1, 16);
        bench.segment(1, 0, 24);
        (0..3).for_each(|_| bench.cycle(true));
        let last = bench.cycle - 1;
        bench.drain();
        (0..100).for_each(|_| bench.cycle(false));
        assert_eq!((bench.segment_cycles[0] - last, bench.wrong), (22, 0));
    });
}

// req: AMB-10, AMB-21, AMB-22
#[test]
fn a_stream_whose_lengths_are_lost_does_not_hold_its_sender() {
    on_large_stack(|| {
        let mut bench = Bench64::new(9);
        bench.arm(3, 0xFFFF_FFFF, true, true);
        bench.append(3, 200);
        bench.append_refused(3);
        let length = bench.streams[3].wire.len();
        bench.segment(3, 0, length);
        bench.drain();
        (0..length / 8).for_each(|_| bench.cycle(true));
        assert_eq!((bench.streams[3].acked, bench.seen.dropped), (length, 0));
        assert_eq!(
            (bench.seen.fpdus, bench.seen.refused, bench.wrong),
            (1, 1, 0)
        );
    });
}
