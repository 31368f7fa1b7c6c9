//! Values of a signal by clock cycle.

use std::ops::Range;

/// The values of a signal, one for each cycle; only changes are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Samples {
    width: u32,
    /// Cycles that begin another value, ascending.
    at: Vec<u64>,
    /// Bits of each value, the lowest ones first, [`words`](Self::words) each.
    bits: Vec<u64>,
    /// Which of them are neither 0 nor 1.
    unknown: Vec<u64>,
}

/// The value of a signal in a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value<'s> {
    width: u32,
    bits: &'s [u64],
    unknown: &'s [u64],
}

impl Samples {
    /// A signal of `width` bits whose value is unknown from cycle 0 on.
    #[must_use]
    pub fn unknown(width: u32) -> Self {
        let words = width.div_ceil(64).max(1) as usize;
        let mut unknown = vec![u64::MAX; words];
        let rest = width % 64;
        if rest > 0 {
            unknown[words - 1] = (1 << rest) - 1;
        }
        Self {
            width,
            at: vec![0],
            bits: vec![0; words],
            unknown,
        }
    }

    /// From `cycle` on, the value is `text`: characters 0, 1 or others, the highest bit first. Cycles must ascend; the same
    /// cycle again replaces its value.
    pub fn push(&mut self, cycle: u64, text: &str) {
        let words = self.words();
        let mut bits = vec![0; words];
        let mut unknown = vec![0; words];
        let low_first = text.bytes().rev().take(self.width as usize);
        for (index, bit) in low_first.enumerate() {
            let (word, mask) = (index / 64, 1 << (index % 64));
            match bit {
                b'0' => {}
                b'1' => bits[word] |= mask,
                _ => unknown[word] |= mask,
            }
        }
        if self.at.last().is_some_and(|last| *last >= cycle) {
            self.at.pop();
            self.bits.truncate(self.at.len() * words);
            self.unknown.truncate(self.at.len() * words);
        }
        let from = self.bits.len().saturating_sub(words);
        if self.bits[from..] == bits && self.unknown[from..] == unknown && !self.at.is_empty() {
            return;
        }
        self.at.push(cycle);
        self.bits.extend(bits);
        self.unknown.extend(unknown);
    }

    /// Some bits of it, from the lowest one on.
    #[must_use]
    pub fn bits(&self, bits: Range<u32>) -> Self {
        let mut part = Self::unknown(bits.end.saturating_sub(bits.start));
        for (cycle, value) in self.changes() {
            let text: String = bits.clone().rev().map(|bit| value.bit(bit)).collect();
            part.push(cycle, &text);
        }
        part
    }

    /// Bits of the signal.
    #[must_use]
    pub fn width(&self) -> u32 {
        self.width
    }

    fn words(&self) -> usize {
        self.width.div_ceil(64).max(1) as usize
    }

    /// Its value in a cycle.
    #[must_use]
    pub fn value(&self, cycle: u64) -> Value<'_> {
        let index = self.at.partition_point(|at| *at <= cycle);
        self.nth(index.saturating_sub(1))
    }

    fn nth(&self, index: usize) -> Value<'_> {
        let words = index * self.words()..(index + 1) * self.words();
        Value {
            width: self.width,
            bits: &self.bits[words.clone()],
            unknown: &self.unknown[words],
        }
    }

    /// Cycles that begin another value, with it.
    pub fn changes(&self) -> impl Iterator<Item = (u64, Value<'_>)> {
        self.at
            .iter()
            .enumerate()
            .map(|(index, at)| (*at, self.nth(index)))
    }

    /// The value in a cycle of a signal of at most 64 bits; unknown bits read 0.
    #[must_use]
    pub fn word(&self, cycle: u64) -> u64 {
        self.value(cycle).word()
    }

    /// Whether the lowest bit is 1 in a cycle.
    #[must_use]
    pub fn high(&self, cycle: u64) -> bool {
        self.word(cycle) & 1 == 1
    }
}

impl Value<'_> {
    /// The lowest 64 bits; unknown bits read 0.
    #[must_use]
    pub fn word(&self) -> u64 {
        self.bits.first().copied().unwrap_or(0)
    }

    /// Some bit is neither 0 nor 1.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        self.unknown.iter().any(|word| *word != 0)
    }

    /// A bit: `0`, `1`, or `x`.
    #[must_use]
    pub fn bit(&self, bit: u32) -> char {
        let (word, mask) = ((bit / 64) as usize, 1 << (bit % 64));
        let of = |words: &[u64]| words.get(word).is_some_and(|word| word & mask != 0);
        match (of(self.unknown), of(self.bits)) {
            (true, _) => 'x',
            (false, true) => '1',
            (false, false) => '0',
        }
    }

    /// Ones among its bits.
    #[must_use]
    pub fn ones(&self) -> u32 {
        self.bits.iter().map(|word| word.count_ones()).sum()
    }

    /// Hexadecimal digits, as many as the width needs; a digit with an unknown bit is `x`.
    #[must_use]
    pub fn hex(&self) -> String {
        let digit = |index: u32| {
            let (word, shift) = ((index / 16) as usize, 4 * (index % 16));
            let of = |words: &[u64]| (words[word] >> shift) as u32 & 0xF;
            match of(self.unknown) {
                0 => char::from_digit(of(self.bits), 16).unwrap_or('x'),
                _ => 'x',
            }
        };
        (0..self.width.div_ceil(4).max(1))
            .rev()
            .map(digit)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_their_cycles() {
        let mut samples = Samples::unknown(70);
        assert!(samples.value(0).is_unknown());
        assert_eq!(samples.value(9).hex(), "x".repeat(18));
        samples.push(2, &format!("{}1", "0".repeat(69)));
        samples.push(3, &format!("1{}x001", "0".repeat(65)));
        samples.push(3, &format!("1{}1001", "0".repeat(65)));
        samples.push(7, &format!("1{}1001", "0".repeat(65)));
        assert_eq!(samples.value(1).hex(), "x".repeat(18));
        assert_eq!(samples.word(2), 1);
        assert_eq!(samples.value(8).hex(), "200000000000000009");
        assert_eq!(samples.value(8).ones(), 3);
        assert!(samples.high(3) && !samples.value(3).is_unknown());
        let part = samples.bits(2..5);
        assert_eq!((part.width(), part.word(2), part.word(3)), (3, 0, 0b010));
        assert_eq!(
            (part.value(1).hex().as_str(), part.changes().count()),
            ("x", 3)
        );
        let at: Vec<_> = samples.changes().map(|(at, _)| at).collect();
        assert_eq!(at, [0, 2, 3], "an equal value is no change");
    }

    #[test]
    fn a_first_value_replaces_the_unknown_one() {
        let mut samples = Samples::unknown(1);
        samples.push(0, "1");
        assert_eq!(samples.changes().count(), 1);
        assert!(samples.high(0) && samples.high(5));
        let digits = ["0", "1", "x", "z"].map(|text| {
            let mut samples = Samples::unknown(1);
            samples.push(0, text);
            samples.value(0).hex()
        });
        assert_eq!(digits, ["0", "1", "x", "x"]);
    }
}
