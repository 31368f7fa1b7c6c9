//! Queue pairs.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use warpline_regmap::mailbox::Rtr;
use warpline_regmap::transmit::READ_REQUESTS_MAX;
use warpline_wire::rdmap::{MAX_TERMINATE_LEN, READ_REQUEST_LEN, Version};

use super::machine::{End, Machine};
use super::options::PairOptions;
use super::request::{Data, Remote, WorkRequest};
use super::work::{PairEvent, PairState};
use super::work_queue::{Member, WorkQueue};
use super::{READ_REQUESTS, SENDS, TERMINATES};
use crate::buffer::{self, Buffer};
use crate::dma::Mapped;
use crate::error::{Error, Returned};
use crate::mailbox::Link;
use crate::memory::DmaMemory;
use crate::route::Route;
use crate::shared::Shared;
use crate::stream::Stream;

/// A pair of queues over a stream that speaks RDMAP (RFC 5040): requests are posted to it, and completions come from its
/// [`WorkQueue`].
///
/// Dropping it resets the connection, if there is one, and closes the stream. Requests and buffers come back as flushed.
pub struct QueuePair {
    inner: Arc<Pair>,
}

/// A queue pair, as its work queue sees it.
pub(crate) struct Pair {
    id: u64,
    number: u8,
    shared: Arc<Shared>,
    queue: WorkQueue,
    machine: Mutex<Machine>,
    link: Option<Link>,
}

impl QueuePair {
    /// Runs RDMAP over `stream`, which is armed with queues 0, 1 and 2 and with `tagged_completions`, and whose peer does not
    /// send yet. The stream gets a send queue.
    ///
    /// # Errors
    /// [`Error::NoTransmit`], [`Error::SendEntries`] when `send_depth` and `ird` are too large together, [`Error::NoQueue`],
    /// [`Error::QueueFull`] when the stream's receive rings are smaller than `ird`, those of memory and commands.
    pub fn over(stream: Stream, queue: &WorkQueue, options: PairOptions) -> Result<Self, Error> {
        Self::with_link(stream, queue, options, None)
    }

    pub(crate) fn with_link(
        stream: Stream,
        queue: &WorkQueue,
        options: PairOptions,
        link: Option<Link>,
    ) -> Result<Self, Error> {
        let shared = Arc::clone(&stream.domain().shared);
        let number = stream.number();
        stream.attach_sends(options.send_entries(), options.reported_of())?;
        let device_reads = options.device_reads
            && shared.capabilities.read_responder
            && (1..=READ_REQUESTS_MAX).contains(&usize::from(options.ird));
        if device_reads {
            stream.attach_read_responder(READ_REQUESTS, options.ird)?;
        } else {
            let requests = buffers(&shared, options.ird.into(), READ_REQUEST_LEN)?;
            stream.receive_queue(READ_REQUESTS)?.post_many(requests)?;
        }
        let terminates = buffers(&shared, 1, MAX_TERMINATE_LEN)?;
        stream.receive_queue(TERMINATES)?.post_many(terminates)?;
        stream.receive_queue(SENDS)?;
        let generation = {
            let mut state = shared.state();
            let signal = Arc::clone(queue.signal());
            let route = Route::new(number, signal, options.ord.into());
            let stream = &mut state.streams[usize::from(number)];
            stream.route = Some(route);
            stream.generation
        };
        let id = queue.next_id();
        let machine = Machine::new(
            id,
            stream,
            generation,
            Version::Ietf,
            &options,
            device_reads,
        );
        let inner = Arc::new(Pair {
            id,
            number,
            shared,
            queue: queue.clone(),
            machine: Mutex::new(machine),
            link,
        });
        let member: Arc<dyn Member> = Arc::clone(&inner) as _;
        queue.join(number, &member);
        Ok(Self { inner })
    }

    /// Its number in [`WorkCompletion::pair`](crate::WorkCompletion): unique in its work queue.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.inner.id
    }

    /// The number of its stream.
    #[must_use]
    pub fn stream(&self) -> u8 {
        self.inner.number
    }

    /// Its state, after all that was polled.
    #[must_use]
    pub fn state(&self) -> PairState {
        self.inner.lock().state
    }

    /// The queue of its completions.
    #[must_use]
    pub fn work_queue(&self) -> &WorkQueue {
        &self.inner.queue
    }

    /// Posts a request. Its memory is kept until its completion.
    ///
    /// # Errors
    /// [`Error::PairEnded`], [`Error::SendQueueFull`], [`Error::SendRequest`] for more than 8 pieces or 64 octets inline,
    /// [`Error::RegionDomain`], [`Error::ReadSink`], [`Error::NoReads`]: nothing was posted. Those of the backend: the request
    /// is posted.
    pub fn post_send(&self, request: WorkRequest) -> Result<(), Error> {
        self.post_sends([request])
    }

    /// Posts requests with one doorbell.
    ///
    /// # Errors
    /// As [`post_send`](Self::post_send), for the first request that could not be posted; those before it are.
    pub fn post_sends(&self, requests: impl IntoIterator<Item = WorkRequest>) -> Result<(), Error> {
        let mut machine = self.inner.lock();
        let mut requests = requests.into_iter();
        let posted = requests.try_for_each(|request| machine.post(request));
        let advanced = machine.advance();
        self.inner.deliver(machine);
        posted.and(advanced)
    }

    /// Posts a buffer for a Send of the peer.
    ///
    /// # Errors
    /// [`Error::PairEnded`], and those of [`ReceiveQueue::post`](crate::ReceiveQueue::post).
    pub fn post_receive(&self, buffer: Buffer) -> Result<(), Returned<Buffer>> {
        let machine = self.inner.lock();
        match &machine.stream {
            Some(stream) if machine.receives() => match stream.receive_queue(SENDS) {
                Ok(queue) => queue.post(buffer).map(drop),
                Err(error) => Err(Returned {
                    error,
                    item: Some(buffer),
                }),
            },
            _ => Err(Returned {
                error: Error::PairEnded {
                    stream: self.inner.number,
                },
                item: Some(buffer),
            }),
        }
    }

    /// Ends the connection gracefully: what was posted is sent, then a FIN. Nothing can be posted afterwards; the peer may
    /// send on until it ends its half, which a [`PairEvent::Closed`] reports (DDP-TEAR-06, 07, 11). Without a connection
    /// there is nothing to do but [`close`](Self::close).
    ///
    /// # Errors
    /// [`Error::NoConnection`], those of the mailbox.
    pub fn disconnect(&self) -> Result<(), Error> {
        let stream = self.inner.number;
        let link = self.inner.link.as_ref();
        let link = link.ok_or(Error::NoConnection { stream })?;
        let mut machine = self.inner.lock();
        machine.drain();
        end(link, machine.takes_end())
    }

    /// Posts the message that lets the Responder send first (RFC 6581 §9.2).
    pub(crate) fn post_rtr(&self, rtr: Rtr) -> Result<(), Error> {
        let nowhere = Remote { stag: 0, offset: 0 };
        let request = match rtr {
            Rtr { write: true, .. } => WorkRequest::write(0, Data::none(), nowhere),
            Rtr { read: true, .. } => WorkRequest::read_nothing(0),
            Rtr { send: true, .. } => WorkRequest::send(0, Data::none()),
            _ => return Ok(()),
        };
        self.post_send(request.internal())
    }

    /// Posts a buffer of no octets for the Send that the peer sends first, in front of the program's buffers: a longer message is
    /// no RTR indication, and ends the stream, since its first octet lies outside the buffer.
    pub(crate) fn await_rtr(&self) -> Result<(), Error> {
        let mut machine = self.inner.lock();
        let memory = DmaMemory::new(buffer::ALIGNMENT)?;
        let memory = Arc::new(Mapped::new(&self.inner.shared.dma, memory)?);
        if let Some(stream) = &machine.stream {
            let queue = stream.receive_queue(SENDS)?;
            let msn = queue.post(Buffer::new(memory, 0, 0, 0))?;
            machine.rtr = Some(msn);
        }
        Ok(())
    }

    /// Resets the connection, closes the stream, and reports all that is outstanding as flushed. When it returns, nothing of
    /// the pair is under way.
    ///
    /// # Errors
    /// Those of commands and of the mailbox; memory that the device may still access is then kept permanently.
    pub fn close(self) -> Result<(), Error> {
        self.inner.shut()
    }
}

impl Drop for QueuePair {
    fn drop(&mut self) {
        if let Err(error) = self.inner.shut() {
            tracing::warn!(stream = self.inner.number, %error, "queue pair not closed");
        }
    }
}

impl fmt::Debug for QueuePair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Pair { id, number, .. } = &*self.inner;
        let mut shown = f.debug_struct("QueuePair");
        shown.field("id", id).field("stream", number);
        shown.finish_non_exhaustive()
    }
}

impl Pair {
    fn lock(&self) -> MutexGuard<'_, Machine> {
        self.machine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands what the machine has reported to the work queue, in order: the lock is held until it is there.
    fn deliver(&self, mut machine: MutexGuard<'_, Machine>) {
        let out = machine.take_out();
        self.queue.push(out);
    }

    /// Closes the stream, then gives the connection back; each once.
    fn shut(&self) -> Result<(), Error> {
        let mut machine = self.lock();
        let closed = machine.close();
        let first = machine.takes_release();
        self.deliver(machine);
        if !first {
            return closed;
        }
        self.queue.leave(self.number, self.id);
        match &self.link {
            Some(link) => closed.and(link.release()),
            None => closed,
        }
    }
}

impl Member for Pair {
    fn id(&self) -> u64 {
        self.id
    }

    fn process(&self) {
        let mut machine = self.lock();
        while machine.stream.is_some() {
            let notice = {
                let mut state = self.shared.state();
                let route = &mut state.streams[usize::from(self.number)].route;
                route.as_mut().and_then(Route::pop)
            };
            let Some(notice) = notice else { break };
            machine.notice(notice);
        }
        if let Err(error) = machine.advance() {
            machine.out.push(Err(error));
        }
        if let Some(link) = &self.link {
            // After a Terminate, and after the last request of a pair that is to be disconnected.
            if let Err(error) = end(link, machine.takes_end()) {
                machine.out.push(Err(error));
            }
            if let Some(reason) = link.closed() {
                if let Err(error) = machine.close() {
                    machine.out.push(Err(error));
                }
                if machine.takes_closed() {
                    machine.event(PairEvent::Closed(reason));
                }
            }
        }
        self.deliver(machine);
    }
}

fn end(link: &Link, end: Option<End>) -> Result<(), Error> {
    match end {
        Some(End::Fin) => link.disconnect(),
        Some(End::Reset) => link.abort(),
        None => Ok(()),
    }
}

/// Buffers of the driver's own.
fn buffers(shared: &Shared, count: usize, length: usize) -> Result<Vec<Buffer>, Error> {
    if count == 0 {
        return Ok(Vec::new());
    }
    let stride = length.next_multiple_of(buffer::ALIGNMENT);
    let memory = Arc::new(Mapped::new(&shared.dma, DmaMemory::new(stride * count)?)?);
    let buffer = |i| Buffer::new(Arc::clone(&memory), stride * i, length as u32, i as u64);
    Ok((0..count).map(buffer).collect())
}
