//! Which connection and direction of a capture is replayed.
//!
//! ```text
//!  connections that speak MPA ─► octets in full operation, each direction ─► the first that has some, Initiator before Responder
//!                                                                       └──► or the one that the caller names
//! ```

use std::fmt;
use std::net::SocketAddr;

use super::error::ReplayError;
use super::survey::Survey;
use crate::{Capture, Connection, Flow, Mpa, Side};

/// MPA's roles in a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It sent the Request frame.
    Initiator,
    /// It sent the Reply frame.
    Responder,
}

impl Role {
    /// Both, in the order in which they are considered.
    pub(super) const ALL: [Self; 2] = [Self::Initiator, Self::Responder];

    pub(crate) fn side(self, mpa: &Mpa) -> Side {
        match self {
            Self::Initiator => mpa.initiator,
            Self::Responder => mpa.responder(),
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Initiator => "Initiator",
            Self::Responder => "Responder",
        })
    }
}

/// What to replay. The default is the first connection that carries FPDUs; of it the Initiator's stream, or the Responder's if
/// the Initiator sent none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// Number of the connection, from 1, among those on which MPA start-up succeeded.
    pub connection: Option<usize>,
    /// Whose stream.
    pub direction: Option<Role>,
}

/// A connection on which MPA start-up succeeded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its number, from 1.
    pub number: usize,
    /// Address of the Initiator.
    pub initiator: SocketAddr,
    /// Address of the Responder.
    pub responder: SocketAddr,
    /// What the Initiator sent in full operation.
    pub initiator_sent: Sent,
    /// What the Responder sent in full operation.
    pub responder_sent: Sent,
    /// Whose stream is replayed.
    pub replayed: Option<Role>,
}

/// What one end sent in full operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Octets, up to the first that was not captured.
    pub octets: u64,
    /// FPDUs that MPA accepts.
    pub fpdus: u64,
    /// Octets behind the first that was not captured.
    pub behind_gap: u64,
}

impl Sent {
    fn new(flow: &Flow) -> Self {
        let octets = flow.stream().octets;
        Self {
            octets: octets.len() as u64,
            fpdus: Survey::new(flow, &octets).fpdus,
            behind_gap: flow.behind(octets.len() as u64),
        }
    }

    pub(super) fn is_some(self) -> bool {
        self.octets > 0 || self.behind_gap > 0
    }
}

impl Candidate {
    /// What `role` sent.
    #[must_use]
    pub fn sent(&self, role: Role) -> Sent {
        match role {
            Role::Initiator => self.initiator_sent,
            Role::Responder => self.responder_sent,
        }
    }

    fn new(number: usize, connection: &Connection, mpa: &Mpa) -> Self {
        let end = |role: Role| connection.sent_by(role.side(mpa));
        let sent = |role: Role| Sent::new(&flow(connection, mpa, role));
        Self {
            number,
            initiator: end(Role::Initiator).from,
            responder: end(Role::Responder).from,
            initiator_sent: sent(Role::Initiator),
            responder_sent: sent(Role::Responder),
            replayed: None,
        }
    }
}

fn flow(connection: &Connection, mpa: &Mpa, role: Role) -> Flow {
    crate::mpa::flow(connection.sent_by(role.side(mpa)), mpa, role.side(mpa))
}

/// The chosen stream.
#[derive(Debug)]
pub(crate) struct Chosen {
    pub flow: Flow,
    /// All connections that can be chosen.
    pub candidates: Vec<Candidate>,
    /// The choice is the one that is made without being told: ground truth is of that stream.
    pub usual: bool,
}

/// Finds the stream of `choice` in `capture`.
pub(crate) fn choose(capture: &Capture, choice: Choice) -> Result<Chosen, ReplayError> {
    let speaking: Vec<_> = capture.mpa_connections().collect();
    let candidates = (1..).zip(&speaking);
    let candidates =
        candidates.map(|(number, (connection, mpa))| Candidate::new(number, connection, mpa));
    let mut candidates: Vec<_> = candidates.collect();
    let (usual, chosen) = (
        pick(&candidates, Choice::default()),
        pick(&candidates, choice),
    );
    if let Some(number) = choice.connection
        && number.wrapping_sub(1) >= candidates.len()
    {
        let connections = candidates.len();
        return Err(ReplayError::NoConnection {
            number,
            connections,
        });
    }
    let (index, role) = chosen.ok_or(ReplayError::NoFpdu)?;
    candidates[index].replayed = Some(role);
    let (connection, mpa) = speaking[index];
    Ok(Chosen {
        flow: flow(connection, mpa, role),
        candidates,
        usual: chosen == usual,
    })
}

/// Index and role of the first stream that fits `choice` and is not empty.
fn pick(candidates: &[Candidate], choice: Choice) -> Option<(usize, Role)> {
    let fits = |candidate: &&Candidate| {
        choice
            .connection
            .is_none_or(|number| number == candidate.number)
    };
    let streams = candidates.iter().filter(fits).flat_map(|candidate| {
        let roles = Role::ALL.into_iter();
        let roles =
            roles.filter(|role| choice.direction.is_none_or(|direction| direction == *role));
        roles.map(move |role| (candidate, role))
    });
    let mut some = streams.filter(|(candidate, role)| candidate.sent(*role).is_some());
    some.next()
        .map(|(candidate, role)| (candidate.number - 1, role))
}
