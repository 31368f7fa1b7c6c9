// The rule of every AXI handshake (IHI 0022E §A3.2.1, IHI 0051A §2.2): what is offered stays, unchanged, until it is taken.
module handshake #(parameter WIDTH = 1) (
    input clock,
    input reset,
    input valid,
    input ready,
    input [WIDTH-1:0] payload
);
    reg waiting = 0;
    reg [WIDTH-1:0] held = 0;
    always @(posedge clock) begin
        waiting <= valid & !ready & !reset;
        held <= payload;
    end
    always @* if (waiting) begin
        stays: assert (valid);
        unchanged: assert (payload == held);
    end
    always @* begin
        waited: cover (waiting & ready & !reset);
    end
endmodule
