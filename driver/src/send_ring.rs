//! The ring of slots that hands send requests to the card.
//!
//! ```text
//!  post ─► slot at produced mod entries ─► … ─► doorbell: SEND_PRODUCER = stream, produced
//!                                                   │
//!  card ◄── reads slots up to there, once each ◄────┘
//!       ──► send_event.CONSUMED ─► slots before it may be overwritten
//! ```
//!
//! A slot is overwritten only after the card has said that it was read.
//! [`PostedSends`](crate::posted_sends::PostedSends) counts slots and requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use warpline_regmap::transmit::{self, SLOT_OCTETS, SendRequest, send_ring, send_slot};

use crate::dma::{Dma, Mapped};
use crate::error::Error;
use crate::memory::DmaMemory;

/// Words of a slot.
const WORDS: usize = send_slot::WORDS;
/// Fewest and most slots of a ring.
const ENTRIES: std::ops::RangeInclusive<u32> = transmit::ENTRIES_MIN..=transmit::ENTRIES_MAX;

/// The ring in host memory, producer side.
pub(crate) struct SendRing {
    memory: Mapped,
    place: Place,
}

impl SendRing {
    /// Checks the size of a ring.
    pub fn check(entries: u32) -> Result<(), Error> {
        if entries.is_power_of_two() && ENTRIES.contains(&entries) {
            Ok(())
        } else {
            Err(Error::SendEntries { entries })
        }
    }

    /// An empty ring of `entries`, mapped and not yet announced to the device.
    pub fn new(dma: &Arc<Dma>, entries: u32) -> Result<Self, Error> {
        Self::check(entries)?;
        let octets = entries as usize * SLOT_OCTETS as usize;
        let memory = Mapped::new(dma, DmaMemory::new(octets)?)?;
        let place = Place {
            entries,
            produced: 0,
        };
        Ok(Self { memory, place })
    }

    /// Its size in slots.
    pub fn entries(&self) -> u32 {
        self.place.entries
    }

    /// Slots written, modulo 2^16.
    pub fn produced(&self) -> u16 {
        self.place.produced
    }

    /// Arguments of `SET_SEND_RING`.
    pub fn arguments(&self, stream: u8) -> [u32; send_ring::WORDS] {
        let mut words = [0; send_ring::WORDS];
        send_ring::STREAM.put(&mut words, stream.into());
        send_ring::ENTRIES.put(&mut words, self.entries().into());
        send_ring::BASE.put(&mut words, self.memory.iova());
        words
    }

    /// Writes the next slot. The caller has checked that there is room.
    pub fn put(&mut self, request: &SendRequest) {
        self.place.put(self.memory.memory().words(), request);
    }

    /// The doorbell's value.
    pub fn doorbell(&self, stream: u8) -> u32 {
        let mut words = [0];
        transmit::SEND_PRODUCER_COUNT.put(&mut words, self.place.produced.into());
        transmit::SEND_PRODUCER_STREAM.put(&mut words, stream.into());
        words[0]
    }

    /// Keeps the memory permanently: the device may still read it.
    pub fn leak(self) {
        self.memory.leak();
    }
}

/// Position of the next slot.
#[derive(Debug)]
struct Place {
    entries: u32,
    /// Slots written, modulo 2^16.
    produced: u16,
}

impl Place {
    fn put(&mut self, ring: &[AtomicU32], request: &SendRequest) {
        let first = transmit::slot_offset(self.produced, self.entries) as usize / 4;
        for (word, value) in ring[first..].iter().zip(request.emit()).take(WORDS) {
            // Relaxed: the doorbell's `Device::write` makes visible what was written before.
            word.store(value.to_le(), Ordering::Relaxed);
        }
        self.produced = self.produced.wrapping_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patience::Patience;
    use std::thread;
    use warpline_regmap::transmit::{Flags, Inline, Payload, Slot, Target};

    fn request(number: u32) -> SendRequest {
        let target = Target::Tagged {
            stag: number,
            offset: u64::from(!number),
            rsvd_ulp: number as u8,
        };
        let octets = [number as u8; 64];
        let payload = Payload::Inline(Inline::new(&octets).unwrap());
        SendRequest::new(target, Flags::default(), number.into(), payload).unwrap()
    }

    /// A card that reads up to the doorbell's value finds complete slots, at any timing. Under Miri, which reorders what may
    /// be reordered, this fails without the doorbell's release.
    #[test]
    fn slots_are_there_when_the_doorbell_rings() {
        const ENTRIES: u32 = 4;
        let memory = DmaMemory::new(ENTRIES as usize * 4 * WORDS).unwrap();
        let memory = memory.expose();
        let (doorbell, read) = (AtomicU32::new(0), AtomicU32::new(0));
        // more than 2^16: the count passes its end
        let count = if cfg!(miri) { 12 } else { 70_000 };
        let mut wrong = Vec::new();
        thread::scope(|scope| {
            scope.spawn(|| {
                let (mut next, mut patience) = (0, Patience::default());
                while next < count {
                    let produced = doorbell.load(Ordering::Acquire);
                    if produced == next {
                        patience.wait(next);
                    }
                    for i in next..produced {
                        let place = &memory.words()[WORDS * (i % ENTRIES) as usize..][..WORDS];
                        let slot: Slot =
                            std::array::from_fn(|w| u32::from_le(place[w].load(Ordering::Relaxed)));
                        if SendRequest::parse(&slot) != Ok(request(i)) {
                            wrong.push(i);
                        }
                    }
                    next = produced;
                    read.store(next, Ordering::Release);
                }
            });
            let mut place = Place {
                entries: ENTRIES,
                produced: 0,
            };
            let mut patience = Patience::default();
            let mut written = 0;
            while written < count {
                if written - read.load(Ordering::Acquire) == ENTRIES {
                    patience.wait(written);
                    continue;
                }
                place.put(memory.words(), &request(written));
                written += 1;
                // `Device::write` does this.
                doorbell.store(written, Ordering::Release);
            }
        });
        assert!(wrong.is_empty(), "slots {wrong:?}");
        memory.reclaim();
    }

    #[test]
    fn sizes_outside_are_refused() {
        for entries in [0, 1, 2, 3, 5, 4097, 8192, u32::MAX] {
            let refused = SendRing::check(entries).unwrap_err();
            assert!(matches!(refused, Error::SendEntries { entries: e } if e == entries));
        }
        for log in 2..=12 {
            SendRing::check(1 << log).unwrap();
        }
    }
}
