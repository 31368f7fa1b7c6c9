// Memory of the self-test: 16 KiB that the device writes, and a CRC over their first octets.
//
//   m_axi W ─► rows ─┬─► CRC32C, an octet a cycle ─► sum
//        R ◄─────────┴── ROM of the same size behind it, if the device reads (READS)
//
// One burst is written at a time, and one read. `outside` says that the device has left memory, or read though READS is 0. Addresses
// from 16 KiB on are the ROM's, which has a row `rom_row` ready, one cycle later, in cycles with `rom_enable`.
//
// With WARPLINE_FEW_BLOCK_RAMS memory has an enable for each octet of a 32-bit block RAM instead of a block RAM for each octet.
/* verilator lint_off PROCASSINIT */ // values at power-up, which an FPGA has
module warpline_selftest_memory #(
    parameter integer W     = 64, // bits of the data path
    parameter integer READS = 0
) (
    input  wire                clk,
    input  wire                reset,
    input  wire  [63:0]        m_awaddr,
    input  wire                m_awvalid,
    output logic               m_awready = 0,
    input  wire  [W-1:0]       m_wdata,
    input  wire  [W/8-1:0]     m_wstrb,
    input  wire                m_wlast,
    input  wire                m_wvalid,
    output logic               m_wready = 0,
    output logic               m_bvalid = 0,
    input  wire                m_bready,
    input  wire  [63:0]        m_araddr,
    input  wire  [7:0]         m_arlen,
    input  wire                m_arvalid,
    output logic               m_arready = 0,
    output wire  [W-1:0]       m_rdata,
    output logic               m_rlast = 0,
    output logic               m_rvalid = 0,
    input  wire                m_rready,
    output wire  [13-$clog2(W/8):0] rom_row,
    output wire                rom_enable,
    input  wire  [W-1:0]       rom_data,
    output logic               outside = 0,
    // the CRC of the first 64 * `blocks` octets
    input  wire                sum_go,
    input  wire  [11:0]        blocks,
    output logic               sum_done = 0,
    output logic [31:0]        sum = 0
);
    localparam integer K = W / 8;
    localparam integer LOGK = $clog2(K);
    localparam integer MEMORY_LOG = 14; // 16 KiB
    localparam integer ROW_BITS = MEMORY_LOG - LOGK;

`ifdef WARPLINE_FEW_BLOCK_RAMS
    localparam integer OCTETS = 4; // of a block RAM's row
`else
    localparam integer OCTETS = 1;
`endif

    // ---- writes: one burst at a time

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
        if (m_arvalid & (READS == 0 | |m_araddr[63:MEMORY_LOG+1])) outside <= 1;
        if (reset) begin
            m_awready <= 0;
            m_wready <= 0;
            m_bvalid <= 0;
            outside <= 0;
        end
    end

    // ---- rows: of memory, and of the ROM behind it

    // a stalled word holds up the rows behind it
    wire  advance = READS == 0 | ~m_rvalid | m_rready;
    logic reading = 0, read = 0, read_last = 0, of_rom = 0, read_of_rom = 0;
    logic [7:0] beats_left = 0;

    generate
        for (genvar i = 0; i < K / OCTETS; i = i + 1) begin : lane
            (* no_rw_check *) reg [8*OCTETS-1:0] octets [0:(1 << ROW_BITS) - 1];
`ifndef SYNTHESIS
            initial for (integer n = 0; n < (1 << ROW_BITS); n = n + 1) octets[n] = 0;
`endif
            always_ff @(posedge clk) begin
                if (advance) got_ram[8 * OCTETS * i +: 8 * OCTETS] <= octets[get_row];
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
    always_ff @(posedge clk) if (advance) got <= read_of_rom ? rom_data : got_ram;
    assign rom_row = get_row;
    assign rom_enable = advance;
    assign m_rdata = got;

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
            rows_left <= 13'({1'b0, blocks} << (6 - LOGK));
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
        end else if (m_arvalid & m_arready) begin
            get_row <= m_araddr[MEMORY_LOG-1:LOGK];
        end else if (reading & advance) begin
            get_row <= get_row + 1;
        end
        if (octet_there) crc <= crc_step(crc, octet);
        if (tail) sum <= ~crc;
        sum_done <= tail;
        if (reset) summing <= 0;
    end

    // ---- reads: one burst at a time, a beat a cycle

    always_ff @(posedge clk) begin
        m_arready <= READS != 0 & ~reading & ~summing & ~(m_arvalid & m_arready);
        if (m_arvalid & m_arready) begin
            reading <= 1;
            of_rom <= m_araddr[MEMORY_LOG];
            beats_left <= m_arlen;
        end
        if (advance) begin
            read <= reading;
            read_last <= beats_left == 0;
            read_of_rom <= of_rom;
            m_rvalid <= read;
            m_rlast <= read_last;
            if (reading) begin
                beats_left <= beats_left - 1;
                if (beats_left == 0) reading <= 0;
            end
        end
        if (sum_go) of_rom <= 0;
        if (reset) begin
            m_arready <= 0;
            m_rvalid <= 0;
            reading <= 0;
            read <= 0;
        end
    end

    wire unused = &{1'b0, m_awaddr[LOGK-1:0], m_araddr[LOGK-1:0]};
endmodule
