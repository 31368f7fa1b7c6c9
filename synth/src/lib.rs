//! From Rust to a bitstream with open tools.
//!
//! ```text
//!  Config ─► design ─┐
//!  self-test, board ─┴─► yosys ─► netlist ─► nextpnr, a run a seed ─► ecppack ─► bitstream
//!  (constraints/)                   │ fits?          │
//!                                   └────────────────┴─► [`Report`]: area, Fmax, worst path by block
//! ```
//!
//! The tools come from PyPI and are pinned in `tools/requirements-fpga.txt`; `tools/setup.sh fpga` installs them. The same
//! text, part and seed give the same netlist, placement and report.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod artifact;
mod board;
pub mod comparison;
mod depth;
mod device;
pub mod ecp5_cells;
mod error;
mod estimate;
mod flow;
mod folder_lock;
mod hello;
mod json;
mod module;
mod netlist;
pub mod packaging;
mod part;
mod place;
mod prefix;
mod process;
mod regression;
mod report;
mod selftest;
mod side_by_side;
mod simulate;
mod tools;

pub use board::{BOARDS, Board, Pin, Pll, board, board_of};
pub use depth::LongestPath;
pub use device::{Extent, config};
pub use error::Error;
pub use estimate::{Estimate, estimate};
pub use flow::{BITSTREAM, Job, Stage, is_of_flow, run};
pub use hello::{Hello, HelloReport, hello_sources, say_hello};
pub use netlist::{Family, Netlist, netlist_of};
pub use part::{Part, part};
pub use prefix::{Prefix, PrefixError, prefixed};
pub use report::{Hop, Late, PERIOD_NS, Placed, Report, Tool, WorstPath};
pub use selftest::{DuplexTest, Fault, SelfTest, sources};
pub use simulate::{NETLIST, mapped, side_by_side, simulation};
pub use tools::{Tools, tool};
