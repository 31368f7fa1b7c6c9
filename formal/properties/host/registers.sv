// s_axil answers each write and each read exactly once, and keeps the rules of AXI4-Lite.
//
//   AW, W taken  ≥  B given  ≥  AW, W taken − 1          AR taken  ≥  R given  ≥  AR taken − 1
//
// A response never comes before its request, which is what the first signs say (IHI 0022E §A3.3.1); nothing is assumed of
// the master, so that neither a hasty nor a rude one gets an answer too many.
module registers_properties (
    input clock,
    input reset,
    input port_reset,
    input s_axil_awvalid,
    input s_axil_awready,
    input s_axil_wvalid,
    input s_axil_wready,
    input [1:0] s_axil_bresp,
    input s_axil_bvalid,
    input s_axil_bready,
    input s_axil_arvalid,
    input s_axil_arready,
    input [31:0] s_axil_rdata,
    input [1:0] s_axil_rresp,
    input s_axil_rvalid,
    input s_axil_rready,
    // inside: what is held, what is on its way
    input aw_held_q,
    input w_held_q,
    input apply_q,
    input b_valid_q,
    input reading_q,
    input r_valid_q,
    input [1:0] step_q
);
    wire cleared = reset | port_reset;
    // requests taken and not answered
    reg [1:0] addresses = 0, words = 0, reads = 0;
    wire answered = s_axil_bvalid & s_axil_bready;
    wire read = s_axil_rvalid & s_axil_rready;
    always @(posedge clock) begin
        addresses <= cleared ? 0 : addresses + (s_axil_awvalid & s_axil_awready) - answered;
        words <= cleared ? 0 : words + (s_axil_wvalid & s_axil_wready) - answered;
        reads <= cleared ? 0 : reads + (s_axil_arvalid & s_axil_arready) - read;
    end
    always @* if (!cleared) begin
        write_behind_request: assert (!s_axil_bvalid | (addresses != 0 & words != 0));
        read_behind_request: assert (!s_axil_rvalid | reads != 0);
        few: assert (addresses <= 2 & words <= 2 & reads <= 1);
        all_well: assert (s_axil_bresp == 0 & s_axil_rresp == 0);
    end

    handshake #(.WIDTH(2)) response (
        .clock(clock), .reset(cleared), .valid(s_axil_bvalid), .ready(s_axil_bready), .payload(s_axil_bresp)
    );
    handshake #(.WIDTH(34)) word (
        .clock(clock), .reset(cleared), .valid(s_axil_rvalid), .ready(s_axil_rready),
        .payload({s_axil_rdata, s_axil_rresp})
    );

    // no request is left without an answer: a cycle of the wait is always one nearer to it
    reg [2:0] silent = 0, silent_read = 0;
    always @(posedge clock) begin
        silent <= cleared | s_axil_bvalid | addresses == 0 | words == 0 ? 0 : silent + 1;
        silent_read <= cleared | s_axil_rvalid | reads == 0 ? 0 : silent_read + 1;
    end
    always @* begin
        answer_in_time: assert (silent <= 2);
        word_in_time: assert (silent_read <= 3);
    end

    // helpers
    always @* begin
        held: assert (addresses == aw_held_q + b_valid_q);
        held_word: assert (words == w_held_q + b_valid_q);
        applied: assert (!apply_q | (aw_held_q & w_held_q & !b_valid_q));
        held_read: assert (reads == reading_q);
        answered_read: assert (!r_valid_q | reading_q);
        stepping: assert (reading_q & !r_valid_q ? step_q == silent_read & step_q != 3 : step_q == 0 | (step_q == 3 & r_valid_q));
        applying: assert (apply_q ? silent == 1 : silent == 0 | (silent == 2 & b_valid_q));
    end

    always @* if (!cleared) begin
        two_at_once: cover (answered & addresses == 2);
        read_waits: cover (s_axil_rvalid & !s_axil_rready & reads == 1);
        later: cover (read & answered);
    end
endmodule
