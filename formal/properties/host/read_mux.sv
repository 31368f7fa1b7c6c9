// m_axi, reads: the rules of AXI4 on the bus, and each burst's beats go to its requester.
//
//   request ─► queue of its requester ─► grant n ──► AR n ──► burst n of R: to the same requester
//
// Grants, addresses and bursts are numbered as they go out and come back; number n of each belongs to the same grant. So
// no burst is lost, repeated or invented, and those of a requester come back in the order of its requests, which its queue
// keeps (queue.sv). Data, response and end of a beat go through three queues side by side. What is offered, on AR and on the
// four R ports, stays until it is accepted. At most BURSTS bursts are under way. A beat never stalls for its owner. A
// request at the head of its queue is granted behind at most one grant of each other requester, and a grant is due in each
// cycle in which AR and the queue of owners have room.
//
// Assumed of the bus: it offers no beat of a burst before it has accepted its address (IHI 0022E §A3.3.1). A burst ends
// with RLAST.
module read_mux_properties #(parameter K = 8, parameter BURSTS = 33) (
    input clock,
    input reset,
    input [71:0] addresses_0_m_data,
    input [71:0] addresses_1_m_data,
    input [71:0] addresses_2_m_data,
    input [71:0] addresses_3_m_data,
    input addresses_0_m_valid,
    input addresses_1_m_valid,
    input addresses_2_m_valid,
    input addresses_3_m_valid,
    input [8*K-1:0] rings_rdata,
    input [1:0] rings_rresp,
    input rings_rlast,
    input rings_rvalid,
    input rings_rready,
    input [8*K-1:0] queues_rdata,
    input [1:0] queues_rresp,
    input queues_rlast,
    input queues_rvalid,
    input queues_rready,
    input [8*K-1:0] gather_rdata,
    input [1:0] gather_rresp,
    input gather_rlast,
    input gather_rvalid,
    input gather_rready,
    input [8*K-1:0] responder_rdata,
    input [1:0] responder_rresp,
    input responder_rlast,
    input responder_rvalid,
    input responder_rready,
    input [63:0] m_axi_araddr,
    input [7:0] m_axi_arlen,
    input [2:0] m_axi_arsize,
    input [1:0] m_axi_arburst,
    input m_axi_arvalid,
    input m_axi_arready,
    input m_axi_rlast,
    input m_axi_rvalid,
    input m_axi_rready,
    // inside
    input grant,
    input wins_0,
    input wins_1,
    input wins_2,
    input wins_3,
    input [3:0] granted_q,
    input address_valid_q,
    input [71:0] address_q,
    input owners_s_ready,
    input [4:0] owners__filled,
    input owners__full_q,
    input [4:0] owners__read_q,
    input [4:0] owners__store__proof_row,
    input [1:0] owners__store__proof_data,
    input owners_m_valid,
    input owner_valid_q,
    input owns_0_q,
    input owns_1_q,
    input owns_2_q,
    input owns_3_q,
    input octets_m_valid,
    input responses_m_valid,
    input ends_m_valid,
    input octets__full_q,
    input octets__read_q,
    input octets__write_q,
    input responses__full_q,
    input responses__read_q,
    input responses__write_q,
    input ends__full_q,
    input ends__read_q,
    input ends__write_q,
    input [1:0] ends__store__proof_rows
);
    // records in the queue of owners: a full one has counted to 0
    wire [7:0] owners_inside = {2'd0, owners__full_q, owners__filled};
    wire [3:0] wins = {wins_3, wins_2, wins_1, wins_0};
    wire [3:0] waits = {addresses_3_m_valid, addresses_2_m_valid, addresses_1_m_valid, addresses_0_m_valid};
    wire [3:0] owns = {owns_3_q, owns_2_q, owns_1_q, owns_0_q};
    wire [3:0] to_whom = {responder_rvalid, gather_rvalid, queues_rvalid, rings_rvalid};
    wire [3:0] accepts = {responder_rready, gather_rready, queues_rready, rings_rready};
    wire asked = m_axi_arvalid & m_axi_arready;
    wire came = m_axi_rvalid & m_axi_rready;
    wire over = (to_whom & accepts) != 0 & rings_rlast;

    // numbers: granted, addresses out, bursts in, bursts given to their requesters
    reg [7:0] grants = 0, addresses = 0, bursts_in = 0, answers = 0;
    // some beats of burst `bursts_in` have come
    reg partly = 0;
    always @(posedge clock) begin
        grants <= reset ? 0 : grants + grant;
        addresses <= reset ? 0 : addresses + asked;
        bursts_in <= reset ? 0 : bursts_in + (came & m_axi_rlast);
        answers <= reset ? 0 : answers + over;
        partly <= !reset & (came ? !m_axi_rlast : partly);
    end
    always @* assume (!m_axi_rvalid | bursts_in != addresses);

    // any grant
    (* anyseq *) wire mark;
    reg marked = 0, gone = 0, answered = 0;
    reg [3:0] owner = 0;
    reg [7:0] number = 0;
    reg [71:0] its = 0;
    always @(posedge clock) begin
        if (mark & grant & !marked) begin
            marked <= 1;
            number <= grants;
            owner <= wins;
            its <= wins_3 ? addresses_3_m_data : wins_2 ? addresses_2_m_data : wins_1 ? addresses_1_m_data : addresses_0_m_data;
        end
        if (marked & asked & addresses == number) gone <= 1;
        if (marked & over & answers == number) answered <= 1;
        if (reset) begin
            marked <= 0;
            gone <= 0;
            answered <= 0;
        end
    end
    wire [7:0] under_way = grants - answers;
    wire its_beats = marked & !answered & answers == number & owners__store__proof_row == number[4:0];
    always @* begin
        if (marked & !gone & m_axi_arvalid & addresses == number)
            its_address: assert ({m_axi_arlen, m_axi_araddr} == its);
        if (its_beats) beats_to_its_requester: assert (to_whom == 0 | to_whom == owner);
        one_requester: assert (to_whom == 0 | to_whom == 1 | to_whom == 2 | to_whom == 4 | to_whom == 8);
        if (owners__store__proof_row == answers[4:0]) same_beat: assert ((to_whom != 0) == octets_m_valid);
        only_of_a_burst: assert (to_whom == 0 | answers != addresses);
        granted_one: assert (!grant | ((wins & waits) != 0 & (wins == 1 | wins == 2 | wins == 4 | wins == 8)));
        full_beats: assert (m_axi_arsize == $clog2(K) & m_axi_arburst == 1);
        bursts_under_way: assert (under_way <= BURSTS);
        no_stall_for_the_owner: assert (!octets_m_valid | owner_valid_q);
        granted_when_there_is_room: assert (grant == (waits != 0 & (!address_valid_q | m_axi_arready) & owners_s_ready));
    end
    handshake #(.WIDTH(72)) address (
        .clock(clock), .reset(reset), .valid(m_axi_arvalid), .ready(m_axi_arready),
        .payload({m_axi_araddr, m_axi_arlen})
    );
    handshake #(.WIDTH(8 * K + 3)) rings (
        .clock(clock), .reset(reset), .valid(rings_rvalid), .ready(rings_rready),
        .payload({rings_rdata, rings_rresp, rings_rlast})
    );
    handshake #(.WIDTH(8 * K + 3)) queues (
        .clock(clock), .reset(reset), .valid(queues_rvalid), .ready(queues_rready),
        .payload({queues_rdata, queues_rresp, queues_rlast})
    );
    handshake #(.WIDTH(8 * K + 3)) gather (
        .clock(clock), .reset(reset), .valid(gather_rvalid), .ready(gather_rready),
        .payload({gather_rdata, gather_rresp, gather_rlast})
    );
    handshake #(.WIDTH(8 * K + 3)) responder (
        .clock(clock), .reset(reset), .valid(responder_rvalid), .ready(responder_rready),
        .payload({responder_rdata, responder_rresp, responder_rlast})
    );

    // any two requesters: the other one is granted once while the one waits, not twice
    (* anyconst *) wire [1:0] one, other;
    always @* assume (one != other);
    reg since = 0;
    always @(posedge clock) since <= !reset & waits[one] & !(grant & wins[one]) & (since | (grant & wins[other]));
    always @* if (since & waits[one]) begin
        in_turn: assert (!(grant & wins[other]));
    end

    // helpers: requesters are granted from the last one downwards, so this many are in front
    wire [1:0] one_after = granted_q[1:0] - one - 2'd1;
    wire [1:0] other_after = granted_q[1:0] - other - 2'd1;
    wire [7:0] to_answer = number - answers, out = grants - addresses;
    wire [7:0] next_owner = answers + owner_valid_q;
    wire [7:0] due = addresses - bursts_in, flying = bursts_in - answers;
    wire newest = ends__write_q + 1'b1;
    wire [1:0] ends_inside = ends__full_q ? 2'd2 : ends_m_valid;
    wire [1:0] lasts = (ends_inside != 0 & ends__store__proof_rows[ends__read_q])
        + (ends_inside == 2 & ends__store__proof_rows[newest]);
    always @* begin
        last_granted: assert (granted_q <= 3);
        if (since & waits[one]) nearer: assert (one_after < other_after);
        if (since) still: assert (waits[one]);
        counted: assert (under_way == owners_inside + owner_valid_q & out == address_valid_q);
        bounds: assert (owners_inside <= 32 & due <= BURSTS & due + flying <= BURSTS);
        valid: assert (owners_m_valid == (owners_inside != 0));
        row: assert (owners__read_q == next_owner[4:0]);
        one_owner: assert (owns == 0 | (owner_valid_q & (owns == 1 | owns == 2 | owns == 4 | owns == 8)));
        if (owners__store__proof_row == answers[4:0]) some_owner: assert (owner_valid_q == (owns != 0));
        side_by_side: assert (octets_m_valid == ends_m_valid & responses_m_valid == ends_m_valid
            & octets__full_q == ends__full_q & responses__full_q == ends__full_q
            & octets__read_q == ends__read_q & responses__read_q == ends__read_q
            & octets__write_q == ends__write_q & responses__write_q == ends__write_q);
        flying_is: assert (flying == lasts);
        partly_is: assert (ends_inside == 0 | partly == !ends__store__proof_rows[newest]);
        due_is: assert (!partly | due != 0);
        unmarked: assert (marked | (!gone & !answered));
        if (marked & !gone) address_is: assert (addresses == number & address_valid_q & address_q == its);
        if (marked & !answered) begin
            answer_waits: assert (to_answer < under_way);
            if (owners__store__proof_row == number[4:0])
                owner_is: assert (owner == (owner_valid_q & to_answer == 0 ? owns : 4'd1 << owners__store__proof_data));
        end
    end

    always @* if (!reset) begin
        third: cover (its_beats & owner == 4 & number == 2 & to_whom == 4 & gather_rready & rings_rlast);
        overtaken_once: cover (since & waits[one] & grant & wins[one] & one == 0 & other == 2);
        two_ends: cover (flying == 2 & to_whom != 0);
    end
endmodule
