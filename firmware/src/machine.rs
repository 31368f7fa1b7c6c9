//! The start-up machine of a connection, whichever end it plays.

use crate::session::Session;
use warpline_wire::start::{Event, Frame, Initiator, Responder};

/// The machine, which also keeps the frame with the private data.
#[allow(
    clippy::large_enum_variant,
    reason = "both have the buffer of a frame; without allocation there is no box"
)]
pub(crate) enum Machine {
    Initiator(Initiator),
    Responder(Responder),
    /// Over SCTP: no octets are exchanged, so all that is about them does nothing.
    Session(Session),
}

impl Machine {
    /// What is to be sent.
    pub fn output(&self) -> &[u8] {
        match self {
            Self::Initiator(machine) => machine.output(),
            Self::Responder(machine) => machine.output(),
            Self::Session(_) => &[],
        }
    }

    /// TCP has accepted this many octets of it.
    pub fn sent(&mut self, octets: usize) {
        match self {
            Self::Initiator(machine) => machine.sent(octets),
            Self::Responder(machine) => machine.sent(octets),
            Self::Session(_) => {}
        }
    }

    /// Octets of the peer. Those that the machine does not take are an error that it reports, or lie behind a rejection, and
    /// nobody reads them.
    pub fn input(&mut self, octets: &[u8]) {
        match self {
            Self::Initiator(machine) => _ = machine.input(octets),
            Self::Responder(machine) => _ = machine.input(octets),
            Self::Session(_) => {}
        }
    }

    /// The peer's FIN.
    pub fn finish(&mut self) {
        match self {
            Self::Initiator(machine) => machine.finish(),
            Self::Responder(machine) => machine.finish(),
            Self::Session(_) => {}
        }
    }

    /// RST, or TCP gave up.
    pub fn lose(&mut self) {
        match self {
            Self::Initiator(machine) => machine.lose(),
            Self::Responder(machine) => machine.lose(),
            Self::Session(_) => {}
        }
    }

    pub fn poll(&mut self, now: u64) -> Option<Event> {
        match self {
            Self::Initiator(machine) => machine.poll(now),
            Self::Responder(machine) => machine.poll(now),
            Self::Session(_) => None,
        }
    }

    pub fn deadline(&self) -> Option<u64> {
        match self {
            Self::Initiator(machine) => machine.deadline(),
            Self::Responder(machine) => machine.deadline(),
            Self::Session(session) => session.deadline,
        }
    }

    /// The peer's frame, once it is complete.
    pub fn peer(&self) -> Option<Frame<'_>> {
        match self {
            Self::Initiator(machine) => machine.peer(),
            Self::Responder(machine) => machine.peer(),
            Self::Session(_) => None,
        }
    }

    pub const fn is_initiator(&self) -> bool {
        match self {
            Self::Initiator(_) => true,
            Self::Responder(_) => false,
            Self::Session(session) => session.is_active(),
        }
    }

    /// Whether the peer's Request is incomplete. An Initiate is whole.
    pub fn is_half_open(&self) -> bool {
        match self {
            Self::Responder(machine) => machine.peer().is_none(),
            Self::Initiator(_) | Self::Session(_) => false,
        }
    }

    /// The session, over SCTP.
    pub const fn session(&self) -> Option<&Session> {
        match self {
            Self::Session(session) => Some(session),
            Self::Initiator(_) | Self::Responder(_) => None,
        }
    }

    /// The same, to go on with it.
    pub const fn session_mut(&mut self) -> Option<&mut Session> {
        match self {
            Self::Session(session) => Some(session),
            Self::Initiator(_) | Self::Responder(_) => None,
        }
    }
}
