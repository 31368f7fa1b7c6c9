//! Proofs of blocks, all inputs and for ever; `make formal` runs them.
//!
//! Every test proves its block, reaches every cover, and shows that each planted fault has a counterexample from reset.

mod host;
mod parts;
mod rx;
mod support;
mod tables;
mod tx;
