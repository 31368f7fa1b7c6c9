//! Faults planted in the written text, and in what is due: each is seen.

use warpline_hdl::tx::sctp::chunks::Chunks;
use warpline_sv_writer::write;
use warpline_testbenches::lockstep::{Lockstep, plant, some_of};
use warpline_testbenches::stimulus::Pace;

use crate::random::{paces, run};
use crate::support::{Bench, Range, STREAMS};

type Chunks64 = Chunks<64, 8, 3, STREAMS>;

/// Names, the right text, and what it reads with a fault.
const FAULTS: &[(&str, &str, &str)] = &[
    (
        "number_stays",
        "numbers_data.ssn = row.ssn + 16'h1;",
        "numbers_data.ssn = row.ssn;",
    ),
    (
        "kind_is_forgotten",
        "numbers_data.of_sctp = row.of_sctp;",
        "numbers_data.of_sctp = row.of_sctp & reset;",
    ),
    ("arm_is_forgotten", "arming_d = 1'b1;", "arming_d = reset;"),
    (
        "arm_of_another_stream",
        "arming_stream_d = arm_stream[3:0];",
        "arming_stream_d = arm_stream[3:0] ^ 4'h1;",
    ),
    (
        "arm_of_no_stream",
        "(~(|(arm_stream >> stream_bits)))",
        "((~(|(arm_stream >> stream_bits))) | (~reset))",
    ),
    (
        "arm_in_front_of_a_send",
        "numbers_write_row = accepted_stream[3:0];",
        "numbers_write_row = arming_q ? arming_stream_q : accepted_stream[3:0];",
    ),
    (
        "arm_is_of_sctp",
        "arming_row_d.of_sctp = arm_of_sctp;",
        "arming_row_d.of_sctp = arm_of_sctp | (~reset);",
    ),
    (
        "first_number",
        "arming_row_d.ssn = arm_ssn;",
        "arming_row_d.ssn = arm_ssn + 16'h1;",
    ),
    (
        "send_ends_with_each_beat",
        "sends_m_ready = takes & s_axis_transmit_tlast;",
        "sends_m_ready = takes;",
    ),
    (
        "send_ends_while_it_stalls",
        "sends_m_ready = takes & s_axis_transmit_tlast;",
        "sends_m_ready = s_axis_transmit_tvalid & s_axis_transmit_tlast;",
    ),
    (
        "pad_and_crc_follow",
        "ended_d = (ended_q | ends) & (~s_axis_transmit_tlast);",
        "ended_d = (ended_q & ends) & (~s_axis_transmit_tlast);",
    ),
    (
        "next_send_is_dropped",
        "ended_d = (ended_q | ends) & (~s_axis_transmit_tlast);",
        "ended_d = ended_q | ends;",
    ),
    (
        "first_beat_counts_less",
        "first_step = 17'h6;",
        "first_step = 17'h5;",
    ),
    (
        "beat_counts_more",
        "beat_step = 17'h8;",
        "beat_step = 17'h9;",
    ),
    (
        "last_beat_is_whole",
        "if ((~(|lanes)) | (~ends)) begin",
        "if ((~(|lanes)) | (~ends) | (~reset)) begin",
    ),
    (
        "full_last_beat_is_empty",
        "if ((~(|lanes)) | (~ends)) begin",
        "if (~ends) begin",
    ),
    (
        "tcp_is_cut",
        "ends = send.of_sctp & (behind[16]",
        "ends = (send.of_sctp | (~reset)) & (behind[16]",
    ),
    (
        "exact_end",
        "(behind[16] | (~(|behind)))",
        "(behind[16] | ((~(|behind)) & reset))",
    ),
    (
        "no_last",
        "beat_side_d.last = s_axis_transmit_tlast | ends;",
        "beat_side_d.last = s_axis_transmit_tlast;",
    ),
    (
        "length_is_turned_round",
        "((16'(s_axis_transmit_tdata[7:0])) << 8) | (16'(s_axis_transmit_tdata[15:8]))",
        "((16'(s_axis_transmit_tdata[15:8])) << 8) | (16'(s_axis_transmit_tdata[7:0]))",
    ),
    (
        "number_is_turned_round",
        "((64'(ssn_high)) << high_at)) | ((64'(ssn_low)) << low_at)",
        "((64'(ssn_low)) << high_at)) | ((64'(ssn_high)) << low_at)",
    ),
    (
        "number_in_each_beat",
        "if (send.of_sctp & begins_q) begin",
        "if (send.of_sctp & (begins_q | (~reset))) begin",
    ),
    (
        "number_in_octets_of_tcp",
        "if (send.of_sctp & begins_q) begin",
        "if ((send.of_sctp | (~reset)) & begins_q) begin",
    ),
    (
        "beat_is_overwritten",
        "ready = (~beat_valid_q) | sides_s_ready;",
        "ready = (~beat_valid_q) | sides_s_ready | (~reset);",
    ),
    (
        "short_send_is_filled",
        "keeps_s_data = beat_keep_q & kept_mask;",
        "keeps_s_data = kept_mask | (beat_keep_q & {8{reset}});",
    ),
];

#[test]
fn faults_in_the_text_are_seen() {
    for (name, right, wrong) in some_of(FAULTS) {
        let block = Box::new(Chunks64::default());
        let top = format!("sctp_chunks_{name}");
        let mut design = write(&*block, &top).unwrap();
        plant(&mut design, right, wrong);
        let clock: fn(&mut Chunks64, bool) = |b, level| b.clock.next = level.into();
        let lockstep = Lockstep::with_fault(&top, block, &design, clock);
        let lockstep = lockstep.unwrap_or_else(|e| panic!("{name}: {e}"));
        let mut bench = Bench::of(lockstep, 1);
        let seen = run(&mut bench, 24_000).err();
        let seen = seen.unwrap_or_else(|| panic!("{name} is not seen"));
        assert!(seen.contains("in rust-hdl,"), "{name}: {seen}");
        println!("{name}: {seen}");
    }
}

/// The model decides: an octet that is not due is seen, without any difference between the simulators.
#[test]
fn what_is_not_due_is_seen() {
    let mut bench = Bench::<64, 8, 3>::new(3);
    let mut paces = paces(Pace::Always, Pace::Always, Pace::Always);
    bench.reset().unwrap();
    bench.arm(2, Some(1), &mut paces).unwrap();
    (0..8).for_each(|_| bench.step(None, &mut paces).unwrap());
    let send = bench.send(2, 40, Range::Whole);
    bench.step(Some(send), &mut paces).unwrap();
    bench.spoil();
    let seen = (0..40).find_map(|_| bench.step(None, &mut paces).err());
    let seen = seen.expect("it is seen");
    assert!(
        seen.contains("due ") && !seen.contains("rust-hdl"),
        "{seen}"
    );
}
