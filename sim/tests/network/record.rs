//! The record of what passed, read by `warpline-capture` and by hand.

use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener};
use std::path::Path;

use fastrand::Rng;
use warpline_capture::{Capture, Direction, Side, read_traffic};
use warpline_driver::Completion;
use warpline_sim::{ConnectionHandle, Event, NetworkOptions};
use warpline_wire::start::{Frame, Kind, MAX_FRAME_LEN, Progress};

use crate::bench::{Bench, fpdus, pattern, peer, read_all, rough, tagged, until, writes};

fn start_frame(kind: Kind, private_data: &[u8]) -> Vec<u8> {
    let frame = Frame {
        kind,
        markers: false,
        crc: true,
        rejected: false,
        revision: 1,
        negotiation: None,
        private_data,
    };
    let mut octets = [0; MAX_FRAME_LEN];
    let length = frame.emit(&mut octets).unwrap();
    octets[..length].to_vec()
}

/// Reads one start frame at the card's end, not more.
fn read_frame(bench: &Bench, handle: ConnectionHandle, kind: Kind) -> Vec<u8> {
    let mut octets = Vec::new();
    until("a start frame", || {
        let needed = match Frame::parse(&octets, kind).unwrap() {
            Progress::Complete { .. } => return true,
            Progress::NeedMore { total } => total,
        };
        let mut piece = vec![0; needed - octets.len()];
        let count = bench.connections.read(handle, &mut piece).unwrap();
        octets.extend(&piece[..count]);
        false
    });
    octets
}

/// A captured packet: IP and TCP headers as the RFCs draw them, checksums checked.
struct Packet {
    syn: bool,
    ack: bool,
    from_client: bool,
    sequence: u32,
    acknowledges: u32,
    /// Sequence numbers that it takes.
    length: u32,
}

/// The sum of RFC 1071 over 16-bit words, which is 0xFFFF with a right checksum among them.
fn sum(parts: &[&[u8]]) -> u16 {
    let mut sum = 0_u64;
    for part in parts {
        for word in part.chunks(2) {
            sum += u64::from(word[0]) << 8 | word.get(1).map_or(0, |octet| u64::from(*octet));
        }
    }
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    sum as u16
}

/// All packets of a pcapng file, whose blocks are checked as well. The client is who sends the first one.
fn packets(file: &[u8]) -> Vec<Packet> {
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
    let (mut at, mut packets, mut client) = (0, Vec::new(), None);
    while at < file.len() {
        let length = word(at + 4) as usize;
        assert!(length.is_multiple_of(4) && word(at + length - 4) as usize == length);
        if word(at) == 6 {
            let (captured, original) = (word(at + 20) as usize, word(at + 24) as usize);
            assert_eq!(captured, original);
            let frame = &file[at + 28..][..captured];
            let (ip, tcp, addresses) = match u16::from_be_bytes([frame[12], frame[13]]) {
                0x0800 => (&frame[14..34], &frame[34..], &frame[26..34]),
                0x86DD => (&frame[14..54], &frame[54..], &frame[22..54]),
                other => panic!("EtherType {other:#x}"),
            };
            match ip[0] >> 4 {
                4 => {
                    assert_eq!(sum(&[ip]), 0xFFFF);
                    assert_eq!(u16::from_be_bytes([ip[2], ip[3]]) as usize, captured - 14);
                }
                _ => assert_eq!(u16::from_be_bytes([ip[4], ip[5]]) as usize, tcp.len()),
            }
            let pseudo = [0, 6, (tcp.len() >> 8) as u8, tcp.len() as u8];
            assert_eq!(
                sum(&[addresses, &pseudo, tcp]),
                0xFFFF,
                "packet {}",
                packets.len()
            );
            let number = |at: usize| u32::from_be_bytes(tcp[at..at + 4].try_into().unwrap());
            let (header, flags) = (usize::from(tcp[12] >> 4) * 4, tcp[13]);
            let ports = [tcp[0], tcp[1], tcp[2], tcp[3]];
            let extra = u32::from(flags & 1) + u32::from(flags >> 1 & 1);
            packets.push(Packet {
                syn: flags & 2 != 0,
                ack: flags & 0x10 != 0,
                from_client: *client.get_or_insert(ports) == ports,
                sequence: number(4),
                acknowledges: number(8),
                length: (tcp.len() - header) as u32 + extra,
            });
        }
        at += length;
    }
    packets
}

/// Packets of one connection follow each other as those of a TCP without losses.
fn check(packets: &[Packet]) {
    let mut next = [None::<u32>; 2];
    for (i, packet) in packets.iter().enumerate() {
        let own = &mut next[usize::from(packet.from_client)];
        match own {
            None => assert!(packet.syn && packet.ack == (i > 0), "packet {i} opens"),
            Some(next) => assert_eq!(packet.sequence, *next, "packet {i}"),
        }
        *own = Some(packet.sequence.wrapping_add(packet.length));
        if packet.ack {
            let other = next[usize::from(!packet.from_client)];
            assert_eq!(Some(packet.acknowledges), other, "packet {i} acknowledges");
        }
    }
    // In the end, all is acknowledged.
    let last = packets.iter().rev().find(|packet| !packet.from_client);
    assert_eq!(last.map(|packet| packet.acknowledges), next[1]);
}

/// A whole connection: start-up, a peer's messages, what the card sends, FIN of both.
fn recorded(address: &str, path: &Path, outgoing: bool) {
    let bench = Bench::open(NetworkOptions {
        path: rough(31),
        record: Some(path.into()),
        ..NetworkOptions::default()
    });
    let (handle, mut socket) = match outgoing {
        false => {
            let (_, address) = bench.listen(address);
            let socket = peer(address);
            (bench.accepted(), socket)
        }
        true => {
            let listener = TcpListener::bind(address).unwrap();
            let to = listener.local_addr().unwrap();
            let handle = bench.connections.connect(to).unwrap();
            bench.event(|_, event| (event == Event::Connected).then_some(()));
            (handle, listener.accept().unwrap().0)
        }
    };
    let memory = pattern(&mut Rng::with_seed(31), 100_000);
    let region = bench.region(100_000);
    let octets = fpdus(&[(tagged(&region, 0), &memory)]);
    let (request, reply) = (
        start_frame(Kind::Request, b"private"),
        start_frame(Kind::Reply, b""),
    );
    let sent = pattern(&mut Rng::with_seed(32), 100_000);
    let card_sends = |octets: &[u8], attached| {
        let mut at = 0;
        until("all is sent", || {
            at += match attached {
                true => bench.connections.send(handle, &octets[at..]).unwrap(),
                false => bench.connections.write(handle, &octets[at..]).unwrap(),
            };
            at == octets.len()
        });
    };
    let mut frame = [0; 256];
    let writer = match outgoing {
        false => {
            // FPDUs right behind the Request: they stay in the socket until the stream gets them (AMB-16).
            let all = [&request[..], &octets].concat();
            let writer = writes(socket.try_clone().unwrap(), all, 1);
            assert_eq!(read_frame(&bench, handle, Kind::Request), request);
            card_sends(&reply, false);
            let reply_octets = &mut frame[..reply.len()];
            socket.read_exact(reply_octets).unwrap();
            assert_eq!(reply_octets, reply);
            writer
        }
        true => {
            card_sends(&request, false);
            let request_octets = &mut frame[..request.len()];
            socket.read_exact(request_octets).unwrap();
            assert_eq!(request_octets, request);
            socket.write_all(&reply).unwrap();
            assert_eq!(read_frame(&bench, handle, Kind::Reply), reply);
            writes(socket.try_clone().unwrap(), octets.clone(), 1)
        }
    };
    let (sequence, own) = bench.connections.sequences(handle).unwrap();
    let stream = bench.arm(4, sequence);
    bench.connections.attach(handle, 4, sequence, &[]).unwrap();
    let reader = std::thread::spawn({
        let mut socket = socket.try_clone().unwrap();
        move || read_all(&mut socket)
    });
    card_sends(&sent, true);
    assert!(matches!(bench.completion(), Completion::Tagged(_)));
    assert!(region.to_vec().unwrap() == memory);
    writer.join().unwrap();
    socket.shutdown(std::net::Shutdown::Write).unwrap();
    assert!(matches!(bench.completion(), Completion::Closed(_)));
    bench.event(|_, event| (event == Event::HalfClosed).then_some(()));
    bench.connections.finish(handle).unwrap();
    assert!(reader.join().unwrap() == sent);
    let (ours, theirs) = bench.connections.ends(handle).unwrap();
    stream.close().unwrap();
    bench.connections.close(handle);
    bench.connections.flush_record().unwrap();

    let file = std::fs::read(path).unwrap();
    check(&packets(&file));
    let capture = Capture::open(path).unwrap();
    let (connection, mpa) = capture.mpa_connections().next().unwrap();
    let (peer_side, card_side) = match outgoing {
        false => (Side::Client, Side::Server),
        true => (Side::Server, Side::Client),
    };
    assert_eq!(mpa.initiator, Side::Client);
    assert_eq!(mpa.request.private_data, b"private");
    assert_eq!(mpa.seq_start(peer_side), sequence);
    assert_eq!(mpa.seq_start(card_side), own);
    assert_eq!(connection.sent_by(peer_side).from, theirs);
    assert_eq!(connection.sent_by(card_side).from, ours);
    for (side, expected) in [(peer_side, &octets), (card_side, &sent)] {
        let flow = connection.flow(side).unwrap();
        assert!(flow.octets().unwrap() == *expected, "{side:?}");
        assert!(flow.fin, "{side:?}");
        assert!(in_order(connection.sent_by(side)));
    }
}

fn in_order(direction: &Direction) -> bool {
    let mut pairs = direction.segments.windows(2);
    pairs.all(|pair| {
        let next = pair[1].seq.wrapping_sub(pair[0].payload_seq()) as i32;
        next >= 0 && pair[0].time <= pair[1].time
    })
}

#[test]
fn a_record_reads_like_a_capture_of_tcp() {
    let folder = tempfile::tempdir().unwrap();
    recorded("127.0.0.1:0", &folder.path().join("accepted.pcapng"), false);
    recorded("[::1]:0", &folder.path().join("connected.pcapng"), true);
}

/// Refusals and resets are in the record, and so are several connections.
#[test]
fn a_record_shows_refusals_and_resets() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("resets.pcapng");
    let bench = Bench::open(NetworkOptions {
        record: Some(path.clone()),
        ..NetworkOptions::default()
    });
    let (_, address) = bench.listen("127.0.0.1:0");
    let closed = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    bench.connections.connect(closed).unwrap();
    bench.event(|_, event| matches!(event, Event::Refused(_)).then_some(()));
    let mut sockets = Vec::new();
    for _ in 0..2 {
        let mut socket = peer(address);
        let handle = bench.accepted();
        socket.write_all(&start_frame(Kind::Request, b"")).unwrap();
        read_frame(&bench, handle, Kind::Request);
        let reply = start_frame(Kind::Reply, b"");
        assert_eq!(bench.connections.write(handle, &reply).unwrap(), 20);
        socket.read_exact(&mut [0; 20]).unwrap();
        sockets.push((socket, handle));
    }
    let [(theirs, _), (_ours, abort)] = <[_; 2]>::try_from(sockets).unwrap();
    let linger = Some(std::time::Duration::ZERO);
    rustix::net::sockopt::set_socket_linger(&theirs, linger).unwrap();
    drop(theirs);
    bench.event(|_, event| matches!(event, Event::Lost(_)).then_some(()));
    bench.connections.abort(abort);
    bench.connections.flush_record().unwrap();

    let connections = read_traffic(&std::fs::read(&path).unwrap()).unwrap();
    let [refused, lost, aborted] = &connections[..] else {
        panic!("{} connections", connections.len());
    };
    assert_eq!(refused.client.to, closed);
    let resets = |direction: &Direction| direction.segments.iter().filter(|s| s.flags.rst).count();
    let sides = [&refused.server, &lost.client, &aborted.server].map(resets);
    assert_eq!(sides, [1, 1, 1]);
    let sides = [&refused.client, &lost.server, &aborted.client].map(resets);
    assert_eq!(sides, [0, 0, 0]);
    assert!(lost.mpa.is_ok() && aborted.mpa.is_ok() && refused.mpa.is_err());
    assert_eq!(lost.client.to.ip(), IpAddr::from([127, 0, 0, 1]));
}
