//! Memory regions (RFC 5041 §8.2, §8.3).

use std::fmt;
use std::sync::Arc;

use warpline_regmap::layout::{revoke, stag_entry};
use warpline_regmap::register::command;
use warpline_regmap::transmit;

use crate::dma::Mapped;
use crate::domain::Domain;
use crate::error::{Error, Returned};
use crate::memory::DmaMemory;
use crate::stag::{Holder, Rights};

/// Who may use an STag (RFC 5041 §8.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// All streams of the region's protection domain.
    #[default]
    ProtectionDomain,
    /// That stream alone, until it is closed; a stream that is not armed may be armed once (DDP-SEC-02). It must be
    /// of the region's protection domain (AMB-59).
    Stream(u8),
}

/// What a memory region offers to the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registration {
    /// First octet of the memory that belongs to the region.
    pub offset: usize,
    /// Octets of the region, may be 0; `None` = to the end of the memory.
    pub length: Option<usize>,
    /// Tagged Offset of the region's first octet; `None` = its bus address.
    pub base: Option<u64>,
    /// The peer may write. The sink of an RDMA Read needs it as well: a Read Response is a tagged message of the peer.
    pub remote_write: bool,
    /// The peer may read: RDMA Reads of queue pairs are answered from it.
    pub remote_read: bool,
    /// Who may use the STag.
    pub scope: Scope,
}

impl Registration {
    /// Memory that only this end uses, for the data of its sends.
    #[must_use]
    pub fn local() -> Self {
        Self {
            remote_write: false,
            ..Self::default()
        }
    }

    /// Memory that the peer may read and not write.
    #[must_use]
    pub fn readable() -> Self {
        Self {
            remote_write: false,
            remote_read: true,
            ..Self::default()
        }
    }
}

impl Default for Registration {
    /// The whole memory at its bus address, writable and not readable for all streams of the protection domain.
    fn default() -> Self {
        Self {
            offset: 0,
            length: None,
            base: None,
            remote_write: true,
            remote_read: false,
            scope: Scope::ProtectionDomain,
        }
    }
}

/// Memory that the device may access under an STag, for the peer as far as the registration has rights, and for sends, from [`ProtectionDomain::register`](crate::ProtectionDomain::register) until it is revoked.
///
/// Dropping it revokes the STag as well, but cannot report errors. If the device does not confirm, the memory is kept
/// permanently: it is never returned to the system while the device might still write to it.
///
/// There is no slice of a registered memory:
///
/// ```compile_fail,E0608
/// fn look(region: &warpline_driver::MemoryRegion) -> u8 {
///     region[0] // the peer may be writing this octet
/// }
/// ```
///
/// and none outlives a registration:
///
/// ```compile_fail,E0505
/// # use warpline_driver::*;
/// fn keep(domain: &ProtectionDomain, memory: DmaMemory) {
///     let octets = &memory[..];
///     let region = domain.register(memory, Registration::default());
///     println!("{octets:?}"); // `memory` was moved
/// }
/// ```
pub struct MemoryRegion {
    domain: Arc<Domain>,
    /// `None` once revoked.
    memory: Option<Mapped>,
    stag: u32,
    base: u64,
    offset: usize,
    length: usize,
    remote_write: bool,
    /// Number of the registration.
    serial: u64,
}

impl MemoryRegion {
    /// Registers `memory` in `domain`, under `stag` or under one that cannot be guessed.
    pub(crate) fn register(
        domain: &Arc<Domain>,
        stag: Option<u32>,
        memory: DmaMemory,
        registration: Registration,
    ) -> Result<Self, Returned<DmaMemory>> {
        let Registration {
            offset,
            base,
            remote_write,
            remote_read,
            scope,
            ..
        } = registration;
        let shared = &domain.shared;
        let size = memory.len();
        let length = registration.length.unwrap_or(size.saturating_sub(offset));
        let back = |memory| {
            move |error| Returned {
                error,
                item: memory,
            }
        };
        let range = Error::Range {
            offset,
            length,
            size,
        };
        if offset.checked_add(length).is_none_or(|end| end > size) {
            return Err(back(Some(memory))(range));
        }
        if let Some(base) = base
            && u128::from(base) + length as u128 > 1 << 64
        {
            return Err(back(Some(memory))(Error::TaggedOffsets { base, length }));
        }
        if let Scope::Stream(stream) = scope
            && let Err(error) = shared.check_stream(stream)
        {
            return Err(back(Some(memory))(error));
        }

        let mapped = Mapped::new(&shared.dma, memory).map_err(back(None))?;
        let address = mapped.iova() + offset as u64;
        let base = base.unwrap_or(address);
        let mut state = shared.state();
        let stream = match scope {
            Scope::ProtectionDomain => None,
            Scope::Stream(stream) => {
                let state = &state.streams[usize::from(stream)];
                if state.armed && state.domain != domain.id {
                    let domain = state.domain;
                    let error = Error::StreamDomain { stream, domain };
                    return Err(back(mapped.unmap().ok())(error));
                }
                Some((stream, state.generation))
            }
        };
        let picked = match stag {
            Some(stag) => Ok(stag),
            None => getrandom::u32()
                .map_err(Error::Random)
                .and_then(|random| state.stags.pick(random)),
        };
        let serial = state.stags.serial();
        let taken = picked.and_then(|stag| {
            let holder = Holder {
                stag,
                domain: domain.id,
                stream,
                rights: Rights {
                    base,
                    length: length as u64,
                    read: remote_read,
                    write: remote_write,
                },
                serial,
            };
            state.stags.take(holder).map(|()| stag)
        });
        let stag = match taken {
            Ok(stag) => stag,
            Err(error) => return Err(back(mapped.unmap().ok())(error)),
        };

        let mut words = [0; stag_entry::WORDS];
        stag_entry::STAG.put(&mut words, stag.into());
        stag_entry::PROTECTION_DOMAIN.put(&mut words, domain.id.into());
        if let Scope::Stream(stream) = scope {
            stag_entry::STREAM.put(&mut words, stream.into());
            stag_entry::STREAM_SCOPE.put(&mut words, 1);
        }
        stag_entry::REMOTE_WRITE.put(&mut words, remote_write.into());
        transmit::REMOTE_READ.put(&mut words, remote_read.into());
        stag_entry::BASE.put(&mut words, base);
        stag_entry::LENGTH.put(&mut words, length as u64);
        stag_entry::ADDRESS.put(&mut words, address);
        match shared.command(&mut state, command::WRITE_STAG, &words) {
            Ok(()) => {}
            Err(error @ Error::Refused { .. }) => {
                state.stags.release(stag);
                return Err(back(mapped.unmap().ok())(error));
            }
            Err(error) => {
                mapped.leak(); // the device may have written the entry
                return Err(back(None)(error));
            }
        }
        drop(state);
        Ok(Self {
            domain: Arc::clone(domain),
            memory: Some(mapped),
            stag,
            base,
            offset,
            length,
            remote_write,
            serial,
        })
    }

    /// The STag by which the peer addresses it.
    #[must_use]
    pub fn stag(&self) -> u32 {
        self.stag
    }

    /// Tagged Offset of its first octet.
    #[must_use]
    pub fn base(&self) -> u64 {
        self.base
    }

    /// Its octets: the range of the memory that the peer may write to.
    #[must_use]
    pub fn range(&self) -> std::ops::Range<usize> {
        self.offset..self.offset + self.length
    }

    /// Whether its STag is valid: a peer with a right to it may invalidate it by a Send with Invalidate
    /// ([`WorkCompletion::invalidated`](crate::WorkCompletion)). The memory stays the region's until it is revoked or
    /// dropped.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        let state = self.domain.shared.state();
        let holder = state.stags.find(self.stag);
        holder.is_some_and(|holder| holder.serial == self.serial)
    }

    /// Whether the peer may write.
    pub(crate) fn remote_write(&self) -> bool {
        self.remote_write
    }

    /// Its protection domain.
    pub(crate) fn domain(&self) -> &Arc<Domain> {
        &self.domain
    }

    /// Copies octets of the memory, from `offset` in it on, into `to`. The peer may be writing at the same time.
    ///
    /// # Errors
    /// [`Error::Range`].
    pub fn read_at(&self, offset: usize, to: &mut [u8]) -> Result<(), Error> {
        self.mapped()?.memory().read(offset, to)
    }

    /// Copies `from` to octets of the memory, from `offset` in it on.
    ///
    /// # Errors
    /// [`Error::Range`].
    pub fn write_at(&self, offset: usize, from: &[u8]) -> Result<(), Error> {
        self.mapped()?.memory().write(offset, from)
    }

    /// A copy of the whole memory, including octets outside of the region.
    ///
    /// # Errors
    /// None while it is registered.
    pub fn to_vec(&self) -> Result<Vec<u8>, Error> {
        let mut octets = vec![0; self.mapped()?.memory().len()];
        self.read_at(0, &mut octets)?;
        Ok(octets)
    }

    /// Invalidates the STag. When it returns, no access through the STag is under way or can begin, neither a write of the
    /// peer (AMB-42, DDP-SEC-22) nor a read for a send request, and only the program accesses the memory.
    ///
    /// # Errors
    /// Those of commands and backend; the memory is then kept permanently, because the device may still write to it.
    pub fn revoke(mut self) -> Result<DmaMemory, Error> {
        self.end()?.ok_or(Error::Gone)
    }

    fn mapped(&self) -> Result<&Mapped, Error> {
        self.memory.as_ref().ok_or(Error::Gone)
    }

    fn end(&mut self) -> Result<Option<DmaMemory>, Error> {
        let Some(mapped) = self.memory.take() else {
            return Ok(None);
        };
        let mut words = [0; revoke::WORDS];
        revoke::STAG.put(&mut words, self.stag.into());
        let shared = &self.domain.shared;
        let mut state = shared.state();
        let holder = state.stags.find(self.stag);
        if holder.is_some_and(|holder| holder.serial == self.serial) {
            if let Err(error) = shared.command(&mut state, command::REVOKE_STAG, &words) {
                mapped.leak();
                return Err(error);
            }
            state.stags.release(self.stag);
        } // otherwise the peer has invalidated it, and the device has confirmed that
        drop(state);
        mapped.unmap().map(Some)
    }
}

impl Drop for MemoryRegion {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            tracing::warn!(stag = self.stag, %error, "memory region not revoked");
        }
    }
}

impl fmt::Debug for MemoryRegion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryRegion")
            .field("stag", &format_args!("{:#010x}", self.stag))
            .field("base", &format_args!("{:#x}", self.base))
            .field("length", &self.length)
            .finish_non_exhaustive()
    }
}
