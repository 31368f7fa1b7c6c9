//! An error that may be found while octets in front of its FPDU are missing: which messages are due in front of it.

mod common;

use std::fs;

use common::{Wire, frame};
use warpline_capture::replay::{Difference, Replay};
use warpline_capture::{Capture, Side};
use warpline_wire::ddp::TaggedHeader;
use warpline_wire::send::{CrcField, FpduWriter};

/// M and C of a start frame.
const MARKERS_AND_CRC: u8 = 0xC0;

/// Six messages of 600 octets, the last one with a wrong version; the segments arrive in `order`.
fn replayed(order: &[usize]) -> (Replay, Vec<usize>) {
    let (mut octets, mut ends) = (Vec::new(), vec![0]);
    let mut writer = FpduWriter::new(true, CrcField::Computed);
    for i in 0..6 {
        let header = TaggedHeader {
            last: true,
            rsvd_ulp: 0,
            stag: 0x1200,
            to: 600 * i,
        };
        let mut header = header.emit();
        header[0] ^= u8::from(i == 5);
        writer
            .append(&header, &[i as u8; 600], &mut octets)
            .unwrap();
        ends.push(octets.len());
    }
    let mut wire = Wire::default();
    wire.handshake(Side::Client, 99, 5000);
    let request = frame(b"MPA ID Req Frame", MARKERS_AND_CRC, 1, b"");
    wire.segment(Side::Client, 100, &request);
    let reply = frame(b"MPA ID Rep Frame", MARKERS_AND_CRC, 1, b"");
    wire.segment(Side::Server, 5001, &reply);
    let start = 100 + request.len();
    for &i in order {
        let (from, to) = (ends[i], ends[i + 1]);
        wire.segment(Side::Client, (start + from) as u32, &octets[from..to]);
    }
    let folder = tempfile::tempdir().unwrap();
    let pcap = folder.path().join("wire.pcap");
    fs::write(&pcap, wire.pcap()).unwrap();
    (Replay::new(&Capture::open(&pcap).unwrap()).unwrap(), ends)
}

// req: AMB-10, AMB-11
#[test]
fn messages_that_were_complete_in_order_are_due_in_front_of_an_early_error() {
    for (order, due) in [
        ([0, 1, 2, 3, 4, 5], 5),
        ([1, 2, 0, 5, 4, 3], 3), // three are whole when the wrong one comes
        ([1, 2, 5, 0, 4, 3], 0), // the gap in front of them is closed later
        ([5, 0, 1, 2, 3, 4], 0),
        ([0, 1, 2, 4, 5, 3], 3),
    ] {
        let (replay, ends) = replayed(&order);
        let all = &replay.expected;
        assert_eq!((all.messages.len(), all.error), (5, Some((1, 4))));
        assert_eq!(all.failed_at, Some(ends[5] as u32));
        for delivered in 0..=5 {
            let mut card = all.clone();
            card.messages.truncate(delivered);
            let differences = replay.differences(&card, &replay.flow.segments);
            match delivered >= due {
                true => assert_eq!(differences, [], "{delivered} in {order:?}"),
                false => assert!(
                    matches!(differences[..], [Difference::Message { index, card: None, .. }] if index == delivered),
                    "{delivered} in {order:?}: {differences:?}"
                ),
            }
        }
    }
}

/// An error of MPA is found in order, whatever arrives when: all messages in front of it are due.
// req: AMB-11
#[test]
fn all_messages_are_due_in_front_of_an_error_that_depends_on_order() {
    let (replay, _) = replayed(&[1, 2, 5, 0, 4, 3]);
    let mut card = replay.expected.clone();
    card.messages.pop();
    card.error = Some((3, 2));
    let differences = replay.differences(&card, &replay.flow.segments);
    let lost = |difference: &Difference| matches!(difference, Difference::Message { index: 4, .. });
    assert!(differences.iter().any(lost), "{differences:?}");
}
