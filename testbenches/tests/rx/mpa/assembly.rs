//! `assembly`: beats at every octet of a row, with every length, against rings that are plain arrays; three readers beside.

use fastrand::Rng;
use std::collections::VecDeque;
use warpline_hdl::Config;
use warpline_hdl::parts::lane_ram;
use warpline_hdl::rx::mpa::assembly::{Assembly, latency};
use warpline_sv_writer as writer;
use warpline_testbenches::lockstep::{Lockstep, LockstepError, on_large_stack};
use warpline_testbenches::octets::{lowest, noisy_beat, octets};
use warpline_testbenches::stimulus::chance;

const STREAMS: usize = 4;
const RING: usize = 4096;

/// Octets of which `skip` to the last one are new.
#[derive(Clone, Debug)]
struct Beat {
    stream: usize,
    position: u32,
    skip: usize,
    octets: Vec<u8>,
    edge: u32,
}

struct Bench<const W: usize, const K: usize, const D: usize, const H: usize, const LOGK: usize> {
    lockstep: Lockstep<Assembly<W, K, D, H, LOGK>>,
    rng: Rng,
    rings: [Vec<u8>; STREAMS],
    /// They, as the header RAM has them: a cycle later.
    headers: [Vec<u8>; STREAMS],
    /// Cycles from a beat to `landed`, as the model has it.
    latency: usize,
    landing: VecDeque<(usize, Beat)>,
    /// Where the last octets landed.
    fresh: Option<(usize, u32)>,
    reads: VecDeque<(Vec<u8>, Vec<u8>, u16)>,
    fresh_reads: usize,
    cycle: usize,
    wrong: usize,
}

impl<const W: usize, const K: usize, const D: usize, const H: usize, const LOGK: usize>
    Bench<W, K, D, H, LOGK>
{
    fn new(latency: usize) -> Self {
        let config = Config {
            ring_octets: RING,
            commit_octets: RING,
            ..Config::simulated(W)
        };
        let block = Box::new(Assembly::new(&config));
        let top = format!("assembly_{W}");
        let lockstep = Lockstep::new(&top, block, |b, level| b.clock.next = level.into());
        Self {
            lockstep: lockstep.unwrap_or_else(|e| panic!("{e}")),
            rng: Rng::with_seed(W as u64),
            rings: std::array::from_fn(|_| vec![0; RING]),
            headers: std::array::from_fn(|_| vec![0; RING]),
            latency,
            landing: VecDeque::new(),
            fresh: None,
            reads: VecDeque::new(),
            fresh_reads: 0,
            cycle: 0,
            wrong: 0,
        }
    }

    fn row(stream: usize, position: u32) -> usize {
        stream * (RING / K) + position as usize % RING / K
    }

    /// All readers ask for rows; what they will see are the rings as they are now.
    fn read(&mut self) {
        let (stream, position) = match self.fresh.take() {
            Some(place) if chance(&mut self.rng, 80) => {
                self.fresh_reads += 1;
                place
            }
            _ => (self.rng.usize(0..STREAMS), self.rng.u32(..)),
        };
        // K octets from any octet on, as `fetch` asks for them from any dword on
        let lane = position as usize % K;
        let rows = [position, position.wrapping_add(K as u32)].map(|at| Self::row(stream, at));
        let b = &mut self.lockstep.block;
        b.read_row_0.next = (rows[0] as u64).into();
        b.read_row_1.next = (rows[1] as u64).into();
        b.read_select.next = lowest(lane);
        let ring = |row: usize| &self.rings[row / (RING / K)][row % (RING / K) * K..][..K];
        let data = (0..K)
            .map(|at| ring(rows[usize::from(at < lane)])[at])
            .collect();
        b.header_row.next = (rows[0] as u64).into();
        let header = self.headers[stream][rows[0] % (RING / K) * K..][..K]
            .chunks(4)
            .flat_map(|dword| dword[..2].to_vec())
            .collect();
        // the marker in front of the same position, in whatever row it stands
        let marker = Self::row(stream, position & !511);
        b.marker_row.next = (marker as u64).into();
        let pointer = &ring(marker)[2..4];
        let pointer = u16::from_be_bytes([pointer[0], pointer[1]]);
        self.reads.push_back((data, header, pointer));
    }

    fn cycle(&mut self, beat: Option<Beat>) {
        self.read();
        let shown = beat.clone().unwrap_or_else(|| self.any_beat());
        let b = &mut self.lockstep.block;
        b.beat_valid.next = beat.is_some();
        b.beat_data.next = noisy_beat(&mut self.rng, &shown.octets);
        b.beat.next.stream = (shown.stream as u64).into();
        b.beat.next.position = u64::from(shown.position).into();
        b.beat.next.skip = (shown.skip as u64).into();
        b.beat.next.count = (shown.octets.len() as u64).into();
        b.beat.next.new_edge = u64::from(shown.edge).into();
        if let Some(beat) = beat {
            self.landing.push_back((self.cycle + self.latency, beat));
        }
        self.lockstep.settle().unwrap();
        let b = &self.lockstep.block;
        let landed = b
            .landed
            .val()
            .then(|| (b.landed_stream.val().index(), b.landed_edge.val().to_u32()));
        let due = match self.landing.front() {
            Some((at, _)) if *at == self.cycle => self.landing.pop_front(),
            _ => None,
        };
        let expected = due.as_ref().map(|(_, beat)| (beat.stream, beat.edge));
        self.wrong += self.lockstep.mismatch(landed != expected);
        if self.reads.len() > lane_ram::LATENCY {
            let (data, header, pointer) = self.reads.pop_front().unwrap();
            let same = octets(b.read_data.val()) == data
                && octets(b.header_data.val()) == header
                && b.marker_data.val().to_u16() == pointer;
            self.wrong += self.lockstep.mismatch(!same);
        }
        self.headers.clone_from(&self.rings);
        if let Some((_, beat)) = due {
            for (octet, value) in beat.octets.iter().enumerate().skip(beat.skip) {
                let place = beat.position.wrapping_add(octet as u32) as usize % RING;
                self.rings[beat.stream][place] = *value;
            }
            let first = beat.position.wrapping_add(beat.skip as u32);
            self.fresh = Some((beat.stream, first));
        }
        self.lockstep.edge().unwrap();
        self.cycle += 1;
    }

    fn any_beat(&mut self) -> Beat {
        let (position, count) = (self.rng.u32(..), self.rng.usize(1..=K));
        let skip = self.rng.usize(0..count);
        self.beat(position, skip, count)
    }

    fn beat(&mut self, position: u32, skip: usize, count: usize) -> Beat {
        Beat {
            stream: self.rng.usize(0..STREAMS),
            position,
            skip,
            octets: (0..count).map(|_| self.rng.u8(..)).collect(),
            edge: self.rng.u32(..),
        }
    }

    /// A beat in some row of the ring, now and then where positions wrap, at octet `lane` of the row.
    fn at_lane(&mut self, lane: usize, skip: usize, count: usize) {
        let row = match self.rng.u8(0..4) {
            0 => u32::MAX,
            _ => self.rng.u32(..),
        };
        let position = row / K as u32 * K as u32 + lane as u32;
        let beat = self.beat(position, skip, count);
        self.cycle(Some(beat));
        if chance(&mut self.rng, 20) {
            self.cycle(None);
        }
    }

    fn finish(&mut self) {
        for _ in 0..self.latency + lane_ram::LATENCY + 1 {
            self.cycle(None);
        }
        assert!(self.landing.is_empty());
    }
}

// req: MPA-RCV-17, MPA-RCV-20, MPA-RCV-36, AMB-40
#[test]
fn every_octet_with_every_length_at_64_bits() {
    let mut bench = Bench::<64, 8, 2, 32, 3>::new(latency(8));
    for lane in 0..8 {
        for count in 1..=8 {
            (0..count).for_each(|skip| bench.at_lane(lane, skip, count));
        }
    }
    for _ in 0..2000 {
        let beat = bench.any_beat();
        bench.cycle(Some(beat));
    }
    bench.finish();
    assert_eq!(bench.wrong, 0);
    assert!(bench.fresh_reads > 1000);
}

// req: MPA-RCV-17, MPA-RCV-20, MPA-RCV-36, AMB-40
#[test]
fn every_octet_and_every_length_at_512_bits() {
    on_large_stack(|| {
        let mut bench = Bench::<512, 64, 16, 256, 6>::new(latency(64));
        for lane in 0..64 {
            let count = 1 + (lane * 37) % 64;
            bench.at_lane(lane, 0, count);
            let skip = bench.rng.usize(0..count);
            bench.at_lane(63 - lane, skip, count);
            bench.at_lane(lane, lane, 64);
            bench.at_lane(lane, 0, 64);
        }
        bench.finish();
        assert_eq!(bench.wrong, 0);
        assert!(bench.fresh_reads > 100);
    });
}

#[test]
fn octets_land_a_cycle_for_two_bits_of_the_octet_later_a_beat_a_cycle() {
    assert_eq!([8, 16, 32, 64].map(latency), [2, 2, 3, 3]);
    // a model that is early or late is seen
    for late in [1, 3] {
        let mut bench = Bench::<64, 8, 2, 32, 3>::new(late);
        for _ in 0..100 {
            let beat = bench.any_beat();
            bench.cycle(Some(beat));
        }
        assert!(bench.wrong > 50);
    }
}

#[test]
fn octets_of_a_beat_that_are_old_stay_as_they_were() {
    let mut bench = Bench::<64, 8, 2, 32, 3>::new(latency(8));
    for (position, skip) in [(16, 0), (13, 5)] {
        let beat = Beat {
            stream: 3,
            position,
            skip,
            octets: vec![position as u8; 8],
            edge: position + 8,
        };
        bench.cycle(Some(beat));
    }
    bench.finish();
    assert_eq!(
        bench.rings[3][13..24],
        [0, 0, 0, 16, 16, 13, 13, 13, 16, 16, 16]
    );
    bench.fresh = Some((3, 13));
    bench.finish();
    assert_eq!(bench.wrong, 0);
}

#[test]
fn a_row_that_does_not_wrap_is_seen() {
    let config = Config {
        ring_octets: RING,
        commit_octets: RING,
        ..Config::simulated(64)
    };
    let block = Box::new(Assembly::<64, 8, 2, 32, 3>::new(&config));
    let mut design = writer::write(&*block, "assembly_fault").unwrap();
    let text = &mut design.modules.last_mut().unwrap().text;
    let wrapped = "(row + 32'h1) & row_mask";
    assert!(text.contains(wrapped), "{text}");
    *text = text.replace(wrapped, "(row + 32'h1) & (row_mask << 1 | 1)");
    let clock: fn(&mut Assembly<64, 8, 2, 32, 3>, bool) = |b, level| b.clock.next = level.into();
    let mut bench = Lockstep::with_fault("assembly_fault", block, &design, clock).unwrap();
    let seen = (0..10).find_map(|cycle| {
        let b = &mut bench.block;
        b.beat_valid.next = cycle == 0;
        b.beat.next.position = 4093.into();
        b.beat.next.count = 8.into();
        b.beat_data.next = 0x8877_6655_4433_2211_u64.into();
        b.read_select.next = 0xFF.into();
        bench.settle().and_then(|()| bench.edge()).err()
    });
    assert!(
        matches!(seen, Some(LockstepError::Differ { .. })),
        "{seen:?}"
    );
}
