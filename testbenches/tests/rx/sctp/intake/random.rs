//! Random chunks.

use warpline_testbenches::lockstep::on_large_stack;
use warpline_testbenches::stimulus::{Pace, Rhythm};

use crate::support::{Bench, Paces, Seen};

/// Rhythms of a run.
pub fn paces(beats: Pace, keys: Pace, ready: Pace, ends: Pace) -> Paces {
    Paces {
        beats: Rhythm::new(beats),
        keys: Rhythm::new(keys),
        ready: Rhythm::new(ready),
        ends: Rhythm::new(ends),
        judge: 2..20,
        taken: 85,
    }
}

/// Chunks with all rhythms, and closes in between.
pub fn run<const W: usize, const K: usize, const LOGK: usize>(
    bench: &mut Bench<W, K, LOGK>,
    cycles: usize,
) -> Seen {
    bench.reset()?;
    let kinds = [
        [Pace::Always; 4],
        [
            Pace::Percent(60),
            Pace::Percent(50),
            Pace::Percent(70),
            Pace::Percent(20),
        ],
        [
            Pace::Bursts(30),
            Pace::Bursts(5),
            Pace::Bursts(40),
            Pace::Bursts(60),
        ],
    ];
    for [beats, keys, ready, ends] in kinds {
        let mut paces = paces(beats, keys, ready, ends);
        for cycle in 0..cycles / kinds.len() {
            while bench.sending.len() < 2 {
                let chunk = bench.chunk();
                bench.sending.push_back(chunk);
            }
            let closes = cycle % 70 == 0 && bench.rng.bool();
            let close = closes.then(|| bench.rng.usize(0..4));
            bench.step(close, &mut paces)?;
        }
    }
    let mut paces = paces(Pace::Always, Pace::Always, Pace::Always, Pace::Always);
    for _ in 0..1000 {
        bench.step(None, &mut paces)?;
    }
    if !bench.is_idle() {
        return Err("something is left".into());
    }
    Ok(())
}

fn chunks_are_written<const W: usize, const K: usize, const LOGK: usize>(cycles: usize) {
    let mut bench = Bench::<W, K, LOGK>::new(W as u64);
    run(&mut bench, cycles).unwrap_or_else(|e| panic!("{e}"));
    let met = bench.met;
    assert!(
        met.beats > 1000 && met.ends > 100 && met.dropped > 20,
        "{met:?}"
    );
    assert!(met.controls > 5 && met.too_long > 5, "{met:?}");
    assert!(met.full_slots > 2 && met.withdrawn > 5, "{met:?}");
}

// Of the rules about the whole receiver, the part of this block: SCTP-FMT-05, SCTP-FMT-06, LLP-04, LLP-07, AMB-40
#[test]
fn chunks_are_written_into_their_slots_at_64_bits() {
    chunks_are_written::<64, 8, 3>(30_000);
}

// Of the rules about the whole receiver, the part of this block: SCTP-FMT-05, SCTP-FMT-06, LLP-04, LLP-07, AMB-40
#[cfg(feature = "every-width")]
#[test]
fn chunks_are_written_into_their_slots_at_128_bits() {
    chunks_are_written::<128, 16, 4>(20_000);
}

// Of the rules about the whole receiver, the part of this block: SCTP-FMT-05, SCTP-FMT-06, LLP-04, LLP-07, AMB-40
#[cfg(feature = "every-width")]
#[test]
fn chunks_are_written_into_their_slots_at_256_bits() {
    chunks_are_written::<256, 32, 5>(15_000);
}

// Of the rules about the whole receiver, the part of this block: SCTP-FMT-05, SCTP-FMT-06, LLP-04, LLP-07, AMB-40
#[test]
fn chunks_are_written_into_their_slots_at_512_bits() {
    on_large_stack(|| chunks_are_written::<512, 64, 6>(12_000));
}
