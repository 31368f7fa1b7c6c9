//! `crc32c`: verdicts on FPDUs of every tail length at the four widths, against the `crc` crate and the register's
//! bit-serial definition, in lockstep.

use crc::{CRC_32_ISCSI, Crc};
use rust_hdl_core::prelude::*;
use warpline_hdl::parts::crc32c::{Crc32c, latency};
use warpline_hdl::records::CrcVerdict;
use warpline_sv_writer as writer;
use warpline_testbenches::lockstep::{Lockstep, LockstepError, on_large_stack, plant};
use warpline_testbenches::stimulus::{self, Pace, Rhythm, chance};

const CRC32C: Crc<u32> = Crc::<u32>::new(&CRC_32_ISCSI);

/// An FPDU on the wire: covered octets and their CRC, least significant octet first.
fn fpdu(covered: &[u8]) -> Vec<u8> {
    [covered, &CRC32C.checksum(covered).to_le_bytes()].concat()
}

fn random_fpdu(rng: &mut fastrand::Rng, dwords: usize) -> Vec<u8> {
    fpdu(
        &(1..dwords)
            .flat_map(|_| rng.u32(..).to_le_bytes())
            .collect::<Vec<u8>>(),
    )
}

/// The register behind `octets`, bit by bit, as iSCSI and MPA define it.
fn register_behind(octets: &[u8]) -> u32 {
    let mut register = 0xFFFF_FFFF_u32;
    for octet in octets {
        register ^= u32::from(*octet);
        for _ in 0..8 {
            register = (register >> 1) ^ (0x82F6_3B78 * (register & 1));
        }
    }
    register
}

/// What the block must say of an FPDU in beats of `dwords`.
fn expected<const D: usize>(fpdu: &[u8]) -> CrcVerdict {
    let (covered, field) = fpdu.split_at(fpdu.len() - 4);
    let received = u32::from_le_bytes(field.try_into().unwrap());
    let zeros = (D - fpdu.len() / 4 % D) % D;
    let state = register_behind(&[fpdu, &vec![0; 4 * zeros]].concat());
    assert_eq!(
        warpline_wire::crc::expected(state, zeros, received),
        CRC32C.checksum(covered)
    );
    CrcVerdict {
        good: CRC32C.checksum(covered) == received,
        state: u64::from(state).into(),
        zeros: (zeros as u64).into(),
        received: u64::from(received).into(),
    }
}

struct Bench<const W: usize, const D: usize> {
    lockstep: Lockstep<Crc32c<W, D>>,
    rng: fastrand::Rng,
    /// Cycles at which a verdict is due, and what it is.
    due: std::collections::VecDeque<(u64, CrcVerdict)>,
    good: usize,
    bad: usize,
}

impl<const W: usize, const D: usize> Bench<W, D> {
    fn new() -> Self {
        let block = Box::new(Crc32c::<W, D>::default());
        let mut bench = Self {
            lockstep: Lockstep::new(&format!("crc32c_{W}"), block, |b, level| {
                b.clock.next = level.into()
            })
            .unwrap(),
            rng: fastrand::Rng::with_seed(W as u64),
            due: Default::default(),
            good: 0,
            bad: 0,
        };
        bench.lockstep.block.reset.next = true;
        bench.idle(latency(W));
        bench.lockstep.block.reset.next = false;
        bench
    }

    /// One cycle with whatever is at the inputs; every verdict is the one that is due in this cycle.
    fn cycle(&mut self) {
        self.lockstep.settle().unwrap();
        let cycle = self.lockstep.cycles();
        let due = self
            .due
            .front()
            .filter(|(at, _)| *at == cycle)
            .map(|(_, verdict)| *verdict);
        let block = &self.lockstep.block;
        assert_eq!(block.verdict_valid.val(), due.is_some(), "cycle {cycle}");
        if let Some(verdict) = due {
            self.due.pop_front();
            assert_eq!(block.verdict.val(), verdict, "cycle {cycle}");
            self.good += usize::from(verdict.good);
            self.bad += usize::from(!verdict.good);
        }
        self.lockstep.edge().unwrap();
    }

    /// Cycles without a beat; all other inputs are noise.
    fn idle(&mut self, cycles: usize) {
        for _ in 0..cycles {
            let (b, rng) = (&mut self.lockstep.block, &mut self.rng);
            b.valid.next = false;
            b.first.next = chance(rng, 50);
            b.last.next = chance(rng, 50);
            b.count.next = rng.u64(0..32).into();
            b.data.next = stimulus::bits(rng);
            self.cycle();
        }
    }

    fn send(&mut self, fpdu: &[u8], rhythm: &mut Rhythm) {
        let beats = fpdu.chunks(4 * D).enumerate();
        for (number, octets) in beats {
            while !rhythm.go(&mut self.rng) {
                self.idle(1);
            }
            let b = &mut self.lockstep.block;
            // garbage in the lanes behind the last dword
            let mut data: Bits<W> = stimulus::bits(&mut self.rng);
            for (lane, octet) in octets.iter().enumerate() {
                data.set_bits::<8>(8 * lane, u64::from(*octet).into());
            }
            b.data.next = data;
            b.valid.next = true;
            b.first.next = number == 0;
            b.last.next = 4 * D * number + octets.len() == fpdu.len();
            b.count.next = ((octets.len() / 4) as u64).into();
            if b.last.next {
                let at = self.lockstep.cycles() + latency(W) as u64;
                self.due.push_back((at, expected::<D>(fpdu)));
            }
            self.cycle();
        }
    }

    /// Waits for the last verdict; how many FPDUs were good, how many bad.
    fn finish(mut self) -> (usize, usize) {
        self.idle(latency(W) + 1);
        assert!(self.due.is_empty());
        (self.good, self.bad)
    }
}

/// FPDUs of 2 to 4·D + 1 dwords, so that every tail length comes up with 0 to 4 beats in front of it; one in three has
/// one to three octets changed.
fn random_fpdus<const W: usize, const D: usize>() {
    let mut bench = Bench::<W, D>::new();
    let mut rng = fastrand::Rng::with_seed(7);
    let mut broken = 0;
    let paces = [Pace::Always, Pace::Percent(60), Pace::Bursts(9)];
    for pace in paces {
        let mut rhythm = Rhythm::new(pace);
        for dwords in 2..4 * D + 2 {
            let mut octets = random_fpdu(&mut rng, dwords);
            if chance(&mut rng, 33) {
                let right = octets.clone();
                for _ in 0..rng.usize(1..4) {
                    let at = rng.usize(0..octets.len());
                    octets[at] ^= rng.u8(1..);
                }
                broken += usize::from(octets != right);
            }
            bench.send(&octets, &mut rhythm);
        }
    }
    let sent = paces.len() * 4 * D;
    assert_eq!(bench.finish(), (sent - broken, broken));
    assert!(broken > 0);
}

// req: MPA-CRC-01, MPA-CRC-12, MPA-CRC-19, MPA-CRC-24
#[test]
fn random_fpdus_at_64_bits() {
    random_fpdus::<64, 2>();
}

// req: MPA-CRC-12, MPA-CRC-19, MPA-CRC-24
#[test]
fn random_fpdus_at_128_bits() {
    random_fpdus::<128, 4>();
}

// req: MPA-CRC-12, MPA-CRC-19, MPA-CRC-24
#[test]
fn random_fpdus_at_256_bits() {
    on_large_stack(random_fpdus::<256, 8>);
}

// req: MPA-CRC-12, MPA-CRC-19, MPA-CRC-24
#[test]
fn random_fpdus_at_512_bits() {
    on_large_stack(random_fpdus::<512, 16>);
}

/// FPDUs of a single beat, one in every cycle: each cycle has its verdict.
fn beats_back_to_back<const W: usize, const D: usize>() {
    let mut bench = Bench::<W, D>::new();
    let mut rng = fastrand::Rng::with_seed(9);
    let before = bench.lockstep.cycles();
    for number in 0..200 {
        let mut octets = random_fpdu(&mut rng, 2 + number % (D - 1));
        octets[0] ^= u8::from(number % 5 == 0);
        bench.send(&octets, &mut Rhythm::new(Pace::Always));
    }
    assert_eq!(bench.lockstep.cycles() - before, 200);
    assert_eq!(bench.finish(), (160, 40));
}

#[test]
fn an_fpdu_a_cycle() {
    beats_back_to_back::<64, 2>();
    on_large_stack(beats_back_to_back::<512, 16>);
}

#[test]
fn latency_is_stated() {
    // `Bench::cycle` holds every verdict of every test to it
    assert_eq!([64, 128, 256, 512].map(latency), [7, 7, 7, 8]);
}

/// Sum and loop are affine in the FPDU's bits: right for no bit and for each single one is right for all.
fn every_bit<const W: usize, const D: usize>() {
    let mut bench = Bench::<W, D>::new();
    let mut rhythm = Rhythm::new(Pace::Always);
    bench.send(&[0; 64][..W / 8], &mut rhythm);
    // each bit of the first of two beats: its way through the sum, and through one turn of the loop
    for bit in 0..2 * W {
        let mut octets = vec![0; 2 * W / 8];
        octets[bit / 8] = 1 << (bit % 8);
        bench.send(&octets, &mut rhythm);
    }
    let (good, bad) = bench.finish();
    assert_eq!(good + bad, 2 * W + 1);
}

// req: MPA-CRC-12
#[test]
fn every_bit_of_a_beat_has_its_column() {
    every_bit::<64, 2>();
    every_bit::<128, 4>();
    on_large_stack(every_bit::<256, 8>);
    on_large_stack(every_bit::<512, 16>);
}

/// The FPDUs of an entry of the golden vectors.
fn vector(name: &str) -> Vec<Vec<u8>> {
    let file = include_str!("../../../wire/tests/vectors.json");
    let vectors: serde_json::Value = serde_json::from_str(file).unwrap();
    let octets = |hex: &str| {
        let octet = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
        (0..hex.len()).step_by(2).map(octet).collect()
    };
    let texts = ["fpdu", "fpdu1", "fpdu2"]
        .iter()
        .filter_map(|key| vectors[name][key].as_str());
    texts.map(octets).collect()
}

fn golden_vectors<const W: usize, const D: usize>() {
    let right = [
        ("V-MPA-1", 1),
        ("V-MPA-2", 1),
        ("V-MPA-3", 1),
        ("V-MPA-4", 1),
        ("V-MPA-5", 1),
        ("V-MPA-6", 2),
        ("V-MPA-7", 1),
        ("V-MPA-8", 1),
        ("V-MPA-9", 1),
        ("V-MPA-10", 1),
        ("V-MPA-11", 1),
        ("V-MPA-12", 1),
        ("V-MPA-13", 1),
        ("V-MPA-17", 1),
        ("V-MPA-18-draft", 2),
        ("V-MPA-18-RFC", 2),
        ("V-ERR-1", 1),
        ("V-OK-1", 1),
        ("V-OK-2", 1),
    ];
    let mut bench = Bench::<W, D>::new();
    let mut rhythm = Rhythm::new(Pace::Percent(70));
    for (name, fpdus) in right {
        let found = vector(name);
        assert_eq!(found.len(), fpdus, "{name}");
        found
            .iter()
            .for_each(|octets| bench.send(octets, &mut rhythm));
    }
    // V-MPA-16: the longest ULPDU, without markers
    let mut longest = vec![0xFD, 0x00];
    longest.extend((0..64768).map(|i| (7 * i + 5) as u8));
    longest.extend([0, 0, 0xB3, 0x9E, 0xF8, 0x33]);
    bench.send(&longest, &mut rhythm);
    // V-MPA-14: no CRC in the field; V-ERR-2: a changed bit
    for name in ["V-MPA-14", "V-ERR-2"] {
        bench.send(&vector(name)[0], &mut rhythm);
    }
    assert_eq!(bench.finish(), (23, 2));
}

// req: MPA-CRC-13, MPA-CRC-14, MPA-CRC-15, MPA-CRC-17, MPA-CRC-19, MPA-CRC-20, MPA-CRC-21, MPA-CRC-22, MPA-CRC-23
#[test]
fn golden_vectors_at_64_bits() {
    golden_vectors::<64, 2>();
}

// req: MPA-CRC-13, MPA-CRC-14, MPA-CRC-15, MPA-CRC-17, MPA-CRC-19, MPA-CRC-20, MPA-CRC-21, MPA-CRC-22, MPA-CRC-23
#[test]
fn golden_vectors_at_512_bits() {
    on_large_stack(golden_vectors::<512, 16>);
}

/// V-MPA-5 with each of its bits changed, between two right ones.
fn single_bit_errors<const W: usize, const D: usize>() {
    let right = vector("V-MPA-5").remove(0);
    let mut bench = Bench::<W, D>::new();
    let mut rhythm = Rhythm::new(Pace::Percent(80));
    bench.send(&right, &mut rhythm);
    for bit in 0..8 * right.len() {
        let mut octets = right.clone();
        octets[bit / 8] ^= 1 << (bit % 8);
        bench.send(&octets, &mut rhythm);
    }
    bench.send(&right, &mut rhythm);
    assert_eq!(bench.finish(), (2, 8 * right.len()));
}

// req: MPA-CRC-19, MPA-CRC-24, LLP-06
#[test]
fn every_single_bit_error_is_found() {
    single_bit_errors::<64, 2>();
    on_large_stack(single_bit_errors::<512, 16>);
}

/// What to change in the last dword of an FPDU so that the register behind it and `zeros` zero dwords changes in `bit`.
fn reaches_only(bit: u32, zeros: usize) -> u32 {
    // what `register_behind` does for a bit of zeros, undone
    let back = |register: u32| match register >> 31 {
        1 => (register ^ 0x82F6_3B78) << 1 | 1,
        _ => register << 1,
    };
    (0..32 * (1 + zeros)).fold(1 << bit, |register, _| back(register))
}

/// FPDUs that leave the register one bit away from what it should be, for each number of dwords in the last beat.
fn every_bit_of_the_register<const W: usize, const D: usize>() {
    let mut bench = Bench::<W, D>::new();
    let mut rng = fastrand::Rng::with_seed(11);
    let mut rhythm = Rhythm::new(Pace::Always);
    for dwords in D + 1..=2 * D {
        let right = random_fpdu(&mut rng, dwords);
        let zeros = 2 * D - dwords;
        let register = |octets: &[u8]| register_behind(&[octets, &vec![0; 4 * zeros]].concat());
        for bit in 0..32 {
            let mut octets = right.clone();
            let field = octets.last_chunk_mut::<4>().unwrap();
            *field = (u32::from_le_bytes(*field) ^ reaches_only(bit, zeros)).to_le_bytes();
            assert_eq!(register(&octets) ^ register(&right), 1 << bit);
            bench.send(&octets, &mut rhythm);
        }
        bench.send(&right, &mut rhythm);
    }
    assert_eq!(bench.finish(), (D, 32 * D));
}

// req: MPA-CRC-19, MPA-CRC-24
#[test]
fn each_bit_of_the_register_is_compared() {
    every_bit_of_the_register::<64, 2>();
    every_bit_of_the_register::<128, 4>();
    on_large_stack(every_bit_of_the_register::<256, 8>);
    on_large_stack(every_bit_of_the_register::<512, 16>);
}

/// One of 32 FPDUs of a beat each differs in the bit that the comparison leaves out: that one is seen.
#[test]
fn a_bit_that_is_not_compared_is_seen() {
    for bit in [0, 13, 31] {
        let name = format!("crc32c_without_{bit}");
        let block = Box::new(Crc32c::<64, 2>::default());
        let mut design = writer::write(&*block, &name).unwrap();
        let mask = format!("32'h{:08x}", 1_u32 << bit);
        let without = format!("(power_out | {mask}) == (residue | {mask})");
        plant(&mut design, "power_out == residue", &without);
        let clock: fn(&mut Crc32c<64, 2>, bool) = |b, level| b.clock.next = level.into();
        let mut bench = Lockstep::with_fault(&name, block, &design, clock).unwrap();
        let right = u64::from_le_bytes(fpdu(&[1, 2, 3, 4]).try_into().unwrap());
        let (mut sent, mut seen) = (0, None);
        while seen.is_none() && sent < 32 + latency(64) as u32 {
            bench.block.valid.next = sent < 32;
            bench.block.first.next = true;
            bench.block.last.next = true;
            bench.block.count.next = 2.into();
            let away = reaches_only(sent % 32, 0);
            bench.block.data.next = (right ^ u64::from(away) << 32).into();
            seen = bench.settle().and_then(|()| bench.edge()).err();
            sent += 1;
        }
        assert!(
            matches!(seen, Some(LockstepError::Differ { .. })),
            "{seen:?}"
        );
        assert_eq!(sent, bit + latency(64) as u32, "the FPDU with this bit");
    }
}

#[test]
fn reset_forgets_what_is_under_way() {
    let mut bench = Bench::<64, 2>::new();
    let mut rng = fastrand::Rng::with_seed(3);
    let mut rhythm = Rhythm::new(Pace::Always);
    for dwords in [2, 5, 7] {
        bench.send(&random_fpdu(&mut rng, dwords), &mut rhythm);
        bench.due.clear();
        bench.lockstep.block.reset.next = true;
        bench.idle(latency(64));
        bench.lockstep.block.reset.next = false;
    }
    // a beat that lost its end to the reset does not touch the next FPDU
    let block = &mut bench.lockstep.block;
    block.valid.next = true;
    block.first.next = true;
    block.last.next = false;
    bench.cycle();
    bench.lockstep.block.reset.next = true;
    bench.idle(latency(64));
    bench.lockstep.block.reset.next = false;
    bench.send(&random_fpdu(&mut rng, 9), &mut rhythm);
    assert_eq!(bench.finish(), (1, 0));
}

#[test]
fn a_wrong_residue_is_seen() {
    let block = Box::new(Crc32c::<64, 2>::default());
    let mut design = writer::write(&*block, "crc32c_fault").unwrap();
    let text = &mut design.modules.last_mut().unwrap().text;
    let faulty = text.replacen("b798b438", "b798b439", 1);
    assert_ne!(*text, faulty);
    *text = faulty;
    let clock: fn(&mut Crc32c<64, 2>, bool) = |b, level| b.clock.next = level.into();
    let mut bench = Lockstep::with_fault("crc32c_fault", block, &design, clock).unwrap();
    bench.block.valid.next = true;
    bench.block.first.next = true;
    bench.block.last.next = true;
    bench.block.count.next = 2.into();
    bench.block.data.next = u64::from_le_bytes(fpdu(&[1, 2, 3, 4]).try_into().unwrap()).into();
    let seen = (0..20).find_map(|_| bench.settle().and_then(|()| bench.edge()).err());
    assert!(matches!(seen, Some(LockstepError::Differ { .. })));
}
