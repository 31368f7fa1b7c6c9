//! A session of SCTP in start-up: what is known of it. What happens to it is in `session_start_up`.

use crate::network::{ConnectionError, Network};
use crate::settings::deadline;
use warpline_regmap::mailbox::{PrivateData, Settings};

/// How far a session is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The card asks for it, once the association is up.
    Associating,
    /// The Initiate is sent.
    Initiated,
    /// The peer has asked for it, and the host decides.
    Requested,
    /// One end has answered.
    Answered,
}

/// A session in start-up, with the private data that is to be sent, or that has come last.
pub(crate) struct Session {
    pub stage: Stage,
    active: bool,
    pub private_data: PrivateData,
    /// When the peer, or the host, has taken too long.
    pub deadline: Option<u64>,
}

impl Session {
    /// One that the card asks for.
    pub fn active(private_data: PrivateData, settings: &Settings, now: u64) -> Self {
        Self {
            stage: Stage::Associating,
            active: true,
            private_data,
            deadline: deadline(now, settings.peer_time),
        }
    }

    /// One that the peer has asked for.
    pub fn passive<N: Network>(
        network: &mut N,
        connection: N::Connection,
        settings: &Settings,
        now: u64,
    ) -> Result<Self, ConnectionError> {
        Ok(Self {
            stage: Stage::Requested,
            active: false,
            private_data: of_peer(network, connection)?,
            deadline: deadline(now, settings.host_time),
        })
    }

    pub const fn is_active(&self) -> bool {
        self.active
    }

    /// Sends the Accept that the host has decided on, if this end answers.
    pub fn answer<N: Network>(
        &mut self,
        network: &mut N,
        connection: N::Connection,
    ) -> Result<(), ConnectionError> {
        match self.active {
            true => Ok(()),
            false => network.answer(connection, true, self.private_data.as_slice()),
        }
    }
}

/// The private data of the peer's last control message.
pub(crate) fn of_peer<N: Network>(
    network: &mut N,
    connection: N::Connection,
) -> Result<PrivateData, ConnectionError> {
    let mut octets = [0; warpline_regmap::mailbox::records::PRIVATE_MAX];
    let length = network.private_data(connection, &mut octets)?;
    let octets = octets.get(..length).ok_or(ConnectionError::Failed)?;
    PrivateData::new(octets).map_err(|_| ConnectionError::Failed)
}
