//! Faults planted in the written text, and around the block: each is seen.

use warpline_hdl::tx::ddp::slot_merge::SlotMerge;
use warpline_sv_writer::write;
use warpline_testbenches::lockstep::{Lockstep, plant, some_of};

use crate::{Bench, Plant};

/// Names, the right text, and what it reads with a fault.
const FAULTS: &[(&str, &str, &str)] = &[
    (
        "send_goes_first",
        "choice_1 = response_head_1 & ((~send_head_1) | favours_response_1_q);",
        "choice_1 = response_head_1 & ((~send_head_1) | (favours_response_1_q & reset));",
    ),
    (
        "response_goes_first",
        "choice_1 = response_head_1 & ((~send_head_1) | favours_response_1_q);",
        "choice_1 = response_head_1 & ((~send_head_1) | (favours_response_1_q | (~reset)));",
    ),
    (
        "choice_does_not_stay",
        "if (locked_1_q) begin",
        "if (locked_1_q & reset) begin",
    ),
    (
        "choice_of_the_last_slot_stays",
        "locked_1_d = head_1;",
        "locked_1_d = head_1 | (locked_1_q & (~reset));",
    ),
    (
        "favour_is_kept",
        "favours_response_1_d = ~chosen_1_q;",
        "favours_response_1_d = favours_response_1_q;",
    ),
    (
        "favour_of_the_same_kind",
        "favours_response_1_d = ~chosen_1_q;",
        "favours_response_1_d = chosen_1_q;",
    ),
    (
        "head_in_the_cycle_behind_a_pop",
        "resting_1 = (popped_1_q &",
        "resting_1 = ((popped_1_q & reset) &",
    ),
    (
        "head_in_the_second_cycle_behind_a_pop",
        "(popped_2_q & (popped_of_2_q == index_1))",
        "((popped_2_q & reset) & (popped_of_2_q == index_1))",
    ),
    (
        "pop_of_another_stream_rests",
        "(popped_2_q & (popped_of_2_q == index_1))",
        "(popped_2_q & (popped_of_2_q <= index_1))",
    ),
    (
        "no_head_of_sends",
        "head_1 = (send_head_1 | response_head_1) &",
        "head_1 = ((send_head_1 & reset) | response_head_1) &",
    ),
    (
        "no_head_of_responses",
        "head_1 = (send_head_1 | response_head_1) &",
        "head_1 = (send_head_1 | (response_head_1 & reset)) &",
    ),
    (
        "pop_of_a_response_pops_both",
        "send_pop = pop & (~of_pop);",
        "send_pop = pop;",
    ),
    (
        "pop_of_a_send_pops_both",
        "response_pop = pop & of_pop;",
        "response_pop = pop & (of_pop | (~reset));",
    ),
    (
        "popped_kind_of_another_stream",
        "of_pop = chosen_1_q;",
        "of_pop = chosen_2_q;",
    ),
    (
        "row_of_another_stream",
        "of_row = choice_1;",
        "of_row = choice_2;",
    ),
    (
        "row_of_the_popped_kind",
        "row_1_d = of_row;",
        "row_1_d = of_row | of_pop;",
    ),
    (
        "kind_a_cycle_early",
        "row_3_d = row_2_q;",
        "row_3_d = reset ? row_2_q : row_1_q;",
    ),
    (
        "octets_of_sends_only",
        "row_data = response_data;",
        "row_data = reset ? response_data : send_data;",
    ),
    (
        "response_that_could_not_be_read",
        "head_failed = 1'b0;",
        "head_failed = send_failed;",
    ),
    (
        "response_counts_as_a_send",
        "consumed = send_consumed - 16'h1;",
        "consumed = send_consumed;",
    ),
];

#[test]
fn faults_in_the_text_are_seen() {
    let clock: fn(&mut SlotMerge<4>, bool) = |b, level| b.clock.next = level.into();
    for (name, right, wrong) in some_of(FAULTS) {
        let block = Box::new(SlotMerge::<4>::default());
        let top = format!("slot_merge_{name}");
        let mut design = write(&*block, &top).unwrap();
        plant(&mut design, right, wrong);
        let lockstep = Lockstep::with_fault(&top, block, &design, clock);
        let lockstep = lockstep.unwrap_or_else(|e| panic!("{name}: {e}"));
        let mut bench = Bench::of(lockstep, 1);
        let seen = bench.mixture(6).err();
        let seen = seen.unwrap_or_else(|| panic!("{name} is not seen"));
        assert!(seen.contains("in rust-hdl,"), "{name}: {seen}");
    }
}

#[test]
fn faults_around_the_block_are_seen() {
    let plants = [
        (Plant::Octets, "is not Shown"),
        (Plant::Count, "is not Shown"),
        (Plant::Pop, "pops "),
        (Plant::Head, "head 2"),
    ];
    for (plant, due) in plants {
        let mut bench = Bench::<4>::new(3);
        bench.plant = Some(plant);
        let seen = bench.mixture(12).err();
        let seen = seen.unwrap_or_else(|| panic!("{plant:?} is not seen"));
        assert!(
            !seen.contains("in rust-hdl,") && seen.contains(due),
            "{plant:?}: {seen}"
        );
    }
}
