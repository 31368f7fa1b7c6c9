//! A card has one host at a time.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::error::Error;

/// Time that a new host waits for the previous one, which may be disconnecting.
const PATIENCE: Duration = Duration::from_secs(5);

/// The seat of the card's only host.
#[derive(Debug, Default)]
pub(crate) struct Seat {
    taken: Mutex<bool>,
    left: Condvar,
}

/// A host that has the seat.
pub(crate) struct Seated(Arc<Seat>);

impl Seat {
    /// Waits until the seat is free, and takes it.
    pub fn take(seat: &Arc<Self>) -> Result<Seated, Error> {
        let taken = seat.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = seat
            .left
            .wait_timeout_while(taken, PATIENCE, |taken| *taken);
        let (mut taken, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if std::mem::replace(&mut *taken, true) {
            return Err(Error::Busy);
        }
        Ok(Seated(Arc::clone(seat)))
    }
}

impl Drop for Seated {
    fn drop(&mut self) {
        let mut taken = self.0.taken.lock().unwrap_or_else(PoisonError::into_inner);
        *taken = false;
        self.0.left.notify_all();
    }
}
