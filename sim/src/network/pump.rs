//! The thread that serves the sockets. It sleeps until a socket reports, or an inlet has room again.
//!
//! ```text
//!  epoll ─┬─ sockets ─► Table::ready
//!         └─ eventfd ─► Table::refill      written by the card's time, and to end the thread
//! ```

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};
use rustix::fd::OwnedFd;
use rustix::io::Errno;

use crate::network::table::{self, Table};

/// Sockets that are served in one round.
const ROUND: usize = 64;
/// Time after which a listener is tried again that met an error of the system.
const RETRY: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};
/// No socket's data: no generation gets that far.
const WAKE: u64 = u64::MAX;

/// Is told that events are there.
pub(crate) type Watcher = Box<dyn Fn() + Send + Sync>;

/// What the thread and the callers share.
pub(crate) struct Shared {
    table: Mutex<Table>,
    /// Events wait, or the thread has ended.
    changed: Condvar,
    ended: AtomicBool,
    /// Called when events are there.
    watcher: Mutex<Option<Watcher>>,
}

/// What the thread sleeps on.
pub(crate) struct Sleep {
    pub epoll: Arc<OwnedFd>,
    wake: Arc<OwnedFd>,
}

impl Sleep {
    pub fn new() -> Result<Self, Errno> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        epoll::add(&epoll, &wake, EventData::new_u64(WAKE), EventFlags::IN)?;
        Ok(Self {
            epoll: Arc::new(epoll),
            wake: Arc::new(wake),
        })
    }

    /// Ends the sleep, from any thread.
    pub fn waker(&self) -> Arc<dyn Fn() + Send + Sync> {
        let wake = Arc::clone(&self.wake);
        Arc::new(move || {
            let _ = rustix::io::write(&wake, &1_u64.to_ne_bytes()); // full: it is awake
        })
    }
}

impl Shared {
    pub fn new(table: Table) -> Self {
        Self {
            table: Mutex::new(table),
            changed: Condvar::new(),
            ended: AtomicBool::new(false),
            watcher: Mutex::new(None),
        }
    }

    /// The table. What is done with it may bring about events.
    pub fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the thread, once it is woken.
    pub fn end(&self) {
        self.ended.store(true, Ordering::SeqCst);
        self.changed.notify_all();
    }

    /// Wakes callers that wait for events.
    pub fn notify(&self) {
        self.changed.notify_all();
        let watcher = self.watcher.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(watcher) = &*watcher {
            watcher();
        }
    }

    /// From now on, `watcher` is called when events are there, also with the table locked, and no former one.
    pub fn watch(&self, watcher: Watcher) {
        *self.watcher.lock().unwrap_or_else(PoisonError::into_inner) = Some(watcher);
    }

    /// Waits until events are there, at most for `timeout`.
    pub fn wait(&self, timeout: Duration) -> MutexGuard<'_, Table> {
        let nothing = |table: &mut Table| !table.has_events() && !self.ended.load(Ordering::SeqCst);
        let waited = self
            .changed
            .wait_timeout_while(self.table(), timeout, nothing);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Serves the sockets until the end.
    pub fn run(&self, sleep: &Sleep) {
        let mut events = Vec::with_capacity(ROUND);
        let mut timeout = None;
        while !self.ended.load(Ordering::SeqCst) {
            match epoll::wait(&*sleep.epoll, spare_capacity(&mut events), timeout) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => {
                    tracing::error!(%error, "the network side ends");
                    self.end();
                    return;
                }
            }
            let mut table = self.table();
            for event in events.drain(..) {
                match event.data.u64() {
                    WAKE => {
                        let _ = rustix::io::read(&sleep.wake, &mut [0; 8]); // empty: another event was it
                        table.refill();
                    }
                    _ => table.ready(table::place(event.data), event.flags),
                }
            }
            if table.retry {
                table.rearm_listeners();
            }
            timeout = table.retry.then_some(&RETRY);
            table.flush();
            if table.has_events() {
                self.notify();
            }
        }
    }
}
