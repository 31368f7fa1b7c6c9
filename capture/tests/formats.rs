//! Every file format and link type gives the same connections as the plain one.

mod common;

use std::time::Duration;

use common::{CAPTURES, Wire, directory, ends, frame, pcap, pcapng};
use etherparse::PacketBuilder;
use warpline_capture::{Connection, MpaError, Side, Traffic, TrafficError, read_traffic};
use warpline_wire::start::{Kind, StartError};

/// A classic capture file rewritten with its header words in another byte order or with another magic number.
fn rewritten(file: &[u8], magic: [u8; 4], swap: bool) -> Vec<u8> {
    let mut out = magic.to_vec();
    let words = |octets: &[u8], size: usize, out: &mut Vec<u8>| {
        for word in octets.chunks(size) {
            if swap {
                out.extend(word.iter().rev());
            } else {
                out.extend(word);
            }
        }
    };
    words(&file[4..8], 2, &mut out);
    words(&file[8..24], 4, &mut out);
    let mut at = 24;
    while at < file.len() {
        let length = u32::from_le_bytes(*file[at + 8..].first_chunk().unwrap()) as usize;
        words(&file[at..at + 16], 4, &mut out);
        out.extend(&file[at + 16..at + 16 + length]);
        at += 16 + length;
    }
    out
}

#[test]
fn byte_order_of_the_file_does_not_matter() {
    for name in CAPTURES {
        let file = std::fs::read(directory(name).join("wire.pcap")).unwrap();
        let plain = read_traffic(&file).unwrap();
        let swapped = rewritten(&file, [0xA1, 0xB2, 0xC3, 0xD4], true);
        assert_eq!(read_traffic(&swapped).unwrap(), plain, "{name}");
    }
}

fn times(connections: &[Connection]) -> Vec<Duration> {
    let mut times: Vec<_> = [&connections[0].client, &connections[0].server]
        .into_iter()
        .flat_map(|d| d.segments.iter().map(|s| s.time))
        .collect();
    times.sort_unstable();
    times
}

#[test]
fn microseconds_and_nanoseconds() {
    let file = Wire::started(1, b"data").pcap();
    for (magic, swap, unit) in [
        ([0xD4, 0xC3, 0xB2, 0xA1], false, 1000),
        ([0xA1, 0xB2, 0xC3, 0xD4], true, 1000),
        ([0x4D, 0x3C, 0xB2, 0xA1], false, 1),
        ([0xA1, 0xB2, 0x3C, 0x4D], true, 1),
    ] {
        let connections = read_traffic(&rewritten(&file, magic, swap)).unwrap();
        let expected: Vec<_> = (0..4).map(|i| Duration::new(i, i as u32 * unit)).collect();
        assert_eq!(times(&connections), expected, "{magic:x?}");
    }
}

#[test]
fn first_octets_say_what_a_capture_is() {
    let classic = Wire::started(1, b"data").pcap();
    let magics: [u32; 3] = [0xA1B2_C3D4, 0xA1B2_3C4D, 0xA1B2_CD34];
    for magic in magics
        .iter()
        .flat_map(|m| [m.to_be_bytes(), m.to_le_bytes()])
    {
        assert!(Traffic::is_capture(&magic), "{magic:x?}");
    }
    assert!(Traffic::is_capture(&classic));
    assert!(Traffic::is_capture(&[0x0A, 0x0D, 0x0D, 0x0A]), "pcapng");
    assert!(Traffic::is_capture(&[0x1F, 0x8B, 8]), "gzip");
    // octets as people write them, part of a first word, another method than deflate
    for other in [&b"00 2c 41 81"[..], b"", &classic[..3], &[0x1F, 0x8B, 7]] {
        assert!(!Traffic::is_capture(other), "{other:x?}");
    }
}

#[test]
fn pcapng_in_either_byte_order() {
    let wire = Wire::started(1, b"data");
    let plain = read_traffic(&wire.pcap()).unwrap();
    let nanosecond = Duration::from_nanos(1);
    // 2^33 ticks of 2^-32 s; 10^10 ticks of a nanosecond; both are shown with what one tick more means.
    for (tsresol, ticks, seconds, tick) in [
        (0x80 | 32, 1 << 33, 2, Duration::ZERO),
        (9, 10_000_000_000, 10, nanosecond),
        (6, 10_000_000, 10, 1000 * nanosecond),
    ] {
        for big_endian in [false, true] {
            let file = pcapng(&wire.packets, big_endian, tsresol, ticks);
            let connections = read_traffic(&file).unwrap();
            assert_eq!(
                times(&connections)[..2],
                [
                    Duration::from_secs(seconds),
                    Duration::from_secs(seconds) + tick
                ]
            );
            let same = |side| connections[0].flow(side) == plain[0].flow(side);
            assert!(same(Side::Client) && same(Side::Server));
        }
    }
}

#[test]
fn every_link_type_gives_the_same_flow() {
    let wire = Wire::started(1, b"data");
    let ethernet = |packet: &[u8]| packet.to_vec();
    let vlan = |packet: &[u8]| [&packet[..12], &[0x81, 0, 0, 5], &packet[12..]].concat();
    let padded = |packet: &[u8]| [packet, &[0xAA; 9]].concat();
    // A sender's own capture before the network card segments: the IP header has no length yet.
    let offloaded = |packet: &[u8]| [&packet[..16], &[0, 0], &packet[18..]].concat();
    let raw = |packet: &[u8]| packet[14..].to_vec();
    let null = |packet: &[u8]| [&[2, 0, 0, 0], &packet[14..]].concat();
    let cooked = |packet: &[u8]| [&[0; 14], &packet[12..]].concat();
    let cooked2 = |packet: &[u8]| [&packet[12..14], &[0; 18], &packet[14..]].concat();
    type Convert<'a> = &'a dyn Fn(&[u8]) -> Vec<u8>;
    let links: [(u32, Convert<'_>); 12] = [
        (1, &ethernet),
        (1, &vlan),
        (1, &padded),
        (1, &offloaded),
        (101, &raw),
        (12, &raw),
        (14, &raw),
        (228, &raw),
        (0, &null),
        (108, &null),
        (113, &cooked),
        (276, &cooked2),
    ];
    for (i, (link_type, convert)) in links.into_iter().enumerate() {
        let packets: Vec<_> = wire.packets.iter().map(|p| convert(p)).collect();
        let connections = read_traffic(&pcap(&packets, link_type)).unwrap();
        assert_eq!(connections[0].client.from, ends(Side::Client).0.into());
        let flow = connections[0].flow(Side::Client).unwrap();
        assert_eq!(
            flow.octets().unwrap(),
            b"data",
            "case {i}, link type {link_type}"
        );
    }
    assert_eq!(
        read_traffic(&pcap(&wire.packets, 147)).unwrap_err(),
        TrafficError::LinkType {
            packet: 1,
            link_type: 147
        }
    );
}

#[test]
fn ipv6_with_the_responder_seen_first() {
    let segment = |from: u8, to: u8, seq, payload: &[u8]| {
        let address = |last: u8| [0x20, 1, 0xD, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last];
        let mut packet = Vec::new();
        PacketBuilder::ethernet2([2; 6], [4; 6])
            .ipv6(address(from), address(to), 64)
            .tcp(4000 + u16::from(from), 4000 + u16::from(to), seq, 100)
            .write(&mut packet, payload)
            .unwrap();
        packet
    };
    let reply = frame(b"MPA ID Rep Frame", 0x80, 1, b"");
    let mut request = frame(b"MPA ID Req Frame", 0, 1, b"");
    request.extend(b"full operation");
    // No SYN in the capture, and the Request arrives in two pieces.
    let packets = [
        segment(1, 2, 900, &reply),
        segment(2, 1, 70, &request[..10]),
        segment(2, 1, 80, &request[10..]),
    ];
    let connections = read_traffic(&pcap(&packets, 1)).unwrap();
    let mpa = connections[0].mpa.as_ref().unwrap();
    assert!(connections[0].client.from.is_ipv6());
    assert_eq!(
        (mpa.initiator, mpa.markers(Side::Server)),
        (Side::Server, true)
    );
    assert_eq!(
        (mpa.seq_start(Side::Server), mpa.seq_start(Side::Client)),
        (90, 920)
    );
    let flow = connections[0].flow(Side::Server).unwrap();
    assert_eq!(
        (flow.octets().unwrap(), flow.markers),
        (b"full operation".to_vec(), true)
    );
}

#[test]
fn other_traffic_is_passed_over() {
    let mut wire = Wire::started(1, b"data");
    let plain = read_traffic(&wire.pcap()).unwrap();
    let mut udp = Vec::new();
    PacketBuilder::ethernet2([2; 6], [4; 6])
        .ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
        .udp(53, 53)
        .write(&mut udp, b"MPA ID Req Frame")
        .unwrap();
    let arp = [&[0xFF; 12][..], &[8, 6], &[0; 3]].concat(); // cut short by its sender
    let bridge = [&[0xFF; 12][..], &[0, 38], &[0x42; 38]].concat(); // IEEE 802.3 length field
    wire.packets.extend([udp, arp, bridge]);
    assert_eq!(read_traffic(&wire.pcap()).unwrap(), plain);
}

/// Errors of a capture whose third packet (the Request) was changed.
fn third_packet(change: impl FnOnce(&mut Vec<u8>)) -> TrafficError {
    let mut wire = Wire::started(1, b"data");
    change(&mut wire.packets[2]);
    read_traffic(&wire.pcap()).unwrap_err()
}

#[test]
fn damaged_packets_are_named() {
    let reason = |e| match e {
        TrafficError::Packet { packet: 3, reason } => reason,
        other => panic!("{other}"),
    };
    assert!(reason(third_packet(|p| p.truncate(10))).contains("link header"));
    assert!(reason(third_packet(|p| p.truncate(30))).contains("IPv4"));
    assert!(
        reason(third_packet(|p| p[14] = 0x75)).contains("7"),
        "IP version"
    );
    assert!(
        reason(third_packet(|p| p[14] = 0x41)).contains("1"),
        "IP header length"
    );
    assert!(reason(third_packet(|p| p[17] += 1)).contains("more octets"));
    assert!(
        reason(third_packet(|p| p[46] = 0x10)).contains("TCP"),
        "TCP data offset"
    );
    let fragment = third_packet(|p| p[20] = 0x20);
    assert_eq!(fragment, TrafficError::Fragment { packet: 3 });
}

#[test]
fn cut_and_truncated_files_are_named() {
    let file = Wire::started(1, b"data").pcap();
    let error = |octets: &[u8]| read_traffic(octets).unwrap_err();
    // The Request without its last octets.
    let mut packets = Wire::started(1, b"data").packets;
    let length = packets[2].len();
    packets[2].truncate(length - 6);
    let mut cut = pcap(&packets, 1);
    let record = 24 + 2 * (16 + packets[0].len());
    cut[record + 12..record + 14].copy_from_slice(&(length as u16).to_le_bytes());
    assert_eq!(
        error(&cut),
        TrafficError::Cut {
            packet: 3,
            captured: length as u32 - 6,
            length: length as u32
        }
    );
    // What was cut off lies behind the end that the IP header states.
    let mut trailer = file.clone();
    trailer[24 + 12..24 + 14].copy_from_slice(&1500_u16.to_le_bytes());
    assert_eq!(read_traffic(&trailer), read_traffic(&file));
    assert_eq!(
        error(&file[..file.len() - 1]),
        TrafficError::Truncated { after: 3 }
    );
    assert_eq!(error(&file[..20]), TrafficError::Truncated { after: 0 });
    assert_eq!(error(&file[..24]), TrafficError::NoTcp);
    assert_eq!(error(b""), TrafficError::NotACapture);
    assert_eq!(error(b"GIF89a, not a capture"), TrafficError::NotACapture);
    let modified = rewritten(&file, [0x34, 0xCD, 0xB2, 0xA1], false);
    assert!(matches!(error(&modified), TrafficError::Variant(_)));

    let wire = Wire::started(1, b"data");
    let ng = pcapng(&wire.packets, false, 6, 0);
    assert_eq!(
        error(&ng[..ng.len() - 1]),
        TrafficError::Truncated { after: 3 }
    );
    let mut interface = ng.clone();
    interface[28 + 32 + 8] = 1; // packet 1 names an interface that was not described
    assert_eq!(error(&interface), TrafficError::Block { after: 0 });
}

// req: MPA-START-11, MPA-START-27, MPA-START-29, MPA-START-31
#[test]
fn connections_without_mpa_say_why() {
    let reason = |client: &[u8], server: &[u8]| {
        let mut wire = Wire::default();
        wire.handshake(Side::Client, 9, 99);
        wire.segment(Side::Client, 10, client);
        wire.segment(Side::Server, 100, server);
        match read_traffic(&wire.pcap()) {
            Err(TrafficError::NoMpa {
                connections: 1,
                reason,
            }) => Some(reason),
            Ok(_) => None,
            Err(other) => panic!("{other}"),
        }
    };
    let request = frame(b"MPA ID Req Frame", 0, 1, b"12345");
    let reply = frame(b"MPA ID Rep Frame", 0, 1, b"");
    let rejected = frame(b"MPA ID Rep Frame", 0x20, 1, b"");
    assert_eq!(reason(&request, &reply), None);
    assert_eq!(
        reason(b"GET / HTTP/1.1", b"HTTP/1.1 200"),
        Some(MpaError::NoRequest)
    );
    assert_eq!(reason(&reply, &reply), Some(MpaError::NoRequest));
    assert_eq!(reason(&request, b""), Some(MpaError::NoReply));
    assert_eq!(
        reason(&request, &request),
        Some(MpaError::NoReply),
        "two Initiators"
    );
    assert_eq!(reason(&request, &rejected), Some(MpaError::Rejected));
    let incomplete = MpaError::Incomplete {
        kind: Kind::Request,
        seq: 10,
        needed: 25,
        found: 24,
    };
    assert_eq!(reason(&request[..24], &reply), Some(incomplete));
    let long = [&request[..18], &[2, 1], &[0; 513]].concat();
    let source = StartError::PrivateData { len: 513 };
    assert_eq!(
        reason(&long, &reply),
        Some(MpaError::Frame {
            kind: Kind::Request,
            seq: 10,
            source
        })
    );
    let old = frame(b"MPA ID Rep Frame", 0, 0, b"");
    let source = StartError::Revision { revision: 0 };
    assert_eq!(
        reason(&request, &old),
        Some(MpaError::Frame {
            kind: Kind::Reply,
            seq: 100,
            source
        })
    );
}

/// One connection that speaks MPA is enough.
#[test]
fn mpa_beside_other_connections() {
    let mut wire = Wire::default();
    wire.handshake(Side::Client, 9, 99);
    wire.segment(Side::Client, 10, b"GET /");
    wire.again(5000, b"data");
    let connections = read_traffic(&wire.pcap()).unwrap();
    assert_eq!(connections[0].mpa, Err(MpaError::NoRequest));
    assert_eq!(connections[0].flow(Side::Client), Err(MpaError::NoRequest));
    assert_eq!(
        connections[1].flow(Side::Client).unwrap().octets().unwrap(),
        b"data"
    );
}
