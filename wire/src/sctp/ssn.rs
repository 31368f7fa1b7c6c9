//! The DDP-SSN: 16 bits, one up per chunk, compared as serial numbers.

use core::fmt;

/// Most chunks of a stream that may be unacknowledged, so that two DDP-SSNs under way are less than
/// half of the number space apart (RFC 5043 §10, SCTP-SSN-07).
pub const MAX_IN_FLIGHT: u16 = (1 << 15) - 1;

/// DDP Source Stream Sequence Number of a chunk: its place in the order in which the chunks of one
/// direction of a session were submitted to SCTP, modulo 2^16 (RFC 5043 §5.2.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ssn(pub u16);

impl Ssn {
    /// Of the first chunk of either direction, which is a session control message (AMB-33).
    pub const FIRST: Self = Self(0);
    /// Of the first DDP segment of either direction.
    pub const FIRST_SEGMENT: Self = Self(1);

    /// Of the next chunk.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }

    /// How many chunks this one is ahead of `other`, modulo 2^16: from 2^15 on it is behind.
    pub const fn ahead_of(self, other: Self) -> u16 {
        self.0.wrapping_sub(other.0)
    }
}

impl fmt::Display for Ssn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
