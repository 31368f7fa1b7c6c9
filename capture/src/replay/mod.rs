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

use crate::{Capture, Flow};

pub use error::ReplayError;
pub use landed::{Difference, Landed, OctetDifference, Work};
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
