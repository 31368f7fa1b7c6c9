// m_axis_msix keeps the rules of AXI4-Stream, and says nothing but vectors there are.
module interrupts_properties (
    input clock,
    input reset,
    input [7:0] m_axis_msix_tdata,
    input m_axis_msix_tvalid,
    input m_axis_msix_tready
);
    handshake #(.WIDTH(8)) message (
        .clock(clock), .reset(reset), .valid(m_axis_msix_tvalid), .ready(m_axis_msix_tready),
        .payload(m_axis_msix_tdata)
    );
    always @* begin
        known: assert (m_axis_msix_tdata <= 1);
        second: cover (m_axis_msix_tvalid & m_axis_msix_tdata == 1);
    end
endmodule
