//! Sessions of SCTP as the control program uses them: each is a connection, on whatever association it lies.
//!
//! ```text
//!  listen  ─► Associations at that address ─ Requested ─► Accepted
//!  connect ─► Associations at any port: an association of its own, whose first pair of streams has the session
//! ```
//!
//! Addresses are those of the datagrams (RFC 6951). All ends use the same SCTP port in them.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use warpline_firmware::{Answer, ConnectionError, Event, OpenError};

use crate::card::Card;
use crate::network::frames::Frames;
use crate::network::sctp::associations::Associations;
use crate::network::sctp::error::AssociationError;
use crate::network::sctp::event::{AssociationEvent, AssociationHandle};
use crate::network::sctp::options::AssociationOptions;

/// SCTP port in the datagrams. RFC 5043 has none; the port of an address is UDP's.
const PORT: u16 = 5043;
/// Pair of streams of a session that the card asks for.
const PAIR: u16 = 0;

/// An address of this card: associations, and the listener that they belong to.
struct End {
    associations: Associations,
    /// No listener: sessions that peers ask for are declined.
    listener: Option<u64>,
    /// Maximum DDP segments.
    segments: BTreeMap<AssociationHandle, u16>,
}

/// A session.
struct Session {
    end: u64,
    association: AssociationHandle,
    pair: u16,
    peer: SocketAddr,
    active: bool,
    /// Of the peer's last control message.
    private_data: Vec<u8>,
    /// The program has asked for the maximum segment.
    asked: bool,
    /// The peer has asked for it, and the program has not answered.
    undecided: bool,
    /// Terminate was asked for.
    finished: bool,
    /// The program has closed it: it is forgotten when it is over.
    closed: bool,
}

impl Session {
    fn new(
        end: u64,
        association: AssociationHandle,
        pair: u16,
        peer: SocketAddr,
        active: bool,
    ) -> Self {
        Self {
            end,
            association,
            pair,
            peer,
            active,
            private_data: Vec::new(),
            asked: false,
            undecided: false,
            finished: false,
            closed: false,
        }
    }
}

/// All sessions of a control program.
pub(super) struct Sessions {
    card: Card,
    frames: Option<Arc<Frames>>,
    wake: Arc<dyn Fn() + Send + Sync>,
    ends: BTreeMap<u64, End>,
    sessions: BTreeMap<u64, Session>,
    next: u64,
    events: VecDeque<(u64, Event<u64>)>,
}

fn open_error(error: AssociationError) -> OpenError {
    match error {
        AssociationError::NoSctp => OpenError::Transport,
        AssociationError::Full { .. } => OpenError::Full,
        AssociationError::System(_) => OpenError::Address,
        error => {
            tracing::warn!(%error, "the network side cannot open an association");
            OpenError::Failed
        }
    }
}

fn call_error(error: AssociationError) -> ConnectionError {
    match error {
        AssociationError::Ended => ConnectionError::Lost,
        error => {
            tracing::warn!(%error, "the control program's call failed");
            ConnectionError::Failed
        }
    }
}

impl Sessions {
    /// None at first. What passes is recorded in `frames`; `wake` is called when there are events.
    pub fn new(
        card: &Card,
        frames: Option<Arc<Frames>>,
        wake: Arc<dyn Fn() + Send + Sync>,
    ) -> Self {
        Self {
            card: card.clone(),
            frames,
            wake,
            ends: BTreeMap::new(),
            sessions: BTreeMap::new(),
            next: 0,
            events: VecDeque::new(),
        }
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Associations at `address`.
    fn open(&mut self, address: SocketAddr, listener: Option<u64>) -> Result<u64, OpenError> {
        let options = AssociationOptions {
            address,
            ..AssociationOptions::default()
        };
        let frames = self.frames.clone();
        let associations =
            Associations::recorded(&self.card, options, frames).map_err(open_error)?;
        let wake = Arc::clone(&self.wake);
        associations.watch(Box::new(move || wake()));
        let number = self.number();
        let end = End {
            associations,
            listener,
            segments: BTreeMap::new(),
        };
        self.ends.insert(number, end);
        Ok(number)
    }

    /// Listens at `address`. Returns the listener and its port.
    pub fn listen(&mut self, address: SocketAddr) -> Result<(u64, u16), OpenError> {
        let listener = self.number();
        let end = self.open(address, Some(listener))?;
        let associations = &self.ends[&end].associations;
        let listens = associations.listen(PORT);
        let address = listens.and_then(|()| associations.address());
        match address {
            Ok(address) => Ok((listener, address.port())),
            Err(error) => {
                self.ends.remove(&end);
                Err(open_error(error))
            }
        }
    }

    /// Closes a listener; sessions that it has reported stay.
    pub fn unlisten(&mut self, listener: u64) {
        for end in self.ends.values_mut() {
            if end.listener == Some(listener) {
                end.listener = None;
                end.associations.unlisten(PORT);
            }
        }
        self.drop_ends();
    }

    /// Drops addresses that nothing needs any more: each has a thread and a socket.
    fn drop_ends(&mut self) {
        let sessions = &self.sessions;
        self.ends.retain(|number, end| {
            let has_session = || sessions.values().any(|session| session.end == *number);
            end.listener.is_some() || has_session() || !end.associations.is_empty()
        });
    }

    /// Sets up an association for a session.
    pub fn connect(&mut self, address: SocketAddr) -> Result<u64, OpenError> {
        let own = match address.ip() {
            IpAddr::V4(ip) if ip.is_loopback() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(ip) if ip.is_loopback() => Ipv6Addr::LOCALHOST.into(),
            IpAddr::V4(_) => IpAddr::from(Ipv4Addr::UNSPECIFIED),
            IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let end = self.open(SocketAddr::new(own, 0), None)?;
        let connected = self.ends[&end].associations.connect(address, PORT);
        let association = match connected {
            Ok(association) => association,
            Err(error) => {
                self.ends.remove(&end);
                return Err(open_error(error));
            }
        };
        let number = self.number();
        let session = Session::new(end, association, PAIR, address, true);
        self.sessions.insert(number, session);
        Ok(number)
    }

    /// The next event: of a session, and with a listener's number if it was accepted.
    pub fn next_event(&mut self) -> Option<(u64, Event<u64>)> {
        let ends: Vec<u64> = self.ends.keys().copied().collect();
        for end in ends {
            let next = |this: &Self| this.ends.get(&end)?.associations.next_event();
            while let Some((association, event)) = next(self) {
                self.event(end, association, event);
            }
        }
        let event = self.events.pop_front();
        if event.is_none() {
            self.drop_ends();
        }
        event
    }

    fn find(&self, end: u64, association: AssociationHandle, pair: u16) -> Option<u64> {
        let mut sessions = self.sessions.iter();
        let found = sessions.find(|(_, session)| {
            (session.end, session.association, session.pair) == (end, association, pair)
        });
        found.map(|(number, _)| *number)
    }

    /// Sessions of an association.
    fn of(&self, end: u64, association: AssociationHandle) -> Vec<u64> {
        let of_it = |session: &Session| (session.end, session.association) == (end, association);
        let sessions = self.sessions.iter();
        let found = sessions.filter(|(_, session)| of_it(session));
        found.map(|(number, _)| *number).collect()
    }

    fn tell(&mut self, number: u64, event: Event<u64>) {
        if self
            .sessions
            .get(&number)
            .is_some_and(|session| !session.closed)
        {
            self.events.push_back((number, event));
        }
    }

    fn event(&mut self, end: u64, association: AssociationHandle, event: AssociationEvent) {
        let answered = |this: &mut Self, pair, answer, private_data| {
            if let Some(number) = this.find(end, association, pair) {
                if let Some(session) = this.sessions.get_mut(&number) {
                    session.private_data = private_data;
                }
                this.tell(number, Event::Answered(answer));
            }
        };
        match event {
            AssociationEvent::Up { passive: false, .. } => {
                for number in self.of(end, association) {
                    self.tell(number, Event::Connected);
                }
            }
            AssociationEvent::Up { .. } => {}
            AssociationEvent::NotDdp(_) | AssociationEvent::Ended(_) => {
                if let Some(end) = self.ends.get_mut(&end) {
                    end.segments.remove(&association);
                }
                for number in self.of(end, association) {
                    // Without an association that was up, no session of it was lost.
                    self.tell(number, Event::Refused);
                    self.forget_if_closed(number);
                }
            }
            AssociationEvent::MaxSegment(octets) => {
                if let Some(end) = self.ends.get_mut(&end) {
                    end.segments.insert(association, octets);
                }
                for number in self.of(end, association) {
                    if self
                        .sessions
                        .get(&number)
                        .is_some_and(|session| session.asked)
                    {
                        self.tell(number, Event::SegmentChanged);
                    }
                }
            }
            AssociationEvent::Requested(pair, private_data) => {
                self.requested(end, association, pair, private_data);
            }
            AssociationEvent::Accepted(pair, data) => {
                answered(self, pair, Answer::Accepted, data);
            }
            AssociationEvent::Rejected(pair, data) => {
                answered(self, pair, Answer::Rejected, data);
            }
            AssociationEvent::Refused(pair) => {
                answered(self, pair, Answer::Terminated, Vec::new());
            }
            AssociationEvent::Terminated(pair) => {
                self.of_pair(end, association, pair, Event::HalfClosed)
            }
            AssociationEvent::Detached(pair) => {
                self.of_pair(end, association, pair, Event::Detached)
            }
            AssociationEvent::Failed(pair, error) => {
                tracing::warn!(%error, "a session of SCTP has ended in an error");
                self.of_pair(end, association, pair, Event::Lost);
            }
            AssociationEvent::Abandoned(pair) | AssociationEvent::Lost(pair, _) => {
                self.of_pair(end, association, pair, Event::Lost);
            }
            AssociationEvent::Free(pair) => {
                if let Some(number) = self.find(end, association, pair) {
                    self.forget_if_closed(number);
                }
            }
            AssociationEvent::Stray(pair, cause) => {
                tracing::warn!(pair, %cause, "a chunk belongs to no session");
            }
        }
    }

    fn of_pair(&mut self, end: u64, association: AssociationHandle, pair: u16, event: Event<u64>) {
        if let Some(number) = self.find(end, association, pair) {
            self.tell(number, event);
        }
    }

    fn requested(
        &mut self,
        end: u64,
        association: AssociationHandle,
        pair: u16,
        private_data: Vec<u8>,
    ) {
        let this = &self.ends[&end];
        let peer = this.associations.peer(association);
        let (Some(listener), Ok(peer)) = (this.listener, peer) else {
            let _ = this.associations.decline(association, pair); // or it is over
            return;
        };
        // A session that is over, and that the program has not closed yet, has lost its pair.
        if let Some(former) = self.find(end, association, pair)
            && let Some(former) = self.sessions.get_mut(&former)
        {
            former.pair = u16::MAX;
        }
        let number = self.number();
        let session = Session {
            private_data,
            undecided: true,
            ..Session::new(end, association, pair, peer, false)
        };
        self.sessions.insert(number, session);
        self.events.push_back((number, Event::Accepted(listener)));
    }

    fn forget_if_closed(&mut self, number: u64) {
        if self
            .sessions
            .get(&number)
            .is_some_and(|session| session.closed)
        {
            self.forget(number);
        }
    }

    /// Drops a session, and ends the association that it had for itself.
    fn forget(&mut self, number: u64) {
        let Some(session) = self.sessions.remove(&number) else {
            return;
        };
        self.events.retain(|(of, _)| *of != number);
        if session.active {
            let associations = &self.ends[&session.end].associations;
            let _ = associations.shutdown(session.association); // or it is over
        }
    }

    fn session(&mut self, number: u64) -> Result<(&Associations, &mut Session), ConnectionError> {
        let session = self.sessions.get_mut(&number);
        let session = session.ok_or(ConnectionError::Failed)?;
        Ok((&self.ends[&session.end].associations, session))
    }

    /// The peer's address.
    pub fn peer(&mut self, number: u64) -> Result<SocketAddr, ConnectionError> {
        Ok(self.session(number)?.1.peer)
    }

    /// Asks for the session.
    pub fn initiate(&mut self, number: u64, private_data: &[u8]) -> Result<(), ConnectionError> {
        let (associations, session) = self.session(number)?;
        let asked = associations.initiate(session.association, session.pair, private_data);
        asked.map_err(call_error)
    }

    /// Accepts or rejects the peer's.
    pub fn answer(
        &mut self,
        number: u64,
        accepts: bool,
        private_data: &[u8],
    ) -> Result<(), ConnectionError> {
        let (associations, session) = self.session(number)?;
        let (association, pair) = (session.association, session.pair);
        session.finished |= !accepts;
        session.undecided = false;
        let answered = match accepts {
            true => associations.accept(association, pair, private_data),
            false => associations.reject(association, pair, private_data),
        };
        answered.map_err(call_error)
    }

    /// Copies the private data of the peer's last control message.
    pub fn private_data(
        &mut self,
        number: u64,
        octets: &mut [u8],
    ) -> Result<usize, ConnectionError> {
        let (_, session) = self.session(number)?;
        let room = octets.get_mut(..session.private_data.len());
        let room = room.ok_or(ConnectionError::Failed)?;
        room.copy_from_slice(&session.private_data);
        Ok(session.private_data.len())
    }

    /// The maximum DDP segment.
    pub fn segment(&mut self, number: u64) -> Result<u16, ConnectionError> {
        let (_, session) = self.session(number)?;
        session.asked = true;
        let (end, association) = (session.end, session.association);
        let octets = self.ends[&end].segments.get(&association).copied();
        octets.ok_or(ConnectionError::Lost)
    }

    /// Passes the session to a stream of the device.
    pub fn attach(&mut self, number: u64, stream: u8) -> Result<(), ConnectionError> {
        let (associations, session) = self.session(number)?;
        let attached = associations.attach(session.association, session.pair, stream);
        attached.map_err(call_error)
    }

    /// Sends Terminate.
    pub fn finish(&mut self, number: u64) -> Result<(), ConnectionError> {
        let (associations, session) = self.session(number)?;
        if std::mem::replace(&mut session.finished, true) {
            return Ok(());
        }
        let finished = associations.terminate(session.association, session.pair);
        finished.map_err(call_error)
    }

    /// Closes a session, which ends in order by itself.
    pub fn close(&mut self, number: u64) {
        let Ok((associations, session)) = self.session(number) else {
            return;
        };
        let (end, association, pair) = (session.end, session.association, session.pair);
        if std::mem::take(&mut session.undecided) {
            session.finished = associations.decline(association, pair).is_ok();
        }
        let over = !session.finished && associations.terminate(association, pair).is_err();
        session.closed = true;
        self.events.retain(|(of, _)| *of != number);
        if over || !self.ends[&end].associations.is_in_use(association, pair) {
            self.forget(number);
        }
    }

    /// Ends a session at once, and the association with it if it has no other one. One that is not decided is declined.
    pub fn abort(&mut self, number: u64) {
        let Ok((_, session)) = self.session(number) else {
            return;
        };
        let (end, association) = (session.end, session.association);
        if session.undecided || self.of(end, association).len() > 1 {
            return self.close(number);
        }
        self.ends[&end].associations.abort(association);
        self.sessions.remove(&number);
        self.events.retain(|(of, _)| *of != number);
    }

    /// The program is gone: listeners end, and associations by ABORT.
    pub fn end_all(&mut self) {
        self.sessions.clear();
        self.events.clear();
        self.ends.clear();
    }
}
