//! Keys of the RTL texts that this program writes, by which a record is known to be of one of them.

use std::collections::HashMap;

use warpline_design::{design, key_of};
use warpline_hdl::Config;
use warpline_sv_writer::Design;
use warpline_synth::Extent;

use super::record::Text;
use crate::Error;

/// A device that records are of, besides its width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Device {
    /// That of the simulated card.
    Simulated,
    /// That with the smallest buffers, of the long run of streams.
    Small,
    /// That of bitstreams and estimates.
    Board(Extent),
    /// That of the long run of transmission.
    Sending,
}

impl Device {
    /// Benches have configurations of their own; a test compares those with these.
    fn config(self, width: usize) -> Config {
        let simulated = Config::simulated(width);
        match self {
            Self::Simulated => simulated,
            Self::Small => Config {
                ring_octets: 4 << 10,
                commit_octets: 4 << 10,
                receive_slots: 16,
                ..simulated
            },
            Self::Board(extent) => extent.config(width),
            Self::Sending => Config {
                streams: 4,
                ring_octets: 16 << 10,
                commit_octets: 16 << 10,
                stag_slots: 64,
                receive_slots: 16,
                transmit: true,
                ..simulated
            },
        }
    }
}

/// Texts written so far: a width takes a quarter of a second.
#[derive(Default)]
pub(super) struct Texts(HashMap<(Device, usize), Design>);

impl Texts {
    /// The key of all `devices` together.
    pub(super) fn key(&mut self, devices: &[(Device, usize)]) -> Result<String, Error> {
        for of @ (device, width) in devices {
            if !self.0.contains_key(of) {
                self.0.insert(*of, design(&device.config(*width))?);
            }
        }
        Ok(key_of(devices.iter().filter_map(|of| self.0.get(of))))
    }

    /// What `recorded`, a key or nothing, says of a record of `devices`.
    pub(super) fn compare(
        &mut self,
        recorded: &str,
        devices: &[(Device, usize)],
    ) -> Result<Text, Error> {
        if recorded.is_empty() {
            return Ok(Text::Unkeyed);
        }
        let now = self.key(devices)?;
        Ok(match now == recorded {
            true => Text::Same(now),
            false => Text::Older {
                recorded: recorded.into(),
                now,
            },
        })
    }
}
