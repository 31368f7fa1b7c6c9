//! Words that keep the declarations of blocks short.

use warpline_regmap::Field;

/// Lowest bit of `field` in word `word` of its record, in which it has to begin.
pub fn in_word(field: Field, word: usize) -> usize {
    assert_eq!(field.lsb / 32, word, "word of {}", field.name);
    field.lsb % 32
}
