//! What an association reports, and why a session ends.

use super::chunk::{ChunkError, Function, Segment};
use super::order::InvalidSsn;
use super::ssn::Ssn;
use thiserror::Error;

/// Why a session ended in an error, or a chunk belongs to none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Cause {
    /// The chunk is malformed or of another protocol.
    #[error(transparent)]
    Chunk(#[from] ChunkError),
    /// The DDP-SSN is outside the window (AMB-34).
    #[error(transparent)]
    Ssn(#[from] InvalidSsn),
    /// A control message that no legal pattern has at this place (RFC 5043 §6.1).
    #[error("{function:?} with DDP-SSN {ssn} fits no legal pattern: the peer breaks RFC 5043")]
    Control {
        /// What it would do.
        function: Function,
        /// Its place.
        ssn: Ssn,
    },
    /// A DDP segment where the first control message belongs: DDP-SSN 0.
    #[error("a DDP segment with DDP-SSN 0, which is a control message's: the peer breaks RFC 5043")]
    FirstSegment,
    /// A DDP segment for which there is no session (AMB-38).
    #[error("a DDP segment with DDP-SSN {ssn} before any Initiate: the peer sends too early")]
    BeforeInitiate {
        /// Its place.
        ssn: Ssn,
    },
    /// A chunk behind the peer's last one.
    #[error("a chunk with DDP-SSN {ssn} behind the peer's Terminate or Reject at {end}")]
    BehindEnd {
        /// The later DDP-SSN.
        ssn: Ssn,
        /// That of the last chunk.
        end: Ssn,
    },
    /// Both ends sent Initiate on one stream (AMB-37).
    #[error("both ends sent Initiate: let one of them, or another stream, begin")]
    BothInitiate,
    /// As many Initiates as are allowed wait for the ULP (RFC 5043 §6.4).
    #[error("{limit} Initiates wait for a decision already: decide, or raise the limit")]
    Backlog {
        /// The limit.
        limit: u16,
    },
    /// The stream has no partner in the other direction (RFC 5043 §8).
    #[error("stream {stream} has no pair: streams 0 to below {streams} are in use")]
    Unpaired {
        /// The stream.
        stream: u16,
        /// Pairs of the association.
        streams: u16,
    },
    /// The caller has no room for a DDP segment that came before the ULP's decision.
    #[error("no room for DDP segments before the decision: decide earlier, or keep more")]
    EarlyOverflow,
    /// The peer has not answered the Initiate in time.
    #[error("no answer to the Initiate within {timeout} ms")]
    NoAnswer {
        /// The time-out in milliseconds.
        timeout: u32,
    },
    /// The ULP did not decide in time.
    #[error("the Initiate was neither accepted nor rejected within {timeout} ms")]
    Undecided {
        /// The time-out in milliseconds.
        timeout: u32,
    },
}

/// How an association ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ending {
    /// SCTP gave up, or the peer sent ABORT.
    Lost,
    /// This end sends ABORT; no session sends anything more (RFC 5043 §11.3).
    Aborted,
    /// SHUTDOWN is complete.
    ShutDown,
    /// The peer has set the association up anew (RFC 9260 §5.2): what was before is gone, and its
    /// indication is to be inspected again.
    Restarted,
}

/// What happened, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'o> {
    /// The peer asks for a session: accept or reject.
    Requested {
        /// The stream.
        stream: u16,
        /// Private data of the Initiate.
        private_data: &'o [u8],
    },
    /// The peer has accepted. Segments may be sent unless `terminate` was called before.
    Accepted {
        /// The stream.
        stream: u16,
        /// Private data of the Accept.
        private_data: &'o [u8],
    },
    /// The peer's ULP has rejected: the session is over.
    Rejected {
        /// The stream.
        stream: u16,
        /// Private data of the Reject.
        private_data: &'o [u8],
    },
    /// The peer's adaptation layer has refused, without its ULP: the session is over.
    Refused {
        /// The stream.
        stream: u16,
    },
    /// A DDP segment, new and possibly behind a gap: place it.
    Segment {
        /// The stream.
        stream: u16,
        /// The segment.
        segment: Segment<'o>,
    },
    /// All chunks in front of `next` have arrived: what they complete may be delivered.
    InOrder {
        /// The stream.
        stream: u16,
        /// The first one that is missing.
        next: Ssn,
    },
    /// The peer's Terminate, behind all that it has sent. This end may go on sending until it calls
    /// `terminate` (SCTP-LIM-11).
    Terminated {
        /// The stream.
        stream: u16,
    },
    /// The session ended in an error. Nothing more of it is reported; Terminate is sent.
    Failed {
        /// The stream.
        stream: u16,
        /// Why.
        cause: Cause,
    },
    /// A chunk of no session was dropped. Unless it is a Terminate or has no pair, it is answered with
    /// Terminate.
    Stray {
        /// The stream.
        stream: u16,
        /// What is wrong with it.
        cause: Cause,
    },
    /// The peer did not end its half in time after this end's Terminate. Nothing more of the session is
    /// reported, and the stream is not free until the peer's last chunk is known.
    Abandoned {
        /// The stream.
        stream: u16,
    },
    /// The session is over at both ends and nothing of it is under way: the stream may be used again
    /// (SCTP-SES-21).
    Free {
        /// The stream.
        stream: u16,
    },
    /// The association ended under a session.
    Lost {
        /// The stream.
        stream: u16,
        /// How.
        ending: Ending,
    },
    /// The maximum DDP segment size, once the association is up and whenever it changes (LLP-01).
    MaxSegment {
        /// Octets of the largest DDP segment that messages are to be cut into.
        octets: u16,
    },
}

/// Receives events; any `FnMut(Event)` is a sink.
pub trait Sink {
    /// Called once per event, in order.
    fn event(&mut self, event: Event<'_>);
}

impl<F: FnMut(Event<'_>)> Sink for F {
    fn event(&mut self, event: Event<'_>) {
        self(event);
    }
}
