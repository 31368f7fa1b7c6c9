//! Faults planted in the written text, and in what is due: each is seen.

use warpline_hdl::records::Piece;
use warpline_hdl::tx::ddp::local_access::LocalAccess;
use warpline_regmap::transmit::status;
use warpline_sv_writer::write;
use warpline_testbenches::lockstep::{Lockstep, plant, some_of};
use warpline_testbenches::stimulus::Pace;

use crate::judging::PACES;
use crate::segments::{random_segments, table};
use crate::support::{ALWAYS, Bench, Paces, judged};

/// What is due is compared: pieces, statuses, and how many of them come.
#[test]
fn what_is_not_due_is_seen() {
    let mut bench = Bench::new(7);
    let table = table(&mut bench.rng);
    let segments = random_segments(&mut bench.rng, &table, 60);
    let right: Vec<(u32, Vec<Piece>)> = segments.iter().map(|s| judged(&table, s)).collect();
    let passes = right.iter().position(|(_, pieces)| pieces.len() > 1);
    let passes = passes.unwrap();
    type Wrong = (fn(&mut (u32, Vec<Piece>)), &'static str);
    let wrongs: [Wrong; 7] = [
        (|due| due.0 = status::BUS, "due 6"),
        (|due| due.1[1].content = due.1[1].content + 1, ", due Piece"),
        (|due| due.1[0].length = due.1[0].length + 1, ", due Piece"),
        (|due| due.1[0].last = true, ", due Piece"),
        (|due| due.1[0].memory = !due.1[0].memory, ", due Piece"),
        (|due| due.1.truncate(1), ", due Piece"),
        (|due| due.1.insert(0, Piece::default()), ", due Piece"),
    ];
    for (wrong, text) in wrongs {
        let mut due = right.clone();
        wrong(&mut due[passes]);
        let seen = bench.run_against(&table, &segments, due, PACES[0]);
        let seen = seen.unwrap_err();
        assert!(seen.contains(text), "{text}: {seen}");
        bench.reset();
    }
    let mut fewer = right.clone();
    fewer.pop();
    let seen = bench
        .run_against(&table, &segments, fewer, ALWAYS)
        .unwrap_err();
    assert!(seen.contains("too many"), "{seen}");
    bench.reset();
    let mut more = right;
    more.push((status::OK, vec![]));
    let seen = bench
        .run_against(&table, &segments, more, ALWAYS)
        .unwrap_err();
    assert!(seen.contains("1 verdicts do not come"), "{seen}");
}

/// Names, the right text, and what it reads with a fault.
const FAULTS: &[(&str, &str, &str)] = &[
    (
        "last_octet_is_not_counted",
        "asked_d.less_one = s_piece.length - 16'h1;",
        "asked_d.less_one = s_piece.length - 16'h2;",
    ),
    (
        "content_is_judged",
        "if (judged.memory) begin",
        "if (judged.memory | (~reset)) begin",
    ),
    (
        "bounds_from_the_end_only",
        "if (tagged_checks_fails_offset | tagged_checks_fails_end) begin",
        "if ((tagged_checks_fails_offset & reset) | tagged_checks_fails_end) begin",
    ),
    (
        "bounds_from_the_beginning_only",
        "if (tagged_checks_fails_offset | tagged_checks_fails_end) begin",
        "if (tagged_checks_fails_offset | (tagged_checks_fails_end & reset)) begin",
    ),
    (
        "any_stream_and_domain",
        "if (tagged_checks_fails_association) begin",
        "if (tagged_checks_fails_association & reset) begin",
    ),
    (
        "any_memory_for_the_peer",
        "if (judged.remote & tagged_checks_fails_read) begin",
        "if ((judged.remote & tagged_checks_fails_read) & reset) begin",
    ),
    (
        "the_peers_rights_count_for_the_owner",
        "if (judged.remote & tagged_checks_fails_read) begin",
        "if ((judged.remote | (~reset)) & tagged_checks_fails_read) begin",
    ),
    (
        "any_stag",
        "if (tagged_checks_fails_stag) begin",
        "if (tagged_checks_fails_stag & reset) begin",
    ),
    (
        "refusal_is_overlooked",
        "if (judged.last & (|judged.refused)) begin",
        "if ((judged.last & (|judged.refused)) & reset) begin",
    ),
    (
        "refusal_of_any_piece",
        "if (judged.last & (|judged.refused)) begin",
        "if ((judged.last | (~reset)) & (|judged.refused)) begin",
    ),
    (
        "last_failure_decides",
        "if (so_far_q == ok) begin",
        "if ((so_far_q == ok) | (own != ok)) begin",
    ),
    (
        "last_piece_decides",
        "if (so_far_q == ok) begin",
        "if ((so_far_q == ok) | (~reset)) begin",
    ),
    (
        "failure_goes_on",
        "so_far_d = decided;\n            if (judged.last) begin",
        "so_far_d = decided;\n            if (judged.last & reset) begin",
    ),
    (
        "all_segments_pass",
        "passes_d = statuses_m_data == ok;",
        "passes_d = (statuses_m_data == ok) | (~reset);",
    ),
    (
        "dropped_at_the_pace_of_gather",
        "leave = active_q & ((~passes_q) | m_piece_ready);",
        "leave = active_q & (((~passes_q) & reset) | m_piece_ready);",
    ),
    (
        "addresses_stay",
        "addresses_m_ready = leave & head.memory;",
        "addresses_m_ready = (leave & head.memory) & passes_q;",
    ),
    (
        "segment_has_one_piece",
        "free = (~active_q) | (leave & head.last);",
        "free = (~active_q) | (leave & (head.last | (~reset)));",
    ),
    (
        "address_is_left_out",
        "if (head.memory) begin",
        "if (head.memory & reset) begin",
    ),
    (
        "verdicts_without_room",
        "load = (free & statuses_m_valid) & verdicts_s_ready;",
        "load = (free & statuses_m_valid) & (verdicts_s_ready | (~reset));",
    ),
    (
        "pieces_without_room",
        "below_d = under_way_q < most;",
        "below_d = under_way_q <= most;",
    ),
    (
        "verdict_with_each_piece",
        "statuses_s_valid = judged.valid & judged.last;",
        "statuses_s_valid = judged.valid & (judged.last | (~reset));",
    ),
];

#[test]
fn faults_in_the_text_are_seen() {
    for (name, right, wrong) in some_of(FAULTS) {
        let block = Box::new(LocalAccess::default());
        let top = format!("local_access_{name}");
        let mut design = write(&*block, &top).unwrap();
        plant(&mut design, right, wrong);
        let clock: fn(&mut LocalAccess, bool) = |b, level| b.clock.next = level.into();
        let lockstep = Lockstep::with_fault(&top, block, &design, clock);
        let mut bench = Bench::of(lockstep.unwrap_or_else(|e| panic!("{name}: {e}")), 6);
        let table = table(&mut bench.rng);
        let segments = random_segments(&mut bench.rng, &table, 300);
        let paces = Paces {
            pieces: Pace::Percent(50),
            verdicts: Pace::Bursts(120),
            offer: Pace::Always,
        };
        let seen = bench.run(&table, &segments, paces).err();
        let seen = seen.unwrap_or_else(|| panic!("{name} is not seen"));
        assert!(seen.contains("in rust-hdl,"), "{name}: {seen}");
    }
}
