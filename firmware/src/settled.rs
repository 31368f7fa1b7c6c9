//! What start-up has settled for a stream.

use crate::network::{ConnectionError, Network, Sequences};
use warpline_regmap::mailbox::Transport;
use warpline_wire::mpa::{MIN_MULPDU, MIN_OVERHEAD};
use warpline_wire::start::Parameters;

/// What start-up has settled.
#[derive(Clone, Copy)]
pub(crate) struct Settled {
    pub transport: Transport,
    pub parameters: Parameters,
    pub sequences: Sequences,
    /// EMSS, as the network has reported it last.
    pub segment: u16,
}

/// EMSS of a connection. It is never below what the device accepts: MULPDU does not become smaller either (MPA-SEG-04), and TCP
/// cuts an FPDU that is longer than a segment.
///
/// A session's maximum DDP segment is the ULPDU that fits an FPDU without markers into such a segment (RFC 5044 §5.1), to at most
/// three octets: in the device both are cut by one rule.
pub(crate) fn segment<N: Network>(
    network: &mut N,
    handle: N::Connection,
    transport: Transport,
) -> Result<u16, ConnectionError> {
    let octets = network.segment(handle)?;
    let framing = match transport {
        Transport::Tcp => 0,
        Transport::Sctp => MIN_OVERHEAD as u16,
    };
    Ok(octets.saturating_add(framing).max(MIN_MULPDU))
}
