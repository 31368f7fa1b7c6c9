//! Memory for DMA.
//!
//! ```text
//!  DmaMemory: the program's alone, plain slices ── expose ──► SharedMemory: the card writes, the program copies
//!                                               ◄─ reclaim ──
//! ```
//!
//! The memory is a file without a name (memfd), so that its descriptor can be passed to a card in another process. Its
//! size is sealed: it cannot shrink below what is mapped here. While a card may write to it there are no slices of it,
//! only atomic accesses. [`SharedMemory::reclaim`] returns the slices; the driver calls it after the card's access has
//! ended. If the access does not end, the memory is never returned to the system.
//!
//! Memory of 2 MiB and more uses huge pages if the system has reserved enough: an IOMMU needs one entry instead of 512.
//!
//! Under Miri, which does not support memfd, the memory comes from the heap; all other code is the same.

use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::os::fd::BorrowedFd;
use std::slice;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use crate::error::Error;
#[cfg(miri)]
use heap::Mapping;
#[cfg(not(miri))]
use mapping::Mapping;

/// Granularity of maps in octets.
pub const PAGE: usize = 4096;
/// Octets of a huge page.
pub const HUGE_PAGE: usize = 2 << 20;

/// Zeroed memory for DMA, not yet exposed to a card.
///
/// It is a slice of octets. Whole pages are mapped: the card can also reach the rest of the last page, which belongs to
/// this memory too.
#[derive(Debug)]
pub struct DmaMemory {
    mapping: Mapping,
    length: usize,
}

impl DmaMemory {
    /// `length` octets of zeros, 1 to 2^47; from 2 MiB on in huge pages, if enough are free.
    ///
    /// # Errors
    /// [`Error::MemorySize`]; [`Error::Memory`] when the kernel gives none.
    pub fn new(length: usize) -> Result<Self, Error> {
        if !(1..=1 << 47).contains(&length) {
            return Err(Error::MemorySize { length });
        }
        let refused = |source| Error::Memory { length, source };
        let mapping = Mapping::new(length).map_err(refused)?;
        Ok(Self { mapping, length })
    }

    /// Octets of its pages: 4096, or 2 MiB.
    #[must_use]
    pub fn page_size(&self) -> usize {
        self.mapping.page
    }

    /// Exchanges the slices for shared access, so that a card may write.
    pub(crate) fn expose(self) -> SharedMemory {
        SharedMemory(ManuallyDrop::new(self))
    }
}

impl Deref for DmaMemory {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: `mapping` holds at least `length` initialised octets. No card has access (`new` gives none, and `reclaim`
        // is called after it ended), and Rust's borrows of `self` order all accesses of this process.
        unsafe { slice::from_raw_parts(self.mapping.start.as_ptr(), self.length) }
    }
}

impl DerefMut for DmaMemory {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`, and exclusive through `&mut self`.
        unsafe { slice::from_raw_parts_mut(self.mapping.start.as_ptr(), self.length) }
    }
}

/// Memory that a card may write to at any time. Dropping it keeps the memory mapped permanently: only
/// [`reclaim`](Self::reclaim) gives it back.
#[derive(Debug)]
pub(crate) struct SharedMemory(ManuallyDrop<DmaMemory>);

impl SharedMemory {
    /// Octets asked for.
    pub fn len(&self) -> usize {
        self.0.length
    }

    /// Octets to map for a card: whole pages.
    pub fn mapped_len(&self) -> usize {
        self.0.mapping.length
    }

    /// The file that holds the memory, from its offset 0 on.
    pub fn file(&self) -> BorrowedFd<'_> {
        self.0.mapping.file()
    }

    /// Returns the memory to this process alone. The caller ensures that the card's access has ended.
    pub fn reclaim(self) -> DmaMemory {
        ManuallyDrop::into_inner(self.0)
    }

    /// Copies the octets from `offset` on into `to`.
    pub fn read(&self, offset: usize, to: &mut [u8]) -> Result<(), Error> {
        let from = self.range(offset, to.len())?;
        for (to, from) in to.iter_mut().zip(from) {
            *to = from.load(Ordering::Relaxed);
        }
        Ok(())
    }

    /// Copies `from` to the octets from `offset` on.
    pub fn write(&self, offset: usize, from: &[u8]) -> Result<(), Error> {
        let to = self.range(offset, from.len())?;
        for (to, from) in to.iter().zip(from) {
            to.store(*from, Ordering::Relaxed);
        }
        Ok(())
    }

    fn range(&self, offset: usize, length: usize) -> Result<&[AtomicU8], Error> {
        let end = offset.checked_add(length);
        end.and_then(|end| self.octets().get(offset..end))
            .ok_or(Error::Range {
                offset,
                length,
                size: self.len(),
            })
    }

    fn octets(&self) -> &[AtomicU8] {
        // SAFETY: these octets are mapped as long as `self` lives. While they are shared, this process accesses them through
        // atomics only; the card is outside of the process, or writes through the file.
        unsafe { slice::from_raw_parts(self.0.mapping.start.as_ptr().cast(), self.0.length) }
    }

    /// The memory as 32-bit words; without the octets after the last whole word.
    ///
    /// For memory that is accessed by words only, such as rings: atomic accesses of two sizes to the same octets are not
    /// allowed to race.
    pub fn words(&self) -> &[AtomicU32] {
        // SAFETY: as in `octets`; a mapping begins at a page, so words are aligned.
        unsafe { slice::from_raw_parts(self.0.mapping.start.as_ptr().cast(), self.0.length / 4) }
    }
}

/// Where the memory comes from.
#[cfg(not(miri))]
mod mapping {
    use std::io;
    use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
    use std::ptr::{self, NonNull};

    use rustix::fs::{FallocateFlags, MemfdFlags, SealFlags};
    use rustix::mm::{MapFlags, ProtFlags};

    use super::{HUGE_PAGE, PAGE};

    /// A memfd and its mapping into this process, both of `length` octets.
    #[derive(Debug)]
    pub(super) struct Mapping {
        file: OwnedFd,
        pub start: NonNull<u8>,
        pub length: usize,
        /// Octets of its pages.
        pub page: usize,
    }

    // SAFETY: the memory belongs to this value and is bound to no thread. A shared reference reads the fields only; access to
    // the octets goes through `DmaMemory` and `SharedMemory`, which follow Rust's rules.
    unsafe impl Send for Mapping {}
    // SAFETY: as above.
    unsafe impl Sync for Mapping {}

    impl Mapping {
        /// At least `length` octets of zeros, not 0: whole pages.
        pub fn new(length: usize) -> io::Result<Self> {
            let huge = || {
                let kind = MemfdFlags::HUGETLB | MemfdFlags::HUGE_2MB;
                Self::of_pages(length.checked_next_multiple_of(HUGE_PAGE)?, HUGE_PAGE, kind).ok()
            };
            let huge = (length >= HUGE_PAGE).then(huge).flatten();
            let small = || {
                let length = length.next_multiple_of(PAGE);
                Self::of_pages(length, PAGE, MemfdFlags::empty())
            };
            huge.map_or_else(small, Ok)
        }

        fn of_pages(length: usize, page: usize, kind: MemfdFlags) -> io::Result<Self> {
            let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING | kind;
            let file = rustix::fs::memfd_create("warpline", flags)?;
            rustix::fs::ftruncate(&file, length as u64)?;
            if page == HUGE_PAGE {
                // Populate now: a huge page that is missing at an access raises a signal instead of an error.
                rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, length as u64)?;
            }
            let fixed = SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
            rustix::fs::fcntl_add_seals(&file, fixed)?;
            // SAFETY: a new mapping at a place of the kernel's choice touches nothing that exists. The file is as long as
            // the mapping and stays so (sealed), hence no access faults.
            let start = unsafe {
                rustix::mm::mmap(
                    ptr::null_mut(),
                    length,
                    ProtFlags::READ | ProtFlags::WRITE,
                    MapFlags::SHARED,
                    &file,
                    0,
                )?
            };
            let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
            Ok(Self {
                file,
                start,
                length,
                page,
            })
        }

        /// The memfd.
        pub fn file(&self) -> BorrowedFd<'_> {
            self.file.as_fd()
        }
    }

    impl Drop for Mapping {
        fn drop(&mut self) {
            // SAFETY: exactly this was mapped by `of_pages`, and no reference into it outlives `self`.
            let unmapped = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.length) };
            debug_assert!(unmapped.is_ok(), "{unmapped:?}");
        }
    }
}

/// The same from the heap, for Miri.
#[cfg(miri)]
mod heap {
    use std::alloc::{Layout, alloc_zeroed, dealloc};
    use std::io;
    use std::os::fd::BorrowedFd;
    use std::ptr::NonNull;

    use super::PAGE;

    #[derive(Debug)]
    pub(super) struct Mapping {
        pub start: NonNull<u8>,
        pub length: usize,
        pub page: usize,
    }

    // SAFETY: as for the mapping of a file.
    unsafe impl Send for Mapping {}
    // SAFETY: as above.
    unsafe impl Sync for Mapping {}

    impl Mapping {
        pub fn new(length: usize) -> io::Result<Self> {
            let length = length.next_multiple_of(PAGE);
            let layout = Layout::from_size_align(length, PAGE).map_err(io::Error::other)?;
            // SAFETY: the size is not 0.
            let start = unsafe { alloc_zeroed(layout) };
            let start = NonNull::new(start).ok_or(io::ErrorKind::OutOfMemory)?;
            let page = PAGE;
            Ok(Self {
                start,
                length,
                page,
            })
        }

        pub fn file(&self) -> BorrowedFd<'_> {
            unimplemented!("Miri knows no files")
        }
    }

    impl Drop for Mapping {
        fn drop(&mut self) {
            let layout = Layout::from_size_align(self.length, PAGE).expect("as in `new`");
            // SAFETY: exactly this was allocated by `new`.
            unsafe { dealloc(self.start.as_ptr(), layout) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapped::is_mapped;

    #[test]
    fn slices_and_copies_take_turns() {
        let mut memory = DmaMemory::new(5000).unwrap();
        assert_eq!((memory.len(), memory[4999]), (5000, 0));
        memory[4999] = 7;
        let shared = memory.expose();
        assert_eq!((shared.len(), shared.mapped_len()), (5000, 8192));
        assert_eq!(shared.words().len(), 1250);
        // As a card does: write while others copy.
        std::thread::scope(|scope| {
            scope.spawn(|| shared.write(4, &[1, 2, 3, 4]).unwrap());
            let mut octets = [0; 6];
            shared.read(3, &mut octets).unwrap();
            assert_eq!((octets[0], octets[5]), (0, 0));
        });
        let mut octets = [0; 5];
        shared.read(4, &mut octets).unwrap();
        assert_eq!(octets, [1, 2, 3, 4, 0]);
        shared.write(4998, &[8]).unwrap();
        let mut memory = shared.reclaim();
        assert_eq!(memory[4998..], [8, 7]);
        memory[4..8].fill(9);
        let again = memory.expose();
        assert_eq!(again.words()[1].load(Ordering::Relaxed), 0x0909_0909);
        again.reclaim();
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri knows no files")]
    fn the_file_is_the_memory() {
        let mut memory = DmaMemory::new(5000).unwrap();
        memory[4999] = 7;
        let shared = memory.expose();
        let file = std::fs::File::from(shared.file().try_clone_to_owned().unwrap());
        std::os::unix::fs::FileExt::write_all_at(&file, &[1, 2, 3, 4], 4).unwrap();
        assert_eq!(shared.words()[1].load(Ordering::Relaxed), 0x0403_0201);
        let mut octet = [0];
        std::os::unix::fs::FileExt::read_exact_at(&file, &mut octet, 4999).unwrap();
        assert_eq!(octet, [7]);
        shared.reclaim();
    }

    /// In huge pages or not: that depends on how many the machine has reserved.
    #[test]
    #[cfg_attr(miri, ignore = "too much for Miri")]
    fn large_memory_is_of_whole_pages() {
        let mut memory = DmaMemory::new(HUGE_PAGE + 1).unwrap();
        let page = memory.page_size();
        assert!([PAGE, HUGE_PAGE].contains(&page), "{page}");
        memory[HUGE_PAGE] = 1;
        let shared = memory.expose();
        let whole = (HUGE_PAGE + 1).next_multiple_of(page);
        assert_eq!(shared.mapped_len(), whole);
        assert_eq!(shared.reclaim()[HUGE_PAGE], 1);
        assert_eq!(DmaMemory::new(HUGE_PAGE - 1).unwrap().page_size(), PAGE);
    }

    #[test]
    fn ranges_outside_are_refused() {
        let shared = DmaMemory::new(100).unwrap().expose();
        for (offset, length) in [(0, 101), (100, 1), (101, 0), (usize::MAX, 2)] {
            let read = shared.read(offset, &mut vec![0; length]);
            assert!(
                matches!(read, Err(Error::Range { size: 100, .. })),
                "{offset} {length}"
            );
            let write = shared.write(offset, &vec![0; length]);
            assert!(
                matches!(write, Err(Error::Range { size: 100, .. })),
                "{offset} {length}"
            );
        }
        shared.read(100, &mut []).unwrap();
        shared.reclaim();
    }

    #[test]
    fn sizes_outside_are_refused() {
        for length in [0, (1 << 47) + 1, usize::MAX] {
            let size = DmaMemory::new(length).unwrap_err();
            assert!(matches!(size, Error::MemorySize { length: l } if l == length));
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri knows no files")]
    fn the_file_keeps_its_size() {
        let shared = DmaMemory::new(1).unwrap().expose();
        assert!(rustix::fs::ftruncate(shared.file(), 0).is_err());
        assert!(rustix::fs::ftruncate(shared.file(), 1 << 20).is_err());
        shared.reclaim();
    }

    /// A huge page that is missing at an access would be a signal, so all are taken at once; small ones when they are touched.
    #[test]
    #[cfg_attr(miri, ignore = "Miri knows no files")]
    fn small_pages_are_taken_when_they_are_touched() {
        for length in [1 << 20, 2 * HUGE_PAGE] {
            let mut memory = DmaMemory::new(length).unwrap();
            let octets = |memory: &DmaMemory| {
                let blocks = rustix::fs::fstat(memory.mapping.file()).unwrap().st_blocks;
                512 * blocks as usize
            };
            let before = octets(&memory);
            memory[length - 1] = 1;
            match memory.page_size() {
                PAGE => assert!(before == 0 && (PAGE..length).contains(&octets(&memory))),
                _ => assert_eq!(before, length),
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri knows no files")]
    fn memory_that_is_dropped_is_unmapped() {
        let memory = DmaMemory::new(5000).unwrap();
        let inode = rustix::fs::fstat(memory.mapping.file()).unwrap().st_ino;
        assert!(is_mapped(inode));
        // exposed, it stays until it is reclaimed
        let shared = memory.expose();
        assert!(is_mapped(inode));
        drop(shared.reclaim());
        assert!(!is_mapped(inode));
    }
}
