// An error of what `scan` gives out ahead of a gap counts at once only if it does not overtake what its stream has in order.
//
//   visit of the chain, FPDU that waits ─► busy ─┐
//   octets for another one ────────────► eligible┴─► for two cycles neither ─► an FPDU of that stream goes ahead with `crc`
//
// A stream is eligible when enough octets have landed for the chain in order, from then on it is chosen, busy and eligible
// again without a pause but for one cycle behind a visit; an FPDU leaves `busy` only when it is in the queue. So nothing in
// order is left when two cycles pass with neither, and what goes out then is behind all of it in the queue, which keeps
// order (queue.sv), as all blocks up to `settle` in `check` do (check.sv).
//
// Reader, walker, intervals and lengths are arbitrary here.
module scan_properties (
    input clock,
    input reset,
    input ahead_goes,
    input look_ahead__conclusive_q,
    input eligible_0_q,
    input eligible_1_q,
    input busy_0_q,
    input busy_1_q,
    input was_idle_0_q,
    input was_idle_1_q,
    input [7:0] look_ahead__stream_q,
    input [4:0] look_ahead__step_q,
    input look_ahead__offers_q,
    input look_ahead__visited_0_q,
    input look_ahead__visited_1_q
);
    localparam Rest = 0, Pick = 1, Give = 21;
    wire [1:0] eligible = {eligible_1_q, eligible_0_q}, busy = {busy_1_q, busy_0_q};
    wire [1:0] visited = {look_ahead__visited_1_q, look_ahead__visited_0_q};
    wire [1:0] here = {look_ahead__stream_q[3:0] == 1, look_ahead__stream_q[3:0] == 0};
    reg [1:0] eligible_1 = 3, eligible_2 = 3, busy_2 = 3, busy_1 = 3;
    always @(posedge clock) begin
        eligible_1 <= eligible;
        eligible_2 <= eligible_1;
        busy_1 <= busy;
        busy_2 <= busy_1;
    end
    always @* if (ahead_goes & look_ahead__conclusive_q) begin
        in_order_first: assert ((here & (eligible_1 | eligible_2 | busy_2)) == 0);
        of_a_stream: assert (here != 0);
    end

    // helpers
    always @* begin
        steps: assert (look_ahead__step_q <= Give);
        offered: assert (!(look_ahead__offers_q & look_ahead__conclusive_q) | (here != 0 & (here & (eligible_1 | eligible_2 | busy_2)) == 0));
        rests: assert (({was_idle_1_q, was_idle_0_q} & (busy_1 | eligible_1)) == 0);
        if (look_ahead__step_q > Pick) visits: assert (visited == here);
        if (look_ahead__step_q != Rest) of_two: assert (look_ahead__stream_q < 2);
    end

    always @* if (!reset) begin
        goes: cover (ahead_goes & look_ahead__conclusive_q);
        goes_early: cover (ahead_goes & !look_ahead__conclusive_q);
        goes_of_the_other: cover (ahead_goes & look_ahead__stream_q == 1);
    end
endmodule
