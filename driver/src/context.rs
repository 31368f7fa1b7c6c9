//! An opened device.

use std::collections::{BTreeSet, VecDeque};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use warpline_regmap::register::{self, interrupt};

use crate::buffer::{self, Buffer};
use crate::completion::{Completion, Ring};
use crate::device::{Device, DeviceInfo};
use crate::dma::{Dma, Mapped};
use crate::error::Error;
use crate::error_record::ErrorRecord;
use crate::interrupt::{Interrupts, wake};
use crate::memory::DmaMemory;
use crate::protection_domain::ProtectionDomain;
use crate::shape::Shape;
use crate::shared::{Shared, State, StreamState};
use crate::stag::StagSlots;

/// What the program decides about a device as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Entries of the completion queue: a power of two up to 65536.
    pub completion_entries: u32,
    /// Time that a command may take before the device is given up.
    pub command_timeout: Duration,
    /// Moderation: cycles that lie between two interrupts for completions at least, below 2^24; what happens meanwhile
    /// shares the next one. 0 sends each at once.
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
    /// Segments taken in.
    pub segments: u32,
    /// Stream octets accepted for the first time.
    pub octets: u32,
    /// Segments of which octets were dropped that are no duplicates: outside the window, or behind one gap too many.
    pub segments_dropped: u32,
    /// FPDUs that left the assembly rings.
    pub fpdus: u32,
    /// FPDUs discarded because their stream was frozen.
    pub fpdus_discarded: u32,
    /// Payload octets accepted for placement.
    pub payload_octets: u32,
    /// Streams that met an error.
    pub errors: u32,
}

/// An opened device. Handles made from it keep it open; when the last one is gone, the device is reset.
#[derive(Clone)]
pub struct Context {
    pub(crate) shared: Arc<Shared>,
}

impl Context {
    /// Resets `device`, reads what it is, gives it a completion queue and enables its interrupts.
    ///
    /// # Errors
    /// [`Error::NotWarpline`], [`Error::Version`], [`Error::Shape`], [`Error::CompletionEntries`], [`Error::Holdoff`],
    /// those of memory and backend.
    pub fn open(device: Box<dyn Device>, options: Options) -> Result<Self, Error> {
        let holdoff = options.interrupt_holdoff;
        if u64::from(holdoff) > register::HOLDOFF_CYCLES.max() {
            return Err(Error::Holdoff { cycles: holdoff });
        }
        let dma = Arc::new(Dma::new(device));
        // Before anything is done to it: the address may be that of another device. One that reads ones may need a reset.
        let found = dma.read(register::IDENTITY, 0)?;
        if ![register::IDENTITY_VALUE, u32::MAX].contains(&found) {
            return Err(Error::NotWarpline { found });
        }
        dma.device
            .reset()
            .map_err(Error::device("resetting the device"))?;
        let shape = Shape::read(&dma)?;
        let interrupts = Interrupts::new(&*dma.device)
            .map_err(|error| Error::device("collecting the eventfds")(error.into()))?;
        let ring = Ring::new(&dma, options.completion_entries)?;
        let (iova, entries) = (ring.iova(), ring.entries());
        let streams = std::iter::repeat_with(StreamState::default);
        let state = State {
            gone: false,
            faulted: false,
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
            command_timeout: options.command_timeout,
            interrupts,
            state: Mutex::new(state),
        };
        shared.write(register::COMPLETION_BASE_LOW, 0, iova as u32)?;
        shared.write(register::COMPLETION_BASE_HIGH, 0, (iova >> 32) as u32)?;
        shared.write(register::COMPLETION_ENTRIES, 0, entries)?;
        shared.write(register::INTERRUPT_HOLDOFF, 0, holdoff)?;
        let vectors = (1 << interrupt::COUNT) - 1;
        shared.write(register::INTERRUPT_ENABLE, 0, vectors)?;
        let shared = Arc::new(shared);
        Ok(Self { shared })
    }

    /// What the device has.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shared.shape
    }

    /// What the backend says about the device.
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

    /// `count` receive buffers of `length` octets each, in one memory that the device can reach as long as one of them
    /// exists.
    ///
    /// # Errors
    /// [`Error::MemorySize`] when that is no octet at all or too many, [`Error::Memory`], [`Error::NoBusAddress`], those
    /// of the backend.
    pub fn buffers(&self, count: usize, length: u32) -> Result<Vec<Buffer>, Error> {
        let stride = (length as usize).max(1).next_multiple_of(buffer::ALIGNMENT);
        let memory = DmaMemory::new(stride.saturating_mul(count))?;
        let memory = Arc::new(Mapped::new(&self.shared.dma, memory)?);
        let buffer = |i| Buffer::new(Arc::clone(&memory), stride * i, length, i as u64);
        Ok((0..count).map(buffer).collect())
    }

    /// What the device has counted.
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
        })
    }

    /// The error record of a stream (AMB-09); it stays until the stream is armed again.
    ///
    /// # Errors
    /// [`Error::NoStream`], [`Error::Record`], those of the backend.
    pub fn error_record(&self, stream: u8) -> Result<Option<ErrorRecord>, Error> {
        self.shared.error_record(stream)
    }
}

/// Where completions and error events of all streams arrive, in the order in which the device wrote them.
///
/// What is not polled is kept: the ring is emptied whenever the driver looks at it, also while a command runs.
///
/// Three ways to use it: [`poll`](Self::poll) in a loop; [`wait`](Self::wait) in any number of threads; or the descriptor
/// of [`AsFd`] in a reactor, always in this order:
///
/// ```no_run
/// # use warpline_driver::{Completion, CompletionQueue, Error};
/// # fn sleep_until_readable<T>(_: T) {}
/// # fn next(queue: &CompletionQueue) -> Result<Completion, Error> {
/// loop {
///     queue.arm()?; // from here on, an entry that the next line does not see makes the descriptor readable
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
    /// The next completion, if there is one. Reads memory only; now and then it looks whether the device told of a fault.
    ///
    /// # Errors
    /// [`Error::Completion`] for an entry that makes no sense; the queue goes on behind it. [`Error::CompletionFault`],
    /// [`Error::Gone`], those of the backend.
    pub fn poll(&self) -> Result<Option<Completion>, Error> {
        self.shared.next(&mut self.shared.state())
    }

    /// Asks the device for one interrupt: the descriptor becomes readable as soon as there is an entry that was not yet
    /// taken out of the ring. Forgets interrupts that came. Poll once more before sleeping.
    ///
    /// # Errors
    /// [`Error::CompletionFault`], [`Error::Gone`], those of the backend.
    pub fn arm(&self) -> Result<(), Error> {
        self.shared.arm(&mut self.shared.state())
    }

    /// The next completion; sleeps until it comes, at most `timeout`. A card at a socket that dies meanwhile is
    /// [`Error::Gone`] at once.
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
            if let Err(error) = shared.arm(&mut state) {
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
            // This thread may have drained what was meant for others: they have to look, and to arm again.
            if let Err(error) = wake(&*shared.dma.device, interrupt::COMPLETION) {
                tracing::warn!(%error, "other threads that wait may sleep to their time-out");
            }
        }
        result
    }
}

/// For a reactor: readable when the device has told of an entry or a fault, or is gone. Do not read from it;
/// [`CompletionQueue::arm`] makes it unreadable again, or says that the device is gone.
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
