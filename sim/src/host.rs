//! Host memory as the card reaches it: maps of bus addresses to files, as an IOMMU has them.

use std::collections::BTreeMap;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use warpline_driver::DmaMap;

use crate::Error;

/// All maps.
#[derive(Debug, Default)]
pub(crate) struct Host {
    maps: BTreeMap<u64, Map>,
    /// Writes here are refused although they are mapped.
    pub faulty: Range<u64>,
}

#[derive(Debug)]
struct Map {
    length: u64,
    file: File,
    offset: u64,
}

impl Host {
    /// Adds a map.
    pub fn map(&mut self, memory: &DmaMap<'_>) -> Result<(), Error> {
        let DmaMap {
            iova,
            length,
            offset,
            ..
        } = *memory;
        let refused = |problem| Error::Map {
            iova,
            length,
            problem,
        };
        let end = iova.checked_add(length).filter(|_| length > 0);
        let end = end.ok_or(refused("are no range"))?;
        let below = self.maps.range(..end).next_back();
        if below.is_some_and(|(start, map)| start + map.length > iova) {
            return Err(refused("are mapped: unmap them first"));
        }
        let file = memory.file.try_clone_to_owned().map_err(Error::File)?;
        let map = Map {
            length,
            file: file.into(),
            offset,
        };
        self.maps.insert(iova, map);
        Ok(())
    }

    /// Removes a map.
    pub fn unmap(&mut self, iova: u64, length: u64) -> Result<(), Error> {
        match self.maps.get(&iova) {
            Some(map) if map.length == length => {
                self.maps.remove(&iova);
                Ok(())
            }
            _ => Err(Error::Map {
                iova,
                length,
                problem: "are not mapped like that",
            }),
        }
    }

    /// Whether all of the addresses belong to one map.
    pub fn reaches(&self, address: u64, length: usize) -> bool {
        let Some(end) = address.checked_add(length as u64) else {
            return false;
        };
        let faulty = self.faulty.start < end && address < self.faulty.end;
        let map = self.maps.range(..=address).next_back();
        !faulty && map.is_some_and(|(start, map)| end - start <= map.length)
    }

    /// Writes `octets`; false when they do not belong to one map.
    ///
    /// The last dword is written on its own, behind the others, as a host sees it come over a bus.
    pub fn store(&self, address: u64, octets: &[u8]) -> bool {
        if !self.reaches(address, octets.len()) {
            return false;
        }
        let Some((start, map)) = self.maps.range(..=address).next_back() else {
            return false;
        };
        let at = map.offset + (address - start);
        let (front, last) = octets.split_at(octets.len().saturating_sub(4));
        let write = |octets, at| map.file.write_all_at(octets, at).is_ok();
        (front.is_empty() || write(front, at)) && write(last, at + front.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    fn map(file: &File, iova: u64, length: u64, offset: u64) -> DmaMap<'_> {
        DmaMap {
            iova,
            length,
            file: file.as_fd(),
            offset,
            address: 0,
        }
    }

    #[test]
    fn stores_go_where_the_map_says_or_nowhere() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(3 * 4096).unwrap();
        let mut host = Host::default();
        host.map(&map(&file, 0x10000, 4096, 4096)).unwrap();
        assert!(host.store(0x10000, &[1, 2, 3, 4, 5]));
        assert!(host.store(0x10FFE, &[6, 7]));
        for (address, length) in [
            (0xFFFF, 2),
            (0x10FFF, 2),
            (0x11000, 1),
            (0, 1),
            (u64::MAX, 2),
        ] {
            assert!(!host.store(address, &vec![9; length]), "{address:#x}");
        }
        let mut octets = vec![0; 3 * 4096];
        file.read_exact_at(&mut octets, 0).unwrap();
        assert_eq!(octets[4096..4101], [1, 2, 3, 4, 5]);
        assert_eq!(octets[8190..8192], [6, 7]);
        assert_eq!(octets.iter().filter(|octet| **octet != 0).count(), 7);
        host.faulty = 0x10004..0x10005;
        assert!(!host.store(0x10000, &[0; 5]));
        assert!(host.store(0x10000, &[0; 4]));
        host.unmap(0x10000, 4096).unwrap();
        assert!(!host.store(0x10000, &[0]));
    }

    #[test]
    fn maps_neither_overlap_nor_vanish_twice() {
        let file = tempfile::tempfile().unwrap();
        let mut host = Host::default();
        host.map(&map(&file, 0x2000, 0x2000, 0)).unwrap();
        host.map(&map(&file, 0x5000, 0x1000, 0)).unwrap();
        for (iova, length) in [
            (0x2000, 0x1000),
            (0x1000, 0x1001),
            (0x3FFF, 1),
            (0x4000, 0x1001),
        ] {
            let refused = host.map(&map(&file, iova, length, 0));
            assert!(matches!(refused, Err(Error::Map { .. })), "{iova:#x}");
        }
        assert!(host.map(&map(&file, u64::MAX, 2, 0)).is_err());
        assert!(host.map(&map(&file, 0x4000, 0, 0)).is_err());
        host.map(&map(&file, 0x4000, 0x1000, 0)).unwrap();
        assert!(host.unmap(0x2000, 0x1000).is_err());
        host.unmap(0x2000, 0x2000).unwrap();
        assert!(host.unmap(0x2000, 0x2000).is_err());
    }
}
