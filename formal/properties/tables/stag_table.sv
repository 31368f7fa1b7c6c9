// The table holds what it was told: end = base + length, shift = address − base, and nothing of a slot that was cleared.
//
//   argument held for 3 cycles ──► write ──► a cycle later: slot ──► 2 cycles behind `stag` ──► entry
//
// Shown for one slot, which is any (slot): a shadow takes what is written to it, from the arguments themselves.
module stag_table_properties #(parameter SLOT_BITS = 4) (
    input clock,
    input [31:0] stag,
    input [253:0] entry,
    input [31:0] argument_0,
    input [31:0] argument_1,
    input [31:0] argument_2,
    input [31:0] argument_3,
    input [31:0] argument_4,
    input [31:0] argument_5,
    input [31:0] argument_6,
    input [31:0] argument_7,
    input legal,
    input write,
    input clear,
    input [11:0] clear_slot,
    // inside
    input [32:0] end_low_q,
    input [32:0] end_high_q,
    input [32:0] end_carried_q,
    input [32:0] shift_low_q,
    input [31:0] shift_high_q,
    input [31:0] shift_borrowed_q,
    input empty_q,
    input exceeds_q,
    input writing_q,
    input clearing_q,
    input [11:0] row_q,
    input [SLOT_BITS-1:0] slots__proof_row,
    input [253:0] slots__proof_data,
    input [253:0] slots__ram_register
);
    wire [255:0] argument = {argument_7, argument_6, argument_5, argument_4, argument_3, argument_2, argument_1, argument_0};
    reg [255:0] before = 0;
    reg [1:0] held = 0;
    always @(posedge clock) begin
        before <= argument;
        held <= argument != before ? 0 : held == 3 ? 3 : held + 1;
    end
    // cycles for which the arguments have been the same, this one not counted
    wire [1:0] same = argument != before ? 0 : held;

    wire [63:0] base = {argument_3, argument_2}, length = {argument_5, argument_4}, where = {argument_7, argument_6};
    wire [65:0] behind = {2'b0, base} + {2'b0, length};
    wire [63:0] shift = where - base;
    // PREPARATION and a cycle more, and the caller looks at `legal` (control, check)
    reg writes = 0, clears = 0;
    always @* assume (!write | clear | (same == 3 & legal));
    always @* assume (!writes | same == 3);

    always @* if (same == 3) begin
        legal_is: assert (legal == (behind <= 66'h1_0000_0000_0000_0000));
    end

    // the slot, as it should be
    wire [SLOT_BITS-1:0] slot = slots__proof_row;
    wire [SLOT_BITS-1:0] written = argument_0[8 +: SLOT_BITS];
    reg [253:0] shadow = 0;
    always @(posedge clock) begin
        writes <= write & !clear & written == slot;
        clears <= clear & clear_slot[SLOT_BITS-1:0] == slot;
    end
    always @(posedge clock)
        if (clears) shadow <= 0;
        else if (writes) shadow <= {
            argument_1[26], shift, behind[64:0], base, length == 0, argument_1[25], argument_1[24], argument_1[23:16], argument_1[15:0],
            argument_0, 1'b1
        };

    // two cycles behind the question comes what was in the slot when it was asked
    reg asked = 0, answers = 0;
    reg [253:0] snapshot = 0, answer = 0;
    always @(posedge clock) begin
        asked <= stag[8 +: SLOT_BITS] == slot;
        snapshot <= shadow;
        answers <= asked;
        answer <= snapshot;
    end
    always @* if (answers) begin
        as_written: assert (entry == answer);
    end
    always @* begin
        end_bound: assert (shadow[188:124] <= 65'h1_0000_0000_0000_0000);
    end

    // helpers: the arithmetic, a stage a cycle
    wire [32:0] low = {1'b0, argument_2} + {1'b0, argument_4}, high = {1'b0, argument_3} + {1'b0, argument_5};
    always @* begin
        row: assert (slots__proof_data == shadow);
        if (writes) within: assert (behind <= 66'h1_0000_0000_0000_0000);
        what_is_done: assert (writes == (writing_q & !clearing_q & row_q[SLOT_BITS-1:0] == slot)
            & clears == (clearing_q & row_q[SLOT_BITS-1:0] == slot));
        if (asked) register: assert (slots__ram_register == snapshot);
        if (same >= 1) begin
            low_is: assert (end_low_q == low & end_high_q == high & empty_q == (length == 0));
            shift_low_is: assert (shift_low_q == {1'b0, argument_6} - {1'b0, argument_2} & shift_high_q == argument_7 - argument_3);
        end
        if (same >= 2) begin
            carried_is: assert ({end_carried_q, end_low_q[31:0]} == behind[64:0]);
            borrowed_is: assert ({shift_borrowed_q, shift_low_q[31:0]} == shift);
        end
        if (same == 3) exceeds_is: assert (exceeds_q == (behind > 66'h1_0000_0000_0000_0000));
    end

    reg was_written = 0;
    always @(posedge clock) was_written <= was_written | writes;
    always @* begin
        found: cover (answers & entry[0] & entry[124 +: 65] == 65'h1_0000_0000_0000_0000);
        gone: cover (answers & !entry[0] & was_written);
    end
endmodule
