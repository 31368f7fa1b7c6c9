//! Regions of memory that the peer names by STags, and buffers of its untagged messages.

use std::collections::BTreeMap;

use warpline_wire::rdmap::{self, SourceRegion};
use warpline_wire::receive::{Scope, StagEntry, Target};

/// Reads of either end that may be without an answer: `warpline` has as many.
pub const READS: usize = 8;
/// Protection domain of all regions and sessions.
pub const DOMAIN: u32 = 1;

/// Untagged queues, and the octets and number of their buffers: Read Requests and Terminates, no Sends.
pub const QUEUES: [(u32, usize, usize); 2] = [
    (rdmap::queue::READ_REQUEST, rdmap::READ_REQUEST_LEN, READS),
    (rdmap::queue::TERMINATE, rdmap::MAX_TERMINATE_LEN, 1),
];

/// A region.
#[derive(Clone, Debug)]
pub struct Region {
    /// Tagged Offset of its first octet.
    pub base: u64,
    /// Its octets.
    pub octets: Vec<u8>,
    /// Whether the peer may write.
    pub remote_write: bool,
    /// Whether it may read.
    pub remote_read: bool,
}

impl Region {
    /// What the receiver checks segments against.
    pub fn entry(&self) -> StagEntry {
        StagEntry {
            valid: true,
            scope: Scope::ProtectionDomain(DOMAIN),
            remote_write: self.remote_write,
            base: self.base,
            length: self.octets.len() as u64,
        }
    }

    /// `len` octets from Tagged Offset `to` on, if all of them are there.
    fn range(&self, to: u64, len: usize) -> Option<std::ops::Range<usize>> {
        let start = usize::try_from(to.checked_sub(self.base)?).ok()?;
        let end = start.checked_add(len)?;
        (end <= self.octets.len()).then_some(start..end)
    }
}

/// All of them.
#[derive(Debug, Default)]
pub struct Memory {
    regions: BTreeMap<u32, Region>,
    /// Buffers by queue and MSN.
    buffers: BTreeMap<(u32, u32), Vec<u8>>,
}

impl Memory {
    /// Gives a region a name.
    pub fn register(&mut self, stag: u32, region: Region) {
        self.regions.insert(stag, region);
    }

    /// Regions by STag.
    pub fn regions(&self) -> impl Iterator<Item = (u32, &Region)> {
        self.regions.iter().map(|(stag, region)| (*stag, region))
    }

    /// Octets of a region.
    pub fn octets(&self, stag: u32) -> &[u8] {
        let region = self.regions.get(&stag);
        region.map(|region| &region.octets[..]).unwrap_or_default()
    }

    /// `len` octets from a Tagged Offset on, if all of them are there.
    pub fn read(&self, stag: u32, to: u64, len: usize) -> Option<&[u8]> {
        let region = self.regions.get(&stag)?;
        region.octets.get(region.range(to, len)?)
    }

    /// The region that a Read Request names.
    pub fn source(&self, stag: u32) -> Option<SourceRegion> {
        let region = self.regions.get(&stag)?;
        Some(SourceRegion {
            base: region.base,
            length: region.octets.len() as u64,
            associated: true,
            remote_read: region.remote_read,
        })
    }

    /// Puts the payload of a segment where it belongs; false: the receiver has accepted what there is no room for.
    pub fn place(&mut self, target: Target, payload: &[u8]) -> bool {
        let found = match target {
            Target::Tagged { stag, to } => self.regions.get_mut(&stag).and_then(|region| {
                let range = region.range(to, payload.len())?;
                region.octets.get_mut(range)
            }),
            Target::Untagged { queue, msn, offset } => {
                let buffer = self.buffers.get_mut(&(queue, msn));
                let range = offset as usize..(offset as usize).saturating_add(payload.len());
                buffer.and_then(|buffer| buffer.get_mut(range))
            }
        };
        match found {
            Some(place) => {
                place.copy_from_slice(payload);
                true
            }
            None => false,
        }
    }

    /// A buffer for the message with this MSN.
    pub fn post(&mut self, queue: u32, msn: u32, len: usize) {
        self.buffers.insert((queue, msn), vec![0; len]);
    }

    /// The octets of a message that was delivered.
    pub fn take(&mut self, queue: u32, msn: u32, len: u32) -> Vec<u8> {
        let mut buffer = self.buffers.remove(&(queue, msn)).unwrap_or_default();
        buffer.truncate(len as usize);
        buffer
    }

    /// Forgets the buffers of a session.
    pub fn forget_buffers(&mut self) {
        self.buffers.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_octets_of_the_region_are_read_or_written() {
        let mut memory = Memory::default();
        let region = Region {
            base: 100,
            octets: vec![0; 4],
            remote_write: true,
            remote_read: true,
        };
        memory.register(7, region);
        let tagged = |stag, to| Target::Tagged { stag, to };
        assert!(memory.place(tagged(7, 102), &[1, 2]));
        assert_eq!(memory.read(7, 100, 4), Some(&[0, 0, 1, 2][..]));
        for (stag, to) in [(7, 103), (7, 99), (7, u64::MAX), (8, 100)] {
            assert!(!memory.place(tagged(stag, to), &[1, 2]), "{stag} {to}");
            assert_eq!(memory.read(stag, to, 2), None, "{stag} {to}");
        }
        memory.post(2, 1, 4);
        let untagged = |offset| Target::Untagged {
            queue: 2,
            msn: 1,
            offset,
        };
        assert!(memory.place(untagged(1), &[9; 3]));
        assert!(!memory.place(untagged(2), &[9; 3]));
        assert!(!memory.place(untagged(u32::MAX), &[9; 3]));
        assert_eq!(memory.take(2, 1, 3), [0, 9, 9]);
        assert_eq!(memory.take(2, 1, 3), []);
    }
}
