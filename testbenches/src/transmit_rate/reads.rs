//! Reads: the peer sends Read Requests, which the device answers without the host.
//!
//! ```text
//!  s_axis_segment ─ Read Request ─► queue 1: a buffer ─► read ─► slot ─► payload ─► edge ─► SEND ─► m_axis_transmit
//!  latency:       └─ from its last beat ────────────────────────────────────────────────── to the first beat ─┘
//! ```
//!
//! Each Read Request (RFC 5040 §4.4) is a TCP segment of its own. The peer has at most [`READ_REQUESTS_MAX`] under way on a stream,
//! and sends the next one when the last octet of a response has come, and `s_axis_segment` and the window have room. What must come back
//! is made by `warpline_wire`. The host does nothing once the responder is on, and gets no completion.

use serde::{Deserialize, Serialize};
use warpline_regmap::layout::receive_ring;
use warpline_regmap::register::{self, command};
use warpline_regmap::transmit::{self, READ_BUFFER_OCTETS, READ_REQUESTS_MAX, read_responder};
use warpline_verilate::Model;
use warpline_wire::ddp::TAGGED_HEADER_LEN;
use warpline_wire::rdmap::{Control, Opcode, READ_REQUEST_LEN, ReadRequest, Version, queue};
use warpline_wire::send::Message;

use super::{
    Access, DESCRIPTORS, ETHERNET, PART, REQUESTS, RateError, ReadStations, Receiving, Requests,
    Run, SOURCE_STAG, Workload,
};
use crate::read_buffers;

/// log2 of the buffers of a stream, and of the descriptors of its ring.
const BUFFERS_LOG: u32 = 5;
const BUFFERS: usize = 1 << BUFFERS_LOG;
const FIRST_MSN: u32 = 1;
/// Cycles after which the blocks that ask their streams in turn are where they were: one a stream.
pub const PHASES: u64 = 16;

/// The measured latency of a single Read in an idle device. Some blocks ask their streams in turn, so it depends on the cycle in
/// which the request comes; this is the longest one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReadDelay {
    /// Bits of the data path.
    pub width: usize,
    /// What was read, once.
    #[serde(flatten)]
    pub workload: Workload,
    /// Beats of the response.
    pub beats: u64,
    /// Cycles from the last beat of the Read Request on `s_axis_segment` to the first beat on `m_axis_transmit`.
    pub cycles: u64,
    /// Those of them in which a read was under way and memory gave no beat.
    pub memory: u64,
    /// When the stations on the way were passed.
    pub stations: ReadStations,
}

impl Workload {
    /// One stream whose peer reads; each response has `fpdus` FPDUs.
    #[must_use]
    pub const fn read(ulpdu: usize, fpdus: usize) -> Self {
        Self {
            requests: Requests::Reads { fpdus },
            ..Self::memory(ulpdu, fpdus, false)
        }
    }
}

/// The rates of Read Responses that are recorded.
pub(super) fn workloads() -> Vec<Workload> {
    let small = Workload::read(TAGGED_HEADER_LEN + 64, 1);
    vec![
        small,
        Workload {
            streams: 4,
            ..small
        },
        Workload::read(ETHERNET, 1),
        Workload::read(ETHERNET, 16),
    ]
}

/// The latencies of Reads that are recorded.
#[must_use]
pub fn read_delays() -> Vec<Workload> {
    vec![
        Workload::read(TAGGED_HEADER_LEN + 64, 1),
        Workload::read(ETHERNET, 1),
    ]
}

/// Measures the latency of the first Read of a workload: the longest one of those that begin in [`PHASES`] cycles in a row.
///
/// # Errors
/// As [`rate`](super::rate).
pub fn read_delay(
    model: &mut Model,
    width: usize,
    workload: Workload,
) -> Result<ReadDelay, RateError> {
    let mut longest = delay_behind(model, width, workload, 0)?;
    for hold in 1..PHASES {
        let found = delay_behind(model, width, workload, hold)?;
        if found.cycles > longest.cycles {
            longest = found;
        }
    }
    Ok(longest)
}

/// The latency of a Read Request that comes `hold` cycles behind the last register access.
fn delay_behind(
    model: &mut Model,
    width: usize,
    workload: Workload,
    hold: u64,
) -> Result<ReadDelay, RateError> {
    let mut run = Run::new(model, width / 8, workload, 1, None)?;
    run.hold = hold;
    run.all()?;
    let moment = |at: Option<u64>| at.ok_or_else(|| run.wrong("a moment is missing".into()));
    let (start, first) = (moment(run.start)?, moment(run.first)?);
    let stations = ReadStations {
        payload_asked: run.stations.payload_asked,
        payload_read: run.stations.payload_read,
        edge_moved: run.stations.edge_moved,
        send_accepted: run.stations.send_accepted,
        ..run.read_stations
    };
    Ok(ReadDelay {
        width,
        workload,
        beats: run.streams[0].due.len().div_ceil(width / 8) as u64,
        cycles: first - start,
        memory: run.starved,
        stations,
    })
}

/// What the peer of a stream asks for, and the message that answers it (RFC 5040 §4.5).
pub(super) fn read(number: usize, offset: u64, octets: usize) -> (ReadRequest, Message) {
    let request = ReadRequest {
        sink_stag: 0x2300 + number as u32,
        sink_to: (7 << 32) + offset,
        size: octets as u32,
        source_stag: SOURCE_STAG,
        source_to: offset,
    };
    let response = Message::Tagged {
        stag: request.sink_stag,
        to: request.sink_to,
        rsvd_ulp: Control::new(Version::Ietf, Opcode::ReadResponse).0,
    };
    (request, response)
}

/// The message that has a Read Request, and its payload.
pub(super) fn message(asks: &[ReadRequest], index: usize) -> (Message, [u8; READ_REQUEST_LEN]) {
    let control = Control::new(Version::Ietf, Opcode::ReadRequest).0;
    let message = Message::Untagged {
        qn: queue::READ_REQUEST,
        msn: FIRST_MSN + index as u32,
        rsvd_ulp: [control, 0, 0, 0, 0],
    };
    (message, asks[index].emit())
}

/// Buffers of a stream for them.
pub(super) fn buffers(asks: &[ReadRequest]) -> Vec<u8> {
    match asks {
        [] => vec![],
        _ => vec![0; BUFFERS * READ_BUFFER_OCTETS],
    }
}

/// A word of the descriptors, which name buffers that follow each other.
pub(super) fn descriptor_word(address: u64) -> u32 {
    let (part, at) = (
        (address - DESCRIPTORS) / PART,
        (address - DESCRIPTORS) % PART,
    );
    read_buffers::descriptor_word(at, REQUESTS + part * PART)
}

impl Run<'_> {
    /// Receive rings of queue 1, with buffers, and the commands that hand it to the device.
    pub(super) fn set_up_reads(&mut self) {
        for number in 0..self.workload.streams as u64 {
            self.give(
                command::SET_RECEIVE_RING,
                &[
                    (receive_ring::STREAM, number),
                    (receive_ring::QUEUE, queue::READ_REQUEST.into()),
                    (receive_ring::ENTRIES, BUFFERS as u64),
                    (receive_ring::BASE, DESCRIPTORS + number * PART),
                ],
            );
            let doorbell = number as u32 * register::RECEIVE_PRODUCER_STRIDE + queue::READ_REQUEST;
            let mut word = [0];
            register::RECEIVE_PRODUCER_COUNT.put(&mut word, READ_REQUESTS_MAX as u64);
            let offset = register::RECEIVE_PRODUCER.at(doorbell);
            self.accesses.push_back(Access::Write(offset, word[0]));
            self.give(
                transmit::SET_READ_RESPONDER,
                &[
                    (read_responder::STREAM, number),
                    (read_responder::ON, 1),
                    (read_responder::ENTRIES_LOG, BUFFERS_LOG.into()),
                    (read_responder::FIRST_MSN, FIRST_MSN.into()),
                    (read_responder::BASE, REQUESTS + number * PART),
                ],
            );
        }
    }

    /// The responder is on, and fewer requests than the peer may send are under way.
    pub(super) fn may_ask(&self, stream: &Receiving) -> bool {
        let sending = &self.streams[stream.number];
        let each = self.workload.fpdus();
        let answered = (sending.asks.len() * each - sending.ends.len()) / each;
        let under_way = stream.asked - answered;
        self.under_way.is_none()
            && stream.asked < sending.asks.len()
            && under_way < READ_REQUESTS_MAX
    }

    /// A word of a buffer.
    pub(super) fn request_word(&self, address: u64) -> u32 {
        let (stream, at) = ((address - REQUESTS) / PART, (address - REQUESTS) % PART);
        let stream = self.streams.get(stream as usize);
        let octets = stream.and_then(|stream| stream.buffers.get(at as usize..at as usize + 4));
        let octets = octets.and_then(|octets| octets.try_into().ok());
        octets.map_or(0, u32::from_le_bytes)
    }

    pub(super) fn store_request(&mut self, address: u64, found: u8) -> Result<(), RateError> {
        let (stream, at) = ((address - REQUESTS) / PART, (address - REQUESTS) % PART);
        let stream = self.streams.get_mut(stream as usize);
        match stream.and_then(|stream| stream.buffers.get_mut(at as usize)) {
            Some(octet) => *octet = found,
            None => return Err(self.wrong(format!("a write to {address:#x}"))),
        }
        self.buffered += 1;
        Ok(())
    }

    /// Each request was written once.
    pub(super) fn check_buffered(&self) -> Result<(), RateError> {
        let asked: usize = self.receiving.iter().map(|stream| stream.asked).sum();
        match self.buffered == (asked * READ_REQUEST_LEN) as u64 {
            true => Ok(()),
            false => Err(self.wrong(format!(
                "{} octets of {asked} Read Requests are in memory",
                self.buffered
            ))),
        }
    }
}
