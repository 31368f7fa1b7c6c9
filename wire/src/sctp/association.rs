//! An association: its set-up, its streams, and what limits both.

use super::chunk::{Chunk, ChunkError, ppid};
use super::event::{Cause, Ending, Event, Sink};
use super::order::WindowError;
use super::packet::Indication;
use super::sender::SendError;
use super::settings::Settings;
use super::size::Path;
use super::stream::{Context, Receipt, Stream};
use thiserror::Error;

/// What SCTP has learnt when INIT and INIT-ACK are exchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The peer's adaptation layer indication, if its INIT or INIT-ACK had one.
    pub indication: Option<Indication>,
    /// Streams towards the peer.
    pub outbound: u16,
    /// Streams from the peer.
    pub inbound: u16,
    /// What limits a packet to it.
    pub path: Path,
}

/// Why DDP is not performed on an association: end it with ABORT (RFC 5043 §7.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// The peer supports no adaptation at all (RFC 5043 §11.1).
    #[error("the peer has no adaptation layer indication: abort the association")]
    NoIndication,
    /// The peer supports another one.
    #[error("the peer indicates adaptation {0:#x}, not DDP's 0x1: abort the association", .indication.0)]
    OtherIndication {
        /// The peer's.
        indication: Indication,
    },
    /// The settings of this end have another indication.
    #[error("this end indicates adaptation {0:#x}, not DDP's 0x1: it carries no DDP", .indication.0)]
    NotOurs {
        /// This end's.
        indication: Indication,
    },
    /// There is no pair of streams.
    #[error("no pair of streams: {outbound} outbound, {inbound} inbound, {own} asked for")]
    NoStreams {
        /// Streams towards the peer.
        outbound: u16,
        /// Streams from the peer.
        inbound: u16,
        /// Streams that this end has.
        own: u16,
    },
    /// The association is up: end it first.
    #[error("the association is up: end it first")]
    NotDue,
}

/// A call that is not carried out. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum CallError {
    /// The association is not up.
    #[error("the association is not up: wait for it")]
    NotUp,
    /// The association has no such pair of streams.
    #[error("stream {stream} is not one of the association's {streams}")]
    Stream {
        /// The stream named.
        stream: u16,
        /// Pairs of the association.
        streams: u16,
    },
    /// A session uses the stream, or chunks of a former one may be under way (SCTP-SES-21).
    #[error("stream {stream} is in use: wait for Event::Free, or take another")]
    InUse {
        /// The stream named.
        stream: u16,
    },
    /// No Initiate of the stream waits for a decision.
    #[error("no decision is due on stream {stream}")]
    NotDue {
        /// The stream named.
        stream: u16,
    },
    /// There is no session that could be ended so: none, one that is to be decided, or one that this
    /// end has ended.
    #[error("stream {stream} has no session to terminate")]
    NoSession {
        /// The stream named.
        stream: u16,
    },
    /// The message cannot be written: too much private data.
    #[error(transparent)]
    Chunk(#[from] ChunkError),
}

/// A chunk as SCTP hands it over, reassembled. Ordered chunks are taken like unordered ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received<'d> {
    /// Stream identifier.
    pub stream: u16,
    /// Payload protocol identifier.
    pub ppid: u32,
    /// User data.
    pub user_data: &'d [u8],
}

/// A control message to be sent: unordered, whole, on its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Output<'d> {
    /// Stream identifier.
    pub stream: u16,
    /// Payload protocol identifier: [`ppid::CONTROL`].
    pub ppid: u32,
    /// User data.
    pub user_data: &'d [u8],
}

/// Whether the association may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// INIT and INIT-ACK are not exchanged.
    SetUp,
    /// Both ends speak DDP.
    Up,
    /// It ended, or the two ends do not speak the same.
    Over,
}

/// An association and its streams, in storage that the caller provides: as many streams as it has,
/// each with `W` words of bitmap for its reorder window.
#[derive(Clone, Debug)]
pub struct Association<S, const W: usize> {
    settings: Settings,
    streams: S,
    state: State,
    /// Pairs in use.
    pairs: u16,
    /// Sessions that wait for the ULP.
    pending: u16,
    max_segment: u16,
    /// The largest maximum since the association came up: segments that were cut for it are sent as
    /// they are (LLP-02).
    largest: u16,
    /// The stream whose control message goes first.
    turn: u16,
}

impl<S, const W: usize> Association<S, W>
where
    S: AsRef<[Stream<W>]> + AsMut<[Stream<W>]>,
{
    /// An association that is to be set up. Streams beyond 65,535 are not used.
    pub fn new(settings: Settings, mut streams: S) -> Result<Self, WindowError> {
        for stream in streams.as_mut() {
            *stream = Stream::default();
            stream.set_window(settings.window)?;
        }
        Ok(Self {
            settings,
            streams,
            state: State::SetUp,
            pairs: 0,
            pending: 0,
            max_segment: 0,
            largest: 0,
            turn: 0,
        })
    }

    // Set-up.

    /// The indication that INIT or INIT-ACK of this end contains: [`Indication::emit`], or what the
    /// socket is to be told.
    pub const fn indication(&self) -> Indication {
        self.settings.indication
    }

    /// Streams that INIT or INIT-ACK of this end asks for, outbound and inbound alike (RFC 5043 §8).
    pub fn requested_streams(&self) -> u16 {
        u16::try_from(self.streams.as_ref().len()).unwrap_or(u16::MAX)
    }

    /// INIT and INIT-ACK are exchanged. Returns how many pairs of streams there are, or why DDP is not
    /// performed: then nothing is sent or taken.
    pub fn established(&mut self, peer: &Peer, sink: &mut impl Sink) -> Result<u16, Refusal> {
        if self.state == State::Up {
            return Err(Refusal::NotDue);
        }
        self.state = State::Over;
        let own = self.requested_streams();
        let (outbound, inbound) = (peer.outbound, peer.inbound);
        let indication = peer.indication.ok_or(Refusal::NoIndication)?;
        if self.settings.indication != Indication::DDP {
            let indication = self.settings.indication;
            return Err(Refusal::NotOurs { indication });
        }
        if indication != Indication::DDP {
            return Err(Refusal::OtherIndication { indication });
        }
        let pairs = own.min(outbound).min(inbound);
        if pairs == 0 {
            return Err(Refusal::NoStreams {
                outbound,
                inbound,
                own,
            });
        }
        (self.state, self.pairs, self.turn) = (State::Up, pairs, 0);
        (self.max_segment, self.largest) = (0, 0);
        self.path_changed(peer.path, sink);
        Ok(pairs)
    }

    /// The path, or what SCTP knows of it, has changed.
    pub fn path_changed(&mut self, path: Path, sink: &mut impl Sink) {
        let octets = path.max_segment(self.settings.reserve);
        if self.state == State::Up && octets != self.max_segment {
            self.max_segment = octets;
            self.largest = self.largest.max(octets);
            sink.event(Event::MaxSegment { octets });
        }
    }

    /// The association has ended: one event for each session that the ULP knows. After
    /// [`Ending::Restarted`], `established` follows.
    pub fn end(&mut self, ending: Ending, sink: &mut impl Sink) {
        for (stream, id) in self.streams.as_mut().iter_mut().zip(0..) {
            stream.end(id, ending, sink);
        }
        (self.pairs, self.pending) = (0, 0);
        self.state = match ending {
            Ending::Restarted => State::SetUp,
            Ending::Lost | Ending::Aborted | Ending::ShutDown => State::Over,
        };
    }

    /// Whether sessions may be.
    pub fn is_up(&self) -> bool {
        self.state == State::Up
    }

    /// Streams that are not free: sessions, and former ones that may have chunks under way. With none,
    /// the association may be shut down (LLP-10).
    pub fn in_use(&self) -> usize {
        let streams = self.streams.as_ref().iter();
        streams.filter(|stream| !stream.is_idle()).count()
    }

    /// Whether a stream is not free: it has a session, or a former one may have chunks under way.
    pub fn is_in_use(&self, stream: u16) -> bool {
        let stream = self.streams.as_ref().get(usize::from(stream));
        stream.is_some_and(|stream| !stream.is_idle())
    }

    /// The maximum DDP segment size: what messages are to be cut into.
    pub const fn max_segment(&self) -> u16 {
        self.max_segment
    }

    /// Whether a session of the stream was accepted, and neither failed nor was ended by this end.
    pub fn is_open(&self, stream: u16) -> bool {
        let stream = self.streams.as_ref().get(usize::from(stream));
        stream.is_some_and(Stream::is_open)
    }

    /// Whether anything of a session of the stream is reported any more: there is one, and it has neither failed nor been declined.
    pub fn reports(&self, stream: u16) -> bool {
        let stream = self.streams.as_ref().get(usize::from(stream));
        stream.is_some_and(Stream::reports)
    }

    // The ULP.

    /// Asks for a session. The caller has bound its DDP Endpoint to the stream: segments may arrive
    /// in front of the Accept (AMB-38).
    pub fn initiate(
        &mut self,
        stream: u16,
        private_data: &[u8],
        now: u64,
    ) -> Result<(), CallError> {
        let context = self.context(stream, now);
        let entry = self.stream(stream)?;
        if !entry.is_idle() {
            return Err(CallError::InUse { stream });
        }
        Ok(entry.initiate(&context, private_data)?)
    }

    /// Accepts the Initiate that [`Event::Requested`] has reported. The caller has bound its DDP
    /// Endpoint to the stream, and with it a protection domain.
    pub fn accept(&mut self, stream: u16, private_data: &[u8]) -> Result<(), CallError> {
        let entry = self.pending(stream)?;
        entry.accept(private_data)?;
        self.pending = self.pending.saturating_sub(1);
        Ok(())
    }

    /// Rejects it.
    pub fn reject(&mut self, stream: u16, private_data: &[u8]) -> Result<(), CallError> {
        let entry = self.pending(stream)?;
        entry.reject(private_data)?;
        self.pending = self.pending.saturating_sub(1);
        Ok(())
    }

    /// Declines it without the ULP, for want of what a session takes: by Terminate (RFC 5043 §6.4).
    pub fn decline(&mut self, stream: u16, sink: &mut impl Sink) -> Result<(), CallError> {
        let context = self.context(stream, 0);
        self.pending(stream)?.decline(&context, sink);
        self.pending = self.pending.saturating_sub(1);
        Ok(())
    }

    /// Ends this end's half of a session: Terminate is its last chunk. The peer's half is reported up
    /// to its end.
    pub fn terminate(
        &mut self,
        stream: u16,
        now: u64,
        sink: &mut impl Sink,
    ) -> Result<(), CallError> {
        let context = self.context(stream, now);
        match self.stream(stream)?.terminate(&context, sink) {
            true => Ok(()),
            false => Err(CallError::NoSession { stream }),
        }
    }

    /// Writes the user data of the next DDP segment, `header` and `payload`, to the front of `out`,
    /// and returns its length. The chunk is to be submitted at once, unordered and whole, with
    /// [`ppid::SEGMENT`].
    pub fn send(
        &mut self,
        stream: u16,
        header: &[u8],
        payload: &[u8],
        out: &mut [u8],
    ) -> Result<usize, SendError> {
        let largest = self.largest;
        let entry = match self.stream(stream) {
            Ok(entry) => entry,
            Err(CallError::Stream { stream, streams }) => {
                return Err(SendError::Stream { stream, streams });
            }
            Err(_) => return Err(SendError::NotUp),
        };
        entry.send(stream, header, payload, largest, out)
    }

    // SCTP.

    /// A control message to be sent, if there is one.
    pub fn output(&self) -> Option<Output<'_>> {
        let entries = self.streams.as_ref().iter().zip(0u16..);
        let first = entries
            .clone()
            .skip(self.turn.into())
            .chain(entries)
            .find(|(entry, _)| !entry.output().is_empty());
        first.map(|(entry, stream)| Output {
            stream,
            ppid: ppid::CONTROL,
            user_data: entry.output(),
        })
    }

    /// SCTP has taken the control message of this stream.
    pub fn sent(&mut self, stream: u16, sink: &mut impl Sink) {
        self.turn = stream.wrapping_add(1);
        let context = self.context(stream, 0);
        if let Ok(entry) = self.stream(stream)
            && !entry.output().is_empty()
        {
            entry.sent(&context, sink);
        }
    }

    /// SCTP has acknowledged this many of the stream's oldest chunks, of either kind. A socket that
    /// reports only that nothing is left (`SCTP_SENDER_DRY_EVENT`) calls
    /// [`all_acknowledged`](Self::all_acknowledged).
    pub fn acknowledged(&mut self, stream: u16, chunks: u16, sink: &mut impl Sink) {
        let context = self.context(stream, 0);
        if let Ok(entry) = self.stream(stream) {
            entry.acknowledged(&context, chunks, sink);
        }
    }

    /// All chunks of all streams are acknowledged.
    pub fn all_acknowledged(&mut self, sink: &mut impl Sink) {
        for stream in 0..self.pairs {
            self.acknowledged(stream, u16::MAX, sink);
        }
    }

    /// Takes a chunk of the peer. `now` is in milliseconds of a clock that does not run backwards.
    pub fn receive(&mut self, received: &Received<'_>, now: u64, sink: &mut impl Sink) -> Receipt {
        let id = received.stream;
        let context = self.context(id, now);
        let entry = match self.stream(id) {
            Ok(entry) => entry,
            Err(CallError::Stream { stream, streams }) => {
                let cause = Cause::Unpaired { stream, streams };
                sink.event(Event::Stray { stream, cause });
                return Receipt::Taken;
            }
            Err(_) => return Receipt::Taken,
        };
        let before = entry.is_pending();
        let chunk = Chunk::parse(received.ppid, received.user_data);
        let receipt = entry.receive(&context, chunk, sink);
        let after = entry.is_pending();
        self.count(before, after);
        receipt
    }

    /// The caller has no room for a chunk that was [`Receipt::Early`]: the session ends.
    pub fn early_overflow(&mut self, stream: u16, sink: &mut impl Sink) -> Result<(), CallError> {
        let context = self.context(stream, 0);
        let entry = self.pending(stream)?;
        entry.fail(&context, Cause::EarlyOverflow, sink);
        self.count(true, false);
        Ok(())
    }

    /// Applies the time-outs.
    pub fn poll(&mut self, now: u64, sink: &mut impl Sink) {
        for id in 0..self.pairs {
            let context = self.context(id, now);
            if let Ok(entry) = self.stream(id) {
                let before = entry.is_pending();
                entry.poll(&context, sink);
                let after = entry.is_pending();
                self.count(before, after);
            }
        }
    }

    /// Time at which `poll` has something to do even if nothing arrives.
    pub fn deadline(&self) -> Option<u64> {
        let streams = self.streams.as_ref().iter();
        streams.filter_map(Stream::deadline).min()
    }

    fn context(&self, id: u16, now: u64) -> Context {
        let limit = self.settings.backlog;
        Context {
            id,
            now,
            timeouts: self.settings.timeouts,
            backlog: match self.pending < limit {
                true => Ok(()),
                false => Err(limit),
            },
        }
    }

    /// Keeps count of the sessions that wait for the ULP.
    fn count(&mut self, before: bool, after: bool) {
        self.pending = match (before, after) {
            (false, true) => self.pending.saturating_add(1),
            (true, false) => self.pending.saturating_sub(1),
            _ => self.pending,
        };
    }

    fn stream(&mut self, stream: u16) -> Result<&mut Stream<W>, CallError> {
        if self.state != State::Up {
            return Err(CallError::NotUp);
        }
        let streams = self.pairs;
        let in_use = self.streams.as_mut().get_mut(..streams.into());
        let entry = in_use.and_then(|entries| entries.get_mut(usize::from(stream)));
        entry.ok_or(CallError::Stream { stream, streams })
    }

    fn pending(&mut self, stream: u16) -> Result<&mut Stream<W>, CallError> {
        match self.stream(stream)? {
            entry if entry.is_pending() => Ok(entry),
            _ => Err(CallError::NotDue { stream }),
        }
    }
}
