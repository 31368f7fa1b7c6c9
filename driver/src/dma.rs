//! Memory mapped at a bus address, and kept when it cannot be unmapped.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use warpline_regmap::Register;

use crate::device::{Device, DmaMap};
use crate::error::Error;
use crate::iova::BusAddresses;
use crate::memory::{DmaMemory, SharedMemory};

/// A card: its registers and its bus addresses.
pub(crate) struct Dma {
    pub device: Box<dyn Device>,
    addresses: Mutex<BusAddresses>,
}

impl Dma {
    pub fn new(device: Box<dyn Device>) -> Self {
        let addresses = Mutex::new(BusAddresses::new(device.info().bus_addresses));
        Self { device, addresses }
    }

    /// Reads element `index` of a register.
    pub fn read(&self, register: Register, index: u32) -> Result<u32, Error> {
        let read = self.device.read(register.at(index));
        read.map_err(Error::device("reading a register"))
    }

    /// Writes element `index` of a register.
    pub fn write(&self, register: Register, index: u32, value: u32) -> Result<(), Error> {
        let written = self.device.write(register.at(index), value);
        written.map_err(Error::device("writing a register"))
    }

    fn addresses(&self) -> MutexGuard<'_, BusAddresses> {
        self.addresses
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Memory that the card may write to. Dropping it unmaps the memory, or keeps it permanently when that fails.
pub(crate) struct Mapped {
    dma: Arc<Dma>,
    /// `None` once taken out.
    memory: Option<SharedMemory>,
    iova: u64,
    length: u64,
}

impl Mapped {
    /// Gives the card access to `memory`.
    pub fn new(dma: &Arc<Dma>, memory: DmaMemory) -> Result<Self, Error> {
        let memory = memory.expose();
        let length = memory.mapped_len() as u64;
        let allocated = dma.addresses().allocate(length);
        let Some(iova) = allocated else {
            memory.reclaim(); // never mapped
            return Err(Error::NoBusAddress { length });
        };
        let map = DmaMap {
            iova,
            length,
            file: memory.file(),
            offset: 0,
        };
        if let Err(source) = dma.device.map(map) {
            memory.reclaim(); // a failed map maps nothing
            dma.addresses().free(iova);
            return Err(Error::device("mapping memory for DMA")(source));
        }
        Ok(Self {
            dma: Arc::clone(dma),
            memory: Some(memory),
            iova,
            length,
        })
    }

    /// Bus address of the first octet.
    pub fn iova(&self) -> u64 {
        self.iova
    }

    /// The memory.
    pub fn memory(&self) -> &SharedMemory {
        self.memory
            .as_ref()
            .expect("taken out only by value or drop")
    }

    /// Unmaps the memory and returns it. On an error the memory is kept permanently.
    pub fn unmap(mut self) -> Result<DmaMemory, Error> {
        self.take().map(|memory| memory.expect("not taken before"))
    }

    /// Keeps memory and map permanently: the card may still write.
    pub fn leak(mut self) {
        tracing::warn!(
            iova = self.iova,
            length = self.length,
            "memory kept: the device may still write to it"
        );
        self.memory = None; // dropping `SharedMemory` keeps the memory
    }

    fn take(&mut self) -> Result<Option<DmaMemory>, Error> {
        let Some(memory) = self.memory.take() else {
            return Ok(None);
        };
        match self.dma.device.unmap(self.iova, self.length) {
            Ok(()) => {
                self.dma.addresses().free(self.iova);
                Ok(Some(memory.reclaim()))
            }
            Err(source) => {
                tracing::warn!(iova = self.iova, length = self.length, %source, "memory kept: unmapping failed");
                Err(Error::device("unmapping memory")(source))
            }
        }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        let _ = self.take(); // an error is logged and keeps the memory
    }
}
