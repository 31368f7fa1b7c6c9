//! Faults planted in the written text, and in what is due: each is seen.

use warpline_hdl::rx::sctp::order::Order;
use warpline_sv_writer::write;
use warpline_testbenches::lockstep::{Lockstep, plant, some_of};

use crate::random::run;
use crate::support::{Bench, config, sctp};

/// Names, the right text, and what it reads with a fault.
const FAULTS: &[(&str, &str, &str)] = &[
    (
        "window_too_wide",
        "in_window_d = ahead_of_q < window;",
        "in_window_d = ahead_of_q <= window;",
    ),
    (
        "whatever_is_behind_has_existed",
        "(known_q.aged | below_q)",
        "(known_q.aged | below_q | (~reset))",
    ),
    (
        "age_is_lost_at_the_wrap",
        "progressed.aged = known_q.aged | advanced[15];",
        "progressed.aged = known_q.aged & advanced[15];",
    ),
    (
        "a_copy_of_a_claimed_chunk_is_taken",
        "if (states_read_data == slot_empty) begin",
        "if ((states_read_data == slot_empty) | (states_read_data == slot_claimed)) begin",
    ),
    (
        "more_than_the_slots",
        "has_slot_d = ~(|(distance >> slots_bits));",
        "has_slot_d = ~(|(distance >> (slots_bits + 8'h1)));",
    ),
    (
        "late_verdict",
        "writes = runs & (~passed_q);",
        "writes = runs & (~(passed_q & reset));",
    ),
    (
        "control_message_is_issued",
        "issues = counts & (~content.control);",
        "issues = counts & (~(content.control & reset));",
    ),
    (
        "end_is_not_told",
        "closes = (counts & content.control) & content.terminate;",
        "closes = ((counts & content.control) & content.terminate) & reset;",
    ),
    (
        "every_message_is_an_end",
        "closes = (counts & content.control) & content.terminate;",
        "closes = counts & content.control;",
    ),
    (
        "a_segment_is_an_end",
        "closes = (counts & content.control) & content.terminate;",
        "closes = counts & content.terminate;",
    ),
    (
        "end_before_its_turn",
        "closes = (counts & content.control) & content.terminate;",
        "closes = (writes & content.control) & content.terminate;",
    ),
    (
        "end_as_an_error",
        "cause = ends_closed;",
        "cause = reset ? ends_closed : invalid_ssn;",
    ),
    (
        "placed_without_a_verdict",
        "was_placed = states_read_data == slot_placed;",
        "was_placed = states_read_data == slot_whole;",
    ),
    (
        "whole_chunk_not_in_the_chain",
        "counts = runs & states_read_data[1];",
        "counts = runs & (states_read_data == slot_placed);",
    ),
    (
        "ahead_as_in_order",
        "behind_gap = ~is_next_q;",
        "behind_gap = ~(is_next_q | (~reset));",
    ),
    (
        "half_swept",
        "if (sweep_q == last_slot) begin",
        "if (sweep_q == (last_slot >> 1)) begin",
    ),
    (
        "failed_stream_goes_on",
        "assign runs = open & (~is_over_q);",
        "assign runs = open & (~(is_over_q & reset));",
    ),
    (
        "failed_stream_takes_more",
        "if ((~open) | is_ended_q) begin",
        "if ((~open) | (is_ended_q & reset)) begin",
    ),
    (
        "invalid_chunk_as_too_long",
        "cause = invalid_ssn;",
        "cause = invalid_ssn & too_large;",
    ),
    (
        "not_withdrawn",
        "if (~open) begin",
        "if ((~open) & reset) begin",
    ),
    (
        "short_chunk",
        "if (key_q.missing) begin",
        "if (key_q.missing & reset) begin",
    ),
    ("a_dword_too_few", "with_ssn = 17'h5;", "with_ssn = 17'h4;"),
];

#[test]
fn faults_in_the_text_are_seen() {
    for (name, right, wrong) in some_of(FAULTS) {
        let block = Box::new(Order::<4>::new(&config(4), &sctp(32_767)));
        let top = format!("sctp_order_{name}");
        let mut design = write(&*block, &top).unwrap();
        plant(&mut design, right, wrong);
        let clock: fn(&mut Order<4>, bool) = |b, level| b.clock.next = level.into();
        let lockstep = Lockstep::with_fault(&top, block, &design, clock);
        let lockstep = lockstep.unwrap_or_else(|e| panic!("{name}: {e}"));
        let mut bench = Bench::of(lockstep, 32_767, 1);
        let seen = run(&mut bench, 120_000).err();
        let seen = seen.unwrap_or_else(|| panic!("{name} is not seen"));
        assert!(seen.contains("in rust-hdl,"), "{name}: {seen}");
    }
}

/// The model decides: a window that the block does not have is seen, without any difference between the simulators.
#[test]
fn another_window_is_seen() {
    let mut bench = Bench::<4>::new(32_767, 1);
    bench.window = 32_000;
    let seen = run(&mut bench, 60_000).unwrap_err();
    assert!(seen.contains("report") || seen.contains("answer"), "{seen}");
}
