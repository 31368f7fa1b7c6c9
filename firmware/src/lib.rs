//! The control program of a warpline card: it listens and connects for the host, runs MPA start-up, arms streams, passes
//! connections to them, and reports how they end.
//!
//! ```text
//!        host                                   this crate                               outside the device
//!   LISTEN, CONNECT, ACCEPT …  ──► mailbox ──► ┌────────────────────────────┐
//!   ◄── REQUESTED, ARMED, CLOSED ◄─ mailbox ◄─ │ Firmware::poll(now)        │ ◄── Event ── ┌─────────┐
//!                                              │  table of connections:     │ ── read ───► │ Network │ ◄─► peer
//!   device ◄── ARM_STREAM, ARM_TRANSMIT ◄───── │  start::Initiator,         │ ── write ──► │  (TCP)  │
//!          ◄── CLOSE_STREAM            Bus     │  start::Responder          │ ── attach ─► └─────────┘
//!                                              └────────────────────────────┘
//! ```
//!
//! It is the privileged resource manager of RFC 5041 §8.3.2: its tables are bounded, what it gives away it has counted, and
//! nothing is given on a peer's word alone. It needs [`Bus`], the registers of its port, and [`Network`], TCP connections; it
//! has neither heap nor clock nor thread of its own. The same code runs beside a simulated card, under a test's scripted bus,
//! and on a soft processor.
//!
//! The messages are `warpline_regmap::mailbox`, and their order is drawn there.
//!
//! It may stop at any time, and be started again without a reset of the device: see [`Firmware::new`].
//!
//! ```
//! use warpline_firmware::{Bus, Firmware, Network};
//!
//! fn serve<N: Network>(bus: &mut impl Bus, network: &mut N, clock: impl Fn() -> u64, sleep: impl Fn(Option<u64>)) {
//!     let mut firmware = Firmware::<N, 16, 4>::new();
//!     loop {
//!         let next = firmware.poll(bus, network, clock());
//!         sleep(next); // until then, or until the mailbox or the network has something
//! #       break;
//!     }
//! }
//! ```
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]
// It runs unattended, on octets of any peer and words of any host: nothing in it may panic.
#![deny(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unreachable,
    clippy::unwrap_used
)]

mod arming;
mod bus;
mod closing;
mod entry;
mod firmware;
mod former_run;
mod listeners;
mod machine;
mod network;
mod operation;
mod port;
mod registers;
mod report;
mod session;
mod session_start_up;
mod settings;
mod settled;
mod start_up;
mod start_up_end;
mod table;
mod terminate;

pub use bus::Bus;
pub use firmware::{Firmware, Usage};
pub use network::{Answer, ConnectionError, Event, Network, OpenError, Sequences};
