//! Work requests of a queue pair: what to do, with which memory.
//!
//! ```text
//!   WorkRequest::write(id, data, peer's STag and Tagged Offset)
//!                send (id, data)                                    .solicited() .invalidate(stag)
//!                read (id, one piece of local memory, peer's STag and Tagged Offset)
//!                                                                   .fenced() .silent()
//! ```

use std::ops::Range;
use std::sync::Arc;

use warpline_regmap::transmit::{Element, Gather, Inline, Payload};

use crate::error::Error;
use crate::region::MemoryRegion;

/// A piece of a registered memory. It keeps the region until its request is done.
#[derive(Clone, Debug)]
pub struct Local {
    region: Arc<MemoryRegion>,
    element: Element,
}

impl Local {
    /// Octets `range` of the region's memory; offsets count from the start of the memory, as in
    /// [`MemoryRegion::read_at`].
    ///
    /// # Errors
    /// [`Error::Range`] when they leave the region or are 2^32 or more.
    pub fn new(region: &Arc<MemoryRegion>, range: Range<usize>) -> Result<Self, Error> {
        let whole = region.range();
        let outside = || Error::Range {
            offset: range.start,
            length: range.len(),
            size: whole.end,
        };
        let inside = range.start <= range.end && range.start >= whole.start;
        if !inside || range.end > whole.end {
            return Err(outside());
        }
        let element = Element {
            stag: region.stag(),
            length: u32::try_from(range.len()).map_err(|_| outside())?,
            offset: region
                .base()
                .wrapping_add((range.start - whole.start) as u64),
        };
        let region = Arc::clone(region);
        Ok(Self { region, element })
    }

    /// All octets of the region.
    ///
    /// # Errors
    /// [`Error::Range`] when they are 2^32 or more.
    pub fn all(region: &Arc<MemoryRegion>) -> Result<Self, Error> {
        Self::new(region, region.range())
    }

    pub(super) fn region(&self) -> &MemoryRegion {
        &self.region
    }

    pub(super) fn element(&self) -> Element {
        self.element
    }
}

/// What a Write or a Send carries.
#[derive(Clone, Debug)]
pub enum Data {
    /// Up to 8 pieces of registered memory, one behind the other. The device reads them after the request was posted and
    /// until it is complete.
    Gather(Vec<Local>),
    /// Up to 64 octets, copied when the request is posted.
    Inline(Vec<u8>),
}

impl From<Local> for Data {
    fn from(piece: Local) -> Self {
        Self::Gather(vec![piece])
    }
}

impl From<Vec<Local>> for Data {
    fn from(pieces: Vec<Local>) -> Self {
        Self::Gather(pieces)
    }
}

impl From<&[u8]> for Data {
    fn from(octets: &[u8]) -> Self {
        Self::Inline(octets.into())
    }
}

impl Data {
    /// No octets.
    #[must_use]
    pub fn none() -> Self {
        Self::Inline(Vec::new())
    }

    pub(super) fn payload(&self) -> Result<Payload, Error> {
        Ok(match self {
            Self::Gather(pieces) => {
                let full = pieces.iter().filter(|piece| piece.element.length > 0);
                let elements: Vec<Element> = full.map(Local::element).collect();
                Payload::Gather(Gather::new(&elements)?)
            }
            Self::Inline(octets) => Payload::Inline(Inline::new(octets)?),
        })
    }

    pub(super) fn pieces(&self) -> &[Local] {
        match self {
            Self::Gather(pieces) => pieces,
            Self::Inline(_) => &[],
        }
    }
}

/// Memory of the peer, as the peer has told it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remote {
    /// STag.
    pub stag: u32,
    /// Tagged Offset of the first octet.
    pub offset: u64,
}

/// What a request does.
#[derive(Clone, Debug)]
pub(super) enum Operation {
    Write {
        data: Data,
        to: Remote,
    },
    Send {
        data: Data,
        solicited: bool,
        invalidate: Option<u32>,
    },
    Read {
        sink: Option<Local>,
        from: Remote,
    },
}

/// One request of a send queue.
#[derive(Clone, Debug)]
pub struct WorkRequest {
    pub(super) id: u64,
    pub(super) operation: Operation,
    pub(super) signalled: bool,
    pub(super) fenced: bool,
    /// Of the driver's own: it is never reported.
    pub(super) internal: bool,
}

impl WorkRequest {
    fn new(id: u64, operation: Operation) -> Self {
        Self {
            id,
            operation,
            signalled: true,
            fenced: false,
            internal: false,
        }
    }

    /// RDMA Write: `data` goes to memory of the peer, which is not told.
    #[must_use]
    pub fn write(id: u64, data: impl Into<Data>, to: Remote) -> Self {
        let data = data.into();
        Self::new(id, Operation::Write { data, to })
    }

    /// Send: `data` goes to the next receive buffer of the peer.
    #[must_use]
    pub fn send(id: u64, data: impl Into<Data>) -> Self {
        let send = Operation::Send {
            data: data.into(),
            solicited: false,
            invalidate: None,
        };
        Self::new(id, send)
    }

    /// RDMA Read: memory of the peer comes to `sink`. The data arrives as a tagged message of the peer, so the sink's region
    /// is registered with `remote_write`, and the peer could write to it without being asked, as long as the STag is valid.
    /// Use a region of its own for sinks where that matters.
    #[must_use]
    pub fn read(id: u64, sink: Local, from: Remote) -> Self {
        let sink = Some(sink);
        Self::new(id, Operation::Read { sink, from })
    }

    /// A Read of no octets.
    #[must_use]
    pub fn read_nothing(id: u64) -> Self {
        let from = Remote { stag: 0, offset: 0 };
        Self::new(id, Operation::Read { sink: None, from })
    }

    /// A Send asks for an event at the peer ([`WorkCompletion::solicited`](crate::WorkCompletion)). Nothing in other requests.
    #[must_use]
    pub fn solicited(mut self) -> Self {
        if let Operation::Send { solicited, .. } = &mut self.operation {
            *solicited = true;
        }
        self
    }

    /// A Send invalidates an STag of the peer, as a sign that it is no longer needed. Nothing in other requests.
    #[must_use]
    pub fn invalidate(mut self, stag: u32) -> Self {
        if let Operation::Send { invalidate, .. } = &mut self.operation {
            *invalidate = Some(stag);
        }
        self
    }

    /// Begin only after all earlier Reads are complete (RFC 5040 §5.5).
    #[must_use]
    pub fn fenced(mut self) -> Self {
        self.fenced = true;
        self
    }

    /// Report it only if it fails.
    #[must_use]
    pub fn silent(mut self) -> Self {
        self.signalled = false;
        self
    }

    pub(super) fn internal(mut self) -> Self {
        (self.internal, self.signalled) = (true, false);
        self
    }
}
