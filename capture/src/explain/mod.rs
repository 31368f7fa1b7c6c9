//! What octets of iWARP traffic are, field by field, and which check a receiver makes of them would fail.
//!
//! ```text
//!  octets ─────────────────────────────────► Units ─► Unit ─┬─ text ─► lines, as the RFCs' figures have them
//!  capture ─► Conversation ─► start frames ──┘  │           └─ json ─► one document
//!             (connection)    one direction     │
//!                                               └─ start, or fpdu ─► ddp, rdmap ─► Field, Finding
//!  chunks of SCTP ─► sctp ─► Unit ─► …                     └───────────┘
//! ```
//!
//! It says what octets alone can say. What depends on earlier octets or on the receiver's memory, as STags, MSNs and buffers do,
//! is the matter of [`replay`](crate::replay). It explains one FPDU behind another, also behind one that a receiver refuses,
//! and takes each to begin where the one before ends. Nothing in it reads files or panics.
//!
//! ```
//! use warpline_capture::explain::{Settings, Units};
//!
//! let octets = b"MPA ID Req Frame\x40\x01\0\x02hi";
//! let unit = Units::new(octets, Settings::default()).next().unwrap();
//! assert_eq!(unit.summary, "MPA Request frame, no markers required, CRC requested");
//! assert_eq!(unit.field("start.pd_length").unwrap().value, Some(2));
//! assert!(unit.verdict().is_none());
//! ```

mod amount;
mod conversation;
mod ddp;
mod field;
mod finding;
mod fpdu;
mod hex;
mod json;
mod name;
mod rdmap;
mod rdmap_control;
mod sctp;
mod sctp_capture;
mod segment;
mod start;
mod stream;
mod text;
mod unit;

pub use conversation::{Conversation, ConversationError};
pub use field::{Field, Piece};
pub use finding::{Check, Finding, Reports, Severity};
pub use hex::{HexError, parse as parse_hex};
pub use json::{FORMAT, Source, write as write_json};
pub use name::{ALL, Name};
pub use sctp::{SctpForm, sctp_units};
pub use sctp_capture::SctpCapture;
pub use stream::Units;
pub use text::{Ink, Paint, unit as unit_text};
pub use unit::{Kind, Tally, Unit};

/// What octets do not say about themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The stream carries markers: the receiver's start frame has M = 1.
    pub markers: bool,
    /// CRCs are in use: one of both start frames has C = 1.
    pub crc: bool,
    /// Stream position of the first octet, a multiple of four. Behind a start frame it is 0.
    pub position: u32,
    /// Fields keep all octets of payload and private data, not only the first ones.
    pub payload: bool,
}

impl Default for Settings {
    /// No markers, CRCs in use, from stream position 0, payload shortened.
    fn default() -> Self {
        Self {
            markers: false,
            crc: true,
            position: 0,
            payload: false,
        }
    }
}
