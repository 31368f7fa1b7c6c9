//! Cycles: what an FPDU costs, and how long it takes.

use warpline_hdl::tx::mpa::frame::latency;
use warpline_wire::{marker, mpa};

use crate::support::{Bench, Item, Paces, Seen, at_wider, random_octets};

/// Items one behind the other in a stream.
fn stream(rng: &mut fastrand::Rng, markers: bool, lengths: &[usize]) -> Vec<Item> {
    let mut position = 0x1000;
    let items = lengths.iter().map(|length| {
        let item = Item {
            stream: 3,
            position,
            markers,
            crc: true,
            octets: random_octets(rng, *length),
        };
        position += item.fpdu_len() as u32;
        item
    });
    items.collect()
}

/// Cycles from the first beat to the last one, both included.
fn cycles_of(seen: &[Seen]) -> usize {
    seen.last().unwrap().cycle - seen[0].cycle + 1
}

/// FPDUs take as many cycles as they have beats, and follow each other without a gap.
fn a_beat_a_cycle<
    const W: usize,
    const K: usize,
    const D: usize,
    const LOGK: usize,
    const LOGD: usize,
>() {
    let mut bench = Bench::<W, K, D, LOGK, LOGD>::new(1);
    for markers in [false, true] {
        let mut sets: Vec<Vec<usize>> = vec![
            (1..=200).collect(),
            vec![1460 - mpa::MIN_OVERHEAD - 12; 20],
            vec![8950; 2],
            (0..40).map(|_| bench.rng.usize(1..=1500)).collect(),
        ];
        // one length for each number of beats: the FPDUs without markers fill their beats
        for beats in [1, 2, 3, 4, 7] {
            sets.push(vec![beats * K - mpa::MIN_OVERHEAD; 40]);
            sets.push(vec![beats * K - mpa::MIN_OVERHEAD - 1; 20]);
        }
        for lengths in sets {
            let items = stream(&mut bench.rng, markers, &lengths);
            let seen = bench.run(&items, Paces::ALWAYS);
            let seen = seen.unwrap_or_else(|e| panic!("{e}"));
            let beats: usize = items.iter().map(|i| i.fpdu_len().div_ceil(K)).sum();
            assert_eq!(seen.len(), beats);
            assert_eq!(
                cycles_of(&seen),
                beats,
                "{W} bits, {markers}, {:?}",
                lengths[0]
            );
        }
    }
}

#[test]
fn an_fpdu_of_n_beats_takes_n_cycles_at_64_bits() {
    a_beat_a_cycle::<64, 8, 2, 3, 1>();
}

#[test]
fn an_fpdu_of_n_beats_takes_n_cycles_at_wider_buses() {
    at_wider!(a_beat_a_cycle());
}

fn first_beat<
    const W: usize,
    const K: usize,
    const D: usize,
    const LOGK: usize,
    const LOGD: usize,
>() {
    let mut bench = Bench::<W, K, D, LOGK, LOGD>::new(2);
    for markers in [false, true] {
        for length in [1, 14, 18, 100, 508, 1442] {
            let items = stream(&mut bench.rng, markers, &[length]);
            bench.accepted.clear();
            let seen = bench.run(&items, Paces::ALWAYS);
            let seen = seen.unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(seen[0].cycle - bench.accepted[0], latency(D));
            // no gap in it
            assert_eq!(cycles_of(&seen), items[0].fpdu_len().div_ceil(K));
        }
    }
}

#[test]
fn the_first_beat_comes_when_it_is_said_to_at_64_bits() {
    let latencies = [2, 4, 8, 16].map(latency);
    assert_eq!(latencies, [19, 21, 24, 27]);
    first_beat::<64, 8, 2, 3, 1>();
}

#[test]
fn the_first_beat_comes_when_it_is_said_to_at_wider_buses() {
    at_wider!(first_beat());
}

#[test]
fn markers_cost_their_four_octets_only() {
    let mut bench = Bench::<64, 8, 2, 3, 1>::new(3);
    let lengths = vec![marker::CONTENT_SPACING - mpa::MIN_OVERHEAD; 8];
    let [without, with] = [false, true].map(|markers| {
        let items = stream(&mut bench.rng, markers, &lengths);
        let seen = bench.run(&items, Paces::ALWAYS).unwrap();
        cycles_of(&seen)
    });
    // 508 octets are 63 beats and a half; with its marker the FPDU fills 64
    assert_eq!((without, with), (8 * 64, 8 * 64));
}
