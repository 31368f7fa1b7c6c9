//! A request, and the slot that holds it: written by who posts it, read and checked by who executes it.

use super::payload::{Element, Gather, Inline, Payload, wraps};
use super::slot_error::SlotError;
use super::{ELEMENTS_MAX, INLINE_MAX, PAYLOAD_WORD, send_element, send_slot, target};
use crate::Field;

/// A slot in memory, word 0 first.
pub type Slot = [u32; send_slot::WORDS];

/// Where a message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Into a Tagged Buffer of the peer.
    Tagged {
        /// Name of the buffer.
        stag: u32,
        /// Tagged Offset of the first octet.
        offset: u64,
        /// The ULP's octet.
        rsvd_ulp: u8,
    },
    /// Into the next Untagged Buffer of a queue of the peer.
    Untagged {
        /// Queue number.
        queue: u32,
        /// The ULP's five octets in wire order.
        rsvd_ulp: [u8; 5],
    },
}

/// Options of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// Report it by a completion entry.
    pub signalled: bool,
    /// Begin after all earlier requests are complete.
    pub fence: bool,
    /// The stream's last message, sent even after an error.
    pub terminate: bool,
}

/// Meaning of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendRequest {
    target: Target,
    flags: Flags,
    request: u64,
    payload: Payload,
}

/// Bits of a slot's first word that have a meaning.
pub const HEAD_BITS: u32 = {
    let (mut bits, mut index) = (0, 0);
    while index < send_slot::LAYOUT.fields.len() {
        let field = &send_slot::LAYOUT.fields[index];
        if field.lsb < 32 {
            bits |= (field.max() as u32) << field.lsb;
        }
        index += 1;
    }
    bits
};

impl SendRequest {
    /// A request that the host calls `request`. A tagged message must end at or before 2^64.
    pub fn new(
        target: Target,
        flags: Flags,
        request: u64,
        payload: Payload,
    ) -> Result<Self, SlotError> {
        if let Target::Tagged { offset, .. } = target {
            let length = payload.length();
            if wraps(offset, length) {
                return Err(SlotError::Wrap { offset, length });
            }
        }
        Ok(Self {
            target,
            flags,
            request,
            payload,
        })
    }

    /// Where the message goes.
    #[must_use]
    pub const fn target(&self) -> Target {
        self.target
    }

    /// Options.
    #[must_use]
    pub const fn flags(&self) -> Flags {
        self.flags
    }

    /// The host's name for the request.
    #[must_use]
    pub const fn request(&self) -> u64 {
        self.request
    }

    /// What the message carries.
    #[must_use]
    pub const fn payload(&self) -> &Payload {
        &self.payload
    }

    /// The slot. Words behind the payload are 0; the device does not read them.
    #[must_use]
    pub fn emit(&self) -> Slot {
        let mut slot = [0; send_slot::WORDS];
        match self.target {
            Target::Tagged {
                stag,
                offset,
                rsvd_ulp,
            } => {
                send_slot::KIND.put(&mut slot, target::TAGGED.into());
                send_slot::RSVD_ULP_FIRST.put(&mut slot, rsvd_ulp.into());
                send_slot::STAG.put(&mut slot, stag.into());
                send_slot::OFFSET.put(&mut slot, offset);
            }
            Target::Untagged { queue, rsvd_ulp } => {
                let [first, low @ ..] = rsvd_ulp;
                send_slot::KIND.put(&mut slot, target::UNTAGGED.into());
                send_slot::RSVD_ULP_FIRST.put(&mut slot, first.into());
                send_slot::QUEUE.put(&mut slot, queue.into());
                send_slot::RSVD_ULP_LOW.put(&mut slot, u32::from_be_bytes(low).into());
            }
        }
        send_slot::SIGNALLED.put(&mut slot, self.flags.signalled.into());
        send_slot::FENCE.put(&mut slot, self.flags.fence.into());
        send_slot::TERMINATE.put(&mut slot, self.flags.terminate.into());
        send_slot::LENGTH.put(&mut slot, self.payload.length().into());
        send_slot::REQUEST.put(&mut slot, self.request);
        let count = match &self.payload {
            Payload::Gather(gather) => {
                let words = slot[PAYLOAD_WORD..].chunks_exact_mut(send_element::WORDS);
                for (words, element) in words.zip(gather.as_slice()) {
                    send_element::STAG.put(words, element.stag.into());
                    send_element::LENGTH.put(words, element.length.into());
                    send_element::OFFSET.put(words, element.offset);
                }
                gather.as_slice().len()
            }
            Payload::Inline(inline) => {
                send_slot::INLINE.put(&mut slot, 1);
                let octets = inline.octets.as_chunks().0;
                for (word, octets) in slot[PAYLOAD_WORD..].iter_mut().zip(octets) {
                    *word = u32::from_le_bytes(*octets);
                }
                inline.count
            }
        };
        send_slot::COUNT.put(&mut slot, count as u64);
        slot
    }

    /// Reads a slot, which any program may have written: kind, reserved bits, number of elements or octets,
    /// each element, their sum, `LENGTH`, the end of a tagged message.
    pub fn parse(slot: &Slot) -> Result<Self, SlotError> {
        let word = |field: &Field| field.get(slot) as u32;
        let first = send_slot::RSVD_ULP_FIRST.get(slot) as u8;
        let kind = send_slot::KIND.get(slot);
        let target = if kind == u64::from(target::TAGGED) {
            Target::Tagged {
                stag: word(&send_slot::STAG),
                offset: send_slot::OFFSET.get(slot),
                rsvd_ulp: first,
            }
        } else if kind == u64::from(target::UNTAGGED) {
            let [a, b, c, d] = word(&send_slot::RSVD_ULP_LOW).to_be_bytes();
            Target::Untagged {
                queue: word(&send_slot::QUEUE),
                rsvd_ulp: [first, a, b, c, d],
            }
        } else {
            return Err(SlotError::Kind { kind });
        };
        let bits = slot[0] & !HEAD_BITS;
        if bits != 0 {
            return Err(SlotError::Reserved { bits });
        }
        let count = send_slot::COUNT.get(slot) as usize;
        let payload = if send_slot::INLINE.get(slot) == 1 {
            let mut octets = [0; INLINE_MAX];
            let words = slot[PAYLOAD_WORD..].iter();
            for (octets, word) in octets.as_chunks_mut().0.iter_mut().zip(words) {
                *octets = word.to_le_bytes();
            }
            let octets = octets.get(..count);
            Payload::Inline(Inline::new(octets.ok_or(SlotError::Inline { count })?)?)
        } else {
            let mut elements = [Element::default(); ELEMENTS_MAX];
            let words = slot[PAYLOAD_WORD..].chunks_exact(send_element::WORDS);
            for (element, words) in elements.iter_mut().zip(words) {
                *element = Element {
                    stag: send_element::STAG.get(words) as u32,
                    length: send_element::LENGTH.get(words) as u32,
                    offset: send_element::OFFSET.get(words),
                };
            }
            let elements = elements.get(..count);
            Payload::Gather(Gather::new(elements.ok_or(SlotError::Elements { count })?)?)
        };
        let (announced, found) = (word(&send_slot::LENGTH), payload.length());
        if announced != found {
            return Err(SlotError::Length { announced, found });
        }
        let flags = Flags {
            signalled: send_slot::SIGNALLED.get(slot) == 1,
            fence: send_slot::FENCE.get(slot) == 1,
            terminate: send_slot::TERMINATE.get(slot) == 1,
        };
        Self::new(target, flags, send_slot::REQUEST.get(slot), payload)
    }
}
