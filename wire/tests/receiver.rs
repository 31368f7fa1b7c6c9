//! The reference receiver's behaviour beyond the golden vectors: cuts, freezing, limits, ordering,
//! untagged queues, STags, retransmission.

mod common;

use common::*;
use warpline_wire::ddp::{TaggedHeader, UntaggedHeader};
use warpline_wire::error::{Checks, Detail, Ending, ErrorNumber, sub_code};
use warpline_wire::receive::{
    Delivery, Flags, Framing, FramingConfig, MsnMode, Receiver, ReceiverConfig, ReceiverError,
    Scope, StagEntry, StreamConfig, Target,
};
use warpline_wire::send::{CrcField, FpduWriter, Message};
use warpline_wire::{crc, marker, mpa};

const STAG: u32 = 0x0000_0101;

fn send(msn: u32, mo: u32, last: bool, payload: &[u8]) -> Vec<u8> {
    let header = UntaggedHeader {
        last,
        rsvd_ulp: [0x43, 1, 2, 3, 4],
        qn: 0,
        msn,
        mo,
    };
    [&header.emit()[..], payload].concat()
}

fn write(stag: u32, to: u64, last: bool, payload: &[u8]) -> Vec<u8> {
    let header = TaggedHeader {
        last,
        rsvd_ulp: 0x40,
        stag,
        to,
    };
    [&header.emit()[..], payload].concat()
}

fn untagged(msn: u32, length: u32) -> Delivery {
    Delivery::Untagged {
        queue: 0,
        msn,
        length,
        rsvd_ulp: [0x43, 1, 2, 3, 4],
    }
}

/// Streams 1 and 2 in protection domain 7, queue 0 with eight buffers of 1000 octets on both, and
/// an STag for Tagged Offsets 0..4096.
fn receiver(config: ReceiverConfig, stream: StreamConfig) -> Receiver {
    let mut receiver = Receiver::new(config);
    for id in [1, 2] {
        let stream = StreamConfig {
            protection_domain: 7,
            ..stream
        };
        receiver.open(id, stream).unwrap();
        receiver.enable_queue(id, 0, 1).unwrap();
        for _ in 0..8 {
            receiver.post(id, 0, 1000).unwrap();
        }
    }
    receiver.set_stag(STAG, writable(7, 0, 4096));
    receiver
}

fn default_receiver() -> Receiver {
    receiver(ReceiverConfig::default(), StreamConfig::default())
}

fn marked() -> StreamConfig {
    StreamConfig {
        markers: true,
        ..StreamConfig::default()
    }
}

/// Mixed traffic whose payload is full of things that look like headers and markers.
fn mixed_ulpdus() -> Vec<Vec<u8>> {
    let mut decoy = stream_of(true, [send(9, 0, true, &[0; 40])]);
    decoy.resize(990, 0);
    vec![
        send(1, 0, false, &decoy[..600]),
        send(1, 600, true, &decoy[600..]),
        write(STAG, 1, false, &pattern(1, 501)),
        write(STAG, 502, true, &pattern(2, 3)),
        write(0xDEAD, 9, true, &[]),
        send(2, 0, true, &[]),
        send(3, 0, true, &pattern(3, 1000)),
    ]
}

// req: MPA-RCV-01, MPA-RCV-02, MPA-RCV-05, MPA-RCV-08, MPA-RCV-17, MPA-RCV-35, MPA-RCV-36
// req: MPA-RCV-38, MPA-FMT-01, MPA-FMT-16, DDP-SEG-04, DDP-ORD-06, DDP-UNT-17, DDP-UNT-18
#[test]
fn events_do_not_depend_on_where_the_stream_is_cut() {
    for config in [StreamConfig::default(), marked()] {
        let wire = stream_of(config.markers, mixed_ulpdus());
        let whole = feed(&mut receiver(ReceiverConfig::default(), config), 1, &wire);
        assert_eq!(whole.deliveries().len(), 5);
        assert_eq!(whole.placements().len(), 5);
        assert_eq!(whole.failure(), None);
        for cut in 0..=wire.len() {
            let mut receiver = receiver(ReceiverConfig::default(), config);
            let mut log = feed(&mut receiver, 1, &wire[..cut]);
            log.0.extend(feed(&mut receiver, 1, &wire[cut..]).0);
            assert_eq!(log, whole, "cut at {cut}");
        }
        for size in [1, 7, 536, 1460] {
            let mut receiver = receiver(ReceiverConfig::default(), config);
            let mut log = Log::default();
            for segment in wire.chunks(size) {
                log.0.extend(feed(&mut receiver, 1, segment).0);
            }
            assert_eq!(log, whole, "segments of {size}");
        }
    }
}

// req: MPA-RCV-08, AMB-14, AMB-31
#[test]
fn a_boundary_is_between_fpdus_only() {
    let ulpdus = [send(1, 0, true, &pattern(0, 484)), send(2, 0, true, b"x")];
    let wire = stream_of(true, ulpdus); // the second FPDU begins with a marker at 512
    let mut receiver = receiver(ReceiverConfig::default(), marked());
    for (at, octet) in wire.iter().enumerate() {
        assert_eq!(receiver.at_boundary(1), Ok(at == 0 || at == 512), "{at}");
        feed(&mut receiver, 1, &[*octet]);
    }
    assert_eq!(receiver.at_boundary(1), Ok(true));
}

/// A receiver after `wire` and a FIN, and the events of the FIN.
fn finished(config: StreamConfig, wire: &[u8]) -> (Receiver, Log) {
    let mut receiver = receiver(ReceiverConfig::default(), config);
    feed(&mut receiver, 1, wire);
    let mut log = Log::default();
    receiver.finish(1, &mut log).unwrap();
    (receiver, log)
}

// req: MPA-RCV-16, MPA-ERR-01, MPA-ERR-03, MPA-ERR-17, AMB-31, AMB-09
#[test]
fn a_fin_is_clean_between_fpdus_and_cuts_one_elsewhere() {
    let ulpdus = [send(1, 0, true, &pattern(0, 484)), send(2, 0, true, b"x")];
    let wire = stream_of(true, ulpdus); // the second FPDU begins with a marker at 512
    for at in 0..=wire.len() {
        let (mut receiver, log) = finished(marked(), &wire[..at]);
        if [0, 512, wire.len()].contains(&at) {
            assert_eq!(log.0, [Seen::Closed(1, at as u32)], "{at}");
            assert_eq!(receiver.is_frozen(1), Ok(false));
        } else {
            let record = log.only_failure();
            assert_eq!(record.number, ErrorNumber::MpaConnection);
            assert_eq!(record.detail, Detail::Connection(Ending::Truncated));
            assert_eq!(record.detail.sub_code(), sub_code::FIN_TRUNCATED);
            let (position, length, lead) = if at < 512 { (0, 502, 8) } else { (512, 19, 8) };
            assert_eq!(record.position, position, "{at}");
            let known = at >= position as usize + lead;
            assert_eq!(record.ulpdu_len, if known { length } else { 0 }, "{at}");
            assert!(record.header.as_slice().is_empty());
            assert!(record.checks.is_empty());
            assert_eq!(receiver.is_frozen(1), Ok(true));
        }
        let mut again = Log::default();
        receiver.finish(1, &mut again).unwrap();
        assert_eq!(again.0, [], "one FIN, one event");
    }
}

// req: MPA-ERR-03, MPA-ERR-12, DDP-TEAR-08, DDP-TEAR-12, AMB-31, AMB-57
#[test]
fn octets_behind_a_fin_and_the_loss_of_the_connection_are_errors() {
    let wire = stream_of(false, [send(1, 0, true, b"one"), send(2, 0, true, b"two")]);
    let half = wire.len() / 2;
    let reported = |log: Log| {
        let record = log.only_failure();
        assert_eq!(record.number, ErrorNumber::MpaConnection);
        (record.detail, record.position)
    };

    let (mut receiver, log) = finished(StreamConfig::default(), &wire[..half]);
    assert_eq!(log.0, [Seen::Closed(1, half as u32)]);
    assert_eq!(feed(&mut receiver, 1, &[]).0, [], "no octet, no error");
    let behind = Detail::Connection(Ending::BehindFin);
    let log = feed(&mut receiver, 1, &wire[half..]);
    assert_eq!(reported(log), (behind, half as u32), "a valid FPDU, too");
    assert_eq!(behind.sub_code(), sub_code::BEHIND_FIN);

    let lost = Detail::Connection(Ending::Lost);
    assert_eq!(lost.sub_code(), sub_code::LOST);
    for (cut, fin, position) in [(0, false, 0), (half + 5, false, half), (half, true, half)] {
        let mut receiver = crate::receiver(ReceiverConfig::default(), StreamConfig::default());
        feed(&mut receiver, 1, &wire[..cut]);
        if fin {
            receiver.finish(1, &mut Log::default()).unwrap();
        }
        let mut log = Log::default();
        receiver.lose(1, &mut log).unwrap();
        assert_eq!(reported(log), (lost, position as u32));
        let mut log = feed(&mut receiver, 1, &wire[cut..]);
        receiver.lose(1, &mut log).unwrap();
        receiver.finish(1, &mut log).unwrap();
        assert_eq!(log.0, [], "an event after an error");
    }
}

// req: MPA-MRK-11, MPA-MRK-18, AMB-15, MPA-MRK-03, MPA-MRK-07, MPA-MRK-10
#[test]
fn markers_stand_in_front_of_length_ulpdu_word_or_crc_only() {
    for position in (0..512u32).step_by(4) {
        for ulpdu_len in 0..1100 {
            let ulpdu = vec![0xA5; ulpdu_len];
            let wire = fpdu(position, true, CrcField::Zero, &ulpdu);
            let mut content = 0; // FPDU octets in front of the marker
            for at in (0..wire.len()).step_by(4) {
                if !marker::is_due(position + at as u32) {
                    content += 4;
                    continue;
                }
                let body = mpa::body_len(ulpdu_len);
                let in_ulpdu = content >= 4 && content - mpa::LENGTH_LEN < ulpdu_len;
                assert!(content == 0 || in_ulpdu || content == body);
                let found = marker::Marker::new_checked(&wire[at..]).unwrap();
                let header = position + if marker::is_due(position) { 4 } else { 0 };
                let target = marker::header_position(position + at as u32, found.fpduptr());
                assert_eq!(target, header);
            }
            assert_eq!(content, mpa::body_len(ulpdu_len) + crc::LEN);
        }
    }
}

/// Of one writer that has written many FPDUs. Where each begins is counted here.
// req: MPA-MRK-08, MPA-MRK-11, MPA-FMT-15
#[test]
fn markers_point_to_their_fpdu_among_many() {
    let length = |n: u32| (7919 * n % 900) / (1 + 31 * n % 41);
    let ulpdu = |n: u32| send(n, 0, true, &pattern(0, length(n) as usize));
    let ulpdus: Vec<_> = (1..3000).map(ulpdu).collect();
    let wire = stream_of(true, &ulpdus);
    let mut headers = Vec::new();
    let mut at = 0;
    for ulpdu in &ulpdus {
        let mut left = (2 + ulpdu.len()).next_multiple_of(4) + 4; // length, ULPDU and pad; CRC
        let mut header = None;
        while left > 0 {
            if at % 512 == 0 {
                at += 4;
            }
            header.get_or_insert(at);
            let piece = left.min(512 - at % 512);
            at += piece;
            left -= piece;
        }
        headers.extend(header);
    }
    assert_eq!(wire.len(), at);
    let (mut crowded, mut at_boundary) = (0, 0);
    for marker in (0..wire.len()).step_by(512) {
        let behind = headers.partition_point(|header| *header < marker + 4);
        let begins = headers.get(behind) == Some(&(marker + 4));
        let distance = match begins {
            true => 0,
            false => marker - headers[behind - 1],
        };
        let found = u32::from_be_bytes(wire[marker..marker + 4].try_into().unwrap());
        assert_eq!(found as usize, distance, "the marker at {marker}");
        let interval = headers[..behind].iter().rev();
        crowded += usize::from(
            interval
                .take_while(|header| **header + 512 > marker)
                .count()
                > 2,
        );
        at_boundary += usize::from(begins && marker > 0);
    }
    assert!(crowded > 100 && at_boundary > 3, "{crowded}, {at_boundary}");
}

// req: MPA-MRK-03, MPA-MRK-16, MPA-MRK-20
#[test]
fn no_marker_follows_the_last_fpdu() {
    let first = send(1, 0, true, &pattern(0, 484));
    assert_eq!(stream_of(true, [&first]).len(), 512);
    let two = stream_of(true, [first, send(2, 0, true, b"x")]);
    assert_eq!(two[512..518], [0, 0, 0, 0, 0, 19]);
}

// req: MPA-FMT-09, MPA-CRC-08, MPA-CRC-11, AMB-12
#[test]
fn with_the_crc_off_its_field_may_hold_anything() {
    let config = StreamConfig {
        crc: false,
        ..StreamConfig::default()
    };
    let mut receiver = receiver(ReceiverConfig::default(), config);
    for round in 0..1000u32 {
        let mut wire = stream_of(false, [write(STAG, u64::from(round), true, b"octets")]);
        let field = wire.len() - crc::LEN;
        wire[field..].copy_from_slice(&round.wrapping_mul(0x9E37_79B9).to_be_bytes());
        assert_eq!(feed(&mut receiver, 1, &wire).deliveries().len(), 1);
    }
    assert_eq!(receiver.counters(1).unwrap().fpdus, 1000);
}

// req: MPA-ERR-05, AMB-13, AMB-19, MPA-ERR-08
#[test]
fn every_marker_is_checked_also_with_the_crc_off() {
    let ulpdu = write(STAG, 0, true, &pattern(0, 1400));
    for crc_on in [true, false] {
        for (position, expected) in [(0u32, 0u16), (512, 508), (1024, 1020)] {
            let config = StreamConfig {
                crc: crc_on,
                ..marked()
            };
            let mut wire = stream_of(true, [&ulpdu]);
            wire[position as usize + 3] ^= 0x04;
            let field = wire.len() - crc::LEN;
            let valid = crc::to_wire(crc::crc32c(&wire[..field]));
            wire[field..].copy_from_slice(&valid);
            let record =
                feed(&mut receiver(ReceiverConfig::default(), config), 1, &wire).only_failure();
            assert_eq!(record.number, ErrorNumber::MpaMarker);
            assert_eq!(record.checks, Checks::empty());
            assert_eq!(record.detail.sub_code(), sub_code::MISMATCH);
            let received = expected ^ 4;
            assert_eq!(
                record.detail,
                Detail::Marker {
                    position,
                    expected,
                    received
                }
            );
            assert_eq!(record.header.as_slice(), &ulpdu[..14]);
        }
    }
}

// req: MPA-CRC-18, MPA-CRC-19, MPA-ERR-04, MPA-ERR-12, DDP-ERR-17, DDP-ERR-20, DDP-ORD-07, AMB-10
#[test]
fn the_first_error_freezes_its_stream_and_no_other() {
    let good = [
        send(1, 0, true, b"before"),
        write(STAG, 0, true, b"before too"),
    ];
    let mut wire = stream_of(false, good);
    let failing_at = wire.len();
    let mut writer = FpduWriter::at(failing_at as u32, false, CrcField::Computed);
    let failing = send(2, 0, true, b"last octet bad");
    writer.append(&failing, &[], &mut wire).unwrap();
    let last_payload_octet = failing_at + 2 + failing.len() - 1;
    wire[last_payload_octet] ^= 0x01;
    let after = wire.len();
    for msn in 2..8 {
        let ulpdu = send(msn, 0, true, b"after");
        writer.append(&ulpdu, &[], &mut wire).unwrap();
    }

    let mut receiver = default_receiver();
    let log = feed(&mut receiver, 1, &wire);
    assert_eq!(log.deliveries().len(), 2);
    assert_eq!(log.placements().len(), 2);
    assert!(matches!(log.0.last(), Some(Seen::Failed(_))));
    let record = log.failure().unwrap();
    assert_eq!(record.number, ErrorNumber::MpaCrc);
    assert_eq!((record.stream, record.position), (1, failing_at as u32));
    assert_eq!(usize::from(record.ulpdu_len), failing.len());
    assert_eq!(receiver.is_frozen(1), Ok(true));

    let more = stream_of(false, [send(2, 0, true, b"later")]);
    assert_eq!(feed(&mut receiver, 1, &more), Log::default());
    let dropped = (wire.len() - after + more.len()) as u64;
    assert_eq!(receiver.counters(1).unwrap().frozen_octets, dropped);
    assert_eq!(receiver.counters(1).unwrap().fpdus, 2);

    let other = stream_of(false, [send(1, 0, true, b"fine")]);
    assert_eq!(feed(&mut receiver, 2, &other).deliveries().len(), 1);
    assert_eq!(receiver.is_frozen(2), Ok(false));
}

// req: DDP-ERR-17, DDP-ERR-20, DDP-TEAR-14, AMB-56
#[test]
fn a_ddp_error_freezes_too_and_its_fpdu_counts_as_valid() {
    let ulpdus = [
        write(STAG, 4090, true, b"seven o"),
        write(STAG, 0, true, b"fine"),
    ];
    let mut receiver = default_receiver();
    let log = feed(&mut receiver, 1, &stream_of(false, ulpdus));
    let record = log.only_failure();
    assert_eq!(record.number, ErrorNumber::TaggedBounds);
    assert_eq!(record.checks, Checks::END);
    assert_eq!(receiver.counters(1).unwrap().fpdus, 1);
    assert_eq!(receiver.counters(1).unwrap().placed_octets, 0);
}

// req: AMB-21
#[test]
fn a_length_above_the_limit_is_refused_with_its_dword() {
    for (config, lead) in [(StreamConfig::default(), 0), (marked(), 4)] {
        for (ulpdu_len, refused) in [(64768u16, false), (64769, true), (65535, true)] {
            let mut wire = vec![0; lead];
            wire.extend(ulpdu_len.to_be_bytes());
            wire.extend([0x41, 0x43]);
            let mut receiver = receiver(ReceiverConfig::default(), config);
            let (last, before) = wire.split_last().unwrap();
            assert_eq!(feed(&mut receiver, 1, before), Log::default());
            let log = feed(&mut receiver, 1, &[*last]);
            if !refused {
                assert_eq!(log, Log::default());
                continue;
            }
            let record = log.only_failure();
            assert_eq!(record.number, ErrorNumber::MpaMarker);
            assert_eq!(record.detail, Detail::Length { max: 64768 });
            assert_eq!(record.detail.sub_code(), sub_code::LENGTH);
            assert_eq!((record.position, record.ulpdu_len), (0, ulpdu_len));
            assert!(record.header.as_slice().is_empty());
        }
    }
}

// req: AMB-22, MPA-RCV-31
#[test]
fn an_fpdu_above_the_buffer_is_too_large() {
    let config = ReceiverConfig {
        max_fpdu: mpa::MIN_REASSEMBLY,
        ..ReceiverConfig::default()
    };
    // 128-octet ULPDUs, the first with a leading marker: 140 octets, then 136.
    let fits = |msn| send(msn, 0, true, &pattern(0, 110));
    let wire = stream_of(true, [fits(1), fits(2)]);
    let mut small = receiver(config, marked());
    let octets = wire
        .iter()
        .flat_map(|octet| feed(&mut small, 1, &[*octet]).0);
    let log = Log(octets.collect());
    assert_eq!(log.deliveries().len(), 2);

    let too_large = stream_of(true, [send(1, 0, true, &pattern(0, 113))]);
    let record = feed(&mut receiver(config, marked()), 1, &too_large[..8]).only_failure();
    assert_eq!(record.number, ErrorNumber::MpaMarker);
    let fpdu_len = too_large.len();
    assert_eq!(record.detail, Detail::TooLarge { fpdu_len, max: 140 });
    assert_eq!(record.detail.sub_code(), sub_code::TOO_LARGE);
}

// req: DDP-HDR-14, AMB-20
#[test]
fn a_short_ulpdu_reports_short_and_what_exists_of_its_header() {
    for (first, header_len) in [(0xC0u8, 14), (0x42, 18)] {
        for len in 0..header_len {
            let mut ulpdu = vec![0xEE; len];
            if let Some(control) = ulpdu.first_mut() {
                *control = first; // DV is wrong too, but is not judged
            }
            let wire = stream_of(false, [&ulpdu]);
            let record = feed(&mut default_receiver(), 1, &wire).only_failure();
            assert_eq!(record.number, ErrorNumber::LocalCatastrophic);
            assert_eq!(record.checks, Checks::SHORT);
            assert_eq!(record.header.as_slice(), ulpdu);
        }
    }
}

// req: DDP-TAG-03, DDP-TAG-04, DDP-TAG-08, DDP-TAG-12, DDP-TAG-13, DDP-DEL-01, DDP-DEL-04, AMB-44
#[test]
fn tagged_messages_are_placed_and_reported() {
    let mut receiver = default_receiver();
    let mut writer = FpduWriter::new(false, CrcField::Computed);
    for rsvd_ulp in 0..=255 {
        let message = Message::Tagged {
            stag: STAG,
            to: 1,
            rsvd_ulp,
        };
        let mut wire = Vec::new();
        let payload = pattern(rsvd_ulp.into(), 300);
        writer
            .append_message(message, &payload, 128, &mut wire)
            .unwrap();
        let log = feed(&mut receiver, 1, &wire);
        let (offsets, octets): (Vec<u64>, Vec<&[u8]>) = log
            .placements()
            .into_iter()
            .map(|(target, octets)| match target {
                Target::Tagged { stag: STAG, to } => (to, octets),
                other => panic!("{other:?}"),
            })
            .unzip();
        assert_eq!(offsets, [1, 115, 229]);
        assert_eq!(octets.concat(), payload);
        let delivery = Delivery::Tagged {
            stag: STAG,
            to: 229,
            length: 72,
            rsvd_ulp,
        };
        assert_eq!(log.deliveries(), [(delivery, Flags::empty())]);
    }
}

// req: AMB-44
#[test]
fn tagged_reports_can_be_switched_off() {
    let config = StreamConfig {
        tagged_completions: false,
        ..StreamConfig::default()
    };
    let mut receiver = receiver(ReceiverConfig::default(), config);
    let ulpdus = [write(STAG, 0, true, b"silent"), send(1, 0, true, b"loud")];
    let log = feed(&mut receiver, 1, &stream_of(false, ulpdus));
    assert_eq!(log.placements().len(), 2);
    assert_eq!(log.deliveries(), [(untagged(1, 4), Flags::empty())]);
    assert_eq!(receiver.counters(1).unwrap().delivered, 2);
}

// req: DDP-UNT-02, DDP-UNT-04, DDP-UNT-06, DDP-UNT-07, DDP-DEL-02, DDP-DEL-03, AMB-06, AMB-43
#[test]
fn an_untagged_message_reports_length_and_rsvd_ulp_of_its_last_segment() {
    let mut first = send(1, 0, false, &pattern(0, 600));
    first[1..6].copy_from_slice(&[9; 5]);
    let ulpdus = [first, send(1, 600, true, &pattern(0, 300))];
    let log = feed(&mut default_receiver(), 1, &stream_of(false, ulpdus));
    assert_eq!(log.deliveries(), [(untagged(1, 900), Flags::empty())]);
}

// req: DDP-TAG-02, DDP-TAG-03, DDP-TAG-05, DDP-UNT-02, DDP-UNT-03, DDP-UNT-05
#[test]
fn the_ulps_octets_arrive_as_they_were_given() {
    for i in 0..64u64 {
        // Each bit of the forty alone, then several.
        let octets = match i {
            ..40 => (1u64 << i).to_be_bytes(),
            _ => (i * 0x9E_3779_B97F).to_be_bytes(),
        };
        let [_, _, _, rsvd_ulp @ ..] = octets;
        let tagged = Message::Tagged {
            stag: STAG,
            to: 0,
            rsvd_ulp: rsvd_ulp[4],
        };
        let untagged = Message::Untagged {
            qn: 0,
            msn: 1,
            rsvd_ulp,
        };
        let mut wire = Vec::new();
        let mut writer = FpduWriter::new(false, CrcField::Computed);
        for message in [tagged, untagged] {
            let at = wire.len();
            writer
                .append_message(message, &pattern(1, 300), 128, &mut wire)
                .unwrap();
            let mut framing = Framing::at(at as u32, FramingConfig::default());
            let (segments, error) = ulpdus(&mut framing, &wire[at..]);
            assert_eq!((segments.len(), error), (3, None));
            for segment in segments {
                match message {
                    Message::Tagged { rsvd_ulp, .. } => assert_eq!(segment[1], rsvd_ulp),
                    Message::Untagged { rsvd_ulp, .. } => assert_eq!(segment[1..6], rsvd_ulp),
                }
            }
        }
        let log = feed(&mut default_receiver(), 1, &wire);
        let given: Vec<_> = log
            .deliveries()
            .into_iter()
            .map(|(delivery, _)| match delivery {
                Delivery::Tagged { rsvd_ulp, .. } => vec![rsvd_ulp],
                Delivery::Untagged { rsvd_ulp, .. } => rsvd_ulp.to_vec(),
            })
            .collect();
        assert_eq!(given, [vec![rsvd_ulp[4]], rsvd_ulp.to_vec()]);
    }
}

// req: DDP-UNT-10, DDP-UNT-11, DDP-UNT-12, DDP-ORD-05, AMB-24
#[test]
fn msns_count_through_zero_and_each_is_delivered_once() {
    let mut receiver = Receiver::new(ReceiverConfig::default());
    receiver.open(1, StreamConfig::default()).unwrap();
    receiver.enable_queue(1, 0, 0xFFFF_FFFE).unwrap();
    let msns = [0xFFFF_FFFE, 0xFFFF_FFFF, 0, 1];
    for msn in msns {
        assert_eq!(receiver.post(1, 0, 10), Ok(msn));
    }
    let wire = stream_of(false, msns.map(|msn| send(msn, 0, true, b"0123456789")));
    let log = feed(&mut receiver, 1, &wire);
    let expected = msns.map(|msn| (untagged(msn, 10), Flags::empty()));
    assert_eq!(log.deliveries(), expected);
    // The MSN of a delivered message is behind the window.
    let again = stream_of(false, [send(1, 0, true, b"0123456789")]);
    let record = feed(&mut receiver, 1, &again).only_failure();
    assert_eq!(record.number, ErrorNumber::UntaggedMsnRange);
    assert_eq!(record.checks, Checks::MSN);
}

// req: DDP-ERR-07, DDP-ERR-11
#[test]
fn posting_a_buffer_moves_the_upper_bound() {
    let outcome = |posts| {
        let mut receiver = Receiver::new(ReceiverConfig::default());
        receiver.open(1, StreamConfig::default()).unwrap();
        receiver.enable_queue(1, 0, 1).unwrap();
        for _ in 0..posts {
            receiver.post(1, 0, 10).unwrap();
        }
        let wire = stream_of(false, [send(1, 0, true, b"1"), send(2, 0, true, b"2")]);
        feed(&mut receiver, 1, &wire)
    };
    let record = outcome(1).failure().unwrap();
    assert_eq!(record.number, ErrorNumber::UntaggedNoBuffer);
    assert_eq!(record.checks, Checks::NOBUF);
    assert_eq!(outcome(2).failure(), None);
}

// req: AMB-07, DDP-SEG-12
#[test]
fn a_message_with_a_hole_is_delivered_and_says_so() {
    let ulpdus = [
        send(1, 0, false, b"0123"),
        send(1, 6, true, b"6789"),
        send(2, 0, true, b"whole"),
    ];
    let log = feed(&mut default_receiver(), 1, &stream_of(false, ulpdus));
    let expected = [
        (untagged(1, 10), Flags::HOLE),
        (untagged(2, 5), Flags::empty()),
    ];
    assert_eq!(log.deliveries(), expected);
}

// req: AMB-04, AMB-06, DDP-UNT-16, DDP-ORD-04, DDP-ORD-06
#[test]
fn in_window_mode_messages_may_overtake_but_are_delivered_in_order() {
    let config = StreamConfig {
        msn_mode: MsnMode::Window,
        ..StreamConfig::default()
    };
    let mut receiver = receiver(ReceiverConfig::default(), config);
    let ulpdus = [
        send(2, 0, true, b"second"),
        send(2, 0, true, b"again!"),
        send(1, 0, true, b"first"),
    ];
    let log = feed(&mut receiver, 1, &stream_of(false, ulpdus));
    assert_eq!(log.placements().len(), 3);
    let second = (untagged(2, 6), Flags::HOLE | Flags::ANOMALY);
    assert_eq!(log.deliveries(), [(untagged(1, 5), Flags::empty()), second]);
}

// req: AMB-04, AMB-24
#[test]
fn a_window_ends_where_the_receiver_says() {
    let outcome = |msn_mode, window, msns: &[u32]| {
        let config = ReceiverConfig {
            window,
            ..ReceiverConfig::default()
        };
        let stream = StreamConfig {
            msn_mode,
            ..StreamConfig::default()
        };
        let mut receiver = Receiver::new(config);
        receiver.open(1, stream).unwrap();
        receiver.enable_queue(1, 0, u32::MAX).unwrap();
        for _ in 0..4 {
            receiver.post(1, 0, 10).unwrap();
        }
        let ulpdus = msns.iter().map(|&msn| send(msn, 0, true, b"1"));
        let log = feed(&mut receiver, 1, &stream_of(false, ulpdus));
        (
            log.deliveries().len(),
            log.failure().map(|record| record.number),
        )
    };
    let none = Some(ErrorNumber::UntaggedNoBuffer);
    assert_eq!(outcome(MsnMode::Window, 3, &[1, 0, u32::MAX]), (3, None));
    assert_eq!(outcome(MsnMode::Window, 2, &[1]), (0, none));
    assert_eq!(outcome(MsnMode::Window, 2, &[u32::MAX, 1, 0]), (3, None));
    assert_eq!(outcome(MsnMode::Strict, 2, &[u32::MAX, 0, 1]), (3, None));
}

// req: AMB-07, DDP-SEG-12
#[test]
fn with_strict_mos_each_segment_begins_where_the_last_one_ended() {
    let outcome = |segments: &[(u32, bool, &[u8])]| {
        let config = StreamConfig {
            strict_mo: true,
            ..StreamConfig::default()
        };
        let mut receiver = receiver(ReceiverConfig::default(), config);
        let ulpdus = segments
            .iter()
            .map(|&(mo, last, octets)| send(1, mo, last, octets));
        let log = feed(&mut receiver, 1, &stream_of(false, ulpdus));
        let failure = log.failure().map(|record| (record.number, record.checks));
        (log.deliveries().len(), failure)
    };
    let refused = Some((ErrorNumber::UntaggedMo, Checks::MO));
    let zeros = &[0; 1000];
    assert_eq!(outcome(&[(0, false, b"abc"), (3, true, b"d")]), (1, None));
    assert_eq!(outcome(&[(0, false, b""), (0, true, zeros)]), (1, None));
    assert_eq!(outcome(&[(0, false, zeros), (1000, true, b"")]), (1, None));
    assert_eq!(outcome(&[(1, true, b"abc")]), (0, refused));
    assert_eq!(outcome(&[(1, true, b"")]), (0, refused));
    assert_eq!(
        outcome(&[(0, false, b"abc"), (4, true, b"d")]),
        (0, refused)
    );
    assert_eq!(
        outcome(&[(0, false, b"abc"), (0, true, b"abc")]),
        (0, refused)
    );
    let both = Some((ErrorNumber::UntaggedMo, Checks::MO | Checks::LEN));
    assert_eq!(
        outcome(&[(0, false, b"a"), (990, true, &zeros[..11])]),
        (0, both)
    );
}

// req: DDP-SEC-01, DDP-SEC-02, DDP-SEC-03, DDP-SEC-05, DDP-SEC-08, DDP-SEC-17, DDP-SEC-18, AMB-59
#[test]
fn an_stag_serves_its_protection_domain_or_its_stream_only() {
    for domain in 0..4u32 {
        for stream in 0..4u32 {
            let of_streams = (0..16).map(|i| Scope::Stream {
                stream: i % 4,
                protection_domain: i / 4,
            });
            for scope in (0..4).map(Scope::ProtectionDomain).chain(of_streams) {
                let mut receiver = Receiver::new(ReceiverConfig::default());
                let config = StreamConfig {
                    protection_domain: domain,
                    ..StreamConfig::default()
                };
                receiver.open(stream, config).unwrap();
                let entry = StagEntry {
                    scope,
                    ..writable(0, 0, 64)
                };
                receiver.set_stag(STAG, entry);
                let wire = stream_of(false, [write(STAG, 0, true, b"x")]);
                let log = feed(&mut receiver, stream, &wire);
                let allowed = match scope {
                    Scope::ProtectionDomain(its) => its == domain,
                    Scope::Stream {
                        stream: its,
                        protection_domain,
                    } => (its, protection_domain) == (stream, domain),
                };
                assert_eq!(log.placements().len(), usize::from(allowed));
                if !allowed {
                    let record = log.only_failure();
                    assert_eq!(record.number, ErrorNumber::TaggedNotAssociated);
                    assert_eq!(record.checks, Checks::ASSOC);
                }
            }
        }
    }
}

// req: DDP-SEC-09, DDP-SEC-19
#[test]
fn every_octet_of_the_range_is_writable_and_none_beside_it() {
    let (base, length) = (4099, 4097);
    for (to, inside) in [
        (base, true),
        (base + length - 1, true),
        (base - 1, false),
        (base + length, false),
    ] {
        let mut receiver = default_receiver();
        receiver.set_stag(STAG, writable(7, base, length));
        let wire = stream_of(false, [write(STAG, to, true, b"x")]);
        let log = feed(&mut receiver, 1, &wire);
        assert_eq!(log.failure().is_none(), inside, "TO {to}");
    }
}

// req: DDP-SEC-10, DDP-SEC-20, DDP-SEC-22, AMB-50
#[test]
fn revocation_and_the_whole_stag_count() {
    let mut receiver = default_receiver();
    let attempt = |receiver: &mut Receiver, stream, stag| {
        let wire = stream_of(false, [write(stag, 0, true, b"x")]);
        feed(receiver, stream, &wire).failure()
    };
    receiver.set_stag(0, writable(7, 0, 64));
    assert_eq!(attempt(&mut receiver, 1, 0), None, "STag 0 is an STag");
    assert!(receiver.revoke_stag(STAG));
    assert!(!receiver.revoke_stag(0x999));
    let record = attempt(&mut receiver, 1, STAG).unwrap();
    assert_eq!(record.number, ErrorNumber::TaggedInvalidStag);
    assert_eq!(record.checks, Checks::STAG);
    receiver.set_stag(STAG, writable(7, 0, 64));
    assert_eq!(attempt(&mut receiver, 2, STAG), None);
    let other_key = STAG ^ 0x01;
    let record = attempt(&mut receiver, 2, other_key).unwrap();
    assert_eq!(record.checks, Checks::STAG);
}

// req: MPA-RCV-24, MPA-RCV-25, MPA-RCV-28, AMB-16, AMB-40, LLP-11
#[test]
fn retransmitted_octets_are_cut_off_and_gaps_dropped() {
    let seq_start = 0xFFFF_FFC0; // the sequence space wraps inside the stream
    let config = StreamConfig {
        seq_start,
        ..marked()
    };
    let wire = stream_of(true, mixed_ulpdus());
    let whole = feed(&mut receiver(ReceiverConfig::default(), config), 1, &wire);
    let mut receiver = receiver(ReceiverConfig::default(), config);
    let mut log = Log::default();
    let mut segment = |receiver: &mut Receiver, from: usize, octets: &[u8]| {
        let sequence = seq_start.wrapping_add(from as u32);
        receiver.tcp_segment(1, sequence, octets, &mut log).unwrap();
    };
    segment(&mut receiver, 100, &wire[100..200]); // a gap before it
    segment(&mut receiver, 1, &wire[1..2]); // the smallest gap
    segment(&mut receiver, 0, &wire[..150]);
    let altered = [0xFF; 150];
    segment(&mut receiver, 0, &altered); // an old segment with other octets
    segment(&mut receiver, 40, &altered[..110]);
    let mut overlapping = wire[100..400].to_vec();
    overlapping[..50].fill(0xFF);
    segment(&mut receiver, 100, &overlapping);
    segment(&mut receiver, 400, &[]);
    assert_eq!(receiver.next_sequence(1), Ok(seq_start.wrapping_add(400)));
    segment(&mut receiver, 0, &wire);
    assert_eq!(log, whole);
    let counters = receiver.counters(1).unwrap();
    assert_eq!(counters.dropped_tcp_segments, 2);
    assert_eq!(counters.duplicate_octets, 150 + 110 + 50 + 400);
}

// req: MPA-MRK-22
#[test]
fn framing_goes_on_where_the_position_wraps() {
    let start = 0u32.wrapping_sub(600);
    let config = FramingConfig {
        markers: true,
        ..FramingConfig::default()
    };
    let mut framing = Framing::at(start, config);
    let mut writer = FpduWriter::at(start, true, CrcField::Computed);
    let mut wire = Vec::new();
    let sent: Vec<_> = (0..8).map(|seed| pattern(seed, 177 + seed)).collect();
    for ulpdu in &sent {
        writer.append(ulpdu, &[], &mut wire).unwrap();
    }
    assert!(writer.position() < start);
    assert_eq!(ulpdus(&mut framing, &wire), (sent, None));
}

#[test]
fn calls_that_name_nothing_are_refused() {
    let mut receiver = default_receiver();
    let unknown = Err(ReceiverError::UnknownStream { stream: 9 });
    let mut log = Log::default();
    assert_eq!(receiver.receive(9, b"x", &mut log), unknown);
    assert_eq!(receiver.tcp_segment(9, 0, b"x", &mut log), unknown);
    assert_eq!(receiver.close(9), unknown);
    assert_eq!(receiver.enable_queue(9, 0, 1), unknown);
    let (stream, queue) = (1, 5);
    assert_eq!(
        receiver.open(1, StreamConfig::default()),
        Err(ReceiverError::StreamOpen { stream })
    );
    assert_eq!(
        receiver.post(1, 5, 1),
        Err(ReceiverError::UnknownQueue { stream, queue })
    );
    assert_eq!(
        receiver.enable_queue(1, 0, 1),
        Err(ReceiverError::QueueEnabled { stream, queue: 0 })
    );
    receiver.close(1).unwrap();
    receiver.open(1, StreamConfig::default()).unwrap();
    assert_eq!(log, Log::default());
}
