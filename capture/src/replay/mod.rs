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
