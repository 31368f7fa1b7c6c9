//! What happens to connections, and how they are named.

use std::io;

/// Names a connection, until it is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnectionHandle(pub(crate) Place);

/// Names a listening socket, until it is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ListenerHandle(pub(crate) Place);

/// A place in a table; its generation tells its users apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Place {
    pub index: u32,
    pub generation: u32,
}

/// What happened to a connection. Events of one connection come in the order of this list, and each is reported once until
/// the call that its description names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// A listener has accepted it.
    Accepted(ListenerHandle),
    /// The peer has accepted it.
    Connected,
    /// It could not be established: refused, unreachable, or no answer. It can only be closed.
    Refused(io::ErrorKind),
    /// Octets can be read. Reported again after a read that returned 0.
    Readable,
    /// Octets can be written again, after a write that accepted fewer than it was given.
    Writable,
    /// [`Connections::segment`](crate::Connections::segment) has another answer than the last time it was called.
    SegmentChanged,
    /// The peer's FIN came behind all octets: nothing more can be read, but written.
    HalfClosed,
    /// It is lost: RST or time-out. It can only be closed.
    Lost(io::ErrorKind),
    /// Its stream was closed, or the card reset: octets that arrive are not read any more. It can only be finished and closed.
    Detached,
}

/// Events that are to be reported.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pending {
    pub accepted: Option<ListenerHandle>,
    pub connected: bool,
    pub refused: Option<io::ErrorKind>,
    pub readable: bool,
    pub writable: bool,
    pub segment_changed: bool,
    pub half_closed: bool,
    pub lost: Option<io::ErrorKind>,
    pub detached: bool,
}

impl Pending {
    /// Whether there is one.
    pub fn any(&self) -> bool {
        self.clone().next().is_some()
    }

    /// The next event.
    pub fn next(&mut self) -> Option<Event> {
        let flag = |flag: &mut bool, event| std::mem::take(flag).then_some(event);
        let Self {
            accepted,
            connected,
            refused,
            readable,
            writable,
            segment_changed,
            half_closed,
            lost,
            detached,
        } = self;
        let opened = accepted.take().map(Event::Accepted);
        opened
            .or_else(|| flag(connected, Event::Connected))
            .or_else(|| refused.take().map(Event::Refused))
            .or_else(|| flag(readable, Event::Readable))
            .or_else(|| flag(writable, Event::Writable))
            .or_else(|| flag(segment_changed, Event::SegmentChanged))
            .or_else(|| flag(half_closed, Event::HalfClosed))
            .or_else(|| lost.take().map(Event::Lost))
            .or_else(|| flag(detached, Event::Detached))
    }
}
