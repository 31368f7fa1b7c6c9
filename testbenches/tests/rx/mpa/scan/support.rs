//! Scanner, its sources and its scoreboard.

use fastrand::Rng;
use std::collections::VecDeque;
use warpline_hdl::Config;
use warpline_hdl::records::Fpdu;
use warpline_hdl::rx::mpa::assembly;
use warpline_hdl::rx::mpa::scan::{SINGLE, Scan};
use warpline_hdl::rx::mpa::stream_end::Mark;
use warpline_regmap::layout::refused;
use warpline_sv_writer::{self as writer, Design};
use warpline_testbenches::lockstep::{Lockstep, LockstepError, plant};
use warpline_testbenches::octets::beat;
use warpline_testbenches::stimulus::{Pace, Rhythm, chance};
use warpline_wire::mpa;

pub const STREAMS: usize = 4;
/// Cycles from the octet that makes an FPDU whole to `issued`, when its length was not known before, and when it was.
pub const UNKNOWN: usize = 12;
pub const KNOWN: usize = 5;
/// The same from the landing of the beat with which it begins, when it ends with that or the next one.
pub const PROMPT: usize = 3;
/// Cycles more when markers inside have to be counted, which is done from this ULPDU_Length on.
pub const COUNTING: usize = 4;
pub const LONG: u16 = 504;
/// Cycles from the last one with `may_issue` to an FPDU that was selected in it, if nothing holds it up.
pub const SELECTED: usize = 2;
/// FPDUs in the queue that hold it up.
const FULL: usize = 8;
/// Cycles in which the block drains.
pub const SETTLED: usize = 200;

/// An FPDU that a stream holds.
#[derive(Clone, Copy, Debug)]
pub struct Planned {
    pub position: u64,
    pub ulpdu: u16,
    pub octets: u64,
    pub refused: u8,
    /// Octets behind `position` that have to land before it can go out.
    pub need: u64,
}

/// What `pace` allows a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Gate {
    #[default]
    Runs,
    Single,
    Held,
}

impl Gate {
    pub fn random(rng: &mut Rng) -> Self {
        [Self::Runs, Self::Single, Self::Held][rng.usize(..3)]
    }

    pub fn may_run(self) -> bool {
        self == Self::Runs
    }

    pub fn may_issue(self) -> bool {
        self != Self::Held
    }
}

/// A stream's gate, and since when it is closed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gated {
    pub gate: Gate,
    /// Cycles without `may_issue` in which a selected FPDU was not held up.
    pub held: usize,
    /// Cycles without `may_run`.
    pub single: usize,
    /// Cycle of the last FPDU.
    pub last: Option<usize>,
}

/// A beat on its way into the ring, as `admit` tells of it.
pub struct Beat {
    pub stream: usize,
    pub position: u64,
    pub skip: u64,
    pub count: u64,
    pub edge: u64,
}

#[derive(Clone, Debug, Default)]
pub struct Source {
    pub live: bool,
    pub markers: bool,
    pub crc: bool,
    pub long_ulpdus: bool,
    pub plan: VecDeque<Planned>,
    /// Position behind the last FPDU of the plan.
    pub planned: u64,
    pub landed: u64,
    /// Cycle in which the first FPDU of the plan became whole.
    pub whole: Option<usize>,
    /// No octet counts that lands from here on.
    pub stopped: bool,
    /// The peer's FIN is still to be told.
    pub finished: bool,
    /// Why the stream is lost, still to be told.
    pub cause: u32,
    pub ring: Vec<u8>,
}

#[derive(Clone, Debug, Default)]
pub struct Seen {
    pub issued: usize,
    pub with_markers: usize,
    pub leading: usize,
    pub prompt: usize,
    pub refused_length: usize,
    pub refused_too_large: usize,
    pub closed: usize,
    pub closed_with_backlog: usize,
    pub held_back: usize,
    pub ends: [usize; 7],
    pub issued_single: usize,
    pub held_whole: usize,
    pub ends_with_backlog: usize,
    pub pads: [usize; 4],
}

pub struct Bench<const H: usize, const D: usize, const LOGD: usize> {
    pub lockstep: Lockstep<Scan<H, D, LOGD, STREAMS>>,
    /// There is a fault in the text, and what the simulators differ in for it: nothing runs from then on.
    pub planted: bool,
    pub failed: Option<LockstepError>,
    pub rng: Rng,
    pub config: Config,
    pub sources: [Source; STREAMS],
    /// Header rows asked for in the last two cycles, as the RAM held them then.
    pub asked: [Vec<u8>; 2],
    /// The beat that comes in the next cycle, and the lanes that land.
    pub beat: Option<Beat>,
    pub heads: Vec<u8>,
    pub expected: VecDeque<Fpdu>,
    pub ready: Rhythm,
    /// The gates of the streams, and in how many cycles of a thousand one of them changes.
    pub gates: [Gated; STREAMS],
    pub gates_change: u32,
    /// The block's inputs say that all gates are open, whatever `gates` says.
    pub gates_lie: bool,
    /// The queue was full in the last cycle, and in the one before.
    pub was_full: [bool; 2],
    /// Cycles of `issued`.
    pub issued: Vec<usize>,
    /// Octets that land behind the end of a stream.
    pub beyond: u64,
    /// Longest time from an FPDU of stream 2 being whole to `issued`, while nothing held it back.
    pub longest: usize,
    pub cycle: usize,
    pub wrong: usize,
    pub seen: Seen,
}

impl<const H: usize, const D: usize, const LOGD: usize> Bench<H, D, LOGD> {
    pub fn new(config: Config, seed: u64) -> Self {
        let block = Box::new(Scan::new(&config));
        Self::of(
            &format!("scan_{}_{}", config.width, config.ring_octets),
            block,
            config,
            seed,
        )
    }

    pub fn of(top: &str, block: Box<Scan<H, D, LOGD, STREAMS>>, config: Config, seed: u64) -> Self {
        let design = writer::write(&*block, top).unwrap_or_else(|e| panic!("{e}"));
        Self::with_text(top, block, &design, config, seed)
    }

    /// With a fault in the text: what reads `right` reads `wrong`.
    pub fn with_fault(config: Config, seed: u64, name: &str, right: &str, wrong: &str) -> Self {
        let block = Box::new(Scan::new(&config));
        let name = format!("scan_{}_{name}", config.width);
        let mut design = writer::write(&*block, &name).unwrap_or_else(|e| panic!("{e}"));
        plant(&mut design, right, wrong);
        let mut bench = Self::with_text(&name, block, &design, config, seed);
        bench.planted = true;
        bench
    }

    fn with_text(
        top: &str,
        block: Box<Scan<H, D, LOGD, STREAMS>>,
        design: &Design,
        config: Config,
        seed: u64,
    ) -> Self {
        let clock: fn(&mut Scan<H, D, LOGD, STREAMS>, bool) =
            |b, level| b.clock.next = level.into();
        let lockstep = Lockstep::with_design(top, block, design, clock);
        let mut bench = Self {
            lockstep: lockstep.unwrap_or_else(|e| panic!("{e}")),
            planted: false,
            failed: None,
            rng: Rng::with_seed(seed),
            config,
            sources: std::array::from_fn(|_| Source {
                ring: vec![0; config.ring_octets],
                ..Source::default()
            }),
            asked: std::array::from_fn(|_| vec![0; 2 * D]),
            beat: None,
            heads: vec![0; 2 * D],
            expected: VecDeque::new(),
            ready: Rhythm::new(Pace::Always),
            gates: Default::default(),
            gates_change: 0,
            gates_lie: false,
            was_full: [false; 2],
            issued: vec![],
            beyond: 0,
            longest: 0,
            cycle: 0,
            wrong: 0,
            seen: Seen::default(),
        };
        bench.lockstep.block.reset.next = true;
        bench.idle(2);
        bench.lockstep.block.reset.next = false;
        bench
    }

    pub fn arm(&mut self, stream: usize, markers: bool, crc: bool) {
        self.arm_for(stream, markers, crc, false);
    }

    /// As [`arm`](Self::arm); with `long_ulpdus` any length is accepted, which needs a stream without markers.
    pub fn arm_for(&mut self, stream: usize, markers: bool, crc: bool, long_ulpdus: bool) {
        let b = &mut self.lockstep.block;
        b.arm.next = true;
        b.stream.next = (stream as u64).into();
        b.markers.next = markers;
        b.crc.next = crc;
        b.long_ulpdus.next = long_ulpdus;
        self.cycle(None);
        self.lockstep.block.arm.next = false;
        self.cycle(None); // takes effect a cycle later
        let source = &mut self.sources[stream];
        *source = Source {
            live: true,
            markers,
            crc,
            long_ulpdus,
            ring: std::mem::take(&mut source.ring),
            ..Source::default()
        };
    }

    pub fn close(&mut self, stream: usize) {
        let b = &mut self.lockstep.block;
        b.close.next = true;
        b.stream.next = (stream as u64).into();
        self.cycle(None);
        self.lockstep.block.close.next = false;
        self.cycle(None); // takes effect a cycle later
        let source = &mut self.sources[stream];
        source.live = false;
        self.seen.closed += 1;
        self.seen.closed_with_backlog += usize::from(source.whole.is_some());
    }

    /// Marks the end of a stream. Octets that land behind it do not count.
    pub fn mark(&mut self, stream: usize, finished: bool, cause: u32) {
        self.lockstep.block.mark.next = Mark {
            finished,
            cause: u64::from(cause).into(),
            stream: (stream as u64).into(),
        };
        let source = &mut self.sources[stream];
        source.stopped = true;
        source.finished |= finished;
        if cause != 0 {
            source.cause = cause;
        }
        self.seen.ends_with_backlog += usize::from(source.live && source.whole.is_some());
        self.cycle(None);
        self.lockstep.block.mark.next = Mark {
            stream: self.rng.u64(0..4).into(),
            ..Mark::default()
        };
    }

    /// Appends an FPDU to the plan of a stream.
    pub fn plan(&mut self, stream: usize, ulpdu: u16) {
        let source = &mut self.sources[stream];
        let position = source.planned;
        let octets = mpa::fpdu_len(position as u32, ulpdu.into(), source.markers) as u64;
        let lead = u64::from(source.markers && position.is_multiple_of(512)) * 4;
        let refused = if ulpdu > mpa::MAX_ULPDU && !source.long_ulpdus {
            refused::LENGTH
        } else if octets > self.config.ring_octets as u64 {
            refused::TOO_LARGE
        } else {
            0
        } as u8;
        source.planned += octets;
        source.plan.push_back(Planned {
            position,
            ulpdu,
            octets,
            refused,
            need: if refused == 0 { octets } else { lead + 4 },
        });
    }

    /// Octets that can land before the ring is full: nothing behind the first FPDU of the plan is free.
    pub fn room(&self, stream: usize) -> u64 {
        let source = &self.sources[stream];
        let first = source
            .plan
            .front()
            .map_or(source.planned, |first| first.position);
        (first + self.config.ring_octets as u64).min(source.planned) - source.landed
    }

    /// Lets the next octets of a stream land: what two beats hold as beats that come before, more at once.
    pub fn land(&mut self, stream: usize, octets: u64) {
        let octets = octets.min(self.room(stream));
        let beat = self.config.octets() as u64;
        if octets == 0 || octets > 2 * beat || self.sources[stream].stopped {
            self.land_at_once(stream, octets);
        } else if octets > beat || (octets > 1 && chance(&mut self.rng, 30)) {
            let first = self
                .rng
                .u64(octets.saturating_sub(beat).max(1)..=beat.min(octets - 1));
            self.land_beats(stream, &[first, octets - first]);
        } else {
            self.land_beats(stream, &[octets]);
        }
    }

    /// Beats of so many new octets come, a cycle each, and land.
    pub fn land_beats(&mut self, stream: usize, beats: &[u64]) {
        let width = self.config.octets() as u64;
        let late = assembly::latency(self.config.octets());
        let mut edge = self.sources[stream].landed;
        for cycle in 0..late + beats.len() {
            self.beat = beats.get(cycle).map(|octets| {
                let skip = self.rng.u64(0..=width - octets);
                edge += octets;
                Beat {
                    stream,
                    position: (edge - octets).wrapping_sub(skip),
                    skip,
                    count: skip + octets,
                    edge,
                }
            });
            match cycle.checked_sub(late) {
                Some(landing) => self.land_at_once(stream, beats[landing]),
                None => self.cycle(None),
            }
        }
    }

    /// Octets land; the RAM holds them from the next cycle on.
    pub fn land_at_once(&mut self, stream: usize, octets: u64) {
        let noise = self.rng.u8(..);
        if self.sources[stream].stopped {
            // told, and not to be believed
            self.beyond = octets;
            self.cycle(Some(stream));
            self.beyond = 0;
            return;
        }
        let source = &mut self.sources[stream];
        let landing = source.landed..source.landed + octets;
        let mut writes: Vec<(u64, u8)> = vec![];
        // what is not ULPDU_Length is noise; a little of it does, in rings as long as these
        writes.extend(
            landing
                .clone()
                .step_by(61)
                .map(|position| (position, noise)),
        );
        for planned in &source.plan {
            let lead = u64::from(source.markers && planned.position.is_multiple_of(512)) * 4;
            let length = planned
                .ulpdu
                .to_be_bytes()
                .into_iter()
                .zip(planned.position + lead..);
            writes.extend(length.map(|(value, position)| (position, value)));
        }
        source.landed = landing.end;
        let width = self.config.octets() as u64;
        self.rng.fill(&mut self.heads);
        for (position, value) in &writes {
            let lane = position % width;
            if landing.contains(position) && lane % 4 < 2 {
                self.heads[(lane / 4 * 2 + lane % 4) as usize] = *value;
            }
        }
        self.cycle(Some(stream));
        let source = &mut self.sources[stream];
        let ring = source.ring.len() as u64;
        for (position, value) in writes {
            if landing.contains(&position) {
                source.ring[(position % ring) as usize] = value;
            }
        }
    }

    pub fn idle(&mut self, cycles: usize) {
        for _ in 0..cycles {
            self.cycle(None);
        }
    }

    /// One cycle, in which octets of a stream have landed or nothing has.
    pub fn cycle(&mut self, landed: Option<usize>) {
        if self.failed.is_some() {
            return;
        }
        let rows = self.config.ring_octets / self.config.octets();
        let b = &mut self.lockstep.block;
        b.landed.next = landed.is_some();
        let stream = landed.unwrap_or_else(|| self.rng.usize(0..STREAMS));
        b.landed_stream.next = (stream as u64).into();
        let edge = match landed {
            Some(stream) => self.sources[stream].landed + self.beyond,
            None => self.rng.u64(..),
        };
        b.landed_edge.next = (edge & 0xFFFF_FFFF).into();
        b.header_data.next = beat(&self.asked[0]);
        b.landed_heads.next = beat(&self.heads);
        let coming = self.beat.take();
        b.beat_valid.next = coming.is_some();
        if let Some(coming) = coming {
            b.beat.next.stream = (coming.stream as u64).into();
            b.beat.next.position = (coming.position & 0xFFFF_FFFF).into();
            b.beat.next.skip = coming.skip.into();
            b.beat.next.count = coming.count.into();
            b.beat.next.new_edge = (coming.edge & 0xFFFF_FFFF).into();
        }
        b.fpdu_ready.next = self.ready.go(&mut self.rng);
        for (i, gated) in self.gates.iter_mut().enumerate() {
            if self.gates_change > 0 && self.rng.u32(..1000) < self.gates_change {
                gated.gate = Gate::random(&mut self.rng);
            }
            b.may_run[i].next = gated.gate.may_run() || self.gates_lie;
            b.may_issue[i].next = gated.gate.may_issue() || self.gates_lie;
        }
        self.note_whole();
        if let Err(error) = self.lockstep.settle() {
            return self.fail(error);
        }
        self.compare();
        self.compare_gates();
        let row = self.lockstep.block.header_row.val().index();
        let width = self.config.octets();
        let row = &self.sources[row / rows % STREAMS].ring[row % rows * width..][..width];
        let kept = row
            .chunks(4)
            .flat_map(|dword| dword[..2].to_vec())
            .collect();
        self.asked.rotate_left(1);
        self.asked[1] = kept;
        if let Err(error) = self.lockstep.edge() {
            return self.fail(error);
        }
        self.cycle += 1;
    }

    fn fail(&mut self, error: LockstepError) {
        assert!(self.planted, "{error}");
        self.failed = Some(error);
    }

    pub fn note_whole(&mut self) {
        for source in &mut self.sources {
            let whole = |first: &Planned| source.landed >= first.position + first.need;
            if source.whole.is_none() && source.live && source.plan.front().is_some_and(whole) {
                source.whole = Some(self.cycle);
            }
        }
    }

    /// Counts how long the gates have been closed, before this cycle; [`passes_gate`](Self::passes_gate) judges by that.
    fn compare_gates(&mut self) {
        let free = !self.lockstep.block.issued.val() && !self.was_full[1];
        for (gated, source) in self.gates.iter_mut().zip(&self.sources) {
            gated.held += usize::from(free);
            gated.single += 1;
            if gated.gate.may_issue() {
                gated.held = 0;
            }
            if gated.gate.may_run() {
                gated.single = 0;
            }
            let held = gated.held > SELECTED && source.live && source.whole.is_some();
            self.seen.held_whole += usize::from(held);
        }
        self.was_full = [self.expected.len() >= FULL, self.was_full[0]];
    }

    /// Opens all gates.
    pub fn open_gates(&mut self) {
        self.gates = Default::default();
        self.gates_change = 0;
    }

    /// An FPDU of `stream` is issued: it may be, and does not follow another one too closely.
    fn passes_gate(&mut self, stream: usize) {
        let gated = &mut self.gates[stream];
        let last = gated.last.replace(self.cycle);
        let soon = last.is_some_and(|last| self.cycle < last + SINGLE);
        let single = gated.single > SELECTED;
        self.seen.issued_single += usize::from(single);
        let late = gated.held >= SELECTED;
        self.wrong += self.lockstep.mismatch(late || (single && soon));
    }

    pub fn compare(&mut self) {
        let mut passes = None;
        let b = &self.lockstep.block;
        let ends = |source: &Source| {
            source.live && source.whole.is_none() && (source.finished || source.cause != 0)
        };
        if b.issued.val() && ends(&self.sources[b.issued_stream.val().index()]) {
            let stream = b.issued_stream.val().index();
            let source = &mut self.sources[stream];
            let first = source.plan.front().copied();
            let position = first.map_or(source.planned, |first| first.position);
            let lead = u64::from(source.markers && position.is_multiple_of(512)) * 4;
            let there = source.landed - position;
            let refused = match (source.finished, there) {
                (true, 0) => refused::CLOSED,
                (true, _) => refused::TRUNCATED,
                (false, _) => source.cause,
            };
            source.finished = false;
            source.live = refused == refused::CLOSED;
            self.seen.ends[refused as usize] += 1;
            let known = first.filter(|_| there >= lead + 4);
            self.expected.push_back(Fpdu {
                stream: (stream as u64).into(),
                position: (position & 0xFFFF_FFFF).into(),
                dwords: 2.into(),
                markers: source.markers,
                crc: source.crc,
                refused: u64::from(refused).into(),
                ulpdu: u64::from(known.map_or(0, |known| known.ulpdu)).into(),
                ahead: false,
                placed: false,
                header_only: false,
            });
        } else if b.issued.val() {
            let stream = b.issued_stream.val().index();
            let source = &mut self.sources[stream];
            let planned = source.plan.front().copied().filter(|_| source.live);
            match (planned, source.whole.take()) {
                (Some(planned), Some(whole)) => {
                    source.plan.pop_front();
                    source.live = planned.refused == 0;
                    passes = source.live.then_some(stream);
                    self.expected.push_back(expected(stream, source, planned));
                    self.issued.push(self.cycle);
                    self.seen.prompt += usize::from(self.cycle - whole < KNOWN);
                    if stream == 2 {
                        self.longest = self.longest.max(self.cycle - whole);
                    }
                    let leading = source.markers && planned.position.is_multiple_of(512);
                    let seen = &mut self.seen;
                    seen.issued += 1;
                    seen.with_markers += usize::from(source.markers);
                    seen.leading += usize::from(leading);
                    seen.refused_length +=
                        usize::from(u64::from(planned.refused) == u64::from(refused::LENGTH));
                    seen.refused_too_large +=
                        usize::from(u64::from(planned.refused) == u64::from(refused::TOO_LARGE));
                    seen.pads[mpa::pad_len(planned.ulpdu.into())] += 1;
                }
                _ => self.wrong += self.lockstep.mismatch(true),
            }
        }
        if b.fpdu_valid.val() && b.fpdu_ready.val() {
            let found = b.fpdu.val();
            self.wrong += self
                .lockstep
                .mismatch(self.expected.pop_front() != Some(found));
        }
        self.seen.held_back += usize::from(b.fpdu_valid.val() && !b.fpdu_ready.val());
        if let Some(stream) = passes {
            self.passes_gate(stream);
        }
    }
}

/// What goes out for an FPDU.
pub fn expected(stream: usize, source: &Source, planned: Planned) -> Fpdu {
    let dwords = if planned.refused == 0 {
        planned.octets / 4
    } else {
        2
    };
    Fpdu {
        stream: (stream as u64).into(),
        position: (planned.position & 0xFFFF_FFFF).into(),
        dwords: dwords.into(),
        markers: source.markers,
        crc: source.crc,
        refused: u64::from(planned.refused).into(),
        ulpdu: u64::from(planned.ulpdu).into(),
        ahead: false,
        placed: false,
        header_only: false,
    }
}

/// ULPDU lengths where something changes: PAD, a marker, the limits; else any.
pub fn length(rng: &mut Rng, most: u16) -> u16 {
    match rng.u8(0..16) {
        0..=2 => rng.u16(0..24),
        3..=5 => rng.u16(490..520),
        6..=7 => 508 * rng.u16(1..8) - rng.u16(0..24),
        8..=13 => rng.u16(0..1500),
        14 => most - rng.u16(0..1000),
        _ => rng.u16(0..=most),
    }
}

/// `fpdus` FPDUs of four streams, which open and close; each FPDU leaves as planned.
pub fn traffic<const H: usize, const D: usize, const LOGD: usize>(
    config: Config,
    fpdus: usize,
) -> Bench<H, D, LOGD> {
    let bench = Bench::<H, D, LOGD>::new(config, config.width as u64);
    traffic_of(bench, fpdus)
}

/// The same with gates that open and close.
pub fn gated_traffic<const H: usize, const D: usize, const LOGD: usize>(
    mut bench: Bench<H, D, LOGD>,
    fpdus: usize,
) -> Bench<H, D, LOGD> {
    bench.gates_change = 5;
    traffic_of(bench, fpdus)
}

fn traffic_of<const H: usize, const D: usize, const LOGD: usize>(
    mut bench: Bench<H, D, LOGD>,
    fpdus: usize,
) -> Bench<H, D, LOGD> {
    let config = bench.config;
    let mut closed: [Option<usize>; STREAMS] = [Some(0); STREAMS];
    let most = (config.ring_octets - 64).min(mpa::MAX_ULPDU.into()) as u16;
    let paces = [
        Pace::Always,
        Pace::Percent(4),
        Pace::Bursts(300),
        Pace::Always,
    ];
    for pace in paces {
        bench.ready = Rhythm::new(pace);
        let until = bench.seen.issued + fpdus / paces.len();
        while bench.seen.issued < until && bench.failed.is_none() {
            let stream = bench.rng.usize(0..STREAMS);
            let leave = if bench.sources[stream].live { 30 } else { 100 };
            match closed[stream] {
                Some(at) if bench.cycle > at + 64 || at == 0 => {
                    let (markers, crc) = (chance(&mut bench.rng, 60), chance(&mut bench.rng, 50));
                    let long_ulpdus = !markers && bench.rng.bool();
                    bench.arm_for(stream, markers, crc, long_ulpdus);
                    closed[stream] = None;
                }
                None if chance(&mut bench.rng, 1) && chance(&mut bench.rng, leave) => {
                    bench.close(stream);
                    closed[stream] = Some(bench.cycle);
                }
                // its end, or a loss behind a FIN; a FIN mostly where an FPDU ends
                None if chance(&mut bench.rng, 3) => {
                    let source = &bench.sources[stream];
                    let at = source.plan.front().map_or(0, |first| first.position);
                    let fresh = !source.stopped && (source.landed == at || bench.rng.u8(..4) == 0);
                    let cause = [refused::LOST, refused::BEHIND_FIN][bench.rng.usize(..2)];
                    let lost = source.cause == 0 && bench.rng.u8(..4) == 0;
                    if fresh || lost {
                        bench.mark(stream, fresh && !lost, if lost { cause } else { 0 });
                    }
                }
                _ => {}
            }
            let most_planned = if bench.rng.bool() { 4 } else { 20 };
            while bench.sources[stream].plan.len() < most_planned {
                let ulpdu = match bench.rng.u16(0..1000) {
                    0..=2 => bench.rng.u16(mpa::MAX_ULPDU + 1..),
                    3..=9 => bench.rng.u16(most..=mpa::MAX_ULPDU),
                    _ => length(&mut bench.rng, most),
                };
                bench.plan(stream, ulpdu);
            }
            let source = &bench.sources[stream];
            let to_end = source.plan[0].position + source.plan[0].octets;
            let missing = to_end.saturating_sub(source.landed);
            let octets = match bench.rng.u8(0..8) {
                0..=2 => bench.rng.u64(1..=4),
                3 => missing,
                4 => missing.saturating_sub(1),
                5 => missing + bench.rng.u64(0..12),
                6 => bench.rng.u64(0..200),
                _ => bench.rng.u64(0..5000),
            };
            if closed[stream].is_none() && octets > 0 {
                bench.land(stream, octets);
            }
            let idle = bench.rng.usize(0..5);
            bench.idle(idle);
        }
    }
    bench.ready = Rhythm::new(Pace::Always);
    bench.open_gates();
    bench.idle(SETTLED);
    if bench.failed.is_some() {
        return bench;
    }
    assert!(bench.expected.is_empty());
    let left = |source: &Source| source.live && source.whole.is_some();
    assert!(!bench.sources.iter().any(left), "each whole FPDU is issued");
    let reported = |source: &Source| !(source.live && (source.finished || source.cause != 0));
    assert!(bench.sources.iter().all(reported), "each end is reported");
    bench
}

pub type Bench64 = Bench<32, 2, 1>;

pub fn armed(markers: bool) -> Bench64 {
    let mut bench = Bench::new(Config::simulated(64), 7);
    bench.arm(2, markers, true);
    bench
}
