// A stream that can send has its turn within a bound, and no visit takes more than its budget and one segment.
//
//   eligible ─► choice ─► deficit + QUANTUM ─┬─ > 0 ─► ready ─► visit: budget ─► turns, each pays ─► deficit
//                 ▲                          └─ ≤ 0 ─► deficit ─┐
//                 └─────────────────────────────────────────────┘
//
// `k` is any stream. While it asks, each choice of another stream brings the choice nearer to it, in the order of the round
// robin: so of the others each is chosen at most once before it. When it is chosen, its visit is the next one, or its deficit
// grows by QUANTUM. A deficit is at most one segment, SPENT octets, so that happens at most SPENT / QUANTUM times in a row. A
// turn begins with a budget that is positive and at most QUANTUM, and what a turn pays is taken off it: a visit takes at most
// QUANTUM octets and the rest of one segment. A chosen stream is weighed in the second cycle behind its choice, or the third.
//
// Assumed of `segment`, which drives the other side: a turn begins if one can, a turn ends before the next one begins, it
// pays once at most, with the octets of one segment, and leaves without paying or not at all.
module scheduler_properties #(parameter SPENT = 66000, parameter QUANTUM = 4096) (
    input clock,
    input reset,
    input start,
    input leave,
    input pays,
    input [16:0] spent,
    input more,
    input other,
    // inside
    input [1:0] step_q,
    input eligible_0_q,
    input eligible_1_q,
    input eligible_2_q,
    input eligible_3_q,
    input round_robin_any,
    input [7:0] round_robin_choice,
    input [3:0] coming_q,
    input [17:0] coming_budget_q,
    input visiting_q,
    input [7:0] current_q,
    input [17:0] budget_q,
    input follows,
    input closes,
    input [3:0] deficits__proof_row,
    input [17:0] deficits__proof_data
);
    localparam [1:0] SEEK = 0, VISIT = 1, WEIGH = 2, READY = 3;

    // any of the four streams
    wire [3:0] k = deficits__proof_row;
    always @* assume (k < 4);
    wire [3:0] eligible = {eligible_3_q, eligible_2_q, eligible_1_q, eligible_0_q};
    wire is_current = visiting_q & current_q[3:0] == k;
    wire asks = eligible[k[1:0]] & !is_current;
    // streams from the last choice down to `k`, and from the next one
    wire [1:0] to_go = coming_q[1:0] - k[1:0], to_go_then = round_robin_choice[1:0] - k[1:0];

    wire signed [19:0] deficit = {{2{deficits__proof_data[17]}}, deficits__proof_data};
    wire signed [19:0] coming_budget = {{2{coming_budget_q[17]}}, coming_budget_q};
    wire signed [19:0] budget = {{2{budget_q[17]}}, budget_q};
    wire signed [19:0] quantum = QUANTUM, segment = SPENT;

    // a turn has begun, and has neither paid nor left
    reg turn = 0;
    always @(posedge clock) turn <= !reset & (start | (turn & !pays & !leave));
    always @* begin
        assume (!start | (leave ? other : more | other));
        assume (!start | !turn | leave);
        assume (!(pays | leave) | turn);
        assume (!(pays & (start | leave)));
        assume (!pays | spent <= SPENT);
    end

    reg past = 0;
    reg refused, paid, replaced;
    reg signed [19:0] deficit_before, budget_before, spent_before;
    reg [1:0] weighed = 0;
    always @(posedge clock) begin
        past <= !reset;
        refused <= step_q == WEIGH & coming_q == k & coming_budget <= 0 & !closes;
        paid <= pays;
        replaced <= follows;
        deficit_before <= deficit;
        budget_before <= budget;
        spent_before <= {3'd0, spent};
        weighed <= reset | step_q != WEIGH ? 0 : weighed + (weighed != 3);
    end

    always @* begin
        nearer: assert (!(step_q == SEEK & round_robin_any & asks & coming_q < 4 & to_go != 0) | to_go_then < to_go);
        chosen: assert (!(step_q[1] & coming_q == k) | coming_budget == deficit + quantum);
        ready: assert (step_q != READY | coming_budget > 0);
        it_is_next: assert (!follows | step_q == READY);
        if (past) begin
            grows: assert (!refused | deficit == deficit_before + quantum);
            charged: assert (!paid | replaced | budget == budget_before - spent_before);
        end
        has_budget: assert (!start | (follows ? coming_budget > 0 : budget > 0));
        within_the_quantum: assert (!is_current | budget <= quantum);
        deficit_of_a_segment: assert (deficit <= 0 & deficit >= -segment);
        weighed_soon: assert (weighed < 2 | step_q != WEIGH);

        // helpers
        coming_is_one: assert (step_q == SEEK | coming_q < 4);
        current_is_one: assert (!visiting_q | current_q < 4);
        another: assert (step_q == SEEK | !visiting_q | current_q[3:0] != coming_q);
        budget_of_a_turn: assert (!turn | (visiting_q & budget > 0));
        budget_of_it: assert (!is_current | budget >= -segment);
        weighed_twice: assert (weighed != 3 & (weighed != 1 | step_q != WEIGH | !visiting_q));

        visits: cover (follows & coming_q == k & deficit < 0);
        waits: cover (refused);
        another_turn: cover (start & !follows & is_current);
    end
endmodule
