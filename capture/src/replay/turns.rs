//! STags that follow one another in a slot of the receiver's table.
//!
//! ```text
//!  stream:  FPDU A1  FPDU A1 │ FPDU A2  FPDU A2 │ …        A1, A2: STags with the same index and another key
//!  slot A:  region A1        │ region A2        │          a turn: the first is revoked, the other one registered
//! ```
//!
//! Fast registration renews the key of an STag whenever its region changes, so one stream names many STags of one index.

use std::collections::BTreeMap;

use super::plan::Plan;
use super::survey::Survey;

/// A region takes its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Stream position of the FPDU that needs it.
    pub position: u64,
    /// The region that leaves the slot.
    pub leaves: usize,
    /// The region that takes it.
    pub takes: usize,
}

/// Which regions are registered when.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Turns {
    /// Regions that are registered before the stream begins: of each slot the one that is named first.
    pub first: Vec<usize>,
    /// Changes, in the order of the stream.
    pub turns: Vec<Turn>,
}

impl Turns {
    /// The turns that a table needs in which `slot` says where an STag belongs.
    #[must_use]
    pub fn new(plan: &Plan, survey: &Survey, slot: impl Fn(u32) -> u32) -> Self {
        let regions = plan.regions.iter().map(|region| region.stag).zip(0..);
        let regions: BTreeMap<u32, usize> = regions.collect();
        let mut holders = BTreeMap::new();
        let mut all = Self::default();
        for &(position, stag) in &survey.uses {
            let Some(&takes) = regions.get(&stag) else {
                continue;
            };
            match holders.insert(slot(stag), takes) {
                None => all.first.push(takes),
                Some(leaves) if leaves == takes => {}
                Some(leaves) => all.turns.push(Turn {
                    position,
                    leaves,
                    takes,
                }),
            }
        }
        // Regions that the stream does not name, where they fit.
        for (&stag, &region) in &regions {
            let used = survey.tagged.contains_key(&stag);
            if !used && !holders.contains_key(&slot(stag)) {
                holders.insert(slot(stag), region);
                all.first.push(region);
            }
        }
        all.first.sort_unstable();
        all
    }
}
