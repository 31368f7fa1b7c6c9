//! The reference receiver of DDP over SCTP: segments in any order in, placements, deliveries and the
//! first error out.
//!
//! ```text
//!  segment(stream, DDP-SSN, octets) ─► Order: new? ─► DdpChecker: may it be placed? ─► Place
//!  control(stream, DDP-SSN) ─────────► Order              │ header kept until its turn
//!                                        └ next ──────────┴─► Delivered …   in DDP-SSN order
//! ```
//!
//! The model that hardware is compared with: which octets are placed where is decided on arrival, what
//! is delivered when all chunks before it have arrived. The first error freezes its stream (AMB-10,
//! AMB-11). There are no markers and no CRC of MPA: SCTP's own covers the packet.

use super::chunk::Segment;
use super::order::{FULL_WINDOW_WORDS, InvalidSsn, Order, WindowError};
use super::ssn::Ssn;
use crate::ddp::Header;
use crate::error_number::{Detail, ErrorRecord, HeaderOctets};
use crate::receive::{
    DdpChecker, Delivery, Flags, MAX_POSTED, MsnMode, ReceiverError, StagEntry, StreamContext,
    Target,
};
use alloc::collections::{BTreeMap, btree_map::Entry};

/// What is fixed when a session begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionConfig {
    /// Protection domain of the session (RFC 5043 §6).
    pub protection_domain: u32,
    /// Tagged messages are reported (AMB-44).
    pub tagged_completions: bool,
    /// Chunks that may arrive out of order, 1 to 32,767.
    pub window: u16,
    /// Buffers of a queue that segments can target at a time, counted from the first undelivered message
    /// (AMB-04).
    pub buffers: usize,
}

impl Default for SessionConfig {
    /// Protection domain 0, tagged messages reported, the limits of the standard.
    fn default() -> Self {
        Self {
            protection_domain: 0,
            tagged_completions: true,
            window: Order::<FULL_WINDOW_WORDS>::MAX_WINDOW,
            buffers: MAX_POSTED,
        }
    }
}

/// Why a stream froze.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// A segment failed a check of DDP. `position` of the record is its DDP-SSN.
    Ddp(ErrorRecord),
    /// A DDP-SSN that no chunk under way can have: the session is to be ended (AMB-34).
    Ssn {
        /// The stream.
        stream: u32,
        /// What is wrong.
        invalid: InvalidSsn,
    },
}

/// What the receiver does, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'o> {
    /// Payload goes to memory; never empty.
    Place {
        /// The stream.
        stream: u32,
        /// Where it goes.
        target: Target,
        /// The payload of one DDP segment.
        octets: &'o [u8],
    },
    /// A message is complete, and so are all before it.
    Delivered {
        /// The stream.
        stream: u32,
        /// The message.
        delivery: Delivery,
        /// Its conditions.
        flags: Flags,
    },
    /// The stream's first error; nothing follows on this stream.
    Failed(Failure),
}

/// Receives events; any `FnMut(Event)` is a sink.
pub trait Sink {
    /// Called once per event, in order.
    fn event(&mut self, event: Event<'_>);
}

impl<F: FnMut(Event<'_>)> Sink for F {
    fn event(&mut self, event: Event<'_>) {
        self(event);
    }
}

/// Counters of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// New segments, including those that DDP rejects.
    pub segments: u64,
    /// Payload octets placed.
    pub placed_octets: u64,
    /// Messages delivered, including tagged ones that are not reported.
    pub delivered: u64,
    /// Chunks dropped because their DDP-SSN has arrived before (AMB-40).
    pub duplicates: u64,
    /// Chunks dropped after the error.
    pub frozen: u64,
}

/// What is kept of a segment until all before it have arrived.
#[derive(Clone, Copy, Debug)]
struct Placed {
    header: Header,
    len: usize,
}

#[derive(Clone, Debug)]
struct Session {
    config: SessionConfig,
    context: StreamContext,
    order: Order<FULL_WINDOW_WORDS>,
    /// Segments behind a gap; no more than the window has chunks.
    waiting: BTreeMap<u16, Placed>,
    frozen: bool,
    counters: Counters,
}

/// The reference receiver.
#[derive(Clone, Debug, Default)]
pub struct Receiver {
    checker: DdpChecker,
    sessions: BTreeMap<u32, Session>,
}

impl Receiver {
    /// Begins a session on a stream, whose DDP-SSN 0 is next; it has no untagged queue yet. Fails if the
    /// stream has one, or for a window that cannot be.
    pub fn open(&mut self, stream: u32, config: SessionConfig) -> Result<(), OpenError> {
        let order = Order::new(config.window)?;
        let Entry::Vacant(slot) = self.sessions.entry(stream) else {
            return Err(ReceiverError::StreamOpen { stream }.into());
        };
        slot.insert(Session {
            config,
            context: StreamContext {
                stream,
                protection_domain: config.protection_domain,
                // Messages arrive in any order.
                msn_mode: MsnMode::Window,
                strict_mo: false,
                queues: BTreeMap::new(),
            },
            order,
            waiting: BTreeMap::new(),
            frozen: false,
            counters: Counters::default(),
        });
        Ok(())
    }

    /// Ends the session: nothing of it reaches the next one on this stream.
    pub fn close(&mut self, stream: u32) -> Result<(), ReceiverError> {
        let session = self.sessions.remove(&stream);
        session
            .map(|_| ())
            .ok_or(ReceiverError::UnknownStream { stream })
    }

    /// Adds an untagged queue whose first message has `first_msn` (1 in a new session).
    pub fn enable_queue(
        &mut self,
        stream: u32,
        queue: u32,
        first_msn: u32,
    ) -> Result<(), ReceiverError> {
        let session = self.session_mut(stream)?;
        let window = session.config.buffers;
        session.context.enable_queue(queue, first_msn, window)
    }

    /// Posts a buffer of `len` octets and returns the MSN it is for.
    pub fn post(&mut self, stream: u32, queue: u32, len: u32) -> Result<u32, ReceiverError> {
        let context = &mut self.session_mut(stream)?.context;
        context.post(queue, len)
    }

    /// Writes an entry of the STag table.
    pub fn set_stag(&mut self, stag: u32, entry: StagEntry) {
        self.checker.stags.insert(stag, entry);
    }

    /// Makes an STag invalid; returns false if the table has no such STag.
    pub fn revoke_stag(&mut self, stag: u32) -> bool {
        self.checker.revoke(stag)
    }

    /// Receives the user data of a DDP Segment Chunk, as parsed.
    pub fn segment(
        &mut self,
        stream: u32,
        segment: Segment<'_>,
        sink: &mut impl Sink,
    ) -> Result<(), ReceiverError> {
        let Some(session) = self.sessions.get_mut(&stream) else {
            return Err(ReceiverError::UnknownStream { stream });
        };
        if session.admits(stream, segment.ssn, sink) {
            session.place(&self.checker, segment, sink);
        }
        Ok(())
    }

    /// Counts a control message, which carries nothing for DDP but has a place in the order.
    pub fn control(
        &mut self,
        stream: u32,
        ssn: Ssn,
        sink: &mut impl Sink,
    ) -> Result<(), ReceiverError> {
        let session = self.session_mut(stream)?;
        if session.admits(stream, ssn, sink) {
            session.arrived(ssn, sink);
        }
        Ok(())
    }

    /// The DDP-SSN in front of which all chunks have arrived.
    pub fn next(&self, stream: u32) -> Result<Ssn, ReceiverError> {
        Ok(self.session(stream)?.order.next())
    }

    /// Segments that are placed and wait for their turn.
    pub fn waiting(&self, stream: u32) -> Result<usize, ReceiverError> {
        Ok(self.session(stream)?.waiting.len())
    }

    /// Counters of a stream.
    pub fn counters(&self, stream: u32) -> Result<Counters, ReceiverError> {
        Ok(self.session(stream)?.counters)
    }

    /// Whether a stream has reported its error.
    pub fn is_frozen(&self, stream: u32) -> Result<bool, ReceiverError> {
        Ok(self.session(stream)?.frozen)
    }

    fn session(&self, stream: u32) -> Result<&Session, ReceiverError> {
        let session = self.sessions.get(&stream);
        session.ok_or(ReceiverError::UnknownStream { stream })
    }

    fn session_mut(&mut self, stream: u32) -> Result<&mut Session, ReceiverError> {
        let session = self.sessions.get_mut(&stream);
        session.ok_or(ReceiverError::UnknownStream { stream })
    }
}

/// A session does not begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The stream has one.
    #[error(transparent)]
    Stream(#[from] ReceiverError),
    /// The window is none.
    #[error(transparent)]
    Window(#[from] WindowError),
}

impl Session {
    /// Whether a chunk is new. Nothing is looked up or kept for one that is not.
    fn admits(&mut self, stream: u32, ssn: Ssn, sink: &mut impl Sink) -> bool {
        if self.frozen {
            self.counters.frozen = self.counters.frozen.saturating_add(1);
            return false;
        }
        match self.order.judge(ssn) {
            Ok(true) => true,
            Ok(false) => {
                self.counters.duplicates = self.counters.duplicates.saturating_add(1);
                false
            }
            Err(invalid) => {
                self.fail(Failure::Ssn { stream, invalid }, sink);
                false
            }
        }
    }

    /// Checks and places a segment.
    fn place(&mut self, checker: &DdpChecker, segment: Segment<'_>, sink: &mut impl Sink) {
        let stream = self.context.stream;
        let ssn = segment.ssn;
        self.counters.segments = self.counters.segments.saturating_add(1);
        let accepted = match checker.check(&self.context, segment.octets) {
            Ok(accepted) => accepted,
            Err(rejected) => {
                let record = ErrorRecord {
                    stream,
                    number: rejected.number,
                    checks: rejected.checks,
                    header: HeaderOctets::of(segment.octets),
                    ulpdu_len: segment.octets.len() as u16,
                    position: ssn.0.into(),
                    detail: Detail::Ddp,
                };
                return self.fail(Failure::Ddp(record), sink);
            }
        };
        let octets = accepted.payload;
        if !octets.is_empty() {
            let len = octets.len() as u64;
            self.counters.placed_octets = self.counters.placed_octets.saturating_add(len);
            sink.event(Event::Place {
                stream,
                target: accepted.target(),
                octets,
            });
        }
        let placed = Placed {
            header: accepted.header,
            len: octets.len(),
        };
        self.waiting.insert(ssn.0, placed);
        self.arrived(ssn, sink);
    }

    /// Marks a chunk, and delivers what that completes.
    fn arrived(&mut self, ssn: Ssn, sink: &mut impl Sink) {
        let mut turn = self.order.next();
        if self.order.take(ssn).is_err() {
            return;
        }
        while turn != self.order.next() {
            if let Some(placed) = self.waiting.remove(&turn.0) {
                self.pass(placed, sink);
            }
            turn = turn.next();
        }
    }

    /// All chunks before this segment have arrived.
    fn pass(&mut self, placed: Placed, sink: &mut impl Sink) {
        let stream = self.context.stream;
        match placed.header {
            Header::Tagged(header) if header.last => {
                self.counters.delivered = self.counters.delivered.saturating_add(1);
                if self.config.tagged_completions {
                    let mut flags = Flags::empty();
                    flags.set(Flags::UNVERIFIED, placed.len == 0);
                    sink.event(Event::Delivered {
                        stream,
                        delivery: Delivery::Tagged {
                            stag: header.stag,
                            to: header.to,
                            length: placed.len as u32,
                            rsvd_ulp: header.rsvd_ulp,
                        },
                        flags,
                    });
                }
            }
            Header::Tagged(_) => {}
            Header::Untagged(header) => {
                let Some(queue) = self.context.queues.get_mut(&header.qn) else {
                    return;
                };
                // What a message holds counts in DDP-SSN order, so that a later one never completes it.
                queue.accept(&header, placed.len);
                while let Some((delivery, flags)) = queue.deliver(header.qn) {
                    self.counters.delivered = self.counters.delivered.saturating_add(1);
                    sink.event(Event::Delivered {
                        stream,
                        delivery,
                        flags,
                    });
                }
            }
        }
    }

    fn fail(&mut self, failure: Failure, sink: &mut impl Sink) {
        self.frozen = true;
        self.waiting.clear();
        sink.event(Event::Failed(failure));
    }
}
