// The line of the self-test on the UART, 8N1, repeated every 2^REPEAT_LOG cycles.
//
// TEXT has LINE characters, the first one on top. HEX stands for the next digit of `numbers`, the first one on top, and
// VERDICT, four times, for PASS or FAIL.
/* verilator lint_off PROCASSINIT */ // values at power-up, which an FPGA has
module warpline_selftest_uart #(
    parameter integer              DIVISOR    = 8, // clock cycles of a bit
    parameter integer              REPEAT_LOG = 27,
    parameter integer              LINE       = 4,
    parameter integer              DIGITS     = 1,
    parameter logic [8*LINE-1:0]   TEXT       = {LINE{8'h81}}
) (
    input  wire                clk,
    input  wire                reset,
    input  wire                finished,
    input  wire                passed,
    input  wire [4*DIGITS-1:0] numbers,
    output logic               uart_tx = 1
);
    localparam logic [7:0] HEX = 8'h80;
    localparam logic [7:0] VERDICT = 8'h81;

    logic [8*LINE-1:0]                text = 0;
    logic [4*DIGITS-1:0]              digits = 0;
    logic [31:0]                    verdict = 0;
    logic [6:0]                     characters = 0;
    logic [REPEAT_LOG:0]            pause = 0;
    logic [$clog2(DIVISOR+1)-1:0]   bit_timer = 0;
    logic [3:0]                     bits = 0;
    logic [9:0]                     frame = 10'h3ff;
    logic [7:0]                     character = 0;
    logic                           loaded = 0, printed = 0;
    logic                           begins = 0, moves = 0, took_digit = 0, took_word = 0; // what the long registers do next
    wire  [3:0]                       digit = digits[4*DIGITS-1 -: 4];

    always_ff @(posedge clk) begin
        uart_tx <= frame[0];
        begins <= 0;
        moves <= 0;
        took_digit <= 0;
        took_word <= 0;
        if (|bits) begin
            if (bit_timer == 0) begin
                bit_timer <= ($clog2(DIVISOR + 1))'(DIVISOR - 1);
                frame <= {1'b1, frame[9:1]};
                bits <= bits - 1;
            end else begin
                bit_timer <= bit_timer - 1;
            end
        end else if (printed) begin
            printed <= 0;
            frame <= {1'b1, character, 1'b0};
            bits <= 10;
            bit_timer <= ($clog2(DIVISOR + 1))'(DIVISOR - 1);
        end else if (loaded) begin
            loaded <= 0;
            printed <= 1;
            moves <= 1;
            if (text[8*LINE-1 -: 8] == HEX) begin
                character <= digit < 10 ? {4'h3, digit} : 8'd87 + {4'h0, digit};
                took_digit <= 1;
            end else if (text[8*LINE-1 -: 8] == VERDICT) begin
                character <= verdict[31:24];
                took_word <= 1;
            end else begin
                character <= text[8*LINE-1 -: 8];
            end
        end else if (|characters) begin
            loaded <= 1;
            characters <= characters - 1;
        end else if (finished) begin
            pause <= pause + 1;
            if (pause == 0) begin
                characters <= 7'(LINE);
                begins <= 1;
            end
            if (pause[REPEAT_LOG]) pause <= 0;
        end
        if (begins) begin
            text <= TEXT;
            digits <= numbers;
            verdict <= passed ? "PASS" : "FAIL";
        end
        if (moves) text <= text << 8;
        if (took_digit) digits <= digits << 4;
        if (took_word) verdict <= verdict << 8;
        if (reset) begin
            characters <= 0;
            pause <= 0;
            bits <= 0;
            loaded <= 0;
            printed <= 0;
            frame <= 10'h3ff;
        end
    end
endmodule
