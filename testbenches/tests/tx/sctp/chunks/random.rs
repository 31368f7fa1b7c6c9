//! Random SENDs.

use warpline_testbenches::lockstep::on_large_stack;
use warpline_testbenches::stimulus::{Pace, Rhythm, chance};

use crate::support::{Bench, Paces, STREAMS, Seen};

/// Rhythms of a run.
pub fn paces(sends: Pace, beats: Pace, ready: Pace) -> Paces {
    Paces {
        sends: Rhythm::new(sends),
        beats: Rhythm::new(beats),
        ready: Rhythm::new(ready),
    }
}

/// SENDs with all rhythms, and streams that begin anew in between.
pub fn run<const W: usize, const K: usize, const LOGK: usize>(
    bench: &mut Bench<W, K, LOGK>,
    cycles: usize,
) -> Seen {
    bench.reset()?;
    let kinds = [
        [Pace::Always; 3],
        [Pace::Percent(40), Pace::Percent(60), Pace::Percent(70)],
        [Pace::Bursts(60), Pace::Bursts(30), Pace::Bursts(40)],
    ];
    for [sends, beats, ready] in kinds {
        let mut paces = paces(sends, beats, ready);
        let until = bench.cycle + cycles / kinds.len();
        while bench.cycle < until {
            if chance(&mut bench.rng, 1) || bench.met.arms < STREAMS {
                let rng = &mut bench.rng;
                // numbers that wrap soon, and streams that do not exist
                let first = match rng.u8(0..4) {
                    0 => None,
                    1 => Some(1),
                    2 => Some(rng.u16(..)),
                    _ => Some(u16::MAX - rng.u16(0..6)),
                };
                let stream = match rng.u8(0..8) {
                    0 => rng.usize(STREAMS..256),
                    _ => rng.usize(0..STREAMS),
                };
                bench.arm(stream, first, &mut paces)?;
            }
            let stream = bench.rng.usize(0..STREAMS);
            let goes = paces.sends.go(&mut bench.rng) && bench.may_send(stream);
            let send = goes.then(|| bench.random(stream));
            bench.step(send, &mut paces)?;
        }
    }
    let mut paces = paces(Pace::Always, Pace::Always, Pace::Always);
    for _ in 0..4000 {
        bench.step(None, &mut paces)?;
    }
    match bench.is_idle() {
        true => Ok(()),
        false => Err("something is left".into()),
    }
}

fn chunks_leave<const W: usize, const K: usize, const LOGK: usize>(cycles: usize) {
    let mut bench = Bench::<W, K, LOGK>::new(W as u64);
    run(&mut bench, cycles).unwrap_or_else(|e| panic!("{e}"));
    let met = bench.met;
    assert!(met.tcp > 50 && met.chunks > 200 && met.arms > 20, "{met:?}");
    assert!(met.longer > 5 && met.cut > 5 && met.short > 5, "{met:?}");
    assert!(met.wraps > 5 && met.under_way > 16, "{met:?}");
    assert_eq!(met.residues.len(), K, "{met:?}");
}

// req: SCTP-FMT-05, SCTP-FMT-06, SCTP-FMT-09, SCTP-SSN-01, SCTP-SSN-02, SCTP-SSN-03
#[test]
fn each_send_of_a_session_is_a_chunk_at_64_bits() {
    chunks_leave::<64, 8, 3>(24_000);
}

// req: SCTP-FMT-05, SCTP-FMT-06, SCTP-FMT-09, SCTP-SSN-01, SCTP-SSN-02, SCTP-SSN-03
#[cfg(feature = "every-width")]
#[test]
fn each_send_of_a_session_is_a_chunk_at_128_bits() {
    chunks_leave::<128, 16, 4>(20_000);
}

// req: SCTP-FMT-05, SCTP-FMT-06, SCTP-FMT-09, SCTP-SSN-01, SCTP-SSN-02, SCTP-SSN-03
#[cfg(feature = "every-width")]
#[test]
fn each_send_of_a_session_is_a_chunk_at_256_bits() {
    chunks_leave::<256, 32, 5>(16_000);
}

// req: SCTP-FMT-05, SCTP-FMT-06, SCTP-FMT-09, SCTP-SSN-01, SCTP-SSN-02, SCTP-SSN-03
#[test]
fn each_send_of_a_session_is_a_chunk_at_512_bits() {
    on_large_stack(|| chunks_leave::<512, 64, 6>(14_000));
}
