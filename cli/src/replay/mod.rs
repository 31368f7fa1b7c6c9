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
mod report;
mod run;

use std::collections::BTreeMap;

use warpline_capture::Segmentation;
use warpline_capture::replay::ReplayError;
use warpline_regmap::register::stag_slot;
use warpline_sim::Card;

use crate::Error;

pub(crate) use run::open;

pub use event::{CompletionReport, ErrorReport};
pub use report::Report;
pub use run::Pace;
pub use warpline_capture::replay::{
    Difference, Landed, Message, Messages, Plan, Queue, Region, Replay, Survey, Work,
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

/// Checks that a table of `slots` STags can hold all STags of the plan at a time.
///
/// # Errors
/// [`Error::SameSlot`].
pub(crate) fn stags_fit(plan: &Plan, slots: usize) -> Result<(), Error> {
    let mut holders = BTreeMap::new();
    for &Region { stag, .. } in &plan.regions {
        if let Some(other) = holders.insert(stag_slot(stag, slots as u32), stag) {
            let stags = [other, stag];
            return Err(Error::SameSlot { stags, slots });
        }
    }
    Ok(())
}

/// Replays a captured stream on `card`, which it resets first. `progress` is called with the octets accepted and their total.
///
/// # Errors
/// Those of card and driver; [`Error::TcpSegment`] if a TCP segment completes more messages than a queue holds buffers.
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
    let Replay {
        flow, survey, plan, ..
    } = stream;
    tracing::info!(
        fpdus = survey.fpdus,
        regions = format_args!("{:x?}", plan.regions),
        buffers = ?plan.queues.each_ref().map(|queue| queue.count),
        "stream surveyed"
    );
    let pieces = flow.resegment(segmentation).map_err(ReplayError::from)?;
    let segments = pieces.len();
    let run = run::run(card, flow, pieces.clone(), plan, pace, progress)?;
    let differences = stream.differences(&run.landed, &pieces);
    Ok(Replayed {
        report: Report::new(flow, &run, &differences),
        differences,
        survey: survey.clone(),
        plan: plan.clone(),
        landed: run.landed,
        segments,
    })
}
