//! The STag table, as the commands that pass by leave it: the engine checks gather elements in it.

use std::collections::HashMap;

use warpline_regmap::layout::stag_entry;
use warpline_regmap::register::stag_slot;
use warpline_regmap::transmit::{Element, status};

/// An entry.
#[derive(Clone, Copy, Debug)]
struct Entry {
    stag: u32,
    domain: u16,
    /// The only stream that may use it.
    stream: Option<u8>,
    base: u64,
    length: u64,
    address: u64,
}

/// Valid entries, by slot.
#[derive(Debug)]
pub(crate) struct Stags {
    slots: u32,
    entries: HashMap<u32, Entry>,
}

impl Stags {
    /// A table of `slots`, a power of two.
    pub fn new(slots: u32) -> Self {
        Self {
            slots,
            entries: HashMap::new(),
        }
    }

    /// `WRITE_STAG` was carried out.
    pub fn write(&mut self, words: &[u32]) {
        let stag = stag_entry::STAG.get(words) as u32;
        let scoped = stag_entry::STREAM_SCOPE.get(words) == 1;
        let entry = Entry {
            stag,
            domain: stag_entry::PROTECTION_DOMAIN.get(words) as u16,
            stream: scoped.then_some(stag_entry::STREAM.get(words) as u8),
            base: stag_entry::BASE.get(words),
            length: stag_entry::LENGTH.get(words),
            address: stag_entry::ADDRESS.get(words),
        };
        self.entries.insert(stag_slot(stag, self.slots), entry);
    }

    /// `REVOKE_STAG` was issued: nothing is read through the entry any more.
    pub fn revoke(&mut self, stag: u32) {
        self.entries.remove(&stag_slot(stag, self.slots));
    }

    /// Bus address of an element of a request of `stream`, whose protection domain is `domain`; or the status of the request.
    pub fn check(&self, element: &Element, stream: u8, domain: u16) -> Result<u64, u32> {
        let entry = self.entries.get(&stag_slot(element.stag, self.slots));
        let entry = entry.filter(|entry| entry.stag == element.stag);
        let entry = entry.ok_or(status::STAG)?;
        if entry.domain != domain || entry.stream.is_some_and(|only| only != stream) {
            return Err(status::ASSOC);
        }
        let into = element
            .offset
            .checked_sub(entry.base)
            .ok_or(status::BOUNDS)?;
        let end = into.checked_add(u64::from(element.length));
        if end.is_none_or(|end| end > entry.length) {
            return Err(status::BOUNDS);
        }
        Ok(entry.address.wrapping_add(into))
    }
}
