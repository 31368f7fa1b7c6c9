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

mod choice;
mod error;
mod landed;
mod plan;
mod reference;
mod survey;
mod truth;
mod turns;
mod warning;

use landed::message_difference;
use plan::Doubts;
use reference::Reference;

use crate::{Capture, Flow, Piece, Skipped};

pub(crate) use choice::{Chosen, choose};

pub use choice::{Candidate, Choice, Role, Sent};
pub use error::ReplayError;

pub use landed::{Difference, Landed, Message, OctetDifference, Work};
pub use plan::{BUFFER_FILL, Plan, QUEUES, Queue, REGION_FILL, Region};
pub use survey::{Messages, Survey};
pub use turns::{Turn, Turns};
pub use warning::Warning;

/// A captured stream, ready to be replayed.
#[derive(Clone, Debug)]
pub struct Replay {
    /// What the target received, up to the first octet that was not captured.
    pub flow: Flow,
    /// Its octets.
    pub octets: Vec<u8>,
    /// The buffers that they name.
    pub survey: Survey,
    /// What a receiver must register and post.
    pub plan: Plan,
    /// What a receiver must leave in memory.
    pub expected: Landed,
    /// Packets that could not be read, by reason.
    pub skipped: Vec<Skipped>,
    /// The connections that could have been chosen.
    pub connections: Vec<Candidate>,
    /// What is left out or guessed.
    pub warnings: Vec<Warning>,
    /// What the reference receiver leaves behind.
    reference: Reference,
}

impl Replay {
    /// Surveys what the target of `capture` received, and runs the reference receiver on it: [`Replay::of`] the default
    /// choice.
    ///
    /// # Errors
    /// [`ReplayError`].
    pub fn new(capture: &Capture) -> Result<Self, ReplayError> {
        Self::of(capture, Choice::default())
    }

    /// Surveys the chosen stream of `capture`, and runs the reference receiver on it.
    ///
    /// Recorded memory and completions count if the choice is the default one and the stream was captured completely.
    ///
    /// # Errors
    /// [`ReplayError`].
    pub fn of(capture: &Capture, choice: Choice) -> Result<Self, ReplayError> {
        let chosen = choice::choose(capture, choice)?;
        let mut warnings = Vec::new();
        warnings.extend(capture.stopped.clone().map(Warning::Stopped));
        warnings.extend(warning::not_chosen(capture, &chosen.candidates));
        let mut flow = chosen.flow;
        let stream = flow.stream();
        let octets = stream.octets;
        if let Some(gap) = stream.gap {
            if octets.is_empty() {
                return Err(gap.into());
            }
            warnings.push(Warning::Gap {
                position: gap.position,
                missing: gap.missing,
                left: flow.behind(gap.position),
            });
            flow.truncate(gap.position);
        }
        if u32::try_from(octets.len()).is_err() {
            let octets = octets.len();
            return Err(ReplayError::TooLong { octets });
        }
        let survey = Survey::new(&flow, &octets);
        let (plan, doubts) = match chosen.usual && capture.regions.is_some() {
            true => (Plan::new(capture, &survey)?, Doubts::default()),
            false => {
                if chosen.usual {
                    plan::check_no_truth(capture)?;
                }
                Plan::learnt(&survey)?
            }
        };
        warnings.extend(warning::of_stream(&flow, &survey, &plan, &doubts));
        let whole = stream.gap.is_none() && capture.stopped.is_none();
        let recorded = (!plan.learnt && whole).then_some(capture);
        if recorded.is_none() && capture.regions.is_some() {
            let reason = match chosen.usual {
                true => "the stream was not captured completely",
                false => "they are of another stream",
            };
            warnings.push(Warning::TruthUnused { reason });
        }
        let reference = reference::receive(&plan, &flow, &octets);
        let expected = truth::expected(recorded, &plan, reference.landed.clone());
        Ok(Self {
            flow,
            octets,
            survey,
            plan,
            expected,
            skipped: capture.skipped.clone(),
            connections: chosen.candidates,
            warnings,
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
