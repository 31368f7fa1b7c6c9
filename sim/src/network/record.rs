//! Records what passes between peers and the card's network side, as pcapng that reads like a capture of TCP.
//!
//! ```text
//!  SYN, SYN ACK, ACK ─► data, ACK … ─► FIN, ACK │ RST        Ethernet │ IPv4 or IPv6 │ TCP, with checksums
//! ```
//!
//! The kernel hides its segments: octets are recorded as they are read from a socket or written to it, before the path, in
//! segments that fill a frame at most, with sequence numbers of the network side's choice.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use etherparse::{PacketBuilder, TcpHeader, TcpOptionElement};

/// Octets of a frame's payload: headers of IP and TCP, and the segment.
const FRAME: usize = 1500;
/// Octets of a TCP header without options.
const TCP: usize = 20;
/// Acknowledged at least each so many octets, so that the recorded window is never exceeded.
const UNACKNOWLEDGED: usize = 32 << 10;
/// Window of each segment.
const WINDOW: u16 = u16::MAX;
/// Ethernet addresses, locally administered.
const CARD: [u8; 6] = [2, 0, 0, 0, 0, 1];
const PEER: [u8; 6] = [2, 0, 0, 0, 0, 2];

/// Block types and options (draft-ietf-opsawg-pcapng).
mod block {
    pub const SECTION_HEADER: u32 = 0x0A0D_0D0A;
    pub const INTERFACE: u32 = 1;
    pub const ENHANCED_PACKET: u32 = 6;
    pub const BYTE_ORDER_MAGIC: u32 = 0x1A2B_3C4D;
    pub const LINK_ETHERNET: u16 = 1;
    pub const OPTION_TSRESOL: u16 = 9;
    /// Time stamps count 10^-9 s.
    pub const NANOSECONDS: u8 = 9;
}

/// Which end sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum From {
    Card,
    Peer,
}

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

impl From {
    fn other(self) -> Self {
        match self {
            Self::Card => Self::Peer,
            Self::Peer => Self::Card,
        }
    }
}

/// Counts sequence numbers, and writes a file if there is one.
pub(crate) struct Record<W: Write = BufWriter<File>> {
    /// `None`: sequence numbers are counted, and nothing is written.
    file: Option<W>,
    packet: Vec<u8>,
    /// What ended the file, until it was returned.
    failed: Option<io::Error>,
}

impl Record {
    /// No file.
    pub fn none() -> Self {
        Self {
            file: None,
            packet: Vec::new(),
            failed: None,
        }
    }

    /// Creates the file.
    pub fn create(path: &Path) -> io::Result<Self> {
        Self::new(BufWriter::new(File::create(path)?))
    }
}

impl<W: Write> Record<W> {
    fn new(file: W) -> io::Result<Self> {
        let mut record = Self {
            file: Some(file),
            packet: Vec::new(),
            failed: None,
        };
        let mut header = block::BYTE_ORDER_MAGIC.to_le_bytes().to_vec();
        header.extend([1, 0, 0, 0]); // version 1.0
        header.extend([0xFF; 8]); // length not stated
        record.block(block::SECTION_HEADER, &[&header])?;
        let mut interface = block::LINK_ETHERNET.to_le_bytes().to_vec();
        interface.extend([0; 6]); // reserved; no limit of a packet's length
        interface.extend(block::OPTION_TSRESOL.to_le_bytes());
        interface.extend([1, 0, block::NANOSECONDS, 0, 0, 0]);
        interface.extend([0; 4]); // end of options
        record.block(block::INTERFACE, &[&interface])?;
        Ok(record)
    }

    /// The handshake of an established connection, opened by an end. Both ends' numbers advance by their SYN.
    pub fn established(&mut self, ends: &mut Ends, opened: From) {
        self.syn(ends, opened);
        self.packet(ends, opened.other(), &[], |tcp| {
            tcp.syn = true;
            maximum(tcp, ends);
        });
        ends.advance(opened.other(), 1);
        self.packet(ends, opened, &[], |_| {});
    }

    /// The card's SYN and the peer's RST.
    pub fn refused(&mut self, ends: &mut Ends) {
        self.syn(ends, From::Card);
        ends.peer_next = 0; // RFC 9293 §3.5.2: the number of an RST that answers a SYN
        self.packet(ends, From::Peer, &[], |tcp| tcp.rst = true);
    }

    fn syn(&mut self, ends: &mut Ends, from: From) {
        self.packet(ends, from, &[], |tcp| {
            tcp.syn = true;
            tcp.ack = false;
            tcp.acknowledgment_number = 0;
            maximum(tcp, ends);
        });
        ends.advance(from, 1);
    }

    /// Octets of an end, acknowledged by the other one.
    pub fn octets(&mut self, ends: &mut Ends, from: From, octets: &[u8]) {
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
    pub fn fin(&mut self, ends: &mut Ends, from: From) {
        self.packet(ends, from, &[], |tcp| tcp.fin = true);
        ends.advance(from, 1);
        self.packet(ends, from.other(), &[], |_| {});
    }

    /// The RST of an end.
    pub fn reset(&mut self, ends: &Ends, from: From) {
        self.packet(ends, from, &[], |tcp| tcp.rst = true);
    }

    /// Writes what is buffered. After an error, nothing more is recorded; the error is returned once.
    pub fn flush(&mut self) -> io::Result<()> {
        match (self.failed.take(), &mut self.file) {
            (Some(error), _) => Err(error),
            (None, Some(file)) => file.flush(),
            (None, None) => Ok(()),
        }
    }

    fn packet(&mut self, ends: &Ends, from: From, octets: &[u8], set: impl FnOnce(&mut TcpHeader)) {
        if self.file.is_none() {
            return;
        }
        let (sender, receiver, macs) = match from {
            From::Card => (ends.card, ends.peer, (CARD, PEER)),
            From::Peer => (ends.peer, ends.card, (PEER, CARD)),
        };
        let mut tcp = TcpHeader::new(sender.port(), receiver.port(), ends.next(from), WINDOW);
        tcp.ack = true;
        tcp.acknowledgment_number = ends.next(from.other());
        set(&mut tcp);
        let link = PacketBuilder::ethernet2(macs.0, macs.1);
        let network = match (sender.ip(), receiver.ip()) {
            (IpAddr::V4(sender), IpAddr::V4(receiver)) => {
                link.ipv4(sender.octets(), receiver.octets(), 64)
            }
            (sender, receiver) => {
                let octets = |ip: IpAddr| match ip {
                    IpAddr::V4(ip) => ip.to_ipv6_mapped().octets(),
                    IpAddr::V6(ip) => ip.octets(),
                };
                link.ipv6(octets(sender), octets(receiver), 64)
            }
        };
        let mut packet = std::mem::take(&mut self.packet);
        packet.clear();
        let written = network.tcp_header(tcp).write(&mut packet, octets);
        let written = written.map_err(io::Error::other);
        if let Err(error) = written.and_then(|()| self.enhanced(&packet)) {
            tracing::error!(%error, "the record of the network side ends");
            (self.file, self.failed) = (None, Some(error));
        }
        self.packet = packet;
    }

    fn enhanced(&mut self, packet: &[u8]) -> io::Result<()> {
        let time = SystemTime::now().duration_since(UNIX_EPOCH);
        let time = time.map_or(0, |time| time.as_nanos() as u64);
        let length = (packet.len() as u32).to_le_bytes();
        let mut header = [0; 20]; // interface 0
        header[4..8].copy_from_slice(&((time >> 32) as u32).to_le_bytes());
        header[8..12].copy_from_slice(&(time as u32).to_le_bytes());
        header[12..16].copy_from_slice(&length);
        header[16..20].copy_from_slice(&length);
        let pad = packet.len().next_multiple_of(4) - packet.len();
        self.block(block::ENHANCED_PACKET, &[&header, packet, &[0; 3][..pad]])
    }

    fn block(&mut self, kind: u32, parts: &[&[u8]]) -> io::Result<()> {
        let octets: usize = parts.iter().map(|part| part.len()).sum();
        let length = (octets as u32 + 12).to_le_bytes();
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        file.write_all(&kind.to_le_bytes())?;
        file.write_all(&length)?;
        for part in parts {
            file.write_all(part)?;
        }
        file.write_all(&length)
    }
}

/// The option that a SYN carries.
fn maximum(tcp: &mut TcpHeader, ends: &Ends) {
    let option = TcpOptionElement::MaximumSegmentSize(ends.largest() as u16);
    let _ = tcp.set_options(&[option]); // four octets always fit
}
