//! A card for tests: the control program between scripted registers, scripted TCP and a host that sends messages.

#![allow(dead_code, reason = "each test binary uses a part")]

mod registers;
mod tcp;

pub use registers::{RING, Registers, Stopped};
pub use tcp::{CARD_FIRST, Control, End, PEER_FIRST, Session, Tcp};

use std::net::SocketAddr;
use warpline_firmware::{Firmware, Usage};
use warpline_regmap::mailbox::{
    Accept, CardMessage, Connect, HostMessage, Listen, PrivateData, Requested, Rtr, Settings,
    StreamOptions, Transport,
};
use warpline_wire::start::{self, Answer, Initiator, Responder};

pub const CONNECTIONS: usize = 16;
pub const LISTENERS: usize = 3;
pub const LISTENER: u16 = 9;

pub struct Card {
    pub firmware: Firmware<Tcp, CONNECTIONS, LISTENERS>,
    pub registers: Registers,
    pub tcp: Tcp,
    pub now: u64,
    /// When the next turn is due.
    pub due: Option<u64>,
    /// The host does not read messages.
    pub deaf: bool,
    pub messages: Vec<CardMessage>,
    /// Streams that the host was told of, since it closed them last.
    pub told: Vec<u8>,
    pub turns: u64,
}

impl Card {
    pub fn new() -> Self {
        Self {
            firmware: Firmware::new(),
            registers: Registers::new(16),
            tcp: Tcp::default(),
            now: 1000,
            due: None,
            deaf: false,
            messages: Vec::new(),
            told: Vec::new(),
            turns: 0,
        }
    }

    /// With a listener; the second value is the network's name of it.
    pub fn listening() -> (Self, u32) {
        let mut card = Self::new();
        let listener = card.listen(LISTENER, 8);
        (card, listener)
    }

    pub fn listen(&mut self, listener: u16, backlog: u16) -> u32 {
        self.listen_by(Transport::Tcp, listener, backlog)
    }

    pub fn listen_by(&mut self, transport: Transport, listener: u16, backlog: u16) -> u32 {
        let address = SocketAddr::from(([0, 0, 0, 0], 0));
        self.host(&HostMessage::Listen(Listen {
            listener,
            transport,
            address,
            backlog,
        }));
        let port = 40_000;
        assert_eq!(self.next(), CardMessage::Listening { listener, port });
        *self.tcp.listeners.keys().last().unwrap()
    }

    /// One turn, and the host reads a message.
    fn turn(&mut self) {
        self.turns += 1;
        self.due = self
            .firmware
            .poll(&mut self.registers, &mut self.tcp, self.now);
        assert!(
            self.due.is_none_or(|due| due >= self.now),
            "due in the past"
        );
        if self.registers.card_pending && !self.deaf {
            let message = CardMessage::parse(&self.registers.card_window);
            let message = message.expect("a message");
            if let CardMessage::Armed(armed) = &message {
                self.told.push(armed.stream);
            }
            self.messages.push(message);
            self.registers.card_pending = false;
        }
    }

    /// The program has stopped, and begins anew; the device does not.
    pub fn restart(&mut self) {
        self.tcp.stops();
        self.firmware = Firmware::new();
    }

    /// The host closes a stream that it was told of.
    pub fn closes(&mut self, stream: u8) {
        self.told.retain(|told| *told != stream);
        self.registers.host_closes(stream);
    }

    /// Turns until nothing is left to be done but wait. Time advances while a command runs.
    pub fn settle(&mut self) {
        for _ in 0..10_000 {
            let before = self.messages.len();
            self.turn();
            let latest = self.now + u64::from(self.registers.is_running());
            if let Some(due) = self.due.filter(|due| *due <= latest) {
                self.now = due;
            } else if self.messages.len() == before {
                return;
            }
        }
        panic!("the control program does not come to rest");
    }

    /// Lets time pass, with turns when they are due.
    pub fn pass(&mut self, milliseconds: u64) {
        let end = self.now + milliseconds;
        self.settle();
        while let Some(due) = self.due.filter(|due| *due <= end) {
            self.now = due;
            self.settle();
        }
        self.now = end;
        self.settle();
    }

    /// The host sends a message.
    pub fn host(&mut self, message: &HostMessage) {
        assert!(
            !self.registers.host_pending,
            "the last message was not taken"
        );
        self.registers.host_window = message.emit();
        self.registers.host_pending = true;
        self.settle();
    }

    /// The next message of the card.
    #[track_caller]
    pub fn next(&mut self) -> CardMessage {
        assert!(!self.messages.is_empty(), "no message has come");
        self.messages.remove(0)
    }

    #[track_caller]
    pub fn quiet(&self) {
        assert_eq!(self.messages, []);
    }

    pub fn usage(&self) -> Usage {
        self.firmware.usage()
    }

    /// Nothing is left but listeners.
    #[track_caller]
    pub fn empty(&self) {
        let listeners = self.tcp.listeners.len();
        let usage = Usage {
            listeners,
            ..Usage::default()
        };
        assert_eq!(self.usage(), usage);
        assert_eq!(self.registers.armed(), 0, "a stream is left");
        assert!(self.tcp.open.is_empty(), "a connection is left");
        assert!(self.messages.is_empty(), "{:?}", self.messages);
    }

    /// A peer connects and sends its Request, and the host is told.
    pub fn requested(&mut self, listener: u32, request: &Request) -> (u32, Initiator, Requested) {
        let handle = self.tcp.arrives(listener);
        let mut peer = request.initiator();
        self.tcp.sends(handle, peer.output());
        peer.sent(peer.output().len());
        self.settle();
        let CardMessage::Requested(requested) = self.next() else {
            panic!("no REQUESTED");
        };
        (handle, peer, requested)
    }

    /// A connection in full operation, as the Responder: its handle, its number, its stream.
    pub fn established(&mut self, listener: u32) -> (u32, u16, u8) {
        let (handle, mut peer, requested) = self.requested(listener, &Request::default());
        let connection = requested.connection;
        self.host(&accept(connection));
        let CardMessage::Armed(armed) = self.next() else {
            panic!("no ARMED");
        };
        self.host(&HostMessage::Proceed { connection });
        assert_eq!(self.next(), CardMessage::Established { connection });
        let reply = self.tcp.at(handle).outbound.clone();
        assert_eq!(peer.input(&reply), reply.len());
        assert_eq!(peer.poll(0), Some(start::Event::Replied));
        (handle, connection, armed.stream)
    }

    /// The host makes a connection, TCP connects, and the Request is out: its handle and the peer, who has taken it.
    pub fn connecting(&mut self, message: Connect) -> (u32, Responder) {
        self.host(&HostMessage::Connect(message));
        self.quiet();
        let handle = *self.tcp.open.keys().last().unwrap();
        self.tcp.answers(handle);
        self.settle();
        let request = self.tcp.at(handle).outbound.clone();
        let mut peer = Responder::new(enhanced_settings(), 0);
        assert_eq!(peer.input(&request), request.len());
        assert_eq!(peer.poll(0), Some(start::Event::Requested));
        (handle, peer)
    }
}

/// What a peer asks for.
#[derive(Clone, Default)]
pub struct Request {
    pub settings: Option<start::Settings>,
    pub enhanced: Option<start::Enhanced>,
    pub private_data: Vec<u8>,
}

impl Request {
    pub fn initiator(&self) -> Initiator {
        let settings = self.settings.unwrap_or(enhanced_settings());
        Initiator::new(settings, self.enhanced, &self.private_data, 0, 0).unwrap()
    }
}

/// A peer with inbound RDMA Reads.
pub fn enhanced_settings() -> start::Settings {
    start::Settings {
        max_ird: 64,
        ..start::Settings::default()
    }
}

pub const WRITE: Rtr = Rtr {
    send: false,
    write: true,
    read: false,
};

pub fn accept_with(connection: u16, private_data: &[u8], stream: StreamOptions) -> HostMessage {
    HostMessage::Accept(Accept {
        connection,
        ird: 4,
        ord: 2,
        rtr: WRITE,
        stream,
        private_data: PrivateData::new(private_data).unwrap(),
    })
}

pub fn accept(connection: u16) -> HostMessage {
    accept_with(connection, b"", StreamOptions::default())
}

pub fn connect(connection: u16) -> Connect {
    Connect {
        connection,
        transport: Transport::Tcp,
        address: "198.51.100.2:4444".parse().unwrap(),
        offer: None,
        stream: StreamOptions::default(),
        private_data: PrivateData::EMPTY,
    }
}

pub fn configure(change: impl FnOnce(&mut Settings)) -> HostMessage {
    let mut settings = Settings::default();
    change(&mut settings);
    HostMessage::Configure(settings)
}

/// What a Responder answers.
pub fn answer() -> Answer {
    Answer {
        ird: 8,
        ord: 4,
        ..Answer::default()
    }
}

/// A generator of numbers, splitmix64 (Steele, Lea and Flood 2014).
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) % end
    }
}
