//! The whole device at its registers, without a driver: what they read after reset, and interrupts from the completion
//! that causes them to the message.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use warpline_design::design;
use warpline_hdl::Config;
use warpline_regmap::layout::{completion, kind, receive_buffer, stag_entry, stream_context};
use warpline_regmap::register::{self, command, interrupt};
use warpline_regmap::{Access, Field, Register};
use warpline_sim::{BackPressure, Card, CardOptions, HostMemory};
use warpline_testbenches::coverage::{self, Counted};
use warpline_wire::send::{CrcField, FpduWriter, Message};

/// Bus address of the completion queue.
const QUEUE: u64 = 0x4_0000_0000;
/// Octets of the memory that it lies in.
const LENGTH: u64 = 64 << 10;
const ENTRY: u64 = 4 * completion::WORDS as u64;
const COMPLETION: u32 = 1 << interrupt::COMPLETION;
const FAULT: u32 = 1 << interrupt::FAULT;

/// A card with a completion queue, and a peer that sends empty tagged messages on stream 0.
struct Bench {
    card: Card,
    _counted: Option<Counted>,
    memory: File,
    peer: FpduWriter,
    sequence: u32,
    sent: u32,
}

impl Bench {
    fn open(width: usize, back_pressure: BackPressure, entries: u32) -> Self {
        let options = CardOptions {
            back_pressure,
            idle: 10,
            ..CardOptions::default()
        };
        let (card, counted) = coverage::open(&Config::simulated(width), options).unwrap();
        Self::around(card, counted, entries)
    }

    /// A bench of a device in whose interrupt block something was changed.
    fn faulty(from: &str, to: &str, entries: u32) -> Self {
        let config = Config::simulated(64);
        let mut sources = design(&config).unwrap().files();
        let (_, text) = sources
            .iter_mut()
            .find(|(_, text)| text.contains(from))
            .unwrap_or_else(|| panic!("no {from}"));
        *text = text.replacen(from, to, 1);
        let card = Card::open_sources(&config, CardOptions::default(), sources).unwrap();
        Self::around(card, None, entries)
    }

    fn around(card: Card, counted: Option<Counted>, entries: u32) -> Self {
        let memory = memory();
        let map = HostMemory {
            iova: QUEUE,
            length: LENGTH,
            file: memory.try_clone().unwrap(),
            offset: 0,
            read: true,
            write: true,
        };
        card.map(map).unwrap();
        let bench = Self {
            card,
            _counted: counted,
            memory,
            peer: FpduWriter::new(false, CrcField::Computed),
            sequence: 0,
            sent: 0,
        };
        bench.write(register::COMPLETION_BASE_LOW, QUEUE as u32);
        bench.write(register::COMPLETION_BASE_HIGH, (QUEUE >> 32) as u32);
        bench.write(register::COMPLETION_ENTRIES, entries);
        bench.write(register::INTERRUPT_ENABLE, COMPLETION | FAULT);
        let fields = [
            (stream_context::CRC, 1),
            (stream_context::TAGGED_COMPLETIONS, 1),
            (stream_context::QUEUES, 1),
            (stream_context::FIRST_MSN, 1),
        ];
        assert!(!bench.command(command::ARM_STREAM, &fields));
        bench
    }

    /// A bench of each width.
    fn each(entries: u32) -> impl Iterator<Item = Self> {
        let widths = coverage::tested().unwrap().into_iter();
        widths.map(move |width| Self::open(width, BackPressure::RANDOM, entries))
    }

    fn read(&self, register: Register) -> u32 {
        self.card.read_register(register.offset).unwrap()
    }

    fn bit(&self, register: Register, field: Field) -> bool {
        field.get(&[self.read(register)]) == 1
    }

    fn write(&self, register: Register, value: u32) {
        self.card.write_register(register.offset, value).unwrap();
    }

    /// Gives a command and waits for its end; true when it is refused.
    fn command(&self, number: u32, fields: &[(Field, u64)]) -> bool {
        let mut words = [0; 8];
        for (field, value) in fields {
            field.put(&mut words, *value);
        }
        for (index, word) in words.into_iter().enumerate() {
            let offset = register::ARGUMENT.at(index as u32);
            self.card.write_register(offset, word).unwrap();
        }
        self.write(register::COMMAND, number);
        while self.bit(register::COMMAND, register::COMMAND_BUSY) {}
        self.bit(register::COMMAND, register::COMMAND_FAILED)
    }

    /// The peer sends that many messages; each makes a completion, in whose `OFFSET` its number is.
    fn send(&mut self, messages: u32) {
        let mut octets = Vec::new();
        for _ in 0..messages {
            let message = Message::Tagged {
                stag: 0,
                to: self.sent.into(),
                rsvd_ulp: 0,
            };
            self.peer
                .append_message(message, &[], 600, &mut octets)
                .unwrap();
            self.sent += 1;
        }
        self.feed(&octets);
    }

    /// The peer sends a message.
    fn send_message(&mut self, message: Message, payload: &[u8]) {
        let mut octets = Vec::new();
        let appended = self.peer.append_message(message, payload, 600, &mut octets);
        appended.unwrap();
        self.feed(&octets);
    }

    fn feed(&mut self, octets: &[u8]) {
        for segment in octets.chunks(700) {
            self.card.feed(0, self.sequence, segment).unwrap();
            self.sequence += segment.len() as u32;
        }
    }

    /// Messages of both vectors once nothing moves any more.
    fn settle(&self) -> [u64; interrupt::COUNT] {
        self.card.run_until_idle().unwrap();
        self.card.messages()
    }
}

/// A file of zeros without a name.
fn memory() -> File {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("queue_{}_{number}", process::id());
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let file = File::options()
        .read(true)
        .write(true)
        .create_new(true)
        .open(&path);
    let file = file.unwrap();
    fs::remove_file(path).unwrap();
    file.set_len(LENGTH).unwrap();
    file
}

fn entry(memory: &File, slot: u32) -> [u32; completion::WORDS] {
    let mut octets = [0; ENTRY as usize];
    memory
        .read_exact_at(&mut octets, ENTRY * u64::from(slot))
        .unwrap();
    std::array::from_fn(|word| {
        u32::from_le_bytes(std::array::from_fn(|octet| octets[4 * word + octet]))
    })
}

// req: AMB-41
#[test]
fn an_armed_completion_makes_one_message_once_it_is_in_memory() {
    Bench::each(16).for_each(completion_and_message);
}

#[test]
#[should_panic(expected = "there is nothing yet")]
fn a_message_without_a_completion_is_noticed() {
    completion_and_message(Bench::faulty("(producer != count_q)", "1'b1", 16));
}

fn completion_and_message(mut bench: Bench) {
    // PHASE of the first entry at the time of each message
    let phases = Arc::new(Mutex::new(Vec::new()));
    let (memory, seen) = (bench.memory.try_clone().unwrap(), Arc::clone(&phases));
    bench.card.set_messages(Box::new(move |vector| {
        let phase = completion::PHASE.get(&entry(&memory, 0));
        seen.lock().unwrap().push((vector, phase));
    }));
    bench.send(1);
    assert_eq!(bench.settle(), [0, 0], "nobody asked");
    assert_eq!(bench.read(register::INTERRUPT_STATE), 0);
    bench.write(register::COMPLETION_ENTRIES, 16);
    bench.memory.write_all_at(&[0; LENGTH as usize], 0).unwrap();

    bench.write(register::COMPLETION_ARM, 0);
    assert_eq!(bench.settle(), [0, 0], "there is nothing yet");
    bench.send(3);
    assert_eq!(bench.settle(), [1, 0]);
    assert_eq!(
        *phases.lock().unwrap(),
        [(interrupt::COMPLETION, 1)],
        "the entry was there before the message"
    );
    assert_eq!(bench.read(register::INTERRUPT_STATE), COMPLETION);
    assert_eq!(bench.read(register::COMPLETION_PRODUCER), 3);

    // armed too late by two entries: at once; and the bit that is still set does not matter
    bench.write(register::COMPLETION_ARM, 1);
    assert_eq!(bench.settle(), [2, 0]);
    bench.write(register::INTERRUPT_STATE, COMPLETION);
    assert_eq!(bench.read(register::INTERRUPT_STATE), 0);
    bench.write(register::COMPLETION_ARM, 3);
    assert_eq!(bench.settle(), [2, 0]);

    // a message that is not wanted waits
    bench.write(register::INTERRUPT_ENABLE, FAULT);
    bench.send(1);
    assert_eq!(bench.settle(), [2, 0]);
    assert_eq!(bench.read(register::INTERRUPT_STATE), COMPLETION);
    bench.write(register::INTERRUPT_ENABLE, COMPLETION | FAULT);
    assert_eq!(bench.settle(), [3, 0]);

    // a new queue knows nothing of an arming for the old one
    bench.write(register::COMPLETION_ARM, 4);
    bench.write(register::COMPLETION_ENTRIES, 16);
    bench.send(1);
    assert_eq!(bench.settle(), [3, 0]);
    assert_eq!(bench.read(register::COMPLETION_PRODUCER), 1);
}

#[test]
fn moderation_lets_completions_share_a_message() {
    Bench::each(1024).for_each(moderation);
}

#[test]
#[should_panic(expected = "sooner than allowed")]
fn a_message_that_comes_too_soon_is_noticed() {
    moderation(Bench::faulty("since_q >= holdoff", "1'b1", 1024));
}

fn moderation(mut bench: Bench) {
    const HOLDOFF: u64 = 1000;
    const MESSAGES: u32 = 200;
    bench.write(register::INTERRUPT_HOLDOFF, HOLDOFF as u32);
    bench.write(register::COMPLETION_ARM, 0);
    let (mut consumed, mut told, mut at) = (0, 0, Vec::new());
    while consumed < MESSAGES {
        // the messages come bit by bit, over many times the holdoff
        if bench.sent < MESSAGES && bench.card.timing().cycles % 64 < 2 {
            bench.send(1);
        }
        bench.card.step(2).unwrap();
        let count = bench.card.messages()[interrupt::COMPLETION];
        if count > told {
            at.push(bench.card.timing().cycles);
            told = count;
            consumed = bench.read(register::COMPLETION_PRODUCER);
            bench.write(register::COMPLETION_CONSUMER, consumed);
            bench.write(register::INTERRUPT_STATE, COMPLETION);
            bench.write(register::COMPLETION_ARM, consumed);
        }
        assert!(bench.card.timing().cycles < 200_000, "{at:?}");
    }
    // two cycles a step: a message is seen up to one cycle late
    let short = at.windows(2).find(|two| two[1] - two[0] + 1 < HOLDOFF);
    assert_eq!(short, None, "sooner than allowed: {at:?}");
    assert!(at.len() > 3 && at.len() < 60, "{at:?}");
}

#[test]
fn a_full_queue_stalls_and_overwrites_nothing() {
    for mut bench in Bench::each(4) {
        // messages by their numbers, in the slots of the queue
        let offsets = |bench: &Bench| -> Vec<u64> {
            let slots = (0..4).map(|slot| entry(&bench.memory, slot));
            slots.map(|entry| completion::OFFSET.get(&entry)).collect()
        };
        bench.write(register::COMPLETION_ARM, 0);
        bench.send(10);
        assert_eq!(bench.settle(), [1, 0]);
        assert_eq!(bench.read(register::COMPLETION_PRODUCER), 4);
        assert_eq!(offsets(&bench), [0, 1, 2, 3]);
        bench.card.step(2000).unwrap();
        assert_eq!(offsets(&bench), [0, 1, 2, 3]);
        // nothing new while the host sleeps with a full queue: it is told at once, there are entries
        bench.write(register::COMPLETION_ARM, 0);
        assert_eq!(bench.settle(), [2, 0]);
        for (consumed, producer, expected) in [
            (1, 5, [4, 1, 2, 3]),
            (4, 8, [4, 5, 6, 7]),
            (8, 10, [8, 9, 6, 7]),
        ] {
            bench.write(register::COMPLETION_ARM, producer - 1);
            bench.write(register::COMPLETION_CONSUMER, consumed);
            bench.card.step(300).unwrap(); // the device takes up what waited
            bench.settle();
            assert_eq!(bench.read(register::COMPLETION_PRODUCER), producer);
            assert_eq!(offsets(&bench), expected);
        }
    }
}

// req: AMB-10
#[test]
fn a_refused_entry_is_a_fault_that_is_told_once() {
    Bench::each(16).for_each(fault);
}

#[test]
#[should_panic(expected = "the first fault")]
fn a_fault_that_is_told_for_ever_is_noticed() {
    fault(Bench::faulty(
        "rise = fault & (~fault_before_q)",
        "rise = fault",
        16,
    ));
}

fn fault(mut bench: Bench) {
    bench.card.fail_writes(QUEUE + ENTRY..QUEUE + ENTRY + 1);
    bench.send(4);
    bench.card.step(2000).unwrap();
    assert_eq!(bench.card.messages(), [0, 1], "the first fault");
    assert_eq!(bench.read(register::INTERRUPT_STATE), FAULT);
    // writing 0, or 1 to another bit, leaves it
    bench.write(register::INTERRUPT_STATE, COMPLETION);
    assert_eq!(bench.read(register::INTERRUPT_STATE), FAULT);
    bench.write(register::INTERRUPT_STATE, FAULT);
    assert_eq!(bench.read(register::INTERRUPT_STATE), 0);
    bench.send(4);
    assert_eq!(bench.settle(), [0, 1], "the same fault");
    // a new queue, and another fault in it
    bench.write(register::COMPLETION_ENTRIES, 16);
    bench.send(1);
    assert_eq!(bench.settle(), [0, 1]);
    bench.send(1);
    assert_eq!(bench.settle(), [0, 2]);
}

/// A new queue begins in any cycle around the one in which an entry leaves: the entry has gone to the old queue and does not
/// count, or it is the first one of the new queue.
// req: AMB-41
#[test]
fn a_new_queue_begins_in_any_cycle() {
    for mut bench in Bench::each(16) {
        let mut met = [0; 2];
        for delay in (0..150).chain(0..150) {
            bench.write(register::COMPLETION_ENTRIES, 16);
            bench.memory.write_all_at(&[0; LENGTH as usize], 0).unwrap();
            bench.send(1);
            bench.settle();
            assert_eq!(bench.read(register::COMPLETION_PRODUCER), 1);
            bench.send(1);
            let number = u64::from(bench.sent - 1);
            bench.card.step(delay).unwrap();
            bench.write(register::COMPLETION_ENTRIES, 16);
            bench.settle();
            let [first, second] = [0, 1].map(|slot| entry(&bench.memory, slot));
            let producer = bench.read(register::COMPLETION_PRODUCER);
            let place = if producer == 0 { second } else { first };
            assert_eq!(completion::OFFSET.get(&place), number, "{delay}");
            assert_eq!(completion::PHASE.get(&place), 1, "{delay}");
            let both = completion::OFFSET.get(&first) == completion::OFFSET.get(&second);
            assert!(!both, "{delay}");
            met[producer as usize] += 1;
            // and the new queue goes on
            bench.send(1);
            bench.settle();
            assert_eq!(bench.read(register::COMPLETION_PRODUCER), producer + 1);
            let next = entry(&bench.memory, producer);
            assert_eq!(completion::OFFSET.get(&next), number + 1, "{delay}");
        }
        assert!(met[0] > 40 && met[1] > 40, "{met:?}");
    }
}

/// An armed completion and a fault come about in any cycles around each other, the same one included: both are told. The
/// memory answers late, so that the fault is not there before the earliest arming.
// req: AMB-10, AMB-41
#[test]
fn a_completion_and_a_fault_are_told_whenever_they_happen() {
    for width in coverage::tested().unwrap() {
        let late = BackPressure {
            latency: 20..=20,
            ..BackPressure::NONE
        };
        let mut bench = Bench::open(width, late, 16);
        for delay in 0..150 {
            bench.card.fail_writes(0..0);
            bench.write(register::COMPLETION_ENTRIES, 16);
            bench.send(1);
            let [completions, faults] = bench.settle();
            bench.card.fail_writes(QUEUE + ENTRY..QUEUE + ENTRY + 1);
            bench.send(1);
            bench.card.step(delay).unwrap();
            bench.write(register::COMPLETION_ARM, 0);
            assert_eq!(bench.settle(), [completions + 1, faults + 1], "{delay}");
            let state = register::INTERRUPT_STATE;
            assert_eq!(bench.read(state), COMPLETION | FAULT, "{delay}");
            bench.write(state, COMPLETION | FAULT);
        }
    }
}

/// A fence is given in any cycle around those in which entries leave and are answered: it ends, and not before the entries
/// that were under way are counted.
// req: AMB-42
#[test]
fn a_fence_ends_in_any_cycle() {
    for mut bench in Bench::each(64) {
        for delay in 0..150 {
            bench.write(register::COMPLETION_ENTRIES, 64);
            bench.memory.write_all_at(&[0; LENGTH as usize], 0).unwrap();
            bench.send(6);
            bench.card.step(delay).unwrap();
            let sent =
                (0..6).filter(|&slot| completion::PHASE.get(&entry(&bench.memory, slot)) == 1);
            let sent = sent.count() as u32;
            assert!(!bench.command(command::REVOKE_STAG, &[]));
            assert!(bench.read(register::COMPLETION_PRODUCER) >= sent, "{delay}");
            bench.settle();
            assert_eq!(bench.read(register::COMPLETION_PRODUCER), 6, "{delay}");
        }
    }
}

/// What the host asks for and cannot have is refused, and changes nothing; a buffer is posted without a ring.
// req: DDP-UNT-12, DDP-UNT-17
#[test]
fn commands_are_refused_for_each_reason() {
    for mut bench in Bench::each(16) {
        let region = |base: u64, length| {
            [
                (stag_entry::STAG, 0x100),
                (stag_entry::BASE, base),
                (stag_entry::LENGTH, length),
            ]
        };
        let write = command::WRITE_STAG;
        assert!(bench.command(write, &region(u64::MAX, 2)), "beyond 2^64");
        assert!(!bench.command(write, &region(u64::MAX, 1)));
        let buffer = |stream, queue| {
            [
                (receive_buffer::STREAM, stream),
                (receive_buffer::QUEUE, queue),
                (receive_buffer::ADDRESS, QUEUE + 0x8000),
                (receive_buffer::LENGTH, 16),
            ]
        };
        let post = command::POST_RECEIVE;
        assert!(bench.command(post, &buffer(0, 1)), "no such queue");
        assert!(bench.command(post, &buffer(0, 4)), "no such queue");
        assert!(bench.command(post, &buffer(1, 0)), "not armed");
        assert!(bench.command(post, &buffer(4, 0)), "no such stream");
        assert!(bench.command(0, &[]), "no such command");
        let slots = Config::simulated(64).receive_slots;
        for number in 0..slots {
            assert!(!bench.command(post, &buffer(0, 0)), "{number}");
        }
        assert!(bench.command(post, &buffer(0, 0)), "full");
        let message = Message::Untagged {
            qn: 0,
            msn: 1,
            rsvd_ulp: [0; 5],
        };
        bench.send_message(message, b"posted");
        bench.settle();
        let entry = entry(&bench.memory, 0);
        assert_eq!(completion::KIND.get(&entry), u64::from(kind::UNTAGGED));
        let mut found = [0; 6];
        bench.memory.read_exact_at(&mut found, 0x8000).unwrap();
        assert_eq!(found, *b"posted");
        assert!(!bench.command(post, &buffer(0, 0)), "room again");
    }
}

/// What a word of the device reads after reset.
fn after_reset(config: &Config, offset: u32) -> u32 {
    let Some((register, index, _)) = register::locate(offset) else {
        return 0;
    };
    let number = |number: usize| number as u32;
    match register.name {
        "SHAPE" => number(config.octets() | config.streams << 16 | config.queues << 24),
        "RING_OCTETS" => number(config.ring_octets),
        "STAG_SLOTS" => number(config.stag_slots),
        "RECEIVE_SLOTS" => number(config.receive_slots),
        "MAX_ULPDU" => number(config.max_ulpdu()),
        "STREAM_LIMIT" if (index as usize) < config.streams => number(config.ring_octets),
        "STREAM_LIMIT" => 0,
        name => (register.reset).unwrap_or_else(|| panic!("{name} has no reset value")),
    }
}

#[test]
fn every_register_reads_its_reset_value_and_takes_what_it_should() {
    for width in coverage::tested().unwrap() {
        let config = Config::simulated(width);
        let (card, _counted) = coverage::open(&config, CardOptions::default()).unwrap();
        let read = |offset| card.read_register(offset).unwrap();
        let ones = |offset, strobes| card.write_octets(offset, u32::MAX, strobes).unwrap();
        let check_reset = |when: &str| {
            for offset in (0..register::SPACE).step_by(4) {
                let expected = after_reset(&config, offset);
                assert_eq!(read(offset), expected, "{offset:#05x} {when}");
            }
        };
        check_reset("after reset");
        for offset in (0..register::SPACE).step_by(4) {
            let register = register::locate(offset).map(|(register, ..)| register);
            let access = register.map(|r| (r.name, r.access));
            let before = read(offset);
            // two octets each: what is only written does not take effect unless its fields are in them
            for strobes in [0b1100, 0b0011] {
                if offset == register::COMMAND.offset {
                    continue;
                }
                ones(offset, strobes);
                let upper = if strobes == 0b1100 {
                    0xffff_0000
                } else {
                    u32::MAX
                };
                let expected = match access {
                    Some(("COMPLETION_ENTRIES", _)) => 0, // no queue has so many
                    Some((_, Access::ReadWrite)) => register.unwrap().writable() & upper,
                    _ => before,
                };
                assert_eq!(read(offset), expected, "{access:?} with {strobes:#06b}");
            }
        }
        // an unknown command is refused, and its number kept
        ones(register::COMMAND.offset, 0b0001);
        let refused = 0xff | 1 << register::COMMAND_FAILED.lsb;
        assert_eq!(read(register::COMMAND.offset), refused);
        // what TEST made happen is there, and goes bit by bit
        let state = register::INTERRUPT_STATE.offset;
        assert_eq!(read(state), COMPLETION | FAULT);
        card.write_octets(state, u32::MAX, 0b1110).unwrap();
        assert_eq!(read(state), COMPLETION | FAULT);
        card.write_register(state, FAULT).unwrap();
        assert_eq!(read(state), COMPLETION);
        card.reset().unwrap();
        check_reset("after another reset");
    }
}
