//! What crosses the network: MPA and DDP formats, the sender side and the reference receiver.
//!
//! ```text
//!  ULP message ─ send::segments ─► DDP segments ─ send::FpduWriter ─► stream octets
//!                    (ddp)            (ULPDU)       (mpa, marker, crc)      │ TCP
//!  events ◄─ receive::Receiver ◄─ receive::DdpChecker ◄─ receive::Framing ◄─┘
//! ```
//!
//! Formats are checked zero-copy views plus a parsed representation; field places are plain octet
//! ranges in each module's `field`, and the RTL takes its offsets from the same constants.
//! [`receive`] holds the reference receiver: it defines which octets are placed where, what is
//! delivered and which error is reported, and hardware is compared with it.
//!
//! The crate is `no_std`. The default feature `alloc` adds what needs a growing buffer: the
//! receiver and [`send::FpduWriter::append`].
//!
//! Requirement names in comments (`MPA-CRC-15`, `AMB-04`) are those of the project's conformance
//! table.

#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

#[cfg(feature = "alloc")]
extern crate alloc;

pub mod crc;
pub mod ddp;
pub mod error;
pub mod marker;
pub mod mpa;
#[cfg(feature = "alloc")]
pub mod receive;
pub mod send;
pub mod start;

/// Place of a field inside its header, in octets.
pub type Field = core::ops::Range<usize>;
