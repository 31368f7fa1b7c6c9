//! What `check` writes has the fields of the register description, bit for bit.

use rust_hdl_core::prelude::*;
use warpline_hdl::rx::ddp::check::event::{Completion, ErrorEvent};
use warpline_hdl::rx::ddp::check::judge::Checks;
use warpline_regmap::Field;
use warpline_regmap::layout::{completion, error_event};
use warpline_wire::error_number::check_bit;

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

#[test]
fn checks_have_the_bit_numbers_of_the_error_record() {
    let bit = |check: &dyn Fn(&mut Checks), number: u32| {
        let mut checks = Checks::default();
        check(&mut checks);
        let bits: Bits<16> = checks.into();
        assert_eq!(bits, Bits::<16>::from(1_u64 << number), "check {number}");
    };
    bit(&|c| c.too_short = true, check_bit::SHORT);
    bit(&|c| c.version = true, check_bit::VERSION);
    bit(&|c| c.stag = true, check_bit::STAG);
    bit(&|c| c.association = true, check_bit::ASSOC);
    bit(&|c| c.access = true, check_bit::ACCESS);
    bit(&|c| c.offset = true, check_bit::TO);
    bit(&|c| c.wrap = true, check_bit::WRAP);
    bit(&|c| c.beyond_end = true, check_bit::END);
    bit(&|c| c.queue_number = true, check_bit::QN);
    bit(&|c| c.buffer = true, check_bit::NOBUF);
    bit(&|c| c.message_offset = true, check_bit::MO);
    bit(&|c| c.length = true, check_bit::LEN);
    bit(&|c| c.msn = true, check_bit::MSN);
}
