//! What a seed means: streams one after the other, their memory, their requests, and what the host does to them.

use std::ops::Range;

use fastrand::Rng;
use warpline_regmap::transmit::{
    ELEMENTS_MAX, Element, Flags, Gather, INLINE_MAX, Inline, PAYLOAD_WORD, Payload, SendRequest,
    Slot, Target, send_element, send_slot,
};

use super::common::{SLOTS, STREAMS};
use crate::local_memory::Region;
use crate::stimulus::{Pace, chance};

/// Lives of a stream number at most, and regions of each.
const LIVES: usize = 2;
const REGIONS: usize = 6;
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
    /// Regions are revoked behind the close.
    pub tidy: bool,
}

/// Local memory.
#[derive(Clone, Debug)]
pub struct Memory {
    pub region: Region,
    /// It is in the STag table.
    pub registered: bool,
    /// The bus refuses these addresses.
    pub faulty: Range<u64>,
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

/// What is wrong about a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    None,
    /// Its first words are no request.
    Head,
    /// Its elements are wrong at this octet of the message; that of the end if there are more octets.
    Elements(u32),
    /// The bus refuses to read it.
    Unread,
}

/// A slot.
#[derive(Clone, Debug)]
pub struct Posting {
    pub slot: Slot,
    /// What it should be; `Head` has none.
    pub request: Option<SendRequest>,
    pub fault: Fault,
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
            ring: ((0x100 + 0x10 * number as u64 + index as u64) << 32) - [0, 512][rng.usize(0..2)],
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
                address: (0x200 + 0x10 * number as u64 + index as u64) << 32,
            },
            tidy: chance(rng, 60),
        };
        life.requests(rng, &mut regions, count, huge);
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
            if chance(rng, 12) {
                let at = insert(&mut self.steps, rng, Step::Revoke(index), 0);
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

/// Two regions that are as they should be, and those that are wrong: absent, of another domain, of another stream, and not read by the bus.
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
            },
            registered: index != 2,
            faulty,
        }
    });
    regions.collect()
}

/// A range of `length` octets of a region.
fn element(rng: &mut Rng, memory: &Memory, length: u32) -> Element {
    let region = &memory.region;
    let room = region.length - u64::from(length);
    // the last octets of a region are as good as any
    let at = if chance(rng, 10) {
        room
    } else {
        rng.u64(0..=room)
    };
    Element {
        stag: region.stag,
        length,
        offset: region.base + at,
    }
}

/// A slot with a message of `length` octets; a failing one has one thing wrong.
fn posting(rng: &mut Rng, regions: &[Memory], flags: Flags, length: u32, fails: bool) -> Posting {
    let target = match chance(rng, 50) {
        true => Target::Tagged {
            stag: rng.u32(..),
            offset: match rng.u8(0..4) {
                0 => 0_u64.wrapping_sub(length.max(1).into()),
                1 => 0xFFFF_FF00,
                _ => rng.u64(..1 << 50),
            },
            rsvd_ulp: rng.u8(..),
        },
        false => Target::Untagged {
            queue: *rng.choice(&[0, 0, 1, 2, 255]).expect("some"),
            rsvd_ulp: rng.u64(..).to_be_bytes()[3..].try_into().expect("five"),
        },
    };
    let name = rng.u64(..);
    if length <= INLINE_MAX as u32 && chance(rng, 50) && !fails {
        let octets: Vec<u8> = (0..length).map(|_| rng.u8(..)).collect();
        let payload = Payload::Inline(Inline::new(&octets).expect("few octets"));
        let request = SendRequest::new(target, flags, name, payload).expect("a legal request");
        return good(request);
    }
    let length = if fails {
        length.clamp(8, 60 << 10)
    } else {
        length
    };
    let mut elements = elements(rng, regions, length);
    let kind = if fails { rng.u8(0..8) } else { 99 };
    if kind < 5 {
        let index = rng.usize(..elements.len());
        let wrong = &mut elements[index];
        let most = |memory: &Memory| wrong.length.min(memory.region.length as u32);
        match kind {
            0..=2 => {
                // absent, of another domain, of another stream
                let memory = &regions[2 + usize::from(kind)];
                let length = most(memory);
                *wrong = element(rng, memory, length);
            }
            3 => {
                // one octet too far, or in front
                let region = &regions[0].region;
                wrong.stag = region.stag;
                let end = region.base.wrapping_add(region.length);
                wrong.offset = match region.base > 0 && rng.bool() {
                    true => region.base - 1,
                    false => end.wrapping_sub(u64::from(wrong.length)).wrapping_add(1),
                };
                if wrong.offset.checked_add(wrong.length.into()).is_none() {
                    wrong.offset = region.base - 1;
                }
            }
            _ => {
                // across what the bus refuses
                let memory = &regions[5];
                let at = memory.faulty.start - memory.region.address;
                let before = rng.u64(0..u64::from(most(memory))).min(at);
                wrong.length = most(memory).min((memory.region.length - (at - before)) as u32);
                wrong.stag = memory.region.stag;
                wrong.offset = memory.region.base + at - before;
            }
        }
    }
    let payload = Payload::Gather(Gather::new(&elements).expect("a legal list"));
    let target = match target {
        // the length may have become another one
        Target::Tagged { stag, rsvd_ulp, .. } if fails => Target::Tagged {
            stag,
            rsvd_ulp,
            offset: rng.u64(..1 << 50),
        },
        target => target,
    };
    let request = SendRequest::new(target, flags, name, payload).expect("a legal request");
    match kind {
        5 => bad_head(rng, &request),
        6 => bad_elements(rng, &request, &elements),
        7 => Posting {
            fault: Fault::Unread,
            ..good(request)
        },
        _ => good(request),
    }
}

fn good(request: SendRequest) -> Posting {
    Posting {
        slot: request.emit(),
        request: Some(request),
        fault: Fault::None,
    }
}

/// Elements of `length` octets together.
fn elements(rng: &mut Rng, regions: &[Memory], length: u32) -> Vec<Element> {
    let most = length.min(ELEMENTS_MAX as u32);
    let count = match most {
        0 => return vec![],
        _ if rng.bool() => 1,
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
        let memory = &regions[rng.usize(0..2)];
        elements.push(element(rng, memory, octets));
    }
    elements
}

/// A slot that is no request from its first words on.
fn bad_head(rng: &mut Rng, request: &SendRequest) -> Posting {
    let mut slot = request.emit();
    match rng.u8(0..6) {
        0 => send_slot::KIND.put(&mut slot, *rng.choice(&[0, 3, 4, 9, 15]).expect("some")),
        1 => slot[0] |= 1 << rng.u32(16..24),
        2 => {
            send_slot::INLINE.put(&mut slot, 0);
            send_slot::COUNT.put(&mut slot, rng.u64(9..=255));
        }
        3 => {
            send_slot::INLINE.put(&mut slot, 1);
            let count = rng.u64(65..=255);
            send_slot::COUNT.put(&mut slot, count);
            send_slot::LENGTH.put(&mut slot, count);
        }
        4 => {
            send_slot::KIND.put(&mut slot, 2);
            send_slot::QUEUE.put(&mut slot, 1 << rng.u64(8..32));
        }
        _ => {
            let length = send_slot::LENGTH.get(&slot);
            send_slot::KIND.put(&mut slot, 1);
            send_slot::OFFSET.put(&mut slot, u64::MAX - length + 2);
        }
    }
    Posting {
        slot,
        request: Some(*request),
        fault: Fault::Head,
    }
}

/// A slot whose elements contradict its length.
fn bad_elements(rng: &mut Rng, request: &SendRequest, elements: &[Element]) -> Posting {
    let mut slot = request.emit();
    let total = request.payload().length();
    let last = elements.len() - 1;
    let length_of = |index: usize| PAYLOAD_WORD + send_element::WORDS * index;
    let put = |slot: &mut Slot, index: usize, length: u32| {
        send_element::LENGTH.put(&mut slot[length_of(index)..], length.into());
    };
    let at = match rng.u8(0..3) {
        0 => {
            let index = rng.usize(0..=last);
            put(&mut slot, index, 0);
            elements[..index].iter().map(|element| element.length).sum()
        }
        1 => {
            put(&mut slot, last, elements[last].length + 1);
            total
        }
        _ => {
            put(&mut slot, last, elements[last].length - 1);
            total - 1
        }
    };
    Posting {
        slot,
        request: Some(*request),
        fault: Fault::Elements(at),
    }
}
