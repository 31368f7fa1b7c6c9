//! How associations work, and their limits.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use warpline_usrsctp::Timers;
use warpline_wire::sctp::Settings;

/// How the associations of a card work, and their limits: none of them grows by what a peer sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssociationOptions {
    /// Address and port of the datagrams (RFC 6951); port 0 is any port.
    pub address: SocketAddr,
    /// Most associations at a time.
    pub associations: usize,
    /// Streams that are asked for in each direction (RFC 5043 §8).
    pub streams: u16,
    /// MTU of the paths.
    pub mtu: u16,
    /// Octets of SCTP's buffers, of each association.
    pub buffer: u32,
    /// Most octets of a session that wait: for its stream to be attached, or for room in the device.
    pub waiting: usize,
    /// Longest time that a peer may keep an association without a session.
    pub idle: Duration,
    /// Indication, backlog and time-outs of sessions. The window is always the largest.
    pub settings: Settings,
    /// SCTP's retransmissions.
    pub timers: Timers,
}

impl Default for AssociationOptions {
    /// Any port of this machine alone, 16 associations of 16 streams, an MTU of 1500, buffers of 256 KiB, 4 MiB that wait, 10 s
    /// without a session; a peer that does not answer for about a minute is lost.
    fn default() -> Self {
        Self {
            address: (Ipv4Addr::LOCALHOST, 0).into(),
            associations: 16,
            streams: 16,
            mtu: 1500,
            buffer: 256 << 10,
            waiting: 4 << 20,
            // As over TCP, where a Request has as long (`peer_time` of the settings).
            idle: Duration::from_secs(10),
            settings: Settings::default(),
            // A peer that is gone is given up within a minute or so, as over TCP.
            timers: Timers {
                most: Duration::from_secs(6),
                heartbeat: Duration::from_secs(2),
                ..Timers::default()
            },
        }
    }
}
