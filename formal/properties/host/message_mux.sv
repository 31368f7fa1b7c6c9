// Messages of `interrupts` leave once each, in order; others are the mailbox's, one for each time that its interrupt occurs at most.
//
//   s_axis_msix ─► held ─► m_axis_msix            raise ─► credit ─► m_axis_msix
//
// Assumed: `interrupts` keeps the rules of AXI4-Stream, and its vectors are 0 and 1.
module message_mux_properties (
    input clock,
    input reset,
    input raise,
    input clear,
    input enable,
    input [7:0] s_axis_msix_tdata,
    input s_axis_msix_tvalid,
    input s_axis_msix_tready,
    input [7:0] m_axis_msix_tdata,
    input m_axis_msix_tvalid,
    input m_axis_msix_tready,
    // inside
    input pending_q,
    input due_q,
    input offered_q
);
    localparam MAILBOX = 2;
    handshake #(.WIDTH(8)) message (
        .clock(clock), .reset(reset), .valid(m_axis_msix_tvalid), .ready(m_axis_msix_tready),
        .payload(m_axis_msix_tdata)
    );

    wire taken = s_axis_msix_tvalid & s_axis_msix_tready;
    wire left = m_axis_msix_tvalid & m_axis_msix_tready;
    wire begins = due_q & !offered_q;
    // a message of `interrupts` that is here, and the last one of them
    reg held = 0;
    reg [7:0] last = 0;
    // the interrupt has occurred since its last message began
    reg credit = 0;
    // cycles of an enabled message that nothing holds up
    reg [1:0] silent = 0;
    always @(posedge clock) begin
        held <= !reset & (taken | held & !left);
        if (taken) last <= s_axis_msix_tdata;
        credit <= !reset & (raise | credit & !begins);
        silent <= reset | raise | clear | begins | !enable | !pending_q | offered_q ? 0 : silent + 1;
    end
    always @* assume (!s_axis_msix_tvalid | s_axis_msix_tdata < MAILBOX);
    always @* begin
        none_lost: assert (!held | (m_axis_msix_tvalid & m_axis_msix_tdata == last));
        none_invented: assert (!m_axis_msix_tvalid | m_axis_msix_tdata == MAILBOX | held);
        known: assert (m_axis_msix_tdata <= MAILBOX);
        of_an_interrupt: assert (!begins | credit);
        in_time: assert (silent <= 1);
        known_last: assert (last < MAILBOX);
    end

    // helpers
    always @* begin
        pending_has_credit: assert (!pending_q | credit);
        due_is_pending: assert (!due_q | pending_q);
        due_next: assert (silent == 0 | due_q);
    end

    always @* begin
        both: cover (taken & pending_q);
        mailbox: cover (left & m_axis_msix_tdata == MAILBOX);
        cleared: cover (due_q & clear & !begins);
    end
endmodule
