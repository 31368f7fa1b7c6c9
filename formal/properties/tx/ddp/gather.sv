// m_axi, reads: the bursts of a piece hold the beats in which its octets lie, each once, and no others.
//
//   piece ─► queue ─► measure ─► split ─┬─► queue ─► AR: as offered, until it is accepted
//                                       └─► as many beats to `answers`
//
// A burst begins where the one before ended: the first one at the beat of the piece's first octet, the last one ends with
// the beat of its last octet; addresses are those of the piece, modulo 2^64. It is aligned to the bus and does not cross
// 4 KiB, and it has at most 256 beats, the most that ARLEN can express. Pieces that carry their octets are not read. `answers` gets a record
// of each burst when its address goes into the queue. What `answers` and the blocks behind it do is arbitrary here.
//
// Assumed: a piece has at least one octet (local_access.rs).
module gather_properties #(parameter K = 8) (
    input clock,
    input reset,
    input [161:0] s_piece,
    input s_piece_valid,
    input s_piece_ready,
    input [63:0] m_axi_araddr,
    input [7:0] m_axi_arlen,
    input [2:0] m_axi_arsize,
    input [1:0] m_axi_arburst,
    input m_axi_arvalid,
    input m_axi_arready,
    // inside
    input go,
    input [161:0] pieces_m_data,
    input pieces_m_valid,
    input pieces__full_q,
    input pieces__read_q,
    input pieces__write_q,
    input [323:0] pieces__store__proof_rows,
    input measure__known_q,
    input measure__memory_q,
    input [112:0] measure__bounds_q,
    input split__take,
    input split__free,
    input split__emit,
    input split__active_q,
    input [31:0] split__high_q,
    input [31:0] split__high_next_q,
    input [31:0] split__block_number_q,
    input [7:0] split__blocks_left_q,
    input split__last_block_q,
    input [7:0] split__from_q,
    input [7:0] split__last_beat_q,
    input [71:0] split__addresses_s_data,
    input split__addresses_s_valid,
    input split__addresses_s_ready,
    input [7:0] split__burst,
    input split__burst_valid,
    input split__burst_ready
);
    localparam LANES = $clog2(K), BLOCK = 256 * K < 4096 ? 256 * K : 4096, BITS = $clog2(BLOCK);

    always @* assume (!s_piece_valid | s_piece[16:1] != 0);

    // the piece in `measure`, and the one in `split`
    wire takes = go & pieces_m_valid;
    reg [63:0] address_1 = 0, address_2 = 0;
    reg [15:0] length_1 = 1, length_2 = 1;
    reg memory_1 = 0, memory_2 = 0;
    reg [7:0] n = 0; // its bursts so far
    reg [63:0] next = 0; // octets in them
    wire [63:0] address = split__addresses_s_data[63:0];
    wire [7:0] length = split__addresses_s_data[71:64];
    wire [63:0] octets = {52'b0, length, {LANES{1'b0}}} + K;
    always @(posedge clock) begin
        if (takes) begin
            address_1 <= pieces_m_data[80:17];
            length_1 <= pieces_m_data[16:1];
            memory_1 <= pieces_m_data[0];
        end
        if (split__take) begin
            address_2 <= address_1;
            length_2 <= length_1;
            memory_2 <= memory_1;
            n <= 0;
            next <= 0;
        end else if (split__emit) begin
            n <= n + 1'b1;
            next <= next + octets;
        end
    end
    wire [63:0] first_beat = {address_2[63:LANES], {LANES{1'b0}}};
    wire [63:0] all_octets = {48'b0, length_2} + address_2[LANES-1:0] + K - 64'd1;
    wire [63:0] whole_beats = {all_octets[63:LANES], {LANES{1'b0}}};
    wire [63:0] in_page = {52'b0, address[11:0]};
    always @* if (split__emit) begin
        of_memory: assert (memory_2);
        begins_where_the_last_ended: assert (address - first_beat == next);
        inside: assert (next + octets <= whole_beats);
        whole_piece: assert ((split__free & split__last_block_q) == (next + octets == whole_beats));
        aligned: assert (address[LANES-1:0] == 0);
        no_crossing: assert (in_page + octets <= 4096);
        told: assert (split__burst == length);
    end
    always @* begin
        told_once: assert (split__emit == (split__burst_valid & split__burst_ready)
            & split__emit == (split__addresses_s_valid & split__addresses_s_ready));
        each_piece_once: assert (split__take == (go & measure__known_q & memory_1));
        full_beats: assert (m_axi_arsize == LANES & m_axi_arburst == 1);
    end
    handshake #(.WIDTH(72)) read (
        .clock(clock), .reset(reset), .valid(m_axi_arvalid), .ready(m_axi_arready),
        .payload({m_axi_araddr, m_axi_arlen})
    );

    // helpers
    wire [16:0] end_1 = {1'b0, address_1[BITS-1:0]} + length_1 - 17'd1;
    wire [16:0] end_2 = {1'b0, address_2[BITS-1:0]} + length_2 - 17'd1;
    wire [31:0] high_next_1 = address_1[63:32] + 1, high_next_2 = address_2[63:32] + 1;
    wire [31:0] block = address_2[31:BITS] + n;
    wire [7:0] blocks = end_2 >> BITS;
    wire [63:0] blocks_of_it = {56'b0, n} << BITS;
    wire other = !pieces__read_q;
    always @* begin
        pieces_are: assert ((pieces__full_q ? pieces_m_valid & pieces__write_q == pieces__read_q
            : pieces__write_q == (pieces__read_q ^ pieces_m_valid)));
        octets_of_pieces: assert ((!pieces_m_valid | (pieces__read_q ? pieces__store__proof_rows[178:163] : pieces__store__proof_rows[16:1]) != 0)
            & (!pieces__full_q | (other ? pieces__store__proof_rows[178:163] : pieces__store__proof_rows[16:1]) != 0));
        if (measure__known_q) begin
            some_octets: assert (length_1 != 0);
            known: assert (measure__memory_q == memory_1 & measure__bounds_q[31:0] == address_1[63:32]
                & measure__bounds_q[63:32] == high_next_1 & measure__bounds_q[95:64] == address_1[31:0]
                & (!memory_1 | measure__bounds_q[112:96] == end_1));
        end
        if (split__active_q) begin
            some_to_read: assert (length_2 != 0 & memory_2);
            high: assert (split__high_q == address_2[63:32] & split__high_next_q == high_next_2);
            number: assert (split__block_number_q == block);
            left: assert (split__blocks_left_q + n == blocks & n <= blocks & split__last_block_q == (split__blocks_left_q == 0));
            beats: assert (split__from_q == (n == 0 ? address_2[BITS-1:LANES] : 0) & split__last_beat_q == end_2[BITS-1:LANES]);
            next_is: assert (next == (n == 0 ? 0 : blocks_of_it - {address_2[BITS-1:LANES], {LANES{1'b0}}}));
        end
    end

    always @* if (!reset) begin
        second_burst: cover (split__emit & n == 1 & split__last_block_q & split__free);
        over_4_gib: cover (split__emit & n == 1 & address_2[32] & !address[32]);
        over_all: cover (split__emit & n == 1 & address == 0);
        one_octet: cover (split__emit & n == 0 & length_2 == 1 & split__last_block_q & address_2[LANES-1:0] == K - 1);
        without_a_read: cover (takes & measure__known_q & !memory_1 & go);
        accepted: cover (m_axi_arvalid & m_axi_arready & m_axi_arlen == 255);
    end
endmodule
