//! Coverage-guided run of the rdmap-up body: `cargo +nightly fuzz run rdmap` in this crate.
#![no_main]

#[path = "../rdmap.rs"]
mod rdmap;

libfuzzer_sys::fuzz_target!(|input: rdmap::Input| {
    rdmap::run(&input);
});
