//! One DDP stream: a pair of SCTP streams with the same identifier, and its session, if there is one.
//!
//! The drawing of the states is in the [module](super).

use super::chunk::{Chunk, ChunkError, Control, Function, MAX_CONTROL_LEN, Segment};
use super::event::{Cause, Ending, Event, Sink};
use super::order::{Order, WindowError};
use super::sender::{SendError, Sender};
use super::settings::Timeouts;
use super::ssn::{MAX_IN_FLIGHT, Ssn};

/// State of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// There is none, and nothing of a former one is under way.
    Idle,
    /// This end asked for one.
    Initiating,
    /// The peer asked for one, and the ULP decides.
    Pending,
    /// It was accepted.
    Open,
    /// This end sends no more segments; its last control message is sent or due.
    Ending,
}

/// Which end asked for the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Active,
    Passive,
}

/// How far this end's last control message, Terminate or Reject, has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    /// Not due.
    None,
    /// Due, but it could overtake the one before it (RFC 5043 §6.6).
    Due,
    /// In `out`.
    Queued,
    /// Sent, or not needed.
    Sent,
}

/// What becomes of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Receipt {
    /// It was taken, or dropped: nothing is left to be done with it.
    Taken,
    /// A DDP segment in front of the ULP's decision, for which no endpoint is bound yet. It was not
    /// taken: give it again after `accept`, or call
    /// [`early_overflow`](super::Association::early_overflow) if there is no room to keep it.
    Early,
}

/// One DDP stream; `W` words of bitmap serve its reorder window.
#[derive(Clone, Debug)]
pub struct Stream<const W: usize> {
    state: State,
    role: Role,
    /// Active side: the peer's Accept, Reject or Terminate has arrived.
    answered: bool,
    /// Nothing more of the session is reported.
    frozen: bool,
    /// The peer has broken the rules.
    erred: bool,
    last: Last,
    order: Order<W>,
    /// DDP-SSN of the peer's last chunk, once it has arrived.
    peer_end: Option<Ssn>,
    /// So have all chunks before it.
    tail: bool,
    /// A segment came before the decision, and is with the caller.
    early: bool,
    sender: Sender,
    /// The first chunk of this end has been acknowledged.
    first_acknowledged: bool,
    /// Unacknowledged chunks of former sessions.
    former: u16,
    /// The control message to be sent.
    out: [u8; MAX_CONTROL_LEN],
    out_len: usize,
    deadline: Option<u64>,
}

/// What a stream has to know of its association for a call.
pub(super) struct Context {
    pub id: u16,
    pub now: u64,
    pub timeouts: Timeouts,
    /// Another Initiate may wait for the ULP; otherwise the limit.
    pub backlog: Result<(), u16>,
}

impl Context {
    fn deadline(&self, timeout: u32) -> Option<u64> {
        Some(self.now.saturating_add(timeout.into()))
    }
}

impl<const W: usize> Default for Stream<W> {
    /// A stream without a session, and with the largest window that its bitmap serves.
    fn default() -> Self {
        Self {
            state: State::Idle,
            role: Role::Passive,
            answered: false,
            frozen: false,
            erred: false,
            last: Last::None,
            order: Order::default(),
            peer_end: None,
            tail: false,
            early: false,
            sender: Sender::new(Ssn::FIRST),
            first_acknowledged: false,
            former: 0,
            out: [0; MAX_CONTROL_LEN],
            out_len: 0,
            deadline: None,
        }
    }
}

impl<const W: usize> Stream<W> {
    /// Sets the window, between sessions.
    pub(super) fn set_window(&mut self, window: u16) -> Result<(), WindowError> {
        self.order = Order::new(window)?;
        Ok(())
    }

    pub(super) fn is_idle(&self) -> bool {
        self.state == State::Idle
    }

    pub(super) fn is_pending(&self) -> bool {
        self.state == State::Pending
    }

    pub(super) fn is_open(&self) -> bool {
        self.state == State::Open
    }

    /// Whether something of a session is still reported.
    pub(super) fn reports(&self) -> bool {
        self.state != State::Idle && !self.frozen
    }

    pub(super) const fn deadline(&self) -> Option<u64> {
        self.deadline
    }

    /// The control message to be sent, and its DDP-SSN's chunk.
    pub(super) fn output(&self) -> &[u8] {
        self.out.get(..self.out_len).unwrap_or_default()
    }

    /// Everything of the former session is gone but what SCTP has not acknowledged.
    fn reset(&mut self, state: State, role: Role) {
        self.former = self.former.saturating_add(self.submitted());
        self.order.reset();
        (self.state, self.role, self.last) = (state, role, Last::None);
        (self.answered, self.frozen) = (false, false);
        (self.erred, self.early) = (false, false);
        (self.peer_end, self.tail) = (None, false);
        (self.sender, self.first_acknowledged) = (Sender::new(Ssn::FIRST), false);
        (self.out_len, self.deadline) = (0, None);
    }

    /// Unacknowledged chunks of the session, with the one in `out`.
    fn in_flight(&self) -> u16 {
        self.sender.in_flight().saturating_add(self.former)
    }

    /// Those of them that SCTP has.
    fn submitted(&self) -> u16 {
        let unsent = u16::from(self.out_len > 0);
        self.sender.in_flight().saturating_sub(unsent)
    }

    /// Puts a control message into `out`, with the next DDP-SSN.
    fn load(&mut self, function: Function, private_data: &[u8]) -> Result<(), ChunkError> {
        let ssn = self.sender.next();
        let control = Control {
            ssn,
            function,
            private_data,
        };
        self.out_len = control.emit(&mut self.out)?;
        self.sender.advance();
        Ok(())
    }

    // What the ULP does.

    pub(super) fn initiate(
        &mut self,
        context: &Context,
        private_data: &[u8],
    ) -> Result<(), ChunkError> {
        self.reset(State::Idle, Role::Active);
        self.load(Function::Initiate, private_data)?;
        self.state = State::Initiating;
        self.deadline = context.deadline(context.timeouts.answer);
        Ok(())
    }

    pub(super) fn accept(&mut self, private_data: &[u8]) -> Result<(), ChunkError> {
        self.load(Function::Accept, private_data)?;
        (self.state, self.deadline) = (State::Open, None);
        Ok(())
    }

    pub(super) fn reject(&mut self, private_data: &[u8]) -> Result<(), ChunkError> {
        self.load(Function::Reject, private_data)?;
        (self.state, self.last, self.frozen) = (State::Ending, Last::Queued, true);
        self.end_with_initiate();
        self.deadline = None;
        Ok(())
    }

    /// Declines a session without the ULP: this end's part is a Terminate (RFC 5043 §6.4). Reject is the ULP's.
    pub(super) fn decline(&mut self, context: &Context, sink: &mut impl Sink) {
        self.end_with_initiate();
        (self.state, self.last, self.frozen) = (State::Ending, Last::Due, true);
        self.deadline = None;
        self.settle(context, sink);
    }

    /// Where this end declines, the peer's part of the pattern is its Initiate, unless it has sent more.
    fn end_with_initiate(&mut self) {
        self.tail |= !self.early && self.peer_end.is_none();
    }

    /// Ends this end's half; false if there is no session that could be ended so.
    pub(super) fn terminate(&mut self, context: &Context, sink: &mut impl Sink) -> bool {
        match self.state {
            State::Idle | State::Pending | State::Ending => return false,
            State::Initiating if self.out_len > 0 => {
                // SCTP does not have the Initiate yet: the session has never begun.
                self.reset(State::Idle, Role::Passive);
                sink.event(Event::Free { stream: context.id });
                return true;
            }
            State::Initiating | State::Open => {}
        }
        (self.state, self.last) = (State::Ending, Last::Due);
        self.deadline = match self.tail {
            true => None,
            false => context.deadline(context.timeouts.end),
        };
        self.release();
        true
    }

    /// Writes a segment's user data; it counts as submitted.
    pub(super) fn send(
        &mut self,
        id: u16,
        header: &[u8],
        payload: &[u8],
        max_segment: u16,
        out: &mut [u8],
    ) -> Result<usize, SendError> {
        // Not in front of the Accept, even where the Initiate is acknowledged: a session that is then
        // rejected would fit no legal pattern (RFC 5043 §6.3).
        if self.state != State::Open {
            return Err(SendError::NotOpen { stream: id });
        }
        if self.out_len > 0 {
            return Err(SendError::ControlFirst { stream: id });
        }
        if self.in_flight() >= MAX_IN_FLIGHT {
            let limit = MAX_IN_FLIGHT;
            return Err(SendError::Unacknowledged { limit });
        }
        self.sender.emit(header, payload, max_segment, out)
    }

    // What SCTP does.

    /// SCTP has taken the control message.
    pub(super) fn sent(&mut self, context: &Context, sink: &mut impl Sink) {
        self.out_len = 0;
        if self.last == Last::Queued {
            self.last = Last::Sent;
        }
        self.settle(context, sink);
    }

    /// SCTP has acknowledged this many of the oldest chunks.
    pub(super) fn acknowledged(&mut self, context: &Context, chunks: u16, sink: &mut impl Sink) {
        let former = chunks.min(self.former);
        self.former = self.former.saturating_sub(former);
        let own = chunks.saturating_sub(former).min(self.submitted());
        self.sender.acknowledged(own);
        self.first_acknowledged |= own > 0;
        self.settle(context, sink);
    }

    /// Takes a chunk of the peer.
    pub(super) fn receive(
        &mut self,
        context: &Context,
        chunk: Result<Chunk<'_>, ChunkError>,
        sink: &mut impl Sink,
    ) -> Receipt {
        if self.begins_next(&chunk) {
            self.reset(State::Idle, Role::Passive);
            sink.event(Event::Free { stream: context.id });
        }
        let receipt = if self.state == State::Idle {
            self.receive_idle(context, chunk, sink);
            Receipt::Taken
        } else {
            match self.judge(chunk) {
                Ok(None) => Receipt::Taken,
                Ok(Some(chunk)) => self.take(context, chunk, sink),
                Err(cause) => {
                    self.fail(context, cause, sink);
                    Receipt::Taken
                }
            }
        };
        self.settle(context, sink);
        receipt
    }

    /// Whether the chunk is the Initiate of the next session. The peer may send it only when nothing of
    /// the former one is under way, so it has seen this end's last chunk, and its own have arrived.
    fn begins_next(&self, chunk: &Result<Chunk<'_>, ChunkError>) -> bool {
        let initiate = matches!(
            chunk,
            Ok(Chunk::Control(Control {
                ssn: Ssn::FIRST,
                function: Function::Initiate,
                ..
            }))
        );
        initiate
            && self.state == State::Ending
            && self.last == Last::Sent
            && self.order.has_begun()
            && self.in_flight() < MAX_IN_FLIGHT
    }

    /// A chunk on a stream without a session.
    fn receive_idle(
        &mut self,
        context: &Context,
        chunk: Result<Chunk<'_>, ChunkError>,
        sink: &mut impl Sink,
    ) {
        let stream = context.id;
        let cause = match chunk {
            Ok(Chunk::Control(control)) => match (control.function, control.ssn) {
                (Function::Initiate, Ssn::FIRST) => match context.backlog {
                    Ok(()) => {
                        self.reset(State::Pending, Role::Passive);
                        self.deadline = context.deadline(context.timeouts.decision);
                        let _ = self.order.take(control.ssn);
                        let private_data = control.private_data;
                        sink.event(Event::Requested {
                            stream,
                            private_data,
                        });
                        return;
                    }
                    Err(limit) => Cause::Backlog { limit },
                },
                (function, ssn) => Cause::Control { function, ssn },
            },
            Ok(Chunk::Segment(segment)) => Cause::BeforeInitiate { ssn: segment.ssn },
            Err(error) => Cause::Chunk(error),
        };
        sink.event(Event::Stray { stream, cause });
        // Two ends without a session must not answer each other's Terminates.
        if let Cause::Control {
            function: Function::Terminate,
            ..
        } = cause
        {
            return;
        }
        self.reset(State::Ending, Role::Passive);
        (self.frozen, self.last) = (true, Last::Due);
        if let Ok(chunk) = chunk {
            let _ = self.order.take(chunk.ssn());
        }
        self.tail = matches!(cause, Cause::Backlog { .. });
        self.release();
    }

    /// Whether a chunk of the session is new, and in a place where a chunk may be.
    fn judge<'d>(
        &mut self,
        chunk: Result<Chunk<'d>, ChunkError>,
    ) -> Result<Option<Chunk<'d>>, Cause> {
        let chunk = chunk?;
        let ssn = chunk.ssn();
        if !self.order.judge(ssn)? {
            return Ok(None);
        }
        match self.peer_end {
            Some(end) if ssn.ahead_of(self.order.next()) > end.ahead_of(self.order.next()) => {
                Err(Cause::BehindEnd { ssn, end })
            }
            // Nothing is new between the last chunk and the first missing one.
            Some(end) if self.tail => Err(Cause::BehindEnd { ssn, end }),
            _ => Ok(Some(chunk)),
        }
    }

    /// Takes a chunk that is new.
    fn take(&mut self, context: &Context, chunk: Chunk<'_>, sink: &mut impl Sink) -> Receipt {
        let ssn = chunk.ssn();
        let stream = context.id;
        let first = ssn == Ssn::FIRST && !self.order.has_begun();
        match chunk {
            Chunk::Segment(_) if first => {
                self.fail(context, Cause::FirstSegment, sink);
                return Receipt::Taken;
            }
            Chunk::Segment(_) if self.state == State::Pending => {
                self.early = true;
                return Receipt::Early;
            }
            Chunk::Segment(segment) => self.pass(stream, segment, sink),
            Chunk::Control(control) if first => {
                self.first(context, control, sink);
                return Receipt::Taken;
            }
            Chunk::Control(control) => {
                let function = control.function;
                if function != Function::Terminate || self.order.has_beyond(ssn) {
                    self.fail(context, Cause::Control { function, ssn }, sink);
                    return Receipt::Taken;
                }
                self.peer_end = Some(ssn);
            }
        }
        self.mark(context, ssn, sink);
        Receipt::Taken
    }

    /// Reports a segment, unless the session is frozen.
    fn pass(&self, stream: u16, segment: Segment<'_>, sink: &mut impl Sink) {
        if !self.frozen {
            sink.event(Event::Segment { stream, segment });
        }
    }

    /// Takes chunk 0 of the peer, a control message.
    fn first(&mut self, context: &Context, control: Control<'_>, sink: &mut impl Sink) {
        let (ssn, function) = (control.ssn, control.function);
        if self.role == Role::Passive {
            // The Initiate behind a segment that should not have overtaken it: the session failed then.
            return self.mark(context, ssn, sink);
        }
        let beyond = self.order.has_beyond(ssn);
        let (stream, private_data) = (context.id, control.private_data);
        match function {
            Function::Initiate => {
                self.fail(context, Cause::BothInitiate, sink);
                return self.mark(context, ssn, sink);
            }
            Function::Accept => {
                self.answered = true;
                if self.state == State::Initiating {
                    (self.state, self.deadline) = (State::Open, None);
                }
                if !self.frozen {
                    sink.event(Event::Accepted {
                        stream,
                        private_data,
                    });
                }
                self.release();
                return self.mark(context, ssn, sink);
            }
            Function::Reject | Function::Terminate if beyond => {
                self.answered = true;
                let cause = Cause::Control { function, ssn };
                return self.fail(context, cause, sink);
            }
            Function::Reject if !self.frozen => sink.event(Event::Rejected {
                stream,
                private_data,
            }),
            Function::Terminate if !self.frozen => sink.event(Event::Refused { stream }),
            Function::Reject | Function::Terminate => {}
        }
        // The session is over at both ends: no Terminate of this end is in the pattern.
        let _ = self.order.take(ssn);
        (self.answered, self.frozen, self.tail) = (true, true, true);
        (self.state, self.peer_end, self.deadline) = (State::Ending, Some(ssn), None);
        if self.last != Last::Queued {
            self.last = Last::Sent;
        }
    }

    /// Marks a chunk as arrived, and reports what that completes.
    fn mark(&mut self, context: &Context, ssn: Ssn, sink: &mut impl Sink) {
        let stream = context.id;
        let before = self.order.next();
        let _ = self.order.take(ssn);
        let next = self.order.next();
        if next == before {
            return;
        }
        if !self.frozen {
            sink.event(Event::InOrder { stream, next });
        }
        if self.peer_end.map(Ssn::next) != Some(next) {
            return;
        }
        self.tail = true;
        if !self.frozen {
            sink.event(Event::Terminated { stream });
        }
        if self.state == State::Pending {
            // The peer gave up before the ULP decided: this end's part is a Terminate.
            (self.state, self.frozen, self.last) = (State::Ending, true, Last::Due);
        }
        if self.state == State::Ending {
            self.deadline = None;
        }
    }

    /// Ends the session in an error: reported once, and answered with Terminate.
    pub(super) fn fail(&mut self, context: &Context, cause: Cause, sink: &mut impl Sink) {
        let stream = context.id;
        if !self.frozen {
            sink.event(Event::Failed { stream, cause });
        }
        (self.state, self.frozen, self.deadline) = (State::Ending, true, None);
        self.erred |= !matches!(cause, Cause::NoAnswer { .. });
        if self.last == Last::None {
            self.last = Last::Due;
        }
        self.settle(context, sink);
    }

    /// Applies the time-out.
    pub(super) fn poll(&mut self, context: &Context, sink: &mut impl Sink) {
        if self.deadline.is_none_or(|deadline| context.now < deadline) {
            return;
        }
        let cause = match self.state {
            State::Initiating => Cause::NoAnswer {
                timeout: context.timeouts.answer,
            },
            State::Pending => {
                self.end_with_initiate();
                Cause::Undecided {
                    timeout: context.timeouts.decision,
                }
            }
            State::Idle | State::Open | State::Ending => {
                (self.frozen, self.deadline) = (true, None);
                let stream = context.id;
                return sink.event(Event::Abandoned { stream });
            }
        };
        self.fail(context, cause, sink);
    }

    /// The association is gone, and with it all that was under way.
    pub(super) fn end(&mut self, id: u16, ending: Ending, sink: &mut impl Sink) {
        if self.state != State::Idle && !self.frozen {
            sink.event(Event::Lost { stream: id, ending });
        }
        self.reset(State::Idle, Role::Passive);
        self.former = 0;
    }

    /// Queues this end's Terminate once it cannot overtake the control message before it.
    ///
    /// The active side waits for the answer: if the peer declines, its part of the pattern is the Initiate
    /// alone, and the peer may use the stream again at once. Only where the peer has broken the rules is
    /// the acknowledgement of the Initiate enough.
    fn release(&mut self) {
        let arrived = match self.role {
            Role::Active => self.answered || (self.erred && self.first_acknowledged),
            Role::Passive => self.sender.next() == Ssn::FIRST || self.first_acknowledged,
        };
        let room = self.in_flight() < MAX_IN_FLIGHT;
        if self.last == Last::Due
            && self.out_len == 0
            && arrived
            && room
            && self.load(Function::Terminate, &[]).is_ok()
        {
            self.last = Last::Queued;
        }
    }

    /// Goes on with what was due, and frees the stream once nothing is under way.
    fn settle(&mut self, context: &Context, sink: &mut impl Sink) {
        self.release();
        if self.state == State::Ending
            && self.last == Last::Sent
            && self.tail
            && self.in_flight() == 0
        {
            self.reset(State::Idle, Role::Passive);
            sink.event(Event::Free { stream: context.id });
        }
    }
}
