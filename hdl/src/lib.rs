//! RTL of warpline: one block, one file, described in rust-hdl; and the [`writer`] that turns it into SystemVerilog.
//!
//! ```text
//!  network side (ingress)                                        host side
//!
//!  admit ─► assembly ─► fetch ─┬─► crc32c ──────────┐            control ◄─ registers ◄─ s_axil
//!             │  ▲             └─► strip ─► commit ─┴─► check ─► place ─► write_mux ─► m_axi
//!             ▼  │                            ▲           │        │         ▲
//!           scan ┘                            └── place ──┘        └► deliver ─► completion ─► interrupts ─► m_axis_msix
//!
//!  underneath: lane_ram, rotate, lane_mask, keep_count, heads, turn, xor_network, delay, queue, dff
//! ```
//!
//! `warpline-design` makes the text of a whole device from a [`Config`]. `KERNELS.md` tells what kernels may contain.
#![forbid(unsafe_code)]

#[macro_use]
mod util;

mod config;
pub mod writer;

// what everything is built from
pub mod crc_register;
pub mod delay;
pub mod dff;
pub mod keep_count;
pub mod lane_mask;
pub mod lane_ram;
pub mod queue;
pub mod rotate;
pub mod turn;
pub mod xor_network;

// what crosses block boundaries
pub mod axi;
pub mod records;

// network side
pub mod admit;
pub mod assembly;
pub mod commit;
pub mod crc32c;
pub mod ending;
pub mod fetch;
pub mod heads;
pub mod ingress;
pub mod scan;
pub mod strip;
pub mod window;

// host side
pub mod arbiter;
pub mod check;
pub mod completion;
pub mod control;
pub mod deliver;
pub mod interrupts;
pub mod place;
pub mod refill;
pub mod registers;
pub mod write_mux;

pub mod top;

pub use config::{Config, ConfigError, ISLANDS, STREAMS};
