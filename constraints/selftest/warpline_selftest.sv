// Self-test: the device on a board, with nothing connected but a clock.
//
//   host ──► registers ─► s_axil ─► warpline ─► m_axi ◄─► memory ─► CRC32C ─► passed
//   (program)              ┌──────►    │                  16 KiB              uart_tx
//                          ├── loop ◄──┘ with WARPLINE_TRANSMIT
//                          └── traffic   without
//
// The program arms streams, registers memory and posts buffers as a host would, lets the traffic go, checks the number of
// completions and the counters, and compares the CRC of memory. Programs and ROMs are made (synth/src/selftest) from the register
// description; the traffic, by the sender of the crate `wire`.
//
// With WARPLINE_TRANSMIT, which the maker of the ROMs defines, the device sends, too. The program arms both directions, and rings
// the doorbells of send rings that lie in a ROM behind memory. What a stream sends comes back as what its neighbour receives: `loop`
// is the TCP of all of them, which cuts anyhow, sends the second segment first, loses some, and sends again what is not acknowledged.
//
// A line on the UART:
//   warpline PASS step xx crc xxxxxxxx cycles xxxxxxxx window xxxxxxxx
// All numbers are hexadecimal. `step` is the row of the program where it stopped, after PASS the last one; `cycles` lie between
// the first beat in and the last write response, `window` folds all messages of m_axis_window and m_axis_msix. A device that sends
// adds " lost xxxx swapped xxxx again xxxx": segments lost, pairs swapped, returns to what is not acknowledged.
//
// A wide device leaves few block RAMs. With WARPLINE_FEW_BLOCK_RAMS, which the maker of the ROMs defines, memory and traffic
// use fewer, and the program is LUTs.
/* verilator lint_off PROCASSINIT */ // values at power-up, which an FPGA has
module warpline_selftest #(
    parameter integer W           = 64, // bits of the data path
    parameter integer DIVISOR     = 8,  // clock cycles of a UART bit
    parameter integer TIMEOUT_LOG = 20, // a step fails after 2^TIMEOUT_LOG cycles
    parameter integer REPEAT_LOG  = 27
) (
    input  wire  clk,
    input  wire  reset, // synchronous
    output wire  finished,
    output wire  passed,
    output wire  uart_tx
);
    localparam integer K = W / 8;
    localparam integer LOGK = $clog2(K);

    logic            aresetn = 0;
    wire  [W-1:0]    segment_tdata;
    wire  [K-1:0]    segment_tkeep;
    wire             segment_tlast;
    wire  [7:0]      segment_tdest;
    wire  [33:0]     segment_tuser;
    wire             segment_tvalid;
    wire             segment_tready;
    wire  [63:0]     window_tdata;
    wire  [7:0]      window_tdest;
    wire             window_tvalid;
    wire  [11:0]     address;
    wire  [31:0]     data;
    wire             awvalid, wvalid, bready, arvalid, rready;
    wire             awready, wready, bvalid, arready, rvalid;
    wire  [1:0]      bresp, rresp;
    wire  [31:0]     rdata;
    wire  [63:0]     m_awaddr, m_araddr;
    wire  [7:0]      m_awlen, m_arlen;
    wire  [2:0]      m_awsize, m_arsize, m_awprot, m_arprot;
    wire  [1:0]      m_awburst, m_arburst;
    wire  [3:0]      m_awcache, m_arcache;
    wire             m_awvalid, m_arvalid, m_wvalid, m_wlast, m_bready, m_rready;
    wire  [W-1:0]    m_wdata, m_rdata;
    wire  [K-1:0]    m_wstrb;
    wire             m_awready, m_wready, m_bvalid, m_arready, m_rlast, m_rvalid;
    wire  [7:0]      msix_tdata;
    wire             msix_tvalid;
`ifdef WARPLINE_TRANSMIT
    wire  [63:0]     send_tdata;
    wire  [7:0]      send_tdest;
    wire             send_tvalid, send_tready;
    wire  [W-1:0]    transmit_tdata;
    wire  [K-1:0]    transmit_tkeep;
    wire             transmit_tlast, transmit_tvalid;
    wire  [7:0]      transmit_tdest;
    wire  [31:0]     transmit_tuser;
    wire  [95:0]     status_tdata;
    wire  [7:0]      status_tdest;
    wire             status_tvalid;
    wire             control_awready, control_wready, control_bvalid, control_arready, control_rvalid; // no control program
    wire  [1:0]      control_bresp, control_rresp;
    wire  [31:0]     control_rdata;
`endif

    warpline device (
        .aclk(clk), .aresetn(aresetn),
        .s_axis_segment_tdata(segment_tdata), .s_axis_segment_tkeep(segment_tkeep), .s_axis_segment_tlast(segment_tlast),
        .s_axis_segment_tdest(segment_tdest), .s_axis_segment_tuser(segment_tuser),
        .s_axis_segment_tvalid(segment_tvalid), .s_axis_segment_tready(segment_tready),
        .m_axis_window_tdata(window_tdata), .m_axis_window_tdest(window_tdest),
        .m_axis_window_tvalid(window_tvalid), .m_axis_window_tready(1'b1),
`ifdef WARPLINE_TRANSMIT
        .s_axis_send_tdata(send_tdata), .s_axis_send_tdest(send_tdest),
        .s_axis_send_tvalid(send_tvalid), .s_axis_send_tready(send_tready),
        .m_axis_transmit_tdata(transmit_tdata), .m_axis_transmit_tkeep(transmit_tkeep), .m_axis_transmit_tlast(transmit_tlast),
        .m_axis_transmit_tdest(transmit_tdest), .m_axis_transmit_tuser(transmit_tuser),
        .m_axis_transmit_tvalid(transmit_tvalid), .m_axis_transmit_tready(1'b1),
        .m_axis_status_tdata(status_tdata), .m_axis_status_tdest(status_tdest),
        .m_axis_status_tvalid(status_tvalid), .m_axis_status_tready(1'b1),
        .s_axil_control_awaddr(12'b0), .s_axil_control_awprot(3'b0), .s_axil_control_awvalid(1'b0),
        .s_axil_control_awready(control_awready), .s_axil_control_wdata(32'b0), .s_axil_control_wstrb(4'b0),
        .s_axil_control_wvalid(1'b0), .s_axil_control_wready(control_wready), .s_axil_control_bresp(control_bresp),
        .s_axil_control_bvalid(control_bvalid), .s_axil_control_bready(1'b1), .s_axil_control_araddr(12'b0),
        .s_axil_control_arprot(3'b0), .s_axil_control_arvalid(1'b0), .s_axil_control_arready(control_arready),
        .s_axil_control_rdata(control_rdata), .s_axil_control_rresp(control_rresp), .s_axil_control_rvalid(control_rvalid),
        .s_axil_control_rready(1'b1),
`endif
        .s_axil_awaddr(address), .s_axil_awprot(3'b0), .s_axil_awvalid(awvalid), .s_axil_awready(awready),
        .s_axil_wdata(data), .s_axil_wstrb(4'hf), .s_axil_wvalid(wvalid), .s_axil_wready(wready),
        .s_axil_bresp(bresp), .s_axil_bvalid(bvalid), .s_axil_bready(bready),
        .s_axil_araddr(address), .s_axil_arprot(3'b0), .s_axil_arvalid(arvalid), .s_axil_arready(arready),
        .s_axil_rdata(rdata), .s_axil_rresp(rresp), .s_axil_rvalid(rvalid), .s_axil_rready(rready),
        .m_axi_awaddr(m_awaddr), .m_axi_awlen(m_awlen), .m_axi_awsize(m_awsize), .m_axi_awburst(m_awburst),
        .m_axi_awcache(m_awcache), .m_axi_awprot(m_awprot), .m_axi_awvalid(m_awvalid), .m_axi_awready(m_awready),
        .m_axi_wdata(m_wdata), .m_axi_wstrb(m_wstrb), .m_axi_wlast(m_wlast), .m_axi_wvalid(m_wvalid),
        .m_axi_wready(m_wready), .m_axi_bresp(2'b0), .m_axi_bvalid(m_bvalid), .m_axi_bready(m_bready),
        .m_axi_araddr(m_araddr), .m_axi_arlen(m_arlen), .m_axi_arsize(m_arsize), .m_axi_arburst(m_arburst),
        .m_axi_arcache(m_arcache), .m_axi_arprot(m_arprot), .m_axi_arvalid(m_arvalid), .m_axi_arready(m_arready),
        .m_axi_rdata(m_rdata), .m_axi_rresp(2'b0), .m_axi_rlast(m_rlast), .m_axi_rvalid(m_rvalid), .m_axi_rready(m_rready),
        .m_axis_msix_tdata(msix_tdata), .m_axis_msix_tvalid(msix_tvalid), .m_axis_msix_tready(1'b1)
    );
    always_ff @(posedge clk) aresetn <= ~reset;

    wire        go, sent, sum_go, sum_done, outside;
    wire [31:0] sum, cycles, folded;
    wire [7:0]  row;

    warpline_selftest_host #(.TIMEOUT_LOG(TIMEOUT_LOG)) host (
        .clk(clk), .reset(reset), .address(address), .data(data),
        .awvalid(awvalid), .awready(awready), .wvalid(wvalid), .wready(wready),
        .bresp(bresp), .bvalid(bvalid), .bready(bready),
        .arvalid(arvalid), .arready(arready), .rdata(rdata), .rresp(rresp), .rvalid(rvalid), .rready(rready),
        .go(go), .sent(sent), .sum_go(sum_go), .sum_done(sum_done), .sum(sum), .outside(outside),
        .row(row), .finished(finished), .passed(passed)
    );

`ifdef WARPLINE_TRANSMIT
    wire [15:0] lost, swapped, again;
    warpline_selftest_loop #(.W(W)) loop (
        .clk(clk), .reset(reset), .go(go), .begun(sent),
        .window_tdata(window_tdata), .window_tdest(window_tdest), .window_tvalid(window_tvalid),
        .status_tdata(status_tdata), .status_tdest(status_tdest), .status_tvalid(status_tvalid),
        .send_tdata(send_tdata), .send_tdest(send_tdest), .send_tvalid(send_tvalid), .send_tready(send_tready),
        .transmit_tdata(transmit_tdata), .transmit_tkeep(transmit_tkeep), .transmit_tlast(transmit_tlast),
        .transmit_tdest(transmit_tdest), .transmit_tuser(transmit_tuser), .transmit_tvalid(transmit_tvalid),
        .segment_tdata(segment_tdata), .segment_tkeep(segment_tkeep), .segment_tlast(segment_tlast),
        .segment_tdest(segment_tdest), .segment_tuser(segment_tuser), .segment_tvalid(segment_tvalid),
        .lost(lost), .swapped(swapped), .again(again)
    );
`else
    warpline_selftest_traffic #(.W(W)) traffic (
        .clk(clk), .reset(reset), .go(go), .sent(sent),
        .segment_tdata(segment_tdata), .segment_tkeep(segment_tkeep), .segment_tlast(segment_tlast),
        .segment_tdest(segment_tdest), .segment_tuser(segment_tuser), .segment_tvalid(segment_tvalid)
    );
`endif

    wire [13-LOGK:0] rom_row;
    wire             rom_enable;
`ifdef WARPLINE_TRANSMIT
    localparam integer READS = 1;
    wire [W-1:0]     rom_data;
    warpline_selftest_source source_rom (.clock(clk), .enable(rom_enable), .row(rom_row), .out(rom_data));
`else
    localparam integer READS = 0;
    wire [W-1:0]     rom_data = {W{1'b0}};
`endif
    warpline_selftest_memory #(.W(W), .READS(READS)) memory (
        .clk(clk), .reset(reset),
        .m_awaddr(m_awaddr), .m_awvalid(m_awvalid), .m_awready(m_awready),
        .m_wdata(m_wdata), .m_wstrb(m_wstrb), .m_wlast(m_wlast), .m_wvalid(m_wvalid), .m_wready(m_wready),
        .m_bvalid(m_bvalid), .m_bready(m_bready),
        .m_araddr(m_araddr), .m_arlen(m_arlen), .m_arvalid(m_arvalid), .m_arready(m_arready),
        .m_rdata(m_rdata), .m_rlast(m_rlast), .m_rvalid(m_rvalid), .m_rready(m_rready),
        .rom_row(rom_row), .rom_enable(rom_enable), .rom_data(rom_data),
        .outside(outside), .sum_go(sum_go), .blocks(address), .sum_done(sum_done), .sum(sum)
    );

    warpline_selftest_watch watch (
        .clk(clk), .reset(reset), .first(segment_tvalid), .written(m_bvalid & m_bready),
        .window_tdata(window_tdata), .window_tdest(window_tdest), .window_tvalid(window_tvalid),
        .msix_tdata(msix_tdata), .msix_tvalid(msix_tvalid), .cycles(cycles), .folded(folded)
    );

    localparam logic [7:0] HEX = 8'h80;
    localparam logic [7:0] VERDICT = 8'h81;
    localparam logic [8*66-1:0] TEXT = {
        "warpline ", {4{VERDICT}}, " step ", {2{HEX}}, " crc ", {8{HEX}}, " cycles ", {8{HEX}}, " window ", {8{HEX}}
    };
    localparam logic [15:0] LINE_END = {8'h0d, 8'h0a};
    warpline_selftest_uart #(
        .DIVISOR(DIVISOR), .REPEAT_LOG(REPEAT_LOG),
`ifdef WARPLINE_TRANSMIT
        .LINE(102), .DIGITS(38),
        .TEXT({TEXT, " lost ", {4{HEX}}, " swapped ", {4{HEX}}, " again ", {4{HEX}}, LINE_END})
`else
        .LINE(68), .DIGITS(26), .TEXT({TEXT, LINE_END})
`endif
    ) uart (
        .clk(clk), .reset(reset), .finished(finished), .passed(passed), .uart_tx(uart_tx),
`ifdef WARPLINE_TRANSMIT
        .numbers({row, sum, cycles, folded, lost, swapped, again})
`else
        .numbers({row, sum, cycles, folded})
`endif
    );

`ifdef WARPLINE_TRANSMIT
    wire unused_control = &{1'b0, control_awready, control_wready, control_bvalid, control_arready, control_rvalid,
                            control_bresp, control_rresp, control_rdata};
`else
    wire unused_rom = &{1'b0, rom_row, rom_enable};
`endif
    wire unused = &{1'b0, segment_tready, m_awlen, m_awsize, m_awprot, m_awburst, m_awcache, m_arsize, m_arprot, m_arburst, m_arcache};
endmodule
