//! Sending direction of a session: DDP segments become chunks with consecutive DDP-SSNs.
//!
//! ```text
//!  message ─ send::ddp_segments() ─► header + payload ─ Sender ─► user data: DDP-SSN · DDP segment
//!            (≤ maximum DDP segment size)               (≤ 32,767 chunks unacknowledged)
//! ```
//!
//! The reference for hardware that sends: DDP cuts messages as it does for MPA, and each segment is one
//! unordered chunk with PPID 16.

use super::chunk::{ChunkError, Segment};
use super::ssn::{MAX_IN_FLIGHT, Ssn};
use crate::send;
use thiserror::Error;

/// A DDP segment that must not be sent now, or not at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SendError {
    /// DDP does not cut the message.
    #[error(transparent)]
    Message(#[from] send::SendError),
    /// The segment exceeds the maximum (SCTP-LIM-06).
    #[error("DDP segment of {len} octets exceeds the maximum of {max}: cut the message anew")]
    Size {
        /// Octets of the segment.
        len: usize,
        /// The maximum.
        max: u16,
    },
    /// As many chunks are unacknowledged as may be (SCTP-SSN-08).
    #[error("{limit} chunks of the stream are unacknowledged: send after the next acknowledgement")]
    Unacknowledged {
        /// The limit.
        limit: u16,
    },
    /// The user data does not fit the output.
    #[error(transparent)]
    Chunk(#[from] ChunkError),
    /// The association is not up.
    #[error("the association is not up: wait for it")]
    NotUp,
    /// The association has no such pair of streams.
    #[error("stream {stream} is not one of the association's {streams}")]
    Stream {
        /// The stream named.
        stream: u16,
        /// Pairs of the association.
        streams: u16,
    },
    /// The stream has no session that this end may send segments in: it was not accepted, or this end
    /// has ended it, or it failed.
    #[error("stream {stream} has no session to send in: wait for Accept, or initiate one")]
    NotOpen {
        /// The stream named.
        stream: u16,
    },
    /// The Accept of this end goes first.
    #[error("the control message of stream {stream} goes first: hand it to SCTP")]
    ControlFirst {
        /// The stream named.
        stream: u16,
    },
}

/// Numbers the chunks of one direction of a session, and holds back what would be too many.
#[derive(Clone, Debug)]
pub struct Sender {
    next: Ssn,
    in_flight: u16,
}

impl Sender {
    /// A sender whose next chunk has this DDP-SSN: [`Ssn::FIRST_SEGMENT`] for the first segment.
    pub const fn new(next: Ssn) -> Self {
        Self { next, in_flight: 0 }
    }

    /// DDP-SSN of the next chunk.
    pub const fn next(&self) -> Ssn {
        self.next
    }

    /// Chunks submitted and not acknowledged.
    pub const fn in_flight(&self) -> u16 {
        self.in_flight
    }

    /// SCTP has acknowledged this many more of the oldest chunks.
    pub fn acknowledged(&mut self, chunks: u16) {
        self.in_flight = self.in_flight.saturating_sub(chunks);
    }

    /// Writes the user data of the next segment, `header` and `payload`, to the front of `out`, and
    /// returns its length. Nothing changes on an error.
    pub fn emit(
        &mut self,
        header: &[u8],
        payload: &[u8],
        max_segment: u16,
        out: &mut [u8],
    ) -> Result<usize, SendError> {
        let len = header.len().saturating_add(payload.len());
        if len > usize::from(max_segment) {
            let max = max_segment;
            return Err(SendError::Size { len, max });
        }
        if self.in_flight >= MAX_IN_FLIGHT {
            let limit = MAX_IN_FLIGHT;
            return Err(SendError::Unacknowledged { limit });
        }
        let len = Segment::emit(self.next, header, payload, out)?;
        self.advance();
        Ok(len)
    }

    /// Appends the chunks of a whole message to `chunks`, or none if they would be too many.
    #[cfg(feature = "alloc")]
    pub fn append_message(
        &mut self,
        message: send::Message,
        payload: &[u8],
        max_segment: u16,
        chunks: &mut alloc::vec::Vec<alloc::vec::Vec<u8>>,
    ) -> Result<(), SendError> {
        let (mut after, have) = (self.clone(), chunks.len());
        for segment in send::ddp_segments(message, payload.len() as u64, max_segment)? {
            let mut header = [0; crate::ddp::MAX_HEADER_LEN];
            let header_len = segment.header.emit(&mut header);
            let header = header.get(..header_len).unwrap_or_default();
            let range = segment.payload.start as usize..segment.payload.end as usize;
            let payload = payload.get(range).unwrap_or_default();
            let ssn_len = super::chunk::SSN_LEN;
            let mut chunk =
                alloc::vec![0; ssn_len.saturating_add(header_len).saturating_add(payload.len())];
            if let Err(error) = after.emit(header, payload, max_segment, &mut chunk) {
                chunks.truncate(have);
                return Err(error);
            }
            chunks.push(chunk);
        }
        *self = after;
        Ok(())
    }

    /// Gives the next chunk its number. It counts as unacknowledged.
    pub(super) fn advance(&mut self) {
        self.next = self.next.next();
        self.in_flight = self.in_flight.saturating_add(1);
    }
}
