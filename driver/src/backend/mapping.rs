//! Files mapped into this process: a card's registers, and memory that is passed to the IOMMU by process address.

use std::io;
use std::os::fd::BorrowedFd;
use std::ptr::{self, NonNull};
use std::sync::atomic::{Ordering, fence};

use rustix::mm::{MapFlags, ProtFlags};

/// A shared mapping of a range of a file. No reference to its octets ever exists.
#[derive(Debug)]
pub(super) struct Mapping {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: the mapping belongs to this value and is bound to no thread. Every access through a shared reference is a
// volatile access to one aligned word, which the hardware does not split.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps `length` octets of `file` from `offset` on for reading and writing; both are multiples of 4096.
    pub fn new(file: BorrowedFd<'_>, offset: u64, length: u64) -> io::Result<Self> {
        let length = usize::try_from(length).map_err(|_| io::ErrorKind::InvalidInput)?;
        // SAFETY: a new mapping at a place of the kernel's choice touches nothing that exists.
        let start = unsafe {
            rustix::mm::mmap(
                ptr::null_mut(),
                length,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                file,
                offset,
            )?
        };
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, length })
    }

    /// Its address.
    #[cfg(any(feature = "kernel", feature = "pci-driver"))]
    pub fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// Its octets.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Reads a register: the aligned word at `offset`. `None` outside.
    ///
    /// What the card wrote to memory before the register changed is visible afterwards: x86-64 does not reorder loads, and
    /// the fence keeps the compiler from doing so.
    pub fn read(&self, offset: usize) -> Option<u32> {
        let word = self.word(offset)?;
        // SAFETY: `word` is aligned and lies in the mapping, which lives as long as `self`. It may be a device register:
        // a volatile access happens exactly once.
        let value = unsafe { word.read_volatile() };
        fence(Ordering::Acquire);
        Some(u32::from_le(value))
    }

    /// Writes a register: the aligned word at `offset`. `None` outside.
    ///
    /// What this process wrote to memory before is visible to a card that sees the write: x86-64 does not move stores
    /// behind a later store to uncached memory, and the fence keeps the compiler from doing so.
    pub fn write(&self, offset: usize, value: u32) -> Option<()> {
        let word = self.word(offset)?;
        fence(Ordering::Release);
        // SAFETY: as in `read`.
        unsafe { word.write_volatile(value.to_le()) };
        Some(())
    }

    fn word(&self, offset: usize) -> Option<*mut u32> {
        let inside = offset.is_multiple_of(4) && offset.checked_add(4)? <= self.length;
        // The word lies inside the mapping, so the sum does too; a mapping begins at a page.
        inside.then(|| self.start.as_ptr().wrapping_add(offset).cast())
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: exactly this was mapped by `new`; nothing refers to it any more. The kernel holds the pages for a card
        // that still has DMA access to them.
        let unmapped = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.length) };
        debug_assert!(unmapped.is_ok(), "{unmapped:?}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapped::is_mapped;
    use std::os::fd::AsFd;
    use std::os::unix::fs::FileExt;

    #[test]
    fn words_are_those_of_the_file() {
        let file = std::fs::File::from(
            rustix::fs::memfd_create("registers", rustix::fs::MemfdFlags::CLOEXEC).unwrap(),
        );
        file.set_len(8192).unwrap();
        file.write_all_at(&[1, 2, 3, 4], 4096 + 8).unwrap();
        let mapping = Mapping::new(file.as_fd(), 4096, 4096).unwrap();
        assert_eq!(mapping.len(), 4096);
        assert_eq!(mapping.read(8), Some(0x0403_0201));
        assert_eq!(mapping.write(4092, 0x0807_0605), Some(()));
        let mut octets = [0; 4];
        file.read_exact_at(&mut octets, 8188).unwrap();
        assert_eq!(octets, [5, 6, 7, 8]);
        for outside in [1, 2, 4093, 4096, usize::MAX & !3] {
            assert_eq!(mapping.read(outside), None);
            assert_eq!(mapping.write(outside, 0), None);
        }
    }

    #[test]
    fn a_file_that_cannot_be_mapped_is_an_error() {
        let (ours, _theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        assert!(Mapping::new(ours.as_fd(), 0, 4096).is_err());
    }

    #[test]
    fn registers_that_are_dropped_are_unmapped() {
        let file = rustix::fs::memfd_create("dropped", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        rustix::fs::ftruncate(&file, 4096).unwrap();
        let inode = rustix::fs::fstat(&file).unwrap().st_ino;
        let mapping = Mapping::new(file.as_fd(), 0, 4096).unwrap();
        assert!(is_mapped(inode));
        drop(mapping);
        assert!(!is_mapped(inode));
    }
}
