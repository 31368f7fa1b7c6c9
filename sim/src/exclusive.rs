//! The lock around a simulation: one user at a time, and callers before time that advances by itself.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::simulation::Simulation;

/// A simulation that all handles of a card share.
pub(crate) struct Exclusive {
    pub simulation: Mutex<Simulation>,
    /// Callers that wait for the simulation: the clock's thread lets them go first.
    pub callers: AtomicUsize,
    /// A caller is done.
    pub done: Condvar,
}

/// Exclusive access of a caller.
pub(crate) struct Caller<'c> {
    /// `None` only while it is dropped.
    simulation: Option<MutexGuard<'c, Simulation>>,
    done: &'c Condvar,
}

impl Deref for Caller<'_> {
    type Target = Simulation;

    fn deref(&self) -> &Simulation {
        self.simulation.as_ref().expect("released on drop only")
    }
}

impl DerefMut for Caller<'_> {
    fn deref_mut(&mut self) -> &mut Simulation {
        self.simulation.as_mut().expect("released on drop only")
    }
}

impl Drop for Caller<'_> {
    fn drop(&mut self) {
        self.simulation = None;
        self.done.notify_all();
    }
}

impl Exclusive {
    pub fn new(simulation: Simulation) -> Self {
        Self {
            simulation: Mutex::new(simulation),
            callers: AtomicUsize::new(0),
            done: Condvar::new(),
        }
    }

    /// Waits for exclusive access.
    pub fn call(&self) -> Caller<'_> {
        self.callers.fetch_add(1, Ordering::SeqCst);
        let simulation = self.simulation.lock();
        self.callers.fetch_sub(1, Ordering::SeqCst);
        Caller {
            simulation: Some(simulation.unwrap_or_else(PoisonError::into_inner)),
            done: &self.done,
        }
    }
}
