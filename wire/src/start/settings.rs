//! What the card and its administrator fix for every connection. The ULP has no part in it.

use super::profile::Profile;

/// Settings of the card, the same for all its connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Form of the start frames.
    pub profile: Profile,
    /// M of our frames: our receiver requires markers. Linux siw rejects a Request with M = 1.
    pub markers: bool,
    /// The administrator of the machine asks for connections without CRC, which RFC 5044 §4.4 allows
    /// for paths that something else protects end to end as well as a CRC32C (MPA-CRC-02, MPA-CRC-05).
    pub crc_off: bool,
    /// The card uses CRCs whatever the administrator asks for (MPA-CRC-04).
    pub force_crc: bool,
    /// Frames of RFC 6581 are understood and may be requested. Without it a Request of revision 2 is
    /// malformed (RFC 6581 §10).
    pub enhanced: bool,
    /// Deepest queue of inbound RDMA Reads that the card can give a connection.
    pub max_ird: u16,
    /// How long the peer may take.
    pub timeouts: Timeouts,
}

impl Default for Settings {
    /// RFC frames of both revisions, no markers, CRC on, no inbound RDMA Reads, 10 seconds.
    fn default() -> Self {
        Self {
            profile: Profile::Rfc,
            markers: false,
            crc_off: false,
            force_crc: false,
            enhanced: true,
            max_ird: 0,
            timeouts: Timeouts::default(),
        }
    }
}

impl Settings {
    /// C of our frames.
    pub const fn requests_crc(&self) -> bool {
        !self.crc_off || self.force_crc
    }
}

/// Time-outs in milliseconds of the clock that `poll` is given (AMB-52).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// For the set of start frames. At the Initiator from its creation to the last octet of the Reply;
    /// at the Responder from the complete Request to the ULP's decision.
    pub start_frames: u32,
    /// At the Responder, from its creation to the last octet of the Request.
    pub responder_wait: u32,
}

impl Default for Timeouts {
    /// 10 seconds each.
    fn default() -> Self {
        Self {
            start_frames: 10_000,
            responder_wait: 10_000,
        }
    }
}
