//! DDP on the transmit side (RFC 5041): requests of send queues in, octets of DDP segments out.
//!
//! ```text
//!  slots ─► segment ─ LocalPiece ─► local_access ─ Piece ─► gather ─► octets
//! ```

pub mod gather;
pub mod local_access;
pub mod segment;
pub mod settle;
