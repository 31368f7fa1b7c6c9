// One verdict for each last beat, LATENCY cycles behind it, and no other: the n-th verdict is that of the n-th FPDU.
//
//   last beat n ──► LATENCY cycles ──► verdict n
//
// What the verdict says is proved in tests/crc.rs, in these very cycles. Assumed of the top: a reset lasts as many cycles.
module crc_order_properties #(parameter LATENCY = 9) (
    input clock,
    input reset,
    input valid,
    input last,
    input verdict_valid
);
    // last beats under way, the newest in bit 0
    reg [LATENCY-1:0] due = 0;
    reg [7:0] held = 0, lasts = 0, verdicts = 0;
    wire ends = valid & last & !reset;
    always @(posedge clock) begin
        due <= reset ? 0 : {due[LATENCY-2:0], ends};
        held <= !reset ? 0 : held < LATENCY ? held + 1 : held;
        lasts <= reset ? 0 : lasts + ends;
        verdicts <= reset ? 0 : verdicts + verdict_valid;
    end
    always @* assume (held == 0 | held >= LATENCY | reset);

    always @* if (!reset) begin
        one_for_each: assert (verdict_valid == due[LATENCY-1]);
    end
    // so many FPDUs have ended and wait for theirs
    integer at;
    reg [7:0] waiting;
    always @* begin
        waiting = 0;
        for (at = 0; at < LATENCY; at = at + 1) waiting = waiting + due[at];
        in_order: assert (reset | lasts - verdicts == waiting);
    end
    always @* if (!reset) begin
        two: cover (verdict_valid & verdicts == 1 & due != 0);
    end
endmodule
