//! Replays are planned by what the stream shows: captures made here, replayed on the card at 64 bits.

#[path = "../../capture/tests/common/mod.rs"]
mod common;
mod made;

use common::{Wire, frame};
use made::{
    CLIENT, CRC, FRAME, SERVER, card, chosen, errors, file, lengths, raw, replayed, says, send,
    sent, started, write,
};
use warpline::replay::{Choice, Replay, Role};
use warpline_capture::Side;
use warpline_capture::replay::ReplayError;

/// Tagged ULPDU with one segment: T, L and DV = 1.
fn tagged(stag: u32, to: u64, payload: &[u8]) -> Vec<u8> {
    let header = [&[0xC1, 0x40][..], &stag.to_be_bytes(), &to.to_be_bytes()];
    raw(&[&header.concat(), payload].concat())
}

/// Untagged ULPDU of queue 0, the last of its message.
fn untagged(msn: u32, mo: u32, payload: &[u8]) -> Vec<u8> {
    let mut ulpdu = vec![0x41, 0x43, 0, 0, 0, 0];
    for field in [0, msn, mo] {
        ulpdu.extend(field.to_be_bytes());
    }
    ulpdu.extend(payload);
    raw(&ulpdu)
}

/// A capture that was stopped inside a message or FPDU shows no error, and says where it ends.
#[test]
fn a_capture_may_end_anywhere() {
    let card = card();
    let first = send(1, &[1; 30]);
    let long = send(2, &[2; 3000]); // three FPDUs
    let all = [&first[..], &long].concat();
    for (end, says_message, says_fpdu) in [
        (first.len(), false, false),
        (first.len() + 100, false, true),
        (first.len() + 1448, true, false), // behind its first FPDU
        (all.len() - 1, true, true),
    ] {
        let replayed = replayed(&card, &sent(&all[..end]));
        assert_eq!((lengths(&replayed), errors(&replayed)), (vec![30], vec![]));
        let message = "1 message of queue 0 not complete";
        assert_eq!(says(&replayed, message), says_message, "{end}");
        let fpdu = "the capture ends inside an FPDU";
        assert_eq!(says(&replayed, fpdu), says_fpdu, "{end}");
    }
    let whole = replayed(&card, &sent(&all));
    assert_eq!(lengths(&whole), [30, 3000]);
}

/// A capturing host may join segments (GRO): one completes more messages than the card holds buffers.
#[test]
fn one_segment_may_complete_more_messages_than_a_queue_holds_buffers() {
    let octets: Vec<_> = (1..=200)
        .flat_map(|msn| send(msn, &[msn as u8; 4]))
        .collect();
    let replayed = replayed(&card(), &sent(&octets));
    assert_eq!(lengths(&replayed), [4; 200]);
    assert_eq!(replayed.segments, 1);
    let (_, buffers) = &replayed.landed.receive;
    assert!((0..200).all(|i| buffers[4 * i..][..4] == [i as u8 + 1; 4]));
}

/// Segments that come ahead wait while the program posts.
#[test]
fn segments_that_come_ahead_wait_for_buffers() {
    let (mut wire, mut next) = started();
    let mut segments = Vec::new();
    for msn in 1..=130 {
        let octets = send(msn, &[msn as u8; 40]);
        segments.push((next, octets.clone()));
        next += octets.len() as u32;
    }
    segments.swap(62, 66);
    segments.swap(0, 1);
    for (seq, octets) in segments {
        wire.segment(Side::Client, seq, &octets);
    }
    assert_eq!(lengths(&replayed(&card(), &wire)), [40; 130]);
}

/// AMB-04: with placement ahead, messages of a queue may come in any order of their MSNs.
// req: AMB-04, DDP-ERR-06
#[test]
fn the_window_of_msns_is_armed() {
    let card = card();
    let in_any_order = [untagged(2, 0, &[2; 8]), untagged(1, 0, &[1; 4])].concat();
    let replayed_any = replayed(&card, &sent(&in_any_order));
    assert_eq!(
        (lengths(&replayed_any), errors(&replayed_any)),
        (vec![4, 8], vec![])
    );
    // An MSN that was delivered is behind the window, one beyond all messages is ahead of it.
    for (msn, code) in [(1, 3), (0, 3), (3, 2), (77, 2), (1 << 30, 2)] {
        let octets = [untagged(1, 0, &[1; 4]), untagged(msn, 0, &[9; 4])].concat();
        let replayed = replayed(&card, &sent(&octets));
        assert_eq!(errors(&replayed), [(2, code)], "MSN {msn}");
        assert_eq!(lengths(&replayed), [4]);
    }
}

/// What a forged header says about lengths sizes nothing: the device reports the error.
// req: DDP-ERR-18
#[test]
fn forged_offsets_end_in_the_error_of_the_device() {
    let card = card();
    for mo in [u32::MAX, u32::MAX - 15, 1 << 31, 1 << 30, 5000] {
        let octets = [untagged(1, 0, &[1; 64]), untagged(2, mo, &[2; 16])].concat();
        let replayed = replayed(&card, &sent(&octets));
        assert_eq!(errors(&replayed), [(2, 4)], "MO {mo:#x}");
        assert_eq!(lengths(&replayed), [64]);
        assert_eq!(replayed.plan.queues[0].length, 64);
        assert!(says(&replayed, "a segment of queue 0 ends at octet"));
    }
    // Many messages, and an offset that the stream could hold: the buffers of all would be too large.
    let small: Vec<_> = (1..=9000)
        .flat_map(|msn| untagged(msn, 0, &[1; 64]))
        .collect();
    let octets = [small, untagged(9001, 600_000, &[2; 16])].concat();
    let (_folder, capture) = file(&sent_in_pieces(&octets).pcap());
    let plan = Replay::new(&capture).unwrap().plan;
    assert_eq!((plan.queues[0].count, plan.queues[0].length), (9001, 64));

    // Tagged Offsets too far apart for one region.
    for to in [1 << 40, (1 << 63) + 5, u64::MAX - 31] {
        let octets = [tagged(0x1200, 100, &[1; 64]), tagged(0x1200, to, &[2; 32])].concat();
        let replayed = replayed(&card, &sent(&octets));
        assert_eq!(errors(&replayed), [(1, 1)], "TO {to:#x}");
        assert_eq!(lengths(&replayed), [64]);
        assert!(says(
            &replayed,
            "1 range of writes to STag 0x00001200 left out"
        ));
    }
}

fn sent_in_pieces(octets: &[u8]) -> Wire {
    let (mut wire, mut next) = started();
    for piece in octets.chunks(1460) {
        wire.segment(Side::Client, next, piece);
        next += piece.len() as u32;
    }
    wire
}

/// The last Tagged Offset is 2^64 - 1; a write behind it wraps.
// req: DDP-ERR-18
#[test]
fn writes_may_end_at_the_last_offset() {
    let card = card();
    let last = write(0x1200, 0_u64.wrapping_sub(64), &[7; 64]);
    let replayed_last = replayed(&card, &sent(&last));
    assert_eq!(
        (lengths(&replayed_last), errors(&replayed_last)),
        (vec![64], vec![])
    );
    assert_eq!(replayed_last.landed.memory[0].1, [7; 64]);
    let behind = tagged(0x1200, 0_u64.wrapping_sub(64), &[7; 65]);
    assert_eq!(errors(&replayed(&card, &sent(&behind))), [(1, 3)]);
}

/// Fast registration renews the key of an STag: its slot holds one after the other, also with segments ahead.
#[test]
fn keys_of_an_stag_follow_one_another_in_its_slot() {
    let card = card();
    let (mut wire, mut next) = started();
    let mut segments = Vec::new();
    for (i, key) in [1, 1, 2, 3, 3, 1, 4].into_iter().enumerate() {
        let octets = write(0x1200 + key, 0x100 * i as u64, &[i as u8; 100]);
        segments.push((next, octets.clone()));
        next += octets.len() as u32;
    }
    segments.swap(1, 3);
    for (seq, octets) in segments {
        wire.segment(Side::Client, seq, &octets);
    }
    let replayed_keys = replayed(&card, &wire);
    assert_eq!(
        (lengths(&replayed_keys), errors(&replayed_keys)),
        (vec![100; 7], vec![])
    );
    let names: Vec<_> = replayed_keys
        .plan
        .regions
        .iter()
        .map(|it| it.stag)
        .collect();
    assert_eq!(names, [0x1201, 0x1202, 0x1203, 0x1204]);
    let first = &replayed_keys.landed.memory[0].1;
    assert!(first[..100] == [0; 100] && first[0x100..][..100] == [1; 100]);
    assert!(first[0x500..][..100] == [5; 100]);
    // 256 slots: two STags of one slot with different indices, too.
    let octets = [write(0x1200, 0, &[1; 9]), write(0x11200, 0, &[2; 9])].concat();
    assert_eq!(lengths(&replayed(&card, &sent(&octets))), [9, 9]);
}

/// A segment that was not captured ends the replay; what is behind its octets is left out.
#[test]
fn a_capture_with_a_hole_is_replayed_up_to_it() {
    let card = card();
    let (mut wire, mut next) = started();
    let mut at = 0;
    for i in 0..4 {
        let octets = write(0x1200, 100 * i, &[i as u8; 100]);
        if i == 2 {
            at = wire.packets.len();
        }
        wire.segment(Side::Client, next, &octets);
        next += octets.len() as u32;
    }
    wire.flagged(Side::Client, next, b"", |tcp| tcp.fin = true);
    let lost = wire.packets.remove(at);
    let replayed_some = replayed(&card, &wire);
    assert_eq!(
        (lengths(&replayed_some), errors(&replayed_some)),
        (vec![100; 2], vec![])
    );
    assert!(says(
        &replayed_some,
        "120 octets from stream position 240 on were not captured: replayed up to there, 120 octets behind"
    ));
    assert_eq!(replayed_some.landed.closed, None);
    // Octets missing in front of the FIN only.
    wire.packets.insert(at, lost);
    wire.packets.remove(at + 1);
    let replayed_some = replayed(&card, &wire);
    assert_eq!(lengths(&replayed_some), [100; 3]);
    assert!(says(
        &replayed_some,
        "120 octets from stream position 360 on were not captured"
    ));
}

/// A segment of another time or another connection does not spoil the stream.
#[test]
fn stray_segments_are_left_out() {
    let (mut wire, mut next) = started();
    for i in 0..3 {
        let octets = write(0x1200, 100 * i, &[i as u8; 100]);
        wire.segment(Side::Client, next, &octets);
        next += octets.len() as u32;
        if i == 1 {
            wire.segment(Side::Client, next.wrapping_add(0x5000_0000), &[0xFF; 40]);
            wire.segment(Side::Client, next.wrapping_sub(0x5000_0000), &[0xFF; 40]);
        }
    }
    wire.flagged(Side::Client, next, b"", |tcp| tcp.fin = true);
    wire.segment(Side::Client, next + 5, &[0xFF; 40]);
    let replayed = replayed(&card(), &wire);
    assert_eq!(
        (lengths(&replayed), errors(&replayed)),
        (vec![100; 3], vec![])
    );
    assert!(replayed.landed.closed.is_some());
    assert!(says(
        &replayed,
        "2 TCP segments that cannot belong to the stream"
    ));
}

/// Three connections of the same ports: the first one carries nothing, the second one FPDUs of both ends, the third one
/// FPDUs of the Responder.
fn three_connections() -> Wire {
    let mut wire = Wire::default();
    for (number, (initiator, responder)) in (0..).zip([(0, 0), (1, 2), (0, 3)]) {
        let (client, server) = (CLIENT + 100_000 * number, SERVER + 100_000 * number);
        wire.handshake(Side::Client, client, server);
        let request = frame(b"MPA ID Req Frame", CRC, 1, b"");
        wire.segment(Side::Client, client + 1, &request);
        let reply = frame(b"MPA ID Rep Frame", CRC, 1, b"");
        wire.segment(Side::Server, server + 1, &reply);
        for (side, first, count) in [
            (Side::Client, client, initiator),
            (Side::Server, server, responder),
        ] {
            let mut next = first + 1 + FRAME;
            for msn in 1..=count {
                let octets = send(msn, &[number as u8; 10]);
                wire.segment(side, next, &octets);
                next += octets.len() as u32;
            }
            wire.flagged(side, next, b"", |tcp| tcp.fin = true);
        }
    }
    wire
}

/// What is not replayed is said, and can be chosen.
#[test]
fn connections_and_directions_can_be_chosen() {
    let card = card();
    let wire = three_connections();
    let usual = replayed(&card, &wire);
    assert_eq!(lengths(&usual), [10; 1]);
    for line in [
        "connection 1 of the Initiator 10.0.0.1:4000 carries no FPDU",
        "connection 2: 2 FPDUs of the Responder 10.0.0.2:7000 (72 octets) were not replayed: choose --connection 2 --direction responder",
        "connection 3: 3 FPDUs of the Responder 10.0.0.2:7000 (108 octets) were not replayed: choose --connection 3 --direction responder",
    ] {
        assert!(says(&usual, line), "{:#?}", usual.report.warnings);
    }
    let connections = &usual.report.connections;
    let counts = connections
        .iter()
        .map(|it| (it.initiator_fpdus, it.responder_fpdus, it.replayed));
    assert_eq!(
        counts.collect::<Vec<_>>(),
        [(0, 0, None), (1, 2, Some("initiator")), (0, 3, None)]
    );
    let (initiator, responder) = (Some(Role::Initiator), Some(Role::Responder));
    for (connection, direction, messages) in [
        (Some(2), None, 1),
        (Some(2), initiator, 1),
        (Some(2), responder, 2),
        (Some(3), None, 3),
        (None, responder, 2),
        (None, initiator, 1),
    ] {
        let choice = Choice {
            connection,
            direction,
        };
        let replayed = chosen(&card, &wire, choice);
        assert_eq!(replayed.report.completions.len(), messages, "{choice:?}");
    }
    let (_folder, capture) = file(&wire.pcap());
    let refused = |connection, direction| {
        let choice = Choice {
            connection,
            direction,
        };
        Replay::of(&capture, choice).unwrap_err()
    };
    assert_eq!(refused(Some(1), None), ReplayError::NoFpdu);
    assert_eq!(refused(Some(3), initiator), ReplayError::NoFpdu);
    for number in [0, 4, usize::MAX] {
        let connections = 3;
        let none = ReplayError::NoConnection {
            number,
            connections,
        };
        assert_eq!(refused(Some(number), None), none);
    }
}

/// Packets that could not be read are counted in the report.
#[test]
fn skipped_packets_are_reported() {
    let mut wire = sent(&send(1, &[1; 30]));
    let mut fragment = wire.packets[3].clone();
    fragment[14 + 6] = 0x20; // more fragments
    wire.packets.push(fragment);
    let report = replayed(&card(), &wire).report;
    assert_eq!(report.skipped.len(), 1);
    assert_eq!(report.skipped[0].packets, 1);
    assert!(
        report.skipped[0]
            .first
            .contains("packet 6 is an IP fragment")
    );
}
