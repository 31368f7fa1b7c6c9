//! Random accesses of both sides.

use warpline_regmap::mailbox::{CARD_MESSAGE, HOST_MESSAGE, INTERRUPT_MAILBOX, MAILBOX};
use warpline_regmap::register::{
    ARGUMENT, COMMAND, INTERRUPT_ENABLE, INTERRUPT_STATE, INTERRUPT_TEST, SPACE,
};
use warpline_regmap::transmit::{CAPABILITIES, SEND_PRODUCER};
use warpline_testbenches::stimulus::{Pace, chance};

use crate::model::{CONTROL, HOST};
use crate::stand_in::Manner;
use crate::support::Bench;

/// Idles, back-pressure, commands that last long.
pub const ROUGH: Manner = Manner::Random {
    answer: 9,
    command: 150,
};

fn some_offset(bench: &mut Bench) -> u32 {
    let rng = &mut bench.rng;
    let offset = match rng.u8(0..12) {
        0..3 => MAILBOX.at(rng.u32(0..3)),
        3 => MAILBOX.at(rng.u32(0..256)),
        4..6 => ARGUMENT.at(rng.u32(0..8)),
        6 => COMMAND.offset,
        7 => HOST_MESSAGE.offset,
        8 => CARD_MESSAGE.offset,
        9 => *rng
            .choice(&[INTERRUPT_STATE, INTERRUPT_ENABLE, INTERRUPT_TEST])
            .map_or(&INTERRUPT_TEST.offset, |r| &r.offset),
        10 => match rng.bool() {
            true => CAPABILITIES.offset,
            false => SEND_PRODUCER.offset,
        },
        _ => rng.u32(0..SPACE),
    };
    // the low two bits mean nothing
    offset & !3 | rng.u32(0..4)
}

/// Random accesses of both sides. The control program notices the reset behind a quarter of them.
pub fn mixture(bench: &mut Bench, accesses: usize) -> Result<(), String> {
    for number in 0..accesses {
        for side in [HOST, CONTROL] {
            let (offset, read) = (some_offset(bench), some_offset(bench));
            let rng = &mut bench.rng;
            let strobe = if chance(rng, 60) { 15 } else { rng.u8(0..16) };
            let mut data = match rng.bool() {
                true => rng.u32(..),
                false => rng.u32(0..8),
            };
            if side == CONTROL && offset & !3 == HOST_MESSAGE.offset && number < accesses / 4 {
                data &= !2;
            }
            let interrupts = [INTERRUPT_STATE, INTERRUPT_ENABLE, INTERRUPT_TEST];
            if interrupts.iter().any(|r| r.offset == offset & !3) && rng.bool() {
                data |= 1 << INTERRUPT_MAILBOX.lsb;
            }
            let (writes, reads) = (chance(rng, 70), chance(rng, 70));
            if writes {
                bench.write(side, offset, data, strobe);
            }
            if reads {
                bench.sides[side].reads.push_back(read);
            }
        }
        if number % 16 == 0 {
            bench.finish()?;
        }
    }
    bench.settle()
}

#[test]
fn random_accesses_meet_the_model() {
    for (seed, pace, manner) in [
        (1, Pace::Percent(50), ROUGH),
        (2, Pace::Bursts(12), ROUGH),
        (3, Pace::Always, Manner::Exact { command: 100 }),
    ] {
        let mut bench = Bench::new(seed, pace, manner);
        mixture(&mut bench, 800).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        let seen = &bench.model.seen;
        println!("seed {seed}: {} cycles, {seen:?}", bench.sim.cycles());
        let enough = seen.barred > 10
            && seen.busy > 20
            && seen.pending > 20
            && seen.raised > 10
            && seen.cleared > 5
            && seen.tested > 3
            && seen.commands.iter().all(|commands| *commands > 5)
            && seen.refused > 3
            && seen.foreign > 20
            && seen.passed > 200;
        assert!(enough, "seed {seed}: {seen:?}");
    }
}

#[test]
fn no_output_depends_on_an_input_of_the_same_cycle() {
    let mut bench = Bench::new(4, Pace::Percent(60), ROUGH);
    bench.noisy = true;
    mixture(&mut bench, 300).unwrap();
}

#[test]
fn a_reset_in_the_middle_leaves_nothing_behind() {
    let pace = Pace::Percent(60);
    let mut bench = Bench::new(5, pace, ROUGH);
    for round in 0..12 {
        mixture(&mut bench, 60).unwrap_or_else(|e| panic!("{round}: {e}"));
        for _ in 0..8 {
            let (offset, read) = (some_offset(&mut bench), some_offset(&mut bench));
            bench.write(HOST, offset, 1, 15);
            bench.sides[CONTROL].reads.push_back(read);
            bench.write(CONTROL, COMMAND.offset, 9, 15);
        }
        for _ in 0..bench.rng.u32(1..80) {
            bench.cycle().unwrap_or_else(|e| panic!("{round}: {e}"));
        }
        bench.reset(pace).unwrap_or_else(|e| panic!("{round}: {e}"));
    }
}
