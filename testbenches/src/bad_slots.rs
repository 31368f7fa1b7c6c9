//! Slots of a send ring that hold no request.

use fastrand::Rng;
use warpline_regmap::transmit::{Slot, send_slot};

/// Spoils the head of a request's slot in one of six ways: kind, reserved bits, count, inline count, Queue Number, or a Tagged
/// Offset from which the message would pass 2^64.
pub fn spoil_head(rng: &mut Rng, slot: &mut Slot) {
    match rng.u8(0..6) {
        0 => send_slot::KIND.put(slot, *rng.choice(&[0, 3, 4, 9, 15]).expect("some")),
        1 => slot[0] |= 1 << rng.u32(16..24),
        2 => {
            send_slot::INLINE.put(slot, 0);
            send_slot::COUNT.put(slot, rng.u64(9..=255));
        }
        3 => {
            send_slot::INLINE.put(slot, 1);
            let count = rng.u64(65..=255);
            send_slot::COUNT.put(slot, count);
            send_slot::LENGTH.put(slot, count);
        }
        4 => {
            send_slot::KIND.put(slot, 2);
            send_slot::QUEUE.put(slot, 1 << rng.u64(8..32));
        }
        _ => {
            let length = send_slot::LENGTH.get(slot);
            send_slot::KIND.put(slot, 1);
            send_slot::OFFSET.put(slot, u64::MAX - length + 2);
        }
    }
}
