//! MPA: cuts, ends, markers, CRC, limits, retransmission.

use super::*;

// req: MPA-RCV-01, MPA-RCV-02, MPA-RCV-05, MPA-RCV-08, MPA-RCV-17, MPA-RCV-35, MPA-RCV-36
// req: MPA-RCV-38, MPA-FMT-01, DDP-SEG-04, DDP-ORD-06, DDP-UNT-17, DDP-UNT-18
#[test]
fn events_do_not_depend_on_where_the_stream_is_cut() {
    for config in [StreamConfig::default(), marked()] {
        let wire = stream_of(config.markers, mixed_ulpdus());
        let whole = feed(&mut receiver(ReceiverConfig::default(), config), 1, &wire);
        // The order of the source, each message in a buffer of its own, with the octets that it has.
        let tagged = |stag, to, length| Delivery::Tagged {
            stag,
            to,
            length,
            rsvd_ulp: 0x40,
        };
        let expected = [
            (untagged(1, 990), Flags::empty()),
            (tagged(STAG, 502, 3), Flags::empty()),
            (tagged(0xDEAD, 9, 0), Flags::UNVERIFIED),
            (untagged(2, 0), Flags::empty()),
            (untagged(3, 1000), Flags::empty()),
        ];
        assert_eq!(whole.deliveries(), expected);
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
        let begin = at; // of the marker, where one is due
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
        let (covered, field) = wire[begin..at].split_last_chunk::<4>().unwrap();
        assert_eq!(*field, crc::to_wire(crc::crc32c(covered)), "from {begin}");
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

// req: AMB-21, AMB-22
#[test]
fn a_stream_without_markers_may_accept_any_length_that_the_buffer_holds() {
    let long = |markers| StreamConfig {
        long_ulpdus: true,
        markers,
        ..StreamConfig::default()
    };
    let judged = |markers, max_fpdu, octets: &[u8]| {
        let limits = ReceiverConfig {
            max_fpdu,
            ..ReceiverConfig::default()
        };
        let log = feed(&mut receiver(limits, long(markers)), 1, octets);
        log.failure().map(|record| record.detail)
    };
    // two octets of length, ULPDU, three of PAD, CRC
    let octets = [0xff, 0xff, 0x41, 0x43];
    assert_eq!(judged(false, 65544, &octets), None);
    let too_large = Detail::TooLarge {
        fpdu_len: 65544,
        max: 65543,
    };
    assert_eq!(judged(false, 65543, &octets), Some(too_large));
    let marked = [[0; 4], octets].concat();
    let length = Detail::Length { max: 64768 };
    assert_eq!(judged(true, 1 << 20, &marked), Some(length));
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
