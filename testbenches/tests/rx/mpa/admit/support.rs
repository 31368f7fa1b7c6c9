//! `admit` beside its model, in lockstep.

use fastrand::Rng;
use std::collections::VecDeque;
use warpline_hdl::parts::axi::{USER_ABORT, USER_FIN};
use warpline_hdl::rx::mpa::admit::{Admit, LATENCY};
use warpline_hdl::{Config, ISLANDS};
use warpline_testbenches::lockstep::Lockstep;
use warpline_testbenches::octets::{lowest, noisy_beat, octets};
use warpline_testbenches::stimulus::chance;

pub const STREAMS: usize = 4;
/// Cycles from a beat to the moment in which its stream's `tail` counts.
pub const TAIL: usize = 1;
/// Cycles from an accepted beat to its stream's `edge_sequence`, and from a `tail` to its `limit_sequence`.
pub const EDGE_SEQUENCE: usize = LATENCY + 1;
pub const LIMIT_SEQUENCE: usize = 2;
/// What ends this far in front of the ring's limit is not taken for the stream's.
pub const OLD: i64 = 1 << 30;
/// Cycles from a question for an island to the answer.
pub const ISLAND_TOLD: usize = 2;

/// A beat of a segment whose octets have the stream positions from `from` on; in front of position 0 they are negative.
#[derive(Clone, Debug)]
pub struct Beat {
    pub stream: usize,
    /// Sequence number of the segment, which goes with all its beats.
    pub sequence: u32,
    pub from: i64,
    pub octets: Vec<u8>,
    pub last: bool,
    /// With the segment's last beat they count, with others not.
    pub fin: bool,
    pub abort: bool,
}

/// What comes out in a cycle.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Out {
    pub beat: Option<Accepted>,
    pub segment: bool,
    pub dropped: bool,
    pub octets: usize,
    pub mark: Option<Mark>,
    /// A segment ends behind a gap: its stream, and the position of its last beat.
    pub beyond: Option<(usize, u32)>,
}

/// A mark for `stream_end`.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    pub stream: usize,
    pub edge: u32,
    pub fin: Option<u32>,
    pub abort: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Accepted {
    pub stream: usize,
    pub position: u32,
    pub skip: usize,
    pub edge: u32,
    pub octets: Vec<u8>,
}

/// A stream of the model. Positions do not wrap.
#[derive(Clone, Debug, Default)]
pub struct Stream {
    pub armed: bool,
    pub start: u32,
    pub edge: i64,
    pub tail: i64,
    /// Octets that were accepted, those in front of the edge included.
    pub accepted: Vec<bool>,
}

/// Begin and end of an island.
pub type Island = Option<(u32, u32)>;

impl Stream {
    pub fn has(&self, position: i64) -> bool {
        position < self.edge || self.accepted.get(position as usize) == Some(&true)
    }

    /// Positions behind the edge where accepted octets begin or end.
    pub fn shores(&self) -> Vec<i64> {
        let behind = self.edge..=self.accepted.len() as i64;
        let changes = behind.filter(|&at| at > 0 && self.has(at) != self.has(at - 1));
        changes.collect()
    }

    /// The island that a position lies in.
    pub fn island(&self, position: i64) -> Island {
        let there = |at: i64| at >= self.edge && self.accepted.get(at as usize) == Some(&true);
        let begin = (0..=position).rev().take_while(|at| there(*at)).last()?;
        let end = (position..).find(|at| !there(*at))?;
        Some((begin as u32, end as u32))
    }

    /// Accepts octets.
    pub fn fill(&mut self, from: i64, end: i64) {
        let length = self.accepted.len().max(end as usize);
        self.accepted.resize(length, false);
        self.accepted[from as usize..end as usize].fill(true);
        while self.accepted.get(self.edge as usize) == Some(&true) {
            self.edge += 1;
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    pub beats: usize,
    pub trimmed: usize,
    /// Accepted beats whose predecessor was accepted for the same stream in the cycle before.
    pub forwarded: usize,
    pub duplicates: usize,
    pub islands: usize,
    pub jumps: usize,
    pub overflows: usize,
    pub rests: usize,
    pub inner_duplicates: usize,
    pub beyond: usize,
    pub unarmed: usize,
    pub empty: usize,
    pub before_start: usize,
    pub sequence_wraps: usize,
    pub dropped_segments: usize,
    pub tail_moved_in_segment: usize,
    pub fins: usize,
    pub fins_beyond: usize,
    pub aborts: usize,
    pub beyond_gap: usize,
    pub islands_told: usize,
    pub islands_denied: usize,
}

pub struct Bench<const W: usize, const K: usize> {
    pub lockstep: Lockstep<Admit<W, K, STREAMS, ISLANDS>>,
    pub rng: Rng,
    pub ring: i64,
    pub streams: [Stream; STREAMS],
    /// Beats that are not decided yet, with the cycle in which they came and whether their stream was armed.
    pub coming: VecDeque<(usize, Beat, bool)>,
    pub due: VecDeque<(usize, Out)>,
    /// `edge_sequence` that is due: cycle, stream, value; and all `limit_sequence` of the last cycles.
    pub edges: Vec<(usize, usize, u32)>,
    pub limits: VecDeque<[u32; STREAMS]>,
    pub edge_now: [u32; STREAMS],
    /// The streams as the block's registers have them in this cycle, and what they answer to the last questions.
    pub shown: [Stream; STREAMS],
    pub asked: VecDeque<Island>,
    pub ask: Rng,
    pub lost: bool,
    pub in_segment: bool,
    pub last_accepted: Option<(usize, usize)>,
    /// Stream that is armed in this cycle, and the tail of its former connection: `fetch` puts it back a cycle later.
    pub former_tail: Option<(usize, i64)>,
    /// What is counted of the beat that came out a cycle ago.
    pub counts: (bool, bool, usize),
    pub cycle: usize,
    pub wrong: usize,
    pub seen: Seen,
}

impl<const W: usize, const K: usize> Bench<W, K> {
    /// A bench whose model has rings of `model_ring` octets.
    pub fn new(config: &Config, model_ring: i64, seed: u64) -> Self {
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

    pub fn arm(&mut self, stream: usize, start: u32) {
        self.command(stream, start, true);
    }

    pub fn close(&mut self, stream: usize) {
        self.command(stream, 0, false);
    }

    pub fn command(&mut self, stream: usize, start: u32, arm: bool) {
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
    pub fn cycle(&mut self, beat: Option<Beat>) {
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
    pub fn question(&mut self) -> (usize, i64) {
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
    pub fn decide(&mut self, beat: Beat, armed: bool, came: usize) -> Out {
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

    pub fn compare(&mut self) {
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
            self.wrong += self.lockstep.mismatch(Some(told) != self.asked.pop_front());
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
        self.wrong += self.lockstep.mismatch(found != wanted);
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
        self.wrong += self.lockstep.mismatch(edges != self.edge_now);
        if self.limits.len() > LIMIT_SEQUENCE {
            let limits = b
                .limit_sequence
                .each_ref()
                .map(|limit| limit.val().to_u32());
            self.wrong += self
                .lockstep
                .mismatch(Some(limits) != self.limits.pop_front());
        }
    }

    /// Beats of the segment from `from` to `end`.
    pub fn segment(&mut self, stream: usize, from: i64, end: i64) -> Vec<Beat> {
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
    pub fn any_segment(&mut self, sent: &mut [i64; STREAMS]) -> Vec<Beat> {
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
    pub fn consume(&mut self) {
        let stream = &mut self.streams[self.rng.usize(0..STREAMS)];
        if chance(&mut self.rng, 1) {
            let to = (stream.tail + self.rng.i64(0..=self.ring / 4)) & !3;
            stream.tail = to.min(stream.edge).max(stream.tail);
        }
    }
}

pub const fn config(width: usize) -> Config {
    Config {
        ring_octets: 4 << 10,
        commit_octets: 4 << 10,
        ..Config::simulated(width)
    }
}
