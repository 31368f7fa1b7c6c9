//! A card that hosts can use, and when it is to end.

use std::thread;
use std::time::Duration;

use signal_hook::iterator::Signals;
use warpline_sim::Service;
#[cfg(feature = "watch")]
use warpline_sim::{Card, Connections};

use crate::Error;

/// Time between two polls of signals and card.
pub(super) const LOOK: Duration = Duration::from_millis(50);

/// A card that hosts can use.
pub(super) struct Served<'s> {
    #[cfg(feature = "watch")]
    pub card: &'s Card,
    #[cfg(feature = "watch")]
    pub network: Option<&'s Connections>,
    pub service: &'s Service,
    pub signals: &'s mut Signals,
}

/// Does what takes long, such as building a model, in a thread of its own; `None`: a signal has come first, and the thread ends
/// with the process.
pub(super) fn interruptible<T: Send + 'static>(
    signals: &mut Signals,
    act: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<Option<T>, Error> {
    let thread = thread::Builder::new().name("build".into());
    let thread = thread.spawn(act);
    let thread = thread.map_err(warpline_sim::Error::Thread)?;
    loop {
        let over = thread.is_finished();
        // a terminal's signal ends a compiler, too: that is not an error of the thread
        if signals.pending().next().is_some() {
            return Ok(None);
        }
        if over {
            break;
        }
        thread::sleep(LOOK);
    }
    match thread.join() {
        Ok(result) => result.map(Some),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

impl Served<'_> {
    /// The card has stopped, or a signal asks for its end.
    pub fn is_over(&mut self) -> bool {
        !self.service.is_running() || self.signals.pending().next().is_some()
    }
}
