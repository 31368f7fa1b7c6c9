//! What can go wrong.

use std::io;
use std::path::PathBuf;

use warpline_wire::rdmap::Refused;
use warpline_wire::receive::ReceiverError;
use warpline_wire::sctp::receive::OpenError;
use warpline_wire::sctp::{CallError, Refusal, SendError, WindowError};
use warpline_wire::send;

/// Why this program ends early.
#[derive(Debug, thiserror::Error)]
pub enum PeerError {
    /// The command line.
    #[error("{0}")]
    Usage(String),
    /// A file.
    #[error("{path}: {source}")]
    File {
        /// Its path.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The kernel's SCTP.
    #[error("{call}: {source}; is the module sctp loaded, and net.sctp.udp_port set?")]
    Sctp {
        /// What was asked of it.
        call: &'static str,
        /// Its reason.
        source: io::Error,
    },
    /// The peer's association is none of DDP: it was aborted.
    #[error(transparent)]
    NotDdp(#[from] Refusal),
    /// The association is over, and a session was not.
    #[error("the association ended under the session: {0}")]
    Ended(&'static str),
    /// Nothing happened for a long time.
    #[error("nothing happened for {seconds} s while {what}")]
    Silent {
        /// How long.
        seconds: u64,
        /// What was waited for.
        what: &'static str,
    },
    /// Something else happened than what was waited for.
    #[error("while {what}: {event}")]
    Unexpected {
        /// What was waited for.
        what: &'static str,
        /// What happened.
        event: String,
    },
    /// The private data of the Accept is no offer.
    #[error("the Accept has {octets} octets of private data, which are no offer")]
    NoOffer {
        /// Their number.
        octets: usize,
    },
    /// The peer's region is too small.
    #[error("{length} octets do not fit the peer's region of {size}")]
    Outside {
        /// Octets to be transferred.
        length: u64,
        /// Octets of the region.
        size: u64,
    },
    /// A payload was accepted for which there is no memory.
    #[error("a payload of {len} octets was accepted, and there is no memory for it")]
    NoMemory {
        /// Its octets.
        len: usize,
    },
    /// A call that the session machine refuses.
    #[error(transparent)]
    Call(#[from] CallError),
    /// A segment that it refuses.
    #[error(transparent)]
    Send(#[from] SendError),
    /// A message that DDP does not cut.
    #[error(transparent)]
    Message(#[from] send::SendError),
    /// A message that RDMAP does not allow.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The receiver's state.
    #[error(transparent)]
    Receiver(#[from] ReceiverError),
    /// It does not begin.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The window.
    #[error(transparent)]
    Window(#[from] WindowError),
}

impl PeerError {
    /// Names the call in which the kernel has failed.
    pub fn sctp(call: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Sctp { call, source }
    }
}
