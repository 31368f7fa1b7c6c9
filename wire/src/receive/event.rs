//! What the receiver reports: where payload goes, which messages are complete, and how a stream ends.

use crate::error::ErrorRecord;
use bitflags::bitflags;

/// Where payload goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Into a Tagged Buffer.
    Tagged {
        /// Name of the buffer.
        stag: u32,
        /// Tagged Offset of the first octet.
        to: u64,
    },
    /// Into a posted buffer.
    Untagged {
        /// Queue number.
        queue: u32,
        /// MSN the buffer belongs to.
        msn: u32,
        /// Offset of the first octet in the buffer.
        offset: u32,
    },
}

/// A delivered message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Tagged; the fields are those of the L=1 segment (AMB-43, AMB-44).
    Tagged {
        /// Name of the buffer.
        stag: u32,
        /// Tagged Offset of the last segment.
        to: u64,
        /// Payload octets of the last segment.
        length: u32,
        /// The ULP's octet.
        rsvd_ulp: u8,
    },
    /// Untagged.
    Untagged {
        /// Queue number.
        queue: u32,
        /// Message sequence number.
        msn: u32,
        /// Octets of the message: MO plus payload length of the L=1 segment.
        length: u32,
        /// The ULP's octets of the L=1 segment in wire order.
        rsvd_ulp: [u8; 5],
    },
}

bitflags! {
    /// Remarks on a delivered message.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct Flags: u8 {
        /// The last tagged segment was empty: STag and TO were not looked at (AMB-02).
        const UNVERIFIED = 1 << 0;
        /// Octets placed and untagged message length differ (AMB-07).
        const HOLE = 1 << 1;
        /// More segments came behind the L=1 segment; window mode only (AMB-06).
        const ANOMALY = 1 << 2;
    }
}

/// What the receiver does, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'o> {
    /// Payload goes to memory; never empty.
    Place {
        /// The stream.
        stream: u32,
        /// Where it goes.
        target: Target,
        /// The payload of one segment.
        octets: &'o [u8],
    },
    /// A message is complete.
    Delivered {
        /// The stream.
        stream: u32,
        /// The message.
        delivery: Delivery,
        /// Remarks.
        flags: Flags,
    },
    /// The peer has closed the stream, behind an FPDU (MPA-ERR-17). Only the news that it is lost after all may follow.
    Closed {
        /// The stream.
        stream: u32,
        /// Stream position behind its last octet.
        position: u32,
    },
    /// The stream's first error; nothing follows on this stream (AMB-10).
    Failed(ErrorRecord),
}

/// Takes events; any `FnMut(Event)` is one.
pub trait Sink {
    /// Called once per event, in order.
    fn event(&mut self, event: Event<'_>);
}

impl<F: FnMut(Event<'_>)> Sink for F {
    fn event(&mut self, event: Event<'_>) {
        self(event);
    }
}
