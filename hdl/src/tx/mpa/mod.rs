//! MPA on the transmit side (RFC 5044): ULPDUs in, FPDUs out.
//!
//! ```text
//!  ULPDU ─► frame ─► FPDU ─► transmit_ring ─► octets of segments
//! ```

pub mod frame;
pub mod transmit_ring;
