//! FPDUs and messages of the golden vectors, the shortest and the largest ones, and CRC fields.

use super::support::*;
use fastrand::Rng;
use warpline_driver::{Checks, ErrorDetail, ErrorNumber, StreamOptions};
use warpline_sim::BackPressure;
use warpline_testbenches::coverage;
use warpline_wire::crc;
use warpline_wire::ddp::TaggedHeader;
use warpline_wire::send::{CrcField, FpduWriter};

/// FPDUs too short for a header, each alone in a segment: they end with their first beat or the next one, and are found as
/// they land, on any stream, with markers and without.
// req: DDP-HDR-15, MPA-RCV-20
#[test]
fn the_shortest_fpdus_come_alone() {
    for bench in Bench::each() {
        for number in 0..4 {
            for ulpdu in [0, 1, 2, 6, 10] {
                let options = markers(ulpdu == 1);
                let mut writer = FpduWriter::new(options.markers, CrcField::Computed);
                let mut octets = vec![];
                writer.append(&vec![0; ulpdu], &[], &mut octets).unwrap();
                let stream = bench.arm(number, options);
                bench.card.step(20).unwrap();
                bench.feed(number, options.sequence_start, &octets, octets.len());
                let short = Seen::Error(number, ErrorNumber::LocalCatastrophic, Checks::SHORT, 0);
                assert_eq!(bench.settle(), [short], "{ulpdu} octets");
                stream.close().unwrap();
            }
        }
    }
}

/// From the last beat of a Send that comes alone to its first write: at most 41 cycles beside its own beats. A short one waits for
/// its queue where an RDMA Write of `warpline bench` would wait for its CRC, a cycle less.
#[test]
fn a_send_is_written_as_soon_as_its_queue_is_looked_up() {
    for width in coverage::tested().unwrap() {
        let bench = Bench::open(width, BackPressure::NONE, 256);
        for length in [1, 44, 100, 238, 500, 900, 1400] {
            let options = markers(length % 8 == 4);
            let stream = bench.arm(0, options);
            bench.post(&stream, 0, &[1500]);
            bench.settle();
            let octets = stream_of(options.markers, 1500, &[(send(0, 1), vec![1; length])]);
            bench.card.clear_timing();
            bench.feed(0, options.sequence_start, &octets, octets.len());
            assert_eq!(bench.settle(), [Seen::Send(0, 0, 1, vec![1; length])]);
            let timing = bench.card.timing();
            let took = timing.first_write.unwrap() - timing.last_beat.unwrap();
            let beats = octets.len().div_ceil(width / 8) as u64;
            let what = format!("{width} bits, {length} octets: {took} cycles, {beats} beats");
            assert!(took > beats + 30 && took <= beats + 41, "{what}");
            stream.close().unwrap();
        }
    }
}

// req: MPA-CRC-20, MPA-CRC-21, MPA-CRC-22, MPA-CRC-23, MPA-CRC-14, MPA-CRC-15, MPA-CRC-17, MPA-MRK-05, MPA-MRK-08,
// req: MPA-MRK-21, MPA-FMT-02, MPA-FMT-05, MPA-FMT-08, MPA-FMT-09, MPA-FMT-10, MPA-RCV-10, DDP-HDR-02, DDP-HDR-03,
// req: DDP-HDR-08, DDP-HDR-12, DDP-HDR-14, DDP-HDR-15, DDP-SEG-09, DDP-SEG-10, DDP-SEG-11, AMB-02, AMB-20
// req: MPA-MRK-09, MPA-MRK-18, MPA-MRK-19, MPA-FMT-03, MPA-FMT-04, MPA-FMT-17, MPA-START-12, DDP-HDR-01, DDP-HDR-16
// req: DDP-HDR-17, DDP-TAG-01, DDP-UNT-01, DDP-SEC-16, MPA-CRC-01, AMB-15
#[test]
fn fpdus_of_the_golden_vectors() {
    let vectors = vectors();
    let part = |name: &str, part: &str| hex(&vectors[name][part]);
    let fpdu = |name: &str| part(name, "fpdu");
    let filled = |name: &str, end| [up_to(end), fpdu(name)].concat();
    let both = |name: &str| [part(name, "fpdu1"), part(name, "fpdu2")].concat();
    let sent = |msn, payload| Seen::Send(3, 0, msn, payload);
    let error = |number, checks, position| Seen::Error(3, number, checks, position);
    let version = |position| error(ErrorNumber::UntaggedVersion, Checks::VERSION, position);
    let short = |position| error(ErrorNumber::LocalCatastrophic, Checks::SHORT, position);
    let filler = |length| Seen::Write(3, length, false);
    for bench in Bench::each() {
        let region = bench.region();
        let marked = markers(true);
        let plain = markers(false);
        let no_crc = StreamOptions {
            crc: false,
            ..plain
        };
        for (name, options, octets, expected) in [
            ("V-MPA-1", marked, fpdu("V-MPA-1"), vec![version(0)]),
            (
                "V-MPA-2",
                marked,
                filled("V-MPA-2", 492),
                vec![filler(468), version(492)],
            ),
            (
                "V-MPA-3",
                marked,
                fpdu("V-MPA-3"),
                vec![sent(1, vec![0; 24])],
            ),
            (
                "V-MPA-5",
                marked,
                filled("V-MPA-5", 500),
                vec![filler(476), short(500)],
            ),
            (
                "V-MPA-6",
                marked,
                both("V-MPA-6"),
                vec![sent(1, pattern(2, 484)), sent(2, b"ABCD".to_vec())],
            ),
            (
                "V-MPA-7",
                marked,
                fpdu("V-MPA-7"),
                vec![sent(1, pattern(3, 487))],
            ),
            ("V-MPA-8", marked, fpdu("V-MPA-8"), vec![]), // L = 0
            (
                "V-MPA-9",
                plain,
                fpdu("V-MPA-9"),
                vec![Seen::Write(3, 7, false)],
            ),
            (
                "V-MPA-10",
                plain,
                fpdu("V-MPA-10"),
                vec![Seen::Write(3, 0, true)],
            ),
            ("V-MPA-11", plain, fpdu("V-MPA-11"), vec![sent(1, vec![])]),
            ("V-MPA-12", plain, fpdu("V-MPA-12"), vec![short(0)]),
            ("V-MPA-13", plain, fpdu("V-MPA-13"), vec![short(0)]),
            (
                "V-MPA-14",
                no_crc,
                fpdu("V-MPA-14"),
                vec![sent(1, b"nocrc".to_vec())],
            ),
            (
                "V-MPA-14 with CRC",
                plain,
                fpdu("V-MPA-14"),
                vec![error(ErrorNumber::MpaCrc, Checks::empty(), 0)],
            ),
            (
                "V-MPA-18-draft",
                marked,
                both("V-MPA-18-draft"),
                vec![version(0)],
            ),
            (
                "V-MPA-18-RFC and V-MPA-4",
                marked,
                both("V-MPA-18-RFC"),
                vec![sent(1, pattern(1, 464)), sent(2, vec![0; 24])],
            ),
        ] {
            let (seen, stream) = outcome(&bench, options, &octets);
            assert_eq!(seen, expected, "{name}");
            stream.close().unwrap();
            let flushed = bench.poll();
            if name == "V-MPA-8" {
                let [Seen::Flushed(3, 0, 1, buffer), _] = &flushed[..] else {
                    panic!("{flushed:?}");
                };
                assert_eq!(buffer[..1424], pattern(4, 1424), "placed, not delivered");
                assert!(buffer[1424..].iter().all(|&octet| octet == UNTOUCHED));
            }
        }
        let mut direct = [0; 8];
        region.read_at(16, &mut direct).unwrap();
        // Written by V-MPA-9 over what V-MPA-2 and V-MPA-5 brought.
        assert_eq!(direct, *b"DIRECT!\0");
    }
}

// req: MPA-FMT-07, MPA-FMT-14, MPA-MRK-12, MPA-MRK-13, MPA-MRK-22, MPA-ERR-04, MPA-ERR-05, MPA-ERR-06, MPA-CRC-19,
// req: AMB-09, AMB-18, AMB-19, MPA-CRC-01, MPA-ERR-02, AMB-45
#[test]
fn variants_of_one_fpdu() {
    let vectors = vectors();
    let fpdu = |name: &str| [up_to(500), hex(&vectors[name]["fpdu"])].concat();
    for bench in Bench::each() {
        let _region = bench.region();
        for (name, number) in [
            // Accepted by MPA: its 16 octets are no untagged header.
            ("V-OK-1", ErrorNumber::LocalCatastrophic),
            ("V-OK-2", ErrorNumber::LocalCatastrophic),
            ("V-ERR-1", ErrorNumber::MpaMarker),
            ("V-ERR-2", ErrorNumber::MpaCrc),
        ] {
            let (seen, stream) = outcome(&bench, markers(true), &fpdu(name));
            let checks = match number {
                ErrorNumber::LocalCatastrophic => Checks::SHORT,
                _ => Checks::empty(),
            };
            assert_eq!(seen[1..], [Seen::Error(3, number, checks, 500)], "{name}");
            let record = stream.error_record().unwrap().unwrap();
            assert_eq!((record.number, record.position), (number, 500), "{name}");
            assert_eq!(record.segment_length, 16, "{name}");
            let expected = match name {
                "V-ERR-1" => ErrorDetail::Marker {
                    expected: 0x0C,
                    received: 0x10,
                },
                "V-ERR-2" => {
                    let octets = hex(&vectors[name]["fpdu"]);
                    let (covered, field) = octets.split_last_chunk::<4>().unwrap();
                    ErrorDetail::Crc {
                        expected: warpline_wire::crc::crc32c(covered),
                        received: u32::from_le_bytes(*field),
                    }
                }
                _ => ErrorDetail::None,
            };
            assert_eq!(record.detail, expected, "{name}");
            let ulpdu: Vec<u8> = (0..16).collect();
            if name != "V-ERR-2" {
                assert_eq!(record.header.as_slice(), ulpdu, "{name}");
            }
        }
        // With a wrong CRC, too, the marker means nothing.
        let mut octets = fpdu("V-ERR-1");
        *octets.last_mut().unwrap() ^= 1;
        let (seen, _) = outcome(&bench, markers(true), &octets);
        let error = Seen::Error(3, ErrorNumber::MpaCrc, Checks::empty(), 500);
        assert_eq!(seen[1..], [error]);
        // V-MPA-17: the marker lies behind the wrap of sequence numbers, DV is 2.
        let octets = [up_to(240), hex(&vectors["V-MPA-17"]["fpdu"])].concat();
        let options = StreamOptions {
            sequence_start: 0xFFFF_FF00,
            ..markers(true)
        };
        let (seen, stream) = outcome(&bench, options, &octets);
        let error = Seen::Error(3, ErrorNumber::UntaggedVersion, Checks::VERSION, 240);
        assert_eq!(seen[1..], [error]);
        assert_eq!(stream.error_record().unwrap().unwrap().segment_length, 600);
    }
}

// req: MPA-FMT-15, MPA-FMT-18, MPA-MRK-10, MPA-MRK-17, AMB-21
#[test]
fn the_largest_fpdus() {
    let vectors = vectors();
    for bench in Bench::each() {
        let region = bench.region();
        for (name, with_markers) in [("V-MPA-15", true), ("V-MPA-16", false)] {
            // The vector itself names a queue that no stream has.
            let mut octets = Vec::new();
            let mut writer = FpduWriter::new(with_markers, CrcField::Computed);
            writer.append(&[], &pattern(5, 64768), &mut octets).unwrap();
            assert_eq!(
                octets.len() as u64,
                vectors[name]["length"].as_u64().unwrap()
            );
            assert_eq!(octets[octets.len() - 4..], hex(&vectors[name]["crc_wire"]));
            let (seen, stream) = outcome(&bench, markers(with_markers), &octets);
            let error = Seen::Error(3, ErrorNumber::UntaggedQn, Checks::QN, 0);
            assert_eq!(seen, [error], "{name}");
            assert_eq!(
                stream.error_record().unwrap().unwrap().segment_length,
                64768
            );
            stream.close().unwrap();

            // The same size as a write, and one octet more.
            let payload = pattern(5, 64768 - 14);
            let octets = stream_of(with_markers, 64768, &[(write(BASE), payload.clone())]);
            let (seen, stream) = outcome(&bench, markers(with_markers), &octets);
            assert_eq!(seen, [Seen::Write(3, 64754, false)], "{name}");
            assert!(region.to_vec().unwrap()[..64754] == payload[..], "{name}");
            stream.close().unwrap();
            let mut longer = octets;
            let at = if with_markers { 4 } else { 0 };
            longer[at..at + 2].copy_from_slice(&64769_u16.to_be_bytes());
            let (seen, stream) = outcome(&bench, markers(with_markers), &longer[..at + 4]);
            let error = Seen::Error(3, ErrorNumber::MpaMarker, Checks::empty(), 0);
            assert_eq!(seen, [error], "as soon as the length is seen");
            let detail = stream.error_record().unwrap().unwrap().detail;
            assert_eq!(detail, ErrorDetail::Length);
            stream.close().unwrap();
            bench.poll();
        }
    }
}

// req: AMB-21
#[test]
fn a_stream_may_accept_ulpdus_that_no_sender_may_send() {
    let payload = pattern(9, 65535 - 14);
    // The writer refuses such lengths, so this FPDU is put together by hand.
    let header = TaggedHeader {
        last: true,
        rsvd_ulp: 0x40,
        stag: STAG,
        to: BASE,
    };
    let mut octets = 65535_u16.to_be_bytes().to_vec();
    octets.extend(header.emit());
    octets.extend(&payload);
    octets.resize(octets.len().next_multiple_of(4), 0);
    octets.extend(crc::to_wire(crc::crc32c(&octets)));
    assert_eq!(octets.len(), 65544);
    let next = stream_of(false, 1024, &[(write(BASE + 65521), vec![0x5a; 79])]);
    for bench in Bench::each() {
        let region = bench.region();
        let long = StreamOptions {
            long_ulpdus: true,
            ..markers(false)
        };
        let (seen, stream) = outcome(&bench, long, &[&octets[..], &next].concat());
        let both = [Seen::Write(3, 65521, false), Seen::Write(3, 79, false)];
        assert_eq!(seen, both);
        let memory = region.to_vec().unwrap();
        assert!(memory[..65521] == payload[..]);
        assert_eq!(memory[65521..65600], [0x5a; 79]);
        assert!(memory[65600..].iter().all(|octet| *octet == UNTOUCHED));
        stream.close().unwrap();
        // The usual stream refuses it, and so does one with markers, whatever else it accepts.
        for options in [
            markers(false),
            StreamOptions {
                long_ulpdus: true,
                ..markers(true)
            },
        ] {
            let at = if options.markers { 4 } else { 0 };
            let begin = [&vec![0; at], &octets[..4]].concat();
            let (seen, stream) = outcome(&bench, options, &begin);
            let error = Seen::Error(3, ErrorNumber::MpaMarker, Checks::empty(), 0);
            assert_eq!(seen, [error]);
            let detail = stream.error_record().unwrap().unwrap().detail;
            assert_eq!(detail, ErrorDetail::Length);
            stream.close().unwrap();
        }
        bench.poll();
    }
}

// req: DDP-SEG-04, DDP-SEG-06, DDP-SEG-08, DDP-DEL-01, DDP-UNT-18
// req: DDP-DEL-03
#[test]
fn messages_of_the_golden_vectors() {
    let vectors = vectors();
    for bench in Bench::each() {
        let region = bench.register(0x00AB_CD01, 0, 20_000);
        for with_markers in [false, true] {
            for (name, length) in [("V-SEG-U", 2048), ("V-SEG-T", 2048), ("V-SEG-EXACT", 2964)] {
                let message = pattern(0, length);
                let mut writer = FpduWriter::new(with_markers, CrcField::Computed);
                let mut octets = Vec::new();
                let mut at = 0;
                for segment in vectors[name].as_array().unwrap() {
                    let end = at + segment["payload"].as_u64().unwrap() as usize;
                    let header = hex(&segment["header"]);
                    writer
                        .append(&header, &message[at..end], &mut octets)
                        .unwrap();
                    let crc = match with_markers {
                        true => "crc_wire_markers",
                        false => "crc_wire",
                    };
                    assert_eq!(octets[octets.len() - 4..], hex(&segment[crc]), "{name}");
                    at = end;
                }
                assert_eq!(at, length);
                let first_msn = if name == "V-SEG-EXACT" { 7 } else { 1 };
                let options = StreamOptions {
                    first_msn,
                    ..markers(with_markers)
                };
                let stream = bench.arm(1, options);
                bench.post(&stream, 0, &[3000]);
                bench.feed(1, 0, &octets, 1460);
                let seen = bench.settle();
                match name {
                    "V-SEG-T" => {
                        assert_eq!(seen, [Seen::Write(1, 562, false)]);
                        let memory = region.to_vec().unwrap();
                        let (front, rest) = memory.split_at(16384);
                        assert!(front.iter().all(|&octet| octet == UNTOUCHED));
                        assert_eq!(rest[..2048], message);
                        assert!(rest[2048..].iter().all(|&octet| octet == UNTOUCHED));
                    }
                    _ => assert_eq!(seen, [Seen::Send(1, 0, first_msn, message)], "{name}"),
                }
                stream.close().unwrap();
                bench.poll();
            }
        }
    }
}

// req: MPA-CRC-08, MPA-CRC-11, MPA-FMT-09, AMB-12, MPA-CRC-10
#[test]
fn without_crcs_the_same_arrives_whatever_their_fields_hold() {
    for bench in Bench::each() {
        let region = bench.region();
        let message = |i: usize| match i % 2 {
            0 => (write(BASE + 400 * i as u64), pattern(i, 390 + i)),
            _ => (send(0, i as u32 / 2 + 1), pattern(i, 100 * i)),
        };
        let messages: Vec<_> = (0..12).map(message).collect();
        for with_markers in [false, true] {
            let arrived = |crc, octets: &[u8]| {
                region.write_at(0, &[UNTOUCHED; LENGTH]).unwrap();
                let options = StreamOptions {
                    crc,
                    ..markers(with_markers)
                };
                let stream = bench.arm(3, options);
                bench.post(&stream, 0, &[1500; 6]);
                bench.feed(3, 0, octets, 700);
                let seen = bench.settle();
                stream.close().unwrap();
                bench.poll();
                (seen, region.to_vec().unwrap())
            };
            let right = with_crc_fields(with_markers, &messages, |_, crc| crc);
            let mut rng = Rng::with_seed(7);
            let wrong: [[u8; 4]; 12] = std::array::from_fn(|_| rng.u32(..).to_le_bytes());
            let other = with_crc_fields(with_markers, &messages, |i, _| wrong[i]);
            let expected = arrived(true, &right);
            assert_eq!(expected.0.len(), 12);
            assert!(arrived(false, &right) == expected);
            assert!(arrived(false, &other) == expected);
            let checked = arrived(true, &other).0;
            let error = Seen::Error(3, ErrorNumber::MpaCrc, Checks::empty(), 0);
            assert_eq!(checked[0], error);
        }
    }
}

// req: MPA-CRC-07, MPA-CRC-19, AMB-44
#[test]
fn crcs_are_checked_as_long_as_a_stream_lives() {
    const FPDUS: usize = 3000;
    for bench in Bench::each() {
        let region = bench.region();
        let message = |i: usize| (write(BASE + 20 * i as u64), pattern(i, 1 + i % 20));
        let messages: Vec<_> = (0..FPDUS).map(message).collect();
        let last = |i, crc: [u8; 4]| match i {
            i if i + 1 == FPDUS => crc.map(|octet| octet ^ 0x10),
            _ => crc,
        };
        let octets = with_crc_fields(false, &messages, last);
        let stream = bench.arm(
            3,
            StreamOptions {
                tagged_completions: false,
                ..markers(false)
            },
        );
        bench.feed(3, 0, &octets, 1460);
        let position =
            octets.len() - with_crc_fields(false, &messages[FPDUS - 1..], |_, c| c).len();
        let error = Seen::Error(3, ErrorNumber::MpaCrc, Checks::empty(), position as u32);
        assert_eq!(bench.settle(), [error]);
        assert!(stream.error_record().unwrap().is_some());
        let mut expected = vec![UNTOUCHED; LENGTH];
        for i in 0..FPDUS - 1 {
            expected[20 * i..][..1 + i % 20].copy_from_slice(&pattern(i, 1 + i % 20));
        }
        assert!(region.to_vec().unwrap() == expected);
    }
}
