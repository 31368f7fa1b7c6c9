//! Faults planted in the written text, and in what is due: each is seen.

use warpline_hdl::tx::ddp::segment::{Segment, TransmitCommand};
use warpline_regmap::transmit::{
    Element, Flags, Gather, Inline, Payload, SendRequest, Target, send_element, send_slot,
};
use warpline_sv_writer::write;
use warpline_testbenches::lockstep::{Lockstep, plant};

use crate::support::{Bench, Event, Paces, Posted, Stream, arming, config};

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
        "(~fits_3_q) | fence_holds",
        "(~fits_3_q) | (fence_holds & reset)",
    ),
    (
        "segment_that_nobody_counts",
        "held_0_d = held_0_q + 2'h1;",
        "held_0_d = held_0_q;",
    ),
    (
        "segment_that_counts_for_ever",
        "held_1_d = held_1_q - 2'h1;",
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
        "offset_high_d = data_q[127:96] + (32'(offset_low_q[32]));",
        "offset_high_d = data_q[127:96] + (32'(~offset_low_q[32]));",
    ),
    (
        "msn_of_each_segment",
        "msns_write = (sends_it_q & is_last_q)",
        "msns_write = (sends_it_q | (is_last_q & reset))",
    ),
    (
        "progress_kept",
        "progress_data.into = 32'h0;\n                end\n                if (sends_it_q)",
        "progress_data.into = 32'h4;\n                end\n                if (sends_it_q)",
    ),
    (
        "position",
        "behind_d = row_progress_q.position + (30'(fpdu_length_dwords));",
        "behind_d = row_progress_q.position + (30'(fpdu_length_dwords >> 1));",
    ),
    (
        "too_short",
        "final_piece_d = (reaches_q | empty_q) | beyond_q;",
        "final_piece_d = (reaches_q | empty_q) | (beyond_q & reset);",
    ),
    (
        "refusal_does_not_end",
        "turns_ends = ends_queue_q;",
        "turns_ends = ends_queue_q & reset;",
    ),
    (
        "markers_of_periods",
        "count = periods_4_q + (8'(extra_4_q));",
        "count = (periods_4_q >> 1) + (8'(extra_4_q));",
    ),
    (
        "gate",
        "gate_d.valid = ~s_command.gate;",
        "gate_d.valid = (~s_command.gate) | (~reset);",
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

#[test]
fn faults_in_the_text_are_seen() {
    let clock: fn(&mut Segment<4>, bool) = |b, level| b.clock.next = level.into();
    for (name, right, wrong) in FAULTS {
        let block = Box::new(Segment::<4>::new(&config::<4>()));
        let top = format!("segment_{name}");
        let mut design = write(&*block, &top).unwrap();
        plant(&mut design, right, wrong);
        let lockstep = Lockstep::with_design(&top, block, &design, clock);
        let lockstep = lockstep.unwrap_or_else(|e| panic!("{name}: {e}"));
        let mut bench = Bench::of(lockstep, 1, Paces::ALWAYS);
        let seen = exercise(&mut bench, |_| {}).err();
        let seen = seen.unwrap_or_else(|| panic!("{name} is not seen"));
        assert!(seen.contains("in rust-hdl,"), "{name}: {seen}");
    }
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
