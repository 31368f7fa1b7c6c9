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
use crate::tcp::{Direction, Side};

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
    }
}

/// Sorts the TCP segments of a capture file into connections, and parses MPA start-up on each.
pub(crate) fn connections(file: &[u8]) -> Result<Vec<Connection>, TrafficError> {
    let mut connections: Vec<Connection> = Vec::new();
    let mut latest = HashMap::new();
    for packet in pcap::packets(file)? {
        let Some(packet) = packet::tcp(&packet)? else {
            continue;
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
        connections[index]
            .sender_mut(packet.from)
            .segments
            .push(packet.segment);
    }
    for connection in &mut connections {
        connection.mpa = mpa::start_up(&connection.client, &connection.server);
    }
    Ok(connections)
}
