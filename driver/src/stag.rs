//! Which slot of the STag table belongs to which STag, and how an STag is made.
//!
//! ```text
//!  STag:  31 ……………………………… 8   7 …… 0
//!         │ random │ slot │   key │      slot = (STag >> 8) mod slots; the table compares all 32 bits (AMB-50)
//! ```
//!
//! All bits but those of the slot come from the operating system's random source, not the key alone: an STag cannot be
//! guessed from another one. Slots are used in turn, so that a revoked STag stays invalid for as long as possible.

use std::collections::BTreeMap;

use warpline_regmap::register::stag_slot;

use crate::error::Error;

/// A registered memory region's entry in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Holder {
    /// The STag.
    pub stag: u32,
    /// Its protection domain.
    pub domain: u16,
    /// The only stream that may use it, and that stream's generation.
    pub stream: Option<(u8, u64)>,
    /// What the peer may do, and where.
    pub rights: Rights,
    /// Number of the registration: a later one may have the same STag.
    pub serial: u64,
}

/// What an entry offers to the peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rights {
    /// Tagged Offset of the first octet.
    pub base: u64,
    /// Octets.
    pub length: u64,
    /// The peer may read.
    pub read: bool,
    /// The peer may write.
    pub write: bool,
}

impl Holder {
    /// Whether streams like this one may use the STag (RFC 5041 §8.2).
    pub fn serves(&self, domain: u16, stream: (u8, u64)) -> bool {
        self.domain == domain && self.stream.is_none_or(|only| only == stream)
    }
}

/// The slots of the STag table.
#[derive(Debug)]
pub(crate) struct StagSlots {
    slots: u32,
    used: BTreeMap<u32, Holder>,
    next: u32,
    serials: u64,
}

impl StagSlots {
    /// All slots are free; `slots` is a power of two up to 2^24.
    pub fn new(slots: u32) -> Self {
        Self {
            slots,
            used: BTreeMap::new(),
            next: 0,
            serials: 0,
        }
    }

    /// A number for a new registration.
    pub fn serial(&mut self) -> u64 {
        self.serials += 1;
        self.serials
    }

    /// The entry of `stag`.
    pub fn find(&self, stag: u32) -> Option<&Holder> {
        let holder = self.used.get(&self.slot(stag))?;
        (holder.stag == stag).then_some(holder)
    }

    /// The slot that `stag` belongs to.
    pub fn slot(&self, stag: u32) -> u32 {
        stag_slot(stag, self.slots)
    }

    /// A new STag in a free slot; `random` gives its random bits.
    pub fn pick(&mut self, random: u32) -> Result<u32, Error> {
        let mut turn = (0..self.slots).map(|i| (self.next + i) & (self.slots - 1));
        let slot = turn
            .find(|slot| !self.used.contains_key(slot))
            .ok_or(Error::NoStagSlot { slots: self.slots })?;
        self.next = slot + 1;
        Ok(random & !((self.slots - 1) << 8) | slot << 8)
    }

    /// Reserves the slot of `holder`'s STag.
    pub fn take(&mut self, holder: Holder) -> Result<(), Error> {
        let (stag, slot) = (holder.stag, self.slot(holder.stag));
        if let Some(other) = self.used.get(&slot) {
            let holder = other.stag;
            return Err(Error::StagSlotTaken { stag, slot, holder });
        }
        self.used.insert(slot, holder);
        Ok(())
    }

    /// Frees the slot of `stag`.
    pub fn release(&mut self, stag: u32) {
        let freed = self.used.remove(&self.slot(stag));
        debug_assert!(freed.is_some_and(|holder| holder.stag == stag), "{freed:?}");
    }

    /// The entries of all used slots.
    pub fn holders(&self) -> impl Iterator<Item = &Holder> {
        self.used.values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn holder(stag: u32) -> Holder {
        Holder {
            stag,
            domain: 0,
            stream: None,
            rights: Rights::default(),
            serial: 0,
        }
    }

    // req: AMB-50
    #[test]
    fn any_stag_has_its_slot() {
        let mut slots = StagSlots::new(16);
        slots.take(holder(0)).unwrap();
        slots.take(holder(0xFFFF_FFFF)).unwrap();
        assert_eq!([slots.slot(0), slots.slot(0xFFFF_FFFF)], [0, 15]);
        let taken = slots.take(holder(0x0000_1042)).unwrap_err();
        assert!(
            matches!(
                taken,
                Error::StagSlotTaken {
                    stag: 0x1042,
                    slot: 0,
                    holder: 0
                }
            ),
            "{taken}"
        );
    }

    #[test]
    fn a_slot_rests_as_long_as_others_are_free() {
        let mut slots = StagSlots::new(4);
        let mut seen = Vec::new();
        for _ in 0..8 {
            let stag = slots.pick(0).unwrap();
            slots.take(holder(stag)).unwrap();
            slots.release(stag);
            seen.push(slots.slot(stag));
        }
        assert_eq!(seen, [0, 1, 2, 3, 0, 1, 2, 3]);
    }

    proptest! {
        // req: DDP-SEC-10
        #[test]
        fn slots_are_never_shared(
            steps in prop::collection::vec((any::<u32>(), any::<prop::sample::Index>(), any::<bool>()), 1..300),
            log_slots in 0_u32..6,
        ) {
            let count = 1 << log_slots;
            let mut slots = StagSlots::new(count);
            let mut held: Vec<u32> = Vec::new();
            for (random, which, free) in steps {
                if free && !held.is_empty() {
                    slots.release(held.swap_remove(which.index(held.len())));
                    continue;
                }
                match slots.pick(random) {
                    Ok(stag) => {
                        prop_assert_eq!(stag & 0xFF, random & 0xFF);
                        prop_assert_eq!(stag >> (8 + log_slots), random >> (8 + log_slots));
                        prop_assert!(held.iter().all(|&other| slots.slot(other) != slots.slot(stag)));
                        slots.take(holder(stag)).unwrap();
                        held.push(stag);
                    }
                    Err(full) => {
                        let named = matches!(full, Error::NoStagSlot { slots } if slots == count);
                        prop_assert!(named);
                        prop_assert_eq!(held.len(), count as usize);
                    }
                }
            }
            prop_assert_eq!(slots.holders().count(), held.len());
        }
    }
}
