//! What can go wrong with a transfer.

use std::io;

use warpline_driver::{Endpoint, PairEvent};

/// A transfer failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransferError {
    /// The peer speaks iWARP, but is no server of this kind.
    #[error(
        "{endpoint}: the Reply has {octets} octets of private data that are no offer: is `warpline serve` of this version there?"
    )]
    NoOffer {
        /// The peer.
        endpoint: Endpoint,
        /// Octets of its private data.
        octets: usize,
    },
    /// The range is not in the region.
    #[error(
        "{length} octets at offset {offset} are not in the peer's region of {size} octets: choose another --offset, or serve a larger one"
    )]
    Outside {
        /// First octet.
        offset: u64,
        /// Octets.
        length: u64,
        /// Octets of the region.
        size: u64,
    },
    /// The peer offers more than a region of this end may have.
    #[error(
        "the peer offers {octets} octets from there on, and {most} at most can be read at once: choose --length"
    )]
    TooLarge {
        /// Octets offered.
        octets: u64,
        /// The most.
        most: u64,
    },
    /// The peer's region has another length than before the connection was lost.
    #[error("the peer's region has {now} octets now, and had {before} before: it is another one")]
    OtherRegion {
        /// Octets before.
        before: u64,
        /// Octets now.
        now: u64,
    },
    /// The connection ended before the transfer did.
    #[error("the connection ended{}", event.as_ref().map(|event| format!(": {event}")).unwrap_or_default())]
    Ended {
        /// What ended it, if it was said.
        event: Option<PairEvent>,
    },
    /// The system refuses a thread.
    #[error("the system refuses a thread for the connection: {0}")]
    Thread(io::Error),
    /// Nothing happened for a long time.
    #[error("nothing happened for {0} s: is the peer still there?")]
    Silent(u64),
    /// The driver's reason.
    #[error(transparent)]
    Driver(#[from] warpline_driver::Error),
    /// It was tried again as often as it may be.
    #[error(
        "{endpoint}: {source}; up to octet {placed} of {length} the data are known to be there: go on with --offset {resume}"
    )]
    GaveUp {
        /// The peer.
        endpoint: Endpoint,
        /// The last failure.
        source: Box<TransferError>,
        /// Octets of the file that are known to be transferred.
        placed: u64,
        /// Octets of the file.
        length: u64,
        /// Offset in the region from which to go on.
        resume: u64,
    },
}

impl TransferError {
    /// Whether another connection may go on where this one ended.
    #[must_use]
    pub fn is_of_connection(&self) -> bool {
        use warpline_driver::Error::{ConnectionClosed, ConnectionTimeout, StartUp, StreamFailed};
        match self {
            Self::Ended { .. } | Self::Silent(_) => true,
            Self::Driver(error) => matches!(
                error,
                ConnectionClosed { .. }
                    | ConnectionTimeout { .. }
                    | StartUp { .. }
                    | StreamFailed { .. }
            ),
            _ => false,
        }
    }
}
