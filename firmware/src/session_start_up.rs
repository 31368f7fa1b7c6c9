//! Start-up over SCTP: a DDP stream session from the Initiate to the Accept (RFC 5043 §6).
//!
//! ```text
//!  Accepted: the peer's Initiate ──► Requested ──► ACCEPT ──► Arming ──► PROCEED: Accept
//!                                        └─ REJECT: Reject, closed
//!  CONNECT ──► Connected: Initiate ──► Answered: Accept ──► Arming
//!                                        ├─ Reject ──► REJECTED
//!                                        └─ Terminate ──► FAILED
//! ```
//!
//! A session has no start frames and no octets of its own in front of the stream: control messages are whole, and the network
//! side numbers them and judges their order, since it sees the DDP-SSN of every chunk. So both directions of the stream begin at
//! number 1. What the peer sends before the stream is attached is kept by the network side (AMB-38).

use crate::closing::{Leave, fail, leave};
use crate::entry::{Entry, Notes, State};
use crate::network::{Answer, ConnectionError, Event, Network, Sequences};
use crate::session::{Session, Stage, of_peer};
use crate::start_up_end::arm;
use warpline_regmap::mailbox::{FailureCause, PrivateData, Refusal};
use warpline_wire::error_number::ErrorNumber;
use warpline_wire::sctp::Ssn;
use warpline_wire::start::{Parameters, Role};

/// What it has settled: markers and CRCs are MPA's, and either end may send first.
const PARAMETERS: Parameters = Parameters {
    role: Role::Initiator,
    revision: 0,
    send_markers: false,
    receive_markers: false,
    crc: false,
    sent: 0,
    received: 0,
    agreement: None,
};

/// DDP-SSNs of the first segments: number 0 of each end is its Initiate or Accept (RFC 5043 §4, AMB-33).
const SEQUENCES: Sequences = Sequences {
    receive: Ssn::FIRST_SEGMENT.0 as u32,
    send: Ssn::FIRST_SEGMENT.0 as u32,
};

/// An event of a session in start-up.
pub(crate) fn event<N: Network>(entry: &mut Entry<N>, network: &mut N, event: &Event<N::Listener>) {
    let (Some(handle), Some(session)) = (entry.handle, entry.machine.session_mut()) else {
        return;
    };
    let lost = |entry: &mut Entry<N>, network: &mut N, error| {
        let cause = match error {
            ConnectionError::Lost => FailureCause::Lost,
            ConnectionError::Failed => FailureCause::Network,
        };
        fail(entry, network, cause, ErrorNumber::MpaConnection);
    };
    match (event, session.stage) {
        (Event::Connected, Stage::Associating) => {
            match network.initiate(handle, session.private_data.as_slice()) {
                Ok(()) => {
                    session.stage = Stage::Initiated;
                    entry.state = State::Starting;
                }
                Err(error) => lost(entry, network, error),
            }
        }
        (Event::Answered(answer), Stage::Initiated) => {
            session.stage = Stage::Answered;
            session.deadline = None;
            match of_peer(network, handle) {
                Ok(private_data) => session.private_data = private_data,
                Err(error) => return lost(entry, network, error),
            }
            match answer {
                Answer::Accepted => arm(entry, network, Some((PARAMETERS, SEQUENCES))),
                Answer::Rejected => {
                    leave(entry, network, Leave::Close);
                    entry.notes.insert(Notes::REJECTED);
                }
                Answer::Terminated => {
                    let cause = FailureCause::Closed;
                    fail(entry, network, cause, ErrorNumber::MpaConnection);
                }
            }
        }
        (Event::Refused, _) => {
            let cause = FailureCause::Unreachable;
            fail(entry, network, cause, ErrorNumber::MpaConnection);
        }
        (Event::HalfClosed, Stage::Requested) => {
            let cause = FailureCause::Closed;
            fail(entry, network, cause, ErrorNumber::MpaConnection);
        }
        (Event::Lost, _) => lost(entry, network, ConnectionError::Lost),
        _ => {}
    }
}

/// The peer, or the host, has taken too long.
pub(crate) fn expired<N: Network>(entry: &mut Entry<N>, network: &mut N) {
    let cause = match entry.machine.is_initiator() {
        true => FailureCause::TimedOut,
        false => FailureCause::Undecided,
    };
    fail(entry, network, cause, ErrorNumber::MpaConnection);
}

/// The host accepts: the Accept itself is sent when the stream is ready for what follows it.
pub(crate) fn accept<N: Network>(
    entry: &mut Entry<N>,
    network: &mut N,
    private_data: PrivateData,
) -> Result<(), Refusal> {
    let session = requested(entry)?;
    (session.stage, session.private_data) = (Stage::Answered, private_data);
    session.deadline = None;
    arm(entry, network, Some((PARAMETERS, SEQUENCES)));
    Ok(())
}

/// The host rejects, and forgets the session.
pub(crate) fn reject<N: Network>(
    entry: &mut Entry<N>,
    network: &mut N,
    private_data: PrivateData,
) -> Result<(), Refusal> {
    requested(entry)?.stage = Stage::Answered;
    let rejected = entry
        .handle
        .map(|handle| network.answer(handle, false, private_data.as_slice()));
    (entry.forgotten, entry.notes) = (true, Notes::empty());
    let how = match rejected {
        Some(Ok(())) => Leave::Close,
        _ => Leave::Abort,
    };
    leave(entry, network, how);
    Ok(())
}

/// The session, while the host's decision is due.
fn requested<N: Network>(entry: &mut Entry<N>) -> Result<&mut Session, Refusal> {
    match (entry.state, entry.machine.session_mut()) {
        (State::Starting, Some(session)) if session.stage == Stage::Requested => Ok(session),
        _ => Err(Refusal::State),
    }
}
