//! Protection domains (RFC 5041 §8.2).

use std::sync::Arc;

use crate::domain::Domain;
use crate::error::{Error, Returned};
use crate::memory::DmaMemory;
use crate::region::{MemoryRegion, Registration};
use crate::shared::Shared;
use crate::stream::{Stream, StreamOptions};

/// Ties memory regions and streams together: a peer reaches a region only through a stream of the same domain
/// (DDP-SEC-01). Streams and regions keep their domain's number in use.
pub struct ProtectionDomain {
    inner: Arc<Domain>,
}

impl ProtectionDomain {
    pub(crate) fn new(shared: &Arc<Shared>) -> Result<Self, Error> {
        let inner = Domain::new(shared)?;
        Ok(Self { inner })
    }

    pub(crate) fn inner(&self) -> &Arc<Domain> {
        &self.inner
    }

    /// Its number, unique among those in use. It never crosses the network (DDP-SEC-07).
    #[must_use]
    pub fn id(&self) -> u16 {
        self.inner.id
    }

    /// Offers `memory` to the peer under a new STag that cannot be guessed.
    ///
    /// # Errors
    /// [`Error::Range`], [`Error::TaggedOffsets`], [`Error::NoStream`], [`Error::StreamDomain`], [`Error::NoStagSlot`],
    /// [`Error::NoBusAddress`], [`Error::Random`], those of commands and backend.
    pub fn register(
        &self,
        memory: DmaMemory,
        registration: Registration,
    ) -> Result<MemoryRegion, Returned<DmaMemory>> {
        MemoryRegion::register(&self.inner, None, memory, registration)
    }

    /// Offers `memory` under a given STag, as for replaying recorded traffic.
    ///
    /// # Errors
    /// As [`register`](Self::register), and [`Error::StagSlotTaken`].
    pub fn register_as(
        &self,
        stag: u32,
        memory: DmaMemory,
        registration: Registration,
    ) -> Result<MemoryRegion, Returned<DmaMemory>> {
        MemoryRegion::register(&self.inner, Some(stag), memory, registration)
    }

    /// Arms stream `number` in this domain.
    ///
    /// # Errors
    /// [`Error::NoStream`], [`Error::StreamArmed`], [`Error::StreamRegions`], [`Error::RegionDomain`], [`Error::QueueMask`],
    /// those of commands.
    pub fn arm(&self, number: u8, options: StreamOptions) -> Result<Stream, Error> {
        Stream::arm(&self.inner, number, options)
    }
}
