//! What the table holds: listeners and connections, each at a place that its handle names.

use std::io;
use std::net::SocketAddr;

use rustix::event::epoll::EventFlags;
use rustix::fd::OwnedFd;

use crate::network::error::NetworkError;
use crate::network::event::{ConnectionHandle, Pending, Place};
use crate::network::inlets::Token;
use crate::network::record::Ends;
use crate::network::socket;

/// A place, and how often it was used.
pub(super) struct Slot {
    pub generation: u32,
    pub entry: Entry,
}

/// What is at a place.
pub(super) enum Entry {
    Free,
    Listener(Listener),
    Connection(Box<Connection>),
}

/// A socket that listens.
pub(super) struct Listener {
    pub socket: OwnedFd,
    pub address: SocketAddr,
    /// Accepted, and not attached or closed yet.
    pub pending: usize,
    pub armed: bool,
}

/// A connection.
pub(super) struct Connection {
    pub socket: OwnedFd,
    pub state: State,
    /// The listener whose pending connection it is.
    pub pends: Option<Place>,
    pub ends: Ends,
    /// What the socket is armed for; `None` after an event.
    pub armed: Option<EventFlags>,
    /// The owner has read all there was, or the inlet has room.
    pub reads: bool,
    /// A write was cut short.
    pub writes: bool,
    /// The send queue has octets that the socket did not accept.
    pub drains: bool,
    pub fin_received: bool,
    pub fin_sent: bool,
    /// Both halves are shut: the socket reports that for ever.
    pub hung_up: bool,
    /// Octets of a segment, as the owner was told last.
    pub segment: Option<usize>,
    pub pending: Pending,
    pub queued: bool,
}

/// A connection, for a view of all that are open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenConnection {
    /// The address of the card's end.
    pub card: SocketAddr,
    /// The peer's.
    pub peer: SocketAddr,
    /// How far it is.
    pub state: ConnectionState,
}

/// How far an open connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionState {
    /// The peer has not answered.
    Connecting,
    /// Its owner reads and writes it: start-up.
    StartUp,
    /// Its octets belong to a stream.
    Attached {
        /// The stream.
        stream: u8,
    },
    /// Its stream was closed.
    Detached,
    /// It was refused or lost, and its owner has not closed it.
    Lost,
}

/// How far a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Connecting,
    Open,
    Attached {
        stream: u8,
        token: Token,
    },
    Detached,
    /// Refused or lost.
    Dead(io::ErrorKind),
}

impl Connection {
    /// For a view.
    pub fn view(&self) -> OpenConnection {
        OpenConnection {
            card: self.ends.card(),
            peer: self.ends.peer(),
            state: match self.state {
                State::Connecting => ConnectionState::Connecting,
                State::Open => ConnectionState::StartUp,
                State::Attached { stream, .. } => ConnectionState::Attached { stream },
                State::Detached => ConnectionState::Detached,
                State::Dead(_) => ConnectionState::Lost,
            },
        }
    }

    /// What the socket is to report, besides its end.
    pub fn interest(&self) -> EventFlags {
        let mut flags = EventFlags::empty();
        let readable = matches!(self.state, State::Open | State::Attached { .. });
        flags.set(EventFlags::IN, readable && self.reads && !self.fin_received);
        flags.set(
            EventFlags::OUT,
            self.state == State::Connecting || self.writes || self.drains,
        );
        flags
    }

    /// Octets of payload in a segment that is sent now, `limit` at most.
    pub fn segment_now(&self, limit: Option<u16>) -> Result<usize, NetworkError> {
        self.established()?;
        let octets = socket::segment(&self.socket);
        let octets = octets.map_err(|error| NetworkError::Lost(error.kind()))?;
        Ok(limit.map_or(octets, |limit| octets.min(limit.into())))
    }

    /// Whether it can be read and written.
    pub fn established(&self) -> Result<(), NetworkError> {
        match self.state {
            State::Connecting => Err(NetworkError::NotEstablished),
            State::Dead(kind) => Err(NetworkError::Lost(kind)),
            State::Open | State::Attached { .. } | State::Detached => Ok(()),
        }
    }
}

/// What is at a place, while it is the same one.
pub(super) fn entry(slots: &mut [Slot], place: Place) -> Option<&mut Entry> {
    let slot = slots.get_mut(place.index as usize)?;
    (slot.generation == place.generation).then_some(&mut slot.entry)
}

/// The connection at a place.
pub(super) fn connection(slots: &mut [Slot], place: Place) -> Option<&mut Connection> {
    match entry(slots, place) {
        Some(Entry::Connection(connection)) => Some(connection),
        _ => None,
    }
}

/// The connection of a handle.
pub(super) fn known(
    slots: &mut [Slot],
    handle: ConnectionHandle,
) -> Result<&mut Connection, NetworkError> {
    connection(slots, handle.0).ok_or(NetworkError::Closed)
}

/// All open connections, and the addresses of all listeners.
pub(super) fn view(slots: &[Slot]) -> (Vec<OpenConnection>, Vec<SocketAddr>) {
    let (mut connections, mut listeners) = (Vec::new(), Vec::new());
    for slot in slots {
        match &slot.entry {
            Entry::Free => {}
            Entry::Listener(listener) => listeners.push(listener.address),
            Entry::Connection(connection) => connections.push(connection.view()),
        }
    }
    (connections, listeners)
}
