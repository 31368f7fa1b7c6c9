//! Faults planted in the written text, and in the bench: each is seen.

use warpline_testbenches::lockstep::{plant, some_of};

use crate::memory::Manner;
use crate::model::Plant;
use crate::random::mixture;
use crate::support::Rig;

/// Names, the right text, and what it reads with a fault.
const FAULTS: &[(&str, &str, &str)] = &[
    ("one_slot_too_many", "all = 5'h8;", "all = 5'h9;"),
    (
        "offset_beyond_the_ring",
        "number_q[11:0] & place_q.mask",
        "number_q[11:0] & (place_q.mask | 12'h8)",
    ),
    (
        "no_carry_into_the_high_half",
        "high = place_q.base[55:24] + (32'(low_q[24]));",
        "high = place_q.base[55:24] + (32'(low_q[24] & reset));",
    ),
    (
        "idle_with_slots_held",
        "(~unread_q)) & empty_q) & (~again)",
        "(~unread_q)) & (empty_q | (~full_q))) & (~again)",
    ),
    (
        "idle_while_something_changes",
        "empty_q) & (~again)",
        "empty_q) & (~(again & reset))",
    ),
    (
        "a_fetch_is_lost",
        "assign enters = (pushes_popped | (returns & (~fetch_in)))",
        "assign enters = ((pushes_popped & (~rung)) | (returns & (~fetch_in)))",
    ),
    (
        "a_stream_rings_for_ever",
        "moves & (doorbells_m_data == index_2)",
        "moves & (doorbells_m_data == index_2) & (~popped)",
    ),
    (
        "a_stream_twice_in_the_queue",
        "(moves & (~moved_in))",
        "(moves & (~(moved_in & reset)))",
    ),
    (
        "more_than_may_be_under_way",
        "most = 5'h10;",
        "most = 5'h1f;",
    ),
    (
        "second_bursts_last",
        "ready = ((~offered_q) & (~rests_m_valid)) & room_q;",
        "ready = (~offered_q) & room_q;",
    ),
    (
        "beats_of_the_rest",
        "beats_d = chosen.final_beat - first_beats;",
        "beats_d = chosen.final_beat + first_beats;",
    ),
    (
        "an_element_too_many",
        "elements_span = 8'h6;",
        "elements_span = 8'h7;",
    ),
    (
        "inline_octets_too_few",
        "inline_more = 8'h21;",
        "inline_more = 8'h22;",
    ),
    (
        "a_burst_that_ends_too_early",
        "failed_2_d = bad_q | (number_1_q != burst_1_q.final_beat);",
        "failed_2_d = bad_q | ((number_1_q != burst_1_q.final_beat) & reset);",
    ),
    (
        "only_the_last_response_counts",
        "bad_d = error_0_q | (bad_q & (~begins_q));",
        "bad_d = error_0_q;",
    ),
    (
        "failure_that_stays",
        "broken_data = broken_out & (~finished_bit);",
        "broken_data = broken_out;",
    ),
    (
        "counts_that_begin_where_they_were",
        "done_write = finished | clear;",
        "done_write = finished;",
    ),
    (
        "consumed_without_the_head",
        "count_2_d = row_count_q + 16'h1;",
        "count_2_d = row_count_q + ({15'h0, ~row_count_q[3]});",
    ),
    (
        "a_new_ring_writes_over_a_count",
        "free = (~rung_now_q) & (~counts_busy);",
        "free = ~counts_busy;",
    ),
    (
        "doorbells_behind_freeze",
        "if (freeze) begin\n                open_1_d = 1'b0;",
        "if (freeze) begin\n                open_1_d = open_1_q;",
    ),
    (
        "halves_of_a_row",
        "write & (write_beat[0] == bank[0])",
        "write & (write_beat[0] != bank[0])",
    ),
];

#[test]
fn faults_in_the_text_are_seen() {
    for (name, right, wrong) in some_of(FAULTS) {
        let suffix = format!("_fault_{name}");
        let mut rig = Rig::<64, 8, 4>::with_text(8, Manner::rough(), 2, &suffix, |design| {
            plant(design, right, wrong);
        });
        let seen = mixture(&mut rig, 30_000).err();
        let seen = seen.unwrap_or_else(|| panic!("{name} is not seen"));
        assert!(seen.contains("in rust-hdl,"), "{name}: {seen}");
    }
}

/// The bench compares with its own model: what is wrong around the block is seen as well.
#[test]
fn faults_around_the_block_are_seen() {
    let plants = [
        (Plant::DoorbellLost, "1 is idle"),
        (Plant::StuckBit, "is not Shown"),
        (Plant::ErrorLost, "false, "),
        (Plant::FreezeLost, "Part {"),
        (Plant::PopLost, "head "),
    ];
    for (plant, due) in plants {
        let mut rig = Rig::<64, 8, 4>::new(4, Manner::rough(), 3);
        rig.plant = Some(plant);
        let seen = mixture(&mut rig, 30_000).err();
        let seen = seen.unwrap_or_else(|| panic!("{plant:?} is not seen"));
        assert!(
            !seen.contains("in rust-hdl,") && seen.contains(due),
            "{plant:?}: {seen}"
        );
    }
}
