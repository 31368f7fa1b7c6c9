//! What a capture file holds: its TCP connections, and what had to be left out.

use std::borrow::Cow;
use std::io::Read;

use flate2::read::MultiGzDecoder;

use crate::connection::{self, Connection};
use crate::error::TrafficError;
use crate::folder::MAX_FILE;
use crate::pcap;
use crate::skipped::Skipped;

/// First octets of gzip data (RFC 1952 §2.3.1).
const GZIP: [u8; 2] = [0x1F, 0x8B];
/// First octets of gzip data whose method is deflate, the only one there is.
const DEFLATED: [u8; 3] = [0x1F, 0x8B, 8];

/// The TCP traffic of a capture file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Traffic {
    /// TCP connections in the order of their first packet; at least one of them speaks MPA.
    pub connections: Vec<Connection>,
    /// Packets that may carry TCP and cannot be read, by reason.
    pub skipped: Vec<Skipped>,
    /// Why the file could not be read to its end; what comes before is read.
    pub stopped: Option<TrafficError>,
}

impl Traffic {
    /// Whether octets begin as a capture file does, packed or not.
    #[must_use]
    pub fn is_capture(octets: &[u8]) -> bool {
        octets.starts_with(&DEFLATED) || pcap::is_capture(octets)
    }

    /// Reads a pcap or pcapng file held in memory, which may be packed with gzip.
    ///
    /// A packet that cannot be read is skipped, and a file that ends inside a record is read up to there.
    ///
    /// # Errors
    /// The octets are not a capture, or no connection speaks MPA; if packets were left out, the reason of the first one.
    pub fn read(octets: &[u8]) -> Result<Self, TrafficError> {
        Self::read_with(octets, |connection| connection.mpa.is_ok())
    }

    /// The same for captures of which no connection need speak MPA, but one must have at least a start key.
    pub(crate) fn read_any(octets: &[u8]) -> Result<Self, TrafficError> {
        Self::read_with(octets, Connection::has_start_key)
    }

    fn read_with(octets: &[u8], usable: fn(&Connection) -> bool) -> Result<Self, TrafficError> {
        let (plain, damage) = unpacked(octets)?;
        match (Self::read_plain(&plain, usable), damage) {
            (Ok(mut traffic), damage) => {
                traffic.stopped = damage.or(traffic.stopped);
                Ok(traffic)
            }
            (Err(_), Some(damage)) => Err(damage),
            (Err(error), None) => Err(error),
        }
    }

    fn read_plain(octets: &[u8], usable: fn(&Connection) -> bool) -> Result<Self, TrafficError> {
        let connection::Sorted {
            connections,
            skipped,
            stopped,
        } = connection::connections(octets)?;
        if connections.iter().any(usable) {
            return Ok(Self {
                connections,
                skipped,
                stopped,
            });
        }
        let left_out = stopped.or(skipped.into_iter().next().map(|skipped| skipped.first));
        Err(left_out.unwrap_or_else(|| {
            match connections.iter().find_map(|c| c.mpa.clone().err()) {
                None => TrafficError::NoTcp,
                Some(reason) => TrafficError::NoMpa {
                    connections: connections.len(),
                    reason,
                },
            }
        }))
    }
}

/// The octets of a capture file, unpacked if it is packed; with what is wrong if they end early.
pub(crate) fn unpacked(
    octets: &[u8],
) -> Result<(Cow<'_, [u8]>, Option<TrafficError>), TrafficError> {
    if !octets.starts_with(&GZIP) {
        return Ok((Cow::Borrowed(octets), None));
    }
    let (plain, damage) = unpack(octets)?;
    let damage = damage.map(|reason| TrafficError::Gzip { reason });
    Ok((Cow::Owned(plain), damage))
}

/// Unpacks gzip data. If it is damaged or ends early: what comes before, and the decompressor's reason.
fn unpack(octets: &[u8]) -> Result<(Vec<u8>, Option<String>), TrafficError> {
    let mut plain = Vec::new();
    let mut limited = MultiGzDecoder::new(octets).take(MAX_FILE + 1);
    let damage = limited.read_to_end(&mut plain).err();
    if plain.len() as u64 > MAX_FILE {
        return Err(TrafficError::TooLarge { limit: MAX_FILE });
    }
    Ok((plain, damage.map(|error| error.to_string())))
}
