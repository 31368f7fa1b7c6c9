// What the self-test observes besides: cycles from the first beat in to the last write response, and all reports and
// interrupts folded into a word, so that nothing of the device is optimised away.
/* verilator lint_off PROCASSINIT */ // values at power-up, which an FPGA has
module warpline_selftest_watch (
    input  wire         clk,
    input  wire         reset,
    input  wire         first,   // a beat goes in
    input  wire         written, // a write response is accepted
    input  wire  [63:0] window_tdata,
    input  wire  [7:0]  window_tdest,
    input  wire         window_tvalid,
    input  wire  [7:0]  msix_tdata,
    input  wire         msix_tvalid,
    output logic [31:0] cycles = 0,
    output logic [31:0] folded = 0
);
    logic        clocked = 0;
    logic [31:0] since = 0;

    always_ff @(posedge clk) begin
        since <= since + 1;
        if (first & ~clocked) begin
            clocked <= 1;
            since <= 1;
        end
        if (written) cycles <= since;
        if (window_tvalid) folded <= {folded[30:0], folded[31]} ^ window_tdata[63:32] ^ window_tdata[31:0] ^ {24'h0, window_tdest};
        else if (msix_tvalid) folded <= {folded[30:0], folded[31]} ^ {msix_tdata, 24'h0};
        if (reset) begin
            clocked <= 0;
            cycles <= 0;
            folded <= 0;
        end
    end
endmodule
