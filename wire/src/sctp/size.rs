//! The maximum DDP segment size of a path (RFC 5043 §9).
//!
//! ```text
//!  path MTU
//!  ├ IP ┼ extra ┼ SCTP common (12) ┼ DATA header (16) ┼ DDP-SSN (2) ┼ DDP segment ┼ reserve ┤
//!                                                     └── a multiple of 4 octets ─┘
//! ```

use super::chunk::{MAX_CONTROL_LEN, SSN_LEN};
use super::packet::{ALIGN, COMMON_HEADER_LEN, DATA_HEADER_LEN};
use crate::mpa::MAX_ULPDU;

/// Least value of the maximum DDP segment size, for any path (AMB-36). A chunk of this size may have
/// to be fragmented by SCTP, the alternative being fragmentation by IP.
pub const MIN_MAX_SEGMENT: u16 = MAX_CONTROL_LEN as u16;
/// Octets that a SACK without gaps takes in a packet: the default reserve.
pub const SACK_LEN: u16 = 16;

/// Version of the Internet Protocol below SCTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ip {
    /// 20 octets a header.
    V4,
    /// 40 octets a header.
    V6,
}

/// What limits a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// Octets of the largest IP packet that is not fragmented.
    pub mtu: u16,
    /// Version of IP.
    pub ip: Ip,
    /// Octets between the IP header and SCTP's, or of IP options: 8 with UDP encapsulation (RFC 6951).
    pub extra: u16,
}

impl Path {
    /// A path without UDP encapsulation or IP options.
    pub const fn new(ip: Ip, mtu: u16) -> Self {
        Self { mtu, ip, extra: 0 }
    }

    /// The maximum DDP segment size that leaves `reserve` octets of a packet to bundled control
    /// chunks (SCTP-LIM-05): the largest that needs no fragmentation, but never less than 516.
    pub const fn max_segment(&self, reserve: u16) -> u16 {
        let ip = match self.ip {
            Ip::V4 => 20,
            Ip::V6 => 40,
        };
        let headers = (COMMON_HEADER_LEN + DATA_HEADER_LEN) as u16;
        let room = self
            .mtu
            .saturating_sub(ip)
            .saturating_sub(self.extra)
            .saturating_sub(headers)
            .saturating_sub(reserve);
        // A chunk is padded to a multiple of four octets.
        let segment = (room & !(ALIGN as u16 - 1)).saturating_sub(SSN_LEN as u16);
        if segment < MIN_MAX_SEGMENT {
            MIN_MAX_SEGMENT
        } else if segment > MAX_ULPDU {
            MAX_ULPDU // of what `send::ddp_segments` cuts
        } else {
            segment
        }
    }

    /// Whether a chunk with this many octets of user data fits one packet of the path. SCTP may
    /// fragment a chunk only if it does not (SCTP-LIM-04).
    pub const fn fits(&self, user_data: usize) -> bool {
        let ip = match self.ip {
            Ip::V4 => 20,
            Ip::V6 => 40,
        };
        let headers = COMMON_HEADER_LEN + DATA_HEADER_LEN + ip + self.extra as usize;
        let padded = user_data.saturating_add(ALIGN - 1) & !(ALIGN - 1);
        headers.saturating_add(padded) <= self.mtu as usize
    }
}
