// An edge moves by whole FPDUs, with their last beat, and never behind one that failed.
//
//   landed: last beat, all octets read, stream alive, none failed since `arm` ──1 cycle──► edge = its end ──► complete, visible
//
// For any stream: its edge is written by such a beat, to the position behind it, or by `arm`, to 0; and each such beat
// writes it. Each last beat that lands is completed once, 2 cycles later, as visible exactly if it moved the edge. Behind a
// failed FPDU nothing is visible until the stream is armed again; nothing of a closed stream is.
//
// Assumed: `known` says that the stream exists (ring_write.rs); `arm` comes when no other one is pending (ARM cycles apart).
module visibility_properties #(parameter STREAMS = 4) (
    input clock,
    input reset,
    input [124:0] landed,
    input arm,
    input [7:0] arm_stream,
    input [31:0] arm_start,
    input close,
    input [7:0] close_stream,
    input ready,
    input live_0,
    input live_1,
    input live_2,
    input live_3,
    input edge_write,
    input [7:0] edge_stream,
    input [31:0] edge_position,
    input moved,
    input armed,
    input [31:0] armed_start,
    input complete,
    input [7:0] complete_stream,
    input complete_visible,
    // inside
    input arming_q,
    input [7:0] arming_stream_q,
    input [31:0] arming_start_q,
    input [124:0] beat_1_q,
    input visible_q,
    input broken_0_q,
    input broken_1_q,
    input broken_2_q,
    input broken_3_q,
    input complete_1_q,
    input [7:0] complete_stream_1_q,
    input complete_visible_1_q
);
    wire valid = landed[0], known = landed[1], last = landed[59], failed = landed[60];
    wire [7:0] origin = landed[9:2];
    wire [31:0] behind = landed[124:93];
    wire ends = valid & known & last;
    always @* assume (!known | origin < STREAMS);
    always @* assume (!arm | ready);

    // any stream: whether it lives, and whether an FPDU of it has failed since it was armed
    (* anyconst *) wire [7:0] s;
    always @* assume (s < STREAMS);
    reg alive = 0, broken = 0;
    wire is_armed = armed & edge_stream == s;
    always @(posedge clock) begin
        alive <= !reset & !(close & close_stream == s) & (is_armed | alive);
        broken <= !reset & !is_armed & (broken | (ends & failed & origin == s));
    end
    // what landed a cycle ago, two cycles ago; the pending `arm`
    reg moves = 0, ended = 0, ended_2 = 0, moved_2 = 0, pending = 0;
    reg [31:0] to = 0, start = 0;
    reg [7:0] of = 0, of_2 = 0, pending_for = 0;
    always @(posedge clock) begin
        moves <= !reset & ends & !failed & origin == s & alive & !broken;
        to <= behind;
        ended <= valid & last;
        of <= origin;
        ended_2 <= !reset & ended;
        of_2 <= of;
        moved_2 <= moved;
        if (arm & arm_stream < STREAMS) begin
            pending_for <= arm_stream;
            start <= arm_start;
        end
        pending <= !reset & ((arm & arm_stream < STREAMS) | (pending & !armed));
    end
    wire live = s == 0 ? live_0 : s == 1 ? live_1 : s == 2 ? live_2 : live_3;
    wire breaks = s == 0 ? broken_0_q : s == 1 ? broken_1_q : s == 2 ? broken_2_q : broken_3_q;
    always @* begin
        whole_fpdus: assert ((moved & edge_stream == s) == moves);
        if (moves) behind_it: assert (edge_write & !armed & edge_position == to);
        written_by: assert (edge_write == (moved | armed) & !(moved & armed));
        if (armed) armed_as_asked: assert (pending & edge_stream == pending_for & armed_start == start & edge_position == 0);
        lives: assert (live == alive);
        completed_once: assert (complete == ended_2);
        if (complete) completed_as: assert (complete_stream == of_2 & complete_visible == moved_2);
    end

    // helpers
    always @* begin
        broken_is: assert (breaks == broken);
        beat: assert (beat_1_q[124:93] == to & beat_1_q[9:2] == of & (beat_1_q[0] & beat_1_q[59]) == ended);
        moving: assert ((visible_q & of == s) == moves);
        visible_known: assert (!visible_q | (of < STREAMS & ended));
        arming_is: assert (arming_q == pending & (!pending | (arming_stream_q == pending_for & arming_start_q == start & pending_for < STREAMS)));
        completing: assert (complete_1_q == ended_2 & complete_stream_1_q == of_2 & complete_visible_1_q == moved_2);
    end

    always @* if (!reset) begin
        another: cover (moves & moved_2 & s == 3);
        lost: cover (ended & broken & alive & of == s & !moves);
        again: cover (is_armed & broken);
        at_rest: cover (armed & moved_2);
    end
endmodule
