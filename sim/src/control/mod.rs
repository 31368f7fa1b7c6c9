//! The card's control program, `warpline_firmware`, running natively beside the model.
//!
//! ```text
//!  mailbox ◄──► port ◄─ Bus ── program: thread ── Network ─► sockets ─► Connections
//!     └────── waker ───────────► sleeps ◄──────── events ────────────────┘
//! ```

pub(crate) mod program;
mod sockets;
