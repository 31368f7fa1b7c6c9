//! What a slot says, as the RTL reads it: the head at once, an element when a segment reaches it.

use warpline_regmap::transmit::{
    ELEMENTS_MAX, Element, Flags, HEAD_BITS, INLINE_MAX, PAYLOAD_WORD, QUEUES, Slot, Target,
    send_element, send_slot, target,
};

/// Where the octets of a message lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Payload {
    /// In the slot.
    Inline(Vec<u8>),
    /// In memory. What the elements say is not judged yet.
    Gather(Vec<Element>),
}

/// A request whose head is valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub target: Target,
    pub flags: Flags,
    /// Octets of the message, as the head announces them.
    pub length: u32,
    /// The host's name for it.
    pub name: u64,
    pub payload: Payload,
}

/// Options in the head of a slot, also of one that is no request.
pub(crate) fn flags(slot: &Slot) -> Flags {
    Flags {
        signalled: send_slot::SIGNALLED.get(slot) == 1,
        fence: send_slot::FENCE.get(slot) == 1,
        terminate: send_slot::TERMINATE.get(slot) == 1,
    }
}

/// A slot's meaning; `None` if the head is malformed: kind, reserved bits, `COUNT`, `LENGTH` that contradicts `COUNT`, an
/// untagged queue whose messages are not counted, a tagged message that runs past 2^64.
pub(crate) fn parse(slot: &Slot) -> Option<Request> {
    let word = |field: &warpline_regmap::Field| field.get(slot) as u32;
    if slot[0] & !HEAD_BITS != 0 {
        return None;
    }
    let (length, count) = (word(&send_slot::LENGTH), word(&send_slot::COUNT) as usize);
    let first = send_slot::RSVD_ULP_FIRST.get(slot) as u8;
    let target = match word(&send_slot::KIND) {
        target::TAGGED => {
            let offset = send_slot::OFFSET.get(slot);
            if u128::from(offset) + u128::from(length) > 1 << 64 {
                return None;
            }
            Target::Tagged {
                stag: word(&send_slot::STAG),
                offset,
                rsvd_ulp: first,
            }
        }
        target::UNTAGGED => {
            let queue = word(&send_slot::QUEUE);
            if queue >= QUEUES {
                return None;
            }
            let [a, b, c, d] = word(&send_slot::RSVD_ULP_LOW).to_be_bytes();
            Target::Untagged {
                queue,
                rsvd_ulp: [first, a, b, c, d],
            }
        }
        _ => return None,
    };
    let words = &slot[PAYLOAD_WORD..];
    let payload = if send_slot::INLINE.get(slot) == 1 {
        if count > INLINE_MAX || count as u32 != length {
            return None;
        }
        let octets = words.iter().flat_map(|word| word.to_le_bytes());
        Payload::Inline(octets.take(count).collect())
    } else {
        if count > ELEMENTS_MAX || (count == 0) != (length == 0) {
            return None;
        }
        let elements = words.chunks_exact(send_element::WORDS).take(count);
        let element = |words| Element {
            stag: send_element::STAG.get(words) as u32,
            length: send_element::LENGTH.get(words) as u32,
            offset: send_element::OFFSET.get(words),
        };
        Payload::Gather(elements.map(element).collect())
    };
    Some(Request {
        target,
        flags: flags(slot),
        length,
        name: send_slot::REQUEST.get(slot),
        payload,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpline_regmap::transmit::{Gather, SendRequest};

    fn slot(elements: &[Element]) -> Slot {
        let target = Target::Tagged {
            stag: 7,
            offset: u64::MAX - 99,
            rsvd_ulp: 0x40,
        };
        let gather = warpline_regmap::transmit::Payload::Gather(Gather::new(elements).unwrap());
        let flags = Flags {
            fence: true,
            ..Flags::default()
        };
        SendRequest::new(target, flags, 5, gather).unwrap().emit()
    }

    #[test]
    fn a_valid_slot_is_what_was_posted() {
        let element = Element {
            stag: 0x100,
            length: 100,
            offset: 3,
        };
        let found = parse(&slot(&[element])).unwrap();
        assert_eq!((found.length, found.name), (100, 5));
        assert!(found.flags.fence && !found.flags.terminate);
        assert_eq!(found.payload, Payload::Gather(vec![element]));
    }

    #[test]
    fn a_head_is_judged_at_once_and_an_element_later() {
        let element = |length| Element {
            stag: 0x100,
            length,
            offset: 3,
        };
        let good = slot(&[element(100)]);
        let with = |field: &warpline_regmap::Field, value| {
            let mut slot = good;
            field.put(&mut slot, value);
            parse(&slot)
        };
        for (field, value) in [
            (&send_slot::KIND, 3),
            (&send_slot::COUNT, 9),
            (&send_slot::COUNT, 0),
            (&send_slot::LENGTH, 0),
            (&send_slot::LENGTH, 101), // past 2^64
            (&send_slot::INLINE, 1),
        ] {
            assert_eq!(with(field, value), None, "{} {value}", field.name);
        }
        let mut reserved = good;
        reserved[0] |= 1 << 16;
        assert_eq!(parse(&reserved), None);
        let mut queue = good;
        send_slot::KIND.put(&mut queue, target::UNTAGGED.into());
        send_slot::QUEUE.put(&mut queue, 256);
        assert_eq!(parse(&queue), None);
        // Contradictions that only the elements show.
        assert!(with(&send_slot::LENGTH, 99).is_some());
        let mut empty = good;
        send_element::LENGTH.put(&mut empty[PAYLOAD_WORD..], 0);
        assert!(parse(&empty).is_some());
    }
}
