//! One completion queue for two writers: the RTL, which knows of its own entries only, and the send engine.
//!
//! ```text
//!  RTL ── m_axi: entry at its own place ──► redirected ─┐
//!                                                       ├─► next place of the host's queue, PHASE by that place
//!  engine ── send_event ────────────────────────────────┘
//!  host ── COMPLETION_CONSUMER ──► the RTL's share of the entries that were consumed ──► RTL
//! ```
//!
//! The RTL is given a queue of half the host's entries, and the engine takes at most the other half. So neither overwrites an
//! entry that the host has not consumed, and neither can keep the other from writing.

use std::collections::VecDeque;

use warpline_regmap::layout::completion;
use warpline_regmap::register;

use crate::host::Host;
use crate::transmit::octets::merged;

/// Octets of an entry.
pub(crate) const ENTRY: usize = 4 * completion::WORDS;

/// A completion entry, word 0 first.
pub(crate) type Entry = [u32; completion::WORDS];

/// The words of an entry.
pub(crate) fn entry(octets: &[u8]) -> Entry {
    let mut entry = Entry::default();
    for (word, octets) in entry.iter_mut().zip(octets.as_chunks().0) {
        *word = u32::from_le_bytes(*octets);
    }
    entry
}

/// The queue.
#[derive(Debug, Default)]
pub(crate) struct Completions {
    base: u64,
    /// Entries of the host's queue; 0: none.
    entries: u32,
    /// Entries written and consumed since the queue began, modulo 2^32.
    produced: u32,
    consumed: u32,
    /// Of each entry that is not consumed, in order: whether the RTL wrote it.
    owners: VecDeque<bool>,
    /// The RTL's entries that the host has consumed, modulo 2^32.
    rtl_consumed: u32,
    /// The host asked for an interrupt.
    armed: bool,
    /// An interrupt is due.
    pub due: bool,
    /// A write of the engine was refused: the queue is no longer valid.
    pub fault: bool,
    /// Entries of the RTL that have landed, for the engine.
    pub landed: VecDeque<Entry>,
}

impl Completions {
    /// Writes octets of the base, which ends the queue.
    pub fn set_base(&mut self, high: bool, value: u32, strobes: u8) {
        let shift = if high { 32 } else { 0 };
        let word = merged((self.base >> shift) as u32, value, strobes);
        let others = self.base & !(u64::from(u32::MAX) << shift);
        let base = others | u64::from(word) << shift;
        *self = Self {
            base,
            ..Self::default()
        };
    }

    /// The host has written `entries`: those of the RTL's queue. 3 is a number that the RTL refuses. The RTL refuses a base that is
    /// not aligned, too.
    pub fn begin(&mut self, entries: u32) -> u32 {
        let base = self.base;
        let sizes = 2..=register::COMPLETION_ENTRIES_MAX;
        let good = entries.is_power_of_two()
            && sizes.contains(&entries)
            && base.is_multiple_of(register::COMPLETION_ALIGNMENT.into());
        *self = Self {
            base,
            entries: if good { entries } else { 0 },
            ..Self::default()
        };
        match entries {
            0 => 0,
            _ if good => entries / 2,
            _ => 3,
        }
    }

    /// What the RTL's register reads, as the host's.
    pub fn entries(&mut self, rtl: u32) -> u32 {
        if rtl == 0 {
            self.entries = 0;
        }
        self.entries
    }

    /// Entries written, modulo 2^32.
    pub fn produced(&self) -> u32 {
        self.produced
    }

    /// Entries consumed, modulo 2^32.
    pub fn consumed(&self) -> u32 {
        self.consumed
    }

    /// The host has consumed `count` entries, modulo 2^32. The number for the RTL.
    pub fn consume(&mut self, count: u32) -> u32 {
        let new = count.wrapping_sub(self.consumed) as usize;
        for rtl in self.owners.drain(..new.min(self.owners.len())) {
            self.rtl_consumed = self.rtl_consumed.wrapping_add(rtl.into());
        }
        self.consumed = count;
        self.rtl_consumed
    }

    /// The host asks for an interrupt as soon as there are entries behind `count`.
    pub fn arm(&mut self, count: u32) {
        self.armed = self.produced == count;
        self.due |= !self.armed;
    }

    /// Whether the engine may write an entry.
    pub fn has_room(&self) -> bool {
        let own = self.owners.iter().filter(|rtl| !**rtl).count();
        self.entries >= 2 && own < (self.entries / 2) as usize
    }

    /// Whether the RTL's queue holds the octets.
    pub fn holds(&self, address: u64, length: usize) -> bool {
        let octets = (self.entries / 2) as usize * ENTRY;
        self.entries >= 2
            && address
                .checked_sub(self.base)
                .is_some_and(|at| at as usize + length <= octets)
    }

    /// An entry of the RTL, as octets in memory; false when the bus refuses it.
    pub fn redirect(&mut self, host: &Host, octets: &[u8]) -> bool {
        octets.chunks(ENTRY).all(|octets| {
            let entry = entry(octets);
            self.landed.push_back(entry);
            octets.len() == ENTRY && self.put(host, entry, true)
        })
    }

    /// An entry of the engine. The caller has seen that there is room.
    pub fn push(&mut self, host: &Host, entry: Entry) {
        if !self.put(host, entry, false) {
            self.fault = true;
            self.entries = 0;
        }
    }

    fn put(&mut self, host: &Host, mut entry: Entry, rtl: bool) -> bool {
        // The queue may have ended since the entry left.
        let Some(most) = self.entries.checked_sub(1) else {
            return false;
        };
        let place = self.produced & most;
        let phase = (self.produced / self.entries) & 1 == 0;
        completion::PHASE.put(&mut entry, phase.into());
        let octets: Vec<u8> = entry.iter().flat_map(|word| word.to_le_bytes()).collect();
        let address = self.base.wrapping_add(u64::from(place) * ENTRY as u64);
        if !host.store(address, &octets) {
            return false;
        }
        self.produced = self.produced.wrapping_add(1);
        self.owners.push_back(rtl);
        self.due |= std::mem::take(&mut self.armed);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `COMPLETION_ENTRIES` has it: any other number is refused, and so is a queue whose base is not aligned.
    #[test]
    fn a_queue_that_the_registers_refuse_is_none_for_the_engine() {
        for (base, entries) in [
            (0x1000, 3),
            (0x1000, 5),
            (0x1000, 6),
            (0x1000, 7),
            (0x1000, 1 << 17),
            (0x1000, u32::MAX),
            (0x1020, 64),
        ] {
            let mut queue = Completions::default();
            queue.set_base(false, base, 0xF);
            assert_eq!(queue.begin(entries), 3, "{entries} at {base:#x}");
            assert!(!queue.has_room(), "{entries} at {base:#x}");
        }
        let mut queue = Completions::default();
        queue.set_base(false, 0x1000, 0xF);
        assert_eq!(queue.begin(64), 32);
        assert!(queue.has_room());
        assert_eq!(queue.begin(0), 0);
        assert!(!queue.has_room());
    }

    /// An entry that left for a queue that has ended since, or that lies at the end of all addresses.
    #[test]
    fn an_entry_without_a_place_is_refused() {
        let host = Host::default();
        let mut queue = Completions::default();
        assert!(!queue.redirect(&host, &[0; ENTRY]));
        queue.set_base(false, 0xFFFF_FFC0, 0xF);
        queue.set_base(true, u32::MAX, 0xF);
        queue.begin(1 << 16);
        queue.produced = 7;
        assert!(!queue.redirect(&host, &[0; ENTRY]));
        queue.push(&host, Entry::default());
        assert!(queue.fault && !queue.has_room());
    }
}
