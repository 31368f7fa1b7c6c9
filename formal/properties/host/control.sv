// A command is said to be done when it is: a revocation and a close only behind the fence that was given behind them.
//
//   REVOKE_STAG ─► check: RevokeStag ─► done ──────────────────────────────────────► Fence ─► it comes back ─► done
//   CLOSE_STREAM ─► check: Freeze ─► done ─► forget ─► nothing of the stream moves ─► Fence ─► it comes back ─► done
//
// When the host sees the command done, no write through the STag can happen any more (AMB-42, DDP-SEC-22), and none for
// the stream: what left check in front of the fence is written (deliver.sv), what is behind it finds no entry, no stream
// (check.sv). Shown from the pulses of the neighbours: what was requested, accepted, done, given and came back since `start`.
// Streams are any one (any). The device receives only: nothing is requested of a transmit side.
//
// Assumed of registers: number and arguments hold while `busy`. Of check and the arbiter in front of it: a command is
// done once, after it was accepted (command_arbiter.sv), a revocation and a fence are never refused (check.sv). Of place, deliver
// and completion: a fence comes back once at most, and not before it was given. Of the blocks in front of check: SETTLE cycles after
// `close`, and until `arm`, no FPDU of the stream starts; one leaves after it came, and at most 255 are under way.
module control_properties #(parameter S = 2, parameter SETTLE = 64) (
    input clock,
    input reset,
    input start,
    input [7:0] number,
    input [255:0] arguments,
    input busy,
    input failed,
    input [2:0] command,
    input command_valid,
    input command_ready,
    input command_done,
    input command_failed,
    input arm,
    input close,
    input [7:0] stream,
    input set,
    input set_ready,
    input set_failed,
    input transmit_valid,
    input forget,
    input quiet,
    input issued,
    input [7:0] issued_stream,
    input consumed,
    input [7:0] consumed_stream,
    input fence_done,
    // inside
    input [3:0] step_q,
    input fenced_q,
    input [7:0] pause_q,
    input is_other_q,
    input is_arm_q,
    input is_set_q,
    input is_close_q,
    input is_send_ring_q,
    input is_arm_transmit_q,
    input is_emss_q,
    input is_responder_q,
    input exists_q,
    input is_empty_q,
    input is_armed_q,
    input came_q,
    input [7:0] came_stream_q,
    input left_q,
    input [7:0] left_stream_q,
    input armed_0_q,
    input armed_1_q,
    input [7:0] under_way_0_q,
    input [7:0] under_way_1_q
);
    localparam Write = 1, Revoke = 2, Arm = 3, Close = 4, Post = 5, Ring = 6;
    localparam AskWrite = 0, AskRevoke = 1, AskArm = 2, AskFreeze = 3, AskPost = 4, AskFence = 5;
    localparam Idle = 0, Decide = 1, Ask = 2, Answer = 3, Set = 4, Transmit = 5, Settle = 6, Drain = 7, Fence = 8;
    (* anyconst *) wire [7:0] any;
    always @* assume (any < S);

    // what check has to do first, and whether a fence belongs behind it
    function [2:0] question_of(input [7:0] of);
        question_of = of == Revoke ? AskRevoke : of == Arm ? AskArm : of == Close ? AskFreeze : of == Post ? AskPost : AskWrite;
    endfunction
    function fences(input [7:0] of);
        fences = of == Revoke | of == Close;
    endfunction

    // the command, and what has come of it
    reg [7:0] its = 0, named = 0;
    reg [255:0] with_it = 0;
    reg working = 0, first = 0, given = 0, back = 0, out = 0, ring = 0;
    reg [2:0] question = 0;
    reg was_busy = 0, began = 0;
    wire begins = start & !busy;
    wire hears = command_valid & command_ready;
    wire ends = was_busy & !busy;
    always @(posedge clock) begin
        if (hears) begin
            working <= 1;
            question <= command;
            if (command == AskFence) begin
                given <= first;
                out <= 1;
            end
        end
        if (command_done) begin
            working <= 0;
            if (!command_failed & question == question_of(its)) first <= 1;
        end
        if (fence_done) begin
            out <= 0;
            back <= given;
        end
        if (set & set_ready) ring <= !set_failed;
        if (begins) begin
            its <= number;
            named <= arguments[7:0];
            with_it <= arguments;
            first <= 0;
            given <= 0;
            back <= 0;
            ring <= 0;
        end
        was_busy <= busy & !reset;
        began <= begins & !reset;
        if (reset) begin
            working <= 0;
            out <= 0;
        end
    end
    always @* begin
        assume (!busy | (number == its & arguments == with_it));
        assume (!command_done | working);
        assume (!(command_done & command_failed) | (question != AskRevoke & question != AskFence));
        assume (!fence_done | out);
    end

    always @* begin
        if (began) taken_up: assert (busy);
        if (ends & !failed) begin
            behind_its_fence: assert (!fences(its) | (first & given & back));
            as_it_was_asked: assert (its == Ring ? ring : its != 0 & its <= Post & first);
        end
        if (ends) nothing_left: assert (!working & !out & !(its == Revoke & failed));
        if (command_valid) begin
            asks: assert (command == (first ? AskFence : question_of(its)) & (!first | fences(its)));
            one_fence: assert (command != AskFence | (!out & !given));
        end
    end
    reg asked = 0;
    reg [2:0] asked_for = 0;
    always @(posedge clock) begin
        asked <= command_valid & !command_ready & !reset;
        asked_for <= command;
    end
    always @* if (asked) begin
        stays: assert (command_valid & command == asked_for);
    end

    // FPDUs of the stream, and for how long it has been closed; what was when a fence is asked for
    reg [7:0] flying = 0, flying_1 = 0, flying_2 = 0;
    reg shut = 0;
    reg [6:0] rest = 0;
    reg [2:0] forgotten = 0;
    reg was_quiet = 0, fence_asked = 0;
    wire comes = issued & issued_stream == any, leaves = consumed & consumed_stream == any;
    wire of_it = its == Close & named == any;
    wire asks_fence = command_valid & command == AskFence;
    always @(posedge clock) begin
        flying <= flying + comes - leaves;
        flying_1 <= flying;
        flying_2 <= flying_1;
        if (rest != 127) rest <= rest + 1;
        if (arm & stream == any) shut <= 0;
        if (close & stream == any) begin
            shut <= 1;
            rest <= 1;
        end
        if (forgotten != 0 & forgotten != 7) forgotten <= forgotten + 1;
        if (forget & stream == any) forgotten <= 1;
        if (begins) forgotten <= 0;
        was_quiet <= quiet;
        fence_asked <= asks_fence;
        if (reset) begin
            flying <= 0;
            flying_1 <= 0;
            flying_2 <= 0;
            shut <= 0;
            forgotten <= 0;
        end
    end
    always @* begin
        assume (!issued | issued_stream < S);
        assume (!consumed | consumed_stream < S);
        assume (!comes | (flying != 255 & !(shut & rest >= SETTLE)));
        assume (!leaves | flying != 0);
    end
    always @* if (of_it & asks_fence) begin
        closed_before: assert (shut & flying == 0);
        quiet_before: assert (fence_asked | (was_quiet & forgotten >= 4));
    end

    // a stream is armed that is not, and is not again only when its close is done
    reg armed = 0;
    wire is_armed = armed & !(ends & of_it & !failed);
    always @(posedge clock) begin
        armed <= is_armed | (arm & stream == any);
        if (reset) armed <= 0;
    end
    always @* if (arm & stream == any) begin
        armed_once: assert (!is_armed & its == Arm & first);
    end

    // helpers: what control is doing
    wire [7:0] its_under_way = any == 0 ? under_way_0_q : under_way_1_q;
    wire its_armed = any == 0 ? armed_0_q : armed_1_q;
    always @* begin
        if (busy) begin
            kinds: assert (is_other_q == (its == Write | its == Post | its == Revoke) & is_arm_q == (its == Arm)
                & is_set_q == (its == Ring) & is_close_q == (its == Close) & stream == named);
            if (step_q != Decide) not_refused: assert (!failed);
        end
        receives_only: assert (!transmit_valid & step_q != Transmit & step_q <= Fence & !is_send_ring_q & !is_arm_transmit_q & !is_emss_q
            & !is_responder_q);
        at_work: assert (working == (step_q == Answer));
        if (step_q == Answer) of_it_is: assert (question == command);
        if (step_q <= Decide) idle: assert (!out & !working);
        if (busy & (step_q <= Ask & !first | step_q == Set | step_q == Settle | step_q == Drain)) nothing_yet: assert (!out & !given & !back & !fenced_q);
        not_yet: assert ((step_q == Decide) == began & (!began | (!first & !given & !back & !fenced_q & command == question_of(its))));
        if (step_q == Set) sets: assert (its == Ring & !first);
        if (step_q == Ask) on_its_way: assert (its != 0 & its <= Post & !given & !back & !out & !fenced_q);
        if (step_q == Ask & !first) asked_first: assert (command == question_of(its));
        if (step_q == Answer) answering: assert (its != 0 & its <= Post & (first == (command == AskFence))
            & (first ? fences(its) & given & (out == !back) & fenced_q == back : !given & !back & !out & !fenced_q & command == question_of(its)));
        if (step_q == Settle | step_q == Drain) closing: assert (its == Close & first);
        if (step_q == Fence) fenced: assert (fences(its) & first & given & out == !back & fenced_q == back);
        if (arm) arming: assert ((!busy | began) & stream < S);
        if (step_q == Decide) exists_is: assert (exists_q == (named < S));
        if (step_q > Decide & (its == Arm | its == Close)) there_is: assert (named < S);
    end

    // helpers: the stream
    always @* begin
        streams_there_are: assert ((!came_q | came_stream_q < S) & (!left_q | left_stream_q < S));
        under_way_is: assert (its_under_way == flying_1
            & flying == flying_1 + (came_q & came_stream_q == any) - (left_q & left_stream_q == any));
        if (shut & rest >= SETTLE + 1) none_came: assert (flying <= flying_1);
        if (shut & rest >= SETTLE + 2) none_came_before: assert (flying_1 <= flying_2);
        if (busy & !began & stream == any) is_empty_is: assert (is_empty_q == (flying_2 == 0));
        if (of_it) begin
            if (step_q == Ask & !first) close_is: assert (close | shut);
            if (step_q == Ask & !first & !close) closed_for: assert (rest >= 1);
            if (step_q == Answer & !first) closed_since: assert (shut & rest >= 1);
            if (step_q == Settle) settles: assert (shut & pause_q <= SETTLE & pause_q != 0 & rest + pause_q >= SETTLE + 2
                & (forget | forgotten == 7 | (forgotten != 0 & forgotten + pause_q == SETTLE)));
            if (step_q == Drain) drains: assert (shut & rest >= SETTLE + 2 & forgotten >= 4);
            if (busy & first & (step_q == Ask | step_q == Answer | step_q == Fence)) drained: assert (shut & flying == 0 & rest >= SETTLE + 2);
        end
        if (close) closes: assert (step_q == Ask & its == Close & !first);
        if (forget) forgets: assert (busy ? step_q == Settle & pause_q == SETTLE : ends & failed);
        if (its == Arm & named == any & busy) not_armed: assert (step_q == Decide ? is_armed_q == its_armed : !its_armed);
        armed_is: assert (its_armed == (is_armed | (arm & stream == any)));
    end

    reg refused_once = 0;
    always @(posedge clock) refused_once <= refused_once | (ends & failed);
    always @* if (!reset) begin
        revoked: cover (ends & !failed & its == Revoke);
        revoked_after_refusal: cover (ends & !failed & its == Revoke & refused_once);
        closed: cover (ends & !failed & of_it);
        ring_set: cover (ends & !failed & its == Ring);
    end
endmodule
