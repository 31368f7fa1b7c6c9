//! The error of calls that name a stream or a queue.

use thiserror::Error;

/// A call names something that the receiver does not have, or already has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ReceiverError {
    /// No such stream.
    #[error("stream {stream} is not open: open it first")]
    UnknownStream {
        /// The stream named.
        stream: u32,
    },
    /// The stream is open.
    #[error("stream {stream} is open: close it first")]
    StreamOpen {
        /// The stream named.
        stream: u32,
    },
    /// No such queue on the stream.
    #[error("stream {stream} has no queue {queue}: enable it first")]
    UnknownQueue {
        /// The stream named.
        stream: u32,
        /// The queue named.
        queue: u32,
    },
    /// The queue exists.
    #[error("stream {stream} already has queue {queue}")]
    QueueEnabled {
        /// The stream named.
        stream: u32,
        /// The queue named.
        queue: u32,
    },
    /// The queue holds [`MAX_POSTED`](super::MAX_POSTED) buffers.
    #[error("queue {queue} of stream {stream} is full: deliver messages before posting more")]
    QueueFull {
        /// The stream named.
        stream: u32,
        /// The queue named.
        queue: u32,
    },
}
