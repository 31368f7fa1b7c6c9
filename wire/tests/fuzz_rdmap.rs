//! The RDMAP fuzz body on the stable toolchain, over a hundred thousand pseudo-random inputs.

#[path = "../fuzz/rdmap.rs"]
mod rdmap;

use arbitrary::{Arbitrary, Unstructured};
use proptest::prelude::Rng;
use proptest::test_runner::{RngAlgorithm, TestRng};
use std::collections::BTreeMap;

#[test]
fn streams_keep_their_promises_on_arbitrary_messages() {
    let mut random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut octets = vec![0; 1500];
    let mut kinds = BTreeMap::<String, u32>::new();
    for _ in 0..100_000 {
        random.fill_bytes(&mut octets);
        let input = rdmap::Input::arbitrary(&mut Unstructured::new(&octets));
        for outcome in rdmap::run(&input.expect("1500 octets make an input")) {
            *kinds.entry(outcome).or_default() += 1;
        }
    }
    // The inputs must reach every event, violation and refused call.
    let reached: Vec<_> = kinds.keys().map(String::as_str).collect();
    let expected = [
        "AfterTerminate",
        "Discarded",
        "Format",
        "Ird",
        "NoRead",
        "Opcode",
        "Queue",
        "ReadDone",
        "ReadRequest",
        "ReadRequestLength",
        "ResponseEnd",
        "ResponseStag",
        "Send",
        "TerminateLength",
        "Terminated",
        "Version",
        "Write",
        "flushed",
        "no read to refuse",
        "nothing to flush",
        "read",
        "read refused",
        "refused: NoRequest",
        "refused: Ord",
        "refused: Terminated",
        "response",
        "sent",
        "terminate",
    ];
    assert_eq!(reached, expected, "{kinds:?}");
}
