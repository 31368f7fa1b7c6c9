//! Parameters of a device, in one place.

/// What an integrator chooses. Width and number of streams are const generics of the top; this type carries
/// them too, so that one value describes a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    /// Width of the data path in bits: 64, 128, 256 or 512.
    pub width: usize,
    /// Streams, 1 to 16.
    pub streams: usize,
    /// Octets of each stream's assembly ring: a power of two, 4 KiB to 128 KiB. It bounds the TCP window and the FPDU.
    pub ring_octets: usize,
    /// Octets of the commit buffer: a power of two, at least `ring_octets`.
    pub commit_octets: usize,
    /// Slots of the STag table: a power of two, 16 to 4096.
    pub stag_slots: usize,
    /// Buffers an untagged queue can hold: a power of two, 2 to 256.
    pub receive_slots: usize,
    /// Untagged queues of each stream: 1 to 4.
    pub queues: usize,
}

impl Config {
    /// The device that the simulated card uses: every legal FPDU fits.
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
        }
    }

    /// Octets of a beat.
    #[must_use]
    pub const fn octets(&self) -> usize {
        self.width / 8
    }

    /// Largest ULPDU that is accepted: 64768, or what the buffers hold (AMB-21, AMB-22).
    #[must_use]
    pub const fn max_ulpdu(&self) -> usize {
        64768
    }

    /// Largest FPDU on the wire that the buffers hold, in octets.
    #[must_use]
    pub const fn max_fpdu(&self) -> usize {
        self.ring_octets
    }
}
