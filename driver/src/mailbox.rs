//! The message pump. Whoever waits for a message pumps for all.
//!
//! ```text
//!   outgoing ─► MAILBOX, HOST_MESSAGE.PENDING ─► card
//!   card ─► CARD_MESSAGE.PENDING, eventfd ─► pump ─► dispatch ─► messages of a connection, its signal
//! ```
//!
//! No wake-up is lost: a thread asks its signal to be raised, pumps, looks, then sleeps until the mailbox's interrupt or its
//! signal. Who takes the interrupt pumps afterwards, and what it finds for others raises their signals.

use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use warpline_regmap::mailbox::records::{HEAD_WORDS, PRIVATE_WORD, message_private};
use warpline_regmap::mailbox::{self, CardMessage, CloseReason, HostMessage, Words};
use warpline_regmap::register;

use crate::error::Error;
use crate::interrupt;
use crate::mailbox_state::MailboxState;
use crate::route::Signal;
use crate::shared::Shared;

/// Most messages that are taken or passed at a time. A control program has far fewer for all its connections: one that always has
/// another would keep the caller for ever.
const MOST_AT_A_TIME: usize = 1 << 14;

/// Checks that there is a mailbox, and that its interrupt reaches the driver.
pub(crate) fn check(shared: &Shared) -> Result<(), Error> {
    if shared.mailbox_interrupt() {
        Ok(())
    } else {
        Err(Error::NoMailbox)
    }
}

/// The driver's part of the mailbox.
pub(crate) fn lock(shared: &Shared) -> MutexGuard<'_, MailboxState> {
    shared
        .mailbox
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
}

/// Sends what waits, as far as there is room, and takes messages of the card.
pub(crate) fn pump(shared: &Shared) -> Result<(), Error> {
    if !shared.mailbox_interrupt() {
        return Ok(());
    }
    let mut state = lock(shared);
    let device = &*shared.dma.device;
    let drained = interrupt::drain(device, mailbox::INTERRUPT);
    drained.map_err(|error| Error::device("draining an eventfd")(error.into()))?;
    let bit = 1 << mailbox::INTERRUPT;
    shared.write(register::INTERRUPT_STATE, 0, bit)?;
    for _ in 0..MOST_AT_A_TIME {
        let sent = send(shared, &mut state)?;
        let Some(words) = receive(shared)? else {
            if sent {
                continue; // the card may have taken it already
            }
            return Ok(());
        };
        match CardMessage::parse(&words) {
            Ok(message) => state.dispatch(message),
            Err(source) => {
                let head = words[0];
                return Err(Error::CardMessage { head, source });
            }
        }
    }
    Err(Error::CardMessages {
        count: MOST_AT_A_TIME,
    })
}

/// Passes the next message; whether there was one, and room.
fn send(shared: &Shared, state: &mut MailboxState) -> Result<bool, Error> {
    let Some(words) = state.outgoing.front() else {
        return Ok(false);
    };
    let pending = shared.read(mailbox::HOST_MESSAGE, 0)?;
    if pending == u32::MAX {
        return Err(Error::Gone);
    }
    if mailbox::HOST_MESSAGE_PENDING.get(&[pending]) == 1 {
        return Ok(false);
    }
    let private = message_private::LENGTH.get(words) as usize;
    let private = PRIVATE_WORD..PRIVATE_WORD + private.div_ceil(4);
    for index in (0..HEAD_WORDS).chain(private) {
        if let Some(word) = words.get(index) {
            shared.write(mailbox::MAILBOX, index as u32, *word)?;
        }
    }
    shared.write(mailbox::HOST_MESSAGE, 0, 1)?;
    state.outgoing.pop_front();
    Ok(true)
}

/// Takes a message of the card.
fn receive(shared: &Shared) -> Result<Option<Words>, Error> {
    let pending = shared.read(mailbox::CARD_MESSAGE, 0)?;
    if pending == u32::MAX {
        return Err(Error::Gone);
    }
    if mailbox::CARD_MESSAGE_PENDING.get(&[pending]) == 0 {
        return Ok(None);
    }
    let mut words: Words = [0; mailbox::MESSAGE_WORDS];
    let mut read = |range: std::ops::Range<usize>| {
        for index in range {
            if let Some(word) = words.get_mut(index) {
                *word = shared.read(mailbox::MAILBOX, index as u32)?;
            }
        }
        Ok::<_, Error>(message_private::LENGTH.get(&words) as usize)
    };
    let private = read(0..HEAD_WORDS)?;
    read(PRIVATE_WORD..PRIVATE_WORD + private.div_ceil(4))?;
    shared.write(mailbox::CARD_MESSAGE, 0, 1)?;
    Ok(Some(words))
}

/// Pumps until `find` finds something, at most until `deadline`; `None` after that.
pub(crate) fn wait<T>(
    shared: &Shared,
    signal: &Signal,
    deadline: Instant,
    find: &mut dyn FnMut(&mut MailboxState) -> Option<T>,
) -> Result<Option<T>, Error> {
    loop {
        signal.request();
        pump(shared)?;
        if let Some(found) = find(&mut lock(shared)) {
            return Ok(Some(found));
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(None);
        }
        if interrupt::hung_up(&*shared.dma.device)
            .map_err(|error| Error::device("checking the connection to the device")(error.into()))?
        {
            return Err(Error::Gone);
        }
        // While a message waits for room, its interrupt may have come before the message was queued by another thread.
        let left = match lock(shared).outgoing.is_empty() {
            true => left,
            false => left.min(Duration::from_millis(10)),
        };
        let device = &*shared.dma.device;
        let fds = [device.interrupt(mailbox::INTERRUPT), signal.fd()];
        let slept = interrupt::wait_any(&fds, device.hang_up(), left);
        slept.map_err(|error| Error::device("waiting for the device")(error.into()))?;
    }
}

/// A connection of a queue pair.
pub(crate) struct Link {
    pub shared: Arc<Shared>,
    pub connection: u16,
}

impl Link {
    /// A FIN behind all requests.
    pub fn disconnect(&self) -> Result<(), Error> {
        let connection = self.connection;
        self.send(&HostMessage::Disconnect { connection })
    }

    /// RST.
    pub fn abort(&self) -> Result<(), Error> {
        let connection = self.connection;
        self.send(&HostMessage::Abort { connection })
    }

    /// Gives number and stream back, after the stream was closed.
    pub fn release(&self) -> Result<(), Error> {
        let connection = self.connection;
        lock(&self.shared).forget_connection(connection);
        self.send(&HostMessage::Release { connection })
    }

    /// How the connection ended.
    pub fn closed(&self) -> Option<CloseReason> {
        lock(&self.shared).closed(self.connection)
    }

    fn send(&self, message: &HostMessage) -> Result<(), Error> {
        lock(&self.shared).send(message);
        pump(&self.shared)
    }
}
