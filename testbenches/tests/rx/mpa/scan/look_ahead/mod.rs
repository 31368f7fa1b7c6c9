//! `scan` behind gaps: segments of four streams in any order, what `fetch` and `check` say of FPDUs that are given out, and
//! the chain in order behind them, against the plan of FPDUs from which the segments are cut.
//!
//! ```text
//!  plan ─► segments, shuffled ─► islands, rings ─►┌──────┐─ Fpdu, ahead ──► in the plan? whole? for the first time?
//!                          started, answers ─────►│ scan │─ Fpdu ─────────► the next one; placed? then it was accepted
//!                                                 └──────┘◄─ ready, at the pace of `fetch`
//! ```

mod directed;
mod random;
mod support;
