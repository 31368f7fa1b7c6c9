//! Parts that blocks of all floors are built from, independent of streams, registers and hosts.

pub mod axi;
pub mod crc32c;
pub mod crc_register;
pub mod delay;
pub mod keep_count;
pub mod lane_mask;
pub mod lane_ram;
pub mod queue;
pub mod record_ram;
pub mod room_count;
pub mod rotate;
pub mod round_robin;
pub mod xor_network;
