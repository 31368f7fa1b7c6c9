//! MPA on the transmit side (RFC 5044): ULPDUs in, FPDUs out.
//!
//! ```text
//!  ULPDU ─► frame ─► FPDU
//! ```

pub mod frame;
