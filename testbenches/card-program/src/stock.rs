//! The driver's backends alone, against a device that stock QEMU has: `rocker`, a switch with registers for tests.
//!
//! ```text
//!  TEST_REG ── reads twice what was written          TEST_IRQ ── sends the vector that is written to it
//!  TEST_DMA_ADDR, _SIZE, _CTRL ── fills or inverts host memory, through the IOMMU
//! ```
//!
//! It has nothing to do with RDMA, but a backend can open it: BAR 0 has room for a card's registers, and there are MSI-X
//! vectors. Linux reports an access that the IOMMU refuses.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::FileExt;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::MemfdFlags;
use warpline_driver::{BackendError, Device, DmaMap};

use crate::iommu;
use crate::report::{Outcome, Report, ensure};

const TEST_REG: u32 = 0x10;
const TEST_IRQ: u32 = 0x20;
const DMA_ADDRESS: u32 = 0x28;
const DMA_SIZE: u32 = 0x30;
const DMA_CONTROL: u32 = 0x34;
/// Sets each octet to `FILLED`.
const FILL: u32 = 1 << 1;
/// Inverts each bit: reads, then writes.
const INVERT: u32 = 1 << 2;
const FILLED: u8 = 0x96;

const PAGE: usize = 4096;
/// Pages that are mapped: the device transfers less than 64 KiB at once.
const PAGES: usize = 14;
const OCTETS: usize = PAGES * PAGE;
/// Where they are mapped.
const IOVA: u64 = 0x4000_0000;
/// Time for an interrupt, and for a fault to its line in the log.
const PATIENCE: Duration = Duration::from_secs(10);

/// Memory in a file, mapped for the device as long as this lives.
struct Memory<'d> {
    file: File,
    device: &'d dyn Device,
    mapped: bool,
}

impl<'d> Memory<'d> {
    fn new(device: &'d dyn Device, octets: &[u8]) -> Result<Self, BackendError> {
        let file = Self::file(octets)?;
        device.map(DmaMap {
            iova: IOVA,
            length: OCTETS as u64,
            file: file.as_fd(),
            offset: 0,
        })?;
        Ok(Self {
            file,
            device,
            mapped: true,
        })
    }

    /// A file that holds `octets`.
    fn file(octets: &[u8]) -> Result<File, BackendError> {
        let file = File::from(rustix::fs::memfd_create("stock", MemfdFlags::CLOEXEC)?);
        file.write_all_at(octets, 0)?;
        Ok(file)
    }

    fn octets(&self) -> Result<Vec<u8>, BackendError> {
        let mut octets = vec![0; OCTETS];
        self.file.read_exact_at(&mut octets, 0)?;
        Ok(octets)
    }

    fn unmap(&mut self) -> Result<(), BackendError> {
        self.mapped = false;
        self.device.unmap(IOVA, OCTETS as u64)
    }
}

impl Drop for Memory<'_> {
    fn drop(&mut self) {
        if self.mapped
            && let Err(error) = self.unmap()
        {
            println!("        unmapping: {error}");
        }
    }
}

/// Runs all checks on `device`.
pub fn run(device: &dyn Device, report: &mut Report) {
    report.check("registers", || {
        for value in [0, 1, 0x1234_5678, 0x7FFF_FFFF] {
            device.write(TEST_REG, value)?;
            let read = device.read(TEST_REG)?;
            ensure(read == value * 2, || {
                format!("{value:#x} reads {read:#x}, not twice as much")
            })?;
        }
        Ok("written and read".into())
    });

    report.check("interrupts", || {
        for vector in [0, 1, 1, 0] {
            let early = signalled(device, vector, Duration::ZERO)?;
            ensure(!early, || {
                format!("vector {vector} before it was asked for")
            })?;
            device.write(TEST_IRQ, vector as u32)?;
            let came = signalled(device, vector, PATIENCE)?;
            ensure(came, || {
                format!("vector {vector} did not come in {PATIENCE:?}")
            })?;
            let other = signalled(device, 1 - vector, Duration::ZERO)?;
            ensure(!other, || {
                format!("vector {} came with {vector}", 1 - vector)
            })?;
            let mut count = [0; 8];
            rustix::io::read(device.interrupt(vector), &mut count)?;
        }
        Ok("4 messages of 2 vectors, each by its eventfd".into())
    });

    let pattern: Vec<u8> = (0..OCTETS).map(|i| (i * 7 + i / PAGE) as u8).collect();
    let inverted: Vec<u8> = pattern.iter().map(|octet| !octet).collect();
    report.check("DMA over page boundaries", || {
        let memory = Memory::new(device, &pattern)?;
        dma(device, IOVA, OCTETS, INVERT)?;
        ensure(memory.octets()? == inverted, || {
            "memory is not inverted".into()
        })?;
        let (start, end) = (100, OCTETS - 77);
        dma(device, IOVA + start as u64, end - start, FILL)?;
        let octets = memory.octets()?;
        let filled = octets[start..end].iter().all(|&octet| octet == FILLED);
        let kept = octets[..start] == inverted[..start] && octets[end..] == inverted[end..];
        ensure(filled, || "not all octets are written".into())?;
        ensure(kept, || "octets around the transfer are changed".into())?;
        Ok(format!("{OCTETS} octets read and written"))
    });

    report.check("DMA that leaves its mapping", || {
        let known = iommu::faults()?.len();
        let memory = Memory::new(device, &pattern)?;
        let last = OCTETS - PAGE;
        let fault = refused_access(known, || dma(device, IOVA + last as u64, 2 * PAGE, FILL))?;
        let kept = memory.octets()?[..last] == pattern[..last];
        ensure(kept, || "memory in front of it is changed".into())?;
        Ok(fault)
    });

    report.check("DMA after the mapping's end", || {
        let known = iommu::faults()?.len();
        let mut memory = Memory::new(device, &pattern)?;
        memory.unmap()?;
        let fault = refused_access(known, || dma(device, IOVA, PAGE, FILL))?;
        ensure(memory.octets()? == pattern, || {
            "memory is written after unmap returned".into()
        })?;
        Ok(fault)
    });

    report.check("memory that the program may not write", || {
        let memory = Memory::file(&pattern)?;
        let readable = File::open(format!("/proc/self/fd/{}", memory.as_raw_fd()))?;
        not_mapped(device, &readable, 0)
    });

    report.check("memory that the program does not have", || {
        // The range lies behind the end of its file.
        not_mapped(device, &Memory::file(&pattern)?, OCTETS as u64)
    });

    report.check("reset", || {
        device.write(TEST_REG, 1)?;
        device.reset()?;
        let read = device.read(TEST_REG)?;
        ensure(read == 0, || format!("a register reads {read:#x} after it"))?;
        Ok("registers are as after power-up".into())
    });
}

/// A range that Linux must refuse to map, and where nothing is mapped then.
fn not_mapped(device: &dyn Device, file: &File, offset: u64) -> Outcome {
    let refused = device.map(DmaMap {
        iova: IOVA,
        length: OCTETS as u64,
        file: file.as_fd(),
        offset,
    });
    let Err(error) = refused else {
        device.unmap(IOVA, OCTETS as u64)?;
        return Err("it is mapped".into());
    };
    let known = iommu::faults()?.len();
    let fault = refused_access(known, || dma(device, IOVA, PAGE, FILL))?;
    Ok(format!("{error}; then {fault}"))
}

/// Another program must not open the device at `address` while this one has it open.
pub fn second_program(address: &str, options: &[&str], report: &mut Report) {
    report.check("a second program", || {
        let output = Command::new(std::env::current_exe()?)
            .args(options)
            .args(["open", address])
            .output()?;
        let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        ensure(!output.status.success(), || {
            "it opens the device, too".into()
        })?;
        ensure(said.to_lowercase().contains("busy"), || {
            format!("it fails for another cause: {said}")
        })?;
        Ok(format!("is refused: {}", said.trim_start_matches("FAIL  ")))
    });
}

/// Repeats `transfer` until Linux reports a fault of the IOMMU behind the first `known`. Once may not do: a fault is lost
/// when the IOMMU has one of the same device that Linux has not yet taken.
fn refused_access(known: usize, transfer: impl Fn() -> Result<(), BackendError>) -> Outcome {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        transfer()?;
        thread::sleep(Duration::from_millis(200));
        if let Some(fault) = iommu::faults()?.get(known) {
            return Ok(format!("the IOMMU refused it: {fault}"));
        }
    }
    Err("Linux reports no fault of the IOMMU".into())
}

fn dma(device: &dyn Device, iova: u64, octets: usize, control: u32) -> Result<(), BackendError> {
    device.write(DMA_ADDRESS, iova as u32)?;
    device.write(DMA_ADDRESS + 4, (iova >> 32) as u32)?;
    device.write(DMA_SIZE, u32::try_from(octets)?)?;
    device.write(DMA_CONTROL, control)?;
    device.read(TEST_REG)?; // answered behind the write: the transfer is over
    Ok(())
}

fn signalled(device: &dyn Device, vector: usize, timeout: Duration) -> Result<bool, BackendError> {
    let eventfd = device.interrupt(vector);
    let mut polled = [PollFd::new(&eventfd, PollFlags::IN)];
    let timeout = Timespec::try_from(timeout)?;
    Ok(rustix::event::poll(&mut polled, Some(&timeout))? > 0)
}
