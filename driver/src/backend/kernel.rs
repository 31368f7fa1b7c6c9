//! A card behind the kernel's VFIO, in an IOMMU group.
//!
//! ```text
//!  sysfs: present, in a group, bound to vfio-pci?
//!    │
//!  container ─ group ─ device ─┬─ BAR 0 ──► mapped: a register access is a load or a store
//!    │                         ├─ MSI-X ──► eventfds
//!    │                         └─ configuration space ─► memory and bus master on
//!    └─ DMA maps: memory file ─► mapping of our own ─► IOMMU
//! ```
//!
//! With the feature `iommufd`, `KernelVfio::open_iommufd` does the same through `/dev/iommu` and the device's own file.
//!
//! The library `vfio-ioctls` talks to the kernel. Three of its calls report no errors, so this file makes
//! them itself: accesses to regions, the reset, and the list of usable bus addresses.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use vfio_bindings::bindings::vfio::{
    VFIO_PCI_BAR0_REGION_INDEX, VFIO_PCI_CONFIG_REGION_INDEX, VFIO_PCI_MSIX_IRQ_INDEX,
    VFIO_REGION_INFO_FLAG_MMAP, VFIO_REGION_INFO_FLAG_READ, VFIO_REGION_INFO_FLAG_WRITE,
};
use vfio_ioctls::{VfioContainer, VfioDevice, VfioError, VfioOps};
use vmm_sys_util::eventfd::{EFD_CLOEXEC, EFD_NONBLOCK, EventFd};
use warpline_regmap::register;

use super::function::{check, check_offset, command, locked_limit, vectors};
use super::mapping::Mapping;
use crate::device::{Device, DeviceInfo, DmaMap, Result};
use crate::open_error::OpenError;
use crate::pci_address::PciAddress;

/// Where the kernel shows PCI devices.
const DEVICES: &str = "/sys/bus/pci/devices";
/// The driver that a device must be bound to.
const DRIVER: &str = "vfio-pci";
/// Attempts to reset while the kernel uses the device.
const RESET_TRIES: u32 = 100;
/// Time between two attempts.
const RESET_PAUSE: Duration = Duration::from_millis(1);

/// A card behind the kernel's VFIO. One process at a time can open it.
pub struct KernelVfio {
    // Fields are dropped in this order: what holds the device's file, the device, then the memory behind its maps.
    registers: Registers,
    file: File,
    config_at: u64,
    #[expect(dead_code, reason = "closes the device when it is dropped")]
    device: VfioDevice,
    iommu: Arc<dyn VfioOps>,
    interrupts: Vec<EventFd>,
    info: DeviceInfo,
    /// Memory mapped for DMA, by bus address.
    maps: Mutex<BTreeMap<u64, Mapping>>,
}

/// How BAR 0 is accessed.
enum Registers {
    Mapped(Mapping),
    /// The kernel refuses to map it: each access is a system call.
    File {
        at: u64,
    },
}

/// Why the kernel did not map or unmap memory.
#[derive(Debug, thiserror::Error)]
enum MapError {
    #[error(
        "{length} octets at bus address {iova:#x}: the kernel locks no more memory, the limit is {limit}: raise it (ulimit -l, or LimitMEMLOCK= of the service)"
    )]
    Locked {
        iova: u64,
        length: u64,
        limit: String,
    },
    #[error("{length} octets at bus address {iova:#x}: {source}")]
    Kernel {
        iova: u64,
        length: u64,
        source: VfioError,
    },
    #[error("mapping {length} octets of memory: {source}")]
    Memory { length: u64, source: io::Error },
}

impl KernelVfio {
    /// Opens the card at `address`, which is bound to `vfio-pci`, through its IOMMU group.
    ///
    /// # Errors
    /// Any of [`OpenError`] that is not about sockets.
    pub fn open(address: PciAddress) -> std::result::Result<Self, OpenError> {
        let path = find(Path::new(DEVICES), address)?;
        let container = VfioContainer::new(None).map_err(kernel("opening /dev/vfio/vfio"))?;
        let container = Arc::new(container);
        let iommu: Arc<dyn VfioOps> = Arc::clone(&container) as _;
        let device = VfioDevice::new(&path, Arc::clone(&iommu), false)
            .map_err(kernel("opening the device's IOMMU group"))?;
        // Asked here and not earlier: a container without a group has no IOMMU.
        let bus_addresses = ioctl::iova_ranges(borrow(&*container))?;
        Self::set_up(address, device, iommu, bus_addresses)
    }

    /// As [`open`](Self::open), through `/dev/iommu` and the device's file in `/dev/vfio/devices` (Linux 6.2 or newer).
    ///
    /// # Errors
    /// As [`open`](Self::open).
    #[cfg(feature = "iommufd")]
    pub fn open_iommufd(address: PciAddress) -> std::result::Result<Self, OpenError> {
        use iommufd_ioctls::IommuFd;
        use vfio_ioctls::VfioIommufd;
        let path = find(Path::new(DEVICES), address)?;
        let iommufd = IommuFd::new().map_err(|error| OpenError::Kernel {
            action: "opening /dev/iommu",
            source: error.into(),
        })?;
        let iommufd = Arc::new(iommufd);
        let space = VfioIommufd::new(Arc::clone(&iommufd), None, None)
            .map_err(kernel("making an I/O address space"))?;
        let (space, id) = {
            let id = space.ioas().id();
            (Arc::new(space), id)
        };
        let iommu: Arc<dyn VfioOps> = space;
        let device = VfioDevice::new(&path, Arc::clone(&iommu), true)
            .map_err(kernel("opening the device's file"))?;
        // Asked here and not earlier: the device's own limits count too.
        let bus_addresses = ioctl::ioas_ranges(borrow(&*iommufd), id)?;
        Self::set_up(address, device, iommu, bus_addresses)
    }

    fn set_up(
        address: PciAddress,
        device: VfioDevice,
        iommu: Arc<dyn VfioOps>,
        bus_addresses: Vec<Range<u64>>,
    ) -> std::result::Result<Self, OpenError> {
        let region = VFIO_PCI_BAR0_REGION_INDEX;
        let flags = device.get_region_flags(region);
        let needed = VFIO_REGION_INFO_FLAG_READ | VFIO_REGION_INFO_FLAG_WRITE;
        let size = match flags & needed == needed {
            true => device.get_region_size(region),
            false => 0,
        };
        let irq = device.get_irq_info(VFIO_PCI_MSIX_IRQ_INDEX);
        let count = irq.map_or(0, |irq| irq.count);
        check(size, count)?;

        let file = borrow(&device).try_clone_to_owned();
        let file = File::from(file.map_err(io("copying the device's descriptor"))?);
        let at = device.get_region_offset(region);
        let mappable = flags & VFIO_REGION_INFO_FLAG_MMAP != 0;
        let mapped = mappable.then(|| Mapping::new(file.as_fd(), at, register::SPACE.into()));
        let registers = match mapped {
            Some(Ok(mapping)) => Registers::Mapped(mapping),
            Some(Err(error)) => {
                tracing::warn!(%error, "registers are not mapped: accesses are slow");
                Registers::File { at }
            }
            None => {
                tracing::warn!("the kernel maps no registers: accesses are slow");
                Registers::File { at }
            }
        };
        let eventfd = || EventFd::new(EFD_CLOEXEC | EFD_NONBLOCK);
        let source = |source| OpenError::Eventfd { source };
        let interrupts = (0..vectors(count)).map(|_| eventfd().map_err(source));
        let interrupts = interrupts.collect::<std::result::Result<Vec<_>, _>>()?;
        device
            .enable_msix(interrupts.iter().collect())
            .map_err(kernel("enabling MSI-X"))?;
        let config_at = device.get_region_offset(VFIO_PCI_CONFIG_REGION_INDEX);
        let card = Self {
            registers,
            file,
            config_at,
            device,
            iommu,
            interrupts,
            info: DeviceInfo {
                name: address.to_string(),
                bus_addresses,
            },
            maps: Mutex::default(),
        };
        card.let_in()
            .map_err(io("writing the configuration space"))?;
        Ok(card)
    }

    /// Enables memory space and bus mastering: the kernel opens devices with bus mastering off.
    fn let_in(&self) -> io::Result<()> {
        let at = self.config_at + command::OFFSET;
        let mut octets = [0; 2];
        self.file.read_exact_at(&mut octets, at)?;
        let wanted = u16::from_le_bytes(octets) | command::NEEDED;
        self.file.write_all_at(&wanted.to_le_bytes(), at)
    }

    fn maps(&self) -> MutexGuard<'_, BTreeMap<u64, Mapping>> {
        self.maps.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The directory of a device that `vfio-pci` offers.
fn find(devices: &Path, address: PciAddress) -> std::result::Result<PathBuf, OpenError> {
    let path = devices.join(address.to_string());
    if !path.exists() {
        return Err(OpenError::NoDevice { address });
    }
    if !path.join("iommu_group").exists() {
        return Err(OpenError::NoIommu { address });
    }
    let driver = path.join("driver").read_link().ok();
    let driver = driver.and_then(|link| Some(link.file_name()?.to_string_lossy().into_owned()));
    if driver.as_deref() != Some(DRIVER) {
        return Err(OpenError::WrongDriver { address, driver });
    }
    Ok(path)
}

fn kernel(action: &'static str) -> impl FnOnce(VfioError) -> OpenError {
    move |error| OpenError::Kernel {
        action,
        source: error.into(),
    }
}

fn io(action: &'static str) -> impl FnOnce(io::Error) -> OpenError {
    move |error| OpenError::Kernel {
        action,
        source: error.into(),
    }
}

/// The descriptor of a library's object that gives out its number only.
#[allow(unsafe_code, reason = "the libraries hand out numbers only")]
fn borrow<F: AsRawFd>(file: &F) -> BorrowedFd<'_> {
    // SAFETY: `file` owns the descriptor and keeps it open as long as it is borrowed; none of the types that this is
    // called with can close it before it is dropped.
    unsafe { BorrowedFd::borrow_raw(file.as_raw_fd()) }
}

impl Device for KernelVfio {
    fn info(&self) -> DeviceInfo {
        self.info.clone()
    }

    fn read(&self, offset: u32) -> Result<u32> {
        check_offset(offset)?;
        match &self.registers {
            Registers::Mapped(mapping) => Ok(mapping
                .read(offset as usize)
                .ok_or(io::ErrorKind::InvalidInput)
                .map_err(io::Error::from)?),
            Registers::File { at } => {
                let mut octets = [0; 4];
                self.file
                    .read_exact_at(&mut octets, at + u64::from(offset))?;
                Ok(u32::from_le_bytes(octets))
            }
        }
    }

    fn write(&self, offset: u32, value: u32) -> Result<()> {
        check_offset(offset)?;
        match &self.registers {
            Registers::Mapped(mapping) => Ok(mapping
                .write(offset as usize, value)
                .ok_or(io::ErrorKind::InvalidInput)
                .map_err(io::Error::from)?),
            Registers::File { at } => Ok(self
                .file
                .write_all_at(&value.to_le_bytes(), at + u64::from(offset))?),
        }
    }

    #[allow(unsafe_code, reason = "the library takes an address")]
    fn map(&self, memory: DmaMap<'_>) -> Result<()> {
        let DmaMap { iova, length, .. } = memory;
        let mut maps = self.maps();
        let mapping = Mapping::new(memory.file, memory.offset, length)
            .map_err(|source| MapError::Memory { length, source })?;
        // SAFETY: the range is a mapping of our own, that nothing refers to. It stays until the card's access has
        // ended: `unmap` removes it from `maps` after that, and `maps` is dropped after the device and the IOMMU.
        let mapped = unsafe {
            self.iommu
                .vfio_dma_map(iova, mapping.len(), mapping.start())
        };
        if let Err(source) = mapped {
            return Err(map_error(iova, length, source).into());
        }
        maps.insert(iova, mapping);
        Ok(())
    }

    fn unmap(&self, iova: u64, length: u64) -> Result<()> {
        let mut maps = self.maps();
        let octets = usize::try_from(length)?;
        // The library checks the number of octets that were unmapped.
        let unmapped = self.iommu.vfio_dma_unmap(iova, octets);
        unmapped.map_err(|source| MapError::Kernel {
            iova,
            length,
            source,
        })?;
        maps.remove(&iova);
        Ok(())
    }

    fn vectors(&self) -> usize {
        self.interrupts.len()
    }

    fn interrupt(&self, vector: usize) -> BorrowedFd<'_> {
        borrow(&self.interrupts[vector])
    }

    /// A function-level reset, or the kernel's substitute for it. All transactions of the card have ended when it returns.
    fn reset(&self) -> Result<()> {
        let mut tries = 0;
        while let Err(error) = ioctl::reset(self.file.as_fd()) {
            match error {
                rustix::io::Errno::INVAL | rustix::io::Errno::NOTTY => {
                    return Err(OpenError::NoReset.into());
                }
                rustix::io::Errno::AGAIN if tries < RESET_TRIES => {
                    tries += 1;
                    thread::sleep(RESET_PAUSE);
                }
                _ => return Err(io::Error::from(error).into()),
            }
        }
        Ok(self.let_in()?)
    }
}

fn map_error(iova: u64, length: u64, source: VfioError) -> MapError {
    let no_memory = match &source {
        VfioError::IommuDmaMap(error) => error.errno() == rustix::io::Errno::NOMEM.raw_os_error(),
        _ => false,
    };
    if !no_memory {
        return MapError::Kernel {
            iova,
            length,
            source,
        };
    }
    MapError::Locked {
        iova,
        length,
        limit: locked_limit(),
    }
}

/// Calls to the kernel that the library does not make, or whose errors it hides.
mod ioctl {
    use std::ops::Range;
    use std::os::fd::BorrowedFd;

    use rustix::ioctl::{NoArg, Opcode, Updater, opcode};

    use crate::open_error::OpenError;

    /// `VFIO_DEVICE_RESET`.
    const RESET: Opcode = opcode::none(b';', 111);
    /// `VFIO_IOMMU_GET_INFO`.
    const INFO: Opcode = opcode::none(b';', 112);
    /// Flag: capabilities follow.
    const INFO_CAPABILITIES: u32 = 1 << 1;
    /// Number of the capability that lists bus addresses.
    const IOVA_RANGES: u16 = 1;
    /// Octets for the answer: 253 ranges fit.
    const OCTETS: usize = 4096;

    /// Buffer that the kernel fills: length and flags first, then capabilities at any offset.
    #[repr(C, align(8))]
    struct Info([u8; OCTETS]);

    /// Resets the device.
    #[allow(unsafe_code, reason = "a call to the kernel")]
    pub fn reset(device: BorrowedFd<'_>) -> rustix::io::Result<()> {
        // SAFETY: this call takes no argument and touches no memory of this process; other kinds of descriptors refuse it.
        unsafe { rustix::ioctl::ioctl(device, NoArg::<RESET>::new()) }
    }

    /// Bus addresses that the container's IOMMU can map.
    #[allow(unsafe_code, reason = "a call to the kernel")]
    pub fn iova_ranges(container: BorrowedFd<'_>) -> Result<Vec<Range<u64>>, OpenError> {
        let mut info = Info([0; OCTETS]);
        info.0[..4].copy_from_slice(&(OCTETS as u32).to_ne_bytes());
        // SAFETY: the kernel fills at most as many octets as the first word says, which are those of `Info`; all contents
        // are valid ones.
        let asked =
            unsafe { rustix::ioctl::ioctl(container, Updater::<INFO, Info>::new(&mut info)) };
        asked.map_err(|error| OpenError::Kernel {
            action: "asking for bus addresses",
            source: std::io::Error::from(error).into(),
        })?;
        parse(&info.0).map_err(|reason| OpenError::BusAddresses { reason })
    }

    /// `N` octets of the answer from `at` on.
    fn octets<const N: usize>(info: &[u8], at: usize) -> Result<[u8; N], &'static str> {
        let octets = info.get(at..).and_then(<[u8]>::first_chunk);
        octets.copied().ok_or("a capability leaves the answer")
    }

    /// Parses the answer; the error says what is wrong with it.
    fn parse(info: &[u8]) -> Result<Vec<Range<u64>>, &'static str> {
        let word = |at| octets(info, at).map(u32::from_ne_bytes);
        let long = |at| octets(info, at).map(u64::from_ne_bytes);
        if word(4)? & INFO_CAPABILITIES == 0 {
            return Err("no capabilities");
        }
        let mut at = word(16)? as usize;
        // Each capability has at least 8 octets: more steps than that mean a loop.
        for _ in 0..info.len() / 8 {
            if at == 0 {
                return Err("no capability for bus addresses");
            }
            // Identifier in the low half, version in the high half, as a little-endian machine reads them.
            let (header, next) = (word(at)?, word(at + 4)?);
            if header as u16 == IOVA_RANGES {
                let first = at + 16;
                let range = |i: usize| {
                    let (start, last) = (long(first + 16 * i)?, long(first + 16 * i + 8)?);
                    // `last` is inclusive. A range that ends at 2^64 loses its last page.
                    Ok(start..last.saturating_add(1))
                };
                return (0..word(at + 8)? as usize).map(range).collect();
            }
            at = next as usize;
        }
        Err("the list of capabilities loops")
    }

    /// `IOMMU_IOAS_IOVA_RANGES`.
    #[cfg(feature = "iommufd")]
    const IOAS_RANGES: Opcode = opcode::none(b';', 0x84);

    /// Its argument.
    #[cfg(feature = "iommufd")]
    #[repr(C)]
    struct IoasRanges {
        size: u32,
        ioas: u32,
        count: u32,
        reserved: u32,
        ranges: u64,
        alignment: u64,
    }

    /// Bus addresses that an I/O address space can map.
    #[cfg(feature = "iommufd")]
    #[allow(unsafe_code, reason = "a call to the kernel")]
    pub fn ioas_ranges(iommufd: BorrowedFd<'_>, ioas: u32) -> Result<Vec<Range<u64>>, OpenError> {
        let mut ranges = [[0_u64; 2]; OCTETS / 16];
        let mut argument = IoasRanges {
            size: size_of::<IoasRanges>() as u32,
            ioas,
            count: ranges.len() as u32,
            reserved: 0,
            ranges: ranges.as_mut_ptr() as u64,
            alignment: 0,
        };
        // SAFETY: the kernel fills at most `count` pairs at `ranges`, which lives until the call returns, and the
        // argument itself; all contents are valid ones.
        let asked = unsafe {
            rustix::ioctl::ioctl(
                iommufd,
                Updater::<IOAS_RANGES, IoasRanges>::new(&mut argument),
            )
        };
        asked.map_err(|error| OpenError::Kernel {
            action: "asking for bus addresses",
            source: std::io::Error::from(error).into(),
        })?;
        let known = ranges.get(..argument.count as usize);
        let known = known.ok_or(OpenError::BusAddresses {
            reason: "more ranges than asked for",
        })?;
        let range = |[start, last]: &[u64; 2]| *start..last.saturating_add(1);
        Ok(known.iter().map(range).collect())
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        /// An answer with capabilities at given places: identifier, next, contents.
        fn info(first: u32, capabilities: &[(usize, u16, u32, &[u64])]) -> Vec<u8> {
            let mut info = vec![0; 256];
            info[4..8].copy_from_slice(&INFO_CAPABILITIES.to_ne_bytes());
            info[16..20].copy_from_slice(&first.to_ne_bytes());
            for &(at, id, next, longs) in capabilities {
                info[at..at + 2].copy_from_slice(&id.to_ne_bytes());
                info[at + 2..at + 4].copy_from_slice(&1_u16.to_ne_bytes());
                info[at + 4..at + 8].copy_from_slice(&next.to_ne_bytes());
                for (i, long) in longs.iter().enumerate() {
                    info[at + 8 + 8 * i..][..8].copy_from_slice(&long.to_ne_bytes());
                }
            }
            info
        }

        #[test]
        fn ranges_include_their_last_octet() {
            let two = [2, 0, 0xFEDF_FFFF, 0xFEF0_0000, u64::MAX];
            let known = info(24, &[(24, 3, 40, &[7]), (40, IOVA_RANGES, 0, &two)]);
            let ranges = parse(&known).unwrap();
            assert_eq!(ranges, [0..0xFEE0_0000, 0xFEF0_0000..u64::MAX]);
        }

        #[test]
        fn answers_without_sense_are_refused() {
            let case = |info: &[u8]| parse(info).unwrap_err();
            assert_eq!(case(&[0; 256]), "no capabilities");
            assert_eq!(case(&info(0, &[])), "no capability for bus addresses");
            let circle = info(24, &[(24, 3, 32, &[]), (32, 3, 24, &[])]);
            assert_eq!(case(&circle), "the list of capabilities loops");
            let leaves = "a capability leaves the answer";
            assert_eq!(case(&info(255, &[])), leaves);
            assert_eq!(case(&info(u32::MAX, &[])), leaves);
            assert_eq!(case(&info(24, &[(24, IOVA_RANGES, 0, &[1000])])), leaves);
            assert_eq!(case(&[0; 3]), leaves);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn devices_that_vfio_does_not_offer_are_named() {
        let devices = tempfile::tempdir().unwrap();
        let address: PciAddress = "0000:05:00.0".parse().unwrap();
        let find = || find(devices.path(), address);
        assert!(matches!(find(), Err(OpenError::NoDevice { .. })));
        let path = devices.path().join("0000:05:00.0");
        std::fs::create_dir(&path).unwrap();
        assert!(matches!(find(), Err(OpenError::NoIommu { .. })));
        std::fs::create_dir(path.join("iommu_group")).unwrap();
        let unbound = find().unwrap_err();
        assert!(matches!(
            unbound,
            OpenError::WrongDriver { driver: None, .. }
        ));
        symlink("/drivers/e1000e", path.join("driver")).unwrap();
        let text = find().unwrap_err().to_string();
        assert!(
            text.starts_with("0000:05:00.0 is bound to e1000e: "),
            "{text}"
        );
        std::fs::remove_file(path.join("driver")).unwrap();
        symlink("/drivers/vfio-pci", path.join("driver")).unwrap();
        assert_eq!(find().unwrap(), path);
    }

    #[test]
    fn a_full_limit_is_told_from_other_refusals() {
        let errno = |errno: rustix::io::Errno| {
            VfioError::IommuDmaMap(vmm_sys_util::errno::Error::new(errno.raw_os_error()))
        };
        let full = map_error(4096, 8192, errno(rustix::io::Errno::NOMEM)).to_string();
        assert!(full.contains("ulimit -l"), "{full}");
        let other = map_error(4096, 8192, errno(rustix::io::Errno::EXIST)).to_string();
        assert!(
            other.starts_with("8192 octets at bus address 0x1000: "),
            "{other}"
        );
        assert!(!other.contains("ulimit"), "{other}");
    }

    #[test]
    fn a_descriptor_that_is_no_device_refuses_the_calls() {
        let file = tempfile::tempfile().unwrap();
        assert!(ioctl::reset(file.as_fd()).is_err());
        let asked = ioctl::iova_ranges(file.as_fd()).unwrap_err();
        assert!(matches!(asked, OpenError::Kernel { .. }));
    }
}
