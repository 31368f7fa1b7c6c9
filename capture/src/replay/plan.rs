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

impl Plan {
    /// The regions that `capture` records, or else those that its traffic names.
    ///
    /// # Errors
    /// [`ReplayError::NoRegions`], [`ReplayError::Memory`], [`ReplayError::TaggedOffsets`], [`ReplayError::SameStag`].
    pub fn new(capture: &Capture, survey: &Survey) -> Result<Self, ReplayError> {
        let own = |queue| own_buffers(survey, queue);
        let plan = match &capture.regions {
            Some(recorded) => Self {
                regions: recorded_regions(recorded),
                queues: [
                    Queue {
                        count: recorded.recv_count,
                        length: recorded.recv_len,
                        ..own(0)?
                    },
                    own(1)?,
                    own(2)?,
                ],
                learnt: false,
            },
            None => {
                check_no_truth(capture)?;
                Self {
                    regions: learnt_regions(survey),
                    queues: [own(0)?, own(1)?, own(2)?],
                    learnt: true,
                }
            }
        };
        let regions = plan.regions.iter().map(|region| u128::from(region.length));
        let buffers = plan.queues.iter().map(|queue| {
            u128::from(queue.count) * u128::from(u64::from(queue.length).max(BUFFER_COST))
        });
        within_limit(regions.chain(buffers).sum())?;
        for &Region {
            stag, base, length, ..
        } in &plan.regions
        {
            if u128::from(base) + u128::from(length) > 1 << 64 {
                return Err(ReplayError::TaggedOffsets { stag, base, length });
            }
        }
        let mut stags = BTreeSet::new();
        match plan.regions.iter().find(|it| !stags.insert(it.stag)) {
            Some(&Region { stag, .. }) => Err(ReplayError::SameStag { stag }),
            None => Ok(plan),
        }
    }
}

fn within_limit(octets: u128) -> Result<(), ReplayError> {
    let limit = MOST_OCTETS;
    if octets > limit.into() {
        return Err(ReplayError::Memory { octets, limit });
    }
    Ok(())
}

/// Exactly as many buffers as the stream needs, as long as its longest message.
fn own_buffers(survey: &Survey, queue: u32) -> Result<Queue, ReplayError> {
    let messages = survey.untagged.get(&queue).cloned().unwrap_or_default();
    within_limit(messages.longest.into())?;
    Ok(Queue {
        count: messages.ends.len() as u32, // fewer than the stream has octets
        length: messages.longest as u32,
        messages,
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

/// For each STag the range from its lowest to its highest octet.
fn learnt_regions(survey: &Survey) -> Vec<Region> {
    let regions = survey.tagged.iter().map(|(&stag, ranges)| {
        let base = ranges.iter().map(|range| range.start).min().unwrap_or(0);
        let end = ranges.iter().map(|range| range.end).max().unwrap_or(base);
        Region {
            stag,
            base,
            length: end - base,
            remote_write: true,
        }
    });
    regions.collect()
}

fn check_no_truth(capture: &Capture) -> Result<(), ReplayError> {
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
