//! Ports of the transmit ring towards TCP, as AXI4-Stream.
//!
//! ```text
//!  TCP ─ s_axis_send: SendStream ───────► transmit_ring ─ m_axis_transmit: TransmitStream ─► TCP: octets of segments
//!                                                       └ m_axis_status: StatusStream ─────► TCP: edge, room, answers
//! ```
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use rust_hdl_core::prelude::*;
use warpline_regmap::Value;

/// Lowest bit of a command's sequence number, 32 bits.
pub const COMMAND_SEQUENCE: usize = 0;
/// Lowest bit of a command's octets, 16 bits.
pub const COMMAND_LENGTH: usize = 32;
/// Lowest bit of a command's kind, 2 bits.
pub const COMMAND_KIND: usize = 48;

/// Bits of a kind, of commands and of reports.
pub const KIND_BITS: usize = 2;

/// Command: emit octets from the sequence number on.
pub const SEND: u64 = 0;
/// Command: octets in front of the sequence number are free.
pub const ACKNOWLEDGE: u64 = 1;
/// Command: say where the last FPDU boundary among the octets from the sequence number on is.
pub const MEASURE: u64 = 2;

/// Kinds of commands, for those who write a TCP.
pub const COMMANDS: [Value; 3] = [
    Value {
        name: "SEND",
        value: SEND as u32,
        doc: "Emit octets from the sequence number on.",
    },
    Value {
        name: "ACKNOWLEDGE",
        value: ACKNOWLEDGE as u32,
        doc: "Free the octets before the sequence number.",
    },
    Value {
        name: "MEASURE",
        value: MEASURE as u32,
        doc: "Report the last FPDU boundary among the octets from the sequence number on.",
    },
];

/// Lowest bit of a report's edge, 32 bits: the sequence number behind the last octet that can be sent.
pub const STATUS_EDGE: usize = 0;
/// Lowest bit of a report's free octets, 32 bits.
pub const STATUS_FREE: usize = 32;
/// Lowest bit of the answer to MEASURE, 16 bits: octets from the command's sequence number to the boundary.
pub const STATUS_OCTETS: usize = 64;
/// Lowest bit of a report's kind, 2 bits.
pub const STATUS_KIND: usize = 80;

/// Report: the edge has moved.
pub const MOVED: u64 = 0;
/// Report: the answer to a MEASURE.
pub const ANSWER: u64 = 1;
/// Report: a SEND or a MEASURE was refused.
pub const REFUSED: u64 = 2;

/// Kinds of reports, for those who write a TCP.
pub const REPORTS: [Value; 3] = [
    Value {
        name: "MOVED",
        value: MOVED as u32,
        doc: "The edge has moved.",
    },
    Value {
        name: "ANSWER",
        value: ANSWER as u32,
        doc: "The answer to a MEASURE.",
    },
    Value {
        name: "REFUSED",
        value: REFUSED as u32,
        doc: "A SEND or a MEASURE was refused.",
    },
];

/// TDATA of a command.
#[must_use]
pub const fn command_word(kind: u64, sequence: u32, octets: u16) -> u64 {
    (sequence as u64) << COMMAND_SEQUENCE | (octets as u64) << COMMAND_LENGTH | kind << COMMAND_KIND
}

/// AXI4-Stream of commands, one beat each.
#[derive(LogicInterface, Clone, Debug, Default)]
#[join = "SendStreamOut"]
pub struct SendStreamIn {
    /// Bits 31:0 sequence number, 47:32 octets (of [`SEND`] and [`MEASURE`]), 49:48 one of [`SEND`], [`ACKNOWLEDGE`] and
    /// [`MEASURE`] (RING_COMMAND of the package), or the device refuses it.
    pub tdata: Signal<In, Bits<64>>,
    /// Stream number.
    pub tdest: Signal<In, Bits<8>>,
    /// The command is valid.
    pub tvalid: Signal<In, Bit>,
    /// It is accepted.
    pub tready: Signal<Out, Bit>,
}

/// The other end of [`SendStreamIn`].
#[derive(LogicInterface, Clone, Debug, Default)]
#[join = "SendStreamIn"]
pub struct SendStreamOut {
    /// Sequence number, octets and kind.
    pub tdata: Signal<Out, Bits<64>>,
    /// Stream number.
    pub tdest: Signal<Out, Bits<8>>,
    /// The command is valid.
    pub tvalid: Signal<Out, Bit>,
    /// It is accepted.
    pub tready: Signal<In, Bit>,
}

/// AXI4-Stream of reports, one beat each.
#[derive(LogicInterface, Clone, Debug, Default)]
#[join = "StatusStreamIn"]
pub struct StatusStreamOut {
    /// Bits 31:0 sequence number of the edge, 63:32 free octets of the ring, 79:64 octets to the boundary (of [`ANSWER`]),
    /// 81:80 one of [`MOVED`], [`ANSWER`] and [`REFUSED`]
    /// (RING_REPORT of the package); the others are zero.
    pub tdata: Signal<Out, Bits<96>>,
    /// Stream number.
    pub tdest: Signal<Out, Bits<8>>,
    /// The report is valid.
    pub tvalid: Signal<Out, Bit>,
    /// It is accepted.
    pub tready: Signal<In, Bit>,
}

/// The other end of [`StatusStreamOut`].
#[derive(LogicInterface, Clone, Debug, Default)]
#[join = "StatusStreamOut"]
pub struct StatusStreamIn {
    /// Edge, free octets, octets to the boundary, kind.
    pub tdata: Signal<In, Bits<96>>,
    /// Stream number.
    pub tdest: Signal<In, Bits<8>>,
    /// The report is valid.
    pub tvalid: Signal<In, Bit>,
    /// It is accepted.
    pub tready: Signal<Out, Bit>,
}

/// AXI4-Stream of the octets that TCP sends: a packet is the range of one SEND.
#[derive(LogicInterface, Clone, Debug, Default)]
#[join = "TransmitStreamIn"]
pub struct TransmitStreamOut<const W: usize, const K: usize> {
    /// Octets, the first one in bits 7:0.
    pub tdata: Signal<Out, Bits<W>>,
    /// Valid octets: contiguous from lane 0; all of them in every beat but the last.
    pub tkeep: Signal<Out, Bits<K>>,
    /// Last beat of the range.
    pub tlast: Signal<Out, Bit>,
    /// Stream number, the same in all beats of a range.
    pub tdest: Signal<Out, Bits<8>>,
    /// Sequence number of the range's first octet, the same in all its beats.
    pub tuser: Signal<Out, Bits<32>>,
    /// The beat is valid.
    pub tvalid: Signal<Out, Bit>,
    /// It is accepted.
    pub tready: Signal<In, Bit>,
}

/// The other end of [`TransmitStreamOut`].
#[derive(LogicInterface, Clone, Debug, Default)]
#[join = "TransmitStreamOut"]
pub struct TransmitStreamIn<const W: usize, const K: usize> {
    /// Octets, the first one in bits 7:0.
    pub tdata: Signal<In, Bits<W>>,
    /// Valid octets.
    pub tkeep: Signal<In, Bits<K>>,
    /// Last beat of the range.
    pub tlast: Signal<In, Bit>,
    /// Stream number.
    pub tdest: Signal<In, Bits<8>>,
    /// Sequence number of the range's first octet.
    pub tuser: Signal<In, Bits<32>>,
    /// The beat is valid.
    pub tvalid: Signal<In, Bit>,
    /// It is accepted.
    pub tready: Signal<Out, Bit>,
}
