//! The network of the control program: the card's connections, which are sockets of the host's kernel, and sessions of SCTP.

use std::net::SocketAddr;
use std::sync::Arc;

use warpline_firmware::{ConnectionError, Event, Network, OpenError, Sequences};
use warpline_regmap::mailbox::Transport;

use super::sessions::Sessions;
use crate::network::connections::Connections;
use crate::network::error::NetworkError;
use crate::network::event::{self, ConnectionHandle, ListenerHandle};

/// Connections as the control program uses them.
pub(crate) struct Sockets {
    pub connections: Arc<Connections>,
    pub sessions: Sessions,
    /// Largest EMSS. That of a connection is the kernel's, if it is smaller.
    pub segment: u16,
}

/// Names a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Connection {
    Tcp(ConnectionHandle),
    Session(u64),
}

/// Names a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Listener {
    Tcp(ListenerHandle),
    Sctp(u64),
}

fn open_error(error: NetworkError) -> OpenError {
    match error {
        NetworkError::Full { .. } => OpenError::Full,
        NetworkError::Address { .. } => OpenError::Address,
        error => {
            tracing::warn!(%error, "the network side cannot open a socket");
            OpenError::Failed
        }
    }
}

fn connection_error(error: NetworkError) -> ConnectionError {
    match error {
        NetworkError::Lost(_) => ConnectionError::Lost,
        error => {
            tracing::warn!(%error, "the control program's call failed");
            ConnectionError::Failed
        }
    }
}

/// The session, for calls that TCP has no part in.
const fn session(connection: Connection) -> Result<u64, ConnectionError> {
    match connection {
        Connection::Session(session) => Ok(session),
        Connection::Tcp(_) => Err(ConnectionError::Failed),
    }
}

/// The TCP connection, for calls about octets.
const fn tcp(connection: Connection) -> Result<ConnectionHandle, ConnectionError> {
    match connection {
        Connection::Tcp(connection) => Ok(connection),
        Connection::Session(_) => Err(ConnectionError::Failed),
    }
}

impl Sockets {
    /// The control program is gone, and all that it has open with it.
    pub fn end_all(&mut self) {
        self.sessions.end_all();
        self.connections.end_all();
    }
}

impl Network for Sockets {
    type Connection = Connection;
    type Listener = Listener;

    fn listen(
        &mut self,
        transport: Transport,
        address: SocketAddr,
    ) -> Result<(Listener, u16), OpenError> {
        if transport == Transport::Sctp {
            let (listener, port) = self.sessions.listen(address)?;
            return Ok((Listener::Sctp(listener), port));
        }
        let listener = self.connections.listen(address).map_err(open_error)?;
        let address = self.connections.address(listener).map_err(open_error)?;
        Ok((Listener::Tcp(listener), address.port()))
    }

    fn unlisten(&mut self, listener: Listener) {
        match listener {
            Listener::Tcp(listener) => self.connections.unlisten(listener),
            Listener::Sctp(listener) => self.sessions.unlisten(listener),
        }
    }

    fn connect(
        &mut self,
        transport: Transport,
        address: SocketAddr,
    ) -> Result<Connection, OpenError> {
        match transport {
            Transport::Tcp => {
                let connected = self.connections.connect(address);
                connected.map(Connection::Tcp).map_err(open_error)
            }
            Transport::Sctp => self.sessions.connect(address).map(Connection::Session),
        }
    }

    fn next_event(&mut self) -> Option<(Connection, Event<Listener>)> {
        if let Some((session, event)) = self.sessions.next_event() {
            let event = match event {
                Event::Accepted(listener) => Event::Accepted(Listener::Sctp(listener)),
                Event::Connected => Event::Connected,
                Event::Answered(answer) => Event::Answered(answer),
                Event::Refused => Event::Refused,
                Event::Readable => Event::Readable,
                Event::Writable => Event::Writable,
                Event::SegmentChanged => Event::SegmentChanged,
                Event::HalfClosed => Event::HalfClosed,
                Event::Lost => Event::Lost,
                Event::Detached => Event::Detached,
            };
            return Some((Connection::Session(session), event));
        }
        let (connection, event) = self.connections.next_event()?;
        let event = match event {
            event::Event::Accepted(listener) => Event::Accepted(Listener::Tcp(listener)),
            event::Event::Connected => Event::Connected,
            event::Event::Refused(_) => Event::Refused,
            event::Event::Readable => Event::Readable,
            event::Event::Writable => Event::Writable,
            event::Event::HalfClosed => Event::HalfClosed,
            event::Event::Lost(_) => Event::Lost,
            event::Event::Detached => Event::Detached,
            event::Event::SegmentChanged => Event::SegmentChanged,
        };
        Some((Connection::Tcp(connection), event))
    }

    fn peer(&mut self, connection: Connection) -> Result<SocketAddr, ConnectionError> {
        match connection {
            Connection::Tcp(connection) => {
                let ends = self.connections.ends(connection);
                ends.map(|(_, peer)| peer).map_err(connection_error)
            }
            Connection::Session(session) => self.sessions.peer(session),
        }
    }

    fn initiate(
        &mut self,
        connection: Connection,
        private_data: &[u8],
    ) -> Result<(), ConnectionError> {
        self.sessions.initiate(session(connection)?, private_data)
    }

    fn answer(
        &mut self,
        connection: Connection,
        accepts: bool,
        private_data: &[u8],
    ) -> Result<(), ConnectionError> {
        let session = session(connection)?;
        self.sessions.answer(session, accepts, private_data)
    }

    fn private_data(
        &mut self,
        connection: Connection,
        octets: &mut [u8],
    ) -> Result<usize, ConnectionError> {
        self.sessions.private_data(session(connection)?, octets)
    }

    fn sequences(&mut self, connection: Connection) -> Result<Sequences, ConnectionError> {
        let sequences = self.connections.sequences(tcp(connection)?);
        let (receive, send) = sequences.map_err(connection_error)?;
        Ok(Sequences { receive, send })
    }

    fn segment(&mut self, connection: Connection) -> Result<u16, ConnectionError> {
        match connection {
            Connection::Tcp(connection) => {
                let kernel = self.connections.segment(connection);
                let kernel = kernel.map_err(connection_error)?;
                Ok(u16::try_from(kernel).unwrap_or(u16::MAX).min(self.segment))
            }
            Connection::Session(session) => self.sessions.segment(session),
        }
    }

    fn read(
        &mut self,
        connection: Connection,
        octets: &mut [u8],
    ) -> Result<usize, ConnectionError> {
        let read = self.connections.read(tcp(connection)?, octets);
        read.map_err(connection_error)
    }

    fn write(&mut self, connection: Connection, octets: &[u8]) -> Result<usize, ConnectionError> {
        let written = self.connections.write(tcp(connection)?, octets);
        written.map_err(connection_error)
    }

    fn attach(
        &mut self,
        connection: Connection,
        stream: u8,
        sequence: u32,
    ) -> Result<(), ConnectionError> {
        match connection {
            Connection::Tcp(connection) => {
                let attached = self.connections.attach(connection, stream, sequence, &[]);
                attached.map_err(connection_error)
            }
            Connection::Session(session) => self.sessions.attach(session, stream),
        }
    }

    fn finish(&mut self, connection: Connection) -> Result<(), ConnectionError> {
        match connection {
            Connection::Tcp(connection) => {
                let finished = self.connections.finish(connection);
                finished.map_err(connection_error)
            }
            Connection::Session(session) => self.sessions.finish(session),
        }
    }

    fn close(&mut self, connection: Connection) {
        match connection {
            Connection::Tcp(connection) => self.connections.close(connection),
            Connection::Session(session) => self.sessions.close(session),
        }
    }

    fn abort(&mut self, connection: Connection) {
        match connection {
            Connection::Tcp(connection) => self.connections.abort(connection),
            Connection::Session(session) => self.sessions.abort(session),
        }
    }
}
