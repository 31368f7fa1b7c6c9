//! What is fixed for an association before it is set up.

use super::packet::Indication;
use super::size::SACK_LEN;
use super::ssn::MAX_IN_FLIGHT;

/// Settings of an association.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The indication of our INIT or INIT-ACK. An association serves DDP only if it is
    /// [`Indication::DDP`] at both ends.
    pub indication: Indication,
    /// Initiates that may wait for the ULP's decision at a time (RFC 5043 §6.4).
    pub backlog: u16,
    /// Chunks that may arrive out of order; 1 to 32,767, and no more than the bitmaps serve. A peer may
    /// have 32,767 under way, so a smaller one can end the session of a conforming peer (AMB-34).
    pub window: u16,
    /// Octets of a packet that are left to control chunks (SCTP-LIM-05).
    pub reserve: u16,
    /// How long the peer and the ULP may take.
    pub timeouts: Timeouts,
}

impl Default for Settings {
    /// DDP, 16 Initiates, the largest window, room for a SACK, 10 seconds.
    fn default() -> Self {
        Self {
            indication: Indication::DDP,
            backlog: 16,
            window: MAX_IN_FLIGHT,
            reserve: SACK_LEN,
            timeouts: Timeouts::default(),
        }
    }
}

/// Time-outs in milliseconds of the clock that the calls are given. RFC 5043 has none; these are MPA's
/// (AMB-52).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// From an Initiate to its answer.
    pub answer: u32,
    /// From the peer's Initiate to the ULP's decision.
    pub decision: u32,
    /// From our Terminate to the end of the peer's half.
    pub end: u32,
}

impl Default for Timeouts {
    /// 10 seconds each.
    fn default() -> Self {
        Self {
            answer: 10_000,
            decision: 10_000,
            end: 10_000,
        }
    }
}
