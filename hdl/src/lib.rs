//! RTL of warpline
#[macro_use]
mod util;

pub mod admit;
pub mod assembly;
pub mod axi;
pub mod check;
pub mod commit;
pub mod completion;
pub mod config;
mod design;
pub mod control;
pub mod delay;
pub mod deliver;
pub mod dff;
pub mod fetch;
pub mod crc32c;
pub mod crc_register;
pub mod xor_network;
pub mod ingress;
pub mod top;
pub mod window;
pub mod keep_count;
pub mod lane_ram;
pub mod rotate;
pub mod scan;
pub mod strip;
pub mod lane_mask;
pub mod place;
pub mod queue;
pub mod records;
pub mod registers;
pub mod write_mux;
pub mod writer;

pub use config::Config;
pub use design::{design, ConfigError, DesignError, TOP};
