//! The card's network side.
//!
//! ```text
//!  peer ◄─► socket ◄─► connections ─► inlets: path ─► segments ─► s_axis_segment
//!                          │                             ▲ ◄───── m_axis_window
//!                          └─► record ─► frames (pcapng)  │
//!  Card::feed ───────────────────────────────────────────┘
//! ```

pub(crate) mod connections;
pub(crate) mod entry;
pub(crate) mod error;
pub(crate) mod event;
pub(crate) mod frames;
pub(crate) mod inlets;
pub(crate) mod options;
pub(crate) mod path;
mod pump;
pub(crate) mod record;
pub(crate) mod sctp;
pub(crate) mod segments;
mod socket;
mod table;
