//! The vfio-user protocol, both ends: a PCI device that lives in one process and is used by another.
//!
//! ```text
//!  driver process                                            device process
//!  Client ─► request ────────── Unix socket ──────────► serve() ─► Target
//!         ◄─ reply, checked ◄───────────────────────────────────┘   regions, DMA maps, interrupts
//!         ── file descriptors (DMA memory, eventfds) travel with the requests ────►
//! ```
//!
//! The crate moves messages and is independent of any device. Neither side trusts the other: each message is checked
//! before it is used, nothing larger than agreed is stored, and unexpected descriptors are closed.
//!
//! | | |
//! |---|---|
//! | [`protocol`] | numbers and layouts of the messages |
//! | [`Client`] | the user of a device; every call has a time-out |
//! | [`Target`], [`serve`] | a device, and the loop that serves one client |
//! | [`Listener`] | the socket file that clients connect to |
//!
//! The format is the one that QEMU's `vfio-user-pci` speaks, version 0.0: all numbers in the byte order of the machine.
//! Not supported: memory-mapped regions, DMA by message (`DMA_READ`, `DMA_WRITE`), migration, and several writes in one message.
//!
//! ```
//! use std::{os::unix::net::UnixStream, thread, time::Duration};
//! use warpline_vfio_user::{Client, DmaMap, Refused, RegionInfo, Target, serve};
//! use std::os::fd::OwnedFd;
//!
//! struct Scratch([u8; 16]);
//!
//! impl Target for Scratch {
//!     fn regions(&self) -> Vec<RegionInfo> {
//!         vec![RegionInfo { size: 16, readable: true, writable: true }]
//!     }
//!     fn irqs(&self) -> Vec<u32> { vec![0] }
//!     fn region_read(&mut self, _: u32, offset: u64, data: &mut [u8]) -> Result<(), Refused> {
//!         data.copy_from_slice(&self.0[offset as usize..][..data.len()]);
//!         Ok(())
//!     }
//!     fn region_write(&mut self, _: u32, offset: u64, data: &[u8]) -> Result<(), Refused> {
//!         self.0[offset as usize..][..data.len()].copy_from_slice(data);
//!         Ok(())
//!     }
//!     fn dma_map(&mut self, _: DmaMap) -> Result<(), Refused> { Ok(()) }
//!     fn dma_unmap(&mut self, _: u64, _: u64) -> Result<(), Refused> { Ok(()) }
//!     fn set_irqs(&mut self, _: u32, _: u32, _: Vec<Option<OwnedFd>>) -> Result<(), Refused> { Ok(()) }
//!     fn reset(&mut self) -> Result<(), Refused> { self.0 = [0; 16]; Ok(()) }
//!     fn disconnected(&mut self) {}
//! }
//!
//! let (ours, theirs) = UnixStream::pair()?;
//! let server = thread::spawn(|| serve(theirs, &mut Scratch([0; 16])));
//! let client = Client::over(ours, Duration::from_secs(5))?;
//! client.region_write(0, 4, b"abc")?;
//! let mut back = [0; 3];
//! client.region_read(0, 4, &mut back)?;
//! assert_eq!(&back, b"abc");
//! drop(client);
//! server.join().unwrap()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod client;
mod dma;
mod error;
mod listener;
pub mod protocol;
mod server;
mod socket;
mod target;
mod version;

pub use client::Client;
pub use error::{Error, Fault, ListenError, ServeError};
pub use listener::Listener;
pub use rustix::io::Errno;
pub use server::serve;
pub use target::{DeviceInfo, DmaMap, IrqInfo, Permissions, Refused, RegionInfo, Target};
pub use version::GREETING;
