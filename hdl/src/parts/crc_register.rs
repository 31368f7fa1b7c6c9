//! What a CRC32C register does, as arithmetic on polynomials over GF(2).
//!
//! A register value is a polynomial of degree below 32; bit 31 is the coefficient of x^0 and bit 0 that of x^31, because
//! MPA feeds each octet least significant bit first (RFC 5044 §4.4). A dword taken with its first octet in bits 7:0 can
//! then simply be added (XOR) to the register, and one bit of zeros multiplies the register by x modulo the generator.
//! Independent of hardware: `crc32c` builds its tables from it.

pub use warpline_wire::crc::{
    INIT as PRESET, POLYNOMIAL_REFLECTED as POLYNOMIAL, RESIDUE_REGISTER as RESIDUE,
};

/// `register` times x: one bit of zeros later.
#[must_use]
pub const fn times_x(register: u32) -> u32 {
    (register >> 1) ^ if register & 1 == 1 { POLYNOMIAL } else { 0 }
}

/// `register` times x^`bits`: so many bits of zeros later.
#[must_use]
pub fn advance(register: u32, bits: usize) -> u32 {
    (0..bits).fold(register, |register, _| times_x(register))
}

/// `register` divided by x^`bits`: before so many bits of zeros, which every step of the register remembers.
#[must_use]
pub fn retreat(register: u32, bits: usize) -> u32 {
    (0..bits).fold(register, |register, _| match register >> 31 {
        0 => register << 1,
        _ => (register ^ POLYNOMIAL) << 1 | 1,
    })
}

/// `register` squared: since (a + b)² = a² + b² over GF(2), coefficient i moves to x^2i. Linear, and one to one
/// because no square divides the generator, which is x + 1 times a primitive polynomial of degree 31.
#[must_use]
pub fn square(register: u32) -> u32 {
    let terms = (0..32).filter(|i| register << i >> 31 == 1);
    terms.fold(0, |sum, i| sum ^ advance(1 << 31, 2 * i))
}

/// Squarings that bring every value back: x^(2^31) = x modulo both factors of the generator.
pub const SQUARINGS: usize = 31;

/// `register` squared `times` times.
#[must_use]
pub fn squared(register: u32, times: usize) -> u32 {
    (0..times).fold(register, |register, _| square(register))
}
