//! Values of options: text that a person gives, and what is said when it is no such value.

use std::str::FromStr;
#[cfg(feature = "watch")]
use std::time::Duration;

use clap::builder::{OsStringValueParser, TypedValueParser};
use warpline_driver::Address;
#[cfg(feature = "rtl")]
use warpline_hdl::{Config, STREAMS};
#[cfg(feature = "rtl")]
use warpline_synth::Family;

#[cfg(feature = "rtl")]
use crate::size;

pub(super) fn width(text: &str) -> Result<usize, &'static str> {
    match text.parse() {
        Ok(width @ (64 | 128 | 256 | 512)) => Ok(width),
        _ => Err("choose 64, 128, 256 or 512"),
    }
}

pub(super) fn connection(text: &str) -> Result<usize, &'static str> {
    match text.parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err("give a number from 1 on"),
    }
}

pub(super) fn from_one(text: &str) -> Result<u64, &'static str> {
    match text.parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err("give a number from 1 on"),
    }
}

/// A stream position, in decimal or with 0x.
pub(super) fn position(text: &str) -> Result<u32, &'static str> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) if !digits.starts_with('+') => u32::from_str_radix(digits, 16),
        _ => text.parse(),
    };
    match parsed {
        Ok(position) if position.is_multiple_of(4) => Ok(position),
        Ok(_) => Err("give a multiple of 4: FPDUs begin at none other (MPA-FMT-11)"),
        Err(_) => Err("give a whole number below 2^32"),
    }
}

#[cfg(feature = "watch")]
pub(super) fn interval(text: &str) -> Result<Duration, &'static str> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.1..=3600.0).contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        _ => Err("give seconds, from 0.1 to 3600"),
    }
}

#[cfg(feature = "rtl")]
pub(super) fn megahertz(text: &str) -> Result<f64, &'static str> {
    match text.parse::<f64>() {
        Ok(clock) if clock.is_finite() && clock > 0.0 => Ok(clock),
        _ => Err("give a clock above 0, in MHz"),
    }
}

pub(super) fn seed<T: FromStr>(text: &str) -> Result<T, String> {
    let most = 8 * size_of::<T>();
    text.parse()
        .map_err(|_| format!("give a whole number below 2^{most}"))
}

#[cfg(feature = "rtl")]
pub(super) fn family(text: &str) -> Result<Family, &'static str> {
    Family::of_name(text).ok_or("choose ecp5 or xcup")
}

#[cfg(feature = "rtl")]
pub(super) fn streams(text: &str) -> Result<usize, &'static str> {
    match text.parse() {
        Ok(streams) if STREAMS.contains(&streams) => Ok(streams),
        _ => Err("choose 4 or 16"),
    }
}

#[cfg(feature = "rtl")]
pub(super) fn slot_octets(text: &str) -> Result<usize, String> {
    let octets = size::octets(text)?;
    usize::try_from(octets).map_err(|_| "more octets than there can be".into())
}

#[cfg(feature = "rtl")]
pub(super) fn ring_octets(text: &str) -> Result<usize, String> {
    let ring_octets = slot_octets(text).map_err(|_| "give a power of two from 4096 to 131072")?;
    let config = Config {
        ring_octets,
        commit_octets: ring_octets,
        ..Config::simulated(64)
    };
    match config.validate() {
        Ok(()) => Ok(ring_octets),
        Err(error) => Err(error.to_string()),
    }
}

/// A path need not be Unicode.
pub(super) fn address() -> impl TypedValueParser<Value = Address> {
    OsStringValueParser::new().try_map(|text| Address::try_from(text.as_os_str()))
}
