//! A card at the other end of a socket: in another process, or in a thread of this one.
//!
//! ```text
//!  register ─► region read, write ─┐
//!  map ──────► file descriptor ────┼─► socket ─► card
//!  reset ────► device reset ───────┘      │
//!  interrupt ◄──────── eventfd ◄──────────┘
//! ```
//!
//! Every call ends: with the card's answer, or with an error after the time-out. A card that closes the socket wakes all
//! threads that wait for it. Memory is mapped by file descriptor, so the card reaches this memory of the process only.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use rustix::event::EventfdFlags;
use warpline_regmap::pci::REGISTER_BAR;
use warpline_vfio_user::protocol::pci::{CONFIG, MSIX};
use warpline_vfio_user::{Client, Error, Permissions};

use super::function::{check, check_offset, command, vectors};
use crate::device::{Device, DeviceInfo, DmaMap, Result};
use crate::open_error::OpenError;

/// Bus addresses that every server accepts: those below 2^47, as on a machine with four levels of page tables, except
/// the range of interrupt messages.
const BUS_ADDRESSES: [std::ops::Range<u64>; 2] = [0x1000..0xFEE0_0000, 1 << 32..1 << 47];
/// Region of the registers.
const REGISTERS: u32 = REGISTER_BAR as u32;

/// A card at the other end of a socket.
pub struct VfioUser {
    name: String,
    client: Client,
    interrupts: Vec<OwnedFd>,
}

impl VfioUser {
    /// Default time limit for an answer of the card.
    pub const TIMEOUT: Duration = Duration::from_secs(10);

    /// Connects to the card that listens at `path`.
    ///
    /// # Errors
    /// [`OpenError::Socket`], [`OpenError::RegisterBar`], [`OpenError::Vectors`], [`OpenError::Eventfd`].
    pub fn connect(path: &Path, timeout: Duration) -> std::result::Result<Self, OpenError> {
        let client = Client::connect(path, timeout).map_err(socket("connecting to the card"))?;
        Self::set_up(path.display().to_string(), client)
    }

    /// Opens the card at the other end of `stream`.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub fn over(stream: UnixStream, timeout: Duration) -> std::result::Result<Self, OpenError> {
        let client = Client::over(stream, timeout).map_err(socket("connecting to the card"))?;
        Self::set_up("vfio-user".into(), client)
    }

    fn set_up(name: String, client: Client) -> std::result::Result<Self, OpenError> {
        let region = client.region_info(REGISTERS);
        let region = region.map_err(socket("asking for the register BAR"))?;
        let size = match region.readable && region.writable {
            true => region.size,
            false => 0,
        };
        let irq = client.irq_info(MSIX).map_err(socket("asking for MSI-X"))?;
        check(size, if irq.eventfd { irq.count } else { 0 })?;
        let eventfd = || {
            let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
            rustix::event::eventfd(0, flags).map_err(|error| OpenError::Eventfd {
                source: error.into(),
            })
        };
        let interrupts = (0..vectors(irq.count)).map(|_| eventfd());
        let interrupts = interrupts.collect::<std::result::Result<Vec<_>, _>>()?;
        let eventfds: Vec<_> = interrupts.iter().map(|fd| Some(fd.as_fd())).collect();
        let aimed = client.set_irqs(MSIX, 0, &eventfds);
        aimed.map_err(socket("enabling MSI-X"))?;
        let card = Self {
            name,
            client,
            interrupts,
        };
        card.let_in()
            .map_err(socket("writing the configuration space"))?;
        Ok(card)
    }

    /// Enables memory space and bus mastering.
    fn let_in(&self) -> std::result::Result<(), Error> {
        let mut octets = [0; 2];
        self.client
            .region_read(CONFIG, command::OFFSET, &mut octets)?;
        let wanted = u16::from_le_bytes(octets) | command::NEEDED;
        self.client
            .region_write(CONFIG, command::OFFSET, &wanted.to_le_bytes())
    }
}

fn socket(action: &'static str) -> impl FnOnce(Error) -> OpenError {
    move |source| OpenError::Socket { action, source }
}

impl Device for VfioUser {
    fn info(&self) -> DeviceInfo {
        DeviceInfo {
            name: self.name.clone(),
            bus_addresses: BUS_ADDRESSES.to_vec(),
        }
    }

    fn read(&self, offset: u32) -> Result<u32> {
        check_offset(offset)?;
        let mut octets = [0; 4];
        self.client
            .region_read(REGISTERS, offset.into(), &mut octets)?;
        Ok(u32::from_le_bytes(octets))
    }

    fn write(&self, offset: u32, value: u32) -> Result<()> {
        check_offset(offset)?;
        let octets = value.to_le_bytes();
        Ok(self
            .client
            .region_write(REGISTERS, offset.into(), &octets)?)
    }

    fn map(&self, memory: DmaMap<'_>) -> Result<()> {
        let DmaMap {
            iova,
            length,
            file,
            offset,
        } = memory;
        let rights = Permissions::READ_WRITE;
        Ok(self.client.dma_map(iova, length, file, offset, rights)?)
    }

    fn unmap(&self, iova: u64, length: u64) -> Result<()> {
        Ok(self.client.dma_unmap(iova, length)?)
    }

    fn vectors(&self) -> usize {
        self.interrupts.len()
    }

    fn interrupt(&self, vector: usize) -> BorrowedFd<'_> {
        self.interrupts[vector].as_fd()
    }

    fn hang_up(&self) -> Option<BorrowedFd<'_>> {
        Some(self.client.as_fd())
    }

    fn reset(&self) -> Result<()> {
        self.client.reset()?;
        Ok(self.let_in()?)
    }
}
