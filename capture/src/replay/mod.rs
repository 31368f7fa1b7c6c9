//! What a receiver needs before a captured stream is replayed to it, and what it must leave in memory.
//!
//! ```text
//!  capture ─┬─ survey ── what its FPDUs name ──► plan ── regions, buffers ──► a receiver ──────────► Landed
//!           │                                     └────► reference ── receiver in software ──► Landed │
//!           └─ memory.bin.gz, completions.jsonl, … ──────────────────────► replaces it           │    │
//!                                                                                                └─ = ┘
//! ```
//!
//! Where the directory records nothing, the reference receiver's result is the expected one.

mod error;
mod landed;
mod plan;
mod reference;
mod survey;
mod truth;

use landed::message_difference;
use reference::Reference;

use crate::{Capture, Flow, Piece};

pub use error::ReplayError;

pub use landed::{Difference, Landed, Message, OctetDifference, Work};
pub use plan::{BUFFER_FILL, Plan, QUEUES, Queue, REGION_FILL, Region};
pub use survey::{Messages, Survey};

/// A captured stream, ready to be replayed.
#[derive(Clone, Debug)]
pub struct Replay {
    /// What the target received.
    pub flow: Flow,
    /// Its octets.
    pub octets: Vec<u8>,
    /// The buffers that they name.
    pub survey: Survey,
    /// What a receiver must register and post.
    pub plan: Plan,
    /// What a receiver must leave in memory.
    pub expected: Landed,
    /// What the reference receiver leaves behind.
    reference: Reference,
}

impl Replay {
    /// Surveys what the target of `capture` received, and runs the reference receiver on it.
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
        let expected = truth::expected(capture, &plan, reference.landed.clone());
        Ok(Self {
            flow,
            octets,
            survey,
            plan,
            expected,
            reference,
        })
    }

    /// Where `card`, which was given `pieces` in that order, differs from what it should have left behind.
    ///
    /// An error that is one whatever is missing may be found while octets in front of its FPDU are missing, which freezes
    /// the stream, or in its turn (AMB-11). What was recorded is one of both, and the reference receiver's word the other.
    /// Either may be the card's. Messages are those of the reference receiver, and none is missing that was complete in
    /// order when the FPDU arrived.
    #[must_use]
    pub fn differences(&self, card: &Landed, pieces: &[Piece]) -> Vec<Difference> {
        let reference = &self.reference.landed;
        let mut differences = card.differences(&self.expected);
        let all = reference.messages.len();
        let mut due = all;
        if let (Some((kind, code)), Some(failed_at)) = (card.error, card.failed_at)
            && self.flow.markers
            && self.flow.crc
            && !depends_on_order(kind, code)
        {
            due = self
                .reference
                .due(&self.flow, &self.octets, pieces, failed_at);
            if due < all
                && self.expected.error == reference.error
                && card.differences(reference).is_empty()
            {
                differences.clear();
            }
        }
        differences.extend(message_difference(&card.messages, &reference.messages, due));
        differences
    }
}

/// Whether an error is found only when nothing in front of its FPDU is missing: MPA's, and those of an untagged segment but
/// for its version.
fn depends_on_order(kind: u8, code: u8) -> bool {
    kind == 3 || (kind == 2 && code != 6)
}
