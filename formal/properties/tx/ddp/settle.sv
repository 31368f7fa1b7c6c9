// One entry for each request that is reported, and nothing of a stream can be sent behind a failure until it is cleared.
//
//   segment, its status ─► account ──────────────────────► look ─► decide ─► entry, at most one for a message ─► settled
//                     └──► ULPDU n ─► verdict n for the ring: failed, if the bus refused it or a segment in front failed
//
// For any stream: a message has one entry if a segment of it is the first failure of its stream, or if its last one is
// signalled or not OK, and else none. The entry is that of the account in work, as it came; its status is OK only of a last
// segment that can be sent, on a stream that has not failed. Behind the first failure, which `fail` signals once, each entry says
// FLUSHED until the stream is cleared. Verdict n for the ring belongs to ULPDU n, and says `failed` exactly when the bus
// refused the ULPDU or a segment of its stream had failed in front of it. Accounts and ULPDUs keep their order (queue.sv), so
// the n-th issued account takes the n-th completion. Each account is settled once.
//
// Assumed: the segments of a message follow each other from `first` to `last` (segment.rs); nothing of a stream is in work
// when it is cleared.
module settle_properties #(parameter STREAMS = 4) (
    input clock,
    input reset,
    input [8:0] clear,
    input s_refused,
    input s_refused_valid,
    input s_refused_ready,
    input [57:0] m_ulpdu,
    input m_ulpdu_valid,
    input m_ulpdu_ready,
    input m_failed,
    input m_failed_valid,
    input m_failed_ready,
    input [255:0] m_event,
    input m_event_valid,
    input m_event_ready,
    input [8:0] fail,
    input [8:0] settled,
    // inside
    input [173:0] head,
    input [3:0] statuses_m_data,
    input issue,
    input [57:0] ulpdus_s_data,
    input ulpdus_s_valid,
    input [127:0] accounts_s_data,
    input accounts_m_valid,
    input [127:0] oldest,
    input visible_m_data,
    input refusals_m_data,
    input look,
    input leaves,
    input [1:0] step_q,
    input [127:0] account_q,
    input is_visible_q,
    input is_refused_q,
    input has_ended_q,
    input is_silent_q,
    input [3:0] entry_status_q,
    input broken_0_q,
    input broken_1_q,
    input broken_2_q,
    input broken_3_q,
    input ended_0_q,
    input ended_1_q,
    input ended_2_q,
    input ended_3_q,
    input silent_0_q,
    input silent_1_q,
    input silent_2_q,
    input silent_3_q,
    input joined,
    input discards_m_valid,
    input discards__full_q,
    input [4:0] discards__read_q,
    input [4:0] discards__write_q,
    input [4:0] discards__store__proof_row,
    input discards__store__proof_data,
    input failures__full_q,
    input failures__read_q,
    input failures__write_q,
    input failures__store__proof_row,
    input failures__store__proof_data
);
    localparam LOOK = 0, JUDGE = 1, DECIDE = 2, REPORT = 3;
    localparam OK = 0, FLUSHED = 1, BUS = 6;
    localparam SEND = 5;

    (* anyconst *) wire [7:0] s;
    always @* assume (s < STREAMS);
    wire clears = clear[0] & clear[8:1] == s;

    // the account in work, with what the ring and the bus say of it
    reg [127:0] account = 0;
    reg can_be_sent = 0, refused = 0;
    always @(posedge clock) if (look) begin
        account <= oldest;
        can_be_sent <= visible_m_data;
        refused <= refusals_m_data;
    end
    wire [3:0] status = account[127:124];
    wire signalled = account[10], last = account[9], first = account[8];
    wire its = account[7:0] == s, works = step_q != LOOK & its;
    // the stream: a message is open, it has been decided to report it, entries of it; the first failure was
    reg open = 0, reported = 0, failed = 0, told = 0;
    reg [1:0] entries = 0;
    wire [3:0] own = status != OK ? status : can_be_sent ? OK : refused ? BUS : FLUSHED;
    wire first_failure = !failed & own != OK & own != FLUSHED;
    wire [3:0] outcome = failed ? FLUSHED : own;
    wire before = reported & !first;
    wire decided = its & step_q == DECIDE;
    wire wanted = first_failure | (last & !before & (signalled | outcome != OK));
    wire entry = m_event_valid & m_event_ready & its;
    reg [3:0] says = 0;
    always @(posedge clock) begin
        if (decided) begin
            open <= !last;
            reported <= before | wanted;
            failed <= failed | first_failure;
            says <= outcome;
        end
        if (look & oldest[7:0] == s & oldest[8]) entries <= 0;
        else if (entry & entries != 3) entries <= entries + 1'b1;
        if (fail[0] & fail[8:1] == s) told <= 1;
        if (reset | clears) begin
            open <= 0;
            reported <= 0;
            failed <= 0;
            told <= 0;
        end
    end
    always @* begin
        assume (!(look & oldest[7:0] == s) | oldest[8] == !open);
        assume (!clears | (!works & !(look & oldest[7:0] == s) & !(fail[0] & fail[8:1] == s)));
        assume (!look | oldest[7:0] < STREAMS);
        assume (!clear[0] | clear[8:1] < STREAMS);
    end
    always @* begin
        if (m_event_valid & its) begin
            at_most_one: assert (entries == 0 & reported);
            as_it_came: assert (m_event == ({account[106:43], 128'b0} | {account[42:11], 96'b0} | {account[122:107], 32'b0}
                | {account[123], 20'b0} | {says, 16'b0} | {s, 8'b0} | SEND));
            ok_if_sent: assert (m_event[19:16] != OK | (last & status == OK & can_be_sent & !failed));
        end
        // of the message that ends: its entry was made, if there is to be one
        if (leaves & works & last) one_if_wanted: assert (entries + entry == (step_q == DECIDE ? before | wanted : reported));
        if (leaves & works & !last) none_before: assert (entries + entry == (step_q == DECIDE ? before | wanted : reported));
        if (fail[0] & fail[8:1] == s) told_once: assert (failed & !told);
        settled_once: assert (!leaves | step_q != LOOK);
        looked_at: assert (!look | (accounts_m_valid & step_q == LOOK));
    end
    handshake #(.WIDTH(256)) entry_port (
        .clock(clock), .reset(reset), .valid(m_event_valid), .ready(m_event_ready), .payload(m_event)
    );
    handshake #(.WIDTH(58)) ulpdu_port (
        .clock(clock), .reset(reset), .valid(m_ulpdu_valid), .ready(m_ulpdu_ready), .payload(m_ulpdu)
    );
    handshake #(.WIDTH(1)) failed_port (
        .clock(clock), .reset(reset), .valid(m_failed_valid), .ready(m_failed_ready), .payload(m_failed)
    );

    // issue: the stream has had a segment that failed; ULPDUs issued, joined with the bus's verdict, told to the ring
    reg broken = 0;
    reg [7:0] issued = 0, judged = 0, given = 0;
    wire issues = issue & statuses_m_data == OK;
    wire gives = m_failed_valid & m_failed_ready;
    always @(posedge clock) begin
        broken <= !reset & !clears & (broken | (issue & head[7:0] == s & statuses_m_data != OK & statuses_m_data != FLUSHED));
        issued <= reset ? 0 : issued + issues;
        judged <= reset ? 0 : judged + joined;
        given <= reset ? 0 : given + gives;
    end
    always @* assume (!issue | head[7:0] < STREAMS);
    // any ULPDU of the stream
    (* anyseq *) wire mark;
    reg marked = 0, is_judged = 0, must_fail = 0, was_broken = 0;
    reg [7:0] number = 0;
    always @(posedge clock) begin
        if (mark & issues & head[7:0] == s & !marked) begin
            marked <= 1;
            is_judged <= 0;
            number <= issued;
            was_broken <= broken;
            must_fail <= broken;
        end
        if (marked & joined & judged == number) begin
            is_judged <= 1;
            must_fail <= was_broken | s_refused;
        end
        if (reset | (marked & is_judged & gives & given == number)) marked <= 0;
    end
    wire shown = discards__store__proof_row == number[4:0] & failures__store__proof_row == number[0];
    always @* begin
        if (issue) begin
            account_of_it: assert (accounts_s_data == {statuses_m_data, head[173], head[172:157], head[156:93], head[92:61], head[60], head[59], head[58], head[7:0]});
            ulpdu_of_it: assert (ulpdus_s_data == {head[57], head[56], head[55:40], head[39:8], head[7:0]});
        end
        issued_if_ok: assert (ulpdus_s_valid == issues);
        if (marked & shown & m_failed_valid & given == number) its_verdict: assert (is_judged & m_failed == must_fail);
        each_judged: assert (joined == (s_refused_valid & s_refused_ready));
    end

    // helpers
    wire [7:0] discards_inside = issued - judged, failures_inside = judged - given;
    wire breaks = s == 0 ? broken_0_q : s == 1 ? broken_1_q : s == 2 ? broken_2_q : broken_3_q;
    wire ends = s == 0 ? ended_0_q : s == 1 ? ended_1_q : s == 2 ? ended_2_q : ended_3_q;
    wire silent = s == 0 ? silent_0_q : s == 1 ? silent_1_q : s == 2 ? silent_2_q : silent_3_q;
    always @* begin
        state: assert (breaks == broken & ends == failed & (!open | (silent == reported & (!reported | failed))));
        if (step_q != LOOK) begin
            account_is: assert (account_q == account & is_visible_q == can_be_sent & is_refused_q == refused & account[7:0] < STREAMS);
        end
        if (works & step_q == JUDGE) judging: assert (first == !open & entries == (before ? 1 : 0));
        if (works & step_q == DECIDE) deciding: assert (first == !open & has_ended_q == failed & is_silent_q == before & entries == (before ? 1 : 0));
        if (works & step_q == REPORT) reporting: assert (entries == 0 & reported & entry_status_q == says & open == !last
            & (says != OK | (last & status == OK & can_be_sent & !failed)));
        if (step_q == LOOK | !its) at_rest: assert (!open | entries == reported);
        telling: assert (!(fail[0] & fail[8:1] == s) | (failed & !told));
        told_is: assert (!told | failed);
        discards_are: assert (discards_inside <= 32 & discards_m_valid == (discards_inside != 0) & discards__full_q == (discards_inside == 32)
            & discards__read_q == judged[4:0] & discards__write_q == issued[4:0]);
        failures_are: assert (failures_inside <= 2 & m_failed_valid == (failures_inside != 0) & failures__full_q == (failures_inside == 2)
            & failures__read_q == given[0] & failures__write_q == judged[0]);
        if (marked) begin
            if (!is_judged) to_be_judged: assert (number - judged < discards_inside & must_fail == was_broken);
            if (is_judged) to_be_given: assert (number - given < failures_inside);
            if (!is_judged & discards__store__proof_row == number[4:0]) discard: assert (discards__store__proof_data == was_broken);
            if (is_judged & failures__store__proof_row == number[0] & discards__store__proof_row == number[4:0])
                failure: assert (failures__store__proof_data == must_fail);
        end
    end

    always @* if (!reset) begin
        reported_ok: cover (entry & m_event[19:16] == OK & s == 2);
        by_the_bus: cover (entry & m_event[19:16] == BUS & !last);
        behind_it: cover (entry & failed & told & m_event[19:16] == FLUSHED & !signalled);
        discarded: cover (marked & shown & gives & given == number & was_broken & must_fail);
    end
endmodule
