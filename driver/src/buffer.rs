//! Receive buffers: pieces of one memory that stays mapped as long as one of them exists.

use std::fmt;
use std::sync::Arc;

use crate::dma::Mapped;
use crate::error::Error;

/// Buffers of one memory begin at multiples of this number of octets, so that no two share a cache line.
pub(crate) const ALIGNMENT: usize = 64;

/// A receive buffer. The program owns it, except from [`post`](crate::ReceiveQueue::post) until its completion is polled:
/// then the receive queue does.
pub struct Buffer {
    memory: Arc<Mapped>,
    start: usize,
    length: u32,
    id: u64,
}

impl Buffer {
    pub(crate) fn new(memory: Arc<Mapped>, start: usize, length: u32, id: u64) -> Self {
        Self {
            memory,
            start,
            length,
            id,
        }
    }

    /// The number that the program gave it. [`Context::buffers`](crate::Context::buffers) numbers new buffers 0, 1, 2, …
    #[must_use]
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Sets the number by which the program identifies it.
    pub fn set_id(&mut self, id: u64) {
        self.id = id;
    }

    /// Its size in octets.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "a capacity, not a content")]
    pub fn len(&self) -> u32 {
        self.length
    }

    /// Copies the octets from `offset` on into `to`.
    ///
    /// # Errors
    /// [`Error::Range`].
    pub fn read_at(&self, offset: usize, to: &mut [u8]) -> Result<(), Error> {
        self.check(offset, to.len())?;
        self.memory.memory().read(self.start + offset, to)
    }

    /// Copies `from` to the octets from `offset` on.
    ///
    /// # Errors
    /// [`Error::Range`].
    pub fn write_at(&mut self, offset: usize, from: &[u8]) -> Result<(), Error> {
        self.check(offset, from.len())?;
        self.memory.memory().write(self.start + offset, from)
    }

    /// A copy of all its octets.
    #[must_use]
    pub fn to_vec(&self) -> Vec<u8> {
        let mut octets = vec![0; self.length as usize];
        let read = self.read_at(0, &mut octets);
        debug_assert!(read.is_ok(), "{read:?}");
        octets
    }

    /// Bus address of its first octet.
    pub(crate) fn iova(&self) -> u64 {
        self.memory.iova() + self.start as u64
    }

    fn check(&self, offset: usize, length: usize) -> Result<(), Error> {
        let size = self.length as usize;
        match offset.checked_add(length) {
            Some(end) if end <= size => Ok(()),
            _ => Err(Error::Range {
                offset,
                length,
                size,
            }),
        }
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, length, .. } = self;
        f.debug_struct("Buffer")
            .field("id", id)
            .field("length", length)
            .finish_non_exhaustive()
    }
}
