//! SCTP in user space: a small safe binding of libusrsctp, over queues of packets or UDP.
//!
//! ```text
//!  Association ─ send, next_event ─┐                      ┌─ output() ─► whatever carries packets:
//!  Listener ──── accept ───────────┴─ libusrsctp ── Link ─┤              the other end's Link, Udp, a test's faults
//!  elapse(), keep_time() ─────────────────┘               └─ input() ◄──
//! ```
//!
//! An end is a [`Link`], on which it listens ([`Listener`]) or sets up associations ([`Association`]). A link's packets are
//! octets that its owner carries; [`Udp`] does so in UDP datagrams (RFC 6951). No call blocks but [`Udp::serve`], which waits as long as it is
//! told; no thread runs, and no callback: events are read.
//!
//! - **Messages are whole**, with stream, payload protocol identifier, and the unordered flag. [`Event::Dry`] says that all is acknowledged.
//! - **The adaptation layer indication** of RFC 5061 is sent as asked for, and the peer's is in [`Event::Up`].
//! - **CRC32c** is in each packet, and each packet is judged by it.
//! - **Memory is bounded**: buffers, queues of packets, messages, peers and associations that wait have limits; an INIT costs nothing.
//!
//! ```
//! use std::time::Duration;
//! use warpline_usrsctp::{Association, Event, Link, Listener, Options, elapse};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (here, there) = (Link::new(), Link::new());
//! let options = Options { adaptation: Some(1), ..Options::default() };
//! let listener = Listener::bind(&there, 5001, 8, &options)?;
//! let mut active = Association::connect(&here, 0, 5001, &options)?;
//! let mut passive = loop {
//!     while let Some(packet) = here.output() { there.input(&packet)?; }
//!     while let Some(packet) = there.output() { here.input(&packet)?; }
//!     elapse(Duration::from_millis(1));
//!     if let Some(accepted) = listener.accept()? { break accepted; }
//! };
//! let up = Some(Event::Up { outbound: 16, inbound: 16, adaptation: Some(1) });
//! assert_eq!(passive.next_event(), up);
//! while let Some(packet) = there.output() { here.input(&packet)?; }
//! assert_eq!(active.next_event(), up);
//! active.send(3, 16, true, b"user data")?;
//! # Ok(())
//! # }
//! ```
//!
//! # What it needs
//!
//! Linux, and libusrsctp 0.9.5 with its header's package (`libusrsctp-dev` of Debian 12 and 13).
//!
//! # What is trusted
//!
//! Packets are checked by libusrsctp, which is C, and its users number browsers. The `unsafe` of this crate is in `stack` and `socket`.

#![deny(missing_docs)]

mod association;
mod error;
mod event;
mod ffi;
mod link;
mod listener;
mod options;
mod record;
mod socket;
mod stack;
mod udp;

pub use association::{Association, Status};
pub use error::{Error, PacketError, SendError};
pub use event::{Ending, Event, Message};
pub use link::Link;
pub use listener::Listener;
pub use options::{Options, Timers};
pub use record::Record;
pub use stack::{elapse, keep_time};
pub use udp::{Packet, Udp};
