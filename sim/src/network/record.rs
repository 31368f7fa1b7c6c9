//! Records what passes over connections of the card's network side, as frames that read like a capture of TCP.
//!
//! ```text
//!  SYN, SYN ACK, ACK ─► data, ACK … ─► FIN, ACK │ RST        Ethernet │ IPv4 or IPv6 │ TCP, with checksums
//! ```
//!
//! The kernel hides its segments: octets are recorded as they are read from a socket or written to it, before the path, in
//! segments that fill a frame at most, with sequence numbers of the network side's choice.

use std::net::SocketAddr;
use std::sync::Arc;

use etherparse::{TcpHeader, TcpOptionElement};

use crate::network::frames::{Frames, From, addressed};

/// Octets of a frame's payload: headers of IP and TCP, and the segment.
const FRAME: usize = 1500;
/// Octets of a TCP header without options.
const TCP: usize = 20;
/// Acknowledged at least each so many octets, so that the recorded window is never exceeded.
const UNACKNOWLEDGED: usize = 32 << 10;
/// Window of each segment.
const WINDOW: u16 = u16::MAX;

/// Both ends of a recorded connection.
#[derive(Clone, Debug)]
pub(crate) struct Ends {
    card: SocketAddr,
    peer: SocketAddr,
    /// Sequence number of the next octet of each end.
    card_next: u32,
    peer_next: u32,
}

impl Ends {
    /// A connection whose ends begin with these sequence numbers, those of their SYNs.
    pub fn new(card: SocketAddr, peer: SocketAddr, card_first: u32, peer_first: u32) -> Self {
        let canonical = |mut address: SocketAddr| {
            address.set_ip(address.ip().to_canonical());
            address
        };
        Self {
            card: canonical(card),
            peer: canonical(peer),
            card_next: card_first,
            peer_next: peer_first,
        }
    }

    /// The card's address.
    pub fn card(&self) -> SocketAddr {
        self.card
    }

    /// The peer's address.
    pub fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// Most octets of a segment: what fits a frame.
    fn largest(&self) -> usize {
        let ip = if self.card.is_ipv4() { 20 } else { 40 };
        FRAME - ip - TCP
    }

    /// Sequence number of the next octet of an end.
    pub fn next(&self, from: From) -> u32 {
        match from {
            From::Card => self.card_next,
            From::Peer => self.peer_next,
        }
    }

    /// Counts octets, SYN or FIN of an end.
    fn advance(&mut self, from: From, count: usize) {
        let next = match from {
            From::Card => &mut self.card_next,
            From::Peer => &mut self.peer_next,
        };
        *next = next.wrapping_add(count as u32);
    }
}

/// Counts sequence numbers, and writes frames if there is a file for them.
pub(crate) struct Record {
    file: Option<Arc<Frames>>,
}

impl Record {
    /// A record in `file`. `None`: sequence numbers are counted, and nothing is written.
    pub fn new(file: Option<Arc<Frames>>) -> Self {
        Self { file }
    }

    /// The handshake of an established connection, opened by an end. Both ends' numbers advance by their SYN.
    pub fn established(&self, ends: &mut Ends, opened: From) {
        self.syn(ends, opened);
        self.packet(ends, opened.other(), &[], |tcp| {
            tcp.syn = true;
            maximum(tcp, ends);
        });
        ends.advance(opened.other(), 1);
        self.packet(ends, opened, &[], |_| {});
    }

    /// The card's SYN and the peer's RST.
    pub fn refused(&self, ends: &mut Ends) {
        self.syn(ends, From::Card);
        ends.peer_next = 0; // RFC 9293 §3.5.2: the number of an RST that answers a SYN
        self.packet(ends, From::Peer, &[], |tcp| tcp.rst = true);
    }

    fn syn(&self, ends: &mut Ends, from: From) {
        self.packet(ends, from, &[], |tcp| {
            tcp.syn = true;
            tcp.ack = false;
            tcp.acknowledgment_number = 0;
            maximum(tcp, ends);
        });
        ends.advance(from, 1);
    }

    /// Octets of an end, acknowledged by the other one.
    pub fn octets(&self, ends: &mut Ends, from: From, octets: &[u8]) {
        let largest = ends.largest();
        for part in octets.chunks(UNACKNOWLEDGED) {
            let count = part.chunks(largest).count();
            for (i, octets) in part.chunks(largest).enumerate() {
                self.packet(ends, from, octets, |tcp| tcp.psh = i + 1 == count);
                ends.advance(from, octets.len());
            }
            self.packet(ends, from.other(), &[], |_| {});
        }
    }

    /// The FIN of an end, acknowledged by the other one.
    pub fn fin(&self, ends: &mut Ends, from: From) {
        self.packet(ends, from, &[], |tcp| tcp.fin = true);
        ends.advance(from, 1);
        self.packet(ends, from.other(), &[], |_| {});
    }

    /// The RST of an end.
    pub fn reset(&self, ends: &Ends, from: From) {
        self.packet(ends, from, &[], |tcp| tcp.rst = true);
    }

    /// Writes what is buffered.
    pub fn flush(&self) {
        if let Some(file) = &self.file {
            file.flush();
        }
    }

    fn packet(&self, ends: &Ends, from: From, octets: &[u8], set: impl FnOnce(&mut TcpHeader)) {
        let Some(file) = &self.file else {
            return;
        };
        let (sender, receiver) = match from {
            From::Card => (ends.card, ends.peer),
            From::Peer => (ends.peer, ends.card),
        };
        let mut tcp = TcpHeader::new(sender.port(), receiver.port(), ends.next(from), WINDOW);
        tcp.ack = true;
        tcp.acknowledgment_number = ends.next(from.other());
        set(&mut tcp);
        let network = addressed(ends.card, ends.peer, from);
        file.write(|frame| network.tcp_header(tcp).write(frame, octets));
    }
}

/// The option that a SYN carries.
fn maximum(tcp: &mut TcpHeader, ends: &Ends) {
    let option = TcpOptionElement::MaximumSegmentSize(ends.largest() as u16);
    let _ = tcp.set_options(&[option]); // four octets always fit
}
