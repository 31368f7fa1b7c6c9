//! `send_queues`, host memory with the rings behind it, a consumer, and the model of all three.

use std::collections::VecDeque;
use std::fmt;

use fastrand::Rng;
use num_bigint::BigUint;
use warpline_hdl::host::send_queues::bursts::UNDER_WAY;
use warpline_hdl::host::send_queues::{HEAD_LATENCY, POP_LATENCY, ROW_LATENCY, SendQueues};
use warpline_regmap::transmit::{send_ring, slot_offset};
use warpline_sv_writer::{self as writer, Design};
use warpline_testbenches::lockstep::Lockstep;
use warpline_testbenches::octets;
use warpline_testbenches::stimulus::{self, Pace, Rhythm, chance};

use crate::memory::{Manner, Memory, Part};
use crate::slots::{self, Octets};

pub type Wrong = String;

/// Calls a function that is generic over width and streams for the widths above 64 bits.
macro_rules! at_wider {
    ($function:ident $arguments:tt) => {
        warpline_testbenches::lockstep::on_large_stack(|| $function::<128, 16, 4> $arguments);
        warpline_testbenches::lockstep::on_large_stack(|| $function::<256, 32, 4> $arguments);
        warpline_testbenches::lockstep::on_large_stack(|| $function::<512, 64, 4> $arguments);
    };
}
pub(crate) use at_wider;

/// What the bench does wrong on purpose, so that its checks are seen to fail.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Plant {
    /// Doorbells of stream 1 do not reach the block.
    DoorbellLost,
    /// A bit of the bus is stuck.
    StuckBit,
    /// The bus does not say that it refuses.
    ErrorLost,
    /// `freeze` does not reach the block.
    FreezeLost,
    /// The tenth pop of a stream does not reach the block.
    PopLost,
}

/// A slot that was requested and not popped.
#[derive(Clone)]
pub struct Held {
    pub octets: Octets,
    /// Octets that are to be read, in whole beats.
    pub read: usize,
    /// The first burst is answered, and a second one is to be requested.
    pub wants_rest: bool,
    /// Cycle of the last beat.
    pub landed: Option<u64>,
    pub failed: bool,
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (read, landed, failed) = (self.read, self.landed, self.failed);
        write!(f, "({read} octets, at {landed:?}, failed: {failed})")
    }
}

/// A ring in host memory.
#[derive(Clone)]
pub struct Ring {
    pub base: u64,
    pub entries: u32,
    pub memory: Vec<Octets>,
}

impl fmt::Debug for Ring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} slots at {:#x}", self.entries, self.base)
    }
}

/// What the model knows of a stream.
#[derive(Clone, Debug, Default)]
pub struct Stream {
    pub ring: Option<Ring>,
    pub open: bool,
    /// Slots announced, modulo 2^16, and written.
    pub announced: u16,
    pub written: u64,
    pub fetched: u64,
    pub consumed: u64,
    pub held: VecDeque<Held>,
    pub popped_at: Option<u64>,
    /// The last doorbell was in this cycle.
    pub rung_at: u64,
    /// Others that were served since it had work that can be done.
    pub passed: usize,
}

impl Stream {
    pub fn unread(&self) -> bool {
        self.announced != self.fetched as u16
    }

    pub fn is_done(&self) -> bool {
        !self.unread() && self.held.is_empty()
    }

    fn head_is_due(&self, now: u64) -> bool {
        let landed = self.held.front().and_then(|held| held.landed);
        landed.is_some_and(|at| now >= at + HEAD_LATENCY as u64)
            && self
                .popped_at
                .is_none_or(|at| now >= at + POP_LATENCY as u64)
    }
}

/// How the consumer behaves.
#[derive(Clone, Copy, Debug)]
pub struct Consumer {
    /// In which cycles it reads a row.
    pub pace: Pace,
    /// Rows that it reads of a slot, at most, in order; or all of them, in any order, and of several streams in turn.
    pub rows: Option<usize>,
    /// Cycles between two pops of a stream, at least.
    pub gap: u64,
}

impl Consumer {
    pub const ALL: Self = Self {
        pace: Pace::Always,
        rows: None,
        gap: 0,
    };
    pub const NONE: Self = Self {
        pace: Pace::Percent(0),
        rows: None,
        gap: 0,
    };
    /// A slot of each stream every `gap` cycles.
    pub const fn every(gap: u64) -> Self {
        Self {
            pace: Pace::Always,
            rows: Some(1),
            gap,
        }
    }
}

/// Rows of a head that are to be read.
struct Reading {
    stream: usize,
    rows: Vec<u8>,
}

/// What the row port shows.
#[derive(Clone, Debug)]
struct Shown {
    consumed: u16,
    failed: bool,
    octets: Vec<u8>,
}

/// A request on AR.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// First cycle in which it was valid, and the one in which it was accepted.
    pub valid: u64,
    pub part: Part,
}

pub struct Rig<const W: usize, const K: usize, const S: usize> {
    pub sim: Lockstep<SendQueues<W, K, S>>,
    /// Inputs without a meaning keep their values, which takes less time.
    pub quiet: bool,
    pub plant: Option<Plant>,
    pub rng: Rng,
    pub memory: Memory,
    pub slots: usize,
    pub streams: Vec<Stream>,
    pub doorbells: VecDeque<(u8, u16)>,
    pub set: Option<(u8, Ring)>,
    pub refused_sets: u32,
    pub freeze: Option<u8>,
    pub detach: Option<u8>,
    pub consumer: Consumer,
    rows: Rhythm,
    readings: Vec<Reading>,
    shown: VecDeque<Option<Shown>>,
    valid_since: Option<u64>,
    pub requests: Vec<Request>,
    /// Cycle and stream of each pop.
    pub pops: Vec<(u64, usize)>,
    /// Cycle of each last beat.
    pub landed: Vec<(u64, Part)>,
    /// Slots popped that had failed, and that had a second burst.
    pub failures: u32,
    pub seconds: u32,
    pub compared: u64,
    pub most_passed: usize,
}

impl<const W: usize, const K: usize, const S: usize> Rig<W, K, S> {
    pub fn new(slots: usize, manner: Manner, seed: u64) -> Self {
        Self::with_text(slots, manner, seed, "", |_| ())
    }

    pub fn with_text(
        slots: usize,
        manner: Manner,
        seed: u64,
        suffix: &str,
        change: impl FnOnce(&mut Design),
    ) -> Self {
        let block = Box::new(SendQueues::<W, K, S>::new(slots));
        let name = format!("send_queues_{W}_{S}_{slots}{suffix}");
        let mut design = writer::write(&*block, &name).unwrap_or_else(|e| panic!("{e}"));
        change(&mut design);
        let clock: fn(&mut SendQueues<W, K, S>, bool) = |b, level| b.clock.next = level.into();
        let sim = Lockstep::with_design(&name, block, &design, clock);
        let mut rig = Self {
            sim: sim.unwrap_or_else(|e| panic!("{e}")),
            quiet: false,
            plant: None,
            rng: Rng::with_seed(seed),
            memory: Memory::new(K, manner),
            slots,
            streams: vec![Stream::default(); S],
            doorbells: VecDeque::new(),
            set: None,
            refused_sets: 0,
            freeze: None,
            detach: None,
            consumer: Consumer::ALL,
            rows: Rhythm::new(Pace::Always),
            readings: vec![],
            shown: VecDeque::from(vec![None; ROW_LATENCY]),
            valid_since: None,
            requests: vec![],
            pops: vec![],
            landed: vec![],
            failures: 0,
            seconds: 0,
            compared: 0,
            most_passed: 0,
        };
        rig.reset().unwrap_or_else(|wrong| panic!("{wrong}"));
        rig
    }

    /// Two cycles of reset: no stream has a ring behind it.
    pub fn reset(&mut self) -> Result<(), Wrong> {
        assert!(self.memory.is_idle());
        self.sim.block.reset.next = true;
        for _ in 0..2 {
            self.noise();
            self.sim.block.m_axi.rvalid.next = false;
            self.sim.settle().map_err(|e| e.to_string())?;
            self.sim.edge().map_err(|e| e.to_string())?;
        }
        self.sim.block.reset.next = false;
        self.streams.fill(Stream::default());
        self.readings.clear();
        self.shown.iter_mut().for_each(|shown| *shown = None);
        Ok(())
    }

    pub fn now(&self) -> u64 {
        self.sim.cycles()
    }

    pub fn consume(&mut self, consumer: Consumer) {
        self.consumer = consumer;
        self.rows = Rhythm::new(consumer.pace);
    }

    /// Random values at all inputs but clock and reset.
    fn noise(&mut self) {
        let (b, rng) = (&mut self.sim.block, &mut self.rng);
        if self.quiet {
            return;
        }
        b.doorbell.next = rng.bool();
        b.doorbell_stream.next = stimulus::bits(rng);
        b.doorbell_value.next = stimulus::bits(rng);
        b.set.next = rng.bool();
        b.arguments.next = stimulus::bits(rng);
        b.freeze.next = rng.bool();
        b.detach.next = rng.bool();
        b.stream.next = stimulus::bits(rng);
        b.m_axi.arready.next = rng.bool();
        b.m_axi.rvalid.next = rng.bool();
        b.m_axi.rdata.next = stimulus::bits(rng);
        b.m_axi.rresp.next = stimulus::bits(rng);
        b.m_axi.rlast.next = rng.bool();
        b.row_stream.next = stimulus::bits(rng);
        b.row.next = stimulus::bits(rng);
        b.pop.next = rng.bool();
        b.pop_stream.next = stimulus::bits(rng);
    }

    pub fn cycle(&mut self) -> Result<(), Wrong> {
        let now = self.now();
        let at = |wrong: String| format!("cycle {now}: {wrong}");
        self.noise();
        let doorbell = self.drive_doorbell();
        self.drive_rings();
        let (arready, beat) = self.memory.offer(now, &mut self.rng);
        let b = &mut self.sim.block;
        b.m_axi.arready.next = arready;
        b.m_axi.rvalid.next = beat.is_some();
        if let Some(beat) = &beat {
            let data = octets::beat(&beat.octets);
            b.m_axi.rdata.next = match self.plant {
                Some(Plant::StuckBit) => data.replace_bit(57, true),
                _ => data,
            };
            let error = beat.error && self.plant != Some(Plant::ErrorLost);
            b.m_axi.rresp.next = (2 * u64::from(error) + self.rng.u64(0..2)).into();
            b.m_axi.rlast.next = beat.last;
        }
        let popped = self.drive_consumer();

        self.sim.settle().map_err(|e| e.to_string())?;
        self.check_bus().map_err(at)?;
        self.check_heads().map_err(at)?;
        self.check_rows().map_err(at)?;
        self.apply_set().map_err(at)?;
        self.apply(doorbell, popped);
        self.sim.edge().map_err(|e| e.to_string())
    }

    /// The next doorbell, or one that has no effect.
    fn drive_doorbell(&mut self) -> Option<(u8, u16)> {
        let doorbell = self.doorbells.pop_front();
        let (b, rng) = (&mut self.sim.block, &mut self.rng);
        let stream = match doorbell {
            Some((stream, _)) => stream,
            None => rng.u8(..),
        };
        let without = match self.streams.get(usize::from(stream)) {
            Some(model) => !model.open && self.set.as_ref().is_none_or(|set| set.0 != stream),
            None => true,
        };
        let lost = self.plant == Some(Plant::DoorbellLost) && stream == 1;
        b.doorbell.next = (doorbell.is_some() && !lost) || (without && chance(rng, 50));
        b.doorbell_stream.next = u64::from(stream).into();
        if let Some((_, value)) = doorbell {
            b.doorbell_value.next = u64::from(value).into();
        }
        doorbell
    }

    fn drive_rings(&mut self) {
        let b = &mut self.sim.block;
        b.set.next = self.set.is_some();
        if let Some((stream, ring)) = &self.set {
            let mut words = [0; send_ring::WORDS];
            send_ring::STREAM.put(&mut words, u64::from(*stream));
            send_ring::ENTRIES.put(&mut words, ring.entries.into());
            send_ring::BASE.put(&mut words, ring.base);
            b.arguments.next = BigUint::new(words.to_vec()).into();
        }
        b.freeze.next = self.freeze.is_some() && self.plant != Some(Plant::FreezeLost);
        b.detach.next = self.detach.is_some();
        if let Some(stream) = self.freeze.or(self.detach) {
            b.stream.next = u64::from(stream).into();
        }
    }

    /// A row, perhaps, and a pop, perhaps, which is returned.
    fn drive_consumer(&mut self) -> Option<usize> {
        let now = self.now();
        self.shown.push_back(None);
        let b = &mut self.sim.block;
        b.pop.next = false;
        for stream in 0..S {
            let rests = self.streams[stream].popped_at;
            let rested = rests.is_none_or(|at| now >= at + self.consumer.gap);
            if b.head[stream].val()
                && rested
                && self.readings.iter().all(|r| r.stream != stream)
                && let Some(held) = self.streams[stream].held.front()
            {
                let count = held.read.div_ceil(16);
                let mut rows: Vec<u8> = (0..count as u8).rev().collect();
                match self.consumer.rows {
                    Some(most) => rows = rows.split_off(count - most.min(count)),
                    None => self.rng.shuffle(&mut rows),
                }
                self.readings.push(Reading { stream, rows });
            }
        }
        if !self.rows.go(&mut self.rng) || self.readings.is_empty() {
            return None;
        }
        let at = match self.consumer.rows {
            Some(_) => 0,
            None => self.rng.usize(0..self.readings.len()),
        };
        let reading = &mut self.readings[at];
        let stream = reading.stream;
        let model = &self.streams[stream];
        if let Some(row) = reading.rows.pop() {
            let held = &model.held[0];
            let from = 16 * usize::from(row);
            self.shown[ROW_LATENCY] = Some(Shown {
                consumed: (model.consumed + 1) as u16,
                failed: held.failed,
                octets: held.octets[from..held.read.min(from + 16)].to_vec(),
            });
            b.row_stream.next = (stream as u64).into();
            b.row.next = u64::from(row).into();
        }
        // in the cycle of the last row, or later
        let ends = reading.rows.is_empty() && (self.consumer.rows.is_some() || self.rng.bool());
        if !ends {
            return None;
        }
        self.readings.remove(at);
        b.pop.next = self.plant != Some(Plant::PopLost) || model.consumed != 9;
        b.pop_stream.next = (stream as u64).into();
        Some(stream)
    }

    fn check_bus(&mut self) -> Result<(), Wrong> {
        let now = self.now();
        let b = &self.sim.block;
        let constants = [
            b.m_axi.arsize.val().to_u64(),
            b.m_axi.arburst.val().to_u64(),
            b.m_axi.arcache.val().to_u64(),
            b.m_axi.arprot.val().to_u64(),
        ];
        if constants != [u64::from(K.ilog2()), 1, 2, 2] {
            return Err(format!("AR has {constants:?}"));
        }
        let address = b
            .m_axi
            .arvalid
            .val()
            .then(|| (b.m_axi.araddr.val().to_u64(), b.m_axi.arlen.val().to_u8()));
        let rready = b.m_axi.rready.val();
        if !rready {
            return Err("R is not accepted".into());
        }
        if let Some((part, failed)) = self.memory.take(rready) {
            self.landed.push((now, part));
            let model = &mut self.streams[part.stream];
            let held = &mut model.held[(part.number - model.consumed) as usize];
            held.failed = failed;
            held.wants_rest = !failed && !part.rest && held.read > 64;
            if !held.wants_rest {
                held.landed = Some(now);
            }
        }
        if address.is_some() {
            self.valid_since.get_or_insert(now);
        }
        let Some((address, length)) = self.memory.accept(address)? else {
            return Ok(());
        };
        let valid = self.valid_since.take().unwrap_or(now);
        let part = self.part(address)?;
        let octets = self.due(part, length)?;
        self.requests.push(Request { valid, part });
        self.memory.answer(now, part, &octets, &mut self.rng);
        let under_way = self.streams.iter().flat_map(|model| &model.held);
        let under_way = under_way.filter(|held| held.landed.is_none()).count();
        if under_way > UNDER_WAY {
            return Err(format!("{under_way} slots are under way"));
        }
        Ok(())
    }

    /// Which slot an address belongs to.
    fn part(&self, address: u64) -> Result<Part, Wrong> {
        for (stream, model) in self.streams.iter().enumerate() {
            let Some(ring) = &model.ring else { continue };
            let Some(offset) = address.checked_sub(ring.base) else {
                continue;
            };
            if offset >= 256 * u64::from(ring.entries) {
                continue;
            }
            let place = |number: u64| slot_offset(number as u16, ring.entries);
            let first = Part {
                stream,
                number: model.fetched,
                rest: false,
            };
            if offset == place(model.fetched) {
                return Ok(first);
            }
            let held = model.held.iter().enumerate();
            let mut rest = held
                .filter(|(_, held)| held.wants_rest)
                .map(|(index, _)| Part {
                    stream,
                    number: model.consumed + index as u64,
                    rest: true,
                });
            let found = rest.find(|part| offset == place(part.number) + 64);
            return found.ok_or(format!("{stream} has no reason to read {address:#x}"));
        }
        Err(format!("{address:#x} is in no ring"))
    }

    /// What is read, if it is what is to be read.
    fn due(&mut self, part: Part, length: u8) -> Result<Vec<u8>, Wrong> {
        let model = &mut self.streams[part.stream];
        let octets = (usize::from(length) + 1) * K;
        if part.rest {
            let held = &mut model.held[(part.number - model.consumed) as usize];
            held.wants_rest = false;
            if octets != held.read - 64 {
                return Err(format!("{part:?}: {octets} of {}", held.read - 64));
            }
            return Ok(held.octets[64..held.read].to_vec());
        }
        if octets != 64 || !model.unread() || model.held.len() == self.slots {
            return Err(format!("{part:?}, {octets} octets: {model:?}"));
        }
        let Some(ring) = &model.ring else {
            return Err(format!("{part:?} has no ring"));
        };
        let octets = ring.memory[part.number as usize % ring.entries as usize];
        model.held.push_back(Held {
            octets,
            read: slots::needed(&octets).next_multiple_of(K),
            wants_rest: false,
            landed: None,
            failed: false,
        });
        model.fetched += 1;
        model.passed = 0;
        for (other, model) in self.streams.iter_mut().enumerate() {
            if other != part.stream && model.unread() && model.held.len() < self.slots {
                model.passed += 1;
                self.most_passed = self.most_passed.max(model.passed);
            }
        }
        if self.most_passed > 2 * S {
            return Err(format!("a stream was passed {} times", self.most_passed));
        }
        Ok(octets[..64].to_vec())
    }

    fn check_heads(&mut self) -> Result<(), Wrong> {
        let now = self.now();
        for (stream, model) in self.streams.iter().enumerate() {
            let (head, due) = (self.sim.block.head[stream].val(), model.head_is_due(now));
            if head != due {
                return Err(format!("head {stream} is {head}: {model:?}"));
            }
            let quiet = model.is_done() || now < model.rung_at + 2;
            if self.sim.block.idle[stream].val() && !quiet {
                return Err(format!("{stream} is idle: {model:?}"));
            }
        }
        Ok(())
    }

    fn check_rows(&mut self) -> Result<(), Wrong> {
        let Some(due) = self.shown.pop_front().flatten() else {
            return Ok(());
        };
        let b = &self.sim.block;
        let (consumed, failed) = (b.consumed.val().to_u16(), b.head_failed.val());
        let row = octets::octets(b.row_data.val());
        let same = due.failed || row[..due.octets.len()] == due.octets;
        if (consumed, failed) != (due.consumed, due.failed) || !same {
            return Err(format!(
                "{consumed}, {failed}, {row:02x?} is not {due:02x?}"
            ));
        }
        self.compared += 1;
        Ok(())
    }

    fn apply_set(&mut self) -> Result<(), Wrong> {
        if !self.sim.block.set_ready.val() {
            return Ok(());
        }
        let (stream, ring) = self.set.take().ok_or("set_ready without set")?;
        let refused = self.sim.block.set_failed.val();
        let model = self.streams.get_mut(usize::from(stream));
        let legal = ring.entries.is_power_of_two()
            && (4..=4096).contains(&ring.entries)
            && ring.base.is_multiple_of(256)
            && model.as_ref().is_some_and(|model| model.ring.is_none());
        if refused == legal {
            return Err(format!("ring of {stream} refused: {refused}"));
        }
        self.refused_sets += u32::from(refused);
        if let Some(model) = model.filter(|_| legal) {
            *model = Stream {
                ring: Some(ring),
                open: true,
                ..Stream::default()
            };
        }
        Ok(())
    }

    /// What the inputs of this cycle change.
    fn apply(&mut self, doorbell: Option<(u8, u16)>, popped: Option<usize>) {
        let now = self.now();
        if let Some((stream, value)) = doorbell
            && let Some(model) = self.streams.get_mut(usize::from(stream))
            && model.open
        {
            model.announced = value;
            model.rung_at = now;
        }
        if let Some(model) = self
            .freeze
            .take()
            .and_then(|s| self.streams.get_mut(usize::from(s)))
        {
            model.open = false;
        }
        if let Some(model) = self
            .detach
            .take()
            .and_then(|s| self.streams.get_mut(usize::from(s)))
        {
            *model = Stream::default();
        }
        if let Some(stream) = popped {
            let model = &mut self.streams[stream];
            let held = model.held.pop_front();
            self.failures += u32::from(held.as_ref().is_some_and(|held| held.failed));
            self.seconds += u32::from(held.is_some_and(|held| held.read > 64));
            // the slot is the host's again
            if let Some(ring) = &mut model.ring {
                let place = model.consumed as usize % ring.memory.len();
                ring.memory[place] = slots::noise(&mut self.rng);
            }
            model.consumed += 1;
            model.popped_at = Some(now);
            self.pops.push((now, stream));
        }
    }

    pub fn run(&mut self, cycles: u64) -> Result<(), Wrong> {
        (0..cycles).try_for_each(|_| self.cycle())
    }

    /// Sets a ring; whether it was accepted.
    pub fn give(&mut self, stream: u8, base: u64, entries: u32) -> Result<bool, Wrong> {
        let memory = (0..entries).map(|_| slots::noise(&mut self.rng)).collect();
        let refused = self.refused_sets;
        let ring = Ring {
            base,
            entries,
            memory,
        };
        self.set = Some((stream, ring));
        for _ in 0..500 {
            self.cycle()?;
            if self.set.is_none() {
                return Ok(self.refused_sets == refused);
            }
        }
        Err(format!("no answer to the ring of {stream}"))
    }

    /// Gives every stream a ring.
    pub fn give_all(&mut self, entries: u32) -> Result<(), Wrong> {
        for stream in 0..S as u8 {
            let given = self.give(stream, base(stream.into()), entries)?;
            assert!(given, "a ring for {stream}");
        }
        Ok(())
    }

    /// Slots that the host may write.
    pub fn room(&self, stream: usize) -> usize {
        let model = &self.streams[stream];
        let ring = model.ring.as_ref().filter(|_| model.open);
        ring.map_or(0, |ring| {
            (u64::from(ring.entries) - (model.written - model.consumed)) as usize
        })
    }

    /// Writes a slot.
    pub fn write(&mut self, stream: usize, octets: Octets) {
        let model = &mut self.streams[stream];
        if let Some(ring) = &mut model.ring {
            let place = model.written as usize % ring.memory.len();
            ring.memory[place] = octets;
            model.written += 1;
        }
    }

    /// Announces all slots that are written.
    pub fn ring(&mut self, stream: usize) {
        let written = self.streams[stream].written as u16;
        self.doorbells.push_back((stream as u8, written));
    }

    pub fn is_drained(&self) -> bool {
        self.doorbells.is_empty() && self.streams.iter().all(Stream::is_done)
    }

    /// Runs until all that is announced is popped, and all streams are idle.
    pub fn drain(&mut self) -> Result<(), Wrong> {
        for _ in 0..200_000 {
            if self.is_drained() {
                self.run(8 * S as u64 + 16)?;
                let idle = |s: usize| self.sim.block.idle[s].val();
                return match (0..S).find(|s| !idle(*s)) {
                    Some(stream) => Err(format!("{stream} is not idle")),
                    None => Ok(()),
                };
            }
            self.cycle()?;
        }
        Err(format!("not drained: {:?}", self.streams))
    }

    /// Freezes, drains and detaches a stream.
    pub fn close(&mut self, stream: usize) -> Result<(), Wrong> {
        self.doorbells.retain(|(of, _)| usize::from(*of) != stream);
        self.freeze = Some(stream as u8);
        self.run(2)?;
        let limit = self.now() + 20_000;
        while !self.sim.block.idle[stream].val() {
            self.cycle()?;
            if self.now() > limit {
                return Err(format!("{stream} is never idle"));
            }
        }
        self.detach = Some(stream as u8);
        self.cycle()
    }
}

/// Where rings lie: none in another's way, one across 4 GiB, and across 2^32 slots.
pub fn base(stream: u64) -> u64 {
    match stream {
        0 => 0xFFFF_FF00,
        1 => 0xFFFF_FFFF_FFE0_0000,
        2 => 0xFF_FFFF_F800,
        _ => 0x7000_0000_0000 + 0x20_0000 * stream,
    }
}
