//! The bench: streams with their requests, what is due of them, and the ports of the block.

use std::collections::VecDeque;

use fastrand::Rng;
use num_bigint::BigUint;
use warpline_hdl::Config;
use warpline_hdl::records::{LocalPiece, SendSegment};
use warpline_hdl::tx::ddp::segment::Segment;
use warpline_hdl::tx::ddp::segment::command::{TransmitArguments, TransmitCommand};
use warpline_hdl::tx::ddp::segment::measure;
use warpline_hdl::tx::ddp::segment::mulpdu::largest_ulpdu;
use warpline_hdl::tx::ddp::segment::payload::ROW_LATENCY;
use warpline_hdl::tx::ddp::segment::turns::StreamEvent;
use warpline_regmap::transmit::{
    Element, Flags, Gather, Inline, Payload, SendRequest, Slot, Target, status,
};
use warpline_testbenches::lockstep::{Lockstep, LockstepError};
use warpline_testbenches::stimulus::{self, Pace, Rhythm, chance};
use warpline_wire::ddp::{TaggedHeader, UntaggedHeader};
use warpline_wire::mpa;

/// Cycles without any progress after which a bench gives up.
const PATIENCE: usize = 3000;
/// Segments that may have been decided, and not have left the block, when an event comes: four whose pieces lie in the queue, one that is
/// walked, and one that is decided.
const DECIDED: usize = 6;
/// Octets of the rings.
pub const RING: u32 = 4096;
/// Cycles of `reset`.
const RESET: usize = 8;

/// When outputs are accepted and slots are there.
#[derive(Clone, Copy, Debug)]
pub struct Paces {
    pub piece: Pace,
    pub segment: Pace,
    pub slot: Pace,
}

impl Paces {
    pub const ALWAYS: Self = Self {
        piece: Pace::Always,
        segment: Pace::Always,
        slot: Pace::Always,
    };
}

/// A part of a segment as it is due: octets, or local memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    Octets(Vec<u8>),
    Memory(Element),
}

/// A segment, or a report without one, as it left the block.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Cycle in which its record was accepted, and its first piece.
    pub cycle: usize,
    pub first_piece: usize,
    pub segment: SendSegment,
    pub parts: Vec<Part>,
    pub status: u32,
}

/// A slot, and the request that it holds unless it is none.
#[derive(Clone, Debug)]
pub struct Posted {
    pub slot: Slot,
    pub request: Option<SendRequest>,
    /// The bus refuses to read it.
    pub unread: bool,
    /// Octet of the message at which its elements are wrong; that of the end if there are more octets.
    pub wrong_at: Option<u32>,
}

impl Posted {
    /// Whether the bench says that it is a Read Response: an arbitrary half of the slots is.
    fn is_response(&self) -> bool {
        let name = warpline_regmap::transmit::send_slot::REQUEST.get(&self.slot);
        !self.unread && name.count_ones() % 2 == 1
    }
}

/// A stream as the host and its peer see it.
#[derive(Clone, Debug)]
pub struct Stream {
    pub number: u8,
    pub domain: u16,
    pub markers: bool,
    pub crc: bool,
    pub mulpdu: u16,
    /// The one before, of segments that were decided before it changed.
    pub mulpdu_before: Option<(u16, usize)>,
    pub slots: VecDeque<Posted>,
    /// What the block has not popped: the same, without those whose segments have not been seen yet.
    pub unpopped: VecDeque<Posted>,
    pub popped: u16,
    pub position: u32,
    pub acknowledged: u32,
    pub sent: u32,
    pub msns: Vec<u32>,
    pub reported: u16,
    pub is_open: bool,
    pub frozen: Option<usize>,
    pub flushing: Option<usize>,
    /// A failed request, or the last message: the requests behind it are flushed.
    pub ended: bool,
    /// Cycles until the next slot is there.
    pub delay: usize,
    pub under_way: usize,
    /// Slots that are popped, and whose last segment was not accepted.
    unaccepted: usize,
    /// Segments whose last piece was accepted, and those whose record was.
    given: (usize, usize),
}

impl Stream {
    fn new(number: u8) -> Self {
        Self {
            number,
            domain: 0,
            markers: false,
            crc: false,
            mulpdu: 0,
            mulpdu_before: None,
            slots: VecDeque::new(),
            unpopped: VecDeque::new(),
            popped: 0,
            position: 0,
            acknowledged: 0,
            sent: 0,
            msns: vec![],
            reported: 0,
            is_open: false,
            frozen: None,
            flushing: None,
            ended: false,
            delay: 0,
            under_way: 0,
            unaccepted: 0,
            given: (0, 0),
        }
    }

    pub fn post(&mut self, request: &SendRequest) {
        self.post_slot(request.emit(), Some(*request));
    }

    pub fn post_slot(&mut self, slot: Slot, request: Option<SendRequest>) {
        let posted = Posted {
            slot,
            request,
            unread: false,
            wrong_at: None,
        };
        self.post_as(posted);
    }

    pub fn post_as(&mut self, posted: Posted) {
        self.slots.push_back(posted.clone());
        self.unpopped.push_back(posted);
    }

    /// The parts of the request's next segment, its ULPDU's octets, whether it is the last one, and payload octets.
    fn next_segment(&self, request: &SendRequest, mulpdu: u16) -> (Vec<Part>, usize, bool, u32) {
        let total = request.payload().length();
        let (header_len, header): (usize, Box<dyn Fn(bool) -> Vec<u8>>) = match request.target() {
            Target::Tagged {
                stag,
                offset,
                rsvd_ulp,
            } => {
                let to = offset.wrapping_add(self.sent.into());
                let header = move |last| {
                    let header = TaggedHeader {
                        last,
                        rsvd_ulp,
                        stag,
                        to,
                    };
                    header.emit().to_vec()
                };
                (14, Box::new(header))
            }
            Target::Untagged { queue, rsvd_ulp } => {
                let (msn, mo) = (self.msns[queue as usize], self.sent);
                let header = move |last| {
                    let header = UntaggedHeader {
                        last,
                        rsvd_ulp,
                        qn: queue,
                        msn,
                        mo,
                    };
                    header.emit().to_vec()
                };
                (18, Box::new(header))
            }
        };
        let room = u32::from(mulpdu) - header_len as u32;
        let count = room.min(total - self.sent);
        let last = self.sent + count == total;
        let mut parts = vec![Part::Octets(header(last))];
        match request.payload() {
            Payload::Inline(inline) => {
                let chunks = inline.as_slice().chunks(16);
                parts.extend(chunks.map(|octets| Part::Octets(octets.to_vec())));
            }
            Payload::Gather(gather) => {
                let (mut skip, mut left) = (u64::from(self.sent), u64::from(count));
                for element in gather.as_slice() {
                    let length = u64::from(element.length);
                    let taken = length.saturating_sub(skip).min(left);
                    if taken > 0 {
                        parts.push(Part::Memory(Element {
                            stag: element.stag,
                            length: taken as u32,
                            offset: element.offset.wrapping_add(skip),
                        }));
                    }
                    skip = skip.saturating_sub(length);
                    left -= taken;
                }
            }
        }
        (parts, header_len + count as usize, last, count)
    }

    /// Whether a flush may, and whether it must, be what comes next.
    fn flush(&self, request: Option<&SendRequest>) -> (bool, bool) {
        let terminates = request.is_some_and(|r| r.flags().terminate) && self.is_open;
        let frozen = self.frozen.filter(|_| !terminates);
        let after = self.flushing.or(frozen);
        let must = self.ended || after.is_some_and(|segments| segments >= DECIDED);
        (self.ended || after.is_some(), must)
    }

    /// Judges what left the block.
    fn judge(&mut self, seen: &Seen) -> Result<(), String> {
        let Some(posted) = self.slots.front().cloned() else {
            return Err("a segment of no request".into());
        };
        let record = &seen.segment;
        let may_must = self.flush(posted.request.as_ref());
        for after in [&mut self.flushing, &mut self.frozen].into_iter().flatten() {
            *after += 1;
        }
        if let Some((_, after)) = &mut self.mulpdu_before {
            *after += 1;
        }
        if seen.status == status::FLUSHED && !may_must.0 {
            return Err("flushed for no reason".into());
        }
        if seen.status != status::FLUSHED && may_must.1 {
            return Err("not flushed".into());
        }
        let mut due = *record;
        due.consumed = u64::from(self.reported.wrapping_add(1)).into();
        due.first = self.sent == 0;
        due.response = posted.is_response();
        let name = warpline_regmap::transmit::send_slot::REQUEST.get(&posted.slot);
        let length = warpline_regmap::transmit::send_slot::LENGTH.get(&posted.slot);
        if !posted.unread {
            (due.request, due.octets) = (name.into(), length.into());
        }
        let fails = match (posted.unread, posted.request) {
            (true, _) => Some(status::BUS),
            (_, None) => Some(status::MALFORMED),
            _ => None,
        };
        if seen.status != 0 {
            let fails = fails.or(self.wrong_here(&posted));
            if seen.status != status::FLUSHED && fails != Some(seen.status) {
                return Err(format!("status {}, due {fails:?}", seen.status));
            }
            due.last = true;
            if *record != due {
                return Err(format!("{record:?}, due {due:?}"));
            }
            self.ended |= seen.status != status::FLUSHED;
            self.next_request();
            return Ok(());
        }
        let fails = fails.or(self.wrong_here(&posted));
        if fails.is_some() {
            return Err(format!("sent, due {fails:?}"));
        }
        if !self.is_open {
            return Err("sent while the gate is closed".into());
        }
        let request = posted.request.expect("it does not fail");
        let before = self.mulpdu_before.filter(|(_, after)| *after <= DECIDED);
        let sizes = [Some(self.mulpdu), before.map(|(mulpdu, _)| mulpdu)];
        let found = sizes.into_iter().flatten().map(|mulpdu| {
            let next = self.next_segment(&request, mulpdu);
            (next.0 == seen.parts, next)
        });
        let mut found: Vec<_> = found.collect();
        let index = found.iter().position(|(same, _)| *same);
        let (same, (parts, ulpdu, last, count)) = found.swap_remove(index.unwrap_or(0));
        if !same {
            return Err(format!("{:?}, due {parts:?}", seen.parts));
        }
        due.stream = u64::from(self.number).into();
        due.position = u64::from(self.position).into();
        due.length = (ulpdu as u64).into();
        (due.markers, due.crc) = (self.markers, self.crc);
        due.last = last;
        due.signalled = request.flags().signalled;
        if *record != due {
            return Err(format!("{record:?}, due {due:?}"));
        }
        let length = mpa::fpdu_len(self.position, ulpdu, self.markers) as u32;
        self.position = self.position.wrapping_add(length);
        if self.position.wrapping_sub(self.acknowledged & !3) > RING {
            return Err("more than the ring holds".into());
        }
        self.sent += count;
        if last {
            if let Target::Untagged { queue, .. } = request.target() {
                let msn = &mut self.msns[queue as usize];
                *msn = msn.wrapping_add(1);
            }
            self.ended |= request.flags().terminate;
            self.next_request();
        }
        Ok(())
    }

    /// The status of the next segment if it reaches what is wrong about the elements.
    fn wrong_here(&self, posted: &Posted) -> Option<u32> {
        let (at, request) = (posted.wrong_at?, posted.request.as_ref()?);
        let (_, _, last, count) = self.next_segment(request, self.mulpdu);
        let here = at < self.sent + count || last;
        here.then_some(status::MALFORMED)
    }

    fn next_request(&mut self) {
        self.sent = 0;
        self.reported = self.reported.wrapping_add(1);
        self.slots.pop_front();
    }
}

/// An event for a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Open,
    Freeze,
    Fail,
    Settled,
    Freed(u32),
}

/// A command and its arguments.
pub type Command = (TransmitCommand, TransmitArguments);

pub struct Bench<const S: usize> {
    pub lockstep: Lockstep<Segment<S>>,
    pub rng: Rng,
    pub cycle: usize,
    pub streams: Vec<Stream>,
    /// Events of the next cycles, one in each.
    pub events: VecDeque<(u8, Event)>,
    /// What has left the block, judged.
    pub seen: Vec<Seen>,
    rhythms: [Rhythm; 3],
    /// Rows asked for, and what they hold.
    rows: VecDeque<(u128, bool, u16, bool)>,
    pieces: VecDeque<(usize, LocalPiece)>,
    records: VecDeque<(usize, SendSegment)>,
    held: (Option<LocalPiece>, Option<SendSegment>),
    /// Cycles in which a segment was held, and nothing offered.
    silent: usize,
    idle: usize,
    pub command: Option<Command>,
}

/// The configuration of the benches.
pub fn config<const S: usize>() -> Config {
    Config {
        streams: S,
        ring_octets: RING as usize,
        ..Config::simulated(64)
    }
}

impl<const S: usize> Bench<S> {
    pub fn new(seed: u64, paces: Paces) -> Self {
        let block = Box::new(Segment::new(&config::<S>()));
        let top = format!("segment_{S}");
        let lockstep = Lockstep::new(&top, block, |b, level| b.clock.next = level.into());
        Self::of(lockstep.unwrap_or_else(|e| panic!("{e}")), seed, paces)
    }

    pub fn of(lockstep: Lockstep<Segment<S>>, seed: u64, paces: Paces) -> Self {
        let mut bench = Self {
            lockstep,
            rng: Rng::with_seed(seed),
            cycle: 0,
            streams: (0..S as u8).map(Stream::new).collect(),
            events: VecDeque::new(),
            seen: vec![],
            rhythms: [paces.piece, paces.segment, paces.slot].map(Rhythm::new),
            rows: VecDeque::from(vec![(0, false, 0, false); ROW_LATENCY]),
            pieces: VecDeque::new(),
            records: VecDeque::new(),
            held: (None, None),
            silent: 0,
            idle: 0,
            command: None,
        };
        bench.reset().unwrap_or_else(|e| panic!("{e}"));
        bench
    }

    fn reset(&mut self) -> Result<(), LockstepError> {
        self.lockstep.block.reset.next = true;
        for _ in 0..RESET {
            self.noise();
            self.lockstep.settle()?;
            self.lockstep.edge()?;
        }
        self.lockstep.block.reset.next = false;
        Ok(())
    }

    /// Random values at inputs that say nothing.
    fn noise(&mut self) {
        let (b, rng) = (&mut self.lockstep.block, &mut self.rng);
        let mut silent = || StreamEvent {
            valid: false,
            stream: stimulus::bits(rng),
        };
        b.open.next = silent();
        b.freeze.next = silent();
        b.fail.next = silent();
        b.settled.next = silent();
        b.freed.next = silent();
        b.freed_position.next = stimulus::bits(rng);
        b.row_data.next = stimulus::bits(rng);
        b.head_failed.next = chance(rng, 50);
        b.consumed.next = stimulus::bits(rng);
        b.is_response.next = chance(rng, 50);
        b.command_valid.next = false;
        b.command.next = TransmitCommand::Arm;
        b.s_command.next = TransmitArguments {
            stream: stimulus::bits(rng),
            ..TransmitArguments::default()
        };
    }

    /// A cycle; what leaves the block is judged.
    pub fn step(&mut self) -> Result<(), String> {
        self.noise();
        let [piece, segment, slot] = &mut self.rhythms;
        let ready = (piece.go(&mut self.rng), segment.go(&mut self.rng));
        let arrives = slot.go(&mut self.rng);
        let b = &mut self.lockstep.block;
        (b.m_piece_ready.next, b.m_segment_ready.next) = ready;
        for (index, stream) in self.streams.iter_mut().enumerate() {
            if stream.delay > 0 && arrives {
                stream.delay -= 1;
            }
            b.head[index].next = stream.delay == 0 && !stream.unpopped.is_empty();
            b.under_way[index].next = stream.under_way > 0;
        }
        let (row, failed, consumed, response) = self.rows.pop_front().expect("one for each cycle");
        b.row_data.next = BigUint::from(row).into();
        b.head_failed.next = failed;
        b.consumed.next = u64::from(consumed).into();
        b.is_response.next = response;
        if let Some((command, arguments)) = self.command {
            b.command.next = command;
            b.s_command.next = arguments;
            b.command_valid.next = true;
        }
        let event = self.events.pop_front();
        if let Some((number, event)) = event {
            let at = StreamEvent {
                valid: true,
                stream: u64::from(number).into(),
            };
            match event {
                Event::Open => b.open.next = at,
                Event::Freeze => b.freeze.next = at,
                Event::Fail => b.fail.next = at,
                Event::Settled => b.settled.next = at,
                Event::Freed(position) => {
                    b.freed.next = at;
                    b.freed_position.next = u64::from(position).into();
                }
            }
        }
        self.lockstep.settle().map_err(|e| e.to_string())?;
        self.sample(ready)?;
        if let Some((number, event)) = event {
            self.happened(number, event);
        }
        self.lockstep.edge().map_err(|e| e.to_string())?;
        self.cycle += 1;
        self.idle += 1;
        self.pair()
    }

    /// The model follows an event.
    fn happened(&mut self, number: u8, event: Event) {
        let stream = &mut self.streams[usize::from(number)];
        match event {
            Event::Open => stream.is_open = true,
            Event::Freeze => stream.frozen = stream.frozen.or(Some(0)),
            Event::Fail => stream.flushing = stream.flushing.or(Some(0)),
            Event::Settled => {}
            Event::Freed(position) => stream.acknowledged = position,
        }
    }

    /// What the block drives.
    fn sample(&mut self, ready: (bool, bool)) -> Result<(), String> {
        let b = &self.lockstep.block;
        let stream = self.streams.get(b.row_stream.val().index());
        let head = stream.and_then(|stream| stream.unpopped.front());
        let row = b.row.val().index();
        let words = head.and_then(|posted| posted.slot.get(4 * row..4 * row + 4));
        let known = words.filter(|_| head.is_some_and(|posted| !posted.unread));
        let data = match known {
            Some(words) => words
                .iter()
                .rev()
                .fold(0, |all, word| all << 32 | u128::from(*word)),
            None => self.rng.u128(..),
        };
        let failed = head.is_some_and(|posted| posted.unread);
        let popped = stream.map_or(0, |stream| stream.popped.wrapping_add(1));
        let response = head.is_some_and(Posted::is_response);
        self.rows.push_back((data, failed, popped, response));

        let piece = b.m_piece_valid.val().then(|| b.m_piece.val());
        let record = b.m_segment_valid.val().then(|| b.m_segment.val());
        if self.held.0.is_some() && self.held.0 != piece
            || self.held.1.is_some() && self.held.1 != record
        {
            return Err(format!("cycle {}: not stable until accepted", self.cycle));
        }
        self.check_holds(piece.as_ref(), record.as_ref())?;
        let b = &self.lockstep.block;
        self.held = (piece.filter(|_| !ready.0), record.filter(|_| !ready.1));
        let pop = b.pop.val();
        let done = b.command_done.val();
        if pop.valid {
            let stream = &mut self.streams[pop.stream.index()];
            if stream.unpopped.pop_front().is_none() {
                return Err(format!("cycle {}: a pop without a slot", self.cycle));
            }
            stream.popped = stream.popped.wrapping_add(1);
            stream.unaccepted += 1;
            stream.delay = 3;
        }
        if let Some(piece) = piece.filter(|_| ready.0) {
            self.idle = 0;
            if piece.last {
                self.streams[piece.stream.index()].given.0 += 1;
            }
            self.pieces.push_back((self.cycle, piece));
        }
        if let Some(record) = record.filter(|_| ready.1) {
            self.idle = 0;
            let stream = &mut self.streams[record.stream.index()];
            stream.given.1 += 1;
            if record.last {
                // a refused segment may be accepted in the cycle of its pop
                stream.unaccepted -= 1;
            }
            self.records.push_back((self.cycle, record));
        }
        if done && let Some((command, arguments)) = self.command.take() {
            self.idle = 0;
            self.carried_out(command, &arguments);
        }
        Ok(())
    }

    /// `holds` of a stream: a segment counts from the cycle behind the pop of its slot, and from its first piece on, until it is accepted;
    /// and nothing counts that does not come.
    fn check_holds(
        &mut self,
        piece: Option<&LocalPiece>,
        record: Option<&SendSegment>,
    ) -> Result<(), String> {
        let mut some = false;
        for (index, stream) in self.streams.iter().enumerate() {
            let holds = self.lockstep.block.holds[index].val();
            let begins = piece.is_some_and(|piece| piece.stream.index() == index);
            let begun = stream.given.0 + usize::from(begins);
            let must = stream.unaccepted > 0 || begun > stream.given.1;
            if must && !holds || holds && stream.slots.is_empty() {
                let cycle = self.cycle;
                return Err(format!("cycle {cycle}: holds of stream {index} is {holds}"));
            }
            some |= holds;
        }
        self.silent += 1;
        if !some || piece.is_some() || record.is_some() {
            self.silent = 0;
        }
        match self.silent > measure::CYCLES {
            true => Err(format!(
                "cycle {}: a segment is held that does not come",
                self.cycle
            )),
            false => Ok(()),
        }
    }

    /// The model follows a command.
    fn carried_out(&mut self, command: TransmitCommand, arguments: &TransmitArguments) {
        let stream = &mut self.streams[arguments.stream.index()];
        let largest = largest_ulpdu(RING as usize, arguments.markers);
        let emss = arguments.emss.index() as u32;
        match command {
            TransmitCommand::Clear => {
                assert!(stream.slots.is_empty(), "the bench closes first");
                *stream = Stream::new(stream.number);
            }
            TransmitCommand::Arm => {
                stream.domain = arguments.protection_domain.index() as u16;
                (stream.markers, stream.crc) = (arguments.markers, arguments.crc);
                stream.mulpdu = mpa::mulpdu(emss, stream.markers).min(largest);
                stream.is_open |= !arguments.gate;
                stream.msns = vec![arguments.first_msn.index() as u32; 256];
            }
            TransmitCommand::SetEmss => {
                let largest = largest_ulpdu(RING as usize, stream.markers);
                stream.mulpdu_before = Some((stream.mulpdu, 0));
                stream.mulpdu = mpa::mulpdu(emss, stream.markers).min(largest);
            }
            TransmitCommand::Close => stream.flushing = stream.flushing.or(Some(0)),
        }
    }

    /// Pieces and records become what was seen, and are judged.
    fn pair(&mut self) -> Result<(), String> {
        while let Some(end) = self.pieces.iter().position(|(_, piece)| piece.last) {
            let Some((cycle, segment)) = self.records.pop_front() else {
                return Ok(());
            };
            let first_piece = self.pieces[0].0;
            let pieces: Vec<LocalPiece> = self.pieces.drain(..=end).map(|(_, p)| p).collect();
            let number = segment.stream.index();
            let status = pieces[end].refused.index() as u32;
            let mut parts = vec![];
            for piece in &pieces {
                if piece.stream.index() != number {
                    return Err(format!("cycle {cycle}: {piece:?} in {segment:?}"));
                }
                if piece.refused.any() && !piece.last {
                    return Err(format!("cycle {cycle}: refused before the end"));
                }
                if piece.memory && piece.remote != segment.response {
                    return Err(format!("cycle {cycle}: {piece:?} in {segment:?}"));
                }
                let domain = self.streams[number].domain;
                if status == 0 && piece.protection_domain.index() != usize::from(domain) {
                    return Err(format!("cycle {cycle}: {piece:?} of domain {domain}"));
                }
                parts.push(part(piece));
            }
            let seen = Seen {
                cycle,
                first_piece,
                segment,
                parts,
                status,
            };
            let judged = self.streams[number].judge(&seen);
            judged.map_err(|e| format!("cycle {cycle}, stream {number}: {e}"))?;
            self.seen.push(seen);
        }
        Ok(())
    }

    /// Carries out a command.
    pub fn carry_out(&mut self, command: TransmitCommand, arguments: TransmitArguments) {
        let done = self.try_carry_out(command, arguments);
        done.unwrap_or_else(|e| panic!("{e}"));
    }

    /// As [`carry_out`](Self::carry_out), with the error instead of a panic.
    pub fn try_carry_out(
        &mut self,
        command: TransmitCommand,
        arguments: TransmitArguments,
    ) -> Result<(), String> {
        self.command = Some((command, arguments));
        self.idle = 0;
        while self.command.is_some() {
            self.step()?;
            self.patience()?;
        }
        Ok(())
    }

    fn patience(&self) -> Result<(), String> {
        match self.idle > PATIENCE {
            true => Err(format!("cycle {}: nothing moves", self.cycle)),
            false => Ok(()),
        }
    }

    /// A cycle that must be right.
    pub fn must_step(&mut self) {
        let done = self.step().and_then(|()| self.patience());
        done.unwrap_or_else(|e| panic!("{e}"));
    }

    /// Cycles until all requests are done with.
    pub fn drain(&mut self) {
        self.try_drain().unwrap_or_else(|e| panic!("{e}"));
    }

    /// As [`drain`](Self::drain), with the error instead of a panic.
    pub fn try_drain(&mut self) -> Result<(), String> {
        self.idle = 0;
        while self.streams.iter().any(|stream| !stream.slots.is_empty()) {
            self.step()?;
            self.patience()?;
        }
        Ok(())
    }

    /// Some cycles.
    pub fn wait(&mut self, cycles: usize) {
        for _ in 0..cycles {
            self.step().unwrap_or_else(|e| panic!("{e}"));
        }
    }

    pub fn stream(&mut self, number: u8) -> &mut Stream {
        &mut self.streams[usize::from(number)]
    }
}

fn part(piece: &LocalPiece) -> Part {
    let word = |lsb| piece.content.get_bits::<32>(lsb).index() as u32;
    let length = piece.length.index();
    match piece.memory {
        true => Part::Memory(Element {
            stag: word(0),
            length: length as u32,
            offset: u64::from(word(64)) << 32 | u64::from(word(32)),
        }),
        false => Part::Octets(
            (0..length.min(18))
                .map(|octet| piece.content.get_bits::<8>(8 * octet).index() as u8)
                .collect(),
        ),
    }
}

/// Arguments of `Arm`.
pub fn arming(rng: &mut Rng, stream: u8, emss: u16) -> TransmitArguments {
    TransmitArguments {
        stream: u64::from(stream).into(),
        protection_domain: stimulus::bits(rng),
        markers: chance(rng, 50),
        crc: chance(rng, 50),
        gate: false,
        emss: u64::from(emss).into(),
        first_msn: stimulus::bits(rng),
    }
}

/// A request with random target and flags, and payload of `length` octets.
pub fn request(rng: &mut Rng, length: u32, terminate: bool) -> SendRequest {
    let target = match chance(rng, 50) {
        true => Target::Tagged {
            stag: rng.u32(..),
            offset: match rng.u8(0..4) {
                0 => 0_u64.wrapping_sub(length.max(1).into()),
                1 => rng.u64(0..1 << 33),
                2 => 0xFFFF_FF00,
                _ => rng.u64(..u64::MAX - (1 << 33)),
            },
            rsvd_ulp: rng.u8(..),
        },
        false => Target::Untagged {
            queue: *rng.choice(&[0, 1, 2, 3, 255, 128]).expect("some"),
            rsvd_ulp: rng.u64(..).to_be_bytes()[3..].try_into().expect("five"),
        },
    };
    let flags = Flags {
        signalled: chance(rng, 50),
        fence: false,
        terminate,
    };
    let payload = match length <= 64 && chance(rng, 50) {
        true => {
            let octets: Vec<u8> = (0..length).map(|_| rng.u8(..)).collect();
            Payload::Inline(Inline::new(&octets).expect("at most 64"))
        }
        false => Payload::Gather(gather(rng, length)),
    };
    SendRequest::new(target, flags, rng.u64(..), payload).expect("a legal request")
}

/// Elements of `length` octets together.
pub fn gather(rng: &mut Rng, length: u32) -> Gather {
    let most = length.min(8);
    let count = match most {
        0 => 0,
        most => rng.u32(1..=most),
    };
    let (mut elements, mut left) = (vec![], length);
    for index in 0..count {
        let behind = count - index - 1;
        let octets = match behind {
            0 => left,
            _ => rng.u32(1..=left - behind),
        };
        left -= octets;
        elements.push(Element {
            stag: rng.u32(..),
            length: octets,
            offset: match rng.u8(0..3) {
                0 => 0xFFFF_FFF0,
                1 => rng.u64(0..1 << 20),
                _ => rng.u64(..u64::MAX - (1 << 33)),
            },
        });
    }
    Gather::new(&elements).expect("a legal list")
}
