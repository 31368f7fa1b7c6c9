//! Coverage-guided run of the server body: `cargo +nightly fuzz run server` in this crate.
#![no_main]

#[path = "../server_body.rs"]
mod body;
#[path = "../../tests/conversations/model.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod model;
#[path = "../../tests/conversations/raw.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod raw;

libfuzzer_sys::fuzz_target!(|input: body::Input| {
    body::run(&input);
});
