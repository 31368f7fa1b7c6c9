//! Faults planted in the written text, and around the block: each is seen.

use warpline_regmap::mailbox::{CARD_MESSAGE, HOST_MESSAGE, MAILBOX};
use warpline_regmap::register::{ARGUMENT, COMMAND};
use warpline_testbenches::lockstep::{plant, some_of};
use warpline_testbenches::stimulus::Pace;

use crate::directed::collisions;
use crate::model::{CONTROL, HOST};
use crate::random::{ROUGH, mixture};
use crate::stand_in::Manner;
use crate::support::{Bench, Plant};

/// Names, the right text, and what it reads with a fault.
const FAULTS: &[(&str, &str, &str)] = &[
    (
        "half_a_write_begins",
        "write_due = ((aw_held_q & w_held_q)",
        "write_due = ((aw_held_q & (w_held_q | (~reset)))",
    ),
    (
        "neither_is_last",
        "takes_read = read_due & ((~write_due) | (~read_last_q));",
        "takes_read = read_due & (~write_due);",
    ),
    (
        "a_word_read_is_lost",
        "read_due = (ar_held_q & (~r_valid_q))",
        "read_due = (ar_held_q & ((~r_valid_q) | (~reset)))",
    ),
    (
        "arguments_of_a_running_command",
        "(access.target == Target_Argument)) & (~running_q);",
        "(access.target == Target_Argument)) & (~(running_q & reset));",
    ),
    (
        "octets_that_are_not_written",
        "merged = (argument_word & (~mask))",
        "merged = ((argument_word & (~mask)) & {32{reset}})",
    ),
    (
        "arguments_that_survive_a_reset",
        "write_row = cleared_q;",
        "write_row = cleared_q & 3'h6;",
    ),
    (
        "messages_of_a_program_that_was_reset",
        "control_sets = ((writes_1 & noticed_q)",
        "control_sets = ((writes_1 & (noticed_q | (~reset)))",
    ),
    (
        "commands_of_a_program_that_was_reset",
        "effect_1 = answer_1_effect & (~messages_barred);",
        "effect_1 = answer_1_effect & (~(messages_barred & reset));",
    ),
    (
        "commands_that_have_not_failed",
        "control_command = pair_1_command_word | failed_mask;",
        "control_command = pair_1_command_word | (failed_mask & {32{reset}});",
    ),
    (
        "an_interrupt_for_a_message_taken_before",
        "(control_clears & host_pending_q)",
        "(control_clears & (host_pending_q | (~reset)))",
    ),
    (
        "an_interrupt_for_a_message_passed_before",
        "((~card_pending_q) | host_clears)",
        "(((~card_pending_q) | host_clears) | (~reset))",
    ),
    (
        "no_interrupt_for_a_message_passed_again",
        "((~card_pending_q) | host_clears)",
        "((~card_pending_q) | (host_clears & reset))",
    ),
    (
        "an_interrupt_lost_in_its_clearing",
        "state_d = interrupts | (state_q & (~acknowledges));",
        "state_d = (interrupts | state_q) & (~acknowledges);",
    ),
    (
        "a_message_lost_in_its_clearing",
        "host_pending_d = host_sets | (host_pending_q & (~control_clears));",
        "host_pending_d = (host_sets | host_pending_q) & (~control_clears);",
    ),
    (
        "a_card_message_lost_in_its_clearing",
        "card_pending_d = control_sets | (card_pending_q & (~host_clears));",
        "card_pending_d = (control_sets | card_pending_q) & (~host_clears);",
    ),
    (
        "a_pending_message_changes",
        "(port_0_access.target == Target_Window)) & (~messages_pending_0);",
        "(port_0_access.target == Target_Window)) & (~(messages_pending_0 & reset));",
    ),
    (
        "a_strobe_of_another_octet",
        "if (write[2]) words",
        "if (write[2] | write[3]) words",
    ),
    (
        "the_control_side_writes_registers",
        "localparam logic control = 1'b1;",
        "localparam logic control = 1'b0;",
    ),
    (
        "the_control_side_is_last",
        "control_d = busy_1 & ((~busy_0) | (~control_q));",
        "control_d = busy_1 & ((~busy_0) | ((~control_q) & reset));",
    ),
    (
        "no_command_of_the_control_side_is_refused",
        "failed = request_data[30];",
        "failed = request_data[30] & (~control_q);",
    ),
    (
        "polls_too_early",
        "last_pause = 4'hf;",
        "last_pause = 4'he;",
    ),
    (
        "a_command_ends_while_it_runs",
        "if (request_data[31]) begin",
        "if (request_data[31] & reset) begin",
    ),
    (
        "no_turns",
        "granted_d = round_robin_choice[3:0];",
        "granted_d = round_robin_choice[3:0] & {4{reset}};",
    ),
    (
        "an_address_is_withdrawn",
        "if (m_axil_awready) begin\n            aw_valid_d",
        "if (m_axil_awready | (~reset)) begin\n            aw_valid_d",
    ),
    (
        "two_accesses_at_a_time",
        "grants = (round_robin_any & (~writing_q)) & (~reading_q);",
        "grants = (round_robin_any & (~(writing_q & reset))) & (~reading_q);",
    ),
];

/// What each fault must meet: random accesses with idles and back-pressure, a reset, both sides in the same cycle.
fn scenario(bench: &mut Bench) -> Result<(), String> {
    mixture(bench, 250)?;
    for side in [HOST, CONTROL] {
        for index in 0..8 {
            bench.write(side, ARGUMENT.at(index), !index, 15);
        }
    }
    bench.finish()?;
    bench.reset(Pace::Always)?;
    bench.stand_in.manner = Manner::Exact { command: 20 };
    for side in [HOST, CONTROL] {
        bench.sides[side]
            .reads
            .extend((0..8).map(|index| ARGUMENT.at(index)));
    }
    // before the control program has noticed the reset
    bench.write(HOST, HOST_MESSAGE.offset, 1, 15);
    bench.finish()?;
    for register in [HOST_MESSAGE, CARD_MESSAGE, COMMAND, ARGUMENT, MAILBOX] {
        bench.write(CONTROL, register.offset, 1, 15);
        bench.finish()?;
        for side in [HOST, CONTROL] {
            bench.sides[side].reads.push_back(register.offset);
        }
    }
    bench.settle()?;
    bench.write(CONTROL, HOST_MESSAGE.offset, 2, 15);
    bench.finish()?;
    for number in 0..6 {
        if number % 2 == 0 {
            // the host's was the last one: the control program's is next
            bench.write(HOST, COMMAND.offset, number, 15);
            bench.settle()?;
        }
        for side in [HOST, CONTROL] {
            bench.write(side, COMMAND.offset, 2 * number + side as u32, 15);
        }
        bench.settle()?;
    }
    collisions(bench)
}

#[test]
fn faults_in_the_text_are_seen() {
    let mut missed = vec![];
    for (name, right, wrong) in some_of(FAULTS) {
        let suffix = format!("_fault_{name}");
        let mut bench = Bench::with_text(32, Pace::Percent(60), ROUGH, &suffix, |design| {
            plant(design, right, wrong);
        });
        match scenario(&mut bench) {
            Err(seen) => assert!(seen.contains("in rust-hdl,"), "{name}: {seen}"),
            Ok(()) => missed.push(name),
        }
    }
    assert!(missed.is_empty(), "not seen: {missed:?}");
}

/// The bench compares with its own model: what is wrong around the block is seen as well.
#[test]
fn faults_around_the_block_are_seen() {
    for (plant, due) in [
        (Plant::Enable, "interrupt_enable is"),
        (Plant::Bit, "reads"),
        (Plant::Failed, "reads"),
        (Plant::Passed, "reads"),
    ] {
        let mut bench = Bench::new(31, Pace::Percent(70), ROUGH);
        bench.plant = Some(plant);
        let seen = mixture(&mut bench, 800).err();
        let seen = seen.unwrap_or_else(|| panic!("{plant:?} is not seen"));
        assert!(
            !seen.contains("in rust-hdl,") && seen.contains(due),
            "{plant:?}: {seen}"
        );
    }
}

#[test]
fn the_scenario_of_the_faults_passes_without_one() {
    scenario(&mut Bench::new(32, Pace::Percent(60), ROUGH)).unwrap();
}
