//! Which bus addresses are in use.
//!
//! ```text
//!  limits:  ├────────── range ──────────┤        ├──── range ────┤
//!  used:      │ memory │guard│ memory │guard│      │ memory │guard│
//! ```
//!
//! First fit, whole pages, and an unmapped page behind every memory: a write past the end of one faults in the IOMMU
//! instead of reaching its neighbour. Large memories begin at multiples of 2 MiB, where an IOMMU can map huge
//! pages.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::memory::{HUGE_PAGE, PAGE};

const PAGE_OCTETS: u64 = PAGE as u64;
const HUGE_OCTETS: u64 = HUGE_PAGE as u64;

/// Allocator of bus addresses.
#[derive(Debug)]
pub(crate) struct BusAddresses {
    /// Ascending.
    limits: Vec<Range<u64>>,
    /// Length by start, guard page included.
    used: BTreeMap<u64, u64>,
}

impl BusAddresses {
    /// All of `limits` is free, except address 0.
    pub fn new(mut limits: Vec<Range<u64>>) -> Self {
        limits.sort_by_key(|range| range.start);
        Self {
            limits,
            used: BTreeMap::new(),
        }
    }

    /// Start of `length` free addresses, a multiple of 4096 and not 0; `None` when there are none.
    pub fn allocate(&mut self, length: u64) -> Option<u64> {
        let whole = length
            .checked_next_multiple_of(PAGE_OCTETS)?
            .checked_add(PAGE_OCTETS)?;
        let aligned = |alignment| {
            let fits = |limits| self.fit(limits, whole, alignment);
            self.limits.iter().find_map(fits)
        };
        let large = || (length >= HUGE_OCTETS).then(|| aligned(HUGE_OCTETS));
        let start = large().flatten().or_else(|| aligned(PAGE_OCTETS))?;
        self.used.insert(start, whole);
        Some(start)
    }

    /// First place of `whole` octets within `limits`.
    fn fit(&self, limits: &Range<u64>, whole: u64, alignment: u64) -> Option<u64> {
        let align = |start: u64| start.checked_next_multiple_of(alignment);
        let mut start = align(limits.start.max(PAGE_OCTETS))?;
        for (&used, &octets) in &self.used {
            let end = used + octets;
            if end <= start {
                continue;
            }
            if used >= start.checked_add(whole)? {
                break;
            }
            start = align(end)?;
        }
        (start.checked_add(whole)? <= limits.end).then_some(start)
    }

    /// Frees what `allocate` returned.
    pub fn free(&mut self, start: u64) {
        let freed = self.used.remove(&start);
        debug_assert!(freed.is_some(), "{start:#x} was not allocated");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn over(limits: Range<u64>) -> BusAddresses {
        BusAddresses::new(std::iter::once(limits).collect())
    }

    #[test]
    fn address_0_is_never_given() {
        let first = |limits| over(limits).allocate(1);
        assert_eq!(first(0..1 << 39), Some(4096));
        assert_eq!(first(5000..1 << 39), Some(8192));
    }

    #[test]
    fn every_range_is_used() {
        let mut addresses = BusAddresses::new(vec![1 << 32..(1 << 32) + (8 << 20), 0..0x4000]);
        assert_eq!(addresses.allocate(1), Some(0x1000));
        assert_eq!(
            addresses.allocate(0x1000),
            Some(1 << 32),
            "no guard page fits below"
        );
        assert_eq!(
            addresses.allocate(HUGE_OCTETS),
            Some((1 << 32) + HUGE_OCTETS)
        );
        addresses.free(0x1000);
        assert_eq!(addresses.allocate(0x2000), Some(0x1000));
        assert_eq!(addresses.allocate(8 << 20), None);
    }

    #[test]
    fn large_memories_fall_back_to_pages() {
        let mut addresses = over(0x1000..0x1000 + HUGE_OCTETS + 0x1000);
        assert_eq!(addresses.allocate(HUGE_OCTETS), Some(0x1000));
    }

    #[test]
    fn odd_limits_give_nothing_rather_than_panic() {
        let reversed = Range { start: 10, end: 5 };
        for limits in [0..0, reversed, u64::MAX - 1..u64::MAX, 0..4096] {
            assert_eq!(over(limits).allocate(1), None);
        }
        let mut all = over(0..u64::MAX);
        assert_eq!(all.allocate(u64::MAX), None);
        assert_eq!(BusAddresses::new(vec![]).allocate(1), None);
    }

    proptest! {
        #[test]
        fn ranges_are_aligned_apart_and_reused(
            steps in prop::collection::vec((1_u64..20_000, any::<prop::sample::Index>(), any::<bool>()), 1..200),
        ) {
            let limits = 4096..1 << 20;
            let mut addresses = over(limits.clone());
            let mut held: Vec<(u64, u64)> = Vec::new();
            for (length, which, free) in steps {
                if free && !held.is_empty() {
                    addresses.free(held.swap_remove(which.index(held.len())).0);
                } else if let Some(start) = addresses.allocate(length) {
                    prop_assert_eq!(start % 4096, 0);
                    prop_assert!(start >= limits.start && start + length + 4096 <= limits.end);
                    for &(other, octets) in &held {
                        prop_assert!(start + length + 4096 <= other || other + octets + 4096 <= start);
                    }
                    held.push((start, length));
                }
            }
            for (start, _) in held {
                addresses.free(start);
            }
            let all = limits.end - limits.start - 4096;
            prop_assert_eq!(addresses.allocate(all), Some(4096));
        }
    }
}
