//! RTL of warpline
#[macro_use]
mod util;

pub mod admit;
pub mod assembly;
pub mod axi;
pub mod commit;
pub mod config;
pub mod delay;
pub mod dff;
pub mod fetch;
pub mod keep_count;
pub mod lane_ram;
pub mod rotate;
pub mod scan;
pub mod strip;
pub mod lane_mask;
pub mod queue;
pub mod records;
pub mod writer;

pub use config::Config;
