//! Faults of the text: a name, what it reads, and what it reads with the fault.

/// A name, the right text, and what it reads with a fault.
pub type Fault = (&'static str, &'static str, &'static str);

/// What is taken, what passes and what is answered: names, the right text, and what it reads with a fault.
pub const EVENTS: &[Fault] = &[
    (
        "any_queue",
        "(held_q[63:32] == requests);",
        "((held_q[63:32] == requests) | (~reset));",
    ),
    (
        "queue_modulo_256",
        "(held_q[63:32] == requests);",
        "(held_q[39:32] == requests[7:0]);",
    ),
    (
        "any_kind",
        "is_request = (held_kind == untagged) &",
        "is_request = ((held_kind == untagged) | (~reset)) &",
    ),
    (
        "responder_that_is_off",
        "takes_d = is_request & (stream_on | stream_flies);",
        "takes_d = is_request & ((stream_on | stream_flies) | (~reset));",
    ),
    (
        "passes_what_is_read",
        "takes_d = is_request & (stream_on | stream_flies);",
        "takes_d = is_request & (stream_on | (stream_flies & reset));",
    ),
    (
        "short_request",
        "held_q[127:96] == request_octets",
        "held_q[127:96] <= request_octets",
    ),
    (
        "length_modulo_64_kib",
        "held_q[127:96] == request_octets",
        "held_q[111:96] == request_octets[15:0]",
    ),
    (
        "any_version",
        "(held_control & checked) == read_request",
        "(held_control & (checked & 8'hf)) == (read_request & 8'hf)",
    ),
    (
        "any_opcode",
        "(held_control & checked) == read_request",
        "(held_control & (checked & 8'hc0)) == (read_request & 8'hc0)",
    ),
    (
        "rsv_is_checked",
        "(held_control & checked) == read_request",
        "(held_control & (checked | 8'h30)) == read_request",
    ),
    ("hole", "(~held_q[17])", "(~(held_q[17] & reset))"),
    ("anomaly", "(~held_q[18])", "(~(held_q[18] & reset))"),
    (
        "seventeenth_request",
        "(~(|stream_number[5:4]))",
        "(~(stream_number[5] | (stream_number[4] & reset)))",
    ),
    (
        "reads_are_not_counted",
        "stream_number = (6'(stream_reads)) +",
        "stream_number = (6'(stream_reads & {5{reset}})) +",
    ),
    (
        "slots_are_not_counted",
        "+ (6'(stream_slots));",
        "+ (6'(stream_slots & {5{reset}}));",
    ),
    (
        "error_passes_reads",
        "(held_kind == error) |",
        "((held_kind == error) & reset) |",
    ),
    (
        "closed_passes_reads",
        "| (held_kind == closed);",
        "| ((held_kind == closed) & reset);",
    ),
    (
        "output_is_overwritten",
        "(~takes_q)) & (~out_valid_q))",
        "(~takes_q)) & ((~out_valid_q) | (~reset)))",
    ),
    (
        "passes_with_one_for_the_host",
        "& (result_step_q != ResultStep_Host))",
        "& ((result_step_q != ResultStep_Host) | (~reset)))",
    ),
    (
        "output_is_overwritten_by_a_request",
        "to_host = (result_step_q == ResultStep_Host) & (~out_valid_q);",
        "to_host = (result_step_q == ResultStep_Host) & ((~out_valid_q) | (~reset));",
    ),
    (
        "other_event_to_the_host",
        "out_d = oldest.entry;",
        "out_d = held_q;",
    ),
    (
        "accepts_behind_a_fence",
        "s_ready = (event_step_q == EventStep_Open) & (~fencing_q);",
        "s_ready = (event_step_q == EventStep_Open) & ((~fencing_q) | (~reset));",
    ),
    (
        "fence_passes_an_event",
        "((fencing_q & (event_step_q == EventStep_Open)) &",
        "((fencing_q & ((event_step_q == EventStep_Open) | (~reset))) &",
    ),
    (
        "fence_passes_reads",
        "(~flight_m_valid)) & (~out_valid_q);",
        "((~flight_m_valid) | (~reset))) & (~out_valid_q);",
    ),
    (
        "fence_passes_the_output",
        "(~flight_m_valid)) & (~out_valid_q);",
        "(~flight_m_valid)) & ((~out_valid_q) | (~reset));",
    ),
    (
        "fence_goes_on",
        "if (m_fence) begin",
        "if (m_fence & reset) begin",
    ),
];

/// Addresses and beats.
pub const READS: &[Fault] = &[
    (
        "address_in_work",
        "& flight_s_ready) & (ask_step_q == AskStep_Rest);",
        "& flight_s_ready) & ((ask_step_q == AskStep_Rest) | (~reset));",
    ),
    (
        "seventeen_under_way",
        "& flight_s_ready) & (ask_step_q == AskStep_Rest);",
        "& (flight_s_ready | (~reset))) & (ask_step_q == AskStep_Rest);",
    ),
    (
        "first_msn",
        "(held_q[78:64] - place_q.first) &",
        "(held_q[78:64] - (place_q.first & {15{reset}})) &",
    ),
    (
        "buffers_without_end",
        "& place_q.mask;",
        "& (place_q.mask | {15{~reset}});",
    ),
    (
        "no_carry_from_the_number",
        "low_d = (27'(base_q[25:0])) + (27'(number_q));",
        "low_d = (27'(base_q[25:0])) | (27'(number_q));",
    ),
    (
        "no_carry_into_the_high_half",
        "(32'(low_q[26]));",
        "(32'(low_q[26] & reset));",
    ),
    (
        "arvalid_falls",
        "if (m_axi_arready) begin",
        "if (m_axi_arready | (~reset)) begin",
    ),
    (
        "refused_beat",
        "error_0_d = m_axi_rresp[1];",
        "error_0_d = m_axi_rresp[1] & reset;",
    ),
    (
        "refusal_of_the_last_beat_only",
        "bad_d = bad_q | error_0_q;",
        "bad_d = (bad_q | error_0_q) & reset;",
    ),
    (
        "refusal_of_the_last_beat_is_lost",
        "(bad_q | error_0_q) | (count_q",
        "(bad_q | (error_0_q & reset)) | (count_q",
    ),
    (
        "refusal_goes_on",
        "count_d = 3'h0;\n                bad_d = 1'b0;",
        "count_d = 3'h0;\n                bad_d = bad_q | error_0_q;",
    ),
    (
        "beats_count_on",
        "collected_d = 256'h0;\n                count_d = 3'h0;",
        "collected_d = 256'h0;\n                count_d = count_q + 3'h1;",
    ),
];

/// Beats of a burst, on a bus that ends some of them too early or too late.
pub const ENDS: &[Fault] = &[
    (
        "burst_of_a_wrong_length",
        "| (count_q != final_beat);",
        "| ((count_q != final_beat) & reset);",
    ),
    (
        "burst_that_is_too_short",
        "| (count_q != final_beat);",
        "| (count_q > final_beat);",
    ),
    (
        "burst_that_is_too_long",
        "| (count_q != final_beat);",
        "| (count_q < final_beat);",
    ),
];

/// What becomes a slot, and what is under way.
pub const RESULTS: &[Fault] = &[
    (
        "failed_read_is_answered",
        "(found.failed |",
        "((found.failed & reset) |",
    ),
    (
        "malformed_request_is_answered",
        "(~oldest.answer))",
        "((~oldest.answer) & reset))",
    ),
    (
        "request_behind_a_failed_one_is_answered",
        "| stream_broken) begin",
        "| (stream_broken & reset)) begin",
    ),
    (
        "sink_that_wraps",
        "wraps_d = end_high_q[32] &",
        "wraps_d = (end_high_q[32] & reset) &",
    ),
    (
        "end_at_2_to_the_64",
        "((|end_high_q[31:0]) | (|end_low_q[31:0]));",
        "(((|end_high_q[31:0]) | (|end_low_q[31:0])) | (~reset));",
    ),
    (
        "end_behind_2_to_the_64",
        "((|end_high_q[31:0]) | (|end_low_q[31:0]));",
        "((|end_high_q[31:0]) | ((|end_low_q[31:0]) & reset));",
    ),
    (
        "no_carry_of_the_end",
        "(33'(end_low_q[32]));",
        "(33'(end_low_q[32] & reset));",
    ),
    (
        "failure_becomes_a_slot",
        "slots_put = ~fails;",
        "slots_put = ~(fails & reset);",
    ),
    (
        "failure_is_dropped",
        "result_step_d = ResultStep_Look;\n                if (fails) begin",
        "result_step_d = ResultStep_Look;\n                if (fails & reset) begin",
    ),
    (
        "failure_takes_two_results",
        "((result_step_q == ResultStep_Row2) & (~fails)) | to_host;",
        "((result_step_q == ResultStep_Row2) & (~(fails & reset))) | to_host;",
    ),
    (
        "element_without_octets",
        "if (|swapped_3) begin",
        "if ((|swapped_3) | (~reset)) begin",
    ),
    (
        "no_element",
        "if (|swapped_3) begin",
        "if ((|swapped_3) & reset) begin",
    ),
    (
        "octets_of_a_word_turned",
        "swapped_5 = (((word_5 << 24)",
        "swapped_5 = (((word_5 << 16)",
    ),
    (
        "second_row_twice",
        "slots_put_row = 2'h2;",
        "slots_put_row = 2'h1;",
    ),
    (
        "third_row_first",
        "ResultStep_Row0: begin\n                slots_put = 1'b1;",
        "ResultStep_Row0: begin\n                slots_put = reset;",
    ),
    (
        "request_without_msn",
        "({96'h0, oldest.entry[95:64]}) << 64",
        "({96'h0, oldest.entry[95:65], 1'b0}) << 64",
    ),
    (
        "idle_while_it_reads",
        "idle_1 = (((~(|flights_1_q)) &",
        "idle_1 = (((~((|flights_1_q) & reset)) &",
    ),
    (
        "idle_with_slots",
        "& (~slots_holds_1)) &",
        "& (~(slots_holds_1 & reset))) &",
    ),
    (
        "idle_with_a_doorbell",
        "& (~give_back_owes_1)) &",
        "& (~(give_back_owes_1 & reset))) &",
    ),
    (
        "idle_with_a_held_request",
        "& takes_q) & (held_stream == index_1)));",
        "& takes_q) & ((held_stream == index_1) & reset)));",
    ),
    (
        "held_request_of_any_stream",
        "& takes_q) & (held_stream == index_1)));",
        "& takes_q) & ((held_stream == index_1) | (~reset))));",
    ),
    (
        "read_that_nobody_counts",
        "if (up_1 & (~down_1)) begin\n            flights_1",
        "if (up_1 & reset) begin\n            flights_1",
    ),
    (
        "read_that_begins_and_ends",
        "if (up_1 & (~down_1)) begin\n            flights_1",
        "if (up_1) begin\n            flights_1",
    ),
    (
        "read_that_counts_for_ever",
        "flights_1_d = flights_1_q - 5'h1;",
        "flights_1_d = flights_1_q;",
    ),
];

/// Whether Data Source may be read.
pub const CHECKS: &[Fault] = &[
    (
        "any_stag",
        "(tagged_checks_fails_stag |",
        "((tagged_checks_fails_stag & reset) |",
    ),
    (
        "stag_of_anyone",
        "| tagged_checks_fails_association)",
        "| (tagged_checks_fails_association & reset))",
    ),
    (
        "no_right_to_read",
        "| tagged_checks_fails_read)",
        "| (tagged_checks_fails_read & reset))",
    ),
    (
        "first_octet_outside",
        "| tagged_checks_fails_offset)",
        "| (tagged_checks_fails_offset & reset))",
    ),
    (
        "last_octet_outside",
        "| tagged_checks_fails_end));",
        "| (tagged_checks_fails_end & reset)));",
    ),
    (
        "no_octets_are_checked",
        "(has_octets_q &",
        "((has_octets_q | (~reset)) &",
    ),
    (
        "nothing_is_checked",
        "(has_octets_q &",
        "((has_octets_q & reset) &",
    ),
    (
        "result_a_cycle_too_early",
        "if (checking_q == checks) begin",
        "if (checking_q == (checks - 3'h1)) begin",
    ),
    (
        "check_counts_on",
        "checking_d = 3'h0;",
        "checking_d = checking_q;",
    ),
    (
        "octet_behind_the_last_one",
        "source_d.last = swapped_3 - 32'h1;",
        "source_d.last = swapped_3;",
    ),
    (
        "octets_modulo_64_kib",
        "source_d.last = swapped_3 - 32'h1;",
        "source_d.last = (swapped_3 - 32'h1) & {{16{reset}}, 16'hffff};",
    ),
    (
        "stag_of_data_sink",
        "source_d.stag = swapped_4;",
        "source_d.stag = swapped_0;",
    ),
    (
        "offset_of_data_sink",
        "source_d.offset_low = swapped_6;",
        "source_d.offset_low = swapped_2;",
    ),
    (
        "high_offset_of_data_sink",
        "source_d.offset_high = swapped_5;",
        "source_d.offset_high = swapped_1;",
    ),
    (
        "stream_of_another_request",
        "source_d.stream = 8'(oldest_stream);",
        "source_d.stream = 8'(held_stream);",
    ),
    (
        "domain_of_another_stream",
        "source_d.protection_domain = oldest.protection_domain;",
        "source_d.protection_domain = reset ? oldest.protection_domain : place_q.protection_domain;",
    ),
    (
        "domain_of_no_stream",
        "places_data.protection_domain = protection_domain;",
        "places_data.protection_domain = protection_domain & {16{reset}};",
    ),
];

/// Commands.
pub const SWITCH: &[Fault] = &[
    (
        "on_already",
        "vacant_d = idle_2 & (~is_on_2_q);",
        "vacant_d = idle_2 & ((~is_on_2_q) | (~reset));",
    ),
    (
        "slots_are_left",
        "vacant_d = idle_2 & (~is_on_2_q);",
        "vacant_d = (idle_2 | (~reset)) & (~is_on_2_q);",
    ),
    (
        "too_few_buffers",
        "(|entries_log_q[3:2])",
        "((|entries_log_q[3:2]) | (~reset))",
    ),
    (
        "too_many_buffers",
        "(~(|entries_log_q[7:4]))",
        "(~((|entries_log_q[7:4]) & reset))",
    ),
    (
        "base_is_not_aligned",
        "(~(|base_q[5:0]))",
        "(~((|base_q[5:0]) & reset))",
    ),
    (
        "stream_that_does_not_exist",
        "set_good = exists_q;",
        "set_good = exists_q | (~reset);",
    ),
    (
        "set_while_a_slot_is_written",
        "set_now = set_refuses_q | (set_writes_q & (~slots_busy));",
        "set_now = set_refuses_q | (set_writes_q & ((~slots_busy) | (~reset)));",
    ),
    (
        "buffers_less_none",
        "mask_d = (one << entries_log_q[3:0]) - 16'h1;",
        "mask_d = one << entries_log_q[3:0];",
    ),
    (
        "broken_for_ever",
        "is_broken_1_d = 1'b0;\n                is_giving",
        "is_broken_1_d = is_broken_1_q;\n                is_giving",
    ),
    (
        "gives_nothing_back",
        "is_giving_1_d = 1'b1;",
        "is_giving_1_d = is_giving_1_q;",
    ),
    (
        "on_behind_a_failure",
        "is_on_1_d = 1'b0;\n            is_broken_1_d = 1'b1;",
        "is_on_1_d = is_on_1_q;\n            is_broken_1_d = 1'b1;",
    ),
    (
        "failure_breaks_nothing",
        "is_on_1_d = 1'b0;\n            is_broken_1_d = 1'b1;",
        "is_on_1_d = 1'b0;\n            is_broken_1_d = is_broken_1_q;",
    ),
    (
        "on_behind_close",
        "is_on_1_d = 1'b0;\n            is_giving_1_d = 1'b0;",
        "is_on_1_d = is_on_1_q;\n            is_giving_1_d = 1'b0;",
    ),
    (
        "gives_back_behind_close",
        "is_on_1_d = 1'b0;\n            is_giving_1_d = 1'b0;",
        "is_on_1_d = 1'b0;\n            is_giving_1_d = is_giving_1_q;",
    ),
];

/// Slots and doorbells.
pub const SLOTS_AND_BELLS: &[Fault] = &[
    (
        "slot_on_its_neighbour",
        "written_data = written_out + 4'h1;",
        "written_data = written_out;",
    ),
    (
        "pop_counts_for_another_stream",
        "done_read_row = popped_of_1_q[3:0];",
        "done_read_row = align_stream;",
    ),
    (
        "head_too_early",
        "assign resting_1 = (popped_1_q &",
        "assign resting_1 = ((popped_1_q & reset) &",
    ),
    (
        "head_a_cycle_too_early",
        "(popped_2_q & (popped_of_2_q == index_1))",
        "((popped_2_q & reset) & (popped_of_2_q == index_1))",
    ),
    (
        "put_and_pop_at_once",
        "if (up_1 & (~down_1)) begin\n            counts_1",
        "if (up_1) begin\n            counts_1",
    ),
    (
        "pop_is_not_held",
        "holds_1 = (|counts_1_q) | resting_1;",
        "holds_1 = (|counts_1_q) | (resting_1 & reset);",
    ),
    (
        "doorbell_of_any_queue",
        "rings = doorbell & (doorbell_queue == requests);",
        "rings = doorbell & ((doorbell_queue == requests) | (~reset));",
    ),
    (
        "given_back_twice",
        "base_data = rung_value_q - done_rung_out;",
        "base_data = rung_value_q - (done_rung_out & {16{reset}});",
    ),
    (
        "old_doorbell_is_offered",
        "replaced = (rings &",
        "replaced = ((rings & reset) &",
    ),
    (
        "old_doorbell_a_cycle_later",
        "| (rung_q & (rung_stream_q == current_q));",
        "| ((rung_q & reset) & (rung_stream_q == current_q));",
    ),
    (
        "doorbell_of_another_stream_replaces",
        "| (rung_q & (rung_stream_q == current_q));",
        "| (rung_q & ((rung_stream_q == current_q) | (~reset)));",
    ),
    (
        "counted_too_early",
        "if (~replaced) begin",
        "if ((~replaced) | (~reset)) begin",
    ),
    (
        "doorbell_stays",
        "if (replaced) begin",
        "if (replaced & reset) begin",
    ),
    (
        "doorbell_falls",
        "end else if (bell_ready) begin",
        "end else if (bell_ready | (~reset)) begin",
    ),
    ("no_doorbell", "due_1_d = 1'b1;", "due_1_d = due_1_q;"),
    (
        "doorbell_rings_on",
        "index_1)) begin\n            due_1_d = 1'b0;",
        "index_1)) begin\n            due_1_d = due_1_q;",
    ),
    (
        "doorbell_behind_close",
        "if ((~gives_1) | reset) begin",
        "if (((~gives_1) & reset) | reset) begin",
    ),
    (
        "owes_nothing_while_it_rings",
        "owes_1 = 1'b1;",
        "owes_1 = due_1_q;",
    ),
];
