//! Chunks on their way into the device.
//!
//! ```text
//!  association ─► fresh ─► s_axis_sctp ─► presented ─► m_axis_chunk: TAKEN, OLD ─► done
//!                   ▲                                                NO_ROOM ────► refused
//!                   └──── when another one is taken, and from time to time ◄──────────┘
//! ```
//!
//! A stream's chunks wait until the stream is armed. One without room is presented again, the first in order at a time: when
//! another one of its stream is taken, and every [`RETRY`] cycles, since a slot is also free when the host's memory has what lay in it.

use std::collections::VecDeque;

use fastrand::Rng;
use warpline_hdl::parts::axi::{USER_CONTROL, USER_TERMINATE};
use warpline_hdl::records::chunk_status;
use warpline_hdl::rx::sctp::receive::STATUS_LSB;
use warpline_verilate::{Model, Port, ports};
use warpline_wire::sctp::SSN_LEN;

use crate::error::{Error, Rule};
use crate::options::BackPressure;
use crate::ports::set_octets;
use crate::watch::Watch;

/// Name of the port in violations.
pub(crate) const CHUNK: &str = "m_axis_chunk";
/// Chunks of a stream that wait when its owner is woken to bring more.
const LOW: usize = 16;
/// Cycles behind which a chunk that had no room is presented again.
const RETRY: u64 = 256;

ports! {
    /// Ports of a device that takes chunks of SCTP.
    pub(crate) struct SctpPorts:
    s_axis_sctp_tdata,
    s_axis_sctp_tkeep,
    s_axis_sctp_tlast,
    s_axis_sctp_tdest,
    s_axis_sctp_tuser,
    s_axis_sctp_tvalid,
    s_axis_sctp_tready,
    m_axis_chunk_tdata,
    m_axis_chunk_tdest,
    m_axis_chunk_tvalid,
    m_axis_chunk_tready,
}

/// A chunk: its user data, and what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chunk {
    /// A session control message (PPID 17), not a DDP segment.
    pub control: bool,
    /// With `control`: the peer's last chunk of the session, behind which the device reports its end.
    pub terminate: bool,
    /// User data, from the DDP-SSN on.
    pub octets: Vec<u8>,
}

impl Chunk {
    /// Its DDP-SSN; 0 for one that is too short.
    fn ssn(&self) -> u16 {
        match self.octets.first_chunk::<SSN_LEN>() {
            Some(octets) => u16::from_be_bytes(*octets),
            None => 0,
        }
    }
}

/// Chunks of one stream.
#[derive(Debug, Default)]
struct Queue {
    /// Number of the session that is attached, of all there were.
    session: Option<u64>,
    armed: bool,
    fresh: VecDeque<Chunk>,
    /// Without room.
    refused: Vec<Chunk>,
    retry: u64,
    /// The device takes nothing more of the session: a number was invalid, or an error has frozen the stream.
    failed: bool,
    /// A number was invalid.
    invalid: bool,
}

impl Queue {
    /// The next chunk to be presented.
    fn next(&mut self, cycle: u64) -> Option<Chunk> {
        if !self.armed || self.failed {
            return None;
        }
        if cycle >= self.retry && !self.refused.is_empty() {
            self.retry = cycle + RETRY;
            let order = |chunk: &Chunk| chunk.ssn().wrapping_sub(self.refused[0].ssn()) as i16;
            let first = (0..self.refused.len()).min_by_key(|i| order(&self.refused[*i]))?;
            return Some(self.refused.swap_remove(first));
        }
        self.fresh.pop_front()
    }
}

/// A chunk that the device has not reported on.
#[derive(Debug)]
struct Presented {
    stream: usize,
    session: Option<u64>,
    chunk: Chunk,
}

/// A chunk at the port.
#[derive(Debug)]
struct Sending {
    stream: usize,
    chunk: Chunk,
    /// Octets that are accepted.
    at: usize,
}

/// What the association is to know of a stream's chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State {
    /// Chunks that can be presented now.
    pub waiting: usize,
    /// Octets of all chunks, those without room among them.
    pub octets: usize,
    /// The device has ended the session: no chunk under way can have a number that came.
    pub invalid: bool,
}

/// Chunks of all streams.
#[derive(Debug)]
pub(crate) struct Chunks {
    ports: SctpPorts,
    /// Octets of a beat.
    beat: usize,
    idle: u8,
    streams: Vec<Queue>,
    turn: usize,
    /// The chunk that is not accepted as a whole; the device may report on it before.
    sending: Option<Sending>,
    /// A beat is offered.
    held: bool,
    presented: VecDeque<Presented>,
    watch: Watch,
    /// Chunks that were presented a second time, or more often.
    pub again: u64,
    /// Cycle of the last transfer on either port.
    pub last_transfer: u64,
}

impl Chunks {
    /// `streams` streams without chunks, at the ports of `model`, with idle cycles in percent.
    pub fn new(model: &Model, streams: usize, beat: usize, idle: u8) -> Result<Self, Error> {
        Ok(Self {
            ports: SctpPorts::find(model, "")?,
            beat,
            idle: idle.min(99),
            streams: std::iter::repeat_with(Queue::default)
                .take(streams)
                .collect(),
            turn: 0,
            sending: None,
            held: false,
            presented: VecDeque::new(),
            watch: Watch::default(),
            again: 0,
            last_transfer: 0,
        })
    }

    /// Forgets all chunks: the card was reset.
    pub fn clear(&mut self, model: &mut Model) {
        self.streams
            .iter_mut()
            .for_each(|queue| *queue = Queue::default());
        (self.sending, self.held) = (None, false);
        self.presented.clear();
        self.watch.clear();
        model.set(self.ports.s_axis_sctp_tvalid, 0);
    }

    /// Port of the reports, with which it is checked in reset.
    pub fn valid(&self) -> Port {
        self.ports.m_axis_chunk_tvalid
    }

    /// A session is attached to a stream.
    pub fn open(&mut self, stream: u8, session: u64) {
        if let Some(queue) = self.streams.get_mut(usize::from(stream)) {
            let armed = queue.armed;
            *queue = Queue::default();
            (queue.session, queue.armed) = (Some(session), armed);
        }
    }

    /// A stream is armed, as a session or for TCP: then no chunk is there to be presented.
    pub fn arm(&mut self, stream: u8) {
        if let Some(queue) = self.streams.get_mut(usize::from(stream)) {
            (queue.armed, queue.failed) = (true, false);
        }
    }

    /// A stream is closed, and its session detached.
    pub fn close(&mut self, stream: u8) {
        if let Some(queue) = self.streams.get_mut(usize::from(stream)) {
            *queue = Queue::default();
        }
    }

    /// A chunk of a session.
    pub fn pass(&mut self, stream: u8, session: u64, chunk: Chunk) {
        if let Some(queue) = self.queue(stream.into(), Some(session))
            && !queue.failed
        {
            queue.fresh.push_back(chunk);
        }
    }

    /// Whether the chunks of a session go on; `None` if it is not attached.
    pub fn state(&mut self, stream: u8, session: u64) -> Option<State> {
        let queue = self.queue(stream.into(), Some(session))?;
        let octets = |chunks: &mut dyn Iterator<Item = &Chunk>| {
            chunks.map(|chunk| chunk.octets.len()).sum::<usize>()
        };
        Some(State {
            waiting: queue.fresh.len(),
            octets: octets(&mut queue.fresh.iter()) + octets(&mut queue.refused.iter()),
            invalid: queue.invalid,
        })
    }

    fn queue(&mut self, stream: usize, session: Option<u64>) -> Option<&mut Queue> {
        let queue = self.streams.get_mut(stream)?;
        (session.is_some() && queue.session == session).then_some(queue)
    }

    /// All chunks are reported on, and those that wait have no room or no armed stream.
    pub fn is_idle(&self) -> bool {
        let rests = |queue: &Queue| !queue.armed || queue.failed || queue.fresh.is_empty();
        self.presented.is_empty() && self.streams.iter().all(rests)
    }

    /// Drives the ports.
    pub fn drive(&mut self, model: &mut Model, cycle: u64, pressure: &BackPressure, rng: &mut Rng) {
        let ports = self.ports;
        model.set(ports.m_axis_chunk_tready, pressure.ready(rng).into());
        if !self.held && (self.idle == 0 || rng.u8(..100) >= self.idle) {
            if self.sending.is_none() {
                self.begin(cycle);
            }
            self.held = self.sending.is_some();
        }
        model.set(ports.s_axis_sctp_tvalid, self.held.into());
        let Some(Sending { stream, chunk, at }) = &self.sending else {
            return;
        };
        let octets = &chunk.octets[*at..];
        let count = octets.len().min(self.beat);
        let mut lanes = vec![0; self.beat];
        lanes[..count].copy_from_slice(&octets[..count]);
        set_octets(model, ports.s_axis_sctp_tdata, &lanes);
        let keep = u64::MAX.checked_shr(64 - count as u32).unwrap_or(0);
        model.set(ports.s_axis_sctp_tkeep, keep);
        model.set(ports.s_axis_sctp_tlast, (count == octets.len()).into());
        model.set(ports.s_axis_sctp_tdest, *stream as u64);
        let control = u64::from(chunk.control) << USER_CONTROL;
        let terminate = u64::from(chunk.terminate) << USER_TERMINATE;
        model.set(ports.s_axis_sctp_tuser, control | terminate);
    }

    /// Takes the next chunk, of the streams in turn.
    fn begin(&mut self, cycle: u64) {
        let count = self.streams.len();
        for i in 0..count {
            let stream = (self.turn + i) % count;
            let queue = &mut self.streams[stream];
            let refused = queue.refused.len();
            let Some(chunk) = queue.next(cycle) else {
                continue;
            };
            self.again += u64::from(queue.refused.len() < refused);
            let session = queue.session;
            self.turn = stream + 1;
            self.sending = Some(Sending {
                stream,
                chunk: chunk.clone(),
                at: 0,
            });
            self.presented.push_back(Presented {
                stream,
                session,
                chunk,
            });
            return;
        }
    }

    /// Performs the transfers of this cycle. Returns the stream whose owner is to look: there is room, or a session has ended.
    pub fn look(&mut self, model: &Model, cycle: u64) -> Result<Option<usize>, Rule> {
        let ports = self.ports;
        let high = |port| model.get(port) == 1;
        if self.held && high(ports.s_axis_sctp_tready) {
            self.held = false;
            self.last_transfer = cycle;
            if let Some(sending) = &mut self.sending {
                sending.at += self.beat;
            }
            self.sending = self
                .sending
                .take()
                .filter(|sending| sending.at < sending.chunk.octets.len());
        }
        let (valid, ready) = (
            high(ports.m_axis_chunk_tvalid),
            high(ports.m_axis_chunk_tready),
        );
        let (data, stream) = (
            model.get(ports.m_axis_chunk_tdata),
            model.get(ports.m_axis_chunk_tdest) as usize,
        );
        self.watch
            .look(valid, ready, [data as u32, stream as u32].into_iter())?;
        if !valid || !ready {
            return Ok(None);
        }
        self.last_transfer = cycle;
        let (ssn, status) = (data as u16, data >> STATUS_LSB);
        let unasked = Rule::Chunk {
            stream: stream as u8,
            ssn,
            status: status as u8,
        };
        let first = self.presented.pop_front().ok_or(unasked)?;
        if (first.stream, first.chunk.ssn()) != (stream, ssn) {
            return Err(unasked);
        }
        let Some(queue) = self.queue(stream, first.session) else {
            return Ok(None); // of a former session
        };
        match status {
            chunk_status::TAKEN | chunk_status::OLD => {
                queue.retry = 0;
                return Ok((queue.fresh.len() == LOW).then_some(stream));
            }
            chunk_status::NO_ROOM => {
                queue.retry = queue.retry.max(cycle + RETRY);
                queue.refused.push(first.chunk);
                return Ok(None);
            }
            chunk_status::INVALID | chunk_status::NO_STREAM => {
                queue.failed = true;
                queue.invalid = status == chunk_status::INVALID;
                queue.fresh.clear();
                queue.refused.clear();
            }
            _ => return Err(unasked),
        }
        Ok(Some(stream))
    }
}
