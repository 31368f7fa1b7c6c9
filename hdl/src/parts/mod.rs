//! What blocks of every floor are built from. Nothing here knows a stream, a register or a host.

pub mod axi;
pub mod crc32c;
pub mod crc_register;
pub mod delay;
pub mod keep_count;
pub mod lane_mask;
pub mod lane_ram;
pub mod queue;
pub mod rotate;
pub mod round_robin;
pub mod xor_network;
