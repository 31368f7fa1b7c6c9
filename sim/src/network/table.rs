//! All connections and listeners, and what is done with each.
//!
//! ```text
//!                 ┌──────────────── interest: read? write? ────────────────┐
//!                 ▼                                                        │
//!  sockets ─► epoll (one shot) ─► ready() ─┬─ listener: accept while there is room
//!                                          ├─ start-up: events for the owner, who reads and writes
//!                                          └─ attached: socket ─► room of the inlet ─► card
//! ```
//!
//! The table buffers nothing: octets are in the kernel, whose buffers are bounded, or in the card's backlog. Events are flags
//! of a connection. Each descriptor is armed for one event, so that one which nobody serves costs nothing.

mod listeners;

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use fastrand::Rng;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::fd::{AsFd, OwnedFd};

use crate::card::Card;
use crate::network::entry::{
    Connection, Entry, OpenConnection, Slot, State, connection, entry, known, view,
};
use crate::network::error::NetworkError;
use crate::network::event::{ConnectionHandle, Event, ListenerHandle, Pending, Place};
use crate::network::frames::From;
use crate::network::inlets::{Arrived, Inlet};
use crate::network::options::NetworkOptions;
use crate::network::path::Path;
use crate::network::record::{Ends, Record};
use crate::network::socket::{self, Buffers, Moved};

/// Octets read from a socket at a time.
const READ: usize = 16 << 10;
/// Reads from a socket before other ones have their turn.
const READS: usize = 4;

/// The table.
pub(crate) struct Table {
    card: Card,
    options: NetworkOptions,
    epoll: Arc<OwnedFd>,
    wake: Arc<dyn Fn() + Send + Sync>,
    rng: Rng,
    record: Record,
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Connections with events, each once.
    events: VecDeque<u32>,
    connections: usize,
    listeners: usize,
    /// Most octets of a segment, beside the kernel's own limit.
    segment_limit: Option<u16>,
    /// A listener met an error of the system, and is tried again later.
    pub retry: bool,
    buffer: Vec<u8>,
}

fn data(place: Place) -> EventData {
    EventData::new_u64(u64::from(place.generation) << 32 | u64::from(place.index))
}

/// The place that an event of a socket belongs to.
pub(crate) fn place(data: EventData) -> Place {
    Place {
        index: data.u64() as u32,
        generation: (data.u64() >> 32) as u32,
    }
}

impl Table {
    /// An empty table, whose sockets report to `epoll`. `wake` is called, from any thread, when [`refill`](Self::refill) has
    /// something to do.
    pub fn new(
        card: Card,
        options: NetworkOptions,
        epoll: Arc<OwnedFd>,
        wake: Arc<dyn Fn() + Send + Sync>,
        record: Record,
    ) -> Self {
        Self {
            rng: Rng::with_seed(options.seed),
            card,
            options,
            epoll,
            wake,
            record,
            slots: Vec::new(),
            free: Vec::new(),
            events: VecDeque::new(),
            connections: 0,
            listeners: 0,
            segment_limit: None,
            retry: false,
            buffer: vec![0; READ],
        }
    }

    fn buffers(&self) -> Buffers {
        Buffers {
            receive: self.options.receive_buffer,
            send: self.options.send_buffer,
            timeout: self.options.send_timeout,
        }
    }

    /// Connects to `address`.
    pub fn connect(&mut self, address: SocketAddr) -> Result<ConnectionHandle, NetworkError> {
        let most = self.options.connections;
        if self.connections >= most {
            let what = "connections";
            return Err(NetworkError::Full { what, most });
        }
        let refused = |source| {
            let what = "connect to";
            NetworkError::Address {
                what,
                address,
                source,
            }
        };
        let socket = socket::connect_to(address, self.buffers()).map_err(refused)?;
        let local = socket::local(&socket)?;
        let place = self.adopt(socket, local, address, State::Connecting, None)?;
        Ok(ConnectionHandle(place))
    }

    /// Both ends of a connection: the card's and the peer's.
    pub fn ends(
        &mut self,
        handle: ConnectionHandle,
    ) -> Result<(SocketAddr, SocketAddr), NetworkError> {
        let ends = &known(&mut self.slots, handle)?.ends;
        Ok((ends.card(), ends.peer()))
    }

    /// Octets of payload in a segment. A change is reported from then on.
    pub fn segment(&mut self, handle: ConnectionHandle) -> Result<usize, NetworkError> {
        let limit = self.segment_limit;
        let connection = known(&mut self.slots, handle)?;
        let octets = connection.segment_now(limit)?;
        connection.segment = Some(octets);
        connection.pending.segment_changed = false;
        Ok(octets)
    }

    /// From now on, segments have at most so many octets.
    pub fn limit_segments(&mut self, octets: Option<u16>) {
        self.segment_limit = octets;
        for index in 0..self.slots.len() {
            self.look_at_segment(self.place_at(index));
        }
    }

    /// Reports that segments have another length than the owner was told.
    fn look_at_segment(&mut self, place: Place) {
        let limit = self.segment_limit;
        let Some(connection) = connection(&mut self.slots, place) else {
            return;
        };
        let Some(told) = connection.segment else {
            return;
        };
        // A connection that is lost reports that by itself.
        if connection.segment_now(limit).is_ok_and(|now| now != told) {
            connection.pending.segment_changed = true;
            self.report(place);
        }
    }

    /// Sequence numbers of the next octets that the peer and the card send.
    pub fn sequences(&mut self, handle: ConnectionHandle) -> Result<(u32, u32), NetworkError> {
        let connection = known(&mut self.slots, handle)?;
        connection.established()?;
        let ends = &connection.ends;
        Ok((ends.next(From::Peer), ends.next(From::Card)))
    }

    /// Reads octets of a connection that is not attached.
    pub fn read(
        &mut self,
        handle: ConnectionHandle,
        octets: &mut [u8],
    ) -> Result<usize, NetworkError> {
        let connection = known(&mut self.slots, handle)?;
        connection.established()?;
        match connection.state {
            State::Attached { stream, .. } => return Err(NetworkError::Attached { stream }),
            State::Detached => return Ok(0),
            _ => {}
        }
        if connection.fin_received || octets.is_empty() {
            return Ok(0);
        }
        match socket::read(&connection.socket, octets) {
            Ok(Moved::Octets(0)) => {
                connection.fin_received = true;
                connection.pending.half_closed = true;
                self.record.fin(&mut connection.ends, From::Peer);
                self.report(handle.0);
                Ok(0)
            }
            Ok(Moved::Octets(count)) => {
                self.record
                    .octets(&mut connection.ends, From::Peer, &octets[..count]);
                Ok(count)
            }
            Ok(Moved::Nothing) => {
                connection.reads = true;
                self.rearm(handle.0);
                Ok(0)
            }
            Err(error) => {
                self.lost(handle.0, error.kind());
                Err(NetworkError::Lost(error.kind()))
            }
        }
    }

    /// Writes octets of a connection that is not attached, or of one that is.
    pub fn write(
        &mut self,
        handle: ConnectionHandle,
        octets: &[u8],
        attached: bool,
    ) -> Result<usize, NetworkError> {
        let connection = known(&mut self.slots, handle)?;
        connection.established()?;
        match (connection.state, attached) {
            (State::Attached { stream, .. }, false) => {
                return Err(NetworkError::Attached { stream });
            }
            (State::Open, true) => return Err(NetworkError::NotAttached),
            _ => {}
        }
        if connection.fin_sent {
            return Err(NetworkError::Finished);
        }
        let written = match socket::write(&connection.socket, octets) {
            Ok(Moved::Octets(count)) => count,
            Ok(Moved::Nothing) => 0,
            Err(error) => {
                self.lost(handle.0, error.kind());
                return Err(NetworkError::Lost(error.kind()));
            }
        };
        self.record
            .octets(&mut connection.ends, From::Card, &octets[..written]);
        if written < octets.len() {
            connection.writes = true;
            self.rearm(handle.0);
        }
        if written > 0 {
            self.look_at_segment(handle.0);
        }
        Ok(written)
    }

    /// Passes a connection to a stream, whose first octet has sequence number `sequence`. `early` was read before.
    pub fn attach(
        &mut self,
        handle: ConnectionHandle,
        stream: u8,
        sequence: u32,
        early: &[u8],
    ) -> Result<(), NetworkError> {
        let (most, path) = (self.options.backlog, self.options.path.clone());
        let (card, wake) = (self.card.clone(), Arc::clone(&self.wake));
        let own = u64::from(handle.0.generation) << 32 | u64::from(handle.0.index);
        let connection = known(&mut self.slots, handle)?;
        connection.established()?;
        match connection.state {
            State::Open => {}
            State::Attached { stream, .. } => return Err(NetworkError::Attached { stream }),
            _ => return Err(NetworkError::NotEstablished),
        }
        if early.len() > most {
            let octets = early.len();
            return Err(NetworkError::Early { octets, most });
        }
        let path = Path::new(path, own, sequence);
        let inlet = Inlet::new(path, sequence, most, Box::new(move || wake()));
        let Some(token) = card.attach(stream, inlet)? else {
            return Err(NetworkError::Occupied { stream });
        };
        connection.state = State::Attached { stream, token };
        connection.reads = true;
        connection.pending.readable = false;
        if !early.is_empty() {
            card.arrived(token, Arrived::Octets(early));
        }
        if connection.fin_received {
            card.arrived(token, Arrived::Fin);
        }
        if let Some(listener) = connection.pends.take() {
            self.settle(listener);
        }
        self.drain(handle.0);
        self.rearm(handle.0);
        Ok(())
    }

    /// Sends a FIN behind what was written.
    pub fn finish(&mut self, handle: ConnectionHandle) -> Result<(), NetworkError> {
        let connection = known(&mut self.slots, handle)?;
        connection.established()?;
        if std::mem::replace(&mut connection.fin_sent, true) {
            return Ok(());
        }
        (connection.writes, connection.drains) = (false, false);
        connection.pending.writable = false;
        if let Err(error) = socket::finish(&connection.socket) {
            self.lost(handle.0, error.kind());
            return Err(NetworkError::Lost(error.kind()));
        }
        self.record.fin(&mut connection.ends, From::Card);
        Ok(())
    }

    /// Closes a connection, by FIN or by RST.
    pub fn close(&mut self, handle: ConnectionHandle, abort: bool) {
        let Ok(connection) = known(&mut self.slots, handle) else {
            return;
        };
        let established = connection.established().is_ok();
        let finished = connection.fin_sent;
        if established && (abort || !finished) {
            match abort {
                true => self.record.reset(&connection.ends, From::Card),
                false => self.record.fin(&mut connection.ends, From::Card),
            }
        }
        if let Entry::Connection(connection) = self.remove(handle.0) {
            if let State::Attached { token, .. } = connection.state {
                self.card.detach(token);
            }
            if let Some(listener) = connection.pends {
                self.settle(listener);
            }
            if abort {
                socket::abort(connection.socket);
            }
        }
        self.rearm_listeners();
    }

    /// Ends everything. Streams of attached connections learn that these are lost.
    pub fn end_all(&mut self) {
        // Listeners first: a connection that closes makes room for one that has not been accepted.
        for index in 0..self.slots.len() {
            self.unlisten(ListenerHandle(self.place_at(index)));
        }
        for index in 0..self.slots.len() {
            let place = self.place_at(index);
            let Some(connection) = connection(&mut self.slots, place) else {
                continue;
            };
            if let State::Attached { token, .. } = connection.state {
                self.card.arrived(token, Arrived::Lost);
            }
            self.close(ConnectionHandle(place), true);
        }
    }

    /// The place of the slot `index`, as it is used now.
    fn place_at(&self, index: usize) -> Place {
        let generation = self.slots[index].generation;
        let index = index as u32;
        Place { index, generation }
    }

    /// The next event.
    pub fn next_event(&mut self) -> Option<(ConnectionHandle, Event)> {
        while let Some(index) = self.events.pop_front() {
            let slot = &mut self.slots[index as usize];
            let generation = slot.generation;
            let Entry::Connection(connection) = &mut slot.entry else {
                continue;
            };
            connection.queued = false;
            let place = Place { index, generation };
            if let Some(event) = connection.pending.next() {
                self.report(place);
                return Some((ConnectionHandle(place), event));
            }
        }
        None
    }

    /// Whether an event waits.
    pub fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// A socket has reported.
    pub fn ready(&mut self, place: Place, flags: EventFlags) {
        match self.entry(place) {
            Some(Entry::Listener(listener)) => {
                listener.armed = false;
                self.rearm_listeners();
            }
            Some(Entry::Connection(connection)) => {
                connection.armed = None;
                self.serve(place, flags);
                self.rearm(place);
            }
            _ => {} // closed meanwhile
        }
    }

    fn serve(&mut self, place: Place, flags: EventFlags) {
        let ends = flags.intersects(EventFlags::ERR | EventFlags::HUP);
        if ends {
            // What came in front of an RST counts: a peer may send a Terminate and reset the connection at once.
            self.fill(place);
        }
        let Some(connection) = connection(&mut self.slots, place) else {
            return;
        };
        connection.hung_up |= ends;
        if ends
            && !matches!(connection.state, State::Dead(_))
            && let Err(error) = socket::error(&connection.socket)
        {
            self.lost(place, error.kind());
            return;
        }
        if connection.state == State::Connecting {
            if flags.contains(EventFlags::OUT) {
                connection.state = State::Open;
                connection.reads = true;
                connection.pending.connected = true;
                self.record.established(&mut connection.ends, From::Card);
                self.report(place);
            }
            return;
        }
        if flags.contains(EventFlags::OUT) && connection.writes {
            connection.writes = false;
            connection.pending.writable = true;
        }
        if flags.contains(EventFlags::OUT) {
            connection.drains = false;
        }
        if flags.contains(EventFlags::IN) && connection.state == State::Open {
            connection.reads = false;
            connection.pending.readable = true;
        }
        self.report(place);
        self.fill(place);
        self.drain(place);
        self.look_at_segment(place);
    }

    /// Serves connections whose inlets have room again, or are gone.
    pub fn refill(&mut self) {
        for index in 0..self.slots.len() {
            let place = self.place_at(index);
            self.fill(place);
            self.drain(place);
            self.rearm(place);
        }
    }

    /// Reads an attached connection as far as its inlet has room.
    fn fill(&mut self, place: Place) {
        for _ in 0..READS {
            let Some(connection) = connection(&mut self.slots, place) else {
                return;
            };
            let State::Attached { token, .. } = connection.state else {
                return;
            };
            let Some(room) = self.card.room(token) else {
                connection.state = State::Detached;
                connection.pending.detached = true;
                self.report(place);
                return;
            };
            connection.reads = room > 0;
            if room == 0 || connection.fin_received {
                return;
            }
            let most = room.min(READ);
            match socket::read(&connection.socket, &mut self.buffer[..most]) {
                Ok(Moved::Nothing) => return,
                Ok(Moved::Octets(0)) => {
                    connection.fin_received = true;
                    connection.pending.half_closed = true;
                    self.card.arrived(token, Arrived::Fin);
                    self.record.fin(&mut connection.ends, From::Peer);
                    self.report(place);
                    return;
                }
                Ok(Moved::Octets(count)) => {
                    let octets = &self.buffer[..count];
                    self.card.arrived(token, Arrived::Octets(octets));
                    self.record.octets(&mut connection.ends, From::Peer, octets);
                }
                Err(error) => {
                    self.lost(place, error.kind());
                    return;
                }
            }
        }
    }

    /// Writes what the send queue of an attached connection has ready, as far as the socket accepts it.
    fn drain(&mut self, place: Place) {
        let Self {
            card,
            slots,
            record,
            ..
        } = self;
        let Some(connection) = connection(slots, place) else {
            return;
        };
        let State::Attached { stream, token } = connection.state else {
            return;
        };
        if connection.fin_sent || connection.drains {
            return;
        }
        let Connection { socket, ends, .. } = connection;
        let mut moved = false;
        let sent = card.send(stream, token, |octets| {
            let written = match socket::write(socket, octets)? {
                Moved::Octets(count) => count,
                Moved::Nothing => 0,
            };
            moved |= written > 0;
            record.octets(ends, From::Card, &octets[..written]);
            Ok::<usize, io::Error>(written)
        });
        match sent {
            Ok(all) => connection.drains = !all,
            Err(error) => self.lost(place, error.kind()),
        }
        // The kernel looks at the path's MTU whenever it is given octets.
        if moved {
            self.look_at_segment(place);
        }
    }

    /// A connection was refused, or is lost.
    fn lost(&mut self, place: Place, kind: io::ErrorKind) {
        let Some(connection) = connection(&mut self.slots, place) else {
            return;
        };
        let before = std::mem::replace(&mut connection.state, State::Dead(kind));
        match before {
            State::Dead(_) => return,
            State::Connecting => connection.pending.refused = Some(kind),
            _ => connection.pending.lost = Some(kind),
        }
        if let State::Attached { token, .. } = before {
            self.card.arrived(token, Arrived::Lost);
            self.card.detach(token);
        }
        match before {
            State::Connecting => self.record.refused(&mut connection.ends),
            _ => self.record.reset(&connection.ends, From::Peer),
        }
        self.report(place);
    }

    /// Queues a connection that has events.
    fn report(&mut self, place: Place) {
        if let Some(connection) = connection(&mut self.slots, place)
            && connection.pending.any()
            && !std::mem::replace(&mut connection.queued, true)
        {
            self.events.push_back(place.index);
        }
    }

    /// Arms a socket for what its connection needs.
    fn rearm(&mut self, place: Place) {
        let Some(connection) = connection(&mut self.slots, place) else {
            return;
        };
        let interest = connection.interest();
        // The end of a connection is reported without interest: once is enough.
        let silent = interest.is_empty() && connection.hung_up;
        if connection.armed == Some(interest) || silent {
            return;
        }
        let flags = interest | EventFlags::ONESHOT;
        match epoll::modify(&*self.epoll, &connection.socket, data(place), flags) {
            Ok(()) => connection.armed = Some(interest),
            Err(error) => self.lost(place, io::Error::from(error).kind()),
        }
    }

    /// Takes in a socket that connects, or was accepted by a listener.
    fn adopt(
        &mut self,
        socket: OwnedFd,
        local: SocketAddr,
        peer: SocketAddr,
        state: State,
        listener: Option<Place>,
    ) -> Result<Place, NetworkError> {
        let (card_first, peer_first) = (self.rng.u32(..), self.rng.u32(..));
        let ends = Ends::new(local, peer, card_first, peer_first);
        let mut new = Box::new(Connection {
            socket,
            state,
            pends: listener,
            ends,
            armed: None,
            reads: true,
            writes: false,
            drains: false,
            fin_received: false,
            fin_sent: false,
            hung_up: false,
            segment: None,
            pending: Pending::default(),
            queued: false,
        });
        new.pending.accepted = listener.map(ListenerHandle);
        let interest = new.interest();
        let place = self.insert(Entry::Connection(new));
        self.connections += 1;
        if let Err(error) = self.add(place, interest) {
            self.remove(place);
            return Err(error.into());
        }
        if listener.is_some()
            && let Some(connection) = connection(&mut self.slots, place)
        {
            self.record.established(&mut connection.ends, From::Peer);
        }
        self.report(place);
        Ok(place)
    }

    /// Writes the record's buffer to the file.
    pub fn flush(&self) {
        self.record.flush();
    }

    /// Open connections, and those of them that their listeners have accepted and that are not attached.
    pub fn counts(&self) -> (usize, usize) {
        let pending = self.slots.iter().map(|slot| match &slot.entry {
            Entry::Listener(listener) => listener.pending,
            _ => 0,
        });
        (self.connections, pending.sum())
    }

    /// All open connections, and the addresses of all listeners.
    pub fn view(&self) -> (Vec<OpenConnection>, Vec<SocketAddr>) {
        view(&self.slots)
    }

    fn entry(&mut self, place: Place) -> Option<&mut Entry> {
        entry(&mut self.slots, place)
    }

    fn add(&mut self, place: Place, interest: EventFlags) -> io::Result<()> {
        let epoll = Arc::clone(&self.epoll);
        let flags = interest | EventFlags::ONESHOT;
        let add = |socket: &OwnedFd| epoll::add(&*epoll, socket.as_fd(), data(place), flags);
        match self.entry(place) {
            Some(Entry::Connection(connection)) => {
                add(&connection.socket)?;
                connection.armed = Some(interest);
            }
            Some(Entry::Listener(listener)) => add(&listener.socket)?,
            _ => {}
        }
        Ok(())
    }

    fn insert(&mut self, entry: Entry) -> Place {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot {
                generation: 0,
                entry: Entry::Free,
            });
            self.slots.len() as u32 - 1
        });
        let slot = &mut self.slots[index as usize];
        let generation = slot.generation;
        let place = Place { index, generation };
        slot.entry = entry;
        place
    }

    fn remove(&mut self, place: Place) -> Entry {
        let slot = &mut self.slots[place.index as usize];
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(place.index);
        let entry = std::mem::replace(&mut slot.entry, Entry::Free);
        match &entry {
            Entry::Connection(_) => {
                self.connections -= 1;
                self.events.retain(|index| *index != place.index);
            }
            Entry::Listener(_) => self.listeners -= 1,
            Entry::Free => {}
        }
        entry
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        for slot in &self.slots {
            if let Entry::Connection(connection) = &slot.entry
                && let State::Attached { token, .. } = connection.state
            {
                self.card.detach(token);
            }
        }
    }
}
