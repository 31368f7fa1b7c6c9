//! Why a capture cannot be replayed.

use crate::Gap;

/// A capture cannot be replayed to a receiver.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// Octets of the stream are missing from the capture.
    #[error(
        "{missing} octets from stream position {position} on were not captured: capture the whole connection"
    )]
    Gap {
        /// Stream position of the first one.
        position: u64,
        /// How many.
        missing: u64,
    },
    /// MPA start-up succeeded, but no octets follow.
    #[error("no MPA frame follows the start frames in what was chosen: nothing to replay")]
    NoFpdu,
    /// No connection has the chosen number.
    #[error(
        "there is no connection {number}: MPA start-up succeeded on {connections}, and the first one is 1"
    )]
    NoConnection {
        /// The number.
        number: usize,
        /// Connections that can be chosen.
        connections: usize,
    },
    /// The stream is longer than the sequence space.
    #[error("the stream has {octets} octets: the longest that can be replayed has 2^32 - 1")]
    TooLong {
        /// Octets of the stream.
        octets: usize,
    },
    /// Ground truth whose region is not known.
    #[error("{file} without regions.json: nothing says which STag it belongs to")]
    NoRegions {
        /// The file that exists.
        file: &'static str,
    },
    /// A region extends past the largest Tagged Offset.
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
    /// Regions and buffers are larger than a replay holds in memory.
    #[error("regions and receive buffers of {octets} octets: the most is {limit}")]
    Memory {
        /// Octets needed.
        octets: u128,
        /// Most octets.
        limit: u64,
    },
}

impl From<Gap> for ReplayError {
    fn from(gap: Gap) -> Self {
        Self::Gap {
            position: gap.position,
            missing: gap.missing,
        }
    }
}
