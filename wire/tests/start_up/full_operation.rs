//! From the start frames into full operation: position 0 at both ends, the stream's context, the gate.

use crate::common::{Log, Seen, fpdu, stream_of, writable};
use crate::{R1, vector, waiting_initiator};
use warpline_wire::ddp::{TaggedHeader, UntaggedHeader};
use warpline_wire::error_number::ErrorNumber;
use warpline_wire::receive::{Receiver, ReceiverConfig, StreamConfig};
use warpline_wire::send::CrcField;
use warpline_wire::start::{Answer, Event, Gate, Initiator, Parameters, Responder, Role, Settings};

const STREAM: u32 = 7;

/// A Send of one segment, as a ULPDU.
fn send(msn: u32, payload: &[u8]) -> Vec<u8> {
    let header = UntaggedHeader {
        last: true,
        rsvd_ulp: [0x43, 0, 0, 0, 0],
        qn: 0,
        msn,
        mo: 0,
    };
    [&header.emit()[..], payload].concat()
}

/// A receiver armed by these parameters; `first` is the sequence number of the first octet given to
/// the machine.
fn armed(parameters: &Parameters, first: u32) -> Receiver {
    let mut receiver = Receiver::new(ReceiverConfig::default());
    let config = StreamConfig {
        protection_domain: 1,
        seq_start: first.wrapping_add(parameters.received.into()),
        markers: parameters.receive_markers,
        crc: parameters.crc,
        ..StreamConfig::default()
    };
    receiver.open(STREAM, config).unwrap();
    receiver.enable_queue(STREAM, 0, 1).unwrap();
    receiver.post(STREAM, 0, 64).unwrap();
    receiver
}

/// One direction of a TCP connection: all octets since its first one.
struct Half {
    first: u32,
    octets: Vec<u8>,
    /// Octets that were read: by the ULP, then by the machine.
    read: usize,
}

impl Half {
    fn new(first: u32) -> Self {
        let octets = vec![];
        Self {
            first,
            octets,
            read: 0,
        }
    }

    fn sequence(&self, at: usize) -> u32 {
        self.first.wrapping_add(at as u32)
    }

    fn unread(&self) -> &[u8] {
        &self.octets[self.read..]
    }
}

// req: MPA-START-01, MPA-START-03, MPA-START-04, MPA-START-05, MPA-START-12, MPA-START-26, AMB-16
#[test]
fn each_direction_switches_at_the_octet_behind_its_start_frame() {
    for markers in [false, true] {
        // MPA at once, or after streaming octets in both directions, the last from the Responder.
        for (from_initiator, from_responder) in [(0, 0), (100_000, 70_000)] {
            // 11 is the TCP client's first octet, the other one the server's: either may initiate.
            for [forward_first, back_first] in [[11, 0xFFFF_FF00], [0xFFFF_FF00, 11]] {
                let mut forward = Half::new(forward_first);
                let mut back = Half::new(back_first);
                forward.octets = vec![b'i'; from_initiator];
                back.octets = vec![b'r'; from_responder];
                (forward.read, back.read) = (from_initiator, from_responder);
                let settings = Settings {
                    markers,
                    ..Settings::default()
                };
                let unread = back.unread().len();
                let mut initiator = Initiator::new(settings, None, b"", unread, 0).unwrap();
                let mut responder = Responder::new(settings, 0);
                let starts = [forward.sequence(forward.read), back.sequence(back.read)];

                forward.octets.extend_from_slice(initiator.output());
                initiator.sent(initiator.output().len());
                forward.read += responder.input(forward.unread());
                assert_eq!(responder.poll(0), Some(Event::Requested));
                let theirs = responder.accept(b"hello", &Answer::default()).unwrap();
                let mut at_responder = armed(&theirs, starts[0]);
                back.octets.extend_from_slice(responder.output());
                responder.sent(responder.output().len());
                back.read += initiator.input(back.unread());
                assert_eq!(initiator.poll(0), Some(Event::Replied));
                let ours = initiator.proceed().unwrap();
                let mut at_initiator = armed(&ours, starts[1]);

                let ends = [
                    (&mut forward, &mut at_responder, theirs, ours),
                    (&mut back, &mut at_initiator, ours, theirs),
                ];
                for (half, receiver, receiving, sending) in ends {
                    assert_eq!(half.unread(), b"", "the machine stops at position 0");
                    assert_eq!(receiving.receive_markers, sending.send_markers);
                    let position_0 = half.octets.len();
                    let fpdus = stream_of(sending.send_markers, [send(1, b"first")]);
                    assert_eq!(fpdus[..4] == [0; 4], markers, "a marker comes first");
                    half.octets.extend_from_slice(&fpdus);
                    let (sequence, octets) = (half.sequence(position_0), half.unread());
                    let mut log = Log::default();
                    receiver
                        .tcp_segment(STREAM, sequence, octets, &mut log)
                        .unwrap();
                    assert!(
                        matches!(&log.0[..], [Seen::Place(_, _, octets), Seen::Delivered(..)] if octets == b"first"),
                        "{log:?}"
                    );
                }
            }
        }
    }
}

// req: MPA-PRIV-05
#[test]
fn the_protection_domain_may_depend_on_the_private_data_of_the_request() {
    for (name, domain, allowed) in [(&b"alice"[..], 1, true), (b"bob", 2, false)] {
        let mut initiator = Initiator::new(Settings::default(), None, name, 0, 0).unwrap();
        let mut responder = Responder::new(Settings::default(), 0);
        let taken = responder.input(initiator.output());
        initiator.sent(taken);
        assert_eq!(responder.poll(0), Some(Event::Requested));

        // The ULP looks at the private data, and only then is there a context for the stream.
        let known = [(&b"alice"[..], 1), (b"bob", 2)];
        let seen = responder.peer().unwrap().private_data;
        let chosen = known.into_iter().find(|(user, _)| *user == seen).unwrap().1;
        assert_eq!(chosen, domain);
        let parameters = responder.accept(b"", &Answer::default()).unwrap();
        let mut receiver = Receiver::new(ReceiverConfig::default());
        let config = StreamConfig {
            protection_domain: chosen,
            markers: parameters.receive_markers,
            crc: parameters.crc,
            ..StreamConfig::default()
        };
        receiver.open(STREAM, config).unwrap();
        receiver.set_stag(0x100, writable(1, 0, 64));
        let header = TaggedHeader {
            last: true,
            rsvd_ulp: 0x40,
            stag: 0x100,
            to: 0,
        };
        let write = [&header.emit()[..], b"payload"].concat();
        let mut log = Log::default();
        let octets = stream_of(parameters.receive_markers, [write]);
        receiver.receive(STREAM, &octets, &mut log).unwrap();
        let refused = log.failure().map(|record| record.number);
        let expected = (!allowed).then_some(ErrorNumber::TaggedNotAssociated);
        assert_eq!(refused, expected);
        assert_eq!(log.placements().len(), usize::from(allowed));
    }
}

/// The gate of a Responder behind a Request that asks for markers, and the receiver behind it.
fn gated(crc: bool) -> (Gate, Receiver) {
    let settings = Settings {
        crc_off: !crc,
        ..Settings::default()
    };
    let mut request = vector(R1);
    if !crc {
        request[16] &= !0x40;
    }
    let mut responder = Responder::new(settings, 0);
    responder.input(&request);
    let parameters = responder.accept(b"", &Answer::default()).unwrap();
    assert_eq!(parameters.crc, crc);
    (parameters.gate(), armed(&parameters, 0))
}

/// Opens the gate if MPA finds an FPDU valid in these octets.
fn receive(gate: &mut Gate, receiver: &mut Receiver, octets: &[u8]) -> Log {
    let before = receiver.counters(STREAM).unwrap().fpdus;
    let mut log = Log::default();
    receiver.receive(STREAM, octets, &mut log).unwrap();
    if receiver.counters(STREAM).unwrap().fpdus > before {
        gate.fpdu_validated();
    }
    log
}

// req: AMB-29, AMB-55, AMB-56
#[test]
fn the_responder_is_gated_until_mpa_finds_an_fpdu_valid() {
    let good = fpdu(0, false, CrcField::Computed, &send(1, b"RTR"));
    let (mut gate, mut receiver) = gated(true);
    for octet in good.chunks(1) {
        assert!(!gate.is_open(), "not before its last octet");
        receive(&mut gate, &mut receiver, octet);
    }
    assert!(gate.is_open());

    // A wrong CRC leaves it closed, unless the field is not in use.
    let mut wrong = good.clone();
    *wrong.last_mut().unwrap() ^= 1;
    for crc in [true, false] {
        let (mut gate, mut receiver) = gated(crc);
        let log = receive(&mut gate, &mut receiver, &wrong);
        assert_eq!(log.failure().is_some(), crc);
        assert_eq!(gate.is_open(), !crc);
    }

    // DDP's opinion does not matter: the ULP may report the error to the peer.
    let (mut gate, mut receiver) = gated(true);
    let wrong_msn = fpdu(0, false, CrcField::Computed, &send(9, b"RTR"));
    let log = receive(&mut gate, &mut receiver, &wrong_msn);
    assert_eq!(log.only_failure().number, ErrorNumber::UntaggedMsnRange);
    assert!(gate.is_open());
}

// req: AMB-29, MPA-START-09
#[test]
fn the_initiator_speaks_first() {
    let mut initiator = waiting_initiator(Settings::default());
    initiator.input(&vector(crate::R2));
    let parameters = initiator.proceed().unwrap();
    assert_eq!(parameters.role, Role::Initiator);
    assert!(parameters.gate().is_open());
    let (gate, _) = gated(true);
    assert!(!gate.is_open());
}
