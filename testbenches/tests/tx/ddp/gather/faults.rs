//! Faults planted in the written text, and in what is due: each is seen.

use warpline_hdl::tx::ddp::gather::Gather;
use warpline_sv_writer::write;
use warpline_testbenches::lockstep::{Lockstep, on_large_stack, plant, some_of};
use warpline_testbenches::read_bus::Manner;
use warpline_testbenches::stimulus::Pace;

use crate::support::{Bench, FAULTY, Item, Paces, Part, content, memory};

type Bench64 = Bench<64, 8, 3>;
type Bench256 = Bench<256, 32, 5>;

const PACES: Paces = Paces {
    pieces: Pace::Always,
    ready: Pace::Percent(60),
    verdicts: Pace::Percent(5),
};

/// ULPDUs that reach every part of the block.
fn items(rng: &mut fastrand::Rng) -> Vec<Item> {
    let mut items = vec![
        vec![content(rng, 18), Part::Memory(0x1_2345_6FF3, 100)],
        vec![Part::Memory(0x2_FFFF_FFF1, 31), content(rng, 3)],
        vec![content(rng, 14), Part::Memory(0x3001, 3), content(rng, 8)],
        vec![Part::Memory(0x5_0000_0005, 4500)],
        vec![Part::Memory(FAULTY.start - 40, 70), content(rng, 1)],
        vec![
            content(rng, 18),
            Part::Memory(0x7777, 1),
            Part::Memory(0x8888, 16),
        ],
        vec![content(rng, 8)],
        vec![content(rng, 9)],
        vec![content(rng, 5), content(rng, 6), Part::Memory(0x9004, 12)],
        vec![Part::Memory(FAULTY.start, 8)],
        vec![Part::Memory(0xA005, 16), content(rng, 4)],
        vec![content(rng, 1), Part::Memory(0xB002, 7), content(rng, 4)],
    ];
    // enough of them to fill the queues
    for n in 0..70 {
        items.push(vec![content(rng, 1 + n % 18)]);
    }
    for n in 0..40 {
        items.push(vec![Part::Memory(0x1_0003 + 0x105 * n, 9 + n as usize % 9)]);
    }
    items
}

/// ULPDUs that begin with a header and an element, and others between them: more headers than the queue holds, and rests that
/// are left over when a first source beat completes a beat, and when it does not.
fn behind_headers(rng: &mut fastrand::Rng) -> Vec<Item> {
    let mut items = vec![];
    for n in 0..60 {
        let count = if rng.bool() { 14 } else { 18 };
        let header = content(rng, count);
        let address = 0x1_0000 + 0x105 * n;
        let mut item = vec![header, Part::Memory(address, rng.usize(20..100))];
        match rng.u8(0..8) {
            0 => item.push(content(rng, 7)),
            1 => item.truncate(1),
            2 => item.insert(1, content(rng, 18)),
            3 => item.push(Part::Memory(0x2_0000 + address, 40)),
            _ => {}
        }
        items.push(item);
    }
    items
}

/// Memory that reaches every part, too.
fn rough() -> Manner {
    Manner {
        ar: Pace::Percent(70),
        r: Pace::Percent(80),
        delay: 0..150,
        wrong_ends: 12,
        ..memory(0)
    }
}

/// Names, the right text, and what it reads with a fault.
const FAULTS: &[(&str, &str, &str)] = &[
    (
        "fill_goes_on_behind_a_ulpdu",
        "fill_d = fill_q + piece.length[2:0];\n                if (piece.last) begin",
        "fill_d = fill_q + piece.length[2:0];\n                if (piece.last & reset) begin",
    ),
    (
        "rotated_the_other_way",
        "source.amount = {5'h0, lane_q - in_front_q};",
        "source.amount = {5'h0, in_front_q - lane_q};",
    ),
    (
        "first_beat_does_not_run_over",
        "source.first_over = in_front_q > lane_q;",
        "source.first_over = in_front_q < lane_q;",
    ),
    (
        "full_beat_is_kept",
        "(~over) & (last_q | (behind == top_lane))",
        "(~over) & (last_q | ((behind == top_lane) & reset))",
    ),
    (
        "rest_of_a_ulpdu_is_kept",
        "(~single_over) & (last_q | (through_q == top_lane))",
        "(~single_over) & (through_q == top_lane)",
    ),
    (
        "one_source_beat_too_few",
        "source.rest = last_beat - first_beat_q;",
        "source.rest = (last_beat - first_beat_q) >> (~reset);",
    ),
    (
        "no_carry_into_the_high_half",
        "bounds_d.high_next = piece.content[63:32] + 32'h1;",
        "bounds_d.high_next = piece.content[63:32];",
    ),
    (
        "burst_ends_behind_its_block",
        "block_bits = 8'hb;\n    localparam logic [31:0] block_mask = 32'h7ff;",
        "block_bits = 8'hc;\n    localparam logic [31:0] block_mask = 32'hfff;",
    ),
    (
        "next_block_begins_at_its_second_beat",
        "from_d = 8'h0;",
        "from_d = 8'h1;",
    ),
    (
        "range_taken_too_early",
        "free = (~active_q) | (emit & last_block_q);",
        "free = (~active_q) | (emit & (last_block_q | (~reset)));",
    ),
    (
        "refused_beat_is_good",
        "filling_q | response[1]",
        "filling_q | (response[1] & reset)",
    ),
    (
        "late_end_is_not_skipped",
        "skipping_d = (accept & (~last)) & at_last_q;",
        "skipping_d = (accept & (~last)) & (at_last_q & reset);",
    ),
    (
        "early_end_is_not_filled_up",
        "filling_d = (accept & last) & (~at_last_q);",
        "filling_d = (accept & last) & (~(at_last_q | (~reset)));",
    ),
    (
        "accepts_while_it_fills_up",
        "ready = (active_q & (~filling_q)) & octets_s_ready;",
        "ready = (active_q & ((~filling_q) | (~reset))) & octets_s_ready;",
    ),
    (
        "closed_beat_is_lost",
        "(closed_q & exact_q) | (over_q & ends)",
        "(closed_q & exact_q) | (over_q & (ends & reset))",
    ),
    (
        "closed_beat_is_mixed",
        "plan.keep = lanes;",
        "plan.keep = reset ? lanes : fill_q;",
    ),
    (
        "verdict_of_the_last_beat_only",
        "bad_now = bad_q | (now_q.memory & refused);",
        "bad_now = (bad_q & reset) | (now_q.memory & refused);",
    ),
    (
        "verdict_goes_on",
        "bad_d = bad_now & (~ends);",
        "bad_d = bad_now;",
    ),
    (
        "verdicts_without_room",
        "able = ((active_q & room) & failed_ready)",
        "able = ((active_q & room) & (failed_ready | (~reset)))",
    ),
    (
        "beats_without_room",
        "below_d = under_way_q < most;",
        "below_d = under_way_q <= most;",
    ),
    (
        "octets_do_not_go_on",
        "octets_d = octets_q >> beat_bits;",
        "octets_d = octets_q >> (reset ? beat_bits : 16'h0);",
    ),
    (
        "held_is_what_has_left",
        "held_d = rotate_out;",
        "held_d = joined;",
    ),
];

/// The same where a header takes no cycle, in the text for 256 bits.
const HEADER_FAULTS: &[(&str, &str, &str)] = &[
    (
        "header_is_forgotten",
        "if (side_q.header) begin",
        "if (side_q.header & (~side_q.take)) begin",
    ),
    (
        "header_stands_in_front_of_each_beat",
        "headed_d = 1'b0;",
        "headed_d = headed_q;",
    ),
    (
        "header_stands_in_front_of_each_piece",
        "behind_header_d = is_header;",
        "behind_header_d = is_header | behind_header_q;",
    ),
    (
        "header_alone_is_no_source_beat",
        "(~piece.memory)) & (~piece.last);",
        "(~piece.memory)) & ((~piece.last) | (~reset));",
    ),
    (
        "inline_octets_are_a_header",
        "begun_d = ~piece.last;",
        "begun_d = (~piece.last) & reset;",
    ),
    (
        "headers_without_room",
        "& headers_s_ready;",
        "& (headers_s_ready | (~reset));",
    ),
    (
        "two_beats_at_once",
        "(~(closed_q & crowded_q));",
        "(~(closed_q & (crowded_q & reset)));",
    ),
    (
        "each_first_beat_stands_alone",
        "crowded_d = head.header & head.first_over;",
        "crowded_d = head.header;",
    ),
    (
        "header_leaves_with_a_rest",
        "plan.keep = lanes;",
        "plan.keep = reset ? lanes : 8'h0;",
    ),
    (
        "header_is_lost_behind_a_rest",
        "held_d = own;",
        "held_d = rotate_out;",
    ),
    (
        "header_is_held_twice",
        "if (side_q.closed) begin",
        "if (side_q.closed | side_q.take) begin",
    ),
    (
        "held_lanes_hide_the_header",
        "plan.keep = 8'h0;",
        "plan.keep = fill_q;",
    ),
];

/// Plants a fault, and says what is seen of it.
fn seen_of<const W: usize, const K: usize, const LOGK: usize>(
    (name, right, wrong): (&str, &str, &str),
    items: fn(&mut fastrand::Rng) -> Vec<Item>,
) -> String {
    let block = Box::new(Gather::<W, K, LOGK>::default());
    let top = format!("gather_{name}");
    let mut design = write(&*block, &top).unwrap();
    plant(&mut design, right, wrong);
    let clock: fn(&mut Gather<W, K, LOGK>, bool) = |b, level| b.clock.next = level.into();
    let lockstep = Lockstep::with_fault(&top, block, &design, clock);
    let lockstep = lockstep.unwrap_or_else(|e| panic!("{name}: {e}"));
    let mut bench = Bench::<W, K, LOGK>::of(lockstep, 1);
    let items = items(&mut bench.rng);
    let seen = bench.run(&items, PACES, rough()).err();
    seen.unwrap_or_else(|| panic!("{name} is not seen"))
}

#[test]
fn faults_in_the_text_are_seen() {
    for fault in some_of(FAULTS) {
        let seen = seen_of::<64, 8, 3>(*fault, items);
        assert!(seen.contains("in rust-hdl,"), "{}: {seen}", fault.0);
    }
}

#[test]
fn faults_about_headers_are_seen() {
    on_large_stack(|| {
        for fault in some_of(HEADER_FAULTS) {
            let seen = seen_of::<256, 32, 5>(*fault, behind_headers);
            assert!(seen.contains("in rust-hdl,"), "{}: {seen}", fault.0);
        }
    });
}

/// Without a fault nothing is seen.
#[test]
fn nothing_is_seen_without_a_fault() {
    on_large_stack(|| {
        let mut bench = Bench256::new(1);
        let items = behind_headers(&mut bench.rng);
        let seen = bench.run(&items, PACES, rough());
        seen.unwrap_or_else(|e| panic!("{e}"));
    });
    let mut bench = Bench64::new(1);
    let items = items(&mut bench.rng);
    let seen = bench.run(&items, PACES, rough());
    let seen = seen.unwrap_or_else(|e| panic!("{e}"));
    let failed = seen.verdicts.iter().filter(|(_, failed)| *failed).count();
    assert!(failed > 5 && failed < items.len() / 2, "{failed}");
}

/// What is due is compared: octets, reads, verdicts, and how many of them come.
#[test]
fn what_is_not_due_is_seen() {
    let mut bench = Bench64::new(2);
    let items = items(&mut bench.rng);
    type Wrong = (fn(&mut Vec<Item>), &'static str);
    let wrongs: [Wrong; 8] = [
        (
            |due| due[0][1] = Part::Memory(0x1_2345_6FFB, 100),
            "is not asked for",
        ),
        (
            |due| due[0][1] = Part::Memory(0x1_2345_6FF2, 100),
            ", due [",
        ),
        (
            |due| due[3][0] = Part::Memory(0x5_0000_0005, 4508),
            "is not asked for",
        ),
        (|due| due[5][1] = Part::Memory(0x7770, 1), ", due ["),
        (|due| due[6][0] = Part::Content(vec![0; 8]), ", due ["),
        (|due| due.swap(6, 7), ", due ["),
        (
            |due| due.extend([vec![Part::Content(vec![1])]]),
            "1 ULPDUs do not come",
        ),
        (
            |due| {
                due.pop();
            },
            "is not asked for",
        ),
    ];
    for (wrong, text) in wrongs {
        let mut due = items.clone();
        wrong(&mut due);
        let seen = bench
            .run_against(&items, &due, PACES, memory(3))
            .unwrap_err();
        assert!(seen.contains(text), "{text}: {seen}");
        bench.reset().unwrap();
    }
    let manner = Manner {
        faulty: 0..0,
        ..memory(3)
    };
    let seen = bench.run(&items, PACES, manner).unwrap_err();
    assert!(seen.contains("a verdict is false"), "{seen}");
    bench.reset().unwrap();
    let few = &items[6..8];
    let seen = bench.run_against(few, &few[..1], PACES, memory(3));
    let seen = seen.unwrap_err();
    assert!(seen.contains("too many"), "{seen}");
    bench.reset().unwrap();
    let one_burst = Manner {
        bursts: 1,
        ..memory(30)
    };
    let seen = bench.run(&items, PACES, one_burst).unwrap_err();
    assert!(seen.contains("while a burst is under way"), "{seen}");
}
