//! Verdicts, addresses and cycles.

use std::collections::HashMap;

use warpline_hdl::tx::ddp::local_access::{LATENCY, PIECES, RESET};
use warpline_regmap::register::stag_slot;
use warpline_regmap::transmit::status;
use warpline_testbenches::stimulus::{Pace, chance};

use crate::segments::{random_segments, table};
use crate::support::{ALWAYS, Bench, Paces, Part, Region, SLOTS, Segment, Table, judged};

pub const PACES: [Paces; 3] = [
    Paces {
        offer: Pace::Percent(70),
        pieces: Pace::Percent(70),
        verdicts: Pace::Percent(50),
    },
    Paces {
        offer: Pace::Bursts(40),
        pieces: Pace::Bursts(40),
        verdicts: Pace::Bursts(100),
    },
    Paces {
        offer: Pace::Always,
        pieces: Pace::Percent(40),
        verdicts: Pace::Always,
    },
];

#[test]
fn random_segments_are_judged_as_the_model_does() {
    let mut bench = Bench::new(1);
    let mut statuses = HashMap::new();
    for paces in PACES.into_iter().chain([ALWAYS]) {
        for _ in 0..4 {
            let table = table(&mut bench.rng);
            let segments = random_segments(&mut bench.rng, &table, 120);
            for segment in &segments {
                *statuses.entry(judged(&table, segment).0).or_insert(0) += 1;
            }
            let found = bench.run(&table, &segments, paces);
            found.map(|_| ()).unwrap_or_else(|e| panic!("{e}"));
        }
    }
    for status in [
        status::OK,
        status::STAG,
        status::ASSOC,
        status::BOUNDS,
        status::ACCESS,
        status::FLUSHED,
        status::MALFORMED,
    ] {
        assert!(statuses[&status] > 40, "{statuses:?}");
    }
}

/// Each place at a region's ends, in regions that end at 2^32, at 2^64 and elsewhere.
#[test]
fn each_octet_at_the_ends_of_a_region() {
    let mut bench = Bench::new(2);
    for (base, length) in [
        (0_u64, 40_u64),
        (0xFFFF_FFE0, 40),
        (0x7_FFFF_FFF0, 16),
        (0_u64.wrapping_sub(40), 40),
        (5, 0),
        (0, u64::MAX),
    ] {
        let region = Region {
            stag: 0x0501,
            domain: 1,
            stream: None,
            base,
            length,
            address: 0xFFFF_FFF0,
            remote_read: Some(true),
        };
        let table = Table::from([(stag_slot(region.stag, SLOTS), region)]);
        let end = base.wrapping_add(length);
        let mut segments = vec![];
        for place in [base, end, base ^ 1 << 32, end ^ 1 << 32] {
            for near in -3..=3_i64 {
                for length in [1, 2, 3, 39, 40, 41, 65_535] {
                    let offset = place.wrapping_add_signed(near);
                    segments.push(Segment {
                        stream: 3,
                        domain: 1,
                        parts: vec![Part::Memory {
                            stag: region.stag,
                            offset,
                            length,
                        }],
                        refused: status::OK,
                        remote: length % 2 == 1,
                    });
                }
            }
        }
        let found = bench.run(&table, &segments, ALWAYS);
        found
            .map(|_| ())
            .unwrap_or_else(|e| panic!("{base:x}: {e}"));
    }
}

#[test]
fn a_piece_takes_a_cycle_and_a_segment_its_latency() {
    let mut bench = Bench::new(3);
    let table = table(&mut bench.rng);
    assert_eq!((LATENCY, PIECES), (8, 31));
    let part = || Part::Content(vec![1, 2, 3]);
    let segment = |parts: usize, bad: bool| Segment {
        stream: 0,
        domain: 0,
        refused: status::OK,
        remote: bad,
        parts: match bad {
            // no slot 7 is in use
            true => vec![
                Part::Memory {
                    stag: 0x700,
                    offset: 0,
                    length: 1
                };
                parts
            ],
            false => (0..parts).map(|_| part()).collect(),
        },
    };
    for parts in [1, 2, 12, PIECES] {
        for bad in [false, true] {
            let seen = bench.run(&table, &[segment(parts, bad)], ALWAYS).unwrap();
            let last = *seen.accepted.last().unwrap();
            assert_eq!(last + 1 - seen.accepted[0], parts);
            assert_eq!(seen.verdicts[0] - last, LATENCY);
            if !bad {
                assert_eq!(seen.pieces[0] - last, LATENCY);
                assert_eq!(seen.pieces[parts - 1] - seen.pieces[0], parts - 1);
            }
        }
    }
    // a piece a cycle from segment to segment, those that are dropped included
    for parts in [1, 2, 7, 12] {
        let segments: Vec<Segment> = (0..40).map(|n| segment(parts, n % 3 == 1)).collect();
        let seen = bench.run(&table, &segments, ALWAYS).unwrap();
        let cycles = seen.accepted.last().unwrap() + 1 - seen.accepted[0];
        assert_eq!(cycles, 40 * parts);
        let cycles = seen.pieces.last().unwrap() + 1 - seen.pieces[0];
        assert_eq!(cycles, 40 * parts);
    }
}

/// Whatever is at the inputs, the outputs of a cycle are the same.
#[test]
fn no_output_depends_on_an_input_in_the_same_cycle() {
    let mut bench = Bench::new(4);
    let (mut valid, mut full) = (0, 0);
    for _ in 0..4000 {
        let outputs = [(); 3].map(|()| {
            bench.noise();
            // pieces that pass, and verdicts that are accepted seldom
            bench.lockstep.block.s_piece.next.memory = chance(&mut bench.rng, 10);
            bench.lockstep.block.s_piece.next.refused = 0.into();
            bench.lockstep.block.m_verdict_ready.next = chance(&mut bench.rng, 5);
            bench.lockstep.settle().unwrap();
            let b = &bench.lockstep.block;
            let piece = (b.m_piece_valid.val(), b.m_piece.val());
            let verdict = (b.m_verdict_valid.val(), b.m_status.val());
            (b.s_piece_ready.val(), b.stag.val(), piece, verdict)
        });
        assert!(outputs[0] == outputs[1] && outputs[1] == outputs[2]);
        valid += usize::from(outputs[0].2.0);
        full += usize::from(!outputs[0].0);
        bench.lockstep.edge().unwrap();
    }
    assert!(valid > 300 && full > 300, "{valid} {full}");
}

#[test]
fn reset_forgets_what_is_under_way() {
    let mut bench = Bench::new(5);
    for _ in 0..8 {
        for _ in 0..bench.rng.usize(1..80) {
            bench.noise();
            bench.step();
        }
        bench.reset();
        let table = table(&mut bench.rng);
        let segments = random_segments(&mut bench.rng, &table, 10);
        bench.run(&table, &segments, PACES[0]).unwrap();
    }
    assert!(RESET <= warpline_hdl::reset::RESET_CYCLES as usize);
}
