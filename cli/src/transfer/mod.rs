//! Memory served over iWARP: a server offers a region to reads and writes, a client writes a file into it and reads it back.
//!
//! ```text
//!   put, get                                                serve
//!   connect ─────────── MPA Request ──────────────────────► Listener, accept
//!           ◄────────── MPA Reply: Offer {base, length, STag}
//!   post_send ───────── RDMA Writes ──────────────────────► region        the server's program does nothing
//!             ───────── RDMA Read of the last octet ──────►               answered behind the Writes: they are placed
//!   disconnect ──────── FIN ──────────────────────────────► HalfClosed, disconnect
//! ```
//!
//! Each end runs a simulated card with its control program and TCP, or SCTP: then Initiate, Accept and Terminate are what Request, Reply
//! and FIN are in the figure. A program of your own needs what [`Client`] and [`serve`]
//! show, over any card.

mod client;
mod error;
mod machine;
mod offer;
mod server;

pub use client::{Client, Progress, Retries};
pub use error::TransferError;
pub use machine::{Machine, MachineOptions};
pub use offer::Offer;
pub use server::{End, Server, serve};
