//! The card in software as a PCI function, for a host at the other end of a socket.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::thread::{self, JoinHandle};

use warpline_driver::Device;
use warpline_regmap::register::{self, interrupt};
use warpline_vfio_user::protocol::pci::{CONFIG, IRQS, MSIX, REGIONS};
use warpline_vfio_user::{DmaMap, Errno, Refused, RegionInfo, Target, serve};

use super::SoftwareCard;

/// Memory and bus master, bits of the command register.
const MEMORY: u16 = 1 << 1;
const MASTER: u16 = 1 << 2;

/// BARs and vectors of the function.
pub struct Function {
    pub card: SoftwareCard,
    pub register_octets: u64,
    pub vectors: u32,
    pub command: u16,
}

impl Function {
    /// A correct function.
    pub fn new(card: &SoftwareCard) -> Self {
        Self {
            card: card.clone(),
            register_octets: register::SPACE.into(),
            vectors: interrupt::COUNT as u32,
            command: 0,
        }
    }

    /// Serves one host in a thread.
    pub fn connect(mut self) -> (UnixStream, JoinHandle<()>) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let served = move || {
            let _ = serve(theirs, &mut self); // in some tests the host vanishes
        };
        (ours, thread::spawn(served))
    }

    fn answers(&self, data: usize) -> Result<(), Refused> {
        match self.command & MEMORY {
            0 => Err(Errno::IO.into()),
            _ if data != 4 => Err(Errno::INVAL.into()),
            _ => Ok(()),
        }
    }
}

impl Target for Function {
    fn regions(&self) -> Vec<RegionInfo> {
        let mut regions = vec![RegionInfo::default(); REGIONS];
        let region = |size| RegionInfo {
            size,
            readable: true,
            writable: true,
        };
        regions[0] = region(self.register_octets);
        regions[CONFIG as usize] = region(256);
        regions
    }

    fn irqs(&self) -> Vec<u32> {
        let mut irqs = vec![0; IRQS];
        irqs[MSIX as usize] = self.vectors;
        irqs
    }

    fn region_read(&mut self, region: u32, offset: u64, data: &mut [u8]) -> Result<(), Refused> {
        if region == CONFIG {
            let mut octets = [0; 256];
            octets[4..6].copy_from_slice(&self.command.to_le_bytes());
            data.copy_from_slice(&octets[offset as usize..][..data.len()]);
            return Ok(());
        }
        self.answers(data.len())?;
        let value = self.card.read(offset as u32).map_err(|_| Errno::IO)?;
        data.copy_from_slice(&value.to_le_bytes());
        Ok(())
    }

    fn region_write(&mut self, region: u32, offset: u64, data: &[u8]) -> Result<(), Refused> {
        if region == CONFIG {
            if (offset, data.len()) == (4, 2) {
                self.command = u16::from_le_bytes(data.try_into().unwrap());
            }
            return Ok(());
        }
        self.answers(data.len())?;
        let value = u32::from_le_bytes(data.try_into().unwrap());
        let written = self.card.write(offset as u32, value);
        Ok(written.map_err(|_| Errno::IO)?)
    }

    fn dma_map(&mut self, map: DmaMap) -> Result<(), Refused> {
        let file = map.fd.ok_or(Errno::INVAL)?;
        let memory = warpline_driver::DmaMap {
            iova: map.iova,
            length: map.length,
            file: file.as_fd(),
            offset: map.offset,
        };
        assert!(map.readable && map.writable && self.command & MASTER != 0);
        Ok(self.card.map(memory).map_err(|_| Errno::NOMEM)?)
    }

    fn dma_unmap(&mut self, iova: u64, length: u64) -> Result<(), Refused> {
        Ok(self.card.unmap(iova, length).map_err(|_| Errno::IO)?)
    }

    fn set_irqs(
        &mut self,
        index: u32,
        first: u32,
        eventfds: Vec<Option<OwnedFd>>,
    ) -> Result<(), Refused> {
        assert_eq!(index, MSIX);
        let mut model = self.card.model();
        for (vector, eventfd) in (first as usize..).zip(eventfds) {
            model.targets[vector] = eventfd.map(File::from);
        }
        Ok(())
    }

    fn reset(&mut self) -> Result<(), Refused> {
        self.command = 0; // a stricter function than the protocol requires
        Ok(self.card.reset().map_err(|_| Errno::IO)?)
    }

    fn disconnected(&mut self) {
        let mut model = self.card.model();
        model.targets = [const { None }; interrupt::COUNT];
        model.unmap_all();
    }
}
