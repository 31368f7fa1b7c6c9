//! Faults planted in the written text, and in what is due: each is seen.

use warpline_hdl::rx::sctp::intake::Intake;
use warpline_sv_writer::write;
use warpline_testbenches::lockstep::{Lockstep, plant, some_of};
use warpline_testbenches::stimulus::Pace;

use crate::random::{paces, run};
use crate::support::{Bench, SCTP};

type Intake64 = Intake<64, 8, 3>;

/// Names, the right text, and what it reads with a fault.
const FAULTS: &[(&str, &str, &str)] = &[
    (
        "octets_of_the_ssn",
        "({8'h0, beat.count});",
        "({8'h0, beat.count}) + {15'h0, ~reset};",
    ),
    (
        "beyond_the_slot",
        "(~now_q.invalid)) & (~filled_q)",
        "(~now_q.invalid)) & (~(filled_q & reset))",
    ),
    (
        "control_message_is_written",
        "(~now_q.control)) & (~now_q.invalid)",
        "(~(now_q.control & reset))) & (~now_q.invalid)",
    ),
    (
        "invalid_chunk_is_written",
        "(~now_q.invalid)) & (~filled_q)",
        "(~(now_q.invalid & reset))) & (~filled_q)",
    ),
    (
        "not_taken_and_written",
        "((pops & now_q.taken)",
        "((pops & (now_q.taken | (~reset)))",
    ),
    (
        "full_slot_is_too_long",
        "end_now_d.too_long = filled_q & (~now_q.control);",
        "end_now_d.too_long = filled_d & (~now_q.control);",
    ),
    (
        "end_before_the_last_beat",
        "end_valid_d = ~writes;",
        "end_valid_d = (~writes) | (~reset);",
    ),
    (
        "end_overwritten",
        "(~(beat.last & end_kept_q))",
        "(~(beat.last & end_kept_q & reset))",
    ),
    (
        "close_misses_the_chunk_that_is_written",
        "if (close & (stays.stream == stream)) begin",
        "if (close & (stays.stream == stream) & reset) begin",
    ),
    (
        "beat_of_a_closed_stream",
        "if (withdrawn) begin",
        "if (withdrawn & reset) begin",
    ),
    (
        "end_of_a_closed_stream",
        "if (cut) begin",
        "if (cut & reset) begin",
    ),
    (
        "end_of_the_session_is_lost",
        "end_now_d.terminate = now_q.terminate;",
        "end_now_d.terminate = now_q.terminate & reset;",
    ),
    (
        "every_message_ends_the_session",
        "keys_s_data.terminate = s_axis_sctp_tuser[1];",
        "keys_s_data.terminate = s_axis_sctp_tuser[1] | s_axis_sctp_tuser[0];",
    ),
    (
        "two_questions",
        "(keys_m_valid & (~asked_q))",
        "(keys_m_valid & (~(asked_q & reset)))",
    ),
    (
        "short_chunk",
        "keep_count_count < ssn_len",
        "keep_count_count < (ssn_len - 8'h1)",
    ),
];

#[test]
fn faults_in_the_text_are_seen() {
    for (name, right, wrong) in some_of(FAULTS) {
        let block = Box::new(Intake64::new(&SCTP));
        let top = format!("sctp_intake_{name}");
        let mut design = write(&*block, &top).unwrap();
        plant(&mut design, right, wrong);
        let clock: fn(&mut Intake64, bool) = |b, level| b.clock.next = level.into();
        let lockstep = Lockstep::with_fault(&top, block, &design, clock);
        let lockstep = lockstep.unwrap_or_else(|e| panic!("{name}: {e}"));
        let mut bench = Bench::of(lockstep, 1);
        let seen = run(&mut bench, 30_000).err();
        let seen = seen.unwrap_or_else(|| panic!("{name} is not seen"));
        assert!(seen.contains("in rust-hdl,"), "{name}: {seen}");
    }
}

/// The model decides: an octet, a place and an end that are not due are seen, without any difference between the simulators.
#[test]
fn what_is_not_due_is_seen() {
    for (wrong, what) in [
        (0, "due RingBeat"),
        (1, "due RingBeat"),
        (2, "due ChunkEnd"),
    ] {
        let mut bench = Bench::<64, 8, 3>::new(3);
        bench.reset().unwrap();
        let mut paces = paces(Pace::Always, Pace::Always, Pace::Always, Pace::Always);
        paces.taken = 100;
        let seen = (0..2000).find_map(|_| {
            if bench.sending.is_empty() {
                let chunk = bench.chunk();
                bench.sending.push_back(chunk);
            }
            if bench.met.ends > 5 {
                bench.spoil(wrong);
            }
            bench.step(None, &mut paces).err()
        });
        let seen = seen.unwrap_or_else(|| panic!("{wrong} is not seen"));
        assert!(seen.contains(what), "{seen}");
    }
}
