//! What crosses the network: MPA, DDP and RDMAP formats, DDP over SCTP, the sender side and the reference
//! receivers.
//!
//! ```text
//!  ULP message ─ send::ddp_segments ─► DDP segments ─ send::FpduWriter ─► stream octets
//!                      (ddp)             (ULPDU)     (mpa, marker, crc)       │ TCP
//!  events ◄─ receive::Receiver ◄─ receive::DdpChecker ◄─ receive::Framing ◄───┘
//! ```
//!
//! Formats are checked zero-copy views plus a parsed representation. Field places are plain octet
//! ranges in each module's `field`; the RTL takes its offsets from the same constants. [`receive`]
//! holds the reference receiver: it defines which octets are placed where, what is delivered and
//! which error is reported. Tests compare the hardware with it.
//!
//! The crate is `no_std`. The default feature `alloc` adds the parts with growing buffers: the
//! receiver and [`send::FpduWriter::append`].
//!
//! ```
//! use warpline_wire::receive::{Event, Receiver, ReceiverConfig, StreamConfig};
//! use warpline_wire::send::{CrcField, FpduWriter, Message};
//!
//! let mut wire = Vec::new();
//! let message = Message::Untagged { qn: 0, msn: 1, rsvd_ulp: [0x43, 0, 0, 0, 0] };
//! FpduWriter::new(true, CrcField::Computed).append_message(message, b"hello", 1442, &mut wire)?;
//!
//! let mut receiver = Receiver::new(ReceiverConfig::default());
//! receiver.open(7, StreamConfig { markers: true, ..StreamConfig::default() })?;
//! receiver.enable_queue(7, 0, 1)?;
//! receiver.post(7, 0, 64)?;
//! let mut delivered = 0;
//! receiver.receive(7, &wire, &mut |event: Event<'_>| {
//!     delivered += usize::from(matches!(event, Event::Delivered { .. }));
//! })?;
//! assert_eq!(delivered, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
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
pub mod error_number;
pub mod marker;
pub mod mpa;
pub mod rdmap;
#[cfg(feature = "alloc")]
pub mod receive;
pub mod sctp;
pub mod send;
pub mod start;

/// Place of a field inside its header, in octets.
pub type Field = core::ops::Range<usize>;
