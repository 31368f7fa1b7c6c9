//! What the RTL does not have yet, in software behind the registers that it will have: send queues, the mailbox, and the control
//! program's register port. Only cards opened with [`CardOptions::transmit`](crate::CardOptions::transmit) have it.
//!
//! ```text
//!  host ────────────► ┌────────┐ ─► s_axil ─► RTL ─► m_axi ─┬──────────────► host memory
//!  control program ─► │ access │                            └► completions ─► completion queue
//!                     └───┬────┘                                 ▲
//!                         ├─► mailbox                            │ send_event
//!                         └─► send queues ─► engine ─────────────┘
//!                                              └─► FPDUs ─► connections
//! ```
//!
//! - `access`: which accesses are answered here, which pass, and which do both.
//! - `commands`: one pair of `ARGUMENT` and `COMMAND` for each side, in front of the RTL's only one.
//! - `completions`: one completion queue for two writers.
//! - `send_queue`: requests become FPDUs; `outgoing`: those that TCP has not accepted. `stags`: the table that gather elements are
//!   checked in.

pub(crate) mod access;
pub(crate) mod commands;
pub(crate) mod completions;
mod mailbox;
pub(crate) mod octets;
mod outgoing;
pub(crate) mod port;
mod send_queue;
mod stags;

use std::collections::VecDeque;

use warpline_hdl::Config;
use warpline_regmap::layout::{completion, error_event, kind};

use crate::host::Host;
use commands::Commands;
use completions::Completions;
use mailbox::Mailbox;
use send_queue::{SendQueue, Surroundings};
use stags::Stags;

/// Cycles between two steps of the engine: a fifth of a bus of 64 bits for FPDUs of 1460 octets, more for larger ones. The
/// engine is software, and its speed says nothing.
const STEP: u64 = 64;
/// Cycles from an FPDU's leaving the ring to the opening of the gate: an error that MPA finds in the FPDU has been reported by
/// then.
const VERDICT: u64 = 4096;
/// Error type of MPA: the FPDU was not valid.
const LLP: u64 = 3;

/// Send queues, mailbox and completion queue.
#[derive(Debug)]
pub(crate) struct Transmit {
    pub commands: Commands,
    pub completions: Completions,
    pub mailbox: Mailbox,
    pub stags: Stags,
    streams: Vec<Stream>,
    /// The stream whose turn it is.
    turn: usize,
    ring_octets: u32,
    /// Streams whose connection has octets to send, each once.
    pub outgoing: VecDeque<u8>,
}

#[derive(Debug)]
struct Stream {
    queue: SendQueue,
    /// `STREAM_LIMIT` as the stream was armed; none once it has moved.
    limit: Option<u32>,
    /// The window was reported since then. A report that a slow sink held up may be older.
    reported: bool,
    /// Cycle in which the gate opens.
    opens: Option<u64>,
}

impl Transmit {
    /// As after reset.
    pub fn new(config: &Config) -> Self {
        let stream = |number| Stream {
            queue: SendQueue::new(number),
            limit: None,
            reported: false,
            opens: None,
        };
        Self {
            commands: Commands::default(),
            completions: Completions::default(),
            mailbox: Mailbox::default(),
            stags: Stags::new(config.stag_slots as u32),
            streams: (0..config.streams as u8).map(stream).collect(),
            turn: 0,
            ring_octets: config.ring_octets as u32,
            outgoing: VecDeque::new(),
        }
    }

    /// The queue of a stream, if there is such a stream.
    pub fn queue(&mut self, stream: u8) -> Option<&mut SendQueue> {
        let stream = self.streams.get_mut(usize::from(stream))?;
        Some(&mut stream.queue)
    }

    /// `ARM_STREAM` was carried out.
    pub fn arm_stream(&mut self, stream: u8, domain: u16, sequence: u32) {
        let limit = sequence.wrapping_add(self.ring_octets);
        if let Some(stream) = self.streams.get_mut(usize::from(stream)) {
            stream.queue.arm_stream(domain);
            (stream.limit, stream.opens) = (Some(limit), None);
            stream.reported = false;
        }
    }

    /// A report of a stream's window. When its limit moves, an FPDU has left the ring. The first report behind `ARM_STREAM` may
    /// be of the stream's previous owner; one that has moved is soon followed by another.
    pub fn window(&mut self, cycle: u64, stream: usize, limit: u32) {
        let Some(stream) = self.streams.get_mut(stream) else {
            return;
        };
        if stream.reported && stream.limit.is_some_and(|first| first != limit) {
            stream.limit = None;
            stream.opens = Some(cycle + VERDICT);
        }
        stream.reported = true;
    }

    /// A cycle: what has landed in the completion queue, gates, and now and then a step of the engine.
    pub fn advance(&mut self, cycle: u64, host: &Host) {
        while let Some(entry) = self.completions.landed.pop_front() {
            self.landed(&entry);
        }
        if !cycle.is_multiple_of(STEP) {
            return;
        }
        for stream in &mut self.streams {
            if stream.opens.is_some_and(|opens| opens <= cycle) {
                stream.opens = None;
                stream.queue.open_gate();
            }
        }
        let count = self.streams.len();
        for i in 0..count {
            let number = (self.turn + i) % count;
            let queue = &mut self.streams[number].queue;
            let before = queue.outgoing.octets();
            let mut around = Surroundings {
                host,
                stags: &self.stags,
                completions: &mut self.completions,
            };
            if queue.step(&mut around) {
                if queue.outgoing.octets() > before && !self.outgoing.contains(&(number as u8)) {
                    self.outgoing.push_back(number as u8);
                }
                self.turn = number + 1;
                break;
            }
        }
    }

    /// An entry of the RTL: an error freezes its stream. One that MPA did not find opens the gate (AMB-56).
    fn landed(&mut self, entry: &completions::Entry) {
        if completion::KIND.get(entry) != u64::from(kind::ERROR) {
            return;
        }
        let number = error_event::STREAM.get(entry) as usize;
        let Some(stream) = self.streams.get_mut(number) else {
            return;
        };
        stream.opens = None;
        if error_event::TYPE.get(entry) != LLP {
            stream.queue.open_gate();
        }
        stream.queue.freeze();
    }

    /// Whether a gate is about to open, or a queue has work that nothing holds up.
    pub fn is_busy(&self) -> bool {
        let queues = self.streams.iter();
        let mut queues = queues.map(|stream| stream.opens.is_some() || stream.queue.has_work());
        !self.commands.under_way.is_empty() || queues.any(|busy| busy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // req: AMB-56
    #[test]
    fn a_window_of_the_previous_owner_opens_no_gate() {
        let config = Config::simulated(64);
        let limit = 1000 + config.ring_octets as u32;
        let opens = |reports: &[u32]| {
            let mut transmit = Transmit::new(&config);
            transmit.window(1, 2, 77);
            transmit.arm_stream(2, 0, 1000);
            for (cycle, report) in (10..).zip(reports) {
                transmit.window(cycle, 2, *report);
            }
            transmit.streams[2].opens
        };
        assert_eq!(opens(&[77, limit, limit]), None);
        assert_eq!(opens(&[limit, limit, limit + 28]), Some(12 + VERDICT));
        assert_eq!(opens(&[limit + 28, limit + 28]), Some(11 + VERDICT));
    }
}
