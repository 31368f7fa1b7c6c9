//! A record of packets, in the format of pcap: what Wireshark reads.

use std::io::{self, Write};
use std::time::{Duration, SystemTime};

/// Link type of packets that begin with SCTP's common header (`LINKTYPE_SCTP`).
const LINKTYPE_SCTP: u32 = 248;
/// First four octets of a file with times in microseconds.
const MAGIC: u32 = 0xa1b2_c3d4;
/// Octets of a packet that are kept: all.
const SNAPLEN: u32 = 65_535;

/// Writes packets as a pcap file.
#[derive(Debug)]
pub struct Record<W> {
    to: W,
}

impl<W: Write> Record<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn new(mut to: W) -> io::Result<Self> {
        to.write_all(&MAGIC.to_le_bytes())?;
        for half in [2_u16, 4] {
            to.write_all(&half.to_le_bytes())?; // the format's version
        }
        for word in [0, 0, SNAPLEN, LINKTYPE_SCTP] {
            to.write_all(&word.to_le_bytes())?;
        }
        Ok(Self { to })
    }

    /// Writes a packet, at most its first 65,535 octets.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn packet(&mut self, time: SystemTime, packet: &[u8]) -> io::Result<()> {
        let time = time.duration_since(SystemTime::UNIX_EPOCH);
        let time = time.unwrap_or(Duration::ZERO);
        let kept = &packet[..packet.len().min(SNAPLEN as usize)];
        let seconds = u32::try_from(time.as_secs()).unwrap_or(u32::MAX);
        let words = [
            seconds,
            time.subsec_micros(),
            kept.len() as u32,
            packet.len() as u32,
        ];
        for word in words {
            self.to.write_all(&word.to_le_bytes())?;
        }
        self.to.write_all(kept)
    }

    /// Ends the record, and returns the writer.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn finish(mut self) -> io::Result<W> {
        self.to.flush()?;
        Ok(self.to)
    }
}
