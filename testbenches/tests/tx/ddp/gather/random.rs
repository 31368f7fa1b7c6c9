//! Random ULPDUs, and each pair of a source's and a destination's lane.

use fastrand::Rng;
use warpline_hdl::parts::axi::BOUNDARY;
use warpline_hdl::records::PIECE_OCTETS;
use warpline_hdl::tx::ddp::gather::{BURSTS, RESET};
use warpline_testbenches::read_bus::Manner;
use warpline_testbenches::stimulus::{Pace, chance};
use warpline_wire::mpa;

use crate::support::{Bench, FAULTY, Item, Paces, Part, at_wider, content, length, memory, octet};

/// An address: some are around 4 KiB, 2^32 or octets that the bus refuses.
fn random_address(rng: &mut Rng, length: usize) -> u64 {
    let near = |rng: &mut Rng, place: u64| {
        place
            .wrapping_sub(rng.u64(0..length as u64 + 80))
            .wrapping_add(8)
    };
    match rng.u8(0..16) {
        0..3 => {
            let page = rng.u64(..) & !(BOUNDARY as u64 - 1);
            near(rng, page)
        }
        3..5 => {
            let high = rng.u64(1..1 << 32) << 32;
            near(rng, high)
        }
        5 => near(rng, FAULTY.start),
        _ => rng.u64(..) >> rng.u8(0..40),
    }
}

fn random_length(rng: &mut Rng) -> usize {
    match rng.u8(0..20) {
        0..9 => rng.usize(1..=64),
        9..14 => rng.usize(1..=300),
        14..19 => rng.usize(300..=1500),
        _ => rng.usize(1500..=9000),
    }
}

fn random_part(rng: &mut Rng) -> Part {
    if chance(rng, 35) {
        let length = rng.usize(1..=PIECE_OCTETS);
        return content(rng, length);
    }
    let length = random_length(rng);
    Part::Memory(random_address(rng, length), length)
}

/// Half of them as the device makes them: a header, and one piece or a few.
fn random_items(rng: &mut Rng, count: usize) -> Vec<Item> {
    let items = (0..count).map(|_| {
        let mut item = vec![];
        let count = if rng.bool() {
            let header = *rng.choice(&[14, 18]).unwrap();
            item.push(content(rng, header));
            rng.usize(0..=2)
        } else {
            rng.usize(1..=12)
        };
        item.extend((0..count).map(|_| random_part(rng)));
        // some end with a full beat
        let lacks = length(&item).next_multiple_of(64) - length(&item);
        if let Some(Part::Memory(_, length)) = item.last_mut()
            && chance(rng, 20)
        {
            *length += lacks;
        }
        item
    });
    items.collect()
}

const PACES: [Paces; 3] = [
    Paces {
        pieces: Pace::Percent(60),
        ready: Pace::Percent(80),
        verdicts: Pace::Percent(50),
    },
    Paces {
        pieces: Pace::Bursts(40),
        ready: Pace::Bursts(60),
        verdicts: Pace::Bursts(300),
    },
    Paces {
        pieces: Pace::Always,
        ready: Pace::Percent(40),
        verdicts: Pace::Always,
    },
];

/// Memory with an idle now and then, whose bursts end as they should or, at `wrong_ends` percent, not.
fn rough(wrong_ends: u32) -> [Manner; 2] {
    let percent = Manner {
        ar: Pace::Percent(50),
        r: Pace::Percent(80),
        delay: 0..60,
        wrong_ends,
        ..memory(0)
    };
    let bursts = Manner {
        ar: Pace::Bursts(20),
        r: Pace::Bursts(30),
        delay: 20..21,
        wrong_ends,
        ..memory(0)
    };
    [percent, bursts]
}

/// What a set of items has among it.
#[derive(Debug, Default)]
struct Cover {
    in_one_beat: usize,
    crosses_page: usize,
    crosses_high: usize,
    most_pieces: usize,
    content_alone: usize,
    ends_full: usize,
}

impl Cover {
    fn of(items: &[Item], octets: usize) -> Self {
        let mut cover = Self::default();
        for item in items {
            cover.most_pieces = cover.most_pieces.max(item.len());
            cover.content_alone += usize::from(item.iter().all(|p| matches!(p, Part::Content(_))));
            cover.ends_full += usize::from(length(item).is_multiple_of(octets));
            for part in item {
                if let Part::Memory(address, length) = part {
                    let last = address.wrapping_add(*length as u64 - 1);
                    cover.in_one_beat += usize::from(part.source_beats(octets) == 1);
                    cover.crosses_page += usize::from(address >> 12 != last >> 12);
                    cover.crosses_high += usize::from(address >> 32 != last >> 32);
                }
            }
        }
        cover
    }
}

fn random_ulpdus<const W: usize, const K: usize, const LOGK: usize>(count: usize) {
    let mut bench = Bench::<W, K, LOGK>::new(W as u64);
    let mut all = vec![];
    let (mut failed, mut seldom) = (0, 0);
    for (number, paces) in PACES.into_iter().chain([Paces::ALWAYS]).enumerate() {
        for (other, manner) in rough(if number % 2 == 0 { 0 } else { 4 })
            .into_iter()
            .enumerate()
        {
            if (number + other) % 2 == 1 && K > 8 {
                continue;
            }
            let items = random_items(&mut bench.rng, count);
            let wrong_ends = manner.wrong_ends > 0;
            let seen = bench.run(&items, paces, manner);
            let seen = seen.unwrap_or_else(|e| panic!("{W} bits, {number}: {e}"));
            let bad = seen.verdicts.iter().filter(|(_, failed)| *failed).count();
            *(if wrong_ends { &mut failed } else { &mut seldom }) += bad;
            all.extend(items);
        }
    }
    let cover = Cover::of(&all, K);
    let counts = [
        failed,
        seldom,
        cover.in_one_beat / 10,
        cover.crosses_page / 10,
        cover.crosses_high,
        cover.content_alone,
        cover.ends_full,
    ];
    assert!(
        counts.iter().all(|count| *count >= 2),
        "{counts:?} {cover:?}"
    );
    assert!(cover.most_pieces >= 12, "{cover:?}");
}

#[test]
fn random_ulpdus_at_64_bits() {
    random_ulpdus::<64, 8, 3>(60);
}

#[test]
fn random_ulpdus_at_wider_buses() {
    at_wider!(random_ulpdus(40));
}

/// Pieces from each lane of the bus to each lane of a beat, of each kind.
fn every_lane_to_every_lane<const W: usize, const K: usize, const LOGK: usize>() {
    let mut bench = Bench::<W, K, LOGK>::new(7);
    let rng = &mut bench.rng;
    let mut pairs: Vec<(usize, usize)> = (0..K)
        .flat_map(|from| (0..K).map(move |to| (from, to)))
        .collect();
    rng.shuffle(&mut pairs);
    let mut items: Vec<Item> = vec![];
    for pairs in pairs.chunks(8) {
        // to the lane of the first pair
        let mut item: Item = vec![];
        let mut fill = 0;
        for &(from, to) in pairs {
            let lacks = (K + to - fill) % K;
            for done in (0..lacks).step_by(PIECE_OCTETS) {
                item.push(content(rng, PIECE_OCTETS.min(lacks - done)));
            }
            let length = match rng.u8(0..4) {
                0 => rng.usize(1..=4),
                1 => rng.usize(1..=K),
                2 => rng.usize(K..=2 * K),
                // to the end of a beat, of either kind
                _ => K + if rng.bool() { K - from } else { K - to },
            };
            let address = (rng.u64(0..1 << 40) * K as u64) + from as u64;
            item.push(Part::Memory(address, length));
            fill = (to + length) % K;
        }
        items.push(item);
    }
    let mut covered = vec![[0; 64]; K];
    let mut contents = vec![0; K];
    for item in &items {
        let mut fill = 0;
        for part in item {
            match part {
                Part::Memory(..) => covered[part.lane(K)][fill] += 1,
                Part::Content(_) => contents[fill] += 1,
            }
            fill = (fill + part.len()) % K;
        }
    }
    assert!(
        covered
            .iter()
            .all(|row| row[..K].iter().all(|count| *count > 0))
    );
    assert!(contents.iter().all(|count| *count > 0), "{contents:?}");
    let found = bench.run(&items, Paces::ALWAYS, memory(3));
    found.unwrap_or_else(|e| panic!("{W} bits: {e}"));
}

#[test]
fn every_lane_to_every_lane_at_64_bits() {
    every_lane_to_every_lane::<64, 8, 3>();
}

#[test]
fn every_lane_to_every_lane_at_wider_buses() {
    at_wider!(every_lane_to_every_lane());
}

/// Pieces of up to 65535 octets, in bursts of up to 256 beats.
fn longest<const W: usize, const K: usize, const LOGK: usize>() {
    let mut bench = Bench::<W, K, LOGK>::new(3);
    let header = content(&mut bench.rng, PIECE_OCTETS);
    let most = usize::from(mpa::MAX_ULPDU) - PIECE_OCTETS;
    let items = vec![
        vec![header.clone(), Part::Memory(0x1_2345_6000 - 1, most)],
        vec![Part::Memory(0xF_FFFF_8003, 65_535)],
        vec![header, Part::Memory(0xFFFF_FFFF_FFFF_1001, 61_000)],
    ];
    let seen = bench.run(&items, Paces::ALWAYS, memory(40));
    let seen = seen.unwrap_or_else(|e| panic!("{e}"));
    assert!(
        seen.most_bursts > if K == 64 { 1 } else { 2 },
        "{}",
        seen.most_bursts
    );
}

#[test]
fn the_longest_pieces_at_64_bits() {
    longest::<64, 8, 3>();
}

#[test]
fn the_longest_pieces_at_wider_buses() {
    at_wider!(longest());
}

/// Small bursts and slow memory: as many are under way as the queue holds, and one that is answered.
#[test]
fn as_many_bursts_as_the_queue_holds_are_under_way() {
    let mut bench = Bench::<64, 8, 3>::new(4);
    let part = |n: u64| Part::Memory(0x1000 * n + 5, 9);
    let items: Vec<Item> = (0..40)
        .map(|n| vec![part(2 * n), part(2 * n + 1)])
        .collect();
    let seen = bench.run(&items, Paces::ALWAYS, memory(200)).unwrap();
    assert_eq!(seen.most_bursts, BURSTS + 1);
}

#[test]
fn reset_forgets_what_is_under_way() {
    let mut bench = Bench::<64, 8, 3>::new(5);
    for _ in 0..8 {
        for _ in 0..bench.rng.usize(1..80) {
            bench.noise();
            bench.lockstep.settle().unwrap();
            bench.lockstep.edge().unwrap();
        }
        bench.reset().unwrap();
        let items = random_items(&mut bench.rng, 5);
        let found = bench.run(&items, PACES[0], memory(2));
        found.unwrap_or_else(|e| panic!("{e}"));
    }
    assert!(RESET <= warpline_hdl::reset::RESET_CYCLES as usize);
}

/// Whatever is at the inputs, the outputs of a cycle are the same.
#[test]
fn no_output_depends_on_an_input_in_the_same_cycle() {
    let mut bench = Bench::<64, 8, 3>::new(6);
    let (mut valid, mut full, mut asks) = (0, 0, 0);
    for _ in 0..4000 {
        let outputs = [(); 3].map(|()| {
            bench.noise();
            let b = &mut bench.lockstep.block;
            b.s_piece.next.length = bench.rng.u64(1..19).into();
            bench.lockstep.settle().unwrap();
            let b = &bench.lockstep.block;
            let ready = (b.s_piece_ready.val(), b.m_axi.rready.val());
            let address = (
                b.m_axi.arvalid.val(),
                b.m_axi.araddr.val(),
                b.m_axi.arlen.val(),
            );
            let verdict = (b.m_verdict_valid.val(), b.m_failed.val());
            (ready, b.m_valid.val(), b.m_data.val(), address, verdict)
        });
        assert!(outputs[0] == outputs[1] && outputs[1] == outputs[2]);
        let (ready, out, _, address, _) = outputs[0];
        valid += usize::from(out);
        full += usize::from(ready != (true, true));
        asks += usize::from(address.0);
        bench.lockstep.edge().unwrap();
    }
    assert!(
        valid > 300 && full > 300 && asks > 300,
        "{valid} {full} {asks}"
    );
}

/// What memory holds differs from lane to lane and from beat to beat.
#[test]
fn memory_is_not_the_same_everywhere() {
    let octets: Vec<u8> = (0..256).map(octet).collect();
    for distance in 1..128 {
        let same = (0..128)
            .filter(|i| octets[*i] == octets[i + distance])
            .count();
        assert!(same < 16, "{distance}: {same}");
    }
}
