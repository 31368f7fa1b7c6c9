// A model of the PLL that passes the clock through.
/* verilator lint_off DECLFILENAME */
/* verilator lint_off UNUSEDSIGNAL */
/* verilator lint_off UNUSEDPARAM */
module EHXPLLL #(
    parameter PLLRST_ENA = "", INTFB_WAKE = "", STDBY_ENABLE = "", DPHASE_SOURCE = "",
    parameter OUTDIVIDER_MUXA = "", OUTDIVIDER_MUXB = "", OUTDIVIDER_MUXC = "", OUTDIVIDER_MUXD = "",
    parameter FEEDBK_PATH = "", CLKOP_ENABLE = "",
    parameter integer CLKI_DIV = 1, CLKFB_DIV = 1, CLKOP_DIV = 1, CLKOP_CPHASE = 0, CLKOP_FPHASE = 0
) (
    input wire CLKI, CLKFB, RST, STDBY, PHASESEL0, PHASESEL1, PHASEDIR, PHASESTEP, PHASELOADREG, PLLWAKESYNC, ENCLKOP,
    output wire CLKOP, LOCK
);
    assign CLKOP = CLKI;
    assign LOCK = 1'b1;
endmodule
