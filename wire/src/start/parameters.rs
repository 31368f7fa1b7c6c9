//! What start-up settles for full operation, and the gate in front of the Responder's sender.

use super::negotiate::Agreement;
use crate::ddp;

/// The end of the connection that a machine plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Sends the Request, and the first FPDU.
    Initiator,
    /// Sends the Reply, and no FPDU before the Initiator's first one.
    Responder,
}

/// Result of start-up: how to arm both directions of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Our end.
    pub role: Role,
    /// MPA revision in use: 1 or 2; 0 with the draft's key.
    pub revision: u8,
    /// We insert markers: the peer's M.
    pub send_markers: bool,
    /// We expect markers: our M.
    pub receive_markers: bool,
    /// Both ends generate and check CRCs: either C (MPA-CRC-10).
    pub crc: bool,
    /// Octets that the machine sent; ours of full operation begin behind them.
    pub sent: u16,
    /// Octets that the machine took; the peer's of full operation begin behind them.
    pub received: u16,
    /// Depths and RTR indication; none without RFC 6581, and the ULPs settle them.
    pub agreement: Option<Agreement>,
}

impl Parameters {
    /// DV of all DDP segments, sent and received: version 1 for every revision that start-up accepts
    /// (MPA-START-33, AMB-25).
    pub const fn ddp_version(&self) -> u8 {
        ddp::VERSION
    }

    /// The sender's gate as full operation begins.
    pub const fn gate(&self) -> Gate {
        Gate {
            open: matches!(self.role, Role::Initiator),
        }
    }
}

/// Whether FPDUs and markers may be sent: at the Initiator at once, at the Responder once the
/// Initiator's first FPDU is valid (RFC 5044 §7.1.2, MPA-START-10).
///
/// Valid is a matter of MPA: the FPDU's framing, markers and, if in use, CRC. What DDP makes of its
/// content has no influence, so that an error in it can be reported to the peer (AMB-55, AMB-56).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gate {
    open: bool,
}

impl Gate {
    /// FPDUs may be sent.
    pub const fn is_open(self) -> bool {
        self.open
    }

    /// MPA found a received FPDU valid.
    pub const fn fpdu_validated(&mut self) {
        self.open = true;
    }
}
