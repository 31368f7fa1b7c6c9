//! Waiting for the card's messages.
//!
//! ```text
//!  card ─► eventfd of COMPLETION ─┐
//!       ─► eventfd of FAULT ──────┼─► epoll ─► one descriptor: for `wait`, and for the program's own reactor
//!       ─► hung up ───────────────┘
//! ```
//!
//! No wake-up is lost: poll the ring, drain the eventfd, request an interrupt with the number of entries consumed, poll
//! again, sleep. The second poll finds what the card wrote before the request. What it writes later causes a message,
//! because the card compares that number with its own.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, epoll};
use rustix::fs::OFlags;
use warpline_regmap::register::interrupt;

use crate::device::Device;

/// The eventfds of a device as one descriptor.
#[derive(Debug)]
pub(crate) struct Interrupts {
    epoll: OwnedFd,
}

impl Interrupts {
    /// Collects the eventfds of `device` and makes them non-blocking.
    pub fn new(device: &dyn Device) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        for vector in 0..interrupt::COUNT {
            unblock(device, vector)?;
            let eventfd = device.interrupt(vector);
            let data = epoll::EventData::new_u64(vector as u64);
            epoll::add(&epoll, eventfd, data, epoll::EventFlags::IN)?;
        }
        if let Some(fd) = device.hang_up() {
            let data = epoll::EventData::new_u64(interrupt::COUNT as u64);
            epoll::add(&epoll, fd, data, epoll::EventFlags::RDHUP)?;
        }
        Ok(Self { epoll })
    }

    /// Readable while a message of any vector is not drained, and permanently once the card has hung up.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }

    /// Waits for a message, at most `timeout`. May return early.
    pub fn wait(&self, timeout: Duration) -> io::Result<()> {
        let timeout = Timespec::try_from(timeout).ok(); // out of range: no time-out
        let mut fds = [PollFd::new(&self.epoll, PollFlags::IN)];
        match rustix::event::poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Waits until one of `fds` is readable or `hang_up` hangs up, at most `timeout`. May return early.
pub(crate) fn wait_any(
    fds: &[BorrowedFd<'_>],
    hang_up: Option<BorrowedFd<'_>>,
    timeout: Duration,
) -> io::Result<()> {
    let timeout = Timespec::try_from(timeout).ok(); // out of range: no time-out
    let readable = fds.iter().map(|fd| PollFd::new(fd, PollFlags::IN));
    let hang_up = hang_up.iter().map(|fd| PollFd::new(fd, PollFlags::RDHUP));
    let mut fds: Vec<_> = readable.chain(hang_up).collect();
    match rustix::event::poll(&mut fds, timeout.as_ref()) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Makes the eventfd of `vector` non-blocking.
pub(crate) fn unblock(device: &dyn Device, vector: usize) -> io::Result<()> {
    let eventfd = device.interrupt(vector);
    let flags = rustix::fs::fcntl_getfl(eventfd)?;
    rustix::fs::fcntl_setfl(eventfd, flags | OFlags::NONBLOCK)?;
    Ok(())
}

/// Clears the messages of `vector` that came so far; returns whether there were any.
pub(crate) fn drain(device: &dyn Device, vector: usize) -> io::Result<bool> {
    let mut count = [0; 8];
    loop {
        match rustix::io::read(device.interrupt(vector), &mut count) {
            Ok(_) => return Ok(true),
            Err(rustix::io::Errno::AGAIN) => return Ok(false),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Whether the connection to `device` has hung up.
pub(crate) fn hung_up(device: &dyn Device) -> io::Result<bool> {
    let Some(fd) = device.hang_up() else {
        return Ok(false);
    };
    let mut fds = [PollFd::new(&fd, PollFlags::RDHUP)];
    match rustix::event::poll(&mut fds, Some(&Timespec::default())) {
        Ok(events) => Ok(events > 0),
        Err(rustix::io::Errno::INTR) => Ok(false), // the next check finds out
        Err(error) => Err(error.into()),
    }
}

/// Wakes the threads that wait for `vector`, as its message would.
pub(crate) fn wake(device: &dyn Device, vector: usize) -> io::Result<()> {
    match rustix::io::write(device.interrupt(vector), &1_u64.to_ne_bytes()) {
        Ok(_) | Err(rustix::io::Errno::AGAIN) => Ok(()), // a full count wakes as well
        Err(error) => Err(error.into()),
    }
}
