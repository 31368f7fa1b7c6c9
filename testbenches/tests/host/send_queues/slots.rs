//! Slots: requests that the software makes, and what is none.

use fastrand::Rng;
use warpline_regmap::transmit::{
    Element, Flags, Gather, Inline, Payload, SLOT_OCTETS, SendRequest, Slot, Target, send_slot,
};
use warpline_testbenches::stimulus::chance;

pub type Octets = [u8; SLOT_OCTETS as usize];

fn octets(slot: &Slot) -> Octets {
    let mut octets = [0; SLOT_OCTETS as usize];
    for (octets, word) in octets.chunks_mut(4).zip(slot) {
        octets.copy_from_slice(&word.to_le_bytes());
    }
    octets
}

/// A request with this payload.
pub fn request(rng: &mut Rng, payload: Payload) -> Octets {
    let target = match rng.bool() {
        true => Target::Tagged {
            stag: rng.u32(..),
            offset: rng.u64(..1 << 63),
            rsvd_ulp: rng.u8(..),
        },
        false => Target::Untagged {
            queue: rng.u32(..),
            rsvd_ulp: std::array::from_fn(|_| rng.u8(..)),
        },
    };
    let flags = Flags {
        signalled: rng.bool(),
        fence: rng.bool(),
        terminate: rng.bool(),
    };
    let request = SendRequest::new(target, flags, rng.u64(..), payload).unwrap();
    let mut slot = octets(&request.emit());
    // what lies behind the payload means nothing
    slot[160..].fill_with(|| rng.u8(..));
    slot
}

/// A request with so many elements.
pub fn gather(rng: &mut Rng, count: usize) -> Octets {
    let element = |rng: &mut Rng| Element {
        stag: rng.u32(..),
        length: rng.u32(1..1 << 28),
        offset: rng.u64(..1 << 63),
    };
    let elements: Vec<Element> = (0..count).map(|_| element(rng)).collect();
    request(rng, Payload::Gather(Gather::new(&elements).unwrap()))
}

/// A request with so many octets in the slot.
pub fn inline(rng: &mut Rng, count: usize) -> Octets {
    let octets: Vec<u8> = (0..count).map(|_| rng.u8(..)).collect();
    request(rng, Payload::Inline(Inline::new(&octets).unwrap()))
}

/// Random octets, with this `COUNT`.
pub fn counted(rng: &mut Rng, inline: u64, count: u64) -> Octets {
    let mut slot: Slot = std::array::from_fn(|_| rng.u32(..));
    send_slot::INLINE.put(&mut slot, inline);
    send_slot::COUNT.put(&mut slot, count);
    octets(&slot)
}

/// Random octets, with any `COUNT`.
pub fn noise(rng: &mut Rng) -> Octets {
    let mut slot: Slot = std::array::from_fn(|_| rng.u32(..));
    if chance(rng, 70) {
        send_slot::COUNT.put(&mut slot, rng.u64(0..12));
        send_slot::INLINE.put(&mut slot, 0);
    } else if chance(rng, 70) {
        send_slot::COUNT.put(&mut slot, rng.u64(30..70));
        send_slot::INLINE.put(&mut slot, 1);
    }
    octets(&slot)
}

/// A slot of 64 octets, made in a short time.
pub fn plain(rng: &mut Rng) -> Octets {
    let mut slot: Slot = [rng.u32(..); send_slot::WORDS];
    send_slot::COUNT.put(&mut slot, rng.u64(0..=2));
    send_slot::INLINE.put(&mut slot, 0);
    octets(&slot)
}

pub fn random(rng: &mut Rng) -> Octets {
    match rng.u8(0..8) {
        0 => noise(rng),
        1 | 2 => {
            let count = rng.usize(0..=64);
            inline(rng, count)
        }
        3 => {
            let count = *rng.choice(&[0, 32, 33, 40, 41, 48, 64]).unwrap();
            inline(rng, count)
        }
        4 => {
            let count = rng.usize(3..=8);
            gather(rng, count)
        }
        _ => {
            let count = rng.usize(0..=2);
            gather(rng, count)
        }
    }
}

/// Octets of a slot that are read: up to the end of its elements or inline octets, at least 64.
pub fn needed(slot: &Octets) -> usize {
    let words: Vec<u32> = slot
        .chunks(4)
        .map(|octets| u32::from_le_bytes(octets.try_into().unwrap()))
        .collect();
    let count = send_slot::COUNT.get(&words) as usize;
    match send_slot::INLINE.get(&words) {
        1 if count <= 64 => 64.max(32 + count),
        0 if count <= 8 => 64.max(32 + 16 * count),
        _ => 64,
    }
}
