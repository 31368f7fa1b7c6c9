//! The recorded runs, and frames made by hand.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::path::PathBuf;

use etherparse::{PacketBuilder, TcpHeader};
use warpline_capture::{Capture, Side};

/// All capture directories, in alphabetical order.
pub const CAPTURES: [&str; 8] = [
    "crc0-rev2-writes",
    "crc1-rev2-badstag",
    "crc1-rev2-mixed",
    "crc1-rev2-nobuf",
    "crc1-rev2-oob",
    "crc1-rev2-sends",
    "crc1-rev2-writes",
    "crc1-rping",
];

pub fn directory(name: &str) -> PathBuf {
    PathBuf::from(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../testbenches/captures"
    ))
    .join(name)
}

pub fn open(name: &str) -> Capture {
    Capture::open(directory(name)).unwrap()
}

/// A start frame as RFC 5044 §7.1.1 draws it.
pub fn frame(key: &[u8; 16], flags: u8, revision: u8, private_data: &[u8]) -> Vec<u8> {
    let mut frame = key.to_vec();
    frame.extend([flags, revision]);
    frame.extend((private_data.len() as u16).to_be_bytes());
    frame.extend(private_data);
    frame
}

/// Writes Ethernet packets of one pair of ports, and captures of them.
#[derive(Default)]
pub struct Wire {
    /// Whole packets in capture order.
    pub packets: Vec<Vec<u8>>,
    next: u32,
}

impl Wire {
    /// A connection in full operation: no markers, no CRC, `data` sent by the client after its Request.
    pub fn started(isn: u32, data: &[u8]) -> Self {
        let mut wire = Self::default();
        wire.again(isn, data);
        wire
    }

    /// The same, appended, between the same ports.
    pub fn again(&mut self, isn: u32, data: &[u8]) {
        self.handshake(Side::Client, isn, 5000);
        let mut sent = frame(b"MPA ID Req Frame", 0, 1, b"");
        sent.extend(data);
        self.segment(Side::Client, isn.wrapping_add(1), &sent);
        self.next = isn.wrapping_add(1 + sent.len() as u32);
        self.segment(Side::Server, 5001, &frame(b"MPA ID Rep Frame", 0, 1, b""));
    }

    /// The sequence number after what the client sent in `started`.
    pub fn next_seq(&self) -> u32 {
        self.next
    }

    /// SYN, SYN with ACK. `isn` is `side`'s, `peer_isn` the other side's; the client opens.
    pub fn handshake(&mut self, side: Side, isn: u32, peer_isn: u32) {
        let (client, server) = match side {
            Side::Client => (isn, peer_isn),
            Side::Server => (peer_isn, isn),
        };
        self.flagged(Side::Client, client, b"", |tcp| tcp.syn = true);
        self.flagged(Side::Server, server, b"", |tcp| {
            tcp.syn = true;
            tcp.ack = true;
        });
    }

    /// A data segment.
    pub fn segment(&mut self, side: Side, seq: u32, payload: &[u8]) {
        self.flagged(side, seq, payload, |tcp| tcp.ack = true);
    }

    /// A segment with any header.
    pub fn flagged(
        &mut self,
        side: Side,
        seq: u32,
        payload: &[u8],
        set: impl FnOnce(&mut TcpHeader),
    ) {
        let (from, to) = ends(side);
        let mut tcp = TcpHeader::new(from.1, to.1, seq, 8192);
        set(&mut tcp);
        let mut packet = Vec::new();
        PacketBuilder::ethernet2([2; 6], [4; 6])
            .ipv4(from.0, to.0, 64)
            .tcp_header(tcp)
            .write(&mut packet, payload)
            .unwrap();
        self.packets.push(packet);
    }

    /// A classic little-endian capture file.
    pub fn pcap(&self) -> Vec<u8> {
        pcap(&self.packets, 1)
    }
}

/// Address and port of sender and receiver.
pub fn ends(side: Side) -> (([u8; 4], u16), ([u8; 4], u16)) {
    let (client, server) = (([10, 0, 0, 1], 4000), ([10, 0, 0, 2], 7000));
    match side {
        Side::Client => (client, server),
        Side::Server => (server, client),
    }
}

/// A classic little-endian capture file of any link type; packet `i` has time `i` s + `i` µs.
pub fn pcap(packets: &[Vec<u8>], link_type: u32) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xA1B2_C3D4, 0x0004_0002, 0, 0, 65535, link_type] {
        file.extend(u32::to_le_bytes(word));
    }
    for (i, packet) in (0..).zip(packets) {
        let length = packet.len() as u32;
        for word in [i, i, length, length] {
            file.extend(u32::to_le_bytes(word));
        }
        file.extend(packet);
    }
    file
}

/// A pcapng file of the given packets, all on one Ethernet interface; packet `i` has time stamp `ticks + i`.
pub fn pcapng(packets: &[Vec<u8>], big_endian: bool, tsresol: u8, ticks: u64) -> Vec<u8> {
    let long = |v: u32| {
        if big_endian {
            v.to_be_bytes()
        } else {
            v.to_le_bytes()
        }
    };
    let short = |v: u16| {
        if big_endian {
            v.to_be_bytes()
        } else {
            v.to_le_bytes()
        }
    };
    let block = |kind: u32, body: &[u8]| {
        let length = long(12 + body.len() as u32);
        [&long(kind), &length, body, &length].concat()
    };
    let mut file = block(
        0x0A0D_0D0A,
        &[&long(0x1A2B_3C4D)[..], &short(1), &short(0), &[0xFF; 8]].concat(),
    );
    let options = [&short(9)[..], &short(1), &[tsresol, 0, 0, 0], &[0; 4]].concat();
    file.extend(block(
        1,
        &[&short(1)[..], &short(0), &long(0), &options].concat(),
    ));
    for (i, packet) in (0..).zip(packets) {
        let time: u64 = ticks + i;
        let length = long(packet.len() as u32);
        let mut body = [
            long(0),
            long((time >> 32) as u32),
            long(time as u32),
            length,
            length,
        ]
        .concat();
        body.extend(packet);
        body.resize(body.len().next_multiple_of(4), 0);
        file.extend(block(6, &body));
    }
    file
}
