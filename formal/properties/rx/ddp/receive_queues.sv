// What was posted for a message is what is found for it, until the message is taken: its buffer, and what has come of it.
//
//   start (first MSN) ─► post n ─► MSN first + n ─► slot MSN modulo SLOTS ─► 2 cycles behind `slot` ─► buffer, message
//   note ──────────────────────────────────────────────────────────────────────────────────────────► message
//
// Shown for one message of one queue, which is any (msn_it, stream_it, queue_it): the queue is counted and its buffer
// noted down as the pulses come; the tables have to say the same. So a message finds the buffer that was posted for its
// MSN and no other one, of no other queue, and nothing that an earlier message or a former owner of the slot has left.
//
// Assumed of check: `start`, `post`, `take` and `note` come one at a time, a cycle at least behind a change of stream, queue
// or table; no post into a full queue; no take of an empty one; post and note of queues that there are.
module receive_queues_properties #(parameter STREAMS = 2, parameter QUEUES = 2, parameter SLOT_BITS = 2) (
    input clock,
    input [7:0] stream,
    input [1:0] queue,
    input [7:0] slot,
    input [48:0] state,
    input full,
    input [95:0] buffer,
    input [106:0] message,
    input start,
    input [31:0] first_msn,
    input post,
    input [95:0] posted,
    input note,
    input [106:0] noted,
    input closes,
    input take,
    input waited,
    // inside
    input [5:0] states__proof_row,
    input [48:0] states__proof_data,
    input [3:0] buffers__proof_row,
    input [95:0] buffers__proof_data,
    input [95:0] buffers__ram_register,
    input [3:0] messages__proof_row,
    input [106:0] messages__proof_data,
    input [106:0] messages__ram_register
);
    localparam SLOTS = 1 << SLOT_BITS;
    (* anyconst *) wire [31:0] msn_it;
    (* anyconst *) wire [7:0] stream_it;
    (* anyconst *) wire [1:0] queue_it;
    wire [3:0] row_it = {stream_it[0], queue_it[0], msn_it[SLOT_BITS-1:0]};
    always @* begin
        assume (stream_it < STREAMS & queue_it < QUEUES);
        assume (states__proof_row == {stream_it[3:0], queue_it} & buffers__proof_row == row_it & messages__proof_row == row_it);
    end

    // the queue, and the message in it
    wire here = stream == stream_it & queue == queue_it;
    reg started = 0;
    reg [31:0] msn = 0;
    reg [8:0] count = 0;
    reg [7:0] ahead = 0;
    reg [95:0] its_buffer = 0;
    reg [106:0] its_message = 0;
    wire [31:0] behind = msn + count;
    wire [31:0] place = msn_it - msn;
    wire held = started & place < count;
    wire its_slot = slot[SLOT_BITS-1:0] == msn_it[SLOT_BITS-1:0];
    always @(posedge clock) if (here) begin
        if (start) begin
            started <= 1;
            msn <= first_msn;
            count <= 0;
            ahead <= 0;
        end
        if (post) count <= count + 1;
        if (post & behind == msn_it) begin
            its_buffer <= posted;
            its_message <= 0;
        end
        if (note & its_slot) its_message <= noted;
        if (closes) ahead <= ahead + 1;
        if (take) begin
            msn <= msn + 1;
            count <= count - 1;
            if (waited) ahead <= ahead - 1;
        end
    end

    // pulses find `state` as it is
    wire pulse = start | post | note | take;
    reg was_pulse = 0;
    reg [7:0] was_stream = 0;
    reg [1:0] was_queue = 0;
    always @(posedge clock) begin
        was_pulse <= pulse;
        was_stream <= stream;
        was_queue <= queue;
    end
    always @* begin
        assume (start + post + note + take <= 1 & (!closes | note) & (!waited | take));
        assume (!pulse | (!was_pulse & stream == was_stream & queue == was_queue));
        assume (!pulse | stream < STREAMS);
        assume (!(post | note) | queue < QUEUES);
        assume (!post | !full);
        assume (!(here & take) | count != 0);
        assume (!(here & !started) | !(post | take | note));
    end

    // what was in the tables when they were asked
    wire was_here = was_stream == stream_it & was_queue == queue_it;
    reg was_started = 0, asked = 0, answers = 0;
    reg [48:0] was_state = 0;
    reg [95:0] buffer_1 = 0, buffer_2 = 0;
    reg [106:0] message_1 = 0, message_2 = 0;
    always @(posedge clock) begin
        was_started <= started;
        was_state <= {ahead, count, msn};
        asked <= here & its_slot & held;
        answers <= asked;
        buffer_1 <= its_buffer;
        buffer_2 <= buffer_1;
        message_1 <= its_message;
        message_2 <= message_1;
    end
    always @* begin
        if (was_here & was_started) begin
            state_is: assert (state == was_state & full == (was_state[40:32] == SLOTS));
        end
        if (answers) begin
            as_posted: assert (buffer == buffer_2);
            as_noted: assert (message == message_2);
        end
    end

    // helpers
    always @* begin
        if (started) queue_is: assert (states__proof_data == {ahead, count, msn} & count <= SLOTS);
        if (held) row_is: assert (buffers__proof_data == its_buffer & messages__proof_data == its_message);
        if (asked) register_is: assert (buffers__ram_register == buffer_1 & messages__ram_register == message_1);
        if (was_here & was_started) as_it_was: assert (started & (was_pulse | was_state == {ahead, count, msn}));
        if (started) just_started: assert (was_started | was_pulse);
    end
    reg second = 0;
    always @(posedge clock) second <= second | (here & post & count == 1);
    always @* begin
        found: cover (answers & buffer[31:0] == 5 & message[31:0] == 3 & second & msn == msn_it);
        in_full: cover (was_here & was_started & full & answers);
    end
endmodule
