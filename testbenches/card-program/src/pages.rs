//! Where the kernel put the pages of some memory.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

const PAGE: usize = 4096;
/// Bits of an entry of `/proc/self/pagemap` that hold the page's number; others read 0 without the right to know it.
const NUMBER: u64 = (1 << 55) - 1;

/// How many of the pages of `memory`, which begins with a page, do not lie behind the one before, and how many pages there
/// are. `None` when the kernel does not tell.
///
/// # Errors
/// The kernel's table cannot be read.
pub fn scattered(memory: &[u8]) -> io::Result<Option<(usize, usize)>> {
    let first = memory.as_ptr() as usize / PAGE;
    let count = memory.len().div_ceil(PAGE);
    let mut entries = vec![0; 8 * count];
    File::open("/proc/self/pagemap")?.read_exact_at(&mut entries, 8 * first as u64)?;
    let numbers = entries.chunks_exact(8).map(|entry| {
        let mut octets = [0; 8];
        octets.copy_from_slice(entry);
        u64::from_ne_bytes(octets) & NUMBER
    });
    let numbers: Vec<u64> = numbers.collect();
    if numbers.contains(&0) {
        return Ok(None);
    }
    let breaks = numbers.windows(2).filter(|pair| pair[0] + 1 != pair[1]);
    Ok(Some((breaks.count(), count)))
}
