// Two ask, each has its own question answered.
//
//   control ─► asks ──┐                                   ┌─► control: heard, done
//                     ├─► one at a time, as it was asked ─┤
//   refill ──► asks ──┘                                   └─► refill: heard, done
//
// What check takes is what its owner asks in that cycle, and refill's is never anything but PostReceive, so that a
// revocation and a fence are control's. Each is told heard once for each that was taken, and done once, with what check
// said, for each that was done.
//
// Assumed: who asks goes on until it is heard, with the same question (control.sv for control), and asks again when it
// has been told done. check says done of what it took, once.
module arbiter_properties (
    input clock,
    input reset,
    input [2:0] control_command,
    input [255:0] control_arguments,
    input control_valid,
    input control_ready,
    input control_done,
    input control_failed,
    input [127:0] refill_arguments,
    input refill_valid,
    input refill_ready,
    input refill_done,
    input refill_failed,
    input [2:0] command,
    input [255:0] arguments,
    input command_valid,
    input command_ready,
    input command_done,
    input command_failed,
    // inside
    input [1:0] turn_q,
    input refill_owns_q
);
    localparam PostReceive = 4;
    localparam Free = 0, Ask = 1, Work = 2;

    // an asker: it asks, it was heard, it was told done; Taken: check is at its question
    reg control_asks = 0, refill_asks = 0, control_at_work = 0, refill_at_work = 0, control_taken = 0, refill_taken = 0;
    reg control_told = 0, refill_told = 0, said = 0;
    reg [2:0] control_asked = 0;
    reg [255:0] control_with = 0;
    reg [127:0] refill_with = 0;
    wire takes = command_valid & command_ready;
    always @(posedge clock) begin
        control_asks <= control_valid & !control_ready & !reset;
        refill_asks <= refill_valid & !refill_ready & !reset;
        control_asked <= control_command;
        control_with <= control_arguments;
        refill_with <= refill_arguments;
        if (control_valid & control_ready) control_at_work <= 1;
        if (control_done) control_at_work <= 0;
        if (refill_valid & refill_ready) refill_at_work <= 1;
        if (refill_done) refill_at_work <= 0;
        // the pulses that are due a cycle after check's own
        control_told <= command_done & control_taken & !reset;
        refill_told <= command_done & refill_taken & !reset;
        said <= command_failed;
        if (takes) begin
            control_taken <= !refill_owns_q;
            refill_taken <= refill_owns_q;
        end
        if (command_done) begin
            control_taken <= 0;
            refill_taken <= 0;
        end
        if (reset) begin
            control_at_work <= 0;
            refill_at_work <= 0;
            control_taken <= 0;
            refill_taken <= 0;
        end
    end
    reg control_heard = 0, refill_heard = 0;
    always @(posedge clock) begin
        control_heard <= takes & !refill_owns_q & !reset;
        refill_heard <= takes & refill_owns_q & !reset;
    end
    always @* begin
        assume (!control_asks | (control_valid & control_command == control_asked & control_arguments == control_with));
        assume (!refill_asks | (refill_valid & refill_arguments == refill_with));
        assume (!control_valid | !control_at_work);
        assume (!refill_valid | !refill_at_work);
        assume (!command_done | control_taken | refill_taken);
    end

    always @* begin
        if (command_valid) begin
            of_the_owner: assert (refill_owns_q
                ? refill_valid & command == PostReceive & arguments == {128'b0, refill_arguments}
                : control_valid & command == control_command & arguments == control_arguments);
        end
        heard_once: assert (control_ready == control_heard & refill_ready == refill_heard);
        done_once: assert (control_done == control_told & refill_done == refill_told);
        as_it_said: assert ((!control_done | control_failed == said) & (!refill_done | refill_failed == said));
        one_at_a_time: assert (!(command_valid & (control_taken | refill_taken)));
        done_of_what_was_heard: assert ((!control_done | control_at_work) & (!refill_done | refill_at_work));
    end

    // helpers
    always @* begin
        turns: assert (turn_q <= Work & (turn_q == Work) == (control_taken | refill_taken) & !(control_taken & refill_taken));
        owner: assert (turn_q != Work | refill_taken == refill_owns_q);
        asks: assert (turn_q != Ask | (refill_owns_q ? refill_asks & !refill_ready : control_asks & !control_ready));
        hears: assert ((!control_heard | (control_asks & (control_taken))) & (!refill_heard | (refill_asks & refill_taken)));
        works: assert ((control_at_work == ((control_taken & !control_heard) | control_told))
            & (refill_at_work == ((refill_taken & !refill_heard) | refill_told)));
        tells: assert (!(control_told | refill_told) | (turn_q == Free & !(control_told & refill_told)));
    end

    reg other = 0;
    always @(posedge clock) other <= other | (refill_done & refill_failed);
    always @* if (!reset) begin
        both: cover (control_done & !control_failed & other);
        in_turn: cover (refill_done & !refill_failed & control_asks);
    end
endmodule
