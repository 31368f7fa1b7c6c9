//! From the armed stream to the end of full operation.
//!
//! ```text
//!  Ready ── PROCEED ──► Answering: Reply ──► attach ──► Open ── DISCONNECT: send queue idle ──► FIN
//!    │ time-out             │ RST                         │ HALF_CLOSED: the peer's FIN
//!    └──────────────────────┴─────────────────────────────┴ both FINs, RST, time-outs ──► CLOSED
//! ```
//!
//! When the network reports another EMSS, the stream is given it by `SET_EMSS` (`arming`): later FPDUs go by it (MPA-SEG-10).
//!
//! Both halves close on their own (DDP-TEAR-09 to DDP-TEAR-11). After both FINs the connection stays attached until the host
//! has closed the stream: octets may still be on their way to it.

use crate::bus::Bus;
use crate::closing::{Leave, closed, leave};
use crate::entry::{Entry, Notes, State};
use crate::machine::Machine;
use crate::network::{ConnectionError, Event, Network};
use crate::registers::{Progress, is_frozen, is_idle};
use crate::settings::deadline;
use crate::settled::segment;
use warpline_regmap::mailbox::{CloseReason, Refusal, Settings, Transport};

/// Milliseconds between two looks at a send queue that is to become idle.
const IDLE_POLL: u64 = 2;
/// Looks at a receiver in the time that it may stand still.
const LOOKS: u64 = 4;

/// An event of a connection with a stream that is armed, or being armed.
pub(crate) fn event<N: Network>(
    entry: &mut Entry<N>,
    network: &mut N,
    settings: &Settings,
    event: &Event<N::Listener>,
    now: u64,
) {
    match event {
        Event::Writable if entry.state == State::Answering => answer(entry, network, settings, now),
        Event::SegmentChanged => {
            // A connection that is lost reports that by itself.
            if let (Some(handle), Some(settled)) = (entry.handle, &mut entry.settled)
                && let Ok(segment) = segment(network, handle, settled.transport)
            {
                settled.segment = segment;
            }
        }
        Event::HalfClosed => {
            entry.fin_received = true;
            if entry.state == State::Open {
                half_closed(entry);
            }
        }
        Event::Lost | Event::Refused => {
            closed(entry, CloseReason::Reset);
            leave(entry, network, Leave::Abort);
        }
        Event::Detached if entry.state == State::Open => {
            let finished = entry.fin_sent && entry.fin_received;
            leave(
                entry,
                network,
                if finished { Leave::Close } else { Leave::Abort },
            );
            closed(entry, CloseReason::Aborted);
        }
        _ => {}
    }
}

fn half_closed<N: Network>(entry: &mut Entry<N>) {
    if !entry.forgotten {
        entry.notes.insert(Notes::HALF_CLOSED);
    }
    if entry.fin_sent {
        closed(entry, CloseReason::Finished);
    }
}

/// The host has attached its rings.
pub(crate) fn proceed<N: Network>(
    entry: &mut Entry<N>,
    network: &mut N,
    settings: &Settings,
    now: u64,
) -> Result<(), Refusal> {
    if entry.state != State::Ready {
        return Err(Refusal::State);
    }
    if let Machine::Initiator(machine) = &mut entry.machine {
        // The state says that a decision is due.
        machine.proceed().map_err(|_| Refusal::State)?;
    }
    entry.state = State::Answering;
    entry.deadline = deadline(now, settings.peer_time);
    answer(entry, network, settings, now);
    Ok(())
}

/// Sends the Reply or the Accept, if there is one, a Reply as far as TCP takes it, then passes the connection to the stream. In this
/// order nothing of the stream can be sent in front of it.
fn answer<N: Network>(entry: &mut Entry<N>, network: &mut N, settings: &Settings, now: u64) {
    match attached(entry, network) {
        Ok(false) => {}
        Ok(true) => {
            entry.state = State::Open;
            entry.notes.insert(Notes::ESTABLISHED);
            entry.still_since = now;
            entry.deadline = next_look(settings, now);
            if entry.fin_received {
                half_closed(entry);
            }
        }
        Err(error) => broken(entry, network, error),
    }
}

fn attached<N: Network>(entry: &mut Entry<N>, network: &mut N) -> Result<bool, ConnectionError> {
    let (Some(handle), Some(stream), Some(settled)) = (entry.handle, entry.stream, &entry.settled)
    else {
        return Err(ConnectionError::Failed);
    };
    if !entry.machine.output().is_empty() {
        let sent = network.write(handle, entry.machine.output())?;
        entry.machine.sent(sent);
    }
    if !entry.machine.output().is_empty() {
        return Ok(false);
    }
    if let Machine::Session(session) = &mut entry.machine {
        session.answer(network, handle)?;
    }
    network.attach(handle, stream, settled.sequences.receive)?;
    Ok(true)
}

fn broken<N: Network>(entry: &mut Entry<N>, network: &mut N, error: ConnectionError) {
    closed(
        entry,
        match error {
            ConnectionError::Lost => CloseReason::Reset,
            ConnectionError::Failed => CloseReason::Network,
        },
    );
    leave(entry, network, Leave::Abort);
}

/// The host closes its half, behind all that it has posted.
pub(crate) fn disconnect<N: Network>(entry: &mut Entry<N>, now: u64) -> Result<(), Refusal> {
    if entry.state != State::Open || entry.disconnects {
        return Err(Refusal::State);
    }
    entry.disconnects = true;
    entry.deadline = Some(now);
    Ok(())
}

/// The host resets the connection.
pub(crate) fn abort<N: Network>(entry: &mut Entry<N>, network: &mut N) -> Result<(), Refusal> {
    if entry.handle.is_none() {
        return Err(Refusal::State);
    }
    if entry.failure.is_none() && entry.state != State::Draining {
        closed(entry, CloseReason::Aborted);
    }
    leave(entry, network, Leave::Abort);
    Ok(())
}

/// Time has passed, or the send queue is to be looked at.
pub(crate) fn tick<N: Network>(
    entry: &mut Entry<N>,
    bus: &mut impl Bus,
    network: &mut N,
    settings: &Settings,
    now: u64,
) {
    entry.deadline = None;
    match (entry.state, entry.stream) {
        (State::Ready | State::Answering, _) => {
            closed(entry, CloseReason::TimedOut);
            leave(entry, network, Leave::Abort);
        }
        (State::Open, Some(stream)) if entry.closed.is_none() => {
            finish(entry, bus, network, stream, now);
            if entry.state == State::Open && entry.closed.is_none() {
                watch(entry, bus, network, stream, settings, now);
            }
        }
        _ => {}
    }
}

/// Sends our FIN once the send queue is idle.
fn finish<N: Network>(
    entry: &mut Entry<N>,
    bus: &mut impl Bus,
    network: &mut N,
    stream: u8,
    now: u64,
) {
    let Some(handle) = entry.handle else { return };
    if !entry.disconnects || entry.fin_sent || !is_idle(bus, stream) {
        return;
    }
    match network.finish(handle) {
        Ok(()) => {
            (entry.fin_sent, entry.still_since) = (true, now);
            if entry.fin_received {
                closed(entry, CloseReason::Finished);
            }
        }
        Err(error) => broken(entry, network, error),
    }
}

/// Ends the connection if an FPDU stays incomplete (AMB-23), or the peer's FIN away, for too long without any progress.
///
/// A stream that an error has frozen waits for nothing, whatever lies in its ring: its host has been told, and ends it
/// (DDP-TEAR-17). Behind the peer's FIN the connection is closing already, and the time runs (AMB-57).
fn watch<N: Network>(
    entry: &mut Entry<N>,
    bus: &mut impl Bus,
    network: &mut N,
    stream: u8,
    settings: &Settings,
    now: u64,
) {
    let progress = Progress::of(bus, stream);
    let moves = progress != entry.progress;
    entry.progress = progress;
    if moves {
        entry.still_since = now;
    }
    entry.incomplete_since = match entry.incomplete_since {
        // What misses a chunk of SCTP misses a packet, and SCTP itself gives up on the path.
        _ if entry.transport() == Transport::Sctp || !progress.is_incomplete(bus) => None,
        _ if !entry.fin_received && is_frozen(bus, stream) => None,
        Some(since) if !moves => Some(since),
        _ => Some(now),
    };
    let over = |since: u64, time| deadline(since, time).is_some_and(|at| now >= at);
    let incomplete = |since| over(since, settings.idle_time);
    if entry.incomplete_since.is_some_and(incomplete)
        || entry.fin_sent && over(entry.still_since, settings.close_time)
    {
        closed(entry, CloseReason::TimedOut);
        return leave(entry, network, Leave::Abort);
    }
    let look = next_look(settings, now);
    let send = (entry.disconnects && !entry.fin_sent).then(|| now.saturating_add(IDLE_POLL));
    entry.deadline = look.into_iter().chain(send).min();
}

/// When a receiver is to be looked at again.
fn next_look(settings: &Settings, now: u64) -> Option<u64> {
    let times = [settings.idle_time, settings.close_time].into_iter();
    let least = times.filter(|time| *time != 0).min()?;
    let pause = u64::from(least).checked_div(LOOKS).unwrap_or(0).max(1);
    Some(now.saturating_add(pause))
}
