//! DDP on the receive side (RFC 5041): one verdict for each ULPDU, its payload to memory, its delivery in order.
//!
//! ```text
//!  ULPDU ─► check ─► place ─► bursts
//!             └────► deliver ─► events
//! ```

pub mod check;
pub mod deliver;
pub mod place;
