//! Where a stream's completions go when a queue pair handles them.
//!
//! ```text
//!  drain ─► stream without a route ─► ready ─► CompletionQueue
//!        ─► stream with a route ────► its inbox ─► the pair's RDMAP machine ─► work completions
//!                                └──► signal: wakes who sleeps for this pair's queue
//! ```
//!
//! The inbox is bounded whatever the peer sends: buffers and requests come back once each, RDMA Writes are no events, and
//! of Read Responses it keeps one more than may be outstanding, which is enough to see the violation.

use std::collections::VecDeque;
use std::io;
use std::mem;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::event::EventfdFlags;
use warpline_wire::rdmap::{Control, Opcode};

use crate::completion::Completion;
use crate::error::Error;
use crate::posted_sends::{Done, SendStatus};

/// Which streams have something in their inboxes, and an eventfd that says so, if somebody asked for that. One for each
/// queue of work completions.
#[derive(Debug)]
pub(crate) struct Signal {
    eventfd: OwnedFd,
    wanted: AtomicBool,
    /// Streams whose inbox is no longer empty.
    stirred: Mutex<Vec<u8>>,
}

impl Signal {
    /// Nothing to take, nobody asks.
    pub fn new() -> io::Result<Self> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let eventfd = rustix::event::eventfd(0, flags)?;
        let wanted = AtomicBool::new(false);
        Ok(Self {
            eventfd,
            wanted,
            stirred: Mutex::default(),
        })
    }

    /// Takes the streams with something in their inboxes.
    pub fn stirred(&self) -> Vec<u8> {
        mem::take(&mut *self.stirred.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Notes that a pair has something to do.
    pub fn stir(&self, stream: u8) {
        let mut stirred = self.stirred.lock().unwrap_or_else(PoisonError::into_inner);
        stirred.push(stream);
    }

    /// Readable once raised.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.eventfd.as_fd()
    }

    /// Clears it, and asks to be woken by the next [`raise`](Self::raise). The caller looks once more before it sleeps.
    pub fn request(&self) {
        let mut count = [0; 8];
        while let Err(rustix::io::Errno::INTR) = rustix::io::read(&self.eventfd, &mut count) {}
        self.wanted.store(true, Ordering::SeqCst);
    }

    /// Wakes who asked for it.
    pub fn raise(&self) {
        if self.wanted.swap(false, Ordering::SeqCst) {
            self.wake();
        }
    }

    /// Wakes all who wait now.
    pub fn wake(&self) {
        // A full count wakes as well.
        let _ = rustix::io::write(&self.eventfd, &1_u64.to_ne_bytes());
    }
}

/// What the device reports for a stream with a route.
#[derive(Debug)]
pub(crate) enum Notice {
    /// A message, a buffer that comes back, or an event.
    Completion(Completion),
    /// A request of the send ring is done.
    Sent(Done),
    /// A Read Response of the device's own has not been sent, or not all of it.
    ResponseFailed(SendStatus),
}

/// The inbox of a queue pair.
#[derive(Debug)]
pub(crate) struct Route {
    stream: u8,
    signal: Arc<Signal>,
    inbox: VecDeque<Result<Notice, Error>>,
    /// Tagged messages in the inbox, and the most that it keeps.
    tagged: usize,
    most_tagged: usize,
}

impl Route {
    /// The empty inbox of a stream, for a pair with `ord` reads outstanding at most.
    pub fn new(stream: u8, signal: Arc<Signal>, ord: usize) -> Self {
        Self {
            stream,
            signal,
            inbox: VecDeque::new(),
            tagged: 0,
            most_tagged: ord + 1,
        }
    }

    /// Appends a notice, unless it is of no use to the pair.
    pub fn push(&mut self, notice: Result<Notice, Error>) {
        if let Ok(Notice::Completion(Completion::Tagged(message))) = &notice {
            let write = Control(message.rsvd_ulp).check() == Ok(Opcode::Write);
            if write || self.tagged == self.most_tagged {
                return;
            }
            self.tagged += 1;
        }
        if self.inbox.is_empty() {
            self.signal.stir(self.stream);
        }
        self.inbox.push_back(notice);
        self.signal.raise();
    }

    /// Takes the next notice.
    pub fn pop(&mut self) -> Option<Result<Notice, Error>> {
        let notice = self.inbox.pop_front()?;
        if let Ok(Notice::Completion(Completion::Tagged(_))) = &notice {
            self.tagged -= 1;
        }
        Some(notice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::completion::TaggedCompletion;

    fn tagged(rsvd_ulp: u8) -> Result<Notice, Error> {
        Ok(Notice::Completion(Completion::Tagged(TaggedCompletion {
            stream: 0,
            stag: 0,
            offset: 0,
            length: 0,
            rsvd_ulp,
            unverified: false,
        })))
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri knows no files")]
    fn a_peer_cannot_fill_an_inbox() {
        let signal = Arc::new(Signal::new().unwrap());
        let mut route = Route::new(3, Arc::clone(&signal), 2);
        for _ in 0..1000 {
            route.push(tagged(0x40)); // RDMA Write
        }
        assert!(signal.stirred().is_empty());
        for _ in 0..1000 {
            route.push(tagged(0x42)); // Read Response
        }
        let kept = std::iter::from_fn(|| route.pop()).count();
        assert_eq!(kept, 3);
        assert_eq!(signal.stirred(), [3]);
        route.push(tagged(0x42));
        assert!(route.pop().is_some(), "there is room again");
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri knows no files")]
    fn a_signal_wakes_only_who_asked() {
        use rustix::event::{PollFd, PollFlags, Timespec};
        let signal = Signal::new().unwrap();
        let readable = || {
            let fd = signal.fd();
            let mut fds = [PollFd::new(&fd, PollFlags::IN)];
            rustix::event::poll(&mut fds, Some(&Timespec::default())).unwrap() == 1
        };
        signal.raise();
        assert!(!readable());
        signal.request();
        signal.raise();
        signal.raise();
        assert!(readable());
        signal.request();
        assert!(!readable());
    }
}
