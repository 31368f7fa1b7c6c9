//! The bench: the ports of the block, cycle by cycle, and what is seen there for the streams of the model.

use std::collections::VecDeque;

use fastrand::Rng;
use num_bigint::BigUint;
use warpline_hdl::Config;
use warpline_hdl::records::{LocalPiece, SendSegment};
use warpline_hdl::tx::ddp::segment::Segment;
use warpline_hdl::tx::ddp::segment::command::{TransmitArguments, TransmitCommand};
use warpline_hdl::tx::ddp::segment::measure;
use warpline_hdl::tx::ddp::segment::payload::ROW_LATENCY;
use warpline_hdl::tx::ddp::segment::scheduler::StreamEvent;
use warpline_regmap::transmit::Element;
use warpline_testbenches::lockstep::{Lockstep, LockstepError};
use warpline_testbenches::stimulus::{self, Pace, Rhythm, chance};

use crate::model::{Event, Part, Posted, RING, Seen, Stream};

/// Cycles without any progress after which a bench gives up.
const PATIENCE: usize = 3000;
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
            self.streams[usize::from(number)].happened(event);
        }
        self.lockstep.edge().map_err(|e| e.to_string())?;
        self.cycle += 1;
        self.idle += 1;
        self.pair()
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
            self.streams[arguments.stream.index()].carried_out(command, &arguments);
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
