//! What an association reports, and how the library writes it.

use crate::ffi::{change, event, field};

/// A message: what one end sends, the other one gets, whole.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Message {
    /// Stream identifier.
    pub stream: u16,
    /// Payload protocol identifier.
    pub ppid: u32,
    /// Whether it may be delivered in front of earlier ones.
    pub unordered: bool,
    /// User data, one octet at least.
    pub user_data: Vec<u8>,
}

/// What happened, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The association is up.
    Up {
        /// Streams towards the peer.
        outbound: u16,
        /// Streams from the peer.
        inbound: u16,
        /// The adaptation layer indication of the peer's INIT or INIT-ACK, if it had one.
        adaptation: Option<u32>,
    },
    /// The peer has set the association up anew (RFC 9260 §5.2): messages under way are lost. The library does not tell the indication
    /// of the new INIT: who depends on it ends the association.
    Restarted {
        /// Streams towards the peer.
        outbound: u16,
        /// Streams from the peer.
        inbound: u16,
    },
    /// A message of the peer.
    Message(Message),
    /// All that was sent is acknowledged (SCTP_SENDER_DRY_EVENT). Also reported once when the association is up.
    Dry,
    /// The peer shuts the association down: it sends nothing more, and takes nothing more.
    PeerShutdown,
    /// The association is over; nothing follows.
    Ended(Ending),
}

/// How an association ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Ending {
    /// The peer has aborted it, or has forgotten it: also at the end of a shutdown whose last packet was lost.
    Aborted,
    /// The peer refuses an association: nobody listens there.
    Refused,
    /// The peer does not answer.
    TimedOut,
    /// SHUTDOWN is complete: both ends have got what the other one had sent.
    ShutDown,
    /// This end has aborted it: a message of the peer was longer than [`Options::max_message`](crate::Options::max_message).
    TooLarge,
    /// This end has aborted it, since the peer broke SCTP's rules.
    Violated,
}

/// An event as the library writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Note {
    Up { outbound: u16, inbound: u16 },
    Restarted { outbound: u16, inbound: u16 },
    Lost,
    ShutDown,
    PeerShutdown,
    Adaptation(u32),
    PartialDelivery,
    Dry,
    Other,
}

impl Note {
    pub fn parse(octets: &[u8]) -> Self {
        let half = |at: usize| {
            let octets = octets
                .get(at..at + 2)
                .and_then(|octets| octets.try_into().ok());
            octets.map_or(0, u16::from_ne_bytes)
        };
        let word = |at: usize| {
            let octets = octets
                .get(at..at + 4)
                .and_then(|octets| octets.try_into().ok());
            octets.map_or(0, u32::from_ne_bytes)
        };
        let (outbound, inbound) = (half(field::OUTBOUND), half(field::INBOUND));
        match (half(field::TYPE), half(field::STATE)) {
            (event::ASSOCIATION, change::UP) => Self::Up { outbound, inbound },
            (event::ASSOCIATION, change::RESTART) => Self::Restarted { outbound, inbound },
            (event::ASSOCIATION, change::LOST | change::NOT_STARTED) => Self::Lost,
            (event::ASSOCIATION, change::SHUT_DOWN) => Self::ShutDown,
            (event::SHUTDOWN, _) => Self::PeerShutdown,
            (event::ADAPTATION, _) => Self::Adaptation(word(field::ADAPTATION)),
            (event::PARTIAL_DELIVERY, _) => Self::PartialDelivery,
            (event::SENDER_DRY, _) => Self::Dry,
            _ => Self::Other,
        }
    }
}
