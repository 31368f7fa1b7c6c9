//! Coverage-guided run of the body of DDP over SCTP: `cargo +nightly fuzz run sctp` in this crate.
#![no_main]

#[path = "../sctp.rs"]
mod sctp;

libfuzzer_sys::fuzz_target!(|input: sctp::Input| {
    sctp::run(&input);
});
