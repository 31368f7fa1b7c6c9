//! What can go wrong with an association or a session.

use std::io;

use warpline_wire::sctp::{CallError, WindowError};

use crate::error::Error;

/// Errors of associations and sessions.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AssociationError {
    /// The device does not take chunks.
    #[error("the device does not take chunks of SCTP: set Config::sctp")]
    NoSctp,
    /// The association has ended, or was aborted.
    #[error("the association has ended: its handle is no longer valid")]
    Ended,
    /// There are as many associations as may be.
    #[error("{most} associations are open: abort one, or allow more")]
    Full {
        /// Most of them.
        most: usize,
    },
    /// The session is attached to a stream of the device already.
    #[error("session {session} is attached to stream {stream} of the device")]
    Attached {
        /// The session: number of its pair of SCTP streams.
        session: u16,
        /// The device's stream.
        stream: u8,
    },
    /// Something is attached to the stream of the device.
    #[error("stream {stream} of the device is taken: close it first")]
    Occupied {
        /// The stream.
        stream: u8,
    },
    /// The window is none.
    #[error(transparent)]
    Window(#[from] WindowError),
    /// The session's state does not allow the call.
    #[error(transparent)]
    Call(#[from] CallError),
    /// SCTP refuses.
    #[error(transparent)]
    Sctp(#[from] warpline_usrsctp::Error),
    /// The card refuses.
    #[error(transparent)]
    Card(#[from] Error),
    /// The system refuses a thread or a socket.
    #[error("the system refuses a thread or socket for associations: {0}")]
    System(#[from] io::Error),
}
