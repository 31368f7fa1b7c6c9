//! The start-up fuzz body on the stable toolchain, over a hundred thousand pseudo-random inputs.

#[path = "../fuzz/start.rs"]
mod start;

use arbitrary::{Arbitrary, Unstructured};
use proptest::prelude::Rng;
use proptest::test_runner::{RngAlgorithm, TestRng};
use std::collections::BTreeMap;

// req: AMB-16, AMB-28
#[test]
fn the_machines_keep_their_promises_on_arbitrary_calls() {
    let mut random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut octets = vec![0; 300];
    let mut kinds = BTreeMap::<String, u32>::new();
    for _ in 0..100_000 {
        random.fill_bytes(&mut octets);
        let input = start::Input::arbitrary(&mut Unstructured::new(&octets));
        for event in start::run(&input.expect("300 octets make an input")) {
            *kinds.entry(event).or_default() += 1;
        }
    }
    // The inputs must reach every event, cause and refused call.
    let reached: Vec<_> = kinds.keys().map(String::as_str).collect();
    let expected = [
        "Closed",
        "Depth",
        "DraftFlags",
        "DraftKey",
        "EarlyOctets",
        "FullOperation",
        "InsufficientIrd",
        "Key",
        "LastMessage",
        "Local",
        "Lost",
        "Negotiation",
        "NoRtr",
        "NotDue",
        "NotEnabled",
        "NotEnhanced",
        "PrivateData",
        "Rejected",
        "Replied",
        "Requested",
        "Revision",
        "TimedOut",
        "Truncated",
        "TwoInitiators",
        "Undecided",
        "Unrequested",
    ];
    assert_eq!(reached, expected, "{kinds:?}");
}
