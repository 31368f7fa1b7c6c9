//! `strip`: markers in every lane, right and wrong, taken out and judged, against a list of dwords.

use fastrand::Rng;
use std::collections::VecDeque;
use warpline_hdl::rx::mpa::fetch::FpduBeat;
use warpline_hdl::rx::mpa::strip::{LATENCY, Strip, VERDICT};
use warpline_sv_writer as writer;
use warpline_testbenches::lockstep::{Lockstep, LockstepError, on_large_stack};
use warpline_testbenches::octets::{noisy_beat, octets};
use warpline_testbenches::stimulus::{self, Pace, Rhythm, chance};
use warpline_wire::marker::{FPDUPTR_MASK, Marker};

/// What must come out of a beat.
#[derive(Clone, Debug)]
struct Plain {
    first: bool,
    last: bool,
    octets: Vec<u8>,
    /// With `last`: what the first wrong marker of the FPDU should have held, and what it held.
    wrong: Option<(u16, u16)>,
}

struct Bench<const W: usize, const D: usize> {
    lockstep: Lockstep<Strip<W, D>>,
    rng: Rng,
    /// Bits of FPDUPTR that count, as the model has it.
    mask: u16,
    latency: usize,
    first_wrong: Option<(u16, u16)>,
    due: VecDeque<(usize, Plain)>,
    /// The expected result for the markers of the FPDU whose last beat came out a cycle ago.
    expected: Option<Option<(u16, u16)>>,
    lanes: Vec<usize>,
    right: usize,
    wrong_markers: usize,
    /// Right ones whose RESERVED or low bits are not zero.
    untidy: usize,
    cycle: usize,
    wrong: usize,
}

impl<const W: usize, const D: usize> Bench<W, D> {
    fn new(mask: u16, latency: usize) -> Self {
        let block = Box::new(Strip::default());
        let top = format!("strip_{W}");
        let lockstep = Lockstep::new(&top, block, |b, level| b.clock.next = level.into());
        let mut bench = Self {
            lockstep: lockstep.unwrap_or_else(|e| panic!("{e}")),
            rng: Rng::with_seed(W as u64),
            mask,
            latency,
            first_wrong: None,
            due: VecDeque::new(),
            expected: None,
            lanes: vec![0; D],
            right: 0,
            wrong_markers: 0,
            untidy: 0,
            cycle: 0,
            wrong: 0,
        };
        bench.lockstep.block.reset.next = true;
        for _ in 0..LATENCY {
            bench.idle();
        }
        bench.lockstep.block.reset.next = false;
        bench
    }

    fn idle(&mut self) {
        let (b, rng) = (&mut self.lockstep.block, &mut self.rng);
        b.beat.next = FpduBeat {
            valid: false,
            first: chance(rng, 50),
            last: chance(rng, 50),
            count: stimulus::bits(rng),
            marker: chance(rng, 50),
            marker_lane: rng.u64(0..D as u64).into(),
            marker_pointer: stimulus::bits(rng),
        };
        b.beat_data.next = stimulus::bits(rng);
        self.cycle();
    }

    fn cycle(&mut self) {
        self.lockstep.settle().unwrap();
        let b = &self.lockstep.block;
        let (found, data) = (b.plain.val(), octets(b.plain_data.val()));
        let marker_verdict = b.marker_verdict.val();
        if let Some(wrong) = self.expected.take() {
            let report = (
                marker_verdict.expected.to_u16(),
                marker_verdict.received.to_u16(),
            );
            self.wrong += self
                .lockstep
                .mismatch(marker_verdict.wrong.then_some(report) != wrong);
        }
        let due = match self.due.front() {
            Some((at, _)) if *at == self.cycle => self.due.pop_front(),
            _ => None,
        };
        let same = match due {
            None => !found.valid,
            Some((_, plain)) => {
                self.expected = plain.last.then_some(plain.wrong);
                found.valid
                    && (found.first, found.last) == (plain.first, plain.last)
                    && found.count == (plain.octets.len() / 4) as u64
                    && data[..plain.octets.len()] == plain.octets
            }
        };
        self.wrong += self.lockstep.mismatch(!same);
        self.lockstep.edge().unwrap();
        self.cycle += 1;
    }

    /// One beat of `count` dwords, with a marker in lane `marker` or without.
    fn beat(&mut self, first: bool, last: bool, count: usize, marker: Option<usize>) {
        let rng = &mut self.rng;
        let mut dwords: Vec<[u8; 4]> = (0..count).map(|_| rng.u32(..).to_le_bytes()).collect();
        let expected = rng.u16(..) & FPDUPTR_MASK;
        if first {
            self.first_wrong = None;
        }
        if let Some(lane) = marker {
            // a marker as it should be; with low bits; with RESERVED; somewhere else
            let mut octets = [[0; 2], expected.to_be_bytes()].concat();
            match rng.u8(0..6) {
                0 => octets[3] |= rng.u8(1..4),
                1 => octets[..2].copy_from_slice(&rng.u16(1..).to_be_bytes()),
                2 => octets[2..].copy_from_slice(&rng.u16(..).to_be_bytes()),
                3 => octets[2 + rng.usize(0..2)] ^= 1 << rng.u8(2..8),
                _ => {}
            }
            dwords[lane].copy_from_slice(&octets);
            let found = Marker::new_checked(&octets).unwrap();
            let received = found.fpduptr() & self.mask;
            if received == expected {
                self.right += 1;
                self.untidy += usize::from(octets != [[0; 2], expected.to_be_bytes()].concat());
            } else {
                self.wrong_markers += 1;
                self.first_wrong.get_or_insert((expected, received));
            }
            self.lanes[lane] += 1;
        }
        let b = &mut self.lockstep.block;
        b.beat_data.next = noisy_beat(&mut self.rng, &dwords.concat());
        b.beat.next = FpduBeat {
            valid: true,
            first,
            last,
            count: (count as u64).into(),
            marker: marker.is_some(),
            marker_lane: (marker.unwrap_or(0) as u64).into(),
            marker_pointer: u64::from(expected).into(),
        };
        if let Some(lane) = marker {
            dwords.remove(lane);
        }
        let plain = Plain {
            first,
            last,
            octets: dwords.concat(),
            wrong: self.first_wrong,
        };
        self.due.push_back((self.cycle + self.latency, plain));
        self.cycle();
    }

    /// An FPDU of some beats; the last dword is never a marker, because it is the CRC.
    fn fpdu(&mut self, rhythm: &mut Rhythm) {
        let beats = self.rng.usize(1..8);
        for number in 0..beats {
            while !rhythm.go(&mut self.rng) {
                self.idle();
            }
            let last = number + 1 == beats;
            let count = if last { self.rng.usize(1..=D) } else { D };
            let lanes = count - usize::from(last);
            let marker = (lanes > 0 && chance(&mut self.rng, 40)).then(|| self.rng.usize(0..lanes));
            self.beat(number == 0, last, count, marker);
        }
    }

    fn traffic(&mut self, fpdus: usize) {
        for pace in [Pace::Always, Pace::Percent(60), Pace::Bursts(5)] {
            let mut rhythm = Rhythm::new(pace);
            (0..fpdus / 3).for_each(|_| self.fpdu(&mut rhythm));
        }
        (0..=VERDICT).for_each(|_| self.idle());
    }

    fn assert_all_seen(&self) {
        assert_eq!(self.wrong, 0);
        assert!(self.lanes.iter().all(|lane| *lane > 5), "{:?}", self.lanes);
        assert!(self.right > 50 && self.wrong_markers > 50 && self.untidy > 20);
    }
}

// req: MPA-FMT-12, MPA-FMT-14, MPA-MRK-10, MPA-MRK-12, MPA-MRK-21, MPA-RCV-10, MPA-ERR-05, MPA-ERR-06, AMB-18, AMB-19
// req: MPA-ERR-08
#[test]
fn markers_of_random_fpdus_at_64_bits() {
    let mut bench = Bench::<64, 2>::new(FPDUPTR_MASK, LATENCY);
    bench.traffic(600);
    bench.assert_all_seen();
}

// req: MPA-FMT-12, MPA-FMT-14, MPA-MRK-10, MPA-MRK-12, MPA-MRK-21, MPA-RCV-10, MPA-ERR-05, MPA-ERR-06, AMB-18, AMB-19
// req: MPA-ERR-08
#[test]
fn markers_of_random_fpdus_at_512_bits() {
    on_large_stack(|| {
        let mut bench = Bench::<512, 16>::new(FPDUPTR_MASK, LATENCY);
        bench.traffic(300);
        bench.assert_all_seen();
    });
}

#[test]
fn a_beat_a_cycle_comes_out_a_cycle_later_and_what_its_markers_said_behind_it() {
    assert_eq!((LATENCY, VERDICT), (1, 2));
    for late in [0, 2] {
        let mut bench = Bench::<64, 2>::new(FPDUPTR_MASK, late);
        bench.traffic(30);
        assert!(bench.wrong > 30);
    }
}

// req: MPA-MRK-12
#[test]
fn a_model_that_looks_at_the_low_bits_is_seen() {
    let mut bench = Bench::<64, 2>::new(0xFFFF, LATENCY);
    bench.traffic(300);
    assert!(bench.wrong > 10);
}

#[test]
fn a_reserved_bit_that_counts_is_seen() {
    let block = Box::new(Strip::<64, 2>::default());
    let mut design = writer::write(&*block, "strip_fault").unwrap();
    let text = &mut design.modules.last_mut().unwrap().text;
    let high = "marker[23:16]";
    assert!(text.contains(high), "{text}");
    *text = text.replace(high, "(marker[23:16] ^ marker[15:8])");
    let clock: fn(&mut Strip<64, 2>, bool) = |b, level| b.clock.next = level.into();
    let mut bench = Lockstep::with_fault("strip_fault", block, &design, clock).unwrap();
    let seen = (0..6).find_map(|_| {
        let b = &mut bench.block;
        b.beat.next = FpduBeat {
            valid: true,
            first: true,
            count: 2.into(),
            marker: true,
            ..FpduBeat::default()
        };
        b.beat_data.next = 0x0100.into();
        bench.settle().and_then(|()| bench.edge()).err()
    });
    assert!(
        matches!(seen, Some(LockstepError::Differ { .. })),
        "{seen:?}"
    );
}
