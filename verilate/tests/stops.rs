//! Output of a design, and every kind of stop, as values; the process continues.

mod common;

use common::cycle;
use warpline_verilate::{Build, Error, Model, Status, Stopped};

const TEXT: &str = "module talker(input wire clk, input wire [7:0] code);
  always @(posedge clk) begin
    $display(\"code %0d\", code);
    case (code)
      8'd1: $finish;
      8'd2: $stop;
      8'd3: $fatal(1, \"bad code %0d\", code);
      8'd4: $error(\"odd code %0d\", code);
      8'd6: $warning(\"strange code\");
      default: ;
    endcase
    limit: assert (code < 8'd100) else $error(\"code %0d is not small\", code);
    bare: assert (code != 8'd50);
  end
endmodule
";

fn talk(code: u64) -> (Model, Result<Status, Error>) {
    let mut model = Build::new("talker")
        .source("talker.sv", TEXT)
        .open()
        .unwrap();
    let (clk, port) = (model.port("clk").unwrap(), model.port("code").unwrap());
    model.set(port, code);
    let result = cycle(&mut model, clk);
    (model, result)
}

fn stopped(result: Result<Status, Error>) -> Stopped {
    match result {
        Err(Error::Stopped(stopped)) => stopped,
        other => panic!("{other:?}"),
    }
}

#[test]
fn display_text_is_returned_once() {
    let (mut model, result) = talk(0);
    assert_eq!(result.unwrap(), Status::Running);
    assert_eq!(model.take_output(), "code 0\n");
    assert_eq!(model.take_output(), "");
    let (mut model, result) = talk(6);
    assert_eq!(result.unwrap(), Status::Running);
    assert!(model.take_output().contains("strange code"));
}

#[test]
fn long_text_is_complete() {
    let text = "module long_text(input wire clk); always @(posedge clk) for (int i = 0; i < 3000; i++) $write(\"%0d,\", i); endmodule";
    let mut model = Build::new("long_text")
        .source("long_text.sv", text)
        .open()
        .unwrap();
    let clk = model.port("clk").unwrap();
    cycle(&mut model, clk).unwrap();
    let expected: String = (0..3000).map(|i| format!("{i},")).collect();
    assert_eq!(model.take_output(), expected);
}

#[test]
fn finish_is_a_status_that_stays() {
    let (mut model, result) = talk(1);
    assert_eq!(result.unwrap(), Status::Finished);
    assert_eq!(model.eval().unwrap(), Status::Finished);
}

#[test]
fn stop_fatal_error_and_assertions_are_errors_with_place_and_text() {
    for (code, line, message) in [
        (2, 6, "$stop"),
        (3, 7, "bad code 3"),
        (4, 8, "odd code 4"),
        (100, 12, "code 100 is not small"),
        (50, 13, "'assert' failed"),
    ] {
        let (mut model, result) = talk(code);
        let stop = stopped(result);
        assert_eq!(
            (stop.file.as_str(), stop.line, stop.runtime),
            ("talker.sv", line, false),
            "{stop}"
        );
        assert!(stop.message.contains(message), "{stop}");
        assert!(stop.to_string().contains(&format!("talker.sv:{line}")));
        assert!(model.take_output().starts_with(&format!("code {code}\n")));
        let clk = model.port("clk").unwrap();
        assert_eq!(
            stopped(cycle(&mut model, clk)),
            stop,
            "a stopped model stays stopped"
        );
        assert_eq!(model.take_output(), "", "and evaluates no more");
        assert_eq!(model.get(model.port("code").unwrap()), code);
    }
}

#[test]
fn loop_without_fixed_point_is_an_error() {
    let text =
        "module oscillator(input wire enable, output wire y); assign y = enable & ~y; endmodule";
    let build = Build::new("oscillator")
        .source("oscillator.sv", text)
        .lint_off("UNOPTFLAT");
    let mut model = build.open().unwrap();
    let enable = model.port("enable").unwrap();
    model.set(enable, 0);
    model.eval().unwrap();
    model.set(enable, 1);
    let stop = stopped(model.eval());
    assert!(stop.runtime && stop.message.contains("converge"), "{stop}");
    assert_eq!(stopped(model.eval()), stop);
    drop(model);
    let mut model = build.open().unwrap(); // the library still works
    let (enable, y) = (model.port("enable").unwrap(), model.port("y").unwrap());
    model.set(enable, 0);
    model.eval().unwrap();
    assert_eq!(model.get(y), 0);
}

#[test]
fn final_block_may_fail_at_drop() {
    let text = "module last_words(input wire clk); always @(posedge clk) $display(\"x\"); final $fatal(1, \"too late\"); endmodule";
    let mut model = Build::new("last_words")
        .source("last_words.sv", text)
        .open()
        .unwrap();
    let clk = model.port("clk").unwrap();
    cycle(&mut model, clk).unwrap();
    drop(model); // neither exits nor panics
    let (_, result) = talk(0);
    assert_eq!(result.unwrap(), Status::Running);
}
