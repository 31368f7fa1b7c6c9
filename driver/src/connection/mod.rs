//! Connections to peers, set up by the card's control program.
//!
//! ```text
//!   Listener::bind ─► accept ─► ConnectRequest ─► accept ─► QueuePair     Responder
//!                                              └► reject
//!   connect ──────────────────────────────────────────────► QueuePair     Initiator
//! ```
//!
//! The control program runs TCP and MPA start-up, or asks for a session of SCTP, and arms the stream; the driver attaches rings and
//! buffers before the peer may send. An [`Endpoint`] says which of the two. The messages between them are in [`warpline_regmap::mailbox`].

mod connect;
mod endpoint;
mod establish;
mod listener;
mod options;

pub use connect::connect;
pub use endpoint::Endpoint;
pub use listener::{ConnectRequest, ListenOptions, Listener};
pub use options::{ConnectOptions, QpOptions, Revision};
