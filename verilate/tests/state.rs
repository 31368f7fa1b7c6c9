//! The state as a whole: stored, and compared with a later one.

mod common;

use common::cycle;
use warpline_verilate::{Build, Model, Trace};

/// A memory that is written while `we`, and a counter in a separate instance that runs while `run`.
const TEXT: &str = "module counter(input wire clk, input wire run, output reg [1:0] q); /* verilator no_inline_module */
  initial q = 0;
  always @(posedge clk) if (run) q <= q + 1;
endmodule
module top(input wire clk, input wire run, input wire we, input wire [7:0] at, input wire [99:0] data, output wire [1:0] q, output reg [99:0] row);
  reg [99:0] rows [0:255];
  always @(posedge clk) begin
    if (we) rows[at] <= data;
    row <= rows[0];
  end
  counter one(.clk, .run, .q);
endmodule
";

fn open(build: Build) -> Model {
    build.source("top.sv", TEXT).open().unwrap()
}

fn same_after(model: &mut Model, cycles: usize) -> bool {
    let clk = model.port("clk").unwrap();
    for _ in 0..cycles {
        cycle(model, clk).unwrap();
    }
    model.is_as_kept()
}

#[test]
fn a_state_is_the_same_when_registers_memories_and_inputs_are() {
    for build in [
        Build::new("top").comparable(),
        Build::new("top").comparable().trace(Trace::Fst),
        Build::new("top")
            .comparable()
            .line_coverage()
            .toggle_coverage(),
    ] {
        let mut model = open(build);
        let port = |model: &Model, name| model.port(name).unwrap();
        let [run, we, at] = ["run", "we", "at"].map(|name| port(&model, name));
        let data = port(&model, "data");
        for input in [run, we, at] {
            model.set(input, 0);
        }
        model.set_words(data, &[0; 4]);
        assert!(!model.is_as_kept(), "none was kept");
        same_after(&mut model, 2);
        model.keep_state();
        assert!(model.is_as_kept());
        assert!(same_after(&mut model, 3), "nothing runs");

        model.set(run, 1);
        assert!(!model.is_as_kept(), "another input");
        assert!(!same_after(&mut model, 1));
        model.keep_state();
        assert!(!same_after(&mut model, 3), "a counter that runs");
        assert!(same_after(&mut model, 1), "and has come round");

        model.set(run, 0);
        same_after(&mut model, 1);
        model.keep_state();
        model.set(at, 200);
        model.set_words(data, &[0, 0, 0, 5]);
        model.set(we, 1);
        same_after(&mut model, 1);
        model.set(at, 0);
        model.set_words(data, &[0; 4]);
        model.set(we, 0);
        assert!(!same_after(&mut model, 2), "a row far from the ports");
    }
}

#[test]
#[should_panic(expected = "comparable")]
fn other_models_store_no_state() {
    let mut model = open(Build::new("top"));
    assert!(!model.is_as_kept());
    model.keep_state();
}
