//! Faults planted in the written text, and in what is due: each is seen.

use warpline_hdl::tx::ddp::segment::Segment;
use warpline_hdl::tx::ddp::segment::command::TransmitCommand;
use warpline_regmap::transmit::{
    Element, Flags, Gather, Inline, Payload, SendRequest, Target, send_element, send_slot,
};
use warpline_sv_writer::write;
use warpline_testbenches::lockstep::{Lockstep, plant, some_of};
use warpline_testbenches::stimulus::Pace;

use crate::bench::{Bench, Paces, config};
use crate::hazards::small_ones_behind_a_refused_one;
use crate::model::{Event, Posted, Stream};
use crate::requests::arming;
use crate::rules::share;

const TAGGED: Target = Target::Tagged {
    stag: 0x1234_5600,
    offset: 0xFFFF_FFFF_0000,
    rsvd_ulp: 0x40,
};

fn request(target: Target, lengths: &[u32], flags: Flags) -> SendRequest {
    let elements = lengths.iter().map(|length| Element {
        stag: 0x700,
        length: *length,
        offset: 0xFFFF_FF80,
    });
    let gather = Gather::new(&elements.collect::<Vec<_>>()).unwrap();
    SendRequest::new(target, flags, 0x77, Payload::Gather(gather)).unwrap()
}

/// Requests that reach every part of the block; the model says what is due.
fn exercise(bench: &mut Bench<4>, wrong: fn(&mut Stream)) -> Result<(), String> {
    for stream in 0..3 {
        let mut arguments = arming(&mut bench.rng, stream, 1100);
        arguments.markers = stream == 1;
        arguments.protection_domain = 0x1234_u64.into();
        arguments.first_msn = 0xFFFF_FFFF_u64.into();
        arguments.gate = stream == 2;
        bench.try_carry_out(TransmitCommand::Arm, arguments)?;
    }
    let untagged = |queue| Target::Untagged {
        queue,
        rsvd_ulp: [1, 2, 3, 4, 5],
    };
    let plain = Flags::default();
    let flags = Flags {
        signalled: true,
        fence: true,
        terminate: false,
    };
    let inline = Payload::Inline(Inline::new(&[7; 50]).unwrap());
    for stream in 0..3 {
        let all = [
            request(TAGGED, &[10, 1700, 90], plain),
            request(untagged(3), &[690], flags),
            request(untagged(3), &[], plain),
            SendRequest::new(TAGGED, flags, 5, inline).unwrap(),
            request(untagged(0), &[3000], plain),
        ];
        for request in &all {
            bench.stream(stream).post(request);
        }
    }
    bench.streams[..3].iter_mut().for_each(wrong);
    bench.streams[1].under_way = 1;
    for cycle in 0..1500 {
        if cycle == 300 {
            bench.streams[1].under_way = 0;
            bench.events.push_back((1, Event::Settled));
            bench.events.push_back((2, Event::Open));
        }
        if cycle > 900 && cycle % 100 == 0 {
            let stream = (cycle / 100 % 3) as u8;
            let position = bench.streams[usize::from(stream)].position;
            bench.events.push_back((stream, Event::Freed(position)));
        }
        bench.step()?;
    }
    let arguments = arming(&mut bench.rng, 0, 333);
    bench.try_carry_out(TransmitCommand::SetEmss, arguments)?;
    bench.streams[0].mulpdu_before = None;
    bench.stream(0).post(&request(TAGGED, &[600], plain));
    bench.try_drain()?;
    // what is refused, a stream each
    let good = request(TAGGED, &[40], plain);
    let mut bad = good.emit();
    send_slot::LENGTH.put(&mut bad, 0);
    bench.stream(0).post_slot(bad, None);
    let mut short = good.emit();
    send_element::LENGTH.put(&mut short[8..], 30);
    // no element of the request, since COUNT is 1
    send_element::LENGTH.put(&mut short[12..], 5);
    bench.stream(1).post_as(Posted {
        slot: short,
        request: Some(good),
        unread: false,
        wrong_at: Some(30),
    });
    bench.stream(2).post_as(Posted {
        slot: good.emit(),
        request: Some(good),
        unread: true,
        wrong_at: None,
    });
    for stream in 0..3 {
        bench.stream(stream).post(&good);
    }
    bench.try_drain()
}

/// Names, the right text, and what it reads with a fault.
const FAULTS: &[(&str, &str, &str)] = &[
    (
        "room",
        "fits_3_d = sum_2_q <= ring_dwords;",
        "fits_3_d = (sum_2_q <= ring_dwords) | (~reset);",
    ),
    (
        "fence",
        "(~has_room_q) | fence_holds",
        "(~has_room_q) | (fence_holds & reset)",
    ),
    (
        "segment_that_nobody_counts",
        "held_0_d = held_0_q + 3'h1;",
        "held_0_d = held_0_q;",
    ),
    (
        "segment_that_counts_for_ever",
        "held_1_d = held_1_q - 3'h1;",
        "held_1_d = held_1_q;",
    ),
    (
        "last_of_message",
        "last = ~more_3_q;",
        "last = (~more_3_q) | (sent[4]);",
    ),
    (
        "message_offset",
        "left_1_d = slot_now_q.length - sent;",
        "left_1_d = slot_now_q.length;",
    ),
    (
        "offset_carry",
        "to_high_2_d = slot_now_q.offset[63:32] + (32'(to_low_1_q[32]));",
        "to_high_2_d = slot_now_q.offset[63:32] + (32'(~to_low_1_q[32]));",
    ),
    (
        "element_carry",
        "offset_high_d = offset_top_q + (32'(offset_low_q[32]));",
        "offset_high_d = offset_top_q + (32'(~offset_low_q[32]));",
    ),
    (
        "msn_of_each_segment",
        "msns_write = (sent_now & request_last)",
        "msns_write = (sent_now | (request_last & reset))",
    ),
    (
        "progress_kept",
        "progress_data.into = payload_next_into;",
        "progress_data.into = payload_next_into + 32'h4;",
    ),
    (
        "wrong_element",
        "progress_data.element = payload_next_element;",
        "progress_data.element = payload_next_element ^ 4'h1;",
    ),
    (
        "position",
        "behind = position_now_q + (30'(dwords));",
        "behind = position_now_q + (30'(dwords >> 1));",
    ),
    (
        "stale_position",
        "write = sends_now_q;",
        "write = sends_now_q & (~stream_now_q[0]);",
    ),
    (
        "room_of_one",
        "longest = ({3'h0, row_context_q.longest}) << 2;",
        "longest = {3'h0, row_context_q.longest};",
    ),
    (
        "room_of_a_decision",
        "has_room_d = fits_3_q;",
        "has_room_d = fits_3_q | (~reset);",
    ),
    (
        "next_turn_too_early",
        "if (~(|pause_q)) begin",
        "if (~reset) begin",
    ),
    (
        "rows_of_another_stream",
        "stream = row_stream[3:0];",
        "stream = row_stream[3:0] ^ 4'h1;",
    ),
    (
        "turn_without_a_head",
        "(age_q == second) & (~scheduler_holds)",
        "(age_q == second) & ((~scheduler_holds) & reset)",
    ),
    (
        "pop_of_a_long_message",
        "fits_one_d = (~(|row_data[63:48])) & (row_data[47:32] <= room_1_q);",
        "fits_one_d = (~(|row_data[63:48])) & (row_data[47:32] <= (room_1_q | 16'hff00));",
    ),
    (
        "too_short",
        "final_piece = (reaches_q | empty_q) | beyond_q;",
        "final_piece = (reaches_q | empty_q) | (beyond_q & reset);",
    ),
    (
        "refusal_does_not_end",
        "refuses_now_d.valid = bad;",
        "refuses_now_d.valid = bad & reset;",
    ),
    (
        "markers_of_periods",
        "count = periods_4_q + (8'(extra_4_q));",
        "count = (periods_4_q >> 1) + (8'(extra_4_q));",
    ),
    (
        "gate",
        "scheduler_open.valid = ~s_command.gate;",
        "scheduler_open.valid = (~s_command.gate) | (~reset);",
    ),
    (
        "emss",
        "contexts_data.mulpdu = emss_to_mulpdu_mulpdu;",
        "contexts_data.mulpdu = emss_to_mulpdu_mulpdu - 16'h4;",
    ),
    (
        "malformed",
        "malformed_3_d = malformed_2_q | (wraps & tagged_1_q);",
        "malformed_3_d = (malformed_2_q & sent[31]) | (wraps & tagged_1_q);",
    ),
    (
        "unread",
        "failed_d = head_failed;",
        "failed_d = head_failed & reset;",
    ),
];

/// Plants each fault, and runs `exercise` at `paces`: the Verilog must differ from rust-hdl.
fn are_seen(
    faults: &[(&str, &str, &str)],
    seed: u64,
    paces: Paces,
    exercise: impl Fn(&mut Bench<4>) -> Result<(), String>,
) {
    let clock: fn(&mut Segment<4>, bool) = |b, level| b.clock.next = level.into();
    for (name, right, wrong) in some_of(faults) {
        let block = Box::new(Segment::<4>::new(&config::<4>()));
        let top = format!("segment_{name}");
        let mut design = write(&*block, &top).unwrap();
        plant(&mut design, right, wrong);
        let lockstep = Lockstep::with_fault(&top, block, &design, clock);
        let lockstep = lockstep.unwrap_or_else(|e| panic!("{name}: {e}"));
        let mut bench = Bench::of(lockstep, seed, paces);
        let seen = exercise(&mut bench).err();
        let seen = seen.unwrap_or_else(|| panic!("{name} is not seen"));
        assert!(seen.contains("in rust-hdl,"), "{name}: {seen}");
    }
}

#[test]
fn faults_in_the_text_are_seen() {
    are_seen(FAULTS, 1, Paces::ALWAYS, |bench| exercise(bench, |_| {}));
}

/// Faults in what stages have in common: with a slow sink one segment is decided while another one is walked.
const HAZARDS: &[(&str, &str, &str)] = &[
    (
        "refused_too_late",
        "is_dead = dead_0_q;",
        "is_dead = reset;",
    ),
    (
        "rows_overwritten",
        "fill_1_d.row = (4'(row[2:0])) | second_bank;",
        "fill_1_d.row = (4'(row[2:0])) | (second_bank & 4'h0);",
    ),
    (
        "bank_kept",
        "if (swaps_q) begin",
        "if (swaps_q & reset) begin",
    ),
    (
        "decided_while_walked",
        "assign free = (~cut_valid_q) | hand;",
        "assign free = (~cut_valid_q) | (~reset);",
    ),
    (
        "flush_moves_the_position",
        "measure_sends = (~(|cut_q.refusal)) & (~payload_refused);",
        "measure_sends = ~reset;",
    ),
];

#[test]
fn faults_between_the_stages_are_seen() {
    let paces = Paces {
        piece: Pace::Percent(10),
        ..Paces::ALWAYS
    };
    are_seen(HAZARDS, 6, paces, small_ones_behind_a_refused_one);
}

/// A visit that its octets do not end.
const SHARES: &[(&str, &str, &str)] = &[(
    "budget_not_charged",
    "budget_d = budget_q - (18'(spent));",
    "budget_d = budget_q - (18'(spent & 17'h0));",
)];

#[test]
fn faults_of_the_shares_are_seen() {
    are_seen(SHARES, 11, Paces::ALWAYS, |bench| share(bench).map(drop));
}

/// What is due is compared: a fault in each part of it is seen.
#[test]
fn what_is_not_due_is_seen() {
    type Wrong = fn(&mut Stream);
    let wrongs: [(&str, Wrong); 8] = [
        ("domain", |stream| stream.domain ^= 0x100),
        ("MULPDU", |stream| stream.mulpdu -= 1),
        ("markers", |stream| stream.markers = !stream.markers),
        ("CRC", |stream| stream.crc = !stream.crc),
        ("position", |stream| stream.position += 4),
        ("MSN", |stream| {
            if let Some(msn) = stream.msns.get_mut(3) {
                *msn = msn.wrapping_add(1);
            }
        }),
        ("consumed", |stream| stream.reported += 1),
        ("order", |stream| stream.slots.truncate(4)),
    ];
    let mut bench = Bench::<4>::new(1, Paces::ALWAYS);
    exercise(&mut bench, |_| {}).unwrap();
    for (name, wrong) in wrongs {
        let mut bench = Bench::<4>::new(1, Paces::ALWAYS);
        let seen = exercise(&mut bench, wrong).err();
        let seen = seen.unwrap_or_else(|| panic!("{name} is not seen"));
        assert!(!seen.contains("in rust-hdl,"), "{name}: {seen}");
    }
}
