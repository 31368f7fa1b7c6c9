//! Time that advances by itself: a thread that runs cycles while no caller uses the card.
//!
//! ```text
//!  clock:  ── slice ── slice ──┐ waits       ┌── slice ── nap (the card is idle) ── slice …
//!  caller:          calls ─────┴─ is served ─┘
//! ```

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::error::Error;
use crate::exclusive::Exclusive;

/// Cycles between two checks for callers.
const SLICE: u64 = 64;
/// Pause of an idle card between two slices. Time does not stop: a timer of the device may run.
const NAP: Duration = Duration::from_millis(1);

/// A running clock. Dropping it stops the time.
#[must_use = "dropping it stops the time"]
pub struct Clock {
    shared: Arc<Exclusive>,
    stopped: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<(), Error>>>,
}

impl Clock {
    pub(crate) fn start(shared: Arc<Exclusive>) -> Result<Self, Error> {
        let stopped = Arc::new(AtomicBool::new(false));
        let thread = thread::Builder::new().name("card clock".into()).spawn({
            let (shared, stopped) = (Arc::clone(&shared), Arc::clone(&stopped));
            move || run(&shared, &stopped)
        });
        Ok(Self {
            thread: Some(thread.map_err(Error::Thread)?),
            shared,
            stopped,
        })
    }

    /// Whether time still advances: it stops when the device breaks a rule.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.thread
            .as_ref()
            .is_some_and(|thread| !thread.is_finished())
    }

    /// Stops the time.
    ///
    /// # Errors
    /// What ended it earlier: [`Error::Violation`], [`Error::Model`].
    pub fn stop(mut self) -> Result<(), Error> {
        self.end()
    }

    fn end(&mut self) -> Result<(), Error> {
        let Some(thread) = self.thread.take() else {
            return Ok(());
        };
        // A busy card keeps the lock, and looks at this between two slices.
        self.stopped.store(true, Ordering::SeqCst);
        // One that is about to nap has the lock until it does.
        drop(self.shared.simulation.lock());
        self.shared.done.notify_all();
        thread.join().unwrap_or(Ok(())) // a panic has been printed to standard error
    }
}

impl Drop for Clock {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            tracing::warn!(%error, "the card had stopped earlier");
        }
    }
}

fn run(shared: &Exclusive, stopped: &AtomicBool) -> Result<(), Error> {
    let mut simulation = shared
        .simulation
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    loop {
        while shared.callers.load(Ordering::SeqCst) > 0 && !stopped.load(Ordering::SeqCst) {
            let waited = shared.done.wait(simulation);
            simulation = waited.unwrap_or_else(PoisonError::into_inner);
        }
        if stopped.load(Ordering::SeqCst) {
            return Ok(());
        }
        if simulation.is_idle() {
            let napped = shared.done.wait_timeout(simulation, NAP);
            simulation = napped.unwrap_or_else(PoisonError::into_inner).0;
        }
        for _ in 0..SLICE {
            simulation.cycle()?;
        }
    }
}
