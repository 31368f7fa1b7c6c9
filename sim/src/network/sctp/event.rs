//! What the owner of associations is told.

use warpline_usrsctp::Ending as SctpEnding;
use warpline_wire::sctp::{Cause, Ending, Event, Refusal, SendError};

/// An association.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AssociationHandle(pub(super) u64);

/// What happened to an association or a session. A session is named by the number of its pair of SCTP streams.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AssociationEvent {
    /// The association is up, and both ends speak DDP.
    Up {
        /// Pairs of streams.
        streams: u16,
        /// The peer has set it up.
        passive: bool,
    },
    /// The two ends do not both speak DDP: the association is aborted (SCTP-INIT-10).
    NotDdp(Refusal),
    /// The association is over; its handle is no longer valid. Its sessions were [`Lost`](Self::Lost) before.
    Ended(AssociationEnd),
    /// Octets of the largest DDP segment: what the device is to cut messages into (LLP-01).
    MaxSegment(u16),
    /// The peer asks for a session: accept or reject.
    Requested(u16, Vec<u8>),
    /// The peer has accepted.
    Accepted(u16, Vec<u8>),
    /// The peer's ULP has rejected.
    Rejected(u16, Vec<u8>),
    /// The peer's adaptation layer has refused.
    Refused(u16),
    /// The peer has sent all of its half. In the device, its last chunk lies behind all of them.
    Terminated(u16),
    /// The session ended in an error, and Terminate is sent.
    Failed(u16, SessionError),
    /// A chunk that belongs to no session.
    Stray(u16, Cause),
    /// The peer did not end its half in time.
    Abandoned(u16),
    /// The pair of streams may be used again. The session is detached.
    Free(u16),
    /// The association ended under the session.
    Lost(u16, Ending),
    /// The host has closed the stream of the device: chunks of the session are dropped.
    Detached(u16),
}

/// Why a session failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The peer, or time.
    #[error(transparent)]
    Cause(#[from] Cause),
    /// The device found a DDP-SSN that no chunk under way can have.
    #[error("the device found a DDP-SSN outside its window")]
    Window,
    /// More waits for the device than may.
    #[error("more than {octets} octets wait for the device: attach earlier, or allow more")]
    Waiting {
        /// Most octets.
        octets: usize,
    },
    /// The device made a DDP segment that cannot be sent.
    #[error("a DDP segment of the device cannot be sent: {0}")]
    Segment(#[from] SendError),
}

/// How an association ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AssociationEnd {
    /// SCTP says so.
    Sctp(SctpEnding),
    /// The peer has set it up anew. Its indication of then is not known, so it is aborted (RFC 5043 §11.1).
    Restarted,
    /// The peer had no session for too long, and its SCTP did not answer a shutdown.
    Idle,
}

impl AssociationEvent {
    /// What the session machine reports, for the owner; `None` for what concerns chunks.
    pub(super) fn of(event: Event<'_>) -> Option<Self> {
        Some(match event {
            Event::Requested {
                stream,
                private_data,
            } => Self::Requested(stream, private_data.to_vec()),
            Event::Accepted {
                stream,
                private_data,
            } => Self::Accepted(stream, private_data.to_vec()),
            Event::Rejected {
                stream,
                private_data,
            } => Self::Rejected(stream, private_data.to_vec()),
            Event::Refused { stream } => Self::Refused(stream),
            Event::Terminated { stream } => Self::Terminated(stream),
            Event::Failed { stream, cause } => Self::Failed(stream, cause.into()),
            Event::Stray { stream, cause } => Self::Stray(stream, cause),
            Event::Abandoned { stream } => Self::Abandoned(stream),
            Event::Free { stream } => Self::Free(stream),
            Event::Lost { stream, ending } => Self::Lost(stream, ending),
            Event::MaxSegment { octets } => Self::MaxSegment(octets),
            Event::Segment { .. } | Event::InOrder { .. } => return None,
        })
    }
}
