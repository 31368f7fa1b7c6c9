//! The whole device against the reference receiver, over random streams: memory, completions, errors and error records.
//!
//! `make long` runs more of them; a failing seed is printed with the command that replays it with a waveform.

use warpline_testbenches::scenario::run_streams;

/// Streams of each width.
const STREAMS: usize = 2000;

/// Error numbers, type and code, that the traffic has to bring about: all that the receive path can raise.
const ERRORS: [u16; 14] = [
    0x000, 0x100, 0x101, 0x102, 0x103, 0x104, 0x201, 0x202, 0x203, 0x204, 0x205, 0x206, 0x302,
    0x303,
];

fn agrees(width: usize) {
    let tally = run_streams(width, 0..u64::MAX, STREAMS, |_| {}).unwrap_or_else(|e| panic!("{e}"));
    println!("width {width}: {tally}");
    assert!(tally.streams >= STREAMS);
    let met: Vec<u16> = tally.errors.keys().copied().collect();
    assert_eq!(met, ERRORS, "each error number is met");
}

// req: MPA-RCV-17, MPA-RCV-21, MPA-RCV-25, MPA-CRC-18, MPA-CRC-19, MPA-MRK-21, MPA-ERR-05, MPA-ERR-12, DDP-DEL-01,
// req: DDP-ORD-05, DDP-ORD-06, DDP-ERR-17, DDP-ERR-20, DDP-ERR-36, DDP-SEC-17, DDP-SEC-18, DDP-SEC-19
#[test]
fn random_streams_of_64_bits() {
    agrees(64);
}

// req: MPA-RCV-17, MPA-CRC-19, MPA-ERR-12, DDP-ERR-36
#[test]
fn random_streams_of_128_bits() {
    agrees(128);
}

// req: MPA-RCV-17, MPA-CRC-19, MPA-ERR-12, DDP-ERR-36
#[test]
fn random_streams_of_256_bits() {
    agrees(256);
}

// req: MPA-RCV-17, MPA-CRC-19, MPA-ERR-12, DDP-ERR-36
#[test]
fn random_streams_of_512_bits() {
    agrees(512);
}
