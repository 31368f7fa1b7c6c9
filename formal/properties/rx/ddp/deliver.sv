// What an FPDU brings about is given only when each of its bursts is answered, and not at all when one was refused.
//
//   Delivery, issued ─► slot ─► so many answers ─► event, or the error in its place; or fence
//
// An FPDU has as many bursts as `issued` grows by; answers belong to FPDUs in their order (write_mux.sv, place_split.sv).
// Shown for the FPDUs of one slot, which is any (proof_row). A fence brings itself about: it passes when everything
// written in front of it is answered.
module deliver_properties (
    input clock,
    input reset,
    input [265:0] s_delivery,
    input [15:0] s_issued,
    input b_valid,
    input b_error,
    input b_ready,
    input [255:0] m_event,
    input m_valid,
    input m_ready,
    input m_fence,
    // inside
    input push,
    input fetch,
    input step,
    input gives,
    input [7:0] write_q,
    input [7:0] look_q,
    input [7:0] settled_q,
    input [7:0] read_q,
    input some_q,
    input full_q,
    input count_valid_q,
    input [15:0] count_q,
    input [15:0] counted_q,
    input goal_valid_q,
    input [15:0] left_q,
    input none_left_q,
    input one_left_q,
    input failed_q,
    input now_valid_q,
    input [265:0] now_q,
    input now_failed_q,
    input out_valid_q,
    input [5:0] deliveries__proof_row,
    input [265:0] deliveries__proof_data,
    input [5:0] goals__proof_row,
    input [15:0] goals__proof_data,
    input [15:0] goals__proof_before,
    input [5:0] failures__proof_row,
    input failures__proof_data
);
    wire [5:0] slot = deliveries__proof_row;
    always @* assume (goals__proof_row == slot & failures__proof_row == slot);

    // the FPDU of the slot: its bursts, and the answers to them
    reg [15:0] last_issued = 0;
    reg inside = 0, refused = 0;
    reg [7:0] its = 0;
    reg [15:0] goal = 0, before = 0, answers = 0;
    reg [265:0] delivery = 0;
    wire [15:0] bursts = goal - before;
    wire answer = b_valid & b_ready;
    wire current = inside & goal_valid_q & settled_q == its;
    wire enters = push & write_q[5:0] == slot;
    wire leaves = fetch & read_q[5:0] == slot;
    always @(posedge clock) begin
        if (push) last_issued <= s_issued;
        if (leaves) inside <= 0;
        if (enters) begin
            inside <= 1;
            its <= write_q;
            goal <= s_issued;
            before <= last_issued;
            delivery <= s_delivery;
            answers <= 0;
            refused <= 0;
        end else if (current & answer) begin
            answers <= answers + 1;
            refused <= refused | b_error;
        end
        if (reset) begin
            inside <= 0;
            last_issued <= 0;
        end
    end

    // taken out of the slot, given
    reg now_its = 0, now_answered = 0, now_refused = 0, out_its = 0, out_answered = 0, out_refused = 0;
    reg fence_its = 0, fence_answered = 0;
    reg [265:0] now_delivery = 0;
    reg [255:0] out_event = 0;
    reg [7:0] out_stream = 0;
    wire is_fence = now_q[1:0] == 2;
    always @(posedge clock) begin
        if (fetch) begin
            now_its <= leaves & inside;
            now_answered <= answers == bursts;
            now_refused <= refused;
            now_delivery <= delivery;
        end
        if (step & gives) begin
            out_its <= now_its;
            out_answered <= now_answered;
            out_refused <= now_refused;
            out_event <= now_delivery[265:10];
            out_stream <= now_delivery[9:2];
        end
        fence_its <= step & now_its & is_fence;
        fence_answered <= now_answered;
    end

    always @* if (m_valid & out_its) begin
        all_answered: assert (out_answered);
        as_it_was_given: assert (out_refused | m_event == out_event);
        error_in_its_place: assert (!out_refused | m_event == {240'b0, out_stream, 8'd3});
    end
    always @* if (m_fence & fence_its) begin
        behind_all_writes: assert (fence_answered);
    end
    always @* if (b_ready) begin
        of_an_fpdu: assert (goal_valid_q & left_q != 0);
    end
    handshake #(.WIDTH(256)) events (
        .clock(clock), .reset(reset), .valid(m_valid), .ready(m_ready), .payload(m_event)
    );

    // helpers: pointers as distances from the oldest FPDU
    wire [7:0] w = write_q - read_q, l = look_q - read_q, s = settled_q - read_q, x = its - read_q;
    wire [7:0] in_count = s + goal_valid_q;
    always @* begin
        pointers: assert (w <= 64 & l <= w & s <= l & s + goal_valid_q + count_valid_q == l);
        full: assert (full_q == (w == 64));
        some: assert (some_q == (s != 0));
        flags: assert (!goal_valid_q | (none_left_q == (left_q == 0) & one_left_q == (left_q == 1)));
        nothing_failed: assert (goal_valid_q | !failed_q);
        all_counted: assert (write_q[5:0] != slot | l != w | counted_q == last_issued);
        last_one: assert (write_q[5:0] != slot | l == w | goals__proof_before == last_issued);
        if (inside) begin
            there: assert (x < w & its[5:0] == slot);
            holds: assert (deliveries__proof_data == delivery);
            newest: assert (x + 8'd1 != w | goal == last_issued);
            if (x >= l) begin
                goal_is: assert (goals__proof_data == goal & answers == 0 & !refused);
                before_is: assert ((x == l ? counted_q : goals__proof_before) == before);
            end
            if (x + 8'd1 == l) counted_is: assert (counted_q == goal);
            if (count_valid_q & x == in_count) count_is: assert (count_q == bursts & answers == 0 & !refused);
            if (current) left_is: assert (left_q == bursts - answers & failed_q == refused);
            if (x < s) settled: assert (answers == bursts & failures__proof_data == refused);
        end
        if (now_valid_q & now_its) now_is: assert (now_answered & now_q == now_delivery & now_failed_q == now_refused);
    end

    always @* if (!reset) begin
        after_two_answers: cover (m_valid & out_its & !out_refused & bursts == 2);
        refused_one: cover (m_valid & out_its & out_refused);
        fence: cover (m_fence & fence_its);
    end
endmodule
