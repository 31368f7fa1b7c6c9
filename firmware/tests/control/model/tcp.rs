//! Connections of a scripted network, TCP and sessions of SCTP, and what their peers do.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use warpline_firmware::{Answer, ConnectionError, Event, Network, OpenError, Sequences};
use warpline_regmap::mailbox::Transport;

/// One connection, seen from both ends.
#[derive(Debug)]
pub struct Connection {
    pub peer: SocketAddr,
    pub connecting: bool,
    pub lost: bool,
    /// What the peer has sent and the card has not read.
    pub inbound: VecDeque<u8>,
    pub peer_fin: bool,
    fin_read: bool,
    /// The card has read all there was, and is told when there is more.
    waits: bool,
    /// What the card has sent.
    pub outbound: Vec<u8>,
    pub fin: bool,
    /// Octets that the card may still write.
    pub room: usize,
    blocked: bool,
    pub attached: Option<(u8, u32)>,
    pub read: u32,
    /// Octets of a segment, once the card has asked for them.
    pub asked: Option<u16>,
    /// A session of SCTP, if it is one.
    pub session: Option<Session>,
}

/// What passes in a session beside segments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Session {
    /// Private data of the peer's last control message.
    pub private_data: Vec<u8>,
    /// What the card has sent, and whether it was attached by then.
    pub sent: Vec<(Control, bool)>,
}

/// A control message of the card (RFC 5043 §5.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Control {
    Initiate(Vec<u8>),
    Accept(Vec<u8>),
    Reject(Vec<u8>),
    Terminate,
}

/// How the card has ended a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Closed,
    Aborted,
}

#[derive(Default)]
pub struct Tcp {
    pub open: BTreeMap<u32, Connection>,
    pub listeners: BTreeMap<u32, (Transport, SocketAddr)>,
    pub events: VecDeque<(u32, Event<u32>)>,
    pub ended: BTreeMap<u32, (End, Vec<u8>)>,
    /// The same of sessions.
    pub sessions: BTreeMap<u32, (End, Session)>,
    pub refuses: Option<OpenError>,
    /// What `attach` fails with.
    pub attach_error: Option<ConnectionError>,
    pub segment: Option<u16>,
    /// Octets that a read returns at most.
    pub chunk: Option<usize>,
    next: u32,
}

/// Sequence numbers of the first octets, per connection.
pub const PEER_FIRST: u32 = 0xffff_ff00;
pub const CARD_FIRST: u32 = 0x1000;

impl Tcp {
    fn open(&mut self, peer: SocketAddr, connecting: bool) -> u32 {
        self.next += 1;
        let connection = Connection {
            peer,
            connecting,
            lost: false,
            inbound: VecDeque::new(),
            peer_fin: false,
            fin_read: false,
            waits: true,
            outbound: Vec::new(),
            fin: false,
            room: usize::MAX,
            blocked: false,
            attached: None,
            read: 0,
            asked: None,
            session: None,
        };
        self.open.insert(self.next, connection);
        self.next
    }

    /// A peer connects to a listener.
    pub fn arrives(&mut self, listener: u32) -> u32 {
        let peer = SocketAddr::from(([192, 0, 2, 7], 50_000 + (self.next % 1000) as u16));
        let handle = self.open(peer, false);
        self.events.push_back((handle, Event::Accepted(listener)));
        handle
    }

    /// A peer asks a listener for a session.
    pub fn initiates(&mut self, listener: u32, private_data: &[u8]) -> u32 {
        assert_eq!(self.listeners[&listener].0, Transport::Sctp);
        let handle = self.arrives(listener);
        self.at(handle).session = Some(Session {
            private_data: private_data.into(),
            ..Session::default()
        });
        handle
    }

    /// The peer answers the session that the card has asked for.
    pub fn decides(&mut self, handle: u32, answer: Answer, private_data: &[u8]) {
        self.session(handle).private_data = private_data.into();
        self.events.push_back((handle, Event::Answered(answer)));
    }

    fn session(&mut self, handle: u32) -> &mut Session {
        self.at(handle).session.as_mut().expect("a session")
    }

    fn control(&mut self, handle: u32, control: Control) -> Result<(), ConnectionError> {
        let attached = self.live(handle)?.attached.is_some();
        self.session(handle).sent.push((control, attached));
        Ok(())
    }

    /// The peer accepts a connection that the card makes.
    pub fn answers(&mut self, handle: u32) {
        self.at(handle).connecting = false;
        self.events.push_back((handle, Event::Connected));
    }

    /// The program that has opened everything is gone.
    pub fn stops(&mut self) {
        self.open.clear();
        self.listeners.clear();
        self.events.clear();
    }

    /// The peer sends octets.
    pub fn sends(&mut self, handle: u32, octets: &[u8]) {
        let connection = self.at(handle);
        connection.inbound.extend(octets);
        self.readable(handle);
    }

    /// The peer sends its FIN.
    pub fn finishes(&mut self, handle: u32) {
        self.at(handle).peer_fin = true;
        if self.at(handle).attached.is_some() {
            self.at(handle).fin_read = true;
            self.events.push_back((handle, Event::HalfClosed));
        } else {
            self.readable(handle);
        }
    }

    /// The peer sends its FIN behind all that was read, and TCP notices by itself.
    pub fn notices_fin(&mut self, handle: u32) {
        let connection = self.at(handle);
        (connection.peer_fin, connection.fin_read) = (true, true);
        self.events.push_back((handle, Event::HalfClosed));
    }

    /// The peer sends RST, if the connection still exists.
    pub fn resets(&mut self, handle: u32) {
        if let Some(connection) = self.open.get_mut(&handle) {
            connection.lost = true;
            let refused = connection.connecting;
            let event = if refused { Event::Refused } else { Event::Lost };
            self.events.push_back((handle, event));
        }
    }

    /// The card may write so many octets more.
    pub fn makes_room(&mut self, handle: u32, room: usize) {
        let connection = self.at(handle);
        connection.room = room;
        if room > 0 && std::mem::take(&mut connection.blocked) {
            self.events.push_back((handle, Event::Writable));
        }
    }

    /// Segments of all connections have another length from now on.
    pub fn resegments(&mut self, octets: u16) {
        self.segment = Some(octets);
        for (handle, connection) in &self.open {
            if connection.asked.is_some_and(|asked| asked != octets) {
                self.events.push_back((*handle, Event::SegmentChanged));
            }
        }
    }

    fn readable(&mut self, handle: u32) {
        let connection = self.at(handle);
        if connection.attached.is_none() && std::mem::take(&mut connection.waits) {
            self.events.push_back((handle, Event::Readable));
        }
    }

    pub fn at(&mut self, handle: u32) -> &mut Connection {
        self.open.get_mut(&handle).expect("the connection is open")
    }

    fn live(&mut self, handle: u32) -> Result<&mut Connection, ConnectionError> {
        let connection = self
            .open
            .get_mut(&handle)
            .expect("used after it was closed");
        match (connection.lost, connection.connecting) {
            (true, _) => Err(ConnectionError::Lost),
            (_, true) => Err(ConnectionError::Failed),
            _ => Ok(connection),
        }
    }

    fn end(&mut self, handle: u32, end: End) {
        let connection = self.open.remove(&handle).expect("closed twice");
        self.events.retain(|(of, _)| *of != handle);
        if let Some(session) = connection.session {
            self.sessions.insert(handle, (end, session));
        }
        self.ended.insert(handle, (end, connection.outbound));
    }
}

impl Network for Tcp {
    type Connection = u32;
    type Listener = u32;

    fn listen(
        &mut self,
        transport: Transport,
        address: SocketAddr,
    ) -> Result<(u32, u16), OpenError> {
        if let Some(error) = self.refuses {
            return Err(error);
        }
        self.next += 1;
        self.listeners.insert(self.next, (transport, address));
        Ok((
            self.next,
            if address.port() == 0 {
                40_000
            } else {
                address.port()
            },
        ))
    }

    fn unlisten(&mut self, listener: u32) {
        self.listeners
            .remove(&listener)
            .expect("the listener is open");
    }

    fn connect(&mut self, transport: Transport, address: SocketAddr) -> Result<u32, OpenError> {
        if let Some(error) = self.refuses {
            return Err(error);
        }
        let handle = self.open(address, true);
        self.at(handle).session = (transport == Transport::Sctp).then(Session::default);
        Ok(handle)
    }

    fn initiate(&mut self, handle: u32, private_data: &[u8]) -> Result<(), ConnectionError> {
        self.control(handle, Control::Initiate(private_data.into()))
    }

    fn answer(
        &mut self,
        handle: u32,
        accepts: bool,
        private_data: &[u8],
    ) -> Result<(), ConnectionError> {
        let control = match accepts {
            true => Control::Accept(private_data.into()),
            false => Control::Reject(private_data.into()),
        };
        self.control(handle, control)
    }

    fn private_data(&mut self, handle: u32, octets: &mut [u8]) -> Result<usize, ConnectionError> {
        self.live(handle)?;
        let private_data = &self.session(handle).private_data;
        octets[..private_data.len()].copy_from_slice(private_data);
        Ok(private_data.len())
    }

    fn next_event(&mut self) -> Option<(u32, Event<u32>)> {
        self.events.pop_front()
    }

    fn peer(&mut self, connection: u32) -> Result<SocketAddr, ConnectionError> {
        Ok(self.at(connection).peer)
    }

    fn sequences(&mut self, connection: u32) -> Result<Sequences, ConnectionError> {
        let connection = self.live(connection)?;
        assert_eq!(connection.session, None, "a session has no octets");
        Ok(Sequences {
            receive: PEER_FIRST.wrapping_add(connection.read),
            send: CARD_FIRST.wrapping_add(connection.outbound.len() as u32),
        })
    }

    fn segment(&mut self, connection: u32) -> Result<u16, ConnectionError> {
        let octets = self.segment.unwrap_or(1448);
        self.live(connection)?.asked = Some(octets);
        Ok(octets)
    }

    fn read(&mut self, handle: u32, octets: &mut [u8]) -> Result<usize, ConnectionError> {
        let most = self.chunk.unwrap_or(octets.len());
        let connection = self.live(handle)?;
        assert_eq!(connection.session, None, "a session has no octets");
        if connection.attached.is_some() {
            return Err(ConnectionError::Failed);
        }
        let count = connection.inbound.len().min(octets.len()).min(most);
        for (octet, sent) in octets.iter_mut().zip(connection.inbound.drain(..count)) {
            *octet = sent;
        }
        connection.read += count as u32;
        if count == 0 && connection.peer_fin && !connection.fin_read {
            connection.fin_read = true;
            self.events.push_back((handle, Event::HalfClosed));
        } else if count == 0 {
            connection.waits = true;
        }
        Ok(count)
    }

    fn write(&mut self, handle: u32, octets: &[u8]) -> Result<usize, ConnectionError> {
        let connection = self.live(handle)?;
        assert_eq!(connection.session, None, "a session has no octets");
        if connection.attached.is_some() || connection.fin {
            return Err(ConnectionError::Failed);
        }
        let count = octets.len().min(connection.room);
        connection.outbound.extend(&octets[..count]);
        connection.room -= count;
        connection.blocked |= count < octets.len();
        Ok(count)
    }

    fn attach(&mut self, handle: u32, stream: u8, sequence: u32) -> Result<(), ConnectionError> {
        if let Some(error) = self.attach_error {
            return Err(error);
        }
        let connection = self.live(handle)?;
        assert_eq!(connection.attached, None, "attached twice");
        connection.attached = Some((stream, sequence));
        if connection.peer_fin && !connection.fin_read {
            connection.fin_read = true;
            self.events.push_back((handle, Event::HalfClosed));
        }
        Ok(())
    }

    fn finish(&mut self, handle: u32) -> Result<(), ConnectionError> {
        self.live(handle)?.fin = true;
        match self.at(handle).session {
            Some(_) => self.control(handle, Control::Terminate),
            None => Ok(()),
        }
    }

    fn close(&mut self, handle: u32) {
        self.end(handle, End::Closed);
    }

    fn abort(&mut self, handle: u32) {
        self.end(handle, End::Aborted);
    }
}
