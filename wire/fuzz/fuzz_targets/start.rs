//! Coverage-guided run of the start-up body: `cargo +nightly fuzz run start` in this crate.
#![no_main]

#[path = "../start.rs"]
mod start;

libfuzzer_sys::fuzz_target!(|input: start::Input| {
    start::run(&input);
});
