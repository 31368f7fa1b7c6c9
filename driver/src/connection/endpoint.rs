//! Where a peer is, and what carries DDP to it.

use std::fmt;
use std::net::{AddrParseError, SocketAddr};
use std::str::FromStr;

use warpline_regmap::mailbox::Transport;

/// An address of TCP, or of SCTP over UDP (RFC 6951): all that a program chooses between the two.
///
/// A [`SocketAddr`] is one of TCP. As text, SCTP's have `sctp://` in front.
///
/// ```
/// use warpline_driver::{Endpoint, Transport};
///
/// let endpoint: Endpoint = "sctp://[2001:db8::1]:9899".parse()?;
/// assert_eq!(endpoint, Endpoint::sctp("[2001:db8::1]:9899".parse()?));
/// assert_eq!(endpoint.transport, Transport::Sctp);
/// assert_eq!("192.0.2.1:4791".parse::<Endpoint>()?.to_string(), "192.0.2.1:4791");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Endpoint {
    /// What carries DDP.
    pub transport: Transport,
    /// Address, and port of TCP or UDP.
    pub address: SocketAddr,
}

/// In front of an address of SCTP.
const SCTP: &str = "sctp://";
/// In front of one of TCP, where it is written.
const TCP: &str = "tcp://";

impl Endpoint {
    /// MPA over TCP (RFC 5044).
    #[must_use]
    pub const fn tcp(address: SocketAddr) -> Self {
        Self {
            transport: Transport::Tcp,
            address,
        }
    }

    /// SCTP (RFC 5043). The card says [`Refusal::Transport`](crate::Refusal::Transport) if it has none.
    #[must_use]
    pub const fn sctp(address: SocketAddr) -> Self {
        Self {
            transport: Transport::Sctp,
            address,
        }
    }
}

impl From<SocketAddr> for Endpoint {
    /// One of TCP.
    fn from(address: SocketAddr) -> Self {
        Self::tcp(address)
    }
}

impl FromStr for Endpoint {
    type Err = AddrParseError;

    /// Reads `ADDRESS:PORT`, with `tcp://` or `sctp://` in front or nothing.
    fn from_str(text: &str) -> Result<Self, AddrParseError> {
        match text.strip_prefix(SCTP) {
            Some(address) => address.parse().map(Self::sctp),
            None => text
                .strip_prefix(TCP)
                .unwrap_or(text)
                .parse()
                .map(Self::tcp),
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.transport {
            Transport::Tcp => {}
            Transport::Sctp => f.write_str(SCTP)?,
        }
        self.address.fmt(f)
    }
}
