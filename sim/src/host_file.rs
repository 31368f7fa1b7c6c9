//! A file that holds host memory: written as a file, or, where the system allows no writing, through a mapping.
//!
//! ```text
//!  ordinary memory (memfd, file) ─► pwrite, pread ────────────────────┐
//!  huge pages (hugetlbfs has no pwrite) ─► mapping ─► /proc/self/mem ─┴─► the host's processes see the octets
//! ```
//!
//! The mapping is touched by the kernel alone. So a host that shortens its file gets its access refused, as with an ordinary
//! file, and does not end the card with a signal; and octets that other processes change at any time are no matter of Rust's
//! rules for references.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use memmap2::{MmapOptions, MmapRaw};
use rustix::io::Errno;

/// A file that holds host memory.
#[derive(Debug)]
pub(crate) enum HostFile {
    /// It can be written.
    Plain(File),
    /// It can only be mapped.
    Mapped(Mapping),
}

/// All of a file, mapped.
#[derive(Debug)]
pub(crate) struct Mapping {
    map: MmapRaw,
    /// This process's memory, as a file.
    memory: File,
}

impl HostFile {
    /// Finds out how `file` can be accessed.
    ///
    /// # Errors
    /// The system allows neither writing nor mapping, for instance because no huge pages are free.
    pub fn new(file: File) -> io::Result<Self> {
        // Writing nothing changes nothing, and is refused all the same.
        match file.write_at(&[], 0) {
            Err(error) if error.raw_os_error() == Some(Errno::INVAL.raw_os_error()) => {
                Mapping::new(&file).map(Self::Mapped)
            }
            _ => Ok(Self::Plain(file)),
        }
    }

    /// Octets that can be accessed; a file that can be written grows.
    pub fn limit(&self) -> u64 {
        match self {
            Self::Plain(_) => i64::MAX as u64,
            Self::Mapped(mapping) => mapping.map.len() as u64,
        }
    }

    /// Writes all of `octets`.
    pub fn write(&self, octets: &[u8], at: u64) -> io::Result<()> {
        match self {
            Self::Plain(file) => file.write_all_at(octets, at),
            Self::Mapped(mapping) => {
                let address = mapping.address(octets.len(), at)?;
                mapping.memory.write_all_at(octets, address)
            }
        }
    }

    /// Fills `octets`.
    pub fn read(&self, octets: &mut [u8], at: u64) -> io::Result<()> {
        match self {
            Self::Plain(file) => file.read_exact_at(octets, at),
            Self::Mapped(mapping) => {
                let address = mapping.address(octets.len(), at)?;
                mapping.memory.read_exact_at(octets, address)
            }
        }
    }
}

impl Mapping {
    /// Maps all of `file`, which is open for reading and writing.
    pub fn new(file: &File) -> io::Result<Self> {
        Ok(Self {
            map: MmapOptions::new().map_raw(file)?,
            memory: File::options()
                .read(true)
                .write(true)
                .open("/proc/self/mem")?,
        })
    }

    /// Where octet `at` of the file is in memory; `length` octets from there on belong to the mapping.
    fn address(&self, length: usize, at: u64) -> io::Result<u64> {
        let end = at.checked_add(length as u64);
        match end.is_some_and(|end| end <= self.map.len() as u64) {
            true => Ok(self.map.as_ptr() as u64 + at),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{MemfdFlags, memfd_create};

    const PAGE: u64 = 4096;

    fn memory(flags: MemfdFlags, length: u64) -> File {
        let file = File::from(memfd_create("memory", flags).unwrap());
        file.set_len(length).unwrap();
        file
    }

    #[test]
    fn a_mapping_is_accessed_like_a_file() {
        let file = memory(MemfdFlags::empty(), 2 * PAGE);
        let mapped = HostFile::Mapped(Mapping::new(&file).unwrap());
        let across = PAGE - 2;
        mapped.write(&[1, 2, 3, 4], across).unwrap();
        let mut octets = [0; 4];
        file.read_exact_at(&mut octets, across).unwrap();
        assert_eq!(octets, [1, 2, 3, 4]);
        file.write_all_at(&[5, 6], PAGE).unwrap();
        mapped.read(&mut octets, across).unwrap();
        assert_eq!(octets, [1, 2, 5, 6]);

        // What is not all there is refused.
        for (length, at) in [
            (1, 2 * PAGE),
            (2, 2 * PAGE - 1),
            (1, u64::MAX),
            (5, 9 * PAGE),
        ] {
            assert!(mapped.write(&vec![9; length], at).is_err(), "{at:#x}");
            assert!(mapped.read(&mut vec![9; length], at).is_err(), "{at:#x}");
        }
        // Also when it was there when it was mapped.
        file.set_len(PAGE).unwrap();
        assert!(mapped.write(&[9], PAGE).is_err());
        assert!(mapped.read(&mut octets, PAGE).is_err());
        mapped.write(&[9], PAGE - 1).unwrap();
    }

    #[test]
    fn ordinary_memory_is_not_mapped() {
        let ordinary = HostFile::new(memory(MemfdFlags::empty(), PAGE)).unwrap();
        assert!(matches!(ordinary, HostFile::Plain(_)));
        // A file without the right to write: it can be read.
        let file = tempfile::NamedTempFile::new().unwrap();
        let read_only = HostFile::new(File::open(file.path()).unwrap()).unwrap();
        assert!(matches!(read_only, HostFile::Plain(_)));
        assert!(read_only.write(&[1], 0).is_err());
    }

    /// On a machine without free huge pages the memory is refused when it is mapped, not when it is written.
    #[test]
    fn huge_pages_are_mapped_or_refused() {
        const HUGE: u64 = 2 << 20;
        let file = memory(MemfdFlags::HUGETLB | MemfdFlags::HUGE_2MB, 2 * HUGE);
        let octets = [1, 2, 3, 4, 5];
        match HostFile::new(file.try_clone().unwrap()) {
            Ok(huge) => {
                assert_eq!(huge.limit(), 2 * HUGE);
                huge.write(&octets, HUGE - 2).unwrap();
                let mut found = [0; 5];
                file.read_exact_at(&mut found, HUGE - 2).unwrap();
                assert_eq!(found, octets);
                assert!(huge.write(&octets, 2 * HUGE - 4).is_err());
            }
            Err(refused) => {
                eprintln!("not run: no huge pages are free ({refused})");
                assert_eq!(refused.raw_os_error(), Some(Errno::NOMEM.raw_os_error()));
                assert!(file.write_all_at(&octets, 0).is_err());
            }
        }
    }
}
