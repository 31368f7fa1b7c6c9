//! One untagged queue of a stream: posted buffers, the MSN of each, and the octets placed in them.
//!
//! ```text
//!   first ─► buffer ─ buffer ─ buffer ─► post
//!   MSN      first    first+1  first+2          modulo 2^32
//! ```

use super::event::{Delivery, Flags};
use crate::ddp::UntaggedHeader;
use alloc::collections::VecDeque;

/// Most buffers a queue holds, so that MSNs behind and ahead stay distinct (AMB-04).
pub const MAX_POSTED: usize = (1 << 31) - 1;

#[derive(Clone, Copy, Debug)]
struct Buffer {
    len: u32,
    /// Payload octets placed so far.
    placed: u64,
    /// Set by the first L=1 segment.
    closed: Option<Closed>,
}

#[derive(Clone, Copy, Debug)]
struct Closed {
    message_len: u32,
    rsvd_ulp: [u8; 5],
    anomaly: bool,
}

/// An untagged queue.
#[derive(Clone, Debug)]
pub struct Queue {
    first: u32,
    window: usize,
    buffers: VecDeque<Buffer>,
}

impl Queue {
    /// A queue without buffers whose next message has this MSN; 1 for a new stream (DDP-UNT-11).
    pub const fn new(first_msn: u32) -> Self {
        Self::with_window(first_msn, MAX_POSTED)
    }

    /// A queue whose DDP segments can target only its first `window` buffers.
    pub const fn with_window(first_msn: u32, window: usize) -> Self {
        Self {
            first: first_msn,
            window,
            buffers: VecDeque::new(),
        }
    }

    /// MSN of the first undelivered message.
    pub const fn first_msn(&self) -> u32 {
        self.first
    }

    /// Buffers posted and not yet delivered.
    pub fn posted(&self) -> usize {
        self.buffers.len()
    }

    /// Posts a buffer of `len` octets for the next MSN without one; returns false if the queue is full.
    pub fn post(&mut self, len: u32) -> bool {
        let room = self.buffers.len() < MAX_POSTED;
        if room {
            self.buffers.push_back(Buffer {
                len,
                placed: 0,
                closed: None,
            });
        }
        room
    }

    /// How far an MSN is ahead of the first undelivered one, modulo 2^32.
    pub const fn distance(&self, msn: u32) -> u32 {
        msn.wrapping_sub(self.first)
    }

    /// Length of the buffer that far ahead, and the octets placed in it so far, if one is posted and
    /// in the window. An octet that is placed twice counts twice.
    pub fn buffer(&self, distance: u32) -> Option<(u32, u64)> {
        let reached = Some(distance as usize).filter(|&distance| distance < self.window)?;
        let buffer = self.buffers.get(reached)?;
        Some((buffer.len, buffer.placed))
    }

    /// Records an accepted DDP segment with `len` payload octets.
    pub fn accept(&mut self, header: &UntaggedHeader, len: usize) {
        let distance = self.distance(header.msn) as usize;
        let Some(buffer) = self.buffers.get_mut(distance) else {
            return;
        };
        buffer.placed += len as u64;
        match &mut buffer.closed {
            // The first L=1 segment fixes length and RsvdULP (AMB-06).
            Some(closed) => closed.anomaly = true,
            None if header.last => {
                buffer.closed = Some(Closed {
                    message_len: header.mo.saturating_add(len as u32),
                    rsvd_ulp: header.rsvd_ulp,
                    anomaly: false,
                });
            }
            None => {}
        }
    }

    /// Takes the first message off the queue if its L=1 segment has been accepted.
    pub fn deliver(&mut self, queue: u32) -> Option<(Delivery, Flags)> {
        let closed = self.buffers.front()?.closed?;
        let buffer = self.buffers.pop_front()?;
        let msn = self.first;
        self.first = self.first.wrapping_add(1);
        let mut flags = Flags::empty();
        let hole = buffer.placed != u64::from(closed.message_len);
        flags.set(Flags::HOLE, hole);
        flags.set(Flags::ANOMALY, closed.anomaly);
        let delivery = Delivery::Untagged {
            queue,
            msn,
            length: closed.message_len,
            rsvd_ulp: closed.rsvd_ulp,
        };
        Some((delivery, flags))
    }
}
