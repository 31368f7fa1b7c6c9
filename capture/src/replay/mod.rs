//! What a receiver needs before a captured stream is played to it, and what it has to leave behind.
//!
//! ```text
//!  capture ─┬─ survey ── what its FPDUs name ──► plan ── regions, buffers ──► a receiver ──────────► Landed
//!           │                                     └────► reference ── receiver in software ──► Landed │
//!           └─ memory.bin.gz, completions.jsonl, … ──────────────────────► in its place          │    │
//!                                                                                                └─ = ┘
//! ```
//!
//! What the directory does not record is compared with the reference receiver.

mod landed;
mod plan;
mod reference;
mod survey;
mod truth;

use crate::{Capture, Flow};

pub use landed::{Difference, Landed, OctetDifference, Work};
pub use plan::{BUFFER_FILL, Plan, QUEUES, Queue, REGION_FILL, Region};
pub use survey::{Messages, Survey};

/// A capture cannot be played to a receiver.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// Octets of the stream are missing in the capture.
    #[error(
        "{missing} octets from stream position {position} on were not captured: capture the whole connection"
    )]
    Gap {
        /// Stream position of the first one.
        position: u64,
        /// How many.
        missing: u64,
    },
    /// MPA start-up succeeded, but nothing follows.
    #[error("no MPA frame follows the initiator's start frame: nothing to replay")]
    NoFpdu,
    /// The stream passes all sequence numbers.
    #[error("the stream has {octets} octets: the longest that can be replayed has 2^32 - 1")]
    TooLong {
        /// Octets of the stream.
        octets: usize,
    },
    /// Ground truth that cannot be placed.
    #[error("{file} without regions.json: nothing says which STag it belongs to")]
    NoRegions {
        /// The file that is there.
        file: &'static str,
    },
    /// Octets of a region have no Tagged Offset.
    #[error(
        "the region of STag {stag:#010x}, {length} octets from Tagged Offset {base:#018x} on, passes 2^64: regions.json cannot be right"
    )]
    TaggedOffsets {
        /// Its STag.
        stag: u32,
        /// Tagged Offset of its first octet.
        base: u64,
        /// Its octets.
        length: u64,
    },
    /// Two regions have one STag.
    #[error("STag {stag:#010x} names two regions: regions.json cannot be right")]
    SameStag {
        /// The STag.
        stag: u32,
    },
    /// Regions and buffers are larger than a replay is willing to hold.
    #[error("regions and receive buffers of {octets} octets: the most is {limit}")]
    Memory {
        /// Octets wanted.
        octets: u128,
        /// Most octets.
        limit: u64,
    },
}

impl From<crate::Gap> for ReplayError {
    fn from(gap: crate::Gap) -> Self {
        Self::Gap {
            position: gap.position,
            missing: gap.missing,
        }
    }
}

/// A captured stream, ready to be played.
#[derive(Clone, Debug)]
pub struct Replay {
    /// What the target received.
    pub flow: Flow,
    /// Its octets.
    pub octets: Vec<u8>,
    /// What they name.
    pub survey: Survey,
    /// What has to be registered and posted.
    pub plan: Plan,
    /// What has to be left behind.
    pub expected: Landed,
}

impl Replay {
    /// Looks through what the target of `capture` received.
    ///
    /// # Errors
    /// [`ReplayError`].
    pub fn new(capture: &Capture) -> Result<Self, ReplayError> {
        let flow = capture.target_flow();
        let octets = flow.octets()?;
        if octets.is_empty() {
            return Err(ReplayError::NoFpdu);
        }
        if u32::try_from(octets.len()).is_err() {
            let octets = octets.len();
            return Err(ReplayError::TooLong { octets });
        }
        let survey = Survey::new(&flow, &octets);
        let plan = Plan::new(capture, &survey)?;
        let reference = reference::receive(&plan, &flow, &octets);
        let expected = truth::expected(capture, &plan, reference);
        Ok(Self {
            flow,
            octets,
            survey,
            plan,
            expected,
        })
    }
}
