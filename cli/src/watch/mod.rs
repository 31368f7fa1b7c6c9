//! A live view of the simulated card, as `top` has one of a machine: `warpline card --watch`.
//!
//! ```text
//!  Card::observe, connections ─► Snapshot ─┐
//!                                          ├─► Watcher ─► Report ─┬─► view: cells of a terminal
//!                      the one before ─────┘                      └─► one JSON object a line
//! ```
//!
//! A [`Report`](report::Report) is what one interval has brought: figures, and rates between two snapshots. [`view`] draws it by a
//! function of its arguments alone. [`screen`] owns the terminal, and gives it back on every way out.
//!
//! Limits: a stream that fails, is closed and armed again within one interval shows in the count of errors only.

pub mod controls;
pub mod log;
pub mod report;
pub mod screen;
pub mod snapshot;
pub mod view;
