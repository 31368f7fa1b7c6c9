//! Packets that were left out, counted by reason.

use std::fmt;

use crate::error::TrafficError;

/// Packets that were left out for the same kind of reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// How many.
    pub packets: u64,
    /// What is wrong with the first one.
    pub first: TrafficError,
}

impl Skipped {
    /// Counts a packet.
    pub(crate) fn note(all: &mut Vec<Self>, reason: TrafficError) {
        let kind = std::mem::discriminant(&reason);
        let same = |skipped: &&mut Self| std::mem::discriminant(&skipped.first) == kind;
        match all.iter_mut().find(same) {
            Some(skipped) => skipped.packets += 1,
            None => all.push(Self {
                packets: 1,
                first: reason,
            }),
        }
    }
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.packets {
            1 => write!(f, "1 packet skipped: {}", self.first),
            more => write!(f, "{more} packets skipped; the first one: {}", self.first),
        }
    }
}
