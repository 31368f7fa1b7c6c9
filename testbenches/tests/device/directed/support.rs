//! Bench, streams and completions that the tests of the whole device share.

use serde_json::Value;
use std::ops::Range;
use std::time::Duration;
use warpline_driver::{
    Checks, Completion, Context, DmaMemory, ErrorNumber, MemoryRegion, Options, ProtectionDomain,
    Registration, Stream, StreamOptions, VfioUser,
};
use warpline_hdl::Config;
use warpline_regmap::register;
use warpline_sim::{BackPressure, Card, CardOptions};
use warpline_testbenches::coverage::{self, Counted};
use warpline_wire::mpa;
use warpline_wire::send::{CrcField, FpduWriter, Message};

/// Time for an answer of the card, on a busy machine.
pub const TIMEOUT: Duration = Duration::from_secs(60);
/// STag and Tagged Offset of the region that all benches have.
pub const STAG: u32 = 0x1234_5678;
pub const BASE: u64 = 0x1_0000_0000;
/// Its octets.
pub const LENGTH: usize = 70_000;
/// What memory holds before anything is written.
pub const UNTOUCHED: u8 = 0xEE;

pub fn vectors() -> Value {
    serde_json::from_str(include_str!("../../../../wire/tests/vectors.json")).unwrap()
}

/// Octets of a hexadecimal string.
pub fn hex(value: &Value) -> Vec<u8> {
    let digits = value.as_str().unwrap().as_bytes();
    let octet = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(octet).collect()
}

/// Payload pattern `seed` of the golden vectors.
pub fn pattern(seed: usize, length: usize) -> Vec<u8> {
    (0..length).map(|i| (7 * i + seed) as u8).collect()
}

/// A completion in short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Octets of the last segment, and whether it was empty.
    Write(u8, u32, bool),
    /// Stream, queue, MSN, message.
    Send(u8, u8, u32, Vec<u8>),
    /// Stream and position: closed by its peer.
    Closed(u8, u32),
    /// Stream, number, checks, position.
    Error(u8, ErrorNumber, Checks, u32),
    /// Stream, queue, MSN, all octets of the buffer.
    Flushed(u8, u8, u32, Vec<u8>),
}

pub struct Bench {
    pub card: Card,
    pub context: Context,
    pub domain: ProtectionDomain,
    pub _counted: Option<Counted>,
}

impl Bench {
    pub fn open(width: usize, back_pressure: BackPressure, completion_entries: u32) -> Self {
        let options = CardOptions {
            back_pressure,
            idle: 10,
            ..CardOptions::default()
        };
        let (card, _counted) = coverage::open(&Config::simulated(width), options).unwrap();
        let context = open(&card, completion_entries);
        let domain = context.protection_domain().unwrap();
        Self {
            _counted,
            card,
            context,
            domain,
        }
    }

    /// A bench of each width.
    pub fn each() -> impl Iterator<Item = Self> {
        coverage::tested()
            .unwrap()
            .into_iter()
            .map(|width| Self::open(width, BackPressure::RANDOM, 256))
    }

    pub fn register(&self, stag: u32, base: u64, length: usize) -> MemoryRegion {
        let registration = Registration {
            base: Some(base),
            ..Registration::default()
        };
        self.register_as(stag, length, registration)
    }

    pub fn register_as(
        &self,
        stag: u32,
        length: usize,
        registration: Registration,
    ) -> MemoryRegion {
        register(&self.domain, stag, length, registration)
    }

    pub fn region(&self) -> MemoryRegion {
        self.register(STAG, BASE, LENGTH)
    }

    pub fn arm(&self, number: u8, options: StreamOptions) -> Stream {
        self.domain.arm(number, options).unwrap()
    }

    /// Posts untouched buffers of these lengths.
    pub fn post(&self, stream: &Stream, queue: u8, lengths: &[u32]) {
        for &length in lengths {
            let mut buffer = self.context.buffers(1, length).unwrap().remove(0);
            buffer
                .write_at(0, &vec![UNTOUCHED; length as usize])
                .unwrap();
            stream.receive_queue(queue).unwrap().post(buffer).unwrap();
        }
    }

    /// Gives the device a command beside the driver; whether it is refused.
    pub fn refuses(&self, command: u32, arguments: &[u32]) -> bool {
        for (index, word) in (0..).zip(arguments) {
            let offset = register::ARGUMENT.at(index);
            self.card.write_register(offset, *word).unwrap();
        }
        let offset = register::COMMAND.offset;
        self.card.write_register(offset, command).unwrap();
        for _ in 0..10_000 {
            let state = [self.card.read_register(offset).unwrap()];
            if register::COMMAND_BUSY.get(&state) == 0 {
                return register::COMMAND_FAILED.get(&state) == 1;
            }
        }
        panic!("command {command} does not end");
    }

    /// Octets arrive in segments of up to `most` octets.
    pub fn feed(&self, stream: u8, start: u32, octets: &[u8], most: usize) {
        for (i, segment) in octets.chunks(most).enumerate() {
            let sequence = start.wrapping_add((i * most) as u32);
            self.card.feed(stream, sequence, segment).unwrap();
        }
    }

    /// Feeds these octets of a stream that begins at sequence number `start` as one segment, which has gone by then.
    pub fn feed_part(&self, stream: u8, start: u32, octets: &[u8], part: Range<usize>) {
        let sequence = start.wrapping_add(part.start as u32);
        self.feed(stream, sequence, &octets[part], octets.len());
        self.card.step(400).unwrap();
    }

    /// Runs until nothing moves, and says what was reported.
    pub fn settle(&self) -> Vec<Seen> {
        self.card.run_until_idle().unwrap();
        self.poll()
    }

    pub fn poll(&self) -> Vec<Seen> {
        let queue = self.context.completion_queue();
        std::iter::from_fn(|| queue.poll().unwrap())
            .map(seen)
            .collect()
    }
}

pub fn open(card: &Card, completion_entries: u32) -> Context {
    let options = Options {
        completion_entries,
        ..Options::default()
    };
    let device = VfioUser::over(card.connect().unwrap(), TIMEOUT).unwrap();
    Context::open(Box::new(device), options).unwrap()
}

pub fn register(
    domain: &ProtectionDomain,
    stag: u32,
    length: usize,
    registration: Registration,
) -> MemoryRegion {
    let mut memory = DmaMemory::new(length).unwrap();
    memory.fill(UNTOUCHED);
    domain.register_as(stag, memory, registration).unwrap()
}

pub fn seen(completion: Completion) -> Seen {
    match completion {
        Completion::Tagged(c) => Seen::Write(c.stream, c.length, c.unverified),
        Completion::Untagged(c) => {
            let mut message = c.buffer.to_vec();
            message.truncate(c.length as usize);
            Seen::Send(c.stream, c.queue, c.msn, message)
        }
        Completion::Closed(e) => Seen::Closed(e.stream, e.position),
        Completion::Error(e) => Seen::Error(e.stream, e.number, e.checks, e.position),
        Completion::Flushed(f) => Seen::Flushed(f.stream, f.queue, f.msn, f.buffer.to_vec()),
        other => panic!("{other:?}"),
    }
}

pub fn markers(markers: bool) -> StreamOptions {
    StreamOptions {
        markers,
        ..StreamOptions::default()
    }
}

pub fn write(to: u64) -> Message {
    Message::Tagged {
        stag: STAG,
        to,
        rsvd_ulp: 0x40,
    }
}

pub fn send(qn: u32, msn: u32) -> Message {
    Message::Untagged {
        qn,
        msn,
        rsvd_ulp: [0x43, 0, 0, 0, 0],
    }
}

/// The octets of messages on one stream.
pub fn stream_of(markers: bool, mulpdu: u16, messages: &[(Message, Vec<u8>)]) -> Vec<u8> {
    let mut writer = FpduWriter::new(markers, CrcField::Computed);
    let mut octets = Vec::new();
    for (message, payload) in messages {
        writer
            .append_message(*message, payload, mulpdu, &mut octets)
            .unwrap();
    }
    octets
}

/// An FPDU with markers that begins at position 0 and ends at `end`: a write at the region's start.
pub fn up_to(end: usize) -> Vec<u8> {
    let octets = stream_of(true, 600, &[(write(BASE), vec![0; end - 4 - 6 - 14])]);
    assert_eq!(octets.len(), end);
    octets
}

/// What one stream reports that gets these octets and has a buffer for two messages.
pub fn outcome(bench: &Bench, options: StreamOptions, octets: &[u8]) -> (Vec<Seen>, Stream) {
    let stream = bench.arm(3, options);
    bench.post(&stream, 0, &[1500, 1500]);
    bench.feed(3, options.sequence_start, octets, 500);
    let mut seen = bench.settle();
    assert_eq!(bench.card.untaken(3).unwrap(), 0);
    seen.retain(|seen| !matches!(seen, Seen::Flushed(..)));
    (seen, stream)
}

/// FPDUs of these messages, one a message, with their CRC fields as `field` makes them of their number and right value.
pub fn with_crc_fields(
    markers: bool,
    messages: &[(Message, Vec<u8>)],
    field: impl Fn(usize, [u8; 4]) -> [u8; 4],
) -> Vec<u8> {
    let mut writer = FpduWriter::new(markers, CrcField::Computed);
    let mut octets = Vec::new();
    for (number, (message, payload)) in messages.iter().enumerate() {
        writer
            .append_message(*message, payload, 9000, &mut octets)
            .unwrap();
        let crc = octets.last_chunk_mut::<4>().unwrap();
        *crc = field(number, *crc);
    }
    octets
}

/// Where each FPDU of a stream begins, and the end of the last one.
pub fn begins(octets: &[u8], markers: bool) -> Vec<usize> {
    let mut begins = vec![0];
    while begins[begins.len() - 1] < octets.len() {
        let at = begins[begins.len() - 1];
        let header = at + 4 * usize::from(markers && at.is_multiple_of(512));
        let ulpdu = u16::from_be_bytes([octets[header], octets[header + 1]]);
        begins.push(at + mpa::fpdu_len(at as u32, ulpdu.into(), markers));
    }
    begins
}

/// Message i: 500 octets, one FPDU.
pub fn message(i: usize) -> (Message, Vec<u8>) {
    (write(BASE + 500 * i as u64), pattern(i, 500))
}

/// Memory in which these messages are, and nothing else.
pub fn memory_with(messages: impl IntoIterator<Item = usize>) -> Vec<u8> {
    let mut memory = vec![UNTOUCHED; LENGTH];
    for i in messages {
        memory[500 * i..500 * (i + 1)].copy_from_slice(&pattern(i, 500));
    }
    memory
}

pub fn start_plus(start: u32, octets: usize) -> u32 {
    start.wrapping_add(octets as u32)
}
