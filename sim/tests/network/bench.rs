//! A card with a network side, its host, and its peers. Whatever waits has an end.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use fastrand::Rng;
use warpline_driver::{
    Completion, Context, DmaMemory, MemoryRegion, Options, ProtectionDomain, Registration, Stream,
    StreamOptions, VfioUser,
};
use warpline_hdl::Config;
use warpline_sim::{
    Card, CardOptions, Clock, ConnectionHandle, Connections, Event, ListenerHandle, NetworkOptions,
    PathOptions,
};
use warpline_wire::send::{CrcField, FpduWriter, Message};

/// Longest wait for anything, on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// A device of 16 streams, whose rings are smaller than a backlog.
pub fn config() -> Config {
    Config {
        streams: 16,
        ring_octets: 16 << 10,
        commit_octets: 16 << 10,
        stag_slots: 64,
        receive_slots: 16,
        ..Config::simulated(64)
    }
}

/// A path on which nothing is as it was sent.
pub fn rough(seed: u64) -> PathOptions {
    PathOptions {
        cut: 50,
        reorder: 20,
        duplicate: 20,
        lose: 10,
        delay: 50..=1000,
        retransmission: 500..=2000,
        ..PathOptions::rough(seed)
    }
}

pub struct Bench {
    pub connections: Connections,
    pub domain: ProtectionDomain,
    pub context: Context,
    pub clock: Option<Clock>,
    pub card: Card,
}

impl Bench {
    pub fn open(options: NetworkOptions) -> Self {
        let mut bench = Self::stopped(options, 4096);
        bench.start();
        bench
    }

    /// Its time does not advance by itself.
    pub fn stopped(options: NetworkOptions, completion_entries: u32) -> Self {
        let card = Card::open(&config(), CardOptions::default()).unwrap();
        let device = VfioUser::over(card.connect().unwrap(), PATIENCE).unwrap();
        let host = Options {
            completion_entries,
            ..Options::default()
        };
        let context = Context::open(Box::new(device), host).unwrap();
        Self {
            connections: Connections::open(&card, options).unwrap(),
            domain: context.protection_domain().unwrap(),
            context,
            clock: None,
            card,
        }
    }

    pub fn start(&mut self) {
        self.clock = Some(self.card.run_freely().unwrap());
    }

    pub fn region(&self, octets: usize) -> MemoryRegion {
        let memory = DmaMemory::new(octets).unwrap();
        self.domain
            .register(memory, Registration::default())
            .unwrap()
    }

    pub fn arm(&self, number: u8, sequence_start: u32) -> Stream {
        let options = StreamOptions {
            sequence_start,
            queues: 0b1,
            ..StreamOptions::default()
        };
        self.domain.arm(number, options).unwrap()
    }

    pub fn listen(&self, address: &str) -> (ListenerHandle, SocketAddr) {
        let listener = self.connections.listen(address.parse().unwrap()).unwrap();
        (listener, self.connections.address(listener).unwrap())
    }

    /// The next event that `wanted` knows; others are dropped.
    pub fn event<T>(&self, wanted: impl Fn(ConnectionHandle, Event) -> Option<T>) -> T {
        let start = Instant::now();
        loop {
            let left = PATIENCE.saturating_sub(start.elapsed());
            let (handle, event) = self.connections.wait_event(left).expect("no such event");
            if let Some(found) = wanted(handle, event) {
                return found;
            }
        }
    }

    /// The connection that the listener accepts next.
    pub fn accepted(&self) -> ConnectionHandle {
        self.event(|handle, event| matches!(event, Event::Accepted(_)).then_some(handle))
    }

    /// Accepts the next connection and attaches it to an armed stream.
    pub fn attach(&self, stream: u8) -> (ConnectionHandle, Stream) {
        let handle = self.accepted();
        let (sequence, _) = self.connections.sequences(handle).unwrap();
        let armed = self.arm(stream, sequence);
        self.connections
            .attach(handle, stream, sequence, &[])
            .unwrap();
        (handle, armed)
    }

    pub fn completion(&self) -> Completion {
        let queue = self.context.completion_queue();
        queue.wait(PATIENCE).unwrap().expect("no completion")
    }

    pub fn no_completion(&self) {
        let found = self.context.completion_queue().poll().unwrap();
        assert!(found.is_none(), "{found:?}");
    }
}

/// Waits until `done`.
pub fn until(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < PATIENCE, "{what}");
        thread::sleep(Duration::from_millis(2));
    }
}

/// Connects to the card.
pub fn peer(address: SocketAddr) -> TcpStream {
    let peer = TcpStream::connect_timeout(&address, PATIENCE).unwrap();
    peer.set_read_timeout(Some(PATIENCE)).unwrap();
    peer.set_write_timeout(Some(PATIENCE)).unwrap();
    peer
}

/// A thread that writes `octets` in random pieces and returns the socket.
pub fn writes(mut peer: TcpStream, octets: Vec<u8>, seed: u64) -> JoinHandle<TcpStream> {
    thread::spawn(move || {
        let (mut rng, mut rest) = (Rng::with_seed(seed), &octets[..]);
        while !rest.is_empty() {
            let (piece, behind) = rest.split_at(rng.usize(1..=9000).min(rest.len()));
            peer.write_all(piece).unwrap();
            rest = behind;
        }
        peer
    })
}

/// Reads until the card's FIN.
pub fn read_all(peer: &mut TcpStream) -> Vec<u8> {
    let mut octets = Vec::new();
    peer.read_to_end(&mut octets).unwrap();
    octets
}

pub fn tagged(region: &MemoryRegion, at: usize) -> Message {
    Message::Tagged {
        stag: region.stag(),
        to: region.base() + at as u64,
        rsvd_ulp: 0x40,
    }
}

pub fn untagged(msn: u32) -> Message {
    Message::Untagged {
        qn: 0,
        msn,
        rsvd_ulp: [0x43, 1, 2, 3, 4],
    }
}

/// The octets of messages on one stream.
pub fn fpdus(messages: &[(Message, &[u8])]) -> Vec<u8> {
    let mut writer = FpduWriter::new(false, CrcField::Computed);
    let mut octets = Vec::new();
    for (message, payload) in messages {
        writer
            .append_message(*message, payload, 1442, &mut octets)
            .unwrap();
    }
    octets
}

pub fn pattern(rng: &mut Rng, length: usize) -> Vec<u8> {
    std::iter::repeat_with(|| rng.u8(1..))
        .take(length)
        .collect()
}
