// The rule of every AXI handshake (IHI 0022E §A3.2.1, IHI 0051A §2.2): what is offered stays, unchanged, until it is taken.
module handshake #(parameter WIDTH = 1) (
    input clock,
    input reset,
    input valid,
    input ready,
    input [WIDTH-1:0] payload
);
    reg waiting = 0;
    reg [WIDTH-1:0] held = 0;
    always @(posedge clock) begin
        waiting <= valid & !ready & !reset;
        held <= payload;
    end
    always @* if (waiting) begin
        stays: assert (valid);
        unchanged: assert (payload == held);
    end
    always @* begin
        waited: cover (waiting & ready & !reset);
    end
endmodule

// AW and W of an AXI4 master.
module axi_writes #(parameter K = 8) (
    input clock,
    input reset,
    input [63:0] m_axi_awaddr,
    input [7:0] m_axi_awlen,
    input m_axi_awvalid,
    input m_axi_awready,
    input [8*K-1:0] m_axi_wdata,
    input [K-1:0] m_axi_wstrb,
    input m_axi_wlast,
    input m_axi_wvalid,
    input m_axi_wready
);
    handshake #(.WIDTH(72)) address (
        .clock(clock), .reset(reset), .valid(m_axi_awvalid), .ready(m_axi_awready),
        .payload({m_axi_awaddr, m_axi_awlen})
    );
    handshake #(.WIDTH(9 * K + 1)) octets (
        .clock(clock), .reset(reset), .valid(m_axi_wvalid), .ready(m_axi_wready),
        .payload({m_axi_wdata, m_axi_wstrb, m_axi_wlast})
    );
endmodule
