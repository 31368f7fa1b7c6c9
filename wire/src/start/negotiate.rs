//! The IRD/ORD block of RFC 6581: what each end puts into it, and what both follow from it.

use super::cause::{CallError, Cause};
use super::frame::{NO_NEGOTIATION, Negotiation};
use super::rtr::Rtr;
use super::settings::Settings;

/// What the IRD/ORD blocks of both frames settle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agreement {
    /// Depth of our queue of inbound RDMA Reads.
    pub ird: u16,
    /// Outbound RDMA Reads that we may have under way.
    pub ord: u16,
    /// Initiator: the one RTR indication to send before anything else. Responder: those that the peer
    /// may send. Empty in the client-server model.
    pub rtr: Rtr,
    /// The peer's block as received; the ULP is given it (RFC 6581 §9.1).
    pub peer: Negotiation,
}

/// How deep a queue of RDMA Reads an Initiator asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// This many, at most 0x3FFE; both ends settle the value.
    Negotiated(u16),
    /// This many at our end, by agreement of the ULPs: 0x3FFF is sent (RFC 6581 §9.1).
    Ulp(u16),
}

impl Depth {
    const fn local(self) -> u16 {
        match self {
            Self::Negotiated(depth) | Self::Ulp(depth) => depth,
        }
    }

    const fn sent(self) -> u16 {
        match self {
            Self::Negotiated(depth) => depth,
            Self::Ulp(_) => NO_NEGOTIATION,
        }
    }
}

/// What an Initiator asks for by RFC 6581.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Enhanced {
    /// Inbound RDMA Reads that we support.
    pub ird: Depth,
    /// Outbound RDMA Reads that we wish for.
    pub ord: Depth,
    /// The peer-to-peer model, and every RTR indication that we can send.
    pub rtr: Option<Rtr>,
}

impl Enhanced {
    pub(super) fn check(&self, settings: &Settings) -> Result<(), CallError> {
        let max_ird = settings.max_ird.min(NO_NEGOTIATION - 1);
        check_depth(self.ird.local(), max_ird)?;
        check_depth(self.ord.local(), NO_NEGOTIATION - 1)?;
        match self.rtr {
            Some(rtr) if rtr.is_empty() => Err(CallError::NoRtr),
            _ => Ok(()),
        }
    }

    /// The block of our Request.
    pub(super) fn block(&self) -> Negotiation {
        let (peer_to_peer, rtr) = (self.rtr.is_some(), self.rtr.unwrap_or_default());
        block(peer_to_peer, rtr, self.ird.sent(), self.ord.sent())
    }

    /// What the block of an accepting Reply leads to (RFC 6581 §9.1, §9.2).
    pub(super) fn conclude(&self, reply: &Negotiation, max_ird: u16) -> Result<Agreement, Cause> {
        let mut ird = self.ird.local();
        if reply.ord != NO_NEGOTIATION && reply.ord > ird {
            if reply.ord > max_ird {
                return Err(Cause::InsufficientIrd {
                    needed: reply.ord,
                    available: max_ird,
                });
            }
            ird = reply.ord;
        }
        let mut ord = self.ord.local();
        if reply.ird != NO_NEGOTIATION {
            ord = ord.min(reply.ird);
        }
        let own = self.rtr.unwrap_or_default();
        let peer = Rtr::of(reply);
        let mut rtr = Rtr::empty();
        if self.rtr.is_some() || reply.peer_to_peer {
            // An RDMA Read needs a place at the Responder, even if our ULP has no use for one.
            let room = ord > 0 || (reply.ird != NO_NEGOTIATION && reply.ird > 0);
            let usable = |kind| (own & peer).contains(kind) && (kind != Rtr::READ || room);
            // A Write costs the peer nothing; a Send costs it a posted buffer.
            rtr = [Rtr::WRITE, Rtr::READ, Rtr::SEND]
                .into_iter()
                .find(|kind| usable(*kind))
                .ok_or(Cause::NoRtr { own, peer })?;
        }
        if rtr == Rtr::READ {
            ord = ord.max(1);
        }
        Ok(Agreement {
            ird,
            ord,
            rtr,
            peer: *reply,
        })
    }
}

/// What a Responder's ULP answers to a Request with an IRD/ORD block. Without a block it has no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Inbound RDMA Reads that we support, at most 0x3FFE.
    pub ird: u16,
    /// Outbound RDMA Reads that we wish for, at most 0x3FFE. In a rejection: that we need.
    pub ord: u16,
    /// The RTR indications that we recognise; RFC 6581 §9.2 demands one at least.
    pub rtr: Rtr,
}

impl Default for Answer {
    /// No RDMA Reads; a zero-length RDMA Write as RTR indication, which needs no resource.
    fn default() -> Self {
        Self {
            ird: 0,
            ord: 0,
            rtr: Rtr::WRITE,
        }
    }
}

impl Answer {
    pub(super) fn check(&self, settings: &Settings) -> Result<(), CallError> {
        check_depth(self.ird, settings.max_ird.min(NO_NEGOTIATION - 1))?;
        check_depth(self.ord, NO_NEGOTIATION - 1)?;
        if self.rtr.is_empty() {
            return Err(CallError::NoRtr);
        }
        Ok(())
    }

    /// The block of our Reply, and what it settles if it accepts (RFC 6581 §9.1, §9.2).
    pub(super) fn reply(&self, request: &Negotiation, rejects: bool) -> (Negotiation, Agreement) {
        let requested = Rtr::of(request);
        let common = requested & self.rtr;
        let rtr = match (request.peer_to_peer, common.is_empty()) {
            (false, _) => Rtr::empty(),
            (true, false) => common,
            // Nothing in common: our own kinds, so that the Initiator can say why it terminates.
            (true, true) => self.rtr,
        };
        let (mut ird, mut ord) = (self.ird, self.ord);
        let (mut sent_ird, mut sent_ord) = (NO_NEGOTIATION, NO_NEGOTIATION);
        if request.ord != NO_NEGOTIATION {
            if rtr.contains(Rtr::READ) {
                ird = ird.max(1);
            }
            sent_ird = ird;
        }
        if request.ird != NO_NEGOTIATION {
            // A rejection names the depth that we need.
            if !rejects {
                ord = ord.min(request.ird);
            }
            sent_ord = ord;
        }
        let agreement = Agreement {
            ird,
            ord,
            rtr,
            peer: *request,
        };
        let reply = block(request.peer_to_peer, rtr, sent_ird, sent_ord);
        (reply, agreement)
    }
}

const fn check_depth(depth: u16, max: u16) -> Result<(), CallError> {
    if depth > max {
        return Err(CallError::Depth { depth, max });
    }
    Ok(())
}

fn block(peer_to_peer: bool, rtr: Rtr, ird: u16, ord: u16) -> Negotiation {
    Negotiation {
        peer_to_peer,
        rtr_send: rtr.contains(Rtr::SEND),
        rtr_write: rtr.contains(Rtr::WRITE),
        rtr_read: rtr.contains(Rtr::READ),
        ird,
        ord,
    }
}
