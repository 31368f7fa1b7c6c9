//! `read_responder`, its memory, its host and a consumer, cycle by cycle.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::rc::Rc;

use fastrand::Rng;
use num_bigint::BigUint;
use warpline_hdl::host::read_responder::ReadResponder;
use warpline_hdl::host::read_responder::slots::ROW_LATENCY;
use warpline_hdl::tables::stag_table;
use warpline_regmap::transmit::{Slot, send_slot};
use warpline_testbenches::lockstep::Lockstep;
use warpline_testbenches::octets;
use warpline_testbenches::read_bus::{Manner, ReadBus};
use warpline_testbenches::stimulus::{self, Pace, Rhythm, chance};

use crate::model::{Flying, Given, Op, Plant, Region, Stream, Wrong};

/// A slot whose rows are being read.
pub struct Reading {
    pub stream: usize,
    pub rows: Vec<u8>,
    pub slot: Slot,
    pub missing: u8,
    /// Cycle of its pop.
    pub popped: Option<u64>,
}

pub struct Rig<const W: usize, const K: usize, const S: usize> {
    pub sim: Lockstep<ReadResponder<W, K, S>>,
    pub plant: Option<Plant>,
    pub rng: Rng,
    pub bus: ReadBus,
    pub memory: Rc<RefCell<HashMap<u64, [u8; 64]>>>,
    /// Buffers that the bus refuses to read.
    pub poisoned: BTreeSet<u64>,
    pub streams: Vec<Stream>,
    /// The STag table, by slot, and what was looked up in the last cycles.
    pub table: HashMap<u32, Region>,
    pub looked_up: VecDeque<u32>,
    pub found_before: u32,
    pub events: VecDeque<Given>,
    pub seq: u64,
    /// Events that must pass, in order.
    pub passing: VecDeque<Given>,
    pub to_ask: VecDeque<Flying>,
    pub flying: VecDeque<Flying>,
    pub fence_now: bool,
    pub fence: Option<u64>,
    pub fences: u32,
    pub doorbells: VecDeque<(u8, u8, u16)>,
    pub op: Option<Op>,
    pub refused_sets: u32,
    pub offer: Rhythm,
    pub drain: Rhythm,
    pub bells: Rhythm,
    pub rows: Rhythm,
    /// Streams whose slots are not popped.
    pub holds: BTreeSet<usize>,
    pub readings: VecDeque<Reading>,
    pub shown: VecDeque<Option<(usize, u8)>>,
    pub offered: Option<Given>,
    pub held: Option<u64>,
    /// Cycles: of accepted events, of AR, of last beats, of outputs, of heads that rise, of pops, of doorbells that rise.
    pub accepted: Vec<u64>,
    pub asked: Vec<u64>,
    pub landed: Vec<u64>,
    pub out: Vec<u64>,
    pub rose: Vec<u64>,
    pub pops: Vec<u64>,
    pub rang: Vec<u64>,
    pub heads: Vec<bool>,
    pub bell_was: bool,
    pub answered: u32,
    pub to_host: u32,
    pub given_back: u32,
}

impl<const W: usize, const K: usize, const S: usize> Rig<W, K, S> {
    pub fn new(manner: Manner, seed: u64) -> Self {
        let block = Box::new(ReadResponder::<W, K, S>::default());
        let name = format!("read_responder_{W}_{S}");
        let clock: fn(&mut ReadResponder<W, K, S>, bool) = |b, level| b.clock.next = level.into();
        let sim = Lockstep::new(&name, block, clock);
        Self::of(sim.unwrap_or_else(|e| panic!("{e}")), manner, seed)
    }

    pub fn of(sim: Lockstep<ReadResponder<W, K, S>>, manner: Manner, seed: u64) -> Self {
        let memory = Rc::new(RefCell::new(HashMap::<u64, [u8; 64]>::new()));
        let read = Rc::clone(&memory);
        let octet = move |address: u64| {
            let line = read.borrow().get(&(address / 64)).copied();
            line.map_or(0xA5, |line| line[(address % 64) as usize])
        };
        let mut rig = Self {
            sim,
            plant: None,
            rng: Rng::with_seed(seed),
            bus: ReadBus::new(K, manner, octet),
            memory,
            poisoned: BTreeSet::new(),
            streams: vec![Stream::default(); S],
            table: HashMap::new(),
            looked_up: VecDeque::from(vec![0; stag_table::LATENCY as usize]),
            found_before: 0,
            events: VecDeque::new(),
            seq: 0,
            passing: VecDeque::new(),
            to_ask: VecDeque::new(),
            flying: VecDeque::new(),
            fence_now: false,
            fence: None,
            fences: 0,
            doorbells: VecDeque::new(),
            op: None,
            refused_sets: 0,
            offer: Rhythm::new(Pace::Always),
            drain: Rhythm::new(Pace::Always),
            bells: Rhythm::new(Pace::Always),
            rows: Rhythm::new(Pace::Always),
            holds: BTreeSet::new(),
            readings: VecDeque::new(),
            shown: VecDeque::from(vec![None; ROW_LATENCY]),
            offered: None,
            held: None,
            accepted: vec![],
            asked: vec![],
            landed: vec![],
            out: vec![],
            rose: vec![],
            pops: vec![],
            rang: vec![],
            heads: vec![false; S],
            bell_was: false,
            answered: 0,
            to_host: 0,
            given_back: 0,
        };
        rig.sim.block.reset.next = true;
        for _ in 0..2 {
            rig.noise();
            rig.sim.block.m_axi.rvalid.next = false;
            rig.sim.settle().unwrap_or_else(|e| panic!("{e}"));
            rig.sim.edge().unwrap_or_else(|e| panic!("{e}"));
        }
        rig.sim.block.reset.next = false;
        rig
    }

    pub fn now(&self) -> u64 {
        self.sim.cycles()
    }

    pub fn pace(&mut self, pace: Pace) {
        self.offer = Rhythm::new(pace);
        self.drain = Rhythm::new(pace);
        self.bells = Rhythm::new(pace);
        self.rows = Rhythm::new(pace);
    }

    /// Random values where nothing is said.
    fn noise(&mut self) {
        let (b, rng) = (&mut self.sim.block, &mut self.rng);
        b.s_event.next = stimulus::bits(rng);
        b.arguments.next = stimulus::bits(rng);
        b.protection_domain.next = stimulus::bits(rng);
        b.m_axi.rdata.next = stimulus::bits(rng);
        b.m_axi.rresp.next = stimulus::bits(rng);
        b.m_axi.rlast.next = rng.bool();
        b.row_stream.next = stimulus::bits(rng);
        b.row.next = stimulus::bits(rng);
        b.pop_stream.next = stimulus::bits(rng);
        b.doorbell_stream.next = stimulus::bits(rng);
        b.doorbell_queue.next = stimulus::bits(rng);
        b.doorbell_value.next = stimulus::bits(rng);
        b.stream.next = stimulus::bits(rng);
        b.s_valid.next = false;
        b.s_fence.next = false;
        b.set.next = false;
        b.close.next = false;
        b.pop.next = false;
        b.doorbell.next = false;
    }

    pub fn cycle(&mut self) -> Result<(), Wrong> {
        let now = self.now();
        let at = |wrong: String| format!("cycle {now}: {wrong}");
        self.noise();
        self.drive_event();
        let rung = self.drive_doorbell();
        self.drive_op();
        let offer = self.bus.offer(&mut self.rng);
        let b = &mut self.sim.block;
        b.m_ready.next = self.drain.go(&mut self.rng);
        b.bell_ready.next = self.bells.go(&mut self.rng) && rung.is_none();
        b.m_axi.arready.next = offer.arready;
        b.m_axi.rvalid.next = offer.beat.is_some();
        if let Some(beat) = &offer.beat {
            let data = beat.data();
            b.m_axi.rdata.next = match self.plant {
                Some(Plant::StuckBit) => data.replace_bit(57, true),
                _ => data,
            };
            let error = beat.error && self.plant != Some(Plant::ErrorLost);
            b.m_axi.rresp.next = (2 * u64::from(error) + self.rng.u64(0..2)).into();
            b.m_axi.rlast.next = beat.last;
        }
        let popped = self.drive_consumer();
        self.drive_table();

        self.sim.settle().map_err(|e| e.to_string())?;
        let stag = self.sim.block.stag.val().to_u64() as u32;
        self.looked_up.push_back(stag);
        self.check_event().map_err(at)?;
        self.check_output().map_err(at)?;
        self.check_bus(&offer).map_err(at)?;
        self.check_rows().map_err(at)?;
        self.check_heads().map_err(at)?;
        self.check_bell(rung, popped).map_err(at)?;
        self.check_op().map_err(at)?;
        self.sim.edge().map_err(|e| e.to_string())
    }

    fn drive_event(&mut self) {
        let goes = self.offer.go(&mut self.rng);
        if self.offered.is_none() && goes {
            self.offered = self.events.pop_front();
        }
        let b = &mut self.sim.block;
        b.s_valid.next = self.offered.is_some();
        if let Some(given) = &self.offered {
            b.s_event.next = given.bits();
        }
        if self.fence_now && self.fence.is_none() {
            b.s_fence.next = true;
        }
    }

    fn drive_doorbell(&mut self) -> Option<(u8, u8, u16)> {
        let rung = self.doorbells.pop_front();
        let b = &mut self.sim.block;
        if let Some((stream, queue, value)) = rung {
            b.doorbell.next = self.plant != Some(Plant::DoorbellLost);
            b.doorbell_stream.next = u64::from(stream).into();
            b.doorbell_queue.next = u64::from(queue).into();
            b.doorbell_value.next = u64::from(value).into();
        }
        rung
    }

    /// The entry of what was looked up: that of its slot, if there is one.
    fn drive_table(&mut self) {
        let found = self.looked_up.pop_front().unwrap_or(0);
        let stag = match self.plant {
            Some(Plant::EntryLate) => std::mem::replace(&mut self.found_before, found),
            _ => found,
        };
        let nothing = Region {
            valid: false,
            stag,
            domain: 0,
            only: None,
            readable: true,
            base: 0,
            octets: u64::MAX,
        };
        let region = self.table.get(&(stag >> 8)).unwrap_or(&nothing);
        let mut entry = region.entry(self.rng.bool());
        entry.remote_read |= self.plant == Some(Plant::RightGiven);
        self.sim.block.entry.next = entry;
    }

    fn drive_op(&mut self) {
        let now = self.now();
        let b = &mut self.sim.block;
        match &mut self.op {
            Some(Op::Set { words, domain, .. }) => {
                b.set.next = true;
                b.protection_domain.next = u64::from(*domain).into();
                b.arguments.next = BigUint::new(words.to_vec()).into();
            }
            Some(Op::Close { stream, begun }) => {
                b.close.next = begun.is_none();
                b.stream.next = u64::from(*stream).into();
                if begun.is_none() {
                    *begun = Some(now);
                    let model = &mut self.streams[usize::from(*stream)];
                    (model.on, model.gives) = (false, false);
                }
            }
            None => {}
        }
    }

    /// A row, perhaps, and a pop, perhaps, whose stream is returned.
    fn drive_consumer(&mut self) -> Option<usize> {
        self.shown.push_back(None);
        for stream in 0..S {
            let open = |reading: &Reading| reading.stream == stream && reading.popped.is_none();
            if self.sim.block.head[stream].val()
                && !self.holds.contains(&stream)
                && !self.readings.iter().any(open)
            {
                let mut rows = vec![0, 1, 2];
                self.rng.shuffle(&mut rows);
                self.readings.push_back(Reading {
                    stream,
                    rows,
                    slot: [0; send_slot::WORDS],
                    missing: 3,
                    popped: None,
                });
            }
        }
        if !self.rows.go(&mut self.rng) {
            return None;
        }
        let open: Vec<usize> = (0..self.readings.len())
            .filter(|at| self.readings[*at].popped.is_none())
            .collect();
        let at = *self.rng.choice(&open)?;
        let now = self.sim.cycles();
        let b = &mut self.sim.block;
        let reading = &mut self.readings[at];
        if let Some(row) = reading.rows.pop() {
            self.shown[ROW_LATENCY] = Some((reading.stream, row));
            b.row_stream.next = (reading.stream as u64).into();
            b.row.next = u64::from(row).into();
        }
        // in the cycle of the last row, or later
        if !reading.rows.is_empty() || chance(&mut self.rng, 30) {
            return None;
        }
        reading.popped = Some(now);
        let stream = reading.stream;
        b.pop.next = self.plant != Some(Plant::PopLost) || self.pops.len() != 4;
        b.pop_stream.next = (stream as u64).into();
        self.pops.push(now);
        Some(stream)
    }

    pub fn row(&self) -> Vec<u8> {
        octets::octets(self.sim.block.row_data.val())
    }

    pub fn run(&mut self, cycles: u64) -> Result<(), Wrong> {
        (0..cycles).try_for_each(|_| self.cycle())
    }

    pub fn is_done(&self) -> bool {
        let streams = &self.streams;
        self.events.is_empty()
            && self.offered.is_none()
            && self.passing.is_empty()
            && self.readings.is_empty()
            && self.op.is_none()
            && self.doorbells.is_empty()
            && self.fence.is_none()
            && self.flying.is_empty()
            && self.to_ask.iter().all(|flying| flying.optional)
            && streams.iter().enumerate().all(|(at, s)| {
                s.to_host.is_empty()
                    && (s.slots.is_empty() || self.holds.contains(&at))
                    && (!s.gives || s.popped == 0 || s.given_back == Some(s.popped))
            })
    }

    /// Until all is done that is to come.
    pub fn finish(&mut self) -> Result<(), Wrong> {
        self.fence_now = false;
        let limit = self.now() + 5000;
        while !self.is_done() {
            if self.now() > limit {
                return Err(format!(
                    "{:?} {} {} {:?} does not come",
                    self.passing,
                    self.flying.len(),
                    self.readings.len(),
                    self.streams
                ));
            }
            self.cycle()?;
        }
        self.run(8)
    }
}
