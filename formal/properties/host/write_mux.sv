// m_axi, writes: the rules of AXI4 on the bus, and answers find their way back.
//
//   grant n ──► AW n ──► group n of beats: the same requester's ──► answer n: to the same requester
//
// Addresses, groups of beats and answers are numbered as they go out and come back; number n of each belongs to the same
// grant. What is offered stays until it is taken. A group ends with the requester's own WLAST, which place_read.sv and
// completion.sv have at the address's length.
module write_mux_properties #(parameter K = 8) (
    input clock,
    input reset,
    input [71:0] payload_addresses_m_data,
    input [71:0] completion_addresses_m_data,
    input payload_wready,
    input payload_b_valid,
    input payload_b_ready,
    input completion_wvalid,
    input completion_wlast,
    input completion_wready,
    input completion_b_valid,
    input [63:0] m_axi_awaddr,
    input [7:0] m_axi_awlen,
    input [2:0] m_axi_awsize,
    input [1:0] m_axi_awburst,
    input m_axi_awvalid,
    input m_axi_awready,
    input [8*K-1:0] m_axi_wdata,
    input [K-1:0] m_axi_wstrb,
    input m_axi_wlast,
    input m_axi_wvalid,
    input m_axi_wready,
    // inside
    input grant,
    input completion_wins,
    input beat,
    input beat_last,
    input answered,
    input answers_m_valid,
    input address_valid_q,
    input [71:0] address_q,
    input skid_valid_q,
    input skid_last_q,
    input [3:0] beat_owners__filled,
    input beat_owners__full_q,
    input [3:0] beat_owners__read_q,
    input [3:0] beat_owners__store__proof_row,
    input beat_owners__store__proof_data,
    input beat_owners_m_valid,
    input sender_valid_q,
    input sender_q,
    input [6:0] answer_owners__filled,
    input answer_owners__full_q,
    input [6:0] answer_owners__read_q,
    input [6:0] answer_owners__store__proof_row,
    input answer_owners__store__proof_data,
    input answer_owners_m_valid,
    input owner_valid_q,
    input owner_q
);
    // records in the queues: a full one has counted to 0
    wire [7:0] beat_owners_inside = {3'd0, beat_owners__full_q, beat_owners__filled};
    wire [7:0] answer_owners_inside = {answer_owners__full_q, answer_owners__filled};

    // numbers: granted, addresses out, groups in and out, answers back
    reg [7:0] grants = 0, addresses = 0, groups_in = 0, groups_out = 0, answers = 0;
    always @(posedge clock) begin
        grants <= reset ? 0 : grants + grant;
        addresses <= reset ? 0 : addresses + (m_axi_awvalid & m_axi_awready);
        groups_in <= reset ? 0 : groups_in + (beat & beat_last);
        groups_out <= reset ? 0 : groups_out + (m_axi_wvalid & m_axi_wready & m_axi_wlast);
        answers <= reset ? 0 : answers + answered;
    end

    // of `completion`, which is proved to keep to it (completion.sv)
    always @* assume (!completion_wlast | completion_wvalid);

    // any grant
    (* anyseq *) wire mark;
    reg marked = 0, owner = 0, gone = 0, all_in = 0, answered_it = 0;
    reg [7:0] number = 0;
    reg [71:0] its = 0;
    always @(posedge clock) begin
        if (mark & grant & !marked) begin
            marked <= 1;
            number <= grants;
            owner <= completion_wins;
            its <= completion_wins ? completion_addresses_m_data : payload_addresses_m_data;
        end
        if (marked & m_axi_awvalid & m_axi_awready & addresses == number) gone <= 1;
        if (marked & beat & beat_last & groups_in == number) all_in <= 1;
        if (marked & answered & answers == number) answered_it <= 1;
        if (reset) begin
            marked <= 0;
            gone <= 0;
            all_in <= 0;
            answered_it <= 0;
        end
    end
    wire its_beats = marked & !all_in & groups_in == number & beat_owners__store__proof_row == number[3:0];
    wire its_answer = marked & !answered_it & answers == number & answer_owners__store__proof_row == number[6:0];
    always @* begin
        if (marked & !gone & m_axi_awvalid & addresses == number)
            its_address: assert ({m_axi_awlen, m_axi_awaddr} == its);
        if (its_beats) beats_of_its_requester: assert (owner ? !payload_wready : !completion_wready);
        if (its_answer) answer_to_its_requester: assert (owner ? !payload_b_valid : !completion_b_valid);
        one_answer: assert (!(payload_b_valid & completion_b_valid));
        one_requester: assert (!(payload_wready & completion_wready));
        full_beats: assert (m_axi_awsize == $clog2(K) & m_axi_awburst == 1);
        beats_of_a_grant: assert (!beat | groups_in != grants);
        answer_of_a_grant: assert (!answered | answers != grants);
    end
    axi_writes #(.K(K)) writes (.*);
    handshake #(.WIDTH(1)) answer (
        .clock(clock), .reset(reset), .valid(payload_b_valid), .ready(payload_b_ready), .payload(1'b0)
    );

    // helpers
    wire [7:0] to_come = number - groups_in, to_answer = number - answers;
    wire [7:0] beats_waiting = grants - groups_in, answers_waiting = grants - answers, out = grants - addresses;
    wire [7:0] next_sender = groups_in + sender_valid_q, next_owner = answers + owner_valid_q;
    wire [7:0] flying = groups_in - groups_out;
    always @* begin
        counted: assert (beats_waiting == beat_owners_inside + sender_valid_q & answers_waiting == answer_owners_inside + owner_valid_q & out == address_valid_q);
        bounds: assert (beat_owners_inside <= 16 & answer_owners_inside <= 128);
        valid: assert (beat_owners_m_valid == (beat_owners_inside != 0) & answer_owners_m_valid == (answer_owners_inside != 0));
        rows: assert (beat_owners__read_q == next_sender[3:0] & answer_owners__read_q == next_owner[6:0]);
        flying_is: assert (flying == (m_axi_wvalid & m_axi_wlast) + (skid_valid_q & skid_last_q));
        skid: assert (!skid_valid_q | m_axi_wvalid);
        unmarked: assert (marked | (!gone & !all_in & !answered_it));
        if (marked & !gone) address_is: assert (addresses == number & address_valid_q & address_q == its);
        if (marked & !all_in) begin
            beats_wait: assert (to_come < beats_waiting);
            if (beat_owners__store__proof_row == number[3:0])
                beat_owner: assert (owner == (sender_valid_q & to_come == 0 ? sender_q : beat_owners__store__proof_data));
        end
        if (marked & !answered_it) begin
            answer_waits: assert (to_answer < answers_waiting);
            if (answer_owners__store__proof_row == number[6:0])
                answer_owner: assert (owner == (owner_valid_q & to_answer == 0 ? owner_q : answer_owners__store__proof_data));
        end
    end

    always @* if (!reset) begin
        other_first: cover (its_beats & owner & number == 1 & beat);
        answered_back: cover (its_answer & owner & number == 1 & completion_b_valid);
        skidded: cover (skid_valid_q & skid_last_q & m_axi_wlast);
    end
endmodule
