//! A card with send queues, its host, and a peer at a socket. The control program's commands are issued by hand.
//!
//! Each test runs over the engine in software and over the RTL's transmit path.

use std::io::Read;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use fastrand::Rng;
use warpline_driver::{
    Completion, Context, DmaMemory, MemoryRegion, Options, ProtectionDomain, Registration,
    SentCompletion, Stream, StreamOptions, VfioUser,
};
use warpline_hdl::Config;
use warpline_regmap::mailbox;
use warpline_regmap::register;
use warpline_regmap::transmit::{
    ARM_TRANSMIT, Element, Flags, Gather, Inline, Payload, TRANSMIT_STATE, Target, emss,
    transmit_context,
};
use warpline_sim::{
    BackPressure, Card, CardOptions, Clock, ConnectionHandle, Connections, ControlPort, Event,
    NetworkOptions,
};

/// Longest wait for anything, on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(120);

pub const SIGNALLED: Flags = Flags {
    signalled: true,
    fence: false,
    terminate: false,
};

/// Who makes FPDUs of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// The card.
    Software,
    /// The device.
    Rtl,
}

/// Runs a test over both engines.
pub fn each(test: impl Fn(Engine)) {
    for engine in [Engine::Software, Engine::Rtl] {
        eprintln!("engine: {engine:?}"); // shown if the test fails
        test(engine);
    }
}

pub fn config(engine: Engine) -> Config {
    Config {
        transmit: engine == Engine::Rtl,
        streams: 4,
        ring_octets: 16 << 10,
        commit_octets: 16 << 10,
        stag_slots: 32,
        receive_slots: 16,
        ..Config::simulated(64)
    }
}

/// How the sending direction is armed.
#[derive(Clone, Copy)]
pub struct Arming {
    pub markers: bool,
    pub crc: bool,
    pub gate: bool,
    pub emss: u16,
}

impl Default for Arming {
    fn default() -> Self {
        Self {
            markers: false,
            crc: true,
            gate: false,
            emss: 1460,
        }
    }
}

pub struct Bench {
    pub control: ControlPort,
    pub connections: Connections,
    pub domain: ProtectionDomain,
    pub context: Context,
    _clock: Clock,
    pub card: Card,
}

/// The control program has noticed the reset.
pub fn notice_reset(control: &ControlPort) {
    let mut word = [0];
    mailbox::HOST_MESSAGE_RESET.put(&mut word, 1);
    control
        .write(mailbox::HOST_MESSAGE.offset, word[0])
        .unwrap();
}

impl Bench {
    pub fn open(engine: Engine, completion_entries: u32) -> Self {
        Self::with(&config(engine), completion_entries, BackPressure::NONE, 1)
    }

    /// Over the RTL, whose ports stall.
    pub fn stalling(width: usize, entries: u32, seed: u64) -> Self {
        let config = Config {
            width,
            ..config(Engine::Rtl)
        };
        Self::with(&config, entries, BackPressure::RANDOM, seed)
    }

    fn with(config: &Config, entries: u32, back_pressure: BackPressure, seed: u64) -> Self {
        let options = CardOptions {
            transmit: true,
            resend: 20,
            back_pressure,
            seed,
            ..CardOptions::default()
        };
        let card = Card::open(config, options).unwrap();
        Self::over(card, entries)
    }

    /// A host of the card, which runs from now on.
    fn over(card: Card, entries: u32) -> Self {
        let device = VfioUser::over(card.connect().unwrap(), PATIENCE).unwrap();
        let host = Options {
            completion_entries: entries,
            ..Options::default()
        };
        let context = Context::open(Box::new(device), host).unwrap();
        let control = card.control_port();
        notice_reset(&control);
        Self {
            control,
            connections: Connections::open(&card, NetworkOptions::default()).unwrap(),
            domain: context.protection_domain().unwrap(),
            context,
            _clock: card.run_freely().unwrap(),
            card,
        }
    }

    /// The host leaves, and another one gets the card.
    pub fn next_host(self) -> Self {
        let card = self.card.clone();
        drop(self);
        Self::over(card, 64)
    }

    pub fn region(&self, octets: &[u8]) -> MemoryRegion {
        let mut memory = DmaMemory::new(octets.len()).unwrap();
        memory.copy_from_slice(octets);
        self.domain
            .register(memory, Registration::default())
            .unwrap()
    }

    /// A command of the control program: whether it was carried out.
    pub fn command(&self, number: u32, words: &[u32]) -> bool {
        for (index, word) in (0..).zip(words) {
            let at = register::ARGUMENT.at(index);
            self.control.write(at, *word).unwrap();
        }
        let command = register::COMMAND.offset;
        self.control.write(command, number).unwrap();
        let start = Instant::now();
        loop {
            let found = [self.control.read(command).unwrap()];
            if register::COMMAND_BUSY.get(&found) == 0 {
                return register::COMMAND_FAILED.get(&found) == 0;
            }
            assert!(start.elapsed() < PATIENCE, "command {number}");
        }
    }

    pub fn arm_transmit(&self, stream: u8, arming: Arming) -> bool {
        let mut words = [0; transmit_context::WORDS];
        transmit_context::STREAM.put(&mut words, stream.into());
        transmit_context::MARKERS.put(&mut words, arming.markers.into());
        transmit_context::CRC.put(&mut words, arming.crc.into());
        transmit_context::GATE.put(&mut words, arming.gate.into());
        transmit_context::EMSS.put(&mut words, arming.emss.into());
        transmit_context::FIRST_MSN.put(&mut words, 1);
        self.command(ARM_TRANSMIT, &words)
    }

    pub fn set_emss(&self, stream: u8, octets: u16) -> bool {
        let mut words = [0; emss::WORDS];
        emss::STREAM.put(&mut words, stream.into());
        emss::EMSS.put(&mut words, octets.into());
        self.command(warpline_regmap::transmit::SET_EMSS, &words)
    }

    pub fn state(&self, stream: u8) -> u32 {
        self.control.read(TRANSMIT_STATE.at(stream.into())).unwrap()
    }

    /// A peer whose connection is attached to an armed stream with a send queue.
    pub fn peer(&self, number: u8, arming: Arming) -> (TcpStream, ConnectionHandle, Stream) {
        let listener = self
            .connections
            .listen("127.0.0.1:0".parse().unwrap())
            .unwrap();
        let address = self.connections.address(listener).unwrap();
        let peer = TcpStream::connect_timeout(&address, PATIENCE).unwrap();
        peer.set_read_timeout(Some(PATIENCE)).unwrap();
        let handle = loop {
            let found = self.connections.wait_event(PATIENCE).expect("a connection");
            if matches!(found.1, Event::Accepted(_)) {
                break found.0;
            }
        };
        self.connections.unlisten(listener);
        let (sequence_start, _) = self.connections.sequences(handle).unwrap();
        let options = StreamOptions {
            sequence_start,
            ..StreamOptions::default()
        };
        let stream = self.domain.arm(number, options).unwrap();
        stream.attach_send_queue(16).unwrap();
        assert!(self.arm_transmit(number, arming));
        self.connections
            .attach(handle, number, sequence_start, &[])
            .unwrap();
        (peer, handle, stream)
    }

    pub fn completion(&self) -> Completion {
        let queue = self.context.completion_queue();
        queue.wait(PATIENCE).unwrap().expect("no completion")
    }

    pub fn sent(&self) -> SentCompletion {
        match self.completion() {
            Completion::Sent(completion) => completion,
            other => panic!("{other:?}"),
        }
    }
}

pub fn read(peer: &mut TcpStream, count: usize) -> Vec<u8> {
    let mut octets = vec![0; count];
    peer.read_exact(&mut octets).unwrap();
    octets
}

pub fn pattern(seed: u64, length: usize) -> Vec<u8> {
    let mut rng = Rng::with_seed(seed);
    std::iter::repeat_with(|| rng.u8(..)).take(length).collect()
}

/// Elements of a region: ranges of it, from its first octet on.
pub fn gather(region: &MemoryRegion, ranges: &[(u64, u32)]) -> Payload {
    let elements: Vec<Element> = ranges
        .iter()
        .map(|&(at, length)| Element {
            stag: region.stag(),
            length,
            offset: region.base() + at,
        })
        .collect();
    Payload::Gather(Gather::new(&elements).unwrap())
}

pub fn inline(octets: &[u8]) -> Payload {
    Payload::Inline(Inline::new(octets).unwrap())
}

pub fn tagged(stag: u32, offset: u64) -> Target {
    Target::Tagged {
        stag,
        offset,
        rsvd_ulp: 0x40,
    }
}

pub fn untagged(queue: u32) -> Target {
    Target::Untagged {
        queue,
        rsvd_ulp: [0x43, 1, 2, 3, 4],
    }
}
