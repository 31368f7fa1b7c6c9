// Entries of the completion queue: each burst writes one entry inside of the queue that the host gave, whole and aligned,
// and keeps the rules of AXI4 towards the mux.
//
// Assumed of `registers` and the host (docs/registers.md): the queue is aligned to 64 octets, has a power of two of
// entries, does not run over 2^64, and stays as it is but for `restart`. Base and size in force at the launch are what
// counts. Of the mux: an answer comes for a burst that was sent, once.
module completion_properties #(parameter WIDTH = 64) (
    input clock,
    input reset,
    input s_valid,
    input s_ready,
    input [63:0] base,
    input [16:0] entries,
    input restart,
    input b_valid,
    input [63:0] m_axi_awaddr,
    input [7:0] m_axi_awlen,
    input m_axi_awvalid,
    input m_axi_awready,
    input [WIDTH-1:0] m_axi_wdata,
    input [WIDTH/8-1:0] m_axi_wstrb,
    input m_axi_wlast,
    input m_axi_wvalid,
    input m_axi_wready,
    // inside
    input launch,
    input room_q,
    input [1:0] step_q,
    input held_valid_q,
    input address_valid_q,
    input beat_valid_q,
    input [1:0] beats_left_q,
    input [7:0] flight_q,
    input [15:0] slot_q,
    input [27:0] low_q,
    input [31:0] high_q
);
    localparam OCTETS = WIDTH / 8;
    localparam BEATS = OCTETS < 32 ? 32 / OCTETS : 1;
    localparam SEND = 3, HIGH = 2, LOW = 1, WAIT = 0;

    // the queue, as it stands, and as the entry on its way saw it
    reg [63:0] now_base = 0, its_base = 0;
    reg [16:0] now_entries = 0, its_entries = 0;
    reg stale = 0; // the entry on its way was told of a queue that `restart` has taken away
    wire [63:0] size = {42'b0, entries, 5'b0};
    always @(posedge clock) begin
        now_base <= base;
        now_entries <= entries;
        if (launch) begin
            its_base <= base;
            its_entries <= entries;
        end
    end
    always @* begin
        assume (base[5:0] == 0);
        assume ((entries & (entries - 1)) == 0 & entries <= 65536);
        // its last octet lies below 2^64
        assume (base <= 64'd0 - size | entries == 0 | size == 0);
        // another queue comes with the cycle behind `restart`
        assume (was_restart | (base == now_base & entries == now_entries));
        assume (!b_valid | flight_q != 0);
    end
    reg was_restart = 1;
    always @(posedge clock) was_restart <= restart | reset;

    // AW: one entry, or the part of the bus that holds it
    wire [63:0] its_size = {42'b0, its_entries, 5'b0};
    wire [63:0] entry = m_axi_awaddr - its_base + (OCTETS == 64 & slot_q[0] ? 32 : 0);
    always @* if (m_axi_awvalid) begin
        aligned: assert ((m_axi_awaddr & (OCTETS - 1)) == 0);
        inside: assert (entry < its_size & entry[4:0] == 0);
        length: assert (m_axi_awlen == BEATS - 1);
        no_crossing: assert (m_axi_awaddr[11:0] + (m_axi_awlen + 1) * OCTETS <= 4096);
    end

    // W: so many beats, the last one marked, of nothing but the entry's octets
    reg [2:0] beats = 0;
    always @(posedge clock)
        if (launch | reset) beats <= 0;
        else if (m_axi_wvalid & m_axi_wready) beats <= beats + 1;
    wire [63:0] all = 64'hffff_ffff_ffff_ffff >> (64 - OCTETS);
    wire [63:0] half = OCTETS < 64 ? all : slot_q[0] ? 64'hffff_ffff_0000_0000 : 64'h0000_0000_ffff_ffff;
    always @* if (m_axi_wvalid) begin
        last: assert (m_axi_wlast == (beats == BEATS - 1));
        lanes: assert (m_axi_wstrb == half[OCTETS-1:0]);
    end

    // `write_mux` ends a turn with WLAST, and does not ask for WVALID
    always @* last_is_there: assert (!m_axi_wlast | m_axi_wvalid);

    axi_writes #(.K(OCTETS)) writes (.*);

    // helpers
    wire [63:0] low = {36'b0, low_q} << 5;
    wire [63:0] address_of = {high_q, low[31:0]};
    wire [16:0] slot_mask = entries - 1;
    always @* begin
        busy: assert ((!m_axi_awvalid & !m_axi_wvalid) | step_q == SEND);
        holds: assert (step_q == WAIT | step_q == SEND | held_valid_q);
        holds_beat: assert (!m_axi_wvalid | held_valid_q);
        counts: assert (!m_axi_wvalid | beats + beats_left_q == BEATS - 1);
        // between the choice of the slot and the launch the queue is the same, or the entry is called back
        if (room_q) room_somewhere: assert (entries != 0 & !was_restart);
        if (step_q == LOW | step_q == HIGH) begin
            not_called_back: assert (!was_restart);
            slot_below: assert ((slot_q & ~slot_mask[15:0]) == 0 & entries != 0);
        end
        if (step_q == HIGH) begin
            low_half: assert (low_q == {1'b0, base[31:5]} + {12'b0, slot_q});
        end
        if (m_axi_awvalid) begin
            where: assert (address_of == its_base + {43'b0, slot_q, 5'b0});
            below: assert (slot_q < its_entries);
        end
    end

    always @* if (!reset) begin
        second_entry: cover (m_axi_awvalid & slot_q == 1 & b_valid);
        data_first: cover (m_axi_awvalid & !m_axi_wvalid & step_q == SEND);
    end
endmodule
