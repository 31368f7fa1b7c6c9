//! Latency, throughput, and the longest time for which others hold up an access, in cycles.

use warpline_hdl::host::mailbox::runner::{POLL_PERIOD, START_LATENCY};
use warpline_hdl::host::mailbox::{
    COMMAND_LATENCY, LONGEST_WAIT, PASSED_READ_LATENCY, PASSED_WRITE_LATENCY, READ_LATENCY,
    WRITE_LATENCY,
};
use warpline_regmap::mailbox::{HOST_MESSAGE, MAILBOX};
use warpline_regmap::register::{ARGUMENT, COMMAND, SEGMENTS};
use warpline_regmap::transmit::SEND_PRODUCER;
use warpline_testbenches::stimulus::Pace;

use crate::model::{CONTROL, HOST};
use crate::stand_in::Manner;
use crate::support::{Bench, Timed};

fn bench(command: u64) -> Bench {
    let mut bench = Bench::new(21, Pace::Always, Manner::Exact { command });
    bench.write_now(CONTROL, HOST_MESSAGE.offset, 2);
    bench.timed = [vec![], vec![]];
    bench
}

fn latencies(timed: &[Timed]) -> Vec<u64> {
    timed.iter().map(|t| t.answered - t.given).collect()
}

#[test]
fn latency_and_throughput() {
    for (offset, write, latency, period) in [
        (MAILBOX.offset, true, WRITE_LATENCY, 3),
        (ARGUMENT.offset, true, WRITE_LATENCY, 3),
        (MAILBOX.offset, false, READ_LATENCY, 5),
        (COMMAND.offset, false, READ_LATENCY, 5),
        (SEND_PRODUCER.offset, true, PASSED_WRITE_LATENCY, 7),
        (SEGMENTS.offset, false, PASSED_READ_LATENCY, 8),
    ] {
        let mut bench = bench(0);
        // one after the other
        for _ in 0..5 {
            match write {
                true => bench.write_now(HOST, offset, 1),
                false => drop(bench.read_now(HOST, offset)),
            }
        }
        let alone = latencies(&bench.timed[HOST]);
        assert_eq!(alone, [latency; 5], "{offset:#05x}");
        // as many as are accepted
        bench.timed[HOST].clear();
        for index in 0..50 {
            match write {
                true => bench.write(HOST, offset, index, 15),
                false => bench.sides[HOST].reads.push_back(offset),
            }
        }
        bench.finish().unwrap();
        let timed = &bench.timed[HOST];
        let periods: Vec<u64> = timed
            .windows(2)
            .map(|t| t[1].answered - t[0].answered)
            .collect();
        assert_eq!(periods, [period; 49], "{offset:#05x}");
    }
}

#[test]
fn commands_take_the_time_that_is_stated() {
    // done at the first poll
    let mut bench = bench(0);
    for side in [HOST, CONTROL] {
        (bench.started, bench.ended) = (vec![], vec![]);
        bench.write_now(side, COMMAND.offset, 3);
        bench.settle().unwrap();
        let timed = bench.timed[side].last().unwrap();
        let start = timed.answered;
        assert_eq!(bench.started, [start + START_LATENCY]);
        assert_eq!(bench.ended, [start + COMMAND_LATENCY]);
    }
    // polls
    let mut bench = self::bench(500);
    bench.write_now(HOST, COMMAND.offset, 3);
    bench.settle().unwrap();
    assert!(
        bench.polls.len() > 500 / POLL_PERIOD as usize,
        "{:?}",
        bench.polls
    );
    let regular = |two: &[u64]| two[1] - two[0] == POLL_PERIOD;
    assert!(bench.polls.windows(2).all(regular), "{:?}", bench.polls);
}

/// The host's accesses, one at a time, beside a control program that reads without end and the commands of both sides.
#[test]
fn nothing_holds_up_an_access_for_longer_than_stated() {
    for (offset, write, latency) in [
        (SEND_PRODUCER.offset, true, PASSED_WRITE_LATENCY),
        (SEGMENTS.offset, false, PASSED_READ_LATENCY),
        (MAILBOX.offset, true, WRITE_LATENCY),
        (HOST_MESSAGE.offset, false, READ_LATENCY),
    ] {
        let mut bench = bench(30);
        for _ in 0..400 {
            // commands run beside the access; the host's write that starts one is answered before it
            for side in [HOST, CONTROL] {
                if !bench.model.pairs[side].busy {
                    bench.write(side, COMMAND.offset, 1, 15);
                }
            }
            if bench.sides[CONTROL].reads.len() < 50 {
                bench.sides[CONTROL].reads.extend([SEGMENTS.offset; 50]);
            }
            while !bench.sides[HOST].is_done() {
                bench.cycle().unwrap();
            }
            match write {
                true => bench.write(HOST, offset, 1, 15),
                false => bench.sides[HOST].reads.push_back(offset),
            }
            while !bench.sides[HOST].is_done() {
                bench.cycle().unwrap();
            }
            for _ in 0..bench.rng.u32(0..9) {
                bench.cycle().unwrap();
            }
        }
        let passed = latency == PASSED_WRITE_LATENCY || latency == PASSED_READ_LATENCY;
        let of_offset = bench.timed[HOST].iter().filter(|t| t.offset == offset);
        let times: Vec<u64> = of_offset.map(|t| t.answered - t.given).collect();
        let longest = times.iter().max().copied().unwrap();
        let bound = latency + if passed { LONGEST_WAIT } else { 0 };
        println!(
            "{offset:#05x}: {} to {longest} cycles, {bound} at most",
            times.iter().min().unwrap()
        );
        assert!(longest <= bound, "{offset:#05x}: {longest}");
        assert!(
            !passed || longest > latency + LONGEST_WAIT / 2,
            "{offset:#05x}: {longest}"
        );
        assert!(
            bench
                .model
                .seen
                .commands
                .iter()
                .all(|commands| *commands > 10)
        );
    }
}
