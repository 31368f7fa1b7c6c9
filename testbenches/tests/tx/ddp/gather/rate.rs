//! Cycles: what a ULPDU costs, and how long it takes.

use fastrand::Rng;
use warpline_hdl::parts::axi::BOUNDARY;
use warpline_hdl::records::PIECE_OCTETS;
use warpline_hdl::tx::ddp::gather::{ADDRESS, from_bus, from_piece};

use warpline_testbenches::read_bus::Manner;
use warpline_testbenches::stimulus::Pace;

use crate::support::{
    Bench, Item, Paces, Part, at_wider, beat_cycles, content, cost, header, length, memory,
};

/// Each beat comes in its cycle, as counted from the first item's last complete beat but one.
fn in_their_cycles<const W: usize, const K: usize, const LOGK: usize>(
    bench: &mut Bench<W, K, LOGK>,
    items: &[Item],
    manner: Manner,
) -> Result<Vec<(usize, usize)>, String> {
    let seen = bench.run(items, Paces::ALWAYS, manner)?;
    let due = beat_cycles(items, K);
    assert_eq!(seen.beats.len(), due.len());
    let from = length(&items[0]) / K - 2;
    for (index, (cycle, item)) in seen.beats.iter().enumerate().skip(from) {
        let (found, due) = (cycle - seen.beats[from].0, due[index] - due[from]);
        if found != due {
            let item = &items[*item];
            return Err(format!(
                "beat {index} comes in cycle {found}, due in {due}: {item:x?}"
            ));
        }
    }
    Ok(seen.beats)
}

fn assert_cycles<const W: usize, const K: usize, const LOGK: usize>(
    bench: &mut Bench<W, K, LOGK>,
    items: &[Item],
    delay: u64,
) -> Vec<(usize, usize)> {
    in_their_cycles(bench, items, memory(delay)).unwrap_or_else(|e| panic!("{W} bits: {e}"))
}

/// A beat that comes too late is seen.
#[test]
fn a_cycle_too_many_is_seen() {
    let mut bench = Bench::<64, 8, 3>::new(5);
    let mut items = vec![first(&mut bench.rng)];
    items.push(vec![Part::Memory(0x20_0003, 600)]);
    assert_eq!(in_their_cycles(&mut bench, &items, memory(2)).err(), None);
    let idle = Manner {
        r: Pace::Percent(90),
        ..memory(2)
    };
    let seen = in_their_cycles(&mut bench, &items, idle).err();
    let seen = seen.expect("idle cycles of the bus are seen");
    assert!(seen.contains("due in"), "{seen}");
}

/// The first item of a run: while its beats come, addresses go ahead, and pieces.
fn first(bench_rng: &mut Rng) -> Item {
    vec![
        content(bench_rng, PIECE_OCTETS),
        Part::Memory(0x10_0000, 8192),
    ]
}

/// ULPDUs like each other take the cycles that the block states.
fn like_each_other<const W: usize, const K: usize, const LOGK: usize>() {
    let mut bench = Bench::<W, K, LOGK>::new(1);
    let rng = &mut bench.rng;
    // a ULPDU of 1442 octets, from each lane that a dword begins in
    let mut shapes: Vec<(usize, usize, usize)> = vec![];
    for header in [14, 18] {
        shapes.extend((0..K).step_by(4).map(|lane| (header, lane, 1442 - header)));
        // whatever is held of one when the next one begins
        for _ in 0..12 {
            let count = rng.usize(K..=6 * K);
            shapes.push((header, rng.usize(0..K), count));
        }
        // as many octets in front as the first beat lacks, one less and one more
        for lane in [header - 1, header, header + 1].map(|lane| lane % K) {
            let full = (3 * K - header) % K + 4 * K;
            shapes.extend([full - 1, full, full + 1].map(|count| (header, lane, count)));
        }
    }
    for (header, lane, count) in shapes {
        const SAME: usize = 6;
        let mut items = vec![first(&mut bench.rng)];
        items.extend((0..SAME as u64).map(|n| {
            let header = content(&mut bench.rng, header);
            let address = 0x20_0000 + 0x1000 * n + lane as u64;
            vec![header, Part::Memory(address, count)]
        }));
        let beats = assert_cycles(&mut bench, &items, 2);
        let last = |of: usize| beats.iter().rfind(|(_, item)| *item == of).unwrap().0;
        let cycles = last(SAME) - last(2);
        assert_eq!(
            cycles,
            (SAME - 2) * cost(header, lane, count, K),
            "{W} bits: {count} octets from lane {lane} behind a header of {header}"
        );
    }
}

#[test]
fn ulpdus_like_each_other_take_the_cycles_that_are_stated_at_64_bits() {
    like_each_other::<64, 8, 3>();
}

#[test]
fn ulpdus_like_each_other_take_the_cycles_that_are_stated_at_wider_buses() {
    at_wider!(like_each_other());
}

/// ULPDUs of 1442 octets whose payload follows itself in memory, as the transmit path is measured: their share of the bus,
/// with the 6 octets that an FPDU has besides.
fn share<const W: usize, const K: usize, const LOGK: usize>(header: usize) -> f64 {
    // from each lane that there is, twice
    let count = K / 2;
    let mut bench = Bench::<W, K, LOGK>::new(4);
    let mut items = vec![first(&mut bench.rng)];
    items.extend((0..=count).map(|n| {
        let address = 0x20_0000 + n * (1442 - header);
        vec![
            content(&mut bench.rng, header),
            Part::Memory(address as u64, 1442 - header),
        ]
    }));
    let beats = assert_cycles(&mut bench, &items, 2);
    let last = |of: usize| beats.iter().rfind(|(_, item)| *item == of).unwrap().0;
    let octets = count * (1442 + 6);
    octets as f64 / ((last(count + 1) - last(1)) * K) as f64
}

#[test]
fn ulpdus_of_1442_octets_keep_the_bus_busy() {
    let of = |share: f64| (1000.0 * share) as u32;
    assert_eq!([14, 18].map(share::<64, 8, 3>).map(of), [1000, 1000]);
    assert_eq!([14, 18].map(share::<128, 16, 4>).map(of), [994, 994]);
    warpline_testbenches::lockstep::on_large_stack(|| {
        assert_eq!([14, 18].map(share::<256, 32, 5>).map(of), [983, 983]);
        assert_eq!([14, 18].map(share::<512, 64, 6>).map(of), [970, 973]);
    });
}

/// Each beat of a random ULPDU behind another comes in its cycle: one source beat a cycle, a header with the first of them.
fn each_beat_in_its_cycle<const W: usize, const K: usize, const LOGK: usize>() {
    let mut bench = Bench::<W, K, LOGK>::new(2);
    // octets that come with pieces only
    for count in [1, 7, 8, 9, 16, 17, 18] {
        let mut items = vec![first(&mut bench.rng)];
        items.extend((0..12).map(|_| vec![content(&mut bench.rng, count)]));
        assert_cycles(&mut bench, &items, 0);
    }
    let mut stalls = 0;
    for _ in 0..4 {
        let mut items = vec![first(&mut bench.rng)];
        for n in 0..40 {
            let rng = &mut bench.rng;
            let mut item = vec![];
            if rng.u8(0..8) > 0 {
                let header = *rng.choice(&[14, 18]).unwrap();
                item.push(content(rng, header));
            }
            if rng.u8(0..4) == 0 {
                let inline = rng.usize(1..=PIECE_OCTETS);
                item.push(content(rng, inline));
            }
            // up to eight elements
            let parts = if rng.bool() { 1 } else { rng.u64(1..=8) };
            for part in 0..parts {
                let address = 0x30_0000 + 0x4000 * n + 0x800 * part + rng.u64(0..64);
                let count = match rng.u8(0..4) {
                    0 => rng.usize(1..=K),
                    1 => K * rng.usize(2..=8),
                    _ => rng.usize(3 * K..=8 * K),
                };
                item.push(Part::Memory(address, count));
            }
            items.push(item);
        }
        stalls += beat_cycles(&items, K).last().unwrap() + 1 - source_beats(&items, K);
        assert_cycles(&mut bench, &items, 2);
    }
    // a last rest counts as one
    assert!(K < 32 || stalls > 4 + 4, "{stalls}");
}

/// Source beats that take a cycle.
fn source_beats(items: &[Item], octets: usize) -> usize {
    let beats = |item: &Item| -> usize {
        let parts = &item[usize::from(header(item, octets) > 0)..];
        parts.iter().map(|part| part.source_beats(octets)).sum()
    };
    items.iter().map(beats).sum()
}

#[test]
fn each_beat_comes_in_its_cycle_at_64_bits() {
    each_beat_in_its_cycle::<64, 8, 3>();
}

#[test]
fn each_beat_comes_in_its_cycle_at_wider_buses() {
    at_wider!(each_beat_in_its_cycle());
}

/// R goes on at a beat a cycle, whatever the latency, while bursts of 4 KiB are under way.
fn bus_rate<const W: usize, const K: usize, const LOGK: usize>(delay: u64) {
    let mut bench = Bench::<W, K, LOGK>::new(2);
    let items: Vec<Item> = (0..4)
        .map(|n| vec![Part::Memory(0x100_0000 + 0x1_0000 * n, 9 * BOUNDARY)])
        .collect();
    let seen = bench.run(&items, Paces::ALWAYS, memory(delay)).unwrap();
    let beats = source_beats(&items, K);
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
fn beats_come_when_they_are_said_to_at_wider_buses() {
    at_wider!(latencies());
}
