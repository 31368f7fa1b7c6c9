//! A card at a socket: time advances by itself, and hosts connect and disconnect, as with a card in a slot.
//!
//! ```text
//!  socket file ─► accept ─► Card::serve ─► host disconnects ─► accept …      (one thread)
//!  Clock ─► cycles                                                         (another one)
//! ```

use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use warpline_vfio_user::Listener;

use crate::card::Card;
use crate::clock::Clock;
use crate::error::Error;

/// Time between two checks whether the service is to end.
const LOOK: Duration = Duration::from_millis(50);

/// A card that serves the hosts at its socket, one after the other; further ones wait. Dropping it disconnects the host,
/// stops the card's time and removes the socket file.
#[must_use = "dropping it ends the service"]
pub struct Service {
    path: PathBuf,
    clock: Option<Clock>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    stopped: AtomicBool,
    /// The host that is served.
    host: Mutex<Option<UnixStream>>,
}

impl Service {
    /// Serves `card` at `listener`, and lets its time advance.
    ///
    /// # Errors
    /// [`Error::Thread`].
    pub fn start(card: &Card, listener: Listener) -> Result<Self, Error> {
        let path = listener.path().to_owned();
        let clock = card.run_freely()?;
        let shared = Arc::<Shared>::default();
        let thread = thread::Builder::new().name("card service".into()).spawn({
            let (card, shared) = (card.clone(), Arc::clone(&shared));
            move || shared.run(&card, &listener)
        });
        Ok(Self {
            path,
            clock: Some(clock),
            shared,
            thread: Some(thread.map_err(Error::Thread)?),
        })
    }

    /// The socket file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the card works: it stops when the device breaks a rule, or the socket fails.
    #[must_use]
    pub fn is_running(&self) -> bool {
        let served = self
            .thread
            .as_ref()
            .is_some_and(|thread| !thread.is_finished());
        served && self.clock.as_ref().is_some_and(Clock::is_running)
    }

    /// Whether a host is being served.
    #[must_use]
    pub fn has_host(&self) -> bool {
        self.shared.host().is_some()
    }

    /// Ends the service.
    ///
    /// # Errors
    /// What ended it earlier: [`Error::Violation`], [`Error::Model`].
    pub fn stop(mut self) -> Result<(), Error> {
        self.hang_up();
        self.clock.take().map_or(Ok(()), Clock::stop)
    }

    fn hang_up(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        if let Some(host) = &*self.shared.host() {
            let _ = host.shutdown(Shutdown::Both); // it may have disconnected
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // a panic has been printed to standard error
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.hang_up();
    }
}

impl Shared {
    fn host(&self) -> std::sync::MutexGuard<'_, Option<UnixStream>> {
        self.host.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }

    fn run(&self, card: &Card, listener: &Listener) {
        while !self.is_stopped() {
            match listener.accept(Some(LOOK)) {
                Ok(None) => {}
                Ok(Some(connection)) => self.serve(card, connection),
                Err(error) => {
                    tracing::error!(%error, "the socket failed");
                    return;
                }
            }
        }
    }

    fn serve(&self, card: &Card, connection: UnixStream) {
        match connection.try_clone() {
            Ok(copy) => *self.host() = Some(copy),
            Err(error) => {
                tracing::warn!(%error, "no descriptor for a host");
                return;
            }
        }
        // From here on, stopping the service finds the host and disconnects it.
        if !self.is_stopped() {
            tracing::info!("a host has connected");
            match card.serve(connection) {
                Ok(()) => tracing::info!("the host has disconnected"),
                Err(error) => tracing::warn!("{error}"),
            }
        }
        *self.host() = None;
    }
}
