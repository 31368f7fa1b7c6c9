//! The device that bitstreams, estimates and reports are of.

use warpline_hdl::Config;

/// The device of a bitstream: 4 streams with rings of 16 KiB, everything else as in the simulated card.
#[must_use]
pub const fn config(width: usize) -> Config {
    Config {
        ring_octets: 16 << 10,
        commit_octets: 16 << 10,
        ..Config::simulated(width)
    }
}
