//! Host memory for the card: maps of bus addresses to files, as in an IOMMU.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::{Arc, Weak};

use rustix::fs::{OFlags, fcntl_getfl};

use crate::error::Error;

/// Host memory for the card: a range of a file, at a bus address.
#[derive(Debug)]
pub struct HostMemory {
    /// Bus address of the first octet.
    pub iova: u64,
    /// Octets, 1 to 2^64 - `iova`.
    pub length: u64,
    /// File that holds the memory.
    pub file: File,
    /// Offset of the memory in the file.
    pub offset: u64,
    /// The card may read it.
    pub read: bool,
    /// The card may write to it.
    pub write: bool,
}

/// A map.
#[derive(Debug)]
struct Map {
    last: u64,
    file: Arc<File>,
    offset: u64,
    read: bool,
    write: bool,
}

/// Device, inode and mode: equal for two descriptors of the same file.
type FileKey = (u64, u64, OFlags);

/// All maps.
#[derive(Debug)]
pub(crate) struct Host {
    /// By the bus address of their first octet.
    maps: BTreeMap<u64, Map>,
    /// Files of the maps, each open once: a virtual machine maps one file page by page, with more pages than a process may
    /// open files.
    files: HashMap<FileKey, Weak<File>>,
    /// Writes to these addresses are refused though they are mapped.
    pub faulty: Range<u64>,
    /// Reads of these addresses are refused though they are mapped.
    pub faulty_reads: Range<u64>,
    /// The card is bus master.
    pub master: bool,
}

impl Default for Host {
    fn default() -> Self {
        Self {
            maps: BTreeMap::new(),
            files: HashMap::new(),
            faulty: 0..0,
            faulty_reads: 0..0,
            master: true,
        }
    }
}

impl Host {
    /// Adds a map.
    pub fn map(&mut self, memory: HostMemory) -> Result<(), Error> {
        let HostMemory { iova, length, .. } = memory;
        let refused = |problem| Error::Map {
            iova,
            length,
            problem,
        };
        let last = last(iova, length).ok_or(refused("are not a range"))?;
        let below = self.maps.range(..=last).next_back();
        if below.is_some_and(|(_, map)| map.last >= iova) {
            return Err(refused("overlap a map: unmap it first"));
        }
        let end = memory.offset.checked_add(length);
        if end.is_none_or(|end| i64::try_from(end).is_err()) {
            return Err(refused("lie beyond the end of any file"));
        }
        let map = Map {
            last,
            offset: memory.offset,
            read: memory.read,
            write: memory.write,
            file: self.share(memory.file),
        };
        self.maps.insert(iova, map);
        Ok(())
    }

    /// Removes all maps that lie in a range, and returns their total length in octets.
    pub fn unmap(&mut self, iova: u64, length: u64) -> Result<u64, Error> {
        let refused = |problem| Error::Map {
            iova,
            length,
            problem,
        };
        let last = last(iova, length).ok_or(refused("are not a range"))?;
        let inside = self.maps.range(iova..=last);
        let starts: Vec<_> = inside.map(|(start, _)| *start).collect();
        let below = self.maps.range(..iova).next_back();
        let cut = below.is_some_and(|(_, map)| map.last >= iova)
            || starts
                .last()
                .is_some_and(|start| self.maps[start].last > last);
        if cut {
            return Err(refused("cut a map in two"));
        }
        let removed = starts
            .iter()
            .filter_map(|start| Some(self.maps.remove(start)?.last - start + 1));
        let removed = removed.sum();
        self.files.retain(|_, file| file.strong_count() > 0);
        Ok(removed)
    }

    /// The file, or the same one that is already open.
    fn share(&mut self, file: File) -> Arc<File> {
        let metadata = file.metadata().ok();
        let Some((metadata, flags)) = metadata.zip(fcntl_getfl(&file).ok()) else {
            return Arc::new(file);
        };
        let key = (metadata.dev(), metadata.ino(), flags);
        if let Some(open) = self.files.get(&key).and_then(Weak::upgrade) {
            return open;
        }
        let file = Arc::new(file);
        self.files.insert(key, Arc::downgrade(&file));
        file
    }

    /// Removes all maps.
    pub fn unmap_all(&mut self) {
        self.maps.clear();
        self.files.clear();
    }

    /// Bus address and octets of all maps, ascending.
    pub fn ranges(&self) -> Vec<(u64, u64)> {
        let maps = self.maps.iter();
        maps.map(|(start, map)| (*start, map.last - start + 1))
            .collect()
    }

    /// The map that holds all of the addresses.
    fn find(&self, address: u64, length: usize) -> Option<(u64, &Map)> {
        let last = last(address, length as u64)?;
        let (start, map) = self.maps.range(..=address).next_back()?;
        (self.master && last <= map.last).then_some((*start, map))
    }

    /// Whether all of the addresses belong to one writable map.
    pub fn reaches(&self, address: u64, length: usize) -> bool {
        !meet(&self.faulty, address, length)
            && self.find(address, length).is_some_and(|(_, map)| map.write)
    }

    /// Writes `octets`; false when they do not belong to one map.
    ///
    /// The last dword is written separately, after the others, as over a bus.
    pub fn store(&self, address: u64, octets: &[u8]) -> bool {
        let map = self.find(address, octets.len());
        let Some((start, map)) = map.filter(|_| self.reaches(address, octets.len())) else {
            return false;
        };
        let at = map.offset + (address - start);
        let (front, last) = octets.split_at(octets.len().saturating_sub(4));
        let write = |octets, at| map.file.write_all_at(octets, at).is_ok();
        (front.is_empty() || write(front, at)) && write(last, at + front.len() as u64)
    }

    /// Reads `octets`; false when they do not all belong to one readable map.
    pub fn load(&self, address: u64, octets: &mut [u8]) -> bool {
        let map = self.find(address, octets.len());
        let map = map.filter(|(_, map)| map.read);
        let Some((start, map)) = map.filter(|_| !meet(&self.faulty_reads, address, octets.len()))
        else {
            return false;
        };
        let at = map.offset + (address - start);
        map.file.read_exact_at(octets, at).is_ok()
    }
}

/// Whether a range holds one of the addresses.
fn meet(range: &Range<u64>, address: u64, length: usize) -> bool {
    range.start < address.saturating_add(length as u64) && address < range.end
}

/// The last address of a valid range.
fn last(iova: u64, length: u64) -> Option<u64> {
    iova.checked_add(length.checked_sub(1)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(file: &File, iova: u64, length: u64, offset: u64) -> HostMemory {
        HostMemory {
            iova,
            length,
            file: file.try_clone().unwrap(),
            offset,
            read: true,
            write: true,
        }
    }

    #[test]
    fn stores_follow_the_map_or_are_refused() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(3 * 4096).unwrap();
        let mut host = Host::default();
        host.map(map(&file, 0x10000, 4096, 4096)).unwrap();
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
    fn maps_do_not_overlap_and_end_once() {
        let file = tempfile::tempfile().unwrap();
        let mut host = Host::default();
        host.map(map(&file, 0x2000, 0x2000, 0)).unwrap();
        host.map(map(&file, 0x5000, 0x1000, 0)).unwrap();
        for (iova, length) in [
            (0x2000, 0x1000),
            (0x1000, 0x1001),
            (0x3FFF, 1),
            (0x4000, 0x1001),
        ] {
            let refused = host.map(map(&file, iova, length, 0));
            assert!(matches!(refused, Err(Error::Map { .. })), "{iova:#x}");
        }
        for (iova, length, offset) in [
            (u64::MAX, 2, 0),
            (0x4000, 0, 0),
            (0x4000, 1, u64::MAX),
            (0x4000, 2, i64::MAX as u64 - 1),
        ] {
            assert!(host.map(map(&file, iova, length, offset)).is_err());
        }
        host.map(map(&file, 0x4000, 0x1000, 0)).unwrap();
        assert_eq!(host.unmap(0x2000, 0x2000).unwrap(), 0x2000);
        assert_eq!(host.unmap(0x2000, 0x2000).unwrap(), 0, "no map was left");
    }

    #[test]
    fn unmapping_takes_whole_maps() {
        let file = tempfile::tempfile().unwrap();
        let mut host = Host::default();
        let fill = |host: &mut Host| {
            for iova in [0x1000, 0x2000, 0x4000] {
                host.map(map(&file, iova, 0x1000, 0)).unwrap();
            }
            let end = map(&file, 0_u64.wrapping_sub(0x1000), 0x1000, 0);
            host.map(end).unwrap();
        };
        fill(&mut host);
        for (iova, length) in [
            (0x1001, 0xFFF),
            (0x1000, 0x1001),
            (0x1FFF, 1),
            (0x0000, 0x1001),
            (0x1000, 0),
            (0x1000, u64::MAX),
        ] {
            let refused = host.unmap(iova, length);
            assert!(matches!(refused, Err(Error::Map { .. })), "{iova:#x}");
        }
        assert_eq!(host.maps.len(), 4);
        // A range that ends at 2^64: a virtual machine clears its table so.
        let rest = 0_u64.wrapping_sub(0x1800);
        assert_eq!(host.unmap(0x1800, rest).ok(), None, "cuts the first one");
        let rest = 0_u64.wrapping_sub(0x2000);
        assert_eq!(host.unmap(0x2000, rest).unwrap(), 0x3000);
        assert_eq!(host.unmap(0, 0x3000).unwrap(), 0x1000);
        fill(&mut host);
        host.unmap_all();
        assert!(!host.reaches(0x1000, 1));
    }

    #[test]
    fn a_file_is_open_once_however_often_it_is_mapped() {
        let (file, other) = (tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
        let mut host = Host::default();
        for page in 0..3000 {
            let file = if page % 3 == 0 { &other } else { &file };
            host.map(map(file, 0x1000 * page, 0x1000, 0x1000 * page))
                .unwrap();
        }
        assert_eq!(host.files.len(), 2);
        assert!(host.store(0x4002, &[7]) && host.store(0x3003, &[8]));
        assert_eq!(
            (
                file.metadata().unwrap().len(),
                other.metadata().unwrap().len()
            ),
            (0x4003, 0x3004)
        );
        host.unmap(0, 0x1000 * 2999).unwrap();
        assert_eq!(host.files.len(), 1);
        host.unmap_all();
        assert!(host.files.is_empty());
    }

    #[test]
    fn rights_and_the_bus_gate_writes() {
        let file = tempfile::tempfile().unwrap();
        let mut host = Host::default();
        let read_only = HostMemory {
            write: false,
            ..map(&file, 0x1000, 0x1000, 0)
        };
        host.map(read_only).unwrap();
        host.map(map(&file, 0x2000, 0x1000, 0)).unwrap();
        assert!(!host.store(0x1000, &[1]));
        assert!(host.store(0x2000, &[1]));
        host.master = false;
        assert!(!host.store(0x2000, &[1]));
        assert_eq!(file.metadata().unwrap().len(), 1);
    }
}
