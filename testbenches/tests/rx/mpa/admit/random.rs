//! Random segments against the model, which sees a ring of another size and planted faults.

use super::support::*;
use warpline_hdl::rx::mpa::admit::{Admit, LATENCY};
use warpline_hdl::{Config, ISLANDS};
use warpline_sv_writer as writer;
use warpline_testbenches::lockstep::{Lockstep, LockstepError, on_large_stack};
use warpline_testbenches::stimulus::{Pace, Rhythm, chance};

/// Random traffic of `cycles` cycles; the rings that the model believes in, and how much the block did otherwise.
fn traffic<const W: usize, const K: usize>(
    config: &Config,
    model_ring: i64,
    cycles: usize,
) -> (usize, Seen) {
    let mut bench = Bench::<W, K>::new(config, model_ring, W as u64);
    let mut sent = [0; STREAMS];
    // sequence numbers wrap early, later, or start in the middle
    for (stream, start) in [0xFFFF_FF00, 0x7FFF_F000, 0, 0xFFFF_0000]
        .into_iter()
        .enumerate()
    {
        bench.cycle(None);
        bench.arm(stream, start);
    }
    let paces = [Pace::Always, Pace::Percent(60), Pace::Bursts(12)];
    let mut closed: Option<(usize, usize)> = None;
    for pace in paces {
        let mut rhythm = Rhythm::new(pace);
        let until = bench.cycle + cycles / paces.len();
        while bench.cycle < until {
            let segment = bench.any_segment(&mut sent);
            let (stream, beats) = (segment[0].stream, segment.len());
            let tail = bench.streams.get(stream).map(|stream| stream.tail);
            for beat in segment {
                while !rhythm.go(&mut bench.rng) {
                    bench.consume();
                    bench.cycle(None);
                }
                bench.consume();
                bench.cycle(Some(beat));
            }
            let after = bench.streams.get(stream).map(|stream| stream.tail);
            bench.seen.tail_moved_in_segment += usize::from(beats > 1 && tail != after);
            // what was lost is sent again from the edge
            if chance(&mut bench.rng, 20) {
                for _ in 0..LATENCY {
                    bench.cycle(None);
                }
                sent = bench.streams.each_ref().map(|stream| stream.edge);
            }
            match closed {
                None if chance(&mut bench.rng, 1) => {
                    let stream = bench.rng.usize(0..STREAMS);
                    bench.close(stream);
                    closed = Some((stream, bench.cycle));
                }
                Some((stream, at)) if bench.cycle > at + 64 => {
                    let start = bench.rng.u32(..);
                    bench.arm(stream, start);
                    closed = None;
                    // a segment of the start-up phase, and the first octets behind it
                    let (before, after) = (bench.rng.i64(1..=20), bench.rng.i64(1..=20));
                    for beat in bench.segment(stream, -before, after) {
                        bench.cycle(Some(beat));
                    }
                    sent[stream] = after;
                }
                _ => {}
            }
        }
    }
    for _ in 0..2 * LATENCY {
        bench.cycle(None);
    }
    (bench.wrong, bench.seen)
}

fn assert_traffic<const W: usize, const K: usize>(cycles: usize) {
    let (wrong, seen) = traffic::<W, K>(&config(W), 4 << 10, cycles);
    assert_eq!(wrong, 0, "{seen:?}");
    for (what, count) in [
        ("accepted", seen.beats),
        ("trimmed", seen.trimmed),
        ("forwarded", seen.forwarded),
        ("duplicate", seen.duplicates),
        ("islands", seen.islands),
        ("jumps of the edge", seen.jumps),
        ("one island too many", seen.overflows),
        ("behind a whole island", seen.rests),
        ("duplicate in an island", seen.inner_duplicates),
        ("beyond the ring", seen.beyond),
        ("of no armed stream", seen.unarmed),
        ("empty", seen.empty),
        ("dropped", seen.dropped_segments),
        ("with a moving tail", seen.tail_moved_in_segment),
        ("FIN", seen.fins),
        ("FIN beyond the ring", seen.fins_beyond),
        ("abort", seen.aborts),
        ("behind a gap", seen.beyond_gap),
        ("islands told", seen.islands_told),
        ("islands denied", seen.islands_denied),
    ] {
        assert!(count > 4, "{what}: {count}");
    }
    assert!(seen.sequence_wraps > 0 && seen.before_start > 0, "{seen:?}");
}

// req: MPA-RCV-17, MPA-RCV-24, MPA-RCV-25, MPA-MRK-04, AMB-40
#[test]
fn segments_of_four_streams_at_64_bits() {
    assert_traffic::<64, 8>(20_000);
}

// req: MPA-RCV-17, MPA-RCV-24, MPA-RCV-25, MPA-MRK-04, AMB-40
#[test]
fn segments_of_four_streams_at_512_bits() {
    on_large_stack(|| assert_traffic::<512, 64>(8_000));
}

#[test]
fn a_model_with_rings_of_another_size_is_seen() {
    let (wrong, _) = traffic::<64, 8>(&config(64), (4 << 10) - 1, 3_000);
    assert!(wrong > 10, "{wrong}");
}

/// Runs a block whose text has a fault: beats of one octet back to back, then some behind gaps, then those between.
fn is_seen(fault: &str, correct: &str, wrong: &str) -> bool {
    let block = Box::new(Admit::<64, 8, STREAMS, ISLANDS>::new(&config(64)));
    let mut design = writer::write(&*block, fault).unwrap();
    let mut modules = design.modules.iter_mut();
    let module = modules.find(|module| module.text.contains(correct));
    let text = &mut module.expect("the text to change").text;
    *text = text.replace(correct, wrong);
    let clock: fn(&mut Admit<64, 8, STREAMS, ISLANDS>, bool) =
        |b, level| b.clock.next = level.into();
    let mut bench = Lockstep::with_fault(fault, block, &design, clock).unwrap();
    let sequences = (0..17)
        .chain([18, 20, 22, 20, 17, 21, 19, 40, 30])
        .chain(23..44);
    let beats = [None; 3]
        .into_iter()
        .chain(sequences.map(Some))
        .chain([None; 8]);
    for (cycle, beat) in beats.enumerate() {
        let b = &mut bench.block;
        b.reset.next = cycle == 0;
        b.arm.next = cycle == 1;
        b.tvalid.next = beat.is_some();
        b.tkeep.next = 1.into();
        b.tlast.next = true;
        b.tuser.next = beat.unwrap_or(0_u64).into();
        if let Err(error) = bench.settle().and_then(|()| bench.edge()) {
            return matches!(error, LockstepError::Differ { .. });
        }
    }
    false
}

#[test]
fn planted_faults_are_seen() {
    let forward = "if (near_2_q)";
    assert!(!is_seen("admit_sound", forward, forward));
    let late = "if (near_2_q & valid_4_q)";
    assert!(
        is_seen("admit_late", forward, late),
        "an edge that is not forwarded"
    );
    let jump = "edge_after = finish_0";
    assert!(
        is_seen(
            "admit_stays",
            jump,
            "edge_after = moves_edge ? end_position : finish_0"
        ),
        "an edge that does not jump"
    );
    let place = ".items_0 (begin_3_0_q)";
    let lost = ".items_0 (begin_3_1_q)";
    assert!(is_seen("admit_lost", place, lost), "an island lost");
}
