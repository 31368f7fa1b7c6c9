//! Verilator from Rust: build a SystemVerilog module, load it, drive its ports, read waveforms and coverage.
//!
//! ```text
//!  SystemVerilog text ──► verilator ──► C++ ──► clang++ ──► model.so ──► Model
//!        Build               └──── once per content, in a cache ────┘     ports, eval, trace, coverage
//! ```
//!
//! A model is built at its first use, into a cache whose key is the content: tools, flags and text. When several threads
//! and processes need the same model at once, one builds it, and the others wait and load it.
//!
//! ```no_run
//! use warpline_verilate::{Build, Trace};
//!
//! # fn main() -> Result<(), warpline_verilate::Error> {
//! let mut model = Build::new("counter")
//!     .source("counter.sv", "module counter(input wire clk, output reg [7:0] count);
//!                                always @(posedge clk) count <= count + 1;
//!                            endmodule")
//!     .trace(Trace::Fst)
//!     .open()?;
//! let (clk, count) = (model.port("clk")?, model.port("count")?);
//! model.trace_open("counter.fst")?;
//! for _ in 0..10 {
//!     for level in [0, 1] {
//!         model.set(clk, level);
//!         model.eval()?;
//!         model.advance(5);
//!     }
//! }
//! println!("{}", model.get(count));
//! # Ok(())
//! # }
//! ```
//!
//! # What it needs
//!
//! Linux, a C++ compiler, the headers of zlib and lz4, and Verilator 5: see [`Tools`] for how they are found.
//!
//! # What is trusted
//!
//! SystemVerilog text is code: it is compiled and runs inside this process, and Verilator's `$c`, `$system` and DPI let it do
//! anything. Apart from those, no use of a [`Model`] from safe Rust reaches memory that is not its own.

#![deny(missing_docs)]

mod build;
mod cache;
pub mod coverage;
mod error;
mod ffi;
mod header;
mod messages;
mod model;
mod ports;
mod stopped;
mod tools;
mod trace;

pub use build::{Build, Library};
pub use error::Error;
pub use messages::Warning;
pub use model::{Direction, Model, Port, PortInfo, Status};
pub use stopped::Stopped;
pub use tools::Tools;
pub use trace::Trace;
