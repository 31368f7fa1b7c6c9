// The host of the self-test: carries out its program, a row at a time, and knows whether it has passed.
//
//   program (ROM) ──► registers ─► s_axil of the device
//        │ ▲ sent                │ ▲ sum
//        ▼ │                     ▼ │
//       traffic                 memory
//
// A step fails when a response is an error, when a command is refused, when the device leaves memory (`outside`), or after
// 2^TIMEOUT_LOG cycles.
/* verilator lint_off PROCASSINIT */ // values at power-up, which an FPGA has
module warpline_selftest_host #(
    parameter integer TIMEOUT_LOG = 20
) (
    input  wire         clk,
    input  wire         reset,
    // registers
    output wire  [11:0] address,
    output wire  [31:0] data,
    output logic        awvalid = 0,
    input  wire         awready,
    output logic        wvalid = 0,
    input  wire         wready,
    input  wire  [1:0]  bresp,
    input  wire         bvalid,
    output logic        bready = 0,
    output logic        arvalid = 0,
    input  wire         arready,
    input  wire  [31:0] rdata,
    input  wire  [1:0]  rresp,
    input  wire         rvalid,
    output logic        rready = 0,
    // traffic: lets it go; it is sent
    output logic        go = 0,
    input  wire         sent,
    // memory: its CRC is wanted, and there; the device has left it
    output logic        sum_go = 0,
    input  wire         sum_done,
    input  wire  [31:0] sum,
    input  wire         outside,
    // the row of the program, and the verdict
    output logic [7:0]  row = 0,
    output logic        finished = 0,
    output logic        passed = 0
);
    wire  [46:0]     rom_step;
    logic [46:0]     step = 0; // operation, address, data: a register behind the block RAM, whose output is late
    wire  [2:0]      operation = step[46:44];
    assign address = step[43:32];
    assign data = step[31:0];

    localparam logic [2:0] WRITE = 0;   // data into the register at `address`
    localparam logic [2:0] COMMAND = 1; // wait until bit 31 of the register is 0; fail if its bit 30 is 1
    localparam logic [2:0] EXPECT = 2;  // wait until the register reads `data`
    localparam logic [2:0] TRAFFIC = 3; // let the traffic go; the next row begins when it is sent
    // any other: the CRC of the first 64 * `address` octets of memory has to be `data`

    typedef enum logic [3:0] {Fetch, Settle, Decode, Answer, Ask, Reply, Compare, Weigh, Judge, Send, Sum, Tally, Verdict, Finished} state_t;

    state_t                 state = Fetch;
    logic [TIMEOUT_LOG:0]   timer = 0;
    logic [31:0]            word = 0;
    logic                   equal = 0, refused = 0;
    logic [3:0]             same_word = 0, same_sum = 0; // octet by octet, so that no comparison is wide
    logic                   ok = 0;

    warpline_selftest_program program_rom (.clock(clk), .row(row), .out(rom_step));

    always_ff @(posedge clk) begin
        step <= rom_step;
        timer <= timer + 1;
        go <= 0;
        sum_go <= 0;
        for (int octet = 0; octet < 4; octet = octet + 1) begin
            same_word[octet] <= word[8*octet +: 8] == data[8*octet +: 8];
            same_sum[octet] <= sum[8*octet +: 8] == data[8*octet +: 8];
        end
        case (state)
            Fetch: begin
                timer <= 0;
                state <= Settle;
            end
            Settle: state <= Decode;
            Decode: begin
                word <= 0;
                case (operation)
                    WRITE: begin
                        awvalid <= 1;
                        wvalid <= 1;
                        bready <= 1;
                        state <= Answer;
                    end
                    COMMAND, EXPECT: state <= Ask;
                    TRAFFIC: begin
                        go <= 1;
                        state <= Send;
                    end
                    default: begin
                        sum_go <= 1;
                        state <= Sum;
                    end
                endcase
            end
            Answer: begin
                if (awready) awvalid <= 0;
                if (wready) wvalid <= 0;
                if (bvalid) begin
                    bready <= 0;
                    refused <= |bresp;
                    equal <= ~|bresp;
                    state <= Judge;
                end else if (timer[TIMEOUT_LOG]) begin
                    state <= Finished;
                end
            end
            Ask: begin
                arvalid <= 1;
                rready <= 1;
                state <= Reply;
            end
            Reply: begin
                if (arready) arvalid <= 0;
                word <= rdata;
                refused <= |rresp;
                if (rvalid) begin
                    rready <= 0;
                    state <= Compare;
                end else if (timer[TIMEOUT_LOG]) begin
                    state <= Finished;
                end
            end
            Compare: begin
                if (operation == COMMAND && word[31:30] == 2'b01) refused <= 1;
                state <= Weigh;
            end
            Weigh: begin
                equal <= operation == COMMAND ? ~word[31] : &same_word;
                state <= Judge;
            end
            Judge: begin
                if (refused | outside | timer[TIMEOUT_LOG]) begin
                    state <= Finished;
                end else if (equal) begin
                    row <= row + 1;
                    state <= Fetch;
                end else begin
                    state <= Ask;
                end
            end
            Send: if (sent) begin
                row <= row + 1;
                state <= Fetch;
            end
            Sum: begin
                if (sum_done) state <= Tally;
            end
            Tally: begin
                equal <= &same_sum;
                state <= Verdict;
            end
            Verdict: begin
                ok <= equal & ~outside;
                state <= Finished;
            end
            default: ;
        endcase
        finished <= state == Finished;
        passed <= ok;
        if (reset) begin
            state <= Fetch;
            row <= 0;
            ok <= 0;
            refused <= 0;
            awvalid <= 0;
            wvalid <= 0;
            bready <= 0;
            arvalid <= 0;
            rready <= 0;
        end
    end
endmodule
