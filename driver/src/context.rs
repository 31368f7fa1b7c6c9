//! An opened device.

use std::collections::{BTreeSet, VecDeque};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use warpline_regmap::mailbox;
use warpline_regmap::register::{self, interrupt};

use crate::buffer::{self, Buffer};
use crate::completion::{Completion, Ring};
use crate::device::{Device, DeviceInfo};
use crate::dma::{Dma, Mapped};
use crate::error::Error;
use crate::error_record::ErrorRecord;
use crate::interrupt::{Interrupts, unblock, wake};
use crate::memory::DmaMemory;
use crate::protection_domain::ProtectionDomain;
use crate::shape::{Capabilities, Shape};
use crate::shared::{Shared, State, StreamState};
use crate::stag::StagSlots;

/// Options of a device as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Entries of the completion queue: a power of two up to 65536.
    pub completion_entries: u32,
    /// Time limit of a command; after it the driver gives the device up.
    pub command_timeout: Duration,
    /// Interrupt moderation: least number of cycles between two interrupts for completions, below 2^24. Completions in
    /// between share the next interrupt. 0 turns moderation off.
    pub interrupt_holdoff: u32,
}

impl Default for Options {
    /// 1024 entries, 10 seconds, no moderation.
    fn default() -> Self {
        Self {
            completion_entries: 1024,
            command_timeout: Duration::from_secs(10),
            interrupt_holdoff: 0,
        }
    }
}

/// Counters of a device since it was opened, each modulo 2^32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Segments accepted from the network.
    pub segments: u32,
    /// Stream octets accepted for the first time.
    pub octets: u32,
    /// Segments that lost octets other than duplicates: outside the window, or beyond the last gap that the device can keep.
    pub segments_dropped: u32,
    /// FPDUs read from the assembly rings.
    pub fpdus: u32,
    /// FPDUs discarded because their stream was frozen.
    pub fpdus_discarded: u32,
    /// Payload octets accepted for placement.
    pub payload_octets: u32,
    /// Streams that met an error.
    pub errors: u32,
    /// Those of them on which a message found no buffer, counted as the driver takes their events from the completion queue: a
    /// fault of this system, not of what was received (RFC 5041 §7.1).
    pub missing_buffers: u32,
}

/// An opened device. Handles made from it keep it open; dropping the last one resets the device.
#[derive(Clone)]
pub struct Context {
    pub(crate) shared: Arc<Shared>,
}

impl Context {
    /// Resets `device`, reads its shape, gives it a completion queue and enables its interrupts.
    ///
    /// # Errors
    /// [`Error::NotWarpline`], [`Error::Version`], [`Error::Shape`], [`Error::CompletionEntries`], [`Error::Holdoff`],
    /// [`Error::CompletionQueueRefused`], those of memory and backend.
    pub fn open(device: Box<dyn Device>, options: Options) -> Result<Self, Error> {
        let holdoff = options.interrupt_holdoff;
        if u64::from(holdoff) > register::HOLDOFF_CYCLES.max() {
            return Err(Error::Holdoff { cycles: holdoff });
        }
        let dma = Arc::new(Dma::new(device));
        // Check before any write: the address may be that of another device. A device that reads all ones may need a reset.
        let found = dma.read(register::IDENTITY, 0)?;
        if ![register::IDENTITY_VALUE, u32::MAX].contains(&found) {
            return Err(Error::NotWarpline { found });
        }
        dma.device
            .reset()
            .map_err(Error::device("resetting the device"))?;
        let shape = Shape::read(&dma)?;
        let capabilities = Capabilities::read(&dma)?;
        let interrupts = Interrupts::new(&*dma.device)
            .map_err(|error| Error::device("collecting the eventfds")(error.into()))?;
        let ring = Ring::new(&dma, options.completion_entries)?;
        let (iova, entries) = (ring.iova(), ring.entries());
        let streams = std::iter::repeat_with(StreamState::default);
        let state = State {
            gone: false,
            faulted: false,
            missing_buffers: 0,
            idle_polls: 0,
            waiters: 0,
            ring: Some(ring),
            stags: StagSlots::new(shape.stag_slots),
            domains: BTreeSet::new(),
            streams: streams.take(shape.streams.into()).collect(),
            ready: VecDeque::new(),
        };
        let shared = Shared {
            dma,
            shape,
            capabilities,
            command_timeout: options.command_timeout,
            interrupts,
            state: Mutex::new(state),
            mailbox: Mutex::default(),
        };
        shared.write(register::COMPLETION_BASE_LOW, 0, iova as u32)?;
        shared.write(register::COMPLETION_BASE_HIGH, 0, (iova >> 32) as u32)?;
        shared.write(register::COMPLETION_ENTRIES, 0, entries)?;
        match shared.read(register::COMPLETION_ENTRIES, 0)? {
            found if found == entries => {}
            u32::MAX => return Err(Error::Gone),
            found => {
                return Err(Error::CompletionQueueRefused {
                    entries,
                    iova,
                    found,
                });
            }
        }
        shared.write(register::INTERRUPT_HOLDOFF, 0, holdoff)?;
        let mut vectors = (1 << interrupt::COUNT) - 1;
        if shared.mailbox_interrupt() {
            unblock(&*shared.dma.device, mailbox::INTERRUPT)
                .map_err(|error| Error::device("collecting the eventfds")(error.into()))?;
            vectors |= 1 << mailbox::INTERRUPT;
        }
        shared.write(register::INTERRUPT_ENABLE, 0, vectors)?;
        let shared = Arc::new(shared);
        Ok(Self { shared })
    }

    /// What the device has.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shared.shape
    }

    /// What the device can do beyond receiving.
    #[must_use]
    pub fn capabilities(&self) -> Capabilities {
        self.shared.capabilities
    }

    /// The backend's description of the device.
    #[must_use]
    pub fn info(&self) -> DeviceInfo {
        self.shared.dma.device.info()
    }

    /// A new protection domain.
    ///
    /// # Errors
    /// [`Error::NoDomain`].
    pub fn protection_domain(&self) -> Result<ProtectionDomain, Error> {
        ProtectionDomain::new(&self.shared)
    }

    /// The completion queue of all streams.
    #[must_use]
    pub fn completion_queue(&self) -> CompletionQueue {
        let shared = Arc::clone(&self.shared);
        CompletionQueue { shared }
    }

    /// `count` receive buffers of `length` octets each, in one memory. It stays mapped as long as one of them exists.
    ///
    /// # Errors
    /// [`Error::MemorySize`] when the total is 0 or too large, [`Error::Memory`], [`Error::NoBusAddress`], those
    /// of the backend.
    pub fn buffers(&self, count: usize, length: u32) -> Result<Vec<Buffer>, Error> {
        let stride = (length as usize).max(1).next_multiple_of(buffer::ALIGNMENT);
        let memory = DmaMemory::new(stride.saturating_mul(count))?;
        let memory = Arc::new(Mapped::new(&self.shared.dma, memory)?);
        let buffer = |i| Buffer::new(Arc::clone(&memory), stride * i, length, i as u64);
        Ok((0..count).map(buffer).collect())
    }

    /// Reads the device's counters.
    ///
    /// # Errors
    /// Those of the backend.
    pub fn counters(&self) -> Result<Counters, Error> {
        let read = |register| self.shared.read(register, 0);
        Ok(Counters {
            segments: read(register::SEGMENTS)?,
            octets: read(register::OCTETS)?,
            segments_dropped: read(register::SEGMENTS_DROPPED)?,
            fpdus: read(register::FPDUS)?,
            fpdus_discarded: read(register::FPDUS_DISCARDED)?,
            payload_octets: read(register::PAYLOAD_OCTETS)?,
            errors: read(register::ERRORS)?,
            missing_buffers: self.shared.state().missing_buffers,
        })
    }

    /// Listeners and connections that exist.
    #[must_use]
    pub fn connections(&self) -> usize {
        let mailbox = self.shared.mailbox.lock();
        mailbox.unwrap_or_else(PoisonError::into_inner).parties()
    }

    /// The error record of a stream (AMB-09); it stays until the stream is armed again.
    ///
    /// # Errors
    /// [`Error::NoStream`], [`Error::Record`], those of the backend.
    pub fn error_record(&self, stream: u8) -> Result<Option<ErrorRecord>, Error> {
        self.shared.error_record(stream)
    }
}

/// Completions and error events of all streams, in the order in which the device wrote them.
///
/// Nothing is lost when the program polls late: the driver moves entries from the ring into memory at every poll, and while a
/// command runs.
///
/// Three ways to use it: [`poll`](Self::poll) in a loop; [`wait`](Self::wait) in any number of threads; or the descriptor
/// of [`AsFd`] in a reactor, always in this order:
///
/// ```no_run
/// # use warpline_driver::{Completion, CompletionQueue, Error};
/// # fn sleep_until_readable<T>(_: T) {}
/// # fn next(queue: &CompletionQueue) -> Result<Completion, Error> {
/// loop {
///     queue.request_interrupt()?; // from here on, an entry that the next line does not see makes the descriptor readable
///     if let Some(completion) = queue.poll()? {
///         return Ok(completion);
///     }
///     sleep_until_readable(queue);
/// }
/// # }
/// ```
#[derive(Clone)]
pub struct CompletionQueue {
    shared: Arc<Shared>,
}

impl CompletionQueue {
    /// The next completion, if there is one. Most calls read memory only; every 1024th call that finds nothing also checks
    /// for a fault.
    ///
    /// # Errors
    /// [`Error::Completion`] for a malformed entry; the queue continues after it. [`Error::CompletionFault`],
    /// [`Error::Gone`], those of the backend.
    pub fn poll(&self) -> Result<Option<Completion>, Error> {
        self.shared.next(&mut self.shared.state())
    }

    /// Asks the device for one interrupt: the descriptor becomes readable as soon as the ring holds an entry that is not
    /// consumed. Clears earlier interrupts. Poll once more before sleeping.
    ///
    /// # Errors
    /// [`Error::CompletionFault`], [`Error::Gone`], those of the backend.
    pub fn request_interrupt(&self) -> Result<(), Error> {
        self.shared.request_interrupt(&mut self.shared.state())
    }

    /// The next completion; sleeps until it comes, at most `timeout`. If a card at a socket disconnects meanwhile, the call
    /// returns [`Error::Gone`] at once.
    ///
    /// # Errors
    /// As [`poll`](Self::poll).
    pub fn wait(&self, timeout: Duration) -> Result<Option<Completion>, Error> {
        let shared = &*self.shared;
        let start = Instant::now();
        let mut state = shared.state();
        let result = loop {
            match shared.next(&mut state) {
                Ok(None) => {}
                known => break known,
            }
            let left = timeout.saturating_sub(start.elapsed());
            if left.is_zero() {
                break Ok(None);
            }
            if let Err(error) = shared.request_interrupt(&mut state) {
                break Err(error);
            }
            match shared.next(&mut state) {
                Ok(None) => {}
                known => break known,
            }
            state.waiters += 1;
            drop(state);
            let slept = shared.interrupts.wait(left);
            state = shared.state();
            state.waiters -= 1;
            if let Err(error) = slept {
                break Err(Error::device("waiting for the device")(error.into()));
            }
        };
        if state.waiters > 0 {
            // This thread may have drained an interrupt that others wait for: wake them, so that they poll and ask again.
            if let Err(error) = wake(&*shared.dma.device, interrupt::COMPLETION) {
                tracing::warn!(%error, "other waiting threads may sleep until their time-out");
            }
        }
        result
    }
}

/// For a reactor: readable after an interrupt for an entry or a fault, and when the device is gone. Do not read from it;
/// [`CompletionQueue::request_interrupt`] makes it unreadable again, or reports that the device is gone.
impl AsFd for CompletionQueue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.shared.interrupts.fd()
    }
}

impl AsRawFd for CompletionQueue {
    fn as_raw_fd(&self) -> RawFd {
        self.as_fd().as_raw_fd()
    }
}
