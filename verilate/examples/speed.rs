//! Prints the cost of a small model: building, opening, and cycles in which ten ports are driven.

use std::{hint::black_box, time::Instant};

use warpline_verilate::{Build, Error};

const CYCLES: u64 = 2_000_000;

fn main() -> Result<(), Error> {
    let inputs: String = (0..9)
        .map(|i| format!("input wire [31:0] x{i}, "))
        .collect();
    let sum = (0..9)
        .map(|i| format!("x{i}"))
        .collect::<Vec<_>>()
        .join(" ^ ");
    let text = format!(
        "module speed({inputs}input wire clk, output reg [31:0] y); always @(posedge clk) y <= y + ({sum}); endmodule"
    );
    let build = |note: u128| Build::new("speed").source("speed.sv", format!("{text} // {note}"));

    let now = std::time::SystemTime::UNIX_EPOCH
        .elapsed()
        .expect("a clock after 1970")
        .as_nanos();
    let start = Instant::now();
    let library = build(0).build()?;
    println!(
        "first build  {:>9.3?}  (compiled: {})",
        start.elapsed(),
        library.was_built()
    );
    let start = Instant::now();
    let fresh = build(now).build()?;
    println!(
        "new content  {:>9.3?}  (the runtime is compiled already)",
        start.elapsed()
    );
    let start = Instant::now();
    let mut model = build(0).open()?;
    println!("warm open    {:>9.3?}", start.elapsed());
    let start = Instant::now();
    drop(library.open(2)?);
    println!("second model {:>9.3?}", start.elapsed());

    let (clk, y) = (model.port("clk")?, model.port("y")?);
    let inputs = (0..9)
        .map(|i| model.port(&format!("x{i}")))
        .collect::<Result<Vec<_>, _>>()?;
    let start = Instant::now();
    for cycle in 0..CYCLES {
        for &input in &inputs {
            model.set(input, cycle & 0xFFFF);
        }
        for level in [0, 1] {
            model.set(clk, level);
            model.eval()?;
        }
        black_box(model.get(y));
    }
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "cycles       {:>9.0} a second, 10 ports driven and 1 read in each",
        CYCLES as f64 / seconds
    );
    let folder = fresh
        .path()
        .parent()
        .expect("the model's folder")
        .to_owned();
    std::fs::remove_dir_all(&folder).map_err(|source| Error::Io {
        path: folder,
        source,
    })
}
