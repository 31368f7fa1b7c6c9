//! The bench: drives the block, and says what is due.

use fastrand::Rng;
use std::collections::{BTreeMap, VecDeque};
use warpline_hdl::records::{ChunkEnd, ChunkKey, Fpdu, HEADER, chunk_status};
use warpline_hdl::rx::sctp::order::{JUDGE, Order};
use warpline_hdl::{Config, Sctp};
use warpline_regmap::layout::refused;
use warpline_testbenches::lockstep::Lockstep;
use warpline_testbenches::stimulus::{Rhythm, chance};
use warpline_wire::sctp::{self as wire, FULL_WINDOW_WORDS, Ssn};

/// Octets of a slot: eight of them a stream.
pub const SLOT: usize = 512;
/// Slots of a stream.
pub const SLOTS: u32 = 8;
/// Cycles from an end to its decision.
const END_DECIDES: usize = 3;
/// Cycles from a key to the cycle in which its place is compared with the ring.
const TAIL_READ: usize = 4;

/// Rings of eight slots.
pub fn config(streams: usize) -> Config {
    Config {
        streams,
        ring_octets: SLOT * SLOTS as usize,
        commit_octets: SLOT * SLOTS as usize,
        ..Config::simulated(64)
    }
}

/// Slots of [`SLOT`] octets.
pub fn sctp(window: usize) -> Sctp {
    Sctp {
        slot_octets: SLOT,
        window,
    }
}

/// A chunk that has ended.
#[derive(Clone, Copy, Debug)]
struct Known {
    control: bool,
    terminate: bool,
    length: u16,
    placed: bool,
}

/// The model of a session.
pub struct Session {
    /// The machine that the block is compared with; a chunk counts when it has ended.
    pub order: wire::Order<FULL_WINDOW_WORDS>,
    /// Number of the next chunk, in 32 bits.
    pub next: u32,
    claimed: BTreeMap<u32, ()>,
    whole: BTreeMap<u32, Known>,
    pub ended: bool,
    /// No chunk is issued any more.
    pub over: bool,
    /// When it was armed: a key accepted until then meets no session.
    armed_at: usize,
}

impl Session {
    fn new(first: u16, window: usize, armed_at: usize) -> Self {
        let mut order = wire::Order::new(window as u16).unwrap();
        (0..first).for_each(|ssn| assert_eq!(order.take(Ssn(ssn)), Ok(true)));
        Self {
            order,
            next: first.into(),
            claimed: BTreeMap::new(),
            whole: BTreeMap::new(),
            ended: false,
            over: false,
            armed_at,
        }
    }

    fn number(&self, ssn: Ssn) -> u32 {
        self.next
            .wrapping_add(ssn.ahead_of(Ssn(self.next as u16)).into())
    }
}

/// Why the bench has seen a difference.
pub type Seen = Result<(), String>;

/// What the run has met.
#[derive(Clone, Copy, Debug, Default)]
pub struct Met {
    pub statuses: [usize; 5],
    pub in_order: usize,
    pub ahead: usize,
    pub placed: usize,
    pub header_only: usize,
    pub refused: usize,
    pub controls: usize,
    pub terminated: usize,
    /// Terminates that came in front of other chunks of their session.
    pub early: usize,
    pub stale: usize,
    pub withdrawn: usize,
    pub closes: usize,
}

/// Rhythms of a run.
pub struct Paces {
    pub keys: Rhythm,
    pub ends: Rhythm,
    pub ready: Rhythm,
    pub reads: Rhythm,
    pub verdicts: Rhythm,
    pub reports: Rhythm,
}

pub struct Bench<const S: usize> {
    pub lockstep: Lockstep<Order<S>>,
    pub rng: Rng,
    pub window: usize,
    pub sessions: Vec<Option<Session>>,
    pub closed_at: Vec<usize>,
    pub tails: Vec<u32>,
    /// Tails of the cycles before, the last one first.
    history: VecDeque<Vec<u32>>,
    /// The key under way: when it was accepted.
    key: Option<(usize, ChunkKey)>,
    /// The end under way.
    end: Option<(usize, ChunkEnd)>,
    /// Chunks that were taken: ends to come, with the answer of the block.
    taken: VecDeque<ChunkEnd>,
    offered: Option<ChunkEnd>,
    offered_key: Option<ChunkKey>,
    /// When, taken, invalid, number.
    answers: VecDeque<(usize, bool, bool, u32)>,
    /// The key judged last, for messages.
    judged: String,
    reports: VecDeque<(u16, u64, u64)>,
    due: VecDeque<Fpdu>,
    /// FPDUs that are to be read, and judged.
    reading: VecDeque<Fpdu>,
    judging: VecDeque<Fpdu>,
    /// Verdicts given: in which cycle, stream, number, accepted.
    verdicts: VecDeque<(usize, usize, u32, bool)>,
    /// A stream was closed one cycle ago.
    closing: Option<usize>,
    pub cycle: usize,
    pub met: Met,
    /// FPDUs accepted, with their cycle.
    pub log: Vec<(usize, Fpdu)>,
    /// Answers, ends accepted, keys accepted: cycles.
    pub answered: Vec<usize>,
    pub keyed: Vec<usize>,
    pub ended: Vec<usize>,
}

/// What the bench does in a cycle beside what follows by itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Act {
    pub key: Option<ChunkKey>,
    pub arm: Option<(usize, u16)>,
    pub close: Option<usize>,
}

impl<const S: usize> Bench<S> {
    pub fn new(window: usize, seed: u64) -> Self {
        let block = Box::new(Order::new(&config(S), &sctp(window)));
        let top = format!("sctp_order_{S}_{window}");
        let lockstep = Lockstep::new(&top, block, |b, level| b.clock.next = level.into());
        Self::of(lockstep.unwrap_or_else(|e| panic!("{e}")), window, seed)
    }

    pub fn of(lockstep: Lockstep<Order<S>>, window: usize, seed: u64) -> Self {
        Self {
            lockstep,
            rng: Rng::with_seed(seed),
            window,
            sessions: (0..S).map(|_| None).collect(),
            closed_at: vec![0; S],
            tails: vec![0; S],
            history: VecDeque::new(),
            key: None,
            end: None,
            taken: VecDeque::new(),
            offered: None,
            offered_key: None,
            answers: VecDeque::new(),
            judged: String::new(),
            reports: VecDeque::new(),
            due: VecDeque::new(),
            reading: VecDeque::new(),
            judging: VecDeque::new(),
            verdicts: VecDeque::new(),
            closing: None,
            cycle: 0,
            met: Met::default(),
            log: vec![],
            answered: vec![],
            keyed: vec![],
            ended: vec![],
        }
    }

    pub fn reset(&mut self) -> Seen {
        self.lockstep.block.reset.next = true;
        for _ in 0..4 {
            self.lockstep.settle().map_err(|e| e.to_string())?;
            self.lockstep.edge().map_err(|e| e.to_string())?;
        }
        self.lockstep.block.reset.next = false;
        Ok(())
    }

    /// Whether a key is offered and not accepted yet.
    pub fn has_key(&self) -> bool {
        self.offered_key.is_some()
    }

    /// Whether nothing of a stream is under way.
    pub fn is_quiet(&self, stream: usize) -> bool {
        let of = |fpdu: &Fpdu| fpdu.stream.index() == stream;
        !(self.reading.iter().any(of)
            || self.judging.iter().any(of)
            || self.due.iter().any(of)
            || self.verdicts.iter().any(|(_, of, ..)| *of == stream)
            || self.taken.iter().any(|end| end.stream.index() == stream))
            && self.cycle > self.closed_at[stream] + 64
    }

    /// Whether nothing is under way.
    pub fn is_idle(&self) -> bool {
        self.key.is_none()
            && self.end.is_none()
            && self.taken.is_empty()
            && self.offered.is_none()
            && self.offered_key.is_none()
            && self.due.is_empty()
            && self.reading.is_empty()
            && self.judging.is_empty()
            && self.reports.is_empty()
    }

    /// A cycle.
    pub fn step(&mut self, act: Act, paces: &mut Paces) -> Seen {
        self.drive(act, paces);
        self.lockstep.settle().map_err(|e| e.to_string())?;
        self.compare(act)?;
        self.lockstep.edge().map_err(|e| e.to_string())?;
        self.cycle += 1;
        Ok(())
    }

    fn drive(&mut self, act: Act, paces: &mut Paces) {
        let rng = &mut self.rng;
        let b = &mut self.lockstep.block;
        b.arm.next = act.arm.is_some();
        b.close.next = act.close.is_some();
        let stream = act.arm.map(|(stream, _)| stream).or(act.close);
        b.stream.next = (stream.unwrap_or_else(|| rng.usize(0..S)) as u64).into();
        b.first.next = u64::from(act.arm.map_or(77, |(_, first)| first)).into();
        if let Some((stream, first)) = act.arm {
            self.tails[stream] = u32::from(first).wrapping_mul(SLOT as u32);
        }

        // keys, and ends in the order of their chunks
        if self.offered_key.is_none() {
            self.offered_key = act.key;
        }
        b.s_key_valid.next = self.offered_key.is_some();
        b.s_key.next = self.offered_key.unwrap_or_default();
        if self.offered.is_none() && paces.ends.go(rng) {
            self.offered = self.taken.pop_front();
        }
        b.s_end_valid.next = self.offered.is_some();
        b.s_end.next = self.offered.unwrap_or_default();

        // `fetch` and `check`
        b.m_ready.next = paces.ready.go(rng);
        b.m_report_ready.next = paces.reports.go(rng);
        if paces.reads.go(rng)
            && let Some(fpdu) = self.reading.pop_front()
        {
            if !fpdu.ahead && !fpdu.refused.any() {
                let behind = fpdu.position.to_u64() + 4 * fpdu.dwords.to_u64();
                self.tails[fpdu.stream.index()] = behind as u32;
            }
            self.judging.push_back(fpdu);
        }
        b.ahead_done.next = false;
        if paces.verdicts.go(rng)
            && let Some(fpdu) = self.judging.pop_front()
            && fpdu.ahead
        {
            let accepted = chance(rng, 70);
            let number = (fpdu.position.to_u64() / SLOT as u64) as u32;
            b.ahead_done.next = true;
            b.ahead_stream.next = fpdu.stream;
            b.ahead_position.next = fpdu.position;
            b.ahead_accepted.next = accepted;
            let verdict = (self.cycle, fpdu.stream.index(), number, accepted);
            self.verdicts.push_back(verdict);
        }
        for (i, tail) in self.tails.iter().enumerate() {
            b.tail[i].next = u64::from(*tail).into();
        }
        self.history.push_front(self.tails.clone());
        self.history.truncate(2 * JUDGE);
    }

    fn compare(&mut self, act: Act) -> Seen {
        let cycle = self.cycle;
        self.decide_key()?;
        self.decide_end()?;

        // outputs
        let b = &self.lockstep.block;
        let answer = b.answer_valid.val().then(|| b.answer.val());
        let due = match self.answers.front() {
            Some((at, ..)) if *at == cycle => self.answers.pop_front(),
            _ => None,
        };
        let number = |taken, number| if taken { number } else { 0 };
        let found = answer.map(|a| {
            let of = number(a.taken, a.number.to_u64() as u32);
            (a.taken, a.invalid, of)
        });
        let expected = due.map(|(_, taken, invalid, of)| (taken, invalid, number(taken, of)));
        if found != expected {
            return Err(format!(
                "cycle {cycle}: answer {found:?}, due {expected:?}: {}",
                self.judged
            ));
        }
        if answer.is_some() {
            self.answered.push(cycle);
        }
        if b.m_report_valid.val() && b.m_report_ready.val() {
            let report = b.m_report.val();
            let found = (
                report.ssn.to_u64() as u16,
                report.status.to_u64(),
                report.stream.to_u64(),
            );
            let due = self.reports.pop_front();
            if due != Some(found) {
                return Err(format!("cycle {cycle}: report {found:?}, due {due:?}"));
            }
        }
        if b.m_valid.val() {
            let found = b.m_fpdu.val();
            let due = self.due.front().copied();
            if due != Some(found) {
                return Err(format!("cycle {cycle}: {found:?}, due {due:?}"));
            }
            if b.m_ready.val() {
                self.due.pop_front();
                self.reading.push_back(found);
                self.log.push((cycle, found));
                let met = &mut self.met;
                met.refused += usize::from(found.refused.any());
                met.ahead += usize::from(found.ahead);
                met.in_order += usize::from(!found.ahead && !found.refused.any());
                met.placed += usize::from(found.placed);
                met.header_only += usize::from(found.header_only);
            }
        }

        // inputs that were accepted
        if b.s_key_valid.val() && b.s_key_ready.val() {
            let key = self.offered_key.take().unwrap();
            self.key = Some((cycle, key));
            self.keyed.push(cycle);
        }
        if b.s_end_valid.val() && b.s_end_ready.val() {
            let end = self.offered.take().unwrap();
            self.settle_verdicts(cycle);
            self.end = Some((cycle, end));
            self.ended.push(cycle);
        }
        // what was withdrawn
        if let Some(stream) = self.closing {
            let before = self.due.len();
            self.due.retain(|fpdu| fpdu.stream.index() != stream);
            self.met.withdrawn += before - self.due.len();
        }
        for stream in [self.closing, act.close].into_iter().flatten() {
            self.taken.retain(|end| end.stream.index() != stream);
            self.offered = self.offered.filter(|end| end.stream.index() != stream);
        }
        self.closing = act.close;
        if let Some(stream) = act.close {
            self.sessions[stream] = None;
            self.closed_at[stream] = cycle;
            self.met.closes += 1;
        }
        if let Some((stream, first)) = act.arm {
            self.sessions[stream] = Some(Session::new(first, self.window, cycle));
        }
        Ok(())
    }

    /// Verdicts of cycles before this one, in which the block rests and none is queued.
    fn settle_verdicts(&mut self, cycle: usize) {
        while let Some((at, stream, number, accepted)) = self.verdicts.front().copied() {
            if at >= cycle {
                return;
            }
            self.verdicts.pop_front();
            let Some(session) = &mut self.sessions[stream] else {
                continue;
            };
            let is_behind = number.wrapping_sub(session.next) & (1 << (31 - SLOT.ilog2())) != 0;
            self.met.stale += usize::from(accepted && is_behind);
            let mask = u32::MAX >> SLOT.ilog2();
            let known = session.whole.iter_mut();
            let mut known = known.filter(|(of, _)| *of & mask == number & mask);
            if accepted && !is_behind {
                known.next().expect("a chunk ahead is whole").1.placed = true;
            }
        }
    }

    /// The key is judged: what is reported and answered follows.
    fn decide_key(&mut self) -> Seen {
        let Some((at, key)) = self.key.filter(|(at, _)| at + JUDGE - 1 == self.cycle) else {
            return Ok(());
        };
        self.key = None;
        let stream = key.stream.index();
        let ssn = Ssn(key.ssn.to_u64() as u16);
        let tail = self.history[self.cycle - (at + TAIL_READ)][stream];
        let (mut status, mut number) = (chunk_status::NO_STREAM, 0);
        let session = self.sessions[stream].as_mut();
        if let Some(session) = session.filter(|s| !s.ended && s.armed_at < at) {
            number = session.number(ssn);
            let has_room =
                number.wrapping_sub(tail / SLOT as u32) & (u32::MAX >> SLOT.ilog2()) < SLOTS;
            status = match session.order.judge(ssn) {
                _ if key.missing => chunk_status::INVALID,
                Err(_) => chunk_status::INVALID,
                Ok(false) => chunk_status::OLD,
                Ok(true) if !has_room => chunk_status::NO_ROOM,
                Ok(true) if session.claimed.contains_key(&number) => chunk_status::OLD,
                Ok(true) => chunk_status::TAKEN,
            };
            if status == chunk_status::TAKEN {
                session.claimed.insert(number, ());
            }
            session.ended |= status == chunk_status::INVALID;
        }
        let invalid = status == chunk_status::INVALID;
        let taken = status == chunk_status::TAKEN || invalid;
        self.judged = format!("{key:?}, status {status}, tail {tail:#x}");
        self.met.statuses[status as usize] += 1;
        self.reports.push_back((ssn.0, status, key.stream.to_u64()));
        self.answers
            .push_back((self.cycle + 1, taken, invalid, number));
        if taken && self.closing != Some(stream) {
            let too_long = chance(&mut self.rng, 1) && !key.control;
            let lengths = [0, 1, 14, 18, 22, 23, SLOT - 2];
            let length = match self.rng.usize(0..3) {
                0 => lengths[self.rng.usize(0..lengths.len())],
                _ => self.rng.usize(0..SLOT - 1),
            };
            self.taken.push_back(ChunkEnd {
                stream: key.stream,
                number: u64::from(number).into(),
                control: key.control,
                terminate: key.terminate,
                invalid,
                too_long,
                length: (length as u64).into(),
            });
        }
        Ok(())
    }

    /// A chunk has ended: what is issued follows.
    fn decide_end(&mut self) -> Seen {
        let Some((_, end)) = self.end.filter(|(at, _)| at + END_DECIDES == self.cycle) else {
            return Ok(());
        };
        self.end = None;
        let stream = end.stream.index();
        let Some(session) = self.sessions[stream].as_mut().filter(|s| !s.over) else {
            return Ok(());
        };
        let number = end.number.to_u64() as u32;
        if end.too_long || end.invalid {
            (session.ended, session.over) = (true, true);
            let cause = match end.invalid {
                true => refused::SSN,
                false => refused::TOO_LARGE,
            };
            self.due.push_back(refused_fpdu(stream, number, cause));
            return Ok(());
        }
        session.claimed.remove(&number);
        let known = Known {
            control: end.control,
            terminate: end.terminate,
            length: end.length.to_u64() as u16,
            placed: false,
        };
        session.whole.insert(number, known);
        self.met.controls += usize::from(end.control);
        let ends = |known: &Known| known.control && known.terminate;
        self.met.early += usize::from(ends(&known) && number != session.next);
        if session.order.take(Ssn(number as u16)) != Ok(true) {
            return Err(format!("chunk {number} is taken and not new"));
        }
        if session.order.next() == Ssn(session.next as u16) {
            if !known.control {
                self.due.push_back(fpdu(stream, number, &known, true));
            }
            return Ok(());
        }
        while session.order.next() != Ssn(session.next as u16) {
            let known = session.whole.remove(&session.next).unwrap();
            if ends(&known) {
                session.over = true;
                self.met.terminated += 1;
                self.due
                    .push_back(refused_fpdu(stream, session.next, refused::CLOSED));
                session.next = session.next.wrapping_add(1);
                break;
            }
            if !known.control {
                self.due
                    .push_back(fpdu(stream, session.next, &known, false));
            }
            session.next = session.next.wrapping_add(1);
        }
        Ok(())
    }
}

fn fpdu(stream: usize, number: u32, known: &Known, ahead: bool) -> Fpdu {
    let dwords = (usize::from(known.length) + 2).div_ceil(4);
    Fpdu {
        stream: (stream as u64).into(),
        position: u64::from(number.wrapping_mul(SLOT as u32)).into(),
        dwords: (dwords as u64).into(),
        markers: false,
        crc: ahead,
        refused: 0.into(),
        ulpdu: u64::from(known.length).into(),
        ahead,
        placed: known.placed,
        header_only: known.placed && dwords > HEADER as usize,
    }
}

fn refused_fpdu(stream: usize, number: u32, cause: u32) -> Fpdu {
    Fpdu {
        stream: (stream as u64).into(),
        position: u64::from(number.wrapping_mul(SLOT as u32)).into(),
        dwords: 2.into(),
        refused: u64::from(cause).into(),
        ..Fpdu::default()
    }
}

/// A key of a chunk.
pub fn key(stream: usize, ssn: u16) -> ChunkKey {
    ChunkKey {
        stream: (stream as u64).into(),
        ssn: u64::from(ssn).into(),
        control: false,
        terminate: false,
        missing: false,
    }
}
