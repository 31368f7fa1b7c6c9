//! Coverage-guided run of the receiver body: `cargo +nightly fuzz run receiver` in this crate.
#![no_main]

#[path = "../receiver.rs"]
mod receiver;

libfuzzer_sys::fuzz_target!(|input: receiver::Input| {
    receiver::run(&input);
});
