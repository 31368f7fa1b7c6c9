//! Replays a captured stream on a card and says whether it did to memory what the peer's kernel did.
//!
//! ```text
//!  capture ─┬─ survey ── what its FPDUs name ──► plan ── regions, buffers ──► run ── card, driver ──► Landed
//!           │                                     └────► reference ── receiver in software ──► Landed │
//!           └─ memory.bin.gz, completions.jsonl, … ──────────────────────► in its place          │    │
//!                                                                                                └─ = ┘
//! ```
//!
//! What the directory does not record is compared with the reference receiver.

mod landed;
mod plan;
mod reference;
mod report;
mod run;
mod survey;
mod truth;

use warpline_capture::{Capture, Segmentation};
use warpline_sim::Card;

use crate::Error;

pub use landed::{Difference, Landed, Work};
pub use plan::{Plan, Queue, Region};
pub use report::{CompletionReport, ErrorReport, Report};
pub use survey::{Messages, Survey};

/// A replay and its result.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// What happened, in numbers.
    pub report: Report,
    /// Where it was not what it should have been.
    pub differences: Vec<Difference>,
    /// What the stream names.
    pub survey: Survey,
    /// What was registered and posted for it.
    pub plan: Plan,
    /// What the card left behind.
    pub landed: Landed,
    /// TCP segments that the card was given.
    pub segments: usize,
}

/// Replays `capture` on `card`, which is reset before. `progress` hears how many octets of how many are taken.
///
/// # Errors
/// Those of an unusable capture, and those of card and driver.
pub fn replay(
    card: &Card,
    capture: &Capture,
    segmentation: Segmentation,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Replayed, Error> {
    let flow = capture.target_flow();
    let octets = flow.octets().map_err(|gap| Error::Gap {
        position: gap.position,
        missing: gap.missing,
    })?;
    if octets.is_empty() {
        return Err(Error::NoFpdu);
    }
    if u32::try_from(octets.len()).is_err() {
        let octets = octets.len();
        return Err(Error::TooLong { octets });
    }
    let survey = Survey::new(&flow, &octets);
    let plan = Plan::new(capture, &survey)?;
    tracing::info!(
        fpdus = survey.fpdus,
        regions = format_args!("{:x?}", plan.regions),
        buffers = ?plan.queues.each_ref().map(|queue| queue.count),
        "stream surveyed"
    );
    let pieces = flow.resegment(segmentation).map_err(|gap| Error::Gap {
        position: gap.position,
        missing: gap.missing,
    })?;
    let segments = pieces.len();
    let run = run::run(card, &flow, pieces, &plan, progress)?;
    let expected = truth::expected(capture, &plan, reference::receive(&plan, &flow, &octets));
    let differences = run.landed.differences(&expected);
    Ok(Replayed {
        report: Report::new(&flow, &run, &differences),
        differences,
        survey,
        plan,
        landed: run.landed,
        segments,
    })
}
