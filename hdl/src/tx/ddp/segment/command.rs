//! Commands of `segment`, and what they are given: the record between `transmit_control` and it.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use rust_hdl_core::prelude::*;
use warpline_sv_writer::Record;

/// What is done between turns.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum TransmitCommand {
    /// The stream is as before it was armed.
    Clear,
    /// `ARM_TRANSMIT`.
    Arm,
    /// `SET_EMSS`.
    SetEmss,
    /// `CLOSE_STREAM`: its requests are flushed.
    Close,
}

/// A command, and the arguments of all of them.
#[derive(Copy, Clone, PartialEq, Debug, LogicStruct, Record, Default)]
pub struct TransmitArguments {
    /// Stream number.
    pub stream: Bits<8>,
    /// Protection domain of the stream.
    pub protection_domain: Bits<16>,
    /// The stream carries markers.
    pub markers: Bit,
    /// CRCs are computed.
    pub crc: Bit,
    /// The gate is closed.
    pub gate: Bit,
    /// EMSS in octets, at least 128.
    pub emss: Bits<16>,
    /// MSN of the first message of every queue.
    pub first_msn: Bits<32>,
}
