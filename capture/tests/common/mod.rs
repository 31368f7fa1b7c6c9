//! The recorded runs, and frames made by hand.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::path::PathBuf;

use warpline_capture::Capture;

/// All capture directories, in alphabetical order.
pub const CAPTURES: [&str; 8] = [
    "crc0-rev2-writes",
    "crc1-rev2-badstag",
    "crc1-rev2-mixed",
    "crc1-rev2-nobuf",
    "crc1-rev2-oob",
    "crc1-rev2-sends",
    "crc1-rev2-writes",
    "crc1-rping",
];

pub fn directory(name: &str) -> PathBuf {
    PathBuf::from(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../testbenches/captures"
    ))
    .join(name)
}

pub fn open(name: &str) -> Capture {
    Capture::open(directory(name)).unwrap()
}
