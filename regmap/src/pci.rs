//! What a host finds in the card's PCI configuration space and at its base address registers.
//!
//! ```text
//!  BAR 0 ─► registers (register::SPACE)      BAR 2 ─► MSI-X table │ pending bits
//! ```

use crate::{mailbox, register};

/// Vendor. Together with `DEVICE` it is an experimental identifier: QEMU's registry (`docs/specs/pci-ids`) reserves
/// 1af4:10f0 to 1af4:10ff for use without registration, as long as the device is not shipped. Linux's `virtio_pci` matches
/// the vendor but rejects the device. A board for sale needs its own identifier.
pub const VENDOR: u16 = 0x1AF4;
/// Device.
pub const DEVICE: u16 = 0x10F0;
/// Revision: major version of the register map.
pub const REVISION: u8 = (register::VERSION_VALUE >> 16) as u8;
/// Class code: network controller, other.
pub const CLASS: u32 = 0x02_8000;
/// Subsystem vendor and subsystem.
pub const SUBSYSTEM_VENDOR: u16 = VENDOR;
/// Subsystem: the simulated card.
pub const SUBSYSTEM: u16 = 0x0001;

/// Base address register of the registers.
pub const REGISTER_BAR: usize = 0;
/// Octets that it maps: a power of two.
pub const REGISTER_BAR_SIZE: u64 = register::SPACE as u64;
/// Base address register of the MSI-X table and its pending bits.
pub const MSIX_BAR: usize = 2;
/// Octets that it maps: a power of two.
pub const MSIX_BAR_SIZE: u64 = 0x1000;
/// Offset of the table in its BAR.
pub const MSIX_TABLE: u64 = 0x000;
/// Offset of the pending bits in the same BAR.
pub const MSIX_PENDING: u64 = 0x800;
/// Interrupt vectors: those of the RTL, and the mailbox's.
pub const VECTORS: usize = mailbox::INTERRUPT + 1;
