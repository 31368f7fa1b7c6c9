// Each side of the mailbox gets one answer for each request, and keeps the rules of AXI4-Lite; its accesses come one at a time.
//
//   AW, W taken ─┐                                  ┌─► B
//                ├─► access, one, unchanged ─► done ┤      responses ≤ requests, never more than one of each kind open
//   AR taken ────┘                                  └─► R
//
// Nothing is assumed of the master. Of the block behind it: `done` comes only while an access is valid.
module mailbox_port_properties (
    input clock,
    input reset,
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
    input [50:0] access,
    input access_valid,
    input done,
    input [31:0] data,
    input [1:0] response,
    // inside
    input aw_held_q,
    input w_held_q,
    input ar_held_q,
    input b_valid_q,
    input r_valid_q,
    input under_way_q,
    input read_last_q
);
    wire write = access[0];
    handshake #(.WIDTH(2)) b (
        .clock(clock), .reset(reset), .valid(s_axil_bvalid), .ready(s_axil_bready), .payload(s_axil_bresp)
    );
    handshake #(.WIDTH(34)) r (
        .clock(clock), .reset(reset), .valid(s_axil_rvalid), .ready(s_axil_rready),
        .payload({s_axil_rdata, s_axil_rresp})
    );
    handshake #(.WIDTH(51)) one_access (
        .clock(clock), .reset(reset), .valid(access_valid), .ready(done), .payload(access)
    );
    always @* assume (!done | access_valid);

    // requests taken and not answered
    reg [1:0] addresses = 0, words = 0, reads = 0;
    wire answered = s_axil_bvalid & s_axil_bready;
    wire read = s_axil_rvalid & s_axil_rready;
    // what the last access of each kind was answered with
    reg [1:0] wrote = 0;
    reg [33:0] found = 0;
    // cycles in which a request is held and no access, and no response of its kind, is in its way
    reg [1:0] silent_write = 0, silent_read = 0;
    wire write_due = aw_held_q & w_held_q & !s_axil_bvalid & !access_valid;
    wire read_due = ar_held_q & !s_axil_rvalid & !access_valid;
    always @(posedge clock) begin
        addresses <= reset ? 0 : addresses + (s_axil_awvalid & s_axil_awready) - answered;
        words <= reset ? 0 : words + (s_axil_wvalid & s_axil_wready) - answered;
        reads <= reset ? 0 : reads + (s_axil_arvalid & s_axil_arready) - read;
        if (done & write) wrote <= response;
        if (done & !write) found <= {data, response};
        // an access of the other kind may come first, once
        silent_write <= reset | !aw_held_q | !w_held_q ? 0 : silent_write + write_due;
        silent_read <= reset | !ar_held_q ? 0 : silent_read + read_due;
    end
    always @* if (!reset) begin
        write_behind_request: assert (!s_axil_bvalid | (addresses != 0 & words != 0));
        read_behind_request: assert (!s_axil_rvalid | reads != 0);
        few: assert (addresses <= 2 & words <= 2 & reads <= 2);
        write_answer: assert (!s_axil_bvalid | s_axil_bresp == wrote);
        read_answer: assert (!s_axil_rvalid | {s_axil_rdata, s_axil_rresp} == found);
        write_begins: assert (silent_write <= 2);
        read_begins: assert (silent_read <= 2);
    end

    // helpers: what is taken is held, under way or answered
    always @* begin
        addresses_are: assert (addresses == aw_held_q + b_valid_q + (under_way_q & write));
        words_are: assert (words == w_held_q + b_valid_q + (under_way_q & write));
        reads_are: assert (reads == ar_held_q + r_valid_q + (under_way_q & !write));
        turn_of_the_write: assert (!(silent_write == 1 & aw_held_q & w_held_q) | read_last_q);
        turn_of_the_read: assert (!(silent_read == 1 & ar_held_q) | !read_last_q);
        write_has_begun: assert (silent_write != 2 | !aw_held_q);
        read_has_begun: assert (silent_read != 2 | !ar_held_q);
        one_answer_of_writes: assert (!(under_way_q & write & b_valid_q));
        one_answer_of_reads: assert (!(under_way_q & !write & r_valid_q));
    end

    always @* if (!reset) begin
        a_write_behind_a_stalled_read: cover (done & write & s_axil_rvalid & !s_axil_rready);
        a_read_behind_a_stalled_write: cover (done & !write & s_axil_bvalid & !s_axil_bready);
        both_due: cover (write_due & read_due);
        next_is_held: cover (answered & addresses == 2 & words == 2);
    end
endmodule
