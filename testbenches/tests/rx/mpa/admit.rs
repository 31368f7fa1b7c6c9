//! `admit`: random segments of four streams, in order and not, against positions that never wrap.
//!
//! ```text
//!  Sender ─ beats, arm, close, tails ─►┌───────┐─ beats, pulses, edges, limits ─► equal to what Model says?
//!    │ positions as i64                │ admit │
//!    └───────────────────────────────► Model   LATENCY cycles later
//! ```

use fastrand::Rng;
use std::collections::VecDeque;
use warpline_hdl::parts::axi::{USER_ABORT, USER_FIN};
use warpline_hdl::rx::mpa::admit::{Admit, LATENCY};
use warpline_hdl::{Config, ISLANDS};
use warpline_sv_writer as writer;
use warpline_testbenches::lockstep::{Lockstep, LockstepError, on_large_stack};
use warpline_testbenches::octets::{lowest, noisy_beat, octets};
use warpline_testbenches::stimulus::{Pace, Rhythm, chance};

const STREAMS: usize = 4;
/// Cycles from a beat to the moment in which its stream's `tail` counts.
const TAIL: usize = 1;
/// Cycles from an accepted beat to its stream's `edge_sequence`, and from a `tail` to its `limit_sequence`.
const EDGE_SEQUENCE: usize = LATENCY + 1;
const LIMIT_SEQUENCE: usize = 2;
/// What ends this far in front of the ring's limit is not taken for the stream's.
const OLD: i64 = 1 << 30;
/// Cycles from a question for an island to the answer.
const ISLAND_TOLD: usize = 2;

/// A beat of a segment whose octets have the stream positions from `from` on; in front of position 0 they are negative.
#[derive(Clone, Debug)]
struct Beat {
    stream: usize,
    /// Sequence number of the segment, which goes with all its beats.
    sequence: u32,
    from: i64,
    octets: Vec<u8>,
    last: bool,
    /// With the segment's last beat they count, with others not.
    fin: bool,
    abort: bool,
}

/// What comes out in a cycle.
#[derive(Clone, Debug, Default, PartialEq)]
struct Out {
    beat: Option<Accepted>,
    segment: bool,
    dropped: bool,
    octets: usize,
    mark: Option<Mark>,
    /// A segment ends behind a gap: its stream, and the position of its last beat.
    beyond: Option<(usize, u32)>,
}

/// What `ending` is told.
#[derive(Clone, Debug, PartialEq)]
struct Mark {
    stream: usize,
    edge: u32,
    fin: Option<u32>,
    abort: bool,
}

#[derive(Clone, Debug, PartialEq)]
struct Accepted {
    stream: usize,
    position: u32,
    skip: usize,
    edge: u32,
    octets: Vec<u8>,
}

/// A stream of the model. Positions do not wrap.
#[derive(Clone, Debug, Default)]
struct Stream {
    armed: bool,
    start: u32,
    edge: i64,
    tail: i64,
    /// Octets that were accepted, those in front of the edge included.
    accepted: Vec<bool>,
}

/// Begin and end of an island.
type Island = Option<(u32, u32)>;

impl Stream {
    fn has(&self, position: i64) -> bool {
        position < self.edge || self.accepted.get(position as usize) == Some(&true)
    }

    /// Positions behind the edge where accepted octets begin or end.
    fn shores(&self) -> Vec<i64> {
        let behind = self.edge..=self.accepted.len() as i64;
        let changes = behind.filter(|&at| at > 0 && self.has(at) != self.has(at - 1));
        changes.collect()
    }

    /// The island that a position lies in.
    fn island(&self, position: i64) -> Island {
        let there = |at: i64| at >= self.edge && self.accepted.get(at as usize) == Some(&true);
        let begin = (0..=position).rev().take_while(|at| there(*at)).last()?;
        let end = (position..).find(|at| !there(*at))?;
        Some((begin as u32, end as u32))
    }

    /// Accepts octets.
    fn fill(&mut self, from: i64, end: i64) {
        let length = self.accepted.len().max(end as usize);
        self.accepted.resize(length, false);
        self.accepted[from as usize..end as usize].fill(true);
        while self.accepted.get(self.edge as usize) == Some(&true) {
            self.edge += 1;
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    beats: usize,
    trimmed: usize,
    /// Accepted beats whose predecessor was accepted for the same stream in the cycle before.
    forwarded: usize,
    duplicates: usize,
    islands: usize,
    jumps: usize,
    overflows: usize,
    rests: usize,
    inner_duplicates: usize,
    beyond: usize,
    unarmed: usize,
    empty: usize,
    before_start: usize,
    sequence_wraps: usize,
    dropped_segments: usize,
    tail_moved_in_segment: usize,
    fins: usize,
    fins_beyond: usize,
    aborts: usize,
    beyond_gap: usize,
    islands_told: usize,
    islands_denied: usize,
}

struct Bench<const W: usize, const K: usize> {
    lockstep: Lockstep<Admit<W, K, STREAMS, ISLANDS>>,
    rng: Rng,
    ring: i64,
    streams: [Stream; STREAMS],
    /// Beats that are not decided yet, with the cycle in which they came and whether their stream was armed.
    coming: VecDeque<(usize, Beat, bool)>,
    due: VecDeque<(usize, Out)>,
    /// `edge_sequence` that is due: cycle, stream, value; and all `limit_sequence` of the last cycles.
    edges: Vec<(usize, usize, u32)>,
    limits: VecDeque<[u32; STREAMS]>,
    edge_now: [u32; STREAMS],
    /// The streams as the block's registers have them in this cycle, and what they answer to the last questions.
    shown: [Stream; STREAMS],
    asked: VecDeque<Island>,
    ask: Rng,
    lost: bool,
    in_segment: bool,
    last_accepted: Option<(usize, usize)>,
    /// Stream that is armed in this cycle, and the tail of its former connection: `fetch` puts it back a cycle later.
    former_tail: Option<(usize, i64)>,
    /// What is counted of the beat that came out a cycle ago.
    counts: (bool, bool, usize),
    cycle: usize,
    wrong: usize,
    seen: Seen,
}

impl<const W: usize, const K: usize> Bench<W, K> {
    /// A bench whose model has rings of `model_ring` octets.
    fn new(config: &Config, model_ring: i64, seed: u64) -> Self {
        let block = Box::new(Admit::new(config));
        let top = format!("admit_{W}");
        let lockstep = Lockstep::new(&top, block, |b, level| b.clock.next = level.into());
        let mut bench = Self {
            lockstep: lockstep.unwrap_or_else(|e| panic!("{e}")),
            rng: Rng::with_seed(seed),
            ring: model_ring,
            streams: Default::default(),
            coming: VecDeque::new(),
            due: VecDeque::new(),
            edges: vec![],
            limits: VecDeque::new(),
            edge_now: [0; STREAMS],
            shown: Default::default(),
            asked: VecDeque::new(),
            ask: Rng::with_seed(seed),
            lost: false,
            in_segment: false,
            last_accepted: None,
            former_tail: None,
            counts: (false, false, 0),
            cycle: 0,
            wrong: 0,
            seen: Seen::default(),
        };
        bench.lockstep.block.reset.next = true;
        for _ in 0..LATENCY {
            bench.lockstep.settle().unwrap();
            bench.lockstep.edge().unwrap();
        }
        bench.lockstep.block.reset.next = false;
        bench
    }

    fn arm(&mut self, stream: usize, start: u32) {
        self.command(stream, start, true);
    }

    fn close(&mut self, stream: usize) {
        self.command(stream, 0, false);
    }

    fn command(&mut self, stream: usize, start: u32, arm: bool) {
        let b = &mut self.lockstep.block;
        b.arm.next = arm;
        b.close.next = !arm;
        b.stream.next = (stream as u64).into();
        b.sequence_start.next = u64::from(start).into();
        if arm {
            self.former_tail = Some((stream, self.streams[stream].tail));
            self.streams[stream] = Stream {
                armed: true,
                start,
                ..Stream::default()
            };
            // two cycles until it shows, as its edge is added to its start
            self.edges.push((self.cycle + 2, stream, start));
        } else {
            self.streams[stream].armed = false;
        }
        self.cycle(None);
        if arm {
            self.shown[stream] = Stream::default();
        }
        let b = &mut self.lockstep.block;
        b.arm.next = false;
        b.close.next = false;
    }

    /// One cycle with a beat, or without.
    fn cycle(&mut self, beat: Option<Beat>) {
        let b = &mut self.lockstep.block;
        b.tvalid.next = beat.is_some();
        let noise: Vec<u8> = (0..self.rng.usize(0..=K)).map(|_| 0xEE).collect();
        let shown = beat.clone().unwrap_or(Beat {
            stream: self.rng.usize(0..STREAMS),
            sequence: self.rng.u32(..),
            from: 0,
            octets: noise,
            last: chance(&mut self.rng, 50),
            fin: self.rng.bool(),
            abort: self.rng.bool(),
        });
        b.tdata.next = noisy_beat(&mut self.rng, &shown.octets);
        b.tkeep.next = lowest(shown.octets.len());
        b.tlast.next = shown.last;
        b.tdest.next = (shown.stream as u64).into();
        let marks = u64::from(shown.fin) << USER_FIN | u64::from(shown.abort) << USER_ABORT;
        b.tuser.next = (u64::from(shown.sequence) | marks).into();
        let mut tails = self.streams.each_ref().map(|stream| stream.tail);
        if let Some((stream, tail)) = self.former_tail.take() {
            tails[stream] = tail;
        }
        for (port, tail) in b.tail.iter_mut().zip(tails) {
            port.next = (tail as u64 & 0xFFFF_FFFF).into();
        }
        self.limits.push_back(
            self.streams
                .each_ref()
                .map(|stream| stream.start.wrapping_add((stream.tail + self.ring) as u32)),
        );
        if let Some(beat) = beat {
            let armed = self
                .streams
                .get(beat.stream)
                .is_some_and(|stream| stream.armed);
            self.coming.push_back((self.cycle, beat, armed));
        }
        while let Some((came, beat, armed)) = self.coming.pop_front() {
            if came + TAIL > self.cycle {
                self.coming.push_front((came, beat, armed));
                break;
            }
            let out = self.decide(beat, armed, came);
            self.due.push_back((came + LATENCY, out));
        }
        let (stream, position) = self.question();
        let b = &mut self.lockstep.block;
        b.asked_stream.next = (stream as u64).into();
        b.asked_position.next = (position as u64 & 0xFFFF_FFFF).into();
        self.lockstep.settle().unwrap();
        // as it was a cycle before
        let asked = self.shown[stream].island(position);
        self.compare();
        self.asked.push_back(asked);
        self.lockstep.edge().unwrap();
        self.cycle += 1;
    }

    /// A position in some stream, mostly where something begins or ends.
    fn question(&mut self) -> (usize, i64) {
        let stream = self.ask.usize(0..STREAMS);
        let shown = &self.shown[stream];
        let shores = shown.shores();
        let near = match shores.is_empty() {
            true => shown.edge,
            false => shores[self.ask.usize(..shores.len())],
        };
        (stream, near + self.ask.i64(-2..=2))
    }

    /// What becomes of a beat that came in cycle `came`.
    fn decide(&mut self, beat: Beat, armed: bool, came: usize) -> Out {
        let count = beat.octets.len() as i64;
        let end = beat.from + count;
        let first = !self.in_segment;
        self.in_segment = !beat.last;
        let mut out = Out {
            segment: beat.last,
            ..Out::default()
        };
        let mut drop = false;
        let mut mark = None;
        if let Some(stream) = self.streams.get(beat.stream)
            && armed
            && beat.last
        {
            let room = stream.tail + self.ring - end;
            let fits = (0..OLD).contains(&room);
            let fin = (beat.fin && fits).then_some(end as u32);
            self.seen.fins += usize::from(fin.is_some());
            self.seen.fins_beyond += usize::from(beat.fin && !fits);
            self.seen.aborts += usize::from(beat.abort);
            mark = Some((beat.stream, fin, beat.abort));
        }
        let behind_gap = |stream: &&Stream| armed && beat.last && beat.from > stream.edge;
        let beyond = self.streams.get(beat.stream).filter(behind_gap);
        out.beyond = beyond.map(|_| (beat.stream, beat.from as u32));
        self.seen.beyond_gap += usize::from(out.beyond.is_some());
        let stream = match self.streams.get_mut(beat.stream).filter(|_| armed) {
            None => {
                drop = count > 0;
                self.seen.unarmed += usize::from(drop);
                None
            }
            Some(stream) if count == 0 => {
                self.seen.empty += 1;
                drop = false;
                let _ = stream;
                None
            }
            Some(stream) if (beat.from..end).all(|at| stream.has(at)) => {
                self.seen.duplicates += 1;
                self.seen.inner_duplicates += usize::from(end > stream.edge);
                None
            }
            Some(stream) if stream.tail + self.ring < end => {
                drop = true;
                self.seen.beyond += 1;
                let _ = stream;
                None
            }
            Some(stream) => {
                // beyond the edge there are two shores to each island; the edge itself is one, but for the very start
                let alone =
                    beat.from > stream.edge && !(beat.from - 1..=end).any(|at| stream.has(at));
                let islands = stream
                    .shores()
                    .iter()
                    .filter(|&&at| at > stream.edge)
                    .count()
                    / 2;
                if alone && islands == ISLANDS {
                    drop = true;
                    self.seen.overflows += 1;
                    None
                } else {
                    self.seen.islands += usize::from(alone);
                    Some(stream)
                }
            }
        };
        if let Some(stream) = stream {
            let new = |at: &i64| !stream.has(*at);
            let begin = (beat.from..end).find(new).expect("not all are there");
            let until = (begin..end).find(|&at| stream.has(at)).unwrap_or(end);
            drop = (until..end).any(|at| new(&at));
            self.seen.rests += usize::from(drop);
            let skip = (begin - beat.from) as usize;
            self.seen.beats += 1;
            self.seen.trimmed += usize::from(skip > 0);
            self.seen.before_start += usize::from(beat.from < 0);
            self.seen.forwarded += usize::from(
                came.checked_sub(1)
                    .is_some_and(|before| self.last_accepted == Some((before, beat.stream))),
            );
            let sequence = |position: i64| stream.start.wrapping_add(position as u32);
            self.seen.sequence_wraps += usize::from(sequence(until) < sequence(begin));
            self.last_accepted = Some((came, beat.stream));
            let before = stream.edge;
            stream.fill(begin, until);
            self.seen.jumps += usize::from(stream.edge > until && stream.edge > before);
            out.octets = (until - begin) as usize;
            let mut octets = beat.octets;
            octets.truncate((until - beat.from) as usize);
            out.beat = Some(Accepted {
                stream: beat.stream,
                position: beat.from as u32,
                skip,
                edge: stream.edge as u32,
                octets,
            });
            let edge = stream.start.wrapping_add(stream.edge as u32);
            self.edges.push((came + EDGE_SEQUENCE, beat.stream, edge));
        }
        out.mark =
            mark.filter(|(_, fin, abort)| fin.is_some() || *abort)
                .map(|(stream, fin, abort)| Mark {
                    stream,
                    edge: self.streams[stream].edge as u32,
                    fin,
                    abort,
                });
        self.lost = drop || (self.lost && !first);
        out.dropped = out.segment && self.lost;
        self.seen.dropped_segments += usize::from(out.dropped);
        out
    }

    fn compare(&mut self) {
        let b = &self.lockstep.block;
        let count = b.beat.val().count.index();
        let found = Out {
            beat: b.beat_valid.val().then(|| Accepted {
                stream: b.beat.val().stream.index(),
                position: b.beat.val().position.to_u32(),
                skip: b.beat.val().skip.index(),
                edge: b.beat.val().new_edge.to_u32(),
                octets: octets(b.beat_data.val())[..count.min(K)].to_vec(),
            }),
            segment: b.segments.val(),
            dropped: b.segments_dropped.val(),
            octets: b.octets.val().index(),
            mark: (b.mark_fin.val() || b.mark_abort.val()).then(|| Mark {
                stream: b.beat.val().stream.index(),
                edge: b.beat.val().new_edge.to_u32(),
                fin: b.mark_fin.val().then(|| b.mark_end.val().to_u32()),
                abort: b.mark_abort.val(),
            }),
            beyond: b.beyond.val().then(|| {
                let position = b.beyond_position.val().to_u32();
                (b.beyond_stream.val().index(), position)
            }),
        };
        if self.asked.len() >= ISLAND_TOLD {
            let range = (b.island_begin.val().to_u32(), b.island_end.val().to_u32());
            let told = b.island.val().then_some(range);
            self.seen.islands_told += usize::from(told.is_some());
            self.seen.islands_denied += usize::from(told.is_none());
            self.wrong += usize::from(Some(told) != self.asked.pop_front());
        }
        let due = match self.due.front() {
            Some((at, _)) if *at == self.cycle => self.due.pop_front().unwrap().1,
            _ => Out::default(),
        };
        let counts = (due.segment, due.dropped, due.octets);
        let (segment, dropped, octets) = std::mem::replace(&mut self.counts, counts);
        let wanted = Out {
            segment,
            dropped,
            octets,
            ..due.clone()
        };
        self.wrong += usize::from(found != wanted);
        if let Some(beat) = due.beat {
            let from = beat.position.wrapping_add(beat.skip as u32);
            let end = beat.position.wrapping_add(beat.octets.len() as u32);
            self.shown[beat.stream].fill(from.into(), end.into());
        }
        for (_, stream, edge) in self.edges.iter().filter(|(at, ..)| *at == self.cycle) {
            self.edge_now[*stream] = *edge;
        }
        self.edges.retain(|(at, ..)| *at > self.cycle);
        let edges = b.edge_sequence.each_ref().map(|edge| edge.val().to_u32());
        self.wrong += usize::from(edges != self.edge_now);
        if self.limits.len() > LIMIT_SEQUENCE {
            let limits = b
                .limit_sequence
                .each_ref()
                .map(|limit| limit.val().to_u32());
            self.wrong += usize::from(Some(limits) != self.limits.pop_front());
        }
    }

    /// Beats of the segment from `from` to `end`.
    fn segment(&mut self, stream: usize, from: i64, end: i64) -> Vec<Beat> {
        let start = self.streams.get(stream).map_or(0, |stream| stream.start);
        let sequence = start.wrapping_add(from as u32);
        let octets: Vec<u8> = (from..end).map(|_| self.rng.u8(..)).collect();
        let cuts = octets.len().div_ceil(K).max(1);
        let (fin, abort) = (chance(&mut self.rng, 20), chance(&mut self.rng, 10));
        (0..cuts)
            .map(|cut| Beat {
                stream,
                sequence,
                from: from + (cut * K) as i64,
                octets: octets[cut * K..octets.len().min((cut + 1) * K)].to_vec(),
                last: cut + 1 == cuts,
                fin,
                abort,
            })
            .collect()
    }

    /// A segment as a careless sender makes it, which believes to have `sent` so much: mostly the next octets, now and
    /// then anything else.
    fn any_segment(&mut self, sent: &mut [i64; STREAMS]) -> Vec<Beat> {
        let (k, rng) = (K as i64, &mut self.rng);
        let stream = match chance(rng, 2) {
            true => STREAMS + rng.usize(0..3),
            false => rng.usize(0..STREAMS),
        };
        let edge = sent.get(stream).copied().unwrap_or(0);
        let length = match rng.u8(0..16) {
            0 => 0,
            1..=8 => rng.i64(1..=k),
            9..=13 => rng.i64(1..=4 * k),
            _ => rng.i64(1..=self.ring),
        };
        let shores = self.streams.get(stream).map_or(vec![], Stream::shores);
        let (from, end) = match rng.u8(0..16) {
            // around what is there and what is not
            0..=2 if !shores.is_empty() => {
                let from = shores[rng.usize(..shores.len())] + rng.i64(-2 * k..=k);
                (from, from + rng.i64(1..=3 * k))
            }
            0..=4 => {
                let from = edge + rng.i64(0..=self.ring / 2);
                let most = if rng.bool() { 4 * k } else { 4 };
                (from, from + rng.i64(1..=most))
            }
            5..=9 => (edge, edge + length),
            10 => (edge - length, edge),
            11..=12 => (edge - rng.i64(0..=3 * k), edge + length),
            13 => {
                let back = match rng.u8(0..4) {
                    0 => rng.i64(OLD - self.ring..2 * OLD - 2 * self.ring),
                    _ => rng.i64(1..5000),
                };
                let from = edge - back;
                (from, from.saturating_add(length).min(from + 3 * k))
            }
            14 => (edge + rng.i64(1..=2 * k), edge + 2 * k + length),
            _ => (edge + (1 << 20), edge + (1 << 20) + length),
        };
        if let Some(sent) = sent.get_mut(stream).filter(|sent| from <= **sent) {
            *sent = end.max(*sent);
        }
        self.segment(stream, from, end.min(from + self.ring))
    }

    /// Moves a tail up to some octet that was accepted.
    fn consume(&mut self) {
        let stream = &mut self.streams[self.rng.usize(0..STREAMS)];
        if chance(&mut self.rng, 1) {
            let to = (stream.tail + self.rng.i64(0..=self.ring / 4)) & !3;
            stream.tail = to.min(stream.edge).max(stream.tail);
        }
    }
}

/// Random traffic of `cycles` cycles; the rings that the model believes in, and how much the block did otherwise.
fn traffic<const W: usize, const K: usize>(
    config: &Config,
    model_ring: i64,
    cycles: usize,
) -> (usize, Seen) {
    let mut bench = Bench::<W, K>::new(config, model_ring, W as u64);
    let mut sent = [0; STREAMS];
    // sequence numbers wrap early, later, or start in the middle
    for (stream, start) in [0xFFFF_FF00, 0x7FFF_F000, 0, 0xFFFF_0000]
        .into_iter()
        .enumerate()
    {
        bench.cycle(None);
        bench.arm(stream, start);
    }
    let paces = [Pace::Always, Pace::Percent(60), Pace::Bursts(12)];
    let mut closed: Option<(usize, usize)> = None;
    for pace in paces {
        let mut rhythm = Rhythm::new(pace);
        let until = bench.cycle + cycles / paces.len();
        while bench.cycle < until {
            let segment = bench.any_segment(&mut sent);
            let (stream, beats) = (segment[0].stream, segment.len());
            let tail = bench.streams.get(stream).map(|stream| stream.tail);
            for beat in segment {
                while !rhythm.go(&mut bench.rng) {
                    bench.consume();
                    bench.cycle(None);
                }
                bench.consume();
                bench.cycle(Some(beat));
            }
            let after = bench.streams.get(stream).map(|stream| stream.tail);
            bench.seen.tail_moved_in_segment += usize::from(beats > 1 && tail != after);
            // what was lost is sent again from the edge
            if chance(&mut bench.rng, 20) {
                for _ in 0..LATENCY {
                    bench.cycle(None);
                }
                sent = bench.streams.each_ref().map(|stream| stream.edge);
            }
            match closed {
                None if chance(&mut bench.rng, 1) => {
                    let stream = bench.rng.usize(0..STREAMS);
                    bench.close(stream);
                    closed = Some((stream, bench.cycle));
                }
                Some((stream, at)) if bench.cycle > at + 64 => {
                    let start = bench.rng.u32(..);
                    bench.arm(stream, start);
                    closed = None;
                    // a segment of the start-up phase, and the first octets behind it
                    let (before, after) = (bench.rng.i64(1..=20), bench.rng.i64(1..=20));
                    for beat in bench.segment(stream, -before, after) {
                        bench.cycle(Some(beat));
                    }
                    sent[stream] = after;
                }
                _ => {}
            }
        }
    }
    for _ in 0..2 * LATENCY {
        bench.cycle(None);
    }
    (bench.wrong, bench.seen)
}

const fn config(width: usize) -> Config {
    Config {
        ring_octets: 4 << 10,
        commit_octets: 4 << 10,
        ..Config::simulated(width)
    }
}

fn assert_traffic<const W: usize, const K: usize>(cycles: usize) {
    let (wrong, seen) = traffic::<W, K>(&config(W), 4 << 10, cycles);
    assert_eq!(wrong, 0, "{seen:?}");
    for (what, count) in [
        ("accepted", seen.beats),
        ("trimmed", seen.trimmed),
        ("forwarded", seen.forwarded),
        ("duplicate", seen.duplicates),
        ("islands", seen.islands),
        ("jumps of the edge", seen.jumps),
        ("one island too many", seen.overflows),
        ("behind a whole island", seen.rests),
        ("duplicate in an island", seen.inner_duplicates),
        ("beyond the ring", seen.beyond),
        ("of no armed stream", seen.unarmed),
        ("empty", seen.empty),
        ("dropped", seen.dropped_segments),
        ("with a moving tail", seen.tail_moved_in_segment),
        ("FIN", seen.fins),
        ("FIN beyond the ring", seen.fins_beyond),
        ("abort", seen.aborts),
        ("behind a gap", seen.beyond_gap),
        ("islands told", seen.islands_told),
        ("islands denied", seen.islands_denied),
    ] {
        assert!(count > 4, "{what}: {count}");
    }
    assert!(seen.sequence_wraps > 0 && seen.before_start > 0, "{seen:?}");
}

// req: MPA-RCV-17, MPA-RCV-24, MPA-RCV-25, MPA-MRK-04, AMB-40
#[test]
fn segments_of_four_streams_at_64_bits() {
    assert_traffic::<64, 8>(20_000);
}

// req: MPA-RCV-17, MPA-RCV-24, MPA-RCV-25, MPA-MRK-04, AMB-40
#[test]
fn segments_of_four_streams_at_512_bits() {
    on_large_stack(|| assert_traffic::<512, 64>(8_000));
}

#[test]
fn a_model_with_rings_of_another_size_is_seen() {
    let (wrong, _) = traffic::<64, 8>(&config(64), (4 << 10) - 1, 3_000);
    assert!(wrong > 10, "{wrong}");
}

/// A bench at 64 bits with stream 1 armed at sequence number 1000.
fn armed() -> Bench<64, 8> {
    let mut bench = Bench::new(&config(64), 4 << 10, 1);
    bench.arm(1, 1000);
    bench
}

/// Drives `beats` back to back and lets them come through; beats that came out and dropped segments.
fn through(bench: &mut Bench<64, 8>, beats: Vec<Beat>) -> (Vec<Accepted>, usize) {
    let mut found = vec![];
    let mut dropped = 0;
    let idle = std::iter::repeat_n(None, LATENCY + 1);
    for beat in beats.into_iter().map(Some).chain(idle) {
        bench.cycle(beat);
        // the scoreboard has just held this cycle's outputs against the model
        let b = &bench.lockstep.block;
        dropped += usize::from(b.segments_dropped.val());
        if b.beat_valid.val() {
            let count = b.beat.val().count.index();
            found.push(Accepted {
                stream: b.beat.val().stream.index(),
                position: b.beat.val().position.to_u32(),
                skip: b.beat.val().skip.index(),
                edge: b.beat.val().new_edge.to_u32(),
                octets: octets(b.beat_data.val())[..count].to_vec(),
            });
        }
    }
    assert_eq!(bench.wrong, 0);
    (found, dropped)
}

// req: MPA-RCV-25
#[test]
fn a_beat_a_cycle_comes_out_five_cycles_later() {
    assert_eq!(LATENCY, 5);
    let mut bench = armed();
    let beats = bench.segment(1, 0, 800);
    let came = bench.cycle;
    for (number, beat) in beats.into_iter().enumerate() {
        bench.cycle(Some(beat));
        // outputs as they are after the edge belong to the next cycle
        let expected = bench.cycle >= came + LATENCY;
        assert_eq!(bench.lockstep.block.beat_valid.val(), expected, "{number}");
    }
    assert_eq!(bench.wrong, 0);
}

// req: MPA-RCV-17, AMB-40
#[test]
fn beats_of_one_octet_in_consecutive_cycles_see_each_others_edge() {
    let mut bench = armed();
    let beats: Vec<Beat> = (0..100)
        .flat_map(|at| bench.segment(1, at, at + 1))
        .collect();
    let (found, dropped) = through(&mut bench, beats);
    assert_eq!((found.len(), dropped), (100, 0));
    assert_eq!(found[99].edge, 100);
    // and each again: of a pair of equal beats one is taken
    let beats: Vec<Beat> = (100..150)
        .flat_map(|at| [at, at])
        .flat_map(|at| bench.segment(1, at, at + 1))
        .collect();
    assert_eq!(beats.len(), 100);
    let (found, dropped) = through(&mut bench, beats);
    assert_eq!((found.len(), dropped), (50, 0));
}

// req: MPA-RCV-17, MPA-RCV-24, AMB-40
#[test]
fn a_gap_is_closed_and_the_edge_jumps() {
    let mut bench = armed();
    for (from, end, edge) in [
        (16, 32, 0),
        (40, 41, 0),
        (0, 16, 32),
        (32, 40, 41),
        (41, 50, 50),
    ] {
        let beats = bench.segment(1, from, end);
        let (found, dropped) = through(&mut bench, beats);
        assert_eq!((found.last().unwrap().edge, dropped), (edge, 0), "{from}");
    }
}

// req: MPA-RCV-24, AMB-40
#[test]
fn islands_are_kept_up_to_their_number_and_octets_once() {
    let mut bench = armed();
    for island in 1..=ISLANDS as i64 {
        let beats = bench.segment(1, 100 * island, 100 * island + 3);
        assert_eq!(through(&mut bench, beats).1, 0);
    }
    // one too many; one that grows an island needs none
    let beats = bench.segment(1, 50, 58);
    assert_eq!(through(&mut bench, beats), (vec![], 1));
    let beats = bench.segment(1, 95, 103);
    let (found, dropped) = through(&mut bench, beats);
    assert_eq!((found[0].octets.len(), dropped), (5, 0));
    // an island of three octets inside a beat: what lies behind it is dropped and counted
    let beats = bench.segment(1, 198, 206);
    let (found, dropped) = through(&mut bench, beats);
    assert_eq!((found[0].octets.len(), dropped), (2, 1));
    // the stream goes on at its edge, with all islands in use
    let beats = bench.segment(1, 0, 8);
    let (found, dropped) = through(&mut bench, beats);
    assert_eq!((found[0].edge, dropped), (8, 0));
    // armed again, nothing of them is left
    bench.close(1);
    bench.arm(1, 5);
    let beats = bench.segment(1, 0, 410);
    let (found, dropped) = through(&mut bench, beats);
    assert_eq!((found.last().unwrap().edge, dropped), (410, 0));
}

// req: MPA-RCV-25, AMB-40
#[test]
fn a_segment_that_begins_in_front_of_the_stream_is_trimmed() {
    let mut bench = armed();
    let beats = bench.segment(1, -13, 20);
    let (found, dropped) = through(&mut bench, beats);
    let places: Vec<(u32, usize, u32)> =
        found.iter().map(|a| (a.position, a.skip, a.edge)).collect();
    // the beat from -13 to -5 is old, that from -5 to 3 has three new octets
    let expected = [
        (0u32.wrapping_sub(5), 5, 3),
        (3, 0, 11),
        (11, 0, 19),
        (19, 0, 20),
    ];
    assert_eq!((places, dropped), (expected.to_vec(), 0));
}

// req: MPA-RCV-24
#[test]
fn what_the_ring_has_no_room_for_is_dropped_until_the_tail_moves() {
    let mut bench = armed();
    let beats = bench.segment(1, 0, 4096);
    assert_eq!(through(&mut bench, beats).1, 0);
    let beats = bench.segment(1, 4096, 4097);
    let (found, dropped) = through(&mut bench, beats);
    assert_eq!((found.len(), dropped), (0, 1));
    bench.streams[1].tail = 4;
    let beats = bench.segment(1, 4096, 4096 + 5);
    assert_eq!(through(&mut bench, beats).1, 1);
    let beats = bench.segment(1, 4096, 4096 + 4);
    let (found, dropped) = through(&mut bench, beats);
    assert_eq!((found.len(), dropped), (1, 0));
}

// req: MPA-RCV-24, MPA-START-08, MPA-START-34
#[test]
fn nothing_is_taken_before_arm_and_after_close() {
    let mut bench = Bench::<64, 8>::new(&config(64), 4 << 10, 1);
    let beats = bench.segment(2, 0, 24);
    let (found, dropped) = through(&mut bench, beats);
    assert_eq!((found.len(), dropped), (0, 1));
    bench.arm(2, 77);
    let beats = bench.segment(2, 0, 24);
    assert_eq!(through(&mut bench, beats).0.len(), 3);
    bench.close(2);
    let beats = bench.segment(2, 24, 48);
    assert_eq!(through(&mut bench, beats), (vec![], 1));
    // another connection begins at position 0 again
    bench.arm(2, 78);
    let beats = bench.segment(2, 0, 8);
    let (found, _) = through(&mut bench, beats);
    assert_eq!((found[0].position, found[0].edge), (0, 8));
}

/// Runs a block whose text has a fault: beats of one octet back to back, then some behind gaps, then those between.
fn is_seen(fault: &str, correct: &str, wrong: &str) -> bool {
    let block = Box::new(Admit::<64, 8, STREAMS, ISLANDS>::new(&config(64)));
    let mut design = writer::write(&*block, fault).unwrap();
    let text = &mut design.modules.last_mut().unwrap().text;
    assert!(text.contains(correct), "{text}");
    *text = text.replace(correct, wrong);
    let clock: fn(&mut Admit<64, 8, STREAMS, ISLANDS>, bool) =
        |b, level| b.clock.next = level.into();
    let mut bench = Lockstep::with_design(fault, block, &design, clock).unwrap();
    let sequences = (0..17)
        .chain([18, 20, 22, 20, 17, 21, 19, 40, 30])
        .chain(23..44);
    let beats = [None; 3]
        .into_iter()
        .chain(sequences.map(Some))
        .chain([None; 8]);
    for (cycle, beat) in beats.enumerate() {
        let b = &mut bench.block;
        b.reset.next = cycle == 0;
        b.arm.next = cycle == 1;
        b.tvalid.next = beat.is_some();
        b.tkeep.next = 1.into();
        b.tlast.next = true;
        b.tuser.next = beat.unwrap_or(0_u64).into();
        if let Err(error) = bench.settle().and_then(|()| bench.edge()) {
            return matches!(error, LockstepError::Differ { .. });
        }
    }
    false
}

#[test]
fn planted_faults_are_seen() {
    let forward = "if (near_2_q)";
    assert!(!is_seen("admit_sound", forward, forward));
    let late = "if (near_2_q & valid_4_q)";
    assert!(
        is_seen("admit_late", forward, late),
        "an edge that is not forwarded"
    );
    let jump = "edge_after = finish_3_0_q";
    assert!(
        is_seen("admit_stays", jump, "edge_after = end_3_q"),
        "an edge that does not jump"
    );
    let place = ".items_0 (begin_3_0_q)";
    let lost = ".items_0 (begin_3_1_q)";
    assert!(is_seen("admit_lost", place, lost), "an island lost");
}
