//! FPDUs behind a gap: which are placed at once, and what becomes of them when it is closed.

use super::support::*;
use fastrand::Rng;
use std::ops::Range;
use warpline_driver::{Checks, ErrorNumber, StreamOptions};
use warpline_wire::mpa;
use warpline_wire::send::Message;

// req: MPA-RCV-17, MPA-RCV-24, MPA-RCV-25, DDP-DEL-07, AMB-40
#[test]
fn segments_behind_a_gap_are_kept() {
    for bench in Bench::each() {
        let region = bench.region();
        let start = 0xFFFF_FC00; // sequence numbers wrap in the middle
        let options = StreamOptions {
            sequence_start: start,
            ..markers(true)
        };
        let stream = bench.arm(0, options);
        let messages: Vec<_> = (0..8)
            .map(|i| (write(BASE + 500 * i as u64), pattern(i, 500)))
            .collect();
        let octets = stream_of(true, 600, &messages);
        let feed = |from, end| bench.feed_part(0, start, &octets, from..end);
        // Backwards, but for the first octets: one island that grows towards the edge.
        let cuts: Vec<usize> = (0..octets.len()).step_by(357).skip(1).collect();
        for pair in cuts.windows(2).rev() {
            feed(pair[0], pair[1]);
        }
        feed(cuts[cuts.len() - 1], octets.len());
        assert_eq!(stream.edge().unwrap(), start);
        assert_eq!(bench.settle(), []);
        // What is whole is in memory; the first octets are missing, which are of the first FPDU.
        let mut expected = vec![UNTOUCHED; LENGTH];
        for (i, (_, payload)) in messages.iter().enumerate().skip(1) {
            expected[500 * i..500 * (i + 1)].copy_from_slice(payload);
        }
        assert!(region.to_vec().unwrap() == expected);
        // A second copy with other octets says nothing.
        let lies: Vec<u8> = octets[400..1000].iter().map(|octet| !octet).collect();
        let sequence = start.wrapping_add(400);
        bench.card.feed(0, sequence, lies).unwrap();
        feed(0, cuts[0]);
        let seen = bench.settle();
        assert_eq!(seen, vec![Seen::Write(0, 500, false); 8]);
        expected[..500].copy_from_slice(&messages[0].1);
        assert!(region.to_vec().unwrap() == expected);
        let end = start.wrapping_add(octets.len() as u32);
        assert_eq!(stream.edge().unwrap(), end);
        let counters = bench.context.counters().unwrap();
        assert_eq!((counters.segments_dropped, counters.errors), (0, 0));
        assert_eq!(
            counters.octets,
            octets.len() as u32,
            "each octet counts once"
        );
    }
}

// req: MPA-RCV-04, MPA-RCV-15, MPA-RCV-27, MPA-RCV-28, DDP-HDR-09, DDP-ORD-06, DDP-ORD-07, AMB-54
#[test]
fn nothing_is_guessed_behind_a_gap() {
    for bench in Bench::each() {
        let region = bench.region();
        for (with_markers, crc) in [(false, true), (false, false), (true, false), (true, true)] {
            region.write_at(0, &[UNTOUCHED; LENGTH]).unwrap();
            // The payload of the first message begins with an FPDU, as whole and right as any.
            let decoy = stream_of(false, 600, &[(write(BASE + 60_000), pattern(9, 40))]);
            let message = |i: usize| (write(BASE + 500 * i as u64), pattern(i, 500));
            let mut messages: Vec<_> = (0..6).map(message).collect();
            messages[0].1[..decoy.len()].copy_from_slice(&decoy);
            let octets = stream_of(with_markers, 600, &messages);
            let gap = octets
                .windows(decoy.len())
                .position(|octets| octets == decoy)
                .unwrap();
            assert_eq!(gap, if with_markers { 20 } else { 16 });
            let start = 0xFFFF_FFF5_u32;
            let options = StreamOptions {
                sequence_start: start,
                crc,
                ..markers(with_markers)
            };
            let stream = bench.arm(3, options);
            let behind = start.wrapping_add(gap as u32);
            for (i, segment) in octets[gap..].chunks(500).enumerate() {
                let sequence = behind.wrapping_add(500 * i as u32);
                bench.card.inject(3, sequence, segment).unwrap();
            }
            assert_eq!(bench.settle(), [], "nothing is delivered");
            assert_eq!(stream.edge().unwrap(), start);
            // Another stream does not wait for it.
            let other = bench.arm(0, markers(true));
            bench.feed(0, 0, &stream_of(true, 600, &[message(9)]), 500);
            assert_eq!(bench.settle(), [Seen::Write(0, 500, false)]);
            region.write_at(4500, &[UNTOUCHED; 500]).unwrap();
            other.close().unwrap();
            let memory = region.to_vec().unwrap();
            assert!(memory[60_000..].iter().all(|&octet| octet == UNTOUCHED));
            if !(with_markers && crc) {
                assert!(memory.iter().all(|&octet| octet == UNTOUCHED));
            }
            // The gap is filled, and all comes again.
            bench.card.inject(3, start, &octets[..gap]).unwrap();
            let mut seen = bench.settle();
            assert!(stream.edge().unwrap().wrapping_sub(start) >= gap as u32);
            bench.feed(3, start, &octets, 500);
            seen.extend(bench.settle());
            assert_eq!(seen, vec![Seen::Write(3, 500, false); 6]);
            assert_eq!(
                stream.edge().unwrap().wrapping_sub(start),
                octets.len() as u32
            );
            let memory = region.to_vec().unwrap();
            let placed = messages.iter().flat_map(|(_, payload)| payload);
            assert!(memory[..3000].iter().eq(placed));
            assert!(memory[3000..].iter().all(|&octet| octet == UNTOUCHED));
            stream.close().unwrap();
        }
    }
}

/// Whole FPDUs behind a gap are in memory at once, and delivered when the gap is closed.
// req: MPA-RCV-06, MPA-RCV-07, MPA-RCV-12, MPA-RCV-18, MPA-RCV-19, MPA-RCV-22, MPA-RCV-23, MPA-RCV-30, DDP-ORD-03
// req: LLP-05, MPA-MRK-09, MPA-MRK-13, DDP-ORD-06
#[test]
fn whole_fpdus_behind_a_gap_are_placed_at_once_and_delivered_in_order() {
    for bench in Bench::each() {
        let region = bench.region();
        let octets = stream_of(true, 600, &(0..12).map(message).collect::<Vec<_>>());
        let at = begins(&octets, true);
        let start = 0xFFFF_FD00;
        let feed = |from: usize, end: usize| {
            let sequence = start_plus(start, from);
            if from < end {
                bench.card.feed(2, sequence, &octets[from..end]).unwrap();
            }
        };
        let options = StreamOptions {
            sequence_start: start,
            ..markers(true)
        };
        // the second FPDU before the first one; the tail of one, a whole one and the head of another one; ten at once
        for (from, end, placed) in [
            (at[1], at[2], 1..2),
            (at[3] - 100, at[4] + 100, 3..4),
            (at[2], at[12], 2..12),
        ] {
            region.write_at(0, &[UNTOUCHED; LENGTH]).unwrap();
            let stream = bench.arm(2, options);
            feed(from, end);
            assert_eq!(bench.settle(), []);
            assert!(
                region.to_vec().unwrap() == memory_with(placed.clone()),
                "{placed:?}"
            );
            assert_eq!(stream.edge().unwrap(), start);
            let before = bench.context.counters().unwrap();
            feed(0, from);
            let seen = bench.settle();
            assert_eq!(seen, vec![Seen::Write(2, 500, false); placed.end]);
            assert!(region.to_vec().unwrap() == memory_with(0..placed.end));
            let after = bench.context.counters().unwrap();
            // each counts once, when it comes in order
            assert_eq!(after.fpdus.wrapping_sub(before.fpdus), placed.end as u32);
            feed(end, octets.len());
            assert_eq!(bench.settle().len(), 12 - placed.end);
            assert!(region.to_vec().unwrap() == memory_with(0..12));
            assert_eq!(stream.edge().unwrap(), start_plus(start, octets.len()));
            stream.close().unwrap();
        }
        assert_eq!(bench.context.counters().unwrap().errors, 0);
    }
}

/// Ten small FPDUs behind a gap, most of them without a marker of their own: each is found behind the one before.
// req: MPA-RCV-07, MPA-RCV-19, MPA-RCV-12
#[test]
fn small_fpdus_behind_a_gap_are_found_by_the_lengths_of_valid_ones() {
    for bench in Bench::each() {
        let region = bench.region();
        let small = |i: usize| (write(BASE + 40 * i as u64), pattern(i, 40));
        let octets = stream_of(true, 600, &(0..21).map(small).collect::<Vec<_>>());
        let at = begins(&octets, true);
        let stream = bench.arm(1, markers(true));
        // the first marker behind the gap tells where one of them begins
        let (from, end) = (at[4] + 8, at[20]);
        let first = (0..20).find(|&i| at[i + 1] > 512).unwrap();
        assert!(first > 5 && first < 11, "{first}");
        bench.card.feed(1, from as u32, &octets[from..end]).unwrap();
        assert_eq!(bench.settle(), []);
        let mut expected = vec![UNTOUCHED; LENGTH];
        for i in first..20 {
            expected[40 * i..40 * (i + 1)].copy_from_slice(&pattern(i, 40));
        }
        assert!(region.to_vec().unwrap() == expected);
        bench.card.feed(1, 0, &octets[..from]).unwrap();
        bench.card.feed(1, end as u32, &octets[end..]).unwrap();
        assert_eq!(bench.settle(), vec![Seen::Write(1, 40, false); 21]);
        stream.close().unwrap();
    }
}

/// Large FPDUs, each of which ends a visit of the chain of lengths, arrive one by one: what is placed behind gaps is begun, made
/// longer at both ends, joined and passed, in each of the places that a stream has for it.
// req: MPA-RCV-07, MPA-RCV-19, MPA-RCV-27, DDP-ORD-06
#[test]
fn what_is_placed_behind_gaps_grows_joins_and_is_passed_in_each_place() {
    const ROOM: usize = 1100;
    let passed = |intervals: [Range<usize>; 4]| -> Vec<usize> {
        let rest = [0, 26, 6, 27, 12, 28, 18, 31, 30, 29, 25, 24];
        intervals.into_iter().flatten().chain(rest).collect()
    };
    let mut rng = Rng::with_seed(9);
    for bench in Bench::each() {
        let region = bench.region();
        let message = |i: usize| (write(BASE + (ROOM * i) as u64), pattern(i, ROOM));
        let octets = stream_of(true, 1200, &(0..32).map(message).collect::<Vec<_>>());
        let at = begins(&octets, true);
        for number in 0..4 {
            for (order, at_rest) in [
                (vec![1, 3, 5, 7, 2, 6, 4, 8, 0], true),
                (vec![7, 5, 3, 1, 6, 4, 2, 8, 0], true),
                // in front of each, when there is an island less
                (vec![2, 5, 8, 11, 3, 4, 1, 7, 10, 6, 9, 12, 0], true),
                (vec![5, 2, 8, 11, 3, 4, 1, 7, 10, 6, 9, 12, 0], true),
                // passed one after the other while more arrives, from the first place on and from the last one
                (passed([1..6, 7..12, 13..18, 19..24]), false),
                (passed([19..24, 13..18, 7..12, 1..6]), false),
            ] {
                region.write_at(0, &[UNTOUCHED; LENGTH]).unwrap();
                let stream = bench.arm(number, markers(true));
                let mut delivered = vec![];
                for (i, &fpdu) in order.iter().enumerate() {
                    let octets = &octets[at[fpdu]..at[fpdu + 1]];
                    if at_rest || i < 20 {
                        bench.card.feed(number, at[fpdu] as u32, octets).unwrap();
                        let seen = bench.settle();
                        assert!(fpdu == 0 || seen.is_empty(), "behind a gap: {seen:?}");
                        delivered.extend(seen);
                    } else {
                        // each piece is looked at
                        bench.feed(number, at[fpdu] as u32, octets, rng.usize(70..300));
                    }
                }
                delivered.extend(bench.settle());
                let all = vec![Seen::Write(number, ROOM as u32, false); order.len()];
                assert_eq!(delivered, all, "{order:?}");
                let memory = region.to_vec().unwrap();
                for &i in &order {
                    assert_eq!(
                        memory[ROOM * i..][..ROOM],
                        pattern(i, ROOM),
                        "{i} of {order:?}"
                    );
                }
                stream.close().unwrap();
            }
        }
    }
}

/// Behind an FPDU that was found behind a gap stands a length that is cut off, and then a length that no FPDU has. Neither is
/// followed; the error is found when the gap is closed.
// req: MPA-RCV-07, AMB-11, AMB-21
#[test]
fn a_length_behind_a_gap_is_waited_for_and_not_believed() {
    for bench in Bench::each() {
        let region = bench.region();
        let mut octets = stream_of(true, 600, &(0..4).map(message).collect::<Vec<_>>());
        let at = begins(&octets, true);
        assert!(
            !at[2].is_multiple_of(512),
            "no marker in front of the length"
        );
        octets[at[2]..][..2].copy_from_slice(&(mpa::MAX_ULPDU + 1).to_be_bytes());
        for number in 0..4 {
            region.write_at(0, &[UNTOUCHED; LENGTH]).unwrap();
            let stream = bench.arm(number, markers(true));
            for (from, end) in [(at[1], at[2]), (at[2], at[2] + 4), (at[2] + 4, at[3])] {
                bench
                    .card
                    .feed(number, from as u32, &octets[from..end])
                    .unwrap();
                assert_eq!(bench.settle(), []);
                assert!(region.to_vec().unwrap() == memory_with(1..2));
            }
            bench.card.feed(number, 0, &octets[..at[1]]).unwrap();
            let written = Seen::Write(number, 500, false);
            let position = at[2] as u32;
            let error = Seen::Error(number, ErrorNumber::MpaMarker, Checks::empty(), position);
            assert_eq!(bench.settle(), [written.clone(), written, error]);
            stream.close().unwrap();
        }
    }
}

/// Without CRC or without markers nothing is placed before the gap is closed.
// req: AMB-54
#[test]
fn without_crc_or_markers_nothing_behind_a_gap_is_placed() {
    for bench in Bench::each() {
        let region = bench.region();
        for (with_markers, crc) in [(true, false), (false, true), (false, false)] {
            region.write_at(0, &[UNTOUCHED; LENGTH]).unwrap();
            let octets = stream_of(with_markers, 600, &(0..4).map(message).collect::<Vec<_>>());
            let at = begins(&octets, with_markers);
            let options = StreamOptions {
                crc,
                ..markers(with_markers)
            };
            let stream = bench.arm(0, options);
            bench.card.feed(0, at[1] as u32, &octets[at[1]..]).unwrap();
            assert_eq!(bench.settle(), []);
            assert!(region.to_vec().unwrap() == memory_with(0..0));
            bench.card.feed(0, 0, &octets[..at[1]]).unwrap();
            assert_eq!(bench.settle().len(), 4);
            assert!(region.to_vec().unwrap() == memory_with(0..4));
            stream.close().unwrap();
        }
    }
}

/// What is wrong with an FPDU behind a gap whatever is missing freezes its stream at once; the rest is judged in order.
// req: AMB-11
#[test]
fn an_error_behind_a_gap_freezes_its_stream_when_it_does_not_depend_on_order() {
    for bench in Bench::each() {
        let region = bench.region();
        let stranger = Message::Tagged {
            stag: 0x999,
            to: BASE,
            rsvd_ulp: 0,
        };
        let messages = [
            message(0),
            message(1),
            (stranger, pattern(2, 500)),
            message(3),
        ];
        let octets = stream_of(true, 600, &messages);
        let at = begins(&octets, true);
        let stream = bench.arm(3, markers(true));
        bench.card.feed(3, at[1] as u32, &octets[at[1]..]).unwrap();
        let seen = bench.settle();
        assert!(
            matches!(seen[..], [Seen::Error(3, ErrorNumber::TaggedInvalidStag, _, position)] if position == at[2] as u32),
            "{seen:?}"
        );
        bench.card.feed(3, 0, &octets[..at[1]]).unwrap();
        assert_eq!(bench.settle(), [], "frozen");
        let memory = region.to_vec().unwrap();
        assert!(memory[500..1000] == pattern(1, 500) && memory[..500] == [UNTOUCHED; 500]);
        stream.close().unwrap();
        // A CRC error is met in its turn: what is in front of it is delivered.
        let mut octets = stream_of(true, 600, &(0..4).map(message).collect::<Vec<_>>());
        octets[at[2] + 60] ^= 1;
        let stream = bench.arm(3, markers(true));
        bench.card.feed(3, at[1] as u32, &octets[at[1]..]).unwrap();
        assert_eq!(bench.settle(), []);
        bench.card.feed(3, 0, &octets[..at[1]]).unwrap();
        let seen = bench.settle();
        assert!(
            matches!(
                seen[..],
                [
                    Seen::Write(3, ..),
                    Seen::Write(3, ..),
                    Seen::Error(3, ErrorNumber::MpaCrc, ..)
                ]
            ),
            "{seen:?}"
        );
        stream.close().unwrap();
    }
}

/// Between placement and delivery the region is revoked: what comes in order meets an unknown STag, and nothing is written.
// req: AMB-42, DDP-SEC-22
#[test]
fn a_region_revoked_between_placement_and_delivery_is_not_written_again() {
    for bench in Bench::each() {
        let region = bench.region();
        let octets = stream_of(true, 600, &(0..6).map(message).collect::<Vec<_>>());
        let at = begins(&octets, true);
        let stream = bench.arm(3, markers(true));
        bench.card.feed(3, at[1] as u32, &octets[at[1]..]).unwrap();
        assert_eq!(bench.settle(), []);
        let mut memory = region.revoke().unwrap();
        assert!(memory.to_vec() == memory_with(1..6));
        memory.fill(0x5A);
        bench.card.feed(3, 0, &octets[..at[1]]).unwrap();
        let seen = bench.settle();
        assert!(
            matches!(
                seen[..],
                [Seen::Error(3, ErrorNumber::TaggedInvalidStag, _, 0)]
            ),
            "{seen:?}"
        );
        assert!(memory.iter().all(|&octet| octet == 0x5A));
        stream.close().unwrap();
    }
}

/// Closed at any moment while FPDUs behind a gap are under way; the next owner of the stream has nothing to do with them.
#[test]
fn a_stream_closed_while_fpdus_behind_a_gap_are_under_way_starts_afresh() {
    for bench in Bench::each() {
        let mut rng = Rng::with_seed(8);
        let region = bench.region();
        let octets = stream_of(true, 600, &(0..30).map(message).collect::<Vec<_>>());
        let at = begins(&octets, true);
        for round in 0..20 {
            region.write_at(0, &[UNTOUCHED; LENGTH]).unwrap();
            let options = StreamOptions {
                sequence_start: rng.u32(..),
                ..markers(true)
            };
            let stream = bench.arm(3, options);
            let behind = start_plus(options.sequence_start, at[1]);
            bench.feed(3, behind, &octets[at[1]..], 300);
            bench.card.step(rng.u64(0..3000)).unwrap();
            stream.close().unwrap();
            // what is still on its way from the peer goes by
            let before = region.to_vec().unwrap();
            bench.card.step(5000).unwrap();
            assert!(region.to_vec().unwrap() == before);
            // the next owner's stream is another one, at the same positions
            let other = |i: usize| (write(BASE + 30_000 + 400 * i as u64), pattern(50 + i, 400));
            let next = stream_of(true, 600, &(0..20).map(other).collect::<Vec<_>>());
            let stream = bench.arm(3, markers(true));
            let cut = begins(&next, true)[1 + round % 5];
            bench.card.feed(3, cut as u32, &next[cut..]).unwrap();
            assert_eq!(bench.settle(), []);
            bench.card.feed(3, 0, &next[..cut]).unwrap();
            assert_eq!(bench.settle(), vec![Seen::Write(3, 400, false); 20]);
            let memory = region.to_vec().unwrap();
            assert!(memory[..30_000] == before[..30_000]);
            for i in 0..20 {
                assert!(memory[30_000 + 400 * i..][..400] == pattern(50 + i, 400));
            }
            stream.close().unwrap();
        }
        assert_eq!(bench.context.counters().unwrap().errors, 0);
    }
}
