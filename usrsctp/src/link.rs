//! A link: the way of packets to one peer.

use std::sync::Arc;

use crate::error::PacketError;
use crate::stack;

/// Packets that wait in a link's queue, unless [`Link::with_queue`] says otherwise. An association has no more under way than its
/// send buffer holds.
const QUEUE: usize = 4096;

/// The way of SCTP packets to one peer and back. Who has it carries them: from [`output`](Self::output) to the peer, and from the peer to
/// [`input`](Self::input).
///
/// It stands for a pair of addresses: listeners and associations of a link see only its packets. A clone is the same link. It ends when all
/// clones, listeners and associations are dropped.
#[derive(Clone, Debug)]
pub struct Link {
    ends: Arc<Number>,
}

/// Number of a link, given back when nobody has it.
#[derive(Debug)]
struct Number(usize);

impl Link {
    /// A new link.
    #[must_use]
    pub fn new() -> Self {
        Self::with_queue(QUEUE)
    }

    /// A new link; when so many packets wait to be sent, further ones are lost. SCTP sends again what it has to.
    #[must_use]
    pub fn with_queue(packets: usize) -> Self {
        Self {
            ends: Arc::new(Number(stack::open_link(packets))),
        }
    }

    /// Takes a packet of the peer, from SCTP's common header on. Whatever its octets are: what is no valid packet of an association is
    /// dropped or answered by SCTP.
    ///
    /// # Errors
    /// [`PacketError`] for a length that no packet has.
    pub fn input(&self, packet: &[u8]) -> Result<(), PacketError> {
        let octets = packet.len();
        if !(stack::MIN_PACKET..=stack::MAX_PACKET).contains(&octets) {
            return Err(PacketError { octets });
        }
        stack::input(self.number(), packet);
        Ok(())
    }

    /// The next packet for the peer, if there is one.
    #[must_use]
    pub fn output(&self) -> Option<Vec<u8>> {
        stack::next_output(self.number())
    }

    /// Packets that were lost because too many waited.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        stack::dropped(self.number())
    }

    /// Clones of this link, listeners and associations among them.
    pub(crate) fn users(&self) -> usize {
        Arc::strong_count(&self.ends)
    }

    pub(crate) fn number(&self) -> usize {
        self.ends.0
    }
}

impl Default for Link {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Number {
    fn drop(&mut self) {
        stack::close_link(self.0);
    }
}
