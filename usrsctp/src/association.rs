//! An association: its set-up, its messages, its end.

use std::fmt;
use std::io;

use crate::error::{Error, SendError};
use crate::event::{Ending, Event, Message, Note};
use crate::ffi;
use crate::link::Link;
use crate::options::{Options, Timers};
use crate::socket::{COMMON_HEADER, Part, Socket};

/// Octets read at a time.
const READ: usize = 16 << 10;

/// What the library says of an association.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// Streams towards the peer.
    pub outbound: u16,
    /// Streams from the peer.
    pub inbound: u16,
    /// Octets of the largest message that is sent in one chunk.
    pub fragmentation_point: u32,
    /// Octets of the largest packet, from SCTP's common header on.
    pub max_packet: u32,
    /// Octets that the peer has room for.
    pub peer_window: u32,
    /// Chunks that are sent and not acknowledged.
    pub unacknowledged: u16,
    /// Time-out of a retransmission, in milliseconds.
    pub rto: u32,
}

/// Whether messages may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Connecting,
    Up { outbound: u16 },
    ShuttingDown,
}

/// An association with a peer. No call blocks. Dropping it sends ABORT unless it is over.
///
/// Calls queue packets in its [`Link`]; packets that come in there, and [time](crate::elapse), lead to events.
pub struct Association {
    /// `None`: it is over.
    socket: Option<Socket>,
    state: State,
    peer_port: u16,
    max_message: usize,
    send_buffer: usize,
    timers: Timers,
    /// What was read behind an event that it might have belonged to; of a message, the octets are in `buffer`.
    ahead: Option<Read>,
    /// The front of a message.
    partial: Vec<u8>,
    buffer: Box<[u8]>,
}

/// What was read.
enum Read {
    Nothing,
    End(Option<io::Error>),
    Note(Note),
    Data(Part),
}

impl Association {
    /// Sets up an association from `local_port` (0: any) to `peer_port` of the link's peer. [`Event::Up`] or [`Event::Ended`] follows.
    ///
    /// # Errors
    /// [`Error::Option`], [`Error::PortTaken`], [`Error::System`].
    pub fn connect(
        link: &Link,
        local_port: u16,
        peer_port: u16,
        options: &Options,
    ) -> Result<Self, Error> {
        let socket = Socket::bind(link, local_port, options)?;
        socket.connect(peer_port)?;
        Ok(Self::new(socket, peer_port, options))
    }

    pub(crate) fn new(socket: Socket, peer_port: u16, options: &Options) -> Self {
        Self {
            socket: Some(socket),
            state: State::Connecting,
            peer_port,
            max_message: options.max_message as usize,
            send_buffer: options.send_buffer as usize,
            timers: options.timers,
            ahead: None,
            partial: Vec::new(),
            buffer: vec![0; READ].into_boxed_slice(),
        }
    }

    /// The peer's SCTP port.
    #[must_use]
    pub fn peer_port(&self) -> u16 {
        self.peer_port
    }

    /// The link that its packets take. `None` when it is over.
    #[must_use]
    pub fn link(&self) -> Option<&Link> {
        self.socket.as_ref().map(Socket::link)
    }

    /// What happened next, if anything has.
    pub fn next_event(&mut self) -> Option<Event> {
        loop {
            let note = match self.read() {
                Read::Nothing => return None,
                Read::Note(note) => note,
                Read::Data(part) => match self.assemble(&part) {
                    Some(event) => return Some(event),
                    None => continue,
                },
                // The library ends a socket only behind an event, unless it had no memory for that.
                Read::End(error) => {
                    let ending = self.ending(error);
                    return Some(self.end(ending));
                }
            };
            return Some(match note {
                Note::Up { outbound, inbound } => {
                    self.state = State::Up { outbound };
                    Event::Up {
                        outbound,
                        inbound,
                        adaptation: self.adaptation(),
                    }
                }
                Note::Restarted { outbound, inbound } => {
                    self.partial.clear();
                    self.state = State::Up { outbound };
                    Event::Restarted { outbound, inbound }
                }
                Note::Lost => {
                    let ending = self.ending(None);
                    self.end(ending)
                }
                Note::ShutDown => self.end(Ending::ShutDown),
                Note::PeerShutdown => {
                    self.state = State::ShuttingDown;
                    Event::PeerShutdown
                }
                Note::PartialDelivery => {
                    self.partial.clear();
                    continue;
                }
                Note::Dry => Event::Dry,
                Note::Adaptation(_) | Note::Other => continue,
            });
        }
    }

    /// Sends a message: when this returns, it is queued as a whole, and acknowledged when [`Event::Dry`] says so.
    ///
    /// # Errors
    /// [`SendError`]; nothing was queued.
    pub fn send(
        &mut self,
        stream: u16,
        ppid: u32,
        unordered: bool,
        user_data: &[u8],
    ) -> Result<(), SendError> {
        let (Some(socket), state) = (&self.socket, self.state) else {
            return Err(SendError::NotUp);
        };
        let streams = match state {
            State::Connecting => return Err(SendError::NotUp),
            State::ShuttingDown => return Err(SendError::ShuttingDown),
            State::Up { outbound } => outbound,
        };
        if stream >= streams {
            return Err(SendError::Stream { stream, streams });
        }
        if user_data.is_empty() {
            return Err(SendError::Empty);
        }
        let too_large = SendError::TooLarge {
            octets: user_data.len(),
            limit: self.send_buffer,
        };
        if user_data.len() > self.send_buffer {
            return Err(too_large);
        }
        let info = ffi::SndInfo {
            sid: stream,
            flags: if unordered { ffi::UNORDERED } else { 0 },
            ppid: ppid.to_be(),
            ..Default::default()
        };
        match socket.send(&info, user_data) {
            Ok(count) if count == user_data.len() => Ok(()),
            // Not without explicit EOR, which is not used.
            Ok(_) => Err(SendError::System(io::ErrorKind::WriteZero.into())),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(SendError::WouldBlock),
            Err(error) if error.raw_os_error() == Some(ffi::EMSGSIZE) => Err(too_large),
            Err(error) => Err(match error.kind() {
                io::ErrorKind::BrokenPipe
                | io::ErrorKind::NotConnected
                | io::ErrorKind::ConnectionReset
                | io::ErrorKind::ConnectionAborted => SendError::ShuttingDown,
                _ => SendError::System(error),
            }),
        }
    }

    /// Ends the association behind all that was sent: [`Event::Ended`] with [`Ending::ShutDown`] follows.
    ///
    /// # Errors
    /// [`Error::NotUp`], [`Error::System`].
    pub fn shutdown(&mut self) -> Result<(), Error> {
        let (Some(socket), State::Up { .. } | State::ShuttingDown) = (&self.socket, self.state)
        else {
            return Err(Error::NotUp);
        };
        socket.shutdown().map_err(|source| Error::System {
            call: "usrsctp_shutdown",
            source,
        })?;
        self.state = State::ShuttingDown;
        Ok(())
    }

    /// Ends the association with ABORT: what is under way is lost. Dropping it does the same.
    pub fn abort(self) {}

    /// What the library says of it.
    ///
    /// # Errors
    /// [`Error::NotUp`], also when the peer has ended it and that event waits.
    pub fn status(&self) -> Result<Status, Error> {
        let socket = self.socket.as_ref().ok_or(Error::NotUp)?;
        let status = socket.status().map_err(|_| Error::NotUp)?;
        Ok(Status {
            outbound: status.outstrms,
            inbound: status.instrms,
            fragmentation_point: status.fragmentation_point,
            max_packet: status.primary.mtu + COMMON_HEADER,
            peer_window: status.rwnd,
            unacknowledged: status.unackdata,
            rto: status.primary.rto,
        })
    }

    /// Octets of the largest packet that is not cut, from SCTP's common header on: the path has changed.
    ///
    /// # Errors
    /// [`Error::Option`], [`Error::NotUp`], [`Error::System`].
    pub fn set_max_packet(&mut self, octets: u16) -> Result<(), Error> {
        let options = Options {
            max_packet: octets,
            ..Options::default()
        };
        options.check()?;
        let socket = self.socket.as_ref().ok_or(Error::NotUp)?;
        socket.set_path(octets, &self.timers)
    }

    /// The peer's indication, which the library reports right behind the set-up.
    fn adaptation(&mut self) -> Option<u32> {
        match self.read() {
            Read::Note(Note::Adaptation(code)) => Some(code),
            Read::Nothing => None,
            // A peer without an indication may have sent a message already, with its COOKIE ECHO (RFC 9260 §5.1).
            read => {
                self.ahead = Some(read);
                None
            }
        }
    }

    fn read(&mut self) -> Read {
        if let Some(read) = self.ahead.take() {
            return read;
        }
        let Some(socket) = &self.socket else {
            return Read::Nothing;
        };
        match socket.receive(&mut self.buffer) {
            Ok(part) if part.is_event => {
                Read::Note(Note::parse(&self.buffer[..part.octets.min(READ)]))
            }
            Ok(part) if part.octets > 0 => Read::Data(part),
            Ok(_) => Read::End(None),
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock => Read::Nothing,
                // The association is not up yet.
                io::ErrorKind::NotConnected if self.state == State::Connecting => Read::Nothing,
                _ => Read::End(Some(error)),
            },
        }
    }

    /// Joins what was read with what was read of the same message before.
    fn assemble(&mut self, part: &Part) -> Option<Event> {
        let octets = &self.buffer[..part.octets.min(READ)];
        if self.partial.len() + octets.len() > self.max_message {
            return Some(self.end(Ending::TooLarge));
        }
        self.partial.extend_from_slice(octets);
        part.ends.then(|| {
            Event::Message(Message {
                stream: part.info.sid,
                ppid: u32::from_be(part.info.ppid),
                unordered: part.info.flags & ffi::UNORDERED != 0,
                user_data: std::mem::take(&mut self.partial),
            })
        })
    }

    /// Why the association is lost.
    fn ending(&self, error: Option<io::Error>) -> Ending {
        let error = error.or_else(|| self.socket.as_ref().map(Socket::error));
        match error.map(|error| error.kind()) {
            Some(io::ErrorKind::ConnectionReset) => Ending::Aborted,
            Some(io::ErrorKind::ConnectionRefused) => Ending::Refused,
            Some(io::ErrorKind::TimedOut) => Ending::TimedOut,
            Some(io::ErrorKind::ConnectionAborted) => Ending::Violated,
            _ if self.state == State::ShuttingDown => Ending::ShutDown,
            _ => Ending::Aborted,
        }
    }

    fn end(&mut self, ending: Ending) -> Event {
        self.socket = None;
        self.partial = Vec::new();
        self.ahead = None;
        Event::Ended(ending)
    }
}

impl fmt::Debug for Association {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Association")
            .field("link", &self.link())
            .field("peer_port", &self.peer_port)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}
