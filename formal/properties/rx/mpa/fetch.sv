// The room of a ring that was given to the sender is not taken back: while a stream lives, its `tail` does not move left
// (DDP-SEC-49). `admit.sv` and `window.sv` carry that on to the right edge that TCP advertises.
//
//   in order:  tail = what is read of it ◄─ now ◄─ prepared ◄─ counted ◄─ next FPDU ─ … ─► edge
//   given up:  tail = edge
//
// Positions are modulo 2^32; FPDUs and rings are short, so a difference above 2^31 is a step to the left. The stream is any
// one (any).
//
// Assumed of `scan`: FPDUs of a stream that are not ahead follow one another, begin at position 0 behind `arm`, have landed,
// and none follows a refused one, of which nothing needs to have landed. Of `admit`: octets that land fit the ring. Of
// `control`: a stream is armed while none of its FPDUs is here.
module fetch_properties #(parameter HEADER = 6) (
    input clock,
    input reset,
    input [79:0] fpdu,
    input fpdu_valid,
    input fpdu_ready,
    input arm,
    input [7:0] stream,
    input [31:0] edge_landed_0,
    input [31:0] edge_landed_1,
    input [31:0] tail_0,
    input [31:0] tail_1,
    // inside
    input [79:0] counted_q,
    input counted_valid_q,
    input [15:0] counted_beats_q,
    input [31:0] counted_behind_q,
    input [79:0] prepared_q,
    input prepared_valid_q,
    input [15:0] prepared_beats_q,
    input [31:0] prepared_behind_q,
    input [79:0] now_q,
    input active_q,
    input [15:0] left_q,
    input last_q,
    input [31:0] position_q,
    input [15:0] dwords_left_q,
    input [31:0] behind_q,
    input given_up_0_q,
    input given_up_1_q,
    input start_pulse_q,
    input [93:0] start_now_q
);
    localparam Most = 32'h10_0000; // more than a ring and an FPDU
    (* anyconst *) wire any;
    wire [31:0] tail = any ? tail_1 : tail_0;
    wire [31:0] landed = any ? edge_landed_1 : edge_landed_0;
    wire given_up = any ? given_up_1_q : given_up_0_q;

    // of the stream, and in order
    function mine(input [79:0] f);
        mine = f[3:0] == {3'b0, any} & !f[77];
    endfunction
    function refused(input [79:0] f);
        refused = f[60:58] != 0;
    endfunction
    function [31:0] begin_of(input [79:0] f);
        begin_of = f[39:8];
    endfunction
    function [31:0] length_of(input [79:0] f);
        length_of = {14'b0, f[55:40], 2'b0};
    endfunction

    // where the next FPDU in order begins; none comes behind a refused one
    reg open = 0, over = 0;
    reg [31:0] next = 0;
    wire arms = arm & stream[3:0] == {3'b0, any};
    wire comes = fpdu_valid & fpdu_ready & mine(fpdu);
    wire c = counted_valid_q & mine(counted_q), p = prepared_valid_q & mine(prepared_q), a = active_q & mine(now_q);
    always @(posedge clock) begin
        if (comes) begin
            if (refused(fpdu)) over <= 1;
            else next <= next + length_of(fpdu);
        end
        if (arms) begin
            open <= 1;
            over <= 0;
            next <= 0;
        end
        if (reset) open <= 0;
    end
    reg was_open = 0;
    reg [31:0] tail_was = 0, landed_was = 0;
    always @(posedge clock) begin
        was_open <= open & !arms & !reset;
        tail_was <= tail;
        landed_was <= landed;
    end
    always @* begin
        if (fpdu_valid) begin
            assume (fpdu[55:40] != 0 & fpdu[55:40] <= 16'h4000);
            assume (!refused(fpdu) | fpdu[55:40] == 2 & fpdu[79:77] == 0);
            assume (!fpdu[79] | fpdu[78] & fpdu[55:40] > HEADER);
            assume (!fpdu[78] | !fpdu[77]);
        end
        if (comes) begin
            assume (open & !over);
            assume (begin_of(fpdu) == next);
            assume (landed - next >= (refused(fpdu) ? 0 : length_of(fpdu)));
        end
        assume (landed - next <= Most);
        if (was_open) assume (landed - landed_was <= Most);
        if (arms) assume (!(c | p | a | comes));
        if (reset) assume (!arm & !fpdu_valid);
    end

    always @* if (was_open) not_left: assert (tail - tail_was <= Most);

    // helpers
    function well(input [79:0] f, input [15:0] beats, input [31:0] behind);
        well = f[55:40] != 0 & f[55:40] <= 16'h4000 & beats == (f[55:40] + 1) >> 1
            & (f[79] ? f[78] & behind - begin_of(f) <= 32'h1_0000 & behind != begin_of(f) : behind == begin_of(f) + length_of(f))
            & (!refused(f) | f[79:77] == 0);
    endfunction
    // where what follows begins; nothing follows a refused one
    wire [31:0] at_a = !a ? tail : refused(now_q) ? begin_of(now_q) : behind_q;
    wire [31:0] at_p = !p ? at_a : refused(prepared_q) ? begin_of(prepared_q) : prepared_behind_q;
    wire [31:0] at_c = !c ? at_p : refused(counted_q) ? begin_of(counted_q) : counted_behind_q;
    wire ends = c & refused(counted_q) | p & refused(prepared_q) | a & refused(now_q) | given_up;
    wire [31:0] left = behind_q - position_q;
    always @* begin
        if (start_pulse_q) started: assert (active_q & start_now_q[3:0] == now_q[3:0] & start_now_q[43:41] == now_q[60:58] & start_now_q[60] == now_q[77]);
        if (counted_valid_q) counts: assert (well(counted_q, counted_beats_q, counted_behind_q));
        if (prepared_valid_q) prepares: assert (well(prepared_q, prepared_beats_q, prepared_behind_q));
        if (active_q) begin
            beats: assert (left_q != 0 & left_q == (dwords_left_q + 1) >> 1 & last_q == (left_q == 1) & dwords_left_q <= 16'h4000);
            marks: assert (!refused(now_q) | now_q[79:77] == 0);
            if (!now_q[79]) reads: assert (left == {14'b0, dwords_left_q, 2'b0});
            if (now_q[79]) skips: assert (now_q[78] & behind_q - begin_of(now_q) <= 32'h1_0000 & behind_q != begin_of(now_q));
        end
        if (!open) nothing: assert (!(c | p | a));
        if (open & !was_open) fresh: assert (tail == 0 & next == 0 & !given_up & !over & !(c | p | a));
        if (open) begin
            ended: assert (over == ends);
            if (a & refused(now_q)) last_a: assert (!p & !c & (start_pulse_q | given_up));
            if (p & refused(prepared_q)) last_p: assert (!c);
            if (given_up) gone: assert (!p & !c & (!a | refused(now_q)) & (tail == next | tail == landed_was));
            if (p) chain_p: assert (begin_of(prepared_q) == at_a);
            if (c) chain_c: assert (begin_of(counted_q) == at_p);
            if (!given_up) chain: assert (next == at_c);
            if (a & !given_up) at: assert (tail == (now_q[78] | refused(now_q) ? begin_of(now_q) : position_q));
            if (a & now_q[78]) whole: assert (behind_q - begin_of(now_q) <= 32'h1_0000);
        end
    end

    always @* if (!reset) begin
        reads_whole: cover (was_open & tail != tail_was & a & !now_q[78]);
        gives_all: cover (was_open & tail - tail_was > 4 * HEADER);
        gives_up: cover (given_up & was_open & tail != tail_was);
    end
endmodule
