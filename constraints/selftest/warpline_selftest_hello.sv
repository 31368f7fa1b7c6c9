// In place of the self-test: what shows that a board's clock, PLL, button, UART and LEDs work before the device is on it.
//
// Prints `warpline hello xxxxxxxx` every 2^REPEAT_LOG cycles of the PLL's clock, with the cycles since the button was released.
// Two lines tell the clock: their numbers differ by a little more than 2^REPEAT_LOG.
/* verilator lint_off PROCASSINIT */ // values at power-up, which an FPGA has
/* verilator lint_off UNUSEDPARAM */ // those of the self-test that a board sets
module warpline_selftest #(
    parameter integer W           = 64,
    parameter integer DIVISOR     = 1354,
    parameter integer TIMEOUT_LOG = 24,
    parameter integer REPEAT_LOG  = 27
) (
    input  wire clk,
    input  wire reset,
    output wire finished,
    output wire passed,
    output wire uart_tx
);
    localparam integer LINE = 25;

    logic [31:0] cycles = 0;
    always_ff @(posedge clk) cycles <= reset ? 0 : cycles + 1;

    assign finished = ~reset;
    assign passed = 1'b1;
    warpline_selftest_uart #(
        .DIVISOR(DIVISOR), .REPEAT_LOG(REPEAT_LOG), .LINE(LINE), .DIGITS(8),
        .TEXT({"warpline hello ", {8{8'h80}}, "\r\n"})
    ) uart (
        .clk(clk), .reset(reset), .finished(finished), .passed(passed), .numbers(cycles), .uart_tx(uart_tx)
    );
endmodule
