//! The table of listeners: a fixed number of places.

use crate::network::Network;
use warpline_regmap::mailbox::Transport;

/// A listener.
pub(crate) struct Listener<N: Network> {
    pub number: u16,
    pub handle: N::Listener,
    pub transport: Transport,
    /// Connections that may be without an answer of the host.
    pub backlog: u16,
}

/// Places of listeners.
pub(crate) struct Listeners<N: Network, const LISTENERS: usize> {
    places: [Option<Listener<N>>; LISTENERS],
}

impl<N: Network, const LISTENERS: usize> Listeners<N, LISTENERS> {
    pub const fn new() -> Self {
        Self {
            places: [const { None }; LISTENERS],
        }
    }

    pub fn count(&self) -> usize {
        self.places.iter().flatten().count()
    }

    pub fn is_full(&self) -> bool {
        self.count() >= LISTENERS
    }

    pub fn has(&self, number: u16) -> bool {
        let mut listeners = self.places.iter().flatten();
        listeners.any(|listener| listener.number == number)
    }

    /// The one with this handle.
    pub fn with_handle(&self, handle: N::Listener) -> Option<&Listener<N>> {
        let mut listeners = self.places.iter().flatten();
        listeners.find(|listener| listener.handle == handle)
    }

    pub fn put(&mut self, listener: Listener<N>) {
        if let Some(place) = self.places.iter_mut().find(|place| place.is_none()) {
            *place = Some(listener);
        }
    }

    /// Takes the one with this number out.
    pub fn take(&mut self, number: u16) -> Option<Listener<N>> {
        let has_it = |place: &&mut Option<Listener<N>>| {
            place
                .as_ref()
                .is_some_and(|listener| listener.number == number)
        };
        self.places.iter_mut().find(has_it)?.take()
    }

    /// Takes any out.
    pub fn take_any(&mut self) -> Option<Listener<N>> {
        self.places.iter_mut().find_map(Option::take)
    }
}
