//! What a receiver must register and post before a stream is replayed.

use std::collections::BTreeSet;

use super::error::ReplayError;
use super::survey::{Messages, Survey};
use crate::{Capture, Regions};

/// Octets that fill regions before the run.
pub const REGION_FILL: u8 = 0xEE;
/// Octets that fill receive buffers before the run.
pub const BUFFER_FILL: u8 = 0xDD;
/// Untagged queues that RDMAP uses: Send, Read Request, Terminate (RFC 5040 §4.1).
pub const QUEUES: usize = 3;
/// Most octets of regions and buffers: a few octets of traffic can name any size.
const MOST_OCTETS: u64 = 1 << 30;
/// Octets that a buffer of any length costs at least.
const BUFFER_COST: u64 = 64;

/// Regions and buffers of a replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Memory regions.
    pub regions: Vec<Region>,
    /// Untagged queues 0, 1 and 2.
    pub queues: [Queue; QUEUES],
    /// The regions are derived from the stream's headers, since no `regions.json` names them.
    pub learnt: bool,
}

/// A memory region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// Its STag.
    pub stag: u32,
    /// Tagged Offset of its first octet.
    pub base: u64,
    /// Its octets.
    pub length: u64,
    /// The peer may write.
    pub remote_write: bool,
}

/// Buffers of an untagged queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queue {
    /// Buffers.
    pub count: u32,
    /// Octets of each.
    pub length: u32,
    /// Messages in the stream.
    pub messages: Messages,
}

/// What a plan does not believe of the headers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Doubts {
    /// STags, with the ranges that are no part of their region: the first Tagged Offset, and how many.
    pub apart: Vec<(u32, u64, usize)>,
}

impl Plan {
    /// The regions that `capture` records, or else those that its traffic names.
    ///
    /// # Errors
    /// [`ReplayError::NoRegions`], [`ReplayError::Memory`], [`ReplayError::TaggedOffsets`], [`ReplayError::SameStag`].
    pub fn new(capture: &Capture, survey: &Survey) -> Result<Self, ReplayError> {
        match &capture.regions {
            Some(recorded) => Self::recorded(recorded, survey),
            None => {
                check_no_truth(capture)?;
                Self::learnt(survey).map(|(plan, _)| plan)
            }
        }
    }

    /// Recorded regions and receive buffers.
    fn recorded(recorded: &Regions, survey: &Survey) -> Result<Self, ReplayError> {
        let mut queues = own_buffers(survey, |messages| messages.longest);
        queues[0].count = recorded.recv_count;
        queues[0].length = recorded.recv_len;
        let regions = recorded_regions(recorded);
        if octets(&regions, &queues) > MOST_OCTETS.into() {
            let gapless = own_buffers(survey, |messages| messages.gapless);
            queues[1..].clone_from_slice(&gapless[1..]);
        }
        within_limit(octets(&regions, &queues))?;
        for &Region {
            stag, base, length, ..
        } in &regions
        {
            if u128::from(base) + u128::from(length) > 1 << 64 {
                return Err(ReplayError::TaggedOffsets { stag, base, length });
            }
        }
        let mut stags = BTreeSet::new();
        if let Some(&Region { stag, .. }) = regions.iter().find(|it| !stags.insert(it.stag)) {
            return Err(ReplayError::SameStag { stag });
        }
        Ok(Self {
            regions,
            queues,
            learnt: false,
        })
    }

    /// Regions and receive buffers as the headers name them. What they say about lengths is believed as far as memory for
    /// it can be had; beyond that only what the stream's octets bear out.
    pub(super) fn learnt(survey: &Survey) -> Result<(Self, Doubts), ReplayError> {
        let mut doubts = Doubts::default();
        let mut queues = own_buffers(survey, |messages| messages.longest);
        let mut regions = learnt_regions(survey, u128::MAX, &mut doubts);
        if octets(&regions, &queues) > MOST_OCTETS.into() {
            if octets(&[], &queues) > (MOST_OCTETS / 2).into() {
                queues = own_buffers(survey, |messages| messages.gapless);
            }
            let left = u128::from(MOST_OCTETS).saturating_sub(octets(&[], &queues));
            let each = left / (survey.tagged.len() as u128).max(1);
            regions = learnt_regions(survey, each, &mut doubts);
        }
        within_limit(octets(&regions, &queues))?;
        let plan = Self {
            regions,
            queues,
            learnt: true,
        };
        Ok((plan, doubts))
    }
}

/// Octets of regions and buffers.
fn octets(regions: &[Region], queues: &[Queue]) -> u128 {
    let regions = regions.iter().map(|region| u128::from(region.length));
    let buffers = queues.iter().map(|queue| {
        u128::from(queue.count) * u128::from(u64::from(queue.length).max(BUFFER_COST))
    });
    regions.chain(buffers).sum()
}

fn within_limit(octets: u128) -> Result<(), ReplayError> {
    let limit = MOST_OCTETS;
    if octets > limit.into() {
        return Err(ReplayError::Memory { octets, limit });
    }
    Ok(())
}

/// For each queue as many buffers as messages begin in the stream, as long as the longest of them.
fn own_buffers(survey: &Survey, longest: fn(&Messages) -> u64) -> [Queue; QUEUES] {
    let mut number = 0..;
    [(); QUEUES].map(|()| {
        let messages = number
            .next()
            .and_then(|number| survey.untagged.get(&number));
        let messages = messages.cloned().unwrap_or_default();
        Queue {
            count: messages.starts.len() as u32, // fewer than the stream has octets
            length: u32::try_from(longest(&messages)).unwrap_or(u32::MAX),
            messages,
        }
    })
}

fn recorded_regions(recorded: &Regions) -> Vec<Region> {
    let written = Region {
        stag: recorded.rkey,
        base: recorded.addr,
        length: recorded.len,
        remote_write: true,
    };
    let read_only = Region {
        stag: recorded.ro_rkey,
        base: recorded.ro_addr,
        length: recorded.ro_len,
        remote_write: false,
    };
    vec![written, read_only]
}

/// For each STag the range from its lowest to its highest octet, of at most `most` octets: the first range of the stream, and
/// of the others those that still fit.
fn learnt_regions(survey: &Survey, most: u128, doubts: &mut Doubts) -> Vec<Region> {
    let regions = survey.tagged.iter().map(|(&stag, ranges)| {
        let mut whole = 0..0;
        let (mut first, mut apart) = (None, 0);
        for range in ranges {
            let (start, end) = match whole.is_empty() {
                true => (range.start, range.end),
                false => (range.start.min(whole.start), range.end.max(whole.end)),
            };
            if whole.is_empty() || end - start <= most {
                whole = start..end;
            } else {
                first.get_or_insert(range.start as u64); // below 2^64
                apart += 1;
            }
        }
        if let Some(first) = first {
            doubts.apart.push((stag, first, apart));
        }
        Region {
            stag,
            base: whole.start as u64,
            // 2^64 octets cannot be held, and are refused
            length: u64::try_from(whole.end - whole.start).unwrap_or(u64::MAX),
            remote_write: true,
        }
    });
    regions.collect()
}

/// Checks that nothing is recorded whose region is not known.
pub(super) fn check_no_truth(capture: &Capture) -> Result<(), ReplayError> {
    let files = [
        ("memory.bin.gz", capture.memory.is_some()),
        ("receive-buffers.bin.gz", capture.receive_buffers.is_some()),
        ("completions.jsonl", capture.completions.is_some()),
    ];
    match files.into_iter().find(|(_, there)| *there) {
        Some((file, _)) => Err(ReplayError::NoRegions { file }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two regions that together reach the limit keep the lengths that the headers name, although one takes more than half of it.
    #[test]
    fn regions_may_reach_the_limit_of_memory() {
        let most = u128::from(MOST_OCTETS);
        let ends = |length: u128| vec![0..16, length - 16..length];
        let mut survey = Survey::default();
        survey.tagged.insert(1, ends(most / 4));
        survey.tagged.insert(2, ends(most - most / 4));
        let (plan, doubts) = Plan::learnt(&survey).unwrap();
        let lengths: Vec<_> = plan.regions.iter().map(|region| region.length).collect();
        assert_eq!(lengths, [MOST_OCTETS / 4, MOST_OCTETS - MOST_OCTETS / 4]);
        assert_eq!(doubts, Doubts::default());
        // One octet more, and the larger one keeps its first range.
        survey.tagged.insert(1, ends(most / 4 + 1));
        let (plan, doubts) = Plan::learnt(&survey).unwrap();
        let lengths: Vec<_> = plan.regions.iter().map(|region| region.length).collect();
        assert_eq!(lengths, [MOST_OCTETS / 4 + 1, 16]);
        assert_eq!(doubts.apart, [(2, (most - most / 4 - 16) as u64, 1)]);
    }
}
