//! Which octets of a stream have arrived.

use std::collections::BTreeMap;
use std::ops::Range;

/// The octets of a stream that have arrived: stretches with gaps between them, by their first octet.
#[derive(Debug, Default)]
pub(super) struct Stretches(BTreeMap<usize, usize>);

impl Stretches {
    /// Where the first gap begins.
    pub(super) fn edge(&self) -> usize {
        self.0.get(&0).copied().unwrap_or(0)
    }

    /// Stretches behind the first gap.
    pub(super) fn islands(&self) -> usize {
        self.0.len() - usize::from(self.0.contains_key(&0))
    }

    /// How much of `range` is there.
    pub(super) fn overlap(&self, range: Range<usize>) -> usize {
        let before = self.0.range(..range.end);
        let shared = before.map(|(&begin, &end)| {
            let end = end.min(range.end);
            end.saturating_sub(begin.max(range.start))
        });
        shared.sum()
    }

    /// A stretch begins at `at`.
    pub(super) fn begins_at(&self, at: usize) -> bool {
        self.0.contains_key(&at)
    }

    /// Now `range` is there.
    pub(super) fn insert(&mut self, range: Range<usize>) {
        let Range { mut start, mut end } = range;
        let touching = self.0.range(..=end);
        let touching = touching.filter(|&(_, &until)| until >= start);
        let touching: Vec<_> = touching.map(|(&from, &until)| (from, until)).collect();
        for (from, until) in touching {
            self.0.remove(&from);
            (start, end) = (start.min(from), end.max(until));
        }
        self.0.insert(start, end);
    }
}
