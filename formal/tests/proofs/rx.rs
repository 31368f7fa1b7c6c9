//! Proofs of the receive path.

use crate::support::{SMALL, checked, refute, show, tools, with_queues};
use std::time::Instant;
use warpline_formal::{Error, Proof};
use warpline_hdl::Config;
use warpline_hdl::rx::ddp::check::Check;
use warpline_hdl::rx::ddp::check::receive_queues::ReceiveQueues;
use warpline_hdl::rx::ddp::deliver::Deliver;
use warpline_hdl::rx::ddp::place::Place;
use warpline_hdl::rx::mpa::admit::Admit;
use warpline_hdl::rx::mpa::fetch::Fetch;
use warpline_hdl::rx::mpa::scan::Scan;
use warpline_hdl::rx::mpa::window::Window;
use warpline_sv_writer::{self as writer, on_large_stack};

const ADMIT: &str = include_str!("../../properties/rx/mpa/admit.sv");
const CHECK: &str = include_str!("../../properties/rx/ddp/check.sv");
const DELIVER: &str = include_str!("../../properties/rx/ddp/deliver.sv");
const FETCH: &str = include_str!("../../properties/rx/mpa/fetch.sv");
const PLACE_READ: &str = include_str!("../../properties/rx/ddp/place_read.sv");
const PLACE_SPLIT: &str = include_str!("../../properties/rx/ddp/place_split.sv");
const RECEIVE_QUEUES: &str = include_str!("../../properties/rx/ddp/receive_queues.sv");
const SCAN: &str = include_str!("../../properties/rx/mpa/scan.sv");
const WINDOW: &str = include_str!("../../properties/rx/mpa/window.sv");

#[test]
#[ignore = "needs yosys and yices: make formal"]
fn window_reports_keep_the_rules_of_axi4_stream_and_the_order_of_time() {
    let proof = checked(&Window::<4>::default(), "window", WINDOW);
    let overtaken = ("if (step) begin", "if (1) begin");
    let withdrawn = ("valid_d = valid_q;", "valid_d = 1'b0;");
    let of_another = (
        "limit_now = limit_sequence_2;",
        "limit_now = limit_sequence_1;",
    );
    show(
        "m_axis_window",
        &proof,
        4,
        &[overtaken, withdrawn, of_another],
        8,
    );
}

#[test]
#[ignore = "needs yosys and yices: make formal"]
fn bursts_of_a_placement_hold_its_octets_each_once_and_no_other() {
    on_large_stack(|| {
        let block = Place::<64, 8, 3>::new(&SMALL);
        let proof = checked(&block, "place", PLACE_SPLIT);
        let queues = [("deliveries", 3, 266), ("extents", 3, 170)];
        let proof = with_queues(proof, &queues);
        let behind = (
            "(in_block[16:0] + ({1'b0, s_placement.length})) - 17'h1;",
            "(in_block[16:0] + ({1'b0, s_placement.length}));",
        );
        let front = (
            "(in_block[16:0] + ({1'b0, s_placement.length})) - 17'h1;",
            "({1'b0, s_placement.length}) - 17'h1;",
        );
        show("place, bursts", &proof, 14, &[behind, front], 7);
        let faults = [
            // a lane too many at the end, no carry over 4 GiB, a burst in front of its Delivery
            (
                ("lanes", 3),
                "& lane_mask_17)) + 8'h1;",
                "& lane_mask_17)) + 8'h2;",
            ),
            (
                ("begins_where_the_last_ended", 4),
                "if (|(block_number_q & carry)) begin",
                "if (1'b0) begin",
            ),
            (
                ("told_before_the_burst", 3),
                "& ((~handing_q) | m_ready)",
                "& 1'b1",
            ),
        ];
        refute("place, bursts", &proof, &faults);
    });
}

#[test]
#[ignore = "needs yosys and yices: make formal"]
fn beats_of_a_burst_write_its_lanes_and_no_other() {
    on_large_stack(|| {
        let block = Place::<64, 8, 3>::new(&SMALL);
        let proof = checked(&block, "place", PLACE_READ);
        let queues = [
            ("addresses", 3, 72),
            ("beat_data", 4, 64),
            ("beat_strobes", 4, 8),
            ("beat_last", 4, 1),
        ];
        let proof = with_queues(proof, &queues);
        let front = (
            "if (at_first_q) begin\n            asked.from",
            "if (1'b0) begin\n            asked.from",
        );
        let end = (
            "if (now_q.last & at_last_q) begin",
            "if (now_q.last & (~(|left_q[7:1]))) begin",
        );
        let withdrawn = (
            "assign beat_strobes_s_valid = side_q.valid;",
            "assign beat_strobes_s_valid = side_q.valid & (~side_q.last);",
        );
        let overtaken = (
            "assign passes = free & (~spans_m_valid);",
            "assign passes = free;",
        );
        show(
            "place, beats",
            &proof,
            15,
            &[front, end, withdrawn, overtaken],
            16,
        );
    });
}

#[test]
#[ignore = "needs yosys and yices: make formal"]
fn what_an_fpdu_brings_about_comes_when_all_its_bursts_are_answered() {
    // one question about all assertions does not end within minutes
    let proof = checked(&Deliver::<1>::default(), "deliver", DELIVER).one_by_one();
    let forgotten = ("failed_d = failed_q | b_error;", "failed_d = b_error;");
    let early = (
        "(none_left_q | (b_valid & one_left_q));",
        "(none_left_q | b_valid);",
    );
    let unanswered = ("some_d = settle |", "some_d = look_on |");
    let silent = ("is_fault = now_failed_q &", "is_fault = 1'b0 &");
    let faults = [forgotten, early, unanswered, silent];
    show("deliver", &proof, 10, &faults, 10);
    // without a fact that another one follows from
    let helper = "answers == bursts & failures__proof_data == refused";
    let less = proof.planted(helper, "1'b1").unwrap();
    match less.prove(&tools()) {
        Err(Error::NotInductive(name)) => {
            println!("deliver: without `settled`, no proof of {name}")
        }
        other => panic!("{other:?}"),
    }
}

#[test]
#[ignore = "needs yosys and yices: make formal"]
fn what_goes_out_ahead_of_a_gap_overtakes_nothing_in_order() {
    on_large_stack(|| {
        let block = Scan::<32, 2, 1, 2>::new(&SMALL);
        let proof = Proof::of(&writer::write(&block, "scan").unwrap()).unwrap();
        let arbitrary = ["reader", "walker", "placed", "fast_path", "lengths"];
        let freed = |proof: Proof, path| proof.freed(path).unwrap();
        let proof = arbitrary.into_iter().fold(proof, freed);
        let proof = proof.bind("", SCAN, &[]).unwrap();
        // without a look at the chain; as soon as a visit is over
        let overtakes = ("conclusive_d = ~in_order_first;", "conclusive_d = 1'b1;");
        let hasty = (
            "look_ahead_exhausted_1 = was_idle_1_q & (~eligible_1_q);",
            "look_ahead_exhausted_1 = ~eligible_1_q;",
        );
        let late = (
            "look_ahead_exhausted_1 = was_idle_1_q & (~eligible_1_q);",
            "look_ahead_exhausted_1 = was_idle_1_q;",
        );
        show("scan", &proof, 36, &[overtakes, hasty, late], 36);
    });
}

#[test]
#[ignore = "needs yosys and yices: make formal"]
fn the_right_edge_follows_the_ring() {
    on_large_stack(|| {
        let admit = Admit::<64, 8, 2, 4>::new(&Config {
            streams: 2,
            ..SMALL
        });
        let proof = Proof::of(&writer::write(&admit, "admit").unwrap()).unwrap();
        let proof = proof
            .bind("", ADMIT, &[("RING", SMALL.ring_octets)])
            .unwrap();
        let other_tail = (
            "limit_of_1_d = tail_1 + ring_octets;",
            "limit_of_1_d = tail_0 + ring_octets;",
        );
        let other_start = (
            "limit_out_1_d = limit_of_1_q + start_of_1_q;",
            "limit_out_1_d = limit_of_1_q + start_of_0_q;",
        );
        show("admit", &proof, 8, &[other_tail, other_start], 10);
    });
}

#[test]
#[ignore = "needs yosys and yices: make formal"]
fn room_that_was_given_back_stays_given_back() {
    on_large_stack(|| {
        let fetch = Fetch::<64, 8, 2, 3, 1, 2>::new(&Config {
            streams: 2,
            ..SMALL
        });
        let proof = Proof::of(&writer::write(&fetch, "fetch").unwrap()).unwrap();
        let freed = |proof: Proof, path| proof.freed(path).unwrap();
        let proof = ["rotate", "wrapped"].into_iter().fold(proof, freed);
        let proof = proof.bind("", FETCH, &[]).unwrap();
        // a refused one, as if it had landed; one that is ahead, which is read again; all of the edge at once
        let gives = "(now_q.stream[3:0] == index_1) & (~now_q.ahead)) & (~(|now_q.refused))";
        let refused = (gives, "(now_q.stream[3:0] == index_1) & (~now_q.ahead))");
        let ahead = (
            gives,
            "(now_q.stream[3:0] == index_1)) & (~(|now_q.refused))",
        );
        let hasty = ("if (given_up_1_q) begin", "if (start_pulse_q) begin");
        show("fetch", &proof, 14, &[refused, ahead, hasty], 14);
    });
}

#[test]
#[ignore = "needs yosys and yices: make formal"]
fn what_leaves_check_is_of_an_fpdu_that_passed_all_checks() {
    on_large_stack(|| {
        let tools = tools();
        let proof = Proof::of(&writer::write(&Check::<2>::new(&SMALL), "check").unwrap()).unwrap();
        let arbitrary = [
            "lookup.stag_table",
            "lookup.tagged_checks",
            "lookup.receive_queues",
            "lookup.untagged_checks",
            "lookup.contexts",
            "settle.error_records",
        ];
        let freed = |proof: Proof, path| proof.freed(path).unwrap();
        let proof = arbitrary.into_iter().fold(proof, freed);
        let queues = [
            ("intake.segments", 5, 254),
            ("settle.verdicts", 5, 102),
            ("settle.waiting", 4, 254),
            ("settle.outcomes", 4, 145),
        ];
        let proof = with_queues(proof.bind("", CHECK, &[]).unwrap(), &queues).one_by_one();
        let proved = proof
            .prove(&tools)
            .unwrap_or_else(|error| panic!("{error}"));
        println!("check: proved in {:.1?}", proved.time);

        // from power-up it takes 283 cycles until a stream is open; here one is, behind the sweep
        let planted = |proof: Proof, (right, wrong)| proof.planted(right, wrong).unwrap();
        let begins = [
            ("        state_q = 3'h0;", "        state_q = 3'h1;"),
            ("resting_q = 1'b0;", "resting_q = 1'b1;"),
            ("vacant_q = 1'b0;", "vacant_q = 1'b1;"),
            ("is_open_0_q = 1'b0;", "is_open_0_q = 1'b1;"),
        ];
        let running = begins.into_iter().fold(proof.clone(), planted);
        let start = Instant::now();
        running
            .cover(&tools, 26)
            .unwrap_or_else(|error| panic!("{error}"));
        let faults = [
            // without its verdict, with the length of the FPDU behind, a command between two FPDUs
            (
                ("in_step", 9),
                "(outcomes_m_valid & front_valid) & makes_room",
                "outcomes_m_valid & makes_room",
            ),
            (
                ("asked_for", 4),
                "assign tagged_final_d = final_octet_q;",
                "assign tagged_final_d = final_octet_d;",
            ),
            (
                ("alone", 4),
                "assign command_ready = (idle & vacant_q)",
                "assign command_ready = idle",
            ),
            // an entry written whenever what the host has put down is legal, while an FPDU is looked up
            (
                ("nothing_under_way", 4),
                "        stag_write = 1'b0;",
                "        stag_write = legal;",
            ),
            // a command whose `refused` is not taken back when it begins
            (("refused_is", 3), "refused_d = 1'b0;", "refused_d = 1'b1;"),
            // whatever MPA says, on a stream that is frozen, a queue changed by an FPDU ahead of a gap
            (
                ("accepted_is", 11),
                "(~outcomes_m_data.failed)) & (~mpa_fails);",
                "(~outcomes_m_data.failed));",
            ),
            (
                ("accepted_is", 11),
                "is_accepted_d = ((~shut) & ",
                "is_accepted_d = (",
            ),
            (
                ("changes_in_turn", 9),
                "((hold_4_q & (~key_q.ahead))",
                "(hold_4_q",
            ),
            // an outcome of one that does not enter; one that is wrong goes unpunished without CRC
            (
                ("each_has_one", 9),
                "assign in_untagged_d = hold_4_q & (~absent);",
                "assign in_untagged_d = hold_4_q;",
            ),
            (
                ("must_freeze", 11),
                "is_first_error_d = (~shut) & wrong;",
                "is_first_error_d = ((~shut) & wrong) & waiting_m_data.crc;",
            ),
            // the next queue of a stream that is armed, in the cycle in which the one in front is written
            (
                ("key_stands", 9),
                "start_now_d = 1'b1;",
                "start_now_d = 1'b1; key_queue_d = key_queue_q + 2'h1;",
            ),
        ];
        println!("check: covers in {:.1?}", start.elapsed());
        refute("check", &running, &faults);
    });
}

#[test]
#[ignore = "needs yosys and yices: make formal"]
fn a_message_finds_the_buffer_that_was_posted_for_it() {
    on_large_stack(|| {
        let config = Config {
            receive_slots: 4,
            queues: 2,
            ..SMALL
        };
        let proof = checked(
            &ReceiveQueues::<2>::new(&config),
            "receive_queues",
            RECEIVE_QUEUES,
        );
        let others = (
            "| ((14'(queue)) << queue_shift)",
            "| ((14'(queue[1])) << queue_shift)",
        );
        let left = (
            "messages_write_data = nothing;",
            "messages_write_data = noted;",
        );
        let over = (
            "assign behind = here_q.msn[7:0] + here_q.posted[7:0];",
            "assign behind = here_q.msn[7:0];",
        );
        let kept = (
            "states_data.posted = here_q.posted - 9'h1;",
            "states_data.posted = here_q.posted;",
        );
        let faults = [others, left, over, kept];
        show("receive queues", &proof, 11, &faults, 8);
    });
}
