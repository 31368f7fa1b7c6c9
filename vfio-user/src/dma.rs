//! The maps of a client: they do not overlap, and an unmap ends whole maps.
//!
//! ```text
//!  maps      ├──a──┤  ├───b───┤      ├──c──┤
//!  unmap   ├────────────────────┤                  ends a and b
//!  unmap                ├────┤                     cuts b: refused
//! ```
//!
//! Ranges are kept as first and last address: a range may end at 2^64.

use std::collections::BTreeMap;

use rustix::io::Errno;

use crate::protocol::MAX_DMA_MAPS;

/// The maps of one client.
#[derive(Debug, Default)]
pub(crate) struct Maps {
    /// Last address by first address; no two overlap.
    last: BTreeMap<u64, u64>,
}

/// Last address of a range; `None` for an empty or too large one.
fn last_of(iova: u64, length: u64) -> Result<u64, Errno> {
    length
        .checked_sub(1)
        .and_then(|more| iova.checked_add(more))
        .ok_or(Errno::INVAL)
}

impl Maps {
    /// Whether a map fits between the others.
    pub fn check(&self, iova: u64, length: u64) -> Result<(), Errno> {
        let last = last_of(iova, length)?;
        let before = self.last.range(..=last).next_back();
        if before.is_some_and(|(_, &end)| end >= iova) {
            return Err(Errno::EXIST);
        }
        if self.last.len() >= MAX_DMA_MAPS {
            return Err(Errno::NOSPC);
        }
        Ok(())
    }

    /// Adds a map that [`check`](Maps::check) has accepted.
    pub fn insert(&mut self, iova: u64, length: u64) {
        if let Ok(last) = last_of(iova, length) {
            self.last.insert(iova, last);
        }
    }

    /// Removes a map.
    pub fn remove(&mut self, iova: u64) {
        self.last.remove(&iova);
    }

    /// The maps inside a range, as address and length. A range that cuts a map is an error: only whole maps can end.
    pub fn inside(&self, iova: u64, length: u64) -> Result<Vec<(u64, u64)>, Errno> {
        let last = last_of(iova, length)?;
        let before = self.last.range(..iova).next_back();
        let end = self.last.range(..=last).next_back();
        if before.is_some_and(|(_, &end)| end >= iova) || end.is_some_and(|(_, &end)| end > last) {
            return Err(Errno::INVAL);
        }
        Ok(listed(self.last.range(iova..=last)))
    }

    /// All maps, as address and length.
    pub fn all(&self) -> Vec<(u64, u64)> {
        listed(self.last.iter())
    }
}

/// No map covers all 2^64 addresses, since a length is below that.
fn listed<'a>(maps: impl Iterator<Item = (&'a u64, &'a u64)>) -> Vec<(u64, u64)> {
    maps.map(|(&first, &last)| (first, last - first + 1))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ranges_may_end_at_the_last_address_and_not_behind_it() {
        let mut maps = Maps::default();
        let top = u64::MAX - 0xfff;
        assert_eq!(maps.check(top, 0x1000), Ok(()));
        maps.insert(top, 0x1000);
        assert_eq!(maps.check(top, 0x1001), Err(Errno::INVAL));
        assert_eq!(maps.check(u64::MAX, 1), Err(Errno::EXIST));
        assert_eq!(maps.check(0, 0), Err(Errno::INVAL));
        assert_eq!(maps.inside(1 << 63, 1 << 63), Ok(vec![(top, 0x1000)]));
        assert_eq!(maps.inside(0, 1 << 63), Ok(vec![]));
        assert_eq!(maps.inside(top, 0xfff), Err(Errno::INVAL));
        assert_eq!(maps.inside(top + 1, 0xfff), Err(Errno::INVAL));
        assert_eq!(maps.inside(1, u64::MAX), Ok(vec![(top, 0x1000)]));
        maps.remove(top);
        assert_eq!(maps.all(), vec![]);
    }

    #[test]
    fn there_is_a_most() {
        let mut maps = Maps::default();
        for n in 0..MAX_DMA_MAPS as u64 {
            assert_eq!(maps.check(n, 1), Ok(()));
            maps.insert(n, 1);
        }
        assert_eq!(maps.check(1 << 40, 1), Err(Errno::NOSPC));
    }

    proptest! {
        // Compare with one bit per address, at both ends of the address space.
        #[test]
        fn maps_agree_with_a_list_of_addresses(
            top: bool,
            steps in prop::collection::vec((any::<bool>(), 0..64u64, 1..20u64), 1..60),
        ) {
            let origin = if top { u64::MAX - 63 } else { 0 };
            let mut maps = Maps::default();
            let mut owner = [None; 64];
            for (map, from, length) in steps {
                let length = length.min(64 - from);
                let range = from as usize..(from + length) as usize;
                if map {
                    let free = owner[range.clone()].iter().all(Option::is_none);
                    prop_assert_eq!(maps.check(origin + from, length).is_ok(), free);
                    if free {
                        maps.insert(origin + from, length);
                        owner[range].fill(Some((from, length)));
                    }
                } else {
                    let mut found: Vec<_> = owner[range.clone()].iter().flatten().copied().collect();
                    found.dedup();
                    let cut = found.iter().any(|&(f, l)| f < from || f + l > from + length);
                    let expected = if cut {
                        Err(Errno::INVAL)
                    } else {
                        Ok(found.iter().map(|&(f, l)| (origin + f, l)).collect::<Vec<_>>())
                    };
                    let inside = maps.inside(origin + from, length);
                    prop_assert_eq!(&inside, &expected);
                    for (iova, _) in inside.into_iter().flatten() {
                        maps.remove(iova);
                    }
                    if !cut {
                        owner[range].fill(None);
                    }
                }
            }
        }
    }
}
