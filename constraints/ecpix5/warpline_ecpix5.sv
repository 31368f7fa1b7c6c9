// Self-test of warpline on the LambdaConcept ECPIX-5, 85F (LFE5UM5G-85F-BG554).
//
//   clk100 ─► PLL ─► 157.14 MHz, 120 MHz at 512 bits ─► warpline_selftest ─► uart_tx, led
//
// 100 × 11 / 7 = 157.14 MHz is the slowest clock above 156.25 MHz with a phase detector frequency in the data sheet's range
// (10 MHz and more); the VCO runs at 628.57 MHz, or at 600 MHz.
//
// The LEDs blink slowly when the test has passed, fast when it has failed, and stand still while it runs, so that their
// polarity does not matter. Pins: warpline_ecpix5.lpf. Both files are written from the table in synth/src/board/mod.rs.
/* verilator lint_off PROCASSINIT */ // values at power-up, which an FPGA has
module warpline_ecpix5 #(
    parameter integer W           = 64,
    parameter integer DIVISOR     = W == 512 ? 1042 : 1364, // 120 MHz / 115200, 157.14 MHz / 115200
    parameter integer TIMEOUT_LOG = 24,
    parameter integer REPEAT_LOG  = 27
) (
    input  wire         clk100,
    input  wire         reset_n,
    output logic [11:0] led,
    output wire         uart_tx
);
    wire clk, locked;

    (* ICP_CURRENT = "12", LPF_RESISTOR = "8", MFG_ENABLE_FILTEROPAMP = "1", MFG_GMCREF_SEL = "2" *)
    EHXPLLL #(
        .PLLRST_ENA("DISABLED"), .INTFB_WAKE("DISABLED"), .STDBY_ENABLE("DISABLED"), .DPHASE_SOURCE("DISABLED"),
        .OUTDIVIDER_MUXA("DIVA"), .OUTDIVIDER_MUXB("DIVB"), .OUTDIVIDER_MUXC("DIVC"), .OUTDIVIDER_MUXD("DIVD"),
        .CLKI_DIV(W == 512 ? 5 : 7), .CLKFB_DIV(W == 512 ? 6 : 11), .FEEDBK_PATH("CLKOP"),
        .CLKOP_ENABLE("ENABLED"), .CLKOP_DIV(W == 512 ? 5 : 4), .CLKOP_CPHASE(W == 512 ? 2 : 1), .CLKOP_FPHASE(0)
    ) pll (
        .CLKI(clk100), .CLKFB(clk), .CLKOP(clk), .LOCK(locked), .RST(1'b0), .STDBY(1'b0),
        .PHASESEL0(1'b0), .PHASESEL1(1'b0), .PHASEDIR(1'b1), .PHASESTEP(1'b1), .PHASELOADREG(1'b1),
        .PLLWAKESYNC(1'b0), .ENCLKOP(1'b0)
    );

    // Button and lock come from elsewhere: two registers each, then reset is held for a while.
    logic [1:0] button = 0, lock = 0;
    logic [7:0] held = 0;
    logic       reset = 1;
    always_ff @(posedge clk) begin
        button <= {button[0], reset_n};
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
        led <= {12{finished & (passed ? time_passed[26] : time_passed[23])}};
    end
endmodule
