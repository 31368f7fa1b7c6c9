//! What a seed means: streams one after the other, their memory, their requests, and what the host does to them.

mod asks;
mod slots;

use std::ops::Range;

use fastrand::Rng;
use warpline_regmap::transmit::{Flags, INLINE_MAX, READ_REQUESTS_MAX};

use super::common::{SLOTS, STREAMS};
use crate::local_memory::Region;
use crate::stimulus::{Pace, chance};
pub use asks::{Ask, Cut, Reads};
use asks::{Fault as Amiss, NO_RIGHT, ask};
use slots::posting;
pub use slots::{Fault, Memory, Posting};

/// Lives of a stream number at most, and regions of each.
const LIVES: usize = 2;
const REGIONS: usize = 7;
/// Alignment of memory that the bus does not read: whole beats of every width.
const FAULTY: u64 = 64;

/// A seed's meaning.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Lives of each stream number, one after the other.
    pub streams: Vec<Vec<Life>>,
    pub paces: Paces,
}

/// When ports are ready, or valid.
#[derive(Clone, Debug)]
pub struct Paces {
    pub ar: Pace,
    pub r: Pace,
    /// Cycles from an address to its first beat.
    pub delay: Range<u64>,
    pub aw: Pace,
    pub w: Pace,
    pub b: Pace,
    pub transmit: Pace,
    pub status: Pace,
    /// TCP gives a command.
    pub command: Pace,
    /// The host uses its registers, and reads its completion queue.
    pub host: Pace,
    pub completions: Pace,
}

/// A stream from its arming to its close.
#[derive(Clone, Debug)]
pub struct Life {
    pub domain: u16,
    pub markers: bool,
    pub crc: bool,
    pub gate: bool,
    pub emss: u16,
    pub start: u32,
    pub first_msn: u32,
    /// Slots of its send ring, and its bus address.
    pub entries: u32,
    pub ring: u64,
    pub regions: Vec<Memory>,
    pub steps: Vec<Step>,
    /// The stream is closed behind the last step, whatever is under way; otherwise when all is done.
    pub abort: bool,
    pub tcp: Tcp,
    /// Where the peer's octets begin, and memory that it may write.
    pub peer_start: u32,
    pub sink: Region,
    /// The peer may send Read Requests.
    pub reads: Option<Reads>,
    /// Regions are revoked behind the close.
    pub tidy: bool,
}

/// How TCP asks for octets.
#[derive(Clone, Copy, Debug)]
pub struct Tcp {
    /// By whole FPDUs, in percent; otherwise in any range.
    pub measured: u32,
    /// Ranges again, in percent.
    pub again: u32,
    /// Commands that must be refused, in percent.
    pub illegal: u32,
    /// Acknowledgements, in percent.
    pub acknowledges: u32,
    /// Octets of a range at most.
    pub most: u16,
}

/// What the host does.
#[derive(Clone, Debug)]
pub enum Step {
    /// Writes slots, and rings once.
    Post(Vec<Posting>),
    SetEmss(u16),
    /// Revokes a region of this index.
    Revoke(usize),
    /// The peer sends an FPDU, with this wrong about it.
    Peer(Wrong),
    /// The peer sends these Read Requests, in one TCP segment or in one each.
    Ask(Vec<Ask>, bool),
    /// The host answers Read Requests from now on.
    ResponderOff,
    Pause(u64),
}

/// What is wrong about the peer's FPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    Nothing,
    Crc,
    /// Its STag does not exist.
    Stag,
}

fn pace(rng: &mut Rng) -> Pace {
    match rng.u8(0..6) {
        0 => Pace::Percent(rng.u32(15..60)),
        1 => Pace::Percent(rng.u32(60..95)),
        2 => Pace::Bursts(rng.u32(2..30)),
        _ => Pace::Always,
    }
}

impl Plan {
    /// That of a seed.
    pub fn new(rng: &mut Rng) -> Self {
        let delay = match rng.u8(0..3) {
            0 => 0..1,
            1 => 0..20,
            _ => 10..60,
        };
        let paces = Paces {
            ar: pace(rng),
            r: pace(rng),
            delay,
            aw: pace(rng),
            w: pace(rng),
            b: pace(rng),
            transmit: pace(rng),
            status: pace(rng),
            command: pace(rng),
            host: pace(rng),
            completions: pace(rng),
        };
        // a message of 1 MiB has the device for itself
        let huge = rng.u32(0..600) == 0;
        let count = if huge { 1 } else { rng.usize(1..=STREAMS) };
        let streams = (0..count).map(|number| {
            let lives = if huge { 1 } else { rng.usize(1..=LIVES) };
            let lives = (0..lives).map(|index| Life::new(rng, number, index, huge));
            lives.collect()
        });
        Self {
            streams: streams.collect(),
            paces,
        }
    }
}

impl Life {
    fn new(rng: &mut Rng, number: usize, index: usize, huge: bool) -> Self {
        let domain = rng.u16(0..3);
        let count = if huge { 2 } else { rng.usize(1..=14) };
        let mut regions = regions(rng, number, index, domain, huge);
        let window = 0x10 * number as u64 + index as u64;
        let reads = (!huge && chance(rng, 45)).then(|| Reads::new(rng, window));
        regions[NO_RIGHT].registered &= reads.is_some();
        let mut life = Self {
            domain,
            markers: chance(rng, 50),
            crc: chance(rng, 75),
            gate: chance(rng, 20),
            emss: emss(rng),
            start: *rng
                .choice(&[0, u32::MAX - 300, u32::MAX - 3000, 0x1234_5671])
                .expect("some"),
            first_msn: *rng.choice(&[1, u32::MAX, 0, 0x7FFF_FFFF]).expect("some"),
            entries: 4 << rng.u32(0..3),
            ring: ((0x100 + window) << 32) - [0, 512][rng.usize(0..2)],
            regions: vec![],
            steps: vec![],
            abort: !huge && chance(rng, 25),
            tcp: Tcp {
                measured: *rng.choice(&[0, 50, 100]).expect("some"),
                again: *rng.choice(&[0, 0, 10, 40]).expect("some"),
                illegal: *rng.choice(&[0, 0, 5]).expect("some"),
                acknowledges: *rng.choice(&[2, 20, 80]).expect("some"),
                most: *rng.choice(&[200, 1460, 9000]).expect("some"),
            },
            peer_start: rng.u32(..),
            sink: Region {
                stag: stag(rng, number, index, REGIONS),
                domain,
                stream: None,
                base: 0,
                length: 64,
                address: (0x200 + window) << 32,
                remote_read: None,
            },
            reads,
            tidy: chance(rng, 60),
        };
        life.requests(rng, &mut regions, count, huge);
        life.asks(rng, &regions);
        life.regions = regions;
        life.events(rng);
        life
    }

    /// Requests, in groups.
    fn requests(&mut self, rng: &mut Rng, regions: &mut [Memory], count: usize, huge: bool) {
        let most = match rng.u8(0..20) {
            0..8 => 100,
            8..16 => 1000,
            16..19 => 5000,
            _ => 64 << 10,
        };
        let failing = chance(rng, 35).then(|| rng.usize(..count));
        let last = chance(rng, 15).then(|| rng.usize(..count));
        let mut unsignalled = 0;
        let mut postings = vec![];
        let mut long = 0;
        for index in 0..count {
            let length = match rng.u8(0..10) {
                0 => 0,
                1..3 => rng.u32(0..=INLINE_MAX as u32),
                _ if long > 1 => rng.u32(0..300),
                _ => rng.u32(0..=most),
            };
            let length = if huge { 1 << (19 + index) } else { length };
            long += usize::from(length > 10_000);
            let signalled = chance(rng, 60) || unsignalled + 2 >= self.entries;
            unsignalled = if signalled { 0 } else { unsignalled + 1 };
            let flags = Flags {
                signalled,
                fence: chance(rng, 12),
                terminate: last == Some(index),
            };
            let fails = failing == Some(index) && !huge;
            postings.push(posting(rng, regions, flags, length, fails));
        }
        let mut rest = &postings[..];
        while !rest.is_empty() {
            let group = rng.usize(1..=rest.len().min(3));
            let (now, later) = rest.split_at(group);
            self.steps.push(Step::Post(now.to_vec()));
            rest = later;
            if chance(rng, 40) {
                self.steps.push(Step::Pause(rng.u64(0..200)));
            }
        }
    }

    /// Read Requests between the requests.
    fn asks(&mut self, rng: &mut Rng, regions: &[Memory]) {
        let Some(reads) = self.reads else {
            return;
        };
        let groups = rng.usize(1..=3);
        let failing = chance(rng, 45).then(|| rng.usize(..groups));
        let beyond = chance(rng, 15).then(|| rng.usize(..groups));
        let more = reads.announced > READ_REQUESTS_MAX;
        for group in 0..groups {
            let mut most = 6;
            let mut count = rng.usize(1..=most.min(reads.announced));
            let mut least = 0;
            if beyond == Some(group) || more && group == 0 {
                // all that may be under way: the first one takes its time
                most = reads.announced;
                count = most + usize::from(beyond == Some(group));
                least = if count > 1 { rng.u32(4000..24_000) } else { 0 };
            }
            let wrong = rng.usize(..count);
            let asks = (0..count).map(|index| {
                let wrong = failing == Some(group) && index == wrong && index < most;
                let fault = wrong.then(|| Amiss::new(rng));
                let least = if index == 0 { least } else { 0 };
                Ask {
                    beyond: index == most,
                    ..ask(rng, regions, fault, least)
                }
            });
            let step = Step::Ask(asks.collect(), rng.bool());
            let at = rng.usize(0..=self.steps.len());
            self.steps.insert(at, step);
            if chance(rng, 30) {
                self.steps.insert(at + 1, Step::Pause(rng.u64(0..200)));
            }
        }
        if reads.on && chance(rng, 12) {
            // often behind requests that are under way
            let last = self
                .steps
                .iter()
                .rposition(|step| matches!(step, Step::Ask(..)));
            let at = match (last, rng.bool()) {
                (Some(last), true) => last + 1,
                _ => rng.usize(0..=self.steps.len()),
            };
            self.steps.insert(at, Step::ResponderOff);
        }
    }

    /// Events between the requests.
    fn events(&mut self, rng: &mut Rng) {
        let insert = |steps: &mut Vec<Step>, rng: &mut Rng, step, from| {
            let at = rng.usize(from..=steps.len());
            steps.insert(at, step);
            at
        };
        for _ in 0..rng.u32(0..3) {
            if chance(rng, 50) {
                let value = emss(rng);
                insert(&mut self.steps, rng, Step::SetEmss(value), 0);
            }
        }
        for index in 0..2 {
            if chance(rng, if self.reads.is_some() { 20 } else { 12 }) {
                // most of the peer's requests shall find their region
                let from = self.reads.map_or(0, |_| rng.usize(0..=self.steps.len()));
                let at = insert(&mut self.steps, rng, Step::Revoke(index), from);
                let pause = rng.u64(0..400);
                self.steps.insert(at, Step::Pause(pause));
            }
        }
        let mut open = 0;
        if self.gate && (!self.abort || chance(rng, 70)) {
            open = insert(&mut self.steps, rng, Step::Peer(Wrong::Nothing), 0);
        } else if chance(rng, 10) {
            insert(&mut self.steps, rng, Step::Peer(Wrong::Nothing), 0);
        }
        if chance(rng, 10) {
            let wrong = *rng.choice(&[Wrong::Crc, Wrong::Stag]).expect("some");
            let from = if chance(rng, 80) { open } else { 0 };
            // the good FPDU must not come behind the bad one
            let from = if self.steps.iter().any(|s| matches!(s, Step::Peer(_))) {
                let at = self.steps.iter().position(|s| matches!(s, Step::Peer(_)));
                at.map_or(from, |at| at + 1)
            } else {
                from
            };
            insert(&mut self.steps, rng, Step::Peer(wrong), from);
        }
        if self.abort {
            let count = rng.usize(0..=self.steps.len());
            self.steps.truncate(count);
            self.steps.push(Step::Pause(rng.u64(0..600)));
        }
    }
}

fn emss(rng: &mut Rng) -> u16 {
    match rng.u8(0..6) {
        0 => rng.u16(128..200),
        1 => 536,
        2 => 1460,
        3 => 9000,
        _ => rng.u16(128..=9000),
    }
}

/// An STag whose slot no other region has.
fn stag(rng: &mut Rng, number: usize, life: usize, index: usize) -> u32 {
    let slot = (number * LIVES + life) * (REGIONS + 1) + index;
    let above = rng.u32(..) / SLOTS;
    (above * SLOTS + slot as u32) << 8 | u32::from(rng.u8(..))
}

/// Two regions that are as they should be, and those that are wrong: absent, of another domain, of another stream, not
/// read by the bus, and without the remote read right.
fn regions(rng: &mut Rng, number: usize, life: usize, domain: u16, huge: bool) -> Vec<Memory> {
    let regions = (0..REGIONS).map(|index| {
        let length = match index {
            0 | 1 if huge => (1 << 20) + 99,
            0 | 1 => rng.u64(66 << 10..70 << 10),
            _ => rng.u64(1000..70 << 10),
        };
        let window = ((number * LIVES + life) * REGIONS + index + 2) as u64;
        let address = match rng.u8(0..3) {
            0 => (window << 32) - length / 2,
            _ => (window << 32) + rng.u64(0..8192),
        };
        let base = match rng.u8(0..4) {
            0 => 0,
            1 => 0xFFFF_FF00,
            2 => u64::MAX - length + 1,
            _ => rng.u64(..1 << 48),
        };
        let other = u8::try_from((number + 1) % STREAMS).expect("few streams");
        let stream = match index {
            4 => Some(other),
            1 if rng.bool() => Some(number as u8),
            _ => None,
        };
        let middle = (address + length / 2) / FAULTY * FAULTY;
        let faulty = match index {
            5 => middle..middle + FAULTY,
            _ => 0..0,
        };
        Memory {
            region: Region {
                stag: stag(rng, number, life, index),
                domain: if index == 3 { domain + 1 } else { domain },
                stream,
                base,
                length,
                address,
                remote_read: Some(index != NO_RIGHT),
            },
            registered: index != 2,
            faulty,
        }
    });
    regions.collect()
}
