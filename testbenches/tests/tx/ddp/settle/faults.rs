//! Faults planted in the written text, and in what is due: each is seen.

use warpline_hdl::tx::ddp::settle::Settle;
use warpline_sv_writer::write;
use warpline_testbenches::lockstep::{Lockstep, plant, some_of};

use crate::random::PACES;
use crate::support::{Bench, Entry, messages};

/// Messages that reach every part of the block.
fn exercise(bench: &mut Bench<4>, wrong: fn(&mut Entry)) -> Result<(), String> {
    for round in 0..6 {
        for number in 0..4 {
            if round > 0 {
                bench.clear(number);
            }
            let list = messages(&mut bench.rng, 10, 6);
            let stream = &mut bench.streams[usize::from(number)];
            stream.post(number, list);
            stream.due.iter_mut().for_each(wrong);
        }
        bench.run()?;
    }
    Ok(())
}

/// Names, the right text, and what it reads with a fault.
const FAULTS: &[(&str, &str, &str)] = &[
    (
        "issued_though_refused",
        "ulpdus_s_valid = issue & passes;",
        "ulpdus_s_valid = issue & (passes | (~reset));",
    ),
    (
        "flushed_breaks",
        "fails_here = (~passes) & (statuses_m_data != flushed);",
        "fails_here = ~passes;",
    ),
    (
        "nothing_breaks",
        "fails_here = (~passes) & (statuses_m_data != flushed);",
        "fails_here = ((~passes) & (statuses_m_data != flushed)) & reset;",
    ),
    (
        "broken_but_sent",
        "failures_s_data = s_refused | (|discards_m_data);",
        "failures_s_data = s_refused | ((|discards_m_data) & reset);",
    ),
    (
        "refused_but_sent",
        "failures_s_data = s_refused | (|discards_m_data);",
        "failures_s_data = (s_refused & reset) | (|discards_m_data);",
    ),
    (
        "every_failure_is_reported",
        "first_failure = ((~has_ended_q) & (outcome != ok)) & (outcome != flushed);",
        "first_failure = (outcome != ok) & (outcome != flushed);",
    ),
    (
        "flushed_is_a_failure",
        "first_failure = ((~has_ended_q) & (outcome != ok)) & (outcome != flushed);",
        "first_failure = (~has_ended_q) & (outcome != ok);",
    ),
    (
        "second_report_of_a_message",
        "(account_q.last & (~is_silent_q))",
        "(account_q.last & ((~is_silent_q) | (~reset)))",
    ),
    (
        "silent_for_ever",
        "is_silent_d = silent_0_q & (~account_q.first);",
        "is_silent_d = silent_0_q;",
    ),
    (
        "only_signalled",
        "(account_q.signalled | (outcome != ok))",
        "(account_q.signalled | ((outcome != ok) & reset))",
    ),
    (
        "every_segment_is_reported",
        "reports = first_failure | ((account_q.last",
        "reports = first_failure | (((account_q.last | (~reset))",
    ),
    (
        "too_early",
        "((~was_issued) | (visible_m_valid & refusals_m_valid))",
        "((~was_issued) | (refusals_m_valid & (visible_m_valid | (~reset))))",
    ),
    (
        "bits_stay",
        "ended_0_d = 1'b0;\n            silent_0_d = 1'b0;\n        end\n        if (up_1",
        "silent_0_d = 1'b0;\n        end\n        if (up_1",
    ),
    (
        "counts_of_another_stream",
        "down_0 = settled_pulse_q.valid & (settled_pulse_q.stream[3:0] == index_0);",
        "down_0 = settled_pulse_q.valid & (settled_pulse_q.stream[3:0] == index_1);",
    ),
    (
        "status_of_local_access_only",
        "if (is_refused_q) begin",
        "if (is_refused_q & reset) begin",
    ),
];

#[test]
fn faults_in_the_text_are_seen() {
    let clock: fn(&mut Settle<4>, bool) = |b, level| b.clock.next = level.into();
    for (name, right, wrong) in some_of(FAULTS) {
        let block = Box::new(Settle::<4>::default());
        let top = format!("settle_{name}");
        let mut design = write(&*block, &top).unwrap();
        plant(&mut design, right, wrong);
        let lockstep = Lockstep::with_fault(&top, block, &design, clock);
        let lockstep = lockstep.unwrap_or_else(|e| panic!("{name}: {e}"));
        let mut bench = Bench::of(lockstep, 5, PACES[1]);
        let seen = exercise(&mut bench, |_| {}).err();
        let seen = seen.unwrap_or_else(|| panic!("{name} is not seen"));
        assert!(seen.contains("in rust-hdl,"), "{name}: {seen}");
    }
}

/// What is due is compared: a fault in each part of an entry is seen, and so are entries that are due and do not come.
#[test]
fn what_is_not_due_is_seen() {
    let wrongs: [fn(&mut Entry); 5] = [
        |entry| entry.stream ^= 1,
        |entry| entry.status ^= 2,
        |entry| entry.request ^= 1 << 63,
        |entry| entry.octets ^= 1,
        |entry| entry.consumed += 1,
    ];
    let mut bench = Bench::<4>::new(5, PACES[1]);
    exercise(&mut bench, |_| {}).unwrap();
    for wrong in wrongs {
        let mut bench = Bench::<4>::new(5, PACES[1]);
        let seen = exercise(&mut bench, wrong).unwrap_err();
        assert!(seen.contains(", due Some"), "{seen}");
    }
    let mut bench = Bench::<4>::new(5, PACES[1]);
    let list = messages(&mut bench.rng, 10, 6);
    bench.streams[0].post(0, list);
    let last = bench.streams[0].due.back().cloned().unwrap();
    bench.streams[0].due.push_back(last);
    let seen = bench.run().unwrap_err();
    assert!(seen.contains("do not come"), "{seen}");
}
