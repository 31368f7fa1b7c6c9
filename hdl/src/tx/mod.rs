//! The transmit path: from DDP segments to the octets of TCP streams, and to chunks of SCTP.
//!
//! ```text
//!  DDP segments ─► ddp: octets of ULPDUs ─► mpa: FPDUs with length, PAD, markers and CRC ─► transmit rings
//! ```

pub mod ddp;
pub mod mpa;
pub mod sctp;
pub mod transmitter;
