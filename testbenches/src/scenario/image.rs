//! Memory that a scenario uses, and what may stand in it.

use std::collections::BTreeMap;

use fastrand::Rng;

use super::{Post, Scenario};

/// Octets of a page: memory is mapped in whole ones.
const PAGE: usize = 4096;
/// Receive buffers of one memory lie at multiples of so many octets.
const BUFFER_ALIGNMENT: usize = 64;

/// Memory that a scenario uses, as the card sees it: whole pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Its octets.
    pub octets: Vec<u8>,
    /// Where the region or buffer begins.
    pub start: usize,
    /// Index of the stream that wrote each octet in this phase, or [`NO_STREAM`].
    writers: Vec<u8>,
    /// Octets that were written more than once in one phase in no certain order: by several streams (DDP-ORD-07), of each
    /// of which the last octet counts, or by a stream that may place out of order (DDP-ORD-03), of which each one does.
    contested: BTreeMap<usize, BTreeMap<(u8, u32), u8>>,
    /// What else may stand there because of a stream that failed: see [`Ahead`](super::expect::Ahead).
    loose: BTreeMap<usize, Vec<u8>>,
    /// The same of earlier phases, where no stream has written since.
    loose_before: BTreeMap<usize, Vec<u8>>,
    /// What was written out of order in this phase: stream, octet, what was there before.
    journal: Vec<(u8, usize, u8)>,
    /// Writes of this phase.
    writes: u32,
}

/// No stream.
const NO_STREAM: u8 = u8::MAX;

impl Image {
    /// The memory of a region before anything happens: random octets around it, too.
    #[must_use]
    pub fn of_region(scenario: &Scenario, index: usize) -> Self {
        let region = &scenario.regions[index];
        let length = region.offset + region.length + region.behind;
        Self::new(length, region.offset, scenario.seed ^ (index as u64) << 56)
    }

    /// The memory of the scenario's receive buffer `index` before anything happens.
    #[must_use]
    pub fn of_buffer(scenario: &Scenario, index: usize, post: &Post) -> Self {
        let stride = (post.length as usize)
            .max(1)
            .next_multiple_of(BUFFER_ALIGNMENT);
        let (length, start) = (stride * (post.in_front + 1), stride * post.in_front);
        Self::new(length, start, scenario.seed ^ (index as u64 + 128) << 56)
    }

    fn new(length: usize, start: usize, seed: u64) -> Self {
        let mut octets = vec![0; length.next_multiple_of(PAGE)];
        Rng::with_seed(seed).fill(&mut octets);
        Self {
            writers: vec![NO_STREAM; octets.len()],
            contested: BTreeMap::new(),
            loose: BTreeMap::new(),
            loose_before: BTreeMap::new(),
            journal: Vec::new(),
            writes: 0,
            octets,
            start,
        }
    }

    /// A stream writes `octets` from `offset` of the region or buffer on, in order with its other writes or not.
    pub(super) fn write(&mut self, stream: u8, ordered: bool, offset: usize, octets: &[u8]) {
        self.writes += 1;
        let write = if ordered { 0 } else { self.writes };
        for (at, &octet) in (self.start + offset..).zip(octets) {
            if !ordered {
                self.journal.push((stream, at, self.octets[at]));
            }
            match self.writers[at] {
                NO_STREAM if ordered => {
                    self.contested.remove(&at);
                    self.loose_before.remove(&at);
                }
                // Undone, it leaves what an earlier phase may have left.
                NO_STREAM => {
                    if let Some(contest) = self.contested.remove(&at) {
                        let octets = self.loose_before.entry(at).or_default();
                        octets.extend(contest.into_values());
                    }
                }
                other if other != stream || !ordered => {
                    let contest = self.contested.entry(at).or_default();
                    contest.entry((other, 0)).or_insert(self.octets[at]);
                }
                _ => {}
            }
            if let Some(contest) = self.contested.get_mut(&at) {
                contest.insert((stream, write), octet);
            }
            self.writers[at] = stream;
            self.octets[at] = octet;
        }
    }

    /// A stream that failed may have written these octets, too.
    pub(super) fn loosen(&mut self, offset: usize, octets: &[u8]) {
        for (at, &octet) in (self.start + offset..self.octets.len()).zip(octets) {
            self.loose.entry(at).or_default().push(octet);
        }
    }

    /// What a stream wrote in this phase may not be there.
    pub(super) fn undo(&mut self, stream: u8) {
        for &(_, at, octet) in self.journal.iter().filter(|(of, ..)| *of == stream) {
            self.loose.entry(at).or_default().push(octet);
        }
    }

    /// Everything has been written.
    pub(super) fn end_phase(&mut self) {
        self.writers.fill(NO_STREAM);
        self.journal.clear();
        for (at, mut octets) in std::mem::take(&mut self.loose) {
            self.loose_before.entry(at).or_default().append(&mut octets);
        }
    }

    /// Whether octet `at` may be `found`.
    #[must_use]
    pub fn allows(&self, at: usize, found: u8) -> bool {
        let contest = self.contested.get(&at);
        let mut loose = [&self.loose, &self.loose_before].into_iter();
        found == self.octets[at]
            || contest.is_some_and(|contest| contest.values().any(|&octet| octet == found))
            || loose.any(|loose| loose.get(&at).is_some_and(|octets| octets.contains(&found)))
    }
}
