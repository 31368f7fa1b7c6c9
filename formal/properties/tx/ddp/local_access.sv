// No piece of host memory leaves unless the entry that was looked up for it allows it, and a segment leaves as a whole.
//
//   piece n ─► STag ─► entry, checks: its status ─► status of its segment ─► verdict ─► all of its pieces leave, or none
//
// Pieces, those of them in host memory, and segments are numbered as they come in, as they are judged and as they leave.
// For any piece: the checks get its stream, protection domain, STag, offset and length with the entry that arrives 3 cycles
// behind it; it leaves as it came in, with the address that the checks gave for it; and while its segment leaves, it has been
// judged and nothing was wrong with it. One verdict for each segment, in their order, not behind its first piece: the status of
// the first piece that fails, or OK. What the checks say is arbitrary here; bounds.sv has what it means.
//
// Assumed: `reset` is held for RESET cycles. A piece is judged 6 cycles behind its acceptance. D = 2^LOG pieces at a time.
module local_access_properties #(parameter LOG = 3, parameter RESET = 7) (
    input clock,
    input reset,
    input [190:0] s_piece,
    input s_piece_valid,
    input s_piece_ready,
    input [31:0] stag,
    input [253:0] entry,
    input [161:0] m_piece,
    input m_piece_valid,
    input m_piece_ready,
    // inside
    input accept,
    input leave,
    input load,
    input active_q,
    input passes_q,
    input left_q,
    input [3:0] so_far_q,
    input [135:0] asked_q,
    input [135:0] to_check__stage_0,
    input [135:0] to_check__stage_1,
    input [7:0] judging_q,
    input [7:0] to_judge__stage_0,
    input [7:0] to_judge__stage_1,
    input [7:0] to_judge__stage_2,
    input [7:0] to_judge__stage_3,
    input [7:0] judged,
    input [7:0] tagged_checks__stream,
    input [15:0] tagged_checks__protection_domain,
    input [31:0] tagged_checks__stag,
    input [31:0] tagged_checks__offset_high,
    input [31:0] tagged_checks__offset_low,
    input [31:0] tagged_checks__last,
    input [253:0] tagged_checks__entry,
    input tagged_checks_fails_stag,
    input tagged_checks_fails_association,
    input tagged_checks_fails_read,
    input tagged_checks_fails_offset,
    input tagged_checks_fails_end,
    input [63:0] tagged_checks_address,
    input [161:0] head,
    input pieces_m_valid,
    input pieces__full_q,
    input [LOG-1:0] pieces__read_q,
    input [LOG-1:0] pieces__write_q,
    input [LOG-1:0] pieces__store__proof_row,
    input [161:0] pieces__store__proof_data,
    input [(162<<LOG)-1:0] pieces__store__proof_rows,
    input addresses_m_valid,
    input addresses__full_q,
    input [LOG-1:0] addresses__read_q,
    input [LOG-1:0] addresses__write_q,
    input [LOG-1:0] addresses__store__proof_row,
    input [63:0] addresses__store__proof_data,
    input statuses_m_valid,
    input [3:0] statuses_m_data,
    input statuses__full_q,
    input [LOG-1:0] statuses__read_q,
    input [LOG-1:0] statuses__write_q,
    input [(4<<LOG)-1:0] statuses__store__proof_rows,
    input verdicts__s_ready,
    input [7:0] room__under_way_q,
    input room__below_q
);
    localparam D = 1 << LOG;
    localparam OK = 0, STAG = 3, ASSOC = 4, BOUNDS = 5, ACCESS = 7;

    // power-up is as the last cycle of a reset; in a reset `held` counts its cycles up to RESET
    reg [2:0] held = RESET;
    always @(posedge clock) held <= !reset ? 0 : held == RESET ? RESET : held + 1'b1;
    always @* assume (held == 0 | held == RESET | reset);

    // numbers of pieces, of those in host memory, of segments
    reg [7:0] in = 0, sentenced = 0, out = 0;
    reg [7:0] memory_in = 0, memory_judged = 0, memory_out = 0;
    reg [7:0] segments_in = 0, segments_judged = 0, verdicts = 0, segments_out = 0;
    wire takes = s_piece_valid & s_piece_ready;
    wire piece_memory = s_piece[40], piece_last = s_piece[185];
    wire [3:0] piece_refused = s_piece[189:186];
    wire judges = judged[0];
    wire goes = leave & pieces_m_valid;
    always @(posedge clock) begin
        in <= reset ? 0 : in + takes;
        sentenced <= reset ? 0 : sentenced + judges;
        out <= reset ? 0 : out + goes;
        memory_in <= reset ? 0 : memory_in + (takes & piece_memory);
        memory_judged <= reset ? 0 : memory_judged + (judges & judged[1]);
        memory_out <= reset ? 0 : memory_out + (goes & head[0]);
        segments_in <= reset ? 0 : segments_in + (takes & piece_last);
        segments_judged <= reset ? 0 : segments_judged + (judges & judged[2]);
        verdicts <= reset ? 0 : verdicts + load;
        segments_out <= reset ? 0 : segments_out + (goes & head[161]);
    end

    // what is said of the piece that is judged, and of its segment so far
    wire [3:0] refused_before = judged[2] ? judged[6:3] : OK;
    wire [3:0] its_own = refused_before != OK ? refused_before
        : !judged[1] ? OK
        : tagged_checks_fails_stag ? STAG
        : tagged_checks_fails_association ? ASSOC
        : judged[7] & tagged_checks_fails_read ? ACCESS
        : tagged_checks_fails_offset | tagged_checks_fails_end ? BOUNDS : OK;
    reg [3:0] so_far = OK;
    wire [3:0] now = so_far != OK ? so_far : its_own;
    always @(posedge clock) so_far <= reset ? OK : !judges ? so_far : judged[2] ? OK : now;

    // of each piece inside: its kind and its numbers; of each segment inside: its status
    reg memory_of [0:D-1];
    reg last_of [0:D-1];
    reg [7:0] memory_number [0:D-1];
    reg [7:0] segment_number [0:D-1];
    reg [3:0] status_of [0:D-1];
    genvar k, j;
    generate for (k = 0; k < D; k = k + 1) begin: records
        always @(posedge clock) begin
            if (takes & in[LOG-1:0] == k) begin
                memory_of[k] <= piece_memory;
                last_of[k] <= piece_last;
                memory_number[k] <= memory_in;
                segment_number[k] <= segments_in;
            end
            if (judges & judged[2] & segments_judged[LOG-1:0] == k) status_of[k] <= now;
        end
    end endgenerate

    // any piece
    (* anyseq *) wire mark;
    reg marked = 0, judged_it = 0, gone = 0, wrong = 0;
    reg [2:0] age = 0;
    reg [190:0] its = 0;
    reg [7:0] number = 0, its_memory = 0, its_segment = 0;
    reg [63:0] its_address = 0;
    wire ends = marked & goes & head[161] & segments_out == its_segment;
    always @(posedge clock) begin
        if (mark & takes & !marked) begin
            marked <= 1;
            age <= 1;
            its <= s_piece;
            number <= in;
            its_memory <= memory_in;
            its_segment <= segments_in;
        end
        if (marked & age != 7) age <= age + 1'b1;
        if (marked & age == 6) begin
            judged_it <= 1;
            wrong <= its_own != OK;
            its_address <= tagged_checks_address;
        end
        if (marked & goes & out == number) gone <= 1;
        if (reset | ends) begin
            marked <= 0;
            judged_it <= 0;
            gone <= 0;
            wrong <= 0;
            age <= 0;
        end
    end
    wire memory = its[40];
    wire [161:0] as_it_leaves = {its[185], memory ? {80'b0, its_address} : its[184:41], its[39:24], memory};
    wire shown = pieces__store__proof_row == number[LOG-1:0]
        & (!memory | addresses__store__proof_row == its_memory[LOG-1:0]);
    always @* begin
        if (marked & age == 1) looked_up: assert (stag == its[72:41]);
        if (marked & age == 3) checked: assert (tagged_checks__entry == entry & tagged_checks__stag == its[72:41]
            & {tagged_checks__offset_high, tagged_checks__offset_low} == its[136:73]
            & tagged_checks__last == {16'b0, its[39:24] - 16'd1}
            & tagged_checks__protection_domain == its[23:8] & tagged_checks__stream == its[7:0]);
        if (marked & age == 6) judged_in_time: assert (judges & judged[1] == memory & judged[2] == its[185] & judged[6:3] == its[189:186] & judged[7] == its[190]);
        if (marked & m_piece_valid & segments_out == its_segment) all_or_none: assert (judged_it & !wrong);
        if (marked & !gone & m_piece_valid & out == number & shown) as_it_came: assert (m_piece == as_it_leaves);
        if (load) verdict_is: assert (verdicts != segments_judged & statuses_m_data == status_of[verdicts[LOG-1:0]]);
        if (m_piece_valid) begin
            behind_its_verdict: assert (verdicts == segments_out + 8'd1 & status_of[segments_out[LOG-1:0]] == OK);
            one_there: assert (pieces_m_valid & (!head[0] | addresses_m_valid));
        end
        dropped_as_a_whole: assert (!goes | m_piece_valid | status_of[segments_out[LOG-1:0]] != OK);
    end
    handshake #(.WIDTH(162)) pieces (
        .clock(clock), .reset(reset), .valid(m_piece_valid), .ready(m_piece_ready), .payload(m_piece)
    );

    // helpers
    wire [7:0] inside = in - out, memory_inside = memory_judged - memory_out, statuses_inside = segments_judged - verdicts;
    wire [7:0] to_judge = in - sentenced, to_leave = sentenced - out;
    wire [7:0] decided = segments_judged - segments_out;
    wire settled = held == 0 | held == RESET;
    // the pipeline, the oldest piece first: a number for each stage
    wire [7:0] at_3 = sentenced + judges, at_2 = at_3 + to_judge__stage_3[0], at_1 = at_2 + to_judge__stage_2[0];
    wire [7:0] at_0 = at_1 + to_judge__stage_1[0], at_asked = at_0 + to_judge__stage_0[0];
    wire [7:0] at_in = at_asked + judging_q[0];
    wire [LOG-1:0] newest = in - 8'd1;
    wire [135:0] its_request = {its[39:24] - 16'd1, its[136:73], its[72:41], its[23:8], its[7:0]};
    wire [7:0] as_it_is_judged = {its[190], its[189:186], its[185], memory, 1'b1};
    always @* begin
        emptied: assert ((held < 1 | !judging_q[0]) & (held < 2 | !to_judge__stage_0[0]) & (held < 3 | !to_judge__stage_1[0])
            & (held < 4 | !to_judge__stage_2[0]) & (held < 5 | !to_judge__stage_3[0]) & (held < 6 | !judges));
        nothing_yet: assert (held == 0 | (in == 0 & sentenced == 0 & out == 0 & memory_in == 0 & memory_judged == 0
            & memory_out == 0 & segments_in == 0 & segments_judged == 0 & verdicts == 0 & segments_out == 0 & !marked));
        same_so_far: assert (so_far == so_far_q);
        pieces_are: assert (inside <= D & pieces_m_valid == (inside != 0) & pieces__full_q == (inside == D)
            & pieces__read_q == out[LOG-1:0] & pieces__write_q == in[LOG-1:0]);
        addresses_are: assert (memory_inside <= to_leave & addresses_m_valid == (memory_inside != 0) & addresses__full_q == (memory_inside == D)
            & addresses__read_q == memory_out[LOG-1:0] & addresses__write_q == memory_judged[LOG-1:0]);
        statuses_are: assert (statuses_inside <= to_leave & statuses_m_valid == (statuses_inside != 0) & statuses__full_q == (statuses_inside == D)
            & statuses__read_q == verdicts[LOG-1:0] & statuses__write_q == segments_judged[LOG-1:0]);
        verdicts_are: assert (verdicts == segments_out + active_q & decided <= D);
        if (active_q) passes_are: assert (passes_q == (status_of[segments_out[LOG-1:0]] == OK));
        room_is: assert (room__under_way_q == inside + left_q & (!room__below_q | room__under_way_q < D));
        ordered: assert (to_judge <= inside & to_leave <= inside);
        if (settled) in_the_pipeline: assert (at_in == in);
        if (inside != 0) oldest: assert (memory_number[out[LOG-1:0]] == memory_out & segment_number[out[LOG-1:0]] == segments_out);
        if (inside != 0) youngest: assert (memory_in == memory_number[newest] + memory_of[newest] & segments_in == segment_number[newest] + last_of[newest]);
        if (inside == 0) empty: assert (memory_in == memory_out & segments_in == segments_out);
        if (to_judge != 0) next: assert (memory_number[sentenced[LOG-1:0]] == memory_judged & segment_number[sentenced[LOG-1:0]] == segments_judged);
        if (to_judge == 0) none_to_judge: assert (memory_judged == memory_in & segments_judged == segments_in);
        if (settled) kinds_in_the_pipeline: assert (
            (!judges | judged[2:1] == {last_of[sentenced[LOG-1:0]], memory_of[sentenced[LOG-1:0]]})
            & (!to_judge__stage_3[0] | to_judge__stage_3[2:1] == {last_of[at_3[LOG-1:0]], memory_of[at_3[LOG-1:0]]})
            & (!to_judge__stage_2[0] | to_judge__stage_2[2:1] == {last_of[at_2[LOG-1:0]], memory_of[at_2[LOG-1:0]]})
            & (!to_judge__stage_1[0] | to_judge__stage_1[2:1] == {last_of[at_1[LOG-1:0]], memory_of[at_1[LOG-1:0]]})
            & (!to_judge__stage_0[0] | to_judge__stage_0[2:1] == {last_of[at_0[LOG-1:0]], memory_of[at_0[LOG-1:0]]})
            & (!judging_q[0] | judging_q[2:1] == {last_of[at_asked[LOG-1:0]], memory_of[at_asked[LOG-1:0]]}));
        unmarked: assert (marked | (!judged_it & !gone & !wrong & age == 0));
        if (marked) begin
            ages: assert (age != 0 & judged_it == (age == 7) & (judged_it | !wrong) & (!gone | judged_it));
            in_the_pipeline_it_is: assert (
                age == 1 ? asked_q == its_request & judging_q == as_it_is_judged & number == at_asked
                : age == 2 ? to_check__stage_0 == its_request & to_judge__stage_0 == as_it_is_judged & number == at_0
                : age == 3 ? to_check__stage_1 == its_request & to_judge__stage_1 == as_it_is_judged & number == at_1
                : age == 4 ? to_judge__stage_2 == as_it_is_judged & number == at_2
                : age == 5 ? to_judge__stage_3 == as_it_is_judged & number == at_3
                : age != 6 | (judged == as_it_is_judged & number == sentenced));
            if (gone) rest_of_it: assert (segments_out == its_segment & active_q);
            else begin
                still_inside: assert (number - out < inside & (judged_it == (number - out < to_leave)));
                numbers: assert (memory_of[number[LOG-1:0]] == memory & last_of[number[LOG-1:0]] == its[185]
                    & memory_number[number[LOG-1:0]] == its_memory & segment_number[number[LOG-1:0]] == its_segment);
                if (pieces__store__proof_row == number[LOG-1:0]) row_is: assert (pieces__store__proof_data
                    == {its[185], its[184:41], its[39:24], memory});
                if (judged_it & memory) begin
                    address_inside: assert (its_memory - memory_out < memory_inside);
                    if (addresses__store__proof_row == its_memory[LOG-1:0]) address_is: assert (addresses__store__proof_data == its_address);
                end
            end
            // its segment: not decided without it, and not OK if it is wrong
            segment_to_come: assert (judged_it | decided <= its_segment - segments_out);
            if (wrong) segment_is_wrong: assert (its_segment == segments_judged ? so_far != OK
                : its_segment - segments_out >= decided | status_of[its_segment[LOG-1:0]] != OK);
        end
    end
    // of all rows, and of all pairs of pieces inside: the younger one has the higher numbers
    wire [D-1:0] right_flags, right_status;
    generate for (k = 0; k < D; k = k + 1) begin: rows
        wire [LOG-1:0] place = k - out[LOG-1:0], waits_at = k - verdicts[LOG-1:0];
        wire here = {1'b0, place} < inside;
        wire [7:0] memory_ahead = memory_in - memory_number[k], segments_ahead = segments_in - segment_number[k];
        wire [7:0] behind_it = inside - place;
        assign right_flags[k] = !here | (pieces__store__proof_rows[162*k] == memory_of[k]
            & pieces__store__proof_rows[162*k+161] == last_of[k]);
        always @* assert (!here | (memory_ahead >= memory_of[k] & memory_ahead <= behind_it
            & segments_ahead >= last_of[k] & segments_ahead <= behind_it));
        assign right_status[k] = {1'b0, waits_at} >= statuses_inside | statuses__store__proof_rows[4*k +: 4] == status_of[k];
        wire [D-1:0] right;
        for (j = 0; j < D; j = j + 1) begin: pairs
            wire [LOG-1:0] other = j - out[LOG-1:0];
            wire [7:0] memories = memory_number[j] - memory_number[k], segments = segment_number[j] - segment_number[k];
            wire [7:0] apart = other - place;
            assign right[j] = !here | {1'b0, other} >= inside | other <= place
                | (memories >= memory_of[k] & memories <= apart & segments >= last_of[k] & segments <= apart
                    & (apart != 1 | (memories == memory_of[k] & segments == last_of[k])));
        end
        always @* assert (&right);
    end endgenerate
    always @* begin
        flags: assert (&right_flags);
        statuses_inside_are: assert (&right_status);
    end

    always @* if (!reset) begin
        released: cover (marked & m_piece_valid & out == number & shown & memory & number == 1 & its_memory == 1 & m_piece_ready);
        dropped: cover (goes & !m_piece_valid & marked & wrong & out == number & segments_out == 1);
        second: cover (marked & m_piece_valid & out == number & !memory & its_segment == 1 & number == 2);
    end
endmodule
