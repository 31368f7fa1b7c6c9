//! A message in each direction, as both programs pass them, and commands of both sides.

use warpline_regmap::mailbox::{
    CARD_MESSAGE, HOST_MESSAGE, INTERRUPT_MAILBOX, MAILBOX, MESSAGE_WORDS,
};
use warpline_regmap::register::{ARGUMENT, COMMAND, INTERRUPT_ENABLE, INTERRUPT_STATE};
use warpline_regmap::transmit::{CAPABILITIES, CAPABILITY_MAILBOX};
use warpline_testbenches::stimulus::Pace;

use crate::model::{CONTROL, HOST, Seen};
use crate::random::ROUGH;
use crate::stand_in::Manner;
use crate::support::Bench;

const BUSY: u32 = 1 << 31;
const FAILED: u32 = 1 << 30;

#[test]
fn a_message_passes_in_each_direction() {
    let mut bench = Bench::new(11, Pace::Percent(70), ROUGH);
    let interrupt = 1 << INTERRUPT_MAILBOX.lsb;
    // the control program notices the reset; a message from before that waits for it
    bench.write_now(HOST, HOST_MESSAGE.offset, 1);
    assert_eq!(bench.read_now(HOST, HOST_MESSAGE.offset), 1);
    assert_eq!(bench.read_now(CONTROL, HOST_MESSAGE.offset), 2);
    assert_eq!(bench.read_now(CONTROL, COMMAND.offset), FAILED);
    bench.write_now(CONTROL, HOST_MESSAGE.offset, 3);
    assert_eq!(bench.read_now(CONTROL, HOST_MESSAGE.offset), 1);
    assert_eq!(bench.read_now(CONTROL, COMMAND.offset), 0);
    assert!(!bench.model.state);
    bench.write_now(CONTROL, HOST_MESSAGE.offset, 1);
    assert!(bench.model.state, "the message was taken");
    bench.write_now(HOST, INTERRUPT_STATE.offset, interrupt);
    assert_eq!(bench.read_now(HOST, INTERRUPT_STATE.offset) & interrupt, 0);
    bench.write_now(HOST, INTERRUPT_ENABLE.offset, interrupt);
    assert_eq!(
        bench.read_now(HOST, INTERRUPT_ENABLE.offset) & interrupt,
        interrupt
    );

    for (writer, reader, register, word) in [
        (HOST, CONTROL, HOST_MESSAGE, 0x1234_5678_u32),
        (CONTROL, HOST, CARD_MESSAGE, 0x9abc_def0),
    ] {
        let words = |index: u32| word.wrapping_mul(2 * index + 1);
        for index in 0..MESSAGE_WORDS as u32 {
            bench.write(writer, MAILBOX.at(index), words(index), 15);
        }
        bench.write_now(writer, register.offset, 1);
        // what is written behind that is lost
        for index in 0..MESSAGE_WORDS as u32 {
            bench.write(writer, MAILBOX.at(index), 0, 15);
        }
        assert_eq!(bench.read_now(reader, register.offset), 1);
        for index in 0..MESSAGE_WORDS as u32 {
            assert_eq!(bench.read_now(reader, MAILBOX.at(index)), words(index));
        }
        bench.write_now(reader, register.offset, 1);
        assert_eq!(bench.read_now(writer, register.offset), 0);
        bench.write(writer, MAILBOX.at(7), 0x0505_0505, 0b1010);
        bench.finish().unwrap();
        let octets = words(7) & 0x00ff_00ff | 0x0500_0500;
        assert_eq!(bench.read_now(reader, MAILBOX.at(7)), octets);
    }
    assert_eq!(
        bench.read_now(HOST, INTERRUPT_STATE.offset) & interrupt,
        interrupt
    );
    for side in [HOST, CONTROL] {
        let word = bench.read_now(side, CAPABILITIES.offset);
        assert_eq!(CAPABILITY_MAILBOX.get(&[word]), 1);
    }
}

#[test]
fn commands_of_both_sides_are_carried_out_in_turn() {
    commands(Pace::Percent(70), ROUGH);
    // both start in the same cycle
    let seen = commands(Pace::Always, Manner::Exact { command: 20 });
    assert!(seen.together > 30 && seen.control_first > 10, "{seen:?}");
}

fn commands(pace: Pace, manner: Manner) -> Seen {
    let mut bench = Bench::new(12, pace, manner);
    bench.write_now(CONTROL, HOST_MESSAGE.offset, 2);
    let mut refused = [0; 2];
    for round in 0..40 {
        for index in 0..8 {
            bench.write(HOST, ARGUMENT.at(index), 8 * round + index, 15);
            bench.write(CONTROL, ARGUMENT.at(index), !(8 * round + index), 15);
        }
        bench.finish().unwrap();
        if round % 3 == 0 {
            bench.write(HOST, COMMAND.offset, round, 15);
            bench.settle().unwrap();
        }
        // both at a time; the bench compares number, arguments and order in the stand-in
        bench.write(HOST, COMMAND.offset, round, 15);
        bench.write(CONTROL, COMMAND.offset, 0x80 | round, 15);
        bench.finish().unwrap();
        // a command under way does not notice what is written meanwhile
        bench.write(HOST, COMMAND.offset, 0x7f, 15);
        bench.write(CONTROL, ARGUMENT.at(3), 0x55, 15);
        bench.finish().unwrap();
        bench.settle().unwrap();
        for (side, number) in [(HOST, round), (CONTROL, 0x80 | round)] {
            let word = bench.read_now(side, COMMAND.offset);
            assert_eq!(word & !FAILED, number, "round {round}, {side}");
            assert_eq!(word & BUSY, 0);
            refused[side] += usize::from(word & FAILED != 0);
        }
    }
    let seen = bench.model.seen;
    assert_eq!(seen.commands, [40 + 14, 40]);
    assert!(refused.iter().all(|refused| *refused > 5), "{refused:?}");
    assert!(seen.busy > 20, "{seen:?}");
    seen
}

/// Accesses of both sides that meet in every order, and in the same cycle.
pub fn collisions(bench: &mut Bench) -> Result<(), String> {
    let interrupt = 1 << INTERRUPT_MAILBOX.lsb;
    for (first, host_data) in [
        (INTERRUPT_STATE.offset, interrupt),
        (HOST_MESSAGE.offset, 1),
        (CARD_MESSAGE.offset, 1),
    ] {
        for second in [HOST_MESSAGE, CARD_MESSAGE] {
            for pending in [false, true] {
                for delay in 0..20 {
                    // the state before: messages pending, or taken
                    let (sets, clears) = match pending {
                        true => ((HOST, HOST_MESSAGE), (CONTROL, CARD_MESSAGE)),
                        false => ((CONTROL, HOST_MESSAGE), (HOST, CARD_MESSAGE)),
                    };
                    for (side, register) in [sets, clears] {
                        bench.write(side, register.offset, 1, 15);
                    }
                    bench.finish()?;
                    let (early, late) = (delay % 10, delay / 10);
                    let host = |bench: &mut Bench| bench.write(HOST, first, host_data, 15);
                    let control = |bench: &mut Bench| bench.write(CONTROL, second.offset, 1, 15);
                    match late {
                        0 => host(bench),
                        _ => control(bench),
                    }
                    for _ in 0..early {
                        bench.cycle()?;
                    }
                    match late {
                        0 => control(bench),
                        _ => host(bench),
                    }
                    bench.finish()?;
                    bench.sides[HOST].reads.push_back(INTERRUPT_STATE.offset);
                    bench.finish()?;
                }
            }
        }
    }
    Ok(())
}

#[test]
fn what_both_sides_write_in_the_same_cycle_has_one_order() {
    let manner = Manner::Exact { command: 0 };
    let mut bench = Bench::new(13, Pace::Always, manner);
    bench.write_now(CONTROL, HOST_MESSAGE.offset, 2);
    collisions(&mut bench).unwrap();
    let seen = &bench.model.seen;
    assert!(
        seen.kept > 0 && seen.host_again > 0 && seen.card_again > 0,
        "{seen:?}"
    );
}
