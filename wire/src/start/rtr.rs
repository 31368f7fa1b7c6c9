//! RTR indications of the peer-to-peer model.

use super::frame::Negotiation;
use bitflags::bitflags;

bitflags! {
    /// Kinds of RTR indication: the zero-length message that an Initiator sends first in the
    /// peer-to-peer model (RFC 6581 §9.2).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct Rtr: u8 {
        /// B: a Send. It uses a posted buffer of the Responder.
        const SEND = 1;
        /// C: an RDMA Write.
        const WRITE = 2;
        /// D: an RDMA Read. It needs a place in the Responder's queue of inbound RDMA Reads.
        const READ = 4;
    }
}

impl Rtr {
    /// The indications of a received block; none without A (RFC 6581 §9.2).
    pub fn of(block: &Negotiation) -> Self {
        let kinds = [
            (Self::SEND, block.rtr_send),
            (Self::WRITE, block.rtr_write),
            (Self::READ, block.rtr_read),
        ];
        let set = kinds
            .into_iter()
            .filter(|(_, set)| *set && block.peer_to_peer);
        set.map(|(kind, _)| kind).collect()
    }
}
