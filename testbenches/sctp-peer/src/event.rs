//! What the owner of an association is told.

use warpline_wire::{rdmap, sctp};

/// What happened, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The association is up, and both ends speak DDP.
    Up,
    /// The peer asks for a session: accept or reject.
    Requested(Vec<u8>),
    /// The peer has accepted.
    Accepted(Vec<u8>),
    /// The peer has rejected: the session is over.
    Rejected(Vec<u8>),
    /// The peer's adaptation layer has refused: the session is over.
    Refused,
    /// The oldest read is done.
    ReadDone,
    /// RDMAP's Terminate of the peer.
    Terminated(rdmap::Cause),
    /// This end has found an error, and sends RDMAP's Terminate.
    Terminating(String),
    /// The peer sends nothing more in the session.
    HalfClosed,
    /// The session ended in an error of the adaptation layer.
    Failed(sctp::Cause),
    /// A chunk belongs to no session.
    Stray(sctp::Cause),
    /// The peer did not end its half in time.
    Abandoned,
    /// The session is over at both ends.
    Free,
    /// The association ended under the session.
    Lost,
    /// The association is over.
    Ended(&'static str),
}

/// An event of the session machine that the association looks at before its owner is told.
pub enum Found {
    /// The peer asks for a session on this pair of streams.
    Requested(u16, Vec<u8>),
    /// A pair is free again.
    Free(u16),
    /// The owner is told.
    Event(Event),
}

impl Found {
    /// `None` for what concerns segments.
    pub fn of(event: sctp::Event<'_>) -> Option<Self> {
        Some(Self::Event(match event {
            sctp::Event::Requested {
                stream,
                private_data,
            } => return Some(Self::Requested(stream, private_data.to_vec())),
            sctp::Event::Free { stream } => return Some(Self::Free(stream)),
            sctp::Event::Accepted { private_data, .. } => Event::Accepted(private_data.to_vec()),
            sctp::Event::Rejected { private_data, .. } => Event::Rejected(private_data.to_vec()),
            sctp::Event::Refused { .. } => Event::Refused,
            sctp::Event::Terminated { .. } => Event::HalfClosed,
            sctp::Event::Failed { cause, .. } => Event::Failed(cause),
            sctp::Event::Stray { cause, .. } => Event::Stray(cause),
            sctp::Event::Abandoned { .. } => Event::Abandoned,
            sctp::Event::Lost { .. } => Event::Lost,
            sctp::Event::Segment { .. }
            | sctp::Event::InOrder { .. }
            | sctp::Event::MaxSegment { .. } => return None,
        }))
    }
}
