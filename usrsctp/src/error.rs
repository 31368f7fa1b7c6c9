//! Errors, with the offending value and the remedy.

use std::io;

use thiserror::Error;

/// A packet of a length that none has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a packet of {octets} octets is none of SCTP, which has 16 to 65,535: drop it")]
pub struct PacketError {
    /// Octets of the packet.
    pub octets: usize,
}

/// A call that was not carried out.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// An option is outside of what SCTP or the library has.
    #[error("{name} = {value} is refused: take {range}")]
    Option {
        /// Which one.
        name: &'static str,
        /// Its value.
        value: u64,
        /// What may be.
        range: &'static str,
    },
    /// The port is taken on this link.
    #[error("port {port} is taken on this link: take another, or 0 for any")]
    PortTaken {
        /// The port.
        port: u16,
    },
    /// The association is not up, or over.
    #[error("the association is not up: wait for Event::Up, and stop at Event::Ended")]
    NotUp,
    /// There are as many peers as may be, all with associations.
    #[error("{limit} peers have associations already: end some, or raise Udp::set_peers")]
    Peers {
        /// The limit.
        limit: usize,
    },
    /// What the library or the system says.
    #[error("{call}: {source}")]
    System {
        /// What was called.
        call: &'static str,
        /// The reason.
        source: io::Error,
    },
}

impl Error {
    /// The library's reason for refusing `call`.
    pub(crate) fn last(call: &'static str) -> Self {
        let source = io::Error::last_os_error();
        Self::System { call, source }
    }
}

/// A message that was not sent. Nothing of it is under way.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SendError {
    /// The send buffer is full.
    #[error("the send buffer is full: try again when packets have come in")]
    WouldBlock,
    /// The association is not up, or over.
    #[error("the association is not up: wait for Event::Up, and stop at Event::Ended")]
    NotUp,
    /// This end or the peer has begun to shut the association down.
    #[error("the association is being shut down: nothing more can be sent")]
    ShuttingDown,
    /// There is no such stream towards the peer.
    #[error("stream {stream} is not one of the {streams} towards the peer")]
    Stream {
        /// The stream named.
        stream: u16,
        /// Streams towards the peer.
        streams: u16,
    },
    /// SCTP has no empty messages.
    #[error("an empty message: SCTP has none")]
    Empty,
    /// The message is larger than the send buffer.
    #[error(
        "a message of {octets} octets is larger than the send buffer of {limit}: enlarge it, or cut the message"
    )]
    TooLarge {
        /// Octets of the message.
        octets: usize,
        /// Octets of the buffer.
        limit: usize,
    },
    /// What the library says.
    #[error("the message was refused: {0}")]
    System(#[source] io::Error),
}
