//! Octet strobes.

/// The word with those octets of `value` whose strobes are set.
pub(crate) fn merged(word: u32, value: u32, strobes: u8) -> u32 {
    let mask = (0..4).filter(|lane| strobes >> lane & 1 == 1);
    let mask = mask.fold(0, |mask, lane| mask | 0xFF << (8 * lane));
    word & !mask | value & mask
}
