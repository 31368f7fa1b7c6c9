//! Arbitrary octets as a capture file: connections or a typed error, never a panic.
//!
//! `cargo +nightly fuzz run traffic` in the crate's folder; the recorded `wire.pcap` files are a good corpus.
#![no_main]

use libfuzzer_sys::fuzz_target;
use warpline_capture::{Side, read_traffic};

fuzz_target!(|octets: &[u8]| {
    for connection in read_traffic(octets).unwrap_or_default() {
        for side in [Side::Client, Side::Server] {
            let stream = connection.sent_by(side).stream();
            if let Ok(flow) = connection.flow(side) {
                // Full operation is the end of the stream.
                let octets = flow.stream().octets;
                assert!(stream.octets.ends_with(&octets) || stream.gap.is_some());
            }
        }
    }
});
