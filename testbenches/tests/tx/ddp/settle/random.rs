//! Random messages of several streams.

use warpline_testbenches::stimulus::Pace;

use crate::support::{Bench, Fate, Paces, messages};

pub const PACES: [Paces; 4] = [
    Paces::ALWAYS,
    Paces {
        segment: Pace::Percent(60),
        status: Pace::Percent(50),
        ring: Pace::Percent(40),
        event: Pace::Percent(50),
    },
    Paces {
        segment: Pace::Bursts(30),
        status: Pace::Bursts(30),
        ring: Pace::Bursts(60),
        event: Pace::Bursts(60),
    },
    Paces {
        segment: Pace::Always,
        status: Pace::Always,
        ring: Pace::Percent(10),
        event: Pace::Always,
    },
];

#[test]
fn every_request_has_its_status() {
    let mut statuses = [0; 16];
    for (seed, paces) in (1..).zip(PACES) {
        let mut bench = Bench::<4>::new(seed, paces);
        for round in 0..6 {
            for number in 0..4 {
                if round > 0 {
                    bench.clear(number);
                }
                let list = messages(&mut bench.rng, 20, 15);
                bench.streams[usize::from(number)].post(number, list);
            }
            bench
                .run()
                .unwrap_or_else(|e| panic!("seed {seed}, round {round}: {e}"));
        }
        for (_, entry) in &bench.entries {
            statuses[entry.status as usize] += 1;
        }
    }
    let seen = [0, 1, 2, 3, 5, 6].map(|status| statuses[status]);
    assert!(seen.iter().all(|count| *count >= 4), "{seen:?}");
}

#[test]
fn sixteen_streams_have_bits_of_their_own() {
    let mut bench = Bench::<16>::new(9, PACES[1]);
    for number in 0..16 {
        let list = messages(&mut bench.rng, 6, 8);
        bench.streams[usize::from(number)].post(number, list);
    }
    bench.run().unwrap_or_else(|e| panic!("{e}"));
}

/// A stream that is closed while segments are under way has an entry for each request all the same.
#[test]
fn a_closed_stream_has_all_of_its_entries() {
    for seed in 0..10 {
        let mut bench = Bench::<4>::new(seed, PACES[1]);
        for number in 0..4 {
            let mut list = messages(&mut bench.rng, 12, 1000);
            for message in &mut list {
                message.signalled = true;
                message.fates.fill(Fate::Good);
            }
            bench.streams[usize::from(number)].post(number, list);
        }
        for _ in 0..bench.rng.usize(20..100) {
            bench.step().unwrap_or_else(|e| panic!("{e}"));
        }
        bench.streams[2].closed = true;
        bench.run().unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        let flushed = bench.entries.iter().filter(|(_, e)| e.status == 1);
        assert!(flushed.clone().count() > 0);
        assert!(flushed.into_iter().all(|(_, entry)| entry.stream == 2));
    }
}
