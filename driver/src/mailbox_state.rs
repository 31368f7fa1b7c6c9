//! What the driver knows of listeners and connections: the messages that came for them, and who is told.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use warpline_regmap::mailbox::{
    CardMessage, CloseReason, HOST_CONNECTIONS, HostKind, HostMessage, Refusal, Requested, Words,
};

use crate::error::Error;
use crate::route::Signal;

/// Most messages that wait for one listener or connection; a control program sends fewer.
const MOST_MESSAGES: usize = 64;

/// A listener or a connection.
struct Party {
    /// Messages that are not taken.
    messages: VecDeque<CardMessage>,
    /// How the connection ended, once it is armed.
    closed: Option<CloseReason>,
    /// Raised for every message.
    signal: Arc<Signal>,
    /// The stream whose queue pair is to look at it.
    stream: Option<u8>,
}

impl Party {
    fn new(signal: Arc<Signal>) -> Self {
        Self {
            messages: VecDeque::new(),
            closed: None,
            signal,
            stream: None,
        }
    }

    fn push(&mut self, message: CardMessage) {
        let closed = match message {
            CardMessage::Closed { reason, .. } => Some(reason),
            // The control program has begun anew, and its connections are gone.
            CardMessage::Refused {
                reason: Refusal::Unknown,
                ..
            } => Some(CloseReason::Network),
            _ => None,
        };
        if let (Some(stream), Some(reason)) = (self.stream, closed) {
            self.closed.get_or_insert(reason);
            self.signal.stir(stream);
        } else if self.stream.is_some() {
            return; // half-closes are seen in the stream itself
        } else if self.messages.len() < MOST_MESSAGES {
            self.messages.push_back(message);
        } else {
            tracing::warn!(
                kind = message.kind().name(),
                "message of the card dropped: too many wait"
            );
        }
        self.signal.raise();
    }
}

/// Listeners, connections, and messages to the card.
#[derive(Default)]
pub(crate) struct MailboxState {
    listeners: BTreeMap<u16, Party>,
    connections: BTreeMap<u16, Party>,
    /// Messages that the mailbox has had no room for.
    pub outgoing: VecDeque<Words>,
    /// Configurations that the card has confirmed.
    pub configured: u64,
    settings_waiters: Vec<Arc<Signal>>,
    next: u16,
}

impl MailboxState {
    /// A new listener.
    pub fn listener(&mut self, signal: &Arc<Signal>) -> Result<u16, Error> {
        let free = |number: &u16| !self.listeners.contains_key(number);
        let number = (0..=u16::MAX).find(free).ok_or(Error::NoConnectionNumber)?;
        let party = Party::new(Arc::clone(signal));
        self.listeners.insert(number, party);
        Ok(number)
    }

    /// A new connection of the host's; numbers are used in turn.
    pub fn connection(&mut self, signal: &Arc<Signal>) -> Result<u16, Error> {
        let (first, count) = (*HOST_CONNECTIONS.start(), HOST_CONNECTIONS.len() as u16);
        let turn = (0..count).map(|i| first + self.next.wrapping_add(i) % count);
        let free = |number: &u16| !self.connections.contains_key(number);
        let number = { turn }.find(free).ok_or(Error::NoConnectionNumber)?;
        self.next = (number - first).wrapping_add(1);
        let party = Party::new(Arc::clone(signal));
        self.connections.insert(number, party);
        Ok(number)
    }

    /// Sends a message as soon as there is room.
    pub fn send(&mut self, message: &HostMessage) {
        self.outgoing.push_back(message.emit());
    }

    /// The next message for a listener.
    pub fn of_listener(&mut self, number: u16) -> Option<CardMessage> {
        self.listeners.get_mut(&number)?.messages.pop_front()
    }

    /// The next message for a connection.
    pub fn of_connection(&mut self, number: u16) -> Option<CardMessage> {
        self.connections.get_mut(&number)?.messages.pop_front()
    }

    /// How a connection ended.
    pub fn closed(&self, number: u16) -> Option<CloseReason> {
        self.connections.get(&number)?.closed
    }

    /// From here on the queue pair of `stream` is told; `signal` is that of its work queue.
    pub fn bind(&mut self, number: u16, stream: u8, signal: &Arc<Signal>) {
        if let Some(party) = self.connections.get_mut(&number) {
            party.signal = Arc::clone(signal);
            party.stream = Some(stream);
            for message in std::mem::take(&mut party.messages) {
                party.push(message);
            }
        }
    }

    /// From here on `signal` is raised for a connection's messages.
    pub fn tell(&mut self, number: u16, signal: &Arc<Signal>) {
        if let Some(party) = self.connections.get_mut(&number) {
            party.signal = Arc::clone(signal);
        }
    }

    /// Forgets a listener and the requests that nobody has taken.
    pub fn forget_listener(&mut self, number: u16) {
        let party = self.listeners.remove(&number);
        for message in party.into_iter().flat_map(|party| party.messages) {
            if let CardMessage::Requested(Requested { connection, .. }) = message {
                self.connections.remove(&connection);
            }
        }
    }

    /// Forgets a connection.
    pub fn forget_connection(&mut self, number: u16) {
        self.connections.remove(&number);
    }

    /// Raises `signal` at the next confirmed configuration.
    pub fn await_settings(&mut self, signal: &Arc<Signal>) {
        self.settings_waiters.push(Arc::clone(signal));
    }

    /// Listeners and connections that exist.
    pub fn parties(&self) -> usize {
        self.listeners.len() + self.connections.len()
    }

    /// Hands a message to whom it is for. Messages for a number that the driver has forgotten mean nothing.
    pub fn dispatch(&mut self, message: CardMessage) {
        let number = message.number();
        match message {
            CardMessage::Configured => {
                self.configured += 1;
                self.settings_waiters
                    .drain(..)
                    .for_each(|signal| signal.raise());
            }
            CardMessage::Listening { .. } | CardMessage::ListenFailed { .. } => {
                self.push_listener(number, message);
            }
            CardMessage::Refused { kind, .. } if kind == HostKind::Listen as u8 => {
                self.push_listener(number, message);
            }
            // Of a listener that the card never had. Its number may be the next one's, who must not take this for the answer.
            CardMessage::Refused { kind, .. } if kind == HostKind::Unlisten as u8 => {}
            CardMessage::Requested(Requested {
                connection,
                listener,
                ..
            }) => {
                // One that is too much gets no answer: the card ends it in time.
                let room = |party: &&Party| party.messages.len() < MOST_MESSAGES;
                let own = HOST_CONNECTIONS.contains(&connection);
                if let Some(party) = self.listeners.get(&listener).filter(room).filter(|_| !own) {
                    let party = Party::new(Arc::clone(&party.signal));
                    self.connections.insert(connection, party);
                    self.push_listener(listener, message);
                }
            }
            _ => {
                if let Some(party) = self.connections.get_mut(&number) {
                    party.push(message);
                }
            }
        }
    }

    fn push_listener(&mut self, number: u16, message: CardMessage) {
        if let Some(party) = self.listeners.get_mut(&number) {
            party.push(message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listeners_and_connections_are_counted() {
        let signal = Arc::new(Signal::new().unwrap());
        let mut state = MailboxState::default();
        let listener = state.listener(&signal).unwrap();
        assert_eq!(state.parties(), 1);
        for _ in 0..3 {
            state.connection(&signal).unwrap();
        }
        assert_eq!(state.parties(), 4);
        state.forget_listener(listener);
        assert_eq!(state.parties(), 3);
    }
}
