//! What a delivery writes to the completion queue, field by field as in `regmap::layout`.
use rust_hdl_core::prelude::*;

/// `completion`: a delivered message.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Completion {
    /// `kind::TAGGED` or `kind::UNTAGGED`.
    pub kind: Bits<4>,
    /// Zero.
    pub rest_0: Bits<4>,
    /// Stream number.
    pub stream: Bits<8>,
    /// Zero-length tagged message: STag and TO were not looked up (AMB-02).
    pub unverified: Bit,
    /// More or fewer octets were placed than the untagged message has (AMB-07).
    pub hole: Bit,
    /// More segments of the untagged message came behind its last one (AMB-06).
    pub anomaly: Bit,
    /// Zero.
    pub rest_1: Bits<13>,
    /// STag or queue number.
    pub target: Bits<32>,
    /// MSN of an untagged message.
    pub msn: Bits<32>,
    /// Length of an untagged message, or payload octets of the tagged segment.
    pub length: Bits<32>,
    /// Tagged Offset of a tagged segment.
    pub offset: Bits<64>,
    /// RsvdULP bits 8 to 39 of an untagged segment; bit 8 is the most significant one.
    pub rsvd_ulp_low: Bits<32>,
    /// The octet behind the control field.
    pub rsvd_ulp_first: Bits<8>,
    /// Zero.
    pub rest_2: Bits<24>,
}

/// `error_event`: the stream met its first error.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct ErrorEvent {
    /// `kind::ERROR`.
    pub kind: Bits<4>,
    /// Zero.
    pub rest_0: Bits<4>,
    /// Stream number.
    pub stream: Bits<8>,
    /// Zero.
    pub rest_1: Bits<16>,
    /// Error type in bits 11:8, code in bits 7:0.
    pub number: Bits<12>,
    /// Zero.
    pub rest_2: Bits<20>,
    /// Failed checks.
    pub checks: Bits<16>,
    /// Zero.
    pub rest_3: Bits<16>,
    /// ULPDU_Length.
    pub length: Bits<32>,
    /// Stream position of the FPDU.
    pub position: Bits<32>,
    /// Zero.
    pub rest_4: Bits<96>,
}
