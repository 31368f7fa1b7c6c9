// Two requesters, each of which has its own command answered.
//
//   control ─► requests ──┐                                        ┌─► control: accepted, done
//                         ├─► one at a time, as it was requested ──┤
//   rings ───► requests ──┘                                        └─► rings: accepted, done
//
// The command at check is that of its owner in the same cycle. The receive rings request nothing but PostReceive, so that a
// revocation and a fence are control's. Each requester sees one acceptance for each command that check takes, and one
// completion, with check's result, for each that check completes.
//
// Assumed: a request stays until it is accepted, with the same arguments (control.sv for control), and the next one follows
// its completion. check completes each command that it has taken, once.
module command_arbiter_properties (
    input clock,
    input reset,
    input [2:0] control_command,
    input [255:0] control_arguments,
    input control_valid,
    input control_ready,
    input control_done,
    input control_failed,
    input [127:0] rings_arguments,
    input rings_valid,
    input rings_ready,
    input rings_done,
    input rings_failed,
    input [2:0] command,
    input [255:0] arguments,
    input command_valid,
    input command_ready,
    input command_done,
    input command_failed,
    // inside
    input [1:0] phase_q,
    input rings_own_q
);
    localparam PostReceive = 4;
    localparam Free = 0, Ask = 1, Work = 2;

    // a requester: its request, its command under way, its completion; taken: check works on its command
    reg control_asks = 0, rings_asks = 0, control_at_work = 0, rings_at_work = 0, control_taken = 0, rings_taken = 0;
    reg control_completes = 0, rings_completes = 0, said = 0;
    reg [2:0] control_asked = 0;
    reg [255:0] control_with = 0;
    reg [127:0] rings_with = 0;
    wire takes = command_valid & command_ready;
    always @(posedge clock) begin
        control_asks <= control_valid & !control_ready & !reset;
        rings_asks <= rings_valid & !rings_ready & !reset;
        control_asked <= control_command;
        control_with <= control_arguments;
        rings_with <= rings_arguments;
        if (control_valid & control_ready) control_at_work <= 1;
        if (control_done) control_at_work <= 0;
        if (rings_valid & rings_ready) rings_at_work <= 1;
        if (rings_done) rings_at_work <= 0;
        // the pulses that are due a cycle after check's own
        control_completes <= command_done & control_taken & !reset;
        rings_completes <= command_done & rings_taken & !reset;
        said <= command_failed;
        if (takes) begin
            control_taken <= !rings_own_q;
            rings_taken <= rings_own_q;
        end
        if (command_done) begin
            control_taken <= 0;
            rings_taken <= 0;
        end
        if (reset) begin
            control_at_work <= 0;
            rings_at_work <= 0;
            control_taken <= 0;
            rings_taken <= 0;
        end
    end
    reg control_accepted = 0, rings_accepted = 0;
    always @(posedge clock) begin
        control_accepted <= takes & !rings_own_q & !reset;
        rings_accepted <= takes & rings_own_q & !reset;
    end
    always @* begin
        assume (!control_asks | (control_valid & control_command == control_asked & control_arguments == control_with));
        assume (!rings_asks | (rings_valid & rings_arguments == rings_with));
        assume (!control_valid | !control_at_work);
        assume (!rings_valid | !rings_at_work);
        assume (!command_done | control_taken | rings_taken);
    end

    always @* begin
        if (command_valid) begin
            of_the_owner: assert (rings_own_q
                ? rings_valid & command == PostReceive & arguments == {128'b0, rings_arguments}
                : control_valid & command == control_command & arguments == control_arguments);
        end
        accepted_once: assert (control_ready == control_accepted & rings_ready == rings_accepted);
        done_once: assert (control_done == control_completes & rings_done == rings_completes);
        as_it_said: assert ((!control_done | control_failed == said) & (!rings_done | rings_failed == said));
        one_at_a_time: assert (!(command_valid & (control_taken | rings_taken)));
        done_behind_accepted: assert ((!control_done | control_at_work) & (!rings_done | rings_at_work));
    end

    // helpers
    always @* begin
        turns: assert (phase_q <= Work & (phase_q == Work) == (control_taken | rings_taken) & !(control_taken & rings_taken));
        owner: assert (phase_q != Work | rings_taken == rings_own_q);
        asks: assert (phase_q != Ask | (rings_own_q ? rings_asks & !rings_ready : control_asks & !control_ready));
        accepts: assert ((!control_accepted | (control_asks & (control_taken))) & (!rings_accepted | (rings_asks & rings_taken)));
        works: assert ((control_at_work == ((control_taken & !control_accepted) | control_completes))
            & (rings_at_work == ((rings_taken & !rings_accepted) | rings_completes)));
        completes: assert (!(control_completes | rings_completes) | (phase_q == Free & !(control_completes & rings_completes)));
    end

    reg other = 0;
    always @(posedge clock) other <= other | (rings_done & rings_failed);
    always @* if (!reset) begin
        both: cover (control_done & !control_failed & other);
        in_turn: cover (rings_done & !rings_failed & control_asks);
    end
endmodule
