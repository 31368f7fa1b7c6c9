//! A card with its associations and a host that gives commands by hand.

use std::fs::File;
use std::net::SocketAddr;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use fastrand::Rng;
use warpline_hdl::{Config, Sctp};
use warpline_regmap::Field;
use warpline_regmap::layout::{
    close, completion, kind, receive_buffer, stag_entry, stream_context,
};
use warpline_regmap::mailbox;
use warpline_regmap::register::{self, command};
use warpline_regmap::sctp::sctp_context;
use warpline_regmap::transmit::{
    self, ARM_TRANSMIT, SEND_PRODUCER, SEND_PRODUCER_COUNT, SEND_PRODUCER_STREAM, SET_SEND_RING,
    SLOT_OCTETS, SendRequest, send_event, send_ring, slot_offset, status, transmit_context,
};
use warpline_sim::{
    AssociationEvent, AssociationHandle, AssociationOptions, Associations, Card, CardOptions,
    Clock, HostMemory,
};
use warpline_usrsctp::{Association, Event, Options, Timers, Udp};

/// Longest wait for anything, on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(300);
/// The SCTP port that is listened at.
pub const PORT: u16 = 5043;
/// Protection domain of all streams and regions.
const DOMAIN: u16 = 7;

/// Bus address of the host's memory.
const MEMORY: u64 = 0x4_0000_0000;
/// Offsets in it: completion queue, send ring, what is sent, what is written by the peer, receive buffers.
const QUEUE: u64 = 0;
const RING: u64 = 0x2_0000;
pub const SOURCE: u64 = 0x4_0000;
pub const TARGET: u64 = 0x14_0000;
const BUFFERS: u64 = 0x24_0000;
const OCTETS: u64 = 0x34_0000;
/// Octets of the region that is sent, and of the one that is written.
pub const REGION: u64 = 0x10_0000;
/// Octets of a receive buffer.
pub const BUFFER: u32 = 4096;
/// STags of both: slots 1 and 2.
pub const SOURCE_STAG: u32 = 0x0000_0100;
pub const TARGET_STAG: u32 = 0x0000_0200;

const ENTRIES: u32 = 4096;
const SLOTS: u32 = 64;

/// A completion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Completion {
    /// A Send has arrived, in the buffer of its MSN.
    Received { msn: u32, length: u32 },
    /// A request is done.
    Sent { request: u64, ok: bool },
    /// Another entry.
    Other(u32),
}

/// A card, its host's memory, and its associations.
pub struct Bench {
    pub associations: Associations,
    pub card: Card,
    memory: File,
    consumed: u32,
    slots: u16,
    _clock: Clock,
}

pub fn config() -> Config {
    Config {
        transmit: true,
        sctp: Some(Sctp::default()),
        streams: 4,
        ring_octets: 16 << 10,
        commit_octets: 16 << 10,
        stag_slots: 32,
        receive_slots: 16,
        ..Config::simulated(64)
    }
}

/// Retransmissions of a path in this machine.
pub fn options() -> AssociationOptions {
    AssociationOptions {
        streams: 8,
        timers: Timers {
            initial: Duration::from_millis(100),
            least: Duration::from_millis(50),
            most: Duration::from_secs(1),
            attempts: 20,
            retransmissions: 50,
            ..Timers::default()
        },
        ..AssociationOptions::default()
    }
}

/// An association that a peer written by hand has set up with the card's end at `address`.
pub fn set_up(peer: &mut Udp, address: SocketAddr) -> Association {
    let options = Options {
        adaptation: Some(1),
        ..Options::default()
    };
    let mut association = peer.connect(address, PORT, &options).unwrap();
    let start = Instant::now();
    while !matches!(association.next_event(), Some(Event::Up { .. })) {
        assert!(start.elapsed() < PATIENCE);
        peer.serve(Duration::from_millis(1)).unwrap();
    }
    association
}

impl Bench {
    pub fn open(seed: u64, options: AssociationOptions) -> Self {
        let card = Card::open(
            &config(),
            CardOptions {
                seed,
                ..CardOptions::default()
            },
        )
        .unwrap();
        let memory = tempfile::tempfile().unwrap();
        memory.set_len(OCTETS).unwrap();
        card.map(HostMemory {
            iova: MEMORY,
            length: OCTETS,
            file: memory.try_clone().unwrap(),
            offset: 0,
            read: true,
            write: true,
        })
        .unwrap();
        let bench = Self {
            associations: Associations::open(&card, options).unwrap(),
            memory,
            consumed: 0,
            slots: 0,
            _clock: card.run_freely().unwrap(),
            card,
        };
        bench.prepare();
        bench
    }

    /// Completion queue, regions, and the control program's notice of the reset.
    fn prepare(&self) {
        let queue = MEMORY + QUEUE;
        for (register, value) in [
            (register::COMPLETION_BASE_LOW, queue as u32),
            (register::COMPLETION_BASE_HIGH, (queue >> 32) as u32),
            (register::COMPLETION_ENTRIES, ENTRIES),
        ] {
            self.card.write_register(register.offset, value).unwrap();
        }
        let mut word = [0];
        mailbox::HOST_MESSAGE_RESET.put(&mut word, 1);
        let control = self.card.control_port();
        control
            .write(mailbox::HOST_MESSAGE.offset, word[0])
            .unwrap();
        for (stag, at, remote) in [(SOURCE_STAG, SOURCE, 0), (TARGET_STAG, TARGET, 1)] {
            let fields = [
                (stag_entry::STAG, stag.into()),
                (stag_entry::PROTECTION_DOMAIN, DOMAIN.into()),
                (stag_entry::REMOTE_WRITE, remote),
                (stag_entry::LENGTH, REGION),
                (stag_entry::ADDRESS, MEMORY + at),
            ];
            self.command(command::WRITE_STAG, &fields);
        }
    }

    /// A command of the host.
    fn command(&self, number: u32, fields: &[(Field, u64)]) {
        let mut words = [0; 8];
        for (field, value) in fields {
            field.put(&mut words, *value);
        }
        for (index, word) in (0..).zip(words) {
            let at = register::ARGUMENT.at(index);
            self.card.write_register(at, word).unwrap();
        }
        let at = register::COMMAND.offset;
        self.card.write_register(at, number).unwrap();
        let read = || self.card.read_register(at).unwrap();
        self.settle(number, read);
    }

    fn settle(&self, number: u32, read: impl Fn() -> u32) {
        let start = Instant::now();
        loop {
            let found = [read()];
            if register::COMMAND_BUSY.get(&found) == 0 {
                assert_eq!(register::COMMAND_FAILED.get(&found), 0, "command {number}");
                return;
            }
            assert!(start.elapsed() < PATIENCE, "command {number}");
        }
    }

    /// Arms a stream as a session whose first chunk has the number `first`.
    pub fn arm(&self, stream: u8, first: u16) {
        let fields = [
            (stream_context::STREAM, stream.into()),
            (stream_context::MSN_WINDOW, 1),
            (stream_context::QUEUES, 1),
            (stream_context::PROTECTION_DOMAIN, DOMAIN.into()),
            (stream_context::FIRST_MSN, 1),
            (sctp_context::SCTP, 1),
            (stream_context::SEQUENCE_START, first.into()),
        ];
        self.command(command::ARM_STREAM, &fields);
    }

    /// Arms its sending side, for DDP segments of `max_segment` octets at most.
    pub fn arm_transmit(&self, stream: u8, max_segment: u16) {
        let fields = [
            (send_ring::STREAM, stream.into()),
            (send_ring::ENTRIES, SLOTS.into()),
            (send_ring::BASE, MEMORY + RING),
        ];
        self.command(SET_SEND_RING, &fields);
        let mut words = [0; transmit_context::WORDS];
        transmit_context::STREAM.put(&mut words, stream.into());
        transmit_context::CRC.put(&mut words, 1);
        // Of the segment size of TCP, MPA takes 6 octets, and what makes it no multiple of four.
        let emss = (max_segment + 6) & !3;
        transmit_context::EMSS.put(&mut words, emss.into());
        transmit_context::FIRST_MSN.put(&mut words, 1);
        let control = self.card.control_port();
        for (index, word) in (0..).zip(words) {
            control.write(register::ARGUMENT.at(index), word).unwrap();
        }
        let at = register::COMMAND.offset;
        control.write(at, ARM_TRANSMIT).unwrap();
        self.settle(ARM_TRANSMIT, || control.read(at).unwrap());
    }

    pub fn close(&self, stream: u8) {
        self.command(command::CLOSE_STREAM, &[(close::STREAM, stream.into())]);
    }

    /// Posts receive buffers for the messages 1 to `count`.
    pub fn post(&self, stream: u8, count: u64) {
        for index in 0..count {
            let fields = [
                (receive_buffer::STREAM, stream.into()),
                (receive_buffer::LENGTH, BUFFER.into()),
                (
                    receive_buffer::ADDRESS,
                    MEMORY + BUFFERS + index * u64::from(BUFFER),
                ),
            ];
            self.command(command::POST_RECEIVE, &fields);
        }
    }

    /// Octets of the message with this MSN.
    pub fn received(&self, msn: u32, length: u32) -> Vec<u8> {
        self.read(BUFFERS + u64::from((msn - 1) * BUFFER), length.into())
    }

    pub fn send(&mut self, stream: u8, request: &SendRequest) {
        let at = RING + slot_offset(self.slots, SLOTS);
        let octets: Vec<u8> = request
            .emit()
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect();
        assert_eq!(octets.len() as u64, SLOT_OCTETS);
        self.write(at, &octets);
        self.slots = self.slots.wrapping_add(1);
        let mut word = [0];
        SEND_PRODUCER_STREAM.put(&mut word, stream.into());
        SEND_PRODUCER_COUNT.put(&mut word, self.slots.into());
        self.card
            .write_register(SEND_PRODUCER.offset, word[0])
            .unwrap();
    }

    pub fn write(&self, at: u64, octets: &[u8]) {
        self.memory.write_all_at(octets, at).unwrap();
    }

    pub fn read(&self, at: u64, count: u64) -> Vec<u8> {
        let mut octets = vec![0; count as usize];
        self.memory.read_exact_at(&mut octets, at).unwrap();
        octets
    }

    /// Completions since the last call.
    pub fn completions(&mut self) -> Vec<Completion> {
        let offset = register::COMPLETION_PRODUCER.offset;
        let producer = self.card.read_register(offset).unwrap();
        let mut found = vec![];
        while self.consumed != producer {
            let at = QUEUE + 32 * u64::from(self.consumed % ENTRIES);
            let words: Vec<u32> = self
                .read(at, 32)
                .chunks(4)
                .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
                .collect();
            let number = completion::KIND.get(&words) as u32;
            found.push(match number {
                kind::UNTAGGED => Completion::Received {
                    msn: completion::MSN.get(&words) as u32,
                    length: completion::LENGTH.get(&words) as u32,
                },
                transmit::kind::SEND => Completion::Sent {
                    request: send_event::REQUEST.get(&words),
                    ok: send_event::STATUS.get(&words) as u32 == status::OK,
                },
                other => Completion::Other(other),
            });
            self.consumed = self.consumed.wrapping_add(1);
        }
        let offset = register::COMPLETION_CONSUMER.offset;
        self.card.write_register(offset, producer).unwrap();
        found
    }

    /// As [`event`].
    #[track_caller]
    pub fn event<T>(
        &self,
        wanted: impl FnMut(AssociationHandle, &AssociationEvent) -> Option<T>,
    ) -> T {
        event(&self.associations, wanted)
    }
}

/// Waits for the first event that `wanted` makes something of; others are skipped unless they are errors.
#[track_caller]
pub fn event<T>(
    associations: &Associations,
    mut wanted: impl FnMut(AssociationHandle, &AssociationEvent) -> Option<T>,
) -> T {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        let Some((handle, event)) = associations.wait_event(PATIENCE) else {
            break;
        };
        if let Some(found) = wanted(handle, &event) {
            return found;
        }
        let error = matches!(
            event,
            AssociationEvent::Failed(..)
                | AssociationEvent::Stray(..)
                | AssociationEvent::Lost(..)
                | AssociationEvent::Ended(..)
                | AssociationEvent::NotDdp(..)
        );
        assert!(!error, "{event:?}");
    }
    panic!("no such event");
}

/// Octets of a seed.
pub fn pattern(seed: u64, length: usize) -> Vec<u8> {
    let mut rng = Rng::with_seed(seed);
    std::iter::repeat_with(|| rng.u8(..)).take(length).collect()
}
