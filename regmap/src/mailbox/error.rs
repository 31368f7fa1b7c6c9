//! What is no message.

use core::fmt;

/// The words are not a message. Nothing follows from them but `REFUSED`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageError {
    /// `KIND` does not exist.
    Kind {
        /// As found.
        kind: u8,
    },
    /// `REASON` does not exist for this kind.
    Reason {
        /// Kind of the message.
        kind: u8,
        /// As found.
        reason: u8,
    },
    /// More private data than a frame can have.
    Private {
        /// `LENGTH` as found, or octets given.
        length: usize,
    },
    /// `TRANSPORT` does not exist.
    Transport {
        /// As found.
        transport: u8,
    },
    /// `DETAIL` is not one for this kind.
    Detail {
        /// Kind of the message.
        kind: u8,
        /// As found.
        detail: u16,
    },
}

impl fmt::Display for MessageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Kind { kind } => write!(f, "message kind {kind} does not exist"),
            Self::Reason { kind, reason } => {
                write!(f, "reason {reason} of message kind {kind} does not exist")
            }
            Self::Private { length } => write!(
                f,
                "{length} octets of private data: a frame carries 512 at most"
            ),
            Self::Transport { transport } => write!(f, "transport {transport} does not exist"),
            Self::Detail { kind, detail } => {
                write!(
                    f,
                    "detail {detail:#x} of message kind {kind} does not exist"
                )
            }
        }
    }
}

impl core::error::Error for MessageError {}
