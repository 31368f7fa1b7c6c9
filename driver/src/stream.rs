//! Streams in full operation, and their untagged queues.

use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;

use warpline_regmap::layout::{close, receive_buffer, stream_context};
use warpline_regmap::register::{self, command};

use crate::buffer::Buffer;
use crate::domain::Domain;
use crate::shared::PostedQueue;
use crate::{Context, Error, ErrorRecord, Returned};

/// How a stream enters full operation (AMB-16).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamOptions {
    /// TCP sequence number of the first octet behind the peer's start frame.
    pub sequence_start: u32,
    /// The peer inserts markers.
    pub markers: bool,
    /// CRCs are checked.
    pub crc: bool,
    /// Tagged messages make completions (AMB-44).
    pub tagged_completions: bool,
    /// Untagged queues, one bit a queue number.
    pub queues: u8,
    /// MSN of the first message of each queue: 1, except to test the wrap (DDP-UNT-11).
    pub first_msn: u32,
}

impl Default for StreamOptions {
    /// Sequence number 0, no markers, CRCs checked, tagged messages reported, queue 0, first MSN 1.
    fn default() -> Self {
        Self {
            sequence_start: 0,
            markers: false,
            crc: true,
            tagged_completions: true,
            queues: 0b1,
            first_msn: 1,
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
    pub(crate) fn arm(
        domain: &Arc<Domain>,
        domain_id: u16,
        number: u8,
        options: StreamOptions,
    ) -> Result<Self, Error> {
        let shared = &domain.shared;
        let (mask, queues) = (options.queues, shared.shape.queues);
        shared.check_stream(number)?;
        if u32::from(mask) >> queues != 0 {
            return Err(Error::QueueMask { mask, queues });
        }
        let mut state = shared.state();
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

        let mut words = [0; stream_context::WORDS];
        stream_context::STREAM.put(&mut words, number.into());
        stream_context::MARKERS.put(&mut words, options.markers.into());
        stream_context::CRC.put(&mut words, options.crc.into());
        stream_context::TAGGED_COMPLETIONS.put(&mut words, options.tagged_completions.into());
        stream_context::QUEUES.put(&mut words, mask.into());
        stream_context::PROTECTION_DOMAIN.put(&mut words, domain_id.into());
        stream_context::SEQUENCE_START.put(&mut words, options.sequence_start.into());
        stream_context::FIRST_MSN.put(&mut words, options.first_msn.into());
        // First known, then armed: completions may come at once.
        let stream = &mut state.streams[usize::from(number)];
        let queue = |bit: u8| {
            (mask >> bit & 1 == 1).then(|| PostedQueue {
                next_msn: options.first_msn,
                posted: VecDeque::new(),
            })
        };
        stream.queues = (0..queues).map(queue).collect();
        (stream.armed, stream.failed) = (true, false);
        let armed = shared.command(&mut state, command::ARM_STREAM, &words);
        if let Err(error) = armed {
            state.streams[usize::from(number)].armed = false;
            return Err(error);
        }
        drop(state);
        let domain = Arc::clone(domain);
        Ok(Self {
            domain,
            number,
            open: true,
        })
    }

    /// Its number.
    #[must_use]
    pub fn number(&self) -> u8 {
        self.number
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

    /// Sequence number behind the last octet that was received in order.
    ///
    /// # Errors
    /// Those of the backend.
    pub fn edge(&self) -> Result<u32, Error> {
        let shared = &self.domain.shared;
        shared.read(register::STREAM_EDGE, self.number.into())
    }

    /// Sequence number behind the last octet that the device has room for.
    ///
    /// # Errors
    /// Those of the backend.
    pub fn limit(&self) -> Result<u32, Error> {
        let shared = &self.domain.shared;
        shared.read(register::STREAM_LIMIT, self.number.into())
    }

    /// Its error record, once it met an error (AMB-09).
    ///
    /// # Errors
    /// [`Error::Record`], those of the backend.
    pub fn error_record(&self) -> Result<Option<ErrorRecord>, Error> {
        let shared = Arc::clone(&self.domain.shared);
        Context { shared }.error_record(self.number)
    }

    /// Stops receiving. When it returns, nothing of the stream is under way, and posted buffers come back as
    /// [`Completion::Flushed`](crate::Completion::Flushed) behind the last of its completions.
    ///
    /// # Errors
    /// Those of commands; posted buffers are then kept for ever, because the device may still write to them.
    pub fn close(mut self) -> Result<(), Error> {
        self.end()
    }

    fn end(&mut self) -> Result<(), Error> {
        if !mem::take(&mut self.open) {
            return Ok(());
        }
        let mut words = [0; close::WORDS];
        close::STREAM.put(&mut words, self.number.into());
        let shared = &self.domain.shared;
        let mut state = shared.state();
        let closed = shared
            .command(&mut state, command::CLOSE_STREAM, &words)
            .and_then(|()| shared.drain(&mut state));
        if closed.is_err() {
            state.streams[usize::from(self.number)].leak();
            return closed;
        }
        shared.flush(&mut state, self.number);
        let stream = &mut state.streams[usize::from(self.number)];
        stream.armed = false;
        stream.generation += 1;
        Ok(())
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            tracing::warn!(stream = self.number, %error, "stream not closed");
        }
    }
}

/// An untagged queue of a stream, to post buffers to.
#[derive(Clone, Copy)]
pub struct ReceiveQueue<'s> {
    stream: &'s Stream,
    queue: u8,
}

impl ReceiveQueue<'_> {
    /// Hands `buffer` to the device and returns the MSN of the message it is for. It comes back with a completion.
    ///
    /// # Errors
    /// [`Error::StreamFailed`], [`Error::QueueFull`], those of commands. The buffer comes back unless the device may have
    /// it.
    pub fn post(&self, buffer: Buffer) -> Result<u32, Returned<Buffer>> {
        let (stream, queue) = (self.stream.number, self.queue);
        let shared = &self.stream.domain.shared;
        let slots = shared.shape.receive_slots;
        let back = |item| move |error| Returned { error, item };
        let mut state = shared.state();
        if posted(&mut state, stream, queue).is_some_and(|q| q.posted.len() >= slots as usize)
            && let Err(error) = shared.drain(&mut state)
        {
            return Err(back(Some(buffer))(error));
        }
        if state.streams[usize::from(stream)].failed {
            return Err(back(Some(buffer))(Error::StreamFailed { stream }));
        }
        let msn = match posted(&mut state, stream, queue) {
            None => return Err(back(Some(buffer))(Error::NoQueue { stream, queue })),
            Some(q) if q.posted.len() >= slots as usize => {
                let full = Error::QueueFull {
                    stream,
                    queue,
                    slots,
                };
                return Err(back(Some(buffer))(full));
            }
            Some(q) => q.next_msn,
        };

        let mut words = [0; receive_buffer::WORDS];
        receive_buffer::STREAM.put(&mut words, stream.into());
        receive_buffer::QUEUE.put(&mut words, queue.into());
        receive_buffer::LENGTH.put(&mut words, buffer.len().into());
        receive_buffer::ADDRESS.put(&mut words, buffer.iova());
        // First known, then posted: its completion may come before the command is seen done.
        if let Some(q) = posted(&mut state, stream, queue) {
            q.next_msn = msn.wrapping_add(1);
            q.posted.push_back((msn, buffer));
        }
        match shared.command(&mut state, command::POST_RECEIVE, &words) {
            Ok(()) => Ok(msn),
            Err(error @ Error::Refused { .. }) => {
                let buffer = posted(&mut state, stream, queue).and_then(|q| {
                    q.next_msn = msn;
                    q.posted.pop_back().map(|(_, buffer)| buffer)
                });
                Err(back(buffer)(error))
            }
            Err(error) => Err(back(None)(error)), // kept in the queue: the device may have it
        }
    }
}

fn posted(state: &mut crate::shared::State, stream: u8, queue: u8) -> Option<&mut PostedQueue> {
    let queues = &mut state.streams[usize::from(stream)].queues;
    queues.get_mut(usize::from(queue)).and_then(Option::as_mut)
}
