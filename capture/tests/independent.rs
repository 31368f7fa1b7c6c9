//! A second reader, which shares no code with the crate: octets, FPDUs, messages and closes of each stream.
//!
//! ```text
//!  capture ─┬─ this file: packets ─► octet by octet ─► FPDUs ─► messages ──┐
//!           └─ the crate: Traffic ─► Flow ─► Survey, reference receiver ───┴─ the same?
//! ```
//!
//! Card and reference receiver share the octets that the crate read. What it reads wrongly, both receive wrongly, and agree.

mod common;

use std::collections::BTreeMap;
use std::fs;

use common::{CAPTURES, Wire, directory, frame};
use fastrand::Rng;
use warpline_capture::replay::{Choice, Message, Replay, Role};
use warpline_capture::{Capture, Side};

/// What one end sent in full operation.
#[derive(Debug, Default, PartialEq, Eq)]
struct Read {
    octets: usize,
    fpdus: u64,
    /// Untagged queue, or none, and octets of the last segment's message: MO and payload, or the payload of the segment.
    messages: Vec<(Option<u32>, u32)>,
    /// Where the FIN is, if the octets reach it.
    closed: Option<usize>,
    /// The stream ends inside an FPDU.
    open: bool,
}

/// Address and port of both ends, the sender first.
type Ends = [(u32, u16); 2];

/// Octets of one direction by sequence number, counted from the SYN; the number of the FIN.
#[derive(Default)]
struct Sent {
    first: u32,
    octets: BTreeMap<u32, u8>,
    fin: Option<u32>,
}

fn be16(octets: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([octets[at], octets[at + 1]])
}

fn be32(octets: &[u8], at: usize) -> u32 {
    u32::from(be16(octets, at)) << 16 | u32::from(be16(octets, at + 2))
}

/// Both directions of a little-endian pcap of Ethernet, IPv4 and TCP that begins with the SYNs of one connection.
fn packets(file: &[u8]) -> BTreeMap<Ends, Sent> {
    let mut all: BTreeMap<Ends, Sent> = BTreeMap::new();
    let mut at = 24;
    while at < file.len() {
        let length = u32::from_le_bytes(file[at + 8..at + 12].try_into().unwrap()) as usize;
        let packet = &file[at + 16..at + 16 + length];
        at += 16 + length;
        if be16(packet, 12) != 0x0800 || packet[23] != 6 {
            continue;
        }
        let ip = &packet[14..14 + usize::from(be16(packet, 16))];
        let tcp = &ip[usize::from(ip[0] & 15) * 4..];
        let payload = &tcp[usize::from(tcp[12] >> 4) * 4..];
        let ends = [(be32(ip, 12), be16(tcp, 0)), (be32(ip, 16), be16(tcp, 2))];
        let (seq, flags) = (be32(tcp, 4), tcp[13]);
        let sent = all.entry(ends).or_default();
        if flags & 2 != 0 {
            sent.first = seq.wrapping_add(1);
            continue;
        }
        let place = seq.wrapping_sub(sent.first);
        for (i, octet) in (0..).zip(payload) {
            sent.octets.entry(place.wrapping_add(i)).or_insert(*octet);
        }
        if flags & 1 != 0 {
            sent.fin = Some(place.wrapping_add(payload.len() as u32));
        }
    }
    all
}

/// The stream from number 0 on, up to the first that is missing.
fn in_order(sent: &Sent) -> Vec<u8> {
    let places = (0..).zip(&sent.octets);
    let there = places.take_while(|(i, (place, _))| *i == **place);
    there.map(|(_, (_, octet))| *octet).collect()
}

/// Where full operation begins, and whether CRCs are requested; the frame begins with `key`.
fn start(stream: &[u8], key: &[u8]) -> Option<(usize, bool)> {
    let at = stream.windows(16).position(|window| window == key)?;
    Some((
        at + 20 + usize::from(be16(stream, at + 18)),
        stream[at + 16] & 0x40 != 0,
    ))
}

/// Reads what was sent from `start` on, without markers.
fn fpdus(sent: &Sent, start: usize, crc: bool) -> Read {
    let stream = in_order(sent);
    let end = sent
        .fin
        .map_or(stream.len(), |fin| stream.len().min(fin as usize));
    let stream = &stream[start.min(end)..end];
    let mut read = Read {
        octets: stream.len(),
        closed: sent
            .fin
            .map(|fin| fin as usize - start)
            .filter(|fin| *fin == stream.len()),
        ..Read::default()
    };
    let mut rest = stream;
    loop {
        let length = match rest.len() {
            0 => return read,
            1 => usize::MAX,
            _ => (usize::from(be16(rest, 0)) + 2).next_multiple_of(4) + 4,
        };
        if length > rest.len() {
            read.open = true;
            return read;
        }
        let (fpdu, behind) = rest.split_at(length);
        let (covered, field) = fpdu.split_at(length - 4);
        if crc && crc32c::crc32c(covered).to_le_bytes() != field {
            return read;
        }
        rest = behind;
        read.fpdus += 1;
        let ulpdu = &fpdu[2..2 + usize::from(be16(fpdu, 0))];
        let (tagged, last) = (ulpdu[0] & 0x80 != 0, ulpdu[0] & 0x40 != 0);
        let payload = ulpdu.len() as u32 - if tagged { 14 } else { 18 };
        if last {
            read.messages.push(match tagged {
                true => (None, payload),
                false => (Some(be32(ulpdu, 6)), be32(ulpdu, 14) + payload),
            });
        }
    }
}

/// What Initiator and Responder sent.
fn read(file: &[u8]) -> [Read; 2] {
    let all = packets(file);
    let request = b"MPA ID Req Frame";
    let (ends, initiator) = all
        .iter()
        .find(|(_, sent)| start(&in_order(sent), request).is_some())
        .unwrap();
    let responder = &all[&[ends[1], ends[0]]];
    let (from, asked) = start(&in_order(initiator), request).unwrap();
    let (answer, granted) = start(&in_order(responder), b"MPA ID Rep Frame").unwrap();
    let crc = asked || granted;
    [fpdus(initiator, from, crc), fpdus(responder, answer, crc)]
}

/// What the crate says of the same stream; none if there is nothing to replay.
fn of_crate(capture: &Capture, role: Role) -> Option<(Replay, Read)> {
    let choice = Choice {
        direction: Some(role),
        ..Choice::default()
    };
    let replay = Replay::of(capture, choice).ok()?;
    let survey = &replay.survey;
    let landed = &replay.expected;
    let messages = landed.messages.iter().map(|message| match *message {
        Message::Tagged { length, .. } => (None, length),
        Message::Untagged { queue, length, .. } => (Some(queue), length),
    });
    let read = Read {
        octets: replay.octets.len(),
        fpdus: survey.fpdus,
        messages: messages.collect(),
        closed: landed.closed.map(|position| position as usize),
        open: survey.rest > 0,
    };
    Some((replay, read))
}

/// Compares both readers; returns FPDUs and closes.
fn compare(file: &[u8], name: &str) -> (u64, usize) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wire.pcap");
    fs::write(&path, file).unwrap();
    let capture = Capture::open(&path).unwrap();
    let mut seen = (0, 0);
    for (role, mut own) in [Role::Initiator, Role::Responder]
        .into_iter()
        .zip(read(file))
    {
        let Some((replay, crate_s)) = of_crate(&capture, role) else {
            assert_eq!(own.octets, 0, "{name}, {role}");
            continue;
        };
        if let Some(error) = replay.expected.error {
            // A FIN inside an FPDU is one; otherwise the receiver stops earlier than the reader.
            if error == (3, 1) {
                assert!(own.open && own.closed.is_some(), "{name}, {role}");
            } else {
                own.messages.truncate(crate_s.messages.len());
            }
            own.closed = None;
        }
        assert_eq!(own, crate_s, "{name}, {role}");
        assert!(replay.survey.messages as usize >= own.messages.len());
        seen.0 += own.fpdus;
        seen.1 += usize::from(own.closed.is_some());
    }
    seen
}

// req: AMB-31
#[test]
fn recorded_captures_read_the_same() {
    let (mut fpdus, mut closes) = (0, 0);
    for name in CAPTURES {
        let file = fs::read(directory(name).join("wire.pcap")).unwrap();
        let (more, closed) = compare(&file, name);
        fpdus += more;
        closes += closed;
    }
    assert!(fpdus > 400 && closes > 4, "{fpdus} {closes}");
}

/// An untagged message in one FPDU, with its CRC.
fn fpdu(msn: u32, payload: &[u8]) -> Vec<u8> {
    let mut fpdu = (18 + payload.len() as u16).to_be_bytes().to_vec();
    fpdu.extend([0x41, 0x43, 0, 0, 0, 0]);
    for field in [0, msn, 0] {
        fpdu.extend(u32::to_be_bytes(field));
    }
    fpdu.extend(payload);
    fpdu.resize(fpdu.len().next_multiple_of(4), 0);
    fpdu.extend(crc32c::crc32c(&fpdu).to_le_bytes());
    fpdu
}

/// Captures whose segments come late, twice, overlapping, with other octets in later copies, around the wrap of sequence
/// numbers, with the FIN in front of the end or inside an FPDU.
// req: AMB-31
#[test]
fn captures_in_any_order_read_the_same() {
    let (mut open, mut closes, mut all) = (0, 0, 0);
    for seed in 0..300 {
        let mut rng = Rng::with_seed(seed);
        let isn = u32::MAX - rng.u32(..4000);
        let mut wire = Wire::default();
        wire.handshake(Side::Client, isn, 5000);
        let request = frame(b"MPA ID Req Frame", 0x40, 1, b"");
        wire.segment(Side::Client, isn.wrapping_add(1), &request);
        wire.segment(
            Side::Server,
            5001,
            &frame(b"MPA ID Rep Frame", 0x40, 1, b""),
        );
        let count = rng.u32(1..30);
        let lengths: Vec<_> = (0..count).map(|_| rng.usize(..600)).collect();
        let mut octets = Vec::new();
        for (msn, length) in (1..).zip(&lengths) {
            octets.extend(fpdu(msn, &vec![msn as u8; *length]));
        }
        let cut = rng.bool() && rng.bool();
        let length = octets.len() - if cut { rng.usize(1..20) } else { 0 };
        let start = isn.wrapping_add(21);
        let mut segments = Vec::new();
        let mut at = 0;
        while at < length {
            let end = length.min(at + rng.usize(1..1000));
            segments.push((at, octets[at..end].to_vec()));
            at = end;
        }
        for group in segments.chunks_mut(4) {
            rng.shuffle(group);
        }
        for _ in 0..rng.usize(..6) {
            // A later copy of octets that were sent before it, of another value.
            let behind = rng.usize(1..=segments.len());
            let (at, octets) = segments[behind - 1].clone();
            let from = rng.usize(..octets.len());
            let copy = octets[from..].iter().map(|octet| octet ^ 0x55).collect();
            segments.insert(behind, (at + from, copy));
        }
        for (at, octets) in segments {
            wire.segment(Side::Client, start.wrapping_add(at as u32), &octets);
        }
        let end = start.wrapping_add(length as u32);
        let fin = rng.bool();
        if fin {
            let at = wire.packets.len();
            wire.flagged(Side::Client, end, b"", |tcp| tcp.fin = true);
            let packet = wire.packets.remove(at);
            let earlier = at - rng.usize(..3).min(at - 4);
            wire.packets.insert(earlier, packet);
        }
        wire.segment(Side::Client, end.wrapping_add(fin.into()), b"");
        let (fpdus, closed) = compare(&wire.pcap(), &format!("seed {seed}"));
        let whole = if cut { count - 1 } else { count };
        assert_eq!(fpdus, u64::from(whole), "seed {seed}");
        assert_eq!(closed == 1, fin && !cut, "seed {seed}");
        open += usize::from(cut);
        closes += closed;
        all += fpdus;
    }
    // Each case occurs.
    assert!(
        open > 20 && closes > 50 && all > 3000,
        "{open} {closes} {all}"
    );
}
