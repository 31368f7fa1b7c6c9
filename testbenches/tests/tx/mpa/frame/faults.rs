//! Faults planted in the written text, and in the model: each is seen.

use std::collections::VecDeque;

use warpline_hdl::tx::mpa::frame::Frame;
use warpline_sv_writer::write;
use warpline_testbenches::lockstep::{Lockstep, plant, some_of};
use warpline_testbenches::stimulus::Pace;
use warpline_wire::{crc, marker};

use crate::support::{Bench, Due, Item, Paces, random_octets};

/// ULPDUs that reach every part of the block.
fn items(rng: &mut fastrand::Rng) -> Vec<Item> {
    let mut position = 0xFFFF_FE00;
    let lengths = [502, 14, 18, 3, 1024, 505, 60, 15, 16, 470, 2000, 7, 900];
    let mut item = |position, length| Item {
        stream: 5,
        position,
        markers: true,
        crc: length != 3,
        octets: random_octets(rng, length),
    };
    let mut items: Vec<Item> = vec![];
    for length in lengths {
        let item = item(position, length);
        position = position.wrapping_add(item.fpdu_len() as u32);
        items.push(item);
    }
    // markers behind the CRC, in front of it, and one that leaves no lane for it
    items.extend([
        item(0xFFFF_FFF4, 5),
        item(0, 505),
        item(500, 16),
        item(504, 10),
    ]);
    items
}

const PACES: Paces = Paces {
    ulpdu: Pace::Always,
    data: Pace::Always,
    ready: Pace::Percent(60),
};

type Bench64 = Bench<64, 8, 2, 3, 1>;

/// Names, the right text, and what it reads with a fault.
const FAULTS: &[(&str, &str, &str)] = &[
    (
        "pad",
        "data_1_q & filled_mask",
        "data_1_q & (filled_mask | (filled_mask << 8))",
    ),
    (
        "length_order",
        "below = (plan.length >> 8) | (plan.length << 8);",
        "below = plan.length;",
    ),
    (
        "marker_behind_the_crc",
        "(lane < ({3'h0, now_q.left}))",
        "(lane <= ({3'h0, now_q.left}))",
    ),
    (
        "marker_in_front_of_the_crc",
        "(lane < ({3'h0, now_q.left}))",
        "((lane + 8'h1) < ({3'h0, now_q.left}))",
    ),
    (
        "pointer_from_a_leading_marker",
        "pointer_d = content_spacing;",
        "pointer_d = content_spacing + 16'h4;",
    ),
    (
        "last_beat_too_full",
        "(~(due_next & (&now_q.rest[0])))",
        "(~(due_next & (&now_q.rest[0]) & reset))",
    ),
    (
        "content_moved_by_all_lanes",
        "load_d = ~(&shift_q);",
        "load_d = (~(&shift_q)) | (~reset);",
    ),
    (
        "last_octets_too_early",
        "final_octets_d = now_q.inputs == 16'h1;",
        "final_octets_d = now_q.inputs == 16'h2;",
    ),
    (
        "zeros_not_undone",
        "if (bits_0_q[0]) begin",
        "if (~bits_0_q[0]) begin",
    ),
    (
        "crc_that_is_off",
        "if (head.last & head.crc) begin",
        "if (head.last & (head.crc | (~reset))) begin",
    ),
    (
        "position",
        "now_d.position = now_q.position + octets_of_beat;",
        "now_d.position = now_q.position - octets_of_beat;",
    ),
    (
        "not_stable",
        "crcs_m_valid & ((~out_valid_q) | m_ready)",
        "crcs_m_valid & ((~out_valid_q) | m_ready | (~reset))",
    ),
    (
        "more_than_the_queue_holds",
        "below_d = under_way_q < most;",
        "below_d = under_way_q <= most;",
    ),
];

#[test]
fn faults_in_the_text_are_seen() {
    for (name, right, wrong) in some_of(FAULTS) {
        let block = Box::new(Frame::<64, 8, 2, 3, 1>::default());
        let top = format!("frame_{name}");
        let mut design = write(&*block, &top).unwrap();
        plant(&mut design, right, wrong);
        let clock: fn(&mut Frame<64, 8, 2, 3, 1>, bool) = |b, level| b.clock.next = level.into();
        let lockstep = Lockstep::with_fault(&top, block, &design, clock);
        let mut bench = Bench64::of(lockstep.unwrap_or_else(|e| panic!("{name}: {e}")), 1);
        let items = items(&mut bench.rng);
        let seen = bench.run(&items, PACES).err();
        let seen = seen.unwrap_or_else(|| panic!("{name} is not seen"));
        assert!(seen.contains("in rust-hdl,"), "{name}: {seen}");
    }
}

/// What is due is compared: a fault in one octet, or in one field, is seen.
#[test]
fn what_is_not_due_is_seen() {
    let mut bench = Bench64::new(2);
    let items = items(&mut bench.rng);
    let right: VecDeque<Due> = items.iter().flat_map(|item| item.due(8)).collect();
    let places = right.len();
    let wrongs: [fn(&mut Due); 7] = [
        |(_, octets)| octets[0] ^= 1,
        |(_, octets)| octets[7] ^= 0x80,
        |(beat, _)| beat.stream = beat.stream + 1,
        |(beat, _)| beat.position = beat.position + 8,
        |(beat, _)| beat.dwords = 3_u64.into(),
        |(beat, _)| beat.first = !beat.first,
        |(beat, _)| beat.last = !beat.last,
    ];
    for wrong in wrongs {
        let mut due = right.clone();
        wrong(&mut due[bench.rng.usize(0..places)]);
        let seen = bench.run_against(&items, due, PACES).unwrap_err();
        assert!(seen.contains(", due FramedBeat"), "{seen}");
        bench.reset().unwrap();
    }
    let mut fewer = right.clone();
    fewer.pop_back();
    let seen = bench.run_against(&items, fewer, PACES).unwrap_err();
    assert!(seen.contains("a beat too many"), "{seen}");
    bench.reset().unwrap();
    let mut more = right.clone();
    more.push_back(right[0].clone());
    let seen = bench.run_against(&items, more, PACES).unwrap_err();
    assert!(seen.contains("1 beats do not come"), "{seen}");
}

/// A CRC that leaves out a marker is none: what [`FpduWriter`](warpline_wire::send::FpduWriter) says of the boundaries
/// decides.
#[test]
fn a_sender_that_covers_no_markers_is_seen() {
    let mut bench = Bench64::new(3);
    let items = items(&mut bench.rng);
    let right: VecDeque<Due> = items.iter().flat_map(|item| item.due(8)).collect();
    let mut due = right.clone();
    // the first FPDU has its marker in front
    let item = &items[0];
    let len = item.fpdu_len();
    let value = crc::crc32c(&item.fpdu()[marker::LEN..len - crc::LEN]);
    let (beat, lane) = ((len - crc::LEN) / 8, (len - crc::LEN) % 8);
    due[beat].1[lane..lane + crc::LEN].copy_from_slice(&crc::to_wire(value));
    assert!(due != right);
    let seen = bench.run_against(&items, due, PACES).unwrap_err();
    assert!(seen.contains(", due FramedBeat"), "{seen}");
}
