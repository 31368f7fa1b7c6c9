// m_axis_window keeps the rules of AXI4-Stream.
module window_properties (
    input clock,
    input reset,
    input [63:0] m_axis_window_tdata,
    input [7:0] m_axis_window_tdest,
    input m_axis_window_tvalid,
    input m_axis_window_tready
);
    handshake #(.WIDTH(72)) report (
        .clock(clock), .reset(reset), .valid(m_axis_window_tvalid), .ready(m_axis_window_tready),
        .payload({m_axis_window_tdata, m_axis_window_tdest})
    );
endmodule
