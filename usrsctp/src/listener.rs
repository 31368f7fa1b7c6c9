//! A listener: accepts associations that peers set up.

use std::fmt;

use crate::association::Association;
use crate::error::Error;
use crate::link::Link;
use crate::options::Options;
use crate::socket::Socket;

/// Associations that may wait to be accepted, at most.
const BACKLOG: u8 = 128;

/// Accepts associations at a port of a link. An INIT costs no memory until its sender has shown, by the cookie, that it exists.
/// Dropping it aborts what was not accepted; what was, stays.
pub struct Listener {
    socket: Socket,
    port: u16,
    options: Options,
}

impl Listener {
    /// Listens at `port`. About `backlog` associations may wait to be accepted, 1 to 128; others
    /// get no answer until there is room, and try again.
    ///
    /// # Errors
    /// [`Error::Option`], [`Error::PortTaken`], [`Error::System`].
    pub fn bind(link: &Link, port: u16, backlog: u8, options: &Options) -> Result<Self, Error> {
        if port == 0 || backlog == 0 || backlog > BACKLOG {
            let (name, value, range) = match port {
                0 => ("port", 0, "1 to 65,535: a listener has a known port"),
                _ => ("backlog", backlog.into(), "1 to 128"),
            };
            return Err(Error::Option { name, value, range });
        }
        let socket = Socket::bind(link, port, options)?;
        socket.listen(backlog)?;
        Ok(Self {
            socket,
            port,
            options: options.clone(),
        })
    }

    /// An association that a peer has set up, if there is one. Its first event is [`Event::Up`](crate::Event::Up), or it is over.
    ///
    /// # Errors
    /// [`Error::System`].
    pub fn accept(&self) -> Result<Option<Association>, Error> {
        let accepted = self.socket.accept()?;
        Ok(accepted.map(|(socket, port)| Association::new(socket, port, &self.options)))
    }

    /// Its port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listener")
            .field("link", self.socket.link())
            .field("port", &self.port)
            .finish_non_exhaustive()
    }
}
