//! How a stream ends: FIN, a lost connection, and octets behind a FIN.

use super::support::*;
use warpline_driver::{Checks, Ending, ErrorDetail, ErrorNumber, Stream, StreamOptions};

/// The error of a connection that ended on stream 3.
fn ended(position: u32) -> Seen {
    Seen::Error(3, ErrorNumber::MpaConnection, Checks::empty(), position)
}

/// How the connection of a stream ended, from its record.
fn ending(stream: &Stream) -> Ending {
    let record = stream.error_record().unwrap().expect("it has failed");
    match record.detail {
        ErrorDetail::Connection(ending) => ending,
        other => panic!("{other:?}"),
    }
}

/// Two writes of 100 octets on a stream: 120 octets each on the wire, without markers.
fn two_writes() -> Vec<u8> {
    let octets = stream_of(
        false,
        1000,
        &[
            (write(BASE), pattern(1, 100)),
            (write(BASE + 100), pattern(2, 100)),
        ],
    );
    assert_eq!(octets.len(), 240);
    octets
}

// req: MPA-RCV-16, MPA-ERR-15, MPA-ERR-17, DDP-TEAR-09, LLP-09, AMB-31
#[test]
fn a_fin_behind_an_fpdu_is_told_behind_its_completion() {
    let octets = two_writes();
    let start = 0_u32.wrapping_sub(100);
    let options = StreamOptions {
        sequence_start: start,
        ..StreamOptions::default()
    };
    let sequence = |position: usize| start.wrapping_add(position as u32);
    let both = [Seen::Write(3, 100, false), Seen::Write(3, 100, false)];
    for bench in Bench::each() {
        let region = bench.region();
        // With the last octets, alone, before all octets, and behind a gap with the last ones.
        for way in 0..4 {
            let stream = bench.arm(3, options);
            let card = &bench.card;
            match way {
                0 => {
                    card.feed(3, sequence(0), &octets[..130]).unwrap();
                    card.feed_fin(3, sequence(130), &octets[130..]).unwrap();
                }
                1 => {
                    card.feed(3, sequence(0), &octets[..]).unwrap();
                    card.feed_fin(3, sequence(240), []).unwrap();
                }
                2 => {
                    card.feed_fin(3, sequence(240), []).unwrap();
                    card.feed(3, sequence(0), &octets[..]).unwrap();
                }
                _ => {
                    card.feed_fin(3, sequence(130), &octets[130..]).unwrap();
                    assert_eq!(bench.settle(), []);
                    card.feed_fin(3, sequence(130), &octets[130..]).unwrap();
                    card.feed(3, sequence(0), &octets[..131]).unwrap();
                }
            }
            let seen = bench.settle();
            assert_eq!(seen[..2], both, "{way}");
            assert_eq!(seen[2..], [Seen::Closed(3, 240)], "{way}");
            // Once, however often it is sent.
            card.feed_fin(3, sequence(240), []).unwrap();
            assert_eq!(bench.settle(), []);
            assert_eq!(stream.error_record().unwrap(), None);
            stream.close().unwrap();
        }
        // Without any octet.
        let stream = bench.arm(3, options);
        bench.card.feed_fin(3, start, []).unwrap();
        assert_eq!(bench.settle(), [Seen::Closed(3, 0)]);
        stream.close().unwrap();
        let counters = bench.context.counters().unwrap();
        assert_eq!(
            (counters.fpdus, counters.errors),
            (8, 0),
            "an end is no FPDU"
        );
        region.revoke().unwrap();
    }
}

// req: MPA-ERR-01, MPA-ERR-03, DDP-TEAR-12, DDP-ERR-01, AMB-31, AMB-09, AMB-10
#[test]
fn a_fin_within_an_fpdu_is_an_error_behind_what_was_complete() {
    let octets = two_writes();
    for bench in Bench::each() {
        let region = bench.region();
        // Within ULPDU_Length, header, payload and CRC of the second FPDU, and within the first one.
        for end in [121, 123, 124, 130, 140, 235, 236, 239, 3, 119] {
            let stream = bench.arm(3, StreamOptions::default());
            bench.post(&stream, 0, &[10]);
            bench.card.feed_fin(3, 0, &octets[..end]).unwrap();
            let begin = if end < 120 { 0 } else { 120 };
            let seen = bench.settle();
            let (done, rest) = seen.split_at(begin / 120);
            assert!(done.iter().all(|seen| *seen == Seen::Write(3, 100, false)));
            assert_eq!(rest[0], ended(begin as u32), "{end}");
            assert!(matches!(rest[1..], [Seen::Flushed(3, 0, 1, _)]), "{rest:?}");
            let record = stream.error_record().unwrap().unwrap();
            assert_eq!(record.detail, ErrorDetail::Connection(Ending::Truncated));
            let known = end >= begin + 4;
            assert_eq!(record.segment_length, if known { 114 } else { 0 }, "{end}");
            assert!(record.header.as_slice().is_empty());
            // Nothing more, not even the rest.
            bench.card.feed(3, end as u32, &octets[end..]).unwrap();
            bench.card.abort(3).unwrap();
            assert_eq!(bench.settle(), []);
            stream.close().unwrap();
        }
        region.revoke().unwrap();
    }
}

// req: MPA-ERR-01, MPA-ERR-03, DDP-TEAR-12, DDP-TEAR-15, DDP-ERR-01, AMB-31
#[test]
fn a_lost_connection_is_an_error_behind_what_was_complete_and_of_its_stream_alone() {
    let octets = two_writes();
    for bench in Bench::each() {
        let region = bench.region();
        let other = bench.arm(2, StreamOptions::default());
        for (end, position, fin) in [(0, 0, false), (130, 120, false), (120, 120, true)] {
            let stream = bench.arm(3, StreamOptions::default());
            if end > 0 {
                bench.card.feed(3, 0, &octets[..end]).unwrap();
            }
            let mut expected = vec![Seen::Write(3, 100, false); end / 120];
            if fin {
                bench.card.feed_fin(3, end as u32, []).unwrap();
                expected.push(Seen::Closed(3, end as u32));
            }
            assert_eq!(bench.settle(), expected);
            bench.card.abort(3).unwrap();
            assert_eq!(bench.settle(), [ended(position)]);
            assert_eq!(ending(&stream), Ending::Lost);
            stream.close().unwrap();
        }
        // Armed again, there is nothing left of it; nor does it stop anybody else.
        let stream = bench.arm(3, StreamOptions::default());
        bench.card.feed(3, 0, &octets[..]).unwrap();
        bench.card.feed_fin(2, 0, &octets[..]).unwrap();
        let mut seen = bench.settle();
        seen.sort_by_key(|seen| format!("{seen:?}"));
        let done = |stream| Seen::Write(stream, 100, false);
        let expected = [Seen::Closed(2, 240), done(2), done(2), done(3), done(3)];
        assert_eq!(seen, expected);
        assert_eq!(stream.error_record().unwrap(), None);
        stream.close().unwrap();
        other.close().unwrap();
        region.revoke().unwrap();
    }
}

// req: DDP-TEAR-08, AMB-57, MPA-ERR-03
#[test]
fn octets_behind_a_fin_are_an_error_and_are_not_placed() {
    let octets = two_writes();
    for bench in Bench::each() {
        let region = bench.region();
        let begin = Seen::Write(3, 100, false);
        for way in 0..4 {
            let stream = bench.arm(3, StreamOptions::default());
            let card = &bench.card;
            let mut expected = vec![begin.clone(), Seen::Closed(3, 120), ended(120)];
            match way {
                // A good FPDU, or another FIN, behind a FIN that was delivered.
                0 | 1 => {
                    card.feed_fin(3, 0, &octets[..120]).unwrap();
                    assert_eq!(bench.settle(), expected[..2]);
                    expected.drain(..2);
                    match way {
                        0 => card.feed(3, 120, &octets[120..]).unwrap(),
                        _ => card.feed_fin(3, 124, []).unwrap(),
                    }
                }
                // Octets beyond a gap, then a FIN in front of them; and the same with a FIN that is not reached yet.
                2 => {
                    card.feed(3, 180, &octets[180..]).unwrap();
                    card.feed_fin(3, 0, &octets[..120]).unwrap();
                }
                _ => {
                    card.feed_fin(3, 120, []).unwrap();
                    card.feed(3, 180, &octets[180..]).unwrap();
                    assert_eq!(bench.settle(), [ended(0)], "at the edge");
                    card.feed(3, 0, &octets[..120]).unwrap();
                    expected.clear();
                }
            }
            assert_eq!(bench.settle(), expected, "{way}");
            assert_eq!(ending(&stream), Ending::BehindFin);
            let mut memory = vec![0; 100];
            region.read_at(100, &mut memory).unwrap();
            assert!(memory.iter().all(|&octet| octet == UNTOUCHED), "{way}");
            stream.close().unwrap();
        }
        region.revoke().unwrap();
    }
}

// req: AMB-10, MPA-ERR-12
#[test]
fn a_stream_that_has_failed_says_nothing_of_its_end() {
    let mut octets = two_writes();
    octets[50] ^= 1;
    for bench in Bench::each() {
        let region = bench.region();
        let stream = bench.arm(3, StreamOptions::default());
        bench.card.feed_fin(3, 0, &octets[..]).unwrap();
        let crc = Seen::Error(3, ErrorNumber::MpaCrc, Checks::empty(), 0);
        assert_eq!(bench.settle(), [crc]);
        bench.card.feed(3, 240, [0; 8]).unwrap();
        bench.card.abort(3).unwrap();
        assert_eq!(bench.settle(), []);
        let record = stream.error_record().unwrap().unwrap();
        assert_eq!(record.number, ErrorNumber::MpaCrc);
        let counters = bench.context.counters().unwrap();
        let fpdus = (counters.fpdus, counters.fpdus_discarded, counters.errors);
        assert_eq!(fpdus, (2, 1, 1), "an end is no FPDU");
        stream.close().unwrap();
        region.revoke().unwrap();
    }
}
