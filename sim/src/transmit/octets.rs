//! Registers in words and octet strobes.

use warpline_regmap::register::Register;

/// Octets of a write-only register's value.
pub(crate) const ALL: u8 = 0b1111;

/// Element of an array of single words at an offset.
pub(crate) fn element(register: &Register, offset: u32) -> Option<usize> {
    let index = offset.checked_sub(register.offset)? / register.stride;
    (index < register.count && offset % register.stride < 4).then_some(index as usize)
}

/// The word with those octets of `value` whose strobes are set.
pub(crate) fn merged(word: u32, value: u32, strobes: u8) -> u32 {
    let mask = (0..4).filter(|lane| strobes >> lane & 1 == 1);
    let mask = mask.fold(0, |mask, lane| mask | 0xFF << (8 * lane));
    word & !mask | value & mask
}
