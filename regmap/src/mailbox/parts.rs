//! Parts that several messages share.

use super::codes::Transport;
use super::error::MessageError;
use super::records::{
    PRIVATE_MAX, PRIVATE_WORD, message, message_address, message_depths, message_private,
    message_stream, message_transport,
};
use crate::Field;
use crate::address::AddressFields;

/// The words of a message, as in `MAILBOX`.
pub type Words = [u32; message::WORDS];

pub(super) fn get(words: &Words, field: Field) -> u64 {
    field.get(words)
}

pub(super) fn flag(words: &Words, field: Field) -> bool {
    field.get(words) != 0
}

pub(super) fn half(words: &Words, field: Field) -> u16 {
    field.get(words) as u16
}

/// 0 to 512 octets that start frames carry for the ULP.
#[derive(Clone, Copy)]
pub struct PrivateData {
    octets: [u8; PRIVATE_MAX],
    length: u16,
}

impl PrivateData {
    /// No octets.
    pub const EMPTY: Self = Self {
        octets: [0; PRIVATE_MAX],
        length: 0,
    };

    /// Up to 512 octets.
    ///
    /// # Errors
    /// [`MessageError::Private`].
    pub fn new(octets: &[u8]) -> Result<Self, MessageError> {
        let mut data = Self::EMPTY;
        let length = octets.len();
        let Some(room) = data.octets.get_mut(..length) else {
            return Err(MessageError::Private { length });
        };
        room.copy_from_slice(octets);
        data.length = length as u16; // at most 512
        Ok(data)
    }

    /// The octets.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        self.octets
            .get(..usize::from(self.length))
            .unwrap_or_default()
    }

    pub(super) fn put(&self, words: &mut Words) {
        message_private::LENGTH.put(words, self.length.into());
        let octets = self.octets.as_chunks().0.iter();
        for (word, octets) in words.iter_mut().skip(PRIVATE_WORD).zip(octets) {
            *word = u32::from_le_bytes(*octets);
        }
    }

    pub(super) fn get(words: &Words) -> Result<Self, MessageError> {
        let length = half(words, message_private::LENGTH);
        if usize::from(length) > PRIVATE_MAX {
            return Err(MessageError::Private {
                length: length.into(),
            });
        }
        let mut data = Self {
            octets: [0; PRIVATE_MAX],
            length,
        };
        let chunks = data.octets.as_chunks_mut().0.iter_mut();
        for (octets, word) in chunks.zip(words.iter().skip(PRIVATE_WORD)) {
            *octets = word.to_le_bytes();
        }
        let rest = data.octets.iter_mut().skip(length.into());
        rest.for_each(|octet| *octet = 0); // not part of the message
        Ok(data)
    }
}

impl Default for PrivateData {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl PartialEq for PrivateData {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for PrivateData {}

impl core::fmt::Debug for PrivateData {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.as_slice().fmt(f)
    }
}

pub(super) fn put_transport(transport: Transport, words: &mut Words) {
    message_transport::TRANSPORT.put(words, transport as u64);
}

pub(super) fn get_transport(words: &Words) -> Result<Transport, MessageError> {
    let found = get(words, message_transport::TRANSPORT);
    let transport = found as u8;
    Transport::parse(found).ok_or(MessageError::Transport { transport })
}

/// Kinds of RTR indication (RFC 6581 §9.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rtr {
    /// By a zero-length Send.
    pub send: bool,
    /// By a zero-length RDMA Write.
    pub write: bool,
    /// By a zero-length RDMA Read.
    pub read: bool,
}

impl Rtr {
    /// None at all.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        !self.send && !self.write && !self.read
    }

    pub(super) fn put(self, words: &mut Words) {
        message_depths::RTR_SEND.put(words, self.send.into());
        message_depths::RTR_WRITE.put(words, self.write.into());
        message_depths::RTR_READ.put(words, self.read.into());
    }

    pub(super) fn get(words: &Words) -> Self {
        Self {
            send: flag(words, message_depths::RTR_SEND),
            write: flag(words, message_depths::RTR_WRITE),
            read: flag(words, message_depths::RTR_READ),
        }
    }
}

/// Depth of a queue of RDMA Reads in `CONNECT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Both ends settle it.
    Negotiated(u16),
    /// The ULPs have agreed on it; 0x3FFF is sent (RFC 6581 §9.1).
    Ulp(u16),
}

impl Depth {
    const fn split(self) -> (u16, bool) {
        match self {
            Self::Negotiated(depth) => (depth, false),
            Self::Ulp(depth) => (depth, true),
        }
    }

    const fn join(depth: u16, ulp: bool) -> Self {
        if ulp {
            Self::Ulp(depth)
        } else {
            Self::Negotiated(depth)
        }
    }
}

/// What `CONNECT` asks for by RFC 6581.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Inbound RDMA Reads.
    pub ird: Depth,
    /// Outbound RDMA Reads.
    pub ord: Depth,
    /// Peer-to-peer model, with every RTR indication that the host can send.
    pub rtr: Option<Rtr>,
}

impl Offer {
    pub(super) fn put(offer: Option<Self>, words: &mut Words) {
        let Some(offer) = offer else { return };
        let ((ird, ird_ulp), (ord, ord_ulp)) = (offer.ird.split(), offer.ord.split());
        message_depths::ENHANCED.put(words, 1);
        message_depths::IRD.put(words, ird.into());
        message_depths::IRD_ULP.put(words, ird_ulp.into());
        message_depths::ORD.put(words, ord.into());
        message_depths::ORD_ULP.put(words, ord_ulp.into());
        message_depths::PEER_TO_PEER.put(words, offer.rtr.is_some().into());
        offer.rtr.unwrap_or_default().put(words);
    }

    pub(super) fn get(words: &Words) -> Option<Self> {
        flag(words, message_depths::ENHANCED).then(|| Self {
            ird: Depth::join(
                half(words, message_depths::IRD),
                flag(words, message_depths::IRD_ULP),
            ),
            ord: Depth::join(
                half(words, message_depths::ORD),
                flag(words, message_depths::ORD_ULP),
            ),
            rtr: flag(words, message_depths::PEER_TO_PEER).then(|| Rtr::get(words)),
        })
    }
}

/// Depths and RTR indications: of a peer's frame, or settled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Inbound RDMA Reads of the end that it describes; 0x3FFF in a peer's frame: the ULPs settle it.
    pub ird: u16,
    /// Outbound RDMA Reads.
    pub ord: u16,
    /// Peer-to-peer model.
    pub peer_to_peer: bool,
    /// RTR indications: those that the peer offers; in `ARMED`, the one to send at the Initiator, those that may come at the
    /// Responder.
    pub rtr: Rtr,
}

impl Block {
    pub(super) fn put(block: Option<Self>, words: &mut Words) {
        let Some(block) = block else { return };
        message_depths::ENHANCED.put(words, 1);
        message_depths::PEER_TO_PEER.put(words, block.peer_to_peer.into());
        put_depths(block.ird, block.ord, block.rtr, words);
    }

    pub(super) fn get(words: &Words) -> Option<Self> {
        flag(words, message_depths::ENHANCED).then(|| Self {
            ird: half(words, message_depths::IRD),
            ord: half(words, message_depths::ORD),
            peer_to_peer: flag(words, message_depths::PEER_TO_PEER),
            rtr: Rtr::get(words),
        })
    }
}

pub(super) fn put_depths(ird: u16, ord: u16, rtr: Rtr, words: &mut Words) {
    message_depths::IRD.put(words, ird.into());
    message_depths::ORD.put(words, ord.into());
    rtr.put(words);
}

/// The host's choices for a stream, as in `stream_context` and `transmit_context`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamOptions {
    /// Protection domain.
    pub protection_domain: u16,
    /// One bit for each untagged queue.
    pub queues: u8,
    /// The last segment of a tagged message generates a completion (AMB-44).
    pub tagged_completions: bool,
    /// Untagged segments must come in order (AMB-07).
    pub strict_mo: bool,
    /// Any posted buffer may be targeted (AMB-04).
    pub msn_window: bool,
    /// ULPDUs that RFC 5044 does not allow are accepted (AMB-21).
    pub long_ulpdus: bool,
    /// First MSN of the receiving direction.
    pub receive_msn: u32,
    /// First MSN of the sending direction.
    pub send_msn: u32,
}

impl Default for StreamOptions {
    /// Protection domain 0, RDMAP's three queues, messages counted from 1.
    fn default() -> Self {
        Self {
            protection_domain: 0,
            queues: 0b111,
            tagged_completions: false,
            strict_mo: false,
            msn_window: false,
            long_ulpdus: false,
            receive_msn: 1,
            send_msn: 1,
        }
    }
}

impl StreamOptions {
    pub(super) fn put(&self, words: &mut Words) {
        message_stream::PROTECTION_DOMAIN.put(words, self.protection_domain.into());
        message_stream::QUEUES.put(words, self.queues.into());
        message_stream::TAGGED_COMPLETIONS.put(words, self.tagged_completions.into());
        message_stream::STRICT_MO.put(words, self.strict_mo.into());
        message_stream::MSN_WINDOW.put(words, self.msn_window.into());
        message_stream::LONG_ULPDUS.put(words, self.long_ulpdus.into());
        message_stream::RECEIVE_MSN.put(words, self.receive_msn.into());
        message_stream::SEND_MSN.put(words, self.send_msn.into());
    }

    pub(super) fn get(words: &Words) -> Self {
        Self {
            protection_domain: half(words, message_stream::PROTECTION_DOMAIN),
            queues: get(words, message_stream::QUEUES) as u8,
            tagged_completions: flag(words, message_stream::TAGGED_COMPLETIONS),
            strict_mo: flag(words, message_stream::STRICT_MO),
            msn_window: flag(words, message_stream::MSN_WINDOW),
            long_ulpdus: flag(words, message_stream::LONG_ULPDUS),
            receive_msn: get(words, message_stream::RECEIVE_MSN) as u32,
            send_msn: get(words, message_stream::SEND_MSN) as u32,
        }
    }
}

/// Where messages have their address.
pub(super) const ADDRESS: AddressFields = AddressFields {
    high: message_address::ADDRESS_HIGH,
    low: message_address::ADDRESS_LOW,
    scope: message_address::SCOPE,
    port: message_address::PORT,
};
