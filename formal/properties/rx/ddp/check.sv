// What leaves check for memory or the host is of an FPDU that MPA and DDP found right, on a stream that is open.
//
//   Segment n ─► intake ─┬─► waiting ───────────┐
//                        └─► lookup ─► outcomes ├─► settle ─► pair
//   Verdict n ─► verdicts ──────────────────────┘
//
// Segments, Verdicts and outcomes go through queues that keep order (queue.sv), so n-th meets n-th if `settle` takes of all
// of them at once, and each FPDU has one outcome, in its turn: `in_step`, `each_has_one`, `one_at_a_time`. An outcome is what the
// checks said of that segment, and not of another one: `asked_for`, `answer_is` of tagged ones (bounds.sv), `untagged_is` of others.
// From there on the FPDU is followed to its pair.
//
// An untagged FPDU changes its queue before it is judged: only one in order that has a buffer does (`changes_in_turn`). If it turns out
// wrong, its stream is frozen when it settles (`must_freeze`, `freezes`), and nothing of that stream is completed any more.
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
    // intake
    input [2:0] intake__state_q,
    input intake__resting_q,
    input intake__telling_q,
    input [1:0] intake__about_q,
    input [2:0] intake__order_q,
    input [11:0] intake__sweep_q,
    input [253:0] intake__key_q,
    input [7:0] intake__key_stream_q,
    input [1:0] intake__key_queue_q,
    input [31:0] intake__key_stag_q,
    input intake__kept_q,
    input intake__refused_q,
    input [7:0] intake__flight_q,
    input intake__room_q,
    input intake__vacant_q,
    input intake__freeze_now_q,
    input intake__thaw_now_q,
    input intake__due_q,
    input intake__context_now_q,
    input intake__start_now_q,
    input intake__post_now_q,
    input intake__take_now_q,
    input intake__hold_1_q,
    input intake__hold_2_q,
    input intake__hold_3_q,
    input intake__hold_4_q,
    input intake__fresh_q,
    input intake__late_q,
    input intake__pop,
    input intake__answered,
    input intake__segments_s_ready,
    input intake__in_tagged__stage_0,
    input intake__in_tagged__stage_1,
    input intake__in_tagged__stage_2,
    input intake__in_tagged__stage_3,
    input intake__in_tagged__stage_4,
    input intake__in_tagged__stage_5,
    input intake__in_tagged__stage_6,
    input intake__in_untagged__stage_0,
    input intake__in_untagged__stage_1,
    input intake__in_untagged__stage_2,
    input intake_entered,
    input intake_outcome_valid,
    input intake_note,
    input intake_closes,
    input intake_take,
    input intake_stag_clear,
    input intake_stag_write,
    // lookup
    input [144:0] lookup_answer,
    input [106:0] lookup_message,
    input lookup_missing,
    input [15:0] lookup__length_q,
    input [15:0] lookup__final_octet_q,
    input [15:0] lookup__tagged_final_q,
    input lookup__queue_missing_6_q,
    input lookup__direct_5_q,
    input [63:0] lookup__address_6_q,
    input lookup__is_tagged_1_q,
    input lookup__is_tagged__stage_0,
    input lookup__is_tagged__stage_1,
    input lookup__is_tagged__stage_2,
    input lookup__is_tagged__stage_3,
    input [33:0] lookup__message_end__stage_0,
    input [33:0] lookup__message_end__stage_1,
    input [7:0] lookup__tagged_checks_stream,
    input [31:0] lookup__tagged_checks_stag,
    input [31:0] lookup__tagged_checks_offset_high,
    input [31:0] lookup__tagged_checks_offset_low,
    input lookup_stag_missing,
    input lookup__tagged_checks_fails_association,
    input lookup__tagged_checks_fails_access,
    input lookup__tagged_checks_fails_offset,
    input lookup__tagged_checks_fails_wrap,
    input lookup__tagged_checks_fails_end,
    input [63:0] lookup__tagged_checks_address,
    input lookup__untagged_checks_fails_msn,
    input lookup__untagged_checks_fails_offset,
    input lookup__untagged_checks_fails_length,
    input [63:0] lookup__untagged_checks_address,
    input [103:0] lookup__tagged_key__stage_0,
    input [16:0] lookup__side__stage_0,
    input [16:0] lookup__side__stage_1,
    input [16:0] lookup__side__stage_2,
    input [16:0] lookup__side__stage_3,
    input [3:0] lookup__judge__first_q,
    input [3:0] lookup__judge__early__stage_0,
    input [3:0] lookup__judge__early__stage_1,
    input [3:0] lookup__judge__early__stage_2,
    input [3:0] lookup__judge__early__stage_3,
    // settle
    input settle_leaves,
    input settle__settling_q,
    input [253:0] settle__fpdu_now_q,
    input [144:0] settle__outcome_now_q,
    input settle__is_accepted_q,
    input settle__is_first_error_q,
    input settle__is_open_0_q,
    input settle__is_open_1_q,
    input settle__load,
    input settle__verdicts_s_ready,
    input settle__waiting_s_ready,
    input settle__outcomes_s_ready,
    input [253:0] settle__waiting_m_data,
    input settle__waiting_m_valid,
    input [101:0] settle__verdicts_m_data,
    input settle_front_valid,
    input [144:0] settle__outcomes_m_data,
    input settle__outcomes_m_valid,
    input [3:0] settle__waiting__filled,
    input settle__waiting__full_q,
    input [3:0] settle__outcomes__filled,
    input settle__outcomes__full_q,
    input pair_told
);
    // records in the queues: a full one has counted to 0
    wire [7:0] waiting_inside = {3'd0, settle__waiting__full_q, settle__waiting__filled};
    wire [7:0] outcomes_inside = {3'd0, settle__outcomes__full_q, settle__outcomes__filled};

    localparam Clear = 0, Idle = 1, Hold = 2, Drain = 3, Look = 4, Tell = 5, Finish = 6;
    localparam Fpdu = 0, Command = 1, Next = 3;
    localparam RevokeStag = 1, Fence = 5;
    localparam Closed = 3;
    wire [2:0] state = intake__state_q;
    wire [1:0] about = intake__about_q;
    wire [253:0] key = intake__key_q;
    wire [7:0] flight = intake__flight_q;
    wire kept = intake__kept_q;
    always @* begin
        assume (!segment_valid | intake__segments_s_ready);
        assume (!verdict_valid | settle__verdicts_s_ready);
        assume (command <= Fence);
    end

    // an FPDU while tables and arithmetic look at it, one stage a cycle; an untagged one holds the key in the first four
    wire [6:0] tagged = {intake__in_tagged__stage_6, intake__in_tagged__stage_5, intake__in_tagged__stage_4,
        intake__in_tagged__stage_3, intake__in_tagged__stage_2, intake__in_tagged__stage_1, intake__in_tagged__stage_0};
    wire [3:0] hold = {intake__hold_4_q, intake__hold_3_q, intake__hold_2_q, intake__hold_1_q};
    wire [2:0] untagged = {intake__in_untagged__stage_2, intake__in_untagged__stage_1, intake__in_untagged__stage_0};
    wire [6:0] at = {untagged, hold};
    reg [253:0] one = 0, two = 0, three = 0, four = 0, five = 0, six = 0;
    wire fails = lookup_stag_missing | lookup__tagged_checks_fails_association | lookup__tagged_checks_fails_access
        | lookup__tagged_checks_fails_offset | lookup__tagged_checks_fails_wrap | lookup__tagged_checks_fails_end;
    wire untagged_fails = lookup__queue_missing_6_q | lookup__untagged_checks_fails_msn | lookup_missing
        | lookup__untagged_checks_fails_offset | lookup__untagged_checks_fails_length;
    reg failed = 0, untagged_failed = 0;
    reg [63:0] address = 0, untagged_1 = 0, untagged_2 = 0;
    always @(posedge clock) begin
        one <= key;
        two <= one;
        three <= two;
        four <= three;
        five <= four;
        six <= five;
        failed <= fails;
        untagged_failed <= untagged_fails;
        address <= lookup__tagged_checks_address;
        untagged_1 <= lookup__untagged_checks_address;
        untagged_2 <= untagged_1;
    end
    // what ULPDU_Length leaves for the payload, and whether the segment alone is wrong
    function [15:0] payload(input [253:0] fpdu);
        payload = fpdu[91:76] - (fpdu[109] ? 16'd14 : 16'd18);
    endfunction
    function malformed(input [253:0] fpdu);
        malformed = fpdu[91:76] < (fpdu[109] ? 14 : 18) | fpdu[103:102] != 1;
    endfunction
    always @* begin
        if (tagged[2]) asked_for: assert ({lookup__tagged_checks_offset_low, lookup__tagged_checks_offset_high,
            lookup__tagged_checks_stag, lookup__tagged_checks_stream, lookup__tagged_final_q}
            == {two[221:190], two[189:158], two[157:126], two[7:0], two[91:76] - 16'd15});
        if (tagged[6]) answer_is: assert (lookup_answer[109:30] == {payload(six), address}
            & lookup_answer[0] == (malformed(six) | (failed & payload(six) != 0)));
        if (untagged[2]) untagged_is: assert (lookup_answer[109:30] == {payload(six), untagged_2}
            & lookup_answer[0] == (malformed(six) | untagged_failed) & (!lookup_answer[111] | six[108]));
    end

    // each FPDU that has entered has one outcome, and no two have theirs in the same cycle
    wire [7:0] flying = tagged[0] + tagged[1] + tagged[2] + tagged[3] + tagged[4] + tagged[5] + tagged[6]
        + hold[3] + untagged[0] + untagged[1] + untagged[2] + intake__late_q;
    wire looked_at_again = about == Fpdu & (state == Drain | state == Look);
    always @* begin
        each_has_one: assert (state == Clear | flight == flying + outcomes_inside + settle__settling_q);
        one_at_a_time: assert (state == Clear | tagged[6] + untagged[2] + intake__late_q <= 2'd1);
        waiting_are: assert (waiting_inside + settle__settling_q + intake__fresh_q
            == flight + (hold[2:0] != 0) + kept + looked_at_again);
        in_step: assert (!settle__load | (settle__waiting_m_valid & settle_front_valid & settle__outcomes_m_valid));
        waiting_has_room: assert (!intake_entered | settle__waiting_s_ready);
        outcomes_have_room: assert (!intake_outcome_valid | settle__outcomes_s_ready);
    end

    // what was found, until it is settled; and that of the pair
    reg right = 0, direct = 0;
    reg [253:0] its = 0;
    reg [79:0] region = 0;
    wire open = its[3:0] == 0 ? settle__is_open_0_q : its[3:0] == 1 & settle__is_open_1_q; // four bits tell a stream
    reg out_right = 0, out_direct = 0, out_fpdu = 0, out_closed = 0, closed = 0;
    reg [1:0] out_subject = 0;
    reg [2:0] out_order = 0;
    reg [253:0] out_its = 0;
    reg [79:0] out_region = 0;
    always @(posedge clock) begin
        if (settle__load) begin
            right <= settle__waiting_m_data[75:73] == 0
                & (settle__verdicts_m_data[0] | !(settle__waiting_m_data[72] | settle__waiting_m_data[92]) | settle__waiting_m_data[93])
                & !settle__verdicts_m_data[69] & !settle__outcomes_m_data[0];
            direct <= settle__outcomes_m_data[111];
            its <= settle__waiting_m_data;
            region <= settle__outcomes_m_data[109:30];
        end
        if (settle_leaves | pair_told) begin
            out_fpdu <= settle_leaves;
            out_right <= right & open;
            out_direct <= direct;
            out_its <= its;
            out_region <= region;
            out_subject <= about;
            out_order <= intake__order_q;
            out_closed <= closed;
        end
        if (intake__answered) closed <= lookup_message[34];
    end
    wire tells = delivery[1:0] == 1, completes = tells & (delivery[13:10] == 1 | delivery[13:10] == 2);
    always @* if (m_valid) begin
        placed_if_right: assert (placement[119:104] == 0
            | (out_fpdu & out_right & !out_its[93] & placement[119:40] == out_region));
        rows_are_its: assert (!out_fpdu | placement[31:0] == out_its[71:40]);
        completed_if_right: assert (!completes | !out_fpdu
            | (out_right & !out_its[92] & (out_its[109] ? out_its[108] : out_direct) & delivery[13:10] == (out_its[109] ? 1 : 2)
                & delivery[25:18] == out_its[7:0]));
        or_if_it_was_closed: assert (!completes | out_fpdu | (out_subject == Next & out_closed & delivery[13:10] == 2));
        acknowledges: assert ((delivery[1:0] == 2) == (!out_fpdu & out_subject == Command & out_order == Fence));
    end

    // a queue changes in the fourth cycle of an FPDU in order that has a buffer, or when a closed message is delivered
    reg [1:0] about_before = 0;
    reg told_before = 0;
    always @(posedge clock) begin
        about_before <= about;
        told_before <= pair_told;
    end
    wire may = hold[3] & !key[109] & !key[92] & key[75:73] == 0 & !lookup_missing;
    always @* begin
        changes_in_turn: assert (!(intake_note | intake_closes | (intake_take & !intake__take_now_q)) | may);
        taken_in_turn: assert (!intake__take_now_q | (about_before == Next & told_before & closed));
    end

    // one that is wrong freezes its stream
    reg froze_0 = 0, froze_1 = 0;
    always @(posedge clock) begin
        froze_0 <= settle_leaves & settle__is_first_error_q & its[3:0] == 0;
        froze_1 <= settle_leaves & settle__is_first_error_q & its[3:0] == 1;
    end
    always @* begin
        if (settle__settling_q) must_freeze: assert (right | !open | its[92] | its[75:73] == Closed | settle__is_first_error_q);
        freezes: assert (!(froze_0 & settle__is_open_0_q) & !(froze_1 & settle__is_open_1_q));
    end

    // tables change a cycle behind that decision, while the key that it was about still stands
    wire changes_now = intake__context_now_q | intake__start_now_q | intake__post_now_q | intake__take_now_q;
    reg [7:0] was_stream = 0;
    reg [1:0] was_queue = 0;
    always @(posedge clock) begin
        was_stream <= intake__key_stream_q;
        was_queue <= intake__key_queue_q;
    end
    always @* begin
        key_stands: assert (!changes_now | (intake__key_stream_q == was_stream & intake__key_queue_q == was_queue));
        changed_when: assert (!(intake__context_now_q | intake__start_now_q | intake__post_now_q) | state == Finish
            | (state == Look & !intake__due_q));
    end

    // tables change, and a fence leaves, while no FPDU is between its segment and its pair; the one that waits for a buffer
    // is looked up again
    wire changes = intake_stag_clear | intake_stag_write | intake__freeze_now_q | intake__thaw_now_q | (pair_told & about == Command);
    always @* if (changes & state != Clear) begin
        nothing_under_way: assert (flying == 0 & hold == 0 & outcomes_inside == 0 & !settle__settling_q & waiting_inside == kept
            & !intake__fresh_q & !intake__pop);
    end

    // control goes on to the fence and to done without asking whether these two were refused
    wire never_refused = intake__order_q == RevokeStag | intake__order_q == Fence;
    always @* begin
        if (command_done) refuses: assert (!(command_failed & never_refused));
        if (intake__refused_q & about == Command & state >= Drain) refused_is: assert (!never_refused);
    end

    // helpers: states
    always @* begin
        states: assert (state <= Finish);
        rests: assert (intake__resting_q == (state == Idle));
        tells_are: assert (intake__telling_q == (state == Tell) & (state != Tell | about != Fpdu));
        limit: assert (flight <= 14 & (!intake__room_q | flight <= 13) & (hold[2:0] == 0 | flight <= 13));
        none_when_vacant: assert (!intake__vacant_q | flight == 0);
        alone: assert (flight == 0 | state == Idle | state == Hold | state == Drain);
        kept_is: assert (!kept | (flight == 0 & hold == 0 & !intake__fresh_q & (state == Idle | about != Fpdu)));
        orders: assert (intake__order_q <= Fence);
        commands: assert (state != Tell | about != Command | intake__order_q == Fence);
        commands_drain: assert (state != Drain | about == Fpdu | about == Next);
        closed_is: assert (state != Tell | about != Next | closed);
        cleared: assert (state != Clear | (flight == 0 & hold == 0 & !settle__settling_q & !kept & outcomes_inside == 0
            & waiting_inside == 0 & !intake__fresh_q & !intake__late_q & !intake__freeze_now_q & !intake__thaw_now_q));
        at_rest: assert (!(intake__freeze_now_q | intake__thaw_now_q) | state == Finish | (state == Tell & about != Fpdu));
        if (state == Clear) begin
            drained: assert ((intake__sweep_q < 1 | !(tagged[0] | untagged[0])) & (intake__sweep_q < 2 | !(tagged[1] | untagged[1]))
                & (intake__sweep_q < 3 | !(tagged[2] | untagged[2])) & (intake__sweep_q < 4 | !tagged[3])
                & (intake__sweep_q < 5 | !tagged[4]) & (intake__sweep_q < 6 | !tagged[5]) & (intake__sweep_q < 7 | !tagged[6]));
        end
        held: assert ((hold[2:0] != 0) == (state == Hold) & (!hold[3] | state == Idle) & (hold & (hold - 4'd1)) == 0);
        waits_untagged: assert (!(kept | looked_at_again) | !key[109]);
        held_about: assert (hold == 0 | about == Fpdu);
        fresh_is: assert (!intake__fresh_q | tagged[0] | hold[0]);
        late_is: assert (!intake__late_q | (state == Idle & flight == 1));
    end
    // helpers: nothing enters while an untagged FPDU holds the key, so nothing is where it comes
    always @* if (state != Clear) begin
        behind_1: assert (!hold[0] | !tagged[0]);
        behind_2: assert (!hold[1] | tagged[1:0] == 0);
        behind_3: assert (!hold[2] | tagged[2:0] == 0);
        behind_4: assert (!hold[3] | tagged[3:0] == 0);
        behind_5: assert (!untagged[0] | tagged[4:1] == 0);
        behind_6: assert (!untagged[1] | tagged[5:2] == 0);
        behind_7: assert (!untagged[2] | tagged[6:3] == 0);
        apart: assert (!(untagged[0] & untagged[1]) & !(untagged[0] & untagged[2]) & !(untagged[1] & untagged[2])
            & (untagged == 0 | hold[3] == 0) & (hold[2:0] == 0 | !untagged[0] | hold[0]) & (!hold[1] | untagged[0] == 0)
            & (!hold[2] | untagged[1:0] == 0));
    end

    // helpers: stages of what is computed beside the FPDU, and of what `judge` makes of it alone
    function known(input [253:0] fpdu, input [16:0] side, input [3:0] early, input is_tagged);
        known = side[15:0] == payload(fpdu) & (|early[3:2]) == malformed(fpdu) & early[0] == fpdu[109]
            & early[1] == (payload(fpdu) == 0) & is_tagged == fpdu[109];
    endfunction
    wire [16:0] side_1 = lookup__side__stage_0, side_2 = lookup__side__stage_1, side_3 = lookup__side__stage_2,
        side_4 = lookup__side__stage_3;
    always @* begin
        if (tagged[0]) at_0: assert (key[109] & intake__key_stream_q == key[7:0] & intake__key_stag_q == key[157:126]);
        if (tagged[1]) at_1: assert (lookup__tagged_key__stage_0 == {one[221:190], one[189:158], one[157:126], one[7:0]}
            & lookup__final_octet_q == one[91:76] - 16'd15 & one[109]);
        if (tagged[1] | at[1]) both_1: assert (lookup__length_q == payload(one) & (|lookup__judge__first_q[3:2]) == malformed(one)
            & lookup__judge__first_q[0] == one[109] & lookup__is_tagged_1_q == one[109]);
        if (tagged[2] | at[2]) both_2: assert (known(two, side_1, lookup__judge__early__stage_0, lookup__is_tagged__stage_0));
        if (tagged[3] | at[3]) both_3: assert (known(three, side_2, lookup__judge__early__stage_1, lookup__is_tagged__stage_1));
        if (tagged[4] | at[4]) both_4: assert (known(four, side_3, lookup__judge__early__stage_2, lookup__is_tagged__stage_2));
        if (tagged[5] | at[5]) both_5: assert (known(five, side_4, lookup__judge__early__stage_3, lookup__is_tagged__stage_3));
        if (tagged[2]) is_2: assert (two[109]);
        if (tagged[3]) is_3: assert (three[109]);
        if (tagged[4]) is_4: assert (four[109]);
        if (tagged[5]) is_5: assert (five[109]);
        if (tagged[6]) is_6: assert (six[109]);
        if (at[0]) held_1: assert (!key[109]);
        if (at[1]) held_2: assert (!key[109] & one == key);
        if (at[2]) held_3: assert (!key[109] & one == key & two == key);
        if (at[3]) held_4: assert (!key[109] & one == key & two == key & three == key);
        if (at[4]) held_5: assert (!one[109] & two == one & three == one & four == one & (!lookup__direct_5_q | one[108]));
        if (at[5]) held_6: assert (!two[109] & three == two & four == two & five == two & (!lookup__message_end__stage_0[0] | two[108])
            & lookup__address_6_q == untagged_1);
        if (at[6]) held_7: assert (!three[109] & four == three & five == three & six == three
            & (!lookup__message_end__stage_1[0] | three[108]));
        if (settle__settling_q) begin
            settled_is: assert (settle__fpdu_now_q == its & settle__outcome_now_q[109:30] == region
                & settle__outcome_now_q[111] == direct);
            accepted_is: assert (!settle__is_accepted_q | (right & open & !settle__is_first_error_q));
            freezes_in_turn: assert (!settle__is_first_error_q | !its[92] | its[72]);
        end
    end

    always @* if (!reset) begin
        placed: cover (m_valid & placement[119:104] != 0 & out_its[109]);
        untagged_placed: cover (m_valid & placement[119:104] != 0 & !out_its[109]);
        completed: cover (m_valid & completes & out_fpdu);
        completed_untagged: cover (m_valid & completes & out_fpdu & !out_its[109]);
        fence: cover (m_valid & delivery[1:0] == 2);
        follows: cover (m_valid & completes & !out_fpdu);
    end
endmodule
