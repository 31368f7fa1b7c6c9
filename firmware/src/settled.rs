//! What start-up has settled for a stream.

use crate::network::{ConnectionError, Network, Sequences};
use warpline_wire::mpa::MIN_MULPDU;
use warpline_wire::start::Parameters;

/// What start-up has settled.
#[derive(Clone, Copy)]
pub(crate) struct Settled {
    pub parameters: Parameters,
    pub sequences: Sequences,
    /// EMSS, as the network has reported it last.
    pub segment: u16,
}

/// EMSS of a connection. It is never below what the device accepts: MULPDU does not become smaller either (MPA-SEG-04), and TCP
/// cuts an FPDU that is longer than a segment.
pub(crate) fn segment<N: Network>(
    network: &mut N,
    handle: N::Connection,
) -> Result<u16, ConnectionError> {
    Ok(network.segment(handle)?.max(MIN_MULPDU))
}
