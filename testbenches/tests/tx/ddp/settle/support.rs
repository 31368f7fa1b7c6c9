//! The bench: a sender of segments, a ring, and what is due of them.

use std::collections::VecDeque;

use fastrand::Rng;
use warpline_hdl::records::{SendSegment, Ulpdu};
use warpline_hdl::tx::ddp::segment::scheduler::StreamEvent;
use warpline_hdl::tx::ddp::settle::Settle;
use warpline_regmap::transmit::{kind, send_event, status};
use warpline_testbenches::lockstep::{Lockstep, LockstepError};
use warpline_testbenches::stimulus::{self, Pace, Rhythm, chance};

/// Cycles without any progress after which a bench gives up.
const PATIENCE: usize = 500;

/// What becomes of a segment before it is in the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Good,
    /// Status of `local_access`, or of `segment`.
    Refused(u32),
    /// The bus refuses a read.
    Bus,
}

/// A message: its segments, and whether the host asks for a completion.
#[derive(Clone, Debug)]
pub struct Message {
    pub request: u64,
    pub signalled: bool,
    pub fates: Vec<Fate>,
}

/// An entry as the host sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub stream: u8,
    pub status: u32,
    pub request: u64,
    pub octets: u32,
    pub consumed: u16,
    pub response: bool,
}

/// Whether the bench takes a request for a Read Response.
fn is_response(request: u64) -> bool {
    request.count_ones() % 2 == 1
}

/// A stream: its messages, and what the sender knows.
#[derive(Clone, Debug, Default)]
pub struct Stream {
    pub messages: VecDeque<Message>,
    /// Segments cut of the first one.
    cut: usize,
    consumed: u16,
    position: u32,
    /// `fail` has come.
    flushes: bool,
    /// The ring has discarded an FPDU.
    broken: bool,
    /// `CLOSE_STREAM`: the ring discards what comes.
    pub closed: bool,
    /// FPDUs in the ring.
    pub sent: usize,
    under_way: usize,
    pub due: VecDeque<Entry>,
    /// Messages posted, and whether one of them fails.
    posted: u16,
    fails: bool,
    /// FPDUs that are due in the ring.
    pub sent_due: usize,
}

impl Stream {
    /// Messages behind the others, and what is due of them if the stream is not closed meanwhile.
    pub fn post(&mut self, number: u8, messages: Vec<Message>) {
        for message in &messages {
            let failure = message.fates.iter().position(|fate| *fate != Fate::Good);
            let status = match failure.map(|index| message.fates[index]) {
                _ if self.fails => Some(status::FLUSHED),
                Some(Fate::Refused(status)) => Some(status),
                Some(_) => Some(status::BUS),
                None => message.signalled.then_some(status::OK),
            };
            if !self.fails {
                self.sent_due += failure.unwrap_or(message.fates.len());
            }
            self.fails |= failure.is_some() && status != Some(status::FLUSHED);
            self.posted += 1;
            self.due.extend(status.map(|status| Entry {
                stream: number,
                status,
                request: message.request,
                octets: message.request as u32 ^ 0x5555,
                consumed: self.posted,
                response: is_response(message.request),
            }));
        }
        self.messages.extend(messages);
    }
}

/// When inputs are offered and outputs accepted.
#[derive(Clone, Copy, Debug)]
pub struct Paces {
    pub segment: Pace,
    pub status: Pace,
    pub ring: Pace,
    pub event: Pace,
}

impl Paces {
    pub const ALWAYS: Self = Self {
        segment: Pace::Always,
        status: Pace::Always,
        ring: Pace::Always,
        event: Pace::Always,
    };
}

pub struct Bench<const S: usize> {
    pub lockstep: Lockstep<Settle<S>>,
    pub rng: Rng,
    pub cycle: usize,
    pub streams: Vec<Stream>,
    rhythms: [Rhythm; 4],
    /// Segment that is offered.
    offered: Option<SendSegment>,
    statuses: VecDeque<(u32, bool)>,
    /// ULPDUs whose verdicts are due, those at the ring, and whether the bus refuses them.
    issued: VecDeque<bool>,
    reading: VecDeque<bool>,
    framed: VecDeque<u8>,
    held: (Option<Ulpdu>, Option<u32>),
    /// Cycles in which entries were accepted, and in which `complete` came.
    pub entries: Vec<(usize, Entry)>,
    pub completes: Vec<usize>,
    /// Cycles in which statuses and ULPDUs were accepted.
    pub judged: Vec<usize>,
    pub ulpdus: Vec<usize>,
    idle: usize,
    complete: Option<(u8, bool)>,
}

impl<const S: usize> Bench<S> {
    pub fn new(seed: u64, paces: Paces) -> Self {
        let top = format!("settle_{S}");
        let block = Box::new(Settle::default());
        let lockstep = Lockstep::new(&top, block, |b, level| b.clock.next = level.into());
        Self::of(lockstep.unwrap_or_else(|e| panic!("{e}")), seed, paces)
    }

    pub fn of(lockstep: Lockstep<Settle<S>>, seed: u64, paces: Paces) -> Self {
        let paces = [paces.segment, paces.status, paces.ring, paces.event];
        let mut bench = Self {
            lockstep,
            rng: Rng::with_seed(seed),
            cycle: 0,
            streams: vec![Stream::default(); S],
            rhythms: paces.map(Rhythm::new),
            offered: None,
            statuses: VecDeque::new(),
            issued: VecDeque::new(),
            reading: VecDeque::new(),
            framed: VecDeque::new(),
            held: (None, None),
            entries: vec![],
            completes: vec![],
            judged: vec![],
            ulpdus: vec![],
            idle: 0,
            complete: None,
        };
        bench.reset().unwrap_or_else(|e| panic!("{e}"));
        bench
    }

    fn reset(&mut self) -> Result<(), LockstepError> {
        self.lockstep.block.reset.next = true;
        for _ in 0..4 {
            self.noise();
            self.lockstep.settle()?;
            self.lockstep.edge()?;
        }
        self.lockstep.block.reset.next = false;
        Ok(())
    }

    fn noise(&mut self) {
        let (b, rng) = (&mut self.lockstep.block, &mut self.rng);
        b.clear.next = StreamEvent {
            valid: false,
            stream: stimulus::bits(rng),
        };
        b.s_segment.next = SendSegment {
            stream: stimulus::bits(rng),
            request: stimulus::bits(rng),
            first: chance(rng, 50),
            ..SendSegment::default()
        };
        b.s_segment_valid.next = false;
        b.s_status.next = stimulus::bits(rng);
        b.s_status_valid.next = false;
        b.s_refused.next = chance(rng, 50);
        b.s_refused_valid.next = false;
        b.complete.next = false;
        b.complete_visible.next = chance(rng, 50);
    }

    /// The next segment of a stream, or the end of a request that is flushed.
    fn cut(&mut self) -> Option<SendSegment> {
        let ready = |stream: &Stream| !stream.messages.is_empty();
        let streams = self.streams.iter_mut().enumerate();
        let mut streams: Vec<_> = streams.filter(|(_, stream)| ready(stream)).collect();
        if streams.is_empty() {
            return None;
        }
        let (number, stream) = streams.swap_remove(self.rng.usize(..streams.len()));
        let message = stream.messages.front().expect("it is ready").clone();
        let flushes = stream.flushes || stream.closed;
        let fate = match flushes {
            true => Fate::Refused(status::FLUSHED),
            false => message.fates[stream.cut],
        };
        let refused_at_once = |status| [status::FLUSHED, status::MALFORMED].contains(&status);
        let end = match fate {
            Fate::Refused(status) if refused_at_once(status) => true,
            _ => stream.cut + 1 == message.fates.len(),
        };
        let segment = SendSegment {
            stream: (number as u64).into(),
            position: u64::from(stream.position).into(),
            length: (40 + stream.cut as u64).into(),
            markers: stream.position % 8 == 0,
            crc: stream.position % 16 != 0,
            first: stream.cut == 0,
            last: end,
            signalled: message.signalled,
            octets: u64::from(message.request as u32 ^ 0x5555).into(),
            request: message.request.into(),
            consumed: u64::from(stream.consumed + 1).into(),
            response: is_response(message.request),
        };
        let (status, bus) = match fate {
            Fate::Refused(status) => (status, false),
            fate => (status::OK, fate == Fate::Bus),
        };
        self.statuses.push_back((status, bus));
        stream.position += 4;
        stream.under_way += 1;
        stream.cut += 1;
        if end {
            stream.messages.pop_front();
            stream.consumed += 1;
            stream.cut = 0;
        }
        Some(segment)
    }

    /// A cycle.
    pub fn step(&mut self) -> Result<(), String> {
        self.noise();
        let goes: Vec<bool> = self
            .rhythms
            .iter_mut()
            .map(|r| r.go(&mut self.rng))
            .collect();
        if self.offered.is_none() && goes[0] {
            self.offered = self.cut();
        }
        let b = &mut self.lockstep.block;
        if let Some(segment) = self.offered {
            b.s_segment.next = segment;
            b.s_segment_valid.next = true;
        }
        let judged = self.statuses.front().copied().filter(|_| goes[1]);
        if let Some((status, _)) = judged {
            b.s_status.next = u64::from(status).into();
            b.s_status_valid.next = true;
        }
        b.m_ulpdu_ready.next = goes[2];
        let refused = self.reading.front().copied().filter(|_| goes[2]);
        if let Some(refused) = refused {
            b.s_refused.next = refused;
            b.s_refused_valid.next = true;
        }
        b.m_failed_ready.next = goes[2] && !self.framed.is_empty();
        if let Some((_, visible)) = self.complete {
            b.complete.next = true;
            b.complete_visible.next = visible;
            self.completes.push(self.cycle);
        }
        b.m_event_ready.next = goes[3];
        self.lockstep.settle().map_err(|e| e.to_string())?;
        self.complete = None;
        self.sample(judged, refused, &goes)?;
        self.lockstep.edge().map_err(|e| e.to_string())?;
        self.cycle += 1;
        self.idle += 1;
        match self.idle > PATIENCE {
            true => Err(format!("cycle {}: nothing moves", self.cycle)),
            false => Ok(()),
        }
    }

    fn sample(
        &mut self,
        judged: Option<(u32, bool)>,
        refused: Option<bool>,
        goes: &[bool],
    ) -> Result<(), String> {
        let b = &self.lockstep.block;
        let wrong = |text: String| Err(format!("cycle {}: {text}", self.cycle));
        for (index, stream) in self.streams.iter().enumerate() {
            // the segment that is offered is not under way yet
            let offered = self.offered.is_some_and(|s| s.stream.index() == index);
            let due = stream.under_way > usize::from(offered);
            if b.under_way[index].val() != due {
                return wrong(format!("stream {index} under way: {}", !due));
            }
        }
        if self.offered.is_some() && b.s_segment_ready.val() {
            (self.offered, self.idle) = (None, 0);
        }
        if let Some((status, bus)) = judged
            && b.s_status_ready.val()
        {
            self.statuses.pop_front();
            self.judged.push(self.cycle);
            if status == status::OK {
                self.issued.push_back(bus);
            }
        }
        if refused.is_some() && b.s_refused_ready.val() {
            self.reading.pop_front();
        }
        let ulpdu = b.m_ulpdu_valid.val().then(|| b.m_ulpdu.val());
        if self.held.0.is_some() && self.held.0 != ulpdu {
            return wrong("a ULPDU is not stable until accepted".into());
        }
        self.held.0 = ulpdu.filter(|_| !goes[2]);
        if let Some(ulpdu) = ulpdu.filter(|_| goes[2]) {
            let Some(bus) = self.issued.pop_front() else {
                return wrong(format!("{ulpdu:?} was not allowed"));
            };
            let markers = ulpdu.position.index() % 8 == 0;
            let crc = ulpdu.position.index() % 16 != 0;
            if ulpdu.markers != markers || ulpdu.crc != crc || ulpdu.length.index() < 40 {
                return wrong(format!("{ulpdu:?}"));
            }
            self.reading.push_back(bus);
            self.ulpdus.push(self.cycle);
            self.framed.push_back(ulpdu.stream.index() as u8);
        }
        if b.m_failed_valid.val() && goes[2] && !self.framed.is_empty() {
            let number = self.framed.pop_front().expect("there is one");
            let stream = &mut self.streams[usize::from(number)];
            stream.broken |= b.m_failed.val();
            let visible = !stream.broken && !stream.closed;
            stream.sent += usize::from(visible);
            self.complete = Some((number, visible));
        }
        if b.fail.val().valid {
            self.streams[b.fail.val().stream.index()].flushes = true;
        }
        if b.settled.val().valid {
            self.streams[b.settled.val().stream.index()].under_way -= 1;
            self.idle = 0;
        }
        let entry = b.m_event_valid.val().then(|| words(b.m_event.val()));
        let Some(words) = entry.filter(|_| goes[3]) else {
            return Ok(());
        };
        let number = send_event::STREAM.get(&words) as usize;
        let found = Entry {
            stream: number as u8,
            status: send_event::STATUS.get(&words) as u32,
            request: send_event::REQUEST.get(&words),
            octets: send_event::LENGTH.get(&words) as u32,
            consumed: send_event::CONSUMED.get(&words) as u16,
            response: send_event::RESPONSE.get(&words) == 1,
        };
        let closed = self.streams[number].closed;
        let due = self.streams[number].due.pop_front();
        let mut allowed = due.clone();
        if let Some(entry) = allowed.as_mut().filter(|_| closed) {
            // what is in the ring when the stream is closed is a matter of cycles
            entry.status = found.status;
        }
        let kind_of = send_event::KIND.get(&words);
        if allowed.as_ref() != Some(&found) || kind_of != u64::from(kind::SEND) {
            return wrong(format!("{found:?}, due {due:?}"));
        }
        self.entries.push((self.cycle, found));
        Ok(())
    }

    /// Runs until everything is settled, and compares what is in the ring.
    pub fn run(&mut self) -> Result<(), String> {
        let busy = |stream: &Stream| !stream.messages.is_empty() || stream.under_way > 0;
        while self.streams.iter().any(busy) {
            self.step()?;
        }
        for _ in 0..20 {
            self.step()?;
        }
        for (number, stream) in self.streams.iter().enumerate() {
            if !stream.due.is_empty() {
                return Err(format!("stream {number}: {:?} do not come", stream.due));
            }
            if stream.sent != stream.sent_due && !stream.closed {
                let Stream { sent, sent_due, .. } = stream;
                return Err(format!("stream {number}: {sent} FPDUs, due {sent_due}"));
            }
        }
        Ok(())
    }

    /// A stream is as before it was armed.
    pub fn clear(&mut self, number: u8) {
        self.noise();
        self.lockstep.block.clear.next = StreamEvent {
            valid: true,
            stream: u64::from(number).into(),
        };
        self.lockstep.settle().unwrap();
        self.lockstep.edge().unwrap();
        self.lockstep.block.clear.next.valid = false;
        self.streams[usize::from(number)] = Stream::default();
    }
}

fn words(entry: rust_hdl_core::prelude::Bits<256>) -> Vec<u32> {
    let word = |word: usize| entry.get_bits::<32>(32 * word).to_u64() as u32;
    (0..8).map(word).collect()
}

/// Messages of which one in `failing` fails.
pub fn messages(rng: &mut Rng, count: usize, failing: u32) -> Vec<Message> {
    let message = |_| {
        let mut fates = vec![Fate::Good; rng.usize(1..6)];
        let index = rng.usize(..fates.len());
        if rng.u32(0..failing) == 0 {
            fates[index] = match rng.u8(0..5) {
                0 | 1 => Fate::Bus,
                2 => Fate::Refused(status::STAG),
                3 => Fate::Refused(status::BOUNDS),
                _ => Fate::Refused(status::MALFORMED),
            };
        }
        // others behind the first one count for nothing
        if rng.u32(0..failing) == 0 {
            let last = fates.len() - 1;
            fates[last] = Fate::Bus;
        }
        // a frozen stream: not a failure
        if rng.u32(0..failing) == 0 {
            fates = vec![Fate::Refused(status::FLUSHED)];
        }
        Message {
            request: rng.u64(..),
            signalled: chance(rng, 50),
            fates,
        }
    };
    (0..count).map(message).collect()
}
