//! The start-up machine of a connection, whichever end it plays.

use warpline_wire::start::{Event, Frame, Initiator, Responder};

/// The machine, which also keeps the frame with the private data.
#[allow(
    clippy::large_enum_variant,
    reason = "both have the buffer of a frame; without allocation there is no box"
)]
pub(crate) enum Machine {
    Initiator(Initiator),
    Responder(Responder),
}

impl Machine {
    /// What is to be sent.
    pub fn output(&self) -> &[u8] {
        match self {
            Self::Initiator(machine) => machine.output(),
            Self::Responder(machine) => machine.output(),
        }
    }

    /// TCP has accepted this many octets of it.
    pub fn sent(&mut self, octets: usize) {
        match self {
            Self::Initiator(machine) => machine.sent(octets),
            Self::Responder(machine) => machine.sent(octets),
        }
    }

    /// Octets of the peer. Those that the machine does not take are an error that it reports, or lie behind a rejection, and
    /// nobody reads them.
    pub fn input(&mut self, octets: &[u8]) {
        match self {
            Self::Initiator(machine) => machine.input(octets),
            Self::Responder(machine) => machine.input(octets),
        };
    }

    /// The peer's FIN.
    pub fn finish(&mut self) {
        match self {
            Self::Initiator(machine) => machine.finish(),
            Self::Responder(machine) => machine.finish(),
        }
    }

    /// RST, or TCP gave up.
    pub fn lose(&mut self) {
        match self {
            Self::Initiator(machine) => machine.lose(),
            Self::Responder(machine) => machine.lose(),
        }
    }

    pub fn poll(&mut self, now: u64) -> Option<Event> {
        match self {
            Self::Initiator(machine) => machine.poll(now),
            Self::Responder(machine) => machine.poll(now),
        }
    }

    pub fn deadline(&self) -> Option<u64> {
        match self {
            Self::Initiator(machine) => machine.deadline(),
            Self::Responder(machine) => machine.deadline(),
        }
    }

    /// The peer's frame, once it is complete.
    pub fn peer(&self) -> Option<Frame<'_>> {
        match self {
            Self::Initiator(machine) => machine.peer(),
            Self::Responder(machine) => machine.peer(),
        }
    }

    pub const fn is_initiator(&self) -> bool {
        matches!(self, Self::Initiator(_))
    }
}
