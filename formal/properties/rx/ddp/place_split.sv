// place, first half: the bursts of a placement hold its octets, all of them, each once, and no other.
//
//   placement ─► measure, extents ─► split ─┬─► addresses ─► AW
//                                           └─► spans      (place_read.sv)
//
// A burst is what `split` gives to both queues in a cycle: an address and a length, the first lane of its first beat and
// the lane behind the last one of its last beat. Shown for the placement that went through one slot of `extents`, which is
// any (proof_row). `queue.sv` has that queues pass on what they are given, in order; between a port and the queue next to
// it there is nothing.
module place_split_properties #(parameter K = 8, parameter BLOCK = 2048) (
    input clock,
    input reset,
    input [119:0] s_placement,
    input m_ready,
    // inside
    input take,
    input load,
    input emit,
    input done,
    input loaded_q,
    input [3:0] before_split_q,
    input room_q,
    input split_valid_q,
    input [66:0] split_q,
    input [31:0] high_q,
    input [31:0] high_next_q,
    input [31:0] block_number_q,
    input [7:0] blocks_left_q,
    input last_block_q,
    input [7:0] first_beat_q,
    input [7:0] last_beat_q,
    input [15:0] issued_q,
    input handing_q,
    input [71:0] address,
    input [66:0] span,
    input addresses_s_valid,
    input extents_s_ready,
    input deliveries_m_valid,
    input deliveries_s_ready,
    input [2:0] deliveries__filled,
    input deliveries__full_q,
    input [2:0] extents__filled,
    input extents__full_q,
    input [2:0] extents__read_q,
    input [2:0] extents__write_q,
    input [2:0] extents__store__proof_row,
    input [169:0] extents__store__proof_data
);
    // records in the queues: a full one has counted to 0
    wire [7:0] deliveries_inside = {4'd0, deliveries__full_q, deliveries__filled};
    wire [7:0] extents_inside = {4'd0, extents__full_q, extents__filled};

    localparam BITS = $clog2(BLOCK);
    localparam LANES = $clog2(K);

    // the placement, along its way
    reg [63:0] slot_address = 0, its_address = 0;
    reg [15:0] slot_length = 0, its_length = 0;
    reg mine = 0; // what is being split went through the slot
    wire [2:0] slot = extents__store__proof_row;
    always @(posedge clock) begin
        if (take & extents_s_ready & extents__write_q == slot) begin
            slot_address <= s_placement[103:40];
            slot_length <= s_placement[119:104];
        end
        if (load) begin
            mine <= extents__read_q == slot;
            its_address <= slot_address;
            its_length <= slot_length;
        end
    end

    // a burst: its first and last octet as distances from the placement's first one
    wire [7:0] from = span[8] ? span[42:35] : 0;
    wire [7:0] to = span[9] ? span[50:43] : K;
    wire [63:0] first_octet = address[63:0] + from;
    wire [63:0] last_octet = address[63:0] + {48'b0, address[71:64], {LANES{1'b0}}} + to - 64'd1;
    wire [63:0] first_distance = first_octet - its_address;
    wire [63:0] last_distance = last_octet - its_address;
    wire burst = emit & mine & !span[10];
    reg [15:0] next = 0; // octets given to bursts so far
    reg [7:0] n = 0; // bursts
    always @(posedge clock) begin
        if (load) begin
            next <= 0;
            n <= 0;
        end else if (emit) begin
            next <= last_distance[15:0] + 1;
            n <= n + 1;
        end
    end
    always @* if (burst) begin
        begins_where_the_last_ended: assert (first_distance == next);
        lanes: assert (from < to & to <= K | address[71:64] != 0 & from < K & to != 0 & to <= K);
        inside: assert (last_distance < its_length & first_distance <= last_distance);
        whole_placement: assert (!done | last_distance == its_length - 1);
        aligned: assert (address[LANES-1:0] == 0);
        no_crossing: assert (address[11:0] + (address[71:64] + 1) * K <= 4096);
        same_length: assert (span[7:0] == address[71:64]);
    end
    always @* if (emit & mine) begin
        nothing_of_nothing: assert (addresses_s_valid == (its_length != 0) & span[10] == (its_length == 0));
        ends: assert (span[9] == done);
        alone: assert (!span[10] | (span[8] & span[9]));
    end

    // a first span behind each last one and nowhere else: what place_read.sv assumes of the queue's other end
    reg behind_last = 1;
    always @(posedge clock) behind_last <= reset ? 1 : emit ? span[9] : behind_last;
    always @* if (emit) first_is: assert (span[8] == behind_last);

    // bursts up to the end of the FPDU, as `deliver` is told them, are those that go out
    reg [15:0] given = 0;
    always @(posedge clock) given <= reset ? 0 : given + addresses_s_valid;
    wire [15:0] to_come = split_valid_q & !split_q[10] ? blocks_left_q + 1 : 0;
    always @* issued: assert (issued_q == given + to_come);
    always @* begin
        told_before_the_burst: assert (!emit | !handing_q | m_ready);
        told_with_its_delivery: assert (!handing_q | deliveries_m_valid);
        no_overflow: assert (!take | (extents_s_ready & deliveries_s_ready));
    end

    // helpers: each stage in words of the placement
    wire [16:0] slot_end = {1'b0, slot_address[BITS-1:0]} + slot_length - 17'd1;
    wire [16:0] its_end = {1'b0, its_address[BITS-1:0]} + its_length - 17'd1;
    wire [31:0] slot_high_next = slot_address[63:32] + 1;
    wire [31:0] its_high_next = its_address[63:32] + 1;
    wire [2:0] age = slot - extents__read_q;
    wire [169:0] e = extents__store__proof_data;
    always @* begin
        if ({5'b0, age} < extents_inside) begin
            slot_is: assert (e[0] == (slot_length == 0) & e[152:121] == slot_address[31:0]
                & e[88:57] == slot_address[63:32] & e[120:89] == slot_high_next);
            slot_end_is: assert (e[0] | e[169:153] == slot_end);
        end
        if (split_valid_q & mine) begin
            nothing: assert (split_q[10] == (its_length == 0));
            high: assert (high_q == its_address[63:32] & high_next_q == its_high_next);
            number: assert (block_number_q == its_address[31:BITS] + n);
            first: assert (split_q[8] == (n == 0));
            left_nothing: assert (!split_q[10] | (blocks_left_q == 0 & n == 0));
            if (!split_q[10]) begin
                left: assert (blocks_left_q + n == its_end >> BITS & n <= its_end >> BITS);
                beats: assert (first_beat_q == its_address[BITS-1:LANES] & last_beat_q == its_end[BITS-1:LANES]);
                lanes_of: assert (split_q[42:35] == its_address[LANES-1:0] & split_q[50:43] == its_end[LANES-1:0] + 1);
                next_is: assert (next == (n == 0 ? 0 : (n << BITS) - its_address[BITS-1:0]));
            end
        end
        // what is not mine still ends
        few: assert (!split_valid_q | split_q[8] | !split_q[10]);
        none_left: assert (!split_valid_q | !split_q[10] | blocks_left_q == 0);
        next_first: assert (split_valid_q ? split_q[8] == behind_last : behind_last);
        credit: assert (before_split_q == extents_inside + loaded_q);
        last: assert (!split_valid_q | last_block_q == (blocks_left_q == 0));
        room: assert (before_split_q <= 6 & (!room_q | before_split_q <= 5));
        handed: assert (!handing_q | split_valid_q);
        deliveries_of: assert (deliveries_inside == before_split_q - loaded_q + handing_q);
    end

    always @* if (!reset) begin
        second_burst: cover (burst & n == 1 & done);
        one_octet: cover (burst & its_length == 1 & its_address[LANES-1:0] == K - 1 & done);
        over_4_gib: cover (burst & n == 1 & its_address[32] & !address[32]);
        without_payload: cover (emit & mine & span[10] & n == 0);
        long: cover (load & extents_inside != 0 & slot_length == 64768 & extents__read_q == slot);
    end
endmodule
