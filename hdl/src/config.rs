//! Parameters of a device, in one place.
use thiserror::Error;

/// Islands of a stream: runs of octets behind a gap, kept until the gap closes.
pub const ISLANDS: usize = 4;

/// Supported numbers of streams.
pub const STREAMS: [usize; 2] = [4, 16];

/// The integrator's choices. Width and number of streams are const generics of the top; this type has them, too, so that
/// one value describes a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    /// Width of the data path in bits: 64, 128, 256 or 512.
    pub width: usize,
    /// Streams: one of [`STREAMS`].
    pub streams: usize,
    /// Octets of each stream's assembly ring: a power of two, 4 KiB to 128 KiB. It bounds the TCP window and the FPDU.
    pub ring_octets: usize,
    /// Octets of the commit buffer: a power of two, at least `ring_octets`.
    pub commit_octets: usize,
    /// Slots of the STag table: a power of two, 16 to 4096.
    pub stag_slots: usize,
    /// Buffers that an untagged queue can hold: a power of two, 2 to 256.
    pub receive_slots: usize,
    /// Untagged queues of each stream: 1 to 4.
    pub queues: usize,
    /// The device sends, too: it has send queues, a transmit ring of `ring_octets` for each stream, and the ports of TCP for them.
    pub transmit: bool,
    /// The device takes DDP over SCTP, too, in slots of its rings: it has the ports of SCTP. With `transmit` it sends it, too.
    pub sctp: Option<Sctp>,
}

/// What a device needs for streams of SCTP (RFC 5043).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sctp {
    /// Octets of a slot, which holds the user data of one chunk: a power of two, 512 to a quarter of the ring.
    pub slot_octets: usize,
    /// Numbers from the next one on that a chunk may have: 1 to 32,767 (AMB-34).
    pub window: usize,
}

impl Default for Sctp {
    /// Chunks of an MTU of 1500; the window that RFC 5043 §10 allows a peer.
    fn default() -> Self {
        Self {
            slot_octets: 2 << 10,
            window: 32_767,
        }
    }
}

impl Sctp {
    /// Checks both parameters for rings of `ring_octets`.
    ///
    /// # Errors
    /// The first one that no device can have.
    pub fn validate(&self, ring_octets: usize) -> Result<(), ConfigError> {
        let (value, most) = (self.slot_octets, ring_octets / 4);
        if !value.is_power_of_two() || !(512..=most).contains(&value) {
            return Err(ConfigError::Size {
                what: "slot octets",
                value,
                least: 512,
                most,
            });
        }
        if !(1..=32_767).contains(&self.window) {
            return Err(ConfigError::Window(self.window));
        }
        Ok(())
    }
}

impl Config {
    /// The device that the simulated card uses: every legal FPDU fits. It receives only.
    #[must_use]
    pub const fn simulated(width: usize) -> Self {
        Self {
            width,
            streams: 4,
            ring_octets: 128 << 10,
            commit_octets: 128 << 10,
            stag_slots: 256,
            receive_slots: 64,
            queues: 4,
            transmit: false,
            sctp: None,
        }
    }

    /// Octets of a beat.
    #[must_use]
    pub const fn octets(&self) -> usize {
        self.width / 8
    }

    /// Largest ULPDU that is accepted, if its FPDU is not larger than [`max_fpdu`](Self::max_fpdu) (AMB-21, AMB-22).
    #[must_use]
    pub const fn max_ulpdu(&self) -> usize {
        64768
    }

    /// Largest FPDU on the wire that the buffers hold, in octets.
    #[must_use]
    pub const fn max_fpdu(&self) -> usize {
        self.ring_octets
    }

    /// Checks all parameters.
    ///
    /// # Errors
    /// The first one that no device can have.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let size = |what, value: usize, least, most| {
            if value.is_power_of_two() && (least..=most).contains(&value) {
                Ok(())
            } else {
                Err(ConfigError::Size {
                    what,
                    value,
                    least,
                    most,
                })
            }
        };
        if !matches!(self.width, 64 | 128 | 256 | 512) {
            return Err(ConfigError::Width(self.width));
        }
        if !STREAMS.contains(&self.streams) {
            return Err(ConfigError::Streams(self.streams));
        }
        if !(1..=4).contains(&self.queues) {
            return Err(ConfigError::Queues(self.queues));
        }
        size("ring octets", self.ring_octets, 4 << 10, 128 << 10)?;
        size(
            "commit buffer octets",
            self.commit_octets,
            self.ring_octets,
            256 << 10,
        )?;
        size("STag slots", self.stag_slots, 16, 4096)?;
        size("receive slots", self.receive_slots, 2, 256)?;
        match self.sctp {
            Some(sctp) => sctp.validate(self.ring_octets),
            None => Ok(()),
        }
    }
}

/// A configuration that no device can have.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ConfigError {
    /// The data path has no such width.
    #[error("width {0}: choose 64, 128, 256 or 512 bits")]
    Width(usize),
    /// The number of streams is not supported.
    #[error("{0} streams: choose 4 or 16")]
    Streams(usize),
    /// A size that must be a power of two in a range.
    #[error("{what} {value}: choose a power of two from {least} to {most}")]
    Size {
        /// Which one.
        what: &'static str,
        /// The value given.
        value: usize,
        /// Smallest legal value.
        least: usize,
        /// Largest legal value.
        most: usize,
    },
    /// The window of DDP-SSNs.
    #[error("a window of {0} chunks: choose 1 to 32767")]
    Window(usize),
    /// The number of untagged queues.
    #[error("{0} untagged queues: choose 1 to 4")]
    Queues(usize),
}
