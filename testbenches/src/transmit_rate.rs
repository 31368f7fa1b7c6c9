//! Rates and latencies of transmission, counted in cycles at the ports of a whole device.
//!
//! ```text
//!  host:   registers, send rings, memory ─► ┌────────┐ ─► m_axis_transmit: compared octet by octet
//!          memory ◄── payload: compared ─── │ device │ ◄─ s_axis_send: asks for what the edge has passed, acknowledges
//!  peers:  segments of tagged writes, ────► └────────┘ ─► m_axis_status: edges
//!          or of Read Requests
//! ```
//!
//! Nothing but the device limits a rate: memory accepts each address at once and gives a beat in every cycle from the next one on,
//! TCP asks for the octets of a stream as soon as a report says that its edge has moved, and acknowledges them when the last beat
//! of the SEND has come. All requests of a run are announced before the first octet is sent, only the last one of a stream is
//! signalled, and messages in memory begin at a multiple of [`ALIGNED`] octets.
//!
//! **A rate** is that of the middle half of a run: from the beat with which a quarter of its octets have left to the one with
//! which three quarters have. **A latency** begins with the handshake on B of the doorbell's write, and ends with the first beat on
//! `m_axis_transmit`; cycles in which a read was under way and memory gave no beat are counted apart. That of a Read begins with the
//! last beat of the Read Request on `s_axis_segment`. How the peer asks, see [`reads`].
//!
//! A run has no random element: its figures are the same every time.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use warpline_hdl::Config;
use warpline_regmap::transmit::{self, Slot};
use warpline_verilate::Model;
use warpline_wire::ddp::{TAGGED_HEADER_LEN, UNTAGGED_HEADER_LEN};
use warpline_wire::mpa;
use warpline_wire::rdmap::ReadRequest;
use warpline_wire::send::{FpduWriter, SendError};

use crate::duplex_ports::Ports;

pub use reads::{ReadDelay, read_delay, read_delays};
pub use record::{Figures, delays, figures, workloads};

mod memory;
pub mod reads;
pub mod record;
mod run;
mod tcp;

/// Octets at whose multiples messages in memory begin.
pub const ALIGNED: u64 = 64;
/// Octets of each ULPDU whose rate has a goal, and of a received one.
pub const ETHERNET: usize = 1442;

/// Streams that fill their rings three times, so that a silent one's is full before half of a run.
const MANY: usize = 16;
/// Cycles that the bus needs at least for the octets of a run, if its requests are enough.
const CYCLES: usize = 36_000;
/// Cycles without a beat on `m_axis_transmit` after which a run gives up.
const PATIENCE: u64 = 20_000;
/// Octets of a SEND at most.
const MOST_ASKED: u16 = 8 << 10;
/// SENDs under way at most.
const SENDS: usize = 8;
/// Slots of a send ring, and requests of a stream at most.
const ENTRIES: u32 = transmit::ENTRIES_MAX;
/// Entries of the completion queue.
const COMPLETIONS: u32 = 1 << 10;

/// Regions of the bus.
const RINGS: u64 = 1 << 32;
const SOURCE: u64 = 2 << 32;
const SINK: u64 = 3 << 32;
const QUEUE: u64 = 4 << 32;
const REQUESTS: u64 = 5 << 32;
const DESCRIPTORS: u64 = 6 << 32;
/// Octets of a stream's part of each region.
const PART: u64 = 1 << 20;
/// STags of memory to send, and to receive.
const SOURCE_STAG: u32 = 0x100;
const SINK_STAG: u32 = 0x200;
const DOMAIN: u64 = 1;

/// Why there is no figure.
#[derive(Debug, Error)]
pub enum RateError {
    /// The model failed, or has other ports.
    #[error(transparent)]
    Model(#[from] warpline_verilate::Error),
    /// The workload is not possible.
    #[error("the workload is not possible: {0}")]
    Workload(String),
    /// The device did something wrong.
    #[error("cycle {cycle}: {what}")]
    Wrong {
        /// When.
        cycle: u64,
        /// What.
        what: String,
    },
}

impl From<SendError> for RateError {
    fn from(error: SendError) -> Self {
        Self::Workload(error.to_string())
    }
}

/// What streams send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Requests {
    /// Tagged messages, each a range of memory that is cut into so many FPDUs.
    Memory {
        /// FPDUs of a message.
        fpdus: usize,
    },
    /// Sends of octets in the slot, one FPDU each.
    Inline,
    /// Read Responses to the peer's Read Requests, each from a range of memory that is cut into so many FPDUs; no request of the host.
    Reads {
        /// FPDUs of a response.
        fpdus: usize,
    },
}

/// A run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workload {
    /// Streams that send: those from 0 on.
    pub streams: usize,
    /// What they send.
    pub requests: Requests,
    /// Octets of each ULPDU, DDP header included.
    pub ulpdu: usize,
    /// They insert markers.
    pub markers: bool,
    /// Streams behind them that receive tagged writes in ULPDUs of [`ETHERNET`] octets, as many as the bus carries.
    pub receiving: usize,
    /// Stream 0 is never acknowledged; the figures are those of the others.
    pub silent: bool,
}

impl Workload {
    /// One stream sends messages of `fpdus` FPDUs from memory.
    #[must_use]
    pub const fn memory(ulpdu: usize, fpdus: usize, markers: bool) -> Self {
        Self {
            streams: 1,
            requests: Requests::Memory { fpdus },
            ulpdu,
            markers,
            receiving: 0,
            silent: false,
        }
    }

    fn header(&self) -> usize {
        match self.requests {
            Requests::Memory { .. } | Requests::Reads { .. } => TAGGED_HEADER_LEN,
            Requests::Inline => UNTAGGED_HEADER_LEN,
        }
    }

    fn fpdus(&self) -> usize {
        match self.requests {
            Requests::Memory { fpdus } | Requests::Reads { fpdus } => fpdus,
            Requests::Inline => 1,
        }
    }

    fn reads(&self) -> bool {
        matches!(self.requests, Requests::Reads { .. })
    }
}

/// A measured rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    /// Bits of the data path.
    pub width: usize,
    /// What was sent.
    #[serde(flatten)]
    pub workload: Workload,
    /// Octets on `m_axis_transmit` in the measured cycles.
    pub octets: u64,
    /// FPDUs whose last octet was among them.
    pub fpdus: u64,
    /// Measured cycles.
    pub cycles: u64,
    /// Octets on `s_axis_segment` in the same cycles.
    pub received: u64,
    /// `octets`, as a fraction of what the bus can carry in these cycles.
    pub of_bus: f64,
    /// `received`, as such a fraction.
    pub received_of_bus: f64,
    /// `cycles / fpdus`.
    pub cycles_per_fpdu: f64,
}

/// The measured latency of a single message in an idle device.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Delay {
    /// Bits of the data path.
    pub width: usize,
    /// What was sent, once.
    #[serde(flatten)]
    pub workload: Workload,
    /// Beats of the FPDU.
    pub beats: u64,
    /// Cycles from the doorbell's handshake on W to that on B.
    pub write: u64,
    /// Cycles from the handshake on B to the first beat on `m_axis_transmit`.
    pub cycles: u64,
    /// Those of them in which a read was under way and memory gave no beat.
    pub memory: u64,
    /// When the stations on the way were passed.
    pub stations: Stations,
}

/// Cycles from the handshake on B of the doorbell to what is seen at the ports; without payload in memory two are missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stations {
    /// The first address of the slot.
    pub slot_asked: Option<i64>,
    /// Its last beat.
    pub slot_read: Option<i64>,
    /// The first address of payload.
    pub payload_asked: Option<i64>,
    /// Its last beat.
    pub payload_read: Option<i64>,
    /// The report of the edge.
    pub edge_moved: Option<i64>,
    /// The SEND is accepted.
    pub send_accepted: Option<i64>,
}

/// Cycles from the last beat of the Read Request to what is seen at the ports. The completion, which goes from one block to another, is not:
/// the address of the request follows it by `read_responder::READ_LATENCY` and the way through `read_mux`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReadStations {
    /// The last beat of its write to memory.
    pub request_written: Option<i64>,
    /// The response to this write.
    pub write_answered: Option<i64>,
    /// The address with which it is read.
    pub request_asked: Option<i64>,
    /// Its last beat.
    pub request_read: Option<i64>,
    /// The first address of payload.
    pub payload_asked: Option<i64>,
    /// Its last beat.
    pub payload_read: Option<i64>,
    /// The report of the edge.
    pub edge_moved: Option<i64>,
    /// The SEND is accepted.
    pub send_accepted: Option<i64>,
}

/// The device that is measured at a width.
#[must_use]
pub const fn config(width: usize) -> Config {
    Config {
        streams: 16,
        ring_octets: 32 << 10,
        commit_octets: 32 << 10,
        transmit: true,
        ..Config::simulated(width)
    }
}

/// Measures a rate on a device with the [`config`] of `width`, which is reset first.
///
/// # Errors
/// What the device does wrong; a workload that is not possible.
pub fn rate(model: &mut Model, width: usize, workload: Workload) -> Result<Rate, RateError> {
    let octets = width / 8;
    let each = (workload.ulpdu + mpa::MIN_OVERHEAD) * workload.fpdus();
    let count = (CYCLES * octets).div_ceil(each * workload.streams);
    let fills = match workload.streams {
        MANY => (3 * config(width).ring_octets).div_ceil(each),
        _ => 1,
    };
    let count = count.max(fills).min(ENTRIES as usize);
    let mut run = Run::new(model, octets, workload, count, None)?;
    run.all()?;
    let [from, to] = run.marks;
    let cycles = to.cycle - from.cycle;
    let of_bus = |octets: u64| octets as f64 / (cycles as f64 * (width / 8) as f64);
    let (sent, fpdus) = (to.octets - from.octets, to.fpdus - from.fpdus);
    let received = to.received - from.received;
    Ok(Rate {
        width,
        workload,
        octets: sent,
        fpdus,
        cycles,
        received,
        of_bus: of_bus(sent),
        received_of_bus: of_bus(received),
        cycles_per_fpdu: cycles as f64 / fpdus as f64,
    })
}

/// Measures the latency of the first message of a workload.
///
/// # Errors
/// As [`rate`].
pub fn delay(model: &mut Model, width: usize, workload: Workload) -> Result<Delay, RateError> {
    let mut run = Run::new(model, width / 8, workload, 1, None)?;
    run.all()?;
    let due = run.streams[0].due.len();
    let moment = |at: Option<u64>| at.ok_or_else(|| run.wrong("a moment is missing".into()));
    let (written, answered) = (moment(run.rung)?, moment(run.start)?);
    let first = moment(run.first)?;
    Ok(Delay {
        width,
        workload,
        beats: due.div_ceil(width / 8) as u64,
        write: answered - written,
        cycles: first - answered,
        memory: run.starved,
        stations: run.stations,
    })
}

/// Runs a workload with memory that gives another octet at an offset of the memory to send.
///
/// # Errors
/// The wrong octets, if the run is checked.
pub fn with_wrong_octet(
    model: &mut Model,
    width: usize,
    workload: Workload,
    offset: u64,
) -> Result<(), RateError> {
    Run::new(model, width / 8, workload, 16, Some(SOURCE + offset))?.all()
}

/// The octet of memory at a bus address, of both regions that messages lie in.
fn octet(address: u64) -> u8 {
    (address.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8
}

fn octets(from: u64, count: usize) -> Vec<u8> {
    (from..from + count as u64).map(octet).collect()
}

/// Octets as words, the first octet in bits 7:0 of the first word.
fn words(octets: &[u8]) -> Vec<u32> {
    let words = octets.as_chunks().0.iter().copied();
    words.map(u32::from_le_bytes).collect()
}

#[derive(Clone, Copy, Debug)]
enum Access {
    Write(u32, u32),
    /// Reads COMMAND until the command is done.
    Done,
}

/// What the host has under way on the registers' port.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    access: Access,
    address: bool,
    data: bool,
}

/// What has been counted at a moment.
#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    cycle: u64,
    octets: u64,
    fpdus: u64,
    received: u64,
}

/// A stream that sends.
#[derive(Debug, Default)]
struct Sending {
    /// The requests, as they lie in the ring.
    slots: Vec<Slot>,
    /// Read Requests that the peer sends.
    asks: Vec<ReadRequest>,
    /// Buffers for them.
    buffers: Vec<u8>,
    /// Octets that are due, and positions behind FPDUs.
    due: Vec<u8>,
    ends: VecDeque<usize>,
    edge: u32,
    asked: u32,
    came: u32,
    acknowledged: u32,
}

/// A stream that receives.
#[derive(Debug)]
struct Receiving {
    number: usize,
    writer: FpduWriter,
    /// Octets of payload of tagged writes begun.
    payload: u64,
    /// Read Requests begun.
    asked: usize,
    sequence: u32,
    limit: u32,
}

/// A segment on its way in.
#[derive(Debug, Default)]
struct Segment {
    octets: Vec<u8>,
    at: usize,
    dest: usize,
    first: u32,
}

struct Run<'m> {
    model: &'m mut Model,
    ports: Ports,
    /// Octets of a beat.
    beat: usize,
    workload: Workload,
    wrong_octet: Option<u64>,
    cycle: u64,
    accesses: VecDeque<Access>,
    under_way: Option<UnderWay>,
    streams: Vec<Sending>,
    turn: usize,
    /// The command that is offered: kind, stream, position, octets.
    command: Option<(u64, usize, u32, u16)>,
    /// SENDs under way: stream, begin, next octet, end.
    sends: VecDeque<(usize, u32, u32, u32)>,
    receiving: Vec<Receiving>,
    fed: usize,
    segment: Segment,
    feeds: bool,
    /// Cycles from the last register access to the first segment.
    hold: u64,
    /// Bursts of reads: next address, beats left.
    reads: VecDeque<(u64, u64)>,
    /// Bursts of writes, and the one under way: next address, beats left.
    addresses: VecDeque<(u64, u64)>,
    written: VecDeque<(Vec<u32>, u64, bool)>,
    write_at: Option<(u64, u64)>,
    responses: u64,
    placed: u64,
    /// Octets written to buffers of Read Requests.
    buffered: u64,
    queue: Vec<[u8; 32]>,
    total: u64,
    count: Mark,
    marks: [Mark; 2],
    last_beat: u64,
    rung: Option<u64>,
    /// Where the latency begins.
    start: Option<u64>,
    first: Option<u64>,
    starved: u64,
    stations: Stations,
    read_stations: ReadStations,
}
