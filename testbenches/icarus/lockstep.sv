// Icarus Verilog beside Verilator: the device gets the inputs that a simulated card recorded, and has to show the same
// outputs, in every cycle.
//
//   recording ─► inputs ─► device ─► outputs ─┐
//       └──────────────────► recorded outputs = ► "equal: N cycles", or the first difference
//
// A line of the recording is a cycle: all ports but the clock, inputs first, as they are before the rising edge.
// ports.svh is written for the device at hand: its ports, its instance, and the tasks `read_cycle` and `compare`.
//
//   vvp bench.vvp +recording=FILE +cycles=N

module lockstep;
    reg     clock = 1'b0;
    integer file;
    integer fields;
    integer cycle = 0;
    integer cycles;
    // Later differences are consequences of the first one.
    reg     different = 1'b0;
    reg [8*4096:1] path;

    `include "ports.svh"

    initial begin
        if (!$value$plusargs("recording=%s", path) || !$value$plusargs("cycles=%d", cycles)) begin
            $display("usage: +recording=FILE +cycles=N");
            $finish;
        end else begin
            file = $fopen(path, "r");
            while (cycle < cycles && !different) begin
                read_cycle;
                if (fields != FIELDS) begin
                    // As long as announced: a recording that was cut short would be equal, too.
                    $display("cycle %0d: the recording ends", cycle);
                    different = 1'b1;
                end else begin
                    #1 compare;
                    clock = 1'b1;
                    #1 clock = 1'b0;
                    cycle = cycle + 1;
                end
            end
            if (!different) $display("equal: %0d cycles", cycle);
            $finish;
        end
    end
endmodule
