//! The network port of a soft processor: its calls, carried out on the card's connections.

use std::collections::HashSet;
use std::hash::Hash;
use std::net::SocketAddr;

use warpline_firmware::{Answer, ConnectionError, Event, Network, OpenError};
use warpline_regmap::mailbox::Transport;
use warpline_regmap::processor::{
    CALL_ADDRESS, CallWords, NetworkCall, NetworkEvent, NetworkStatus, OCTETS_MAX,
    network_call as call,
};

use super::sockets::{Connection, Listener, Sockets};
use crate::network::event::{ConnectionHandle, ListenerHandle, Place};

/// Operands and octets of the port, and what the program has open.
pub(super) struct Calls {
    pub operands: CallWords,
    pub octets: [u8; OCTETS_MAX],
    sockets: Sockets,
    connections: HashSet<Connection>,
    listeners: HashSet<Listener>,
}

/// In the number of a session or of its listener.
const SCTP: u64 = 1 << 63;

const fn number_of_connection(connection: Connection) -> u64 {
    match connection {
        Connection::Tcp(ConnectionHandle(place)) => number(place),
        Connection::Session(session) => SCTP | session,
    }
}

const fn connection_of(number: u64) -> Connection {
    match number & SCTP {
        0 => Connection::Tcp(ConnectionHandle(place(number))),
        _ => Connection::Session(number & !SCTP),
    }
}

const fn number_of_listener(listener: Listener) -> u64 {
    match listener {
        Listener::Tcp(ListenerHandle(place)) => number(place),
        Listener::Sctp(listener) => SCTP | listener,
    }
}

const fn listener_of(number: u64) -> Listener {
    match number & SCTP {
        0 => Listener::Tcp(ListenerHandle(place(number))),
        _ => Listener::Sctp(number & !SCTP),
    }
}

/// The number of a place; generations do not get as far as [`SCTP`].
const fn number(place: Place) -> u64 {
    (place.generation as u64) << 32 | place.index as u64
}

const fn place(number: u64) -> Place {
    Place {
        index: number as u32,
        generation: (number >> 32) as u32,
    }
}

const fn open_status(error: OpenError) -> NetworkStatus {
    match error {
        OpenError::Address => NetworkStatus::Address,
        OpenError::Full => NetworkStatus::Full,
        OpenError::Transport => NetworkStatus::Transport,
        OpenError::Failed => NetworkStatus::Failed,
    }
}

const fn connection_status(error: ConnectionError) -> NetworkStatus {
    match error {
        ConnectionError::Lost => NetworkStatus::Lost,
        ConnectionError::Failed => NetworkStatus::Failed,
    }
}

/// The handle of an open one; any other number is refused.
fn known<H: Eq + Hash + Copy>(open: &HashSet<H>, handle: H) -> Result<H, NetworkStatus> {
    open.get(&handle).copied().ok_or(NetworkStatus::Failed)
}

impl Calls {
    /// The calls go to `sockets`.
    pub fn over(sockets: Sockets) -> Self {
        Self {
            operands: CallWords::default(),
            octets: [0; OCTETS_MAX],
            sockets,
            connections: HashSet::new(),
            listeners: HashSet::new(),
        }
    }

    /// The program has ended, and all that it has open with it.
    pub fn end(&mut self) {
        self.connections.clear();
        self.listeners.clear();
        self.sockets.end_all();
    }

    /// Carries out the call of that number.
    pub fn call(&mut self, number: u32) {
        let status = match NetworkCall::parse(number.into()) {
            Some(number) => self.perform(number).err(),
            None => Some(NetworkStatus::Failed),
        };
        let status = status.unwrap_or(NetworkStatus::Done);
        call::STATUS.put(&mut self.operands, status as u64);
    }

    fn connection(&self) -> Result<Connection, NetworkStatus> {
        let handle = connection_of(call::CONNECTION.get(&self.operands));
        known(&self.connections, handle)
    }

    fn perform(&mut self, number: NetworkCall) -> Result<(), NetworkStatus> {
        match number {
            NetworkCall::Listen => self.listen(),
            NetworkCall::Connect => self.connect(),
            NetworkCall::NextEvent => {
                self.next_event();
                Ok(())
            }
            NetworkCall::Unlisten => {
                let handle = listener_of(call::LISTENER.get(&self.operands));
                let listener = known(&self.listeners, handle)?;
                self.listeners.remove(&listener);
                self.sockets.unlisten(listener);
                Ok(())
            }
            NetworkCall::Close | NetworkCall::Abort => {
                let connection = self.connection()?;
                self.connections.remove(&connection);
                match number {
                    NetworkCall::Close => self.sockets.close(connection),
                    _ => self.sockets.abort(connection),
                }
                Ok(())
            }
            about => {
                let connection = self.connection()?;
                self.ask(about, connection).map_err(connection_status)
            }
        }
    }

    fn endpoint(&self) -> Result<(Transport, SocketAddr), NetworkStatus> {
        let transport = Transport::parse(call::TRANSPORT.get(&self.operands));
        let transport = transport.ok_or(NetworkStatus::Transport)?;
        Ok((transport, CALL_ADDRESS.get(&self.operands)))
    }

    fn listen(&mut self) -> Result<(), NetworkStatus> {
        let (transport, address) = self.endpoint()?;
        let opened = self.sockets.listen(transport, address);
        let (listener, port) = opened.map_err(open_status)?;
        self.listeners.insert(listener);
        call::LISTENER.put(&mut self.operands, number_of_listener(listener));
        call::PORT.put(&mut self.operands, port.into());
        Ok(())
    }

    fn connect(&mut self) -> Result<(), NetworkStatus> {
        let (transport, address) = self.endpoint()?;
        let opened = self.sockets.connect(transport, address);
        let connection = opened.map_err(open_status)?;
        self.connections.insert(connection);
        call::CONNECTION.put(&mut self.operands, number_of_connection(connection));
        Ok(())
    }

    fn next_event(&mut self) {
        call::EVENT.put(&mut self.operands, 0);
        let Some((connection, event)) = self.sockets.next_event() else {
            return;
        };
        let event = match event {
            Event::Accepted(listener) => {
                self.connections.insert(connection);
                call::LISTENER.put(&mut self.operands, number_of_listener(listener));
                NetworkEvent::Accepted
            }
            Event::Connected => NetworkEvent::Connected,
            Event::Answered(Answer::Accepted) => NetworkEvent::SessionAccepted,
            Event::Answered(Answer::Rejected) => NetworkEvent::SessionRejected,
            Event::Answered(Answer::Terminated) => NetworkEvent::SessionTerminated,
            Event::Refused => NetworkEvent::Refused,
            Event::Readable => NetworkEvent::Readable,
            Event::Writable => NetworkEvent::Writable,
            Event::HalfClosed => NetworkEvent::HalfClosed,
            Event::Lost => NetworkEvent::Lost,
            Event::Detached => NetworkEvent::Detached,
            Event::SegmentChanged => NetworkEvent::SegmentChanged,
        };
        call::CONNECTION.put(&mut self.operands, number_of_connection(connection));
        call::EVENT.put(&mut self.operands, event as u64);
    }

    fn ask(&mut self, number: NetworkCall, connection: Connection) -> Result<(), ConnectionError> {
        let Self {
            operands,
            octets,
            sockets,
            ..
        } = self;
        let length = (call::LENGTH.get(operands) as usize).min(OCTETS_MAX);
        match number {
            NetworkCall::Peer => CALL_ADDRESS.put(operands, sockets.peer(connection)?),
            NetworkCall::Sequences => {
                let sequences = sockets.sequences(connection)?;
                call::RECEIVE_SEQUENCE.put(operands, sequences.receive.into());
                call::SEND_SEQUENCE.put(operands, sequences.send.into());
            }
            NetworkCall::Segment => {
                call::EMSS.put(operands, sockets.segment(connection)?.into());
            }
            NetworkCall::Read => {
                let read = sockets.read(connection, &mut octets[..length])?;
                call::LENGTH.put(operands, read as u64);
            }
            NetworkCall::Write => {
                let written = sockets.write(connection, &octets[..length])?;
                call::LENGTH.put(operands, written as u64);
            }
            NetworkCall::Initiate => sockets.initiate(connection, &octets[..length])?,
            NetworkCall::Accept | NetworkCall::Reject => {
                let accepts = number == NetworkCall::Accept;
                sockets.answer(connection, accepts, &octets[..length])?;
            }
            NetworkCall::PrivateData => {
                let given = sockets.private_data(connection, &mut octets[..length])?;
                call::LENGTH.put(operands, given as u64);
            }
            NetworkCall::Attach => {
                let stream = call::STREAM.get(operands) as u8;
                let sequence = call::RECEIVE_SEQUENCE.get(operands) as u32;
                sockets.attach(connection, stream, sequence)?;
            }
            _ => sockets.finish(connection)?,
        }
        Ok(())
    }
}
