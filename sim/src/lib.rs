//! The simulated card: the Verilated device with host memory, registers and a network side, cycle by cycle.
//!
//! ```text
//!            feed ─► network ─► s_axis_segment ┌────────┐ m_axi ◄─► host memory (files, mapped by bus address)
//!                       ▲ ◄──── m_axis_window  │ model  │
//!  host ─► PCI function ┴─────► s_axil         │        │ m_axis_msix ─► eventfds
//!  sockets ◄─ transmit ring ─► s_axis_send     └────────┘ m_axis_transmit, m_axis_status ─► transmit ring
//!                                                  all ports are checked for the rules of AXI
//! ```
//!
//! A host uses the [`Card`] as a PCI function over vfio-user: in this process through [`Card::connect`], in another one
//! through a [`Service`]. Time advances only during calls, and all random choices come from one seed: a run with the same
//! calls is the same run. [`Card::run_freely`] lets time advance by itself.
//!
//! ```no_run
//! use warpline_driver::{Context, DmaMemory, Options, Registration, StreamOptions, VfioUser};
//! use warpline_hdl::Config;
//! use warpline_sim::{Card, CardOptions};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let card = Card::open(&Config::simulated(256), CardOptions::default())?;
//! let device = VfioUser::over(card.connect()?, VfioUser::TIMEOUT)?;
//! let context = Context::open(Box::new(device), Options::default())?;
//! let domain = context.protection_domain()?;
//! let region = domain.register(DmaMemory::new(4096)?, Registration::default())?;
//! let stream = domain.arm(0, StreamOptions::default())?;
//! # let fpdu = vec![0; 64];
//! card.feed(0, 0, fpdu)?; // an FPDU with a tagged segment for region.stag()
//! card.run_until_idle()?;
//! println!("{:?} in {} cycles", context.completion_queue().poll()?, card.timing().cycles);
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod axi_lite_master;
mod card;
mod clock;
mod control;
mod error;
mod exclusive;
mod host;
mod host_file;
mod network;
mod observe;
mod options;
mod pci;
mod pci_host;
mod ports;
mod reads;
mod seat;
mod simulation;
mod socket_card;
mod stream_events;
mod timing;
mod transmit;
mod watch;
mod writes;

/// Whether cards have associations of SCTP: the feature `sctp`, which any crate of a build may turn on.
pub const HAS_SCTP: bool = cfg!(feature = "sctp");

pub use card::Card;
pub use clock::Clock;
pub use control::program::{ControlOptions, ControlProgram};
pub use error::{Error, Rule, Violation};
pub use host::HostMemory;
pub use network::connections::Connections;
pub use network::entry::{ConnectionState, OpenConnection};
pub use network::error::NetworkError;
pub use network::event::{ConnectionHandle, Event, ListenerHandle};
pub use network::options::NetworkOptions;
pub use network::path::PathOptions;
#[cfg(feature = "sctp")]
pub use network::sctp::associations::Associations;
#[cfg(feature = "sctp")]
pub use network::sctp::error::AssociationError;
#[cfg(feature = "sctp")]
pub use network::sctp::event::{AssociationEnd, AssociationEvent, AssociationHandle, SessionError};
#[cfg(feature = "sctp")]
pub use network::sctp::options::AssociationOptions;
pub use observe::observation::{Observation, QueueFill, StreamObservation, StreamState};
pub use options::{BackPressure, CardOptions};
pub use socket_card::Service;
pub use stream_events::StreamEvent;
pub use timing::Timing;
pub use transmit::port::ControlPort;
pub use warpline_vfio_user::{ListenError, Listener};
