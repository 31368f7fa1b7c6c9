//! A look at all memory that the driver shows to a card, guard octets included.

use std::fs::File;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex, PoisonError};

use warpline_driver::{BackendError, Device, DeviceInfo, DmaMap, VfioUser};

/// The file of the memory that was mapped last.
pub(super) type Mapped = Arc<Mutex<Option<File>>>;

/// The card, and who watches what is mapped.
pub(super) struct Spy {
    card: VfioUser,
    mapped: Mapped,
}

impl Spy {
    pub fn new(card: VfioUser, mapped: Mapped) -> Self {
        Self { card, mapped }
    }
}

/// Takes the file of the memory that was mapped last.
pub(super) fn take(mapped: &Mapped) -> Option<File> {
    mapped.lock().unwrap_or_else(PoisonError::into_inner).take()
}

impl Device for Spy {
    fn info(&self) -> DeviceInfo {
        self.card.info()
    }

    fn read(&self, offset: u32) -> Result<u32, BackendError> {
        self.card.read(offset)
    }

    fn write(&self, offset: u32, value: u32) -> Result<(), BackendError> {
        self.card.write(offset, value)
    }

    fn map(&self, memory: DmaMap<'_>) -> Result<(), BackendError> {
        let file = memory.file.try_clone_to_owned()?.into();
        *self.mapped.lock().unwrap_or_else(PoisonError::into_inner) = Some(file);
        self.card.map(memory)
    }

    fn unmap(&self, iova: u64, length: u64) -> Result<(), BackendError> {
        self.card.unmap(iova, length)
    }

    fn interrupt(&self, vector: usize) -> BorrowedFd<'_> {
        self.card.interrupt(vector)
    }

    fn reset(&self) -> Result<(), BackendError> {
        self.card.reset()
    }
}
