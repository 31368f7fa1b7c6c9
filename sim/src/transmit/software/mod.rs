//! Send queues in software, behind the registers of the RTL's transmit path: the engine of a device without that path.
//!
//! ```text
//!  SEND_PRODUCER, commands ─► send queues ─ turn ─► step ─┬─► FPDUs ─► connections
//!                                                         └─► send_event ─► completions ◄─ entries of the RTL
//! ```
//!
//! - `send_queue`: requests become FPDUs; `request`: what a slot says. `stags`: the table that elements are checked in.
//! - `completions`: one completion queue for two writers.

pub(crate) mod completions;
mod request;
mod send_queue;
mod stags;

use std::collections::VecDeque;

use warpline_hdl::Config;
use warpline_regmap::layout::{close, completion, error_event, kind, revoke, stream_context};
use warpline_regmap::register::{self, command};
use warpline_regmap::transmit::{
    self, ARM_TRANSMIT, CAPABILITIES, SEND_PRODUCER, SET_EMSS, SET_SEND_RING, TRANSMIT_STATE,
};
use warpline_wire::marker;

use super::octets::{ALL, element, merged};
use super::outgoing::Outgoing;
use crate::host::Host;
use completions::Completions;
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

/// The engine.
#[derive(Debug)]
pub(crate) struct Software {
    pub completions: Completions,
    stags: Stags,
    streams: Vec<Stream>,
    /// The stream whose turn it is.
    turn: usize,
    ring_octets: u32,
    /// Streams whose connection has octets to send, each once.
    pub outgoing: VecDeque<u8>,
}

/// What becomes of a write to a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passed {
    /// It ends here.
    Nothing,
    /// The RTL's register is written.
    Octets {
        /// Its value.
        value: u32,
        /// The octets that are written.
        strobes: u8,
    },
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

impl Software {
    /// As after reset.
    pub fn new(config: &Config) -> Self {
        let stream = |number| Stream {
            queue: SendQueue::new(number),
            limit: None,
            reported: false,
            opens: None,
        };
        Self {
            completions: Completions::default(),
            stags: Stags::new(config.stag_slots as u32),
            streams: (0..config.streams as u8).map(stream).collect(),
            turn: 0,
            ring_octets: config.ring_octets as u32,
            outgoing: VecDeque::new(),
        }
    }

    /// The queue of a stream, if there is such a stream.
    fn queue(&mut self, stream: u8) -> Option<&mut SendQueue> {
        let stream = self.streams.get_mut(usize::from(stream))?;
        Some(&mut stream.queue)
    }

    /// `ARM_STREAM` was carried out.
    fn arm_stream(&mut self, stream: u8, domain: u16, sequence: u32) {
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

    /// An entry of the RTL: an error freezes its stream. One that MPA did not find, or not in the first FPDU, opens the gate (AMB-56).
    fn landed(&mut self, entry: &completions::Entry) {
        if completion::KIND.get(entry) != u64::from(kind::ERROR) {
            return;
        }
        let number = error_event::STREAM.get(entry) as usize;
        let Some(stream) = self.streams.get_mut(number) else {
            return;
        };
        stream.opens = None;
        let first = error_event::POSITION.get(entry) <= marker::LEN as u64;
        if error_event::TYPE.get(entry) != LLP || !first {
            stream.queue.open_gate();
        }
        stream.queue.freeze();
    }

    /// Whether a gate is about to open, or a queue has work that nothing holds up.
    pub fn is_busy(&self) -> bool {
        let queues = self.streams.iter();
        let mut queues = queues.map(|stream| stream.opens.is_some() || stream.queue.has_work());
        queues.any(|busy| busy)
    }
}

/// Registers.
impl Software {
    /// A register that the RTL does not have, or not the whole of.
    pub fn read(&mut self, offset: u32) -> Option<u32> {
        if let Some(index) = element(&TRANSMIT_STATE, offset) {
            let queue = self.queue(index as u8);
            return Some(queue.map_or(0, |queue| queue.state()));
        }
        let at = |register: register::Register| register.offset == offset;
        if at(CAPABILITIES) {
            let mut word = [0];
            transmit::CAPABILITY_TRANSMIT.put(&mut word, 1);
            return Some(word[0]);
        }
        if at(register::COMPLETION_PRODUCER) {
            return Some(self.completions.produced());
        }
        at(register::COMPLETION_CONSUMER).then(|| self.completions.consumed())
    }

    /// The host writes a register.
    pub fn write(&mut self, offset: u32, value: u32, strobes: u8) -> Passed {
        let at = |register: register::Register| register.offset == offset;
        let (mut passed, mut octets) = (value, strobes);
        if at(SEND_PRODUCER) {
            if strobes == ALL {
                let stream = transmit::SEND_PRODUCER_STREAM.get(&[value]) as u8;
                let count = transmit::SEND_PRODUCER_COUNT.get(&[value]) as u16;
                if let Some(queue) = self.queue(stream) {
                    queue.ring(count);
                }
            }
            return Passed::Nothing;
        }
        if at(register::COMPLETION_ARM) {
            if strobes == ALL {
                self.completions.arm(value);
            }
            return Passed::Nothing;
        }
        if at(register::COMPLETION_BASE_LOW) || at(register::COMPLETION_BASE_HIGH) {
            let high = at(register::COMPLETION_BASE_HIGH);
            self.completions.set_base(high, value, strobes);
        }
        if at(register::COMPLETION_ENTRIES) {
            passed = self.completions.begin(merged(0, value, strobes));
            octets = ALL;
        }
        if at(register::COMPLETION_CONSUMER) {
            let before = self.completions.consumed();
            passed = self.completions.consume(merged(before, value, strobes));
            octets = ALL;
        }
        Passed::Octets {
            value: passed,
            strobes: octets,
        }
    }
}

/// Commands.
impl Software {
    /// Carries out a command that the RTL does not have: whether it was done. `None` for the RTL's.
    pub fn carry_out(&mut self, number: u32, words: &[u32]) -> Option<bool> {
        let done = match number {
            SET_SEND_RING => {
                use transmit::send_ring::{BASE, ENTRIES, STREAM};
                let (base, entries) = (BASE.get(words), ENTRIES.get(words) as u32);
                let queue = self.queue(STREAM.get(words) as u8);
                queue.is_some_and(|queue| queue.attach(base, entries))
            }
            ARM_TRANSMIT => {
                let queue = self.queue(transmit::transmit_context::STREAM.get(words) as u8);
                queue.is_some_and(|queue| queue.arm(words))
            }
            SET_EMSS => {
                use transmit::emss::{EMSS, STREAM};
                let emss = EMSS.get(words) as u16;
                let queue = self.queue(STREAM.get(words) as u8);
                queue.is_some_and(|queue| queue.set_emss(emss))
            }
            _ => return None,
        };
        Some(done)
    }

    /// The RTL is about to carry out a command.
    pub fn begin(&mut self, number: u32, words: &[u32]) {
        match number {
            // Nothing is read through the entry once the command is issued.
            command::REVOKE_STAG => self.stags.revoke(revoke::STAG.get(words) as u32),
            command::CLOSE_STREAM => {
                let stream = close::STREAM.get(words) as u8;
                if let Some(queue) = self.queue(stream) {
                    queue.close();
                }
            }
            _ => {}
        }
    }

    /// The RTL has carried out a command.
    pub fn end(&mut self, number: u32, words: &[u32], failed: bool) {
        match number {
            command::WRITE_STAG if !failed => self.stags.write(words),
            command::ARM_STREAM if !failed => {
                let domain = stream_context::PROTECTION_DOMAIN.get(words) as u16;
                let sequence = stream_context::SEQUENCE_START.get(words) as u32;
                let stream = stream_context::STREAM.get(words) as u8;
                self.arm_stream(stream, domain, sequence);
            }
            _ => {}
        }
    }

    /// `CLOSE_STREAM`: whether all requests of the stream are flushed.
    pub fn is_closed(&mut self, words: &[u32]) -> bool {
        let queue = self.queue(close::STREAM.get(words) as u8);
        queue.is_none_or(|queue| queue.is_closed())
    }

    /// Octets that TCP has not accepted of a stream, if there is such a stream.
    pub fn octets(&mut self, stream: u8) -> Option<&mut Outgoing> {
        Some(&mut self.queue(stream)?.outgoing)
    }
}

#[cfg(test)]
mod tests {
    use warpline_regmap::transmit::transmit_context;

    use super::*;

    // req: AMB-56
    #[test]
    fn a_window_of_the_previous_owner_opens_no_gate() {
        let config = Config::simulated(64);
        let limit = 1000 + config.ring_octets as u32;
        let opens = |reports: &[u32]| {
            let mut software = Software::new(&config);
            software.window(1, 2, 77);
            software.arm_stream(2, 0, 1000);
            for (cycle, report) in (10..).zip(reports) {
                software.window(cycle, 2, *report);
            }
            software.streams[2].opens
        };
        assert_eq!(opens(&[77, limit, limit]), None);
        assert_eq!(opens(&[limit, limit, limit + 28]), Some(12 + VERDICT));
        assert_eq!(opens(&[limit + 28, limit + 28]), Some(11 + VERDICT));
    }

    /// The FPDU in front of the one that fails was valid, however soon the error follows.
    // req: AMB-56
    #[test]
    fn an_error_of_mpa_behind_the_first_fpdu_opens_the_gate() {
        for (position, open) in [(0, 0), (4, 0), (12, 1)] {
            let mut software = Software::new(&Config::simulated(64));
            software.arm_stream(2, 0, 1000);
            let mut context = [0; transmit_context::WORDS];
            transmit_context::GATE.put(&mut context, 1);
            transmit_context::EMSS.put(&mut context, 1460);
            assert!(software.queue(2).unwrap().arm(&context));
            let mut entry = [0; completion::WORDS];
            completion::KIND.put(&mut entry, kind::ERROR.into());
            error_event::STREAM.put(&mut entry, 2);
            error_event::TYPE.put(&mut entry, LLP);
            error_event::POSITION.put(&mut entry, position);
            software.landed(&entry);
            let state = software.queue(2).unwrap().state();
            assert_eq!(transmit::TRANSMIT_OPEN.get(&[state]), open, "{position}");
        }
    }
}
