//! Streams in full operation, and their untagged queues.

use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;

use warpline_regmap::layout::{close, stream_context};
use warpline_regmap::register::{self, command};
use warpline_regmap::transmit;

use crate::buffer::Buffer;
use crate::domain::Domain;
use crate::error::{Error, Returned};
use crate::error_record::ErrorRecord;
use crate::posted_sends::PostedSends;
use crate::read_buffers::ReadBuffers;
use crate::receive_ring::ReceiveRing;
use crate::route::Route;
use crate::send_queue::SendQueue;
use crate::send_ring::SendRing;
use crate::shared::{PostedQueue, Shared, State};

/// How a stream enters full operation (AMB-16).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamOptions {
    /// TCP sequence number of the first octet after the peer's start frame.
    pub sequence_start: u32,
    /// The peer inserts markers.
    pub markers: bool,
    /// CRCs are checked.
    pub crc: bool,
    /// Tagged messages are reported as completions (AMB-44).
    pub tagged_completions: bool,
    /// The segments of an untagged message must arrive in order and without gaps: an MO other than the number of octets
    /// placed so far is an error. Otherwise the completion says when octets are missing (AMB-07).
    pub strict_mo: bool,
    /// Segments of an untagged message may arrive before those of earlier messages, up to the number of buffers that the
    /// device holds ([`Shape::receive_slots`](crate::Shape)); completions keep the order of MSNs. Otherwise only the first
    /// posted buffer accepts segments: any other MSN is an error (AMB-04).
    pub msn_window: bool,
    /// Without markers, ULPDUs above [`Shape::max_ulpdu`](crate::Shape) are accepted, up to 65535 octets, where the device's
    /// ring holds their FPDU: for a peer that sends what RFC 5044 does not allow. Otherwise they are an error (AMB-21).
    pub long_ulpdus: bool,
    /// Untagged queues, one bit per queue number.
    pub queues: u8,
    /// MSN of the first message of each queue: 1, except to test the wrap (DDP-UNT-11).
    pub first_msn: u32,
    /// Buffers that each queue can hold: a power of two from 16 to 32768.
    pub receive_entries: u32,
}

impl Default for StreamOptions {
    /// Sequence number 0, no markers, CRCs checked, tagged messages reported, messages in order, their segments in any
    /// order, ULPDUs up to 64768 octets, queue 0, first MSN 1, 256 buffers.
    fn default() -> Self {
        Self {
            sequence_start: 0,
            markers: false,
            crc: true,
            tagged_completions: true,
            strict_mo: false,
            msn_window: false,
            long_ulpdus: false,
            queues: 0b1,
            first_msn: 1,
            receive_entries: 256,
        }
    }
}

/// A stream that the device receives on, from [`ProtectionDomain::arm`](crate::ProtectionDomain::arm) until it is closed.
/// Dropping it closes it as well, but cannot report errors.
///
/// An error freezes the stream, but only the program closes it (DDP-TEAR-17).
///
/// A receive queue does not outlive its stream:
///
/// ```compile_fail,E0505
/// # use warpline_driver::*;
/// fn late(stream: Stream, buffer: Buffer) {
///     let queue = stream.receive_queue(0).unwrap();
///     stream.close();
///     queue.post(buffer);
/// }
/// ```
pub struct Stream {
    domain: Arc<Domain>,
    number: u8,
    open: bool,
}

impl Stream {
    /// Arms stream `number` in `domain`.
    pub(crate) fn arm(
        domain: &Arc<Domain>,
        number: u8,
        options: StreamOptions,
    ) -> Result<Self, Error> {
        let context = context(number, domain.id, &options);
        Self::begin(domain, number, options, Some(&context))
    }

    /// Takes over stream `number`, which the card's control program has armed in `domain` with `options`.
    pub(crate) fn adopt(
        domain: &Arc<Domain>,
        number: u8,
        options: StreamOptions,
    ) -> Result<Self, Error> {
        Self::begin(domain, number, options, None)
    }

    /// Records the stream, arms it with `context` unless it is armed, and attaches its receive rings.
    fn begin(
        domain: &Arc<Domain>,
        number: u8,
        options: StreamOptions,
        context: Option<&[u32]>,
    ) -> Result<Self, Error> {
        let shared = &domain.shared;
        let (mask, queues) = (options.queues, shared.shape.queues);
        shared.check_stream(number)?;
        if u32::from(mask) >> queues != 0 {
            return Err(Error::QueueMask { mask, queues });
        }
        ReceiveRing::check(options.receive_entries)?;
        let mut state = shared.state();
        check_free(&state, number, domain.id)?;
        let mut posted = Vec::new();
        for queue in 0..queues {
            posted.push(match mask >> queue & 1 {
                0 => None,
                _ => Some(PostedQueue {
                    next_msn: options.first_msn,
                    posted: VecDeque::new(),
                    ring: ReceiveRing::new(&shared.dma, options.receive_entries)?,
                    device: None,
                }),
            });
        }
        // Record the stream before arming it: completions may come at once.
        let stream = &mut state.streams[usize::from(number)];
        stream.queues = posted;
        stream.domain = domain.id;
        (stream.armed, stream.failed, stream.closed) = (true, false, false);
        if let Some(context) = context
            && let Err(error) = shared.command(&mut state, command::ARM_STREAM, context)
        {
            let stream = &mut state.streams[usize::from(number)];
            stream.armed = false;
            stream.queues.clear(); // the device knows none of the rings
            return Err(error);
        }
        // From here on, dropping `armed` closes the stream.
        let armed = Self {
            domain: Arc::clone(domain),
            number,
            open: true,
        };
        for queue in (0..queues).filter(|queue| mask >> queue & 1 == 1) {
            let ring = self::posted(&mut state, number, queue).map(|q| &q.ring);
            let Some(words) = ring.map(|ring| ring.arguments(number, queue)) else {
                continue;
            };
            if let Err(error) = shared.command(&mut state, command::SET_RECEIVE_RING, &words) {
                drop(state); // closing takes the lock
                return Err(error);
            }
        }
        Ok(armed)
    }

    /// Gives the stream a send ring of `entries` slots, a power of two from 4 to 4096. A stream has one send queue.
    ///
    /// # Errors
    /// [`Error::NoTransmit`], [`Error::SendEntries`], [`Error::SendQueueAttached`], [`Error::StreamFailed`], those of memory
    /// and commands.
    pub fn attach_send_queue(&self, entries: u32) -> Result<SendQueue<'_>, Error> {
        self.attach_sends(entries, entries / 4)
    }

    /// The same; the device reports one of `reported_of` requests in a row, whatever the program asks for.
    pub(crate) fn attach_sends(
        &self,
        entries: u32,
        reported_of: u32,
    ) -> Result<SendQueue<'_>, Error> {
        let stream = self.number;
        let shared = &self.domain.shared;
        if !shared.capabilities.transmit {
            return Err(Error::NoTransmit);
        }
        SendRing::check(entries)?;
        let mut state = shared.state();
        if state.gone {
            return Err(Error::Gone);
        }
        let found = &mut state.streams[usize::from(stream)];
        if found.sends.is_some() {
            return Err(Error::SendQueueAttached { stream });
        }
        let ring = SendRing::new(&shared.dma, entries)?;
        let words = ring.arguments(stream);
        match shared.command(&mut state, transmit::SET_SEND_RING, &words) {
            Ok(()) => {}
            Err(error @ Error::Refused { .. }) => return Err(error),
            Err(error) => {
                ring.leak(); // the device may know it
                return Err(error);
            }
        }
        state.streams[usize::from(stream)].sends = Some(PostedSends::new(ring, reported_of));
        drop(state);
        self.send_queue()
    }

    /// Its send queue.
    ///
    /// # Errors
    /// [`Error::NoSendQueue`].
    pub fn send_queue(&self) -> Result<SendQueue<'_>, Error> {
        let (shared, stream) = (&*self.domain.shared, self.number);
        match shared.state().streams[usize::from(stream)].sends {
            Some(_) => Ok(SendQueue { shared, stream }),
            None => Err(Error::NoSendQueue { stream }),
        }
    }

    /// Its protection domain.
    pub(crate) fn domain(&self) -> &Arc<Domain> {
        &self.domain
    }

    /// Its number.
    #[must_use]
    pub fn number(&self) -> u8 {
        self.number
    }

    /// Lets the device answer the messages of `queue`, which are Read Requests, of which `unanswered` may be under way. It takes
    /// them from [`ReadBuffers`]; nothing may be posted to the queue.
    pub(crate) fn attach_read_responder(&self, queue: u8, unanswered: u16) -> Result<(), Error> {
        let stream = self.number;
        let shared = &self.domain.shared;
        let mut state = shared.state();
        if state.gone {
            return Err(Error::Gone);
        }
        let q = posted(&mut state, stream, queue).ok_or(Error::NoQueue { stream, queue })?;
        let buffers = ReadBuffers::new(&shared.dma, q.ring.entries(), q.next_msn)?;
        for (address, length) in buffers.places() {
            q.ring.put(address, length);
        }
        let words = buffers.arguments(stream);
        // Announced buffers belong to the device until the stream is closed, whatever becomes of the command.
        q.device = Some(buffers);
        ring(shared, stream, queue, unanswered.into())?;
        shared.command(&mut state, transmit::SET_READ_RESPONDER, &words)
    }

    /// One of its untagged queues.
    ///
    /// # Errors
    /// [`Error::NoQueue`].
    pub fn receive_queue(&self, queue: u8) -> Result<ReceiveQueue<'_>, Error> {
        let state = self.domain.shared.state();
        let queues = &state.streams[usize::from(self.number)].queues;
        match queues.get(usize::from(queue)) {
            Some(Some(_)) => Ok(ReceiveQueue {
                stream: self,
                queue,
            }),
            _ => Err(Error::NoQueue {
                stream: self.number,
                queue,
            }),
        }
    }

    /// Sequence number after the last octet received in order.
    ///
    /// # Errors
    /// Those of the backend.
    pub fn edge(&self) -> Result<u32, Error> {
        let shared = &self.domain.shared;
        shared.read(register::STREAM_EDGE, self.number.into())
    }

    /// Sequence number after the last octet that the device has room for.
    ///
    /// # Errors
    /// Those of the backend.
    pub fn limit(&self) -> Result<u32, Error> {
        let shared = &self.domain.shared;
        shared.read(register::STREAM_LIMIT, self.number.into())
    }

    /// Its error record, if it met an error (AMB-09).
    ///
    /// # Errors
    /// [`Error::Record`], those of the backend.
    pub fn error_record(&self) -> Result<Option<ErrorRecord>, Error> {
        self.domain.shared.error_record(self.number)
    }

    /// Stops receiving. When it returns, nothing of the stream is under way, and posted buffers come back as
    /// [`Completion::Flushed`](crate::Completion::Flushed) after the last of its completions.
    ///
    /// # Errors
    /// Those of commands; posted buffers are then kept permanently, because the device may still write to them.
    pub fn close(mut self) -> Result<(), Error> {
        self.end().0
    }

    /// As [`close`](Self::close); returns what a queue pair has not taken yet.
    pub(crate) fn close_routed(mut self) -> (Result<(), Error>, Option<Route>) {
        self.end()
    }

    fn end(&mut self) -> (Result<(), Error>, Option<Route>) {
        if !mem::take(&mut self.open) {
            return (Ok(()), None);
        }
        let mut words = [0; close::WORDS];
        close::STREAM.put(&mut words, self.number.into());
        let shared = &self.domain.shared;
        let mut state = shared.state();
        let closed = shared
            .command(&mut state, command::CLOSE_STREAM, &words)
            .and_then(|()| shared.drain(&mut state));
        if closed.is_err() {
            let stream = &mut state.streams[usize::from(self.number)];
            stream.leak();
            return (closed, stream.route.take());
        }
        shared.flush(&mut state, self.number);
        let stream = &mut state.streams[usize::from(self.number)];
        stream.armed = false;
        stream.generation += 1;
        (Ok(()), stream.route.take())
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Err(error) = self.end().0 {
            tracing::warn!(stream = self.number, %error, "stream not closed");
        }
    }
}

/// An untagged queue of a stream.
#[derive(Clone, Copy)]
pub struct ReceiveQueue<'s> {
    stream: &'s Stream,
    queue: u8,
}

impl ReceiveQueue<'_> {
    /// Posts `buffer` and returns the MSN of its message. The completion returns the buffer.
    ///
    /// # Errors
    /// [`Error::StreamFailed`], [`Error::QueueFull`], those of the backend. The buffer is returned unless the device may
    /// access it.
    pub fn post(&self, buffer: Buffer) -> Result<u32, Returned<Buffer>> {
        let mut buffer = Some(buffer);
        match self.post_from(&mut || buffer.take()) {
            Ok(next_msn) => Ok(next_msn.wrapping_sub(1)),
            Err((error, back)) => Err(Returned { error, item: back }),
        }
    }

    /// Posts as many of `buffers` as the queue can hold, with one doorbell. Returns their number.
    ///
    /// # Errors
    /// As [`post`](Self::post). [`Error::QueueFull`] returns the buffers that did not fit; those before them are posted.
    pub fn post_many(
        &self,
        buffers: impl IntoIterator<Item = Buffer>,
    ) -> Result<usize, Returned<Vec<Buffer>>> {
        let mut buffers = buffers.into_iter();
        let mut taken = 0;
        let posted = self.post_from(&mut || {
            let next = buffers.next();
            taken += usize::from(next.is_some());
            next
        });
        match posted {
            Ok(_) => Ok(taken),
            Err((error, back)) => {
                let rest: Vec<_> = back.into_iter().chain(buffers).collect();
                let item = (!rest.is_empty()).then_some(rest);
                Err(Returned { error, item })
            }
        }
    }

    /// Posts the buffers that `next` yields, then rings the doorbell once. Returns the MSN of the next buffer, or the buffer
    /// that could not be posted; those before it are posted.
    fn post_from(
        &self,
        next: &mut dyn FnMut() -> Option<Buffer>,
    ) -> Result<u32, (Error, Option<Buffer>)> {
        let (stream, queue) = (self.stream.number, self.queue);
        let shared = &self.stream.domain.shared;
        let mut state = shared.state();
        let mut put = false;
        let refused = loop {
            let Some(buffer) = next() else { break None };
            if let Err(error) = room(shared, &mut state, stream, queue) {
                break Some((error, Some(buffer)));
            }
            let (address, length) = (buffer.iova(), buffer.len());
            let Some(q) = posted(&mut state, stream, queue) else {
                break Some((Error::NoQueue { stream, queue }, Some(buffer)));
            };
            // Record the buffer before posting it: its completion may come at once.
            let msn = q.next_msn;
            q.next_msn = msn.wrapping_add(1);
            q.posted.push_back((msn, buffer));
            q.ring.put(address, length);
            put = true;
        };
        let Some(q) = posted(&mut state, stream, queue) else {
            return Err(refused.unwrap_or((Error::NoQueue { stream, queue }, None)));
        };
        if !put {
            return refused.map_or(Ok(q.next_msn), Err);
        }
        if let Err(error) = ring(shared, stream, queue, q.ring.doorbell()) {
            let back = refused.and_then(|(_, back)| back);
            return Err((error, back)); // posted buffers stay posted: the device may access them
        }
        refused.map_or(Ok(q.next_msn), Err)
    }
}

/// The doorbell of a receive ring: descriptors written so far, modulo 2^16.
fn ring(shared: &Shared, stream: u8, queue: u8, produced: u32) -> Result<(), Error> {
    let element = register::RECEIVE_PRODUCER_STRIDE * u32::from(stream) + u32::from(queue);
    shared.write(register::RECEIVE_PRODUCER, element, produced)
}

/// Checks that stream `number` can be armed in `domain`, with the memory regions that exist.
fn check_free(state: &State, number: u8, domain: u16) -> Result<(), Error> {
    if state.gone {
        return Err(Error::Gone);
    }
    let generation = state.streams[usize::from(number)].generation;
    if state.streams[usize::from(number)].armed {
        return Err(Error::StreamArmed { stream: number });
    }
    let stale = |stream| matches!(stream, Some((n, g)) if n == number && g != generation);
    if let Some(holder) = state.stags.holders().find(|holder| stale(holder.stream)) {
        let stag = holder.stag;
        return Err(Error::StreamRegions {
            stream: number,
            stag,
        });
    }
    let of_it = |stream| matches!(stream, Some((n, _)) if n == number);
    let mut holders = state.stags.holders();
    if let Some(holder) = holders.find(|holder| of_it(holder.stream) && holder.domain != domain) {
        return Err(Error::RegionDomain {
            stream: number,
            stag: holder.stag,
            domain: holder.domain,
        });
    }
    Ok(())
}

/// Arguments of `ARM_STREAM`.
fn context(number: u8, domain: u16, options: &StreamOptions) -> [u32; stream_context::WORDS] {
    let mut words = [0; stream_context::WORDS];
    stream_context::STREAM.put(&mut words, number.into());
    stream_context::MARKERS.put(&mut words, options.markers.into());
    stream_context::CRC.put(&mut words, options.crc.into());
    stream_context::TAGGED_COMPLETIONS.put(&mut words, options.tagged_completions.into());
    stream_context::STRICT_MO.put(&mut words, options.strict_mo.into());
    stream_context::MSN_WINDOW.put(&mut words, options.msn_window.into());
    stream_context::LONG_ULPDUS.put(&mut words, options.long_ulpdus.into());
    stream_context::QUEUES.put(&mut words, options.queues.into());
    stream_context::PROTECTION_DOMAIN.put(&mut words, domain.into());
    stream_context::SEQUENCE_START.put(&mut words, options.sequence_start.into());
    stream_context::FIRST_MSN.put(&mut words, options.first_msn.into());
    words
}

/// Checks that the queue has room for one more buffer; drains the ring when the queue seems full.
fn room(shared: &Shared, state: &mut State, stream: u8, queue: u8) -> Result<(), Error> {
    let Some(q) = posted(state, stream, queue) else {
        return Err(Error::NoQueue { stream, queue });
    };
    let slots = q.ring.entries();
    let full = |state: &mut State| {
        posted(state, stream, queue).is_some_and(|q| q.posted.len() >= slots as usize)
    };
    if full(state) {
        shared.drain(state)?;
    }
    if state.gone {
        return Err(Error::Gone);
    }
    if state.streams[usize::from(stream)].failed {
        return Err(Error::StreamFailed { stream });
    }
    if full(state) {
        return Err(Error::QueueFull {
            stream,
            queue,
            slots,
        });
    }
    Ok(())
}

fn posted(state: &mut State, stream: u8, queue: u8) -> Option<&mut PostedQueue> {
    let queues = &mut state.streams[usize::from(stream)].queues;
    queues.get_mut(usize::from(queue)).and_then(Option::as_mut)
}
