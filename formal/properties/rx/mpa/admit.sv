// The right edge that a stream's sender may fill follows the ring: `limit_sequence` moves as `tail` does, two cycles later, while
// the stream lives (DDP-SEC-49; that `tail` does not move left is proved at `fetch`). The stream is any one of the first two (any).
module admit_properties #(parameter RING = 4096) (
    input clock,
    input reset,
    input arm,
    input [7:0] stream,
    input [31:0] tail_0,
    input [31:0] tail_1,
    input [31:0] limit_sequence_0,
    input [31:0] limit_sequence_1,
    // inside
    input [31:0] start_of_0_q,
    input [31:0] start_of_1_q,
    input [31:0] limit_of_0_q,
    input [31:0] limit_of_1_q
);
    (* anyconst *) wire any;
    wire [31:0] tail = any ? tail_1 : tail_0, limit = any ? limit_sequence_1 : limit_sequence_0;
    wire [31:0] start_of = any ? start_of_1_q : start_of_0_q, limit_of = any ? limit_of_1_q : limit_of_0_q;
    wire arms = arm & stream[3:0] == {3'b0, any};

    reg [2:0] steady = 0; // cycles since the stream was armed, three at most
    reg [31:0] tail_1_ago = 0, tail_2_ago = 0, tail_3_ago = 0, limit_was = 0, limit_of_was = 0, start_was = 0;
    always @(posedge clock) begin
        steady <= arms ? 0 : {steady[1:0], 1'b1};
        tail_1_ago <= tail;
        tail_2_ago <= tail_1_ago;
        tail_3_ago <= tail_2_ago;
        limit_was <= limit;
        limit_of_was <= limit_of;
        start_was <= start_of;
    end
    always @* if (steady[2]) follows: assert (limit - limit_was == tail_2_ago - tail_3_ago);

    // helpers
    always @* begin
        counts: assert ((steady & (steady + 1)) == 0);
        if (steady[0]) of_ring: assert (limit_of == tail_1_ago + RING);
        if (steady[1]) one_start: assert (start_of == start_was);
        if (steady[1]) sums: assert (limit == limit_of_was + start_was);
        if (steady[1]) was_of_ring: assert (limit_of_was == tail_2_ago + RING);
        if (steady[2]) then: assert (limit_was == tail_3_ago + RING + start_was);
    end

    always @* if (!reset) moves: cover (steady[2] & limit != limit_was);
endmodule
