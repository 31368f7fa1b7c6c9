//! `receive_rings`, a bus with receive rings behind it, and the model.

use fastrand::Rng;
use num_bigint::BigUint;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use warpline_hdl::Config;
use warpline_hdl::host::receive_rings::{AMPLE, ReceiveRings, SOME, SUPPLIED};
use warpline_regmap::layout::{receive_buffer, receive_ring};
use warpline_sv_writer::{self as writer, Design};
use warpline_testbenches::lockstep::{Lockstep, plant};
use warpline_testbenches::read_bus::{Burst, Manner, ReadBus};
use warpline_testbenches::stimulus::{Pace, Rhythm, chance};

pub const STREAMS: usize = 4;
/// Buffers that a queue holds, but for throughput.
pub const SLOTS: u32 = 8;
/// Cycles in which a buffer is not used that has been posted; `check` takes longer.
pub const UNUSED: usize = 8;
/// Cycles in which a buffer that is posted shows, however many other rows are counted before.
pub const POSTED: usize = 12;
/// Stream and queue.
pub type Key = (u8, u8);

/// What host memory holds.
pub fn octet(address: u64) -> u8 {
    let mixed = (address ^ 0x5851_f42d).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 56) as u8
}

/// Address and length of the buffer in the descriptor at `address`.
pub fn descriptor(address: u64) -> (u64, u32) {
    let octets: Vec<u8> = (address..address + 16).map(octet).collect();
    (
        u64::from_le_bytes(octets[..8].try_into().unwrap()),
        u32::from_le_bytes(octets[8..12].try_into().unwrap()),
    )
}

/// A ring, and how far host and device are.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub base: u64,
    pub entries: u32,
    pub produced: u32,
    pub posted: u32,
    /// Those of them that `check` is done with.
    pub done: u32,
    pub taken: u32,
}

/// How short of buffers a queue is: 0 to 3 for not at all, `scarce`, `few` and `empty`.
fn shortage(produced: u32, done: u32, taken: u32) -> u8 {
    let unused = done.saturating_sub(taken);
    let levels = [unused < AMPLE as u32, unused < SOME as u32, unused == 0];
    match produced == done {
        true => 0,
        false => levels.iter().map(|level| u8::from(*level)).sum(),
    }
}

impl Row {
    pub fn new(base: u64, entries: u32) -> Self {
        Self {
            base,
            entries,
            produced: 0,
            posted: 0,
            done: 0,
            taken: 0,
        }
    }

    pub fn known(&self) -> u16 {
        (self.produced as u16).wrapping_sub(self.taken as u16)
    }

    pub fn holds(&self, address: u64) -> bool {
        (self.base..self.base + 16 * u64::from(self.entries)).contains(&address)
    }
}

/// What the bench does wrong on purpose, so that its checks are seen to fail.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Plant {
    /// Doorbells of queue 1 do not reach the block.
    DoorbellLost,
    /// A bit of the bus is stuck.
    StuckBit,
    /// The use of a buffer is reported to the block twice.
    TookTwice,
    /// `close` does not reach the block.
    CloseLost,
    /// The supply is expected a cycle earlier than it comes.
    SupplyEarly,
    /// Buffers posted to queue 2 do not count for the supply.
    PostedUnseen,
}

/// How long `check` takes.
#[derive(Clone, Copy)]
pub enum Check {
    /// Something up to this, at random.
    Random(u32),
    /// As `check` behind its arbiter: accepted after 2 cycles, done after 11.
    Real,
}

pub struct Rig<const W: usize, const K: usize> {
    pub sim: Lockstep<ReceiveRings<W, K, STREAMS>>,
    pub bus: ReadBus,
    pub rng: Rng,
    pub plant: Option<Plant>,
    pub check: Check,
    pub slots: u32,
    pub rows: BTreeMap<Key, Row>,
    /// Rows of closed streams that may still post, and those that may not.
    pub leaving: BTreeMap<Key, Row>,
    pub broken: BTreeSet<u8>,
    /// Produced, done and taken of each row in the last cycles, the last one first.
    pub counts: BTreeMap<Key, VecDeque<(u32, u32, u32)>>,
    /// Cycles in which a stream had each shortage.
    pub shortages: [u32; 4],

    // what the host does next
    pub doorbell: Option<(Key, u32)>,
    /// The doorbell of the last cycle, which counts from the next one on.
    pub rung: Option<(Key, u32)>,
    pub set: Option<(Key, Row)>,
    pub close: Option<u8>,
    pub closing: Option<(u8, u64)>,

    // check
    pub shown: Option<u128>,
    pub wait: u32,
    pub asked: bool,
    pub asked_of: Key,
    pub refuse: bool,
    pub key: Key,
    pub took: bool,
    /// The key of the cycle before,
    pub key_before: Key,
    /// whether a buffer was used with it,
    pub used_before: bool,
    /// and in how many cycles of a hundred the key is another one.
    pub key_changes: u32,
    pub takes: Rhythm,
    /// How far behind the first buffer of the key's queue is looked.
    pub distance: u8,
    /// Buffers of the key's queue that were known in the last cycle.
    pub known: u16,
    pub want_coming: bool,

    pub faults: Vec<u8>,
    pub posts: Vec<u64>,
    pub refused_sets: u32,
    pub drained_reads: u32,
}

pub type Wrong = String;

impl<const W: usize, const K: usize> Rig<W, K> {
    pub fn new(manner: Manner, check: Check) -> Self {
        Self::with_slots(manner, check, SLOTS)
    }

    pub fn with_slots(manner: Manner, check: Check, slots: u32) -> Self {
        Self::with_text(manner, check, slots, "", |_| ())
    }

    /// With a fault in the text: what reads `right` reads `wrong`.
    pub fn with_fault(manner: Manner, check: Check, name: &str, right: &str, wrong: &str) -> Self {
        let name = format!("_{name}");
        Self::with_text(manner, check, SLOTS, &name, |design| {
            plant(design, right, wrong);
        })
    }

    fn with_text(
        manner: Manner,
        check: Check,
        slots: u32,
        suffix: &str,
        change: impl FnOnce(&mut Design),
    ) -> Self {
        let config = Config {
            receive_slots: slots as usize,
            ..Config::simulated(W)
        };
        let block = Box::new(ReceiveRings::<W, K, STREAMS>::new(&config));
        let name = format!("receive_rings_{W}_{slots}{suffix}");
        let mut design = writer::write(&*block, &name).unwrap_or_else(|e| panic!("{e}"));
        change(&mut design);
        let clock: fn(&mut ReceiveRings<W, K, STREAMS>, bool) =
            |b, level| b.clock.next = level.into();
        let sim =
            Lockstep::with_design(&name, block, &design, clock).unwrap_or_else(|e| panic!("{e}"));
        let mut rig = Self {
            sim,
            bus: ReadBus::new(K, manner, octet),
            rng: Rng::with_seed(W as u64),
            plant: None,
            check,
            slots,
            rows: BTreeMap::new(),
            leaving: BTreeMap::new(),
            broken: BTreeSet::new(),
            counts: BTreeMap::new(),
            shortages: [0; 4],
            doorbell: None,
            rung: None,
            set: None,
            close: None,
            closing: None,
            shown: None,
            wait: 0,
            asked: false,
            asked_of: (0, 0),
            refuse: false,
            key: (0, 0),
            took: false,
            key_before: (0, 0),
            used_before: false,
            key_changes: 20,
            takes: Rhythm::new(Pace::Percent(10)),
            distance: 0,
            known: 0,
            want_coming: false,
            faults: vec![],
            posts: vec![],
            refused_sets: 0,
            drained_reads: 0,
        };
        rig.sim.block.reset.next = true;
        rig.cycle().unwrap();
        rig.cycle().unwrap();
        rig.sim.block.reset.next = false;
        rig
    }

    pub fn now(&self) -> u64 {
        self.sim.cycles()
    }

    pub fn cycle(&mut self) -> Result<(), Wrong> {
        let now = self.now();
        let rng = &mut self.rng;
        let block = &mut *self.sim.block;

        // the host
        let doorbell = self.doorbell.take();
        let lost = self.plant == Some(Plant::DoorbellLost);
        block.doorbell.next = doorbell.is_some_and(|((_, queue), _)| !(lost && queue == 1));
        let ((stream, queue), count) = doorbell.unwrap_or(((rng.u8(..), rng.u8(..)), rng.u32(..)));
        block.doorbell_stream.next = u64::from(stream).into();
        block.doorbell_queue.next = u64::from(queue).into();
        block.doorbell_value.next = u64::from(count as u16).into();
        block.set.next = self.set.is_some();
        if let Some((key, row)) = self.set {
            let mut words = [0; receive_ring::WORDS];
            receive_ring::STREAM.put(&mut words, key.0.into());
            receive_ring::QUEUE.put(&mut words, key.1.into());
            receive_ring::ENTRIES.put(&mut words, row.entries.into());
            receive_ring::BASE.put(&mut words, row.base);
            block.arguments.next = BigUint::new(words.to_vec()).into();
        }
        let close = self.close.take();
        block.close.next = close.is_some() && self.plant != Some(Plant::CloseLost);
        if let Some(stream) = close {
            block.stream.next = u64::from(stream).into();
        }

        // the bus
        let offer = self.bus.offer(rng);
        block.m_axi.arready.next = offer.arready;
        block.m_axi.rvalid.next = offer.beat.is_some();
        if let Some(beat) = &offer.beat {
            let stuck = self.plant == Some(Plant::StuckBit);
            let data = beat.data::<W>();
            block.m_axi.rdata.next = if stuck {
                data.replace_bit(7, true)
            } else {
                data
            };

            block.m_axi.rresp.next = if beat.error { 2 + rng.u64(0..2) } else { 0 }.into();
            block.m_axi.rlast.next = beat.last;
        }

        // check
        self.wait = self.wait.saturating_sub(1);
        let (ready, done) = (
            self.shown.is_some() && !self.asked && self.wait == 0,
            self.asked && self.wait == 0,
        );
        block.buffer_ready.next = ready;
        block.buffer_done.next = done;
        block.buffer_failed.next = if done { self.refuse } else { rng.bool() };
        let again = self.plant == Some(Plant::TookTwice) && self.took && chance(rng, 20);
        if !again {
            self.took = false;
        }
        if chance(rng, self.key_changes) {
            self.key = (rng.u8(0..STREAMS as u8), rng.u8(0..4));
        }
        let key_before = std::mem::replace(&mut self.key_before, self.key);
        let stands = self.key == key_before;
        let takes = self.takes.go(rng);
        let before = self.counts.get(&self.key).and_then(|c| c.get(UNUSED));
        let ripe = before.map_or(0, |(_, done, _)| *done);
        if let Some(row) = self.rows.get_mut(&self.key)
            && takes
            && stands
            && !self.took
            && !block.took.val()
            && ripe > row.taken
        {
            row.taken += 1;
            self.took = true;
        }
        let uses = self.took && !again;
        let used_before = std::mem::replace(&mut self.used_before, uses);
        block.took.next = self.took;
        block.key_stream.next = u64::from(self.key.0).into();
        block.key_queue.next = u64::from(self.key.1).into();
        self.distance = [0, 1, 2, 3, 16, 255][(now / 5 % 6) as usize];
        block.key_distance.next = u64::from(self.distance).into();

        self.sim.settle().map_err(|e| e.to_string())?;
        let block = &*self.sim.block;

        // the bus
        let address = block.m_axi.arvalid.val().then(|| Burst {
            address: block.m_axi.araddr.val().to_u64(),
            length: block.m_axi.arlen.val().to_u8(),
        });
        let attributes = [
            block.m_axi.arsize.val().to_u64(),
            block.m_axi.arburst.val().to_u64(),
            block.m_axi.arcache.val().to_u64(),
            block.m_axi.arprot.val().to_u64(),
        ];
        if attributes != [u64::from(K.ilog2()), 1, 2, 2] {
            return Err(format!("{attributes:?}"));
        }
        self.bus
            .take(address, block.m_axi.rready.val(), &mut self.rng)
            .map_err(|e| format!("cycle {now}: {e}"))?;

        // what is coming, of the key three cycles ago and the distance of the last cycle
        let coming = block.coming.val();
        if coming != self.want_coming {
            return Err(format!("cycle {now}: coming is {coming}"));
        }
        self.want_coming = u16::from(self.distance) < self.known;
        self.known = self.rows.get(&key_before).map_or(0, |row| {
            // a buffer used with that key or later does not count
            let used = used_before | (uses && stands);
            let taken = row.taken - u32::from(used);
            Row { taken, ..*row }.known()
        });

        self.compare_supply()?;

        // buffers
        let block = &*self.sim.block;
        let valid = block.buffer_valid.val();
        let shown = valid.then(|| block.buffer.val().to_u128());
        if let Some(held) = self.shown
            && !self.asked
            && shown != Some(held)
        {
            return Err(format!("cycle {now}: {held:x} became {shown:x?}"));
        }
        if let Some(buffer) = shown {
            if self.asked {
                return Err(format!(
                    "cycle {now}: {buffer:x} before the last one is done"
                ));
            }
            if self.shown.is_none() {
                self.wait = match self.check {
                    Check::Random(most) => self.rng.u32(0..=most),
                    Check::Real => 2,
                };
            }
            self.compare(buffer)?;
        }
        if ready {
            self.asked = true;
            self.shown = None;
            self.wait = match self.check {
                Check::Random(most) => self.rng.u32(1..=most + 1),
                Check::Real => 9,
            };
            self.asked_of = parts(block_buffer(shown)).0;
            self.post(block_buffer(shown));
        } else if !self.asked {
            self.shown = shown;
        }
        if done {
            self.asked = false;
            self.posts.push(now);
            let unseen = self.plant == Some(Plant::PostedUnseen) && self.asked_of.1 == 2;
            if let Some(row) = self.row_of(self.asked_of)
                && !unseen
            {
                row.done += 1;
            }
        }
        let block = &*self.sim.block;
        if block.fault.val() {
            self.faults.push(block.fault_stream.val().to_u8());
        }
        if block.set_ready.val() {
            let (key, row) = self.set.take().ok_or("set_ready without set")?;
            match (self.rows.contains_key(&key), block.set_failed.val()) {
                (true, true) => self.refused_sets += 1,
                (false, false) => {
                    self.leaving.remove(&key);
                    self.rows.insert(key, row);
                }
                wrong => return Err(format!("ring there, refused: {wrong:?}")),
            }
        }
        if let Some((stream, since)) = self.closing
            && now >= since + 4
        {
            let left: Vec<Row> = self.of_stream(&self.leaving, stream);
            let under_way = self.bus.under_way();
            let reads = under_way.is_some_and(|b| left.iter().any(|row| row.holds(b.address)));
            self.drained_reads += u32::from(reads);
            if block.quiet.val() {
                if reads {
                    return Err(format!("cycle {now}: quiet while a read is under way"));
                }
                self.leaving.retain(|key, _| key.0 != stream);
                self.closing = None;
            }
        }
        if let Some((key, count)) = self.rung.take()
            && let Some(row) = self.rows.get_mut(&key)
        {
            row.produced = count;
        }
        self.rung = doorbell.filter(|(key, _)| self.rows.contains_key(key));
        if let Some(stream) = close {
            let (gone, kept) = std::mem::take(&mut self.rows)
                .into_iter()
                .partition(|(key, _)| key.0 == stream);
            self.rows = kept;
            self.leaving = gone;
            self.broken.remove(&stream);
            self.closing = Some((stream, now));
        }
        self.counts.retain(|key, _| self.rows.contains_key(key));
        for (key, row) in &self.rows {
            let counts = self.counts.entry(*key).or_default();
            counts.push_front((row.produced, row.done, row.taken));
            counts.truncate(POSTED);
        }
        self.sim.edge().map_err(|e| e.to_string())
    }

    /// The supply of each stream shows what has been used and what has been announced, and not less than was posted some cycles
    /// ago.
    fn compare_supply(&mut self) -> Result<(), Wrong> {
        let now = self.now();
        let late = SUPPLIED - 1 - usize::from(self.plant == Some(Plant::SupplyEarly));
        for i in 0..STREAMS {
            let stream = i as u8;
            let block = &*self.sim.block;
            let levels = [&block.scarce[i], &block.few[i], &block.empty[i]].map(|s| s.val());
            let found = levels.iter().map(|level| u8::from(*level)).sum::<u8>();
            if levels[1] & !levels[0] || levels[2] & !levels[1] {
                return Err(format!("cycle {now}: supply of {stream} is {levels:?}"));
            }
            self.shortages[usize::from(found)] += 1;
            let closing = |(closed, since)| closed == stream && now < since + 4;
            if self.closing.is_some_and(closing) || self.faults.contains(&stream) {
                continue;
            }
            let (mut least, mut most) = (0, 0);
            for (_, counts) in self.counts.iter().filter(|(key, _)| key.0 == stream) {
                let new = counts[0];
                let shown = counts.get(late).unwrap_or(&(0, 0, 0));
                let posted = counts.get(POSTED - 1).unwrap_or(&(0, 0, 0));
                if shown.0 > new.1 {
                    least = least.max(shortage(shown.0, new.1, shown.2));
                }
                most = most.max(shortage(new.0, posted.1, new.2));
            }
            if !(least..=most).contains(&found) {
                return Err(format!(
                    "cycle {now}: supply of {stream} is {found}, not {least} to {most}"
                ));
            }
        }
        Ok(())
    }

    pub fn of_stream(&self, rows: &BTreeMap<Key, Row>, stream: u8) -> Vec<Row> {
        let of_stream = rows.iter().filter(|(key, _)| key.0 == stream);
        of_stream.map(|(_, row)| *row).collect()
    }

    pub fn row_of(&mut self, key: Key) -> Option<&mut Row> {
        match self.rows.get_mut(&key) {
            Some(row) => Some(row),
            None => self.leaving.get_mut(&key),
        }
    }

    /// A buffer must be the next one of its row, announced, with a slot to take it.
    pub fn compare(&mut self, buffer: u128) -> Result<(), Wrong> {
        let now = self.now();
        let slots = self.slots;
        let (key, address, length) = parts(buffer);
        let Some(row) = self.row_of(key) else {
            return Err(format!("cycle {now}: {key:?} has no ring"));
        };
        let at = row.base + 16 * u64::from(row.posted % row.entries);
        if (address, length) != descriptor(at) {
            return Err(format!(
                "cycle {now}: buffer {} of {key:?} is {address:#x}, {length:#x}",
                row.posted
            ));
        }
        if row.posted == row.produced || row.posted - row.taken == slots {
            return Err(format!("cycle {now}: {key:?} one too many of {row:?}"));
        }
        Ok(())
    }

    pub fn post(&mut self, buffer: u128) {
        if let Some(row) = self.row_of(parts(buffer).0) {
            row.posted += 1;
        }
    }

    pub fn run(&mut self, cycles: u64) {
        for _ in 0..cycles {
            self.cycle().unwrap_or_else(|wrong| panic!("{wrong}"));
        }
    }

    pub fn give_ring(&mut self, key: Key, base: u64, entries: u32) {
        self.set = Some((key, Row::new(base, entries)));
        while self.set.is_some() {
            self.run(1);
        }
    }

    pub fn ring(&mut self, key: Key, produced: u32) {
        self.doorbell = Some((key, produced));
        self.run(1);
    }

    pub fn close(&mut self, stream: u8) {
        self.close = Some(stream);
        self.run(1);
        let limit = self.now() + 10_000;
        while self.closing.is_some() {
            self.run(1);
            assert!(self.now() < limit, "never quiet");
        }
    }

    /// Runs until each announced buffer is posted.
    pub fn drain(&mut self) -> Result<(), Wrong> {
        let limit = self.now() + 20_000;
        let idle = |row: &Row| row.posted == row.produced;
        while !self
            .rows
            .iter()
            .all(|(key, row)| self.broken.contains(&key.0) || idle(row))
        {
            self.cycle()?;
            if self.now() > limit {
                return Err(format!("never posted: {:?}", self.rows));
            }
        }
        Ok(())
    }
}

pub fn block_buffer(shown: Option<u128>) -> u128 {
    shown.expect("a buffer stays until it is taken")
}

pub fn parts(buffer: u128) -> (Key, u64, u32) {
    let words: Vec<u32> = (0..4).map(|i| (buffer >> (32 * i)) as u32).collect();
    let key = (
        receive_buffer::STREAM.get(&words) as u8,
        receive_buffer::QUEUE.get(&words) as u8,
    );
    (
        key,
        receive_buffer::ADDRESS.get(&words),
        receive_buffer::LENGTH.get(&words) as u32,
    )
}

/// Where rings lie: none in the other's way, one across 4 GiB.
pub fn base(key: Key) -> u64 {
    0x7_ffff_ff00 + 0x10_0000 * u64::from(4 * key.0 + key.1)
}
