//! TCP connections of a capture, and MPA start-up on each.
//!
//! ```text
//!  packets ─► TCP segments ─┬─ client ─► server ─┐
//!                           └─ server ─► client ─┴─ MPA start-up ─► Connection
//! ```

use std::collections::HashMap;
use std::net::SocketAddr;

use crate::error::{MpaError, TrafficError};
use crate::mpa::{self, Flow, Mpa};
use crate::packet::{self, TcpPacket};
use crate::pcap;
use crate::skipped::Skipped;
use crate::tcp::{Direction, Side, TcpSegment};

/// A SYN captured late lies at most so many octets before the segments that overtook it: the largest initial window.
const LATE_SYN_OCTETS: u32 = 1 << 20;

/// One TCP connection, both directions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connection {
    /// What the client sent.
    pub client: Direction,
    /// What the server sent.
    pub server: Direction,
    /// The outcome of MPA start-up on it.
    pub mpa: Result<Mpa, MpaError>,
}

impl Connection {
    /// What `side` sent.
    pub fn sent_by(&self, side: Side) -> &Direction {
        match side {
            Side::Client => &self.client,
            Side::Server => &self.server,
        }
    }

    /// What `side` sent in full operation, ready for the peer's receiver.
    ///
    /// # Errors
    /// The connection does not speak MPA.
    pub fn flow(&self, side: Side) -> Result<Flow, MpaError> {
        let mpa = self.mpa.as_ref().map_err(Clone::clone)?;
        Ok(mpa::flow(self.sent_by(side), mpa, side))
    }

    /// Whether one of its ends began MPA.
    pub(crate) fn has_start_key(&self) -> bool {
        [&self.client, &self.server]
            .into_iter()
            .any(|direction| mpa::first_key(direction).is_some())
    }

    fn new(first: &TcpPacket) -> Self {
        let direction = |from, to| Direction {
            from,
            to,
            segments: Vec::new(),
        };
        // A SYN with ACK is the server's reply to a SYN that was not captured.
        let (client, server) = if first.segment.flags.syn && first.ack {
            (first.to, first.from)
        } else {
            (first.from, first.to)
        };
        Self {
            client: direction(client, server),
            server: direction(server, client),
            mpa: Err(MpaError::NoRequest),
        }
    }

    fn sender_mut(&mut self, from: SocketAddr) -> &mut Direction {
        if self.client.from == from {
            &mut self.client
        } else {
            &mut self.server
        }
    }

    /// Whether `packet` opens a new connection between the same two ports.
    fn is_reopened_by(&self, packet: &TcpPacket) -> bool {
        let sent = if self.client.from == packet.from {
            &self.client.segments
        } else {
            &self.server.segments
        };
        packet.segment.flags.syn
            && !packet.ack
            && !sent.is_empty()
            && !sent
                .iter()
                .any(|s| s.flags.syn && s.seq == packet.segment.seq)
            && !is_late(&packet.segment, sent)
    }

    /// A SYN without ACK comes from the client, also when it was captured behind the server's segments.
    fn note_client(&mut self, packet: &TcpPacket) {
        if packet.segment.flags.syn && !packet.ack && self.client.from != packet.from {
            std::mem::swap(&mut self.client, &mut self.server);
        }
    }
}

/// Whether `syn` opens the stream of `sent`, and was captured behind its first octets: several queues of a network card are
/// captured in any order.
fn is_late(syn: &TcpSegment, sent: &[TcpSegment]) -> bool {
    let first = syn.payload_seq();
    let ended = |s: &TcpSegment| s.flags.syn || s.flags.fin || s.flags.rst;
    !sent.iter().any(ended)
        && sent
            .iter()
            .all(|s| s.seq.wrapping_sub(first) < LATE_SYN_OCTETS)
}

/// The connections of a capture file, and what could not be read of it.
pub(crate) struct Sorted {
    pub connections: Vec<Connection>,
    pub skipped: Vec<Skipped>,
    pub stopped: Option<TrafficError>,
}

/// Sorts the TCP segments of a capture file into connections, and parses MPA start-up on each.
pub(crate) fn connections(file: &[u8]) -> Result<Sorted, TrafficError> {
    let mut connections: Vec<Connection> = Vec::new();
    let mut skipped: Vec<Skipped> = Vec::new();
    let mut latest = HashMap::new();
    let read = pcap::packets(file)?;
    for packet in read.packets {
        let packet = match packet::tcp(&packet) {
            Ok(Some(packet)) => packet,
            Ok(None) => continue,
            Err(reason) => {
                Skipped::note(&mut skipped, reason);
                continue;
            }
        };
        let ends = (packet.from.min(packet.to), packet.from.max(packet.to));
        let known = latest
            .get(&ends)
            .copied()
            .filter(|&i: &usize| !connections[i].is_reopened_by(&packet));
        let index = known.unwrap_or_else(|| {
            connections.push(Connection::new(&packet));
            connections.len() - 1
        });
        latest.insert(ends, index);
        connections[index].note_client(&packet);
        connections[index]
            .sender_mut(packet.from)
            .segments
            .push(packet.segment);
    }
    for connection in &mut connections {
        connection.mpa = mpa::start_up(&connection.client, &connection.server);
    }
    Ok(Sorted {
        connections,
        skipped,
        stopped: read.stopped,
    })
}
