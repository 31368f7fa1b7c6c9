//! All associations, and what is done with each.
//!
//! ```text
//!  Udp ─► usrsctp ─► events ─► session machine ─► chunks: kept, or passed to the device
//!   ▲                               ▲                                     │ no room, invalid
//!   └── control messages, segments ─┴── FPDUs of the device               ▼
//! ```
//!
//! SCTP is read only while the device follows, so that its window holds the peer back. Chunks without room in the device do not count
//! for that: what they wait for may be unread.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use etherparse::IpNumber;
use warpline_usrsctp as sctp;
use warpline_usrsctp::{Options, Packet, Udp};
use warpline_wire::sctp::{
    Association, Ending, FULL_WINDOW_WORDS, Indication, Ip, Path, Peer, Receipt, Received, SSN_LEN,
    SendError, Stream, ppid,
};

use crate::card::Card;
use crate::network::frames::{Frames, From, addressed};
use crate::network::inlets::Inlet;
use crate::network::path;
use crate::network::sctp::error::AssociationError;
use crate::network::sctp::event::{
    AssociationEnd, AssociationEvent, AssociationHandle, SessionError,
};
use crate::network::sctp::fpdu;
use crate::network::sctp::options::AssociationOptions;
use crate::network::sctp::session::{self, Session};

/// Octets in front of SCTP with UDP encapsulation: IPv4's or IPv6's header, and UDP's.
const UDP: u16 = 8;
/// How long an end that is dropped waits for the ends of sessions and associations: SCTP sends again what is lost behind one and three
/// seconds.
const LINGER: Duration = Duration::from_millis(3500);
/// Chunks of a session that are on their way into the device before SCTP is read no further.
const AHEAD: usize = 64;

/// The session machine of an association, with the largest window.
type Sessions = Association<Vec<Stream<FULL_WINDOW_WORDS>>, FULL_WINDOW_WORDS>;

/// An association.
struct Entry {
    sctp: sctp::Association,
    ddp: Sessions,
    sessions: Vec<Session>,
    passive: bool,
    peer: SocketAddr,
    /// Since when the peer has had no session.
    idle: Option<u64>,
    /// It is shut down for that.
    shut_down: bool,
}

/// Wakes the thread that serves the table.
pub(super) type Waker = Arc<dyn Fn() + Send + Sync>;

/// All associations of a card.
pub(super) struct Table {
    card: Card,
    options: AssociationOptions,
    udp: Udp,
    entries: BTreeMap<u64, Entry>,
    number: u64,
    events: VecDeque<(AssociationHandle, AssociationEvent)>,
    wake: Waker,
    /// Where packets are recorded.
    frames: Option<Arc<Frames>>,
    started: Instant,
}

impl Table {
    pub fn new(
        card: Card,
        options: AssociationOptions,
        frames: Option<Arc<Frames>>,
        wake: Waker,
    ) -> Result<Self, AssociationError> {
        if !card.takes_chunks() {
            return Err(AssociationError::NoSctp);
        }
        let mut udp = Udp::bind(options.address)?;
        if frames.is_some() {
            udp.keep_packets();
        }
        Ok(Self {
            udp,
            card,
            options,
            entries: BTreeMap::new(),
            number: 0,
            events: VecDeque::new(),
            wake,
            frames,
            started: Instant::now(),
        })
    }

    /// Address of the datagrams.
    pub fn address(&self) -> Result<SocketAddr, AssociationError> {
        Ok(self.udp.local_address()?)
    }

    pub fn listen(&mut self, port: u16) -> Result<(), AssociationError> {
        let backlog = u8::try_from(self.options.associations.clamp(1, 128)).unwrap_or(128);
        let ipv6 = self.udp.local_address()?.is_ipv6();
        let options = self.sctp_options(ipv6);
        Ok(self.udp.listen(port, backlog, &options)?)
    }

    pub fn unlisten(&mut self, port: u16) {
        self.udp.unlisten(port);
    }

    pub fn peer(&mut self, handle: AssociationHandle) -> Result<SocketAddr, AssociationError> {
        Ok(self.entry(handle)?.peer)
    }

    pub fn is_in_use(&mut self, handle: AssociationHandle, session: u16) -> bool {
        let entry = self.entry(handle);
        entry.is_ok_and(|entry| entry.ddp.is_in_use(session))
    }

    pub fn connect(
        &mut self,
        address: SocketAddr,
        port: u16,
    ) -> Result<AssociationHandle, AssociationError> {
        let most = self.options.associations;
        if self.entries.len() >= most {
            return Err(AssociationError::Full { most });
        }
        let options = self.sctp_options(address.is_ipv6());
        let association = self.udp.connect(address, port, &options)?;
        let number = self.adopt(association, false, address)?;
        Ok(AssociationHandle(number))
    }

    /// What RFC 5043 asks of SCTP.
    fn sctp_options(&self, ipv6: bool) -> Options {
        let streams = self.options.streams;
        let headers = if ipv6 { 40 } else { 20 } + UDP;
        Options {
            outbound: streams,
            inbound: streams,
            adaptation: Some(self.options.settings.indication.0),
            max_packet: self.options.mtu.saturating_sub(headers),
            send_buffer: self.options.buffer,
            receive_buffer: self.options.buffer,
            max_message: u16::MAX.into(),
            timers: self.options.timers,
        }
    }

    fn adopt(
        &mut self,
        sctp: sctp::Association,
        passive: bool,
        peer: SocketAddr,
    ) -> Result<u64, AssociationError> {
        let streams = usize::from(self.options.streams);
        let ddp = Sessions::new(self.options.settings, vec![Stream::default(); streams])?;
        let entry = Entry {
            sctp,
            ddp,
            sessions: std::iter::repeat_with(Session::default)
                .take(streams)
                .collect(),
            passive,
            peer,
            idle: None,
            shut_down: false,
        };
        self.number += 1;
        self.entries.insert(self.number, entry);
        Ok(self.number)
    }

    fn entry(&mut self, handle: AssociationHandle) -> Result<&mut Entry, AssociationError> {
        self.entries
            .get_mut(&handle.0)
            .ok_or(AssociationError::Ended)
    }

    fn now(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    pub fn initiate(
        &mut self,
        handle: AssociationHandle,
        session: u16,
        private_data: &[u8],
    ) -> Result<(), AssociationError> {
        let now = self.now();
        Ok(self
            .entry(handle)?
            .ddp
            .initiate(session, private_data, now)?)
    }

    pub fn accept(
        &mut self,
        handle: AssociationHandle,
        session: u16,
        private_data: &[u8],
    ) -> Result<(), AssociationError> {
        let entry = self.entry(handle)?;
        entry.ddp.accept(session, private_data)?;
        let early = entry.sessions.get_mut(usize::from(session));
        for user_data in early.map(Session::take_early).unwrap_or_default() {
            self.deliver(handle.0, session, ppid::SEGMENT, user_data);
        }
        Ok(())
    }

    pub fn reject(
        &mut self,
        handle: AssociationHandle,
        session: u16,
        private_data: &[u8],
    ) -> Result<(), AssociationError> {
        Ok(self.entry(handle)?.ddp.reject(session, private_data)?)
    }

    pub fn decline(
        &mut self,
        handle: AssociationHandle,
        session: u16,
    ) -> Result<(), AssociationError> {
        let mut found = vec![];
        let sink =
            &mut |event: warpline_wire::sctp::Event<'_>| found.extend(AssociationEvent::of(event));
        self.entry(handle)?.ddp.decline(session, sink)?;
        self.report(handle.0, found);
        Ok(())
    }

    pub fn terminate(
        &mut self,
        handle: AssociationHandle,
        session: u16,
    ) -> Result<(), AssociationError> {
        let now = self.now();
        let mut found = vec![];
        let entry = self.entry(handle)?;
        let sink =
            &mut |event: warpline_wire::sctp::Event<'_>| found.extend(AssociationEvent::of(event));
        entry.ddp.terminate(session, now, sink)?;
        self.report(handle.0, found);
        Ok(())
    }

    /// Connects a session to a stream of the device.
    pub fn attach(
        &mut self,
        handle: AssociationHandle,
        session: u16,
        stream: u8,
    ) -> Result<(), AssociationError> {
        let wake = Arc::clone(&self.wake);
        let card = self.card.clone();
        let entry = self.entry(handle)?;
        let streams = entry.sessions.len() as u16;
        let found = entry.sessions.get_mut(usize::from(session));
        let place = found.ok_or(warpline_wire::sctp::CallError::Stream {
            stream: session,
            streams,
        })?;
        if let Some(token) = place.attached {
            let stream = token.stream();
            return Err(AssociationError::Attached { session, stream });
        }
        // No octets of TCP enter it: it only names the owner of the stream, and wakes it.
        let path = path::Path::new(path::PathOptions::default(), 0, 0);
        let inlet = Inlet::new(path, 0, 0, Box::new(move || wake()));
        let token = card.attach_session(stream, inlet)?;
        let token = token.ok_or(AssociationError::Occupied { stream })?;
        place.attached = Some(token);
        for chunk in place.take_kept() {
            card.pass_chunk(token, chunk);
        }
        (self.wake)();
        Ok(())
    }

    /// Ends an association in order.
    pub fn shutdown(&mut self, handle: AssociationHandle) -> Result<(), AssociationError> {
        Ok(self.entry(handle)?.sctp.shutdown()?)
    }

    /// Ends an association by ABORT.
    pub fn abort(&mut self, handle: AssociationHandle) {
        self.end(handle.0, Ending::Aborted, None);
    }

    /// Ends all associations: those without an open session in order, as far as their peers answer in time, the others by ABORT.
    ///
    /// An ABORT behind the last session might overtake its Terminate, or what acknowledges the peer's.
    pub fn end_all(&mut self) {
        let lingers = |entry: &Entry| {
            let mut ids = (0_u16..).take(entry.sessions.len());
            entry.ddp.is_up() && !ids.any(|id| entry.ddp.is_open(id))
        };
        let entries = self.entries.iter().filter(|(_, entry)| lingers(entry));
        let waiting: Vec<u64> = entries.map(|(number, _)| *number).collect();
        let mut shut_down = BTreeSet::new();
        let started = Instant::now();
        while waiting
            .iter()
            .any(|number| self.entries.contains_key(number))
            && started.elapsed() < LINGER
            && self.serve().is_ok()
        {
            for number in &waiting {
                if let Some(entry) = self.entries.get_mut(number)
                    && entry.ddp.in_use() == 0
                    && shut_down.insert(*number)
                {
                    let _ = entry.sctp.shutdown(); // or it is over
                }
            }
            thread::sleep(Duration::from_millis(1));
        }
        let numbers: Vec<u64> = self.entries.keys().copied().collect();
        for number in numbers {
            self.end(number, Ending::Aborted, None);
        }
        if let Err(error) = self.exchange() {
            tracing::warn!(%error, "peers may not know that their associations are over");
        }
    }

    /// The next event.
    pub fn next_event(&mut self) -> Option<(AssociationHandle, AssociationEvent)> {
        self.events.pop_front()
    }

    /// Whether an event waits.
    pub fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// Whether there is anything that time changes soon.
    pub fn is_busy(&self) -> bool {
        !self.entries.is_empty()
    }

    /// Exchanges packets, and records them.
    fn exchange(&mut self) -> Result<(), AssociationError> {
        let served = self.udp.serve(Duration::ZERO);
        if let Some(frames) = &self.frames {
            let card = self.udp.local_address()?;
            while let Some(packet) = self.udp.next_packet() {
                record(frames, card, &packet);
            }
            frames.flush();
        }
        Ok(served?)
    }

    /// Exchanges packets, and does what follows.
    pub fn serve(&mut self) -> Result<(), AssociationError> {
        self.exchange()?;
        while let Some((address, association)) = self.udp.accept() {
            if self.entries.len() < self.options.associations {
                self.adopt(association, true, address)?;
            }
        }
        let numbers: Vec<u64> = self.entries.keys().copied().collect();
        for number in numbers {
            self.look_at_device(number);
            while self.follows(number) {
                let Some(entry) = self.entries.get_mut(&number) else {
                    break;
                };
                match entry.sctp.next_event() {
                    Some(event) => self.event(number, event),
                    None => break,
                }
            }
            self.send(number);
            let now = self.now();
            let mut found = vec![];
            if let Some(entry) = self.entries.get_mut(&number) {
                let sink = &mut |event: warpline_wire::sctp::Event<'_>| {
                    found.extend(AssociationEvent::of(event));
                };
                entry.ddp.poll(now, sink);
            }
            self.report(number, found);
            self.end_idle(number, now);
        }
        Ok(())
    }

    /// Ends the association of a peer that has no session, since there are not many: in order, and by ABORT if that takes as long again.
    fn end_idle(&mut self, number: u64, now: u64) {
        let Some(entry) = self.entries.get_mut(&number) else {
            return;
        };
        let mut ids = (0_u16..).take(entry.sessions.len());
        if !entry.passive || ids.any(|id| entry.ddp.reports(id)) {
            entry.idle = None;
            return;
        }
        let since = *entry.idle.get_or_insert(now);
        let most = u64::try_from(self.options.idle.as_millis()).unwrap_or(u64::MAX);
        let idle = now.saturating_sub(since);
        if idle >= most.saturating_mul(2) {
            self.end(number, Ending::Aborted, Some(AssociationEnd::Idle));
        } else if idle >= most && !std::mem::replace(&mut entry.shut_down, true) {
            let _ = entry.sctp.shutdown(); // or it is not up, or over
        }
    }

    /// Whether the device has accepted enough of what was read.
    fn follows(&self, number: u64) -> bool {
        let entry = self.entries.get(&number);
        entry.is_some_and(|entry| {
            let mut attached = entry.sessions.iter().filter(|one| one.attached.is_some());
            attached.all(|session| session.room > 0)
        })
    }

    /// Asks the device about each attached session.
    fn look_at_device(&mut self, number: u64) {
        let Some(entry) = self.entries.get_mut(&number) else {
            return;
        };
        let most = self.options.waiting;
        let mut found = vec![];
        for (session, id) in entry.sessions.iter_mut().zip(0_u16..) {
            let Some(token) = session.attached else {
                continue;
            };
            let Some(state) = self.card.chunks(token) else {
                session.attached = None;
                found.push(AssociationEvent::Detached(id));
                continue;
            };
            session.room = AHEAD.saturating_sub(state.waiting);
            let error = match state {
                _ if session.failed => continue,
                state if state.invalid => SessionError::Window,
                state if state.octets > most => SessionError::Waiting { octets: most },
                _ => continue,
            };
            session.failed = true;
            found.push(AssociationEvent::Failed(id, error));
        }
        self.report(number, found);
    }

    /// An event of SCTP.
    fn event(&mut self, number: u64, event: sctp::Event) {
        let Some(entry) = self.entries.get_mut(&number) else {
            return;
        };
        let mut found = vec![];
        let sink = &mut |event: warpline_wire::sctp::Event<'_>| {
            found.extend(AssociationEvent::of(event));
        };
        match event {
            sctp::Event::Up {
                outbound,
                inbound,
                adaptation,
            } => {
                let ip = if entry.peer.is_ipv6() { Ip::V6 } else { Ip::V4 };
                let peer = Peer {
                    indication: adaptation.map(Indication),
                    outbound,
                    inbound,
                    path: Path {
                        extra: UDP,
                        ..Path::new(ip, self.options.mtu)
                    },
                };
                match entry.ddp.established(&peer, sink) {
                    Ok(streams) => {
                        let passive = entry.passive;
                        found.insert(0, AssociationEvent::Up { streams, passive });
                    }
                    Err(refusal) => {
                        self.entries.remove(&number);
                        found.push(AssociationEvent::NotDdp(refusal));
                    }
                }
            }
            sctp::Event::Message(message) => {
                self.deliver(number, message.stream, message.ppid, message.user_data);
            }
            // It may have been read behind later chunks.
            sctp::Event::Dry if is_dry(&entry.sctp) => entry.ddp.all_acknowledged(sink),
            sctp::Event::Restarted { .. } => {
                return self.end(number, Ending::Restarted, Some(AssociationEnd::Restarted));
            }
            sctp::Event::Ended(ending) => {
                let how = match ending {
                    sctp::Ending::ShutDown => Ending::ShutDown,
                    _ => Ending::Lost,
                };
                if how == Ending::ShutDown {
                    // A SHUTDOWN acknowledges everything that was sent (RFC 9260 §9.2), even if no SACK has.
                    for (session, id) in entry.sessions.iter().zip(0_u16..) {
                        if session.pending.is_none() {
                            entry.ddp.acknowledged(id, u16::MAX, sink);
                        }
                    }
                    self.report(number, found);
                }
                return self.end(number, how, Some(AssociationEnd::Sctp(ending)));
            }
            _ => {}
        }
        self.report(number, found);
    }

    /// Ends an association, its sessions first. One that is not over is aborted.
    fn end(&mut self, number: u64, ending: Ending, how: Option<AssociationEnd>) {
        let Some(mut entry) = self.entries.remove(&number) else {
            return;
        };
        let mut found = vec![];
        let sink = &mut |event: warpline_wire::sctp::Event<'_>| {
            found.extend(AssociationEvent::of(event));
        };
        entry.ddp.end(ending, sink);
        found.extend(how.map(AssociationEvent::Ended));
        let attached = entry.sessions.iter();
        for token in attached.filter_map(|session| session.attached) {
            self.card.detach(token);
        }
        self.report(number, found);
    }

    /// A chunk of the peer.
    fn deliver(&mut self, number: u64, id: u16, ppid: u32, user_data: Vec<u8>) {
        let (now, most) = (self.now(), self.options.waiting);
        let Some(entry) = self.entries.get_mut(&number) else {
            return;
        };
        let (mut found, mut is_segment) = (vec![], false);
        let mut sink = |event: warpline_wire::sctp::Event<'_>| {
            is_segment |= matches!(event, warpline_wire::sctp::Event::Segment { .. });
            found.extend(AssociationEvent::of(event));
        };
        let received = Received {
            stream: id,
            ppid,
            user_data: &user_data,
        };
        let reported = entry.ddp.reports(id);
        let receipt = entry.ddp.receive(&received, now, &mut sink);
        let refused = |event: &AssociationEvent| {
            matches!(
                event,
                AssociationEvent::Failed(..) | AssociationEvent::Stray(..)
            )
        };
        let goes_on = reported && !found.iter().any(refused);
        let Some(session) = entry.sessions.get_mut(usize::from(id)) else {
            return self.report(number, found);
        };
        if receipt == Receipt::Early {
            if !session.keep_early(user_data, most) {
                let sink = &mut |event: warpline_wire::sctp::Event<'_>| {
                    found.extend(AssociationEvent::of(event));
                };
                let _ = entry.ddp.early_overflow(id, sink); // it is pending, or was early for nothing
            }
            return self.report(number, found);
        }
        let chunk = match ppid {
            ppid::SEGMENT if is_segment => Some(session::segment(user_data)),
            ppid::CONTROL if goes_on => session::control(user_data),
            _ => None,
        };
        // What comes behind an error of the session is of no use to the device.
        if let Some(chunk) = chunk.filter(|_| !session.failed) {
            if let Some(token) = session.attached {
                session.room = session.room.saturating_sub(1);
                self.card.pass_chunk(token, chunk);
            } else if !session.keep(chunk, most) {
                session.failed = true;
                let error = SessionError::Waiting { octets: most };
                found.push(AssociationEvent::Failed(id, error));
            }
        }
        self.report(number, found);
    }

    /// Sends control messages, and what the device has made.
    fn send(&mut self, number: u64) {
        let Some(Entry {
            sctp,
            ddp,
            sessions,
            ..
        }) = self.entries.get_mut(&number)
        else {
            return;
        };
        let mut found = vec![];
        for (session, id) in sessions.iter_mut().zip(0_u16..) {
            send_pending(sctp, session, id);
        }
        while let Some(output) = ddp.output() {
            let (id, octets) = (output.stream, output.user_data.to_vec());
            // A Terminate that goes first, and is acknowledged, would end the session without the chunk that still waits for room.
            let session = sessions.get(usize::from(id));
            if session.is_some_and(|session| session.pending.is_some()) {
                break;
            }
            if sctp.send(id, output.ppid, true, &octets).is_err() {
                break; // no room, or an end that is reported soon
            }
            let sink = &mut |event: warpline_wire::sctp::Event<'_>| {
                found.extend(AssociationEvent::of(event));
            };
            ddp.sent(id, sink);
        }
        for (session, id) in sessions.iter_mut().zip(0_u16..) {
            if let Some(error) = send_segments(&self.card, sctp, ddp, session, id) {
                session.failed = true;
                found.push(AssociationEvent::Failed(id, error.into()));
            }
        }
        self.report(number, found);
    }

    /// Queues events for the owner, and does what they ask for.
    fn report(&mut self, number: u64, events: Vec<AssociationEvent>) {
        for event in events {
            if let Some(entry) = self.entries.get_mut(&number) {
                match &event {
                    AssociationEvent::Free(id) => {
                        let session = entry.sessions.get_mut(usize::from(*id));
                        if let Some(token) = session.and_then(|one| std::mem::take(one).attached) {
                            self.card.detach(token);
                        }
                    }
                    // The session machine has sent its Terminate; for what is found here it is told to.
                    AssociationEvent::Failed(id, error)
                        if !matches!(error, SessionError::Cause(_)) =>
                    {
                        let now = u64::try_from(self.started.elapsed().as_millis());
                        let now = now.unwrap_or(u64::MAX);
                        let sink = &mut |_: warpline_wire::sctp::Event<'_>| {};
                        let _ = entry.ddp.terminate(*id, now, sink); // or it has ended before
                    }
                    _ => {}
                }
            }
            self.events.push_back((AssociationHandle(number), event));
        }
    }
}

/// Whether all that was sent is acknowledged now.
fn is_dry(sctp: &sctp::Association) -> bool {
    sctp.status().is_ok_and(|status| status.unacknowledged == 0)
}

/// Sends the chunk that SCTP had no room for.
fn send_pending(sctp: &mut sctp::Association, session: &mut Session, id: u16) {
    if let Some(chunk) = &session.pending
        && sctp.send(id, ppid::SEGMENT, true, chunk).is_ok()
    {
        session.pending = None;
    }
}

/// Sends the DDP segments that a session's stream of the device has ready, as far as SCTP accepts them.
fn send_segments(
    card: &Card,
    sctp: &mut sctp::Association,
    ddp: &mut Sessions,
    session: &mut Session,
    id: u16,
) -> Option<SendError> {
    let token = session.attached?;
    if session.failed {
        return None;
    }
    if session.pending.is_some() {
        return None;
    }
    let pending = &mut session.pending;
    let sent = card.send(token.stream(), token, |octets| {
        let mut count = 0;
        while pending.is_none()
            && let Some((segment, length)) = fpdu::first(&octets[count..])
        {
            let mut chunk = vec![0; SSN_LEN + segment.len()];
            match ddp.send(id, segment, &[], &mut chunk) {
                Ok(_) => {}
                // Later: behind the Accept, or an acknowledgement.
                Err(
                    SendError::NotOpen { .. }
                    | SendError::ControlFirst { .. }
                    | SendError::Unacknowledged { .. }
                    | SendError::NotUp,
                ) => break,
                Err(error) => return Err(error),
            }
            count += length;
            if sctp.send(id, ppid::SEGMENT, true, &chunk).is_err() {
                *pending = Some(chunk);
            }
        }
        Ok(count)
    });
    sent.err()
}

/// Records a packet as one of SCTP over IP. The datagram around it is left out, so that readers find SCTP whatever the UDP port is.
fn record(frames: &Frames, card: SocketAddr, packet: &Packet) {
    let from = if packet.sent { From::Card } else { From::Peer };
    let network = addressed(card, packet.peer, from);
    frames.write(|frame| network.write(frame, IpNumber::SCTP, &packet.octets));
}
