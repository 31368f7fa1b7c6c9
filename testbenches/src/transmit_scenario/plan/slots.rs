//! Slots of the send ring: good requests, and requests with one thing wrong.

use std::ops::Range;

use fastrand::Rng;
use warpline_regmap::transmit::{
    ELEMENTS_MAX, Element, Flags, Gather, INLINE_MAX, Inline, PAYLOAD_WORD, Payload, SendRequest,
    Slot, Target, send_element,
};

use crate::bad_slots::spoil_head;
use crate::local_memory::Region;
use crate::stimulus::chance;

/// Local memory.
#[derive(Clone, Debug)]
pub struct Memory {
    pub region: Region,
    /// It is in the STag table.
    pub registered: bool,
    /// The bus refuses these addresses.
    pub faulty: Range<u64>,
}

/// What is wrong about a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    None,
    /// Its first words are no request.
    Head,
    /// Its elements are wrong at this octet of the message; that of the end if there are more octets.
    Elements(u32),
    /// The bus refuses to read it.
    Unread,
}

/// A slot.
#[derive(Clone, Debug)]
pub struct Posting {
    pub slot: Slot,
    /// What it should be; `Head` has none.
    pub request: Option<SendRequest>,
    pub fault: Fault,
}

/// A slot with a message of `length` octets; a failing one has one thing wrong.
pub(super) fn posting(
    rng: &mut Rng,
    regions: &[Memory],
    flags: Flags,
    length: u32,
    fails: bool,
) -> Posting {
    let target = match chance(rng, 50) {
        true => Target::Tagged {
            stag: rng.u32(..),
            offset: match rng.u8(0..4) {
                0 => 0_u64.wrapping_sub(length.max(1).into()),
                1 => 0xFFFF_FF00,
                _ => rng.u64(..1 << 50),
            },
            rsvd_ulp: rng.u8(..),
        },
        false => Target::Untagged {
            queue: *rng.choice(&[0, 0, 1, 2, 255]).expect("some"),
            rsvd_ulp: rng.u64(..).to_be_bytes()[3..].try_into().expect("five"),
        },
    };
    let name = rng.u64(..);
    if length <= INLINE_MAX as u32 && chance(rng, 50) && !fails {
        let octets: Vec<u8> = (0..length).map(|_| rng.u8(..)).collect();
        let payload = Payload::Inline(Inline::new(&octets).expect("few octets"));
        let request = SendRequest::new(target, flags, name, payload).expect("a legal request");
        return good(request);
    }
    let length = if fails {
        length.clamp(8, 60 << 10)
    } else {
        length
    };
    let mut elements = elements(rng, regions, length);
    let kind = if fails { rng.u8(0..8) } else { 99 };
    if kind < 5 {
        let index = rng.usize(..elements.len());
        let wrong = &mut elements[index];
        let most = |memory: &Memory| wrong.length.min(memory.region.length as u32);
        match kind {
            0..=2 => {
                // absent, of another domain, of another stream
                let memory = &regions[2 + usize::from(kind)];
                let length = most(memory);
                *wrong = element(rng, memory, length);
            }
            3 => {
                // one octet too far, or in front
                let region = &regions[0].region;
                wrong.stag = region.stag;
                let end = region.base.wrapping_add(region.length);
                wrong.offset = match region.base > 0 && rng.bool() {
                    true => region.base - 1,
                    false => end.wrapping_sub(u64::from(wrong.length)).wrapping_add(1),
                };
                if wrong.offset.checked_add(wrong.length.into()).is_none() {
                    wrong.offset = region.base - 1;
                }
            }
            _ => {
                // across what the bus refuses
                let memory = &regions[5];
                let at = memory.faulty.start - memory.region.address;
                let before = rng.u64(0..u64::from(most(memory))).min(at);
                wrong.length = most(memory).min((memory.region.length - (at - before)) as u32);
                wrong.stag = memory.region.stag;
                wrong.offset = memory.region.base + at - before;
            }
        }
    }
    let payload = Payload::Gather(Gather::new(&elements).expect("a legal list"));
    let target = match target {
        // the length may have become another one
        Target::Tagged { stag, rsvd_ulp, .. } if fails => Target::Tagged {
            stag,
            rsvd_ulp,
            offset: rng.u64(..1 << 50),
        },
        target => target,
    };
    let request = SendRequest::new(target, flags, name, payload).expect("a legal request");
    match kind {
        5 => bad_head(rng, &request),
        6 => bad_elements(rng, &request, &elements),
        7 => Posting {
            fault: Fault::Unread,
            ..good(request)
        },
        _ => good(request),
    }
}

fn good(request: SendRequest) -> Posting {
    Posting {
        slot: request.emit(),
        request: Some(request),
        fault: Fault::None,
    }
}

/// Elements of `length` octets together.
fn elements(rng: &mut Rng, regions: &[Memory], length: u32) -> Vec<Element> {
    let most = length.min(ELEMENTS_MAX as u32);
    let count = match most {
        0 => return vec![],
        _ if rng.bool() => 1,
        most => rng.u32(1..=most),
    };
    let (mut elements, mut left) = (vec![], length);
    for index in 0..count {
        let behind = count - index - 1;
        let octets = match behind {
            0 => left,
            _ => rng.u32(1..=left - behind),
        };
        left -= octets;
        let memory = &regions[rng.usize(0..2)];
        elements.push(element(rng, memory, octets));
    }
    elements
}

/// A range of `length` octets of a region.
fn element(rng: &mut Rng, memory: &Memory, length: u32) -> Element {
    let region = &memory.region;
    let room = region.length - u64::from(length);
    // the last octets of a region are as good as any
    let at = if chance(rng, 10) {
        room
    } else {
        rng.u64(0..=room)
    };
    Element {
        stag: region.stag,
        length,
        offset: region.base + at,
    }
}

/// A slot that is no request from its first words on.
fn bad_head(rng: &mut Rng, request: &SendRequest) -> Posting {
    let mut slot = request.emit();
    spoil_head(rng, &mut slot);
    Posting {
        slot,
        request: Some(*request),
        fault: Fault::Head,
    }
}

/// A slot whose elements contradict its length.
fn bad_elements(rng: &mut Rng, request: &SendRequest, elements: &[Element]) -> Posting {
    let mut slot = request.emit();
    let total = request.payload().length();
    let last = elements.len() - 1;
    let length_of = |index: usize| PAYLOAD_WORD + send_element::WORDS * index;
    let put = |slot: &mut Slot, index: usize, length: u32| {
        send_element::LENGTH.put(&mut slot[length_of(index)..], length.into());
    };
    let at = match rng.u8(0..3) {
        0 => {
            let index = rng.usize(0..=last);
            put(&mut slot, index, 0);
            elements[..index].iter().map(|element| element.length).sum()
        }
        1 => {
            put(&mut slot, last, elements[last].length + 1);
            total
        }
        _ => {
            put(&mut slot, last, elements[last].length - 1);
            total - 1
        }
    };
    Posting {
        slot,
        request: Some(*request),
        fault: Fault::Elements(at),
    }
}
