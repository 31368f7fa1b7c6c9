//! An association: the kernel's SCTP below, the session machine, DDP and RDMAP of `warpline-wire` above.
//!
//! ```text
//!  Socket ─► chunks ─► session machine ─► segments ─► receiver ─► Memory
//!    ▲                      ▲                            └─► messages ─► RDMAP ─► events
//!    └── control messages ──┴── chunks ◄── Outbox ◄── writes, Read Requests, Responses, Terminate
//! ```
//!
//! One session at a time: another one that the peer asks for meanwhile is rejected.

use std::collections::VecDeque;
use std::time::{Duration, Instant};
use std::{fmt, io};

use warpline_wire::rdmap::{
    self, Address, Delivered, InboundRead, OutboundRead, Outgoing, ReadRequest, Version,
};
use warpline_wire::receive::Delivery;
use warpline_wire::sctp::receive::{self, Failure, Receiver, SessionConfig};
use warpline_wire::sctp::{
    self, COMMON_HEADER_LEN, ControlChunk, DATA_HEADER_LEN, Ending, FULL_WINDOW_WORDS, Indication,
    Ip, Path, Peer, Receipt, SSN_LEN, SendError, Settings, Stream, ppid,
};

use crate::error::PeerError;
use crate::event::{Event, Found};
use crate::kernel::{Note, Options, Received, Socket};
use crate::memory::{DOMAIN, Memory, QUEUES, READS};
use crate::outbox::{Outbox, Payload};

/// What this end indicates and asks for (RFC 5043 §7.1, §8).
pub const OPTIONS: Options = Options {
    indication: Some(Indication::DDP.0),
    streams: 4,
};
/// Octets of UDP's header (RFC 6951).
const UDP: u16 = 8;
/// Octets in front of user data in a packet.
const HEADERS: u32 = 20 + UDP as u32 + (COMMON_HEADER_LEN + DATA_HEADER_LEN) as u32;
/// Longest sleep: the machine has time-outs.
const TURN: Duration = Duration::from_millis(50);
/// Longest silence.
const PATIENCE: Duration = Duration::from_secs(60);

type Sessions = sctp::Association<Vec<Stream<FULL_WINDOW_WORDS>>, FULL_WINDOW_WORDS>;
type Rdmap = rdmap::Stream<[InboundRead; READS], [OutboundRead; READS]>;

/// DDP segments that crossed the association.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// To the peer.
    pub sent: u64,
    /// From the peer.
    pub received: u64,
}

impl Counts {
    /// Those of another association, too.
    pub fn add(&mut self, other: Self) {
        self.sent += other.sent;
        self.received += other.received;
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "segments: {} sent, {} received",
            self.sent, self.received
        )
    }
}

/// An association. Dropping it aborts it, unless it is over.
pub struct Association {
    socket: Socket,
    sessions: Sessions,
    receiver: Receiver,
    rdmap: Rdmap,
    /// What the peer reads and writes.
    pub memory: Memory,
    outbox: Outbox,
    /// MSN of the next message of each untagged queue.
    msns: [u32; rdmap::queue::COUNT as usize],
    /// The pair of streams of the session.
    pair: u16,
    /// Streams of an association whose indication is still to be read.
    up: Option<(u16, u16)>,
    over: bool,
    /// A chunk that has a number, and for which the kernel had no room.
    pending: Option<Vec<u8>>,
    /// Terminate is sent behind the outbox.
    finishing: bool,
    counts: Counts,
    events: VecDeque<Event>,
    started: Instant,
    /// When something was last sent or received.
    moved: Instant,
}

impl Association {
    /// An association of `socket`, which is being set up.
    pub fn new(socket: Socket, memory: Memory) -> Result<Self, PeerError> {
        let streams = vec![Stream::default(); OPTIONS.streams.into()];
        let now = Instant::now();
        Ok(Self {
            socket,
            sessions: Sessions::new(Settings::default(), streams)?,
            receiver: Receiver::default(),
            rdmap: rdmap(),
            memory,
            outbox: Outbox::default(),
            msns: [1; rdmap::queue::COUNT as usize],
            pair: 0,
            up: None,
            over: false,
            pending: None,
            finishing: false,
            counts: Counts::default(),
            events: VecDeque::new(),
            started: now,
            moved: now,
        })
    }

    /// Segments until now.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// What happens next, `what` being what is waited for.
    pub fn next(&mut self, what: &'static str) -> Result<Event, PeerError> {
        self.moved = Instant::now();
        loop {
            if let Some(event) = self.events.pop_front() {
                return Ok(event);
            }
            if self.over {
                return Err(PeerError::Ended(what));
            }
            if self.moved.elapsed() > PATIENCE {
                let seconds = PATIENCE.as_secs();
                return Err(PeerError::Silent { seconds, what });
            }
            self.turn()?;
        }
    }

    /// Asks for a session on a pair of streams.
    pub fn initiate(&mut self, pair: u16, private_data: &[u8]) -> Result<(), PeerError> {
        let now = self.now();
        self.sessions.initiate(pair, private_data, now)?;
        // Segments may come in front of the Accept (RFC 5043 §6.6).
        self.open(pair)
    }

    /// Accepts the peer's.
    pub fn accept(&mut self, private_data: &[u8]) -> Result<(), PeerError> {
        Ok(self.sessions.accept(self.pair, private_data)?)
    }

    /// Rejects it.
    pub fn reject(&mut self, private_data: &[u8]) -> Result<(), PeerError> {
        Ok(self.sessions.reject(self.pair, private_data)?)
    }

    /// Ends our half of the session once everything queued has been sent.
    pub fn finish(&mut self) {
        self.finishing = true;
    }

    /// Writes octets of a region to the peer's.
    pub fn write(&mut self, stag: u32, to: u64, payload: Payload) -> Result<(), PeerError> {
        let write = self.rdmap.write(stag, to)?;
        self.queue(&write, Some(payload))
    }

    /// Reads from the peer.
    pub fn read(&mut self, request: ReadRequest) -> Result<(), PeerError> {
        let read = self.rdmap.read(request, 0)?;
        self.queue(&read, None)
    }

    /// Shuts the association down once everything sent is acknowledged: [`Event::Ended`] follows.
    pub fn shutdown(&mut self) -> Result<(), PeerError> {
        self.socket.shutdown().map_err(PeerError::sctp("shutdown"))
    }

    fn now(&self) -> u64 {
        self.started.elapsed().as_millis() as u64
    }

    /// A session begins.
    fn open(&mut self, pair: u16) -> Result<(), PeerError> {
        let stream = u32::from(pair);
        let config = SessionConfig {
            protection_domain: DOMAIN,
            ..SessionConfig::default()
        };
        self.receiver.open(stream, config)?;
        for (stag, region) in self.memory.regions() {
            self.receiver.set_stag(stag, region.entry());
        }
        self.memory.forget_buffers();
        for (queue, len, count) in QUEUES {
            self.receiver.enable_queue(stream, queue, 1)?;
            for _ in 0..count {
                let msn = self.receiver.post(stream, queue, len as u32)?;
                self.memory.post(queue, msn, len);
            }
        }
        self.outbox.clear();
        (self.rdmap, self.pair, self.finishing) = (rdmap(), pair, false);
        self.msns = [1; rdmap::queue::COUNT as usize];
        Ok(())
    }

    /// Queues a message: its header, or the payload that it has in place of one.
    fn queue(&mut self, message: &Outgoing, payload: Option<Payload>) -> Result<(), PeerError> {
        let msn = match message.address {
            Address::Tagged { .. } => 0, // it has none
            Address::Untagged { qn, .. } => match self.msns.get_mut(qn as usize) {
                Some(next) => std::mem::replace(next, next.wrapping_add(1)),
                None => 0,
            },
        };
        let payload = payload.unwrap_or_else(|| Payload::Octets(message.header().to_vec()));
        let max_segment = self.sessions.max_segment();
        let message = message.address.with_msn(msn);
        Ok(self.outbox.push(message, payload, max_segment)?)
    }

    fn turn(&mut self) -> Result<(), PeerError> {
        self.answer_reads()?;
        let room = self.send()?;
        let wait = self.socket.wait_for(!room, TURN);
        wait.map_err(PeerError::sctp("poll"))?;
        while !self.over && self.receive()? {}
        if self.over {
            return Ok(());
        }
        let mut found = vec![];
        let sink = &mut |event: sctp::Event<'_>| found.extend(Found::of(event));
        // A chunk that waits here has a number, and the kernel has not seen it.
        if self.pending.is_none()
            && self
                .socket
                .is_dry()
                .map_err(PeerError::sctp("SO_MEMINFO"))?
        {
            self.sessions.all_acknowledged(sink);
        }
        let now = self.started.elapsed().as_millis() as u64;
        self.sessions.poll(now, sink);
        let is_sent = self.outbox.len() == 0 && self.pending.is_none();
        if self.finishing && is_sent && self.sessions.is_open(self.pair) {
            self.sessions.terminate(self.pair, now, sink)?;
        }
        self.report(found)
    }

    /// Takes what the kernel has; false: nothing.
    fn receive(&mut self) -> Result<bool, PeerError> {
        let received = match self.socket.receive() {
            Err(error) if is_end(&error) => Received::Note(Note::Lost),
            other => other.map_err(PeerError::sctp("recvmsg"))?,
        };
        // The indication, if there is one, is the event behind that of the set-up.
        if let Some((outbound, inbound)) = self.up.take() {
            let indication = match received {
                Received::Note(Note::Adaptation(code)) => Some(Indication(code)),
                _ => None,
            };
            self.established(indication, outbound, inbound)?;
        }
        match received {
            Received::Nothing => return Ok(false),
            Received::End | Received::Note(Note::ShutDown) => {
                self.end(Ending::ShutDown, "shut down")?;
            }
            Received::Note(Note::Lost) => self.end(Ending::Lost, "aborted, or lost")?,
            // Its indication would have to be inspected anew (RFC 5043 §11.1).
            Received::Note(Note::Restarted) => self.end(Ending::Aborted, "restarted")?,
            Received::Note(Note::Up { outbound, inbound }) => self.up = Some((outbound, inbound)),
            Received::Note(Note::PeerShutdown | Note::Adaptation(_) | Note::Dry | Note::Other) => {}
            Received::Message {
                stream,
                ppid,
                user_data,
            } => self.chunk(stream, ppid, &user_data)?,
        }
        Ok(true)
    }

    fn established(
        &mut self,
        indication: Option<Indication>,
        outbound: u16,
        inbound: u16,
    ) -> Result<(), PeerError> {
        let point = self.socket.fragmentation_point();
        let point = point.map_err(PeerError::sctp("SCTP_STATUS"))?;
        let mtu = u16::try_from(point.saturating_add(HEADERS)).unwrap_or(u16::MAX);
        let peer = Peer {
            indication,
            outbound,
            inbound,
            path: Path {
                extra: UDP,
                ..Path::new(Ip::V4, mtu)
            },
        };
        self.sessions
            .established(&peer, &mut |_: sctp::Event<'_>| {})?;
        self.events.push_back(Event::Up);
        Ok(())
    }

    fn end(&mut self, ending: Ending, how: &'static str) -> Result<(), PeerError> {
        let mut found = vec![];
        let sink = &mut |event: sctp::Event<'_>| found.extend(Found::of(event));
        if ending == Ending::ShutDown && self.pending.is_none() {
            // Both ends have all that the other one has sent (RFC 9260 §9.2), also where no SACK has said so.
            self.sessions.all_acknowledged(sink);
        }
        self.sessions.end(ending, sink);
        self.over = true;
        self.report(found)?;
        self.events.push_back(Event::Ended(how));
        Ok(())
    }

    /// A chunk of the peer.
    fn chunk(&mut self, stream: u16, id: u32, user_data: &[u8]) -> Result<(), PeerError> {
        self.moved = Instant::now();
        let is_control = id == ppid::CONTROL;
        self.counts.received += u64::from(!is_control);
        let now = self.now();
        let (mut found, mut deliveries) = (vec![], vec![]);
        let (mut failure, mut missed, mut taken) = (None, None, Ok(()));
        let Self {
            sessions,
            receiver,
            memory,
            ..
        } = self;
        let mut sink = |event: receive::Event<'_>| match event {
            receive::Event::Place { target, octets, .. } => {
                if !memory.place(target, octets) {
                    missed = Some(octets.len());
                }
            }
            receive::Event::Delivered { delivery, .. } => deliveries.push(delivery),
            receive::Event::Failed(Failure::Ddp(record)) => failure = Some(record),
            receive::Event::Failed(Failure::Ssn { .. }) => {} // the session machine reports it
        };
        let chunk = sctp::Received {
            stream,
            ppid: id,
            user_data,
        };
        let receipt = sessions.receive(&chunk, now, &mut |event: sctp::Event<'_>| match event {
            sctp::Event::Segment { stream, segment } => {
                taken = receiver.segment(stream.into(), segment, &mut sink);
            }
            event => found.extend(Found::of(event)),
        });
        taken?;
        if receipt == Receipt::Early {
            // Every request is decided at once, so that no room is needed for segments in front of a decision.
            let sink = &mut |event: sctp::Event<'_>| found.extend(Found::of(event));
            sessions.early_overflow(stream, sink)?;
        }
        if is_control {
            // What an Initiate opens counts it, and an Accept may be what messages have waited for.
            self.report(found)?;
            if let Ok(control) = ControlChunk::new_checked(user_data)
                && self.receiver.next(stream.into()).is_ok()
            {
                let sink = &mut |event: receive::Event<'_>| {
                    if let receive::Event::Delivered { delivery, .. } = event {
                        deliveries.push(delivery);
                    }
                };
                self.receiver.control(stream.into(), control.ssn(), sink)?;
            }
            found = vec![];
        }
        if let Some(len) = missed {
            return Err(PeerError::NoMemory { len });
        }
        for delivery in deliveries {
            self.deliver(delivery)?;
        }
        if let Some(record) = failure {
            let terminate = self.rdmap.fail(&record);
            self.terminate(format!("{:?}", record.number), terminate)?;
        }
        self.report(found)
    }

    /// A message that DDP has delivered.
    fn deliver(&mut self, delivery: Delivery) -> Result<(), PeerError> {
        let mut octets = vec![];
        let message = match delivery {
            Delivery::Tagged {
                stag,
                to,
                length,
                rsvd_ulp,
            } => Delivered::Tagged {
                rsvd_ulp,
                stag,
                to,
                len: length,
            },
            Delivery::Untagged {
                queue,
                msn,
                length,
                rsvd_ulp,
            } => {
                octets = self.memory.take(queue, msn, length);
                Delivered::Untagged {
                    rsvd_ulp,
                    qn: queue,
                    msn,
                    payload: &octets,
                }
            }
        };
        match self.rdmap.deliver(&message) {
            Ok(rdmap::Event::ReadDone { .. }) => self.events.push_back(Event::ReadDone),
            Ok(rdmap::Event::Terminated(terminate)) => {
                // Nothing is sent behind it (RFC 5040 §5.4).
                self.outbox.clear();
                self.finish();
                self.events.push_back(Event::Terminated(terminate.cause));
            }
            Ok(_) => {}
            Err(rejected) => self.terminate(rejected.violation.to_string(), rejected.terminate)?,
        }
        // Another buffer in the place of the one that was used.
        if let Delivery::Untagged { queue, .. } = delivery
            && let Some((_, len, _)) = QUEUES.iter().find(|(known, ..)| *known == queue)
        {
            let msn = self.receiver.post(self.pair.into(), queue, *len as u32)?;
            self.memory.post(queue, msn, *len);
        }
        Ok(())
    }

    /// Ends the session because of the peer's error.
    fn terminate(&mut self, why: String, terminate: Option<Outgoing>) -> Result<(), PeerError> {
        self.events.push_back(Event::Terminating(why));
        self.finish();
        match terminate {
            Some(terminate) => self.queue(&terminate, None),
            None => Ok(()),
        }
    }

    /// Queues the Responses of Read Requests, as many as the outbox has room for.
    fn answer_reads(&mut self) -> Result<(), PeerError> {
        while self.outbox.len() < READS
            && self.rdmap.is_open()
            && let Some(read) = self.rdmap.next_request().copied()
        {
            let request = read.request;
            match request.check(self.memory.source(request.source_stag)) {
                Ok(()) => {
                    let (_, response) = self.rdmap.respond()?;
                    let payload = Payload::Region {
                        stag: request.source_stag,
                        to: request.source_to,
                        len: request.size,
                    };
                    self.queue(&response, Some(payload))?;
                }
                Err(error) => {
                    let terminate = self.rdmap.refuse_read(&read, 0, error);
                    self.terminate(format!("{error:?}"), terminate)?;
                }
            }
        }
        Ok(())
    }

    /// Hands the kernel what it has room for; false: there is more.
    fn send(&mut self) -> Result<bool, PeerError> {
        let mut found = vec![];
        let room = loop {
            let sent = if let Some(chunk) = &self.pending {
                self.socket.send(self.pair, ppid::SEGMENT, chunk)
            } else if let Some(output) = self.sessions.output() {
                self.socket
                    .send(output.stream, output.ppid, output.user_data)
            } else if self.number_a_segment()? {
                continue;
            } else {
                break true;
            };
            match sent {
                Ok(true) => self.moved = Instant::now(),
                Ok(false) => break false,
                // What ended the association is read next.
                Err(error) if is_end(&error) => break true,
                Err(error) => return Err(PeerError::sctp("sendmsg")(error)),
            }
            if self.pending.take().is_some() {
                self.counts.sent += 1;
            } else if let Some(stream) = self.sessions.output().map(|output| output.stream) {
                let sink = &mut |event: sctp::Event<'_>| found.extend(Found::of(event));
                self.sessions.sent(stream, sink);
            }
        };
        self.report(found)?;
        Ok(room)
    }

    /// Makes a chunk of the next segment; false: there is none, or it has to wait.
    fn number_a_segment(&mut self) -> Result<bool, PeerError> {
        let Some(segment) = self.outbox.front(&self.memory) else {
            return Ok(false);
        };
        let (header, payload) = (segment.header(), segment.payload);
        let mut chunk = vec![0; SSN_LEN + header.len() + payload.len()];
        match self.sessions.send(self.pair, header, payload, &mut chunk) {
            Ok(_) => {}
            Err(
                SendError::NotOpen { .. }
                | SendError::ControlFirst { .. }
                | SendError::Unacknowledged { .. },
            ) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        self.outbox.pop();
        self.pending = Some(chunk);
        Ok(true)
    }

    /// Does what events of the session machine ask for, and queues them for the owner.
    fn report(&mut self, found: Vec<Found>) -> Result<(), PeerError> {
        for found in found {
            match found {
                Found::Requested(pair, _) if self.receiver.next(self.pair.into()).is_ok() => {
                    self.sessions.reject(pair, b"")?;
                }
                Found::Requested(pair, private_data) => {
                    self.open(pair)?;
                    self.events.push_back(Event::Requested(private_data));
                }
                Found::Free(pair) if pair == self.pair => {
                    self.receiver.close(pair.into())?;
                    self.events.push_back(Event::Free);
                }
                Found::Free(_) => {} // its session was rejected above
                Found::Event(event) => {
                    if matches!(
                        event,
                        Event::Failed(_) | Event::Rejected(_) | Event::Refused
                    ) {
                        self.outbox.clear();
                    }
                    self.events.push_back(event);
                }
            }
        }
        Ok(())
    }
}

/// A stream of RDMAP at its begin.
fn rdmap() -> Rdmap {
    Rdmap::new(Version::Ietf, Default::default(), Default::default())
}

/// Whether an error only says that the association is over.
fn is_end(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected, TimedOut};
    let ends = [
        BrokenPipe,
        ConnectionAborted,
        ConnectionReset,
        NotConnected,
        TimedOut,
    ];
    ends.contains(&error.kind())
}
