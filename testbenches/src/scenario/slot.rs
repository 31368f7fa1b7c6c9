//! The card in a slot of this process, and a look at all memory that the driver shows to it, guard octets included.
//!
//! ```text
//!  driver ─► Slot ─► Card      each access is a call: no socket, no other thread to wake
//!             └─► Mapped       the file of what was mapped last
//! ```
//!
//! Half the time of a random stream would go into waking host and card in turn at the ends of a socket, which the tests of
//! the device itself go through.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::event::{EventfdFlags, eventfd};
use warpline_driver::{BackendError, Device, DeviceInfo, DmaMap};
use warpline_regmap::register::interrupt;
use warpline_sim::{Card, HostMemory};

/// The file of the memory that was mapped last.
pub(super) type Mapped = Arc<Mutex<Option<File>>>;

/// A card that has a driver for as long as this lives; it is as after power-up then.
pub(super) struct Slot {
    card: Card,
    interrupts: Arc<[OwnedFd; interrupt::COUNT]>,
    mapped: Mapped,
}

impl Slot {
    pub fn new(card: &Card, mapped: Mapped) -> std::io::Result<Self> {
        let new = || eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        let interrupts = Arc::new([new()?, new()?]);
        let told = Arc::clone(&interrupts);
        card.set_messages(Box::new(move |vector| {
            // A counter that is full is readable already.
            let _ = rustix::io::write(&told[vector], &1_u64.to_ne_bytes());
        }));
        Ok(Self {
            card: card.clone(),
            interrupts,
            mapped,
        })
    }
}

/// Takes the file of the memory that was mapped last.
pub(super) fn take(mapped: &Mapped) -> Option<File> {
    mapped.lock().unwrap_or_else(PoisonError::into_inner).take()
}

impl Device for Slot {
    fn info(&self) -> DeviceInfo {
        DeviceInfo {
            name: self.card.name().into(),
            bus_addresses: std::iter::once(0x1000..1 << 47).collect(),
        }
    }

    fn read(&self, offset: u32) -> Result<u32, BackendError> {
        Ok(self.card.read_register(offset)?)
    }

    fn write(&self, offset: u32, value: u32) -> Result<(), BackendError> {
        Ok(self.card.write_register(offset, value)?)
    }

    fn map(&self, memory: DmaMap<'_>) -> Result<(), BackendError> {
        let file: File = memory.file.try_clone_to_owned()?.into();
        *self.mapped.lock().unwrap_or_else(PoisonError::into_inner) = Some(file.try_clone()?);
        Ok(self.card.map(HostMemory {
            iova: memory.iova,
            length: memory.length,
            file,
            offset: memory.offset,
            read: true,
            write: true,
        })?)
    }

    fn unmap(&self, iova: u64, length: u64) -> Result<(), BackendError> {
        self.card.unmap(iova, length)?;
        Ok(())
    }

    fn interrupt(&self, vector: usize) -> BorrowedFd<'_> {
        self.interrupts[vector].as_fd()
    }

    fn reset(&self) -> Result<(), BackendError> {
        Ok(self.card.reset()?)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let _ = self.card.reset(); // what is wrong with it, its next call says
        self.card.unmap_all();
        self.card.set_messages(Box::new(|_| {}));
    }
}
