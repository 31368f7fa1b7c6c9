//! The card as a PCI function.
//!
//! ```text
//!               ┌─ configuration space ─ memory, bus master, power state, reset
//!  vfio-user ─► ├─ register BAR ──────── s_axil            ┌───────┐
//!  (serve)      ├─ MSI-X BAR ─────────── table, pending    │ Card  │
//!               ├─ DMA maps ──────────── host memory ◄──── └───────┘ ──► messages ─► eventfds
//!               └─ reset
//! ```
//!
//! A function belongs to one host at a time. When the host disconnects, in order or not, the card is as after power-up.

mod config;
mod msix;

use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use warpline_regmap::{pci, register};
use warpline_vfio_user::protocol::pci as number;
use warpline_vfio_user::{DmaMap, Errno, Refused, RegionInfo, Target};

use self::config::Configuration;
use self::msix::Messages;
use crate::card::Card;
use crate::error::Error;
use crate::host::HostMemory;

/// The function, for one host.
pub(crate) struct Function {
    card: Card,
    configuration: Configuration,
    messages: Arc<Mutex<Messages>>,
    /// The card was used since the last reset.
    used: bool,
    /// Octets of host memory that are mapped.
    mapped: u64,
}

impl Function {
    /// The function for a new host. The card's messages go to this host from now on.
    pub fn new(card: &Card) -> Self {
        let messages = Arc::new(Mutex::new(Messages::new()));
        let function = Self {
            card: card.clone(),
            configuration: Configuration::new(),
            messages: Arc::clone(&messages),
            used: false,
            mapped: 0,
        };
        card.set_messages(Box::new(move |vector| locked(&messages).send(vector)));
        function.gate();
        function
    }

    fn messages(&self) -> MutexGuard<'_, Messages> {
        locked(&self.messages)
    }

    /// Sets bus mastering and messages as the configuration space says.
    fn gate(&self) {
        let master = self.configuration.is_master();
        self.card.set_bus_master(master);
        self.messages().enable(master);
    }

    /// Function-level reset, requested in the configuration space: resets that space too.
    fn function_reset(&mut self) -> Result<(), Refused> {
        self.configuration = Configuration::new();
        self.messages().reset();
        self.gate();
        self.card.reset().map_err(refused("reset"))
    }

    /// The register BAR answers accesses of 1, 2 and 4 octets that lie in one register, and of 8 in two: the lower one
    /// first.
    fn registers(&self, offset: u64, length: usize) -> Result<u32, Refused> {
        let aligned = match length {
            1 | 2 | 4 | 8 => offset.is_multiple_of(length as u64),
            _ => false,
        };
        match u32::try_from(offset) {
            Ok(offset) if aligned && self.configuration.answers() => Ok(offset),
            Ok(_) if aligned => Err(Errno::IO.into()), // no answer: memory space is off
            _ => Err(Errno::INVAL.into()),
        }
    }
}

fn locked(messages: &Mutex<Messages>) -> MutexGuard<'_, Messages> {
    messages.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Logs the error, and returns `EIO` to the host.
fn refused(what: &'static str) -> impl FnOnce(Error) -> Refused {
    move |error| {
        tracing::warn!(%error, "{what} failed");
        let errno = match error {
            Error::Map { .. } => Errno::INVAL,
            _ => Errno::IO,
        };
        errno.into()
    }
}

impl Target for Function {
    fn regions(&self) -> Vec<RegionInfo> {
        let mut regions = vec![RegionInfo::default(); number::REGIONS];
        for (region, size) in [
            (pci::REGISTER_BAR, pci::REGISTER_BAR_SIZE),
            (pci::MSIX_BAR, pci::MSIX_BAR_SIZE),
            (number::CONFIG as usize, config::SIZE as u64),
        ] {
            regions[region] = RegionInfo {
                size,
                readable: true,
                writable: true,
            };
        }
        regions
    }

    fn irqs(&self) -> Vec<u32> {
        let mut irqs = vec![0; number::IRQS];
        irqs[number::MSIX as usize] = pci::VECTORS as u32;
        irqs
    }

    fn region_read(&mut self, region: u32, offset: u64, data: &mut [u8]) -> Result<(), Refused> {
        match region as usize {
            REGISTERS => {
                let offset = self.registers(offset, data.len())?;
                let (first, shift) = (offset & !3, offset as usize & 3);
                for (register, part) in (first..).step_by(4).zip(data.chunks_mut(4)) {
                    let read = self.card.read_register(register);
                    let word = read.map_err(refused("reading a register"))?.to_le_bytes();
                    part.copy_from_slice(&word[shift..][..part.len()]);
                }
                Ok(())
            }
            MSIX => {
                self.messages().read(offset, data);
                Ok(())
            }
            CONFIG => {
                self.configuration.read(offset, data);
                Ok(())
            }
            _ => Err(Errno::INVAL.into()),
        }
    }

    fn region_write(&mut self, region: u32, offset: u64, data: &[u8]) -> Result<(), Refused> {
        match region as usize {
            REGISTERS => {
                let offset = self.registers(offset, data.len())?;
                self.used = true;
                let (first, shift) = (offset & !3, offset as usize & 3);
                for (register, part) in (first..).step_by(4).zip(data.chunks(4)) {
                    let mut word = [0; 4];
                    word[shift..][..part.len()].copy_from_slice(part);
                    let strobes = !(u32::MAX << part.len()) << shift;
                    let written =
                        self.card
                            .write_octets(register, u32::from_le_bytes(word), strobes as u8);
                    written.map_err(refused("writing a register"))?;
                }
                Ok(())
            }
            MSIX => {
                self.messages().write(offset, data);
                Ok(())
            }
            CONFIG => {
                let reset = self.configuration.write(offset, data);
                self.gate();
                if reset { self.function_reset() } else { Ok(()) }
            }
            _ => Err(Errno::INVAL.into()),
        }
    }

    fn dma_map(&mut self, map: DmaMap) -> Result<(), Refused> {
        let DmaMap {
            iova,
            length,
            fd,
            offset,
            readable: read,
            writable: write,
        } = map;
        let Some(fd) = fd else {
            // The host does not share this memory: to the card these addresses are unmapped.
            tracing::debug!(iova, length, "memory without a file");
            return Ok(());
        };
        let memory = HostMemory {
            iova,
            length,
            file: fd.into(),
            offset,
            read,
            write,
        };
        self.card.map(memory).map_err(refused("mapping memory"))?;
        self.mapped += length;
        Ok(())
    }

    fn dma_unmap(&mut self, iova: u64, length: u64) -> Result<(), Refused> {
        let unmapped = self.card.unmap(iova, length);
        self.mapped -= unmapped.map_err(refused("unmapping memory"))?;
        Ok(())
    }

    fn set_irqs(
        &mut self,
        index: u32,
        first: u32,
        eventfds: Vec<Option<OwnedFd>>,
    ) -> Result<(), Refused> {
        if index != number::MSIX {
            return Err(Errno::INVAL.into());
        }
        let mut messages = self.messages();
        for (vector, eventfd) in (first as usize..).zip(eventfds) {
            if !messages.aim(vector, eventfd.map(Into::into)) {
                return Err(Errno::INVAL.into());
            }
        }
        Ok(())
    }

    /// Resets the device alone: the configuration space keeps its state, as a kernel restores it.
    fn reset(&mut self) -> Result<(), Refused> {
        self.messages().reset();
        self.card.reset().map_err(refused("reset"))?;
        self.used = false;
        Ok(())
    }

    fn disconnected(&mut self) {
        self.messages().forget();
        if self.mapped > 0 {
            self.card.unmap_all();
        }
        self.configuration = Configuration::new();
        if (self.used || self.mapped > 0)
            && let Err(error) = self.card.reset()
        {
            tracing::warn!(%error, "the card cannot be reset");
        }
        (self.used, self.mapped) = (false, 0);
        self.card.set_bus_master(true);
    }
}

const REGISTERS: usize = pci::REGISTER_BAR;
const MSIX: usize = pci::MSIX_BAR;
const CONFIG: usize = number::CONFIG as usize;

const _: () = assert!(pci::REGISTER_BAR_SIZE == register::SPACE as u64);
