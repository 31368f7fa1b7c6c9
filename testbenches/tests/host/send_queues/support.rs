//! `send_queues`, host memory with the rings behind it, and a consumer, cycle by cycle.

use std::collections::VecDeque;

use fastrand::Rng;
use num_bigint::BigUint;
use warpline_hdl::host::send_queues::{ROW_LATENCY, SendQueues};
use warpline_regmap::transmit::send_ring;
use warpline_sv_writer::{self as writer, Design};
use warpline_testbenches::lockstep::Lockstep;
use warpline_testbenches::octets;
use warpline_testbenches::stimulus::{self, Pace, Rhythm, chance};

use crate::memory::{Manner, Memory, Part};
use crate::model::{Consumer, Plant, Reading, Request, Ring, Shown, Stream, Wrong};
use crate::slots;

/// Calls a function that is generic over width and streams for the widths above 64 bits.
macro_rules! at_wider {
    ($function:ident $arguments:tt) => {
        #[cfg(feature = "every-width")]
        warpline_testbenches::lockstep::on_large_stack(|| $function::<128, 16, 4> $arguments);
        #[cfg(feature = "every-width")]
        warpline_testbenches::lockstep::on_large_stack(|| $function::<256, 32, 4> $arguments);
        warpline_testbenches::lockstep::on_large_stack(|| $function::<512, 64, 4> $arguments);
    };
}
pub(crate) use at_wider;
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
    pub shown: VecDeque<Option<Shown>>,
    pub valid_since: Option<u64>,
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
}
