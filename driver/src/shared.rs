//! State that all handles of a device share: registers, commands, completion queue, streams and STags.
//!
//! ```text
//!  Context ─┬─ ProtectionDomain ─┬─ MemoryRegion ─┐
//!           │                    └─ Stream ───────┼─► Shared ─┬─ command: ARGUMENT, COMMAND, wait
//!           └─ CompletionQueue ───────────────────┘           └─ drain: ring ─► completions, matched with buffers
//! ```
//!
//! A command may wait for writes that wait for room in the completion queue. So while one runs, the driver moves entries
//! from the ring to `ready`, whether or not the program polls.

use std::collections::{BTreeSet, VecDeque};
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use warpline_regmap::Register;
use warpline_regmap::layout::{completion, error_record};
use warpline_regmap::mailbox;
use warpline_regmap::register::{self, command, interrupt as vector};
use warpline_regmap::transmit;

use crate::buffer::Buffer;
use crate::completion::{
    Completion, Entry, FlushedReceive, Ring, SentCompletion, UntaggedCompletion, WORDS,
};
use crate::dma::Dma;
use crate::error::Error;
use crate::error_record::ErrorRecord;
use crate::interrupt::{self, Interrupts};
use crate::mailbox_state::MailboxState;
use crate::posted_sends::{PostedSends, SendStatus};
use crate::read_buffers::ReadBuffers;
use crate::receive_ring::ReceiveRing;
use crate::route::{Notice, Route};
use crate::shape::{Capabilities, Shape};
use crate::stag::StagSlots;

/// Polls of an empty ring between two checks for a fault: a check costs system calls, and faults are rare.
const POLLS_PER_FAULT_CHECK: u32 = 1024;

pub(crate) struct Shared {
    pub dma: Arc<Dma>,
    pub shape: Shape,
    pub capabilities: Capabilities,
    pub command_timeout: Duration,
    pub interrupts: Interrupts,
    pub state: Mutex<State>,
    pub mailbox: Mutex<MailboxState>,
}

/// The part behind the lock.
pub(crate) struct State {
    /// A command did not finish, or the device does not answer.
    pub gone: bool,
    /// The device could not write a completion.
    pub faulted: bool,
    /// Streams on which a message found no buffer.
    pub missing_buffers: u32,
    /// Polls of an empty ring so far.
    pub idle_polls: u32,
    /// Threads that sleep until a completion comes.
    pub waiters: u32,
    /// `None` only while it is dropped.
    pub ring: Option<Ring>,
    pub stags: StagSlots,
    pub domains: BTreeSet<u16>,
    pub streams: Vec<StreamState>,
    /// Taken from the ring, not yet polled.
    pub ready: Ready,
}

/// Completions and errors for the program.
pub(crate) type Ready = VecDeque<Result<Completion, Error>>;

/// State of a stream.
#[derive(Default)]
pub(crate) struct StreamState {
    pub armed: bool,
    /// Its error event was reported.
    pub failed: bool,
    /// The peer has closed it.
    pub closed: bool,
    /// Its protection domain, while it is armed.
    pub domain: u16,
    /// How often it was closed: a memory region of an earlier generation must not serve the present one.
    pub generation: u64,
    /// Its untagged queues, by number.
    pub queues: Vec<Option<PostedQueue>>,
    /// Its send ring, once it is attached.
    pub sends: Option<PostedSends>,
    /// The inbox of the queue pair that handles it.
    pub route: Option<Route>,
}

/// An untagged queue.
pub(crate) struct PostedQueue {
    /// MSN of the next buffer to be posted.
    pub next_msn: u32,
    pub posted: VecDeque<(u32, Buffer)>,
    pub ring: ReceiveRing,
    /// The device takes the messages from these buffers; then none is posted.
    pub device: Option<ReadBuffers>,
}

impl PostedQueue {
    /// Takes the buffer of a message; after an error nothing has changed.
    fn take(&mut self, msn: u32, length: u32) -> Result<Buffer, &'static str> {
        let of_device = self.device.as_ref().map(|buffers| buffers.buffer(msn));
        let buffer = match (&of_device, self.posted.front()) {
            (Some(buffer), _) => buffer,
            (None, Some((due, buffer))) if *due == msn => buffer,
            (None, Some(_)) => return Err("another MSN is due"),
            (None, None) => return Err("no buffer is posted"),
        };
        if length > buffer.len() {
            return Err("the message is longer than its buffer");
        }
        let posted = || self.posted.pop_front().map(|(_, buffer)| buffer);
        of_device.or_else(posted).ok_or("no buffer is posted")
    }
}

impl StreamState {
    /// Hands a notice to the queue pair, or to the program.
    fn report(&mut self, stream: u8, notice: Result<Notice, Error>, ready: &mut Ready) {
        if let Some(route) = &mut self.route {
            return route.push(notice);
        }
        match notice {
            Ok(Notice::Completion(completion)) => ready.push_back(Ok(completion)),
            Ok(Notice::Sent(done)) if done.wanted || done.status != SendStatus::Ok => {
                ready.push_back(Ok(Completion::Sent(SentCompletion {
                    stream,
                    id: done.id,
                    status: done.status,
                    length: done.length,
                })));
            }
            // only a queue pair lets the device answer
            Ok(Notice::Sent(_) | Notice::ResponseFailed(_)) => {}
            Err(error) => ready.push_back(Err(error)),
        }
    }

    /// Returns all posted buffers, queue by queue, in the order of their MSNs.
    fn flush(&mut self, stream: u8, ready: &mut Ready) {
        let mut flushed = Vec::new();
        for (queue, posted) in (0..).zip(&mut self.queues) {
            for (msn, buffer) in posted.iter_mut().flat_map(|queue| queue.posted.drain(..)) {
                flushed.push(FlushedReceive {
                    stream,
                    queue,
                    msn,
                    buffer,
                });
            }
        }
        for receive in flushed {
            let completion = Completion::Flushed(receive);
            self.report(stream, Ok(Notice::Completion(completion)), ready);
        }
    }

    /// Reports all requests of the send ring that are not reported as flushed, and frees the ring.
    fn flush_sends(&mut self, stream: u8, ready: &mut Ready) {
        let mut sends = self.sends.take();
        while let Some(done) = sends.as_mut().and_then(PostedSends::flush) {
            self.report(stream, Ok(Notice::Sent(done)), ready);
        }
    }

    /// Keeps all posted buffers and the rings permanently: the device may still reach them.
    pub fn leak(&mut self) {
        if let Some(sends) = self.sends.take() {
            sends.leak();
        }
        for mut queue in self.queues.drain(..).flatten() {
            queue.posted.drain(..).for_each(mem::forget);
            mem::forget(queue.device.take());
            queue.ring.leak();
        }
    }
}

impl Shared {
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there is a mailbox whose interrupt reaches the driver.
    pub fn mailbox_interrupt(&self) -> bool {
        self.capabilities.mailbox && self.dma.device.vectors() > mailbox::INTERRUPT
    }

    pub fn read(&self, register: Register, index: u32) -> Result<u32, Error> {
        self.dma.read(register, index)
    }

    pub fn write(&self, register: Register, index: u32, value: u32) -> Result<(), Error> {
        self.dma.write(register, index, value)
    }

    /// Checks that the device has this stream.
    pub fn check_stream(&self, stream: u8) -> Result<(), Error> {
        let streams = self.shape.streams;
        if stream < streams {
            Ok(())
        } else {
            Err(Error::NoStream { stream, streams })
        }
    }

    /// The error record of a stream.
    pub fn error_record(&self, stream: u8) -> Result<Option<ErrorRecord>, Error> {
        self.check_stream(stream)?;
        let base = register::ERROR_RECORD.at(stream.into());
        let mut words = [0; error_record::WORDS];
        for (i, word) in (0..).zip(&mut words) {
            let read = self.dma.device.read(base + 4 * i);
            *word = read.map_err(Error::device("reading a register"))?;
        }
        let malformed = |reason| Error::Record {
            stream,
            words,
            reason,
        };
        ErrorRecord::parse(stream, &words).map_err(malformed)
    }

    /// Starts a command and waits until it is done.
    ///
    /// After any error but [`Error::Refused`] the driver gives the device up: its state is unknown.
    pub fn command(&self, state: &mut State, number: u32, arguments: &[u32]) -> Result<(), Error> {
        if state.gone {
            return Err(Error::Gone);
        }
        let result = self.execute(state, number, arguments);
        state.gone = !matches!(result, Ok(()) | Err(Error::Refused { .. }));
        result
    }

    fn execute(&self, state: &mut State, number: u32, arguments: &[u32]) -> Result<(), Error> {
        let name = command::COMMANDS
            .iter()
            .chain(transmit::COMMANDS)
            .find(|command| command.value.value == number)
            .map_or("?", |command| command.value.name);
        for (index, word) in (0..).zip(arguments) {
            self.write(register::ARGUMENT, index, *word)?;
        }
        self.write(register::COMMAND, 0, number)?;
        let start = Instant::now();
        loop {
            let found = self.read(register::COMMAND, 0)?;
            if found == u32::MAX {
                return Err(Error::Gone); // the bus reads all ones where no device answers
            }
            if register::COMMAND_NUMBER.get(&[found]) != u64::from(number) {
                return Err(Error::CommandLost {
                    command: name,
                    found,
                });
            }
            if register::COMMAND_BUSY.get(&[found]) == 0 {
                return match register::COMMAND_FAILED.get(&[found]) {
                    0 => Ok(()),
                    _ => Err(Error::Refused {
                        command: name,
                        arguments: arguments.to_vec(),
                    }),
                };
            }
            if start.elapsed() > self.command_timeout {
                return Err(Error::CommandTimeout {
                    command: name,
                    timeout: self.command_timeout,
                });
            }
            self.drain(state)?;
        }
    }

    /// Moves new entries from the ring to `ready`, at most one round of the ring.
    pub fn drain(&self, state: &mut State) -> Result<(), Error> {
        let State {
            ring: Some(ring),
            streams,
            ready,
            missing_buffers,
            ..
        } = state
        else {
            return Ok(());
        };
        let before = ring.consumed();
        while ring.consumed().wrapping_sub(before) < ring.entries() {
            let index = ring.consumed();
            let Some(words) = ring.next() else { break };
            let malformed = |reason| Error::Completion {
                index,
                words,
                reason,
            };
            match complete(&words, streams) {
                Ok((stream, notice)) => {
                    let error = match &notice {
                        Notice::Completion(Completion::Error(event)) => Some(*event),
                        _ => None,
                    };
                    let state = &mut streams[usize::from(stream)];
                    state.report(stream, Ok(notice), ready);
                    if let Some(event) = error {
                        let missing = event.is_missing_buffer();
                        *missing_buffers = missing_buffers.wrapping_add(missing.into());
                        state.failed = true;
                        state.flush(stream, ready);
                    }
                }
                Err(reason) => {
                    let error = Err(malformed(reason));
                    let stream = completion::STREAM.get(&words) as u8;
                    match streams.get_mut(usize::from(stream)) {
                        Some(state) => state.report(stream, error, ready),
                        None => ready.extend(error.err().map(Err)),
                    }
                }
            }
        }
        if ring.consumed() != before {
            self.write(register::COMPLETION_CONSUMER, 0, ring.consumed())?;
        }
        Ok(())
    }

    /// The next completion, from `ready` or from the ring.
    pub fn next(&self, state: &mut State) -> Result<Option<Completion>, Error> {
        if state.ready.is_empty() {
            if state.faulted {
                return Err(Error::CompletionFault);
            }
            if let Err(error) = self.drain(state) {
                state.ready.push_back(Err(error)); // after the entries that were drained before
            }
        }
        if state.ready.is_empty() {
            self.idle(state)?;
        }
        state.ready.pop_front().transpose()
    }

    /// Moves new entries to the inboxes of queue pairs. An error that belongs to no stream is returned.
    pub fn collect(&self, state: &mut State) -> Result<(), Error> {
        if state.faulted {
            return Err(Error::CompletionFault);
        }
        self.drain(state)?;
        match state.ready.front() {
            Some(Err(_)) => state
                .ready
                .pop_front()
                .map_or(Ok(()), |first| first.map(drop)),
            _ => Ok(()),
        }
    }

    /// Counts a poll that found nothing, and checks for a fault now and then.
    pub fn idle(&self, state: &mut State) -> Result<(), Error> {
        state.idle_polls = state.idle_polls.wrapping_add(1);
        if state.idle_polls.is_multiple_of(POLLS_PER_FAULT_CHECK) {
            self.check_fault(state)?;
        }
        Ok(())
    }

    /// Clears earlier messages, and asks for one as soon as the ring holds an entry that is not consumed. The caller polls
    /// the ring once more before it sleeps.
    pub fn request_interrupt(&self, state: &mut State) -> Result<(), Error> {
        if state.faulted {
            return Err(Error::CompletionFault);
        }
        if state.gone {
            return Err(Error::Gone);
        }
        self.check_fault(state)?;
        let device = &*self.dma.device;
        let drained = interrupt::drain(device, vector::COMPLETION);
        drained.map_err(|error| Error::device("draining an eventfd")(error.into()))?;
        let consumed = state.ring.as_ref().map_or(0, Ring::consumed);
        self.write(register::COMPLETION_ARM, 0, consumed)
    }

    /// Checks whether the device has reported a fault, or is gone.
    fn check_fault(&self, state: &mut State) -> Result<(), Error> {
        let device = &*self.dma.device;
        let hung_up = interrupt::hung_up(device);
        if hung_up
            .map_err(|error| Error::device("checking the connection to the device")(error.into()))?
        {
            state.gone = true;
            return Err(Error::Gone);
        }
        let reported = interrupt::drain(device, vector::FAULT);
        if !reported.map_err(|error| Error::device("draining an eventfd")(error.into()))? {
            return Ok(());
        }
        // The message alone proves no fault: the test register sends one too, and so may a backend that loses the card.
        let found = self.read(register::INTERRUPT_STATE, 0)?;
        if found == u32::MAX {
            state.gone = true;
            return Err(Error::Gone);
        }
        if register::INTERRUPT_FAULT.get(&[found]) == 0 {
            return Ok(());
        }
        (state.gone, state.faulted) = (true, true);
        Err(Error::CompletionFault)
    }

    /// Returns the buffers and requests of a closed stream, and frees its rings.
    pub fn flush(&self, state: &mut State, stream: u8) {
        let State { streams, ready, .. } = state;
        let state = &mut streams[usize::from(stream)];
        state.flush_sends(stream, ready);
        state.flush(stream, ready);
        state.queues.clear();
    }
}

/// Completes an entry with its posted buffer or request.
fn complete(
    words: &[u32; WORDS],
    streams: &mut [StreamState],
) -> Result<(u8, Notice), &'static str> {
    // At most 16 streams: the shape was checked.
    let entry = Entry::parse(words, streams.len() as u8)?;
    let stream = match &entry {
        Entry::Tagged(completion) => completion.stream,
        Entry::Untagged { stream, .. } => *stream,
        Entry::Closed(event) => event.stream,
        Entry::Error(event) => event.stream,
        Entry::Sent(event) => event.stream,
    };
    let state = &mut streams[usize::from(stream)];
    if !state.armed {
        return Err("the stream is not armed");
    }
    if let Entry::Sent(event) = &entry {
        // Requests are reported behind an error as well: those that are flushed, and the last message.
        if event.response {
            return match event.status {
                SendStatus::Ok => Err("a Read Response that was sent is not reported"),
                status => Ok((stream, Notice::ResponseFailed(status))),
            };
        }
        let sends = state.sends.as_mut().ok_or("the stream has no send ring")?;
        return Ok((stream, Notice::Sent(sends.complete(event)?)));
    }
    let completion = receive(entry, state)?;
    Ok((stream, Notice::Completion(completion)))
}

/// Completes an entry of the receive side with its posted buffer.
fn receive(entry: Entry, state: &mut StreamState) -> Result<Completion, &'static str> {
    if state.failed {
        return Err("the stream has failed before");
    }
    if state.closed && matches!(entry, Entry::Tagged(_) | Entry::Untagged { .. }) {
        return Err("the stream has been closed before");
    }
    match entry {
        Entry::Tagged(completion) => Ok(Completion::Tagged(completion)),
        Entry::Closed(_) if mem::replace(&mut state.closed, true) => {
            Err("the stream has been closed before")
        }
        Entry::Closed(event) => Ok(Completion::Closed(event)),
        Entry::Error(event) => Ok(Completion::Error(event)),
        Entry::Sent(_) => Err("no such kind"), // taken before
        Entry::Untagged {
            stream,
            queue,
            msn,
            length,
            rsvd_ulp,
            hole,
            anomaly,
        } => {
            let number = u8::try_from(queue).map_err(|_| "no such queue")?;
            let posted = state
                .queues
                .get_mut(usize::from(number))
                .and_then(Option::as_mut);
            let posted = posted.ok_or("the stream has no such queue")?;
            let buffer = posted.take(msn, length)?;
            Ok(Completion::Untagged(UntaggedCompletion {
                stream,
                queue: number,
                msn,
                length,
                rsvd_ulp,
                hole,
                anomaly,
                buffer,
            }))
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // Handles keep `Shared`: streams are closed and regions revoked, only the completion queue is left.
        let reset = self.dma.device.reset();
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = &reset {
            tracing::warn!(%error, "the device could not be reset");
        }
        if reset.is_err()
            && let Some(ring) = state.ring.take()
        {
            ring.leak();
        }
    }
}
