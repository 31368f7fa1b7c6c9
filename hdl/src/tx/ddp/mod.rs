//! DDP on the transmit side (RFC 5041): requests of send queues in, DDP segments out.
//!
//! ```text
//!  slots ─► segment ─► pieces of a DDP segment ─► checked in the STag table ─► read and joined ─► mpa
//! ```

pub mod segment;
