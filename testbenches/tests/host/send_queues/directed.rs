//! One thing at a time.

use warpline_testbenches::stimulus::Pace;

use crate::memory::Manner;
use crate::model::{Consumer, Ring, Wrong, base};
use crate::slots;
use crate::support::{Rig, at_wider};

fn passes<T>(result: Result<T, Wrong>) -> T {
    result.unwrap_or_else(|wrong| panic!("{wrong}"))
}

fn post<const W: usize, const K: usize, const S: usize>(
    rig: &mut Rig<W, K, S>,
    stream: usize,
    count: usize,
) {
    for _ in 0..count {
        let slot = slots::random(&mut rig.rng);
        rig.write(stream, slot);
    }
    rig.ring(stream);
}

/// Slots of every size, one after the other.
fn sizes<const W: usize, const K: usize, const S: usize>() {
    let mut rig = Rig::<W, K, S>::new(16, Manner::quick(3), 1);
    passes(rig.give_all(128));
    for count in 0..=8 {
        let slot = slots::gather(&mut rig.rng, count);
        rig.write(count % S, slot);
    }
    for count in 0..=64 {
        let slot = slots::inline(&mut rig.rng, count);
        rig.write(count % S, slot);
    }
    // a COUNT that is not allowed reads nothing more
    for (inline, count) in [(0, 9), (0, 32), (0, 255), (1, 65), (1, 96), (1, 255)] {
        let slot = slots::counted(&mut rig.rng, inline, count);
        rig.write(0, slot);
    }
    (0..S).for_each(|stream| rig.ring(stream));
    passes(rig.drain());
    assert_eq!(rig.pops.len(), 9 + 65 + 6);
    assert_eq!(rig.seconds, 6 + 32);
}

#[test]
fn slots_of_every_size_are_read_at_64_bits() {
    sizes::<64, 8, 4>();
}

#[test]
fn slots_of_every_size_are_read_at_wider_buses() {
    at_wider!(sizes());
}

/// Rings: every number of entries around the powers of two, every alignment, streams that do not exist.
#[test]
fn rings_that_are_not_allowed_are_refused() {
    let mut rig = Rig::<64, 8, 4>::new(16, Manner::quick(0), 2);
    let mut accepted = vec![];
    for bit in 0..16 {
        for entries in [
            (1_u32 << bit) - 1,
            1 << bit,
            (1 << bit) + 1,
            5 << bit & 0xFFFF,
        ] {
            if passes(rig.give(2, base(2), entries)) {
                accepted.push(entries);
                // a second one is refused, and the first one stays
                assert!(!passes(rig.give(2, base(3), entries)));
                post(&mut rig, 2, 3);
                passes(rig.drain());
                passes(rig.close(2));
            }
        }
    }
    // 4 is 5 - 1 as well
    accepted.dedup();
    assert_eq!(accepted, (2..=12).map(|bit| 1 << bit).collect::<Vec<_>>());
    for bit in 0..64 {
        let given = passes(rig.give(1, 1 << bit, 4));
        assert_eq!(given, bit >= 8, "{bit}");
        if given {
            passes(rig.close(1));
        }
    }
    for stream in 4..=255 {
        assert!(!passes(rig.give(stream, base(0), 4)), "{stream}");
    }
    // `set_ready` is 3 cycles behind `set`
    let began = rig.now();
    assert!(passes(rig.give(0, base(0), 4)));
    assert_eq!(rig.now() - 1 - began, 3);
}

/// A doorbell counts from the cycle of `set_ready` to that of `freeze`, both included.
#[test]
fn doorbells_count_while_the_ring_is_open() {
    let mut rig = Rig::<64, 8, 4>::new(16, Manner::quick(5), 3);
    for lead in 0..8 {
        // a doorbell in each of the cycles around `set_ready`
        let memory = (0..8).map(|_| slots::noise(&mut rig.rng)).collect();
        let ring = Ring {
            base: base(1),
            entries: 8,
            memory,
        };
        rig.set = Some((1, ring));
        passes(rig.run(lead));
        rig.doorbells.push_back((1, 2));
        passes(rig.run(20));
        let counts = rig.streams[1].fetched;
        assert_eq!(counts, if lead >= 3 { 2 } else { 0 }, "{lead}");
        // and around `freeze`
        rig.doorbells.extend([(1, 3), (1, 4), (1, 5), (1, 6)]);
        passes(rig.run(lead.min(4)));
        rig.freeze = Some(1);
        passes(rig.run(2));
        passes(rig.drain());
        assert_eq!(rig.streams[1].fetched, (3 + lead.min(4)).min(6));
        rig.detach = Some(1);
        passes(rig.run(1));
    }
}

/// Without pops, each stream holds so many slots and not more; pops let others follow.
#[test]
fn a_stream_holds_as_many_slots_as_there_are_places() {
    for slots in [4, 8, 16] {
        let mut rig = Rig::<64, 8, 4>::new(slots, Manner::quick(5), 4);
        passes(rig.give_all(64));
        rig.consume(Consumer::NONE);
        (0..4).for_each(|stream| post(&mut rig, stream, 40));
        passes(rig.run(3000));
        let held = rig.streams.iter().map(|model| model.held.len());
        assert_eq!(held.collect::<Vec<_>>(), [slots; 4]);
        // streams took turns, a slot each
        let firsts = rig.requests.iter().filter(|r| !r.part.rest);
        let turns: Vec<usize> = firsts.map(|r| r.part.stream).collect();
        for turns in turns.windows(4) {
            let mut turns = turns.to_vec();
            turns.sort_unstable();
            assert_eq!(turns, [0, 1, 2, 3]);
        }
        rig.consume(Consumer::ALL);
        passes(rig.drain());
        assert_eq!(rig.pops.len(), 160);
    }
}

/// A late doorbell is served within a turn of each other stream, and all streams go on when a stopped bus does.
#[test]
fn a_late_doorbell_gets_its_turn() {
    let mut rig = Rig::<64, 8, 16>::new(16, Manner::quick(0), 5);
    passes(rig.give_all(256));
    (0..15).for_each(|stream| post(&mut rig, stream, 200));
    passes(rig.run(400));
    for _ in 0..10 {
        rig.requests.clear();
        post(&mut rig, 15, 1);
        passes(rig.run(400));
        let place = rig.requests.iter().filter(|r| !r.part.rest);
        let place = place.take_while(|r| r.part.stream != 15).count();
        assert!(place <= 17, "{place} were in front of it");
    }
    rig.memory.change(Manner {
        ar: Pace::Percent(0),
        ..Manner::quick(0)
    });
    passes(rig.run(500));
    rig.memory.change(Manner::quick(0));
    passes(rig.drain());
}

/// A doorbell of a stream that has one before it takes no place of its own: the next stream's turn comes as if there were none. So it is
/// for each stream, whenever turns of another one come in between.
#[test]
fn doorbells_that_repeat_delay_nobody() {
    let mut rig = Rig::<64, 8, 16>::new(16, Manner::quick(0), 8);
    passes(rig.give_all(256));
    for stream in 0..16 {
        for phase in 0..12 {
            post(&mut rig, (stream + 5) % 16, 4);
            passes(rig.run(6 + phase));
            (0..4).for_each(|_| rig.ring(stream));
            post(&mut rig, (stream + 1) % 16, 1);
            passes(rig.run(60));
        }
    }
    passes(rig.drain());
    assert_eq!(rig.pops.len(), 16 * 12 * 5);
}

/// A host that announces more than its ring has, and then less, gets noise; the other streams keep their turns.
#[test]
fn a_host_that_counts_wrong_harms_itself() {
    let mut rig = Rig::<64, 8, 4>::new(16, Manner::quick(10), 6);
    passes(rig.give_all(16));
    rig.doorbells.push_back((0, 500));
    passes(rig.run(300));
    rig.doorbells.push_back((0, 3));
    passes(rig.run(300));
    for _ in 0..30 {
        for stream in 1..4 {
            let room = rig.room(stream);
            post(&mut rig, stream, room);
        }
        passes(rig.run(100));
    }
    let popped = |stream| rig.pops.iter().filter(|pop| pop.1 == stream).count();
    for stream in 1..4 {
        assert!(popped(stream) > 60, "{} of {stream}", popped(stream));
    }
    assert!(popped(0) > 60);
    // the count goes on to where it stands, and the stream can be closed
    let fetched = rig.streams[0].fetched as u16;
    rig.doorbells.push_back((0, fetched.wrapping_add(40)));
    passes(rig.drain());
    passes(rig.close(0));
    assert!(passes(rig.give(0, base(0), 4)));
    post(&mut rig, 0, 4);
    passes(rig.drain());
}

/// A reset ends all rings; the counts of before mean nothing behind it.
#[test]
fn reset_ends_all_rings() {
    let mut rig = Rig::<64, 8, 4>::new(4, Manner::quick(4), 7);
    for _ in 0..3 {
        passes(rig.give_all(16));
        (0..4).for_each(|stream| post(&mut rig, stream, 7));
        passes(rig.run(150));
        rig.consume(Consumer::NONE);
        (0..4).for_each(|stream| post(&mut rig, stream, 6));
        passes(rig.run(300));
        assert!(rig.memory.is_idle() && !rig.is_drained());
        passes(rig.reset());
        rig.consume(Consumer::ALL);
        passes(rig.run(50));
    }
}
