//! The control program of a warpline card as RV32I code: `warpline_firmware` with a soft processor's bus under it.
//!
//! ```text
//!  src/main.rs ─► make firmware-image ─► control.bin ─► IMAGE ─► RAM of the soft processor (`warpline_regmap::processor`)
//! ```
//!
//! `control.bin` is committed, so that users need no compiler for the processor; `make check-firmware-image` builds it again and
//! compares.
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

/// What is loaded at the first octet of RAM, where the processor starts.
pub const IMAGE: &[u8] = include_bytes!("../control.bin");

const _: () = assert!(IMAGE.len() <= warpline_regmap::processor::IMAGE_MAX as usize);
