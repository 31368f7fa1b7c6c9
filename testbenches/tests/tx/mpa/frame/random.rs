//! Random ULPDUs of four streams, and directed ones around markers.

use fastrand::Rng;
use warpline_hdl::tx::mpa::frame::RESET;
use warpline_testbenches::stimulus::{Pace, chance};
use warpline_wire::{marker, mpa};

use crate::support::{Bench, Cover, Item, Paces, at_wider, fpdus, random_octets};

/// A length from 1 on: most are small, some end around a marker, few are long.
fn random_length(rng: &mut Rng, position: u32) -> usize {
    let to_marker = (position.wrapping_neg() % marker::SPACING) as usize;
    match rng.u8(0..20) {
        0..8 => rng.usize(1..=64),
        8..11 => rng.usize(1..=600),
        11..16 => (to_marker + 512 * rng.usize(0..2) + rng.usize(0..24))
            .saturating_sub(20)
            .max(1),
        16..19 => rng.usize(400..=1500),
        _ => rng.usize(1500..=5000),
    }
}

/// Items of four streams, FPDU by FPDU: most follow the one before in their stream, some begin elsewhere.
fn random_items(rng: &mut Rng, count: usize) -> Vec<Item> {
    let mut positions = [0, 0xFFFF_FC00, 0xFFFF_FFFC, 4 * rng.u32(..1 << 30)];
    let items = (0..count).map(|_| {
        let stream = rng.usize(0..4);
        if chance(rng, 25) {
            let near = 4 * rng.u32(0..20);
            let at = marker::SPACING.wrapping_mul(rng.u32(..)).wrapping_sub(near);
            let around_zero = rng.u32(0..3000) & !3;
            positions[stream] = match rng.u8(0..3) {
                0 => 0_u32.wrapping_sub(around_zero),
                _ => at,
            };
        }
        let position = positions[stream];
        let length = random_length(rng, position);
        let item = Item {
            stream: stream as u8 | (rng.u8(..) & 0xFC),
            position,
            markers: chance(rng, 70),
            crc: chance(rng, 85),
            octets: random_octets(rng, length),
        };
        positions[stream] = position.wrapping_add(item.fpdu_len() as u32);
        item
    });
    items.collect()
}

const PACES: [Paces; 4] = [
    Paces {
        ulpdu: Pace::Percent(70),
        data: Pace::Percent(80),
        ready: Pace::Percent(80),
    },
    Paces {
        ulpdu: Pace::Bursts(30),
        data: Pace::Bursts(20),
        ready: Pace::Bursts(60),
    },
    Paces {
        ulpdu: Pace::Always,
        data: Pace::Percent(50),
        ready: Pace::Always,
    },
    Paces {
        ulpdu: Pace::Always,
        data: Pace::Always,
        ready: Pace::Percent(40),
    },
];

fn random_ulpdus<
    const W: usize,
    const K: usize,
    const D: usize,
    const LOGK: usize,
    const LOGD: usize,
>(
    count: usize,
) {
    let mut bench = Bench::<W, K, D, LOGK, LOGD>::new(W as u64);
    let mut all = vec![];
    for paces in PACES.into_iter().chain([Paces::ALWAYS]) {
        let items = random_items(&mut bench.rng, count);
        let seen = bench.run(&items, paces).unwrap_or_else(|e| panic!("{e}"));
        // a second opinion: the receiver finds the same ULPDUs
        let fpdus = fpdus(&seen);
        assert_eq!(fpdus.len(), items.len());
        for (item, fpdu) in items.iter().zip(&fpdus) {
            assert!(item.read_back(fpdu) == item.octets, "{item:?}");
        }
        all.extend(items);
    }
    let cover = Cover::of(&all, D);
    let counts = [
        cover.leading,
        cover.in_front_of_crc,
        cover.inside,
        cover.behind,
        cover.wraps,
        cover.without_crc,
        cover.without_markers,
        cover.one_beat,
    ];
    assert!(counts.iter().all(|count| *count >= 3), "{cover:?}");
    assert!(cover.pads.iter().all(|count| *count > 10), "{cover:?}");
    assert!(cover.streams.iter().all(|count| *count > 10), "{cover:?}");
    assert!(
        cover.dwords[1..].iter().all(|count| *count > 0),
        "{cover:?}"
    );
}

// req: MPA-FMT-01, MPA-FMT-02, MPA-FMT-03, MPA-FMT-04, MPA-FMT-05, MPA-FMT-06, MPA-FMT-08, MPA-FMT-10, MPA-FMT-12
// req: MPA-FMT-13, MPA-FMT-15, MPA-FMT-17, MPA-MRK-03, MPA-MRK-04, MPA-MRK-07, MPA-MRK-08, MPA-MRK-11, MPA-MRK-19
// req: MPA-CRC-12, MPA-CRC-13, MPA-CRC-14, MPA-CRC-15, MPA-CRC-16, MPA-CRC-17, AMB-12
#[test]
fn random_ulpdus_of_four_streams_at_64_bits() {
    random_ulpdus::<64, 8, 2, 3, 1>(120);
}

// req: MPA-FMT-01, MPA-FMT-02, MPA-FMT-03, MPA-FMT-04, MPA-FMT-05, MPA-FMT-06, MPA-FMT-08, MPA-FMT-10, MPA-FMT-12
// req: MPA-FMT-13, MPA-FMT-15, MPA-FMT-17, MPA-MRK-03, MPA-MRK-04, MPA-MRK-07, MPA-MRK-08, MPA-MRK-11, MPA-MRK-19
// req: MPA-CRC-12, MPA-CRC-13, MPA-CRC-14, MPA-CRC-15, MPA-CRC-16, MPA-CRC-17, AMB-12
#[test]
fn random_ulpdus_of_four_streams_at_wider_buses() {
    at_wider!(random_ulpdus(80));
}

/// Each length whose FPDU ends around a marker, from each place of the header in front of it.
fn around_a_marker<
    const W: usize,
    const K: usize,
    const D: usize,
    const LOGK: usize,
    const LOGD: usize,
>(
    step: usize,
) {
    let mut bench = Bench::<W, K, D, LOGK, LOGD>::new(2);
    let mut items = vec![];
    for dwords in (0..=24_u32).step_by(step) {
        let position = marker::SPACING.wrapping_mul(7) - 4 * dwords;
        for length in 1..4 * dwords as usize + 12 {
            items.push(Item {
                stream: dwords as u8,
                position,
                markers: true,
                crc: true,
                octets: random_octets(&mut bench.rng, length),
            });
        }
    }
    bench.rng.shuffle(&mut items);
    let cover = Cover::of(&items, D);
    assert!(cover.in_front_of_crc > 5 && cover.behind > 5 && cover.leading > 5);
    bench
        .run(&items, Paces::ALWAYS)
        .unwrap_or_else(|e| panic!("{e}"));
}

// req: MPA-MRK-08, MPA-MRK-18, MPA-CRC-14, MPA-CRC-17, MPA-FMT-06
#[test]
fn fpdus_that_end_around_a_marker_at_64_bits() {
    around_a_marker::<64, 8, 2, 3, 1>(1);
}

// req: MPA-MRK-08, MPA-MRK-18, MPA-CRC-14, MPA-CRC-17, MPA-FMT-06
#[test]
fn fpdus_that_end_around_a_marker_at_512_bits() {
    warpline_testbenches::lockstep::on_large_stack(|| around_a_marker::<512, 64, 16, 6, 4>(4));
}

fn longest<const W: usize, const K: usize, const D: usize, const LOGK: usize, const LOGD: usize>() {
    let mut bench = Bench::<W, K, D, LOGK, LOGD>::new(3);
    let length = usize::from(mpa::MAX_ULPDU);
    let items: Vec<Item> = [(true, 0), (true, 0xFFFF_8004), (false, 508)]
        .into_iter()
        .map(|(markers, position)| Item {
            stream: 9,
            position,
            markers,
            crc: true,
            octets: random_octets(&mut bench.rng, length),
        })
        .collect();
    assert_eq!(items[0].fpdu_len(), mpa::MAX_FPDU_MARKED);
    assert!(Cover::of(&items, D).around == 2);
    let seen = bench.run(&items, Paces::ALWAYS);
    let fpdus = fpdus(&seen.unwrap_or_else(|e| panic!("{e}")));
    assert!(items[1].read_back(&fpdus[1]) == items[1].octets);
}

// req: MPA-FMT-18, MPA-MRK-10, MPA-MRK-17, MPA-MRK-22
#[test]
fn the_longest_ulpdus_at_64_bits() {
    longest::<64, 8, 2, 3, 1>();
}

// req: MPA-FMT-18, MPA-MRK-10, MPA-MRK-17, MPA-MRK-22
#[test]
fn the_longest_ulpdus_at_wider_buses() {
    at_wider!(longest());
}

// req: MPA-MRK-20, AMB-14
#[test]
fn no_marker_follows_the_last_fpdu() {
    let mut bench = Bench::<64, 8, 2, 3, 1>::new(4);
    // `run` fails when a beat follows the last one that is due
    let item = Item {
        stream: 1,
        position: 0,
        markers: true,
        crc: true,
        octets: random_octets(&mut bench.rng, 502),
    };
    assert_eq!(item.fpdu_len(), 512);
    let seen = bench.run(&[item], Paces::ALWAYS).unwrap();
    assert_eq!(seen.len(), 64);
}

#[test]
fn reset_forgets_what_is_under_way() {
    let mut bench = Bench::<64, 8, 2, 3, 1>::new(5);
    for _ in 0..5 {
        for _ in 0..bench.rng.usize(1..80) {
            bench.noise();
            bench.lockstep.settle().unwrap();
            bench.lockstep.edge().unwrap();
        }
        bench.reset().unwrap();
        let items = random_items(&mut bench.rng, 5);
        bench
            .run(&items, PACES[0])
            .unwrap_or_else(|e| panic!("{e}"));
    }
    assert!(RESET <= warpline_hdl::reset::RESET_CYCLES as usize);
}

/// Whatever is at the inputs, the outputs of a cycle are the same.
#[test]
fn no_output_depends_on_an_input_in_the_same_cycle() {
    let mut bench = Bench::<64, 8, 2, 3, 1>::new(6);
    let (mut valid, mut full) = (0, 0);
    for _ in 0..3000 {
        let outputs = [(); 3].map(|()| {
            bench.noise();
            let b = &mut bench.lockstep.block;
            b.s_ulpdu.next.length = bench.rng.u64(1..100).into();
            bench.lockstep.settle().unwrap();
            let b = &bench.lockstep.block;
            let ready = (b.s_ulpdu_ready.val(), b.s_data_ready.val());
            (ready, b.m_valid.val(), b.m_beat.val(), b.m_data.val())
        });
        assert!(outputs[0] == outputs[1] && outputs[1] == outputs[2]);
        valid += usize::from(outputs[0].1);
        full += usize::from(outputs[0].0 != (true, true));
        bench.lockstep.edge().unwrap();
    }
    assert!(valid > 500 && full > 500, "{valid} {full}");
}
