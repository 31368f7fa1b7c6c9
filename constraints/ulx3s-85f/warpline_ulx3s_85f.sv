// Self-test of warpline on the Radiona ULX3S with LFE5U-85F (LFE5U-85F).
//
//   clk25 ─► PLL ─► 100 MHz, 75 MHz at 512 bits ─► warpline_selftest ─► uart_tx, led
//
// The part is of speed grade 6, and slower than the ECP5-5G for which 156.25 MHz is the target: no placement of the whole
// device has shown yet that it reaches these clocks; the VCO runs at 600 MHz.
//
// The LEDs blink slowly when the test has passed, fast when it has failed, and stand still while it runs, so that their
// polarity does not matter. Pins: warpline_ulx3s_85f.lpf. Both files are written from the table in synth/src/board/mod.rs.
/* verilator lint_off PROCASSINIT */ // values at power-up, which an FPGA has
module warpline_ulx3s_85f #(
    parameter integer W           = 64,
    parameter integer DIVISOR     = W == 512 ? 651 : 868, // 75 MHz / 115200, 100 MHz / 115200
    parameter integer TIMEOUT_LOG = 24,
    parameter integer REPEAT_LOG  = 27
) (
    input  wire        clk25,
    input  wire        restart,
    output logic [7:0] led,
    output wire        uart_tx,
    output wire        wifi_gpio0
);
    wire clk, locked;

    (* ICP_CURRENT = "12", LPF_RESISTOR = "8", MFG_ENABLE_FILTEROPAMP = "1", MFG_GMCREF_SEL = "2" *)
    EHXPLLL #(
        .PLLRST_ENA("DISABLED"), .INTFB_WAKE("DISABLED"), .STDBY_ENABLE("DISABLED"), .DPHASE_SOURCE("DISABLED"),
        .OUTDIVIDER_MUXA("DIVA"), .OUTDIVIDER_MUXB("DIVB"), .OUTDIVIDER_MUXC("DIVC"), .OUTDIVIDER_MUXD("DIVD"),
        .CLKI_DIV(1), .CLKFB_DIV(W == 512 ? 3 : 4), .FEEDBK_PATH("CLKOP"),
        .CLKOP_ENABLE("ENABLED"), .CLKOP_DIV(W == 512 ? 8 : 6), .CLKOP_CPHASE(W == 512 ? 3 : 2), .CLKOP_FPHASE(0)
    ) pll (
        .CLKI(clk25), .CLKFB(clk), .CLKOP(clk), .LOCK(locked), .RST(1'b0), .STDBY(1'b0),
        .PHASESEL0(1'b0), .PHASESEL1(1'b0), .PHASEDIR(1'b1), .PHASESTEP(1'b1), .PHASELOADREG(1'b1),
        .PLLWAKESYNC(1'b0), .ENCLKOP(1'b0)
    );

    // Button and lock come from elsewhere: two registers each, then reset is held for a while.
    logic [1:0] button = 0, lock = 0;
    logic [7:0] held = 0;
    logic       reset = 1;
    always_ff @(posedge clk) begin
        button <= {button[0], ~restart};
        lock <= {lock[0], locked};
        reset <= ~&held;
        if (~(button[1] & lock[1])) held <= 0;
        else if (~&held) held <= held + 1;
    end

    wire finished, passed;
    warpline_selftest #(.W(W), .DIVISOR(DIVISOR), .TIMEOUT_LOG(TIMEOUT_LOG), .REPEAT_LOG(REPEAT_LOG)) selftest (
        .clk(clk), .reset(reset), .finished(finished), .passed(passed), .uart_tx(uart_tx)
    );

    logic [26:0] time_passed = 0;
    always_ff @(posedge clk) begin
        time_passed <= time_passed + 1;
        led <= {8{finished & (passed ? time_passed[26] : time_passed[23])}};
    end
    assign wifi_gpio0 = 1'b1;
endmodule
