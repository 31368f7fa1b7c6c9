//! Numbers and layouts of vfio-user 0.0.
//!
//! ```text
//!  0        2         4       8        12       16
//!  ├─ id ───┼ command ┼─ size ┼─ flags ┼─ errno ┼─ payload of the command … ┤   size counts from 0
//! ```
//!
//! All numbers are in the byte order of the machine. Structures hold what follows the header; data of variable length
//! follows the structure. Many begin with `argsz`: in a request the largest reply payload that the sender accepts, or for
//! commands without a reply payload the length of the request's own payload; in a reply the length of the whole payload.

use std::fmt;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Major version of the protocol.
pub const MAJOR: u16 = 0;
/// Minor version of the protocol.
pub const MINOR: u16 = 0;
/// Octets of a [`Header`].
pub const HEADER_LENGTH: usize = size_of::<Header>();
/// Default limit of the octets in one region access; also this side's limit.
pub const MAX_DATA: usize = 1 << 20;
/// This side's limit of file descriptors in one message. QEMU refuses a server that names more than 16.
pub const MAX_DESCRIPTORS: usize = 16;
/// Limit of file descriptors in one message when a peer names none.
pub const DEFAULT_DESCRIPTORS: usize = 1;
/// Most octets of a whole message: a region write of [`MAX_DATA`].
pub const MAX_MESSAGE: usize = HEADER_LENGTH + size_of::<RegionAccess>() + MAX_DATA;
/// Most octets of a version message: a bound on what is stored for a client that has not been accepted yet.
pub const MAX_VERSION_MESSAGE: usize = 4096;
/// Most DMA maps at a time: the limit that a client may assume when the server names none.
pub const MAX_DMA_MAPS: usize = 65535;

/// Begins every message.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
pub struct Header {
    /// Chosen by the sender of a command, repeated in the reply.
    pub id: u16,
    /// See [`Command`].
    pub command: u16,
    /// Octets of the message, header included.
    pub size: u32,
    /// See [`flags`].
    pub flags: u32,
    /// In a reply with [`flags::ERROR`]: the reason as an errno of Linux; 0 if the peer gives none.
    pub errno: u32,
}

/// Bits of [`Header::flags`].
pub mod flags {
    /// Kind of the message: [`COMMAND`] or [`REPLY`].
    pub const TYPE: u32 = 0xf;
    /// A command.
    pub const COMMAND: u32 = 0;
    /// The reply to a command.
    pub const REPLY: u32 = 1;
    /// In a command: send no reply, not even an error.
    pub const NO_REPLY: u32 = 1 << 4;
    /// In a reply: the command failed, and no payload follows.
    pub const ERROR: u32 = 1 << 5;
}

/// Kind of request. Any number can arrive; known numbers are constants.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Command(pub u16);

macro_rules! commands {
    ($($(#[$doc:meta])* $name:ident = $number:literal)*) => {
        impl Command {
            $($(#[$doc])* pub const $name: Command = Command($number);)*

            /// The name in the protocol, if the number has one.
            pub fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($number => Some(stringify!($name)),)*
                    _ => None,
                }
            }
        }
    };
}

commands! {
    /// First message: versions and capabilities ([`Version`]).
    VERSION = 1
    /// Memory that the device may access from now on ([`DmaMapRequest`]).
    DMA_MAP = 2
    /// Memory that it may no longer access ([`DmaUnmap`]).
    DMA_UNMAP = 3
    /// How many regions and interrupt types ([`DeviceInfo`]).
    DEVICE_GET_INFO = 4
    /// Size and permissions of a region ([`RegionInfo`]).
    DEVICE_GET_REGION_INFO = 5
    /// Descriptors for parts of a region; not supported.
    DEVICE_GET_REGION_IO_FDS = 6
    /// How many interrupts of a type ([`IrqInfo`]).
    DEVICE_GET_IRQ_INFO = 7
    /// Eventfds for interrupts ([`IrqSet`]).
    DEVICE_SET_IRQS = 8
    /// Reads a region ([`RegionAccess`]).
    REGION_READ = 9
    /// Writes a region ([`RegionAccess`]).
    REGION_WRITE = 10
    /// Server to client: reads memory that came without a descriptor; not used.
    DMA_READ = 11
    /// Server to client: writes such memory; not used.
    DMA_WRITE = 12
    /// Resets the device; no payload.
    DEVICE_RESET = 13
    /// Several region writes in one message; not supported, and not among the capabilities.
    REGION_WRITE_MULTI = 15
    /// Features of the device, migration among them; not supported.
    DEVICE_FEATURE = 16
    /// Migration data; not supported.
    MIG_DATA_READ = 17
    /// Migration data; not supported.
    MIG_DATA_WRITE = 18
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "command {}", self.0),
        }
    }
}

impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Both ways in [`Command::VERSION`]; capabilities as JSON with a closing NUL follow, or nothing.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
pub struct Version {
    /// Must be equal on both sides.
    pub major: u16,
    /// In a reply not above that of the request.
    pub minor: u16,
}

/// Request of [`Command::DMA_MAP`]; the reply has no payload. A descriptor of the memory may come with it.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
pub struct DmaMapRequest {
    /// Octets of this structure.
    pub argsz: u32,
    /// See [`dma_map_flags`].
    pub flags: u32,
    /// Octets from the beginning of the file.
    pub offset: u64,
    /// First address as the device sees it.
    pub iova: u64,
    /// Octets.
    pub length: u64,
}

/// Bits of [`DmaMapRequest::flags`].
pub mod dma_map_flags {
    /// The device may read.
    pub const READABLE: u32 = 1;
    /// The device may write.
    pub const WRITABLE: u32 = 1 << 1;
}

/// Both ways in [`Command::DMA_UNMAP`].
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
pub struct DmaUnmap {
    /// Octets of this structure.
    pub argsz: u32,
    /// See [`dma_unmap_flags`].
    pub flags: u32,
    /// First address.
    pub iova: u64,
    /// Octets; `iova + length` may be 2^64.
    pub length: u64,
}

/// Bits of [`DmaUnmap::flags`].
pub mod dma_unmap_flags {
    /// Return a bitmap of written pages; not supported.
    pub const GET_DIRTY_BITMAP: u32 = 1;
    /// Every map, whatever its address; address and length are 0.
    pub const ALL: u32 = 1 << 1;
}

/// Both ways in [`Command::DEVICE_GET_INFO`].
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
pub struct DeviceInfo {
    /// Octets of this structure.
    pub argsz: u32,
    /// See [`device_flags`].
    pub flags: u32,
    /// Regions that the device has.
    pub regions: u32,
    /// Types of interrupts that the device has.
    pub irqs: u32,
}

/// Bits of [`DeviceInfo::flags`].
pub mod device_flags {
    /// [`DEVICE_RESET`](super::Command::DEVICE_RESET) is served.
    pub const RESET: u32 = 1;
    /// A PCI device: regions and interrupt types are numbered as in [`pci`](super::pci).
    pub const PCI: u32 = 1 << 1;
}

/// Both ways in [`Command::DEVICE_GET_REGION_INFO`].
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
pub struct RegionInfo {
    /// Octets of this structure and of the capabilities after it.
    pub argsz: u32,
    /// See [`region_flags`].
    pub flags: u32,
    /// Index of the region.
    pub index: u32,
    /// Offset of the capabilities, if there are any.
    pub capabilities: u32,
    /// Octets of the region; 0 if it is absent.
    pub size: u64,
    /// Offset for `mmap`, if the region can be mapped.
    pub offset: u64,
}

/// Bits of [`RegionInfo::flags`].
pub mod region_flags {
    /// The client may read.
    pub const READABLE: u32 = 1;
    /// The client may write.
    pub const WRITABLE: u32 = 1 << 1;
}

/// Both ways in [`Command::DEVICE_GET_IRQ_INFO`].
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
pub struct IrqInfo {
    /// Octets of this structure.
    pub argsz: u32,
    /// See [`irq_flags`].
    pub flags: u32,
    /// Index of the type.
    pub index: u32,
    /// Interrupts of this type.
    pub count: u32,
}

/// Bits of [`IrqInfo::flags`].
pub mod irq_flags {
    /// Interrupts can be signalled through eventfds.
    pub const EVENTFD: u32 = 1;
}

/// Request of [`Command::DEVICE_SET_IRQS`]; the reply has no payload. Eventfds come as descriptors, one for each
/// interrupt or none at all; booleans follow as octets.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
pub struct IrqSet {
    /// Octets of this structure and of the data after it, without descriptors.
    pub argsz: u32,
    /// One of the data bits and one of the action bits of [`irq_set_flags`].
    pub flags: u32,
    /// Index of the type.
    pub index: u32,
    /// First interrupt of that type.
    pub start: u32,
    /// Interrupts from there on. 0 without data: all of the type lose their eventfds.
    pub count: u32,
}

/// Bits of [`IrqSet::flags`].
pub mod irq_set_flags {
    /// No data.
    pub const DATA_NONE: u32 = 1;
    /// A boolean for each interrupt.
    pub const DATA_BOOL: u32 = 1 << 1;
    /// An eventfd for each interrupt, or no descriptor at all to remove the eventfds.
    pub const DATA_EVENTFD: u32 = 1 << 2;
    /// Mask.
    pub const ACTION_MASK: u32 = 1 << 3;
    /// Unmask.
    pub const ACTION_UNMASK: u32 = 1 << 4;
    /// Trigger; with eventfds: which eventfd the device triggers.
    pub const ACTION_TRIGGER: u32 = 1 << 5;
}

/// Both ways in [`Command::REGION_READ`] (data after the reply) and [`Command::REGION_WRITE`] (data after the request).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
pub struct RegionAccess {
    /// Octets from the beginning of the region.
    pub offset: u64,
    /// Index of the region.
    pub region: u32,
    /// Octets of data.
    pub count: u32,
}

/// Numbers of regions and interrupt types of a PCI device, as in Linux.
pub mod pci {
    /// Base address registers 0 to 5 are regions 0 to 5.
    pub const BAR0: u32 = 0;
    /// The expansion ROM.
    pub const ROM: u32 = 6;
    /// Configuration space.
    pub const CONFIG: u32 = 7;
    /// Legacy VGA ranges.
    pub const VGA: u32 = 8;
    /// Regions that every PCI device lists, absent ones with size 0.
    pub const REGIONS: usize = 9;
    /// Interrupt pin.
    pub const INTX: u32 = 0;
    /// Message signalled interrupts.
    pub const MSI: u32 = 1;
    /// Extended message signalled interrupts.
    pub const MSIX: u32 = 2;
    /// Errors of the bus.
    pub const ERROR: u32 = 3;
    /// The host requests the device back.
    pub const REQUEST: u32 = 4;
    /// Interrupt types that every PCI device lists, absent ones with count 0.
    pub const IRQS: usize = 5;
}

#[cfg(test)]
mod tests {
    use super::*;

    // Offsets and lengths from the specification.
    #[test]
    fn layouts_have_the_specified_lengths_and_offsets() {
        use std::mem::offset_of;
        assert_eq!(HEADER_LENGTH, 16);
        assert_eq!(size_of::<Version>(), 4);
        assert_eq!(size_of::<DmaMapRequest>(), 32);
        assert_eq!(size_of::<DmaUnmap>(), 24);
        assert_eq!(size_of::<DeviceInfo>(), 16);
        assert_eq!(size_of::<RegionInfo>(), 32);
        assert_eq!(size_of::<IrqInfo>(), 16);
        assert_eq!(size_of::<IrqSet>(), 20);
        assert_eq!(size_of::<RegionAccess>(), 16);
        assert_eq!(
            [
                offset_of!(Header, id),
                offset_of!(Header, command),
                offset_of!(Header, size),
                offset_of!(Header, flags),
                offset_of!(Header, errno)
            ],
            [0, 2, 4, 8, 12]
        );
        assert_eq!(
            [
                offset_of!(DmaMapRequest, flags),
                offset_of!(DmaMapRequest, offset),
                offset_of!(DmaMapRequest, iova),
                offset_of!(DmaMapRequest, length)
            ],
            [4, 8, 16, 24]
        );
        assert_eq!(
            [offset_of!(DmaUnmap, iova), offset_of!(DmaUnmap, length)],
            [8, 16]
        );
        assert_eq!(
            [
                offset_of!(RegionInfo, index),
                offset_of!(RegionInfo, capabilities),
                offset_of!(RegionInfo, size),
                offset_of!(RegionInfo, offset)
            ],
            [8, 12, 16, 24]
        );
        assert_eq!(
            [
                offset_of!(RegionAccess, offset),
                offset_of!(RegionAccess, region),
                offset_of!(RegionAccess, count)
            ],
            [0, 8, 12]
        );
    }

    #[test]
    fn commands_show_their_names() {
        assert_eq!(Command::DMA_MAP.to_string(), "DMA_MAP");
        assert_eq!(Command(99).to_string(), "command 99");
    }
}
