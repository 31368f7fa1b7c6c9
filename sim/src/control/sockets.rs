//! The network of the control program: the card's connections, which are sockets of the host's kernel. There is no SCTP yet.

use std::net::SocketAddr;
use std::sync::Arc;

use warpline_firmware::{ConnectionError, Event, Network, OpenError, Sequences};
use warpline_regmap::mailbox::Transport;

use crate::network::connections::Connections;
use crate::network::error::NetworkError;
use crate::network::event::{self, ConnectionHandle, ListenerHandle};

/// Connections as the control program uses them.
pub(crate) struct Sockets {
    pub connections: Arc<Connections>,
    /// Largest EMSS. That of a connection is the kernel's, if it is smaller.
    pub segment: u16,
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

fn tcp(transport: Transport) -> Result<(), OpenError> {
    match transport {
        Transport::Tcp => Ok(()),
        Transport::Sctp => Err(OpenError::Transport),
    }
}

impl Network for Sockets {
    type Connection = ConnectionHandle;
    type Listener = ListenerHandle;

    fn listen(
        &mut self,
        transport: Transport,
        address: SocketAddr,
    ) -> Result<(ListenerHandle, u16), OpenError> {
        tcp(transport)?;
        let listener = self.connections.listen(address).map_err(open_error)?;
        let address = self.connections.address(listener).map_err(open_error)?;
        Ok((listener, address.port()))
    }

    fn unlisten(&mut self, listener: ListenerHandle) {
        self.connections.unlisten(listener);
    }

    fn connect(
        &mut self,
        transport: Transport,
        address: SocketAddr,
    ) -> Result<ConnectionHandle, OpenError> {
        tcp(transport)?;
        self.connections.connect(address).map_err(open_error)
    }

    fn next_event(&mut self) -> Option<(ConnectionHandle, Event<ListenerHandle>)> {
        let (connection, event) = self.connections.next_event()?;
        let event = match event {
            event::Event::Accepted(listener) => Event::Accepted(listener),
            event::Event::Connected => Event::Connected,
            event::Event::Refused(_) => Event::Refused,
            event::Event::Readable => Event::Readable,
            event::Event::Writable => Event::Writable,
            event::Event::HalfClosed => Event::HalfClosed,
            event::Event::Lost(_) => Event::Lost,
            event::Event::Detached => Event::Detached,
            event::Event::SegmentChanged => Event::SegmentChanged,
        };
        Some((connection, event))
    }

    fn peer(&mut self, connection: ConnectionHandle) -> Result<SocketAddr, ConnectionError> {
        let ends = self.connections.ends(connection);
        ends.map(|(_, peer)| peer).map_err(connection_error)
    }

    fn initiate(&mut self, _: ConnectionHandle, _: &[u8]) -> Result<(), ConnectionError> {
        Err(ConnectionError::Failed)
    }

    fn answer(&mut self, _: ConnectionHandle, _: bool, _: &[u8]) -> Result<(), ConnectionError> {
        Err(ConnectionError::Failed)
    }

    fn private_data(
        &mut self,
        _: ConnectionHandle,
        _: &mut [u8],
    ) -> Result<usize, ConnectionError> {
        Err(ConnectionError::Failed)
    }

    fn sequences(&mut self, connection: ConnectionHandle) -> Result<Sequences, ConnectionError> {
        let sequences = self.connections.sequences(connection);
        let (receive, send) = sequences.map_err(connection_error)?;
        Ok(Sequences { receive, send })
    }

    fn segment(&mut self, connection: ConnectionHandle) -> Result<u16, ConnectionError> {
        let kernel = self
            .connections
            .segment(connection)
            .map_err(connection_error)?;
        Ok(u16::try_from(kernel).unwrap_or(u16::MAX).min(self.segment))
    }

    fn read(
        &mut self,
        connection: ConnectionHandle,
        octets: &mut [u8],
    ) -> Result<usize, ConnectionError> {
        let read = self.connections.read(connection, octets);
        read.map_err(connection_error)
    }

    fn write(
        &mut self,
        connection: ConnectionHandle,
        octets: &[u8],
    ) -> Result<usize, ConnectionError> {
        let written = self.connections.write(connection, octets);
        written.map_err(connection_error)
    }

    fn attach(
        &mut self,
        connection: ConnectionHandle,
        stream: u8,
        sequence: u32,
    ) -> Result<(), ConnectionError> {
        let attached = self.connections.attach(connection, stream, sequence, &[]);
        attached.map_err(connection_error)
    }

    fn finish(&mut self, connection: ConnectionHandle) -> Result<(), ConnectionError> {
        let finished = self.connections.finish(connection);
        finished.map_err(connection_error)
    }

    fn close(&mut self, connection: ConnectionHandle) {
        self.connections.close(connection);
    }

    fn abort(&mut self, connection: ConnectionHandle) {
        self.connections.abort(connection);
    }
}
