//! Two ends in one process, and the network between them, whose faults come from a seed.

#![allow(dead_code, reason = "each test file uses a part")]

use std::collections::BinaryHeap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use fastrand::Rng;
use warpline_usrsctp::{Association, Event, Link, Listener, Options, Record, elapse};

/// The port that is listened at.
pub const PORT: u16 = 5001;

/// Time is the process's, and runs as a test lets it: one test at a time.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Options for a network that loses. SCTP measures round trips by the system's clock, whatever the test's does: on a busy machine they
/// look long, and so the time-outs have a limit.
pub fn patient() -> Options {
    let mut options = Options::default();
    options.timers.most = Duration::from_secs(10);
    options.timers.retransmissions = 50;
    options
}

/// What happens to packets, in percent.
#[derive(Clone, Copy, Default)]
pub struct Faults {
    pub loss: u32,
    pub copies: u32,
    /// Packets that come up to 20 ms late, behind others.
    pub late: u32,
    pub damage: u32,
}

/// A packet under way: when it arrives, a number for those of the same time, to which end, octets.
type UnderWay = std::cmp::Reverse<(u64, u64, usize, Vec<u8>)>;

/// Two links, and what is under way between them. A step is 1 ms.
pub struct Network {
    pub links: [Link; 2],
    pub faults: Faults,
    pub rng: Rng,
    pub record: Option<Record<Vec<u8>>>,
    /// Packets of each end that were sent.
    pub sent: [u64; 2],
    pub lost: u64,
    pub now: u64,
    under_way: BinaryHeap<UnderWay>,
    count: u64,
}

impl Network {
    pub fn new(seed: u64, faults: Faults) -> Self {
        Self {
            links: [Link::new(), Link::new()],
            faults,
            rng: Rng::with_seed(seed),
            record: None,
            sent: [0; 2],
            lost: 0,
            now: 0,
            under_way: BinaryHeap::new(),
            count: 0,
        }
    }

    /// One millisecond.
    pub fn step(&mut self) {
        for from in 0..2 {
            while let Some(packet) = self.links[from].output() {
                self.sent[from] += 1;
                if let Some(record) = &mut self.record {
                    let time = SystemTime::UNIX_EPOCH + Duration::from_millis(self.now);
                    record.packet(time, &packet).unwrap();
                }
                self.carry(1 - from, packet);
            }
        }
        self.now += 1;
        while let Some(std::cmp::Reverse((at, ..))) = self.under_way.peek()
            && *at <= self.now
        {
            let std::cmp::Reverse((_, _, to, packet)) = self.under_way.pop().unwrap();
            self.links[to].input(&packet).unwrap();
        }
        elapse(Duration::from_millis(1));
    }

    fn carry(&mut self, to: usize, mut packet: Vec<u8>) {
        if self.rng.u32(0..100) < self.faults.loss {
            self.lost += 1;
            return;
        }
        let copies = 1 + u32::from(self.rng.u32(0..100) < self.faults.copies);
        for _ in 0..copies {
            let late = match self.rng.u32(0..100) < self.faults.late {
                true => self.rng.u64(1..=20),
                false => 0,
            };
            self.count += 1;
            let entry = (self.now + 1 + late, self.count, to, packet.clone());
            self.under_way.push(std::cmp::Reverse(entry));
        }
        if self.rng.u32(0..100) < self.faults.damage {
            // The copy that is right comes as well, so that what is tested is the CRC and not the retransmission.
            let bit = self.rng.usize(0..packet.len() * 8);
            packet[bit / 8] ^= 1 << (bit % 8);
            self.count += 1;
            let entry = (self.now + 1, self.count, to, packet);
            self.under_way.push(std::cmp::Reverse(entry));
        }
    }

    /// Runs until `done`, at most for a number of milliseconds of the network.
    pub fn run(&mut self, milliseconds: u64, mut done: impl FnMut(&mut Self) -> bool) {
        let end = self.now + milliseconds;
        while !done(self) {
            assert!(self.now < end, "not done within {milliseconds} ms");
            self.step();
        }
    }
}

/// Two ends with an association that is up; events in front of that are checked.
pub struct Pair {
    pub network: Network,
    pub active: Association,
    pub passive: Association,
    pub listener: Listener,
    /// `Event::Up` of the active and the passive end.
    pub up: [Event; 2],
}

impl Pair {
    pub fn new(seed: u64, faults: Faults, active: &Options, passive: &Options) -> Self {
        Self::over(Network::new(seed, faults), active, passive)
    }

    pub fn over(mut network: Network, active: &Options, passive: &Options) -> Self {
        let listener = Listener::bind(&network.links[1], PORT, 8, passive).unwrap();
        let mut active = Association::connect(&network.links[0], 0, PORT, active).unwrap();
        let (mut accepted, mut first) = (None, None);
        network.run(120_000, |_| {
            first = first.take().or_else(|| active.next_event());
            accepted = accepted.take().or_else(|| listener.accept().unwrap());
            first.is_some() && accepted.is_some()
        });
        let mut passive = accepted.unwrap();
        let up = [first.unwrap(), passive.next_event().unwrap()];
        for event in &up {
            assert!(matches!(event, Event::Up { .. }), "{event:?}");
        }
        Self {
            network,
            active,
            passive,
            listener,
            up,
        }
    }

    /// The next event of an end that is none of [`Event::Dry`].
    pub fn event(&mut self, active: bool, milliseconds: u64) -> Event {
        let mut found = None;
        let end = match active {
            true => &mut self.active,
            false => &mut self.passive,
        };
        self.network.run(milliseconds, |_| {
            found = found.take().or_else(|| end.next_event());
            found = found.take().filter(|event| *event != Event::Dry);
            found.is_some()
        });
        found.unwrap()
    }
}
