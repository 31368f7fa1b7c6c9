//! What the card reports of a stream, as `--json` prints it: delivered messages and errors.

use serde::Serialize;
use warpline_driver::{ErrorEvent, TaggedCompletion};

/// A delivered message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum CompletionReport {
    /// Into a Tagged Buffer; STag and length are those of its last DDP segment.
    Tagged {
        /// The stream.
        stream: u8,
        /// The STag.
        stag: u32,
        /// Tagged messages have none.
        msn: Option<u32>,
        /// Payload octets.
        length: u32,
    },
    /// Into a posted buffer.
    Untagged {
        /// The stream.
        stream: u8,
        /// Queue number.
        queue: u8,
        /// Message sequence number.
        msn: Option<u32>,
        /// Octets of the message.
        length: u32,
    },
}

/// A stream's error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ErrorReport {
    /// The stream.
    pub stream: u8,
    /// Error type (RFC 5041 §7.2).
    #[serde(rename = "type")]
    pub kind: u8,
    /// Error code.
    pub code: u8,
    /// Failed checks, one bit each.
    pub checks: u16,
}

impl From<TaggedCompletion> for CompletionReport {
    fn from(completion: TaggedCompletion) -> Self {
        Self::Tagged {
            stream: completion.stream,
            stag: completion.stag,
            msn: None,
            length: completion.length,
        }
    }
}

impl From<ErrorEvent> for ErrorReport {
    fn from(event: ErrorEvent) -> Self {
        Self {
            stream: event.stream,
            kind: event.number.error_type(),
            code: event.number.code(),
            checks: event.checks.bits(),
        }
    }
}
