//! The fuzz target of the receiver on the stable toolchain, over a few thousand pseudo-random inputs.

#[path = "../fuzz/receiver.rs"]
mod receiver;

use arbitrary::{Arbitrary, Unstructured};
use proptest::prelude::Rng;
use proptest::test_runner::{RngAlgorithm, TestRng};
use std::collections::BTreeMap;

// req: MPA-RCV-02, MPA-ERR-12, DDP-ERR-36, DDP-SEC-19
#[test]
fn the_receiver_keeps_its_promises_on_arbitrary_streams() {
    let mut random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut octets = vec![0; 2048];
    let mut kinds = BTreeMap::<String, u32>::new();
    for _ in 0..4000 {
        random.fill_bytes(&mut octets);
        let input = receiver::Input::arbitrary(&mut Unstructured::new(&octets));
        for event in receiver::run(&input.expect("2048 octets make an input")) {
            let number = event.split_once("number: ").map(|(_, rest)| rest);
            let kind = number.unwrap_or(&event).split([' ', ',']).next();
            *kinds.entry(kind.unwrap_or_default().into()).or_default() += 1;
        }
    }
    // The inputs must reach every kind of event and error.
    let reached: Vec<_> = kinds.keys().map(String::as_str).collect();
    let expected = [
        "Delivered",
        "LocalCatastrophic",
        "MpaCrc",
        "MpaMarker",
        "Place",
        "TaggedBounds",
        "TaggedInvalidStag",
        "TaggedVersion",
        "UntaggedMo",
        "UntaggedMsnRange",
        "UntaggedNoBuffer",
        "UntaggedQn",
        "UntaggedTooLong",
        "UntaggedVersion",
    ];
    assert_eq!(reached, expected, "{kinds:?}");
}
