// m_axis_status: what is offered stays until it is accepted, and a report's numbers are those of its stream.
//
//   answers, in order ─┬─► report: edge + start, acknowledged + ring − edge, as they were in one cycle
//   moved edges ───────┘
//
// The numbers of a report are rows of any stream, as they were written, all of the same cycle behind the choice of the
// report. An answer is reported once, as it came; a moved edge of a stream that lives stays due until a report of that
// stream is made.
module status_properties #(parameter RING = 4096, parameter STREAMS = 4) (
    input clock,
    input reset,
    input edge_write,
    input [7:0] edge_stream,
    input [31:0] edge_position,
    input moved,
    input armed,
    input [31:0] armed_start,
    input acknowledged_write,
    input [7:0] acknowledged_stream,
    input [31:0] acknowledged,
    input [95:0] m_axis_status_tdata,
    input [7:0] m_axis_status_tdest,
    input m_axis_status_tvalid,
    input m_axis_status_tready,
    // inside
    input [2:0] step_q,
    input [7:0] stream_q,
    input [1:0] kind_q,
    input [15:0] octets_q,
    input [31:0] edge_1_q,
    input [31:0] acknowledged_1_q,
    input [31:0] start_1_q,
    input [31:0] sequence_number_q,
    input [17:0] room_end_q,
    input [17:0] free_q,
    input pick,
    input [3:0] picked,
    input round_robin_any,
    input live_0,
    input live_1,
    input live_2,
    input live_3,
    input some_moved_0_q,
    input some_moved_1_q,
    input some_moved_2_q,
    input some_moved_3_q,
    input [25:0] answers_m_data,
    input answers_m_valid,
    input answers_m_ready,
    input [3:0] edges__proof_row,
    input [31:0] edges__proof_data,
    input [3:0] acknowledgements__proof_row,
    input [31:0] acknowledgements__proof_data,
    input [3:0] starts__proof_row,
    input [31:0] starts__proof_data
);
    localparam PICK = 0, LOAD = 1, SUM = 2, ROOM = 3, OFFER = 4;
    localparam MOVED = 0;

    // any stream, and its rows as they were written
    wire [7:0] s = edges__proof_row;
    always @* assume (s < STREAMS & acknowledgements__proof_row == s & starts__proof_row == s);
    always @* assume ((!edge_write | edge_stream < STREAMS) & (!armed | edge_write));
    always @* assume (!acknowledged_write | acknowledged_stream < STREAMS);
    reg [31:0] last_edge = 0, last_acknowledged = 0, start = 0;
    reg due = 0;
    wire moves = edge_write & edge_stream == s;
    always @(posedge clock) begin
        if (moves) last_edge <= edge_position;
        if (acknowledged_write & acknowledged_stream == s) last_acknowledged <= acknowledged;
        if (armed & edge_stream == s) start <= armed_start;
        due <= !reset & (moves ? moved : due & !(pick & picked == s));
    end

    // the report in work: what it tells of
    reg answers = 0;
    reg [25:0] told = 0;
    reg [31:0] its_edge = 0, its_acknowledged = 0, its_start = 0;
    always @(posedge clock) begin
        if (step_q == PICK) begin
            answers <= answers_m_valid;
            told <= answers_m_valid ? answers_m_data : {16'b0, 2'd0, 4'b0, picked};
        end
        if (step_q == LOAD) begin
            its_edge <= last_edge;
            its_acknowledged <= last_acknowledged;
            its_start <= start;
        end
    end
    wire its = m_axis_status_tdest == s;
    wire [31:0] number = its_start + its_edge;
    wire [17:0] room = its_acknowledged[17:0] + RING - its_edge[17:0];
    wire some_moved = s == 0 ? some_moved_0_q : s == 1 ? some_moved_1_q : s == 2 ? some_moved_2_q : some_moved_3_q;
    wire live = s == 0 ? live_0 : s == 1 ? live_1 : s == 2 ? live_2 : live_3;
    always @* begin
        if (m_axis_status_tvalid) begin
            as_it_came: assert ({m_axis_status_tdata[79:64], m_axis_status_tdata[81:80], m_axis_status_tdest} == told);
            if (its) of_its_stream: assert (m_axis_status_tdata[31:0] == number & m_axis_status_tdata[63:32] == {14'b0, room});
        end
        answer_first: assert (!pick | (!answers_m_valid & round_robin_any));
        taken_for_a_report: assert (!(answers_m_valid & answers_m_ready) | step_q == PICK);
        stays_due: assert (some_moved == due);
        if (due & live) made_some_time: assert (step_q != PICK | answers_m_valid | pick);
    end
    handshake #(.WIDTH(104)) report (
        .clock(clock), .reset(reset), .valid(m_axis_status_tvalid), .ready(m_axis_status_tready),
        .payload({m_axis_status_tdata, m_axis_status_tdest})
    );

    // helpers
    always @* begin
        steps: assert (step_q <= OFFER);
        rows: assert (edges__proof_data == last_edge & acknowledgements__proof_data == last_acknowledged & starts__proof_data == start);
        if (step_q != PICK) told_is: assert ({octets_q, kind_q, stream_q} == told);
        if (step_q > LOAD & stream_q == s) loaded: assert (edge_1_q == its_edge & acknowledged_1_q == its_acknowledged & start_1_q == its_start);
        if (step_q > SUM & stream_q == s) sums: assert (sequence_number_q == number & room_end_q == its_acknowledged[17:0] + 18'd0 + RING[17:0]);
        if (step_q > ROOM & stream_q == s) room_is: assert (free_q == room);
    end

    always @* if (!reset) begin
        behind: cover (m_axis_status_tvalid & its & s == 2 & !answers & its_edge != last_edge & room == RING - 12);
        answered: cover (m_axis_status_tvalid & its & answers & told[25:10] == 44 & due);
    end
endmodule
