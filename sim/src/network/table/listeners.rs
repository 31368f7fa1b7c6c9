//! What the table does with listeners: each accepts as far as there is room for its connections.

use std::io;
use std::net::SocketAddr;

use rustix::event::epoll::{self, EventFlags};

use super::{Table, data};
use crate::network::entry::{Entry, Listener, State, entry};
use crate::network::error::NetworkError;
use crate::network::event::{ListenerHandle, Place};
use crate::network::socket;

impl Table {
    /// Listens at `address`.
    pub fn listen(&mut self, address: SocketAddr) -> Result<ListenerHandle, NetworkError> {
        let most = self.options.listeners;
        if self.listeners >= most {
            let what = "listeners";
            return Err(NetworkError::Full { what, most });
        }
        let refused = |source| {
            let what = "listen at";
            NetworkError::Address {
                what,
                address,
                source,
            }
        };
        let listening = socket::listen_at(address, self.options.waiting, self.buffers());
        let (socket, address) = listening.map_err(refused)?;
        let place = self.insert({
            Entry::Listener(Listener {
                socket,
                address,
                pending: 0,
                armed: false,
            })
        });
        self.listeners += 1;
        if let Err(error) = self.add(place, EventFlags::empty()) {
            self.remove(place);
            return Err(error.into());
        }
        self.rearm_listeners();
        Ok(ListenerHandle(place))
    }

    /// The address of a listener.
    pub fn address(&mut self, handle: ListenerHandle) -> Result<SocketAddr, NetworkError> {
        match self.entry(handle.0) {
            Some(Entry::Listener(listener)) => Ok(listener.address),
            _ => Err(NetworkError::Closed),
        }
    }

    /// Closes a listener; its connections stay.
    pub fn unlisten(&mut self, handle: ListenerHandle) {
        if let Some(Entry::Listener(_)) = self.entry(handle.0) {
            self.remove(handle.0);
        }
    }

    /// Lets listeners accept as far as there is room.
    pub fn rearm_listeners(&mut self) {
        self.retry = false;
        for index in 0..self.slots.len() {
            self.accept(self.place_at(index));
        }
    }

    fn accept(&mut self, place: Place) {
        loop {
            let full = self.connections >= self.options.connections;
            let most = self.options.pending;
            let Some(Entry::Listener(listener)) = entry(&mut self.slots, place) else {
                return;
            };
            if listener.armed || full || listener.pending >= most {
                return;
            }
            let (socket, peer) = match socket::accept(&listener.socket) {
                Ok(accepted) => accepted,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let flags = EventFlags::IN | EventFlags::ONESHOT;
                    let armed = epoll::modify(&*self.epoll, &listener.socket, data(place), flags);
                    listener.armed = armed.is_ok();
                    self.retry |= armed.is_err();
                    return;
                }
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                Err(error) => {
                    tracing::warn!(%error, address = %listener.address, "cannot accept, tried again later");
                    self.retry = true;
                    return;
                }
            };
            let Ok(local) = socket::local(&socket) else {
                continue; // it was reset
            };
            listener.pending += 1;
            let adopted = self.adopt(socket, local, peer, State::Open, Some(place));
            if let Err(error) = adopted {
                tracing::warn!(%error, "cannot serve an accepted connection");
                if let Some(Entry::Listener(listener)) = entry(&mut self.slots, place) {
                    listener.pending -= 1;
                }
                self.retry = true;
                return;
            }
        }
    }

    /// A listener has one pending connection less.
    pub(super) fn settle(&mut self, listener: Place) {
        if let Some(Entry::Listener(listener)) = self.entry(listener) {
            listener.pending -= 1;
            self.rearm_listeners();
        }
    }
}
