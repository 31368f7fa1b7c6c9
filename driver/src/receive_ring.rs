//! The ring of descriptors that hands receive buffers to the card.
//!
//! ```text
//!  post ─► descriptor at produced mod entries ─► … ─► doorbell: RECEIVE_PRODUCER = produced
//!                                                          │
//!  card ◄── reads descriptors up to there, once each ◄─────┘
//! ```
//!
//! A descriptor is overwritten only after its message has completed: then the card has read it.
//! [`PostedQueue`](crate::shared::PostedQueue) counts the messages.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use warpline_regmap::layout::{receive_descriptor, receive_ring};

use crate::dma::{Dma, Mapped};
use crate::error::Error;
use crate::memory::DmaMemory;

/// Words of a descriptor.
const WORDS: usize = receive_descriptor::WORDS;
/// Fewest and most entries of a ring.
const ENTRIES: std::ops::RangeInclusive<u32> = 16..=1 << 15;

/// The ring in host memory, producer side.
pub(crate) struct ReceiveRing {
    memory: Mapped,
    place: Place,
}

impl ReceiveRing {
    /// Checks the size of a ring.
    pub fn check(entries: u32) -> Result<(), Error> {
        if entries.is_power_of_two() && ENTRIES.contains(&entries) {
            Ok(())
        } else {
            Err(Error::ReceiveEntries { entries })
        }
    }

    /// An empty ring of `entries`, mapped and not yet announced to the device.
    pub fn new(dma: &Arc<Dma>, entries: u32) -> Result<Self, Error> {
        Self::check(entries)?;
        let memory = Mapped::new(dma, DmaMemory::new(entries as usize * 4 * WORDS)?)?;
        let place = Place {
            entries,
            produced: 0,
        };
        Ok(Self { memory, place })
    }

    /// Its size in descriptors.
    pub fn entries(&self) -> u32 {
        self.place.entries
    }

    /// Arguments of `SET_RECEIVE_RING`.
    pub fn arguments(&self, stream: u8, queue: u8) -> [u32; receive_ring::WORDS] {
        let mut words = [0; receive_ring::WORDS];
        receive_ring::STREAM.put(&mut words, stream.into());
        receive_ring::QUEUE.put(&mut words, queue.into());
        receive_ring::ENTRIES.put(&mut words, self.entries().into());
        receive_ring::BASE.put(&mut words, self.memory.iova());
        words
    }

    /// Writes the descriptor of a buffer at bus address `address`. The caller has checked that there is room.
    pub fn put(&mut self, address: u64, length: u32) {
        self.place
            .put(self.memory.memory().words(), address, length);
    }

    /// The doorbell's value: descriptors written, modulo 2^16.
    pub fn doorbell(&self) -> u32 {
        self.place.produced & 0xFFFF
    }

    /// Keeps the memory permanently: the device may still read it.
    pub fn leak(self) {
        self.memory.leak();
    }
}

/// Position of the next descriptor.
#[derive(Debug)]
struct Place {
    entries: u32,
    /// Descriptors written, modulo 2^32.
    produced: u32,
}

impl Place {
    fn put(&mut self, ring: &[AtomicU32], address: u64, length: u32) {
        let mut descriptor = [0; WORDS];
        receive_descriptor::ADDRESS.put(&mut descriptor, address);
        receive_descriptor::LENGTH.put(&mut descriptor, length.into());
        let index = (self.produced & (self.entries - 1)) as usize;
        for (word, value) in ring[WORDS * index..].iter().zip(descriptor) {
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

    /// A card that reads up to the doorbell's value finds complete descriptors, at any timing. Under Miri, which reorders what
    /// may be reordered, this fails without the doorbell's release.
    #[test]
    fn descriptors_are_there_when_the_doorbell_rings() {
        let memory = DmaMemory::new(16 * 4 * WORDS).unwrap().expose();
        let (doorbell, read) = (AtomicU32::new(0), AtomicU32::new(0));
        let count = if cfg!(miri) { 40 } else { 100_000 };
        let address = |i: u32| u64::from(i) << 32 | u64::from(!i);
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
                        let place = &memory.words()[WORDS * (i as usize % 16)..][..WORDS];
                        let words: [u32; WORDS] =
                            std::array::from_fn(|w| u32::from_le(place[w].load(Ordering::Relaxed)));
                        let found = receive_descriptor::ADDRESS.get(&words);
                        let length = receive_descriptor::LENGTH.get(&words);
                        if (found, length) != (address(i), u64::from(i)) {
                            wrong.push(i);
                        }
                    }
                    next = produced;
                    read.store(next, Ordering::Release);
                }
            });
            let mut place = Place {
                entries: 16,
                produced: 0,
            };
            let mut patience = Patience::default();
            while place.produced < count {
                if place.produced - read.load(Ordering::Acquire) == 16 {
                    patience.wait(place.produced);
                    continue;
                }
                let i = place.produced;
                place.put(memory.words(), address(i), i);
                // `Device::write` does this.
                doorbell.store(place.produced, Ordering::Release);
            }
        });
        assert!(wrong.is_empty(), "descriptors {wrong:?}");
        memory.reclaim();
    }
}
