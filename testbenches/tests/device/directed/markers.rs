//! Where markers stand, and what follows from one that is wrong.

use super::support::*;
use warpline_driver::{Checks, ErrorDetail, ErrorNumber, StreamOptions};
use warpline_wire::{crc, marker, mpa};

// req: MPA-MRK-04, MPA-MRK-05, MPA-MRK-06, MPA-MRK-19, MPA-ERR-05, AMB-17
#[test]
fn markers_stand_where_sequence_numbers_say_and_count_from_the_length() {
    let with_crc = |mut octets: Vec<u8>| {
        let (covered, field) = octets.split_last_chunk_mut::<4>().unwrap();
        *field = warpline_wire::crc::to_wire(warpline_wire::crc::crc32c(covered));
        octets
    };
    for bench in Bench::each() {
        let _region = bench.region();
        // One FPDU from position 0 on: markers at 11, 523 and 1035, or around the wrap.
        let octets = stream_of(true, 1200, &[(write(BASE), pattern(1, 1100))]);
        for (start, at) in [
            (11, [11, 523, 1035]),
            (0xFFFF_FF00, [0xFFFF_FF00, 0x100, 0x300]),
        ] {
            let options = StreamOptions {
                sequence_start: start,
                ..markers(true)
            };
            for (sequence, pointer) in at.into_iter().zip([0_u16, 0x1FC, 0x3FC]) {
                let position = u32::wrapping_sub(sequence, start) as usize;
                let marker = [[0; 2], pointer.to_be_bytes()].concat();
                assert_eq!(octets[position..position + 4], marker);
                // The distance to the leading marker would be 4 more.
                let mut other = octets.clone();
                let wrong = pointer + 4;
                other[position + 2..position + 4].copy_from_slice(&wrong.to_be_bytes());
                let (seen, stream) = outcome(&bench, options, &with_crc(other));
                let error = Seen::Error(3, ErrorNumber::MpaMarker, Checks::empty(), 0);
                assert_eq!(seen, [error], "{start} {position}");
                let expected = ErrorDetail::Marker {
                    expected: pointer,
                    received: wrong,
                };
                assert_eq!(stream.error_record().unwrap().unwrap().detail, expected);
            }
            let (seen, _stream) = outcome(&bench, options, &octets);
            assert_eq!(seen, [Seen::Write(3, 1100, false)]);
        }
    }
}

/// An FPDU that begins with a marker and ends around the next one, between two others: up to ULPDU_Length 502 it ends in
/// front of that marker, from 503 on the marker is inside, and its end moves on by a dword.
// req: MPA-MRK-04, MPA-FMT-10
#[test]
fn an_fpdu_from_marker_to_marker_has_one_or_two() {
    for bench in Bench::each() {
        let region = bench.region();
        for ulpdu in 496..=512 {
            let payload = pattern(ulpdu, ulpdu - 14);
            let messages = [
                (write(BASE), vec![0; 512 - 4 - 6 - 14]),
                (write(BASE + 1000), payload.clone()),
                (write(BASE + 2000), vec![7; 9]),
            ];
            let octets = stream_of(true, 600, &messages);
            assert_eq!(begins(&octets, true)[..2], [0, 512]);
            let second = mpa::fpdu_len(512, ulpdu, true);
            assert_eq!(
                second,
                4 + (2 + ulpdu).next_multiple_of(4) + 4 + 4 * usize::from(ulpdu > 502)
            );
            let (seen, stream) = outcome(&bench, markers(true), &octets);
            let lengths = messages.map(|(_, payload)| payload.len() as u32);
            assert_eq!(seen, lengths.map(|length| Seen::Write(3, length, false)));
            let memory = region.to_vec().unwrap();
            assert!(memory[1000..][..payload.len()] == payload, "{ulpdu}");
            assert_eq!(
                memory[1000 + payload.len()..2000 + 10],
                [
                    &vec![UNTOUCHED; 1000 - payload.len()][..],
                    &[7; 9],
                    &[UNTOUCHED]
                ]
                .concat()
            );
            stream.close().unwrap();
        }
    }
}

/// A segment behind a gap may end with a marker that an FPDU begins with, or in the octets behind it: what tells the length
/// of that FPDU is not there yet, and nothing is made of it.
// req: MPA-RCV-17, MPA-RCV-25
#[test]
fn a_segment_behind_a_gap_ends_behind_the_marker_of_the_next_fpdu() {
    for bench in Bench::each() {
        let region = bench.region();
        for end in 514..=524 {
            let payloads = [vec![1; 512 - 4 - 6 - 14], pattern(end, 300)];
            let messages = [
                (write(BASE), payloads[0].clone()),
                (write(BASE + 1000), payloads[1].clone()),
            ];
            let octets = stream_of(true, 600, &messages);
            assert_eq!(begins(&octets, true)[..2], [0, 512]);
            region.write_at(0, &[UNTOUCHED; LENGTH]).unwrap();
            let options = markers(true);
            let stream = bench.arm(2, options);
            let feed = |from, to| bench.feed_part(2, options.sequence_start, &octets, from..to);
            feed(8, end);
            assert_eq!(bench.settle(), [], "{end}");
            assert!(region.to_vec().unwrap() == [UNTOUCHED; LENGTH], "{end}");
            feed(end, octets.len());
            feed(0, 8);
            let lengths = payloads.each_ref().map(|payload| payload.len() as u32);
            let whole = lengths.map(|length| Seen::Write(2, length, false));
            assert_eq!(bench.settle(), whole, "{end}");
            let mut expected = vec![UNTOUCHED; LENGTH];
            expected[..payloads[0].len()].copy_from_slice(&payloads[0]);
            expected[1000..1300].copy_from_slice(&payloads[1]);
            assert!(region.to_vec().unwrap() == expected, "{end}");
            stream.close().unwrap();
        }
    }
}

/// A marker locates an FPDU that is right; the FPDU in front of it turns out to end elsewhere when the gap is closed. The
/// CRC is judged first (AMB-19): the marker is what is wrong only if that is valid.
// req: MPA-ERR-07
#[test]
fn a_marker_that_the_chain_of_lengths_contradicts_is_found_when_the_gap_is_closed() {
    /// Octets of the longer first FPDU: it reaches into the third one's payload.
    const LONGER: usize = 1100;
    for bench in Bench::each() {
        let region = bench.region();
        // Another first FPDU in the octets of the first one; its rest is what stands there.
        let payload = LONGER - 3 * marker::LEN - 2 - 14 - crc::LEN;
        let longer = stream_of(true, 2000, &[(write(BASE), pattern(9, payload))]);
        assert_eq!(longer.len(), LONGER);
        let mut messages: Vec<_> = (0..4).map(message).collect();
        for valid in [false, true] {
            let mut octets = stream_of(true, 600, &messages);
            let at = begins(&octets, true);
            assert!(at[2] + 16 < LONGER - crc::LEN && 1024 < at[2]);
            octets[..at[1]].copy_from_slice(&longer[..at[1]]);
            let sum = crc::crc32c(&octets[..LONGER - crc::LEN]);
            if valid {
                // its CRC in the third one's payload
                let within = LONGER - crc::LEN - at[2] - 2 - 14;
                messages[2].1[within..within + crc::LEN].copy_from_slice(&crc::to_wire(sum));
                octets.splice(at[1].., stream_of(true, 600, &messages)[at[1]..].to_vec());
                assert_eq!(octets[LONGER - crc::LEN..LONGER], crc::to_wire(sum));
            }
            let mut memory = vec![UNTOUCHED; LENGTH];
            for (i, (_, payload)) in messages.iter().enumerate().skip(1) {
                memory[500 * i..][..500].copy_from_slice(payload);
            }
            region.write_at(0, &[UNTOUCHED; LENGTH]).unwrap();
            let stream = bench.arm(3, markers(true));
            bench.card.feed(3, at[1] as u32, &octets[at[1]..]).unwrap();
            assert_eq!(bench.settle(), []);
            assert!(region.to_vec().unwrap() == memory);
            bench.card.feed(3, 0, &octets[..at[1]]).unwrap();
            let number = match valid {
                false => ErrorNumber::MpaCrc,
                true => ErrorNumber::MpaMarker,
            };
            let seen = bench.settle();
            assert!(
                matches!(seen[..], [Seen::Error(3, found, _, 0)] if found == number),
                "{number:?} expected: {seen:?}"
            );
            if valid {
                let detail = stream.error_record().unwrap().unwrap().detail;
                let (expected, received) = (1024 - 4, 1024 - at[1] as u16);
                assert_eq!(detail, ErrorDetail::Marker { expected, received });
            }
            assert!(region.to_vec().unwrap() == memory);
            stream.close().unwrap();
        }
    }
}
