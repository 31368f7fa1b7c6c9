//! Latency and throughput, in cycles.

use warpline_hdl::tx::sctp::chunks::{BEHIND, LATENCY, SENDS};
use warpline_testbenches::stimulus::Pace;
use warpline_wire::mpa;

use crate::random::paces;
use crate::support::{Bench, Range};

/// Octets of a segment: an MTU of 1500 less headers of IP and SCTP, and the DDP-SSN.
const SEGMENT: usize = 1440;

/// Each is in the cycle behind the one before.
fn successive(cycles: &[usize]) -> bool {
    cycles.windows(2).all(|pair| pair[1] == pair[0] + 1)
}

#[test]
fn a_beat_leaves_two_cycles_later_and_none_is_lost_between_sends() {
    assert_eq!((LATENCY, SENDS, BEHIND), (2, 32, 4));
    const K: usize = 8;
    let mut bench = Bench::<64, K, 3>::new(1);
    let mut paces = paces(Pace::Always, Pace::Always, Pace::Always);
    bench.reset().unwrap();
    bench.arm(0, None, &mut paces).unwrap();
    bench.arm(1, Some(1), &mut paces).unwrap();
    (0..8).for_each(|_| bench.step(None, &mut paces).unwrap());

    // chunks and segments of TCP in turns
    let mut octets = 0;
    for number in 0..16 {
        let length = SEGMENT + 2 * (number % 2);
        let send = bench.send(number % 2, length, Range::Whole);
        octets += send.due.len();
        bench.step(Some(send), &mut paces).unwrap();
        bench.step(None, &mut paces).unwrap();
    }
    while !bench.is_idle() {
        bench.step(None, &mut paces).unwrap();
    }
    assert!(successive(&bench.entered) && successive(&bench.beats_at));
    assert_eq!(bench.beats_at[0], bench.entered[0] + LATENCY);
    let share = octets as f64 / (K * bench.beats_at.len()) as f64;
    assert!(share >= 0.98, "{share} of the bus");

    // a chunk whose PAD and CRC have beats of their own: these cost a cycle each
    bench.entered.clear();
    bench.beats_at.clear();
    let mut dropped = 0;
    for length in 14..14 + 2 * K {
        let send = bench.send(1, length, Range::Whole);
        let fpdu = mpa::fpdu_len(0, length, false);
        assert_eq!(send.octets.len(), fpdu);
        dropped += fpdu.div_ceil(K) - send.due.len().div_ceil(K);
        bench.step(Some(send), &mut paces).unwrap();
        bench.step(None, &mut paces).unwrap();
    }
    while !bench.is_idle() {
        bench.step(None, &mut paces).unwrap();
    }
    assert!(successive(&bench.entered), "{:?}", bench.entered);
    assert!(dropped >= K, "{dropped}");
    assert_eq!(bench.entered.len(), bench.beats_at.len() + dropped);
}
