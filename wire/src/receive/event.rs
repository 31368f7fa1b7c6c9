//! What the receiver reports: where payload goes, which messages are complete, and how a stream ends.

use crate::error_number::ErrorRecord;
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
    /// Conditions of a delivered message.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct Flags: u8 {
        /// The last tagged segment was empty: STag and TO were not checked (AMB-02).
        const UNVERIFIED = 1 << 0;
        /// The octets placed differ from the length of the untagged message (AMB-07).
        const HOLE = 1 << 1;
        /// More segments arrived after the L=1 segment; window mode only (AMB-06).
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
        /// The payload of one DDP segment.
        octets: &'o [u8],
    },
    /// A message is complete.
    Delivered {
        /// The stream.
        stream: u32,
        /// The message.
        delivery: Delivery,
        /// Its conditions.
        flags: Flags,
    },
    /// The peer closed the stream after an FPDU (MPA-ERR-17). Only a failure can follow: the connection
    /// is lost, or octets arrive after the FIN.
    Closed {
        /// The stream.
        stream: u32,
        /// Stream position after its last octet.
        position: u32,
    },
    /// The stream's first error; nothing follows on this stream (AMB-10).
    Failed(ErrorRecord),
}

/// Receives events; any `FnMut(Event)` is a sink.
pub trait Sink {
    /// Called once per event, in order.
    fn event(&mut self, event: Event<'_>);
}

impl<F: FnMut(Event<'_>)> Sink for F {
    fn event(&mut self, event: Event<'_>) {
        self(event);
    }
}
