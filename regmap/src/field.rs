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
    /// The field's value in `words`.
    ///
    /// # Panics
    /// If `words` is shorter than the record, which is a programming error and never depends on data.
    #[must_use]
    pub fn get(&self, words: &[u32]) -> u64 {
        (0..self.width).fold(0, |value, bit| {
            let at = self.lsb + bit;
            value | u64::from(words[at / 32] >> (at % 32) & 1) << bit
        })
    }

    /// Writes `value` into the field; bits above the field's width are ignored.
    ///
    /// # Panics
    /// If `words` is shorter than the record.
    pub fn put(&self, words: &mut [u32], value: u64) {
        for bit in 0..self.width {
            let at = self.lsb + bit;
            let mask = 1 << (at % 32);
            if value >> bit & 1 == 1 {
                words[at / 32] |= mask;
            } else {
                words[at / 32] &= !mask;
            }
        }
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
