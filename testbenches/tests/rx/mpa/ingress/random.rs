//! Streams cut at random reach the commit buffer; a wrong payload is seen.

use super::support::*;
use warpline_hdl::host::control;
use warpline_testbenches::lockstep::on_large_stack;
use warpline_testbenches::stimulus::{Pace, Rhythm};

fn assert_traffic<
    const W: usize,
    const K: usize,
    const D: usize,
    const H: usize,
    const LOGK: usize,
    const LOGD: usize,
>(
    fpdus: usize,
    seed: u64,
) -> Seen {
    let mut bench = Bench::<W, K, D, H, LOGK, LOGD>::new(seed);
    for (check, place) in [
        (Pace::Always, Pace::Always),
        (Pace::Percent(5), Pace::Always),
        (Pace::Percent(50), Pace::Percent(30)),
        (Pace::Bursts(400), Pace::Bursts(400)),
    ] {
        bench.check = Rhythm::new(check);
        bench.place = Rhythm::new(place);
        bench.traffic(fpdus / 4);
    }
    bench.drain();
    let acked: usize = bench
        .streams
        .iter()
        .filter(|s| s.armed)
        .map(|s| s.acked)
        .sum();
    let seen = bench.seen;
    assert_eq!(bench.wrong, 0, "{seen:?}");
    assert_eq!(seen.octets, acked + seen.of_closed, "{seen:?}");
    assert_eq!(seen.segments, bench.segments_sent, "{seen:?}");
    seen
}

// req: MPA-FMT-07, MPA-FMT-08, MPA-FMT-09, MPA-FMT-14, MPA-MRK-12, MPA-MRK-16, MPA-MRK-21, MPA-CRC-13, MPA-CRC-14
// req: MPA-CRC-15, MPA-CRC-17, MPA-CRC-18, MPA-CRC-19, MPA-RCV-02, MPA-RCV-03, MPA-RCV-05, MPA-RCV-08, MPA-RCV-09
// req: MPA-RCV-10, MPA-RCV-11, MPA-RCV-17, MPA-RCV-19, MPA-RCV-20, MPA-RCV-25, MPA-RCV-26, MPA-RCV-31, MPA-RCV-36
// req: MPA-RCV-38, MPA-ERR-05, DDP-ORD-07, AMB-10, AMB-13, AMB-21, AMB-22, AMB-40, MPA-RCV-14
#[test]
fn streams_cut_anyhow_reach_the_commit_buffer_at_64_bits() {
    let seen = on_large_stack(|| assert_traffic::<64, 8, 2, 32, 3, 1>(320, 66));
    assert!(
        seen.with_markers > 40 && seen.bad_crc > 5 && seen.wrong_marker > 2,
        "{seen:?}"
    );
    assert!(
        seen.refused > 0 && seen.sent_again > 3 && seen.dropped > 0,
        "{seen:?}"
    );
    assert!(seen.closed_early > 0, "{seen:?}");
}

// req: MPA-FMT-14, MPA-MRK-12, MPA-MRK-21, MPA-CRC-14, MPA-CRC-15, MPA-CRC-19, MPA-RCV-17, MPA-ERR-05
#[test]
fn streams_cut_anyhow_reach_the_commit_buffer_at_512_bits() {
    let seen = on_large_stack(|| assert_traffic::<512, 64, 16, 256, 6, 4>(60, 512));
    assert!(
        seen.with_markers > 10 && seen.bad_crc > 2 && seen.wrong_marker > 1,
        "{seen:?}"
    );
}

/// With as many islands as there can be, each grows at its end, and by one beat at its beginning. When the gaps are filled, no octet
/// of an island is sent again.
#[test]
fn each_of_four_islands_grows() {
    on_large_stack(|| {
        let mut bench = Bench64::new(7);
        bench.faults = false;
        bench.arm(0, 0xFFFF_FF00, false, true);
        (0..8).for_each(|_| bench.append(0, 400));
        let total = bench.streams[0].wire.len();
        let begins = [200_i32, 1000, 1800, 2600];
        for (offset, length) in [(0, 100), (100, 100), (-8, 8)] {
            for begin in begins {
                bench.segment(0, (begin + offset) as usize, length);
            }
        }
        let mut from = 0;
        for begin in begins {
            bench.segment(0, from, begin as usize - 8 - from);
            from = begin as usize + 200;
        }
        bench.segment(0, from, total - from);
        let stream = &mut bench.streams[0];
        (stream.next, stream.furthest) = (total, total);
        bench.drain();
        assert_eq!((bench.streams[0].acked, bench.seen.dropped), (total, 0));
        assert_eq!((bench.seen.fpdus, bench.wrong), (8, 0));
    });
}

/// FPDUs of a stream that are whole behind a gap come out between those that another one has in order, and once more when the gap is
/// filled.
#[test]
fn fpdus_behind_a_gap_come_between_those_in_order() {
    on_large_stack(|| {
        let mut bench = Bench64::new(8);
        bench.faults = false;
        bench.arm(0, 0xFFFF_FF00, false, true);
        bench.arm(1, 0xFFFF_FF00, true, true);
        for _ in 0..20 {
            bench.append(0, 100);
            bench.append(1, 150);
        }
        let total = [0, 1].map(|stream| bench.streams[stream].wire.len());
        bench.segment(1, 100, total[1] - 100);
        bench.segment(0, 0, total[0]);
        (0..2000).for_each(|_| bench.cycle(true));
        bench.segment(1, 0, 100);
        for (stream, total) in bench.streams.iter_mut().zip(total) {
            (stream.next, stream.furthest) = (total, total);
        }
        bench.drain();
        (0..3000).for_each(|_| bench.cycle(true));
        let acked = [0, 1].map(|stream| bench.streams[stream].acked);
        assert_eq!((acked, bench.seen.dropped, bench.wrong), (total, 0, 0));
        // those behind the gap are found by a marker, so not all of them
        assert!(bench.seen.fpdus > 40, "{:?}", bench.seen);
    });
}

#[test]
fn reset_in_the_middle_leaves_nothing_behind() {
    on_large_stack(|| {
        let mut bench = Bench64::new(7);
        for _ in 0..3 {
            bench.traffic(20);
            bench.reset();
        }
        bench.traffic(20);
        assert_eq!(bench.wrong, 0);
    });
}

/// Streams that are closed while their octets are on the way: the longest time until all is at rest.
fn longest_way_to_rest<
    const W: usize,
    const K: usize,
    const D: usize,
    const H: usize,
    const LOGK: usize,
    const LOGD: usize,
>() -> usize {
    let mut bench = Bench::<W, K, D, H, LOGK, LOGD>::new(9);
    bench.faults = false;
    let rests = (0..12).map(|number| {
        bench.arm(1, 77, number % 2 == 0, true);
        (0..4).for_each(|_| bench.append(1, 20 + 30 * number));
        let length = bench.streams[1].wire.len();
        bench.segment(1, 0, length);
        while !bench.beats.is_empty() {
            bench.cycle(true);
        }
        bench.rests_after(1)
    });
    rests.max().unwrap_or(0)
}

/// What `control` counts on: a stream can be armed again, and nothing of its former owner moves any more (AMB-42).
// req: AMB-42
#[test]
fn all_is_at_rest_when_control_has_waited() {
    on_large_stack(|| {
        for rest in [
            longest_way_to_rest::<64, 8, 2, 32, 3, 1>(),
            longest_way_to_rest::<512, 64, 16, 256, 6, 4>(),
        ] {
            println!("at rest {rest} cycles after a close");
            assert!(rest >= 2, "a wait of 2 cycles would have been enough");
            assert!(rest < control::SETTLE as usize, "{rest} cycles");
        }
    });
}

// req: MPA-RCV-03
#[test]
fn a_scoreboard_with_another_payload_sees_it() {
    on_large_stack(|| {
        let mut bench = Bench64::new(8);
        bench.faults = false;
        bench.arm(0, 1, true, true);
        bench.append(0, 700);
        let length = bench.streams[0].wire.len();
        bench.streams[0].wire[300] ^= 1;
        bench.segment(0, 0, length);
        while bench.seen.fpdus == 0 {
            bench.cycle(true);
        }
        bench.drain();
        // the verdict on its CRC, and one row
        assert_eq!(bench.wrong, 2);
    });
}
