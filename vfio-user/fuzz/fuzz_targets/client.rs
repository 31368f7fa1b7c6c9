//! Coverage-guided run of the client body: `cargo +nightly fuzz run client` in this crate.
#![no_main]

#[path = "../client_body.rs"]
mod body;
#[path = "../../tests/conversations/raw.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod raw;

libfuzzer_sys::fuzz_target!(|input: body::Input| {
    body::run(&input);
});
