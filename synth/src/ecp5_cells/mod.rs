//! Simulation of a netlist of ECP5 cells, for devices whose netlist is too long a text for a compiler ([`side_by_side`] is for
//! blocks). To plant a fault in it needs no new build.
//!
//! ```text
//!  RTL in a simulator ─► recording: all ports at each rising edge ─┬─ inputs ──► cells ─► outputs ─┐
//!                                                                  └─ outputs ─────────────────────┴─ equal?
//! ```
//!
//! Only cells whose inputs changed are evaluated. yosys' `ecp5/cells_sim.v` defines what a cell does; it leaves out the block
//! RAM, which is modelled on Lattice's ECP5 Memory Usage Guide (FPGA-TN-02204). A parameter without a model is an error. One
//! clock; two values, no X.
//!
//! [`side_by_side`]: crate::side_by_side

mod block_ram;
mod build;
mod evaluate;
mod logic;
mod pins;
mod recorder;
mod simulator;
#[cfg(test)]
mod tests;
mod wires;

pub use recorder::recorder;
pub use simulator::{Difference, Ecp5Cells, Fault};
