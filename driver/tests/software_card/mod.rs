//! A card in software: the registers and commands of the real one, with the reference receiver behind them.
//!
//! ```text
//!  Device::write ─► ARGUMENT, COMMAND ─► Receiver ─► Place ──────────► mapped memory
//!  segment() ──────────────────────────►          ─► Delivered, Failed ─► completion queue, when it has room
//!  RECEIVE_PRODUCER ─► descriptors of the ring ─► buffers              └─► COMPLETION_ARM ─► eventfd
//! ```
//!
//! It checks the driver: `violations` collects every broken rule of ownership.
#![allow(
    dead_code,
    reason = "each test file is a separate crate and uses a part"
)]

#[cfg(feature = "vfio-user")]
pub mod function;
mod sends;

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::{Arc, Mutex, MutexGuard};

use rustix::event::EventfdFlags;
use warpline_driver::{BackendError, Device, DeviceInfo, DmaMap};
use warpline_regmap::layout::{
    close, close_event, completion, error_event, error_record, kind, receive_descriptor,
    receive_ring, refused, revoke, stag_entry, stream_context,
};
use warpline_regmap::register::{self, command, interrupt};
use warpline_regmap::transmit::{self, SendRequest};
use warpline_regmap::{Field, Register};
use warpline_wire::error_number::{Detail, Ending, ErrorRecord};
use warpline_wire::receive::{
    Delivery, Event, Flags, MsnMode, Receiver, ReceiverConfig, Scope, StagEntry, StreamConfig,
    Target,
};

/// Streams of the card.
pub const STREAMS: u8 = 4;
/// Queues of each stream.
pub const QUEUES: u8 = 4;
/// Slots of its STag table.
pub const STAG_SLOTS: u32 = 16;
/// Buffers that a queue holds on the card.
pub const RECEIVE_SLOTS: u32 = 8;

/// A handle of the card; clones are handles of the same card.
#[derive(Clone)]
pub struct SoftwareCard {
    model: Arc<Mutex<Model>>,
    /// One eventfd per vector.
    interrupts: Arc<[File; interrupt::COUNT]>,
}

impl Default for SoftwareCard {
    fn default() -> Self {
        // Blocking: the driver must make them non-blocking.
        let eventfd = || rustix::event::eventfd(0, EventfdFlags::CLOEXEC).unwrap();
        let interrupts = Arc::new([(); interrupt::COUNT].map(|()| File::from(eventfd())));
        let model = Model {
            targets: [const { None }; interrupt::COUNT],
            interrupts: Arc::clone(&interrupts),
            registers: BTreeMap::new(),
            receiver: Receiver::default(),
            regions: BTreeMap::new(),
            posted: BTreeMap::new(),
            rings: BTreeMap::new(),
            sends: BTreeMap::new(),
            sent: Vec::new(),
            answers: true,
            capabilities: 1,
            records: BTreeMap::new(),
            maps: BTreeMap::new(),
            waiting: VecDeque::new(),
            producer: 0,
            requested: None,
            messages: [0; interrupt::COUNT],
            most_unread: 0,
            violations: Vec::new(),
            overrides: BTreeMap::new(),
            hangs: false,
            hangs_from: None,
            refuses: None,
            fails: None,
            commands: Vec::new(),
            doorbells: 0,
            resets: 0,
        };
        Self {
            model: Arc::new(Mutex::new(model)),
            interrupts,
        }
    }
}

/// State of the card, and the faults that tests inject.
pub struct Model {
    /// Eventfds of a host at the other end of a socket.
    pub targets: [Option<File>; interrupt::COUNT],
    interrupts: Arc<[File; interrupt::COUNT]>,
    registers: BTreeMap<u32, u32>,
    receiver: Receiver,
    regions: BTreeMap<u32, Region>,
    posted: BTreeMap<(u32, u32), VecDeque<(u32, u64)>>,
    rings: BTreeMap<(u32, u32), Ring>,
    sends: BTreeMap<u32, Ring>,
    /// Requests read from send rings, and their streams.
    pub sent: Vec<(u32, SendRequest)>,
    /// Requests that are to be reported complete as soon as they are read.
    pub answers: bool,
    /// What `CAPABILITIES` reads.
    pub capabilities: u32,
    records: BTreeMap<u32, ErrorRecord>,
    maps: BTreeMap<u64, Map>,
    /// Completions that wait for room.
    waiting: VecDeque<[u32; 8]>,
    producer: u32,
    /// Value written to `COMPLETION_ARM`, until its interrupt is sent.
    requested: Option<u32>,
    /// Messages sent, by vector.
    pub messages: [u32; interrupt::COUNT],
    /// Most completions that were in the ring at once.
    pub most_unread: u32,
    /// Rules that the driver broke.
    pub violations: Vec<String>,
    /// Registers that read a wrong value.
    pub overrides: BTreeMap<u32, u32>,
    /// Commands never finish.
    pub hangs: bool,
    /// Commands of that number never finish, nor do later ones.
    pub hangs_from: Option<u32>,
    /// The next command of that number is refused.
    pub refuses: Option<u32>,
    /// Calls of `map`, `unmap`, `reset` fail.
    pub fails: Option<&'static str>,
    /// Commands executed.
    pub commands: Vec<u32>,
    /// Writes to `RECEIVE_PRODUCER`.
    pub doorbells: u32,
    /// Resets so far.
    pub resets: u32,
}

/// The receive ring of a queue.
struct Ring {
    base: u64,
    entries: u32,
    /// Descriptors read, modulo 2^16.
    read: u16,
}

struct Region {
    stag: u32,
    base: u64,
    length: u64,
    address: u64,
}

struct Map {
    length: u64,
    file: File,
    offset: u64,
}

impl SoftwareCard {
    pub fn model(&self) -> MutexGuard<'_, Model> {
        self.model.lock().unwrap()
    }

    /// Octets of a TCP segment arrive.
    pub fn segment(&self, stream: u8, sequence: u32, octets: &[u8]) {
        let mut model = self.model();
        let mut events = Vec::new();
        let sink = &mut |event: Event<'_>| events.push(Owned::from(event));
        let stream = stream.into();
        model
            .receiver
            .tcp_segment(stream, sequence, octets, sink)
            .unwrap();
        for event in events {
            model.event(event);
        }
        model.complete();
    }

    /// The peer's FIN follows the octets received so far.
    pub fn finish(&self, stream: u8) {
        let mut model = self.model();
        let mut events = Vec::new();
        let sink = &mut |event: Event<'_>| events.push(Owned::from(event));
        model.receiver.finish(stream.into(), sink).unwrap();
        for event in events {
            model.event(event);
        }
        model.complete();
    }

    /// The connection is lost.
    pub fn lose(&self, stream: u8) {
        let mut model = self.model();
        let mut events = Vec::new();
        let sink = &mut |event: Event<'_>| events.push(Owned::from(event));
        model.receiver.lose(stream.into(), sink).unwrap();
        for event in events {
            model.event(event);
        }
        model.complete();
    }

    /// The device writes an arbitrary entry.
    pub fn invent(&self, words: [u32; 8]) {
        let mut model = self.model();
        model.waiting.push_back(words);
        model.complete();
    }

    /// Fails the test when the driver broke a rule.
    pub fn assert_no_violations(&self) {
        assert_eq!(self.model().violations, Vec::<String>::new());
    }
}

/// An event that owns its octets.
enum Owned {
    Place(u32, Target, Vec<u8>),
    Delivered(u32, Delivery, Flags),
    Closed(u32, u32),
    Failed(ErrorRecord),
}

impl From<Event<'_>> for Owned {
    fn from(event: Event<'_>) -> Self {
        match event {
            Event::Place {
                stream,
                target,
                octets,
            } => Self::Place(stream, target, octets.to_vec()),
            Event::Delivered {
                stream,
                delivery,
                flags,
            } => Self::Delivered(stream, delivery, flags),
            Event::Closed { stream, position } => Self::Closed(stream, position),
            Event::Failed(record) => Self::Failed(record),
        }
    }
}

impl Model {
    fn slot(stag: u32) -> u32 {
        (stag >> 8) % STAG_SLOTS
    }

    /// Buffers that a queue holds.
    pub fn buffers(&self, stream: u32, queue: u32) -> usize {
        self.posted.get(&(stream, queue)).map_or(0, VecDeque::len)
    }

    /// Bus address of a queue's ring.
    pub fn ring(&self, stream: u32, queue: u32) -> u64 {
        self.rings[&(stream, queue)].base
    }

    /// Number of maps.
    pub fn mapped(&self) -> usize {
        self.maps.len()
    }

    /// The host has disconnected: all maps end.
    pub fn unmap_all(&mut self) {
        self.maps.clear();
    }

    /// Number of mapped memories that this process has not freed.
    pub fn held(&self) -> usize {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let held = |map: &&Map| {
            let inode = format!(" {} ", map.file.metadata().unwrap().ino());
            maps.lines()
                .any(|line| line.contains("memfd:warpline") && line.contains(&inode))
        };
        self.maps.values().filter(held).count()
    }

    /// Closes a stream without the driver's knowledge.
    pub fn close(&mut self, stream: u32) {
        let _ = self.receiver.close(stream);
    }

    fn register(&self, register: Register) -> u32 {
        *self.registers.get(&register.offset).unwrap_or(&0)
    }

    fn event(&mut self, event: Owned) {
        match event {
            Owned::Place(_, Target::Tagged { stag, to }, octets) => {
                let region = &self.regions[&Self::slot(stag)];
                assert_eq!(region.stag, stag);
                let address = region.address + (to - region.base);
                self.store(address, &octets);
            }
            Owned::Place(stream, Target::Untagged { queue, msn, offset }, octets) => {
                let posted = &self.posted[&(stream, queue)];
                let (_, address) = posted.iter().find(|(due, _)| *due == msn).unwrap();
                self.store(address + u64::from(offset), &octets);
            }
            Owned::Delivered(stream, delivery, flags) => {
                let mut words = [0; completion::WORDS];
                completion::STREAM.put(&mut words, stream.into());
                match delivery {
                    Delivery::Tagged {
                        stag,
                        to,
                        length,
                        rsvd_ulp,
                    } => {
                        completion::KIND.put(&mut words, kind::TAGGED.into());
                        let unverified = flags.contains(Flags::UNVERIFIED);
                        completion::UNVERIFIED.put(&mut words, unverified.into());
                        completion::STAG.put(&mut words, stag.into());
                        completion::LENGTH.put(&mut words, length.into());
                        completion::OFFSET.put(&mut words, to);
                        completion::RSVD_ULP_FIRST.put(&mut words, rsvd_ulp.into());
                    }
                    Delivery::Untagged {
                        queue,
                        msn,
                        length,
                        rsvd_ulp: [first, low @ ..],
                    } => {
                        self.posted.get_mut(&(stream, queue)).unwrap().pop_front();
                        completion::KIND.put(&mut words, kind::UNTAGGED.into());
                        completion::HOLE.put(&mut words, flags.contains(Flags::HOLE).into());
                        let anomaly = flags.contains(Flags::ANOMALY);
                        completion::ANOMALY.put(&mut words, anomaly.into());
                        completion::QUEUE.put(&mut words, queue.into());
                        completion::MSN.put(&mut words, msn.into());
                        completion::LENGTH.put(&mut words, length.into());
                        completion::RSVD_ULP_FIRST.put(&mut words, first.into());
                        let low = u32::from_be_bytes(low);
                        completion::RSVD_ULP_LOW.put(&mut words, low.into());
                    }
                }
                self.waiting.push_back(words);
            }
            Owned::Closed(stream, position) => {
                let mut words = [0; close_event::WORDS];
                close_event::KIND.put(&mut words, kind::CLOSED.into());
                close_event::STREAM.put(&mut words, stream.into());
                close_event::POSITION.put(&mut words, position.into());
                self.waiting.push_back(words);
            }
            Owned::Failed(record) => {
                let mut words = [0; error_event::WORDS];
                error_event::KIND.put(&mut words, kind::ERROR.into());
                error_event::STREAM.put(&mut words, record.stream.into());
                error_event::CODE.put(&mut words, record.number.code().into());
                error_event::TYPE.put(&mut words, record.number.error_type().into());
                error_event::CHECKS.put(&mut words, record.checks.bits().into());
                error_event::LENGTH.put(&mut words, record.ulpdu_len.into());
                error_event::POSITION.put(&mut words, record.position.into());
                self.waiting.push_back(words);
                self.records.insert(record.stream, record);
            }
        }
    }

    /// Writes completions as long as there is room.
    fn complete(&mut self) {
        let entries = self.register(register::COMPLETION_ENTRIES);
        let consumed = self.register(register::COMPLETION_CONSUMER);
        if self.producer.wrapping_sub(consumed) > entries {
            let text = format!("{consumed} entries consumed of {} written", self.producer);
            self.violations.push(text);
        }
        while self.producer.wrapping_sub(consumed) < entries {
            let Some(mut words) = self.waiting.pop_front() else {
                break;
            };
            let phase = (self.producer / entries) & 1 == 0;
            completion::PHASE.put(&mut words, phase.into());
            let base = u64::from(self.register(register::COMPLETION_BASE_HIGH)) << 32
                | u64::from(self.register(register::COMPLETION_BASE_LOW));
            let octets: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            let address = base + 32 * u64::from(self.producer % entries);
            self.store(address, &octets[..28]);
            self.store(address + 28, &octets[28..]);
            self.producer = self.producer.wrapping_add(1);
        }
        let unread = self.producer.wrapping_sub(consumed);
        self.most_unread = self.most_unread.max(unread);
        if self
            .requested
            .take_if(|consumed| *consumed != self.producer)
            .is_some()
        {
            self.raise(interrupt::COMPLETION);
        }
    }

    /// The interrupt of `vector` happens.
    pub fn raise(&mut self, vector: usize) {
        let state = self.register(register::INTERRUPT_STATE) | 1 << vector;
        self.registers
            .insert(register::INTERRUPT_STATE.offset, state);
        if self.register(register::INTERRUPT_ENABLE) >> vector & 1 == 1 {
            self.message(vector);
        }
    }

    /// Sends a message, regardless of the registers.
    pub fn message(&mut self, vector: usize) {
        self.messages[vector] += 1;
        let mut eventfd = self.targets[vector].as_ref();
        let eventfd = eventfd.get_or_insert(&self.interrupts[vector]);
        eventfd.write_all(&1_u64.to_ne_bytes()).unwrap();
    }

    /// The doorbell of a queue: reads the new descriptors.
    fn doorbell(&mut self, element: u32, value: u32) {
        self.doorbells += 1;
        let key = (element / 8, element % 8);
        let Some(Ring {
            base,
            entries,
            read,
        }) = self.rings.get_mut(&key)
        else {
            self.violations
                .push(format!("doorbell of {key:?}, which has no ring"));
            return;
        };
        let (base, entries, first) = (*base, *entries, *read);
        let new = (value as u16).wrapping_sub(first);
        *read = value as u16;
        let held = self.posted.get(&key).map_or(0, VecDeque::len) as u32;
        if held + u32::from(new) > entries {
            let text = format!("{held} + {new} descriptors in a ring of {entries}");
            self.violations.push(text);
            return;
        }
        for i in 0..new {
            let index = u32::from(first.wrapping_add(i)) % entries;
            let words = self.load::<{ receive_descriptor::WORDS }>(base + 16 * u64::from(index));
            let length = receive_descriptor::LENGTH.get(&words) as u32;
            // A failed stream accepts no buffers, though its doorbell may still be rung.
            if let Ok(msn) = self.receiver.post(key.0, key.1, length) {
                let address = receive_descriptor::ADDRESS.get(&words);
                self.posted.get_mut(&key).unwrap().push_back((msn, address));
            }
        }
    }

    fn load<const WORDS: usize>(&mut self, address: u64) -> [u32; WORDS] {
        let mut octets = vec![0; 4 * WORDS];
        match self.maps.range(..=address).next_back() {
            Some((start, map)) if address - start + octets.len() as u64 <= map.length => {
                let at = map.offset + (address - start);
                map.file.read_exact_at(&mut octets, at).unwrap();
            }
            _ => self.violations.push(format!("read of {address:#x}")),
        }
        let word = |i: usize| u32::from_le_bytes(octets[4 * i..][..4].try_into().unwrap());
        std::array::from_fn(word)
    }

    fn store(&mut self, address: u64, octets: &[u8]) {
        let map = self.maps.range(..=address).next_back();
        match map {
            Some((start, map)) if address - start + octets.len() as u64 <= map.length => {
                let at = map.offset + (address - start);
                map.file.write_all_at(octets, at).unwrap();
            }
            _ => self.violations.push(format!("write to {address:#x}")),
        }
    }

    /// Executes a command; false when it is refused.
    fn execute(&mut self, number: u32) -> bool {
        self.commands.push(number);
        let words: [u32; 8] = std::array::from_fn(|i| {
            let at = register::ARGUMENT.at(i as u32);
            *self.registers.get(&at).unwrap_or(&0)
        });
        let get = |field: Field| field.get(&words);
        if self.refuses.take_if(|refused| *refused == number).is_some() {
            return false;
        }
        match number {
            command::WRITE_STAG => {
                let region = Region {
                    stag: get(stag_entry::STAG) as u32,
                    base: get(stag_entry::BASE),
                    length: get(stag_entry::LENGTH),
                    address: get(stag_entry::ADDRESS),
                };
                let protection_domain = get(stag_entry::PROTECTION_DOMAIN) as u32;
                let scope = match get(stag_entry::STREAM_SCOPE) {
                    1 => Scope::Stream {
                        stream: get(stag_entry::STREAM) as u32,
                        protection_domain,
                    },
                    _ => Scope::ProtectionDomain(protection_domain),
                };
                let entry = StagEntry {
                    valid: true,
                    scope,
                    remote_write: get(stag_entry::REMOTE_WRITE) == 1,
                    base: region.base,
                    length: region.length,
                };
                self.receiver.set_stag(region.stag, entry);
                let slot = Self::slot(region.stag);
                if self.regions.insert(slot, region).is_some() {
                    self.violations.push(format!("slot {slot} written twice"));
                }
                true
            }
            command::REVOKE_STAG => {
                let stag = get(revoke::STAG) as u32;
                self.receiver.revoke_stag(stag);
                self.regions.remove(&Self::slot(stag));
                true
            }
            command::ARM_STREAM => {
                let stream = get(stream_context::STREAM) as u32;
                let config = StreamConfig {
                    protection_domain: get(stream_context::PROTECTION_DOMAIN) as u32,
                    seq_start: get(stream_context::SEQUENCE_START) as u32,
                    markers: get(stream_context::MARKERS) == 1,
                    crc: get(stream_context::CRC) == 1,
                    tagged_completions: get(stream_context::TAGGED_COMPLETIONS) == 1,
                    strict_mo: get(stream_context::STRICT_MO) == 1,
                    msn_mode: match get(stream_context::MSN_WINDOW) {
                        1 => MsnMode::Window,
                        _ => MsnMode::Strict,
                    },
                    long_ulpdus: get(stream_context::LONG_ULPDUS) == 1,
                };
                self.records.remove(&stream);
                let opened = self.receiver.open(stream, config).is_ok();
                for queue in (0..8).filter(|bit| get(stream_context::QUEUES) >> bit & 1 == 1) {
                    let first = get(stream_context::FIRST_MSN) as u32;
                    self.receiver.enable_queue(stream, queue, first).unwrap();
                    self.posted.insert((stream, queue), VecDeque::new());
                }
                opened
            }
            command::CLOSE_STREAM => {
                let stream = get(close::STREAM) as u32;
                self.posted.retain(|(of, _), _| *of != stream);
                self.rings.retain(|(of, _), _| *of != stream);
                self.sends.remove(&stream);
                self.receiver.close(stream).is_ok()
            }
            transmit::SET_SEND_RING => self.attach_send_ring(&words),
            command::SET_RECEIVE_RING => {
                let queue = get(receive_ring::QUEUE) as u32;
                let key = (get(receive_ring::STREAM) as u32, queue);
                let ring = Ring {
                    base: get(receive_ring::BASE),
                    entries: get(receive_ring::ENTRIES) as u32,
                    read: 0,
                };
                if !ring.entries.is_power_of_two()
                    || !(16..=1 << 15).contains(&ring.entries)
                    || !ring.base.is_multiple_of(256)
                {
                    let text = format!("ring of {} at {:#x}", ring.entries, ring.base);
                    self.violations.push(text);
                }
                let known = self.posted.contains_key(&key);
                if known {
                    self.rings.insert(key, ring);
                }
                known
            }
            _ => false,
        }
    }

    fn record_word(&self, stream: u32, word: usize) -> u32 {
        let mut words = [0; error_record::WORDS];
        if let Some(record) = self.records.get(&stream) {
            let mut put = |field: Field, value: u64| field.put(&mut words, value);
            put(error_record::VALID, 1);
            put(error_record::CODE, record.number.code().into());
            put(error_record::TYPE, record.number.error_type().into());
            put(error_record::CHECKS, record.checks.bits().into());
            put(error_record::LENGTH, record.ulpdu_len.into());
            put(error_record::POSITION, record.position.into());
            match record.detail {
                Detail::Ddp => {}
                Detail::Crc { expected, received } => {
                    // The CRC register after the CRC field and one dword of zeros.
                    let register = (0..64).fold(expected ^ received ^ !0, |register, _| {
                        (register >> 1) ^ if register & 1 == 1 { 0x82F6_3B78 } else { 0 }
                    });
                    put(error_record::CRC_STATE, register.into());
                    put(error_record::CRC_ZEROS, 1);
                    put(error_record::CRC_RECEIVED, received.into());
                }
                Detail::Marker {
                    expected, received, ..
                } => {
                    put(error_record::MARKER_EXPECTED, expected.into());
                    put(error_record::MARKER_RECEIVED, (received & !3).into());
                }
                Detail::Connection(ending) => put(
                    error_record::REFUSED,
                    u64::from(match ending {
                        Ending::Truncated => refused::TRUNCATED,
                        Ending::Lost => refused::LOST,
                        Ending::BehindFin => refused::BEHIND_FIN,
                    }),
                ),
                Detail::Length { .. } => put(error_record::REFUSED, refused::LENGTH.into()),
                Detail::TooLarge { .. } => put(error_record::REFUSED, refused::TOO_LARGE.into()),
            }
            let mut octets = record.ulpdu_len.to_be_bytes().to_vec();
            octets.extend(record.header.as_slice());
            octets.resize(20, 0xAA); // what follows the header is payload
            for (i, dword) in octets.chunks_exact(4).enumerate() {
                words[4 + i] = u32::from_be_bytes(dword.try_into().unwrap());
            }
        }
        *words.get(word).unwrap_or(&0)
    }
}

impl Device for SoftwareCard {
    fn info(&self) -> DeviceInfo {
        DeviceInfo {
            name: "software".into(),
            bus_addresses: vec![0..0x10_0000, 1 << 32..1 << 39],
        }
    }

    fn read(&self, offset: u32) -> Result<u32, BackendError> {
        let mut model = self.model();
        if let Some(value) = model.overrides.get(&offset) {
            return Ok(*value);
        }
        let record = register::ERROR_RECORD;
        Ok(match offset {
            _ if offset == register::IDENTITY.offset => register::IDENTITY_VALUE,
            _ if offset == register::VERSION.offset => register::VERSION_VALUE,
            _ if offset == register::SHAPE.offset => {
                8 | u32::from(STREAMS) << 16 | u32::from(QUEUES) << 24
            }
            _ if offset == transmit::CAPABILITIES.offset => model.capabilities,
            _ if offset == register::RING_OCTETS.offset => 128 << 10,
            _ if offset == register::STAG_SLOTS.offset => STAG_SLOTS,
            _ if offset == register::RECEIVE_SLOTS.offset => RECEIVE_SLOTS,
            _ if offset == register::MAX_ULPDU.offset => 64768,
            _ if offset == register::COMPLETION_PRODUCER.offset => model.producer,
            _ if offset == register::COMMAND.offset => {
                // A fence returns after all completions.
                let number = register::COMMAND_NUMBER.get(&[model.register(register::COMMAND)]);
                let fenced = [command::REVOKE_STAG, command::CLOSE_STREAM]
                    .contains(&(number as u32))
                    && !model.waiting.is_empty();
                model.complete();
                let busy = u32::from(model.hangs || fenced) << register::COMMAND_BUSY.lsb;
                model.register(register::COMMAND) | busy
            }
            _ if offset >= record.offset => {
                let (stream, at) = (
                    (offset - record.offset) / record.stride,
                    (offset - record.offset) % record.stride,
                );
                model.record_word(stream, at as usize / 4)
            }
            _ => *model.registers.get(&offset).unwrap_or(&0),
        })
    }

    fn write(&self, offset: u32, value: u32) -> Result<(), BackendError> {
        let mut model = self.model();
        let mut value = value;
        if offset == register::COMPLETION_ARM.offset {
            model.requested = Some(value);
            model.complete();
            return Ok(());
        }
        if offset == register::INTERRUPT_STATE.offset {
            value = model.register(register::INTERRUPT_STATE) & !value;
        }
        if offset == transmit::SEND_PRODUCER.offset {
            model.send_doorbell(value);
            model.complete();
            return Ok(());
        }
        let doorbell = register::RECEIVE_PRODUCER;
        let doorbells = doorbell.offset..doorbell.at(doorbell.count);
        if doorbells.contains(&offset) {
            model.doorbell((offset - doorbell.offset) / doorbell.stride, value);
            return Ok(());
        }
        if offset == register::COMMAND.offset {
            model.hangs |= model.hangs_from == Some(value);
        }
        if offset == register::COMMAND.offset && !model.hangs {
            let failed = u32::from(!model.execute(value));
            value |= failed << register::COMMAND_FAILED.lsb;
        }
        model.registers.insert(offset, value);
        if offset == register::COMPLETION_ENTRIES.offset {
            model.producer = 0;
            model
                .registers
                .insert(register::COMPLETION_CONSUMER.offset, 0);
        }
        model.complete();
        Ok(())
    }

    fn map(&self, memory: DmaMap<'_>) -> Result<(), BackendError> {
        let mut model = self.model();
        if model.fails == Some("map") {
            return Err("map is out of order".into());
        }
        if memory.iova == 0
            || !memory.iova.is_multiple_of(4096)
            || !memory.length.is_multiple_of(4096)
        {
            let text = format!("map of {:#x} + {:#x}", memory.iova, memory.length);
            model.violations.push(text);
        }
        let map = Map {
            length: memory.length,
            file: File::from(memory.file.try_clone_to_owned()?),
            offset: memory.offset,
        };
        if model.maps.insert(memory.iova, map).is_some() {
            model
                .violations
                .push(format!("{:#x} mapped twice", memory.iova));
        }
        Ok(())
    }

    fn unmap(&self, iova: u64, length: u64) -> Result<(), BackendError> {
        let mut model = self.model();
        if model.fails == Some("unmap") {
            return Err("unmap is out of order".into());
        }
        let inside = |address: u64| (iova..iova + length).contains(&address);
        let region = model.regions.values().any(|region| inside(region.address));
        let posted = model.posted.iter().any(|((stream, _), queue)| {
            !model.records.contains_key(stream) && queue.iter().any(|(_, at)| inside(*at))
        });
        let mut rings = model.rings.values().chain(model.sends.values());
        let ring = rings.any(|ring| inside(ring.base));
        if region || posted || ring {
            let text = format!("{iova:#x} unmapped while the device may reach it");
            model.violations.push(text);
        }
        match model.maps.remove(&iova) {
            Some(map) if map.length == length => {}
            _ => model.violations.push(format!("{iova:#x} is not mapped")),
        }
        Ok(())
    }

    fn interrupt(&self, vector: usize) -> BorrowedFd<'_> {
        self.interrupts[vector].as_fd()
    }

    fn reset(&self) -> Result<(), BackendError> {
        let mut model = self.model();
        if model.fails == Some("reset") {
            return Err("reset is out of order".into());
        }
        model.resets += 1;
        model.registers.clear();
        model.receiver = Receiver::new(ReceiverConfig {
            window: RECEIVE_SLOTS as usize,
            ..ReceiverConfig::default()
        });
        model.regions.clear();
        model.posted.clear();
        model.rings.clear();
        model.sends.clear();
        model.requested = None;
        model.records.clear();
        model.waiting.clear();
        model.producer = 0;
        Ok(())
    }
}
