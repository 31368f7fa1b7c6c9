// The TCP of the self-test: what stream n of the device sends comes back as what stream n xor 1 receives.
//
//   status: what can be sent ─┐                      ┌─► SEND, ACKNOWLEDGE ─► device ─► segment of stream n
//   window: what has arrived ─┴─► a stream in turn ──┘                                     │ lost, or
//                                                        device ◄─ segment of n xor 1 ◄────┘
//
// A stream's turn acknowledges what has arrived since its last one; or sends up to 255 octets that are new, and every other
// time the segment behind them first; or, when nothing has arrived for PATIENCE turns, goes back to what is not acknowledged. One
// segment of eight is lost. Lengths, order and losses come from a shift register, so that each run is the same.
//
// The receiver's rings hold everything that is sent, so no window closes. The four streams take turns; a turn takes 5 cycles, and
// the time until its command is accepted.
/* verilator lint_off PROCASSINIT */ // values at power-up, which an FPGA has
module warpline_selftest_loop #(
    parameter integer W        = 64,  // bits of the data path
    parameter integer PATIENCE = 64
) (
    input  wire             clk,
    input  wire             reset,
    input  wire             go,
    output logic            begun = 0,
    input  wire  [63:0]     window_tdata,
    input  wire  [7:0]      window_tdest,
    input  wire             window_tvalid,
    input  wire  [95:0]     status_tdata,
    input  wire  [7:0]      status_tdest,
    input  wire             status_tvalid,
    output wire  [63:0]     send_tdata,
    output wire  [7:0]      send_tdest,
    output logic            send_tvalid = 0,
    input  wire             send_tready,
    input  wire  [W-1:0]    transmit_tdata,
    input  wire  [W/8-1:0]  transmit_tkeep,
    input  wire             transmit_tlast,
    input  wire  [7:0]      transmit_tdest,
    input  wire  [31:0]     transmit_tuser,
    input  wire             transmit_tvalid, // accepted in each cycle
    output logic [W-1:0]    segment_tdata = 0,
    output logic [W/8-1:0]  segment_tkeep = 0,
    output logic            segment_tlast = 0,
    output logic [7:0]      segment_tdest = 0,
    output logic [33:0]     segment_tuser = 0,
    output logic            segment_tvalid = 0,
    // segments lost, pairs of segments swapped, returns to what is not acknowledged
    output logic [15:0]     lost = 0,
    output logic [15:0]     swapped = 0,
    output logic [15:0]     again = 0
);
    localparam logic [1:0] SEND = 0;
    localparam logic [1:0] ACKNOWLEDGE = 1;
    localparam logic [1:0] MOVED = 0; // the report that more can be sent

    // ---- a sequence of bits without end

    logic [22:0] noise = 1;
    always_ff @(posedge clk) noise <= {noise[21:0], noise[22] ^ noise[17]};

    // ---- what the device has reported: what stream n has received, and up to where it can send

    logic [31:0] arrived [0:3];
    logic [31:0] top [0:3];
    logic [3:0]  top_known = 0;

    always_ff @(posedge clk) begin
        if (window_tvalid) arrived[window_tdest[1:0]] <= window_tdata[31:0];
        if (status_tvalid & status_tdata[81:80] == MOVED) begin
            top[status_tdest[1:0]] <= status_tdata[31:0];
            top_known[status_tdest[1:0]] <= 1;
        end
        if (reset) top_known <= 0;
    end

    // ---- turns

    typedef enum logic [2:0] {Wait, Start, Look, Measure, Choose, Give, Back} state_t;

    state_t      state = Wait;
    logic [1:0]  stream = 0;
    logic [31:0] acknowledged [0:3]; // octets in front of it were released in the transmit ring
    logic [31:0] next [0:3];         // first octet that was not sent since the last return
    logic [7:0]  silent [0:3];       // turns without a new octet arrived
    logic [31:0] edge_now = 0, top_now = 0, next_now = 0, free_now = 0;
    logic [7:0]  silent_now = 0;
    logic [15:0] fresh = 0, owed = 0;
    logic        moved = 0, behind = 0; // the edge has moved; it is behind what was sent
    logic [7:0]  most = 0;
    logic        swaps = 0;
    // the command, and the one behind it that comes first
    logic [1:0]  kind = 0;
    logic [31:0] sequence_number = 0;
    logic [15:0] octets = 0;
    logic        second = 0;

    assign send_tdata = {14'b0, kind, octets, sequence_number};
    assign send_tdest = {6'b0, stream};

    wire [15:0] distance = 16'(edge_now - next_now);
    wire [15:0] length = fresh > {8'b0, most} ? {8'b0, most} : fresh;

    always_ff @(posedge clk) begin
        begun <= 0;
        case (state)
            Wait: if (go) state <= Start;
            Start: begin // each stream has reported where it begins
                acknowledged[stream] <= arrived[stream ^ 1];
                next[stream] <= arrived[stream ^ 1];
                silent[stream] <= 0;
                stream <= stream + 1;
                if (&stream) begin
                    begun <= 1;
                    state <= Look;
                end
            end
            Look: begin
                edge_now <= arrived[stream ^ 1];
                next_now <= next[stream];
                free_now <= acknowledged[stream];
                top_now <= top_known[stream] ? top[stream] : next[stream];
                silent_now <= silent[stream];
                state <= Measure;
            end
            Measure: begin
                fresh <= 16'(top_now - next_now);
                owed <= 16'(next_now - free_now);
                behind <= distance[15];
                moved <= edge_now != free_now;
                most <= noise[7:0];
                swaps <= noise[11];
                state <= Choose;
            end
            Choose: begin
                second <= 0;
                octets <= length;
                if (moved) begin
                    acknowledged[stream] <= edge_now;
                    if (~behind) next[stream] <= edge_now; // more has arrived than was sent since the return
                    silent[stream] <= 0;
                    kind <= ACKNOWLEDGE;
                    sequence_number <= edge_now;
                    send_tvalid <= 1;
                    state <= Give;
                end else if (|length) begin
                    next[stream] <= next_now + {16'b0, length};
                    kind <= SEND;
                    sequence_number <= next_now;
                    send_tvalid <= 1;
                    state <= Give;
                    if (swaps & fresh > {length[14:0], 1'b0}) begin
                        next[stream] <= next_now + {15'b0, length, 1'b0};
                        sequence_number <= next_now + {16'b0, length};
                        second <= 1;
                        swapped <= swapped + 1;
                    end
                end else if (|owed) begin
                    silent[stream] <= silent_now + 1;
                    state <= silent_now == 8'(PATIENCE) ? Back : Look;
                    stream <= silent_now == 8'(PATIENCE) ? stream : stream + 1;
                end else begin
                    stream <= stream + 1;
                    state <= Look;
                end
            end
            Give: if (send_tready) begin
                second <= 0;
                sequence_number <= next_now; // of the segment in front, if that was the second
                if (~second) begin
                    send_tvalid <= 0;
                    stream <= stream + 1;
                    state <= Look;
                end
            end
            Back: begin
                next[stream] <= free_now;
                silent[stream] <= 0;
                again <= again + 1;
                stream <= stream + 1;
                state <= Look;
            end
            default: state <= Wait;
        endcase
        if (reset) begin
            state <= Wait;
            stream <= 0;
            send_tvalid <= 0;
            swapped <= 0;
            again <= 0;
        end
    end

    // ---- segments: lost, or passed on to the neighbour

    logic open = 0, loses = 0; // a segment has begun, and is lost

    wire drop = open ? loses : noise[2:0] == 0;

    always_ff @(posedge clk) begin
        segment_tvalid <= transmit_tvalid & ~drop;
        segment_tdata <= transmit_tdata;
        segment_tkeep <= transmit_tkeep;
        segment_tlast <= transmit_tlast;
        segment_tdest <= transmit_tdest ^ 1;
        segment_tuser <= {2'b0, transmit_tuser};
        if (transmit_tvalid) begin
            open <= ~transmit_tlast;
            loses <= drop;
            if (transmit_tlast & drop) lost <= lost + 1;
        end
        if (reset) begin
            open <= 0;
            segment_tvalid <= 0;
            lost <= 0;
        end
    end

    wire unused = &{1'b0, window_tdata[63:32], window_tdest[7:2], distance[14:0], status_tdata[95:82], status_tdata[79:32], status_tdest[7:2]};
endmodule
