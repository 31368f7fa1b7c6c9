//! Test benches of warpline: one file per device under test in `tests/`, and what they share.

#![deny(missing_docs)]
#![forbid(unsafe_code)]

pub mod bad_slots;
pub mod conformance;
pub mod coverage;
mod duplex_ports;
pub mod host;
pub mod import_circles;
pub mod local_memory;
pub mod lockstep;
pub mod mutant_records;
pub mod mutant_runs;
pub mod mutants;
pub mod octets;
mod read_buffers;
pub mod read_bus;
pub mod scenario;
pub mod stimulus;
pub mod transmit_rate;
pub mod transmit_scenario;
pub mod write_bus;
