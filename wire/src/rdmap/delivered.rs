//! A DDP message as RDMAP addresses and receives it.

use super::header::{Control, field};
use crate::send;

/// Where a message goes: what RDMAP hands to DDP besides the payload. The device counts MSNs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address {
    /// Into a Tagged Buffer.
    Tagged {
        /// Name of the buffer.
        stag: u32,
        /// Tagged Offset of the first octet.
        to: u64,
        /// The control octet.
        rsvd_ulp: u8,
    },
    /// Into the next Untagged Buffer of a queue.
    Untagged {
        /// Queue number.
        qn: u32,
        /// The control octet and Invalidate STag.
        rsvd_ulp: [u8; 5],
    },
}

impl Address {
    /// The DDP message, with the MSN if it is untagged.
    pub const fn with_msn(self, msn: u32) -> send::Message {
        match self {
            Self::Tagged { stag, to, rsvd_ulp } => send::Message::Tagged { stag, to, rsvd_ulp },
            Self::Untagged { qn, rsvd_ulp } => send::Message::Untagged { qn, msn, rsvd_ulp },
        }
    }
}

/// A DDP message that DDP has delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivered<'p> {
    /// Described by its last segment, which is what the device reports (AMB-44).
    Tagged {
        /// The ULP's octet.
        rsvd_ulp: u8,
        /// STag of the last segment.
        stag: u32,
        /// Tagged Offset of the last segment.
        to: u64,
        /// Payload octets of the last segment.
        len: u32,
    },
    /// In the Untagged Buffer of its MSN.
    Untagged {
        /// The ULP's five octets in wire order.
        rsvd_ulp: [u8; 5],
        /// Queue number.
        qn: u32,
        /// Message sequence number.
        msn: u32,
        /// The message.
        payload: &'p [u8],
    },
}

impl Delivered<'_> {
    /// The RDMAP control octet.
    pub const fn control(&self) -> Control {
        match self {
            Self::Tagged { rsvd_ulp, .. } => Control(*rsvd_ulp),
            Self::Untagged { rsvd_ulp, .. } => Control(rsvd_ulp[field::CONTROL]),
        }
    }
}
