//! Replays a captured stream on a card and compares the result with that of the kernel that received it first.
//!
//! ```text
//!  capture ─► Replay ─┬─ plan ──► run ── card, driver ──► Landed ─┐
//!                     └─ expected: what was recorded, else the    = ► differences
//!                        reference receiver's result ─────────────┘
//! ```
//!
//! [`warpline_capture::replay`] makes the plan and the expected result.

mod event;
mod pieces;
mod report;
mod run;

use warpline_capture::Segmentation;
use warpline_capture::replay::ReplayError;
use warpline_sim::Card;

use crate::Error;

pub(crate) use run::open;

pub use event::{CompletionReport, ErrorReport};
pub use report::{ConnectionReport, Report, SkippedReport};
pub use run::Pace;
pub use warpline_capture::replay::{
    Choice, Difference, Landed, Message, Messages, Plan, Queue, Region, Replay, Role, Survey,
    Warning, Work,
};

/// A replay and its result.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// The run in numbers.
    pub report: Report,
    /// Where the result differs from the expected one.
    pub differences: Vec<Difference>,
    /// The buffers that the stream names.
    pub survey: Survey,
    /// What was registered and posted for it.
    pub plan: Plan,
    /// The card's result.
    pub landed: Landed,
    /// TCP segments that the card was given.
    pub segments: usize,
}

/// Replays a captured stream on `card`, which it resets first. `progress` is called with the octets accepted and their total.
///
/// # Errors
/// Those of card and driver; [`Error::Open`] if more messages are open at a time than a queue holds buffers.
pub fn replay(
    card: &Card,
    stream: &Replay,
    segmentation: Segmentation,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Replayed, Error> {
    replay_at(card, Pace::Served, stream, segmentation, progress)
}

/// As [`replay`], at another pace.
///
/// # Errors
/// As [`replay`].
pub fn replay_at(
    card: &Card,
    pace: Pace<'_>,
    stream: &Replay,
    segmentation: Segmentation,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Replayed, Error> {
    let Replay { survey, plan, .. } = stream;
    tracing::info!(
        fpdus = survey.fpdus,
        regions = format_args!("{:x?}", plan.regions),
        buffers = ?plan.queues.each_ref().map(|queue| queue.count),
        "stream surveyed"
    );
    let pieces = stream.flow.resegment(segmentation);
    let pieces = pieces.map_err(ReplayError::from)?;
    let segments = pieces.len();
    let run = run::run(card, stream, pieces.clone(), pace, progress)?;
    let differences = stream.differences(&run.landed, &pieces);
    Ok(Replayed {
        report: Report::new(stream, &run, &differences),
        differences,
        survey: survey.clone(),
        plan: plan.clone(),
        landed: run.landed,
        segments,
    })
}
