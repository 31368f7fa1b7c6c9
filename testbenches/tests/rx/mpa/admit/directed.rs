//! Latency, edges, islands, trimming and the ends of a stream.

use super::support::*;
use warpline_hdl::ISLANDS;
use warpline_hdl::rx::mpa::admit::LATENCY;
use warpline_testbenches::octets::octets;

/// A bench at 64 bits with stream 1 armed at sequence number 1000.
fn armed() -> Bench<64, 8> {
    let mut bench = Bench::new(&config(64), 4 << 10, 1);
    bench.arm(1, 1000);
    bench
}

/// Drives `beats` back to back and lets them come through; beats that came out and dropped segments.
fn through(bench: &mut Bench<64, 8>, beats: Vec<Beat>) -> (Vec<Accepted>, usize) {
    let mut found = vec![];
    let mut dropped = 0;
    let idle = std::iter::repeat_n(None, LATENCY + 1);
    for beat in beats.into_iter().map(Some).chain(idle) {
        bench.cycle(beat);
        // the scoreboard has just held this cycle's outputs against the model
        let b = &bench.lockstep.block;
        dropped += usize::from(b.segments_dropped.val());
        if b.beat_valid.val() {
            let count = b.beat.val().count.index();
            found.push(Accepted {
                stream: b.beat.val().stream.index(),
                position: b.beat.val().position.to_u32(),
                skip: b.beat.val().skip.index(),
                edge: b.beat.val().new_edge.to_u32(),
                octets: octets(b.beat_data.val())[..count].to_vec(),
            });
        }
    }
    assert_eq!(bench.wrong, 0);
    (found, dropped)
}

// req: MPA-RCV-25
#[test]
fn a_beat_a_cycle_comes_out_five_cycles_later() {
    assert_eq!(LATENCY, 5);
    let mut bench = armed();
    let beats = bench.segment(1, 0, 800);
    let came = bench.cycle;
    for (number, beat) in beats.into_iter().enumerate() {
        bench.cycle(Some(beat));
        // outputs as they are after the edge belong to the next cycle
        let expected = bench.cycle >= came + LATENCY;
        assert_eq!(bench.lockstep.block.beat_valid.val(), expected, "{number}");
    }
    assert_eq!(bench.wrong, 0);
}

// req: MPA-RCV-17, AMB-40
#[test]
fn beats_of_one_octet_in_consecutive_cycles_see_each_others_edge() {
    let mut bench = armed();
    let beats: Vec<Beat> = (0..100)
        .flat_map(|at| bench.segment(1, at, at + 1))
        .collect();
    let (found, dropped) = through(&mut bench, beats);
    assert_eq!((found.len(), dropped), (100, 0));
    assert_eq!(found[99].edge, 100);
    // and each again: of a pair of equal beats one is taken
    let beats: Vec<Beat> = (100..150)
        .flat_map(|at| [at, at])
        .flat_map(|at| bench.segment(1, at, at + 1))
        .collect();
    assert_eq!(beats.len(), 100);
    let (found, dropped) = through(&mut bench, beats);
    assert_eq!((found.len(), dropped), (50, 0));
}

// req: MPA-RCV-17, MPA-RCV-24, AMB-40
#[test]
fn a_gap_is_closed_and_the_edge_jumps() {
    let mut bench = armed();
    for (from, end, edge) in [
        (16, 32, 0),
        (40, 41, 0),
        (0, 16, 32),
        (32, 40, 41),
        (41, 50, 50),
    ] {
        let beats = bench.segment(1, from, end);
        let (found, dropped) = through(&mut bench, beats);
        assert_eq!((found.last().unwrap().edge, dropped), (edge, 0), "{from}");
    }
}

// req: MPA-RCV-24, AMB-40
#[test]
fn islands_are_kept_up_to_their_number_and_octets_once() {
    let mut bench = armed();
    for island in 1..=ISLANDS as i64 {
        let beats = bench.segment(1, 100 * island, 100 * island + 3);
        assert_eq!(through(&mut bench, beats).1, 0);
    }
    // one too many; one that grows an island needs none
    let beats = bench.segment(1, 50, 58);
    assert_eq!(through(&mut bench, beats), (vec![], 1));
    let beats = bench.segment(1, 95, 103);
    let (found, dropped) = through(&mut bench, beats);
    assert_eq!((found[0].octets.len(), dropped), (5, 0));
    // an island of three octets inside a beat: what lies behind it is dropped and counted
    let beats = bench.segment(1, 198, 206);
    let (found, dropped) = through(&mut bench, beats);
    assert_eq!((found[0].octets.len(), dropped), (2, 1));
    // the stream goes on at its edge, with all islands in use
    let beats = bench.segment(1, 0, 8);
    let (found, dropped) = through(&mut bench, beats);
    assert_eq!((found[0].edge, dropped), (8, 0));
    // armed again, nothing of them is left
    bench.close(1);
    bench.arm(1, 5);
    let beats = bench.segment(1, 0, 410);
    let (found, dropped) = through(&mut bench, beats);
    assert_eq!((found.last().unwrap().edge, dropped), (410, 0));
}

// req: MPA-RCV-25, AMB-40
#[test]
fn a_segment_that_begins_in_front_of_the_stream_is_trimmed() {
    let mut bench = armed();
    let beats = bench.segment(1, -13, 20);
    let (found, dropped) = through(&mut bench, beats);
    let places: Vec<(u32, usize, u32)> =
        found.iter().map(|a| (a.position, a.skip, a.edge)).collect();
    // the beat from -13 to -5 is old, that from -5 to 3 has three new octets
    let expected = [
        (0u32.wrapping_sub(5), 5, 3),
        (3, 0, 11),
        (11, 0, 19),
        (19, 0, 20),
    ];
    assert_eq!((places, dropped), (expected.to_vec(), 0));
}

// req: MPA-RCV-24
#[test]
fn what_the_ring_has_no_room_for_is_dropped_until_the_tail_moves() {
    let mut bench = armed();
    let beats = bench.segment(1, 0, 4096);
    assert_eq!(through(&mut bench, beats).1, 0);
    let beats = bench.segment(1, 4096, 4097);
    let (found, dropped) = through(&mut bench, beats);
    assert_eq!((found.len(), dropped), (0, 1));
    bench.streams[1].tail = 4;
    let beats = bench.segment(1, 4096, 4096 + 5);
    assert_eq!(through(&mut bench, beats).1, 1);
    let beats = bench.segment(1, 4096, 4096 + 4);
    let (found, dropped) = through(&mut bench, beats);
    assert_eq!((found.len(), dropped), (1, 0));
}

// req: MPA-RCV-24, MPA-START-08, MPA-START-34
#[test]
fn nothing_is_taken_before_arm_and_after_close() {
    let mut bench = Bench::<64, 8>::new(&config(64), 4 << 10, 1);
    let beats = bench.segment(2, 0, 24);
    let (found, dropped) = through(&mut bench, beats);
    assert_eq!((found.len(), dropped), (0, 1));
    bench.arm(2, 77);
    let beats = bench.segment(2, 0, 24);
    assert_eq!(through(&mut bench, beats).0.len(), 3);
    bench.close(2);
    let beats = bench.segment(2, 24, 48);
    assert_eq!(through(&mut bench, beats), (vec![], 1));
    // another connection begins at position 0 again
    bench.arm(2, 78);
    let beats = bench.segment(2, 0, 8);
    let (found, _) = through(&mut bench, beats);
    assert_eq!((found[0].position, found[0].edge), (0, 8));
}
