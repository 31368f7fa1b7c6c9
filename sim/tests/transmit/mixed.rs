//! Streams side by side, random requests, peers that read late, streams that are closed under way, and a reset: what leaves is
//! compared octet by octet with what `wire` makes of the same requests.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use fastrand::Rng;
use warpline_driver::{Completion, MemoryRegion, SendStatus, SentCompletion, Stream};
use warpline_regmap::transmit::{Element, Flags, Gather, Payload, TRANSMIT_IDLE, Target};
use warpline_sim::ConnectionHandle;
use warpline_wire::ddp::MAX_HEADER_LEN;
use warpline_wire::mpa;
use warpline_wire::send::{CrcField, FpduWriter, Message, ddp_segments};

use crate::bench::{Arming, Bench, Engine, PATIENCE, each, inline, pattern, tagged};

/// Octets of the region that all streams send from.
const REGION: usize = 200_000;
/// Slots of a send ring.
const SLOTS: usize = 16;

/// A request, and how it ends if its stream is not closed before.
struct Posted {
    id: u64,
    length: u32,
    /// None: it is not reported.
    status: Option<SendStatus>,
}

/// A stream and its peer.
struct Sender {
    stream: Option<Stream>,
    handle: ConnectionHandle,
    reader: JoinHandle<Vec<u8>>,
    mulpdu: u16,
    writer: FpduWriter,
    msns: [u32; 2],
    next: u64,
    ended: bool,
    posted: VecDeque<Posted>,
    /// Octets that the peer is to get.
    expected: Vec<u8>,
    /// The stream is being closed.
    closed: bool,
    /// A request was flushed for that: so are those behind it.
    flushes: bool,
}

/// Reads up to the end, in pieces and late.
fn read_late(mut peer: TcpStream, seed: u64) -> Vec<u8> {
    let mut rng = Rng::with_seed(seed);
    let (mut octets, mut piece) = (vec![], [0; 8192]);
    loop {
        if rng.u8(..8) == 0 {
            thread::sleep(Duration::from_millis(rng.u64(1..4)));
        }
        let most = rng.usize(1..=piece.len());
        match peer.read(&mut piece[..most]) {
            Ok(0) => return octets,
            Ok(count) => octets.extend_from_slice(&piece[..count]),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => return octets,
            Err(error) => panic!("{error}"),
        }
    }
}

impl Sender {
    fn new(bench: &Bench, number: u8, rng: &mut Rng) -> Self {
        let arming = Arming {
            markers: rng.bool(),
            crc: rng.u8(..4) > 0,
            gate: false,
            emss: [128, 300, 536, 1460, 8960][rng.usize(..5)],
        };
        let (peer, handle, stream) = bench.peer(number, arming);
        let seed = rng.u64(..);
        let crc = match arming.crc {
            true => CrcField::Computed,
            false => CrcField::Zero,
        };
        Self {
            stream: Some(stream),
            handle,
            reader: thread::spawn(move || read_late(peer, seed)),
            mulpdu: mpa::mulpdu(arming.emss.into(), arming.markers),
            writer: FpduWriter::new(arming.markers, crc),
            msns: [1, 1],
            next: 0,
            ended: false,
            posted: VecDeque::new(),
            expected: vec![],
            closed: false,
            flushes: false,
        }
    }

    /// Posts a request; `last`: it is reported, and fails only with those in front of it.
    fn post(&mut self, region: &MemoryRegion, memory: &[u8], rng: &mut Rng, last: bool) {
        let flags = Flags {
            signalled: last || rng.u8(..3) == 0,
            fence: rng.u8(..6) == 0,
            terminate: false,
        };
        // Elements, and the octet of the message from which on they lie outside.
        let (mut elements, mut octets, mut outside) = (vec![], vec![], None);
        let payload = if last || rng.u8(..4) == 0 {
            octets = (0..rng.usize(..=64)).map(|_| rng.u8(..)).collect();
            inline(&octets)
        } else {
            let most = [16, 3000, 30_000][rng.usize(..3)];
            for _ in 0..rng.usize(..=8) {
                let length = rng.usize(1..=most.min(REGION));
                let at = rng.usize(..=REGION - length);
                let mut element = Element {
                    stag: region.stag(),
                    length: length as u32,
                    offset: region.base() + at as u64,
                };
                if rng.u16(..400) == 0 {
                    element.offset = region.base() + REGION as u64;
                    outside = outside.or(Some(octets.len() as u64));
                }
                octets.extend_from_slice(&memory[at..at + length]);
                elements.push(element);
            }
            Payload::Gather(Gather::new(&elements).unwrap())
        };
        let queue = rng.u32(..2);
        let target = match rng.bool() {
            true => tagged(0x55AA, rng.u64(..1 << 60)),
            false => Target::Untagged {
                queue,
                rsvd_ulp: [rng.u8(..), 1, 2, 3, 4],
            },
        };
        let id = self.next;
        self.next += 1;
        let length = octets.len() as u32;
        let ring = self.stream.as_ref().unwrap().send_queue().unwrap();
        ring.post(target, flags, id, payload).unwrap();

        let status = if self.ended {
            Some(SendStatus::Flushed)
        } else if outside.is_some() {
            Some(SendStatus::Bounds)
        } else {
            flags.signalled.then_some(SendStatus::Ok)
        };
        self.posted.push_back(Posted { id, length, status });
        if !self.ended {
            self.expect(target, &octets, outside.unwrap_or(u64::MAX));
        }
        self.ended |= outside.is_some();
    }

    /// Adds the segments of a message that end at or before octet `outside` of it.
    fn expect(&mut self, target: Target, octets: &[u8], outside: u64) {
        let message = match target {
            Target::Tagged {
                stag,
                offset,
                rsvd_ulp,
            } => Message::Tagged {
                stag,
                to: offset,
                rsvd_ulp,
            },
            Target::Untagged { queue, rsvd_ulp } => {
                let msn = self.msns[queue as usize];
                self.msns[queue as usize] += 1;
                Message::Untagged {
                    qn: queue,
                    msn,
                    rsvd_ulp,
                }
            }
        };
        for segment in ddp_segments(message, octets.len() as u64, self.mulpdu).unwrap() {
            if segment.payload.end > outside {
                return;
            }
            let mut header = [0; MAX_HEADER_LEN];
            let length = segment.header.emit(&mut header);
            let payload = &octets[segment.payload.start as usize..segment.payload.end as usize];
            let written = self
                .writer
                .append(&header[..length], payload, &mut self.expected);
            written.unwrap();
        }
    }

    /// A completion: in order, and none left out that is due.
    fn complete(&mut self, sent: &SentCompletion) {
        loop {
            let posted = self.posted.pop_front().expect("a request");
            if posted.id != sent.id {
                let left_out = posted.status.is_some() || self.flushes;
                assert!(!left_out, "{} is not reported, {sent:?}", posted.id);
                continue;
            }
            assert_eq!(posted.length, sent.length);
            if self.closed && sent.status == SendStatus::Flushed {
                self.flushes = true;
            } else {
                assert_eq!(Some(sent.status), posted.status, "{sent:?}");
            }
            return;
        }
    }
}

struct Mixed {
    bench: Bench,
    memory: Vec<u8>,
    region: MemoryRegion,
    rng: Rng,
}

impl Mixed {
    fn open(engine: Engine, seed: u64) -> Self {
        let bench = match engine {
            Engine::Software => Bench::open(engine, 64),
            Engine::Rtl => Bench::stalling(64, 64, seed),
        };
        let memory = pattern(seed, REGION);
        let region = bench.region(&memory);
        Self {
            bench,
            memory,
            region,
            rng: Rng::with_seed(seed),
        }
    }

    fn post(&mut self, sender: &mut Sender, last: bool) {
        sender.post(&self.region, &self.memory, &mut self.rng, last);
    }

    /// Takes the completions that are there; waits for one if `one`.
    fn complete(&self, senders: &mut [Option<Sender>], one: bool) {
        let queue = self.bench.context.completion_queue();
        let mut sent = match one {
            true => Some(self.bench.completion()),
            false => queue.poll().unwrap(),
        };
        while let Some(completion) = sent {
            match &completion {
                Completion::Sent(sent) => {
                    let sender = senders[usize::from(sent.stream)].as_mut();
                    sender.expect("a stream").complete(sent);
                }
                Completion::Closed(_) => {} // the peer has read all
                other => panic!("{other:?}"),
            }
            sent = queue.poll().unwrap();
        }
    }

    /// Posts at random, to all streams.
    fn traffic(&mut self, senders: &mut [Option<Sender>], steps: usize) {
        for _ in 0..steps {
            let number = self.rng.usize(..senders.len());
            if let Some(sender) = &mut senders[number]
                && sender.posted.len() < SLOTS - 2
            {
                self.post(sender, false);
            }
            if self.rng.u8(..6) == 0 {
                let some =
                    |sender: &Sender| sender.posted.iter().any(|posted| posted.status.is_some());
                let due = senders.iter().flatten().any(some);
                let one = due && self.rng.bool();
                self.complete(senders, one);
            }
        }
    }

    /// Ends a stream when all is sent: the peer has got all octets.
    fn finish(&mut self, senders: &mut [Option<Sender>], number: usize) {
        let mut sender = senders[number].take().unwrap();
        self.post(&mut sender, true);
        senders[number] = Some(sender);
        while !senders[number].as_ref().unwrap().posted.is_empty() {
            self.complete(senders, true);
        }
        let sender = senders[number].take().unwrap();
        let end = Instant::now() + PATIENCE;
        while TRANSMIT_IDLE.get(&[self.bench.state(number as u8)]) == 0 {
            assert!(Instant::now() < end, "stream {number} is not idle");
        }
        self.bench.connections.finish(sender.handle).unwrap();
        let octets = sender.reader.join().unwrap();
        assert_eq!(octets.len(), sender.expected.len());
        assert!(octets == sender.expected, "stream {number}");
        sender.stream.unwrap().close().unwrap();
        self.bench.connections.close(sender.handle);
    }

    /// Closes a stream under way: the peer has got a part.
    fn close(&mut self, senders: &mut [Option<Sender>], number: usize) {
        let sender = senders[number].as_mut().unwrap();
        sender.closed = true;
        sender.stream.take().unwrap().close().unwrap();
        self.complete(senders, false);
        let sender = senders[number].take().unwrap();
        let mut left = sender.posted.iter();
        let due = left.any(|posted| posted.status.is_some() || sender.flushes);
        assert!(!due, "a request of stream {number} is not reported");
        self.bench.connections.close(sender.handle);
        let octets = sender.reader.join().unwrap();
        assert!(sender.expected.starts_with(&octets), "stream {number}");
    }

    /// Traffic on all streams, which end and begin anew, to the end of all.
    fn run(&mut self, rounds: usize) {
        let mut senders: Vec<Option<Sender>> = (0..4)
            .map(|number| Some(Sender::new(&self.bench, number, &mut self.rng)))
            .collect();
        for _ in 0..rounds {
            self.traffic(&mut senders, 40);
            let number = self.rng.usize(..4);
            match self.rng.bool() {
                true => self.finish(&mut senders, number),
                false => self.close(&mut senders, number),
            }
            let sender = Sender::new(&self.bench, number as u8, &mut self.rng);
            senders[number] = Some(sender);
        }
        for number in 0..4 {
            self.finish(&mut senders, number);
        }
    }
}

#[test]
fn streams_with_random_requests_end_and_begin_anew() {
    each(|engine| {
        for seed in 1..=2 {
            eprintln!("seed: {seed}");
            Mixed::open(engine, seed).run(12);
        }
    });
}
