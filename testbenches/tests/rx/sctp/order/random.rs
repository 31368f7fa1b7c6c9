//! Random sessions.

use warpline_hdl::records::{ChunkKey, chunk_status};
use warpline_testbenches::stimulus::{Pace, Rhythm, chance};
use warpline_wire::sctp::MAX_IN_FLIGHT;

use crate::support::{Act, Bench, Met, Paces, SLOTS, Seen, key};

/// Rhythms of a run.
pub fn paces(keys: Pace, ends: Pace, ready: Pace, reads: Pace) -> Paces {
    Paces {
        keys: Rhythm::new(keys),
        ends: Rhythm::new(ends),
        ready: Rhythm::new(ready),
        reads: Rhythm::new(reads),
        verdicts: Rhythm::new(Pace::Percent(40)),
        reports: Rhythm::new(Pace::Percent(80)),
    }
}

/// Nothing stalls.
pub fn quick() -> Paces {
    paces(Pace::Always, Pace::Always, Pace::Always, Pace::Always)
}

/// A chunk of a stream: mostly one of the next few, sometimes an old one, one too far ahead, or nonsense.
fn chunk<const S: usize>(bench: &mut Bench<S>, stream: usize) -> ChunkKey {
    let next = bench.sessions[stream].as_ref().map_or(0, |s| s.next as u16);
    let window = bench.window as u16;
    let rng = &mut bench.rng;
    let ahead = match rng.u32(0..1000) {
        0..250 => 0,
        250..850 => rng.u16(0..SLOTS as u16 + 1),
        850..950 => rng.u16(..20).wrapping_neg(),
        950..990 => rng.u16(0..window),
        990..994 => [window, window - 1, MAX_IN_FLIGHT][rng.usize(0..3)],
        994..996 => MAX_IN_FLIGHT + 1 + rng.u16(0..3),
        _ => rng.u16(..),
    };
    ChunkKey {
        control: chance(rng, 2),
        terminate: chance(rng, 15),
        missing: rng.u32(0..2000) == 0,
        ..key(stream, next.wrapping_add(ahead))
    }
}

/// Sessions of all streams for some thousand cycles.
pub fn run<const S: usize>(bench: &mut Bench<S>, cycles: usize) -> Seen {
    bench.reset()?;
    let kinds = [
        (Pace::Always, Pace::Always, Pace::Always, Pace::Always),
        (
            Pace::Percent(30),
            Pace::Percent(20),
            Pace::Percent(50),
            Pace::Percent(30),
        ),
        (
            Pace::Bursts(40),
            Pace::Bursts(60),
            Pace::Bursts(20),
            Pace::Bursts(50),
        ),
    ];
    let firsts = [0, 1, 1, 32_760, 65_530];
    for (keys, ends, ready, reads) in kinds {
        let mut paces = paces(keys, ends, ready, reads);
        for _ in 0..cycles / kinds.len() {
            let mut act = Act::default();
            let stream = bench.rng.usize(0..S);
            if !bench.has_key() && paces.keys.go(&mut bench.rng) {
                act.key = Some(chunk(bench, stream));
            }
            let stream = bench.rng.usize(0..S);
            match &bench.sessions[stream] {
                None if bench.is_quiet(stream) => {
                    let first = firsts[bench.rng.usize(0..firsts.len())];
                    act.arm = Some((stream, first));
                }
                Some(session) => {
                    let percent = if session.over { 3 } else { 1 };
                    if bench.rng.u32(0..1000) < percent {
                        act.close = Some(stream);
                    }
                }
                None => {}
            }
            bench.step(act, &mut paces)?;
        }
    }
    let mut paces = quick();
    for _ in 0..500 {
        bench.step(Act::default(), &mut paces)?;
    }
    if !bench.is_idle() {
        return Err("something is left".into());
    }
    Ok(())
}

fn has_met(met: Met, least: usize) {
    assert!(met.statuses.iter().all(|&n| n > least / 10), "{met:?}");
    let taken = met.statuses[chunk_status::TAKEN as usize];
    assert!(taken > 10 * least, "{met:?}");
    assert!(met.in_order > 4 * least && met.ahead > 2 * least, "{met:?}");
    assert!(met.placed > least && met.header_only > least, "{met:?}");
    assert!(
        met.refused > least / 10 && met.controls > least / 10,
        "{met:?}"
    );
    assert!(met.terminated > 5 && met.early > 2, "{met:?}");
    assert!(
        met.stale > 0 && met.withdrawn > 0 && met.closes > 10,
        "{met:?}"
    );
}

// Of the rules about the whole receiver, the part of this block: SCTP-SSN-02, SCTP-SSN-03, SCTP-SSN-06, SCTP-SSN-07, SCTP-SSN-10, SCTP-SSN-11, SCTP-SSN-12, SCTP-SES-22, LLP-05, LLP-11, AMB-33, AMB-34, AMB-40
#[test]
fn chunks_are_judged_and_issued_as_the_reference_has_it() {
    let mut bench = Bench::<4>::new(usize::from(MAX_IN_FLIGHT), 1);
    run(&mut bench, 120_000).unwrap_or_else(|e| panic!("{e}"));
    has_met(bench.met, 100);
}

// Of the rules about the whole receiver, the part of this block: SCTP-SSN-11, AMB-34
#[test]
fn a_smaller_window_is_kept_with_sixteen_streams() {
    let mut bench = Bench::<16>::new(6, 2);
    run(&mut bench, 60_000).unwrap_or_else(|e| panic!("{e}"));
    assert!(
        bench.met.ahead > 100 && bench.met.refused > 100,
        "{:?}",
        bench.met
    );
    assert!(bench.met.statuses[chunk_status::INVALID as usize] > 100);
}
