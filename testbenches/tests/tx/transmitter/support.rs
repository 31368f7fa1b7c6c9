//! The bench: hosts with send rings and memory, TCP, and the ports of the transmit path.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use fastrand::Rng;
use num_bigint::BigUint;
use warpline_hdl::Config;
use warpline_hdl::parts::axi::AxiReadMaster;
use warpline_hdl::tables::stag_table::{self, StagEntry};
use warpline_hdl::tx::ddp::segment::command::{TransmitArguments, TransmitCommand};
use warpline_hdl::tx::mpa::transmit_ring::ports;
use warpline_hdl::tx::transmitter::{RESET, Transmitter};
use warpline_regmap::register::stag_slot;
use warpline_regmap::transmit::{SLOT_OCTETS, SendRequest, send_event, send_ring, slot_offset};
use warpline_testbenches::local_memory::Region;
use warpline_testbenches::lockstep::Lockstep;
use warpline_testbenches::octets::octets;
use warpline_testbenches::read_bus::{Burst, Manner, ReadBus};
use warpline_testbenches::stimulus::{Pace, Rhythm, chance};

use crate::model::{Entry, REFUSED, Sender, octet};

/// Cycles without any progress after which a bench gives up.
const PATIENCE: usize = 3000;
/// Slots of a send ring.
const ENTRIES: u32 = 16;
/// Slots of the STag table.
const SLOTS: u32 = 64;
/// Octets of a transmit ring.
const RING: usize = 4096;

/// When the bus, TCP and the completion queue are ready.
#[derive(Clone, Debug)]
pub struct Manners {
    pub memory: Manner,
    pub slots: Manner,
    pub transmit: Pace,
    pub event: Pace,
    /// TCP sends what it has sent before, in percent of its SENDs.
    pub again: u32,
}

impl Manners {
    /// All at once, the first beat `delay` + 1 cycles behind its address.
    pub fn quick(delay: u64) -> Self {
        let manner = |block| Manner {
            bursts: 40,
            block,
            ..Manner::quick(delay)
        };
        Self {
            memory: Manner {
                faulty: REFUSED,
                ..manner(4096)
            },
            slots: manner(SLOT_OCTETS),
            transmit: Pace::Always,
            event: Pace::Always,
            again: 0,
        }
    }

    /// With idles and back-pressure everywhere.
    pub fn slow() -> Self {
        let quick = Self::quick(0);
        let manner = |manner| Manner {
            ar: Pace::Percent(60),
            r: Pace::Bursts(20),
            delay: 0..40,
            ..manner
        };
        Self {
            memory: manner(quick.memory),
            slots: manner(quick.slots),
            transmit: Pace::Bursts(30),
            event: Pace::Percent(30),
            again: 25,
        }
    }
}

/// A stream: its host, and its TCP.
#[derive(Debug, Default)]
pub struct Stream {
    pub sender: Option<Sender>,
    pub start: u32,
    /// Requests that wait for a slot.
    waiting: VecDeque<SendRequest>,
    produced: u16,
    consumed: u16,
    /// Octets that the ring has, those that TCP has sent once, and those that are acknowledged.
    edge: u32,
    sent: u32,
    acknowledged: u32,
    /// Octets that have left, first copies.
    pub octets: Vec<u8>,
    pub entries: usize,
    /// SENDs under way: where the next octet of each is, how many are left, and where it began.
    sends: VecDeque<(u32, u32, u32)>,
}

pub struct Bench<
    const W: usize,
    const K: usize,
    const D: usize,
    const LOGK: usize,
    const LOGD: usize,
    const S: usize,
> {
    pub lockstep: Box<Lockstep<Transmitter<W, K, D, LOGK, LOGD, S>>>,
    pub rng: Rng,
    pub cycle: usize,
    pub streams: Vec<Stream>,
    pub regions: Vec<Region>,
    table: HashMap<u32, Region>,
    memory: ReadBus,
    slots: ReadBus,
    rings: Rc<RefCell<HashMap<u64, [u8; SLOT_OCTETS as usize]>>>,
    manners: Manners,
    transmits: Rhythm,
    events: Rhythm,
    lookups: VecDeque<u32>,
    /// Commands for the ring: kind, stream, position, octets.
    commands: VecDeque<(u64, u8, u32, u16)>,
    doorbells: VecDeque<(u8, u16)>,
    idle: usize,
}

/// Bus address of a stream's send ring: one that crosses 2^32.
fn ring_base(stream: usize) -> u64 {
    0xFFFF_F800 + 0x10_0000 * stream as u64
}

/// The words of a read master in this cycle.
fn burst<const W: usize>(bus: &AxiReadMaster<W>) -> Option<Burst> {
    bus.arvalid.val().then(|| Burst {
        address: bus.araddr.val().to_u64(),
        length: bus.arlen.val().to_u64() as u8,
    })
}

impl<
    const W: usize,
    const K: usize,
    const D: usize,
    const LOGK: usize,
    const LOGD: usize,
    const S: usize,
> Bench<W, K, D, LOGK, LOGD, S>
{
    pub fn new(seed: u64, manners: Manners) -> Self {
        let config = Config {
            streams: S,
            ring_octets: RING,
            ..Config::simulated(W)
        };
        let block = Box::new(Transmitter::new(&config));
        let top = format!("transmitter_{W}_{S}");
        let lockstep = Lockstep::new(&top, block, |b, level| b.clock.next = level.into());
        let rings = Rc::new(RefCell::new(
            HashMap::<u64, [u8; SLOT_OCTETS as usize]>::new(),
        ));
        let slots = rings.clone();
        let slot_octet = move |address: u64| {
            let at = address % SLOT_OCTETS;
            slots
                .borrow()
                .get(&(address - at))
                .map_or(0xEE, |slot| slot[at as usize])
        };
        let mut bench = Self {
            lockstep: Box::new(lockstep.unwrap_or_else(|e| panic!("{e}"))),
            rng: Rng::with_seed(seed),
            cycle: 0,
            streams: (0..S).map(|_| Stream::default()).collect(),
            regions: vec![],
            table: HashMap::new(),
            memory: ReadBus::new(K, manners.memory.clone(), octet),
            slots: ReadBus::new(K, manners.slots.clone(), slot_octet),
            rings,
            transmits: Rhythm::new(manners.transmit),
            events: Rhythm::new(manners.event),
            manners,
            lookups: VecDeque::from(vec![0; stag_table::LATENCY as usize]),
            commands: VecDeque::new(),
            doorbells: VecDeque::new(),
            idle: 0,
        };
        bench.lockstep.block.reset.next = true;
        for _ in 0..RESET {
            bench.lockstep.settle().unwrap();
            bench.lockstep.edge().unwrap();
        }
        bench.lockstep.block.reset.next = false;
        bench
    }

    pub fn region(&mut self, region: Region) {
        self.table.insert(stag_slot(region.stag, SLOTS), region);
        self.regions.push(region);
    }

    /// Arms a stream and gives it a send ring.
    pub fn arm(&mut self, number: u8, arguments: TransmitArguments, start: u32) {
        self.idle = 0;
        let stream = &mut self.streams[usize::from(number)];
        stream.start = start;
        stream.sender = Some(Sender::new(
            number,
            arguments.protection_domain.index() as u16,
            arguments.emss.index() as u16,
            arguments.markers,
            arguments.crc,
            arguments.first_msn.index() as u32,
        ));
        let b = &mut self.lockstep.block;
        b.stream.next = u64::from(number).into();
        b.sequence_start.next = u64::from(start).into();
        b.ring_arm.next = true;
        self.must_step();
        self.lockstep.block.ring_arm.next = false;
        for _ in 0..16 {
            self.must_step();
        }
        let b = &mut self.lockstep.block;
        b.command.next = TransmitCommand::Arm;
        b.s_command.next = arguments;
        b.command_valid.next = true;
        while !self.lockstep.block.command_done.val() {
            self.must_step();
        }
        self.lockstep.block.command_valid.next = false;
        let mut words = [0; send_ring::WORDS];
        send_ring::STREAM.put(&mut words, number.into());
        send_ring::ENTRIES.put(&mut words, ENTRIES.into());
        send_ring::BASE.put(&mut words, ring_base(number.into()));
        let words = words.iter().rev();
        let arguments = words.fold(BigUint::ZERO, |all, word| {
            (all << 32_u32) | BigUint::from(*word)
        });
        let b = &mut self.lockstep.block;
        b.arguments.next = arguments.into();
        b.set.next = true;
        while !self.lockstep.block.set_ready.val() {
            self.must_step();
        }
        assert!(!self.lockstep.block.set_failed.val());
        self.lockstep.block.set.next = false;
        self.must_step();
    }

    /// The host posts a request as soon as its ring has a slot.
    pub fn post(&mut self, number: u8, request: SendRequest) {
        let stream = &mut self.streams[usize::from(number)];
        let sender = stream.sender.as_mut().expect("the stream is armed");
        sender.post(&self.regions, &request);
        stream.waiting.push_back(request);
    }

    /// Hosts and TCP act.
    fn act(&mut self) {
        for (number, stream) in self.streams.iter_mut().enumerate() {
            let room = ENTRIES as u16 - stream.produced.wrapping_sub(stream.consumed);
            let count = stream.waiting.len().min(room.into());
            for request in stream.waiting.drain(..count) {
                let at = ring_base(number) + slot_offset(stream.produced, ENTRIES);
                let mut slot = [0; SLOT_OCTETS as usize];
                for (octets, word) in slot.chunks_mut(4).zip(request.emit()) {
                    octets.copy_from_slice(&word.to_le_bytes());
                }
                self.rings.borrow_mut().insert(at, slot);
                stream.produced = stream.produced.wrapping_add(1);
            }
            if count > 0 {
                self.doorbells.push_back((number as u8, stream.produced));
            }
            if self.commands.len() > 2 * S {
                continue;
            }
            if stream.edge != stream.sent {
                let most = (stream.edge - stream.sent).min(1460);
                let octets = self.rng.u32(1..=most);
                let (kind, number) = (ports::SEND, number as u8);
                self.commands
                    .push_back((kind, number, stream.sent, octets as u16));
                stream.sends.push_back((stream.sent, octets, stream.sent));
                stream.sent += octets;
            } else if stream.sent > stream.acknowledged && chance(&mut self.rng, self.manners.again)
            {
                let from = self.rng.u32(stream.acknowledged..stream.sent);
                let octets = self.rng.u32(1..=(stream.sent - from).min(1460));
                let (kind, number) = (ports::SEND, number as u8);
                self.commands.push_back((kind, number, from, octets as u16));
                stream.sends.push_back((from, octets, from));
            }
            let received = stream.octets.len() as u32;
            if received > stream.acknowledged && chance(&mut self.rng, 10) {
                let to = self.rng.u32(stream.acknowledged + 1..=received);
                // nothing that is to be sent again
                let to = stream
                    .sends
                    .iter()
                    .map(|(from, _, _)| *from)
                    .fold(to, u32::min);
                self.commands
                    .push_back((ports::ACKNOWLEDGE, number as u8, to, 0));
                stream.acknowledged = stream.acknowledged.max(to);
            }
        }
    }

    pub fn must_step(&mut self) {
        self.step().unwrap_or_else(|e| panic!("{e}"));
    }

    /// A cycle.
    pub fn step(&mut self) -> Result<(), String> {
        self.act();
        let offers = (
            self.memory.offer(&mut self.rng),
            self.slots.offer(&mut self.rng),
        );
        let (transmits, events) = (
            self.transmits.go(&mut self.rng),
            self.events.go(&mut self.rng),
        );
        let stag = self.lookups.pop_front().expect("one for each cycle");
        let region = self.table.get(&stag_slot(stag, SLOTS));
        let b = &mut self.lockstep.block;
        b.entry.next = region.map_or_else(StagEntry::default, |r| r.entry(&mut self.rng));
        b.doorbell.next = false;
        if let Some((number, value)) = self.doorbells.pop_front() {
            b.doorbell.next = true;
            b.doorbell_stream.next = u64::from(number).into();
            b.doorbell_value.next = u64::from(value).into();
        }
        for (bus, offer) in [
            (&mut b.m_axi_memory, &offers.0),
            (&mut b.m_axi_slots, &offers.1),
        ] {
            bus.arready.next = offer.arready;
            bus.rvalid.next = offer.beat.is_some();
            if let Some(beat) = &offer.beat {
                bus.rdata.next = beat.data::<W>();
                bus.rresp.next = (2 * u64::from(beat.error)).into();
                bus.rlast.next = beat.last;
            }
        }
        b.m_axis_transmit.tready.next = transmits;
        b.m_axis_status.tready.next = true;
        b.m_event_ready.next = events;
        let command = self.commands.front().copied();
        b.s_axis_send.tvalid.next = command.is_some();
        if let Some((kind, number, position, octets)) = command {
            let start = self.streams[usize::from(number)].start;
            let data = ports::command_word(kind, start.wrapping_add(position), octets);
            b.s_axis_send.tdata.next = data.into();
            b.s_axis_send.tdest.next = u64::from(number).into();
        }
        self.lockstep.settle().map_err(|e| e.to_string())?;
        self.sample(transmits, events)?;
        self.lockstep.edge().map_err(|e| e.to_string())?;
        self.cycle += 1;
        self.idle += 1;
        match self.idle > PATIENCE {
            true => Err(format!("cycle {}: nothing moves", self.cycle)),
            false => Ok(()),
        }
    }

    fn sample(&mut self, transmits: bool, events: bool) -> Result<(), String> {
        let b = &self.lockstep.block;
        let cycle = self.cycle;
        self.lookups.push_back(b.stag.val().to_u64() as u32);
        if b.s_axis_send.tvalid.val() && b.s_axis_send.tready.val() {
            self.commands.pop_front();
        }
        let memory = (burst(&b.m_axi_memory), b.m_axi_memory.rready.val());
        let slots = (burst(&b.m_axi_slots), b.m_axi_slots.rready.val());
        let memory = self.memory.take(memory.0, memory.1, &mut self.rng);
        memory.map_err(|e| format!("cycle {cycle}, memory: {e}"))?;
        let slots = self.slots.take(slots.0, slots.1, &mut self.rng);
        slots.map_err(|e| format!("cycle {cycle}, slots: {e}"))?;
        if b.m_axis_status.tvalid.val() {
            let data = b.m_axis_status.tdata.val();
            let stream = &mut self.streams[b.m_axis_status.tdest.val().index()];
            let edge = data.get_bits::<32>(ports::STATUS_EDGE).index() as u32;
            match data.get_bits::<2>(ports::STATUS_KIND).to_u64() {
                ports::MOVED => stream.edge = edge.wrapping_sub(stream.start),
                kind => return Err(format!("cycle {cycle}: a report of kind {kind}")),
            }
            self.idle = 0;
        }
        if b.m_axis_transmit.tvalid.val() && transmits {
            let number = b.m_axis_transmit.tdest.val().index();
            let count = (0..K)
                .filter(|lane| b.m_axis_transmit.tkeep.val().get_bit(*lane))
                .count();
            let lanes = octets(b.m_axis_transmit.tdata.val());
            let last = b.m_axis_transmit.tlast.val();
            self.idle = 0;
            let first = b.m_axis_transmit.tuser.val().index() as u32;
            let stream = &self.streams[number];
            let from = stream
                .sends
                .front()
                .map(|send| stream.start.wrapping_add(send.2));
            if from != Some(first) {
                return Err(format!("cycle {cycle}: from {first} on, due {from:?}"));
            }
            self.receive(number, &lanes[..count], last)?;
        }
        let b = &self.lockstep.block;
        if b.m_event_valid.val() && events {
            let entry = b.m_event.val();
            let word = |word: usize| entry.get_bits::<32>(32 * word).to_u64() as u32;
            let words: Vec<u32> = (0..8).map(word).collect();
            self.complete(&words)?;
        }
        Ok(())
    }

    /// A beat of a range.
    fn receive(&mut self, number: usize, octets: &[u8], last: bool) -> Result<(), String> {
        let cycle = self.cycle;
        let stream = &mut self.streams[number];
        let Some((from, left, _)) = stream.sends.front_mut() else {
            return Err(format!(
                "cycle {cycle}: octets of stream {number} that TCP has not asked for"
            ));
        };
        let due = &stream.sender.as_ref().expect("it is armed").octets;
        let at = *from as usize;
        if due.get(at..at + octets.len()) != Some(octets) {
            let due = due.get(at..(at + octets.len()).min(due.len()));
            return Err(format!(
                "cycle {cycle}, stream {number} from {at} on: {octets:02x?}, due {due:02x?}"
            ));
        }
        let behind = at + octets.len();
        if behind > stream.octets.len() {
            let known = stream.octets.len();
            stream.octets.extend(&octets[known - at..]);
        }
        *from += octets.len() as u32;
        *left -= octets.len() as u32;
        let done = *left == 0;
        if done != last {
            return Err(format!("cycle {cycle}: tlast is {last}"));
        }
        if done {
            stream.sends.pop_front();
        }
        Ok(())
    }

    /// A completion.
    fn complete(&mut self, words: &[u32]) -> Result<(), String> {
        let number = send_event::STREAM.get(words) as usize;
        let found = Entry {
            status: send_event::STATUS.get(words) as u32,
            request: send_event::REQUEST.get(words),
            octets: send_event::LENGTH.get(words) as u32,
            consumed: send_event::CONSUMED.get(words) as u16,
        };
        let stream = &mut self.streams[number];
        let due = stream
            .sender
            .as_ref()
            .and_then(|s| s.entries.get(stream.entries));
        if due != Some(&found) {
            return Err(format!(
                "cycle {}, stream {number}: {found:?}, due {due:?}",
                self.cycle
            ));
        }
        stream.entries += 1;
        stream.consumed = found.consumed;
        self.idle = 0;
        Ok(())
    }

    /// Until all octets and completions that are due have come, and some cycles more.
    pub fn run(&mut self) -> Result<(), String> {
        let busy = |stream: &Stream| {
            let sender = stream.sender.as_ref();
            sender.is_some_and(|sender| {
                stream.octets.len() < sender.octets.len() || stream.entries < sender.entries.len()
            })
        };
        while self.streams.iter().any(busy) {
            self.step()?;
        }
        for _ in 0..100 {
            self.step()?;
        }
        Ok(())
    }
}
