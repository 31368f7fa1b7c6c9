//! The queue of work completions of several queue pairs.
//!
//! ```text
//!   device ─► drain ─► inbox of a pair's stream, signal ─► the pair's machine ─► ready ─► poll, wait
//! ```
//!
//! Locks are taken in this order: a pair's machine, then the device's state or `ready`. So one thread may poll while others
//! post, and a pair's completions are in the order in which its machine has made them.

use std::collections::{BTreeMap, VecDeque};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use rustix::event::epoll;
use warpline_regmap::mailbox;
use warpline_regmap::register::interrupt;

use super::work::Work;
use crate::context::Context;
use crate::error::Error;
use crate::interrupt::{self as wait, wake};
use crate::route::Signal;
use crate::shared::Shared;

/// A queue pair, for its queue.
pub(crate) trait Member: Send + Sync {
    /// Its number.
    fn id(&self) -> u64;
    /// Takes what the device has reported for it.
    fn process(&self);
}

/// Work completions and events of any number of queue pairs of one device. Clones are handles of the same queue.
///
/// As with [`CompletionQueue`](crate::CompletionQueue), there are three ways to use it: [`poll`](Self::poll) in a loop;
/// [`wait`](Self::wait) in any number of threads; the descriptor of [`AsFd`] in a reactor, after
/// [`request_interrupt`](Self::request_interrupt) and one more poll. Reads of the peer that the
/// device does not answer are answered while it is polled.
#[derive(Clone)]
pub struct WorkQueue {
    inner: Arc<Inner>,
}

struct Inner {
    shared: Arc<Shared>,
    signal: Arc<Signal>,
    /// Interrupts of the device, and the signal.
    epoll: OwnedFd,
    members: Mutex<BTreeMap<u8, Weak<dyn Member>>>,
    ready: Mutex<VecDeque<Result<Work, Error>>>,
    capacity: AtomicUsize,
    ids: AtomicU64,
    /// Polls that looked at the device.
    polls: AtomicU64,
}

/// Polls of the device between two looks at the mailbox, which cost accesses of registers. Who sleeps looks in any case.
const POLLS_PER_PUMP: u64 = 256;

impl WorkQueue {
    /// A queue with memory for `capacity` completions. When more wait to be polled it grows: none is lost.
    ///
    /// # Errors
    /// [`Error::Device`] when there is no descriptor for it.
    pub fn new(context: &Context, capacity: usize) -> Result<Self, Error> {
        let shared = Arc::clone(&context.shared);
        let failed = |error: std::io::Error| Error::device("making a work queue")(error.into());
        let signal = Arc::new(Signal::new().map_err(failed)?);
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)
            .and_then(|epoll| {
                let add = |fd, data| {
                    let data = epoll::EventData::new_u64(data);
                    epoll::add(&epoll, fd, data, epoll::EventFlags::IN)
                };
                add(shared.interrupts.fd(), 0)?;
                add(signal.fd(), 1)?;
                if shared.mailbox_interrupt() {
                    add(shared.dma.device.interrupt(mailbox::INTERRUPT), 2)?;
                }
                Ok(epoll)
            })
            .map_err(|error| failed(error.into()))?;
        let inner = Inner {
            shared,
            signal,
            epoll,
            members: Mutex::default(),
            ready: Mutex::new(VecDeque::with_capacity(capacity)),
            capacity: AtomicUsize::new(capacity),
            ids: AtomicU64::new(0),
            polls: AtomicU64::new(0),
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// Completions that it has memory for.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.inner.capacity.load(Ordering::Relaxed)
    }

    /// Changes the number of completions that it has memory for. Those that wait stay.
    pub fn resize(&self, capacity: usize) {
        let mut ready = self.ready();
        if capacity > ready.len() {
            let more = capacity - ready.len();
            ready.reserve_exact(more);
        }
        ready.shrink_to(capacity);
        self.inner.capacity.store(capacity, Ordering::Relaxed);
    }

    /// The next completion or event, if there is one. As with [`CompletionQueue::poll`](crate::CompletionQueue::poll), most
    /// calls read memory only.
    ///
    /// # Errors
    /// [`Error::Completion`] for a malformed entry; the queue continues after it. [`Error::CompletionFault`],
    /// [`Error::Gone`], those of the backend.
    pub fn poll(&self) -> Result<Option<Work>, Error> {
        if let Some(work) = self.pop() {
            return work.map(Some);
        }
        let collected = self.collect();
        match self.pop() {
            Some(work) => work.map(Some),
            None => collected.map(|()| None),
        }
    }

    /// Asks for one interrupt: the descriptor becomes readable as soon as there may be something to poll. Clears earlier ones.
    /// Poll once more before sleeping.
    ///
    /// # Errors
    /// [`Error::CompletionFault`], [`Error::Gone`], those of the backend.
    pub fn request_interrupt(&self) -> Result<(), Error> {
        self.inner.signal.request();
        crate::mailbox::pump(&self.inner.shared)?;
        if !self.ready().is_empty() {
            self.inner.signal.wake();
        }
        let shared = &self.inner.shared;
        shared.request_interrupt(&mut shared.state())
    }

    /// The next completion or event; sleeps until it comes, at most `timeout`.
    ///
    /// # Errors
    /// As [`poll`](Self::poll).
    pub fn wait(&self, timeout: Duration) -> Result<Option<Work>, Error> {
        let start = Instant::now();
        let result = self.wait_from(start, timeout);
        let shared = &self.inner.shared;
        if shared.state().waiters > 0 {
            // This thread may have drained an interrupt that others wait for.
            if let Err(error) = wake(&*shared.dma.device, interrupt::COMPLETION) {
                tracing::warn!(%error, "other waiting threads may sleep until their time-out");
            }
        }
        result
    }

    fn wait_from(&self, start: Instant, timeout: Duration) -> Result<Option<Work>, Error> {
        let shared = &self.inner.shared;
        loop {
            if let Some(work) = self.poll()? {
                return Ok(Some(work));
            }
            let left = timeout.saturating_sub(start.elapsed());
            if left.is_zero() {
                return Ok(None);
            }
            shared.state().waiters += 1;
            let slept = self.sleep(left);
            shared.state().waiters -= 1;
            if let Some(work) = slept? {
                return Ok(Some(work));
            }
        }
    }

    /// Sleeps until there may be something to poll, unless there is by then.
    fn sleep(&self, left: Duration) -> Result<Option<Work>, Error> {
        self.request_interrupt()?;
        let found = self.poll()?;
        if found.is_none() {
            let slept = wait::wait_any(&[self.inner.epoll.as_fd()], None, left);
            slept.map_err(|error| Error::device("waiting for the device")(error.into()))?;
        }
        Ok(found)
    }

    /// Moves what the device has reported to the pairs, and what they make of it to `ready`.
    fn collect(&self) -> Result<(), Error> {
        let shared = &self.inner.shared;
        let turn = self.inner.polls.fetch_add(1, Ordering::Relaxed);
        let pumped = match turn % POLLS_PER_PUMP {
            0 => crate::mailbox::pump(shared),
            _ => Ok(()),
        };
        let collected = {
            let mut state = shared.state();
            let collected = shared.collect(&mut state);
            if !state.ready.is_empty() && state.waiters > 0 {
                // Entries of streams without a pair, which others wait for.
                let _ = wake(&*shared.dma.device, interrupt::COMPLETION);
            }
            collected
        };
        let stirred = self.inner.signal.stirred();
        if stirred.is_empty() {
            pumped?;
            collected?;
            return shared.idle(&mut shared.state());
        }
        for stream in stirred {
            let member = self.members().get(&stream).and_then(Weak::upgrade);
            if let Some(member) = member {
                member.process();
            }
        }
        pumped.and(collected)
    }

    fn members(&self) -> MutexGuard<'_, BTreeMap<u8, Weak<dyn Member>>> {
        let members = self.inner.members.lock();
        members.unwrap_or_else(PoisonError::into_inner)
    }

    fn ready(&self) -> MutexGuard<'_, VecDeque<Result<Work, Error>>> {
        let ready = self.inner.ready.lock();
        ready.unwrap_or_else(PoisonError::into_inner)
    }

    fn pop(&self) -> Option<Result<Work, Error>> {
        self.ready().pop_front()
    }

    pub(crate) fn signal(&self) -> &Arc<Signal> {
        &self.inner.signal
    }

    pub(super) fn next_id(&self) -> u64 {
        self.inner.ids.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn join(&self, stream: u8, member: &Arc<dyn Member>) {
        self.members().insert(stream, Arc::downgrade(member));
        self.inner.signal.stir(stream); // what came before
        self.inner.signal.raise();
    }

    pub(super) fn leave(&self, stream: u8, id: u64) {
        let member = self.members().get(&stream).and_then(Weak::upgrade);
        if member.is_none_or(|member| member.id() == id) {
            self.members().remove(&stream);
        }
    }

    pub(super) fn push(&self, works: Vec<Result<Work, Error>>) {
        if !works.is_empty() {
            self.ready().extend(works);
            self.inner.signal.raise();
        }
    }
}

/// For a reactor: readable when there may be something to poll, and when the device is gone. Do not read from it.
impl AsFd for WorkQueue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inner.epoll.as_fd()
    }
}

impl AsRawFd for WorkQueue {
    fn as_raw_fd(&self) -> RawFd {
        self.as_fd().as_raw_fd()
    }
}
