//! The ring through which the card is told of receive buffers.
//!
//! ```text
//!  post ─► descriptor at produced mod entries ─► … ─► doorbell: RECEIVE_PRODUCER = produced
//!                                                          │
//!  card ◄── reads descriptors up to there, once each ◄─────┘
//! ```
//!
//! A place is written again only after the message of its descriptor has been completed, so that the card has read it.
//! [`PostedQueue`](crate::shared::PostedQueue) counts those.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use warpline_regmap::layout::{receive_descriptor, receive_ring};

use crate::Error;
use crate::dma::{Dma, Mapped};
use crate::memory::DmaMemory;

/// Words of a descriptor.
const WORDS: usize = receive_descriptor::WORDS;
/// Fewest and most entries of a ring.
const ENTRIES: std::ops::RangeInclusive<u32> = 16..=1 << 15;

/// The ring in host memory, seen from its producer.
pub(crate) struct ReceiveRing {
    memory: Mapped,
    entries: u32,
    /// Descriptors written, modulo 2^32.
    produced: u32,
}

impl ReceiveRing {
    /// Checks that there can be a ring of `entries`.
    pub fn check(entries: u32) -> Result<(), Error> {
        if entries.is_power_of_two() && ENTRIES.contains(&entries) {
            Ok(())
        } else {
            Err(Error::ReceiveEntries { entries })
        }
    }

    /// An empty ring of `entries`, mapped but not yet told to the device.
    pub fn new(dma: &Arc<Dma>, entries: u32) -> Result<Self, Error> {
        Self::check(entries)?;
        let memory = Mapped::new(dma, DmaMemory::new(entries as usize * 4 * WORDS)?)?;
        Ok(Self {
            memory,
            entries,
            produced: 0,
        })
    }

    /// Descriptors that it has room for.
    pub fn entries(&self) -> u32 {
        self.entries
    }

    /// Arguments of `SET_RECEIVE_RING`.
    pub fn arguments(&self, stream: u8, queue: u8) -> [u32; receive_ring::WORDS] {
        let mut words = [0; receive_ring::WORDS];
        receive_ring::STREAM.put(&mut words, stream.into());
        receive_ring::QUEUE.put(&mut words, queue.into());
        receive_ring::ENTRIES.put(&mut words, self.entries.into());
        receive_ring::BASE.put(&mut words, self.memory.iova());
        words
    }

    /// Writes the descriptor of a buffer at bus address `address`. The caller has seen that there is room.
    pub fn put(&mut self, address: u64, length: u32) {
        let mut descriptor = [0; WORDS];
        receive_descriptor::ADDRESS.put(&mut descriptor, address);
        receive_descriptor::LENGTH.put(&mut descriptor, length.into());
        let index = (self.produced & (self.entries - 1)) as usize;
        let words = &self.memory.memory().words()[WORDS * index..][..WORDS];
        for (word, value) in words.iter().zip(descriptor) {
            // The doorbell orders: `Device::write` makes visible what was written before.
            word.store(value.to_le(), Ordering::Relaxed);
        }
        self.produced = self.produced.wrapping_add(1);
    }

    /// What the doorbell has to say: descriptors written, modulo 2^16.
    pub fn doorbell(&self) -> u32 {
        self.produced & 0xFFFF
    }

    /// Keeps the memory for ever: the device may still read it.
    pub fn leak(self) {
        self.memory.leak();
    }
}
