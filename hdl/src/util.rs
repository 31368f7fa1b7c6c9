//! Words that keep the constructors of blocks short.

use rust_hdl_core::prelude::*;
use warpline_regmap::Field;

/// The default of whatever is wanted.
pub fn d<T: Default>() -> T {
    T::default()
}

/// An array of defaults.
pub fn array<T: Default, const N: usize>() -> [T; N] {
    std::array::from_fn(|_| T::default())
}

/// A number for the kernel.
pub fn number<const N: usize>(value: impl TryInto<u64>) -> Constant<Bits<N>> {
    let value = value.try_into().ok();
    Constant::new(value.expect("constants have up to 64 bits").into())
}

/// Lowest bit of `field` in word `word` of its record, in which it has to begin.
pub fn in_word(field: Field, word: usize) -> Constant<Bits<8>> {
    assert_eq!(field.lsb / 32, word, "word of {}", field.name);
    number(field.lsb % 32)
}
