//! What Linux says about accesses that its IOMMU refused.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;

use rustix::fs::OFlags;

/// Longest record of the kernel's log.
const RECORD: usize = 8192;

/// Lines of the kernel's log that report a fault of the IOMMU, each from the fault's kind on.
///
/// # Errors
/// The log cannot be read: this is not the guest, or not its administrator.
pub fn faults() -> io::Result<Vec<String>> {
    let mut log = OpenOptions::new()
        .read(true)
        .custom_flags(OFlags::NONBLOCK.bits() as i32)
        .open("/dev/kmsg")?;
    let mut faults = Vec::new();
    let mut record = vec![0; RECORD];
    loop {
        // One record each time.
        let length = match log.read(&mut record) {
            Ok(0) => return Ok(faults),
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(faults),
            Err(error) if error.raw_os_error() == Some(OVERWRITTEN) => continue,
            Err(error) => return Err(error),
        };
        let text = String::from_utf8_lossy(&record[..length]);
        let line = text.lines().next().unwrap_or_default();
        if let Some((_, fault)) = line.split_once("DMAR: ")
            && fault.contains("fault addr")
        {
            faults.push(fault.to_owned());
        }
    }
}

/// `EPIPE`: records were overwritten before they were read; the next ones are there.
const OVERWRITTEN: i32 = 32;
