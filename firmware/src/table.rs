//! The table of connections: a fixed number of places.
//!
//! A place has a generation, which is part of the number of a connection that the card accepts: a message of the host for a
//! connection that is no more does not reach the next one in its place.

use crate::entry::{Entry, State};
use crate::network::Network;
use warpline_regmap::mailbox::HOST_CONNECTIONS;

/// Places of connections.
pub(crate) struct Table<N: Network, const CONNECTIONS: usize> {
    places: [Option<Entry<N>>; CONNECTIONS],
    generations: [u16; CONNECTIONS],
}

impl<N: Network, const CONNECTIONS: usize> Table<N, CONNECTIONS> {
    /// Bits of a number that name the place; the other ones, up to bit 14, are the generation.
    const PLACE_BITS: u32 = {
        assert!(
            CONNECTIONS > 0 && CONNECTIONS <= 0x1000,
            "at least 8 generations"
        );
        CONNECTIONS.next_power_of_two().trailing_zeros()
    };

    pub const fn new() -> Self {
        Self {
            places: [const { None }; CONNECTIONS],
            generations: [0; CONNECTIONS],
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = &Entry<N>> {
        self.places.iter().flatten()
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Entry<N>> {
        self.places.iter_mut().flatten()
    }

    pub fn get_mut(&mut self, place: usize) -> Option<&mut Entry<N>> {
        self.places.get_mut(place)?.as_mut()
    }

    /// Places and their entries, from `first` on once around.
    pub fn around(&self, first: usize) -> impl Iterator<Item = (usize, &Entry<N>)> {
        let places = self.places.iter().enumerate();
        let behind = places.clone().skip(first);
        let entries = behind.chain(places.take(first));
        entries.filter_map(|(place, entry)| Some((place, entry.as_ref()?)))
    }

    /// The connection that the host calls `number`.
    pub fn named(&mut self, number: u16) -> Option<&mut Entry<N>> {
        self.iter_mut().find(|entry| entry.is_named(number))
    }

    /// The connection with this handle.
    pub fn with_handle(&mut self, handle: N::Connection) -> Option<&mut Entry<N>> {
        self.iter_mut().find(|entry| entry.handle == Some(handle))
    }

    /// A free place.
    pub fn free(&self) -> Option<usize> {
        self.places.iter().position(Option::is_none)
    }

    /// The number of the next connection that the card accepts in a place.
    pub fn number(&self, place: usize) -> u16 {
        let generation = self.generations.get(place).copied().unwrap_or(0);
        let number = u32::from(generation) << Self::PLACE_BITS | place as u32;
        number as u16 & !HOST_CONNECTIONS.start()
    }

    pub fn put(&mut self, place: usize, entry: Entry<N>) {
        if let Some(slot) = self.places.get_mut(place) {
            *slot = Some(entry);
        }
    }

    pub fn clear(&mut self, place: usize) {
        if let Some(slot) = self.places.get_mut(place) {
            *slot = None;
        }
        if let Some(generation) = self.generations.get_mut(place) {
            *generation = generation.wrapping_add(1);
        }
    }

    /// Clears the places of connections that nobody has any use for.
    pub fn sweep(&mut self) {
        for place in 0..CONNECTIONS {
            if self.get_mut(place).is_some_and(|entry| entry.is_free()) {
                self.clear(place);
            }
        }
    }

    /// The oldest entry that may be evicted, among those of a listener or all.
    pub fn oldest_evictable(&self, listener: Option<u16>) -> Option<usize> {
        let entries = self.around(0);
        let among = entries.filter(|(_, entry)| {
            entry.is_evictable() && (listener.is_none() || entry.listener == listener)
        });
        let oldest = among.min_by_key(|(_, entry)| (entry.state == State::Starting, entry.since));
        oldest.map(|(place, _)| place)
    }

    /// Connections of a listener that the host has not answered.
    pub fn of_listener(&self, listener: u16) -> usize {
        let of_it = |entry: &&Entry<N>| entry.listener == Some(listener);
        self.iter().filter(of_it).count()
    }

    /// Connections that count for a protection domain.
    pub fn of_domain(&self, domain: u16) -> usize {
        let of_it = |entry: &&Entry<N>| entry.counted && entry.options.protection_domain == domain;
        self.iter().filter(of_it).count()
    }

    /// The first of `streams` from `first` on that no connection has.
    pub fn free_stream(&self, first: u8, streams: u8) -> Option<u8> {
        (first..streams).find(|stream| self.iter().all(|entry| entry.stream != Some(*stream)))
    }
}
