//! Messages become chunks with consecutive DDP-SSNs.

use crate::common::pattern;
use warpline_wire::sctp::{Chunk, SendError, Sender, Ssn};
use warpline_wire::send;

const WRITE: send::Message = send::Message::Tagged {
    stag: 7,
    to: 0x1000,
    rsvd_ulp: 0x40,
};
const SEND: send::Message = send::Message::Untagged {
    qn: 0,
    msn: 1,
    rsvd_ulp: [0x43, 0, 0, 0, 0],
};

// req: SCTP-SSN-01, SCTP-FMT-06, SCTP-FMT-09, SCTP-LIM-06
#[test]
fn a_message_becomes_one_chunk_a_segment() {
    let mut sender = Sender::new(Ssn(65_534));
    let payload = pattern(0, 1200);
    let mut chunks = Vec::new();
    sender
        .append_message(WRITE, &payload, 516, &mut chunks)
        .unwrap();
    // 516 octets with a header of 14 leave room for 502: 502 + 502 + 196.
    let headers = [
        "FFFE 81 40 00000007 0000000000001000",
        "FFFF 81 40 00000007 00000000000011F6",
        "0000 C1 40 00000007 00000000000013EC",
    ];
    let ranges = [0..502, 502..1004, 1004..1200];
    assert_eq!(chunks.len(), 3);
    for ((chunk, header), range) in chunks.iter().zip(headers).zip(ranges) {
        assert_eq!(chunk[..16], crate::hex(header));
        assert_eq!(chunk[16..], payload[range]);
        assert!(chunk.len() <= 2 + 516);
    }
    // An empty message is one empty segment.
    chunks.clear();
    sender.append_message(SEND, b"", 516, &mut chunks).unwrap();
    assert_eq!(
        chunks,
        [crate::hex("0001 41 43 00000000 00000000 00000001 00000000")]
    );
    assert_eq!((sender.next(), sender.in_flight()), (Ssn(2), 4));
}

// req: SCTP-SSN-01, SCTP-SSN-03, SCTP-SSN-08, SCTP-SSN-09
#[test]
fn the_sender_holds_back_what_would_be_too_much() {
    let mut sender = Sender::new(Ssn::FIRST_SEGMENT);
    let mut out = [0; 16];
    let mut numbers = Vec::new();
    let held = SendError::Unacknowledged { limit: 32_767 };
    for message in 0..40_000 {
        match sender.emit(&[0; 14], &[], 516, &mut out) {
            Ok(len) => {
                let Ok(Chunk::Segment(segment)) = Chunk::parse(16, &out[..len]) else {
                    panic!("a segment is written");
                };
                numbers.push(segment.ssn.0);
            }
            // Tagged traffic alone: there is no flow control of the ULP.
            result => {
                assert_eq!((message, result), (32_767, Err(held)));
                break;
            }
        }
    }
    assert_eq!(numbers.len(), 32_767);
    assert!(numbers.iter().copied().eq(1..=32_767));
    sender.acknowledged(3);
    let mut chunks = Vec::new();
    // All of a message, or nothing.
    let payload = pattern(0, 4 * 502);
    assert_eq!(
        sender.append_message(WRITE, &payload, 516, &mut chunks),
        Err(held)
    );
    assert_eq!((chunks.len(), sender.next().0), (0, 32_768));
    let payload = &payload[..3 * 502];
    assert_eq!(
        sender.append_message(WRITE, payload, 516, &mut chunks),
        Ok(())
    );
    assert_eq!(chunks[0][..2], [0x80, 0]);
    sender.acknowledged(u16::MAX);
    assert_eq!(sender.in_flight(), 0);
}

// req: SCTP-LIM-06
#[test]
fn what_must_not_be_sent_changes_nothing() {
    let mut sender = Sender::new(Ssn(1));
    let mut out = [0; 600];
    let size = SendError::Size { len: 517, max: 516 };
    assert_eq!(sender.emit(&[0; 14], &[0; 503], 516, &mut out), Err(size));
    let small = sender.emit(&[0; 14], &[0; 500], 516, &mut out[..515]);
    assert!(matches!(small, Err(SendError::Chunk(_))));
    let refused = sender.append_message(WRITE, b"x", 100, &mut Vec::new());
    let cause = send::SendError::Mulpdu { mulpdu: 100 };
    assert_eq!(refused, Err(SendError::Message(cause)));
    assert_eq!((sender.next(), sender.in_flight()), (Ssn(1), 0));
    assert_eq!(sender.emit(&[0; 14], &[0; 502], 516, &mut out), Ok(518));
}
