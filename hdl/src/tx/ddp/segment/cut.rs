//! Cut: the record between the decision about a DDP segment and the walk of its pieces.
use rust_hdl_core::prelude::*;
use warpline_sv_writer::Record;

/// A segment that is decided.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct Cut {
    /// Stream number.
    pub stream: Bits<8>,
    /// Protection domain of the stream.
    pub protection_domain: Bits<16>,
    /// The stream carries markers.
    pub markers: Bit,
    /// CRCs are computed.
    pub crc: Bit,
    /// Not zero if nothing is sent: `status`.
    pub refusal: Bits<4>,
    /// Header of the segment.
    pub header: Bits<144>,
    /// Its octets.
    pub header_length: Bits<16>,
    /// Payload octets.
    pub octets: Bits<16>,
    /// Octets of header and payload.
    pub ulpdu: Bits<16>,
    /// First segment of its message.
    pub first: Bit,
    /// Last segment of its message, or a report in its place.
    pub last: Bit,
    /// The payload lies in the slot.
    pub in_slot: Bit,
    /// Elements of the message.
    pub count: Bits<8>,
    /// Element in which the payload begins.
    pub element: Bits<4>,
    /// Octets of it that were sent.
    pub into: Bits<32>,
    /// Bank in which the rows of the slot lie.
    pub bank: Bit,
    /// `SIGNALLED`.
    pub signalled: Bit,
    /// `LENGTH`.
    pub length: Bits<32>,
    /// `REQUEST`.
    pub request: Bits<64>,
    /// `CONSUMED`.
    pub consumed: Bits<16>,
    /// It is part of a Read Response.
    pub response: Bit,
}
