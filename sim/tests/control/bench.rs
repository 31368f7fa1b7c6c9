//! A card with its control program, and a host that sends messages by hand, through the registers of the mailbox.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use warpline_hdl::Config;
use warpline_regmap::Field;
use warpline_regmap::layout::{close, completion, error_record, stream_context};
use warpline_regmap::mailbox::{
    CARD_MESSAGE, CardMessage, HOST_MESSAGE, HostMessage, Listen, MAILBOX, MESSAGE_WORDS, Transport,
};
use warpline_regmap::register::{self, command};
use warpline_regmap::transmit::{TRANSMIT_ARMED, TRANSMIT_OPEN, TRANSMIT_STATE};
use warpline_sim::{
    Card, CardOptions, Clock, Connections, ControlOptions, ControlProgram, HostMemory,
    NetworkOptions, PathOptions,
};

use warpline_wire::error_number::ErrorNumber;

/// Longest wait for anything.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// The control program natively, and as its image on the soft processor.
pub const PROGRAMS: [ControlOptions; 2] = [
    ControlOptions {
        emss: 1460,
        soft_processor: false,
    },
    ControlOptions {
        emss: 1460,
        soft_processor: true,
    },
];

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

/// A device of 16 streams, as in the tests of the network side and of connections: one model for all.
fn config(engine: Engine) -> Config {
    Config {
        transmit: engine == Engine::Rtl,
        streams: 16,
        ring_octets: 16 << 10,
        commit_octets: 16 << 10,
        stag_slots: 64,
        receive_slots: 16,
        ..Config::simulated(64)
    }
}

/// A completion queue that no test fills: a stream cannot be closed while completions stall.
const COMPLETIONS: u64 = 0x10_0000;
const ENTRIES: u32 = 1 << 16;

fn map_completions(card: &Card) {
    let file = tempfile::tempfile().unwrap();
    let length = u64::from(ENTRIES) * 4 * completion::WORDS as u64;
    file.set_len(length).unwrap();
    let memory = HostMemory {
        iova: COMPLETIONS,
        length,
        file,
        offset: 0,
        read: true,
        write: true,
    };
    card.map(memory).unwrap();
}

fn set_completions(card: &Card) {
    for (register, value) in [
        (register::COMPLETION_BASE_LOW, COMPLETIONS as u32),
        (register::COMPLETION_BASE_HIGH, 0),
        (register::COMPLETION_ENTRIES, ENTRIES),
    ] {
        card.write_register(register.offset, value).unwrap();
    }
}

/// A card that runs, and its host.
pub struct Host {
    pub card: Card,
    pub connections: Arc<Connections>,
    program: Option<ControlProgram>,
    options: ControlOptions,
    _clock: Clock,
}

impl Host {
    pub fn new(engine: Engine, program: ControlOptions) -> Self {
        Self::with(engine, program, PathOptions::default())
    }

    pub fn with(engine: Engine, program: ControlOptions, path: PathOptions) -> Self {
        let options = CardOptions {
            transmit: true,
            ..CardOptions::default()
        };
        let card = Card::open(&config(engine), options).unwrap();
        let clock = card.run_freely().unwrap();
        map_completions(&card);
        set_completions(&card);
        let options = NetworkOptions {
            path,
            ..NetworkOptions::default()
        };
        let connections = Arc::new(Connections::open(&card, options).unwrap());
        let network = Arc::clone(&connections);
        let options = program;
        let program = ControlProgram::start(&card, network, options).unwrap();
        Self {
            card,
            connections,
            program: Some(program),
            options,
            _clock: clock,
        }
    }

    fn pending(&self, message: &register::Register) -> bool {
        self.card.read_register(message.offset).unwrap() == 1
    }

    /// Waits until the card has taken the last message.
    #[track_caller]
    pub fn taken(&self) {
        self.until("the last message is taken", |host| {
            !host.pending(&HOST_MESSAGE)
        });
    }

    #[track_caller]
    pub fn send(&self, message: &HostMessage) {
        self.taken();
        for (index, word) in (0..).zip(message.emit()) {
            let offset = MAILBOX.at(index);
            self.card.write_register(offset, word).unwrap();
        }
        self.card.write_register(HOST_MESSAGE.offset, 1).unwrap();
    }

    /// The next message of the card.
    #[track_caller]
    pub fn next(&self) -> CardMessage {
        self.until("a message", |host| host.pending(&CARD_MESSAGE));
        let mut words = [0; MESSAGE_WORDS];
        for (index, word) in (0..).zip(&mut words) {
            *word = self.card.read_register(MAILBOX.at(index)).unwrap();
        }
        self.card.write_register(CARD_MESSAGE.offset, 1).unwrap();
        CardMessage::parse(&words).unwrap()
    }

    /// `CLOSE_STREAM` by the host's own command port.
    #[track_caller]
    pub fn close_stream(&self, stream: u8) {
        let mut words = [0; close::WORDS];
        close::STREAM.put(&mut words, stream.into());
        assert!(!self.command(command::CLOSE_STREAM, &words));
    }

    /// A command of the host. Returns whether it was refused.
    #[track_caller]
    fn command(&self, number: u32, words: &[u32]) -> bool {
        let write = |offset, value| self.card.write_register(offset, value).unwrap();
        for (index, word) in (0..).zip(words) {
            write(register::ARGUMENT.at(index), *word);
        }
        write(register::COMMAND.offset, number);
        let mut word = [0];
        self.until("the command is done", |host| {
            word = [host.card.read_register(register::COMMAND.offset).unwrap()];
            register::COMMAND_BUSY.get(&word) == 0
        });
        register::COMMAND_FAILED.get(&word) == 1
    }

    /// Listens at a port of this machine.
    pub fn listen(&self, address: &str) -> SocketAddr {
        let mut address: SocketAddr = address.parse().unwrap();
        self.send(&HostMessage::Listen(Listen {
            listener: 1,
            transport: Transport::Tcp,
            address,
            backlog: 8,
        }));
        match self.next() {
            CardMessage::Listening { port, .. } => address.set_port(port),
            other => panic!("{other:?}"),
        }
        address
    }

    /// Sequence number behind the last octet that a stream has in order.
    pub fn edge(&self, stream: u8) -> u32 {
        let offset = register::STREAM_EDGE.at(stream.into());
        self.card.read_register(offset).unwrap()
    }

    /// Waits for something that no message tells.
    #[track_caller]
    pub fn until(&self, what: &str, mut done: impl FnMut(&Self) -> bool) {
        let end = Instant::now() + PATIENCE;
        while !done(self) {
            assert!(Instant::now() < end, "{what}: not in time");
            std::thread::yield_now();
        }
    }

    /// Waits until no connection is left, in the control program and in the network.
    #[track_caller]
    pub fn empties(&self) {
        self.until("no connection is left", |host| {
            host.connections.counts().0 == 0
        });
    }

    /// The control program stops, and begins anew; the device does not.
    pub fn restart(&mut self) {
        self.program = None;
        assert_eq!(self.connections.counts().0, 0, "the network ends them");
        let network = Arc::clone(&self.connections);
        let program = ControlProgram::start(&self.card, network, self.options).unwrap();
        self.program = Some(program);
    }

    /// Whether a stream can send, and whether its gate is open.
    pub fn sends(&self, stream: u8) -> (bool, bool) {
        let offset = TRANSMIT_STATE.at(stream.into());
        let word = [self.card.read_register(offset).unwrap()];
        (
            TRANSMIT_ARMED.get(&word) == 1,
            TRANSMIT_OPEN.get(&word) == 1,
        )
    }

    /// What a stream has failed by.
    pub fn error(&self, stream: u8) -> Option<ErrorNumber> {
        let offset = register::ERROR_RECORD.at(stream.into());
        let word = [self.card.read_register(offset).unwrap()];
        let part = |field: Field| field.get(&word) as u8;
        let valid = part(error_record::VALID) == 1;
        valid.then(|| {
            let (kind, code) = (part(error_record::TYPE), part(error_record::CODE));
            ErrorNumber::from_parts(kind, code).unwrap()
        })
    }

    /// Whether a stream receives: the host cannot arm it.
    #[track_caller]
    pub fn receives(&self, stream: u8) -> bool {
        let mut words = [0; stream_context::WORDS];
        stream_context::STREAM.put(&mut words, stream.into());
        self.command(command::ARM_STREAM, &words)
    }

    pub fn reset(&self) {
        self.card.reset().unwrap();
        set_completions(&self.card);
    }
}
