//! The state of a queue pair, behind its lock: requests from posting to completion.
//!
//! ```text
//!   post ─► held ──────────────────► issued ────────────► responding ─────► done ─► reported in the order of posting
//!             fence, ORD, full ring    in the send ring     a Read, until
//!                                                           its Response
//!   peer's Read Request ─► rdmap ─► checked, in the send ring before held requests
//!                          (the device answers it where it can; what it hands to the driver is refused)
//!   first error ─► Terminate, the last message of the ring; held requests and Reads are flushed
//! ```

use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;

use warpline_regmap::transmit::{Element, Flags, Gather, Inline, Payload, Target};
use warpline_wire::rdmap::{
    Address, Cause, Control, InboundRead, OutboundRead, Outgoing, RdmaError, ReadRequest,
    SourceRegion, Stream as Rdmap, Terminate, Version,
};

use super::options::PairOptions;
use super::request::{Operation, WorkRequest};
use super::work::{PairEvent, PairState, Work, WorkCompletion, WorkOpcode, WorkStatus};
use crate::buffer::Buffer;
use crate::domain::Domain;
use crate::error::Error;
use crate::posted_sends::{Done, SendStatus};
use crate::send_queue;
use crate::shared::State;
use crate::stream::Stream;

/// The RDMAP stream of a pair.
type Protocol = Rdmap<Vec<InboundRead>, Vec<OutboundRead>>;

/// Where a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Held,
    Issued,
    Responding,
    Done(WorkStatus),
}

/// A request that is not reported yet.
struct Entry {
    request: WorkRequest,
    length: u32,
    stage: Stage,
}

impl Entry {
    fn opcode(&self) -> WorkOpcode {
        match self.request.operation {
            Operation::Write { .. } => WorkOpcode::Write,
            Operation::Send { .. } => WorkOpcode::Send,
            Operation::Read { .. } => WorkOpcode::Read,
        }
    }

    fn is_read(&self) -> bool {
        self.opcode() == WorkOpcode::Read
    }
}

/// What a slot of the send ring is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    /// A request, by its number.
    Request(u64),
    /// A Read Response.
    Response,
    /// The last message.
    Terminate,
}

/// How a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// After all that is sent.
    Fin,
    /// At once.
    Reset,
}

/// A queue pair behind its lock.
pub(super) struct Machine {
    pub(super) id: u64,
    pub(super) domain: Arc<Domain>,
    pub(super) number: u8,
    pub(super) generation: u64,
    /// `None` once closed.
    pub(super) stream: Option<Stream>,
    pub(super) rdmap: Protocol,
    pub(super) state: PairState,
    pub(super) half_closed: bool,
    /// The program ends the connection: nothing more is posted.
    draining: bool,
    /// The device sends nothing more: a request has failed.
    broken: bool,
    /// The connection was told to end.
    ended: bool,
    /// The program was told that the connection is gone.
    told_closed: bool,
    /// The connection was given back.
    released: bool,
    depth: usize,
    ord: usize,
    /// The device answers Read Requests: those that come here, it has refused.
    pub(super) device_reads: bool,
    /// Requests in the order of posting; `first` is the number of the first one.
    requests: VecDeque<Entry>,
    first: u64,
    /// Slots that the device has, by the send ring's numbers.
    slots: VecDeque<(u64, Slot)>,
    /// The Terminate that has no slot yet.
    last: Option<Outgoing>,
    /// MSN of the Send that is the peer's RTR indication, until it has come: its buffer is the driver's own.
    pub(super) rtr: Option<u32>,
    /// Buffers of the Read Requests that are unanswered.
    pub(super) spare: Vec<Buffer>,
    /// For the program.
    pub(super) out: Vec<Result<Work, Error>>,
}

impl Machine {
    pub fn new(
        id: u64,
        stream: Stream,
        generation: u64,
        version: Version,
        options: &PairOptions,
        device_reads: bool,
    ) -> Self {
        let (ird, ord) = (usize::from(options.ird), usize::from(options.ord));
        Self {
            id,
            domain: Arc::clone(stream.domain()),
            number: stream.number(),
            generation,
            stream: Some(stream),
            rdmap: Rdmap::new(
                version,
                vec![InboundRead::default(); ird],
                vec![OutboundRead::default(); ord],
            ),
            state: PairState::ReadyToSend,
            half_closed: false,
            draining: false,
            broken: false,
            ended: false,
            told_closed: false,
            released: false,
            depth: options.send_depth.into(),
            ord,
            device_reads,
            requests: VecDeque::new(),
            first: 0,
            slots: VecDeque::new(),
            last: None,
            rtr: None,
            spare: Vec::new(),
            out: Vec::new(),
        }
    }

    /// Takes a request; [`advance`](Self::advance) issues it.
    pub fn post(&mut self, request: WorkRequest) -> Result<(), Error> {
        let stream = self.number;
        if self.state != PairState::ReadyToSend || self.draining {
            return Err(Error::PairEnded { stream });
        }
        if self.requests.len() >= self.depth {
            let slots = self.depth as u32;
            return Err(Error::SendQueueFull { stream, slots });
        }
        let length = self.check(&request)?;
        self.requests.push_back(Entry {
            request,
            length,
            stage: Stage::Held,
        });
        Ok(())
    }

    /// Checks a request; returns the octets of its message.
    fn check(&self, request: &WorkRequest) -> Result<u32, Error> {
        let stream = self.number;
        match &request.operation {
            Operation::Write { data, .. } | Operation::Send { data, .. } => {
                for piece in data.pieces() {
                    self.check_domain(piece.region().stag(), piece.region().domain())?;
                }
                Ok(data.payload()?.length())
            }
            Operation::Read { sink, .. } => {
                if self.half_closed {
                    return Err(Error::PairEnded { stream });
                }
                if self.ord == 0 {
                    return Err(Error::NoReads { stream });
                }
                let Some(sink) = sink else { return Ok(0) };
                let (region, length) = (sink.region(), sink.element().length);
                self.check_domain(region.stag(), region.domain())?;
                if !region.remote_write() && length > 0 {
                    return Err(Error::ReadSink {
                        stag: region.stag(),
                    });
                }
                Ok(length)
            }
        }
    }

    fn check_domain(&self, stag: u32, domain: &Arc<Domain>) -> Result<(), Error> {
        if Arc::ptr_eq(domain, &self.domain) {
            return Ok(());
        }
        Err(Error::RegionDomain {
            stream: self.number,
            stag,
            domain: domain.id,
        })
    }

    /// Hands to the device what may be handed to it: the last message, Responses, held requests.
    pub fn advance(&mut self) -> Result<(), Error> {
        if self.stream.is_none() {
            return Ok(());
        }
        let domain = Arc::clone(&self.domain);
        let shared = &domain.shared;
        let mut state = shared.state();
        let before = self.slots.len();
        let mut issued = self.issue(&mut state);
        if self.slots.len() > before {
            // A peer that has its Response may ask again, so the buffer goes back first.
            drop(state);
            self.repost()?;
            state = shared.state();
            let rung = send_queue::ring(shared, &state, self.number);
            issued = issued.and(rung);
        }
        drop(state);
        self.report();
        issued
    }

    fn issue(&mut self, state: &mut State) -> Result<(), Error> {
        if self.state == PairState::ReadyToSend {
            self.respond(state)?;
        }
        while self.state == PairState::ReadyToSend {
            let held = |entry: &Entry| entry.stage == Stage::Held;
            let Some(index) = self.requests.iter().position(held) else {
                break;
            };
            if !self.issue_request(state, index)? {
                break;
            }
        }
        if let Some(last) = self.last
            && self.room(state)
        {
            let payload = Payload::Inline(Inline::new(last.header())?);
            let flags = Flags {
                signalled: true,
                terminate: true,
                ..Flags::default()
            };
            self.put(state, &last, flags, payload, Slot::Terminate)?;
            self.last = None;
        }
        Ok(())
    }

    /// Answers the peer's Reads, in order, as long as there is room.
    fn respond(&mut self, state: &mut State) -> Result<(), Error> {
        while let Some(&read) = self.rdmap.next_request() {
            let request = read.request;
            // The device answers in the version of RFC 5040 alone, and hands over a request of another one.
            let version = Control(read.rsvd_ulp[0]).version();
            if self.device_reads && version != Version::Ietf as u8 {
                let error = RdmaError::OperationVersion;
                let terminate = self.rdmap.refuse_read(&read, 0, error);
                self.end(terminate);
                return Ok(());
            }
            let holder = state.stags.find(request.source_stag);
            let region = holder.map(|holder| SourceRegion {
                base: holder.rights.base,
                length: holder.rights.length,
                associated: holder.serves(self.domain.id, (self.number, self.generation)),
                remote_read: holder.rights.read,
            });
            if let Err(error) = request.check(region) {
                let terminate = self.rdmap.refuse_read(&read, 0, error);
                self.end(terminate);
                return Ok(());
            }
            if self.device_reads {
                // It could not read the request, or has looked while the STag changed.
                self.end_by_catastrophe();
                return Ok(());
            }
            if !self.room(state) {
                return Ok(());
            }
            let source = Element {
                stag: request.source_stag,
                length: request.size,
                offset: request.source_to,
            };
            let pieces: &[Element] = match request.size {
                0 => &[],
                _ => &[source],
            };
            let Ok((_, outgoing)) = self.rdmap.respond() else {
                return Ok(()); // terminated: nothing is sent
            };
            let payload = Payload::Gather(Gather::new(pieces)?);
            self.put(state, &outgoing, Flags::default(), payload, Slot::Response)?;
        }
        Ok(())
    }

    /// Issues a held request; `false` when it has to be held on.
    fn issue_request(&mut self, state: &mut State, index: usize) -> Result<bool, Error> {
        if !self.room(state) {
            return Ok(false);
        }
        let number = self.first + index as u64;
        let Entry { request, .. } = &self.requests[index];
        if request.fenced && self.rdmap.reads_outstanding() > 0 {
            return Ok(false);
        }
        let signalled = request.signalled;
        let (outgoing, payload) = match &request.operation {
            Operation::Write { data, to } => {
                (self.rdmap.write(to.stag, to.offset), data.payload()?)
            }
            Operation::Send {
                data,
                solicited,
                invalidate,
            } => (self.rdmap.send(*solicited, *invalidate), data.payload()?),
            Operation::Read { sink, from } => {
                let sink = sink.as_ref().map_or(Element::default(), |s| s.element());
                let request = ReadRequest {
                    sink_stag: sink.stag,
                    sink_to: sink.offset,
                    size: sink.length,
                    source_stag: from.stag,
                    source_to: from.offset,
                };
                if self.rdmap.reads_outstanding() >= self.ord {
                    return Ok(false);
                }
                let payload = Payload::Inline(Inline::new(&request.emit())?);
                (self.rdmap.read(request, number), payload)
            }
        };
        let Ok(outgoing) = outgoing else {
            return Ok(false); // terminated: it will be flushed
        };
        let flags = Flags {
            signalled,
            ..Flags::default()
        };
        self.requests[index].stage = Stage::Issued;
        self.put(state, &outgoing, flags, payload, Slot::Request(number))?;
        Ok(true)
    }

    fn room(&self, state: &State) -> bool {
        let sends = state.streams[usize::from(self.number)].sends.as_ref();
        sends.is_some_and(|sends| sends.free() > 0)
    }

    fn put(
        &mut self,
        state: &mut State,
        outgoing: &Outgoing,
        flags: Flags,
        payload: Payload,
        slot: Slot,
    ) -> Result<(), Error> {
        let target = match outgoing.address {
            Address::Tagged { stag, to, rsvd_ulp } => Target::Tagged {
                stag,
                offset: to,
                rsvd_ulp,
            },
            Address::Untagged { qn, rsvd_ulp } => Target::Untagged {
                queue: qn,
                rsvd_ulp,
            },
        };
        let (domain, stream) = (Arc::clone(&self.domain), self.number);
        let number = send_queue::put(&domain.shared, state, stream, target, flags, 0, payload)?;
        self.slots.push_back((number, slot));
        Ok(())
    }

    /// A slot of the send ring is done, and all slots before it.
    pub fn sent(&mut self, done: Done) {
        while let Some(&(number, slot)) = self.slots.front() {
            if number > done.number {
                break;
            }
            self.slots.pop_front();
            let status = match number == done.number {
                true => done.status,
                false => SendStatus::Ok,
            };
            let ended = match status {
                SendStatus::Ok => WorkStatus::Success,
                SendStatus::Flushed => WorkStatus::Flushed,
                failed => WorkStatus::Failed(failed),
            };
            match slot {
                Slot::Request(request) => self.issued_is_done(request, ended),
                Slot::Response => {}
                Slot::Terminate => self.state = PairState::Error,
            }
            if let WorkStatus::Failed(_) = ended {
                self.break_off();
            }
        }
        self.report();
    }

    /// A Response that the device has begun, or was about to, is not sent: its STag was revoked in between, or its memory
    /// could not be read.
    pub fn response_failed(&mut self, status: SendStatus) {
        if status != SendStatus::Flushed {
            self.event(PairEvent::ResponseFailed(status));
            self.break_off();
        }
    }

    fn issued_is_done(&mut self, number: u64, status: WorkStatus) {
        if let Some(entry) = self.entry(number)
            && entry.stage == Stage::Issued
        {
            entry.stage = match (entry.is_read(), status) {
                (true, WorkStatus::Success) => Stage::Responding,
                _ => Stage::Done(status),
            };
        }
    }

    fn entry(&mut self, number: u64) -> Option<&mut Entry> {
        let index = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.requests.get_mut(index)
    }

    /// The Response to a Read has come.
    pub fn read_done(&mut self, number: u64) {
        if let Some(entry) = self.entry(number) {
            entry.stage = Stage::Done(WorkStatus::Success);
        }
    }

    /// Ends the stream with a Terminate, if one is due.
    pub fn end(&mut self, terminate: Option<Outgoing>) {
        let Some(outgoing) = terminate else {
            return self.flush_unsent();
        };
        if self.state == PairState::ReadyToSend {
            self.state = PairState::Terminating;
            self.last = Some(outgoing);
            if let Ok(terminate) = Terminate::parse(outgoing.header()) {
                self.event(PairEvent::Terminating(terminate));
            }
        }
        self.flush_unsent();
    }

    /// Ends the stream with a Terminate that blames this end (RFC 5040 §4.8).
    pub fn end_by_catastrophe(&mut self) {
        let cause = Cause::Rdma(RdmaError::LocalCatastrophic);
        let terminate = self.rdmap.terminate(&Terminate::new(cause));
        self.end(terminate);
    }

    /// Ends a pair whose send queue has failed: the device sends nothing more, not even a Terminate.
    fn break_off(&mut self) {
        self.broken = true;
        self.fail();
    }

    /// Ends the pair without a message to the peer.
    pub fn fail(&mut self) {
        if matches!(self.state, PairState::ReadyToSend | PairState::Terminating) {
            self.state = PairState::Error;
        }
        self.last = None;
        self.flush_unsent();
    }

    /// Flushes what the device does not have: held requests, and Reads without a Response.
    fn flush_unsent(&mut self) {
        for entry in &mut self.requests {
            // A Read Request in the ring is flushed as well: its Response is never taken.
            let waits = entry.stage == Stage::Held || entry.stage == Stage::Responding;
            if waits || entry.stage == Stage::Issued && entry.is_read() {
                entry.stage = Stage::Done(WorkStatus::Flushed);
            }
        }
    }

    /// Flushes all that is left: the device has none of it any more.
    pub fn flush_all(&mut self) {
        self.state = PairState::Closed;
        self.last = None;
        self.slots.clear();
        for entry in &mut self.requests {
            if !matches!(entry.stage, Stage::Done(_)) {
                entry.stage = Stage::Done(WorkStatus::Flushed);
            }
        }
        self.report();
    }

    /// Takes no more requests.
    pub fn drain(&mut self) {
        self.draining = true;
    }

    /// Whether buffers may be posted.
    pub fn receives(&self) -> bool {
        self.state == PairState::ReadyToSend
    }

    /// Whether the connection is to end now, and how: with a FIN after an error, once the Terminate is on its way; at the
    /// program's wish, once all requests have slots and all Reads are done; with a RST when a message was cut. Once.
    pub fn takes_end(&mut self) -> Option<End> {
        let unsent = |entry: &Entry| match entry.stage {
            Stage::Held | Stage::Responding => true,
            Stage::Issued => entry.is_read(),
            Stage::Done(_) => false,
        };
        let drained = self.draining && !self.requests.iter().any(unsent);
        let due = self.stream.is_some()
            && match self.state {
                PairState::ReadyToSend => drained,
                PairState::Error => true,
                PairState::Terminating | PairState::Closed => false,
            };
        if !due || mem::replace(&mut self.ended, true) {
            return None;
        }
        Some(if self.broken { End::Reset } else { End::Fin })
    }

    /// Whether the connection is to be given back now. True once.
    pub fn takes_release(&mut self) -> bool {
        !mem::replace(&mut self.released, true)
    }

    /// Whether the program is to be told now that the connection is gone. True once.
    pub fn takes_closed(&mut self) -> bool {
        !mem::replace(&mut self.told_closed, true)
    }

    /// Whether Reads wait for a Response, or to be issued.
    pub fn reads_wait(&self) -> bool {
        let waits = |entry: &Entry| !matches!(entry.stage, Stage::Done(_)) && entry.is_read();
        self.requests.iter().any(waits)
    }

    /// Reports requests that are done, in the order of posting.
    pub fn report(&mut self) {
        while let Some(&Entry {
            stage: Stage::Done(status),
            ..
        }) = self.requests.front()
        {
            let Some(entry) = self.requests.pop_front() else {
                break;
            };
            self.first += 1;
            let quiet = !entry.request.signalled && status == WorkStatus::Success;
            if quiet || entry.request.internal {
                continue;
            }
            let completion = WorkCompletion {
                pair: self.id,
                id: entry.request.id,
                opcode: entry.opcode(),
                status,
                length: entry.length,
                solicited: false,
                invalidated: None,
                buffer: None,
            };
            self.out.push(Ok(Work::Completion(completion)));
        }
    }

    pub(super) fn event(&mut self, event: PairEvent) {
        let pair = self.id;
        self.out.push(Ok(Work::Event { pair, event }));
    }

    /// Gives the buffers of answered Read Requests back to their queue.
    fn repost(&mut self) -> Result<(), Error> {
        let unanswered = self.rdmap.reads_unanswered();
        let Some(stream) = &self.stream else {
            return Ok(());
        };
        while self.spare.len() > unanswered {
            let Some(buffer) = self.spare.pop() else {
                break;
            };
            let posted = stream.receive_queue(super::READ_REQUESTS)?.post(buffer);
            match posted.map_err(Error::from) {
                Ok(_) | Err(Error::StreamFailed { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Takes what is to be given to the program.
    pub fn take_out(&mut self) -> Vec<Result<Work, Error>> {
        mem::take(&mut self.out)
    }
}
