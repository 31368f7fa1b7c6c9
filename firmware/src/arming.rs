//! Arming a stream in both directions, and closing it.
//!
//! ```text
//!  Stream(0) ─ ARM_STREAM ─► Transmit ─ ARM_TRANSMIT ─► armed: ARMED to the host, Ready
//!   │  ▲ refused: next stream    └ refused: Undo ─ CLOSE_STREAM ─► failed
//!   │  └──────────┘
//!   └ no stream left: failed
//!  another EMSS: SET_EMSS
//!  released by the host, and still armed: CLOSE_STREAM ─► free
//! ```
//!
//! Commands take their time: one is started, and later turns look what has become of it. What happens to the connection
//! meanwhile is reported behind `ARMED`.

use crate::bus::Bus;
use crate::closing::{closed, fail, failed};
use crate::entry::{Entry, Notes, State, Step};
use crate::machine::Machine;
use crate::network::Network;
use crate::port::{Outcome, Port};
use crate::registers::{arm_stream, arm_transmit, close_stream, is_armed, set_emss};
use crate::settings::deadline;
use warpline_regmap::mailbox::{CloseReason, FailureCause, Settings};
use warpline_regmap::register::command::{ARM_STREAM, CLOSE_STREAM};
use warpline_regmap::transmit::{ARM_TRANSMIT, SET_EMSS};
use warpline_wire::error_number::ErrorNumber;
use warpline_wire::start::Event;

/// What a command is started for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Job {
    /// The entry's state waits for its outcome.
    Stream,
    /// `SET_EMSS`, or [`NO_COMMAND`]. Whatever becomes of it, nothing waits: `SET_EMSS` is refused when the host has closed the
    /// stream.
    Other,
}

/// A number that no command has: it is refused, and shows that the registers of commands are about no stream (`left`).
pub(crate) const NO_COMMAND: u32 = 0;

/// Whether a stream is being armed for an entry, or to be closed.
pub(crate) fn has_stream_job<N: Network>(entry: &Entry<N>) -> bool {
    matches!(entry.state, State::Arming(_) | State::Over) && has_job(entry)
}

/// Whether an entry has a command to be started.
pub(crate) fn has_job<N: Network>(entry: &Entry<N>) -> bool {
    match entry.state {
        State::Arming(_) => true,
        State::Ready | State::Answering | State::Open => entry.new_emss().is_some(),
        State::Over => entry.forgotten && entry.stream.is_some(),
        _ => false,
    }
}

/// Starts the command of an entry that has one; `free` is the stream to be tried next, if one is free. Returns what a command
/// runs for, if one does.
pub(crate) fn start<N: Network>(
    entry: &mut Entry<N>,
    bus: &mut impl Bus,
    network: &mut N,
    settings: &Settings,
    free: Option<u8>,
    now: u64,
) -> Option<Job> {
    match (entry.state, &entry.settled, entry.stream) {
        (State::Arming(Step::Stream(_)), ..) if entry.handle.is_none() => {
            entry.state = State::Over; // there is no use for a stream any more
            return None;
        }
        (State::Arming(Step::Stream(_)), Some(settled), _) => {
            let Some(stream) = free else {
                no_stream(entry, network, settings, now);
                return None;
            };
            let words = arm_stream(stream, &entry.options, settled);
            Port::start(bus, ARM_STREAM, &words);
            entry.state = State::Arming(Step::Stream(stream));
        }
        (State::Arming(Step::Transmit(stream)), Some(settled), _) => {
            let words = arm_transmit(stream, &entry.options, settled);
            entry.emss = settled.segment;
            Port::start(bus, ARM_TRANSMIT, &words);
        }
        (State::Arming(Step::Undo(stream)), ..) => {
            Port::start(bus, CLOSE_STREAM, &close_stream(stream));
        }
        (State::Over, _, Some(stream)) if is_armed(bus, stream) => {
            Port::start(bus, CLOSE_STREAM, &close_stream(stream));
        }
        (State::Over, ..) => {
            entry.stream = None; // the host has closed it
            return None;
        }
        (State::Ready | State::Answering | State::Open, _, Some(stream)) => {
            entry.emss = entry.new_emss()?;
            Port::start(bus, SET_EMSS, &set_emss(stream, entry.emss));
            return Some(Job::Other);
        }
        _ => return None,
    }
    Some(Job::Stream)
}

/// The command that an entry's state waits for is done.
pub(crate) fn complete<N: Network>(
    entry: &mut Entry<N>,
    network: &mut N,
    settings: &Settings,
    outcome: Outcome,
    now: u64,
) {
    let done = outcome == Outcome::Done;
    match entry.state {
        State::Arming(Step::Stream(stream)) if done => {
            entry.stream = Some(stream);
            entry.state = State::Arming(Step::Transmit(stream));
        }
        State::Arming(Step::Stream(stream)) => {
            entry.state = State::Arming(Step::Stream(stream.saturating_add(1)));
        }
        State::Arming(Step::Transmit(_)) if done => armed(entry, settings, now),
        State::Arming(Step::Transmit(stream)) => entry.state = State::Arming(Step::Undo(stream)),
        State::Arming(Step::Undo(_)) => {
            entry.stream = None;
            no_stream(entry, network, settings, now);
        }
        State::Over => entry.stream = None,
        _ => {}
    }
}

fn armed<N: Network>(entry: &mut Entry<N>, settings: &Settings, now: u64) {
    if !entry.forgotten {
        entry.notes.insert(Notes::ARMED);
    }
    if entry.handle.is_none() {
        entry.state = State::Over;
        return closed(entry, CloseReason::Reset);
    }
    entry.state = State::Ready;
    entry.deadline = deadline(now, settings.host_time);
}

/// No stream can be armed. An Initiator with RFC 6581 says so to its peer (RFC 6581 §9.3).
fn no_stream<N: Network>(entry: &mut Entry<N>, network: &mut N, settings: &Settings, now: u64) {
    entry.closed = None;
    entry.notes.remove(Notes::CLOSED);
    if entry.handle.is_some()
        && let Machine::Initiator(machine) = &mut entry.machine
        && machine.abandon().is_ok()
        && let Some(Event::Failed(failure)) = machine.poll(now)
    {
        return failed(entry, network, settings, failure, now);
    }
    let number = ErrorNumber::MpaLocalCatastrophic;
    fail(entry, network, FailureCause::NoStream, number);
}
