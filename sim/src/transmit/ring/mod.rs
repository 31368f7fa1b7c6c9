//! TCP's side of the transmit ring: asks for the octets of all streams, whole FPDUs at a time, keeps them until the connection accepts
//! them, and checks what comes.
//!
//! ```text
//!  commands followed ─► stream: edge, asked, accepted ─► s_axis_send ─► pending, in order
//!                         ▲                                                │
//!  m_axis_status ─────────┴───────── answers ──────────────────────────────┤
//!  m_axis_transmit ─► range ─► outgoing ─► connection ─► accepted          │
//!                       └────────────── next of the SENDs ─────────────────┘
//! ```
//!
//! - `stream`: what is known of a stream, and the next command for it. `command`: commands, and those that are not answered.
//!
//! **Close.** A stream that is about to be closed gets no more commands, and its octets are dropped. What was asked for before
//! is answered by octets or by a refusal, behind the close, too; a new owner's commands begin when all of it is.

mod command;
mod stream;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use fastrand::Rng;
use warpline_hdl::Config;
use warpline_hdl::tx::mpa::transmit_ring::ports;

use super::outgoing::Outgoing;
use crate::error::{Rule, Violation};
use crate::options::{BackPressure, CardOptions};
use crate::stream_events::SendEvent;
use crate::watch::Watch;
use command::{Command, Kind, Pending};
use stream::{Armed, Stream};

/// Commands that are not answered, at most: more than the ring has room for, so that they stall now and then.
const MOST: usize = 12;

pub(crate) const TRANSMIT: &str = "m_axis_transmit";
pub(crate) const STATUS: &str = "m_axis_status";

/// What TCP drives in a cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Offer {
    /// TDATA and TDEST of `s_axis_send`, if a command is valid.
    pub command: Option<(u64, u8)>,
    /// TREADY of `m_axis_transmit` and `m_axis_status`.
    pub transmit_ready: bool,
    pub status_ready: bool,
}

/// What the device drives in the same cycle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wires<'w> {
    pub send_ready: bool,
    pub transmit_valid: bool,
    /// TDATA in words.
    pub data: &'w [u32],
    pub keep: u64,
    pub last: bool,
    pub dest: u8,
    pub user: u32,
    pub status_valid: bool,
    /// TDATA in words.
    pub report: &'w [u32],
    pub report_dest: u8,
}

/// A range whose last beat has not come.
#[derive(Debug)]
struct Range {
    command: Command,
    octets: Vec<u8>,
}

/// TCP's side of the ring.
#[derive(Debug)]
pub(crate) struct Ring {
    ring_octets: u32,
    /// Percentage of segments behind which octets are asked for again.
    resend: u8,
    rng: Rng,
    offer: Offer,
    streams: Vec<Stream>,
    /// The stream whose turn it is.
    turn: usize,
    offered: Option<Command>,
    pending: Pending,
    range: Option<Range>,
    transmit: Watch,
    status: Watch,
    /// Streams whose connection has octets to send, each once.
    pub outgoing: VecDeque<u8>,
    /// Octets of former owners that came behind the close.
    pub stale: u64,
    /// Octets that came a second time.
    pub resent: u64,
    /// Cycle of the last transfer on any port.
    pub last_transfer: u64,
}

impl Ring {
    /// The other end of the ring's ports.
    pub fn new(config: &Config, options: &CardOptions) -> Self {
        Self {
            ring_octets: config.ring_octets as u32,
            resend: options.resend,
            rng: Rng::with_seed(options.seed ^ u64::from(u32::MAX)),
            offer: Offer::default(),
            streams: std::iter::repeat_with(Stream::default)
                .take(config.streams)
                .collect(),
            turn: 0,
            offered: None,
            pending: Pending::default(),
            range: None,
            transmit: Watch::default(),
            status: Watch::default(),
            outgoing: VecDeque::new(),
            stale: 0,
            resent: 0,
            last_transfer: 0,
        }
    }

    /// Forgets all streams: the card was reset.
    pub fn clear(&mut self) {
        for stream in &mut self.streams {
            *stream = Stream::default();
        }
        self.offer = Offer::default();
        self.offered = None;
        self.pending = Pending::default();
        self.range = None;
        self.outgoing.clear();
        self.transmit.clear();
        self.status.clear();
    }

    /// A command of a stream's owner was carried out.
    pub fn follow(&mut self, event: SendEvent) {
        let (SendEvent::Armed { stream, .. } | SendEvent::Emss { stream, .. }) = event;
        let Some(stream) = self.streams.get_mut(usize::from(stream)) else {
            return;
        };
        match event {
            SendEvent::Armed { sequence, emss, .. } => {
                stream.state = Some(Armed::new(sequence, emss));
            }
            SendEvent::Emss { emss, .. } => {
                if let Some(state) = &mut stream.state {
                    state.emss = emss;
                }
            }
        }
    }

    /// A stream is about to be closed.
    pub fn close(&mut self, stream: u8) {
        if let Some(stream) = self.streams.get_mut(usize::from(stream)) {
            stream.owner = stream.owner.wrapping_add(1);
            stream.state = None;
            stream.outgoing.clear();
        }
    }

    /// A command of the stream is offered, so that it may still be accepted.
    pub fn offers(&self, stream: u8) -> bool {
        self.offered
            .as_ref()
            .is_some_and(|command| command.stream == stream)
    }

    /// Asks for the edge of a stream, if it is armed.
    pub fn probe(&mut self, stream: u8) {
        if let Some(armed) = self.armed(stream) {
            armed.probe();
        }
    }

    /// The edge of the stream is being asked for.
    pub fn is_probing(&mut self, stream: u8) -> bool {
        self.armed(stream).is_some_and(|armed| armed.is_probing())
    }

    /// The connection has accepted all octets of the stream that lie in the ring, as far as is known.
    pub fn is_drained(&mut self, stream: u8) -> bool {
        self.armed(stream).is_none_or(|armed| armed.is_drained())
    }

    /// Octets that the connection has not accepted of a stream, if there is such a stream.
    pub fn octets(&self, stream: u8) -> Option<&Outgoing> {
        let stream = self.streams.get(usize::from(stream))?;
        Some(&stream.outgoing)
    }

    /// The connection of a stream accepts octets.
    pub fn accept(&mut self, stream: u8, count: usize) {
        if let Some(stream) = self.streams.get_mut(usize::from(stream)) {
            stream.outgoing.accept(count);
            if let Some(armed) = &mut stream.state {
                armed.accept(count);
            }
        }
    }

    /// No command is to be given, and all are answered.
    pub fn is_idle(&self) -> bool {
        self.offered.is_none()
            && self.pending.len() == 0
            && self.range.is_none()
            && !self.streams.iter().any(Stream::is_busy)
    }

    /// What TCP drives.
    pub fn offer(&mut self, pressure: &BackPressure, rng: &mut Rng) -> Offer {
        if self.offered.is_none() {
            self.offered = self.next();
        }
        self.offer = Offer {
            command: self
                .offered
                .as_ref()
                .map(|command| (command.word(), command.stream)),
            transmit_ready: pressure.ready(rng),
            status_ready: pressure.ready(rng),
        };
        self.offer
    }

    /// The next command, of the streams in turn.
    fn next(&mut self) -> Option<Command> {
        let count = self.streams.len();
        let can_send = self.pending.len() < MOST;
        (0..count).find_map(|i| {
            let number = (self.turn + i) % count;
            let stream = &mut self.streams[number];
            // Those of a former owner are answered first.
            let former = |stream: &Stream| {
                stream.state.is_some() && self.pending.former(number as u8, stream.owner)
            };
            if former(stream) {
                return None;
            }
            let command = stream.next(number as u8, can_send, &mut self.rng)?;
            self.turn = number + 1;
            Some(command)
        })
    }

    /// What the device drives in the same cycle.
    pub fn take(&mut self, cycle: u64, wires: &Wires<'_>) -> Result<(), Violation> {
        let at = |port| move |rule| Violation { cycle, port, rule };
        if self.offer.command.is_some() && wires.send_ready {
            self.pending.extend(self.offered.take());
            self.last_transfer = cycle;
        }

        let ready = self.offer.transmit_ready;
        let side = [
            wires.keep as u32,
            (wires.keep >> 32) as u32,
            wires.last.into(),
            wires.dest.into(),
            wires.user,
        ];
        let beat = wires.data.iter().copied().chain(side);
        self.transmit
            .look(wires.transmit_valid, ready, beat)
            .map_err(at(TRANSMIT))?;
        if wires.transmit_valid && ready {
            self.beat(wires).map_err(at(TRANSMIT))?;
            self.last_transfer = cycle;
        }

        let ready = self.offer.status_ready;
        let report = wires.report.iter().copied();
        let report = report.chain([wires.report_dest.into()]);
        self.status
            .look(wires.status_valid, ready, report)
            .map_err(at(STATUS))?;
        if wires.status_valid && ready {
            self.report(wires.report, wires.report_dest)
                .map_err(at(STATUS))?;
            self.last_transfer = cycle;
        }
        Ok(())
    }

    /// A beat of octets.
    fn beat(&mut self, wires: &Wires<'_>) -> Result<(), Rule> {
        let (stream, sequence) = (wires.dest, wires.user);
        let unasked = Rule::Range { stream, sequence };
        let streams = &self.streams;
        let mut range = match self.range.take() {
            Some(range) => range,
            None => {
                let current = |command: &Command| is_current(streams, command);
                let command = self.pending.octets(stream, sequence, current);
                Range {
                    command: command.ok_or(unasked)?,
                    octets: vec![],
                }
            }
        };
        let command = &range.command;
        if (command.stream, command.sequence) != (stream, sequence) {
            return Err(unasked);
        }
        let left = usize::from(command.octets) - range.octets.len();
        let count = left.min(4 * wires.data.len());
        let keep = u64::MAX >> (64 - count);
        let last = count == left;
        if (wires.keep, wires.last) != (keep, last) {
            return Err(Rule::Beat {
                keep: wires.keep,
                last: wires.last,
                left,
            });
        }
        let octets = wires.data.iter().flat_map(|word| word.to_le_bytes());
        range.octets.extend(octets.take(count));
        if last {
            return self.range(range);
        }
        self.range = Some(range);
        Ok(())
    }

    /// A range has come.
    fn range(&mut self, Range { command, octets }: Range) -> Result<(), Rule> {
        let stream = &mut self.streams[usize::from(command.stream)]; // commands have one that is there
        if let Kind::Again(before) = &command.kind {
            let mut pairs = before.iter().zip(&octets);
            if let Some(octet) = pairs.position(|(before, now)| before != now) {
                let sequence = command.sequence;
                return Err(Rule::Resent { sequence, octet });
            }
            self.resent += octets.len() as u64;
            return Ok(());
        }
        match &mut stream.state {
            Some(armed) if stream.owner == command.owner => {
                armed.again |= self.rng.u8(..100) < self.resend;
                stream.outgoing.push(octets);
                if !self.outgoing.contains(&command.stream) {
                    self.outgoing.push_back(command.stream);
                }
            }
            _ => self.stale += octets.len() as u64,
        }
        Ok(())
    }

    /// A report.
    fn report(&mut self, words: &[u32], number: u8) -> Result<(), Rule> {
        let field = |lsb: usize| words.get(lsb / 32).map_or(0, |word| word >> (lsb % 32));
        let (edge, free) = (field(ports::STATUS_EDGE), field(ports::STATUS_FREE));
        let found = field(ports::STATUS_OCTETS) as u16;
        let kind = field(ports::STATUS_KIND) as u8;
        let unasked = Rule::Report {
            stream: number,
            kind,
        };
        let streams = &self.streams;
        let current = |command: &Command| is_current(streams, command);
        let command = match u64::from(kind) {
            ports::MOVED => None,
            ports::ANSWER => Some(self.pending.answered(number).ok_or(unasked)?),
            ports::REFUSED => Some(self.pending.refused(number, current).ok_or(unasked)?),
            _ => return Err(unasked),
        };
        let ring = self.ring_octets;
        let stream = self.streams.get_mut(usize::from(number)).ok_or(unasked)?;
        let Some(armed) = &mut stream.state else {
            return Ok(()); // of a former owner
        };
        match command {
            Some(command) if command.owner != stream.owner => return Ok(()),
            Some(command) if command.kind == Kind::Measure => {
                if found > command.octets {
                    let asked = command.octets;
                    return Err(Rule::Boundary { found, asked });
                }
                armed.measured(found);
            }
            Some(_) => armed.probed(),
            // Until the first answer, a report may be of a former owner.
            None if armed.edge.is_none() => return Ok(()),
            None => {}
        }
        match armed.report(edge, free, ring) {
            true => Ok(()),
            false => Err(Rule::Edge {
                stream: number,
                edge,
                free,
            }),
        }
    }

    fn armed(&mut self, stream: u8) -> Option<&mut Armed> {
        self.streams.get_mut(usize::from(stream))?.state.as_mut()
    }
}

/// Whether a command is of the present owner of its stream.
fn is_current(streams: &[Stream], command: &Command) -> bool {
    let stream = streams.get(usize::from(command.stream));
    stream.is_some_and(|stream| stream.state.is_some() && stream.owner == command.owner)
}
