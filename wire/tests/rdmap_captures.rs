//! RDMAP against recorded traffic of Linux soft-iWARP: both ends of every capture are followed in the
//! order of capture. A separate small reader, limited to what these runs need (Ethernet, IPv4, no
//! markers, one connection), finds the DDP segments.
//!
//! What one end sent is also asked of [`Stream`]: its RsvdULP octets and RDMAP headers must be those of
//! the capture. The other end takes it, and must accept it.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use warpline_wire::ddp::Header;
use warpline_wire::rdmap::{
    Address, BitOrder, Cause, Delivered, Event, InboundRead, Message, Opcode, OutboundRead, Stream,
    Terminate, TerminateView, Version,
};

const CAPTURES: [&str; 8] = [
    "crc0-rev2-writes",
    "crc1-rev2-badstag",
    "crc1-rev2-mixed",
    "crc1-rev2-nobuf",
    "crc1-rev2-oob",
    "crc1-rev2-sends",
    "crc1-rev2-writes",
    "crc1-rping",
];

fn read(capture: &str, file: &str) -> Option<Vec<u8>> {
    let captures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testbenches/captures");
    std::fs::read(captures.join(capture).join(file)).ok()
}

fn be16(octets: &[u8], at: usize) -> usize {
    usize::from(u16::from_be_bytes([octets[at], octets[at + 1]]))
}

fn be32(octets: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(octets[at..at + 4].try_into().unwrap())
}

/// TCP payload of a little-endian pcap of Ethernet packets: source port, offset behind SYN, octets.
fn segments(pcap: &[u8]) -> Vec<(usize, usize, Vec<u8>)> {
    assert_eq!(pcap[..4], [0xD4, 0xC3, 0xB2, 0xA1]);
    let (mut rest, mut first, mut segments) = (&pcap[24..], HashMap::new(), Vec::new());
    while !rest.is_empty() {
        let len = u32::from_le_bytes(rest[8..12].try_into().unwrap()) as usize;
        let ip = &rest[16 + 14..16 + len];
        rest = &rest[16 + len..];
        if ip[0] >> 4 != 4 || ip[9] != 6 {
            continue;
        }
        let tcp = &ip[usize::from(ip[0] & 0xF) * 4..be16(ip, 2)];
        let (port, sequence) = (be16(tcp, 0), be32(tcp, 4));
        if tcp[13] & 0x02 != 0 {
            first.insert(port, sequence.wrapping_add(1));
            continue;
        }
        let offset = sequence.wrapping_sub(first[&port]) as usize;
        segments.push((port, offset, tcp[usize::from(tcp[12] >> 4) * 4..].to_vec()));
    }
    segments
}

/// A DDP message: its sender's port, the header of its last segment, the payload octets of that
/// segment, and the payload of an untagged message.
struct Recorded {
    port: usize,
    header: Header,
    last_len: u32,
    payload: Vec<u8>,
}

impl Recorded {
    fn delivered(&self) -> Delivered<'_> {
        match self.header {
            Header::Tagged(header) => Delivered::Tagged {
                rsvd_ulp: header.rsvd_ulp,
                stag: header.stag,
                to: header.to,
                len: self.last_len,
            },
            Header::Untagged(header) => Delivered::Untagged {
                rsvd_ulp: header.rsvd_ulp,
                qn: header.qn,
                msn: header.msn,
                payload: &self.payload,
            },
        }
    }
}

/// One direction: octets in order, how far they are read, and the messages that are not complete.
#[derive(Default)]
struct Flow {
    /// Segments behind a gap, by offset.
    early: BTreeMap<usize, Vec<u8>>,
    octets: Vec<u8>,
    at: usize,
    /// The segments of a message share T, QN and MSN.
    partial: BTreeMap<(bool, u32, u32), Vec<u8>>,
}

impl Flow {
    fn take(&mut self, port: usize, offset: usize, octets: Vec<u8>, out: &mut Vec<Recorded>) {
        if !octets.is_empty() {
            self.early.insert(offset, octets);
        }
        while let Some(entry) = self.early.first_entry()
            && *entry.key() <= self.octets.len()
        {
            let (offset, octets) = entry.remove_entry();
            let known = (self.octets.len() - offset).min(octets.len());
            self.octets.extend(&octets[known..]);
        }
        if self.at == 0 && self.octets.len() >= 20 {
            self.at = 20 + be16(&self.octets, 18);
        }
        while self.at > 0 && self.octets.len() >= self.at + 2 {
            let len = be16(&self.octets, self.at);
            let end = self.at + (2 + len).next_multiple_of(4) + 4;
            if self.octets.len() < end {
                return;
            }
            let segment = &self.octets[self.at + 2..self.at + 2 + len];
            self.at = end;
            let (header, payload) = Header::parse(segment).unwrap();
            let (key, last) = match header {
                Header::Tagged(header) => ((true, 0, 0), header.last),
                Header::Untagged(header) => ((false, header.qn, header.msn), header.last),
            };
            self.partial.entry(key).or_default().extend(payload);
            if last {
                let last_len = payload.len() as u32;
                let payload = self.partial.remove(&key).unwrap();
                out.push(Recorded {
                    port,
                    header,
                    last_len,
                    payload,
                });
            }
        }
    }
}

fn messages(capture: &str) -> Vec<Recorded> {
    let (mut flows, mut messages) = (HashMap::<usize, Flow>::new(), Vec::new());
    for (port, offset, octets) in segments(&read(capture, "wire.pcap").unwrap()) {
        let flow = flows.entry(port).or_default();
        flow.take(port, offset, octets, &mut messages);
    }
    for flow in flows.values() {
        assert_eq!(flow.at, flow.octets.len());
        assert!(flow.early.is_empty() && flow.partial.is_empty());
    }
    messages
}

/// Layer, type and code of `siw: got TERMINATE. layer 1, type 2, code 2`.
fn logged(capture: &str) -> Option<(u8, u8, u8)> {
    let log = String::from_utf8(read(capture, "terminate.txt")?).unwrap();
    let line = log.lines().find(|line| line.contains("got TERMINATE"))?;
    let mut numbers = line
        .rsplit_once("TERMINATE")?
        .1
        .split(|c: char| !c.is_ascii_digit())
        .filter_map(|number| number.parse().ok());
    Some((numbers.next()?, numbers.next()?, numbers.next()?))
}

type End = Stream<[InboundRead; 16], [OutboundRead; 4]>;

fn end() -> End {
    Stream::new(
        Version::Ietf,
        [InboundRead::default(); 16],
        [OutboundRead::default(); 4],
    )
}

#[test]
fn both_ends_of_soft_iwarp_keep_the_rules() {
    let mut kinds = BTreeMap::<u8, u32>::new();
    let (mut reads, mut crossing) = (0, 0);
    for capture in CAPTURES {
        let mut ends = HashMap::<usize, End>::new();
        let recorded = messages(capture);
        let mut ports: Vec<usize> = recorded.iter().map(|message| message.port).collect();
        ports.sort_unstable();
        ports.dedup();
        for (number, message) in recorded.iter().enumerate() {
            let delivered = message.delivered();
            let meaning = Message::parse(&delivered).unwrap();
            *kinds.entry(meaning.opcode() as u8).or_default() += 1;

            let sender = ends.entry(message.port).or_insert_with(end);
            if !sender.is_open() {
                // It crosses the peer's Terminate: sent before that was read, discarded by the peer.
                let peer = ports.iter().find(|&&port| port != message.port);
                let event = ends.get_mut(peer.unwrap()).unwrap().deliver(&delivered);
                assert_eq!(event, Ok(Event::Discarded(meaning.opcode())));
                crossing += 1;
                continue;
            }
            let outgoing = match meaning {
                Message::Write { stag, to } => sender.write(stag, to).unwrap(),
                Message::Send {
                    solicited,
                    invalidate,
                } => sender.send(solicited, invalidate).unwrap(),
                Message::ReadRequest(request) => sender.read(request, number as u64).unwrap(),
                Message::ReadResponse { stag, .. } => {
                    let (read, outgoing) = sender.respond().unwrap();
                    assert_eq!(
                        (read.request.sink_stag, read.request.size),
                        (stag, message.payload.len() as u32)
                    );
                    outgoing
                }
                Message::Terminate(terminate) => sender.terminate(&terminate).unwrap(),
            };
            match (outgoing.address, delivered) {
                (Address::Tagged { rsvd_ulp: ours, .. }, Delivered::Tagged { rsvd_ulp, .. }) => {
                    assert_eq!(ours, rsvd_ulp);
                }
                (
                    Address::Untagged {
                        qn: our_qn,
                        rsvd_ulp: ours,
                    },
                    Delivered::Untagged { qn, rsvd_ulp, .. },
                ) => assert_eq!((our_qn, ours), (qn, rsvd_ulp)),
                (ours, theirs) => panic!("{ours:?} for {theirs:?}"),
            }
            if meaning.opcode() == Opcode::ReadRequest {
                assert_eq!(outgoing.header(), message.payload);
            }

            let peer = ports.iter().find(|&&port| port != message.port).copied();
            let receiver = ends.entry(peer.unwrap_or(0)).or_insert_with(end);
            let event = receiver.deliver(&delivered);
            let event = event.unwrap_or_else(|rejected| panic!("{capture}: {rejected}"));
            match (event, meaning) {
                (Event::ReadDone { request, .. }, Message::ReadResponse { stag, .. }) => {
                    assert_eq!(request.size as usize, message.payload.len());
                    assert_eq!(request.sink_stag, stag);
                    reads += 1;
                }
                (Event::ReadRequest(read), Message::ReadRequest(request)) => {
                    assert_eq!(read.request, request);
                }
                (Event::Send { len, .. }, Message::Send { .. }) => {
                    assert_eq!(len, message.payload.len());
                }
                (Event::Write { .. }, Message::Write { .. }) => {}
                (Event::Terminated(found), Message::Terminate(terminate)) => {
                    assert_eq!(found, terminate);
                }
                (event, meaning) => panic!("{capture}: {event:?} for {meaning:?}"),
            }
        }
        assert!(ends.values().all(|end| end.reads_outstanding() == 0));
    }
    // Segments with L = 1 by opcode, counted with a script in another language.
    let expected = [(0, 141), (1, 18), (2, 18), (3, 137), (5, 20), (7, 3)];
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), expected);
    // In crc1-rev2-oob the Terminate is about the second of three segments; the third one ends the message.
    assert_eq!((reads, crossing), (18, 1));
}

/// The numbers agree with what the receiving kernel logged, in soft-iWARP's order of bits.
#[test]
fn terminates_of_soft_iwarp_are_what_its_peer_logged() {
    let mut seen = 0;
    for capture in CAPTURES {
        let recorded = messages(capture);
        let payload = recorded.iter().find_map(|message| {
            let opcode = message.delivered().control().check();
            (opcode == Ok(Opcode::Terminate)).then_some(&message.payload)
        });
        let Some(payload) = payload else {
            assert_eq!(logged(capture), None);
            continue;
        };
        let view = TerminateView::new_checked(payload).unwrap();
        assert_eq!(view.bit_order(), BitOrder::Reversed);
        let terminate = Terminate::parse(payload).unwrap();
        assert!(matches!(terminate.cause, Cause::Lower(_)));
        assert_eq!(Some(terminate.cause.parts()), logged(capture), "{capture}");
        // The DDP header is that of a segment which the peer sent.
        let header = terminate.ddp_header.unwrap();
        let whole = [header.as_slice(), &[0; 4]].concat();
        let (header, _) = Header::parse(&whole).unwrap();
        let of_peer = |message: &Recorded| match (message.header, header) {
            (Header::Tagged(sent), Header::Tagged(found)) => sent.stag == found.stag,
            (sent, found) => sent == found,
        };
        assert!(recorded.iter().any(of_peer), "{capture}");
        seen += 1;
    }
    assert_eq!(seen, 3);
}
