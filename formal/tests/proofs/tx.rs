//! Proofs of the transmit path.

use crate::support::{HANDSHAKE, checked, prove, refute, show, with_queues};
use warpline_formal::Proof;
use warpline_hdl::tx::ddp::gather::Gather;
use warpline_hdl::tx::ddp::local_access::{self, LocalAccess};
use warpline_hdl::tx::ddp::segment::scheduler::{QUANTUM, Scheduler};
use warpline_hdl::tx::ddp::settle::Settle;
use warpline_hdl::tx::mpa::transmit_ring::commands::Commands;
use warpline_hdl::tx::mpa::transmit_ring::range_read::RangeRead;
use warpline_hdl::tx::mpa::transmit_ring::room_release::RoomRelease;
use warpline_hdl::tx::mpa::transmit_ring::status::Status;
use warpline_hdl::tx::mpa::transmit_ring::visibility::{Visibility, WORD};
use warpline_sv_writer::{self as writer, on_large_stack};

const COMMANDS: &str = include_str!("../../properties/tx/mpa/commands.sv");
const GATHER: &str = include_str!("../../properties/tx/ddp/gather.sv");
const LOCAL_ACCESS: &str = include_str!("../../properties/tx/ddp/local_access.sv");
const RANGE_READ: &str = include_str!("../../properties/tx/mpa/range_read.sv");
const ROOM_RELEASE: &str = include_str!("../../properties/tx/mpa/room_release.sv");
const SETTLE: &str = include_str!("../../properties/tx/ddp/settle.sv");
const STATUS: &str = include_str!("../../properties/tx/mpa/status.sv");
const SCHEDULER: &str = include_str!("../../properties/tx/ddp/scheduler.sv");
const VISIBILITY: &str = include_str!("../../properties/tx/mpa/visibility.sv");

#[test]
#[ignore = "needs yosys and yices: make formal"]
fn pieces_leave_when_nothing_is_wrong_with_their_segment() {
    on_large_stack(|| {
        // eight pieces at a time instead of 32
        let block = LocalAccess::<3>::default();
        let proof = Proof::of(&writer::write(&block, "local_access").unwrap()).unwrap();
        let proof = proof.freed("tagged_checks").unwrap().with(HANDSHAKE);
        let parameters = [("LOG", 3), ("RESET", local_access::RESET)];
        let proof = proof
            .bind("", LOCAL_ACCESS, &parameters)
            .unwrap()
            .one_by_one();
        prove("local access", &proof, 13);
        let faults = [
            // a segment that is refused for another reason than its STag; a failure that is forgotten two pieces later
            (
                ("all_or_none", 9),
                "passes_d = statuses_m_data == ok;",
                "passes_d = statuses_m_data != no_stag;",
            ),
            (
                ("all_or_none", 11),
                "so_far_d = decided;",
                "so_far_d = own;",
            ),
            // the stream of the piece behind; an STag of another domain
            (
                ("checked", 4),
                "assign tagged_checks_stream = to_check_q.stream;",
                "assign tagged_checks_stream = asked_q.stream;",
            ),
            (
                ("verdict_is", 8),
                "if (tagged_checks_fails_association) begin",
                "if (1'b0) begin",
            ),
            // memory for the peer that it may not read
            (
                ("verdict_is", 8),
                "if (judged.remote & tagged_checks_fails_read) begin",
                "if (1'b0) begin",
            ),
            // an address for each piece
            (
                ("as_it_came", 11),
                "assign addresses_m_ready = leave & head.memory;",
                "assign addresses_m_ready = leave;",
            ),
        ];
        refute("local access", &proof, &faults);
    });
}

#[test]
#[ignore = "needs yosys and yices: make formal"]
fn bursts_of_a_piece_hold_its_beats_each_once_and_no_other() {
    on_large_stack(|| {
        let block = Gather::<64, 8, 3>::default();
        let proof = Proof::of(&writer::write(&block, "gather").unwrap()).unwrap();
        let arbitrary = [
            "answers",
            "source_planner",
            "headers",
            "lane_join",
            "room",
            "beats",
            "verdicts",
        ];
        let freed = |proof: Proof, path| proof.freed(path).unwrap();
        let proof = arbitrary.into_iter().fold(proof, freed).with(HANDSHAKE);
        let proof = proof.bind("", GATHER, &[("K", 8)]).unwrap();
        let proof = with_queues(proof, &[("pieces", 1, 162), ("split.addresses", 1, 72)]);
        prove("gather, bursts", &proof, 8);
        let faults = [
            // a beat too many at the end, a first beat that is not the block's, no carry over 4 GiB, a burst that is not told
            (
                ("inside", 3),
                "bounds_d.last = in_block + (17'(less_one));",
                "bounds_d.last = in_block + (17'(piece.length));",
            ),
            (
                ("begins_where_the_last_ended", 4),
                "from_d = 8'h0;",
                "from_d = from_q;",
            ),
            (
                ("begins_where_the_last_ended", 4),
                "if (|(block_number_q & carry)) begin",
                "if (1'b0) begin",
            ),
            (
                ("told_once", 3),
                "assign emit = (active_q & addresses_s_ready) & burst_ready;",
                "assign emit = active_q & addresses_s_ready;",
            ),
        ];
        refute("gather, bursts", &proof, &faults);
    });
}

/// Octets of a transmit ring for proofs: the smallest that there is.
const TRANSMIT_RING: usize = 4 << 10;

#[test]
#[ignore = "needs yosys and yices: make formal"]
fn edges_move_by_whole_fpdus_and_not_behind_a_failure() {
    on_large_stack(|| {
        let block = Visibility::<4>::new(TRANSMIT_RING >> WORD);
        let proof = checked(&block, "visibility", VISIBILITY);
        let unread = (
            "visible_d = (ends & whole) & (~landed.failed);",
            "visible_d = ends & whole;",
        );
        let behind = ("whole = lives_2_q & (~broken_2_q);", "whole = lives_2_q;");
        let first = (
            "assign ends = (landed.valid & landed.known) & landed.last;",
            "assign ends = landed.valid & landed.known;",
        );
        let front = (
            "edge_position = beat_1_q.behind;",
            "edge_position = beat_1_q.position;",
        );
        let faults = [unread, behind, first, front];
        show("visibility", &proof, 8, &faults, 8);
    });
}

#[test]
#[ignore = "needs yosys and yices: make formal"]
fn sends_lie_between_what_is_acknowledged_and_the_edge() {
    on_large_stack(|| {
        let block = Commands::<3, 4>::new(TRANSMIT_RING / 8);
        let proof = checked(&block, "commands", COMMANDS);
        let longer = (
            "assign fitting = (18'(length_q)) <= left_q;",
            "assign fitting = (18'(length_q)) <= left_q + 18'h1;",
        );
        let nothing = (
            "& contained_q) & fitting) & (|length_q);",
            "& contained_q) & fitting);",
        );
        let ahead = (
            "assign acknowledges_d = contained_q | at_edge_q;",
            "assign acknowledges_d = near;",
        );
        let dead = (
            "freed_valid = (acknowledges_q & alive_q) & (~armed);",
            "freed_valid = acknowledges_q & (~armed);",
        );
        let faults = [longer, nothing, ahead, dead];
        show("commands", &proof, 18, &faults, 10);
    });
}

#[test]
#[ignore = "needs yosys and yices: make formal"]
fn reports_of_the_transmit_ring_keep_the_rules_of_axi4_stream() {
    on_large_stack(|| {
        let block = Status::<4>::new(TRANSMIT_RING);
        let proof = checked(&block, "status", STATUS);
        let proof = with_queues(proof, &[("answers", 2, 26)]);
        let withdrawn = ("if (m_axis_status_tready) begin", "if (1) begin");
        let other = (
            "room_end_d = acknowledged_1_q[17:0] + ring;",
            "room_end_d = edge_1_q[17:0] + ring;",
        );
        let lost = (
            "some_moved_1_d = moved;",
            "some_moved_1_d = moved & (~pick);",
        );
        let faults = [withdrawn, other, lost];
        show("m_axis_status", &proof, 8, &faults, 8);
    });
}

#[test]
#[ignore = "needs yosys and yices: make formal"]
fn room_is_released_behind_the_sends_in_front_of_it() {
    on_large_stack(|| {
        let proof = checked(&RoomRelease::default(), "room_release", ROOM_RELEASE).one_by_one();
        prove("room_release", &proof, 24);
        let faults = [
            // without a look at the SENDs, or at those that are read only; a close that forgets its SENDs
            (
                ("behind_its_sends", 3),
                "assign take = tags_m_valid & (~since[5]);",
                "assign take = tags_m_valid;",
            ),
            (
                ("behind_its_sends", 3),
                ".s_data  (accepted_count_q),",
                ".s_data  (finished_count_q),",
            ),
            (
                ("sends_are_read", 18),
                "sends_ahead_d = 1'b1;",
                "sends_ahead_d = 1'b0;",
            ),
        ];
        refute("room_release", &proof, &faults);
    });
}

#[test]
#[ignore = "needs yosys and yices: make formal"]
fn a_range_is_read_row_by_row_and_finished_with_its_last_one() {
    on_large_stack(|| {
        let block = RangeRead::<64, 8, 3>::new(TRANSMIT_RING / 8);
        let proof = Proof::of(&writer::write(&block, "range_read").unwrap()).unwrap();
        let proof = proof.freed("rotate").unwrap().with(HANDSHAKE);
        let parameters = [("K", 8), ("ROWS", TRANSMIT_RING / 8)];
        let proof = proof.bind("", RANGE_READ, &parameters).unwrap();
        let early = ("assign finished = ends;", "assign finished = go;");
        let next_ring = (
            "| ((now_q.row_1 + 20'h1) & row_mask);",
            "| (now_q.row_1 + 20'h1);",
        );
        let whole = ("beat.octets = now_q.octets;", "beat.octets = all;");
        let faults = [early, next_ring, whole];
        show("range_read", &proof, 10, &faults, 9);
        let unbounded = (
            ("no_overflow", 22),
            "assign emit = active_q & room_has_room;",
            "assign emit = active_q;",
        );
        refute("range_read", &proof, &[unbounded]);
    });
}

#[test]
#[ignore = "needs yosys and yices: make formal"]
fn a_stream_that_can_send_has_its_turn_within_a_bound() {
    on_large_stack(|| {
        let block = Scheduler::<4>::default();
        let proof = Proof::of(&writer::write(&block, "scheduler").unwrap()).unwrap();
        let parameters = [("QUANTUM", QUANTUM as usize)];
        let proof = proof.bind("", SCHEDULER, &parameters).unwrap();
        let unfair = ("choice = 8'(below);", "choice = 8'(highest);");
        let endless = (
            "assign more = visiting_q & positive;",
            "assign more = visiting_q;",
        );
        let free = (
            "budget_d = budget_q - (18'(spent));",
            "budget_d = budget_q - (18'(spent & 17'h0));",
        );
        let forgotten = (
            "deficits_data = coming_budget_q;",
            "deficits_data = coming_budget_q & 18'h0;",
        );
        show(
            "scheduler",
            &proof,
            24,
            &[unfair, endless, free, forgotten],
            24,
        );
    });
}

#[test]
#[ignore = "needs yosys and yices: make formal"]
fn each_message_has_its_entry_and_nothing_is_visible_behind_a_failure() {
    on_large_stack(|| {
        let proof = checked(&Settle::<4>::default(), "settle", SETTLE);
        let queues = [
            ("accounts", 5, 128),
            ("segments", 1, 174),
            ("ulpdus", 1, 58),
        ];
        let proof = with_queues(proof, &queues);
        prove("settle", &proof, 18);
        let faults = [
            // the rest of a message that has failed; a status of its own behind the first failure
            (
                ("at_most_one", 9),
                "silent_2_d = is_silent_q | (first_failure & (~account_q.last));",
                "silent_2_d = is_silent_q;",
            ),
            (("as_it_came", 9), "ended_2_d = 1'b1;", "ended_2_d = 1'b0;"),
            // an FPDU behind a failure, and one that the bus refused, as if all were well
            (
                ("its_verdict", 4),
                "broken_2_d = 1'b1;",
                "broken_2_d = 1'b0;",
            ),
            (
                ("its_verdict", 3),
                "assign failures_s_data = s_refused | (|discards_m_data);",
                "assign failures_s_data = |discards_m_data;",
            ),
        ];
        refute("settle", &proof, &faults);
    });
}
