//! A message that is due: a request of the host, or the response to one of the peer.

use super::super::plan::Posting;

/// A message that is due.
#[derive(Clone, Debug)]
pub(super) struct Announced {
    pub(super) posting: Posting,
    pub(super) cycle: u64,
    /// First size that its FPDUs may have.
    pub(super) size: usize,
    /// All of its octets were seen.
    pub(super) seen: bool,
    pub(super) report: Option<u32>,
    pub(super) signalled: bool,
    pub(super) terminates: bool,
}
