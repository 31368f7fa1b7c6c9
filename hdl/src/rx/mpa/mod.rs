//! MPA on the receive side (RFC 5044): TCP segments in, ULPDUs with a verdict about their CRC out.
//!
//! ```text
//!  admit ─► assembly ─► fetch ─┬─► crc32c ────────► verdict
//!             │  ▲             └─► strip ─► commit ─► ULPDU
//!             ▼  │
//!            scan ◄─ pace
//! ```

pub mod admit;
pub mod assembly;
pub mod commit;
pub mod dword_heads;
pub mod fetch;
pub mod ingress;
pub mod pace;
pub mod scan;
pub mod stream_end;
pub mod strip;
pub mod window;
