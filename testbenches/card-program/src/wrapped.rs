//! Devices that do not do all that the driver asks of them, and that a second one may hold.

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use warpline_driver::{BackendError, Device, DeviceInfo, DmaMap};

/// Maps less of some memory than the driver asks for: the card is told to write where no mapping is.
pub struct Withheld {
    pub device: Box<dyn Device>,
    /// Octets of the memory that is mapped short.
    pub length: u64,
    /// Octets of it that are mapped all the same: whole pages.
    pub mapped: u64,
}

impl Withheld {
    fn mapped(&self, length: u64) -> u64 {
        if length == self.length {
            self.mapped
        } else {
            length
        }
    }
}

impl Device for Withheld {
    fn info(&self) -> DeviceInfo {
        self.device.info()
    }

    fn read(&self, offset: u32) -> Result<u32, BackendError> {
        self.device.read(offset)
    }

    fn write(&self, offset: u32, value: u32) -> Result<(), BackendError> {
        self.device.write(offset, value)
    }

    fn map(&self, memory: DmaMap<'_>) -> Result<(), BackendError> {
        let length = self.mapped(memory.length);
        self.device.map(DmaMap { length, ..memory })
    }

    fn unmap(&self, iova: u64, length: u64) -> Result<(), BackendError> {
        self.device.unmap(iova, self.mapped(length))
    }

    fn interrupt(&self, vector: usize) -> BorrowedFd<'_> {
        self.device.interrupt(vector)
    }

    fn reset(&self) -> Result<(), BackendError> {
        self.device.reset()
    }
}

/// A device that the check holds as well as the driver.
#[derive(Clone)]
pub struct Held(pub Arc<dyn Device>);

impl Device for Held {
    fn info(&self) -> DeviceInfo {
        self.0.info()
    }

    fn read(&self, offset: u32) -> Result<u32, BackendError> {
        self.0.read(offset)
    }

    fn write(&self, offset: u32, value: u32) -> Result<(), BackendError> {
        self.0.write(offset, value)
    }

    fn map(&self, memory: DmaMap<'_>) -> Result<(), BackendError> {
        self.0.map(memory)
    }

    fn unmap(&self, iova: u64, length: u64) -> Result<(), BackendError> {
        self.0.unmap(iova, length)
    }

    fn interrupt(&self, vector: usize) -> BorrowedFd<'_> {
        self.0.interrupt(vector)
    }

    fn reset(&self) -> Result<(), BackendError> {
        self.0.reset()
    }
}
