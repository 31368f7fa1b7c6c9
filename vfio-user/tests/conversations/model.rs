//! A device that records all calls, and checks the server's guarantees to a target.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;

use warpline_vfio_user::{DmaMap, Errno, Refused, RegionInfo, Target};

/// Arguments of a map.
#[derive(Debug)]
pub struct Map {
    pub length: u64,
    pub fd: Option<OwnedFd>,
    pub offset: u64,
    pub readable: bool,
    pub writable: bool,
}

/// Octets of the regions; region 3 is absent, 1 is read-only, 2 is write-only.
pub const SIZES: [u64; 5] = [0x1000, 0x100, 0x80, 0, 2 << 20];
/// Interrupts by type.
pub const IRQS: [u32; 5] = [0, 0, 40, 0, 1];

#[derive(Debug)]
pub struct Model {
    pub regions: Vec<Vec<u8>>,
    pub maps: BTreeMap<u64, Map>,
    pub irqs: Vec<Vec<Option<OwnedFd>>>,
    pub resets: u32,
    pub disconnects: u32,
    /// Every request is refused with this error.
    pub refuse: Option<Errno>,
}

impl Default for Model {
    fn default() -> Model {
        Model {
            regions: SIZES.iter().map(|&size| vec![0; size as usize]).collect(),
            maps: BTreeMap::new(),
            irqs: IRQS.iter().map(|&count| nothing(count)).collect(),
            resets: 0,
            disconnects: 0,
            refuse: None,
        }
    }
}

fn nothing(count: u32) -> Vec<Option<OwnedFd>> {
    (0..count).map(|_| None).collect()
}

pub fn region_infos() -> Vec<RegionInfo> {
    let info = |(index, &size)| RegionInfo {
        size,
        readable: size > 0 && index != 2,
        writable: size > 0 && index != 1,
    };
    SIZES.iter().enumerate().map(info).collect()
}

impl Model {
    fn asked(&self) -> Result<(), Refused> {
        assert_eq!(self.disconnects, 0, "a call after the last");
        self.refuse.map_or(Ok(()), |errno| Err(errno.into()))
    }
}

impl Target for Model {
    fn regions(&self) -> Vec<RegionInfo> {
        region_infos()
    }

    fn irqs(&self) -> Vec<u32> {
        IRQS.to_vec()
    }

    fn region_read(&mut self, region: u32, offset: u64, data: &mut [u8]) -> Result<(), Refused> {
        self.asked()?;
        assert!(region_infos()[region as usize].readable && !data.is_empty());
        let from = offset as usize;
        data.copy_from_slice(&self.regions[region as usize][from..from + data.len()]);
        Ok(())
    }

    fn region_write(&mut self, region: u32, offset: u64, data: &[u8]) -> Result<(), Refused> {
        self.asked()?;
        assert!(region_infos()[region as usize].writable && !data.is_empty());
        let from = offset as usize;
        self.regions[region as usize][from..from + data.len()].copy_from_slice(data);
        Ok(())
    }

    fn dma_map(&mut self, map: DmaMap) -> Result<(), Refused> {
        self.asked()?;
        assert!(map.length > 0 && (map.readable || map.writable));
        let last = map.iova.checked_add(map.length - 1).expect("an end");
        for (&iova, other) in &self.maps {
            let end = iova + (other.length - 1);
            assert!(end < map.iova || last < iova, "overlap");
        }
        let DmaMap {
            iova,
            length,
            fd,
            offset,
            readable,
            writable,
        } = map;
        let map = Map {
            length,
            fd,
            offset,
            readable,
            writable,
        };
        assert!(self.maps.insert(iova, map).is_none());
        Ok(())
    }

    fn dma_unmap(&mut self, iova: u64, length: u64) -> Result<(), Refused> {
        self.asked()?;
        let map = self.maps.remove(&iova).expect("a map begins there");
        assert_eq!(map.length, length);
        Ok(())
    }

    fn set_irqs(
        &mut self,
        index: u32,
        first: u32,
        eventfds: Vec<Option<OwnedFd>>,
    ) -> Result<(), Refused> {
        self.asked()?;
        let first = first as usize;
        for (place, eventfd) in self.irqs[index as usize][first..][..eventfds.len()]
            .iter_mut()
            .zip(eventfds)
        {
            *place = eventfd;
        }
        Ok(())
    }

    fn reset(&mut self) -> Result<(), Refused> {
        self.asked()?;
        self.resets += 1;
        for region in &mut self.regions {
            region.fill(0);
        }
        Ok(())
    }

    fn disconnected(&mut self) {
        self.disconnects += 1;
        self.maps.clear();
        for eventfds in &mut self.irqs {
            eventfds.fill_with(|| None);
        }
    }
}
