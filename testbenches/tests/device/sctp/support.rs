//! The device at its ports.

use std::collections::VecDeque;

use fastrand::Rng;
use warpline_design::{TOP, design};
use warpline_hdl::parts::axi::{USER_CONTROL, USER_TERMINATE};
use warpline_hdl::reset::RESET_CYCLES;
use warpline_hdl::rx::sctp::receive::STATUS_LSB;
use warpline_hdl::{Config, Sctp};
use warpline_regmap::Field;
use warpline_regmap::layout::{
    close, close_event, completion, error_event, error_record, kind, receive_buffer, stag_entry,
    stream_context,
};
use warpline_regmap::register::{self, command};
use warpline_regmap::sctp::sctp_context;
use warpline_regmap::transmit;
use warpline_testbenches::lockstep::sources;
use warpline_testbenches::stimulus::{Pace, Rhythm};
use warpline_testbenches::write_bus::{Burst, Manner, Wires, WriteBeat, WriteBus};
use warpline_verilate::{Direction, Model, Port, ports};

use crate::transmit::Transmit;

ports! {
    /// Ports by their names.
    struct Ports:
    aclk, aresetn,
    s_axis_segment_tdata, s_axis_segment_tkeep, s_axis_segment_tlast, s_axis_segment_tdest, s_axis_segment_tuser,
    s_axis_segment_tvalid, m_axis_window_tready,
    s_axis_sctp_tdata, s_axis_sctp_tkeep, s_axis_sctp_tlast, s_axis_sctp_tdest, s_axis_sctp_tuser, s_axis_sctp_tvalid,
    s_axis_sctp_tready,
    m_axis_chunk_tdata, m_axis_chunk_tdest, m_axis_chunk_tvalid, m_axis_chunk_tready,
    s_axil_awaddr, s_axil_awvalid, s_axil_awready, s_axil_wdata, s_axil_wstrb, s_axil_wvalid, s_axil_wready, s_axil_bvalid,
    s_axil_bready, s_axil_araddr, s_axil_arvalid, s_axil_arready, s_axil_rdata, s_axil_rvalid, s_axil_rready,
    m_axi_awaddr, m_axi_awlen, m_axi_awvalid, m_axi_awready, m_axi_wdata, m_axi_wstrb, m_axi_wlast, m_axi_wvalid, m_axi_wready,
    m_axi_bvalid, m_axi_bready, m_axi_arvalid, m_axis_msix_tready,
}

/// Streams of the device.
pub const STREAMS: u8 = 4;
/// Protection domain of all streams and regions.
pub const DOMAIN: u16 = 7;
/// Bus address of the completion queue, behind all payload.
pub const QUEUE: u64 = 0x10_0000_0000;
/// Its entries.
const ENTRIES: u32 = 4096;
/// Cycles without a handshake behind which nothing is under way: a close settles for 64, a fence takes some more.
const QUIET: u64 = 400;
/// Cycles in which the device comes to rest.
const PATIENCE: u64 = 400_000;

/// The device of these tests.
pub fn config(width: usize) -> Config {
    Config {
        sctp: Some(Sctp::default()),
        ..Config::simulated(width)
    }
}

/// The same, with a sending side.
pub fn duplex(width: usize) -> Config {
    Config {
        transmit: true,
        ..config(width)
    }
}

/// A chunk at the port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    pub stream: u8,
    pub control: bool,
    /// With `control`: the last chunk of the session.
    pub terminate: bool,
    /// User data.
    pub octets: Vec<u8>,
}

/// A TCP segment at the port.
#[derive(Clone, Debug)]
pub struct Segment {
    pub stream: u8,
    pub sequence: u32,
    pub octets: Vec<u8>,
}

/// A report about a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    pub stream: u8,
    pub ssn: u16,
    pub status: u64,
}

/// An entry of the completion queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    Tagged {
        stag: u32,
        offset: u64,
        length: u32,
        rsvd_ulp: u8,
        unverified: bool,
    },
    Untagged {
        queue: u32,
        msn: u32,
        length: u32,
        rsvd_ulp: [u8; 5],
        hole: bool,
        anomaly: bool,
    },
    Error {
        /// Type in bits 11:8, code in bits 7:0.
        number: u16,
        checks: u16,
        position: u32,
        length: u32,
    },
    Closed {
        position: u32,
    },
}

/// An error record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub number: u16,
    pub refused: u32,
    pub checks: u16,
    pub length: u16,
    pub position: u32,
    /// Octets from the DDP-SSN on.
    pub header: Vec<u8>,
}

/// Rhythms of the ports.
#[derive(Clone, Copy, Debug)]
pub struct Paces {
    pub chunks: Pace,
    pub segments: Pace,
    pub reports: Pace,
    pub memory: Pace,
}

impl Paces {
    /// Nothing stalls.
    pub const FULL: Self = Self {
        chunks: Pace::Always,
        segments: Pace::Always,
        reports: Pace::Always,
        memory: Pace::Always,
    };
}

/// How an arm reads.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// With the number of the first chunk.
    Sctp(u16),
    /// With markers, or without, from sequence number 0 on.
    Tcp(bool),
}

/// The device, what is at its ports, and what came out of them.
pub struct Device {
    model: Model,
    ports: Ports,
    beat: usize,
    rng: Rng,
    rhythms: [Rhythm; 3],
    pub cycle: u64,
    pub bus: WriteBus,
    chunks: VecDeque<Chunk>,
    chunk_at: usize,
    chunk_held: bool,
    segments: VecDeque<Segment>,
    segment_at: usize,
    /// Cycle of the last handshake.
    moved: u64,
    pub statuses: Vec<Status>,
    /// Cycles in which last beats of chunks were accepted.
    pub chunk_ends: Vec<u64>,
    consumed: u32,
    /// The sending side, if it has one.
    pub transmit: Option<Transmit>,
    /// Stream, name and status of each request that was reported.
    pub done: Vec<(u8, u64, u64)>,
}

impl Device {
    /// A device of `width` bits.
    pub fn new(width: usize, seed: u64) -> Self {
        Self::of(&config(width), seed, |_| ())
    }

    /// The device of `config`, its text as `change` makes it.
    pub fn of(
        config: &Config,
        seed: u64,
        change: impl FnOnce(&mut warpline_sv_writer::Design),
    ) -> Self {
        let mut design = design(config).unwrap();
        change(&mut design);
        let model = sources(TOP, &design).open().unwrap();
        let ports = Ports::find(&model, "").unwrap();
        let sends = config.transmit;
        let transmit = sends.then(|| Transmit::new(&model, config.octets(), config.streams));
        let mut device = Self {
            ports,
            model,
            beat: config.octets(),
            rng: Rng::with_seed(seed),
            rhythms: [Pace::Always; 3].map(Rhythm::new),
            cycle: 0,
            bus: WriteBus::new(config.octets(), Manner::quick(4)),
            chunks: VecDeque::new(),
            chunk_at: 0,
            chunk_held: false,
            segments: VecDeque::new(),
            segment_at: 0,
            moved: 0,
            statuses: vec![],
            chunk_ends: vec![],
            consumed: 0,
            transmit,
            done: vec![],
        };
        device.reset();
        device
    }

    fn reset(&mut self) {
        let inputs: Vec<Port> = self
            .model
            .ports()
            .filter(|(_, info)| info.direction == Direction::Input)
            .map(|(port, _)| port)
            .collect();
        for port in inputs {
            self.model.set_words(port, &[]);
        }
        for cycle in 0..RESET_CYCLES + 8 {
            self.model.set(self.ports.aresetn, u64::from(cycle >= 4));
            self.half(false);
            self.half(true);
        }
        let p = self.ports;
        for ready in [
            p.m_axis_window_tready,
            p.s_axil_bready,
            p.s_axil_rready,
            p.m_axis_msix_tready,
        ] {
            self.model.set(ready, 1);
        }
        for (register, value) in [
            (register::COMPLETION_BASE_LOW, QUEUE as u32),
            (register::COMPLETION_BASE_HIGH, (QUEUE >> 32) as u32),
            (register::COMPLETION_ENTRIES, ENTRIES),
        ] {
            self.write(register.offset, value);
        }
    }

    /// From the next cycle on.
    pub fn set_paces(&mut self, paces: Paces) {
        self.rhythms = [paces.chunks, paces.segments, paces.reports].map(Rhythm::new);
        assert!(self.bus.is_idle());
        let manner = Manner {
            aw: paces.memory,
            w: paces.memory,
            b: paces.memory,
            ..Manner::quick(4)
        };
        let memory = std::mem::take(&mut self.bus.memory);
        self.bus = WriteBus::new(self.beat, manner);
        self.bus.memory = memory;
    }

    // ---- commands

    /// Gives a command; true when it is refused.
    pub fn command(&mut self, number: u32, fields: &[(Field, u64)]) -> bool {
        let mut words = [0; 8];
        for (field, value) in fields {
            field.put(&mut words, *value);
        }
        for (index, word) in (0..).zip(words) {
            self.write(register::ARGUMENT.at(index), word);
        }
        self.write(register::COMMAND.offset, number);
        for _ in 0..10_000 {
            let state = [self.read(register::COMMAND.offset)];
            if register::COMMAND_BUSY.get(&state) == 0 {
                return register::COMMAND_FAILED.get(&state) == 1;
            }
        }
        panic!("command {number} does not end");
    }

    pub fn arm(&mut self, stream: u8, kind: Kind, queues: u8) {
        let mut fields = vec![
            (stream_context::STREAM, stream.into()),
            (stream_context::TAGGED_COMPLETIONS, 1),
            (stream_context::MSN_WINDOW, 1),
            (stream_context::QUEUES, queues.into()),
            (stream_context::PROTECTION_DOMAIN, DOMAIN.into()),
            (stream_context::FIRST_MSN, 1),
            (stream_context::CRC, 1),
        ];
        match kind {
            // CRC and markers have no meaning there
            Kind::Sctp(first) => fields.extend([
                (sctp_context::SCTP, 1),
                (
                    stream_context::MARKERS,
                    u64::from(!stream.is_multiple_of(2)),
                ),
                (stream_context::SEQUENCE_START, first.into()),
            ]),
            Kind::Tcp(markers) => fields.push((stream_context::MARKERS, markers.into())),
        }
        assert!(!self.command(command::ARM_STREAM, &fields));
    }

    pub fn close(&mut self, stream: u8) {
        let fields = [(close::STREAM, stream.into())];
        assert!(!self.command(command::CLOSE_STREAM, &fields));
    }

    /// A region from Tagged Offset 0 on.
    pub fn write_stag(&mut self, stag: u32, address: u64, length: u64) {
        let fields = [
            (stag_entry::STAG, stag.into()),
            (stag_entry::PROTECTION_DOMAIN, DOMAIN.into()),
            (stag_entry::REMOTE_WRITE, 1),
            (stag_entry::LENGTH, length),
            (stag_entry::ADDRESS, address),
        ];
        assert!(!self.command(command::WRITE_STAG, &fields));
    }

    pub fn post(&mut self, stream: u8, queue: u8, address: u64, length: u32) {
        let fields = [
            (receive_buffer::STREAM, stream.into()),
            (receive_buffer::QUEUE, queue.into()),
            (receive_buffer::ADDRESS, address),
            (receive_buffer::LENGTH, length.into()),
        ];
        assert!(!self.command(command::POST_RECEIVE, &fields));
    }

    /// What the device says of itself.
    pub fn capabilities(&mut self) -> [u32; 1] {
        [self.read(warpline_regmap::transmit::CAPABILITIES.offset)]
    }

    pub fn record(&mut self, stream: u8) -> Option<Record> {
        let base = register::ERROR_RECORD.at(stream.into());
        let words: Vec<u32> = (0..error_record::WORDS as u32)
            .map(|word| self.read(base + 4 * word))
            .collect();
        let get = |field: Field| field.get(&words);
        if get(error_record::VALID) == 0 {
            return None;
        }
        let header = [
            error_record::HEADER_0,
            error_record::HEADER_1,
            error_record::HEADER_2,
            error_record::HEADER_3,
            error_record::HEADER_4,
        ];
        Some(Record {
            number: (get(error_record::TYPE) << 8 | get(error_record::CODE)) as u16,
            refused: get(error_record::REFUSED) as u32,
            checks: get(error_record::CHECKS) as u16,
            length: get(error_record::LENGTH) as u16,
            position: get(error_record::POSITION) as u32,
            header: header
                .iter()
                .flat_map(|field| (get(*field) as u32).to_be_bytes())
                .collect(),
        })
    }

    /// Entries since the last call, with their streams.
    pub fn entries(&mut self) -> Vec<(u8, Entry)> {
        let producer = self.read(register::COMPLETION_PRODUCER.offset);
        let mut found = vec![];
        while self.consumed != producer {
            let at = QUEUE + 32 * u64::from(self.consumed % ENTRIES);
            let octet = |i: u64| self.bus.memory.get(&(at + i)).copied().unwrap_or(0);
            let words: Vec<u32> = (0..8)
                .map(|w| u32::from_le_bytes([0, 1, 2, 3].map(|i| octet(4 * w + i))))
                .collect();
            match completion::KIND.get(&words) as u32 {
                transmit::kind::SEND => self.done.push(sent(&words)),
                _ => found.push(entry(&words)),
            }
            self.consumed = self.consumed.wrapping_add(1);
        }
        self.write(register::COMPLETION_CONSUMER.offset, producer);
        found
    }

    /// Payload in memory.
    pub fn payload(&self) -> impl Iterator<Item = (u64, u8)> {
        self.bus
            .memory
            .range(..QUEUE)
            .map(|(at, octet)| (*at, *octet))
    }

    /// Forgets what is in memory.
    pub fn clear_memory(&mut self) {
        self.bus.memory.clear();
    }

    // ---- the network

    pub fn chunk(&mut self, chunk: Chunk) {
        self.chunks.push_back(chunk);
    }

    pub fn segment(&mut self, segment: Segment) {
        self.segments.push_back(segment);
    }

    /// How many chunks and segments are still to be accepted.
    pub fn waiting(&self) -> usize {
        self.chunks.len() + self.segments.len()
    }

    /// Until nothing moves.
    pub fn settle(&mut self) {
        let start = self.cycle;
        self.moved = self.cycle;
        while self.waiting() > 0 || !self.bus.is_idle() || self.cycle < self.moved + QUIET {
            self.cycle();
            assert!(
                self.cycle < start.max(self.moved) + PATIENCE,
                "{} chunks and segments are not accepted",
                self.waiting()
            );
        }
    }

    // ---- cycles

    fn half(&mut self, clock: bool) {
        self.model.set(self.ports.aclk, clock.into());
        self.model.eval().unwrap();
    }

    fn get(&self, port: Port) -> u64 {
        self.model.get(port)
    }

    fn octets(&self, port: Port) -> Vec<u8> {
        let words = self.model.to_words(port);
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    fn set_octets(&mut self, port: Port, octets: &[u8]) {
        let mut padded = octets.to_vec();
        // lanes without octets hold anything
        padded.resize_with(self.beat, || self.rng.u8(..));
        let words: Vec<u32> = padded
            .chunks(4)
            .map(|w| u32::from_le_bytes(w.try_into().unwrap()))
            .collect();
        self.model.set_words(port, &words);
    }

    fn set_keep(&mut self, port: Port, octets: usize) {
        let keep = match octets {
            0 => 0,
            octets => u64::MAX >> (64 - octets),
        };
        self.model
            .set_words(port, &[keep as u32, (keep >> 32) as u32]);
    }

    /// Drives the first beat of `octets`; whether it is the last.
    fn set_beat(&mut self, data: Port, keep: Port, last: Port, octets: &[u8]) -> bool {
        let beat = &octets[..octets.len().min(self.beat)];
        self.set_octets(data, beat);
        self.set_keep(keep, beat.len());
        let ends = beat.len() == octets.len();
        self.model.set(last, ends.into());
        ends
    }

    pub fn cycle(&mut self) {
        let p = self.ports;
        let beat = self.beat;
        self.chunk_held |= !self.chunks.is_empty() && self.rhythms[0].go(&mut self.rng);
        self.model.set(p.s_axis_sctp_tvalid, self.chunk_held.into());
        let mut chunk_ends = false;
        if self.chunk_held {
            let (data, keep, last) = (
                p.s_axis_sctp_tdata,
                p.s_axis_sctp_tkeep,
                p.s_axis_sctp_tlast,
            );
            let chunk = self.chunks.pop_front().expect("it is held");
            chunk_ends = self.set_beat(data, keep, last, &chunk.octets[self.chunk_at..]);
            self.model.set(p.s_axis_sctp_tdest, chunk.stream.into());
            let control = u64::from(chunk.control) << USER_CONTROL;
            let terminate = u64::from(chunk.terminate) << USER_TERMINATE;
            self.model.set(p.s_axis_sctp_tuser, control | terminate);
            self.chunks.push_front(chunk);
        }
        let sends = !self.segments.is_empty() && self.rhythms[1].go(&mut self.rng);
        self.model.set(p.s_axis_segment_tvalid, sends.into());
        let mut segment_ends = false;
        if sends {
            let (data, keep) = (p.s_axis_segment_tdata, p.s_axis_segment_tkeep);
            let segment = self.segments.pop_front().expect("there is one");
            let octets = &segment.octets[self.segment_at..];
            segment_ends = self.set_beat(data, keep, p.s_axis_segment_tlast, octets);
            self.model
                .set(p.s_axis_segment_tdest, segment.stream.into());
            self.model
                .set_words(p.s_axis_segment_tuser, &[segment.sequence, 0]);
            self.segments.push_front(segment);
        }
        let takes_report = self.rhythms[2].go(&mut self.rng);
        self.model.set(p.m_axis_chunk_tready, takes_report.into());
        let offer = self.bus.offer(&mut self.rng);
        self.model.set(p.m_axi_awready, offer.awready.into());
        self.model.set(p.m_axi_wready, offer.wready.into());
        self.model
            .set(p.m_axi_bvalid, offer.response.is_some().into());
        if let Some(transmit) = &mut self.transmit {
            transmit.drive(&mut self.model, &mut self.rng);
        }
        self.half(false);

        if self.chunk_held && self.get(p.s_axis_sctp_tready) == 1 {
            self.chunk_held = false;
            self.moved = self.cycle;
            self.chunk_at += beat;
            if chunk_ends {
                self.chunk_ends.push(self.cycle);
                self.chunks.pop_front();
                self.chunk_at = 0;
            }
        }
        if sends {
            self.moved = self.cycle;
            self.segment_at += beat;
            if segment_ends {
                self.segments.pop_front();
                self.segment_at = 0;
            }
        }
        if takes_report && self.get(p.m_axis_chunk_tvalid) == 1 {
            let data = self.get(p.m_axis_chunk_tdata);
            self.moved = self.cycle;
            self.statuses.push(Status {
                stream: self.get(p.m_axis_chunk_tdest) as u8,
                ssn: data as u16,
                status: data >> STATUS_LSB,
            });
        }
        let address = (self.get(p.m_axi_awvalid) == 1).then(|| Burst {
            address: self.get(p.m_axi_awaddr),
            length: self.get(p.m_axi_awlen) as u8,
        });
        let mut written = None;
        if self.get(p.m_axi_wvalid) == 1 {
            let strobes = self.octets(p.m_axi_wstrb);
            written = Some(WriteBeat {
                octets: self.octets(p.m_axi_wdata)[..beat].to_vec(),
                strobes: (0..8)
                    .map(|i| u64::from(strobes.get(i).copied().unwrap_or(0)) << (8 * i))
                    .sum(),
                last: self.get(p.m_axi_wlast) == 1,
            });
        }
        if address.is_some() || written.is_some() {
            self.moved = self.cycle;
        }
        match &mut self.transmit {
            Some(transmit) => {
                if transmit.sample(&self.model, &mut self.rng, self.cycle) {
                    self.moved = self.cycle;
                }
            }
            None => assert_eq!(self.get(p.m_axi_arvalid), 0, "no ring is set"),
        }
        let wires = Wires {
            address,
            beat: written,
            ready: self.get(p.m_axi_bready) == 1,
        };
        let rules = self.bus.take(wires, &mut self.rng);
        rules.unwrap_or_else(|broken| panic!("cycle {}: {broken}", self.cycle));
        self.half(true);
        self.cycle += 1;
    }

    pub fn write(&mut self, offset: u32, value: u32) {
        let p = self.ports;
        self.model.set(p.s_axil_awaddr, offset.into());
        self.model.set(p.s_axil_wdata, value.into());
        self.model.set(p.s_axil_wstrb, 0xf);
        let (mut address, mut data) = (true, true);
        for _ in 0..1000 {
            self.model.set(p.s_axil_awvalid, address.into());
            self.model.set(p.s_axil_wvalid, data.into());
            self.half(false);
            let passes = |valid, ready| self.get(valid) & self.get(ready) == 1;
            let taken = passes(p.s_axil_awvalid, p.s_axil_awready);
            let given = passes(p.s_axil_wvalid, p.s_axil_wready);
            let answered = passes(p.s_axil_bvalid, p.s_axil_bready);
            self.cycle();
            address &= !taken;
            data &= !given;
            if answered {
                return;
            }
        }
        panic!("no answer to a write at {offset:#x}");
    }

    fn read(&mut self, offset: u32) -> u32 {
        let p = self.ports;
        self.model.set(p.s_axil_araddr, offset.into());
        let mut address = true;
        for _ in 0..1000 {
            self.model.set(p.s_axil_arvalid, address.into());
            self.half(false);
            let passes = |valid, ready| self.get(valid) & self.get(ready) == 1;
            let taken = passes(p.s_axil_arvalid, p.s_axil_arready);
            let answer = passes(p.s_axil_rvalid, p.s_axil_rready);
            let word = self.get(p.s_axil_rdata) as u32;
            self.cycle();
            address &= !taken;
            if answer {
                return word;
            }
        }
        panic!("no answer to a read at {offset:#x}");
    }
}

/// A request that is done.
fn sent(words: &[u32]) -> (u8, u64, u64) {
    let get = |field: Field| field.get(words);
    (
        get(transmit::send_event::STREAM) as u8,
        get(transmit::send_event::REQUEST),
        get(transmit::send_event::STATUS),
    )
}

fn entry(words: &[u32]) -> (u8, Entry) {
    let get = |field: Field| field.get(words);
    let low = (get(completion::RSVD_ULP_LOW) as u32).to_be_bytes();
    let first = get(completion::RSVD_ULP_FIRST) as u8;
    let entry = match get(completion::KIND) as u32 {
        kind::TAGGED => Entry::Tagged {
            stag: get(completion::STAG) as u32,
            offset: get(completion::OFFSET),
            length: get(completion::LENGTH) as u32,
            rsvd_ulp: first,
            unverified: get(completion::UNVERIFIED) == 1,
        },
        kind::UNTAGGED => Entry::Untagged {
            queue: get(completion::QUEUE) as u32,
            msn: get(completion::MSN) as u32,
            length: get(completion::LENGTH) as u32,
            rsvd_ulp: [first, low[0], low[1], low[2], low[3]],
            hole: get(completion::HOLE) == 1,
            anomaly: get(completion::ANOMALY) == 1,
        },
        kind::ERROR => Entry::Error {
            number: (get(error_event::TYPE) << 8 | get(error_event::CODE)) as u16,
            checks: get(error_event::CHECKS) as u16,
            position: get(error_event::POSITION) as u32,
            length: get(error_event::LENGTH) as u32,
        },
        kind::CLOSED => Entry::Closed {
            position: get(close_event::POSITION) as u32,
        },
        other => panic!("kind {other}: {words:x?}"),
    };
    (get(completion::STREAM) as u8, entry)
}
