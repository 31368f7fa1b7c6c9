//! `place`: payload lands in memory octet for octet, nothing else is touched, bursts keep the rules of AXI4.
//!
//! The commit buffer is a model that forgets rows the moment they are given back, so that a row given back too early
//! shows as wrong octets in memory.

use fastrand::Rng;
use rust_hdl_core::prelude::*;
use std::collections::{BTreeMap, VecDeque};
use warpline_hdl::Config;
use warpline_hdl::records::{Delivery, Placement};
use warpline_hdl::rx::ddp::place::{Place, block};
use warpline_testbenches::lockstep::{Lockstep, on_large_stack};
use warpline_testbenches::stimulus::{Pace, Rhythm};
use warpline_testbenches::write_bus::{Burst, Manner, Wires, WriteBus};

/// One FPDU: where it goes and what it carries.
#[derive(Clone)]
struct Fpdu {
    address: u64,
    skip: usize,
    payload: Vec<u8>,
}

/// A run: FPDUs, and the rhythm of everybody around the block.
struct Run {
    fpdus: Vec<Fpdu>,
    commit_octets: usize,
    offered: Pace,
    delivered: Pace,
    bus: Manner,
    /// Read this octet of the commit buffer wrongly: the n-th access to it that is asked for.
    misread: Option<usize>,
}

/// What came of it.
struct Outcome {
    memory: BTreeMap<u64, u8>,
    bursts: Vec<Burst>,
    beat_cycles: Vec<u64>,
}

impl Run {
    fn quick(fpdus: Vec<Fpdu>) -> Self {
        Self {
            fpdus,
            commit_octets: 128 << 10,
            offered: Pace::Always,
            delivered: Pace::Always,
            bus: Manner::quick(5),
            misread: None,
        }
    }

    fn rough(fpdus: Vec<Fpdu>, commit_octets: usize) -> Self {
        Self {
            commit_octets,
            offered: Pace::Bursts(20),
            delivered: Pace::Bursts(10),
            bus: Manner {
                aw: Pace::Bursts(40),
                w: Pace::Bursts(25),
                ..Manner::quick(5)
            },
            ..Self::quick(fpdus)
        }
    }

    /// Memory as it should be.
    fn memory(&self) -> BTreeMap<u64, u8> {
        let octets = |fpdu: &Fpdu| {
            let address = fpdu.address;
            let octets = fpdu.payload.clone().into_iter().enumerate();
            octets.map(move |(i, octet)| (address + i as u64, octet))
        };
        self.fpdus.iter().flat_map(octets).collect()
    }

    /// Bursts as they should be, those of each FPDU.
    fn bursts(&self, octets: usize) -> Vec<Vec<Burst>> {
        let (beat, block) = (octets as u64, block(octets) as u64);
        let of = |fpdu: &Fpdu| {
            let (mut at, end) = (fpdu.address, fpdu.address + fpdu.payload.len() as u64);
            let mut bursts = vec![];
            while at < end {
                let stop = end.min((at / block + 1) * block);
                let address = at / beat * beat;
                let length = ((stop - address).div_ceil(beat) - 1) as u8;
                bursts.push(Burst { address, length });
                at = stop;
            }
            bursts
        };
        self.fpdus.iter().map(of).collect()
    }
}

fn delivery(number: usize) -> Delivery {
    Delivery {
        action: (number as u64 % 3).into(),
        stream: (number as u64 % 16).into(),
        entry: (number as u64).into(),
    }
}

/// Runs the block; everything but memory and gaps is asserted here.
fn run<const W: usize, const K: usize, const LOGK: usize>(run: &Run) -> Outcome {
    let mut rng = Rng::with_seed(0x91AC + W as u64);
    let config = Config {
        commit_octets: run.commit_octets,
        ..Config::simulated(W)
    };
    let rows = run.commit_octets / K;
    let block = Box::new(Place::<W, K, LOGK>::new(&config));
    let top = format!("place_{W}_{rows}");
    let mut bench = Lockstep::new(&top, block, |b, level| b.clock.next = level.into())
        .unwrap_or_else(|e| panic!("{e}"));
    let mut bus = WriteBus::new(K, run.bus.clone());
    let (mut offered, mut delivered) = (Rhythm::new(run.offered), Rhythm::new(run.delivered));

    // the commit buffer: what it holds, which rows are in use, what it will answer in this and the next cycle
    let mut buffer = vec![0xEE_u8; run.commit_octets];
    let (mut next_row, mut used_rows) = (rng.usize(0..rows), 0);
    let mut in_buffer: VecDeque<(usize, usize)> = VecDeque::new();
    let mut reads: VecDeque<Vec<u8>> = VecDeque::from([vec![0; K], vec![0; K]]);
    let mut asked = 0;

    let issued: Vec<usize> = (run.bursts(K).iter())
        .scan(0, |sum, bursts| {
            *sum += bursts.len();
            Some(*sum)
        })
        .collect();
    let (mut filled, mut given, mut handed, mut released) = (0, 0, 0, 0);
    let mut offering = false;
    let mut quiet = 0;
    for cycle in 0.. {
        assert!(
            cycle < 400_000,
            "{given} given, {handed} handed, {released} released: it hangs"
        );
        // FPDUs come into the buffer while there is room
        while let Some(fpdu) = run.fpdus.get(filled) {
            let needed = (fpdu.skip + fpdu.payload.len() + 4).div_ceil(K);
            if used_rows + needed > rows {
                break;
            }
            for octet in 0..needed * K {
                let place = (next_row * K + octet) % run.commit_octets;
                let payload = octet
                    .checked_sub(fpdu.skip)
                    .and_then(|i| fpdu.payload.get(i));
                buffer[place] = payload.copied().unwrap_or(0xDD);
            }
            in_buffer.push_back((next_row, needed));
            (next_row, used_rows) = ((next_row + needed) % rows, used_rows + needed);
            filled += 1;
        }
        offering = offering || offered.go(&mut rng);
        let valid = offering && given < filled && cycle > 20;

        let b = &mut bench.block;
        b.reset.next = cycle < 20;
        b.s_valid.next = valid;
        if valid {
            let (fpdu, (row, needed)) = (&run.fpdus[given], in_buffer[given - released]);
            b.s_placement.next = Placement {
                row: (row as u64).into(),
                rows: (needed as u64).into(),
                skip: (fpdu.skip as u64).into(),
                address: fpdu.address.into(),
                length: (fpdu.payload.len() as u64).into(),
            };
            b.s_delivery.next = delivery(given);
        }
        let answer = reads.pop_front().unwrap();
        let mut data = Bits::<W>::default();
        for (lane, octet) in answer.iter().enumerate() {
            data.set_bits::<8>(8 * lane, u64::from(*octet).into());
        }
        b.read_data.next = data;
        let offer = bus.offer(&mut rng);
        b.m_axi.awready.next = offer.awready;
        b.m_axi.wready.next = offer.wready;
        b.m_ready.next = delivered.go(&mut rng);
        bench.settle().unwrap_or_else(|e| panic!("{e}"));

        let b = &bench.block;
        let read_rows = [b.read_row_0.val(), b.read_row_1.val()].map(|row| row.index());
        assert!(read_rows.iter().all(|row| *row < rows));
        let mut read: Vec<u8> = (0..K)
            .map(|lane| {
                buffer[read_rows[usize::from(b.read_select.val().get_bit(lane))] * K + lane]
            })
            .collect();
        asked += 1;
        if run.misread == Some(asked) {
            read[K / 2] ^= 0x10;
        }
        reads.push_back(read);
        let wires = Wires::default()
            .address(
                b.m_axi.awvalid.val(),
                b.m_axi.awaddr.val(),
                b.m_axi.awlen.val(),
            )
            .beat(
                b.m_axi.wvalid.val(),
                b.m_axi.wdata.val(),
                b.m_axi.wstrb.val(),
                b.m_axi.wlast.val(),
            );
        let active = wires.address.is_some() || wires.beat.is_some() || valid;
        // responses are not this block's matter
        bus.take(
            Wires {
                ready: true,
                ..wires
            },
            &mut rng,
        )
        .unwrap_or_else(|e| panic!("cycle {cycle}: {e}"));
        let announced = if handed == 0 { 0 } else { issued[handed - 1] };
        assert!(
            bus.bursts.len() <= announced,
            "a burst before the Delivery of its FPDU"
        );
        if b.release_valid.val() {
            let (row, count) = in_buffer
                .pop_front()
                .expect("more rows given back than used");
            assert_eq!(b.release_rows.val().index(), count);
            for octet in 0..count * K {
                buffer[(row * K + octet) % run.commit_octets] = 0xEE;
            }
            used_rows -= count;
            released += 1;
        }
        if b.m_valid.val() && b.m_ready.val() {
            assert_eq!(b.m_delivery.val(), delivery(handed));
            assert_eq!(b.m_issued.val().index(), issued[handed] & 0xffff);
            handed += 1;
        }
        if valid && b.s_ready.val() {
            (given, offering) = (given + 1, false);
        }
        bench.edge().unwrap_or_else(|e| panic!("{e}"));
        quiet = if active { 0 } else { quiet + 1 };
        if released == run.fpdus.len() && quiet > 60 {
            break;
        }
    }
    assert_eq!((given, handed), (run.fpdus.len(), run.fpdus.len()));
    assert!(bus.is_idle());
    assert_eq!(bus.bursts, run.bursts(K).concat());
    Outcome {
        memory: bus.memory,
        bursts: bus.bursts,
        beat_cycles: bus.beat_cycles,
    }
}

fn fpdu(rng: &mut Rng, address: u64, length: usize) -> Fpdu {
    Fpdu {
        address,
        skip: if rng.bool() { 16 } else { 20 },
        payload: (0..length).map(|_| rng.u8(..)).collect(),
    }
}

/// Places where bursts are cut: inside a page, around pages, around 4 GiB.
const WINDOWS: [u64; 3] = [0x1_2345_6000, 0x7_ffff_e000, 0xdead_0000_0000];

fn random_fpdus(rng: &mut Rng, count: usize, longest: usize) -> Vec<Fpdu> {
    let length = |rng: &mut Rng| match rng.u8(0..10) {
        0 => 0,
        1..=4 => rng.usize(1..=80),
        5..=8 => rng.usize(1..=longest.min(1600)),
        _ => rng.usize(1..=longest),
    };
    (0..count)
        .map(|_| {
            let length = length(rng);
            let address = rng.choice(WINDOWS).unwrap() + rng.u64(0..3 * 4096);
            fpdu(rng, address, length)
        })
        .collect()
}

/// Every offset in a 64-octet line, with payloads that end in the same, the next or a later beat.
fn aligned_fpdus(rng: &mut Rng) -> Vec<Fpdu> {
    (0..64)
        .map(|offset| {
            let length = *rng.choice(&[1, 7, 8, 63, 64, 65, 100]).unwrap();
            fpdu(rng, 0x4_0000_0fc0 + 200 * offset + offset, length)
        })
        .collect()
}

fn compare<const W: usize, const K: usize, const LOGK: usize>(given: &Run) -> Outcome {
    let outcome = run::<W, K, LOGK>(given);
    assert!(outcome.memory == given.memory(), "memory differs");
    outcome
}

// req: DDP-DEL-07, AMB-41
#[test]
fn random_64() {
    on_large_stack(|| {
        let mut rng = Rng::with_seed(64);
        compare::<64, 8, 3>(&Run::rough(random_fpdus(&mut rng, 50, 3000), 8 << 10));
        compare::<64, 8, 3>(&Run::quick(aligned_fpdus(&mut rng)));
    });
}

// req: DDP-DEL-07, AMB-41
#[cfg(feature = "every-width")]
#[test]
fn random_128() {
    on_large_stack(|| {
        let mut rng = Rng::with_seed(128);
        compare::<128, 16, 4>(&Run::rough(random_fpdus(&mut rng, 25, 3000), 8 << 10));
        compare::<128, 16, 4>(&Run::quick(aligned_fpdus(&mut rng)));
    });
}

// req: DDP-DEL-07, AMB-41
#[cfg(feature = "every-width")]
#[test]
fn random_256() {
    on_large_stack(|| {
        let mut rng = Rng::with_seed(256);
        compare::<256, 32, 5>(&Run::rough(random_fpdus(&mut rng, 25, 3000), 8 << 10));
        compare::<256, 32, 5>(&Run::quick(aligned_fpdus(&mut rng)));
    });
}

// req: DDP-DEL-07, AMB-41
#[test]
fn random_512() {
    on_large_stack(|| {
        let mut rng = Rng::with_seed(512);
        compare::<512, 64, 6>(&Run::rough(random_fpdus(&mut rng, 50, 3000), 8 << 10));
        compare::<512, 64, 6>(&Run::quick(aligned_fpdus(&mut rng)));
    });
}

/// The largest FPDU, over a 4 GiB boundary: 33 bursts of the narrowest bus.
// req: DDP-DEL-07
#[test]
fn largest() {
    on_large_stack(|| {
        let fpdus = vec![fpdu(&mut Rng::with_seed(1), 0x2_ffff_4321, 64754)];
        let outcome = compare::<64, 8, 3>(&Run::quick(fpdus.clone()));
        assert_eq!(outcome.bursts.len(), 33);
        let outcome = compare::<512, 64, 6>(&Run::quick(fpdus));
        assert_eq!(outcome.bursts.len(), 17);
    });
}

/// Cycles between the first and the last beat in which none was taken.
fn gaps<const W: usize, const K: usize, const LOGK: usize>(fpdus: Vec<Fpdu>) -> u64 {
    let cycles = compare::<W, K, LOGK>(&Run::quick(fpdus)).beat_cycles;
    cycles[cycles.len() - 1] + 1 - cycles[0] - cycles.len() as u64
}

/// A beat a cycle, within bursts, between bursts and between FPDUs, those of one beat included; an FPDU without payload
/// costs a cycle.
#[test]
fn throughput() {
    on_large_stack(|| {
        let mut rng = Rng::with_seed(1442);
        let mut many = |count, length: usize| -> Vec<Fpdu> {
            (0..count)
                .map(|n| {
                    let address = 0x1_0000_0000 + n * 1442 + rng.u64(0..64);
                    fpdu(&mut rng, address, length)
                })
                .collect()
        };
        assert_eq!(gaps::<64, 8, 3>(many(6, 1442)), 0);
        assert_eq!(gaps::<512, 64, 6>(many(20, 1442)), 0);
        // three or four beats each
        assert_eq!(gaps::<512, 64, 6>(many(40, 130)), 0);
        let mut one_beat = |count, length| {
            let mut fpdus = many(count, length);
            fpdus.iter_mut().for_each(|fpdu| fpdu.address &= !63);
            fpdus
        };
        assert_eq!(gaps::<64, 8, 3>(one_beat(80, 8)), 0);
        #[cfg(feature = "every-width")]
        assert_eq!(gaps::<128, 16, 4>(one_beat(80, 1)), 0);
        #[cfg(feature = "every-width")]
        assert_eq!(gaps::<256, 32, 5>(one_beat(80, 32)), 0);
        assert_eq!(gaps::<512, 64, 6>(one_beat(80, 8)), 0);
        // one beat or two, one burst or two
        assert_eq!(gaps::<64, 8, 3>(many(80, 9)), 0);
        assert_eq!(gaps::<512, 64, 6>(many(80, 40)), 0);
        let mut with_empty = many(9, 1442);
        with_empty[4].payload.clear();
        assert_eq!(gaps::<512, 64, 6>(with_empty), 1);
    });
}

/// Cycles from the placement to its first beat.
#[test]
fn latency() {
    fn first<const W: usize, const K: usize, const LOGK: usize>() -> u64 {
        let fpdu = fpdu(&mut Rng::with_seed(1), 0x1000, 100);
        // the placement is given in cycle 21
        compare::<W, K, LOGK>(&Run::quick(vec![fpdu])).beat_cycles[0] - 21
    }
    on_large_stack(|| {
        assert_eq!(first::<64, 8, 3>(), 6 + 2);
        assert_eq!(first::<512, 64, 6>(), 6 + 3);
    });
}

/// The scoreboard sees one octet that is read wrongly.
#[test]
fn misread_is_seen() {
    on_large_stack(|| {
        let fpdus = vec![fpdu(&mut Rng::with_seed(1), 0x1000, 4000)];
        let misread = Run {
            misread: Some(100),
            ..Run::quick(fpdus)
        };
        let outcome = run::<64, 8, 3>(&misread);
        let expected = misread.memory();
        assert!(outcome.memory.keys().eq(expected.keys()));
        let wrong = expected
            .iter()
            .filter(|(at, octet)| outcome.memory[at] != **octet);
        assert_eq!(wrong.count(), 1);
    });
}
