//! What a delivery writes to the completion queue, field by field as in `regmap::layout`.
#![allow(
    missing_docs,
    reason = "rust-hdl's derives make functions without documentation"
)]
use rust_hdl_core::prelude::*;
use warpline_sv_writer::Record;

/// `completion`: a delivered message.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
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
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct, Record)]
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

#[cfg(test)]
mod tests {
    use super::*;
    use warpline_regmap::Field;
    use warpline_regmap::layout::{completion, error_event};

    /// Bits that are set.
    fn ones(record: impl Into<Bits<256>>) -> Vec<usize> {
        let bits = record.into();
        (0..256).filter(|&bit| bits.get_bit(bit)).collect()
    }

    fn of(field: Field) -> Vec<usize> {
        (field.lsb..field.lsb + field.width).collect()
    }

    #[test]
    fn fields_lie_where_the_register_description_says() {
        let fields = |record: &dyn Fn(&mut Completion), field| {
            let mut completion = Completion::default();
            record(&mut completion);
            assert_eq!(ones(completion), of(field), "{}", field.name);
        };
        let all = |bits: u32| u64::MAX >> (64 - bits);
        fields(&|c| c.kind = all(4).into(), completion::KIND);
        fields(&|c| c.stream = all(8).into(), completion::STREAM);
        fields(&|c| c.unverified = true, completion::UNVERIFIED);
        fields(&|c| c.hole = true, completion::HOLE);
        fields(&|c| c.anomaly = true, completion::ANOMALY);
        fields(&|c| c.target = all(32).into(), completion::STAG);
        fields(&|c| c.target = all(32).into(), completion::QUEUE);
        fields(&|c| c.msn = all(32).into(), completion::MSN);
        fields(&|c| c.length = all(32).into(), completion::LENGTH);
        fields(&|c| c.offset = all(64).into(), completion::OFFSET);
        fields(
            &|c| c.rsvd_ulp_low = all(32).into(),
            completion::RSVD_ULP_LOW,
        );
        fields(
            &|c| c.rsvd_ulp_first = all(8).into(),
            completion::RSVD_ULP_FIRST,
        );

        let fields = |record: &dyn Fn(&mut ErrorEvent), expected: &[Field]| {
            let mut event = ErrorEvent::default();
            record(&mut event);
            let expected: Vec<usize> = expected.iter().copied().flat_map(of).collect();
            assert_eq!(ones(event), expected);
        };
        fields(&|e| e.kind = all(4).into(), &[error_event::KIND]);
        fields(&|e| e.stream = all(8).into(), &[error_event::STREAM]);
        fields(
            &|e| e.number = all(12).into(),
            &[error_event::CODE, error_event::TYPE],
        );
        fields(&|e| e.checks = all(16).into(), &[error_event::CHECKS]);
        fields(&|e| e.length = all(32).into(), &[error_event::LENGTH]);
        fields(&|e| e.position = all(32).into(), &[error_event::POSITION]);
    }
}
