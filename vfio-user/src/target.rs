//! The interface between server and device.

use std::os::fd::OwnedFd;

use rustix::io::Errno;

/// A device that [`serve`](crate::serve) offers to a client.
///
/// The server checks every request before it calls: regions and interrupts exist, accesses lie inside a region and are
/// permitted, DMA maps do not overlap, and an unmap names a map as it was made.
pub trait Target {
    /// Regions by index. A PCI device lists [`pci::REGIONS`](crate::protocol::pci::REGIONS) of them, absent ones with
    /// size 0. Asked once, when a client connects.
    fn regions(&self) -> Vec<RegionInfo>;

    /// Number of interrupts by type. A PCI device lists [`pci::IRQS`](crate::protocol::pci::IRQS) types. Asked once,
    /// when a client connects.
    fn irqs(&self) -> Vec<u32>;

    /// Fills `data` (1 octet to 1 MiB) from `region` at `offset`.
    fn region_read(&mut self, region: u32, offset: u64, data: &mut [u8]) -> Result<(), Refused>;

    /// Writes `data` (1 octet to 1 MiB) to `region` at `offset`.
    fn region_write(&mut self, region: u32, offset: u64, data: &[u8]) -> Result<(), Refused>;

    /// The device may access this memory from now on.
    fn dma_map(&mut self, map: DmaMap) -> Result<(), Refused>;

    /// Ends a map; address and length are those of an earlier [`dma_map`](Target::dma_map). No access to that memory is
    /// under way when this returns. A range that covers several maps arrives as one call for each; if one is refused, that map
    /// and the following ones stay.
    fn dma_unmap(&mut self, iova: u64, length: u64) -> Result<(), Refused>;

    /// Interrupts `first` and following of type `index` signal these eventfds from now on, or none for `None`.
    fn set_irqs(
        &mut self,
        index: u32,
        first: u32,
        eventfds: Vec<Option<OwnedFd>>,
    ) -> Result<(), Refused>;

    /// Resets the device. DMA maps and eventfds belong to the client and stay.
    fn reset(&mut self) -> Result<(), Refused>;

    /// The client has disconnected, in order or not: drop all DMA maps and eventfds. Called exactly once for each
    /// connection, as the last call.
    fn disconnected(&mut self);
}

/// One region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RegionInfo {
    /// Octets; 0 if the device does not have it.
    pub size: u64,
    /// The client may read.
    pub readable: bool,
    /// The client may write.
    pub writable: bool,
}

/// Description of the device for the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceInfo {
    /// Regions by index, from 0 on.
    pub regions: u32,
    /// Interrupt types by index, from 0 on.
    pub irqs: u32,
    /// A reset is possible.
    pub resettable: bool,
    /// Regions and interrupt types are numbered as in [`pci`](crate::protocol::pci).
    pub pci: bool,
}

/// Description of a type of interrupts for the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IrqInfo {
    /// Interrupts of this type.
    pub count: u32,
    /// They can be signalled through eventfds.
    pub eventfd: bool,
}

/// Access rights of the device to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permissions {
    /// The device may read.
    pub readable: bool,
    /// The device may write.
    pub writable: bool,
}

impl Permissions {
    /// The device only reads.
    pub const READ: Permissions = Permissions {
        readable: true,
        writable: false,
    };
    /// The device only writes.
    pub const WRITE: Permissions = Permissions {
        readable: false,
        writable: true,
    };
    /// The device does both.
    pub const READ_WRITE: Permissions = Permissions {
        readable: true,
        writable: true,
    };
}

/// Memory that a client offers to the device.
#[derive(Debug)]
pub struct DmaMap {
    /// First address as the device sees it.
    pub iova: u64,
    /// Octets, at least 1; `iova + length` is at most 2^64.
    pub length: u64,
    /// The file that holds the memory. `None`: the client does not share it (QEMU does so with ROMs), and the device
    /// cannot access it.
    pub fd: Option<OwnedFd>,
    /// Octets from the beginning of the file; `offset + length` is below 2^63. The file may be shorter.
    pub offset: u64,
    /// The device may read.
    pub readable: bool,
    /// The device may write.
    pub writable: bool,
}

/// The device refuses a request. The client gets the error number; the connection stays open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("refused: {errno}")]
pub struct Refused {
    /// The reason, sent to the client.
    pub errno: Errno,
}

impl From<Errno> for Refused {
    fn from(errno: Errno) -> Refused {
        Refused { errno }
    }
}
