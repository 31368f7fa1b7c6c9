//! Captures as people have them: late, cut, packed, of old tools, with other hosts' packets between.

mod common;

use std::io::Write;

use common::{Wire, pcap, pcapng};
use flate2::Compression;
use flate2::write::GzEncoder;
use warpline_capture::{Flow, Segmentation, Side, Traffic, TrafficError};

/// Octets of an Ethernet header, and the place of an IPv4 header's total length behind it.
const ETHERNET: usize = 14;
const TOTAL_LENGTH: usize = ETHERNET + 2;
/// Octets of an Ethernet FCS.
const FCS: [u8; 4] = [0xFC; 4];

fn read(file: &[u8]) -> Traffic {
    Traffic::read(file).unwrap()
}

/// What the client sent in full operation on the first connection.
fn client(traffic: &Traffic) -> Flow {
    traffic.connections[0].flow(Side::Client).unwrap()
}

fn octets(traffic: &Traffic) -> Vec<u8> {
    client(traffic).octets().unwrap()
}

/// Linux acknowledges behind its FIN, and a keep-alive repeats the number of the FIN: neither ends the stream elsewhere.
// req: AMB-31
#[test]
fn a_fin_counts_whatever_follows_it() {
    let fin = |wire: &mut Wire, seq, payload: &[u8]| {
        wire.flagged(Side::Client, seq, payload, |tcp| {
            tcp.fin = true;
            tcp.ack = true;
        });
    };
    let mut wire = Wire::started(100, b"data");
    let next = wire.next_seq();
    fin(&mut wire, next, b"");
    assert!(client(&read(&wire.pcap())).fin);
    wire.segment(Side::Client, next + 1, b""); // an acknowledgement
    wire.segment(Side::Client, next, b"?"); // a keep-alive with an octet
    wire.segment(Side::Client, next + 9, b"stray");
    let traffic = read(&wire.pcap());
    let flow = client(&traffic);
    assert!(flow.fin && flow.octets().unwrap() == b"data");
    assert_eq!((flow.missing_before_fin, flow.stray), (0, 2));
    let stream = traffic.connections[0].client.stream();
    assert_eq!((stream.gap, stream.octets.len()), (None, 24));

    // Octets in the segment of the FIN, and the FIN sent again alone.
    let mut wire = Wire::started(100, b"data");
    fin(&mut wire, next, b"more");
    fin(&mut wire, next + 4, b"");
    wire.segment(Side::Client, next + 5, b"");
    let flow = client(&read(&wire.pcap()));
    assert!(flow.fin && flow.octets().unwrap() == b"datamore");

    // A FIN in front of missing octets is not the end of those captured.
    let mut wire = Wire::started(100, b"data");
    fin(&mut wire, next + 3, b"");
    wire.segment(Side::Client, next + 4, b"");
    let flow = client(&read(&wire.pcap()));
    assert!(!flow.fin && flow.missing_before_fin == 3);
    assert_eq!(flow.octets().unwrap_err().missing, 3);
    wire.segment(Side::Client, next, b"end"); // captured behind the FIN
    let flow = client(&read(&wire.pcap()));
    assert!(flow.fin && flow.octets().unwrap() == b"dataend");
}

/// RFC 9293 §3.10.7.4: a receiver keeps what it has, and trims what comes again.
#[test]
fn the_first_copy_of_an_octet_counts() {
    let mut wire = Wire::started(100, b"aaaa");
    let next = wire.next_seq();
    wire.segment(Side::Client, next + 4, b"cccc");
    wire.segment(Side::Client, next - 2, b"XXbbbbYYYYdd"); // around the gap, and behind the end
    let traffic = read(&wire.pcap());
    let flow = client(&traffic);
    assert_eq!(flow.octets().unwrap(), b"aaaabbbbccccdd");
    assert_eq!(flow.differing, 6);
    // So do the segments for the card, which keeps its first copy whatever the reader says.
    let pieces = flow.resegment(Segmentation::AsCaptured).unwrap();
    let last = pieces.last().unwrap();
    assert_eq!(*last, (next - 2, b"aabbbbccccdd".to_vec()));

    // A copy with the same octets differs nowhere.
    let mut wire = Wire::started(100, b"aaaabbbb");
    wire.segment(Side::Client, next, b"bbbbcc");
    let flow = client(&read(&wire.pcap()));
    assert_eq!(
        (flow.octets().unwrap(), flow.differing),
        (b"aaaabbbbcc".to_vec(), 0)
    );
}

/// Several queues of a network card are captured in any order: the SYN may come behind the start frame.
#[test]
fn a_syn_captured_late_opens_the_same_connection() {
    let in_order = Wire::started(100, b"data");
    for (from, to) in [(0, 2), (0, 3), (1, 3)] {
        let mut wire = Wire::started(100, b"data");
        let syn = wire.packets.remove(from);
        wire.packets.insert(to, syn);
        let traffic = read(&wire.pcap());
        assert_eq!(traffic.connections.len(), 1, "packet {from} at {to}");
        assert_eq!(client(&traffic), client(&read(&in_order.pcap())));
    }
    // The Reply first: the SYN says who is the client.
    let mut wire = Wire::started(100, b"data");
    wire.packets.rotate_right(1);
    assert_eq!(client(&read(&wire.pcap())), client(&read(&in_order.pcap())));
    // A SYN behind a FIN opens another connection, however near its number is.
    let mut wire = Wire::started(100, b"first");
    let next = wire.next_seq();
    wire.flagged(Side::Client, next, b"", |tcp| tcp.fin = true);
    wire.again(90, b"second");
    assert_eq!(read(&wire.pcap()).connections.len(), 2);
}

/// The packets with an FCS behind each; their IP headers leave the length to the network card, so only the file's word
/// about the FCS keeps it out of the payload.
fn with_fcs(wire: &Wire) -> Vec<Vec<u8>> {
    let packets = wire.packets.iter().map(|packet| {
        let mut packet = [packet.as_slice(), &FCS].concat();
        packet[TOTAL_LENGTH..TOTAL_LENGTH + 2].fill(0);
        packet
    });
    packets.collect()
}

/// draft-ietf-opsawg-pcap §4: bits 28 to 31 of the link type field count the FCS in units of 16 bits if bit 26 is set;
/// pcapng has an option of the interface.
#[test]
fn an_fcs_is_no_payload() {
    let wire = Wire::started(1, b"data");
    let packets = with_fcs(&wire);
    let link_type = 1 | 1 << 26 | 2 << 28;
    assert_eq!(octets(&read(&pcap(&packets, link_type))), b"data");

    let ng = pcapng(&packets, false, 6, 0);
    assert!(Traffic::read(&ng).is_err()); // nothing says so: the FCS of the SYN lies where the Request begins
    // The interface block: its option if_tsresol is replaced by if_fcslen.
    let option = ng.windows(5).position(|o| o == [9, 0, 1, 0, 6]).unwrap();
    let mut with_length = ng.clone();
    with_length[option] = 13;
    with_length[option + 4] = 4;
    assert_eq!(octets(&read(&with_length)), b"data");
}

/// The same packets in blocks of another type. `body` makes a block's content.
fn in_blocks(
    packets: &[Vec<u8>],
    big_endian: bool,
    kind: u32,
    body: impl Fn(&dyn Fn(u32) -> [u8; 4], &[u8]) -> Vec<u8>,
) -> Vec<u8> {
    let word = |value: u32| match big_endian {
        true => value.to_be_bytes(),
        false => value.to_le_bytes(),
    };
    let mut file = pcapng(&[], big_endian, 6, 0);
    for packet in packets {
        let mut body = body(&word, packet);
        body.resize(body.len().next_multiple_of(4), 0);
        let length = word(12 + body.len() as u32);
        file.extend([&word(kind), &length, body.as_slice(), &length].concat());
    }
    file
}

/// draft-ietf-opsawg-pcapng §4.4 and appendix A: blocks that old or small tools write. The first one names interface 0 and
/// counts no drops, so its first word is 0 in either byte order.
#[test]
fn obsolete_and_simple_packet_blocks_are_read() {
    let wire = Wire::started(1, b"data");
    for big_endian in [false, true] {
        let obsolete = in_blocks(&wire.packets, big_endian, 2, |word, packet| {
            let length = word(packet.len() as u32);
            [&[0; 4], &word(0), &word(7), &length, &length, packet].concat()
        });
        let simple = in_blocks(&wire.packets, big_endian, 3, |word, packet| {
            [&word(packet.len() as u32), packet].concat()
        });
        for file in [&obsolete, &simple] {
            let traffic = read(file);
            assert_eq!(octets(&traffic), b"data");
            assert_eq!((traffic.skipped, traffic.stopped), (vec![], None));
        }
        let times = read(&obsolete).connections[0].client.segments.clone();
        assert!(times.iter().all(|s| s.time.as_micros() == 7));
        // A block that names an interface which was not described stops the file there.
        let wrong = in_blocks(&wire.packets, big_endian, 2, |word, packet| {
            let length = word(packet.len() as u32);
            [&[1; 4], &word(0), &word(7), &length, &length, packet].concat()
        });
        assert_eq!(Traffic::read(&wrong), Err(TrafficError::Block { after: 0 }));
    }
}

/// A packet that cannot be read is skipped and counted; one that carries no TCP is not even counted.
#[test]
fn foreign_packets_are_skipped_and_counted() {
    let mut wire = Wire::started(1, b"data");
    let plain = read(&wire.pcap());
    let mut fragment = wire.packets[2].clone();
    fragment[ETHERNET + 6] = 0x20; // more fragments
    fragment[ETHERNET + 12..ETHERNET + 20].fill(9); // of other hosts
    let mut header = fragment.clone();
    header[ETHERNET] = 0x41; // an IP header of 4 octets
    let mut datagram = fragment.clone();
    datagram[ETHERNET + 9] = 17; // UDP in a fragment
    let mut short = wire.packets[2].clone();
    short[TOTAL_LENGTH..TOTAL_LENGTH + 2].copy_from_slice(&[0, 19]); // less than the header
    short[ETHERNET + 12..ETHERNET + 20].fill(9);
    for packet in [short, fragment.clone(), fragment, header, datagram] {
        wire.packets.insert(2, packet);
    }
    let traffic = read(&wire.pcap());
    assert_eq!(octets(&traffic), b"data");
    assert_eq!(client(&traffic), client(&plain));
    let skipped: Vec<_> = traffic.skipped.iter().map(ToString::to_string).collect();
    assert_eq!(skipped.len(), 2, "{skipped:?}");
    assert!(
        skipped[0].starts_with("2 packets skipped; the first one: packet 4"),
        "{skipped:?}"
    );
    assert_eq!(
        skipped[1],
        "2 packets skipped; the first one: packet 5 is an IP fragment of a TCP segment; fragments are not reassembled"
    );
    assert_eq!(traffic.stopped, None);
}

/// What comes in front of a cut record counts: tcpdump leaves one behind when it is killed.
#[test]
fn a_cut_tail_is_left_out() {
    let mut wire = Wire::started(1, b"data");
    wire.segment(Side::Server, 5021, b"");
    let truncated = Some(TrafficError::Truncated { after: 4 });
    for file in [wire.pcap(), pcapng(&wire.packets, true, 6, 0)] {
        for cut in [1, 20] {
            let traffic = read(&file[..file.len() - cut]);
            assert_eq!(octets(&traffic), b"data");
            assert_eq!(traffic.stopped, truncated);
        }
        assert_eq!(read(&file).stopped, None);
    }
}

fn gzip(octets: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(octets).unwrap();
    encoder.finish().unwrap()
}

/// RFC 1952 §2.2: a gzip file is one or more members. A damaged one counts up to the damage.
#[test]
fn gzip_is_unpacked() {
    let mut wire = Wire::started(1, b"data");
    let next = wire.next_seq();
    for i in 0..500 {
        wire.segment(Side::Client, next + 1000 * i, &[i as u8; 1000]);
    }
    let plain = wire.pcap();
    let expected = read(&plain);
    let members = [gzip(&plain[..100]), gzip(&plain[100..])].concat();
    for file in [gzip(&plain), members] {
        assert_eq!(read(&file), expected);
    }
    let packed = gzip(&plain);
    let half = read(&packed[..packed.len() / 2]);
    let some = octets(&half);
    assert!(some.len() > 4 && octets(&expected).starts_with(&some));
    assert!(matches!(half.stopped, Some(TrafficError::Gzip { .. })));
    let damaged = Traffic::read(&packed[..20]).unwrap_err();
    assert!(matches!(damaged, TrafficError::Gzip { .. }), "{damaged}");
}

/// A segment of another time moves no other one: sequence numbers are read around those of the stream.
#[test]
fn a_stray_segment_moves_no_other() {
    let mut wire = Wire::started(100, b"data");
    let next = wire.next_seq();
    let far = 0x5000_0000;
    wire.segment(Side::Client, next.wrapping_add(far), b"stray");
    wire.segment(Side::Client, next.wrapping_sub(far), b"stray");
    wire.flagged(Side::Client, next.wrapping_add(far), b"", |tcp| {
        tcp.fin = true;
    });
    wire.segment(Side::Client, next, b"more");
    wire.flagged(Side::Client, next + 4, b"", |tcp| tcp.fin = true);
    let flow = client(&read(&wire.pcap()));
    assert!(flow.fin && flow.octets().unwrap() == b"datamore");
    assert_eq!(flow.stray, 1);
    // Nor does it count before the FIN is known.
    let mut open = Wire::started(100, b"data");
    open.segment(Side::Client, next.wrapping_add(far), b"stray");
    open.segment(Side::Client, next, b"more");
    let without_fin = client(&read(&open.pcap()));
    assert_eq!(without_fin.octets().unwrap(), b"datamore");
    assert_eq!(without_fin.stray, 1);
    // Without a SYN the stream begins at the lowest number, but not at a stray one.
    let mut late = Wire::default();
    late.packets = wire.packets[2..].to_vec();
    assert_eq!(client(&read(&late.pcap())), flow);
}
