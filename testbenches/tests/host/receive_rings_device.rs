//! Receive rings of the whole device: a host of registers and memory alone writes descriptors and rings doorbells.
//!
//! ```text
//!  Host: rings, buffers, completions in one file ─► Card
//!    post ─► descriptor, RECEIVE_PRODUCER            ▲
//!    send ─► an untagged message of one segment ─────┘ feed
//! ```
//!
//! A message's payload is its own number, and goes to the buffer whose descriptor has that number: a buffer taken twice,
//! left out, or of another queue is seen in memory.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;

use fastrand::Rng;
use warpline_hdl::Config;
use warpline_regmap::layout::{
    close, completion, error_event, kind, receive_buffer, receive_descriptor, receive_ring,
    stag_entry, stream_context,
};
use warpline_regmap::{Field, Register, register};
use warpline_sim::{BackPressure, Card, CardOptions, HostMemory};
use warpline_testbenches::coverage::{self, Counted};
use warpline_wire::send::{CrcField, FpduWriter, Message};

/// Bus address of the file, of which this much is mapped; each ring is mapped on its own behind it.
const BUS: u64 = 0x3_0000_0000;
const LENGTH: u64 = 64 << 20;
/// The completion queue lies at the beginning.
const ENTRIES: u32 = 4096;
/// Octets of a buffer.
const BUFFER: u64 = 16;

/// Stream and queue.
type Key = (u8, u8);

/// A ring and what became of it.
#[derive(Clone, Copy, Debug)]
struct Ring {
    entries: u32,
    /// Bus address.
    base: u64,
    produced: u32,
    sent: u32,
    completed: u32,
}

struct Host {
    card: Card,
    _counted: Option<Counted>,
    file: File,
    rings: BTreeMap<Key, Ring>,
    /// Sequence number behind what was sent, by stream.
    sequence: BTreeMap<u8, u32>,
    consumed: u32,
    /// Tagged messages that were delivered.
    tagged: u32,
    /// Streams that reported an error, with its number and checks.
    errors: Vec<(u8, u32, u32)>,
    /// Octets of messages that wait to be fed at once.
    gathered: Option<Vec<u8>>,
}

fn place(key: Key) -> u64 {
    u64::from(4 * key.0 + key.1)
}

/// Offset in the file of a ring's memory, 1 MiB each, and of its buffers.
fn ring_at(key: Key) -> u64 {
    LENGTH + (place(key) << 20)
}

fn buffer_at(key: Key, number: u32) -> u64 {
    (1 << 20) + (place(key) << 20) + BUFFER * u64::from(number % 0x8000)
}

impl Host {
    fn new(config: &Config, back_pressure: BackPressure, seed: u64) -> Self {
        let options = CardOptions {
            back_pressure,
            seed,
            ..CardOptions::default()
        };
        let (card, counted) = coverage::open(config, options).unwrap();
        let file = tempfile::tempfile().unwrap();
        file.set_len(LENGTH + (64 << 20)).unwrap();
        let host = Self {
            card,
            _counted: counted,
            file,
            rings: BTreeMap::new(),
            sequence: BTreeMap::new(),
            consumed: 0,
            tagged: 0,
            errors: vec![],
            gathered: None,
        };
        host.map(BUS, LENGTH, 0);
        host.write(register::COMPLETION_BASE_LOW, 0, BUS as u32);
        host.write(register::COMPLETION_BASE_HIGH, 0, (BUS >> 32) as u32);
        host.write(register::COMPLETION_ENTRIES, 0, ENTRIES);
        host
    }

    fn map(&self, iova: u64, length: u64, offset: u64) {
        let file = self.file.try_clone().unwrap();
        let memory = HostMemory {
            iova,
            length,
            file,
            offset,
            read: true,
            write: true,
        };
        self.card.map(memory).unwrap();
    }

    fn write(&self, register: Register, index: u32, value: u32) {
        self.card.write_register(register.at(index), value).unwrap();
    }

    /// Gives a command and waits for its end; true when it is refused.
    fn command(&self, number: u32, fields: &[(Field, u64)]) -> bool {
        let mut words = [0; 8];
        for (field, value) in fields {
            field.put(&mut words, *value);
        }
        for (i, word) in words.iter().enumerate() {
            self.write(register::ARGUMENT, i as u32, *word);
        }
        self.write(register::COMMAND, 0, number);
        for _ in 0..10_000 {
            let state = [self.card.read_register(register::COMMAND.offset).unwrap()];
            if register::COMMAND_BUSY.get(&state) == 0 {
                return register::COMMAND_FAILED.get(&state) == 1;
            }
        }
        panic!("command {number} does not end");
    }

    fn arm(&mut self, stream: u8, queues: u64) {
        self.arm_with(stream, queues, &[]);
    }

    /// With these flags of the context set.
    fn arm_with(&mut self, stream: u8, queues: u64, flags: &[Field]) {
        self.sequence.insert(stream, 0);
        let mut context = vec![
            (stream_context::STREAM, stream.into()),
            (stream_context::CRC, 1),
            (stream_context::QUEUES, queues),
            (stream_context::FIRST_MSN, 1),
        ];
        context.extend(flags.iter().map(|flag| (*flag, 1)));
        assert!(!self.command(register::command::ARM_STREAM, &context));
    }

    /// Gives a queue a ring; its memory is mapped on its own.
    fn set(&mut self, key: Key, entries: u32) {
        let base = BUS + ring_at(key);
        self.map(base, u64::from(entries) * 16, ring_at(key));
        assert!(!self.set_command(key, entries.into(), base));
        let ring = Ring {
            entries,
            base,
            produced: 0,
            sent: 0,
            completed: 0,
        };
        self.rings.insert(key, ring);
    }

    /// Posts buffers by command to a queue that has no ring.
    fn fill(&self, key: Key, count: u32) {
        for number in 0..count {
            let buffer = [
                (receive_buffer::STREAM, key.0.into()),
                (receive_buffer::QUEUE, key.1.into()),
                (receive_buffer::ADDRESS, BUS + buffer_at(key, number)),
                (receive_buffer::LENGTH, BUFFER),
            ];
            assert!(!self.command(register::command::POST_RECEIVE, &buffer));
        }
    }

    fn set_command(&self, key: Key, entries: u64, base: u64) -> bool {
        self.command(
            register::command::SET_RECEIVE_RING,
            &[
                (receive_ring::STREAM, key.0.into()),
                (receive_ring::QUEUE, key.1.into()),
                (receive_ring::ENTRIES, entries),
                (receive_ring::BASE, base),
            ],
        )
    }

    /// Closes a stream, forgets its rings and unmaps them: the device must not look at them any more.
    fn close(&mut self, stream: u8) {
        let refused = self.command(
            register::command::CLOSE_STREAM,
            &[(close::STREAM, stream.into())],
        );
        assert!(!refused);
        self.poll(); // completions in front of the close are there
        let (gone, kept) = std::mem::take(&mut self.rings)
            .into_iter()
            .partition(|(key, _)| key.0 == stream);
        self.rings = kept;
        for ring in BTreeMap::<Key, Ring>::into_values(gone) {
            let length = u64::from(ring.entries) * 16;
            assert_eq!(self.card.unmap(ring.base, length).unwrap(), length);
        }
    }

    /// Buffers that a ring has room for.
    fn room(&self, key: Key) -> u32 {
        let ring = &self.rings[&key];
        ring.entries - (ring.produced - ring.completed)
    }

    /// Writes descriptors and rings the doorbell, once.
    fn post(&mut self, key: Key, count: u32) {
        assert!(count <= self.room(key));
        let ring = self.rings.get_mut(&key).unwrap();
        for number in ring.produced..ring.produced + count {
            let mut words = [0; receive_descriptor::WORDS];
            receive_descriptor::ADDRESS.put(&mut words, BUS + buffer_at(key, number));
            receive_descriptor::LENGTH.put(&mut words, BUFFER);
            let octets: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            let at = ring_at(key) + 16 * u64::from(number % ring.entries);
            self.file.write_all_at(&octets, at).unwrap();
        }
        ring.produced += count;
        let produced = ring.produced;
        self.bell(key, produced & 0xFFFF);
    }

    fn bell(&self, key: Key, produced: u32) {
        let element = register::RECEIVE_PRODUCER_STRIDE * u32::from(key.0) + u32::from(key.1);
        self.write(register::RECEIVE_PRODUCER, element, produced);
    }

    /// The peer sends the next message to a queue.
    fn send(&mut self, key: Key) {
        self.send_ahead(key, 0);
    }

    /// The peer sends a message to a queue, `ahead` messages in front of which are still to come.
    fn send_ahead(&mut self, key: Key, ahead: u32) {
        let ring = self.rings.get_mut(&key).unwrap();
        let number = ring.sent + ahead;
        let mut octets = vec![];
        let message = Message::Untagged {
            qn: key.1.into(),
            msn: number.wrapping_add(1),
            rsvd_ulp: [0; 5],
        };
        FpduWriter::new(false, CrcField::Computed)
            .append_message(message, &payload(key, number), 1000, &mut octets)
            .unwrap();
        ring.sent += u32::from(ahead == 0);
        match &mut self.gathered {
            Some(gathered) => gathered.extend(octets),
            None => self.feed(key.0, octets),
        }
    }

    fn feed(&mut self, stream: u8, octets: Vec<u8>) {
        let sequence = self.sequence.get_mut(&stream).unwrap();
        let first = *sequence;
        *sequence = sequence.wrapping_add(octets.len() as u32);
        self.card.feed(stream, first, octets).unwrap();
    }

    /// Takes what the completion queue has, and compares it with what was sent.
    fn poll(&mut self) -> usize {
        let mut count = 0;
        loop {
            let mut octets = [0; 4 * completion::WORDS];
            let at = octets.len() as u64 * u64::from(self.consumed % ENTRIES);
            self.file.read_exact_at(&mut octets, at).unwrap();
            let words: Vec<u32> = octets
                .as_chunks()
                .0
                .iter()
                .map(|word| u32::from_le_bytes(*word))
                .collect();
            let phase = u64::from((self.consumed / ENTRIES).is_multiple_of(2));
            if completion::PHASE.get(&words) != phase {
                break;
            }
            self.consumed += 1;
            count += 1;
            let stream = completion::STREAM.get(&words) as u8;
            if completion::KIND.get(&words) == u64::from(kind::ERROR) {
                let number = error_event::TYPE.get(&words) << 8 | error_event::CODE.get(&words);
                let checks = error_event::CHECKS.get(&words);
                self.errors.push((stream, number as u32, checks as u32));
                continue;
            }
            if completion::KIND.get(&words) == u64::from(kind::TAGGED) {
                self.tagged += 1;
                continue;
            }
            assert_eq!(completion::KIND.get(&words), u64::from(kind::UNTAGGED));
            let key = (stream, completion::QUEUE.get(&words) as u8);
            let ring = self.rings.get_mut(&key).unwrap();
            let number = ring.completed;
            ring.completed += 1;
            assert_eq!(completion::MSN.get(&words) as u32, number.wrapping_add(1));
            let mut found = vec![0; completion::LENGTH.get(&words) as usize];
            let at = buffer_at(key, number);
            self.file.read_exact_at(&mut found, at).unwrap();
            assert_eq!(found, payload(key, number), "message {number} of {key:?}");
        }
        if count > 0 {
            self.write(register::COMPLETION_CONSUMER, 0, self.consumed);
        }
        count
    }

    fn settle(&mut self) {
        loop {
            self.card.run_until_idle().unwrap();
            if self.poll() == 0 {
                break;
            }
        }
    }

    fn check_complete(&self) {
        for (key, ring) in &self.rings {
            assert_eq!(ring.completed, ring.sent, "{key:?}");
        }
        assert_eq!(self.card.bus_errors(), 0);
    }
}

/// The payload of a message: its number and its queue, of a length of its own.
fn payload(key: Key, number: u32) -> Vec<u8> {
    let mut octets = number.to_le_bytes().to_vec();
    octets.extend([key.0, key.1, 0x5A]);
    octets.resize(7 + number as usize % 10, number as u8);
    octets
}

/// Rings of several streams and queues at once, smaller and larger than what the device holds, each many times round. A
/// message is sent as soon as the doorbell of its buffer is answered, be it that the device has never heard of the buffer.
// req: DDP-UNT-12, DDP-UNT-17, DDP-UNT-18, DDP-DEL-01
#[test]
fn rings_of_all_queues_go_round() {
    let widths: &[usize] = match cfg!(feature = "every-width") {
        true => &[64, 128, 256, 512],
        false => &[64, 512],
    };
    for &width in widths {
        let at_once = go_round(width, 8, BackPressure::RANDOM);
        assert!(
            at_once > 50,
            "{at_once} messages for queues that were empty"
        );
    }
}

/// The same with other numbers of buffers on the device, from the fewest on, and descriptors that take their time. Nothing hangs.
// req: DDP-UNT-12, DDP-UNT-17
#[test]
fn rings_go_round_with_few_slots_and_with_many() {
    for slots in [2, 16, 64] {
        for latency in [1..=300, 300..=300] {
            let at_once = go_round(64, slots, BackPressure { stall: 10, latency });
            assert!(at_once > 0, "{slots} slots");
        }
    }
}

/// Messages that were sent when the device had no buffer of their queue.
fn go_round(width: usize, receive_slots: usize, back_pressure: BackPressure) -> u32 {
    let config = Config {
        receive_slots,
        ..Config::simulated(width)
    };
    let seed = (width + receive_slots) as u64;
    let mut host = Host::new(&config, back_pressure, seed);
    let mut rng = Rng::with_seed(width as u64);
    let keys: Vec<Key> = (0..3).flat_map(|s| [(s, 0), (s, 2), (s, 3)]).collect();
    for stream in 0..3 {
        host.arm(stream, 0b1101);
    }
    for (i, key) in keys.iter().enumerate() {
        host.set(*key, 16 << (i % 3));
    }
    let mut at_once = 0;
    while host.rings.values().any(|ring| ring.sent < 100) {
        let key = *rng.choice(&keys).unwrap();
        let ring = host.rings[&key];
        let room = host.room(key).min(rng.u32(1..20));
        if ring.sent == ring.produced && room > 0 {
            host.post(key, room);
            let count = rng.u32(1..=room);
            for _ in 0..count {
                host.send(key);
            }
            at_once += u32::from(ring.produced == ring.completed);
        } else if ring.sent < ring.produced {
            host.send(key);
        }
        if rng.u8(..4) == 0 {
            host.card.step(rng.u64(..600)).unwrap();
            host.poll();
        }
    }
    host.settle();
    host.check_complete();
    assert_eq!(host.errors, []);
    at_once
}

/// Tagged messages that stream 0 gets through in so many rounds. In each one the host posts a buffer to stream 1, whose peer sends
/// a message to it: at once if it is `prompt`, when the next one is posted otherwise.
fn tagged_meanwhile(width: usize, prompt: bool) -> u32 {
    const STAG: u32 = 0x100;
    const ROUNDS: u32 = 20;
    const LATENCY: u32 = 1000;
    let slow = BackPressure {
        stall: 0,
        latency: LATENCY..=LATENCY,
    };
    let mut host = Host::new(&Config::simulated(width), slow, 1);
    host.arm_with(0, 0b1, &[stream_context::TAGGED_COMPLETIONS]);
    host.arm(1, 0b1);
    host.set((1, 0), 16);
    let region = [
        (stag_entry::STAG, STAG.into()),
        (stag_entry::REMOTE_WRITE, 1),
        (stag_entry::LENGTH, 1 << 20),
        (stag_entry::ADDRESS, BUS + (32 << 20)),
    ];
    assert!(!host.command(register::command::WRITE_STAG, &region));
    if !prompt {
        host.post((1, 0), 1);
        host.settle();
    }
    // As many beats each whatever the width, and more of them than there is time for. FPDUs are short: the queue in front of `fetch`
    // holds eight, and long ones take as long as the read, so that the buffer is there when its segment's turn comes.
    let payload = 125 * width / 8;
    let most = (14 + width as u16).max(128);
    for number in 0..10 * ROUNDS {
        let mut octets = vec![];
        let message = Message::Tagged {
            stag: STAG,
            to: u64::from(number % 64) * payload as u64,
            rsvd_ulp: 0,
        };
        FpduWriter::new(false, CrcField::Computed)
            .append_message(message, &vec![number as u8; payload], most, &mut octets)
            .unwrap();
        for segment in octets.chunks(4096) {
            host.feed(0, segment.to_vec());
        }
    }
    host.card.step(4 * u64::from(LATENCY)).unwrap();
    host.poll();
    let before = host.tagged;
    for _ in 0..ROUNDS {
        host.post((1, 0), 1);
        host.send((1, 0));
        host.card.step(u64::from(LATENCY)).unwrap();
        host.poll();
    }
    let tagged = host.tagged - before;
    assert!(host.card.untaken(0).unwrap() > 0, "it ran dry");
    host.settle();
    host.check_complete();
    assert_eq!(host.errors, []);
    tagged
}

/// A stream whose segments come in front of their buffers holds itself up, and no other one.
// req: DDP-UNT-17
#[test]
fn tagged_fpdus_of_another_stream_pass_while_a_descriptor_is_read() {
    let mut worst = 100;
    for width in coverage::tested().unwrap() {
        let [meanwhile, alone] = [true, false].map(|prompt| tagged_meanwhile(width, prompt));
        println!("{width} bits: {meanwhile} tagged messages, {alone} with buffers posted ahead");
        worst = worst.min(100 * meanwhile / alone);
    }
    assert!(worst >= 95, "{worst} of a hundred");
}

/// More descriptors than the 16 bits of the doorbell count.
// req: DDP-UNT-17
#[test]
fn doorbells_count_beyond_16_bits() {
    let mut host = Host::new(&Config::simulated(512), BackPressure::NONE, 1);
    host.arm(1, 0b1);
    host.set((1, 0), 32768);
    host.post((1, 0), 2000);
    while host.rings[&(1, 0)].sent < 66_000 {
        host.gathered = Some(vec![]);
        for _ in 0..1000 {
            host.send((1, 0));
        }
        let octets = host.gathered.take().unwrap();
        for segment in octets.chunks(8000) {
            host.feed(1, segment.to_vec());
        }
        host.settle();
        host.post((1, 0), 1000);
    }
    host.check_complete();
    assert_eq!(host.errors, []);
    assert!(host.rings[&(1, 0)].produced > 0x1_0000);
}

/// A segment whose buffer is on its way waits, and with it what its stream has behind it; doorbells, commands and other rings go on.
// req: DDP-UNT-17, DDP-UNT-18
#[test]
fn a_segment_waits_for_a_slow_descriptor() {
    for width in coverage::tested().unwrap() {
        let slow = BackPressure {
            stall: 0,
            latency: 4000..=4000,
        };
        let mut host = Host::new(&Config::simulated(width), slow, 1);
        for stream in [0, 3] {
            host.arm(stream, 0b11);
            host.set((stream, 0), 16);
            host.set((stream, 1), 16);
        }
        host.post((0, 1), 1);
        host.send((0, 1));
        host.card.step(1000).unwrap();
        // it waits; now a doorbell of another row, one of its own, and a command
        host.post((3, 0), 2);
        host.send((3, 0));
        host.post((0, 1), 1);
        assert!(!host.command(register::command::REVOKE_STAG, &[]));
        host.send((0, 1));
        host.settle();
        host.check_complete();
        assert_eq!(host.errors, []);
        let completed = [(0, 1), (3, 0)].map(|key| host.rings[&key].completed);
        assert_eq!(completed, [2, 1]);
        // without a doorbell nothing is waited for
        host.send((0, 1));
        host.settle();
        assert_eq!(host.errors, [(0, 0x202, 1 << 9)]);
    }
}

/// A doorbell in each cycle around the one in which a segment that lacks its buffer is looked up: up to some cycle the segment
/// is placed, later ones fail it. A segment of another stream, which has its buffer, uses it in one of these cycles.
// req: DDP-UNT-12, DDP-UNT-17
#[test]
fn a_doorbell_is_in_time_or_too_late() {
    const CYCLES: u64 = 120;
    for width in coverage::tested().unwrap() {
        let bus = BackPressure {
            stall: 0,
            latency: 60..=60,
        };
        let in_time = |later: &u64| {
            // a card of its own: all of them do the same up to the doorbell
            let mut host = Host::new(&Config::simulated(width), bus.clone(), 1);
            for stream in [0, 1] {
                host.arm(stream, 0b1);
                host.set((stream, 0), 16);
            }
            host.post((0, 0), 1);
            host.settle();
            host.send((0, 0));
            host.send((1, 0));
            host.card.step(*later).unwrap();
            host.post((1, 0), 1);
            host.settle();
            let [with, without] = [0, 1].map(|stream| host.rings[&(stream, 0)].completed);
            assert_eq!(with, 1, "{width} bits, {later} cycles");
            let errors: &[_] = match without {
                1 => &[],
                _ => &[(1, 0x202, 1 << 9)],
            };
            assert_eq!(host.errors, errors, "{width} bits, {later} cycles");
            without == 1
        };
        let cycles = (0..CYCLES).take_while(in_time).count() as u64;
        println!("{width} bits: in time in the first {cycles} cycles");
        assert!((1..CYCLES).contains(&cycles));
        assert!(
            !(cycles..CYCLES).any(|later| in_time(&later)),
            "{width} bits"
        );
    }
}

/// Messages that have come in front of the first one are delivered behind it, in their order.
// req: DDP-UNT-17, DDP-DEL-01
#[test]
fn messages_ahead_of_the_first_one_are_delivered_behind_it() {
    const AHEAD: u32 = 4;
    for width in coverage::tested().unwrap() {
        let mut host = Host::new(&Config::simulated(width), BackPressure::NONE, 1);
        host.arm_with(0, 0b1, &[stream_context::MSN_WINDOW]);
        host.set((0, 0), 16);
        host.post((0, 0), 1 + AHEAD);
        host.settle();
        for ahead in (1..=AHEAD).rev() {
            host.send_ahead((0, 0), ahead);
        }
        host.settle();
        assert_eq!(host.rings[&(0, 0)].completed, 0, "{width} bits");
        host.send((0, 0));
        host.rings.get_mut(&(0, 0)).unwrap().sent += AHEAD;
        host.settle();
        host.check_complete();
        assert_eq!(host.errors, []);
    }
}

/// A stream is closed while buffers of another one wait to be posted: they are posted all the same.
// req: DDP-TEAR-15
#[test]
fn a_close_leaves_buffers_that_wait_alone() {
    for width in coverage::tested().unwrap() {
        let mut host = Host::new(&Config::simulated(width), BackPressure::NONE, 1);
        let keys: Vec<Key> = (0..4).map(|queue| (2, queue)).collect();
        host.arm(2, 0b1111);
        host.arm(3, 0b1);
        for key in &keys {
            host.set(*key, 16);
        }
        host.set((3, 0), 16);
        for key in &keys {
            host.post(*key, 16);
        }
        host.close(3);
        for key in &keys {
            (0..16).for_each(|_| host.send(*key));
        }
        host.settle();
        host.check_complete();
        assert_eq!(host.errors, []);
    }
}

/// A doorbell for a queue without ring does nothing, before and behind the life of a ring.
#[test]
fn doorbells_without_ring_are_ignored() {
    let mut host = Host::new(&Config::simulated(64), BackPressure::RANDOM, 3);
    host.arm(1, 0b11);
    host.set((1, 0), 16);
    for key in [(1, 1), (1, 7), (0, 0), (3, 5)] {
        host.bell(key, 5);
    }
    let never = host.rings[&(1, 0)];
    host.rings.insert((1, 1), never);
    host.send((1, 1));
    host.settle();
    assert_eq!(host.errors, [(1, 0x202, 1 << 9)]);
    assert_eq!(host.card.bus_errors(), 0);
}

/// Descriptors that the bus refuses end their stream with an error event at once, be it that messages with good ones are
/// still on their way. The other stream does not notice. Closed and armed again, with new rings, the stream works.
// req: DDP-ERR-23, AMB-10, DDP-TEAR-15
#[test]
fn a_refused_descriptor_fails_its_stream_alone() {
    for width in coverage::tested().unwrap() {
        let mut host = Host::new(&Config::simulated(width), BackPressure::RANDOM, 4);
        for stream in [1, 2] {
            host.arm(stream, 0b1);
            host.set((stream, 0), 32);
        }
        let bad = host.rings[&(2, 0)].base + 16 * 20;
        host.card.fail_reads(bad..bad + 16);
        for _ in 0..8 {
            for stream in [1, 2] {
                host.post((stream, 0), 4);
                for _ in 0..4 {
                    host.send((stream, 0));
                }
            }
        }
        host.settle();
        assert_eq!(host.errors, [(2, 0x000, 0)]);
        assert_eq!(host.rings[&(1, 0)].completed, 32);
        let completed = host.rings[&(2, 0)].completed;
        assert!(completed <= 20, "{completed}");
        let refused = host.card.bus_errors();
        let beats = (16 * 8_u64).div_ceil(width as u64);
        assert_eq!(refused, beats, "nothing is read behind it");
        // also where nothing is mapped
        host.card.fail_reads(0..0);
        host.close(2);
        host.arm(2, 0b1);
        host.set((2, 0), 16);
        let ring = host.rings[&(2, 0)];
        host.post((2, 0), 3);
        for _ in 0..3 {
            host.send((2, 0));
        }
        host.settle();
        assert_eq!(host.rings[&(2, 0)].completed, 3);
        host.card.unmap(ring.base, 256).unwrap();
        host.post((2, 0), 1);
        host.settle();
        assert_eq!(host.errors, [(2, 0x000, 0); 2]);
        host.send((1, 0)); // has no buffer
        host.settle();
        assert_eq!(host.errors[2], (1, 0x202, 1 << 9));
    }
}

/// On each stream: a ring of more buffers than the device holds fills its queue up and goes on where it was when messages
/// take some; a refused read and a buffer that the queue has no room for, because the host posts others by command beside
/// its ring, end the stream.
// req: DDP-ERR-23, DDP-UNT-17, AMB-10
#[test]
fn the_rings_of_each_stream_fill_up_and_fail() {
    for width in coverage::tested().unwrap() {
        let config = Config::simulated(width);
        let mut host = Host::new(&config, BackPressure::RANDOM, 7);
        for stream in 0..config.streams as u8 {
            let key = (stream, 0);
            host.arm(stream, 0b11);
            host.set(key, 128);
            host.post(key, 100);
            host.settle();
            for burst in [1, 40, 59] {
                for _ in 0..burst {
                    host.send(key);
                }
                host.settle();
            }
            assert_eq!(host.rings[&key].completed, 100);
            let ring = host.rings[&key];
            host.card.fail_reads(ring.base..ring.base + 128 * 16);
            host.post(key, 1);
            host.settle();
            assert_eq!(host.errors, [(stream, 0x000, 0)]);
            host.card.fail_reads(0..0);
            host.close(stream);

            host.arm(stream, 0b11);
            host.fill((stream, 1), config.receive_slots as u32 - 8);
            host.set((stream, 1), 16);
            host.post((stream, 1), 8);
            host.settle();
            assert_eq!(host.errors, [(stream, 0x000, 0)], "there is room for these");
            host.post((stream, 1), 1);
            host.settle();
            assert_eq!(host.errors, [(stream, 0x000, 0); 2]);
            host.close(stream);
            host.errors.clear();
        }
        let refused = host.card.bus_errors();
        let beats = (16 * 8_u64).div_ceil(width as u64);
        assert_eq!(refused, beats * config.streams as u64);
    }
}

/// A stream whose buffers are refused again and again while others are read, for its own ring and for another one's: its first
/// fault counts and the other stream does not notice.
// req: DDP-ERR-23, AMB-10
#[test]
fn refused_buffers_disturb_no_other_ring() {
    for width in coverage::tested().unwrap() {
        let config = Config::simulated(width);
        let mut host = Host::new(&config, BackPressure::NONE, 8);
        let mut rng = Rng::with_seed(8);
        host.arm(2, 0b1);
        host.set((2, 0), 128);
        for round in 1..=30 {
            host.arm(1, 0b1);
            host.fill((1, 0), config.receive_slots as u32);
            host.set((1, 0), 16);
            // none of them has room, and they take their time to be refused; the other ring's need not wait for theirs
            host.post((1, 0), rng.u32(4..12));
            for _ in 0..5 {
                host.card.step(rng.u64(..30)).unwrap();
                host.post((2, 0), 1);
                host.send((2, 0));
            }
            host.settle();
            assert_eq!(host.errors, [(1, 0x000, 0)], "{round}");
            assert_eq!(host.rings[&(2, 0)].completed, 5 * round);
            host.close(1);
            host.errors.clear();
        }
        assert_eq!(host.card.bus_errors(), 0);
    }
}

/// Closed at any time, with slow reads under way: when the command is done the ring is not looked at any more, and the next
/// owner finds nothing of it.
// req: DDP-TEAR-15, AMB-16
#[test]
fn a_closed_stream_leaves_its_rings_alone() {
    for width in coverage::tested().unwrap() {
        let slow = BackPressure {
            stall: 30,
            latency: 200..=1500,
        };
        let mut host = Host::new(&Config::simulated(width), slow, 5);
        let mut rng = Rng::with_seed(6);
        host.arm(0, 0b1);
        host.set((0, 0), 64);
        for round in 0..60 {
            let key = (2, rng.u8(..4));
            host.arm(2, 0b1111);
            host.set(key, 16);
            let posted = rng.u32(1..16);
            host.post(key, posted);
            host.post((0, 0), 2);
            for _ in 0..rng.u32(..=posted) {
                host.send(key);
            }
            host.send((0, 0));
            host.card.step(rng.u64(..1200)).unwrap();
            host.poll();
            host.close(2); // unmaps the ring
            host.card.step(2000).unwrap();
            assert_eq!(host.card.bus_errors(), 0, "round {round}");
            host.send((0, 0));
            host.settle();
            host.check_complete();
        }
        assert_eq!(host.errors, []);
    }
}

/// Cycles a message, when each takes a buffer of a ring: what `check` takes for a segment and for a buffer, with a bus that
/// answers at once and one that takes 250 cycles. The first 64 buffers are on the chip already.
#[test]
fn cycles_per_message() {
    for width in coverage::tested().unwrap() {
        for (latency, most) in [(1, 17), (250, 18)] {
            let bus = BackPressure {
                stall: 0,
                latency: latency..=latency,
            };
            let mut host = Host::new(&Config::simulated(width), bus, 1);
            host.arm(0, 0b1);
            host.set((0, 0), 1024);
            host.post((0, 0), 1024);
            host.settle();
            host.gathered = Some(vec![]);
            for _ in 0..1024 {
                host.send((0, 0));
            }
            let octets = host.gathered.take().unwrap();
            host.card.clear_timing();
            for segment in octets.chunks(1460) {
                host.feed(0, segment.to_vec());
            }
            host.settle();
            host.check_complete();
            let timing = host.card.timing();
            let cycles = timing.last_response.unwrap() - timing.first_beat.unwrap();
            println!(
                "{width} bits, latency {latency}: {} cycles a message",
                cycles / 1024
            );
            assert!(cycles / 1024 <= most, "{cycles}");
        }
    }
}

/// The comparison of memory sees a buffer at the wrong place.
#[test]
#[should_panic(expected = "message 2 of (1, 0)")]
fn a_wrong_descriptor_is_seen() {
    let mut host = Host::new(&Config::simulated(64), BackPressure::NONE, 1);
    host.arm(1, 0b1);
    host.set((1, 0), 16);
    let ring = host.rings[&(1, 0)];
    host.post((1, 0), 1);
    host.rings.get_mut(&(1, 0)).unwrap().produced = 4;
    for (place, number) in [(1, 1), (2, 3), (3, 2)] {
        let address = (BUS + buffer_at((1, 0), number)).to_le_bytes();
        let length = BUFFER.to_le_bytes();
        let at = ring.base - BUS + 16 * place;
        host.file
            .write_all_at(&[address, length].concat(), at)
            .unwrap();
    }
    host.bell((1, 0), 4);
    for _ in 0..4 {
        host.send((1, 0));
    }
    host.settle();
}

/// What makes a ring impossible is refused.
#[test]
fn impossible_rings_are_refused() {
    let mut host = Host::new(&Config::simulated(64), BackPressure::NONE, 1);
    assert!(host.set_command((0, 0), 64, BUS), "not armed");
    host.arm(0, 0b101);
    for (key, entries, base) in [
        ((0, 1), 64, BUS),
        ((0, 4), 64, BUS),
        ((4, 0), 64, BUS),
        ((0, 0), 8, BUS),
        ((0, 0), 65, BUS),
        ((0, 0), 0, BUS),
        ((0, 0), 64, BUS + 128),
    ] {
        assert!(
            host.set_command(key, entries, base),
            "{key:?} {entries} {base:#x}"
        );
    }
    assert!(!host.set_command((0, 2), 32768, BUS));
    assert!(host.set_command((0, 2), 64, BUS), "it has one");
    assert!(!host.set_command((0, 0), 16, BUS));
}
