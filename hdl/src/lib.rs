//! RTL of warpline: one block, one file, described in rust-hdl, laid out by floor.
//!
//! ```text
//!  rx/mpa (ingress)                                    rx/ddp                    host
//!
//!  admit ─► assembly ─► fetch ─┬─► crc32c ──────────┐            control ◄─ registers ◄─ s_axil
//!             │  ▲             └─► strip ─► commit ─┴─► check ─► place ─► write_mux ─► m_axi
//!             ▼  │                            ▲           │        │         ▲
//!           scan ┘                            └── place ──┘        └► deliver ─► completion ─► interrupts ─► m_axis_msix
//!
//!  host            tx/ddp                                tx/mpa                   an option of the device
//!
//!  send_queues ─► segment ─► local_access ─► gather ─► frame ─► transmit_ring ─► m_axis_transmit
//!       └────────────── m_axi ◄── read_mux ◄────┘                    settle ─► send_event
//!
//!  tables, of both directions: stag_table, stag_copy, tagged_checks
//!  parts, underneath: lane_ram, record_ram, rotate, room_count, lane_mask, keep_count, round_robin, crc32c, xor_network, delay, queue, axi
//! ```
//!
//! `warpline-design` makes the text of a whole device from a [`Config`], with the writer of `warpline-sv-writer`.
//! `KERNELS.md` describes what kernels may contain.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod config;

pub mod core;
pub mod duplex;
pub mod host;
pub mod parts;
pub mod records;
pub mod reset;
pub mod rx;
pub mod tables;
pub mod top;
pub mod tx;

pub use config::{Config, ConfigError, ISLANDS, STREAMS, Sctp};
