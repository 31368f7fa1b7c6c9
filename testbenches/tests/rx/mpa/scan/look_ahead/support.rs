//! Scanner with `ahead`, sources with gaps, and the scoreboard.

use crate::support::Gate;
use fastrand::Rng;
use std::collections::VecDeque;
use warpline_hdl::Config;
use warpline_hdl::records::Fpdu;
use warpline_hdl::rx::mpa::scan::Scan;
use warpline_sv_writer::{self as writer, Design};
use warpline_testbenches::lockstep::{Lockstep, LockstepError};
use warpline_testbenches::octets::beat;
use warpline_testbenches::stimulus::chance;
use warpline_wire::{marker, mpa};

pub const STREAMS: usize = 4;
/// Cycles from a beat at the output of `admit` to its octets being in the ring, at most.
pub const LANDING: usize = 3;
/// Octets of the ring that `fetch` reads of an FPDU that is placed.
pub const HEADER: u64 = 24;

/// An FPDU of a stream.
#[derive(Clone, Copy, Debug)]
pub struct Planned {
    pub position: u64,
    pub ulpdu: u16,
    pub octets: u64,
    /// It was given out ahead, and accepted.
    pub ahead: bool,
    pub accepted: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Source {
    pub live: bool,
    pub markers: bool,
    pub crc: bool,
    pub plan: Vec<Planned>,
    /// All octets of the plan.
    pub octets: Vec<u8>,
    /// FPDUs that came out in order.
    pub out: usize,
    pub edge: u64,
    pub islands: Vec<(u64, u64)>,
    pub ring: Vec<u8>,
}

impl Source {
    /// Position up to which the ring is free.
    pub fn tail(&self) -> u64 {
        let next = self.plan.get(self.out);
        next.map_or(self.octets.len() as u64, |planned| planned.position)
    }

    pub fn accept(&mut self, from: u64, end: u64) {
        let mut all = std::mem::take(&mut self.islands);
        all.push((from, end));
        all.sort_unstable();
        for (from, end) in all {
            match self.islands.last_mut() {
                _ if from <= self.edge => self.edge = self.edge.max(end),
                Some(last) if from <= last.1 => last.1 = last.1.max(end),
                _ => self.islands.push((from, end)),
            }
        }
    }

    pub fn island(&self, position: u64) -> Option<(u64, u64)> {
        let holds = |island: &&(u64, u64)| (island.0..island.1).contains(&position);
        self.islands.iter().find(holds).copied()
    }
}

/// What a segment does to its stream.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    pub stream: usize,
    pub from: u64,
    pub end: u64,
}

#[derive(Clone, Debug, Default)]
pub struct Seen {
    pub issued: usize,
    pub in_order: usize,
    pub ahead: usize,
    pub accepted: usize,
    pub placed: usize,
    /// Accepted ahead, and placed in order once more all the same.
    pub twice: usize,
    /// Given out ahead, and not in the plan.
    pub strangers: usize,
    pub leading: usize,
    pub chained: usize,
}

/// What was given out ahead and is not answered yet.
#[derive(Clone, Copy, Debug)]
pub struct Flying {
    pub due: usize,
    pub stream: usize,
    pub position: u32,
    pub index: Option<usize>,
    pub life: usize,
    pub accept: bool,
}

pub struct Bench<const H: usize, const D: usize, const LOGD: usize> {
    pub lockstep: Lockstep<Scan<H, D, LOGD, STREAMS>>,
    pub rng: Rng,
    pub config: Config,
    pub sources: [Source; STREAMS],
    pub lives: [usize; STREAMS],
    /// Header rows, pointers and islands asked for in the last two cycles.
    pub asked: [Vec<u8>; 2],
    pub pointers: [u16; 2],
    pub told: [Option<(u64, u64)>; 2],
    /// Beats on their way into the rings: cycle, stream, octets, edge behind them, life of the stream.
    pub landing: VecDeque<(usize, Segment, u64, usize)>,
    pub started: VecDeque<usize>,
    pub flying: VecDeque<Flying>,
    /// Cycle in which `fetch` has read all it has been given.
    pub busy: usize,
    /// Cycle up to which it takes nothing.
    pub stalled: usize,
    /// Answers in a hundred that are good, and cycles to the answer.
    pub good: u32,
    pub answer: usize,
    /// In how many cycles of a thousand the gate of a stream changes; all are open if in none.
    pub gates_change: u32,
    pub gates: [Gate; STREAMS],
    /// Cycles of FPDUs that came out ahead.
    pub aheads: Vec<usize>,
    /// Cycles of those in order.
    pub outs: Vec<usize>,
    /// The text is not the block's: a difference ends the run, where it is a defect otherwise.
    pub planted: bool,
    /// What the simulators differ in, for planted faults.
    pub failed: Option<LockstepError>,
    pub cycle: usize,
    pub wrong: usize,
    pub seen: Seen,
}

impl<const H: usize, const D: usize, const LOGD: usize> Bench<H, D, LOGD> {
    pub fn new(config: Config, seed: u64) -> Self {
        let block = Box::new(Scan::<H, D, LOGD, STREAMS>::new(&config));
        let design = writer::write(&*block, &format!("scan_ahead_{}", config.width)).unwrap();
        Self::of(
            config,
            seed,
            &format!("scan_ahead_{}", config.width),
            &design,
        )
    }

    pub fn of(config: Config, seed: u64, top: &str, design: &Design) -> Self {
        let block = Box::new(Scan::new(&config));
        let clock: fn(&mut Scan<H, D, LOGD, STREAMS>, bool) =
            |b, level| b.clock.next = level.into();
        let lockstep = Lockstep::with_design(top, block, design, clock);
        let mut bench = Self {
            lockstep: lockstep.unwrap_or_else(|e| panic!("{e}")),
            rng: Rng::with_seed(seed),
            config,
            sources: Default::default(),
            lives: [0; STREAMS],
            asked: std::array::from_fn(|_| vec![0; 2 * D]),
            pointers: [0; 2],
            told: [None; 2],
            landing: VecDeque::new(),
            started: VecDeque::new(),
            flying: VecDeque::new(),
            busy: 0,
            stalled: 0,
            good: 100,
            answer: 40,
            gates_change: 0,
            gates: Default::default(),
            aheads: vec![],
            outs: vec![],
            planted: false,
            failed: None,
            cycle: 0,
            wrong: 0,
            seen: Seen::default(),
        };
        for source in &mut bench.sources {
            source.ring = vec![0; config.ring_octets];
        }
        bench.lockstep.block.reset.next = true;
        bench.idle(2);
        bench.lockstep.block.reset.next = false;
        bench
    }

    pub fn arm(&mut self, stream: usize, markers: bool, crc: bool) {
        let b = &mut self.lockstep.block;
        b.arm.next = true;
        b.stream.next = (stream as u64).into();
        b.markers.next = markers;
        b.crc.next = crc;
        self.idle(1);
        self.lockstep.block.arm.next = false;
        self.idle(1); // takes effect a cycle later
        let source = &mut self.sources[stream];
        *source = Source {
            live: true,
            markers,
            crc,
            ring: std::mem::take(&mut source.ring),
            ..Source::default()
        };
    }

    pub fn close(&mut self, stream: usize) {
        let b = &mut self.lockstep.block;
        b.close.next = true;
        b.stream.next = (stream as u64).into();
        self.idle(1);
        self.lockstep.block.close.next = false;
        self.idle(1); // takes effect a cycle later
        self.sources[stream].live = false;
        self.lives[stream] += 1;
    }

    /// Appends an FPDU to the plan of a stream.
    pub fn plan(&mut self, stream: usize, ulpdu: u16) {
        let source = &mut self.sources[stream];
        let position = source.octets.len() as u64;
        let octets = mpa::fpdu_len(position as u32, ulpdu.into(), source.markers) as u64;
        let lead = source.markers && marker::is_due(position as u32);
        let header = position as usize + 4 * usize::from(lead);
        let content = (0..octets).map(|_| self.rng.u8(..));
        source.octets.extend(content);
        source.octets[header..header + 2].copy_from_slice(&ulpdu.to_be_bytes());
        let end = source.octets.len();
        for at in (position as usize..end).filter(|at| source.markers && at.is_multiple_of(512)) {
            let pointer = marker::expected_fpduptr(at as u32, header as u32);
            // the low bits say nothing (MPA-MRK-12)
            let pointer = pointer | self.rng.u16(0..4);
            source.octets[at + 2..at + 4].copy_from_slice(&pointer.to_be_bytes());
        }
        source.plan.push(Planned {
            position,
            ulpdu,
            octets,
            ahead: false,
            accepted: false,
        });
    }

    pub fn idle(&mut self, cycles: usize) {
        for _ in 0..cycles {
            self.cycle(None);
        }
    }

    /// Beats of a segment, one a cycle.
    pub fn segment(&mut self, stream: usize, from: u64, end: u64) {
        let octets = self.config.octets() as u64;
        let mut at = from;
        while at < end {
            let to = end.min(at + octets);
            self.cycle(
                Some(Segment {
                    stream,
                    from: at,
                    end: to,
                })
                .map(|beat| (beat, to == end)),
            );
            at = to;
        }
    }

    /// Octets of some FPDUs of a stream as one segment.
    pub fn fpdus(&mut self, stream: usize, fpdus: std::ops::Range<usize>) {
        let plan = &self.sources[stream].plan;
        let (first, last) = (plan[fpdus.start], plan[fpdus.end - 1]);
        self.segment(stream, first.position, last.position + last.octets);
    }

    pub fn fail(&mut self, error: LockstepError) {
        assert!(self.planted, "{error}");
        self.failed = Some(error);
    }

    pub fn cycle(&mut self, beat_of: Option<(Segment, bool)>) {
        if self.failed.is_some() {
            return;
        }
        let rows = self.config.ring_octets / self.config.octets();
        let noise = self.rng.u64(..) & 0xFFFF_FFFF;
        let b = &mut self.lockstep.block;
        b.beyond.next = false;
        b.beyond_position.next = noise.into();
        b.beyond_stream.next = (noise % 4).into();
        if let Some((beat, last)) = beat_of {
            let source = &mut self.sources[beat.stream];
            let beyond = beat.from > source.edge;
            b.beyond.next = beyond && last;
            b.beyond_stream.next = (beat.stream as u64).into();
            b.beyond_position.next = beat.from.into();
            assert!(beat.end <= source.tail() + self.config.ring_octets as u64);
            source.accept(beat.from, beat.end);
            let life = self.lives[beat.stream];
            self.landing
                .push_back((self.cycle + LANDING, beat, source.edge, life));
        }
        let due = |at: &usize| *at <= self.cycle;
        let landed = match self.landing.front() {
            Some((at, ..)) if due(at) => self.landing.pop_front(),
            _ => None,
        };
        let landed = landed.filter(|(_, beat, _, life)| *life == self.lives[beat.stream]);
        for (i, gate) in self.gates.iter_mut().enumerate() {
            if self.gates_change > 0 && self.rng.u32(..1000) < self.gates_change {
                *gate = Gate::random(&mut self.rng);
            }
            b.may_run[i].next = gate.may_run();
            b.may_issue[i].next = gate.may_issue();
        }
        b.landed.next = landed.is_some();
        let (stream, edge) = landed.map_or((noise % 4, noise), |(_, beat, edge, _)| {
            (beat.stream as u64, edge)
        });
        b.landed_stream.next = stream.into();
        b.landed_edge.next = edge.into();
        b.header_data.next = beat(&self.asked[0]);
        b.marker_data.next = u64::from(self.pointers[0]).into();
        b.island.next = self.told[0].is_some();
        let (begin, end) = self.told[0].unwrap_or((noise, noise ^ 64));
        b.island_begin.next = begin.into();
        b.island_end.next = end.into();
        let starts = self.started.front().is_some_and(due);
        b.ahead_started.next = starts;
        if starts {
            self.started.pop_front();
        }
        let answer = match self.flying.front() {
            Some(flying) if due(&flying.due) => self.flying.pop_front(),
            _ => None,
        };
        b.ahead_done.next = answer.is_some();
        b.ahead_stream.next = answer
            .map_or(noise % 4, |answer| answer.stream as u64)
            .into();
        b.ahead_position.next = answer
            .map_or(noise & 0xFFFF_FFFF, |answer| answer.position.into())
            .into();
        b.ahead_accepted.next = answer.map_or(noise & 1 == 0, |answer| answer.accept);
        b.fpdu_ready.next = self.busy <= self.cycle + 25 && self.stalled <= self.cycle;
        if let Err(error) = self.lockstep.settle() {
            return self.fail(error);
        }
        self.compare();
        if let Some(answer) = answer.filter(|answer| answer.life == self.lives[answer.stream]) {
            self.seen.accepted += usize::from(answer.accept);
            if let Some(index) = answer.index {
                self.sources[answer.stream].plan[index].accepted |= answer.accept;
            }
        }
        let b = &self.lockstep.block;
        let width = self.config.octets();
        let row_of = |row: usize| {
            let ring = &self.sources[row / rows % STREAMS].ring;
            &ring[row % rows * width..][..width]
        };
        let header = row_of(b.header_row.val().index()).chunks(4);
        let header = header.flat_map(|dword| dword[..2].to_vec()).collect();
        let pointer = &row_of(b.marker_row.val().index())[2..4];
        let pointer = u16::from_be_bytes([pointer[0], pointer[1]]);
        let asked = &self.sources[b.asked_stream.val().index() % STREAMS];
        let told = asked.island(b.asked_position.val().to_u64());
        self.asked.rotate_left(1);
        self.asked[1] = header;
        self.pointers = [self.pointers[1], pointer];
        self.told = [self.told[1], told];
        if let Err(error) = self.lockstep.edge() {
            return self.fail(error);
        }
        if let Some((_, beat, ..)) = landed {
            let source = &mut self.sources[beat.stream];
            let ring = source.ring.len() as u64;
            for position in beat.from..beat.end {
                source.ring[(position % ring) as usize] = source.octets[position as usize];
            }
        }
        self.cycle += 1;
    }

    pub fn compare(&mut self) {
        let b = &self.lockstep.block;
        self.seen.issued += usize::from(b.issued.val());
        if !(b.fpdu_valid.val() && b.fpdu_ready.val()) {
            return;
        }
        let found = b.fpdu.val();
        let (stream, position) = (found.stream.index(), found.position.to_u64());
        let source = &mut self.sources[stream];
        let index = source
            .plan
            .iter()
            .position(|planned| planned.position == position);
        let mut octets = 4 * found.dwords.to_u64();
        if let Some(planned) = index.map(|index| source.plan[index]) {
            let expected = Fpdu {
                stream: found.stream,
                position: found.position,
                dwords: (planned.octets / 4).into(),
                markers: source.markers,
                // of one that is ahead it says whether an error counts at once
                crc: if found.ahead { found.crc } else { source.crc },
                refused: 0.into(),
                ulpdu: u64::from(planned.ulpdu).into(),
                ahead: found.ahead,
                placed: found.placed,
                header_only: found.placed && planned.octets > HEADER,
            };
            self.wrong += self.lockstep.mismatch(found != expected);
        }
        if found.ahead {
            self.aheads.push(self.cycle);
            self.seen.ahead += 1;
            self.wrong += self
                .lockstep
                .mismatch(!(source.markers && source.crc) || found.placed);
            match index {
                None => self.seen.strangers += 1,
                Some(index) => {
                    let end = source.plan[index].position + source.plan[index].octets;
                    let island = source.island(position);
                    // it was whole, and in front of it something was missing, which may be there by now
                    let whole = island.is_some_and(|island| island.1 >= end) || source.edge >= end;
                    let again = source.plan[index].ahead || index < source.out;
                    self.wrong += self.lockstep.mismatch(!whole || again);
                    source.plan[index].ahead = true;
                    self.seen.leading += usize::from(position.is_multiple_of(512));
                    let first_marker = position.next_multiple_of(512);
                    self.seen.chained += usize::from(first_marker >= end);
                }
            }
        } else {
            let next = source.plan.get(source.out).copied();
            source.out += 1;
            self.seen.in_order += 1;
            self.outs.push(self.cycle);
            self.seen.placed += usize::from(found.placed);
            let Some(next) = next.filter(|next| next.position == position) else {
                self.wrong += self.lockstep.mismatch(true);
                return;
            };
            self.wrong += self.lockstep.mismatch(found.placed && !next.accepted);
            self.wrong += self
                .lockstep
                .mismatch(source.edge < next.position + next.octets);
            self.seen.twice += usize::from(next.accepted && !found.placed);
        }
        if found.placed {
            octets = octets.min(HEADER);
        }
        let beats = octets.div_ceil(self.config.octets() as u64) as usize;
        let start = self.busy.max(self.cycle + 3);
        self.busy = start + beats;
        if found.ahead {
            self.started.push_back(start);
            let last = self.flying.back().map_or(0, |flying| flying.due + 1);
            let due = last.max(self.busy + self.rng.usize(self.answer / 2..=self.answer));
            self.flying.push_back(Flying {
                due,
                stream,
                position: found.position.to_u32(),
                index,
                life: self.lives[stream],
                accept: chance(&mut self.rng, self.good),
            });
        }
    }

    /// Runs until all of the plans is out.
    pub fn finish(&mut self) {
        let mut patience = 20_000;
        let ready = |source: &Source| !source.live || source.out == source.plan.len();
        while !(self.sources.iter().all(ready) && self.flying.is_empty()) && self.failed.is_none() {
            self.idle(1);
            patience -= 1;
            assert!(patience > 0, "an FPDU is stuck: {:?}", self.seen);
        }
    }
}

impl<const H: usize, const D: usize, const LOGD: usize> Bench<H, D, LOGD> {
    /// Runs until so many FPDUs have come out ahead, and are answered.
    pub fn finish_ahead(&mut self, fpdus: usize) {
        let mut patience = 5_000;
        while self.aheads.len() < fpdus || !self.flying.is_empty() {
            self.idle(1);
            patience -= 1;
            assert!(patience > 0, "{} came out", self.aheads.len());
        }
    }
}

pub fn small(width: usize) -> Config {
    Config {
        ring_octets: 16 << 10,
        commit_octets: 16 << 10,
        ..Config::simulated(width)
    }
}

pub type Bench64 = Bench<32, 2, 1>;

pub fn armed() -> Bench64 {
    let mut bench = Bench::new(small(64), 5);
    bench.arm(2, true, true);
    bench
}

/// Segments of four streams, cut at random, in an order that leaves up to four islands; streams come and go.
pub fn traffic<const H: usize, const D: usize, const LOGD: usize>(
    width: usize,
    rounds: usize,
    good: u32,
) -> Bench<H, D, LOGD> {
    gated_traffic(width, rounds, good, 0)
}

/// The same with gates that change in so many cycles of a thousand.
pub fn gated_traffic<const H: usize, const D: usize, const LOGD: usize>(
    width: usize,
    rounds: usize,
    good: u32,
    gates_change: u32,
) -> Bench<H, D, LOGD> {
    let mut bench = Bench::<H, D, LOGD>::new(small(width), width as u64 + u64::from(good));
    bench.good = good;
    bench.gates_change = gates_change;
    bench.answer = 80;
    for round in 0..rounds {
        for stream in 0..STREAMS {
            if bench.sources[stream].live && chance(&mut bench.rng, 50) {
                continue;
            }
            if bench.sources[stream].live {
                bench.close(stream);
                // as long as `control` waits; no FPDU of it is under way then
                bench.idle(64);
                while bench.busy > bench.cycle || !bench.flying.is_empty() {
                    bench.idle(1);
                }
            }
            let (markers, crc) = (chance(&mut bench.rng, 85), chance(&mut bench.rng, 85));
            bench.arm(stream, markers, crc);
        }
        let mut waiting: Vec<Vec<Segment>> = vec![];
        for stream in 0..STREAMS {
            let before = bench.sources[stream].octets.len() as u64;
            let most = bench.rng.choice([60, 200, 600, 1500]).unwrap();
            while (bench.sources[stream].octets.len() as u64) < before + 9000 {
                let ulpdu = bench.rng.u16(0..most);
                bench.plan(stream, ulpdu);
            }
            let all = bench.sources[stream].octets.len() as u64;
            let most = bench.rng.choice([100, 500, 1460, 3000]).unwrap();
            let mut segments = vec![];
            let mut from = before;
            while from < all {
                let end = all.min(from + bench.rng.u64(1..=most));
                segments.push(Segment { stream, from, end });
                from = end;
            }
            waiting.push(segments);
        }
        let backward = round % 3 == 0;
        while waiting.iter().any(|segments| !segments.is_empty()) {
            let stream = bench.rng.usize(0..STREAMS);
            let segments = &mut waiting[stream];
            if segments.is_empty() {
                continue;
            }
            let source = &bench.sources[stream];
            // any of the next ones, as long as the islands are not too many and all is in the ring
            let allowed = |segment: &Segment| {
                let mut after = source.clone();
                after.accept(segment.from, segment.end);
                after.islands.len() <= 4 && segment.end <= source.tail() + 16_384
            };
            let reach = segments.len().min(if backward { usize::MAX } else { 8 });
            let choice = match backward {
                true => (0..reach).rev().find(|&at| allowed(&segments[at])),
                false => Some(bench.rng.usize(0..reach)).filter(|&at| allowed(&segments[at])),
            };
            if gates_change > 0 && choice.is_none() {
                // a held stream is full
                bench.idle(1);
                continue;
            }
            let segment = segments.remove(choice.unwrap_or(0));
            bench.segment(stream, segment.from, segment.end);
            let idle = match bench.rng.u8(0..6) {
                0 => bench.rng.usize(0..200),
                _ => bench.rng.usize(0..4),
            };
            bench.idle(idle);
        }
        if chance(&mut bench.rng, 70) {
            bench.finish();
        }
        // the rings have room for a round more only behind what is out
        let mut patience = 20_000;
        while (0..STREAMS).any(|i| bench.sources[i].out < bench.sources[i].plan.len() / 2) {
            bench.idle(1);
            patience -= 1;
            assert!(patience > 0);
        }
        bench.finish();
    }
    bench.finish();
    bench
}
