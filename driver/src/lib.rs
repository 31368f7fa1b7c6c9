//! The host side of warpline: protection domains, memory regions, streams, receive queues, completions.
//!
//! ```text
//!  program ─► Context ─┬─ ProtectionDomain ─┬─ MemoryRegion   STag: the peer writes here
//!                      │                    ├─ Stream ─ ReceiveQueue ◄─ Buffer, SendQueue
//!                      │                    └─ connect, Listener ─► QueuePair ◄─ WorkRequest, Buffer
//!                      ├─ CompletionQueue ─► Completion ─► Buffer    DDP messages
//!                      └─ WorkQueue ─► Work                          RDMA: Write, Send, Read
//!                             │
//!                        dyn Device ─► kernel VFIO, or vfio-user: a board or a simulated card
//! ```
//!
//! Three rules keep memory safe whatever the peer sends:
//!
//! 1. Memory that the device may write to belongs to a handle, and the program reads copies of it only.
//! 2. A handle releases its memory only after the device has confirmed that no write to it is under way.
//! 3. If the device does not confirm, the memory is kept permanently rather than freed.
//!
//! Data from the device is checked: a malformed completion or record is an [`Error`].
//!
//! ```no_run
//! use warpline_driver::{DmaMemory, Options, Registration, StreamOptions};
//! # fn run() -> Result<(), warpline_driver::Error> {
//! let context = warpline_driver::open("0000:05:00.0", Options::default())?; // or the path of a card's socket
//! let domain = context.protection_domain()?;
//! let region = domain.register(DmaMemory::new(1 << 20)?, Registration::default())?;
//! let stream = domain.arm(0, StreamOptions { sequence_start: 1000, ..Default::default() })?;
//! stream.receive_queue(0)?.post_many(context.buffers(16, 512)?)?;
//! println!("write to STag {:#010x} from {:#x} on", region.stag(), region.base());
//! let completions = context.completion_queue();
//! while let Some(completion) = completions.wait(std::time::Duration::from_secs(1))? {
//!     println!("{completion:?}");
//! }
//! stream.close()?;
//! let memory = region.revoke()?; // from here on only the program accesses the memory
//! println!("{:?}", &memory[..16]);
//! # Ok(())
//! # }
//! ```
//!
//! A card with send queues and a control program ([`Context::capabilities`]) connects to peers and speaks RDMA. The program
//! posts requests to a [`QueuePair`] and takes completions from a [`WorkQueue`], which may serve many pairs:
//!
//! ```no_run
//! use std::{sync::Arc, time::Duration};
//! use warpline_driver::*;
//! # fn run() -> Result<(), Error> {
//! let context = open("/run/card", Options::default())?;
//! let domain = context.protection_domain()?;
//! let queue = WorkQueue::new(&context, 64)?;
//! let mut options = ConnectOptions::default();
//! options.pair.buffers = context.buffers(16, 512)?; // for Sends of the peer
//! let peer: Endpoint = "192.0.2.1:7000".parse().expect("an address"); // or sctp://192.0.2.1:9899
//! let (pair, reply) = connect(&domain, &queue, peer, options)?;
//! println!("the peer says {reply:?}");
//! let memory = DmaMemory::new(4096)?;
//! let region = Arc::new(domain.register(memory, Registration::local())?);
//! pair.post_send(WorkRequest::send(1, Local::all(&region)?))?;
//! while let Some(work) = queue.wait(Duration::from_secs(1))? {
//!     match work {
//!         Work::Completion(done) => println!("{:?} {}: {:?}", done.opcode, done.id, done.status),
//!         Work::Event { event: PairEvent::Closed(_), .. } => break,
//!         _ => {}
//!     }
//! }
//! # Ok(())
//! # }
//! ```
#![deny(unsafe_code)]
#![deny(missing_docs)]

mod address;
mod backend;
mod buffer;
mod completion;
mod connection;
mod context;
mod device;
mod dma;
pub mod doctor;
mod domain;
mod error;
mod error_record;
mod interrupt;
mod iova;
mod mailbox;
mod mailbox_state;
#[cfg(test)]
mod mapped;
#[allow(unsafe_code, reason = "maps memory and hands out views of it")]
mod memory;
mod open_error;
#[cfg(test)]
mod patience;
mod pci_address;
mod posted_sends;
mod protection_domain;
mod queue_pair;
mod read_buffers;
mod receive_ring;
mod region;
mod route;
mod send_queue;
mod send_ring;
mod shape;
mod shared;
mod stag;
mod stream;
mod words;

pub use address::{Address, open};
#[cfg(all(target_arch = "x86_64", feature = "kernel"))]
pub use backend::kernel::KernelVfio;
#[cfg(all(target_arch = "x86_64", feature = "pci-driver"))]
pub use backend::pci_driver::PciDriver;
#[cfg(feature = "vfio-user")]
pub use backend::vfio_user::VfioUser;
pub use buffer::Buffer;
pub use completion::{
    CloseEvent, Completion, ErrorEvent, FlushedReceive, SentCompletion, TaggedCompletion,
    UntaggedCompletion,
};
pub use connection::{
    ConnectOptions, ConnectRequest, Endpoint, ListenOptions, Listener, QpOptions, Revision, connect,
};
pub use context::{CompletionQueue, Context, Counters, Options};
pub use device::{BackendError, Device, DeviceInfo, DmaMap};
pub use error::{Error, Returned};
pub use error_record::{ErrorDetail, ErrorRecord};
pub use memory::DmaMemory;
pub use open_error::OpenError;
pub use pci_address::PciAddress;
pub use posted_sends::SendStatus;
pub use protection_domain::ProtectionDomain;
pub use queue_pair::{
    Data, Local, PairEvent, PairOptions, PairState, QueuePair, Remote, Work, WorkCompletion,
    WorkOpcode, WorkQueue, WorkRequest, WorkStatus,
};
pub use region::{MemoryRegion, Registration, Scope};
pub use send_queue::SendQueue;
pub use shape::{Capabilities, Shape};
pub use stream::{ReceiveQueue, Stream, StreamOptions};
pub use warpline_regmap::mailbox::{
    CloseReason, FailureCause, ListenFailure, MessageError, Refusal, Rtr, Settings, Transport,
};
pub use warpline_regmap::transmit::{Element, Flags, Gather, Inline, Payload, SlotError, Target};
pub use warpline_wire::error_number::{Checks, Ending, ErrorNumber};
pub use warpline_wire::rdmap::{Cause, RdmaError, Terminate};
