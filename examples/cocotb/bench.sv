// The device and the signals that cocotb drives and looks at, all by their port names.
//
// warpline leaves AXI's IDs out, as AXI4 lets a master do; cocotbext-axi asks for them, and gets zeros.

`timescale 1ns / 1ps

module bench;
    `include "warpline_instance.svh"

    wire [0:0] m_axi_awid = 1'b0;
    wire [0:0] m_axi_arid = 1'b0;
    wire [0:0] m_axi_bid;
    wire [0:0] m_axi_rid;
endmodule
