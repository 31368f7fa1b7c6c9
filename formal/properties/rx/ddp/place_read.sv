// place, second half: W carries the beats of each span, so many and with such strobes as the span says, and no other.
//
//   split ─┬─► spans ─┬─► read ─► asked, delayed with the octets ─► strobes ─► queues of beats ─► W
//          └──────────┘ past the queue when it is empty
//
// A span of length n has n + 1 beats, the last one marked. All lanes are written but those in front of `from` in an FPDU's
// first beat and those from `to` on in its last one. With place_split.sv, which has the spans beside the addresses, and
// `queue.sv`: the m-th group of beats on W belongs to the m-th address on AW, and each octet written is one of the
// placement.
//
// Assumed: a first span comes behind a last one and nowhere else, one without beats is both (place_split.sv has it of the
// queue's other end); a reset is held for 16 cycles.
module place_read_properties #(parameter K = 8) (
    input clock,
    input reset,
    input [63:0] m_axi_awaddr,
    input [7:0] m_axi_awlen,
    input m_axi_awvalid,
    input m_axi_awready,
    input [8*K-1:0] m_axi_wdata,
    input [K-1:0] m_axi_wstrb,
    input m_axi_wlast,
    input m_axi_wvalid,
    input m_axi_wready,
    // inside
    input emit,
    input [66:0] span,
    input spans_s_valid,
    input spans_s_ready,
    input spans_m_valid,
    input free,
    input [66:0] spans_m_data,
    input [66:0] head,
    input fetch,
    input ask,
    input over,
    input reading_q,
    input [66:0] now_q,
    input [7:0] left_q,
    input at_last_q,
    input at_first_q,
    input [17:0] asked,
    input [7:0] under_way_q,
    input [K-1:0] strobes_mask,
    input [17:0] side_q,
    input [17:0] side__stage_0,
    input [17:0] side__stage_1,
    input [17:0] side__stage_2,
    input [17:0] side__stage_3,
    input beat_data_s_valid,
    input beat_data_s_ready,
    input beat_last_s_data,
    input beat_strobes_m_valid,
    input beat_last_m_valid,
    input [3:0] beat_data__filled,
    input beat_data__full_q,
    input [3:0] beat_data__read_q,
    input [3:0] beat_data__write_q,
    input [3:0] beat_strobes__read_q,
    input [3:0] beat_strobes__write_q,
    input [3:0] beat_strobes__filled,
    input beat_strobes__full_q,
    input [3:0] beat_last__filled,
    input beat_last__full_q,
    input [3:0] beat_last__read_q,
    input [3:0] beat_last__write_q
);
    // records in the queues: a full one has counted to 0
    wire [7:0] beat_data_inside = {3'd0, beat_data__full_q, beat_data__filled};
    wire [7:0] beat_strobes_inside = {3'd0, beat_strobes__full_q, beat_strobes__filled};
    wire [7:0] beat_last_inside = {3'd0, beat_last__full_q, beat_last__filled};

    // resets
    reg [4:0] held = 0; // cycles of the reset so far
    reg was_reset = 0;
    always @(posedge clock) begin
        was_reset <= reset;
        held <= !reset ? 0 : !was_reset ? 1 : held == 16 ? 16 : held + 1;
    end
    always @* assume (!was_reset | reset | held == 16);

    // the span being read
    wire [7:0] length = now_q[7:0], from = now_q[42:35], to = now_q[50:43];
    wire first = now_q[8], last = now_q[9], empty = now_q[10];
    reg behind_last = 1;
    always @(posedge clock) behind_last <= reset ? 1 : fetch ? head[9] : behind_last;
    always @* begin
        assume (!fetch | head[8] == behind_last);
        assume (!fetch | !head[10] | (head[8] & head[9]));
    end

    // spans come in the order in which they are split off, each once
    wire past = fetch & !spans_m_valid;
    always @* begin
        each_once: assert (emit == (spans_s_valid | past) & !(spans_s_valid & past) & (!spans_s_valid | spans_s_ready));
        oldest: assert (!fetch | head == (spans_m_valid ? spans_m_data : span));
        taken: assert (!spans_m_valid | fetch == free);
    end

    // its beats, as they should be, and where they are
    reg [8:0] i = 0;
    reg [17:0] one = 0, two = 0, three = 0, four = 0;
    wire [7:0] wanted_from = first & i == 0 ? from : 0;
    wire [7:0] wanted_to = last & i == length ? to : K;
    wire [17:0] wanted = {i == length, wanted_to, wanted_from, ask};
    always @(posedge clock) begin
        i <= fetch ? 0 : i + ask;
        one <= wanted;
        two <= one;
        three <= two;
        four <= three;
    end
    always @* begin
        beats_of_the_span: assert (!over | empty | (ask & i == length));
        never_more: assert (!ask | i <= length);
        beat: assert (asked[0] == wanted[0] & (!wanted[0] | asked == wanted));
        in_step: assert (side_q[0] == four[0] & (!four[0] | side_q == four));
    end
    (* anyconst *) wire [$clog2(K)-1:0] lane;
    always @* if (beat_data_s_valid) begin
        strobe: assert (strobes_mask[lane] == (lane >= four[8:1] & lane < four[16:9]));
        marked: assert (beat_last_s_data == four[17]);
    end
    always @* begin
        no_overflow: assert (!beat_data_s_valid | beat_data_s_ready | reset);
        together: assert (m_axi_wvalid == beat_strobes_m_valid & m_axi_wvalid == beat_last_m_valid);
        same_rows: assert (beat_data__read_q == beat_strobes__read_q & beat_data__read_q == beat_last__read_q
            & beat_data__write_q == beat_strobes__write_q & beat_data__write_q == beat_last__write_q
            & beat_data_inside == beat_strobes_inside & beat_data_inside == beat_last_inside);
    end

    axi_writes #(.K(K)) writes (.*);

    // helpers
    wire [7:0] flying = side__stage_0[0] + side__stage_1[0] + side__stage_2[0] + side__stage_3[0];
    wire quiet = !was_reset | held > 5; // what was on its way when the reset began is gone
    always @* begin
        if (reading_q & !empty) begin
            left: assert (left_q + i == length & i <= length & at_last_q == (left_q == 0));
            at_first: assert (at_first_q == (first & i == 0));
        end
        if (!reading_q & !behind_last) not_first: assert (!at_first_q);
        if (reading_q) begin
            span_is: assert (last == behind_last);
            alone: assert (!empty | (first & last));
        end
        stages: assert (side__stage_0[0] == one[0] & (!one[0] | side__stage_0 == one)
            & side__stage_1[0] == two[0] & (!two[0] | side__stage_1 == two)
            & side__stage_2[0] == three[0] & (!three[0] | side__stage_2 == three)
            & side__stage_3[0] == four[0] & (!four[0] | side__stage_3 == four));
        held_is: assert (held <= 16 & (held != 0 | !was_reset));
        if (was_reset) begin
            in_reset: assert (!asked[0] & under_way_q == 0 & beat_data_inside == 0);
            drains: assert ((held < 2 | !side__stage_0[0]) & (held < 3 | !side__stage_1[0])
                & (held < 4 | !side__stage_2[0]) & (held < 5 | !side__stage_3[0]));
        end
        if (quiet) counted: assert (under_way_q == flying + beat_data_inside);
        bound: assert (under_way_q <= 16);
    end

    always @* if (!reset) begin
        two_beats: cover (over & i == 1 & first & last & from == 3 & to == 2);
        continued: cover (over & !first & last & i == 0);
        one_octet: cover (m_axi_wvalid & m_axi_wready & m_axi_wstrb == 1 << (K - 1) & m_axi_wlast);
    end
endmodule
