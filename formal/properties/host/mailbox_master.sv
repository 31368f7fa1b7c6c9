// One access of `registers` at a time: the chosen requester's, as it asks for it, and its alone is done with the response.
//
//   request, held until done ─► AW and W, or AR ─► B or R ─► done of that requester
//
// Assumed: a requester holds its request until it is done; `registers` answers what it has accepted, once.
module mailbox_master_properties (
    input clock,
    input reset,
    input [46:0] request_0,
    input [46:0] request_1,
    input [46:0] request_2,
    input request_valid_0,
    input request_valid_1,
    input request_valid_2,
    input done_0,
    input done_1,
    input done_2,
    input [31:0] data,
    input [1:0] response,
    input [11:0] m_axil_awaddr,
    input m_axil_awvalid,
    input m_axil_awready,
    input [31:0] m_axil_wdata,
    input [3:0] m_axil_wstrb,
    input m_axil_wvalid,
    input m_axil_wready,
    input [1:0] m_axil_bresp,
    input m_axil_bvalid,
    input m_axil_bready,
    input [11:0] m_axil_araddr,
    input m_axil_arvalid,
    input m_axil_arready,
    input [31:0] m_axil_rdata,
    input [1:0] m_axil_rresp,
    input m_axil_rvalid,
    input m_axil_rready,
    // inside
    input [3:0] granted_q,
    input writing_q,
    input reading_q,
    input aw_valid_q,
    input w_valid_q,
    input ar_valid_q,
    input [9:0] row_q,
    input [31:0] word_q,
    input [3:0] strobe_q
);
    handshake #(.WIDTH(12)) aw (
        .clock(clock), .reset(reset), .valid(m_axil_awvalid), .ready(m_axil_awready), .payload(m_axil_awaddr)
    );
    handshake #(.WIDTH(36)) w (
        .clock(clock), .reset(reset), .valid(m_axil_wvalid), .ready(m_axil_wready),
        .payload({m_axil_wdata, m_axil_wstrb})
    );
    handshake #(.WIDTH(12)) ar (
        .clock(clock), .reset(reset), .valid(m_axil_arvalid), .ready(m_axil_arready), .payload(m_axil_araddr)
    );

    // requesters hold what they ask for
    wire [2:0] valid = {request_valid_2, request_valid_1, request_valid_0};
    wire [2:0] done = {done_2, done_1, done_0};
    wire [140:0] asked = {request_2, request_1, request_0};
    reg [2:0] open = 0;
    reg [140:0] open_asked = 0;
    always @(posedge clock) begin
        open <= reset ? 0 : valid & ~done;
        open_asked <= asked;
    end
    always @* begin
        assume (!open[0] | (valid[0] & request_0 == open_asked[46:0]));
        assume (!open[1] | (valid[1] & request_1 == open_asked[93:47]));
        assume (!open[2] | (valid[2] & request_2 == open_asked[140:94]));
    end

    // `registers`: accepted and not answered
    reg addressed = 0, given = 0, asked_for = 0;
    always @(posedge clock) begin
        addressed <= !reset & (addressed | m_axil_awvalid & m_axil_awready) & !(m_axil_bvalid & m_axil_bready);
        given <= !reset & (given | m_axil_wvalid & m_axil_wready) & !(m_axil_bvalid & m_axil_bready);
        asked_for <= !reset & (asked_for | m_axil_arvalid & m_axil_arready) & !(m_axil_rvalid & m_axil_rready);
    end
    always @* begin
        assume (!m_axil_bvalid | (addressed & given));
        assume (!m_axil_rvalid | asked_for);
    end

    // the request that is carried out
    wire [46:0] carried = granted_q == 0 ? request_0 : granted_q == 1 ? request_1 : request_2;
    wire [9:0] row = carried[10:1];
    always @* if (!reset) begin
        one: assert (!(writing_q & reading_q));
        write_is_asked: assert (!m_axil_awvalid | (carried[0] & m_axil_awaddr == {row, 2'b00}));
        word_is_asked: assert (!m_axil_wvalid | (carried[0] & {m_axil_wstrb, m_axil_wdata} == carried[46:11]));
        read_is_asked: assert (!m_axil_arvalid | (!carried[0] & m_axil_araddr == {row, 2'b00}));
        done_with_a_response: assert (done == 0 | (m_axil_bvalid & m_axil_bready) | (m_axil_rvalid & m_axil_rready));
        one_done: assert (done == 0 | done == 1 | done == 2 | done == 4);
        done_of_an_asker: assert ((done & ~valid) == 0);
        no_answer_is_lost: assert (!(m_axil_bvalid | m_axil_rvalid) | done != 0);
        word_read: assert (!m_axil_rvalid | (data == m_axil_rdata & response == m_axil_rresp));
        word_written: assert (!m_axil_bvalid | response == m_axil_bresp);
    end

    // helpers
    wire busy = writing_q | reading_q;
    always @* begin
        granted: assert (granted_q <= 2);
        offered_or_accepted: assert (writing_q == (aw_valid_q | addressed) & writing_q == (w_valid_q | given));
        asked_or_accepted: assert (reading_q == (ar_valid_q | asked_for));
        once: assert (!(aw_valid_q & addressed) & !(w_valid_q & given) & !(ar_valid_q & asked_for));
        still_asked: assert (!busy | ((granted_q == 0 & open[0]) | (granted_q == 1 & open[1]) | (granted_q == 2 & open[2])));
        as_asked: assert (!busy | {strobe_q, word_q, row_q, writing_q} == (granted_q == 0 ? open_asked[46:0]
            : granted_q == 1 ? open_asked[93:47] : open_asked[140:94]));
    end

    always @* if (!reset) begin
        each: cover (done == 4 & open == 7);
        word_first: cover (given & !addressed);
    end
endmodule
