//! Records that pass between blocks, one for each stage of an FPDU's path through the device.
//!
//! ```text
//!  admit ──RingBeat──► assembly, stream_end, scan
//!  scan ──Fpdu──► fetch ──Start──► commit ─DdpSegment─► check ──Placement, Delivery──► place ──Delivery──► deliver
//!                      └─beats──► crc32c, strip ─Verdict──┘
//!  intake ──ChunkKey──► order ──ChunkAnswer──► intake ──RingBeat──► assembly;  intake ──ChunkEnd──► order ──Fpdu──► fetch
//!  segment ──LocalPiece──► local_access ──Piece──► gather ──octets──┐
//!    └─SendSegment─► settle ──Ulpdu─────────────────────────────────┴─► frame ──FramedBeat──► transmit_ring
//! ```
//!
//! In the generated text a record is a packed structure, its first field in the lowest bits.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use rust_hdl_core::prelude::*;
use warpline_sv_writer::Record;
use warpline_wire::ddp::{self, control, fpdu_field};

/// Dwords read of an FPDU that is placed already, or all of it if it has fewer: ULPDU_Length, the longest header of DDP, and
/// a marker in front of them or among them.
pub const HEADER: u64 = 6;

/// Bits of [`DdpSegment::header_0`], by octets of the FPDU.
const fn header_0_lsb(octet: usize) -> usize {
    8 * (3 - octet)
}

/// Lowest bit of the control octet in [`DdpSegment::header_0`].
const CONTROL_LSB: usize = header_0_lsb(fpdu_field::CONTROL);
/// T, in [`DdpSegment::header_0`].
pub const TAGGED_BIT: usize = CONTROL_LSB + control::TAGGED.ilog2() as usize;
/// L, in [`DdpSegment::header_0`].
pub const LAST_BIT: usize = CONTROL_LSB + control::LAST.ilog2() as usize;
/// Lowest bit of DV, in [`DdpSegment::header_0`].
pub const VERSION_LSB: usize = CONTROL_LSB + control::VERSION.trailing_zeros() as usize;
/// Lowest bit of the octet behind the control octet, in [`DdpSegment::header_0`].
pub const RSVD_ULP_FIRST_LSB: usize = header_0_lsb(fpdu_field::untagged::RSVD_ULP.start);

/// [`Piece::content`] holds a header.
const _: () = assert!(8 * PIECE_OCTETS == 144);
/// The other dwords of the header are what [`DdpSegment`] says.
const _: () = assert!(
    fpdu_field::tagged::STAG.start == 4
        && fpdu_field::tagged::TO.start == 8
        && fpdu_field::untagged::RSVD_ULP.end == 8
        && fpdu_field::untagged::QN.start == 8
        && fpdu_field::untagged::MSN.start == 12
        && fpdu_field::untagged::MO.start == 16
);

/// A beat with new octets, accepted by `admit` for the ring of its stream.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct RingBeat {
    /// Stream number.
    pub stream: Bits<8>,
    /// Stream position of lane 0.
    pub position: Bits<32>,
    /// First lane that is new.
    pub skip: Bits<8>,
    /// Lane behind the last new one, up to K.
    pub count: Bits<8>,
    /// Position up to which the ring has the stream without a gap, this beat included.
    pub new_edge: Bits<32>,
}

/// A result of `scan`: one whole FPDU in the assembly ring of a stream (or one whose length is refused).
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct Fpdu {
    /// Stream number.
    pub stream: Bits<8>,
    /// Stream position of the first octet, a leading marker included; a multiple of four.
    pub position: Bits<32>,
    /// Length on the wire in dwords, markers included; 2 when refused.
    pub dwords: Bits<16>,
    /// The stream carries markers.
    pub markers: Bit,
    /// CRCs are checked. The CRC of an FPDU `ahead` is always checked, so there the bit has another meaning: the chain in order
    /// had nothing left of the stream when the FPDU was issued, and an order-independent error freezes the stream at once.
    pub crc: Bit,
    /// `regmap::layout::refused`: not zero when the length was refused, or the stream ends here; nothing but `position` and
    /// `ulpdu` is then valid.
    pub refused: Bits<3>,
    /// ULPDU_Length.
    pub ulpdu: Bits<16>,
    /// Octets in front of it are missing: its payload is placed, and it has no other effect.
    pub ahead: Bit,
    /// It was placed `ahead` with a correct CRC: only its header is read, for everything but placement.
    pub placed: Bit,
    /// `placed`, and longer than the [`HEADER`] dwords that are read then.
    pub header_only: Bit,
}

/// An FPDU in the commit buffer whose header is complete.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct DdpSegment {
    /// Stream number.
    pub stream: Bits<8>,
    /// Stream position of the FPDU.
    pub position: Bits<32>,
    /// First row of the FPDU in the commit buffer.
    pub row: Bits<16>,
    /// Rows that it occupies.
    pub rows: Bits<16>,
    /// CRCs are checked.
    pub crc: Bit,
    /// `regmap::layout::refused`.
    pub refused: Bits<3>,
    /// ULPDU_Length.
    pub ulpdu: Bits<16>,
    /// As in [`Fpdu`].
    pub ahead: Bit,
    /// As in [`Fpdu`].
    pub placed: Bit,
    /// The five dwords from ULPDU_Length on; the first octet on the wire is the most significant one.
    pub header_0: Bits<32>,
    /// Second dword: STag, or RsvdULP bits 8 to 39.
    pub header_1: Bits<32>,
    /// Third dword: TO high, or QN.
    pub header_2: Bits<32>,
    /// Fourth dword: TO low, or MSN.
    pub header_3: Bits<32>,
    /// Fifth dword: payload, or MO.
    pub header_4: Bits<32>,
}

/// Result of the CRC unit for an FPDU.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct CrcVerdict {
    /// The CRC field is correct.
    pub good: Bit,
    /// Register behind the FPDU and `zeros` zero dwords.
    pub state: Bits<32>,
    /// Dwords missing in the last beat.
    pub zeros: Bits<4>,
    /// CRC field as received, first octet least significant.
    pub received: Bits<32>,
}

/// MPA's verdict about an FPDU, once its last beat has come.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct Verdict {
    /// As in [`CrcVerdict`].
    pub good: Bit,
    /// As in [`CrcVerdict`].
    pub state: Bits<32>,
    /// As in [`CrcVerdict`].
    pub zeros: Bits<4>,
    /// As in [`CrcVerdict`].
    pub received: Bits<32>,
    /// A marker held a wrong FPDUPTR.
    pub marker_wrong: Bit,
    /// FPDUPTR expected in the first wrong marker.
    pub marker_expected: Bits<16>,
    /// FPDUPTR found in it, low two bits cleared.
    pub marker_received: Bits<16>,
}

/// A chunk of SCTP whose first beat has come: may it be written into its slot?
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct ChunkKey {
    /// Stream number.
    pub stream: Bits<8>,
    /// DDP-SSN, as received.
    pub ssn: Bits<16>,
    /// A session control message.
    pub control: Bit,
    /// With `control`: it ends the peer's half of the session.
    pub terminate: Bit,
    /// The chunk ends within the DDP-SSN.
    pub missing: Bit,
}

/// The answer to a [`ChunkKey`].
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct ChunkAnswer {
    /// The chunk is new and has a slot, or it is `invalid`. Without, it is dropped.
    pub taken: Bit,
    /// Its DDP-SSN cannot be: its octets are dropped, and its end fails the stream, behind the chunks in front of it.
    pub invalid: Bit,
    /// Its number: DDP-SSNs counted in 32 bits from the session's first one.
    pub number: Bits<32>,
}

/// A chunk that is whole in its slot, or a control message that has ended.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct ChunkEnd {
    /// Stream number.
    pub stream: Bits<8>,
    /// As in [`ChunkAnswer`].
    pub number: Bits<32>,
    /// A session control message: nothing of it is in the slot.
    pub control: Bit,
    /// As in [`ChunkKey`].
    pub terminate: Bit,
    /// As in [`ChunkAnswer`]; the other fields but `stream` and `number` are not valid then.
    pub invalid: Bit,
    /// It is longer than its slot, and `length` not valid.
    pub too_long: Bit,
    /// Octets of its DDP segment.
    pub length: Bits<16>,
}

/// What became of a chunk: a report for each, in the order of arrival.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct ChunkReport {
    /// DDP-SSN, as received.
    pub ssn: Bits<16>,
    /// [`chunk_status`].
    pub status: Bits<8>,
    /// Stream number.
    pub stream: Bits<8>,
}

/// Values of [`ChunkReport::status`].
pub mod chunk_status {
    /// New: it may be acknowledged.
    pub const TAKEN: u64 = 0;
    /// It is here already, or was: dropped, to be acknowledged (AMB-40).
    pub const OLD: u64 = 1;
    /// In the window, but no slot is free: it must come again, and is not to be acknowledged.
    pub const NO_ROOM: u64 = 2;
    /// No chunk under way can have this DDP-SSN: the stream has failed (AMB-34).
    pub const INVALID: u64 = 3;
    /// The stream has no session, or its session has failed.
    pub const NO_STREAM: u64 = 4;
}

/// Placement of an FPDU from the commit buffer.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct Placement {
    /// First row of the FPDU in the commit buffer.
    pub row: Bits<16>,
    /// Rows to release once the payload is read.
    pub rows: Bits<16>,
    /// Octets from the FPDU's start (markers removed, leading marker too) to its payload: 16 or 20.
    pub skip: Bits<8>,
    /// Bus address of the first payload octet.
    pub address: Bits<64>,
    /// Payload octets to write; 0 = release the rows only.
    pub length: Bits<16>,
}

/// Action for an FPDU once its payload is in memory.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct Delivery {
    /// 0: none. 1: write `event` to the completion queue. 2: acknowledge a fence.
    pub action: Bits<2>,
    /// Stream number.
    pub stream: Bits<8>,
    /// `regmap::layout::completion` or `error_event`, PHASE zero.
    pub entry: Bits<256>,
}

/// A ULPDU to send: what its FPDU needs beside its octets.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct Ulpdu {
    /// Stream number.
    pub stream: Bits<8>,
    /// Stream position where its FPDU begins, a leading marker included; a multiple of four.
    pub position: Bits<32>,
    /// ULPDU_Length: its octets, at least one.
    pub length: Bits<16>,
    /// The stream carries markers.
    pub markers: Bit,
    /// The CRC is computed; without, the field is zero (AMB-12).
    pub crc: Bit,
}

/// Octets of a [`Piece`] that come with it, at most: a whole header of DDP.
pub const PIECE_OCTETS: usize = ddp::UNTAGGED_HEADER_LEN;

/// A part of a ULPDU to send; the parts follow each other without gaps.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct Piece {
    /// Its octets lie in host memory.
    pub memory: Bit,
    /// Octets, at least one; at most [`PIECE_OCTETS`] if they do not lie in host memory.
    pub length: Bits<16>,
    /// The octets, the first one in bits 7:0; or, in bits 63:0, the bus address of the first one.
    pub content: Bits<144>,
    /// Last part of its ULPDU.
    pub last: Bit,
}

/// A part of a DDP segment to send, before the STag table is asked for its host memory.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct LocalPiece {
    /// Stream number.
    pub stream: Bits<8>,
    /// Protection domain of the stream.
    pub protection_domain: Bits<16>,
    /// As in [`Piece`]; 0 only where the segment is not sent.
    pub length: Bits<16>,
    /// As in [`Piece`].
    pub memory: Bit,
    /// The octets as in [`Piece`]; or the STag in bits 31:0, and the Tagged Offset of the first octet in bits 95:32.
    pub content: Bits<144>,
    /// Last part of its segment.
    pub last: Bit,
    /// With `last`: not `OK` if the segment must not be sent, `regmap::transmit::status`.
    pub refused: Bits<4>,
    /// With `memory`: it answers a Read Request, so the region needs the remote read right.
    pub remote: Bit,
}

/// A DDP segment to send, beside its pieces; or, if its last piece says that it is not sent, the end of a request.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct SendSegment {
    /// Stream number.
    pub stream: Bits<8>,
    /// As in [`Ulpdu`].
    pub position: Bits<32>,
    /// As in [`Ulpdu`].
    pub length: Bits<16>,
    /// As in [`Ulpdu`].
    pub markers: Bit,
    /// As in [`Ulpdu`].
    pub crc: Bit,
    /// First segment of its message.
    pub first: Bit,
    /// Last segment of its message.
    pub last: Bit,
    /// A completion reports the message.
    pub signalled: Bit,
    /// Octets of the message.
    pub octets: Bits<32>,
    /// `send_slot::REQUEST`.
    pub request: Bits<64>,
    /// `send_event::CONSUMED`.
    pub consumed: Bits<16>,
    /// It is part of a Read Response.
    pub response: Bit,
}

/// Side information of a beat of an FPDU to send.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
pub struct FramedBeat {
    /// Stream number.
    pub stream: Bits<8>,
    /// Stream position of the beat's first octet.
    pub position: Bits<32>,
    /// Dwords in the beat, from lane 0 up: all lanes, unless it is the last one.
    pub dwords: Bits<5>,
    /// First beat of its FPDU.
    pub first: Bit,
    /// Last beat of its FPDU; its last dword is the CRC field.
    pub last: Bit,
}
