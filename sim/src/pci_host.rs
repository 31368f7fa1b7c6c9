//! Hosts of the card: each uses it as a PCI function over a connection, one after the other.
//!
//! ```text
//!  Card::connect ─► socket pair ─► thread: serve ─┐
//!  Card::serve ───► accepted stream ─► serve ─────┴─► Function, while the host has its seat
//! ```

use std::os::unix::net::UnixStream;
use std::thread;

use warpline_vfio_user::{ServeError, serve};

use crate::card::Card;
use crate::error::Error;
use crate::pci::Function;
use crate::seat::Seat;

impl Card {
    /// Connects a host in this process: returns its end of a vfio-user connection. A thread serves the other end until the
    /// host disconnects; then the card is as after power-up. Time advances as it does without a host.
    ///
    /// # Errors
    /// [`Error::Busy`] when the card has a host, [`Error::Thread`] when the system refuses a socket or a thread.
    pub fn connect(&self) -> Result<UnixStream, Error> {
        let seated = Seat::take(self.seat())?;
        let (ours, theirs) = UnixStream::pair().map_err(Error::Thread)?;
        let mut function = Function::new(self);
        let thread = thread::Builder::new().name("card host".into());
        let served = thread.spawn(move || {
            let _seated = seated;
            if let Err(error) = serve(theirs, &mut function) {
                tracing::warn!(%error, "host disconnected for an error");
            }
        });
        served.map_err(Error::Thread)?;
        Ok(ours)
    }

    /// Serves the host at the other end of `connection` until it disconnects. Then the card is as after power-up.
    ///
    /// # Errors
    /// [`Error::Busy`] when the card has a host; [`Error::Host`] when the host broke the protocol or disconnected in the
    /// middle of a message. The next host can be served.
    pub fn serve(&self, connection: UnixStream) -> Result<(), Error> {
        let _seated = Seat::take(self.seat())?;
        serve(connection, &mut Function::new(self)).map_err(|error: ServeError| error.into())
    }
}
