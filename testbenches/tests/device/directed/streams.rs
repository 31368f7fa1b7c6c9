//! Streams beside each other: interleaved, frozen, revoked, closed and reset.

use super::support::*;
use fastrand::Rng;
use warpline_driver::{Checks, Error, ErrorNumber, StreamOptions};
use warpline_regmap::layout::stream_context;
use warpline_regmap::register::command;
use warpline_sim::BackPressure;
use warpline_testbenches::coverage;
use warpline_wire::send::Message;

// req: MPA-RCV-05, MPA-RCV-08, MPA-RCV-17, MPA-RCV-18, MPA-RCV-19, MPA-RCV-20, MPA-RCV-21, MPA-RCV-22, MPA-RCV-31
// req: MPA-RCV-38, MPA-FMT-01, DDP-ORD-07
#[test]
fn streams_interleaved_segment_by_segment() {
    for bench in Bench::each() {
        let region = bench.region();
        // One FPDU over thousands of segments; a hundred FPDUs in one; segments of an FPDU and a bit; cuts anywhere.
        let plans = [
            (8800, 1, 3),
            (40, 100, 65535),
            (1000, 8, 1028),
            (777, 10, 613),
        ];
        let mut rng = Rng::with_seed(1);
        let mut expected = vec![UNTOUCHED; LENGTH];
        let mut queues = Vec::new();
        let mut streams = Vec::new();
        for (number, (length, count, segment)) in (0_u8..).zip(plans) {
            let start = rng.u32(..);
            let mut messages = Vec::new();
            for i in 0..count {
                let mut payload = vec![0; length];
                rng.fill(&mut payload);
                let at = 17_000 * usize::from(number) + i * length;
                expected[at..at + length].copy_from_slice(&payload);
                messages.push((write(BASE + at as u64), payload));
            }
            let octets = stream_of(number % 2 == 0, 8882, &messages);
            let options = StreamOptions {
                sequence_start: start,
                ..markers(number % 2 == 0)
            };
            streams.push(bench.arm(number, options));
            let chunks: Vec<_> = octets.chunks(segment).map(<[u8]>::to_vec).collect();
            queues.push((start, segment, chunks.into_iter().enumerate()));
        }
        while !queues.is_empty() {
            for (number, (start, segment, chunks)) in (0..).zip(&mut queues) {
                for (i, chunk) in chunks.by_ref().take(1) {
                    let sequence = start.wrapping_add((i * *segment) as u32);
                    bench.card.feed(number, sequence, chunk).unwrap();
                }
            }
            if queues.iter().all(|(.., chunks)| chunks.len() == 0) {
                break;
            }
        }
        let seen = bench.settle();
        for (number, (length, count, _)) in (0_u8..).zip(plans) {
            let of_stream: Vec<_> = seen
                .iter()
                .filter(|seen| matches!(seen, Seen::Write(stream, ..) if *stream == number))
                .collect();
            let delivered = Seen::Write(number, length as u32, false);
            assert_eq!(of_stream, vec![&delivered; count], "stream {number}");
        }
        assert!(region.to_vec().unwrap() == expected);
        let counters = bench.context.counters().unwrap();
        assert_eq!(
            (counters.fpdus, counters.errors, counters.segments_dropped),
            (119, 0, 0)
        );
    }
}

// req: MPA-ERR-12, MPA-ERR-13, MPA-CRC-18, DDP-ERR-20, AMB-10, MPA-RCV-01, DDP-TEAR-03, DDP-TEAR-17, LLP-08, AMB-32
#[test]
fn an_error_freezes_its_stream_alone() {
    for bench in Bench::each() {
        let region = bench.region();
        let streams: Vec<_> = (0..4).map(|i| bench.arm(i, markers(true))).collect();
        let mut expected = vec![UNTOUCHED; LENGTH];
        for number in 0..4_u8 {
            let at = |i: usize| 16_000 * usize::from(number) + 500 * i;
            let message = |i| (write(BASE + at(i) as u64), pattern(i, 500));
            let messages: Vec<_> = (0..20).map(message).collect();
            let mut octets = stream_of(true, 600, &messages);
            let mut placed = 20;
            if number == 1 {
                // Near the end of the payload of the eighth FPDU.
                octets[stream_of(true, 600, &messages[..8]).len() - 10] ^= 1;
                placed = 7;
            }
            for i in 0..placed {
                expected[at(i)..at(i) + 500].copy_from_slice(&pattern(i, 500));
            }
            bench.feed(number, 0, &octets, 333);
            if number == 1 {
                // Good FPDUs behind the bad one, more than a ring holds.
                let more = stream_of(true, 600, &vec![(write(BASE), pattern(99, 500)); 300]);
                bench.feed(number, octets.len() as u32, &more, 1460);
            }
        }
        let seen = bench.settle();
        assert!(region.to_vec().unwrap() == expected);
        for number in 0..4 {
            let count =
                |seen: &&Seen| matches!(seen, Seen::Write(stream, 500, false) if *stream == number);
            let delivered = seen.iter().filter(count).count();
            assert_eq!(delivered, if number == 1 { 7 } else { 20 });
            assert_eq!(
                bench.card.untaken(number).unwrap(),
                0,
                "frozen streams are consumed"
            );
        }
        let errors: Vec<_> = seen
            .iter()
            .filter(|seen| matches!(seen, Seen::Error(..)))
            .collect();
        assert!(
            matches!(errors[..], [Seen::Error(1, ErrorNumber::MpaCrc, _, _)]),
            "{errors:?}"
        );
        assert_eq!(bench.context.counters().unwrap().errors, 1);
        let records = streams
            .iter()
            .map(|stream| stream.error_record().unwrap().is_some());
        assert!(records.eq([false, true, false, false]));
        // TCP sends the segments again, right this time: they are not looked at. The stream is there until the program ends it.
        let message = |i: usize| (write(BASE + 16_000 + 500 * i as u64), pattern(i, 500));
        let right = stream_of(true, 600, &(0..20).map(message).collect::<Vec<_>>());
        for (i, segment) in right.chunks(333).enumerate() {
            bench.card.inject(1, 333 * i as u32, segment).unwrap();
        }
        bench.card.step(20_000).unwrap();
        assert_eq!(bench.settle(), []);
        assert!(region.to_vec().unwrap() == expected);
        assert_eq!(bench.context.counters().unwrap().errors, 1);
        let armed = bench.domain.arm(1, markers(true)).map(|_| ());
        assert!(matches!(armed, Err(Error::StreamArmed { stream: 1 })));
        // So the driver says; the device says so, too, until the program has closed the stream.
        let mut words = [0; stream_context::WORDS];
        stream_context::STREAM.put(&mut words, 1);
        assert!(
            bench.refuses(command::ARM_STREAM, &words),
            "the stream is there"
        );
    }
}

// req: AMB-42, DDP-SEC-22
#[test]
fn nothing_is_written_once_revoke_has_returned() {
    let slow = BackPressure {
        stall: 60,
        latency: 1..=300,
    };
    for width in coverage::tested().unwrap() {
        let bench = Bench::open(width, slow.clone(), 256);
        let mut rng = Rng::with_seed(width as u64);
        let (mut early, mut late) = (0, 0);
        for _ in 0..15 {
            let regions = [bench.region(), bench.register(0x100, BASE, LENGTH)];
            let streams = [bench.arm(0, markers(false)), bench.arm(1, markers(false))];
            let messages = |stag| {
                let message = |i: usize| {
                    let message = Message::Tagged {
                        stag,
                        to: BASE + 300 * i as u64,
                        rsvd_ulp: 0,
                    };
                    (message, pattern(i, 300))
                };
                stream_of(false, 600, &(0..60).map(message).collect::<Vec<_>>())
            };
            bench.feed(0, 0, &messages(STAG), 1000);
            bench.feed(1, 0, &messages(0x100), 1000);
            bench.card.step(rng.u64(100..4000)).unwrap();
            let [revoked, kept] = regions;
            let mut memory = revoked.revoke().unwrap();
            let written = memory.iter().filter(|&&octet| octet != UNTOUCHED).count();
            memory.fill(0x5A); // poison
            let seen = bench.settle();
            assert!(memory.iter().all(|&octet| octet == 0x5A));
            assert_eq!(bench.card.bus_errors(), 0);
            // What was delivered had been placed; the rest met an unknown STag.
            let delivered = seen
                .iter()
                .filter(|seen| matches!(seen, Seen::Write(0, ..)))
                .count();
            let failed = seen.iter().any(|seen| {
                matches!(seen, Seen::Error(0, ErrorNumber::TaggedInvalidStag, checks, _) if *checks == Checks::STAG)
            });
            assert!(
                written >= delivered * 290,
                "{written} octets, {delivered} messages"
            );
            assert_eq!(failed, delivered < 60);
            early += usize::from(failed);
            late += delivered;
            let others = seen
                .iter()
                .filter(|seen| matches!(seen, Seen::Write(1, ..)))
                .count();
            assert_eq!(others, 60, "the other region's stream goes on");
            let whole = kept.to_vec().unwrap();
            assert!((0..60).all(|i| whole[300 * i..300 * (i + 1)] == pattern(i, 300)));
            for stream in streams {
                stream.close().unwrap();
            }
        }
        assert!(
            early > 5 && late > 60,
            "revoked in the middle: {early}, {late}"
        );
    }
}

// req: DDP-TEAR-15, AMB-16, MPA-MRK-16, DDP-UNT-11
#[test]
fn a_stream_closed_anywhere_starts_afresh() {
    for bench in Bench::each() {
        let region = bench.region();
        let message = pattern(3, 1000);
        let mut rng = Rng::with_seed(3);
        for round in 0..12_u32 {
            let with_markers = round % 3 == 0;
            let options = StreamOptions {
                sequence_start: rng.u32(..),
                ..markers(with_markers)
            };
            let octets = stream_of(
                with_markers,
                700,
                &[
                    (send(0, 1), message.clone()),
                    (write(BASE), pattern(round as usize, 500)),
                ],
            );
            // A part of it, perhaps within an FPDU, perhaps on its way.
            let stream = bench.arm(1, options);
            bench.post(&stream, 0, &[1200, 7]);
            let part = &octets[..rng.usize(1..octets.len())];
            bench.feed(1, options.sequence_start, part, 300);
            bench.card.step(rng.u64(..800)).unwrap();
            stream.close().unwrap();
            let before = region.to_vec().unwrap();
            let flushed = |seen: &Seen| matches!(seen, Seen::Flushed(1, 0, ..));
            assert!(matches!(
                bench.poll().iter().filter(|seen| flushed(seen)).count(),
                1 | 2
            ));
            bench.card.step(2000).unwrap();
            assert!(
                region.to_vec().unwrap() == before,
                "nothing is written behind close"
            );
            // All of it, from another sequence number on.
            let options = StreamOptions {
                sequence_start: rng.u32(..),
                ..options
            };
            let stream = bench.arm(1, options);
            bench.post(&stream, 0, &[1200]);
            bench.feed(1, options.sequence_start, &octets, 300);
            let sent = Seen::Send(1, 0, 1, message.clone());
            assert_eq!(
                bench.settle(),
                [sent, Seen::Write(1, 500, false)],
                "round {round}"
            );
            assert_eq!(
                region.to_vec().unwrap()[..500],
                pattern(round as usize, 500)
            );
            stream.close().unwrap();
            bench.poll();
        }
    }
}

// req: AMB-16, DDP-SEC-22
#[test]
fn a_reset_ends_everything_and_hurts_nothing() {
    for width in coverage::tested().unwrap() {
        let Bench {
            card,
            context,
            domain,
            _counted,
        } = Bench::open(width, BackPressure::RANDOM, 16);
        let mut handles = Some((context, domain));
        let mut rng = Rng::with_seed(5);
        for round in 0..6 {
            let (context, domain) = handles.take().unwrap();
            let bench = Bench {
                _counted: _counted.clone(),
                card: card.clone(),
                context,
                domain,
            };
            let region = bench.region();
            let stream = bench.arm(0, markers(true));
            let message = |i: usize| (write(BASE + 600 * i as u64), pattern(i, 600));
            let octets = stream_of(true, 700, &(0..40).map(message).collect::<Vec<_>>());
            bench.feed(0, 0, &octets, 1460);
            card.step(rng.u64(100..6000)).unwrap();
            card.reset().unwrap();
            let before = region.to_vec().unwrap();
            card.step(3000).unwrap();
            assert!(region.to_vec().unwrap() == before, "round {round}");
            for i in 0..40 {
                let found = &before[600 * i..600 * (i + 1)];
                let whole = found.iter().zip(pattern(i, 600));
                assert!(
                    whole
                        .clone()
                        .all(|(&found, sent)| found == sent || found == UNTOUCHED)
                );
            }
            assert_eq!(card.bus_errors(), 0);
            drop((stream, region, bench));

            // Opened again, the device is as new.
            let context = open(&card, 16);
            let domain = context.protection_domain().unwrap();
            let bench = Bench {
                _counted: _counted.clone(),
                card: card.clone(),
                context,
                domain,
            };
            let region = bench.region();
            let stream = bench.arm(0, markers(true));
            bench.feed(0, 0, &octets[..5 * 632], 1000);
            let seen = bench.settle();
            assert!(
                seen.iter().all(|seen| *seen == Seen::Write(0, 600, false)),
                "{seen:?}"
            );
            let memory = region.to_vec().unwrap();
            assert!((0..seen.len()).all(|i| memory[600 * i..600 * (i + 1)] == pattern(i, 600)));
            assert!((4..=5).contains(&seen.len()), "round {round}: {seen:?}");
            drop((stream, region));
            handles = Some((bench.context.clone(), bench.domain));
        }
    }
}

/// An FPDU that never ends, a flood of what was received before and of what does not fit, and a stream that failed and goes on
/// sending: the fourth stream receives all, and the first goes on.
// req: DDP-ORD-07, AMB-10, AMB-40, MPA-RCV-25
#[test]
fn streams_that_are_stuck_hostile_or_in_error_stop_nobody() {
    const MESSAGES: usize = 40;
    for bench in Bench::each() {
        let region = bench.region();
        let _streams: Vec<_> = (0..4)
            .map(|number| bench.arm(number, markers(true)))
            .collect();
        let message = |i: usize| (write(BASE + 1000 * i as u64), pattern(i, 1000));
        let good: Vec<_> = (0..MESSAGES).map(message).collect();
        let good = stream_of(true, 1200, &good);
        // All but the last octet.
        let endless = stream_of(true, 9000, &[(write(BASE + 50_000), pattern(1, 8000))]);
        bench.feed(0, 0, &endless[..endless.len() - 1], 1460);
        let received = stream_of(true, 1200, &[(write(BASE + 60_000), pattern(2, 1000))]);
        bench.feed(1, 0, &received, 1460);
        let mut failing = stream_of(
            true,
            1200,
            &vec![(write(BASE + 60_000), pattern(2, 1000)); 60],
        );
        failing[100] ^= 1;
        let first = bench.settle();
        assert_eq!(first, [Seen::Write(1, 1000, false)]);
        for (i, segment) in good.chunks(1000).enumerate() {
            bench.card.feed(3, 1000 * i as u32, segment).unwrap();
            bench.card.inject(1, 0, &received[..]).unwrap();
            bench.card.inject(1, 200_000, &received[..]).unwrap();
            bench.card.inject(0, 0, &endless[..1460]).unwrap();
            let at = failing.len().min(1000 * i)..failing.len().min(1000 * (i + 1));
            if !at.is_empty() {
                bench.card.feed(2, at.start as u32, &failing[at]).unwrap();
            }
        }
        let seen = bench.settle();
        let count = |number: u8| {
            let of_stream =
                |seen: &&Seen| matches!(seen, Seen::Write(stream, ..) if *stream == number);
            seen.iter().filter(of_stream).count()
        };
        assert_eq!([0, 1, 2, 3].map(count), [0, 0, 0, MESSAGES]);
        let error = Seen::Error(2, ErrorNumber::MpaCrc, Checks::empty(), 0);
        assert!(seen.contains(&error), "{seen:?}");
        assert_eq!(seen.len(), MESSAGES + 1);
        let memory = region.to_vec().unwrap();
        let whole = |i: usize| memory[1000 * i..1000 * (i + 1)] == pattern(i, 1000);
        assert!((0..MESSAGES).all(whole));
        assert!(
            memory[50_000..60_000]
                .iter()
                .all(|&octet| octet == UNTOUCHED)
        );
        // And the one that was stuck goes on.
        let last = endless.len() - 1;
        bench.feed(0, last as u32, &endless[last..], 1);
        assert_eq!(bench.settle(), [Seen::Write(0, 8000, false)]);
    }
}
