//! Host memory for the card: maps of bus addresses to files, as in an IOMMU.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Weak};

use rustix::fs::{OFlags, fcntl_getfl};

use crate::error::Error;
use crate::host_file::HostFile;

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
    file: Arc<HostFile>,
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
    files: HashMap<FileKey, Weak<HostFile>>,
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
        let file = self.share(memory.file, end.unwrap_or(u64::MAX));
        let file = file.map_err(|_| {
            refused(
                "lie in a file that can be neither written nor mapped: set more huge pages aside",
            )
        })?;
        if end.is_none_or(|end| end > file.limit()) {
            return Err(refused("lie beyond the end of a file of huge pages"));
        }
        let map = Map {
            last,
            offset: memory.offset,
            read: memory.read,
            write: memory.write,
            file,
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

    /// The file, or the same one if it is already open and reaches as far as `end`.
    fn share(&mut self, file: File, end: u64) -> io::Result<Arc<HostFile>> {
        let metadata = file.metadata().ok();
        let key = metadata.zip(fcntl_getfl(&file).ok());
        let key = key.map(|(metadata, flags)| (metadata.dev(), metadata.ino(), flags));
        let open = key.and_then(|key| self.files.get(&key)?.upgrade());
        if let Some(open) = open.filter(|open| end <= open.limit()) {
            return Ok(open);
        }
        let file = Arc::new(HostFile::new(file)?);
        if let Some(key) = key {
            self.files.insert(key, Arc::downgrade(&file));
        }
        Ok(file)
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
        let write = |octets, at| map.file.write(octets, at).is_ok();
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
        map.file.read(octets, at).is_ok()
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
    use crate::host_file::Mapping;
    use rustix::fs::{MemfdFlags, memfd_create};
    use std::os::unix::fs::FileExt;

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

    /// Rights and refusals are the same for memory that can only be mapped.
    #[test]
    fn mapped_memory_is_like_a_file() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(0x3000).unwrap();
        let mut host = Host::default();
        let mapping = Arc::new(HostFile::Mapped(Mapping::new(&file).unwrap()));
        let metadata = file.metadata().unwrap();
        let key = (metadata.dev(), metadata.ino(), fcntl_getfl(&file).unwrap());
        host.files.insert(key, Arc::downgrade(&mapping));
        let read_only = HostMemory {
            write: false,
            ..map(&file, 0x1000, 0x1000, 0)
        };
        let write_only = HostMemory {
            read: false,
            ..map(&file, 0x2000, 0x1000, 0x1000)
        };
        host.map(read_only).unwrap();
        host.map(write_only).unwrap();
        host.map(map(&file, 0x8000, 0x1000, 0x2000)).unwrap();
        assert_eq!(Arc::strong_count(&mapping), 4);
        let mut octets = [0; 5];
        assert!(!host.store(0x1000, &[1]) && host.load(0x1000, &mut octets));
        assert!(host.store(0x2ffb, &[1, 2, 3, 4, 5]) && !host.load(0x2ffb, &mut octets));
        assert!(!host.store(0x2ffc, &[9; 5]));
        assert!(host.store(0x8000, &[6, 7, 8, 9, 10]) && host.load(0x8000, &mut octets));
        assert_eq!(octets, [6, 7, 8, 9, 10]);
        file.read_exact_at(&mut octets, 0x1ffb).unwrap();
        assert_eq!(octets, [1, 2, 3, 4, 5]);
        // A host that takes its memory away gets no octets, and no signal ends the card.
        file.set_len(0x2000).unwrap();
        assert!(!host.store(0x8000, &[1]) && !host.load(0x8000, &mut octets));
        assert!(host.store(0x2000, &[1]));
    }

    /// Memory of huge pages is mapped at once or refused at once.
    #[test]
    fn huge_pages_that_are_not_there_are_refused() {
        const HUGE: u64 = 2 << 20;
        let flags = MemfdFlags::HUGETLB | MemfdFlags::HUGE_2MB;
        let file = File::from(memfd_create("huge", flags).unwrap());
        file.set_len(HUGE).unwrap();
        let mut host = Host::default();
        match host.map(map(&file, 0x1000, HUGE, 0)) {
            Ok(()) => {
                assert!(host.store(0x1000 + HUGE - 5, &[1, 2, 3, 4, 5]));
                let mut octets = [0; 5];
                file.read_exact_at(&mut octets, HUGE - 5).unwrap();
                assert_eq!(octets, [1, 2, 3, 4, 5]);
            }
            Err(refused) => {
                eprintln!("not run: no huge pages are free");
                assert!(refused.to_string().ends_with("set more huge pages aside"));
            }
        }
        // Such a file has an end; one that can be written grows.
        assert!(host.map(map(&file, 0x1000_0000, HUGE, 1)).is_err());
        assert!(!host.reaches(0x1000_0000, 1));
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
