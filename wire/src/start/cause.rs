//! Why start-up failed, and which calls a machine does not carry out.

use super::frame::{Kind, StartError};
use super::rtr::Rtr;
use crate::error_number::ErrorNumber;
use thiserror::Error;

/// Why start-up failed. Every cause ends the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Cause {
    /// The peer's frame is malformed.
    #[error(transparent)]
    Frame(#[from] StartError),
    /// The peer sent a Request to an Initiator (MPA-START-29).
    #[error("the peer sent a Request as well: one end must be the Responder")]
    TwoInitiators,
    /// Octets follow the peer's frame although the peer may not send yet (AMB-28).
    #[error("octets follow the start frame before our answer: the peer does not keep to MPA")]
    EarlyOctets,
    /// The peer closed the connection within its frame (MPA-PRIV-07).
    #[error("the connection was closed {have} octets into a start frame of {need} or more")]
    Truncated {
        /// Octets received of the frame.
        have: usize,
        /// Octets of the frame, as far as is known.
        need: usize,
    },
    /// We requested RFC 6581, and the Reply has no IRD/ORD block.
    #[error("reply of revision {revision} without an IRD/ORD block: request revision 1")]
    NotEnhanced {
        /// Rev of the Reply.
        revision: u8,
    },
    /// The Reply has an IRD/ORD block that we did not request (RFC 6581 §10).
    #[error("reply with an IRD/ORD block to a request without one: the peer breaks RFC 6581")]
    Unrequested,
    /// The peer closed the connection instead of sending its frame.
    #[error("the peer closed the connection before the start frames were exchanged")]
    Closed,
    /// The connection was reset, or TCP gave up on it.
    #[error("the connection was lost before the start frames were exchanged")]
    Lost,
    /// The peer's frame did not arrive in time (MPA-START-30).
    #[error("no complete {kind:?} within {timeout} ms")]
    TimedOut {
        /// The frame that is missing.
        kind: Kind,
        /// The time-out in milliseconds.
        timeout: u32,
    },
    /// The Responder's ULP did not decide in time.
    #[error("the request was neither accepted nor rejected within {timeout} ms")]
    Undecided {
        /// The time-out in milliseconds.
        timeout: u32,
    },
    /// The Responder's ORD exceeds the RDMA Reads that we can take in (RFC 6581 §9.1).
    #[error("the responder needs {needed} inbound RDMA Reads, the card has {available}")]
    InsufficientIrd {
        /// ORD of the Reply.
        needed: u16,
        /// The most that the card can give.
        available: u16,
    },
    /// No RTR indication that we can send is one that the Responder recognises, or the two ends chose
    /// different connection models (RFC 6581 §9.2).
    #[error("no common RTR indication: ours are {own:?}, the responder's {peer:?}")]
    NoRtr {
        /// Those that we can send; empty for the client-server model.
        own: Rtr,
        /// Those of the Reply; empty for the client-server model.
        peer: Rtr,
    },
    /// Our own side cannot go on: [`Initiator::abandon`](super::Initiator::abandon).
    #[error("the stream could not be set up locally")]
    Local,
}

impl Cause {
    /// MPA error number. A ULP handles 4, a malformed frame, like 1, a lost connection (MPA-ERR-10).
    pub const fn number(self) -> ErrorNumber {
        match self {
            Self::Frame(_)
            | Self::TwoInitiators
            | Self::EarlyOctets
            | Self::Truncated { .. }
            | Self::NotEnhanced { .. }
            | Self::Unrequested => ErrorNumber::MpaStart,
            Self::Closed | Self::Lost | Self::TimedOut { .. } | Self::Undecided { .. } => {
                ErrorNumber::MpaConnection
            }
            Self::InsufficientIrd { .. } => ErrorNumber::MpaInsufficientIrd,
            Self::NoRtr { .. } => ErrorNumber::MpaNoMatchingRtr,
            Self::Local => ErrorNumber::MpaLocalCatastrophic,
        }
    }
}

/// A call that a machine does not carry out. The machine is as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum CallError {
    /// Streaming octets are unread; MPA would take them for a start frame (MPA-START-20).
    #[error("{octets} streaming octets are unread: read them before MPA starts")]
    Unread {
        /// How many.
        octets: usize,
    },
    /// The last streaming message is longer than the machine's buffer.
    #[error("last streaming message of {len} octets exceeds {max}: send it before MPA starts")]
    LastMessage {
        /// Its octets.
        len: usize,
        /// Octets of the buffer.
        max: usize,
    },
    /// The frame cannot be written: too much private data.
    #[error(transparent)]
    Frame(#[from] StartError),
    /// A depth is above what the card has, or what 14 bits carry.
    #[error("depth {depth} exceeds {max}")]
    Depth {
        /// The depth given.
        depth: u16,
        /// The largest.
        max: u16,
    },
    /// The set of RTR indications is empty.
    #[error("no RTR indication given: RFC 6581 demands at least one")]
    NoRtr,
    /// RFC 6581 is requested and the settings exclude it.
    #[error("RFC 6581 is switched off in the settings")]
    NotEnabled,
    /// The draft's Start Key has neither private data, nor an IRD/ORD block, nor a rejection.
    #[error("the draft's Start Key cannot carry this")]
    DraftKey,
    /// No decision is due: the peer's frame is incomplete, was answered already, or start-up failed.
    #[error("no decision is due")]
    NotDue,
}
