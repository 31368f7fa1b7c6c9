//! The card's control program, `warpline_firmware`, beside the model: natively, or as an image on a soft processor.
//!
//! ```text
//!  mailbox ◄──► port ◄─ Bus ── program: thread ──────────── Network ─► sockets ─► Connections
//!     │           ◄────────── processor: image ── calls ──────────────────┘            │
//!     └────── alarm ─────────► sleeps ◄──────── events ────────────────────────────────┘
//! ```

mod alarm;
mod calls;
mod processor;
pub(crate) mod program;
#[cfg_attr(not(feature = "sctp"), path = "no_sessions.rs")]
mod sessions;
mod sockets;
