//! What start-up has settled for a stream.

use crate::network::Sequences;
use warpline_wire::start::Parameters;

/// What start-up has settled.
#[derive(Clone, Copy)]
pub(crate) struct Settled {
    pub parameters: Parameters,
    pub sequences: Sequences,
    /// EMSS.
    pub segment: u16,
}
