//! Cycles: what a beat costs on its way in and out, and how long everything takes.

use warpline_hdl::tx::mpa::transmit_ring::ports::{ACKNOWLEDGE, ANSWER, MEASURE, MOVED, SEND};
use warpline_hdl::tx::mpa::transmit_ring::{MEASURED, PERIOD, moved, sent, written};

use crate::support::{Bench, Times, at_wider};

/// Each is in the cycle behind the one before.
fn successive(cycles: &[usize]) -> bool {
    cycles.windows(2).all(|pair| pair[1] == pair[0] + 1)
}

fn rates<
    const W: usize,
    const K: usize,
    const D: usize,
    const LOGK: usize,
    const LOGD: usize,
    const S: usize,
>() {
    let mut bench = Bench::<W, K, D, LOGK, LOGD, S>::new(1);
    for stream in 0..S as u8 {
        bench.arm(stream, 0xFFFF_FF00).unwrap();
    }

    // a beat a cycle, and the edge of each FPDU in time, down to FPDUs of one beat
    for length in [K.max(16) - 6, 1, 2 * K - 7, 300] {
        bench.times = Times::default();
        for stream in (0..S as u8).cycle().take(3 * S) {
            assert!(bench.write(stream, length, false));
        }
        let fpdus: Vec<usize> = bench
            .writes
            .iter()
            .map(|f| f.octets.len().div_ceil(K))
            .collect();
        bench.finish().unwrap();
        let Times {
            beats, completes, ..
        } = &bench.times;
        assert!(successive(beats), "{W} bits, {length}: {beats:?}");
        let mut last = beats[0] - 1;
        for (beats, complete) in fpdus.iter().zip(completes) {
            last += beats;
            assert_eq!(*complete, last + written(D));
        }
    }

    // the report of an edge
    bench.times = Times::default();
    assert!(bench.write(0, 100, false));
    bench.finish().unwrap();
    let (cycle, report) = bench.times.reports[0];
    assert_eq!(report.kind, MOVED);
    assert_eq!(cycle, bench.times.beats.last().unwrap() + moved(D));

    // a SEND alone, from each lane, and to each lane
    for (from, length) in (0..K as u64 + 2).zip(1..) {
        bench.times = Times::default();
        bench.command_at(SEND, 1, from, length);
        bench.finish().unwrap();
        assert_eq!(bench.times.transmits[0], bench.times.commands[0] + sent(K));
    }

    // SENDs of as many beats as a command takes cycles
    let beats = PERIOD as u64 + 1;
    bench.times = Times::default();
    for number in 0..20 {
        let stream = (number % S) as u8;
        let room = bench.streams[usize::from(stream)].edge() - beats * K as u64;
        let from = (number as u64 * 3) % room.max(1);
        bench.command_at(SEND, stream, from, (beats * K as u64) as u16);
    }
    bench.finish().unwrap();
    assert_eq!(bench.times.transmits.len(), 20 * beats as usize);
    assert!(successive(&bench.times.transmits), "{W} bits, a gap");
    assert_eq!(bench.times.commands[1] - bench.times.commands[0], PERIOD);

    // boundaries in the first word and further down
    let ends: Vec<u64> = bench.streams[2].boundaries.iter().copied().collect();
    let limits = ends
        .iter()
        .flat_map(|end| [*end, end + 3, end + 100, end + 200]);
    for limit in limits
        .filter(|limit| *limit < bench.streams[2].edge())
        .collect::<Vec<_>>()
    {
        bench.times = Times::default();
        bench.command_at(MEASURE, 2, 0, limit as u16);
        bench.finish().unwrap();
        let boundary = *ends.iter().rfind(|end| **end <= limit).unwrap();
        let (cycle, report) = bench.times.reports[0];
        assert_eq!((report.kind, u64::from(report.octets)), (ANSWER, boundary));
        let words = (limit / 128 - boundary / 128) as usize;
        assert_eq!(cycle, bench.times.commands[0] + MEASURED + words);
    }

    bench.times = Times::default();
    bench.command_at(ACKNOWLEDGE, 3, 17, 0);
    bench.finish().unwrap();
    assert_eq!(bench.times.freed[0], bench.times.commands[0] + 8);
}

#[test]
fn a_beat_a_cycle_in_and_out_at_64_bits() {
    assert_eq!([2, 4, 8, 16].map(written), [4, 4, 5, 5]);
    assert_eq!([2, 4, 8, 16].map(moved), [8, 8, 9, 9]);
    assert_eq!([8, 16, 32, 64].map(sent), [13, 13, 14, 14]);
    assert_eq!((MEASURED, PERIOD), (18, 7));
    rates::<64, 8, 2, 3, 1, 4>();
}

#[test]
fn a_beat_a_cycle_in_and_out_at_wider_buses() {
    at_wider!(rates());
}
