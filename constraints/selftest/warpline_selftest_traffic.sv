// Traffic of the self-test: the segments of a ROM, a beat every cycle. The rings of the device hold all of it.
//
// With WARPLINE_FEW_BLOCK_RAMS a row of the ROM is half a beat, so that a beat goes out every other cycle.
/* verilator lint_off PROCASSINIT */ // values at power-up, which an FPGA has
module warpline_selftest_traffic #(
    parameter integer W = 64 // bits of the data path
) (
    input  wire             clk,
    input  wire             reset,
    input  wire             go,
    output logic            sent = 0,
    output logic [W-1:0]    segment_tdata = 0,
    output logic [W/8-1:0]  segment_tkeep = 0,
    output logic            segment_tlast = 0,
    output logic [7:0]      segment_tdest = 0,
    output logic [33:0]     segment_tuser = 0, // FIN stands behind each stream's last octet
    output logic            segment_tvalid = 0
);
    localparam integer K = W / 8;

    wire [W+K+45:0]  beat; // last row, tlast, tkeep, tdest, tuser in 36 bits, tdata
    logic [11:0]     beat_row = 0;
    logic            sending = 0, beat_there = 0;

    warpline_selftest_beats beats_rom (.clock(clk), .row(beat_row), .out(beat));

    always_ff @(posedge clk) begin
        sent <= 0;
`ifdef WARPLINE_FEW_BLOCK_RAMS
        beat_there <= sending & beat_row[0]; // the upper half of the beat
`else
        beat_there <= sending;
`endif
        if (go) sending <= 1;
        if (sending) beat_row <= beat_row + 1;
        segment_tvalid <= beat_there;
        {segment_tlast, segment_tkeep, segment_tdest} <= beat[W+K+44:W+36];
        {segment_tuser, segment_tdata} <= beat[W+33:0];
        if (beat_there & beat[W+K+45]) begin
            sending <= 0;
            beat_there <= 0;
            sent <= 1;
        end
        if (reset) begin
            sending <= 0;
            beat_there <= 0;
            segment_tvalid <= 0;
            beat_row <= 0;
        end
    end

    wire unused = &{1'b0, beat[W+35:W+34]};
endmodule
