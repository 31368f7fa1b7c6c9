// m_axis_transmit: a range's beats read its rows, each once, and leave in order; `finished` comes with the last read.
//
//   range n ─► queue ─► beats 0 to `beats`: rows row_0, row_1, row_1 + 1, … of the ring ─► 4 cycles ─► queue ─► beats out
//
// Ranges and beats are numbered. Any range is read after the ones before it, beat by beat, each from the next row of its
// ring, and `finished` comes in the cycle of its last read; so at most SENDS ranges are accepted and not finished, which
// room_release.sv assumes. Any beat leaves with the stream and sequence number of its range, with TLAST and as many octets
// as are left if it is the last one, else with K. What is offered stays until it is accepted; no queue overflows.
//
// Assumed: `reset` is held for RESET cycles. Rows of a ring: ROWS. The octets themselves are those of the read port.
module range_read_properties #(parameter K = 8, parameter ROWS = 512, parameter SENDS = 9, parameter RESET = 7) (
    input clock,
    input reset,
    input [111:0] range,
    input range_valid,
    input range_ready,
    input finished,
    input [K-1:0] read_select,
    input [19:0] read_row_0,
    input [19:0] read_row_1,
    input [8*K-1:0] m_axis_transmit_tdata,
    input [K-1:0] m_axis_transmit_tkeep,
    input m_axis_transmit_tlast,
    input [7:0] m_axis_transmit_tdest,
    input [31:0] m_axis_transmit_tuser,
    input m_axis_transmit_tvalid,
    input m_axis_transmit_tready,
    // inside
    input emit,
    input go,
    input active_q,
    input [111:0] now_q,
    input last_q,
    input taken_q,
    input [57:0] reading__stage_0,
    input [57:0] reading__stage_1,
    input [57:0] rotating__stage_0,
    input [57:0] rotating__stage_1,
    input [7:0] room__under_way_q,
    input room__below_q,
    input ranges_m_valid,
    input ranges__full_q,
    input [2:0] ranges__read_q,
    input [2:0] ranges__write_q,
    input [2:0] ranges__store__proof_row,
    input [111:0] ranges__store__proof_data,
    input octets_m_valid,
    input octets__full_q,
    input [3:0] octets__read_q,
    input [3:0] octets__write_q,
    input keeps_m_valid,
    input keeps__full_q,
    input [3:0] keeps__read_q,
    input [3:0] keeps__write_q,
    input [3:0] keeps__store__proof_row,
    input [K-1:0] keeps__store__proof_data,
    input sides__full_q,
    input [3:0] sides__read_q,
    input [3:0] sides__write_q,
    input [3:0] sides__store__proof_row,
    input [40:0] sides__store__proof_data
);
    localparam BITS = $clog2(ROWS);

    // power-up is as the last cycle of a reset; in a reset `held` counts its cycles up to RESET
    reg [2:0] held = RESET;
    always @(posedge clock) held <= !reset ? 0 : held == RESET ? RESET : held + 1'b1;
    always @* assume (held == 0 | held == RESET | reset);

    // numbers: ranges accepted and finished; beats read, put into the queue, accepted by TCP; beats of the present range
    reg [7:0] ranges_in = 0, ranges_out = 0, reads = 0, puts = 0, takes = 0;
    reg [15:0] n = 0;
    wire accepts = range_valid & range_ready;
    wire leaves = m_axis_transmit_tvalid & m_axis_transmit_tready;
    wire put = rotating__stage_1[0];
    always @(posedge clock) begin
        ranges_in <= reset ? 0 : ranges_in + accepts;
        ranges_out <= reset ? 0 : ranges_out + finished;
        reads <= reset ? 0 : reads + emit;
        puts <= reset ? 0 : puts + put;
        takes <= reset ? 0 : takes + leaves;
        n <= go ? 0 : n + emit;
    end

    // any range
    (* anyseq *) wire mark;
    reg marked = 0;
    reg [7:0] number = 0;
    reg [111:0] its = 0;
    wire its_turn = marked & active_q & ranges_out == number;
    wire its_row = ranges__store__proof_row == number[2:0];
    always @(posedge clock) begin
        if (mark & accepts & !marked) begin
            marked <= 1;
            number <= ranges_in;
            its <= range;
        end
        if (reset | (its_turn & finished)) marked <= 0;
    end
    wire [19:0] its_row_0 = its[59:40], its_row_1 = its[79:60];
    wire [BITS-1:0] next = its_row_1[BITS-1:0] + n[BITS-1:0], before = next - 1'b1;
    wire [K-1:0] lanes = (1 << its[87:80]) - 1;
    wire [7:0] under_way = ranges_in - ranges_out;
    always @* begin
        if (its_turn & its_row & emit) begin
            its_rows: assert (read_row_0 == (n == 0 ? its_row_0 : {its_row_1[19:BITS], before})
                & read_row_1 == {its_row_1[19:BITS], next} & (its[87:80] >= K | read_select == lanes));
            each_once: assert (n <= its[103:88]);
        end
        if (its_turn & its_row) finished_with_the_last: assert (finished == (emit & n == its[103:88]));
        finished_one: assert (!finished | active_q);
        sends_under_way: assert (under_way <= SENDS);
    end

    // any beat: its side, and its octets
    (* anyseq *) wire beat_mark;
    reg beat_marked = 0;
    reg [2:0] age = 0;
    reg [7:0] beat_number = 0, beat_octets = 0;
    reg [40:0] side = 0;
    always @(posedge clock) begin
        if (beat_mark & emit & !beat_marked) begin
            beat_marked <= 1;
            age <= 1;
            beat_number <= reads;
            beat_octets <= last_q ? now_q[111:104] : K;
            side <= {now_q[39:8], now_q[7:0], last_q};
        end else if (age != 0 & age != 5) age <= age + 1'b1;
        if (reset | (beat_marked & leaves & takes == beat_number)) begin
            beat_marked <= 0;
            age <= 0;
        end
    end
    wire [K-1:0] kept = (1 << beat_octets) - 1;
    wire shown = sides__store__proof_row == beat_number[3:0] & keeps__store__proof_row == beat_number[3:0];
    wire [7:0] beats_inside = puts - takes;
    always @* begin
        if (beat_marked & m_axis_transmit_tvalid & takes == beat_number & shown)
            as_it_was_read: assert ({m_axis_transmit_tuser, m_axis_transmit_tdest, m_axis_transmit_tlast} == side
                & (beat_octets > K | m_axis_transmit_tkeep == kept));
        no_overflow: assert (held != 0 | !put | beats_inside != 16);
        side_by_side: assert (octets_m_valid == m_axis_transmit_tvalid & keeps_m_valid == m_axis_transmit_tvalid);
    end
    handshake #(.WIDTH(9 * K + 41)) transmit (
        .clock(clock), .reset(reset), .valid(m_axis_transmit_tvalid), .ready(m_axis_transmit_tready),
        .payload({m_axis_transmit_tdata, m_axis_transmit_tkeep, m_axis_transmit_tlast, m_axis_transmit_tdest, m_axis_transmit_tuser})
    );

    // helpers
    wire [7:0] ranges_inside = under_way - active_q, all_beats = reads - takes;
    wire [7:0] next_range = ranges_out + active_q;
    wire settled = held == 0 | held == RESET;
    wire [7:0] at_3 = puts + put, at_2 = at_3 + rotating__stage_0[0], at_1 = at_2 + reading__stage_1[0];
    wire [7:0] at_in = at_1 + reading__stage_0[0];
    wire [57:0] beat_is = {beat_octets, 8'b0, side, 1'b1};
    wire [57:0] mask = {8'hff, 8'h00, 42'h3ff_ffff_ffff};
    always @* begin
        emptied: assert ((held < 1 | !reading__stage_0[0]) & (held < 2 | !reading__stage_1[0]) & (held < 3 | !rotating__stage_0[0])
            & (held < 4 | !put));
        nothing_yet: assert (held == 0 | (under_way == 0 & reads == 0 & puts == 0 & takes == 0 & !marked & !beat_marked & !active_q));
        ranges_are: assert (ranges_inside <= 8 & ranges_m_valid == (ranges_inside != 0) & ranges__full_q == (ranges_inside == 8)
            & ranges__read_q == next_range[2:0] & ranges__write_q == ranges_in[2:0] & (under_way != 0 | !active_q));
        if (active_q) last_is: assert (last_q == (now_q[103:88] == 0));
        if (marked) begin
            waits: assert (number - ranges_out < under_way);
            if (!its_turn & its_row) row: assert (ranges__store__proof_data == its);
            if (its_turn & its_row) now_is: assert (taken_from_its_row);
        end
        if (settled) in_the_pipeline: assert (at_in == reads);
        room_is: assert (room__under_way_q == all_beats + taken_q & (!room__below_q | room__under_way_q < 16) & all_beats <= 16);
        beats_are: assert (beats_inside <= all_beats & m_axis_transmit_tvalid == (beats_inside != 0));
        sides_are: assert (sides__full_q == (beats_inside == 16) & sides__read_q == takes[3:0] & sides__write_q == puts[3:0]);
        octets_are: assert (octets__full_q == sides__full_q & octets__read_q == takes[3:0] & octets__write_q == puts[3:0]);
        keeps_are: assert (keeps__full_q == sides__full_q & keeps__read_q == takes[3:0] & keeps__write_q == puts[3:0]);
        if (beat_marked) begin
            ages: assert (age != 0 & age <= 5 & beat_number - takes < all_beats);
            if (age == 1) first: assert ((reading__stage_0 & mask) == beat_is & beat_number == at_1);
            if (age == 2) second: assert ((reading__stage_1 & mask) == beat_is & beat_number == at_2);
            if (age == 3) third: assert ((rotating__stage_0 & mask) == beat_is & beat_number == at_3);
            if (age == 4) fourth: assert ((rotating__stage_1 & mask) == beat_is & beat_number == puts);
            if (age == 5) begin
                in_the_queue: assert (beat_number - takes < beats_inside);
                if (shown) beat_row: assert (sides__store__proof_data == side & (beat_octets > K | keeps__store__proof_data == kept));
            end
        end else unmarked: assert (age == 0);
    end
    // where the range went into `now_q`, it came out of its row; what has become of it since
    wire [15:0] left = its[103:88] - n;
    wire taken_from_its_row = now_q[39:0] == its[39:0] & now_q[111:104] == its[111:104] & now_q[87:80] == its[87:80]
        & now_q[103:88] == left & n <= its[103:88]
        & now_q[59:40] == (n == 0 ? its_row_0 : {its_row_1[19:BITS], before}) & now_q[79:60] == {its_row_1[19:BITS], next};

    always @* if (!reset) begin
        second_range: cover (its_turn & emit & n == 2 & finished & number == 1 & its_row_1[BITS-1:0] == 0);
        part: cover (beat_marked & shown & leaves & takes == beat_number & m_axis_transmit_tlast & beat_octets == 3 & takes == 2);
    end
endmodule
