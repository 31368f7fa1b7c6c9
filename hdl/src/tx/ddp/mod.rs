//! DDP on the transmit side (RFC 5041): requests of send queues in, octets of DDP segments and completions out.
//!
//! ```text
//!  slots ─► segment ─ LocalPiece ─► local_access ─ Piece ─► gather ─► octets
//!              └─ SendSegment ─► settle ◄─ status ──┘
//! ```

pub mod access_fence;
pub mod gather;
pub mod local_access;
pub mod segment;
pub mod settle;
pub mod slot_merge;
