//! The DATA chunks in the SCTP packets of a capture, as they were captured.

use std::net::SocketAddr;

use super::sctp::{SctpForm, sctp_units};
use super::unit::Unit;
use crate::error::TrafficError;
use crate::skipped::Skipped;
use crate::{packet, pcap, traffic};

/// One packet.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Found {
    number: u64,
    from: SocketAddr,
    to: SocketAddr,
    chunks: Vec<u8>,
}

/// The SCTP packets of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SctpCapture {
    packets: Vec<Found>,
    /// Packets that could not be read, by reason.
    pub skipped: Vec<Skipped>,
    /// Why the file could not be read to its end.
    pub stopped: Option<TrafficError>,
}

impl SctpCapture {
    /// Reads a pcap or pcapng file, which may be packed with gzip. SCTP's checksums are not checked.
    ///
    /// # Errors
    /// The octets are no capture, or no packet of it has a DATA chunk.
    pub fn read(file: &[u8]) -> Result<Self, TrafficError> {
        let (file, damage) = traffic::unpacked(file)?;
        let read = pcap::packets(&file)?;
        let mut new = Self {
            packets: vec![],
            skipped: vec![],
            stopped: damage.or(read.stopped),
        };
        for captured in &read.packets {
            match packet::sctp(captured) {
                Ok(Some(found)) => new.packets.push(Found {
                    number: captured.number,
                    from: found.from,
                    to: found.to,
                    chunks: found.chunks.to_vec(),
                }),
                Ok(None) => {}
                Err(reason) => Skipped::note(&mut new.skipped, reason),
            }
        }
        let is_empty = new.units(false).next().is_none();
        if is_empty {
            let skipped = new.skipped.into_iter().next().map(|skipped| skipped.first);
            return Err(new.stopped.or(skipped).unwrap_or(TrafficError::NoSctp));
        }
        Ok(new)
    }

    /// Explains the DATA chunks, in the order of the packets.
    pub fn units(&self, payload: bool) -> impl Iterator<Item = Unit> {
        self.packets.iter().flat_map(move |packet| {
            let units = sctp_units(&packet.chunks, SctpForm::Chunks, payload);
            units.map(|unit| Unit {
                summary: format!(
                    "packet {}, {} to {}: {}",
                    packet.number, packet.from, packet.to, unit.summary
                ),
                ..unit
            })
        })
    }
}
