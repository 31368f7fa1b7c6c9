//! From `ARMED` to full operation: the same for both ends.
//!
//! ```text
//!   ARMED ─► adopt the stream ─► queue pair: rings, buffers ─► PROCEED ─► [RTR] ─► ESTABLISHED
//! ```

use std::sync::Arc;
use std::time::Instant;

use warpline_regmap::mailbox::{Armed, CardMessage, HostMessage};

use super::options::QpOptions;
use crate::domain::Domain;
use crate::error::Error;
use crate::mailbox::{self, Link};
use crate::mailbox_state::MailboxState;
use crate::queue_pair::{QueuePair, WorkQueue};
use crate::route::Signal;
use crate::shared::Shared;
use crate::stream::Stream;

/// A connection before it has a queue pair. Dropping it ends the connection.
pub(super) struct Pending {
    pub shared: Arc<Shared>,
    pub connection: u16,
    pub signal: Arc<Signal>,
    /// What ends it when it is dropped; `None` once it belongs to a queue pair, or has ended.
    pub end: Option<HostMessage>,
}

impl Pending {
    /// Sends a message to the card.
    pub fn send(&self, message: &HostMessage) -> Result<(), Error> {
        mailbox::lock(&self.shared).send(message);
        mailbox::pump(&self.shared)
    }

    /// The next message for the connection.
    fn next(&mut self, deadline: Instant) -> Result<CardMessage, Error> {
        let connection = self.connection;
        let mut find = |state: &mut MailboxState| state.of_connection(connection);
        let message = mailbox::wait(&self.shared, &self.signal, deadline, &mut find)?;
        let message = message.ok_or(Error::ConnectionTimeout { connection })?;
        let error = match message {
            CardMessage::Rejected { private_data, .. } => Error::Rejected {
                private_data: private_data.as_slice().into(),
            },
            CardMessage::Failed { cause, .. } => Error::StartUp { cause },
            CardMessage::Closed { reason, .. } => Error::ConnectionClosed { reason },
            CardMessage::Refused { kind, reason, .. } => {
                return Err(Error::MessageRefused { kind, reason });
            }
            other => return Ok(other),
        };
        self.end = None; // the card has forgotten it
        mailbox::lock(&self.shared).forget_connection(connection);
        Err(error)
    }

    /// Waits for `ARMED`.
    pub fn armed(&mut self, deadline: Instant) -> Result<Armed, Error> {
        loop {
            if let CardMessage::Armed(armed) = self.next(deadline)? {
                // From here on the stream is the host's.
                let connection = self.connection;
                self.end = Some(HostMessage::Release { connection });
                return Ok(armed);
            }
        }
    }

    /// Makes the queue pair, and waits until start-up is complete.
    pub fn establish(
        mut self,
        domain: &Arc<Domain>,
        queue: &WorkQueue,
        armed: &Armed,
        mut options: QpOptions,
        initiator: bool,
        deadline: Instant,
    ) -> Result<QueuePair, Error> {
        let connection = self.connection;
        if let Some(settled) = armed.settled {
            (options.sizes.ird, options.sizes.ord) = (settled.ird, settled.ord);
        }
        let rtr = armed.settled.map(|settled| settled.rtr);
        let takes_send = !initiator && rtr.is_some_and(|rtr| rtr.send);
        if takes_send {
            // The driver's own buffer.
            options.sizes.receive_depth = options.sizes.receive_depth.saturating_add(1);
        }
        let stream = Stream::adopt(domain, armed.stream, options.stream())?;
        let link = Link {
            shared: Arc::clone(&self.shared),
            connection,
        };
        let pair = QueuePair::with_link(stream, queue, options.sizes, Some(link))?;
        self.end = None; // the pair releases it
        if takes_send {
            pair.await_rtr()?;
        }
        for buffer in options.buffers {
            pair.post_receive(buffer)?;
        }
        self.send(&HostMessage::Proceed { connection })?;
        if let (true, Some(rtr)) = (initiator, rtr) {
            pair.post_rtr(rtr)?;
        }
        loop {
            // A pair that is dropped after an error closes its stream and releases the connection.
            if let CardMessage::Established { .. } = self.next(deadline)? {
                break;
            }
        }
        let mut state = mailbox::lock(&self.shared);
        state.bind(connection, armed.stream, queue.signal());
        drop(state);
        Ok(pair)
    }
}

impl Pending {
    /// Ends the connection, unless it belongs to a queue pair or has ended.
    pub fn finish(&mut self) -> Result<(), Error> {
        let Some(end) = self.end.take() else {
            return Ok(());
        };
        mailbox::lock(&self.shared).forget_connection(self.connection);
        self.send(&end)
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let Err(error) = self.finish() {
            tracing::warn!(connection = self.connection, %error, "connection not ended");
        }
    }
}
