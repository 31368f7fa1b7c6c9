//! Receive queues that run dry, full completion queues, and a bus that refuses.

use super::support::*;
use warpline_driver::{Checks, Error, ErrorNumber, Registration, StreamOptions};
use warpline_sim::BackPressure;
use warpline_testbenches::coverage;
use warpline_wire::send::Message;

// req: DDP-UNT-17, DDP-UNT-18, DDP-ERR-04, DDP-ERR-30, DDP-TEAR-15, DDP-ERR-08, DDP-ERR-10, DDP-ERR-11
#[test]
fn a_receive_queue_runs_dry() {
    for bench in Bench::each() {
        let options = StreamOptions {
            queues: 0b11,
            ..StreamOptions::default()
        };
        let stream = bench.arm(2, options);
        bench.post(&stream, 0, &[100, 100, 100]);
        bench.post(&stream, 1, &[50]);
        let message = |qn, msn| (send(qn, msn), pattern(msn as usize, 60 + msn as usize));
        let messages = [1, 2, 3].map(|msn| message(0, msn));
        let mut octets = stream_of(false, 600, &messages);
        bench.feed(2, 0, &octets, 40);
        let sent = |msn: u32| Seen::Send(2, 0, msn, pattern(msn as usize, 60 + msn as usize));
        assert_eq!(bench.settle(), [1, 2, 3].map(sent));

        // One more buffer, one more message; the one behind it has none.
        bench.post(&stream, 0, &[64]);
        let start = octets.len() as u32;
        octets = stream_of(false, 600, &[message(0, 4), message(0, 5)]);
        bench.feed(2, start, &octets, 1000);
        let position = start + 2 + (18 + 64) + 4; // behind the FPDU of message 4
        let error = Seen::Error(2, ErrorNumber::UntaggedNoBuffer, Checks::NOBUF, position);
        let flushed = Seen::Flushed(2, 1, 1, vec![UNTOUCHED; 50]);
        let seen = bench.settle();
        assert_eq!(seen[0], sent(4));
        assert_eq!(seen[1..], [error, flushed]);
        let late = bench.context.buffers(1, 10).unwrap().remove(0);
        let refused = stream.receive_queue(0).unwrap().post(late).unwrap_err();
        assert!(matches!(refused.error, Error::StreamFailed { stream: 2 }));
        // It happens once: what comes then is not looked at.
        let start = start + octets.len() as u32;
        let octets = stream_of(false, 600, &[message(0, 5), message(1, 1), message(0, 9)]);
        bench.feed(2, start, &octets, 1000);
        assert_eq!(bench.settle(), []);
        let counters = bench.context.counters().unwrap();
        assert_eq!((counters.errors, counters.missing_buffers), (1, 1));
    }
}

// req: DDP-DEL-01, DDP-DEL-02, AMB-41
#[test]
fn a_full_completion_queue_is_neither_overrun_nor_forgotten() {
    for width in coverage::tested().unwrap() {
        for entries in [1, 4] {
            let bench = Bench::open(width, BackPressure::RANDOM, entries);
            let region = bench.region();
            let streams = [bench.arm(0, markers(false)), bench.arm(1, markers(false))];
            bench.post(&streams[1], 0, &[8; 40]);
            let writes = |i: usize| (write(BASE + 100 * i as u64), pattern(i, 1 + i));
            let sends = |i: usize| (send(0, i as u32 + 1), pattern(i, i % 9));
            let writes: Vec<_> = (0..40).map(writes).collect();
            let sends: Vec<_> = (0..40).map(sends).collect();
            bench.feed(0, 0, &stream_of(false, 600, &writes), 500);
            bench.feed(1, 0, &stream_of(false, 600, &sends), 50);
            let producer = || {
                bench
                    .card
                    .read_register(warpline_regmap::register::COMPLETION_PRODUCER.offset)
            };
            let mut seen = Vec::new();
            loop {
                bench.card.run_until_idle().unwrap();
                assert!(producer().unwrap() <= seen.len() as u32 + entries);
                let now = bench.poll();
                if now.is_empty() {
                    break;
                }
                seen.extend(now);
                bench.card.step(300).unwrap(); // the device takes up what waited
            }
            // The message whose buffer is too short ends the second stream.
            let (first, second): (Vec<_>, Vec<_>) = seen
                .into_iter()
                .partition(|seen| matches!(seen, Seen::Write(..)));
            assert!(
                first.iter().eq((1..=40)
                    .map(|length| Seen::Write(0, length, false))
                    .collect::<Vec<_>>()
                    .iter())
            );
            assert_eq!(second.len(), 40);
            for (i, seen) in second.iter().enumerate() {
                assert_eq!(*seen, Seen::Send(1, 0, i as u32 + 1, pattern(i, i % 9)));
            }
            let memory = region.to_vec().unwrap();
            assert!((0..40).all(|i| memory[100 * i..100 * i + 1 + i] == pattern(i, 1 + i)));
        }
    }
}

// req: AMB-10, AMB-58, DDP-ERR-18
#[test]
fn an_error_waits_its_turn_in_a_full_completion_queue_and_is_not_lost() {
    const BEFORE: usize = 12;
    for width in coverage::tested().unwrap() {
        let bench = Bench::open(width, BackPressure::RANDOM, 4);
        let _region = bench.region();
        let numbers = 0..4_u8;
        let streams: Vec<_> = numbers
            .clone()
            .map(|number| bench.arm(number, markers(false)))
            .collect();
        for number in numbers.clone() {
            let message = |i: usize| (write(BASE), pattern(i, 10 + i));
            let messages: Vec<_> = (0..BEFORE + 3).map(message).collect();
            let wrong = |i, crc: [u8; 4]| match i {
                BEFORE => crc.map(|octet| !octet),
                _ => crc,
            };
            bench.feed(number, 0, &with_crc_fields(false, &messages, wrong), 100);
        }
        let mut seen = Vec::new();
        loop {
            bench.card.run_until_idle().unwrap();
            let now = bench.poll();
            if now.is_empty() {
                break;
            }
            assert!(now.len() <= 4);
            seen.extend(now);
            bench.card.step(300).unwrap();
        }
        for (number, stream) in numbers.zip(&streams) {
            let of_stream = seen.iter().filter(|seen| match seen {
                Seen::Write(stream, ..) | Seen::Error(stream, ..) => *stream == number,
                _ => false,
            });
            let position = stream.error_record().unwrap().unwrap().position;
            let mut expected: Vec<_> = (0..BEFORE)
                .map(|i| Seen::Write(number, 10 + i as u32, false))
                .collect();
            let error = Seen::Error(number, ErrorNumber::MpaCrc, Checks::empty(), position);
            expected.push(error);
            assert!(of_stream.eq(&expected), "stream {number}: {seen:?}");
        }
        assert_eq!(seen.len(), 4 * (BEFORE + 1));
    }
}

// req: DDP-ERR-23, AMB-10, AMB-41
#[test]
fn a_bus_error_fails_its_stream_alone() {
    for bench in Bench::each() {
        let good = bench.region();
        let bad = bench.register_as(0x100, 8192, Registration::default());
        let streams = [bench.arm(0, markers(false)), bench.arm(1, markers(false))];
        bench.card.fail_writes(bad.base() + 5000..bad.base() + 5001);
        let messages = |stag, base| {
            let message = |i: usize| {
                let to = base + 100 * i as u64;
                let rsvd_ulp = 0;
                (Message::Tagged { stag, to, rsvd_ulp }, pattern(i, 100))
            };
            stream_of(false, 600, &(0..80).map(message).collect::<Vec<_>>())
        };
        bench.feed(0, 0, &messages(STAG, BASE), 700);
        bench.feed(1, 0, &messages(0x100, bad.base()), 700);
        let seen = bench.settle();
        let delivered = |number| {
            let of_stream =
                |seen: &&Seen| matches!(seen, Seen::Write(stream, ..) if *stream == number);
            seen.iter().filter(of_stream).count()
        };
        assert_eq!(delivered(0), 80);
        assert_eq!(
            bench.card.bus_errors(),
            1,
            "nothing follows the failed write"
        );
        assert_eq!(delivered(1), 50, "what was placed before is delivered");
        let error = Seen::Error(1, ErrorNumber::LocalCatastrophic, Checks::empty(), 0);
        assert!(seen.contains(&error), "{seen:?}");
        let record = streams[1].error_record().unwrap().unwrap();
        assert_eq!(record.number, ErrorNumber::LocalCatastrophic);
        let memory = good.to_vec().unwrap();
        assert!((0..80).all(|i| memory[100 * i..][..100] == pattern(i, 100)));
        assert_eq!(
            bad.to_vec().unwrap()[..5000],
            (0..50).flat_map(|i| pattern(i, 100)).collect::<Vec<_>>()
        );
    }
}

/// Each stream in its turn.
// req: DDP-ERR-23
#[test]
fn a_bus_error_fails_whichever_stream_it_is_of() {
    for bench in Bench::each() {
        let region = bench.register_as(STAG, 8192, Registration::default());
        let write = |to| Message::Tagged {
            stag: STAG,
            to: region.base() + to,
            rsvd_ulp: 0,
        };
        for number in 0..4 {
            let stream = bench.arm(number, markers(false));
            let messages: Vec<_> = (0..4)
                .map(|i| (write(100 * i), pattern(i as usize, 100)))
                .collect();
            bench
                .card
                .fail_writes(region.base() + 250..region.base() + 251);
            bench.feed(number, 0, &stream_of(false, 600, &messages), 700);
            let error = Seen::Error(number, ErrorNumber::LocalCatastrophic, Checks::empty(), 0);
            let written = Seen::Write(number, 100, false);
            assert_eq!(bench.settle(), [written.clone(), written, error]);
            bench.card.fail_writes(0..0);
            stream.close().unwrap();
        }
        assert_eq!(bench.card.bus_errors(), 4);
    }
}
