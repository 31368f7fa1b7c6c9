//! The send queue of a stream: DDP messages out of local memory.

use std::sync::MutexGuard;

use warpline_regmap::transmit::{self, Flags, Payload, Target};

use crate::error::Error;
use crate::posted_sends::PostedSends;
use crate::shared::{Shared, State};

/// The send queue of a stream, from [`Stream::send_queue`](crate::Stream::send_queue).
///
/// It takes DDP messages: what their RsvdULP octets mean is the caller's business. [`QueuePair`](crate::QueuePair) speaks
/// RDMAP above it.
///
/// Elements name memory regions of the stream's protection domain by STag and Tagged Offset. Nobody needs to keep a region
/// alive: revoking or dropping it waits until the device reads no more of it, and requests that come to it later fail with
/// [`SendStatus::Stag`](crate::SendStatus::Stag).
#[derive(Clone, Copy)]
pub struct SendQueue<'s> {
    pub(crate) shared: &'s Shared,
    pub(crate) stream: u8,
}

impl SendQueue<'_> {
    /// Posts a message under the program's name `id`. With `flags.signalled`, and whenever it fails, a
    /// [`Completion::Sent`](crate::Completion::Sent) reports it.
    ///
    /// # Errors
    /// [`Error::SendRequest`], [`Error::SendQueueFull`], [`Error::Gone`], those of the backend.
    pub fn post(
        &self,
        target: Target,
        flags: Flags,
        id: u64,
        payload: Payload,
    ) -> Result<(), Error> {
        let mut state = self.lock();
        put(
            self.shared,
            &mut state,
            self.stream,
            target,
            flags,
            id,
            payload,
        )?;
        ring(self.shared, &state, self.stream)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.shared.state()
    }
}

/// Writes a request's slot and returns the request's number; the device knows nothing of it until [`ring`].
pub(crate) fn put(
    shared: &Shared,
    state: &mut State,
    stream: u8,
    target: Target,
    flags: Flags,
    id: u64,
    payload: Payload,
) -> Result<u64, Error> {
    if state.gone {
        return Err(Error::Gone);
    }
    if sends(state, stream)?.free() == 0 {
        shared.drain(state)?;
    }
    let sends = sends(state, stream)?;
    if sends.free() == 0 {
        let slots = sends.ring().entries();
        return Err(Error::SendQueueFull { stream, slots });
    }
    Ok(sends.put(target, flags, id, payload)?)
}

/// Tells the device of all requests that [`put`] has written.
pub(crate) fn ring(shared: &Shared, state: &State, stream: u8) -> Result<(), Error> {
    let sends = state.streams[usize::from(stream)].sends.as_ref();
    let doorbell = sends
        .ok_or(Error::NoSendQueue { stream })?
        .ring()
        .doorbell(stream);
    shared.write(transmit::SEND_PRODUCER, 0, doorbell)
}

fn sends(state: &mut State, stream: u8) -> Result<&mut PostedSends, Error> {
    let sends = state.streams[usize::from(stream)].sends.as_mut();
    sends.ok_or(Error::NoSendQueue { stream })
}
