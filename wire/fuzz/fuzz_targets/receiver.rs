//! Coverage-guided run of the receiver body: `cargo +nightly fuzz run receiver` in this crate.
#![no_main]

#[path = "../body.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|input: body::Input| {
    body::run(&input);
});
