// Self-test: the whole receive device on a board, with nothing connected but a clock.
//
//   program ──► registers ─► s_axil ─┐                            ┌─► memory ─► CRC32C ─► passed
//   (ROM)   └─► traffic ─► s_axis_segment ─► warpline ─► m_axi ───┘   16 KiB              uart_tx
//               (ROM)
//
// The program arms streams, registers memory and posts buffers as a host would, lets the traffic go, waits for the
// completions and for the counters that it expects, and compares the CRC of memory. Both ROMs are made
// (synth/src/selftest.rs) from the register description and the sender of the crate `wire`.
//
// A line on the UART, 8N1, repeated every 2^REPEAT_LOG cycles:
//   warpline PASS step xx crc xxxxxxxx cycles xxxxxxxx window xxxxxxxx
// All numbers are hexadecimal. `step` is the row of the program where it stopped, after PASS the last one; `cycles` lie between the first beat in and the last write response,
// `window` folds all messages of m_axis_window and m_axis_msix, so that nothing of the device is optimised away.
//
// A wide device leaves few block RAMs. With WARPLINE_FEW_BLOCK_RAMS, which the maker of the ROMs defines, memory has an enable
// for each octet of a 32-bit block RAM instead of a block RAM for each octet, the program is LUTs, and a row of the traffic's
// ROM is half a beat, so that a beat goes out every other cycle.
/* verilator lint_off PROCASSINIT */ // values at power-up, which an FPGA has
module warpline_selftest #(
    parameter integer W           = 64, // bits of the data path
    parameter integer DIVISOR     = 8,  // clock cycles of a UART bit
    parameter integer TIMEOUT_LOG = 20, // a step fails after 2^TIMEOUT_LOG cycles
    parameter integer REPEAT_LOG  = 27
) (
    input  wire  clk,
    input  wire  reset, // synchronous
    output logic finished,
    output logic passed,
    output logic uart_tx
);
    localparam integer K = W / 8;
    localparam integer LOGK = $clog2(K);
    localparam integer MEMORY_LOG = 14; // 16 KiB
    localparam integer ROW_BITS = MEMORY_LOG - LOGK;

    // ---- the device

    logic            aresetn = 0;
    logic [W-1:0]    segment_tdata = 0;
    logic [K-1:0]    segment_tkeep = 0;
    logic            segment_tlast = 0;
    logic [7:0]      segment_tdest = 0;
    logic [33:0]     segment_tuser = 0; // FIN stands behind each stream's last octet
    logic            segment_tvalid = 0;
    wire             segment_tready;
    wire  [63:0]     window_tdata;
    wire  [7:0]      window_tdest;
    wire             window_tvalid;
    logic            awvalid = 0, wvalid = 0, bready = 0, arvalid = 0, rready = 0;
    wire             awready, wready, bvalid, arready, rvalid;
    wire  [1:0]      bresp, rresp;
    wire  [31:0]     rdata;
    wire  [63:0]     m_awaddr, m_araddr;
    wire  [7:0]      m_awlen, m_arlen;
    wire  [2:0]      m_awsize, m_arsize, m_awprot, m_arprot;
    wire  [1:0]      m_awburst, m_arburst;
    wire  [3:0]      m_awcache, m_arcache;
    wire             m_awvalid, m_arvalid, m_wvalid, m_wlast, m_bready, m_rready;
    wire  [W-1:0]    m_wdata;
    wire  [K-1:0]    m_wstrb;
    logic            m_awready = 0, m_wready = 0, m_bvalid = 0;
    wire  [7:0]      msix_tdata;
    wire             msix_tvalid;

    wire  [46:0]     step; // of the program: operation, address, data
    wire  [2:0]      operation = step[46:44];
    wire  [11:0]     address = step[43:32];
    wire  [31:0]     data = step[31:0];

    warpline device (
        .aclk(clk), .aresetn(aresetn),
        .s_axis_segment_tdata(segment_tdata), .s_axis_segment_tkeep(segment_tkeep), .s_axis_segment_tlast(segment_tlast),
        .s_axis_segment_tdest(segment_tdest), .s_axis_segment_tuser(segment_tuser),
        .s_axis_segment_tvalid(segment_tvalid), .s_axis_segment_tready(segment_tready),
        .m_axis_window_tdata(window_tdata), .m_axis_window_tdest(window_tdest),
        .m_axis_window_tvalid(window_tvalid), .m_axis_window_tready(1'b1),
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
        .m_axi_arcache(m_arcache), .m_axi_arprot(m_arprot), .m_axi_arvalid(m_arvalid), .m_axi_arready(1'b0),
        .m_axi_rdata({W{1'b0}}), .m_axi_rresp(2'b0), .m_axi_rlast(1'b0), .m_axi_rvalid(1'b0), .m_axi_rready(m_rready),
        .m_axis_msix_tdata(msix_tdata), .m_axis_msix_tvalid(msix_tvalid), .m_axis_msix_tready(1'b1)
    );
    always_ff @(posedge clk) aresetn <= ~reset;

    // ---- program

    localparam logic [2:0] WRITE = 0;   // data into the register at `address`
    localparam logic [2:0] COMMAND = 1; // wait until bit 31 of the register is 0; fail if its bit 30 is 1
    localparam logic [2:0] EXPECT = 2;  // wait until the register reads `data`
    localparam logic [2:0] TRAFFIC = 3; // let the traffic go
    // any other: the CRC of the first 64 * `address` octets of memory has to be `data`

    typedef enum logic [3:0] {Fetch, Settle, Decode, Answer, Ask, Reply, Compare, Weigh, Judge, Send, Sum, Tally, Verdict, Finished} state_t;

    state_t                 state = Fetch;
    logic [7:0]             row = 0;
    logic [TIMEOUT_LOG:0]   timer = 0;
    logic [31:0]            word = 0;
    logic                   equal = 0, refused = 0;
    logic [3:0]             same_word = 0, same_sum = 0; // octet by octet, so that no comparison is wide
    logic                   go = 0, sent = 0;
    logic                   sum_go = 0, sum_done = 0;
    logic [31:0]            sum = 0;
    logic                   outside = 0; // the device left memory, or read it
    logic                   ok = 0;

    warpline_selftest_program program_rom (.clock(clk), .row(row), .out(step));

    always_ff @(posedge clk) begin
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

    // ---- traffic: a beat every cycle; the rings hold all of it

    wire [W+K+45:0]  beat; // last row, tlast, tkeep, tdest, tuser in 36 bits, tdata
    logic [11:0]     beat_row = 0;
    logic            sending = 0, beat_there = 0;

    warpline_selftest_traffic traffic_rom (.clock(clk), .row(beat_row), .out(beat));

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

    // ---- memory: one burst at a time

`ifdef WARPLINE_FEW_BLOCK_RAMS
    localparam integer OCTETS = 4; // of a block RAM's row
`else
    localparam integer OCTETS = 1;
`endif
    logic [ROW_BITS-1:0] burst_row = 0;
    logic                put = 0;
    logic [ROW_BITS-1:0] put_row = 0;
    logic [W-1:0]        put_data = 0;
    logic [K-1:0]        put_strobe = 0;
    logic [ROW_BITS-1:0] get_row = 0;
    logic [W-1:0]        got_ram = 0, got = 0;

    always_ff @(posedge clk) begin
        put <= m_wvalid & m_wready;
        put_row <= burst_row;
        put_data <= m_wdata;
        put_strobe <= m_wstrb;
        m_awready <= ~m_wready & ~m_bvalid & ~(m_awvalid & m_awready);
        if (m_awvalid & m_awready) begin
            burst_row <= m_awaddr[MEMORY_LOG-1:LOGK];
            m_wready <= 1;
            if (|m_awaddr[63:MEMORY_LOG]) outside <= 1;
        end
        if (m_wvalid & m_wready) begin
            burst_row <= burst_row + 1;
            if (m_wlast) begin
                m_wready <= 0;
                m_bvalid <= 1;
            end
        end
        if (m_bvalid & m_bready) m_bvalid <= 0;
        if (m_arvalid) outside <= 1;
        if (reset) begin
            m_awready <= 0;
            m_wready <= 0;
            m_bvalid <= 0;
            outside <= 0;
        end
    end

    generate
        for (genvar i = 0; i < K / OCTETS; i = i + 1) begin : lane
            (* no_rw_check *) reg [8*OCTETS-1:0] octets [0:(1 << ROW_BITS) - 1];
`ifndef SYNTHESIS
            initial for (integer n = 0; n < (1 << ROW_BITS); n = n + 1) octets[n] = 0;
`endif
            always_ff @(posedge clk) begin
                got_ram[8 * OCTETS * i +: 8 * OCTETS] <= octets[get_row];
                // with one octet the same, but yosys makes another netlist of the whole device of it, 1,491 LUT4 larger
`ifdef WARPLINE_FEW_BLOCK_RAMS
                for (integer n = 0; n < OCTETS; n = n + 1)
                    if (put & put_strobe[OCTETS * i + n]) octets[put_row][8 * n +: 8] <= put_data[8 * (OCTETS * i + n) +: 8];
`else
                if (put & put_strobe[i]) octets[put_row] <= put_data[8 * i +: 8];
`endif
            end
        end
    endgenerate
    always_ff @(posedge clk) got <= got_ram;

    // ---- CRC32C of memory, an octet a cycle

    function automatic [31:0] crc_step(input [31:0] crc, input [7:0] octet);
        crc_step = crc ^ {24'h0, octet};
        for (integer n = 0; n < 8; n = n + 1) crc_step = crc_step[0] ? (crc_step >> 1) ^ 32'h82f6_3b78 : crc_step >> 1;
    endfunction

    logic            summing = 0;
    logic [2:0]      phase = 0;
    logic [W-1:0]    row_octets = 0;
    logic [LOGK:0]   left = 0;
    logic [12:0]     rows_left = 0;
    logic [7:0]      octet = 0;
    logic            octet_there = 0, tail = 0;
    logic [31:0]     crc = 0;

    always_ff @(posedge clk) begin
        octet_there <= 0;
        sum_done <= 0;
        tail <= 0;
        octet <= row_octets[7:0];
        // what stands there between two rows is of no matter
        row_octets <= |left ? row_octets >> 8 : got;
        if (sum_go) begin
            summing <= 1;
            phase <= 0;
            get_row <= 0;
            left <= 0;
            rows_left <= 13'({1'b0, address} << (6 - LOGK));
            crc <= 32'hffff_ffff;
        end else if (summing) begin
            if (|left) begin
                left <= left - 1;
                octet_there <= 1;
            end else if (phase != 4) begin
                phase <= phase + 1;
            end else if (|rows_left) begin
                phase <= 0;
                left <= (LOGK + 1)'(K);
                get_row <= get_row + 1;
                rows_left <= rows_left - 1;
            end else begin
                summing <= 0;
                tail <= 1;
            end
        end
        if (octet_there) crc <= crc_step(crc, octet);
        if (tail) sum <= ~crc;
        sum_done <= tail;
        if (reset) summing <= 0;
    end

    // ---- what is observed besides

    logic        clocked = 0;
    logic [31:0] cycles = 0, since = 0;
    logic [31:0] folded = 0;

    always_ff @(posedge clk) begin
        since <= since + 1;
        if (segment_tvalid & ~clocked) begin
            clocked <= 1;
            since <= 1;
        end
        if (m_bvalid & m_bready) cycles <= since;
        if (window_tvalid) folded <= {folded[30:0], folded[31]} ^ window_tdata[63:32] ^ window_tdata[31:0] ^ {24'h0, window_tdest};
        else if (msix_tvalid) folded <= {folded[30:0], folded[31]} ^ {msix_tdata, 24'h0};
        if (reset) begin
            clocked <= 0;
            cycles <= 0;
            folded <= 0;
        end
    end

    // ---- the line on the UART

    localparam integer LINE = 68; // characters
    localparam logic [7:0] HEX = 8'h80; // stands for the next digit of `digits`
    localparam logic [7:0] WORD = 8'h81; // P A S S or F A I L, four of it

    // The text is a vector, its first character on top.
    localparam logic [8*LINE-1:0] TEXT = {
        "warpline ", WORD, WORD, WORD, WORD, " step ", {2{HEX}}, " crc ", {8{HEX}}, " cycles ", {8{HEX}}, " window ", {8{HEX}},
        8'h0d, 8'h0a
    };

    logic [8*LINE-1:0]                text = 0;
    logic [103:0]                   digits = 0;
    logic [31:0]                    verdict = 0;
    logic [6:0]                     characters = 0;
    logic [REPEAT_LOG:0]            pause = 0;
    logic [$clog2(DIVISOR+1)-1:0]   bit_timer = 0;
    logic [3:0]                     bits = 0;
    logic [9:0]                     frame = 10'h3ff;
    logic [7:0]                     character = 0;
    logic                           loaded = 0, printed = 0;
    logic                           begins = 0, moves = 0, took_digit = 0, took_word = 0; // what the long registers do next
    wire  [3:0]                     digit = digits[103:100];

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
            end else if (text[8*LINE-1 -: 8] == WORD) begin
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
            digits <= {row, sum, cycles, folded};
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

    wire unused = &{1'b0, segment_tready, m_awlen, m_awsize, m_awprot, m_awburst, m_awcache, m_araddr, m_arlen, m_arsize, m_arprot,
                    m_arburst, m_arcache, m_rready, m_awaddr[LOGK-1:0], beat[W+35:W+34]};
endmodule
