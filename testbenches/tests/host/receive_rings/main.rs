//! `receive_rings`: every descriptor that a doorbell announces is read once, posted in order, and never more than there is room
//! for; closed streams leave nothing behind, failed reads end their stream alone.
//!
//! ```text
//!  host: set, doorbell, close ─►┌────────┐─ buffers ─► check (a stand-in), compared row by row
//!  check: key, took ───────────►│ rings  │─ coming, fault ─► compared
//!                               └───┬────┘
//!                               ReadBus: what an address holds is a function of the address
//! ```

mod directed;
mod random;
mod support;
