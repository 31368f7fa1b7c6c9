//! Cycles: what a ULPDU costs, and how long it takes.

use warpline_hdl::parts::axi::BOUNDARY;
use warpline_hdl::records::PIECE_OCTETS;
use warpline_hdl::tx::ddp::gather::{ADDRESS, from_bus, from_piece};

use crate::support::{Bench, Item, Paces, Part, at_wider, content, cost, length, memory};

/// Cycles from the first source beat that is taken to the last beat, as the first beat says.
fn assert_cost<const W: usize, const K: usize, const LOGK: usize>(
    bench: &mut Bench<W, K, LOGK>,
    items: &[Item],
    delay: u64,
) {
    // in front of them one beat that shows when source beats begin, and time for addresses to go ahead
    let mut all = vec![vec![content(&mut bench.rng, 1)]];
    all.extend_from_slice(items);
    let seen = bench.run(&all, Paces::ALWAYS, memory(delay));
    let seen = seen.unwrap_or_else(|e| panic!("{W} bits: {e}"));
    let beats: usize = items.iter().map(|item| length(item).div_ceil(K)).sum();
    assert_eq!(seen.beats.len(), 1 + beats);
    // the second item has been read before its octets are taken
    let second = seen.beats.iter().position(|(_, item)| *item == 2).unwrap();
    let whole: usize = items[1..].iter().map(|item| cost(item, K)).sum();
    let cycles = seen.beats.last().unwrap().0 - seen.beats[second - 1].0;
    assert!(
        cycles.abs_diff(whole) <= 1,
        "{W} bits: {cycles} cycles for {whole} source beats"
    );
}

/// ULPDUs take as many cycles as their pieces have beats on the bus, and follow each other without a gap.
fn a_source_beat_a_cycle<const W: usize, const K: usize, const LOGK: usize>() {
    let mut bench = Bench::<W, K, LOGK>::new(1);
    let header = content(&mut bench.rng, PIECE_OCTETS);
    for (lane, count) in [
        (0, 1436),
        (3, 1436),
        (5, 4000),
        (1, 999),
        (0, 8 * K),
        (7, 5 * K),
    ] {
        let at = |n: u64| 0x10_0000 + 0x4000 * n + lane;
        // behind the first item memory has answered what the others ask for
        let mut items: Vec<Item> = vec![vec![header.clone(), Part::Memory(at(0), 4096)]];
        items.extend((1..6).map(|n| vec![header.clone(), Part::Memory(at(n), count)]));
        assert_cost(&mut bench, &items, 10);
    }
    // octets that come with pieces only
    for count in [1, 7, 8, 9, 16, 17, 18] {
        let items: Vec<Item> = (0..30)
            .map(|_| vec![content(&mut bench.rng, count)])
            .collect();
        assert_cost(&mut bench, &items, 0);
    }
    // pieces of every length, from every lane
    let mut items: Vec<Item> = vec![vec![header, Part::Memory(0x20_0000, 4096)]];
    for n in 0..40 {
        let parts = (0..4).map(|part| {
            let address = 0x30_0000 + 0x4000 * n + 0x800 * part + bench.rng.u64(0..64);
            Part::Memory(address, bench.rng.usize(5 * K..=12 * K))
        });
        items.push(parts.collect());
    }
    assert_cost(&mut bench, &items, 4);
}

#[test]
fn a_source_beat_takes_a_cycle_at_64_bits() {
    a_source_beat_a_cycle::<64, 8, 3>();
}

#[test]
fn a_source_beat_takes_a_cycle_at_128_256_and_512_bits() {
    at_wider!(a_source_beat_a_cycle());
}

/// R goes on at a beat a cycle, whatever the latency, while bursts of 4 KiB are under way.
fn bus_rate<const W: usize, const K: usize, const LOGK: usize>(delay: u64) {
    let mut bench = Bench::<W, K, LOGK>::new(2);
    let items: Vec<Item> = (0..4)
        .map(|n| vec![Part::Memory(0x100_0000 + 0x1_0000 * n, 9 * BOUNDARY)])
        .collect();
    let seen = bench.run(&items, Paces::ALWAYS, memory(delay)).unwrap();
    let beats: usize = items.iter().map(|item| cost(item, K)).sum();
    let (first, last) = (seen.answers[0], *seen.answers.last().unwrap());
    assert_eq!((seen.answers.len(), last - first + 1), (beats, beats));
    let (first, last) = (seen.beats[0].0, seen.beats.last().unwrap().0);
    assert_eq!((seen.beats.len(), last - first + 1), (beats, beats));
}

#[test]
fn the_bus_is_never_idle_behind_its_latency() {
    bus_rate::<64, 8, 3>(1000);
    bus_rate::<128, 16, 4>(1000);
    warpline_testbenches::lockstep::on_large_stack(|| bus_rate::<512, 64, 6>(500));
}

/// The latencies that the block states.
fn latencies<const W: usize, const K: usize, const LOGK: usize>() {
    let mut bench = Bench::<W, K, LOGK>::new(3);
    for count in [K, 2 * K, 5 * K] {
        let items = vec![vec![Part::Memory(0x1000, count)]];
        let seen = bench.run(&items, Paces::ALWAYS, memory(7)).unwrap();
        assert_eq!(seen.addresses[0] - seen.pieces[0], ADDRESS);
        for (answer, (beat, _)) in seen.answers.iter().zip(&seen.beats) {
            assert_eq!(beat - answer, from_bus(K));
        }
    }
    // from another lane: the second source beat completes the first beat
    let items = vec![vec![Part::Memory(0x1003, K)]];
    let seen = bench.run(&items, Paces::ALWAYS, memory(7)).unwrap();
    assert_eq!(seen.beats[0].0 - seen.answers[1], from_bus(K));
    // the rest of its last source beat comes one cycle later
    let items = vec![vec![content(&mut bench.rng, 1), Part::Memory(0x1000, K)]];
    let seen = bench.run(&items, Paces::ALWAYS, memory(7)).unwrap();
    let cycles = [0, 1].map(|n| seen.beats[n].0 - seen.answers[0]);
    assert_eq!(cycles, [from_bus(K), from_bus(K) + 1]);
    for count in [1, 8, PIECE_OCTETS] {
        let items = vec![vec![content(&mut bench.rng, count)]];
        let seen = bench.run(&items, Paces::ALWAYS, memory(0)).unwrap();
        assert_eq!(seen.beats[0].0 - seen.pieces[0], from_piece(K));
        // the verdict is there with the last source beat
        assert!(seen.verdicts[0].0 < seen.beats.last().unwrap().0);
    }
}

#[test]
fn beats_come_when_they_are_said_to_at_64_bits() {
    assert_eq!(ADDRESS, 4);
    assert_eq!([8, 16, 32, 64].map(from_bus), [4, 4, 5, 5]);
    assert_eq!([8, 16, 32, 64].map(from_piece), [7, 7, 8, 8]);
    latencies::<64, 8, 3>();
}

#[test]
fn beats_come_when_they_are_said_to_at_128_256_and_512_bits() {
    at_wider!(latencies());
}
