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
use warpline_hdl::scan::{CYCLES, Scan};
use warpline_hdl::writer;
use warpline_regmap::layout::refused;
use warpline_testbenches::lockstep::{Lockstep, LockstepError, on_large_stack};
use warpline_testbenches::octets::beat;
use warpline_testbenches::stimulus::{Pace, Rhythm, chance};
use warpline_wire::mpa;

const STREAMS: usize = 4;
/// Cycles from the octet that makes an FPDU whole to `issued`, when its length was not known before, and when it was.
const UNKNOWN: usize = 16;
const KNOWN: usize = 7;

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
    ring: Vec<u8>,
}

#[derive(Clone, Debug, Default)]
struct Seen {
    issued: usize,
    with_markers: usize,
    leading: usize,
    refused_length: usize,
    refused_too_large: usize,
    closed: usize,
    closed_with_backlog: usize,
    held_back: usize,
    pads: [usize; 4],
}

struct Bench<const H: usize, const LOGD: usize> {
    lockstep: Lockstep<Scan<H, LOGD, STREAMS>>,
    rng: Rng,
    config: Config,
    sources: [Source; STREAMS],
    /// Header rows asked for in the last two cycles.
    asked: [usize; 2],
    expected: VecDeque<Fpdu>,
    ready: Rhythm,
    /// Cycles of `issued`.
    issued: Vec<usize>,
    /// Longest time from an FPDU being whole to `issued`, while nothing held it back.
    longest: usize,
    cycle: usize,
    wrong: usize,
    seen: Seen,
}

impl<const H: usize, const LOGD: usize> Bench<H, LOGD> {
    fn new(config: Config, seed: u64) -> Self {
        let block = Box::new(Scan::new(&config));
        Self::of(
            &format!("scan_{}_{}", config.width, config.ring_octets),
            block,
            config,
            seed,
        )
    }

    fn of(top: &str, block: Box<Scan<H, LOGD, STREAMS>>, config: Config, seed: u64) -> Self {
        let lockstep = Lockstep::new(top, block, |b, level| b.clock.next = level.into());
        let mut bench = Self {
            lockstep: lockstep.unwrap_or_else(|e| panic!("{e}")),
            rng: Rng::with_seed(seed),
            config,
            sources: std::array::from_fn(|_| Source {
                ring: vec![0; config.ring_octets],
                ..Source::default()
            }),
            asked: [0; 2],
            expected: VecDeque::new(),
            ready: Rhythm::new(Pace::Always),
            issued: vec![],
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
        let source = &mut self.sources[stream];
        source.live = false;
        self.seen.closed += 1;
        self.seen.closed_with_backlog += usize::from(source.whole.is_some());
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

    /// Lets the next octets of a stream land.
    fn land(&mut self, stream: usize, octets: u64) {
        let octets = octets.min(self.room(stream));
        let noise = self.rng.u8(..);
        let source = &mut self.sources[stream];
        let landing = source.landed..source.landed + octets;
        // what is not ULPDU_Length is noise; a little of it does, in rings as long as these
        let ring = source.ring.len() as u64;
        for position in landing.clone().step_by(61) {
            source.ring[(position % ring) as usize] = noise;
        }
        for planned in &source.plan {
            let lead = u64::from(source.markers && planned.position.is_multiple_of(512)) * 4;
            for (octet, value) in planned.ulpdu.to_be_bytes().into_iter().enumerate() {
                let position = planned.position + lead + octet as u64;
                if landing.contains(&position) {
                    source.ring[(position % ring) as usize] = value;
                }
            }
        }
        source.landed = landing.end;
        self.cycle(Some(stream));
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
            Some(stream) => self.sources[stream].landed,
            None => self.rng.u64(..),
        };
        b.landed_edge.next = (edge & 0xFFFF_FFFF).into();
        // the row that was asked for two cycles ago, as it was a cycle ago
        let (from, row) = (self.asked[0] / rows, self.asked[0] % rows);
        let width = self.config.octets();
        let row = &self.sources[from % STREAMS].ring[row * width..][..width];
        let kept: Vec<u8> = row
            .chunks(4)
            .flat_map(|dword| dword[..2].to_vec())
            .collect();
        b.header_data.next = beat(&kept);
        b.fpdu_ready.next = self.ready.go(&mut self.rng);
        self.note_whole();
        self.lockstep.settle().unwrap();
        self.compare();
        self.asked = [self.asked[1], self.lockstep.block.header_row.val().index()];
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
        if b.issued.val() {
            let stream = b.issued_stream.val().index();
            let source = &mut self.sources[stream];
            let planned = source.plan.front().copied().filter(|_| source.live);
            match (planned, source.whole.take()) {
                (Some(planned), Some(whole)) => {
                    source.plan.pop_front();
                    source.live = planned.refused == 0;
                    self.expected.push_back(expected(stream, source, planned));
                    self.issued.push(self.cycle);
                    self.longest = self.longest.max(self.cycle - whole);
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
fn traffic<const H: usize, const LOGD: usize>(config: Config, fpdus: usize) -> Bench<H, LOGD> {
    let mut bench = Bench::<H, LOGD>::new(config, config.width as u64);
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
            match closed[stream] {
                Some(at) if bench.cycle > at + 64 || at == 0 => {
                    let (markers, crc) = (chance(&mut bench.rng, 60), chance(&mut bench.rng, 50));
                    bench.arm(stream, markers, crc);
                    closed[stream] = None;
                }
                None if chance(&mut bench.rng, 1) && chance(&mut bench.rng, 30) => {
                    bench.close(stream);
                    closed[stream] = Some(bench.cycle);
                }
                _ => {}
            }
            if bench.sources[stream].plan.len() < 4 {
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
    bench.idle(10 * CYCLES);
    assert!(bench.expected.is_empty());
    bench
}

// req: MPA-FMT-05, MPA-FMT-10, MPA-FMT-11, MPA-FMT-18, MPA-MRK-04, MPA-MRK-17, MPA-RCV-05, MPA-RCV-08, MPA-RCV-17
// req: MPA-RCV-20, MPA-RCV-31, AMB-21
#[test]
fn lengths_of_four_streams_at_64_bits() {
    let bench = traffic::<32, 1>(Config::simulated(64), 1400);
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
        let bench = traffic::<256, 4>(config, 800);
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

fn armed(markers: bool) -> Bench<32, 1> {
    let mut bench = Bench::new(Config::simulated(64), 7);
    bench.arm(2, markers, true);
    bench
}

#[test]
fn an_fpdu_takes_seventeen_cycles_and_waiting_streams_none() {
    assert_eq!(CYCLES, 17);
    let mut bench = armed(true);
    // the other streams have not enough octets to be worth a look, or know what they wait for
    for stream in [0, 1, 3] {
        bench.arm(stream, false, true);
        bench.plan(stream, 1000);
    }
    bench.land(0, 3);
    bench.land(1, 4);
    bench.land(3, 1007);
    bench.idle(3 * CYCLES);
    (0..40).for_each(|_| bench.plan(2, 100));
    bench.land(2, 1 << 20);
    bench.idle(40 * CYCLES + UNKNOWN);
    let apart: Vec<usize> = bench
        .issued
        .windows(2)
        .map(|pair| pair[1] - pair[0])
        .collect();
    assert_eq!((bench.wrong, apart), (0, vec![CYCLES; 39]));
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
        bench.idle(2 * CYCLES);
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
        bench.idle(3 * CYCLES);
        assert_eq!(bench.issued.len(), 0);
        bench.land(2, 1);
        bench.idle(UNKNOWN);
        assert_eq!((bench.issued.len(), bench.seen.refused_length), (1, 1));
        // nothing more comes out of this stream, and others go on
        bench.land(2, 1 << 16);
        bench.plan(1, 20);
        bench.land(1, 100);
        bench.idle(3 * CYCLES);
        assert_eq!((bench.issued.len(), bench.wrong), (2, 0));
    }
    // the longest legal one
    let mut bench = armed(true);
    bench.plan(2, 64768);
    bench.land(2, 1 << 17);
    bench.idle(UNKNOWN);
    assert_eq!(
        (bench.issued.len(), bench.seen.refused_length, bench.wrong),
        (1, 0, 0)
    );
}

#[test]
fn four_busy_streams_take_turns() {
    let mut bench = armed(true);
    for stream in [0, 1, 3] {
        bench.arm(stream, stream == 1, true);
    }
    for stream in 0..STREAMS {
        (0..20).for_each(|_| bench.plan(stream, 700));
        bench.land(stream, 1 << 20);
    }
    bench.idle(80 * CYCLES);
    assert_eq!((bench.issued.len(), bench.wrong), (80, 0));
    // at most the other three are served before a stream's next FPDU
    let mut bench = armed(true);
    for stream in [0, 1, 3] {
        bench.arm(stream, false, true);
    }
    for _ in 0..10 {
        for stream in 0..STREAMS {
            bench.plan(stream, 700);
            bench.land(stream, 1 << 20);
        }
        bench.longest = 0;
        bench.idle(STREAMS * CYCLES);
        assert!(
            bench.longest <= (STREAMS - 1) * CYCLES + UNKNOWN,
            "{}",
            bench.longest
        );
    }
    assert_eq!((bench.issued.len(), bench.wrong), (40, 0));
}

#[test]
fn a_full_queue_holds_the_scanner_until_there_is_room() {
    let mut bench = armed(true);
    bench.ready = Rhythm::new(Pace::Percent(0));
    (0..10).for_each(|_| bench.plan(2, 64));
    bench.land(2, 1 << 20);
    bench.idle(20 * CYCLES);
    assert_eq!(bench.issued.len(), 4);
    bench.ready = Rhythm::new(Pace::Always);
    bench.idle(7 * CYCLES);
    assert_eq!(
        (bench.issued.len(), bench.wrong, bench.expected.len()),
        (10, 0, 0)
    );
}

#[test]
fn a_stream_closed_at_any_moment_gives_no_more_fpdus() {
    let mut bench = Bench::<32, 1>::new(Config::simulated(64), 7);
    let mut after_issue = 0;
    for moment in 0..2 * CYCLES {
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
        bench.idle(2 * CYCLES);
        bench.plan(2, 300);
        bench.land(2, 1 << 20);
        bench.idle(4 * CYCLES);
        let found = (bench.issued.len(), bench.wrong);
        assert_eq!(found, (issued + 3 + 1, 0), "moment {moment}");
        after_issue += issued;
        bench.close(0);
        bench.close(2);
        bench.idle(64);
    }
    assert!(after_issue > 10);
}

#[test]
fn a_marker_too_few_is_seen() {
    let block = Box::new(Scan::<32, 1, STREAMS>::new(&Config::simulated(64)));
    let mut design = writer::write(&*block, "scan_fault").unwrap();
    let text = &mut design.modules.last_mut().unwrap().text;
    let limit = "rest_q >= 16'h7f";
    assert!(text.contains(limit), "{text}");
    *text = text.replace(limit, "rest_q > 16'h7f");
    let clock: fn(&mut Scan<32, 1, STREAMS>, bool) = |b, level| b.clock.next = level.into();
    let mut bench = Lockstep::with_design("scan_fault", block, &design, clock).unwrap();
    let seen = (0..40_u64).find_map(|cycle| {
        let b = &mut bench.block;
        b.reset.next = cycle == 0;
        b.arm.next = cycle == 1;
        b.markers.next = true;
        b.landed.next = cycle == 2;
        b.landed_edge.next = 2000.into();
        b.fpdu_ready.next = true;
        // length 502, and CRC: 127 dwords and the marker in front of them fill 512 octets; a dword more needs another one
        b.header_data.next = (u64::from(503_u16.swap_bytes()) * 0x1_0001).into();
        bench.settle().and_then(|()| bench.edge()).err()
    });
    assert!(
        matches!(seen, Some(LockstepError::Differ { .. })),
        "{seen:?}"
    );
}
