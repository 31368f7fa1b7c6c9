//! The bodies of the fuzz targets on the stable toolchain, over a few thousand pseudo-random inputs.

#[path = "../../fuzz/client_body.rs"]
mod client_body;
#[path = "../../fuzz/server_body.rs"]
mod server_body;

use std::collections::BTreeMap;

use arbitrary::{Arbitrary, Unstructured};
use proptest::prelude::Rng;
use proptest::test_runner::{RngAlgorithm, TestRng};

/// Inputs of each body; more with `WARPLINE_FUZZ_CASES`.
fn cases() -> u32 {
    let cases = std::env::var("WARPLINE_FUZZ_CASES");
    cases.map_or(3000, |text| text.parse().expect("a number of inputs"))
}

fn kinds<I: for<'a> Arbitrary<'a>>(run: impl Fn(&I) -> Vec<String>) -> BTreeMap<String, u32> {
    let mut random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut octets = vec![0; 1024];
    let mut kinds = BTreeMap::<String, u32>::new();
    for _ in 0..cases() {
        random.fill_bytes(&mut octets);
        let input = I::arbitrary(&mut Unstructured::new(&octets)).expect("octets enough");
        for kind in run(&input) {
            *kinds.entry(kind).or_default() += 1;
        }
    }
    kinds
}

// The inputs must reach every kind of ending and every kind of answer.
#[track_caller]
fn reached(kinds: &BTreeMap<String, u32>, expected: &[&str]) {
    for kind in expected {
        assert!(kinds.contains_key(*kind), "{kind} is not among {kinds:?}");
    }
}

#[test]
fn the_server_keeps_its_promises_to_arbitrary_clients() {
    let kinds = kinds(server_body::run);
    let ends = [
        "Left",
        "Size",
        "NotACommand",
        "NoVersion",
        "Truncated",
        "Capabilities",
        "Version",
    ];
    reached(&kinds, &ends);
    for command in [
        "VERSION",
        "DMA_MAP",
        "DMA_UNMAP",
        "DEVICE_GET_INFO",
        "DEVICE_GET_REGION_INFO",
        "DEVICE_GET_IRQ_INFO",
        "DEVICE_SET_IRQS",
        "REGION_READ",
        "REGION_WRITE",
        "DEVICE_RESET",
    ] {
        reached(
            &kinds,
            &[&format!("{command} done"), &format!("{command} refused")],
        );
    }
}

#[test]
fn the_client_keeps_its_promises_with_arbitrary_servers() {
    let kinds = kinds(client_body::run);
    let ways = [
        "Fine",
        "Refused",
        "Closed",
        "Ended",
        "Id",
        "Command",
        "NotAReply",
        "StrayErrno",
        "Size",
        "Field",
    ];
    reached(&kinds, &ways);
}
