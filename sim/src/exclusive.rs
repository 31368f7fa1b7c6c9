//! The lock around a simulation: one user at a time, callers in the order in which they come, and before time that advances by
//! itself. Without an order, a host that polls a register would keep all others out.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::simulation::Simulation;

/// A simulation that all handles of a card share.
pub(crate) struct Exclusive {
    pub simulation: Mutex<Simulation>,
    /// Callers that wait for the simulation: the clock's thread lets them go first.
    pub callers: AtomicUsize,
    /// A caller is done.
    pub done: Condvar,
    /// Callers so far.
    tickets: AtomicU64,
    /// The number of the caller whose turn it is.
    turn: Mutex<u64>,
    /// The turn has changed.
    turned: Condvar,
}

/// Exclusive access of a caller.
pub(crate) struct Caller<'c> {
    /// `None` only while it is dropped.
    simulation: Option<MutexGuard<'c, Simulation>>,
    shared: &'c Exclusive,
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
        *self.shared.turn() += 1;
        self.shared.turned.notify_all();
        self.shared.done.notify_all();
    }
}

impl Exclusive {
    pub fn new(simulation: Simulation) -> Self {
        Self {
            simulation: Mutex::new(simulation),
            callers: AtomicUsize::new(0),
            done: Condvar::new(),
            tickets: AtomicU64::new(0),
            turn: Mutex::new(0),
            turned: Condvar::new(),
        }
    }

    /// Waits for exclusive access.
    pub fn call(&self) -> Caller<'_> {
        self.callers.fetch_add(1, Ordering::SeqCst);
        let ticket = self.tickets.fetch_add(1, Ordering::SeqCst);
        let waits = |turn: &mut u64| *turn != ticket;
        drop(self.turned.wait_while(self.turn(), waits));
        let simulation = self.simulation.lock();
        self.callers.fetch_sub(1, Ordering::SeqCst);
        Caller {
            simulation: Some(simulation.unwrap_or_else(PoisonError::into_inner)),
            shared: self,
        }
    }

    fn turn(&self) -> MutexGuard<'_, u64> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
