// A queue neither overflows nor underflows and keeps order.
//
//   put n ──► slot n modulo 2^LOG ──► take n
//
// Records are numbered as they come in and as they go out. The queue says ready exactly when fewer than 2^LOG are inside,
// valid exactly when one is, and take n brings what put n brought: shown for the records of one slot, which is any
// (proof_row), so for all.
// Where the checker only helps another one, COVERS is 0.
module queue_properties #(parameter LOG = 1, parameter WIDTH = 1, parameter COVERS = 1) (
    input clock,
    input reset,
    input [WIDTH-1:0] s_data,
    input s_valid,
    input s_ready,
    input [WIDTH-1:0] m_data,
    input m_valid,
    input m_ready,
    // inside: the pointers, how many are inside modulo 2^LOG, a row of the memory, what it holds
    input [LOG-1:0] write_q,
    input [LOG-1:0] read_q,
    input [LOG-1:0] filled,
    input [LOG-1:0] store__proof_row,
    input [WIDTH-1:0] store__proof_data
);
    reg [LOG:0] puts = 0, takes = 0;
    reg [WIDTH-1:0] shadow = 0;
    wire [LOG:0] inside = puts - takes;
    wire put = s_valid & s_ready;
    wire take = m_valid & m_ready;

    always @(posedge clock) begin
        if (put) puts <= puts + 1'b1;
        if (take) takes <= takes + 1'b1;
        if (put & puts[LOG-1:0] == store__proof_row) shadow <= s_data;
        if (reset) begin
            puts <= 0;
            takes <= 0;
        end
    end

    // a record more, or one less, than there can be
    always @* begin
        no_overflow: assert (inside <= 1 << LOG);
        ready_with_room: assert (s_ready == (inside != 1 << LOG));
        valid_with_record: assert (m_valid == (inside != 0));
    end
    wire shown = inside != 0 & takes[LOG-1:0] == store__proof_row;
    always @* if (shown) begin
        order: assert (m_data == shadow);
    end

    // helpers: the pointers are the numbers, the row holds its record while that is inside
    wire [LOG-1:0] age = store__proof_row - takes[LOG-1:0];
    always @* begin
        write_is: assert (write_q == puts[LOG-1:0]);
        read_is: assert (read_q == takes[LOG-1:0]);
        filled_is: assert (filled == inside[LOG-1:0]);
        if ({1'b0, age} < inside) row_is: assert (store__proof_data == shadow);
    end

    generate
        if (COVERS) always @* if (!reset) begin
            full: cover (inside == 1 << LOG);
            empty_again: cover (puts == 2 & takes == 2);
            both: cover (put & take & shown & takes != 0);
        end
    endgenerate
endmodule
