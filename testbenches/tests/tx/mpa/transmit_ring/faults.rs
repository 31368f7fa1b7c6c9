//! Faults planted in the written text, and in the model: each is seen.

use warpline_hdl::tx::mpa::transmit_ring::TransmitRing;
use warpline_hdl::tx::mpa::transmit_ring::ports::{ACKNOWLEDGE, MEASURE, SEND};
use warpline_sv_writer::write;
use warpline_testbenches::lockstep::{Lockstep, plant, some_of};
use warpline_testbenches::stimulus::Pace;

use crate::support::{Bench, Fpdu, Paces, RING};

type Bench64 = Bench<64, 8, 2, 3, 1, 4>;

const PACES: Paces = Paces {
    write: Pace::Always,
    command: Pace::Always,
    transmit: Pace::Percent(60),
    status: Pace::Percent(60),
};

/// A run that reaches every part of the block, as short as that allows.
fn exercise(bench: &mut Bench64) -> Result<(), String> {
    // a reset in the middle of an FPDU
    bench.arm(1, 7)?;
    bench.write(1, 600, false);
    bench.steps(20)?;
    bench.reset()?;
    bench.arm(1, 7)?;
    bench.close(1)?;
    bench.until_quiet()?;

    bench.pace(PACES);
    bench.arm(0, 0xFFFF_FFF0)?;
    bench.arm(3, 5)?;
    for stream in [0, 3] {
        bench.command_at(SEND, stream, 0, 1);
    }
    for (stream, length) in [
        (0, 14),
        (3, 40),
        (0, 300),
        (0, 1),
        (0, 12),
        (3, 3),
        (0, 500),
    ] {
        bench.write(stream, length, false);
    }
    bench.finish()?;
    bench.command(SEND, 9, 0, 4);
    for stream in [4, 8, 16, 36, 64, 132] {
        bench.stray(stream, 1200);
    }
    // FPDUs of two beats, in an odd number of words and some more
    while bench.streams[3].next < 3 * 128 + 60 {
        bench.write(3, 3, false);
    }
    bench.finish()?;
    for length in (8..440).step_by(16) {
        bench.command_at(MEASURE, 3, 0, length);
    }
    for length in (30..850).step_by(24) {
        bench.command_at(MEASURE, 0, 0, length);
    }
    for kind in [SEND, MEASURE, ACKNOWLEDGE] {
        bench.command_at(kind, 0, 1 << 18, 20);
    }
    for (from, length) in [
        (0, 130),
        (3, 90),
        (13, 8),
        (7, 9),
        (300, 1),
        (299, 70),
        (70, 0),
    ] {
        bench.command_at(SEND, 0, from, length);
        bench.command_at(MEASURE, 0, from, length);
        bench.command_at(MEASURE, 0, from, 700);
    }
    let (edge, end) = (bench.streams[0].edge(), bench.streams[3].edge());
    for (from, length) in [(edge - 20, 20), (edge - 20, 21), (edge, 1), (edge, 0)] {
        bench.command_at(SEND, 0, from, length);
        bench.command_at(MEASURE, 0, from, length);
    }
    bench.finish()?;
    // room is given back, in front of the edge only
    for position in [62, 61, 401, edge + 1, edge] {
        bench.command_at(SEND, 0, 420, 300);
        bench.command_at(ACKNOWLEDGE, 0, position, 0);
    }
    bench.command_at(ACKNOWLEDGE, 3, end, 0);
    bench.finish()?;
    // once around the ring
    for round in 0..3 {
        for length in [1500, 200, 1700, 120] {
            bench.write(0, length, false);
        }
        bench.write(3, 300, round == 1);
        bench.finish()?;
        let (acked, edge) = (bench.streams[0].acked(), bench.streams[0].edge());
        let octets = edge - acked;
        let wrap = edge & !(RING as u64 - 1);
        bench.command_at(SEND, 0, acked.max(wrap.saturating_sub(5)), 30);
        for part in [0, 3, 5, 9] {
            let from = acked + part * octets / 10 + part;
            bench.command_at(MEASURE, 0, from, 2000);
            bench.command_at(SEND, 0, from, 200);
        }
        bench.command_at(SEND, 0, acked, octets as u16);
        bench.command_at(ACKNOWLEDGE, 0, edge, 0);
        bench.finish()?;
    }
    bench.close(3)?;
    bench.command_at(SEND, 3, end, 100);
    bench.write(3, 20, false);
    bench.finish()?;
    bench.until_quiet()?;
    bench.arm(3, 99)?;
    bench.write(3, 200, false);
    bench.finish()?;
    bench.command_at(SEND, 3, 100, 100);
    bench.finish()
}

/// Names, the right text, and what it reads with a fault.
const FAULTS: &[(&str, &str, &str)] = &[
    (
        "lanes_of_the_next_row",
        "wrapped_to = landed.lane;",
        "wrapped_to = landed.lane + 8'h1;",
    ),
    (
        "incomplete_for_ever",
        "unfinished_d = 1'b0;",
        "unfinished_d = unfinished_q;",
    ),
    (
        "streams_that_do_not_exist",
        "if (landed.valid & landed.known) begin",
        "if (landed.valid & (landed.known | (~landed.failed))) begin",
    ),
    (
        "failed_but_visible",
        "visible_d = (ends & whole) & (~landed.failed);",
        "visible_d = ends & whole;",
    ),
    (
        "not_broken",
        "broken_3_d = 1'b1;",
        "broken_3_d = broken_3_q;",
    ),
    (
        "words_not_left",
        "crosses_d = landed.position[7] ^ landed.behind[7];",
        "crosses_d = landed.position[7] & (~landed.behind[7]);",
    ),
    (
        "crossed_before",
        "was_crossed = crossed_q & (~beat_1_q.first);",
        "was_crossed = crossed_q & ((~beat_1_q.first) | (~reset));",
    ),
    (
        "tail_of_the_word_before",
        "if (crosses_q) begin",
        "if (crosses_q & was_crossed) begin",
    ),
    (
        "tail_in_the_wrong_word",
        "in_tail_d = last_word == edge_word;",
        "in_tail_d = (last_word == edge_word) | (last_word[24:1] == edge_word[24:1]);",
    ),
    (
        "answer_from_the_word",
        "octets_1_d = boundary - position[15:0];",
        "octets_1_d = boundary - {position[15:2], 2'h0};",
    ),
    (
        "boundaries_in_front_of_the_range",
        "if (side_q.bottom) begin",
        "if (side_q.bottom & (~side_q.top)) begin",
    ),
    (
        "boundaries_behind_the_range",
        "if (side_q.top) begin",
        "if (side_q.top & (~side_q.bottom)) begin",
    ),
    (
        "search_too_short",
        "left_d = span[9:0];",
        "left_d = (|span[9:1]) ? (span[9:0] - 10'h1) : span[9:0];",
    ),
    (
        "at_the_edge",
        "contained_d = near & (offset_q[17:0] < span_q);",
        "contained_d = near & (offset_q[17:0] <= span_q);",
    ),
    (
        "behind_the_edge",
        "fitting = (18'(length_q)) <= left_q;",
        "fitting = (18'(length_q)) <= (left_q + 18'h1);",
    ),
    (
        "far_away",
        "near = ~(|offset_q[31:18]);",
        "near = (~(|offset_q[31:18])) | (~reset);",
    ),
    (
        "acknowledged_up_to_the_edge",
        "acknowledges_d = contained_q | at_edge_q;",
        "acknowledges_d = contained_q & (~at_edge_q);",
    ),
    (
        "acknowledgement_that_goes_back",
        "offset_d = position_q - acknowledged_1_q;",
        "offset_d = position_q - {acknowledged_1_q[31:2], 2'h0};",
    ),
    (
        "dead_but_read",
        "alive_d = live_3 & (~(|(stream_q >> stream_bits)));",
        "alive_d = (live_3 | (~reset)) & (~(|(stream_q >> stream_bits)));",
    ),
    (
        "rows_that_do_not_wrap",
        "row_1_d = (20'((row + 32'h1) & row_mask)) | base;",
        "row_1_d = (20'((row & row_mask) + 32'h1)) | base;",
    ),
    (
        "range_too_long",
        "last_d = now_q.beats == 16'h1;",
        "last_d = now_q.beats == 16'h0;",
    ),
    (
        "more_than_the_queue_holds",
        "below_d = under_way_q < most;",
        "below_d = under_way_q <= most;",
    ),
    (
        "freed_too_early",
        "take = tags_m_valid & (~since[5]);",
        "take = tags_m_valid & ((~since[5]) | (~reset));",
    ),
    (
        "free_octets",
        "free_d = room_end_q - edge_1_q[17:0];",
        "free_d = room_end_q - {edge_1_q[17:3], 3'h0};",
    ),
    (
        "moved_again_but_not_reported",
        "some_moved_0_d = moved;",
        "some_moved_0_d = moved & (step_q == Report_Pick);",
    ),
];

#[test]
fn faults_in_the_text_are_seen() {
    let mut missed = vec![];
    for (name, right, wrong) in some_of(FAULTS) {
        let block = Box::new(TransmitRing::<64, 8, 2, 3, 1, 4>::new(RING));
        let top = format!("transmit_ring_{name}");
        let mut design = write(&*block, &top).unwrap();
        plant(&mut design, right, wrong);
        let clock: fn(&mut TransmitRing<64, 8, 2, 3, 1, 4>, bool) =
            |b, level| b.clock.next = level.into();
        let lockstep = Lockstep::with_fault(&top, block, &design, clock);
        let mut bench = Bench64::of(lockstep.unwrap_or_else(|e| panic!("{name}: {e}")), 1);
        match exercise(&mut bench) {
            Err(seen) => assert!(seen.contains("in rust-hdl,"), "{name}: {seen}"),
            Ok(()) => missed.push(name),
        }
    }
    assert!(missed.is_empty(), "not seen: {missed:?}");
}

/// What is due is compared: a model that differs in one thing is seen.
#[test]
fn what_is_not_due_is_seen() {
    let mut bench = Bench64::new(2);
    exercise(&mut bench).unwrap();
    type Wrong = fn(&mut Bench64);
    let wrongs: [(Wrong, &str); 8] = [
        (|b| b.streams[0].spoil(77), "other octets"),
        (|b| b.streams[0].start += 1, "Report"),
        (
            |b| assert!(b.streams[0].boundaries.remove(&100)),
            "due kind 1",
        ),
        (
            |b| assert!(b.streams[0].boundaries.insert(104)),
            "due kind 1",
        ),
        (|b| b.streams[0].edges.push(196), "Report"),
        (|b| b.streams[0].acknowledged.push(4), "edge or free"),
        (|b| b.streams[0].broken = true, "visible is true, due false"),
        (|b| b.decided.clear(), "complete, but no FPDU is due"),
    ];
    for (number, (wrong, text)) in wrongs.into_iter().enumerate() {
        bench.reset().unwrap();
        let mut run = || {
            bench.arm(0, 50)?;
            // 100 octets each
            for _ in 0..2 {
                let (position, octets) = (bench.streams[0].next, vec![1; 100]);
                bench.streams[0].append(&octets);
                let (stream, failed) = (0, false);
                bench.writes.push_back(Fpdu {
                    stream,
                    position,
                    octets,
                    failed,
                });
            }
            bench.finish()?;
            wrong(&mut bench);
            bench.command_at(MEASURE, 0, 4, 150);
            bench.command_at(SEND, 0, 4, 150);
            bench.command_at(SEND, 0, 4, 200);
            bench.command_at(ACKNOWLEDGE, 0, 3, 0);
            if number >= 6 {
                bench.write(0, 80, false);
            }
            if number == 7 {
                while bench.decided.is_empty() {
                    bench.step()?;
                }
                wrong(&mut bench);
            }
            bench.finish()
        };
        let seen = run().expect_err(text);
        assert!(seen.contains(text), "{number}: {seen}");
    }
}
