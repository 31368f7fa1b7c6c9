//! What wakes the control program.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// What wakes the thread. The lock is held for moments only, so that a card's callbacks may wake it.
#[derive(Default)]
pub(super) struct Alarm {
    wake: Mutex<Wake>,
    changed: Condvar,
}

/// What the thread finds when it wakes.
#[derive(Clone, Copy, Default)]
pub(super) struct Wake {
    /// Something has called since the last time.
    pub called: bool,
    /// The program is to end.
    pub end: bool,
}

impl Alarm {
    /// Wakes the thread.
    pub fn call(&self, change: impl FnOnce(&mut Wake)) {
        let mut wake = self.wake.lock().unwrap_or_else(PoisonError::into_inner);
        wake.called = true;
        change(&mut wake);
        drop(wake);
        self.changed.notify_all();
    }

    /// Sleeps until a call, at most for `timeout`, and takes what has called.
    pub fn wait(&self, timeout: Option<Duration>) -> Wake {
        let wake = self.wake.lock().unwrap_or_else(PoisonError::into_inner);
        let asleep = |wake: &mut Wake| !wake.called;
        let mut wake = match timeout {
            None => self.changed.wait_while(wake, asleep),
            Some(timeout) => {
                let waited = self.changed.wait_timeout_while(wake, timeout, asleep);
                waited
                    .map(|(wake, _)| wake)
                    .map_err(|error| PoisonError::new(error.into_inner().0))
            }
        }
        .unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut wake)
    }
}
