//! `check`: every FPDU of random traffic judged as the reference receiver judges it, with commands, bus faults and
//! back-pressure in between, in lockstep; and the validation cases of the conformance table, one by one.
//!
//! ```text
//!  Sender ─ DdpSegment, Verdict ─►┌───────┐─ Placement, Delivery ─► compared
//!         ─ commands, faults ────►│ check │─ pulses ──────────────► say in which order the block took things
//!         ─ coming ──────────────►└───────┘                             │
//!                                   Model (DdpChecker of warpline-wire) ◄┘
//! ```

mod bench;
mod buffers_and_commands;
mod cases;
mod messages;
mod model;
mod one_bit_apart;
mod random;
mod records;
mod stimulus;
mod traffic;
mod validation;
