// A SEND is executed only inside of what can be sent, and only what can be sent is acknowledged.
//
//   command of a stream ─► position = its sequence number − start, offset = position − acknowledged
//       SEND         ─► offset + length ≤ edge − acknowledged, length > 0 ─► SendRange: these octets
//       ACKNOWLEDGE  ─► offset ≤ edge − acknowledged ─► acknowledged = position, and Freed to room_release in the same cycle
//       MEASURE      ─► offset < edge − acknowledged ─► search: up to the edge, not further
//
// Edge, acknowledged and start are those of any stream, as they were written; edge and acknowledged are of the cycle in
// which the command is executed. A command that the rows allow when they are read is not refused. A stream that was dead
// in the cycle before has nothing executed.
//
// Assumed: an edge moves to the right and at most a ring's octets from what is acknowledged (visibility.sv, and the room that
// `frame` keeps to); `arm` writes it to 0, for a stream without a command in work. The ring has RING octets.
module commands_properties #(parameter RING = 4096, parameter K = 8, parameter STREAMS = 4) (
    input clock,
    input reset,
    input [63:0] s_axis_send_tdata,
    input [7:0] s_axis_send_tdest,
    input s_axis_send_tvalid,
    input s_axis_send_tready,
    input busy,
    input live_0,
    input live_1,
    input live_2,
    input live_3,
    input edge_write,
    input [7:0] edge_stream,
    input [31:0] edge_position,
    input armed,
    input [31:0] armed_start,
    input acknowledged_write,
    input [7:0] acknowledged_stream,
    input [31:0] acknowledged,
    input [111:0] range,
    input range_valid,
    input range_ready,
    input [39:0] freed,
    input freed_valid,
    input freed_ready,
    input search,
    input [31:0] search_position,
    input [15:0] search_reach,
    input [25:0] answer,
    input answer_valid,
    input answer_ready,
    // inside
    input [2:0] step_q,
    input [7:0] stream_q,
    input [1:0] kind_q,
    input [31:0] sequence_number_q,
    input [15:0] length_q,
    input [15:0] length_less_one_q,
    input [31:0] edge_1_q,
    input [31:0] acknowledged_1_q,
    input [31:0] start_1_q,
    input [31:0] position_q,
    input [17:0] span_q,
    input [31:0] offset_q,
    input [19:0] row_0_q,
    input [19:0] row_1_q,
    input [17:0] left_q,
    input contained_q,
    input at_edge_q,
    input fits_q,
    input sends_q,
    input acknowledges_q,
    input measures_q,
    input alive_q,
    input [3:0] edges__proof_row,
    input [31:0] edges__proof_data,
    input [3:0] acknowledgements__proof_row,
    input [31:0] acknowledgements__proof_data,
    input [3:0] starts__proof_row,
    input [31:0] starts__proof_data
);
    localparam ACCEPT = 0, LOAD = 1, SUBTRACT = 2, OFFSET = 3, LEFT = 4, FIT = 5, ACT = 6, SEARCH = 7;
    localparam SEND = 0, ACKNOWLEDGE = 1, MEASURE = 2;
    localparam LANES = $clog2(K), ROWS = $clog2(RING / K);

    // any stream, and its rows as they were written
    wire [7:0] s = edges__proof_row;
    always @* assume (s < STREAMS & acknowledgements__proof_row == s & starts__proof_row == s);
    reg [31:0] last_edge = 0, last_acknowledged = 0, start = 0;
    wire moves = edge_write & edge_stream == s;
    wire acknowledges = acknowledged_write & acknowledged_stream == s;
    always @(posedge clock) begin
        if (moves) last_edge <= edge_position;
        if (acknowledges) last_acknowledged <= acknowledged;
        if (moves & armed) start <= armed_start;
    end
    wire [31:0] can_be_sent = last_edge - last_acknowledged;
    wire [31:0] will_be = edge_position - last_acknowledged;
    always @* begin
        assume (!edge_write | edge_stream < STREAMS);
        assume (!armed | (edge_write & edge_position == 0));
        assume (!moves | armed | (will_be >= can_be_sent & will_be <= RING));
        assume (!(moves & armed) | !(busy & stream_q == s));
    end

    // the command in work, if it is of this stream
    reg [63:0] command = 0;
    reg [7:0] of = 0;
    reg was_live = 0;
    always @(posedge clock) begin
        if (s_axis_send_tvalid & s_axis_send_tready) begin
            command <= s_axis_send_tdata;
            of <= s_axis_send_tdest;
        end
        was_live <= of == 0 ? live_0 : of == 1 ? live_1 : of == 2 ? live_2 : of == 3 & live_3;
    end
    wire its = step_q != ACCEPT & of == s;
    wire [31:0] position = command[31:0] - start, offset = position - last_acknowledged;
    wire [15:0] length = command[47:32];
    wire [32:0] behind = {1'b0, offset} + {17'b0, length};
    wire [1:0] kind = command[49:48];
    // what could be sent when the rows were read
    reg [31:0] could_be_sent = 0;
    always @(posedge clock) if (step_q == LOAD) could_be_sent <= can_be_sent;
    wire [31:0] octets = {13'b0, range[103:88], {LANES{1'b0}}} + range[111:104];
    wire [ROWS-1:0] row = position[ROWS+LANES-1:LANES], row_behind = row + 1'b1;
    wire [19:0] base = s << ROWS;
    wire [32:0] search_behind = {1'b0, offset} + {17'b0, search_reach};
    always @* begin
        if (its & range_valid) begin
            sent_inside: assert (kind == SEND & was_live & length != 0 & behind <= {1'b0, can_be_sent});
            these_octets: assert (range[7:0] == s & range[39:8] == command[31:0] & octets == {16'b0, length}
                & range[111:104] != 0 & range[111:104] <= K & range[87:80] == position[LANES-1:0]
                & range[59:40] == (base | row) & range[79:60] == (base | row_behind));
        end
        if (its & freed_valid) acknowledged_inside: assert (kind == ACKNOWLEDGE & was_live & offset <= can_be_sent
            & freed == {position, s});
        freed_as_acknowledged: assert (acknowledged_write == (armed | (freed_valid & freed_ready)));
        if (acknowledges) acknowledged_as: assert (acknowledged == (armed ? 0 : position) & (armed | (its & freed_valid)));
        if (its & search) measured_inside: assert (kind == MEASURE & was_live & offset < can_be_sent
            & search_position == position & search_behind <= {1'b0, can_be_sent});
        if (its & answer_valid & step_q == ACT) refused_if_outside: assert (!alive_q | offset >= could_be_sent
            | (kind == SEND ? length == 0 | behind > {1'b0, could_be_sent} : kind != MEASURE));
        one_effect: assert (range_valid + (freed_valid | armed) + search + answer_valid <= 1 | armed);
        only_of_a_command: assert (step_q >= ACT | !(range_valid | freed_valid | search | answer_valid));
        in_a_ring: assert (can_be_sent <= RING);
    end

    // helpers: each step in words of the command
    wire [31:0] span = edge_1_q - acknowledged_1_q;
    always @* begin
        rows: assert (edges__proof_data == last_edge & acknowledgements__proof_data == last_acknowledged & starts__proof_data == start);
        if (step_q != ACCEPT) command_is: assert (stream_q == of & kind_q == kind & sequence_number_q == command[31:0] & length_q == length);
        if (step_q > LOAD) alive_is: assert (alive_q == was_live & (!alive_q | of < STREAMS));
        if (its & step_q > LOAD) loaded: assert (acknowledged_1_q == last_acknowledged & start_1_q == start & span == could_be_sent
            & could_be_sent <= can_be_sent);
        if (its & step_q > SUBTRACT) subtracted: assert (position_q == position & {14'b0, span_q} == could_be_sent & length_less_one_q == length - 16'd1);
        if (its & step_q > OFFSET) offset_is: assert (offset_q == offset & row_0_q == (base | row) & row_1_q == (base | row_behind));
        if (its & step_q > LEFT) left_is: assert (contained_q == (offset < could_be_sent) & at_edge_q == (offset == could_be_sent)
            & (!contained_q | {14'b0, left_q} == could_be_sent - offset));
        if (its & step_q > FIT) fit_is: assert ((!contained_q | fits_q == (behind <= {1'b0, could_be_sent}))
            & sends_q == (kind == SEND & contained_q & fits_q & length != 0)
            & acknowledges_q == (contained_q | at_edge_q) & measures_q == (kind == MEASURE & contained_q));
    end

    always @* if (!reset) begin
        whole_ring: cover (its & range_valid & range_ready & s == 3 & length == RING & offset == 0);
        rest: cover (its & range_valid & offset != 0 & behind == can_be_sent & last_acknowledged != 0);
        meanwhile: cover (its & range_valid & can_be_sent != could_be_sent);
        all: cover (its & freed_valid & freed_ready & offset == can_be_sent & offset != 0);
        one_too_many: cover (its & answer_valid & step_q == ACT & kind == SEND & alive_q & behind == can_be_sent + 33'd1);
        part: cover (its & search & search_reach < length);
    end
endmodule
