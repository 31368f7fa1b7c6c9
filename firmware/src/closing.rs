//! How a connection ends: by failure of start-up, after a last frame, or from full operation.
//!
//! ```text
//!  failed at once ────────────────────────────► close or RST ──► Over
//!  rejected, last frame or Terminate to be sent ─► Draining: output ─► FIN ─► peer's FIN, or time-out ──► Over
//!  full operation: FINs, RST, time-out ─► closed()
//! ```
//!
//! MPA leaves TCP open after a rejection (AMB-30). Hosts of this card have no use for a connection without a stream, so the
//! control program, which is its owner then, closes it gracefully.

use crate::entry::{Entry, Notes, State};
use crate::network::{ConnectionError, Event, Network};
use crate::settings::deadline;
use crate::terminate;
use warpline_regmap::mailbox::{CloseReason, FailureCause, Settings};
use warpline_wire::error_number::ErrorNumber;
use warpline_wire::start::{Cause, Closing, Failure};

/// Reads of a draining connection in one turn; what is read is dropped.
const READS: usize = 16;

/// How TCP is left.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leave {
    /// By FIN.
    Close,
    /// By RST.
    Abort,
}

/// Ends the TCP connection, if there is one.
pub(crate) fn leave<N: Network>(entry: &mut Entry<N>, network: &mut N, how: Leave) {
    if let Some(handle) = entry.handle.take() {
        match how {
            Leave::Close => network.close(handle),
            Leave::Abort => network.abort(handle),
        }
    }
    (entry.listener, entry.deadline) = (None, None);
    // What is being armed is armed or refused first.
    if !matches!(entry.state, State::Arming(_)) {
        entry.state = State::Over;
    }
}

/// Reports that start-up has failed.
fn report<N: Network>(entry: &mut Entry<N>, cause: FailureCause, number: ErrorNumber) {
    entry.failure = Some((cause, number));
    entry.listener = None;
    entry.notes.remove(Notes::REQUESTED);
    if !entry.forgotten {
        entry.notes.insert(Notes::FAILED);
    }
}

/// Start-up has failed for a reason that the machine does not know, and the connection ends.
pub(crate) fn fail<N: Network>(
    entry: &mut Entry<N>,
    network: &mut N,
    cause: FailureCause,
    number: ErrorNumber,
) {
    report(entry, cause, number);
    entry.state = State::Over;
    leave(entry, network, Leave::Abort);
}

/// The machine has failed (MPA-ERR-09).
pub(crate) fn failed<N: Network>(
    entry: &mut Entry<N>,
    network: &mut N,
    settings: &Settings,
    failure: Failure,
    now: u64,
) {
    report(entry, cause(&failure.cause), failure.cause.number());
    match failure.closing {
        Closing::AtOnce => {
            entry.state = State::Over;
            let silent = matches!(
                failure.cause,
                Cause::TimedOut { .. } | Cause::Undecided { .. } | Cause::Lost
            );
            leave(
                entry,
                network,
                if silent { Leave::Abort } else { Leave::Close },
            );
        }
        Closing::AfterOutput => begin_draining(entry, network, settings, now),
        Closing::AfterTerminate(terminate) => {
            entry.terminate = Some(terminate);
            begin_draining(entry, network, settings, now);
        }
    }
}

const fn cause(cause: &Cause) -> FailureCause {
    match cause {
        Cause::Frame(_) => FailureCause::Frame,
        Cause::TwoInitiators => FailureCause::TwoInitiators,
        Cause::EarlyOctets => FailureCause::EarlyOctets,
        Cause::Truncated { .. } => FailureCause::Truncated,
        Cause::NotEnhanced { .. } => FailureCause::NotEnhanced,
        Cause::Unrequested => FailureCause::Unrequested,
        Cause::Closed => FailureCause::Closed,
        Cause::Lost => FailureCause::Lost,
        Cause::TimedOut { .. } => FailureCause::TimedOut,
        Cause::Undecided { .. } => FailureCause::Undecided,
        Cause::InsufficientIrd { .. } => FailureCause::InsufficientIrd,
        Cause::NoRtr { .. } => FailureCause::NoRtr,
        Cause::Local => FailureCause::NoStream,
    }
}

/// Start-up is over without a stream: what is to be sent still is, then a FIN.
pub(crate) fn begin_draining<N: Network>(
    entry: &mut Entry<N>,
    network: &mut N,
    settings: &Settings,
    now: u64,
) {
    (entry.state, entry.listener) = (State::Draining, None);
    entry.deadline = deadline(now, settings.peer_time);
    drain(entry, network);
}

/// An event of a draining connection.
pub(crate) fn event<N: Network>(entry: &mut Entry<N>, network: &mut N, event: &Event<N::Listener>) {
    match event {
        Event::Lost => return leave(entry, network, Leave::Abort),
        Event::HalfClosed => entry.fin_received = true,
        _ => {}
    }
    drain(entry, network);
}

/// Goes on with it.
pub(crate) fn drain<N: Network>(entry: &mut Entry<N>, network: &mut N) {
    match drained(entry, network) {
        Ok(false) => {}
        Ok(true) => leave(entry, network, Leave::Close),
        Err(_) => leave(entry, network, Leave::Abort),
    }
}

/// Whether both FINs have passed.
fn drained<N: Network>(entry: &mut Entry<N>, network: &mut N) -> Result<bool, ConnectionError> {
    let Some(handle) = entry.handle else {
        return Ok(true);
    };
    if !entry.fin_sent {
        if !entry.machine.output().is_empty() {
            let sent = network.write(handle, entry.machine.output())?;
            entry.machine.sent(sent);
        }
        let mut room = [0; terminate::ROOM];
        let length = match &entry.terminate {
            Some(terminate) => terminate::emit(terminate, &mut room),
            None => 0,
        };
        let unsent = room.get(entry.sent..length).unwrap_or_default();
        if !unsent.is_empty() && entry.machine.output().is_empty() {
            let sent = network.write(handle, unsent)?;
            entry.sent = entry.sent.saturating_add(sent);
        }
        if entry.machine.output().is_empty() && entry.sent >= length {
            network.finish(handle)?;
            entry.fin_sent = true;
        }
    }
    for _ in 0..READS {
        if entry.fin_received || network.read(handle, &mut [0; 256])? == 0 {
            break;
        }
    }
    Ok(entry.fin_sent && entry.fin_received)
}

/// The connection has left full operation, or the way to it from a stream that is armed.
pub(crate) fn closed<N: Network>(entry: &mut Entry<N>, reason: CloseReason) {
    if entry.closed.is_none() {
        entry.closed = Some(reason);
        entry.notes.remove(Notes::REQUESTED);
        if !entry.forgotten {
            entry.notes.insert(Notes::CLOSED);
        }
    }
}

/// The host wants to hear no more of the connection.
pub(crate) fn forget<N: Network>(entry: &mut Entry<N>, network: &mut N) {
    let finished = entry.fin_sent && entry.fin_received;
    leave(
        entry,
        network,
        if finished { Leave::Close } else { Leave::Abort },
    );
    entry.notes = Notes::empty();
    entry.forgotten = true;
}
