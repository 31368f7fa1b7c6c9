//! A card whose doorbells wait until the host's work has been measured.

use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU64, Ordering};

use warpline_driver::{BackendError, Device, DeviceInfo, DmaMap};
use warpline_regmap::register;
use warpline_regmap::transmit;

use crate::software_card::SoftwareCard;

/// Registers that the driver writes for messages of stream 0 and its queue 0: of each the last value counts.
const DOORBELLS: [u32; 3] = [
    register::COMPLETION_CONSUMER.offset,
    register::RECEIVE_PRODUCER.offset,
    transmit::SEND_PRODUCER.offset,
];
/// Says that a slot holds a value.
const WRITTEN: u64 = 1 << 63;

/// The card in software. A doorbell costs the host a store, as one of a real card does.
#[derive(Default)]
pub struct PostedWrites {
    pub card: SoftwareCard,
    slots: [AtomicU64; DOORBELLS.len()],
}

impl PostedWrites {
    /// The doorbells reach the card.
    pub fn flush(&self) -> Result<(), BackendError> {
        for (slot, register) in self.slots.iter().zip(DOORBELLS) {
            let value = slot.swap(0, Ordering::Relaxed);
            if value & WRITTEN != 0 {
                self.card.write(register, value as u32)?;
            }
        }
        Ok(())
    }
}

/// A handle for the driver.
pub struct Handle(pub std::sync::Arc<PostedWrites>);

impl Device for Handle {
    fn info(&self) -> DeviceInfo {
        self.0.card.info()
    }

    fn read(&self, offset: u32) -> Result<u32, BackendError> {
        self.0.card.read(offset)
    }

    fn write(&self, offset: u32, value: u32) -> Result<(), BackendError> {
        match DOORBELLS.iter().position(|register| *register == offset) {
            Some(slot) => {
                let written = WRITTEN | u64::from(value);
                self.0.slots[slot].store(written, Ordering::Relaxed); // one thread
                Ok(())
            }
            None => self.0.card.write(offset, value),
        }
    }

    fn map(&self, memory: DmaMap<'_>) -> Result<(), BackendError> {
        self.0.card.map(memory)
    }

    fn unmap(&self, iova: u64, length: u64) -> Result<(), BackendError> {
        self.0.card.unmap(iova, length)
    }

    fn interrupt(&self, vector: usize) -> BorrowedFd<'_> {
        self.0.card.interrupt(vector)
    }

    fn reset(&self) -> Result<(), BackendError> {
        self.0.card.reset()
    }
}
