// m_axi, reads: a burst lies in its block of 256 octets, is offered until it is taken, and there is never another one
// under way; beats are taken only of it.
//
// Assumed: no more descriptors are fetched and not taken than there are slots, since `took` comes for posted buffers only
// (the head of receive_rings.rs); the bus gives no beats but those of a burst, the last one marked (IHI 0022E §A3.4.1).
module receive_rings_properties #(parameter K = 8, parameter SLOTS = 2) (
    input clock,
    input reset,
    input port_reset,
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
    input [3:0] step_q,
    input [15:0] first_q,
    input [15:0] gone_q,
    input [15:0] behind_q,
    input [15:0] used_q,
    input [15:0] most_q,
    input [15:0] room_q,
    input [15:0] left_q,
    input [7:0] length_q,
    input held_valid_q,
    input ends_q,
    // a row is counted for the supply: `taken_out` is of that row
    input counts_q,
    input [15:0] fetched_out,
    input [15:0] taken_out
);
    wire cleared = reset | port_reset;
    localparam LOAD = 1, COUNT = 2, BLOCK = 3, ROOM = 4, BURST = 5, ADDRESS = 6, BEATS = 7;
    wire asked = m_axi_arvalid & m_axi_arready;
    wire came = m_axi_rvalid & m_axi_rready;

    // bursts under way, and beats of it still to come
    reg under_way = 0;
    reg [8:0] beats = 0;
    always @(posedge clock) begin
        under_way <= !cleared & (asked | (under_way & !(came & m_axi_rlast)));
        beats <= asked ? m_axi_arlen + 1 : beats - came;
    end
    wire [15:0] ahead = fetched_out - taken_out;
    wire [15:0] counted = first_q - gone_q;
    always @* begin
        assume (step_q != LOAD | counts_q | ahead <= SLOTS);
        assume (!m_axi_rvalid | (under_way & m_axi_rlast == (beats == 1)));
    end

    wire [15:0] begins = m_axi_araddr[7:0];
    wire [15:0] octets = (m_axi_arlen + 1) * K;
    always @* if (m_axi_arvalid) begin
        aligned: assert (begins % K == 0);
        in_its_block: assert (begins + octets <= 256);
        full_beats: assert (m_axi_arsize == $clog2(K) & m_axi_arburst == 1);
        alone: assert (!under_way);
    end
    always @* if (m_axi_rready) begin
        only_of_a_burst: assert (under_way);
    end
    always @* if (came) as_many: assert (beats != 0);
    handshake #(.WIDTH(72)) address (
        .clock(clock), .reset(cleared), .valid(m_axi_arvalid), .ready(m_axi_arready),
        .payload({m_axi_araddr, m_axi_arlen})
    );

    // helpers
    wire [15:0] to_end = 16 - first_q[3:0];
    wire [15:0] octets_of_it = 16 * (first_q[3:0] + left_q);
    always @* begin
        offered: assert (m_axi_arvalid == (step_q == ADDRESS));
        waits: assert (under_way == (step_q == BEATS & !(held_valid_q & ends_q)));
        beats_left: assert (!under_way | (beats != 0 & beats <= 256 / K));
        held: assert (!held_valid_q | step_q == BEATS);
        if (step_q == COUNT) read: assert (counted <= SLOTS);
        if (step_q == BLOCK) fits: assert (used_q <= SLOTS);
        if (step_q == ROOM) some: assert (used_q < SLOTS & behind_q != 0);
        if (step_q == ROOM) most: assert (most_q != 0 & most_q <= to_end & most_q <= behind_q & room_q != 0 & room_q <= SLOTS);
        if (step_q == BURST | step_q == ADDRESS) left: assert (left_q != 0 & left_q <= to_end);
        if (step_q == ADDRESS) length: assert ((length_q + 1) * K + (16 * first_q[3:0]) / K * K == (octets_of_it + K - 1) / K * K);
    end

    always @* if (!cleared) begin
        two: cover (asked & left_q == 2);
        whole_block: cover (asked & (m_axi_arlen + 1) * K == 256);
        answered: cover (came & m_axi_rlast & beats == 1 & m_axi_arlen == 3);
    end
endmodule
