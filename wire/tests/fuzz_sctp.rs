//! The body of DDP over SCTP on the stable toolchain, over a hundred thousand pseudo-random inputs;
//! `WARPLINE_FUZZ_CASES` asks for more.

#[path = "../fuzz/sctp.rs"]
mod sctp;

use arbitrary::{Arbitrary, Unstructured};
use proptest::prelude::Rng;
use proptest::test_runner::{RngAlgorithm, TestRng};
use std::collections::BTreeMap;

// req: SCTP-SES-05, SCTP-SES-12, SCTP-SES-14, SCTP-SSN-11, AMB-34, AMB-37, AMB-40
#[test]
fn the_machine_keeps_its_promises_on_arbitrary_calls() {
    let cases = std::env::var("WARPLINE_FUZZ_CASES").ok();
    let cases = cases.map_or(100_000, |cases| cases.parse().unwrap());
    let mut random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut octets = vec![0; 600];
    let mut kinds = BTreeMap::<String, u32>::new();
    for _ in 0..cases {
        random.fill_bytes(&mut octets);
        let input = sctp::Input::arbitrary(&mut Unstructured::new(&octets));
        for event in sctp::run(&input.expect("600 octets make an input")) {
            *kinds.entry(event).or_default() += 1;
        }
    }
    // The inputs must reach every event, cause and refused call.
    let reached: Vec<_> = kinds.keys().map(String::as_str).collect();
    let expected = [
        "Abandoned",
        "Accepted",
        "ControlFirst",
        "Ddp",
        "Delivered",
        "Early",
        "Failed BehindEnd",
        "Failed BothInitiate",
        "Failed Control",
        "Failed EarlyOverflow",
        "Failed FirstSegment",
        "Failed Function",
        "Failed NoAnswer",
        "Failed Ppid",
        "Failed PrivateData",
        "Failed Ssn",
        "Failed TerminateData",
        "Failed Truncated",
        "Failed Undecided",
        "Free",
        "InOrder",
        "InUse",
        "Lost",
        "MaxSegment",
        "NoIndication",
        "NoSession",
        "NoStreams",
        "NotDue",
        "NotOpen",
        "NotOurs",
        "NotUp",
        "OtherIndication",
        "Place",
        "PrivateData",
        "Refused",
        "Rejected",
        "Requested",
        "Segment",
        "Ssn",
        "Stray Backlog",
        "Stray BeforeInitiate",
        "Stray Control",
        "Stray Function",
        "Stray Ppid",
        "Stray PrivateData",
        "Stray TerminateData",
        "Stray Truncated",
        "Stray Unpaired",
        "Stream",
        "Terminated",
    ];
    assert_eq!(reached, expected, "{kinds:?}");
}
