// What leaves check for memory or the host is of an FPDU that MPA and DDP found right, on a stream that is open.
//
//   Segment n ─► segments ─┬─► waiting ───────────────────┐
//                          └─► tables, tagged ─► outcomes ├─► settle ─► pair
//   Verdict n ─► verdicts ────────────────────────────────┘
//
// Segments, Verdicts and outcomes go through queues that keep order (queue.sv), so n-th meets n-th if `settle` takes of all
// of them at once, and none is lost: `in_step`, `is_tagged`, `is_held`. An outcome is what `tagged` said of the STag, the
// offset and the length of that segment (bounds.sv), and not of another one's: `asked_for`, `answer_is`. From there on the
// FPDU is followed to its pair.
//
// Commands change tables only while nothing is between segments and pair: `nothing_under_way`. So a pair behind the fence
// that follows a revocation is of an FPDU that was looked up behind the revocation, and all other pairs went ahead of it.
//
// Tables and arithmetic are arbitrary here, `judge` is not. Assumed: the queues in front have room (at most UNDER_WAY FPDUs
// are under way, check.rs).
module check_properties (
    input clock,
    input reset,
    input segment_valid,
    input verdict_valid,
    input [2:0] command,
    input command_done,
    input command_failed,
    input [119:0] placement,
    input [265:0] delivery,
    input m_valid,
    // inside
    input [2:0] state_q,
    input resting_q,
    input tells_q,
    input [1:0] subject_q,
    input [2:0] order_q,
    input [11:0] sweep_q,
    input [253:0] fpdu_q,
    input [7:0] stream_q,
    input [1:0] queue_q,
    input [31:0] stag_q,
    input kept_q,
    input refused_q,
    input [7:0] flight_q,
    input room_q,
    input vacant_q,
    input settling_q,
    input [253:0] settled_q,
    input [110:0] outcome_q,
    input accepted_q,
    input first_error_q,
    input open_0_q,
    input open_1_q,
    input freeze_q,
    input thaw_q,
    input [15:0] length_q,
    input [15:0] last_q,
    input [15:0] tagged_last_q,
    input pop,
    input answered,
    input load_held,
    input load_queued,
    input [110:0] answer,
    input settle,
    input give,
    input due_q,
    input context_now_q,
    input start_now_q,
    input post_now_q,
    input take_now_q,
    input note_now_q,
    input closes_now_q,
    input [7:0] receive_queues_slot,
    input segments_s_ready,
    input verdicts_s_ready,
    input waiting_s_ready,
    input outcomes_s_valid,
    input outcomes_s_ready,
    input [253:0] waiting_m_data,
    input waiting_m_valid,
    input [101:0] verdicts_m_data,
    input verdicts_m_valid,
    input [110:0] outcomes_m_data,
    input stag_table_clear,
    input stag_table_write,
    input [63:0] untagged_checks_address,
    input [106:0] receive_queues_message,
    input notes,
    input closes,
    input takes,
    input [7:0] tagged_checks_stream,
    input [31:0] tagged_checks_stag,
    input [31:0] tagged_checks_offset_high,
    input [31:0] tagged_checks_offset_low,
    input tagged_checks_fails_stag,
    input tagged_checks_fails_association,
    input tagged_checks_fails_access,
    input tagged_checks_fails_offset,
    input tagged_checks_fails_wrap,
    input tagged_checks_fails_end,
    input [63:0] tagged_checks_address,
    input entered__stage_0,
    input entered__stage_1,
    input entered__stage_2,
    input entered__stage_3,
    input entered__stage_4,
    input entered__stage_5,
    input entered__stage_6,
    input [103:0] tagged_key__stage_0,
    input [16:0] side__stage_0,
    input [16:0] side__stage_1,
    input [16:0] side__stage_2,
    input [16:0] side__stage_3,
    input [3:0] judge__first_q,
    input [3:0] judge__early__stage_0,
    input [3:0] judge__early__stage_1,
    input [3:0] judge__early__stage_2,
    input [3:0] judge__early__stage_3,
    input [3:0] waiting__filled,
    input waiting__full_q,
    input [3:0] waiting__read_q,
    input [3:0] waiting__store__proof_row,
    input [253:0] waiting__store__proof_data,
    input [3:0] outcomes__filled,
    input outcomes__full_q
);
    // records in the queues: a full one has counted to 0
    wire [7:0] waiting_inside = {3'd0, waiting__full_q, waiting__filled};
    wire [7:0] outcomes_inside = {3'd0, outcomes__full_q, outcomes__filled};

    localparam Clear = 0, Idle = 1, Look = 2, Give = 3, Finish = 4;
    localparam Fpdu = 0, Command = 1, Next = 3;
    localparam RevokeStag = 1, Fence = 5;
    always @* begin
        assume (!segment_valid | segments_s_ready);
        assume (!verdict_valid | verdicts_s_ready);
        assume (command <= Fence);
    end

    // an FPDU while tables and arithmetic look at it, one stage a cycle
    wire [6:0] entered = {entered__stage_6, entered__stage_5, entered__stage_4, entered__stage_3, entered__stage_2,
                          entered__stage_1, entered__stage_0};
    reg [253:0] one = 0, two = 0, three = 0, four = 0, five = 0, six = 0;
    wire fails = tagged_checks_fails_stag | tagged_checks_fails_association | tagged_checks_fails_access
        | tagged_checks_fails_offset | tagged_checks_fails_wrap | tagged_checks_fails_end;
    reg failed = 0;
    reg [63:0] address = 0;
    always @(posedge clock) begin
        one <= fpdu_q;
        two <= one;
        three <= two;
        four <= three;
        five <= four;
        six <= five;
        failed <= fails;
        address <= tagged_checks_address;
    end
    // what ULPDU_Length of a tagged segment leaves for the payload, and whether the segment alone is wrong
    function [15:0] payload(input [253:0] fpdu);
        payload = fpdu[91:76] - 16'd14;
    endfunction
    function malformed(input [253:0] fpdu);
        malformed = fpdu[91:76] < 14 | fpdu[103:102] != 1;
    endfunction
    always @* begin
        if (entered[2]) asked_for: assert ({tagged_checks_offset_low, tagged_checks_offset_high, tagged_checks_stag,
            tagged_checks_stream, tagged_last_q} == {two[221:190], two[189:158], two[157:126], two[7:0], two[91:76] - 16'd15});
        if (entered[6]) answer_is: assert (answer[109:30] == {payload(six), address}
            & answer[0] == (malformed(six) | (failed & payload(six) != 0)));
    end

    // meeting: the oldest of each queue; an untagged FPDU is alone, and still in its register
    wire load = load_held | load_queued;
    wire any_head = waiting__read_q == waiting__store__proof_row;
    always @* begin
        in_step: assert (!load | (waiting_m_valid & verdicts_m_valid & !(load_held & load_queued)));
        waiting_has_room: assert (!pop | waiting_s_ready);
        outcomes_have_room: assert (!outcomes_s_valid | outcomes_s_ready);
        if (any_head) begin
            is_tagged: assert (!load_queued | waiting_m_data[109]);
            is_held: assert (!load_held | (!waiting_m_data[109] & waiting_m_data == fpdu_q));
        end
    end
    // shown of any row, and so of the one that is read: a cycle later that may be relied on
    reg was_tagged = 1, was_held = 1;
    always @(posedge clock) begin
        was_tagged <= !load_queued | waiting_m_data[109];
        was_held <= !load_held | waiting_m_data == fpdu_q;
    end
    always @* assume (was_tagged & was_held);

    // what was found, until it is settled; and that of the pair
    wire [110:0] loaded = load_held ? {answer[110:94], untagged_checks_address, answer[29:0]} : outcomes_m_data;
    reg right = 0;
    reg [253:0] its = 0;
    reg [79:0] region = 0;
    wire open = its[3:0] == 0 ? open_0_q : its[3:0] == 1 & open_1_q; // four bits tell a stream
    reg out_right = 0, out_fpdu = 0, out_closed = 0, closed = 0;
    reg [1:0] out_subject = 0;
    reg [2:0] out_order = 0;
    reg [253:0] out_its = 0;
    reg [79:0] out_region = 0;
    always @(posedge clock) begin
        if (load) begin
            right <= waiting_m_data[75:73] == 0 & (verdicts_m_data[0] | !(waiting_m_data[72] | waiting_m_data[92]) | waiting_m_data[93])
                & !verdicts_m_data[69] & !loaded[0];
            its <= waiting_m_data;
            region <= loaded[109:30];
        end
        if (settle | give) begin
            out_fpdu <= settle;
            out_right <= right & open;
            out_its <= its;
            out_region <= region;
            out_subject <= subject_q;
            out_order <= order_q;
            out_closed <= closed;
        end
        if (answered) closed <= receive_queues_message[34];
    end
    wire tells = delivery[1:0] == 1, completes = tells & (delivery[13:10] == 1 | delivery[13:10] == 2);
    always @* if (m_valid) begin
        placed_if_right: assert (placement[119:104] == 0
            | (out_fpdu & out_right & !out_its[93] & placement[119:40] == out_region));
        rows_are_its: assert (!out_fpdu | placement[31:0] == out_its[71:40]);
        completed_if_right: assert (!completes | !out_fpdu
            | (out_right & !out_its[92] & out_its[108] & delivery[13:10] == (out_its[109] ? 1 : 2)
                & delivery[25:18] == out_its[7:0]));
        or_if_it_was_closed: assert (!completes | out_fpdu | (out_subject == Next & out_closed & delivery[13:10] == 2));
        acknowledges: assert ((delivery[1:0] == 2) == (!out_fpdu & out_subject == Command & out_order == Fence));
    end

    // a message that waits is written into, closed and taken by an FPDU that is right, or taken because it was closed
    wire may = settle & right & open & !its[92] & !its[109];
    always @* begin
        closed_if_right: assert (!(notes | closes) | may);
        taken_if_right: assert (!takes | may | (give & subject_q == Next & closed));
    end

    // tables change a cycle behind that decision, while the key that it was about still stands
    wire changes_now = context_now_q | start_now_q | post_now_q | take_now_q | note_now_q | closes_now_q;
    reg [7:0] was_stream = 0, was_slot = 0;
    reg [1:0] was_queue = 0;
    always @(posedge clock) begin
        was_stream <= stream_q;
        was_queue <= queue_q;
        was_slot <= receive_queues_slot;
    end
    always @* begin
        key_stands: assert (!changes_now | (stream_q == was_stream & queue_q == was_queue));
        slot_stands: assert (!(note_now_q | closes_now_q) | receive_queues_slot == was_slot);
        changed_when: assert (!(context_now_q | start_now_q | post_now_q) | state_q == Finish | (state_q == Look & !due_q));
    end

    // tables change, and a fence leaves, while no FPDU is between its segment and its pair; the one that waits for a buffer
    // is looked up again
    wire [7:0] flying = entered[0] + entered[1] + entered[2] + entered[3] + entered[4] + entered[5] + entered[6];
    wire changes = stag_table_clear | stag_table_write | freeze_q | thaw_q | (give & subject_q == Command);
    always @* if (changes & state_q != Clear) begin
        nothing_under_way: assert (flying == 0 & outcomes_inside == 0 & !settling_q & waiting_inside == kept_q & !pop);
    end

    // control goes on to the fence and to done without asking whether these two were refused
    wire never_refused = order_q == RevokeStag | order_q == Fence;
    always @* begin
        if (command_done) refuses: assert (!(command_failed & never_refused));
        if (refused_q & subject_q == Command & state_q >= Look) refused_is: assert (!never_refused);
    end

    // helpers: each FPDU is counted once
    wire held = subject_q == Fpdu & (state_q == Look | state_q == Give);
    wire present = kept_q | held;
    wire untagged = kept_q | (held & state_q == Look); // the newest that waits, still in its register
    wire [3:0] age = waiting__store__proof_row - waiting__read_q;
    wire newest = age + 8'd1 == waiting_inside;
    always @* begin
        states: assert (state_q <= Finish);
        rests: assert (resting_q == (state_q == Idle));
        tells_are: assert (tells_q == (state_q == Give & subject_q != Fpdu));
        waiting_are: assert (waiting_inside + settling_q == flight_q + present);
        tagged_are: assert (state_q == Clear | flying + outcomes_inside + (settling_q & state_q != Give) == flight_q);
        limit: assert (flight_q <= 14 & (!room_q | flight_q <= 13));
        none_when_vacant: assert (!vacant_q | flight_q == 0);
        alone: assert (flight_q == 0 | state_q == Idle | (state_q == Look & subject_q == Fpdu));
        given: assert (state_q != Give | settling_q == (subject_q == Fpdu));
        orders: assert (order_q <= Fence);
        commands: assert (state_q != Give | subject_q != Command | order_q == Fence);
        closed_is: assert (state_q != Give | subject_q != Next | closed);
        not_kept: assert (!kept_q | state_q != Give | subject_q != Fpdu);
        cleared: assert (state_q != Clear | (!settling_q & !kept_q & outcomes_inside == 0 & !freeze_q & !thaw_q));
        at_rest: assert (!(freeze_q | thaw_q) | state_q == Finish | (state_q == Give & subject_q != Fpdu));
        if (state_q == Clear) begin
            drained: assert ((sweep_q < 1 | !entered[0]) & (sweep_q < 2 | !entered[1]) & (sweep_q < 3 | !entered[2])
                & (sweep_q < 4 | !entered[3]) & (sweep_q < 5 | !entered[4]) & (sweep_q < 6 | !entered[5])
                & (sweep_q < 7 | !entered[6]));
        end
        if ({4'b0, age} < waiting_inside) begin
            untagged_is_last: assert (waiting__store__proof_data[109] == !(untagged & newest));
            held_is: assert (waiting__store__proof_data[109] | waiting__store__proof_data == fpdu_q);
        end
        if (untagged) register_is: assert (!fpdu_q[109]);
    end

    // helpers: stages of what is computed beside the FPDU, and of what `judge` makes of it alone
    function known(input [253:0] fpdu, input [16:0] side, input [3:0] early);
        known = side[15:0] == payload(fpdu) & (|early[3:2]) == malformed(fpdu) & early[1:0] == {payload(fpdu) == 0, 1'b1};
    endfunction
    always @* begin
        if (entered[0]) at_0: assert (fpdu_q[109] & stream_q == fpdu_q[7:0] & stag_q == fpdu_q[157:126]);
        if (entered[1]) at_1: assert (length_q == payload(one) & last_q == one[91:76] - 16'd15
            & tagged_key__stage_0 == {one[221:190], one[189:158], one[157:126], one[7:0]}
            & (|judge__first_q[3:2]) == malformed(one) & judge__first_q[0]);
        if (entered[2]) at_2: assert (known(two, side__stage_0, judge__early__stage_0));
        if (entered[3]) at_3: assert (known(three, side__stage_1, judge__early__stage_1));
        if (entered[4]) at_4: assert (known(four, side__stage_2, judge__early__stage_2));
        if (entered[5]) at_5: assert (known(five, side__stage_3, judge__early__stage_3));
        if (settling_q) begin
            settled_is: assert (settled_q == its & outcome_q[109:30] == region & its[109] == (state_q != Give));
            held_is_its: assert (state_q != Give | fpdu_q == its);
            accepted_is: assert (!accepted_q | (right & open & !first_error_q));
            freezes_in_turn: assert (!first_error_q | !its[92] | its[72]);
        end
    end

    always @* if (!reset) begin
        placed: cover (m_valid & placement[119:104] != 0 & out_its[109]);
        untagged_placed: cover (m_valid & placement[119:104] != 0 & !out_its[109]);
        completed: cover (m_valid & completes & out_fpdu);
        fence: cover (m_valid & delivery[1:0] == 2);
        follows: cover (m_valid & completes & !out_fpdu);
    end
endmodule
