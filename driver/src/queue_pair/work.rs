//! What queue pairs report.

use std::fmt;

use warpline_regmap::mailbox::CloseReason;
use warpline_wire::rdmap::Terminate;

use crate::buffer::Buffer;
use crate::completion::ErrorEvent;
use crate::posted_sends::SendStatus;
use crate::words::meaning;

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

impl fmt::Display for PairEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Terminating(terminate) => {
                write!(f, "this end has ended the stream: {}", terminate.cause)
            }
            Self::Terminated(terminate) => {
                write!(f, "the peer has ended the stream: {}", terminate.cause)
            }
            Self::StreamError(event) => write!(
                f,
                "the peer's octets at stream position {} are refused: {} (type {:#x}, code {:#04x})",
                event.position,
                event.number.name(),
                event.number.error_type(),
                event.number.code()
            ),
            Self::ResponseFailed(status) => {
                write!(f, "a Read Response could not be sent: {status}")
            }
            Self::HalfClosed => f.write_str("the peer sends nothing more"),
            Self::Closed(reason) => {
                let reason = meaning(CloseReason::VALUES, *reason as u8);
                write!(f, "closed: {reason}")
            }
        }
    }
}

impl fmt::Display for WorkOpcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Write => "Write",
            Self::Send => "Send",
            Self::Read => "Read",
            Self::Receive => "Receive",
        })
    }
}

impl fmt::Display for WorkStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Success => f.write_str("done"),
            Self::Flushed => f.write_str("flushed"),
            Self::Failed(status) => write!(f, "failed: {status}"),
        }
    }
}

impl fmt::Display for WorkCompletion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            pair,
            id,
            opcode,
            status,
            length,
            ..
        } = self;
        write!(f, "pair {pair}, {opcode} {id}: {status}")?;
        if *status == WorkStatus::Success {
            write!(f, ", {length} octets")?;
        }
        if let Some(stag) = self.invalidated {
            write!(f, ", STag {stag:#010x} is invalid now")?;
        }
        Ok(())
    }
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Completion(completion) => completion.fmt(f),
            Self::Event { pair, event } => write!(f, "pair {pair}: {event}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use warpline_wire::rdmap::{Cause, RdmaError};

    use super::*;

    #[test]
    fn events_have_plain_words() {
        let cause = Cause::Rdma(RdmaError::OperationVersion);
        let cases = [
            (
                PairEvent::Closed(CloseReason::Finished),
                "closed: both ends have ended it in order",
            ),
            (
                PairEvent::Terminated(Terminate::new(cause)),
                "the peer has ended the stream: invalid RDMAP version (RDMAP, layer 0x0, type 0x2, code 0x05)",
            ),
            (
                PairEvent::ResponseFailed(SendStatus::Bus),
                "a Read Response could not be sent: the bus refused a read",
            ),
        ];
        for (event, words) in cases {
            assert_eq!(event.to_string(), words);
        }
    }

    #[test]
    fn completions_have_plain_words() {
        let done = |opcode, status, invalidated| {
            Work::Completion(WorkCompletion {
                pair: 3,
                id: 7,
                opcode,
                status,
                length: 4096,
                solicited: false,
                invalidated,
                buffer: None,
            })
        };
        let failed = WorkStatus::Failed(SendStatus::Bounds);
        let cases = [
            (
                done(WorkOpcode::Write, WorkStatus::Success, None),
                "pair 3, Write 7: done, 4096 octets",
            ),
            (
                done(WorkOpcode::Receive, WorkStatus::Success, Some(0x1_0200)),
                "pair 3, Receive 7: done, 4096 octets, STag 0x00010200 is invalid now",
            ),
            (
                done(WorkOpcode::Read, WorkStatus::Flushed, None),
                "pair 3, Read 7: flushed",
            ),
            (
                done(WorkOpcode::Send, failed, None),
                "pair 3, Send 7: failed: it leaves its region",
            ),
            (
                Work::Event {
                    pair: 3,
                    event: PairEvent::HalfClosed,
                },
                "pair 3: the peer sends nothing more",
            ),
        ];
        for (work, words) in cases {
            assert_eq!(work.to_string(), words);
        }
    }
}
