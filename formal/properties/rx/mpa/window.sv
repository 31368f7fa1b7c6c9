// m_axis_window keeps the rules of AXI4-Stream, and a report is what edge and limit of its stream were in the cycle before it: reports
// of a stream show its limits in the order of time (DDP-SEC-49).
module window_properties (
    input clock,
    input reset,
    input [63:0] m_axis_window_tdata,
    input [7:0] m_axis_window_tdest,
    input m_axis_window_tvalid,
    input m_axis_window_tready,
    input [31:0] edge_sequence_0,
    input [31:0] edge_sequence_1,
    input [31:0] edge_sequence_2,
    input [31:0] edge_sequence_3,
    input [31:0] limit_sequence_0,
    input [31:0] limit_sequence_1,
    input [31:0] limit_sequence_2,
    input [31:0] limit_sequence_3,
    // inside
    input [3:0] candidate_q
);
    reg sampled = 0;
    reg [255:0] was = 0;
    wire [255:0] now = {
        limit_sequence_3, edge_sequence_3, limit_sequence_2, edge_sequence_2,
        limit_sequence_1, edge_sequence_1, limit_sequence_0, edge_sequence_0
    };
    always @(posedge clock) begin
        sampled <= !reset & (!m_axis_window_tvalid | m_axis_window_tready);
        was <= now;
    end
    always @* begin
        if (sampled) reported: assert (m_axis_window_tvalid);
        if (sampled) fresh: assert (m_axis_window_tdest < 4 & m_axis_window_tdata == was[64 * m_axis_window_tdest[1:0] +: 64]);
        candidates: assert (candidate_q < 4); // a helper
    end
    handshake #(.WIDTH(72)) report (
        .clock(clock), .reset(reset), .valid(m_axis_window_tvalid), .ready(m_axis_window_tready),
        .payload({m_axis_window_tdata, m_axis_window_tdest})
    );
endmodule
