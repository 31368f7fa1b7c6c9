//! A named run of bits in a record of 32-bit words, the record itself, and a named number.

/// A run of bits inside a record; it may cross word boundaries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Name as the documentation shows it, in lower case.
    pub name: &'static str,
    /// Lowest bit, counted from bit 0 of word 0.
    pub lsb: usize,
    /// Number of bits, 1 to 64.
    pub width: usize,
    /// One line for the register documentation.
    pub doc: &'static str,
}

impl Field {
    /// The field's value in `words`. `words` is at least as long as the record: in a build with debug assertions a shorter one
    /// panics, in others the missing words are 0.
    #[must_use]
    #[inline]
    pub fn get(&self, words: &[u32]) -> u64 {
        self.check(words);
        let word = |index: usize| u64::from(words.get(index).copied().unwrap_or(0));
        let (first, shift) = (self.lsb / 32, self.lsb % 32);
        let mut value = word(first) >> shift;
        let mut have = 32 - shift;
        let mut next = first + 1;
        while have < self.width {
            value |= word(next) << have;
            (have, next) = (have + 32, next + 1);
        }
        value & self.max()
    }

    /// Writes `value` into the field; bits above the field's width are ignored. `words` is at least as long as the record: in a
    /// build with debug assertions a shorter one panics, in others what does not fit is lost.
    #[inline]
    pub fn put(&self, words: &mut [u32], value: u64) {
        self.check(words);
        let (mut at, mut value) = (self.lsb, value & self.max());
        let mut left = self.width;
        while left > 0 {
            let shift = at % 32;
            let count = left.min(32 - shift);
            let mask = (u32::MAX >> (32 - count)) << shift;
            if let Some(word) = words.get_mut(at / 32) {
                *word = *word & !mask | (value as u32) << shift & mask;
            }
            value >>= count; // at most 32
            (at, left) = (at + count, left - count);
        }
    }

    fn check(&self, words: &[u32]) {
        debug_assert!(self.lsb + self.width <= 32 * words.len(), "{}", self.name);
    }

    /// Its lowest bit in word `word` of its record, in which it has to begin: for hardware, which has the word.
    ///
    /// # Panics
    /// When it begins in another word.
    #[must_use]
    pub const fn in_word(&self, word: usize) -> usize {
        assert!(self.lsb / 32 == word, "the field begins in another word");
        self.lsb % 32
    }

    /// The largest value that the field can hold.
    #[must_use]
    pub const fn max(&self) -> u64 {
        if self.width == 64 {
            u64::MAX
        } else {
            (1 << self.width) - 1
        }
    }
}

/// A record: its size and its fields.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Name as the documentation shows it.
    pub name: &'static str,
    /// Size in 32-bit words.
    pub words: usize,
    /// The fields, in ascending bit order, without overlap.
    pub fields: &'static [Field],
    /// What the record is for.
    pub doc: &'static str,
}

/// A number with a meaning, such as that of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    /// Name as the documentation shows it.
    pub name: &'static str,
    /// The number.
    pub value: u32,
    /// What it means.
    pub doc: &'static str,
}

#[cfg(test)]
mod tests {
    use super::Field;

    const FIELD: Field = Field {
        name: "field",
        lsb: 37,
        width: 3,
        doc: "Bits 7:5 of word 1.",
    };

    #[test]
    fn a_field_has_a_place_in_its_word() {
        assert_eq!(FIELD.in_word(1), 5);
    }

    #[test]
    #[should_panic(expected = "begins in another word")]
    fn and_none_in_another_one() {
        let _ = FIELD.in_word(0);
    }
}
