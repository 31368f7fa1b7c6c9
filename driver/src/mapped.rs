//! Whether this process has a file in its address space, for tests of what unmaps.

use std::fs;

/// Whether a memfd with this inode is mapped. Other files may have the same number, so those of other names do not count.
pub(crate) fn is_mapped(inode: u64) -> bool {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let files = maps.lines().filter(|line| line.contains("/memfd:"));
    let inodes = files.map(|line| line.split_whitespace().nth(4));
    let mut inodes = inodes.filter_map(|field| field?.parse().ok());
    inodes.any(|found: u64| found == inode)
}
