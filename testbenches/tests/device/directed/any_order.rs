//! Segments and messages that arrive in any order, and what a later segment may not change.

use super::support::*;
use fastrand::Rng;
use warpline_driver::{Checks, ErrorNumber, StreamOptions};
use warpline_wire::send::Message;

/// FPDUs of all streams arrive in any order, whole, several at once or cut: what is known of those behind gaps begins, grows,
/// is joined and is passed again and again. In the end all is as if it had come in order.
// req: MPA-RCV-07, MPA-RCV-19, MPA-RCV-27, DDP-ORD-06
#[test]
fn fpdus_of_all_streams_arrive_in_any_order() {
    /// Messages of a stream, and octets of memory for each.
    const MESSAGES: usize = 140;
    const ROOM: usize = 120;
    for bench in Bench::each() {
        let region = bench.region();
        let mut rng = Rng::with_seed(8);
        for round in 0..12 {
            region.write_at(0, &[UNTOUCHED; LENGTH]).unwrap();
            let mut expected = vec![UNTOUCHED; LENGTH];
            let (mut streams, mut lengths, mut waiting) = (vec![], vec![], vec![]);
            for number in 0..4 {
                let mut messages = vec![];
                for at in (0..MESSAGES).map(|i| ROOM * (MESSAGES * number + i)) {
                    let length = rng.usize(..ROOM);
                    let payload = pattern(rng.usize(..256), length);
                    expected[at..at + length].copy_from_slice(&payload);
                    messages.push((write(BASE + at as u64), payload));
                }
                let of_each = messages.iter().map(|(_, payload)| payload.len() as u32);
                lengths.push(of_each.collect::<Vec<_>>());
                let octets = stream_of(true, 600, &messages);
                let start = rng.u32(..);
                let options = StreamOptions {
                    sequence_start: start,
                    ..markers(true)
                };
                streams.push(bench.arm(number as u8, options));
                let mut cuts = begins(&octets, true);
                match round % 3 {
                    0 => cuts.retain(|_| rng.u8(..4) > 0),
                    1 => cuts = (0..octets.len()).step_by(rng.usize(500..3000)).collect(),
                    _ => cuts
                        .iter_mut()
                        .for_each(|cut| *cut = cut.saturating_sub(rng.usize(..60))),
                }
                cuts.extend([0, octets.len()]);
                cuts.sort_unstable();
                cuts.dedup();
                let segments = cuts.windows(2);
                let segments =
                    segments.map(|cut| (start_plus(start, cut[0]), &octets[cut[0]..cut[1]]));
                let mut segments: Vec<_> =
                    segments.map(|(at, octets)| (at, octets.to_vec())).collect();
                let reach = rng.usize(2..16);
                segments
                    .chunks_mut(reach)
                    .for_each(|some| rng.shuffle(some));
                segments.reverse(); // the next one is the last one
                waiting.push(segments);
            }
            while waiting.iter().any(|segments| !segments.is_empty()) {
                let number = rng.usize(..4);
                if let Some((sequence, octets)) = waiting[number].pop() {
                    bench.card.feed(number as u8, sequence, octets).unwrap();
                    bench.card.step(rng.u64(..60)).unwrap();
                }
            }
            let mut delivered = vec![vec![]; 4];
            loop {
                let some = bench.settle();
                if some.is_empty() {
                    break;
                }
                for seen in some {
                    match seen {
                        Seen::Write(stream, length, _) => {
                            delivered[usize::from(stream)].push(length)
                        }
                        other => panic!("{other:?}"),
                    }
                }
            }
            assert_eq!(delivered, lengths, "round {round}");
            assert!(region.to_vec().unwrap() == expected, "round {round}");
            streams
                .into_iter()
                .for_each(|stream| stream.close().unwrap());
        }
    }
}

/// With a window of MSNs the third message is whole before the second one has begun: the first one is delivered alone.
// req: AMB-04, DDP-DEL-01
#[test]
fn a_whole_message_waits_for_one_in_front_that_has_not_begun() {
    for bench in Bench::each() {
        let options = StreamOptions {
            msn_window: true,
            ..markers(false)
        };
        let stream = bench.arm(2, options);
        bench.post(&stream, 0, &[16; 3]);
        let message = |msn: u32| (send(0, msn), pattern(msn as usize, 9));
        let octets = stream_of(false, 600, &[3, 1, 2].map(message));
        let sent = |msn: u32| Seen::Send(2, 0, msn, pattern(msn as usize, 9));
        let (early, late) = octets.split_at(octets.len() / 3 * 2);
        bench.card.feed(2, 0, early).unwrap();
        assert_eq!(bench.settle(), [sent(1)]);
        bench.card.feed(2, early.len() as u32, late).unwrap();
        assert_eq!(bench.settle(), [sent(2), sent(3)]);
        stream.close().unwrap();
    }
}

/// Three segments in each order, each of them once: delivered is what is whole without a gap in front, in the sender's order.
// req: MPA-RCV-13, MPA-RCV-15, MPA-RCV-18, MPA-RCV-19, MPA-RCV-20, MPA-RCV-21, MPA-RCV-22, MPA-RCV-27, MPA-RCV-34
// req: DDP-ORD-06
#[test]
fn three_segments_arrive_in_any_order() {
    const ORDERS: [[usize; 3]; 6] = [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ];
    let message = |i: usize| (write(BASE + 500 * i as u64), pattern(i, 400 + i));
    let messages: Vec<_> = (0..6).map(message).collect();
    for bench in Bench::each() {
        let region = bench.region();
        for with_markers in [false, true] {
            let octets = stream_of(with_markers, 600, &messages);
            let end = |fpdus| stream_of(with_markers, 600, &messages[..fpdus]).len();
            for (order, cuts) in ORDERS.into_iter().flat_map(|order| {
                [
                    [0, end(1), end(2), end(3)],         // an FPDU each
                    [0, end(2), end(4), end(6)],         // two FPDUs each
                    [0, 130, 331, end(1)],               // one FPDU in three
                    [0, 130, end(2) + 63, end(3)],       // tail, whole FPDU, head
                    [0, end(2) + 1, end(5) - 1, end(6)], // and some more of it
                ]
                .map(|cuts| (order, cuts))
            }) {
                region.write_at(0, &[UNTOUCHED; LENGTH]).unwrap();
                let start = 0u32.wrapping_sub(cuts[1] as u32);
                let options = StreamOptions {
                    sequence_start: start,
                    ..markers(with_markers)
                };
                let stream = bench.arm(3, options);
                let mut here = [false; 3];
                let mut delivered = 0;
                for segment in order {
                    let (from, to) = (cuts[segment], cuts[segment + 1]);
                    let sequence = start.wrapping_add(from as u32);
                    bench.card.inject(3, sequence, &octets[from..to]).unwrap();
                    here[segment] = true;
                    let edge = cuts[here.iter().take_while(|here| **here).count()];
                    let whole = (1..=6).take_while(|fpdus| end(*fpdus) <= edge).count();
                    let write = |i: usize| Seen::Write(3, 400 + i as u32, false);
                    let expected: Vec<_> = (delivered..whole).map(write).collect();
                    assert_eq!(bench.settle(), expected, "{order:?} of {cuts:?}");
                    assert_eq!(stream.edge().unwrap(), start.wrapping_add(edge as u32));
                    delivered = whole;
                }
                let memory = region.to_vec().unwrap();
                let placed = |(i, (_, payload)): (usize, &(Message, Vec<u8>))| {
                    memory[500 * i..].starts_with(payload)
                };
                assert!(messages[..delivered].iter().enumerate().all(placed));
                stream.close().unwrap();
            }
        }
    }
}

// req: LLP-11, MPA-RCV-24, MPA-RCV-25, DDP-ORD-05, AMB-40
#[test]
fn what_was_delivered_is_not_touched_again() {
    for bench in Bench::each() {
        let region = bench.region();
        let stream = bench.arm(3, markers(true));
        bench.post(&stream, 0, &[600; 4]);
        let messages = [
            (write(BASE), pattern(1, 500)),
            (send(0, 1), pattern(2, 500)),
            (write(BASE + 1000), pattern(3, 500)),
            (send(0, 2), pattern(4, 500)),
        ];
        let octets = stream_of(true, 600, &messages);
        let taken = stream_of(true, 600, &messages[..3]).len();
        bench.feed(3, 0, &octets[..taken], 300);
        let sent = |msn, seed| Seen::Send(3, 0, msn, pattern(seed, 500));
        let write = Seen::Write(3, 500, false);
        assert_eq!(bench.settle(), [write.clone(), sent(1, 2), write]);
        // The program uses the memory for something else, and TCP sends again, with other octets.
        region.write_at(0, &[0x5A; LENGTH]).unwrap();
        let again: Vec<u8> = octets.iter().map(|octet| octet ^ 0x55).collect();
        for most in [1, 64, 300, 1460] {
            for (i, segment) in again[..taken].chunks(most).enumerate() {
                bench.card.inject(3, (i * most) as u32, segment).unwrap();
            }
        }
        // One that is beyond the window, and one that is half old.
        let limit = stream.limit().unwrap();
        bench.card.inject(3, limit, &again[..300]).unwrap();
        assert_eq!(bench.settle(), []);
        let mut half = again[taken - 100..taken].to_vec();
        half.extend(&octets[taken..taken + 60]);
        bench.card.inject(3, taken as u32 - 100, half).unwrap();
        assert_eq!(bench.settle(), []);
        assert_eq!(stream.edge().unwrap(), taken as u32 + 60);
        assert!(region.to_vec().unwrap().iter().all(|&octet| octet == 0x5A));
        // The stream goes on where it was.
        bench.feed(3, taken as u32 + 60, &octets[taken + 60..], 200);
        assert_eq!(bench.settle(), [sent(2, 4)]);
        assert_eq!(stream.error_record().unwrap(), None);
    }
}

// req: AMB-14, AMB-23, MPA-RCV-08, MPA-CRC-19
#[test]
fn a_length_is_waited_for_and_not_more() {
    let vectors = vectors();
    let [first, second] = ["fpdu1", "fpdu2"].map(|part| hex(&vectors["V-MPA-6"][part]));
    assert_eq!(first.len(), 512);
    for bench in Bench::each() {
        // A marker is due where the first FPDU ends; it is the second one's, and not waited for.
        let stream = bench.arm(3, markers(true));
        bench.post(&stream, 0, &[500, 500]);
        bench.feed(3, 0, &first, 500);
        assert_eq!(bench.settle(), [Seen::Send(3, 0, 1, pattern(2, 484))]);
        bench.feed(3, 512, &second[..second.len() - 1], 500);
        assert_eq!(bench.settle(), [], "all but its last octet");
        bench.feed(
            3,
            512 + second.len() as u32 - 1,
            &second[second.len() - 1..],
            1,
        );
        assert_eq!(bench.settle(), [Seen::Send(3, 0, 2, b"ABCD".to_vec())]);
        stream.close().unwrap();

        // A length that grew waits for octets of the next FPDU, and its CRC is wrong then.
        let message = |i: usize| (write(BASE), pattern(i, 100));
        let mut octets = stream_of(false, 600, &[message(1), message(2)]);
        octets[1] += 4;
        let _region = bench.region();
        let stream = bench.arm(3, markers(false));
        let (one, other) = octets.split_at(octets.len() / 2);
        bench.feed(3, 0, one, 500);
        assert_eq!(bench.settle(), []);
        assert_eq!(stream.error_record().unwrap(), None);
        bench.feed(3, one.len() as u32, &other[..3], 500);
        assert_eq!(bench.settle(), []);
        bench.feed(3, one.len() as u32 + 3, &other[3..], 500);
        let error = Seen::Error(3, ErrorNumber::MpaCrc, Checks::empty(), 0);
        assert_eq!(bench.settle(), [error]);
    }
}
