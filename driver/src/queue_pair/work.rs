//! What queue pairs report.

use warpline_regmap::mailbox::{CloseReason, FailureCause};
use warpline_wire::rdmap::Terminate;

use crate::buffer::Buffer;
use crate::completion::ErrorEvent;
use crate::posted_sends::SendStatus;

/// State of a queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairState {
    /// Requests are carried out.
    ReadyToSend,
    /// This end has met an error: its Terminate is on its way as the last message, nothing else is sent.
    Terminating,
    /// Nothing is sent any more, requests are flushed. The stream still exists.
    Error,
    /// The stream is closed, and all requests and buffers are reported.
    Closed,
}

/// What a work completion is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkOpcode {
    /// An RDMA Write: its memory was read. The peer need not have the data yet.
    Write,
    /// A Send: its memory was read. The peer need not have the message yet.
    Send,
    /// An RDMA Read: the data is in the sink.
    Read,
    /// A message of the peer is in the buffer.
    Receive,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkStatus {
    /// It was carried out.
    Success,
    /// It was not, or not known to be: the pair has ended before.
    Flushed,
    /// The device refused it; the pair ends.
    Failed(SendStatus),
}

/// A request or a buffer is done. Each is reported once; those of a send queue in the order of posting.
#[derive(Debug)]
pub struct WorkCompletion {
    /// The queue pair: [`QueuePair::id`](crate::QueuePair::id).
    pub pair: u64,
    /// The program's name for the request, or the buffer's number.
    pub id: u64,
    /// What it was.
    pub opcode: WorkOpcode,
    /// How it ended.
    pub status: WorkStatus,
    /// Octets of the message; 0 in a buffer that was not used.
    pub length: u32,
    /// Receive: the peer asked for an event.
    pub solicited: bool,
    /// Receive: the peer has invalidated this STag. No access through it is under way or can begin.
    pub invalidated: Option<u32>,
    /// Receive: the buffer.
    pub buffer: Option<Buffer>,
}

/// Something happened to a queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PairEvent {
    /// This end met an error and ends the stream with this Terminate.
    Terminating(Terminate),
    /// The peer has ended the stream.
    Terminated(Terminate),
    /// The device met an error in what the peer sent, in brief; a `Terminating` follows.
    StreamError(ErrorEvent),
    /// A Read Response that the device had accepted is not sent, or only in part, since its region was revoked or its memory
    /// could not be read. The connection is reset.
    ResponseFailed(SendStatus),
    /// The peer sends nothing more, and all that it sent is reported. This end may still send.
    HalfClosed,
    /// The connection is gone, and the stream is closed.
    Closed(CloseReason),
    /// Start-up has failed, and the stream is closed.
    Failed(FailureCause),
}

/// An item of a [`WorkQueue`](crate::WorkQueue).
#[derive(Debug)]
#[non_exhaustive]
pub enum Work {
    /// A request or a buffer is done.
    Completion(WorkCompletion),
    /// Something happened to a pair.
    Event {
        /// The queue pair.
        pair: u64,
        /// What.
        event: PairEvent,
    },
}
