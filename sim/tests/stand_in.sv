// A card that breaks a rule of AXI: FAULT selects the rule, 0 none. It has the ports of the device with
// 64 bits. A write to any register starts a write burst of two beats and a read burst of one; reads give a number.
module warpline (
    input  wire        aclk,
    input  wire        aresetn,
    input  wire [63:0] s_axis_segment_tdata,
    input  wire [7:0]  s_axis_segment_tkeep,
    input  wire        s_axis_segment_tlast,
    input  wire [7:0]  s_axis_segment_tdest,
    input  wire [33:0] s_axis_segment_tuser,
    input  wire        s_axis_segment_tvalid,
    output wire        s_axis_segment_tready,
    output reg  [63:0] m_axis_window_tdata,
    output wire [7:0]  m_axis_window_tdest,
    output wire        m_axis_window_tvalid,
    input  wire        m_axis_window_tready,
    input  wire [11:0] s_axil_awaddr,
    input  wire        s_axil_awvalid,
    output wire        s_axil_awready,
    input  wire [31:0] s_axil_wdata,
    input  wire [3:0]  s_axil_wstrb,
    input  wire        s_axil_wvalid,
    output wire        s_axil_wready,
    output wire [1:0]  s_axil_bresp,
    output reg         s_axil_bvalid,
    input  wire        s_axil_bready,
    input  wire [11:0] s_axil_araddr,
    input  wire        s_axil_arvalid,
    output wire        s_axil_arready,
    output reg  [31:0] s_axil_rdata,
    output wire [1:0]  s_axil_rresp,
    output reg         s_axil_rvalid,
    input  wire        s_axil_rready,
    output reg  [63:0] m_axi_awaddr,
    output wire [7:0]  m_axi_awlen,
    output wire [2:0]  m_axi_awsize,
    output wire [1:0]  m_axi_awburst,
    output wire [3:0]  m_axi_awcache,
    output wire [2:0]  m_axi_awprot,
    output reg         m_axi_awvalid,
    input  wire        m_axi_awready,
    output reg  [63:0] m_axi_wdata,
    output wire [7:0]  m_axi_wstrb,
    output wire        m_axi_wlast,
    output reg         m_axi_wvalid,
    input  wire        m_axi_wready,
    input  wire [1:0]  m_axi_bresp,
    input  wire        m_axi_bvalid,
    output wire        m_axi_bready,
    output reg  [63:0] m_axi_araddr,
    output wire [7:0]  m_axi_arlen,
    output wire [2:0]  m_axi_arsize,
    output wire [1:0]  m_axi_arburst,
    output wire [3:0]  m_axi_arcache,
    output wire [2:0]  m_axi_arprot,
    output reg         m_axi_arvalid,
    input  wire        m_axi_arready,
    input  wire [63:0] m_axi_rdata,
    input  wire [1:0]  m_axi_rresp,
    input  wire        m_axi_rlast,
    input  wire        m_axi_rvalid,
    output wire        m_axi_rready,
    output wire [7:0]  m_axis_msix_tdata,
    output reg         m_axis_msix_tvalid,
    input  wire        m_axis_msix_tready
);
    localparam FAULT = 0;

    reg busy, beat, on, vector;

    assign s_axis_segment_tready = 1;
    assign m_axis_window_tdest = 0;
    assign m_axis_window_tvalid = on;
    assign s_axil_awready = s_axil_wvalid & !s_axil_bvalid;
    assign s_axil_wready = s_axil_awvalid & !s_axil_bvalid;
    assign s_axil_bresp = FAULT == 10 ? 2 : 0;
    assign s_axil_arready = !s_axil_rvalid;
    assign s_axil_rresp = FAULT == 11 ? 3 : 0;
    assign m_axi_awlen = 1;
    assign m_axi_awsize = FAULT == 12 ? 2 : 3;
    assign m_axi_awburst = FAULT == 13 ? 0 : 1;
    assign m_axi_awcache = 2;
    assign m_axi_awprot = 2;
    assign m_axi_wstrb = 8'hFF;
    assign m_axi_wlast = beat & FAULT != 4;
    assign m_axi_bready = 1;
    assign m_axi_arlen = 0;
    assign m_axi_arsize = 3;
    assign m_axi_arburst = 1;
    assign m_axi_arcache = 2;
    assign m_axi_arprot = 2;
    assign m_axi_rready = 1;
    assign m_axis_msix_tdata = FAULT == 19 ? 2 : {7'b0, vector};

    always @(posedge aclk) begin
        on <= 1;
        if (m_axis_window_tready | FAULT == 6) m_axis_window_tdata <= m_axis_window_tdata + 1;

        if (s_axil_awvalid & s_axil_awready) begin
            s_axil_bvalid <= 1;
            if (!busy) begin
                busy <= 1;
                beat <= 0;
                m_axi_awaddr <= FAULT == 5 ? 64'h1FF8 : 64'h1000;
                m_axi_awvalid <= 1;
                m_axi_wvalid <= 1;
                m_axi_wdata <= 1;
                m_axi_araddr <= 64'h2000;
                m_axi_arvalid <= 1;
            end
        end else if (s_axil_bready) s_axil_bvalid <= FAULT == 7;
        if (s_axil_arvalid & s_axil_arready) begin
            s_axil_rvalid <= 1;
            s_axil_rdata <= 7;
        end else if (s_axil_rready) s_axil_rvalid <= 0;
        else if (FAULT == 8) s_axil_rdata <= s_axil_rdata + 1;

        if (m_axi_awvalid & (m_axi_awready | FAULT == 1)) m_axi_awvalid <= 0;
        else if (m_axi_awvalid & FAULT == 2) m_axi_awaddr <= m_axi_awaddr + 16;
        if (m_axi_wvalid & m_axi_wready) begin
            beat <= 1;
            if (beat) m_axi_wvalid <= 0;
        end else if (FAULT == 3) m_axi_wdata <= m_axi_wdata + 1;
        if (m_axi_arvalid & (m_axi_arready | FAULT == 14)) begin
            m_axi_arvalid <= FAULT == 15;
            m_axi_araddr <= m_axi_araddr + 8;
        end
        if (m_axi_bvalid) busy <= 0;

        m_axis_msix_tvalid <= !(m_axis_msix_tvalid & (m_axis_msix_tready | FAULT == 18));
        if (m_axis_msix_tvalid & (m_axis_msix_tready | FAULT == 17)) vector <= !vector;

        if (!aresetn) begin
            on <= FAULT == 9;
            busy <= 0;
            s_axil_bvalid <= 0;
            s_axil_rvalid <= 0;
            m_axi_awvalid <= 0;
            m_axi_wvalid <= 0;
            m_axi_arvalid <= FAULT == 16;
            m_axis_msix_tvalid <= FAULT == 20;
        end
    end
endmodule
