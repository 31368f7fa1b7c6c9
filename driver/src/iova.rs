//! Which bus addresses are in use.
//!
//! First fit, whole pages, and an unmapped page behind every range: a write that runs past the end of a range faults in
//! the IOMMU instead of landing in its neighbour.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::memory::PAGE;

const PAGE_OCTETS: u64 = PAGE as u64;

/// Allocator of bus addresses.
#[derive(Debug)]
pub(crate) struct BusAddresses {
    limits: Range<u64>,
    /// Length by start, guard page included.
    used: BTreeMap<u64, u64>,
}

impl BusAddresses {
    /// All of `limits` is free, apart from address 0.
    pub fn new(limits: Range<u64>) -> Self {
        let start = limits
            .start
            .max(PAGE_OCTETS)
            .checked_next_multiple_of(PAGE_OCTETS);
        Self {
            limits: start.unwrap_or(limits.end)..limits.end,
            used: BTreeMap::new(),
        }
    }

    /// Start of `length` free addresses, a multiple of 4096 and not 0; `None` when there are none.
    pub fn allocate(&mut self, length: u64) -> Option<u64> {
        let whole = length
            .checked_next_multiple_of(PAGE_OCTETS)?
            .checked_add(PAGE_OCTETS)?;
        let mut start = self.limits.start;
        for (&used, &octets) in &self.used {
            if used - start >= whole {
                break;
            }
            start = used + octets;
        }
        let fits = start.checked_add(whole)? <= self.limits.end;
        fits.then(|| {
            self.used.insert(start, whole);
            start
        })
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

    #[test]
    fn address_0_is_never_given() {
        assert_eq!(BusAddresses::new(0..1 << 39).allocate(1), Some(4096));
        assert_eq!(BusAddresses::new(5000..1 << 39).allocate(1), Some(8192));
    }

    #[test]
    fn odd_limits_give_nothing_rather_than_panic() {
        let reversed = Range { start: 10, end: 5 };
        for limits in [0..0, reversed, u64::MAX - 1..u64::MAX, 0..4096] {
            assert_eq!(BusAddresses::new(limits).allocate(1), None);
        }
        assert_eq!(BusAddresses::new(0..u64::MAX).allocate(u64::MAX), None);
    }

    proptest! {
        #[test]
        fn ranges_are_aligned_apart_and_reused(
            steps in prop::collection::vec((1_u64..20_000, any::<prop::sample::Index>(), any::<bool>()), 1..200),
        ) {
            let limits = 4096..1 << 20;
            let mut addresses = BusAddresses::new(limits.clone());
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
