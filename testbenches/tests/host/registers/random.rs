//! Random accesses against the model, rates, and planted faults.

use super::support::*;
use fastrand::Rng;
use warpline_regmap::register;
use warpline_regmap::register_list;
use warpline_regmap::transmit::{SEND_PRODUCER, SEND_PRODUCER_STREAM};
use warpline_testbenches::stimulus::{Pace, chance};

/// An offset that is mostly one of a register, with stray low bits.
fn some_offset(rng: &mut Rng) -> u32 {
    if chance(rng, 15) {
        return rng.u32(0..register::SPACE);
    }
    let register = rng.choice(register_list::of_register_block().collect::<Vec<_>>());
    let register = register.expect("there are registers");
    register.at(rng.u32(0..register.count)) + rng.u32(0..4)
}

fn traffic(bench: &mut Bench, accesses: usize) -> Result<(), String> {
    bench.lively = true;
    for _ in 0..accesses {
        let rng = &mut bench.rng;
        let (offset, read) = (some_offset(rng), some_offset(rng));
        let (data, strobe) = (
            rng.u32(..),
            if chance(rng, 50) { 15 } else { rng.u8(0..16) },
        );
        // commands and their arguments more often than others
        let offset = match rng.u8(0..7) {
            2 => SEND_PRODUCER.offset,
            3 => register::RECEIVE_PRODUCER.at(rng.u32(0..128)),
            0 => register::COMMAND.offset,
            1 => register::ARGUMENT.at(rng.u32(0..8)),
            _ => offset,
        };
        // queues that there can be as well
        let data = match locate(offset) {
            Some((r, ..)) if r.name == "COMPLETION_ENTRIES" => 1 << rng.u32(0..20),
            Some((r, ..)) if r.name == "COMPLETION_BASE_LOW" && rng.bool() => data & !63,
            Some((r, ..)) if r.name == "SEND_PRODUCER" && rng.bool() => {
                let mut value = [data];
                SEND_PRODUCER_STREAM.put(&mut value, rng.u64(0..256));
                value[0]
            }
            _ => data,
        };
        bench.write(offset, data, strobe);
        bench.reads.push_back(read);
    }
    bench.finish()
}

#[test]
fn random_traffic_meets_the_model() {
    for (seed, pace) in [
        (2, Pace::Always),
        (3, Pace::Percent(40)),
        (4, Pace::Bursts(12)),
    ] {
        let mut bench = Bench::new("registers", seed, pace);
        traffic(&mut bench, 500).unwrap();
        assert_eq!(
            (bench.answered.len(), bench.got.len()),
            (500, 500),
            "every access is answered once"
        );
        assert!(
            bench.starts > 10 && bench.ignored > 10,
            "{} commands, {} ignored",
            bench.starts,
            bench.ignored
        );
        assert!(
            bench.arms > 0 && bench.doorbells > 0 && bench.send_doorbells > 0,
            "{} arms, {} doorbells",
            bench.arms,
            bench.doorbells
        );
    }
}

#[test]
fn latency_and_throughput() {
    let mut bench = Bench::new("registers", 5, Pace::Always);
    traffic(&mut bench, 200).unwrap();
    assert!(
        bench
            .completed
            .iter()
            .zip(&bench.answered)
            .all(|(given, done)| done - given == 3),
        "a write is answered three cycles after its second half"
    );
    assert!(
        bench
            .addressed
            .iter()
            .zip(&bench.got)
            .all(|(given, (done, _))| done - given == 4),
        "a read is answered four cycles after its address"
    );
    assert!(
        bench.answered.windows(2).all(|two| two[1] - two[0] == 3),
        "a write every three cycles"
    );
    assert!(
        bench.got.windows(2).all(|two| two[1].0 - two[0].0 == 5),
        "a read every five cycles"
    );
}

#[test]
fn the_scoreboard_sees_a_broken_wire() {
    let mut bench = Bench::new("registers", 8, Pace::Percent(60));
    bench.broken_wire = 0x0001_0000;
    let error = traffic(&mut bench, 2000).unwrap_err();
    let edge = register::STREAM_EDGE.at(2);
    assert!(
        (edge..edge + 4).any(|offset| error.contains(&format!("{offset:#05x} reads"))),
        "{error}"
    );
}

#[test]
fn the_monitor_sees_what_a_channel_must_not_do() {
    let mut channel = Channel::default();
    channel.watch("R", true, false, 5, 1).unwrap();
    assert!(channel.watch("R", false, true, 5, 1).is_err(), "withdrawn");
    let mut channel = Channel::default();
    channel.watch("R", true, false, 5, 1).unwrap();
    assert!(channel.watch("R", true, true, 6, 1).is_err(), "changed");
    let mut channel = Channel::default();
    assert!(channel.watch("R", true, true, 5, 0).is_err(), "not asked");
    channel.watch("R", true, true, 5, 1).unwrap();
    channel.watch("R", false, true, 5, 0).unwrap();
}
