//! A card behind the kernel's VFIO, through the library `pci-driver`: what
//! [`KernelVfio`](crate::KernelVfio) does, with other code.
//!
//! Three properties of the library matter here: its ranges of bus addresses end one octet early; it takes an address for
//! a map and does not keep the memory alive; and an unmap that unmaps nothing succeeds, so this file keeps a list of maps.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};

use pci_driver::backends::vfio::VfioPciDevice;
use pci_driver::device::PciDevice;
use pci_driver::regions::{OwningPciRegion, PciRegion, Permissions};
use rustix::event::EventfdFlags;
use warpline_regmap::pci::REGISTER_BAR;

use super::function::{check, check_offset, command, locked_limit, vectors};
use super::mapping::Mapping;
use crate::device::{Device, DeviceInfo, DmaMap, Result};
use crate::open_error::OpenError;
use crate::pci_address::PciAddress;

/// Where the kernel shows PCI devices.
const DEVICES: &str = "/sys/bus/pci/devices";

/// A card behind the kernel's VFIO, reached through the library `pci-driver`.
pub struct PciDriver {
    // Fields are dropped in this order: the device and its container, then the memory that was mapped for it.
    registers: OwningPciRegion,
    device: VfioPciDevice,
    interrupts: Vec<OwnedFd>,
    info: DeviceInfo,
    /// Memory mapped for DMA, by bus address.
    maps: Mutex<BTreeMap<u64, Mapping>>,
}

impl PciDriver {
    /// Opens the card at `address`, which is bound to `vfio-pci`.
    ///
    /// # Errors
    /// Any of [`OpenError`] that is not about sockets.
    pub fn open(address: PciAddress) -> std::result::Result<Self, OpenError> {
        let path = std::path::Path::new(DEVICES).join(address.to_string());
        if !path.exists() {
            return Err(OpenError::NoDevice { address });
        }
        if !path.join("iommu_group").exists() {
            return Err(OpenError::NoIommu { address });
        }
        let device = VfioPciDevice::open(path).map_err(kernel("opening the IOMMU group"))?;
        let registers = device.bar(REGISTER_BAR);
        let usable = registers
            .as_ref()
            .filter(|bar| bar.permissions() == Permissions::ReadWrite);
        let count = device.interrupts().msi_x().max();
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        check(usable.map_or(0, PciRegion::len), count)?;
        let Some(registers) = registers else {
            return Err(OpenError::RegisterBar { found: 0 });
        };
        let eventfd = || {
            let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
            rustix::event::eventfd(0, flags).map_err(|error| OpenError::Eventfd {
                source: error.into(),
            })
        };
        let interrupts = (0..vectors(count)).map(|_| eventfd());
        let interrupts = interrupts.collect::<std::result::Result<Vec<_>, _>>()?;
        let numbers: Vec<_> = interrupts.iter().map(AsRawFd::as_raw_fd).collect();
        let enabled = device.interrupts().msi_x().enable(&numbers);
        enabled.map_err(kernel("enabling MSI-X"))?;
        let iommu = device.iommu();
        let ranges = iommu.valid_iova_ranges().iter().map(mend);
        let info = DeviceInfo {
            name: address.to_string(),
            bus_addresses: ranges.collect(),
        };
        let card = Self {
            registers,
            device,
            interrupts,
            info,
            maps: Mutex::default(),
        };
        card.let_in()
            .map_err(kernel("writing the configuration space"))?;
        Ok(card)
    }

    /// Enables memory space and bus mastering.
    fn let_in(&self) -> io::Result<()> {
        let config = self.device.config();
        let found = config.read_le_u16(command::OFFSET)?;
        config.write_le_u16(command::OFFSET, found | command::NEEDED)
    }

    fn maps(&self) -> MutexGuard<'_, BTreeMap<u64, Mapping>> {
        self.maps.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A range of the library, with its last octet included.
fn mend(range: &Range<u64>) -> Range<u64> {
    range.start..range.end.saturating_add(1)
}

fn kernel(action: &'static str) -> impl FnOnce(io::Error) -> OpenError {
    move |error| OpenError::Kernel {
        action,
        source: error.into(),
    }
}

impl Device for PciDriver {
    fn info(&self) -> DeviceInfo {
        self.info.clone()
    }

    fn read(&self, offset: u32) -> Result<u32> {
        check_offset(offset)?;
        Ok(self.registers.read_le_u32(offset.into())?)
    }

    fn write(&self, offset: u32, value: u32) -> Result<()> {
        check_offset(offset)?;
        Ok(self.registers.write_le_u32(offset.into(), value)?)
    }

    #[allow(unsafe_code, reason = "the library takes an address")]
    fn map(&self, memory: DmaMap<'_>) -> Result<()> {
        let mut maps = self.maps();
        let mapping = Mapping::new(memory.file, memory.offset, memory.length)?;
        let rights = Permissions::ReadWrite;
        // SAFETY: the range is a mapping of our own, that nothing refers to. It stays until the card's access has
        // ended: `unmap` removes it from `maps` after that, and `maps` is dropped after the device and its container.
        let mapped = unsafe {
            let start = mapping.start().cast_const();
            self.device
                .iommu()
                .map(memory.iova, mapping.len(), start, rights)
        };
        // The library's error has the kernel's reason as text only.
        mapped
            .map_err(|error| format!("{error}; the locked-memory limit is {}", locked_limit()))?;
        maps.insert(memory.iova, mapping);
        Ok(())
    }

    fn unmap(&self, iova: u64, length: u64) -> Result<()> {
        let mut maps = self.maps();
        let octets = usize::try_from(length)?;
        if maps.get(&iova).is_none_or(|map| map.len() != octets) {
            return Err(format!("{length} octets at {iova:#x} are not mapped").into());
        }
        self.device.iommu().unmap(iova, octets)?;
        maps.remove(&iova);
        Ok(())
    }

    fn vectors(&self) -> usize {
        self.interrupts.len()
    }

    fn interrupt(&self, vector: usize) -> BorrowedFd<'_> {
        self.interrupts[vector].as_fd()
    }

    fn reset(&self) -> Result<()> {
        self.device.reset()?;
        Ok(self.let_in()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_get_their_last_octet_back() {
        assert_eq!(mend(&(0x1000..0xFEDF_FFFF)), 0x1000..0xFEE0_0000);
        assert_eq!(mend(&(0..u64::MAX)), 0..u64::MAX);
    }
}
