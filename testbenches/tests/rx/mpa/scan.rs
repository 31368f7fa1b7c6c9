//! `scan`: every kind of length at random positions, octets landing one by one or in heaps, streams that come and go,
//! against `warpline_wire::mpa::fpdu_len`.
//!
//! ```text
//!  Source of each stream ─ landed, header rows ─►┌──────┐─ issued ─► whole by then? next in its stream?
//!    plan of FPDUs         arm, close ──────────►│ scan │─ Fpdu ──► as planned, in the order of `issued`
//!                                                └──────┘◄─ fpdu_ready
//! ```

use fastrand::Rng;
use std::collections::VecDeque;
use warpline_hdl::Config;
use warpline_hdl::records::Fpdu;
use warpline_hdl::rx::mpa::assembly;
use warpline_hdl::rx::mpa::scan::{AGAIN, FAR, ROWS, Scan, VISIT};
use warpline_hdl::rx::mpa::stream_end::Mark;
use warpline_regmap::layout::refused;
use warpline_sv_writer as writer;
use warpline_testbenches::lockstep::{Lockstep, LockstepError, on_large_stack};
use warpline_testbenches::octets::beat;
use warpline_testbenches::stimulus::{Pace, Rhythm, chance};
use warpline_wire::mpa;

const STREAMS: usize = 4;
/// Cycles from the octet that makes an FPDU whole to `issued`, when its length was not known before, and when it was.
const UNKNOWN: usize = 12;
const KNOWN: usize = 5;
/// The same from the landing of the beat with which it begins, when it ends with that or the next one.
const PROMPT: usize = 3;
/// Cycles more when markers inside have to be counted, which is done from this ULPDU_Length on.
const COUNTING: usize = 4;
const LONG: u16 = 504;
/// Cycles in which all that is waiting in the block comes out.
const SETTLED: usize = 200;

/// An FPDU that a stream holds.
#[derive(Clone, Copy, Debug)]
struct Planned {
    position: u64,
    ulpdu: u16,
    octets: u64,
    refused: u8,
    /// Octets behind `position` that have to land before it can go out.
    need: u64,
}

/// A beat on its way into the ring, as `admit` tells of it.
struct Beat {
    stream: usize,
    position: u64,
    skip: u64,
    count: u64,
    edge: u64,
}

#[derive(Clone, Debug, Default)]
struct Source {
    live: bool,
    markers: bool,
    crc: bool,
    plan: VecDeque<Planned>,
    /// Position behind the last FPDU of the plan.
    planned: u64,
    landed: u64,
    /// Cycle in which the first FPDU of the plan became whole.
    whole: Option<usize>,
    /// No octet counts that lands from here on.
    stopped: bool,
    /// The peer's FIN is still to be told.
    finished: bool,
    /// Why the stream is lost, still to be told.
    cause: u32,
    ring: Vec<u8>,
}

#[derive(Clone, Debug, Default)]
struct Seen {
    issued: usize,
    with_markers: usize,
    leading: usize,
    prompt: usize,
    refused_length: usize,
    refused_too_large: usize,
    closed: usize,
    closed_with_backlog: usize,
    held_back: usize,
    ends: [usize; 7],
    ends_with_backlog: usize,
    pads: [usize; 4],
}

struct Bench<const H: usize, const D: usize, const LOGD: usize> {
    lockstep: Lockstep<Scan<H, D, LOGD, STREAMS>>,
    rng: Rng,
    config: Config,
    sources: [Source; STREAMS],
    /// Header rows asked for in the last two cycles, as the RAM held them then.
    asked: [Vec<u8>; 2],
    /// The beat that comes in the next cycle, and the lanes that land.
    beat: Option<Beat>,
    heads: Vec<u8>,
    expected: VecDeque<Fpdu>,
    ready: Rhythm,
    /// Cycles of `issued`.
    issued: Vec<usize>,
    /// Octets that land behind the end of a stream.
    beyond: u64,
    /// Longest time from an FPDU of stream 2 being whole to `issued`, while nothing held it back.
    longest: usize,
    cycle: usize,
    wrong: usize,
    seen: Seen,
}

impl<const H: usize, const D: usize, const LOGD: usize> Bench<H, D, LOGD> {
    fn new(config: Config, seed: u64) -> Self {
        let block = Box::new(Scan::new(&config));
        Self::of(
            &format!("scan_{}_{}", config.width, config.ring_octets),
            block,
            config,
            seed,
        )
    }

    fn of(top: &str, block: Box<Scan<H, D, LOGD, STREAMS>>, config: Config, seed: u64) -> Self {
        let lockstep = Lockstep::new(top, block, |b, level| b.clock.next = level.into());
        let mut bench = Self {
            lockstep: lockstep.unwrap_or_else(|e| panic!("{e}")),
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

    fn arm(&mut self, stream: usize, markers: bool, crc: bool) {
        let b = &mut self.lockstep.block;
        b.arm.next = true;
        b.stream.next = (stream as u64).into();
        b.markers.next = markers;
        b.crc.next = crc;
        self.cycle(None);
        self.lockstep.block.arm.next = false;
        self.cycle(None); // it is heard a cycle later
        let source = &mut self.sources[stream];
        *source = Source {
            live: true,
            markers,
            crc,
            ring: std::mem::take(&mut source.ring),
            ..Source::default()
        };
    }

    fn close(&mut self, stream: usize) {
        let b = &mut self.lockstep.block;
        b.close.next = true;
        b.stream.next = (stream as u64).into();
        self.cycle(None);
        self.lockstep.block.close.next = false;
        self.cycle(None); // it is heard a cycle later
        let source = &mut self.sources[stream];
        source.live = false;
        self.seen.closed += 1;
        self.seen.closed_with_backlog += usize::from(source.whole.is_some());
    }

    /// The end of a stream is told; what lands from then on does not count.
    fn mark(&mut self, stream: usize, finished: bool, cause: u32) {
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
    fn plan(&mut self, stream: usize, ulpdu: u16) {
        let source = &mut self.sources[stream];
        let position = source.planned;
        let octets = mpa::fpdu_len(position as u32, ulpdu.into(), source.markers) as u64;
        let lead = u64::from(source.markers && position.is_multiple_of(512)) * 4;
        let refused = if ulpdu > mpa::MAX_ULPDU {
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
    fn room(&self, stream: usize) -> u64 {
        let source = &self.sources[stream];
        let first = source
            .plan
            .front()
            .map_or(source.planned, |first| first.position);
        (first + self.config.ring_octets as u64).min(source.planned) - source.landed
    }

    /// Lets the next octets of a stream land: what two beats hold as beats that come before, more at once.
    fn land(&mut self, stream: usize, octets: u64) {
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
    fn land_beats(&mut self, stream: usize, beats: &[u64]) {
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
    fn land_at_once(&mut self, stream: usize, octets: u64) {
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

    fn idle(&mut self, cycles: usize) {
        for _ in 0..cycles {
            self.cycle(None);
        }
    }

    /// One cycle, in which octets of a stream have landed or nothing has.
    fn cycle(&mut self, landed: Option<usize>) {
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
        self.note_whole();
        self.lockstep.settle().unwrap();
        self.compare();
        let row = self.lockstep.block.header_row.val().index();
        let width = self.config.octets();
        let row = &self.sources[row / rows % STREAMS].ring[row % rows * width..][..width];
        let kept = row
            .chunks(4)
            .flat_map(|dword| dword[..2].to_vec())
            .collect();
        self.asked.rotate_left(1);
        self.asked[1] = kept;
        self.lockstep.edge().unwrap();
        self.cycle += 1;
    }

    fn note_whole(&mut self) {
        for source in &mut self.sources {
            let whole = |first: &Planned| source.landed >= first.position + first.need;
            if source.whole.is_none() && source.live && source.plan.front().is_some_and(whole) {
                source.whole = Some(self.cycle);
            }
        }
    }

    fn compare(&mut self) {
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
                _ => self.wrong += 1,
            }
        }
        if b.fpdu_valid.val() && b.fpdu_ready.val() {
            let found = b.fpdu.val();
            self.wrong += usize::from(self.expected.pop_front() != Some(found));
        }
        self.seen.held_back += usize::from(b.fpdu_valid.val() && !b.fpdu_ready.val());
    }
}

/// What goes out for an FPDU.
fn expected(stream: usize, source: &Source, planned: Planned) -> Fpdu {
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
fn length(rng: &mut Rng, most: u16) -> u16 {
    match rng.u8(0..16) {
        0..=2 => rng.u16(0..24),
        3..=5 => rng.u16(490..520),
        6..=7 => 508 * rng.u16(1..8) - rng.u16(0..24),
        8..=13 => rng.u16(0..1500),
        14 => most - rng.u16(0..1000),
        _ => rng.u16(0..=most),
    }
}

/// `fpdus` FPDUs of four streams, which come and go; all that goes out is as planned.
fn traffic<const H: usize, const D: usize, const LOGD: usize>(
    config: Config,
    fpdus: usize,
) -> Bench<H, D, LOGD> {
    let mut bench = Bench::<H, D, LOGD>::new(config, config.width as u64);
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
        while bench.seen.issued < until {
            let stream = bench.rng.usize(0..STREAMS);
            let leave = if bench.sources[stream].live { 30 } else { 100 };
            match closed[stream] {
                Some(at) if bench.cycle > at + 64 || at == 0 => {
                    let (markers, crc) = (chance(&mut bench.rng, 60), chance(&mut bench.rng, 50));
                    bench.arm(stream, markers, crc);
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
    bench.idle(SETTLED);
    assert!(bench.expected.is_empty());
    let told = |source: &Source| !(source.live && (source.finished || source.cause != 0));
    assert!(bench.sources.iter().all(told), "each end is told");
    bench
}

// req: MPA-FMT-05, MPA-FMT-10, MPA-FMT-11, MPA-FMT-18, MPA-MRK-04, MPA-MRK-17, MPA-RCV-05, MPA-RCV-08, MPA-RCV-17
// req: MPA-RCV-20, MPA-RCV-31, AMB-21
#[test]
fn lengths_of_four_streams_at_64_bits() {
    let bench = traffic::<32, 2, 1>(Config::simulated(64), 1400);
    let seen = &bench.seen;
    assert_eq!(bench.wrong, 0, "{seen:?}");
    assert!(
        seen.with_markers > 500 && seen.leading > 10 && seen.held_back > 100,
        "{seen:?}"
    );
    assert!(
        seen.refused_length > 0 && seen.closed_with_backlog > 3,
        "{seen:?}"
    );
    assert!(seen.pads.iter().all(|pads| *pads > 100), "{seen:?}");
    assert!(seen.prompt > 20, "{seen:?}");
    let ends = seen.ends[refused::CLOSED as usize..].iter();
    assert!(
        ends.min() > Some(&0) && seen.ends_with_backlog > 1,
        "{seen:?}"
    );
}

// req: MPA-FMT-05, MPA-FMT-10, MPA-FMT-11, MPA-MRK-04, MPA-MRK-17, MPA-RCV-05, MPA-RCV-08, MPA-RCV-17, AMB-21, AMB-22
#[test]
fn lengths_of_four_streams_with_small_rings_at_512_bits() {
    let config = Config {
        ring_octets: 8 << 10,
        commit_octets: 8 << 10,
        ..Config::simulated(512)
    };
    let bench = on_large_stack(move || {
        let bench = traffic::<256, 16, 4>(config, 800);
        (bench.wrong, bench.seen)
    });
    let (wrong, seen) = bench;
    assert_eq!(wrong, 0, "{seen:?}");
    assert!(
        seen.refused_too_large > 0 && seen.refused_length > 0,
        "{seen:?}"
    );
    assert!(
        seen.with_markers > 100 && seen.leading > 2 && seen.held_back > 100,
        "{seen:?}"
    );
}

type Bench64 = Bench<32, 2, 1>;

fn armed(markers: bool) -> Bench64 {
    let mut bench = Bench::new(Config::simulated(64), 7);
    bench.arm(2, markers, true);
    bench
}

/// Octets of a beat that `fetch` needs for an FPDU, which begins in lane 0.
fn beats(config: &Config, octets: u64) -> usize {
    octets.div_ceil(config.octets() as u64) as usize
}

/// Lets `plan` land at once in stream 2, and checks that no FPDU comes later than the beats of those before it take.
fn assert_no_bubbles<const H: usize, const D: usize, const LOGD: usize>(
    bench: &mut Bench<H, D, LOGD>,
    markers: bool,
    plan: &[u16],
) {
    bench.close(2);
    bench.idle(64);
    bench.arm(2, markers, true);
    bench.issued.clear();
    plan.iter().for_each(|ulpdu| bench.plan(2, *ulpdu));
    let config = bench.config;
    let beats: Vec<usize> = bench.sources[2]
        .plan
        .iter()
        .map(|planned| beats(&config, planned.octets))
        .collect();
    bench.land(2, 1 << 20);
    bench.idle(beats.iter().sum::<usize>() + UNKNOWN + COUNTING);
    assert_eq!(
        (bench.issued.len(), bench.wrong),
        (plan.len(), 0),
        "{plan:?}"
    );
    let counting = if markers && plan.iter().any(|ulpdu| *ulpdu >= LONG) {
        COUNTING
    } else {
        0
    };
    let (mut due, first) = (bench.issued[0] + counting, bench.issued[0]);
    for (number, (issued, beats)) in bench.issued.iter().zip(&beats).enumerate() {
        assert!(
            *issued <= due,
            "{} bits, markers {markers}: {number} of {plan:?} {} cycles behind the first, due after {}",
            config.width,
            issued - first,
            due - first
        );
        due += beats;
    }
}

fn assert_no_bubbles_at<const H: usize, const D: usize, const LOGD: usize>(width: usize) {
    let config = Config::simulated(width);
    let mut bench = Bench::<H, D, LOGD>::new(config, 3);
    // the other streams have not enough octets to be worth a look, or know what they wait for
    for stream in [0, 1, 3] {
        bench.arm(stream, false, true);
        bench.plan(stream, 1000);
    }
    bench.land(0, 3);
    bench.land(1, 4);
    bench.land(3, 1007);
    bench.idle(SETTLED);
    let row = config.octets() as u16;
    for markers in [false, true] {
        // the smallest ones that there are, and those of DDP
        assert_no_bubbles(&mut bench, markers, &[0; 30]);
        assert_no_bubbles(&mut bench, markers, &[20; 30]);
        // as long as a row, as two, a dword more
        for ulpdu in [row - 6, row - 2, 2 * row - 6, 2 * row - 2] {
            assert_no_bubbles(&mut bench, markers, &[ulpdu; 12]);
        }
        // around the length from which on markers are counted, and the one that ends a visit
        let far = (FAR * config.octets()) as u16;
        for ulpdu in [LONG - 4, LONG - 1, LONG, LONG + 8, 620] {
            assert_no_bubbles(&mut bench, markers, &[ulpdu; 6]);
        }
        for ulpdu in [far - 10, far - 6, far - 2, far + 20, 1442] {
            assert_no_bubbles(&mut bench, markers, &[ulpdu; 4]);
        }
        for most in [40, 200, 700, 2000] {
            let plan: Vec<u16> = (0..16).map(|_| bench.rng.u16(0..most)).collect();
            assert_no_bubbles(&mut bench, markers, &plan);
        }
    }
}

#[test]
fn no_fpdu_takes_more_cycles_than_its_beats_at_64_bits() {
    assert_no_bubbles_at::<32, 2, 1>(64);
}

#[test]
fn no_fpdu_takes_more_cycles_than_its_beats_at_128_bits() {
    assert_no_bubbles_at::<64, 4, 2>(128);
}

#[test]
fn no_fpdu_takes_more_cycles_than_its_beats_at_256_bits() {
    assert_no_bubbles_at::<128, 8, 3>(256);
}

#[test]
fn no_fpdu_takes_more_cycles_than_its_beats_at_512_bits() {
    on_large_stack(|| assert_no_bubbles_at::<256, 16, 4>(512));
}

#[test]
fn a_visit_that_an_fpdu_ends_is_taken_up_again_in_time() {
    for (markers, again) in [(false, AGAIN - COUNTING), (true, AGAIN)] {
        let mut bench = armed(markers);
        (0..10).for_each(|_| bench.plan(2, 1442));
        bench.land(2, 1 << 20);
        bench.idle(SETTLED);
        let apart = bench.issued.windows(2).map(|pair| pair[1] - pair[0]);
        assert!(apart.eq([again; 9]), "{:?}", bench.issued);
        assert_eq!(bench.wrong, 0);
    }
}

#[test]
fn an_fpdu_a_cycle_at_512_bits() {
    on_large_stack(|| {
        let mut bench = Bench::<256, 16, 4>::new(Config::simulated(512), 3);
        for (markers, ulpdu) in [(false, 20), (true, 20), (true, 0), (false, 54)] {
            assert_no_bubbles(&mut bench, markers, &vec![ulpdu; 300]);
            let taken = bench.issued[299] - bench.issued[0];
            assert_eq!(taken, 299, "markers {markers}, ULPDU of {ulpdu} octets");
        }
    });
}

// req: MPA-RCV-08
#[test]
fn the_last_octet_makes_the_fpdu_whole() {
    let mut bench = armed(false);
    bench.plan(2, 500);
    bench.land(2, 508);
    bench.idle(UNKNOWN - 1);
    assert_eq!(bench.issued.len(), 0);
    bench.idle(1);
    assert_eq!((bench.issued.len(), bench.longest), (1, UNKNOWN));
    bench.plan(2, 500);
    bench.land(2, 507);
    bench.idle(200);
    assert_eq!(bench.issued.len(), 1);
    bench.longest = 0;
    bench.land(2, 1);
    bench.idle(KNOWN);
    assert_eq!((bench.issued.len(), bench.longest), (2, KNOWN));
    assert_eq!(bench.wrong, 0);
}

/// Cycles from the landing of the last of `beats` to `issued`, for an FPDU that comes alone in them.
fn alone<const H: usize, const D: usize, const LOGD: usize>(
    width: usize,
    markers: bool,
    before: u16,
    ulpdu: u16,
    beats: &[u64],
) -> usize {
    let mut bench = Bench::<H, D, LOGD>::new(Config::simulated(width), 5);
    bench.arm(2, markers, true);
    bench.idle(64);
    if before > 0 {
        bench.plan(2, before);
        bench.land_at_once(2, bench.room(2));
        bench.idle(SETTLED);
    }
    bench.issued.clear();
    bench.longest = 0;
    bench.plan(2, ulpdu);
    assert_eq!(bench.room(2), beats.iter().sum::<u64>());
    bench.land_beats(2, beats);
    bench.idle(SETTLED);
    assert_eq!((bench.issued.len(), bench.wrong), (1, 0));
    bench.longest
}

#[test]
fn an_fpdu_that_comes_alone_needs_no_visit() {
    on_large_stack(|| {
        // in one beat, or with the second one
        for before in [0, 488] {
            assert_eq!(alone::<32, 2, 1>(64, false, before, 0, &[8]), PROMPT);
            assert_eq!(alone::<256, 16, 4>(512, false, before, 20, &[28]), PROMPT);
            assert_eq!(alone::<256, 16, 4>(512, false, before, 58, &[64]), PROMPT);
            assert_eq!(
                alone::<256, 16, 4>(512, false, before, 64, &[64, 8]),
                PROMPT - 1
            );
            assert_eq!(
                alone::<64, 4, 2>(128, false, before, 20, &[16, 12]),
                PROMPT - 1
            );
        }
        // a marker in front, in the middle, none
        assert_eq!(alone::<128, 8, 3>(256, true, 0, 20, &[32]), PROMPT);
        assert_eq!(alone::<256, 16, 4>(512, true, 462, 40, &[52]), PROMPT);
        assert_eq!(alone::<256, 16, 4>(512, true, 40, 40, &[48]), PROMPT);
        // the rest comes later: its length is known by then
        assert_eq!(alone::<32, 2, 1>(64, true, 0, 20, &[8, 8, 8, 8]), KNOWN);
        assert_eq!(alone::<128, 8, 3>(256, false, 0, 64, &[32, 32, 8]), KNOWN);
        let rows = |octets: u64| -> Vec<u64> {
            (0..octets.div_ceil(64))
                .map(|row| (octets - 64 * row).min(64))
                .collect()
        };
        for markers in [false, true] {
            for ulpdu in [503, 504, 505, 511, 700, 1000, 1006, 1010, 1014] {
                for before in [0, 40, 482] {
                    let begin = mpa::fpdu_len(0, before.into(), markers) * usize::from(before > 0);
                    let octets = mpa::fpdu_len(begin as u32, ulpdu.into(), markers) as u64;
                    let took = alone::<256, 16, 4>(512, markers, before, ulpdu, &rows(octets));
                    assert_eq!(took, KNOWN, "{ulpdu} octets behind {before}, {markers}");
                }
            }
        }
        // ULPDU_Length is cut: a visit it is
        assert_eq!(alone::<128, 8, 3>(256, false, 0, 20, &[3, 25]), UNKNOWN);
    });
}

// req: MPA-RCV-17, MPA-RCV-20
#[test]
fn fpdus_that_land_octet_by_octet() {
    for markers in [false, true] {
        let mut bench = armed(markers);
        for ulpdu in [0, 1, 2, 505, 14] {
            bench.plan(2, ulpdu);
        }
        while bench.room(2) > 0 {
            bench.land(2, 1);
            let idle = bench.rng.usize(0..3);
            bench.idle(idle);
        }
        bench.idle(SETTLED);
        assert_eq!((bench.issued.len(), bench.wrong), (5, 0));
    }
}

// req: AMB-21, AMB-22
#[test]
fn a_refused_length_ends_its_stream_as_soon_as_it_is_seen() {
    for (ulpdu, markers) in [(64769, false), (65535, true), (65535, false)] {
        let mut bench = armed(markers);
        bench.arm(1, markers, false);
        bench.plan(2, ulpdu);
        bench.land(2, if markers { 7 } else { 3 });
        bench.idle(SETTLED);
        assert_eq!(bench.issued.len(), 0);
        bench.land(2, 1);
        bench.idle(UNKNOWN);
        assert_eq!((bench.issued.len(), bench.seen.refused_length), (1, 1));
        // nothing more comes out of this stream, and others go on
        bench.land(2, 1 << 16);
        bench.plan(1, 20);
        bench.land(1, 100);
        bench.idle(SETTLED);
        assert_eq!((bench.issued.len(), bench.wrong), (2, 0));
    }
    // the longest legal one
    let mut bench = armed(true);
    bench.plan(2, 64768);
    bench.land(2, 1 << 17);
    bench.idle(UNKNOWN + COUNTING);
    assert_eq!(
        (bench.issued.len(), bench.seen.refused_length, bench.wrong),
        (1, 0, 0)
    );
}

/// Four streams have much to be looked at: the changes from one to the next cost less than a cycle in a hundred.
fn assert_turns<const H: usize, const D: usize, const LOGD: usize>(width: usize, ulpdu: u16) {
    let config = Config::simulated(width);
    let mut bench = Bench::<H, D, LOGD>::new(config, 3);
    let rows = 4 * VISIT;
    let fpdus = (rows * config.octets() as u64 / mpa::fpdu_len(0, ulpdu.into(), true) as u64).max(8)
        as usize;
    for stream in 0..STREAMS {
        bench.arm(stream, stream == 1, true);
        (0..fpdus).for_each(|_| bench.plan(stream, ulpdu));
    }
    let plans = bench.sources.iter().flat_map(|source| &source.plan);
    let beats: usize = plans.map(|planned| beats(&config, planned.octets)).sum();
    (0..STREAMS).for_each(|stream| bench.land(stream, 1 << 20));
    bench.idle(beats + SETTLED);
    assert_eq!((bench.issued.len(), bench.wrong), (STREAMS * fpdus, 0));
    let taken = bench.issued[STREAMS * fpdus - 1] - bench.issued[0];
    assert!(
        100 * taken <= 101 * beats,
        "{width} bits, {ulpdu} octets: {taken} cycles for {beats} beats"
    );
}

#[test]
fn four_busy_streams_take_turns_at_the_rate_of_one() {
    for ulpdu in [20, 50, 200, 1442] {
        assert_turns::<32, 2, 1>(64, ulpdu);
    }
    on_large_stack(|| {
        for ulpdu in [20, 50, 200, 1000, 1442] {
            assert_turns::<256, 16, 4>(512, ulpdu);
        }
    });
}

#[test]
fn nobody_waits_longer_than_the_others_visits_take() {
    let mut bench = armed(true);
    for stream in [0, 1, 3] {
        bench.arm(stream, false, true);
    }
    for stream in [0, 1, 3] {
        (0..400).for_each(|_| bench.plan(stream, 20));
        bench.land(stream, 1 << 20);
    }
    for _ in 0..20 {
        let idle = bench.rng.usize(0..60);
        bench.idle(idle);
        bench.plan(2, 700);
        bench.longest = 0;
        bench.land(2, 1 << 20);
        bench.idle(5 * VISIT as usize);
        // the visit that is going on, one of each other stream, and the rows that wait for the walker by then
        let most = STREAMS * VISIT as usize + ROWS as usize + UNKNOWN + COUNTING;
        assert!(bench.longest <= most, "{}", bench.longest);
    }
    bench.idle(3000);
    assert_eq!((bench.issued.len(), bench.wrong), (1220, 0));
}

#[test]
fn a_full_queue_holds_the_scanner_until_there_is_room() {
    let mut bench = armed(true);
    bench.ready = Rhythm::new(Pace::Percent(0));
    (0..40).for_each(|_| bench.plan(2, 0));
    bench.land(2, 1 << 20);
    bench.idle(SETTLED);
    let held = bench.issued.len();
    assert!((8..=16).contains(&held), "{held} in a queue of 16");
    bench.ready = Rhythm::new(Pace::Always);
    bench.idle(SETTLED);
    assert_eq!(
        (bench.issued.len(), bench.wrong, bench.expected.len()),
        (40, 0, 0)
    );
}

/// The queue is full, and more of the stream is on its way to it; the next owner has nothing to do with that.
#[test]
fn what_a_full_queue_held_back_of_a_closed_stream_does_not_come_out_for_its_next_owner() {
    for moment in 0..40 {
        let mut bench = armed(true);
        bench.arm(1, false, false);
        bench.ready = Rhythm::new(Pace::Percent(0));
        (0..40).for_each(|_| bench.plan(2, 14));
        bench.plan(1, 900);
        bench.land(1, 100);
        bench.land(2, 1 << 20);
        bench.idle(moment);
        bench.land(1, 1 << 20);
        bench.idle(100);
        let before = bench.issued.len();
        bench.close(2);
        bench.close(1);
        bench.idle(64);
        assert_eq!(bench.issued.len(), before);
        bench.arm(2, false, true);
        bench.arm(1, true, true);
        for stream in [1, 2] {
            (0..5).for_each(|_| bench.plan(stream, 30));
            bench.land(stream, 1 << 20);
        }
        bench.ready = Rhythm::new(Pace::Always);
        bench.idle(2 * SETTLED);
        assert_eq!(
            (bench.issued.len(), bench.wrong, bench.expected.len()),
            (before + 10, 0, 0),
            "moment {moment}"
        );
    }
}

#[test]
fn a_stream_closed_at_any_moment_gives_no_more_fpdus() {
    let mut bench = Bench64::new(Config::simulated(64), 7);
    let mut after_issue = 0;
    for moment in 0..40 {
        bench.issued.clear();
        for stream in [2, 0] {
            bench.arm(stream, true, true);
            (0..3).for_each(|_| bench.plan(stream, 200));
        }
        bench.land(2, 1 << 20);
        bench.land(0, 1 << 20);
        bench.idle(moment);
        bench.close(2);
        let issued = 3 - bench.sources[2].plan.len();
        bench.idle(64);
        // the next owner's octets are not there yet, what its former owner left behind is
        bench.arm(2, moment % 2 == 0, false);
        bench.idle(SETTLED);
        bench.plan(2, 300);
        bench.land(2, 1 << 20);
        bench.idle(SETTLED);
        let found = (bench.issued.len(), bench.wrong);
        assert_eq!(found, (issued + 3 + 1, 0), "moment {moment}");
        after_issue += issued;
        bench.close(0);
        bench.close(2);
        bench.idle(64);
    }
    assert!(after_issue > 10);
}

/// Runs stream 0 with markers, whose only FPDU so far has `length`, against a text in which `right` is `wrong`.
fn fault(name: &str, right: &str, wrong: &str, length: u16) -> Option<LockstepError> {
    let block = Box::new(Scan::<32, 2, 1, STREAMS>::new(&Config::simulated(64)));
    let mut design = writer::write(&*block, name).unwrap();
    let module = design
        .modules
        .iter_mut()
        .find(|module| module.text.contains(right));
    let text = &mut module.unwrap_or_else(|| panic!("no {right}")).text;
    *text = text.replace(right, wrong);
    let clock: fn(&mut Scan<32, 2, 1, STREAMS>, bool) = |b, level| b.clock.next = level.into();
    let mut bench = Lockstep::with_design(name, block, &design, clock).unwrap();
    (0..400_u64).find_map(|cycle| {
        let b = &mut bench.block;
        b.reset.next = cycle < 2;
        b.arm.next = cycle == 2;
        b.markers.next = true;
        b.landed.next = cycle == 4;
        b.landed_edge.next = 2000.into();
        b.fpdu_ready.next = true;
        b.header_data.next = (u64::from(length.swap_bytes()) * 0x1_0001).into();
        bench.settle().and_then(|()| bench.edge()).err()
    })
}

#[test]
fn a_marker_too_few_is_seen() {
    // length 502, and CRC: 127 dwords and the marker in front of them fill 512 octets; a dword more needs another one
    let seen = fault("scan_fault_one", ">= 10'd512", "> 10'd512", 503);
    assert!(
        matches!(seen, Some(LockstepError::Differ { .. })),
        "{seen:?}"
    );
    // twice 127 dwords
    let seen = fault(
        "scan_fault_two",
        "rest_q >= 16'h7f",
        "rest_q > 16'h7f",
        1011,
    );
    assert!(
        matches!(seen, Some(LockstepError::Differ { .. })),
        "{seen:?}"
    );
}

#[test]
fn an_fpdu_that_lacks_its_last_octets_is_seen() {
    // 2000 octets have landed: four markers, and 70 FPDUs of 28 octets; the next one lacks four
    let (right, wrong) = ("measured_edge_q - ", "measured_edge_q + 20'd16 - ");
    let seen = fault("scan_fault_whole", right, wrong, 20);
    assert!(
        matches!(seen, Some(LockstepError::Differ { .. })),
        "{seen:?}"
    );
}
