//! The device that bitstreams, estimates and reports are of.

use std::fmt;

use serde::{Deserialize, Serialize};
use warpline_hdl::{Config, Sctp};

/// What a device does besides receiving from TCP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Extent {
    /// It sends, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub transmit: bool,
    /// It has streams of SCTP, too, with the slots of [`Sctp::default`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sctp: bool,
}

impl Extent {
    /// That of a device.
    #[must_use]
    pub fn of(config: &Config) -> Self {
        Self {
            transmit: config.transmit,
            sctp: config.sctp.is_some(),
        }
    }

    /// That device, otherwise as [`config`] has it.
    #[must_use]
    pub fn config(self, width: usize) -> Config {
        Config {
            transmit: self.transmit,
            sctp: self.sctp.then(Sctp::default),
            ..config(width)
        }
    }
}

/// As captions have it: `receiving` or `both directions`, followed by `, SCTP, too` if it has that.
impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.transmit {
            true => "both directions",
            false => "receiving",
        })?;
        f.write_str(if self.sctp { ", SCTP, too" } else { "" })
    }
}

/// The device of a bitstream: 4 streams with rings of 16 KiB, everything else as in the simulated card.
#[must_use]
pub const fn config(width: usize) -> Config {
    Config {
        ring_octets: 16 << 10,
        commit_octets: 16 << 10,
        ..Config::simulated(width)
    }
}
