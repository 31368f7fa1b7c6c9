//! Rates and latencies of transmission, counted in cycles at the ports of a whole device.
//!
//! ```text
//!  host:   registers, send rings, memory ─► ┌────────┐ ─► m_axis_transmit: compared octet by octet
//!          memory ◄── payload: compared ─── │ device │ ◄─ s_axis_send: asks for what the edge has passed, acknowledges
//!  peers:  segments of tagged writes ─────► └────────┘ ─► m_axis_status: edges
//! ```
//!
//! Nothing but the device limits a rate: memory accepts each address at once and gives a beat in every cycle from the next one on,
//! TCP asks for the octets of a stream as soon as a report says that its edge has moved, and acknowledges them when the last beat
//! of the SEND has come. All requests of a run are announced before the first octet is sent, only the last one of a stream is
//! signalled, and messages in memory begin at a multiple of [`ALIGNED`] octets.
//!
//! **A rate** is that of the middle half of a run: from the beat with which a quarter of its octets have left to the one with
//! which three quarters have. **A latency** begins with the handshake on B of the doorbell's write, and ends with the first beat on
//! `m_axis_transmit`; cycles in which a read was under way and memory gave no beat are counted apart.
//!
//! A run has no random element: its figures are the same every time.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use warpline_hdl::Config;
use warpline_hdl::reset::RESET_CYCLES;
use warpline_hdl::tx::mpa::transmit_ring::ports;
use warpline_regmap::Field;
use warpline_regmap::layout::{completion, stag_entry, stream_context};
use warpline_regmap::register::{self, command};
use warpline_regmap::transmit::{
    self, Element, Flags, Gather, Inline, Payload, SLOT_OCTETS, SendRequest, Slot, Target,
    send_event, send_ring, status, transmit_context,
};
use warpline_verilate::{Direction, Model, Port};
use warpline_wire::ddp::{MAX_HEADER_LEN, TAGGED_HEADER_LEN, UNTAGGED_HEADER_LEN};
use warpline_wire::mpa;
use warpline_wire::send::{CrcField, FpduWriter, Message, SendError, ddp_segments};

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
            Requests::Memory { .. } => TAGGED_HEADER_LEN,
            Requests::Inline => UNTAGGED_HEADER_LEN,
        }
    }

    fn fpdus(&self) -> usize {
        match self.requests {
            Requests::Memory { fpdus } => fpdus,
            Requests::Inline => 1,
        }
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

/// All figures of a record.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Rates.
    pub rates: Vec<Rate>,
    /// Latencies.
    pub delays: Vec<Delay>,
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

/// The rates that are recorded.
#[must_use]
pub fn workloads() -> Vec<Workload> {
    let mut all = vec![];
    for markers in [false, true] {
        for ulpdu in [64, 258, ETHERNET, 4098] {
            all.push(Workload::memory(ulpdu, 1, markers));
            if ulpdu > mpa::MIN_MULPDU.into() {
                all.push(Workload::memory(ulpdu, 16, markers));
            }
        }
    }
    for (ulpdu, fpdus) in [(ETHERNET, 1), (ETHERNET, 16), (4098, 16)] {
        all.push(Workload {
            receiving: 4,
            ..Workload::memory(ulpdu, fpdus, false)
        });
    }
    for streams in [1, 4] {
        all.push(Workload {
            streams,
            requests: Requests::Inline,
            ulpdu: UNTAGGED_HEADER_LEN + 28,
            ..Workload::memory(0, 1, false)
        });
        all.push(Workload {
            streams,
            ..Workload::memory(TAGGED_HEADER_LEN + 64, 1, false)
        });
    }
    for (streams, silent) in [(1, false), (MANY, false), (MANY, true)] {
        all.push(Workload {
            streams,
            silent,
            ..Workload::memory(ETHERNET, 4, false)
        });
    }
    all
}

/// The latencies that are recorded.
#[must_use]
pub fn delays() -> Vec<Workload> {
    let inline = Workload {
        requests: Requests::Inline,
        ..Workload::memory(UNTAGGED_HEADER_LEN + 28, 1, false)
    };
    let element = Workload::memory(TAGGED_HEADER_LEN + 64, 1, false);
    vec![inline, element, Workload::memory(ETHERNET, 1, false)]
}

/// All recorded figures of the device `model`, which has the [`config`] of `width`.
///
/// # Errors
/// Those of the first run that fails.
pub fn figures(model: &mut Model, width: usize) -> Result<Figures, RateError> {
    let rates = workloads().into_iter().map(|w| rate(model, width, w));
    let rates = rates.collect::<Result<_, _>>()?;
    let delays = delays().into_iter().map(|w| delay(model, width, w));
    let delays = delays.collect::<Result<_, _>>()?;
    Ok(Figures { rates, delays })
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
    let (written, answered) = (moment(run.rung)?, moment(run.answered)?);
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

macro_rules! ports {
    ($($name:ident),+ $(,)?) => {
        #[derive(Clone, Copy)]
        struct Ports { $($name: Port,)+ }

        impl Ports {
            fn find(model: &Model) -> Result<Self, warpline_verilate::Error> {
                Ok(Self { $($name: model.port(stringify!($name))?,)+ })
            }
        }
    };
}

ports! {
    aclk, aresetn,
    s_axis_segment_tdata, s_axis_segment_tkeep, s_axis_segment_tlast, s_axis_segment_tdest, s_axis_segment_tuser,
    s_axis_segment_tvalid, s_axis_segment_tready,
    m_axis_window_tdata, m_axis_window_tdest, m_axis_window_tvalid, m_axis_window_tready,
    s_axil_awaddr, s_axil_awvalid, s_axil_awready, s_axil_wdata, s_axil_wstrb, s_axil_wvalid, s_axil_wready, s_axil_bvalid,
    s_axil_bready, s_axil_araddr, s_axil_arvalid, s_axil_arready, s_axil_rdata, s_axil_rvalid, s_axil_rready,
    m_axi_awaddr, m_axi_awlen, m_axi_awvalid, m_axi_awready, m_axi_wdata, m_axi_wstrb, m_axi_wlast, m_axi_wvalid, m_axi_wready,
    m_axi_bvalid, m_axi_bready, m_axi_araddr, m_axi_arlen, m_axi_arvalid, m_axi_arready, m_axi_rdata, m_axi_rlast,
    m_axi_rvalid, m_axi_rready, m_axis_msix_tready,
    s_axis_send_tdata, s_axis_send_tdest, s_axis_send_tvalid, s_axis_send_tready,
    m_axis_transmit_tdata, m_axis_transmit_tkeep, m_axis_transmit_tlast, m_axis_transmit_tdest, m_axis_transmit_tuser,
    m_axis_transmit_tvalid, m_axis_transmit_tready,
    m_axis_status_tdata, m_axis_status_tdest, m_axis_status_tvalid, m_axis_status_tready,
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
    /// Octets of payload of FPDUs begun.
    payload: u64,
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
    /// Bursts of reads: next address, beats left.
    reads: VecDeque<(u64, u64)>,
    /// Bursts of writes, and the one under way: next address, beats left.
    addresses: VecDeque<(u64, u64)>,
    written: VecDeque<(Vec<u32>, u64, bool)>,
    write_at: Option<(u64, u64)>,
    responses: u64,
    placed: u64,
    queue: Vec<[u8; 32]>,
    total: u64,
    count: Mark,
    marks: [Mark; 2],
    last_beat: u64,
    rung: Option<u64>,
    answered: Option<u64>,
    first: Option<u64>,
    starved: u64,
    stations: Stations,
}

impl<'m> Run<'m> {
    fn new(
        model: &'m mut Model,
        beat: usize,
        workload: Workload,
        count: usize,
        wrong_octet: Option<u64>,
    ) -> Result<Self, RateError> {
        let ports = Ports::find(model)?;
        let inputs: Vec<Port> = model
            .ports()
            .filter(|(_, info)| info.direction == Direction::Input)
            .map(|(port, _)| port)
            .collect();
        for port in inputs {
            model.set_words(port, &[]);
        }
        let mut run = Self {
            model,
            ports,
            beat,
            workload,
            wrong_octet,
            cycle: 0,
            accesses: VecDeque::new(),
            under_way: None,
            streams: vec![],
            turn: 0,
            command: None,
            sends: VecDeque::new(),
            receiving: vec![],
            fed: 0,
            segment: Segment::default(),
            feeds: false,
            reads: VecDeque::new(),
            addresses: VecDeque::new(),
            written: VecDeque::new(),
            write_at: None,
            responses: 0,
            placed: 0,
            queue: vec![[0; 32]; COMPLETIONS as usize],
            total: 0,
            count: Mark::default(),
            marks: [Mark::default(); 2],
            last_beat: 0,
            rung: None,
            answered: None,
            first: None,
            starved: 0,
            stations: Stations::default(),
        };
        let emss = (u32::from(mpa::MIN_MULPDU)..=0xFFFF)
            .find(|&emss| usize::from(mpa::mulpdu(emss, workload.markers)) >= workload.ulpdu);
        let emss = emss.ok_or_else(|| RateError::Workload("no EMSS".into()))?;
        if workload.fpdus() > 1
            && usize::from(mpa::mulpdu(emss, workload.markers)) != workload.ulpdu
        {
            return Err(RateError::Workload(format!(
                "no EMSS gives ULPDUs of {} octets",
                workload.ulpdu
            )));
        }
        for number in 0..workload.streams {
            let stream = run.stream(number, count, mpa::mulpdu(emss, workload.markers))?;
            if !(workload.silent && number == 0) {
                run.total += stream.due.len() as u64;
            }
            run.streams.push(stream);
        }
        for number in (workload.streams..).take(workload.receiving) {
            run.receiving.push(Receiving {
                number,
                writer: FpduWriter::new(false, CrcField::Computed),
                payload: 0,
                sequence: 0,
                limit: 0,
            });
        }
        run.set_up(emss);
        run.reset()?;
        Ok(run)
    }

    /// The requests of a stream, and what is due of them.
    fn stream(&self, number: usize, count: usize, mulpdu: u16) -> Result<Sending, RateError> {
        let impossible = |error: transmit::SlotError| RateError::Workload(error.to_string());
        let Workload {
            ulpdu, requests, ..
        } = self.workload;
        let mut stream = Sending::default();
        let mut writer = FpduWriter::new(self.workload.markers, CrcField::Computed);
        let payload = (ulpdu - self.workload.header()) * self.workload.fpdus();
        let stride = (payload as u64).next_multiple_of(ALIGNED);
        let places = (PART / stride).max(1);
        for index in 0..count {
            let offset = number as u64 * PART + index as u64 % places * stride;
            let flags = Flags {
                signalled: index + 1 == count,
                ..Flags::default()
            };
            let message = octets(SOURCE + offset, payload);
            let (target, carries, header) = match requests {
                Requests::Memory { .. } => {
                    let element = Element {
                        stag: SOURCE_STAG,
                        length: payload as u32,
                        offset,
                    };
                    let (stag, rsvd_ulp) = (0x2300 + number as u32, 0x40);
                    let target = Target::Tagged {
                        stag,
                        offset,
                        rsvd_ulp,
                    };
                    let header = Message::Tagged {
                        stag,
                        to: offset,
                        rsvd_ulp,
                    };
                    let gather = Gather::new(&[element]).map_err(impossible)?;
                    (target, Payload::Gather(gather), header)
                }
                Requests::Inline => {
                    let rsvd_ulp = [0x43, 0, 0, 0, 0];
                    let target = Target::Untagged { queue: 0, rsvd_ulp };
                    let msn = index as u32 + 1;
                    let header = Message::Untagged {
                        qn: 0,
                        msn,
                        rsvd_ulp,
                    };
                    let inline = Inline::new(&message).map_err(impossible)?;
                    (target, Payload::Inline(inline), header)
                }
            };
            let request =
                SendRequest::new(target, flags, index as u64, carries).map_err(impossible)?;
            stream.slots.push(request.emit());
            for segment in ddp_segments(header, payload as u64, mulpdu)? {
                let mut octets = [0; MAX_HEADER_LEN];
                let length = segment.header.emit(&mut octets);
                let part = segment.payload.start as usize..segment.payload.end as usize;
                writer.append(&octets[..length], &message[part], &mut stream.due)?;
                stream.ends.push_back(stream.due.len());
            }
        }
        Ok(stream)
    }

    /// Commands and doorbells.
    fn set_up(&mut self, emss: u32) {
        let write = Access::Write;
        self.accesses.extend([
            write(register::COMPLETION_BASE_LOW.offset, QUEUE as u32),
            write(register::COMPLETION_BASE_HIGH.offset, (QUEUE >> 32) as u32),
            write(register::COMPLETION_ENTRIES.offset, COMPLETIONS),
        ]);
        for (stag, address, remote) in [(SOURCE_STAG, SOURCE, 0), (SINK_STAG, SINK, 1)] {
            self.give(
                command::WRITE_STAG,
                &[
                    (stag_entry::STAG, stag.into()),
                    (stag_entry::PROTECTION_DOMAIN, DOMAIN),
                    (stag_entry::REMOTE_WRITE, remote),
                    (stag_entry::LENGTH, 16 * PART),
                    (stag_entry::ADDRESS, address),
                ],
            );
        }
        let Workload {
            streams,
            receiving,
            markers,
            ..
        } = self.workload;
        for number in 0..(streams + receiving) as u64 {
            self.give(
                command::ARM_STREAM,
                &[
                    (stream_context::STREAM, number),
                    (stream_context::CRC, 1),
                    (stream_context::PROTECTION_DOMAIN, DOMAIN),
                    (stream_context::FIRST_MSN, 1),
                ],
            );
            if number >= streams as u64 {
                continue;
            }
            self.give(
                transmit::ARM_TRANSMIT,
                &[
                    (transmit_context::STREAM, number),
                    (transmit_context::MARKERS, markers.into()),
                    (transmit_context::CRC, 1),
                    (transmit_context::EMSS, emss.into()),
                    (transmit_context::FIRST_MSN, 1),
                ],
            );
            self.give(
                transmit::SET_SEND_RING,
                &[
                    (send_ring::STREAM, number),
                    (send_ring::ENTRIES, ENTRIES.into()),
                    (send_ring::BASE, RINGS + number * PART),
                ],
            );
        }
        for number in 0..streams {
            let mut word = [0];
            let count = self.streams[number].slots.len();
            transmit::SEND_PRODUCER_STREAM.put(&mut word, number as u64);
            transmit::SEND_PRODUCER_COUNT.put(&mut word, count as u64);
            let offset = transmit::SEND_PRODUCER.offset;
            self.accesses.push_back(Access::Write(offset, word[0]));
        }
    }

    fn give(&mut self, number: u32, fields: &[(Field, u64)]) {
        let mut words = [0; 8];
        for (field, value) in fields {
            field.put(&mut words, *value);
        }
        for (index, word) in (0..).zip(words) {
            let offset = register::ARGUMENT.at(index);
            self.accesses.push_back(Access::Write(offset, word));
        }
        let command = Access::Write(register::COMMAND.offset, number);
        self.accesses.extend([command, Access::Done]);
    }

    fn wrong(&self, what: String) -> RateError {
        let cycle = self.cycle;
        RateError::Wrong { cycle, what }
    }

    fn get(&self, port: Port) -> u64 {
        self.model.get(port)
    }

    fn edge(&mut self) -> Result<(), RateError> {
        self.model.set(self.ports.aclk, 1);
        self.model.eval()?;
        Ok(())
    }

    fn settle(&mut self) -> Result<(), RateError> {
        self.model.set(self.ports.aclk, 0);
        self.model.eval()?;
        Ok(())
    }

    fn reset(&mut self) -> Result<(), RateError> {
        for cycle in 0..RESET_CYCLES + 8 {
            self.model.set(self.ports.aresetn, u64::from(cycle >= 4));
            self.settle()?;
            self.edge()?;
        }
        let p = self.ports;
        for ready in [
            p.m_axis_window_tready,
            p.s_axil_bready,
            p.s_axil_rready,
            p.m_axi_awready,
            p.m_axi_wready,
            p.m_axi_arready,
            p.m_axis_msix_tready,
            p.m_axis_transmit_tready,
            p.m_axis_status_tready,
        ] {
            self.model.set(ready, 1);
        }
        for _ in 0..RESET_CYCLES {
            self.cycle()?;
        }
        Ok(())
    }

    /// Until all that is due has left, and what is under way has come to its end.
    fn all(&mut self) -> Result<(), RateError> {
        self.feeds = true;
        self.last_beat = self.cycle;
        while self.count.octets < self.total {
            self.cycle()?;
            if self.cycle > self.last_beat + PATIENCE {
                let what = format!("{} of {} octets, no more", self.count.octets, self.total);
                return Err(self.wrong(what));
            }
        }
        self.feeds = false;
        // TCP's segment on its way ends; the last writes and completions come
        for _ in 0..2000 {
            self.cycle()?;
        }
        self.end()
    }

    /// Nothing is left, and the completions are those of the last requests.
    fn end(&self) -> Result<(), RateError> {
        let silent = |number: usize| self.workload.silent && number == 0;
        let mut due: Vec<(u64, u64)> = vec![];
        for (number, stream) in self.streams.iter().enumerate() {
            if !silent(number) {
                due.push((number as u64, stream.slots.len() as u64 - 1));
            }
        }
        let mut found = vec![];
        for entry in &self.queue {
            let words = words(entry);
            match completion::KIND.get(&words) as u32 {
                0 => {}
                transmit::kind::SEND if send_event::STATUS.get(&words) == u64::from(status::OK) => {
                    found.push((
                        send_event::STREAM.get(&words),
                        send_event::REQUEST.get(&words),
                    ));
                }
                _ => return Err(self.wrong(format!("an entry of {words:x?}"))),
            }
        }
        found.sort_unstable();
        if found != due {
            return Err(self.wrong(format!("completions of {found:?}, due {due:?}")));
        }
        let sent: u64 = self.receiving.iter().map(|stream| stream.payload).sum();
        if self.placed != sent {
            let what = format!("{} octets placed of {sent}", self.placed);
            return Err(self.wrong(what));
        }
        let left = !self.sends.is_empty() || !self.reads.is_empty();
        match left || self.segment.at < self.segment.octets.len() {
            true => Err(self.wrong("something is still under way".into())),
            false => Ok(()),
        }
    }

    fn cycle(&mut self) -> Result<(), RateError> {
        self.drive_registers();
        self.drive_memory();
        self.drive_send();
        self.drive_segment()?;
        self.settle()?;
        self.sample_registers()?;
        self.sample_reads()?;
        self.sample_writes()?;
        self.sample_transmit()?;
        self.sample_reports()?;
        self.sample_segment();
        self.edge()?;
        self.cycle += 1;
        Ok(())
    }

    fn drive_registers(&mut self) {
        let p = self.ports;
        if self.under_way.is_none() {
            self.under_way = self.accesses.pop_front().map(|access| UnderWay {
                access,
                address: true,
                data: matches!(access, Access::Write(..)),
            });
        }
        let mut valids = [false; 3];
        if let Some(UnderWay {
            access,
            address,
            data,
        }) = self.under_way
        {
            match access {
                Access::Write(offset, word) => {
                    self.model.set(p.s_axil_awaddr, offset.into());
                    self.model.set(p.s_axil_wdata, word.into());
                    self.model.set(p.s_axil_wstrb, 0xf);
                    valids = [address, data, false];
                }
                Access::Done => {
                    let offset = register::COMMAND.offset;
                    self.model.set(p.s_axil_araddr, offset.into());
                    valids = [false, false, address];
                }
            }
        }
        let [aw, w, ar] = valids;
        self.model.set(p.s_axil_awvalid, aw.into());
        self.model.set(p.s_axil_wvalid, w.into());
        self.model.set(p.s_axil_arvalid, ar.into());
    }

    fn sample_registers(&mut self) -> Result<(), RateError> {
        let p = self.ports;
        let Some(mut now) = self.under_way else {
            return Ok(());
        };
        let passes = |valid, ready| self.get(valid) & self.get(ready) == 1;
        let doorbell = matches!(now.access, Access::Write(offset, _) if offset == transmit::SEND_PRODUCER.offset);
        now.address &= !(passes(p.s_axil_awvalid, p.s_axil_awready)
            || passes(p.s_axil_arvalid, p.s_axil_arready));
        let data = passes(p.s_axil_wvalid, p.s_axil_wready);
        now.data &= !data;
        let answered = passes(p.s_axil_bvalid, p.s_axil_bready);
        let read = passes(p.s_axil_rvalid, p.s_axil_rready);
        let word = [self.get(p.s_axil_rdata) as u32];
        if doorbell && data {
            self.rung.get_or_insert(self.cycle);
        }
        if doorbell && answered {
            self.answered.get_or_insert(self.cycle);
        }
        if read && register::COMMAND_BUSY.get(&word) == 1 {
            now.address = true;
        } else if read || answered {
            self.under_way = None;
            if read && register::COMMAND_FAILED.get(&word) == 1 {
                return Err(self.wrong("a command was refused".into()));
            }
            return Ok(());
        }
        self.under_way = Some(now);
        Ok(())
    }

    /// Cycles behind the answer to the first doorbell.
    fn since_doorbell(&self) -> Option<i64> {
        let answered = self.answered?;
        Some(self.cycle as i64 - answered as i64)
    }

    /// What memory holds: slots, and octets of messages.
    fn memory(&self, address: u64) -> u32 {
        if (RINGS..SOURCE).contains(&address) {
            let (stream, at) = ((address - RINGS) / PART, (address - RINGS) % PART);
            let slot = self
                .streams
                .get(stream as usize)
                .and_then(|stream| stream.slots.get((at / SLOT_OCTETS) as usize));
            return slot.map_or(0, |slot| slot[(at % SLOT_OCTETS) as usize / 4]);
        }
        let octets: [u8; 4] = std::array::from_fn(|i| {
            let address = address + i as u64;
            octet(address) ^ u8::from(self.wrong_octet == Some(address))
        });
        u32::from_le_bytes(octets)
    }

    fn drive_memory(&mut self) {
        let p = self.ports;
        self.model
            .set(p.m_axi_bvalid, u64::from(self.responses > 0));
        let front = self.reads.front().copied();
        self.model.set(p.m_axi_rvalid, front.is_some().into());
        if let Some((address, left)) = front {
            let mut data = [0; 16];
            for (lane, word) in data.iter_mut().take(self.beat / 4).enumerate() {
                *word = self.memory(address + 4 * lane as u64);
            }
            self.model.set_words(p.m_axi_rdata, &data[..self.beat / 4]);
            self.model.set(p.m_axi_rlast, u64::from(left == 1));
        }
    }

    fn sample_reads(&mut self) -> Result<(), RateError> {
        let p = self.ports;
        let mut asked = !self.reads.is_empty();
        if self.get(p.m_axi_rvalid) & self.get(p.m_axi_rready) == 1
            && let Some((address, left)) = self.reads.pop_front()
        {
            if left > 1 {
                let next = (address + self.beat as u64, left - 1);
                self.reads.push_front(next);
            }
            let now = self.since_doorbell();
            match address < SOURCE {
                true => self.stations.slot_read = now,
                false => self.stations.payload_read = now,
            }
        }
        if self.get(p.m_axi_arvalid) == 1 {
            let address = self.get(p.m_axi_araddr);
            if !address.is_multiple_of(self.beat as u64) || !(RINGS..SINK).contains(&address) {
                return Err(self.wrong(format!("a read at {address:#x}")));
            }
            let beats = self.get(p.m_axi_arlen) + 1;
            self.reads.push_back((address, beats));
            let now = self.since_doorbell();
            let asked_at = match address < SOURCE {
                true => &mut self.stations.slot_asked,
                false => &mut self.stations.payload_asked,
            };
            *asked_at = asked_at.or(now);
            asked |= self.get(p.m_axi_rvalid) == 0;
        }
        let waits = asked && self.get(p.m_axi_rvalid) == 0;
        if waits && self.answered.is_some() && self.first.is_none() {
            self.starved += 1;
        }
        Ok(())
    }

    fn sample_writes(&mut self) -> Result<(), RateError> {
        let p = self.ports;
        if self.get(p.m_axi_bvalid) & self.get(p.m_axi_bready) == 1 {
            self.responses -= 1;
        }
        if self.get(p.m_axi_awvalid) == 1 {
            let burst = (self.get(p.m_axi_awaddr), self.get(p.m_axi_awlen) + 1);
            self.addresses.push_back(burst);
        }
        if self.get(p.m_axi_wvalid) == 1 {
            self.written.push_back((
                self.model.to_words(p.m_axi_wdata),
                self.get(p.m_axi_wstrb),
                self.get(p.m_axi_wlast) == 1,
            ));
        }
        while let Some((address, left)) = self.write_at.or_else(|| self.addresses.pop_front()) {
            self.write_at = Some((address, left));
            let Some((words, strobes, last)) = self.written.pop_front() else {
                break;
            };
            let beat = address - address % self.beat as u64;
            for lane in (0..self.beat).filter(|lane| strobes >> lane & 1 == 1) {
                let octet = (words[lane / 4] >> (8 * (lane % 4))) as u8;
                self.store(beat + lane as u64, octet)?;
            }
            if last != (left == 1) {
                return Err(self.wrong(format!("a burst of writes at {address:#x}: {left} left")));
            }
            self.write_at = (!last).then_some((beat + self.beat as u64, left - 1));
            self.responses += u64::from(last);
        }
        Ok(())
    }

    fn store(&mut self, address: u64, found: u8) -> Result<(), RateError> {
        if (SINK..QUEUE).contains(&address) {
            self.placed += 1;
            return match found == octet(address) {
                true => Ok(()),
                false => Err(self.wrong(format!("{found:#x} is written to {address:#x}"))),
            };
        }
        let entry = address
            .checked_sub(QUEUE)
            .and_then(|at| self.queue.get_mut((at / 32) as usize));
        match entry {
            Some(entry) => {
                entry[(address % 32) as usize] = found;
                Ok(())
            }
            None => Err(self.wrong(format!("a write to {address:#x}"))),
        }
    }

    fn drive_send(&mut self) {
        let p = self.ports;
        if self.command.is_none() {
            self.command = self.next_command();
        }
        self.model
            .set(p.s_axis_send_tvalid, self.command.is_some().into());
        if let Some((kind, stream, position, octets)) = self.command {
            let data = ports::command_word(kind, position, octets);
            self.model.set(p.s_axis_send_tdata, data);
            self.model.set(p.s_axis_send_tdest, stream as u64);
        }
    }

    /// What TCP commands next, of the streams in turn.
    fn next_command(&mut self) -> Option<(u64, usize, u32, u16)> {
        let count = self.streams.len();
        for i in 0..count {
            let number = (self.turn + i) % count;
            let silent = self.workload.silent && number == 0;
            let stream = &mut self.streams[number];
            if stream.came != stream.acknowledged && !silent {
                stream.acknowledged = stream.came;
                return Some((ports::ACKNOWLEDGE, number, stream.came, 0));
            }
            if stream.edge != stream.asked && self.sends.len() < SENDS {
                let from = stream.asked;
                let octets = (stream.edge - from).min(MOST_ASKED.into()) as u16;
                stream.asked += u32::from(octets);
                self.turn = number + 1;
                self.sends.push_back((number, from, from, stream.asked));
                return Some((ports::SEND, number, from, octets));
            }
        }
        None
    }

    fn sample_transmit(&mut self) -> Result<(), RateError> {
        let p = self.ports;
        if self.get(p.s_axis_send_tvalid) & self.get(p.s_axis_send_tready) == 1 {
            self.command = None;
            let now = self.since_doorbell();
            let accepted = &mut self.stations.send_accepted;
            *accepted = accepted.or(now);
        }
        if self.get(p.m_axis_transmit_tvalid) == 0 {
            return Ok(());
        }
        self.first.get_or_insert(self.cycle);
        self.last_beat = self.cycle;
        let keep = self.get(p.m_axis_transmit_tkeep);
        let (valid, last) = (
            keep.count_ones() as usize,
            self.get(p.m_axis_transmit_tlast) == 1,
        );
        let words = self.model.to_words(p.m_axis_transmit_tdata);
        let beat: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let dest = self.get(p.m_axis_transmit_tdest) as usize;
        let user = self.get(p.m_axis_transmit_tuser) as u32;
        let Some((number, from, next, end)) = self.sends.pop_front() else {
            return Err(self.wrong("octets that TCP has not asked for".into()));
        };
        let behind = next + valid as u32;
        let contiguous = keep.trailing_ones() as usize == valid;
        let full = valid == self.beat || last;
        if (number, from) != (dest, user)
            || !contiguous
            || !full
            || behind > end
            || last != (behind == end)
        {
            let what = format!("a beat of stream {dest} from {user} on, keep {keep:#x}");
            return Err(self.wrong(what));
        }
        let due = &self.streams[number].due[next as usize..behind as usize];
        if due != &beat[..valid] {
            let found = &beat[..valid];
            let what = format!("stream {dest} at {next}: {found:02x?}, due {due:02x?}");
            return Err(self.wrong(what));
        }
        let stream = &mut self.streams[number];
        let mut fpdus = 0;
        while stream.ends.front().is_some_and(|&e| e <= behind as usize) {
            stream.ends.pop_front();
            fpdus += 1;
        }
        match last {
            true => stream.came = end,
            false => self.sends.push_front((number, from, behind, end)),
        }
        if self.workload.silent && number == 0 {
            return Ok(());
        }
        self.count.cycle = self.cycle;
        self.count.octets += valid as u64;
        self.count.fpdus += fpdus;
        for (mark, share) in self.marks.iter_mut().zip([1, 3]) {
            if mark.cycle == 0 && 4 * self.count.octets >= share * self.total {
                *mark = self.count;
            }
        }
        Ok(())
    }

    fn sample_reports(&mut self) -> Result<(), RateError> {
        let p = self.ports;
        if self.get(p.m_axis_status_tvalid) == 1 {
            let words = self.model.to_words(p.m_axis_status_tdata);
            let kind = u64::from(words[ports::STATUS_KIND / 32] >> (ports::STATUS_KIND % 32) & 3);
            let number = self.get(p.m_axis_status_tdest) as usize;
            if kind != ports::MOVED {
                return Err(self.wrong(format!("a report of kind {kind}")));
            }
            self.streams[number].edge = words[ports::STATUS_EDGE / 32];
            let now = self.since_doorbell();
            let moved = &mut self.stations.edge_moved;
            *moved = moved.or(now);
        }
        if self.get(p.m_axis_window_tvalid) == 1 {
            let limit = (self.get(p.m_axis_window_tdata) >> 32) as u32;
            let number = self.get(p.m_axis_window_tdest) as usize;
            let stream = self.receiving.iter_mut().find(|s| s.number == number);
            if let Some(stream) = stream {
                stream.limit = limit;
            }
        }
        Ok(())
    }

    /// The next beat of a segment, if a stream has room for a segment.
    fn drive_segment(&mut self) -> Result<(), RateError> {
        let p = self.ports;
        // a stream reports a window before it is armed, too
        let feeds = self.feeds && self.accesses.is_empty();
        if self.segment.at >= self.segment.octets.len() && feeds {
            let count = self.receiving.len();
            let turn = (0..count).map(|i| (self.fed + i) % count);
            let payload = ETHERNET - TAGGED_HEADER_LEN;
            let octets_due = (ETHERNET + mpa::MIN_OVERHEAD) as u32;
            let mut turn = turn.filter(|&i| {
                let stream = &self.receiving[i];
                stream.sequence + octets_due <= stream.limit
            });
            if let Some(i) = turn.next() {
                self.fed = i + 1;
                let stream = &mut self.receiving[i];
                // Its part of the region, from the start again when it is full.
                let places = PART / payload as u64;
                let place = stream.payload / payload as u64 % places;
                let to = stream.number as u64 * PART + place * payload as u64;
                let message = Message::Tagged {
                    stag: SINK_STAG,
                    to,
                    rsvd_ulp: 0,
                };
                let mut sent = vec![];
                let payload = octets(SINK + to, payload);
                let mulpdu = ETHERNET as u16;
                stream
                    .writer
                    .append_message(message, &payload, mulpdu, &mut sent)?;
                self.segment = Segment {
                    at: 0,
                    dest: stream.number,
                    first: stream.sequence,
                    octets: sent,
                };
                stream.payload += payload.len() as u64;
                stream.sequence += self.segment.octets.len() as u32;
            }
        }
        let Segment {
            octets,
            at,
            dest,
            first,
        } = &self.segment;
        let beat = &octets[*at..octets.len().min(at + self.beat)];
        let model = &mut *self.model;
        model.set(p.s_axis_segment_tvalid, u64::from(!beat.is_empty()));
        if beat.is_empty() {
            return Ok(());
        }
        let mut data = [0; 64];
        data[..beat.len()].copy_from_slice(beat);
        model.set_words(p.s_axis_segment_tdata, &words(&data[..self.beat]));
        model.set(p.s_axis_segment_tkeep, u64::MAX >> (64 - beat.len()));
        let last = at + beat.len() == octets.len();
        model.set(p.s_axis_segment_tlast, last.into());
        model.set(p.s_axis_segment_tdest, *dest as u64);
        model.set(p.s_axis_segment_tuser, (*first).into());
        Ok(())
    }

    fn sample_segment(&mut self) {
        let p = self.ports;
        if self.get(p.s_axis_segment_tvalid) & self.get(p.s_axis_segment_tready) == 1 {
            let beat = self.beat.min(self.segment.octets.len() - self.segment.at);
            self.segment.at += beat;
            self.count.received += beat as u64;
        }
    }
}

/// Octets as words, the first octet in bits 7:0 of the first word.
fn words(octets: &[u8]) -> Vec<u32> {
    let words = octets.as_chunks().0.iter().copied();
    words.map(u32::from_le_bytes).collect()
}
