//! `refill`: every descriptor that a doorbell announces is read once, posted in order, and never more than there is room
//! for; closed streams leave nothing behind, failed reads end their stream alone.
//!
//! ```text
//!  host: set, doorbell, close ─►┌────────┐─ buffers ─► check (a stand-in), compared row by row
//!  check: key, took ───────────►│ refill │─ coming, fault ─► compared
//!                               └───┬────┘
//!                               ReadBus: what an address holds is a function of the address
//! ```

use fastrand::Rng;
use num_bigint::BigUint;
use std::collections::{BTreeMap, BTreeSet};
use warpline_hdl::Config;
use warpline_hdl::host::receive_rings::ReceiveRings;
use warpline_regmap::layout::{receive_buffer, receive_ring};
use warpline_testbenches::lockstep::{Lockstep, on_large_stack};
use warpline_testbenches::read_bus::{Burst, Manner, ReadBus};
use warpline_testbenches::stimulus::{Pace, Rhythm, chance};

const STREAMS: usize = 4;
/// Buffers that a queue holds, but for throughput.
const SLOTS: u32 = 8;

/// Stream and queue.
type Key = (u8, u8);

/// What host memory holds.
fn octet(address: u64) -> u8 {
    let mixed = (address ^ 0x5851_f42d).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 56) as u8
}

/// Address and length of the buffer in the descriptor at `address`.
fn descriptor(address: u64) -> (u64, u32) {
    let octets: Vec<u8> = (address..address + 16).map(octet).collect();
    (
        u64::from_le_bytes(octets[..8].try_into().unwrap()),
        u32::from_le_bytes(octets[8..12].try_into().unwrap()),
    )
}

/// A ring, and how far host and device are.
#[derive(Clone, Copy, Debug)]
struct Row {
    base: u64,
    entries: u32,
    produced: u32,
    posted: u32,
    taken: u32,
}

impl Row {
    fn new(base: u64, entries: u32) -> Self {
        Self {
            base,
            entries,
            produced: 0,
            posted: 0,
            taken: 0,
        }
    }

    fn known(&self) -> u16 {
        (self.produced as u16).wrapping_sub(self.taken as u16)
    }

    fn holds(&self, address: u64) -> bool {
        (self.base..self.base + 16 * u64::from(self.entries)).contains(&address)
    }
}

/// What the bench does wrong on purpose, so that its checks are seen to fail.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Plant {
    /// Doorbells of queue 1 do not reach the block.
    DoorbellLost,
    /// A bit of the bus is stuck.
    StuckBit,
    /// The block is told twice that a buffer was used.
    TookTwice,
    /// `close` does not reach the block.
    CloseLost,
}

/// How long `check` takes.
#[derive(Clone, Copy)]
enum Check {
    /// Something up to this, at random.
    Random(u32),
    /// As `check` behind its arbiter: heard after 2 cycles, done after 11.
    Real,
}

struct Rig<const W: usize, const K: usize> {
    sim: Lockstep<ReceiveRings<W, K, STREAMS>>,
    bus: ReadBus,
    rng: Rng,
    plant: Option<Plant>,
    check: Check,
    slots: u32,
    rows: BTreeMap<Key, Row>,
    /// Rows of closed streams that may still post, and those that may not.
    leaving: BTreeMap<Key, Row>,
    broken: BTreeSet<u8>,

    // what the host does next
    doorbell: Option<(Key, u32)>,
    /// The doorbell of the last cycle, which counts from the next one on.
    rung: Option<(Key, u32)>,
    set: Option<(Key, Row)>,
    close: Option<u8>,
    closing: Option<(u8, u64)>,

    // check
    shown: Option<u128>,
    wait: u32,
    asked: bool,
    refuse: bool,
    key: Key,
    took: bool,
    /// The key of the cycle before,
    key_before: Key,
    /// and in how many cycles of a hundred it is another one.
    key_changes: u32,
    takes: Rhythm,
    /// How far behind the first buffer of the key's queue is looked.
    distance: u8,
    /// Buffers of the key's queue that were known in the last cycle.
    known: u16,
    want_coming: bool,

    faults: Vec<u8>,
    posts: Vec<u64>,
    refused_sets: u32,
    drained_reads: u32,
}

type Wrong = String;

impl<const W: usize, const K: usize> Rig<W, K> {
    fn new(manner: Manner, check: Check) -> Self {
        Self::with_slots(manner, check, SLOTS)
    }

    fn with_slots(manner: Manner, check: Check, slots: u32) -> Self {
        let config = Config {
            receive_slots: slots as usize,
            ..Config::simulated(W)
        };
        let block = Box::new(ReceiveRings::<W, K, STREAMS>::new(&config));
        let name = format!("refill_{W}_{slots}");
        let sim = Lockstep::new(&name, block, |b, level| b.clock.next = level.into())
            .unwrap_or_else(|e| panic!("{e}"));
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
            doorbell: None,
            rung: None,
            set: None,
            close: None,
            closing: None,
            shown: None,
            wait: 0,
            asked: false,
            refuse: false,
            key: (0, 0),
            took: false,
            key_before: (0, 0),
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

    fn now(&self) -> u64 {
        self.sim.cycles()
    }

    fn cycle(&mut self) -> Result<(), Wrong> {
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
        let stands = self.key == self.key_before;
        self.key_before = self.key;
        let takes = self.takes.go(rng);
        if let Some(row) = self.rows.get_mut(&self.key)
            && takes
            && stands
            && !self.took
            && !block.took.val()
            && row.posted > row.taken
        {
            row.taken += 1;
            self.took = true;
        }
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

        // what is coming, of the key two cycles ago and the distance of the last cycle
        let coming = block.coming.val();
        if coming != self.want_coming {
            return Err(format!("cycle {now}: coming is {coming}"));
        }
        self.want_coming = u16::from(self.distance) < self.known;
        self.known = self.rows.get(&self.key).map_or(0, |row| {
            // a buffer used now counts from the next cycle on
            let taken = row.taken - u32::from(self.took && !again);
            Row { taken, ..*row }.known()
        });

        // buffers
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
            self.post(block_buffer(shown));
        } else if !self.asked {
            self.shown = shown;
        }
        if done {
            self.asked = false;
            self.posts.push(now);
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
        self.sim.edge().map_err(|e| e.to_string())
    }

    fn of_stream(&self, rows: &BTreeMap<Key, Row>, stream: u8) -> Vec<Row> {
        let of_stream = rows.iter().filter(|(key, _)| key.0 == stream);
        of_stream.map(|(_, row)| *row).collect()
    }

    fn row_of(&mut self, key: Key) -> Option<&mut Row> {
        match self.rows.get_mut(&key) {
            Some(row) => Some(row),
            None => self.leaving.get_mut(&key),
        }
    }

    /// A buffer must be the next one of its row, announced, with a slot to take it.
    fn compare(&mut self, buffer: u128) -> Result<(), Wrong> {
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

    fn post(&mut self, buffer: u128) {
        if let Some(row) = self.row_of(parts(buffer).0) {
            row.posted += 1;
        }
    }

    fn run(&mut self, cycles: u64) {
        for _ in 0..cycles {
            self.cycle().unwrap_or_else(|wrong| panic!("{wrong}"));
        }
    }

    fn give_ring(&mut self, key: Key, base: u64, entries: u32) {
        self.set = Some((key, Row::new(base, entries)));
        while self.set.is_some() {
            self.run(1);
        }
    }

    fn ring(&mut self, key: Key, produced: u32) {
        self.doorbell = Some((key, produced));
        self.run(1);
    }

    fn close(&mut self, stream: u8) {
        self.close = Some(stream);
        self.run(1);
        let limit = self.now() + 10_000;
        while self.closing.is_some() {
            self.run(1);
            assert!(self.now() < limit, "never quiet");
        }
    }

    /// Runs until all that is announced is posted.
    fn drain(&mut self) -> Result<(), Wrong> {
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

fn block_buffer(shown: Option<u128>) -> u128 {
    shown.expect("a buffer stays until it is taken")
}

fn parts(buffer: u128) -> (Key, u64, u32) {
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

fn rough() -> Manner {
    Manner {
        ar: Pace::Percent(50),
        r: Pace::Bursts(6),
        delay: 0..40,
        ..Manner::quick(0)
    }
}

/// Where rings lie: none in the other's way, one across 4 GiB.
fn base(key: Key) -> u64 {
    0x7_ffff_ff00 + 0x10_0000 * u64::from(4 * key.0 + key.1)
}

struct Outcome {
    posted: u32,
    wrapped: u32,
    closes: u32,
    refused_sets: u32,
    drained_reads: u32,
}

fn random_run<const W: usize, const K: usize>(
    cycles: u64,
    plant: Option<Plant>,
) -> Result<Outcome, Wrong> {
    let mut rig = Rig::<W, K>::new(rough(), Check::Random(6));
    rig.plant = plant;
    let mut outcome = Outcome {
        posted: 0,
        wrapped: 0,
        closes: 0,
        refused_sets: 0,
        drained_reads: 0,
    };
    let mut last_bell = 0;
    while rig.now() < cycles {
        if rig.now().is_multiple_of(512) {
            let paces = [5, 20, 50].map(Pace::Percent);
            rig.takes = Rhythm::new(*rig.rng.choice(&paces).unwrap());
        }
        let key = (rig.rng.u8(0..STREAMS as u8), rig.rng.u8(0..4));
        let quiet = rig.closing.is_none();
        if quiet && rig.set.is_none() && chance(&mut rig.rng, 2) {
            let entries = 16 << rig.rng.u32(0..2);
            rig.set = Some((key, Row::new(base(key), entries)));
        }
        let setting = rig.set.map(|(key, _)| key);
        if rig.now() > last_bell + 2 && chance(&mut rig.rng, 20) && setting != Some(key) {
            // never more than the ring holds; also for queues that have no ring
            let produced = rig.rows.get(&key).map_or(77, |row| {
                let most = row.taken + row.entries;
                most.min(row.produced + rig.rng.u32(1..24))
            });
            rig.doorbell = Some((key, produced));
            last_bell = rig.now();
        }
        if quiet && rig.set.is_none() && chance(&mut rig.rng, 1) && chance(&mut rig.rng, 20) {
            rig.close = Some(key.0);
            outcome.closes += 1;
            for row in rig.of_stream(&rig.rows, key.0) {
                outcome.posted += row.posted;
                outcome.wrapped += u32::from(row.posted > row.entries);
            }
        }
        rig.cycle()?;
    }
    rig.takes = Rhythm::new(Pace::Percent(50));
    rig.drain()?;
    for row in rig.rows.values() {
        outcome.posted += row.posted;
        outcome.wrapped += u32::from(row.posted > row.entries);
    }
    assert!(rig.faults.is_empty());
    outcome.refused_sets = rig.refused_sets;
    outcome.drained_reads = rig.drained_reads;
    Ok(outcome)
}

fn rounds<const W: usize, const K: usize>() {
    let outcome = random_run::<W, K>(12_000, None).unwrap_or_else(|wrong| panic!("{wrong}"));
    println!(
        "{W}: {} posted, {} rings wrapped, {} closes, {} cycles of reads waited for",
        outcome.posted, outcome.wrapped, outcome.closes, outcome.drained_reads
    );
    assert!(outcome.posted > 200 && outcome.wrapped > 0 && outcome.closes > 3);
    assert!(outcome.refused_sets > 5 && outcome.drained_reads > 5);
}

// req: DDP-UNT-12, DDP-UNT-17, DDP-TEAR-15
#[test]
fn rounds_64() {
    on_large_stack(rounds::<64, 8>);
}

// req: DDP-UNT-12, DDP-UNT-17, DDP-TEAR-15
#[test]
fn rounds_128() {
    on_large_stack(rounds::<128, 16>);
}

// req: DDP-UNT-12, DDP-UNT-17, DDP-TEAR-15
#[test]
fn rounds_256() {
    on_large_stack(rounds::<256, 32>);
}

// req: DDP-UNT-12, DDP-UNT-17, DDP-TEAR-15
#[test]
fn rounds_512() {
    on_large_stack(rounds::<512, 64>);
}

#[test]
fn planted_mistakes_are_seen() {
    on_large_stack(|| {
        for plant in [
            Plant::DoorbellLost,
            Plant::StuckBit,
            Plant::TookTwice,
            Plant::CloseLost,
        ] {
            let wrong = random_run::<64, 8>(5_000, Some(plant)).err();
            println!(
                "{plant:?}: {}",
                wrong.unwrap_or_else(|| panic!("{plant:?}"))
            );
        }
    });
}

/// A burst for every first descriptor and every number of them: neither the others nor the beats around are taken.
fn bursts<const W: usize, const K: usize>() {
    let mut rig = Rig::<W, K>::new(Manner::quick(3), Check::Random(0));
    rig.takes = Rhythm::new(Pace::Percent(50));
    rig.give_ring((1, 2), 0x4000, 16);
    let mut produced = 0;
    let mut expected = vec![];
    for count in (1..=SLOTS).cycle().take(64) {
        let first = produced % 16;
        let mut from = first;
        while from < first + count {
            let to = (first + count).min((from / 16 + 1) * 16);
            let octets = (16 * (from % 16), 16 * (from % 16 + to - from));
            let beats = (octets.0 / K as u32)..octets.1.div_ceil(K as u32);
            expected.push(Burst {
                address: 0x4000 + u64::from(beats.start) * K as u64,
                length: (beats.len() - 1) as u8,
            });
            from = to;
        }
        produced += count;
        rig.ring((1, 2), produced);
        while rig.rows[&(1, 2)].taken != produced {
            rig.run(1);
        }
    }
    let seen: Vec<Burst> = rig.bus.bursts.iter().map(|(_, burst)| *burst).collect();
    assert_eq!(seen, expected);
}

#[test]
fn bursts_are_whole_beats_and_as_long_as_they_can_be() {
    on_large_stack(|| {
        bursts::<64, 8>();
        bursts::<128, 16>();
        bursts::<256, 32>();
        bursts::<512, 64>();
    });
}

/// A refused beat, or a burst that ends too early, ends its stream: nothing is read for it any more, what waits goes on
/// waiting (until the stream is frozen), and other streams do not notice.
// req: DDP-ERR-23, AMB-10
#[test]
fn a_failed_read_ends_its_stream() {
    on_large_stack(|| {
        for short in [false, true] {
            let mut rig = Rig::<256, 32>::new(Manner::quick(20), Check::Random(3));
            rig.takes = Rhythm::new(Pace::Percent(30));
            for key in [(0, 0), (2, 0), (2, 1)] {
                rig.give_ring(key, base(key), 16);
            }
            if short {
                rig.bus.manner.most_beats = 1;
            } else {
                rig.bus.manner.faulty = base((2, 1)) + 50..base((2, 1)) + 51;
            }
            // the second beat of four is bad, or the first one the last
            rig.ring((2, 1), 8);
            rig.run(100);
            assert_eq!(rig.faults, [2], "short: {short}");
            assert_eq!(rig.rows[&(2, 1)].posted, 2, "those of the good beat");
            rig.bus.manner = Manner::quick(20);
            rig.broken.insert(2);
            let reads = rig.bus.bursts.len();
            rig.ring((2, 0), 3);
            rig.ring((2, 1), 10);
            rig.run(200);
            assert_eq!(rig.bus.bursts.len(), reads, "the stream rests");
            while rig.key != (2, 1) {
                rig.run(1);
            }
            rig.run(1);
            rig.ring((0, 0), 5);
            rig.drain().unwrap();
            // closed and given new rings it is as new
            rig.close(2);
            rig.give_ring((2, 1), base((2, 1)), 32);
            rig.ring((2, 1), 8);
            rig.drain().unwrap();
            assert_eq!(rig.faults, [2]);
        }
    });
}

/// A buffer that `check` refuses is a fault of its stream.
#[test]
fn a_refused_buffer_is_a_fault() {
    on_large_stack(|| {
        let mut rig = Rig::<64, 8>::new(Manner::quick(1), Check::Real);
        rig.give_ring((3, 1), 0x8000, 16);
        rig.refuse = true;
        rig.ring((3, 1), 1);
        rig.run(60);
        assert_eq!(rig.faults, [3]);
    });
}

/// A close during a slow read: the rings are gone at once, `quiet` comes with the last beat, nothing of it is posted.
// req: DDP-TEAR-15
#[test]
fn close_waits_for_its_read_only() {
    on_large_stack(|| {
        for closed in [1, 0] {
            let mut rig = Rig::<64, 8>::new(Manner::quick(700), Check::Real);
            rig.give_ring((0, 3), 0x8000, 16);
            rig.give_ring((1, 3), 0x9000, 16);
            rig.ring((1, 3), 4);
            while rig.bus.bursts.is_empty() {
                rig.run(1);
            }
            let asked = rig.now();
            rig.close(closed);
            let waited = rig.now() - asked;
            if closed == 1 {
                assert!((700..730).contains(&waited), "{waited}");
                rig.run(200);
                assert!(rig.posts.is_empty());
            } else {
                assert!(
                    waited < 10,
                    "the read of another stream is none of its business"
                );
                rig.drain().unwrap();
            }
        }
    });
}

/// Cycles from a doorbell to AR and on to the first buffer when the pointer stands at the row: the shortest of 16 times.
fn latency<const W: usize, const K: usize>() -> (u64, u64) {
    let mut rig = Rig::<W, K>::new(Manner::quick(0), Check::Real);
    rig.takes = Rhythm::new(Pace::Always);
    (rig.key, rig.key_changes) = ((0, 0), 0);
    rig.give_ring((0, 0), 0x8000, 16);
    let mut best = (u64::MAX, u64::MAX);
    for count in 1..=16 {
        while rig.rows[&(0, 0)].taken + 1 != count {
            rig.run(1);
        }
        rig.run(40); // the row is seen to have caught up
        while !rig.now().is_multiple_of(16) {
            rig.run(1);
        }
        rig.run(count.into()); // another place of the pointer each time
        let (bell, seen) = (rig.now(), rig.bus.bursts.len());
        rig.ring((0, 0), count);
        while rig.shown.is_none() {
            rig.run(1);
        }
        let address = rig.bus.bursts[seen].0;
        let buffer = rig.now() - 1 - address;
        best = (best.0.min(address - bell), best.1.min(buffer));
        rig.drain().unwrap();
    }
    best
}

/// Cycles a buffer, and a burst of 16, when what is posted is used at once.
fn throughput<const W: usize, const K: usize>(delay: u64) -> (u64, u64) {
    let mut rig = Rig::<W, K>::with_slots(Manner::quick(delay), Check::Real, 64);
    rig.takes = Rhythm::new(Pace::Always);
    (rig.key, rig.key_changes) = ((0, 0), 0);
    rig.give_ring((0, 0), 0x8000, 256);
    rig.ring((0, 0), 112);
    while rig.posts.len() < 112 {
        rig.run(1);
    }
    assert!(
        rig.bus
            .bursts
            .iter()
            .all(|(_, b)| usize::from(b.length) == 256 / K - 1)
    );
    let bursts = &rig.bus.bursts;
    (
        (rig.posts[111] - rig.posts[47]) / 64,
        (bursts[6].0 - bursts[4].0) / 2,
    )
}

#[test]
fn latencies() {
    let latencies = on_large_stack(latency::<64, 8>);
    assert_eq!(latencies, (8, 4));
}

/// 16 buffers take 192 cycles to be posted.
#[test]
fn throughput_of_a_quick_bus() {
    assert_eq!(on_large_stack(|| throughput::<64, 8>(0)), (12, 192));
}

/// A burst takes 41 cycles and what the bus takes.
#[test]
fn throughput_of_a_slow_bus() {
    assert_eq!(on_large_stack(|| throughput::<64, 8>(250)), (18, 291));
}
