// Room is released behind the SENDs in front of it, and a closed stream is quiet when its SENDs have been read.
//
//   acknowledgement n, with the SENDs accepted before it ─► queue ─► all of these have been read ─► freed n
//
// SENDs and acknowledgements are numbered as they are accepted, read and released. Each acknowledgement leads to one
// `freed`, in their order, with its stream and position, and not before the SENDs that were accepted before it have been
// read from the ring. Thereby `freed` passes no octet of a SEND under way: those accepted before have been read, and those
// accepted behind it begin at its position or behind it (commands.sv). From the fourth cycle behind a `close` on, `quiet`
// is high only when the SENDs and acknowledgements accepted up to the cycle behind the `close` are read and released, and
// nothing of `stream` was written or executed for SETTLED cycles, but for the cycle before, which `quiet`
// shows one cycle later.
//
// Assumed: a SEND is read after it was accepted, at most SENDS of them are under way (range_read.rs: its queue, and the one
// that is read); commands.rs accepts a SEND and an acknowledgement in different cycles.
module room_release_properties #(parameter SENDS = 9, parameter SETTLED = 12) (
    input clock,
    input reset,
    input [39:0] acknowledged,
    input acknowledged_valid,
    input acknowledged_ready,
    input accepted,
    input finished,
    input freed,
    input [7:0] freed_stream,
    input [31:0] freed_position,
    input close,
    input [7:0] stream,
    input writing,
    input [7:0] writing_stream,
    input command,
    input [7:0] command_stream,
    input quiet,
    // inside
    input put,
    input take,
    input [5:0] accepted_count_q,
    input [5:0] finished_count_q,
    input freed_1_q,
    input [39:0] freed_record_q,
    input closed_q,
    input closed_2_q,
    input [5:0] queued_q,
    input [5:0] close_tag_q,
    input sends_ahead_q,
    input [5:0] frees_ahead_q,
    input active_q,
    input [3:0] settling_q,
    input quiet_1_q,
    input waiting_m_valid,
    input waiting__full_q,
    input [3:0] waiting__read_q,
    input [3:0] waiting__write_q,
    input [3:0] waiting__store__proof_row,
    input [39:0] waiting__store__proof_data,
    input tags_m_valid,
    input tags__full_q,
    input [3:0] tags__read_q,
    input [3:0] tags__write_q,
    input [95:0] tags__store__proof_rows
);
    // numbers: SENDs accepted and read, acknowledgements accepted, and given to `freed`
    reg [7:0] sends = 0, reads = 0, puts = 0, takes = 0;
    wire accepts = acknowledged_valid & acknowledged_ready;
    wire [7:0] under_way = sends - reads;
    always @(posedge clock) begin
        sends <= reset ? 0 : sends + accepted;
        reads <= reset ? 0 : reads + finished;
        puts <= reset ? 0 : puts + accepts;
        takes <= reset ? 0 : takes + take;
    end
    always @* begin
        assume (!finished | under_way != 0);
        assume (!accepted | under_way != SENDS);
        assume (!(accepted & acknowledged_valid));
    end

    // any acknowledgement: SENDs in front of it that are not read yet
    (* anyseq *) wire mark;
    reg marked = 0, leaves = 0;
    reg [7:0] number = 0, in_front = 0;
    reg [39:0] its = 0;
    wire its_turn = marked & !leaves & take & takes == number;
    always @(posedge clock) begin
        leaves <= its_turn & !reset;
        if (mark & accepts & !marked) begin
            marked <= 1;
            number <= puts;
            its <= acknowledged;
            in_front <= under_way - finished;
        end else in_front <= in_front - (finished & in_front != 0);
        if (reset | leaves) marked <= 0;
    end
    reg took = 0;
    always @(posedge clock) took <= take & !reset;
    always @* begin
        if (its_turn) behind_its_sends: assert (in_front == 0);
        if (leaves & waiting__store__proof_row == number[3:0]) as_it_came: assert (freed & {freed_position, freed_stream} == its);
        once: assert (freed == took);
        of_one: assert (!take | takes != puts);
    end

    // the last `close`: SENDs and acknowledgements up to the cycle behind it that are not read and not released yet
    reg since_1 = 0, since_2 = 0;
    reg [2:0] age = 7; // cycles since then
    reg [7:0] close_sends = 0, close_frees = 0;
    // cycles since something of the stream was written or executed
    reg [3:0] calm = 15;
    wire busy = close | (writing & writing_stream == stream) | (command & command_stream == stream);
    wire [7:0] queued = puts - takes;
    always @(posedge clock) begin
        since_1 <= close & !reset;
        since_2 <= since_1 & !reset;
        age <= reset ? 7 : close ? 1 : age == 7 ? 7 : age + 1'b1;
        if (since_2) begin
            close_sends <= under_way - finished;
            close_frees <= queued - take;
        end else begin
            close_sends <= close_sends - (finished & close_sends != 0);
            close_frees <= close_frees - (take & close_frees != 0);
        end
        if (reset) begin
            close_sends <= 0;
            close_frees <= 0;
        end
        calm <= busy ? 0 : reset | calm == 15 ? 15 : calm + 1'b1;
    end
    always @* if (quiet & age >= 4) begin
        sends_are_read: assert (close_sends == 0);
        room_is_released: assert (close_frees == 0);
        settles: assert (calm >= SETTLED | calm == 0);
    end

    // helpers: the record of a tag, as long as no number wraps
    reg [7:0] tag_of [0:15];
    genvar k;
    generate for (k = 0; k < 16; k = k + 1) begin: rows
        always @(posedge clock) if (accepts & puts[3:0] == k) tag_of[k] <= sends;
        wire [3:0] place = k - takes[3:0];
        wire here = {4'b0, place} < queued;
        wire [7:0] read = reads - tag_of[k], to_read = tag_of[k] - reads, since = read + place;
        wire [7:0] apart = tag_of[k] - tag_of[(k + 15) % 16];
        always @* begin
            assert (!here | tags__store__proof_rows[6*k +: 6] == tag_of[k][5:0]);
            // since all SENDs in front are read, it has moved up as often as others were read, and the one ahead is due, too
            assert (!here | (read[7] ? to_read <= under_way : since <= 16));
            assert (!here | place == 0 | apart <= 31);
        end
    end endgenerate
    wire [7:0] reads_since = reads - tag_of[number[3:0]];
    always @* begin
        counts: assert (accepted_count_q == sends[5:0] & finished_count_q == reads[5:0] & under_way <= SENDS);
        waiting_is: assert (queued <= 16 & waiting_m_valid == (queued != 0) & waiting__full_q == (queued == 16)
            & waiting__read_q == takes[3:0] & waiting__write_q == puts[3:0]);
        tags_are: assert (tags_m_valid == waiting_m_valid & tags__full_q == waiting__full_q & tags__read_q == takes[3:0]
            & tags__write_q == puts[3:0]);
        queued_is: assert (queued_q == queued);
        if (marked & !leaves) begin
            waits: assert (number - takes < queued);
            if (waiting__store__proof_row == number[3:0]) row: assert (waiting__store__proof_data == its);
            front: assert (in_front <= under_way);
            tag: assert (in_front == 0 ? !(reads_since[7]) : reads_since == 8'd0 - in_front);
        end
        if (leaves & waiting__store__proof_row == number[3:0]) leaving: assert (freed_1_q & freed_record_q == its);
        freed_is: assert (freed_1_q == took);
    end

    // the close
    wire [5:0] since_close = finished_count_q - close_tag_q;
    always @* begin
        closing: assert (closed_q == since_1 & closed_2_q == since_2);
        ages: assert (age != 0 & since_1 == (age == 1) & (age != 2 | since_2) & (!since_2 | age <= 2));
        frees: assert (frees_ahead_q == close_frees & close_frees <= queued);
        reads_of_close: assert (close_sends <= under_way & (sends_ahead_q | close_sends == 0));
        if (close_sends != 0) reads_ahead: assert (since_close == 6'd0 - close_sends[5:0]);
        works: assert (active_q | !(since_1 | since_2 | close_sends != 0 | close_frees != 0 | calm == 0));
        calms_down: assert (active_q | settling_q + calm >= SETTLED - 1);
        if (quiet) none_left: assert (close_sends == 0 & close_frees == 0 | age <= 3);
        if (quiet_1_q) calm_for: assert (calm >= SETTLED | calm == 0);
    end

    always @* if (!reset) begin
        behind_one: cover (its_turn & number == 1 & sends == 2 & reads == 1);
        at_once: cover (leaves & number == 0 & sends == 0);
        quiet_again: cover (quiet & age == 7 & close_sends == 0 & reads == 1 & sends == 1 & puts == 1 & calm == SETTLED);
    end
endmodule
